"""Bessel functions of any order: of the first and second kind, and modified. SciPy computes them.

The derivative by x is made of the neighbouring orders, so that all derivatives by x follow. No derivative is taken by
the order: a Tensor that requires grad is refused there.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.core.dispatch import composed, row
from agrad.engine.core.op import Function, Kink
from agrad.engine.ops.scalar.elementary import sign
from agrad.engine.ops.scalar.special import FAMILY, from_scipy

_SOURCE = "NIST Digital Library of Mathematical Functions, 10.6.1 and 10.29.1"


def _any_order(name: str, kind: str, before: float, after: float, factor: Function | None = None) -> Function:
    """A row whose derivative is `before` times the order below, plus `after` times the order above.

    `factor`: for a function that is multiplied with an exponential, the logarithmic derivative of that.
    """

    def array(x: Any, v: float) -> Any:
        if name == "yv" and v in (0.0, 1.0):
            return from_scipy(name, f"y{int(v)}")(x)
        return from_scipy(name, name)(v, x)

    def rule(g: Any, out: Any, x: Any, v: float) -> Any:
        slope = before * call(x, v=v - 1.0) + after * call(x, v=v + 1.0)
        return g * (slope if factor is None else slope + factor(x) * out)

    call: Function = row(
        f"bessel_{name}",
        "x; v",
        family="internal",
        scalar=lambda x, v: float(array(x, v)),
        array=array,
        rules={"x": ("x" if factor is None else "out x", rule)},
        samples=((1.5, {"v": 0.0}), ([0.5, 2.0], {"v": 2.5})),
        doc=f"The {kind} of order v.",
        derivative=f"by {_SOURCE}",
    )
    return call


bessel_jv: Function = _any_order("jv", "Bessel function of the first kind", 0.5, -0.5)
bessel_yv: Function = _any_order("yv", "Bessel function of the second kind", 0.5, -0.5)
bessel_iv: Function = _any_order("iv", "modified Bessel function of the first kind", 0.5, 0.5)
bessel_kv: Function = _any_order("kv", "modified Bessel function of the second kind", -0.5, -0.5)
bessel_ive: Function = _any_order(
    "ive", "modified Bessel function of the first kind, times exp(-abs(x)),", 0.5, 0.5, factor=lambda x: -sign(x)
)
bessel_kve: Function = _any_order(
    "kve", "modified Bessel function of the second kind, times exp(x),", -0.5, -0.5, factor=lambda x: 1.0
)


@composed(
    "jv",
    "v, x",
    family=FAMILY,
    doc="The Bessel function of the first kind, of order v. No derivative is taken by v.",
    derivative="(jv(v - 1, x) - jv(v + 1, x))/2",
    example="jv(2, 0) == 0",
)
def jv(v: Any, x: Any) -> Any:
    """See the entry."""
    return bessel_jv(x, v=number_of("jv", "the order", v))


@composed(
    "yv",
    "v, x",
    family=FAMILY,
    doc="The Bessel function of the second kind, of order v; -inf at 0. No derivative is taken by v.",
    derivative="(yv(v - 1, x) - yv(v + 1, x))/2",
    example="yv(0.5, pi) ~= sqrt(2)/pi",
)
def yv(v: Any, x: Any) -> Any:
    """See the entry."""
    return bessel_yv(x, v=number_of("yv", "the order", v))


@composed(
    "iv",
    "v, x",
    family=FAMILY,
    doc="The modified Bessel function of the first kind, of order v. No derivative is taken by v.",
    derivative="(iv(v - 1, x) + iv(v + 1, x))/2",
    example="iv(2, 0) == 0",
)
def iv(v: Any, x: Any) -> Any:
    """See the entry."""
    return bessel_iv(x, v=number_of("iv", "the order", v))


@composed(
    "kv",
    "v, x",
    family=FAMILY,
    doc="The modified Bessel function of the second kind, of order v; inf at 0. No derivative is taken by v.",
    derivative="-(kv(v - 1, x) + kv(v + 1, x))/2",
    example="kv(0.5, 1) ~= sqrt(pi/2)*exp(-1)",
)
def kv(v: Any, x: Any) -> Any:
    """See the entry."""
    return bessel_kv(x, v=number_of("kv", "the order", v))


@composed(
    "ive",
    "v, x",
    family=FAMILY,
    kinks=(Kink("ive at 0", "iv(v, 0)", "that of iv", ("grad(ive, 1)(0, 0) == 0", "grad(ive, 1)(1, 0) == 0.5")),),
    doc="iv(v, x)*exp(-abs(x)), which stays finite for large x. No derivative is taken by v.",
    derivative="(ive(v - 1, x) + ive(v + 1, x))/2 - sign(x)*ive(v, x)",
    example="ive(2, 0) == 0",
)
def ive(v: Any, x: Any) -> Any:
    """See the entry."""
    return bessel_ive(x, v=number_of("ive", "the order", v))


@composed(
    "kve",
    "v, x",
    family=FAMILY,
    doc="kv(v, x)*exp(x), which is not 0 for large x; inf at 0. No derivative is taken by v.",
    derivative="kve(v, x) - (kve(v - 1, x) + kve(v + 1, x))/2",
    example="kve(0.5, 1) ~= sqrt(pi/2)",
)
def kve(v: Any, x: Any) -> Any:
    """See the entry."""
    return bessel_kve(x, v=number_of("kve", "the order", v))


@composed(
    "y0",
    "x",
    family=FAMILY,
    samples=((1.5,), ([0.5, 2.0],)),
    doc="The Bessel function of the second kind, of order 0; -inf at 0.",
    derivative="-y1(x)",
    example="y0(0) == -inf",
)
def y0(x: Any) -> Any:
    """See the entry."""
    return bessel_yv(x, v=0.0)


@composed(
    "y1",
    "x",
    family=FAMILY,
    samples=((1.5,), ([0.5, 2.0],)),
    doc="The Bessel function of the second kind, of order 1; -inf at 0.",
    derivative="(y0(x) - yv(2, x))/2",
    example="y1(0) == -inf",
)
def y1(x: Any) -> Any:
    """See the entry."""
    return bessel_yv(x, v=1.0)
