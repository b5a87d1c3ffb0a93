"""Angles: the trigonometric and the hyperbolic functions, their inverses, and sinc."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from agrad.engine.core.dispatch import by_array, by_rule, in_family
from agrad.engine.core.op import Failure, Function, Kink, Remedy
from agrad.engine.ops.scalar.elementary import (
    NORM_AT_ZERO,
    OUTSIDE,
    elementary,
    hypot,
    hypot_slope,
    inverse_of_positive,
    ratio,
    rsqrt,
    sqrt,
)
from agrad.engine.values import np

row, _ = in_family("elementary")

ARC_ENDS = Kink("asin at -1, 1; acosh at 1", "", "inf")

POLES_AT_ONES = Kink("atanh, erfinv at -1, 1", "-inf, inf", "inf")

FLAT_ENDS = Kink("tanh, sigmoid far out", "", "to full relative accuracy")

INSIDE_ONES = Remedy(lambda x: 1.0 <= abs(x) < 1.0 + 1e-5, "clip({0}, -1 + 1e-7, 1 - 1e-7)", "stays inside of -1 to 1")


@by_rule(elementary, "x")
def sin(g: Any, out: Any, x: Any) -> Any:
    """The sine of an angle in radians.

    derivative: cos(x)
    example: sin(pi/6) ~= 0.5
    """
    return g * cos(x)


@by_rule(elementary, "x")
def cos(g: Any, out: Any, x: Any) -> Any:
    """The cosine of an angle in radians.

    derivative: -sin(x)
    example: cos(0) == 1
    """
    return -g * sin(x)


@by_rule(elementary, "out")
def tan(g: Any, out: Any, x: Any) -> Any:
    """The tangent of an angle in radians.

    derivative: 1 + tan(x)**2
    example: tan(pi/4) ~= 1
    """
    return g * (1.0 + out * out)


# 1 - x**2 without cancellation near 1, and with a derivative, -2*x, that has none near 0.
@by_rule(
    elementary,
    "x",
    scalar=lambda x: (1.0 - x) * (1.0 + x),
    array=lambda x: (1.0 - x) * (1.0 + x),
    formula=lambda x: 1.0 - x**2.0,
)
def one_less_square(g: Any, out: Any, x: Any) -> Any:
    """1 - x**2."""
    return g * (-2.0 * x)


_arc = partial(elementary, domain="from -1 to 1", fails=Failure(INSIDE_ONES))


@by_rule(_arc, "x", array="arcsin", kinks=(ARC_ENDS, OUTSIDE))
def asin(g: Any, out: Any, x: Any) -> Any:
    """The angle in radians whose sine is x; nan outside -1 to 1.

    derivative: 1/sqrt(1 - x**2); inf at -1 and 1
    example: asin(1) == pi/2
    """
    return g / sqrt(one_less_square(x))


@by_rule(
    _arc,
    "x",
    array="arccos",
    kinks=(Kink("acos at -1, 1", "", "-inf"), OUTSIDE),
)
def acos(g: Any, out: Any, x: Any) -> Any:
    """The angle in radians whose cosine is x; nan outside -1 to 1.

    derivative: -1/sqrt(1 - x**2); -inf at -1 and 1
    example: acos(1) == 0
    """
    return -g / sqrt(one_less_square(x))


@by_rule(elementary, "x", array="arctan")
def atan(g: Any, out: Any, x: Any) -> Any:
    """The angle in radians whose tangent is x.

    derivative: 1/(1 + x**2)
    example: atan(1) == pi/4
    """
    return g / (1.0 + x * x)


def _atan2_rule(first: bool) -> Any:
    """x/h/h by y, -y/h/h by x, with h the distance: x*x + y*y would overflow."""

    def rule(g: Any, out: Any, y: Any, x: Any) -> Any:
        h = hypot(x, y)
        slope = ratio(hypot_slope(x, y, of=0 if first else 1), h)
        return g * slope if first else -g * slope

    return rule


@by_array(
    row,
    units="a, a -> 1",
    scalar=math.atan2,
    rules={"y": ("x y", _atan2_rule(True)), "x": ("x y", _atan2_rule(False))},
    kinks=(NORM_AT_ZERO,),
)
def atan2(y: Any, x: Any) -> Any:
    """The angle in radians of the point (x, y), from -pi to pi.

    derivative: wrt y: x/(x**2 + y**2); wrt x: -y/(x**2 + y**2); 0 at (0, 0)
    example: atan2(1, -1) == 3*pi/4
    """
    return np.arctan2(y, x)


@by_rule(elementary, "x")
def sinh(g: Any, out: Any, x: Any) -> Any:
    """The hyperbolic sine.

    derivative: cosh(x)
    example: sinh(0) == 0
    """
    return g * cosh(x)


@by_rule(elementary, "x")
def cosh(g: Any, out: Any, x: Any) -> Any:
    """The hyperbolic cosine.

    derivative: sinh(x)
    example: cosh(0) == 1
    """
    return g * sinh(x)


@by_rule(elementary, "x", kinks=(FLAT_ENDS,))
def tanh(g: Any, out: Any, x: Any) -> Any:
    """The hyperbolic tangent.

    derivative: 1 - tanh(x)**2, computed without cancellation
    example: tanh(0) == 0
    """
    return g * sech_squared(x)


def _sech_squared(t: Any) -> Any:
    """From t = exp(-2|x|): 1 - tanh**2 would lose all digits for large x."""
    return 4.0 * t / (1.0 + t) ** 2


# A separate row, so that derivatives of all orders stay products of itself and tanh, finite everywhere.
@by_rule(
    elementary,
    "out x",
    scalar=lambda x: _sech_squared(math.exp(-2.0 * abs(x))),
    array=lambda x: _sech_squared(np.exp(-2.0 * np.abs(x))),
    formula=lambda x: np.cosh(x) ** -2.0,
)
def sech_squared(g: Any, out: Any, x: Any) -> Any:
    """1/cosh(x)**2."""
    return -2.0 * g * (out * tanh(x))


@by_rule(elementary, "x", array="arcsinh")
def asinh(g: Any, out: Any, x: Any) -> Any:
    """The number whose hyperbolic sine is x.

    derivative: 1/sqrt(1 + x**2)
    example: asinh(0) == 0
    """
    return g / hypot(x, 1.0)


@by_rule(
    elementary,
    "x",
    array="arccosh",
    kinks=(ARC_ENDS, OUTSIDE),
    domain="x >= 1",
    fails=Failure(
        Remedy(lambda x: x == 1.0, "clip({0}, 1 + 1e-7)", "stays above 1"), beyond=lambda x: sqrt(x * x - 1.0)
    ),
)
def acosh(g: Any, out: Any, x: Any) -> Any:
    """The number not below 0 whose hyperbolic cosine is x; nan below 1.

    derivative: 1/sqrt(x**2 - 1); inf at 1
    example: acosh(1) == 0
    """
    return g * (rsqrt(x - 1.0) * rsqrt(x + 1.0))


@by_rule(
    elementary,
    "x",
    array="arctanh",
    kinks=(POLES_AT_ONES, OUTSIDE),
    domain="between -1 and 1",
    fails=Failure(INSIDE_ONES, beyond=lambda x: 1.0 - x * x),
)
def atanh(g: Any, out: Any, x: Any) -> Any:
    """The number whose hyperbolic tangent is x; nan outside -1 to 1.

    derivative: 1/(1 - x**2); inf at -1 and 1, nan outside
    example: atanh(0) == 0
    """
    return g * inverse_of_positive(one_less_square(x))


DEGREE = math.pi / 180.0


@by_rule(elementary, scalar=math.radians)
def deg2rad(g: Any, out: Any, x: Any) -> Any:
    """Degrees as radians.

    derivative: pi/180
    example: deg2rad(180) == pi
    """
    return g * DEGREE


@by_rule(elementary, scalar=math.degrees)
def rad2deg(g: Any, out: Any, x: Any) -> Any:
    """Radians as degrees.

    derivative: 180/pi
    example: rad2deg(pi) == 180
    """
    return g / DEGREE


# sinc, whose derivatives at 0 would be wrong for a composition of sin and division


def _series(z: Any, n: int) -> Any:
    """The n-th derivative of sin(z)/z, from the series of sin; for |z| up to n + 1."""
    total, term, m = 0.0 * z, 1.0 + 0.0 * z, n % 2
    for k in range(n + m, n + m + 60, 2):  # term: z**(k - n)/(k - n)!
        if k > n + m:
            term = term * (z * z) / ((k - n) * (k - n - 1))
        elif m:
            term = term * z
        total = total + (-1.0) ** (k // 2) * term / (k + 1)
    return total


def _recurrence(z: Any, n: int, sine: Function) -> Any:
    """The same for larger z, from z S_k + k S_(k-1) = sin(z + k pi/2)."""
    value = sine(z) / z
    for k in range(1, n + 1):
        value = (sine(z + k * math.pi / 2.0) - k * value) / z
    return value


def _sinc_scalar(x: float, n: int) -> float:
    z = math.pi * x
    value: float = _series(z, n) if abs(z) <= n + 1 else _recurrence(z, n, math.sin)
    return math.pi**n * value


def _sinc_array(x: Any, n: int) -> Any:
    z = np.pi * x
    near = np.abs(z) <= n + 1
    far = _recurrence(np.where(near, np.pi, z), n, np.sin)
    return np.pi**n * np.where(near, _series(np.where(near, z, 0.0), n), far)


@by_rule(
    elementary,
    "x",
    scalar=lambda x: _sinc_scalar(x, 0),
    array=lambda x: _sinc_array(x, 0),
    kinks=(Kink("sinc at 0", "1", "0; the second -pi**2/3"),),
)
def sinc(g: Any, out: Any, x: Any) -> Any:
    """sin(pi*x)/(pi*x), and 1 at 0.

    derivative: (cos(pi*x) - sinc(x))/x; 0 at 0
    example: sinc(0) == 1
    """
    return g * sinc_derivative(x, 1)


sinc_derivative: Function = row(
    "sinc_derivative",
    "x; n",
    scalar=_sinc_scalar,
    array=_sinc_array,
    rules={"x": ("x", lambda g, out, x, n: g * sinc_derivative(x, n + 1))},
    doc="The n-th derivative of sinc.",
)
