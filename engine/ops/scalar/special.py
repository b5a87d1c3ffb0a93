"""Special functions. SciPy computes those that the standard library lacks; it is loaded when one is first called."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

from agrad.engine.core.arguments import small
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import by_array, by_rule, in_family, operand
from agrad.engine.core.op import Function, Kink, flat
from agrad.engine.errors import AgradError
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.shaping import unsqueeze
from agrad.engine.ops.scalar.arithmetic import add, sub
from agrad.engine.ops.scalar.comparison import equal, greater, less_equal, where
from agrad.engine.ops.scalar.elementary import elementary, exp, log, log1p
from agrad.engine.ops.scalar.trigonometry import POLES_AT_ONES
from agrad.engine.values import np

FAMILY = "special"
row, composed = in_family(FAMILY)
of_number: Callable[..., Function] = partial(elementary, family=FAMILY)


@cache
def scipy_special() -> Any:
    """scipy.special, or None."""
    try:
        return extra("scipy.special", "this", "SciPy", "science")
    except AgradError:
        return None


def flagging(function: Function) -> Function:
    """A function on arrays that sets the processor's flag of an invalid operation where it gives nan.

    SciPy and Python do not set it; by it, numpy says in a session where a nan began.
    """

    @wraps(function)
    def call(*operands: Any, **attrs: Any) -> Any:
        out = function(*operands, **attrs)
        if current().undefined is not None and isinstance(out, np.ndarray):
            bad = np.isnan(out)
            for x in operands if bad.any() else ():
                bad = bad & ~np.isnan(x)
            if bad.any():
                np.sqrt(-1.0)
        return out

    return call


def from_scipy(name: str, function: str) -> Function:
    """SciPy's function of that name; AgradError, which says what to install, without SciPy."""

    @flagging
    def call(*operands: Any) -> Any:
        special = scipy_special() or extra("scipy.special", name, "SciPy", "science")  # which says why not
        return getattr(special, function)(*operands)

    return call


def from_math(name: str, scalar: Function, at_pole: Function) -> Function:
    """SciPy's function on arrays; without SciPy that of the standard library, entry by entry."""

    def entry(x: float) -> float:
        try:
            return scalar(x)  # type: ignore[no-any-return]
        except (ValueError, OverflowError):
            return at_pole(x)  # type: ignore[no-any-return]

    @flagging
    def call(x: Any) -> Any:
        special = scipy_special()
        if special is not None:
            return getattr(special, name)(x)
        return np.vectorize(entry, otypes=[float])(x)

    return call


def on_both(function: Function) -> dict[str, Any]:
    """The functions of a row on floats and on arrays, if one computes both; on floats nothing is flagged."""
    plain = getattr(function, "__wrapped__", function)
    return {"array": function, "scalar": lambda *operands, **attrs: float(plain(*operands, **attrs))}


def special(name: str, rule: tuple[str, Function], odd: bool = False, **words: Any) -> Function:
    """A row for a special function of one number, which SciPy has by that name; `odd`: which SciPy forgets at -0."""
    function = from_scipy(name, name)
    array = flagging(lambda x: np.copysign(function(x), x)) if odd else function
    return of_number(name, rule, **on_both(array), **words)


# Of the normal distribution

_TWO_BY_ROOT_PI = 2.0 / math.sqrt(math.pi)


def _error_function(name: str, slope: float, doc: str, slope_told: str, value: int) -> Function:
    return of_number(
        name,
        ("x", lambda g, out, x: (slope * g) * exp(-x * x)),
        array=from_math(name, getattr(math, name), getattr(math, name)),
        lower=lambda x: x.call(name),
        doc=doc,
        derivative=f"{slope_told}/sqrt(pi)*exp(-x**2)",
        example=f"{name}(0) == {value}",
    )


erf: Function = _error_function("erf", _TWO_BY_ROOT_PI, "The error function.", "2", 0)
erfc: Function = _error_function("erfc", -_TWO_BY_ROOT_PI, "1 - erf(x), exact also where that is small.", "-2", 1)


@by_rule(
    special,
    "out",
    odd=True,
    kinks=(POLES_AT_ONES,),
    domain="between -1 and 1",
)
def erfinv(g: Any, out: Any, x: Any) -> Any:
    """The number whose erf is x; ±inf at ±1.

    derivative: sqrt(pi)/2*exp(erfinv(x)**2); inf at -1 and 1
    example: erfinv(erf(0.5)) ~= 0.5
    """
    return g * (exp(out * out) / _TWO_BY_ROOT_PI)


_ROOT_HALF = math.sqrt(0.5)


@by_rule(
    of_number,
    "x out",
    scalar=lambda x: math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi),
    array=lambda x: np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi),
    formula=lambda x: np.exp(-0.5 * x**2.0) / (2.0 * math.pi) ** 0.5,
)
def normal_density(g: Any, out: Any, x: Any) -> Any:
    """The density of the standard normal distribution."""
    return -g * (x * out)


def lower_ndtr(x: Any) -> Any:
    """`ndtr` in machine code, where x is a symbol."""
    return 0.5 * (-x * _ROOT_HALF).call("erfc")


@by_rule(
    of_number,
    "x",
    scalar=lambda x: 0.5 * math.erfc(-x * _ROOT_HALF),
    array=lambda x: 0.5 * erfc(-x * _ROOT_HALF),
    lower=lower_ndtr,
)
def ndtr(g: Any, out: Any, x: Any) -> Any:
    """The probability that a standard normal number is below x.

    derivative: exp(-x**2/2)/sqrt(2*pi)
    example: ndtr(0) == 0.5
    """
    return g * normal_density(x)


# The gamma function and related functions


def _gamma_pole(x: float) -> float:
    return math.inf if x > 0.0 else math.copysign(math.inf, x) if x == 0.0 else math.nan


@flagging
def _gamma_array(x: Any) -> Any:
    value = from_math("gamma", math.gamma, _gamma_pole)(x)
    return np.where((x < 0.0) & (x == np.floor(x)), np.nan, value)  # releases of SciPy differ


@flagging
def _lgamma_array(x: Any) -> Any:
    value, size = from_math("gammaln", math.lgamma, lambda x: math.inf)(x), np.abs(x)
    value = np.where(size == math.inf, size, value)  # SciPy has -inf at -inf
    return np.where(size < 1e-300, -np.log(size), value)  # SciPy has inf for numbers that are smaller still


@by_rule(of_number, "x out", array=_gamma_array, domain="all but 0, -1, -2, …")
def gamma(g: Any, out: Any, x: Any) -> Any:
    """The gamma function: (n - 1)! for a whole n.

    derivative: gamma(x)*digamma(x)
    example: gamma(5) == 24
    """
    return g * (out * digamma(x))


@by_rule(of_number, "x", array=_lgamma_array, domain="all but 0, -1, -2, …")
def lgamma(g: Any, out: Any, x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function.

    derivative: digamma(x)
    example: lgamma(1) == 0
    """
    return g * digamma(x)


@by_rule(special, "x", domain="all but 0, -1, -2, …")
def digamma(g: Any, out: Any, x: Any) -> Any:
    """The derivative of lgamma.

    derivative: the trigamma function
    example: digamma(1) ~= -0.5772156649015329
    """
    return g * digamma_derivative(x, 1)


_polygamma = from_scipy("digamma", "polygamma")
digamma_derivative: Function = row(
    "digamma_derivative",
    "x; n",
    **on_both(lambda x, n: _polygamma(n, x)),
    rules={"x": ("x", lambda g, out, x, n: g * digamma_derivative(x, n + 1))},
    doc="The n-th derivative of digamma.",
)


@composed()
def polygamma(n: Any, x: Any, /) -> Any:
    """The n-th derivative of digamma, for a whole n not below 0.

    derivative: wrt x: polygamma(n + 1, x)
    example: polygamma(1, 1) ~= pi**2/6
    """
    order = small("polygamma", "n", n)
    if order < 0:
        raise AgradError("domain", f"polygamma: n must not be negative, and is {order}")
    return digamma_derivative(x, n=order) if order else digamma(x)


# digamma(x + d) - digamma(x), and the same of its derivatives, to full accuracy where the two are almost the same.
#
# x is carried to beyond 20 by f(x) = f(x + 1) + (-1)**(n + 1)*n!/x**(n + 1), and there all terms of the asymptotic
# series are differences of powers, of one sign. NIST Digital Library of Mathematical Functions, 5.5.2, 5.11.2, 5.15.8.

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _of_power(x: Any, d: Any, m: int) -> Any:
    """(x + d)**-m - x**-m."""
    return np.expm1(-m * np.log1p(d / x)) / x**m if m > 1 else -1.0 / (x * (1.0 + x / d))


def _digamma_difference(x: Any, d: Any, n: int) -> Any:
    x, d = np.asarray(x, dtype=float), np.asarray(d, dtype=float)
    total: Any = 0.0
    with np.errstate(all="ignore"):
        beside_poles = (x < 0.0) | (x + d < 0.0)
        plain = _polygamma(n, x + d) - _polygamma(n, x) if beside_poles.any() else math.nan
        is_tiny = (x > 1e-10) & (np.abs(d) < 1e-17 * x)  # x/d may overflow
        slope = d * _polygamma(n + 1, x) if is_tiny.any() else math.nan
        for _ in range(20 + 2 * n):
            total = total - math.factorial(n) * _of_power(x, d, n + 1)
            x = x + 1.0
        total = total + (math.factorial(n - 1) * -_of_power(x, d, n) if n else np.log1p(d / x))
        total = total - math.factorial(n) / 2.0 * _of_power(x, d, n + 1)
        for k, number in enumerate(_BERNOULLI, 1):
            factor = number * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
            total = total - factor * _of_power(x, d, 2 * k + n)
    return np.where(beside_poles, plain, np.where(is_tiny, slope, (-1.0) ** n * total))


def lgamma_difference(x: Any, d: Any) -> Any:
    """lgamma(x + d) - lgamma(x) of plain values, for x and x + d of at least 20, in the same way."""
    x, d = np.asarray(x, dtype=float), np.asarray(d, dtype=float)
    with np.errstate(all="ignore"):
        series = sum(b / (2 * k * (2 * k - 1)) * _of_power(x, d, 2 * k - 1) for k, b in enumerate(_BERNOULLI, 1))
        return series + ((x + d - 0.5) * np.log1p(d / x) + d * (np.log(x) - 1.0))


digamma_difference: Function = row(
    "digamma_difference",
    "x, d; n=0",
    **on_both(_digamma_difference),
    rules={
        "x": ("x d", lambda g, out, x, d, n: g * digamma_difference(x, d, n + 1)),
        "d": ("x d", lambda g, out, x, d, n: g * digamma_derivative(x + d, n + 1)),
    },
    formula=lambda x, d, n: None if n else (x + d).call("digamma") - x.call("digamma"),
    doc="The difference of the n-th derivatives of digamma at x + d and at x.",
)


def _beta_function(name: str, scipy: str, of_log: Function) -> Function:
    """SciPy's function; where that subtracts large numbers, `of_log` of the logarithm of the beta function."""

    @flagging
    def function(x: Any, y: Any) -> Any:
        less, more = np.minimum(x, y), np.maximum(x, y)
        is_large = (less > 0.0) & (more < math.inf) & ((more > 20.0) | (less < 1e-300))  # SciPy's of that is inf
        with np.errstate(all="ignore"):
            difference = np.where(more > 20.0, lgamma_difference(more, less), -np.log1p(less / more))
            large = of_log(_lgamma_array(less) - difference)
        return np.where(is_large, large, from_scipy(name, scipy)(x, y))

    return function


# The mixed derivative of the beta function is the integral of t**(x-1)*(1-t)**(y-1)*log(t)*log(1-t), above 0. Where x
# is small, its formula beta(x, y)*((digamma(x) - digamma(s))*(digamma(y) - digamma(s)) - trigamma(s)), s = x + y, is a
# small difference of large numbers. With digamma(s) - digamma(y) = x*trigamma(s) - x*p(y, x) it becomes a sum of
# positive numbers for y >= 1, p being the mean of -u*x*tetragamma(y + u*x) for u from 0 to 1. For a y below that,
# beta(x, y) = beta(x + 1, y) + beta(x, y + 1), and so its derivatives.


def _mixed_above_one(x: Any, y: Any) -> Any:
    less, more = np.minimum(x, y), np.maximum(x, y)
    places, weights = np.polynomial.legendre.leggauss(12)
    shares = [(0.5 * (1.0 + place), 0.5 * weight) for place, weight in zip(places, weights, strict=True)]
    mean = -sum(weight * u * less * _polygamma(2, more + u * less) for u, weight in shares)
    slope = _digamma_difference(less, more, 0)
    above = _digamma_difference(less + 1.0, more - 1.0, 0)
    return _beta_value(x, y) * less * (_polygamma(1, x + y) * above + slope * mean)


def _beta_mixed(x: Any, y: Any) -> Any:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    with np.errstate(all="ignore"):
        far = _mixed_above_one(x, y)
        near = _mixed_above_one(x + 1.0, y) + _mixed_above_one(x, y + 1.0)
        both = _digamma_difference(x, y, 0) * _digamma_difference(y, x, 0) - _polygamma(1, x + y)
        return np.where((x < 0.0) | (y < 0.0), _beta_value(x, y) * both, np.where(np.maximum(x, y) < 1.0, near, far))


def _of_two(name: str, function: Function, reads: str, by_x: Function, by_y: Function, **words: Any) -> Function:
    return row(name, **on_both(function), rules={"x": (reads, by_x), "y": (reads, by_y)}, **words)


beta_mixed: Function = _of_two(
    "beta_mixed",
    _beta_mixed,
    "x y out",
    lambda g, out, x, y: g * _beta_mixed_slope(out, x, y),
    lambda g, out, x, y: g * _beta_mixed_slope(out, y, x),
    doc="The mixed second derivative of the beta function.",
)


def _beta_mixed_slope(out: Any, x: Any, y: Any) -> Any:
    """Its derivative by x: that of beta(x, y)*(by_x*by_y - trigamma(x + y))."""
    by_x, by_y, both = -digamma_difference(x, y), -digamma_difference(y, x), digamma_derivative(x + y, 1)
    rest = digamma_difference(x, y, 1) * by_y + by_x * both + digamma_derivative(x + y, 2)
    return out * by_x - beta(x, y) * rest


def _beta_slope(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return _beta_value(x, y) * -_digamma_difference(x, y, 0)


beta_slope: Function = _of_two(
    "beta_slope",
    _beta_slope,
    "x y out",
    lambda g, out, x, y: -g * (out * digamma_difference(x, y) + beta(x, y) * digamma_difference(x, y, 1)),
    lambda g, out, x, y: g * beta_mixed(x, y),
    formula=lambda x, y: x.call("beta", y) * (x.call("digamma") - (x + y).call("digamma")),
    doc="The derivative of the beta function by x.",
)

_beta_value = _beta_function("beta", "beta", lambda log: np.exp(log))
beta: Function = _of_two(
    "beta",
    _beta_value,
    "x y",
    lambda g, out, x, y: g * beta_slope(x, y),
    lambda g, out, x, y: g * beta_slope(y, x),
    domain="x > 0 and y > 0",
    doc="The beta function gamma(x)*gamma(y)/gamma(x + y).",
    derivative="wrt x: beta(x, y)*(digamma(x) - digamma(x + y)); wrt y likewise",
    example="beta(1, 2) == 0.5",
)
lbeta: Function = _of_two(
    "lbeta",
    _beta_function("lbeta", "betaln", lambda log: log),
    "x y",
    lambda g, out, x, y: -g * digamma_difference(x, y),
    lambda g, out, x, y: -g * digamma_difference(y, x),
    domain="x > 0 and y > 0",
    doc="The logarithm of the beta function.",
    derivative="wrt x: digamma(x) - digamma(x + y); wrt y likewise",
    example="lbeta(1, 1) == 0",
)

_TINY = 1e-150  # of a number whose square is nothing beside 1


def of_first_kind(name: str) -> Function:
    """jv, iv or ive of an order and x: near 0, where SciPy's are 0 or nan, the first term of their series (10.2.2)."""
    function = from_scipy(name, name)

    @flagging
    def call(v: float, x: Any) -> Any:
        if not np.any(np.abs(x) < _TINY):
            return function(v, x)
        is_whole = v % 1.0 == 0.0
        order = abs(v) if is_whole else v
        with np.errstate(all="ignore"):
            first = np.power(x, order) * (0.5**order * from_scipy(name, "rgamma")(order + 1.0))
        first = -first if name == "jv" and v < 0.0 and is_whole and v % 2.0 else first
        return np.where(np.abs(x) < _TINY, first, function(v, x))

    return call


# Bessel functions of whole order n: of the first kind, and modified


def _bessel(letter: str, family_name: str, sign: float) -> Function:
    """J' = (J_(n-1) - J_(n+1))/2, I' = (I_(n-1) + I_(n+1))/2: no division by x, exact at 0 in all orders."""

    def array(x: Any, n: int) -> Any:
        if n in (0, 1):
            return from_scipy(f"{letter}{n}", f"{letter}{n}")(x)
        return of_first_kind(f"{letter}v")(n, x)

    def order(x: Any, n: int) -> Any:
        return sign * call(x, -n) if n < 0 else call(x, n)

    call: Function = row(
        f"bessel_{letter}",
        "x; n",
        **on_both(array),
        rules={"x": ("x", lambda g, out, x, n: g * (0.5 * (order(x, n - 1) + sign * order(x, n + 1))))},
        doc=f"The {family_name} of order n.",
    )
    return call


bessel_j: Function = _bessel("j", "Bessel function of the first kind", -1.0)
bessel_i: Function = _bessel("i", "modified Bessel function", 1.0)


@by_rule(special, "x")
def j0(g: Any, out: Any, x: Any) -> Any:
    """The Bessel function of the first kind, of order 0.

    derivative: -j1(x)
    example: j0(0) == 1
    """
    return -g * j1(x)


@by_rule(special, "x")
def j1(g: Any, out: Any, x: Any) -> Any:
    """The Bessel function of the first kind, of order 1.

    derivative: j0(x) - j1(x)/x; 1/2 at 0
    example: j1(0) == 0
    """
    return g * (0.5 * (j0(x) - bessel_j(x, 2)))


@by_rule(special, "x")
def i0(g: Any, out: Any, x: Any) -> Any:
    """The modified Bessel function of order 0.

    derivative: i1(x)
    example: i0(0) == 1
    """
    return g * i1(x)


@by_rule(special, "x", odd=True)
def i1(g: Any, out: Any, x: Any) -> Any:
    """The modified Bessel function of order 1.

    derivative: i0(x) - i1(x)/x; 1/2 at 0
    example: i1(0) == 0
    """
    return g * (0.5 * (i0(x) + bessel_i(x, 2)))


# Products with a logarithm, 0 where the factor is 0


def _by_logarithm(g: Any, x: Any, y: Any) -> Any:
    """g*x/y, and 0 where x is 0 and the logarithm not finite. Elsewhere the mixed derivative at x = 0 is 1/y."""
    return where(equal(x, 0.0) * less_equal(y, 0.0), 0.0, g * over_positive(x, y))


@by_array(
    row,
    units="a, b -> a/b",
    scalar=lambda x, y: math.nan if y < 0.0 else x / (y + 0.0),
    rules={
        "x": ("y", lambda g, out, x, y: over_positive(g, y)),
        "y": ("out y", lambda g, out, x, y: -g * over_positive(out, y)),
    },
    formula=lambda x, y: x / y,
)
def over_positive(x: Any, y: Any) -> Any:
    """x/y where log(y) is defined, and nan elsewhere."""
    return np.where(y < 0.0, math.nan, x / (y + 0.0))


@by_array(
    row,
    units="a, 1 -> a",
    scalar=lambda x, y: y if y != y else 0.0 if x == 0.0 else x * math.log(y),
    rules={
        "x": ("y", lambda g, out, x, y: g * log(y)),
        "y": ("x y", lambda g, out, x, y: _by_logarithm(g, x, y)),
    },
    kinks=(Kink("xlogy at (0, 0)", "0", "wrt x -inf; wrt y 0"),),
    domain="y > 0; y = 0 where x = 0",
)
def xlogy(x: Any, y: Any) -> Any:
    """x*log(y), and 0 where x is 0.

    derivative: wrt x: log(y); wrt y: x/y, 0 at (0, 0)
    example: xlogy(0, 0) == 0
    """
    return np.where((x == 0.0) & ~np.isnan(y), 0.0, x * np.log(y))


@by_array(
    row,
    units="a, 1 -> a",
    scalar=lambda x, y: y if y != y else 0.0 if x == 0.0 else x * math.log1p(y),
    rules={
        "x": ("y", lambda g, out, x, y: g * log1p(y)),
        "y": ("x y", lambda g, out, x, y: _by_logarithm(g, x, 1.0 + y)),
    },
)
def xlog1py(x: Any, y: Any) -> Any:
    """x*log1p(y), and 0 where x is 0.

    derivative: wrt x: log1p(y); wrt y: x/(1 + y), 0 at (0, -1)
    example: xlog1py(0, -1) == 0
    """
    return np.where((x == 0.0) & ~np.isnan(y), 0.0, x * np.log1p(y))


# Functions made from the gamma function: its sign, its reciprocal, and its form for matrices.
#
# 1/gamma is smooth everywhere, and 0 at 0, -1, -2, …, where digamma has poles: its derivatives are not products with
# digamma there. They are computed at a number that is at least 1, where f' = -digamma*f, and carried back to x by f(x)
# = x*f(x + 1), whose k-th derivative is x*f⁽ᵏ⁾(x + 1) + k*f⁽ᵏ⁻¹⁾(x + 1). NIST Digital Library of Mathematical
# Functions, 5.2, 5.5.1 and 5.15.

_MOST_STEPS = 200  # 1/gamma and its derivatives overflow before x is -200


def _gamma_sign_of_number(x: float) -> float:
    if x >= 0.0:
        return math.copysign(1.0, x)
    if not math.isfinite(x) or x == math.floor(x):
        return math.nan
    return -1.0 if math.floor(x) % 2 else 1.0


def _gamma_sign(x: Any) -> Any:
    down = np.floor(x)
    below = np.where(down == x, np.nan, 1.0 - 2.0 * abs(np.fmod(down, 2.0)))
    return np.where(x > 0.0, 1.0, np.where(x == 0.0, np.copysign(1.0, x), below))


gammasgn: Function = of_number(
    "gammasgn",
    ("", flat),
    scalar=_gamma_sign_of_number,
    array=flagging(_gamma_sign),
    kinks=(Kink("gammasgn at ±0", "±1, as 1/x", "0"),),
    domain="all but -1, -2, -3, …",
    doc="The sign of the gamma function: gamma(x) is gammasgn(x)*exp(lgamma(x)).",
    derivative="0",
    example="gammasgn([-0.5, -1.5, 2]) == [-1, 1, 1]",
)


def _reciprocal_derivative(x: Any, n: int) -> Any:
    """See the module. All derivatives up to the n-th are carried along."""
    polygamma, reciprocal = from_scipy("rgamma", "polygamma"), from_scipy("rgamma", "rgamma")
    x = np.asarray(x, dtype=float)
    steps = np.where(x < 1.0, np.ceil(1.0 - x), 0.0)
    start = np.where(steps <= _MOST_STEPS, x + steps, np.nan)
    values = [reciprocal(start)]
    is_zero = values[0] == 0.0  # far to the right, where digamma may be inf
    slopes = [np.where(is_zero, 0.0, polygamma(k, start)) for k in range(n)]
    for k in range(n):
        values.append(-sum(math.comb(k, i) * slopes[i] * values[k - i] for i in range(k + 1)))
    most = int(np.max(steps, initial=0.0, where=steps <= _MOST_STEPS))
    for step in range(most - 1, -1, -1):
        moved = [(x + step) * value + (k * values[k - 1] if k else 0.0) for k, value in enumerate(values)]
        values = [np.where(steps > step, new, old) for new, old in zip(moved, values, strict=True)]
    return values[n]


def _reciprocal_derivative_of_number(x: float, n: int) -> float:
    with np.errstate(all="ignore"):
        return float(_reciprocal_derivative(x, n))


reciprocal_gamma_derivative: Function = row(
    "reciprocal_gamma_derivative",
    "x; n",
    scalar=_reciprocal_derivative_of_number,
    array=_reciprocal_derivative,
    rules={"x": ("x", lambda g, out, x, n: g * reciprocal_gamma_derivative(x, n=n + 1))},
    doc="The n-th derivative of the reciprocal of the gamma function.",
)


@by_rule(
    special,
    "x",
    kinks=(Kink("rgamma at 0, -1, -2, …", "0", "(-1)**n*n! at -n"),),
)
def rgamma(g: Any, out: Any, x: Any) -> Any:
    """1/gamma(x), which is smooth everywhere.

    derivative: -digamma(x)/gamma(x); (-1)**n*n! at -n
    example: rgamma(5) ~= 1/24
    """
    return g * reciprocal_gamma_derivative(x, n=1)


@composed(pure=True, domain="x > (d - 1)/2")
def multigammaln(x: Any, /, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension d, of the Wishart distribution of d by d matrices;
    nan where x is not above (d - 1)/2.

    derivative: the sum of digamma(x - j/2) for j from 0 to d - 1
    example: multigammaln(2, 1) == lgamma(2)
    """
    # A. T. James, Annals of Mathematical Statistics 35 (1964).
    size = small("multigammaln", "d", d)
    if size < 1:
        raise AgradError("domain", f"multigammaln: d must be at least 1, and is {size}")
    x = operand(x)
    if size == 1:
        terms = lgamma(x)
    else:
        terms = total(lgamma(sub(unsqueeze(x, -1), 0.5 * np.arange(size))), -1)
    value = add(terms, 0.25 * size * (size - 1) * math.log(math.pi))
    return where(greater(x, 0.5 * (size - 1)), value, math.nan)
