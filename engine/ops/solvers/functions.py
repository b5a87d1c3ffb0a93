"""Zeros, minima, integrals and differential equations of functions, as operations on what these functions use.

The derivative of each is made of such operations, so that there are derivatives of any order.
"""

from __future__ import annotations

from math import factorial, isfinite, prod
from typing import Any

from agrad.engine.core.arguments import number_of, small, truth_of
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import FUNCTIONS, OPS, Function, composed, row
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.order import argmin as place_of_least
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.scan import reverse, scanned
from agrad.engine.ops.arrays.shaping import reshape, swap
from agrad.engine.ops.linalg.matrices import solve
from agrad.engine.values import describe, format_shape, np, shape_of

FAMILY = "solvers"

# Zeros and minima


def _by_same(g: Any, out: Any, same: Any, problem: Any) -> Any:
    """By the implicit function theorem: where F(x, p) = 0, dx/dp = -(dF/dx)^-1 dF/dp.

    Griewank and Walther, Evaluating Derivatives (2008), section 15.
    """
    size = len(problem.start)
    z = concat((out, same))
    matrix = reshape(scanned(z, body=problem.jacobian, count=1), (size, size))
    return reverse(solve(swap(matrix), -g), np.zeros(size), z, problem.residual, 1)[size:]


implied: Function = row(
    "implied",
    "same; problem",
    family="internal",
    title="Implicit",
    array=lambda same, problem: problem.solve(same),
    rules={"same": ("same out", _by_same)},
    reach="mixed",
    total=False,
    doc="What an equation defines: a zero of a function, or of the gradient of one.",
    derivative="-(dF/dx)^-1 dF/dp",
)


def _start(what: str, x0: Any) -> tuple[Any, tuple[int, ...]]:
    """A starting point as a vector, and its shape."""
    x0 = operand(x0)
    value = x0.value if isinstance(x0, Tensor) else x0
    return np.reshape(np.asarray(value, dtype=float), -1), shape_of(value)


def _shaped(found: Any, shape: tuple[int, ...]) -> Any:
    if shape:
        return reshape(found, shape)
    return found[0] if isinstance(found, Tensor) else float(found[0])


@composed(
    "root",
    "f; x0",
    pure=True,
    family=FAMILY,
    doc="A zero of a function, from a starting point, or between two: root(f, 0..2). Of a function of a vector with as "
    "many results, the solution of that system.",
    derivative="by what f uses: the implicit function theorem",
    example="root(cos, 1) ~= pi/2",
)
def _root(f: Any, x0: Any) -> Any:
    return root_of(f, x0)[0]


def root_of(f: Any, x0: Any, what: str = "root", is_of_entries: bool = False) -> tuple[Any, Any]:
    """A zero, and the equation, which knows how it was found. `what`: the word of messages, root or solve.

    `is_of_entries`: f takes the entries of the vector x0 one by one.
    """
    from agrad.engine.ops.solvers.function import function_of  # here, as below, since few calculations need SciPy
    from agrad.engine.ops.solvers.implicit import Problem

    is_bracket = isinstance(x0, tuple)
    if is_bracket and len(x0) != 2:
        raise AgradError("arity", f"root: a bracket has two ends, not {len(x0)}")
    ends = sorted(number_of(what, "an end of the bracket", end) for end in x0) if is_bracket else []
    start, shape = _start(what, ends[0] if is_bracket else x0)
    body, same, made = function_of(what, f, [()] * len(start) if is_of_entries else [shape], start)
    if prod(made) != prod(shape):
        equations = f"a result of shape {format_shape(made)} for an argument of shape {format_shape(shape)}"
        raise AgradError("shape", f"{what}: {equations}: as many equations as unknowns have a solution")
    problem = Problem(body, start, what, ends)
    return _shaped(implied(same, problem=problem), shape), problem


@composed(
    "argmin",
    "x; axis=None, keepdims=False",
    pure=True,
    family=OPS["argmin"].family,
    alone=place_of_least,
    samples=OPS["argmin"].samples,
    doc=f"{OPS['argmin'].doc} Of a function, where it has a minimum, from a starting point: argmin(f, x0).",
    derivative="none; of a function, by what it uses: the implicit function theorem, of its gradient",
    example=OPS["argmin"].example,
)
def _argmin(x: Any, axis: Any, keepdims: Any) -> Any:
    if not callable(x):
        return place_of_least(x, axis=axis, keepdims=keepdims)
    from agrad.engine.ops.solvers.function import function_of
    from agrad.engine.ops.solvers.implicit import Minimum

    start, shape = _start("argmin", axis)
    body, same, made = function_of("argmin", x, [shape], start)
    if prod(made) != 1:
        raise AgradError("shape", f"argmin: the function gives an array of shape {format_shape(made)}, not one number")
    return _shaped(implied(same, problem=Minimum(body, start)), shape)


# Integrals


def _by_ends(g: Any, out: Any, z: Any, integrand: Any) -> Any:
    """Leibniz' rule: by an end, the function there; by what it uses, the integral of its derivative.

    Flanders, Differentiation under the integral sign, American Mathematical Monthly 80 (1973).
    """
    same = z[2:]
    parts: list[Any] = []
    for place, sign in enumerate((-1.0, 1.0)):
        if integrand.infinite[place]:
            parts.append(np.zeros(1))
        else:
            there = scanned(concat((z[place : place + 1], same)), body=integrand.f, count=1)
            parts.append(reshape(total(sign * g * there), (1,)))
    if shape_of(same) != (0,):
        parts.append(integrated(concat((z, g)), integrand=integrand.by_same))
    return concat(tuple(parts))


def _integrated(z: Any, integrand: Any) -> Any:
    from agrad.engine.ops.solvers.quadrature import integrals

    if any(isfinite(end) is is_infinite for end, is_infinite in zip(z[:2].tolist(), integrand.infinite, strict=True)):
        raise AgradError("guard", "integral: an end was infinite, or finite, when the integral was computed first")
    return integrals(integrand.f, (float(z[0]), float(z[1])), z[2:], integrand.is_told)


integrated: Function = row(
    "integrated",
    "z; integrand",
    family="internal",
    title="Integral",
    array=_integrated,
    rules={"z": ("z", _by_ends)},
    reach="mixed",
    total=False,
    doc="The integrals of the results of a function; the operand has the ends, and what the function uses.",
    derivative="Leibniz' rule",
)


@composed(
    "integral",
    "f, a, b",
    pure=True,
    family=FAMILY,
    doc="The integral of a function of one number from a to b, which may be infinite. The function may have an array "
    "as its result.",
    derivative="Leibniz' rule, by a, b and what f uses",
    example="integral(exp, -inf, 0) ~= 1",
)
def _integral(f: Any, a: Any, b: Any) -> Any:
    from agrad.engine.ops.solvers.function import function_of
    from agrad.engine.ops.solvers.quadrature import Integrand

    ends = [_end(end) for end in (a, b)]
    values = [float(end.value) if isinstance(end, Tensor) else float(end) for end in ends]
    inside = [value for value in values if isfinite(value)]
    middle = np.array([sum(inside) / len(inside) if inside else 0.0])
    body, same, shape = function_of("integral", f, [()], middle)
    infinite = (not isfinite(values[0]), not isfinite(values[1]))
    z = concat((*[reshape(end, (1,)) for end in ends], same))
    return _shaped(integrated(z, integrand=Integrand(body, infinite, is_told=True)), shape)


def _end(x: Any) -> Any:
    """An end of an interval: a number."""
    if isinstance(x, str | tuple) or callable(x) or x is None or shape_of(getattr(x, "value", operand(x))) != ():
        raise AgradError("type", f"integral: an end is a number, not {describe(x)}")
    return operand(x)


# Differential equations


def _by_start(g: Any, out: Any, z: Any, system: Any, count: int) -> Any:
    """The variational equations, solved with the equations: see `ode`.

    By a time, the slope there; by the first, what a later start at the same values changes.
    """
    size, used = system.size, system.f.sizes.same
    width = size + used
    y0, times, same = z[:size], z[size : size + count], z[size + count :]
    first = np.concatenate([np.eye(size), np.zeros((size, used))], axis=1).reshape(-1)
    varied = flowed(concat((y0, first, times, same)), system=system.varied, count=count)
    table = reshape(varied, (count, size + size * width))
    g = reshape(g, (count, size))
    by_each = reshape(g, (count, size, 1)) * reshape(table[:, size:], (count, size, width))
    by = total(by_each, axis=(0, 1))
    rows = concat((reshape(times, (count, 1)), reshape(out, (count, size))), axis=1)
    slopes = reshape(scanned(concat((reshape(rows, (-1,)), same)), body=system.f, count=count), (count, size))
    later = total(by_each[1:], axis=(0, 1))[:size]
    by_first = reshape(-total(later * slopes[0]), (1,))
    return concat((by[:size], by_first, total(g[1:] * slopes[1:], axis=1), by[size:]))


flowed: Function = row(
    "flowed",
    "z; system, count",
    family="internal",
    title="Ode",
    array=lambda z, system, count: system.solve(
        z[: system.size], z[system.size : system.size + count], z[system.size + count :]
    ).reshape(-1),
    rules={"z": ("z out", _by_start)},
    reach="mixed",
    total=False,
    doc="The solution of a system of differential equations at some times; the operand has the values at the first "
    "time, the times, and what the function uses.",
    derivative="the variational equations",
)


@composed(
    "ode",
    "f, y0, ts; stiff=False",
    pure=True,
    family=FAMILY,
    doc="The solution of y' = f(t, y) at the times ts, from y0 at the first of them: a row for each time. stiff=True "
    "takes an implicit method.",
    derivative="the variational equations, by y0, ts and what f uses",
    example="ode(f, 1, [0, 1])[1] ~= exp(-1)   # with def f(t, y) = -y",
)
def _ode(f: Any, y0: Any, ts: Any, stiff: Any) -> Any:
    from agrad.engine.ops.solvers.function import function_of
    from agrad.engine.ops.solvers.ode import System

    start, shape = _start("ode", y0)
    times, _ = _start("ode", ts)
    steps = np.diff(times)
    if len(times) < 2 or not np.isfinite(times).all() or not (np.all(steps > 0) or np.all(steps < 0)):
        raise AgradError("domain", "ode: the times must be two or more, each after the other")
    body, same, made = function_of("ode", f, [(), shape], np.concatenate([times[:1], start]))
    if prod(made) != prod(shape):
        shapes = f"{format_shape(made)} for y of shape {format_shape(shape)}"
        raise AgradError("shape", f"ode: the function gives a result of shape {shapes}")
    z = concat((reshape(operand(y0), (-1,)), reshape(operand(ts), (-1,)), same))
    system = System(body, truth_of("ode", "stiff", stiff))
    return reshape(flowed(z, system=system, count=len(times)), (len(times), *shape))


# Series


@composed(
    "taylor",
    "f, x0; n",
    pure=True,
    family=FAMILY,
    doc="The coefficients of the Taylor polynomial of degree n of a function at x0: f(x0), f'(x0), f''(x0)/2, …",
    derivative="results can be differentiated again",
    example="taylor(exp, 0, 3) ~= [1, 1, 1/2, 1/6]",
)
def _taylor(f: Any, x0: Any, n: Any) -> Any:
    order = small("taylor", "the degree", n)
    if not 0 <= order <= 12:
        raise AgradError("domain", f"taylor: the degree is from 0 to 12, not {order}")
    if not callable(f):
        raise AgradError("type", f"taylor needs a function, not {describe(f)}")
    found = [f(x0)]
    for _ in range(order):
        f = FUNCTIONS["grad"].call(f)
        found.append(f(x0))
    if shape_of(getattr(found[0], "value", operand(found[0]))):
        raise AgradError("shape", "taylor: the function gives an array, not one number")
    return OPS["stack"].call([one * (1.0 / factorial(k)) for k, one in enumerate(found)])
