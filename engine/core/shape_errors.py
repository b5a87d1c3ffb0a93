"""The notes of errors of shape: shapes that would fit. A letter as a length, `n`, means any length."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from agrad.engine.values import Shape, fits, format_shape, size_of

_TRIES = 1000  # lengths on either side of one that does not divide


def listed(lengths: Iterable[int | str]) -> str:
    """A shape in which a length may be a word."""
    return f"({', '.join(map(str, lengths))})"


def to_spread(*shapes: Shape) -> list[str]:
    """Why shapes cannot be broadcast together, and a shape with which the shorter of two could."""
    columns = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    for place, column in enumerate(columns, 1):
        lengths = dict.fromkeys(length for length in column if length != 1)
        if len(lengths) > 1:
            told = f"axis -{place} has lengths {' and '.join(map(str, lengths))}"
            would = _longer(*shapes) if len(shapes) == 2 else ""
            return [f"{told}: they fit where they are equal, or one is 1{would}"]
    return []


def _longer(a: Shape, b: Shape) -> str:
    """The shorter of two shapes with axes of length 1 after it, if then they fit together."""
    short, long = sorted((a, b), key=len)
    for more in range(1, len(long) - len(short) + 1):
        if fits(short + (1,) * more, long):
            return f"; {format_shape(short + (1,) * more)} instead of {format_shape(short)} would"
    return ""


def to_fill(total: int, sizes: Shape) -> list[str]:
    """Why a shape does not fit the number of entries, and a similar one that does."""
    if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
        return ["a length cannot be below 0, except for one -1, which is computed"]
    known = size_of(tuple(size for size in sizes if size != -1))
    likely = next((found for axis in reversed(range(len(sizes))) if (found := _other(total, sizes, axis))), None)
    would = f"; {format_shape(likely)} would fit" if likely is not None else ""
    if -1 not in sizes:
        return [f"{format_shape(sizes)} holds {known}{would}"]
    return [f"{total} is not a multiple of {known}{would}"] if known else []


def _other(total: int, sizes: Shape, axis: int) -> Shape | None:
    """A shape with another length along one axis, the nearest that fits."""
    rest = size_of(tuple(size for one, size in enumerate(sizes) if size != -1 and one != axis))
    if sizes[axis] == -1 or not rest or not total or total % rest:
        return None
    left = total // rest
    if -1 not in sizes:
        near = [left]
    else:
        near = [length for step in range(_TRIES) for length in (sizes[axis] - step, sizes[axis] + step)]
    found = next((length for length in near if length > 0 and left % length == 0), None)
    return None if found is None else (*sizes[:axis], found, *sizes[axis + 1 :])


def to_expand(have: Shape) -> list[str]:
    """The shapes that a value can be spread to."""
    return [f"a shape that ends in {listed('n' if length == 1 else length for length in have)} would fit"]


def to_join(first: Shape, axis: int) -> list[str]:
    """The shapes that are joined to a first one along an axis."""
    wanted = listed("n" if one == axis else length for one, length in enumerate(first))
    return [f"with {format_shape(first)} fit shapes {wanted}, for any n"]


def to_stack(first: Shape, other: Shape) -> list[str]:
    """Whether shapes that are not the same can be joined at least."""
    joins = len(first) == len(other) > 0 and first[1:] == other[1:]
    return ["concat joins them along axis 0"] if joins else [f"all need the shape of the first, {format_shape(first)}"]
