"""Tables that are larger than memory, read piece by piece: numpy's files and Parquet here, CSV in `sheets`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from agrad.engine.errors import AgradError, Label
from agrad.engine.values import format_shape, np
from agrad.grammar.diagnostics import Span, suggest

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Column: TypeAlias = "Any"  # Numbers; of what is only copied also a list of texts, or what pyarrow has
BYTES = 2**21  # that a piece has in the file
ROWS = 2**16  # at most, in a piece of a file that is no text


@dataclass(slots=True)
class Piece:
    """Some rows: the columns, which rows could not be read (None: all could), and how much of the file is behind."""

    columns: dict[str, Column]
    rows: int
    done: int
    place: Callable[[int], dict[str, Any]]  # how an error is to speak of a row: its labels and notes
    bad: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
    problem: AgradError | None = None  # of the first row that could not be read


@dataclass(slots=True)
class Wanted:
    """What is to be read: columns of numbers, columns that are copied, and whether those may be text.

    `tolerant`: a row that cannot be read is told of in its piece, and is no error.
    """

    numbers: Sequence[str]
    copied: Sequence[str] = ()
    texts: bool = False
    tolerant: bool = False

    @property
    def names(self) -> list[str]:
        """All columns, each once."""
        return list(dict.fromkeys((*self.numbers, *self.copied)))

    def is_text(self, name: str) -> bool:
        """Whether a column is copied as it stands."""
        return self.texts and name not in self.numbers


class Table:
    """A file with columns. `parts` reads, one part after the other; `piece` may be called in any thread."""

    names: list[str]
    size: int  # bytes; 0 if nobody knows
    total: int | None  # of what `Piece.done` counts; None if nobody knows
    nameless: bool  # whether the file names no columns
    typed = False  # whether what is copied has a type that Parquet can keep

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        with suppress(OSError, ValueError):  # what is no file has no size, and is refused where it is read
            self.size = os.path.getsize(path)
        self.names = []
        self.total = None
        self.nameless = False

    def require(self, name: str, span: Span | None = None) -> None:
        """Refuse a name that is no column, or two; `span` is where it stands. Raises AgradError of kind `name`."""
        if self.names.count(name) == 1:
            return
        labels = [Label(span)] if span is not None else []
        if name in self.names:
            raise AgradError("name", f"{self.path} has {self.names.count(name)} columns {name}", labels=labels)
        close = suggest(name, self.names)
        fixes = [f"did you mean {' or '.join(close)}?"] if close else []
        if not close and self.nameless:
            fixes.append(f"name the columns: --columns {','.join([name, *self.names[1:]])}")
        if not close and span is not None:
            fixes.append(f"give it one value for all rows: -D {name}=1")
        message = f"{self.path} has no column {name}"
        raise AgradError("name", message, labels=labels, notes=[self.listing()], fixes=fixes)

    def listing(self) -> str:
        """The columns in words."""
        shown = ", ".join(self.names) if len(self.names) <= 20 else f"{', '.join(self.names[:20])}, …"
        return f"its columns are {shown}" if self.names else "it has no columns"

    def parts(self, wanted: Wanted) -> Iterator[Any]:
        """What `piece` takes, in the order of the file. Raises AgradError of kind `file`."""
        raise NotImplementedError

    def piece(self, part: Any, wanted: Wanted) -> Piece:
        """The rows in a part. Raises AgradError of kind `file`."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing more will be read."""

    def at_row(self, number: int) -> dict[str, Any]:
        """How an error speaks of a row, counted from 1."""
        return {"notes": [f"in row {number} of {self.path}"]}


def opened(path: str, given: Sequence[str]) -> Table:
    """The table in a file, `-` for CSV from standard input; `given` names its columns. Raises AgradError."""
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npy", ".npz", ".parquet", ".pq"):
        _require_file(path)
        if ending == ".npy":
            return Saved(path, given)
        if given:
            raise has_names(path)
        return Archive(path) if ending == ".npz" else Parquet(path)
    from agrad.cli.data.csv_reader import Sheet  # here, since it is needed for this kind alone

    return Sheet(path, given)


def named(path: str, count: int, given: Sequence[str]) -> list[str]:
    """The names of columns that have none in the file: those given, or c0, c1, … Raises AgradError."""
    if given and len(given) != count:
        columns = "1 column" if count == 1 else f"{count} columns"
        raise AgradError("file", f"{path} has {columns}, and --columns names {len(given)}: {','.join(given)}")
    return list(given) or [f"c{place}" for place in range(count)]


def has_names(path: str) -> AgradError:
    """What to say where columns are given names that have some."""
    return AgradError("file", f"{path} has names for its columns already: leave --columns out")


def _require_file(path: str) -> None:
    """Refuse what cannot be read. Raises AgradError of kind `file`."""
    try:
        with open(path, "rb"):
            pass
    except OSError as problem:
        raise unreadable(path, problem) from None


def unreadable(path: str, problem: OSError) -> AgradError:
    """What to say of a file that the system does not give."""
    if isinstance(problem, FileNotFoundError):
        return AgradError("file", f"there is no file {path}")
    reason = "it is a folder" if isinstance(problem, IsADirectoryError) else problem.strerror
    return AgradError("file", f"cannot read {path}: {reason}")


class Saved(Table):
    """A `.npy` file: an array of rows and columns, a vector as one column, or a structured array by its fields."""

    def __init__(self, path: str, given: Sequence[str]) -> None:
        super().__init__(path)
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception:  # what a damaged file leads numpy's reader to is not documented
            array = None
        if not isinstance(array, np.memmap):
            raise AgradError("file", f"{path} is no array that numpy saved, or it is not all there")
        self.dtype, self.shape, self.offset = array.dtype, array.shape, int(array.offset)
        self.by_column = len(array.shape) == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
        if len(array.shape) not in (1, 2) or (self.dtype.names and len(array.shape) == 2):
            shape = format_shape(array.shape)
            raise AgradError("file", f"{path} holds an array of shape {shape}; rows and columns are needed")
        fields = list(self.dtype.names or ())
        if fields and given:
            raise has_names(path)
        width = len(fields) or (1 if len(array.shape) == 1 else int(array.shape[1]))
        self.names = fields or named(path, width, given)
        self.nameless = not fields and not given
        self.total = int(array.shape[0])

    def parts(self, wanted: Wanted) -> Iterator[tuple[int, int]]:
        """The first row of each piece, and the one behind its last."""
        rows = len(self)
        step = max(1, min(ROWS, BYTES // max(self.dtype.itemsize * (1 if self.by_column else self._width), 1)))
        for name in wanted.names:
            kind = self.dtype[name] if self.dtype.names else self.dtype
            if kind.kind not in "biuf" or kind.shape:
                raise AgradError("file", f"{self.path}: the column {name} holds {kind}, and no numbers")
        for start in range(0, rows, step):
            yield start, min(start + step, rows)

    def __len__(self) -> int:
        return int(self.shape[0])

    @property
    def _width(self) -> int:
        return int(self.shape[1]) if len(self.shape) == 2 else 1

    def piece(self, part: tuple[int, int], wanted: Wanted) -> Piece:
        """See Table. Each piece has a map of its own, which it gives back: the pages of one map would all stay."""
        start, stop = part
        rows = stop - start
        columns = {name: self._numbers(name, start, rows) for name in wanted.names}
        return Piece(columns, rows, stop, lambda row: self.at_row(start + row + 1))

    def _numbers(self, name: str, start: int, rows: int) -> Numbers:
        place, width, size = self.names.index(name), self._width, self.dtype.itemsize
        if self.by_column:
            offset, shape = self.offset + (place * len(self) + start) * size, (rows,)
        else:
            offset, shape = self.offset + start * width * size, (rows, width)  # type: ignore[assignment]
        try:
            there: Any = np.memmap(self.path, self.dtype, "r", offset, shape)
        except (OSError, ValueError):
            raise AgradError("file", f"{self.path} has become shorter while it was read") from None
        if self.dtype.names:
            there = there[name][:, 0]
        elif not self.by_column:
            there = there[:, place]
        return np.array(there, dtype=np.float64)


class Archive(Table):
    """A `.npz` file: an array for each column, read in a stream, so that none need fit into memory."""

    def __init__(self, path: str) -> None:
        from zipfile import BadZipFile, ZipFile  # here, since few tables are archives

        super().__init__(path)
        try:
            self.zip = ZipFile(path)
        except (BadZipFile, OSError):
            raise AgradError("file", f"{path} is no archive that numpy saved") from None
        self.names = [name.removesuffix(".npy") for name in self.zip.namelist() if name.endswith(".npy")]

    def close(self) -> None:
        """See Table."""
        self.zip.close()

    def parts(self, wanted: Wanted) -> Iterator[Any]:
        """The bytes of each column in a piece."""
        from zipfile import BadZipFile
        from zlib import error as Damaged  # noqa: N812 - zlib has no better name for it

        columns = {name: self._column(name) for name in wanted.names or self.names[:1]}
        lengths = {name: rows for name, (_, _, rows) in columns.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} {rows}" for name, rows in lengths.items())
            raise AgradError("file", f"{self.path}: the columns have different lengths: {listed}")
        self.total = rows = next(iter(lengths.values()), 0)
        for start in range(0, rows, ROWS):
            stop = min(start + ROWS, rows)
            data = {}
            for name, (stream, kind, _) in columns.items():
                try:
                    found = stream.read((stop - start) * kind.itemsize)
                except (OSError, ValueError, EOFError, BadZipFile, Damaged):
                    found = b""
                if len(found) != (stop - start) * kind.itemsize:
                    raise AgradError("file", f"{self.path} is damaged: {name} ends before its {rows} rows")
                data[name] = np.frombuffer(found, kind)
            yield start, stop, data

    def _column(self, name: str) -> tuple[Any, np.dtype[Any], int]:
        """The bytes of a column, the type of its entries, and how many there are."""
        from zipfile import BadZipFile

        try:
            stream = self.zip.open(f"{name}.npy")
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = read(stream)
        except (BadZipFile, ValueError, OSError, KeyError):
            raise AgradError("file", f"{self.path}: {name} is no array that numpy saved") from None
        if len(shape) != 1:
            raise AgradError("file", f"{self.path}: {name} has the shape {format_shape(shape)}, and is no column")
        if kind.kind not in "biuf":
            raise AgradError("file", f"{self.path}: the column {name} holds {kind}, and no numbers")
        return stream, kind, int(shape[0])

    def piece(self, part: Any, wanted: Wanted) -> Piece:
        """See Table."""
        start, stop, data = part
        columns = {name: data[name].astype(np.float64) for name in wanted.names}
        return Piece(columns, stop - start, stop, lambda row: self.at_row(start + row + 1))


class Parquet(Table):
    """A Parquet file, by pyarrow. Its nulls are rows that cannot be read."""

    typed = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        pa = require_pyarrow(f"reading {path}")
        try:
            self.file = pyarrow("parquet").ParquetFile(path, pre_buffer=False, buffer_size=BYTES)
        except (pa.ArrowException, OSError):
            raise AgradError("file", f"{path} is no Parquet file, or it is not all there") from None
        self.names = list(self.file.schema_arrow.names)
        self.total = int(self.file.metadata.num_rows)

    def close(self) -> None:
        """See Table."""
        self.file.close()

    def parts(self, wanted: Wanted) -> Iterator[tuple[int, Any]]:
        """The first row of each piece, and its rows as pyarrow has them."""
        start = 0
        try:
            for batch in self.file.iter_batches(ROWS, columns=wanted.names or self.names[:1], use_threads=False):
                yield start, batch
                start += batch.num_rows
        except (pyarrow().ArrowException, OSError) as problem:
            reason = str(problem).splitlines()[0]
            raise AgradError("file", f"{self.path} cannot be read behind row {start}: {reason}") from None

    def piece(self, part: tuple[int, Any], wanted: Wanted) -> Piece:
        """See Table."""
        start, batch = part
        columns: dict[str, Column] = {}
        piece = Piece(columns, batch.num_rows, start + batch.num_rows, lambda row: self.at_row(start + row + 1))
        for name in wanted.names:
            column = batch.column(batch.schema.get_field_index(name))
            if wanted.is_text(name):
                columns[name] = column
                continue
            columns[name] = self._numbers(name, column)
            if column.null_count:
                self._refuse(name, column, piece, wanted.tolerant)
        return piece

    def _numbers(self, name: str, column: Any) -> Numbers:
        pa, kind = pyarrow(), column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            if not pa.types.is_boolean(kind):
                raise AgradError("file", f"{self.path}: the column {name} holds {kind}, and no numbers")
            column = column.cast(pa.int8())
        numbers: Numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return numbers

    @staticmethod
    def _refuse(name: str, column: Any, piece: Piece, tolerant: bool) -> None:
        """Tell of the rows in which nothing stands. Raises AgradError of kind `file` unless that is tolerated."""
        empty = column.is_null().to_numpy(zero_copy_only=False)
        problem = AgradError(
            "file", f"column {name}: nothing stands there", row=True, **piece.place(int(empty.argmax()))
        )
        if not tolerant:
            raise problem
        piece.bad = empty if piece.bad is None else piece.bad | empty
        piece.problem = piece.problem or problem


def pyarrow(part: str = "") -> Any:
    """A module of the library, which is an extra, and which mypy knows nothing of. Raises ImportError."""
    from importlib import import_module

    return import_module(f"pyarrow.{part}" if part else "pyarrow")


def require_pyarrow(what: str) -> Any:
    """The library, for what cannot do without it. Raises AgradError of kind `limit` where it is not installed."""
    try:
        return pyarrow()
    except ImportError:
        fixes = ['pip install "agrad[data]"']
        raise AgradError("limit", f"{what} needs pyarrow, which is not here", fixes=fixes) from None
