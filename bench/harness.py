"""What the benchmarks are made of: a work, a case of it on one side, and the process that a side runs in.

A side (agrad, or a peer) is a function that imports what it needs and returns its cases by name. `serve` answers for
one side: a line with the name of a case comes in, the case runs once, and a line of JSON goes out, with the seconds of
one unit of work and, the first time, the answer, which must be the same on all sides.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from itertools import repeat
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
SCRATCH = Path(__file__).parent.parent / "build" / "bench"
ENOUGH = 0.04  # seconds that a run of a case takes at least, so that the clock and a collection do not matter


@dataclass
class Case:
    """What is timed: `run` gives the seconds of one unit; `answer`, once it has run, a few numbers to compare."""

    run: Callable[[], float]
    answer: list[float] = field(default_factory=list)


Side = Callable[[], dict[str, Case]]


@dataclass
class Work:
    """A row of the table for each peer, with the most that agrad may take of what the peer takes (None: no limit).

    `first` works are over once they are done, and need a process a round; `threads` of 1 holds for the peers.
    """

    title: str
    case: str
    peers: Mapping[str, float | None]
    rounds: int = 15
    first: bool = False
    threads: int | None = None
    unit: str = "s"
    mean: str = ""  # the geometric mean that its ratio is counted in


def repeated(action: Callable[[], object], read: Callable[..., Iterable[float]] = lambda _: ()) -> Case:
    """A case that does the same again and again, at Python's ordinary settings of the collector."""
    turns = 0

    def run() -> float:
        nonlocal turns
        if not turns:
            case.answer = [float(number) for number in read(action())]
            turns = 1
            while min(_seconds(action, turns) for _ in range(2)) < ENOUGH:  # in one of two it may be compiled
                turns *= 2
        return _seconds(action, turns) / turns

    case = Case(run)
    return case


def once(action: Callable[[], object], read: Callable[..., Iterable[float]] = lambda _: ()) -> Case:
    """A case that is timed the first time."""

    def run() -> float:
        began = time.perf_counter()
        result = action()
        taken = time.perf_counter() - began
        case.answer = [float(number) for number in read(result)]
        return taken

    case = Case(run)
    return case


def growing(action: Callable[[], object], first: Callable[[], object]) -> Case:
    """A case that measures by how many MB an action makes the memory of the process grow, at its peak.

    `first` has a small function compiled, so that the compiler itself is there.
    """

    def run() -> float:
        first()
        before = _peak()
        action()
        return max(_peak() - before, 0.1)

    return Case(run)


def _peak() -> float:
    import resource

    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def whole(command: Sequence[str | Path]) -> Case:
    """A case that is a whole process."""

    def run() -> float:
        began = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        taken = time.perf_counter() - began
        if done.returncode:
            raise RuntimeError(said(done.stderr) or f"exit code {done.returncode}")
        return taken

    return Case(run)


def numbers(found: Any) -> list[float]:
    """All entries of nested results: of numbers, arrays, and tensors that may have a graph."""
    import numpy as np

    if isinstance(found, tuple | list):
        return [x for part in found for x in numbers(part)]
    return np.ravel(found.detach().numpy() if hasattr(found, "detach") else found).astype(float).tolist()


def said(text: str) -> str:
    """The line of a program's complaints that says what it is."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "rror" in line), lines[-1] if lines else "")[:160]


def _seconds(action: Callable[[], object], turns: int) -> float:
    gc.collect()
    began = time.perf_counter()
    for _ in repeat(None, turns):
        action()
    return time.perf_counter() - began


def serve(sides: Mapping[str, Side]) -> None:
    """Be the process of the side that the command line names."""
    replies, sys.stdout = sys.stdout, sys.stderr  # what a peer prints is no reply

    def reply(**facts: object) -> None:
        print(json.dumps(facts), file=replies, flush=True)

    try:
        cases = sides[sys.argv[1]]()
    except Exception as problem:  # a peer that is missing, or raises what it likes, is a row of the table
        reply(why=f"{type(problem).__name__}: {problem}")
        return
    reply(ready=True)
    for line in sys.stdin:
        case = cases.get(line.strip())
        if case is None:
            reply(why=f"{sys.argv[1]} has no such case")
            continue
        try:
            reply(seconds=case.run(), answer=case.answer)
        except Exception as problem:
            reply(why=f"{type(problem).__name__}: {problem}")


def machine() -> str:
    """The processor, and how many cores this process may use."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = [line for line in lines if line.startswith("flags")]
    vectors = next((v for v in ("avx512f", "avx2") if flags and f" {v} " in f"{flags[0]} "), "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    name = names[0] if names else platform.processor() or platform.machine()
    count = "one core" if cores == 1 else f"{cores} cores"
    urgent = getattr(os, "SCHED_FIFO", None), getattr(os, "SCHED_RR", None)
    first = "real-time priority" if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) in urgent else ""
    return ", ".join(part for part in (name, count, vectors.upper(), platform.system(), first) if part)


def versions(packages: Iterable[str]) -> str:
    """Python's version, and those of the packages that are there."""
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"no {package}")
    return ", ".join(found)
