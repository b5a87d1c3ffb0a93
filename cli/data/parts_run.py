"""`agrad map` into a folder: what is not done yet, in this process or on a cluster, and then all in its place."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

import agrad
from agrad.cli import __version__
from agrad.cli.arguments.options import On
from agrad.cli.data.job import Reading, Tally
from agrad.cli.data.parts import STAGING, Part, Record, form_of_input, inputs, planned, recorded
from agrad.cli.data.request import Asked, Output
from agrad.cli.data.work import MapBench, MapWork
from agrad.cli.data.writers import form_for
from agrad.cli.output import note, tell
from agrad.cli.terminal.progress import on_terminal
from agrad.engine.compile.registry import NATIVE
from agrad.engine.data.tables import unreadable
from agrad.engine.errors import AgradError, Hint, Note


@dataclass(slots=True)
class Folder:
    """How the results get into a folder.

    `most`: bytes of a Parquet file from which on it is divided; `ends`: sets the limits of a session; `words`: the
    command line, `typed`: makes a text of such words.
    """

    most: float
    resume: bool
    on: On | None
    ends: Callable[[Any], None]
    words: list[str]
    typed: Callable[..., str]
    path: str = ""
    threads: int = 1


def into_folder(ask: Asked, data: str, to: Output, reading: Mapping[str, Any], folder: Folder) -> None:
    """Write a file for each file of the input into the folder `to.path`. Raises AgradError, click.UsageError."""
    if data == "-":
        raise click.UsageError(f"into the folder {to.path}, a file is written for each file that is read")
    assert to.path is not None  # or it was no folder
    folder.path, folder.threads = os.path.expanduser(to.path), to.threads
    files = inputs(data)
    form = form_for(to.path, to.as_json, to.to) if to.to else "json" if to.as_json else form_of_input(files)
    to.require_text(form)
    written = to.kept, form, to.precision, to.backend == NATIVE, to.tolerant
    run(MapWork(ask, reading, data, files, *written, seed=secrets.randbits(64), backend=to.backend), folder)


def run(work: MapWork, folder: Folder) -> None:
    """Compute all parts of the input that are not done yet. Raises AgradError."""
    parts = planned(work.path, work.files, work.form, folder.most)
    _require_outside(work.path, folder.path)
    head = _head(work, folder, parts)
    with recorded(folder.path, resume=folder.resume) as record:
        if record.head is not None:
            if changed := _changed(record.head, head):
                message = f"{folder.path} was begun with another request: {changed}"
                raise AgradError("file", message, fixes=[Hint("name a new folder")])
            _restore(work, record.head)
        todo = [part for part in parts if not record.is_done(part, work.tolerant)]
        if record.is_complete and not todo:
            note(f"{folder.path} has all {len(parts)} parts: nothing is left to do")
            return
        try:
            total = _computed(work, folder, record, head, parts, todo)
            record.finish(parts)
        except BaseException as problem:
            _leave(problem, record, folder, parts)
            raise
    total.tell()


def _computed(
    work: MapWork, folder: Folder, record: Record, head: dict[str, Any], parts: Sequence[Part], todo: Sequence[Part]
) -> Tally:
    """Compute the parts; what there is to tell of all. Raises AgradError."""
    bench = MapBench(work, folder.threads, folder.ends)
    bench.run(bench.prepare)
    if record.head is None:
        work.whole = bench.sessions.whole
        bench.run(bench.find_example)
    record.begin(head | _found(work))
    record.sweep()
    line = on_terminal(partial(Parts, parts, record))
    if folder.on is None:
        bench.run(lambda: _one_after_the_other(bench, record, todo, line))
    else:
        on = folder.on
        bench.run(lambda: agrad.cli.data.cluster.map_on_cluster(work, record, todo, on, line))
    total = Tally()
    for part in parts:
        total.add(record.done[part.name][1])
    total.require_some()
    return total


def _one_after_the_other(bench: MapBench, record: Record, todo: Sequence[Part], line: Parts | None) -> None:
    for part in todo:
        record.add(part, bench.compute(part, record.staged(part), line))


class Parts(Reading):
    """The progress: `34 % of 40 parts, 6800000 rows: 12 s, about 23 s left`."""

    def __init__(self, parts: Sequence[Part], record: Record, write: Callable[[str], object], width: int) -> None:
        super().__init__(write, width)
        self.parts, self.record = parts, record
        self.size = sum(part.size for part in parts)

    def at(self, name: str, done: int, total: int | None, rows: int) -> None:
        """Show it, if it is time: so much is done of the part that is being computed, and where, if `name` says so."""
        known = self.record.done
        before = sum(part.size for part in self.parts if part.name in known)
        rows += sum(tally.rows for _, tally in known.values())
        where = f" {name}" if name.startswith("on ") else ""
        super().at(f"{len(self.parts)} parts{where}", before + done, self.size, rows)


def _leave(problem: BaseException, record: Record, folder: Folder, parts: Sequence[Part]) -> None:
    """Remove what is half written, and say how to go on; without any part done, nothing is left."""
    record.sweep()
    is_stopped = isinstance(problem, KeyboardInterrupt | SystemExit)
    if not record.done:
        record.forget()
        if is_stopped:
            note(f"stopped: nothing is written to {folder.path}")
        return
    done = f"{len(record.done)} of {len(parts)} parts are done, and kept in {os.path.join(folder.path, STAGING)}"
    if is_stopped:
        again = folder.typed(*folder.words, *["--resume"] * ("--resume" not in folder.words))
        tell(Note(f"stopped: {done}", fixes=[again]))
    elif isinstance(problem, AgradError):
        problem.notes.append(f"{done}: --resume continues")
        if problem.row and "--resume" not in folder.words:
            folder.words.append("--resume")  # so that the command which is advised, to leave such rows out, has it


def _require_outside(data: str, out: str) -> None:
    """Refuse a folder of results that is read, too. Raises AgradError of kind `file`."""
    if os.path.isdir(data):
        inner, outer = os.path.realpath(out), os.path.realpath(data)
        if os.path.commonpath([inner, outer]) == outer:
            message = f"{out} is inside of {data}, whose files are read"
            raise AgradError("file", message, fixes=[Hint("name a folder elsewhere")])


def _head(work: MapWork, folder: Folder, parts: Sequence[Part]) -> dict[str, Any]:
    """What the record says of the request, in the words of a message, as it is read back from JSON."""
    ask, inputs = work.ask, {}
    for file in work.files:
        try:
            stat = os.stat(file)
        except OSError as problem:
            raise unreadable(file, problem) from None
        inputs[os.path.abspath(file)] = stat.st_size, stat.st_mtime_ns
    request = {
        "the expression": ask.formulas,
        "-D": ask.constants,
        "--wrt": ask.wrt,
        "--u": ask.uncertain,
        "--order": ask.order,
        "--hessian": ask.full,
        "--where": ask.where,
        "--whole": ask.whole,
        "--jacobian": ask.jacobian,
        "--units": ask.units,
        "--keep": work.kept,
        "the form of the output": work.form,
        "--precision": work.precision,
        "--backend": work.backend,
        "--part-size": folder.most,
    }
    head = {"version": 2, "agrad": __version__, "request": request, "reading": dict(work.reading), "inputs": inputs}
    found: dict[str, Any] = json.loads(json.dumps(head | {"parts": [part.name for part in parts]}))
    return found


def _found(work: MapWork) -> dict[str, Any]:
    """What has been found out once for all parts. Numbers are written so that they are read back bit for bit."""
    return {
        "seed": work.seed,
        "whole": {name: value.hex() for name, value in work.whole.items()},
        "example": {name: value.hex() for name, value in work.example.items()},
    }


def _restore(work: MapWork, head: dict[str, Any]) -> None:
    """Set what an earlier run has found out."""
    work.seed = head["seed"]
    work.whole = {name: float.fromhex(text) for name, text in head["whole"].items()}
    work.example = {name: float.fromhex(text) for name, text in head["example"].items()}


def _changed(before: dict[str, Any], now: dict[str, Any]) -> str:
    """What differs between two requests, in words; empty if nothing does."""
    if any(before.get(name) != now[name] for name in ("version", "agrad")):
        return f"agrad was {before.get('agrad')}, and is {now['agrad']}"
    for word, new in now["request"].items():
        if (old := before["request"][word]) != new:
            return f"{word} was {_shown(old)}, and is {_shown(new)}"
    if before["reading"] != now["reading"]:
        return "an option that says how the files are read"
    files, others = before["inputs"], now["inputs"]
    for path in sorted({*files, *others}):
        if path not in others:
            return f"{path} was read, and is not there any more"
        if path not in files:
            return f"{path} is new"
        if files[path] != others[path]:
            return f"{path} has changed since"
    return "" if before["parts"] == now["parts"] else "the parts have other names"


def _shown(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" if name != "value" else str(one) for name, one in value.items()) or "not given"
    if isinstance(value, list):
        return ",".join(map(str, value)) or "not given"
    return "not given" if value is None else str(value)
