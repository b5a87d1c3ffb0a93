"""Integrals over an interval, by adaptive Gauss-Kronrod rules (QUADPACK; Piessens and others, 1983)."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import ceil, isfinite, log10
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.scan import scanned
from agrad.engine.ops.arrays.shaping import reshape
from agrad.engine.ops.solvers.function import Evaluated, pulled
from agrad.engine.program.scan import Body
from agrad.engine.values import Array, format_number, np, shape_of

_MOST = 400  # intervals
_CLOSE = 1e-7  # of the integral of the absolute value: an error estimate above that is none


class Integrand:
    """A function of one number. `finite`: which of the ends are; the others have no derivative."""

    def __init__(self, f: Body, finite: Array, is_told: bool = False) -> None:
        self.f, self.finite = f, finite
        self.is_told = is_told  # whether a note tells the error

    @cached_property
    def by_same(self) -> Integrand:
        """That of the derivatives by what the function uses from outside, times cotangents, which follow these."""
        return Integrand(pulled(self.f), self.finite)

    def pulled(self, g: Any, _: Any, z: Any) -> Any:
        """Leibniz' rule: by an end, the function there; by what it uses, the integral of its derivative.

        Flanders, Differentiation under the integral sign, American Mathematical Monthly 80 (1973).
        """
        same, parts = z[2:], []
        for place, sign in enumerate((-1.0, 1.0)):
            there: Any = np.zeros(1)
            if self.finite[place]:
                there = scanned(concat((z[place : place + 1], same)), body=self.f, count=1)
            parts.append(reshape(total(sign * g * there), (1,)))
        if shape_of(same) != (0,):
            parts.append(OPS["solved"].call(concat((z, g)), problem=self.by_same))
        return concat(tuple(parts))

    def solve(self, z: Array) -> Array:
        """The integrals of the entries; z has the ends, and what the function uses. Raises AgradError."""
        if not np.array_equal(np.isfinite(z[:2]), self.finite):
            raise AgradError("guard", "integral: an end was infinite, or finite, when the integral was computed first")
        quad = extra("scipy.integrate", "integral", "SciPy", "science").quad
        f, (low, high) = Evaluated(self.f, z[2:]), sorted(z[:2].tolist())
        found = np.empty(self.f.sizes.out)
        entries = lru_cache(1)(lambda x: f([x]))  # QUADPACK asks for each by itself

        def at(x: float, place: int) -> float:
            y = float(entries(x)[place])
            if not isfinite(y):  # with which QUADPACK would go on, and some versions of it end the process
                where = format_number(x, 6)
                fixes = [Hint(f"integral(f, a, {where}) + integral(f, {where}, b)   if it is finite elsewhere")]
                raise AgradError("domain", f"integral: the function is {format_number(y)} at {where}", fixes=fixes)
            return y

        with np.errstate(all="ignore"):
            for place in range(len(found)):
                found[place], error = _integral(quad, lambda x, place=place: at(x, place), low, high)
                if self.is_told and current().listener is not None and current().tracing is None:
                    power = ceil(log10(error)) if error > 0.0 else -300  # its digits depend on how numbers were rounded
                    current().listener(Note(f"integral: the error is below 1e{power}"))  # type: ignore[misc]
        return found if z[0] <= z[1] else -found


def _integral(quad: Any, f: Any, low: float, high: float) -> tuple[float, float]:
    value, error, details, *problem = quad(f, low, high, epsabs=1e-300, epsrel=1e-11, limit=_MOST, full_output=True)
    if isfinite(value) and max(error, abs(_sum(details) - value)) <= 1e-9 * abs(value):
        return value, error
    # QUADPACK extrapolates the sums over smaller and smaller intervals, also those that diverge: of 1/x**2 from 0 to 1
    # to -1. The sums of a positive function grow towards its integral, and are not above it.
    size, _, of_size, *_ = quad(
        lambda x: abs(f(x)), low, high, epsabs=1e-300, epsrel=1e-3, limit=_MOST, full_output=True
    )
    if isfinite(value) and (not problem or error <= _CLOSE * size) and _sum(of_size) <= 1.01 * size:
        return value, error
    where = f"{format_number(low)}..{format_number(high)}"
    message = f"integral: the integral over {where} diverges, or converges too slowly"
    reached = format_number(_sum(details), 3)
    raise AgradError("domain", message, notes=[f"the sums over smaller and smaller intervals reach {reached}"])


def _sum(details: dict[str, Any]) -> float:
    """The sum over the intervals, without extrapolation."""
    return float(np.sum(details["rlist"][: details["last"]]))
