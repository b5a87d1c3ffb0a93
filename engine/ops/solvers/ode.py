"""Solutions of ordinary differential equations, with their derivatives as further equations.

The derivatives by the initial values and by what the function uses from outside follow the variational equations
(Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section I.14): S' = (df/dy) S + df/dp.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.ops.solvers.function import Evaluated, derived, jacobian_of, jacobian_or_zeros
from agrad.engine.program.scan import Body
from agrad.engine.program.structure import flat, joined
from agrad.engine.values import Array, format_number, np

_MOST = 40_000  # calls of the function
_TOLERANCE = 1e-11


class System:
    """The equation y' = f(t, y): a row of f is t and the entries of y."""

    def __init__(self, f: Body, is_stiff: bool) -> None:
        self.f = f
        self.is_stiff = is_stiff

    @property
    def size(self) -> int:
        """The number of entries of y."""
        return self.f.sizes.row - 1

    @cached_property
    def jacobian(self) -> Body:
        """df/d(t, y)."""
        return jacobian_of(self.f)

    @cached_property
    def varied(self) -> System:
        """The system of y and of its derivatives by y0 and what is used from outside, row by row."""
        size, same = self.size, self.f.sizes.same
        width = size + same

        def variation(y: Any, row: Any, given: Any, rest: Any, _: Any) -> Any:
            slopes = FUNCTIONS["reshape"].call(flat(jacobian_or_zeros(y, row)), (size, size + 1))[:, 1:]
            found = OPS["matmul"].call(slopes, FUNCTIONS["reshape"].call(rest, (size, width)))
            if same:
                by_given = FUNCTIONS["reshape"].call(flat(jacobian_or_zeros(y, given)), (size, same))
                found = found + FUNCTIONS["concat"].call((np.zeros((size, size)), by_given), axis=1)
            return joined([y, flat(found)])

        return System(derived(self.f, variation, (size * width, 0)), self.is_stiff)

    def solve(self, start: Array, times: Array, same: Array) -> Array:
        """The rows of the solution at some times. Raises AgradError of kind `domain`."""
        solve_ivp = extra("scipy.integrate", "ode", "SciPy", "science").solve_ivp
        f = Evaluated(self.f, same)
        reached = [float(times[0])]

        def slope(t: float, y: Array) -> Array:
            if f.calls >= _MOST:
                raise self._too_many(t)
            reached[0] = t
            return f(np.concatenate([[t], y]))

        keywords: dict[str, Any] = {"method": "DOP853"}
        if self.is_stiff:
            derivatives = Evaluated(self.jacobian, same, (self.size, self.size + 1))
            keywords = {"method": "Radau", "jac": lambda t, y: derivatives(np.concatenate([[t], y]))[:, 1:]}
        scale = float(np.max(np.abs(start), initial=0.0))
        tolerance = 1e-10 if self.is_stiff else _TOLERANCE
        with np.errstate(all="ignore"):
            try:
                found = solve_ivp(
                    slope,
                    (float(times[0]), float(times[-1])),
                    start,
                    t_eval=times,
                    rtol=tolerance,
                    atol=tolerance * max(scale, 1e-6) * 1e-3,
                    **keywords,
                )
            except ValueError:
                raise self._breaks_off(reached[0]) from None
        if found.status != 0 or not np.isfinite(found.y).all():
            raise self._breaks_off(reached[0])
        rows: Array = np.ascontiguousarray(found.y.T)
        return rows

    def _too_many(self, time: float) -> AgradError:
        where = format_number(time, 6)
        if self.is_stiff:
            return AgradError("domain", f"ode: the solution is at t = {where} after {_MOST} calls of the function")
        message = f"ode: the equation is stiff: the solution is at t = {where} after {_MOST} calls of the function"
        return AgradError("domain", message, fixes=[Hint("ode(f, y0, ts, stiff=True)   an implicit method")])

    def _breaks_off(self, time: float) -> AgradError:
        message = f"ode: there is no solution beyond t = {format_number(time, 6)}: it grows without bound, or is nan"
        return AgradError("domain", message)
