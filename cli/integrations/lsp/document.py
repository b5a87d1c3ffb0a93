"""The text of a script that is being edited: its pieces, the names that they bind, and its places as editors count."""

from __future__ import annotations

import os.path
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import accumulate

from agrad.cli.integrations.lookup import called, path_of, word_at
from agrad.cli.integrations.lsp.names import Names
from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.files import beside, read_text
from agrad.grammar.help.completion import given
from agrad.grammar.help.help import help_on
from agrad.grammar.help.python_completion import told
from agrad.grammar.lint.lint import pieces
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.lexer import CLOSING, OPENERS, Token
from agrad.grammar.syntax.parser import lexed, parse_expression
from agrad.grammar.syntax.readings import parts

_IMPORT = re.compile(r"^[ \t]*(?:import[ \t]+\w|from[ \t]+[\w.]+[ \t]+import[ \t]+\w)[^;(\n]*", re.MULTILINE)
_ABOVE = 100  # lines above the cursor that completion reads, and those of the block that they begin in
_DEFINITIONS = frozenset({"def", "class"})


class Read(Struct):
    """The tokens of a piece, and the names that it binds with their places in it.

    `inner` are the names that only the piece itself sees: those of a function.
    """

    tokens: tuple[Token, ...]
    names: Mapping[str, int]
    inner: Mapping[str, int]


@lru_cache(maxsize=50_000)
def _read(text: str) -> Read:
    tokens = tuple(lexed(text))
    names = {name: token.start_pos for name, token in given(tokens).items()}
    heads = [place for place, token in enumerate(tokens[:-1]) if token in _DEFINITIONS]
    if not heads or tokens[0] not in _DEFINITIONS | {"@"}:
        return Read(tokens, names, {})
    name = tokens[heads[0] + 1]
    own = {str(name): name.start_pos}
    return Read(tokens, own, {name: place for name, place in names.items() if name not in own})


class Piece(Struct):
    """A statement without indentation, with its block: where it starts, and its text."""

    start: int
    text: str

    @property
    def read(self) -> Read:
        """Its tokens and names, which are kept for as long as its text is the same."""
        return _read(self.text)


class Document:
    """One version of a text. `path` is that of its file, which the scripts that it loads are beside."""

    def __init__(self, path: str, text: str, version: int | None = None, encoding: str = "utf-16") -> None:
        self.source = Source(path, text, 1, True)
        self.version = version
        self.encoding = encoding

    @property
    def text(self) -> str:
        """The whole text."""
        return self.source.text

    @cached_property
    def pieces(self) -> list[Piece]:
        """The whole text in pieces."""
        texts = list(pieces(self.text)) or [""]
        return list(map(Piece, accumulate(map(len, texts), initial=0), texts))

    def piece_at(self, offset: int) -> int:
        """The number of the piece that a place is in."""
        return max(bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1, 0)

    @cached_property
    def names(self) -> dict[str, list[int]]:
        """The names that the script binds, outside of functions, each with the places where it does."""
        found: dict[str, list[int]] = {}
        for piece in self.pieces:
            for name, place in piece.read.names.items():
                found.setdefault(name, []).append(piece.start + place)
        return found

    @cached_property
    def uses(self) -> Names:
        """The places of each name."""
        return Names(self.source)

    def tokens_at(self, offset: int) -> list[Token]:
        """The tokens of the piece that a place is in, up to the word at the place; none where there is no word."""
        piece = self.pieces[self.piece_at(offset)]
        return word_at(piece.read.tokens, offset - piece.start)

    def session(self, offset: int) -> Session | None:
        """A session with the modules that the script imports, where a place is read as Python; elsewhere None."""
        here = (part.is_python for part in reversed(parts(self.source)) if part.start <= offset)
        if not next(here, False):
            return None
        return _importing(tuple(dict.fromkeys(found[0].strip() for found in _IMPORT.finditer(self.text))))

    def before(self, offset: int) -> str:
        """The text up to a place, from a line that begins a statement, far enough above it to complete a word."""
        first = self.piece_at(offset)
        line = self.source.position(offset)[0]
        while first and line - self.source.position(self.pieces[first].start)[0] < _ABOVE:
            first -= 1
        return self.text[self.pieces[first].start : offset]

    # Places as editors count them: lines and columns from 0, columns in the units of the encoding.

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of a place."""
        line, column = self.source.position(min(offset, len(self.text)))
        return line - 1, _units(self.source.line(line)[: column - 1], self.encoding)

    def offset(self, line: int, column: int) -> int:
        """The place at a line and a column."""
        end = self.source.offset(line + 1, 1)
        for character in self.source.line(line + 1) if self.source.position(end)[0] == line + 1 else "":
            column -= _units(character, self.encoding)
            if column < 0:
                break
            end += 1
        return end


@lru_cache(maxsize=50)
def _importing(lines: tuple[str, ...]) -> Session:
    """A session that reads Python, with what some imports give."""
    session = Session()
    session.context.files.on, session.reads_python = False, True
    for line in lines:
        with suppress(AgradError):  # one that is not finished, say
            session.run(line)
    return session


def _units(text: str, encoding: str) -> int:
    """The length of a text as editors count: in UTF-16, an emoji has two units."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    size, codec = (2, "utf-16-le") if encoding == "utf-16" else (1, encoding)
    return len(text.encode(codec, "surrogatepass")) // size


# What a name in a script is: its help, and the place that defines it.

_MOST_FILES = 20  # that are searched for a definition


def hover(document: Document, offset: int) -> tuple[str, tuple[int, int]] | None:
    """What to show about the word at a place, in Markdown, and where the word is; None where there is nothing."""
    tokens = document.tokens_at(offset)
    if not tokens:
        return None
    word = tokens[-1]
    start = document.pieces[document.piece_at(offset)].start
    place = start + word.start_pos, start + word.end_pos
    path, session = path_of(tokens), document.session(offset)
    if session is not None and (found := told(".".join(path), session)) is not None:
        return _block("text", found), place
    if len(path) == 1 and word.type == "NAME" and (bound := _binding(document, str(word), offset)) is not None:
        return _block("agrad", document.source.line_at(bound).strip()), place
    try:
        return _block("text", help_on(".".join(path) if len(path) > 1 else str(word), COMMANDS)), place
    except AgradError:
        return None


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def signature(document: Document, offset: int) -> tuple[str, list[str], int] | None:
    """How what is being called at a place is called, its parameters, and which of them the place is in."""
    text = document.before(offset)
    tokens = [token for token in lexed(text) if token]
    number = called(tokens)
    if number is None:
        return None
    found = hover(document, offset - len(text) + tokens[number - 1].start_pos)
    usage = found[0].split("\n")[1] if found is not None else ""
    whole = lexed(usage)
    first = next((place for place, token in enumerate(whole) if token.type == "LPAR"), len(whole))
    names = ["".join(part) for part in _entries(whole[first + 1 :])]
    given = _entries(tokens[number + 1 :])
    word = str(given[-1][0]) if given[-1][1:2] == ["="] else ""
    named = (place for place, name in enumerate(names) if word and name.partition("=")[0] == word)
    return usage, names, next(named, len(given) - 1)


def _entries(tokens: Sequence[Token]) -> list[list[Token]]:
    """What stands between the commas within a bracket, up to its end."""
    found, depth = [list[Token]()], 0
    for token in tokens:
        depth += (token.type in OPENERS) - (token.type in CLOSING)
        if depth < 0:
            break
        if token == "," and not depth:
            found.append([])
        else:
            found[-1].append(token)
    return found


def symbols(document: Document) -> list[tuple[str, str, int, int, int]]:
    """The functions, classes and names of a script: the word before each, where it stands, its statement's extent."""
    found, seen = [], set[str]()
    for piece in document.pieces:
        for name, place in piece.read.names.items():
            if name not in seen:
                word = next((str(one) for one in reversed(piece.read.tokens) if one and one.end_pos <= place), "")
                end = piece.start + len(piece.text.rstrip())
                found.append((name, word, piece.start + place, piece.start, end))
            seen.add(name)
    return found


def folds(document: Document) -> Iterator[tuple[int, int]]:
    """The first and the last line of each block, by their indentation."""
    above, last = list[tuple[int, int]](), 0
    for number, line in enumerate([*document.text.split("\n"), "."]):
        code = line.strip()
        if not code or code[0] == "#":
            continue
        margin = len(line) - len(line.lstrip())
        while above and above[-1][0] >= margin:
            _, first = above.pop()
            if last > first:
                yield first, last
        above.append((margin, number))
        last = number


def definition(document: Document, offset: int) -> tuple[Document, int] | None:
    """The script, and the place in it, that define the word at a place; for `load "model.ag"`, that script.

    Of several, that which is bound last before the place: in the function that the place is in, else in the script,
    else in those that it loads.
    """
    loaded = [_loaded(document, path) for start, end, path in loads(document) if start <= offset <= end]
    if loaded and loaded[0] is not None:
        return loaded[0], 0
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
        return Document(found, read_text(found, of_script=True), None, document.encoding)
    except AgradError:
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
