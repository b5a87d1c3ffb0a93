"""Tables in files, read piece by piece so that a file may be larger than memory: what all kinds have in common."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from agrad.engine import units
from agrad.engine.errors import AgradError, Hint, Label, MissingFile, NamedColumns, Origin, OtherForm, UnknownColumn
from agrad.engine.extras import extra
from agrad.engine.text import as_name
from agrad.engine.values import np

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Column: TypeAlias = "Any"  # Numbers; for a column that is only copied also a list of texts, or a pyarrow array
BYTES = 2**21  # of the file, in a piece
ROWS = 2**16  # at most, in a piece of a file that is not text
NOTHING = "the entry is empty"  # what is wrong with an empty entry
FILL_IN = "write nan where a number is missing"
MISSING = frozenset("NA N/A n/a #N/A NULL Null null None none - -- NaT missing".split())  # which others write so


@dataclass(slots=True)
class Piece:
    """Some rows: the columns, which rows could not be read (None: all could), and how much of the file is read."""

    columns: dict[str, Column]
    rows: int
    done: int
    place: Callable[[int], dict[str, Any]]  # the labels and notes of an error in a row
    bad: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
    problem: AgradError | None = None  # of the first row that could not be read
    missing: int = 0  # entries that were read as nan, since they stand for missing numbers

    def refuse(self, problem: AgradError, rows: Any, tolerant: bool) -> None:
        """Mark rows, by their places or a mask, as those that could not be read; raises the problem if not tolerant."""
        if not tolerant:
            raise problem
        self.problem = self.problem or problem
        self.bad = np.zeros(self.rows, dtype=np.bool_) if self.bad is None else self.bad
        self.bad[rows] = True


@dataclass(slots=True)
class Wanted:
    """The request: columns of numbers, columns that are copied, and whether those may be text.

    `tolerant`: a row that cannot be read is marked in its piece instead of raising an error.
    """

    numbers: Sequence[str]
    copied: Sequence[str] = ()
    texts: bool = False
    tolerant: bool = False
    _computed: frozenset[str] = field(init=False)

    @property
    def names(self) -> list[str]:
        """All columns, each once."""
        return list(dict.fromkeys((*self.numbers, *self.copied)))

    def is_text(self, name: str) -> bool:
        """Whether a column is copied unchanged."""
        return self.texts and name not in self._computed

    def __post_init__(self) -> None:
        self._computed = frozenset(self.numbers)


class Table:
    """A file with columns. `parts` reads, one part after the other; `piece` may be called in any thread."""

    names: list[str]
    size = 0  # bytes; 0 if unknown
    total: int | None = None  # in the unit of `Piece.done`; None if unknown
    nameless = False  # whether the file names no columns
    aliases: dict[str, str]  # other names for columns, in expressions
    typed = False  # whether what is copied has a type that Parquet can keep
    groups: tuple[int, int] | None = None  # of its row groups those that are read: from, up to; None for all
    unsure = False  # whether the first row has numbers and texts, and so may have the names, or be data

    def __init__(self, path: str) -> None:
        self.path = path
        with suppress(OSError, ValueError):  # a path without a file is refused when it is read
            self.size = os.path.getsize(path)
        self.names = []
        self.aliases = {}

    def known(self) -> set[str]:
        """The names of columns as the language spells them, and their other names."""
        return {*map(as_name, self.names), *self.aliases}

    def quoted(self) -> list[str]:
        """The names of columns that are no names in the language, and stand in quotes there."""
        return [name for name in self.names if not as_name(name).isidentifier()]

    def alias(self, name: str, column: str) -> None:
        """Let expressions call a column, given by its name or its number from 0, by another name. Raises AgradError."""
        found = self.named(column)
        self.require(found)
        if name in self.names and name != found:
            raise AgradError("name", f"{self.path} already has a column {name}: give {column} another name")
        self.aliases[name] = found

    def measured(self) -> None:
        """Let expressions call columns such as `speed (m/s)` by the names before their units."""
        names = [units.unit.name_of(name) for name in self.names]
        self.aliases |= {
            name: header
            for name, header in zip(names, self.names, strict=True)
            if names.count(name) == 1 and name not in self.aliases
        }

    def spelled(self, name: str) -> str:
        """The column that a name of the language refers to: the one of that name, or else the only one like it."""
        if name in self.aliases:
            return self.aliases[name]
        if name not in self.names:
            alike = [known for known in self.names if as_name(known) == as_name(name)]
            return alike[0] if len(alike) == 1 else name
        return name

    def named(self, column: str) -> str:
        """The name of a column given by its name, or by its number from 0. Raises AgradError: see `require_sure`."""
        is_place = column.isdecimal() and int(column) < len(self.names)
        if is_place:
            self.require_sure()
        name = self.spelled(column)
        return self.names[int(column)] if is_place and name not in self.names else name

    def require_sure(self) -> None:
        """Refuse a first row that may have the names or be data. Raises AgradError of kind `file`."""
        if self.unsure:
            message = (
                f"the first row of {self.path} has numbers and texts: it may have the names of the columns, or be data"
            )
            raise AgradError("file", message, facts=OtherForm("header", (1, 0)))

    def require(self, name: str, place: Origin | None = None) -> None:
        """Refuse a name that no column has, or two have; `place` is the place of the name.

        Raises AgradError of kind `name`, with the facts UnknownColumn where no column has it.
        """
        if self.names.count(name) == 1:
            return
        labels = [Label(place)] if place is not None else []
        if name in self.names:
            raise AgradError("name", f"{self.path} has {self.names.count(name)} columns {name}", labels=labels)
        message = f"{self.path} has no column {name}"
        facts = UnknownColumn(name, tuple(self.names), self.nameless)
        raise AgradError("name", message, labels=labels, notes=[self.listing()], facts=facts)

    def require_each(self, names: Sequence[str]) -> None:
        """The same for many names, in one pass over the columns. Raises AgradError of kind `name`."""
        counts = Counter(self.names)
        for name in names:
            if counts[name] != 1:
                self.require(name)

    def listing(self) -> str:
        """The columns in words."""
        shown = ", ".join(self.names) if len(self.names) <= 20 else f"{', '.join(self.names[:20])}, …"
        return f"its columns are {shown}" if self.names else "it has no columns"

    def row_groups(self) -> list[tuple[int, int]]:
        """The rows and the bytes of each of its row groups; none where it is not divided into such groups."""
        return []

    def parts(self, wanted: Wanted) -> Iterator[Any]:
        """The parts for `piece`, in the order of the file. Raises AgradError of kind `file`."""
        raise NotImplementedError

    def piece(self, part: Any, wanted: Wanted) -> Piece:
        """The rows in a part. Raises AgradError of kind `file`."""
        raise NotImplementedError

    def matrix(self, part: Any, wanted: Wanted) -> Any:
        """Columns of numbers in a part, side by side. Raises AgradError of kind `file`."""
        piece = self.piece(part, wanted)
        return np.ascontiguousarray(np.array([piece.columns[name] for name in wanted.numbers]).T)

    def texts(self) -> set[str]:
        """The columns that hold texts, as far as the beginning of the file tells."""
        return set()

    def as_texts(self, name: str, column: Column) -> list[str | None]:
        """A column of texts in a piece as a list. Raises AgradError of kind `file` if it has no form as text."""
        if isinstance(column, list):
            return column
        try:
            found: list[str | None] = as_text(name, column, "a table").to_pylist()
        except AgradError as problem:
            problem.fixes = [Hint("columns=… chooses those to read")]
            raise
        return found

    def close(self) -> None:
        """Release the file: nothing more will be read."""

    def at_row(self, number: int) -> dict[str, Any]:
        """The phrase for a row in an error, counted from 1."""
        return {"notes": [f"in row {number} of {self.path}"]}


def column_names(path: str, count: int, given: Sequence[str]) -> list[str]:
    """The names of columns that have none in the file: those given, or c0, c1, … Raises AgradError."""
    if given and len(given) != count:
        columns = "1 column" if count == 1 else f"{count} columns"
        raise AgradError("file", f"{path} has {columns}, and {len(given)} names are given: {', '.join(given)}")
    return list(given) or [f"c{place}" for place in range(count)]


def names_given(path: str) -> AgradError:
    """The error for names that are given to columns which have names."""
    return AgradError("file", f"{path} already has names for its columns", facts=NamedColumns())


def unreadable(path: str, problem: OSError | ValueError) -> AgradError:
    """The error for a file that cannot be opened."""
    if isinstance(problem, FileNotFoundError):
        return AgradError("file", f"there is no file {path}", facts=MissingFile(path))
    if not isinstance(problem, OSError):
        return AgradError("file", f"cannot read {path}: that is not the name of a file")
    reason = "it is a folder" if isinstance(problem, IsADirectoryError) else problem.strerror
    return AgradError("file", f"cannot read {path}: {reason}")


# Whole columns


class Aggregates:
    """Numbers about a whole column that is read piece by piece: its sum, mean, variance, least and greatest, so far.

    Pieces are merged as Chan, Golub and LeVeque do ("Algorithms for computing the sample variance", 1983): the variance
    of a large mean keeps its digits. As for arrays, an entry that is nan makes all of them nan, and the variance
    divides by n.
    """

    def __init__(self) -> None:
        self.count = 0
        self.sums: list[float] = []
        self.middle = self.squares = 0.0  # the mean, and the sum of the squares of deviations from it
        self.least, self.greatest = math.inf, -math.inf

    def add(self, values: Numbers) -> None:
        """Take some more entries into account."""
        count = len(values)
        if not count:
            return
        with np.errstate(all="ignore"):
            self.sums.append(float(values.sum()))
            middle = float(values.mean())
            squares = float(np.square(values - middle).sum())
            total = self.count + count
            apart = middle - self.middle
            self.squares += squares + apart * apart * (self.count * count / total)
            self.middle += apart * (count / total)
            self.least = float(np.minimum(self.least, values.min()))
            self.greatest = float(np.maximum(self.greatest, values.max()))
        self.count = total

    def value(self, name: str) -> float:
        """The number of that name. Raises AgradError of kind `domain` if there were no entries."""
        if not self.count and name != "sum":
            raise AgradError("domain", f"{name} of no rows")
        total = math.fsum(self.sums) if all(map(math.isfinite, self.sums)) else sum(self.sums)
        mean, variance = total / (self.count or 1), self.squares / (self.count or 1)
        found = {"mean": mean, "std": math.sqrt(variance), "var": variance, "sum": total}
        return {**found, "min": self.least, "max": self.greatest}[name]


NAMES = ("mean", "std", "var", "sum", "min", "max")  # of the functions of a column


# pyarrow, which is an extra: imported only when it reads or writes something

WIDE = 10_000  # columns of CSV: for more, pyarrow takes 10 kB each, and ends the process where that is not available


def pyarrow(part: str = "") -> Any:
    """A module of the library, for which mypy has no types. Raises ImportError, also where it is broken."""
    try:
        return require_pyarrow("reading or writing it", part)
    except AgradError as problem:
        raise ImportError(problem.message) from None


def require_pyarrow(what: str, part: str = "") -> Any:
    """The same for `what`, which needs it. Raises AgradError of kind `limit`."""
    return extra(f"pyarrow.{part}" if part else "pyarrow", what, "pyarrow", "data")


def numbers_of(column: Any) -> Numbers:
    """A column of float64 of pyarrow's, nan where it is null.

    From its buffers: pyarrow's `to_numpy` imports pandas where that is installed, which takes 0.5 s.
    """
    found = []
    for one in getattr(column, "chunks", [column]):
        valid, data = one.buffers()
        found.append(np.frombuffer(data, count=len(one), offset=8 * one.offset) if len(one) else np.empty(0))
        if one.null_count:
            bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[one.offset :][: len(one)]
            found[-1] = np.where(bits, found[-1], np.nan)
    return found[0] if len(found) == 1 else np.concatenate(found or [np.empty(0)])


def as_text(name: str, column: Any, form: str) -> Any:
    """A column of pyarrow's as CSV and JSON can hold it: numbers and booleans unchanged, texts for the rest.

    Raises AgradError of kind `file` if the entries have no text, such as lists, or it is not UTF-8.
    """
    pa = pyarrow()
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name != "arrow.uuid":
            return as_text(name, column.storage, form)
        entries = [None if entry is None else str(UUID(bytes=entry)) for entry in column.storage.to_pylist()]
        return pa.array(entries, pa.string())
    if pa.types.is_dictionary(kind):
        return as_text(name, column.cast(kind.value_type), form)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column
    with suppress(pa.ArrowNotImplementedError, pa.ArrowTypeError):
        try:
            return column.cast(pa.string())
        except pa.ArrowInvalid:
            if pa.types.is_timestamp(kind):  # in a zone that this system does not know: in UTC, in which it is stored
                texts = column.view(pa.int64()).view(pa.timestamp(kind.unit)).cast(pa.string())
                return pyarrow("compute").binary_join_element_wise(texts, "Z", "")
    is_binary = any(word in str(kind) for word in ("binary", "string"))
    why = "bytes that are not UTF-8 text" if is_binary and not pa.types.is_nested(kind) else str(kind)
    fixes = [Hint(f"leave {name} out of --keep")]
    raise AgradError("file", f"the column {name} holds {why}, which {form} cannot hold", fixes=fixes)
