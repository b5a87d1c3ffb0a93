"""`Session`: names, settings, and the running of statements. It never prints.

A statement that fails, or is interrupted, leaves everything as it was: names, values, gradients, graphs, settings and
the random generator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from agrad.engine.backward import backward
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.graph import collect
from agrad.engine.state import STATE, Journal
from agrad.engine.tensor import Tensor
from agrad.engine.values import Value, quiet
from agrad.grammar import syntax
from agrad.grammar.commands import COMMANDS, gradient_of
from agrad.grammar.compiler import compile_expression, compile_statement
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.interpreter import MISSING, Machine
from agrad.grammar.parser import parse, parse_expression
from agrad.grammar.results import Noted, Result, Settings

__all__ = ["COMMANDS", "Session"]


def _ignore(result: Result) -> None:
    """Where results go while nobody listens."""


class Session:
    """The names of one user, and all that has happened to them."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.settings = Settings()
        self.answer: Any = None
        self.machine = Machine(self)
        self.emit: Callable[[Result], None] = _ignore
        self.line = 1  # the line that the next text of the session begins at

    def run(
        self, text: str, emit: Callable[[Result], None] = _ignore, source: str = "session", is_file: bool = False
    ) -> None:
        """Run statements, handing out each result as it happens.

        Raises AgradError (nothing runs if the text does not parse); the statement that failed has changed nothing,
        those before it stand. `quit` raises results.Quit.
        """
        first = 1 if is_file else self.line
        if not is_file:
            self.line += text.count("\n") + (not text.endswith("\n"))
        for statement in parse(Source(source, text, first, is_file)):
            self._run_statement(statement, emit)

    def evaluate(self, text: str, source: str = "expression") -> Any:
        """The value of one expression: a float, a Tensor, a tuple, a text or None. Raises AgradError."""
        expression = parse_expression(Source(source, text))
        return self._guarded(lambda: self.machine.run(compile_expression(expression)), expression.span, _ignore)

    def check(
        self,
        text: str,
        leaves: Sequence[Tensor],
        claims: Sequence[Value | None],
        emit: Callable[[Result], None],
        source: str = "expression",
    ) -> None:
        """Compare the derivatives of an expression by some leaves with differences, as the command does."""
        from agrad.grammar.checking import check  # here, since few sessions check anything

        expression = parse_expression(Source(source, text))
        self._guarded(lambda: check(self, expression, leaves, claims), expression.span, emit)

    def backward(self, value: Tensor, emit: Callable[[Result], None] = _ignore) -> None:
        """Add the derivative of a value to its leaves, as the command does; notes go to `emit`."""
        origin = value.node.origin
        self._guarded(lambda: backward(value), origin if isinstance(origin, Span) else None, emit)

    def _run_statement(self, statement: syntax.Statement, emit: Callable[[Result], None]) -> None:
        self._guarded(lambda: self.machine.run(compile_statement(statement)), statement.span, emit)

    def _guarded(self, action: Callable[[], Any], span: Span | None, emit: Callable[[Result], None]) -> Any:
        """Do something as one statement: all of it or nothing."""
        journal = Journal()
        answer, precision, outer = self.answer, self.settings.precision, self.emit
        self.emit = emit
        STATE.journal, STATE.statement, STATE.listener = journal, span, self._hear(emit)
        try:
            with quiet():
                return action()
        except BaseException as error:
            self.answer, self.settings.precision = answer, precision
            journal.roll_back()
            limits: dict[type, str] = {
                RecursionError: "this nests too deeply",
                MemoryError: "there is not enough memory for this",
            }
            if type(error) in limits:
                labels = [Label(span)] if span is not None else []
                raise AgradError("limit", limits[type(error)], labels=labels) from None
            if isinstance(error, AgradError):
                self.explain(error)
            raise
        finally:
            STATE.journal = STATE.statement = STATE.origin = STATE.listener = None
            STATE.recording = True
            self.emit = outer

    @staticmethod
    def _hear(emit: Callable[[Result], None]) -> Callable[[Note], None]:
        """Hands on a note of the engine, once for a statement however often a loop meets it."""
        heard: set[str] = set()

        def listener(note: Note) -> None:
            place = note.labels[0].origin if note.labels else None
            key = note.message if place is None else f"{place.where} {place.text}"
            if key not in heard:
                heard.add(key)
                emit(Noted(note))

        return listener

    @staticmethod
    def remember_name(names: dict[str, Any], name: str) -> None:
        """Keep what a name stands for, in case the statement under way fails."""
        journal = STATE.journal
        if journal is None:
            return
        before = names.get(name, MISSING)

        def undo() -> None:
            if before is MISSING:
                names.pop(name, None)
            else:
                names[name] = before

        journal.remember((id(names), name), undo)

    def why_none(self, expression: syntax.Expr) -> str | None:
        """What to say instead of a bare None: `W.grad` tells why there is no gradient."""
        if not isinstance(expression, syntax.Attribute):
            return None
        if expression.name == "grad":
            value = self.machine.run(compile_expression(expression.value))
            if isinstance(value, Tensor):
                return gradient_of(expression.value.span.text, value, self).text(self.settings)
        return f"{expression.span.text} = none"

    def explain(self, error: AgradError) -> None:
        """Say the fixes of an engine's error in the words of the language."""
        by, needs = error.facts.get("by"), error.facts.get("needs")
        if needs == "seed":
            node: Any = error.facts["node"]
            name, typed = node.spell(), STATE.statement.text if STATE.statement is not None else ""
            wanted = ["backward sum({0})", "backward {0}[0]", "backward {0} seed …", "jacobian({0}, x)"]
            if "backward" not in typed:
                wanted = ["grad(sum({0}), x)", "jacobian({0}, x)"]
            error.fixes = [form.format(name) for form in wanted]
        elif needs == "leaf":
            error.fixes = ["var x = …   and compute the value from x, outside no_grad and without detach"]
        elif needs == "no_grad" and STATE.statement is not None:
            name, statement = error.facts["name"], STATE.statement.text
            augmented = re.fullmatch(r"(\w+) ?([-+*/%]+)= ?(.+)", statement)
            new = " ".join(augmented.groups()) if augmented else "…"
            error.fixes = [f"no_grad: {statement}   to update the leaf", f"{name}2 = {new}   to make a new value"]
        elif error.kind == "freed" and isinstance(by, Span):
            kept, again = _retaining(by.text), _again(error.facts["root"])
            error.fixes = [f"{kept}   at {by.where}, or {again}"] if kept else [again]
        elif error.kind == "stale" and "root" in error.facts:
            error.fixes = [_again(error.facts["root"])]


def _again(root: Any) -> str:
    """Which lines to evaluate again: all that what was freed, or is out of date, was computed on, up to the root."""
    redo: set[Any] = set()
    for node in reversed(collect([root])):
        old = node.freed is not None or any(getattr(operand, "stamp", 0) > node.stamp for operand in node.inputs)
        if node.op is not None and (old or any(type(x) is type(node) and x in redo for x in node.inputs)):
            redo.add(node)
    spans = [node.origin for node in redo if isinstance(node.origin, Span)]
    lines = sorted({span.source.position(span.start)[0] for span in spans})
    if not lines:
        return f"evaluate {root.spell()} again"
    if lines == list(range(lines[0], lines[-1] + 1)) and len(lines) > 1:
        return f"evaluate lines {lines[0]} to {lines[-1]} again"
    *others, last = lines
    return f"evaluate lines {', '.join(map(str, others))} and {last} again" if others else f"evaluate line {last} again"


def _retaining(text: str) -> str | None:
    """A backward as typed, with the graph kept."""
    if text.startswith("backward "):
        return f"{text} retain"
    if text.endswith(".backward()"):
        return text.removesuffix(")") + "retain_graph=True)"
    return None
