"""Writers of tables, piece by piece: CSV, JSON, `.npy`, `.npz`, Arrow, Parquet.

`encode` runs in threads; `write` puts what it returns into the file, in order.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from json import dumps
from types import MappingProxyType
from typing import Any, BinaryIO, TypeAlias

import click

import agrad
from agrad.cli.main import Wrong, again
from agrad.engine.data.tables import WIDE, Column, as_text, pyarrow, require_pyarrow
from agrad.engine.errors import AgradError, Hint
from agrad.engine.text import csv_lines
from agrad.engine.values import format_number, np
from agrad.lazy import rare

# The form of a file, by the extension of its name.
FORMS = {".csv": "csv", ".jsonl": "json", ".npy": "npy", ".npz": "npz", ".parquet": "parquet", ".pq": "parquet"}
FORMS |= {".arrow": "arrow", ".feather": "arrow"}
BINARY = ("npy", "npz", "parquet", "arrow")  # which hold numbers, and no text
Bad: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.bool_]] | None"


@dataclass(slots=True)
class Rows:
    """Some rows: columns that are copied, columns of results, and which rows have no results (None: all have)."""

    copied: Mapping[str, Column]
    results: Mapping[str, Any]
    bad: Bad

    @property
    def columns(self) -> dict[str, Column]:
        """All columns, in order."""
        return {**self.copied, **self.results}

    def empty(self, name: str) -> Bad:
        """The entries of a column to leave empty: of rows without results, or copied and not numbers."""
        if self.bad is None or name in self.results:
            return self.bad
        column = self.copied[name]
        return self.bad & np.isnan(column) if isinstance(column, np.ndarray) else None


def form_for(path: str | None, as_json: bool, to: str | None = None) -> str:
    """The writer for a file of that name, or, for None, for standard output; `to` overrides both.

    Raises AgradError, click.UsageError.
    """
    if path is None and to is None:
        return "json" if as_json else "csv"
    ending = os.path.splitext(path or "")[1].lower() if to is None else f".{to}"
    form = FORMS.get(ending, "json" if as_json else "")
    if not form:
        known = " ".join(FORMS)
        raise AgradError("file", f"{path}: its extension does not give a format", notes=[f"known: {known}"])
    if as_json and form != "json":
        other = f"{path} has another extension: -o out.jsonl" if to is None else f"--to {to} another format"
        raise click.UsageError(f"--json writes lines of JSON, and {other}")
    if path is None and form in BINARY and form != "arrow":
        raise Wrong(f"--to {to} needs a file", again("-o", f"out.{to}"))
    if form in ("parquet", "arrow"):
        require_pyarrow(f"writing {form.capitalize()}")
    return form


class Writer:
    """Writes a table to a stream: `begin`, then `encode` and `write` for each piece, then `end`; at last `close`.

    `rows` counts the rows in what was written, not in what was given to `encode`: the reader compares the two.
    """

    quick = False  # whether `encode` takes less time than handing it to a thread
    rows = 0
    paths: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # where each result stands in a JSON object

    def __init__(self, stream: BinaryIO, names: Sequence[str], precision: int | None) -> None:
        self.stream = stream
        self.names = names
        self.precision = precision

    def begin(self) -> None:
        """Write what comes before the first row."""

    def encode(self, rows: Rows) -> Any:
        """The rows as `write` takes them; called in any thread."""
        raise NotImplementedError

    def write(self, data: Any) -> None:
        """Append what `encode` returned."""
        self.stream.write(data)
        self.rows += data.count(b"\n")

    def end(self) -> None:
        """Write what comes after the last row."""
        self.stream.flush()

    def close(self) -> None:
        """Release what is held, also after an error."""


class CsvWriter(Writer):
    """Writes CSV: a line of names, and each number in the fewest digits that read back to it."""

    def begin(self) -> None:
        """See Writer."""
        self.stream.write(_lines([self.names]))

    def encode(self, rows: Rows) -> Any:
        """See Writer."""
        rows = _as_texts(rows, "CSV")
        # An empty entry alone would be an empty line, which is not a row: pyarrow writes it, the csv module quotes it.
        if self.precision is None and (rows.bad is None or len(rows.columns) > 1) and len(rows.columns) <= WIDE:
            # Neither is there without pyarrow, nor does it take bytes that are not UTF-8, which are copied as they are.
            with suppress(ImportError, UnicodeEncodeError):
                return _fast_lines(rows)
        return _lines(zip(*(map(self._text, column) for column in _listed(rows).values()), strict=True))

    def write(self, data: bytes) -> None:
        """See Writer."""
        self.stream.write(data)
        outside = data.split(b'"')[::2] if b'"' in data else [data]  # of quotes, between which lines may end
        self.rows += sum(part.count(b"\n") for part in outside)

    def _text(self, entry: Any) -> str:
        if isinstance(entry, float):
            return format_number(entry, self.precision)
        if isinstance(entry, bool):
            return "true" if entry else "false"  # as pyarrow writes them
        return "" if entry is None else str(entry)


def _as_texts(rows: Rows, form: str) -> Rows:
    """The rows, with texts in place of copied entries that CSV and JSON have no form for. Raises AgradError."""
    copied = {
        name: column if isinstance(column, list | np.ndarray) else as_text(name, column, form)
        for name, column in rows.copied.items()
    }
    return Rows(copied, rows.results, rows.bad)


def _listed(rows: Rows) -> dict[str, list[Any]]:
    """The columns as lists of Python values, None for an empty entry."""
    listed = {}
    for name, column in rows.columns.items():
        if not isinstance(column, list):
            column = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        empty = rows.empty(name)
        for row in np.flatnonzero(empty) if empty is not None else ():
            column[row] = None
        listed[name] = column
    return listed


def _lines(rows: Any) -> bytes:
    """Rows as CSV."""
    return csv_lines(rows).encode("utf-8", "surrogateescape")


def _fast_lines(rows: Rows) -> bytes:
    """Rows as pyarrow writes them. Raises ImportError where it is not installed."""
    fast = pyarrow("csv")
    table = _arrow_table(rows)
    data = io.BytesIO()
    try:
        fast.write_csv(table, data, fast.WriteOptions(include_header=False, quoting_style="none"))
    except pyarrow().ArrowInvalid:  # a text needs quotes; pyarrow quotes all texts or none
        data = io.BytesIO()
        fast.write_csv(table, data, fast.WriteOptions(include_header=False, quoting_style="needed"))
    return data.getvalue()


def _arrow_table(rows: Rows) -> Any:
    """Rows as pyarrow arrays, with nulls where there are no results."""
    pa = pyarrow()

    def written(name: str, column: Any) -> Any:
        if not isinstance(column, list | np.ndarray):
            return column
        bad = rows.empty(name)
        if bad is None and isinstance(column, np.ndarray) and column.dtype == np.float64:
            # Without numpy.ma, which pa.array loads, and which takes longer than to write a small file.
            return pa.Array.from_buffers(pa.float64(), len(column), [None, pa.py_buffer(np.ascontiguousarray(column))])
        return pa.array(column, mask=bad)

    return pa.table([written(*one) for one in rows.columns.items()], list(rows.columns))


class JsonWriter(Writer):
    """One object per line, with the fields of `eval --json`: value, grad, and columns for what is copied."""

    def encode(self, rows: Rows) -> bytes:
        """See Writer."""
        rows = _as_texts(rows, "JSON")
        columns = _listed(rows)
        lines, structured = [], agrad.cli.output.structured
        for row in range(len(next(iter(columns.values())))):
            nonfinite: dict[str, str] = {}
            fields: dict[str, Any] = {"schema": structured.SCHEMA}
            if rows.copied:
                copied = {name: _entry(columns[name][row]) for name in rows.copied}
                fields["columns"] = structured.plain_fields(copied, "columns", nonfinite)
            for name, (*above, last) in self.paths.items():
                inside = fields
                for key in above:
                    inside = inside.setdefault(key, {})
                inside |= structured.plain_fields({last: columns[name][row]}, ".".join(above), nonfinite)
            more = {"nonfinite": nonfinite} if nonfinite else {}
            lines.append(f"{dumps(fields | more, allow_nan=False)}\n")
        return "".join(lines).encode("utf-8", "surrogateescape")


def _entry(entry: Any) -> Any:
    """An entry of a column that is copied, as a JSON value: a number if it is one."""
    if isinstance(entry, str):
        try:
            return float(entry)
        except ValueError:
            return entry
    return entry if entry is None or isinstance(entry, float | int) else str(entry)


class NpyWriter(Writer):
    """A `.npy` file: a row of numbers for each row; nan where there is no result."""

    quick = True

    def begin(self) -> None:
        """Leave room for the header, which tells how many rows there are."""
        shape = (self.rows, len(self.names))
        # numpy leaves room for a longer first axis, so that the header can be written again at the end
        np.lib.format.write_array_header_1_0(self.stream, {"descr": "<f8", "fortran_order": False, "shape": shape})

    def encode(self, rows: Rows) -> Any:
        """See Writer."""
        return np.column_stack(list(rows.columns.values())).astype("<f8", copy=False)

    def write(self, data: Any) -> None:
        """See Writer."""
        self.rows += len(data)
        self.stream.write(data.data)

    def end(self) -> None:
        """See Writer."""
        self.stream.seek(0)
        self.begin()
        self.stream.flush()


def _leads_away(name: str) -> bool:
    """Whether an entry of an archive, with that name, would be extracted outside the chosen folder."""
    parts = name.replace("\\", "/").split("/")
    absolute = (len(parts) > 1 and not parts[0]) or parts[0][1:2] == ":"
    return absolute or ".." in parts or not name.isprintable()


class NpzWriter(Writer):
    """A `.npz` file: an array for each column. Until the end each is in a temporary file without a name."""

    quick = True

    def __init__(self, stream: BinaryIO, names: Sequence[str], precision: int | None) -> None:
        super().__init__(stream, names, precision)
        for name in names:
            if _leads_away(name):
                message = f"a .npz file cannot have a column {name!r}: it would be extracted outside the folder"
                raise AgradError("file", message, fixes=[Hint("write .npy, .csv or .parquet")])
        self.columns: list[Any] = []

    def begin(self) -> None:
        """A file for each column, next to the output."""
        folder = os.path.dirname(self.stream.name)
        for _ in self.names:
            self.columns.append(rare.tempfile.TemporaryFile(dir=folder))

    def encode(self, rows: Rows) -> Any:
        """See Writer."""
        return list(rows.columns.values())

    def write(self, data: Any) -> None:
        """See Writer."""
        self.rows += len(data[0])
        for file, column in zip(self.columns, data, strict=True):
            file.write(column.astype("<f8", copy=False).data)

    def end(self) -> None:
        """See Writer."""
        with rare.zipfile.ZipFile(self.stream, "w") as archive:
            for name, file in zip(self.names, self.columns, strict=True):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    header = {"descr": "<f8", "fortran_order": False, "shape": (self.rows,)}
                    np.lib.format.write_array_header_1_0(entry, header)
                    file.seek(0)
                    rare.shutil.copyfileobj(file, entry, 2**20)
        self.stream.flush()

    def close(self) -> None:
        """See Writer."""
        for file in self.columns:
            file.close()


class ParquetWriter(Writer):
    """A Parquet file, by pyarrow: null where there are no results. The first rows decide the types of the columns."""

    writer: Any = None

    def encode(self, rows: Rows) -> Any:
        """See Writer."""
        return _arrow_table(rows)

    def made(self, schema: Any) -> Any:
        """The writer of pyarrow, once the types of the columns are known."""
        repeated = [field.name for field in schema if field.type != pyarrow().float64()]  # as computed numbers are not
        return pyarrow("parquet").ParquetWriter(self.stream, schema, use_dictionary=repeated)

    def write(self, data: Any) -> None:
        """See Writer."""
        if self.writer is None:
            self.writer = self.made(data.schema)
        self.writer.write_table(data)
        self.rows += data.num_rows

    def end(self) -> None:
        """See Writer."""
        if self.writer is None:
            none = np.empty(0)
            self.write(_arrow_table(Rows({}, dict.fromkeys(self.names, none), None)))
        self.writer.close()
        self.stream.flush()

    def close(self) -> None:
        """See Writer. A writer that is left open writes when it is freed, to a file that is closed by then."""
        if self.writer is not None:
            with suppress(OSError, ValueError, pyarrow().ArrowException):  # as on a full disk: the file is removed
                self.writer.close()
            with suppress(AttributeError):  # that of Arrow has none, and does not write
                self.writer.is_open = False


class ArrowWriter(ParquetWriter):
    """An Arrow file with an index of its batches; to standard output a stream of them, which needs no index."""

    def made(self, schema: Any) -> Any:
        """See ParquetWriter."""
        ipc = pyarrow("ipc")
        return (ipc.new_file if self.stream.seekable() else ipc.new_stream)(self.stream, schema)


WRITERS: dict[str, type[Writer]] = {
    "csv": CsvWriter,
    "json": JsonWriter,
    "npy": NpyWriter,
    "npz": NpzWriter,
    "parquet": ParquetWriter,
    "arrow": ArrowWriter,
}
