"""CSV, in blocks that end at the end of a row: for `load_csv`, `chunks`, `map` and `x=@data.csv:speed` alike.

pyarrow reads a block if it is installed. Otherwise, and if pyarrow refuses a block, the `csv` module reads it, which
knows the place of each entry. Both find the same numbers.

The rules: an entry may be quoted, with line breaks inside; lines end with LF or CR LF; a byte order mark and lines
without entries are skipped, as are lines that begin with `#`, which are comments; every row has as many entries as the
first. The first row names the columns if an entry of it is not a number. If columns are identified by their places, not
by their names, a first row in which some entries are numbers is data: a wrong entry in it is then an error, and no row
is lost.

The delimiter and the decimal mark, where they are not given, are found in the first lines of the file, the head:

* The delimiter is that of `;`, a tab, `,`, `|` and blanks that divides most of the first rows into as many entries,
  two or more, as the first of them. Of equals, the one for which most entries after the first row are numbers, with
  either decimal mark; then the first in this order. Blanks must divide all of the rows, and give numbers.
* The decimal mark is a comma if the head has numbers with a comma, and none with a point; it is a point otherwise. If
  all of its numbers with a comma could be whole numbers with their thousands grouped, as in 12,345, it is a comma only
  between semicolons, which programs write where the decimal mark is a comma.
  In a file of one column it is never found to be a comma.

A row that contradicts these is refused where its entries are read, and so is a first line `sep=;`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from math import nan
from typing import Any, BinaryIO

from agrad.engine.data.tables import BYTES, MISSING, NOTHING, WIDE, Wanted, column_names, names_given, pyarrow
from agrad.engine.data.text_tables import LONGEST, OFTEN, SHOWN, Block, Fault, Row, TextTable
from agrad.engine.errors import AgradError, OtherForm, Span
from agrad.engine.text import truncate

BLANKS = " "  # the delimiter that stands for any number of spaces and tabs
_ORDER = (";", "\t", ",", "|", BLANKS)
_NAMES = {"tab": "\t", "\\t": "\t", "blanks": BLANKS, "blank": BLANKS, "space": BLANKS, "comma": ",", "semicolon": ";"}
_ROWS = 200  # of the head, that choose the delimiter
# What Excel writes where a cell has an error is an entry, and no comment.
_BEGINS = r"^[ \t]*#(?!(?:DIV/0|NULL|NUM|REF|VALUE)!|N/A|NAME\?)"
_COMMENT, _COMMENTS = re.compile(_BEGINS), re.compile(_BEGINS.encode(), re.MULTILINE)
_WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|\Z)|(\S+)')
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_WITH_THOUSANDS = re.compile(
    r"[-+]?\d{1,3}(?:(?:,\d{3})+(?:\.\d*)?|(?:\.\d{3})+(?:,\d*)?|(?:[' \u202f\xa0]\d{3})+(?:[.,]\d*)?)"
)
_WITH_COMMA = re.compile(rf"[+-]?(?:\d+,\d*|,\d+){_EXPONENT}")
_WITH_POINT = re.compile(rf"[+-]?(?:\d+\.\d*|\.\d+){_EXPONENT}")
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
            raise AgradError("domain", "a comma cannot be both the delimiter and the decimal mark")
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
    """How the rows of a file are divided."""

    delimiter: str = ","
    decimal: str = "."
    comments: bool = True
    na: frozenset[str] = frozenset()  # entries that stand for missing numbers

    def strict(self, text: str) -> float:
        """The number that an entry is, nan for one that is missing. Raises ValueError for any other."""
        if self.na and text.strip() in self.na:
            return nan
        if "_" in text or (self.decimal == "," and "." in text):  # 2024_1 is a name, though Python's float reads it
            raise ValueError
        return float(text.replace(",", ".", 1) if self.decimal == "," else text)

    def is_number(self, text: str) -> bool:
        """Whether an entry is a number, or stands for one that is missing."""
        with suppress(ValueError):
            return self.strict(text) is not None
        return False

    def other(self, text: str) -> str:
        """The decimal mark with which an entry that is no number would be one, or nothing."""
        pattern, mark = (_WITH_COMMA, ",") if self.decimal == "." else (_WITH_POINT, ".")
        if mark == self.delimiter:
            return ""  # in quotes: "1,000" is a thousand
        return mark if pattern.fullmatch(text.strip()) else ""

    def rows(self, text: str) -> Iterator[Row]:
        """The rows that are not empty lines. Raises csv.Error."""
        begin = 0  # the line at which the row begins

        def lines() -> Iterator[str]:
            for number, line in enumerate(io.StringIO(text, newline="")):
                yield "\n" if number == begin and _COMMENT.match(line) else line

        given = lines() if self.comments and "#" in text else io.StringIO(text, newline="")
        for entries, behind in self._divided(given):
            if entries and not (len(entries) == 1 and entries[0].isspace()):
                yield begin, entries, behind
            begin = behind

    def _divided(self, lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
        """The entries of each row, and how many lines have been read with it."""
        if self.delimiter == BLANKS:
            for number, line in enumerate(lines, 1):
                yield [one.replace('""', '"') or other for one, other in _WORD.findall(line)], number
            return
        reader = csv.reader(lines, delimiter=self.delimiter)
        for entries in reader:
            yield entries, reader.line_num

    def beginning(self, text: str) -> Iterator[list[str]]:
        """The entries of the first rows, as many as can be read."""
        with suppress(csv.Error):
            for _, entries, _ in self.rows(text):
                yield entries

    def is_plain(self, data: bytes) -> bool:
        """Whether pyarrow divides some rows likewise: it knows no comments, and one sign between entries."""
        return self.delimiter != BLANKS and not (self.comments and b"#" in data and _COMMENTS.search(data))

    def extents(self, text: str) -> list[tuple[int, int]]:
        """Where each entry of a line begins and ends."""
        sign = re.escape(self.delimiter)
        entry = _WORD if self.delimiter == BLANKS else re.compile(rf'(?:\A|(?<={sign}))(?:"[^"]*(?:"|\Z)|[^"{sign}])*')
        return [found.span() for found in entry.finditer(text)] or [(0, len(text))]


_PLAIN = Dialect()


def find(head: bytes, form: TextForm, ended: bool) -> Dialect:
    """The dialect of a file that begins with `head`, by the rules of this module; `ended`: the file has no more."""
    text = head.decode("utf-8", "replace")
    if not ended:  # the last line is cut
        text = text[: text.rfind("\n") + 1] or text
    comments = form.comments != "none"
    delimiter = form.delimiter or _delimiter(text, comments, form.decimal)
    decimal = form.decimal or _decimal(Dialect(delimiter, comments=comments).beginning(text), delimiter)
    return Dialect(delimiter, decimal, comments, frozenset(form.na))


def _delimiter(text: str, comments: bool, decimal: str | None) -> str:
    """The delimiter of the first rows of a text."""
    best, chosen = (0.0, 0.0), ";" if decimal == "," else ","
    for delimiter in _ORDER:
        first, *others = rows = [*islice(Dialect(delimiter, comments=comments).beginning(text), _ROWS)] or [[]]
        if len(first) < 2 or delimiter == "," == decimal:
            continue
        entries = list(chain.from_iterable(others or rows))
        agreed = sum(len(row) == len(first) for row in rows) / len(rows)
        numbers = (_PLAIN.is_number(one) or _WITH_COMMA.fullmatch(one.strip()) is not None for one in entries)
        score = agreed, sum(numbers) / len(entries)
        if score > best and (delimiter != BLANKS or (agreed == 1 and score[1])):
            best, chosen = score, delimiter
    return chosen


def _decimal(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    """The decimal mark of some rows, of which one after the other is read."""
    found = "."
    for entry in (one.strip() for row in rows if len(row) > 1 for one in row if "," in one or "." in one):
        if _WITH_POINT.fullmatch(entry):
            return "."
        if _WITH_COMMA.fullmatch(entry) and (delimiter == ";" or not _GROUPED.fullmatch(entry)):
            found = ","
    return found


# The reader

LARGE = 2**20  # bytes of a file: reading it takes longer than importing pyarrow
_QUOTES = 4 * BYTES  # in which a quote must end; until then a line break may belong to an entry
_PAYLOAD = re.compile(rb"\((?<=[nN][aA][nN]\()")  # as in nan(1), which is a number for pyarrow, but not for Python


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
        self.na = frozenset(self.form.na)
        super().__init__(path, stream, block or BYTES, self.form.encoding)
        self.fast = self.size >= LARGE if fast is None else fast

    def _begin(self) -> None:
        """See TextTable."""
        self._skip(self.form.skip)
        if self.head.partition(b"\n")[0].strip(b'"; \t,|\r') == b"sep=":
            message = f"line {self.line} of {self.path} is no row: it tells Excel the delimiter"
            raise AgradError("file", message, facts=OtherForm("skip", (self.form.skip + 1,)))
        self.dialect = find(self.head, self.form, self.ended)
        first = next((block for block in self.blocks if next(self._rows(block), None)), None)
        if first is None:
            raise AgradError("file", f"{self.path} is empty")
        if b"\r" in first.data and b"\n" not in first.data:
            raise AgradError("file", f"{self.path} ends its lines with \\r alone, as old Macs did: write it with \\n")
        line, entries, lines = next(self._rows(first))
        given, header, numbers = self.given, self.form.header, list(map(self.dialect.is_number, entries))
        head = (not any(numbers) if given else not all(numbers)) if header is None else header
        if head and any(map(_is_damaged, entries)):
            message = f"cannot read {self.path}: line {line + 1} is not UTF-8 text"
            raise AgradError("file", message, facts=OtherForm("encoding", (OFTEN,)))
        if head and given:
            raise names_given(self.path)
        self.width, self.first = len(entries), first
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

    def texts(self) -> set[str]:
        """See Table: those whose first entry that is not empty is no number."""
        found, left = set(), dict(enumerate(self.names))
        for _, entries, _ in self._rows(self.first):
            for place, name in list(left.items()):
                entry = entries[place].strip() if place < len(entries) else ""
                if entry and entry not in self.na:
                    del left[place]
                    if not self.dialect.is_number(entry):
                        found.add(name)
            if not left:
                break
        return found | set(left.values())

    def _table_of_arrow(self, pa: Any, block: Block, wanted: Wanted) -> Any:
        """See TextTable."""
        if (b"(" in block.data and _PAYLOAD.search(block.data)) or block.data.startswith(b"\xef\xbb\xbf"):
            return None  # pyarrow would drop such a mark from the first entry of each block
        places = self._places(wanted)
        if len(places) > WIDE or not self.dialect.is_plain(block.data):
            return None
        fast = pyarrow("csv")
        kinds = {str(place): wanted.is_text(name) for name, place in places.items()} or {"0": True}
        return fast.read_csv(
            pa.BufferReader(block.data),
            fast.ReadOptions(
                use_threads=False, block_size=len(block.data) + 1, column_names=list(map(str, range(self.width)))
            ),
            fast.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=b'"' in block.data),
            fast.ConvertOptions(
                include_columns=list(kinds),
                column_types={place: pa.string() if text else pa.float64() for place, text in kinds.items()},
                null_values=list(self.na),
                decimal_point=self.dialect.decimal,
            ),
        )

    def _places(self, wanted: Wanted) -> dict[str, int]:
        """The requested columns, and their numbers from 0."""
        places = {name: place for place, name in enumerate(self.names)}
        return {name: places[name] for name in wanted.names}

    def _columns(self, rows: Sequence[list[str]], wanted: Wanted) -> Iterator[tuple[str, list[str]]]:
        """See TextTable."""
        for name, place in self._places(wanted).items():
            yield name, [entries[place] for entries in rows]

    def _ragged(self, rows: Sequence[list[str]]) -> Iterator[Fault]:
        """See TextTable. Such rows get empty entries."""
        for number, entries in enumerate(rows):
            if len(entries) != self.width:
                count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
                yield number, None, f"{count}, not {self.width}", {}
                entries += [""] * (self.width - len(entries))

    def _is_missing(self, entry: str) -> bool:
        """See TextTable."""
        return entry.strip() in self.na

    @property
    def convert(self) -> Callable[[str], float]:
        """See TextTable."""
        return self.dialect.strict

    def _wrong(self, entry: str) -> tuple[str, dict[str, Any]]:
        """See TextTable."""
        text = entry.strip()
        if not text:
            return NOTHING, {"missing": ""}
        if _is_damaged(text):
            return "this is not UTF-8 text", {"damaged": True}
        reason, other = f'"{truncate(text, SHOWN)}" is not a number', self.dialect.other(text)
        if self.dialect.is_number(text):
            reason = f'"{truncate(text, SHOWN)}" is too large: a float64 holds numbers up to 1.8e308'
        elif other:
            reason += f": the decimal mark is a {'comma' if self.dialect.decimal == ',' else 'point'}"
        elif _WITH_THOUSANDS.fullmatch(text):  # 1,000 or 1.000.000,5
            reason += ": signs between thousands are not read"
        return reason, {"decimal": other, "missing": text if text in MISSING else None}

    def _rows(self, block: Block) -> Iterator[Row]:
        """See TextTable. Entries over 128 kB are taken only if Python is told so, for the whole process."""
        if csv.field_size_limit() < min(len(block.data), LONGEST):
            csv.field_size_limit(LONGEST)
        try:
            yield from self.dialect.rows(block.data.decode("utf-8", "surrogateescape"))
        except csv.Error as problem:
            raise AgradError("file", f"cannot read {self.path} after line {block.line}: {problem}") from None

    def _span(self, block: Block, row: Row, entry: int | None) -> Span:
        """See TextTable: the place of an entry without the spaces around it."""
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
