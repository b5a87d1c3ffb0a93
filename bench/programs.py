"""Whole programs: compiled, warm and from the function to the first result, and eager, beside jax.jit and torch."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable
from typing import Any

from harness import BIN, SCRATCH, Case, Work, growing, numbers, once, repeated, serve

PROGRAMS = {
    "mlp": "network 784-128-10, 64 images, value and gradient",
    "gauss": "Gaussian process, 200 points",
    "springs": "chain of 1,000 springs",
    "lennard": "Lennard-Jones, 64 atoms",
    "heat": "heat, 50 implicit steps of 100 cells",
    "expm": "exponential of a 20x20 matrix",
    "survival": "survival, 1,000 cases (cumsum, cumprod)",
    "option": "Monte Carlo, 100,000 paths",
    "lotka": "Lotka-Volterra, a plain loop of 1,000 steps",
    "branches": "function with branches, at 2,000 random points, a point",
    "training": "training loop of 1,000 epochs of 50 points in one call",
}
HESSIANS = {
    "logistic": "Hessian of a logistic regression, 1,000x20",
    "lennard": "Hessian of Lennard-Jones, 64 atoms",
    "springs": "Hessian of a chain of 1,000 springs",
}
EAGER = ("mlp", "logistic", *[name for name in PROGRAMS if name not in ("mlp", "training")])  # forward and backward
LIMITS = {"mlp": 1.1, "gauss": 1.1, "lotka": 0.1, "training": 0.5}
PEERS = {"branches": ("jax", "torch"), "training": ("jax",), "lotka": ("jax",)}  # torch takes seconds for those loops


def _works() -> tuple[Work, ...]:
    made = []
    for name, title in PROGRAMS.items():
        peers = {peer: LIMITS.get(name, 1.0) if peer == "jax" else None for peer in PEERS.get(name, ("jax", "torch"))}
        made.append(Work(title, name, peers, rounds=9, threads=1, mean="call"))
        if name != "branches":
            limit = {"jax": 1.5}
            once_each = {"rounds": 2, "first": True, "threads": 1}
            made.append(Work("the same, compile and first call", f"first {name}", limit, **once_each, mean="first"))
            made.append(Work("the same, memory of compiling it", f"memory {name}", limit, **once_each, unit="MB"))
    for name, title in HESSIANS.items():
        made.append(Work(title, f"hessian {name}", {"jax": 1.0, "torch": None}, rounds=5, threads=1))
        once_each = {"rounds": 2, "first": True, "threads": 1}
        made.append(Work("the same, compile and first call", f"first hessian {name}", {"jax": 1.5}, **once_each))
    made.append(Work("`agrad run` of 50 points, an epoch, beside fori_loop", "script", {"jax": 1.0}, threads=1))
    for name in EAGER:
        title = f"{PROGRAMS.get(name) or HESSIANS[name].removeprefix('Hessian of ')}, eager"
        made.append(Work(title, f"eager {name}", {"torch": None}, rounds=9, threads=1, mean="eager"))
    return tuple(made)


WORKS = _works()
RATE, EPOCHS = 0.1, 1_000
POINTS = 2_000


class Functions:
    """The programs, over a module of array functions: agrad's engine, jax.numpy or torch."""

    def __init__(self, np: Any, solve: Callable[..., Any], cholesky: Callable[..., Any], data: dict[str, Any]) -> None:
        self.np, self.solve, self.cholesky, self.data = np, solve, cholesky, data

    def mlp(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The cross entropy of a network with one hidden layer."""
        np = self.np
        scores = np.tanh(self.data["images"] @ a + b) @ c + d
        return np.mean(np.log(np.sum(np.exp(scores), 1)) - np.sum(scores * self.data["labels"], 1))

    def gauss(self, width: Any, noise: Any) -> Any:
        """The negative log-likelihood of a Gaussian process."""
        np, y = self.np, self.data["seen"]
        covariance = np.exp(self.data["apart"] / (width * width)) + noise * self.data["eye"]
        factor = self.cholesky(covariance)
        return 0.5 * np.sum(y * self.solve(covariance, y)) + np.sum(np.log(np.diagonal(factor)))

    def springs(self, x: Any) -> Any:
        """The energy of a chain of springs in the plane."""
        d = x[1:] - x[:-1]
        return self.np.sum((self.np.sqrt(self.np.sum(d * d, 1)) - 0.9) ** 2)

    def lennard(self, x: Any) -> Any:
        """The energy of atoms by their distances."""
        i, j = self.data["pairs"]
        d = x[i] - x[j]
        square = self.np.sum(d * d, 1)
        s = 1.0 / (square * square * square)
        return self.np.sum(4.0 * (s * s - s))

    def logistic(self, w: Any) -> Any:
        """The mean of the negative log-likelihoods."""
        z = self.data["features"] @ w
        return self.np.mean(self.np.log(1.0 + self.np.exp(z)) - self.data["classes"] * z)

    def heat(self, flow: Any) -> Any:
        """How far a rod is from what was measured, after implicit steps with a conductivity for each cell."""
        np = self.np
        matrix = self.data["cells"] + flow[:, None] * self.data["laplace"]
        u = self.data["warm"]
        for _ in range(50):
            u = self.solve(matrix, u)
        return np.sum((u - self.data["cold"]) ** 2)

    def expm(self, a: Any) -> Any:
        """The sum of the squares of a matrix exponential, by its series and squaring."""
        scaled = a / 64.0
        term = total = self.data["small"]
        for k in range(1, 11):
            term = term @ scaled / k
            total = total + term
        for _ in range(6):
            total = total @ total
        return self.np.sum(total * total)

    def survival(self, a: Any, b: Any) -> Any:
        """The negative log-likelihood of cases that were followed, by cumulated hazards."""
        np = self.np
        hazard = 0.01 * np.exp(a + b * self.data["ages"])
        left = np.cumprod(1.0 - hazard, 0)
        return -np.mean(np.log(left)) + np.mean(np.cumsum(hazard, 0) * self.data["died"])

    def option(self, price: Any, spread: Any) -> Any:
        """The mean of what an option pays, over random paths."""
        np = self.np
        end = price * np.exp(0.02 - 0.5 * spread * spread + spread * self.data["noise"])
        return np.mean(np.where(end > 1.0, end - 1.0, 0.0 * end))

    def lotka(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        """How far hares and lynxes end from 1, by a plain loop."""

        def slope(x: Any, y: Any) -> Any:
            return a * x - b * x * y, d * x * y - c * y

        x, y, h = 1.0 + 0.0 * a, 0.5 + 0.0 * a, 0.01
        for _ in range(1_000):
            k1, l1 = slope(x, y)
            k2, l2 = slope(x + h / 2 * k1, y + h / 2 * l1)
            k3, l3 = slope(x + h / 2 * k2, y + h / 2 * l2)
            k4, l4 = slope(x + h * k3, y + h * l3)
            x, y = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
        return (x - 1) ** 2 + (y - 1) ** 2

    def branches(self, x: Any, y: Any, z: Any) -> Any:
        """A function that decides six times which of three things to do."""
        total = 0.0
        for _ in range(6):
            if x > y:
                x, y = y * 0.5 + z, self.np.sin(x)
            elif y > z:
                y = y * z - 0.1 * x
            else:
                z = z * 0.9 + x * y
            total = total + x * y
        return total


def inputs() -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """The data, and the arguments of each program."""
    import numpy as np

    rng = np.random.default_rng(0)
    at = np.linspace(0.0, 1.0, 200)
    laplace = 2.0 * np.eye(100) - np.eye(100, k=1) - np.eye(100, k=-1)
    data = {
        "images": rng.normal(size=(64, 784)),
        "labels": np.eye(10)[rng.integers(10, size=64)],
        "apart": -0.5 * (at[:, None] - at) ** 2,
        "eye": np.eye(200),
        "seen": np.sin(6 * at),
        "pairs": np.triu_indices(64, 1),
        "features": rng.normal(size=(1_000, 20)),
        "classes": (rng.random(1_000) > 0.5) * 1.0,
        "cells": np.eye(100),
        "laplace": laplace,
        "warm": np.sin(np.linspace(0.0, math.pi, 100)),
        "cold": np.zeros(100),
        "small": np.eye(20),
        "ages": rng.random(1_000),
        "died": (rng.random(1_000) > 0.5) * 1.0,
        "noise": rng.normal(size=100_000),
        "x": np.arange(50) / 49,
        "t": 2 * np.arange(50) / 49 + 1 + 0.1 * np.sin(40 * np.arange(50) / 49),
        "points": rng.normal(size=(POINTS, 3)).tolist(),
    }
    grid = np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(-1, 3) * 1.2
    layers = rng.normal(size=(784, 128)) / 28, np.zeros(128), rng.normal(size=(128, 10)) / 11, np.zeros(10)
    given: dict[str, tuple[Any, ...]] = {
        "mlp": layers,
        "gauss": (0.2, 0.1),
        "springs": (np.stack([np.arange(1_000.0), 0.1 * rng.normal(size=1_000)], 1),),
        "lennard": (grid + 0.05 * rng.normal(size=(64, 3)),),
        "logistic": (0.1 * rng.normal(size=20),),
        "heat": (0.5 + rng.random(100),),
        "expm": (rng.normal(size=(20, 20)) / 4,),
        "survival": (0.1, 0.5),
        "option": (1.0, 0.2),
        "lotka": (1.1, 0.4, 0.4, 0.1),
        "training": (0.0, 0.0),
    }
    return data, given


def agrad() -> dict[str, Case]:
    """Compiled, as users call it."""
    import llvmlite.binding  # noqa: F401 - LLVM is loaded beforehand, as jax loads it when it is imported

    import agrad.engine as ag

    data, given = inputs()
    functions = Functions(ag, ag.solve, ag.cholesky, data)

    def training(w: Any, b: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            loss = lambda w, b: ag.mean((w * data["x"] + b - data["t"]) ** 2)  # noqa: E731
            by_w, by_b = ag.grad(loss, (0, 1))(*state)
            return (state[0] - RATE * by_w, state[1] - RATE * by_b), state[0]

        (w, b), _ = ag.scan(step, (w, b), data["t"][:1].repeat(EPOCHS))
        return ag.mean((w * data["x"] + b - data["t"]) ** 2)

    def made(name: str) -> Any:
        f = training if name == "training" else getattr(functions, name)
        compiled = ag.compile(f, *given[name], wrt=() if name == "training" else None, backend="llvm")
        return compiled.value if name == "training" else compiled.value_and_grad

    def warm(name: str) -> Case:
        calls: list[Any] = []

        def call() -> Any:
            if not calls:
                calls.append(made(name))
                calls[0](*[x * 1.01 for x in given[name]])  # at other values, it is held against the function once
            return calls[0](*given[name])

        return repeated(call, numbers)

    def hessian(name: str) -> Case:
        compiled: list[Any] = []

        def call() -> Any:
            if not compiled:
                compiled.append(ag.compile(getattr(functions, name), *given[name], backend="llvm"))
            return compiled[0].hessian(*given[name])

        return repeated(call, numbers)

    def first_hessian(name: str) -> Case:
        f = getattr(functions, name)
        return once(lambda: ag.compile(f, *given[name], backend="llvm").hessian(*given[name]), numbers)

    by_branches = ag.compile(functions.branches, *data["points"][0])
    found = {name: warm(name) for name in PROGRAMS if name != "branches"}
    firsts = {f"first {name}": once(lambda name=name: made(name)(*given[name]), numbers) for name in found}
    small = lambda: ag.compile(lambda x: ag.sum(x * x), data["ages"], backend="llvm").grad(data["ages"])  # noqa: E731
    memory = {f"memory {name}": growing(lambda name=name: made(name)(*given[name]), small) for name in found}
    found |= firsts | memory
    found["branches"] = _each(data["points"], by_branches.value_and_grad)
    for name in HESSIANS:
        found[f"hessian {name}"] = hessian(name)
        found[f"first hessian {name}"] = first_hessian(name)
    held = {name: value if name in ("pairs", "points") else ag.tensor(value) for name, value in data.items()}
    found |= eager_cases(Functions(ag, ag.solve, ag.cholesky, held), ag.tensor, data["points"], given)
    return found | {"script": Case(lambda: _script(data))}


def eager_cases(
    functions: Functions, leaf: Callable[..., Any], points: list[list[float]], given: dict[str, tuple[Any, ...]]
) -> dict[str, Case]:
    """Each program as it is called, with new leaves each time, and its backward pass."""

    def derived(name: str) -> Callable[..., Any]:
        f = getattr(functions, name)

        def call(*xs: Any) -> Any:
            leaves = [leaf(x, requires_grad=True) for x in xs]
            y = f(*leaves)
            y.backward()
            return y.item(), [leaf.grad for leaf in leaves]

        return call

    def read(found: Any) -> list[float]:
        """What no path leads to has no gradient."""
        value, gradients = found
        return numbers((value, [x.numpy() for x in gradients if x is not None]))

    calls = {name: derived(name) for name in EAGER}
    made = {name: repeated(lambda name=name: calls[name](*given[name]), read) for name in EAGER if name != "branches"}
    every = lambda points: [number for point in points for number in read(point)]  # noqa: E731
    made["branches"] = _each(points, calls["branches"], every)
    return {f"eager {name}": case for name, case in made.items()}


def _each(points: list[list[float]], call: Callable[..., Any], read: Callable[..., list[float]] = numbers) -> Case:
    """The time of one point, of all of them in turn."""
    whole = repeated(lambda: [call(*point) for point in points], read)
    case = Case(lambda: 0.0)

    def run() -> float:
        seconds = whole.run()
        case.answer = whole.answer
        return seconds / len(points)

    case.run = run
    return case


def _script(data: dict[str, Any]) -> float:
    """The seconds of an epoch of a script: what many take as a whole process, beyond what none takes."""
    many = 2_000 * EPOCHS
    return (_whole(data, many) - _whole(data, 0)) / many


def _whole(data: dict[str, Any], epochs: int) -> float:
    path = SCRATCH / f"training{epochs}.ag"
    x, t = (", ".join(map(repr, data[name].tolist())) for name in ("x", "t"))
    path.write_text(
        f"x = [{x}]\nt = [{t}]\nvar w = 0\nvar b = 0\nfor epoch in range({epochs}):\n"
        f"    loss = mean((w*x + b - t)**2)\n    backward loss\n    step sgd w b lr={RATE}\n    zero_grad\n"
    )
    began = time.perf_counter()
    subprocess.run([BIN / "agrad", "run", path], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def with_loops(held: dict[str, Any]) -> dict[str, Any]:
    """The programs with loops and branches, by those of jax."""
    import jax
    import jax.numpy as jnp

    def lotka(a: Any, b: Any, c: Any, d: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            x, y, h = *state, 0.01
            slope = lambda x, y: (a * x - b * x * y, d * x * y - c * y)  # noqa: E731
            k1, l1 = slope(x, y)
            k2, l2 = slope(x + h / 2 * k1, y + h / 2 * l1)
            k3, l3 = slope(x + h / 2 * k2, y + h / 2 * l2)
            k4, l4 = slope(x + h * k3, y + h * l3)
            return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)

        x, y = jax.lax.fori_loop(0, 1_000, step, (1.0 + 0.0 * a, 0.5 + 0.0 * a))
        return (x - 1) ** 2 + (y - 1) ** 2

    def loss(w: Any, b: Any) -> Any:
        return jnp.mean((w * held["x"] + b - held["t"]) ** 2)

    def training(w: Any, b: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            slopes = jax.grad(loss, (0, 1))(*state)
            return tuple(x - RATE * by for x, by in zip(state, slopes, strict=True))

        return loss(*jax.lax.fori_loop(0, EPOCHS, step, (w, b)))

    def branches(x: Any, y: Any, z: Any) -> Any:
        total = 0.0
        for _ in range(6):
            first = lambda x, y, z: (y * 0.5 + z, jnp.sin(x), z)  # noqa: E731
            second = lambda x, y, z: (x, y * z - 0.1 * x, z)  # noqa: E731
            third = lambda x, y, z: (x, y, z * 0.9 + x * y)  # noqa: E731
            others = lambda x, y, z, s=second, t=third: jax.lax.cond(y > z, s, t, x, y, z)  # noqa: E731
            x, y, z = jax.lax.cond(x > y, first, others, x, y, z)
            total = total + x * y
        return total

    return {"lotka": lotka, "training": training, "branches": branches}


def jax() -> dict[str, Case]:
    """Jitted. The data are constants, as those of agrad's functions are."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    data, given = inputs()
    held = {name: value if name in ("pairs", "points") else jnp.asarray(value) for name, value in data.items()}
    functions = Functions(jnp, jnp.linalg.solve, jnp.linalg.cholesky, held)

    own = with_loops(held)

    def made(name: str) -> Any:
        f = own.get(name) or getattr(functions, name)
        if name == "training":
            return jax.jit(f)
        return jax.jit(jax.value_and_grad(f, tuple(range(len(given.get(name, (0, 0, 0)))))))

    def arguments(name: str) -> tuple[Any, ...]:
        return tuple(jnp.asarray(x) for x in given[name])

    def warm(name: str) -> Case:
        f, xs = made(name), arguments(name)
        return repeated(lambda: jax.block_until_ready(f(*xs)), numbers)

    def first_call(name: str) -> Any:
        return jax.block_until_ready(made(name)(*arguments(name)))

    def cold(name: str) -> Case:
        return once(lambda: first_call(name), numbers)

    found = {name: warm(name) for name in PROGRAMS if name != "branches"}
    small = lambda: jax.jit(jax.grad(lambda x: jnp.sum(x * x)))(held["ages"])  # noqa: E731
    grown = {f"memory {name}": growing(lambda name=name: first_call(name), small) for name in found}
    found |= {f"first {name}": cold(name) for name in found} | grown
    by_branches = made("branches")
    found["branches"] = _each(data["points"], lambda *xs: jax.block_until_ready(by_branches(*xs)))
    for name in HESSIANS:
        f, xs = jax.jit(jax.hessian(getattr(functions, name))), arguments(name)
        found[f"hessian {name}"] = repeated(lambda f=f, xs=xs: jax.block_until_ready(f(*xs)), numbers)
        make = lambda name=name: jax.jit(jax.hessian(getattr(functions, name)))  # noqa: E731
        first = lambda make=make, xs=xs: jax.block_until_ready(make()(*xs))  # noqa: E731
        found[f"first hessian {name}"] = once(first, numbers)
    trained = made("training")
    loop = repeated(lambda: jax.block_until_ready(trained(0.0, 0.0)))
    return found | {"script": Case(lambda: loop.run() / EPOCHS)}


def torch() -> dict[str, Case]:
    """Eager, on one thread; Hessians by torch.func."""
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    data, given = inputs()
    held = {name: value if name in ("pairs", "points") else torch.tensor(value) for name, value in data.items()}
    held["pairs"] = tuple(map(torch.tensor, data["pairs"]))
    functions = Functions(torch, torch.linalg.solve, torch.linalg.cholesky, held)

    def derived(name: str) -> Callable[..., Any]:
        f = getattr(functions, name)

        def call(*xs: Any) -> Any:
            leaves = [torch.tensor(x, requires_grad=True) for x in xs]
            y = f(*leaves)
            return y.detach(), list(torch.autograd.grad(y, leaves, allow_unused=True, materialize_grads=True))

        return call

    found = {
        name: repeated(lambda name=name: derived(name)(*given[name]), numbers)
        for name in PROGRAMS
        if name not in ("branches", "lotka", "training")
    }
    found["branches"] = _each(data["points"], derived("branches"))
    for name in HESSIANS:
        f, x = torch.func.hessian(getattr(functions, name)), torch.tensor(given[name][0])
        found[f"hessian {name}"] = repeated(lambda f=f, x=x: f(x), numbers)
    return found | eager_cases(functions, torch.tensor, data["points"], given)


if __name__ == "__main__":
    serve({"agrad": agrad, "jax": jax, "torch": torch})
