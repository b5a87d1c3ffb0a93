"""The graphs that live: those that something refers to, each with what does.

Two values have one graph if they share an operation; that they share a leaf does not connect them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agrad.engine.core.graph import Node, by_seq, collect


@dataclass(frozen=True, slots=True)
class LiveGraph:
    """Operations that are connected: the results that nothing else was computed from, and what refers to any."""

    ends: tuple[Node, ...]  # the oldest first
    operations: int
    freed: int  # of these
    holders: tuple[str, ...]


def live_graphs(held: Iterable[tuple[str, Iterable[Node]]]) -> list[LiveGraph]:
    """The graphs behind some nodes, the oldest first; `held`: who holds which nodes."""
    holders = [(name, [node for node in nodes if node.op is not None]) for name, nodes in held]
    order = [node for node in collect(node for _, nodes in holders for node in nodes) if node.op is not None]
    groups, used = _Groups(), set[Node]()
    for node in order:
        for operand in node.inputs:
            if type(operand) is Node and operand.op is not None:
                groups.join(node, operand)
                used.add(operand)
    members: dict[Node, list[Node]] = {}
    for node in reversed(order):
        members.setdefault(groups.of(node), []).append(node)
    names: dict[Node, dict[str, None]] = {}
    for name, nodes in holders:
        for node in nodes:
            names.setdefault(groups.of(node), {})[name] = None
    found = [
        LiveGraph(
            tuple([node for node in nodes if node not in used]),
            len(nodes),
            sum(node.freed is not None for node in nodes),
            tuple(names.get(group, ())),
        )
        for group, nodes in members.items()
    ]
    return sorted(found, key=lambda graph: by_seq(graph.ends[0]))


class _Groups:
    """Nodes that are connected have one representative."""

    def __init__(self) -> None:
        self.parent: dict[Node, Node] = {}

    def of(self, node: Node) -> Node:
        """The representative of a node."""
        path = []
        while (parent := self.parent.get(node, node)) is not node:
            path.append(node)
            node = parent
        for one in path:
            self.parent[one] = node
        return node

    def join(self, one: Node, other: Node) -> None:
        """Connect two nodes."""
        self.parent[self.of(one)] = self.of(other)
