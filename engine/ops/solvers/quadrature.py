"""Integrals of a function of one number, as numbers.

Adaptive Gauss-Kronrod rules with extrapolation (QUADPACK; Piessens and others, 1983) in parts of the range: one that is
infinite, or has more in it than the rules have seen, is divided from its ends, and from where the function is found to
be large, at distances that are powers of 10. Tails that oscillate are divided at their zeros, and their sums averaged
(Euler's transformation; Davis and Rabinowitz, Methods of Numerical Integration, 1984, sections 3.9 and 4.9). Tails
with ripples that do not change their sign, as sin(x)**2/x**2, are divided at these, and their sums extrapolated (Levin,
International Journal of Computer Mathematics B 3, 1973: the u transformation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from math import exp, inf, isfinite
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.values import Array, format_number, np

_INTERVALS = 400  # of a part
_CLOSE = 1e-7  # of the integral of the absolute value: an error estimate above that is none
_BESIDE = 10.0 ** np.arange(-8.0, 0.0)  # of a range: places at both ends, with what was integrated compared
_DENSITIES = ((4, 30), (64, 30), (1024, 8))  # places in a power of 10, and powers, until the function is not 0
_ALONE = 30.0  # times as much as at the places beside it: a peak between them
_PEAKS, _CLIMBS = 8, 16
_ROUNDING = 1.1e-16
_FARTHEST = 650.0  # of which an exponential is still a number
_FAR = 8  # places, two powers of 10
_CHANGES = 6  # of sign, from which on a tail oscillates
_TERMS, _FIRST = 48, 16  # of such a tail; those that are not averaged
_RIPPLES, _ORDERS = 24, range(4, 22)  # of a tail that does not change its sign; orders of the extrapolation
_LEAST_POWER = 1.1  # of the distance, with which such a tail falls: those that fall like 1/x diverge


class Area(NamedTuple):
    """An integral, the error, and whether the function was seen to be other than 0."""

    value: float
    error: float
    is_seen: bool = True


class Quadrature:
    """The integral of a function.

    `is_mean`: that of a derivative, which may be a mean over the upper end, as those of oscillating tails are. It is
    where the function itself was found.
    `away`: what the number is beside the places that were typed, where it is none, such as " from an end".
    """

    def __init__(self, f: Callable[[float], float], is_mean: bool, away: str = "") -> None:
        self.raw, self.is_mean, self.away = f, is_mean, away
        self.quad = extra("scipy.integrate", "integral", "SciPy", "science").quad
        self.range, self.reached, self.noise = "", 0.0, 0.0

    def f(self, x: float) -> float:
        """The function. Raises AgradError where it is not finite: QUADPACK would go on, or end the process."""
        if not isfinite(y := self.raw(x)):
            where = format_number(x, 6) + self.away
            fixes = [Hint(f"integral(f, a, b, at={where})   if it is finite beside it")]
            if self.is_mean or self.away:
                fixes = [Hint("integral(f, a, b, at=c)   of the place c there, as it is computed from what changes")]
            what = "the derivative of the function" if self.is_mean else "the function"
            raise AgradError("domain", f"integral: {what} is {format_number(y)} at {where}", fixes=fixes)
        return y

    def over(self, low: float, high: float, at: Sequence[float], near: set[float]) -> Area:
        """The integral. Raises AgradError of kind `domain` where there is none."""
        self.range = "" if self.away else f" over {format_number(low)}..{format_number(high)}"
        found = []
        for a, b in pairwise([low, *sorted({x for x in at if low < x < high}), high]):
            inside = {x for x in near if a < x < b}
            try:
                area = self._part(self.f, a, b) if isfinite(b - a) and not inside else None
                if area is None or not self._is_all(area.value, a, b):
                    area = self._sought(a, b, inside)
                    near |= inside  # where its derivatives are looked for
            except AgradError:
                area = self._rounded(a, b)
                if area is None:
                    raise
            found.append(area)
        return _added(found)

    def _rounded(self, a: float, b: float) -> Area | None:
        """The integral of what is rounded more and more towards an end, as of sqrt(cos(t) - cos(a)); None where none.

        As far as it is known, which is what rounding changes: the rules come no nearer. Also where all of it cancels.
        """
        if not self.is_mean or not isfinite(b - a):
            return None
        with suppress(AgradError):
            self.noise = max(self._noise(a, b - a), self._noise(b, a - b))
            return self._part(self.f, a, b)
        return None

    def _noise(self, end: float, length: float) -> float:
        """What rounding changes in the integral, at the distance from an end at which that is most."""
        places = end + length * np.outer(_BESIDE, 1.0 + 1e-5 * np.arange(12.0))
        values = np.array([[*map(self.raw, row)] for row in places.tolist()])
        found = np.median(np.abs(np.diff(values, 2)), axis=1) * abs(length * _BESIDE)
        return float(np.max(found, where=np.isfinite(found), initial=0.0))

    def _is_all(self, value: float, a: float, b: float) -> bool:
        """Whether a few places near the ends of a range have no more in them than was found in all of it."""
        steps = (b - a) * _BESIDE
        return value != 0.0 and max(self._sizes(a, steps).max(), self._sizes(b, -steps).max()) <= 4.0 * abs(value)

    def _sizes(self, end: float, steps: Array) -> Array:
        """About what there is at some distances from a place: 0 where the function is not finite."""
        found = np.abs([self.raw(end + u) * u for u in steps.tolist()])
        return np.where(np.isfinite(found), found, 0.0)

    def _looked_at(self, end: float, sign: float, length: float, times: int = 1) -> tuple[Array, Array]:
        """Distances from a place, and what there is at each; so many times until it is not 0 at one of them."""
        for density, powers in _DENSITIES[:times]:
            steps = length * 10.0 ** (-(np.arange(15.0 * density, 0.0, -1.0) - 0.5) / density)
            if length == inf:
                steps = 10.0 ** np.linspace(-powers, powers, 2 * powers * density + 1)
            sizes = self._sizes(end, sign * steps)
            if sizes.any():
                break
        return steps, sizes

    def _sought(self, a: float, b: float, near: set[float]) -> Area:
        """That of a range in which the function is looked for: places where it is large are added to those near it."""
        ends = {x for x in (a, b) if isfinite(x)}
        for end in sorted(ends | near or {0.0}):
            for sign, length in ((1.0, b - end), (-1.0, end - a)):
                if length > 0.0:
                    near |= self._peaks(end, sign, length)
        places, found = sorted(ends | near or {0.0}), []
        middles = [(x + y) / 2 for x, y in pairwise(places)]
        for place, low, high in zip(places, [a, *middles], [*middles, b], strict=True):
            for sign, length in ((1.0, high - place), (-1.0, place - low)):
                if length > 0.0:
                    found.append(self._outward(place, sign, length, place in near))
        return _added(found)

    def _peaks(self, end: float, sign: float, length: float) -> set[float]:
        """Places in whose neighbourhood the function is much larger than beside it."""
        steps, sizes = self._looked_at(end, sign, length, 1 if self.is_mean else len(_DENSITIES))
        if length == inf and self._first_change(end, sign, steps, sizes) is not None:
            return set()
        beside = np.maximum(np.append(sizes[1:], inf), np.insert(sizes[:-1], 0, inf))
        found = set()
        for k in [k for k in np.argsort(-sizes)[:_PEAKS].tolist() if sizes[k] > _ALONE * beside[k]]:
            place, width = steps[k], steps[k + 1] - steps[k - 1]
            for _ in range(_CLIMBS):
                among = place + width * np.linspace(-1.0, 1.0, 17)
                among = among[(among > 0.0) & (among < length)]
                place, width = among[np.argmax(self._sizes(end, sign * among))], width / 6
            found.add(end + sign * float(place))
        return found

    def _outward(self, end: float, sign: float, length: float, is_deep: bool = False) -> Area:
        """That from a place outward, in parts whose ends are powers of 10 beside the distance from which most comes.

        `is_deep`: also in all those nearer to the place.
        """
        steps, sizes = self._looked_at(end, sign, length)
        if not sizes.any():
            return Area(0.0, 0.0, False)

        def g(u: float) -> float:
            return self.f(end + sign * u)

        change = self._first_change(end, sign, steps, sizes) if length == inf else None
        if change is not None:
            return self._alternating(g, change, lambda u: self._outward(end, sign, u))
        top, scale = float(steps[np.argmax(sizes)]), float(sizes.max())
        places = top * 10.0 ** np.arange(-15.0 if is_deep else -1.0, 4.0)
        ends = places[places < length].tolist() or [length]
        parts = [self._part(g, 0.0, ends[0], scale) or self._logarithmic(end, sign * ends[0])]
        try:
            parts += [self._sure(g, *pair, scale) for pair in pairwise(ends)]
            if length == inf:
                parts.append(self._sure(lambda x: g(ends[-1] * x) * ends[-1], 1.0, inf, scale))
            elif ends[-1] < length:
                parts.append(self._sure(g, ends[-1], length, scale))
        except AgradError:
            rippled = self._rippled(g, top, lambda u: self._outward(end, sign, u)) if length == inf else None
            if rippled is None:
                raise
            return rippled
        rounded = _ROUNDING * max(abs(end) / top, 1.0) * scale  # of places, of which that is the error
        return _added([*parts, Area(0.0, rounded)])

    def _logarithmic(self, end: float, length: float) -> Area:
        """That from an end with logarithms, the distance from which is an exponential."""
        diverges = self._diverges(self.reached)

        def there(x: float) -> float:
            y = float(self.raw(end + length * exp(-x)) * abs(length) * exp(-x))
            if not isfinite(y):
                raise diverges
            return y

        found = self._part(there, 0.0, _FARTHEST)
        if found is None or not abs(there(_FARTHEST)) * _FARTHEST <= 1e-10 * abs(found.value):
            raise diverges
        return found

    def _first_change(self, end: float, sign: float, steps: Array, sizes: Array) -> tuple[float, float] | None:
        """Between which distances a tail first changes its sign, if it oscillates: not only by how it is rounded."""
        beyond = np.append(sizes, np.zeros(_FAR))[_FAR:]  # noise is much smaller than what is a little farther out
        is_large = sizes > 1e-10 * np.maximum.accumulate(beyond)
        signs = np.array([np.sign(self.raw(end + sign * u)) for u in steps[is_large].tolist()])
        (changes,) = np.nonzero(signs[1:] * signs[:-1] < 0.0)
        if len(changes) < _CHANGES:
            return None
        low, high = steps[is_large][[changes[0], changes[0] + 1]].tolist()
        return low, high

    def _alternating(self, g: Any, change: tuple[float, float], head: Callable[[float], Area]) -> Area:
        """That of a tail which oscillates: up to its first zero, and the mean of the sums up to the others."""
        zeros, step, here = list[float](), (change[1] - change[0]) / 16, change[0]
        brent = extra("scipy.optimize", "integral", "SciPy", "science").brentq
        while len(zeros) <= _TERMS:
            before, here, steps = g(here), here + step, 0
            while before * (value := g(here)) > 0.0 and steps < 1000:
                here, before, steps = here + step, value, steps + 1
            if steps == 1000:
                raise self._diverges(inf)
            zeros.append(brent(g, here - step, here, xtol=1e-300, maxiter=1000))  # slow where it also has no slope
            step = (zeros[-1] - zeros[-2]) / 8 if len(zeros) > 1 else step
            here = zeros[-1] + step / 8
        parts = [head(zeros[0]), *[self._sure(g, *pair) for pair in pairwise(zeros)]]
        sums = np.cumsum([part.value for part in parts])
        means, size = sums[_FIRST:], float(np.max(np.abs(sums)))
        while len(means) > 2:
            means = (means[1:] + means[:-1]) / 2
        error = abs(float(means[1] - means[0])) + 1e-15 * size
        is_falling = abs(parts[-1].value) < 0.97 * abs(parts[_TERMS // 2].value)
        if not (is_falling or self.is_mean) or not error <= _CLOSE * size:
            raise self._diverges(float(sums[-1]))
        return Area(float(np.mean(means)), error)

    def _rippled(self, g: Any, top: float, head: Callable[[float], Area]) -> Area | None:
        """That of a tail with ripples above 0, or below: up to the first, and the limit of the sums up to the others.

        None where there are no ripples.
        """
        steps = top * 10.0 ** np.arange(-4.0, 4.0, 0.25)
        step = next((step for step in steps.tolist() if _has_ripples(g, top, step)), None)
        if step is None:
            return None
        bottoms = self._bottoms(g, top, step)
        parts = [self._sure(g, *pair) for pair in pairwise(bottoms)]
        terms, first = np.array([part.value for part in parts]), head(bottoms[0])
        sizes = np.abs(terms) / np.diff(bottoms)
        half = len(parts) // 2
        power = np.log(sizes[half] / sizes[-1]) / np.log(bottoms[-2] / bottoms[half])
        limits = np.array([_levin(terms, order, bottoms[0] / (bottoms[1] - bottoms[0])) for order in _ORDERS])
        changes = np.abs(np.diff(limits))
        best = int(np.argmin(changes[1:] + changes[:-1])) + 1
        error = float(changes[best] + changes[best - 1]) + 1e-14 * abs(first.value)
        if not power > _LEAST_POWER or not error <= _CLOSE * abs(first.value + limits[best]):
            raise self._diverges(first.value + float(np.sum(terms)))
        return _added([first, Area(float(limits[best]), error)])

    def _bottoms(self, g: Any, top: float, step: float) -> list[float]:
        """The places of bottoms of ripples, about as far from each other as the first is from 0; a step is short."""
        brent = extra("scipy.optimize", "integral", "SciPy", "science").brentq
        found, here = list[float](), top + step

        def rise(u: float) -> float:  # which, other than the slope, is known to all digits
            return float(g(u + step) - g(u - step))

        for _ in range(1000):  # the first two, one after the other
            if rise(here) < 0.0 <= rise(here + step):
                found.append(brent(rise, here, here + step, xtol=1e-300, maxiter=1000))
            if len(found) == 2:
                break
            here += step
        else:
            raise self._diverges(inf)
        first, period = found[0], found[1] - found[0]
        among = max(round(first / period), 1)  # ripples to the next
        found = [first]
        while len(found) <= _RIPPLES:
            low, high = (found[-1] + (among + part) * period for part in (-0.3, 0.3))
            if not rise(low) < 0.0 < rise(high):
                raise self._diverges(inf)
            found.append(brent(rise, low, high, xtol=1e-300, maxiter=1000))
            period = (found[-1] - found[-2]) / among
        return found

    def _sure(self, f: Any, low: float, high: float, scale: float = 0.0) -> Area:
        found = self._part(f, low, high, scale)
        if found is None:
            raise self._diverges(self.reached)
        return found

    def _part(self, f: Any, low: float, high: float, scale: float = 0.0) -> Area | None:
        """That of a part of something that is about as large as `scale`; None where it is not found."""
        given = {
            "a": low,
            "b": high,
            "epsabs": max(1e-14 * scale, self.noise, 1e-300),
            "limit": _INTERVALS,
            "full_output": True,
        }
        value, error, details, *problem = self.quad(f, epsrel=1e-11, **given)
        self.reached = _sum(details)
        if isfinite(value) and max(error, abs(self.reached - value)) <= max(1e-9 * max(abs(value), scale), self.noise):
            return Area(value, error)
        # QUADPACK extrapolates the sums over smaller and smaller intervals, also those that diverge: of 1/x**2 from 0
        # to 1 to -1. The sums of a positive function grow towards its integral, and are not above it.
        size, _, of_size, *wrong = self.quad(lambda x: abs(f(x)), epsrel=1e-3, **given)
        has_signs = abs(value) < 0.99 * size
        is_close = isfinite(value) and (not problem or (error <= _CLOSE * size and not has_signs))
        return Area(value, error) if is_close and not wrong and _sum(of_size) <= 1.01 * size else None

    def _diverges(self, reached: float) -> AgradError:
        message = f"integral: the integral{self.range} diverges, or converges too slowly"
        notes = [f"the sums over smaller and smaller intervals reach {format_number(reached, 3)}"]
        return AgradError("domain", message, notes=notes)


def _has_ripples(g: Any, start: float, step: float) -> bool:
    """Whether a function has bottoms, each some steps from the others, in some more."""
    values = np.array([g(start + step * place) for place in range(128)])
    inside = values[1:-1]
    (bottoms,) = np.nonzero((inside < values[:-2]) & (inside < values[2:]))
    return len(bottoms) >= _CHANGES and bool(np.min(np.diff(bottoms)) >= 8)


def _levin(terms: Array, order: int, first: float) -> float:
    """The limit of the sums of terms, by so many of them and Levin's u transformation; `first`: the place of the first,
    beside the distances between them.
    """
    places = np.arange(order + 1.0)
    sums = np.cumsum(terms)[: order + 1]
    signs = extra("scipy.special", "integral", "SciPy", "science").binom(order, places) * (-1.0) ** places
    weights = signs * ((places + first) / (order + first)) ** (order - 2.0) / terms[: order + 1]
    return float(weights @ sums / np.sum(weights))


def _added(parts: Sequence[Area]) -> Area:
    return Area(sum(x.value for x in parts), sum(x.error for x in parts), any(x.is_seen for x in parts))


def _sum(details: dict[str, Any]) -> float:
    """The sum over the intervals, without extrapolation."""
    return float(np.sum(details["rlist"][: details["last"]]))
