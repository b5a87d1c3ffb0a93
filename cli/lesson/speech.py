"""What the teacher says, as wide as the terminal; code is in bold where there is colour, else in backquotes."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable

import click

from agrad.cli.terminal.terminal import coloured

WIDTH = 78  # columns of prose, at most
_CODE = re.compile(r"`([^`]+)`")
_BLANK = "\0"  # stands for a blank in code, where a line must not break


def heading(text: str) -> None:
    """Write the heading of a chapter."""
    hues = coloured(sys.stdout)
    click.echo("\n" + (click.style(text, bold=True) if hues else text), color=hues or None)


def say(text: str) -> None:
    """Write a paragraph below an empty line."""
    _write(wrapped(text, _columns()))


def task(text: str) -> None:
    """Write a task behind its mark."""
    _write(wrapped(text, _columns(), "> "), "green")


def rest() -> None:
    """Write an empty line."""
    click.echo()


def echo(lines: Iterable[str]) -> None:
    """Write lines of a statement that the teacher types."""
    for line in lines:
        click.echo(line.rstrip())


def wrapped(text: str, width: int, mark: str = "") -> str:
    """A paragraph in lines of at most `width` columns, which break outside of code; `mark`: before the first line."""
    whole = _CODE.sub(lambda found: found[0].replace(" ", _BLANK), text)
    lines = textwrap.fill(
        whole,
        max(width, 20),
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace(_BLANK, " ")


def _columns() -> int:
    return min(shutil.get_terminal_size().columns, WIDTH) if sys.stdout.isatty() else WIDTH


def _write(text: str, hue: str | None = None) -> None:
    """Write below an empty line; with a hue, the mark at the beginning has it."""
    hues = coloured(sys.stdout)
    if hues:
        text = _CODE.sub(lambda found: click.style(found[1], bold=True), text)
        if hue is not None:
            text = click.style(text[:1], hue, bold=True) + text[1:]
    click.echo(f"\n{text}", color=hues or None)
