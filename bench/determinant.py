"""The determinant of a matrix of scalars, by minors: built and walked each time, and compiled once and called again."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Case, Work, once, repeated, serve

WORKS = (
    Work("5x5 determinant of scalars, build + backward, eager", "eager 5", {"micrograd": 0.45, "torch": 0.20}),
    Work("the same, 3x3", "eager 3", {"micrograd": 0.55}),
    Work("the same, 6x6", "eager 6", {"micrograd": 0.55}),
    Work("5x5 determinant, new leaves each time", "new 5", {"micrograd": 0.45}),
    Work("the same, 3x3", "new 3", {"micrograd": 0.60}),
    Work("8x8 determinant, value and gradient, llvm", "native 8", {"casadi": 0.05, "casadi, by its buffers": None}),
    Work("3x3 determinant, value and gradient, llvm", "native 3", {"jax": 0.2}),
    Work("5x5 determinant, value and gradient, python backend", "python 5", {"torch": 0.03}),
    Work("5x5 determinant, compile and first call", "first 5", {"jax": 0.05}, rounds=5, first=True),
)


def entries(n: int) -> list[float]:
    """The matrix, row after row."""
    made = random.Random(n)
    return [made.uniform(-1.0, 1.0) for _ in range(n * n)]


def rows(n: int, flat: Any) -> list[list[Any]]:
    """The rows of a matrix."""
    return [[flat[n * i + j] for j in range(n)] for i in range(n)]


def minors(matrix: list[list[Any]]) -> Any:
    """The determinant, by the first row, and so on in what is left."""
    return _minors(matrix, 0, tuple(range(len(matrix))))


def _minors(matrix: list[list[Any]], i: int, columns: tuple[int, ...]) -> Any:
    row = matrix[i]
    if len(columns) == 2:
        j, k = columns
        below = matrix[i + 1]
        return row[j] * below[k] - row[k] * below[j]
    total = None
    for at, j in enumerate(columns):
        term = row[j] * _minors(matrix, i + 1, columns[:at] + columns[at + 1 :])
        total = term if total is None else total - term if at % 2 else total + term
    return total


def determinant(n: int, *flat: Any) -> Any:
    """The same, of the entries one by one."""
    return minors(rows(n, flat))


def agrad() -> dict[str, Case]:
    """Tensors that are scalars, and the same function compiled."""
    import agrad.engine as ag

    entries_of = {n: entries(n) for n in (3, 5)}

    def eager(n: int) -> Case:
        flat = [ag.tensor(x, requires_grad=True) for x in entries(n)]
        matrix = rows(n, flat)

        def step() -> Any:
            for x in flat:
                x.grad = None
            y = minors(matrix)
            y.backward()
            return y

        return repeated(step, lambda y: (y.item(), *(x.grad.item() for x in flat)))

    def new(n: int) -> Case:
        def step() -> Any:
            flat = [ag.tensor(x, requires_grad=True) for x in entries_of[n]]
            y = minors(rows(n, flat))
            y.backward()
            return y, flat

        return repeated(step, lambda made: (made[0].item(), *(x.grad.item() for x in made[1])))

    def compiled(n: int, backend: str) -> Case:
        flat = entries(n)
        made: Any = None

        def call() -> Any:
            nonlocal made
            if made is None:
                made = ag.compile(partial(determinant, n), *flat, backend=backend)
            return made.value_and_grad(*flat)

        return repeated(call, flattened)

    def first() -> Any:
        return ag.compile(partial(determinant, 5), *entries(5)).value_and_grad(*entries(5))

    def started() -> Any:  # what a process pays once is not what a function costs
        return ag.compile(lambda x: x * x, 2.0).value_and_grad(2.0)

    return {
        **{f"eager {n}": eager(n) for n in (3, 5, 6)},
        **{f"new {n}": new(n) for n in (3, 5)},
        "native 8": compiled(8, "llvm"),
        "native 3": compiled(3, "llvm"),
        "python 5": compiled(5, "python"),
        "first 5": after(started, once(first, flattened)),
    }


def micrograd() -> dict[str, Case]:
    """Values."""
    from micrograd.engine import Value

    entries_of = {n: entries(n) for n in (3, 5)}

    def eager(n: int) -> Case:
        flat = [Value(x) for x in entries(n)]
        matrix = rows(n, flat)

        def step() -> Any:
            for x in flat:
                x.grad = 0
            y = minors(matrix)
            y.backward()
            return y

        return repeated(step, lambda y: (y.data, *(x.grad for x in flat)))

    def new(n: int) -> Case:
        def step() -> Any:
            flat = [Value(x) for x in entries_of[n]]
            y = minors(rows(n, flat))
            y.backward()
            return y, flat

        return repeated(step, lambda made: (made[0].data, *(x.grad for x in made[1])))

    return {f"eager {n}": eager(n) for n in (3, 5, 6)} | {f"new {n}": new(n) for n in (3, 5)}


def torch() -> dict[str, Case]:
    """Tensors of no dimension."""
    import torch

    flat = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in entries(5)]
    matrix = rows(5, flat)

    def step() -> Any:
        for x in flat:
            x.grad = None
        y = minors(matrix)
        y.backward()
        return y

    case = repeated(step, lambda y: (y.item(), *(x.grad.item() for x in flat)))
    return {"eager 5": case, "python 5": case}


def jax() -> dict[str, Case]:
    """A jitted function of a matrix."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    made = jax.jit(jax.value_and_grad(lambda matrix: minors([list(row) for row in matrix])))
    three, five = (jnp.array(entries(n)).reshape(n, n) for n in (3, 5))
    first = jax.jit(jax.value_and_grad(lambda matrix: minors([list(row) for row in matrix])))
    started = jax.jit(jax.value_and_grad(lambda x: x * x))

    def read(result: Any) -> list[float]:
        return [float(result[0]), *(float(x) for x in result[1].ravel())]

    return {
        "native 3": repeated(lambda: jax.block_until_ready(made(three)), read),
        "first 5": after(
            lambda: jax.block_until_ready(started(2.0)), once(lambda: jax.block_until_ready(first(five)), read)
        ),
    }


def casadi() -> dict[str, Case]:
    """An SX function of a vector, called as one does from Python, on a matrix of casadi's own."""
    import casadi

    function = _casadi(8)
    flat = casadi.DM(entries(8))

    def read(result: Any) -> list[float]:
        return [float(result[0]), *(float(x) for x in result[1].full().ravel())]

    return {"native 8": repeated(lambda: function(flat), read)}


def casadi_buffers() -> dict[str, Case]:
    """The same function, called on memory that was given to it before: the shortest way there is."""
    import numpy as np

    function = _casadi(8)
    flat, value, gradient = np.array(entries(8)), np.zeros(1), np.zeros(64)
    buffer, call = function.buffer()
    buffer.set_arg(0, memoryview(flat))
    buffer.set_res(0, memoryview(value))
    buffer.set_res(1, memoryview(gradient))
    kept = (buffer, flat)  # which the call does not keep itself
    return {"native 8": repeated(lambda: kept and call(), lambda _: (*value, *gradient))}


def _casadi(n: int) -> Any:
    import casadi

    x = casadi.SX.sym("x", n * n)
    y = casadi.cse(minors(rows(n, casadi.vertsplit(x))))  # before the gradient: after it, 40 times as much is left
    return casadi.Function("f", [x], [y, casadi.gradient(y, x)])


def after(start: Callable[[], object], case: Case) -> Case:
    """A case that begins once something else has been done."""
    run = case.run

    def started() -> float:
        start()
        return run()

    case.run = started
    return case


def flattened(result: Any) -> list[float]:
    """A value, and the gradient by each entry."""
    value, gradients = result
    return [float(value), *(float(x) for x in gradients)]


if __name__ == "__main__":
    serve(
        {
            "agrad": agrad,
            "micrograd": micrograd,
            "torch": torch,
            "jax": jax,
            "casadi": casadi,
            "casadi, by its buffers": casadi_buffers,
        }
    )
