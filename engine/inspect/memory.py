"""What a graph holds: the numbers that its rules saved, and those of its leaves and constants; and what keeps it.

An array counts once, by its buffer, however many nodes and aliases lead to it. The data of a leaf or a constant are
its own, even if a rule reads them; the graph holds what only it needs: results and selections that a backward reads.
A number counts 8 bytes. Freed values do not count, nor do the nodes themselves (some 250 bytes each).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from agrad.engine.core.graph import Node, behind, by_seq, collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date
from agrad.engine.inspect.nodes import listed

_NUMBER = 8


class Held(NamedTuple):
    """The memory of the graph behind some values."""

    nodes: int  # as a dump lists them
    arrays: int  # saved by its rules
    scalars: int  # results of its computed nodes
    bytes: int  # of these arrays and scalars
    leaves: int  # bytes of its leaves and constants


def held(*values: Tensor | Node) -> Held:
    """The memory of the graph behind some values: of its rules, and of its leaves and constants."""
    saved, given = _Tally(), _Tally()
    roots = [value.node if isinstance(value, Tensor) else value for value in values]
    for node in behind(roots, links=_links):
        if node.op is None:
            given.add(node.value)
        elif node.freed is None or node.shape:  # with uncertain values behind it, a freed one keeps its arrays
            saved.add(node.value)
            for operand in node.inputs:
                if type(operand) is not Node:
                    given.add(operand)
            for attribute in node.attrs.values() if node.attrs else ():
                saved.add(attribute)
    for buffer in given.buffers:
        saved.buffers.pop(buffer, None)
    return Held(len(listed(*roots)), len(saved.buffers), saved.scalars, saved.bytes, given.bytes)


class _Tally:
    """The numbers and buffers counted so far."""

    __slots__ = ("buffers", "scalars")

    def __init__(self) -> None:
        self.scalars = 0
        self.buffers: dict[int, int] = {}  # the bytes of each, by identity

    @property
    def bytes(self) -> int:
        return self.scalars * _NUMBER + sum(self.buffers.values())

    def add(self, value: Any) -> None:
        """Count a number, an array, or the arrays of an index."""
        if type(value) is float:
            self.scalars += 1
        elif type(value) is tuple:
            for part in value:
                if type(part) is not float:
                    self.add(part)
        elif hasattr(value, "nbytes"):
            while hasattr(value.base, "nbytes"):
                value = value.base
            self.buffers[id(value)] = value.nbytes


def _links(node: Node) -> Iterator[Node]:
    """The nodes that a node refers to: its operands, and what a gradient with a vanishing derivative came from."""
    tied = (node.attrs.get("on"),) if node.attrs else ()
    return (x for x in (*node.inputs, *tied) if type(x) is Node)


class Survey(NamedTuple):
    """A summary of the graphs behind several values. Beyond a bound nodes are not visited: then `more` is true."""

    leaves: int  # that require grad
    nodes: int  # of operations
    freed: int  # of these
    stale: int  # of these: held, and computed from something that has other data now; 0 with `more`
    bytes: int  # saved by their rules
    more: bool


def survey(values: Iterable[Any], most: int) -> Survey:
    """The memory of the graphs behind the values together; of large ones about `most` nodes are visited."""
    saved, roots = _Tally(), [x.node for x in values if isinstance(x, Tensor)]
    found = list(islice(behind(roots, links=_links), most + 1))
    computed = [node for node in found[:most] if node.op is not None]
    for node in computed:
        if node.freed is None or node.shape:
            saved.add(node.value)
    leaves = sum(node.op is None and node.requires_grad for node in found[:most])
    freed = sum(node.freed is not None for node in computed)
    more = len(found) > most
    stale = 0 if more else sum(node.freed is None for node in out_of_date(collect(roots)))
    return Survey(leaves, len(computed), freed, stale, saved.bytes, more)


def holders(names: Mapping[str, Any], node: Node) -> list[str]:
    """The names whose graph contains a node, in their order: while one of them exists, so does the node.

    A name refers to a value, a node, or several in a tuple.
    """
    roots = {name: _roots(value) for name, value in names.items()}
    leading = {node}  # the nodes that were computed from it, and itself: nothing older is visited
    every = (root for own in roots.values() for root in own)
    for one in sorted(behind(every, lambda one: one.seq > node.seq, _links), key=by_seq):
        if one.seq > node.seq and any(operand in leading for operand in _links(one)):
            leading.add(one)
    return [name for name, own in roots.items() if any(root in leading for root in own)]


def _roots(value: Any) -> list[Node]:
    """The nodes that a name refers to directly."""
    if isinstance(value, tuple | list):
        return [node for part in value for node in _roots(part)]
    return [value.node] if isinstance(value, Tensor) else [value] if isinstance(value, Node) else []


# The graphs that live


class LiveGraph(NamedTuple):
    """Operations that are connected: the results that nothing else was computed from, and what refers to any."""

    ends: tuple[Node, ...]  # the oldest first
    operations: int
    freed: int  # of these
    holders: tuple[str, ...]


def live_graphs(held: Iterable[tuple[str, Iterable[Node]]]) -> list[LiveGraph]:
    """The graphs behind some nodes, the oldest first, each with what refers to it; `held`: who holds which nodes.

    Two values have one graph if they share an operation; that they share a leaf does not connect them.
    """
    holders = [(name, [node for node in nodes if node.op is not None]) for name, nodes in held]
    order = [node for node in collect(node for _, nodes in holders for node in nodes) if node.op is not None]
    links: dict[Node, list[Node]] = {node: [] for node in order}  # what each was computed from, and what from it
    used = set[Node]()
    for node in order:
        for operand in node.inputs:
            if type(operand) is Node and operand in links:
                links[node].append(operand)
                links[operand].append(node)
                used.add(operand)
    found: list[LiveGraph] = []
    done = set[Node]()
    for node in order:
        if node not in done:
            group = set(behind([node], links=links.__getitem__))
            done |= group
            ends = tuple(sorted(group - used, key=by_seq))
            names = dict.fromkeys(name for name, nodes in holders if not group.isdisjoint(nodes))
            found.append(LiveGraph(ends, len(group), sum(one.freed is not None for one in group), tuple(names)))
    return sorted(found, key=lambda graph: by_seq(graph.ends[0]))
