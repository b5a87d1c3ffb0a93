"""The machine that runs code: a stack, the names, a frame for each running function; instructions of statements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from agrad.engine.autodiff.uncertainty import doubtful, lost
from agrad.engine.core.context import UndoLog, current, next_stamp, scope
from agrad.engine.core.graph import collect
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, is_gradient, tensor
from agrad.engine.core.versions import changed_behind, was_cut
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.ops.data_files import Chunks
from agrad.engine.values import format_number
from agrad.grammar import runtime
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Noted, Printed, Result, Shown, text_of, uncertainty_of, whole_text_of
from agrad.grammar.runtime.builtins import OTHERS, as_tensor
from agrad.grammar.runtime.bytecode import Code, Do, Frame, Loop
from agrad.grammar.runtime.calls import ENTERED, MISSING, Core
from agrad.grammar.runtime.compiler import UNEVALUATED, module_name
from agrad.grammar.runtime.expressions import Operators, no_arithmetic
from agrad.grammar.runtime.operations import holds, is_ragged, iterate, joined, sides, spread, truth
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import SHAPES


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


# Statements that show, check or time something, and commands.


class Statements(Core):
    """The instructions of statements that do more than compute and bind."""

    @abstractmethod
    def are_equal(self, left: Any, right: Any) -> bool:
        """Whether two values are the same, or equal, each as a whole."""

    def _show(self, frame: Frame, node: ast.Evaluate, span: Span) -> None:
        value = frame.stack.pop()
        if isinstance(value, Tensor | float):
            self.session.last = (_answer(value),)
        function = node.value.function if isinstance(node.value, ast.Call) else None
        called = function if isinstance(function, ast.Attribute) else None
        if node.silent or (called is not None and called.name.endswith("_")):  # `w.grad.zero_()`, `nn.init.zeros_(w)`
            return
        if isinstance(node.value, ast.Name) and node.value.id in SHAPES and _is_own(node.value.id, value):
            raise runtime.name_errors.unknown(node.value.id, span, ())  # `grad`, the command without its operand
        if getattr(type(value), "is_silent", False) and called is not None and module_name(called) is None:
            return  # such as `net.eval()`, which is called for its effect
        self.end_line()
        if value is not None:
            self._note_origin([value], span)
            names = frame.scopes[0]
            self.session.emit(Shown(value, node.value, names) if names is self.session.names else Shown(value))
            note_second_order(value, span, self.session.emit)
            return
        reason = self.session.why_none(node.value)
        if reason:
            self.session.emit(Printed(reason))

    def _note_origin(self, values: list[Any], span: Span) -> None:
        """Note values that were computed from data that have changed since, or from uncertain ones in no_grad."""
        for value in values:
            if not isinstance(value, Tensor):
                continue
            name, changed = value.node.spell(), changed_behind(value.node)
            message = lost(value) if was_cut(value.node) else ""
            if message:
                self.session.emit(Noted(Note(message, labels=[Label(span)])))
            if changed is not None and not is_gradient(value):
                held = value.node.op is not None and all(node.freed is None for node in collect([value.node]))
                fixes = [f"forward {value.node.name}"] if value.node.name and held else []
                message = f"{name} still has its old value: {changed.spell()} has changed since"
                listener = current().listener
                if listener is not None:
                    listener(Note(message, labels=[Label(span)], fixes=fixes))

    def _print(self, frame: Frame, count: int, span: Span) -> None:
        stack = frame.stack
        end, separator = stack.pop(), stack.pop()
        items = spread(stack[len(stack) - count :] if count else [])
        del stack[len(stack) - count :]
        self._note_origin(items, span)
        settings = self.session.settings
        parts = [whole_text_of(item, settings) for item in items]
        between, after = (text_of(" " if one is None else one, settings) for one in (separator, end))
        text = joined([self.line, *[piece for part in parts for piece in (part, between)][:-1], after])
        *lines, self.line = text.split("\n")
        if lines:
            self.session.emit(Printed("\n".join(lines)))

    def end_line(self) -> None:
        """Show what was printed without the end of its line."""
        if self.line:
            line, self.line = self.line, ""
            self.session.emit(Printed(line))

    def _note(self, frame: Frame, messages: tuple[str, ...], span: Span) -> None:
        if self.is_first(span):
            for message in messages:
                self.session.emit(Noted(Note(message, labels=[Label(span)])))

    def _unused(self, frame: Frame, name: str, span: Span) -> None:
        if isinstance(frame.stack[-1], Tensor | tuple):
            message = f".sort() gives the entries in order, and {name} stays as it is"
            fixes = [f"{name} = sorted({name})"]
            self.session.emit(Noted(Note(message, labels=[Label(span)], fixes=fixes)))

    def _import(self, frame: Frame, detail: tuple[tuple[str, ...], dict[str, str]], span: Span) -> None:
        libraries, absent = detail
        self.session.imported.update(libraries)
        self.session.absent.update(absent)

    def _assert(self, frame: Frame, kind: str, span: Span) -> None:
        with scope(recording=False, guard=current().guard):  # an assertion makes no guard
            self._hold(frame.stack, kind, span)

    def _hold(self, stack: list[Any], kind: str, span: Span) -> None:
        """Raise an error if an assertion does not hold."""
        message = stack.pop()
        if kind:
            tolerance = as_tensor(stack.pop(), "a tolerance").item() if kind == "+-" else None
            right, left = stack.pop(), stack.pop()
            symbol = "~=" if kind == "+-" else kind
            if symbol in ("==", "!=") and is_ragged(left, right):
                if self.are_equal(left, right) is (symbol == "=="):
                    return
                texts = [text_of(side, self.session.settings) for side in (left, right)]
                notes = [f"left:  {texts[0]}", f"right: {texts[1]}"]
            elif holds(symbol, left, right, tolerance):
                return
            else:
                notes = sides(symbol, left, right)
        else:
            value = stack.pop()
            if truth(value):
                return
            notes = [f"it is {text_of(value, self.session.settings)}"]
        text = f": {text_of(message, self.session.settings)}" if message is not None else ""
        raise AgradError("assert", f"the assertion does not hold{text}", labels=[Label(span)], notes=notes)

    def _fails(self, frame: Frame, detail: tuple[str, Code], span: Span) -> None:
        kind, code = detail
        context, last = current(), self.session.last
        inner = UndoLog(context.undo_log)
        self.expecting += 1
        try:
            with scope(undo_log=inner, guard=context.guard):
                self.run_inside(code, frame)
        except AgradError as error:
            inner.roll_back()
            self.session.last = last
            if error.kind != kind:
                error.notes.append(f"expected an error of kind {kind}")
                raise
            return
        finally:
            self.expecting -= 1
        raise AgradError("assert", f"expected an error of kind {kind}, and there was none", labels=[Label(span)])

    def _time(self, frame: Frame, code: Code, span: Span) -> None:
        self.session.time(frame, code, span)

    def _command(self, frame: Frame, node: Any, span: Span) -> None:
        values = [value for _, value in node.options if value is not None]
        operands = node.operands[1:] if node.word in UNEVALUATED else node.operands
        count = len(values) + len(operands)
        taken = frame.stack[len(frame.stack) - count :] if count else []
        del frame.stack[len(frame.stack) - count :]
        if node.word == "backward":
            self.before_backward(taken[0], span)
        rest = iter(taken[len(operands) :])
        options = {name: next(rest) if value is not None else True for name, value in node.options}
        command = self.session.commands[node.word]
        command.perform(self.session, node, taken[: len(operands)], options, frame.scopes[0], span)


def _is_own(name: str, value: Any) -> bool:
    """Whether a value is agrad's own function of that name."""
    return (name in OTHERS and isinstance(value, type)) or (name in FUNCTIONS and value is FUNCTIONS[name].call)


def _answer(value: Any) -> Any:
    """A value as `_` has it: without its graph, unless it is uncertain, which it stays, with its correlations."""
    if not isinstance(value, Tensor):
        return value
    if uncertainty_of(value) is None:
        return tensor(value.value)
    return value if value.node.op is not None else FUNCTIONS["clone"].call(value)


def note_second_order(value: Any, span: Span, emit: Callable[[Result], None]) -> None:
    """Note a result that is far from linear in what is uncertain, so that its uncertainty says too little."""
    second = doubtful(value)
    if second is not None:
        terms = f"the second adds a bias of {format_number(second.bias, 2)} and u = {format_number(second.u, 2)} more"
        fixes = [f"budget {span.text} order 2", f"budget {span.text} samples 1e6"]
        if not any(second):
            terms, fixes = "the slope is 0 here, as at a kink or on a step", fixes[1:]
        message = f"the uncertainty is of the first order: {terms}"
        emit(Noted(Note(message, labels=[Label(span)], fixes=fixes)))


# The machine that runs code: a stack, the names, and a frame for each running function.
#
# The loop itself runs loads, constants, binary operators, calls and returns, which make up most of an expression;
# every other instruction is a method. Functions of the user do not use Python's stack: a frame is an entry of a list.

_LONG = 1000  # instructions between two checks of the limits, where there is no jump


_PLAIN = frozenset({float, Tensor, bool})


class Machine(Operators, Control, Statements):
    """Runs code against the names of a session."""

    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns."""
        load, constant, binary, call, leave = Do.LOAD, Do.CONSTANT, Do.BINARY, Do.CALL, Do.RETURN
        handlers, frames, context = self.handlers, self.frames, current()
        while True:
            frame, depth, result = frames[-1], len(frames), None
            stack, names, instructions = frame.stack, frame.scopes[0], frame.code.instructions
            end = len(instructions)
            if end > _LONG:
                end = min(end, frame.pc + _LONG)
            while frame.pc < end:
                do, detail, span = instructions[frame.pc]
                frame.pc += 1
                if do is load:
                    value = names.get(detail, MISSING)
                    stack.append(self.look_up(detail, span) if value is MISSING else value)
                elif do is constant:
                    stack.append(detail)
                elif do is binary:
                    right, left = stack.pop(), stack.pop()
                    context.origin = span
                    if type(left) not in _PLAIN or type(right) not in _PLAIN:
                        if self.operate(frame, detail, left, right, span):
                            break  # into the frame of the operator of an object
                        continue
                    value = detail(left, right)
                    stack.append(value if type(value) in _PLAIN else no_arithmetic(span))
                elif do is call:
                    if self.call_top(stack, detail, span):
                        break  # into the frame that this opened
                elif do is leave:
                    result = stack.pop()
                    break
                else:
                    target = handlers[do](frame, detail, span)
                    if target is not None:
                        if target is ENTERED:
                            break
                        frame.pc = target
            else:
                if next_stamp() > self.session.watch.due:
                    self.session.watch.look(frames)
                if end < len(instructions):
                    continue
            if len(frames) > depth:
                continue
            context.statement = frames.pop().statement
            if len(frames) == base:
                return result
            frames[-1].stack.append(result)


# The virtual machine: it runs bytecode on a stack, one class for each group of instructions.
#
# `machine.Machine` joins the groups and has the loop. `host.Host` is the protocol of the session that it runs for.
# From outside, import `Machine` and `MISSING` from here.

__all__ = ["MISSING", "Machine"]
