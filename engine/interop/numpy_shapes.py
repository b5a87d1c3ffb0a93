"""NumPy's functions of shapes, made from agrad's operations: see `numpy_functions`, which lists them."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

from agrad.engine.core.arguments import axes_of, axis_of, sizes_of
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import FUNCTIONS, Function
from agrad.engine.errors import AgradError
from agrad.engine.values import broadcast, format_shape, np, shape_of


class _Calls:
    """agrad's functions by their names in the table, `ag.sin`, as users of the library write them."""

    def __getattr__(self, name: str) -> Function:
        return FUNCTIONS[name].call


ag = _Calls()


def at(axis: int, part: Any) -> tuple[Any, ...]:
    """The index of a part of one axis."""
    return (*(slice(None),) * axis, part)


# Axes


def reshape(a: Any, shape: Any, order: str = "C") -> Any:
    """Column by column, "F", is row by row of the transposed."""
    if order != "F":
        return ag.reshape(a, shape)
    return ag.transpose(ag.reshape(ag.transpose(a), sizes_of("reshape", shape)[::-1]))


def ravel(a: Any, order: str = "C") -> Any:
    """All entries in one row."""
    return reshape(a, -1, order)


def transpose(a: Any, axes: Any = None) -> Any:
    """Two axes are an order here, while agrad's transpose exchanges them."""
    return ag.transpose(a) if axes is None else ag.permute(a, axes)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Two axes exchanged."""
    shape = shape_of(a)
    order = list(range(len(shape)))
    first, second = axis_of("swapaxes", shape, axis1), axis_of("swapaxes", shape, axis2)
    order[first], order[second] = second, first
    return ag.permute(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Some axes at other positions, the rest in their order."""
    shape = shape_of(a)
    sources, places = (
        [axis_of("moveaxis", shape, one) for one in sizes_of("moveaxis", given)] for given in (source, destination)
    )
    if len(sources) != len(places):
        raise AgradError("shape", f"moveaxis: {len(sources)} axes for {len(places)} places")
    order = [axis for axis in range(len(shape)) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return ag.permute(a, order)


def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of length 1, at their positions in the result."""
    shape = list(shape_of(a))
    result = (1,) * (len(shape) + len(sizes_of("expand_dims", axis)))
    for place in axes_of("expand_dims", result, axis):
        shape.insert(place, 1)
    return ag.reshape(a, tuple(shape))


def at_least(x: Any, axes: int) -> Any:
    """New axes come first; for three axes, one comes last."""
    x = operand(x)
    shape = shape_of(x)
    if len(shape) >= axes:
        return x
    shape = (*shape, 1) if axes == 3 and shape else shape
    return ag.reshape(x, (1,) * (axes - len(shape)) + shape)


def each_at_least(axes: int) -> Function:
    """np.atleast_1d, _2d, _3d: of one value a value, of several a tuple."""

    def function(arys: Any) -> Any:
        results = tuple(at_least(x, axes) for x in arys)
        return results[0] if len(results) == 1 else results

    return function


def broadcast_arrays(args: Any) -> tuple[Any, ...]:
    """Each spread to the shape of all."""
    xs = [operand(x) for x in args]
    shape = broadcast(*(shape_of(x) for x in xs))
    return tuple(ag.expand(x, shape) for x in xs)


# Joining and cutting


def concatenate(arrays: Any, axis: Any = 0) -> Any:
    """Without an axis, all entries of all arrays."""
    parts = [operand(x) for x in arrays]
    return ag.concat([ag.flatten(x) for x in parts]) if axis is None else ag.concat(parts, axis)


def hstack(tup: Any) -> Any:
    """Vectors one after the other, others along their second axis."""
    parts = [at_least(x, 1) for x in tup]
    return ag.concat(parts, 0 if len(shape_of(parts[0])) == 1 else 1)


def column_stack(tup: Any) -> Any:
    """A vector is a column."""
    parts = [operand(x) for x in tup]
    return ag.concat([x if len(shape_of(x)) > 1 else ag.reshape(x, (-1, 1)) for x in parts], 1)


def block(arrays: Any) -> Any:
    """The innermost lists are joined along the last axis, those around them along the one before."""

    def depth(x: Any) -> int:
        return 1 + depth(x[0]) if type(x) is list else 0

    def axes(x: Any) -> int:
        return max(axes(one) for one in x) if type(x) is list else len(shape_of(operand(x)))

    width = max(depth(arrays), axes(arrays))

    def joined(x: Any, level: int) -> Any:
        if type(x) is list:
            return ag.concat([joined(one, level - 1) for one in x], -level)
        shape = shape_of(operand(x))
        return ag.reshape(x, (1,) * (width - len(shape)) + shape)

    return joined(arrays, depth(arrays))


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """Parts of nearly one length, the longer ones first."""
    parts, shape = indices_or_sections, shape_of(ary)
    if not hasattr(parts, "__iter__"):
        size, longer = divmod(shape[axis_of("array_split", shape, axis)], parts)
        parts = list(accumulate([size + 1] * longer + [size] * (parts - longer)))[:-1]
    return list(ag.split(ary, parts, axis))


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """The entries at some indices, of the flattened array or along an axis."""
    a = operand(a)
    return ag.flatten(a)[indices] if axis is None else a[at(axis_of("take", shape_of(a), axis), indices)]


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """For each row along an axis, the entries at the indices for that row."""
    arr, indices = operand(arr), operand(indices)
    if axis is None:
        return ag.flatten(arr)[indices]
    grid: list[Any] = list(np.indices(shape_of(indices), sparse=True))
    grid[axis_of("take_along_axis", shape_of(arr), axis)] = indices
    return arr[tuple(grid)]


# Products


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """One matrix product: the axes summed over are last in a, and first in b."""
    a, b = operand(a), operand(b)
    have, other = shape_of(a), shape_of(b)
    pair = tuple(axes) if hasattr(axes, "__iter__") else (range(len(have) - axes, len(have)), range(axes))
    left = [axis_of("tensordot", have, axis) for axis in sizes_of("tensordot", pair[0])]
    right = [axis_of("tensordot", other, axis) for axis in sizes_of("tensordot", pair[1])]
    inner = [have[axis] for axis in left]
    if inner != [other[axis] for axis in right]:
        shapes = f"{format_shape(have)} and {format_shape(other)}"
        raise AgradError("shape", f"tensordot of shapes {shapes}: the axes that are summed over differ in length")
    rows = [axis for axis in range(len(have)) if axis not in left]
    columns = [axis for axis in range(len(other)) if axis not in right]
    over, down, along = math.prod(inner), [have[axis] for axis in rows], [other[axis] for axis in columns]
    first = ag.reshape(ag.permute(a, (*rows, *left)), (math.prod(down), over))
    second = ag.reshape(ag.permute(b, (*right, *columns)), (over, math.prod(along)))
    return ag.reshape(ag.matmul(first, second), (*down, *along))


def inner(a: Any, b: Any) -> Any:
    """Summed over the last axis of both."""
    a, b = operand(a), operand(b)
    return tensordot(a, b, (-1, -1)) if shape_of(a) and shape_of(b) else ag.mul(a, b)
