"""The one error type, and the note that goes with a result that is not one.

The engine knows nothing of the language above it. What the language knows of a place (a line, its text) travels
through the engine as an `Origin`, and comes back in the labels of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal, Protocol

from agrad.engine.struct import Struct

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
    "extra",
    "assert",
    "internal",
]


class Origin(Protocol):
    """A place in someone's program: what it says there, and how to speak of it in a sentence."""

    @property
    def text(self) -> str:
        """The source text, on one line."""

    @property
    def where(self) -> str:
        """The place in words, such as `line 5`."""


class Hint(str):
    """A fix in words. One that is a plain string can be typed as it stands, up to a comment behind three spaces."""

    __slots__ = ()


def typed(fixes: Iterable[str]) -> list[str]:
    """What is to be typed, of those fixes that are text to type, without their comments."""
    return [fix.partition("   ")[0] for fix in fixes if not isinstance(fix, Hint)]


class Label(Struct):
    """A remark on a place. Without an origin (made from Python) the text must stand by itself."""

    origin: Origin | None
    text: str = ""


class Note(Struct):
    """Something worth saying about a result that stands."""

    message: str
    labels: Sequence[Label] = ()
    fixes: Sequence[str] = ()
    notes: Sequence[str] = ()


class Facts(Struct):
    """What an error is about, in typed fields, from which callers make fixes. Each case is a class of its own."""

    portable: ClassVar[bool] = True  # whether the fields make sense in another process: nodes do not


class UnknownName(Facts):
    """A name without a value; `close`: whether the error says what may have been meant."""

    name: str
    close: bool = False


class NotCalled(Facts):
    """A function in the place of a number."""

    name: str


class WrongAttribute(Facts):
    """A `.name` that a value has not; `instead`: what may stand in its place, brackets included."""

    name: str
    instead: tuple[str, ...]


class NotOneNumber(Facts):
    """Several numbers, or none, where a derivative is that of one number."""


class TimeLimit(Facts):
    """The time that was allowed is up."""


class SyntaxMistake(Facts):
    """A text that cannot be read; `name`: which of the mistakes that the parser knows."""

    name: str


class MissingFile(Facts):
    """A file that does not exist."""

    path: str


class BadEntry(Facts):
    """An entry of a file that is no number; `copied`: whether it would be written into another file."""

    line: int
    column: int | None
    copied: bool = False


class UnknownColumn(Facts):
    """A column that a table has not; `columns`: those that it has, `nameless` if they are only numbered."""

    name: str
    columns: tuple[str, ...]
    nameless: bool


class NamedColumns(Facts):
    """Names given to columns that have some."""


class AgradError(RuntimeError):
    """What went wrong, where, and what to type next.

    `kind` sorts errors for `fails KIND:` and for programs; `fixes` can be typed as they stand, but for those of type
    `Hint`; `facts` say in typed fields what the error is about. `at` and `statement` are the places that were running,
    if the language knows them; `unfinished`: whether the text may go on, so that this is no error yet; `row`: whether
    it is that of one data row.

    An error can be pickled. Facts about nodes stay behind, since graphs are not sent to other processes.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        labels: Sequence[Label] = (),
        notes: Sequence[str] = (),
        fixes: Sequence[str] = (),
        facts: Facts | None = None,
        row: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message
        self.labels = list(labels)
        self.notes = list(notes)
        self.fixes = list(fixes)
        self.facts = facts
        self.at: Origin | None = None
        self.statement: Origin | None = None
        self.unfinished = False
        self.row = row

    def __reduce__(self) -> tuple[Callable[..., AgradError], tuple[Any, ...]]:
        """What pickle needs. An origin that it refuses is replaced by its text and its place."""
        state = {
            **self.__dict__,
            "labels": [Label(_portable(label.origin), label.text) for label in self.labels],
            "facts": self.facts if self.facts is not None and self.facts.portable else None,
            "at": _portable(self.at),
            "statement": _portable(self.statement),
        }
        return _restored, (type(self), state)

    def __str__(self) -> str:
        """The message, its labels, notes and fixes on lines of their own, for a Python traceback."""
        lines = [self.message]
        for label in self.labels:
            place = f"{label.origin.where}, {label.origin.text}: " if label.origin else ""
            lines.append(f"  {place}{label.text}")
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  fix: {fix}" for fix in self.fixes]
        return "\n".join(lines)


class Place(Struct):
    """An origin that is nothing but its texts."""

    text: str
    where: str


def _portable(origin: Origin | None) -> Origin | None:
    """An origin as it can be sent to another process."""
    import pickle  # here, since few errors are sent anywhere

    try:
        pickle.dumps(origin)
    except Exception:  # pickle raises what the object's own methods raise
        return None if origin is None else Place(origin.text, origin.where)
    return origin


def _restored(kind: type[AgradError], state: dict[str, Any]) -> AgradError:
    """An error as it was when it was pickled."""
    error = kind.__new__(kind, state["message"])
    error.__dict__.update(state)
    return error
