"""A chain of a million scalar operations through the command line, beside a hundred chains of ten thousand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness import BIN, SCRATCH, Case, Work, serve, whole

OPERATIONS = 1_000_000
SHORT = 10_000
WORKS = (
    Work(
        "1,000,000 scalar operations in a chain, build + backward, `agrad run`",
        "chain",
        {"100 chains of 10,000": 1.3},
        rounds=7,
    ),
    Work("memory of a node in it", "memory", {"300 bytes": 1.0}, rounds=3, unit="bytes"),
)
SCRIPT = """\
var x = 0.7
for i in range({chains}):
    y = x
    for k in range({operations}):
        y = y*0.999
        y = y + x
"""
WALK = "    backward y\n"


def script(name: str, chains: int, operations: int, walk: str = WALK) -> Path:
    """A script that builds chains of so many operations, and walks each."""
    path = SCRATCH / f"{name}.ag"
    path.write_text(SCRIPT.format(chains=chains, operations=operations // 2) + walk)
    return path


def long() -> dict[str, Case]:
    """One chain."""
    run = whole([BIN / "agrad", "run", script("long", 1, OPERATIONS)])
    return {"chain": run, "memory": Case(_bytes_a_node)}


def short() -> dict[str, Case]:
    """As many operations in many chains, so that the start is the same."""
    return {"chain": whole([BIN / "agrad", "run", script("short", OPERATIONS // SHORT, SHORT)])}


def _bytes_a_node() -> float:
    """What the process holds at its peak for a chain, beyond what it holds for a shorter one."""
    large, small = (_peak(script(f"only{n}", 1, n, walk="")) for n in (OPERATIONS, SHORT))
    return (large - small) / (OPERATIONS - SHORT)


def _peak(path: Path) -> int:
    """The most memory that a process which runs a script has held, in bytes."""
    process = subprocess.Popen([BIN / "agrad", "run", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}")
    return usage.ru_maxrss * 1024


def limit() -> dict[str, Case]:
    """What was promised."""
    return {"memory": Case(lambda: 300.0)}


if __name__ == "__main__":
    serve({"agrad": long, "100 chains of 10,000": short, "300 bytes": limit})
