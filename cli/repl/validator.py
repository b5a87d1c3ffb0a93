"""Enter on a statement that is complete but wrong: the cursor goes to the error, and the line can be corrected."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.validation import ValidationError, Validator

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax.parser import parse


class SyntaxValidator(Validator):
    """Refuses what cannot be parsed. `prepare` makes a statement from the typed text.

    `passes` says of a text and its error whether it is run all the same, so that somebody can answer to it.
    """

    def __init__(self, prepare: Callable[[str], str], passes: Callable[[str, AgradError], bool] | None = None) -> None:
        self.prepare = prepare
        self.passes = passes

    def validate(self, document: Document) -> None:
        """Raise ValidationError at the place of the error, with its message and fix."""
        try:
            parse(Source("session", self.prepare(document.text)))
        except AgradError as problem:
            if problem.kind != "syntax":  # other errors are reported when the statement runs
                return
            if self.passes is not None and self.passes(document.text, problem):
                return
            place = problem.labels[-1].origin if problem.labels else None
            fix = f"   fix: {problem.fixes[0]}" if problem.fixes else ""
            start = place.start if isinstance(place, Span) else len(document.text)
            raise ValidationError(start, problem.message + fix) from None
