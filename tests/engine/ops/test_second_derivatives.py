"""Second and third derivatives, beside mpmath: near 0, beside kinks, of operands of very different sizes, of small and large ones.

A section of the table: the function, and its closed form. A row: x, or x and y, and the second derivatives by x twice,
by both, and by y twice. The special functions have a test of their own.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from points import value
from rows import each

import agrad.engine as ag
from agrad.engine.core.op import FUNCTIONS

TABLE = [part.splitlines() for part in Path(__file__).with_name("second_derivatives.txt").read_text().split("=== ")[1:]]
FAMILIES = {"arithmetic", "elementary", "learning", "reductions"}
# These have no second derivative but 0, choose or move entries, or are sums and products of others here.
WITHOUT = """abs add ceil clip convolve copysign correlate cov corrcoef cumsum deg2rad dropout embedding floor floor_divide
fmod hardtanh heaviside interp l1_loss layer_norm leaky_relu linear max mean median min mod nanmax nanmean nanmin nanstd
nansum nanvar neg nll_loss percentile quantile rad2deg relu remainder round scan sign sub sum trunc"""
AS_OPERATORS = {"mul", "div", "pow"}
# The mean of entries of very different sizes rounds: these are as exact as the largest derivative.
ROUNDED = ("ag.std",)
# Third derivatives of shares are 0 where a share is a half, or all are equal: there they are as exact as the shares.
SHARES = ("ag.softmax", "ag.log_softmax", "ag.logsumexp", "ag.cross_entropy(", "ag.gelu")


def parts(section):
    (name, closed), rows = section[0].split(" | "), section[1:]
    return name, closed, [[[*map(float, cell.split(", "))] for cell in row.split(" | ")] for row in rows]


def of(*entries):
    return ag.stack(entries)


def found_here(name, operands):
    xs = [ag.tensor(x, requires_grad=True) for x in operands]
    slopes = ag.grad(eval(name, {"ag": ag, "of": of, **dict(zip("xy", xs, strict=False))}), xs, create_graph=True)
    second = [float(value(one)) for slope in slopes for one in ag.vjp(slope, xs, 1.0)]
    return second if len(xs) == 1 else [second[0], second[1], second[3], second[2]]


@each("section", [(section,) for section in TABLE])
def test_second_derivatives_are_exact(section):
    name, _, rows = parts(section[0])
    assert len(rows) == 40
    for operands, expected in rows:
        found, there = found_here(name, operands), [*expected, *expected[1:2]]
        floor = 1e-14 * max(map(abs, expected)) if name.startswith(ROUNDED) else 0.0
        np.testing.assert_allclose(found[: len(there)], there, rtol=1e-12, atol=floor, err_msg=str((name, operands)))


def by_mpmath(closed, operands, orders):
    """Derivatives of the closed form, of these orders by each operand, by the logarithms of the operands."""
    mpmath = pytest.importorskip("mpmath")
    xs, zeros = [mpmath.mpf(x) for x in operands], (mpmath.mpf(0),) * len(operands)

    def scaled(*shifts):
        moved = [x * (1 + shift) for x, shift in zip(xs, shifts, strict=True)]
        return mpmath.mpmathify(eval(closed, {**vars(mpmath), **dict(zip("xy", moved, strict=False))}))

    sizes = [mpmath.fprod(x**n for x, n in zip(xs, order, strict=True)) for order in orders]
    return [mpmath.re(mpmath.diff(scaled, zeros, n)) / size for n, size in zip(orders, sizes, strict=True)]


@pytest.mark.long
@each("section", [(section,) for section in TABLE])
def test_the_numbers_are_those_of_the_closed_form(section):
    mpmath = pytest.importorskip("mpmath")
    _, closed, rows = parts(section[0])
    for operands, expected in rows:
        with mpmath.workdps(200):
            found = by_mpmath(closed, operands, [(2,)] if len(operands) == 1 else [(2, 0), (1, 1), (0, 2)])
        np.testing.assert_allclose(expected, [float(x) for x in found], rtol=1e-13, atol=1e-100)


def derivative(name, xs, orders):
    """The derivative, once by each operand and so on; of an array, that of each entry."""
    y = eval(name, {"ag": ag, "of": of, **dict(zip("xy", xs, strict=False))})
    for x, n in zip(xs, orders, strict=True):
        for _ in range(n):
            y = ag.vjp(ag.sum(y), [x], 1.0, create_graph=True)[0]
    return np.asarray(value(y), dtype=float)


@pytest.mark.long
@each("section", [(section,) for section in TABLE])
def test_third_derivatives_are_exact_of_numbers_and_of_arrays(section):
    """But for what operands that are as exact as they can be move them by, or what rounding moves a share by."""
    mpmath = pytest.importorskip("mpmath")
    name, closed, rows = parts(section[0])
    columns = np.transpose([operands for operands, _ in rows[::20]])
    count = len(columns)
    for orders in [(3,)] if count == 1 else [(3, 0), (2, 1), (1, 2), (0, 3)]:
        arrays = [ag.tensor(column, requires_grad=True) for column in columns]
        along = None if re.search(r"of\(|loss|entropy", name) else derivative(name, arrays, orders)
        for place, (operands, expected) in enumerate(rows[::20]):
            found = derivative(name, [ag.tensor(x, requires_grad=True) for x in operands], orders)
            above = [tuple(n + (k == one) for k, n in enumerate(orders)) for one in range(count)]
            with mpmath.workdps(120):
                exact, *slopes = map(float, by_mpmath(closed, operands, [orders, *above]))
            moved = sum(abs(slope * x) for slope, x in zip(slopes, operands, strict=True))
            moved += max(map(abs, expected)) if name.startswith(ROUNDED) else 1.0 if name.startswith(SHARES) else 0.0
            np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-15 * moved + 1e-100, err_msg=f"{operands}")
            if along is not None:
                np.testing.assert_allclose(along[place], found, rtol=1e-13, err_msg=f"{operands}")


def test_what_is_left_beside_a_share_of_nearly_1_is_exact():
    small, slope = math.log1p(math.exp(-50.0)), -1.0 / (1.0 + math.exp(50.0))
    logits = ag.binary_cross_entropy_with_logits
    found = [ag.log_softmax([50.0, 0.0])[0], -ag.cross_entropy([50.0, 0.0], 0), -logits(50.0, 1.0), -logits(-50.0, 0.0)]
    np.testing.assert_allclose([float(x) for x in found], -small, rtol=1e-14)
    np.testing.assert_allclose(ag.grad(lambda x: ag.cross_entropy(x, 0))([50.0, 0.0]), [slope, -slope], rtol=1e-14)
    assert ag.grad(logits)(50.0, 1.0) == pytest.approx(slope, rel=1e-14)
    np.testing.assert_array_equal(ag.grad(lambda x: ag.logsumexp(x, b=[3.0, 2.0]))([1e20, 0.0]), [1.0, 0.0])
    assert ag.grad(ag.grad(ag.grad(ag.log_ndtr)))(-1e8) == pytest.approx(2e-24, rel=1e-14)


def test_every_function_that_has_second_derivatives_is_tried():
    tried = {*re.findall(r"ag\.(\w+)", " ".join(section[0] for section in TABLE))} | AS_OPERATORS
    known = {name for name, entry in FUNCTIONS.items() if entry.family in FAMILIES}
    assert tried | {*WITHOUT.split()} >= known
