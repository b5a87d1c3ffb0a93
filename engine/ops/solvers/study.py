"""What a function of one number does in an interval: zeros, extrema, inflections, poles, and where it rises or falls.

Zeros, extrema and inflections are zeros of the function and of its exact derivatives; at a pole, where the function
grows without end, one of these changes its sign without a zero, or is divided by 0. The interval is cut where an
outcome of `where`, `abs` or a step changes, where a value begins or ends, and where the derivative changes its sign
without a zero. What a place is, is told by the signs between it and its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from math import inf, isfinite, nan, nextafter, ulp
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError
from agrad.engine.ops.solvers import zeros
from agrad.engine.ops.solvers.function import Evaluated, derived, jacobian_of
from agrad.engine.ops.solvers.jumps import Jumps, changes, is_smooth
from agrad.engine.program.ir import rewritten
from agrad.engine.program.scan import Body
from agrad.engine.text import Grid, in_lines
from agrad.engine.values import Array, format_number, np

_CELLS = 1024  # of the interval, at whose ends is looked whether there is a value
_FARTHEST, _FINEST = 1e30, 1e6  # of the ends: from 0, and apart, in units of the last place
_PIECES = 100  # of the interval, at most
_NEAR = (8.0 ** -np.arange(3.0, 13.0)).tolist()  # of its length: how near to a place the limits there are looked for
_SAME = 1e-9  # of its length: places as near as that are one
_BLURRED = 1e-6  # of it: derivatives as near as that to a cut may be rounding alone
_TINY = 1e-300  # digits are lost below; beside a pole at 0, the function is infinite from here on
_SINGULAR = {"div": 1, "reciprocal": 0, "log": 0}  # the operand that may not be 0
_PRODUCTS = frozenset("exp mul div reciprocal pow square sigmoid erfc".split())  # small ones have lost digits
_INSIDE = (0.5, 0.3, 0.71, 0.06, 0.93, 0.4, 0.6)  # of a range without a change of sign: where the sign is looked at
_WORDS = "zeros", "extrema", "inflections"  # what zeros of the function and of its derivatives are
_NAMES = "function", "derivative", "second derivative"
_EXTREMA = {(1, -1): "maximum", (-1, 1): "minimum", (1, 1): "saddle", (-1, -1): "saddle"}  # by the signs of f' beside

Range = tuple[float, float]


class Place(NamedTuple):
    """A number, what is there, the value and the slope, nan for none; of a jump or a pole, the limits beside it."""

    x: float
    kinds: Sequence[str]
    value: float
    slope: float
    limits: Sequence[float] = ()


class Study(NamedTuple):
    """Places in order; the ranges where the function rises, falls, or is constant; and what was searched, in words.

    `units`: those of the places, the values and the slopes, if there are any.
    """

    places: list[Place]
    rises: list[Range]
    falls: list[Range]
    constant: list[Range]
    searched: list[str]
    units: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """The study for JSON."""
        return {"study": self if self.units else {name: x for name, x in self._asdict().items() if name != "units"}}

    def text(self, variable: str, function: str, precision: int | None) -> str:
        """A table of the places, and the ranges below it."""

        def number(x: float) -> str:
            return "" if x != x else format_number(x, precision)

        names = variable, function, "slope"
        shown = zip(names, self.units or names, strict=True)
        rows = [[*[f"{name} ({unit})" if self.units and unit else name for name, unit in shown], ""]]
        for x, kinds, value, slope, limits in self.places:
            there = " | ".join(number(limit) for limit in limits) if limits else number(value)
            rows.append([number(x), there, number(slope), ", ".join(kinds)])
        told = {"rises": self.rises, "falls": self.falls, "is constant": self.constant}
        said = [
            f"{word} in {', '.join(_written(one, precision) for one in ranges)}"
            for word, ranges in told.items()
            if ranges
        ]
        return in_lines([Grid(rows, (0, 1, 2)), *said, *self.searched])


def study(body: Body, same: Array, ends: Range) -> Study:
    """What a function does between two ends. Raises AgradError of kind `domain` where a search is not possible."""
    size = max(map(abs, ends))
    if size > _FARTHEST:  # where powers are infinite, so that ends of the domain would be seen
        raise AgradError("domain", f"study: the ends are within {_FARTHEST:g} of 0")
    if ends[1] - ends[0] < _FINEST * ulp(size):
        raise AgradError("domain", "study: there are too few numbers between the ends")
    with np.errstate(all="ignore"):
        return _Studied(body, same, ends).study()


class _Studied:
    """A function with its first two derivatives, their zeros, and the places at which it is cut."""

    def __init__(self, body: Body, same: Array, ends: Range) -> None:
        first = jacobian_of(body)
        self.bodies, self.same, self.ends = (body, first, jacobian_of(first)), same, ends
        self.of = [partial(_number, Evaluated(one, same, ())) for one in self.bodies]
        self.length = ends[1] - ends[0]
        self.poles: list[float] = []
        self.edges = self._apart(chain(self._undefined(), self._edges()), ())
        self.tiny = self._apart(self._vanishing(), self.edges)
        self.kinks = self._apart(self._outcomes(), [*self.edges, *self.tiny])
        if len(self.cuts) > _PIECES:
            raise AgradError("domain", f"study: the function jumps, or ends, at more than {_PIECES} places here")
        self.found = dict(zip(_WORDS, map(self._all, self.bodies), strict=True))
        broken = [*self.found["extrema"].broken, *self.found["zeros"].broken]
        poles = [x if abs(x) > _TINY else 0.0 for x in sorted([*broken, *self.edges]) if self._is_pole(x)]
        self.poles = [x for before, x in pairwise([-inf, *poles]) if x - before > _SAME * self.length]
        self.edges, self.kinks = (self._apart(places, self.poles) for places in (self.edges, self.kinks))
        self.kinks += self._apart((x for x in broken if not self._is_held(x, 0) or self._is_apart(x)), self.cuts)
        self.jumps = [x for x in self.kinks if self._is_held(x, 0)]
        infinite = [x for x in np.linspace(*ends, _CELLS + 1).tolist() if abs(self.of[1](x)) == inf]
        self.steep = self._apart([*infinite, *self.found["inflections"].broken], [*self.poles, *self.edges])
        self.steep = [
            x if abs(x) > _TINY else 0.0
            for x in self.steep
            if all(abs(self._limit(x, side, 1)) == inf for side in (-1, 1))
        ]

    @property
    def cuts(self) -> list[float]:
        """The places beside which the function is smooth."""
        return sorted({*self.poles, *self.edges, *self.kinks, *self.tiny})

    def _apart(self, places: Iterable[float], others: Sequence[float]) -> list[float]:
        """The places inside that are not beside one before, or one of others."""
        found: list[float] = []
        for x in places:
            if not self._is_near(x, (*self.ends, *others, *found)):
                found.append(x + 0.0)
        return found

    def _is_near(self, x: float, others: Iterable[float], within: float = _SAME) -> bool:
        return any(abs(x - other) <= within * self.length for other in others)

    def _all(self, body: Body) -> zeros.Zeros:
        """All zeros; piece by piece, where there is no value in one, or the function is 0 all the way."""
        if not self.edges and not self.tiny:
            with suppress(AgradError):
                return self._sought(body, self.ends)
        parts = [self._piece(body, piece) for piece in pairwise([self.ends[0], *self.cuts, self.ends[1]])]
        places, repeated, _, _, _, broken = ([*part] for part in zip(*parts, strict=True))
        told = dict.fromkeys(part.how for part in parts if part.how)
        is_sure = all(part.is_sure for part in parts)
        return zeros.Zeros([*chain(*places)], [*chain(*repeated)], "; ".join(told), is_sure, broken=[*chain(*broken)])

    def _sought(self, body: Body, ends: Range) -> zeros.Zeros:
        found = zeros.zeros_of(body, self.same, ends)
        if found.is_sure:
            is_zero = found.is_all and body is self.bodies[0]
            return found._replace(how=f"all of {_written(ends)}" if is_zero else "every one, as roots of polynomials")
        return found._replace(how=found.how.replace(f" in {_written(ends)}", "", 1))  # it stands above the table

    def _piece(self, body: Body, ends: Range) -> zeros.Zeros:
        """All zeros between two cuts."""
        which = self.bodies.index(body)
        if self._sign(0, *ends) is None or self._is_tiny(which, _within(ends)):
            return zeros.Zeros([], [], "", True)
        try:
            return self._sought(body, ends)
        except AgradError as problem:
            message = problem.message.removeprefix("solve: ").replace("function", _NAMES[which])
            if which == 2:
                return zeros.Zeros([], [], f"not known in {_written(ends)}, where {message}")
            if any(map(partial(_number, Evaluated(body, self.same, ())), np.linspace(*ends, 65)[1:-1].tolist())):
                raise AgradError("domain", f"study: {message}") from None
            return zeros.Zeros([], [], f"all of {_written(ends)}", True)

    # Where it is cut

    def _undefined(self) -> Iterator[float]:
        """Where there is no value because a number that is divided by, or of which there is a logarithm, is 0."""
        body = self.bodies[0]
        for step in body.program.steps:
            if step.op.name in _SINGULAR and not step.shape:
                part = rewritten(replace(body.program, outputs=(step.operands[_SINGULAR[step.op.name]],)))
                with suppress(AgradError):  # of what is 0 all the way, or has no value
                    found = zeros.zeros_of(
                        derived(Body(part, body.sizes, body.example), lambda y, *_: y), self.same, self.ends
                    )
                    yield from filter(self._is_missing, found.places)

    def _is_missing(self, x: float) -> bool:
        """Whether there is no value at a place, or one that only rounding has made, away from the limit there."""
        value, beside = self.of[0](x), [y for side in (-1, 1) for y in self._beside(x, side)[4:6]]
        return value != value or 10.0 * (max(beside) - min(beside)) < abs(value - beside[0]) < inf

    def _edges(self) -> Iterator[float]:
        """Where a value begins or ends, as far as places in the interval tell."""
        for low, high, before in self._turns(lambda x: isfinite(self.of[0](x))):
            inside, outside = (low, high) if before else (high, low)
            is_alone = isfinite(self.of[0](nextafter(outside, inf if before else -inf)))
            yield outside if is_alone or abs(self.of[0](outside)) == inf else inside

    def _turns(self, is_so: Callable[[float], bool]) -> Iterator[tuple[float, float, bool]]:
        """Two numbers beside each other between which a truth changes, and what it is at the first."""
        places = [(x, is_so(x)) for x in np.linspace(*self.ends, _CELLS + 1).tolist()]
        for (low, before), (high, after) in pairwise(places):
            if before != after:
                while low < (middle := low + (high - low) / 2) < high:
                    low, high = (middle, high) if is_so(middle) == before else (low, middle)
                yield low, high, before

    def _outcomes(self) -> Iterator[float]:
        """Where an outcome of what the function, or its derivative, decides by changes."""
        for body in self.bodies[:2]:
            if not is_smooth(body.program):
                jumps = Jumps(body, body.sizes.out)
                yield from changes(Evaluated(jumps.watch, self.same), jumps.count, *self.ends)
        yield from self._unannounced()

    def _vanishing(self) -> Iterator[float]:
        """Where the function, or a derivative, becomes too small for its digits."""
        for which, f in enumerate(self.of):
            for low, high, before in self._turns(lambda x, f=f: abs(f(x)) < _TINY):  # type: ignore[misc]
                x, side = (low, -1) if before else (high, 1)
                if self._is_tiny(which, x + side * 1e-6 * self.length):
                    yield x

    def _is_tiny(self, which: int, x: float) -> bool:
        """Whether a function is nearly 0 because a result has lost digits to its size, or all."""
        program = self.bodies[which].numbers
        if program is None or not abs(self.of[which](x)) < _TINY:
            return False
        slots = [abs(float(y)) for y in program.computed([x, *self.same.tolist()])]
        made = zip(slots[program.first :], program.steps, strict=True)
        return any(y < _TINY <= min(slots[k] for k in step.operands) for y, step in made if step.op.name in _PRODUCTS)

    def _unannounced(self) -> Iterator[float]:
        """Jumps that no outcome tells of, as of atan(1/x): where the slope does not explain how values differ."""
        places = np.linspace(*self.ends, _CELLS + 1).tolist()
        size = max((abs(y) for y in map(self.of[0], places) if isfinite(y)), default=0.0)
        for low, high in pairwise(places):
            while (gap := self._unexplained(low, high)) > _SAME * size and low < (low + (high - low) / 2) < high:
                middle = low + (high - low) / 2
                low, high = max((low, middle), (middle, high), key=lambda part: self._unexplained(*part))
            if (
                gap > _BLURRED * size
                and self._is_apart(high)
                and inf not in (abs(self._limit(low, -1)), abs(self._limit(high, 1)))
            ):
                yield high

    def _is_apart(self, x: float) -> bool:
        """Whether values differ as much farther from a place, where less rounding is divided by small numbers."""
        before, after, low, high = (self._beside(x, side, which)[3:] for which in (0, 1) for side in (-1, 1))
        explained = [near * self.length * (a + b) for near, a, b in zip(_NEAR[3:], low, high, strict=True)]
        *gaps, last = (abs(b - a - slope) for a, b, slope in zip(before, after, explained, strict=True))
        return not any(gap < last / 2 for gap in gaps[:3])

    def _unexplained(self, low: float, high: float) -> float:
        """How far values differ from the integral of the slope, by Simpson's rule."""
        f, slope = self.of[:2]
        integral = (slope(low) + 4.0 * slope(low + (high - low) / 2) + slope(high)) * (high - low) / 6.0
        gap = abs(f(high) - f(low) - (integral if isfinite(integral) else 0.0))
        return gap if isfinite(gap) else 0.0

    def _beside(self, x: float, side: int, which: int = 0) -> list[float]:
        """The values nearer and nearer to a place."""
        return [self.of[which](x + side * self.length * near) for near in _NEAR]

    def _limit(self, x: float, side: int, which: int = 0) -> float:
        """What a function comes to beside a place: inf or -inf where it grows without end, nan where none is clear."""
        values = self._beside(x, side, which)
        steps = [after - before for before, after in pairwise(values)][-6:]
        if not all(map(isfinite, steps)):
            return values[-1] if abs(values[-1]) == inf else nan
        if all(later * step > 0 and abs(later) >= 0.99 * abs(step) for step, later in pairwise(steps)):
            return inf if steps[-1] > 0 else -inf
        small = 1e-9 * max(map(abs, values))
        is_settling = all(abs(later) <= max(0.9 * abs(step), small) for step, later in pairwise(steps))
        return values[-1] if is_settling else nan

    def _is_pole(self, x: float) -> bool:
        """Whether the function grows without end on each side that is inside."""
        low, high = self.ends
        sides = [side for side, end in ((-1, low), (1, high)) if not self._is_near(x, (end,))]
        return all(abs(self._limit(x, side)) == inf for side in sides)

    def _is_held(self, x: float, which: int) -> bool:
        """Whether the difference of the values on both sides of a place stays, however near they are."""
        sides = [self._beside(x, side, which) for side in (-1, 1)]
        *_, before, last = (abs(a - b) for a, b in zip(*sides, strict=True))
        rounding = max(1e-9 * abs(self.of[which](x)), 1e-12 * max(map(abs, chain(*sides))))
        return bool(last > max(0.75 * before, rounding)) or abs(last) == inf

    # What is where

    def _sign(self, which: int, low: float, high: float) -> int | None:
        """The sign of a function in a range in which it is the same; None where the function has no value."""
        points = [low + part * (high - low) for part in _INSIDE]
        known = [y for x in points if isfinite(self.of[0](x)) and (y := self.of[which](x)) == y]
        if not known:
            return None
        (sign, *others) = {int(np.sign(y)) for y in known if y} or {0}
        return 0 if others else sign  # where it has both, they are rounding

    def study(self) -> Study:
        """The places and the ranges."""
        cuts, kinds = self.cuts, dict[float, list[str]]()
        roots, flat, bends = (self.found[word].places for word in _WORDS)
        flat, bends = ([x for x in places if not self._is_near(x, cuts, _BLURRED)] for places in (flat, bends))
        missing = [x for x in self.edges if not isfinite(self.of[0](x)) or self._is_missing(x)]
        for x in (x for x in roots if not self._is_near(x, missing, _BLURRED)):
            before, after = self._across(0, x, [*cuts, *roots])
            x = next((cut for cut in cuts if self._is_near(x, [cut])), x)
            if x in self.jumps and self.of[0](x) and self.of[0](nextafter(x, -inf)):
                continue  # a limit alone is 0
            kinds[x] = ["zero", "touching"] if before == after else ["zero"]
        for x in (*flat, *self._apart(self.kinks, self.jumps)):
            told, is_kink = _EXTREMA.get(self._across(1, x, [*cuts, *flat]), ""), x in self.kinks
            own = "corner" if is_kink and self._is_held(x, 1) else ""
            kinds.setdefault(x, []).extend(filter(None, ("" if is_kink and told == "saddle" else told, own)))
        for x in (*bends, *self.steep):
            before, after = self._across(2, x, [*cuts, *bends, *self.steep])
            x = next((place for place in kinds if self._is_near(x, [place])), x)
            kinds.setdefault(x, []).extend(["inflection"] * ((before or 0) * (after or 0) < 0))
        holes = [x for x in self.edges if None not in self._across(0, x, cuts)]
        edges = [x for x in self.edges if x not in holes]
        words = {"pole": self.poles, "jump": self.jumps, "hole": holes, "edge": edges, "end": self.ends}
        for word, places in words.items():
            for x in places:
                kinds.setdefault(x, []).insert(0, word)
        bounds = [*pairwise(sorted({*self.ends, *cuts, *flat}))]
        signs, parts = [self._sign(1, *one) for one in bounds], {*self.poles, *self.edges, *self.jumps}
        ranges = [[one for one, sign in zip(bounds, signs, strict=True) if sign == way] for way in (1, -1, 0)]
        rises, falls, constant = (_joined(some, parts) for some in ranges)
        found = [self._place(x, kinds[x]) for x in sorted(kinds) if kinds[x]]
        constant = [one for one in constant if not self._is_tiny(1, _within(one))]
        return Study(found, rises, falls, constant, self._searched())

    def _across(self, which: int, x: float, places: Iterable[float]) -> tuple[Any, Any]:
        """The signs of a function before and after a place, up to the next of these."""
        bounds = sorted({*self.ends, *(place for place in places if not self._is_near(x, [place])), x})
        at = bisect_left(bounds, x)
        before = self._sign(which, bounds[at - 1], x) if at else None
        return before, self._sign(which, x, bounds[at + 1]) if at + 1 < len(bounds) else None

    def _place(self, x: float, kinds: list[str]) -> Place:
        value, slope = (f(x) for f in self.of[:2])
        if not isfinite(value) or kinds[0] in ("pole", "jump", "hole"):
            sides = [side for side, end in zip((-1, 1), self.ends, strict=True) if x != end]
            limits = [limit for side in sides if (limit := self._limit(x, side)) == limit]
            if kinds[0] == "jump":
                limits = [self.of[0](nextafter(x, side * inf)) for side in sides]
            elif not any(abs(limit) == inf for limit in limits):
                kinds, limits = [*kinds, "no value"], []
            return Place(x, kinds, nan, nan, limits)
        slope = 0.0 if x in self.found["extrema"].places else nan if "corner" in kinds else slope
        if self._is_near(x, self.steep) and (limit := self._limit(x, 1, 1)) == self._limit(x, -1, 1):
            slope = limit
        if x in self.ends:
            side = 1 if x == self.ends[0] else -1
            limit, values = self._limit(x, side, 1), self._beside(x, side)
            before, last = (abs(y - value) for y in values[-2:])
            if last > max(0.99 * before, 1e-9 * abs(value)) and isfinite(last):
                return Place(x, [*kinds, "jump"], value, slope, [value, values[-1]][::side])
            slope = limit if abs(limit) == inf else slope
        return Place(x, kinds, 0.0 if "zero" in kinds else value, slope)

    def _searched(self) -> list[str]:
        """What was searched for what."""
        told: dict[str, list[str]] = {}
        for word, found in self.found.items():
            told.setdefault(found.how, []).extend(["poles", word] if word == "zeros" else [word])
        said = [f"{', '.join(words)}: {how}" for how, words in told.items() if how]
        program, how = self.bodies[0].program, self.found["zeros"].how
        is_singular = any(step.op.name in _SINGULAR for step in program.steps) and not how.startswith("every")
        if is_singular or not is_smooth(program):
            said.append(f"jumps: a search in {_CELLS} parts of the range, for one in each")
        for which, name in enumerate(_NAMES):
            pieces = pairwise(sorted({*self.ends, *self.cuts}))
            tiny = _joined([one for one in pieces if self._is_tiny(which, _within(one))], ())
            said += [f"the {name} is below {_TINY:g} in {', '.join(map(_written, tiny))}"] if tiny else []
        return said


def _written(ends: Range, precision: int | None = 10) -> str:
    return "..".join(format_number(end, precision) for end in ends)


def _number(f: Evaluated, x: float) -> float:
    return float(f([x]))


def _within(ends: Range) -> float:
    """A place inside, which is not the middle, where a function may be 0 by symmetry."""
    return ends[0] + 0.3 * (ends[1] - ends[0])


def _joined(ranges: Sequence[Range], parts: Iterable[float]) -> list[Range]:
    """Ranges, of which those are one that touch, but where something parts them."""
    found: list[Range] = []
    for low, high in ranges:
        if found and found[-1][1] == low and low not in parts:
            low = found.pop()[0]
        found.append((low, high))
    return found
