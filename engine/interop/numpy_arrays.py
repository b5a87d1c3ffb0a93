"""NumPy's functions of shapes and of whole arrays, made from agrad's operations: `numpy_functions` lists them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any

from agrad.engine.core.arguments import axes_of, axis_of, is_sequence, sizes_of, small
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import FUNCTIONS, Function
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.convolution import inverse_cosine_transform
from agrad.engine.values import broadcast, format_shape, np, shape_of, whole


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
    return _exchanged(a, axis_of("swapaxes", shape, axis1), axis_of("swapaxes", shape, axis2))


def _exchanged(a: Any, first: int, second: int) -> Any:
    order = list(range(len(shape_of(a))))
    order[first], order[second] = order[second], order[first]
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


# Rows and columns put in, and taken out


def pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0.0) -> Any:
    """More entries at the ends: a constant, or those of the array again, as NumPy places them."""
    array, given = operand(array), np.asarray(pad_width)
    if given.dtype.kind not in "iu" or (given.size and given.min() < 0):
        raise AgradError("type", "np.pad: pad_width must be whole numbers, and not negative")
    shape = shape_of(array)
    widths = np.broadcast_to(given, (len(shape), 2)).tolist()
    if mode == "constant":
        pairs = ag.expand(operand(constant_values), (len(shape), 2))
        for place, ends in enumerate(widths):
            have, values = shape_of(array), pairs[place]
            before, behind = (
                [ag.expand(values[end], (*have[:place], width, *have[place + 1 :]))] if width else []
                for end, width in enumerate(ends)
            )
            array = ag.concat([*before, array, *behind], place) if any(ends) else array
        return array
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        fixes = [Hint(f'mode="{one}"') for one in ("constant", "edge", "reflect", "symmetric", "wrap")]
        raise AgradError("type", f"np.pad with mode={mode!r} has no counterpart in agrad", fixes=fixes)
    for place, pair in enumerate(widths):
        if any(pair):
            array = array[at(place, np.pad(np.arange(shape[place]), pair, mode))]
    return array


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Without some places along an axis, or of all entries."""
    arr = operand(arr)
    if axis is None:
        arr, axis = ag.flatten(arr), 0
    place = axis_of("delete", shape_of(arr), axis)
    return arr[at(place, np.delete(np.arange(shape_of(arr)[place]), _places(obj)))]


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """With values before some places along an axis, or of all entries."""
    arr, values = operand(arr), operand(values)
    if axis is None:
        arr, axis = ag.flatten(arr), 0
    shape = shape_of(arr)
    place, where = axis_of("insert", shape, axis), _places(obj)
    missing = len(shape) - len(shape_of(values))
    if missing > 0:
        values = ag.reshape(values, (1,) * missing + shape_of(values))
    if not isinstance(where, slice) and not np.shape(where):
        values = moveaxis(values, 0, place)  # as NumPy has it for one place
        new = shape_of(values)[place]
        order = np.insert(np.arange(shape[place]), np.full(new, where), shape[place] + np.arange(new))
    else:
        new = len(np.arange(shape[place] + 1)[where]) if isinstance(where, slice) else np.size(where)
        order = np.insert(np.arange(shape[place]), where, shape[place] + np.arange(new))
    values = ag.expand(values, (*shape[:place], new, *shape[place + 1 :]))
    return ag.concat([arr, values], place)[at(place, order)]


def _places(obj: Any) -> Any:
    """Places as NumPy takes them; those of a Tensor as whole numbers."""
    if isinstance(obj, slice) or not hasattr(obj, "value"):
        return obj
    entries = np.asarray(obj.numpy())
    return entries.astype(bool) if type(obj.value).__name__ == "Mask" else entries.astype(int)


# Turned, and spread


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """One axis moved to stand before another."""
    count = len(shape_of(a))
    place, before = axis_of("rollaxis", shape_of(a), axis), start + count if start < 0 else start
    return moveaxis(a, place, before - 1 if place < before else before)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by quarters, from the first of two axes to the second."""
    first, second = sizes_of("rot90", axes)
    turns = k % 4
    if turns == 2:
        return ag.flip(ag.flip(m, first), second)
    if not turns:
        return ag.clone(m)
    return (
        _exchanged(ag.flip(m, second), first, second) if turns == 1 else ag.flip(_exchanged(m, first, second), second)
    )


def meshgrid(xi: Sequence[Any], copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """Each vector along an axis of its own; with "xy", the first along columns."""
    vectors = [ag.flatten(operand(x)) for x in xi]
    lengths = [shape_of(x)[0] for x in vectors]
    grids = []
    for place, x in enumerate(vectors):
        x = ag.reshape(x, tuple(lengths[one] if one == place else 1 for one in range(len(vectors))))
        grids.append(x if sparse else ag.expand(x, tuple(lengths)))
    if indexing == "xy" and len(grids) > 1:
        grids = [ag.permute(x, (1, 0, *range(2, len(grids)))) for x in grids]
    return tuple(grids)


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


# np.fft where operands and results are real; the other functions of it need complex numbers, which agrad has not.


def _fitted(x: Any, place: int, length: int) -> Any:
    """Cut to a length, or with zeros behind."""
    have = shape_of(x)[place]
    if have > length:
        return x[at(place, slice(0, length))]
    widths = [(0, length - have if one == place else 0) for one in range(len(shape_of(x)))]
    return pad(x, widths) if have < length else x


def _from_half(name: str, powers: dict[str, float], a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The inverse of a transform from half of the spectrum, times a power of n; hfft is that without the division."""
    a = operand(a)
    place = axis_of(name, shape_of(a), axis)
    count = 2 * (shape_of(a)[place] - 1) if n is None else small(name, "n", n)
    power = powers.get(norm or "backward")
    if power is None:
        raise AgradError("type", f"np.fft.{name}: there is no norm {norm!r}")
    if count < 1:
        raise AgradError("shape", f"np.fft.{name}: n must be at least 1, not {count}")
    y = inverse_cosine_transform(_fitted(a, place, count // 2 + 1), n=count, axis=place)
    return ag.mul(y, math.pow(count, power)) if power else y


def _shifted(towards: int) -> Function:
    """np.fft.fftshift, which moves the frequency 0 to the middle, and its inverse."""

    def function(x: Any, axes: Any = None) -> Any:
        x = operand(x)
        for place in axes_of("fftshift", shape_of(x), axes):
            half = shape_of(x)[place] // 2
            x = ag.roll(x, towards * half, place)
        return x

    return function


TRANSFORMS: dict[str, Function] = {
    "fft.irfft": partial(_from_half, "irfft", {"backward": 0.0, "ortho": 0.5, "forward": 1.0}),
    "fft.hfft": partial(_from_half, "hfft", {"backward": 1.0, "ortho": 0.5, "forward": 0.0}),
    "fft.fftshift": _shifted(1),
    "fft.ifftshift": _shifted(-1),
}
