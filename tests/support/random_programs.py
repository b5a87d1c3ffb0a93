"""Random programs for tests, each the same for the same seed: trees of operations, and courses of steps.

A tree is an operation on trees, down to arguments and constants: `tree` draws one from kinds (a name, the number of
operands, what computes it). A course is a list of steps, each of which adds to the numbers, vectors and matrices that
later steps choose from: maps, indices, products and reductions, and, where they are asked for, decisions and loops.
"""

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from native import EDGES
from rows import by_name, functions
from samples import samples_of
from transcript import sections

import agrad.engine as ag
from agrad.engine.core.op import OPS, REQUIRED

# Trees


@dataclass(frozen=True)
class Tree:
    """What computes a value of its operands; without operands, of the arguments."""

    text: str
    call: object
    operands: tuple = ()

    def __call__(self, *xs):
        return self.call(*[one(*xs) for one in self.operands]) if self.operands else self.call(*xs)

    def __str__(self):
        return f"{self.text}({', '.join(map(str, self.operands))})" if self.operands else self.text


def tree(rng, groups, leaf, depth, stop=0.0, root=None):
    """A tree over kinds, of a group that is drawn first; a branch may `stop` before it has the depth."""
    if root is None and (not depth or rng.random() < stop):
        return Tree(*leaf(rng))
    name, count, call = root or rng.choice(rng.choice(groups))
    return Tree(name, call, tuple([tree(rng, groups, leaf, depth - 1, stop) for _ in range(count)]))


def argument(name, place):
    """A leaf."""
    return name, lambda *xs: xs[place]


# Trees over operations on numbers

NEEDED = {
    "digamma_derivative": {"n": 1}, "hazard_derivative": {"n": 2}, "bessel_j": {"n": 2}, "bessel_i": {"n": 0}, "sinc_derivative": {"n": 1},
    "bessel_jv": {"v": 0.5}, "bessel_iv": {"v": 1.5}, "bessel_kv": {"v": 2.0}, "bessel_yv": {"v": 1.0},
    "bessel_ive": {"v": 1.5}, "bessel_kve": {"v": 2.0}, "reciprocal_gamma_derivative": {"n": 1},
}  # fmt: skip  # attributes without a default
NEED_SCIPY = """
    erfinv gamma lgamma digamma digamma_difference beta beta_slope beta_mixed lbeta j0 j1 i0 i1 ndtri erfcinv log_ndtr normal_hazard logit entr
    hazard_derivative hazard_slope gammainc gammaincc betainc gamma_slope betainc_slope rgamma
""".split()
SLOW = ("gamma_slope", "betainc_slope", "gammainc", "gammaincc", "betainc")  # by quadrature: their own tests are enough
SPECIAL = SLOW if find_spec("scipy") else NEED_SCIPY


def on_numbers():
    """Every operation that has a function on floats, with the attributes of its samples."""
    for name, op in sorted(OPS.items()):
        if op.scalar is None or op.variadic or not op.total or name in ("depends", *SPECIAL):
            continue
        if not find_spec("scipy") and name in NEEDED and name != "sinc_derivative":
            continue
        is_complete = name in NEEDED or REQUIRED not in op.signature.attributes.values()
        given = [NEEDED.get(name, {})] if is_complete else []
        given += [
            s[-1]
            for s in samples_of(op)
            if isinstance(s[-1], dict) and not isinstance(s[0], list) and s[-1].keys() != NEEDED.get(name, {}).keys()
        ]
        required = [attribute for attribute in op.signature.attributes if attribute in ("axis", "mean")]
        if required and name in ("centre", "lower_middle", "upper_middle", "projection", "squared_error"):
            given = [{required[0]: True}] if name == "squared_error" else []
        yield from ((name, attrs) for attrs in given)


def trees(rng, operations, numbers):
    """A tree of x and y for each number; the roots are all operations (name, attributes) in turn."""
    kinds = [
        (f"{name}{attrs or ''}", len(OPS[name].signature.operands), partial(OPS[name].call, **attrs))
        for name, attrs in operations
    ]

    def leaf(rng):
        constant = rng.choice((rng.choice(EDGES), rng.uniform(-3, 3)))
        return rng.choice([argument("x", 0), argument("y", 1), (repr(constant), lambda *xs: constant)])

    return [tree(rng, [kinds], leaf, rng.choice((1, 2, 3, 4)), 0.15, kinds[number % len(kinds)]) for number in numbers]


def points(rng, count):
    """Edge values, and an ordinary point."""
    edges = [(rng.choice(EDGES), rng.choice(EDGES)) for _ in range(count - 1)]
    return [*edges, (rng.uniform(-3, 3), rng.uniform(-3, 3))]


# Trees of two matrices, over nearly all operations that have derivatives

SIZE = 3
EYE = np.eye(SIZE)


def inside(x, low, high):
    """Moved smoothly into an interval, for functions that are defined or tame only there."""
    return low + (high - low) * (0.5 + 0.5 * ag.sin(x))


def positive_definite(x):
    return x @ x.T / (1 + ag.norm(x)) + EYE + np.diag([0.0, 1.0, 2.5])


UNARY = {
    **dict.fromkeys("""exp exp2 expm1 square sin cos atan sinh cosh tanh asinh sinc deg2rad\n        relu leaky_relu elu selu gelu silu softplus sigmoid logsigmoid hardtanh erf erfc ndtr abs floor sign\n        softmax log_softmax sort flip neg clone""".split(), (-2, 2)),
    **dict.fromkeys("log log2 log10 log1p sqrt cbrt rsqrt reciprocal gamma lgamma".split(), (0.4, 3)),
    **dict.fromkeys("asin acos atanh tan".split(), (-0.9, 0.9)),
    "acosh": (1.2, 3), "rad2deg": (-0.03, 0.03),
}  # fmt: skip
SCIPY = {**dict.fromkeys("j0 j1 i0 i1".split(), (-2, 2)), "digamma": (0.6, 3), "erfinv": (-0.8, 0.8)}
if find_spec("scipy") is None:
    del UNARY["gamma"], UNARY["lgamma"]
else:
    UNARY.update(SCIPY)
BINARY = {
    **dict.fromkeys("add sub mul maximum minimum hypot logaddexp matmul atan2".split(), (-2, 2)),
    **dict.fromkeys("div pow remainder fmod xlogy".split(), (0.5, 2.5)),
    **({} if find_spec("scipy") is None else dict.fromkeys(("beta", "lbeta"), (0.6, 2.5))),
}
TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_suffix(".txt")).items()}
WHOLE = by_name(TEXTS["whole"], "x", globals())
MATRIX = by_name(TEXTS["matrix"], "x", globals())


def _tamed(name, low, high):
    return lambda *xs: ag.FUNCTIONS[name].call(*[inside(x, low, high) for x in xs])


def _beside_itself(f):
    return lambda x: f(inside(x, -1, 1)) + 0.1 * x


_ONE = [(name, 1, _tamed(name, *ends)) for name, ends in sorted(UNARY.items())]
_TWO = [(name, 2, _tamed(name, *ends)) for name, ends in sorted(BINARY.items())]
_REDUCED, _MOVED = ([(name, 1, _beside_itself(f)) for name, f in sorted(table.items())] for table in (WHOLE, MATRIX))
_LEAVES = [argument("x", 0), argument("y", 1), ("x+y", lambda x, y: x + y)]


def matrix_function(rng, depth):
    """A random function of two matrices, with its text."""
    found = tree(rng, [_ONE, _ONE, _TWO, _TWO, _REDUCED, _MOVED], lambda rng: rng.choice(_LEAVES), depth, 0.1)
    return found, str(found)


# Courses

MAPS = [
    *functions(
        "x",
        """
    ag.sin(x); ag.tanh(x); ag.exp(-x * x); x / (1 + x * x); ag.sqrt(1 + x * x); ag.softplus(x)
    ag.where(x > 0.1, x, 0.5 * x); ag.maximum(x, 0.2); ag.log1p(x ** 2); 1.5 - x; abs(x)
""",
        globals(),
    ).values()
]
JOINS = [
    *functions(
        "x, y",
        """
    x + y; x - 0.5 * y; x * y; ag.minimum(x, y); ag.where(x > y, x, y * 0.5); x / (2 + y * y)
""",
        globals(),
    ).values()
]


class Values:
    """What the steps of a course choose from: values by their number of axes, functions, and random numbers."""

    def __init__(self, rng, values):
        self.rng, self.known = rng, ([], [], [])
        self.add(values)

    def add(self, made):
        for one in made if isinstance(made, tuple) else (made,):
            self.known[np.ndim(one) if not isinstance(one, ag.Tensor) else len(one.shape)].append(one)

    def pick(self, among):
        return among[int(self.rng.integers(len(among)))]

    s = property(lambda self: self.pick(self.known[0]))
    v = property(lambda self: self.pick(self.known[1]))
    m = property(lambda self: self.pick(self.known[2]))
    map = property(lambda self: self.pick(MAPS))
    join = property(lambda self: self.pick(JOINS))
    bound = property(lambda self: float(self.rng.normal() * 0.4))

    def below(self, count):
        return int(self.rng.integers(count))


class Course:
    """A function of the arguments in `examples`: so many steps of some kinds, and the sum of all that they make."""

    def __init__(self, seed, examples, kinds, counts=(2, 9), spread=0.0, data=()):
        self.seed, self.examples, self.kinds, self.counts, self.spread = seed, examples, kinds, counts, spread
        self.data = data  # constants to choose from

    def points(self, count, seed=1):
        """Near the examples; with a spread, on both sides of the bounds of decisions."""
        rng = np.random.default_rng([self.seed, seed])
        return [
            tuple(x * rng.uniform(0.6, 1.4) + self.spread * rng.normal(size=np.shape(x)) for x in self.examples)
            for _ in range(count)
        ]

    def __call__(self, *xs):
        values = Values(np.random.default_rng([self.seed, 2]), (*xs, *self.data))
        for _ in range(int(values.rng.integers(*self.counts))):
            values.add(values.pick(self.kinds)(values))
        numbers, vectors, matrices = values.known
        total = sum(numbers)
        for one in (*vectors, *[m for m in matrices if isinstance(m, ag.Tensor)]):
            total = total + (ag.mean(one) if values.rng.random() < 0.5 else ag.sum(one) * 0.1)
        return total


ARRAYS = [
    *[lambda of: of.join(of.map(of.v), of.s)] * 3,
    *[lambda of: of.join(of.map(of.m), of.v[:, None])] * 2,
    lambda of: of.map(ag.mean(of.v)),
    lambda of: ag.sum(of.join(of.m, of.m), axis=1) * 0.3,
    lambda of: of.join(of.m, ag.mean(of.map(of.m), axis=0)),
    lambda of: of.join(of.v[::-1], ag.roll(of.v, of.below(7) - 3)),
    lambda of: of.join(of.v[of.rng.integers(0, len(of.v), size=len(of.v))], of.v),
    lambda of: ag.sum(of.v[of.below(len(of.v)) :] * 0.1),
    lambda of: (lambda m: 0.2 * (m @ ag.tanh(m[of.below(len(m))])))(of.m),
    lambda of: (lambda m: 0.1 * (m @ (m.T @ m)) / len(m))(of.m),
    lambda of: (lambda m: of.join(ag.reshape(ag.transpose(m), *m.shape), m))(of.m),
    lambda of: (lambda v: of.join(ag.concat([v[1:], v[:1]]), v[of.below(len(v))]))(of.v),
    lambda of: (lambda v: of.map(v) if of.s > 0.3 else v * 0.5)(of.v),
]  # fmt: skip


def _regular(of):
    m = of.m
    return m, m.T @ m / len(m) + (2.0 + of.s**2) * np.eye(m.shape[1])


def _systems(of):
    m, regular = _regular(of)
    return ag.sum(ag.solve(regular, m[0]) * ag.solve(regular.T, m[-1])) + ag.slogdet(regular)[1]


def _factors(of):
    m, regular = _regular(of)
    return ag.mean(ag.solve(ag.cholesky(regular), m.T)) + 0.1 * ag.mean(ag.inv(regular) + ag.det(regular / 3))


def _scanned(of):
    a, rows = of.s, of.rng.normal(size=len(of.v)) + of.v
    return ag.scan(lambda s, row: (0.5 * ag.tanh(s + row) + 0.1 * a, s * row), a, rows)[0]


def _scanned_pair(of):
    a, x = of.s, of.v
    steps = ag.scan(lambda s, r: ((s[1], 0.5 * s[0] + r), s[0] * r), (a, x[0]), x * of.rng.normal(size=len(x)))
    return ag.mean(steps[1])


def _plain_loop(of):
    x, s, first, second, turn, count = of.v, of.s, of.map, of.map, 1 + of.below(3), 20 + of.below(20)
    v, seen, rows = x, [], of.rng.normal(size=(count, len(x)))
    for i in range(count):
        v = 0.7 * first(v + rows[i]) + 0.1 * ag.roll(v, turn) * s
        s = ag.tanh(second(s) + ag.mean(v) + (x[i] if count <= len(x) else 0.01 * i))
        seen.append(s)
    return ag.sum(v) * s / len(x) + ag.mean(ag.stack(seen))


LOOPS = [
    lambda of: ag.sum(ag.cumprod(1.0 + 0.01 * ag.tanh(of.v)) * ag.cumsum(ag.sin(of.v)[::-1])) / len(of.v),
    lambda of: ag.mean(ag.cumsum(of.m, 0) * ag.cumprod(0.9 + 0.01 * ag.cos(of.m), 1)) * 0.1,
    lambda of: (lambda x: ag.mean(ag.stack([x, ag.tanh(x), x[::-1] * of.s], 1) ** 2))(of.v),
    lambda of: (lambda m: ag.mean(ag.concat([m, ag.tanh(m)[::-1], m[:, :1]], 1) ** 2))(of.m),
    lambda of: ag.sum(ag.stack([of.s, of.v[0], of.s**2])),
    *(_systems, _factors, _scanned, _scanned_pair),
    *[_plain_loop] * 4,
]


def _by_sum(of):
    v, w, a, one, other = of.v, of.v, of.s, of.map, of.map
    return (one(v), a) if ag.mean(v) > of.bound else (v * 0.5 + other(w), a * 0.9)


def _by_one_entry(of):
    v, w, m, a, one = of.v, of.v, of.m, of.s, of.map
    if v[-1] <= w[0]:
        v = v - 0.3 * w
    elif m[0, -1] > of.bound:
        v = one(v) * m[0, -1]
    return v, a * 0.8 if v[0] == v[0] else -a


def _by_some(of):
    v, w, a, one = of.v, of.v, of.s, of.map
    if ag.any(v > 1.0 + of.bound):
        return ag.tanh(v) * a, a * 0.7
    return (one(v), a * 0.6) if ag.all(w < 2.0) else (v + w, a * 0.5)


def _until_small(of):
    v, w, a, one, turns = of.v, of.v, of.s, of.map, 0
    while ag.sqrt(ag.mean(v * v)) > 0.6 and turns < 12:
        v, turns = v * 0.7 + 0.01 * ag.tanh(a), turns + 1
    return v + 0.1 * one(w)


def _descent(of):
    v, w = of.v, of.v
    for _ in range(12):
        slope = v - ag.tanh(w) + 0.1 * ag.tanh(v) ** 3
        if ag.sum(slope * slope) < 0.05 * len(v):
            break
        v = v - 0.4 * slope
    return v


def _by_system(of):
    (m, regular), v, a, one = _regular(of), of.v, of.s, of.map
    s = ag.solve(regular, m[0])
    if not (ag.sum(s) < of.bound):
        v = v * s[-1] + one(v)
    return v, 0.5 * a + 0.1 * s[0]


def _by_count(of):
    v, a = of.v, 0.5 * of.s
    for place in range(min(int(ag.sum(of.v > of.bound)), 4)):
        a = a * 0.9 + 0.05 * v[min(place, len(v) - 1)]
    return a


def _inside(of):
    v, w, m, a, one, bound = of.v, of.v, of.m, of.s, of.map, of.bound
    if a * ag.sum(m) > bound:
        if ag.max(v) > ag.max(w):
            return v * 0.3 + ag.cumsum(w) / len(v)
        v = one(v)
    return ag.where(v > bound, v, 0.1 * w)


DECISIONS = [_by_sum, _by_one_entry, _by_some, _until_small, _descent, _by_system, _by_count, _inside]


def _halved(of):
    a, turns = of.s, 0
    while abs(a) > 1.0 and turns < 60:
        a, turns = a * 0.5, turns + 1
    return a


BRANCHES = [
    lambda of: (lambda a, b, c: ag.sin(a) if a > b else b * 0.5 + c)(of.s, of.s, of.s),
    lambda of: (lambda a, b, c, r: a * c if b <= r else (a - b if c > r else ag.exp(-a * a)))(of.s, of.s, of.s, of.bound),
    _halved,
    lambda of: (lambda a, b, c, r: ag.tanh(a) + r if not (a * b < c) else a)(of.s, of.s, of.s, of.bound),
    lambda of: 0.1 * of.s * of.s,
]  # fmt: skip
ON_NUMBERS = [
    *[partial(lambda name, of: OPS[name].call(of.s), name) for name in "neg sin exp abs square sqrt log relu reciprocal tanh floor".split()],
    *[partial(lambda name, of: OPS[name].call(of.s, of.s), name) for name in "add sub mul div maximum minimum less equal hypot remainder".split()] * 2,
    lambda of: of.s**3.0,
    *[lambda of: (lambda x, y, z: ag.where(x > y, y, z))(of.s, of.s, of.s)] * 2,
]  # fmt: skip


def _shaped(seed, n, k):
    rng = np.random.default_rng([seed, n, k])
    return 0.7, rng.normal(size=n), rng.normal(size=(n, k))


def of_arrays(seed, kinds=ARRAYS):
    """A function of a number, a vector and a matrix, up to 89 by 11."""
    rng = np.random.default_rng(seed)
    n, k = (int(rng.integers(1, most)) for most in (90, 12))
    return Course(seed, _shaped(seed, n, k), kinds, data=(rng.normal(size=(n, k)),))


def with_loops(seed):
    """The same, with loops, scans, running sums, parts and systems of equations."""
    return of_arrays(seed, [*ARRAYS, *LOOPS])


def deciding(seed, is_large):
    """The same, which decides by what it has computed, also how often."""
    n = int(np.random.default_rng(seed).integers(*(70, 150) if is_large else (1, 9)))
    return Course(seed, _shaped(seed, n, 3), DECISIONS, (2, 5), 0.7)


def branching(seed):
    """A function of three numbers that decides some times, also how often it runs a loop."""
    return Course(seed, (0.4, -0.3, 0.8), BRANCHES, (2, 6), 1.0)


def of_numbers(seed, size):
    """A function of numbers, of so many steps, that uses its results several times."""
    return Course(seed, (0.7, -1.3), ON_NUMBERS, (size, size + 1), data=(1.0, 0.0, -0.0, -1.0, 2.0, 0.5))
