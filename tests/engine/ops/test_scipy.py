"""Functions of SciPy at 200 random points: the values are SciPy's, the derivatives those of differences of SciPy."""

import math

import numpy as np
import pytest
from differences import error_of
from refused import refusals, refuses
from rows import each

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


@each("name", FUNCTIONS)
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
        slope = ag.grad(ag.rgamma)(-float(n))
        assert slope == pytest.approx((-1) ** n * math.factorial(n), rel=1e-12)


@each("x, slope", [(math.inf, 0.0), (300.0, 0.0), (-math.inf, math.nan), (math.nan, math.nan)])
def test_the_reciprocal_gamma_function_far_out(x, slope):
    assert ag.grad(ag.rgamma)(x) == pytest.approx(slope, nan_ok=True)


def test_the_sign_of_the_gamma_function():
    expected = [1.0, 1.0, -1.0, math.nan, -1.0, 1.0, math.nan, math.nan]
    found = ag.gammasgn([2.0, 0.0, -0.0, -1.0, -0.5, -1.5, math.nan, -math.inf])
    np.testing.assert_array_equal(found, expected)


def test_the_multivariate_gamma_function_needs_a_large_enough_number():
    np.testing.assert_array_equal(np.isnan(ag.multigammaln([0.9, 1.0, 1.1], 3)), [True, True, False])
    refuses(lambda: ag.multigammaln(2.0, 0), "d must be at least 1, and is 0")


@each("axis", [None, 0, 1, (0, 1)])
@each("keepdims", [False, True])
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


@each("letter", ["L", "U", "u"])
@each("shape", [(6, 6), (2, 3, 5, 5)])
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


@each("name", ["iv", "ive", "kv", "kve", "jv", "yv"])
def test_scipys_own_bessel_functions_take_tensors(name):
    x = ag.tensor([0.5, 2.0], requires_grad=True)
    y = getattr(special, name)(1.5, x)
    assert ag.grad(y.sum(), x).shape == (2,)
    np.testing.assert_array_equal(y.detach().numpy(), getattr(special, name)(1.5, [0.5, 2.0]))


# Convolution of arrays

signal = pytest.importorskip("scipy.signal")
linalg = pytest.importorskip("scipy.linalg")


def slopes(function, xs):
    """The derivative in a random direction at random weights: by the gradient, and by differences."""
    rng = np.random.default_rng(11)
    leaves = [ag.tensor(x, requires_grad=True) for x in xs]
    y = function(*leaves)
    weights = rng.normal(size=y.shape)
    ways = [rng.normal(size=x.shape) for x in xs]
    found = sum(np.sum(g.numpy() * way) for g, way in zip(ag.grad(ag.sum(y * weights), leaves), ways, strict=True))

    def along(h):
        return float(np.sum(function(*[x + h * way for x, way in zip(xs, ways, strict=True)]) * weights))

    return found, derivative(along, 0.0, 1e-3)


@each("mode", ["full", "valid", "same"])
@each("case", range(COUNT // 10))
def test_convolution_of_arrays_is_that_of_scipy(mode, case):
    rng = np.random.default_rng(case)
    count = rng.integers(1, 4)
    small = rng.integers(1, 4, count)
    x, y = rng.normal(size=small + rng.integers(0, 4, count)), rng.normal(size=small)
    np.testing.assert_allclose(ag.convolve(x, y, mode=mode), signal.convolve(x, y, mode), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(*slopes(lambda x, y: ag.convolve(x, y, mode=mode), [x, y]), rtol=1e-9, atol=1e-9)
    if mode != "same":
        np.testing.assert_allclose(ag.convolve(y, x, mode=mode), signal.convolve(y, x, mode), rtol=1e-11, atol=1e-12)


@each("mode", ["full", "valid", "same"])
@each("axes", [0, 2, (0, 2), (1, -1)])
@each("shapes", [((4, 3, 5), (2, 3, 2)), ((4, 3, 5), (1, 1, 2)), ((4, 1, 5), (1, 1, 1))])
def test_convolution_along_some_axes_is_that_of_scipy(mode, axes, shapes):
    rng = np.random.default_rng(1)
    x, y = [rng.normal(size=shape) for shape in shapes]
    if any(x.shape[k] < y.shape[k] for k in np.atleast_1d(axes)):
        x, y = y, x
    try:
        expected = signal.fftconvolve(x, y, mode, axes=axes)
    except ValueError:
        with pytest.raises(ag.AgradError):
            ag.convolve(x, y, mode=mode, axes=axes)
        return
    np.testing.assert_allclose(ag.convolve(x, y, mode=mode, axes=axes), expected, rtol=1e-11, atol=1e-12)
    found = slopes(lambda x, y: ag.convolve(x, y, mode=mode, axes=axes), [x, y])
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


@each("mode", ["full", "valid", "same"])
@each("axes", [None, 1])
def test_third_derivatives_of_convolutions(mode, axes):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(3, 3)), rng.normal(size=(1, 2))
    assert error_of(lambda x, y: ag.convolve(x * x, y * y, mode=mode, axes=axes), (x, y), 3) < 1e-8


@each("call, kind, message", [*refusals("convolution", globals()), *refusals("systems of equations", globals())])
def test_what_is_neither_convolved_nor_solved(call, kind, message):
    refuses(call, message, kind=kind)


# Equations


@each("case", range(COUNT // 10))
def test_sylvesters_equation_is_solved_as_by_scipy(case):
    rng = np.random.default_rng(case)
    m, n = rng.integers(1, 6, 2)
    xs = [rng.normal(size=(m, m)) + 4.0 * np.eye(m), rng.normal(size=(n, n)) + 4.0 * np.eye(n), rng.normal(size=(m, n))]
    np.testing.assert_allclose(ag.solve_sylvester(*xs), linalg.solve_sylvester(*xs), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(*slopes(ag.solve_sylvester, xs), rtol=1e-8, atol=1e-9)


SQUARE = np.array([[1.0, 2.0], [3.0, 4.0]])


@each("case", range(COUNT // 10))
def test_banded_systems_are_solved_as_by_scipy(case):
    rng = np.random.default_rng(case)
    size, lower, upper = rng.integers(2, 7), rng.integers(0, 4), rng.integers(0, 4)
    bands = rng.normal(size=(lower + upper + 1, size))
    bands[upper] += 6.0
    right = rng.normal(size=(size, 3) if case % 2 else size)
    both = (int(lower), int(upper))
    found = ag.solve_banded(both, bands, right)
    np.testing.assert_allclose(found, linalg.solve_banded(both, bands, right), rtol=1e-11, atol=1e-12)
    found = slopes(lambda x, y: ag.solve_banded(both, x, y), [bands, right])
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-9)


@each("lower, upper", [(0, 0), (1, 0), (0, 2), (1, 1), (2, 3)])
def test_a_banded_system_of_one_row_is_a_division(lower, upper):
    bands = np.arange(2.0, lower + upper + 3.0)[:, None]
    assert ag.solve_banded((lower, upper), bands, [6.0]).tolist() == [6.0 / bands[upper, 0]]
    gradient = ag.grad(lambda x: ag.sum(ag.solve_banded((lower, upper), x, [6.0])))(bands)
    expected = np.zeros_like(bands)
    expected[upper] = -6.0 / bands[upper] ** 2
    np.testing.assert_allclose(gradient, expected)
    refuses(lambda: ag.solve_banded((lower, upper), bands * 0.0, [6.0]), "the matrix is singular")


def test_equations_without_unknowns_and_of_nan():
    assert ag.solve_banded((1, 1), np.ones((3, 0)), np.ones(0)).shape == (0,)
    assert ag.solve_banded((1, 1), np.ones((3, 2)), np.ones((2, 0))).shape == (2, 0)
    assert ag.solve_sylvester(np.ones((0, 0)), np.eye(2), np.ones((0, 2))).shape == (0, 2)
    assert np.isnan(ag.solve_sylvester(SQUARE, SQUARE, np.full((2, 2), np.nan))).all()


def test_a_banded_system_is_that_of_the_whole_matrix_in_all_orders():
    bands, right = np.array([[math.nan, 1.0, 0.5], [4.0, 3.0, 5.0], [0.7, -1.0, math.inf]]), np.array([1.0, 2.0, 3.0])

    def whole(x, y):
        rows = [[x[1, 0], x[0, 1], 0.0], [x[2, 0], x[1, 1], x[0, 2]], [0.0, x[2, 1], x[1, 2]]]
        return ag.solve(ag.stack([ag.stack(row) for row in rows]), y)

    found, expected = (
        ag.hessian(lambda x, f=f: ag.sum(f(x, right) ** 3))(bands)
        for f in (lambda x, y: ag.solve_banded((1, 1), x, y), whole)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    gradient = ag.grad(lambda x: ag.sum(ag.solve_banded((1, 1), x, right)))(bands)
    assert gradient[0, 0] == gradient[2, 2] == 0.0
