"""What is being typed, in either reading: whether another line is awaited, and the kinds of its words.

`is_python`: whether the text is typed where Python is read; an import in it, or `calculator`, changes that.
"""

from __future__ import annotations

import codeop
import keyword
import warnings
from collections.abc import Collection, Iterator
from typing import Any

from agrad.engine.errors import AgradError
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax import parser, readings
from agrad.grammar.syntax.readings import Part, Reader, nodes
from agrad.lazy import pattern

_WORD = pattern(
    r"""(?sx) (?P<comment>\#[^\n]*)
    | (?P<string>(?i:[rbfu]{0,2})(?:\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|'{3}(?:\\.|[^\\])*?(?:'{3}|\Z)
    |\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?))
    | (?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?[jJ]?|0[xXbBoO][\da-fA-F_]+) | (?P<name>[^\W\d]\w*)
    | (?P<operator>[^\s\w])"""
)


def last_part(text: str, is_python: bool) -> Part:
    """The last part of a text with one reading."""
    return readings.parts(Source("session", text, is_python=is_python))[-1]


def needs_more(text: str, is_python: bool = False) -> bool:
    """Whether a session should wait for another line: of Python, too, where a block lacks its blank line."""
    part = last_part(text, is_python)
    if not part.is_python:
        return parser.needs_more(text[part.start :])
    source = Source("session", text, is_python=is_python)
    reader = Reader(source, readings.blank(syntax.lexer.typed_in(text), part.start, part.end))
    code = reader.blanked()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if codeop.compile_command(code, "<agrad>", "exec") is None:
                return True
        tree = reader.tree(code)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError, AgradError):
        return False
    last: Any = tree.body[-1] if tree.body else None
    is_block = hasattr(last, "body") and last.lineno < last.end_lineno
    return is_block and bool(text.rpartition("\n")[2].strip())


def can_be_read(text: str, is_python: bool = False) -> bool:
    """Whether a text is free of syntax errors."""
    try:
        readings.parse(Source("session", text, is_python=is_python))
    except AgradError:
        return False
    return True


def tokens(text: str, is_python: bool = False) -> list[tuple[str, int, int]]:
    """The kind and the span of each piece of a text, as `parser.tokens` has them."""
    found: list[tuple[str, int, int]] = []
    for part in readings.parts(Source("session", text, is_python=is_python)):
        if part.is_python:
            found += _tokens(text, part.start, part.end)
            continue
        inside = parser.tokens(text[part.start : part.end])
        found += [(kind, start + part.start, end + part.start) for kind, start, end in inside]
    return found


def _tokens(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The pieces of a part of Python."""
    words, before = readings.WORDS, "\n"
    for found in _WORD.finditer(text, start, end):
        kind, word = str(found.lastgroup), found[0]
        if kind == "name" and keyword.iskeyword(word):
            kind = "keyword"
        elif kind == "name" and before in "\n;" and word in words and readings.is_command(text, found.start()):
            kind = "command"
        yield kind, found.start(), found.end()
        behind = text[found.end() : found.end() + 80].lstrip(" \t")
        before = "\n" if behind[:1] == "\n" else word


def strangers(text: str, is_python: bool, names: Collection[str]) -> list[tuple[int, int]]:
    """The places of names without a value in a text of Python that can be read; `names`: those that have one."""
    part = last_part(text, is_python)
    source = Source("session", text, is_python=is_python)
    reader = Reader(source, readings.blank(syntax.lexer.typed_in(text), part.start, part.end))
    try:
        tree = reader.tree(reader.blanked())
    except AgradError:
        return []
    bound = {name for node in nodes(tree) for name in readings.bound(node) if not readings.is_load(node)}
    read = [node for node in nodes(tree) if readings.is_load(node)]
    return [reader.places.of(node) for node in read if node.id not in bound and node.id not in names]
