"""The language in colour."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from agrad.grammar.parser import tokens


class Highlighter(Lexer):
    """Each token in the style class of its kind."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function from a line's number to its coloured pieces."""
        lines = highlighted(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def highlighted(text: str) -> list[StyleAndTextTuples]:
    """For each line, its pieces: (style, text), which joined give the line."""
    pieces: StyleAndTextTuples = []
    done = 0
    for kind, start, end in tokens(text):
        pieces += [("", text[done:start]), (f"class:{kind}", text[start:end])]
        done = end
    pieces.append(("", text[done:]))
    lines: list[StyleAndTextTuples] = [[]]
    for style, piece, *_ in pieces:
        first, *rest = piece.split("\n")
        lines[-1].append((style, first))
        lines.extend([(style, line)] for line in rest)
    return lines
