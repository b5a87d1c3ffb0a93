"""Which part of a graph is wanted: what is near its root, or what leads there from somewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import whole


def among(root: Node, ordered: list[Node], depth: int | None, since: Sequence[Tensor]) -> set[int] | None:
    """The `seq` of each node that is wanted; None for all. Raises as `dump` does."""
    near = None if depth is None else _near(root, depth)
    leading = _leading(root, ordered, [x.node for x in since]) if since else None
    return near & leading if near is not None and leading is not None else leading if near is None else near


def _near(root: Node, depth: int) -> set[int]:
    """What is at most `depth` operations behind the root, on the shortest way."""
    depth = whole(depth, "the depth of a graph")
    if depth < 0:
        raise AgradError("domain", f"the depth of a graph counts operations from its end: it cannot be {depth}")
    found, level = {root.seq}, [root]
    for _ in range(depth):
        level = list({x.seq: x for node in level for x in operands(node) if x.seq not in found}.values())
        if not level:
            break
        found.update(node.seq for node in level)
    return found


def _leading(root: Node, ordered: list[Node], sources: list[Node]) -> set[int]:
    """What is on a path from a source to the root, and the operands of what was computed on the way."""
    known = {root.seq, *(x.seq for node in ordered for x in operands(node))}
    for source in sources:
        if source.seq not in known:
            message = f"{root.spell()} was not computed from {source.spell()}: no path of the graph leads there"
            raise AgradError("grad", message, node=source)
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
    return (x for x in node.inputs if type(x) is Node)
