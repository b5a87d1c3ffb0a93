"""What 1,000,000,000 rows take on a Dask cluster: the tasks that agrad submits, and a simulation of their schedule.

    python bench/cluster_plan.py            the tables of docs/clusters.md

There is one file of 500,000 rows, and 2,000 links to it. The command makes its plan for these, with a client that
notes what is submitted; then a scheduler without workers gets the same tasks, and one process computes some of them.
Times are seconds of the processor, so that what else runs here matters little. Linux.
"""

from __future__ import annotations

import argparse
import heapq
import multiprocessing
import os
import pickle
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES, ROWS = 2_000, 500_000
WORKERS = (2, 10, 50, 100, 200)
SAMPLE = 9  # parts that are computed; the first compiles
MAP = ["map", "exp(-x**2)*sin(y) + z", "data", "--wrt", "x,y", "-o", "out/", "--on", "dask"]


class Planned(BaseException):
    """Raised when all tasks are known."""


@dataclass(frozen=True)
class Noted:
    """What a client gives for a submitted task; as an argument of another, it is sent as its key."""

    key: str

    def __reduce__(self) -> Any:
        return str, (self.key,)


class Recorder:
    """A client that notes the tasks: by their keys, the function and its arguments."""

    def __init__(self) -> None:
        self.tasks: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}

    def submit(self, function: Callable[..., Any], *given: Any, key: str) -> Noted:
        """Note a task."""
        self.tasks[key] = function, given
        return Noted(key)

    @property
    def loop(self) -> Any:
        """Who waits for tasks asks for it."""
        raise Planned

    def nthreads(self) -> dict[str, int]:
        """There are no workers."""
        return {}

    def cancel(self, tasks: object) -> None:
        """There is nothing to cancel."""


def planned(words: Sequence[str], module: Any) -> Recorder:
    """The tasks that a command submits."""
    from agrad.cli.main import root

    recorder, usual = Recorder(), module.connect

    @contextmanager
    def connect(*on: object) -> Iterator[Recorder]:
        yield recorder

    module.connect = connect
    try:
        with suppress(Planned):
            root.main([*words], standalone_mode=False)
    finally:
        module.connect = usual
    return recorder


def make(folder: Path, files: int) -> None:
    """The file, and links to it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = np.random.default_rng(1)
    x, y, z = chance.uniform(0, 3, ROWS), chance.uniform(0, 3, ROWS), chance.uniform(0, 3, ROWS)
    m = chance.normal(size=ROWS)
    pq.write_table(
        pa.table({"x": x, "y": y, "z": z, "m": m}),
        folder / "one.parquet",
        row_group_size=ROWS // 4,
    )
    (folder / "data").mkdir()
    for number in range(files):
        (folder / "data" / f"{number:05}.parquet").symlink_to(folder / "one.parquet")


# What is measured


@dataclass
class Measured:
    """Of the tasks: how many, bytes of each as it is sent, of what all share, and of a result.

    `begin`, `parts`: seconds that a worker takes to begin, and for each part; `memory`: bytes of the process at most.
    """

    count: int
    sent: float
    shared: int
    result: int
    begin: float
    parts: list[float]
    memory: int


def measured(recorder: Recorder) -> Measured:
    """Compute some of the tasks in a process of their own."""
    tasks = [*recorder.tasks.items()]
    run, (_, (work,)) = tasks[0]
    parts = [(function, given) for key, (function, given) in tasks if given[0] == Noted(run)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        begin, seconds, memory, result = pool.apply(computed, (work, parts[:SAMPLE]))
    sizes = [len(pickle.dumps(one)) for one in parts]
    return Measured(len(tasks), statistics.fmean(sizes), len(pickle.dumps(work)), result, begin, seconds, memory)


def computed(work: Any, parts: Sequence[Any]) -> tuple[float, list[float], int, int]:
    """The seconds to begin and of each part, the memory, and the bytes of a result."""
    from agrad.cli.data.parts import RECORD

    seconds, results = [], []
    for function, (_, *given) in parts:
        os.makedirs(given[1], exist_ok=True)
        Path(given[1], RECORD).touch()  # for which a worker looks
        began = time.process_time()
        results.append(function(work, *given))
        seconds.append(time.process_time() - began)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    usual = statistics.median(seconds[1:])
    return seconds[0] - usual, seconds[1:], memory, len(pickle.dumps(results[0]))


def of_scheduler(recorder: Recorder) -> float:
    """The bytes that a scheduler takes for each task."""
    import psutil
    from distributed import Client

    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        file = Path(folder) / "scheduler.json"
        process = subprocess.Popen(
            [sys.executable, *words, "--dashboard-address", "127.0.0.1:0", "--scheduler-file", file],
            stderr=subprocess.DEVNULL,
        )
        try:
            with Client(scheduler_file=str(file), timeout=60) as client:
                watched = psutil.Process(process.pid)
                first = client.submit(int, "1", key="first")
                before = watched.memory_info().rss
                futures: dict[str, Any] = {}
                for key, (function, given) in recorder.tasks.items():
                    ready = [futures[one.key] if isinstance(one, Noted) else one for one in given]
                    futures[key] = client.submit(function, *ready, key=key)
                while client.run_on_scheduler(known) < len(futures):
                    time.sleep(0.1)
                del first
                found: float = (watched.memory_info().rss - before) / len(futures)
                return found
        finally:
            process.terminate()
            process.wait()


def known(dask_scheduler: Any) -> int:
    """How many tasks a scheduler has."""
    return len(dask_scheduler.tasks)


def overhead(count: int = 2_000) -> float:
    """The seconds of a scheduler for a task from its submission to its end, with two workers that compute nothing."""
    from agrad.cli.data.cluster import connect

    with connect("", 2) as client:
        client.gather([client.submit(abs, number) for number in range(100)])
        began = client.run_on_scheduler(seconds_of)
        client.gather([client.submit(abs, -number) for number in range(1, count)])
        return (client.run_on_scheduler(seconds_of) - began) / count


def seconds_of(dask_scheduler: Any) -> float:
    """The seconds of the process of a scheduler: of a local cluster, with its client."""
    return time.process_time()


# The simulation


def makespan(workers: int, one: Measured, each: float, count: int, lost: bool = False) -> float:
    """The seconds until all parts are done.

    List scheduling: the parts in their order, each to the worker that is free first, by a scheduler that needs some
    time for `each`. `lost`: one worker ends when half of the parts are done; another one does its part, and it does not
    come back.
    """
    free = [(0.0, number) for number in range(workers)]
    started, dispatcher, ends = set(), 0.0, 0.0
    waiting, place = list(range(count)), 0
    while waiting:
        part = waiting.pop(0)
        at, number = heapq.heappop(free)
        dispatcher = max(dispatcher, at) + each
        end = dispatcher + one.parts[part % len(one.parts)] + (one.begin if number not in started else 0.0)
        started.add(number)
        place += 1
        if lost and place == count // 2 and workers > 1:
            waiting.append(part)  # and the worker is not free again
            continue
        ends = max(ends, end)
        heapq.heappush(free, (end, number))
    return ends


def table_of_counts(map_: Measured, memory: float) -> list[str]:
    """How many tasks there are, and how large."""
    size = os.path.getsize("one.parquet")
    rows = {
        f"parts, of 500,000 rows and {size / 1e6:.0f} MB": f"{map_.count - 1:,}",
        "tasks in all": f"{map_.count:,}",
        "bytes of a task, as it is sent": f"{map_.sent:,.0f}",
        "bytes of what all share, sent once to a worker": f"{map_.shared:,}",
        "bytes of a result": f"{map_.result:,}",
        "memory of the scheduler, MB": f"{map_.count * memory / 1e6:.0f}",
        "memory of a worker, MB": f"{map_.memory / 1e6:.0f}",
        "seconds of a worker to begin": f"{map_.begin:.2f}",
        "seconds of a part": f"{statistics.median(map_.parts):.3f}",
    }
    return ["| | `agrad map` |", "| --- | --- |", *(f"| {what} | {found} |" for what, found in rows.items())]


def table_of_times(map_: Measured, each: float) -> list[str]:
    """The seconds by the number of workers."""
    lines = ["| workers | map, s | efficiency | a worker lost, s |", "| ---: " * 4 + "|"]
    count = map_.count - 1
    work = sum(map_.parts[part % len(map_.parts)] for part in range(count))
    for workers in WORKERS:
        whole, lost = (makespan(workers, map_, each, count, lost) for lost in (False, True))
        lines.append(f"| {workers} | {whole:.1f} | {work / workers / whole:.2f} | {lost:.1f} |")
    return lines


def main() -> None:
    """Plan, measure, simulate, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=FILES)
    asked = parser.parse_args()
    from agrad.cli.data import cluster

    before = os.getcwd()
    folder = Path(tempfile.mkdtemp(prefix="agrad-plan-"))
    try:
        os.chdir(folder)
        make(folder, asked.files)
        recorded = planned(MAP, cluster)
        map_, memory = measured(recorded), of_scheduler(recorded)
        each = overhead()
        print("\n".join(table_of_counts(map_, memory)), end="\n\n")
        print(f"A task takes {memory / 1e3:.1f} kB and {each * 1e3:.2f} ms of the scheduler.", end="\n\n")
        print("\n".join(table_of_times(map_, each)))
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
