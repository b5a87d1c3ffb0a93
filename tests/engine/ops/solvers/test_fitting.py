"""Least squares: the reference problems of NIST (StRD, nonlinear regression), and what does not converge."""

import re
from pathlib import Path

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag

pytest.importorskip("scipy")

from agrad.engine.ops.solvers.fitting import Data, together

PROBLEMS = sorted(Path(__file__).with_name("nist").glob("*.dat"))


def problem(path):
    """What was measured, the columns, the starts, certified values and deviations of the parameters, the model, and
    the sum of squares.
    """
    text = path.read_text(encoding="ascii")
    first, last = map(int, re.search(r"Data\s*\(lines\s*(\d+)\s*to\s*(\d+)\)", text).groups())
    data = np.array([[float(x) for x in line.split()] for line in text.splitlines()[first - 1 : last] if line.strip()])
    rows = re.findall(r"^\s*b\d+\s*=\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", text, re.MULTILINE)
    of_y, model = re.search(r"^\s*(log\[y\]|y)\s*=\s*(.*?)\s*\+\s*e\b", text, re.MULTILINE | re.DOTALL).groups()
    rss = float(re.search(r"Residual Sum of Squares:\s*(\S+)", text)[1])
    model = " ".join(model.split()).replace("[", "(").replace("]", ")").replace("arctan", "atan")
    y, *xs = data.T
    x = {"x": xs[0]} if len(xs) == 1 else {f"x{place + 1}": one for place, one in enumerate(xs)}
    return y if of_y == "y" else np.log(y), x, np.array(rows, dtype=float), model, rss


def known_model(rows, text, x):
    """The names of the parameters, and the function of them."""
    names = [f"b{place + 1}" for place in range(len(rows))]
    known = {name: getattr(ag, name) for name in ("exp", "cos", "sin", "atan", "log")} | x | {"pi": np.pi}
    return names, eval(f"lambda {', '.join(names)}: {text}", known)


@pytest.mark.long
@each("path", PROBLEMS)
def test_a_problem_of_nist_is_solved_from_both_starts(path):
    y, x, rows, text, rss = problem(path)
    names, model = known_model(rows, text, x)
    for start in (0, 1):
        found = together([Data(model, y)], names, rows[:, start])
        assert not found.problem
        np.testing.assert_allclose(found.values, rows[:, 2], rtol=1e-9)
        is_exact = path.stem == "Lanczos1"  # but for 14 digits: of its residuals, float64 has three
        np.testing.assert_allclose(found.u, rows[:, 3], rtol=1e-2 if is_exact else 1e-8)
        assert found.rss == pytest.approx(rss, rel=1e-2 if is_exact else 1e-9)
        assert found.dof == len(y) - len(rows)


def test_all_problems_are_there():
    assert len(PROBLEMS) == 27


def test_uncertainties_of_measurements_are_weights():
    x, y, sigma = np.arange(4.0), np.array([1.0, 3.1, 4.9, 7.2]), np.array([0.1, 0.1, 0.2, 0.4])
    found = together([Data(lambda a, b: a + b * x, y, sigma)], ["a", "b"], [0.0, 1.0])
    values, covariance = np.polyfit(x, y, 1, w=1 / sigma, cov="unscaled")
    np.testing.assert_allclose(found.values, values[::-1], rtol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance[::-1, ::-1], rtol=1e-12)
    residuals = (values[1] + values[0] * x - y) / sigma
    assert found.chi2 == pytest.approx(float(residuals @ residuals))


def test_a_model_may_be_the_solution_of_an_equation():
    times = np.linspace(0.0, 3.0, 9)
    y = 2 * np.exp(-0.7 * times)
    found = together([Data(lambda a, b: ag.ode(lambda t, y: -b * y, a, times), y)], ["a", "b"], [1.0, 1.0])
    np.testing.assert_allclose(found.values, [2.0, 0.7], rtol=1e-8)


def test_data_in_pieces_are_fitted_as_a_whole():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 5, 40_000)
    y = 2 * np.exp(-0.5 * x) + 0.1 * rng.standard_normal(len(x))
    found = together([Data(lambda a, b: a * ag.exp(-b * x), y)], ["a", "b"], [1.0, 1.0])
    slopes = np.column_stack([np.exp(-found.values[1] * x), -found.values[0] * x * np.exp(-found.values[1] * x)])
    residuals = found.values[0] * slopes[:, 0] - y
    assert np.abs(slopes.T @ residuals).max() < 1e-7
    expected = np.linalg.inv(slopes.T @ slopes) * (residuals @ residuals) / found.dof
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9)
    assert found.r2 == pytest.approx(1 - residuals @ residuals / np.sum((y - y.mean()) ** 2))


def test_parameters_that_are_not_determined_are_named():
    x = np.arange(6.0)
    names = ["a", "b", "c"]
    for y in (2 * x, 2 * x + np.sin(x)):  # without residuals, no uncertainty tells
        found = together([Data(lambda a, b, c: (a + b) * x + c, y)], names, [1.0, 1.0, 1.0])
        assert found.problem == "the data do not determine a and b: very different values fit as well"
        found = together([Data(lambda a, b, c: a * x + b + 0 * c, y)], names, [1.0, 1.0, 1.0])
        assert found.problem == "the data do not determine c: very different values fit as well"


def test_what_does_not_converge_says_so():
    x = np.arange(6.0)
    y = np.array([1.0, 2.0, 1.5, 2.5, 2.0, 3.0])
    same = together([Data(lambda a, b: a + b + 0 * x, y)], ["a", "b"], [1.0, 1.0])
    assert "determine" in same.problem
    far = together([Data(lambda a, b: a * ag.exp(-b * x), y)], ["a", "b"], [1.0, 300.0])
    assert far.problem


@each(
    "model, start, message",
    [
        (lambda a: a * ag.log(-ag.exp(a)), [1.0], "fit: the model is not finite at a = 1"),
        (lambda a: a * np.arange(3.0), [1.0], "fit: the model has shape (3), and what was measured (4)"),
    ],
)
def test_a_model_that_cannot_be_fitted_is_refused(model, start, message):
    assert refuses(lambda: together([Data(model, np.arange(4.0))], ["a"], start)).message == message


def test_points_must_be_more_than_parameters():
    for count in range(3):
        with pytest.raises(
            ag.AgradError, match=rf"fit: {count} points? for 2 parameters: uncertainties need more points"
        ):
            together([Data(lambda a, b, n=count: a + b * np.arange(n), np.ones(count))], ["a", "b"], [1.0, 1.0])


def test_a_start_without_any_slope_is_refused_or_said():
    x = np.arange(6.0) * 1000
    far = together([Data(lambda a, b: a * ag.exp(-b * x), 500 * np.exp(-1e-4 * x))], ["a", "b"], [400.0, 30.0])
    assert far.problem


@each("scale", [1.0, 1e-100, 1e100])
def test_a_large_fit_is_that_of_all_points(scale):
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 5, 30_000)
    y = scale * (2 * np.exp(-0.5 * x) + 0.1 * rng.standard_normal(len(x)))
    y[:3] += scale * 500  # outliers that a sample is not likely to have
    found = together([Data(lambda a, b: a * ag.exp(-b * x), y)], ["a", "b"], [scale, 1.0])
    assert not found.problem
    model = found.values[0] * np.exp(-found.values[1] * x)
    slopes = np.stack([model, -x * model])
    lengths = np.linalg.norm(slopes, axis=1) * np.linalg.norm(model - y)
    assert np.all(np.abs(slopes @ (model - y)) <= 1e-9 * lengths)


def test_an_ill_conditioned_fit_has_all_digits():
    x = np.linspace(1000.0, 1001.0, 50)
    y = 3 - 0.002 * x + 1e-7 * (x - 1000.3) ** 2
    found = together([Data(lambda a, b, c: a + b * x + c * (x - 1000.3) ** 2, y)], list("abc"), [0.0, 0.0, 0.0])
    np.testing.assert_allclose(found.values, [3, -0.002, 1e-7], rtol=1e-6)


def test_a_release_of_scipy_that_is_not_known_takes_the_same_steps(monkeypatch):
    x = np.linspace(0.0, 2.0, 30)
    y = 2.0 * np.exp(-1.5 * x) + 0.01 * np.sin(9.0 * x)

    def fitted():
        found = together([Data(lambda a, b: a * ag.exp(-b * x), y)], ["a", "b"], [1.0, 1.0])
        return *found.values, *found.u

    known = fitted()
    monkeypatch.setattr("agrad.engine.ops.solvers.least_squares._MINPACK_OF", "0.")
    assert fitted() == known
