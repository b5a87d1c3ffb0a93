"""Reductions and orders entry by entry: what rows give as `unrolled`, for source code.

Each takes arrays of symbols, one an entry, and returns an array of symbols of the value, or None where it has no
expansion. A symbol has the operators of arithmetic, `exp`, `log`, `log1p`, `sqrt`, `power`, `either` and `both` (the
larger and the smaller, or nan), `exceeds`, `equals` and `differs` (1 or 0), and, of 1 or 0, `choose`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from agrad.engine.core.arguments import kept
from agrad.engine.values import Shape, np

Row = list[Any]
_MOST = 24  # entries that are put in order by comparing each with each


def _filled(entries: Sequence[Any], shape: Shape) -> Any:
    """Entries in an array of objects."""
    found = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        found[place] = entry
    return found.reshape(shape)


def _rows(x: Any, axis: Shape) -> tuple[list[Row], tuple[int, ...]]:
    """The entries that are reduced to one, for each result; and the order of the axes in which they come."""
    order = (*(one for one in range(x.ndim) if one not in axis), *axis)
    count = math.prod([x.shape[one] for one in axis])
    return np.transpose(x, order).reshape(-1, count).tolist(), order


def reduced(of_row: Callable[..., Any]) -> Callable[..., Any]:
    """The expansion of a reduction, made of that of a row of entries to one; attributes that it needs by name."""

    def expand(x: Any, axis: Shape, keepdims: bool, wide: Shape, **attrs: Any) -> Any:
        if not x.size:
            return None
        found = [of_row(row, **attrs) for row in _rows(x, axis)[0]]
        left = tuple(n for one, n in enumerate(x.shape) if one not in axis)
        return _filled(found, kept(x.shape, axis) if keepdims else left)

    return expand


def along(of_row: Callable[..., Row]) -> Callable[..., Any]:
    """The expansion of an operation whose result has the shape of its first operand, made of that of rows."""

    def expand(*operands: Any, axis: Any, **attrs: Any) -> Any:
        x = operands[0]
        if not x.size:
            return None
        axes = axis if isinstance(axis, tuple) else (axis % x.ndim,) if x.ndim else ()
        given = [_rows(one, axes)[0] for one in operands]
        order = _rows(x, axes)[1]
        found = [of_row(*rows, **attrs) for rows in zip(*given, strict=True)]
        turned = _filled([entry for row in found for entry in row], tuple(x.shape[one] for one in order))
        return np.transpose(turned, np.argsort(order))

    return expand


def largest(row: Row) -> Any:
    """The largest entry."""
    return reduce(lambda x, y: x.either(y), row)


def smallest(row: Row) -> Any:
    """The smallest entry."""
    return reduce(lambda x, y: x.both(y), row)


# Spread


def centred(row: Row) -> Row:
    """Minus the first entry at first, as the row of the operation does."""
    apart = [x - row[0] for x in row]
    mean = reduce(add, apart) / float(len(row))
    return [x - mean for x in apart]


def variance(row: Row, ddof: float, n: float) -> Any:
    """The sum of the squares, over n."""
    return reduce(add, [x * x for x in centred(row)]) / n


def deviation(row: Row, ddof: float, n: float) -> Any:
    """The root of the variance."""
    return length(centred(row)) / math.sqrt(n)


def length(row: Row) -> Any:
    """The root of the sum of squares; scaled by the largest entry where that would overflow or underflow."""
    if len(row) == 1:
        return abs(row[0])
    plain = reduce(add, [x * x for x in row]).sqrt()
    scale = _scale(row)
    scaled = reduce(add, [(x / scale) * (x / scale) for x in row]).sqrt() * scale
    return plain.exceeds(1e150).choose(scaled, plain.exceeds(1e-150).choose(plain, scaled))


def _scale(row: Row) -> Any:
    """The largest absolute value, or 1 where that is no divisor."""
    size = largest([abs(x) for x in row])
    return size.exceeds(0.0).choose((size - size).equals(0.0).choose(size, 1.0), 1.0)


def power_sum(row: Row, p: float) -> Any:
    """The p-th root of the sum of the p-th powers of the absolute values."""
    if p == 2.0:
        return length(row)
    scale = _scale(row)
    return reduce(add, [(abs(x) / scale).power(p) for x in row]).power(1.0 / p) * scale


def direction(row: Row, p: float) -> Row:
    """x over the norm, and 0 where that is 0."""
    whole = power_sum(row, p)
    return [whole.equals(0.0).choose(0.0, x / whole) for x in row]


# Exponentials


def _apart(row: Row) -> tuple[Any, Row]:
    """The largest entry, and the distances to it, which are 0 where an entry is the largest and finite."""
    top = largest(row)
    are_at_top = [x.equals(top) for x in row]
    is_alone = reduce(add, are_at_top).equals(1.0)
    there = (top - top).equals(0.0).choose(0.0, is_alone.choose(0.0, top - top))
    return top, [is_at_top.choose(there, x - top) for x, is_at_top in zip(row, are_at_top, strict=True)]


def shares(row: Row) -> Row:
    """softmax."""
    parts = [x.exp() for x in _apart(row)[1]]
    whole = reduce(add, parts)
    return [x / whole for x in parts]


def _log_total(apart: Row) -> Any:
    are_top = [x.equals(0.0) for x in apart]
    others = [is_top.choose(0.0, x.exp()) for x, is_top in zip(apart, are_top, strict=True)]
    return reduce(add, [reduce(add, are_top) - 1.0, *others]).log1p()  # in this order, in which nothing is rounded


def log_shares(row: Row) -> Row:
    """log_softmax."""
    apart = _apart(row)[1]
    return [x - _log_total(apart) for x in apart]


def log_total(row: Row) -> Any:
    """logsumexp."""
    top, apart = _apart(row)
    return (top - top).equals(0.0).choose(top + _log_total(apart), top)


# Running products


def running(first: Callable[..., Any], after: Callable[..., Any]) -> Callable[..., Any]:
    """Of a row whose `runs` these are: the first entry along an axis, and each from the one before it."""

    def of_rows(*rows: Row) -> Row:
        found: Row = []
        for entries in zip(*rows, strict=True):
            found.append(after(found[-1], *entries) if found else first(*entries))
        return found

    return along(of_rows)


# Order


def _ranks(row: Row, descending: bool = False) -> Row:
    """The place of each entry in order: how many come before it; nan comes last, and equal entries keep their order."""
    if descending:
        row = [-x for x in row]
    is_nan = [x.differs(x) for x in row]
    found: Row = [is_nan[0] * 0.0] * len(row)
    for j in range(len(row)):
        for i in range(j):
            later = row[i].exceeds(row[j]).choose(1.0, is_nan[i].exceeds(is_nan[j]))  # whether i comes behind j
            found[i], found[j] = found[i] + later, found[j] + (1.0 - later)
    return found


def _at_rank(row: Row, ranks: Row, place: int) -> Any:
    """The entry at a place in order."""
    chosen = row[0]
    for x, rank in zip(row[1:], ranks[1:], strict=True):
        chosen = rank.equals(float(place)).choose(x, chosen)
    return chosen


def _few(expand: Callable[..., Any]) -> Callable[..., Any]:
    """The expansion, of arrays whose entries can be compared each with each."""
    return lambda x, **attrs: expand(x, **attrs) if 0 < x.size <= _MOST else None


@_few
def ordered_places(x: Any, axis: int, descending: bool) -> Any:
    """argsort."""

    def places(row: Row) -> Row:
        ranks = _ranks(row, descending)
        indices = [ranks[0] * 0.0 + float(k) for k in range(len(row))]
        return [_at_rank(indices, ranks, k) for k in range(len(row))]

    return along(places)(x, axis=axis)


@_few
def topmost_places(x: Any, k: int, axis: int, largest: bool) -> Any:
    """The places of the k largest or smallest."""
    return np.take(ordered_places(x, axis=axis, descending=largest), range(k), axis=axis)


def middle(which: int) -> Callable[..., Any]:
    """One of the two entries in the middle, with the axes kept."""

    def of_row(row: Row) -> Any:
        return _at_rank(row, _ranks(row), (len(row) - 1 + which) // 2)

    return _few(lambda x, axis: reduced(of_row)(x, axis, True, ()))


def _median(row: Row) -> Any:
    """The middle, or the mean of the middle two; nan where an entry is nan."""
    ranks = _ranks(row)
    lower, upper = (_at_rank(row, ranks, place) for place in ((len(row) - 1) // 2, len(row) // 2))
    value = lower if len(row) % 2 else (lower + upper) / 2.0
    return reduce(lambda found, x: x.differs(x).choose(math.nan, found), row, value)


median = _few(reduced(_median))


def taken_along(x: Any, i: Any, axis: int, shape: Shape) -> Any:
    """take_along: for each index, the entry that has it."""
    entries, places = np.moveaxis(x, axis, -1), np.moveaxis(i, axis, -1)
    found = np.empty(places.shape, dtype=object)
    for place in np.ndindex(*places.shape):
        row = entries[place[:-1]].tolist()
        found[place] = _at_rank(row, [places[place] - float(k) for k in range(len(row))], 0)
    return np.moveaxis(found, -1, axis)


def put_along(g: Any, i: Any, axis: int, shape: Shape) -> Any:
    """Zeros, with each entry at its index; no index occurs twice."""
    entries, places = np.moveaxis(g, axis, -1), np.moveaxis(i, axis, -1)
    found = np.empty((*entries.shape[:-1], shape[axis]), dtype=object)
    for *before, k in np.ndindex(*found.shape):
        value: Any = 0.0
        for x, place in zip(entries[tuple(before)].tolist(), places[tuple(before)].tolist(), strict=True):
            value = place.equals(float(k)).choose(x, value)
        found[(*before, k)] = value
    return np.moveaxis(found, -1, axis)
