"""What a recogniser looks at: the unexpected token, and the tokens around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from lark.exceptions import UnexpectedToken

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.errors.messages import syntax_error
from agrad.grammar.syntax.keywords import CLOSERS
from agrad.grammar.syntax.lexer import CLOSING, OPENERS, STARTS, Input, Item, Token

LINE_STARTS = STARTS | {""}
_NOTHING = Token("")


# They look at what is around an unexpected token, and return the error that it is, or None.
Recognisers: TypeAlias = "tuple[Callable[[ErrorContext], AgradError | None], ...]"


class ErrorContext:
    """The unexpected token (`bad`), the tokens before it, and those after it."""

    def __init__(self, text: Input, error: UnexpectedToken) -> None:
        self.source = text.source
        self.error = error
        at_end = error.token.type == "$END"
        last = text.taken[-1] if text.taken else _NOTHING
        self.bad = Token("$END", "", last.start_pos, last.end_pos) if at_end else last
        self.before = text.taken if at_end else text.taken[:-1]
        self.previous = self.before[-1] if self.before else _NOTHING
        self.ahead: Iterator[Item] = text.ahead
        # The statement so far, the brackets open in it, and the first word of its line.
        self.statement: list[Token] = []
        self.open: list[Token] = []
        self.line_head = _NOTHING
        self.look_back()

    def look_back(self) -> None:
        """Find the beginning of the statement, and the open brackets."""
        for token in self.before:
            if token.type in OPENERS:
                self.open.append(token)
            elif token.type in CLOSING:
                self.open.pop()
            if token.type in LINE_STARTS or (token.type == "_COLON" and not self.open):
                self.statement = []
            else:
                self.statement.append(token)
            if token.type in LINE_STARTS - {"SEMICOLON"}:
                self.line_head = _NOTHING
            elif self.line_head is _NOTHING:
                self.line_head = token

    @property
    def head(self) -> Token:
        """The first token of the statement; the bad one if the statement begins with it."""
        return self.statement[0] if self.statement else self.bad

    @property
    def at_line_end(self) -> bool:
        """Whether the bad token is the end of the line or of the text."""
        return self.bad.type in ("_NEWLINE", "$END")

    @property
    def place(self) -> Span:
        """The span of the bad token; at the end of a line, the place after the last token."""
        if self.bad.type in ("_NEWLINE", "$END", "_DEDENT"):
            return Span(self.source, self.previous.end_pos, self.previous.end_pos)
        return self.span(self.bad)

    def span(self, token: Token) -> Span:
        """The span of a token."""
        return Span(self.source, token.start_pos, token.end_pos)

    def wrong(self, text: str, at: Token | Span, /, *edits: str, fixes: Sequence[str] = (), **words: str) -> AgradError:
        """The error with one message of the table, at a token or a span."""
        span = self.span(at) if isinstance(at, Token) else at
        return syntax_error(text, span, *edits, fixes=fixes, **words)

    def until(self, first: Token, end: int) -> Span:
        """The span from a token to an offset."""
        return Span(self.source, first.start_pos, end)

    def across(self, first: Token, last: Token) -> Span:
        """The span from one token to another, both included."""
        return self.until(first, last.end_pos)

    @cached_property
    def following(self) -> Item:
        """The token, or the lexical error, after the bad token."""
        return next(self.ahead, _NOTHING)

    @property
    def next_type(self) -> str:
        """The type of the token after the bad token."""
        return self.following.type if isinstance(self.following, Token) else ""

    def closes(self) -> bool:
        """Whether the innermost open bracket is closed from the bad token on. Can be called once, since it reads on."""
        inner: list[str] = [self.open[-1]]
        for token in chain((self.bad, self.following), self.ahead):
            if isinstance(token, AgradError):
                continue
            if token.type in OPENERS:
                inner.append(token)
            elif token.type in CLOSING and CLOSERS[inner.pop()] != token:
                return False
            if not inner:
                return True
        return False

    def text_of(self, first: Token, last: Token) -> str:
        """The source from one token to another, both included."""
        return self.source.text[first.start_pos : last.end_pos]

    def rest_of_line(self, position: int) -> str:
        """The rest of a line, from an offset on."""
        _, column = self.source.position(position)
        return self.source.line_at(position)[column - 1 :]

    def breaks_between(self, first: Token, last: Token) -> bool:
        """Whether two tokens are on different lines."""
        return any(c in "\r\n" for c in self.text_of(first, last))

    def joined(self) -> str:
        """The token before and the bad one, if nothing is between them."""
        return self.previous + self.bad if self.previous.end_pos == self.bad.start_pos else ""
