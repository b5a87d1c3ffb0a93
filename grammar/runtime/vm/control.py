"""Control: jumps, loops, and the recording switch."""

from __future__ import annotations

from agrad.engine.core.context import current, next_stamp
from agrad.engine.ops.data_files import Chunks
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime.bytecode import Frame, Loop
from agrad.grammar.runtime.operations import iterate, truth
from agrad.grammar.runtime.vm.core import MISSING, Core


class Control(Core):
    """The instructions that decide what runs next."""

    def _statement(self, frame: Frame, detail: None, span: Span) -> None:
        current().statement = span

    def _jump(self, frame: Frame, label: int, span: Span) -> int:
        if next_stamp() > self.session.watch.due:
            self.session.watch.look(self.frames)
        return label

    def _jump_if_false(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        return None if truth(frame.stack.pop()) else label

    def _and(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        if truth(frame.stack[-1]):
            frame.stack.pop()
            return None
        return label

    def _or(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        if not truth(frame.stack[-1]):
            frame.stack.pop()
            return None
        return label

    def _iterate(self, frame: Frame, loop: Loop | None, span: Span) -> None:
        value = frame.stack.pop()
        iterator, progress = iterate(value), self.session.progress
        if progress is not None:
            iterator = progress(iterator, None if isinstance(value, Chunks) else len(value))
        if type(value) is range and loop is not None and self._may_compile(frame, loop):
            iterator = self.session.count(iterator, value, loop)
        frame.stack.append(iterator)

    def _may_compile(self, frame: Frame, loop: Loop) -> bool:
        """Whether a loop may be compiled: not in what may fail, nor in a function that the engine calls or traces."""
        if self.expecting or not self.session.compiles:
            return False
        context = current()
        called = loop.in_function and not self.calling and context.tracing is None and context.reads is None
        return called or len(frame.scopes) == 1

    def _next(self, frame: Frame, label: int, span: Span) -> int | None:
        value = next(frame.stack[-1], MISSING)
        if value is MISSING:
            return label
        frame.stack.append(value)
        return None

    def _no_grad(self, frame: Frame, switch: tuple[str, bool], span: Span) -> None:
        context, name = current(), switch[0]
        frame.switches.append((name, getattr(context, name)))
        setattr(context, *switch)

    def _end_no_grad(self, frame: Frame, detail: None, span: Span) -> None:
        setattr(current(), *frame.switches.pop())
