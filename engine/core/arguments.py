"""Axes, sizes and other attributes as users write them, checked once and for all operations.

An error names the wrong one, and the valid values.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.limits import afford
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError
from agrad.engine.values import Shape, Value, coerce, describe, format_shape, whole, whole_as_float

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


def number_of(name: str, what: str, value: Any) -> float:
    """A plain number; AgradError of kind `type` for anything else, or for a value with a graph, which would be lost."""
    if getattr(value, "requires_grad", False):
        raise AgradError("type", f"{name}: {what} must be a plain number without a derivative; use .detach()")
    value = getattr(value, "value", value)
    if isinstance(value, bool | int | float):
        return float(value)
    raise AgradError("type", f"{name}: {what} must be a number, not {describe(value)}")


def plain_of(name: str, what: str, value: Any) -> Value:
    """Plain numbers, one or an array; AgradError of kind `type` for a value with a graph, which would be lost."""
    if getattr(value, "requires_grad", False):
        raise AgradError("type", f"{name}: {what} must be plain numbers without a derivative; use .detach()")
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
