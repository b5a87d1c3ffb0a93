"""How far a learner came: a file beside the history, so that `agrad learn` continues there."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agrad.cli.output.text import note
from agrad.cli.settings.ordinary import require_ordinary
from agrad.cli.settings.settings import folder, make_folder
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.session.log import Entry, number_of


@dataclass(slots=True)
class Progress:
    """The chapter and the step that a learner is at, and the chapters that are done.

    `starts` has, for each step of the chapter up to this one, the statements in effect when it began.
    """

    chapter: str = ""
    step: int = 0
    done: list[str] = field(default_factory=list)
    starts: list[list[Entry]] = field(default_factory=list)
    keeps: bool = True  # whether it is written to the file

    def save(self) -> None:
        """Write the file, whole or not at all; the first failure gives a note."""
        if not self.keeps:
            return
        starts = [[_written(entry) for entry in entries] for entries in self.starts]
        data = {"chapter": self.chapter, "step": self.step, "done": self.done, "starts": starts}
        target = path()
        beside = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            make_folder(target.parent)
            beside.write_text(json.dumps(data), encoding="utf-8")
            os.replace(beside, target)
        except OSError as problem:
            with suppress(OSError):
                beside.unlink()
            self.keeps = False
            note(f"how far you came is not kept after this session: {target}: {problem.strerror}")


def _written(entry: Entry) -> list[Any]:
    return [number_of(entry), entry.span.source.is_entry, entry.seed, entry.span.text]


def path() -> Path:
    """The file."""
    return Path(folder(), "lesson.json")


def kept() -> Progress:
    """What the file says; the beginning if there is none, or it is damaged."""
    try:
        require_ordinary(path())
        data = json.loads(path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return Progress()
    match data:
        case {"chapter": str(chapter), "step": int(step), "done": list(done), "starts": list(starts)}:
            read = _starts(starts)
            if read is not None and 0 <= step < len(read) and all(isinstance(key, str) for key in done):
                return Progress(chapter, step, done, read)
    return Progress()


def _starts(data: Sequence[Any]) -> list[list[Entry]] | None:
    """The statements before each step; None where one cannot be read."""
    starts = []
    for entries in data:
        if not isinstance(entries, list):
            return None
        read = [_entry(entry) for entry in entries]
        if None in read:
            return None
        starts.append([entry for entry in read if entry is not None])
    return starts


def _entry(data: Any) -> Entry | None:
    match data:
        case [int(line), bool(is_entry), int() | None as seed, str(text)]:
            return Entry(Span(Source("session", text, line, False, is_entry), 0, len(text)), seed)
    return None
