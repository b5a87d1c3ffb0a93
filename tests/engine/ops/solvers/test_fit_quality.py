"""What is said of a fit: statistics, the points, intervals by the profile likelihood."""

import numpy as np
import pytest
from rows import each

import agrad.engine as ag

pytest.importorskip("scipy")

from scipy import stats

from agrad.engine.ops.solvers.fit_quality import derivatives, of_points, profile
from agrad.engine.ops.solvers.fitting import Data, Errors, together
from agrad.engine.ops.solvers.least_squares import Within, unbounded
from agrad.engine.ops.solvers.losses import Loss

# Bates and Watts, Nonlinear Regression Analysis, 1988, A1.3: Puromycin, treated cells
X = np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.1], 2)
Y = np.array([76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200], dtype=float)


def puromycin(y=Y, **more):
    return together([Data(lambda v, k: v * X / (k + X), y)], ["v", "k"], [200.0, 0.1], **more)


def columns_of(found):
    (one,) = found.points()
    return of_points(found, *one, 0.95, derivatives(found))


def test_the_profile_intervals_of_puromycin_are_those_of_r():
    # Venables and Ripley, Modern Applied Statistics with S, 2002, 8.5: confint of nls
    found = puromycin()
    np.testing.assert_allclose(found.values, [212.7, 0.06412], rtol=1e-4)
    np.testing.assert_allclose(found.u, [6.947, 0.008281], rtol=1e-4)
    np.testing.assert_allclose(profile(found), [(197.30213, 229.29006), (0.04692517, 0.08615995)], rtol=2e-4)


def test_at_the_ends_of_a_profile_the_sum_of_squares_has_risen_by_the_quantile():
    found = puromycin()
    limit = stats.t.ppf(0.975, 10) ** 2 * found.rss / 10
    for v in profile(found)[0]:
        held = together([Data(lambda k, v=v: v * X / (k + X), Y)], ["k"], [0.1])
        assert held.rss - found.rss == pytest.approx(limit, rel=1e-7)
    (low, high), _ = profile(found._replace(within=Within.of([(200, 220), (0, 1)])))
    assert (low, high) == (200.0, 220.0)


def test_the_profile_of_a_linear_model_is_the_usual_interval():
    x, y = np.arange(6.0), np.array([1.0, 3.1, 4.9, 7.2, 9.1, 10.8])
    found = together([Data(lambda a, b: a + b * x, y)], ["a", "b"], [0.0, 1.0])
    half = stats.t.ppf(0.975, 4) * found.u
    expected = np.stack([found.values - half, found.values + half], axis=1)
    np.testing.assert_allclose(profile(found), expected, rtol=1e-7)


@each("sigma", [None, 0.2])
def test_statistics_are_those_of_the_likelihood(sigma):
    x, y = np.arange(6.0), np.array([1.0, 3.1, 4.9, 7.2, 9.1, 10.8])
    found = together([Data(lambda a, b: a + b * x, y, sigma)], ["a", "b"], [0.0, 1.0])
    told, residuals = found.statistics(), y - np.polyval(np.polyfit(x, y, 1), x)
    s = np.sqrt(np.mean(residuals**2)) if sigma is None else sigma
    likely, count = np.sum(stats.norm.logpdf(residuals, scale=s)), 3 if sigma is None else 2
    assert told["log_likelihood"] == pytest.approx(likely)
    assert told["aic"] == pytest.approx(2 * count - 2 * likely)
    assert told["bic"] == pytest.approx(count * np.log(6) - 2 * likely)
    assert told["s"] == pytest.approx(np.sqrt(np.sum(residuals**2) / 4))
    if sigma is None:
        assert np.isnan(told["p_value"])
    else:
        assert told["p_value"] == pytest.approx(stats.chi2.sf(found.chi2, 4))


def test_leverage_and_bands_are_those_of_the_hat_matrix():
    x, y, s = np.arange(6.0), np.array([1.0, 3.1, 4.9, 7.2, 9.1, 10.8]), np.array([0.1, 0.2, 0.1, 0.3, 0.1, 0.1])
    for sigma in (None, s, np.diag(s**2)):
        found = together([Data(lambda a, b: a + b * x, y, sigma)], ["a", "b"], [0.0, 1.0])
        columns, design = columns_of(found), np.stack([np.ones(6), x], axis=1)
        w = np.ones(6) if sigma is None else 1 / s
        q, _ = np.linalg.qr(design * w[:, None])
        leverage, residual = np.sum(q**2, axis=1), y - design @ found.values
        variance = found.rss / 4 if sigma is None else s**2
        np.testing.assert_allclose(columns["leverage"], leverage, rtol=1e-9)
        np.testing.assert_allclose(columns["residual"], residual, atol=1e-12)
        np.testing.assert_allclose(columns["standardized"], residual / np.sqrt(variance * (1 - leverage)), rtol=1e-9)
        factor = stats.t.ppf(0.975, 4) if sigma is None else stats.norm.ppf(0.975)
        half = factor * np.sqrt(variance * leverage)
        np.testing.assert_allclose(columns["confidence_high"] - columns["predicted"], half, rtol=1e-9)
        half = factor * np.sqrt(variance * (1 + leverage))
        np.testing.assert_allclose(columns["predicted"] - columns["prediction_low"], half, rtol=1e-9)


@each("loss", [None, Loss("cauchy", 10.0), Loss("huber", 10.0)])
def test_a_parameter_changes_with_a_datum_as_another_fit_says(loss):
    within = unbounded(2, loss)
    columns = columns_of(puromycin(within=within))
    for place in (0, 1, 7):
        ends = [puromycin(Y + step * (np.arange(12) == place), within=within).values for step in (1e-3, -1e-3)]
        slopes = (ends[0] - ends[1]) / 2e-3
        np.testing.assert_allclose([columns[name][place] for name in ("dv_dy", "dk_dy")], slopes, rtol=1e-5, atol=1e-9)


def test_a_parameter_changes_with_each_datum_as_its_closed_form():
    """Of y ~ f(p)*x, f(p) is sum(x y)/sum(x^2); of y ~ p/x, p is sum(y/x)/sum(1/x^2)."""
    x, y = np.array([0.5, 1.0, 2.0, 3.0, 5.0]), np.array([1.1, 1.9, 4.2, 6.1, 9.7])
    ratio, share = (x @ y) / (x @ x), x / (x @ x)
    for model, start, value, slopes in (
        (lambda p: p * x, 1.0, ratio, share),
        (lambda p: p**2 * x, 1.0, np.sqrt(ratio), share / (2 * np.sqrt(ratio))),
        (lambda p: ag.exp(p) * x, 1.0, np.log(ratio), share / ratio),
        (lambda p: x / p, 0.4, 1 / ratio, -share / ratio**2),
        (lambda p: p / x, 1.0, (y @ (1 / x)) / np.sum(1 / x**2), (1 / x) / np.sum(1 / x**2)),
    ):
        found = together([Data(model, y)], ["p"], [start])
        assert found.values[0] == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(columns_of(found)["dp_dy"], slopes, rtol=1e-8)


def test_the_derivatives_by_data_are_exact():
    """Those of a line, also behind a curved change of its parameters, and of an exponential through two places."""
    x = np.array([0.5, 1.0, 2.0, 3.0, 5.0])
    y, s = np.array([1.1, 1.9, 4.2, 6.1, 9.7]), np.array([0.1, 0.2, 0.1, 0.3, 0.2])
    matrix, table = 0.02 * np.exp(-np.abs(x[:, None] - x)), np.stack([np.ones(5), x], axis=1)
    for sigma, weights in ((None, np.eye(5)), (s, np.diag(s**-2)), (matrix, np.linalg.inv(matrix))):
        gains = np.linalg.solve(table.T @ weights @ table, table.T @ weights)
        a, b = gains @ y
        for model, start, by in (
            (lambda a, b: a + b * x, [0.0, 1.0], (1.0, 1.0)),
            (lambda a, b: a**3 + ag.exp(b) * x, [0.5, 0.5], (np.abs(a) ** (-2 / 3) / 3, 1 / b)),
            (lambda a, b: ag.tensor(table) @ ag.stack([1 / a, b**2]), [9.0, 1.4], (-1 / a**2, 0.5 / np.sqrt(b))),
        ):
            columns = columns_of(together([Data(model, y, sigma)], ["a", "b"], start))
            for name, one, gain in zip("ab", by, gains, strict=True):
                np.testing.assert_allclose(columns[f"d{name}_dy"], one * gain, rtol=1e-10, atol=1e-12)
    t, n = np.array([0.0, 0.0, 2.0, 2.0]), np.array([5.1, 4.9, 1.9, 2.1])
    columns = columns_of(together([Data(lambda a, b: a * ag.exp(-b * t), n)], ["a", "b"], [4.0, 0.3]))
    np.testing.assert_allclose(columns["da_dy"], [0.5, 0.5, 0, 0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(columns["db_dy"], [0.05, 0.05, -0.125, -0.125], rtol=1e-10)


def test_derivatives_by_data_are_not_told_where_columns_are_uncertain():
    x, y = np.arange(6.0), np.array([1.0, 3.1, 4.9, 7.2, 9.1, 10.8])
    for method in ("orthogonal", "effective"):
        errors = Errors(method, [x], [np.full(6, 0.1)])
        found = together([Data(lambda a, b, x: a + b * x, y, 0.2, errors)], ["a", "b"], [0.0, 1.0])
        assert "da_dy" not in columns_of(found)


def test_the_profile_of_a_parameter_at_its_bound_begins_there():
    """Of a line without an offset, chi2 rises by S (a - a0)**2 beside its free minimum a0 < 0, b fitted again."""
    x, y = np.arange(1.0, 7.0), np.array([1.0, 2.8, 4.6, 6.9, 8.8, 10.5])
    for bounds, sign in (((0, np.inf), 1.0), ((-np.inf, 0), -1.0)):
        found = together(
            [Data(lambda a, b: a + b * x, sign * y, 0.3)], ["a", "b"], [sign, 1.0], within=Within.of([bounds, (-9, 9)])
        )
        assert not found.free[0]
        curvature = np.sum((1 - x * np.sum(x) / np.sum(x**2)) ** 2) / 0.3**2
        a0 = np.polyfit(x, y, 1)[1]
        end = a0 + np.sqrt(a0**2 + stats.norm.ppf(0.975) ** 2 / curvature)
        interval, other = profile(found)
        np.testing.assert_allclose(interval, sorted([0.0, sign * end]), rtol=1e-8, atol=0)
        assert other[0] < found.values[1] < other[1]
    assert profile(puromycin(within=Within.of([(0, 200), (0, 1)])))[0][1] == 200.0


def test_a_parameter_at_its_bound_does_not_change_with_a_datum():
    found = puromycin(within=Within.of([(0, 200), (0, 1)]))
    assert not columns_of(found)["dv_dy"].any()


def test_a_profile_with_a_loss_is_refused():
    with pytest.raises(ag.AgradError, match="without a loss"):
        profile(puromycin(within=unbounded(2, Loss("huber", 10.0))))
