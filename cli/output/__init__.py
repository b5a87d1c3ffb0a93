"""Results as text, JSON, CSV, LaTeX, and as plots of characters.

`text` prints results, errors and notes for people; `structured` prints them for programs; `printer` chooses between
the two; `plot_canvas` draws curves. All of cli may import from here; `structured` and `plot_canvas` are imported when
they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import agrad
from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.cli.output.text import Printer
    from agrad.grammar.results import Settings

__getattr__ = lazy(__name__)


def printer(settings: Settings, form: str) -> Printer:
    """Prints results as `--format` and `--json` have it: as text or as JSON."""
    if form == "json":
        return agrad.cli.output.structured.JsonPrinter(settings)
    return agrad.cli.output.text.Printer(settings)
