"""The error type, and the note, which is a remark on a result.

The engine does not depend on the language above it. The language passes a place (a line, its text) to the engine as
an `Origin`, and finds it in the labels of an error. A `Span` of a `Source` is one: of typed text, of a
script, of a data file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol

from agrad.engine.struct import Struct

Kind = Literal[
    "syntax",
    "name",
    "arity",
    "type",
    "shape",
    "unit",
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
    """A place in a program: its text, and a phrase for it."""

    @property
    def text(self) -> str:
        """The source text, on one line."""

    @property
    def where(self) -> str:
        """The place in words, such as `line 5`."""


class Hint(str):
    """A fix in words. One that is a plain string can be typed as it is, up to a comment after three spaces."""

    __slots__ = ()


def typed(fixes: Iterable[str]) -> list[str]:
    """The texts to type, of those fixes that can be typed, without their comments."""
    return [fix.partition("   ")[0] for fix in fixes if not isinstance(fix, Hint)]


class Label(Struct):
    """A remark on a place. Without an origin (made from Python) the text must be clear by itself."""

    origin: Origin | None
    text: str = ""


class Note(Struct):
    """A remark on a result, which is kept.

    `follows`: whether one that was told before in its statement tells the cause; `of_numbers`: whether
    it is about what numbers are, so that the iteration of a loop says more; `is_of_value`: about a value
    that a backward met.
    """

    message: str
    labels: Sequence[Label] = ()
    fixes: Sequence[str] = ()
    notes: Sequence[str] = ()
    follows: bool = False
    of_numbers: bool = False
    is_of_value: bool = False


class Facts(Struct):
    """The facts of an error, in typed fields, from which callers make fixes. Each case has its own class."""

    portable: ClassVar[bool] = True  # whether the fields can be used in another process: nodes cannot


class UnknownName(Facts):
    """A name without a value; `close`: whether the error suggests another name."""

    name: str
    close: bool = False


class NotCalled(Facts):
    """A function where a number is needed."""

    name: str


class OneTooMany(Facts):
    """A call with one argument more than the function takes."""


class NoGraph(Facts):
    """A name whose value is no tensor, where one with a graph is needed."""

    name: str


class WrongAttribute(Facts):
    """A `.name` that a value does not have; `instead`: possible replacements, brackets included."""

    name: str
    instead: tuple[str, ...]


class Instead(Facts):
    """What may stand in the place of a text: of the last `old` in what the error is about."""

    old: str
    new: tuple[str, ...]


class NotOneNumber(Facts):
    """Several numbers, or none, where the derivative of one number is needed."""


class NoneGiven(Facts):
    """None, where a number is needed."""


class NoMatrix(Facts):
    """A value with fewer than two axes, where a matrix is needed."""


class TimeLimit(Facts):
    """The time limit was exceeded."""


class SyntaxMistake(Facts):
    """A text that cannot be parsed; `name`: the key of its message in the parser's table."""

    name: str


class MissingFile(Facts):
    """A file that does not exist."""

    path: str


class BadEntry(Facts):
    """An entry of a file that is not a number.

    `line`, `column`: its place in a file of text. `copied`: whether it would be written into another file. `decimal`:
    the decimal mark with which it is a number. `missing`: the entry, if it may stand for a missing number. `damaged`:
    whether it is not UTF-8 text.
    """

    line: int | None
    column: int | None
    copied: bool = False
    decimal: str = ""
    missing: str | None = None
    damaged: bool = False


class OtherForm(Facts):
    """A file of text that may be divided in two ways: the option that says which, and its values."""

    option: str
    values: tuple[str | int, ...]


class UnknownColumn(Facts):
    """A column that a table does not have; `columns`: those that it has, `nameless` if they are only numbered."""

    name: str
    columns: tuple[str, ...]
    nameless: bool


class NamedColumns(Facts):
    """Names given to columns that already have names."""


class AgradError(RuntimeError):
    """What went wrong, where, and what to type next.

    `kind` sorts errors for `fails KIND:` and for programs; `fixes` can be typed as they are, except those of type
    `Hint`; `facts` are its facts in typed fields. `at` and `statement` are the places that were running,
    if the language knows them; `unfinished`: whether the text may continue, so that this is not an error yet; `row`:
    whether it is the error of one data row.

    An error can be pickled. Facts about nodes are left out, since graphs are not sent to other processes.
    """

    def __init_subclass__(cls) -> None:
        """Let an error that is also one of Python's own have the name of that."""
        cls.__name__ = next((one.__name__ for one in cls.__bases__ if one.__module__ == "builtins"), cls.__name__)

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
        """What pickle needs. An origin that cannot be pickled is replaced by its text and its place."""
        state = {
            **self.__dict__,
            "labels": [Label(_portable(label.origin), label.text) for label in self.labels],
            "facts": self.facts if self.facts is not None and self.facts.portable else None,
            "at": _portable(self.at),
            "statement": _portable(self.statement),
        }
        return _restored, (type(self), state)

    def __str__(self) -> str:
        """The message, its labels, notes and fixes on separate lines, for a Python traceback."""
        lines = [self.message]
        for label in self.labels:
            place = f"{label.origin.where}, {label.origin.text}: " if label.origin else ""
            lines.append(f"  {place}{label.text}")
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  fix: {fix}" for fix in self.fixes]
        return "\n".join(lines)


class PlaceError(IndexError, AgradError):
    """An IndexError of Python's: a place that is not there."""

    __init__ = AgradError.__init__


class Place(Struct):
    """An origin that consists of its texts alone."""

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


@lru_cache(maxsize=16)
def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer(r"\r\n?|\n", text))]


class Source(Struct):
    """A text, and its name: `session`, `cell`, `expression`, or the path of a file.

    `is_entry`: whether it was typed at a prompt that counts what was entered, so that all its lines have one number;
    `is_python`: whether it is read as Python, though it is no file whose name says so.
    """

    name: str
    text: str
    first_line: int = 1
    is_file: bool = False
    is_entry: bool = False
    is_python: bool = False

    @property
    def is_cell(self) -> bool:
        """Whether it is a cell of a notebook; `first_line` is its number."""
        return self.name == "cell" and not self.is_file

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1 (the line from `first_line`)."""
        starts = _line_starts(self.text)
        index = bisect_right(starts, offset) - 1
        return self.first_line + (0 if self.is_entry else index), offset - starts[index] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and a column, as `position` counts them; at most the end of the line, or of the text."""
        starts = [*_line_starts(self.text), len(self.text) + 1]
        index = line - self.first_line
        return min(starts[index] + column - 1, starts[index + 1] - 1) if index + 1 < len(starts) else len(self.text)

    def line_at(self, offset: int) -> str:
        """The text of the line of an offset, without its line break."""
        return self._line(bisect_right(_line_starts(self.text), offset) - 1)

    def line(self, number: int) -> str:
        """The text of one line, without its line break; all of what was entered at once."""
        return self.text if self.is_entry else self._line(number - self.first_line)

    def _line(self, index: int) -> str:
        starts = [*_line_starts(self.text), len(self.text)]
        return self.text[starts[index] : starts[index + 1]].rstrip("\r\n")


class Span(Struct):
    """The part of a source from `start` up to `end`; an `Origin`, that an error can point at."""

    source: Source
    start: int
    end: int

    def __init__(self, source: Source, start: int, end: int) -> None:
        """Three assignments, since a text has as many spans as signs."""
        self.source = source  # type: ignore[misc]  # to the type checker a span is immutable
        self.start = start  # type: ignore[misc]
        self.end = end  # type: ignore[misc]

    @property
    def text(self) -> str:
        """Its text, folded to one line."""
        return " ".join(self.source.text[self.start : self.end].split())

    @property
    def where(self) -> str:
        """The place in words, such as `line 5`; in a notebook, `cell 5, line 2`."""
        source, number = self.source, self.source.position(self.start)[0]
        if not source.is_cell:
            return f"line {number}"
        line = f", line {source.text.count(chr(10), 0, self.start) + 1}" if "\n" in source.text else ""
        return f"cell {number}{line}"
