"""Results in a notebook: each as text and, where there is more to show, as HTML or a picture beside it; and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agrad.cli.base import advised
from agrad.cli.output.text import as_text, report
from agrad.engine.errors import AgradError
from agrad.engine.interop.notebook import framed, html_of, optional, table
from agrad.engine.values import format_number
from agrad.grammar.results import Checked, Estimated, Graph, Noted, Plot, Result, Settings, Shown

Bundle = dict[str, str]

_SIZE = (6.5, 4.0)  # of a plot, in inches
_CHECK = ("entry", "exact", "difference", "verdict")


def bundle(result: Result, settings: Settings) -> Bundle:
    """What to show of a result, by MIME type."""
    shown = {"text/plain": as_text(result, settings, False)}
    if isinstance(result, Plot):
        return shown | _picture(lambda: _plotted(result))
    if isinstance(result, Graph):
        return _graph(result, shown)
    rows = _rows(result, settings)
    if isinstance(result, Shown):
        html = html_of(result.value, settings.precision)
    else:
        html = table(rows[1:], rows[0]) if rows else ""
    return shown | ({"text/html": html} if html else {})


def _graph(result: Graph, shown: Bundle) -> Bundle:
    """A graph as it was asked for; where no form was given, the picture beside the text."""
    if result.form == "svg":
        return {"text/plain": "a graph", "image/svg+xml": result.lines}
    if result.form == "page":
        return {"text/plain": "a graph", "text/html": framed(result.lines)}
    if result.form == "mermaid":
        return shown | {"text/vnd.mermaid": result.lines}
    draw = result.picture
    return shown if draw is None or result.form != "text" else shown | _picture(lambda: str(draw("svg")))


def _picture(draw: Callable[[], str]) -> Bundle:
    """A picture, where the extra that draws it is installed."""
    made = optional(draw)
    return {} if made is None else {"image/svg+xml": made}


def _plotted(plot: Plot) -> str:
    from agrad.grammar.commands.plot.files import drawn  # here, since few cells plot

    return drawn(plot, ".svg", _SIZE).decode()


def _rows(result: Result, settings: Settings) -> list[Sequence[str]]:
    """The table that a result is, with the heads of its columns; empty for others."""
    if isinstance(result, Checked):
        return [_CHECK, *_texts(([getattr(row, name) for name in _CHECK] for row in result.report.findings), settings)]
    if isinstance(result, Estimated) and result.form == "text":
        return _texts(result.found.rows(), settings)
    return []


def _texts(rows: Iterable[Sequence[Any]], settings: Settings) -> list[Sequence[str]]:
    """The entries of rows as text; none for what is missing."""
    return [["" if entry is None else _entry(entry, settings) for entry in row] for row in rows]


def _entry(entry: Any, settings: Settings) -> str:
    return format_number(entry, settings.precision) if isinstance(entry, int | float) else str(entry)


def is_text(result: Result, made: Bundle) -> bool:
    """Whether a result is a line that was printed, and no value."""
    return not isinstance(result, Shown) and made.keys() == {"text/plain"}


def lines_of(problem: AgradError, width: int | None = None) -> list[str]:
    """An error in colour, with the carets below the lines of the cell."""
    return report(advised(problem), width, True).split("\n")


def told(result: Noted, settings: Settings) -> str:
    """A note, in colour."""
    return as_text(result, settings, True)
