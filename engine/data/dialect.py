"""How a file of text is divided into entries: the delimiter, the decimal mark, comments, and lines to skip.

What is not given is found in the first lines of the file, the head, by these rules:

* A delimiter is `;`, a tab, `,`, `|` or blanks. Those are possible that divide the rows of the head into the same
  number of entries, two or more. Of these the one counts for which most of the entries after the first row are
  numbers, with either decimal mark; of equals, the first in this order. If none is possible, the one that most rows
  agree on.
* The decimal mark is a comma if the head has numbers with a comma, and none with a point; it is a point otherwise. If
  all of its numbers with a comma could be whole numbers with their thousands grouped, as in 12,345, it is a comma only
  between semicolons, which programs write where the decimal mark is a comma.
  In a file of one column it is never found to be a comma.
* A line that begins with `#` is a comment. If the last one before the first row has as many entries as that row, and
  none that is a number, it names the columns.
* A first line `sep=;`, as Excel writes it, gives the delimiter.

A row after the head that contradicts these is refused where its entries are read, by the reader.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import nan

from agrad.engine.errors import AgradError

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
        if self.delimiter == "," and self.decimal == ",":
            raise AgradError("domain", _BOTH)
        if self.comments not in (None, "#", "none"):
            raise AgradError("domain", f"comments begin with #, or there are none, and not {self.comments!r}")
        if self.skip < 0:
            raise AgradError("domain", f"{self.skip} lines cannot be skipped")
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise AgradError("domain", f"{self.encoding!r} is not an encoding of text", fixes=["encoding cp1252"])


def _is_encoding(name: str) -> bool:
    try:
        return "a".encode(name) != b"" and b"".decode(name) == ""
    except (LookupError, ValueError):  # which Python does not know, or which is not of text
        return False


@dataclass(slots=True)
class Dialect:
    """How the rows of a file are divided. `sure`: whether comments were asked for, and not only expected."""

    delimiter: str = ","
    decimal: str = "."
    comments: bool = True
    sure: bool = False
    skip: int = 0  # lines before the first row
    names: tuple[str, ...] = ()  # in a comment before the first row
    na: frozenset[str] = frozenset()  # entries that stand for missing numbers
    begins_with_number: bool = False  # whether the first column has numbers in the head

    def number(self, text: str) -> float | None:
        """The number that an entry is, or None."""
        try:
            return self.strict(text)
        except ValueError:
            return None

    def strict(self, text: str) -> float:
        """The number that an entry is, nan for one that is missing. Raises ValueError."""
        if self.na and text.strip() in self.na:
            return nan
        if self.decimal == ",":
            if "." in text:
                raise ValueError
            text = text.replace(",", ".", 1)
        return float(text)

    def other(self, text: str) -> str:
        """The decimal mark with which an entry that is no number would be one, or nothing."""
        pattern, mark = (_WITH_COMMA, ",") if self.decimal == "." else (_WITH_POINT, ".")
        if mark == self.delimiter:
            return ""  # in quotes: "1,000" is a thousand
        return mark if pattern.fullmatch(text.strip()) else ""

    def has_thousands(self, text: str) -> bool:
        """Whether an entry is a number with signs between thousands: `1,000` or `1.000.000,5`."""
        return not self.other(text) and _WITH_THOUSANDS.fullmatch(text) is not None

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
        lines = io.StringIO(text, newline="")
        if not (self.comments and "#" in text) and self.delimiter != BLANKS:
            reader, line = csv.reader(lines, delimiter=self.delimiter), 0
            for entries in reader:
                yield line, entries, reader.line_num
                line = reader.line_num
            return
        yield from self._without_comments(lines)

    def _without_comments(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str], int]]:
        taken, begun, inside = 0, 0, False

        def rest() -> Iterator[str]:
            nonlocal taken, begun, inside
            for line in lines:
                taken += 1
                if not inside:
                    if self.comments and line.lstrip(" \t").startswith("#"):
                        continue
                    begun, inside = taken - 1, True
                yield line

        for entries in self._entries(rest()):
            yield begun, entries, taken
            inside = False

    def _entries(self, lines: Iterable[str]) -> Iterator[list[str]]:
        if self.delimiter != BLANKS:
            return csv.reader(lines, delimiter=self.delimiter)
        return ([one.replace('""', '"') or other for one, other in _WORD.findall(line)] for line in lines)

    def extents(self, text: str) -> list[tuple[int, int]]:
        """Where each entry of a line begins and ends."""
        if self.delimiter == BLANKS:
            return [found.span() for found in _WORD.finditer(text)] or [(0, len(text))]
        starts, quoted = [0], False
        for place, character in enumerate(text):
            if character == '"':
                quoted = not quoted
            elif character == self.delimiter and not quoted:
                starts.append(place + 1)
        return [(start, end - 1) for start, end in zip(starts, [*starts[1:], len(text) + 1], strict=True)]


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
    rows, comment = _rows_and_comment(lines, found.comments)
    found.delimiter = delimiter or _delimiter(rows, form.decimal)
    if found.delimiter == "," == form.decimal:  # as sep= gives it
        raise AgradError("file", _BOTH)
    is_plain = found.delimiter == "," and '"' not in text  # so that no comma is left in an entry
    entries = _split(rows[:2] if is_plain or form.decimal else rows, found.delimiter)
    is_single = all(len(row) < 2 for row in entries)  # so that a comma may also be a delimiter that was not meant
    found.decimal = form.decimal or ("." if is_single else _decimal(entries, found.delimiter))
    found.begins_with_number = any(found.number(row[0]) is not None for row in entries[:2] if row)
    if comment and entries and any(found.number(entry) is not None for entry in entries[0]):
        names = [name.strip() for name in next(found._entries([comment]), [])]
        if len(names) == len(entries[0]) and all(names) and all(found.number(name) is None for name in names):
            found.names = tuple(names)
    return found


def _rows_and_comment(lines: Sequence[str], comments: bool) -> tuple[list[str], str]:
    """The lines without comments and empty ones, and the last comment before the first of them, without its sign."""
    rows: list[str] = []
    comment, inside = "", False
    for line in lines:
        bare = line.strip(" \r\n")
        if comments and not inside and bare.lstrip().startswith("#"):
            if not rows:
                comment = bare.lstrip().lstrip("#").strip()
        elif bare:
            rows.append(line)
            inside ^= line.count('"') % 2 == 1  # an entry may have line breaks
    return rows, comment


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
        if delimiter == "," == decimal or not _occurs(delimiter, first):
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


def _occurs(delimiter: str, line: str) -> bool:
    return len(line.split()) > 1 if delimiter == BLANKS else delimiter in line


def _is_number(entry: str) -> bool:
    """Whether an entry is a number with either decimal mark."""
    try:
        float(entry)
    except ValueError:
        return _WITH_COMMA.fullmatch(entry.strip()) is not None
    return True


def _decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """The decimal mark of some rows."""
    entries = [entry.strip() for row in rows for entry in row if "," in entry or "." in entry]
    commas = [entry for entry in entries if _WITH_COMMA.fullmatch(entry)]
    if not commas or any(map(_WITH_POINT.fullmatch, entries)):
        return "."
    return "," if delimiter == ";" or not all(map(_GROUPED.fullmatch, commas)) else "."
