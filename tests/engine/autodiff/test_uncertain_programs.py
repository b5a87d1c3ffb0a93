"""Uncertainties of random programs beside the package `uncertainties`: choices, loops, branches, correlated sources."""

import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.uncertainty import parameters
from agrad.engine.inspect.budget import budget

FUNCTIONS = ["sin", "cos", "exp", "tanh", "log", "sqrt"]
COUNT = 5  # of sources


def program(rng, depth):
    """A random program as a tree: the kind of a step, what it needs, and the programs of its operands."""
    if depth == 0:
        return ("source", rng.randrange(COUNT)) if rng.random() < 0.8 else ("constant", rng.uniform(0.5, 2.0))
    kinds = {"function": 1, "operator": 2, "where": 3, "larger": 2, "smaller": 2, "distance": 1, "loop": 2, "branch": 3}
    kind = rng.choices([*kinds], [25, 35, 10, 5, 5, 6, 8, 6])[0]
    detail = {"function": FUNCTIONS, "operator": "+-*/", "loop": [1, 2, 3, 4]}.get(kind, [None])
    return (kind, rng.choice(detail), *[program(rng, depth - 1) for _ in range(kinds[kind])])


def value(tree, sources, of):
    """The value of a program, by the functions of a package."""
    kind, detail, *operands = tree
    if kind == "source":
        return sources[detail]
    if kind == "constant":
        return detail
    if kind == "branch":
        test, then, other = operands
        return value(then if of.number(value(test, sources, of)) > 1.0 else other, sources, of)
    x, *others = (value(operand, sources, of) for operand in operands)
    if kind == "function":
        return getattr(of, detail)(x * x + 0.5 if detail in ("log", "sqrt") else 0.3 * x)
    if kind == "operator":
        (y,) = others
        return {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / (y * y + 1)}[detail]()
    if kind == "loop":
        for _ in range(detail):
            x = of.tanh(x * others[0]) + 0.1
        return x
    return getattr(of, kind)(x, *others)


OURS = SimpleNamespace(
    **{name: getattr(ag, name) for name in FUNCTIONS},
    where=lambda c, x, y: ag.where(c > 1.0, x, y),
    larger=ag.maximum,
    smaller=ag.minimum,
    distance=lambda x: ag.abs(x - 1.0),
    number=float,
)


def theirs():
    umath = pytest.importorskip("uncertainties.umath")

    def number(x):
        return getattr(x, "nominal_value", x)

    return SimpleNamespace(
        **{name: getattr(umath, name) for name in FUNCTIONS},
        where=lambda c, x, y: x if number(c) > 1.0 else y,
        larger=lambda x, y: x if number(x) > number(y) else y,
        smaller=lambda x, y: x if number(x) < number(y) else y,
        distance=lambda x: x - 1.0 if number(x) > 1.0 else 1.0 - x,
        number=number,
    )


def entries(vector):
    return [vector[place] for place in range(COUNT)]


def differences(vector):
    """The entries of a vector again, from its running sums."""
    sums = ag.cumsum(vector)
    return [sums[0], *[sums[place] - sums[place - 1] for place in range(1, COUNT)]]


WAYS = {  # to make sources with these values and covariances; whether they are correlated
    "numbers": (lambda values, c: list(map(ag.uncertain, values, np.sqrt(np.diag(c)).tolist())), False),
    "vector": (lambda values, c: entries(ag.uncertain(values, np.sqrt(np.diag(c)))), False),
    "sums": (lambda values, c: differences(ag.uncertain(values, np.sqrt(np.diag(c)))), False),
    "correlated": (lambda values, c: entries(ag.correlated(values, c)), True),
    "parameters": (parameters, True),
}


@pytest.mark.long
@each("way", WAYS)
def test_uncertainties_of_programs_equal_those_of_the_package(way):
    package, of, rng = pytest.importorskip("uncertainties"), theirs(), random.Random(way)
    make, are_correlated = WAYS[way]
    compared = 0
    while compared < 200:
        tree = program(rng, rng.randint(2, 5))
        values, us = ([rng.uniform(*ends) for _ in range(COUNT)] for ends in ((0.5, 2.0), (0.01, 0.2)))
        factors = np.array([[rng.gauss(0.0, 1.0) for _ in range(COUNT)] for _ in range(COUNT)])
        covariance = np.diag(np.square(us))
        if are_correlated:
            covariance = np.corrcoef(factors) * np.outer(us, us)
        uncertain = package.correlated_values(values, covariance) if are_correlated else map(package.ufloat, values, us)
        other = value(tree, list(uncertain), of)
        if not hasattr(other, "std_dev") or not 1e-6 < other.std_dev < math.inf:
            continue
        mine = value(tree, make(values, covariance), OURS)
        assert float(mine) == pytest.approx(other.nominal_value, rel=1e-12, abs=1e-12)
        # The package takes correlated values apart by an eigenvalue decomposition, which rounds.
        tolerance = 1e-9 if are_correlated else 1e-11 if way == "sums" else 1e-12
        assert ag.uncertainty(mine) == pytest.approx(other.std_dev, rel=tolerance, abs=1e-13), tree
        found = budget(mine)
        assert found.u == pytest.approx(other.std_dev, rel=tolerance, abs=1e-13)
        assert sum(row.share for row in found.sources) == pytest.approx(1.0)
        if mine.grad_fn is not None:
            mine.backward()
            assert ag.uncertainty(mine) == pytest.approx(other.std_dev, rel=tolerance, abs=1e-13)
        compared += 1


@each("case", range(60))
def test_uncertainties_of_arrays_are_those_of_their_jacobians(case):
    rng = np.random.default_rng(case)
    v, m = ag.uncertain(rng.uniform(0.5, 2.0, 3), rng.uniform(0.01, 0.2, 3)), ag.uncertain(1.5, 0.1)
    matrix = rng.standard_normal((3, 3))
    steps = [
        lambda x: ag.tensor(matrix) @ x,
        lambda x: ag.where(x > 1.0, ag.sin(x) * m, x),
        lambda x: ag.cumsum(x) * m,
        lambda x: ag.sort(x) + x,
        lambda x: ag.exp(-x * x) + m,
        lambda x: ag.maximum(x, m),
    ]
    y = v
    for step in rng.choice(len(steps), rng.integers(1, 5)):
        y = steps[step](y)
    by_v, by_m = (ag.jacobian(y + 0.0 * m * ag.sum(v), x).numpy().reshape(3, -1) for x in (v, m))
    parts = np.concatenate([by_v * v.node.uncertainty.u, by_m * 0.1], axis=1)
    np.testing.assert_allclose(ag.uncertainty(y), np.sqrt(np.sum(parts**2, axis=1)), rtol=1e-12, atol=1e-15)
