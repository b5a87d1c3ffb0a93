"""What rows give as `unrolled`: the same values as the array functions, also at ties, zeros, inf and nan."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from rows import by_name, each
from samples import samples_of
from transcript import sections

import agrad.engine as ag
from agrad.engine.compile.llvm import target
from agrad.engine.compile.scalarise import Unexpanded, unrolled
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import unchecked
from agrad.engine.program.trace import trace

MOST = 20_000
ROWS = [op.name for op in OPS.values() if op.unrolled is not None]
ENTRIES = (0.0, -1.5, 2.0, 2.0, math.inf, -math.inf, math.nan, 1e200, 1e-200)


def agree(call, arrays, *others, rtol=1e-13):
    """The program of numbers gives what the array functions give, there and at other places, or these are an error."""
    program = trace(call, arrays, [f"x{place}" for place in range(len(arrays))])
    numbers = None
    for place in (arrays, *others):
        try:
            expected = np.asarray(call(*[ag.tensor(x) for x in place]))
        except (AgradError, np.linalg.LinAlgError):
            continue
        numbers = numbers or unchecked(unrolled(program, MOST))
        found = numbers.run(*[float(x) for array in place for x in np.ravel(array)])[: np.size(expected)]
        np.testing.assert_allclose(found, np.ravel(expected), rtol=rtol, atol=1e-13, err_msg=str(place))


def test_there_are_many():
    assert len(ROWS) > 20


@each("name", ROWS)
def test_it_gives_the_value_of_each_sample(name):
    op = OPS[name]
    for sample in samples_of(op):
        attrs = sample[-1] if isinstance(sample[-1], dict) else {}
        operands = sample[: len(sample) - bool(attrs)]
        arrays = [x if isinstance(x, float) else np.asarray(x, dtype=float) for x in operands]
        if op.variadic:
            agree(lambda *xs, attrs=attrs: op.call(list(xs), **attrs), arrays)
        else:
            agree(lambda *xs, attrs=attrs: op.call(*xs, **attrs), arrays)


TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_name("unrolled.txt")).items()}
FUNCTIONS = by_name(TEXTS["functions"], "x", globals())


@each("name", FUNCTIONS)
def test_it_agrees_at_ties_zeros_and_what_is_not_finite(name):
    overflows = {"std": 1e200, "var": 1e200}.get(name)  # the square of the mean, in either order
    places = [[np.array(entries)] for entries in product(ENTRIES, repeat=3) if overflows not in entries]
    agree(FUNCTIONS[name], [np.array([0.5, -1.0, 2.0])], *places, rtol=1e-12)


@each("name", FUNCTIONS)
@each("axis", [0, 1, -1])
def test_it_agrees_along_axes(name, axis):
    x = np.array([[0.5, -1.0, 2.0, 0.25], [3.0, 3.0, -0.5, 1.0], [0.1, 1.2, 2.0, -3.0]])
    if name == "sort down":
        agree(lambda x: ag.sort(x, axis, True), [x])
    else:
        agree(lambda x: getattr(ag, name)(x, axis=axis), [x])


@each("size", [1, 2, 3, 5, 7])
@each("name", ["det", "inv", "slogdet"])
def test_matrices(name, size):
    dice = np.random.default_rng(size)
    for matrix in (dice.normal(size=(size, size)), np.ones((size, size)), np.zeros((size, size)), np.eye(size)[::-1]):
        if name == "inv" and np.linalg.matrix_rank(matrix) < size:
            continue
        for part in range(1 + (name == "slogdet")):
            agree(
                lambda x, part=part: getattr(ag, name)(x)[part] if name == "slogdet" else getattr(ag, name)(x),
                [matrix],
                rtol=1e-11,
            )


def test_what_has_no_expansion_is_named():
    program = trace(lambda x: ag.expm(x), [np.eye(3)], ["x"])
    with pytest.raises(Unexpanded, match=r"^expm of shape \(3, 3\)$"):
        unrolled(program, MOST)


def test_what_would_be_too_long():
    program = trace(lambda x: ag.softmax(x), [np.arange(100.0)], ["x"])
    assert unrolled(program, 100) is None


@pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
@each(
    "f",
    [
        lambda x: ag.max(x),
        lambda x: ag.min(x * x) - ag.max(x),
        lambda x: ag.sum(ag.sort(x) * x),
        lambda x: ag.sum(ag.cumprod(x)) + ag.std(x),
        lambda x: ag.max(x) * ag.sum(ag.solve(ag.eye(4) + x[:, None] * x, x)),
        lambda x: ag.sum(ag.max(x[:, None] * x, axis=0)),
    ],
)
def test_small_arrays_become_numbers_after_they_are_differentiated(f):
    points = [[1.0, -2.0, 3.0, 0.5], [-0.0, 0.0, -0.0, 0.0], [0.5, 2.0, 2.0, -0.5], [math.nan, 1.0, 2.0, 0.0]]
    plain, native = (ag.compile(f, np.arange(4.0), backend=backend) for backend in ("python", "llvm"))
    for x in map(np.array, points):
        for one in ("value", "grad", "hessian"):
            expected, found = getattr(plain, one)(x), getattr(native, one)(x)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
            if one == "value":
                assert np.signbit(found) == np.signbit(expected) or np.isnan(found)
    assert "computed by machine code, as numbers" in native.explain()
