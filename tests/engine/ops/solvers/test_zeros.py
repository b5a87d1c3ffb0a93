"""All real zeros of equations whose zeros are known: none is missing, none is wrong."""

import math
import random

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.engine.ops.solvers.functions import zeros_of

NAMES = "abs atan cos cosh exp floor log sin sqrt tan tanh".split()
APART = 1e-3  # two known zeros are not nearer to each other


def found(f, ends=()):
    """The zeros, each with whether it is a repeated one."""
    zeros = zeros_of(f, ends)[1]
    return list(zip(zeros.places, zeros.repeated, strict=True))


def compare(text, f, ends, known, close):
    """`known`: by each zero, how often it is one."""
    there = found(f, ends)
    assert len(there) == len(known), (text, ends, there, sorted(known.items()))
    for (x, is_repeated), (expected, times) in zip(there, sorted(known.items()), strict=True):
        assert is_repeated == (times > 1), (text, ends, there, known)
        assert abs(x - expected) <= (close if times == 1 else 2e-5) * max(abs(expected), 1.0), (text, there, known)


def polynomial(rng):
    """A polynomial with zeros that are whole numbers, expanded, or decimal numbers, in factors."""
    is_expanded, known, degree = rng.random() < 0.6, {}, rng.randint(1, 12)
    coefficients, factors = [1], []
    while (left := degree - len(coefficients) + 1) > 0:
        if left > 1 and rng.random() < 0.2:  # without real zeros
            b, c = rng.randint(-3, 3), rng.randint(3, 5)
            factor, text, times = [c, b, 1], f"(x**2 + {b}*x + {c})", 1
        else:
            root = rng.randint(-6, 6) if is_expanded else rng.randint(-900, 900) / 100
            if any(abs(root - other) < APART for other in known):
                continue
            times = min(left, rng.choice([1, 1, 1, 2, 3]))
            known[root], factor, text = times, [-root, 1], f"(x - ({root}))**{times}"
        factors.append(text)
        for _ in range(times):
            coefficients = np.convolve(coefficients, factor).tolist()
    expanded = " + ".join(f"({c})*x**{k}" for k, c in enumerate(coefficients) if c)
    return (expanded if is_expanded else "*".join(factors)), known


def product(rng):
    """A product with sin, exp and log, and an interval."""
    low = rng.uniform(-5, 2)
    high = low + rng.uniform(0.5, 12)
    known, factors, start = {}, [], -math.inf
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(["power", "power", "sin", "exp", "log"])
        if kind == "power":
            root, times = round(rng.uniform(low, high), 3), rng.choice([1, 1, 2, 3])
            factors.append(f"(x - {root})**{times}")
            zeros = {root: times}
        elif kind == "sin":
            a, p = round(rng.uniform(0.3, 4), 2), round(rng.uniform(-3, 3), 2)
            factors.append(f"sin({a}*x + {p})")
            zeros = {(k * math.pi - p) / a: 1 for k in range(-60, 60)}
        elif kind == "exp":
            b, c = round(rng.uniform(-2, 2), 2) or 1.0, round(rng.uniform(0.1, 9), 2)
            factors.append(f"(exp({b}*x) - {c})")
            zeros = {math.log(c) / b: 1}
        else:
            s = round(rng.uniform(-low - 3, 6), 2)
            factors.append(f"log(x + {s})")
            zeros, start = {1 - s: 1}, max(start, -s)
        for x, times in zeros.items():
            if any(abs(x - other) < APART for other in known):
                return product(rng)
            known[x] = times
    factors.append(rng.choice(["1", "exp(-x/3)", "(x**2 + 1)", "cosh(x)", "(2 + sin(x))"]))
    if any(min(abs(x - low), abs(x - high), abs(x - start)) < APART for x in known):
        return product(rng)
    return "*".join(factors), (low, high), {x: times for x, times in known.items() if max(low, start) < x < high}


def function(text):
    return eval(f"lambda x: {text}", {name: getattr(ag, name) for name in NAMES})


many = pytest.mark.parametrize("count", [100, pytest.param(2500, marks=pytest.mark.long)])


@many
def test_all_zeros_of_polynomials_are_found(count):
    rng = random.Random(1)
    for _ in range(count):
        text, known = polynomial(rng)
        compare(text, function(text), (), known, 1e-14)


@many
def test_all_zeros_of_products_in_an_interval_are_found(count):
    rng = random.Random(2)
    for _ in range(count):
        text, ends, known = product(rng)
        compare(text, function(text), ends, known, 1e-9)


@each(
    "text, ends, expected",
    [
        ("x**2 - 0.2*x + 0.01", (), [(0.1, True)]),  # the numbers that are typed, not the floats
        ("x**2 - 2*sqrt(2)*x + 2", (), [(math.sqrt(2), True)]),  # computed ones are rounded
        ("x**2 - 2*x + 1.00000001", (), []),
        ("x + 1/x - 2.5", (), [(0.5, False), (2.0, False)]),
        ("(x - 1)**2/(x - 1)", (), []),  # where the function has no value
        ("tan(x)", (1, 7), [(math.pi, False), (2 * math.pi, False)]),  # which also changes its sign at poles
        ("floor(x) - 0.5", (0, 5), []),
        ("atan(1/x**2) - 2", (-1, 2), []),  # where a number inside is large, and its rounding hides nothing
        ("atan(1.7*x - x/(x + 1))/((atan(x) + 0.9)**2 + 0.1) + 1", (-3, 1), []),
        ("1/(tanh(x*x + x/(x + 2)) + 2) - 0.5", (-3, 1), [(-1.0, True), (0.0, False)]),
        ("cos(x) - 1", (-1, 7), [(0.0, True), (2 * math.pi, True)]),
        ("x**2 + 1e-12*exp(x)", (-1, 1), []),
        ("exp(x) - x - 1", (-1, 1), [(0.0, True)]),
        ("sqrt(x - 1)", (0, 3), [(1.0, True)]),  # at the end of its domain
        ("abs(x - 1)", (0, 3), [(1.0, True)]),
        ("(x - 0.3)**2*(x - 0.305)*exp(x)", (0, 20), [(0.3, True), (0.305, False)]),
        ("exp(x) - 1e10", (), [(math.log(1e10), False)]),  # far from 0
    ],
)
def test_zeros_are_told_from_what_looks_like_them(text, ends, expected):
    there = found(function(text), ends)
    assert [is_repeated for _, is_repeated in there] == [is_repeated for _, is_repeated in expected]
    assert [x for x, _ in there] == pytest.approx([x for x, _ in expected], rel=1e-9, abs=1e-9)


@each("text, ends", [("sin(1/x)", (0, 1)), ("(x + abs(x))*exp(x)", (-1, 1))])
def test_what_cannot_be_searched_is_refused(text, ends):
    with pytest.raises(AgradError, match=r"too often|all the way"):
        found(function(text), ends)


def test_a_zero_moves_with_what_the_equation_uses_and_has_its_derivatives():
    a = ag.tensor(4.0, requires_grad=True)
    roots, _ = zeros_of(lambda x: x**2 - a)
    slopes = [ag.grad(root, a, create_graph=True) for root in roots]
    assert [float(slope.data) for slope in slopes] == [-0.25, 0.25]
    assert float(ag.grad(slopes[1], a).data) == pytest.approx(-1 / 32)


def test_a_repeated_zero_has_no_derivative():
    a = ag.tensor(1.0, requires_grad=True)
    (root,), _ = zeros_of(lambda x: (x - a) ** 2)
    with pytest.raises(AgradError, match="no simple root"):
        root.backward()
