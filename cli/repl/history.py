"""What was typed in earlier sessions."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from agrad.cli.render import note


class KeptHistory(FileHistory):
    """A file of what was typed; a disk that is full, or gone, does not end the session."""

    def store_string(self, string: str) -> None:
        """Append what was typed."""
        with suppress(OSError):
            super().store_string(string)


def history() -> History:
    """The user's history file; where it cannot be written, a note, and a history of this session alone."""
    path = Path(click.get_app_dir("agrad"), "history")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as problem:
        note(f"what you type is not remembered beyond this session: {path}: {problem.strerror}")
        return InMemoryHistory()
    return KeptHistory(str(path))
