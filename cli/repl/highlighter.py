"""The language in colour, and unknown names underlined."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from agrad.grammar.help.used_names import unknown
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import tokens

_LONGEST = 20_000  # characters; a longer text is not coloured, since every key colours it again


class Highlighter(Lexer):
    """Each token in the style class of its kind."""

    def __init__(self, session: Session, words: Iterable[str] = ()) -> None:
        self.session = session
        self.words = frozenset(words)  # that are lines of their own, beside the language

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function from a line's number to its coloured pieces."""
        if len(document.text) > _LONGEST:
            return lambda number: [("", document.lines[number])]
        names = unknown(document.text, {*self.session.names, *self.words})
        # The word being typed may become one that is known.
        strangers = {start for start, end in names if end != document.cursor_position}
        lines = highlighted(document.text, strangers)
        return lambda number: lines[number] if number < len(lines) else []

    def invalidation_hash(self) -> Hashable:
        """A value that changes with the names of the session."""
        return id(self), self.session.line


def highlighted(text: str, strangers: set[int] = frozenset()) -> list[StyleAndTextTuples]:  # type: ignore[assignment]
    """For each line, its pieces: (style, text), which make up the line. `strangers`: where unknown names start."""
    pieces: StyleAndTextTuples = []
    done = 0
    for kind, start, end in tokens(text):
        style = f"class:{kind}" + (" class:unknown" if start in strangers else "")
        if start > done:
            pieces.append(("", text[done:start]))
        pieces.append((style, text[start:end]))
        done = end
    pieces.append(("", text[done:]))
    lines: list[StyleAndTextTuples] = [[]]
    for style, piece, *_ in pieces:
        first, *rest = piece.split("\n")
        lines[-1].append((style, first))
        lines.extend([(style, line)] for line in rest)
    return lines
