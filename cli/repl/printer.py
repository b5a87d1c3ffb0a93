"""Results at a prompt: values with the operation that made them, and a pager for output longer than the screen."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress

import click

import agrad
from agrad.cli.main import advised, exit_code, write_text
from agrad.cli.output import COLOURS, DRAWN, Printer, as_shown, as_text, format_rows, report, states_in_colour
from agrad.cli.repl.plain import statements
from agrad.cli.settings import find
from agrad.cli.terminal import coloured, option, shown
from agrad.cli.terminal.pager import PAGER
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.text import fit, glued, wrap
from agrad.grammar import results
from agrad.grammar.prompt.changes import Changes, with_newest
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.typed import tokens
from agrad.lazy import pattern

_OPENING = pattern(r"[^\[(]*[\[(]+")


class PromptPrinter(Printer):
    """Prints results for a person at a terminal: `60   <MeanBackward>`."""

    def __call__(self, result: results.Result) -> None:
        """Print one result."""
        DRAWN.rows = 0
        if isinstance(result, results.Shown):
            self._show(result)
        elif isinstance(result, results.Gradient):
            click.echo(shown(self.marked(result, folded(result.text(self.settings), self.settings.width))))
        elif isinstance(result, results.Printed) and result.line.replace("\n", "").isprintable():
            # not what is in columns by tabs, or in colours
            click.echo(self.marked(result, folded(result.line, self.settings.width)))
        elif isinstance(result, results.Table | results.Checked):
            paint = states_in_colour if isinstance(result, results.Table) and result.states else None
            text = result.text(self.settings)
            if not isinstance(result, results.Graph):  # a drawing is not folded
                text = fit(text, self.settings.width)
            PAGER.show(self.marked(result, text), paint if coloured(sys.stdout) else None)
        else:
            super().__call__(result)

    def _show(self, result: results.Shown) -> None:
        """Print a value, and after it its kind, dim where there is colour."""
        mark = kind(result.value)
        text, DRAWN.answer = (
            shown(self.marked(result, one)) for one in (self._whole(result, mark), result.text(self.settings))
        )
        if mark and coloured(sys.stdout):
            text = text.removesuffix(mark) + click.style(mark, dim=True)
        click.echo(text, color=coloured(sys.stdout) or None)

    def text(self, result: results.Result, settings: results.Settings) -> str:
        """A result as it is printed, for a transcript."""
        if not isinstance(result, results.Shown):
            return super().text(result, settings)
        return self._whole(result, kind(result.value))

    def _whole(self, result: results.Shown, mark: str) -> str:
        """A value with what is said after it, folded; the rows of a matrix under each other."""
        value, settings = result.value, self.settings
        if isinstance(value, Tensor) and len(value.shape) > 1 and results.uncertainty_of(value) is None:
            number, _, unit = agrad.engine.units.shown(value)
            text = f"{format_rows(number, settings.precision, settings.width)} {unit}".rstrip()
        else:
            text = result.text(settings)
        return text if isinstance(value, str) else folded(f"{text}   {mark}" if mark else text, settings.width)


def kind(value: object) -> str:
    """The kind of a value that requires grad: the operation that made it, or a leaf."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return ""
    return "<leaf>" if value.grad_fn is None else re.sub(r" object at 0x\w+", "", repr(value.grad_fn))


def folded(text: str, width: int | None) -> str:
    """A value with its lines broken between entries, where the terminal would break them anywhere."""
    lines = text.split("\n")
    if width is None or max(map(len, lines)) <= width:
        return text
    found = []
    for line in lines:
        opening = _OPENING.match(line)  # the entries begin behind it
        margin = min(opening.end() if opening else 0, width // 4)
        found += wrap(line.replace(" ± ", glued(" ± ")), width, " " * margin) or [""]
    return "\n".join(found)


# A script as a session shows it: a transcript, with each statement behind a prompt, and its answers below it.

_FIRST, _MORE = "agrad> ", "  ...> "
_COLUMNS = 84  # of a picture


def echo(session: Session, text: str, title: str, printing: bool, picture: str | None, theme: str) -> int:
    """Print the transcript of a text, and write it into an SVG picture; the exit code.

    After an error the session continues, as at the prompt. The code is that of the first error; it is 0 where nothing
    is printed, since the errors belong to the picture. Raises AgradError of kind `file`.
    """
    lines: list[str] = []
    in_colour = coloured(sys.stdout)
    if picture is not None:
        in_colour = find("color", option("color"))[0] != "never"
        session.settings.width, session.settings.wide = _COLUMNS, True
    elif sys.stdout.isatty():
        session.settings.width = shutil.get_terminal_size().columns

    def write(line: str) -> None:
        lines.append(line)
        if printing:
            click.echo(line, color=coloured(sys.stdout))

    code = transcript(session, text, write, in_colour)
    if picture is not None:
        write_text(picture, agrad.cli.output.pictures.svg("\n".join(lines), title, theme))
    return code if printing else 0


def transcript(session: Session, text: str, write: Callable[[str], None], in_colour: bool) -> int:
    """Run the statements of a text, and write each with its answers, in colour with escape codes; the exit code."""
    session.steps.depth = DEPTH  # as at the prompt
    session.record.on, session.shows = True, (True, True)
    code = 0
    with suppress(results.Quit):
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


# What a statement has changed, in one dim line.

# What says itself what it does.
SAYS = pattern(r"\s*(undo|redo|reset|fit|minimize|maximize|solve|backward\b.*\btrace)\b")


class Echo:
    """Prints what each text that is typed has changed, and which graph a bare command is about."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.changes = Changes(session)

    def begin(self, text: str) -> str:
        """A text is about to run: what it runs as. A bare command is about the newest graph, which is said."""
        text, about = with_newest(text, self.session)
        if about:
            say(about)
        self.changes.begin()
        return text

    def end(self, text: str) -> None:
        """A text has run: say what it has changed."""
        if not self.session.settings.echo or text.rstrip().endswith(";") or SAYS.match(text):
            return
        line = self.changes.line(text)
        if line:
            say(line)
            self.session.record.transcript.say(line)


def say(line: str) -> None:
    """Print a line, dim where there is colour."""
    colour = coloured(sys.stdout)
    line = shown(as_shown(line))
    click.echo(click.style(line, dim=True) if colour else line, color=colour or None)
