"""Axes, sizes and other attributes as users write them, checked once and for all operations.

An error names the wrong one, and the valid values.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from agrad.engine import units
from agrad.engine.core.context import afford
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError
from agrad.engine.values import (
    Shape,
    Value,
    coerce,
    describe,
    fits,
    format_shape,
    not_a_number,
    size_of,
    whole,
    whole_as_float,
)

MOST = 2**30  # of attributes that count or name entries
MOST_AXES = 32  # of numpy before 2


def axis_of(name: str, shape: Shape, axis: Any, extra: int = 0) -> int:
    """One axis, counted from the front; AgradError of kind `shape` with the valid range. `extra` axes may be new."""
    number = whole(axis, f"{name}: an axis")
    count = len(shape) + extra
    if not -count <= number < count:
        valid = f"valid are {-count} to {count - 1}" if count else "it has none"
        raise AgradError("shape", f"{name}: there is no axis {number} of shape {format_shape(shape)}: {valid}")
    return number % count


def axes_of(name: str, shape: Shape, axis: Any, in_order: bool = True) -> Shape:
    """Several axes (one, a sequence of them, or None for all), each only once: in ascending order, or as given."""
    if axis is None:
        return tuple(range(len(shape)))
    axes = tuple(axis_of(name, shape, one) for one in (axis if is_sequence(axis) else (axis,)))
    if len(set(axes)) < len(axes):
        raise AgradError("shape", f"{name}: an axis is named twice in {format_shape(axes)}")
    return tuple(sorted(axes)) if in_order else axes


def is_sequence(given: Any) -> bool:
    """Whether something is several numbers: a tuple, a list, a vector; not a text."""
    return hasattr(given, "__iter__") and getattr(given, "shape", None) != () and not isinstance(given, str)


def wholes_of(name: str, what: str, given: Any, limited: bool = True) -> Shape:
    """Whole numbers, that numpy can take if `limited`: one, or several in a tuple or a list."""
    if isinstance(given, str):
        raise AgradError("type", f"{name}: {what} must be a whole number, not {describe(given)}")
    entries = given if is_sequence(given) else (given,)
    return tuple(small(name, what, one) if limited else whole(one, f"{name}: {what}") for one in entries)


def sizes_of(name: str, shape: Any) -> Shape:
    """A shape: whole numbers one by one, in a tuple, or in a list. -1 stays."""
    sizes = wholes_of(name, "a size", shape, limited=False)  # the error about memory says more
    if len(sizes) > MOST_AXES:
        raise AgradError("limit", f"{name}: {len(sizes)} axes, and an array has at most {MOST_AXES}")
    afford(name, tuple(abs(size) or 1 for size in sizes))  # numpy counts in this way, too, if there is no entry
    return sizes


def small(name: str, what: str, value: Any) -> int:
    """A whole number that numpy can take."""
    number = whole(value, f"{name}: {what}")
    if abs(number) > MOST:
        raise AgradError("limit", f"{name}: {what} is too large: {describe(whole_as_float(number))}")
    return number


def number_of(name: str, what: str, value: Any, of_unit: bool = False) -> float:
    """A plain number, in SI units where one `of_unit` is taken.

    Raises AgradError of kind `type` for anything else, or for a value with a graph, which would be lost.
    """
    if getattr(value, "requires_grad", False):
        raise AgradError("type", f"{name}: {what} must be a plain number without a derivative; use .detach()")
    if not of_unit:
        units.plain_only([value], name)
    value = getattr(value, "value", value)
    if isinstance(value, bool | int | float):
        return float(value)
    raise not_a_number(f"{name}: {what} must be a number", value)


def plain_of(name: str, what: str, value: Any) -> Value:
    """Plain numbers, one or an array; AgradError of kind `type` for a value with a graph, which would be lost."""
    if getattr(value, "requires_grad", False):
        raise AgradError("type", f"{name}: {what} must be plain numbers without a derivative; use .detach()")
    units.plain_only([value], name)
    return coerce(getattr(value, "value", value))


def truth_of(name: str, what: str, value: Any) -> bool:
    """True or False, or a number for it."""
    value = getattr(value, "value", value)
    if isinstance(value, bool | int | float) or value is None:
        return bool(value)
    raise AgradError("type", f"{name}: {what} must be True or False, not {describe(value)}")


def numbers(name: str) -> Function:
    """Checks that all attributes of an operation are plain numbers."""

    def prepare(*operands: Any, **attrs: Any) -> dict[str, Any]:
        return {what: number_of(name, what, value) for what, value in attrs.items()}

    return prepare


def kept(shape: Shape, axes: Shape) -> Shape:
    """The shape of a reduction that keeps its axes, with length 1."""
    return tuple(1 if axis in axes else length for axis, length in enumerate(shape))


# The notes of errors of shape: shapes that would fit. A letter as a length, `n`, means any length.

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


_WHOLE = frozenset({int, type(None)})


def tidy_slice(part: slice) -> slice:
    """A slice of whole numbers; AgradError of kind `type` for any other."""
    ends = (part.start, part.stop, part.step)
    if _WHOLE.issuperset(map(type, ends)) and part.step != 0:
        return part
    start, stop, step = (None if end is None else whole(end, "an end of a slice") for end in ends)
    if step == 0:
        raise AgradError("type", "the step of a slice must not be 0")
    return slice(start, stop, step)
