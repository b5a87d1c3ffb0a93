"""Second derivatives, beside mpmath: near 0, beside kinks, of operands of very different sizes, of small and large ones.

A section of the table: the function, and its closed form. A row: x, or x and y, and the second derivatives by x twice,
by both, and by y twice. The special functions have a test of their own.
"""

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


@pytest.mark.long
@each("section", [(section,) for section in TABLE])
def test_the_numbers_are_those_of_the_closed_form(section):
    mpmath = pytest.importorskip("mpmath")
    _, closed, rows = parts(section[0])
    for operands, expected in rows:
        with mpmath.workdps(200):
            xs, found = [mpmath.mpf(x) for x in operands], []
            for orders in [(2,)] if len(xs) == 1 else [(2, 0), (1, 1), (0, 2)]:

                def scaled(*shifts, xs=xs):
                    moved = [x * (1 + shift) for x, shift in zip(xs, shifts, strict=True)]
                    return mpmath.mpmathify(eval(closed, {**vars(mpmath), **dict(zip("xy", moved, strict=False))}))

                slope = mpmath.diff(scaled, (mpmath.mpf(0),) * len(xs), orders)
                size = mpmath.fprod(x**order for x, order in zip(xs, orders, strict=True))
                found.append(float(mpmath.re(slope) / size))
        np.testing.assert_allclose(expected, found, rtol=1e-13, atol=1e-100)


def test_every_function_that_has_second_derivatives_is_tried():
    tried = {*re.findall(r"ag\.(\w+)", " ".join(section[0] for section in TABLE))} | AS_OPERATORS
    known = {name for name, entry in FUNCTIONS.items() if entry.family in FAMILIES}
    assert tried | {*WITHOUT.split()} >= known
