"""Random functions of arrays that decide by what they compute: values and derivatives, at points that take many paths.

100 of them, half of these of large arrays; AGRAD_SEEDS=2000 in the environment makes more.
"""

import os

import numpy as np
import pytest
from array_programs import Deciding
from thinned import thinned

import agrad.engine as ag
from agrad.engine.compile import specializations
from agrad.engine.compile.llvm import target

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")

SEEDS = int(os.environ.get("AGRAD_SEEDS", "100"))
GROUP = 5
GROUPS = [(group, is_large) for is_large in (False, True) for group in range(SEEDS // (2 * GROUP))]


@pytest.fixture
def soon(monkeypatch):
    """Specialisations become one function after few calls."""
    monkeypatch.setattr(specializations, "repaid_by_one_function", lambda length: 1e5)


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
@pytest.mark.parametrize(("group", "is_large"), thinned(GROUPS, 20))
def test_random_functions_that_decide_compute_what_they_compute_eagerly(soon, group, is_large):
    for seed in range(GROUP * group, GROUP * (group + 1)):
        f = Deciding(seed, is_large)
        points = f.points(12)
        expected = [eagerly(f, point) for point in points]
        compiled = ag.compile(f, *f.examples)
        for _ in range(4):
            for point, known in zip(points, expected, strict=True):
                same(compiled.value_and_grad(*point), known)
                near(compiled.value(*point), known[0], 1.0)
        for point in f.points(4, 1):
            same(compiled.value_and_grad(*point), eagerly(f, point))
