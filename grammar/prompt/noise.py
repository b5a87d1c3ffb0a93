"""Whether a number is rounding noise: no larger than the rounding errors of the computation that it came from."""

from __future__ import annotations

import math

from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError

NOISE = "(rounding noise)"
_MOST = 100  # nodes of a graph that is looked at


def is_noise(value: object) -> bool:
    """Whether a value is a number that its computation cannot tell from 0. False where that is not known.

    It is known of a number other than 0 with a small graph of numbers, which is neither freed nor stale.
    """
    if not isinstance(value, Tensor) or value.shape != () or value.node.op is None or not value.requires_grad:
        return False
    number = value.value
    if not isinstance(number, float) or number == 0 or not math.isfinite(number) or not _is_small(value.node):
        return False
    from agrad.grammar.prompt.rounding import rounding_error  # here: it loads exact fractions

    try:
        return abs(number) <= rounding_error(value.node)
    except (AgradError, ArithmeticError, ValueError):  # an operand is not finite
        return False


def _is_small(root: Node) -> bool:
    """Whether a graph has few nodes, each of them a finite number that is still there."""
    order, found = [root], {root}
    for node in order:  # which grows during the loop
        if len(order) > _MOST or node.freed is not None:
            return False
        for operand in node.inputs:
            if type(operand) is Node and operand not in found:
                found.add(operand)
                order.append(operand)
    return all(isinstance(node.value, float) and math.isfinite(node.value) for node in order)
