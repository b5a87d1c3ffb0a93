"""`check`: whether derivatives are correct. This is loaded when it is first called."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from agrad.engine import units
from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.arguments import number_of
from agrad.engine.core.context import current, next_stamp, taken_back
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, Units, collect, reachable, touch
from agrad.engine.core.graph_errors import MissingLeaf
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.core.versions import check_walkable
from agrad.engine.errors import AgradError, Hint, NotOneNumber
from agrad.engine.struct import Struct
from agrad.engine.text import Grid, in_lines
from agrad.engine.units.unit import Unit
from agrad.engine.values import Value, coerce, describe, format_number, format_shape, is_finite, np, spread


def check(f: Callable[..., Any], *points: Any, claim: Any = None) -> Report:
    """The exact derivatives of f at a point, compared with central differences, for every entry of every argument.

    The points are numbers or arrays, one for each argument; f must return one number. `claim` is another derivative
    to be checked as well: in the shape of the point, a tuple for several points (None where nothing is claimed), or
    a function of the points that gives this. The verdict on an entry is

    * `kink` if there is no derivative for differences to find: the value is not finite, there or on one side, or the
      differences on the right and on the left do not agree (to 1e-4) as the step shrinks; and where
      the exact derivative is inf or nan, if an intermediate value or slope is so too;
    * else `ok` if the difference, and the claim if there is one, are within 1e-7*max(|exact|, |difference|) + 4*doubt
      of the exact derivative, where the doubt bounds the error of the differences: the change by
      extrapolation, and the effect of rounding on them and on the exact derivative;
    * else `mismatch`.

    Each step is chosen for its entry, among all powers of 2 from a quarter of max(1, |x|) down to rounding. All other
    effects of f are undone.

    Raises AgradError: of kind `shape` if f gives an array, `type` if it gives something else, `arity` or `shape` for a
    claim that does not fit, and any error that f raises at the point itself.
    """
    leaves = [tensor(point, requires_grad=True) for point in points]
    for leaf, name in zip(leaves, _names(f, len(points)), strict=True):
        leaf.name = name
    return compare(lambda: f(*leaves), leaves, _claims(claim, points, leaves))


def _names(f: Callable[..., Any], count: int) -> Sequence[str]:
    """The names of the arguments of f; x, or x1, x2, … if they are unknown."""
    try:
        parameters = list(signature(f).parameters.values())[:count]
    except (TypeError, ValueError):
        parameters = []
    by_place = [p.name for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    if len(by_place) == count:
        return by_place
    return ["x"] if count == 1 else [f"x{number}" for number in range(1, count + 1)]


def _claims(claim: Any, points: Sequence[Any], leaves: Sequence[Tensor]) -> list[Tensor | None]:
    """The claim for each leaf."""
    if callable(claim):
        claim = claim(*points)
    claims = list(claim) if isinstance(claim, tuple) and len(leaves) != 1 else [claim]
    if claim is None:
        claims *= len(leaves)
    if len(claims) != len(leaves):
        raise AgradError("arity", f"{len(claims)} derivatives are claimed, for {len(leaves)} points")
    return [None if part is None else claimed(part, leaf) for part, leaf in zip(claims, leaves, strict=True)]


def claimed(claim: Any, leaf: Tensor) -> Tensor:
    """A claimed derivative in the shape of its leaf, with its unit; one number is the claim for every entry."""
    found = claim if isinstance(claim, Tensor) else tensor(coerce(claim))
    if found.shape not in ((), leaf.shape):
        shapes = f"{format_shape(found.shape)}, and {leaf.node.spell()} has {format_shape(leaf.shape)}"
        raise AgradError("shape", f"the claimed derivative has shape {shapes}: they must be the same")
    made = tensor(spread(found.value, leaf.shape))
    units.keep(found.node, made.node)
    return made


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    eps: Any = 1e-6,
    atol: Any = 1e-5,
    rtol: Any = 1e-3,
    raise_exception: Any = True,
) -> bool:
    """Whether the derivatives of a function agree with differences, within atol + rtol*|difference|, at some inputs.

    The steps are chosen for each entry, so that `eps` has no effect. Raises AgradError of kind `grad` if they do not,
    unless `raise_exception` is false.
    """
    points = list(inputs) if isinstance(inputs, tuple | list) else [inputs]
    absolute, relative = number_of("gradcheck", "atol", atol), number_of("gradcheck", "rtol", rtol)
    number_of("gradcheck", "eps", eps)
    moving = [x for x in points if isinstance(x, Tensor) and x.requires_grad]
    if not moving:
        raise AgradError("grad", "gradcheck: at least one of the inputs must require grad")

    def summed(*given: Tensor) -> Any:
        rest = iter(given)
        return _mixed(func(*[next(rest) if isinstance(x, Tensor) and x.requires_grad else x for x in points]))

    report = check(summed, *[x.detach() for x in moving])
    for found in report.findings:
        apart = abs(found.exact - found.difference)
        if not apart <= absolute + relative * abs(found.difference):
            if not raise_exception:
                return False
            both = f"{format_number(found.exact)}, and the difference is {format_number(found.difference)}"
            raise AgradError("grad", f"gradcheck: the derivative by {found.entry} is {both}")
    return True


def _mixed(value: Any) -> Any:
    """One number from all entries of a result, each with a weight of its own, so that no two mistakes cancel."""
    if isinstance(value, tuple | list):
        return sum(_mixed(part) * (1.0 + place / 7) for place, part in enumerate(value))
    if not isinstance(value, Tensor) or not value.shape:
        return value
    weights = np.cos(np.arange(float(value.size))).reshape(value.shape) + 1.5
    return FUNCTIONS["sum"].call(value * weights)


# Exact derivatives compared with differences, entry by entry: the work and the report of `check`.
#
# A leaf is shifted by writing to it, so that every alias that the function reads is shifted; values that were computed
# from the leaf earlier are computed again. Each call has its own undo log, which restores everything afterwards: data,
# versions, gradients, random numbers.

Verdict = Literal["ok", "mismatch", "kink"]
_OWN = 16  # rounding errors that an exact derivative may have, relative to the largest contribution
MANY = 40  # a report of more entries leaves out most of those that are ok


class Finding(Struct):
    """The result for one entry. `doubt` is a bound on the error of the difference."""

    entry: str  # x, x[0], A[0, 1]
    exact: float
    difference: float
    doubt: float
    claim: float | None
    verdict: Verdict
    remark: str = ""
    unit: str = ""

    @property
    def absolute(self) -> float:
        """The distance of the difference from the exact derivative, or that of the claim if it is larger."""
        others = (self.difference,) if self.claim is None else (self.difference, self.claim)
        apart = [0.0 if other == self.exact else abs(other - self.exact) for other in others]
        return math.nan if any(map(math.isnan, apart)) else max(apart)

    @property
    def relative(self) -> float:
        """The same relative to the largest of them."""
        if not (self.absolute and math.isfinite(self.absolute)):
            return self.absolute
        return self.absolute / max(abs(self.exact), abs(self.difference), abs(self.claim or 0.0))


class Report(Struct):
    """The findings for all entries, in order."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees. A kink does not count: there is no derivative to compare."""
        return not self.mismatches

    @property
    def mismatches(self) -> tuple[Finding, ...]:
        """The findings that disagree."""
        return tuple(finding for finding in self.findings if finding.verdict == "mismatch")

    def parts(self, precision: int | None = 10) -> list[str | Grid]:
        """A table, one line per entry. Of very many, those that are ok are summarised by the worst of them."""
        shown = self.findings
        fine = [finding for finding in shown if finding.verdict == "ok"]
        dropped: list[Finding] = []
        if len(shown) > MANY:
            dropped = sorted(fine, key=lambda finding: -finding.relative)[MANY // 8 :]
            left_out = set(map(id, dropped))
            shown = tuple(finding for finding in shown if id(finding) not in left_out)
        more = [f"and {len(dropped)} more, ok, rel at most {format_number(dropped[0].relative, 2)}"] if dropped else []
        return [_table(shown, precision), *more]

    def text(self, precision: int | None = 10) -> str:
        """The same in lines."""
        return in_lines(self.parts(precision))

    __str__ = __repr__ = text


def _told(number: float, precision: int | None, unit: str) -> str:
    return f"{format_number(number, precision)} {unit}".rstrip()


def _table(findings: Sequence[Finding], precision: int | None) -> Grid:
    """The table, numbers on the right of their columns."""
    claims = any(finding.claim is not None for finding in findings)
    rows = [["entry", "claim" if claims else "", "exact", "difference", "abs", "rel", "verdict"]]
    for finding in findings:
        claim = "-" if finding.claim is None else _told(finding.claim, precision, finding.unit)
        numbers = [_told(number, precision, finding.unit) for number in (finding.exact, finding.difference)]
        errors = [_told(finding.absolute, 2, finding.unit), format_number(finding.relative, 2)]
        verdict = f"{finding.verdict}: {finding.remark}" if finding.remark else finding.verdict
        rows.append([finding.entry, claim if claims else "", *numbers, *errors, verdict])
    return Grid(rows, range(1, 6))


def compare(
    f: Callable[[], Any], leaves: Sequence[Tensor] | None = None, claims: Sequence[Tensor | None] | None = None
) -> Report:
    """The derivatives of the result of f by the leaves it reads (all that existed before, if none are named).

    Raises AgradError of kind `grad` where there is no leaf, and else as `check` does.
    """
    since = next_stamp()
    with quiet():
        with taken_back(recording=True):
            found = f()
            y = _number(found)
            exact = _exactly(y)
        # For a gradient, also the leaves with a derivative of 0: it may be computed again.
        behind = reachable(y.node) if isinstance(y, Tensor) else ()
        older = sorted((node for node in behind if node.seq < since), key=lambda node: node.seq)
        if leaves is None:
            leaves = [bare(node, node.value) for node in older if node.op is None and node.requires_grad]
        if not leaves:
            raise AgradError("grad", "this does not depend on a leaf that requires grad", facts=MissingLeaf())
        point = _Point(f, [node for node in older if node.op is not None], float(y), exact)
        point.hold()
        slopes = [units.quantity.slopes(found, [x]) if Units.exist and isinstance(y, Tensor) else None for x in leaves]
        claims = claims or [None] * len(leaves)
        for claim, unit in zip(claims, slopes, strict=True):
            if claim is not None and unit is not None:
                units.quantity.require(claim, unit, "the claim is {}, and the derivative {}")
        each = zip(leaves, [None if one is None else one.value for one in claims], slopes, strict=True)
        return Report(tuple([finding for one in each for finding in point.findings(*one)]))


def _number(y: Any) -> Tensor | float:
    """The result of f, which must be one number."""
    if isinstance(y, Tensor):
        if y.size == 1:
            return units.infer.bare(y) if units.quantity.unit_of(y) is not None else y
        shape = format_shape(y.shape)
        raise AgradError(
            "shape",
            f"check needs one number, not an array of shape {shape}",
            fixes=[Hint("sum(…)")],
            facts=NotOneNumber(),
        )
    if isinstance(y, float | int) or getattr(y, "size", 0) == 1:
        return float(np.asarray(y).item())
    facts = NotOneNumber() if hasattr(y, "shape") else None
    raise AgradError("type", f"check needs one number, not {describe(y)}", facts=facts)


class _Exact(Struct, eq=False):
    """The exact derivatives at a point, by every node, and bounds on rounding errors."""

    slopes: dict[Node, Value]
    largest: dict[Node, float]  # of the contributions to the derivative by a leaf
    rounding: float  # of the value
    finite: bool  # whether every intermediate value is, and no slope is infinite


def _exactly(y: Tensor | float) -> _Exact:
    """The exact derivatives.

    Each operation rounds its result; the effect of that is given by the derivative of y by this result (M. Iri,
    T. Tsuchiya, M. Hoshi, Automatic computation of partial derivatives and rounding error estimates, 1988).
    """
    if not isinstance(y, Tensor) or not y.requires_grad:
        return _Exact({}, {}, EPSILON * abs(float(y)), True)
    order = collect([y.node])
    check_walkable(order, y.node)
    largest: dict[Node, float] = {}

    def watch(node: Node, position: int, g: Any, c: Any) -> None:
        operand = node.inputs[position]
        if isinstance(operand, Node) and operand.op is None:
            largest[operand] = max(
                largest.get(operand, 0.0), abs(c) if isinstance(c, float) else float(np.max(np.abs(c), initial=0.0))
            )

    slopes = walk(order, {y.node: spread(1.0, y.shape)}, False, order, watch=watch)
    computed = [node for node in reversed(order) if node.op is not None]
    _replay(computed)
    rounding = EPSILON * sum(_moved(slopes[node], node.value) for node in computed)
    steep = (math.isinf(s) if isinstance(s, float) else np.isinf(s).any() for s in map(slopes.__getitem__, computed))
    finite = all(is_finite(node.value) for node in computed) and not any(steep)
    return _Exact(slopes, largest, rounding, finite)


def _moved(derivative: Any, value: Any) -> float:
    """The change of the result, in the worst case, if every entry of a value changes by its own size.

    Entries that are nan, such as those not selected, are left out.
    """
    if isinstance(value, float):
        part = abs(derivative * value)
        return 0.0 if math.isnan(part) else part
    parts = np.abs(derivative * value)
    return float(np.sum(parts, where=~np.isnan(parts)))


def _replay(nodes: Iterator[Node] | Sequence[Node]) -> None:
    """Compute nodes again, oldest first, in place: every handle sees the new value, and a backward accepts them."""
    log = current().undo_log
    assert log is not None
    for node in nodes:
        assert node.op is not None
        touch(node)
        log.remember((node, "seq"), partial(setattr, node, "seq", node.seq))
        operands: Any = tuple(x.value if isinstance(x, Node) else x for x in node.inputs)
        node.value = compute(node.op, operands, node.attrs or {})
        node.seq = node.stamp = next_stamp()


class _Point(Struct, eq=False):
    """A function at a point, to be called near that point."""

    f: Callable[[], Any]
    computed: list[Node]  # values computed from leaves earlier, oldest first
    value: float
    exact: _Exact

    def hold(self) -> None:
        """Refuse a function whose result differs from call to call."""
        with taken_back(recording=True):
            _replay(self.computed)
            again = float(_number(self.f()))
        # Sums of products depend on the memory addresses of arrays.
        if abs(again - self.value) > AMPLIFIED * self.exact.rounding:
            values = f"{format_number(self.value, None)}, then {format_number(again, None)}"
            why = "a constant that it was computed from may have changed since" if self.computed else ""
            raise AgradError(
                "domain",
                f"check needs the same value at the same point; this gave {values}",
                notes=[why] if why else [],
                fixes=[] if why else ["manual_seed(1) before the first random number is drawn"],
            )

    def findings(self, leaf: Tensor, claim: Value | None, unit: Unit | None) -> Iterator[Finding]:
        """One finding for each entry of a leaf; the exact derivative by one that is not read is 0."""
        name, slopes = leaf.name or "leaf", self.exact.slopes.get(leaf.node)
        for index in np.ndindex(*leaf.shape) if leaf.shape else [()]:
            entry = f"{name}[{', '.join(map(str, index))}]" if index else name
            exact = 0.0 if slopes is None else _entry(slopes, index)
            yield self.finding(entry, leaf, index, exact, None if claim is None else _entry(claim, index), unit)

    def finding(
        self, entry: str, leaf: Tensor, index: tuple[int, ...], exact: float, claim: float | None, unit: Unit | None
    ) -> Finding:
        """The verdict on one entry, whose numbers are in a unit; the rule is that of `check`."""
        x = _entry(leaf.value, index)
        found = slope(lambda moved: self.at(leaf, index, moved), x, self.value, exact, self.exact.rounding)
        text, doubt = unit.text if unit is not None else "", units.quantity.scaled(found.doubt, unit)
        three = units.quantity.scaled(exact, unit), units.quantity.scaled(found.value, unit), doubt
        result = partial(Finding, entry, *three, units.quantity.scaled(claim, unit), unit=text)
        if found.kink or not (math.isfinite(exact) or self.exact.finite):
            return result("kink", found.kink or SINGULAR)
        own = _OWN * EPSILON * self.exact.largest.get(leaf.node, 0.0)
        bound = AGREE * max(abs(exact), abs(found.value)) + 4 * found.doubt + own
        wrong = [
            name
            for name, other in (("the difference", found.value), ("the claim", claim))
            if other is not None and not (math.isfinite(exact) and abs(other - exact) <= bound)
        ]
        if wrong:
            return result("mismatch", "" if claim is None else " and ".join(wrong))
        unsure = f"the difference is accurate to {_told(doubt, 2, text)} only"
        return result("ok", unsure if result("ok").relative > AGREE else "")

    def at(self, leaf: Tensor, index: tuple[int, ...], moved: float) -> float:
        """The value with one entry of a leaf shifted; nan if it is an error."""
        with taken_back(recording=True):
            number: Any = np.array(leaf.value) if index else moved  # for one number, NumPy is not loaded
            if index:
                number[index] = moved
            leaf.set_(number if leaf.node.unit is None else units.quantity.like(number, leaf))
            try:
                _replay(self.computed)
                return float(_number(self.f()))
            except AgradError:
                return math.nan


def _entry(value: Value, index: tuple[int, ...]) -> float:
    return float(value) if isinstance(value, float) else float(value[index])


# The derivative of a function of one number by differences alone, with a bound on its error.
#
# No single step width suits every function: too wide, and its curvature dominates; too narrow, and only rounding
# errors are left. So several are tried. A *window* is a width with its half and its quarter. Richardson's
# extrapolation (L. F. Richardson, 1911) of its three central differences removes the error up to the sixth order of
# the width; the distance between the results of two of them and of the other two bounds what is left, and the effect
# of rounding follows from the size of the values. The same three widths give the difference between the slopes on the
# right and on the left, which vanishes unless there is a kink.

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


class Slope(Struct):
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

    # The widths to try, as powers of 2: the likeliest; wide ones; all of them, narrowest first.
    own = math.frexp(x)[1] if x else 0
    widest = max(own, 1) + _WIDEST
    narrowest = max(own + (_NARROWEST if x else _NARROWEST_AT_0), -1070)
    wide, all_there_are = (_FIRST, widest), range(widest, narrowest, -_WINDOW)[::-1]
    for exponents in ((own + _FIRST,), wide):
        found = [window for window in map(window, (own + _FIRST, *exponents)) if window is not None]
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
    wider = windows[best : best + 3]
    # Where the next derivative is not finite, the spread decreases with the width, but slowly.
    shrinks = len(wider) == 3 and all(narrow.spread < wide.spread / 2 for narrow, wide in pairwise(wider))
    if shrinks or found.spread <= SETTLED * found.size + 8 * found.rounding:
        return Slope(found.value, found.doubt)
    narrower = windows[max(best - 1, 0)]
    change = abs(narrower.gap - found.gap) + abs(narrower.value - found.value)
    if change > SETTLED * found.size + narrower.rounding:
        return Slope(math.nan, math.inf, "the differences do not converge")
    sides = f"slope {_rounded(found, -1)} on the left, {_rounded(found, 1)} on the right"
    return Slope(found.value, found.doubt, sides)


def _rounded(window: Window, side: int) -> str:
    """The slope on one side, with the digits that are certain."""
    number = window.value + side * window.gap / 2
    size = abs(window.gap) * SETTLED
    return format_number(0.0 if abs(number) < size else number, 4)
