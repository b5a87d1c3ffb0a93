"""Derivatives of a value, and names given from outside: by a session alone, without the terminal."""

import math

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted
from agrad.grammar.session.inputs import Request, bind, derive, open_names, require_free
from agrad.grammar.session.session import Session


@pytest.fixture
def derived():
    """The answer to a request about an expression, for names with values; and the notes on it."""

    def run(text, names, request):
        session, notes = Session(), []
        for name, value in names.items():
            bind(session.names, name, session.evaluate(value), None)
        leaves = {name: session.names[name] for name in names}
        return derive(session, session.evaluate(text), leaves, request, notes.append), notes

    return run


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request("grad"), {("x",): 12.0, ("y",): 4.0}),
        (
            Request("order", order=2),
            {("x",): 12.0, ("y",): 4.0, ("x", "x"): 6.0, ("x", "y"): 4.0, ("y", "y"): 0.0},
        ),
        (Request("jvp", directions={"x": 1.0, "y": 10.0}), {(): 52.0}),
        (Request("vjp", seed=2.0), {("x",): 24.0, ("y",): 8.0}),
    ],
    ids=lambda x: x.kind if isinstance(x, Request) else "",
)
def test_each_kind_of_derivative_is_by_the_names_asked_for(derived, request_, expected):
    answer, _ = derived("x**2*y", {"x": "2", "y": "3"}, request_)
    assert answer.value.item() == 12
    assert answer.derivatives == expected


def test_a_name_that_the_value_does_not_depend_on_has_the_derivative_0(derived):
    answer, _ = derived("3*x", {"x": "2", "y": "[1, 2]"}, Request("grad"))
    assert answer.derivatives["y",].tolist() == [0.0, 0.0]
    assert answer.unreached == ["y"]


def test_without_a_kind_the_answer_is_the_value(derived):
    answer, _ = derived("3*x", {"x": "2"}, Request(""))
    assert (answer.value.item(), answer.derivatives) == (6.0, {})


def test_only_a_number_has_a_gradient(derived):
    with pytest.raises(AgradError, match=r"this is an array of shape \(2\)") as caught:
        derived("x*[1, 2]", {"x": "2"}, Request("grad"))
    assert caught.value.kind == "grad"


def test_the_first_note_alone_is_heard(derived):
    answer, notes = derived("sqrt(x)", {"x": "0"}, Request("order", order=2))
    assert answer.derivatives["x",] == math.inf
    assert [type(note) for note in notes] == [Noted]


def test_what_is_computed_from_names_is_remarked_on():
    session = Session()
    assert bind(session.names, "x", 2.0, ["x"]) == ""
    remark = bind(session.names, "y", session.evaluate("x*2"), ["x"])
    assert remark == "y was computed from x: d/dx includes what goes through y"
    assert not session.names["y"].is_leaf


def test_a_name_asked_for_is_a_leaf_whatever_it_was_computed_from():
    session = Session()
    bind(session.names, "x", 2.0, ["x", "y"])
    remark = bind(session.names, "y", session.evaluate("x*2"), ["x", "y"])
    assert remark == "y was computed from x, and is differentiated by itself: d/dx leaves out what goes through y"
    assert session.names["y"].is_leaf


def test_words_of_the_language_are_no_names():
    require_free("backwards")
    with pytest.raises(AgradError, match="backward is a reserved word of agrad"):
        require_free("backward")


def test_open_names_are_those_without_a_value():
    assert open_names("sin(x)*pi + b*x") == ["x", "b", "x"]


def test_a_formula_has_the_names_that_were_typed():
    for given in ("x = 1", "x = 1; x1 = 5", "var x = 2", "print 0"):
        session, said = Session(), []
        session.run(f"{given}\nd/dx (x^2*y)", lambda result, said=said: said.append(result.text(Session().settings)))
        assert "2*y*x" in said, given
