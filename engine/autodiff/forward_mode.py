"""Forward mode: a direction at the leaves, pushed from the oldest node to the youngest.

No operation has a second rule for this. A vjp rule is linear in the cotangent; for an operation that works entry by
entry it is its own transpose, so that the rule itself pushes a direction forward. An operation that only moves and adds
the entries of one operand is linear, and is applied to the direction. For every other the rule is transposed: recorded
as a function of the cotangent, and differentiated backward from the direction.

Where no graph of the result is asked for, the directions are plain values, and nothing else is recorded. The result is
the same to the last bit. As the rounding of a sum depends on the memory layout, what was computed from a value of the
graph is therefore stored row by row, as it is in a Tensor.

Where an operand is not selected, or the operation jumps, nothing of a direction arrives. As in the backward pass, a
mask says of which entries that holds, and a rule that multiplies by inf there gives exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agrad.engine.autodiff.reverse import applied, arrived, operand_value, spread_to, walk
from agrad.engine.core.context import scope
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, collect, leading_to, leaf
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Op, flat
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.core.versions import check_walkable
from agrad.engine.values import np


def push(y: Tensor, directions: dict[Node, Any], create_graph: bool) -> Any:
    """The derivative of y along the directions given for nodes behind it; None if y depends on none of them.

    The result is a plain value, or with `create_graph` a Tensor that can be differentiated again. Raises AgradError of
    kind `freed` or `stale`.
    """
    return push_all([y], directions, create_graph)[0]


def push_all(ys: Sequence[Tensor], directions: dict[Node, Any], create_graph: bool) -> list[Any]:
    """The same for several values, in one pass."""
    order = leading_to(collect([y.node for y in ys]), directions)[::-1]
    for y in ys:
        check_walkable(order, y.node)
    return push_along(order, ys, directions, create_graph)


def push_along(
    order: Iterable[Node],
    ys: Sequence[Tensor],
    directions: dict[Node, Any],
    create_graph: bool,
    masks: Mapping[Node, Any] = {},
) -> list[Any]:
    """The same through nodes that were checked, oldest first: those from the directions to the values are enough.

    `masks` selects the entries of a direction that count, if not all do: a column of a Jacobian is about one.
    """
    passing = _Pass(dict(directions), create_graph, dict(masks))
    with scope(recording=create_graph), quiet():
        for node in order:
            if node.op is None or not node.requires_grad or node in directions:
                continue
            total = passing.pushed(node.op, node)
            if total is not None:
                passing.tangents[node] = total
    found = [passing.tangents.get(y.node) for y in ys]
    return [None if t is None else spread_to(t, y.shape) for y, t in zip(ys, found, strict=True)]


class _Pass:
    """The directions so far, and of which nodes they are stored row by row."""

    __slots__ = ("by_rows", "create_graph", "masks", "tangents")

    def __init__(self, tangents: dict[Node, Any], create_graph: bool, masks: dict[Node, Any]) -> None:
        self.tangents = tangents
        self.create_graph = create_graph
        self.masks = masks  # 0 where nothing of a direction arrives; none for a node at which all of it does
        self.by_rows: set[Node] = set()

    def pushed(self, op: Op, node: Node) -> Any:
        """The direction of a result, from those of its operands; None if they have none."""
        total: Any = None
        reached: Any = None
        values: list[Any] | None = None
        reads = any(op.reads) or op.selects is not None
        recorded = self.create_graph or (reads and op.reach != "pointwise")
        for position, operand in enumerate(node.inputs):
            rule = op.rule(position)
            t = self.tangents.get(operand) if isinstance(operand, Node) else None
            if t is None or rule is None or rule is flat:
                continue
            assert isinstance(operand, Node)
            if values is None:
                values = [operand_value(x, recorded) for x in node.inputs]
                out = operand_value(node, recorded)
            attrs = op.attributes_at(position, node.attrs)
            mask = self.masks.get(operand)
            if op.reach == "pointwise":
                part = applied(rule, spread_to(t, node.shape), out, values, attrs)
                selected = op.selects[position] if op.selects else None
                if selected is not None:
                    chosen = selected(out, *values, **attrs)
                    mask = chosen if mask is None else chosen * mask
                if mask is not None:
                    part = OPS["where"].call(mask, part, 0.0)
            else:
                known = (out, values, attrs, recorded)
                part = self._through(op, node, position, t, known)
                if mask is not None:
                    mask = None if op.reach == "mixed" else arrived(self._through(op, node, position, mask, known))
            if not self.create_graph and (operand in self.by_rows or _reads_graph(op, node, position)):
                self.by_rows.add(node)
            if total is None:
                total, reached = part, mask
            else:
                total = total + part
                reached = None if reached is None or mask is None else OPS["maximum"].call(reached, mask)
        if reached is not None:
            self.masks[node] = reached
        return total if self.create_graph else self._plain(node, total)

    def _through(self, op: Op, node: Node, position: int, t: Any, known: tuple[Any, ...]) -> Any:
        """A direction, or a mask, through an operation that does not work entry by entry."""
        out, values, attrs, recorded = known
        operand: Any = node.inputs[position]
        whole = spread_to(t, operand.shape)
        if not recorded and op.moves_entries and len(op.rules) == 1 and not op.variadic:
            return compute(op, (whole,), attrs)
        if recorded and operand in self.by_rows:
            whole = bare(leaf(whole))
        return _transposed(op.rule(position), node, whole, out, values, attrs, recorded)

    def _plain(self, node: Node, total: Any) -> Any:
        """A direction without a graph."""
        if type(total) is Tensor:
            total = total.value
        return np.ascontiguousarray(total) if node in self.by_rows and hasattr(total, "shape") else total


def _reads_graph(op: Op, node: Node, position: int) -> bool:
    """Whether the rule of an operand reads a value of the graph, which is more than constants."""
    *operands, out = op.keeps[0 if op.variadic else position]
    reads = operands * len(node.inputs) if op.variadic else operands
    return out or any(read and type(x) is Node for read, x in zip(reads, node.inputs, strict=True))


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
