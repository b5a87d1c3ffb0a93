"""Integrals over an interval, and solutions of ordinary differential equations, with their derivatives.

Integrals are computed by adaptive Gauss-Kronrod rules (QUADPACK; Piessens and others, 1983). The derivatives of a
solution by the initial values and by what the function uses from outside follow the variational equations (Hairer,
Nørsett and Wanner, Solving Ordinary Differential Equations I, section I.14): S' = (df/dy) S + df/dp.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, lru_cache
from math import ceil, isfinite, log10
from typing import Any

from agrad.engine.compile.derive import row
from agrad.engine.core.context import current
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.scan import scanned
from agrad.engine.ops.arrays.shaping import reshape
from agrad.engine.ops.linalg.matrices import matmul
from agrad.engine.ops.solvers.function import Evaluated, derived, jacobian_of, pulled
from agrad.engine.program.closed import flat, joined
from agrad.engine.program.scan import Body
from agrad.engine.values import Array, format_number, np, shape_of

_INTERVALS = 400  # of an integral
_CLOSE = 1e-7  # of the integral of the absolute value: an error estimate above that is none
_CALLS = 40_000  # calls of the function


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
    given = {"a": low, "b": high, "epsabs": 1e-300, "limit": _INTERVALS, "full_output": True}
    value, error, details, *problem = quad(f, epsrel=1e-11, **given)
    if isfinite(value) and max(error, abs(_sum(details) - value)) <= 1e-9 * abs(value):
        return value, error
    # QUADPACK extrapolates the sums over smaller and smaller intervals, also those that diverge: of 1/x**2 from 0 to 1
    # to -1. The sums of a positive function grow towards its integral, and are not above it.
    size, _, of_size, *_ = quad(lambda x: abs(f(x)), epsrel=1e-3, **given)
    if isfinite(value) and (not problem or error <= _CLOSE * size) and _sum(of_size) <= 1.01 * size:
        return value, error
    where = f"{format_number(low)}..{format_number(high)}"
    message = f"integral: the integral over {where} diverges, or converges too slowly"
    reached = format_number(_sum(details), 3)
    raise AgradError("domain", message, notes=[f"the sums over smaller and smaller intervals reach {reached}"])


def _sum(details: dict[str, Any]) -> float:
    """The sum over the intervals, without extrapolation."""
    return float(np.sum(details["rlist"][: details["last"]]))


class System:
    """The equation y' = f(t, y), at `count` times: a row of f is t and the entries of y, of which there are `size`."""

    def __init__(self, f: Body, is_stiff: bool, count: int) -> None:
        self.f, self.is_stiff, self.count, self.size = f, is_stiff, count, f.sizes.row - 1

    @cached_property
    def jacobian(self) -> Body:
        """df/d(t, y)."""
        return jacobian_of(self.f)

    @cached_property
    def varied(self) -> System:
        """The system of y and of its derivatives by y0 and what is used from outside, row by row."""
        size, width = self.size, self.size + self.f.sizes.same

        def variation(y: Any, x: Any, given: Any, rest: Any, _: Any) -> Any:
            by_x, by_given = row(y, [x, given])
            by_values = matmul(by_x[:, 1:], reshape(rest, (size, width)))
            return joined([y, flat(by_values + concat((np.zeros((size, size)), by_given), axis=1))])

        return System(derived(self.f, variation, (size * width, 0)), self.is_stiff, self.count)

    def pulled(self, g: Any, y: Any, z: Any) -> Any:
        """The variational equations, solved with the equations.

        By a time, the slope there; by the first, what a later start at the same values changes.
        """
        size, count, width = self.size, self.count, self.size + self.f.sizes.same
        y0, times, same = z[:size], z[size : size + count], z[size + count :]
        first = np.eye(size, width).reshape(-1)
        varied = OPS["solved"].call(concat((y0, first, times, same)), problem=self.varied)
        slopes = reshape(reshape(varied, (count, size + size * width))[:, size:], (count, size, width))
        g = reshape(g, (count, size))
        by_each = reshape(g, (count, size, 1)) * slopes
        by = total(by_each, axis=(0, 1))
        rows = concat((reshape(times, (count, 1)), reshape(y, (count, size))), axis=1)
        rates = reshape(scanned(concat((reshape(rows, (-1,)), same)), body=self.f, count=count), (count, size))
        by_first = reshape(-total(total(by_each[1:], axis=(0, 1))[:size] * rates[0]), (1,))
        return concat((by[:size], by_first, total(g[1:] * rates[1:], axis=1), by[size:]))

    def solve(self, z: Array) -> Array:
        """The rows of the solution, one after the other. Raises AgradError of kind `domain`.

        z has the values at the first time, the times, and what the function uses.
        """
        start, times, same = np.split(z, [self.size, self.size + self.count])
        solve_ivp = extra("scipy.integrate", "ode", "SciPy", "science").solve_ivp
        f = Evaluated(self.f, same)
        time = float(times[0])

        def slope(t: float, y: Array) -> Array:
            nonlocal time
            time = t
            if f.calls >= _CALLS:
                what = "" if self.is_stiff else "the equation is stiff: "
                fixes = [] if self.is_stiff else [Hint("ode(f, y0, ts, stiff=True)   an implicit method")]
                reached = f"the solution is at t = {format_number(t, 6)} after {_CALLS} calls of the function"
                raise AgradError("domain", f"ode: {what}{reached}", fixes=fixes)
            return f(np.concatenate([[t], y]))

        keywords: dict[str, Any] = {"method": "DOP853"}
        if self.is_stiff:
            derivatives = Evaluated(self.jacobian, same, (self.size, self.size + 1))
            keywords = {"method": "Radau", "jac": lambda t, y: derivatives(np.concatenate([[t], y]))[:, 1:]}
        relative = 1e-10 if self.is_stiff else 1e-11
        absolute = relative * max(float(np.max(np.abs(start), initial=0.0)), 1e-6) * 1e-3
        found: Any = None
        with np.errstate(all="ignore"), suppress(ValueError):  # of what is not finite
            found = solve_ivp(slope, times[[0, -1]], start, t_eval=times, rtol=relative, atol=absolute, **keywords)
        if found is None or found.status != 0 or not np.isfinite(found.y).all():
            where = format_number(time, 6)
            message = f"ode: there is no solution beyond t = {where}: it grows without bound, or is nan"
            raise AgradError("domain", message)
        rows: Array = found.y.T.reshape(-1)
        return rows
