"""The axes of plots: where a number is, and which numbers are marked."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

from agrad.engine.values import format_number

_TINY = 1e-200  # a range within this distance of 0 is scaled by it
_MOST = 12  # ticks, where two are wanted
_FAR = 1e9  # times the length of an axis


class Scale:
    """The numbers along an axis, with its ticks; the ends may be as far apart as floats can be."""

    def __init__(self, ends: tuple[float, float], most: int, least: float = 0.0) -> None:
        self.low, self.high = ends
        size = max(abs(self.low), abs(self.high))
        # What numbers are multiplied with before they are subtracted: the largest must not overflow, and the smallest
        # must not lose their digits.
        self.factor = 0.5 if size > _TINY else 1 / _TINY
        self.length = self.high * self.factor - self.low * self.factor
        self.step = max(_round_step(self.length / max(most, 2) / self.factor), least)
        first = math.floor(self.low / self.step)
        near = (number * self.step for number in range(first, first + 2 * most + 3))
        self.ticks = [tick for tick in near if -1e-9 < self.place(tick) < 1 + 1e-9]
        reach = size / self.step
        self.digits = min(max(math.ceil(math.log10(reach)) + 1 if reach > 1 else 0, 4), 17)

    def place(self, number: float) -> float:
        """Where a number is, from 0 at the low end to 1 at the high end; a place far outside is limited."""
        place = (number * self.factor - self.low * self.factor) / self.length
        return min(max(place, -_FAR), _FAR)

    def label(self, tick: float) -> str:
        """A tick, with enough digits to distinguish it from the next."""
        return format_number(0.0 if abs(tick) < self.step / 2 else tick, self.digits)


def _round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten: the smallest that is not less."""
    rough = max(rough, math.ulp(0.0))
    power = float(f"1e{math.floor(math.log10(rough))}") or rough
    steps = (factor * power for factor in (1.0, 2.0, 5.0, 10.0))
    return next((step for step in steps if rough * 0.999 <= step < math.inf), rough)


class LogScale:
    """The same along a logarithmic axis, both ends of which are above 0."""

    def __init__(self, ends: tuple[float, float], most: int) -> None:
        self.low, self.high = ends
        self.start, self.length = math.log10(self.low), math.log10(self.high) - math.log10(self.low)
        decades = range(math.floor(self.start), math.ceil(math.log10(self.high)) + 1)
        step = max(math.ceil(len(decades) / max(most, 2)), 1)
        marks = (1,) if self.length > 2 or step > 1 else (1, 2, 5)
        self.ticks = self._inside(marks, [decade for decade in decades if not decade % step])
        if len(self.ticks) < 2:  # of one no scale can be read
            powers, finer = (self._inside(marks, decades) for marks in ((1,), (1, 2, 5)))
            few = powers if len(powers) > 1 else [finer[0], finer[-1]] if len(finer) > 1 else []
            self.ticks = few or scale_of(ends, most).ticks

    def _inside(self, marks: Iterable[int], decades: Iterable[int]) -> list[float]:
        """These numbers of each of these decades, as far as they are between the ends."""
        near = [float(f"{mark}e{decade}") for decade in decades for mark in marks]
        return [tick for tick in near if tick and -1e-9 < self.place(tick) < 1 + 1e-9]

    def place(self, number: float) -> float:
        """Where a number above 0 is, from 0 at the low end to 1 at the high end; nan for any other."""
        return (math.log10(number) - self.start) / self.length if number > 0 else math.nan

    def label(self, tick: float) -> str:
        """A tick."""
        return format_number(tick, 5)


def scale_of(ends: tuple[float, float], most: int, least: float = 0.0, log: bool = False) -> Scale | LogScale:
    """The scale of an axis with at most so many ticks, or two; `least`: between two of them."""
    if log and ends[0] > 0:
        return LogScale(ends, most)
    scale = Scale(ends, most, least)
    while len(scale.ticks) < 2 and scale.step > least and most < _MOST:  # of one tick no scale can be read
        most += 1
        scale = Scale(ends, most, least)
    return scale


def ends_of(numbers: Iterable[float], log: bool = False) -> tuple[float, float]:
    """The smallest and the largest finite number, made different if they are equal; with `log`, of those above 0."""
    finite = [number for number in numbers if math.isfinite(number) and (number > 0 or not log)]
    low, high = (min(finite), max(finite)) if finite else (0.1, 1.0) if log else (0.0, 1.0)
    if high / 2 - low / 2 > max(abs(low), abs(high)) * 1e-15:
        return low, high
    if log:
        return max(low / 2, math.ulp(0.0)), min(high * 2, sys.float_info.max)
    room = max(abs(low) / 2, 1e-300) if abs(low) >= 1e15 or 0 < abs(low) < 1e-3 else 1.0
    return max(low - room, -sys.float_info.max), min(high + room, sys.float_info.max)
