"""Texts with lines and columns: typed text, a script, a data file; and the places in them."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from agrad.engine.struct import Struct


@lru_cache(maxsize=16)
def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer(r"\r\n?|\n", text))]


class Source(Struct):
    """A text, and its name: `session`, `expression`, or the path of a file.

    `is_entry`: whether it was typed at a prompt that counts what was entered, so that all its lines have one number.
    """

    name: str
    text: str
    first_line: int = 1
    is_file: bool = False
    is_entry: bool = False

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1 (the line from `first_line`)."""
        starts = _line_starts(self.text)
        index = bisect_right(starts, offset) - 1
        return self.first_line + (0 if self.is_entry else index), offset - starts[index] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and a column, as `position` counts them; at most the end of the line, or of the text."""
        starts = [*_line_starts(self.text), len(self.text) + 1]
        index = line - self.first_line
        return min(starts[index] + column - 1, starts[index + 1] - 1) if index + 1 < len(starts) else len(self.text)

    def line_at(self, offset: int) -> str:
        """The text of the line of an offset, without its line break."""
        starts = [*_line_starts(self.text), len(self.text)]
        index = bisect_right(starts, offset, hi=len(starts) - 1) - 1
        return self.text[starts[index] : starts[index + 1]].rstrip("\r\n")

    def line(self, number: int) -> str:
        """The text of one line, without its line break; all of what was entered at once."""
        if self.is_entry:
            return self.text
        starts = [*_line_starts(self.text), len(self.text)]
        index = number - self.first_line
        return self.text[starts[index] : starts[index + 1]].rstrip("\r\n")


class Span(Struct):
    """The part of a source from `start` up to `end`; an `Origin`, that an error can point at."""

    source: Source
    start: int
    end: int

    def __init__(self, source: Source, start: int, end: int) -> None:
        """Three assignments, since a text has as many spans as signs."""
        self.source = source  # type: ignore[misc]  # to the type checker a span is immutable
        self.start = start  # type: ignore[misc]
        self.end = end  # type: ignore[misc]

    @property
    def text(self) -> str:
        """Its text, folded to one line."""
        return " ".join(self.source.text[self.start : self.end].split())

    @property
    def where(self) -> str:
        """The place in words, such as `line 5`."""
        return f"line {self.source.position(self.start)[0]}"
