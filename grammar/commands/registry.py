"""The table of commands, and what every command is handed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime.bytecode import Staging
from agrad.grammar.runtime.operations import describe_value
from agrad.grammar.syntax import ast

if TYPE_CHECKING:
    from agrad.grammar.session.session import Session


@dataclass(frozen=True, slots=True)
class Call:
    """A command as typed, with the values of its operands and options."""

    node: ast.Command
    values: list[Any]
    options: dict[str, Any]
    names: dict[str, Any]
    span: Span

    def operand(self, position: int) -> ast.Expr:
        """An operand as written."""
        return self.node.operands[position]

    def option(self, name: str) -> ast.Expr | None:
        """The value of an option as written; None if it has none, or is not there."""
        return dict(self.node.options).get(name)


Handler = Callable[["Session", Call], None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command. Without a handler it is a statement that the interpreter runs."""

    word: str
    usage: str
    help: str
    example: str
    handler: Handler | None = None
    staging: Staging = Staging.NEVER  # whether a loop body with this command may be compiled

    def run(self, session: Session, call: Call) -> None:
        """Do what was typed."""
        assert self.handler is not None
        self.handler(session, call)

    def perform(self, session: Session, *parts: Any) -> None:
        """Do what was typed; `parts` are those of a `Call`."""
        self.run(session, Call(*parts))


COMMANDS: dict[str, Command] = {}


def command(
    word: str, usage: str, help: str, example: str, staging: Staging = Staging.NEVER
) -> Callable[[Handler], Handler]:
    """Decorator: put a command into the table."""

    def register(run: Handler) -> Handler:
        COMMANDS[word] = Command(word, usage, help, example, run, staging)
        return run

    return register


def graphed(call: Call, position: int) -> Tensor:
    """An operand that has to be a value of the engine. Raises AgradError of kind `grad`."""
    return with_graph(call.values[position], call.operand(position), call.node.word)


def with_graph(value: Any, written: ast.Expr, word: str) -> Tensor:
    """A value that a command takes, if it is one of the engine. Raises AgradError of kind `grad`."""
    if isinstance(value, Tensor):
        return value
    text = written.span.text
    named = isinstance(written, ast.Name)
    raise AgradError(
        "grad",
        f"{word}: {text} is {describe_value(value)}, with no graph and no gradient",
        labels=[Label(written.span)],
        fixes=[f"var {text} = …   makes a leaf that requires grad"] if named else [],
    )
