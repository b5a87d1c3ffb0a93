"""The lines typed in earlier sessions, and in others at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.search import SearchDirection, SearchState

from agrad.cli.output.text import note
from agrad.cli.settings.ordinary import require_ordinary
from agrad.cli.settings.settings import make_folder, state_folder


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
        entry = f"\n# {datetime.now()}\n{lines}".encode(errors="surrogatepass")
        try:
            file = _opened(Path(str(self.filename)))
            try:
                os.write(file, entry)
            finally:
                os.close(file)
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
