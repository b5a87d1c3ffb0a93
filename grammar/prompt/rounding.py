"""A bound on the rounding error of a number, from the graph of its computation.

The bound is that of a running error analysis (N. J. Higham, Accuracy and Stability of Numerical Algorithms, second
edition, section 3.3), to first order, over the graph (S. Linnainmaa, Taylor expansion of the accumulated rounding
error, BIT 16, 1976): the error of each node, times the derivative of the result by that node, added up in absolute
values. A sum, a product or a quotient has the error that it was in fact rounded by, computed exactly, and so has an
operation on arrays that consists of these; any other operation on numbers, or entry by entry, half a unit in its last
place. A constant or a leaf stands for the decimal number that it is printed as.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import Context, Limits, enter
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, collect
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.versions import walkable
from agrad.engine.errors import AgradError
from agrad.engine.values import Array, np, spread

_UNIT = 2.0**-53  # the unit roundoff of float64
# The functions of numbers that are exact on fractions.
_EXACT = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.abs, abs})
_FACTOR = 2  # since libraries compute elementary functions to a unit in the last place, not to half of one


def rounding_errors(root: Node) -> Array | float:
    """The bounds for the entries of an array, each by a pass of its own, or for a number.

    Raises AgradError for a stale graph, and ValueError where the error of an operation is not known: the bound of an
    inverse, for instance, depends on more than its entries.
    """
    of_numbers = all(isinstance(node.value, float) for node in collect([root]))
    bounds: Any = enter(Context(Limits()), _bound if of_numbers else _bounds, root)
    return _FACTOR * bounds  # type: ignore[no-any-return]


# Of a graph of numbers alone, for which NumPy is not loaded.


def _bound(root: Node) -> float:
    """The sum of the errors of the nodes, each times the derivative by it."""
    order, _ = walkable(root)
    with quiet():
        slopes: dict[Node, Any] = walk(order, {root: 1.0}, False, targets=order, hooks=False)
    return math.fsum(abs(float(slopes.get(node, 0.0))) * _error(node) for node in order)


def _error(node: Node) -> float:
    number: Any = node.value
    if node.op is None:
        return float(abs(Fraction(number) - _decimal(number)))
    if node.op.scalar in _EXACT and not node.attrs:
        exact: Fraction = node.op.scalar(*map(_operand, node.inputs))
        return float(abs(Fraction(number) - exact))
    return abs(float(number)) * _UNIT


def _operand(operand: Any) -> Fraction:
    number: Any = operand.value if type(operand) is Node else float(operand)
    return Fraction(number) if type(operand) is Node and operand.recorded else _decimal(number)


# Of arrays.


def _bounds(root: Node) -> Array:
    order, _ = walkable(root)
    values: dict[Node, Any] = {}
    for node in reversed(order):  # of an array that nothing needed, the graph has kept the computation alone
        values[node] = node.value if node.value is not None else _computed(node, values)
    errors = {node: _errors(node, values) for node in order}
    found = np.zeros(root.shape)
    with quiet():
        for place in np.ndindex(root.shape):
            seed = np.zeros(root.shape)
            seed[place] = 1.0
            slopes: dict[Node, Any] = walk(order, {root: seed}, False, targets=order, hooks=False)
            known = [(spread(slopes[node], node.shape), errors[node]) for node in order if node in slopes]
            found[place] = math.fsum(float(np.sum(np.abs(slope) * error)) for slope, error in known)
    return found


def _computed(node: Node, values: dict[Node, Any]) -> Any:
    """The value of a node, from those of its operands. Raises ValueError where these are not known."""
    if node.op is None:
        raise ValueError
    operands: tuple[Any, ...] = tuple([values.get(x, x.value) if type(x) is Node else x for x in node.inputs])
    if any(value is None for value in operands):
        raise ValueError
    return compute(node.op, operands, node.attrs or {})


def _errors(node: Node, values: dict[Node, Any]) -> Array:
    """The rounding errors of the entries of one node, for exact operands; of a leaf, those of reading decimal numbers.

    Raises ValueError where they are not known.
    """
    if node.op is None:
        return np.asarray(_each(lambda x: abs(Fraction(x) - _decimal(x)), values[node]), dtype=float)
    op, exact = node.op, np.zeros(())
    of_numbers = not node.shape and not any(getattr(operand, "shape", ()) for operand in node.inputs)
    # What only adds, multiplies or moves entries does so with fractions, too; a power of a fraction may be endless.
    if op.scalar in _EXACT and not node.attrs if of_numbers else op.scalar is not math.pow:
        with suppress(TypeError, ValueError, AttributeError, ArithmeticError, AgradError):
            operands = [_fractions(operand, values) for operand in node.inputs]
            exact = np.asarray(op.array(*operands, **(node.attrs or {})))
    if exact.dtype == object and exact.shape == node.shape:
        return np.asarray(abs(_each(Fraction, values[node]) - exact), dtype=float)
    if op.reach != "pointwise" and not of_numbers:
        raise ValueError
    return np.asarray(np.abs(values[node]) * _UNIT)


def _fractions(operand: Any, values: dict[Node, Any]) -> Array:
    """An operand as an array of fractions: what a node was rounded to, or the decimal number of a constant."""
    if type(operand) is not Node:
        return _each(_decimal, operand)
    return _each(Fraction, values[operand]) if operand in values else _each(_decimal, operand.value)


def _each(function: Callable[[float], Fraction], value: Any) -> Array:
    """A function of numbers on each entry of a value, as an array of fractions."""
    numbers = np.asarray(value, dtype=float)
    found: Array = np.empty(numbers.shape, dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = function(float(numbers[place]))
    return found


def _decimal(number: float) -> Fraction:
    """The shortest decimal number that is read as this one."""
    return Fraction(repr(number))
