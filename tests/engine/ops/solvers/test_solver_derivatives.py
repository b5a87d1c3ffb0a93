"""Derivatives of what solvers find, of the first and the second order, against closed forms, at singular ends too.

A row of the table: the solver, as a function of `a`; a; the closed form; that and its two derivatives, which mpmath
computes anew where it is installed.
"""

import math
from pathlib import Path

import numpy as np
import pytest
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


def test_there_are_a_hundred():
    assert len(LINES) >= 100
