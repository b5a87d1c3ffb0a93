"""Zeros, minima, integrals and differential equations of functions, as operations on what these functions use.

The derivative of each is made of such operations, so that there are derivatives of any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from itertools import pairwise
from math import factorial, inf, isfinite, prod
from typing import Any

from agrad.engine import units
from agrad.engine.autodiff.transforms import derivatives
from agrad.engine.core.arguments import number_of, small, truth_of
from agrad.engine.core.dispatch import by_array, in_family, operand
from agrad.engine.core.graph import Node, Units
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError
from agrad.engine.ops import solvers
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.order import argmin as place_of_least
from agrad.engine.ops.arrays.shaping import reshape
from agrad.engine.ops.scalar.arithmetic import add, mul, sub
from agrad.engine.program.closed import flat, split
from agrad.engine.values import describe, np, shape_of

row, composed = in_family("solvers", pure=True)

# Zeros and minima


@by_array(
    row, "z; problem", title="Solution", rules={"z": ("z out", lambda g, out, z, problem: problem.pulled(g, out, z))}
)
def solved(z: Any, problem: Any) -> Any:
    """What a problem defines: a zero, a minimum, an integral, or the solution of differential equations."""
    return problem.solve(z)


def _plain(x: Any) -> tuple[Any, tuple[int, ...]]:
    """A number or an array as a vector, without its graph, and its shape."""
    x = operand(x)
    value = x.value if isinstance(x, Tensor) else x
    return np.reshape(np.asarray(value, dtype=float), -1), shape_of(value)


@composed("root")
def _root(f: Any, /, x0: Any) -> Any:
    """A zero of a function, from a starting point, or between two: root(f, 0..2). Of a function of a vector with as
    many results, the solution of that system.

    derivative: by what f uses: the implicit function theorem
    example: root(cos, 1) ~= pi/2
    """
    return root_of(f, x0)[0]


def root_of(f: Any, x0: Any, what: str = "root", is_of_entries: bool = False) -> tuple[Any, Any]:
    """A zero, and the equation, which knows how it was found. `what`: the word of messages, root or solve.

    `is_of_entries`: f takes the entries of the vector x0 one by one.
    """
    is_bracket = isinstance(x0, tuple)
    if is_bracket and len(x0) != 2:
        raise AgradError("arity", f"root: a bracket has two ends, not {len(x0)}")
    ends = sorted(number_of(what, "an end of the bracket", end, True) for end in x0) if is_bracket else []
    if not all(map(isfinite, ends)):
        raise AgradError("domain", f"{what}: the ends of a bracket are finite numbers")
    start, shape = _plain(ends[0] if is_bracket else x0)
    shapes = [()] * len(start) if is_of_entries else [shape]
    known = units.function(*x0 if is_of_entries else [[*x0] if is_bracket else x0])
    body, same, _ = solvers.function.function_of(what, f, shapes, start, shape, known=known)
    problem = solvers.implicit.Problem(body, start, what, ends)
    problem.units = known.units
    found = reshape(solved(same, problem=problem), shape)
    every = [known.argument(x, place) for place, x in enumerate(found if is_of_entries else [found])]
    return every if is_of_entries else every[0], problem


def zeros_of(f: Any, ends: Sequence[Any] = ()) -> tuple[list[Any], Any]:
    """All zeros of a function of one number, between two ends if there are any; and how they were sought.

    Raises AgradError of kind `domain` for ends that are not finite, and where a search is not possible.
    """
    known = units.function([*ends])
    ends = sorted(number_of("solve", "an end", end, True) for end in ends)
    body, same = _between("solve", f, ends, known)
    unit = known.units[0] if ends else None
    found = solvers.zeros.zeros_of(body, _plain(same)[0], ends, unit)
    problems = [solvers.zeros.Root(body, *zero, tuple(ends)) for zero in zip(found.places, found.repeated, strict=True)]
    places = [reshape(solved(same, problem=problem), ()) for problem in problems]
    return [*map(known.argument, places)], found


def study_of(f: Any, low: float, high: float) -> Any:
    """What a function of one number does between two ends: a `Study`. Raises AgradError as `zeros_of` does."""
    body, same = _between("study", f, (low, high))
    return solvers.study.study(body, _plain(same)[0], (low, high))


def _between(what: str, f: Any, ends: Sequence[float], known: Any = units.Unmeasured) -> tuple[Any, Any]:
    """A function of one number as a program, and what it uses. Raises AgradError for ends that are not finite."""
    if not all(map(isfinite, ends)):
        raise AgradError("domain", f"{what}: the ends of an interval are finite numbers")
    middle = np.array([ends[0] / 2 + ends[1] / 2 if ends else 1.0])
    body, same, _ = solvers.function.function_of(what, f, [()], middle, (), known=known)
    return body, same


@composed(
    "argmin",
    family=OPS["argmin"].family,
    alone=place_of_least,
    doc=f"{OPS['argmin'].doc} Of a function, where it has a minimum, from a starting point: argmin(f, x0).",
    derivative="none; of a function, by what it uses: the implicit function theorem, of its gradient",
)
def _argmin(x: Any, /, axis: Any = None, keepdims: Any = False) -> Any:
    if not callable(x):
        return place_of_least(x, axis=axis, keepdims=keepdims)

    (start, shape), known = _plain(axis), units.function(axis)
    body, same, _ = solvers.function.function_of("argmin", x, [shape], start, (), known=known)
    problem = solvers.implicit.Minimum(body, start)
    problem.units = known.units
    return known.argument(reshape(solved(same, problem=problem), shape))


# Integrals


@composed("integral")
def _integral(f: Any, a: Any, b: Any, /, at: Any = (), near: Any = ()) -> Any:
    """The integral of a function of one number from a to b, which may be infinite. The function may have an array as
    its result. at: where it is singular inside, or jumps; near: where it has a narrow peak.

    derivative: Leibniz' rule, by a, b and what f uses
    example: integral(exp, -inf, 0) ~= 1
    """
    for end in (a, b):
        if isinstance(end, str) or callable(end) or end is None or _plain(end)[1] != ():
            raise AgradError("type", f"integral: an end is a number, not {describe(end)}")
    units.function([x for x in (a, b, at, near) if np.size(_plain(x)[0])])  # which refuses places of other units
    places = {*_plain(at)[0].tolist()}, {*_plain(near)[0].tolist()}
    apart = at if isinstance(at, (list, tuple)) else [at]
    inside = _inside([entry for x in map(operand, apart) for entry in _entries(x)], a, b)
    if any(isinstance(x, Tensor) and x.node.recorded for x in inside):
        known = units.function([a, b])
        body, _, _ = solvers.function.function_of("integral", f, [()], _plain(inside[0])[0], known=known)
        if solvers.jumps.is_smooth(body.program):  # else a function has two values at an end
            return reduce(add, [_integrated(f, *pair, (set(), places[1])) for pair in pairwise([a, *inside, b])])
    return _integrated(f, a, b, places)


def _entries(x: Any) -> list[Any]:
    """Those of an array, row by row; of a stack of numbers, these, from which its entries are only copied."""
    if isinstance(x, Tensor) and x.node.op is OPS["stack"]:
        inputs = [bare(y, y.value if y.shape else None) if isinstance(y, Node) else y for y in x.node.inputs]
        return [entry for y in inputs for entry in _entries(y)]
    return split(flat(x), [()] * prod(shape_of(x))) if shape_of(x) else [x]


def _inside(places: Sequence[Any], a: Any, b: Any) -> list[Any]:
    """The numbers that are between two, in the order of the way from the one to the other."""
    low, high = (_plain(end)[0].item() for end in (a, b))
    return sorted([x for x in places if min(low, high) < _number(x) < max(low, high)], key=_number, reverse=low > high)


def _number(x: Any) -> float:
    """A place, in SI units."""
    return float(getattr(x, "value", x))


def _integrated(f: Any, a: Any, b: Any, places: Any, away: str = "") -> Any:
    ends = np.concatenate([_plain(end)[0] for end in (a, b)])
    finite, known = np.isfinite(ends), units.function([a, b])
    start = np.array([np.sum(ends[finite] / max(np.sum(finite), 1))])
    body, same, shape = solvers.function.function_of("integral", f, [()], start, is_deep=bool(away), known=known)
    z = concat((*[reshape(units.infer.bare(operand(end)), (1,)) for end in (a, b)], same))
    moving = finite & [isinstance(end, Tensor) and end.node.recorded for end in (a, b)]
    if moving.any() and not any(places) and solvers.integration.moves_singularity(body, ends[moving], same):
        with suppress(AgradError):  # which the integral itself tells of in places that were typed
            return _from_ends(f, a, b, finite)
    problem = solvers.integration.Integrand(body, finite, moving, places, away=away)
    found = known.value(reshape(solved(z, problem=problem), shape), 1)
    unit = units.quantity.unit_of(found)
    problem.say("" if unit is None else units.unit.si(unit.dim).text)
    return found


def _from_ends(f: Any, a: Any, b: Any, finite: Any) -> Any:
    """An integral by the distance from its ends: where singularities are at these, they do not move by this.

    A distance is exact where it is small, as the difference of two places is not.
    """

    def from_both(v: Any) -> Any:
        half = mul(0.5, sub(b, a))
        return mul(add(f(add(a, mul(half, v))), f(sub(b, mul(half, v)))), half)

    def from_one(v: Any) -> Any:
        return f(add(a, v) if finite[0] else sub(b, v))

    if finite.all():
        return _integrated(from_both, 0.0, 1.0, (set(), set()), " of half the range from an end")
    return _integrated(from_one, 0.0, sub(b, a), (set(), set()), " from the end")


# Differential equations


@composed("ode")
def _ode(
    f: Any, y0: Any, ts: Any, /, stiff: Any = False, atol: Any = None, within: Any = None, until: Any = None
) -> Any:
    """The solution of y' = f(t, y) at the times ts, from y0 at the first of them: a row for each time. stiff=True takes
    an implicit method; atol is an error of each value that does not matter, within the longest step. With until=g, the
    time at which g(t, y) changes its sign, instead.

    derivative: the variational equations, by y0, ts and what f uses
    example: ode(lambda t, y: -y, 1, [0, 1])[1] ~= exp(-1)
    """
    start, shape = _plain(y0)
    times, _ = _plain(ts)
    steps = np.diff(times)
    if len(times) < 2 or not np.isfinite(times).all() or not (np.all(steps > 0) or np.all(steps < 0)):
        raise AgradError("domain", "ode: the times must be two or more, each after the other")
    given = [] if within is None else [within]
    known = units.function([ts, *given], y0)
    within = inf if within is None else number_of("ode", "within", within, of_unit=True)
    if not within > 0.0:
        raise AgradError("domain", "ode: within is a positive number, the longest step")

    if until is not None and not callable(until):
        raise AgradError("type", f"ode: until is a function of the time and the values, not {describe(until)}")

    def with_event(t: Any, y: Any) -> Any:
        return concat(tuple(reshape(operand(g(t, y)), (-1,)) for g in (f, until)))

    wanted, begin = shape if until is None else (len(start) + 1,), np.concatenate([times[:1], start])
    traced = f if until is None else with_event
    body, same, _ = solvers.function.function_of("ode", traced, [(), shape], begin, wanted, known=known)
    if Units.exist:
        slopes, values = known.result._replace(entries=known.result.entries[: len(start)]), known.arguments[1]
        known.agree(slopes, known.times(values, -1), "ode: the function gives {}, and the slopes of the values are {}")
        if atol is not None:
            known.agree(known.work.quantity(operand(atol)), values, "ode: atol is {}, and the values are {}")
    if atol is not None and len(_plain(atol)[0]) not in (1, len(start)):
        raise AgradError("shape", f"ode: atol is a number, or one for each of the {len(start)} values")
    atol = None if atol is None else np.broadcast_to(_plain(atol)[0], start.shape)
    unit = units.unit.si(known.work.solid(known.arguments[0])).text if Units.exist else ""
    options = solvers.integration.Options(truth_of("ode", "stiff", stiff), atol, within, unit)
    solution = solvers.integration.Solution(body, same, options, len(start))
    y0, ts = [reshape(units.infer.bare(operand(x)), (-1,)) for x in (y0, ts)]
    found = solution.rows(y0, ts)
    solution.say(abs(times[-1] - times[0]))
    if solvers.function.argument_names(f)[1:2] == ["t"]:
        solvers.integration.tell("ode: the function is called as f(t, y): its second argument, t, is the value")
    found = found if until is not None else reshape(found, (len(times), *shape))
    return known.argument(found, until is None)


# Series


@composed("taylor")
def _taylor(f: Any, x0: Any, /, n: Any) -> Any:
    """The coefficients of the Taylor polynomial of degree n of a function at x0: f(x0), f'(x0), f''(x0)/2, …

    derivative: results can be differentiated again
    example: taylor(exp, 0, 3) ~= [1, 1, 1/2, 1/6]
    """
    order = small("taylor", "the degree", n)
    if not 0 <= order <= 12:
        raise AgradError("domain", f"taylor: the degree is from 0 to 12, not {order}")
    if not callable(f):
        raise AgradError("type", f"taylor needs a function, not {describe(f)}")
    found = derivatives("taylor", f, x0, order)
    return units.function().value(OPS["stack"].call([one * (1.0 / factorial(k)) for k, one in enumerate(found)]))
