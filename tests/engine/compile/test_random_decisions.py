"""Random functions of arrays that decide by what they compute: values and derivatives, at points that take many paths.

60 of them, half of these of large arrays; AGRAD_SEEDS=2000 in the environment makes more.
"""

import os

import numpy as np
import pytest
from array_programs import Deciding
from rows import each

import agrad.engine as ag
from agrad.engine.compile import specializations
from agrad.engine.compile.llvm import target

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")

SEEDS = int(os.environ.get("AGRAD_SEEDS", "60"))
GROUP = 5
GROUPS = [(group, is_large) for is_large in (False, True) for group in range(SEEDS // (2 * GROUP))]


@pytest.fixture
def soon(monkeypatch):
    """Specialisations become one function after few calls."""
    monkeypatch.setattr(specializations, "repaid_by_one_function", lambda length: 1e6 + 1e3 * length)


def eagerly(f, point):
    leaves = [ag.tensor(x, requires_grad=True) for x in point]
    y = f(*leaves)
    y.backward()
    return y.item(), tuple([np.zeros(x.shape) if x.grad is None else x.grad.value for x in leaves])


def near(found, expected, scale, digits=1e-10):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=digits, atol=digits * scale)


def same(found, expected):
    entries = np.abs(np.concatenate([np.ravel(x) for x in (expected[0], *expected[1])]))
    scale = max(entries[np.isfinite(entries)], default=1.0) + 1.0
    for one, other in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        near(one, other, scale)


@pytest.mark.long
@each("group, is_large", GROUPS, short=20)
def test_random_functions_that_decide_compute_what_they_compute_eagerly(soon, group, is_large):
    for seed in range(GROUP * group, GROUP * (group + 1)):
        f = Deciding(seed, is_large)
        points = f.points(8)
        expected = [eagerly(f, point) for point in points]
        compiled = ag.compile(f, *f.examples)
        for _ in range(4):
            for point, known in zip(points, expected, strict=True):
                same(compiled.value_and_grad(*point), known)
                near(compiled.value(*point), known[0], 1.0)
        for point in f.points(4, 1):
            same(compiled.value_and_grad(*point), eagerly(f, point))
        if seed % GROUP == 1:
            check_products(f, compiled, points[:6], expected)
        if seed % GROUP == 2:
            check_rows(compiled, points, expected)


def check_products(f, compiled, points, expected):
    for _ in range(3):
        for point, (value, slopes) in zip(points, expected, strict=False):
            direction = tuple(np.cos(np.asarray(x) * 3) for x in point)
            along = sum(float(np.sum(s * v)) for s, v in zip(slopes, direction, strict=True))
            near(compiled.jvp(point, direction), along, abs(along) + abs(value), 1e-9)
            for one, slope in zip(compiled.vjp(point, 2.0), slopes, strict=True):
                near(one, 2.0 * slope, np.abs(slope).max() + 1.0)
            products = [x.value for x in ag.hvp(f, point, direction)]
            most = max(1.0, *[np.abs(x).max() for x in products])
            for one, other in zip(compiled.hvp(point, direction), products, strict=True):
                near(one, other, most, 1e-8)


def check_rows(compiled, points, expected):
    columns = [np.array(several) for several in zip(*points, strict=True)]
    for _ in range(3):
        values, slopes = compiled.map(*columns)
        for row, known in enumerate(expected):
            same((values[row], [one[row] for one in slopes]), known)


def crossroads(x):
    total = ag.sum(x * x)
    for k in range(12):
        total = total * 1.1 + x[k] if x[k] > 0.0 else total - ag.sin(x[k] * total)
    return total


@pytest.mark.long
@each("size", [12, 150])
def test_where_nearly_every_call_takes_a_new_path_most_are_computed_without_a_program(monkeypatch, size):
    monkeypatch.setattr(specializations, "_FEW", 4)
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, size)) * 0.4
    compiled = ag.compile(crossroads, points[0])
    v = np.cos(np.arange(size))
    families = set()
    for x in points:
        value, (slope,) = eagerly(crossroads, (x,))
        near(compiled.value(x), value, 1.0)
        same((value, [compiled.grad(x)]), (value, [slope]))
        near(compiled.jacobian(x), slope, 1.0, 1e-9)
        near(compiled.jvp(x, v), slope @ v, 1.0, 1e-9)
        near(compiled.vjp(x, 3.0), 3.0 * slope, 1.0, 1e-9)
        near(compiled.hvp(x, v), ag.hvp(crossroads, x, v).value, 10.0, 1e-8)
        families |= {compiled._value, compiled._gradient, compiled._rows, *compiled._products.values()}
    assert len(families) == 6
    for family in families:
        assert family.is_retracing and len(family.known) < 20


def test_hessians_of_new_paths_are_made_without_programs(monkeypatch):
    monkeypatch.setattr(specializations, "_FEW", 3)
    points = np.random.default_rng(2).normal(size=(25, 12)) * 0.4
    compiled = ag.compile(crossroads, points[0])
    for x in points:
        near(compiled.hessian(x), ag.hessian(crossroads)(ag.tensor(x)).value, 10.0, 1e-8)
    assert len(compiled._hessian.specializations.known) < 10
