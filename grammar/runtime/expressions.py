"""The instructions of expressions: operators, arrays, indices, attributes, f-strings; and of writes into values."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from typing import Any, NoReturn

from agrad.engine.core.arguments import tidy_slice
from agrad.engine.core.context import current
from agrad.engine.core.guards import choose, entries, number
from agrad.engine.core.op import FUNCTIONS, OPERATORS, OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.ops.tables import Table, Texts, compared
from agrad.engine.values import describe
from agrad.grammar import runtime, values
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Noted
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import Closure, Kind, as_tensor, is_object
from agrad.grammar.runtime.bytecode import Frame
from agrad.grammar.runtime.calls import ENTERED, MISSING, Calls, Core, invoke
from agrad.grammar.runtime.compiler import BINARY, COMPARE_CALLS, EXACT
from agrad.grammar.runtime.notes import READERS
from agrad.grammar.runtime.operations import (
    ALIASES,
    SEQUENCES,
    VIEW_ATTRIBUTES,
    adapted,
    as_array,
    augmented,
    carry,
    check_number,
    check_write,
    combined,
    describe_value,
    entry_at,
    formatted,
    has_axes,
    is_basic,
    is_near,
    is_ragged,
    is_table,
    iterate,
    joined,
    listed,
    mark,
    refuse_ambiguous,
    spread,
    truth,
    tuple_of,
)
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.values.lists import List, Star, become_list, entries_of, mask_of, place_in, refuse_itself, tensors_in


class Expressions(Core):
    """The instructions that compute a value from those on the stack."""

    def _unary(self, frame: Frame, function: Callable[[Any], Any], span: Span) -> int | None:
        current().origin = span
        frame.stack.append(function(as_array(frame.stack.pop())))
        return None

    def _sign(self, frame: Frame, sides: tuple[Span, Span], span: Span) -> None:
        left, right = frame.stack[-2:]
        if has_axes(left) and has_axes(right):
            refuse_ambiguous(left, right, sides, span)

    def _whole(self, frame: Frame, detail: None, span: Span) -> None:
        left = frame.stack[-2]
        left = left.node.value if type(left) is Tensor else left
        if type(left) is float and EXACT < abs(left) < inf:
            told = "whole numbers beyond 2**53 are rounded, so that the remainder may be wrong"
            self.note_rounded(f"{span.text}: {told}", span)

    def _not(self, frame: Frame, detail: None, span: Span) -> None:
        current().origin = span
        frame.stack.append(not truth(frame.stack.pop()))

    def _is_none(self, frame: Frame, negated: bool, span: Span) -> None:
        frame.stack.append((frame.stack.pop() is None) is not negated)

    def _chain(self, frame: Frame, detail: tuple[Callable[[Any, Any], Any], int], span: Span) -> int | None:
        function, end = detail
        right, left = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        result = function(*(x if type(x) is tuple else as_array(x) for x in (left, right)))
        if not isinstance(result, float | bool | Tensor):
            no_arithmetic(span)
        if truth(result):
            frame.stack.append(right)
            return None
        frame.stack.append(result)
        return end

    def _near(self, frame: Frame, given: bool, span: Span) -> None:
        tolerance = as_tensor(frame.stack.pop(), "a tolerance").item() if given else None
        right, left = as_array(frame.stack.pop()), as_array(frame.stack.pop())
        frame.stack.append(is_near(left, right, tolerance))

    def _list(self, frame: Frame, detail: tuple[int, str], span: Span) -> None:
        stack, (count, kind) = frame.stack, detail
        items = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        current().origin = span
        stack.append(listed(spread(items), kind))

    def _tuple(self, frame: Frame, count: int, span: Span) -> None:
        stack = frame.stack
        items = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        stack.append(tuple_of(spread(items)))

    def _unpack(self, frame: Frame, count: int, span: Span) -> None:
        value = frame.stack.pop()
        entries = [value] if isinstance(value, float) or getattr(value, "shape", None) == () else list(iterate(value))
        if len(entries) != count:
            number = "1 value" if len(entries) == 1 else f"{len(entries)} values"
            raise AgradError("arity", f"{number} for {count} names", labels=[Label(span)])
        frame.stack.extend(reversed(entries))

    def _unpack_rest(self, frame: Frame, detail: tuple[int, int], span: Span) -> None:
        count, place = detail
        entries = list(iterate(frame.stack.pop()))
        behind = count - 1 - place
        if len(entries) < count - 1:
            raise AgradError(
                "arity", f"{len(entries)} values for {count - 1} names, and the rest", labels=[Label(span)]
            )
        end = len(entries) - behind
        parts = [*entries[:place], List(entries[place:end], joins=True), *entries[end:]]
        frame.stack.extend(reversed(parts))

    def _star(self, frame: Frame, sign: str, span: Span) -> None:
        value = frame.stack.pop()
        current().origin = span
        if sign == "*":
            frame.stack.append(Star(list(iterate(value))))
        elif isinstance(value, dict):
            frame.stack.append(Star([], value))
        else:
            raise AgradError("type", f"** needs a dictionary, not {describe_value(value)}", labels=[Label(span)])

    def _braces(self, frame: Frame, detail: tuple[str, int], span: Span) -> None:
        kind, count = detail
        items = frame.stack[len(frame.stack) - count :] if count else []
        del frame.stack[len(frame.stack) - count :]
        current().origin = span
        frame.stack.append(values.dicts.Set(spread(items)) if kind == "set" else values.dicts.dict_of(items))

    def _slice(self, frame: Frame, detail: None, span: Span) -> None:
        step, stop, start = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
        frame.stack.append(slice(start, stop, step))

    def _index(self, frame: Frame, detail: None, span: Span) -> None:
        index, value = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        if isinstance(value, List | tuple | range | str):
            frame.stack.append(entry_at(value, index))
            return
        if is_object(value):
            frame.stack.append(
                self._entry_of_table(value, index, span)
                if is_table(value)
                else adapted(runtime.objects.entry(value, index))
            )
            return
        index = _plain_index(index)
        entry = as_tensor(value, "an index")[index]
        if is_basic(index):
            mark(entry, value)
        frame.stack.append(entry)

    def _entry_of_table(self, value: Any, index: Any, span: Span) -> Any:
        """An entry of a table, or of a column of texts. The first index that might be meant for a row gets a note."""
        if not isinstance(value, Table):
            return adapted(value[_plain_index(index)])
        note = None if self.column_noted else attributes.note_on_index(value, index, span)
        if note is not None:
            self.column_noted = True
            self.session.emit(Noted(note))
        return adapted(attributes.table_entry(value, index))

    def _attribute(self, frame: Frame, name: str, span: Span) -> None:
        current().origin = span
        value = frame.stack.pop()
        found = _attribute_of(value, name) if is_object(value) else attributes.attribute(value, name)
        if name in VIEW_ATTRIBUTES:
            mark(found, value)
        elif name in ALIASES:
            carry(found, value)
        frame.stack.append(found)

    def _format(self, frame: Frame, parts: tuple[Any, ...], span: Span) -> None:
        values = [part for part in parts if not isinstance(part, str)]
        taken = frame.stack[len(frame.stack) - len(values) :] if values else []
        del frame.stack[len(frame.stack) - len(values) :]
        for value in tensors_in(taken):
            choose(value.node, value.value, entries)  # a text may be compared, or read as a number
        texts = iter(taken)
        settings = self.session.settings
        pieces = [part if isinstance(part, str) else formatted(part, next(texts), settings) for part in parts]
        frame.stack.append(joined(pieces))

    def _copy(self, frame: Frame, depth: int, span: Span) -> None:
        frame.stack.append(frame.stack[-1 - depth])

    def _pop(self, frame: Frame, detail: None, span: Span) -> None:
        frame.stack.pop()


def _attribute_of(value: Any, name: str) -> Any:
    """An attribute of an object; of a table, a column or what its matrix has."""
    if is_table(value):
        return adapted(attributes.table_attribute(value, name))
    return adapted(runtime.objects.attribute(value, name))


def _plain_index(index: Any) -> Any:
    """An index without lists: each is the array of its entries."""
    if isinstance(index, tuple):
        return tuple(as_array(part) if type(part) is List else part for part in index)
    return index.stacked() if type(index) is List else index


def with_sequences(function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> Any:
    """An operation of which an operand is a list, a tuple, a text or a range."""
    found = combined(function, left, right)
    known = isinstance(found, float | bool | Tensor | List | str | tuple)
    return found if known else no_arithmetic(span)


def no_arithmetic(span: Span) -> NoReturn:
    """Raise the error for arithmetic with a tuple or a range: vectors are for arithmetic."""
    fixes = [Hint("[1, 2] or arange(3) for a vector; concat([a, b]) to put two together")]
    raise AgradError("type", "tuples and ranges have no arithmetic", labels=[Label(span)], fixes=fixes)


# Writes into a value: its entries, its attributes, all of it in place.


class Writes(Core):
    """The instructions that change a value in place."""

    def _set_index(self, frame: Frame, value_on_top: bool | None, span: Span) -> None:
        stack = frame.stack
        if value_on_top:
            value, index, target = stack.pop(), stack.pop(), stack.pop()
        else:
            index, target, value = stack.pop(), stack.pop(), stack.pop()
        current().origin = span
        if is_object(target) and not isinstance(target, type) and hasattr(type(target), "__setitem__"):
            target[index] = value
            return
        if type(target) is List:
            self._put(target, index, value)
            return
        if not isinstance(target, Tensor):
            raise AgradError("type", f"the entries of {describe(target)} cannot be assigned to", labels=[Label(span)])
        target[index] = as_array(value)

    @staticmethod
    def _put(target: List, index: Any, value: Any) -> None:
        """Replace one entry of a list, or several."""
        if isinstance(index, slice):
            parts = list(target.parts)
            parts[tidy_slice(index)] = entries_of(value)
            refuse_itself(target, tuple(parts))
            target.change(parts)
        elif isinstance(index, tuple):
            message = "an entry of a list is assigned to by one index; the list is no array"
            raise AgradError("type", message, fixes=[Hint("xs[0][1] = …   writes into the first entry of the list")])
        else:
            target.put(place_in(target, index), value)

    def _delete_index(self, frame: Frame, detail: None, span: Span) -> None:
        index, target = frame.stack.pop(), frame.stack.pop()
        if is_object(target) and hasattr(type(target), "__delitem__"):
            del target[index]
            return
        if type(target) is not List:
            message = f"the entries of {describe_value(target)} cannot be deleted"
            raise AgradError("type", message, labels=[Label(span)], fixes=[Hint("x[1:], x[:-1]   leaves out an entry")])
        parts = list(target.parts)
        del parts[tidy_slice(index) if isinstance(index, slice) else place_in(target, index)]
        target.change(parts)

    def _writable(self, frame: Frame, detail: tuple[Any, str], span: Span) -> None:
        written, text = detail
        check_write(frame.stack[-1], self.in_use, written, text)

    def _no_number(self, frame: Frame, detail: tuple[Any, str], span: Span) -> None:
        check_number(frame.stack[-1], *detail)

    def in_use(self) -> list[Any]:
        """The values under names."""
        scopes = {id(scope): scope for frame in self.frames for scope in frame.scopes}
        scopes[id(self.session.names)] = self.session.names
        return [value for scope in scopes.values() for value in scope.values()]

    def all_in_use(self) -> list[Any]:
        """The values under names and on stacks."""
        return [*self.in_use(), *(value for frame in self.frames for value in frame.stack)]

    def _set_attribute(self, frame: Frame, name: str, span: Span) -> None:
        target = frame.stack.pop()
        value = frame.stack.pop()
        if is_object(target):
            runtime.objects.set_attribute(target, name, value)
        else:
            attributes.set_attribute(target, name, as_array(value))

    def _augment(self, frame: Frame, symbol: str, span: Span) -> int | None:
        value, target = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        is_written = getattr(target, "bracketed", False) and len(target.shape) == 1 and not target.node.recorded
        if symbol == "+" and type(value) is List and is_written:
            target = become_list(target, self._places(()))  # under all its names, as `append` makes it one
        frame.stack.append(augmented(symbol, target, value))
        return None

    def _augment_entry(self, frame: Frame, detail: tuple[str, Any, str], span: Span) -> int | None:
        symbol, written, text = detail
        value, old = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        if type(frame.stack[-2]) is List or isinstance(frame.stack[-2], dict):
            check_write(old, self.in_use, written, text)
            frame.stack.append(augmented(symbol, old, value))
        else:
            frame.stack.append(OPS[BINARY[symbol]].call(old, as_array(value)))
        return None


# Operators of objects: the methods `__add__`, `__radd__`, `__eq__` of the user's classes; also `in` and `is`.

_COMPARING = {call: sign for sign, call in COMPARE_CALLS.items()}
# The methods of an operator: of the operand on the left, and of that on the right.
_ARITHMETIC = {
    sign: (f"__{OPERATORS[name].method}__", f"__r{OPERATORS[name].method}__") for sign, name in BINARY.items()
}
_COMPARISONS = {
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"),
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
}
_METHODS = _ARITHMETIC | _COMPARISONS
IN_PLACE = {sign: f"__i{names[0][2:]}" for sign, names in _ARITHMETIC.items()}


def _sign(function: Callable[[Any, Any], Any]) -> str:
    """The sign of what an operator calls; empty for a function that has none, such as `±`."""
    operation = OPS.get(getattr(function, "__name__", ""))
    is_operator = operation is not None and operation.call is function and operation.operator is not None
    return operation.operator.sign if is_operator else _COMPARING.get(function, "")


def found_method(value: Any, name: str) -> Closure | None:
    """The method of an object of the user's that an operator calls."""
    if not is_object(value) or isinstance(value, type):
        return None
    return runtime.objects.operator_of(type(value), name)


class Operators(Calls, Expressions, Writes):
    """What the operators do on values that are neither numbers nor arrays."""

    def operate(self, frame: Frame, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> bool:
        """Apply an operator; True if that pushed a frame, which leaves the result on the stack."""
        if type(left) is str and _sign(function) == "%":
            frame.stack.append(with_sequences(function, left, right, span))
            return False
        called = self._method_of(function, left, right)
        if called is not None:
            self.frames.append(self._enter(*called, {}))
            return True
        frame.stack.append(self._applied(function, left, right, span))
        return False

    def _method_of(
        self, function: Callable[[Any, Any], Any], left: Any, right: Any
    ) -> tuple[Closure, tuple[Any, Any]] | None:
        """The method that an operator calls, and its arguments."""
        if not (is_object(left) or is_object(right)):
            return None
        for name, pair in zip(_METHODS[_sign(function)], ((left, right), (right, left)), strict=True):
            method = found_method(pair[0], name)
            if method is not None:
                return method, pair
        return None

    def _applied(self, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> Any:
        if is_table(left) or is_table(right):
            return self._of_tables(function, left, right, span)
        if is_object(left) or is_object(right):
            sign = _sign(function)
            if sign in ("==", "!="):
                return self.are_equal(left, right) is (sign == "==")
            name = _METHODS[sign][0]
            known = type(left).__name__ if is_object(left) else type(right).__name__
            message = f"`{sign}` of {describe_value(left)} and {describe_value(right)} is not defined"
            fixes: list[str] = [Hint(f"def {name}(self, other): return …   in the class {known}")]
            if "Set" in (type(left).__name__, type(right).__name__) and "{" in span.text:  # x^{2}, as in TeX
                fixes = [corrected(span, re.sub(r"\{([^{}]*)\}", r"(\1)", span.text))]
            raise AgradError("type", message, labels=[Label(span)], fixes=fixes)
        sign = _sign(function)
        if sign in ("==", "!=") and is_ragged(left, right):
            return self.are_equal(left, right) is (sign == "==")
        if type(left) in SEQUENCES or type(right) in SEQUENCES:
            return with_sequences(function, left, right, span)
        value = function(left, right)
        return value if isinstance(value, float | bool | Tensor) else no_arithmetic(span)

    def _of_tables(self, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> Any:
        """An operator on tables, as matrices, or a comparison of a column of texts."""
        texts, other = (left, right) if isinstance(left, Texts) else (right, left)
        if isinstance(texts, Texts) and _sign(function) in ("==", "!="):
            return compared(texts, other, _sign(function) == "==")
        return self._applied(function, as_array(left), as_array(right), span)

    def applied(self, sign: str, left: Any, right: Any, span: Span) -> Any:
        """The value of an operator, for functions that use it, such as `sum` and `sorted`."""
        function = COMPARE_CALLS[sign] if sign in COMPARE_CALLS else OPS[BINARY[sign]].call
        called = self._method_of(function, left, right)
        return self.call(*called, {}) if called is not None else self._applied(function, left, right, span)

    def are_equal(self, left: Any, right: Any) -> bool:
        """Whether two values are the same, or equal, as `in` and `==` of lists ask."""
        if left is right:
            return True
        if type(left) is Kind or type(right) is Kind:
            fixes = [Hint("isinstance(x, list), isinstance(x, torch.Tensor), …")]
            raise AgradError("type", "types are not compared: isinstance tells of what kind a value is", fixes=fixes)
        for pair in ((left, right), (right, left)):
            method = found_method(pair[0], "__eq__")
            if method is not None:
                return truth(self.call(method, pair, {}))
        if is_object(left) or is_object(right):
            if type(left) is not type(right):
                return False
            if isinstance(left, dict):
                return left.keys() == right.keys() and all(self.are_equal(x, right[key]) for key, x in left.items())
            return type(left).__name__ == "Set" and bool(left == right)
        numbers = (float, bool, Tensor)
        if isinstance(left, numbers) and isinstance(right, numbers):
            shapes = [x.shape if isinstance(x, Tensor) else () for x in (left, right)]
            if any(shapes):
                message = "arrays are compared entry by entry: one truth is asked for"
                fixes = [Hint("any(x is y for y in ys)   finds the very same one"), Hint("torch.equal(x, y)")]
                raise AgradError("type", message, fixes=fixes)
            return bool(_number(left) == _number(right))
        if isinstance(left, List | tuple) and type(left) is type(right):
            return len(left) == len(right) and all(map(self.are_equal, left, right))
        return type(left) is type(right) and bool(left == right)

    def folded(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
        """`sum`, `max`, `min` and `abs` of objects; also `sum(xs, start)` of a list, and `max(xs, key=f)`."""
        first = args[0]
        if name in ("hasattr", "getattr"):
            (x, wanted), options = FUNCTIONS[name].signature.bind(args, keywords)
            has_default = len(args) > 2 or "default" in keywords
            return _attribute(name, x, wanted, options["default"] if has_default else MISSING)
        if name in READERS:
            self.note_number(name, first, span)
        if name == "stack" and len(args) == 1 and not keywords:
            made = mask_of(first)
            return MISSING if made is None else made
        if any(map(is_table, args)):
            return invoke(FUNCTIONS[name].call, tuple(map(as_array, args)), keywords)
        method = found_method(first, f"__{name}__")
        if method is not None and len(args) == 1 and not keywords:
            return self.call(method, (first,), {})
        if name in ("max", "min"):
            is_several = type(first) in (tuple, List, range) or isinstance(first, dict)
            is_several = is_several or (isinstance(first, Tensor) and first.shape != ())
            parts = list(iterate(first)) if len(args) == 1 and is_several else list(args)
            if "key" in keywords or any(map(is_object, parts)):
                return self._extreme(name, parts, span, **keywords)
        if (name == "sum" and not keywords and type(first) in (tuple, List)) or isinstance(first, dict):
            start = args[1] if len(args) == 2 else 0.0
            given = type(first) is tuple or (type(first) is List and first.joins)
            if any(map(is_object, (*first, start))) or (len(args) == 2 and given):
                for part in first:
                    start = self.applied("+", start, part, span)
                return start
        return MISSING

    def _extreme(
        self, name: str, parts: list[Any], span: Span, key: Any = None, default: Any = MISSING, **others: Any
    ) -> Any:
        if others:
            raise AgradError("arity", f"{name} of several values has no argument {next(iter(others))}")
        if not parts:
            if default is not MISSING:
                return default
            raise AgradError("shape", f"{name} of no values")
        if key is not None and not callable(key):
            raise AgradError("type", f"the key of {name} is a function, not {describe_value(key)}")
        best = parts[0]
        keyed = [part if key is None else key(part) for part in parts]
        top = keyed[0]
        for part, value in zip(parts[1:], keyed[1:], strict=True):
            if truth(self.applied(">" if name == "max" else "<", value, top, span)):
                best, top = part, value
        return best

    # Instructions

    def _test(self, frame: Frame, symbol: str, span: Span) -> None:
        right, left = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        found = is_same(left, right) if symbol.startswith("is") else self.contains(right, left)
        frame.stack.append(found is not ("not" in symbol.split()))

    def contains(self, container: Any, value: Any) -> bool:
        """Whether a value is in something."""
        if isinstance(container, str):
            if not isinstance(value, str):
                raise AgradError("type", f"`in` of a text needs a text, not {describe_value(value)}")
            return value in container
        method = found_method(container, "__contains__")
        if method is not None:
            return truth(self.call(method, (container, value), {}))
        if is_object(container) and hasattr(type(container), "__contains__"):
            return value in container
        if isinstance(container, Tensor) and container.shape:
            return truth(FUNCTIONS["any"].call(OPS["equal"].call(container, value)))
        return any(self.are_equal(value, entry) for entry in iterate(container))

    def _augment(self, frame: Frame, symbol: str, span: Span) -> int | None:
        """`x += y`: `__iadd__` of an object, or else `__add__`."""
        value, target = frame.stack[-1], frame.stack[-2]
        if not (is_object(target) or is_object(value)) or type(target) is str:
            return super()._augment(frame, symbol, span)
        del frame.stack[-2:]
        method = found_method(target, IN_PLACE[symbol])
        if method is not None:
            self.frames.append(self._enter(method, (target, value), {}))
            return ENTERED
        return ENTERED if self.operate(frame, OPS[BINARY[symbol]].call, target, value, span) else None

    def _augment_entry(self, frame: Frame, detail: tuple[str, Any, str], span: Span) -> int | None:
        """`xs[0] += y`, the same."""
        value, old = frame.stack[-1], frame.stack[-2]
        if is_object(old) or is_object(value):
            return self._augment(frame, detail[0], span)
        return super()._augment_entry(frame, detail, span)

    def _unary(self, frame: Frame, function: Callable[[Any], Any], span: Span) -> int | None:
        method = found_method(frame.stack[-1], "__neg__" if function is OPS["neg"].call else "__pos__")
        if method is None:
            return super()._unary(frame, function, span)
        self.frames.append(self._enter(method, (frame.stack.pop(),), {}))
        return ENTERED


def _attribute(function: str, x: Any, name: Any, default: Any = MISSING) -> Any:
    """`hasattr(x, name)` and `getattr(x, name, default)`."""
    if not isinstance(name, str):
        raise AgradError("type", f"the name of an attribute is a text, not {describe_value(name)}")
    try:
        found = adapted(runtime.objects.member(x, [name]))
    except AgradError:
        if function == "getattr" and default is MISSING:
            raise
        return default if function == "getattr" else False
    return found if function == "getattr" else True


def _number(value: Any) -> float:
    if isinstance(value, Tensor):
        choose(value.node, value.item(), number)
        return value.item()
    return float(value)


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are the very same one: of numbers and texts there is no such question."""
    if left is right or left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return type(left) is type(right) and left == right
    if isinstance(left, float | str) or isinstance(right, float | str):
        if type(left) is not type(right):
            return False
        raise AgradError("type", "`is` tells objects apart; numbers and texts are compared with ==", fixes=["=="])
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.node is right.node
    return False
