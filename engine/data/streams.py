"""Files as streams of plain text: uncompressed, in UTF-8.

A file is compressed if it begins as gzip, Zstandard, bzip2 or xz do, whatever its name. pyarrow reads Zstandard.
"""

from __future__ import annotations

import os
import zlib
from typing import Any, BinaryIO, cast

from agrad.engine.data.arrow import require_pyarrow
from agrad.engine.errors import AgradError, Hint

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
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
_ENDINGS = (".gz", ".zst", ".zstd", ".bz2", ".xz")  # of names of compressed files


def ending_of(path: str) -> str:
    """The extension of a name in small letters, without that of a compression: `.csv` of `a.CSV.gz`."""
    stem, ending = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if ending in _ENDINGS else ending


class Ahead:
    """A stream whose first bytes have been read, and are given again; who opened the stream closes it."""

    closed = False

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self.first, self.rest = first, rest

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """See `io.RawIOBase`; as many bytes as asked for, up to the end."""
        if not self.first:
            return self.rest.read(size)
        if size < 0:
            data, self.first = self.first + self.rest.read(), b""
            return data
        data, self.first = self.first[:size], self.first[size:]
        return data + self.rest.read(size - len(data)) if len(data) < size and not self.first else data

    def seekable(self) -> bool:
        """No."""
        return False

    def close(self) -> None:
        """Nothing is held here."""


def opened(path: str, stream: BinaryIO, given: str | None = None) -> tuple[BinaryIO, bool]:
    """A stream as plain UTF-8, and whether it was so already; `given`: its encoding, if it has no byte order mark.

    Raises AgradError of kind `file`.
    """
    at = stream.tell() if stream.seekable() else None  # standard input may be a file that was read before
    first = stream.read(16)
    for mark, (what, advice) in _OTHERS.items():
        if first.startswith(mark):
            raise AgradError("file", f"{path} is {what}, not text", fixes=[Hint(advice)])
    ahead = cast("BinaryIO", Ahead(first, stream))
    if kind := next((kind for mark, kind in _COMPRESSED.items() if first.startswith(mark)), ""):
        inner, _ = opened(path, cast("BinaryIO", _Checked(path, kind, _decompressed(path, ahead, kind))), given)
        return inner, False
    if encoding := next((name for mark, name in _UTF16.items() if first.startswith(mark)), given or ""):
        return cast("BinaryIO", _Recoded(path, ahead, encoding)), False
    if at is None:
        return ahead, True
    stream.seek(at)
    return stream, True


def _decompressed(path: str, stream: BinaryIO, kind: str) -> Any:
    if kind == "gzip":
        import gzip  # here, as below: few files are compressed

        return gzip.GzipFile(fileobj=stream, mode="rb")
    if kind == "bz2":
        import bz2

        return bz2.BZ2File(stream)
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(stream)
    pa = require_pyarrow(f"reading {path}")
    return pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")


class _Checked:
    """A stream of what is uncompressed. Damage raises AgradError of kind `file`."""

    def __init__(self, path: str, kind: str, stream: Any) -> None:
        self.path, self.kind, self.stream = path, kind, stream
        self.done = 0

    def seekable(self) -> bool:
        """No."""
        return False

    def read(self, size: int = -1) -> bytes:
        """See `io.RawIOBase`; as many bytes as asked for, up to the end."""
        parts, left = [], size
        try:
            while left and (data := self.stream.read(left)):
                parts.append(bytes(data))
                left -= len(data)
        except (OSError, EOFError, ValueError, zlib.error, ImportError) as problem:
            raise self._damaged(problem) from None
        except Exception as problem:  # LZMAError is known by its name: a Python may be built without lzma
            if type(problem).__name__ != "LZMAError":
                raise
            raise self._damaged(problem) from None
        found = b"".join(parts)
        self.done += len(found)
        return found

    def _damaged(self, problem: Exception) -> AgradError:
        reason = (str(problem) or type(problem).__name__).splitlines()[0].rstrip(".")
        message = f"{self.path} is damaged or incomplete after {self.done} bytes uncompressed by {self.kind}"
        return AgradError("file", f"{message}: {reason}")


class _Recoded:
    """Text in another encoding, as UTF-8. Raises AgradError of kind `file` where it is not in that encoding."""

    def __init__(self, path: str, stream: BinaryIO, encoding: str) -> None:
        import codecs

        self.path, self.stream, self.encoding = path, stream, encoding
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.left = b""

    def read(self, size: int = -1) -> bytes:
        """See `io.RawIOBase`."""
        data = self.left
        while size < 0 or len(data) < size:
            coded = self.stream.read(2**16)
            try:
                data += self.decoder.decode(coded, not coded).encode()
            except UnicodeError as problem:
                raise AgradError("file", f"{self.path} is not {self.encoding.upper()} text: {problem}") from None
            if not coded:
                break
        if size < 0:
            self.left = b""
            return data
        self.left = data[size:]
        return data[:size]
