"""Functions made from the gamma function: its sign, its reciprocal, and its form for matrices.

1/gamma is smooth everywhere, and 0 at 0, -1, -2, …, where digamma has poles: its derivatives are not products with
digamma there. They are computed at a number that is at least 1, where f' = -digamma*f, and carried back to x by
f(x) = x*f(x + 1), whose k-th derivative is x*f⁽ᵏ⁾(x + 1) + k*f⁽ᵏ⁻¹⁾(x + 1). NIST Digital Library of Mathematical
Functions, 5.2, 5.5.1 and 5.15.
"""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import small
from agrad.engine.core.dispatch import composed, operand, row
from agrad.engine.core.op import Domain, Function, Kink
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.shaping import unsqueeze
from agrad.engine.ops.scalar.arithmetic import add, flat, sub
from agrad.engine.ops.scalar.comparison import greater, where
from agrad.engine.ops.scalar.elementary import elementary
from agrad.engine.ops.scalar.special import FAMILY, flagging, from_scipy, lgamma, special
from agrad.engine.values import np

_MOST_STEPS = 200  # 1/gamma and its derivatives overflow before x is -200


def _gamma_sign_of_number(x: float) -> float:
    if x >= 0.0:
        return math.copysign(1.0, x)
    if not math.isfinite(x) or x == math.floor(x):
        return math.nan
    return -1.0 if math.floor(x) % 2 else 1.0


def _gamma_sign(x: Any) -> Any:
    down = np.floor(x)
    below = np.where(down == x, np.nan, 1.0 - 2.0 * np.remainder(down, 2.0))
    return np.where(x > 0.0, 1.0, np.where(x == 0.0, np.copysign(1.0, x), below))


gammasgn: Function = elementary(
    "gammasgn",
    _gamma_sign_of_number,
    "",
    flat,
    array=flagging(_gamma_sign),
    family=FAMILY,
    samples=((2.5,), ([0.7, -0.3, -1.5],)),
    kinks=(Kink("gammasgn at ±0", "±1, as 1/x", "0", ("gammasgn(0) == 1 and gammasgn(-0.0) == -1",)),),
    domain=Domain("all but -1, -2, -3, …", "gammasgn(-0.5)", "gammasgn(-1)"),
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
    family="internal",
    scalar=_reciprocal_derivative_of_number,
    array=_reciprocal_derivative,
    rules={"x": ("x", lambda g, out, x, n: g * reciprocal_gamma_derivative(x, n=n + 1))},
    samples=((2.5, {"n": 1}), ([0.7, 0.0, -1.5, -3.0], {"n": 2})),
    doc="The n-th derivative of the reciprocal of the gamma function.",
    derivative="the next one",
)

rgamma: Function = special(
    "rgamma",
    "x",
    lambda g, out, x: g * reciprocal_gamma_derivative(x, n=1),
    samples=((2.5,), ([0.7, 0.0, -1.5, -3.0],)),
    kinks=(
        Kink(
            "rgamma at 0, -1, -2, …",
            "0",
            "(-1)**n*n! at -n",
            ("rgamma([0, -1, -3]) == [0, 0, 0]", "[grad(rgamma)(x) for x in [0, -1, -2, -3]] ~= [1, -1, 2, -6]"),
        ),
    ),
    doc="1/gamma(x), which is smooth everywhere.",
    derivative="-digamma(x)/gamma(x); (-1)**n*n! at -n",
    example="rgamma(5) ~= 1/24",
)


@composed(
    "multigammaln",
    "x; d",
    family=FAMILY,
    pure=True,
    samples=((2.5, {"d": 3}), ([1.7, 3.2], {"d": 2})),
    domain=Domain("x > (d - 1)/2", "multigammaln(1.1, 3)", "multigammaln(0.9, 3)"),
    doc="The logarithm of the multivariate gamma function of dimension d, of the Wishart distribution of d by d "
    "matrices; nan where x is not above (d - 1)/2.",
    derivative="the sum of digamma(x - j/2) for j from 0 to d - 1",
    example="multigammaln(2, 1) == lgamma(2)",
)
def multigammaln(x: Any, d: Any) -> Any:
    """See the entry. A. T. James, Annals of Mathematical Statistics 35 (1964)."""
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
