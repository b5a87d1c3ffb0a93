"""Enter on a statement that is complete but wrong: the cursor goes to the error, and the line can be corrected."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from prompt_toolkit.application import get_app
from prompt_toolkit.document import Document
from prompt_toolkit.validation import ValidationError, Validator

from agrad.cli.repl.narrow import cut
from agrad.engine.errors import AgradError, SyntaxMistake
from agrad.engine.text import display_width
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax.parser import parse

_MOST = 5  # lines below the first
_MARGIN = 5


class SyntaxValidator(Validator):
    """Refuses what cannot be parsed. `prepare` makes a statement from the typed text."""

    def __init__(self, prepare: Callable[[str], str]) -> None:
        self.prepare = prepare

    def validate(self, document: Document) -> None:
        """Raise ValidationError at the place of the error, with its message and fix."""
        try:
            parse(Source("session", self.prepare(document.text)))
        except AgradError as problem:
            if problem.kind != "syntax":  # other errors are reported when the statement runs
                return
            place = problem.labels[-1].origin if problem.labels else None
            fix = f"   fix: {problem.fixes[0]}" if problem.fixes else ""
            start = place.start if isinstance(place, Span) else len(document.text)
            if isinstance(problem.facts, SyntaxMistake) and problem.facts.name == "unterminated string":
                start = len(document.text)  # where the quote is missing
            raise Mistake(start, problem.message, fix, get_app().output.get_size().columns) from None


class Mistake(ValidationError):
    """A syntax error: its message and fix in the line below the text, and in more, `rest`, where that is narrow."""

    def __init__(self, place: int, message: str, fix: str, columns: int) -> None:
        self.rest = ""
        if display_width(message + fix) <= columns:
            message += fix
        else:
            message, *below = textwrap.wrap(message, columns)
            below = textwrap.wrap(" ".join(below), columns, initial_indent=" ", subsequent_indent=" ")
            if below and display_width(f"{below[-1]}{fix}") <= columns:
                below[-1] += fix
            elif fix:
                below += textwrap.wrap(fix, columns, subsequent_indent=" " * _MARGIN, break_on_hyphens=False)
            if len(below) > _MOST:
                below = [*below[: _MOST - 1], cut(f"{below[_MOST - 1]} {below[_MOST].strip()}", columns)]
            self.rest = "\n".join(below)
        super().__init__(place, message)
