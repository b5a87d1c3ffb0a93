"""Tables in files of text: read as streams of plain text, uncompressed, in UTF-8, in blocks of whole rows.

A file is compressed if it begins as gzip, Zstandard, bzip2 or xz do, whatever its name. pyarrow reads Zstandard.
"""

from __future__ import annotations

import codecs
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from io import BufferedReader, RawIOBase
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

from agrad.engine.data.tables import BYTES, Piece, Table, Wanted, pyarrow, require_pyarrow, unreadable
from agrad.engine.errors import AgradError, Hint, Source, Span
from agrad.engine.values import np

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
_MODULES = {"xz": "lzma"}  # where the name of one is not that of the compression
_UTF16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
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


def _streamed(pieces: Iterator[bytes]) -> BinaryIO:
    return BufferedReader(_Stream(pieces))


def ahead(first: bytes, rest: Any) -> BinaryIO:
    """A stream whose first bytes have been read, and are given again."""
    return _streamed(chain([first], iter(lambda: rest.read1(_PIECE), b"")))


def opened(path: str, stream: BinaryIO, given: str | None = None) -> tuple[BinaryIO, bool]:
    """A stream as plain UTF-8, and whether it was so already; `given`: its encoding, if it has no byte order mark.

    Raises AgradError of kind `file`.
    """
    at = stream.tell() if stream.seekable() else None  # standard input may be a file that was read before
    first = stream.read(16)
    for mark, (what, advice) in _OTHERS.items():
        if first.startswith(mark):
            raise AgradError("file", f"{path} is {what}, not text", fixes=[Hint(advice)])
    whole = ahead(first, stream)
    if kind := next((kind for mark, kind in _COMPRESSED.items() if first.startswith(mark)), ""):
        return opened(path, _streamed(_decompressed(path, whole, kind)), given)[0], False
    if encoding := next((name for mark, name in _UTF16.items() if first.startswith(mark)), given or ""):
        return _streamed(_recoded(path, whole, encoding)), False
    if at is None:
        return whole, True
    stream.seek(at)
    return stream, True


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
_HEAD = 2**15  # bytes of the head
_MARK = b"\xef\xbb\xbf"  # the byte order mark with which some programs begin UTF-8


class Block(NamedTuple):
    """Whole rows, the number of their first line, and how many bytes of the file have been read with them."""

    data: bytes
    line: int
    done: int


class TextTable(Table):
    """A file of text, or a stream that is called `path`. `block`: bytes to read at once."""

    what = "CSV"
    fast: bool  # whether pyarrow may read it
    first: Block | None  # which `_begin` has read

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
            self.file, is_plain = opened(self.path, self.source, encoding)
            if not is_plain:
                self.total = None  # since it is counted in bytes that are not compressed
            self.head = self._read_some(_HEAD)
            self.ended = len(self.head) < _HEAD
            self.line, self.mark = 1, len(_MARK) if self.head.startswith(_MARK) else 0
            self.head = self.head[self.mark :]
            self.blocks = self._blocks()
            self._begin()
        except (AgradError, OSError) as problem:
            self.close()
            raise problem if isinstance(problem, AgradError) else unreadable(self.path, problem) from None

    def parts(self, wanted: Wanted) -> Iterator[Block]:
        """See Table."""
        yield from chain([self.first] if self.first is not None else [], self.blocks)

    def piece(self, part: Block, wanted: Wanted) -> Piece:
        """See Table."""
        return (self._by_arrow(part, wanted) if self.fast else None) or self._by_hand(part, wanted)

    def _by_arrow(self, block: Block, wanted: Wanted) -> Piece | None:
        """What pyarrow reads; None if it is not installed, or finds something else than is wanted."""
        try:
            pa = pyarrow()
            table = self._table_of_arrow(pa, block, wanted)
        except ImportError:
            return None
        except pa.ArrowException:
            return None
        if table is None:
            return None
        piece = Piece({}, table.num_rows, block.done, lambda row: self._place(block, row))
        for name, column in zip(wanted.names, table.columns, strict=False):
            piece.columns[name] = column if wanted.is_text(name) else column.to_numpy()
            piece.missing += column.null_count
        return piece

    def _table_of_arrow(self, pa: Any, block: Block, wanted: Wanted) -> Any:
        """The wanted columns as a table of pyarrow, or None."""
        raise NotImplementedError

    def _by_hand(self, block: Block, wanted: Wanted) -> Piece:
        """The same, by Python. Raises AgradError of kind `file`, with the place."""
        raise NotImplementedError

    def _place(self, block: Block, row: int) -> dict[str, Any]:
        """Where a row is, for an error about it: found only then, since few rows fail."""
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
                line += lines_of(data[:cut])
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


def lines_of(data: bytes) -> int:
    """How many lines end in some bytes; numpy counts them in a third of the time that `bytes.count` takes."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))
