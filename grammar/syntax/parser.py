"""Text to syntax tree: lark's parser of `agrad.lark`, with agrad's lexer, and the syntax tree made while it parses."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from agrad.engine.errors import AgradError, SyntaxMistake, typed
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import ast, errors
from agrad.grammar.syntax.errors.messages import syntax_error
from agrad.grammar.syntax.keywords import OPTIONS, PYTHON, RESERVED, SOFT, accepted, saved
from agrad.grammar.syntax.keywords import parser as loaded

if TYPE_CHECKING:
    from lark.parsers.lalr_parser import _Parser

    from agrad.grammar.syntax.builder import Builder
    from agrad.grammar.syntax.lexer import Item, Token

# lark, and what needs it, is imported with the first text: `agrad --help` and the errors of a command line have none.


@cache
def _parser() -> tuple[_Parser, Builder]:
    """The parser of the grammar, loaded once, and what it builds the tree with."""
    from agrad.grammar.syntax.builder import Builder

    builder = Builder()
    return loaded(builder, saved()), builder


# The one builder works on one text at a time.
_PARSING = threading.Lock()


def parse(source: Source, text: str | None = None) -> tuple[ast.Statement, ...]:
    """The statements of a text; of a part of it, `text` has all other parts blanked.

    Raises AgradError of kind `syntax`, whose label is the place and which has a fix if there is an obvious one.
    """
    try:
        return _read(source, text)
    except AgradError as problem:
        if problem.kind == "syntax":
            whole = [(fix, [re.sub(":$", ":\n  pass", one) for one in typed([fix])]) for fix in problem.fixes]
            problem.fixes = [fix for fix, texts in whole if all(map(can_be_read, texts))]
            if problem.facts == SyntaxMistake("look-alike"):
                problem.fixes = problem.fixes[:1]  # the line with another character, else what that is
            place = problem.labels[0].origin
            is_open = not typed(problem.fixes) or getattr(problem.facts, "name", "") in _WEAK
            rewritten: list[str] = errors.notation.rewritten(place) if is_open and isinstance(place, Span) else []
            fixes = [*filter(can_be_read, rewritten)]
            if fixes and fixes[0] not in problem.fixes:
                problem.fixes, problem.notes = fixes, []  # which list the commands
        raise


_WEAK = ("look-alike", "missing operator")  # mistakes whose fixes a form of another program goes before


def can_be_read(text: str) -> bool:
    """Whether a fix, once typed, is free of syntax errors: there may be a second mistake in the same line."""
    if text.startswith(("import ", "from ")):
        return True
    try:
        _read(Source("session", text))
    except AgradError:
        return False
    return True


def _read(source: Source, part: str | None = None) -> tuple[ast.Statement, ...]:
    """The statements of a text. Raises as `parse` does, with fixes that have not been tried."""
    from lark.exceptions import UnexpectedToken

    from agrad.engine.core.graph import collecting_later

    (parser, builder), text = _parser(), syntax.lexer.Input(source, part)
    with _PARSING, collecting_later():  # else Python would search a growing tree repeatedly, and find nothing
        builder.begin(source)
        try:
            statements: tuple[ast.Statement, ...] = parser.parse(cast(Any, text), "program")
        except UnexpectedToken as error:
            problem = errors.recognisers.recognise(text, error)
        else:
            return statements
    raise problem


def parse_expression(source: Source) -> ast.Expr:
    """The one expression that a text consists of. Raises as `parse` does."""
    statements = parse(source)
    if not statements:
        raise syntax_error("empty", Span(source, 0, 0))
    first = statements[0]
    if isinstance(first, ast.Evaluate) and len(statements) == 1 and not first.silent:
        return first.value
    raise syntax_error("not an expression", first.span)


def needs_more(text: str) -> bool:
    """Whether a session should wait for another line: where a bracket is open, or a block lacks its blank line."""
    source = Source("session", text)
    blank = not text.rpartition("\n")[2].strip()
    try:
        parse(source)
    except AgradError as error:
        return error.unfinished and not (blank and error.facts == SyntaxMistake("no block"))
    last = deque(syntax.lexer.read(source), maxlen=1)
    return not blank and any(not isinstance(token, AgradError) and token.type == "_DEDENT" for token in last)


def followers(text: str) -> tuple[list[Token], set[str]]:
    """The tokens of a text that a word is to follow, and the kinds that the word may be of.

    There are none where the text is wrong already, or ends inside a string or a comment.
    """
    from lark.exceptions import UnexpectedToken

    parser, builder = _parser()
    # Which words are commands depends on what follows them: here a name.
    stream = syntax.lexer.Input(Source("session", f"{text}_"))
    with _PARSING:
        builder.begin(stream.source)
        interactive: Any = parser.parse(cast(Any, stream), "program", start_interactive=True)
        try:
            for token in stream.lex(interactive.parser_state, lambda state, kind: None):
                if token and token.end_pos > len(text):
                    return stream.taken[:-1], accepted(interactive.parser_state) - {"$END"}
                # A sign that is left out stands before the word.
                if token.start_pos < len(text) or token.type not in ("TIMES", "APPLY", "ALONG"):
                    interactive.feed_token(token)
        except (AgradError, UnexpectedToken):
            pass
    return stream.taken, set()


def lexed(text: str) -> list[Token]:
    """The tokens of a text that may be unfinished or wrong, without its lexical errors."""
    items = syntax.lexer.read(Source("session", text))
    return [item for item in items if not isinstance(item, AgradError)]


def starts(text: str) -> Iterator[int]:
    """Where the lines of a text that may be wrong begin, except for those inside a bracket; then its end.

    The end of the text is left out if a bracket is open there.
    """
    fresh = True
    for item in syntax.lexer.read(Source("session", text)):
        if not isinstance(item, AgradError):
            if fresh and item:
                yield item.start_pos
            fresh = item.type == "_NEWLINE" or (fresh and not item)
        elif item.unfinished:
            return
        elif fresh:
            place = item.labels[-1].origin
            assert isinstance(place, Span)
            if place.text:  # indentation does not begin a line
                yield place.start
                fresh = False
    yield len(text)


# The kinds of words and signs for highlighting; what is not here is an operator.
_KINDS = {
    **dict.fromkeys(("STRING", "FSTRING_START", "FSTRING_TEXT", "FSTRING_END", "SPEC"), "string"),
    **dict.fromkeys(("TOPIC", *(kind for options in OPTIONS.values() for kind in options.values())), "command"),
    **dict.fromkeys(("NUMBER", "MEASURED"), "number"),
    "NAME": "name",
    "COMMENT": "comment",
}


def kind_of(token: Token) -> str:
    """The kind of a token, for highlighting."""
    if token.type in _KINDS:
        return _KINDS[token.type]
    if token in PYTHON:
        return "keyword"
    return "command" if token in RESERVED or token in SOFT else "operator"


def tokens(text: str) -> list[tuple[str, int, int]]:
    """The kind and the span of each piece of a text, for highlighting. It never fails, and leaves out white space.

    The kinds are number, string, name, command, keyword, operator, comment and error.
    """
    return kinds(syntax.lexer.read(Source("session", text), comments=True))


def kinds(items: Iterable[Item]) -> list[tuple[str, int, int]]:
    """What `tokens` returns, of what the lexer has read."""
    found: list[tuple[str, int, int]] = []
    for item in items:
        if not isinstance(item, AgradError):
            kind, start, end = kind_of(item), item.start_pos, item.end_pos
        elif item.unfinished:
            continue
        else:
            place = item.labels[-1].origin
            assert isinstance(place, Span)
            kind, start, end = "error", place.start, place.end
        # An error may cover tokens before it: then it replaces them.
        while found and end > start and found[-1][1] >= start:
            found.pop()
        if end > start:
            found.append((kind, start, end))
    return found
