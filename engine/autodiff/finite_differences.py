"""The derivative of a function of one number by differences alone, with a bound on its error.

No single step width suits every function: too wide, and its curvature dominates; too narrow, and only rounding errors
are left. So several are tried. A *window* is a width with its half and its quarter. Richardson's extrapolation (L. F.
Richardson, 1911) of its three central differences removes the error up to the sixth order of the width; the distance
between the results of two of them and of the other two bounds what is left, and the effect of rounding follows from the
size of the values. The same three widths give the difference between the slopes on the right and on the left, which
vanishes unless there is a kink.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from agrad.engine.values import format_number

EPSILON = 2.0**-52
SMALLEST = 2.0**-1074  # numbers below it are 0
AGREE = 1e-7  # relative: the distance within which a trusted difference must be
SETTLED = 1e-4  # relative: the largest distance between the differences of a window that is trusted at all

SINGULAR = "an intermediate value or derivative is not finite"

# A bound on the rounding errors of a window's results, in units of that of one value divided by the width. The weights
# of the extrapolations, of which that of the gap are the largest, add up to 40.
AMPLIFIED = 40.0

# Widths are powers of 2. The first try, relative to x, balances the error of extrapolation (2**-42) and rounding.
_FIRST = -7
_WIDEST = -2
_NARROWEST = -42  # relative to x
_NARROWEST_AT_0 = -60
_WINDOW = 3  # powers of 2 from one window to the next
_TO_NARROW = 19  # powers of 2 from a window to one that could contradict it


@dataclass(frozen=True, slots=True)
class Slope:
    """The derivative by differences. `doubt` bounds its error; `kink` says why there is none, else it is empty."""

    value: float
    doubt: float
    kink: str = ""


class Window(NamedTuple):
    """The results of the differences over one width (a power of 2), its half and its quarter."""

    exponent: int
    value: float
    spread: float  # the remaining error of curvature, or the difference between right and left
    gap: float  # the slope on the right less that on the left
    rounding: float

    @property
    def doubt(self) -> float:
        """A bound on the error of the value."""
        return self.spread + self.rounding

    @property
    def size(self) -> float:
        """The larger of the slopes on the right and on the left."""
        return abs(self.value) + abs(self.gap) / 2

    def confirms(self, expected: float) -> bool:
        """Whether the slope agrees with the expected one, with little doubt."""
        if not math.isfinite(expected):
            return False
        size = max(self.size, abs(expected))
        return self.spread <= AGREE * size + self.rounding and abs(self.value - expected) <= AGREE * size + self.doubt

    def contradicts(self, other: Window) -> bool:
        """Whether two windows contradict each other, even with their doubts."""
        return abs(self.value - other.value) > 4 * (self.doubt + other.doubt)


def slope(f: Callable[[float], float], x: float, middle: float, expected: float, rounding: float) -> Slope:
    """The derivative of f at x, by differences; `middle` is f(x), and `rounding` an absolute bound on its error.

    `expected` only decides when to stop: a window that confirms it clearly, and that a narrow one does not contradict,
    is the last.
    """
    if not math.isfinite(middle):
        return Slope(math.nan, math.inf, "the value is not finite")
    if not math.isfinite(rounding):
        return Slope(math.nan, math.inf, SINGULAR)

    @cache
    def window(exponent: int) -> Window | None:
        return _window(f, x, middle, exponent, rounding)

    first, wide, all_there_are = _plan(x)
    for exponents in (first, wide):
        found = [window for window in map(window, first + exponents) if window is not None]
        best = min(found, key=lambda window: window.doubt, default=None)
        if best is None or not best.confirms(expected):
            continue
        # A window with little but rounding errors confirms almost anything: wider ones are tried as well.
        sees_nothing = best.size <= best.rounding and exponents is wide
        if best.rounding <= SETTLED * best.size or sees_nothing:
            narrow = window(min(best.exponent, max(best.exponent - _TO_NARROW, all_there_are[0])))
            if narrow is not None and not narrow.contradicts(best):
                return Slope(best.value, best.doubt)
    return _best([found for found in map(window, all_there_are) if found is not None])


def _plan(x: float) -> tuple[tuple[int, ...], tuple[int, ...], range]:
    """The widths to try, as powers of 2: the likeliest; wide ones; all of them, narrowest first."""
    own = math.frexp(x)[1] if x else 0
    widest = max(own, 1) + _WIDEST
    narrowest = max(own + (_NARROWEST if x else _NARROWEST_AT_0), -1070)
    return (own + _FIRST,), (_FIRST, widest), range(widest, narrowest, -_WINDOW)[::-1]


def _window(f: Callable[[float], float], x: float, middle: float, exponent: int, rounding: float) -> Window | None:
    """The differences over a width, its half and its quarter; None where a value is not finite."""
    central, gaps, largest, width = [], [], abs(middle), math.ldexp(1.0, exponent)
    for step in (width, width / 2, width / 4):
        right, left = x + step, x - step
        if not left < x < right or math.isinf(right - left):
            return None
        above, below = f(right), f(left)
        central.append((above - below) / (right - left))
        gaps.append((above - middle) / (right - x) - (middle - below) / (x - left))
        largest = max(largest, abs(above), abs(below))
        if not (math.isfinite(central[-1]) and math.isfinite(gaps[-1])):
            return None
    # The error of a central difference has the even powers of the width, that of the gap the odd ones.
    once = [(4 * fine - coarse) / 3 for coarse, fine in pairwise(central)]
    value = (16 * once[1] - once[0]) / 15
    closer = [2 * fine - coarse for coarse, fine in pairwise(gaps)]
    gap = (8 * closer[1] - closer[0]) / 7
    noise = AMPLIFIED * max(rounding, EPSILON * largest, SMALLEST) / width
    spread = max(abs(once[1] - once[0]), abs(gap))
    return Window(exponent, value, spread, gap, noise) if math.isfinite(spread) else None


def _best(windows: Sequence[Window]) -> Slope:
    """The slope by the window with the least doubt, of these, narrowest first; or why there is none.

    A window that contradicts a narrower one is too wide, and so are all wider ones: the function changes within it.
    """
    if not windows:
        return Slope(math.nan, math.inf, "the value nearby is not finite")
    best = 0
    for place, window in enumerate(windows):
        if window.contradicts(windows[best]):
            break
        if window.doubt <= windows[best].doubt:
            best = place
    found = windows[best]
    if found.spread <= SETTLED * found.size + 8 * found.rounding or _shrinks(windows[best : best + 3]):
        return Slope(found.value, found.doubt)
    narrower = windows[max(best - 1, 0)]
    change = abs(narrower.gap - found.gap) + abs(narrower.value - found.value)
    if change > SETTLED * found.size + narrower.rounding:
        return Slope(math.nan, math.inf, "the differences do not converge")
    sides = f"slope {_rounded(found, -1)} on the left, {_rounded(found, 1)} on the right"
    return Slope(found.value, found.doubt, sides)


def _shrinks(windows: Sequence[Window]) -> bool:
    """Whether the spread decreases with the width: slowly, as at a point where the next derivative is not finite."""
    return len(windows) == 3 and all(narrow.spread < wide.spread / 2 for narrow, wide in pairwise(windows))


def _rounded(window: Window, side: int) -> str:
    """The slope on one side, with the digits that are certain."""
    number = window.value + side * window.gap / 2
    size = abs(window.gap) * SETTLED
    return format_number(0.0 if abs(number) < size else number, 4)
