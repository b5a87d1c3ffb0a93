"""Where the time of the eager works goes: a determinant by its phases, a regression step beside numpy alone.

    python bench/breakdown.py

Each figure is the least of several runs, with the collector off, and in µs but for the bytecodes.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from itertools import repeat
from types import FrameType
from typing import Any

import numpy as np
from determinant import entries, minors, rows
from regression import RATE, points

import agrad.engine as ag
from agrad.engine.autodiff.reverse import by_leaves
from agrad.engine.core.graph import free
from agrad.engine.core.versions import walkable

RUNS = 15


def least(action: Callable[[], object], turns: int) -> float:
    """The µs of an action."""
    taken = []
    for _ in range(RUNS):
        began = time.perf_counter()
        for _ in repeat(None, turns):
            action()
        taken.append((time.perf_counter() - began) / turns * 1e6)
    return min(taken)


def phases(n: int, turns: int) -> dict[str, float]:
    """The µs of each phase of a determinant, for each of its operations."""
    matrix = rows(n, [ag.tensor(x, requires_grad=True) for x in entries(n)])
    order, _ = walkable(minors(matrix).node)
    made = sum(node.op is not None for node in order)
    found = {"make": least(lambda: minors(matrix), turns)}
    found["order and walk"] = least(lambda: by_leaves(order[0]), turns)
    found["free"] = least(lambda: free(order, "a measurement"), turns)
    return {phase: taken / made for phase, taken in found.items()}


def step_of(n: int) -> Callable[[], None]:
    """The regression step of the benchmark."""
    x, t = map(ag.tensor, points(n))
    w, b = (ag.tensor(0.0, requires_grad=True) for _ in range(2))

    def step() -> None:
        nonlocal w, b
        ((w * x + b - t) ** 2).mean().backward()
        with ag.no_grad():
            w -= RATE * w.grad
            b -= RATE * b.grad
        w.grad = b.grad = None

    return step


def by_hand(n: int) -> Callable[[], None]:
    """The same in numpy alone, its derivative written by hand."""
    x, t = map(np.array, points(n))
    w = b = 0.0

    def step() -> None:
        nonlocal w, b
        d = w * x + b - t
        np.add.reduce(d * d) / n  # the loss, for which the step is made
        g = (2.0 / n) * d
        w, b = w - RATE * float(np.add.reduce(g * x)), b - RATE * float(np.add.reduce(g))

    return step


def bytecodes(action: Callable[[], object]) -> int:
    """How many instructions of Python an action is."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(None)
    return count


def main() -> None:
    """Print all of it."""
    gc.disable()
    for n, turns in ((3, 2000), (5, 100)):
        told = ", ".join(f"{phase} {taken:.2f}" for phase, taken in phases(n, turns).items())
        print(f"{n}x{n} determinant, an operation: {told}")
    for n, turns in ((50, 2000), (100_000, 50)):
        step = step_of(n)
        step()
        ours, theirs = least(step, turns), least(by_hand(n), turns)
        print(f"regression step, {n} points: {ours:.1f}, {bytecodes(step)} bytecodes; in numpy by hand {theirs:.1f}")


if __name__ == "__main__":
    main()
