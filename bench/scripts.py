"""Eager operations of scripts of both readings beside the same loops in plain Python with agrad's engine.

Then scripts of plain numbers, of both readings, beside CPython.

    python bench/scripts.py [part of a name]

Each line has the µs of an iteration in a script, in Python, and their ratio: processor time, the least of some turns.
Loops of scripts are not compiled here.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from agrad.grammar.session.session import Session

TURNS, COUNT = 7, 10_000
NAMES = {"x": "1.5", "y": "0.5", "v": "[1., 2., 3.]", "w": "[0.5, 0.1, 0.2]", "A": "[[1., 2.], [3., 4.]]"}
CALCULATOR = "".join(f"var {name} = {value}\n" for name, value in NAMES.items())
PYTHON = "import torch\ntorch.set_default_dtype(torch.float64)\n" + "".join(
    f"{name} = torch.tensor({value}, requires_grad=True)\n" for name, value in NAMES.items()
)
ENGINE = "from agrad.engine import sin, sum, tensor\n" + "".join(
    f"{name} = tensor({value}, requires_grad=True)\n" for name, value in NAMES.items()
)
MATH = "import math\n"
FUNCTION = "def f(a, b):\n    c = a * b\n    return c + a\n"
# What is before the loop, and its body; `{}` is the module of functions.
WORKS = {
    "product of vectors": ("", "z = v * w"),
    "product of numbers": ("", "z = x * y"),
    "chain": ("", "z = v * w + v - w"),
    "quotient": ("", "z = v / w"),
    "function": ("", "z = {}sin(v)"),
    "sum": ("", "z = {}sum(v)"),
    "method": ("", "z = v.sum()"),
    "matrix product": ("", "z = A @ A"),
    "number": ("", "z = v[1]"),
    "slice": ("", "z = v[0:2]"),
    "function of the script": (FUNCTION, "z = f(v, w)"),
    "write of an entry": ("u = {}tensor([1., 2., 3.])\n", "u[1] = 2.5"),
    "write in place": ("u = {}tensor([1., 2., 3.])\n", "u += 0.5"),
    "backward": ("", "z = {}sum(v * w)\n    z.backward()"),
    "zero": ("{}sum(v * w).backward()\n", "v.grad.zero_()"),
}

# Plain numbers: what is before the loop, and its body, in both readings; `{}` is the module of functions.
FIB = "def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n"
NEWTON = "def root(a):\n    x = a\n    for k in range(20):\n        x = 0.5*(x + a/x)\n    return x\n"
NUMBERS = {
    "recursion": (FIB, "s = fib(8)"),
    "Newton": (NEWTON, "s = root(2.0)"),
    "root of the counter": ("s = 0.0\n", "s = s + {}sqrt(i)"),
    "remainders": ("s = 0\n", "s = s + i % 7 + i // 3"),
    "squares": ("s = 0\n", "s = s + i*i"),
    "branches": ("s = 0\n", "if i % 2 == 0:\n        s = s + i\n    else:\n        s = s - i"),
}


def least(*runs: Callable[[], object]) -> list[float]:
    """The seconds of processor time of the quickest of several turns of each, which alternate."""
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(TURNS):
        for run, times in zip(runs, found, strict=True):
            gc.collect()
            began = time.process_time()
            run()
            times.append(time.process_time() - began)
    return [min(times) for times in found]


def script(head: str, before: str, loop: str) -> Callable[[], object]:
    """What runs a loop in a session."""
    session, first = Session(), {PYTHON: "import torch\n", MATH: MATH}.get(head, "")
    session.compiles = False
    session.run(head + before, source="bench", is_file=True)
    return lambda: session.run(first + loop, source="bench", is_file=True)


def plain(head: str, before: str, loop: str) -> Callable[[], object]:
    """What runs it in Python."""
    names: dict[str, Any] = {}
    exec(head.replace("import torch\n", "import agrad.torch as torch\n") + before, names)
    code = compile(loop, "bench", "exec")
    return lambda: exec(code, names)


def main() -> None:
    """Print all of it."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for reading, ours, theirs, module, works in (
        ("calculator", CALCULATOR, ENGINE, "", WORKS),
        ("Python", PYTHON, PYTHON, "torch.", WORKS),
        ("calculator", "", "from math import sqrt\n", "", NUMBERS),
        ("Python", MATH, MATH, "math.", NUMBERS),
    ):
        for name, parts in works.items():
            before, body = (part.replace("{}", module) for part in parts)
            loop = f"for i in range({COUNT}):\n    {body}\n"
            if wanted in name:
                took = [
                    seconds / COUNT * 1e6 for seconds in least(script(ours, before, loop), plain(theirs, before, loop))
                ]
                print(f"{reading:10} {name:24} {took[0]:8.2f} {took[1]:8.2f} {took[0] / took[1]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
