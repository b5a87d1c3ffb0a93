"""CSV, in blocks that end at the end of a row: for `load_csv`, `chunks`, `map` and `x=@data.csv:speed` alike.

pyarrow reads a block if it is installed. Otherwise, and if pyarrow refuses a block, the `csv` module reads it, which
knows the place of each entry. Both find the same numbers.

The rules: an entry may be quoted, with line breaks inside; lines end with LF or CR LF; a byte order mark and lines
without entries are skipped; every row has as many entries as the first. The first row names the columns if an entry
of it is not a number. If columns are identified by their places, not by their names, a first row in which some
entries are numbers is data: a wrong entry in it is then an error, and no row is lost.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO, TypeAlias

from agrad.engine.data.arrow import WIDE, pyarrow
from agrad.engine.data.source import Source, Span
from agrad.engine.data.tables import (
    BYTES,
    FILL_IN,
    NOTHING,
    Column,
    Piece,
    Table,
    Wanted,
    column_names,
    names_given,
    unreadable,
)
from agrad.engine.errors import AgradError, BadEntry, Label
from agrad.engine.text import truncate
from agrad.engine.values import Array, np

LARGE = 2**20  # bytes of a file: reading it takes longer than importing pyarrow
_LONGEST = 2**26  # bytes of a row
_QUOTES = 4 * BYTES  # in which a quote must end; until then a line break may belong to an entry
_SHOWN = 20  # characters of an entry in a message
_MARK = b"\xef\xbb\xbf"  # the byte order mark with which some programs begin UTF-8
_PAYLOAD = re.compile(rb"\((?<=[nN][aA][nN]\()")  # as in nan(1), which is a number for pyarrow, but not for Python

_Fault: TypeAlias = "tuple[int, int | None, str]"  # a row, which entry (None: their number is wrong), the reason
_Row: TypeAlias = "tuple[int, list[str], int]"  # the line it begins at, from 0, its entries, where the next one begins


@dataclass(slots=True)
class Block:
    """Whole rows, the number of their first line, and how many bytes of the file have been read with them."""

    data: bytes
    line: int
    done: int


class CsvTable(Table):
    """A CSV file, or a stream of CSV that is called `path`. `given`: names for columns that have none.

    `block`: bytes to read at once. `fast`: whether pyarrow may read them; None: if the file is large.
    """

    def __init__(
        self,
        path: str,
        given: Sequence[str] = (),
        stream: BinaryIO | None = None,
        *,
        block: int = 0,
        fast: bool | None = True,
    ) -> None:
        super().__init__(path)
        self.own = stream is None
        self.block = block or BYTES
        self.fast = self.size >= LARGE if fast is None else fast
        try:
            self.file = open(path, "rb") if stream is None else stream  # noqa: SIM115 - read piece by piece
        except (OSError, ValueError) as problem:
            raise unreadable(self.path, problem) from None
        with suppress(OSError, ValueError):  # a standard input that is not a file of the system
            status = os.fstat(self.file.fileno())
            self.total = status.st_size if stat.S_ISREG(status.st_mode) else None
        try:
            self.blocks = self._blocks()
            self.first = next(self.blocks, None)
            self._find_names(given)
        except AgradError:
            self.close()
            raise

    def close(self) -> None:
        """See Table."""
        if self.own:
            self.file.close()

    def _find_names(self, given: Sequence[str]) -> None:
        """Remove the names in the first row, if it has them, from the first block."""
        first = self.first
        found = next(self._filled(first), None) if first is not None else None
        if first is None or found is None:
            raise AgradError("file", f"{self.path} is empty")
        if b"\r" in first.data and b"\n" not in first.data:
            raise AgradError("file", f"{self.path} ends its lines with \\r alone, as old Macs did: write it with \\n")
        line, entries, lines = found
        numbers = [_number(entry) is not None for entry in entries]
        head = not any(numbers) if given else not all(numbers)
        if head and any(map(_is_damaged, entries)):
            raise AgradError("file", f"cannot read {self.path}: line {line + 1} is not UTF-8 text")
        if head and given:
            raise names_given(self.path)
        self.width = len(entries)
        self.unsure = first if head and any(numbers) else None  # the block in which that row may be one of data
        if not head:
            self.names, self.nameless = column_names(self.path, self.width, given), not given
        else:
            self.names = [entry.strip() for entry in entries]
            data = first.data
            for _ in range(lines):
                data = data[data.find(b"\n") + 1 :] if b"\n" in data else b""
            self.first = Block(data, first.line + lines, first.done)

    def use_places(self) -> None:
        """Identify columns by their places: a first row in which some entries are numbers is data then."""
        if self.unsure is not None:
            self.first, self.unsure = self.unsure, None
            self.names, self.nameless = column_names(self.path, self.width, ()), True

    def _blocks(self) -> Iterator[Block]:
        """The file, cut after ends of rows. Raises AgradError of kind `file`."""
        rest, line, done = b"", 1, 0
        while data := self._read():
            if not done:
                data = data.removeprefix(_MARK)
            done += len(data)
            data = rest + data
            cut = _end_of_rows(data)
            if cut:
                yield Block(data[:cut], line, done)
                line += _lines(data[:cut])
            elif len(data) > _LONGEST:
                raise AgradError("file", f"line {line} of {self.path} does not end: is this a CSV file?")
            rest = data[cut:]
        if rest:
            yield Block(rest, line, done)

    def _read(self) -> bytes:
        try:
            return self.file.read(self.block)
        except OSError as problem:
            raise unreadable(self.path, problem) from None

    def parts(self, wanted: Wanted) -> Iterator[Block]:
        """See Table."""
        yield from chain([self.first] if self.first is not None else [], self.blocks)

    def piece(self, part: Block, wanted: Wanted) -> Piece:
        """See Table."""
        return (self._by_arrow(part, wanted) if self.fast else None) or self._by_hand(part, wanted)

    def places_of_numbers(self) -> list[int]:
        """The numbers, from 0, of the columns in whose first row there is a number."""
        row = next(self._filled(self.first), None) if self.first is not None else None
        entries = row[1][: self.width] if row is not None else []
        return [place for place, entry in enumerate(entries) if _number(entry) is not None]

    def matrix(self, block: Block, wanted: Wanted) -> Array:
        """Columns of numbers in a part, side by side. Raises AgradError of kind `file`."""
        piece = self._by_arrow(block, wanted) if self.fast else None
        if piece is None and wanted.numbers == self.names:
            numbers = array("d")
            with suppress(ValueError):  # of an entry that is not a number, or a row of another length
                for _, entries, _ in self._filled(block):
                    if len(entries) != self.width:
                        raise ValueError
                    numbers.extend(map(float, entries))
                return np.frombuffer(numbers).reshape(-1, self.width)
        piece = piece or self._by_hand(block, wanted)  # which finds the place of what is no number
        return np.column_stack([piece.columns[name] for name in wanted.numbers])

    def _by_arrow(self, block: Block, wanted: Wanted) -> Piece | None:
        """The columns that pyarrow reads; None if it is not installed, or finds an entry that is not a number."""
        try:
            pa, fast = pyarrow(), pyarrow("csv")
        except ImportError:
            return None
        if (b"(" in block.data and _PAYLOAD.search(block.data)) or block.data.startswith(_MARK):
            return None  # pyarrow would drop such a mark from the first entry of each block
        places = self._places(wanted)
        if len(places) > WIDE:
            return None
        kinds = {str(place): wanted.is_text(name) for name, place in places.items()} or {"0": True}
        try:
            table = fast.read_csv(
                pa.BufferReader(block.data),
                fast.ReadOptions(
                    use_threads=False, block_size=len(block.data) + 1, column_names=list(map(str, range(self.width)))
                ),
                fast.ParseOptions(newlines_in_values=b'"' in block.data),
                fast.ConvertOptions(
                    include_columns=list(kinds),
                    column_types={place: pa.string() if text else pa.float64() for place, text in kinds.items()},
                    null_values=[],
                ),
            )
        except pa.ArrowException:
            return None
        columns: dict[str, Column] = {}
        for name, place in places.items():
            column = table[str(place)]
            columns[name] = column if wanted.is_text(name) else column.to_numpy()
        return Piece(columns, table.num_rows, block.done, lambda row: self._place(block, row))

    def _by_hand(self, block: Block, wanted: Wanted) -> Piece:
        """The same, one entry at a time where necessary. Raises AgradError of kind `file`, with the place."""
        rows = list(self._filled(block))
        piece = Piece({}, len(rows), block.done, lambda row: self._place(block, row))
        faults: list[_Fault] = []
        for row, (_, entries, _) in enumerate(rows):
            if len(entries) != self.width:
                count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
                faults.append((row, None, f"{count}, not {self.width}"))
                entries += [""] * (self.width - len(entries))
        for name, place in self._places(wanted).items():
            texts = [entries[place] for _, entries, _ in rows]
            piece.columns[name] = texts if wanted.is_text(name) else self._numbers(place, texts, faults)
        if faults:
            self._tell(faults, piece, wanted, block, rows)
        return piece

    def _places(self, wanted: Wanted) -> dict[str, int]:
        """The requested columns, and their numbers from 0."""
        places = {name: place for place, name in enumerate(self.names)}
        return {name: places[name] for name in wanted.names}

    def _numbers(self, place: int, texts: list[str], faults: list[_Fault]) -> Column:
        """A column of numbers; an entry that is not one becomes nan, and a fault."""
        try:
            return np.array(list(map(float, texts)), dtype=np.float64)
        except ValueError:
            pass
        column = np.full(len(texts), np.nan)
        for row, text in enumerate(texts):
            number = _number(text)
            if number is not None:
                column[row] = number
            elif _is_damaged(text):
                faults.append((row, place, "this is not UTF-8 text"))
            else:
                text = text.strip()
                faults.append((row, place, f'"{truncate(text, _SHOWN)}" is not a number' if text else NOTHING))
        return column

    def _tell(self, faults: list[_Fault], piece: Piece, wanted: Wanted, block: Block, rows: list[_Row]) -> None:
        """Raise AgradError of kind `file` for the first fault; if faults are tolerated, mark the rows.

        A text in a column that is only copied does not affect the results: that is not tolerated.
        """
        ragged = {row for row, entry, _ in faults if entry is None}
        faults = sorted(
            (fault for fault in faults if fault[1] is None or fault[0] not in ragged), key=lambda one: one[0]
        )
        copied = [one for one in faults if one[1] is not None and self.names[one[1]] not in wanted.numbers]
        row, entry, reason = copied[0] if copied else faults[0]
        span = self._span(block, rows[row], entry)
        problem = AgradError(
            "file",
            reason if entry is None else f"column {self.names[entry]}: {reason}",
            labels=[Label(span)],
            fixes=[FILL_IN] if reason is NOTHING else [],
            row=not copied,
            facts=BadEntry(span.source.position(span.start)[0], entry, bool(copied)),
        )
        if copied or not wanted.tolerant:
            raise problem
        piece.problem, piece.bad = problem, np.zeros(len(rows), dtype=np.bool_)
        piece.bad[[row for row, _, _ in faults]] = True

    def _filled(self, block: Block) -> Iterator[_Row]:
        """The rows of a block that are not empty lines. Raises AgradError of kind `file`."""
        try:
            for row in _rows(block.data):
                if row[1] and not (len(row[1]) == 1 and row[1][0].isspace()):
                    yield row
        except csv.Error as problem:
            raise AgradError("file", f"cannot read {self.path} after line {block.line}: {problem}") from None

    def _place(self, block: Block, row: int) -> dict[str, Any]:
        """Where a row is, for an error about it: found only then, since few rows fail."""
        found = next(islice(self._filled(block), row, None))
        return {"labels": [Label(self._span(block, found, None))]}

    def _span(self, block: Block, row: _Row, entry: int | None) -> Span:
        """The place of an entry of a row in a block, or of the first line of the row."""
        line, _, behind = row
        lines = block.data.splitlines(keepends=True)[line : behind if entry is not None else line + 1]
        text = b"".join(lines).decode("utf-8", "replace").rstrip("\r\n")
        source = Source(self.path, text, block.line + line, is_file=True)
        start, end = (0, len(text)) if entry is None else _extent(text, entry)
        return Span(source, start, end)


def _end_of_rows(data: bytes) -> int:
    """The offset after the last line break outside quotes; 0 if there is none."""
    cut = data.rfind(b"\n") + 1
    if b'"' not in data:
        return cut
    odd = data.count(b'"', 0, cut) % 2
    while cut and odd:
        before = data.rfind(b"\n", 0, cut - 1) + 1
        odd ^= data.count(b'"', before, cut) % 2
        cut = before
    if not cut and len(data) > _QUOTES:  # a quote inside an entry, as in 5" wide
        return data.rfind(b"\n") + 1
    return cut


def _lines(data: bytes) -> int:
    """How many lines end in some bytes; numpy counts them in a third of the time that `bytes.count` takes."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))


def _rows(data: bytes) -> Iterator[_Row]:
    """All rows of some lines. Entries over 128 kB are taken only if Python is told so, for the whole process."""
    if csv.field_size_limit() < min(len(data), _LONGEST):
        csv.field_size_limit(_LONGEST)
    reader = csv.reader(io.StringIO(data.decode("utf-8", "surrogateescape"), newline=""))
    line = 0
    for entries in reader:
        yield line, entries, reader.line_num
        line = reader.line_num


def _extent(text: str, entry: int) -> tuple[int, int]:
    """Where an entry of a line begins and ends, without the spaces around it."""
    starts, quoted = [0], False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            starts.append(place + 1)
    starts.append(len(text) + 1)
    start, end = starts[min(entry, len(starts) - 2)], starts[min(entry + 1, len(starts) - 1)] - 1
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), max(start + len(inside.rstrip()), start)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_damaged(text: str) -> bool:
    """Whether a text has bytes that are not UTF-8, as `surrogateescape` keeps them."""
    return any("\udc80" <= character <= "\udcff" for character in text)
