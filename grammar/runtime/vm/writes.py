"""Writes into a value: its entries, its attributes, all of it in place."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.ops.arrays.indexing import tidy_slice
from agrad.engine.values import describe
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import is_object
from agrad.grammar.runtime.bytecode import Frame
from agrad.grammar.runtime.compiler import BINARY
from agrad.grammar.runtime.operations import as_array, augmented, describe_value
from agrad.grammar.runtime.views import check_number, check_write
from agrad.grammar.runtime.vm.core import Core
from agrad.grammar.values.list_methods import place_in
from agrad.grammar.values.lists import List, become_list, entries_of, refuse_itself


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
            from agrad.grammar.runtime import objects  # here, since few calculations have objects

            objects.set_attribute(target, name, value)
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
