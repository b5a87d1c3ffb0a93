"""Text to syntax tree: the parser that `agrad.lark` describes, its table read from `agrad.table`."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.ast_builder import Builder
from agrad.grammar.syntax.driver import Driver, Misfit
from agrad.grammar.syntax.errors.foreign import refuse_aliases, slip
from agrad.grammar.syntax.errors.messages import wrong
from agrad.grammar.syntax.errors.recognisers import blame
from agrad.grammar.syntax.keywords import COMMAND_WORDS, OPTIONS, PYTHON, RESERVED, SOFT
from agrad.grammar.syntax.lexer import Layout, Read
from agrad.grammar.syntax.table import load
from agrad.grammar.syntax.token import Token

__all__ = [
    "COMMAND_WORDS",
    "RESERVED",
    "SOFT",
    "followers",
    "lexed",
    "needs_more",
    "parse",
    "parse_expression",
    "starts",
    "tokens",
]


class _Machine(NamedTuple):
    builder: Builder
    layout: Layout
    driver: Driver


@cache
def _machine() -> _Machine:
    """The parser, made once, of a table that was made beforehand (build.py)."""
    builder, table = Builder(), load()
    return _Machine(builder, Layout(table), Driver(table, builder))


def _strict(items: Iterable[Read], read: list[Token]) -> Iterator[Token]:
    """The tokens, up to the first lexical mistake; `read` remembers them."""
    for item in items:
        if isinstance(item, AgradError):
            raise item
        read.append(item)
        yield item


def parse(source: Source) -> tuple[ast.Statement, ...]:
    """The statements of a text.

    Raises `AgradError("syntax", ...)`, whose label is the place and which has a fix where one is plain.
    """
    builder, layout, driver = _machine()
    builder.begin(source)
    read: list[Token] = []
    items = layout.read(source)
    collecting = gc.isenabled()
    gc.disable()  # it would look through a growing tree again and again, and find nothing
    try:
        statements: tuple[ast.Statement, ...] = driver.parse(_strict(items, read))
    except Misfit as error:
        problem = slip(source, error, read) or blame(source, error, read, items)
    else:
        if " as " in source.text:
            refuse_aliases(source, read)
        return statements
    finally:
        if collecting:
            gc.enable()
    raise problem


def parse_expression(source: Source) -> ast.Expr:
    """The one expression that a text consists of. Raises as `parse` does."""
    statements = parse(source)
    if not statements:
        raise wrong("empty", Span(source, 0, 0))
    first = statements[0]
    if isinstance(first, ast.Evaluate) and len(statements) == 1 and not first.silent:
        return first.value
    raise wrong("not an expression", first.span)


def needs_more(text: str) -> bool:
    """Whether a session should wait for another line: a bracket is open, or a block lacks its blank line."""
    source = Source("session", text)
    blank = not text.rpartition("\n")[2].strip()
    try:
        parse(source)
    except AgradError as error:
        return bool(error.facts.get("unfinished")) and not (blank and error.facts["mistake"] == "no block")
    last = deque(_machine().layout.read(source), maxlen=1)
    return not blank and any(isinstance(token, Token) and token.type == "_DEDENT" for token in last)


def followers(text: str) -> tuple[list[Token], set[str]]:
    """The tokens of a text that a word is to follow, and the kinds that the word may be of.

    None where the text is wrong already, or ends inside a string or a comment. The tree is not built.
    """
    _, layout, driver = _machine()
    states = [driver.start]
    read: list[Token] = []
    try:
        # Which words are commands depends on what follows them: here a name.
        for token in _strict(layout.read(Source("session", f"{text}_")), read):
            if token and token.end_pos > len(text):
                return read[:-1], driver.accepted(states)
            if not driver.over(states, token.type):
                break
    except AgradError:
        pass
    return read, set()


def lexed(text: str) -> list[Token]:
    """The tokens of a text that may be unfinished or wrong: what cannot be read is left out."""
    items = _machine().layout.read(Source("session", text))
    return [item for item in items if isinstance(item, Token)]


def starts(text: str) -> Iterator[int]:
    """Where the lines of a text that may be wrong begin, but for those that go on inside a bracket; then its end.

    The end of the text is left out if a bracket is open there.
    """
    fresh = True
    for item in _machine().layout.read(Source("session", text)):
        if isinstance(item, Token):
            if fresh and item:
                yield item.start_pos
            fresh = item.type == "_NEWLINE" or (fresh and not item)
        elif item.facts.get("unfinished"):
            return
        elif fresh:
            place = item.labels[-1].origin
            assert isinstance(place, Span)
            if place.text:  # a margin is no beginning
                yield place.start
                fresh = False
    yield len(text)


# The kinds of words and signs for highlighting; what is not here is an operator.
_KINDS = {
    **dict.fromkeys(("STRING", "FSTRING_START", "FSTRING_TEXT", "FSTRING_END", "SPEC"), "string"),
    **dict.fromkeys(("TOPIC", *(kind for options in OPTIONS.values() for kind in options.values())), "command"),
    "NUMBER": "number",
    "NAME": "name",
    "COMMENT": "comment",
}


def _kind(token: Token) -> str:
    if token.type in _KINDS:
        return _KINDS[token.type]
    if token in PYTHON:
        return "keyword"
    return "command" if token in RESERVED | SOFT else "operator"


def tokens(text: str) -> list[tuple[str, int, int]]:
    """What each stretch of a text is, for highlighting; never fails, and leaves out what is blank.

    The kinds are number, string, name, command, keyword, operator, comment and error.
    """
    source = Source("session", text)
    found: list[tuple[str, int, int]] = []
    for item in _machine().layout.read(source, comments=True):
        if isinstance(item, Token):
            kind, start, end = _kind(item), item.start_pos, item.end_pos
        elif item.facts.get("unfinished"):
            continue
        else:
            place = item.labels[-1].origin
            assert isinstance(place, Span)
            kind, start, end = "error", place.start, place.end
        # An error may say something of a stretch that has been told already: then it has the word.
        while found and end > start and found[-1][1] >= start:
            found.pop()
        if end > start:
            found.append((kind, start, end))
    return found
