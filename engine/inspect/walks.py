"""Backward passes for a page: what arrives at each node, its local derivatives, and what it passes to each operand.

Nothing is written or freed: the passes are recorded as graphs, so that a program of all their numbers can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agrad.engine.autodiff.backward import seed_of
from agrad.engine.autodiff.reverse import applied, operand_value, spread_to, walk
from agrad.engine.core.context import scope
from agrad.engine.core.graph import Node
from agrad.engine.core.graph_errors import freed_error, no_grad_error
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Op
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.core.versions import walkable
from agrad.engine.errors import AgradError
from agrad.engine.inspect.rows import FEW
from agrad.engine.program.trace import recording
from agrad.engine.values import np, size_of


@dataclass(frozen=True, slots=True)
class Part:
    """What a node passes to one operand; `local` is None where the local derivative would be a large array."""

    operand: Node
    local: Tensor | None
    contribution: Tensor


@dataclass(slots=True)
class Visit:
    """A node in a backward pass, with the cotangent that arrived at it."""

    node: Node
    cotangent: Tensor
    parts: list[Part] = field(default_factory=list)


@dataclass(slots=True)
class Walk:
    """One backward pass: its visits, and what arrives at the nodes that keep a gradient.

    `refused`: why it cannot be walked as the graph is; `freed`: why not after the passes before it, which free it.
    """

    root: Node
    visits: list[Visit] = field(default_factory=list)
    kept: dict[Node, Tensor] = field(default_factory=dict)
    order: list[Node] = field(default_factory=list)
    refused: AgradError | None = None
    freed: AgradError | None = None


def walks_from(roots: Sequence[Node]) -> list[Walk]:
    """The backward passes from some values, in turn; a single one twice, since its second is refused."""
    found = [_walked(root) for root in roots]
    if len(found) == 1 and found[0].refused is None:
        first = found[0]
        found.append(Walk(first.root, first.visits, first.kept, first.order))
    gone: dict[Node, str] = {}
    for one in found:
        if one.refused is not None:
            continue
        lost = [node for node in one.order if node in gone]
        if lost:
            one.freed = freed_error(lost, one.root, by=gone[lost[0]])
        else:
            gone |= {node: f"backward {one.root.spell()}" for node in one.order if node.op is not None}
    return found


def _walked(root: Node) -> Walk:
    """The pass from one value."""
    made = Walk(root)
    visits: dict[Node, Visit] = {}

    def watch(node: Node, position: int, g: Any, c: Any) -> None:
        op, operand = node.op, node.inputs[position]
        assert op is not None
        assert isinstance(operand, Node)
        if node not in visits:
            visits[node] = Visit(node, _tensor(spread_to(g, node.shape)))
            made.visits.append(visits[node])
        if op.reach == "pointwise" and operand.shape != node.shape:
            c = OPS["sum_to"].call(_tensor(spread_to(c, node.shape)), operand.shape)
        visits[node].parts.append(Part(operand, _local(op, node, position), _tensor(spread_to(c, operand.shape))))

    try:
        if not root.requires_grad:
            raise no_grad_error(bare(root))
        seed = seed_of(bare(root), None, False)
        made.order, _ = walkable(root)
        with recording(), scope(listener=None, undefined=None, undo_log=None), quiet():
            found = walk(made.order, {root: seed}, True, watch=watch, hooks=False)
        made.kept = {node: _tensor(value) for node, value in found.items()}
    except AgradError as refused:
        made.refused = refused
    return made


def _local(op: Op, node: Node, position: int) -> Tensor | None:
    """The derivative of a node by an operand, as `backward_trace` shows it, with its graph: the rule applied to 1."""
    operand, rule = node.inputs[position], op.rule(position)
    assert isinstance(operand, Node)
    shape = node.shape or operand.shape
    if rule is None or size_of(shape) > FEW or (node.shape and op.reach != "pointwise"):
        return None
    values = [operand_value(x, True) for x in node.inputs]
    attrs = {**(node.attrs or {}), "which": position} if op.variadic else node.attrs or {}
    out = operand_value(node, True)
    local = applied(rule, np.ones(node.shape) if node.shape else 1.0, out, values, attrs)
    selects = op.selects[position] if op.selects else None
    if selects is not None:
        chosen = selects(out, *values, **attrs)
        whole = chosen if op.reach == "pointwise" or not operand.shape else OPS["any"].call(chosen)
        local = OPS["where"].call(whole, local, 0.0)
    return _tensor(spread_to(local, shape))


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else tensor(x)
