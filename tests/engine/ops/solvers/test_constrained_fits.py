"""Fits with bounds, robust losses, errors in x and correlated measurements, beside SciPy."""

import numpy as np
import pytest
from refused import refuses
from rows import each
from test_fitting import PROBLEMS, known_model, problem

import agrad.engine as ag

pytest.importorskip("scipy")

from scipy import optimize

from agrad.engine.ops.solvers.fitting import Data, Errors, together
from agrad.engine.ops.solvers.least_squares import Within, unbounded
from agrad.engine.ops.solvers.losses import LOSSES, Loss

X = np.linspace(0.0, 5.0, 60)
CHANCE = np.random.default_rng(0)
Y = 2.0 * np.exp(-0.7 * X) + 0.3 + 0.02 * CHANCE.standard_normal(60)
Y[::13] += 1.0
FREE = [(-np.inf, np.inf)] * 3


def decay(of, p, x):
    return p[0] * of.exp(-p[1] * x) + p[2]


def model(a, b, c):
    return decay(ag, (a, b, c), X)


def cost(p, loss):
    residuals = decay(np, p, X) - Y
    return np.sum(residuals**2) if loss is None else np.sum(loss.of(residuals)[0])


@each("name", [*LOSSES])
def test_a_loss_is_that_of_scipy_with_its_slope_and_bend(name):
    scale, residuals, h = 0.7, np.array([-3.0, -0.5, 0.0, 0.2, 0.69, 0.71, 2.0]), 1e-6
    rho, weight, bend = Loss(name, scale).of(residuals)
    theirs = [
        2.0 * optimize.least_squares(lambda _, r=r: np.array([r]), [0.0], loss=name, f_scale=scale).cost
        for r in residuals
    ]
    np.testing.assert_allclose(rho, theirs, rtol=1e-12)
    ends = [Loss(name, scale).of(residuals + step) for step in (h, -h)]
    np.testing.assert_allclose((ends[0][0] - ends[1][0]) / (4 * h), weight * residuals, atol=1e-8)
    slopes = [end[1] * (residuals + step) for end, step in zip(ends, (h, -h), strict=True)]
    np.testing.assert_allclose((slopes[0] - slopes[1]) / (2 * h), bend, atol=1e-8)


CASES = [
    (bounds, loss)
    for bounds in (
        FREE,
        [(0, 10)] * 3,
        [(0, 1.5), (0, 5), (0, 5)],
        [(0, 1.5), (0, 0.4), (0.5, 5)],
        [(2.5, 3), (0, 5), (0, 0.1)],
    )
    for loss in (None, Loss("huber", 0.05), Loss("soft_l1", 0.05), Loss("cauchy", 0.05), Loss("arctan", 0.1))
]


@each("bounds, loss", CASES)
def test_a_bounded_robust_fit_is_that_of_scipy(bounds, loss):
    low, high = np.array(bounds, dtype=float).T
    found = together([Data(model, Y)], list("abc"), np.clip(1.0, low, high).tolist(), within=Within.of(bounds, loss))
    assert not found.problem
    inside = np.clip(found.values, low + 1e-6, high - 1e-6)
    how = {"loss": "linear" if loss is None else loss.name, "f_scale": 1.0 if loss is None else loss.scale}
    theirs = optimize.least_squares(
        lambda p: decay(np, p, X) - Y,
        inside,
        bounds=(low, high),
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        x_scale="jac",
        **how,
    )
    np.testing.assert_allclose(found.values, theirs.x, atol=2e-7)
    assert cost(found.values, loss) <= cost(theirs.x, loss) * (1 + 1e-12)
    assert np.all((found.values == low) | (found.values == high) | found.free)
    assert np.array_equal(found.u == 0.0, ~found.free)


def test_the_uncertainties_of_a_robust_fit_are_those_of_repeated_measurements():
    chance, x = np.random.default_rng(3), np.linspace(0.0, 1.0, 60)
    within, values, told = unbounded(2, Loss("huber", 0.1)), [], []
    for _ in range(300):
        y = 1.0 + 2.0 * x + 0.1 * chance.standard_t(2.0, size=60)
        found = together([Data(lambda a, b: a + b * x, y)], ["a", "b"], [1.0, 2.0], within=within)
        values.append(found.values)
        told.append(found.u)
    np.testing.assert_allclose(np.std(values, axis=0), np.mean(told, axis=0), rtol=0.15)


@pytest.mark.long
@each("path", PROBLEMS)
def test_bounds_that_are_not_active_and_losses_leave_the_problems_of_nist_solved(path):
    y, x, rows, text, rss = problem(path)
    names, f = known_model(rows, text, x)
    certified = rows[:, 2]
    wide = [sorted((-abs(value) - 1e3, 10 * abs(value) + 1e3)) for value in np.abs(rows[:, :3]).max(axis=1)]
    s = np.sqrt(rss / (len(y) - len(rows)))
    ends = []
    for start in (0, 1):
        found = together([Data(f, y)], names, rows[:, start], within=Within.of(wide))
        assert not found.problem
        np.testing.assert_allclose(found.values, certified, rtol=1e-9)
        robust = together([Data(f, y)], names, rows[:, start], within=unbounded(len(names), Loss("soft_l1", 2 * s)))
        assert not robust.problem
        ends.append(robust.passes.sums.cost)
        wider = together([Data(f, y)], names, rows[:, start], within=Within.of(wide, Loss("soft_l1", 1e9 * s)))
        assert not wider.problem
        np.testing.assert_allclose(wider.values, certified, rtol=1e-9)
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)  # the terms of a sum may have changed places


def errors_in_x():
    """x and y with the uncertainties of both."""
    chance, true = np.random.default_rng(0), np.linspace(0.0, 5.0, 40)
    of_x, of_y = np.full(40, 0.1), 0.05 + 0.02 * true
    x = true + of_x * chance.standard_normal(40)
    return x, of_x, decay(np, (2.0, 0.7, 0.3), true) + of_y * chance.standard_normal(40), of_y


def of_x(a, b, c, x):
    return decay(ag, (a, b, c), x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_errors_in_x_by_orthogonal_distance_are_those_of_odrpack():
    odr = pytest.importorskip("scipy.odr")
    x, u, y, sigma = errors_in_x()
    found = together([Data(of_x, y, sigma, Errors("orthogonal", [x], [u]))], list("abc"), [1.0, 1.0, 0.0])
    data = odr.RealData(x, y, sx=u, sy=sigma)
    theirs = odr.ODR(data, odr.Model(lambda p, x: decay(np, p, x)), beta0=[1, 1, 0], sstol=1e-16, partol=1e-16).run()
    np.testing.assert_allclose(found.values, theirs.beta, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, theirs.cov_beta, rtol=1e-5)
    assert found.chi2 == pytest.approx(theirs.sum_square, rel=1e-12)


def test_errors_in_x_add_to_the_variance_of_y():
    x, u, y, sigma = errors_in_x()
    found = together([Data(of_x, y, sigma, Errors("effective", [x], [u]))], list("abc"), [1.0, 1.0, 0.0])

    def chi2(p):
        return np.sum((y - decay(np, p, x)) ** 2 / (sigma**2 + (p[0] * p[1] * np.exp(-p[1] * x) * u) ** 2))

    options = {"xatol": 1e-10, "fatol": 1e-14}
    theirs = optimize.minimize(chi2, found.values + 0.01, method="Nelder-Mead", options=options)
    np.testing.assert_allclose(found.values, theirs.x, rtol=1e-7)
    assert found.chi2 == pytest.approx(theirs.fun, rel=1e-12)


def test_both_ways_are_one_for_a_line_and_that_of_york():
    # D. York, Can. J. Phys. 44 (1966) 1079: the data of Pearson with his weights; the slope and intercept that
    # Reed, Am. J. Phys. 57 (1989) 642, gives
    x = np.array([0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4])
    y = np.array([5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5])
    of_x = 1 / np.sqrt([1e3, 1e3, 500, 800, 200, 80, 60, 20, 1.8, 1.0])
    of_y = 1 / np.sqrt([1, 1.8, 4, 8, 20, 20, 70, 70, 100, 500])
    for method in ("orthogonal", "effective"):
        found = together(
            [Data(lambda a, b, x: a + b * x, y, of_y, Errors(method, [x], [of_x]))], ["a", "b"], [5.0, -0.5]
        )
        np.testing.assert_allclose(found.values, [5.47991022, -0.48053341], rtol=1e-8)
        assert found.chi2 == pytest.approx(11.8663531941, rel=1e-9)


def test_a_covariance_matrix_of_measurements_is_used():
    matrix = 0.02 * np.exp(-np.abs(X[:, None] - X))
    found = together([Data(model, Y, matrix)], list("abc"), [1.0, 1.0, 0.0])
    inverse = np.linalg.inv(matrix)
    slopes = np.stack([np.exp(-found.values[1] * X), -found.values[0] * X * np.exp(-found.values[1] * X), np.ones(60)])
    residuals = decay(np, found.values, X) - Y
    assert np.all(np.abs(slopes @ inverse @ residuals) <= 1e-9 * np.linalg.norm(slopes @ inverse, axis=1))
    np.testing.assert_allclose(found.covariance, np.linalg.inv(slopes @ inverse @ slopes.T), rtol=1e-9)
    assert found.chi2 == pytest.approx(residuals @ inverse @ residuals)
    plain = together([Data(model, Y, np.diag(np.full(60, 0.04)))], list("abc"), [1.0, 1.0, 0.0])
    np.testing.assert_allclose(
        plain.values, together([Data(model, Y, 0.2)], list("abc"), [1.0, 1.0, 0.0]).values, rtol=1e-10
    )


def test_several_sets_of_data_are_fitted_as_one():
    half = 30
    parts = [Data(lambda a, b, c, k=k: decay(ag, (a, b, c), X[k]), Y[k], 0.1) for k in (slice(half), slice(half, None))]
    found, whole = (together(parts, list("abc"), [1.0] * 3), together([Data(model, Y, 0.1)], list("abc"), [1.0] * 3))
    np.testing.assert_allclose(found.values, whole.values, rtol=1e-11)
    np.testing.assert_allclose(found.covariance, whole.covariance, rtol=1e-9)
    prior = Data(lambda a, b, c: b, np.array([0.5]), 1e-4)
    assert together([*parts, prior], list("abc"), [1.0] * 3).values[1] == pytest.approx(0.5, abs=1e-3)


@each(
    "sigma, more, message",
    [
        (np.ones((60, 60)), {}, "fit: the matrix in sigma is no covariance of measurements: not positive definite"),
        (np.triu(np.ones((60, 60))), {}, "fit: the matrix in sigma is no covariance of measurements: not symmetric"),
        (None, {"within": Within.of([(2, 3), *FREE[1:]])}, "fit: a starts at 1, outside of 2..3"),
    ],
)
def test_what_cannot_be_fitted_is_refused(sigma, more, message):
    assert refuses(lambda: together([Data(model, Y, sigma)], list("abc"), [1.0] * 3, **more)).message == message


def test_a_large_bounded_or_robust_fit_is_that_of_all_points():
    chance = np.random.default_rng(2)
    x = chance.uniform(0, 5, 30_000)
    y = 2 * np.exp(-0.5 * x) + 0.1 * chance.standard_normal(len(x))
    for within in (Within.of([(0, 1.9), (0, 9)]), unbounded(2, Loss("cauchy", 0.1))):
        found = together([Data(lambda a, b: a * ag.exp(-b * x), y)], ["a", "b"], [1.0, 1.0], within=within)
        few = together(
            [Data(lambda a, b: a * ag.exp(-b * x[:19_999]), y[:19_999])], ["a", "b"], [1.0, 1.0], within=within
        )
        assert not found.problem
        assert np.array_equal(found.free, few.free)
        how = {} if within.loss is None else {"loss": within.loss.name, "f_scale": within.loss.scale}
        ends = (within.low, within.high)
        f = lambda p: p[0] * np.exp(-p[1] * x) - y  # noqa: E731
        inside = np.clip(found.values, within.low, within.high - 1e-6)
        theirs = optimize.least_squares(f, inside, bounds=ends, xtol=1e-14, ftol=1e-14, gtol=1e-14, **how)
        np.testing.assert_allclose(found.values, theirs.x, rtol=1e-6)
