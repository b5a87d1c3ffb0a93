"""The protocol by which commands use a session: the session imports the commands, so they do not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Result
from agrad.grammar.runtime.machine import Host

if TYPE_CHECKING:
    from agrad.engine.core.context import Context
    from agrad.grammar.runtime.machine import Machine
    from agrad.grammar.syntax import ast


class Session(Host, Protocol):
    """What the machine needs of a session, and what a command needs beside that."""

    context: Context
    machine: Machine
    loading: list[str]
    fit: Any  # the latest, for `plot fit`
    restoring: bool
    steps: Any  # what `undo` can take back

    @property
    def record(self) -> Any:
        """The log of the statements in effect."""

    def evaluate(self, text: str) -> Any:
        """The value of one expression. Raises AgradError."""

    def include(self, source: Source) -> None:
        """Run the statements of another script as a part of the one that is running."""

    def limit(self, name: str, amount: float) -> None:
        """Set one of the limits of statements."""

    def forget(self) -> None:
        """Go back to the state of a new session, as a part of the statement that is running."""

    def run_again(self, statement: ast.Statement, seed: int | None) -> None:
        """Run a statement of a session that has ended, without output."""

    def beside(self) -> Any:
        """A new session with the same access to files, in which statements of this one can run again."""

    def run_inside(self, source: Source) -> None:
        """Run the statements of a text as a part of the text that is running, each as a statement of its own."""

    def undo_last(self) -> None:
        """Take back the last statement that changed something."""

    def undo(self, count: int, emit: Callable[[Result], None] = ...) -> None:
        """Take back the last statements that changed something."""
