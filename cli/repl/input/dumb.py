"""The prompt on a terminal that only shows text, as in an editor's shell: the terminal itself edits the line."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator

import click

from agrad.cli.repl.input.question_mark import answered
from agrad.cli.repl.opening import Opening
from agrad.cli.terminal.interrupt import ignored, stop_once
from agrad.engine.text import fit
from agrad.grammar.session.session import Session


def prompts(number: int) -> tuple[str, str]:
    """The prompt of a line with its number, `agrad 5> `, and that of the lines that continue it."""
    first = f"agrad {number}> "
    return first, f"{'...> ':>{len(first)}}"


def typed(session: Session, opening: Opening | None = None) -> Iterator[str]:
    """The typed statements, one at a time, until Ctrl-D, after the opening.

    An empty line ends a block, and Ctrl-C discards an unfinished statement.
    """
    opening = opening or Opening()
    if opening.greeting:
        click.echo(fit(opening.greeting, shutil.get_terminal_size().columns))
    if opening.told:
        click.echo(fit(opening.told, shutil.get_terminal_size().columns), err=True)
    lines: list[str] = []
    with ignored():
        while True:
            signal.signal(signal.SIGINT, stop_once)
            try:
                line = _line(prompts(session.line)[bool(lines)])
            except KeyboardInterrupt:
                lines = []
                click.echo()
                continue
            if line is None:
                click.echo()
                return
            lines.append(line)
            text = answered(opening.taken("\n".join(lines)), session.names)
            if not opening.waits(text):
                lines = []
                yield text.rstrip("\n ")


def _line(prompt: str) -> str | None:
    """A line as it was typed; None at the end. Bytes that are not text become replacement characters."""
    click.echo(prompt, nl=False)
    data = sys.stdin.buffer.readline()
    return data.decode("utf-8", "replace").rstrip("\r\n") if data else None
