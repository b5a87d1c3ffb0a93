"""The one error: its kinds, how it reads where a language has told the engine of places, and what it says of shapes that do not fit and of freed graphs."""

from typing import get_args

import pytest
from refused import Place, lines
from rows import divided, each

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


# Expressions of x = [1, 2, 3], each with what torch 2.13 does at a second backward of their sum.
AGAIN = {
    "allowed": """
    x + 1; 1 - x; x - x; -x; x % 2; x[0]; x[1:]; x.sum(); x.mean(); m.cumsum(x, 0); m.floor(x); m.round(x); m.sign(x)
    m.stack([x, x]); m.flip(x, [0]); m.roll(x, 1); x.reshape(3, 1); x.unsqueeze(0); x.clone(); x.reshape(3, 1).T
    """,
    "refused": """
    x*2; 2*x; x/2; x*m.tensor(2.0); x**2; x*x; 1/x; x[[0, 2]]; x[x > 1]; m.max(x); m.median(x); m.std(x); m.norm(x)
    m.prod(x); m.sort(x)[0]; m.cumprod(x, 0); m.abs(x); m.exp(x); m.log(x); m.sin(x); m.sqrt(x); m.tanh(x); m.sigmoid(x)
    m.relu(x); m.softmax(x, 0); m.logsumexp(x, 0); m.maximum(x, x); m.where(x > 1, x, x); m.outer(x, x); x @ x
    """,
}
AGAIN = {expression: outcome for outcome, text in AGAIN.items() for expression in divided(text)}


def walked_again(m, expression, error):
    """The message of a second backward; none where there is none."""
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = eval(expression, {"m": m, "x": x}).sum()
    y.backward()
    try:
        y.backward()
    except error as raised:
        return str(raised)
    return ""


@each("expression", AGAIN)
def test_it_says_where_pytorch_would_allow_a_second_backward(expression):
    told = walked_again(ag, expression, AgradError)
    assert ("PyTorch would allow this" in told) == (AGAIN[expression] == "allowed"), told
    assert ("lost its saved" in told) == (AGAIN[expression] == "refused"), told


@each("expression", AGAIN)
def test_torch_does_what_the_table_says(expression):
    torch = pytest.importorskip("torch")
    assert ("refused" if walked_again(torch, expression, RuntimeError) else "allowed") == AGAIN[expression]
