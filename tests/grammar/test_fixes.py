"""Each fix that is text to type is typed, and helps: it can be read, and does not fail in the same way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mistakes
import pytest
import typed_sessions
from answers import answers
from claims import START
from fixes import bad_fixes, failure, new_session
from rows import each
from sentences import ROOT, STORE, mutate
from thinned import thinned
from transcript import statements

import agrad.grammar.commands  # noqa: F401  # which says how each command is written
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, typed
from agrad.grammar.diagnostics import render
from agrad.grammar.results import Noted, Quit
from agrad.grammar.session.session import Session

# The timer that ends a slow fix may go off where Python ignores what is raised: in a callback of garbage collection.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@each("name", [name for name, entry in FUNCTIONS.items() if entry.pure])
def test_fixes_of_a_function_that_is_given_numbers(name: str) -> None:
    session = new_session()
    for arguments in ("1, 2", "1, 2, 3"):
        error = failure(session, f"{name}({arguments})")
        for fix in typed(error.fixes) if error is not None else []:
            again = failure(session, fix)
            assert again is None, render(again)


@each("text", ["exit", "exit()", "exit  # done", "x = 1; exit"])
def test_exit_quits(text: str) -> None:
    with pytest.raises(Quit):
        new_session().run(text)


def test_exit_is_a_name_elsewhere() -> None:
    new_session().run("exit = 3\nassert exit + 1 == 4\nassert 3 == exit")


def test_a_backward_of_a_plain_value_names_the_value() -> None:
    error = failure(new_session(), "x = 2; y = x**2; y.backward()")
    assert error is not None
    assert error.message.startswith("y does not require grad")


def test_an_attribute_that_a_function_has_not_is_refused_with_brackets_as_without() -> None:
    messages = [getattr(failure(new_session(), text), "message", None) for text in ("qr.data()", "qr.data")]
    assert messages == [".data needs a number or an array, not the function qr"] * 2


@pytest.mark.parametrize("start", thinned(["", START], 2))
def test_the_fixes_of_all_syntax_errors(start: str) -> None:
    assert not [bad for example in mistakes.TEXTS for bad in bad_fixes([start], example)]


FILES = sorted((ROOT / "tests" / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("file", thinned(FILES, 4), ids=lambda file: file.stem)
def test_the_fixes_of_the_transcripts(file) -> None:  # type: ignore[no-untyped-def]
    found = statements(file.read_text(encoding="utf-8"))
    session, bad = new_session(), []
    for position, text in enumerate(found):
        error = failure(session, text)
        if error is not None and typed(error.fixes):
            bad += bad_fixes(found[:position], text)
    assert not bad


def mutated(count: int, seed: int) -> list[str]:
    """Random texts that are nearly right."""
    dice = random.Random(seed)
    return [mutate(dice.choice(STORE), dice) for _ in range(count)]


@pytest.mark.parametrize("seed", thinned(range(4), 4))
def test_the_fixes_of_random_statements(seed: int) -> None:
    assert not [bad for text in mutated(60, seed) for bad in bad_fixes([START], text)]


def test_no_equation_is_proposed_for_truths() -> None:
    for text in ("True = x + 1", "True = 5", "None + x = 1"):
        with pytest.raises(AgradError) as problem:
            Session().run(text)
        assert "solve" not in str(problem.value.fixes)


def test_no_integral_by_two_names_is_proposed_as_one_by_the_last() -> None:
    with pytest.raises(AgradError) as problem:
        Session().run("∫ x^2 dx dy")
    assert "lambda" not in str(problem.value.fixes)


def test_a_sum_of_a_spreadsheet_is_of_a_list_here() -> None:
    for text, fix in (
        ("SUM(1, 2)", "sum([1, 2])"),
        ("x = 3; 2*SUM(x, 2)", "2*sum([x, 2])"),
        ("SUM([1, 2])", "sum([1, 2])"),
    ):
        with pytest.raises(AgradError) as problem:
            Session().run(text)
        assert [str(one).rpartition("; ")[2] for one in problem.value.fixes] == [fix]


def test_a_fix_that_is_shown_is_whole() -> None:
    long = " + ".join(["2 3"] * 40)
    error = failure(Session(), long)
    assert error is not None
    assert not typed(error.fixes)


def test_the_fixes_of_what_is_written_otherwise_elsewhere() -> None:
    common, sessions = typed_sessions.claims((typed_sessions.FOLDER / "written_elsewhere.txt").read_text("utf-8"))
    assert not [bad for _, text in sessions for bad in bad_fixes(statements(common), *statements(text))]


def test_at_is_told_with_what_holds_for_a_value_that_has_been_computed():
    session = Session()
    session.run("var x = 2; y = x**3")
    with pytest.raises(AgradError, match="no `at`") as caught:
        session.run("y at x=3")
    first, other = caught.value.fixes
    assert other == "x=3; y"  # which shows the old y
    session.run(first.partition("   ")[0])
    assert session.evaluate("y.item()") == 27


def test_a_number_that_is_called_may_be_meant_as_a_function() -> None:
    error = failure(new_session("x = 2"), "f = x^2; f(3)")
    assert error is not None
    assert error.fixes == ["f = x^2; f*(3)", "def f(x) = …   makes a function of it"]


def test_the_fix_of_a_slip_gives_what_was_meant() -> None:
    start = "var x = 3; y = x^2; k = 2; a = [1, 2, 3]; def f(t) = t^3; def pair(u, v) = u*v^2"
    for text, fix in answers(Path(__file__).with_name("slips.txt")).items():
        session = new_session(start)
        error = failure(session, text)
        assert error is not None, text
        assert error.fixes == [fix], text
        again = failure(session, typed([fix])[0])
        assert again is None or again.kind == "file" or again.message == "x has no gradient", text


@each(
    "text, fixes",
    [
        ("L - 1.0", ["L - 1 metre"]),  # where m has a value, a metre is written out
        ("fit y ~ c*x + d over c, d weighted w", ["fit y ~ c*x + d over c, d sigma 1/sqrt(w)"]),
        ("5 xor 3", []),  # `xor*3` helps nobody
        ("L to", []),
        ("g(t) = t w", ["g(t) = t*w"]),
        ("ode(lambda s: s, 1, [0,1])", []),  # and not the number 0.1
        ("x = 5 m^(1/0)", None),
        ("1..%s" % ("9" * 5000), None),
    ],
)
def test_fixes_know_what_has_a_value(text: str, fixes: list[str] | None) -> None:
    error = failure(new_session("L = 3 m; m = 5 kg; x = [1, 2, 3]; y = [1, 2, 4]; w = [1, 1, 2]"), text)
    assert error is not None
    assert fixes is None or error.fixes == fixes


def test_data_are_no_parameters_of_a_fit() -> None:
    session = new_session("x = [1, 2, 3, 4]; y = [2, 4.1, 5.9, 8]")
    error = failure(session, "fit y ~ m*x + q")
    assert error is not None
    assert error.fixes == ["fit y ~ m*x + q over m, q from m=1, q=1"]
    assert failure(session, error.fixes[0]) is None
    assert session.evaluate("m.item()") == pytest.approx(1.98)


def test_undo_is_not_proposed_where_it_takes_the_value_back_too() -> None:
    lines = ["var a = 5", "b = a**2", "backward b"]
    for entries, proposed in ((lines, True), (["\n".join(lines)], False), (["; ".join(lines)], False)):
        session = new_session()
        session.by_entry = True
        for entry in entries:
            session.run(entry)
        error = failure(session, "backward b")
        assert error is not None
        assert any(fix.startswith("undo ") for fix in error.fixes) is proposed, entries


@pytest.mark.parametrize("part", thinned(range(4), 4))
def test_the_fixes_of_what_is_typed_elsewhere_give_the_answer_or_the_next_message(part: int) -> None:
    bad, rows = [], Path(__file__).with_name("slips_elsewhere.txt").read_text("utf-8").split("\n> ")[1:]
    for row in rows[part::4]:
        text, _, answer = row.strip("\n").partition("\n| ")
        bad += bad_fixes(["x = 3"], text)
        if answer and answer not in (shown := [line for one in _tried(text) for line in one]):
            bad.append(f"{text!r} should be {answer}, and shows {shown}")
    assert not bad
    assert len(rows) > 400


def _tried(text: str) -> Iterator[list[str]]:
    """What a text shows after `x = 3`, and each fix of its error or note."""
    found: list[Any] = []
    session = new_session("x = 3")
    problem = failure(session, text, found.append)
    yield [line for one in found if not isinstance(one, Noted) for line in one.text(session.settings).split("\n")]
    notes = [one.note.fixes for one in found if isinstance(one, Noted)]
    for fix in typed([*(problem.fixes if problem is not None else []), *(fix for fixes in notes for fix in fixes)]):
        shown: list[Any] = []
        other = new_session("x = 3")
        failure(other, fix, shown.append)
        yield [line for one in shown if not isinstance(one, Noted) for line in one.text(other.settings).split("\n")]
