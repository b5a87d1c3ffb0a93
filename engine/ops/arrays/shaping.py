"""Shapes: the operations that rearrange entries without selecting any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from agrad.engine.core.arguments import (
    MOST_AXES,
    axes_of,
    axis_of,
    is_sequence,
    sizes_of,
    small,
    to_expand,
    to_fill,
    wholes_of,
)
from agrad.engine.core.dispatch import by_array, in_family, shape_of_any
from agrad.engine.errors import AgradError, NoMatrix
from agrad.engine.values import Shape, format_shape, np, put_together, shape_of, size_of, spread, sum_to

row, composed = in_family("shapes", total=True)
moving = partial(row, moves_entries=True)


def _expanded(x: Any, shape: Any) -> dict[str, Any]:
    """-1 keeps a length."""
    have, sizes = shape_of(x), sizes_of("expand", shape)
    offset = len(sizes) - len(have)
    target = tuple(have[axis - offset] if size == -1 and axis >= offset else size for axis, size in enumerate(sizes))
    fits = offset >= 0 and all(size in (1, length) for size, length in zip(have, target[offset:], strict=True))
    if min(target, default=0) < 0 or not fits:
        message = f"expand: shape {format_shape(have)} cannot be broadcast to {format_shape(sizes)}"
        raise AgradError("shape", message, notes=to_expand(have))
    return {"shape": target, "old": have}


def _expand_each(operands: Any, attrs: Mapping[str, Any], count: int) -> Any:
    (x, _, have), shape = operands[0], attrs["shape"]
    return expand(reshape(x, (count, *(1,) * (len(shape) - len(have)), *have)), (count, *shape))


@by_array(
    moving,
    "x; *shape",
    rules={"x": ("", lambda g, out, x, shape, old: collapse(g, old))},
    prepare=_expanded,
    batched=_expand_each,
    shares=True,
)
def expand(x: Any, shape: Any, old: Any) -> Any:
    """x broadcast to a larger shape; -1 keeps a length.

    derivative: the sum over the copies of each entry
    example: expand([1, 2], 2, 2) == [[1, 2], [1, 2]]
    """
    return put_together(np.array(spread(x, shape)), x)


def _python_collapse(have: Shape, shape: Shape, attrs: Mapping[str, Any]) -> str | None:
    """The source of the sum that undoes a broadcast; None where it takes more than one sum."""
    if not shape:
        return "float(np_sum({0}, None))"
    extra, axes = len(have) - len(shape), _collapsed(have, {"shape": shape})[0]
    if len(axes) == extra:
        return f"np_sum({{0}}, {axes!r})"
    return f"np_sum({{0}}, {axes}, None, None, True)" if not extra else None


def _collapsed(have: Shape, attrs: Mapping[str, Any]) -> tuple[Shape, float]:
    """The axes that broadcasting added or stretched."""
    extra = len(have) - len(attrs["shape"])
    return tuple([a for a in range(len(have)) if a < extra or attrs["shape"][a - extra] == 1 != have[a]]), 1.0


def _collapse_each(operands: Any, attrs: Mapping[str, Any], count: int) -> Any:
    (x, _, have), shape = operands[0], attrs["shape"]
    kept = collapse(x, (count, *(1,) * (len(have) - len(shape)), *shape))
    return reshape(kept, (count, *shape))


@by_array(
    moving,
    "x; shape",
    name="sum_to",
    rules={"x": ("", lambda g, out, x, shape, old: expand(g, old))},
    prepare=lambda x, shape: {"shape": shape, "old": shape_of(x)},
    sums=_collapsed,
    batched=_collapse_each,
    python_arrays=_python_collapse,
)
def collapse(x: Any, shape: Any, old: Any) -> Any:
    """The sum over the axes that broadcasting from `shape` added or stretched."""
    return np.array(sum_to(x, shape))


def summed_to(x: Any, shape: Shape) -> Any:
    """A gradient that broadcasting may have made larger than its operand, in the shape of that."""
    return x if shape_of(x) == shape else collapse(x, shape)


def _fills(shape: Any, have: Shape) -> bool:
    """Whether a shape is given by whole numbers, as in most calls, and has as many entries as another."""
    if (type(shape) is not list and type(shape) is not tuple) or len(shape) > MOST_AXES:
        return False
    for size in shape:
        if type(size) is not int or size < 0:
            return False
    return math.prod(shape) == math.prod(have)


def _reshaped(x: Any, shape: Any) -> dict[str, Any]:
    have = shape_of(x)
    if _fills(shape, have):
        return {"shape": tuple(shape), "old": have}
    sizes = sizes_of("reshape", shape)
    known = math.prod(size for size in sizes if size != -1)
    total = size_of(have)
    if sizes.count(-1) == 1 and known > 0 and total % known == 0:
        sizes = tuple(total // known if size == -1 else size for size in sizes)
    if min(sizes, default=0) < 0 or size_of(sizes) != total:
        entries = "1 entry" if total == 1 else f"{total} entries"
        message = f"reshape: a value of shape {format_shape(have)} has {entries}, which do not fill"
        raise AgradError("shape", f"{message} {format_shape(sizes)}", notes=to_fill(total, sizes))
    return {"shape": sizes, "old": have}


@by_array(
    moving,
    "x; *shape",
    rules={"x": ("", lambda g, out, x, shape, old: reshape(g, old))},
    prepare=_reshaped,
    batched=lambda operands, attrs, count: reshape(operands[0][0], (count, *attrs["shape"])),
    shares=True,
)
def reshape(x: Any, shape: Any, old: Any) -> Any:
    """The same entries, row by row, in another shape; one length may be -1.

    derivative: the gradient in the old shape
    example: reshape([1, 2, 3, 4], 2, 2) == [[1, 2], [3, 4]]
    """
    return np.reshape(x, shape)


def _permuted(x: Any, axes: Any) -> dict[str, Any]:
    shape, given = shape_of(x), wholes_of("permute", "an axis", axes)
    order = tuple(axis_of("permute", shape, axis) for axis in given)
    if sorted(order) != list(range(len(shape))):
        have = format_shape(shape)
        raise AgradError("shape", f"permute: {format_shape(given)} does not name each axis of shape {have} once")
    return {"axes": order}


def _back(axes: Shape) -> Shape:
    """The permutation that undoes another."""
    return tuple(axes.index(axis) for axis in range(len(axes)))


@by_array(
    moving,
    "x; *axes",
    rules={"x": ("", lambda g, out, x, axes: permute(g, _back(axes)))},
    prepare=_permuted,
    shares=True,
)
def permute(x: Any, axes: Any) -> Any:
    """The axes of x in another order.

    derivative: the gradient with its axes back in the old order
    example: permute([[1, 2], [3, 4]], 1, 0) == [[1, 3], [2, 4]]
    """
    return np.transpose(x, axes)


# The last two axes exchanged: what the rules of linear algebra call the transpose.
@by_array(moving, rules={"x": ("", lambda g, out, x: swap(g))}, role="view")
def swap(x: Any) -> Any:
    """The last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


def _transposed(x: Any, axes: Any) -> dict[str, Any]:
    shape = shape_of(x)
    given = [axis_of("transpose", shape, axis) for axis in wholes_of("transpose", "an axis", axes)]
    order = list(range(len(shape)))
    if not given:
        order.reverse()
    elif len(given) == 2 and type(axes) is tuple:
        order[given[0]], order[given[1]] = given[1], given[0]
    else:
        return _permuted(x, given)
    return {"axes": tuple(order)}


@by_array(
    moving,
    "x; *axes=()",
    scalar=lambda x, axes: x,
    rules={"x": ("", lambda g, out, x, axes: permute(g, _back(axes)) if axes else g)},
    prepare=_transposed,
    shares=True,
)
def transpose(x: Any, axes: Any) -> Any:
    """x with its axes reversed; with two axes given, these exchanged; with all given, or a tuple, in that order.

    derivative: the gradient transposed back
    example: transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]
    """
    return np.transpose(x, axes)


def check_matrix(name: str, shape: Shape, square: bool = True) -> None:
    """AgradError of kind `shape` for what is not a matrix, or not a square one."""
    if len(shape) < 2 or (square and shape[-1] != shape[-2]):
        wanted = "a square matrix" if square else "a matrix"
        text = f"{name} needs {wanted}, not a value of shape {format_shape(shape)}"
        raise AgradError("shape", text, facts=NoMatrix())


_reshaping = partial(composed, shares=True, derivative="the gradient in the old shape")


@_reshaping(example="flatten([[1, 2], [3, 4]]) == [1, 2, 3, 4]")
def flatten(x: Any, /) -> Any:
    """All entries as a vector."""
    return reshape(x, (size_of(shape_of_any(x)),))


@_reshaping(example="squeeze([[1, 2]]) == [1, 2]")
def squeeze(x: Any, /, axis: Any = None) -> Any:
    """x without its axes of length 1, or without those named."""
    shape = shape_of_any(x)
    axes = axes_of("squeeze", shape, axis)
    for one in axes:
        if axis is not None and shape[one] != 1:
            have = format_shape(shape)
            raise AgradError("shape", f"squeeze: axis {one} of shape {have} has length {shape[one]}, not 1")
    return reshape(x, tuple(size for one, size in enumerate(shape) if one not in axes or size != 1))


@_reshaping(example="unsqueeze([1, 2], 1) == [[1], [2]]")
def unsqueeze(x: Any, /, axis: Any) -> Any:
    """x with a new axis of length 1 at that position."""
    shape = shape_of_any(x)
    place = axis_of("unsqueeze", shape, axis, extra=1)
    return reshape(x, (*shape[:place], 1, *shape[place:]))


@by_array(
    moving,
    "x; axis=None",
    rules={"x": ("", lambda g, out, x, axis: flip(g, axis))},
    prepare=lambda x, axis: {"axis": axes_of("flip", shape_of(x), axis)},
)
def flip(x: Any, axis: Any) -> Any:
    """The entries in reverse order, along one axis, several, or all.

    derivative: the gradient in reverse order
    example: flip([1, 2, 3]) == [3, 2, 1]
    """
    return np.flip(x, axis)


def _rolled(x: Any, shift: Any, axis: Any) -> dict[str, Any]:
    shape = shape_of(x)
    if axis is None:
        return {"shift": small("roll", "the shift", shift), "axis": None}
    axes = tuple(axis) if is_sequence(axis) else (axis,)
    shifts = tuple(shift) if is_sequence(shift) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise AgradError("shape", f"roll: {len(shifts)} shifts for {len(axes)} axes")
    return {
        "shift": tuple(small("roll", "the shift", one) for one in shifts),
        "axis": tuple(axis_of("roll", shape, one) for one in axes),
    }


@by_array(
    moving,
    "x; shift, axis=None",
    rules={
        "x": ("", lambda g, out, x, shift, axis: roll(g, -shift if axis is None else tuple(-n for n in shift), axis))
    },
    prepare=_rolled,
)
def roll(x: Any, shift: Any, axis: Any) -> Any:
    """The entries shifted along an axis; those shifted past the end come back at the front.

    derivative: the gradient shifted back
    example: roll([1, 2, 3], 1) == [3, 1, 2]
    """
    return np.roll(x, shift, axis)
