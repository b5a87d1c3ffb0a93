"""Enter on a statement that is complete but wrong: the cursor goes to the error, and the line can be corrected."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.validation import ValidationError, Validator

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax.parser import parse


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
            raise ValidationError(start, problem.message + fix) from None
