"""Functions of probability: incomplete gamma and beta functions, inverses of the normal distribution, entropies.

The derivatives of the incomplete functions by their parameters are integrals over the logarithm of the variable. With
p(t; a) the gamma density, the k-th is ∫ b_k p dt up to x, where b_k p is the k-th derivative of p (`_of_exponential`);
likewise for the beta density. The integrals are computed by SciPy's adaptive quadrature, from the side on which they
are small: beyond the mean, -∫ from x on stands for them, for which the same holds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

from agrad.engine.core.dispatch import by_rule, in_family
from agrad.engine.core.op import Function
from agrad.engine.extras import extra
from agrad.engine.ops.scalar.elementary import elementary, exp, inverse_of_positive, log, log1p
from agrad.engine.ops.scalar.special import (
    digamma,
    digamma_derivative,
    digamma_difference,
    flagging,
    from_scipy,
    lbeta,
    lgamma,
    on_both,
    scipy_special,
    special,
    xlog1py,
    xlogy,
)
from agrad.engine.values import np

row, _ = in_family("special")

_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)

# Of the normal distribution


@by_rule(special, "out", domain="between 0 and 1")
def ndtri(g: Any, out: Any, x: Any) -> Any:
    """The number that a standard normal number is below with probability x: the inverse of ndtr.

    derivative: sqrt(2*pi)*exp(ndtri(x)**2/2); inf at 0 and 1
    example: ndtri(ndtr(0.5)) ~= 0.5
    """
    return g * (_ROOT_TWO_PI * exp(0.5 * (out * out)))


@by_rule(special, "out", domain="between 0 and 2")
def erfcinv(g: Any, out: Any, x: Any) -> Any:
    """The number whose erfc is x; inf at 0, -inf at 2.

    derivative: -sqrt(pi)/2*exp(erfcinv(x)**2)
    example: erfcinv(erfc(0.5)) ~= 0.5
    """
    return g * (-0.5 * math.sqrt(math.pi) * exp(out * out))


_erfcx = from_scipy("log_ndtr", "erfcx")


def _hazard(x: Any) -> Any:
    return math.sqrt(2.0 / math.pi) / _erfcx(x * -math.sqrt(0.5))


# The derivatives of the hazard. But for -x**2/2 and a constant, log_ndtr is the logarithm of the integral of
# exp(x*s - s**2/2) over s > 0, so that its derivatives are the cumulants of s. For x below 0, s is distributed nearly
# exponentially, and little cancels between its moments: the ratio of one to that before it is k/(-x + the next ratio).
# Elsewhere, the derivatives are those of -hazard*(x + hazard), by the rule of Leibniz.
_FAR, _DEPTH = -1.5, 150


def _hazard_derivative(x: Any, n: int) -> Any:
    x = np.asarray(x, dtype=float)
    distance, ratio, ratios = np.maximum(-x, -_FAR), np.zeros_like(x), [np.ones_like(x)]
    for k in range(_DEPTH + n, 0, -1):
        ratio = k / (distance + ratio)
        ratios[1:1] = [ratio] if k <= n + 1 else []
    moments, cumulants = np.cumprod(ratios, axis=0), [ratio]
    for k in range(1, n + 1):
        others = [math.comb(k, j) * cumulants[j] * moments[k - j] for j in range(k)]
        cumulants.append(moments[k + 1] - sum(others))
    x = np.maximum(np.minimum(x, 100.0), _FAR)  # beyond that, the hazard is 0
    near = [_hazard(x)]
    for k in range(n):
        products = [math.comb(k, j) * near[j] * near[k - j] for j in range(k + 1)]
        near.append(-(x * near[k] + k * near[k - 1] + sum(products)))
    return np.where(x <= _FAR, cumulants[n] - (n == 1), near[n])


hazard_derivative: Function = row(
    "hazard_derivative",
    "x; n",
    **on_both(_hazard_derivative),
    rules={"x": ("x", lambda g, out, x, n: g * hazard_derivative(x, n + 1))},
    doc="The n-th derivative of normal_hazard.",
)

hazard_slope: Function = row(
    "hazard_slope",
    **on_both(partial(_hazard_derivative, n=1)),
    rules={"x": ("x", lambda g, out, x: g * hazard_derivative(x, n=2))},
    doc="The derivative of normal_hazard, a row of its own for exports.",
)

normal_hazard: Function = elementary(
    "normal_hazard",
    ("x", lambda g, out, x: g * hazard_slope(x)),
    # Of a number, this raises where the array function returns inf, for a very negative one.
    scalar=lambda x: math.sqrt(2.0 / math.pi) / float(_erfcx(x * -math.sqrt(0.5))),
    array=_hazard,
    doc="The density of the standard normal distribution divided by ndtr, without cancellation.",
)


@by_rule(special, "x")
def log_ndtr(g: Any, out: Any, x: Any) -> Any:
    """The logarithm of ndtr, exact also where that is small.

    derivative: the density of the standard normal distribution, divided by ndtr(x)
    example: log_ndtr(0) ~= log(0.5)
    """
    return g * normal_hazard(x)


# Odds and entropies


@by_rule(special, "x", domain="between 0 and 1")
def logit(g: Any, out: Any, x: Any) -> Any:
    """log(x/(1 - x)): the inverse of sigmoid; nan outside 0 to 1.

    derivative: 1/(x*(1 - x))
    example: logit(0.5) == 0
    """
    return g * inverse_of_positive(x * (1.0 - x))


@by_rule(special, "x")
def entr(g: Any, out: Any, x: Any) -> Any:
    """-x*log(x): 0 at 0, -inf below.

    derivative: -1 - log(x); inf at 0
    example: entr(1) == 0
    """
    return -g * (1.0 + log(x))


# Integrals of the logarithm's powers


def _quadrature() -> Callable[..., Any]:
    return extra("scipy.integrate", "the derivative by a parameter", "SciPy", "science").quad  # type: ignore[no-any-return]


def _integral(function: Callable[[float], float], peak: float, width: float, end: float) -> float:
    """The integral from -inf to `end` of a function with its peak at `peak`, which is about `width` wide."""
    marks = [peak - 8.0 * width, peak - 2.0 * width, peak, peak + 2.0 * width, peak + 8.0 * width]
    edges = [-math.inf, *(mark for mark in marks if mark < end), end]
    if len(edges) == 2:
        edges.insert(1, end - width)
    quad = _quadrature()
    pieces = pairwise(edges)
    # With full_output it returns its doubts about the result, and does not warn.
    return math.fsum(quad(function, a, b, epsabs=0.0, epsrel=1e-13, limit=200, full_output=1)[0] for a, b in pieces)


def _entry_by_entry(function: Callable[..., float]) -> Function:
    """On arrays. SciPy is imported first."""

    @flagging
    def array(*operands: Any, **attrs: Any) -> Any:
        _quadrature()
        return np.vectorize(lambda *xs: function(*xs, **attrs), otypes=[float])(*operands)

    return array


def _polygamma(order: int, x: float) -> float:
    scipy = scipy_special()
    return float(scipy.digamma(x) if order == 0 else scipy.polygamma(order, x))


# The gamma distribution


_SMALL_SHAPE = 0.25
_LARGEST_SHAPE = 1e305  # beyond, the logarithm of the gamma function overflows


def _of_exponential(k: int, slopes: Any) -> Any:
    """The k-th derivative of an exponential, divided by it: made of those of its exponent, the first, second, …"""
    found: list[Any] = [1.0]
    for n in range(k):
        found.append(sum(math.comb(n, i) * (slopes[i] * found[n - i]) for i in range(n + 1)))
    return found[k]


def _gamma_slope(a: float, x: float, k: int) -> float:
    if not (0.0 < a < _LARGEST_SHAPE) or math.isnan(x) or x < 0.0:
        return math.nan
    if x == 0.0 or x == math.inf:
        return 0.0
    if a < _SMALL_SHAPE and x <= a:  # by gammainc(a, x) = gammainc(a + 1, x) + x**a*exp(-x)/gamma(a + 1)
        edge = math.exp(a * math.log(x) - x - math.lgamma(a + 1.0))
        return float(_gamma_slope(a + 1.0, x, k) + edge * _of_exponential(k, _gamma_exponent(a, math.log(x), k)))
    scale, peak, constants = math.lgamma(a + 1.0), math.log(a), _gamma_exponent(a, 0.0, k)

    def density(s: float) -> float:
        """The derivative of a*exp(a*s - exp(s))/gamma(a + 1), of which none is small by cancellation at a small a."""
        if s > 700.0:
            return 0.0
        slopes = [constants[0] + s, *constants[1:]]
        factor = a * _of_exponential(k, slopes) + k * _of_exponential(k - 1, slopes)
        return float(factor * math.exp(a * s - math.exp(s) - scale))

    width, end = min(max(1.0 / math.sqrt(a), 1e-3), 8.0), math.log(x)
    if x <= a:
        return _integral(density, peak, width, end)
    return -_integral(lambda s: density(-s), -peak, width, -end)


def _gamma_exponent(a: float, s: float, k: int) -> list[float]:
    """The derivatives of a*s - lgamma(a + 1)."""
    return [s - _polygamma(0, a + 1.0), *[-_polygamma(i, a + 1.0) for i in range(1, k)]]


def _gamma_density(a: Any, x: Any) -> Any:
    return exp(xlogy(a - 1.0, x) - x - lgamma(a))


def _gamma_slope_by_x(g: Any, out: Any, a: Any, x: Any, k: int) -> Any:
    slopes = [log(x) - digamma(a), *[-digamma_derivative(a, i) for i in range(1, k)]]
    return g * (_of_exponential(k, slopes) * _gamma_density(a, x))


gamma_slope: Function = row(
    "gamma_slope",
    "a, x; k",
    **on_both(_entry_by_entry(_gamma_slope)),
    rules={
        "a": ("a x", lambda g, out, a, x, k: g * gamma_slope(a, x, k=k + 1)),
        "x": ("a x", _gamma_slope_by_x),
    },
    doc="The k-th derivative of gammainc by its shape.",
)


def _share(name: str) -> Function:
    """SciPy's function; for a tiny shape a, of which that is wrong, the upper one as a*E1(x) (6.11.1 and 8.4.15)."""
    function = from_scipy(name, name)

    @flagging
    def call(a: Any, x: Any) -> Any:
        is_tiny = (a > 0.0) & (a < 1e-20) & (x > 0.0)
        if not np.any(is_tiny):
            return function(a, x)
        upper = a * from_scipy(name, "exp1")(x)
        return np.where(is_tiny, upper if name == "gammaincc" else 1.0 - upper, function(a, x))

    return call


def _gamma_share(name: str, sign: Function, **words: Any) -> Function:
    """`sign`: of its derivatives, where those of the lower incomplete gamma function have +."""
    return row(
        name,
        **on_both(_share(name)),
        rules={
            "a": ("a x", lambda g, out, a, x: sign(g) * gamma_slope(a, x, k=1)),
            "x": ("a x", lambda g, out, a, x: sign(g) * _gamma_density(a, x)),
        },
        domain="a > 0 and x >= 0",
        **words,
    )


gammainc: Function = _gamma_share(
    "gammainc",
    lambda g: g,
    doc="The regularised lower incomplete gamma function: the probability that a gamma number of shape a is below x.",
    derivative="wrt x: x**(a - 1)*exp(-x)/gamma(a); wrt a: an integral, computed by quadrature",
    example="gammainc(1, 2) ~= 1 - exp(-2)",
)
gammaincc: Function = _gamma_share(
    "gammaincc",
    operator.neg,
    doc="1 - gammainc(a, x), exact also where that is small.",
    derivative="those of gammainc with the other sign",
    example="gammaincc(1, 2) ~= exp(-2)",
)


# The beta distribution. Where x is beyond the mean, x and 1 - x change places.
#
# A small shape makes a power of 1/a or 1/b of each derivative; none is subtracted from another. The density has b as a
# factor when its normaliser is that of b + 1. The share below x of a small a is that of a + 1, and b/(a + b)*exp(q).


def _of_exponential_of_two(slopes: Callable[[int, int], Any], j: int, k: int) -> Any:
    """`_of_exponential` for j derivatives by one variable and k by another; slopes(j, k): those of the exponent."""
    if not j:
        return _of_exponential(k, [slopes(0, n) for n in range(1, k + 1)])
    return sum(
        math.comb(j - 1, m) * math.comb(k, n) * slopes(m + 1, n) * _of_exponential_of_two(slopes, j - 1 - m, k - n)
        for m in range(j)
        for n in range(k + 1)
    )


def _beta_factor(a: float, b: float, more: float, j: int, k: int) -> Callable[[float, float], float]:
    """The derivatives of exp(a*log t + b*log(1 - t) - constants), divided by it: a function of the two logarithms.

    The constants are those of the normaliser of the shapes a + `more` and b + 1.
    """

    def constant(m: int, n: int) -> float:
        if m and n:
            return _polygamma(m + n - 1, a + b + more)
        shape, rest = (a + more, b) if m else (b + 1.0, a + (more - 1.0))
        return float(digamma_difference(shape, rest, m + n - 1))

    first, second = j and constant(1, 0), k and constant(0, 1)
    further = cache(lambda m, n: constant(m, n) if m + n > 1 else 0.0)
    terms = [
        (math.comb(j, m) * math.comb(k, n) * _of_exponential_of_two(further, j - m, k - n), m, n)
        for m in range(j + 1)
        for n in range(k + 1)
        if j + k - m - n != 1
    ]
    return lambda log_t, log_rest: sum(c * (log_t + first) ** m * (log_rest + second) ** n for c, m, n in terms)


def _beta_scale(a: float, b: float) -> float:
    """The logarithm of gamma(a)*gamma(b + 1)/gamma(a + b)."""
    return float(lbeta(a, b + 1.0)) + math.log(a + b)


def _beta_edge(a: float, b: float, logs: tuple[float, float], j: int, k: int) -> float:
    """The derivatives of b/(a + b)*exp(q), which is gamma(a + b)/(gamma(a + 1)*gamma(b))*x**a*(1 - x)**b."""

    def share(m: int, n: int) -> float:
        """Of b/(a + b), or of -a/(a + b), whichever loses no digits."""
        shape, order, sign = (a, m, -1.0) if n and not m else (b, n, 1.0)
        power = -(a + b)
        both = math.factorial(m + n) / power ** (m + n) * shape
        return sign * (both + (order and order * math.factorial(m + n - 1) / power ** (m + n - 1))) / (a + b)

    terms = (
        math.comb(j, m) * math.comb(k, n) * share(m, n) * _beta_factor(a, b, 1.0, j - m, k - n)(*logs)
        for m in range(j + 1)
        for n in range(k + 1)
    )
    return math.fsum(terms) * math.exp(a * logs[0] + b * logs[1] - _beta_scale(a + 1.0, b))


def _beta_slope_below_mean(a: float, b: float, logs: tuple[float, float], j: int, k: int) -> float:
    if a < _SMALL_SHAPE:
        return _beta_edge(a, b, logs, j, k) + _beta_slope_below_mean(a + 1.0, b, logs, j, k)
    scale, factor = _beta_scale(a, b), _beta_factor(a, b, 0.0, j, k)
    lower = _beta_factor(a, b, 0.0, j, k - 1) if k else None

    def density(u: float) -> float:
        """The integrand over u = log(t/(1 - t))."""
        small = math.log1p(math.exp(-abs(u)))
        log_t, log_rest = (-small, -u - small) if u > 0.0 else (u - small, -small)
        slope = b * factor(log_t, log_rest) + (k * lower(log_t, log_rest) if lower is not None else 0.0)
        return slope * math.exp(a * log_t + b * log_rest - scale)

    width = min(math.sqrt(1.0 / a + 1.0 / b), 8.0 / a)
    return _integral(density, math.log(a / b), width, logs[0] - logs[1])


def _betainc_slope(a: float, b: float, x: float, j: int, k: int) -> float:
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and 0.0 <= x <= 1.0):
        return math.nan
    if x == 0.0 or x == 1.0:
        return 0.0
    logs = math.log(x), math.log1p(-x)
    if x <= a / (a + b):
        return _beta_slope_below_mean(a, b, logs, j, k)
    return -_beta_slope_below_mean(b, a, logs[::-1], k, j)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - lbeta(a, b))


def _betainc_slope_by_x(g: Any, out: Any, a: Any, b: Any, x: Any, j: int, k: int) -> Any:
    def slopes(m: int, n: int) -> Any:
        if m and n:
            return digamma_derivative(a + b, m + n - 1)
        if m:
            return digamma_difference(a, b, m - 1) + (log(x) if m == 1 else 0.0)
        return digamma_difference(b, a, n - 1) + (log1p(-x) if n == 1 else 0.0)

    return g * (_of_exponential_of_two(slopes, j, k) * _beta_density(a, b, x))


betainc_slope: Function = row(
    "betainc_slope",
    "a, b, x; j, k",
    **on_both(_entry_by_entry(_betainc_slope)),
    rules={
        "a": ("a b x", lambda g, out, a, b, x, j, k: g * betainc_slope(a, b, x, j=j + 1, k=k)),
        "b": ("a b x", lambda g, out, a, b, x, j, k: g * betainc_slope(a, b, x, j=j, k=k + 1)),
        "x": ("a b x", _betainc_slope_by_x),
    },
    doc="The j-th derivative of betainc by its first shape, and the k-th by its second.",
)

betainc: Function = row(
    "betainc",
    **on_both(from_scipy("betainc", "betainc")),
    rules={
        "a": ("a b x", lambda g, out, a, b, x: g * betainc_slope(a, b, x, j=1, k=0)),
        "b": ("a b x", lambda g, out, a, b, x: g * betainc_slope(a, b, x, j=0, k=1)),
        "x": ("a b x", lambda g, out, a, b, x: g * _beta_density(a, b, x)),
    },
    domain="a > 0, b > 0 and x between 0 and 1",
    doc="The regularised incomplete beta function: the probability that a beta number of shapes a and b is below x.",
    derivative="wrt x: the beta density; wrt a and b: integrals, computed by quadrature",
    example="betainc(1, 2, 0.5) ~= 0.75",
)
