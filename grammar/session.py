"""`Session`: names, settings, and the running of statements. It never prints.

A statement that fails, or is interrupted, leaves everything as it was: names, values, gradients, graphs, settings and
the random generator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from agrad.engine.errors import AgradError, Label
from agrad.engine.state import STATE, Journal
from agrad.engine.tensor import Tensor
from agrad.engine.values import quiet
from agrad.grammar import syntax
from agrad.grammar.commands import COMMANDS, gradient_of
from agrad.grammar.compiler import compile_expression, compile_statement
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.interpreter import MISSING, Machine
from agrad.grammar.parser import parse, parse_expression
from agrad.grammar.results import Result, Settings

__all__ = ["COMMANDS", "Session"]


def _ignore(result: Result) -> None:
    """Where results go while nobody listens."""


class Session:
    """The names of one user, and all that has happened to them."""

    def __init__(self, *, files: bool = True) -> None:
        self.names: dict[str, Any] = {}
        self.settings = Settings()
        self.files = files
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

    def _run_statement(self, statement: syntax.Statement, emit: Callable[[Result], None]) -> None:
        self._guarded(lambda: self.machine.run(compile_statement(statement)), statement.span, emit)

    def _guarded(self, action: Callable[[], Any], span: Span, emit: Callable[[Result], None]) -> Any:
        """Do something as one statement: all of it or nothing."""
        journal = Journal()
        answer, precision, outer = self.answer, self.settings.precision, self.emit
        self.emit = emit
        STATE.journal, STATE.statement = journal, span
        try:
            with quiet():
                return action()
        except BaseException as error:
            self.answer, self.settings.precision = answer, precision
            journal.roll_back()
            if isinstance(error, RecursionError):
                raise AgradError("limit", "this nests too deeply", labels=[Label(span)]) from None
            if isinstance(error, AgradError):
                self.explain(error)
            raise
        finally:
            STATE.journal = STATE.statement = STATE.origin = None
            STATE.recording = True
            self.emit = outer

    def remember_name(self, name: str) -> None:
        """Keep what a name stands for, in case the statement under way fails."""
        journal, names = STATE.journal, self.names
        if journal is None:
            return
        before = names.get(name, MISSING)

        def undo() -> None:
            if before is MISSING:
                names.pop(name, None)
            else:
                names[name] = before

        journal.remember(("name", name), undo)

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
            name = getattr(error.facts["node"], "name", None) or "y"
            wanted = (f"backward sum({name})", f"backward {name}[0]", f"backward {name} seed …", f"jacobian({name}, x)")
            error.fixes = list(wanted)
        elif needs == "leaf":
            error.fixes = ["var x = …   and compute the value from x, outside no_grad and without detach"]
        elif needs == "no_grad" and STATE.statement is not None:
            name, statement = error.facts["name"], STATE.statement.text
            augmented = re.fullmatch(r"(\w+) ?([-+*/%]+)= ?(.+)", statement)
            new = " ".join(augmented.groups()) if augmented else "…"
            error.fixes = [f"no_grad: {statement}   to update the leaf", f"{name}2 = {new}   to make a new value"]
        elif error.kind == "freed" and isinstance(by, Span):
            node: Any = error.facts["node"]
            again = f", or evaluate {node.origin.where} again" if node.origin else ""
            kept = _retaining(by.text)
            error.fixes = [f"{kept}   at {by.where}{again}"] if kept else error.fixes


def _retaining(text: str) -> str | None:
    """A backward as typed, with the graph kept."""
    if text.startswith("backward "):
        return f"{text} retain"
    if text.endswith(".backward()"):
        return text.removesuffix(")") + "retain_graph=True)"
    return None
