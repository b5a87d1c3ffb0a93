"""Distributions of uncertain values: against SciPy's, and what a Monte Carlo run and the second order make of them."""

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.distributions import ARCSINE, NORMAL, TRIANGULAR, UNIFORM, of_sample, trapezoidal
from agrad.engine.autodiff.uncertainty import distributed
from agrad.engine.inspect.budget import budget, sampled

stats = pytest.importorskip("scipy.stats")

SAMPLE = np.random.default_rng(2).exponential(size=1000)
KNOWN = {
    "normal": (NORMAL, stats.norm()),
    "uniform": (UNIFORM, stats.uniform(-1, 2)),
    "triangular": (TRIANGULAR, stats.triang(0.5, -1, 2)),
    "arcsine": (ARCSINE, stats.arcsine(-1, 2)),
    "trapezoid": (trapezoidal(0.5), stats.trapezoid(0.25, 0.75, -1, 2)),
    "narrow": (trapezoidal(0.0), stats.triang(0.5, -1, 2)),
    "wide": (trapezoidal(1.0), stats.uniform(-1, 2)),
}


@each("name", KNOWN)
def test_moments_width_and_draws_are_those_of_scipy(name):
    mine, other = KNOWN[name]
    spread = other.std()
    assert mine.kurtosis == pytest.approx(float(other.stats("k")) + 3.0)
    assert mine.width == pytest.approx(1.0 / spread if name != "normal" else 0.0)
    draws = mine.draw(np.random.default_rng(1), 20_000)
    assert stats.kstest(draws * spread, other.cdf).pvalue > 0.01


def test_a_sample_is_drawn_from_with_its_own_moments():
    found = of_sample(SAMPLE)
    draws = found.draw(np.random.default_rng(1), 200_000)
    assert (np.mean(draws), np.std(draws)) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.01))
    assert found.skewness == pytest.approx(stats.skew(SAMPLE), rel=2e-3)
    assert found.kurtosis == pytest.approx(stats.kurtosis(SAMPLE) + 3.0, rel=3e-3)
    x = ag.from_sample(SAMPLE)
    assert (float(x), ag.uncertainty(x)) == (pytest.approx(np.mean(SAMPLE)), pytest.approx(np.std(SAMPLE, ddof=1)))


MAKES = {
    "uniform": lambda: ag.uniform(0.0, 1.0),
    "triangular": lambda: ag.triangular(0.0, 1.0),
    "arcsine": lambda: ag.arcsine(0.0, 1.0),
    "trapezoidal": lambda: ag.trapezoidal(0.0, 1.0, 0.3),
    "a sample": lambda: ag.from_sample(SAMPLE),
    "a sample, turned": lambda: ag.from_sample(2.0 - SAMPLE),
}


@each("name", MAKES)
def test_the_second_order_of_a_square_is_exact_and_that_of_its_samples(name):
    x = MAKES[name]()
    y = x**2
    found, _ = sampled(budget(y, order=2), y, 200_000, np.random.default_rng(3))
    assert found.samples.mean == pytest.approx(found.value + found.second.bias, rel=0.01)
    total = found.second.with_first(found.u)
    assert found.samples.u == pytest.approx(total, rel=0.02)
    assert found.expanded == pytest.approx(found.k * total)


def test_the_variance_may_become_less():
    x = ag.from_sample(2.0 - SAMPLE)  # whose long tail is where x**2 is flat
    assert budget(x**2, order=2).second.u < 0.0
    assert "less" in budget(x**2, order=2).text()


@each("name, half, parameter, u, dof", [
    ("normal", 0.1, None, 0.1, np.inf),
    ("t", 0.1, 8.0, 0.1, 8.0),
    ("uniform", 0.1, None, 0.1 / 3**0.5, np.inf),
    ("triangular", 0.1, None, 0.1 / 6**0.5, np.inf),
    ("arcsine", 0.1, None, 0.1 / 2**0.5, np.inf),
    ("trapezoid", 0.1, 0.5, 0.1 * (1.25 / 6) ** 0.5, np.inf),
])  # fmt: skip
def test_a_literal_has_half_the_width_of_its_interval(name, half, parameter, u, dof):
    for value, shape in ((5.0, ()), ([5.0, 6.0], (2,))):
        x = distributed(name, value, half, parameter)
        np.testing.assert_allclose(ag.uncertainty(x), np.full(shape, u))
        assert x.node.uncertainty.dof == dof


@each("name, parameter, message", [
    ("t", None, "needs a parameter"),
    ("trapezoid", None, "needs a parameter"),
    ("uniform", 0.5, "takes no parameter"),
    ("trapezoid", 1.5, "from 0 to 1 times"),
    ("t", -1.0, "dof is positive"),
])  # fmt: skip
def test_what_is_no_distribution_is_refused(name, parameter, message):
    refuses(lambda: distributed(name, 5.0, 0.1, parameter), message)
