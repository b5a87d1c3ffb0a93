"""Integrals: against closed forms, with what is said of their errors, and their derivatives at singular ends."""

import math
from pathlib import Path

import numpy as np
import pytest
from refused import refuses
from rows import each, functions
from transcript import sections

import agrad.engine as ag
from agrad.engine.core.context import scope

pytest.importorskip("scipy")

INF = math.inf
NAMES = {"ag": ag, "math": math, "inf": INF}
ROWS = [
    line.split(" | ")
    for (text,) in sections(Path(__file__).with_name("integrals.txt")).values()
    for line in text.strip().splitlines()
]


def heard(call):
    """What a call returns, and what it says."""
    notes = []
    with scope(listener=lambda note: notes.append(note.message)):
        return call(), notes


def at(x):
    return ag.tensor(x, requires_grad=True)


@each("row", [(" | ".join(row),) for row in ROWS])
def test_an_integral_is_its_closed_form_within_the_error_that_is_told(row):
    f, low, high, exact, *options = row[0].split(" | ")
    given = eval(f"dict({', '.join(options)})", NAMES)
    function, (a, b, value) = functions("t", f, NAMES)[f], (eval(x, NAMES) for x in (low, high, exact))
    found, notes = heard(lambda: ag.integral(function, a, b, **given))
    assert float(found) == pytest.approx(value, rel=3e-10, abs=1e-12)
    (told,) = [note.removeprefix("integral: the error is below 1e") for note in notes]
    assert abs(float(found) - value) <= 10.0 ** int(told) + 4e-16 * abs(value)


def test_so_many_integrals_have_closed_forms():
    assert len(ROWS) >= 60


@each("f, p, exact, slope, curvature", [
    (lambda a: ag.integral(lambda t: t**a, 0, 1), -0.5, 2, -4, 16),
    (lambda a: ag.integral(lambda t: t**a, 0, 1), -0.9, 10, -100, 2000),
    (lambda a: ag.integral(lambda t: t ** (a - 1) * ag.exp(-t), 0, INF), 0.5, math.sqrt(math.pi), -3.4802309069132620, 15.580177442407711),
    (lambda w: ag.integral(lambda t: ag.cos(w * t) / (1 + t**2), 0, INF), 2.0, math.pi / 2 * math.exp(-2), -math.pi / 2 * math.exp(-2), math.pi / 2 * math.exp(-2)),
    (lambda m: ag.integral(lambda t: m * ag.exp(-((t - m) ** 2)), -INF, INF), 1e4, 1e4 * math.sqrt(math.pi), math.sqrt(math.pi), 0),
    (lambda k: ag.integral(lambda t: ag.exp(-k * t), 0, INF), 1e-6, 1e6, -1e12, 2e18),
    (lambda b: ag.integral(lambda t: t**-0.5, 0, b), 0.25, 1, 2, -4),
    (lambda b: ag.integral(lambda t: ag.log(t) * b, 0, b), 2.0, 2 * (2 * math.log(2) - 2), 2 * (2 * math.log(2)) - 2, 2 * math.log(2) + 1),
])  # fmt: skip
def test_derivatives_are_those_of_closed_forms_at_singular_ends_too(f, p, exact, slope, curvature):
    p = at(p)
    y = f(p)
    found = [float(y), float(ag.grad(y, p)), float(ag.hessian(y, p))]
    np.testing.assert_allclose(found, [exact, slope, curvature], rtol=1e-9, atol=1e-7)


def test_what_is_not_seen_is_said():
    value, notes = heard(lambda: ag.integral(lambda t: ag.exp(-(((t - 0.3) / 1e-9) ** 2)), 0, 1))
    assert value == 0.0
    assert notes == ["integral: the function is 0 wherever it was looked at; near= tells where it is not"]


@each("f, a, b", [
    (lambda t: 1 / t, 0, 1),
    (lambda t: 1 / t, -1, 2),  # whose two sides cancel
    (lambda t: 1 / (t - 0.3), -1, 2),
    (lambda t: 1 / (t - 0.3) ** 3, -1, 2),
    (lambda t: 1 / t, 1, INF),
    (lambda t: ag.sin(t), 0, INF),
    (lambda t: t * ag.sin(t), 0, INF),
    (lambda t: ag.sin(t) ** 2 / t, 1, INF),
    (lambda t: (2 + ag.cos(t)) / ag.sqrt(t), 1, INF),
    (lambda t: 2 + ag.cos(t), 1, INF),
    (lambda t: (2 + ag.cos(9 * t)) / t**1.05, 1, INF),  # which converges too slowly
    (lambda t: ag.sin(t) ** 2 * ag.sin(1.41421356 * t) ** 2 / t**2, 0, INF),  # with ripples of two lengths
    (lambda t: 0 * t + 1e-30, 0, INF),
    (lambda t: t**-1.5, 0, 1),
    (lambda t: ag.exp(t), 0, INF),
])  # fmt: skip
def test_an_integral_that_diverges_is_refused(f, a, b):
    refuses(lambda: ag.integral(f, a, b), "integral: the (integral over .* diverges|function is inf)", "domain")


STEPS = [
    (lambda t, a: ag.where(t < a, 1.0, 0.0), 0.0, 1.0, lambda a: min(max(a, 0.0), 1.0)),
    (lambda t, a: ag.where(t < a, t, a), 0.0, 1.0, lambda a: a - a * a / 2 if 0.0 < a < 1.0 else min(a, 0.5)),
    (lambda t, a: ag.relu(t - a), 0.0, 1.0, lambda a: max(1.0 - a, 0.0) ** 2 / 2 - max(-a, 0.0) ** 2 / 2),
    (lambda t, a: ag.where(t < 0.51, a * t, a * a), 0.0, 1.0, lambda a: a * 0.51**2 / 2 + a * a * 0.49),
    (lambda t, a: ag.floor(3 * t * a), 0.0, 1.0, lambda a: (sum(a - k / 3 for k in range(1, int(3 * a) + 1))) / a),
    (lambda t, a: a * ag.floor(40 * t), 0.0, 1.0, lambda a: 19.5 * a),
    (lambda t, a: ag.exp(-t) * ag.sign(t - a), 0.0, INF, lambda a: 2 * math.exp(-max(a, 0.0)) - 1.0),
    (lambda t, a: ag.exp(t) * (t > a), -INF, 1.0, lambda a: math.e - math.exp(min(a, 1.0))),
    (lambda t, a: ag.exp(-t * t) * ag.where(t < a, 1.0, -1.0), -INF, INF, lambda a: math.sqrt(math.pi) * math.erf(a)),
    (
        lambda t, a: ag.where(t < a, ag.sin(t), 2 * t),
        2.0,
        0.0,
        lambda a: -(1 - math.cos(a) + 4 - a * a) if a > 0 else -4,
    ),
]


@each("number", range(len(STEPS)))
@each("a", [0.3, 0.30003, 1.0])
def test_an_integral_of_a_function_with_steps_has_their_derivative_or_none(number, a):
    """The derivative is the difference of the closed form, in both orders, or it is refused: an edge that moves."""
    f, low, high, exact = STEPS[number]
    x, refused = at(a), 0
    y = ag.integral(lambda t: f(t, x), low, high)
    assert y.item() == pytest.approx(exact(a), rel=1e-9, abs=1e-9)
    for order in (1, 2):
        h = 1e-3
        slope = (exact(a + h) - exact(a - h)) / (2 * h)
        expected = slope if order == 1 else (exact(a + h) - 2 * exact(a) + exact(a - h)) / h**2
        try:
            y = ag.grad(y, x, create_graph=True)
        except ag.AgradError as problem:
            assert problem.message.startswith("integral: the function jumps at a place that moves")
            refused += 1
            break
        assert y.item() == pytest.approx(expected, rel=1e-4, abs=1e-3), order
    assert refused == 0 or number != 3
