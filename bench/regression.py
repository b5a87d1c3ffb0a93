"""A step of gradient descent on w*x + b, from Python, and a script of many epochs."""

from __future__ import annotations

import math
import subprocess
import time
from functools import partial
from typing import Any

from harness import BIN, SCRATCH, Case, Work, repeated, serve

WORKS = (
    Work("regression step, 50 points, eager", "step 50", {"torch": 0.22}),
    Work("regression step, 100,000 points, eager", "step 100000", {"torch": 0.33}, threads=1),
    Work("`agrad run` of the 50-point regression, an epoch", "script", {"torch": 0.1}),
)
RATE = 0.1
EPOCHS = 20_000
SCRIPT = """\
x = [{x}]
t = [{t}]
var w = 0
var b = 0
for epoch in range({epochs}):
    loss = mean((w*x + b - t)**2)
    backward loss
    step sgd w b lr={rate}
    zero_grad
"""


def points(n: int) -> tuple[list[float], list[float]]:
    """A line with waves on it."""
    x = [i / (n - 1) for i in range(n)]
    return x, [2.0 * a + 1.0 + 0.1 * math.sin(40.0 * a) for a in x]


def agrad() -> dict[str, Case]:
    """With Tensors as with torch's, and as a script."""
    import agrad.engine as ag

    def case(n: int) -> Case:
        x, t = map(ag.tensor, points(n))
        w, b = (ag.tensor(0.0, requires_grad=True) for _ in range(2))

        def step() -> Any:
            nonlocal w, b
            loss = ((w * x + b - t) ** 2).mean()
            loss.backward()
            with ag.no_grad():
                w -= RATE * w.grad
                b -= RATE * b.grad
            w.grad = b.grad = None
            return loss

        return repeated(step, lambda loss: [loss.item()])

    return {"step 50": case(50), "step 100000": case(100_000), "script": Case(_script)}


def _script() -> float:
    """The seconds of an epoch: what many take as a whole process, beyond what none takes."""
    many, none = (_whole(epochs) for epochs in (EPOCHS, 0))
    return (many - none) / EPOCHS


def _whole(epochs: int) -> float:
    path = SCRATCH / f"regression{epochs}.ag"
    x, t = (", ".join(map(repr, numbers)) for numbers in points(50))
    path.write_text(SCRIPT.format(x=x, t=t, epochs=epochs, rate=RATE))
    began = time.perf_counter()
    subprocess.run([BIN / "agrad", "run", path], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def torch() -> dict[str, Case]:
    """Tensors of float64, on one thread where the work says so."""
    import torch

    tensor = partial(torch.tensor, dtype=torch.float64)

    def case(n: int) -> Case:
        x, t = map(tensor, points(n))
        w, b = (tensor(0.0, requires_grad=True) for _ in range(2))

        def step() -> Any:
            nonlocal w, b
            loss = ((w * x + b - t) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                w -= RATE * w.grad
                b -= RATE * b.grad
            w.grad = b.grad = None
            return loss

        return repeated(step, lambda loss: [loss.item()])

    small = case(50)
    return {"step 50": small, "step 100000": case(100_000), "script": small}


if __name__ == "__main__":
    serve({"agrad": agrad, "torch": torch})
