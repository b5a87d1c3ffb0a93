"""The one error: its kinds, how it reads where a language has told the engine of places, and what it says of shapes that do not fit and of freed graphs."""

from typing import get_args

import pytest
from refused import Place, lines
from rows import each

import agrad.engine as ag
from agrad.engine.core.op import FUNCTIONS
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


SPREAD = "axis -1 has lengths {} and {}: they fit where they are equal, or one is 1"


def ones(*shape):
    return FUNCTIONS["ones"].call(shape)


NOTES = [
    ("add", ((2,), (3,)), {}, SPREAD.format(2, 3)),
    ("mul", ((2, 3), (2,)), {}, SPREAD.format(3, 2) + "; (2, 1) instead of (2) would"),
    ("mul", ((2,), (2, 3)), {}, SPREAD.format(2, 3) + "; (2, 1) instead of (2) would"),
    ("add", ((2, 3), (4, 3)), {}, SPREAD.format(2, 4).replace("-1", "-2")),
    ("where", ((2,), (3,), ()), {}, SPREAD.format(2, 3)),
    ("expand", ((2,),), {"shape": (3, 3)}, "a shape that ends in (2) would fit"),
    ("expand", ((2, 1),), {"shape": (3, 3)}, "a shape that ends in (2, n) would fit"),
    ("solve", ((2, 2), (3,)), {}, "a right side of shape (2) would fit, or (2, k) with a vector in each column"),
    ("reshape", ((6,),), {"shape": (4, -1)}, "6 is not a multiple of 4; (3, -1) would fit"),
    ("reshape", ((12,),), {"shape": (2, 5, -1)}, "12 is not a multiple of 10; (2, 6, -1) would fit"),
    ("reshape", ((6,),), {"shape": (4, 2)}, "(4, 2) holds 8; (3, 2) would fit"),
    ("reshape", ((6,),), {"shape": (2, 4)}, "(2, 4) holds 8; (2, 3) would fit"),
    ("reshape", ((7,),), {"shape": (2, 3)}, "(2, 3) holds 6"),
    ("reshape", ((0,),), {"shape": (2, 3)}, "(2, 3) holds 6"),
    ("reshape", ((6,),), {"shape": (-1, -1)}, "a length cannot be below 0, except for one -1, which is computed"),
    ("reshape", ((6,),), {"shape": (-2, 3)}, "a length cannot be below 0, except for one -1, which is computed"),
]


@each("name, shapes, attrs, note", NOTES)
def test_the_note_says_what_would_fit(name, shapes, attrs, note):
    with pytest.raises(ag.AgradError) as caught:
        FUNCTIONS[name].call(*(ones(*shape) for shape in shapes), **attrs)
    assert (caught.value.kind, caught.value.notes) == ("shape", [note])


@each(
    "name, shapes, note",
    [
        ("concat", [(1, 2), (1,)], "with (1, 2) fit shapes (n, 2), for any n"),
        ("stack", [(2,), (1,)], "concat joins them along axis 0"),
        ("stack", [(2,), ()], "all need the shape of the first, (2)"),
    ],
)
def test_the_same_for_what_joins(name, shapes, note):
    with pytest.raises(ag.AgradError) as caught:
        FUNCTIONS[name].call([ones(*shape) for shape in shapes])
    assert caught.value.notes == [note]


@each(
    "shapes, why",
    [
        (((2,), (3,)), "two vectors need the same length"),
        (((1, 2), (3,)), "2 columns on the left, 3 rows on the right"),
    ],
)
def test_dot_speaks_of_itself(shapes, why):
    with pytest.raises(ag.AgradError, match=f"^dot of shapes .* and .*: {why}"):
        FUNCTIONS["dot"].call(*(ones(*shape) for shape in shapes))


def test_a_reshape_that_nothing_near_divides_says_no_more():
    with pytest.raises(ag.AgradError) as caught:
        FUNCTIONS["reshape"].call(ones(1_000_003), (500_000, -1))
    assert caught.value.notes == ["1000003 is not a multiple of 500000"]


# Expressions of x = [1, 2, 3], each with what torch 2.13 does at a second backward of their sum.
AGAIN = {
    "x*2": "refused",
    "2*x": "refused",
    "x/2": "refused",
    "x*m.tensor(2.0)": "refused",
    "x**2": "refused",
    "x*x": "refused",
    "1/x": "refused",
    "x + 1": "allowed",
    "1 - x": "allowed",
    "x - x": "allowed",
    "-x": "allowed",
    "x % 2": "allowed",
    "x[0]": "allowed",
    "x[1:]": "allowed",
    "x[[0, 2]]": "refused",
    "x[x > 1]": "refused",
    "x.sum()": "allowed",
    "x.mean()": "allowed",
    "m.max(x)": "refused",
    "m.median(x)": "refused",
    "m.std(x)": "refused",
    "m.norm(x)": "refused",
    "m.prod(x)": "refused",
    "m.sort(x)[0]": "refused",
    "m.cumsum(x, 0)": "allowed",
    "m.cumprod(x, 0)": "refused",
    "m.abs(x)": "refused",
    "m.exp(x)": "refused",
    "m.log(x)": "refused",
    "m.sin(x)": "refused",
    "m.sqrt(x)": "refused",
    "m.tanh(x)": "refused",
    "m.sigmoid(x)": "refused",
    "m.relu(x)": "refused",
    "m.softmax(x, 0)": "refused",
    "m.logsumexp(x, 0)": "refused",
    "m.maximum(x, x)": "refused",
    "m.where(x > 1, x, x)": "refused",
    "m.floor(x)": "allowed",
    "m.round(x)": "allowed",
    "m.sign(x)": "allowed",
    "m.stack([x, x])": "allowed",
    "m.flip(x, [0])": "allowed",
    "m.roll(x, 1)": "allowed",
    "m.outer(x, x)": "refused",
    "x @ x": "refused",
    "x.reshape(3, 1)": "allowed",
    "x.unsqueeze(0)": "allowed",
    "x.clone()": "allowed",
    "x.reshape(3, 1).T": "allowed",
}


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
