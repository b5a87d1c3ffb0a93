"""Tab completion: what the grammar accepts here, the likeliest first; inside the name of a file, files."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.search import SearchDirection, SearchState

from agrad.cli.output import as_read, note
from agrad.cli.settings import make_folder, state_folder
from agrad.engine.errors import AgradError
from agrad.engine.text import truncate
from agrad.grammar import help as helping
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.diagnostics import Source
from agrad.grammar.files import require_ordinary
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.lexer import read
from agrad.grammar.syntax.parser import kinds
from agrad.grammar.syntax.typed import last_part, strangers, tokens
from agrad.lazy import pattern, rare

_USAGE = 34  # columns for the usage of a word; its description follows
_MEANING = 16  # columns that it needs at least, to say anything


# An open string that is the name of a file: after a command, or an option of one, or in a call.
@cache
def _file() -> re.Pattern[str]:
    places = [pair for made in COMMANDS.values() for pair in made.places()]
    named = "|".join(sorted({word for word, place in places if place is not None and place.file}))
    return re.compile(rf"""(?:\b(?:{named})\s+|\b(?:load_csv|load_npy|load|chunks)\(\s*)(["'])([^"'\n]*)$""")


# `\alpha`, as in LaTeX and in Julia, which Tab replaces.
_SIGN = pattern(r"\\(\w*)$")
_LETTERS = zip(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi"
    " psi omega".split(),
    "αβγδεζηθικλμνξοπρστυφχψω",
    strict=True,
)
SIGNS = dict(zip("sqrt pm deg partial times cdot div le ge ne".split(), "√±°∂×·÷≤≥≠", strict=True))
SIGNS |= {name: sign for word, letter in _LETTERS for name, sign in ((word, letter), (word.title(), letter.upper()))}

_QUESTION = pattern(r"\s*\?\s*(?=\w*$)")


class Words(Completer):
    """Completes the word before the cursor from the language and the names of the session."""

    def __init__(self, session: Session, words: Mapping[str, str] = MappingProxyType({})) -> None:
        self.session = session
        self.words = words  # that are lines of their own, beside the language, with what they do

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Each completion with its usage and a line that describes it."""
        text = as_read(document.text_before_cursor)
        if found := _file().search(text):
            closing = "" if document.text_after_cursor.startswith(found[1]) else found[1]
            yield from files(found[2], closing)
            return
        if (sign := _SIGN.search(text)) is not None and sign[1] in SIGNS:
            yield Completion(SIGNS[sign[1]], -len(sign[0]))
            return
        if sign is not None:
            near = (name for name in SIGNS if name.startswith(sign[1]))
            yield from (Completion(SIGNS[name], -len(sign[0]), f"\\{name}", SIGNS[name]) for name in near)
            return
        if question := _QUESTION.match(text):
            word = text[question.end() :]
            yield from (Completion(name, -len(word)) for name in self.session.names if name.startswith(word))
            text = f"help {word}"
        word, candidates = helping.completion.completions(text, self.session)
        columns = shutil.get_terminal_size().columns
        shown = [truncate(candidate.usage or candidate.text, max(_USAGE, columns // 3)) for candidate in candidates]
        wide = max(map(len, shown), default=0) + _MEANING <= columns
        if word == text.strip():
            for own, does in self.words.items():
                if own.startswith(word):
                    yield Completion(own, start_position=-len(word), display_meta=does)
        for candidate, display in zip(candidates, shown, strict=True):
            yield Completion(
                candidate.text,
                start_position=-len(word),
                display=display,
                display_meta=candidate.meaning if wide else None,
            )


def files(path: str, closing: str = "") -> Iterator[Completion]:
    """The files and folders that a path can be completed to; `closing` is the quote after the name of a file."""
    folder, _, start = path.rpartition("/")
    where = os.path.expanduser(f"{folder}/" if "/" in path else ".")
    try:
        entries = sorted(os.scandir(where), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
            end, what = ("/", "folder") if entry.is_dir() else (closing, "file")
            shown = entry.name + "/" * entry.is_dir()
            yield Completion(entry.name + end, start_position=-len(start), display=shown, display_meta=what)


# The language in colour, and unknown names underlined.

_LONGEST = 20_000  # characters; a longer text is not coloured, since every key draws it again


class Highlighter(Lexer):
    """Each token in the style class of its kind."""

    def __init__(self, session: Session, words: Iterable[str] = ()) -> None:
        self.session = session
        self.words = frozenset(words)  # that are lines of their own, beside the language

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function from a line's number to its coloured pieces."""
        if len(document.text) > _LONGEST:
            return lambda number: [("", document.lines[number])]
        if last_part(document.text, self.session.reads_python).is_python:
            return self._python(document)
        items = [*read(Source("session", as_read(document.text)), comments=True)]
        tokens = [item for item in items if not isinstance(item, AgradError) and item.type != "COMMENT"]
        own = {*self.session.names, *self.words}
        names = helping.completion.unknown(tokens, own) if tokens else []
        # The word being typed may become one that is known.
        strangers = {start for start, end in names if end != document.cursor_position}
        lines = highlighted(document.text, kinds(items), strangers)
        return lambda number: lines[number] if number < len(lines) else []

    def _python(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The same for a text that is read as Python."""
        session, text = self.session, document.text
        known = {*session.names, *self.words, *session.python.builtins}
        places = strangers(text, session.reads_python, known)
        found = {start for start, end in places if end != document.cursor_position}
        lines = highlighted(text, tokens(text, session.reads_python), found)
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
    pieces: StyleAndTextTuples = []
    done = 0
    for kind, start, end in found:
        if start > done:
            pieces.append(("", text[done:start]))
        pieces.append((f"class:{kind} class:unknown" if start in strangers else f"class:{kind}", text[start:end]))
        done = end
    return list(split_lines([*pieces, ("", text[done:])]))


# The lines typed in earlier sessions, and in others at the same time.


class KeptHistory(FileHistory):
    """The file of typed lines, in prompt_toolkit's form.

    An entry is one write at the end of the file, so that simultaneous sessions lose nothing. A full or
    missing disk gives one note and does not end the session.
    """

    def __init__(self, path: Path, writable: bool = True) -> None:
        self.writable = writable
        super().__init__(str(path))

    def load_history_strings(self) -> Iterable[str]:
        """What was typed, the last first; of what was typed several times, the last."""
        return dict.fromkeys(super().load_history_strings())

    def store_string(self, string: str) -> None:
        """Append what was typed."""
        if not self.writable:
            return
        lines = "".join(f"+{line}\n" for line in string.split("\n"))
        entry = f"\n# {rare.datetime.datetime.now()}\n{lines}".encode(errors="surrogatepass")
        try:
            with os.fdopen(_opened(Path(str(self.filename))), "ab", buffering=0) as file:
                file.write(entry)
        except OSError as problem:
            self.writable = False
            _warn(str(self.filename), problem)


def history() -> History:
    """The user's history file; if it cannot be written, a note is printed, and its content is still used."""
    path = Path(state_folder(), "history")
    try:
        make_folder(path.parent)
        os.close(_opened(path))
    except OSError as problem:
        _warn(str(path), problem)
        readable = path.is_file() and os.access(path, os.R_OK)
        return KeptHistory(path, writable=False) if readable else InMemoryHistory()
    return KeptHistory(path)


def search_quickly(buffer: Buffer) -> None:
    """Let a search back through the lines of a buffer compare texts alone: on 100,000 lines that takes milliseconds.

    prompt_toolkit makes a document of each line, which takes a second or two.
    """
    slowly = buffer._search

    def search(state: SearchState, include_current_position: bool = False, count: int = 1) -> tuple[int, int] | None:
        document, ignore = buffer.document, state.ignore_case()
        if state.direction is SearchDirection.FORWARD or count != 1 or not state.text:
            return slowly(state, include_current_position, count)
        if (here := document.find_backwards(state.text, ignore_case=ignore)) is not None:
            return buffer.working_index, document.cursor_position + here
        wanted, lines = state.text.lower() if ignore else state.text, buffer._working_lines
        for number in range(buffer.working_index - 1, -2, -1):
            line = lines[number].lower() if ignore else lines[number]
            if (place := line.rfind(wanted)) >= 0:
                return number % len(lines), min(place, len(lines[number]))
        return None

    buffer._search = search  # type: ignore[method-assign,assignment]


def _opened(path: Path) -> int:
    """The file, open for appending; a new one is readable by its owner alone. Raises OSError."""
    if path.exists() and not path.is_dir():
        require_ordinary(path)  # a pipe would wait for a reader
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _warn(path: str, problem: OSError) -> None:
    note(f"what you type is not kept after this session: {path}: {problem.strerror}")
