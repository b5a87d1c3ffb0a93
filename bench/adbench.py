"""ADBench's objectives and CppAD's speed tests, written for what the modules of array functions have in common.

Hand tracking, mixtures of normals, bundle adjustment and a filter are as in ADBench (github.com/microsoft/ADBench),
with data drawn here; polynomials, determinants and sparse Hessians as in CppAD (cppad.readthedocs.io, "speed"), at
sizes that grow. agrad chooses its way by itself, and is called as often before it is timed as its peers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness import Case, Work, numbers, once, repeated, serve

GMM = ((1_000, 2, 5), (1_000, 2, 25), (1_000, 32, 5), (10_000, 10, 5))  # points, dimensions, normals
TERMS = (100, 1_000, 10_000)
CHAINS = (100, 300, 1_000)
WARM = 20  # calls before the first that is timed
WORKS = (
    Work("hand tracking, Jacobian 300x26", "hand", {"jax": 3.0}, threads=1),
    *[Work(f"mixture of {k} normals, {n:,}x{d}", f"gmm {n} {d} {k}", {"jax": 1.0}, threads=1) for n, d, k in GMM],
    Work("the same by logsumexp of stacked terms", "stacked", {"jax": 1.0}, threads=1),
    Work("Kalman filter of 4x4 matrices, a plain loop of 200 steps", "kalman", {"jax": 0.3}, threads=1),
    Work("the same, compile and first call", "first kalman", {"jax": 1.5}, rounds=3, first=True, threads=1),
    Work("determinant 7x7 by minors", "minors", {"jax": 0.2}, threads=1),
    *[Work(f"polynomial of {n:,} terms", f"polynomial {n}", {"casadi": 1.0}, threads=1) for n in TERMS],
    *[Work(f"Hessian of a chain of {n:,}", f"chain {n}", {"casadi": None}, threads=1) for n in CHAINS],
)
PARENTS = (-1, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 13, 14, 15, 0, 17, 18, 19, 0)  # of the bones of a hand


class Functions:
    """The objectives, over a module of array functions, and its ways to factorise."""

    def __init__(self, np: Any, solve: Callable[..., Any], slogdet: Callable[..., Any]) -> None:
        self.np, self.solve, self.slogdet = np, solve, slogdet

    def turned(self, axis: int, angle: Any) -> Any:
        """The matrix that turns about an axis."""
        np, c, s = self.np, self.np.cos(angle), self.np.sin(angle)
        zero, one = 0.0 * c, 0.0 * c + 1.0
        i, j = (axis + 1) % 3, (axis + 2) % 3
        rows = [[one if x == y == axis or x == y == 3 else zero for y in range(4)] for x in range(4)]
        rows[i][i], rows[i][j], rows[j][i], rows[j][j] = c, -s, s, c
        return np.stack([np.stack(row) for row in rows])

    def hand(self, theta: Any, bones: Any, skin: Any, weights: Any, seen: Any) -> Any:
        """How far points of a skin, which follows the bones as these turn, are from where they are seen."""
        np, absolute = self.np, list[Any]()
        for bone, parent in enumerate(PARENTS):
            finger, joint = divmod(max(bone - 1, 0), 4)
            own = bones[bone] @ self.turned(0, theta[6 + 4 * min(finger, 4) + joint])
            if joint == 0:
                own = own @ self.turned(2, theta[min(finger, 2)])
            absolute.append(own if parent < 0 else absolute[parent] @ own)
        placed = np.stack([one @ skin for one in absolute])
        found = np.sum(weights[:, None, :] * placed, axis=0)
        return np.reshape(found[:3].T + theta[3:6] - seen, (-1,))

    def gmm(self, alphas: Any, means: Any, scales: Any, lower: Any, x: Any, mask: Any) -> Any:
        """The likelihood of points under normals, whose precisions are given by their triangular factors."""
        np, factors = self.np, lower * mask
        apart = x[:, None, :] - means
        z = np.exp(scales) * apart + np.einsum("ijk,mik->mij", factors, apart)
        terms = alphas + np.sum(scales, axis=1) - 0.5 * np.sum(z * z, axis=2)
        top = np.max(terms, axis=1)
        found = np.sum(top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1)))
        return found - len(x) * np.log(np.sum(np.exp(alphas))) - 0.5 * np.sum(np.exp(2.0 * scales)) - np.sum(factors**2)

    def stacked(self, alphas: Any, means: Any, x: Any) -> Any:
        """The same of round normals, each written out by itself."""
        np = self.np
        terms = np.stack([alphas[k] - 0.5 * np.sum((x - means[k]) ** 2, axis=1) for k in range(5)])
        top = np.max(terms, axis=0)
        return np.sum(top + np.log(np.sum(np.exp(terms - top), axis=0)))

    def step(self, state: Any, place: Any, move: Any, look: Any) -> Any:
        """A step of the filter: the new state, and a term of the likelihood."""
        np, (mean, spread) = self.np, state
        mean, spread = move @ mean, move @ spread @ move.T + 0.1 * EYE4
        whole, apart = look @ spread @ look.T + 0.2 * EYE4[:2, :2], place - look @ mean
        gain = self.solve(whole, look @ spread).T
        term = self.slogdet(whole)[1] + np.sum(apart * self.solve(whole, apart))
        return (mean + gain @ apart, spread - gain @ look @ spread), term

    def kalman(self, p: Any, still: Any, moved: Any, look: Any, seen: Any) -> Any:
        """The negative log-likelihood by a filter of four numbers, as a plain loop."""
        move, state, total = still + p * moved, (0.0 * look[0], EYE4 + 0.0 * p), 0.0 * p
        for place in seen:
            state, term = self.step(state, place, move, look)
            total = total + term
        return 0.5 * total

    def minors(self, a: Any) -> Any:
        """A determinant by minors, as CppAD writes it: each as often as it is needed."""

        def minor(i: int, columns: tuple[int, ...]) -> Any:
            if not columns[1:]:
                return a[i, columns[0]]
            total = None
            for k, j in enumerate(columns):
                term = a[i, j] * minor(i + 1, columns[:k] + columns[k + 1 :])
                total = term if total is None else total - term if k % 2 else total + term
            return total

        return minor(0, tuple(range(7)))

    def polynomial(self, x: Any, terms: Any) -> Any:
        """By Horner's rule."""
        total = terms[0]
        for k in range(1, terms.shape[0]):
            total = total * x + terms[k]
        return total

    def chain(self, x: Any) -> Any:
        """A sum whose entries are coupled with their neighbours."""
        return self.np.sum(self.np.exp(x[1:] * x[:-1]) + x[1:] ** 4)


EYE4: Any = None  # set by `works`, which has numpy


def works() -> dict[str, tuple[str, str, tuple[Any, ...], tuple[Any, ...]]]:
    """For each case the function, what is derived of it, its parameters, and its data."""
    import numpy as np

    global EYE4
    EYE4 = np.eye(4)
    rng, found = np.random.default_rng(0), dict[str, tuple[str, str, tuple[Any, ...], tuple[Any, ...]]]()
    bones = np.eye(4) + 0.1 * rng.normal(size=(len(PARENTS), 4, 4)) * np.array([[1.0], [1.0], [1.0], [0.0]])
    skin = np.concatenate([rng.normal(size=(3, 100)), np.ones((1, 100))])
    weights = rng.dirichlet(np.ones(len(PARENTS)), 100).T
    found["hand"] = "hand", "jacobian", (rng.normal(size=26),), (bones, skin, weights, rng.normal(size=(100, 3)))
    for n, d, k in GMM:
        given = (
            rng.normal(size=k),
            rng.normal(size=(k, d)),
            0.1 * rng.normal(size=(k, d)),
            rng.normal(size=(k, d, d)) / d,
        )
        found[f"gmm {n} {d} {k}"] = "gmm", "value_and_grad", given, (rng.normal(size=(n, d)), np.tri(d, k=-1))
    found["stacked"] = (
        "stacked",
        "value_and_grad",
        (rng.normal(size=5), rng.normal(size=(5, 10))),
        (rng.normal(size=(1_000, 10)),),
    )
    filtered = np.eye(4) * 0.9, 0.05 * rng.normal(size=(4, 4)), rng.normal(size=(2, 4)), rng.normal(size=(200, 2))
    found["kalman"] = "kalman", "value_and_grad", (0.3,), filtered
    found["minors"] = "minors", "value_and_grad", (rng.normal(size=(7, 7)),), ()
    for n in TERMS:
        found[f"polynomial {n}"] = "polynomial", "value_and_grad", (0.9,), (rng.normal(size=n),)
    for n in CHAINS:
        found[f"chain {n}"] = "chain", "hessian", (0.1 * rng.normal(size=n),), ()
    return found


def warmed(made: Callable[[], Callable[[], Any]]) -> Case:
    """A case of what is made, and called, before it is timed."""
    known: list[Callable[[], Any]] = []

    def call() -> Any:
        if not known:
            known.append(made())
            for _ in range(WARM):
                known[0]()
        return known[0]()

    return repeated(call, numbers)


def agrad() -> dict[str, Case]:
    """Compiled; when machine code is made is agrad's choice."""
    import agrad.engine as ag

    functions, given = Functions(ag, ag.solve, ag.slogdet), works()

    def made(name: str, derived: str, xs: Sequence[Any], data: Sequence[Any]) -> Callable[[], Any]:
        compiled = ag.compile(lambda *xs: getattr(functions, name)(*xs, *data), *xs)
        getattr(compiled, derived)(*[x * 1.5 for x in xs])  # at other values, it is held against the function once
        return lambda: getattr(compiled, derived)(*xs)

    cases = {key: warmed(lambda one=one: made(*one)) for key, one in given.items()}
    return cases | {"first kalman": once(lambda: made(*given["kalman"])(), numbers)}


def jax() -> dict[str, Case]:
    """Jitted, with the data as arguments; the loop of the filter as a scan."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    functions, given = Functions(jnp, jnp.linalg.solve, jnp.linalg.slogdet), works()
    derive = {"jacobian": jax.jacfwd, "value_and_grad": jax.value_and_grad, "hessian": jax.hessian}

    def kalman(p: Any, still: Any, moved: Any, look: Any, seen: Any) -> Any:
        move, start = still + p * moved, (jnp.zeros(4), jnp.eye(4))
        return 0.5 * jnp.sum(jax.lax.scan(lambda s, place: functions.step(s, place, move, look), start, seen)[1])

    def made(name: str, derived: str, xs: Sequence[Any], data: Sequence[Any]) -> Callable[[], Any]:
        f = kalman if name == "kalman" else getattr(functions, name)
        by = tuple(range(len(xs))) if derived == "value_and_grad" else 0
        run = jax.jit(lambda xs, data: derive[derived](f, by)(*xs, *data))
        held = tuple(map(jnp.asarray, xs)), tuple(map(jnp.asarray, data))
        return lambda: jax.block_until_ready(run(*held))

    known = {key: one for key, one in given.items() if one[0] not in ("polynomial", "chain")}
    cases = {key: warmed(lambda one=one: made(*one)) for key, one in known.items()}
    return cases | {"first kalman": once(lambda: made(*given["kalman"])(), numbers)}


def casadi() -> dict[str, Case]:
    """SX functions, called as one does from Python."""
    import casadi

    def polynomial(xs: Sequence[Any], data: Sequence[Any]) -> Callable[[], Any]:
        x, terms = casadi.SX.sym("x"), casadi.SX.sym("c", len(data[0]))
        y = Functions(None, casadi.solve, casadi.det).polynomial(x, terms)
        run, held = casadi.Function("f", [x, terms], [y, casadi.gradient(y, x)]), (casadi.DM(xs[0]), casadi.DM(data[0]))
        return lambda: [part.full() for part in run(*held)]

    def chain(xs: Sequence[Any], data: Sequence[Any]) -> Callable[[], Any]:
        x = casadi.SX.sym("x", len(xs[0]))
        y = casadi.sum1(casadi.exp(x[1:] * x[:-1]) + x[1:] ** 4)
        run, held = casadi.Function("h", [x], [casadi.hessian(y, x)[0]]), casadi.DM(xs[0])
        return lambda: run(held).full()

    ways = {"polynomial": polynomial, "chain": chain}
    known = {key: one for key, one in works().items() if one[0] in ways}
    return {key: warmed(lambda one=one: ways[one[0]](one[2], one[3])) for key, one in known.items()}


if __name__ == "__main__":
    serve({"agrad": agrad, "jax": jax, "casadi": casadi})
