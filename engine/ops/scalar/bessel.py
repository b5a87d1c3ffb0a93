"""Bessel functions of any order: of the first and second kind, and modified. SciPy computes them.

The derivative by x is made of the neighbouring orders, so that all derivatives by x follow. No derivative is taken by
the order: a Tensor that requires grad is refused there.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.core.dispatch import in_family
from agrad.engine.core.op import Function, Kink
from agrad.engine.ops.scalar.elementary import sign
from agrad.engine.ops.scalar.special import from_scipy, on_both

row, composed = in_family("special")


def _any_order(
    name: str, before: float, after: float, doc: str, factor: Function | None = None, **words: Any
) -> Function:
    """A row whose derivative is `before` times the order below, plus `after` times the order above, and its function.

    NIST Digital Library of Mathematical Functions, 10.6.1 and 10.29.1.
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
        **on_both(array),
        rules={"x": ("x" if factor is None else "out x", rule)},
        samples=((1.5, {"v": 0.0}), ([0.5, 2.0], {"v": 2.5})),
        doc=f"{doc}.",
    )

    @composed(name, "v, x", doc=f"{doc}. No derivative is taken by v.", **words)
    def function(v: Any, x: Any) -> Any:
        return call(x, v=number_of(name, "the order", v))

    return call


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
_any_order(
    "ive",
    0.5,
    0.5,
    "iv(v, x)*exp(-abs(x)), which stays finite for large x",
    lambda x: -sign(x),
    kinks=(Kink("ive at 0", "iv(v, 0)", "that of iv", "grad(ive, 1)(0, 0) == 0; grad(ive, 1)(1, 0) == 0.5"),),
    derivative="(ive(v - 1, x) + ive(v + 1, x))/2 - sign(x)*ive(v, x)",
    example="ive(2, 0) == 0",
)
_any_order(
    "kve",
    -0.5,
    -0.5,
    "kv(v, x)*exp(x), which is not 0 for large x; inf at 0",
    lambda x: 1.0,
    derivative="kve(v, x) - (kve(v - 1, x) + kve(v + 1, x))/2",
    example="kve(0.5, 1) ~= sqrt(pi/2)",
)


def _second_kind(order: int, derivative: str) -> None:
    doc = f"The Bessel function of the second kind, of order {order}; -inf at 0."
    name, samples = f"y{order}", ((1.5,), ([0.5, 2.0],))

    @composed(name, "x", samples=samples, doc=doc, derivative=derivative, example=f"{name}(0) == -inf")
    def function(x: Any) -> Any:
        return bessel_yv(x, v=float(order))


_second_kind(0, "-y1(x)")
_second_kind(1, "(y0(x) - yv(2, x))/2")
