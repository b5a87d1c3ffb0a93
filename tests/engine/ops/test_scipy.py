"""Functions of SciPy at 200 random points: the values are SciPy's, the derivatives those of differences of SciPy."""

import math

import numpy as np
import pytest

import agrad.engine as ag

special = pytest.importorskip("scipy.special")
COUNT = 200

# agrad's function, SciPy's, and the range of the points
FUNCTIONS = {
    "rgamma": (ag.rgamma, special.rgamma, (-8.0, 12.0)),
    "gammasgn": (ag.gammasgn, special.gammasgn, (-30.0, 5.0)),
    "multigammaln, 1": (lambda x: ag.multigammaln(x, 1), lambda x: special.multigammaln(x, 1), (0.1, 30.0)),
    "multigammaln, 5": (lambda x: ag.multigammaln(x, 5), lambda x: special.multigammaln(x, 5), (2.1, 30.0)),
    "ive": (lambda x: ag.ive(2, x), lambda x: special.ive(2, x), (-30.0, 30.0)),
    "ive, 2.5": (lambda x: ag.ive(2.5, x), lambda x: special.ive(2.5, x), (0.1, 900.0)),
    "kve": (lambda x: ag.kve(2, x), lambda x: special.kve(2, x), (0.1, 900.0)),
}


def derivative(function, x, h):
    """By central differences of the fourth order."""
    near = function(x + h) - function(x - h)
    far = function(x + 2.0 * h) - function(x - 2.0 * h)
    return (8.0 * near - far) / (12.0 * h)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives_are_those_of_scipy(name):
    function, scipys, (low, high) = FUNCTIONS[name]
    points = np.random.default_rng(5).uniform(low, high, COUNT)
    points = points[np.abs(points - np.round(points)) > 0.01]  # of gammasgn, which jumps
    values = scipys(points)
    np.testing.assert_allclose(function(points), values, rtol=1e-11, atol=0)
    np.testing.assert_allclose([function(float(x)) for x in points], values, rtol=1e-11, atol=0)
    x = ag.tensor(points, requires_grad=True)
    first = ag.grad(function(x).sum(), x, create_graph=True)
    expected = derivative(scipys, points, 1e-3)
    np.testing.assert_allclose(first.detach().numpy(), expected, rtol=1e-8, atol=1e-9 * np.max(np.abs(values)))
    if first.requires_grad:
        second = ag.grad(first.sum(), x)
        expected = derivative(lambda p: derivative(scipys, p, 1e-3), points, 1e-3)
        scale = np.max(np.abs(values))
        np.testing.assert_allclose(second.numpy(), expected, rtol=1e-5, atol=1e-6 * scale)


def test_derivatives_of_the_reciprocal_gamma_function_where_it_is_0():
    """The coefficients of its power series: DLMF 5.7.1."""
    derivatives, x = [], ag.tensor(0.0, requires_grad=True)
    y = ag.rgamma(x)
    for _ in range(5):
        y = ag.grad(y, x, create_graph=True)
        derivatives.append(y.item())
    series = [1.0, 0.5772156649015329, -0.6558780715202538, -0.0420026350340952, 0.1665386113822915]
    np.testing.assert_allclose(derivatives, [math.factorial(k + 1) * c for k, c in enumerate(series)], rtol=1e-13)
    for n in range(30):
        assert ag.rgamma(-float(n)) == 0.0
        slope = ag.grad(ag.rgamma)(-float(n)).item()
        assert slope == pytest.approx((-1) ** n * math.factorial(n), rel=1e-12)


@pytest.mark.parametrize(("x", "slope"), [(math.inf, 0.0), (300.0, 0.0), (-math.inf, math.nan), (math.nan, math.nan)])
def test_the_reciprocal_gamma_function_far_out(x, slope):
    assert ag.grad(ag.rgamma)(x).item() == pytest.approx(slope, nan_ok=True)


def test_the_sign_of_the_gamma_function():
    expected = [1.0, 1.0, -1.0, math.nan, -1.0, 1.0, math.nan, math.nan]
    found = ag.gammasgn([2.0, 0.0, -0.0, -1.0, -0.5, -1.5, math.nan, -math.inf])
    np.testing.assert_array_equal(found, expected)


def test_the_multivariate_gamma_function_needs_a_large_enough_number():
    np.testing.assert_array_equal(np.isnan(ag.multigammaln([0.9, 1.0, 1.1], 3)), [True, True, False])
    with pytest.raises(ag.AgradError, match="d must be at least 1, and is 0"):
        ag.multigammaln(2.0, 0)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_weights_of_logsumexp(axis, keepdims):
    rng = np.random.default_rng(7)
    for _ in range(25):
        x, b = rng.normal(size=(3, 4)) * 3.0, rng.uniform(0.0, 2.0, (3, 4))
        b[0, 1] = 0.0
        found = ag.logsumexp(x, axis=axis, keepdims=keepdims, b=b)
        np.testing.assert_allclose(found, special.logsumexp(x, axis=axis, b=b, keepdims=keepdims), rtol=1e-13)
        leaves = [ag.tensor(one, requires_grad=True) for one in (x, b)]
        y = ag.logsumexp(leaves[0], axis=axis, keepdims=keepdims, b=leaves[1]).sum()
        by_x, by_b = ag.grad(y, leaves)
        share = np.exp(x - special.logsumexp(x, axis=axis, b=b, keepdims=True))
        np.testing.assert_allclose(by_x.numpy(), b * share, rtol=1e-12)
        np.testing.assert_allclose(by_b.numpy(), share, rtol=1e-12)


def test_weights_of_logsumexp_far_out_and_spread():
    assert ag.logsumexp([1e3, 0.0], b=[0.0, 2.0]) == pytest.approx(math.log(2.0))
    assert math.isnan(ag.logsumexp([0.0, 0.0], b=[1.0, -2.0]))
    x = ag.tensor([1e3, 0.0], requires_grad=True)
    assert ag.grad(ag.logsumexp(x, b=[0.0, 2.0]), x).tolist() == [0.0, 1.0]
    b = ag.tensor([2.0], requires_grad=True)
    assert ag.grad(ag.logsumexp([[1.0, 2.0], [4.0, 3.0]], b=b), b).tolist() == pytest.approx([0.5])


@pytest.mark.parametrize("letter", ["L", "U", "u"])
@pytest.mark.parametrize("shape", [(6, 6), (2, 3, 5, 5)])
def test_eigenvectors_of_either_triangle_are_those_of_numpy(letter, shape):
    """In their signs, too: these differ between the triangles."""
    x = np.random.default_rng(3).normal(size=shape)
    leaf = ag.tensor(x, requires_grad=True)
    for found, expected in zip(np.linalg.eigh(leaf, letter), np.linalg.eigh(x, letter), strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    weights = np.random.default_rng(4).normal(size=shape)
    direction = np.random.default_rng(5).normal(size=shape)
    slope = np.sum(ag.grad(np.sum(np.linalg.eigh(leaf, letter)[1] * weights), leaf).numpy() * direction)
    moved = [np.sum(np.linalg.eigh(x + h * direction, letter)[1] * weights) for h in (1e-6, -1e-6)]
    assert slope == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("name", ["iv", "ive", "kv", "kve", "jv", "yv"])
def test_scipys_own_bessel_functions_take_tensors(name):
    x = ag.tensor([0.5, 2.0], requires_grad=True)
    y = getattr(special, name)(1.5, x)
    assert ag.grad(y.sum(), x).shape == (2,)
    np.testing.assert_array_equal(y.detach().numpy(), getattr(special, name)(1.5, [0.5, 2.0]))
