"""Where a gradient ends without a word, a note says so, once; nowhere else."""

import pytest

from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

START = """var x = 3; var v = [1, 2]; k = 2
def f(x):
    var t = x**2
    return t*x
def g(x) = float(x)*x
def h(v) = sum([t**2 for t in v.tolist()])*v[0]
def told(x):
    print x.item()
    if x.item() > 2: return x**2
    assert float(x) > 0
    return detach(x)*x
"""

CUT = {
    "var u = x**2": "u is a new leaf: no gradient goes through it to x",
    "var u = x": "u is a new leaf: no gradient goes through it to x",
    "var u = x*sum(v)": "u is a new leaf: no gradient goes through it to x, v",
    "y = 2*x; var u = [y, y]": "u is a new leaf: no gradient goes through it to x",
    "for i in range(5): var u = x**i": "u is a new leaf: no gradient goes through it to x",
    "grad(f)(3)": "t is a new leaf: the derivative takes it for a constant",
    "grad(g)(3)": "float(x) is a plain number: the derivative takes it for a constant",
    "grad(g)(3); hessian(g)(3)": "float(x) is a plain number: the derivative takes it for a constant",
    "jacobian(h)([1, 2])": "v.tolist() is a plain number: the derivative takes it for a constant",
}
QUIET = [
    "var u = 3",
    "var u = k*[1, 2]",
    "var u = 2 ± 0.1",
    "var u = (2 ± 0.1)",
    "m = 2 ± 0.1; var u = 2*m",
    "var x = x/2",
    "backward x**2; var x = x - 0.1*x.grad",
    "var u = x.detach()",
    "var u = detach(x**2)",
    "var u = x.item()",
    "backward x**2; var u = x.grad",
    "no_grad: var u = x**2",
    "var u = randn(3)",
    "f(3); g(3); h([1, 2])",
    "g(x); y = float(x)*x",
    "grad(told)(3)",
    "backward x**2; print float(x), x.item()",
]


def notes(text: str) -> list[str]:
    session = Session()
    session.run(START)
    told: list[str] = []
    session.run(text, lambda result: told.append(result.note.message) if isinstance(result, Noted) else None)
    return told


@pytest.mark.parametrize("text", CUT)
def test_a_cut_is_noted_once(text: str) -> None:
    assert [note for note in notes(text) if "leaf" in note or "plain number" in note] == [CUT[text]]


@pytest.mark.parametrize("text", QUIET)
def test_nothing_is_noted_where_nothing_is_lost(text: str) -> None:
    assert [note for note in notes(text) if "leaf" in note or "plain number" in note] == []


def test_the_line_that_is_proposed_keeps_the_gradient() -> None:
    session = Session()
    session.run("var x = 3")
    told: list[Noted] = []
    session.run("var u = x**2", lambda result: told.append(result) if isinstance(result, Noted) else None)
    session.run(told[0].note.fixes[0])
    assert session.evaluate("grad(u*x, x)") == 27
