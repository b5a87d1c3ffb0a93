"""Curves of functions: computed along a range, more closely where they bend, and cut where they jump.

A function is computed at one number after the other, so that it may contain branches, loops and random numbers; a
slow one that works entry by entry on arrays, at many numbers together. Every value comes with its exact derivative,
which shows where a straight line between two points is not accurate enough. On logarithmic axes that is a straight line
between logarithms.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

from agrad.engine.autodiff.backward import grad
from agrad.engine.core.context import current, next_stamp, taken_back
from agrad.engine.core.graph import reachable
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import format_number
from agrad.grammar.commands.registry import Session, wrong
from agrad.grammar.results import unheard
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.operations import describe_value

_STEPS = 400  # of a range, to begin with
_MOST_POINTS = 2400  # points
_NARROW = 1e-5  # of the range: what changes between points as near as this jumps
_LONG = 100  # operations: for a function of fewer, loading arrays would take longer than all its points
_TAIL = 0.1  # of the values at either end, which may be those near a pole
_NOISE = 1e-13  # of the values: what rounding adds is not followed
_LN10 = math.log(10)
UNDEFINED = frozenset({"domain", "assert"})  # errors that leave a gap: the function has no value there

Window = tuple[float, float]


class Point(NamedTuple):
    """A value of a function with its derivative, as they are drawn: on a logarithmic axis, logarithms.

    nan where there is none. `raw`: the number, the value and the derivative themselves.
    """

    x: float
    y: float
    slope: float
    raw: tuple[float, float, float]

    def of(self, which: int) -> float:
        """The value (0) or the derivative (1)."""
        return self.slope if which else self.y


class Shape(NamedTuple):
    """How functions are drawn: which axes are logarithmic; value, derivative, both, or both with an axis of its own."""

    log: tuple[bool, bool] = (False, False)
    value: bool = True
    derivative: bool = True
    twin: bool = False


@contextmanager
def aside(session: Session) -> Iterator[None]:
    """What happens inside is taken back at the end, without output."""
    kept = session.emit, session.last, session.progress, session.settings.precision
    session.emit, session.progress = unheard, None
    try:
        with taken_back(recording=True, guard=current().guard):
            yield
    finally:
        session.emit, session.last, session.progress, session.settings.precision = kept


class Sampled:
    """A function that is computed at many places; `problem`: the first error of those where it has no value."""

    def __init__(self, session: Session, closure: Closure) -> None:
        self.session, self.closure, self.name = session, closure, closure.__name__
        self.place = closure.definition.span
        self.guard = current().guard
        self.problem: AgradError | None = None

    def call(self, *values: Tensor) -> Any:
        """The value as it is. Raises AgradError."""
        current().guard = self.guard  # the guards of one point do not concern the next
        return self.session.machine.call(self.closure, values, {})

    @contextmanager
    def gaps(self) -> Iterator[None]:
        """What is left where the function has no value. Raises AgradError if it would fail anywhere."""
        try:
            yield
        except AgradError as problem:
            if problem.kind not in UNDEFINED:
                raise
            self.problem = self.problem or problem

    def nowhere(self, where: str) -> AgradError:
        """The error for a function without a value to draw."""
        message = f"{self.name} has no finite value at all {where}: there is nothing to draw"
        return self.problem or wrong("domain", message, self.place)


class Track(Sampled):
    """One function followed along a range."""

    def __init__(self, session: Session, closure: Closure, low: float, high: float, log: tuple[bool, bool]) -> None:
        super().__init__(session, closure)
        self.across, self.up = log
        self.ends = low, high
        before = next_stamp()
        low, high = self.drawn(low), self.drawn(high)
        self.at(low)
        self.together = next_stamp() - before > _LONG
        xs = [*(low + (high - low) * (step / _STEPS) for step in range(_STEPS)), high]
        start = self.at_all(xs)
        if self.together and not self._agree(start):
            self.together = False
            start = self.at_all(xs)
        if not any(math.isfinite(point.y) for point in start):
            raise self._nowhere(start)
        self.bulk = [_Bulk([point.of(which) for point in start]) for which in (0, 1)]
        self.narrow = (high - low) * _NARROW
        self.points = self._refined(start)
        if whole := [which for which in (0, 1) if not self._window(which)[1]]:  # all of it is shown
            for which in whole:
                self.bulk[which] = _Bulk([point.of(which) for point in self.points], 0)
            self.points = self._refined(self.points)

    def drawn(self, x: float) -> float:
        """Where a number is on the axis: its logarithm, if that is logarithmic."""
        return math.log10(x) if self.across else x

    def number(self, place: float) -> float:
        """The number at a place of the axis."""
        return min(max(10.0**place, self.ends[0]), self.ends[1]) if self.across else place

    def point(self, place: float, y: float, slope: float) -> Point:
        """A point as it is drawn: of a logarithm, d(log y)/d(log x) = x y'/y."""
        x = self.number(place)
        raw = x, y, slope
        if self.up:
            y, slope = (math.log10(y), slope / (y * _LN10)) if 0 < y < math.inf else (math.nan, math.nan)
        return Point(place, y, slope * (x * _LN10) if self.across else slope, raw)

    def at(self, x: float) -> Point:
        """The value and the derivative at a place. Raises AgradError if it would fail at any number."""
        leaf = tensor(self.number(x), requires_grad=True)
        y = slope = math.nan
        with self.gaps():
            value = self.call(leaf)
            found = self._number(value)
            y, slope = found, _slope(value, leaf) if math.isfinite(found) else math.nan
        return self.point(x, y, slope)

    def at_all(self, xs: list[float]) -> list[Point]:
        """The same at many numbers."""
        found = self._at_once(xs) if self.together else None
        return [self.at(x) for x in xs] if found is None else found

    def _at_once(self, xs: list[float]) -> list[Point] | None:
        """The same with the numbers as one array; None where the function does not take it for so many numbers."""
        leaf = tensor([*map(self.number, xs)], requires_grad=True)
        try:
            value = self.call(leaf)
            if not isinstance(value, Tensor) or value.shape != leaf.shape or leaf.node not in reachable(value.node):
                return None
            slopes = grad(value, leaf, gradient=[1.0] * len(xs))
        except AgradError:
            return None
        rows = zip(xs, value.tolist(), slopes.tolist(), strict=True)
        return [self.point(x, y, slope if math.isfinite(y) else math.nan) for x, y, slope in rows]

    def _agree(self, points: list[Point]) -> bool:
        """Whether some of the points are the same one by one: entries of an array may depend on each other."""
        chosen = [points[place * (len(points) - 1) // 6] for place in (0, 1, 3, 4, 6)]
        return all(_agrees(point, self.at(point.x)) for point in chosen)

    def _number(self, value: object) -> float:
        if (number := number_in(value)) is not None:
            return number
        fixes: list[str] = []
        what = describe_value(value)
        if isinstance(value, Tensor):
            fixes = [Hint(f"sum({self.name}), or an entry of it: ({self.name})[0]")]
        elif callable(value):
            what, fixes = "a function", [f"{self.name}({', '.join(self.closure.definition.parameters)})"]
        message = f"{self.name} is {what}: a curve has one number at each point"
        raise wrong("shape", message, self.place, *fixes)

    def _nowhere(self, start: list[Point]) -> AgradError:
        """The error for a function without a point to draw."""
        ends = f"from {format_number(self.ends[0])} to {format_number(self.ends[1])}"
        if any(math.isfinite(point.raw[1]) for point in start):
            message = f"{self.name} is not above 0 anywhere {ends}: logarithmic values are"
            return wrong("domain", message, self.place, Hint("leave out logy"))
        return self.nowhere(ends)

    def _refined(self, start: list[Point]) -> list[Point]:
        """More points where a straight line between two is not accurate, halved level by level."""
        points, pairs = list(start), list(pairwise(start))
        while pairs and (room := _MOST_POINTS - len(points)) > 0:
            bent = ((p, q, p.x / 2 + q.x / 2) for p, q in pairs if not self._straight(p, q))
            halved = [(p, q, x) for p, q, x in bent if p.x < x < q.x]
            halved = halved[:: len(halved) // room + 1]  # some everywhere, where there are too many
            middles = self.at_all([x for _, _, x in halved])
            points += middles
            pairs = [pair for (p, q, _), m in zip(halved, middles, strict=True) for pair in ((p, m), (m, q))]
        return sorted(points)

    def _straight(self, p: Point, q: Point) -> bool:
        """Whether a straight line between two points is accurate."""
        step = q.x - p.x
        if step <= self.narrow:
            return True
        if not (math.isfinite(p.y) and math.isfinite(q.y)):
            return math.isfinite(p.y) == math.isfinite(q.y)
        values, slopes = self.bulk
        if side := values.outside(p.y, q.y):
            return not p.slope * side > 0 > q.slope * side  # there may be a pole between them
        if not (math.isfinite(p.slope) and math.isfinite(q.slope)):
            return abs(q.y - p.y) <= values.fine
        bend = abs(q.y - p.y - step * (p.slope / 2 + q.slope / 2)) + step * abs(q.slope - p.slope) / 8
        if bend > values.fine:
            return False
        return bool(slopes.outside(p.slope, q.slope)) or abs(q.slope - p.slope) <= 10 * slopes.fine

    def line(self, which: int) -> tuple[list[float], list[float]]:
        """The values (0) or derivatives (1) with the places they are at; nan between those that a jump parts."""
        xs, ys = [self.points[0].raw[0]], [self.points[0].raw[1 + which]]
        for p, q in pairwise(self.points):
            if self._jumps(p, q, which):
                xs.append(self.number(p.x / 2 + q.x / 2))
                ys.append(math.nan)
            xs.append(q.raw[0])
            ys.append(q.raw[1 + which])
        return xs, ys

    def _jumps(self, p: Point, q: Point, which: int) -> bool:
        change, fine, step = abs(q.of(which) - p.of(which)), self.bulk[which].fine, q.x - p.x
        if self.bulk[which].outside(p.of(which), q.of(which)):
            return False
        if step <= 2 * self.narrow:
            return change > 8 * fine
        steep = max(abs(p.slope), abs(q.slope)) * step  # where there were too many jumps to look closely at each
        return which == 0 and change > 100 * fine and change > 4 * steep

    @property
    def window(self) -> Window:
        """The range of values to show."""
        low, high = self._window(0)[0]
        return (_power(low), _power(high)) if self.up else (low, high)

    @property
    def slopes_window(self) -> Window:
        """The range of derivatives to show; near a pole of theirs, not many times the range of the function."""
        window, robust = (self._slopes(), True) if self.across or self.up else self._window(1)
        low, high = self.window
        if not robust or low == high:
            return window
        room = high - low
        return max(window[0], low - room), min(window[1], high + room)

    def slopes_window_alone(self, positive: bool) -> Window:
        """The range of derivatives to show over an axis of their own; those above 0 if that is logarithmic."""
        return self._slopes(positive) if self.across or self.up or positive else self._window(1)[0]

    def _slopes(self, positive: bool = False) -> Window:
        """The smallest and largest derivative where an axis is logarithmic."""
        slopes = [point.raw[2] for point in self.points]
        finite = [slope for slope in slopes if math.isfinite(slope) and (slope > 0 or not positive)]
        return min(finite, default=1.0), max(finite, default=1.0)

    def _window(self, which: int) -> tuple[Window, bool]:
        """The smallest and largest value, without those near a pole; and whether there are such."""
        values, bulk = [point.of(which) for point in self.points], self.bulk[which]
        near = (pair for pair in pairwise(self.points) if pair[1].x - pair[0].x <= 2 * self.narrow)
        beyond = any(
            math.isfinite(y) and bulk.outside(y, y) for pair in near for y in (point.of(which) for point in pair)
        )
        finite = [y for y in values if math.isfinite(y)]
        if len(values) > _MOST_POINTS / 2:  # too many poles to look closely at each
            beyond = beyond or any(bulk.far(y) for y in finite)
        if not finite:
            return self._window(0)
        low, high = min(finite), max(finite)
        if bulk.low < bulk.high and (beyond or any(map(math.isinf, values))):
            return (max(low, bulk.low), min(high, bulk.high)), True
        return (low, high), False


class _Bulk:
    """The range of most values of a curve, with a margin; `fine`: the smallest visible difference."""

    def __init__(self, values: list[float], tails: float = _TAIL) -> None:
        finite = sorted(y for y in values if math.isfinite(y)) or [0.0]
        tail = int(len(finite) * tails)
        least, most = finite[tail], finite[-1 - tail]
        room = (most - least) / 2
        self.low, self.high = least - room, most + room
        spread = 2 * room or finite[-1] - finite[0]
        noise = _NOISE * max(abs(finite[0]), abs(finite[-1]))
        self.fine = max(spread / _STEPS, noise) if 0 < spread < math.inf else math.inf

    def far(self, value: float) -> bool:
        """Whether a value is many times farther out than the others."""
        return not self.low - 100 * (self.high - self.low) <= value <= self.high + 100 * (self.high - self.low)

    def outside(self, *values: float) -> int:
        """1 where all are above, -1 where all are below, 0 otherwise."""
        return 1 if min(values) > self.high else -1 if max(values) < self.low else 0


def _slope(value: object, leaf: Tensor) -> float:
    """The derivative by the leaf, 0 where the value does not depend on it."""
    if not isinstance(value, Tensor) or not value.requires_grad or leaf.node not in reachable(value.node):
        return 0.0
    slope: Tensor = grad(value, leaf)
    return slope.item()


def _power(exponent: float) -> float:
    """A power of ten; the largest number where that is larger."""
    return 10.0**exponent if exponent < 308 else sys.float_info.max


def _agrees(one: Point, other: Point) -> bool:
    """Whether two points are the same except for rounding."""
    pairs = zip(one.raw, other.raw, strict=True)
    return all(x == y or abs(x - y) <= 1e-6 * max(abs(x), abs(y)) or (x != x and y != y) for x, y in pairs)


def ordered(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """Points from left to right, so that a line through them does not turn back; without those not finite."""
    pairs = sorted((pair for pair in zip(x, y, strict=True) if not math.isnan(pair[0])), key=lambda pair: pair[0])
    return [x for x, _ in pairs], [y for _, y in pairs]


def number_in(value: Any) -> float | None:
    """The one number that a value is; None for anything else."""
    if isinstance(value, Tensor) and value.size == 1:
        return value.item()
    return value if isinstance(value, float) else None
