"""Convolution and correlation.

The gradient of a convolution by an operand is a convolution with the other one in reverse order: where a convolution
takes all overlaps ("full"), its gradient takes the complete ones ("valid"), and vice versa. So two modes of one
operation serve all orders.
"""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import axes_of
from agrad.engine.core.context import afford
from agrad.engine.core.dispatch import by_array, in_family, operand
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.shaping import collapse, flip
from agrad.engine.ops.scalar.arithmetic import add, div, mul, sub
from agrad.engine.ops.scalar.comparison import greater, greater_equal, less, where
from agrad.engine.values import Shape, broadcast, format_shape, np, shape_of

row, composed = in_family("reductions")
_MODES = ("full", "same", "valid")


def check_vectors(name: str, *operands: Any) -> None:
    """AgradError of kind `shape` for what is not a vector with entries."""
    for x in operands:
        if len(shape_of(x)) != 1 or not shape_of(x)[0]:
            raise AgradError("shape", f"{name} needs vectors with entries, not a value of {format_shape(shape_of(x))}")


def _convolved(x: Any, y: Any, axes: Shape, valid: bool, shapes: tuple[Shape, Shape]) -> Any:
    """Where `valid`, x is not shorter than y. Of arrays, the larger is read through windows of the smaller's size."""
    if x.ndim == 1:
        return np.convolve(x, y, "valid" if valid else "full")
    x, y = (np.broadcast_to(one, _spread(one.shape, other.shape, axes)) for one, other in ((x, y), (y, x)))
    if not valid:
        if math.prod([x.shape[axis] for axis in axes]) < math.prod([y.shape[axis] for axis in axes]):
            x, y = y, x
        x = np.pad(x, [((y.shape[axis] - 1) if axis in axes else 0,) * 2 for axis in range(x.ndim)])
    # Contiguous, because the order in which einsum adds depends on how its operands are stored.
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(np.flip(y, axes))
    windows = np.lib.stride_tricks.sliding_window_view(x, [y.shape[axis] for axis in axes], axes)
    places = [x.ndim + axes.index(axis) if axis in axes else axis for axis in range(x.ndim)]
    return np.einsum(windows, range(windows.ndim), y, places, range(x.ndim))


def _spread(shape: Shape, other: Shape, axes: Shape) -> Shape:
    """A shape whose other axes are broadcast with those of the other operand."""
    return tuple(n if axis in axes or other[axis] == 1 else other[axis] for axis, n in enumerate(shape))


def _prepared(x: Any, y: Any, axes: Shape, valid: bool) -> dict[str, Any]:
    a, b = shape_of(x), shape_of(y)
    beside = broadcast(*(tuple(n for axis, n in enumerate(one) if axis not in axes) for one in (a, b)))
    lengths = [a[axis] - b[axis] + 1 if valid else a[axis] + b[axis] - 1 for axis in axes]
    afford("convolve", (*beside, *lengths))
    return {"axes": axes, "valid": valid, "shapes": (a, b)}


def _by_left(g: Any, out: Any, x: Any, y: Any, axes: Shape, valid: bool, shapes: tuple[Shape, Shape]) -> Any:
    return collapse(convolution(g, flip(y, axes), axes=axes, valid=not valid), shapes[0])


def _by_right(g: Any, out: Any, x: Any, y: Any, axes: Shape, valid: bool, shapes: tuple[Shape, Shape]) -> Any:
    if valid:
        return collapse(flip(convolution(x, flip(g, axes), axes=axes, valid=True), axes), shapes[1])
    return collapse(convolution(g, flip(x, axes), axes=axes, valid=True), shapes[1])


convolution: Function = row(
    "convolution",
    "x, y; axes, valid",
    units="a, b -> ab",
    array=_convolved,
    unrolled=_convolved,
    rules={"x": ("y", _by_left), "y": ("x", _by_right)},
    prepare=_prepared,
    doc="Of two arrays, the sums of the products x[i]*y[k - i] for each k, along some axes.",
)


def _mode(name: str, mode: Any) -> str:
    if mode not in _MODES:
        fixes = [Hint(f'mode="{one}"') for one in _MODES]
        raise AgradError("type", f"{name}: there is no mode {mode!r}", fixes=fixes)
    return str(mode)


def _middle(full: Any, x: Shape, y: Shape, axes: Shape, late: bool = False) -> Any:
    """The middle of a full convolution, as long as the longer operand.

    `late`: whether the middle of what has none is the later entry.
    """
    parts = [slice(None)] * len(x)
    for axis in axes:
        start = (min(x[axis], y[axis]) - 1 + late) // 2
        parts[axis] = slice(start, start + max(x[axis], y[axis]))
    return getitem(full, tuple(parts))


def _convolution_axes(x: Shape, y: Shape, axes: Any) -> Shape:
    """The axes along which arrays of these shapes are convolved, which have entries."""
    if len(x) != len(y):
        message = f"convolve: shapes {format_shape(x)} and {format_shape(y)} differ in their number of axes"
        raise AgradError("shape", message, fixes=[Hint("x[None] or unsqueeze(x, 0), for one more")])
    found = axes_of("convolve", x, axes)
    if not found:
        raise AgradError("shape", "convolve: there is no axis to convolve along")
    if any(0 in (x[axis], y[axis]) for axis in found):
        raise AgradError("shape", f"convolve needs entries; the shapes are {format_shape(x)} and {format_shape(y)}")
    return found


@composed(signature="x, y; mode='full', axes=None", pure=True)
def convolve(x: Any, y: Any, mode: Any, axes: Any) -> Any:
    """The convolution of two vectors, the coefficients of the product of two polynomials: all of it, the middle with
    mode="same", or where both overlap fully with mode="valid". Of arrays, along all axes, or along some, and the
    others are broadcast.

    derivative: the gradient convolved with the other operand in reverse order
    example: convolve([1, 2], [1, 3]) == [1, 5, 6]
    """
    # Of vectors as np.convolve; of arrays as scipy.signal.convolve and fftconvolve.
    x, y = operand(x), operand(y)
    mode = _mode("convolve", mode)
    check_vectors("convolve", *(one for one in (x, y) if not shape_of(one)))
    a, b = shape_of(x), shape_of(y)
    axes = _convolution_axes(a, b, axes)
    if mode == "valid":
        if any(a[axis] < b[axis] for axis in axes):
            if any(a[axis] > b[axis] for axis in axes):
                longer = f"one operand must not be shorter along any axis: {format_shape(a)} and {format_shape(b)}"
                raise AgradError("shape", f'convolve with mode="valid": {longer}')
            x, y = y, x
        return convolution(x, y, axes=axes, valid=True)
    if mode == "same" and len(a) > 1 and any(a[axis] < b[axis] for axis in axes):
        fixes = [Hint('convolve(y, x, mode="same")')]
        shorter = f"y must not be longer than x along any axis: {format_shape(a)} and {format_shape(b)}"
        raise AgradError("shape", f'convolve with mode="same": {shorter}', fixes=fixes)
    full = convolution(x, y, axes=axes, valid=False)
    return full if mode == "full" else _middle(full, a, b, axes)


@composed(signature="x, y; mode='valid'", pure=True)
def correlate(x: Any, y: Any, mode: Any) -> Any:
    """The correlation of two vectors: the sums of the products x[k + i]*y[i], where both overlap fully, or for more k
    with mode="same" and mode="full".

    derivative: that of convolve, with y in reverse order
    example: correlate([1, 2, 3], [0, 1]) == [2, 3]
    """
    x, y = operand(x), operand(y)
    mode = _mode("correlate", mode)
    check_vectors("correlate", x, y)
    a, b = shape_of(x), shape_of(y)
    y = flip(y)
    if mode == "valid":
        x, y = (x, y) if a[0] >= b[0] else (y, x)
        return convolution(x, y, axes=(0,), valid=True)
    full = convolution(x, y, axes=(0,), valid=False)
    return full if mode == "full" else _middle(full, a, b, (0,), late=a[0] < b[0])


# Interpolation between samples.


@by_array(row, "x, xs", units="a, a -> 1", prepare=lambda x, xs: {})
def interval(x: Any, xs: Any) -> Any:
    """The place of the interval of ascending numbers that x lies in."""
    # The place of the last of some ascending numbers that is not above x; not beyond the last but one. The order
    # is checked here, not in `interp`, so that a replay checks it too.
    if not np.all(xs[1:] >= xs[:-1]):
        fixes = [Hint("order = argsort(xp); interp(x, xp[order], fp[order])")]
        raise AgradError("domain", "interp: xp must be in ascending order", fixes=fixes)
    found = np.searchsorted(xs, x, side="right") - 1
    return np.clip(found, 0, max(len(xs) - 2, 0)).astype(float)


@composed(data=("left", "right"))
def interp(x: Any, xp: Any, fp: Any, /, left: Any = None, right: Any = None) -> Any:
    """The values at x on the straight lines between the points (xp, fp), for ascending xp; beyond the ends, the value
    at the end, or left and right.

    derivative: wrt x: the slope, at a point that to its right; wrt fp: the shares of the two points
    example: interp(1.5, [1, 2, 3], [3, 2, 0]) == 2.5
    """
    x, xp, fp = operand(x), operand(xp), operand(fp)
    check_vectors("interp", xp, fp)
    count = shape_of(xp)[0]
    if shape_of(fp)[0] != count:
        raise AgradError("shape", f"interp: {count} places and {shape_of(fp)[0]} values")
    first, last = getitem(fp, 0), getitem(fp, count - 1)
    low, high = getitem(xp, 0), getitem(xp, count - 1)
    inside: Any = math.nan
    if count > 1:
        at = interval(x, xp)
        start, end, x0, x1 = (getitem(one, (add(at, step),)) for one in (fp, xp) for step in (0.0, 1.0))
        inside = add(start, mul(div(sub(end, start), sub(x1, x0)), sub(x, x0)))
    inside = where(greater_equal(x, high), last, inside)
    inside = where(greater(x, high), last if right is None else right, inside)
    return where(less(x, low), first if left is None else left, inside)
