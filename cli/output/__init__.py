"""Results as text, JSON, CSV, LaTeX, and as plots of characters.

Here results, errors and notes are printed as text, for people: on stdout or stderr, in colour if the terminal has it.
`structured` prints them for programs; `printer` chooses between the two; `plot_canvas` draws curves. All of cli may
import from here; `structured` and `plot_canvas` are imported when they are needed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import click

import agrad
from agrad.cli.terminal import cell_of_pictures, coloured, drawable, setting, shown
from agrad.engine.errors import AgradError, Note, typed
from agrad.engine.text import fit
from agrad.engine.values import MANY, format_number, format_value
from agrad.grammar.diagnostics import render
from agrad.grammar.results import (
    Answer,
    Checked,
    Complained,
    Graph,
    Noted,
    Plot,
    Printed,
    Result,
    Settings,
    Shown,
    Table,
)
from agrad.lazy import lazy, pattern, rare

__getattr__ = lazy(__name__)

# By the kind of a token, named as in prompt_toolkit: those of the sixteen colours that are legible on both backgrounds.
COLOURS = {
    "number": "ansicyan",
    "string": "ansigreen",
    "command": "bold",
    "keyword": "ansimagenta",
    "comment": "ansibrightblack",
    "error": "ansired",
}
# The coloured parts of an error or a note. No yellow and no blue: each is hard to read on one of the backgrounds.
_HEAD = r"((?:error\[\w+\])|note)(?=:)"
_CARETS = r"(?m)^(  +\| *)(\^.*)"
_REMARK = r"(?m)^  (note|fix)(?=:)"
_HUES = {"error": "red", "note": "cyan", "fix": "green"}
# What is said of the state of a graph or a node, after a blank and before the end of a phrase.
_STATE = pattern(r"(?m)(?<= )((?:held|freed|stale|retained)(?=$|, |  | \(| (?:at|by|since) )|retained(?=: ))")
_STATES = {"held": "green", "freed": "red", "stale": "magenta", "retained": "cyan"}


_FULL = 20  # rows of a drawing that may take nearly all of a terminal
_LEAST = 30, 8  # columns and rows of a picture: in a smaller one its letters leave no room


# How many rows a plot has that was printed, and nothing after it; 0 if there is none. `erasing` is what takes a picture
# away that is not part of these rows. `answer` is the last value, as a prompt has shown it.
DRAWN = SimpleNamespace(rows=0, erasing="", answer="")
# What can be typed instead, as the last error or note has it: a key at the prompt puts it into the line.
FIXES: list[str] = []
# Whether what is typed and printed now has decimal commas: by the setting `decimal`, where the calculator reads.
COMMA = SimpleNamespace(on=False)


def settle_mark(is_python: bool = False) -> None:
    """Take the decimal mark of the settings, as it is now; Python has points."""
    COMMA.on = setting("decimal") == "," and not is_python


def as_read(text: str, is_final: bool = False) -> str:
    """What a person has typed, as it is read: with decimal points. The places in both are the same.

    `is_final`: it is to run. Then AgradError is raised for what could be one number or several.
    """
    if not COMMA.on or agrad.grammar.syntax.typed.last_part(text, False).is_python:
        return text
    try:
        return str(agrad.grammar.syntax.decimal_comma.pointed(text, is_final))
    except AgradError:
        COMMA.on = False  # it is shown as it was typed
        raise


def separated(problem: AgradError, text: str) -> AgradError:
    """An error of what was typed; where a decimal comma may have been meant to separate, with that as a fix."""
    comma = agrad.grammar.syntax.decimal_comma if COMMA.on else None
    if comma and problem.kind in ("arity", "type", "shape") and (fix := comma.separated(text)) != text:
        problem.notes.append("the decimal mark is a comma, and `;` separates in brackets")
        problem.fixes = [*problem.fixes, comma.pointed(fix).strip()]
    return problem


def as_shown(text: str) -> str:
    """A text for a person, with the decimal mark of the settings."""
    return str(agrad.grammar.syntax.decimal_comma.with_comma(text)) if COMMA.on else text


class Printer:
    """Prints results as they are made: answers on stdout, notes on stderr."""

    spare = 4  # rows of the terminal that a plot leaves free

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __call__(self, result: Result) -> None:
        """Print one result."""
        DRAWN.rows = 0
        if isinstance(result, Noted):
            tell(result.note)
        elif isinstance(result, Plot):
            show(result, self.spare, self.settings.plots)
        else:
            text = result.text(self.settings)
            if isinstance(result, Table | Checked) and not isinstance(result, Graph):  # a drawing is not folded
                text = fit(text, self.settings.width)
            text = self.marked(result, text)
            text = text if isinstance(result, Printed) else shown(text)
            click.echo(text, err=isinstance(result, Complained))

    def marked(self, result: Result, text: str) -> str:
        """The text of a result with the decimal mark of the settings; a value that is a text has none."""
        return text if isinstance(getattr(result, "value", None), str) else as_shown(text)

    def text(self, result: Result, settings: Settings) -> str:
        """A result as it is printed, for a transcript."""
        return as_text(result, settings, False)


class JsonPrinter(Printer):
    """Prints each result as one object on its own line; notes stay on stderr, for people."""

    def __call__(self, result: Result) -> None:
        """Print one result."""
        if isinstance(result, Noted):
            super().__call__(result)
        else:
            click.echo(agrad.cli.output.structured.result_line(result, self.settings))


def printer(settings: Settings, form: str) -> Printer:
    """Prints results as `--format` and `--json` have it: as text or as JSON."""
    return JsonPrinter(settings) if form == "json" else Printer(settings)


def show(plot: Plot, spare: int = Printer.spare, pictures: str = "") -> None:
    """Draw curves on stdout: in the size of the terminal, or 72 by 20 characters where there is none.

    They are a picture where the terminal can show it, and `pictures`, or else the user's setting `plots`, allows it.
    """
    plot = _named(plot)
    canvas = agrad.cli.output.plot_canvas
    width, height = canvas.WIDTH, canvas.HEIGHT
    if sys.stdout.isatty():
        columns, rows = rare.shutil.get_terminal_size()
        # Not too tall on a tall terminal: what was typed above is to be seen too.
        width, height = columns - 1, min(rows - spare, columns * 3 // 10, max(rows * 2 // 3, _FULL))
        if _shown_as_picture(plot, width, height, pictures):
            return
    hues = coloured(sys.stdout)
    drawn = canvas.draw(plot, width, height, not drawable(sys.stdout), hues)
    click.echo(as_shown(drawn), color=hues or None)
    DRAWN.rows, DRAWN.erasing = drawn.count("\n") + 1, ""


def _shown_as_picture(plot: Plot, columns: int, rows: int, chosen: str) -> bool:
    """Show curves as a picture, if the terminal can, and there is what draws it."""
    if columns < _LEAST[0] or rows < _LEAST[1] or find_spec("matplotlib") is None:
        return False
    cell = cell_of_pictures(chosen)
    if cell is None:
        return False

    width = min(columns, agrad.cli.output.inline.WIDEST)
    rows = min(rows, width * 3 // 10)
    try:
        made, DRAWN.erasing = agrad.cli.output.inline.picture(plot, width, rows, cell)
    except AgradError as problem:
        if problem.kind != "extra":
            raise
        return False  # a matplotlib that does not load
    sys.stdout.write(made)
    sys.stdout.flush()
    DRAWN.rows = rows
    return True


def _named(plot: Plot) -> Plot:
    """The plot with names that the terminal can show."""
    curves = tuple(curve.replaced(name=shown(curve.name)) for curve in plot.curves)
    below = _named(plot.below) if plot.below is not None else None
    axis, title, label = map(shown, (plot.axis, plot.title, plot.label))
    return plot.replaced(curves=curves, axis=axis, below=below, title=title, label=label)


def tell(problem: AgradError | Note) -> None:
    """Show an error or a note on stderr, if that takes it: the result counts."""
    FIXES[:] = [as_shown(fix) for fix in typed(problem.fixes)] or FIXES
    in_colour = coloured(sys.stderr)
    columns = rare.shutil.get_terminal_size().columns if sys.stderr.isatty() else None
    text = report(problem, columns, in_colour, as_shown)
    if not drawable(sys.stderr):
        text = text.replace(" | …", " | <")  # as wide as what it replaces, so that the carets stay in place
    with suppress(OSError):
        click.echo(text, err=True, color=in_colour or None)


def report(problem: AgradError | Note, columns: int | None, in_colour: bool, marked: Callable[[str], str] = str) -> str:
    """The text of an error or a note, `marked` with a decimal mark, in colour with a terminal's escape codes."""
    text = marked(render(problem, width=columns))
    return _in_colour(text) if in_colour else text


def as_text(result: Result, settings: Settings, in_colour: bool) -> str:
    """The text of any result, where there is one stream for all, in colour with a terminal's escape codes."""
    if isinstance(result, Noted):
        return report(result.note, settings.width, in_colour)
    if not isinstance(result, Plot):
        text = result.text(settings)
        text = text if isinstance(result, Printed) else shown(text)
        return states_in_colour(text) if in_colour and isinstance(result, Table) and result.states else text

    canvas = agrad.cli.output.plot_canvas
    width = canvas.WIDTH if settings.width is None else min(settings.width - 1, canvas.WIDTH)
    return canvas.draw(result, width, canvas.HEIGHT, False, in_colour)


def states_in_colour(text: str) -> str:
    """What is said of graphs, with their states in colour: held, freed, stale, retained."""
    return _STATE.sub(lambda found: click.style(found[1], _STATES[found[1]]), text)


def note(message: str) -> None:
    """Print a note of the command line itself, on stderr."""
    tell(Note(message))


def _in_colour(text: str) -> str:
    """An error or a note with its kind, its carets and its advice in colour."""
    head = re.search(_HEAD, text)
    hue = _HUES["error" if head and head[1].startswith("error") else "note"]
    text = re.sub(_HEAD, lambda found: click.style(found[1], hue, bold=True), text, count=1)
    text = re.sub(_CARETS, lambda found: found[1] + click.style(found[2], hue), text)
    return re.sub(_REMARK, lambda found: "  " + click.style(found[1], _HUES[found[1]]), text)


# The answer of `agrad eval`


def answer(found: Answer, settings: Settings, bare: bool) -> Iterator[str]:
    """The lines of a value and its derivatives, `18` and `d/da = 12`; `bare` gives the numbers alone."""
    yield Shown(found.value).text(settings)
    for name, slope in found.parts():
        text = format_value(slope, settings.precision) + (found.unit(name) if not bare else "")
        yield text if bare else f"{name} = {text}"


# Matrices at a prompt: their rows under each other, their columns aligned on the points, folded between columns.


def format_rows(array: Any, precision: int | None = 10, width: int | None = None) -> str:
    """An array of two axes or more, its rows under each other and its columns aligned on the points.

    A matrix that is wider than `width` is folded between columns, each part below what selects it, such as `[:, 0:8]`.
    An array that `format_value` shows in part, and one without entries, is as it is there.
    """
    if array.ndim < 2 or not array.size or array.size > MANY:
        return format_value(array, precision)
    rows = array.reshape(-1, array.shape[-1])
    columns = [_aligned([format_number(float(entry), precision) for entry in column]) for column in rows.T]
    extents = [max(map(len, column)) + len(", ") for column in columns]
    room = sum(extents) if width is None or array.ndim > 2 else width - 2 * array.ndim
    parts, start = [], 0
    while start < len(columns):
        end = start + 1
        while end < len(columns) and sum(extents[start : end + 1]) <= room:
            end += 1
        head = f"[:, {start}:{end}]\n" if sum(extents) > room else ""
        texts = [", ".join(row).rstrip() for row in _rows_of(columns[start:end])]
        parts.append(head + _nested(texts, array.shape[:-1]))
        start = end
    return "\n".join(parts)


def _aligned(texts: list[str]) -> list[str]:
    """Numbers padded so that their points, or their ends where they have none, are below each other."""
    before = [min(text.find(sign) if sign in text else len(text) for sign in (".", "e")) for text in texts]
    return [" " * (max(before) - size) + text for size, text in zip(before, texts, strict=True)]


def _rows_of(columns: list[list[str]]) -> Iterator[list[str]]:
    """The rows of a table, each entry behind the blanks that the one before it lacks."""
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        gaps = [0, *(width - len(text) for width, text in zip(widths, row, strict=True))]
        yield [" " * gap + text for gap, text in zip(gaps, row, strict=False)]


def _nested(rows: list[str], shape: tuple[int, ...], depth: int = 1) -> str:
    """Rows in the brackets of an array whose axes but the last have this shape."""
    if len(shape) == 1:
        return "[" + f",\n{' ' * depth}".join(f"[{row}]" for row in rows) + "]"
    step = len(rows) // shape[0]
    parts = [_nested(rows[at : at + step], shape[1:], depth + 1) for at in range(0, len(rows), step)]
    return "[" + f",\n{' ' * depth}".join(parts) + "]"
