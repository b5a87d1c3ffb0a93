"""Functions of arrays: value and gradient, or the Jacobian, compiled beside jax.jit and casadi, eager beside torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from harness import Case, Work, numbers, repeated, serve

EAGER = (  # what `programs` has is not here
    ("regression, 100,000 points, value and gradient", "regression 100000"),
    ("a curve with exp and tanh, 100,000 points", "curve 100000"),
    ("logistic regression, 100,000x20", "logistic 100000"),
    ("Rosenbrock of 1,000 entries", "rosenbrock 1000"),
    ("mixture of 5 normals, 1,000x10", "mixture"),
    ("determinant 8x8 of an array, by minors", "determinant"),
    ("robot arm of 6 joints, Jacobian", "arm"),
    ("bundle adjustment, Jacobian of one observation", "bundle"),
    ("Lotka-Volterra by Runge-Kutta, 1,000 steps of an array", "lotka_array"),
    ("likelihood of a Kalman filter, 200 steps", "kalman"),
    ("a recurrent network of 16 units, 100 steps", "recurrent"),
)
WORKS = (
    Work("regression, 100,000 points, value and gradient", "regression 100000", {"jax": 0.2}, threads=1, mean="call"),
    Work("the same, 1,000 points", "regression 1000", {"jax": 1.0}, threads=1, mean="call"),
    Work("a curve with exp and tanh, 100,000 points", "curve 100000", {"jax": 1.0}, threads=1, mean="call"),
    Work("logistic regression, 1,000x20", "logistic 1000", {"jax": 1.0}, threads=1, mean="call"),
    Work("logistic regression, 100,000x20", "logistic 100000", {"jax": 1.0}, threads=1, mean="call"),
    Work("Rosenbrock of 1,000 entries", "rosenbrock 1000", {"jax": 1.0}, threads=1, mean="call"),
    Work("mixture of 5 normals, 1,000x10", "mixture", {"jax": 1.0}, threads=1, mean="call"),
    Work("determinant 8x8 of an array, by minors", "determinant", {"casadi": 0.15}, threads=1),
    Work("robot arm of 6 joints, Jacobian", "arm", {"jax": 0.1, "casadi": 0.3}, threads=1, mean="call"),
    Work("bundle adjustment, Jacobian of one observation", "bundle", {"jax": 1.0}, threads=1, mean="call"),
    Work("Lotka-Volterra by Runge-Kutta, 1,000 steps of two numbers", "lotka", {"jax": 0.1}, threads=1, mean="call"),
    Work("the same, of an array", "lotka_array", {"jax": 0.1}, threads=1, mean="call"),
    Work("likelihood of a Kalman filter, 200 steps", "kalman", {"jax": 0.05}, threads=1, mean="call"),
    Work("a recurrent network of 16 units, 100 steps", "recurrent", {"jax": 1.0}, threads=1, mean="call"),
    *[
        Work(f"{title}, eager", f"eager {case}", {"torch": None}, rounds=9, threads=1, mean="eager")
        for title, case in EAGER
    ],
)
JOINTS = ((0, 0.4, math.pi / 2), (0.5, 0, 0), (0.3, 0.1, math.pi / 2), (0, 0.4, -math.pi / 2), (0, 0, math.pi / 2))
JOINTS += ((0, 0.2, 0),)


class Functions:
    """The functions, over a module of array functions: agrad's engine, jax.numpy or casadi."""

    def __init__(self, np: Any, softplus: Callable[[Any], Any], scan: Callable[..., Any] | None = None) -> None:
        self.np, self.softplus, self.scan = np, softplus, scan

    def regression(self, w: Any, b: Any, x: Any, t: Any) -> Any:
        """The mean squared error of a line."""
        return self.np.mean((w * x + b - t) ** 2)

    def curve(self, a: Any, b: Any, x: Any, t: Any) -> Any:
        """The same of a curve."""
        return self.np.mean((a * self.np.exp(-b * x) + 0.3 * self.np.tanh(x * b) - t) ** 2)

    def logistic(self, w: Any, x: Any, y: Any) -> Any:
        """The mean of the negative log-likelihoods."""
        z = x @ w
        return self.np.mean(self.softplus(z) - y * z)

    def rosenbrock(self, x: Any) -> Any:
        """Its sum over neighbours."""
        return self.np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def mixture(self, means: Any, scales: Any, z: Any) -> Any:
        """A likelihood of points by the distances from some means."""
        apart = self.np.sum(((z[:, None, :] - means) * scales) ** 2, axis=2)
        return self.np.sum(self.np.log(self.np.sum(self.np.exp(-0.05 * apart), axis=1)))

    def determinant(self, a: Any) -> Any:
        """By minors, each computed once."""
        known: dict[Any, Any] = {}

        def minor(i: int, columns: tuple[int, ...]) -> Any:
            if len(columns) == 1:
                return a[i, columns[0]]
            if columns not in known:
                total = None
                for k, j in enumerate(columns):
                    term = a[i, j] * minor(i + 1, columns[:k] + columns[k + 1 :])
                    total = term if total is None else total - term if k % 2 else total + term
                known[columns] = total
            return known[columns]

        return minor(0, tuple(range(8)))

    def arm(self, q: Any) -> Any:
        """Where a robot's arm ends."""
        turned: Any = None
        for i, (a, d, alpha) in enumerate(JOINTS):
            c, s = self.np.cos(q[i]), self.np.sin(q[i])
            ca, sa, zero, one = math.cos(alpha), math.sin(alpha), 0.0 * c, 0.0 * c + 1.0
            rows = ([c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [zero, sa * one, ca * one, d * one])
            link = self.np.stack([self.np.stack(row) for row in (*rows, [zero, zero, zero, one])])
            turned = link if turned is None else turned @ link
        return turned[:3, 3]

    def bundle(self, camera: Any, point: Any) -> Any:
        """A point as a camera sees it: rotated, moved, projected, distorted."""
        np, w, t, (f, k1, k2) = self.np, camera[:3], camera[3:6], (camera[6], camera[7], camera[8])
        angle = np.sqrt(np.sum(w * w))
        v, c, s = w / angle, np.cos(angle), np.sin(angle)
        crossed = np.stack([v[i] * point[j] - v[j] * point[i] for i, j in ((1, 2), (2, 0), (0, 1))])
        seen = point * c + crossed * s + v * (np.sum(v * point) * (1 - c)) + t
        flat = seen[:2] / seen[2]
        square = np.sum(flat * flat)
        return f * (1 + k1 * square + k2 * square * square) * flat

    def lotka(self, a: Any, b: Any, c: Any, d: Any, food: Any) -> Any:
        """How far hares and lynxes end from 1, with a little food at each step."""

        def slope(x: Any, y: Any) -> Any:
            return a * x - b * x * y, d * x * y - c * y

        def step(state: Any, extra: Any) -> Any:
            x, y, h = *state, 0.01
            k1, l1 = slope(x, y)
            k2, l2 = slope(x + h / 2 * k1, y + h / 2 * l1)
            k3, l3 = slope(x + h / 2 * k2, y + h / 2 * l2)
            k4, l4 = slope(x + h * k3, y + h * l3)
            return (x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4) + extra, y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)), x

        (x, y), _ = self.scan(step, (1.0, 0.5), food)
        return (x - 1) ** 2 + (y - 1) ** 2

    def lotka_array(self, rates: Any, start: Any, food: Any) -> Any:
        """The same, with the state and the rates in arrays."""

        def slope(z: Any) -> Any:
            both = z[0] * z[1]
            return self.np.stack([rates[0] * z[0] - rates[1] * both, rates[3] * both - rates[2] * z[1]])

        def step(z: Any, extra: Any) -> Any:
            h = 0.01
            k1 = slope(z)
            k2 = slope(z + h / 2 * k1)
            k3 = slope(z + h / 2 * k2)
            k4 = slope(z + h * k3)
            return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4) + extra, z[0]

        last, _ = self.scan(step, start, food)
        return self.np.sum((last - 1.0) ** 2)

    def kalman(self, noise: Any, turn: Any, seen: Any) -> Any:
        """The negative log-likelihood of places that are seen, of something that moves, by a filter of two numbers."""
        np = self.np
        zero, one = 0.0 * noise, 0.0 * noise + 1.0
        move = np.stack([np.stack([one, turn]), np.stack([zero, one])])
        shaken = np.stack([np.stack([noise, zero]), np.stack([zero, 0.1 * noise])])

        def step(state: Any, place: Any) -> Any:
            mean, spread = state
            mean, spread = move @ mean, move @ spread @ move.T + shaken
            whole = spread[0, 0] + 0.5
            apart, gain = place - mean[0], spread[:, 0] / whole
            kept = spread - np.stack([gain[0] * spread[0], gain[1] * spread[0]])
            return (mean + gain * apart, kept), np.log(whole) + apart * apart / whole

        start = (np.stack([zero, zero]), np.stack([np.stack([one, zero]), np.stack([zero, one])]))
        _, terms = self.scan(step, start, seen)
        return 0.5 * np.sum(terms)

    def recurrent(self, inner: Any, outer: Any, given: Any) -> Any:
        """The mean square of the states of a network that reads some numbers at each step."""

        def step(state: Any, x: Any) -> Any:
            state = self.np.tanh(inner @ state + outer @ x)
            return state, self.np.sum(state * state)

        _, terms = self.scan(step, self.np.sum(0.0 * inner, axis=1), given)
        return self.np.mean(terms)


def works() -> dict[str, tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
    """For each case the function, its parameters, and its data."""
    import numpy as np

    rng = np.random.default_rng(0)
    found: dict[str, tuple[str, tuple[Any, ...], tuple[Any, ...]]] = {}
    for n in (1_000, 100_000):
        x = np.arange(n) / (n - 1)
        found[f"regression {n}"] = "regression", (0.3, 0.1), (x, 2 * x + 1 + 0.1 * np.sin(40 * x))
        found[f"curve {n}"] = "curve", (0.3, 0.1), (x, 2 * x + 1 + 0.1 * np.sin(40 * x))
        labels = (rng.random(n) > 0.5) * 1.0
        found[f"logistic {n}"] = "logistic", (rng.normal(size=20),), (rng.normal(size=(n, 20)), labels)
    found["rosenbrock 1000"] = "rosenbrock", (rng.normal(size=1_000),), ()
    found["mixture"] = "mixture", (rng.normal(size=(5, 10)), rng.normal(size=(5, 10))), (rng.normal(size=(1000, 10)),)
    found["determinant"] = "determinant", (rng.normal(size=(8, 8)),), ()
    found["arm"] = "arm", (rng.normal(size=6),), ()
    camera = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 3.0, 500.0, 0.01, 0.001])
    found["bundle"] = "bundle", (camera, np.array([0.3, 0.2, 1.0])), ()
    food = 0.001 * np.sin(np.arange(1_000))
    found["lotka"] = "lotka", (1.1, 0.4, 0.4, 0.1), (food,)
    found["lotka_array"] = "lotka_array", (np.array([1.1, 0.4, 0.4, 0.1]), np.array([1.0, 0.5])), (food,)
    found["kalman"] = "kalman", (0.2, 0.9), (np.cumsum(rng.normal(size=200)),)
    weights = rng.normal(size=(16, 16)) / 4, rng.normal(size=(16, 8)) / 4
    found["recurrent"] = "recurrent", weights, (rng.normal(size=(100, 8)),)
    return found


OF_ARRAYS = ("arm", "bundle")  # of which the Jacobian is computed


def agrad() -> dict[str, Case]:
    """Compiled for machine code."""
    import agrad.engine as ag

    functions = Functions(ag, ag.softplus, ag.scan)

    def case(name: str, given: tuple[Any, ...], data: tuple[Any, ...]) -> Case:
        f, made = getattr(functions, name), list[Any]()

        def call() -> Any:
            if not made:
                compiled = ag.compile(lambda *xs: f(*xs, *data), *given, backend="llvm")
                made.append(compiled.jacobian if name in OF_ARRAYS else compiled.value_and_grad)
                made[0](*[x * 1.5 for x in given])  # at other values, it is held against the function once
            return made[0](*given)

        return repeated(call, numbers)

    def jacobian(f: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        return ag.jacobian(f, tuple(range(len(given))))(*given)

    eager = eager_cases(Functions(ag, ag.softplus, looped(ag.stack)), ag.tensor, jacobian)
    return {key: case(*one) for key, one in works().items()} | eager


def looped(stack: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """A scan as a plain loop."""

    def scan(step: Callable[..., Any], state: Any, rows: Any) -> tuple[Any, Any]:
        found = []
        for row in rows:
            state, one = step(state, row)
            found.append(one)
        return state, stack(found)

    return scan


def eager_cases(functions: Functions, leaf: Callable[..., Any], jacobian: Callable[..., Any]) -> dict[str, Case]:
    """Each function as it is called, with new leaves each time, and its backward pass."""

    def case(name: str, given: tuple[Any, ...], data: tuple[Any, ...]) -> Case:
        f, held = getattr(functions, name), [leaf(x) for x in data]
        if name in OF_ARRAYS:
            return repeated(lambda: jacobian(f, given), numbers)

        def call() -> Any:
            leaves = [leaf(x, requires_grad=True) for x in given]
            y = f(*leaves, *held)
            y.backward()
            return y.item(), *[leaf.grad for leaf in leaves]

        return repeated(call, numbers)

    found = works()
    return {f"eager {key}": case(*found[key]) for _, key in EAGER}


def torch() -> dict[str, Case]:
    """Eager, on one thread."""
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)

    def jacobian(f: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        return torch.autograd.functional.jacobian(f, tuple(map(torch.tensor, given)))

    return eager_cases(Functions(torch, torch.nn.functional.softplus, looped(torch.stack)), torch.tensor, jacobian)


def jax() -> dict[str, Case]:
    """Jitted, with the data as arguments."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    functions = Functions(jnp, jax.nn.softplus, jax.lax.scan)

    def case(name: str, given: tuple[Any, ...], data: tuple[Any, ...]) -> Case:
        f = getattr(functions, name)
        derive = jax.jacfwd if name in OF_ARRAYS else jax.value_and_grad
        made = jax.jit(lambda xs, data: derive(lambda xs: f(*xs, *data))(xs))
        xs, held = tuple(map(jnp.asarray, given)), tuple(map(jnp.asarray, data))
        return repeated(lambda: jax.block_until_ready(made(xs, held)), numbers)

    return {key: case(*one) for key, one in works().items() if one[0] != "determinant"}


def casadi() -> dict[str, Case]:
    """SX functions, called as one does from Python."""
    import casadi

    class Names:
        """casadi's functions by the names that the others have."""

        cos, sin = casadi.cos, casadi.sin

        @staticmethod
        def stack(parts: list[Any]) -> Any:
            """A row of numbers, or a matrix of rows."""
            rows = isinstance(parts[0], casadi.SX) and parts[0].numel() > 1
            return casadi.vertcat(*parts) if rows else casadi.horzcat(*parts)

    functions, given = Functions(Names, casadi.exp), works()
    matrix, q = casadi.SX.sym("a", 8, 8), casadi.SX.sym("q", 6)
    y = casadi.cse(functions.determinant(matrix))
    by_minors = casadi.Function("f", [matrix], [y, casadi.gradient(y, matrix)])
    arm = casadi.Function("g", [q], [casadi.jacobian(functions.arm(q), q)])
    a, joints = (casadi.DM(given[name][1][0]) for name in ("determinant", "arm"))
    return {
        "determinant": repeated(lambda: by_minors(a), lambda r: [float(r[0]), *r[1].full().ravel().tolist()]),
        "arm": repeated(lambda: arm(joints), lambda r: r.full().ravel().tolist()),
    }


if __name__ == "__main__":
    serve({"agrad": agrad, "jax": jax, "casadi": casadi, "torch": torch})
