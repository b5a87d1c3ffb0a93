"""The machine that runs an expression for one row, and refuses functions along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.op import Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Facts, Label
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import Closure, entry_of
from agrad.grammar.runtime.bytecode import Frame
from agrad.grammar.runtime.vm.machine import Machine


class EveryRow(Facts):
    """An error that each row has, so that none need be tried after it."""


class AlongRows(EveryRow):
    """A function along an axis, of one number: `text`, which was probably meant for a whole column."""

    text: str


class RowMachine(Machine):
    """Runs an expression in which each name is one number of a row."""

    in_row = False  # whether a row is computed, and not the value of a constant

    def call_top(self, stack: list[Any], detail: tuple[int, tuple[str, ...]], span: Span) -> bool:
        """See Calls."""
        count, names = detail
        if self.in_row and count == 1:
            function, x = stack[-2 - len(names)], stack[-1 - len(names)]
            if not isinstance(function, Closure):
                _require_entries(function, x, span)
        return super().call_top(stack, detail, span)

    def _method(self, frame: Frame, detail: tuple[str, int, tuple[str, ...]], span: Span) -> None:
        name, count, names = detail
        value = frame.stack[-1 - count - len(names)]
        if self.in_row and not count and value is not None:
            _require_entries(attributes.method(value, name), value, span)
        super()._method(frame, detail, span)


def _require_entries(function: Any, x: Any, span: Span) -> None:
    """Refuse a function along an axis, such as `mean`, of one number: it would see that number, and not the column.

    Raises AgradError of kind `shape`.
    """
    form = _form(function)
    if form is None or form.variadic or "axis" not in form.attributes:
        return
    if isinstance(x, float) or (isinstance(x, Tensor) and not x.shape):
        message = f"{span.text} would see one number: each row is computed by itself"
        notes = ["for several columns, pass a list: sum([x, y])"]
        raise AgradError("shape", message, labels=[Label(span)], notes=notes, facts=AlongRows(span.text))


def _form(function: Callable[..., Any]) -> Signature | None:
    """The signature of a function of the table, of PyTorch or of a method; None for any other."""
    entry = entry_of(function)
    return entry.signature if entry is not None else getattr(function, "form", None)
