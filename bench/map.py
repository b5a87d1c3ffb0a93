"""A function and its gradient over columns in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Case, Work, once, repeated, serve

WORKS = (
    Work(
        "`map`, x**2 + y**3 - sin(x*y) and gradient, 10,000,000 rows, into given arrays",
        "seed into",
        {"jax": 0.15, "torch": None, "numexpr": None},
        rounds=7,
    ),
    Work("the same, into new arrays", "seed", {"jax": 0.15}, rounds=7),
    Work(
        "`map`, 30 operations with exp, log, tanh, sqrt, pow, and gradient, 1,000,000 rows",
        "thirty",
        {"jax": 0.3},
    ),
    Work("first `map` call with compilation, 1,000 rows", "first", {"jax": 0.1}, rounds=5, first=True),
)
MANY = 10_000_000


def columns(n: int) -> tuple[Any, Any]:
    """Two columns of numbers between 0.5 and 2."""
    import numpy as np

    made = np.random.default_rng(1)
    return made.uniform(0.5, 2.0, n), made.uniform(0.5, 2.0, n)


def seed(sin: Callable[..., Any], x: Any, y: Any) -> Any:
    """Eight operations."""
    return x**2 + y**3 - sin(x * y)


def thirty(of: Any, x: Any, y: Any) -> Any:
    """Thirty operations, of a module that knows the functions."""
    a = of.exp(-x * y) + of.sqrt(x + y)
    b = of.tanh(a * x - y) * of.log(1.0 + x * x)
    c = (x + 2.0 * y) ** 1.5 / (1.0 + of.exp(-a))
    d = of.sqrt(1.0 + b * b) - of.log(y + a * a)
    e = of.tanh(c - d) + x**y
    return a * b + c * d - e / (1.0 + x)


def read(result: Any) -> list[float]:
    """A few entries of the value and of both derivatives."""
    value, (by_x, by_y) = result
    return [float(column[row]) for column in (value, by_x, by_y) for row in (0, 1, -1)]


def agrad() -> dict[str, Case]:
    """Compiled by whatever backend is best here."""
    import numpy as np

    import agrad.engine as ag

    functions = {"seed": partial(seed, ag.sin), "thirty": partial(thirty, ag)}
    compiled: dict[str, Any] = {}

    def mapped(name: str, x: Any, y: Any, out: Any = None) -> Any:
        if name not in compiled:
            compiled[name] = ag.compile(functions[name], 1.0, 1.0)
        return compiled[name].map(x, y) if out is None else compiled[name].map(x, y, out=out)

    def case(name: str, n: int, given: bool = False) -> Case:
        data: list[Any] = []

        def action() -> Any:
            if not data:
                data.extend(columns(n))
                data.append((np.ones(n), [np.ones(n), np.ones(n)]) if given else None)
            return mapped(name, *data)

        return repeated(action, read)

    few = columns(1000)
    warm = ag.compile(lambda x: x * x, 1.0) if hasattr(ag, "compile") else None

    def first() -> Any:
        return ag.compile(functions["seed"], 1.0, 1.0).map(*few)

    if warm is not None:
        warm.map(few[0])  # what a process pays once is not what a function costs
    return {
        "seed into": case("seed", MANY, given=True),
        "seed": case("seed", MANY),
        "thirty": case("thirty", MANY // 10),
        "first": once(first, read),
    }


def jax() -> dict[str, Case]:
    """jit of vmap of value_and_grad, on all cores."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_enable_x64", True)

    class Functions:
        exp, log, tanh, sqrt = jnp.exp, jnp.log, jnp.tanh, jnp.sqrt

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        both = jax.jit(jax.vmap(jax.value_and_grad(function, argnums=(0, 1))))
        return lambda x, y: jax.block_until_ready(both(x, y))

    def case(function: Callable[..., Any], n: int) -> Case:
        data: list[Any] = []

        def action() -> Any:
            if not data:
                data.extend(jnp.asarray(column) for column in columns(n))
            return both(*data)

        both = made(function)
        return repeated(action, lambda result: read(jax.tree.map(np.asarray, result)))

    by_sin = partial(seed, jnp.sin)
    few = [jnp.asarray(column) for column in columns(1000)]
    made(lambda x, y: x * y)(*few)
    first = made(by_sin)
    large = case(by_sin, MANY)
    return {
        "seed into": large,
        "seed": large,
        "thirty": case(partial(thirty, Functions), MANY // 10),
        "first": once(lambda: first(*few), lambda result: read(jax.tree.map(np.asarray, result))),
    }


def torch() -> dict[str, Case]:
    """Eager, on all cores."""
    import torch

    data: list[Any] = []

    def action() -> Any:
        if not data:
            data.extend(torch.from_numpy(column).requires_grad_() for column in columns(MANY))
        x, y = data
        x.grad = y.grad = None
        value = seed(torch.sin, x, y)
        value.sum().backward()
        return value.detach(), (x.grad, y.grad)

    return {"seed into": repeated(action, read)}


def numexpr() -> dict[str, Case]:
    """The value and both derivatives, written by hand, on all cores."""
    import numexpr

    numexpr.set_num_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    texts = ("x**2 + y**3 - sin(x*y)", "2*x - y*cos(x*y)", "3*y**2 - x*cos(x*y)")
    names: dict[str, Any] = {}

    def action() -> Any:
        if not names:
            names["x"], names["y"] = columns(MANY)
        value, *gradient = (numexpr.evaluate(text, local_dict=names) for text in texts)
        return value, gradient

    return {"seed into": repeated(action, read)}


if __name__ == "__main__":
    serve({"agrad": agrad, "jax": jax, "torch": torch, "numexpr": numexpr})
