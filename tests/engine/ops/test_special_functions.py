"""Special functions, with their first and second derivatives, at random points far out too, beside mpmath."""

import random

import pytest
from rows import each

import agrad.engine as ag

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


SMALL, EVERYWHERE = size(-25, 0), some(between(-50, 50), signed(size(-25, 0)))
UNIT = some(between(0, 1), SMALL, near_one)
# Each function of mpmath, and where it is tried.
FUNCTIONS = {
    "gamma": (mp.gamma, some(between(-20, 30), between(30, 170), SMALL)),
    "lgamma": (loggamma, some(between(-20, 30), size(-25, 25), between(0.5, 2.5))),
    "digamma": (mp.digamma, some(between(-20, 30), size(-25, 25), between(1, 2))),
    "rgamma": (mp.rgamma, some(between(-20, 30), between(30, 170), SMALL)),
    "beta": (mp.beta, *[some(size(0, 3), size(0, 8))] * 2),
    "lbeta": (lbeta, *[some(size(-3, 3), size(-8, 15))] * 2),
    "comb": (mp.binomial, some(size(-2, 5), between(0, 300)), some(size(-2, 2), between(0, 100))),
    "perm": (
        lambda n, k: mp.gamma(n + 1) / mp.gamma(n - k + 1),
        some(size(-2, 5), between(0, 300)),
        some(size(-2, 1.5), between(0, 30)),
    ),
    "erf": (mp.erf, signed(some(SMALL, between(0, 7)))),
    "erfc": (mp.erfc, some(signed(SMALL), between(-6, 26))),
    "erfinv": (mp.erfinv, signed(UNIT)),
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
    "xlogy": (lambda x, y: x * mp.log(y), signed(size(-20, 20)), size(-25, 25)),
    "xlog1py": (lambda x, y: x * mp.log1p(y), signed(size(-20, 20)), some(between(-1, 3), size(-25, 25))),
    "gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), size(-2, 2), size(-3, 2)),
    "gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), size(-2, 2), size(-3, 2)),
    "betainc": (
        lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        size(-1, 1.5),
        size(-1, 1.5),
        between(0, 1),
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
    y = getattr(ag, name)(*xs)
    first = ag.grad(y, xs, create_graph=True)
    return [y.item(), *[g.item() for g in first], *[g.item() for slope in first for g in ag.vjp(slope, xs, 1.0)]]


def errors(name, points):
    f, *samples = FUNCTIONS[name]
    dice = random.Random(name)
    for _ in range(points):
        xs = [sample(dice) for sample in samples]
        with mp.workdps(120):
            exact = derivatives(f, xs)
            for place, (here, there) in enumerate(zip(found_here(name, xs), exact, strict=True)):
                # Operands that are as exact as they can be move it by so much.
                slopes = exact[1 + place * len(xs) :][: len(xs)] if place <= len(xs) else []
                moved = sum(abs(x * slope) for x, slope in zip(xs, slopes, strict=False))
                if abs(there) > NEGLIGIBLE and not abs(here - there) <= WITHIN * (abs(there) + moved):
                    yield f"{name}{tuple(xs)}, derivative {place}: {here}, not {float(there)}"


@each("name", FUNCTIONS)
def test_a_special_function_and_its_derivatives_are_exact_at_some_points(name):
    assert not [*errors(name, 3)]


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_special_function_and_its_derivatives_are_exact(name):
    assert not [*errors(name, POINTS)]
