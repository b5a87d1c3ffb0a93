"""Statements from a pipe or a file, read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agrad.engine.errors import AgradError
from agrad.grammar.syntax.parser import needs_more

_CONTINUES = re.compile(r"[ \t]|(elif|else)\b|\s*(#|$)")


def statements(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield each statement as soon as it is complete.

    A block ends where the next line is not indented, as in a file; at a prompt an empty line ends it.
    Raises AgradError of kind `file` for what is not UTF-8.
    """
    pending = ""
    for number, data in enumerate(lines, 1):
        line = _decoded(data, number)
        if pending and not _CONTINUES.match(line) and not needs_more(pending):
            yield pending
            pending = ""
        pending += line
        if not needs_more(pending.rstrip()):
            yield pending
            pending = ""
    if pending:
        yield pending


def _decoded(data: bytes, number: int) -> str:
    try:
        return data.decode("utf-8-sig" if number == 1 else "utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise AgradError("file", f"cannot read <stdin>: line {number} is not UTF-8 text") from None
