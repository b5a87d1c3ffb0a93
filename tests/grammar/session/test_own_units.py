"""Units of one's own: they belong to their session, as names do, and a script that is saved defines them again."""

from fractions import Fraction

import pytest
from rows import each

from agrad.engine.core.context import enter
from agrad.engine.errors import AgradError
from agrad.engine.units.unit import find
from agrad.grammar.lint.lint import problems
from agrad.grammar.session.log import restore
from agrad.grammar.session.saving import script
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import Source


def session(*texts):
    made = Session()
    made.steps.depth, made.record.on, made.by_entry = 100, True, True
    for text in texts:
        run(made, text)
    return made


def run(made, text):
    shown = []
    made.run(text, lambda result: shown.append(result.text(made.settings)))
    return shown


DEFINED = ("unit smoot = 1.7018 m", "x = 2 smoot")


def test_its_factor_is_exact():
    made = session("unit rod_ = 5.0292 m", "unit third = 0.3 rod_")
    assert enter(made.context, find, "third").factor == Fraction(50292, 10000) * Fraction(3, 10)


def test_another_session_has_it_not():
    session(*DEFINED)
    assert find("smoot") is None
    assert run(session(), "2 smoot")[0] == "2*smoot"  # of an unknown


def test_undo_redo_again_and_reset_have_their_usual_effect():
    made = session(*DEFINED)
    assert run(made, "3 smoot") == ["3 smoot"]
    run(made, "undo")
    assert run(made, "undo") == ["took back: unit smoot = 1.7018 m"]
    assert not made.context.units
    run(made, "redo 2")
    assert run(made, "x") == ["2 smoot"]
    run(made, "again 1")  # the same definition is no other one
    assert run(made, "again 2; x to m") == ["3.4036 m"]
    run(made, "reset")
    assert not made.context.units
    run(made, "undo")
    assert run(made, "3 smoot") == ["3 smoot"]


def test_a_statement_that_fails_has_defined_none():
    made = session()
    with pytest.raises(AgradError):
        run(made, "if 1: unit smoot = 1.7018 m; 1/'a'")
    assert not made.context.units


def test_an_earlier_session_is_restored_with_it(tmp_path):
    made, later = session(*DEFINED), Session()
    restore(later, made.record.entries)
    assert run(later, "x") == ["2 smoot"]


def test_a_script_that_is_saved_has_it(tmp_path):
    made = session(*DEFINED, "x to m")
    text, count = script(made.record.entries, str(tmp_path))
    assert count == 3
    shown = []
    other = Session()
    other.run(text, lambda result: shown.append(result.text(other.settings)), "saved.ag", is_file=True)
    assert shown == ["3.4036 m"]
    assert problems(Source("saved.ag", text, 1, True)) == []


def test_a_script_that_is_loaded_defines_it_for_the_session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("mine.ag").write_text("unit smoot = 1.7018 m\n")
    assert run(session('load "mine.ag"'), "(2 smoot) to m") == ["3.4036 m"]


def test_vars_lists_them():
    assert run(session("unit smoot = 1.7018 m", "unit EUR"), "vars") == [
        "smoot  unit  1.7018 m\nEUR    unit  a dimension of its own"
    ]


REFUSED = {
    "unit km = 3 m": "`km` is a unit already: 1000 m, with a prefix",
    "unit GT = 2 m": "`GT` is a unit already: 1000000000 T, with a prefix",
    "unit kg": "`kg` is a unit already: a base unit",
    "unit smoot = 2 m": "`smoot` is a unit already: 1.7018 m",
    "unit H2 = 3": "the name of a unit has letters only, and `H2` has others",
    **dict.fromkeys(
        ["unit q = 2 ± 0.1", "unit q = -1", "unit q = 1/0", "unit q = 20 °C", "unit q = [1] m", "unit q = None"],
        "a unit is one positive number of others, without uncertainty",
    ),
}


@each("text, message", REFUSED.items())
def test_what_is_no_unit_is_refused(text, message):
    made = session("unit smoot = 1.7018 m")
    with pytest.raises(AgradError) as problem:
        run(made, text)
    assert (problem.value.kind, problem.value.message) == ("unit", message)
    assert problem.value.labels[0].origin.text == text
    assert [*made.context.units] == ["smoot"]
