"""The Hessian of the Rosenbrock function of a hundred numbers, a chain of couplings."""

from __future__ import annotations

from typing import Any

from harness import Case, Work, repeated, serve

WORKS = (
    Work("Hessian of the 100-dimensional Rosenbrock function, compiled", "rosenbrock", {"casadi": 1.0, "jax": 0.6}),
)
SIZE = 100


def start() -> list[float]:
    """Where it is asked for."""
    return [1.0 + 0.01 * (i % 7) for i in range(SIZE)]


def rosenbrock(x: Any) -> Any:
    """By slices of a vector."""
    a, b = x[:-1], x[1:]
    return (100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2).sum()


def read(matrix: Any) -> list[float]:
    """The entries around two corners."""
    return [float(matrix[i][j]) for i in (0, 1, SIZE - 1) for j in (0, 1, SIZE - 1)]


def agrad() -> dict[str, Case]:
    """Compiled for a vector."""
    import numpy as np

    import agrad.engine as ag

    x = np.array(start())
    compiled: list[Any] = []

    def action() -> Any:
        if not compiled:
            compiled.append(ag.compile(rosenbrock, x))
        return compiled[0].hessian(x)

    return {"rosenbrock": repeated(action, read)}


def jax() -> dict[str, Case]:
    """jit of hessian."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    x = jnp.array(start())
    made = jax.jit(jax.hessian(rosenbrock))
    return {"rosenbrock": repeated(lambda: jax.block_until_ready(made(x)), lambda found: read(np.asarray(found)))}


def casadi() -> dict[str, Case]:
    """An SX function that gives a sparse matrix, called as one does from Python, on a matrix of its own."""
    import casadi

    x = casadi.SX.sym("x", SIZE)
    a, b = x[:-1], x[1:]
    y = casadi.sum1(100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2)
    function = casadi.Function("h", [x], [casadi.hessian(y, x)[0]])
    at = casadi.DM(start())
    return {"rosenbrock": repeated(lambda: function(at), lambda found: read(found.full()))}


if __name__ == "__main__":
    serve({"agrad": agrad, "jax": jax, "casadi": casadi})
