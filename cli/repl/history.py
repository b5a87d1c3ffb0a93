"""The lines typed in earlier sessions, and in others at the same time."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from agrad.cli.output.text import note
from agrad.cli.settings.ordinary import require_ordinary
from agrad.cli.settings.settings import folder, make_folder


class KeptHistory(FileHistory):
    """The file of typed lines, in prompt_toolkit's form.

    An entry is one write at the end of the file, so that simultaneous sessions lose nothing. A full or
    missing disk gives one note and does not end the session.
    """

    def __init__(self, path: Path, writable: bool = True) -> None:
        self.writable = writable
        super().__init__(str(path))

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
    path = Path(folder(), "history")
    try:
        make_folder(path.parent)
        os.close(_opened(path))
    except OSError as problem:
        _warn(str(path), problem)
        readable = path.is_file() and os.access(path, os.R_OK)
        return KeptHistory(path, writable=False) if readable else InMemoryHistory()
    return KeptHistory(path)


def _opened(path: Path) -> int:
    """The file, open for appending; a new one is readable by its owner alone. Raises OSError."""
    if path.exists() and not path.is_dir():
        require_ordinary(path)  # a pipe would wait for a reader
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _warn(path: str, problem: OSError) -> None:
    note(f"what you type is not kept after this session: {path}: {problem.strerror}")
