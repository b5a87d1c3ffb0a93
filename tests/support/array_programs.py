"""Random functions of arrays: chains with broadcasting, slices, gathers, sums, products, choices and branches."""

import numpy as np

import agrad.engine as ag

UNARY = [
    lambda x: ag.sin(x),
    lambda x: ag.tanh(x),
    lambda x: ag.exp(-x * x),
    lambda x: x / (1 + x * x),
    lambda x: ag.sqrt(1 + x * x),
    lambda x: ag.softplus(x),
    lambda x: ag.where(x > 0.1, x, 0.5 * x),
    lambda x: ag.maximum(x, 0.2),
    lambda x: ag.log1p(x**2),
    lambda x: 1.5 - x,
    lambda x: abs(x),
]
BINARY = [
    lambda x, y: x + y,
    lambda x, y: x - 0.5 * y,
    lambda x, y: x * y,
    lambda x, y: ag.minimum(x, y),
    lambda x, y: ag.where(x > y, x, y * 0.5),
    lambda x, y: x / (2 + y * y),
]


class Grown:
    """A random function of a number, a vector and a matrix with one number, the same for the same seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.n, self.k = (int(self.rng.integers(1, 90)), int(self.rng.integers(1, 12)))
        self.data = self.rng.normal(size=(self.n, self.k))
        self.seed = seed
        self.examples = (0.7, self.rng.normal(size=self.n), self.rng.normal(size=(self.n, self.k)))

    def points(self, count):
        rng = np.random.default_rng(self.seed + 1)
        return [tuple(np.asarray(x) * rng.uniform(0.6, 1.4) for x in self.examples) for _ in range(count)]

    def __call__(self, a, x, m):
        rng = np.random.default_rng(self.seed + 2)
        vectors, matrices, numbers = [x], [m, self.data], [a]
        for _ in range(int(rng.integers(2, 9))):
            self._grow(rng, vectors, matrices, numbers)
        total = a
        for one in (*vectors, *matrices[:1], *matrices[2:]):
            total = total + (ag.mean(one) if rng.random() < 0.5 else ag.sum(one) * 0.1)
        return total + sum(numbers)

    def _grow(self, rng, vectors, matrices, numbers):
        def pick(values):
            return values[int(rng.integers(len(values)))]

        v, m, s = pick(vectors), pick(matrices), pick(numbers)
        unary, binary = pick(UNARY), pick(BINARY)
        n, k = self.n, self.k
        kind = int(rng.integers(16))
        if kind < 3:
            vectors.append(binary(unary(v), s))
        elif kind < 5:
            matrices.append(binary(unary(m), v[:, None]))
        elif kind == 5:
            numbers.append(unary(ag.mean(v)))
        elif kind == 6:
            vectors.append(ag.sum(binary(m, pick(matrices)), axis=1) * 0.3)
        elif kind == 7:
            matrices.append(binary(m, ag.mean(unary(m), axis=0)))
        elif kind == 8:
            vectors.append(binary(v[::-1], ag.roll(pick(vectors), int(rng.integers(-3, 4)))))
        elif kind == 9:
            vectors.append(binary(v[rng.integers(0, n, size=n)], v))
        elif kind == 10:
            numbers.append(ag.sum(v[int(rng.integers(n)) :] * 0.1))
        elif kind == 11:
            vectors.append(0.2 * (m @ ag.tanh(m[int(rng.integers(n))])))
        elif kind == 12:
            matrices.append(0.1 * (m @ (m.T @ m)) / n)
        elif kind == 13:
            matrices.append(binary(ag.reshape(ag.transpose(m), n, k), m))
        elif kind == 14:
            vectors.append(binary(ag.concat([v[1:], v[:1]]), v[int(rng.integers(n))]))
        else:
            vectors.append(unary(v) if s > 0.3 else v * 0.5)
