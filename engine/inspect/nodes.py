"""The nodes of a graph as they are listed and counted: without those that only agrad itself needs.

`selected` chooses among them: those near the roots, or those between some values and the roots. `saved` has what one
node saved for its derivative, by PyTorch's names: `y.grad_fn._saved_self`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agrad.engine.core.graph import Node, by_seq, collect
from agrad.engine.core.graph_errors import freed_error
from agrad.engine.core.op import FIRST, SECOND
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import whole


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
    return op is not None and op.family == "internal" and op.role in ("copy", "tied")


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


# What a node saved

_PREFIX = "_saved_"


class NotSaved(AgradError, AttributeError):
    """A node did not save that: an AttributeError, so that `hasattr` is false."""


def saved(node: Node, name: str) -> Tensor:
    """A value that a node saved. Raises AgradError of kind `name` where there is none, `freed` where it is gone."""
    if not name.startswith(_PREFIX) or node.op is None:
        raise NotSaved("name", f"{node!r} has no attribute .{name}")
    known = _names(node)
    if name not in known:
        usual = [f"{_PREFIX}{one}" for one in (FIRST[0], SECOND[0], "result")]  # PyTorch's names
        there = [f".{one}" for one in known if one in usual]
        message = f"{node!r} saved nothing of that name" if there else f"{node!r} saved nothing"
        raise NotSaved("name", message, fixes=[Hint(one) for one in there])
    if node.freed is not None:
        raise freed_error([node], node)
    found: Any = known[name]
    if isinstance(found, Node):
        return bare(found, found.value)
    return tensor(found)


def _names(node: Node) -> dict[str, Any]:
    """What a node saved, by every name that it has."""
    assert node.op is not None
    reads, out = node.reads()
    found: dict[str, Any] = {f"{_PREFIX}result": node} if out else {}
    operands = node.op.signature.operands if not node.op.variadic else ()
    for place, (value, read) in enumerate(zip(node.inputs, reads, strict=True)):
        names = (*operands[place : place + 1], *((FIRST, SECOND)[place] if place < 2 else ()))
        found |= {f"{_PREFIX}{name}": value for name in names} if read else {}
    return found
