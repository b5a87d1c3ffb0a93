"""A script as a session shows it: a transcript, with each statement behind a prompt, and its answers below it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import suppress

import click

from agrad.cli.base import advised, exit_code, write_text
from agrad.cli.output.text import COLOURS, as_text, report
from agrad.cli.repl.input.pipe import statements
from agrad.cli.settings.settings import find
from agrad.cli.terminal.terminal import coloured, option
from agrad.engine.errors import AgradError
from agrad.grammar.results import Quit
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import tokens

_FIRST, _MORE = "agrad> ", "  ...> "
_COLUMNS = 84  # of a picture


def echo(
    session: Session, text: str, title: str, printing: bool, page: str | None, picture: str | None, theme: str
) -> int:
    """Print the transcript of a text, and write it into a page of HTML and an SVG picture; the exit code.

    After an error the session continues, as at the prompt. The code is that of the first error; it is 0 where nothing
    is printed, since the errors belong to the picture. Raises AgradError of kind `file`.
    """
    lines: list[str] = []
    drawing = page is not None or picture is not None
    in_colour = coloured(sys.stdout)
    if drawing:
        in_colour = find("color", option("color"))[0] != "never"
        session.settings.width = _COLUMNS
    elif sys.stdout.isatty():
        session.settings.width = shutil.get_terminal_size().columns

    def write(line: str) -> None:
        lines.append(line)
        if printing:
            click.echo(line, color=coloured(sys.stdout))

    code = transcript(session, text, write, in_colour)
    if not drawing:
        return code
    from agrad.cli.output.pictures import html, svg  # here, since few transcripts are pictures

    for path, draw in ((page, html), (picture, svg)):
        if path is not None:
            write_text(path, draw("\n".join(lines), title, theme))
    return code if printing else 0


def transcript(session: Session, text: str, write: Callable[[str], None], in_colour: bool) -> int:
    """Run the statements of a text, and write each with its answers, in colour with escape codes; the exit code."""
    session.steps.depth = DEPTH  # as at the prompt
    session.record.on = True
    code = 0
    with suppress(Quit):
        for typed in statements(line.encode() for line in text.splitlines(keepends=True)):
            statement = typed.rstrip()
            if not statement or statement == "#":
                continue
            for number, line in enumerate(_coloured(statement) if in_colour else statement.split("\n")):
                write(((_MORE if number else _FIRST) + line).rstrip())
            try:
                session.run(statement, lambda result: write(as_text(result, session.settings, in_colour)))
            except AgradError as problem:
                write(report(advised(problem), session.settings.width, in_colour))
                code = code or exit_code(problem)
    return code


def _coloured(text: str) -> list[str]:
    """The lines of a statement, in the colours of the prompt."""
    parts, done = [], 0
    for kind, start, end in tokens(text):
        parts += [text[done:start], styled(text[start:end], COLOURS.get(kind, ""))]
        done = end
    return "".join([*parts, text[done:]]).split("\n")


def styled(text: str, style: str) -> str:
    """A text in a style of prompt_toolkit, each of its lines by itself."""
    if not style:
        return text
    look = {"bold": True} if style == "bold" else {"fg": style.removeprefix("ansi").replace("bright", "bright_")}
    return "\n".join(click.style(line, **look) for line in text.split("\n"))
