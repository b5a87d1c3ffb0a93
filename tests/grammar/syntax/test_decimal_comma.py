"""The decimal comma: what is typed is read with points, and what is shown can be typed."""

from pathlib import Path

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.syntax.decimal_comma import pointed, separated, with_comma

ROWS = Path(__file__).with_name("decimal_commas.txt").read_text("utf-8").splitlines()
EXPRESSIONS = Path(__file__).with_name("expressions.txt").read_text("utf-8").splitlines()


@each("row", [row for row in ROWS if row[:1] != "#"])
def test_commas_are_read_as_points(row):
    typed, read = row.split("  ->  ")
    assert pointed(typed) == read


@each("text", [row[2:] for row in EXPRESSIONS if row[:2] == "> " and ";" not in row and "'" not in row])
def test_what_is_shown_is_read_as_it_was(text):
    shown = with_comma(text)
    assert len(shown) == len(text)
    if "(" in text or "[" in text or "," not in text:  # without brackets a comma without a blank is a mark
        assert pointed(shown) == text


@each("text, shown", [("[0.5, -2]", "[0,5; -2]"), ("rises in 0..2.5", "rises in 0..2,5"),
                      ("agrad 0.3.1", "agrad 0.3.1"), ("(a, b)", "(a, b)"), ('"1.5"', '"1.5"')])  # fmt: skip
def test_numbers_and_entries_are_shown_with_commas(text, shown):
    assert with_comma(text) == shown


@each("text, fixes", [
    ("1.000", ["1000", "1,000"]), ("1.234,5 + 1", ["1234,5 + 1"]), ("[1,2,3]", ["[1; 2; 3]"]),
    ("x = 1,2,3", ["x = 1, 2, 3"]), ("f(1,234,567.5)", ["f(1; 234; 567.5)", "f(1234567,5)"]),
    ("[-1,2]", ["[-1; 2]", "[-1,2;]"]), ("[[1,2];[3,4]]", ["[[1; 2];[3; 4]]", "[[1,2;];[3,4;]]"]),
    ("max(-1,5)", ["max(-1; 5)", "max((-1,5))"]),
    ("[1,2]", ["[1; 2]", "[1,2;]"]), ("A[1,0]", ["A[1; 0]"]), ("log(8,2)", ["log(8; 2)", "log((8,2))"]),
])  # fmt: skip
def test_what_is_one_number_or_several_is_refused_with_both(text, fixes):
    with pytest.raises(AgradError) as caught:
        pointed(text, True)
    assert caught.value.fixes == fixes
    for fix in fixes:
        pointed(fix, True)


def test_an_argument_too_few_may_be_two_that_a_comma_divides():
    assert separated("f(1,2) + 0,5") == "f(1;2) + 0,5"
