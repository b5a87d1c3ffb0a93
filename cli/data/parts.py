"""`agrad map` from many files into a folder, which gets a file for each file of the input.

What is said here is which parts there are, and what their files are called; the module `work` has what is to be done
for each of them. A record keeps in the folder what has been asked for, and which parts are
done, so that an interrupted run can be continued; until all are, they are in a folder of their own inside of it. `run`
puts these together, in this process or on a cluster.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from glob import has_magic
from typing import Any, BinaryIO

from agrad.cli.data.job import Tally, read
from agrad.cli.data.writers import FORMS
from agrad.cli.terminal import ignored
from agrad.engine.data.formats import is_folder, open_table, require_files
from agrad.engine.data.tables import unreadable
from agrad.engine.data.text_tables import ending_of
from agrad.engine.errors import AgradError, Hint
from agrad.grammar.files import locked, remove_left, sync_folder

# The parts of the input of `agrad map`, and the names of the files that they are written to.

ENDINGS = {"csv": ".csv", "json": ".jsonl", "npy": ".npy", "npz": ".npz", "arrow": ".arrow", "parquet": ".parquet"}
# Those that are read, too, with the form of the results; beside those that can be written.
_FORMS = FORMS | {".json": "json", ".ndjson": "json", ".arrows": "arrow", ".ipc": "arrow"}
_FORMS |= dict.fromkeys((".tsv", ".txt", ".dat"), "csv")


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the input, or some row groups of it (from, up to), and the file for its results, below the folder."""

    file: str
    groups: tuple[int, int] | None = None
    size: int = 0  # bytes of the input
    name: str = ""


def form_of_input(files: Sequence[str]) -> str:
    """The form in which results are written like their input: CSV for all files of text."""
    return _FORMS.get(ending_of(files[0]), "csv")


def inputs(path: str) -> list[str]:
    """The files of the input. Raises AgradError of kind `file` if there are none."""
    if not is_folder(path):
        try:
            os.stat(path)
        except (OSError, ValueError) as problem:
            raise unreadable(path, problem) from None
        return [path]
    return require_files(path)


def keep_apart(written: str | None, files: Sequence[str]) -> None:
    """Raise AgradError of kind `file` where a result would overwrite the data."""
    for file in files if written is not None else ():
        with suppress(OSError, ValueError):
            if os.path.samefile(file, os.path.expanduser(written or "")):
                message = f"{written} holds the data, and the results would overwrite it: choose another name"
                raise AgradError("file", message)


def planned(path: str, files: Sequence[str], form: str, most: float) -> list[Part]:
    """The parts in the order of the rows: Parquet files of more than `most` bytes are divided at row groups.

    Raises AgradError of kind `file` where two would be written to one file.
    """
    root = _root(path)
    found: list[Part] = []
    for file in files:
        stem, size = _stem(os.path.relpath(file, root)), _size(file) or 0  # where there is none, opening it says why
        groups = list(_groups(file, most)) if size > most else []
        if len(groups) < 2:
            found.append(Part(file, None, size, f"{stem}{ENDINGS[form]}"))
            continue
        width = len(str(len(groups) - 1))
        for place, one in enumerate(groups):
            found.append(Part(file, *one, f"{stem}-{place:0{width}}{ENDINGS[form]}"))
    _require_unlike(found)
    return found


def _root(path: str) -> str:
    """The folder below which the names of the results are like those of the input."""
    if os.path.isdir(path):
        return path
    folder = os.path.dirname(path)
    while has_magic(folder) and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return folder or "."


def _stem(name: str) -> str:
    """The name of a file without the extensions of its kind and its compression: `a.b` of `a.b.csv.gz`."""
    ending = ending_of(name)
    return name[: name.lower().rindex(ending)] if ending in _FORMS else name


def _groups(file: str, most: float) -> Iterator[tuple[tuple[int, int], int]]:
    """Row groups of a Parquet file, in runs of at least so many bytes where they are smaller, and the bytes of each."""
    with closing(open_table(file)) as table:
        sizes = [size for _, size in table.row_groups()]
    start = total = 0
    for place, size in enumerate(sizes):
        total += size
        if total >= most or place + 1 == len(sizes):
            yield (start, place + 1), total
            start, total = place + 1, 0


def _require_unlike(parts: Sequence[Part]) -> None:
    """Refuse two parts with the results in one file. Raises AgradError of kind `file`."""
    seen: dict[str, str] = {}
    for part in parts:
        if part.name in seen:
            message = f"the results of {seen[part.name]} and of {part.file} would both be called {part.name}"
            raise AgradError("file", message, fixes=[Hint("name the files of one of them by a pattern: 'data/*.csv'")])
        seen[part.name] = part.file


# The record of a run in its folder: what was asked for, which parts are done, and their files until all are.
#
# `_agrad.jsonl` has a line about the run, then a line for each part that is done, and at last that all are. Until then
# the files are in `_agrad/`, so that no program that reads the folder finds only some of them: readers of folders skip
# names that begin with `_`. A process that writes to the folder holds a lock on the record.

RECORD, STAGING = "_agrad.jsonl", "_agrad"


class Record:
    """What is known of a run: `head`, the first line, if there was an earlier run, and the parts that are done."""

    def __init__(self, folder: str, file: BinaryIO, is_new: bool) -> None:
        self.folder, self.file, self.is_new = folder, file, is_new
        self.staging = os.path.join(folder, STAGING)
        self.head: dict[str, Any] | None = None
        self.done: dict[str, tuple[int, Tally]] = {}  # bytes, and what is told of the rows
        self.is_complete = False
        self._read()

    def _read(self) -> None:
        """Read the lines; what follows on the last complete one was being written when the process ended."""
        lines = self.file.read().split(b"\n")
        end = 0
        for line in lines[:-1]:
            try:
                fields = json.loads(line)
                if "part" in fields:
                    self.done[fields["part"]] = fields["bytes"], read(fields["tally"])
                elif "complete" in fields:
                    self.is_complete = True
                else:
                    self.head = dict(fields)
            except (ValueError, KeyError, TypeError, AttributeError):
                break
            end += len(line) + 1
        self.file.seek(end)
        self.file.truncate()

    def _append(self, fields: Mapping[str, Any]) -> None:
        self.file.write(json.dumps(fields).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def begin(self, head: Mapping[str, Any]) -> None:
        """Write the first line of a new run."""
        os.makedirs(self.staging, exist_ok=True)
        if self.head is None:
            self.head = dict(head)
            self._append(self.head)
            sync_folder(self.folder)

    def is_done(self, part: Part, tolerant: bool) -> bool:
        """Whether the file of a part is there, as it was written; with rows that failed only if these are tolerated."""
        size, tally = self.done.get(part.name, (-1, None))
        if tally is None or (tally.failed and not tolerant):
            return False
        return any(_size(path) == size for path in (self.staged(part), self.final(part)))

    def staged(self, part: Part) -> str:
        """Where the file of a part is until all are done."""
        return os.path.join(self.staging, part.name)

    def final(self, part: Part) -> str:
        """Where it is then."""
        return os.path.join(self.folder, part.name)

    def add(self, part: Part, tally: Tally) -> None:
        """A part is done: its file is in place. Raises AgradError of kind `file` where it is not."""
        size = _size(self.staged(part))
        if size is None:
            message = f"{self.staged(part)} was written, and is not there"
            fixes = [Hint("let all workers write to one folder, on a disk that they share")]
            raise AgradError("file", message, fixes=fixes)
        self.done[part.name] = size, tally
        self._append({"part": part.name, "bytes": size, "tally": tally.as_json()})

    def finish(self, parts: Sequence[Part]) -> None:
        """Move all files to their places. Raises AgradError of kind `file` where there is another file."""
        staged = [part for part in parts if os.path.exists(self.staged(part))]
        for part in staged:
            if os.path.exists(self.final(part)):
                message = f"{self.final(part)} was made while its results were computed, and is another file"
                raise AgradError("file", message, fixes=[Hint("move it away, and go on with --resume")])
        with writable(self.folder), ignored():  # it takes a moment, and half of the files would be taken for all
            for part in staged:
                os.makedirs(os.path.dirname(self.final(part)), exist_ok=True)
                os.replace(self.staged(part), self.final(part))
            for folder in {os.path.dirname(self.final(part)) for part in staged}:
                sync_folder(folder)
            self._append({"complete": True})
            shutil.rmtree(self.staging, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what processes that were ended have left half written."""
        for folder, _, _ in os.walk(self.staging):
            remove_left(folder)

    def forget(self) -> None:
        """Remove the record of a run of which nothing is done, and the folder if the run has made it."""
        shutil.rmtree(self.staging, ignore_errors=True)
        with suppress(OSError):
            os.unlink(os.path.join(self.folder, RECORD))
            if self.is_new:
                os.rmdir(self.folder)


@contextmanager
def recorded(folder: str, *, resume: bool) -> Iterator[Record]:
    """The record in a folder, which is made if there is none, for this process alone.

    Raises AgradError of kind `file` where something else is in the folder, or another process writes to it.
    """
    path = os.path.join(folder, RECORD)
    is_new = not os.path.exists(folder)
    with ExitStack() as stack:
        with writable(folder):
            os.makedirs(folder, exist_ok=True)
            others = [] if os.path.exists(path) else sorted(name for name in os.listdir(folder) if name[0] != ".")
            if others:  # which are not from a run
                more = f" and {len(others) - 1} more" if len(others) > 1 else ""
                message = f"{folder} is not empty: it has {others[0]}{more}"
                raise AgradError("file", message, fixes=[Hint("name a new folder")])
            file = stack.enter_context(open(path, "ab+"))
            if locked(file.fileno()) is False:
                message = f"another agrad is writing to {folder}"
                raise AgradError("file", message, fixes=[Hint("wait until it has ended")])
            file.seek(0)
            record = Record(folder, file, is_new)
        if record.head is not None and not resume:
            _refuse(record)
        yield record


@contextmanager
def writable(folder: str) -> Iterator[None]:
    """Let what the system refuses inside be an error of kind `file`."""
    try:
        yield
    except OSError as problem:
        raise AgradError("file", f"cannot write to {folder}: {(problem.strerror or str(problem)).lower()}") from None


def _refuse(record: Record) -> None:
    """Raise AgradError of kind `file`: there was an earlier run."""
    if record.is_complete:
        message = f"{record.folder} has the results of an earlier run"
        raise AgradError("file", message, fixes=[Hint("name a new folder")])
    count = len(record.done)
    message = f"{record.folder} has {count} {'part' if count == 1 else 'parts'} of a run that was interrupted"
    raise AgradError("file", message, fixes=[Hint("--resume continues it"), Hint("or name a new folder")])


def _size(path: str) -> int | None:
    """The bytes of a file; None if there is none."""
    try:
        return os.path.getsize(path)
    except OSError:
        return None
