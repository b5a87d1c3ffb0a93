"""Functions of one number, entry by entry: exponentials, logarithms, roots, signs, rounding."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import small
from agrad.engine.core.dispatch import by_array, by_rule, in_family
from agrad.engine.core.op import OPS, Failure, Function, Kink, Remedy, flat, onward
from agrad.engine.ops.scalar.arithmetic import JUMPS, QUOTIENT_BY_ZERO, div, division
from agrad.engine.values import np

FAMILY = "elementary"
row, composed = in_family(FAMILY)

AT_ZERO = Kink("abs, sign, relu at 0", "0", "0")

ROOT_AT_ZERO = Kink("sqrt, cbrt at 0", "0", "inf")

LOG_AT_ZERO = Kink("log, log2, log10 at 0, log1p at -1", "-inf", "inf")

OUTSIDE = Kink("log(-1), sqrt(-1), atanh(2) and the like", "nan", "nan")

NORM_AT_ZERO = Kink("norm, hypot, atan2 at 0", "0", "0; the second nan")


NOT_ZERO = Remedy(lambda x: x == 0.0, "{0} + 1e-12", "is finite at 0, and so is its derivative")
NOT_HUGE = Remedy(lambda x: x > 700.0, "clip({0}, None, 700)", "does not overflow")

LN2, LN10 = math.log(2.0), math.log(10.0)


def numpy_function(name: str) -> Function:
    """numpy's function of that name, looked up when it is first used on an array."""

    def array(*operands: Any) -> Any:
        return getattr(np, name)(*operands)

    return array


def elementary(name: str, rule: tuple[str, Function], *, array: str | Function = "", **words: Any) -> Function:
    """A row for a function of one number, with the rule of its operand: what that reads, and the rule.

    `scalar`, if it is not Python's function of that name, and `array`, if it is not numpy's, are stated.
    """
    scalar = words.pop("scalar", None) or getattr(math, name)
    on_arrays = array if callable(array) else numpy_function(array or name)
    return row(name, "x", scalar=scalar, array=on_arrays, rules={"x": rule}, **words)


# Exponentials and logarithms


@by_rule(elementary, "out", fails=Failure(NOT_HUGE))
def exp(g: Any, out: Any, x: Any) -> Any:
    """The exponential e**x.

    derivative: exp(x)
    example: exp(0) == 1
    """
    return g * out


@by_rule(elementary, "out", formula=lambda x: 2.0**x)
def exp2(g: Any, out: Any, x: Any) -> Any:
    """The power 2**x.

    derivative: 2**x*log(2)
    example: exp2(3) == 8
    """
    return (g * LN2) * out


@by_rule(elementary, "x", fails=Failure(NOT_HUGE))
def expm1(g: Any, out: Any, x: Any) -> Any:
    """exp(x) - 1, exact also for small x.

    derivative: exp(x)
    example: expm1(1e-20) == 1e-20
    """
    return g * exp(x)


# 1/x on the domain of the logarithm: the derivative of log(-1), which is nan, is nan as well.
@by_rule(
    elementary,
    "out",
    units="a -> 1/a",
    scalar=lambda x: 1.0 / x if x >= 0.0 else math.nan,
    array=lambda x: np.where(x < 0.0, np.nan, 1.0 / x),
    python="1.0/{0} if {0} >= 0.0 else nan",
    formula=lambda x: 1.0 / x,
)
def inverse_of_positive(g: Any, out: Any, x: Any) -> Any:
    """1/x, nan for negative x."""
    return -g * (out * out)


log: Function = elementary(
    "log",
    # The product, since g / x would differ in the last bit: a program of the graph computes the same.
    ("x", lambda g, out, x: g * (1.0 / x) if type(x) is float and x > 0.0 else g * inverse_of_positive(x)),
    kinks=(LOG_AT_ZERO, OUTSIDE),
    domain="x > 0",
    fails=Failure(NOT_ZERO, beyond=lambda x: x),
    doc="The natural logarithm; -inf at 0, nan below.",
)


@composed("log", alone=log, data=("base",), total=True)
def log_to_base(x: Any, /, base: Any = None) -> Any:
    """The natural logarithm, or that to a base; -inf at 0, nan below.

    derivative: 1/x; to a base 1/(x*log(base)), and wrt the base -log(x)/(base*log(base)**2); nan below 0
    example: log(e) == 1 and log(1000, 10) == 3
    """
    if base is None:
        return log(x)
    if type(base) in (int, float) and base in (2.0, 10.0):
        return log2(x) if base == 2.0 else log10(x)
    return div(log(x), log(base))


def _log_to(base: int, factor: float, example: str) -> Function:
    return elementary(
        f"log{base}",
        ("x", lambda g, out, x: (g / factor) * inverse_of_positive(x)),
        kinks=(LOG_AT_ZERO,),
        domain="x > 0",
        fails=Failure(NOT_ZERO, beyond=lambda x: x * factor),
        doc=f"The logarithm to base {base}; -inf at 0, nan below.",
        derivative=f"1/(x*log({base})); nan below 0",
        example=example,
    )


log2: Function = _log_to(2, LN2, "log2(8) == 3")
log10: Function = _log_to(10, LN10, "log10(1000) == 3")


@by_rule(
    elementary,
    "x",
    kinks=(LOG_AT_ZERO,),
    domain="x > -1",
    fails=Failure(Remedy(lambda x: x == -1.0, "clip({0}, -1 + 1e-12)", "stays above log(0)"), beyond=lambda x: 1.0 + x),
)
def log1p(g: Any, out: Any, x: Any) -> Any:
    """log(1 + x), exact also for small x; -inf at -1, nan below.

    derivative: 1/(1 + x); nan below -1
    example: log1p(1e-20) == 1e-20
    """
    return g * inverse_of_positive(1.0 + x)


# Powers and roots


@by_rule(
    elementary,
    "out",
    units="a -> a^1/2",
    kinks=(ROOT_AT_ZERO, OUTSIDE),
    domain="x >= 0",
    fails=Failure(NOT_ZERO),
)
def sqrt(g: Any, out: Any, x: Any) -> Any:
    """The square root; nan below 0.

    derivative: 1/(2*sqrt(x)); inf at 0
    example: sqrt(9) == 3
    """
    return (0.5 * g) / out


@by_rule(elementary, "out", units="a -> a^1/3", kinks=(ROOT_AT_ZERO,))
def cbrt(g: Any, out: Any, x: Any) -> Any:
    """The cube root, of negative numbers too.

    derivative: 1/(3*cbrt(x)**2); inf at 0
    example: cbrt(-8) == -2
    """
    return g / (3.0 * (out * out))


@by_rule(
    elementary,
    "x out",
    units="a -> a^-1/2",
    scalar=lambda x: 1.0 / math.sqrt(x),
    array=lambda x: 1.0 / np.sqrt(x),
    kinks=(Kink("rsqrt at 0", "inf", "-inf"),),
    domain="x > 0",
    formula=lambda x: x**-0.5,
    fails=Failure(NOT_ZERO),
)
def rsqrt(g: Any, out: Any, x: Any) -> Any:
    """One over the square root; inf at 0, nan below.

    derivative: -1/(2*x*sqrt(x))
    example: rsqrt(4) == 0.5
    """
    return (-0.5 * g) * (out / x)


@by_rule(elementary, "x", units="a -> a^2", scalar=lambda x: x * x, python="{0}*{0}", formula=lambda x: x**2.0)
def square(g: Any, out: Any, x: Any) -> Any:
    """The square x*x.

    derivative: 2*x
    example: square(-3) == 9
    """
    return (2.0 * g) * x


@by_rule(
    elementary,
    "out",
    units="a -> 1/a",
    scalar=lambda x: 1.0 / x,
    array=lambda x: 1.0 / x,
    kinks=(QUOTIENT_BY_ZERO,),
    domain="x not 0",
    python="1.0/{0}",
    formula=lambda x: 1.0 / x,
    fails=Failure(NOT_ZERO),
)
def reciprocal(g: Any, out: Any, x: Any) -> Any:
    """One over x; inf at 0.

    derivative: -1/x**2
    example: reciprocal(4) == 0.25
    """
    return -g * (out * out)


# The quotient in the derivative of a distance: 0 at 0/0, and otherwise with the ordinary rules of division, so that
# a second derivative there is nan. An exact 0 instead would hide that the Hessian of norm(x)**2 is not 0.
@by_array(
    row,
    units="a, b -> a/b",
    scalar=lambda x, y: 0.0 if x == 0.0 == y else x / y,
    rules={"x": ("y", lambda g, out, x, y: g / y), "y": ("out y", lambda g, out, x, y: -g * (out / y))},
    python="0.0 if {0} == 0.0 == {1} else {0}/{1}",
    formula=lambda x, y: x / y,
)
def ratio(x: Any, y: Any) -> Any:
    """x / y, and 0 at 0/0."""
    return np.where((x == 0.0) & (y == 0.0), 0.0, x / y)


# A row of its own: the derivative of x/r by x as that of a quotient, 1/r - x**2/r**3, would cancel where y is small. It
# is y**2/r**3, and that by y -x*y/r**3.
def _hypot_slope_rule(operand: int) -> Function:
    def rule(g: Any, out: Any, x: Any, y: Any, of: int) -> Any:
        other = hypot_slope(x, y, of=1 - of)
        slope = (other if operand == of else out) * (other / hypot(x, y))
        return g * slope if operand == of else -g * slope

    return rule


@by_array(
    row,
    "x, y; of=0",
    units="a, a -> 1",
    scalar=lambda x, y, of: 0.0 if x == 0.0 == y else (y if of else x) / math.hypot(x, y),
    rules={"x": ("out x y", _hypot_slope_rule(0)), "y": ("out x y", _hypot_slope_rule(1))},
    formula=lambda x, y, of: (y if of else x) / (x**2.0 + y**2.0) ** 0.5,
)
def hypot_slope(x: Any, y: Any, of: Any) -> Any:
    """x/hypot(x, y), or y/hypot(x, y) of the second operand; 0 at (0, 0)."""
    return OPS["ratio"].array(y if of else x, np.hypot(x, y))


hypot: Function = row(
    "hypot",
    units="a, a -> a",
    scalar=math.hypot,
    array=numpy_function("hypot"),
    rules={
        "x": ("x y", lambda g, out, x, y: g * hypot_slope(x, y)),
        "y": ("x y", lambda g, out, x, y: g * hypot_slope(x, y, of=1)),
    },
    kinks=(NORM_AT_ZERO,),
    formula=lambda x, y: (x**2.0 + y**2.0) ** 0.5,
    doc="The distance sqrt(x**2 + y**2), without overflow on the way.",
    derivative="wrt x: x/hypot(x, y); wrt y: y/hypot(x, y); 0 at (0, 0)",
    example="hypot(3, 4) == 5",
)

# Signs and rounding


sign: Function = elementary(
    "sign",
    ("", flat),
    units="a -> 1",
    scalar=lambda x: x if x != x else float((x > 0.0) - (x < 0.0)),
    kinks=(AT_ZERO,),
    doc="-1, 0 or 1: the sign of x.",
    derivative="0, also at 0",
    example="sign(-3) == -1",
)


@by_rule(elementary, "x", name="abs", units="a -> a", scalar=abs, kinks=(AT_ZERO,), python="abs({0})")
def absolute(g: Any, out: Any, x: Any) -> Any:
    """The absolute value.

    derivative: sign(x), 0 at 0
    example: abs(-3) == 3
    """
    return g * sign(x)


def _to_whole(name: str, doc: str, of_less: int) -> Function:
    whole = getattr(math, name)
    return elementary(
        name,
        ("", flat),
        scalar=lambda x: math.copysign(whole(x), x),
        kinks=(JUMPS,),
        doc=doc,
        derivative="0, also where it jumps",
        example=f"{name}(-1.5) == {of_less}",
    )


floor: Function = _to_whole("floor", "The largest whole number not above x.", -2)
ceil: Function = _to_whole("ceil", "The smallest whole number not below x.", -1)
trunc: Function = _to_whole("trunc", "x without its fractional part.", -1)


@by_array(
    row,
    "x; digits=0",
    name="round",
    scalar=lambda x, digits: float(round(x, digits)),
    rules={"x": ("", flat)},
    prepare=lambda x, digits: {"digits": small("round", "digits", digits)},
    kinks=(JUMPS,),
    lower=lambda x, digits: None if digits else x.intrinsic("rint"),  # Python rounds the decimal text
)
def rounded(x: Any, digits: int) -> Any:
    """x rounded to so many decimal places; halves go to the even number.

    derivative: 0, also where it jumps
    example: round([0.5, 1.5, 2.7]) == [0, 2, 3]
    """
    return np.round(x, digits)


fmod: Function = division(
    "fmod",
    units="a, a -> a",
    family=FAMILY,
    scalar=math.fmod,
    array=numpy_function("fmod"),
    rules={"x": ("", onward), "y": ("x y", lambda g, out, x, y: -g * OPS["stop"].call(trunc(x / y)))},
    kinks=(Kink("fmod(x, y), also where it jumps", "", "wrt x 1; wrt y -trunc(x/y)"),),
    doc="The remainder of x / y with the sign of x (x % y has the sign of y).",
    derivative="wrt x: 1; wrt y: -trunc(x/y)",
    example="fmod(-7, 3) == -1",
)
