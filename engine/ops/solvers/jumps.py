"""Where the right-hand side of a differential equation jumps: at conditions of `where`, and at steps such as `sign`.

Between two jumps, the function with the outcomes that it has there is smooth, also a little beyond the next: so the
solution goes to the place where an outcome changes, which has a derivative, and begins again there (Hairer, Nørsett and
Wanner, Solving Ordinary Differential Equations I, section II.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from math import inf, prod
from typing import Any, NamedTuple

from agrad.engine.core.op import OPS, Op
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.extras import extra
from agrad.engine.ops.solvers.function import Evaluated, derived
from agrad.engine.ops.solvers.implicit import Found, Problem
from agrad.engine.program.closed import flat, joined
from agrad.engine.program.ir import Program
from agrad.engine.program.scan import Body
from agrad.engine.program.trace import handle_of, recorded, valued
from agrad.engine.values import Array, np

_STEPS = frozenset("sign step floor ceil round trunc floor_divide remainder".split())  # beside comparisons
_PLACES, _MOST = 256, 2000  # at which the outcomes of an integral are looked at; changes, from which on it is as it is
_BESIDE = 10.0 ** np.arange(-9.0, -2.0)  # of the range: places beside its ends
_GOLDEN, _NARROWED = 0.381966, 40  # of an interval in which a number turns; steps
_PARTS = 8  # of a step, after each of which the outcomes are looked at


class Jump(NamedTuple):
    """When an outcome changes, which one, and all of them afterwards."""

    time: float
    place: int
    mode: Array


class Jumps:
    """What a function of time and values decides by; entries of its result after so many are events, where they are 0.

    `watch`: the outcomes, and as many numbers, each of which is at a constant where its outcome changes.
    """

    def __init__(self, body: Body, size: int) -> None:
        self.body, self.size = body, size
        self.watch = derived(body, lambda y, *_: y, computed=partial(_switched, size=size, mode=None))
        self.count = self.watch.sizes.out // 2
        self._smooth: dict[bytes, Body] = {}

    def smooth(self, mode: Array) -> Body:
        """The function with these outcomes."""
        if mode.tobytes() not in self._smooth:
            computed = partial(_switched, size=self.size, mode=mode)
            self._smooth[mode.tobytes()] = derived(self.body, lambda y, *_: y, computed=computed)
        return self._smooth[mode.tobytes()]

    def beginning(self, same: Array, t: float, y: Array, step: float) -> Array:
        """The outcomes just after a time."""
        slope = Evaluated(self.body, same)(np.append(t + step, y))[: self.size]
        return Evaluated(self.watch, same)(np.append(t + step, y + step * slope))[: self.count]


def is_smooth(program: Program) -> bool:
    """Whether a function decides by nothing, as far as its own operations tell."""
    return not any(_is_step(step.op) for step in program.steps)


def _is_step(op: Op) -> bool:
    return op.role == "truths" or op.name in _STEPS


def _switched(program: Program, xs: Sequence[Tensor], size: int, mode: Array | None) -> list[Any]:
    """The results with these outcomes of all that is decided; without a mode, what `Jumps.watch` computes."""
    slots: list[Any] = [*map(valued, xs), *program.constants]
    outcomes, numbers, place = [], [], 0
    for step in program.steps:
        operands, op, attrs = tuple([slots[x] for x in step.operands]), step.op, step.attrs
        if not _is_step(op):
            slots.append(recorded(op, operands, attrs))
            continue
        x, *others = map(handle_of, operands)
        is_quotient = op.name in ("floor_divide", "remainder")
        difference = x / others[0] if is_quotient else x - others[0] if others and op.role == "truths" else x
        if op.name in ("equal", "not_equal"):
            outcome: Any = np.full(step.shape, float(op.name == "not_equal"))  # but for moments
        elif mode is not None:
            outcome = mode[place : place + prod(step.shape)].reshape(step.shape)
        else:
            outcome = handle_of(recorded(OPS["floor_divide"] if is_quotient else op, operands, attrs))
        place += prod(step.shape)
        outcomes.append(flat(outcome))
        numbers.append(flat(difference + np.zeros(step.shape)))
        found = x - others[0] * outcome if op.name == "remainder" else outcome
        slots.append(found.node if isinstance(found, Tensor) else found[()] if step.shape else float(found))
    y = handle_of(slots[program.outputs[0]])
    return [y[:size]] if mode is not None else [joined([*outcomes, y[size:] > 0.0, *numbers, y[size:]])]


def first_jump(
    watch: Callable[[Array], Array], there: Callable[[float], Array], mode: Array, low: float, high: float
) -> Jump | None:
    """The first change of an outcome in a step, if any: as far as places in it tell, and those nearest to a change."""
    optimize = extra("scipy.optimize", "ode", "SciPy", "science")
    places, count = np.linspace(low, high, _PARTS + 1).tolist(), len(mode)

    @cache
    def at(t: float) -> Array:
        return watch(np.append(t, there(t)))

    def number(t: float, entry: int, sign: float) -> float:
        return sign * float(at(t)[count + entry])

    def is_left(t: float) -> bool:
        return not np.array_equal(at(t)[:count], mode)

    numbers = np.array([at(t)[count:] for t in places])
    sizes, within = np.abs(numbers), {"method": "bounded", "options": {"xatol": 1e-9 * abs(high - low)}}
    before, after = np.pad(sizes, ((1, 0), (0, 0)), "edge")[:-1], np.pad(sizes, ((0, 1), (0, 0)), "edge")[1:]
    for k, entry in np.argwhere((sizes <= before) & (sizes <= after) & (2.0 * sizes < np.maximum(before, after))):
        ends = sorted((places[max(k - 1, 0)], places[min(k + 1, _PARTS)]))
        given = int(entry), np.sign(numbers[k, entry])
        places.append(float(optimize.minimize_scalar(number, bounds=ends, args=given, **within).x))
    for high in sorted(places, key=lambda t: abs(t - low))[1:]:
        if is_left(high):
            break
        low = high
    else:
        return None
    while abs(high - low) > 1e-15 * max(abs(high), abs(places[_PARTS] - places[0])):
        middle = (low + high) / 2
        low, high = (low, middle) if is_left(middle) else (middle, high)
    found = at(high)[:count]
    return Jump(high, int(np.argmax(found != mode)), found)


def changes(watch: Callable[[Array], Array], count: int, low: float, high: float) -> list[float]:
    """Where the outcomes change between two times, as far as places between them tell; none where there are many."""
    u = np.concatenate([_BESIDE, np.linspace(0.0, 1.0, _PLACES)[1:-1], 1.0 - _BESIDE[::-1]])
    if low == -inf or high == inf:
        away, towards = u / (1.0 - u), (1.0 - u) / u
        times = away - towards if high - low == inf and low == -high else low + away if high == inf else high - towards
    else:
        times = low + (high - low) * u

    def at(t: float) -> Array:
        return watch(np.array([t]))[:count]

    found, after = list[float](), at(times[0])
    for before, end in pairwise(sorted([*times.tolist(), *_turned(watch, count, times.tolist())])):
        outcome = at(end)
        while not np.array_equal(after, outcome, equal_nan=True):
            if len(found) == _MOST:
                return []
            high = end
            while before < (middle := (before + high) / 2) < high:
                before, high = (middle, high) if np.array_equal(at(middle), after, equal_nan=True) else (before, middle)
            found.append(high)
            before, after = high, at(high)
    return found


def _turned(watch: Callable[[Array], Array], count: int, times: list[float]) -> Iterator[float]:
    """Where an outcome is another than at the times around it, because a number turns between these.

    A number that is least or largest at one of three times goes no farther between them than it came, as far as it
    is convex there; its outcome can change at 0, and at whole numbers and halves between them.
    """
    numbers = np.array([watch(np.array([t]))[count:] for t in times])
    middle = numbers[1:-1]
    before, after = numbers[:-2] - middle, numbers[2:] - middle
    turns = (before * after >= 0.0) & (before + after != 0.0)
    reached = middle - np.sign(before + after) * np.maximum(np.abs(before), np.abs(after))
    for k, entry in np.argwhere(turns & (np.floor(2.0 * middle) != np.floor(2.0 * reached))):
        low, high, sign = times[k], times[k + 2], np.sign((before + after)[k, entry])
        outcome = watch(np.array([times[k + 1]]))[entry]
        for _ in range(_NARROWED):
            a, b = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
            at_a, at_b = watch(np.array([a])), watch(np.array([b]))
            if outcome != at_a[entry] or outcome != at_b[entry]:
                yield a if outcome != at_a[entry] else b
                break
            low, high = (low, b) if sign * at_a[count + entry] < sign * at_b[count + entry] else (a, high)


class Event(Problem):
    """The time at which the solution of differential equations comes to a jump, by what that depends on."""

    def __init__(self, residual: Body, time: float, system: Any) -> None:
        super().__init__(residual, np.array([time]), "ode")
        self.system = system

    def find(self, same: Array) -> Found:
        """The time, from the solution."""
        jump = self.system.run(same).jump
        if jump is None:
            raise AgradError("guard", "ode: a jump, or an event, of the first solution is missing now")
        return Found(np.array([jump.time]), 0.0, 0)
