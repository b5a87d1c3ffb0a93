"""A bound on the rounding error of a number, from the graph of its computation.

The bound is that of a running error analysis (N. J. Higham, Accuracy and Stability of Numerical Algorithms, second
edition, section 3.3), to first order, over the graph (S. Linnainmaa, Taylor expansion of the accumulated rounding
error, BIT 16, 1976): the error of each node, times the derivative of the result by that node, added up in absolute
values. A sum, a product or a quotient has the error that it was in fact rounded by, computed exactly; any other
operation half a unit in its last place. A constant or a leaf stands for the decimal number that it is printed as.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import Context, Limits, enter
from agrad.engine.core.graph import Node
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.versions import walkable

_UNIT = 2.0**-53  # the unit roundoff of float64
_FACTOR = 2  # since libraries compute elementary functions to a unit in the last place, not to half of one
# The functions that are exact on fractions.
_EXACT = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.abs, abs})


def rounding_error(root: Node) -> float:
    """A bound on the error of a node whose graph consists of finite numbers. Raises AgradError for a stale graph."""
    return _FACTOR * enter(Context(Limits()), _bound, root)


def _bound(root: Node) -> float:
    """The sum of the errors of the nodes, each times the derivative by it."""
    order, _ = walkable(root)
    with quiet():
        slopes: dict[Node, Any] = walk(order, {root: 1.0}, False, targets=order, hooks=False)
    return math.fsum(abs(float(slopes.get(node, 0.0))) * _error(node) for node in order)


def _error(node: Node) -> float:
    """The rounding error of one node, for exact operands; of a leaf, that of reading its decimal number."""
    number: Any = node.value
    if node.op is None:
        return float(abs(Fraction(number) - _decimal(number)))
    if node.op.scalar in _EXACT and not node.attrs:
        exact: Fraction = node.op.scalar(*map(_operand, node.inputs))
        return float(abs(Fraction(number) - exact))
    return abs(float(number)) * _UNIT


def _operand(operand: Any) -> Fraction:
    """An operand: what a node was rounded to, or the decimal number that a constant stands for."""
    if type(operand) is Node:
        number: Any = operand.value
        return Fraction(number) if operand.recorded else _decimal(number)
    return _decimal(float(operand))


def _decimal(number: float) -> Fraction:
    """The shortest decimal number that is read as this one."""
    return Fraction(repr(number))
