"""Joining, cutting and repeating; diagonals and triangles of matrices."""

from __future__ import annotations

import operator
from itertools import accumulate, pairwise
from typing import Any

from agrad.engine.core.arguments import MOST_AXES, axis_of, is_sequence, sizes_of, small, to_join, to_stack, wholes_of
from agrad.engine.core.context import afford, current
from agrad.engine.core.dispatch import by_array, in_family, shape_of_any
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.indexing import getitem, scatter
from agrad.engine.ops.arrays.shaping import check_matrix, expand, moving, permute, reshape
from agrad.engine.ops.scalar.arithmetic import mul
from agrad.engine.ops.scalar.comparison import where
from agrad.engine.values import format_shape, np, put_together, shape_of, size_of

_, composed = in_family("shapes", total=True)


def at(axis: int, part: Any) -> tuple[Any, ...]:
    """The index that applies a part to one axis and leaves those before it alone."""
    return (*(slice(None),) * axis, part)


def _joined(*xs: Any, axis: Any) -> dict[str, Any]:
    shapes = [shape_of(x) for x in xs]
    first = shapes[0]
    if not first:
        raise AgradError("shape", "concat: a scalar has no axis to join along; stack makes one")
    place = axis_of("concat", first, axis)
    for shape in shapes[1:]:
        if len(shape) != len(first) or shape[:place] != first[:place] or shape[place + 1 :] != first[place + 1 :]:
            message = f"concat: shapes {format_shape(first)} and {format_shape(shape)} do not fit together along axis"
            raise AgradError("shape", f"{message} {place}", notes=to_join(first, place))
    afford("concat", *shapes)
    return {"axis": place, "ends": (0, *accumulate(shape[place] for shape in shapes))}


@by_array(
    moving,
    "*xs; axis=0",
    units="a* -> a",
    rules={"xs": ("", lambda g, out, *xs, axis, ends, which: getitem(g, at(axis, slice(*ends[which : which + 2]))))},
    parts=lambda g, axis, ends: [g[at(axis, slice(*pair))] for pair in pairwise(ends)],
    prepare=_joined,
)
def concat(*xs: Any, axis: int, ends: Any) -> Any:
    """Arrays joined along an axis that they have.

    derivative: the part of the gradient that belongs to each
    example: concat(([1, 2], [3])) == [1, 2, 3]
    """
    return put_together(np.concatenate(xs, axis), *xs)


def _stacked(*xs: Any, axis: Any) -> dict[str, Any]:
    first = shape_of(xs[0])
    for x in xs:
        shape = () if type(x) is float else x.shape
        if shape != first:
            message = f"stack: shapes {format_shape(first)} and {format_shape(shape)} are not the same"
            raise AgradError("shape", message, notes=to_stack(first, shape))
    if len(first) >= MOST_AXES:
        raise AgradError("limit", f"stack: an array has at most {MOST_AXES} axes")
    if size_of(first) * len(xs) > current().limits.entries:
        afford("stack", *[first] * len(xs))
    return {"axis": axis if type(axis) is int and not axis else axis_of("stack", first, axis, extra=1)}


@by_array(
    moving,
    "*xs; axis=0",
    units="a* -> a",
    rules={"xs": ("", lambda g, out, *xs, axis, which: getitem(g, at(axis, which)))},
    parts=lambda g, axis: g.tolist() if g.ndim == 1 else list(g if not axis else np.moveaxis(g, axis, 0)),
    prepare=_stacked,
)
def stack(*xs: Any, axis: int) -> Any:
    """Values of one shape joined along a new axis.

    derivative: the part of the gradient that belongs to each
    example: stack([[1, 2], [3, 4]], axis=1) == [[1, 3], [2, 4]]
    """
    kind = type(xs[0])
    if kind is float or (kind is np.ndarray and not axis and xs[0].dtype.char == "d"):
        for x in xs:
            if type(x) is not kind:
                break
        else:
            return np.array(xs)  # in a third of the time
    return put_together(np.stack(xs, axis), *xs)


_MOST_EMPTY = 1000  # parts of an axis that has no entry


@composed(shares=True)
def split(x: Any, /, parts: Any, axis: Any = 0) -> tuple[Any, ...]:
    """x split along an axis: into a number of equal parts, or at the indices in a list.

    derivative: 1 for each entry
    example: split([1, 2, 3, 4], 2)[1] == [3, 4]
    """
    shape = shape_of_any(x)
    place = axis_of("split", shape, axis)
    length = shape[place]
    if is_sequence(parts):
        ends = [0, *wholes_of("split", "a place", parts), length]
    else:
        count = small("split", "the number of parts", parts)
        if not length and count > _MOST_EMPTY:
            raise AgradError("limit", f"split: an empty axis is split into at most {_MOST_EMPTY} parts, not {count}")
        if count < 1 or length % count:
            raise AgradError("shape", f"split: {length} entries do not divide into {count} equal parts")
        ends = list(range(0, length + 1, length // count)) if length else [0] * (count + 1)
    return tuple(getitem(x, at(place, slice(a, b))) for a, b in pairwise(ends))


@composed()
def repeat(x: Any, /, n: Any, axis: Any = None) -> Any:
    """Each entry n times in a row, of the flattened array or along an axis; n may be a list.

    derivative: the sum over the copies of each entry
    example: repeat([1, 2], 2) == [1, 1, 2, 2]
    """
    shape = shape_of_any(x)
    if axis is None:
        x = reshape(x, (-1,))
        shape, place = x.shape, 0
    else:
        place = axis_of("repeat", shape, axis)
    counts = wholes_of("repeat", "n", n)
    if len(counts) not in (1, shape[place]) or min(counts, default=-1) < 0:
        raise AgradError("shape", f"repeat: {len(counts)} counts for {shape[place]} entries")
    copies = sum(counts) if len(counts) > 1 else sum(counts) * shape[place]
    sizes_of("repeat", (*shape[:place], copies, *shape[place + 1 :]))
    return getitem(x, at(place, np.repeat(np.arange(shape[place]), counts)))


@composed(signature="x; *n")
def tile(x: Any, n: Any) -> Any:
    """The whole of x repeated n times; with several counts, along the last axes.

    derivative: the sum over the copies of each entry
    example: tile([1, 2], 2) == [1, 2, 1, 2]
    """
    counts, shape = wholes_of("tile", "n", n), shape_of_any(x)
    if min(counts, default=0) < 0:
        raise AgradError("shape", "tile: n cannot be negative")
    axes = max(len(counts), len(shape))
    counts = (1,) * (axes - len(counts)) + counts
    shape = (1,) * (axes - len(shape)) + shape
    result = sizes_of("tile", tuple(a * b for a, b in zip(counts, shape, strict=True)))
    apart = tuple(size for length in shape for size in (1, length))
    spread = tuple(size for pair in zip(counts, shape, strict=True) for size in pair)
    return reshape(expand(reshape(x, apart), spread), result)


# Matrices


def _diagonal_places(rows: int, columns: int, k: int) -> tuple[Any, Any]:
    count = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    steps = np.arange(count)
    return steps - min(k, 0), steps + max(k, 0)


@composed(shares=True)
def diagonal(x: Any, /, k: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """The k-th diagonal of a matrix: 0 the main one, positive above, negative below.

    derivative: 1 on the diagonal, exactly 0 off it
    example: diagonal([[1, 2], [3, 4]]) == [1, 4]
    """
    shape = shape_of_any(x)
    check_matrix("diagonal", shape, square=False)
    first, second = axis_of("diagonal", shape, axis1), axis_of("diagonal", shape, axis2)
    if first == second:
        raise AgradError("shape", f"diagonal: axis {first} is named twice")
    if len(shape) > 2:
        others = [axis for axis in range(len(shape)) if axis not in (first, second)]
        x = permute(x, (*others, first, second))
    elif first > second:
        x = permute(x, (1, 0))
    places = _diagonal_places(shape[first], shape[second], small("diagonal", "k", k))
    return getitem(x, (Ellipsis, *places))


@composed()
def diag(x: Any, /, k: Any = 0) -> Any:
    """The matrix with the vector x on its k-th diagonal; of a matrix, that diagonal.

    derivative: the gradient on the diagonal
    example: diag([1, 2]) == [[1, 0], [0, 2]]
    """
    shape, k = shape_of_any(x), small("diag", "k", k)
    if len(shape) == 2:
        return diagonal(x, k)
    if len(shape) != 1:
        raise AgradError("shape", f"diag needs a vector or a matrix, not a value of shape {format_shape(shape)}")
    size = shape[0] + abs(k)
    sizes_of("diag", (size, size))
    return scatter(x, _diagonal_places(size, size, k), (size, size))


def _triangle(name: str, keeps: Function, side: str, other: str, k: int, value: str) -> Function:
    """The part of a matrix in which the column less the row fits k."""

    @composed(
        name,
        doc=f"The matrix with 0 {other} its k-th diagonal.",
        derivative=f"1 on and {side} the diagonal, exactly 0 {other}",
        example=f"{name}([[1, 2], [3, 4]]) == {value}",
    )
    def triangle(x: Any, /, k: Any = 0) -> Any:
        shape = shape_of_any(x)
        check_matrix(name, shape, square=False)
        rows, columns = shape[-2:]
        offset = np.arange(columns) - np.arange(rows)[:, None]
        return where(keeps(offset, small(name, "k", k)).astype(float), x, False)  # of a mask, a mask

    return triangle


tril: Function = _triangle("tril", operator.le, "below", "above", 1, "[[1, 0], [3, 4]]")
triu: Function = _triangle("triu", operator.ge, "above", "below", -1, "[[1, 2], [0, 4]]")


@composed()
def outer(x: Any, y: Any, /) -> Any:
    """The matrix of the products of each entry of x with each of y.

    derivative: wrt x: the sum of g*y over each row; wrt y: of g*x over each column
    example: outer([1, 2], [3, 4]) == [[3, 4], [6, 8]]
    """
    return mul(reshape(x, (-1, 1)), reshape(y, (1, -1)))
