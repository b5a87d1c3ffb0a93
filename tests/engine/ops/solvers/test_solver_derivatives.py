"""Derivatives of what solvers find, of the first and the second order, against closed forms, at singular ends too.

A row of the table: the solver, as a function of `a`; a; the closed form; that and its two derivatives, which mpmath
computes anew where it is installed.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from refused import refuses
from rows import each
from transcript import sections

import agrad.engine as ag

pytest.importorskip("scipy")

TEXT = Path(__file__).with_name("derivatives.txt")
LINES = [line for (text,) in sections(TEXT).values() for line in text.strip().splitlines()]


def parts(line):
    solver, point, closed, numbers = line.split(" | ")
    return solver, float(point), closed, [float(number) for number in numbers.split()]


@each("line", [(line,) for line in LINES])
def test_derivatives_of_two_orders_are_those_of_the_closed_form(line):
    solver, point, _, expected = parts(line[0])
    a = ag.tensor(point, requires_grad=True)
    y = eval(solver, {"ag": ag, "INF": math.inf, "a": a})
    slope = ag.grad(y, a, create_graph=True)
    found = [float(y), float(slope), float(ag.grad(slope, a)) if slope.requires_grad else 0.0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@each("line", [(line,) for line in LINES])
def test_the_numbers_are_those_of_the_closed_form(line):
    mpmath = pytest.importorskip("mpmath")
    _, point, closed, expected = parts(line[0])
    with mpmath.workdps(60):
        terms = mpmath.taylor(lambda x: mpmath.mpmathify(eval(closed, {**vars(mpmath), "a": x})), point, 2)
        found = [float(mpmath.re(term) * math.factorial(order)) for order, term in enumerate(terms)]
    np.testing.assert_allclose(expected, found, rtol=1e-14, atol=1e-20)


def test_there_are_so_many():
    assert len(LINES) >= 180


@each("f, expected", [
    (lambda x, a: ag.sqrt(x) - a, [2, 0, 0]),
    (lambda x, a: ag.sqrt(x) + x - a, [2, -12, 120]),
    (lambda x, a: x**0.25 - a, [0, 0, 24]),
])  # fmt: skip
def test_higher_derivatives_of_a_root_at_an_infinite_slope(f, expected):
    a = ag.tensor(0.0, requires_grad=True)
    slope, found = ag.root(lambda x: f(x, a), (0, 1)), []
    for _ in range(4):
        slope = ag.grad(slope, a, create_graph=True)
        found.append(float(slope))
    np.testing.assert_allclose(found, [0, *expected], rtol=1e-9, atol=1e-8)


@each("f, message", [
    (lambda a: ag.integral(lambda t: 1 / (t - a), a, a + 1), "integral: the function is inf at 1.3"),
    (lambda a: ag.integral(lambda t: ag.log(t - a - 0.5), a, a + 1), "integral: the function is nan at 1.8"),
    (lambda a: ag.integral(lambda t: ag.log(t - a), a, math.inf), "integral: the integral over 1.3..inf diverges, or converges too slowly"),
    (lambda a: ag.root(lambda x: 1 / x + a, (0, 2)), "root: 0..2 is no bracket: f is inf and 1.8 at the ends, which have no different signs"),
])  # fmt: skip
def test_messages_have_the_places_that_were_typed(f, message):
    assert refuses(lambda: f(ag.tensor(1.3, requires_grad=True))).message == message


def test_an_infinite_number_is_not_cancelled_in_an_integral_whose_end_moves():
    a, c = ag.tensor(1.5, requires_grad=True), ag.tensor(math.inf)
    assert refuses(lambda: ag.integral(lambda t: (a - t) ** -0.5 * ((t + c) - c), 0, a), "the function is nan at 0.75")
