"""Tests that loop over the rows of a table: all rows are tried, and a failure names those that fail."""

import pytest
from rows import each


def test_every_row_is_tried_and_those_that_fail_are_named():
    tried = []

    @each("b", [1, 2])
    @each("a, text", [(1, "one"), (2, "two"), (3, "three")])
    def claim(a, text, b, given):
        tried.append((a, text, b, given))
        assert a != 2, "not 2"
        if a == 3 and b == 2:
            raise KeyError(a)

    with pytest.raises(AssertionError) as caught:
        claim(given=7)
    assert tried == [(a, text, b, 7) for b in (1, 2) for a, text in ((1, "one"), (2, "two"), (3, "three"))]
    said = str(caught.value).splitlines()
    assert said[0] == "2 of 2 rows fail:"
    assert said[1:3] == ["1: AssertionError: 1 of 3 rows fail:", "2, two: AssertionError: not 2"]
    assert [line for line in said[3:] if line.startswith("3, three")] == ["3, three: KeyError: 3"]


def test_a_table_without_rows_and_a_name_that_is_not_taken_are_refused():
    with pytest.raises(AssertionError, match="no rows"):
        each("a", [])
    with pytest.raises(AssertionError, match="does not take"):
        each("a", [1])(lambda b: None)


def test_what_is_skipped_in_every_row_is_skipped():
    def claim(a):
        if a < limit:
            pytest.skip("too small")

    limit = 2
    each("a", [1, 2])(claim)()
    limit = 3
    with pytest.raises(pytest.skip.Exception):
        each("a", [1, 2])(claim)()


@each("a", range(7), short=3)
def test_a_part_of_a_long_table_is_short(a, request):
    assert bool(a % 3) is bool(request.node.get_closest_marker("long"))
