"""Functions of sampled signals: convolution, correlation, interpolation."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.dispatch import operand
from agrad.engine.core.limits import afford
from agrad.engine.core.op import Function, composed, row
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.shaping import flip
from agrad.engine.ops.scalar.arithmetic import add, div, mul, sub
from agrad.engine.ops.scalar.comparison import greater, greater_equal, isnan, less, where
from agrad.engine.values import format_shape, np, shape_of

FAMILY = "reductions"
_MODES = ("full", "same", "valid")


def _vectors(name: str, *operands: Any) -> None:
    for x in operands:
        if len(shape_of(x)) != 1 or not shape_of(x)[0]:
            raise AgradError("shape", f"{name} needs vectors with entries, not a value of {format_shape(shape_of(x))}")


def _prepared(x: Any, y: Any) -> dict[str, Any]:
    _vectors("convolve", x, y)
    sizes = shape_of(x)[0], shape_of(y)[0]
    afford("convolve", (sum(sizes) - 1,))
    return {"sizes": sizes}


def _by(which: int) -> Function:
    """The gradient is correlated with the other operand: a part of its convolution with that in reverse order."""

    def rule(g: Any, out: Any, x: Any, y: Any, sizes: tuple[int, int]) -> Any:
        other = y if which == 0 else x
        before = sizes[1 - which] - 1
        return getitem(convolution(g, flip(other)), (slice(before, before + sizes[which]),))

    return rule


convolution: Function = row(
    "convolution",
    "x, y",
    family="internal",
    array=lambda x, y, sizes: np.convolve(x, y),
    rules={"x": ("y", _by(0)), "y": ("x", _by(1))},
    prepare=_prepared,
    reach="mixed",
    commutes=False,
    samples=(([1.0, 2.0, 3.0], [0.5, -1.0]), ([2.0], [1.0, 3.0])),
    doc="Of two vectors, the sums of the products x[i]*y[k - i] for each k.",
    derivative="the gradient convolved with the other vector in reverse order",
)


def _mode(name: str, mode: Any) -> str:
    if mode not in _MODES:
        fixes = [Hint(f'mode="{one}"') for one in _MODES]
        raise AgradError("type", f"{name}: there is no mode {mode!r}", fixes=fixes)
    return str(mode)


def _part(full: Any, sizes: tuple[int, int], mode: str, late: bool = False) -> Any:
    """The middle of a full convolution: as long as the longer operand, or where the shorter lies within it.

    `late`: whether the middle of what has none is the later entry.
    """
    longer, shorter = max(sizes), min(sizes)
    if mode == "full":
        return full
    start = shorter - 1 if mode == "valid" else (shorter - 1 + late) // 2
    return getitem(full, (slice(start, start + (longer if mode == "same" else longer - shorter + 1)),))


@composed(
    "convolve",
    "x, y; mode='full'",
    family=FAMILY,
    pure=True,
    samples=(([1.0, 2.0, 3.0], [0.5, -1.0]), ([1.0, 2.0, 3.0], [0.5, -1.0], {"mode": "valid"})),
    doc="The convolution of two vectors, the coefficients of the product of two polynomials: all of it, the middle "
    'with mode="same", or where both overlap fully with mode="valid".',
    derivative="the gradient convolved with the other vector in reverse order",
    example="convolve([1, 2], [1, 3]) == [1, 5, 6]",
)
def convolve(x: Any, y: Any, mode: Any) -> Any:
    """See the entry."""
    x, y = operand(x), operand(y)
    mode = _mode("convolve", mode)
    full = convolution(x, y)
    return _part(full, (shape_of(x)[0], shape_of(y)[0]), mode)


@composed(
    "correlate",
    "x, y; mode='valid'",
    family=FAMILY,
    pure=True,
    samples=(([1.0, 2.0, 3.0], [0.5, -1.0]), ([1.0, 2.0, 3.0], [0.5, -1.0], {"mode": "full"})),
    doc="The correlation of two vectors: the sums of the products x[k + i]*y[i], where both overlap fully, or for more "
    'k with mode="same" and mode="full".',
    derivative="that of convolve, with y in reverse order",
    example="correlate([1, 2, 3], [0, 1]) == [2, 3]",
)
def correlate(x: Any, y: Any, mode: Any) -> Any:
    """See the entry."""
    x, y = operand(x), operand(y)
    mode = _mode("correlate", mode)
    _vectors("correlate", x, y)
    sizes = (shape_of(x)[0], shape_of(y)[0])
    return _part(convolution(x, flip(y)), sizes, mode, late=sizes[0] < sizes[1])


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
    _vectors("interp", xp, fp)
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
