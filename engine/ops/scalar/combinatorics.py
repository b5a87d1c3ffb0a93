"""Counting, and divisors: combinations and permutations, and functions of whole numbers.

Combinations and permutations are exact for whole numbers, and go on between these by the gamma function. Beyond k = n,
where gamma(n - k + 1) has its poles, the reflection formula 1/gamma(1 - z) = gamma(z)*sin(pi*z)/pi stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from agrad.engine.core.dispatch import in_family, operand
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError
from agrad.engine.ops.scalar.comparison import greater, where
from agrad.engine.ops.scalar.elementary import exp, fmod
from agrad.engine.ops.scalar.special import beta, digamma, digamma_difference, flagging, lgamma, lgamma_difference
from agrad.engine.ops.scalar.trigonometry import cos, sin
from agrad.engine.values import np, shape_of, whole

row, composed = in_family("special")

_MOST = 1000  # of those chosen: with more, and as many left, there are more combinations than float64 can count
_LARGE = 170.0  # gamma(n + 1) overflows beyond


def _count(exact: Callable[[int, int], int], is_ordered: bool) -> Callable[[float, float], float]:
    def count(n: float, k: float) -> float:
        if not (n >= 0.0 and k >= 0.0):
            return math.nan
        try:
            if n.is_integer() and k.is_integer():
                fewest = k if is_ordered else min(k, n - k)
                return math.inf if k <= n and fewest > _MOST else float(exact(int(n), int(k)))
            return _between(n, k, is_ordered)
        except OverflowError:
            return math.inf
        except ValueError:  # inf - inf
            return math.nan

    return count


def _lgamma_difference(x: float, d: float) -> float:
    return lgamma_difference(x, d) if x > 20.0 else math.lgamma(x + d) - math.lgamma(x)


def _between(n: float, k: float, is_ordered: bool) -> float:
    """The same by the gamma function."""
    if k > n:
        sine = math.sin(math.pi * math.fmod(k - n, 2.0)) / math.pi
        if is_ordered:
            return sine * math.exp(math.lgamma(n + 1.0) + math.lgamma(k - n))
        less, rest = sorted((n + 1.0, k - n))
        return sine * math.exp(math.lgamma(less) - _lgamma_difference(rest, less))
    if n > _LARGE:
        taken = k if is_ordered else min(k, n - k)
        scale = _lgamma_difference(n - taken + 1.0, taken)
        return math.exp(scale - (0.0 if is_ordered else math.lgamma(taken + 1.0)))
    ratio = math.gamma(n + 1.0) / math.gamma(n - k + 1.0)
    return ratio if is_ordered else ratio / math.gamma(k + 1.0)


def _rule(by: str, is_ordered: bool) -> Function:
    """The derivative by n or k: with digammas, and far beyond k = n of the product by the reflection formula."""

    def rule(g: Any, out: Any, n: Any, k: Any) -> Any:
        if by == "n":
            within = digamma_difference(n - k + 1.0, k)
        else:
            within = digamma(n - k + 1.0) if is_ordered else digamma_difference(k + 1.0, n - 2.0 * k)
        size = exp(lgamma(n + 1.0) + lgamma(k - n)) if is_ordered else beta(n + 1.0, k - n)
        angle = math.pi * fmod(k - n, 2.0)
        of_other: Any = digamma(n + 1.0) if by == "n" else 0.0 if is_ordered else digamma(k + 1.0)
        slope = (of_other - digamma(k - n)) * (1.0 if by == "n" else -1.0)
        turn = -cos(angle) if by == "n" else cos(angle)
        return g * where(greater(k, n + 0.5), size * (turn + sin(angle) / math.pi * slope), out * within)

    return rule


def _counting(name: str, exact: Callable[[int, int], int], is_ordered: bool, **words: Any) -> Function:
    count = _count(exact, is_ordered)
    return row(
        name,
        scalar=count,
        array=flagging(lambda n, k: np.vectorize(lambda a, b: count(float(a), float(b)), otypes=[float])(n, k)),
        rules={"n": ("n k out", _rule("n", is_ordered)), "k": ("n k out", _rule("k", is_ordered))},
        domain="n >= 0 and k >= 0",
        **words,
    )


comb: Function = _counting(
    "comb",
    math.comb,
    False,
    doc="In how many ways k of n things can be chosen: gamma(n + 1)/(gamma(k + 1)*gamma(n - k + 1)), exact for whole "
    "numbers; nan for negative ones.",
    derivative="wrt n: comb(n, k)*(digamma(n + 1) - digamma(n - k + 1)); wrt k: comb(n, k)*(digamma(n - k + 1) - "
    "digamma(k + 1)); finite beyond k = n too",
    example="comb(5, 2) == 10",
)

perm: Function = _counting(
    "perm",
    math.perm,
    True,
    doc="In how many orders k of n things can be taken: gamma(n + 1)/gamma(n - k + 1), exact for whole numbers; "
    "nan for negative ones.",
    derivative="wrt n: perm(n, k)*(digamma(n + 1) - digamma(n - k + 1)); wrt k: perm(n, k)*digamma(n - k + 1); finite "
    "beyond k = n too",
    example="perm(5, 2) == 20",
)


# Divisors


def _of_divisors(name: str, function: Callable[[int, int], int], **words: Any) -> Function:
    def of_numbers(x: float, y: float) -> float:
        try:
            return float(function(whole(x, f"{name}: an operand"), whole(y, f"{name}: an operand")))
        except OverflowError:  # not said by an operation on floats, which would be computed again
            return math.inf

    @flagging
    def of_arrays(x: Any, y: Any) -> Any:
        return np.vectorize(lambda a, b: of_numbers(float(a), float(b)), otypes=[float])(x, y)

    both: Function = row(name, "x, y", scalar=of_numbers, array=of_arrays, total=False, doc=words["doc"], commutes=True)

    @composed(
        name, "x; *others=()", pure=True, data=("others",), derivative="none: the result does not require grad", **words
    )
    def call(x: Any, others: Any) -> Any:
        rest = others if isinstance(others, tuple) else (others,)
        if rest:
            return reduce(both, rest, x)
        x = operand(x)
        shape = shape_of(x)
        if not math.prod(shape):
            raise AgradError("shape", f"{name} of an empty array: there is no entry")
        entries = x.flatten() if len(shape) > 1 else x
        return reduce(both, [entries[place] for place in range(math.prod(shape))] if shape else [x, x])

    return call


gcd: Function = _of_divisors(
    "gcd",
    math.gcd,
    doc="The greatest common divisor of whole numbers, entry by entry; of one array, that of its entries.",
    example="gcd(12, 18) == 6",
)

lcm: Function = _of_divisors(
    "lcm",
    math.lcm,
    doc="The least common multiple of whole numbers, entry by entry; of one array, that of its entries.",
    example="lcm(4, 6) == 12",
)
