"""Budgets of several results, coverage factors, and shortest intervals: the GUM, its supplements, closed forms."""

import json
import math

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.uncertainty import correlate
from agrad.engine.inspect.budget import budget, joint, sampled, sampled_joint

stats = pytest.importorskip("scipy.stats")

READINGS = [  # GUM, table H.2: V in V, I in mA, phi in rad
    [5.007, 19.663, 1.0456],
    [4.994, 19.639, 1.0438],
    [5.005, 19.640, 1.0468],
    [4.990, 19.685, 1.0428],
    [4.999, 19.678, 1.0433],
]


def h2(v, i, phi):
    z = v / (i * 1e-3)
    return [z * ag.cos(phi), z * ag.sin(phi), z]


def test_h2_in_full():
    """GUM, H.2: tables H.2 (means, their u, their correlations) and H.3 (the results, by the first approach)."""
    together = ag.measured(READINGS)
    assert [round(float(x), 4) for x in together] == [4.9990, 19.6610, 1.0445]
    assert [float(f"{u:.2g}") for u in ag.uncertainty(together)] == [0.0032, 0.0095, 0.00075]
    among = ag.correlation(together).data
    assert [round(float(among[place]), 2) for place in ((0, 1), (0, 2), (1, 2))] == [-0.36, 0.86, -0.65]
    found = joint(h2(*together), ["R", "X", "Z"])
    assert [round(x, 3) for x in found.values] == [127.732, 219.847, 254.260]
    assert [round(x, 3) for x in found.u] == [0.071, 0.296, 0.236]
    assert [round(found.correlation[place], 3) for place in ((0, 1), (0, 2), (1, 2))] == [-0.588, -0.485, 0.993]
    assert found.dof == pytest.approx(4.0)
    np.testing.assert_allclose(
        ag.covariance(*h2(*together)).data, found.correlation * np.outer(found.u, found.u), rtol=1e-12
    )


def test_h2_by_the_second_approach():
    """GUM, H.2.4, table H.4: R, X and Z of each set of readings, of which the means are taken."""
    sets = [[float(x) for x in h2(*map(ag.tensor, row))] for row in READINGS]
    means = ag.measured(sets)
    assert [round(float(x), 3) for x in means] == [127.732, 219.847, 254.260]
    found = joint([means], ["means"])
    assert [round(x, 3) for x in found.u] == [0.071, 0.295, 0.236]
    assert [round(found.correlation[place], 3) for place in ((0, 1), (0, 2), (1, 2))] == [-0.588, -0.485, 0.993]
    assert found.names == ["means[0]", "means[1]", "means[2]"]


@each("third", [1.0, 3.0])
def test_the_additive_model_of_two_results(third):
    """JCGM 102, 9.2: Y1 = X1 + X3, Y2 = X2 + X3, of normal and of rectangular distributions with u = 1 and u(X3)."""
    for make in (ag.uncertain, lambda mean, u: ag.uniform(mean - 3**0.5 * u, mean + 3**0.5 * u)):
        x1, x2, x3 = make(0.0, 1.0), make(0.0, 1.0), make(0.0, third)
        both = [x1 + x3, x2 + x3]
        found = sampled_joint(joint(both, ["Y1", "Y2"]), both, 100_000, np.random.default_rng(1))
        shared, size = third**2 / (1 + third**2), math.sqrt(1 + third**2)
        assert found.u == pytest.approx([size, size])
        assert found.correlation[0, 1] == pytest.approx(shared)
        assert found.samples.u == pytest.approx([size, size], rel=0.01)
        assert found.samples.correlation[0, 1] == pytest.approx(shared, abs=0.01)
        if make is ag.uncertain:
            assert found.samples.inside == pytest.approx(0.95, abs=0.003)
        else:  # which have no tails
            assert found.samples.inside > 0.98


@each("x1", [0.001, 0.01, 0.1])
@each("r", [0.0, 0.9])
def test_cartesian_coordinates_become_polar(x1, r):
    """JCGM 102, 9.3: x2 = 0, u = 0.01; the samples of the amplitude have the moments of Rice's distribution."""
    a, b = ag.uncertain(x1, 0.01), ag.uncertain(0.0, 0.01)
    correlate(a, b, r)
    polar = [ag.sqrt(a**2 + b**2), ag.atan2(b, a)]
    found = sampled_joint(joint(polar, ["Y1", "Y2"]), polar, 200_000, np.random.default_rng(1))
    assert found.values == pytest.approx([x1, 0.0])
    assert found.u == pytest.approx([0.01, 0.01 / x1])
    assert found.correlation[0, 1] == pytest.approx(r)
    if not r:
        rice = stats.rice(x1 / 0.01, scale=0.01)
        assert (found.samples.mean[0], found.samples.u[0]) == (
            pytest.approx(rice.mean(), rel=0.01),
            pytest.approx(rice.std(), rel=0.01),
        )


def test_resistance_and_reactance_of_the_second_supplement():
    """JCGM 102:2011, 9.4.2.2 and 9.4.2.5, by the numbers that the tests of the package uncertaintyx (bcdev) have of it.

    Those tests take six rows, the covariances over 30 and over 6, and find R off by 2 in its last digit, as here.
    """
    together = ag.measured([*READINGS, [4.999, 19.661, 1.0445]])
    found = joint(h2(*together), ["R", "X", "Z"])
    assert [round(x, 3) for x in found.values[1:]] == [219.847, 254.260]
    assert found.values[0] == pytest.approx(127.732, abs=0.002)
    assert [round(x, 3) for x in found.u] == [0.058, 0.241, 0.193]
    assert [round(found.correlation[place], 3) for place in ((0, 1), (0, 2))] == [-0.588, -0.485]
    assert round(1.0 - found.correlation[1, 2], 5) == 0.00749
    wider = joint(h2(*ag.correlated(together.detach(), 5.0 * ag.covariance(together).data)), ["R", "X", "Z"])
    assert [round(x, 3) for x in wider.u] == [0.130, 0.540, 0.431]


@each("size, coverage, ellipsoid, box", [  # chi-squared quantiles, and Bonferroni's (JCGM 102, 7.7.2 and 7.7.3)
    (1, 0.95, 1.96, 1.96), (2, 0.95, 2.45, 2.24), (3, 0.95, 2.80, 2.39), (4, 0.95, 3.08, 2.50), (2, 0.99, 3.03, 2.81),
])  # fmt: skip
def test_regions_of_several_results_have_the_factors_of_the_supplement(size, coverage, ellipsoid, box):
    found = joint([ag.uncertain(1.0, 0.1) for _ in range(size)], ["y"] * size, coverage)
    assert (round(found.k, 2), round(found.k_box, 2)) == (ellipsoid, box)


def test_the_region_of_means_covers_what_it_says():
    """Of the means of three readings of two correlated quantities, in 4000 experiments."""
    rng, inside, matrix = np.random.default_rng(5), 0, np.array([[1.0, 0.7], [0.7, 1.0]])
    for _ in range(4000):
        readings = rng.multivariate_normal([0.0, 0.0], matrix, 4)
        found = joint([ag.measured(readings)], ["m"])
        apart = np.array(found.values) / found.u
        inside += apart @ np.linalg.solve(found.correlation, apart) <= found.k**2
    assert inside / 4000 == pytest.approx(0.95, abs=0.012)


def test_too_few_degrees_of_freedom_have_no_ellipsoid():
    found = joint([ag.measured([[1.0, 2.0], [1.5, 2.2]])], ["m"])
    assert math.isnan(found.k)
    assert "in an ellipsoid" not in found.text()
    assert json.loads(found.json())["results"]["k"] is None


def test_an_ellipse_is_that_of_its_quadratic_form():
    a, b = ag.uncertain(1.0, 0.1), ag.uncertain(2.0, 0.4)
    correlate(a, b, -0.8)
    found = joint([a, b], ["a", "b"])
    x, y = (np.subtract(part, value) / u for part, value, u in zip(found.ellipse(), found.values, found.u, strict=True))
    np.testing.assert_allclose((x**2 + y**2 + 1.6 * x * y) / (1 - 0.64), found.k**2, rtol=1e-12)


def test_values_without_uncertainty_have_no_covariance():
    x = ag.uncertain(2.0, 0.1)
    np.testing.assert_allclose(ag.covariance(3.0, x).data, [[0.0, 0.0], [0.0, 0.01]], rtol=1e-15)
    refuses(lambda: ag.covariance(x.detach(), x), "has no uncertainty: it was computed from")
    refuses(lambda: joint([ag.tensor(2.0)], ["y"]), "y does not depend on an uncertain value")
    for name in ("cov", "corrcoef"):
        refuses(lambda name=name: getattr(ag, name)(ag.stack([x, x])), f"{name} is of plain readings", "type")
    assert ag.cov([1.0, 2.0]) == 0.5


@each("dof", [np.inf, 4.7])
def test_a_factor_has_its_coverage(dof):
    x = ag.uncertain(2.0, 0.1, dof)
    found = budget(3.0 * x, k=2.0)
    assert (found.k, found.expanded) == (2.0, pytest.approx(0.6))
    other = stats.norm() if dof == np.inf else stats.t(4)  # rounded down: GUM, G.4.1
    assert found.coverage == pytest.approx(other.cdf(2.0) - other.cdf(-2.0))
    assert budget(3.0 * x, found.coverage).k == pytest.approx(2.0)
    refuses(lambda: budget(x, k=0.0), "k, the coverage factor, is above 0")


def test_a_shortest_interval_is_that_of_the_density():
    x = ag.from_sample(np.random.default_rng(1).exponential(size=100_000))
    y = 2.0 * x
    shortest, _ = sampled(budget(y, 0.9), y, 100_000, np.random.default_rng(1), shortest=True)
    assert shortest.samples.low == pytest.approx(0.0, abs=0.01)  # where the density is highest
    assert shortest.samples.high == pytest.approx(2.0 * math.log(10.0), rel=0.02)
    middle, _ = sampled(budget(y, 0.9), y, 100_000, np.random.default_rng(1))
    assert middle.samples.low == pytest.approx(-2.0 * math.log(0.95), rel=0.05)
    assert shortest.samples.high - shortest.samples.low < middle.samples.high - middle.samples.low
