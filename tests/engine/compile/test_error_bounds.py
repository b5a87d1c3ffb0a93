"""The bounds that exported code is held to: they hold for the exact values, and are not much wider than they must be."""

import math
from fractions import Fraction

import pytest
from error_bounds import bounded
from rows import each

import agrad.engine as ag
from agrad.engine.program.trace import trace


def one(f, *point):
    program = trace(f, list(point), [f"x{place}" for place in range(len(point))])
    return bounded(program, point)[0]


def test_an_exact_argument_is_exact():
    assert one(lambda x: -x, 0.1) == (-0.1, 0.0)


def test_a_call_may_be_wrong_by_four_units():
    assert one(ag.sin, 0.5) == (math.sin(0.5), 4 * math.ulp(math.sin(0.5)))


@each("x", [0.1, 0.7, 1.3, 2.9])
def test_arithmetic_is_bounded_where_digits_cancel(x):
    value, error = one(lambda x: (x + 0.1) * (x + 0.1) - x * x - 0.2 * x, x)
    a, b, c = Fraction(x), Fraction(0.1), Fraction(0.2)
    exact = (a + b) * (a + b) - a * a - c * a
    assert abs(Fraction(value) - exact) <= error < 1e-14


def test_an_error_is_magnified_by_a_steep_function():
    value, error = one(lambda x: ag.exp(100.0 * ag.sin(x)), 0.5)
    assert 100 * 4 * math.ulp(math.sin(0.5)) * value < error < 1000 * 4 * math.ulp(math.sin(0.5)) * value


def test_an_uncertain_choice_may_be_either():
    assert one(lambda x: ag.where(ag.sin(x) > math.sin(0.5), 1.0, 3.0), 0.5).error == 2.0
    assert one(lambda x: ag.where(ag.sin(x) > 0.4, 1.0, 3.0), 0.5).error == 0.0


def test_a_jump_is_in_the_bound():
    assert one(lambda x: ag.floor(3.0 * (x / 3.0)), 1.0).error == pytest.approx(1.0, rel=0.1)
