"""Indexing: taking entries, and putting others in their place.

An index is an attribute, normalised once: whole numbers, slices, new axes, `...`, and arrays of whole numbers (a mask
becomes the indices where it is 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from agrad.engine.core.arguments import axis_of, tidy_slice
from agrad.engine.core.context import afford
from agrad.engine.core.dispatch import by_array, row
from agrad.engine.core.op import Function
from agrad.engine.core.tensor import is_truth
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays import expansions
from agrad.engine.ops.arrays.shaping import collapse, reshape
from agrad.engine.values import (
    Shape,
    broadcast,
    check_truths,
    describe,
    fits,
    format_number,
    format_shape,
    mask_type,
    np,
    shape_of,
    whole,
)


def positions(shape: Shape, index: Any) -> tuple[Any, ...]:
    """An index as a tuple that numpy takes, checked against a shape.

    Raises AgradError of kind `shape` for an index out of range, with the valid range, and of kind `type` for what
    is not an index.
    """
    parts = index if isinstance(index, tuple) else (index,)
    if _is_basic(shape, parts):
        return parts
    parts = tuple(part if type(part) is int else _tidy(part) for part in parts)
    taken = sum(_width(part) for part in parts)
    if taken > len(shape):
        _too_many(shape, taken)
    found: list[Any] = []
    axis = 0
    for position, part in enumerate(parts):
        if part is None:
            found.append(None)
        elif part is Ellipsis:
            if any(other is Ellipsis for other in parts[position + 1 :]):
                raise AgradError("type", "an index has at most one ...")
            found.append(part)
            axis += len(shape) - taken
        else:
            found += _checked(shape, axis, part)
            axis += _width(part)
    return tuple(found)


def _is_basic(shape: Shape, parts: tuple[Any, ...]) -> bool:
    """Whether an index is made of whole numbers in range and slices, which numpy takes as they are."""
    if len(parts) > len(shape):
        return False
    for part, length in zip(parts, shape, strict=False):
        if type(part) is slice:
            start, stop, step = part.start, part.stop, part.step
            if (start is not None and type(start) is not int) or (stop is not None and type(stop) is not int):
                return False
            if step is not None and (type(step) is not int or not step):
                return False
        elif type(part) is not int or not -length <= part < length:
            return False
    return True


def _tidy(part: Any) -> Any:
    """One part of an index: None, ..., an int, a slice, or an array of whole numbers or booleans."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        return tidy_slice(part)
    if is_truth(part):
        raise AgradError(
            "type", _TRUTH, fixes=[Hint("where(c, x, y)   chooses"), Hint("x[int(c)]   the entry at 0 or 1")]
        )
    if isinstance(part, list) and part and all(map(is_truth, part)):
        part = np.array([*map(bool, part)])
    part = getattr(part, "value", part)
    if isinstance(part, str | float) or not hasattr(part, "__iter__"):
        return whole(part, "an index")
    try:
        array = np.asanyarray(part)
        if getattr(array, "mixed", False):
            raise AgradError("type", _MIXED, fixes=[*map(Hint, _UNMIXED)])
        if array.dtype.kind == "b" or isinstance(array, mask_type()):
            return np.asarray(array, dtype=bool)
        if array.dtype.kind == "i" and array.shape:
            return array.astype(np.intp)
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise AgradError("type", f"an index must be made of whole numbers, not {describe(part)}") from None
    if not numbers.shape:
        return whole(float(numbers), "an index")
    places = numbers.astype(np.intp)
    if not np.array_equal(places, numbers):
        wrong = numbers[places != numbers][0]
        raise AgradError("type", f"an index must be made of whole numbers, not {describe(float(wrong))}")
    return places


_TRUTH = "an index is a place, a slice, or a mask with an axis, not one truth value"
_MIXED = "an index of numbers that were computed from masks could be a mask, or places"
_UNMIXED = (
    "x[m == 0]   where a mask m does not hold",
    "x[m*n], x[maximum(m, n)]   where both hold, or one of them",
    "x[(1 - m)*1]   the entries at these places",
)


def _width(part: Any) -> int:
    """The number of axes that a part of an index takes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if hasattr(part, "dtype") and part.dtype.kind == "b" else 1


def _checked(shape: Shape, axis: int, part: Any) -> list[Any]:
    """A part as numpy takes it, in range."""
    if isinstance(part, slice):
        return [part]
    length = shape[axis]
    if type(part) is int:
        if not -length <= part < length:
            _out_of_range(shape, axis, part)
        return [part]
    if part.dtype == bool:
        covered = shape[axis : axis + part.ndim]
        if part.shape != covered:
            have, want = format_shape(part.shape), format_shape(covered)
            raise AgradError("shape", f"a mask of shape {have} does not fit the shape {want} that it selects from")
        return list(np.nonzero(part))
    if part.size and not (-length <= part.min() and part.max() < length):
        _out_of_range(shape, axis, int(part.min() if part.min() < -length else part.max()))
    return [part]


def _too_many(shape: Shape, taken: int) -> NoReturn:
    if not shape:
        raise AgradError("shape", "a scalar has no entries to index")
    raise AgradError("shape", f"{taken} indices for a value of shape {format_shape(shape)}")


def _out_of_range(shape: Shape, axis: int, index: int) -> NoReturn:
    length = shape[axis]
    valid = f"valid are {-length} to {length - 1}" if length else "it is empty"
    raise AgradError("shape", f"index {index} is out of range for axis {axis} of shape {format_shape(shape)}: {valid}")


def _advanced(index: tuple[Any, ...]) -> bool:
    """Whether an entry may be selected twice."""
    return any(hasattr(part, "dtype") for part in index)


def _prepared(x: Any, index: Any) -> dict[str, Any]:
    shape = () if type(x) is float else x.shape
    parts = index if type(index) is tuple else (index,)
    if _is_basic(shape, parts):  # the case of most loops
        return {"index": parts, "shape": shape}
    found = positions(shape, index)
    if _advanced(found):
        afford("an index", _taken(shape, found))
    return {"index": found, "shape": shape}


def _taken(shape: Shape, index: tuple[Any, ...]) -> Shape:
    """The lengths, in some order, of what an index with arrays takes: those of the arrays together, those beside."""
    beside: list[int] = []
    together: Shape = ()
    axis, named = 0, sum(part is not None and part is not Ellipsis for part in index)
    for part in index:
        if part is Ellipsis:
            beside += shape[axis : axis + len(shape) - named]
            axis += len(shape) - named
        elif part is not None:
            if hasattr(part, "dtype"):
                together = broadcast(part.shape, together)
            elif isinstance(part, slice):
                beside.append(len(range(*part.indices(shape[axis]))))
            axis += 1
    return (*together, *beside, *shape[axis:])


def _add_into(buffer: Any, g: Any, fresh: bool, index: tuple[Any, ...], shape: Shape) -> None:
    """Add a gradient at an index; what comes to one place twice is summed first, as `scatter` does it.

    In a fresh buffer there is nothing yet.
    """
    if not _advanced(index):
        buffer[index] = g if fresh else buffer[index] + g  # a sum of 0 and -0 would lose the sign
    elif fresh and (flat := _flat(buffer, g, index)) is not None:
        buffer += np.bincount(flat.ravel(), g.ravel(), buffer.size).reshape(shape)  # in half the time
    elif fresh:
        np.add.at(buffer, index, g)
    elif len(shape) == len(index) == 1:
        places, which = np.unique(index[0] % shape[0], return_inverse=True)
        sums = np.zeros(len(places))
        np.add.at(sums, which.reshape(index[0].shape), g)
        buffer[places] += sums
    else:
        buffer += _scattered(g, index, shape)


def _flat(buffer: Any, g: Any, index: tuple[Any, ...]) -> Any:
    """The places in memory where a gradient of entries of a vector, or rows of a matrix, goes; None for any other."""
    if len(index) > 1 or not index[0].size or not buffer.size or buffer.dtype != np.float64:
        return None
    if type(g) is not np.ndarray or g.dtype != np.float64 or g.shape != index[0].shape + buffer.shape[1:]:
        return None
    rows, width = index[0] % len(buffer), buffer.shape[1:]
    if len(width) > 1 or (width and index[0].ndim > 1):
        return None
    return rows[:, None] * width[0] + np.arange(width[0]) if width else rows


def _scattered(g: Any, index: tuple[Any, ...], shape: Shape) -> Any:
    buffer = np.zeros(shape, dtype=getattr(g, "dtype", np.float64))  # for symbols as for numbers
    _add_into(buffer, g, True, index, shape)
    return buffer


def check_places(name: str, what: str, given: Any, count: int) -> Any:
    """Places, which are counted from 0 on, as an array. Raises AgradError of kind `shape`."""
    places = np.asarray(getattr(given, "value", given))
    outside = places[~((places >= 0) & (places < count))]
    if outside.size:
        wrong = format_number(float(outside.flat[0]))
        raise AgradError("shape", f"{name}: there is no {what} {wrong}: there are {count}, from 0 on")
    return places


def _behind(index: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """An index behind a new axis; None where arrays of indices would move that."""
    arrays = [part for part in index if hasattr(part, "dtype")]
    if arrays and (len(arrays) > 1 or any(type(part) is int for part in index)):
        return None
    return (slice(None), *index)


def _take_each(operands: Any, attrs: Any, count: int) -> Any:
    index = _behind(attrs["index"])
    return None if index is None else getitem(operands[0][0], index)


def _scatter_each(operands: Any, attrs: Any, count: int) -> Any:
    index = _behind(attrs["index"])
    return None if index is None else scatter(operands[0][0], index, (count, *attrs["shape"]))


@by_array(
    row,
    "x; index",
    title="Index",
    rules={"x": ("", lambda g, out, x, index, shape: scatter(g, index, shape))},
    prepare=_prepared,
    scatter=_add_into,
    reach="part",
    moves_entries=True,
    batched=_take_each,
)
def getitem(x: Any, index: Any, shape: Shape) -> Any:
    """The entries of x at an index, as x[index]: whole numbers, slices, ..., new axes, arrays of indices, masks."""
    return x[index] if type(x) is np.ndarray else (x if hasattr(x, "shape") else np.asanyarray(x))[index]


scatter: Function = row(
    "scatter",
    "g; index, shape",
    array=_scattered,
    rules={"g": ("", lambda g, out, x, index, shape: getitem(g, index))},
    moves_entries=True,
    role="adding",
    batched=_scatter_each,
    doc="Zeros of a shape, with g added at an index: the transpose of taking entries.",
)


# Putting


def _put_prepared(x: Any, v: Any, index: Any) -> dict[str, Any]:
    shape = shape_of(x)
    tidy = positions(shape, index)
    into = np.empty(shape, dtype=bool)[tidy].shape
    given = shape_of(v)
    bare = given[max(0, len(given) - len(into)) :]  # numpy lets leading axes of length 1 pass
    if not fits(bare, into) or any(length != 1 for length in given[: len(given) - len(bare)]):
        have, want = format_shape(given), format_shape(into)
        raise AgradError("shape", f"a value of shape {have} does not fit the entries it is put into, of shape {want}")
    return {"index": tidy, "shape": given, "bare": bare, "won": _won(shape, tidy, into)}


def _won(shape: Shape, index: tuple[Any, ...], into: Shape) -> Any:
    """1 for each entry put that was not overwritten by a later one at the same place; None where all were not."""
    if not _advanced(index):
        return None
    order = np.arange(np.prod(into, dtype=int)).reshape(into)
    last = np.zeros(shape, dtype=int)
    last[index] = order
    won = last[index] == order
    return None if won.all() else won.astype(np.float64)


def _taken_back(g: Any, out: Any, x: Any, v: Any, index: Any, shape: Shape, bare: Shape, won: Any) -> Any:
    taken = getitem(g, index)
    return reshape(collapse(taken if won is None else taken * won, bare), shape)


@by_array(
    row,
    "x, v; index",
    units="a, a -> a",
    rules={"x": ("", lambda g, out, x, v, index, shape, bare, won: index_put(g, 0.0, index)), "v": ("", _taken_back)},
    total=False,
    prepare=_put_prepared,
    reach="part",
    moves_entries=True,
)
def index_put(x: Any, v: Any, index: Any, shape: Shape, bare: Shape, won: Any) -> Any:
    """x with the entries at an index replaced by v, as by x[index] = v."""
    result = np.array(x, subok=True)
    result[index] = np.reshape(v, bare)
    check_truths(result)
    return result


# Places that are operands instead of attributes: in a compiled loop they differ from iteration to iteration.


class Place(NamedTuple):
    """A part of an index, or an end of a slice, that is the operand of this number among the places."""

    number: int


def _at(index: tuple[Any, ...], places: Sequence[Any]) -> tuple[Any, ...]:
    """The index with the places in it."""

    def end(part: Any) -> Any:
        return whole(places[part.number], "an index") if type(part) is Place else part

    return tuple(
        slice(end(part.start), end(part.stop), end(part.step)) if isinstance(part, slice) else end(part)
        for part in index
    )


def _entries_prepared(x: Any, *places: Any, index: Any) -> dict[str, Any]:
    found = positions(shape_of(x), _at(index, places))
    return {"index": index, "shape": np.broadcast_to(0.0, shape_of(x))[found].shape}


def _other_shape(expected: Shape, found: Shape) -> NoReturn:
    have, want = format_shape(found), format_shape(expected)
    raise AgradError("shape", f"entries of shape {have} where there were entries of shape {want}")


@by_array(row, "*xs; index", units="a, -* -> a", prepare=_entries_prepared, reach="pointwise")
def entries_at(x: Any, *places: Any, index: Any, shape: Shape) -> Any:
    """The entries of the first operand at an index that the other operands are parts of."""
    found = np.asarray(x)[positions(x.shape, _at(index, places))]
    if found.shape != shape:
        _other_shape(shape, found.shape)
    return found


def _put_at_prepared(x: Any, v: Any, *places: Any, index: Any) -> dict[str, Any]:
    return {"index": index, "shape": _put_prepared(x, v, _at(index, places))["shape"]}


@by_array(row, "*xs; index", units="a, a, -* -> a", prepare=_put_at_prepared, reach="pointwise")
def put_at(x: Any, v: Any, *places: Any, index: Any, shape: Shape) -> Any:
    """The first operand with the second put at an index that the others are parts of."""
    found = positions(x.shape, _at(index, places))
    result = np.array(x)
    try:
        result[found] = v
    except ValueError:
        _other_shape(result[found].shape, shape)
    return result


# Taking along an axis, by an operand instead of an attribute: a replay sorts anew.


@by_array(
    row,
    "x, i; axis",
    units="a, - -> a",
    rules={"x": ("i", lambda g, out, x, i, axis, shape: put_along(g, i, axis, shape))},
    prepare=lambda x, i, axis: {"axis": axis_of("take_along", shape_of(x), axis), "shape": shape_of(x)},
    reach="part",
    unrolled=expansions.taken_along,
)
def take_along(x: Any, i: Any, axis: Any, shape: Any) -> Any:
    """The entries at the indices i along an axis; no index occurs twice."""
    return np.take_along_axis(x, i.astype(np.intp), axis)


@by_array(
    row,
    "g, i; axis, shape",
    units="a, - -> a",
    unrolled=expansions.put_along,
    rules={"g": ("i", lambda g, out, x, i, axis, shape: take_along(g, i, axis))},
    reach="whole",
)
def put_along(g: Any, i: Any, axis: int, shape: Shape) -> Any:
    """Zeros of a shape, with g put at the indices i along an axis."""
    buffer = np.zeros(shape)
    np.put_along_axis(buffer, i.astype(np.intp), g, axis)
    return buffer
