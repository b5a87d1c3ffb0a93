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


class Deciding:
    """A random function of a number, a vector and a matrix that decides by what it has computed, also how often."""

    def __init__(self, seed, is_large):
        rng = np.random.default_rng([seed, int(is_large)])
        self.seed, self.n, self.k = seed, int(rng.integers(70, 150) if is_large else rng.integers(1, 9)), 3
        self.examples = (0.7, rng.normal(size=self.n), rng.normal(size=(self.k, self.k)))

    def points(self, count, seed=0):
        rng = np.random.default_rng([self.seed, seed])
        return [
            tuple(x + rng.normal(size=np.shape(x)) * 0.7 + rng.normal() * 0.3 for x in self.examples)
            for _ in range(count)
        ]

    def __call__(self, a, x, m):
        rng = np.random.default_rng(self.seed)
        v, w, total = x, x * 0.5, 0.1 * a
        for _ in range(int(rng.integers(2, 5))):
            kind, unary, other = int(rng.integers(len(DECISIONS))), *rng.choice(len(UNARY), size=2)
            v, a = DECISIONS[kind](v, w, a, m, float(rng.normal() * 0.4), (UNARY[unary], UNARY[other]))
            total = total + ag.mean(v * v) * a + ag.sum(v) / self.n
            v, w = w, v
        return total + ag.mean(m @ m.T) * a


def _by_sum(v, w, a, m, bound, unary):
    if ag.mean(v) > bound:
        return unary[0](v), a
    return v * 0.5 + unary[1](w), a * 0.9


def _by_one_entry(v, w, a, m, bound, unary):
    if v[-1] <= w[0]:
        v = v - 0.3 * w
    elif m[0, 1] > bound:
        v = unary[0](v) * m[0, 1]
    return v, a if v[0] == v[0] else -a


def _by_some(v, w, a, m, bound, unary):
    if ag.any(v > 1.0 + bound):
        return ag.tanh(v) * a, a
    return (unary[1](v), a) if ag.all(w < 2.0) else (v + w, a * 0.5)


def _until_small(v, w, a, m, bound, unary):
    while ag.sqrt(ag.mean(v * v)) > 0.6:
        v = v * 0.7 + 0.01 * a
    return v + 0.1 * unary[0](w), a


def _descent(v, w, a, m, bound, unary):
    for _ in range(12):
        slope = v - ag.tanh(w) + 0.1 * v**3
        if ag.sum(slope * slope) < 0.05 * slope.shape[0]:
            break
        v = v - 0.4 * slope
    return v, a


def _by_system(v, w, a, m, bound, unary):
    s = ag.solve(m @ m.T + np.eye(3) * (1.0 + a * a), m[0])
    if not (ag.sum(s) < bound):
        v = v * s[1] + unary[0](v)
    return v, a + 0.1 * s[2]


def _by_count(v, w, a, m, bound, unary):
    for place in range(min(int(ag.sum(w > bound)), 4)):
        a = a * 0.9 + 0.05 * v[min(place, v.shape[0] - 1)]
    return v, a


def _inside(v, w, a, m, bound, unary):
    if a * ag.sum(m) > bound:
        if ag.max(v) > ag.max(w):
            return v * 0.3 + ag.cumsum(w) / v.shape[0], a
        v = unary[1](v)
    return ag.where(v > bound, v, 0.1 * w), a


DECISIONS = [_by_sum, _by_one_entry, _by_some, _until_small, _descent, _by_system, _by_count, _inside]
