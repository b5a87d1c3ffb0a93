"""Expressions: operators, arrays, tuples, indices, attributes, f-strings."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NoReturn

from agrad.engine.core.context import current
from agrad.engine.core.guards import choose, entries
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.ops.tables import Table
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Noted
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import as_tensor, is_object
from agrad.grammar.runtime.bytecode import Frame
from agrad.grammar.runtime.errors.paper_products import has_axes, refuse_ambiguous
from agrad.grammar.runtime.errors.rounded_numbers import EXACT
from agrad.grammar.runtime.operations import (
    adapted,
    as_array,
    combined,
    describe_value,
    entry_at,
    formatted,
    is_near,
    is_table,
    iterate,
    joined,
    listed,
    spread,
    truth,
    tuple_of,
)
from agrad.grammar.runtime.views import ALIASES, carry, is_basic, mark
from agrad.grammar.runtime.views import ATTRIBUTES as VIEW_ATTRIBUTES
from agrad.grammar.runtime.vm.core import Core
from agrad.grammar.values.lists import List, Star, tensors_in


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
        from agrad.grammar.values.dicts import dict_of, set_of  # here, since few scripts have one

        kind, count = detail
        items = frame.stack[len(frame.stack) - count :] if count else []
        del frame.stack[len(frame.stack) - count :]
        current().origin = span
        frame.stack.append(set_of(spread(items)) if kind == "set" else dict_of(items))

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
            frame.stack.append(self._entry_of_table(value, index, span) if is_table(value) else _entry_of(value, index))
            return
        index = _plain_index(index)
        entry = as_tensor(value, "an index")[index]
        if is_basic(index):
            mark(entry, value)
        frame.stack.append(entry)

    def _entry_of_table(self, value: Any, index: Any, span: Span) -> Any:
        """An entry of a table, or of a column of texts. The first index that might be meant for a row gets a note."""
        from agrad.grammar.runtime import tables  # here, since few scripts have one

        if not isinstance(value, Table):
            return adapted(value[_plain_index(index)])
        note = None if self.column_noted else tables.note_on(value, index, span)
        if note is not None:
            self.column_noted = True
            self.session.emit(Noted(note))
        return adapted(tables.entry(value, index))

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


def _entry_of(value: Any, index: Any) -> Any:
    """An entry of an object that has entries: of a Sequential, a state, a group of parameters."""
    from agrad.grammar.runtime import objects  # here, since few calculations have objects

    return adapted(objects.entry(value, index))


def _attribute_of(value: Any, name: str) -> Any:
    """An attribute of an object; of a table, a column or what its matrix has."""
    from agrad.grammar.runtime import objects  # here: see above

    if is_table(value):
        from agrad.grammar.runtime import tables  # here: see above

        return adapted(tables.attribute(value, name))
    return adapted(objects.attribute(value, name))


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
