"""The parts of `agrad map` on a Dask cluster.

What is to be done is sent once, as one object that all tasks share; a worker reads and compiles the expressions when it
gets its first part. It writes the file of a part itself, whole or not at all, so that a worker that ends in the middle
leaves nothing under that name, and Dask has another one do the part again.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agrad.cli import __version__
from agrad.cli.arguments.cluster import On
from agrad.cli.data.cluster.connection import connect, failure
from agrad.cli.data.job import Reading
from agrad.cli.data.parts.plan import Part
from agrad.cli.data.parts.record import RECORD, Record
from agrad.cli.data.parts.work import MapBench, MapWork
from agrad.cli.data.tally import Tally
from agrad.engine.errors import AgradError, Hint

_LOOK = 0.05  # seconds between two looks at what is done
_COUNT = 1.0  # seconds between two questions to the scheduler, how many workers it has
_SHARED = [Hint("let all workers see the files under the same names, on a disk that they share")]
_BENCHES = threading.local()  # in a worker: a bench for each of its threads, for the last run


def on_cluster(work: MapWork, record: Record, todo: Sequence[Part], on: On, line: Reading | None) -> None:
    """Compute parts on a cluster, and note those that are done. Raises AgradError: of the first part that fails."""
    if on.address:  # workers on other machines have other current folders
        work = replace(work, path=os.path.abspath(work.path), files=[*map(os.path.abspath, work.files)])
        todo = [replace(part, file=os.path.abspath(part.file)) for part in todo]
    with connect(*on) as client:
        by_client(client, work, record, todo, line)


def by_client(client: Any, work: MapWork, record: Record, todo: Sequence[Part], line: Reading | None) -> None:
    """The same by a client of Dask's."""
    run = f"agrad-part-{secrets.token_hex(8)}"
    # A task and not a scattered object: if all workers that have it end, the scheduler makes it again. By its key it is
    # of another group than the tasks for the parts, so that these go to all workers, and not to the one that has it.
    shared = client.submit(_same, work, key=f"agrad-work-{run}")
    folder = os.path.abspath(record.folder)
    tasks = [
        client.submit(compute, shared, run, folder, part, os.path.abspath(record.staged(part)), key=(run, place))
        for place, part in enumerate(todo)
    ]
    try:
        _collect(client, tasks, todo, record, line)
    finally:
        if line is not None:
            line.clear()
        client.cancel([shared, *tasks])


def _same(work: MapWork) -> MapWork:
    """What is to be done, as a task."""
    return work


def compute(work: MapWork, run: str, folder: str, part: Part, path: str) -> Tally:
    """Write the results of a part to a file, in a worker; what there is to tell. Raises AgradError."""
    require_here(work.version, os.path.join(folder, RECORD), part.file)
    bench: MapBench = bench_of(run, lambda: MapBench(work, 1))
    return bench.run(lambda: bench.compute(part, path))


def require_here(version: str, *files: str) -> None:
    """Refuse a worker that has another agrad, or does not see the files. Raises AgradError."""
    if version != __version__:
        fixes = [Hint(f"in the environment of the worker: pip install agrad=={version}")]
        raise AgradError("extra", f"a Dask worker has agrad {__version__}, and not {version}", fixes=fixes)
    for seen in files:
        if not os.path.exists(seen):
            raise AgradError("file", f"a Dask worker finds no file {seen}", fixes=_SHARED)


def bench_of(run: str, make: Callable[[], Any]) -> Any:
    """The bench of this thread for a run, which is made and prepared for the first part that it gets."""
    if getattr(_BENCHES, "run", None) != run:
        bench = make()
        bench.run(bench.prepare)
        _BENCHES.run, _BENCHES.bench = run, bench
    return _BENCHES.bench


def _collect(client: Any, tasks: Sequence[Any], todo: Sequence[Part], record: Record, line: Reading | None) -> None:
    """Wait for the tasks, and note what is done.

    When one fails, those of later parts are cancelled, so that the error is that of the first part that has one,
    whatever the order in which they are computed. Raises AgradError.
    """
    from distributed import as_completed  # here, since `connect` says how to install it

    places = {task.key: place for place, task in enumerate(tasks)}
    failed, error = len(tasks), None
    done = as_completed(tasks, loop=client.loop)
    look = _Look(client, line)
    while not done.is_empty():
        look()
        for task in done.next_batch(block=False):
            place = places[task.key]
            if place > failed:
                continue
            try:
                record.add(todo[place], task.result())
            except Exception as problem:  # whatever a task, or Dask, raises
                client.cancel(tasks[place + 1 : failed])
                failed, error = place, failure(problem, todo[place].file)
        if not done.is_empty():
            time.sleep(_LOOK)
    if error is not None:
        raise error


class _Look:
    """Shows the progress, with the number of workers as the scheduler counts them."""

    def __init__(self, client: Any, line: Reading | None) -> None:
        self.client, self.line = client, line
        self.next = 0.0

    def __call__(self) -> None:
        """Show it, if there is a terminal."""
        if self.line is None:
            return
        now = time.monotonic()
        if now >= self.next:
            self.count, self.next = len(self.client.nthreads()), now + _COUNT
        self.line.at(f"on {self.count} {'worker' if self.count == 1 else 'workers'}", 0, None, 0)
