"""Bessel functions of any order: of the first and second kind, and modified. SciPy computes them.

The derivative by x is made of the neighbouring orders, so that all derivatives by x follow. No derivative is taken by
the order: a Tensor that requires grad is refused there.
"""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.core.dispatch import in_family
from agrad.engine.core.op import Function, Kink
from agrad.engine.ops.scalar.special import from_scipy, of_first_kind, on_both
from agrad.engine.values import np

row, composed = in_family("special")


_AT_POLE = ("yv", "kv", "kve")  # infinite at 0


def _of_order(name: str) -> Function:
    """SciPy's function, with that of a whole order where it has one."""

    def array(x: Any, v: float) -> Any:
        if name == "yv" and v in (0.0, 1.0):
            return from_scipy(name, f"y{int(v)}")(x)
        found = of_first_kind(name)(v, x) if name in ("jv", "iv", "ive") else from_scipy(name, name)(v, x)
        return _large(name, x, v, found) if name in _AT_POLE and v >= 0.0 and np.any(np.isinf(found)) else found

    return array


def _large(name: str, x: Any, v: float, found: Any) -> Any:
    """What SciPy gives as inf above 1e300, or near 0: by lower orders (10.6.1, 10.29.1) or the first term (10.7.4,
    10.30.2 and 3).
    """
    first, sign = (-1.0 / math.pi, -1.0) if name == "yv" else (0.5, 1.0)
    with np.errstate(all="ignore"):
        if v == 0.0:
            exact = -np.log(np.multiply(0.5, x)) - np.euler_gamma
        elif v < 10.0:
            root = np.multiply(0.5, x) ** (-0.5 * v)
            exact = first * math.gamma(v) * root * root
        else:
            low, exact = (from_scipy(name, name)(v - below, x) for below in (9.0, 8.0))
            for order in np.arange(v - 8.0, v - 0.5):
                low, exact = exact, np.divide(2.0 * order, x) * exact + sign * low
        return np.where(np.isinf(found) & np.isfinite(exact), exact, found)


def _any_order(name: str, before: float, after: float, doc: str, **words: Any) -> Function:
    """A row whose derivative is `before` times the order below, plus `after` times the order above, and its function.

    NIST Digital Library of Mathematical Functions, 10.6.1 and 10.29.1.
    """

    def rule(g: Any, out: Any, x: Any, v: float) -> Any:
        return g * (before * call(x, v=v - 1.0) + after * call(x, v=v + 1.0))

    call: Function = row(f"bessel_{name}", "x; v", **on_both(_of_order(name)), rules={"x": ("x", rule)}, doc=f"{doc}.")
    _given_order(name, doc, call, **words)
    return call


def _given_order(name: str, doc: str, call: Function, **words: Any) -> None:
    @composed(name, "v, x", doc=f"{doc}. No derivative is taken by v.", **words)
    def function(v: Any, x: Any) -> Any:
        return call(x, v=number_of(name, "the order", v))


# Multiplied with an exponential, all neighbouring orders are almost the same far out, and their differences have few
# digits: there the n-th derivative is that of the asymptotic series, term by term (10.40.1 and 10.40.2).

_FAR, _TERMS, _POINTS = 20.0, 40, 48


def _series(x: Any, v: float, n: int, sign: float) -> Any:
    """The n-th derivative of the sum of sign**k*a_k(v)/x**(k + 1/2)."""
    total, part = 0.0, 1.0
    for k in range(_TERMS):
        total = total + part * math.prod(-k - 0.5 - i for i in range(n)) * x**-k
        part *= sign * (4.0 * v * v - (2 * k + 1) ** 2) / (8.0 * (k + 1))
    return total / (np.sqrt(x) * x**n)


def _on_circle(of_order: Function, x: Any, v: float, n: int, before: float) -> Any:
    """The n-th derivative by Cauchy's integral over a circle on which the function changes by a factor of few."""
    radius = x / (2.0 + np.minimum(v, v * v / x))
    total: Any = 0.0
    for turn in np.exp(2j * math.pi / _POINTS * np.arange(_POINTS)):
        z = x + radius * turn
        # SciPy multiplies by the exponential of the absolute real part where the function grows.
        total = total + of_order(z, v) * (np.exp(-1j * z.imag) if before > 0.0 else 1.0) * turn**-n
    return math.factorial(n) * (total / _POINTS).real / radius**n


def _scaled(name: str, before: float, lean: Function, front: float, doc: str, **words: Any) -> None:
    """A row multiplied with an exponential, whose logarithmic derivative is `lean`, and its function."""
    of_order = _of_order(name)

    def array(x: Any, v: float, n: int) -> Any:
        if not n:
            return of_order(x, v)
        x = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            near: Any = 0.0
            for k in range(n + 1):
                orders = before**k * sum(math.comb(k, j) * of_order(x, v - k + 2 * j) for j in range(k + 1))
                near = near + math.comb(n, k) * lean(x) ** (n - k) * orders
            near = np.where(np.isinf(orders), orders, near)  # of the last, which is the largest
            size = np.abs(x)
            turned = np.where(x < 0.0, (-1.0) ** (n + v) if v % 1.0 == 0.0 and before > 0.0 else math.nan, 1.0)
            middle = turned * _on_circle(of_order, np.maximum(size, _FAR), v, n, before)
            far = turned * front * _series(np.maximum(size, _FAR), v, n, -math.copysign(1.0, before))
        return np.where(size < _FAR, near, np.where(size < v * v / 4.0, middle, far))

    call: Function = row(
        f"bessel_{name}",
        "x; v, n=0",
        **on_both(array),
        rules={"x": ("x", lambda g, out, x, v, n: g * call(x, v=v, n=n + 1))},
        doc=f"The n-th derivative of: {doc[0].lower()}{doc[1:]}.",
    )
    _given_order(name, doc, call, **words)


_any_order(
    "jv",
    0.5,
    -0.5,
    "The Bessel function of the first kind, of order v",
    derivative="(jv(v - 1, x) - jv(v + 1, x))/2",
    example="jv(2, 0) == 0",
)
bessel_yv: Function = _any_order(
    "yv",
    0.5,
    -0.5,
    "The Bessel function of the second kind, of order v; -inf at 0",
    derivative="(yv(v - 1, x) - yv(v + 1, x))/2",
    example="yv(0.5, pi) ~= sqrt(2)/pi",
)
_any_order(
    "iv",
    0.5,
    0.5,
    "The modified Bessel function of the first kind, of order v",
    derivative="(iv(v - 1, x) + iv(v + 1, x))/2",
    example="iv(2, 0) == 0",
)
_any_order(
    "kv",
    -0.5,
    -0.5,
    "The modified Bessel function of the second kind, of order v; inf at 0",
    derivative="-(kv(v - 1, x) + kv(v + 1, x))/2",
    example="kv(0.5, 1) ~= sqrt(pi/2)*exp(-1)",
)
_scaled(
    "ive",
    0.5,
    lambda x: -np.sign(x),
    1.0 / math.sqrt(2.0 * math.pi),
    "iv(v, x)*exp(-abs(x)), which stays finite for large x",
    kinks=(Kink("ive at 0", "iv(v, 0)", "that of iv"),),
    derivative="(ive(v - 1, x) + ive(v + 1, x))/2 - sign(x)*ive(v, x)",
    example="ive(2, 0) == 0",
)
_scaled(
    "kve",
    -0.5,
    lambda x: 1.0,
    math.sqrt(0.5 * math.pi),
    "kv(v, x)*exp(x), which is not 0 for large x; inf at 0",
    derivative="kve(v, x) - (kve(v - 1, x) + kve(v + 1, x))/2",
    example="kve(0.5, 1) ~= sqrt(pi/2)",
)


def _second_kind(order: int, derivative: str) -> None:
    doc = f"The Bessel function of the second kind, of order {order}; -inf at 0."
    name = f"y{order}"

    @composed(name, "x", doc=doc, derivative=derivative, example=f"{name}(0) == -inf")
    def function(x: Any) -> Any:
        return bessel_yv(x, v=float(order))


_second_kind(0, "-y1(x)")
_second_kind(1, "(y0(x) - yv(2, x))/2")
