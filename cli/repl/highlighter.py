"""The language in colour, and unknown names underlined."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from agrad.engine.errors import AgradError
from agrad.grammar.help.used_names import unknown
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.incremental import Incremental
from agrad.grammar.syntax.parser import kinds

_LONGEST = 20_000  # characters; a longer text is not coloured, since every key draws it again


class Highlighter(Lexer):
    """Each token in the style class of its kind."""

    def __init__(self, session: Session, words: Iterable[str] = ()) -> None:
        self.session = session
        self.read = Incremental().read
        self.words = frozenset(words)  # that are lines of their own, beside the language

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function from a line's number to its coloured pieces."""
        if len(document.text) > _LONGEST:
            return lambda number: [("", document.lines[number])]
        items = self.read(document.text)
        tokens = [item for item in items if not isinstance(item, AgradError) and item.type != "COMMENT"]
        names = unknown(tokens, {*self.session.names, *self.words})
        # The word being typed may become one that is known.
        strangers = {start for start, end in names if end != document.cursor_position}
        lines = highlighted(document.text, kinds(items), strangers)
        return lambda number: lines[number] if number < len(lines) else []

    def invalidation_hash(self) -> Hashable:
        """A value that changes with the names of the session."""
        return id(self), self.session.line


def highlighted(
    text: str, found: Iterable[tuple[str, int, int]], strangers: Container[int] = ()
) -> list[StyleAndTextTuples]:
    """For each line, its pieces: (style, text), which make up the line.

    `found`: the kind and the span of each token; `strangers`: where unknown names start.
    """
    lines: list[StyleAndTextTuples] = [[]]
    done = 0
    for kind, start, end in found:
        if start > done:
            _add(lines, "", text[done:start])
        _add(lines, f"class:{kind} class:unknown" if start in strangers else f"class:{kind}", text[start:end])
        done = end
    _add(lines, "", text[done:])
    return lines


def _add(lines: list[StyleAndTextTuples], style: str, piece: str) -> None:
    """Write a piece at the end of the lines, of which it may end some."""
    if "\n" not in piece:
        lines[-1].append((style, piece))
        return
    first, *rest = piece.split("\n")
    lines[-1].append((style, first))
    lines.extend([(style, line)] for line in rest)
