"""Special functions, with their first and second derivatives, at random points far out too, beside mpmath."""

import random
import sys

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.core.op import FUNCTIONS as ROWS

mpmath = pytest.importorskip("mpmath")
pytest.importorskip("scipy")
mp = mpmath.mp

WITHIN, POINTS, NEGLIGIBLE = 1e-12, 200, 1e-60


def size(low, high):
    return lambda dice: 10 ** dice.uniform(low, high)


def between(low, high):
    return lambda dice: dice.uniform(low, high)


def signed(sample):
    return lambda dice: dice.choice((-1, 1)) * sample(dice)


def some(*samples):
    return lambda dice: dice.choice(samples)(dice)


def near_one(dice):
    return 1 - 10 ** dice.uniform(-15, 0)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def loggamma(x):
    return mp.log(abs(mp.gamma(x))) if abs(x) < 1e4 else mp.loggamma(x)


def lbeta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def erfcinv(x):
    """By Newton's method on the logarithm."""
    if x > 1:
        return -erfcinv(2 - x)
    if x > 1e-3:
        return mp.erfinv(1 - x)
    y = mp.sqrt(-mp.log(x))
    for _ in range(200):
        step = mp.log(mp.erfc(y) / x) * mp.erfc(y) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < y * mp.mpf(10) ** (5 - mp.dps):
            return y
    raise ArithmeticError(x)


def of_matrices(x, d):
    return mp.mpf(d) * (d - 1) / 4 * mp.log(mp.pi) + sum(mp.loggamma(x - mp.mpf(j) / 2) for j in range(d))


def of_order(function, order, *factor):
    """A function of mpmath of an order and x, times others of x."""
    return lambda x: function(order, x) * mp.fprod(f(x) for f in factor)


def shrunk(x):
    return mp.exp(-abs(x))


SMALL, EVERYWHERE = size(-25, 0), some(between(-50, 50), signed(size(-25, 0)))
UNIT = some(between(0, 1), SMALL, near_one)
POSITIVE = some(size(-3, 2.5), size(-8, 0), between(0, 50))
FAR = some(POSITIVE, size(2, 5))
# Limits, and integrals up to small shapes, take mpmath long.
DIGITS = dict.fromkeys(["yv 1", "kv 1", "kve 0", "y0", "y1"], 40) | dict.fromkeys(["gammaincc", "betainc"], 60)
WAVES = ("j", "y")  # near a zero of a derivative, these are as exact as the wave is high
WITHOUT = {"gammasgn", "gcd", "lcm"}  # these have no derivative but 0
# Each function of mpmath, and where it is tried; after its name, operands before x.
FUNCTIONS = {
    "gamma": (mp.gamma, some(between(-20, 30), between(30, 170), SMALL)),
    "lgamma": (loggamma, some(between(-20, 30), size(-25, 25), between(0.5, 2.5))),
    "digamma": (mp.digamma, some(between(-20, 30), size(-25, 25), between(1, 2))),
    "rgamma": (mp.rgamma, some(between(-20, 30), between(30, 170), SMALL)),
    **{f"polygamma {n}": (of_order(mp.polygamma, n), some(between(-8, 30), size(-25, 25))) for n in (1, 2, 5)},
    "multigammaln 3": (lambda x: of_matrices(x, 3), lambda dice: 1 + size(-3, 8)(dice)),
    "beta": (mp.beta, *[some(size(0, 3), size(0, 8), size(-12, 2))] * 2),
    "lbeta": (lbeta, *[some(size(-3, 3), size(-12, 2), size(-8, 15))] * 2),
    "comb": (mp.binomial, some(size(-2, 5), size(-12, 2), between(0, 300)), some(size(-12, 2), between(0, 100))),
    "perm": (
        lambda n, k: mp.gamma(n + 1) / mp.gamma(n - k + 1),
        some(size(-2, 5), size(-12, 2), between(0, 300)),
        some(size(-12, 1.5), between(0, 30)),
    ),
    "erf": (mp.erf, signed(some(SMALL, between(0, 7)))),
    "erfc": (mp.erfc, some(signed(SMALL), between(-6, 26))),
    "erfinv": (mp.erfinv, signed(UNIT)),
    "erfcinv": (erfcinv, some(between(0, 2), size(-300, 0), lambda dice: 1 + near_one(dice))),
    "ndtri": (lambda p: -mp.sqrt(2) * erfcinv(2 * p), some(between(0, 1), size(-300, 0), near_one)),
    "ndtr": (ndtr, some(between(-37, 8), signed(SMALL))),
    "log_ndtr": (
        lambda x: mp.log(ndtr(x)),
        some(between(-60, 10), signed(SMALL), lambda dice: -(10 ** dice.uniform(0, 20))),
    ),
    "logit": (lambda p: mp.log(p / (1 - p)), UNIT),
    "entr": (lambda x: -x * mp.log(x), some(between(0, 3), size(-25, 25))),
    "j0": (lambda x: mp.besselj(0, x), some(EVERYWHERE, signed(size(0, 2)))),
    "j1": (lambda x: mp.besselj(1, x), some(EVERYWHERE, signed(size(0, 2)))),
    "i0": (lambda x: mp.besseli(0, x), some(EVERYWHERE, between(-700, 700))),
    "i1": (lambda x: mp.besseli(1, x), some(EVERYWHERE, between(-700, 700))),
    **{f"jv {v}": (of_order(mp.besselj, v), POSITIVE) for v in (1, 2.5, -0.5, 7)},
    **{f"yv {v}": (of_order(mp.bessely, v), POSITIVE) for v in (1, 2.5)},
    "y0": (of_order(mp.bessely, 0), POSITIVE),
    "y1": (of_order(mp.bessely, 1), POSITIVE),
    **{f"iv {v}": (of_order(mp.besseli, v), POSITIVE) for v in (0, 2.5, 7)},
    **{f"kv {v}": (of_order(mp.besselk, v), POSITIVE) for v in (1, 2.5, -0.5)},
    **{f"ive {v}": (of_order(mp.besseli, v, shrunk), signed(FAR)) for v in (0, 1, 7)},
    # Of high orders, no whole ones where limits take mpmath long.
    **{f"iv {v}": (of_order(mp.besseli, v), POSITIVE) for v in (16, 30.5, 100)},
    **{f"kv {v}": (of_order(mp.besselk, v), POSITIVE) for v in (15.5, 30.5, 100.5)},
    **{f"ive {v}": (of_order(mp.besseli, v, shrunk), signed(FAR)) for v in (16, 30, 100)},
    **{f"kve {v}": (of_order(mp.besselk, v, mp.exp), FAR) for v in (15.5, 30.5, 100.5)},
    "ive 2.5": (of_order(mp.besseli, 2.5, shrunk), FAR),
    **{f"kve {v}": (of_order(mp.besselk, v, mp.exp), FAR) for v in (0, 2.5, -0.5)},
    "xlogy": (lambda x, y: x * mp.log(y), signed(size(-20, 20)), size(-25, 25)),
    "xlog1py": (lambda x, y: x * mp.log1p(y), signed(size(-20, 20)), some(between(-1, 3), size(-25, 25))),
    "gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), size(-8, 2), size(-8, 2.5)),
    "gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), size(-8, 2), size(-8, 2.5)),
    "betainc": (
        lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        some(size(-1, 1.5), size(-8, 0)),
        some(size(-1, 1.5), size(-8, 0)),
        some(between(0, 1), size(-12, 0), near_one),
    ),
    "sinc": (lambda x: mp.sinc(mp.pi * x), some(between(-30, 30), signed(SMALL))),
}


def derivatives(f, xs):
    """The value, the first and the second derivatives, row by row: by the logarithm of each operand, to all digits."""

    def scaled(*shifts):
        return f(*[x * (1 + shift) for x, shift in zip(points, shifts, strict=True)])

    def slope(*orders):
        found = mp.diff(scaled, (mp.zero,) * count, orders) if count > 1 else mp.diff(scaled, mp.zero, orders[0])
        for x, order in zip(points, orders, strict=True):
            found /= x**order
        return mp.re(found)

    points, count = [mp.mpf(x) for x in xs], len(xs)
    units = [[int(one == other) for other in range(count)] for one in range(count)]
    second = [slope(*map(sum, zip(one, other, strict=True))) for one in units for other in units]
    return [mp.re(f(*points)), *[slope(*one) for one in units], *second]


def found_here(name, operands):
    xs = [ag.tensor(x, requires_grad=True) for x in operands]
    function, *before = name.split()
    y = ag.multigammaln(*xs, 3) if before == ["3"] else getattr(ag, function)(*map(float, before), *xs)
    first = ag.grad(y, xs, create_graph=True)
    return [y.item(), *[g.item() for g in first], *[g.item() for slope in first for g in ag.vjp(slope, xs, 1.0)]]


def errors(name, points):
    f, *samples = FUNCTIONS[name]
    dice = random.Random(name)
    for _ in range(points):
        xs = [sample(dice) for sample in samples]
        with mp.workdps(DIGITS.get(name, 120)):
            exact = derivatives(f, xs)
            for place, (here, there) in enumerate(zip(found_here(name, xs), exact, strict=True)):
                # Operands that are as exact as they can be move it by so much.
                slopes = exact[1 + place * len(xs) :][: len(xs)] if place <= len(xs) else []
                moved = sum(abs(x * slope) for x, slope in zip(xs, slopes, strict=False))
                moved += 1e-4 * max(map(abs, exact)) if name.startswith(WAVES) else 0
                if (
                    abs(there) > NEGLIGIBLE
                    and here != float(there)
                    and not abs(here - there) <= WITHIN * (abs(there) + moved)
                ):
                    yield f"{name}{tuple(xs)}, derivative {place}: {here}, not {float(there)}"


def test_every_special_function_is_tried():
    assert {name.split()[0] for name in FUNCTIONS} | WITHOUT >= {
        name for name, entry in ROWS.items() if entry.family == "special"
    }


@each("name", FUNCTIONS)
def test_a_special_function_and_its_derivatives_are_exact_at_some_points(name):
    assert not [*errors(name, 3)]


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_special_function_and_its_derivatives_are_exact(name):
    assert not [*errors(name, POINTS)]


OF_ONE = [name for name, (_, *samples) in FUNCTIONS.items() if len(samples) == 1]


@pytest.mark.long
@pytest.mark.parametrize("name", OF_ONE)
def test_the_third_derivative_of_a_special_function_is_exact(name):
    f, sample = FUNCTIONS[name]
    dice, wrong = random.Random(f"third {name}"), []
    for _ in range(POINTS // (10 if name in DIGITS else 4)):
        x = sample(dice)
        with mp.workdps(DIGITS.get(name, 120)):
            exact, slope = (
                float(mp.re(mp.diff(lambda shift: f(mp.mpf(x) * (1 + shift)), mp.zero, n)) / mp.mpf(x) ** n)  # noqa: B023
                for n in (3, 4)
            )
        found = third_here(name, x)
        # The derivatives of the scaled Bessel function are differences of values of its own size.
        rounding = 8 * sys.float_info.epsilon * abs(float(f(mp.mpf(x)))) if name.startswith("ive") else 0.0
        if (
            abs(exact) > NEGLIGIBLE
            and found != exact
            and not abs(found - exact) <= 1e-11 * abs(exact) + WITHIN * abs(x * slope) + rounding
        ):
            wrong.append((x, found, exact))
    assert not wrong


def third_here(name, x):
    x = ag.tensor(x, requires_grad=True)
    function, *before = name.split()
    y = ag.multigammaln(x, 3) if before == ["3"] else getattr(ag, function)(*map(float, before), x)
    for _ in range(3):
        y = ag.vjp(y, [x], 1.0, create_graph=True)[0]
    return y.item()


TINY = [sign * x for x in (5e-324, 1e-310, 1e-308, 1e-200, 1e-100) for sign in (1, -1)]
OF_TINY = {
    **{f"{name}{n}": of_order(of, n) for name, of in (("j", mp.besselj), ("i", mp.besseli)) for n in (0, 1)},
    **{f"jv {v}": of_order(mp.besselj, v) for v in (0, 1, 2, -1, -2, 0.5, -0.5, -1.5)},
    # mpmath finds no value of negative whole orders, which are those of positive ones.
    **{f"iv {v}": of_order(mp.besseli, v if v % 1 else abs(v)) for v in (0, 1, 2, -1, -2, 0.5, -0.5, -1.5)},
    **{f"ive {v}": of_order(mp.besseli, v if v % 1 else abs(v), shrunk) for v in (0, 1, 2, -1, 0.5, -0.5)},
    "erfinv": mp.erfinv,
    "erf": mp.erf,
    "lgamma": loggamma,
    "lbeta 1": lambda x: -mp.log(x),
    "lbeta 1e-305": lambda x: mp.log(1 / x + 1 / mp.mpf(1e-305)),
    "beta 3": lambda x: mp.beta(3, x),
    "gammainc 1e-310": lambda x: 1 - mp.mpf(1e-310) * mp.e1(x),
    "gammaincc 1e-310": lambda x: mp.mpf(1e-310) * mp.e1(x),
    "gammaincc 1e-25": lambda x: mp.mpf(1e-25) * mp.e1(x),
}


@each("name", OF_TINY)
def test_special_functions_of_the_smallest_numbers(name):
    function, *before = name.split()
    for x in [
        *TINY,
        *([] if "gamma" in name or "beta" in name else [0.0, -0.0]),
        *([1.0, 3.0] if "gammainc" in name else []),
    ]:
        if x < 0.0 and (function in ("beta", "lbeta", "gammainc", "gammaincc") or (before and float(before[0]) % 1.0)):
            continue
        with mp.workdps(60):
            there = OF_TINY[name](mp.mpf(x)) if x or float(*before or [0]) % 1 == 0 else None
        here = getattr(ag, function)(*map(float, before), x)
        if not before:
            array = getattr(ag, function)(np.array([x, x]))
            assert array == pytest.approx([here, here], rel=1e-15, abs=0.0), (name, x)
            assert np.array_equal(np.signbit(array), np.signbit([here, here])), (name, x)
        if there is not None:
            assert abs(here - there) <= 1e-12 * abs(there) + 1e-321 or here == float(there), (name, x, here, there)


@each("name", ["j0", "j1", "i0", "i1"])
def test_derivatives_of_bessel_functions_near_0(name):
    at_zero, slopes = derivatives_at(name, 0.0), {x: derivatives_at(name, x) for x in TINY}
    for x, found in slopes.items():
        assert all(here == pytest.approx(there, abs=2 * abs(x)) for here, there in zip(found, at_zero, strict=True)), x


def derivatives_at(name, x):
    found, function = [], getattr(ag, name)
    for _ in range(4):
        found.append(float(function(x)))
        function = ag.grad(function)
    return found
