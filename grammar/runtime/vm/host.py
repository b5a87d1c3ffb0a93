"""The protocol of the session that a machine runs for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Plot, Result, Settings
from agrad.grammar.runtime.budget import Watch
from agrad.grammar.runtime.bytecode import Code, Frame, Loop, Staging
from agrad.grammar.syntax import ast


class HostedCommand(Protocol):
    """A command that the machine can run."""

    @property
    def staging(self) -> Staging:
        """Whether a loop body with this command may be compiled."""

    @property
    def perform(self) -> Callable[..., None]:
        """Called with the session, the command as typed, the values of its operands and options, names and place."""


class Host(Protocol):
    """The session that a machine runs for."""

    names: dict[str, Any]
    last: tuple[Any, ...]  # the last answer; empty where there is none
    settings: Settings
    watch: Watch
    emit: Callable[[Result], None]
    progress: Callable[..., Iterator[Any]] | None
    compiles: bool
    imported: set[str]
    absent: dict[str, str]

    @property
    def commands(self) -> Mapping[str, HostedCommand]:
        """Every command, by its word."""

    @property
    def answer(self) -> Any:
        """The last answer; None where there is none."""

    def numbered(self, name: str, span: Span) -> Any:
        """The value of `_5`, the result of line 5. Raises AgradError where there is none."""

    def draw(self, plot: Plot, path: str) -> None:
        """Write a plot to a file."""

    def write(self, path: str, text: str) -> None:
        """Write a text to a file."""

    def remember_name(self, names: dict[str, Any], name: str) -> None:
        """Remember the value of a name, so that a failing statement can be undone."""

    def why_none(self, expression: ast.Expr) -> str | None:
        """The text to show instead of a bare None."""

    def count(self, iterator: Iterator[Any], numbers: range, loop: Loop) -> Iterator[Any]:
        """The counter of a `for` over a range, which may run many iterations compiled."""

    def time(self, frame: Frame, code: Code, span: Span) -> None:
        """Measure and run the body of `time:`."""
