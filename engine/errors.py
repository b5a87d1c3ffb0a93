"""The one error type, and the note that goes with a result that is not one.

The engine knows nothing of the language above it. What the language knows of a place (a line, its text) travels
through the engine as an `Origin`, and comes back in the labels of an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal[
    "syntax",
    "name",
    "arity",
    "type",
    "shape",
    "domain",
    "freed",
    "stale",
    "leaf",
    "grad",
    "guard",
    "limit",
    "file",
    "assert",
]


class Origin(Protocol):
    """A place in someone's program: what it says there, and how to speak of it in a sentence."""

    @property
    def text(self) -> str:
        """The source text, on one line."""

    @property
    def where(self) -> str:
        """The place in words, such as `line 5`."""


@dataclass(frozen=True, slots=True)
class Label:
    """A remark on a place. Without an origin (made from Python) the text must stand by itself."""

    origin: Origin | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth saying about a result that stands."""

    message: str
    labels: Sequence[Label] = ()
    fixes: Sequence[str] = ()
    notes: Sequence[str] = ()


class AgradError(RuntimeError):
    """What went wrong, where, and what to type next.

    `kind` sorts errors for `fails KIND:` and for programs; `fixes` can be typed as they stand; `facts` are what the
    floor above needs to say it in its own words (the nodes and names concerned), never shown by themselves.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        labels: Sequence[Label] = (),
        notes: Sequence[str] = (),
        fixes: Sequence[str] = (),
        **facts: object,
    ) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message
        self.labels = list(labels)
        self.notes = list(notes)
        self.fixes = list(fixes)
        self.facts = facts

    def __str__(self) -> str:
        """The message, its labels, notes and fixes on lines of their own, for a Python traceback."""
        lines = [self.message]
        for label in self.labels:
            place = f"{label.origin.where}, {label.origin.text}: " if label.origin else ""
            lines.append(f"  {place}{label.text}")
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  fix: {fix}" for fix in self.fixes]
        return "\n".join(lines)
