"""Tables in files of text, read in blocks of whole rows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from agrad.engine.data import streams
from agrad.engine.data.tables import BYTES, Table, unreadable
from agrad.engine.errors import AgradError
from agrad.engine.values import np

LONGEST = 2**26  # bytes of a row
_HEAD = 2**15  # bytes of the head
_MARK = b"\xef\xbb\xbf"  # the byte order mark with which some programs begin UTF-8


@dataclass(slots=True)
class Block:
    """Whole rows, the number of their first line, and how many bytes of the file have been read with them."""

    data: bytes
    line: int
    done: int


class TextTable(Table):
    """A file of text, or a stream that is called `path`. `block`: bytes to read at once."""

    what = "CSV"

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
            self.file, is_plain = streams.opened(self.path, self.source, encoding)
            if not is_plain:
                self.total = None  # since it is counted in bytes that are not compressed
            self.head = self._read_some(_HEAD)
            self.ended = len(self.head) < _HEAD
            self.line, self.mark = 1, len(_MARK) if self.head.startswith(_MARK) else 0
            self.head = self.head[self.mark :]
            self._begin()
        except AgradError:
            self.close()
            raise
        except OSError as problem:
            self.close()
            raise unreadable(self.path, problem) from None

    def _begin(self) -> None:
        """Find the names of the columns. Raises AgradError of kind `file`."""
        raise NotImplementedError

    def _cut(self, data: bytes) -> int:
        """The offset after the last row that is complete; 0 if none is."""
        return data.rfind(b"\n") + 1

    def _skip(self, count: int) -> None:
        """Skip lines of the head. Raises AgradError of kind `file` if it has fewer."""
        for _ in range(count):
            cut = self.head.find(b"\n") + 1
            if not cut:
                raise AgradError("file", f"{self.path}: {count} lines cannot be skipped: the head has {self.line}")
            self.head, self.line, self.mark = self.head[cut:], self.line + 1, self.mark + cut

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

    def _read(self) -> bytes:
        if not self.head:
            return self._read_some(self.block)
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
