"""Statements that show, check or time something, and commands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from agrad.engine.autodiff.uncertainty import doubtful, lost
from agrad.engine.core.context import UndoLog, current, scope
from agrad.engine.core.graph import collect
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, is_gradient, tensor
from agrad.engine.core.versions import changed_behind, was_cut
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.values import format_number
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Noted, Printed, Result, Shown, text_of, uncertainty_of, whole_text_of
from agrad.grammar.runtime.builtins import OTHERS, as_tensor
from agrad.grammar.runtime.bytecode import Code, Frame
from agrad.grammar.runtime.compiler import UNEVALUATED, module_name
from agrad.grammar.runtime.errors.name_errors import unknown
from agrad.grammar.runtime.operations import holds, is_ragged, joined, sides, spread, truth
from agrad.grammar.runtime.vm.core import Core
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import SHAPES


class Statements(Core):
    """The instructions of statements that do more than compute and bind."""

    @abstractmethod
    def are_equal(self, left: Any, right: Any) -> bool:
        """Whether two values are the same, or equal, each as a whole."""

    def _show(self, frame: Frame, node: ast.Evaluate, span: Span) -> None:
        value = frame.stack.pop()
        if isinstance(value, Tensor | float):
            self.session.last = (_answer(value),)
        if node.silent or _writes(node.value):
            return
        if isinstance(node.value, ast.Name) and node.value.id in SHAPES and _is_own(node.value.id, value):
            raise unknown(node.value.id, span, ())  # `grad`, the command without its operand
        if getattr(type(value), "is_silent", False) and _is_method_call(node.value):
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


def _is_method_call(node: ast.Expr) -> bool:
    """Whether an expression is a call of a method, and not of a function of a module."""
    return (
        isinstance(node, ast.Call) and isinstance(node.function, ast.Attribute) and module_name(node.function) is None
    )


def _writes(expression: ast.Expr) -> bool:
    """Whether an expression is a call that writes in place: `w.grad.zero_()`, `nn.init.zeros_(w)`."""
    function = expression.function if isinstance(expression, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.name.endswith("_")


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
