"""Which nodes of a graph are shown: those near its roots, or those between some values and the roots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.inspect.nodes import through
from agrad.engine.values import whole


def selected(roots: list[Node], ordered: list[Node], depth: int | None, since: Sequence[Tensor]) -> set[int] | None:
    """The `seq` of each node to show; None for all. Raises as `dump` does."""
    near = None if depth is None else _within(roots, depth)
    between = _between(roots, ordered, [x.node for x in since]) if since else None
    return near & between if near is not None and between is not None else between if near is None else near


def _within(roots: list[Node], depth: int) -> set[int]:
    """The nodes at most `depth` operations behind a root, by the shortest path."""
    depth = whole(depth, "the depth of a graph")
    if depth < 0:
        raise AgradError("domain", f"the depth of a graph counts operations from its end: it cannot be {depth}")
    found, level = {root.seq for root in roots}, roots
    for _ in range(depth):
        level = list({x.seq: x for node in level for x in operands(node) if x.seq not in found}.values())
        if not level:
            break
        found.update(node.seq for node in level)
    return found


def _between(roots: list[Node], ordered: list[Node], sources: list[Node]) -> set[int]:
    """The nodes on a path from a source to a root, and the operands of those that were computed."""
    known = {*(root.seq for root in roots), *(x.seq for node in ordered for x in operands(node))}
    for source in sources:
        if source.seq not in known:
            name = " and ".join(root.spell() for root in roots) + (" were" if len(roots) > 1 else " was")
            message = f"{name} not computed from {source.spell()}: no path of the graph connects them"
            raise AgradError("grad", message)
    leading = {source.seq for source in sources}
    beside: set[int] = set()
    for node in ordered:
        behind = [x.seq for x in operands(node)]
        if not leading.isdisjoint(behind):
            leading.add(node.seq)
            beside.update(behind)
    return leading | beside


def operands(node: Node) -> Iterator[Node]:
    """The operands that are nodes."""
    return (x for x in map(through, node.inputs) if type(x) is Node)
