"""Lists: their parts are the very values that were put into them, and an array where one is needed."""

from pathlib import Path

import pytest
from answers import answers
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.help.help import LISTS
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

ERRORS = answers(Path(__file__).with_name("errors_of_lists.txt"))


@each("text, message", ERRORS.items())
def test_an_error_says_what_to_write(text, message):
    session = Session()
    session.watch.allow(1e6)
    with pytest.raises(AgradError) as caught:
        session.run(text)
    assert caught.value.message.startswith(message) or message in caught.value.message


@each("change", ["xs.append(1)", "xs += [1]", "xs[0] = 5", "xs.clear()", "del xs[0]", "xs.sort()"])
def test_a_failed_statement_and_undo_take_the_change_of_a_list_back(change):
    session = Session()
    session.steps.depth = 9
    session.run("var w = 2; xs = [w, 1]; ys = xs")
    before = list(session.names["xs"].parts)
    with pytest.raises(AgradError):
        session.run(f"if 1:\n    {change}\n    log(None)")
    assert session.names["ys"].parts == before and not session.names["xs"].joins
    session.run(change)
    assert session.names["ys"].parts != before
    session.undo(1)
    assert session.names["ys"].parts == before and session.names["ys"] is session.names["xs"]


def test_undo_makes_a_list_a_vector_again():
    session = Session()
    session.steps.depth = 9
    session.run("xs = [1, 2]; ys = xs\nxs.append(3)")
    session.undo(1)
    session.run("assert xs + [1, 1] == [2, 3]; xs += 1; assert ys == [2, 3]")


def test_a_loop_over_a_list_is_compiled_and_gives_the_same():
    text = """
var w = [1, 2]; var b = 1; params = [w, b]
for i in range(300):
    loss = (sum(params[0]) + b - 3)**2 + sum(w**2)
    loss.backward()
    no_grad:
        for p in params: p -= 0.01*p.grad
    for p in [w, b]: p.grad = None
"""
    found = []
    for compiles in (True, False):
        session = Session()
        session.compiles = compiles
        session.run(text)
        found.append((session.names["w"].tolist(), session.names["b"].item(), session.names["w"].version))
    assert found[0] == found[1]


@each("told, shown", LISTS)
def test_what_help_says_of_lists_holds(told, shown):
    for line in shown.split("; "):
        text = f"assert {line}" if " == " in line else line
        shown = shown.replace(line, text, 1)
    Session().run(shown.replace("; ", "\n"))


@each(
    "text, noted", [("2*(3, 4)", 1), ("t = 3, 4; t*2", 1), ("norm((3, 4)*2)", 1), ("(0,)*3; 2*[3, 4]; (1, 'a')*2", 0)]
)
def test_a_repeated_tuple_of_numbers_is_noted(text, noted):
    notes = []
    Session().run(text, lambda result: notes.append(result.note.message) if isinstance(result, Noted) else None)
    assert notes == ["* repeats a tuple; of the vector [3, 4] it gives multiples"] * noted
