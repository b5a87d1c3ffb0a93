"""Forward mode: a direction at the leaves, pushed from the oldest node to the youngest.

No operation has a second rule for this. A vjp rule is linear in the cotangent; for an operation that works entry by
entry it is its own transpose, so that the rule itself pushes a direction forward. For every other the rule is
transposed: recorded as a function of the cotangent, and differentiated backward from the direction.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.autodiff.reverse import applied, operand_value, spread_to, walk
from agrad.engine.core.context import scope
from agrad.engine.core.graph import Node, collect
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Op
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.core.versions import check_walkable
from agrad.engine.values import np


def push(y: Tensor, directions: dict[Node, Any], create_graph: bool) -> Any:
    """The derivative of y along the directions given for nodes behind it; None if y depends on none of them.

    The result is a plain value, or with `create_graph` a Tensor that can be differentiated again. Raises AgradError of
    kind `freed` or `stale`.
    """
    order = collect([y.node])[::-1]
    check_walkable(order, y.node)
    tangents: dict[Node, Any] = dict(directions)
    with scope(recording=create_graph), quiet():
        for node in order:
            if node.op is None or not node.requires_grad or node in directions:
                continue
            total = _pushed(node.op, node, tangents, create_graph)
            if total is not None:
                tangents[node] = total
    result = tangents.get(y.node)
    return None if result is None else spread_to(result, y.shape)


def _pushed(op: Op, node: Node, tangents: dict[Node, Any], create_graph: bool) -> Any:
    """The direction of a result, from those of its operands; None if they have none."""
    total: Any = None
    values: list[Any] | None = None
    for position, operand in enumerate(node.inputs):
        rule = op.rule(position)
        t = tangents.get(operand) if isinstance(operand, Node) else None
        if t is None or rule is None:
            continue
        assert isinstance(operand, Node)
        if values is None:
            values = [operand_value(x, create_graph) for x in node.inputs]
            out = operand_value(node, create_graph)
        attrs = {**(node.attrs or {}), "which": position} if op.variadic else node.attrs or {}
        if op.reach == "pointwise":
            part = applied(rule, spread_to(t, node.shape), out, values, attrs)
            selected = op.selects[position] if op.selects else None
            if selected is not None:
                part = OPS["where"].call(selected(out, *values, **attrs), part, 0.0)
        else:
            whole = spread_to(t, operand.shape)
            part = _transposed(rule, node, whole, out, values, attrs, create_graph)
        total = part if total is None else total + part
    return total


def _transposed(
    rule: Any, node: Node, t: Any, out: Any, values: list[Any], attrs: dict[str, Any], create_graph: bool
) -> Any:
    """The transpose of a rule, applied to a direction."""
    g = tensor(np.zeros(node.shape) if node.shape else 0.0, requires_grad=True)
    with scope(recording=True):
        c = rule(g, out, *values, **attrs)
        if type(c) is Tensor and c.shape != np.shape(t):
            c = OPS["expand"].call(c, np.shape(t))
    if type(c) is not Tensor or not c.requires_grad:
        return None
    found = walk(collect([c.node]), {c.node: t}, create_graph, [g.node])
    return found.get(g.node)
