"""Random functions of numbers, for the tests of programs and of compiled functions."""

from dataclasses import dataclass
from importlib.util import find_spec

from native import EDGES

import agrad.engine as ag
from agrad.engine.core.op import OPS

DEPTH = 4
NEEDED = {
    "digamma_derivative": {"n": 1}, "bessel_j": {"n": 2}, "bessel_i": {"n": 0}, "sinc_derivative": {"n": 1},
    "bessel_jv": {"v": 0.5}, "bessel_iv": {"v": 1.5}, "bessel_kv": {"v": 2.0}, "bessel_yv": {"v": 1.0},
    "bessel_ive": {"v": 1.5}, "bessel_kve": {"v": 2.0}, "reciprocal_gamma_derivative": {"n": 1},
}  # fmt: skip  # attributes without a default
NEED_SCIPY = """
    erfinv gamma lgamma digamma beta lbeta j0 j1 i0 i1 ndtri erfcinv log_ndtr normal_hazard logit entr gammainc gammaincc
    betainc gamma_moment beta_moment rgamma
""".split()
SLOW = ("gamma_moment", "beta_moment", "gammainc", "gammaincc", "betainc")  # by quadrature: their own tests are enough
SPECIAL = SLOW if find_spec("scipy") else NEED_SCIPY


def on_numbers():
    """Every operation that has a function on floats, with the attributes of its samples."""
    for name, op in sorted(OPS.items()):
        if op.scalar is None or op.variadic or not op.total or name in ("depends", *SPECIAL):
            continue
        if not find_spec("scipy") and name in NEEDED and name != "sinc_derivative":
            continue
        given = [NEEDED.get(name, {})]
        given += [
            s[-1]
            for s in op.samples
            if isinstance(s[-1], dict) and not isinstance(s[0], list) and s[-1].keys() != NEEDED.get(name, {}).keys()
        ]
        required = [attribute for attribute in op.signature.attributes if attribute in ("axis", "mean")]
        if required and name in ("centre", "lower_middle", "upper_middle", "squared_error"):
            given = [{required[0]: True}] if name == "squared_error" else []
        yield from ((name, attrs) for attrs in given)


@dataclass(frozen=True)
class Tree:
    """An operation with its attributes and operands; without one, an argument (by place) or a constant."""

    name: str = ""
    attrs: tuple = ()
    operands: tuple = ()
    leaf: object = 0

    def __call__(self, *xs):
        if not self.name:
            return xs[self.leaf] if type(self.leaf) is int else self.leaf
        return OPS[self.name].call(*[one(*xs) for one in self.operands], **dict(self.attrs))

    def __str__(self):
        if not self.name:
            return "xy"[self.leaf] if type(self.leaf) is int else repr(self.leaf)
        return f"{self.name}({', '.join([*map(str, self.operands), *[f'{k}={v}' for k, v in self.attrs]])})"

    @property
    def names(self):
        """Those of all operations in it."""
        return {self.name}.union(*[one.names for one in self.operands]) - {""}


def tree(rng, kinds, root=None, depth=DEPTH):
    """A tree over operations (name, number of operands, attributes), with `root` at its root."""
    if root is None and (not depth or rng.random() < 0.15):
        return Tree(leaf=rng.choice((0, 0, 1, 1, rng.choice(EDGES), rng.uniform(-3, 3))))
    name, count, attrs = root or rng.choice(kinds)
    return Tree(name, tuple(attrs.items()), tuple([tree(rng, kinds, None, depth - 1) for _ in range(count)]))


def trees(rng, kinds, numbers):
    """A tree for each number; the roots are all operations in turn."""
    return [tree(rng, kinds, kinds[number % len(kinds)], rng.choice((1, 2, 3, DEPTH))) for number in numbers]


def points(rng, count):
    """Edge values, and an ordinary point."""
    edges = [(rng.choice(EDGES), rng.choice(EDGES)) for _ in range(count - 1)]
    return [*edges, (rng.uniform(-3, 3), rng.uniform(-3, 3))]


def number_function(rng, size):
    """A random function of numbers, of so many steps, that uses its results several times."""
    unary = ["neg", "sin", "exp", "abs", "square", "sqrt", "log", "relu", "reciprocal", "tanh", "floor", "cube"]
    binary = ["add", "sub", "mul", "div", "maximum", "minimum", "less", "equal", "hypot", "remainder"]
    plan = [(rng.choice(unary + 2 * binary), rng.random(), rng.random(), rng.random()) for _ in range(size)]
    constants = (1.0, 0.0, -0.0, -1.0, 2.0, 0.5)

    def f(*xs):
        made = [*xs, *constants]
        for name, a, b, c in plan:
            x, y, z = (made[int(place * len(made))] for place in (a, b, c))
            if name == "cube":
                made.append(x**3.0)
            else:
                made.append(OPS[name].call(x) if name in unary else OPS[name].call(x, y))
            if c < 0.1:
                made.append(ag.where(x > y, y, z))
        return sum(made[len(xs) :], made[0])

    return f
