"""Combinations, permutations and divisors: exact for whole numbers, with derivatives between and at them."""

import math

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag

special = pytest.importorskip("scipy.special")

WHOLE = [(n, k) for n in (0, 1, 2, 5, 30, 56, 1000, 10**6) for k in (0, 1, 2, 7, 28, 40)]
POINTS = [(5.0, 2.0), (5.0, 5.0), (2.0, 5.0), (0.0, 0.0), (0.0, 3.0), (7.5, 2.2), (1.3, 6.7), (200.5, 3.2), (3.0, 2.5)]


def test_whole_numbers_are_exact():
    for n, k in WHOLE:
        for ours, exact in ((ag.comb, math.comb), (ag.perm, math.perm)):
            expected = exact(n, k)
            assert ours(n, k) == (float(expected) if expected < 2**1023 else math.inf)
            assert ours(np.array([float(n)]), float(k)).tolist() == [ours(n, k)]


@each("n, k", POINTS)
def test_between_whole_numbers_they_are_those_of_scipy(n, k):
    assert ag.comb(n, k) == pytest.approx(special.binom(n, k), rel=1e-11, abs=1e-18)
    assert ag.perm(n, k) == pytest.approx(special.binom(n, k) * special.gamma(k + 1), rel=1e-11, abs=1e-15)


@each("name", ["comb", "perm"])
@each("n, k", [point for point in POINTS if min(point) > 0.0])
def test_derivatives_of_orders_one_and_two(name, n, k):
    f = getattr(ag, name)
    assert ag.check(f, n, k).ok
    for place in (0, 1):
        report = ag.check(ag.grad(f, place), n, k)
        assert report.ok and all(entry.verdict == "ok" for entry in report.findings)


def test_derivatives_where_a_gamma_function_has_a_pole():
    of_n, of_k = ag.grad(ag.comb, (0, 1))(2.0, 5.0)  # n*(n - 1)*(n - 2)*(n - 3)*(n - 4)/120, by the product rule
    assert [float(of_n), float(of_k)] == pytest.approx([1 / 30, -1 / 30])
    assert float(ag.grad(ag.perm)(2.0, 5.0)) == pytest.approx(4.0)
    assert float(ag.grad(ag.comb, 1)(0.0, 0.0)) == pytest.approx(0.0, abs=1e-15)


@each("n, k", [(-1, 2), (2, -1), (-0.5, 0), (math.nan, 1), (1, math.nan)])
def test_negative_numbers_have_no_combinations(n, k):
    assert math.isnan(ag.comb(n, k)) and math.isnan(ag.perm(n, k))


def test_too_many_to_count_are_infinite_and_take_no_time():
    assert ag.comb(10**15, 10**14) == ag.perm(10**15, 10**14) == ag.comb(1e300, 5) == math.inf
    assert ag.comb(10**15, 10**15 - 2) == float(math.comb(10**15, 2))
    assert ag.perm(5, 1e15) == 0


def test_divisors():
    assert ag.gcd(12, 18) == 6 and ag.lcm(4, 6) == 12 and ag.gcd(0, 0) == 0 and ag.gcd(-4, 6) == 2
    assert ag.gcd([12, 9], 6).tolist() == [6, 3]
    assert ag.gcd([[12, 18], [27, 9]]) == 3 and ag.lcm([7]) == 7 and ag.gcd(-7) == 7
    assert not ag.gcd(ag.tensor(12.0, requires_grad=True), 18).requires_grad
    for bad in (4.5, math.inf, math.nan, [4, 0.5]):
        with pytest.raises(ag.AgradError, match="must be a whole number"):
            ag.gcd(bad, 2)
    refuses(lambda: ag.lcm([]), "there is no entry")


@each("x, base", [(8.0, 2.0), (0.3, 7.0), (5.0, 0.4)])
def test_the_logarithm_to_a_base_has_derivatives_by_both(x, base):
    def f(x, b):
        return ag.log(x, b)

    u, v = math.log(x), math.log(base)
    assert f(x, base) == pytest.approx(u / v, rel=1e-15)
    assert [float(ag.grad(f, place)(x, base)) for place in (0, 1)] == pytest.approx([1 / (x * v), -u / (base * v * v)])
    second = ag.grad(ag.grad(f, 1), 1)(x, base)
    assert float(second) == pytest.approx(u * (v + 2) / (base**2 * v**3))


def test_powers_of_ten_and_two_are_exact():
    assert [ag.log(10**k, 10) for k in range(20)] == list(range(20))
    assert [ag.log(2**k, 2) for k in range(60)] == list(range(60))
    assert ag.tensor([8.0, 2.0]).log(2).tolist() == [3, 1]
    assert np.log(ag.tensor([1.0])).tolist() == [0]


@each("f, x, slope, curvature", [
    (lambda n: ag.comb(n, 3.0), 1e12, (3e24 - 6e12 + 2) / 6, (6e12 - 6) / 6),
    (lambda n: ag.perm(n, 3.0), 1e12, 3e24 - 6e12 + 2, 6e12 - 6),
    (lambda n: ag.lbeta(n, 3.0), 1e12, -3e-12 + 3e-24, 3e-24 - 6e-36),
    (lambda n: ag.beta(n, 3.0), 1e12, -6e-48 + 24e-60, 24e-60),
    (lambda n: ag.lbeta(n, 0.5), 1e15, -0.5e-15, 0.5e-30),
    (lambda y: ag.xlogy(0.0, y), 1e-310, 0.0, 0.0),
])  # fmt: skip
def test_derivatives_at_large_numbers_do_not_cancel(f, x, slope, curvature):
    x = ag.tensor(x, requires_grad=True)
    y = f(x)
    assert [float(ag.grad(y, x)), float(ag.hessian(y, x))] == pytest.approx([slope, curvature], rel=2e-11, abs=0.0)
