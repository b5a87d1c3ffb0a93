"""Zeros and minima in hard places: the right one is found, or a message says that there is none; never a wrong one.

Each shape is moved to random places, stretched, and searched from random starts: `c` is where its zero or minimum is,
or would be, and `s` its size.
"""

from pathlib import Path

import numpy as np
import pytest
from refused import refuses
from rows import each, functions, table
from transcript import sections

import agrad.engine as ag

pytest.importorskip("scipy")

EACH = 6  # random places of each shape
TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_name("hard_places.txt")).items()}


# Functions that cross 0 at 0 alone.
CROSSING = functions("x", TEXTS["crossing"], globals())
EVERYWHERE = [*CROSSING][:4]  # lines, kinks and bends
# Functions with a zero at 0 that is not simple, or none, or that is not alone.
NOT_CROSSING = functions("x", TEXTS["not_crossing"], globals())
# Functions that change their sign at 0, and are not 0 there.
JUMPING = functions("x", TEXTS["jumping"], globals())
SAMPLES = [np.random.default_rng(seed).uniform((-3, 0.2, -2), (3, 3, 2)).tolist() for seed in range(EACH)]


def zero(shape, c, s, where):
    """The zero of a shape at c, if there is one."""
    try:
        return float(ag.root(lambda x: s * shape(x - c), where))
    except ag.AgradError as problem:
        assert problem.kind == "domain"
        assert problem.message.startswith("root: ")
        return None


@each("name", CROSSING)
def test_a_simple_zero_is_found_in_a_bracket_and_not_missed_from_a_start(name):
    found = []
    for c, s, away in SAMPLES:
        assert zero(CROSSING[name], c, s, (c - 1.3, c + 1.1)) == pytest.approx(c, abs=1e-12)
        found.append(zero(CROSSING[name], c, s, c + away))
        assert found[-1] is None or found[-1] == pytest.approx(c, abs=1e-9)
    assert None not in found or name not in EVERYWHERE


@each("name", NOT_CROSSING)
def test_what_does_not_cross_zero_has_no_root(name):
    for c, s, away in SAMPLES:
        assert zero(NOT_CROSSING[name], c, s, c + away) is None
        assert zero(NOT_CROSSING[name], c, s, (c - 1.3, c + 1.1)) is None


@each("name", JUMPING)
def test_a_change_of_sign_is_no_zero(name):
    for c, s, away in SAMPLES:
        assert zero(JUMPING[name], c, s, (c - 1.3, c + 0.2 + abs(away) / 2)) is None
    assert zero(JUMPING[name], 0.0, 1.0, (-1, 1)) is None  # a half of which is the place


@each("f, where, message", table("""
1/x | (-1, 1) | "is inf at 0, inside the bracket"
ag.tan(x) | (1, 2) | "changes its sign at 1.5708 without a zero"
ag.abs(x - 1) | 3.0 | "touches 0 at 1, and does not cross it"
(x - 1)**2 | 3.0 | "has a double zero at 1: its derivative is 0 there"
(x - 1)**3 | 3.0 | "has a zero of a higher, odd order at 1: its derivative is 0 there"
ag.sign(x - 1)*ag.sqrt(ag.abs(x - 1)) | (0.0, 2.0) | "has a kink, or an infinite derivative, at its zero at 1"
x*ag.sqrt(x) | (0, 1) | "has no simple zero at 0, where its domain ends"
ag.abs(x)*ag.where(x < -1e-6, ag.sqrt(x), 1.0) | (0, 1) | "touches 0 at 0, and does not cross it"
""", "x", globals()))  # fmt: skip
def test_what_a_function_does_instead_of_crossing_zero_is_told(f, where, message):
    assert refuses(lambda: ag.root(f, where)).message.startswith(f"root: the function {message}")


ENDING = functions("x", TEXTS["ending"], globals())


@each("name", ENDING)
def test_a_zero_at_an_end_of_the_domain_is_found_at_the_end_of_a_bracket(name):
    for c in (0.0, 0.75, -4.0):
        assert zero(ENDING[name], c, 3.0, (c, c + 1.0)) == c
        assert zero(lambda x: ENDING[name](-x), c, 3.0, (c - 1.0, c)) == c
    p = ag.tensor(0.0, requires_grad=True)
    x = ag.root(lambda x: x + x**1.5 - 2 * p, (0, 1))
    assert (x.item(), ag.grad(x, p).item()) == (0.0, 2.0)
    y = ag.root(lambda y: ag.sqrt(y) - p, (0, 1))
    assert (y.item(), ag.grad(y, p).item()) == (0.0, 0.0)


DOUBLE = functions("v", TEXTS["double"], globals())


@each("name", DOUBLE)
def test_a_system_with_a_singular_jacobian_has_no_root(name):
    for c, s, away in SAMPLES:
        with pytest.raises(ag.AgradError, match="root: ") as caught:
            ag.root(lambda v, c=c, s=s: s * ag.stack(DOUBLE[name](v - c)), [c + away, c - away / 2])
        assert caught.value.kind == "domain"


# Functions with one minimum, at 0, and a Hessian there; of two numbers, the sum of both.
DEEP = functions("x, y", TEXTS["deep"], globals())
# Functions without one, or that is flat, or no single point, or has a kink.
FLAT = functions("x, y", TEXTS["flat"], globals())


def minimum(shape, c, s, x, y):
    """The place of the minimum of a shape at c, if there is one."""
    try:
        return ag.argmin(lambda v: s * shape(v[0] - c, v[1] + c), [c + x, y - c]).data
    except ag.AgradError as problem:
        assert problem.kind == "domain"
        assert problem.message.startswith("argmin: ")
        return None


@each("name", DEEP)
def test_a_minimum_is_found(name):
    found = [minimum(DEEP[name], c, s, x, 0.5 * x + 0.1) for c, s, x in SAMPLES]
    for (c, _, _), place in zip(SAMPLES, found, strict=True):
        if place is not None:
            np.testing.assert_allclose(place, [c, -c], rtol=0, atol=1e-8)
    assert sum(place is not None for place in found) >= EACH * 3 // 4


SLOW = "ag.abs(x) + y ** 2", "(x * y - 1) ** 2 + x ** 2"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in FLAT])
def test_what_has_no_single_deepest_point_says_so(name):
    for c, s, x in SAMPLES:
        assert minimum(FLAT[name], c, s, x, 0.5 * x + 0.1) is None


@each("shape", [lambda x, y: x**2 - y**2 + y**4, lambda x, y: x**2 + ag.cos(y), lambda x, y: -(x**2)])
def test_a_start_on_a_saddle_or_a_maximum_is_no_minimum(shape):
    assert minimum(shape, 0.0, 1.0, 0.0, 0.0) is None


# What depends on a parameter, at 0.8: the derivatives of both orders are those of differences of the whole computation.
ALONG = functions("p", TEXTS["along"], globals())


@each("name", ALONG)
def test_derivatives_through_hard_places_are_those_of_differences(name):
    f, p, step = ALONG[name], ag.tensor(0.8, requires_grad=True), 1e-3
    low, middle, high = [float(f(0.8 + side)) for side in (-step, 0, step)]
    y = f(p)
    assert float(ag.grad(y, p, create_graph=True)) == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-4)
    assert float(ag.hessian(y, p)) == pytest.approx((high - 2 * middle + low) / step**2, rel=1e-3, abs=1e-3)
