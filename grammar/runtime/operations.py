"""Operations of the language on values: truth, approximate equality, iteration, formats; what is a view in PyTorch."""

from __future__ import annotations

import operator
import re
import weakref
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from functools import cache, partial
from sys import getsizeof
from typing import Any

from agrad.engine import ops, units
from agrad.engine.core.arguments import tidy_slice
from agrad.engine.core.context import afford, current
from agrad.engine.core.dispatch import operand
from agrad.engine.core.graph import Node, leaf
from agrad.engine.core.guards import choose, entries
from agrad.engine.core.op import FUNCTIONS, OPERATORS, OPS, VIEWERS
from agrad.engine.core.tensor import Tensor, bare, is_truth, tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.ops.tables import Table, Texts, as_operand
from agrad.engine.values import (
    MISSING,
    Shape,
    broadcast,
    describe,
    format_bytes,
    format_number,
    format_shape,
    format_uncertain_as,
    format_value,
    is_mask,
    np,
    shape_of,
    whole,
)
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Settings, text_of, uncertainty_of
from agrad.grammar.runtime.builtins import TAKES_LISTS, as_tensor, entry_of, is_object
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.values.lists import List, Star, entries_of, extend, is_array, parts_of, place_in, stacked

DERIVATIVES = ("grad", "jacobian", "hessian")
# The operations of two operands by their signs.
BINARY = {made.sign: name for name, made in OPERATORS.items() if made.precedence and name != "neg"}
COMPARE = {made.sign: name for name, made in OPERATORS.items() if not made.precedence}
WHOLES = (tuple, str, type(None))


@cache
def comparison(symbol: str) -> Callable[[Any, Any], Any]:
    """A comparison; == and != also compare tuples, texts and None, each as a whole.

    Comparisons of numbers give True or False. Those of arrays give an array of 1 and 0; what is recorded stays a value
    of the graph, and is printed as True or False.
    """
    name, is_equality = COMPARE[symbol], symbol in ("==", "!=")
    compare, plain = OPS[name].call, getattr(operator, OPERATORS[name].method)

    def call(x: Any, y: Any) -> Any:
        if type(x) is float and type(y) is float:
            return plain(x, y)
        if is_equality and type(x) in WHOLES and type(y) in WHOLES:
            return _same(x, y) is (symbol == "==")
        found = compare(x, y)
        alone = type(found) is float or (type(found) is Tensor and not found.shape and not found.node.recorded)
        return bool(found) if alone else found

    call.alone = compare  # type: ignore[attr-defined]  # what it is on arrays
    return call


def _same(x: Any, y: Any) -> bool:
    """Whether two tuples are equal, entry by entry: numbers and arrays, texts, functions."""
    if type(x) is tuple and type(y) is tuple:
        return len(x) == len(y) and all(_same(a, b) for a, b in zip(x, y, strict=True))
    if not (isinstance(x, Tensor | float) and isinstance(y, Tensor | float)):
        return type(x) is type(y) and bool(x == y)
    shapes = [shape_of(side.value if isinstance(side, Tensor) else side) for side in (x, y)]
    return shapes[0] == shapes[1] and bool(OPS["all"].call(OPS["equal"].call(x, y)))


def function_of(sign: str) -> Callable[[Any, Any], Any]:
    """What an operator calls."""
    return comparison(sign) if sign in COMPARE else OPS[BINARY[sign]].call


def called_directly(name: str) -> str:
    """Of what a function may be called as it is: "plain" for numbers and tensors, "tensors", or ""."""
    if name not in OPS or OPS[name] is not FUNCTIONS.get(name) or OPS[name].call in VIEWERS:
        return ""
    return "tensors" if OPS[name].scalar is None else "plain"


def gives_number(name: str, count: int) -> bool:
    """Whether a name is that of a function that gives a number of so many numbers."""
    row = OPS.get(name)
    if row is None or called_directly(name) != "plain" or not row.differentiable or row.signature.attributes:
        return False
    return len(row.signature.operands) == count


@cache
def scalar_of(sign: str) -> Callable[[float, float], Any]:
    """What an operator computes of two numbers; IEEE where Python's arithmetic raises, and the operation does not."""
    return OPS[BINARY[sign]].scalar or OPS[BINARY[sign]].call


@cache
def in_place(sign: str) -> Callable[[Any, Any], Any]:
    """What `x += y` calls where x is a tensor."""
    found: Callable[[Any, Any], Any] = getattr(operator, f"i{OPERATORS[BINARY[sign]].method}")
    return found


def takes_several(name: str) -> bool:
    """Whether a list in a call means several values, of any shapes: concat([a, b]), grad(y, [w, b])."""
    entry = FUNCTIONS.get(name)
    return name in DERIVATIVES or (entry is not None and entry.signature.variadic)


def lost_write(written: ast.Expr, text: str, known: str | None = None) -> AgradError:
    """The error for a write that would be lost; `known`: the name of what it would change in PyTorch."""
    name = written.span.text
    if isinstance(written, ast.Index):
        fixes = [Hint(f"{text.replace('][', ', ')}   in one step, as in A[0, 1] = 5")]
    elif isinstance(written, ast.Name):
        whole = known or "A"
        fixes = [
            Hint(
                f"{whole}[0] = …   writes into {whole} itself; in a loop: for i in range(len({whole})): {whole}[i] = …"
            ),
            Hint(f"{name} = {name}.clone()   before it, to change the copy alone"),
        ]
    else:
        # Write instead into what a method is called on, which stays, or into a result that gets a name.
        called = written.function if isinstance(written, ast.Call) else written
        fixes = [Hint(f"b = {name}   names it, so that a write into it is kept")]
        if isinstance(called, ast.Attribute):
            fixes = [Hint(f"write into {called.value.span.text} itself, by the indices of the entries in it")]
    message = f"{name} is a copy, not a view: a write into it would be lost"
    return AgradError("type", message, labels=[Label(written.span)], fixes=fixes)


MAX_NESTED = 5000  # entries of the tuples inside a tuple

# A format that gives an alignment and a width only.
_WIDTH = r"[<>^]?[1-9]\d*"
# A format without a number of digits: a fill, an alignment, a sign, a width, a separator.
_LAYOUT = r"(.?[<>=^])?[-+ ]?z?(#?)0?\d*[,_]?"
_IN_FULL = 1e16  # from here on Python writes a float with an exponent


SEQUENCES = frozenset({List, tuple, str, range})  # the values that are not numbers, but may be added or repeated


def spread(items: list[Any]) -> list[Any]:
    """Items, with the entries of `*xs` in its place."""
    if Star not in map(type, items):
        return items
    return [entry for item in items for entry in (item.entries if type(item) is Star else (item,))]


def listed(items: list[Any], kind: str = "") -> Tensor | List:
    """What `[x, y]` is: of plain numbers a vector, else a list of these very values.

    `kind`: `rows` where each item is written in brackets itself, as in a matrix; `parts` where it stays a list.
    """
    if kind == "parts" or not items or bool in map(type, items):
        return List(items, joins=not items)
    if all(type(item) is float for item in items):
        made = tensor(items)
        made.bracketed = True
        return made
    if kind == "rows" and all(type(item) is Tensor and item.shape == items[0].shape for item in items):
        return OPS["stack"].call(items)  # type: ignore[no-any-return]
    return List(items)


def combined(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """An operation on two values of which one is a list, a tuple, a text or a range."""
    if function is OPS["add"].call:
        found = _joined(left, right)
    elif function is OPS["mul"].call:
        found = _repeated(left, right) if type(left) in SEQUENCES else _repeated(right, left)
    else:
        found = None
    return function(*(x.stacked() if type(x) is List else x for x in (left, right))) if found is None else found


def _joined(left: Any, right: Any) -> Any:
    """Two texts, tuples or lists put together; None where `+` adds entries."""
    if type(left) is str and type(right) is str:
        return joined([left, right])
    if type(left) is tuple and type(right) is tuple:
        return tuple_of([*left, *right])
    pair = [side for side in (left, right) if type(side) is List]
    if not any(side.joins for side in pair):
        return _with_one_entry(left, right)
    if len(pair) == 1:
        (other,) = (side for side in (left, right) if side is not pair[0])
        if type(other) is tuple or (isinstance(other, Tensor) and other.shape):
            what = "a tuple" if type(other) is tuple else "an array"
            message = f"one side of + is a list, which + puts together with another, and the other is {what}"
            fixes = [Hint("xs + list(v)   to put them together"), Hint("tensor(xs) + v   to add their entries")]
            raise AgradError("type", message, fixes=fixes)
        return None
    afford("a list", (len(left) + len(right),))
    return List([*left.parts, *right.parts], joins=True)


def _with_one_entry(left: Any, right: Any) -> List | None:
    """`[x] + xs`, with one entry in brackets, makes a longer list if xs was written in brackets, too.

    A computed vector is refused, to each entry of which x would be added. None where `+` adds entries.
    """
    for side, other in ((left, right), (right, left)):
        if type(side) is not List or len(side) != 1 or _has_axes(side.parts[0]):
            continue
        if type(other) is List or getattr(other, "bracketed", False):
            return List([*entries_of(left), *entries_of(right)], joins=True)
        count = len(other) if isinstance(other, Tensor) and len(other.shape) == 1 else 1
        if count != 1:
            what = f"[x] has one entry, and the vector has {count}"
            longer = Hint("xs.append(x), or list(xs) + [x]   for a longer list")
            fixes = [longer, Hint("xs + x   to add x to each entry")]
            raise AgradError("shape", f"{what}: + adds entries, and does not put vectors together", fixes=fixes)
    return None


def _repeated(sequence: Any, count: Any) -> Any:
    """A text, a tuple or a list several times in a row; None where `*` multiplies entries."""
    # A list that was written in brackets is a vector, unless it has other entries.
    is_repeated = type(sequence) is List and (
        sequence.joins or not all(isinstance(part, float | Tensor | List) for part in sequence.parts)
    )
    if type(sequence) is range or (type(sequence) is List and not is_repeated):
        return None
    number = count.item() if isinstance(count, Tensor) and not count.shape else count
    is_whole = type(number) is float and number.is_integer()
    if type(sequence) is str:
        times = max(0, whole(number, "how often a text is repeated"))
        if len(sequence) * times > current().limits.memory:
            raise too_long(len(sequence) * times)
        return sequence * times
    if not is_whole:
        return None
    times = max(0, int(number))
    afford("a list", (len(sequence) * times,))
    parts = list(sequence) * times
    return tuple_of(parts) if type(sequence) is tuple else List(parts, joins=True)


def _has_axes(value: Any) -> bool:
    return isinstance(value, Tensor) and value.shape != ()


def augmented(symbol: str, target: Any, value: Any) -> Any:
    """`target += value`: a list is extended and an array is written in place, anything else is computed anew."""
    if type(target) is List:
        if symbol == "+" and (type(value) in SEQUENCES or _has_axes(value)):
            extend(target, value)
            return target
        return combined(OPS[BINARY[symbol]].call, target, as_array(value))
    if type(target) in SEQUENCES and (type(value) in SEQUENCES or symbol != "+"):
        found = combined(OPS[BINARY[symbol]].call, target, value)
        return found if type(found) in SEQUENCES else as_array(found)
    if symbol == "+" and type(value) is List and _has_axes(target):
        with_one = _with_one_entry(target, value)
        if with_one is not None:
            return with_one
    target, value = as_array(target), as_array(value)
    if isinstance(target, Tensor):
        return in_place(symbol)(target, value)
    return OPS[BINARY[symbol]].call(target, value)


def no_arithmetic(span: Span) -> AgradError:
    """The error for arithmetic with a tuple or a range: vectors are for arithmetic."""
    fixes = [Hint("[1, 2] or arange(3) for a vector; concat([a, b]) to put two together")]
    return AgradError("type", "tuples and ranges have no arithmetic", labels=[Label(span)], fixes=fixes)


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are the very same one: of numbers and texts there is no such question."""
    if left is right or left is None or right is None:
        return left is right
    if isinstance(left, bool) and isinstance(right, bool):
        return left == right
    if {type(left), type(right)} in ({float}, {str}, {float, bool}):
        raise AgradError("type", "`is` tells objects apart; numbers and texts are compared with ==", fixes=["=="])
    return isinstance(left, Tensor) and isinstance(right, Tensor) and left.node is right.node


def truth(value: Any) -> bool:
    """Whether a value counts as true: not 0, not None, not empty."""
    if isinstance(value, tuple | str | List | range):
        return len(value) > 0
    return bool(as_array(value) if is_table(value) else value)


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
    """The iterator of a loop: over whole numbers, an array along its first axis, a tuple, a text."""
    if isinstance(value, range):
        return map(float, value)
    if isinstance(value, tuple | List | str):
        return iter(value)
    if is_object(value) and hasattr(type(value), "__iter__"):
        return map(adapted, tuple(value) if isinstance(value, dict) else value)
    if isinstance(value, Tensor) and value.shape:
        return rows_of(value)
    if isinstance(value, ops.data_files.Chunks):
        return iter(value)
    raise AgradError(
        "type", f"{describe_value(value)} cannot be iterated over", fixes=[Hint("range(n) for whole numbers")]
    )


def adapted(value: Any) -> Any:
    """A result of the engine as a value of the language: a float, or a handle on an array."""
    if value is None or isinstance(value, Tensor | float | str | Node | range | List):
        return value
    if isinstance(value, int):
        return value if isinstance(value, bool) else float(value)
    if isinstance(value, tuple | list | KeysView | ValuesView | ItemsView) or (
        isinstance(value, Iterator) and not is_object(value)
    ):
        return tuple(adapted(item) for item in value)
    if is_object(value):
        return value
    return tensor(value) if hasattr(value, "dtype") else value


def as_array(value: Any) -> Any:
    """A list or a tuple of numbers as a vector, a table as a matrix; anything else as it is."""
    if type(value) is List:
        return value.stacked()
    if not isinstance(value, tuple):
        return as_operand(value)
    array = operand(value)
    return array if isinstance(array, Tensor) else tensor(array)


def is_table(value: Any) -> bool:
    """Whether a value is a table, or a column of texts."""
    return isinstance(value, Table | Texts)


def added_up(xs: List) -> Any:
    """`sum(xs)` of a list: the sum of its entries, which may be arrays."""
    if not any(map(_has_axes, xs.parts)):
        return OPS["sum"].call(xs.stacked())
    total, *rest = xs.parts
    for part in rest:
        total = OPS["add"].call(as_array(total), as_array(part))
    return total


def given_as(function: Any) -> Callable[[Any], Any]:
    """How a list is given to a function: as the list, as a tuple of several values, or as an array."""
    entry = entry_of(function)
    if entry is not None and entry.name in TAKES_LISTS:
        return lambda value: value
    if entry is None or takes_several(entry.name):
        return lambda value: tuple(value) if type(value) is List else value
    return as_array_if_list


def as_array_if_list(value: Any) -> Any:
    """A list as an array, or as a tuple where it has no numbers; anything else as it is."""
    if type(value) is not List:
        return value
    if all(isinstance(part, Tensor | float | List | tuple) for part in value.parts):
        return value.stacked()
    return tuple(value)


def describe_value(value: Any) -> str:
    """A value in words, for messages."""
    if isinstance(value, Tensor):
        return f"an array of shape {format_shape(value.shape)}" if value.shape else describe(value.item())
    if type(value) is List:
        return f"a list of {len(value)}"
    return describe(value)


def entry_at(value: Any, index: Any) -> Any:
    """An entry, or a slice, of a list, a tuple, a text or a range."""
    if type(value) is List:
        if isinstance(index, slice):
            return List(value.parts[tidy_slice(index)], value.joins)
        if isinstance(index, tuple) or _has_axes(index) or type(index) is List:
            return value.stacked()[index]
        return value.parts[place_in(value, index)]
    if isinstance(index, slice):
        return value[tidy_slice(index)]
    position = whole(index, "an index")
    if not -len(value) <= position < len(value):
        count = len(value)
        there = "there is 1 entry" if count == 1 else f"there are {count} entries"
        valid = f"{there}: valid are {-count} to {count - 1}" if count else "it is empty"
        raise AgradError("shape", f"index {position} is out of range: {valid}")
    entry = value[position]
    return float(entry) if isinstance(entry, int) else entry


def tolerance(of: Any, given: Any) -> float:
    """The tolerance of a comparison, which has the unit of what is compared. Raises AgradError."""
    found = as_tensor(given, "a tolerance")
    units.common([as_tensor(as_array(of), "~="), found])
    return tensor(found.value).item()


def is_near(left: Any, right: Any, tolerance: float | None) -> bool:
    """All entries within an absolute tolerance, or 1e-9 relative to the larger; the shapes must agree.

    Raises AgradError of kind `domain` for a negative tolerance.
    """
    if tolerance is not None and not tolerance >= 0:
        raise AgradError("domain", f"a tolerance must be 0 or more, not {format_number(tolerance)}")
    a, b = (as_tensor(as_array(side), "~=") for side in (left, right))
    _check_shapes(a.shape, b.shape)
    units.common([a, b])
    x, y = a.value, b.value
    if isinstance(x, float) and isinstance(y, float):
        return x == y or abs(x - y) <= (1e-9 * max(abs(x), abs(y)) if tolerance is None else tolerance)
    bound = 1e-9 * np.maximum(np.abs(x), np.abs(y)) if tolerance is None else tolerance
    with np.errstate(all="ignore"):
        return bool(np.all((x == y) | (np.abs(x - y) <= bound)))


def is_ragged(left: Any, right: Any) -> bool:
    """Whether one of two lists or arrays is a list that is no array: they are equal, or not, as a whole."""
    for one, other in ((left, right), (right, left)):
        if type(one) is List and (type(other) is List or getattr(other, "shape", ()) != ()) and not is_array(one):
            return True
    return False


def is_numeric(symbol: str, left: Any, right: Any) -> bool:
    """Whether a comparison is made entry by entry; all others, of objects or of the order of tuples, are one truth."""
    is_ordered = symbol not in ("==", "!=")
    if is_object(left) or is_object(right) or (is_ordered and tuple in (type(left), type(right))):
        return False
    return is_ordered or not is_ragged(left, right)


def holds(symbol: str, left: Any, right: Any, tolerance: float | None = None) -> bool:
    """Whether a comparison holds for all entries; for an equality the shapes must agree."""
    if symbol == "~=":
        return is_near(left, right, tolerance)
    shapes = [getattr(as_array(side), "shape", ()) for side in (left, right)]
    if symbol in ("==", "!="):
        _check_shapes(*shapes)
    left, right = (side.stacked() if type(side) is List else side for side in (left, right))
    result = comparison(symbol)(left, right)
    return bool(np.all(result.value)) if isinstance(result, Tensor) and result.shape else truth(result)


def _check_shapes(a: Shape, b: Shape) -> None:
    if a != b:
        raise AgradError("shape", f"shapes {format_shape(a)} and {format_shape(b)} cannot be compared entry by entry")


def sides(symbol: str, left: Any, right: Any) -> list[str]:
    """Both sides of a comparison that does not hold, in full precision, and the largest difference of arrays."""
    settings = Settings(None)
    lines = [f"left:  {text_of(left, settings)}", f"right: {text_of(right, settings)}"]
    pair = [as_array(side) for side in (left, right)]
    if symbol in ("==", "~=") and all(isinstance(side, Tensor) and side.shape for side in pair):
        lines.append(f"largest difference: {format_value(float(np.max(np.abs(pair[0].value - pair[1].value))))}")
    return lines


def formatted(part: Any, value: Any) -> str:
    """One value of an f-string, by its format spec as in Python."""
    prefix = f"{part.text}" if part.debug else ""
    if part.conversion:
        value = repr(value) if part.conversion != "s" and isinstance(value, str) else text_of(value)
    return prefix + (_formatted(part, value) if part.spec else text_of(value))


def _formatted(part: Any, value: Any) -> str:
    value = as_array(value) if type(value) is List else value
    number, spec = value, part.spec
    if isinstance(value, Tensor):
        number = value.item() if value.size == 1 else value
    numbers = re.findall(r"\d+", spec)
    widths = [int(digits) for digits in numbers if len(digits) <= 3]
    if isinstance(number, Tensor):
        if number.size * max(widths, default=1) > current().limits.memory:
            raise too_long(float(number.size * max(widths, default=1)))
        return f"[{', '.join(_formatted(part, entry) for entry in number)}]"
    if len(widths) < len(numbers):
        message = f'the format "{spec}" asks for more than 999 characters'
        raise AgradError("limit", message, labels=[Label(part.span)])
    u: Any = uncertainty_of(value)
    if u is not None:
        return _fitting(part, number, partial(format_uncertain_as, spec, number, float(u)))
    if isinstance(number, float) and spec[-1] in "dbcoxX" and number.is_integer():
        number = int(number)
    elif isinstance(number, float) and re.fullmatch(_WIDTH, spec):
        # It does not name the digits, so they are those that agrad shows.
        number, spec = text_of(number), spec if spec[0] in "<^" else f">{spec.lstrip('>')}"
    elif isinstance(number, float) and number.is_integer() and abs(number) < _IN_FULL:
        found = re.fullmatch(_LAYOUT, spec)  # without a precision and a type, a whole number has no digits behind it
        spec = f"{spec[: found.start(2)]}{spec[found.end(2) :]}.0f" if found is not None else spec
    return _fitting(part, number, partial(format, number, spec))


def _fitting(part: Any, number: Any, text_in_format: Callable[[], str]) -> str:
    try:
        text = text_in_format()
        text.encode()  # raises for half a surrogate pair, which "c" makes of 55296
        return text
    except (ValueError, TypeError, OverflowError):
        what = format_number(number) if isinstance(number, float) else describe_value(number)
        raise AgradError("type", f'the format "{part.spec}" does not fit {what}', labels=[Label(part.span)]) from None


class Value:
    """A value in a text that Python fills: as it is shown, and with the formats of an f-string."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __str__(self) -> str:
        return text_of(self.value)

    __repr__ = __str__

    def __float__(self) -> Any:
        is_certain = uncertainty_of(self.value) is None
        what = f"not {describe_value(self.value)}" if is_certain else "this has an uncertainty, too"
        fixes = [Hint('f"{x:.3f}"   shows all of it')] if isinstance(self.value, Tensor) else []
        raise AgradError("type", f"this format is for one number, and {what}", fixes=fixes)

    __int__ = __float__

    def __format__(self, spec: str) -> str:
        span: Any = current().origin
        return formatted(ast.Formatted(self.value, "", spec, "", False, span=span), self.value)


class _Number(Value, float):
    """A number there, which is shown with fewer digits than it has."""


def in_text(value: Any) -> Any:
    """A value for a text that Python fills."""
    if isinstance(value, Tensor):
        choose(value.node, value.value, entries)  # the text may be compared, or read as a number
        value = value.item() if value.size == 1 and uncertainty_of(value) is None else value
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        is_whole = 0 < abs(value) < _IN_FULL and value.is_integer()
        return int(value) if is_whole or repr(value) == "0.0" else _Number(value)
    return Value(value)


def of_text(value: Any) -> Any:
    """An argument of a method of texts: a whole number, or a list of Python."""
    if type(value) is float and value.is_integer():
        return int(value)
    return [of_text(one) for one in value] if type(value) is List else value


# Views: what shares its data with another value in PyTorch, and is a copy here.
#
# `x[0]`, `x.T`, `x.view(4)` and the rows of a loop are copies. A write into one would change `x` in PyTorch, and here
# it would be lost without a word. So each copy remembers what it was taken from, as long as that exists, and the write
# is refused, or noted where the copy is a plain number.

# Attributes, and other names of methods, that share the data of the value in PyTorch.
_VIEWS = frozenset({"view", "t", "T", "mT"})
# What shares its data with a value here as well: a write into it is lost where one into the value is.
_ALIASES = frozenset({"data", "detach"})


def shared(made: Any, name: str, value: Any) -> Any:
    """The result of an attribute or a method, which remembers what it shares with the value."""
    if name in _VIEWS:
        mark(made, value)
    elif name in _ALIASES and type(made) is Tensor and (bases := getattr(value, "view_of", None)) is not None:
        made.view_of = bases
    return made


def whole_index(index: Any) -> Any:
    """An index with whole numbers as Python has them, which values of its reading need, and arrays take faster."""
    if type(index) is tuple:
        return tuple([whole_index(part) for part in index])
    if isinstance(index, slice):
        return tidy_slice(index)
    return int(index) if type(index) is float and index.is_integer() else index


def answer(value: Any) -> Any:
    """A value as `_` has it: without its graph, unless it is uncertain, which it stays, with its correlations."""
    if not isinstance(value, Tensor):
        return value
    if uncertainty_of(value) is None:
        node = value.node
        data: Any = value.array if node.value is None else node.value
        made = bare(leaf(data if type(data) is float else data.copy()))
        units.keep(node, made.node)
        return made
    return value if value.node.op is not None else FUNCTIONS["clone"].call(value)


def mark(made: Any, base: Any) -> None:
    """Remember that a value was taken from another."""
    if type(made) is not Tensor or not isinstance(base, Tensor) or made is base:
        if type(made) is tuple:
            for part in made:
                mark(part, base)
        return
    node = base.node
    if not made.node.shape and is_mask(base.array if node.value is None else node.value):
        made.is_truth = True
    made.view_of = (weakref.ref(base),)
    if known := getattr(base, "view_of", ()):
        made.view_of = (*[one for one in known if one() is not None], *made.view_of)
    if node.extra is not None and node.op is None and node.storage is not None:
        made.view_of += (*node.storage.nodes,)


def rows_of(array: Tensor) -> Iterator[Tensor]:
    """The entries of an array along its first axis, as a loop takes them."""
    for position in range(len(array)):
        row = array[position]
        mark(row, array)
        yield row


def is_basic(index: Any) -> bool:
    """Whether an index takes a view in PyTorch: whole numbers and slices, and not a mask or a list of places."""
    parts = index if isinstance(index, tuple) else (index,)
    return not any(getattr(part, "shape", ()) or isinstance(part, list | tuple) for part in parts)


def check_write(target: Any, places: Callable[[], Iterable[Any]], written: ast.Expr, text: str) -> None:
    """Refuse a write into a copy of a part of something; note it where the copy is a plain number.

    `places`: the values that are in use; `written`: the value that is written into, as typed; `text`: the write. Raises
    AgradError of kind `type`.
    """
    bases = getattr(target, "view_of", None) if type(target) is Tensor else None
    alive = [base for reference in bases or () if (base := reference()) is not None]
    if not alive:
        return
    # What a write would change in PyTorch, and does not here.
    tensors = (one for one in parts_of(places()) if isinstance(one, Tensor))
    base = next((one for one in tensors if any(one is x or one.node is x for x in alive)), None)
    if base is None:
        return
    name, node = written.span.text, target.node
    known = base.node.name
    if not node.shape and not node.recorded and isinstance(written, ast.Name):
        listener = current().listener
        del target.view_of
        if listener is not None:
            message = f"{name} is a number of its own: {known or 'what it was taken from'} stays as it is"
            fixes = [Hint(f"{known or 'x'}[0] += 1   changes an entry, as this would in PyTorch")]
            listener(Note(message, labels=[Label(written.span)], fixes=fixes))
        return
    raise lost_write(written, text, known)


def check_number(target: Any, written: ast.Expr, method: str) -> None:
    """Refuse a method that would change a plain number in its place: what it changes is a new tensor, which is lost.

    `written`: what the method is called on, as typed. Raises AgradError of kind `type`.
    """
    if not isinstance(target, float) or not isinstance(written, ast.Name | ast.Index | ast.Attribute):
        return
    name, leaf = written.span.text, method == "requires_grad_"
    fix = f"{name} = tensor({name})   before it"
    if leaf:
        new = f"var {name} = {format_number(target, None)}"
        fix = f"{new if isinstance(written, ast.Name) else f'{name} = tensor({name}, requires_grad=True)'}   instead"
    message = f"{name} is the number {format_number(target)}, not a tensor, and .{method}() would change nothing"
    raise AgradError("type", message, labels=[Label(written.span)], fixes=[fix])


# `u·v` and `u × v` of arrays: on paper the dot product and the cross product, and not a product of entries.


def has_axes(value: Any) -> bool:
    """Whether a value is an array, a list or a table, and not one number."""
    return type(value) in (List, Table) or (isinstance(value, Tensor) and value.shape != ())


def refuse_ambiguous(left: Any, right: Any, sides: tuple[Span, Span], sign: Span) -> None:
    """Raise AgradError for `·` and `×` of two arrays, with the products that their shapes allow, if any."""
    a, b = shapes = [as_array(value).shape for value in (left, right)]
    fixes, text = [], sign.source.text
    if sign.text == "×" and shapes == [(3,), (3,)]:
        whole = Span(sign.source, sides[0].start, sides[1].end)
        fixes = [f"{corrected(whole, f'cross({sides[0].text}, {sides[1].text})')}   the cross product"]
    start, end = len(text[: sign.start].rstrip(" \t")), len(text) - len(text[sign.end :].lstrip(" \t"))
    place = Span(sign.source, start, end)  # with the blanks on both sides
    if a[-1] == b[-2:][0] and _spread(a[:-2], b[:-2]):  # what `@` takes
        what = "the dot product" if len(a) == len(b) == 1 else "the product of matrices"
        fixes.append(f"{corrected(place, ' @ ')}   {what}")
    if _spread(a, b):
        fixes.append(f"{corrected(place, '*')}   entry by entry")
    if not fixes:
        return  # `*` says which shapes these are
    dot = "the dot product" if sign.text != "×" else "the cross product"
    message = f"`{sign.text}` of two arrays is {dot} to some, and a product entry by entry to others"
    raise AgradError("type", message, labels=[Label(sign)], fixes=fixes)


def _spread(a: Shape, b: Shape) -> bool:
    try:
        broadcast(a, b)
    except AgradError:
        return False
    return True


def folded(machine: Any, name: str, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
    """`sum(xs, start)` of a list, `max(xs, key=f)`; MISSING where the function is called as any other."""
    first = args[0]
    if name == "stack" and len(args) == 1 and not keywords:
        is_mask = type(first) in (tuple, List) and len(first) > 0 and all(map(is_truth, first))
        return stacked(list(first)) if is_mask else MISSING
    if any(map(is_table, args)):
        return machine.invoke(FUNCTIONS[name].call, tuple(map(as_array, args)), keywords)
    if name in ("max", "min") and "key" in keywords:
        is_several = type(first) in (tuple, List, range) or (isinstance(first, Tensor) and first.shape != ())
        parts = list(iterate(first)) if len(args) == 1 and is_several else list(args)
        return machine.of_python(machine.session.python.builtins[name], parts, **keywords)
    if name == "sum" and len(args) == 2 and type(args[1]) is List:
        return List([*args[1], *(entry for part in iterate(first) for entry in entries_of(part))], joins=True)
    if name == "sum" and args[1:] == ((),) and type(first) in (tuple, List) and {*map(type, first)} == {tuple}:
        return tuple(entry for part in first for entry in part)
    if name == "sum" and len(args) == 2 and (type(first) is tuple or (type(first) is List and first.joins)):
        start = args[1]
        for part in first:
            start = machine.operated("+", start, part, span)
        return start
    return MISSING
