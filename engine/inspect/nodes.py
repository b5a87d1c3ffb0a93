"""The nodes of a graph as they are listed and counted: without those that only agrad itself needs."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.graph import Node, by_seq, collect


def listed(*roots: Node) -> list[Node]:
    """The nodes behind some values, oldest first, constants with a name or more than one entry included.

    A copy that a derivative made is left out, unless it is one of the values: see `through`.
    """
    recorded = [node for node in collect(roots) if node in roots or not _is_hidden(node)]
    return sorted([*recorded, *_constants(recorded)], key=by_seq)


def numbered(*roots: Node) -> dict[int, int]:
    """The number that each node behind some values has in their dump, by its `seq`."""
    return {node.seq: number for number, node in enumerate(listed(*roots), 1)}


def through(operand: Any) -> Any:
    """What is listed for an operand: for a copy that a derivative made, what was copied."""
    while type(operand) is Node and _is_hidden(operand):
        operand = operand.inputs[0]
    return operand


def _is_hidden(node: Node) -> bool:
    op = node.op
    return op is not None and op.family == "internal" and (op.is_copy or op.tied_by != "")


def _constants(nodes: list[Node]) -> list[Node]:
    """The constants among the operands that get a line of their own.

    A freed node knows its constants no longer, only that there were some; one that others still hold is listed once.
    """
    found: dict[int, Node] = {}
    for node in nodes:
        for operand in map(through, node.inputs):
            if type(operand) is not Node or operand.recorded or not (operand.shape or operand.name):
                continue
            if operand.seq < node.seq and (operand.seq not in found or found[operand.seq].value is None):
                found[operand.seq] = operand
    return list(found.values())
