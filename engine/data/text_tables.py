"""Tables in files of text: read as streams of plain text, uncompressed, in UTF-8, in blocks of whole rows.

A file is compressed if it begins as gzip, Zstandard, bzip2 or xz do, whatever its name. pyarrow reads Zstandard.
"""

from __future__ import annotations

import codecs
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from io import BufferedReader, RawIOBase
from itertools import chain, islice
from math import isinf
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from agrad.engine.data.tables import (
    BYTES,
    FILL_IN,
    NOTHING,
    Numbers,
    Piece,
    Table,
    Wanted,
    numbers_of,
    pyarrow,
    require_pyarrow,
    unreadable,
)
from agrad.engine.errors import AgradError, BadEntry, Hint, Label, Source, Span
from agrad.engine.values import np

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
_MODULES = {"xz": "lzma"}  # where the name of one is not that of the compression
_OTHERS = {
    b"PAR1": ("a Parquet file", "name it .parquet"),
    b"ARROW1": ("an Arrow file", "name it .arrow"),
    b"\x93NUMPY": ("an array saved by numpy", "name it .npy"),
    b"PK\x03\x04": ("a zip archive, as Excel's .xlsx files are", "save it as CSV"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "save it as CSV"),
    b"SQLite format 3": ("an SQLite database", "export a table of it as CSV"),
    b"\x89HDF": ("an HDF5 file", "export a table of it as CSV"),
}
OFTEN = "cp1252"  # the encoding of most texts that are not UTF-8: Windows' in the west of Europe, close to Latin-1
_PIECE = 2**16  # bytes of a stream, at once
_ENDINGS = (".gz", ".zst", ".zstd", ".bz2", ".xz")  # of names of compressed files


def ending_of(path: str) -> str:
    """The extension of a name in small letters, without that of a compression: `.csv` of `a.CSV.gz`."""
    stem, ending = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if ending in _ENDINGS else ending


class _Stream(RawIOBase):
    """A stream of some pieces of bytes; who opened what they come from closes it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.left = pieces, b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """See `io.RawIOBase`."""
        while not self.left and (piece := next(self.pieces, None)) is not None:
            self.left = piece
        size = min(len(self.left), len(buffer))
        buffer[:size], self.left = self.left[:size], self.left[size:]
        return size


def ahead(first: bytes, rest: Any) -> BinaryIO:
    """A stream whose first bytes have been read, and are given again."""
    return BufferedReader(_Stream(chain([first], iter(lambda: rest.read1(_PIECE), b""))))


def opened(path: str, stream: BinaryIO, given: str | None = None) -> BinaryIO:
    """A stream as plain UTF-8: the same, if it is that and can be read again. `given`: its encoding, if it has no mark.

    Raises AgradError of kind `file`.
    """
    at = stream.tell() if stream.seekable() else None  # standard input may be a file that was read before
    first = stream.read(16)
    for mark, (what, advice) in _OTHERS.items():
        if first.startswith(mark):
            raise AgradError("file", f"{path} is {what}, not text", fixes=[Hint(advice)])
    whole = ahead(first, stream)
    if kind := next((kind for mark, kind in _COMPRESSED.items() if first.startswith(mark)), ""):
        return opened(path, BufferedReader(_Stream(_decompressed(path, whole, kind))), given)
    if encoding := "utf-16" if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else given:
        return BufferedReader(_Stream(_recoded(path, whole, encoding)))
    if at is None:
        return whole
    stream.seek(at)
    return stream


def _decompressed(path: str, stream: BinaryIO, kind: str) -> Iterator[bytes]:
    """What is uncompressed. Raises AgradError of kind `file` for damage."""
    done = 0
    if kind == "zstd":
        pa = require_pyarrow(f"reading {path}")
        plain = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), kind)
    else:
        plain = import_module(_MODULES.get(kind, kind)).open(stream)  # here, since few files are compressed
    try:
        while data := plain.read(_PIECE):
            yield bytes(data)
            done += len(data)
    except Exception as problem:  # LZMAError is known by its name: a Python may be built without lzma
        damages = (OSError, EOFError, ValueError, zlib.error, ImportError)
        if not isinstance(problem, damages) and type(problem).__name__ != "LZMAError":
            raise
        reason = (str(problem) or type(problem).__name__).splitlines()[0].rstrip(".")
        message = f"{path} is damaged or incomplete after {done} bytes uncompressed by {kind}"
        raise AgradError("file", f"{message}: {reason}") from None


def _recoded(path: str, stream: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Text in another encoding, as UTF-8. Raises AgradError of kind `file` where it is not in that encoding."""
    try:
        for text in codecs.iterdecode(iter(lambda: stream.read(_PIECE), b""), encoding):
            yield text.encode()
    except UnicodeError as problem:
        raise AgradError("file", f"{path} is not {encoding.upper()} text: {problem}") from None


# Blocks of whole rows

LONGEST = 2**26  # bytes of a row
SHOWN = 20  # characters of an entry in a message
_HEAD = 2**15  # bytes of the head


class Block(NamedTuple):
    """Whole rows, the number of their first line, and how many bytes of the file have been read with them."""

    data: bytes
    line: int
    done: int


Row: TypeAlias = "tuple[int, Any, int]"  # the line it begins at, from 0, its entries, and the line after it
# A row, its column (None: the number of entries is wrong), the reason, and facts of BadEntry.
Fault: TypeAlias = "tuple[int, str | None, str, dict[str, Any]]"


class TextTable(Table):
    """A file of text, or a stream that is called `path`. `block`: bytes to read at once."""

    what = "CSV"
    na: frozenset[str]  # what stands for missing numbers
    fast: bool  # whether pyarrow may read it
    first: Block  # which `_begin` has read

    def __init__(self, path: str, stream: BinaryIO | None, block: int, encoding: str | None = None) -> None:
        super().__init__(path)
        self.own = stream is None
        self.block = block or BYTES
        try:
            self.source = open(path, "rb") if stream is None else stream  # noqa: SIM115 - read piece by piece
        except (OSError, ValueError) as problem:
            raise unreadable(self.path, problem) from None
        with suppress(OSError, ValueError):  # a standard input that is not a file of the system
            status = os.fstat(self.source.fileno())
            self.total = status.st_size if stat.S_ISREG(status.st_mode) else None
        try:
            self.file = opened(self.path, self.source, encoding)
            if self.file is not self.source:
                self.total = None  # since it is counted in bytes that are not compressed
            self.head = self._read_some(_HEAD)
            self.ended = len(self.head) < _HEAD
            self.line, self.mark = 1, len(codecs.BOM_UTF8) if self.head.startswith(codecs.BOM_UTF8) else 0
            self.head = self.head[self.mark :]
            self.blocks = self._blocks()
            self._begin()
        except (AgradError, OSError) as problem:
            self.close()
            raise problem if isinstance(problem, AgradError) else unreadable(self.path, problem) from None

    def parts(self, wanted: Wanted) -> Iterator[Block]:
        """See Table."""
        yield from chain([self.first], self.blocks)

    def piece(self, part: Block, wanted: Wanted) -> Piece:
        """See Table."""
        return (self._by_arrow(part, wanted) if self.fast else None) or self._by_hand(part, wanted)

    def _by_arrow(self, block: Block, wanted: Wanted) -> Piece | None:
        """What pyarrow reads; None if it is not installed, or finds something else than is wanted."""
        table = None
        with suppress(ImportError):
            pa = pyarrow()
            with suppress(pa.ArrowException):
                table = self._table_of_arrow(pa, block, wanted)
        if table is None:
            return None
        piece = Piece({}, table.num_rows, block.done, lambda row: self._place(block, row))
        for name, column in zip(wanted.names, table.columns, strict=False):
            piece.columns[name] = column if wanted.is_text(name) else numbers_of(column)
            piece.missing += column.null_count
            if not wanted.is_text(name) and np.isinf(piece.columns[name]).any():
                return None  # of 1e400?
        return piece

    def _table_of_arrow(self, pa: Any, block: Block, wanted: Wanted) -> Any:
        """The wanted columns as a table of pyarrow, or None."""
        raise NotImplementedError

    def _by_hand(self, block: Block, wanted: Wanted) -> Piece:
        """The same, by Python, one entry at a time. Raises AgradError of kind `file`, with the place."""
        rows = [entries for _, entries, _ in self._rows(block)]
        piece = Piece({}, len(rows), block.done, lambda row: self._place(block, row))
        faults = [*self._ragged(rows)]
        for name, entries in self._columns(rows, wanted):
            if wanted.is_text(name):
                piece.columns[name] = self._copied(entries)
                continue
            piece.columns[name] = self._numbers(name, entries, faults)
            if self.na:
                piece.missing += sum(map(self._is_missing, entries))
        if faults:
            self._tell(faults, piece, wanted, block)
        return piece

    def _numbers(self, name: str, entries: list[Any], faults: list[Fault]) -> Numbers:
        """A column of numbers; an entry that is not one, or is too large for one, becomes nan, and a fault."""
        convert = self.convert
        with suppress(ValueError, OverflowError):
            numbers = list(map(convert, entries))
            if not any(map(isinf, numbers)):  # not by NumPy, which is slow on short columns, of which there are many
                return np.array(numbers, dtype=np.float64)
        column = np.full(len(entries), np.nan)
        for row, entry in enumerate(entries):
            try:
                number = convert(entry)
                if isinf(number) and (type(entry) is float or any(map(str.isdigit, str(entry)))):
                    raise OverflowError  # of 1e400: what says that it is infinite is a text, or of a type of its own
                column[row] = number
            except (ValueError, OverflowError):
                faults.append((row, name, *self._wrong(entry)))
        return column

    def _tell(self, faults: list[Fault], piece: Piece, wanted: Wanted, block: Block) -> None:
        """Raise AgradError of kind `file` for the first fault; if faults are tolerated, mark the rows.

        A text in a column that is only copied does not affect the results: that is not tolerated.
        """
        ragged = {fault[0] for fault in faults if fault[1] is None}
        faults = [fault for fault in faults if fault[1] is None or fault[0] not in ragged]
        copied = [one for one in faults if one[1] is not None and one[1] not in wanted.numbers]
        row, name, reason, known = min(copied or faults, key=lambda one: one[0])
        message, place = (reason, None) if name is None else (f"column {name}: {reason}", self.names.index(name))
        span = self._span(block, self._row(block, row), place)
        facts = BadEntry(span.source.position(span.start)[0], place, bool(copied), **known)
        fixes = [FILL_IN] if reason is NOTHING and self.what == "CSV" else []  # JSON has no nan
        problem = AgradError("file", message, labels=[Label(span)], fixes=fixes, row=not copied, facts=facts)
        piece.refuse(problem, [fault[0] for fault in faults], wanted.tolerant and not copied)

    def _place(self, block: Block, row: int) -> dict[str, Any]:
        """Where a row is, for an error about it."""
        return {"labels": [Label(self._span(block, self._row(block, row), None))]}

    def _row(self, block: Block, number: int) -> Row:
        """A row of a block, read again: few rows fail."""
        return next(islice(self._rows(block), number, None))

    # Of each format

    def convert(self, entry: Any) -> float:
        """The number that an entry is, nan if it stands for a missing one. Raises ValueError for any other."""
        raise NotImplementedError

    def _rows(self, block: Block) -> Iterator[Row]:
        """The rows of a block. Raises AgradError of kind `file`."""
        raise NotImplementedError

    def _columns(self, rows: Sequence[Any], wanted: Wanted) -> Iterator[tuple[str, list[Any]]]:
        """The requested columns of the entries of some rows, by their names."""
        raise NotImplementedError

    def _ragged(self, rows: Sequence[Any]) -> Iterable[Fault]:
        """The rows with another number of entries than the first."""
        return ()

    def _copied(self, entries: list[Any]) -> list[str | None]:
        """A column of entries as texts."""
        return entries

    def _is_missing(self, entry: Any) -> bool:
        """Whether an entry stands for a missing number."""
        raise NotImplementedError

    def _wrong(self, entry: Any) -> tuple[str, dict[str, Any]]:
        """Why an entry is not a number, and what it may mean: facts of BadEntry."""
        raise NotImplementedError

    def _span(self, block: Block, row: Row, entry: int | None) -> Span:
        """The place of an entry of a row, or of the first line of the row."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Find the names of the columns. Raises AgradError of kind `file`."""
        raise NotImplementedError

    def _cut(self, data: bytes) -> int:
        """The offset after the last row that is complete; 0 if none is."""
        return data.rfind(b"\n") + 1

    def _skip(self, count: int) -> None:
        """Skip lines of the head. Raises AgradError of kind `file` if it has fewer."""
        parts = self.head.split(b"\n", count)
        if len(parts) <= count:
            raise AgradError("file", f"{self.path}: {count} lines cannot be skipped: the head has {len(parts)}")
        self.line, self.mark = self.line + count, self.mark + len(self.head) - len(parts[-1])
        self.head = parts[-1]

    def close(self) -> None:
        """See Table."""
        if self.own:
            self.source.close()

    def _blocks(self) -> Iterator[Block]:
        """The file, cut after ends of rows. Raises AgradError of kind `file`."""
        rest, line, done = b"", self.line, self.mark
        while data := self._read():
            done += len(data)
            data = rest + data
            cut = self._cut(data)
            if cut:
                yield Block(data[:cut], line, done)
                line += int(np.count_nonzero(np.frombuffer(data[:cut], np.uint8) == 10))  # faster than `bytes.count`
            elif len(data) > LONGEST:
                raise AgradError("file", f"line {line} of {self.path} does not end: is this a {self.what} file?")
            rest = data[cut:]
        if rest:
            yield Block(rest, line, done)

    def _line(self, block: Block, line: int, data: bytes) -> Span:
        """The place of some bytes, which begin at a line of a block."""
        text = data.decode("utf-8", "replace")
        return Span(Source(self.path, text, block.line + line, is_file=True), 0, len(text))

    def _read(self) -> bytes:
        data, self.head = self.head[: self.block], self.head[self.block :]
        return data if self.head else data + self._read_some(self.block - len(data))

    def _read_some(self, size: int) -> bytes:
        try:
            return self.file.read(size)
        except OSError as problem:
            raise unreadable(self.path, problem) from None
