"""Tab completion: what the grammar accepts here, the likeliest first; inside the name of a file, files."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agrad.engine.text import truncate
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.help.completion import completions
from agrad.grammar.session.session import Session

_USAGE = 34  # columns for the usage of a word; its description follows
_MEANING = 16  # columns that it needs at least, to say anything
# An open string that is the name of a file: after a command, or an option of one, or in a call.
_NAMED = "|".join(
    sorted({word for made in COMMANDS.values() for word, place in made.places() if place is not None and place.file})
)
_FILE = re.compile(rf"""(?:\b(?:{_NAMED})\s+|\b(?:load_csv|load_npy|load|chunks)\(\s*)(["'])([^"'\n]*)$""")

_QUESTION = re.compile(r"\s*\?\s*(?=\w*$)")


class Words(Completer):
    """Completes the word before the cursor from the language and the names of the session."""

    def __init__(self, session: Session, words: Mapping[str, str] = MappingProxyType({})) -> None:
        self.session = session
        self.words = words  # that are lines of their own, beside the language, with what they do

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Each completion with its usage and a line that describes it."""
        text = document.text_before_cursor
        if found := _FILE.search(text):
            closing = "" if document.text_after_cursor.startswith(found[1]) else found[1]
            yield from files(found[2], closing)
            return
        if question := _QUESTION.match(text):
            word = text[question.end() :]
            yield from (Completion(name, -len(word)) for name in self.session.names if name.startswith(word))
            text = f"help {word}"
        word, candidates = completions(text, self.session)
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
