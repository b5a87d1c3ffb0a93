"""Every benchmark, side by side with its peers; the table goes to bench/results.md.

    make bench [ONLY=determinant]

Each side is a process of its own. They run in turn, the order reversed at each round, so that a busy moment of the
machine hits all; of each round the ratio is taken, and of the ratios the median, and the middle half as their spread.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Timer
from types import ModuleType
from typing import Any

from harness import SCRATCH, Work, machine, versions

FAMILIES = (
    "startup",
    "determinant",
    "regression",
    "chain",
    "eager",
    "map",
    "hessian",
    "arrays",
    "programs",
    "uncertain",
    "exported",
    "files",
    "adbench",
    "unseen",
)
PACKAGES = ("agrad", "numpy", "llvmlite", "torch", "jax", "casadi", "micrograd", "pyarrow")
HERE = Path(__file__).parent
RESULTS = HERE / "results.md"
HEADS = ("work", "peer", "ratio", "middle half", "limit", "holds", "agrad", "peer takes")
PATIENCE = 120  # seconds for one reply


class Side:
    """The process of one side."""

    def __init__(self, family: str, name: str, threads: int | None) -> None:
        pinned = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)} if threads else {}
        self.process = subprocess.Popen(
            [sys.executable, HERE / f"{family}.py", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **pinned, "JAX_PLATFORMS": "cpu"},
        )
        self.why = self._reply().get("why")

    def _reply(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        patience = Timer(PATIENCE, self.process.kill)
        patience.start()
        line = self.process.stdout.readline()
        patience.cancel()
        return json.loads(line) if line else {"why": f"no reply, and exit code {self.process.wait()}"}

    def run(self, case: str) -> dict[str, Any]:
        """The reply to one case: seconds and answer, or why not."""
        if self.why is not None:
            return {"why": self.why}
        assert self.process.stdin is not None
        try:
            print(case, file=self.process.stdin, flush=True)
        except OSError:
            return {"why": "the process has ended"}
        return self._reply()

    def end(self) -> None:
        """Let the process end."""
        self.process.kill()
        self.process.communicate()


@dataclass
class Measured:
    """What one work gave: the times of each side, round by round, or why there are none."""

    work: Work
    times: dict[str, list[float]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    answers: dict[str, list[float]] = field(default_factory=dict)

    def take(self, side: str, reply: dict[str, Any]) -> None:
        """Note the reply of a side."""
        if "why" in reply:
            self.why[side] = reply["why"]
        else:
            self.times.setdefault(side, []).append(reply["seconds"])
            self.answers[side] = reply["answer"]


def measure(family: str, work: Work, sides: dict[str, Side]) -> Measured:
    """Run a work round by round. A side that cannot is left out, and nothing is run where agrad cannot."""
    found = Measured(work)
    names = ["agrad", *work.peers]
    for turn in range(-1, work.rounds):  # the first round is for caches
        for name in names if turn % 2 else names[::-1]:
            if name in found.why or "agrad" in found.why:
                continue
            key = f"{name} {work.threads}" if name != "agrad" else name
            if work.first or key not in sides:
                sides[key] = Side(family, name, work.threads)
            found.take(name, sides[key].run(work.case))
            if work.first:
                sides.pop(key).end()
    for times in found.times.values():
        del times[0]
    return found


MEANS = {
    "call": ("compiled functions, geometric mean", "jax", 0.25),
    "first": ("their compilation and first call, geometric mean", "jax", 0.3),
    "eager": ("eager programs, geometric mean", "torch", 1.3),
    "unseen": ("programs of this week, geometric mean", "jax", 0.25),
}


def mean(kind: str, ratios: Sequence[float]) -> list[str]:
    """The line of the geometric mean of some ratios."""
    title, peer, limit = MEANS[kind]
    found = statistics.geometric_mean(ratios)
    holds = "yes" if found <= limit else "**no**"
    worst = f"at most {max(ratios):.3f}"
    return [f"{title} of {len(ratios)}", peer, f"{found:.3f}", worst, f"{limit:.2f}", holds, "", ""]


def rows(found: Measured) -> list[list[str]]:
    """A line of the table for each peer."""
    return [_row(found, peer, limit) for peer, limit in found.work.peers.items()]


def _row(found: Measured, peer: str, limit: float | None) -> list[str]:
    title = found.work.title
    shown = "" if limit is None else f"{limit:.2f}"
    problem = found.why.get("agrad") or found.why.get(peer) or _difference(found, peer)
    if problem:
        who = "agrad" if "agrad" in found.why else peer
        return [title, peer, f"not measured: {who}: {_cell(problem)}", "", shown, "", "", ""]
    ours, theirs = found.times["agrad"], found.times[peer]
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    low, _, high = statistics.quantiles(ratios, n=4)
    holds = "" if limit is None else "yes" if ratio <= limit else "**no**"
    both = (_spelt(statistics.median(times), found.work.unit) for times in (ours, theirs))
    return [title, peer, f"{ratio:.3f}", f"{low:.3f} to {high:.3f}", shown, holds, *both]


def _difference(found: Measured, peer: str) -> str:
    """What is wrong with the answers, if they are not the same."""
    ours, theirs = found.answers["agrad"], found.answers[peer]
    if not ours or not theirs:  # of a process that does something else, or of a size
        return ""
    if len(ours) != len(theirs):
        return f"the answers differ: {len(ours)} numbers and {len(theirs)}"
    wrong = [(a, b) for a, b in zip(ours, theirs, strict=True) if not abs(a - b) <= 1e-8 * max(1.0, abs(b))]
    return f"the answers differ: {wrong[0][0]} and {wrong[0][1]}" if wrong else ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:120]


def _spelt(amount: float, unit: str) -> str:
    if unit != "s":
        return f"{amount:.0f} {unit}"
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if amount >= size:
            return f"{amount / size:.3g} {name}"
    return f"{amount * 1e9:.3g} ns"


def table(lines: Sequence[Sequence[str]]) -> str:
    """The lines as a table in Markdown, its columns aligned."""
    widths = [max(len(line[column]) for line in (HEADS, *lines)) for column in range(len(HEADS))]
    # The reasons of what was not measured are long, and widen no column.
    widths[2] = max(len(line[2]) for line in (HEADS, *lines) if not line[2].startswith("not"))
    ruled = [["-" * width for width in widths]]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in (HEADS, *ruled, *lines)
    )


def report(lines: Sequence[Sequence[str]]) -> str:
    """The page: what was compared, on what, and the table."""
    return f"""\
# Measured

`make bench` made this page. A ratio is agrad's time in terms of the peer's, so that smaller is better: the median of
rounds in which all run in turn, each in a process of its own, and the middle half of the rounds as its spread. All is
float64. Where both sides compute the same, their answers were compared; a side whose answers differ is not measured.

* {machine()}
* {versions(PACKAGES)}

{table(lines)}
"""


def main() -> None:
    """Run the families that the command line names, or all."""
    chosen = sys.argv[1:] or FAMILIES
    if unknown := [name for name in chosen if name not in FAMILIES]:
        sys.exit(f"there is no benchmark {unknown[0]}: there are {', '.join(FAMILIES)}")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    lines: list[list[str]] = []
    counted: dict[str, list[float]] = {}
    for family in chosen:
        module: ModuleType = import_module(family)
        sides: dict[str, Side] = {}
        try:
            for work in module.WORKS:
                made = rows(measure(family, work, sides))
                lines += made
                if work.mean:
                    peer = MEANS[work.mean][1]
                    known = [float(line[2]) for line in made if line[1] == peer and not line[2].startswith("not")]
                    counted.setdefault(work.mean, []).extend(known)
                for line in made:
                    print("  ".join(cell for cell in line if cell), flush=True)
        finally:
            for side in sides.values():
                side.end()
    lines += [mean(kind, ratios) for kind, ratios in counted.items() if ratios]
    print(table(lines))
    if not sys.argv[1:]:
        RESULTS.write_text(report(lines), encoding="utf-8")
        print(f"written to {RESULTS.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
