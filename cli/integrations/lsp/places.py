"""What a name in a script is: its help, its value, and the place that defines it."""

from __future__ import annotations

import os.path
from collections.abc import Mapping

from agrad.cli.integrations.lookup import path_of
from agrad.cli.integrations.lsp.document import Document
from agrad.engine.errors import AgradError
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.files import beside, read_text
from agrad.grammar.help.help import help_on
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.parser import parse_expression

_MOST_FILES = 20  # that are searched for a definition


def hover(document: Document, offset: int, values: Mapping[str, str]) -> tuple[str, tuple[int, int]] | None:
    """What to show about the word at a place, in Markdown, and where the word is; None where there is nothing.

    `values`: of names, after the last run.
    """
    tokens = document.tokens_at(offset)
    if not tokens:
        return None
    word = tokens[-1]
    place = document.span_at(offset, word)
    path = path_of(tokens)
    if len(path) == 1 and word.type == "NAME" and (word in values or _binding(document, str(word), offset) is not None):
        return "\n\n".join(_of_name(document, str(word), offset, values)), place
    try:
        return _block("text", help_on(".".join(path) if len(path) > 1 else str(word), COMMANDS)), place
    except AgradError:
        return None


def _of_name(document: Document, name: str, offset: int, values: Mapping[str, str]) -> list[str]:
    """The line that binds a name of the script, and its value."""
    bound = _binding(document, name, offset)
    parts = [_block("agrad", document.source.line_at(bound).strip())] if bound is not None else []
    if name in values:
        parts += ["after the last run:", _block("text", values[name])]
    return parts


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def definition(document: Document, offset: int) -> tuple[Document, int] | None:
    """The script, and the place in it, that define the word at a place; for `load "model.ag"`, that script.

    Of several, that which is bound last before the place: in the function that the place is in, else in the script,
    else in those that it loads.
    """
    loaded = _loaded_at(document, offset)
    if loaded is not None:
        return loaded, 0
    tokens = document.tokens_at(offset)
    if not tokens or tokens[-1].type != "NAME" or len(path_of(tokens)) > 1:
        return None
    name = str(tokens[-1])
    bound = _binding(document, name, offset)
    if bound is not None:
        return document, bound
    return _in_loaded(document, name)


def _binding(document: Document, name: str, offset: int) -> int | None:
    """Where a name is bound that is read at a place."""
    piece = document.pieces[document.piece_at(offset)]
    if name in piece.read.inner:
        return piece.start + piece.read.inner[name]
    places = document.names.get(name, [])
    return max((place for place in places if place <= offset), default=min(places, default=None))


def loads(document: Document) -> list[tuple[int, int, str]]:
    """Each `load` of a script: where the name of the other script stands, and its path."""
    found = []
    for piece in document.pieces:
        for word, path in zip(piece.read.tokens, piece.read.tokens[1:], strict=False):
            if word.type == "LOAD" and path.type == "STRING":
                start, end = piece.start + path.start_pos, piece.start + path.end_pos
                name = parse_expression(Source("session", str(path)))
                assert isinstance(name, ast.String)
                found.append((start, end, name.value))
    return found


def _loaded(document: Document, path: str) -> Document | None:
    """A script that a script loads, if it can be read."""
    try:
        found = beside(path, Span(document.source, 0, 0))
        return Document(found, read_text(found), None, document.encoding)
    except AgradError:
        return None


def _loaded_at(document: Document, offset: int) -> Document | None:
    for start, end, path in loads(document):
        if start <= offset <= end:
            return _loaded(document, path)
    return None


def _in_loaded(document: Document, name: str) -> tuple[Document, int] | None:
    """Where the scripts that a script loads, directly or not, bind a name."""
    waiting, seen = [document], {os.path.realpath(document.source.name)}
    while waiting and len(seen) <= _MOST_FILES:
        here = waiting.pop(0)
        for _, _, path in loads(here):
            other = _loaded(here, path)
            if other is None or os.path.realpath(other.source.name) in seen:
                continue
            seen.add(os.path.realpath(other.source.name))
            if name in other.names:
                return other, other.names[name][-1]
            waiting.append(other)
    return None
