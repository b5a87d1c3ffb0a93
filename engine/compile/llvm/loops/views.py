"""Operations that only move entries, as addresses: where in its operand each entry of a result lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agrad.engine.core.op import Op
from agrad.engine.values import Array, Shape, np, size_of

_MOST = 1 << 24  # entries whose places are found out


Places: TypeAlias = Any  # an array of whole numbers


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The entries of an array: those at `offset` plus the index times `strides`, or those that `table` lists."""

    slot: int
    offset: int
    strides: Shape
    table: Array | None = None


def dense(slot: int, shape: Shape) -> View:
    """All entries of an array in their order."""
    return View(slot, 0, strides_of(shape))


def strides_of(shape: Shape) -> Shape:
    """Of an array whose entries lie next to each other."""
    return tuple([size_of(shape[axis + 1 :]) for axis in range(len(shape))])


def moved(op: Op, base: View, shape: Shape, result: Shape, attrs: dict[str, Any]) -> View | None:
    """The result of an operation on a view of a shape as a view of the same; None if it does more than move entries.

    The operation is applied to the places of the entries, and to these in another order: what moves entries moves both
    alike, and what adds them does not.
    """
    count = size_of(shape)
    if not op.moves_entries or max(count, size_of(result)) > _MOST or 0 in (count, size_of(result)):
        return None
    numbered = np.arange(float(count))
    mixed = numbered[::-1] * 3.0 + 0.25
    found = np.asarray(op.array(_shaped(numbered, shape), **attrs), dtype=np.float64)
    if found.shape != result or not (np.floor(found) == found).all() or found.min() < 0 or found.max() >= count:
        return None
    table = found.astype(np.int64)
    if not np.array_equal(np.asarray(op.array(_shaped(mixed, shape), **attrs)), mixed[table]):
        return None
    table = places(base, shape).ravel()[table]
    return affine(base.slot, table) or View(base.slot, 0, strides_of(result), table)


def is_injective(view: View, shape: Shape) -> bool:
    """Whether no two entries of a view of this shape lie in one place."""
    return bool(np.bincount(places(view, shape).ravel()).max() == 1)


def places(view: View, shape: Shape) -> Places:
    """Where the entries of a view lie."""
    if view.table is not None:
        return view.table
    found = np.full(shape, view.offset)
    for axis, stride in enumerate(view.strides):
        found += (np.arange(shape[axis]) * stride).reshape([-1 if axis == a else 1 for a in range(len(shape))])
    return found


def _shaped(entries: Array, shape: Shape) -> Any:
    return entries.reshape(shape) if shape else float(entries[0])


def placed(op: Op, shapes: Sequence[Shape], result: Shape, attrs: dict[str, Any]) -> list[Places] | None:
    """For each operand, where its entries are in a result that consists of the operands; None if it does not."""
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + size_of(shape))
    count = ends[-1]
    if not op.moves_entries or op.reach == "mixed" or not 0 < count <= _MOST or count != size_of(result):
        return None
    numbered = np.arange(float(count))
    mixed = numbered[::-1] * 3.0 + 0.25
    spans = list(zip(ends, ends[1:], shapes, strict=False))

    def joined(entries: Array) -> Any:
        return np.asarray(op.array(*[_shaped(entries[a:b], shape) for a, b, shape in spans], **attrs)).ravel()

    found = joined(numbered)
    if not np.array_equal(np.sort(found), numbered):
        return None
    order = found.astype(np.int64)
    if not np.array_equal(joined(mixed), mixed[order]):
        return None
    where = np.empty(count, dtype=np.int64)
    where[order] = np.arange(count)
    return [where[a:b].reshape(shape) for a, b, shape in spans]


def affine(slot: int, table: Places) -> View | None:
    """The table as an offset and strides, if it is that."""
    first = (0,) * table.ndim
    offset = int(table[first])
    strides = []
    grid = np.full(table.shape, offset)
    for axis, length in enumerate(table.shape):
        second = tuple([int(axis == other) for other in range(table.ndim)])
        stride = int(table[second]) - offset if length > 1 else 0
        strides.append(stride)
        grid += (np.arange(length) * stride).reshape([-1 if axis == other else 1 for other in range(table.ndim)])
    return View(slot, offset, tuple(strides)) if np.array_equal(grid, table) else None


def broadcast(view: View, shape: Shape, space: Shape) -> View | None:
    """A view of an array of a shape as one of a larger shape to which numpy would broadcast it."""
    if view.table is not None:
        return view if shape == space else None
    extra = len(space) - len(shape)
    strides = [0 if length == 1 else stride for length, stride in zip(shape, view.strides, strict=True)]
    return View(view.slot, view.offset, (0,) * extra + tuple(strides))
