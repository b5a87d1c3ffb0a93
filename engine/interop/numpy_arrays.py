"""NumPy's functions of shapes and of whole arrays, made from agrad's operations: `numpy_functions` lists them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from agrad.engine.core.arguments import axes_of, axis_of, is_sequence, sizes_of
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import FUNCTIONS, Function
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.joining import at
from agrad.engine.values import broadcast, format_shape, np, shape_of, size_of, whole


class _Calls:
    """agrad's functions by their names in the table, `ag.sin`, as users of the library write them."""

    def __getattr__(self, name: str) -> Function:
        return FUNCTIONS[name].call


ag = _Calls()


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
    first, second = axis_of("swapaxes", shape, axis1), axis_of("swapaxes", shape, axis2)
    return ag.permute(a, np.swapaxes(np.empty(range(len(shape))), first, second).shape)  # its lengths are 0, 1, 2, …


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
    return ag.reshape(x, getattr(np, f"atleast_{axes}d")(np.broadcast_to(0.0, shape)).shape)


def each_at_least(axes: int) -> Function:
    """np.atleast_1d, _2d, _3d: of one value a value, of several a tuple."""

    def function(arys: Any) -> Any:
        results = tuple(at_least(x, axes) for x in arys)
        return results[0] if len(results) == 1 else results

    return function


def broadcast_arrays(args: Any) -> tuple[Any, ...]:
    """Each spread to the shape of all."""
    if any(x is None for x in args):  # as matplotlib's `bar` asks
        return np.broadcast_arrays(*(np.asarray(x) for x in args))
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


# Differences


def neighbours(x: Any, axis: int) -> tuple[Any, Any]:
    """The entries behind others, and those before."""
    return x[at(axis, slice(1, None))], x[at(axis, slice(None, -1))]


def diff(a: Any, n: int = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, n times; of a number as one entry before, or behind."""
    a = operand(a)
    shape = shape_of(a)
    place = axis_of("diff", shape, axis)
    ends = [None if one is None else operand(one) for one in (prepend, append)]
    one_entry = (*shape[:place], 1, *shape[place + 1 :])
    before, behind = ([] if one is None else [one if shape_of(one) else ag.expand(one, one_entry)] for one in ends)
    if before or behind:
        a = ag.concat([*before, a, *behind], place)
    return reduce(lambda x, _: ag.sub(*neighbours(x, place)), range(n), a)


def gradient(f: Any, varargs: Sequence[Any] = (), axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes between both neighbours, at the ends to the one; `varargs`: the distance of entries, or their places."""
    f = operand(f)
    shape = shape_of(f)
    axes = axes_of("gradient", shape, axis, in_order=False)
    spacings = list(varargs) or [1.0]
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise AgradError("arity", f"gradient: {len(spacings)} distances for {len(axes)} axes")
    found = [_slopes(f, operand(spacing), place, edge_order) for spacing, place in zip(spacings, axes, strict=True)]
    several = axis is None or is_sequence(axis)
    return found[0] if len(found) == 1 and (not several or len(shape) == 1) else tuple(found)


def _slopes(f: Any, spacing: Any, place: int, edge_order: int) -> Any:
    shape = shape_of(f)
    if shape[place] < edge_order + 1:
        raise AgradError("shape", f"gradient: {shape[place]} entries along axis {place} are too few")
    count = shape[place] - 1
    if not shape_of(spacing):
        steps = ag.expand(spacing, (count,))
    elif shape_of(spacing) == (count + 1,):
        steps = ag.sub(*neighbours(spacing, 0))
    else:
        raise AgradError("shape", f"gradient: {format_shape(shape_of(spacing))} places for {count + 1} entries")
    steps = ag.reshape(steps, tuple(-1 if one == place else 1 for one in range(len(shape))))
    rise = ag.div(ag.sub(*neighbours(f, place)), steps)  # the slopes between neighbours
    (after, before), (long, short) = neighbours(rise, place), neighbours(steps, place)
    inner = ag.div(ag.add(ag.mul(before, long), ag.mul(after, short)), ag.add(long, short))
    ends = []
    for near, next_one in ((slice(0, 1), slice(1, 2)), (slice(-1, None), slice(-2, -1))):
        end = rise[at(place, near)]
        if edge_order == 2:
            h, k = steps[at(place, near)], steps[at(place, next_one)]
            bend = ag.div(ag.sub(end, rise[at(place, next_one)]), ag.add(h, k))
            end = ag.add(end, ag.mul(bend, h))
        ends.append(end)
    return ag.concat([ends[0], inner, ends[1]], place)


# Entries put in, taken out and moved: NumPy moves the places of all entries, and one index takes them from there


def _moving(function: Function, arguments: str) -> Function:
    """A function of NumPy that only moves the entries of these of its arguments, which may be lists of values.

    Raises AgradError of kind `shape`.
    """

    def call(**given: Any) -> Any:
        parts: list[Any] = []

        def places(x: Any) -> Any:
            if type(x) in (list, tuple):
                return type(x)(map(places, x))
            x, start = operand(x), sum(shape_of(part)[0] for part in parts)
            shape = shape_of(x)
            parts.append(ag.reshape(x, (-1,)))
            return np.arange(start, start + size_of(shape)).reshape(shape)

        moved = {name: places(x) if name in arguments.split() else _indices(x) for name, x in given.items()}
        try:
            found = np.asarray(function(**moved), order="C")  # the entries are taken in the order in which these lie
        except (ValueError, IndexError) as error:
            raise AgradError("shape", f"{function.__name__}: {error}") from None
        return (ag.concat(parts) if len(parts) > 1 else parts[0])[found]

    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call


def _indices(obj: Any) -> Any:
    """Indices as NumPy takes them; those of a Tensor as whole numbers."""
    if not hasattr(obj, "value"):
        return obj
    entries = np.asarray(obj.numpy())
    return entries.astype(bool) if type(obj.value).__name__ == "Mask" else entries.astype(int)


MOVING: dict[str, Function] = {
    "block": _moving(np.block, "arrays"),
    "delete": _moving(np.delete, "arr"),
    "insert": _moving(np.insert, "arr values"),
    "rollaxis": _moving(np.rollaxis, "a"),
    "rot90": _moving(np.rot90, "m"),
    "fft.fftshift": _moving(np.fft.fftshift, "x"),
    "fft.ifftshift": _moving(np.fft.ifftshift, "x"),
}


def pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0.0) -> Any:
    """More entries at the ends: a constant, or those of the array again, as NumPy places them."""
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu" or (given.size and given.min() < 0):
        raise AgradError("type", "np.pad: pad_width must be whole numbers, and not negative")
    modes = ("constant", "edge", "reflect", "symmetric", "wrap")
    if mode not in modes:
        fixes = [Hint(f'mode="{one}"') for one in modes]
        raise AgradError("type", f"np.pad with mode={mode!r} has no counterpart in agrad", fixes=fixes)
    values = {"constant_values": constant_values} if mode == "constant" else {}
    return _padded(array=array, pad_width=given, mode=mode, **values)


_padded = _moving(np.pad, "array constant_values")


def meshgrid(xi: Sequence[Any], copy: bool = True, sparse: bool = False, indexing: Any = "xy") -> tuple[Any, ...]:
    """Each vector along an axis of its own; with "xy", the first along columns. NumPy says which entry is where."""
    vectors = [ag.flatten(operand(x)) for x in xi]
    places = np.meshgrid(*(np.arange(shape_of(x)[0]) for x in vectors), sparse=sparse, indexing=indexing)
    return tuple(x[grid] for x, grid in zip(vectors, places, strict=True))


# Products of vectors, and of indices


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """Of vectors with three entries; of two with two entries, the third entry of theirs."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(operand(a), axisa, -1), moveaxis(operand(b), axisb, -1)
    lengths = {shape_of(a)[-1], shape_of(b)[-1]}
    if lengths == {2}:
        return ag.sub(ag.mul(a[..., 0], b[..., 1]), ag.mul(a[..., 1], b[..., 0]))
    if lengths == {2, 3}:
        a, b = (x if shape_of(x)[-1] == 3 else pad(x, [(0, 0)] * (len(shape_of(x)) - 1) + [(0, 1)]) for x in (a, b))
    return moveaxis(ag.cross(a, b), -1, axisc)


def einsum(operands: Sequence[Any]) -> Any:
    """Indices as one text, or as a list of whole numbers behind each operand."""
    if isinstance(operands[0], str):
        return ag.einsum(operands[0], *operands[1:])
    given = list(operands)
    output = f"->{_letters(given.pop())}" if len(given) % 2 else ""
    return ag.einsum(",".join(map(_letters, given[1::2])) + output, *given[::2])


def _letters(indices: Any) -> str:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join("..." if one is Ellipsis else letters[whole(one, "einsum: an index")] for one in indices)
