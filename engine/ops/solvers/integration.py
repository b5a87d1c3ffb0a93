"""Integrals over an interval, and solutions of ordinary differential equations, with their derivatives.

The derivatives of a solution by the initial values and by what the function uses from outside follow the variational
equations (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section I.14): S' = (df/dy) S + df/dp.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from functools import cached_property, lru_cache, partial
from math import ceil, inf, log10
from typing import Any, NamedTuple, cast

from agrad.engine.compile.derive import row
from agrad.engine.core.context import current
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.scan import scanned
from agrad.engine.ops.arrays.shaping import reshape
from agrad.engine.ops.linalg.matrices import matmul
from agrad.engine.ops.solvers.function import Evaluated, derived, function_of, jacobian_of, pulled
from agrad.engine.ops.solvers.jumps import Event, Jump, Jumps, changes, first_jump, is_smooth
from agrad.engine.ops.solvers.quadrature import Area, Quadrature
from agrad.engine.program.closed import flat, joined, vector_of
from agrad.engine.program.scan import Body
from agrad.engine.values import Array, format_number, np, shape_of

_CALLS = 40_000  # calls of the function
_LEVEL = 1e-3  # of a value's own size: below it, its error may be as large as there
_AGAIN = 2  # times that an equation is solved again, for values that are smaller than they were thought
_MOST = 10_000  # jumps
_LONG = 0.02  # of the time: steps that might leap over something
_STEP = 1e-4  # of a number that an integral depends on, with which its derivatives are compared
_NEAR = 1e-9  # of the time: two jumps there are one


class Integrand:
    """A function of one number. `finite`: which of the ends are; `moving`: which of these have a derivative.

    `at`: places inside, on whose sides the function is integrated by itself; `near`: where there is much of it;
    `is_mean`, `away`: see `Quadrature`.
    """

    def __init__(
        self, f: Body, finite: Array, moving: Array, places: tuple[Any, Any], is_mean: bool = False, away: str = ""
    ) -> None:
        self.f, self.finite, self.moving, self.places = f, finite, moving, places
        self.is_mean, self.away = is_mean, away
        self.areas: list[Area] = []
        self.jumps = None if is_smooth(f.program) else Jumps(f, f.sizes.out)
        self.of: Integrand | None = None  # that of which these are the derivatives, if its function may jump

    @cached_property
    def by_same(self) -> Integrand:
        """That of the derivatives by what the function uses from outside, times cotangents, which follow these."""
        found = Integrand(pulled(self.f), self.finite, self.moving, self.places, True, self.away)
        found.of = self if self.jumps is not None else None
        return found

    def pulled(self, g: Any, _: Any, z: Any) -> Any:
        """Leibniz' rule: by an end, the function there; by what it uses, the integral of its derivative.

        Flanders, Differentiation under the integral sign, American Mathematical Monthly 80 (1973).
        """
        same, parts = z[2:], []
        for place, sign in enumerate((-1.0, 1.0)):
            there: Any = np.zeros(1)
            if self.moving[place]:
                there = scanned(concat((z[place : place + 1], same)), body=self.f, count=1)
            parts.append(reshape(total(sign * g * there), (1,)))
        if shape_of(same) != (0,):
            parts.append(OPS["solved"].call(concat((z, g)), problem=self.by_same))
        return concat(tuple(parts))

    def solve(self, z: Array) -> Array:
        """The integrals of the entries; z has the ends, and what the function uses. Raises AgradError."""
        if not np.array_equal(np.isfinite(z[:2]), self.finite):
            raise AgradError("guard", "integral: an end was infinite, or finite, when the integral was computed first")
        f, (low, high) = Evaluated(self.f, z[2:]), sorted(z[:2].tolist())
        entries = lru_cache(1024)(lambda x: f([x]))  # which are asked for again, each by itself

        def entry(place: int, x: float) -> float:
            return float(entries(x)[place])

        at, near = self.places
        with np.errstate(all="ignore"):
            if self.jumps is not None:
                at = {*at, *changes(Evaluated(self.jumps.watch, z[2:]), self.jumps.count, low, high)}
            parts = [Quadrature(partial(entry, k), self.is_mean, self.away) for k in range(self.f.sizes.out)]
            self.areas = [part.over(low, high, at, near) for part in parts]
        found = np.array([area.value for area in self.areas])
        found = found if z[0] <= z[1] else -found
        if self.of is not None:
            _check(found, z, copy(self.of))
        return found

    def say(self, unit: str = "") -> None:
        """Say the error of each entry, in powers of 10: its digits depend on how numbers were rounded."""
        for _, error, is_seen in self.areas:
            if is_seen:
                tell(f"integral: the error is below 1e{ceil(log10(error)) if error > 0.0 else -300} {unit}".rstrip())
            else:
                tell("integral: the function is 0 wherever it was looked at; near= tells where it is not")


def moves_singularity(f: Body, ends: Array, same: Any) -> bool:
    """Whether a function that does not jump has an infinite derivative by what it uses at one of some ends.

    All that it uses is finite: inf + x - inf is no distance.
    """
    known, constants = np.asarray(getattr(same, "value", same), dtype=float), f.program.constants
    if not known.size or not is_smooth(f.program) or not all(np.isfinite(x).all() for x in (known, *constants)):
        return False
    by_same = Evaluated(derived(f, lambda y, _, same, *__: row(y, [same])[0]), known)
    with np.errstate(all="ignore"):
        return not all(np.isfinite(by_same([end])).all() for end in ends.tolist())


def _check(slopes: Array, z: Array, of: Integrand) -> None:
    """Refuse derivatives that are not the slope of the integral, in a direction: they miss a jump that moves.

    Of `where(t < a, 1, 0)` the derivative by a is 0 at each t, and that of the integral is 1. Raises AgradError.
    """
    of.of, count = None, len(z) - of.f.sizes.out
    same, g = z[2:count], z[count:]
    step = _STEP * np.where(same == 0.0, 1.0, same) * (1.0 + np.arange(len(same)) % 7 / 7.0)
    above, below = (of.solve(np.concatenate([z[:2], same + sign * step])) for sign in (1.0, -1.0))
    change, expected = float(g @ (above - below)) / 2.0, float(slopes @ step)
    rounding = _STEP**2 * float(np.abs(g) @ (np.abs(above) + np.abs(below)))
    if abs(change - expected) > rounding + _STEP * max(abs(change), abs(expected)):
        message = "integral: the function jumps at a place that moves, which its own derivatives do not have"
        fixes = [Hint("integral(f, a, c) + integral(g, c, b)   has an end at the place c where it jumps")]
        raise AgradError("domain", message, fixes=fixes)


def tell(text: str) -> None:
    """Note something, but not while a function is traced."""
    listener = current().listener
    if listener is not None and current().tracing is None:
        listener(Note(text))


class Options(NamedTuple):
    """How differential equations are solved."""

    is_stiff: bool
    atol: Any = None  # of each value; None where it follows from its scale
    within: float = inf  # the largest step
    unit: str = ""  # of the times, in messages

    def time(self, t: float, digits: int = 6) -> str:
        """How a time is told of."""
        return f"{format_number(t, digits)} {self.unit}".rstrip()


class Run(NamedTuple):
    """A solution: its rows, up to a jump if there is one; how large each value was; the largest step; the calls."""

    rows: list[Array]
    jump: Jump | None
    peak: Array
    largest: float
    calls: int


class System:
    """The equation y' = f(t, y), at `count` times: a row of f is t and the entries of y, of which there are `size`.

    `jumps`: what the function decides by; the solution is that of one `mode`, up to where another begins.
    """

    def __init__(self, f: Body, options: Options, count: int, jumps: Jumps | None = None, mode: Any = None) -> None:
        self.f, self.options, self.count, self.size = f, options, count, f.sizes.row - 1
        self.jumps, self.mode, self.largest, self.rough = jumps, mode, 0.0, list[int]()

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

        return System(derived(self.f, variation, (size * width, 0)), self.options, self.count)

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
        run, (first, end) = self.run(z), z[[self.size, self.size + self.count - 1]]
        if run.jump is not None and abs(end - run.jump.time) > _NEAR * abs(end - first):
            where, notes = self.options.time(run.jump.time), ["a search has to start where there are as many jumps"]
            message = f"ode: the function jumps at t = {where}, and did not when it was computed first"
            raise AgradError("guard", message, notes=notes)
        return np.concatenate(run.rows)

    def run(self, z: Array) -> Run:
        """The solution, each value to its own scale: where that is smaller than it was thought, it is solved again."""
        start, times, same = np.split(z, [self.size, self.size + self.count])
        relative, given = (1e-10 if self.options.is_stiff else 1e-11), self.options.atol
        alike = np.full(len(start), _LEVEL * relative * max(float(np.max(np.abs(start), initial=0.0)), 1e-6))
        atol = np.where(start == 0.0, alike, _LEVEL * relative * np.abs(start))
        known = slice(0 if given is None else len(given))
        atol[known] = alike[known] = given
        most = int(max(_CALLS, 20 * abs(times[-1] - times[0]) / self.options.within))
        try:
            run = self._run(start, times, same, relative, atol, most)
        except AgradError:
            if np.array_equal(atol, alike):
                raise
            run, atol = self._run(start, times, same, relative, alike, most), alike
        for _ in range(_AGAIN):
            is_small = (atol > 0.1 * relative * run.peak) & (run.peak > 0.0)
            is_small[known] = False
            if not is_small.any():
                break
            atol = np.where(is_small, _LEVEL * relative * run.peak, atol)
            try:
                run = self._run(start, times, same, relative, atol, 4 * run.calls + 1000)
            except AgradError:  # of a value that is only how others were rounded
                self.rough = np.flatnonzero(is_small).tolist()
                break
        self.largest = run.largest
        return run

    def _run(self, start: Array, times: Array, same: Array, relative: float, atol: Array, most: int) -> Run:
        integrate = extra("scipy.integrate", "ode", "SciPy", "science")
        f, is_stiff, (here, end) = Evaluated(self.f, same), self.options.is_stiff, times[[0, -1]].tolist()

        def slope(t: float, y: Array) -> Array:
            nonlocal here
            here = t
            if f.calls >= most:
                what = "" if is_stiff else "the equation is stiff: "
                fixes = [] if is_stiff else [Hint("ode(f, y0, ts, stiff=True)   an implicit method")]
                reached = f"the solution is at t = {self.options.time(t)} after {most} calls of the function"
                raise AgradError("domain", f"ode: {what}{reached}", fixes=fixes)
            return f(np.concatenate([[t], y]))

        keywords: dict[str, Any] = {"rtol": relative, "atol": atol, "max_step": self.options.within}
        if is_stiff:
            derivatives = Evaluated(self.jacobian, same, (self.size, self.size + 1))
            keywords["jac"] = lambda t, y: derivatives(np.concatenate([[t], y]))[:, 1:]
        watch = Evaluated(self.jumps.watch, same) if self.jumps is not None else None
        rows, jump, peak, largest, since = [start], None, np.abs(start), 0.0, np.abs(times - here)
        with np.errstate(all="ignore"), suppress(ValueError):  # of what is not finite
            solver = (integrate.Radau if is_stiff else integrate.DOP853)(slope, here, start, end, **keywords)
            while solver.status == "running" and jump is None:
                solver.step()
                if solver.status == "failed" or not np.isfinite(solver.y).all():
                    break
                peak, largest = np.maximum(peak, np.abs(solver.y)), max(largest, abs(solver.t - solver.t_old))
                is_due = since <= abs(solver.t - times[0])
                if watch is None and len(rows) == np.count_nonzero(is_due):
                    continue
                there = solver.dense_output()
                if watch is not None:
                    jump = first_jump(watch, there, self.mode, solver.t_old, solver.t)
                if jump is not None:
                    is_due = since <= abs(jump.time - times[0]) + _NEAR * since[-1]
                rows += [there(t) for t in times[len(rows) : np.count_nonzero(is_due)]]
            if (jump is not None or len(rows) == len(times)) and np.isfinite(rows).all():
                return Run(rows, jump, peak, largest, f.calls)
        where = self.options.time(here)
        raise AgradError("domain", f"ode: there is no solution beyond t = {where}: it grows without bound, or is nan")


def _time_of(jump: Jump, system: System, z: Any) -> Any:
    """The time of a jump as a vector: that at which the solution comes to where an outcome changes."""
    if not isinstance(z, Tensor) or not z.node.recorded:
        return np.array([jump.time])
    size, end, jumps = system.size, system.size + system.count, cast("Jumps", system.jumps)

    def number(t: Any) -> Any:
        t = reshape(t, (1,))
        given = concat((z[: size + 1], t, z[end:]))
        there = OPS["solved"].call(given, problem=System(system.f, system.options, 2))[size:]
        return scanned(concat((t, there, z[end:])), body=jumps.watch, count=1)[jumps.count + jump.place]

    residual, same, _ = function_of("ode", number, [()], np.array([jump.time]), ())
    return OPS["solved"].call(same, problem=Event(residual, jump.time, system))


class Solution:
    """A solution from each jump to the next; where the function gives an event too, up to that."""

    def __init__(self, body: Body, same: Any, options: Options, size: int) -> None:
        self.body, self.same, self.options, self.size = body, same, options, size
        self.has_event = body.sizes.out > size
        self.jumps: Any = Jumps(body, size) if self.has_event or not is_smooth(body.program) else None
        self.told: list[float] = []  # when it jumps
        self.largest, self.rough = 0.0, list[int]()  # the longest step, and the places of values without digits

    def rows(self, y: Any, ts: Any) -> Any:
        """The rows, or the time of the event. Raises AgradError of kind `domain`."""
        times, first, done, found = vector_of(ts), ts[:1], 1, [reshape(y, (1, -1))]
        near, direction, mode = _NEAR * (times[-1] - times[0]), np.sign(times[-1] - times[0]), None
        if self.jumps is not None:
            mode = self.jumps.beginning(vector_of(self.same), float(times[0]), vector_of(y), near)
        while True:
            z, f = concat((y, first, ts[done:], self.same)), self.body if mode is None else self.jumps.smooth(mode)
            system = System(f, self.options, len(times) - done + 1, self.jumps, mode)
            jump = None if mode is None else system.run(vector_of(z)).jump
            self.largest = max(self.largest, system.largest)
            if jump is None:
                break
            inside, time = int(np.sum((jump.time - times[done:]) * direction > 0.0)), _time_of(jump, system, z)
            if self.has_event and jump.place == self.jumps.count - 1:
                return time[0]
            self._jumped(jump.time, abs(near))
            z, system = concat((y, first, ts[done : done + inside], time, self.same)), copy(system)
            system.count = inside + 2
            rows = reshape(OPS["solved"].call(z, problem=system), (-1, self.size))
            y, first, done, mode = rows[-1], time, done + inside, jump.mode
            found.append(rows[1:-1])
        if self.has_event:
            message = f"ode: `until` does not change its sign before t = {self.options.time(times[-1])}"
            raise AgradError("domain", message)
        found.append(reshape(OPS["solved"].call(z, problem=system), (-1, self.size))[1:])
        self.largest, self.rough = max(self.largest, system.largest), system.rough
        return concat(tuple(found))

    def _jumped(self, time: float, near: float) -> None:
        self.told.append(time)
        if len(self.told) > _MOST or (len(self.told) > 3 and abs(time - self.told[-4]) < near):
            message = f"ode: the function jumps back and forth at t = {self.options.time(time)}"
            raise AgradError("domain", message, notes=["no solution goes on there"])

    def say(self, span: float) -> None:
        """Say what jumped, and how long the steps were where something may be between them."""
        if self.told:
            near = _NEAR * span
            places = [*dict.fromkeys(self.options.time(t if abs(t) > near else 0.0) for t in self.told)]
            shown = ", ".join(places[:5]) + (f", … ({len(places)} times)" if len(places) > 5 else "")
            tell(f"ode: the function takes another branch at t = {shown}; the solution begins again there")
        for place in self.rough:
            tell(f"ode: value {place} may be wrong: it is much smaller than others, and may be how they are rounded")
        steps = self.body.program.steps
        uses_time = any(x.operands == (1,) and x.attrs.get("index") == (0,) for x in steps)  # the first of a row
        if uses_time and self.options.within == inf and self.largest > _LONG * span:
            step, shorter = self.options.time(self.largest, 2), self.options.time(self.largest / 20, 1)
            tell(f"ode: the longest step is {step}; what is shorter may be missed: within={shorter} looks closer")
