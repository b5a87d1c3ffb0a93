"""The sums of `agrad fit` on a Dask cluster.

For each step of the search, a task for each part computes its sums, and tasks for groups of these join them, up to one:
the same tree as in one process. What is to be done is sent once, as one object that all tasks share; a worker reads and
compiles the expressions when it gets its first part.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agrad.cli.arguments.cluster import On
from agrad.cli.data.cluster.connection import connect, failure
from agrad.cli.data.cluster.mapping import bench_of, require_here
from agrad.cli.data.fit_work import FitBench, FitWork
from agrad.cli.data.parts.plan import Part
from agrad.cli.terminal.progress import AFTER, Progress, duration, on_terminal
from agrad.engine.ops.solvers.sums import GROUP, Ask, Sums, joined

_LOOK = 0.02  # seconds between two looks at what is done


@contextmanager
def on_cluster(work: FitWork, parts: Sequence[Part], on: On) -> Iterator[Callable[[Ask], Sums]]:
    """A function that computes the sums over all parts on a cluster. Raises AgradError: of the first part with one."""
    run = f"agrad-{secrets.token_hex(8)}"
    if on.address:  # workers on other machines have other current folders
        work = replace(work, path=os.path.abspath(work.path), files=[*map(os.path.abspath, work.files)])
        parts = [replace(part, file=os.path.abspath(part.file)) for part in parts]
    line = on_terminal(Passes)
    with connect(*on) as client:
        # A task and not a scattered object: if all workers that have it end, the scheduler makes it again.
        shared = client.submit(_same, work, key=run)
        try:
            yield Cluster(client, shared, run, parts, line)
        finally:
            if line is not None:
                line.clear()
            client.cancel([shared])


def _same(work: FitWork) -> FitWork:
    """What is to be done, as a task."""
    return work


def groups(count: int) -> Iterator[list[range]]:
    """For each level of the tree above so many parts, which nodes of the level below are joined."""
    while count > 1:
        level = [range(begin, min(begin + GROUP, count)) for begin in range(0, count, GROUP)]
        yield level
        count = len(level)


class Cluster:
    """The sums of all parts, for one set of parameters after another."""

    def __init__(self, client: Any, shared: Any, run: str, parts: Sequence[Part], line: Passes | None) -> None:
        self.client, self.shared, self.run, self.parts, self.line = client, shared, run, parts, line
        self.passes = 0

    def __call__(self, ask: Ask) -> Sums:
        """The sums for some parameters. Raises AgradError."""
        self.passes += 1
        leaves, nodes = self.submitted(ask)
        try:
            self._wait(leaves, nodes[-1])
            found: Sums = nodes[-1].result()
        except Exception as problem:  # whatever a task, or Dask, raises
            for part, leaf in zip(self.parts, leaves, strict=True):  # that of the first part, if several have one
                try:
                    leaf.result()
                except Exception as first:
                    raise failure(first, part.file) from None
            raise failure(problem, "a step of the search") from None
        return found

    def submitted(self, ask: Ask) -> tuple[list[Any], list[Any]]:
        """The tasks of the parts, and all tasks, the last of which has the sums of all parts."""
        run, submit = f"{self.run}-{self.passes}", self.client.submit
        leaves = [
            submit(sums_of, self.shared, self.run, part, ask, key=f"{run}-0-{place}")
            for place, part in enumerate(self.parts)
        ]
        tasks, below = [*leaves], leaves
        for level, ranges in enumerate(groups(len(leaves)), 1):
            below = [
                submit(joined, [below[place] for place in some], key=f"{run}-{level}-{number}")
                for number, some in enumerate(ranges)
            ]
            tasks += below
        return leaves, tasks

    def _wait(self, leaves: Sequence[Any], root: Any) -> None:
        """Wait for the sums of all parts, and show how many parts are done."""
        while root.status == "pending":
            time.sleep(_LOOK)
            if self.line is not None:
                self.line.at(self.passes, sum(leaf.status == "finished" for leaf in leaves), len(leaves))


def sums_of(work: FitWork, run: str, part: Part, ask: Ask) -> Sums:
    """The sums of a part, in a worker. Raises AgradError."""
    require_here(work.version, part.file)
    bench: FitBench = bench_of(run, lambda: FitBench(work, 1))
    return bench.run(lambda: bench.sums(part, ask))


class Passes(Progress):
    """The progress of a search: `step 7, 12 of 40 parts: 2 min 5 s`."""

    text = ""
    since: float | None = None

    def at(self, number: int, done: int, total: int) -> None:
        """Show it, if it is time."""
        now = self.clock()
        self.since = now if self.since is None else self.since
        elapsed = now - self.since
        if elapsed >= AFTER:
            self.text = f"step {number}, {done} of {total} parts: {duration(elapsed)}"
            self._show(now)

    def line(self, now: float) -> str:
        """See Progress."""
        return self.text
