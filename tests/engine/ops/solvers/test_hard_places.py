"""Zeros and minima in hard places: the right one is found, or a message says that there is none; never a wrong one.

Each shape is moved to random places, stretched, and searched from random starts: `c` is where its zero or minimum is,
or would be, and `s` its size.
"""

import math

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag

pytest.importorskip("scipy")

EACH = 6  # random places of each shape


# Functions that cross 0 at 0 alone.
CROSSING = {
    "a line": lambda x: x,
    "a kink": lambda x: ag.where(x < 0, x, 3 * x),
    "a sharp kink": lambda x: ag.maximum(x, x / 100),
    "two bends": lambda x: x + x**3,
    "flat far away": ag.tanh,
    "flat farther away": lambda x: x / (1 + x**2),
    "steep": lambda x: ag.tanh(1e6 * x),
    "a pole beside it": lambda x: x / (x + 1.5),
    "an end of its domain beside it": lambda x: ag.log(x + 1.5) - math.log(1.5),
    "a step beside it": lambda x: x + ag.floor(x + 0.5),
}
EVERYWHERE = "a line", "a kink", "a sharp kink", "two bends"
# Functions with a zero at 0 that is not simple, or none, or that is not alone.
NOT_CROSSING = {
    "a square": lambda x: x**2,
    "a cube": lambda x: x**3,
    "a fourth power": lambda x: x**4,
    "an eighth power": lambda x: x**8,
    "a square that loses its digits": lambda x: ag.cosh(x) - 1,
    "a cube that loses its digits": lambda x: x - ag.sin(x),
    "1 - cos": lambda x: 1 - ag.cos(2 * x),
    "a kink that touches": ag.abs,
    "a cusp that touches": lambda x: ag.sqrt(ag.abs(x)),
    "half a plateau": ag.relu,
    "another half": lambda x: ag.abs(x) + x,
    "a plateau": lambda x: ag.relu(ag.abs(x) - 0.5),
    "nothing but 0": lambda x: 0 * x,
    "steps": ag.floor,
    "an end of its domain": ag.sqrt,
    "no zero": lambda x: x**2 + 1,
    "hardly no zero": lambda x: x**2 + 1e-9,
    "a zero at infinity": lambda x: ag.exp(-x),
    "a slower one": lambda x: 1 / (1 + x**2),
    "a constant": lambda x: 0 * x + 3,
    "a pole": lambda x: 1 / x,
}
# Functions that change their sign at 0, and are not 0 there.
JUMPING = {
    "a pole": lambda x: 1 / x,
    "a pole of the third order": lambda x: x**-3,
    "a weak pole": lambda x: ag.sign(x) * ag.abs(x) ** -0.01,
    "a logarithm": lambda x: -ag.sign(x) * ag.log(ag.abs(x) / 1e3),
    "a step": ag.sign,
    "a step with a kink": lambda x: ag.sign(x) + x,
    "tan": lambda x: ag.tan(x + math.pi / 2),
}
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


def test_a_bracket_says_where_the_function_is_not_finite():
    refuses(lambda: ag.root(lambda x: 1 / x, (-1, 1)), "root: the function is inf at 0, inside the bracket")
    refuses(lambda: ag.root(ag.tan, (1, 2)), r"root: the function changes its sign at 1\.5708 without a zero")


def test_what_a_function_does_at_its_zero_is_told():
    told = {
        "touches 0 at 1, and does not cross it": (lambda x: ag.abs(x - 1), 3.0),
        "has a double zero at 1: its derivative is 0 there": (lambda x: (x - 1) ** 2, 3.0),
        "has a kink, or an infinite derivative, at its zero at 1": (
            lambda x: ag.sign(x - 1) * ag.sqrt(ag.abs(x - 1)),
            (0.0, 2.0),
        ),
    }
    for message, (f, where) in told.items():
        with pytest.raises(ag.AgradError) as caught:
            ag.root(f, where)
        assert caught.value.message == f"root: the function {message}"


ENDING = {
    "a slope": lambda x: x + x**1.5,
    "an infinite slope": ag.sqrt,
    "another": lambda x: ag.acos(1.0 - x),
    "an infinite one, far from a line": lambda x: ag.sqrt(x) * (x - 9.0),
}


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


def test_a_zero_of_a_higher_order_at_an_end_of_the_domain_is_none():
    with pytest.raises(ag.AgradError, match="root: the function has no simple zero at 0, where its domain ends"):
        ag.root(lambda x: x * ag.sqrt(x), (0, 1))
    # Where the end is beside the zero, both sides tell.
    with pytest.raises(ag.AgradError, match="touches 0 at 0, and does not cross it"):
        ag.root(lambda x: ag.abs(x) * ag.where(x < -1e-6, ag.sqrt(x), 1.0), (0, 1))


DOUBLE = {
    "a square": lambda v: [v[0] - v[1], v[0] * v[1]],
    "alone": lambda v: [v[0] ** 2, v[1]],
    "a square that loses its digits": lambda v: [v[0] - v[1], ag.cosh(v[0]) - 1],
    "lines that touch a circle": lambda v: [(v[0] - 1) ** 2 + v[1] ** 2 - 1, v[0]],
    "kinks that touch": lambda v: [v[0] - v[1], ag.abs(v[0])],
    "one equation twice": lambda v: [v[0] + v[1], 3 * (v[0] + v[1])],
    "no unknown": lambda v: [v[0], 0 * v[1]],
    "no solution": lambda v: [v[0] + v[1] - 1, v[0] + v[1]],
}


@each("name", DOUBLE)
def test_a_system_with_a_singular_jacobian_has_no_root(name):
    for c, s, away in SAMPLES:
        with pytest.raises(ag.AgradError, match="root: ") as caught:
            ag.root(lambda v, c=c, s=s: s * ag.stack(DOUBLE[name](v - c)), [c + away, c - away / 2])
        assert caught.value.kind == "domain"


# Functions with one minimum, at 0, and a Hessian there; of two numbers, the sum of both.
DEEP = {
    "a square": lambda x, y: x**2 + y**2,
    "flat far away": lambda x, y: -ag.exp(-(x**2) / 2 - y**2 / 4),
    "flat farther away": lambda x, y: x**2 / (1 + x**2) + y**2,
    "a narrow valley": lambda x, y: (x - y) ** 2 * 1e4 + x**2,
    "a kink beside it": lambda x, y: ag.where(x < 0.7, x**2, 0.49 + 3 * (x - 0.7)) + y**2,
    "a crooked valley": lambda x, y: x**2 + 100 * (y - x**2) ** 2,
}
# Functions without one, or that is flat, or no single point, or has a kink.
FLAT = {
    "a fourth power": lambda x, y: x**4 + y**2,
    "another": lambda x, y: (x + y) ** 2 + (x - y) ** 4,
    "an eighth power": lambda x, y: x**8 + y**2,
    "a fourth power that loses its digits": lambda x, y: ag.cosh(x) - x**2 / 2 + y**2,
    "a kink": lambda x, y: ag.abs(x) + y**2,
    "a cusp": lambda x, y: ag.sqrt(ag.abs(x)) + y**2,
    "half a parabola": lambda x, y: ag.relu(x) ** 2 + y**2,
    "a plateau": lambda x, y: ag.relu(ag.abs(x) - 0.5) ** 2 + y**2,
    "a valley": lambda x, y: (x + y) ** 2,
    "a constant": lambda x, y: 0 * x + 0 * y,
    "steps": lambda x, y: ag.floor(x) + y**2,
    "a step at a parabola": lambda x, y: ag.floor(x) + x**2 + y**2,
    "a saddle": lambda x, y: x**2 - y**2,
    "a saddle of the third order": lambda x, y: x**3 - 3 * x * y**2,
    "a minimum at infinity": lambda x, y: ag.exp(-x) + y**2,
    "another at infinity": lambda x, y: (x * y - 1) ** 2 + x**2,
    "no end": lambda x, y: x + y**2,
}


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


SLOW = "a kink", "another at infinity"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in FLAT])
def test_what_has_no_single_deepest_point_says_so(name):
    for c, s, x in SAMPLES:
        assert minimum(FLAT[name], c, s, x, 0.5 * x + 0.1) is None


@each("shape", [lambda x, y: x**2 - y**2 + y**4, lambda x, y: x**2 + ag.cos(y), lambda x, y: -(x**2)])
def test_a_start_on_a_saddle_or_a_maximum_is_no_minimum(shape):
    assert minimum(shape, 0.0, 1.0, 0.0, 0.0) is None


# What depends on a parameter, at 0.8: the derivatives of both orders are those of differences of the whole computation.
ALONG = {
    "beyond a kink": lambda p: ag.root(lambda x: ag.abs(x) - p**2, 0.0),
    "on its other side": lambda p: ag.root(lambda x: ag.abs(x) - p**2, -1e-3),
    "from a plateau": lambda p: ag.root(lambda x: ag.relu(x) - p**2, (-1.0, 4.0)),
    "at a kink": lambda p: ag.root(lambda x: ag.where(x < p**2, x - p**2, 3 * (x - p**2)), 3.0),
    "from where the derivative is 0": lambda p: ag.root(lambda x: x**2 - p, 0.0),
    "of two that are close": lambda p: ag.root(lambda x: x**2 - 1e-12 * p, 1.0) * 1e6,
    "beyond the domain": lambda p: ag.root(lambda x: ag.log(x) - p, 10.0),
    "between poles": lambda p: ag.root(lambda x: ag.tan(x) - p, (2, 4)),
    "from a pole": lambda p: ag.root(lambda x: ag.tan(x) - p, 1.57),
    "around which Newton's method turns in a circle": lambda p: ag.root(lambda x: x**3 - 2 * x + 2.5 * p, 0.0),
    "steep": lambda p: ag.root(lambda x: ag.tanh(1e4 * (x - p**2)), (-1, 2)),
    "of a system, from where its Jacobian is singular": lambda p: ag.root(
        lambda v: ag.stack([v[0] * v[1] - p, v[1] - 2 * v[0]]), [0.0, 0.0]
    )[0],
    "of a system with kinks": lambda p: ag.root(
        lambda v: ag.stack([ag.maximum(v[0], v[1]) - p**2, v[1] - 2 * v[0]]), [0.0, 0.0]
    )[0],
    "a minimum, from far away": lambda p: ag.argmin(lambda x: -ag.exp(-((x - p**2) ** 2)), 5.0),
    "a minimum, from flat ground": lambda p: ag.argmin(lambda x: (x**4 - p) ** 2, 0.1),
    "a minimum, from a saddle": lambda p: ag.argmin(lambda v: v[0] ** 2 - p * v[1] ** 2 + v[1] ** 4, [1.0, 0.0])[1],
    "a minimum in a valley": lambda p: ag.argmin(
        lambda v: (p - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2, [-1.2, 1.0]
    )[1],
}


@each("name", ALONG)
def test_derivatives_through_hard_places_are_those_of_differences(name):
    f, p, step = ALONG[name], ag.tensor(0.8, requires_grad=True), 1e-3
    low, middle, high = [float(f(0.8 + side)) for side in (-step, 0, step)]
    y = f(p)
    assert float(ag.grad(y, p, create_graph=True)) == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-4)
    assert float(ag.hessian(y, p)) == pytest.approx((high - 2 * middle + low) / step**2, rel=1e-3, abs=1e-3)
