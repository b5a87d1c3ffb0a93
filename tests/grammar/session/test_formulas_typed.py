"""At a prompt, arithmetic with a name that has no value is a formula; anywhere else it is an error."""

from pathlib import Path

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

ROWS = Path(__file__).with_name("formulas_typed.txt").read_text("utf-8").splitlines()

DERIVED = Path(__file__).with_name("functions_derived.txt").read_text("utf-8").splitlines()


def begun(by_entry=True):
    session = Session()
    session.run("length = 3; distance = 3 km; var w = 2; f(x) = x^2 - 4x")
    session.by_entry = by_entry
    return session


@each("row", [row for row in ROWS if row[:1] != "#"])
def test_a_formula_or_the_name_that_lacks_a_value(row):
    typed, expected = row.split("  ->  ")
    session, shown, notes = begun(), [], []
    try:
        session.run(typed, lambda one: (notes if isinstance(one, Noted) else shown).append(one))
    except AgradError as problem:
        assert f"error: {problem.message}" == expected
        return
    assert [one.text(session.settings) for one in shown] == [expected]
    assert "no value, and so this is a formula" in notes[0].note.message
    session.run(notes[0].note.fixes[0])  # which gives the first name a value


@each("row", [row for row in DERIVED if row[:1] != "#"])
def test_derivatives_of_functions_and_by_names(row):
    typed, expected = row.split("  ->  ")
    session, shown = Session(), []
    session.run("f(x, y) = x^2*y + y; g(x) = x^3; var a = 2; z = a^2")
    try:
        session.run(typed, lambda one: shown.append(one.text(session.settings)))
    except AgradError as problem:
        shown = [f"error: {problem.message}"]
    assert expected in shown


def test_a_derivative_of_what_was_computed_without_the_leaf_has_a_note():
    notes = []
    Session().run("var x = 2; var y = 3; d/dx (2*y)", lambda one: notes.append(one) if isinstance(one, Noted) else None)
    assert [one.note.message for one in notes] == [
        "what is differentiated was computed without x, and so the derivative is 0"
    ]


def test_an_order_of_a_derivative_is_no_number_that_was_read_as_0():
    notes = []
    Session().run("f(x) = x^3; d2f/dx2(3); d2/dx2 f", lambda one: notes.append(one) if isinstance(one, Noted) else None)
    assert ["x has no value" in one.note.message for one in notes] == [True]


@each("typed", ["q + 1", "f(q)"])
def test_a_text_that_is_not_typed_needs_the_value(typed):
    for session, where in ((begun(False), {}), (begun(), {"source": "a.ag", "is_file": True})):
        with pytest.raises(AgradError, match="q has no value"):
            session.run(typed, **where)


def test_the_command_line_needs_the_value():
    with pytest.raises(AgradError, match="q has no value"):
        begun().evaluate("q + 1")
