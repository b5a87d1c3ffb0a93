"""What a session has accepted, in a file as it happens, so that it can be brought back after a crash.

A file a session, of JSON objects, a line each: the text that was typed, which of its statements ran and what files
those read, how many are left after an `undo`. Each is one write at the end, so killing the process loses nothing. The
disk is not waited for: that would take milliseconds a statement, to save the last seconds before a power cut. A session
that ends well removes its file; who holds the lock on one has a session that is not over.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agrad.cli import __version__
from agrad.cli.base import complain
from agrad.cli.output.text import note
from agrad.cli.settings import settings
from agrad.cli.terminal.interrupt import stop_once
from agrad.cli.terminal.progress import watching
from agrad.engine.errors import AgradError
from agrad.grammar.commands.history import called
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.session.log import Entry, Record, restore
from agrad.grammar.session.session import Session
from agrad.grammar.session.undo import DEPTH

_MODE = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
_MOST = 20  # files of sessions that ended badly; older ones are removed


class Journal:
    """Writes the record of a session down, once it is started. The file is there from the next statement on."""

    def __init__(self, record: Record, file: int | None = None, path: Path | None = None) -> None:
        self.record = record
        self._file = file
        self._path = path
        self._source: Source | None = None  # of the last entry
        self._works = True

    def start(self) -> None:
        """Write down what is accepted from now on."""
        self.record.keeper = self

    def add(self, entry: Entry) -> None:
        """A statement was accepted; the first time, write also those before it."""
        entries = [entry] if self._file is not None else self.record.entries
        self._write([part for each in entries for part in self._parts(each)])

    def cut(self, count: int) -> None:
        """Only the first so many statements stand."""
        if self._file is not None:
            self._write([{"cut": count}])

    def found(self, paths: list[str]) -> None:
        """Files that a session read before are read as they are now; the next time nothing is to be said of them."""
        files = {path: stamp for entry in self.record.entries for path, stamp in (entry.files or {}).items()}
        if paths:
            self._write([{"read": {path: files[path] for path in paths}}])

    def end(self) -> None:
        """The session has ended as it should."""
        if self._file is None or self._path is None:
            return
        with suppress(OSError):  # while it is locked, so that nobody takes it for one that ended badly
            self._path.unlink()
        os.close(self._file)
        self._file = None
        with suppress(OSError):  # where an open file cannot be removed
            self._path.unlink()

    def _parts(self, entry: Entry) -> Iterator[dict[str, Any]]:
        span = entry.span
        if span.source is not self._source:
            source = self._source = span.source
            yield {"text": source.text, "name": source.name, "line": source.first_line, "file": source.is_file}
        seed = {} if entry.seed is None else {"seed": entry.seed}
        yield {"ran": [span.start, span.end]} | seed | ({"read": entry.files} if entry.files else {})

    def _write(self, parts: list[dict[str, Any]]) -> None:
        """Write at the end of the file, all at once. What cannot be written is one note."""
        if not self._works:
            return
        try:
            if self._file is None:
                self._path = folder() / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
                self._file = _created(self._path)
                parts.insert(0, {"agrad": __version__, "folder": os.getcwd()})
            data = _lines(parts)
            if os.write(self._file, data) < len(data):
                raise OSError(0, "the disk is full")
        except OSError as problem:
            self._works = False
            if not (sys.stdin.isatty() and _unwritable(folder().parent)):  # of which the history has told
                note(f"this session cannot be brought back after a crash: {self._path}: {problem.strerror}")


def folder() -> Path:
    """Where the journals are."""
    return Path(settings.folder(), "sessions")


def _unwritable(place: Path) -> bool:
    """Whether a folder takes no file; where there is none, none could be made."""
    return os.environ.get("TERM") != "dumb" and not os.access(place, os.W_OK)


def _lines(parts: list[dict[str, Any]]) -> bytes:
    import json  # here, since few sessions are written down

    return "".join(f"{json.dumps(part)}\n" for part in parts).encode()


def _created(path: Path) -> int:
    """A new file, open and locked. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _tidy()
    file = os.open(path, _MODE | os.O_CREAT | os.O_EXCL, 0o600)
    _lock(file)
    return file


def _lock(file: int) -> bool:
    """Take the lock of a journal, until it is closed; whether no living session has it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: two sessions may then bring back the same one
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# Bringing back


@dataclass(slots=True)
class Kept:
    """A journal whose session has ended badly: open, and locked."""

    path: Path
    file: int
    time: float  # of its last statement, in seconds
    entries: list[Entry] = field(default_factory=list)
    folder: str = ""
    size: int = 0  # bytes up to the end of the last whole line

    @property
    def when(self) -> str:
        """`14:03`, or with the day if that is not today."""
        then = time.localtime(self.time)
        today = time.strftime("%Y%m%d") == time.strftime("%Y%m%d", then)
        return time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", then)

    def close(self) -> None:
        """Let go of it."""
        os.close(self.file)


def opened(session: Session, resume: bool) -> tuple[Journal, str, int]:
    """The journal of a session that begins, what to say of an earlier one, and an exit code.

    `resume` brings the last one back that ended badly, to go on with its journal; what cannot be brought back stays in
    that, and the session gets another.
    """
    kept = _newest()
    if kept is None:
        return Journal(session.record), "there is no session to bring back" if resume else "", 0
    if resume:
        return _resumed(session, kept)
    kept.close()
    told = f"a session of {kept.when} ended without quit: agrad repl --resume brings it back"
    return Journal(session.record), told, 0


def _resumed(session: Session, kept: Kept) -> tuple[Journal, str, int]:
    session.steps.depth = DEPTH
    where = _go_to(kept.folder)
    count, code, stopped = len(kept.entries), 0, ""
    changed: list[str] = []

    def tell(path: str) -> None:
        changed.append(path)
        note(f"{path} has been written since: what it holds now was read")

    try:
        with watching(session, lambda result: None):  # a long loop takes as long as it did
            restore(session, kept.entries, tell)
    except AgradError as problem:
        code, stopped = complain(problem), "restored "
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, stop_once)
        stopped = "interrupted: restored "
    done, names = len(session.record), called(list(session.names))
    told = f"{_statements(count)} from {kept.when}{where}" + (f": {names}" if names else "")
    if not stopped:
        os.truncate(kept.file, kept.size)
        journal = Journal(session.record, kept.file, kept.path)
        journal.found(changed)
        return journal, f"restored {told}", 0
    kept.close()
    left = f"{_statements(count - done)} not restored: what was typed stays in {kept.path}"
    return Journal(session.record), f"{stopped}{done} of {told}\n{left}", code


def _statements(count: int) -> str:
    return f"{count} statement{'' if count == 1 else 's'}"


def _go_to(place: str) -> str:
    """Be in the folder that a session was in, where names of files start; what to say of it."""
    if not place or place == os.getcwd():
        return ""
    try:
        os.chdir(place)
    except OSError as problem:
        note(f"names of files now start here, not in {place}: {problem.strerror}")
        return ""
    return f" in {place}"


def _newest() -> Kept | None:
    """The last journal that has something to bring back, and no living owner."""
    for path in _journals():
        kept = _opened(path)
        if kept is None:
            continue
        if _read(kept):
            return kept
        kept.close()
    return None


def _journals() -> list[Path]:
    """The journals, the last first."""
    found = []
    with suppress(OSError):
        for path in folder().glob("*.jsonl"):
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


def _opened(path: Path) -> Kept | None:
    """A journal without a living owner, open and locked."""
    try:
        file = os.open(path, _MODE)
    except OSError:
        return None
    found = os.fstat(file)
    if _lock(file) and found.st_nlink:
        return Kept(path, file, found.st_mtime)
    os.close(file)
    return None


def _read(kept: Kept) -> bool:
    """Read a journal up to its last whole line; whether there is a statement that stands."""
    import json  # here, since few sessions are brought back

    source: Source | None = None
    for line in kept.path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break  # the session ended in the middle of writing it
        kept.size += len(line)
        try:
            part = json.loads(line)
        except ValueError:
            continue
        match part:
            case {"agrad": _, "folder": str(place)}:
                kept.folder = place
            case {"text": str(text), "name": str(name), "line": int(number), "file": bool(is_file)}:
                source = Source(name, text, number, is_file)
            case {"ran": [int(start), int(end)]} if source is not None:
                kept.entries.append(Entry(Span(source, start, end), part.get("seed"), _files(part.get("read"))))
            case {"cut": int(count)}:
                del kept.entries[count:]
            case {"read": dict(files)}:
                for entry in kept.entries:
                    entry.files = {path: files.get(path, stamp) for path, stamp in (entry.files or {}).items()}
    return bool(kept.entries)


def _files(part: object) -> dict[str, list[int]] | None:
    """The files that a statement has read, as `Entry` has them."""
    return part if isinstance(part, dict) else None


def _tidy() -> None:
    """Remove the oldest journals, if there are too many."""
    for path in _journals()[_MOST:]:
        kept = _opened(path)
        if kept is not None:
            with suppress(OSError):
                path.unlink()
            kept.close()
