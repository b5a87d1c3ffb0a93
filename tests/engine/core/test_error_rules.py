"""The one error: its kinds, and how it reads where a language has told the engine of places."""

from typing import get_args

from refused import Place, leaf, lines, named, refusal

import agrad.engine as ag
from agrad.engine.errors import AgradError, Kind, Label


def test_kinds_of_the_one_error():
    assert set(get_args(Kind)) == set(
        "syntax name arity type shape domain freed stale leaf grad guard limit file extra assert internal".split()
    )
    assert issubclass(AgradError, RuntimeError)


def test_the_text_has_labels_notes_and_fixes():
    labels = [Label(Place("b*2", "line 3"), "lost"), Label(None, "freed by hand")]
    error = AgradError("freed", "e is gone", labels=labels, notes=["a note"], fixes=["a fix"])
    assert str(error) == lines("e is gone", "line 3, b*2: lost", "freed by hand", "note: a note", "fix: a fix")


def test_freed_names_both_places(says):
    a = leaf([1, 2], "a")
    c = named("c", says("line 3", "b*2", lambda: a * 2))
    d, e = named("d", c.sum()), named("e", c.mean())
    says("line 5", "backward d", d.backward)
    assert refusal(e.backward) == lines(
        "freed: e cannot be differentiated: part of its graph was freed",
        "line 3, b*2: MulBackward lost its saved constant",
        "line 5, backward d: … here",
        "fix: keep the graph with retain_graph=True at that backward, or compute the value again",
    )


def test_stale_names_both_places(says):
    a = leaf(2, "a")
    y = named("y", says("line 2", "a**2", lambda: a**2))
    says("line 3", "set a = 5", lambda: a.set_(5))
    assert refusal(y.backward) == lines(
        "stale: y is stale: a was changed after y was computed from it",
        "line 2, a**2: computed from the old a",
        "line 3, set a = 5: … changed here",
        "fix: y.forward(), to replay its graph on the new data",
    )


def test_what_was_written_names_both_places(says):
    a = leaf(2)
    b = named("b", says("line 2", "a*3", lambda: a * 3))
    y = named("y", says("line 3", "b*b", lambda: b * b))
    says("line 4", "b += 1", lambda: b.__iadd__(1))
    assert refusal(y.backward) == lines(
        "stale: y cannot be differentiated: b was written to, and the derivative of y reads it",
        "line 3, b*b: MulBackward saved b",
        "line 4, b += 1: … written here",
        "fix: write to a new value: b2 = …",
    )


def test_a_guard_names_the_place_of_the_condition(says):
    x = leaf(2, "x")
    y = named("y", x**2 if says("line 3", "x > 0", lambda: bool(x > 0)) else x)
    v = x * [1, 2]
    m = named("m", v > 1)
    z = named("z", says("line 4", "v[m]", lambda: v[m]))
    x.set_(-1)
    assert refusal(y.forward) == lines(
        "guard: y cannot be replayed: it was built where x > 0 was true; now it is false",
        "line 3, x > 0: … true then",
        "fix: compute it again",
    )
    x.set_(1)
    assert refusal(z.forward) == lines(
        "guard: z cannot be replayed: the entries of v[m] were selected by m, which has changed",
        "line 4, v[m]: … other entries then",
        "fix: compute it again",
    )


def test_a_cut_names_its_place(says):
    x, w = leaf(2, "x"), leaf(3)
    h = named("h", says("line 2", "detach(x*1)", lambda: (x * 1).detach()))
    y = named("y", says("line 3", "w*h", lambda: w * h))
    assert refusal(lambda: ag.grad(y, x)) == lines(
        "grad: y does not depend on x: h was computed from x without recording",
        "line 2, detach(x*1): cut off here",
        "fix: compute y from x, without detach and outside no_grad",
    )
    k = named("k", says("line 4", "x > 1", lambda: x > 1))
    assert refusal(k.backward) == lines("grad: k has no derivative: greater has none", "line 4, x > 1: ")
