"""Operations of the language on values: truth, approximate equality, iteration, formats."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from sys import getsizeof
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.dispatch import operand
from agrad.engine.core.graph import Node
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.ops.arrays.indexing import tidy_slice
from agrad.engine.ops.data_files import Chunks
from agrad.engine.values import describe, format_bytes, format_number, format_shape, format_value, np, whole
from agrad.grammar.results import Settings, text_of
from agrad.grammar.runtime.builtins import as_tensor, is_object
from agrad.grammar.runtime.compiler import BINARY, COMPARE_CALLS

IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    found.sign: getattr(operator, f"i{found.method}") for name in BINARY.values() if (found := OPS[name].operator)
}

MAX_NESTED = 5000  # entries of the tuples inside a tuple

# A format that gives an alignment and a width only.
_WIDTH = r"[<>^]?[1-9]\d*"
# A format without a number of digits: a fill, an alignment, a sign, a width, a separator.
_LAYOUT = r"(.?[<>=^])?[-+ ]?z?(#?)0?\d*[,_]?"
_IN_FULL = 1e16  # from here on Python writes a float with an exponent


def listed(items: list[Any]) -> Tensor:
    """What `[x, y]` is: the entries as an array."""
    if all(type(item) is float for item in items):
        return tensor(items)
    return OPS["stack"].call(rows(items))  # type: ignore[no-any-return]


def rows(items: list[Any]) -> list[Any]:
    """The entries of a list that becomes an array. Raises AgradError if shapes differ, or an entry is not a number."""
    entries = [as_array(item) for item in items]
    shapes = [as_tensor(entry, "an entry of a list").shape for entry in entries]
    for shape in shapes[1:]:
        if shape != shapes[0]:
            both = f"{format_shape(shapes[0])} and {format_shape(shape)}"
            raise AgradError("shape", f"the entries of a list must have the same shape, but these have {both}")
    return entries


def truth(value: Any) -> bool:
    """Whether a value counts as true: not 0, not None, not empty."""
    if isinstance(value, tuple | str):
        return len(value) > 0
    return True if is_object(value) and not isinstance(value, dict) else bool(value)


def tuple_of(items: list[Any]) -> tuple[Any, ...]:
    """Entries as a tuple. Raises AgradError of kind `limit` where nested tuples have too many entries."""
    waiting = [item for item in items if type(item) is tuple]
    entries = 0
    while waiting:
        part = waiting.pop()
        entries += len(part)
        if entries > MAX_NESTED:
            message = f"tuples inside a tuple have {MAX_NESTED} entries at most"
            raise AgradError("limit", message, fixes=[Hint("concat([a, b]) to put vectors together")])
        waiting += [item for item in part if type(item) is tuple]
    return tuple(items)


def joined(pieces: list[str]) -> str:
    """Join texts. Raises AgradError of kind `limit` where the result would need more memory than allowed."""
    need = sum(map(getsizeof, pieces))
    if need > current().limits.memory:
        raise too_long(need)
    return "".join(pieces)


def too_long(need: float) -> AgradError:
    """The error for a text that needs more bytes than allowed."""
    most = format_bytes(round(current().limits.memory))
    return AgradError("limit", f"this text needs {format_bytes(round(need))}; the limit is {most}")


def iterate(value: Any) -> Iterator[Any]:
    """The iterator of a loop: over whole numbers, an array along its first axis, a tuple, the pieces of a file."""
    if isinstance(value, range):
        return map(float, value)
    if isinstance(value, tuple | Chunks):
        return iter(value)
    if is_object(value) and hasattr(type(value), "__iter__"):
        return map(adapted, value)
    if isinstance(value, Tensor) and value.shape:
        return iter(value)
    raise AgradError(
        "type", f"{describe_value(value)} cannot be iterated over", fixes=[Hint("range(n) for whole numbers")]
    )


def adapted(value: Any) -> Any:
    """A result of the engine as a value of the language: a float, or a handle on an array."""
    if value is None or isinstance(value, Tensor | float | str | Node | range):
        return value
    if isinstance(value, int):
        return float(value)
    if isinstance(value, tuple | list) or (isinstance(value, Iterator) and not is_object(value)):
        return tuple(adapted(item) for item in value)
    if is_object(value):
        return value
    if isinstance(value, dict):
        return tuple((adapted(key), adapted(entry)) for key, entry in value.items())
    return tensor(value) if hasattr(value, "dtype") else value


def as_array(value: Any) -> Any:
    """A tuple of numbers as a vector; anything else as it is."""
    if not isinstance(value, tuple):
        return value
    array = operand(value)
    return array if isinstance(array, Tensor) else tensor(array)


def describe_value(value: Any) -> str:
    """A value in words, for messages."""
    if isinstance(value, Tensor):
        return f"an array of shape {format_shape(value.shape)}" if value.shape else describe(value.item())
    return describe(value)


def entry_at(value: Any, index: Any) -> Any:
    """An entry, or a slice, of a tuple or range."""
    if isinstance(index, slice):
        return value[tidy_slice(index)]
    position = whole(index, "an index")
    if not -len(value) <= position < len(value):
        raise AgradError("shape", f"index {position} is out of range: {_entries(len(value))}")
    entry = value[position]
    return float(entry) if isinstance(entry, int) else entry


def _entries(count: int) -> str:
    """The number of entries and the valid indices, in words."""
    if not count:
        return "it is empty"
    there = "there is 1 entry" if count == 1 else f"there are {count} entries"
    return f"{there}: valid are {-count} to {count - 1}"


def is_near(left: Any, right: Any, tolerance: float | None) -> bool:
    """All entries within an absolute tolerance, or 1e-9 relative to the larger; the shapes must agree.

    Raises AgradError of kind `domain` for a negative tolerance.
    """
    if tolerance is not None and not tolerance >= 0:
        raise AgradError("domain", f"a tolerance must be 0 or more, not {format_number(tolerance)}")
    a, b = (as_tensor(as_array(side), "~=") for side in (left, right))
    _check_shapes(a.shape, b.shape)
    x, y = a.value, b.value
    if isinstance(x, float) and isinstance(y, float):
        return x == y or abs(x - y) <= (1e-9 * max(abs(x), abs(y)) if tolerance is None else tolerance)
    bound = 1e-9 * np.maximum(np.abs(x), np.abs(y)) if tolerance is None else tolerance
    with np.errstate(all="ignore"):
        return bool(np.all((x == y) | (np.abs(x - y) <= bound)))


def holds(symbol: str, left: Any, right: Any, tolerance: float | None = None) -> bool:
    """Whether a comparison holds for all entries; for an equality the shapes must agree."""
    if symbol == "~=":
        return is_near(left, right, tolerance)
    shapes = [getattr(as_array(side), "shape", ()) for side in (left, right)]
    if symbol in ("==", "!="):
        _check_shapes(*shapes)
    result = COMPARE_CALLS[symbol](left, right)
    return bool(np.all(result.value)) if isinstance(result, Tensor) and result.shape else truth(result)


def _check_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    if a != b:
        listed = f"{format_shape(a)} and {format_shape(b)}"
        raise AgradError("shape", f"shapes {listed} cannot be compared entry by entry")


def sides(symbol: str, left: Any, right: Any) -> list[str]:
    """Both sides of a comparison that does not hold, in full precision, and the largest difference of arrays."""
    settings = Settings(None)
    lines = [f"left:  {text_of(left, settings)}", f"right: {text_of(right, settings)}"]
    pair = [as_array(side) for side in (left, right)]
    if symbol in ("==", "~=") and all(isinstance(side, Tensor) and side.shape for side in pair):
        lines.append(f"largest difference: {format_value(float(np.max(np.abs(pair[0].value - pair[1].value))))}")
    return lines


def formatted(part: Any, value: Any, settings: Settings) -> str:
    """One value of an f-string, by its format spec as in Python."""
    prefix = f"{part.text}" if part.debug else ""
    return prefix + (_formatted(part, value, settings) if part.spec else text_of(value, settings))


def _as_whole(spec: str) -> str:
    """The format of a whole number: without a precision and a type, no digits after the point."""
    found = re.fullmatch(_LAYOUT, spec)
    return f"{spec[: found.start(2)]}{spec[found.end(2) :]}.0f" if found is not None else spec


def _formatted(part: Any, value: Any, settings: Settings) -> str:
    number, spec = value, part.spec
    if isinstance(value, Tensor):
        number = value.item() if value.size == 1 else value
    widths = [int(digits) for digits in re.findall(r"\d+", spec) if len(digits) <= 3]
    if isinstance(number, Tensor):
        if number.size * max(widths, default=1) > current().limits.memory:
            raise too_long(float(number.size * max(widths, default=1)))
        return f"[{', '.join(_formatted(part, entry, settings) for entry in number)}]"
    if any(len(digits) > 3 for digits in re.findall(r"\d+", spec)):
        message = f'the format "{spec}" asks for more than 999 characters'
        raise AgradError("limit", message, labels=[Label(part.span)])
    if isinstance(number, float) and spec[-1] in "dbcoxX" and number.is_integer():
        number = int(number)
    elif isinstance(number, float) and re.fullmatch(_WIDTH, spec):
        # It does not name the digits, so they are those that agrad shows.
        number, spec = text_of(number, settings), spec if spec[0] in "<^" else f">{spec.lstrip('>')}"
    elif isinstance(number, float) and number.is_integer() and abs(number) < _IN_FULL:
        spec = _as_whole(spec)
    try:
        text = format(number, spec)
        text.encode()  # raises for half a surrogate pair, which "c" makes of 55296
        return text
    except (ValueError, TypeError, OverflowError):
        what = format_number(number) if isinstance(number, float) else describe_value(number)
        raise AgradError("type", f'the format "{part.spec}" does not fit {what}', labels=[Label(part.span)]) from None
