"""Writes into a value: its entries, its attributes, all of it in place."""

from __future__ import annotations

from agrad.engine.core.context import current
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label
from agrad.engine.values import describe
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import is_object
from agrad.grammar.runtime.bytecode import Frame
from agrad.grammar.runtime.compiler import BINARY
from agrad.grammar.runtime.operations import IN_PLACE, as_array
from agrad.grammar.runtime.vm.core import Core


class Writes(Core):
    """The instructions that change a value in place."""

    def _set_index(self, frame: Frame, value_on_top: bool | None, span: Span) -> None:
        stack = frame.stack
        if value_on_top:
            value, index, target = stack.pop(), stack.pop(), stack.pop()
        else:
            index, target, value = stack.pop(), stack.pop(), stack.pop()
        if is_object(target) and isinstance(target, dict):
            target[index] = value
            return
        if not isinstance(target, Tensor):
            raise AgradError("type", f"the entries of {describe(target)} cannot be assigned to", labels=[Label(span)])
        current().origin = span
        target[index] = as_array(value)

    def _set_attribute(self, frame: Frame, name: str, span: Span) -> None:
        target = frame.stack.pop()
        value = frame.stack.pop()
        if is_object(target):
            from agrad.grammar.runtime import objects  # here, since few calculations have objects

            objects.set_attribute(target, name, value)
        else:
            attributes.set_attribute(target, name, as_array(value))

    def _augment(self, frame: Frame, symbol: str, span: Span) -> None:
        value, target = as_array(frame.stack.pop()), as_array(frame.stack.pop())
        current().origin = span
        if isinstance(target, Tensor):
            target = IN_PLACE[symbol](target, value)
        else:
            target = OPS[BINARY[symbol]].call(target, value)
        frame.stack.append(target)
