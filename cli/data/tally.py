"""What is told of rows once they are computed: how many have no results, or the value nan, and the first of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agrad.cli.output.text import note, tell
from agrad.engine.errors import AgradError, Note
from agrad.grammar.session.rowwise import hopeless


@dataclass(slots=True)
class Tally:
    """The numbers of a run, or of a part of it."""

    rows: int = 0
    written: int = 0
    failed: int = 0  # rows without results
    first: AgradError | None = None  # why the first of those has none
    undefined: int = 0  # rows whose value is nan, though none of their numbers is
    first_undefined: Note | None = None
    slow: str = ""  # why there is no machine code, if it was requested
    formulas: list[tuple[int, int, AgradError | None]] = field(default_factory=list)
    # of each formula the rows with a value, those without, and why the first of these has none
    missing: int = 0  # entries that were read as nan, since --na says that they stand for missing numbers

    def add(self, other: Tally) -> None:
        """Add what is told of the rows that follow."""
        self.rows += other.rows
        self.written += other.written
        self.failed += other.failed
        self.undefined += other.undefined
        self.missing += other.missing
        self.first = self.first or other.first
        self.first_undefined = self.first_undefined or other.first_undefined
        self.slow = self.slow or other.slow
        none = [(0, 0, None)] * len(other.formulas)
        pairs = zip(self.formulas or none, other.formulas, strict=True)
        self.formulas = [(a + c, b + d, first or other) for (a, b, first), (c, d, other) in pairs]

    def require_some(self) -> None:
        """Raise the error of a formula that has no value in any of many rows."""
        for done, failed, first in self.formulas:
            if first is not None and hopeless(done, failed):
                raise first

    def tell(self) -> None:
        """Report how many rows have no results, and whether machine code was requested but not available."""
        if self.slow:
            note(f"computed without machine code: {self.slow}")
        if self.missing:
            note(
                f"{self.missing} {'entry is' if self.missing == 1 else 'entries are'} missing, and nan in the formulas"
            )
        if self.first_undefined is not None:
            rows = f"{self.undefined} of {self.rows} rows {'has' if self.undefined == 1 else 'have'} the value nan"
            message = f"{rows}, although none of their numbers is nan; the first:"
            tell(Note(message, self.first_undefined.labels, notes=self.first_undefined.notes))
        if self.failed and self.first is not None:
            rows = f"{self.failed} of {self.rows} rows {'has' if self.failed == 1 else 'have'} no results"
            tell(Note(f"{rows}; the first: {self.first.message}", self.first.labels, notes=self.first.notes))

    def fields(self) -> dict[str, Any]:
        """What is written down, as JSON values; of an error its message and its notes."""
        return {
            "rows": self.rows,
            "written": self.written,
            "failed": self.failed,
            "first": _written(self.first),
            "undefined": self.undefined,
            "first_undefined": _written(self.first_undefined),
            "slow": self.slow,
            "missing": self.missing,
            "formulas": [[done, failed, _written(first)] for done, failed, first in self.formulas],
        }


def read(fields: Mapping[str, Any]) -> Tally:
    """A tally that was written down."""
    first, undefined = fields["first"], fields["first_undefined"]
    return Tally(
        fields["rows"],
        fields["written"],
        fields["failed"],
        _error(first),
        fields["undefined"],
        Note(undefined[0], notes=undefined[1]) if undefined is not None else None,
        fields["slow"],
        [(done, failed, _error(one)) for done, failed, one in fields["formulas"]],
        fields["missing"],
    )


def _written(problem: AgradError | Note | None) -> tuple[str, Sequence[str]] | None:
    return (problem.message, list(problem.notes)) if problem is not None else None


def _error(written: Sequence[Any] | None) -> AgradError | None:
    return AgradError("domain", written[0], notes=written[1], row=True) if written is not None else None
