"""All real zeros of a function of one number: exactly those of a quotient of polynomials, else those of a search.

A factor e**p(x) with a polynomial p is never 0, and derivatives have it as well: it is set aside.

A polynomial has the decimal numbers that its coefficients print as, so that x**2 - 0.2*x + 0.01 has a double zero. Its
zeros are separated by Sturm's chain in whole numbers, and are rounded correctly. Of any other function, cells of an
interval are halved until a cubic through their ends, with the slopes there, tells the middle; a zero is then a change
of sign, or an extremum at which rounding hides the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import gcd, inf, isfinite, lcm, ulp
from typing import Any, NamedTuple

from agrad.engine.core.dispatch import compute
from agrad.engine.errors import AgradError
from agrad.engine.ops.solvers.function import Evaluated, jacobian_of
from agrad.engine.ops.solvers.implicit import Found, Problem, is_settled, newton, told
from agrad.engine.program.ir import Program
from agrad.engine.program.scan import Body
from agrad.engine.values import Array, format_number, np

_DEGREE = 60  # of a polynomial whose zeros are found exactly
_DIGITS = 15  # of a coefficient that was typed; one with more was computed, and is rounded
_CELLS = 1024  # of an interval, before they are halved
_DEPTH = 14  # how often a cell is halved where the function bends
_BORDER = 60  # where it ends
_CALLS = 100_000  # of the function
_NOISE = 16 * 2.0**-52  # beside the largest number from which a value is computed
NEAR, FAR = 10, 1_000_000  # how far from 0 is searched where no interval is given; if there is nothing, then coarsely
_SEARCHED = "a {1}search in -{0}..{0} alone"


class Zeros(NamedTuple):
    """Zeros in order, which of them are no simple ones, and how they were found, in words.

    `broken`: where a search has seen the sign change without a zero, as at a jump or a pole; of a quotient, its poles.
    """

    places: list[float]
    repeated: list[bool]
    how: str
    is_sure: bool = False  # whether there are no others
    is_all: bool = False  # whether each number is one
    broken: Sequence[float] = ()


def zeros_of(body: Body, same: Array, ends: Sequence[float], unit: Any = None) -> Zeros:
    """The zeros between two ends, or without any on the whole line. Raises AgradError of kind `domain`."""
    low, high = ends or (-inf, inf)
    where = f" in {'..'.join(told(np.array([end]), unit) for end in ends)}" if ends else ""
    fraction = _fraction(body.numbers, same.tolist()) if body.numbers is not None else None
    if fraction is not None and len(fraction.above) - 1 <= _DEGREE:
        exact = [zero for zero in _of_fraction(fraction) if low <= zero[0] <= high]
        degree = len(fraction.above) - 1
        kind = "polynomial" if len(fraction.below) == 1 else "quotient of polynomials, its numerator"
        kind += ", the factor of a power of e," * bool(fraction.power)
        how = f"every real root{where} of a {kind} of degree {max(degree, 0)}"
        turned = fraction._replace(above=fraction.below, below=fraction.above or [Fraction(1)])
        broken = [x for x, _ in _of_fraction(turned) if low <= x <= high]
        return Zeros([x for x, _ in exact], [many for _, many in exact], how, True, degree < 0, broken)
    search = Search(body, same)
    if ends:
        places = np.linspace(low, high, _CELLS + 1).tolist()
        return search.zeros(places, f"a search{where} for changes of sign and touching zeros")
    found = search.zeros(np.linspace(-NEAR, NEAR, _CELLS + 1).tolist(), _SEARCHED.format(NEAR, ""))
    if found.places:
        return found
    wide = (np.sinh(np.linspace(-1.0, 1.0, 2 * _CELLS + 1) * np.arcsinh(FAR))).tolist()
    search.depth = 1
    return search.zeros(wide, _SEARCHED.format(FAR, "coarse "))


# Polynomials: their coefficients, whole numbers, that of the lowest power first; none of them is 0 at the end


Coefficients = list[int]


class _Fraction(NamedTuple):
    """A quotient of two polynomials with rational coefficients, times e to the power of a polynomial, which is not 0.

    `rounded`: whether a coefficient was computed.
    """

    above: list[Fraction]
    below: list[Fraction]
    rounded: bool
    power: tuple[Fraction, ...] = ()


def _fraction(program: Program, same: Sequence[float]) -> _Fraction | None:
    """What a program of one number computes, of which `same` are the other inputs; None if it is no such quotient."""
    slots: list[float | _Fraction] = [_Fraction([Fraction(0), Fraction(1)], [Fraction(1)], False), *same]
    slots += [float(x) for x in program.constants]
    for step in program.steps:
        operands = [slots[x] for x in step.operands]
        if not any(isinstance(x, _Fraction) for x in operands):
            slots.append(float(compute(step.op, tuple(operands), step.attrs)))  # type: ignore[arg-type]
            continue
        made = _combined(step.op.name, operands)
        if made is None:
            return None
        slots.append(made)
    return _of_number(slots[program.outputs[0]])


def _of_number(x: float | _Fraction) -> _Fraction | None:
    if isinstance(x, _Fraction):
        return x
    if not isfinite(x):
        return None
    digits = len(Decimal(repr(x)).normalize().as_tuple().digits)
    return _Fraction(_stripped([Fraction(repr(x))]), [Fraction(1)], digits > _DIGITS)


def _combined(name: str, operands: Sequence[float | _Fraction]) -> _Fraction | None:
    """The result of an operation, if it is a quotient of polynomials."""
    if name == "pow":
        base, power = operands
        if isinstance(power, _Fraction) or not float(power).is_integer() or abs(power) > _DEGREE:
            return None
        x, made = _of_number(base), _of_number(1.0)
        for _ in range(abs(int(power))):
            made = made and x and _product(made, x)
        return made if made is None or power >= 0 else _combined("reciprocal", [made])
    known = [one for one in map(_of_number, operands) if one is not None]
    if len(known) < len(operands):
        return None
    x, y = known[0], known[-1]
    match name:
        case "neg":
            return x._replace(above=[-c for c in x.above])
        case "exp" if len(x.below) == 1 and not x.power:
            return _Fraction([Fraction(1)], [Fraction(1)], x.rounded, tuple([c / x.below[0] for c in x.above]))
        case "square":
            return _product(x, x)
        case "mul":
            return _product(x, y)
        case "reciprocal" | "div":
            turned = y._replace(above=y.below, below=y.above, power=tuple([-c for c in y.power]))
            return None if not y.above else turned if name == "reciprocal" else _product(x, turned)
        case "add" | "sub" if not x.above or not y.above or x.power == y.power:
            sign, factor = 1 if name == "add" else -1, x.power if x.above else y.power
            above = _sum(_times(x.above, y.below), _times(y.above, x.below), sign)
            return _Fraction(above, _times(x.below, y.below), x.rounded or y.rounded, factor)
    return None


def _product(x: _Fraction, y: _Fraction) -> _Fraction | None:
    power = tuple(_sum(x.power, y.power, 1))
    made = _Fraction(_times(x.above, y.above), _times(x.below, y.below), x.rounded or y.rounded, power)
    return made if len(made.above) + len(made.below) <= 4 * _DEGREE else None


def _times(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    found = [0 * a[0] * b[0]] * (len(a) + len(b) - 1) if a and b else []
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] += x * y
    return found


def _sum(a: Sequence[Fraction], b: Sequence[Fraction], sign: int) -> list[Fraction]:
    size = max(len(a), len(b))
    pairs = zip(*([*x, *[Fraction(0)] * (size - len(x))] for x in (a, b)), strict=True)
    return _stripped([x + sign * y for x, y in pairs])


def _stripped(p: list[Any]) -> list[Any]:
    while p and not p[-1]:
        p.pop()
    return p


def _primitive(p: Sequence[Any]) -> Coefficients:
    """The whole numbers without a common divisor that are a positive multiple."""
    scale = lcm(*[Fraction(c).denominator for c in p])
    whole = [int(c * scale) for c in p]
    divisor = gcd(*whole) or 1
    return [c // divisor for c in whole]


def _rest(a: Sequence[int], b: Sequence[int]) -> tuple[Coefficients, Coefficients]:
    """The quotient and the rest of a positive multiple of a divided by b, both primitive."""
    rest, sign, quotient = list(a), 1 if b[-1] > 0 else -1, [0] * max(len(a) - len(b) + 1, 1)
    while len(rest) >= len(b):
        shift, factor = len(rest) - len(b), rest[-1] * sign
        scale = abs(b[-1])
        rest, quotient = [scale * c for c in rest], [scale * c for c in quotient]
        quotient[shift] += factor
        for place, c in enumerate(b):
            rest[place + shift] -= factor * c
        _stripped(rest)
    return _primitive(_stripped(quotient)), _primitive(rest)


def _common(a: Coefficients, b: Coefficients) -> Coefficients:
    """The greatest common divisor."""
    while b:
        a, b = b, _rest(a, b)[1]
    return a


def _simple(p: Coefficients) -> Coefficients:
    """The polynomial with the same zeros, each a simple one."""
    return _rest(p, _common(p, _slope(p)))[0]


def _slope(p: Sequence[int]) -> Coefficients:
    return [place * c for place, c in enumerate(p)][1:]


def _of_fraction(fraction: _Fraction) -> list[tuple[float, bool]]:
    """The real zeros, each with whether it is a repeated one."""
    p, poles = _primitive(fraction.above), _primitive(fraction.below)
    if len(p) < 2:
        return []
    common = _common(p, _slope(p))
    whole = _rest(p, common)[0]
    while len(both := _common(whole, poles)) > 1:
        whole = _rest(whole, both)[0]
    chain = _chain(_simple(common)) if len(common) > 1 else []
    found = [(x, bool(chain) and _changes(chain, low) != _changes(chain, high)) for x, low, high in _separated(whole)]
    if fraction.rounded:  # so that what the polynomials have in common is rounded as well
        found = [zero for zero in _merged(p, found) if not _is_hidden(poles, Fraction(zero[0]))]
    return found


def _is_hidden(p: Coefficients, x: Fraction) -> bool:
    """Whether a polynomial is so small at a place that rounded coefficients hide whether it is 0."""
    return abs(_at(p, x)) <= Fraction(_NOISE) * sum(abs(c * x**k) for k, c in enumerate(p))


def _merged(p: Coefficients, found: list[tuple[float, bool]]) -> list[tuple[float, bool]]:
    """The zeros of a polynomial with rounded coefficients: where these hide it between two, there is a double one."""
    slope = _slope(p)
    for x, _, _ in _separated(_simple(slope)) if len(slope) > 1 else ():
        exact = Fraction(x)
        value = _at(p, exact)
        if value and _is_hidden(p, exact):
            before, after = ([zero for zero in found if sign * zero[0] < sign * x] for sign in (1, -1))
            if value * _at(_slope(slope), exact) < 0:  # the zeros on both sides are this one
                before, after = before[:-1], after[1:]
            found = [*before, (x, True), *after]
    return found


def _at(p: Sequence[int], x: Fraction) -> Fraction:
    found = Fraction(0)
    for c in reversed(p):
        found = found * x + c
    return found


def _sign(p: Sequence[int], x: Fraction) -> int:
    above, below, found, power = x.numerator, x.denominator, 0, 1
    for c in reversed(p):
        found, power = found * above + c * power, power * below
    return (found > 0) - (found < 0)


def _chain(p: Coefficients) -> list[Coefficients]:
    """Sturm's chain."""
    chain = [p, _primitive(_slope(p))]
    while rest := _rest(chain[-2], chain[-1])[1]:
        chain.append([-c for c in rest])
    return chain


def _changes(chain: Sequence[Coefficients], x: Fraction) -> int:
    """The changes of sign in the chain at a place; between two places, as many fewer as there are zeros."""
    signs = [sign for p in chain if (sign := _sign(p, x))]
    return sum(a != b for a, b in pairwise(signs))


def _separated(p: Coefficients) -> list[tuple[float, Fraction, Fraction]]:
    """The zeros of a polynomial, rounded, each with two places, a < x <= b, between which it is the only one."""
    if len(p) < 2:
        return []
    chain = _chain(_primitive(p))
    bound = Fraction(2) ** int(1 + max(abs(c) for c in p[:-1]) // abs(p[-1])).bit_length()
    found, waiting = [], [(-bound, bound, _changes(chain, -bound), _changes(chain, bound))]
    while waiting:
        low, high, before, after = waiting.pop()
        if before - after == 1:
            found.append((_narrowed(p, low, high), low, high))
        elif before > after:
            middle = (low + high) / 2
            there = _changes(chain, middle)
            waiting += [(middle, high, there, after), (low, middle, before, there)]
    return found


def _narrowed(p: Coefficients, low: Fraction, high: Fraction) -> float:
    """The only zero with low < x <= high, of a polynomial where it is a simple one."""
    above = _sign(p, high)
    if not above:
        return float(high)
    while float(low) != float(high):
        middle = (low + high) / 2
        sign = _sign(p, middle)
        if not sign:
            return float(middle)
        low, high = (low, middle) if sign == above else (middle, high)
    return float(low)


# Other functions


class Search:
    """A search for the zeros of a function of one number."""

    def __init__(self, body: Body, same: Array) -> None:
        self._f, self._slope, self.same = Evaluated(body, same, ()), Evaluated(jacobian_of(body), same, ()), same
        self.program, self.depth = body.numbers, _DEPTH
        self.found: dict[float, bool] = {}
        self.broken: list[float] = []

    def f(self, x: float) -> float:
        """The function."""
        return float(self._f([x]))

    def slope(self, x: float) -> float:
        """Its derivative."""
        return float(self._slope([x]))

    def noise(self, x: float, size: float) -> float:
        """How far rounding may move a value of the function, at least where the numbers in it are known."""
        numbers: Any = [size] if self.program is None else self.program.computed([x, *self.same.tolist()])
        return _NOISE * max((abs(x) for x in map(float, numbers) if isfinite(x)), default=0.0)

    def zeros(self, places: Sequence[float], how: str) -> Zeros:
        """The zeros between places, in order."""
        self.found, self.broken = {}, []
        is_cut = False
        with np.errstate(all="ignore"):
            points = [(x, self.f(x), self.slope(x)) for x in places]
            for a, b in pairwise(points):
                waiting = [(a, b, 0)]
                while waiting and not is_cut:
                    is_cut = self._f.calls > _CALLS
                    waiting += self._halves(*waiting.pop())
        if is_cut:
            message = "solve: the function bends, or ends, too often here to find all roots"
            raise AgradError("domain", message)
        order = sorted(self.found)
        kept = [x for x, before in zip(order, [-inf, *order], strict=False) if x - before > 8 * ulp(x)]
        return Zeros(kept, [self.found[x] for x in kept], how, broken=self.broken)

    def _halves(self, a: _Place, b: _Place, depth: int) -> list[tuple[_Place, _Place, int]]:
        """Halves of a cell that have to be looked at by themselves; none where the cell itself tells what is in it."""
        (low, f0, d0), (high, f1, d1) = a, b
        middle = low + (high - low) / 2
        if not low < middle < high:
            return []
        ends = isfinite(f0), isfinite(f1)
        c = middle, self.f(middle), self.slope(middle)
        halves = [(a, c, depth + 1), (c, b, depth + 1)]
        if not all(ends):
            if not any(ends):
                return halves if depth < 2 or (isfinite(c[1]) and depth < _BORDER) else []
            here, other = (a, high) if ends[0] else (b, low)
            if here[1] == 0.0:
                self._zero_at(here, other)
            return halves if depth < _BORDER else []
        size = max(abs(f0), abs(f1), abs(c[1]))
        if not size and depth > self.depth:  # beside a place without a value
            return []
        if not size:
            raise AgradError("domain", f"solve: the function is 0 all the way near {format_number(low, 6)}")
        guess = (f0 + f1) / 2 + (high - low) * (d0 - d1) / 8
        is_told = abs(c[1] - guess) <= 0.2 * min(abs(f0), abs(f1), abs(c[1]))
        way = f1 - f0  # from one sign to the other, it goes one way; else, it turns once at most
        slopes = d0, c[2], d1
        if _are_opposite(f0, f1) or not (f0 and f1):
            turns = any(_are_opposite(d, way) or not d for d in slopes) or not way
        else:
            turns = all(_are_opposite(d, c[2]) for d in (d0, d1))
        if depth < self.depth and (turns or not is_told):
            return halves
        near = 1e-6 * size
        if abs(f0) <= near and self._zero_at(a, high):
            a = self._inside(a, high)
        if abs(f1) <= near and self._zero_at(b, low):
            b = self._inside(b, low)
        is_middle = abs(c[1]) <= near and self._zero_at(c, high)
        for one, next_one in pairwise((a, b) if is_middle else (a, c, b)):
            self._between(one, next_one)
        return []

    def _inside(self, a: _Place, other: float) -> _Place:
        """A place beside a zero at the end of a cell."""
        x = a[0] + (other - a[0]) * 1e-3
        return x, self.f(x), self.slope(x)

    def _zero_at(self, a: _Place, other: float) -> bool:
        """Whether there is a zero at the end of a cell."""
        x, f, slope = a
        beside = self._inside(a, other)
        if f != 0.0 and not abs(f) <= min(1e-9 * abs(beside[1]), self.noise(x, abs(beside[1]))):
            return False
        self.found[x] = not isfinite(slope) or not abs(slope * (beside[0] - x)) > 0.1 * abs(beside[1])
        return True

    def _between(self, a: _Place, b: _Place) -> None:
        """Take the zeros between two places where the function does what a cubic would."""
        (low, f0, d0), (high, f1, d1) = a, b
        if _are_opposite(f0, f1):
            self._crossing(a, b)
        elif _are_opposite(f0, d0) and (f1 < 0.0 > d1 or f1 > 0.0 < d1):  # it comes nearer to 0, and goes away again
            x = _bisected(self.slope, low, high)
            f = self.f(x)
            if abs(f) <= min(self.noise(end, max(abs(f0), abs(f1))) for end in (low, high)):
                self.found[x] = True
            elif _are_opposite(f, f0):
                self._crossing(a, (x, f, 0.0))
                self._crossing((x, f, 0.0), b)

    def _crossing(self, a: _Place, b: _Place) -> None:
        """Take the zero at which the function changes its sign, unless it jumps there."""
        (low, f0, d0), (high, f1, d1) = a, b
        x, way = _bisected(self.f, low, high), f1 - f0
        is_jump = all(_are_opposite(d, way) for d in (d0, d1))  # on both sides it goes away from the other one
        # Not what rounding hides at the place: beside a pole, numbers are large of which the value keeps little.
        hidden = 0.0 if is_jump else min(self.noise(low, 0.0), self.noise(high, 0.0))
        if abs(self.f(x)) <= max(1e-6 * max(abs(f0), abs(f1)), hidden):
            self.found[x] = not abs(self.slope(x)) > 1e-6 * abs((f1 - f0) / (high - low))
        else:
            self.broken.append(x)


_Place = tuple[float, float, float]  # a number, the function there, and its slope


def _are_opposite(x: float, y: float) -> bool:
    """Whether one is below 0 and one above: their product may be 0 by underflow."""
    return x < 0.0 < y or y < 0.0 < x


def _bisected(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign between two numbers: of the two nearest, the one where it is smaller."""
    before, after = f(low), f(high)
    while low < (middle := low + (high - low) / 2) < high:
        value = f(middle)
        if value == 0.0:
            return middle
        if (value < 0.0) == (before < 0.0):
            low, before = middle, value
        else:
            high, after = middle, value
    return low if abs(before) < abs(after) else high


# One of several zeros, as a value of the graph


class Root(Problem):
    """One of all zeros, between two ends if there are any.

    Where what the function uses changes, it is the one that Newton's method comes to from it, or else the next to it.
    """

    def __init__(self, residual: Body, start: float, is_repeated: bool, within: Sequence[float] = ()) -> None:
        super().__init__(residual, np.array([start]), "solve")
        self.is_repeated, self.within = is_repeated, within

    def _refused(self, what: str) -> AgradError:
        place = format_number(float(self.start[0]), 6)
        return AgradError("domain", f"solve: {place} is no simple root, so that it {what}")

    def find(self, same: Array) -> Found:
        """The zero; the first time, as it was found."""
        f = Evaluated(self.residual, same)
        with np.errstate(all="ignore"):
            if self.last is None:
                return Found(self.start, float(np.max(np.abs(f(self.start)))), 0)
            if self.is_repeated:
                raise self._refused("may be two or none when the equation changes")
            x, step = newton(f, self.matrix(same), self.last.x)
            low, high = self.within or (-inf, inf)
            if not np.isfinite([x, f(x)]).all() or not is_settled(step, x, self.start) or not low <= x[0] <= high:
                x = self._nearest(same, float(self.last.x[0]))
            return Found(x, float(np.max(np.abs(f(x)))), 0)

    def _nearest(self, same: Array, before: float) -> Array:
        """The simple zero that is the nearest to where it was."""
        found = zeros_of(self.residual, same, self.within)
        simple = [x for x, is_repeated in zip(found.places, found.repeated, strict=True) if not is_repeated]
        if not simple:
            raise AgradError("domain", f"solve: there is no simple root near {format_number(before, 6)} any more")
        return np.array([min(simple, key=lambda x: abs(x - before))])

    def pulled(self, g: Any, x: Any, same: Any) -> Any:
        """As of any zero; AgradError of kind `domain` for one that is no simple one."""
        if self.is_repeated:
            raise self._refused("has no derivative")
        return super().pulled(g, x, same)
