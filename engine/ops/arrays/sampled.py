"""Interpolation between samples."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.dispatch import composed, operand, row
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.convolution import FAMILY, check_vectors
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.scalar.arithmetic import add, div, mul, sub
from agrad.engine.ops.scalar.comparison import greater, greater_equal, isnan, less, where
from agrad.engine.values import np, shape_of


def _interval(x: Any, xs: Any) -> Any:
    """The place of the last of some ascending numbers that is not above x; not beyond the last but one.

    The order is checked here, not in `interp`, so that a replay checks it too.
    """
    if not np.all(xs[1:] >= xs[:-1]):
        fixes = [Hint("order = argsort(xp); interp(x, xp[order], fp[order])")]
        raise AgradError("domain", "interp: xp must be in ascending order", fixes=fixes)
    found = np.searchsorted(xs, x, side="right") - 1
    return np.clip(found, 0, max(len(xs) - 2, 0)).astype(float)


interval: Function = row(
    "interval",
    "x, xs",
    family="internal",
    array=_interval,
    prepare=lambda x, xs: {},
    reach="mixed",
    samples=(([0.5, 2.5], [0.0, 1.0, 2.0]),),
    doc="The place of the interval of ascending numbers that x lies in.",
    derivative="none: the result does not require grad",
)


@composed(
    "interp",
    "x, xp, fp; left=None, right=None",
    family=FAMILY,
    data=("left", "right"),
    samples=(
        (0.5, [0.0, 1.0, 3.0], [2.0, 5.0, 1.0]),
        ([0.3, 2.5, -1.0, 4.0], [0.0, 1.0, 3.0], [2.0, 5.0, 1.0]),
        ([0.3, -1.0, 4.0], [0.0, 3.0], [2.0, 1.0], {"left": 0.0, "right": 7.0}),
    ),
    doc="The values at x on the straight lines between the points (xp, fp), for ascending xp; beyond the ends, the "
    "value at the end, or left and right.",
    derivative="wrt x: the slope, at a point that to its right; wrt fp: the shares of the two points",
    example="interp(1.5, [1, 2, 3], [3, 2, 0]) == 2.5",
)
def interp(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    """See the entry."""
    x, xp, fp = operand(x), operand(xp), operand(fp)
    check_vectors("interp", xp, fp)
    count = shape_of(xp)[0]
    if shape_of(fp)[0] != count:
        raise AgradError("shape", f"interp: {count} places and {shape_of(fp)[0]} values")
    first, last = getitem(fp, 0), getitem(fp, count - 1)
    low, high = getitem(xp, 0), getitem(xp, count - 1)
    inside: Any = last
    if count > 1:
        at = interval(x, xp)
        start, end, x0, x1 = (_taken(one, at, step) for one in (fp, xp) for step in (0, 1))
        inside = add(start, mul(div(sub(end, start), sub(x1, x0)), sub(x, x0)))
    inside = where(greater_equal(x, high), last, inside)
    inside = where(greater(x, high), last if right is None else right, inside)
    result = where(less(x, low), first if left is None else left, inside)
    return where(isnan(x), x, result)


def _taken(x: Any, at: Any, step: int) -> Any:
    return getitem(x, (add(at, float(step)),))
