"""Random functions of arrays, with loops: values, gradients, Jacobians and Hessian products, on 1 to 4 threads.

500 of them; AGRAD_SEEDS=2000 in the environment makes more.

With the python backend values are bit for bit the eager ones, unless a loop passes a matrix to BLAS in another layout;
gradients have the same terms in another order. Machine code is compared with a relative error.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from array_programs import UNARY, Grown
from backends import USABLE
from replays import same_bits
from rows import each

import agrad.engine as ag
from agrad.engine.program import rolled

GROUP = 10
SEEDS = int(os.environ.get("AGRAD_SEEDS", "500"))
GROUPS = range(SEEDS // GROUP)


class Looped(Grown):
    """The same with a loop over a vector and a number at the end, for every other seed; for some, with more."""

    def __call__(self, a, x, m):
        total = super().__call__(a, x, m)
        if self.seed % 3 != 1:
            total = total + self._more(a, x, m)
        if self.seed % 2:
            return total
        rng = np.random.default_rng(self.seed + 3)
        first, second = (UNARY[int(rng.integers(len(UNARY)))] for _ in range(2))
        turn, count, rows = int(rng.integers(1, 4)), int(rng.integers(20, 40)), rng.normal(size=(40, self.n))
        v, s, seen = x, a, []
        for i in range(count):
            v = 0.7 * first(v + rows[i]) + 0.1 * ag.roll(v, turn) * s
            s = ag.tanh(second(s) + ag.mean(v) + (x[i] if count <= self.n else 0.01 * i))
            seen.append(s)
        return total + ag.sum(v) * s + ag.mean(ag.stack(seen))

    def _more(self, a, x, m):
        """Running products and sums, what is stacked, systems of equations, a scan: two of them."""
        rng = np.random.default_rng(self.seed + 5)
        regular = m.T @ m / self.n + (2.0 + a * a) * np.eye(self.k)
        rows = rng.normal(size=self.n)
        makers = (
            lambda: ag.sum(ag.cumprod(1.0 + 0.01 * ag.tanh(x)) * ag.cumsum(ag.sin(x)[::-1])) / self.n,
            lambda: ag.mean(ag.cumsum(m, 0) * ag.cumprod(0.9 + 0.01 * ag.cos(m), 1)) * 0.1,
            lambda: ag.mean(ag.stack([x, ag.tanh(x), x[::-1] * a], 1) ** 2),
            lambda: ag.mean(ag.concat([m, ag.tanh(m)[::-1], m[:, :1]], 1) ** 2) + ag.sum(ag.stack([a, x[0], a * a])),
            lambda: ag.sum(ag.solve(regular, m[0]) * ag.solve(regular.T, m[-1])) + ag.slogdet(regular)[1],
            lambda: ag.mean(ag.solve(ag.cholesky(regular), m.T)) + 0.1 * ag.mean(ag.inv(regular) + ag.det(regular / 3)),
            lambda: ag.scan(lambda s, row: (0.5 * ag.tanh(s + row) + 0.1 * a, s * row), a, rows + x)[0],
            lambda: ag.mean(ag.scan(lambda s, r: ((s[1], 0.5 * s[0] + r), s[0] * r), (a, x[0]), x * rows)[1]),
        )
        chosen = rng.choice(len(makers), size=2, replace=False)
        return sum(makers[int(place)]() for place in chosen)


def near(found, expected, scale, digits=1e-10):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=digits, atol=digits * scale)


def backends_of(seed):
    """Machine code takes a second to make, and is tried for every tenth function."""
    return [backend for backend in USABLE if backend == "python" or (backend == "llvm" and seed % 10 == 3)]


@each("group", GROUPS, short=len(GROUPS))
def test_random_functions_of_arrays_compute_what_they_compute_eagerly(group, monkeypatch):
    monkeypatch.setattr(rolled, "LONG", 60)
    for seed in range(GROUP * group, GROUP * (group + 1)):
        f = Looped(seed)
        for backend in backends_of(seed):
            check(f, ag.compile(f, *f.examples, backend=backend), seed)


def check(f, compiled, seed):
    for point in f.points(2):
        leaves = [ag.tensor(x, requires_grad=True) for x in point]
        y = f(*leaves)
        y.backward()
        slopes = [x.grad.value for x in leaves]
        scale = max(abs(y.item()), *[np.abs(x).max() for x in slopes], 1.0)
        value, found = compiled.value_and_grad(*point)
        if compiled.backend == "python":
            close = compiled._is_rolled and abs(value - y.item()) <= 1e-13 * scale
            assert same_bits(compiled.value(*point), y.item()) or close, seed
        near(value, y.item(), scale)
        for one, expected in zip(found, slopes, strict=True):
            near(one, expected, scale)
    direction = tuple(np.cos(np.asarray(x) * 3) for x in point)
    if seed % 4 == 1:
        along = sum(float(np.sum(s * v)) for s, v in zip(slopes, direction, strict=True))
        near(compiled.jvp(point, direction), along, scale * max(1.0, abs(along)), 1e-9)
    if seed % 10 == 3:
        expected = ag.hvp(f, point, direction)
        most = max(1.0, *[np.abs(x.value).max() for x in expected])
        for one, other in zip(compiled.hvp(point, direction), expected, strict=True):
            near(one, other.value, most, 1e-8)


@pytest.mark.long
@each("seed", range(12), short=12)
def test_several_threads_get_what_one_gets(seed):
    f = Looped(seed)
    points = f.points(8)
    for backend in USABLE:
        alone, shared = (ag.compile(f, *f.examples, backend=backend) for _ in range(2))
        expected = [alone.value_and_grad(*point) for point in points]
        for count in (2, 4):
            with ThreadPoolExecutor(count) as pool:
                for found, one in zip(
                    pool.map(shared.value_and_grad, *zip(*points, strict=True)), expected, strict=True
                ):
                    assert found[0] == one[0] and all(map(np.array_equal, found[1], one[1]))
