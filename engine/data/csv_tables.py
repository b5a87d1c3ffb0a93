"""CSV, in blocks that end at the end of a row: for `load_csv`, `chunks`, `map` and `x=@data.csv:speed` alike.

pyarrow reads a block if it is installed. Otherwise, and if pyarrow refuses a block, the `csv` module reads it, which
knows the place of each entry. Both find the same numbers.

The rules: an entry may be quoted, with line breaks inside; lines end with LF or CR LF; a byte order mark and lines
without entries are skipped, as are lines that begin with `#`, which are comments; every row has as many entries as the
first. The first row names the columns if an entry of it is not a number. If columns are identified by their places, not
by their names, a first row in which some entries are numbers is data: a wrong entry in it is then an error, and no row
is lost.

The delimiter and the decimal mark, where they are not given, are found in the first lines of the file, the head:

* A delimiter is `;`, a tab, `,`, `|` or blanks. Those are possible that divide the rows of the head into the same
  number of entries, two or more. Of these the one counts for which most of the entries after the first row are
  numbers, with either decimal mark; of equals, the first in this order. If none is possible, the one that most rows
  agree on. A first line `sep=;`, as Excel writes it, gives the delimiter.
* The decimal mark is a comma if the head has numbers with a comma, and none with a point; it is a point otherwise. If
  all of its numbers with a comma could be whole numbers with their thousands grouped, as in 12,345, it is a comma only
  between semicolons, which programs write where the decimal mark is a comma.
  In a file of one column it is never found to be a comma.

A row after the head that contradicts these is refused where its entries are read.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import nan
from typing import Any, BinaryIO, TypeAlias

from agrad.engine.data.tables import (
    BYTES,
    FILL_IN,
    MISSING,
    NOTHING,
    WIDE,
    Column,
    Piece,
    Wanted,
    column_names,
    names_given,
    pyarrow,
)
from agrad.engine.data.text_tables import LONGEST, OFTEN, Block, TextTable, lines_of
from agrad.engine.errors import AgradError, BadEntry, Label, OtherForm, Span
from agrad.engine.text import truncate
from agrad.engine.values import Array, np

BLANKS = " "  # the delimiter that stands for any number of spaces and tabs
_ORDER = (";", "\t", ",", "|", BLANKS)
_NAMES = {"tab": "\t", "\\t": "\t", "blanks": BLANKS, "blank": BLANKS, "space": BLANKS, "comma": ",", "semicolon": ";"}
_ROWS = 200  # of the head, that choose the delimiter
_SEPARATOR = re.compile(r'"?sep=([^"\r\n])"?[ \t;,]*\r?\n?')
_COMMENT = re.compile(rb"(?m)^[ \t]*#[^\n]*(?:\n|\Z)")
_WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|\Z)|(\S+)')
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_WITH_THOUSANDS = re.compile(
    r"[-+]?\d{1,3}(?:(?:,\d{3})+(?:\.\d*)?|(?:\.\d{3})+(?:,\d*)?|(?:[' \u202f\xa0]\d{3})+(?:[.,]\d*)?)"
)
_WITH_COMMA = re.compile(rf"[+-]?(?:\d+,\d*|,\d+){_EXPONENT}")
_WITH_POINT = re.compile(rf"[+-]?(?:\d+\.\d*|\.\d+){_EXPONENT}")
_BOTH = "a comma cannot be both the delimiter and the decimal mark"
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")


@dataclass(slots=True)
class TextForm:
    """What a caller says about a file of text; None: it is found in the file.

    `skip`: lines at its beginning. `header`: whether the first row has the names of the columns. `na`: the entries that
    stand for missing numbers, which are read as nan. `encoding`: as Python's codecs name it.
    """

    delimiter: str | None = None
    decimal: str | None = None
    comments: str | None = None
    skip: int = 0
    header: bool | None = None
    na: tuple[str, ...] = ()
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            self.delimiter = _NAMES.get(self.delimiter, self.delimiter)
            if len(self.delimiter) != 1 or self.delimiter in '"\r\n#' or self.delimiter.isalnum():
                message = f"a delimiter is one sign, tab or blanks, and {self.delimiter!r} is not"
                raise AgradError("domain", message, fixes=['delimiter ";"'])
        if self.decimal not in (None, ".", ","):
            raise AgradError("domain", f"the decimal mark is . or , and not {self.decimal!r}")
        if self.delimiter == "," == self.decimal:
            raise AgradError("domain", _BOTH)
        if self.comments not in (None, "#", "none"):
            raise AgradError("domain", f"comments begin with #, or there are none, and not {self.comments!r}")
        if self.skip < 0:
            raise AgradError("domain", f"{self.skip} lines cannot be skipped")
        if self.encoding is not None:
            try:
                if "a".encode(self.encoding) and b"".decode(self.encoding) == "":
                    return
            except (LookupError, ValueError):  # which Python does not know, or which is not of text
                pass
            raise AgradError("domain", f"{self.encoding!r} is not an encoding of text", fixes=["encoding cp1252"])


@dataclass(slots=True)
class Dialect:
    """How the rows of a file are divided. `sure`: whether comments were asked for, and not only expected."""

    delimiter: str = ","
    decimal: str = "."
    comments: bool = True
    sure: bool = False
    skip: int = 0  # lines before the first row
    na: frozenset[str] = frozenset()  # entries that stand for missing numbers
    begins_with_number: bool = False  # whether the first column has numbers in the head

    def strict(self, text: str) -> float:
        """The number that an entry is, nan for one that is missing. Raises ValueError for any other."""
        if self.na and text.strip() in self.na:
            return nan
        if self.decimal == "," and "." in text:
            raise ValueError
        return float(text.replace(",", ".", 1) if self.decimal == "," else text)

    def is_number(self, text: str) -> bool:
        """Whether an entry is a number, or stands for one that is missing."""
        try:
            self.strict(text)
        except ValueError:
            return False
        return True

    def other(self, text: str) -> str:
        """The decimal mark with which an entry that is no number would be one, or nothing."""
        pattern, mark = (_WITH_COMMA, ",") if self.decimal == "." else (_WITH_POINT, ".")
        if mark == self.delimiter:
            return ""  # in quotes: "1,000" is a thousand
        return mark if pattern.fullmatch(text.strip()) else ""

    def plain(self, data: bytes) -> bytes | None:
        """Lines with one sign between entries and no comments, as pyarrow reads them; None where it cannot be so."""
        if self.comments and b"#" in data:
            if b'"' in data and _COMMENT.search(data):
                return None  # a line that begins with # may be inside quotes
            data = _COMMENT.sub(b"", data)
        if self.delimiter == BLANKS:
            if b'"' in data:
                return None
            data = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", data)
            data = re.sub(rb"[ \t]+", b"\t", data)
        return data

    @property
    def sign(self) -> str:
        """The delimiter of `plain`."""
        return "\t" if self.delimiter == BLANKS else self.delimiter

    def doubtful(self, data: bytes, width: int) -> int | None:
        """The offset of the first comment with as many entries as a row, two or more; None if there is none."""
        if width > 1 and self.comments and not (self.sure or self.begins_with_number) and b"#" in data:
            quotes, behind = 0, 0
            for found in _COMMENT.finditer(data):
                quotes, behind = quotes + data.count(b'"', behind, found.start()), found.start()
                if quotes % 2:
                    continue  # it is inside an entry
                text = found[0].decode("utf-8", "replace").strip()
                if len(next(self._entries([text]), [])) == width:
                    return found.start()
        return None

    def rows(self, text: str) -> Iterator[tuple[int, list[str], int]]:
        """The line each row begins at, from 0, its entries, and the line after it. Raises csv.Error."""
        if not (self.comments and "#" in text) and self.delimiter != BLANKS:  # faster
            reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter), 0
            for entries in reader:
                yield line, entries, reader.line_num
                line = reader.line_num
            return
        taken: list[int] = []  # the lines that are no comments
        done = 0  # those of whole rows

        def lines() -> Iterator[str]:
            for number, line in enumerate(io.StringIO(text, newline="")):
                if done < len(taken) or not (self.comments and line.lstrip(" \t").startswith("#")):
                    taken.append(number)
                    yield line

        for entries in self._entries(lines()):
            yield taken[done], entries, taken[-1] + 1
            done = len(taken)

    def _entries(self, lines: Iterable[str]) -> Iterator[list[str]]:
        if self.delimiter != BLANKS:
            return csv.reader(lines, delimiter=self.delimiter)
        return ([one.replace('""', '"') or other for one, other in _WORD.findall(line)] for line in lines)

    def extents(self, text: str) -> list[tuple[int, int]]:
        """Where each entry of a line begins and ends."""
        sign = re.escape(self.delimiter)
        entry = _WORD if self.delimiter == BLANKS else re.compile(rf'(?:\A|(?<={sign}))(?:"[^"]*(?:"|\Z)|[^"{sign}])*')
        return [found.span() for found in entry.finditer(text)] or [(0, len(text))]


_PLAIN = Dialect()


def find(head: bytes, form: TextForm, ended: bool) -> Dialect:
    """The dialect of a file that begins with `head`, by the rules of this module; `ended`: the file has no more."""
    text = head.decode("utf-8", "replace")
    lines = text.splitlines(keepends=True) if "\r" not in text else io.StringIO(text, newline="").readlines()
    if not ended and len(lines) > 1:
        lines.pop()
    found = Dialect(
        comments=form.comments != "none", sure=form.comments is not None, skip=form.skip, na=frozenset(form.na)
    )
    lines = lines[form.skip :]
    delimiter = form.delimiter
    if lines and (given := _SEPARATOR.fullmatch(lines[0])):
        found.skip += 1
        delimiter = delimiter or given[1]
        lines = lines[1:]
    rows = _without_comments(lines) if found.comments else [line for line in lines if line.strip(" \r\n")]
    found.delimiter = delimiter or _delimiter(rows, form.decimal)
    if found.delimiter == "," == form.decimal:  # as sep= gives it
        raise AgradError("file", _BOTH)
    is_plain = found.delimiter == "," and '"' not in text  # so that no comma is left in an entry
    entries = _split(rows[:2] if is_plain or form.decimal else rows, found.delimiter)
    is_single = all(len(row) < 2 for row in entries)  # so that a comma may also be a delimiter that was not meant
    found.decimal = form.decimal or ("." if is_single else _decimal(entries, found.delimiter))
    found.begins_with_number = any(found.is_number(row[0]) for row in entries[:2] if row)
    return found


def _without_comments(lines: Iterable[str]) -> list[str]:
    """The lines that are neither comments nor empty; an entry may have line breaks."""
    rows, inside = [], False
    for line in lines:
        if line.strip(" \r\n") and (inside or not line.lstrip(" \r\n").lstrip().startswith("#")):
            rows.append(line)
            inside ^= line.count('"') % 2 == 1
    return rows


def _split(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Lines as rows of entries; as many as can be read."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(Dialect(delimiter, comments=False)._entries(lines))
    return rows


def _delimiter(lines: Sequence[str], decimal: str | None) -> str:
    """The delimiter of some lines."""
    best, chosen = (False, 0.0), ";" if decimal == "," else ","
    first = lines[0].strip("\r\n") if lines else ""
    for delimiter in _ORDER:
        occurs = len(first.split()) > 1 if delimiter == BLANKS else delimiter in first
        if delimiter == "," == decimal or not occurs:
            continue
        rows = _split(islice(lines, _ROWS), delimiter)
        counts = Counter(map(len, rows))
        width, agreed = counts.most_common(1)[0] if counts else (1, 0)
        whole = width > 1 and agreed == len(rows)
        entries = [entry for row in rows[1:] or rows for entry in row]
        share = sum(map(_is_number, entries)) / max(len(entries), 1)
        if delimiter == BLANKS and not (whole and share):
            continue
        score = (True, share) if whole else (False, agreed / max(len(rows), 1) if width > 1 else 0.0)
        if score > best:
            best, chosen = score, delimiter
    if best == (False, 0.0):
        return next((sign for sign in (",", ";", "\t", "|") if sign in first and sign != decimal), chosen)
    return chosen


def _is_number(entry: str) -> bool:
    """Whether an entry is a number with either decimal mark."""
    return _PLAIN.is_number(entry) or _WITH_COMMA.fullmatch(entry.strip()) is not None


def _decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """The decimal mark of some rows."""
    entries = [entry.strip() for row in rows for entry in row if "," in entry or "." in entry]
    commas = [entry for entry in entries if _WITH_COMMA.fullmatch(entry)]
    if not commas or any(map(_WITH_POINT.fullmatch, entries)):
        return "."
    return "," if delimiter == ";" or not all(map(_GROUPED.fullmatch, commas)) else "."


# The reader

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
        self.dialect = find(self.head, self.form, self.ended)
        self._skip(self.dialect.skip)
        self.first = first = next((block for block in self.blocks if next(self._filled(block), None)), None)
        if first is None:
            raise AgradError("file", f"{self.path} is empty")
        if b"\r" in first.data and b"\n" not in first.data:
            raise AgradError("file", f"{self.path} ends its lines with \\r alone, as old Macs did: write it with \\n")
        line, entries, lines = next(self._filled(first))
        given, header, numbers = self.given, self.form.header, list(map(self.dialect.is_number, entries))
        head = (not any(numbers) if given else not all(numbers)) if header is None else header
        if head and any(map(_is_damaged, entries)):
            message = f"cannot read {self.path}: line {line + 1} is not UTF-8 text"
            raise AgradError("file", message, facts=OtherForm("encoding", (OFTEN,)))
        if head and given:
            raise names_given(self.path)
        self.width = len(entries)
        self.unsure = head and any(numbers) and header is None
        if not head:
            self.names, self.nameless = column_names(self.path, self.width, given), not given
            return
        self.names = [entry.strip() for entry in entries]
        self.first = Block(b"".join(first.data.split(b"\n", lines)[lines:]), first.line + lines, first.done)

    def _cut(self, data: bytes) -> int:
        """See TextTable: after the last line break outside quotes."""
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

    def piece(self, part: Block, wanted: Wanted) -> Piece:
        """See Table. Refuses a line that begins with #, and may be a row, since the first column has texts."""
        at = self.dialect.doubtful(part.data, self.width)
        if at is not None:
            line = self._line(part, lines_of(part.data[:at]), part.data[at:].splitlines()[0])
            message = "this line may be a comment, or a row whose first entry begins with #"
            raise AgradError("file", message, labels=[Label(line)], facts=OtherForm("comments", ("#", "none")))
        return super().piece(part, wanted)

    def texts(self) -> set[str]:
        """See Table: those whose first entry that is not empty is no number."""
        found, left = set(), dict(enumerate(self.names))
        for _, entries, _ in self._filled(self.first) if self.first is not None else ():
            for place, name in list(left.items()):
                entry = entries[place] if place < len(entries) else ""
                if entry.strip() and entry.strip() not in self.dialect.na:
                    del left[place]
                    if not self.dialect.is_number(entry):
                        found.add(name)
            if not left:
                break
        return found | set(left.values())

    def _all_numbers(self, block: Block, wanted: Wanted) -> Array | None:
        """All columns as one matrix; None where others are wanted, or an entry is no number, or a row is too long."""
        if [*wanted.numbers] != self.names:
            return None
        numbers = array("d")
        with suppress(ValueError):  # of an entry that is not a number, or a row of another length
            for _, entries, _ in self._filled(block):
                if len(entries) != self.width:
                    raise ValueError
                numbers.extend(map(self.convert, entries))
            return np.frombuffer(numbers).reshape(-1, self.width)
        return None

    def _table_of_arrow(self, pa: Any, block: Block, wanted: Wanted) -> Any:
        """See TextTable."""
        if (b"(" in block.data and _PAYLOAD.search(block.data)) or block.data.startswith(b"\xef\xbb\xbf"):
            return None  # pyarrow would drop such a mark from the first entry of each block
        places = self._places(wanted)
        data = self.dialect.plain(block.data) if len(places) <= WIDE else None
        if data is None:
            return None
        fast = pyarrow("csv")
        kinds = {str(place): wanted.is_text(name) for name, place in places.items()} or {"0": True}
        return fast.read_csv(
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

    def _by_hand(self, block: Block, wanted: Wanted) -> Piece:
        """See TextTable: one entry at a time where necessary. Raises AgradError of kind `file`, with the place."""
        if not self.dialect.na and (numbers := self._all_numbers(block, wanted)) is not None:
            columns = dict(zip(self.names, np.ascontiguousarray(numbers.T), strict=True))
            return Piece(columns, len(numbers), block.done, lambda row: self._place(block, row))
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
        with suppress(ValueError):
            return np.array(list(map(self.convert, texts)), dtype=np.float64)
        column = np.full(len(texts), np.nan)
        for row, text in enumerate(texts):
            if self.dialect.is_number(text):
                column[row] = self.dialect.strict(text)
            else:
                faults.append((row, place, _DAMAGED if _is_damaged(text) else self._reason(text.strip())))
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
        elif _WITH_THOUSANDS.fullmatch(text):  # 1,000 or 1.000.000,5
            reason += ": signs between thousands are not read"
        return reason

    def _tell(self, faults: list[_Fault], piece: Piece, wanted: Wanted, block: Block, rows: list[_Row]) -> None:
        """Raise AgradError of kind `file` for the first fault; if faults are tolerated, mark the rows.

        A text in a column that is only copied does not affect the results: that is not tolerated.
        """
        ragged = {row for row, entry, _ in faults if entry is None}
        faults = [fault for fault in faults if fault[1] is None or fault[0] not in ragged]
        copied = [one for one in faults if one[1] is not None and self.names[one[1]] not in wanted.numbers]
        row, entry, reason = min(copied or faults, key=lambda one: one[0])
        span = self._span(block, rows[row], entry)
        text = rows[row][1][entry].strip() if entry is not None else "?"
        line, other = span.source.position(span.start)[0], self.dialect.other(text)
        missing = text if text in MISSING or not text else None
        facts = BadEntry(line, entry, bool(copied), other, missing, reason is _DAMAGED)
        message = reason if entry is None else f"column {self.names[entry]}: {reason}"
        fixes = [FILL_IN] if reason is NOTHING else []
        problem = AgradError("file", message, labels=[Label(span)], fixes=fixes, row=not copied, facts=facts)
        piece.refuse(problem, [row for row, _, _ in faults], wanted.tolerant and not copied)

    def _filled(self, block: Block) -> Iterator[_Row]:
        """The rows of a block that are not empty lines. Raises AgradError of kind `file`.

        Entries over 128 kB are taken only if Python is told so, for the whole process.
        """
        if csv.field_size_limit() < min(len(block.data), LONGEST):
            csv.field_size_limit(LONGEST)
        try:
            for row in self.dialect.rows(block.data.decode("utf-8", "surrogateescape")):
                if row[1] and not (len(row[1]) == 1 and row[1][0].isspace()):
                    yield row
        except csv.Error as problem:
            raise AgradError("file", f"cannot read {self.path} after line {block.line}: {problem}") from None

    def _place(self, block: Block, row: int) -> dict[str, Any]:
        """Where a row is, for an error about it: found only then, since few rows fail."""
        found = next(islice(self._filled(block), row, None))
        return {"labels": [Label(self._span(block, found, None))]}

    def _span(self, block: Block, row: _Row, entry: int | None) -> Span:
        """The place of an entry of a row in a block, without the spaces around it, or of the first line of the row."""
        line, _, behind = row
        lines = block.data.splitlines(keepends=True)[line : behind if entry is not None else line + 1]
        whole = self._line(block, line, b"".join(lines).rstrip(b"\r\n"))
        if entry is None:
            return whole
        text = whole.source.text
        extents = self.dialect.extents(text)
        start, end = extents[min(entry, len(extents) - 1)]
        inside = text[start:end]
        begin = start + len(inside) - len(inside.lstrip())
        return Span(whole.source, begin, max(start + len(inside.rstrip()), begin))


def _is_damaged(text: str) -> bool:
    """Whether a text has bytes that are not UTF-8, as `surrogateescape` keeps them."""
    return any("\udc80" <= character <= "\udcff" for character in text)
