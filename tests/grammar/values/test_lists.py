"""Lists: their parts are the very values that were put into them, and an array where one is needed."""

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.help.help import LISTS
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session


@each(
    "text, message",
    [
        ("xs = [ones(2), ones(3)]; 2*xs", "the entries of a list must have the same shape to make an array, but these"),
        ('xs = ["a", ones(3)]; 2.5*xs', 'an entry of a list needs a number or an array, not the text "a"'),
        ("xs = []\nxs.append(xs)", "a list cannot be a part of itself"),
        ("xs = [1]; xs.append(xs)", "a list cannot be a part of itself"),
        ("xs = [1]; ys = xs; xs.insert(0, (2, ys))", "a list cannot be a part of itself"),
        ("xs = [1]\ndef f(ys): ys.append(xs)\nf(xs)", "a list cannot be a part of itself"),
        ("xs = []; xs.append(1); ys = arange(3); xs + ys", "one side of + is a list, which + puts together"),
        ("var w = 1; xs = [w]; xs.zero_()", "a list has no .zero_: its entries have"),
        ("var w = 1; xs = [w]; xs.grad = None", "a list has no .grad: its entries have"),
        ("var w = 1; xs = [w]; xs.grad", "a list has no .grad: its entries have"),
        ("xs = []; xs.pop()", "index -1 is out of range: the list has no entry"),
        ("var w = 1; xs = [w]; xs[0, 0] = 1", "an entry of a list is assigned to by one index"),
        ("x = ones(2); del x[0]", "the entries of an array of shape (2) cannot be deleted"),
        ("x = ones(2); del x.data", "x.data cannot be deleted"),
        ("m = ones(2, 2)\nfor r in m: r[0] = 9", "r is a copy, not a view: a write into it would be lost"),
        ("x = ones(4); x.view(2, 2)[0] = 9", "x.view(2, 2) is a copy, not a view: a write into it would be lost"),
        ("x = ones(4); y = x[1:]; y += 1", "y is a copy, not a view: a write into it would be lost"),
        ("x = ones(4); y = reshape(x, 2, 2); y[0, 0] = 1", "y is a copy, not a view"),
        ("x = ones(4); y = x[1:]; y.data = zeros(3)", "y is a copy, not a view"),
        ("var x = 2; d = x.detach(); x.data = 3", "this value shares its data with another"),
        ("xs = []; xs.append(1)\nwhile 1 < 2: xs += xs", "needs"),
    ],
)
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
