"""The crash log of a session: the statements that it has accepted, in a file, so that they can be restored.

Each session has a file of JSON objects, one per line: the typed text, which of its statements ran and what files
they read, how many are left after an `undo`. Each object is one write at the end of the file, so killing the process
loses nothing. The disk is not flushed: that would take milliseconds a statement, to save the last seconds before a
power cut. The file of a session that ends normally is moved to another folder, where the last ones are kept; a file
that is locked belongs to a session that still runs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agrad.cli import __version__, settings
from agrad.cli.main import complain
from agrad.cli.output import note
from agrad.cli.terminal import stop_once
from agrad.cli.terminal.progress import watching
from agrad.engine.errors import AgradError
from agrad.engine.text import align, counted, truncate
from agrad.grammar import commands
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.files import locked, require_ordinary
from agrad.grammar.session.log import DEPTH, Entry, SessionLog, restore
from agrad.grammar.session.session import Session

_MODE = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
_MOST = 20  # logs in a folder; older ones are removed
_SHOWN = 40  # characters of a statement in the list of sessions


class CrashLog:
    """Writes the accepted statements of a session to a file, which is created with the first one that it is told of."""

    def __init__(self, record: SessionLog, file: int | None = None, path: Path | None = None) -> None:
        self.record = record
        self._file = file
        self._path = path
        self._source: Source | None = None  # of the last entry
        self._works = True

    def add(self, entry: Entry) -> None:
        """A statement was accepted; the first time, write also those before it."""
        entries = [entry] if self._file is not None else self.record.entries
        known = {each.span.source.first_line for each in entries}
        others = self.record.typed.items() if self._file is None else ()
        typed = [{"typed": text, "line": number} for number, text in others if number not in known]
        self._write([*typed, *[part for each in entries for part in self._parts(each)]])

    def typed(self, number: int, text: str) -> None:
        """A text was typed that has no statement in effect, or that ran others."""
        if self._file is not None:
            self._write([{"typed": text, "line": number}])

    def cut(self, count: int) -> None:
        """Only the first so many statements are still in effect."""
        if self._file is not None:
            self._write([{"cut": count}])

    def read_again(self, paths: list[str]) -> None:
        """Note that these files were read again as they are now, so that the next resume does not mention them."""
        files = {path: stamp for entry in self.record.entries for path, stamp in (entry.files or {}).items()}
        if paths:
            self._write([{"read": {path: files[path] for path in paths}}])

    def end(self) -> None:
        """The session has ended normally: put its file to those that have ended, if anything is in effect."""
        if self._file is None or self._path is None:
            return
        _put_away(self._path, keep=bool(self.record.entries))  # locked, so that no other session treats it as crashed
        os.close(self._file)
        self._file = None
        if os.path.exists(self._path):  # where an open file cannot be moved
            _put_away(self._path, keep=bool(self.record.entries))

    def _parts(self, entry: Entry) -> Iterator[dict[str, Any]]:
        span = entry.span
        if span.source is not self._source:
            source = self._source = span.source
            others = {"entry": source.is_entry, "python": source.is_python}
            kind = {"file": source.is_file} | {name: True for name, holds in others.items() if holds}
            yield {"text": source.text, "name": source.name, "line": source.first_line} | kind
        seed = {} if entry.seed is None else {"seed": entry.seed}
        yield {"ran": [span.start, span.end]} | seed | ({"read": entry.files} if entry.files else {})

    def _write(self, parts: list[dict[str, Any]]) -> None:
        """Write at the end of the file, in one write. A failure gives one note."""
        if not self._works:
            return
        try:
            if self._file is None:
                self._path = folder() / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
                self._file = _created(self._path)
                parts.insert(0, {"agrad": __version__, "folder": os.getcwd()})
            data = "".join(f"{json.dumps(part)}\n" for part in parts).encode()
            if os.write(self._file, data) < len(data):
                raise OSError(0, "the disk is full")
        except OSError as problem:
            self._works = False
            # A folder that cannot be written to has been reported with the history.
            reported = os.environ.get("TERM") != "dumb" and not os.access(folder().parent, os.W_OK)
            if not (sys.stdin.isatty() and reported):
                note(f"this session cannot be restored after a crash: {self._path}: {problem.strerror}")


def folder() -> Path:
    """The folder of the crash logs."""
    return Path(settings.state_folder(), "sessions")


def ended_folder() -> Path:
    """The folder of the logs of sessions that have ended."""
    return Path(settings.state_folder(), "ended")


def _put_away(path: Path, keep: bool) -> None:
    """Move the log of a session that has ended to those that are kept; the oldest of these are removed."""
    with suppress(OSError):
        if keep:
            settings.make_folder(ended_folder())
            path.replace(ended_folder() / path.name)
            for old in _paths(ended_folder())[_MOST:]:
                old.unlink()
        else:
            path.unlink()


def _created(path: Path) -> int:
    """A new file, open and locked. Raises OSError."""
    settings.make_folder(path.parent)
    _tidy()
    file = os.open(path, _MODE | os.O_CREAT | os.O_EXCL, 0o600)
    locked(file)
    return file


# Restoring


@dataclass(slots=True)
class CrashedSession:
    """The crash log of a session that has not ended normally: open, and locked."""

    path: Path
    file: int
    time: float  # of its last statement, in seconds
    entries: list[Entry] = field(default_factory=list)
    folder: str = ""
    typed: dict[int, str] = field(default_factory=dict)  # by the number of the line
    size: int = 0  # bytes up to the end of the last whole line
    is_told: bool = False  # whether a message has said that it has not ended normally

    @property
    def when(self) -> str:
        """`14:03`, or with the day if that is not today."""
        then = time.localtime(self.time)
        today = time.strftime("%Y%m%d") == time.strftime("%Y%m%d", then)
        return time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", then)

    @property
    def has_ended(self) -> bool:
        """Whether it has ended normally."""
        return self.path.parent == ended_folder()

    @property
    def told(self) -> tuple[str, str, str, str]:
        """When its last statement ran, how many are in effect, how it ended, and the last of them."""
        last = truncate(self.entries[-1].span.text, _SHOWN) if self.entries else ""
        return self.when, counted(len(self.entries), "statement"), "ended" if self.has_ended else "crashed", last


def past() -> list[CrashedSession]:
    """The sessions that can be restored, the last first."""
    found = []
    for path in (*_paths(folder()), *_paths(ended_folder())):
        if (session := _opened(path)) is not None:
            os.close(session.file)
            found.append(session)
    return sorted((session for session in found if session.entries), key=lambda session: -session.time)


def dismiss(number: int) -> CrashedSession | None:
    """Remove the log of a session, by its number among those `past`, from 1. None if there is none."""
    found = past()[number - 1 : number]
    for session in found:
        session.path.unlink()
    return found[0] if found else None


def listed() -> str:
    """The sessions that can be restored, in a table: number, time, statements, how it ended, the last statement."""
    rows = [(str(number), *session.told) for number, session in enumerate(past(), 1)]
    return "\n".join(align(rows)) if rows else "no session is kept yet"


def _numbered(number: int) -> CrashedSession | None:
    """The session of a number, open and locked; None if there is none."""
    found = past()[number - 1 : number]
    chosen = _opened(found[0].path) if found else None
    if chosen is not None and chosen.has_ended:
        settings.make_folder(folder())
        chosen.path = chosen.path.replace(folder() / chosen.path.name)  # it runs again
    return chosen


def open_log(session: Session, resume: bool | int) -> tuple[CrashLog, str, int]:
    """The crash log of a session that begins, a message about an earlier one, and an exit code.

    With `resume`, the last session is restored, or that of a number among those `past`, and its log continued. If a
    statement of it fails, its log stays as it is, and the session gets another.
    """
    if not resume:
        return CrashLog(session.record), _crashed(), 0
    found = _numbered(int(resume))
    if found is not None:
        return _resumed(session, found)
    if resume is True:
        return CrashLog(session.record), "there is no session to restore", 0
    return CrashLog(session.record), f"there is no session {resume}: agrad sessions lists them", 1


def _crashed(after: bool = False) -> str:
    """A message about the last session that has crashed, and is not restored; empty if there is none, or it was told.

    `after`: the session that is running will be among those that are counted.
    """
    for number, session in enumerate(past() if _paths(folder()) else [], 1):
        if not session.has_ended:
            if session.is_told:
                break
            with suppress(OSError):  # the first end of a line is that of one that was not written to its end
                with session.path.open("ab") as log:
                    log.write(b'\n{"told": true}\n')
                os.utime(session.path, (session.time, session.time))
            word = f" {number}" if number > 1 else ""
            how = "agrad sessions lists it" if after else f"agrad repl --resume{word} restores it"
            return f"a session of {session.when} ended without quit: {how}"
    return ""


def _resumed(session: Session, crashed: CrashedSession) -> tuple[CrashLog, str, int]:
    session.steps.depth = DEPTH
    where = _go_to(crashed.folder)
    count, code, stopped = len(crashed.entries), 0, ""
    changed: list[str] = []

    def tell(path: str) -> None:
        changed.append(path)
        note(f"{path} has changed since: its new content was read")

    try:
        with watching(session, lambda result: None):  # a long loop takes as long as before
            restore(session, crashed.entries, tell)
        session.record.typed.update(crashed.typed)
        session.line = max([session.line, *(number + 1 for number in crashed.typed)])
    except AgradError as problem:
        code, stopped = complain(problem), "restored "
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, stop_once)
        stopped = "interrupted: restored "
    done, names = len(session.record.entries), commands.session.called(list(session.names))
    told = f"{counted(count, 'statement')} from {crashed.when}{where}" + (f": {names}" if names else "")
    told += "\nthis session reads Python; `calculator` goes back" if session.reads_python else ""
    if not stopped:
        os.truncate(crashed.file, crashed.size)
        log = CrashLog(session.record, crashed.file, crashed.path)
        log.read_again(changed)
        return log, "\n".join(filter(None, (f"restored {told}", _crashed(after=True)))), 0
    os.close(crashed.file)
    left, kept = counted(count - done, "statement"), f"agrad sessions lists the session, kept in {crashed.path}"
    return CrashLog(session.record), f"{stopped}{done} of {told}\n{left} not restored: {kept}", code


def _go_to(place: str) -> str:
    """Change to the folder that a session ran in; what to add to the message about it."""
    if not place or place == os.getcwd():
        return ""
    try:
        os.chdir(place)
    except OSError as problem:
        note(f"file names are now relative to the current folder, not to {place}: {problem.strerror}")
        return ""
    return f" in {place}"


def _paths(place: Path) -> list[Path]:
    """The logs in a folder, newest first."""
    found = []
    with suppress(OSError):
        for path in place.glob("*.jsonl"):
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


def _opened(path: Path) -> CrashedSession | None:
    """The crash log of a session that no longer runs, open and locked; None for that of another."""
    try:
        require_ordinary(path)
        file = os.open(path, _MODE)
    except OSError:
        return None
    found = os.fstat(file)
    if locked(file) is not False and found.st_nlink:  # without locks, two sessions may restore the same one
        crashed = CrashedSession(path, file, found.st_mtime)
        _read(crashed)
        return crashed
    os.close(file)
    return None


def _read(crashed: CrashedSession) -> None:
    """Read a crash log up to its last whole line."""
    source: Source | None = None
    for line in crashed.path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break  # the session ended in the middle of writing it
        crashed.size += len(line)
        try:
            part = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match part:
            case {"agrad": _, "folder": str(place)}:
                crashed.folder = place
            case {"text": str(text), "name": str(name), "line": int(number), "file": bool(is_file)}:
                kinds = part.get("entry") is True, part.get("python") is True
                source = Source(name, text, number, is_file, *kinds)
                if not is_file:
                    crashed.typed[number] = text
            case {"typed": str(text), "line": int(number)}:
                crashed.typed[number] = text
            case {"ran": [int(start), int(end)]} if source is not None:
                seed, files = part.get("seed"), part.get("read")
                if not (seed is None or (isinstance(seed, int) and seed >= 0)):
                    crashed.size -= len(line)  # it is damaged, and later statements may depend on this one
                    break
                read = files if isinstance(files, dict) else None
                crashed.entries.append(Entry(Span(source, start, end), seed, read))
                crashed.is_told = False
            case {"told": True}:
                crashed.is_told = True
            case {"cut": int(count)} if count >= 0:
                del crashed.entries[count:]
            case {"read": dict(files)}:
                for entry in crashed.entries:
                    entry.files = {path: files.get(path, stamp) for path, stamp in (entry.files or {}).items()}


def _tidy() -> None:
    """Remove the oldest crash logs, if there are too many."""
    for path in _paths(folder())[_MOST:]:
        crashed = _opened(path)
        if crashed is not None:
            with suppress(OSError):
                path.unlink()
            os.close(crashed.file)
