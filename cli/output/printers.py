"""The printer of a form: `--format` and `--json` choose it."""

from __future__ import annotations

from agrad.cli.output.text import Printer
from agrad.grammar.results import Settings


def printer(settings: Settings, form: str) -> Printer:
    """Prints results as text or as JSON."""
    if form != "json":
        return Printer(settings)
    from agrad.cli.output.structured import JsonPrinter  # here, since most output is for people

    return JsonPrinter(settings)
