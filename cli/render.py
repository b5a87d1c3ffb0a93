"""Results as text or JSON, each on its stream. What knows of colour is here and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import click

from agrad.engine.errors import AgradError, Note
from agrad.engine.values import Value, format_value
from agrad.grammar.diagnostics import render
from agrad.grammar.results import Noted, Result, Settings, Shown

COLOURS = {  # by the kind of a token, in prompt_toolkit's words; a terminal's own sixteen fit its background
    "number": "ansicyan",
    "string": "ansigreen",
    "command": "ansiblue",
    "keyword": "ansimagenta",
    "comment": "ansibrightblack",
    "error": "ansired",
}


class Printer:
    """Prints results as they happen: answers on stdout, notes on stderr."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __call__(self, result: Result) -> None:
        """Print one result."""
        if isinstance(result, Noted):
            click.echo(render(result.note), err=True)
        else:
            click.echo(result.text(self.settings))


def note(message: str) -> None:
    """Print a remark of the command line's own, on stderr."""
    click.echo(render(Note(message)), err=True)


def answer(value: object, gradient: dict[str, Value], settings: Settings, bare: bool) -> Iterator[str]:
    """The lines of a value and its gradient, `18` and `d/da = 12`; `bare` gives the numbers alone."""
    yield Shown(value).text(settings)
    for name, slope in gradient.items():
        text = format_value(slope, settings.precision)
        yield text if bare else f"d/d{name} = {text}"


def answer_json(value: object, gradient: dict[str, Value] | None) -> str:
    """The same as one JSON object.

    JSON has no nan and no inf: null stands there, and the field `nonfinite` says which it was, by its path.
    """
    import json  # here, since only --json needs it

    nonfinite: dict[str, str] = {}
    fields: dict[str, object] = {"schema": 1, "value": _plain(value, "value", nonfinite)}
    if gradient is not None:
        fields["grad"] = {name: _plain(slope, f"grad.{name}", nonfinite) for name, slope in gradient.items()}
    if nonfinite:
        fields["nonfinite"] = nonfinite
    return json.dumps(fields, allow_nan=False)


def _plain(value: Any, path: str, nonfinite: dict[str, str]) -> object:
    """A float, or lists of them; what JSON cannot say is entered into `nonfinite` under its path."""
    if isinstance(value, (list, tuple)):
        return [_plain(entry, f"{path}[{position}]", nonfinite) for position, entry in enumerate(value)]
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), path, nonfinite)
    if not isinstance(value, (float, int)):
        raise AgradError("type", "only numbers and arrays can be written as JSON")
    if math.isfinite(value):
        return value
    nonfinite[path] = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return None
