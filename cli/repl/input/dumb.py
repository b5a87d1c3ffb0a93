"""The prompt on a terminal that shows text and no more, as in an editor's shell: there the terminal edits the line."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import click

from agrad.cli import __version__
from agrad.cli.repl.input.question_mark import answered
from agrad.cli.terminal.interrupt import ignored, stop_once
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import needs_more

FIRST, MORE = "agrad> ", "  ...> "


def greeting() -> str:
    """The first line of a session."""
    return f"agrad {__version__}: help says what there is, Ctrl-D leaves"


def typed(session: Session, told: str = "") -> Iterator[str]:
    """What is typed, statement by statement, until Ctrl-D; below the greeting stands what is `told`.

    An empty line ends a block, and Ctrl-C forgets what was begun.
    """
    click.echo(greeting())
    if told:
        click.echo(told, err=True)
    lines: list[str] = []
    with ignored():
        while True:
            signal.signal(signal.SIGINT, stop_once)
            try:
                line = _line(MORE if lines else FIRST)
            except KeyboardInterrupt:
                lines = []
                click.echo()
                continue
            if line is None:
                click.echo()
                return
            lines.append(line)
            text = answered("\n".join(lines), session.names)
            if not needs_more(text):
                lines = []
                yield text.rstrip("\n ")


def _line(prompt: str) -> str | None:
    """A line as it was typed; None at the end. What is no text is typed as the sign for that."""
    click.echo(prompt, nl=False)
    data = sys.stdin.buffer.readline()
    return data.decode("utf-8", "replace").rstrip("\r\n") if data else None
