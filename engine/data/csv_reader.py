"""CSV, in blocks that end at the end of a row: for `load_csv`, `chunks`, `map` and `x=@data.csv:speed` alike.

pyarrow reads a block if it is installed. Otherwise, and if pyarrow refuses a block, the `csv` module reads it, which
knows the place of each entry. Both find the same numbers.

The rules: an entry may be quoted, with line breaks inside; lines end with LF or CR LF; a byte order mark and lines
without entries are skipped; every row has as many entries as the first. `dialect` finds the delimiter, the decimal mark
and comments, `streams` reads what is compressed. The first row names the columns if an entry of it is not a number. If
columns are identified by their places, not by their names, a first row in which some entries are numbers is data: a
wrong entry in it is then an error, and no row is lost.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, BinaryIO, TypeAlias

from agrad.engine.data import dialect
from agrad.engine.data.arrow import WIDE, pyarrow
from agrad.engine.data.dialect import TextForm
from agrad.engine.data.source import Source, Span
from agrad.engine.data.streams import OFTEN
from agrad.engine.data.tables import (
    BYTES,
    FILL_IN,
    MISSING,
    NOTHING,
    Column,
    Piece,
    Wanted,
    column_names,
    names_given,
)
from agrad.engine.data.text_table import LONGEST, Block, TextTable, lines_of
from agrad.engine.errors import AgradError, BadEntry, Label, OtherForm
from agrad.engine.text import truncate
from agrad.engine.values import Array, np

LARGE = 2**20  # bytes of a file: reading it takes longer than importing pyarrow
_QUOTES = 4 * BYTES  # in which a quote must end; until then a line break may belong to an entry
_DAMAGED = "this is not UTF-8 text"
_SHOWN = 20  # characters of an entry in a message
_PAYLOAD = re.compile(rb"\((?<=[nN][aA][nN]\()")  # as in nan(1), which is a number for pyarrow, but not for Python

_Fault: TypeAlias = "tuple[int, int | None, str]"  # a row, which entry (None: their number is wrong), the reason
_Row: TypeAlias = "tuple[int, list[str], int]"  # the line it begins at, from 0, its entries, where the next one begins


class CsvTable(TextTable):
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
        form: TextForm | None = None,
    ) -> None:
        self.given, self.form = given, form or TextForm()
        super().__init__(path, stream, block or BYTES, self.form.encoding)
        self.fast = self.size >= LARGE if fast is None else fast

    def _begin(self) -> None:
        """See TextTable."""
        self.dialect = dialect.find(self.head, self.form, self.ended)
        self._skip(self.dialect.skip)
        self.blocks = self._blocks()
        self.first = next((block for block in self.blocks if next(self._filled(block), None)), None)
        self._find_names(self.given)

    def _find_names(self, given: Sequence[str]) -> None:
        """Remove the names in the first row, if it has them, from the first block."""
        first = self.first
        found = next(self._filled(first), None) if first is not None else None
        if first is None or found is None:
            raise AgradError("file", f"{self.path} is empty")
        if b"\r" in first.data and b"\n" not in first.data:
            raise AgradError("file", f"{self.path} ends its lines with \\r alone, as old Macs did: write it with \\n")
        line, entries, lines = found
        numbers = [self.dialect.number(entry) is not None for entry in entries]
        head = (not any(numbers) if given else not all(numbers)) if self.form.header is None else self.form.header
        if self.dialect.names and not given and len(entries) == len(self.dialect.names):
            self.names, self.width = list(self.dialect.names), len(entries)
            return
        if head and any(map(_is_damaged, entries)):
            message = f"cannot read {self.path}: line {line + 1} is not UTF-8 text"
            raise AgradError("file", message, facts=OtherForm("encoding", (OFTEN,)))
        if head and given:
            raise names_given(self.path)
        self.width = len(entries)
        self.unsure = head and any(numbers) and self.form.header is None
        if not head:
            self.names, self.nameless = column_names(self.path, self.width, given), not given
        else:
            self.names = [entry.strip() for entry in entries]
            data = first.data
            for _ in range(lines):
                data = data[data.find(b"\n") + 1 :] if b"\n" in data else b""
            self.first = Block(data, first.line + lines, first.done)

    def _cut(self, data: bytes) -> int:
        """See TextTable."""
        return _end_of_rows(data)

    def parts(self, wanted: Wanted) -> Iterator[Block]:
        """See Table."""
        yield from chain([self.first] if self.first is not None else [], self.blocks)

    def piece(self, part: Block, wanted: Wanted) -> Piece:
        """See Table."""
        self._require_comments(part)
        return (self._by_arrow(part, wanted) if self.fast else None) or self._by_hand(part, wanted)

    def _require_comments(self, block: Block) -> None:
        """Refuse a line that begins with #, and may be a row, since the first column has texts. Raises AgradError."""
        at = self.dialect.doubtful(block.data, self.width)
        if at is not None:
            line = block.line + lines_of(block.data[:at])
            text = block.data[at:].splitlines()[0].decode("utf-8", "replace")
            message = "this line may be a comment, or a row whose first entry begins with #"
            label = Label(Span(Source(self.path, text, line, is_file=True), 0, len(text)))
            raise AgradError("file", message, labels=[label], facts=OtherForm("comments", ("#", "none")))

    def texts(self) -> set[str]:
        """See Table: those whose first entry that is not empty is no number."""
        found, left = set(), dict(enumerate(self.names))
        for _, entries, _ in self._filled(self.first) if self.first is not None else ():
            for place, name in list(left.items()):
                entry = entries[place] if place < len(entries) else ""
                if entry.strip() and entry.strip() not in self.dialect.na:
                    del left[place]
                    if self.dialect.number(entry) is None:
                        found.add(name)
            if not left:
                break
        return found | set(left.values())

    def matrix(self, block: Block, wanted: Wanted) -> Array:
        """Columns of numbers in a part, side by side. Raises AgradError of kind `file`."""
        self._require_comments(block)
        piece = self._by_arrow(block, wanted) if self.fast else None
        if piece is None and wanted.numbers == self.names:
            numbers = array("d")
            with suppress(ValueError):  # of an entry that is not a number, or a row of another length
                for _, entries, _ in self._filled(block):
                    if len(entries) != self.width:
                        raise ValueError
                    numbers.extend(map(self.convert, entries))
                return np.frombuffer(numbers).reshape(-1, self.width)
        piece = piece or self._by_hand(block, wanted)  # which finds the place of what is no number
        return np.column_stack([piece.columns[name] for name in wanted.numbers])

    def _by_arrow(self, block: Block, wanted: Wanted) -> Piece | None:
        """The columns that pyarrow reads; None if it is not installed, or finds an entry that is not a number."""
        try:
            pa, fast = pyarrow(), pyarrow("csv")
        except ImportError:
            return None
        if (b"(" in block.data and _PAYLOAD.search(block.data)) or block.data.startswith(b"\xef\xbb\xbf"):
            return None  # pyarrow would drop such a mark from the first entry of each block
        places = self._places(wanted)
        data = self.dialect.plain(block.data) if len(places) <= WIDE else None
        if data is None:
            return None
        kinds = {str(place): wanted.is_text(name) for name, place in places.items()} or {"0": True}
        try:
            table = fast.read_csv(
                pa.BufferReader(data),
                fast.ReadOptions(
                    use_threads=False, block_size=len(data) + 1, column_names=list(map(str, range(self.width)))
                ),
                fast.ParseOptions(delimiter=self.dialect.sign, newlines_in_values=b'"' in data),
                fast.ConvertOptions(
                    include_columns=list(kinds),
                    column_types={place: pa.string() if text else pa.float64() for place, text in kinds.items()},
                    null_values=list(self.dialect.na),
                    decimal_point=self.dialect.decimal,
                ),
            )
        except pa.ArrowException:
            return None
        piece = Piece({}, table.num_rows, block.done, lambda row: self._place(block, row))
        for name, place in places.items():
            column = table[str(place)]
            piece.columns[name] = column if wanted.is_text(name) else column.to_numpy()
            piece.missing += column.null_count
        return piece

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
            if self.dialect.na and not wanted.is_text(name):
                piece.missing += sum(text.strip() in self.dialect.na for text in texts)
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
            return np.array(list(map(self.convert, texts)), dtype=np.float64)
        except ValueError:
            pass
        column = np.full(len(texts), np.nan)
        for row, text in enumerate(texts):
            number = self.dialect.number(text)
            if number is not None:
                column[row] = number
            elif _is_damaged(text):
                faults.append((row, place, _DAMAGED))
            else:
                faults.append((row, place, self._reason(text.strip())))
        return column

    @property
    def convert(self) -> Callable[[str], float]:
        """Makes a number of an entry, or raises ValueError."""
        return float if self.dialect.decimal == "." and not self.dialect.na else self.dialect.strict

    def _reason(self, text: str) -> str:
        """Why an entry is not a number."""
        if not text:
            return NOTHING
        reason = f'"{truncate(text, _SHOWN)}" is not a number'
        if self.dialect.other(text):
            reason += f": the decimal mark is a {'comma' if self.dialect.decimal == ',' else 'point'}"
        elif self.dialect.has_thousands(text):
            reason += ": signs between thousands are not read"
        return reason

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
        text = rows[row][1][entry].strip() if entry is not None else "?"
        problem = AgradError(
            "file",
            reason if entry is None else f"column {self.names[entry]}: {reason}",
            labels=[Label(span)],
            fixes=[FILL_IN] if reason is NOTHING else [],
            row=not copied,
            facts=BadEntry(
                span.source.position(span.start)[0],
                entry,
                bool(copied),
                self.dialect.other(text) if entry is not None else "",
                text if entry is not None and (text in MISSING or not text) else None,
                reason is _DAMAGED,
            ),
        )
        if copied or not wanted.tolerant:
            raise problem
        piece.problem, piece.bad = problem, np.zeros(len(rows), dtype=np.bool_)
        piece.bad[[row for row, _, _ in faults]] = True

    def _filled(self, block: Block) -> Iterator[_Row]:
        """The rows of a block that are not empty lines. Raises AgradError of kind `file`."""
        try:
            for row in self._rows(block.data):
                if row[1] and not (len(row[1]) == 1 and row[1][0].isspace()):
                    yield row
        except csv.Error as problem:
            raise AgradError("file", f"cannot read {self.path} after line {block.line}: {problem}") from None

    def _rows(self, data: bytes) -> Iterator[_Row]:
        """All rows of some lines. Entries over 128 kB are taken only if Python is told so, for the whole process."""
        if csv.field_size_limit() < min(len(data), LONGEST):
            csv.field_size_limit(LONGEST)
        return self.dialect.rows(data.decode("utf-8", "surrogateescape"))

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
        start, end = (0, len(text)) if entry is None else self._extent(text, entry)
        return Span(source, start, end)

    def _extent(self, text: str, entry: int) -> tuple[int, int]:
        """Where an entry of a line begins and ends, without the spaces around it."""
        extents = self.dialect.extents(text)
        start, end = extents[min(entry, len(extents) - 1)]
        inside = text[start:end]
        return start + len(inside) - len(inside.lstrip()), max(start + len(inside.rstrip()), start)


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


def _is_damaged(text: str) -> bool:
    """Whether a text has bytes that are not UTF-8, as `surrogateescape` keeps them."""
    return any("\udc80" <= character <= "\udcff" for character in text)
