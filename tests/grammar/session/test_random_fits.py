"""Random fits of several sets of data, of vectors, and of correlated measurements, beside numpy and SciPy."""

import numpy as np
import pytest
from rows import each
from sessions import said

import agrad.engine as ag
from agrad.grammar.session.session import Session

pytest.importorskip("scipy")

from scipy import linalg, optimize, stats

COVERAGE = 0.9


def correlated(chance, count, s):
    """A covariance matrix of measurements."""
    places = np.cumsum(chance.uniform(0.2, 2.0, count))
    return s**2 * np.exp(-np.abs(places[:, None] - places) / chance.uniform(0.1, 1.5))


def vector(chance, names):
    """A linear model of a vector of parameters, whose measurements have uncertainties of each kind."""
    table, true = chance.normal(size=(14, 3)), chance.uniform(1, 3, 3)
    names |= {"X": table, "w": np.ones(3)}
    kinds = None, 0.1, chance.uniform(0.05, 0.2, 14), correlated(chance, 14, 0.1)
    sigma = kinds[int(chance.integers(4))]
    y = table @ true + 0.1 * chance.normal(size=14)
    names |= {"y": y} | ({} if sigma is None else {"s": np.asarray(sigma)})
    return "fit y ~ X @ w over w" + " sigma s" * (sigma is not None), [(lambda w: table @ w, y, sigma)], true


def curve(chance, names):
    """A decay whose measurements have a common error, as the language knows it."""
    x, true = np.linspace(0, 5, 16), np.array([3.0, 0.6, 1.0]) * chance.uniform(0.8, 1.2, 3)
    y = true[0] * np.exp(-true[1] * x) + true[2] + 0.05 * chance.normal(size=16) + 0.1 * chance.normal()
    names |= {"x": x, "y": y}
    line = "q = 0 ± 0.1; y = normal(y, 0.05) + q; fit y ~ a*exp(-b*x) + c over a, b, c from a=2, b=1, c=1"
    return line, [(lambda p: p[0] * np.exp(-p[1] * x) + p[2], y, 0.05**2 * np.eye(16) + 0.1**2)], true


def two(chance, names):
    """Two models with a parameter in common; without uncertainties, or with those of each set."""
    x, t, true = np.linspace(0, 4, 11), np.linspace(1, 3, 7), np.array([3.0, 0.6, 2.0]) * chance.uniform(0.8, 1.2, 3)
    y = true[0] * np.exp(-true[1] * x) + 0.05 * chance.normal(size=11)
    z = true[2] - true[1] * t + 0.1 * chance.normal(size=7)
    names |= {"x": x, "t": t, "y": y, "z": z}
    sigmas = (None, None) if chance.integers(2) else (0.05, 0.1)
    line = "" if sigmas[0] is None else "y = normal(y, 0.05); z = normal(z, 0.1); "
    line += "fit y ~ a*exp(-b*x), z ~ c - b*t over a, b, c from a=2, b=1, c=1"
    models = (lambda p: p[0] * np.exp(-p[1] * x)), (lambda p: p[2] - p[1] * t)
    return line, [*zip(models, (y, z), sigmas, strict=True)], true


def prior(chance, names):
    """Two models of a vector and a number, and what is known of this."""
    x, t, true = np.linspace(0, 4, 9), np.linspace(1, 3, 5), np.array([3.0, 1.0, 0.6]) * chance.uniform(0.8, 1.2, 3)
    y = true[0] * np.exp(-true[2] * x) + true[1] + 0.05 * chance.normal(size=9)
    z = true[2] * t + 0.1 * chance.normal(size=5)
    names |= {"x": x, "t": t, "y": y, "z": z, "w": np.ones(2), "b": 1.0}
    line = "y = normal(y, 0.05); z = normal(z, 0.1); "
    line += "fit y ~ w[0]*exp(-b*x) + w[1], z ~ b*t, 0.6 ± 0.02 ~ b over w, b"
    models = (lambda p: p[0] * np.exp(-p[2] * x) + p[1]), (lambda p: p[2] * t), lambda p: p[2:]
    return line, [*zip(models, (y, z, np.array([0.6])), (0.05, 0.1, 0.02), strict=True)], true


@each("seed", [*range(40)])
def test_a_random_fit_is_that_of_scipy_with_all_that_is_said_of_it(seed):
    chance, session, results = np.random.default_rng(seed), Session(), []
    given = {}
    line, sets, true = (vector, curve, two, prior)[seed % 4](chance, given)
    session.names |= {name: ag.tensor(x) for name, x in given.items()}
    said(line, session)
    session.run(f"last fit as f coverage {COVERAGE}", results.append)
    told = results[-1].found
    found, points = told.found, told.points()

    ys, count = np.concatenate([y for _, y, _ in sets]), sum(len(y) for _, y, _ in sets)
    known = sets[0][2] is not None
    blocks = [s if np.ndim(s) == 2 else np.diag(np.broadcast_to((s or 1.0) if np.ndim(s) == 0 else s, len(y)) ** 2.0)
              for _, y, s in sets]  # fmt: skip
    matrix = linalg.block_diag(*blocks)
    whitening = np.linalg.inv(np.linalg.cholesky(matrix))
    values = lambda p: np.concatenate([np.broadcast_to(f(p), len(y)) for f, y, _ in sets])  # noqa: E731
    how = {"jac": "3-point", "xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "x_scale": "jac"}
    p = optimize.least_squares(lambda p: whitening @ (values(p) - ys), true, **how).x
    np.testing.assert_allclose(found.values, p, rtol=1e-6)

    p, h = found.values, 1e-4
    steps = [(values(p + h * e) - values(p - h * e), values(p + 2 * h * e) - values(p - 2 * h * e)) for e in np.eye(3)]
    slopes = np.stack([(8 * one - other) / (12 * h) for one, other in steps], axis=1)
    residual, dof = ys - values(p), count - 3
    chi2 = float(np.sum((whitening @ residual) ** 2))
    scale = 1.0 if known else chi2 / dof
    covariance = scale * np.linalg.inv((whitening @ slopes).T @ (whitening @ slopes))
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6, atol=1e-6 * np.max(covariance))
    said_of = found.statistics()
    likely = (
        stats.multivariate_normal.logpdf(residual, cov=matrix)
        if known
        else np.sum(stats.norm.logpdf(residual, scale=np.sqrt(chi2 / count)))
    )
    size = 3 if known else 4
    expected = {"chi2": chi2, "dof": dof, "aic": 2 * size - 2 * likely, "bic": size * np.log(count) - 2 * likely}
    expected |= {"r2": 1 - residual @ residual / np.sum((ys - ys.mean()) ** 2), "log_likelihood": likely}
    if known:
        expected["p_value"] = stats.chi2.sf(chi2, dof)
    for name, value in expected.items():
        assert said_of[name] == pytest.approx(value, rel=1e-8), name

    gains = np.linalg.solve(slopes.T @ np.linalg.solve(matrix, slopes), np.linalg.solve(matrix, slopes).T)
    of_model, variance = np.sum((slopes @ covariance) * slopes, axis=1), scale * np.diag(matrix)
    factor = stats.norm.ppf((1 + COVERAGE) / 2) if known else stats.t.ppf((1 + COVERAGE) / 2, dof)
    for name, value in {
        "residual": residual,
        "leverage": np.diag(slopes @ gains),
        "standardized": residual / np.sqrt(variance - of_model),
        "confidence_high": values(p) + factor * np.sqrt(of_model),
        "prediction_low": values(p) - factor * np.sqrt(of_model + variance),
    }.items():
        np.testing.assert_allclose(points[name], value, rtol=1e-5, atol=1e-7, err_msg=name)
