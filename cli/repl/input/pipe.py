"""Statements from a pipe or a file, read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agrad.engine.errors import AgradError
from agrad.grammar.syntax.parser import can_be_read, needs_more

_CONTINUES = re.compile(r"[ \t]|(elif|else)\b|\s*(#|$)")

_PROMPT = re.compile(r"(?:>>>|agrad(?: \d+)?>)( |(?=\n)|$)")
_MORE = re.compile(r"(?:\.\.\.| +\.\.\.>)( |(?=\n)|$)")


def statements(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield each statement as soon as it is complete.

    A block ends where the next line is not indented, as in a file; at a prompt an empty line ends it. Of a transcript
    of Python or of agrad, what was typed is read. What is indented below a line that cannot be read is left out.
    Raises AgradError of kind `file` for what is not UTF-8.
    """
    pending = last = ""
    transcript = None
    for number, data in enumerate(lines, 1):
        line = _decoded(data, number)
        if transcript is None and line.strip():
            transcript = _PROMPT.match(line) is not None
        if transcript:
            line = _typed(line)
        if not pending and _belongs_to(last, line) and not can_be_read(last):
            yield "#\n"  # the rest of a block whose header cannot be read
            continue
        if pending and not _CONTINUES.match(line) and not needs_more(pending):
            yield pending
            last, pending = _later(pending, last), ""
        pending += line
        if not needs_more(pending.rstrip()):
            yield pending
            last, pending = _later(pending, last), ""
    if pending:
        yield pending


def _belongs_to(header: str, line: str) -> bool:
    """Whether a line is a part of the block of a header: indented below it, or the function behind a decorator."""
    if header.startswith("@") and re.match(r"(@|def\b|class\b)", line):
        return True
    return bool(header.strip()) and line[:1] in (" ", "\t") and bool(line.strip())


def _later(statement: str, before: str) -> str:
    """The last of two statements that is not only a comment."""
    return before if re.fullmatch(r"\s*(#.*\s*)?", statement) else statement


def _typed(line: str) -> str:
    """What was typed in a line of a transcript; its output is a comment."""
    prompt = _PROMPT.match(line) or _MORE.match(line)
    return line[prompt.end() :] or "\n" if prompt else f"# {line}"


def _decoded(data: bytes, number: int) -> str:
    try:
        return data.decode("utf-8-sig" if number == 1 else "utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise AgradError("file", f"cannot read <stdin>: line {number} is not UTF-8 text") from None
