"""What is refused, and how it is told: always an AgradError, of a kind, which names the operation, the operand and what would do; and what PyTorch would allow."""

import random
import warnings
from typing import get_args

import numpy as np
import pytest
from refused import Place, lines, refuses
from rows import divided, each

import agrad.engine as ag
from agrad.engine.errors import AgradError, Kind, Label

EMPTY = np.zeros((0, 3))


def test_what_the_language_never_asks_for_is_refused_too():
    refuses(lambda: ag.sum([1, "a"]), "numbers are needed here", kind="type")
    refuses(lambda: ag.zeros(1e6, 1e6), "needs 8 TB; the limit is", kind="limit")


def test_an_empty_array_is_an_array():
    x = ag.tensor(EMPTY, requires_grad=True)
    for f in (
        ag.sum,
        ag.prod,
        lambda x: ag.sum(ag.sin(x) * x),
        lambda x: ag.sum(x @ np.ones((3, 2))),
        ag.norm,
        lambda x: ag.sum(ag.max(x, axis=1)),
        lambda x: ag.sum(ag.softmax(x)),
        lambda x: ag.sum(ag.cumprod(x, 0)),
        lambda x: ag.sum(ag.sort(x)),
        lambda x: ag.sum(ag.concat([x, x]).T),
        lambda x: ag.sum(x[:, [0, 0]]),
    ):
        g = ag.grad(f(x), x, create_graph=True)
        assert g.shape == (0, 3)
        assert ag.grad(ag.sum(g), x).shape == (0, 3)


def test_files_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "a.npy", [[1.0, 2.0]])
    np.save(tmp_path / "complex.npy", [1j])
    np.savez(tmp_path / "two.npz", [1.0], [2.0])
    whole = (tmp_path / "a.npy").read_bytes()
    damaged = {"a.csv": b"1,2", "empty": b"", "cut": whole[:-3], "head": whole[:40], "torn": whole[:12] + b"\xff" * 99}
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
    for name in (*damaged, "two.npz"):
        with pytest.raises(ag.AgradError, match="not an array saved by numpy") as caught:
            ag.load_npy(str(tmp_path / name))
        assert caught.value.kind == "file"
    refuses(lambda: ag.load_npy(str(tmp_path / "complex.npy")), "complex")
    (tmp_path / "latin.csv").write_bytes("1,2\n3,é".encode("latin-1"))
    refuses(lambda: ag.load_csv(str(tmp_path / "latin.csv")), "is not UTF-8 text")
    refuses(lambda: ag.load_csv("a" * 5000), "there is no file")


def test_whole_numbers_too_large_for_a_float_are_infinite():
    assert ag.tensor([10**400, 2, -(10**400)]).tolist() == [float("inf"), 2, float("-inf")]


# Whatever is thrown at them

VALUES = [
    0.0, 1.0, -2.5, 3, True, float("nan"), float("inf"), 1e308, [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], [], [[]], EMPTY,
    np.zeros((2, 0)), np.array(3.0), np.ones((2, 3, 4)), np.float64(2.5), np.array([1, 2, 3]), np.array([True, False]),
    "abc", None, (1, 2), (), {}, ag.sin, [1, [2, 3]], 1j, b"x", [None], ["a"],
]  # fmt: skip


ATTRIBUTES = [0, 1, -1, 2, 7, 0.5, None, "x", (0, 1), [0], float("nan"), True, [1, 2], "ij->ji", -3, len, {}]


NAMES = sorted(
    name for name, entry in ag.FUNCTIONS.items() if entry.family not in ("creation", "derivatives") and name in dir(ag)
)


@each("name", NAMES)
def test_nothing_but_its_own_error_and_no_warning_leaves_a_function(name):
    entry, rng = ag.FUNCTIONS[name], random.Random(name)
    leaves = [ag.tensor(x, requires_grad=True) for x in (2.0, [1.0, 2.0], [[1.0, 2.0], [3.0, 5.0]], [])]
    signature = entry.signature
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(150):
            values = [rng.choice(VALUES + leaves * 6) for _ in range(max(len(signature.operands), 1))]
            args = [values] if signature.variadic else values[: len(signature.operands)]
            words = {key: rng.choice(ATTRIBUTES) for key in signature.attributes if rng.random() < 0.3}
            try:
                result = entry.call(*args, **words)
                for y in result if isinstance(result, tuple) else (result,):
                    if isinstance(y, ag.Tensor) and y.requires_grad:
                        check_gradients(y, leaves)
            except ag.AgradError as error:
                assert str(error)


def check_gradients(y, leaves):
    for x in leaves:
        try:
            g = ag.grad(ag.sum(y), x, create_graph=True)
        except ag.AgradError as error:
            assert error.kind in ("grad", "domain", "limit")
        else:
            assert g.shape == x.shape


def test_kinds_of_the_one_error():
    assert set(get_args(Kind)) == set(
        "syntax name arity type shape unit domain freed stale leaf grad guard limit file extra assert internal".split()
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
