"""An expression over rows, from plain columns of numbers: without a table and without the terminal."""

import numpy as np
import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.rowwise import Evaluation, Rowwise


@pytest.fixture
def rowwise():
    """The results of an expression on columns, with the mask of the rows that have none."""

    def run(text, columns, wrt=(), constants=None, unread=None, tolerant=False):
        session = Rowwise()
        session.read(text)
        for name, value in (constants or {}).items():
            session.give(name, value)
        used = list(dict(session.columns(columns, wrt)))
        evaluation = Evaluation(session, used, wrt, lambda: "python", 1, tolerant)
        given = {name: np.array(column, dtype=float) for name, column in columns.items()}
        count = len(next(iter(given.values())))
        place = lambda row: {"notes": [f"in row {row + 1}"]}  # noqa: E731 - the shortest there is
        found = session.all_at_once(lambda: evaluation(given, count, unread, place))
        return [column.tolist() for column in found[0]], found[1], evaluation

    return run


def test_the_value_and_the_derivatives_of_each_row(rowwise):
    results, bad, _ = rowwise("k*x**2*y", {"x": [1, 2, 3], "y": [1, 1, 2]}, ("x", "k"), {"k": "10"})
    assert results == [[10.0, 40.0, 180.0], [20.0, 40.0, 120.0], [1.0, 4.0, 18.0]]
    assert bad is None


def test_columns_come_in_the_order_of_the_expression_with_their_places():
    session = Rowwise()
    session.read("b + a*missing")
    places = {name: span and span.start for name, span in session.columns(["a", "b", "c"], ["c"])}
    assert places == {"b": 0, "a": 4, "missing": 6, "c": None}


def test_the_call_of_an_unknown_function_is_refused():
    session = Rowwise()
    session.read("sinn(a)")
    with pytest.raises(AgradError, match="sinn"):
        list(session.columns(["a"], []))


def test_rows_that_were_not_read_have_no_results(rowwise):
    results, bad, _ = rowwise("2*x", {"x": [1, 2, 3]}, unread=np.array([False, True, False]))
    assert str(results) == "[[2.0, nan, 6.0]]"
    assert bad.tolist() == [False, True, False]


BRANCHES = "1/x if x > 0 else inv([[x]])[0, 0]"


def test_an_error_says_which_row_it_is_in(rowwise):
    with pytest.raises(AgradError) as caught:
        rowwise(BRANCHES, {"x": [2, 0, 4]})
    assert caught.value.notes[-2:] == ["in row 2", "where x = 0"]
    assert caught.value.row


def test_errors_that_are_tolerated_leave_their_rows_empty(rowwise):
    results, bad, evaluation = rowwise(BRANCHES, {"x": [2, 0, 4, 0]}, ("x",), tolerant=True)
    assert str(results) == "[[0.5, nan, 0.25, nan], [-0.25, nan, -0.0625, nan]]"
    assert bad.tolist() == [False, True, False, True]
    assert (evaluation.done, evaluation.failed) == (2, 2)
    assert evaluation.first.notes[-1] == "where x = 0"


def test_a_row_that_fails_among_many_is_found_in_halves(rowwise):
    x = np.arange(1.0, 301.0)
    x[[70, 200]] = 0
    results, bad, _ = rowwise(BRANCHES, {"x": x}, tolerant=True)
    assert np.flatnonzero(bad).tolist() == [70, 200]
    np.testing.assert_array_equal(np.array(results[0])[~bad], 1 / x[x != 0])


def test_values_that_are_nan_are_counted_with_the_place_where_the_first_begins(rowwise):
    _, _, evaluation = rowwise("y + log(x)", {"x": [1, -2, -3, np.nan], "y": [1, 5, 1, 1]})
    first = evaluation.first_undefined
    assert (evaluation.undefined, first.labels[0].origin.text) == (2, "log(x)")
    assert first.notes == ["in row 2", "where y = 5, x = -2"]


def test_a_text_that_is_no_column_stays_one():
    session = Rowwise()
    session.read('`a b`*len("a c")')
    session.name_columns(["a b"])
    assert [name for name, _ in session.columns(["a b"], [])] == ["a b"]


def test_a_function_along_an_axis_would_see_one_number(rowwise):
    with pytest.raises(AgradError, match=r"mean\(x\) would see one number"):
        rowwise("mean(x)", {"x": [1, 2]})


def test_only_numbers_can_be_differentiated_by(rowwise):
    with pytest.raises(AgradError, match="rows are differentiated with respect to numbers only, and k is not one"):
        rowwise("x*sum(k)", {"x": [1]}, ("k",), {"k": "[1, 2]"})
