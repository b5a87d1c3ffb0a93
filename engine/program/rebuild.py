"""Freed graphs built again: a replay gives a freed node back what it was computed from, and what its rules read.

A freed node still has its operation, its operands and their numbers. What it may have lost are constants with more than
one number, and an index made of arrays. A constant that something else refers to is still there.
"""

from __future__ import annotations

from agrad.engine.core.graph import Input, Node, remembered, touch
from agrad.engine.core.graph_errors import gone_error
from agrad.engine.values import Value


class Rebuilt:
    """The freed nodes of a graph while it is replayed: they are as before, until the replay fails."""

    def __init__(self) -> None:
        self.before: dict[Node, tuple[tuple[Input, ...], object, Value | None]] = {}
        self.kept: set[Node] = set()  # the arrays that rules read, which have to be computed again

    def add(self, node: Node, root: Node) -> None:
        """Take a freed node into the graph again. Raises AgradError of kind `freed` if a constant is gone."""
        assert node.op is not None
        if node.attrs is None and node.op.signature.attributes:
            raise gone_error(node, root, None)
        inputs = []
        for operand in node.inputs:
            found = remembered(operand)
            if found is None:
                raise gone_error(node, root, operand if isinstance(operand, Node) else None)
            inputs.append(found)
        touch(node)
        self.before[node] = node.inputs, node.freed, node.value
        node.inputs, node.freed = tuple(inputs), None
        reads, reads_result = node.op.read_in(node)
        read = [x for x, on in zip(inputs, reads, strict=True) if on and type(x) is Node and x.op is not None]
        self.kept.update(x for x in [*read, *([node] if reads_result else [])] if x.value is None)

    def put_back(self) -> None:
        """Leave the nodes freed, as they were."""
        for node, (inputs, freed, value) in self.before.items():
            node.inputs, node.freed, node.value = inputs, freed, value
