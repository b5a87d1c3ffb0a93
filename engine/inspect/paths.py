"""The paths of a graph, from a result back to one of the values behind it, and what each contributes by itself.

There may be more paths than anyone can list: a hundred doublings have 2**100. They are counted, and their sizes added
up, from node to node; only the largest are ever spelled out. Where every node on the way is a number these are found
exactly: what the best way from a node to the target can still contribute is known, on a scale of logarithms, before
the search begins, and the search always continues the way that can still contribute most, leaving the others for later
(E. L. Lawler, 1972). Where there are arrays, cotangents are sent down one path after another, for a while.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from agrad.engine.autodiff.reverse import Flight, applied, operand_value, spread_to, step
from agrad.engine.core.graph import Node, leading_to
from agrad.engine.values import Value, np, size_of, spread

STEPS = 10_000  # of the search among arrays; the first path is always followed to its end
_ENTRIES = 1000  # of an array, that cost as much as a step

_HEAD, _TAIL = 4, 2  # edges of a long path that are kept

# Logarithms for derivatives that have none. A path of a million steps has room to add them up.
_VANISHES = -1e200
_NOT_FINITE = 1e250


class Edge(NamedTuple):
    """One step of a path: a node, an operand, and the derivative of the one by the other where both are numbers."""

    node: Node
    operand: Node
    local: float | None


@dataclass(frozen=True, slots=True)
class Chain:
    """A path, from the result on, and what it contributes; of a long one the first and last of its `length` edges."""

    contribution: Value
    length: int
    head: list[Edge]
    tail: list[Edge]


@dataclass(frozen=True, slots=True)
class Found:
    """The largest paths to a target. `followed` is how many were looked at, None for all of them."""

    chains: list[Chain]
    count: int
    unselected: int  # of the count: these contribute exactly 0
    size: float | None  # the sum of all absolute contributions, where all is numbers
    followed: int | None = None


def search(order: list[Node], root: Node, targets: Sequence[Node], limit: int) -> dict[Node, Found]:
    """The `limit` largest paths from the root to each target. `order`: the nodes between them, youngest first."""
    if all(not node.shape for node in order):
        numbers = _Numbers(order, targets)
        return {target: numbers.search(target, limit) for target in targets}
    counts = _counts(order, root, targets)
    return {target: _follow(order, root, target, counts[target], limit) for target in targets}


def _size(contribution: Value) -> float:
    """The largest entry; nan counts as infinite."""
    if isinstance(contribution, float):
        number = abs(contribution)
    else:
        number = float(np.max(np.abs(contribution), initial=0.0))
    return math.inf if math.isnan(number) else number


def _ends(length: int) -> tuple[range, range]:
    """The places of the edges that are kept."""
    if length <= _HEAD + _TAIL + 1:
        return range(length), range(0)
    return range(_HEAD), range(length - _TAIL, length)


# Numbers


class _Link(NamedTuple):
    """An edge that contributes, by the place of its operand in the order; `size` is the logarithm of `local`."""

    operand: int
    local: float
    size: float


class _Start(NamedTuple):
    """A path not yet followed: the first `length` links of another one, then `link`, then the best way on."""

    bound: float
    number: int  # that two are never compared further
    before: list[_Link]
    length: int
    link: _Link | None
    size: float  # of the part up to and with `link`, as a logarithm


class _Numbers:
    """A graph of which every node is one number."""

    def __init__(self, order: list[Node], targets: Sequence[Node]) -> None:
        self.order = order
        self.places = {node: place for place, node in enumerate(order)}
        self.links: list[list[_Link]] = []
        self.numbers = count(0, -1)
        # Of each target: how many paths lead there, how many of these contribute, and the sum of their sizes.
        self.totals: dict[Node, tuple[int, int, float]] = {}
        flight: dict[int, tuple[int, int, float]] = {0: (1, 1, 1.0)}
        wanted = set(targets)
        for place, node in enumerate(order):
            paths, live, size = flight.pop(place, (0, 0, 0.0))
            if node in wanted:
                self.totals[node] = paths, live, size
            links: list[_Link] = []
            for operand, local in _locals(node, self.places):
                before = flight.get(operand, (0, 0, 0.0))
                total = before[0] + paths
                if local is None:
                    flight[operand] = total, before[1], before[2]
                    continue
                links.append(_Link(operand, local, _logarithm(local)))
                # The counts may be long numbers: they are added up twice only where they differ.
                alive = total if paths is live and before[0] is before[1] else before[1] + live
                flight[operand] = total, alive, before[2] + (size * abs(local) if live else 0.0)
            self.links.append(links)

    def search(self, target: Node, limit: int) -> Found:
        """The largest paths to one target."""
        paths, live, size = self.totals.get(target, (0, 0, 0.0))
        chains = [self._chain(path) for path in self._largest(self.places[target], limit)] if live else []
        chains.sort(key=lambda chain: _size(chain.contribution), reverse=True)
        return Found(chains, paths, paths - live, size)

    def _bounds(self, target: int) -> list[float]:
        """For each node the logarithm of the most that a path from there to the target multiplies by."""
        bounds = [-math.inf] * len(self.order)
        bounds[target] = 0.0
        for place in range(target - 1, -1, -1):
            for operand, _, size in self.links[place]:
                bound = size + bounds[operand]
                if bound > bounds[place]:
                    bounds[place] = bound
        return bounds

    def _largest(self, target: int, limit: int) -> list[list[_Link]]:
        """The paths with the largest products, largest first up to rounding."""
        bounds = self._bounds(target)
        waiting = [_Start(bounds[0], 0, [], 0, None, 0.0)]
        found: list[list[_Link]] = []
        while waiting and len(found) < limit:
            start = waiting.pop()
            path = start.before[: start.length]
            if start.link is not None:
                path.append(start.link)
            found.append(path)
            self._finish(path, start.size, target, bounds, waiting, limit - len(found))
        return found

    def _finish(
        self, path: list[_Link], size: float, target: int, bounds: list[float], waiting: list[_Start], room: int
    ) -> None:
        """Follow a path the best way on; of the other ways the `room` best are kept waiting, the best at the end."""
        place = path[-1].operand if path else 0
        while place != target:
            links = self.links[place]
            best = links[0]
            if len(links) > 1:
                best = max(links, key=lambda link: link.size + bounds[link.operand])
                for link in links:
                    bound = size + link.size + bounds[link.operand]
                    if link is best or bound == -math.inf or (len(waiting) >= room and bound <= _least(waiting)):
                        continue
                    # Of equals the first seen waits at the end.
                    insort(waiting, _Start(bound, next(self.numbers), path, len(path), link, size + link.size))
                    if len(waiting) > room:
                        del waiting[0]
            path.append(best)
            place, size = best.operand, size + best.size

    def _chain(self, path: list[_Link]) -> Chain:
        """A path with the nodes at its ends."""
        contribution = 1.0
        for link in path:
            contribution *= link.local

        def edge(at: int) -> Edge:
            node = self.order[path[at - 1].operand if at else 0]
            return Edge(node, self.order[path[at].operand], path[at].local)

        head, tail = _ends(len(path))
        return Chain(contribution, len(path), list(map(edge, head)), list(map(edge, tail)))


def _least(waiting: list[_Start]) -> float:
    """What a path must be able to contribute more than, where there is no more room."""
    return waiting[0].bound if waiting else math.inf


def _locals(node: Node, places: dict[Node, int]) -> list[tuple[int, float | None]]:
    """The operands of a number and its derivatives by them; None where a choice led elsewhere."""
    op, found = node.op, []
    if op is None:
        return []
    values: list[Any] | None = None
    for position, operand in enumerate(node.inputs):
        rule = op.rule(position)
        if type(operand) is not Node or rule is None or operand not in places or not operand.requires_grad:
            continue
        values = [operand_value(x, False) for x in node.inputs] if values is None else values
        attrs = {**(node.attrs or {}), "which": position} if op.variadic else node.attrs or {}
        selects = op.selects[position] if op.selects else None
        selected = selects is None or selects(node.value, *values, **attrs) != 0.0
        local = float(applied(rule, 1.0, node.value, values, attrs)) if selected else None
        found.append((places[operand], local))
    return found


def _logarithm(local: float) -> float:
    size = abs(local)
    if 0.0 < size < math.inf:
        return math.log2(size)
    return _VANISHES if size == 0.0 else _NOT_FINITE


# Arrays


class _Branches(Flight):
    """Keeps apart what a walk would add up."""

    __slots__ = ("apart",)

    def __init__(self, node: Node, reach: Any) -> None:
        super().__init__({})
        self.apart: list[tuple[Node, Any, Any]] = []
        if reach is not None:
            self.reach[node] = reach

    def add(self, node: Node, c: Any, reach: Any) -> None:
        """One more contribution."""
        self.apart.append((node, c, reach))


class _Way(NamedTuple):
    """A path under way: where it has come to, with which cotangent, which entries of it were reached, and from where.

    `trail` holds the nodes before, the last first: a pair of the node and its own trail.
    """

    node: Node
    cotangent: Any
    reach: Any
    trail: Any


def _counts(order: list[Node], root: Node, targets: Sequence[Node]) -> dict[Node, int]:
    """How many paths lead from the root to each target, whatever they contribute."""
    flight, known, wanted = {root: 1}, set(order), set(targets)
    counts = dict.fromkeys(targets, 0)
    for node in order:
        paths = flight.pop(node, 0)
        if node in wanted:
            counts[node] = paths
        for position, operand in enumerate(node.inputs):
            if type(operand) is Node and operand in known and node.op is not None and node.op.rule(position):
                flight[operand] = flight.get(operand, 0) + paths
    return counts


def _follow(order: list[Node], root: Node, target: Node, total: int, limit: int) -> Found:
    """The largest of the paths to one target, of those that `STEPS` steps lead to."""
    leading = set(leading_to(order, [target]))
    ways = [_Way(root, spread(1.0, root.shape), None, None)] if root in leading else []
    ends: list[_Way] = []
    steps, followed, complete = 0, 0, True
    while ways:
        way = ways.pop()
        if way.node is target:
            followed += 1
            if np.any(way.cotangent):
                ends.append(way)
            continue
        if steps >= STEPS and followed:
            complete = False
            break
        steps += 1 + size_of(way.node.shape) // _ENTRIES
        onward = [branch for branch in _branches(way) if branch.node in leading]
        if steps >= STEPS and len(onward) > 1:
            complete = False
            del onward[1:]
        ways += reversed(onward)
    ends.sort(key=lambda way: _size(way.cotangent), reverse=True)
    chains = [_chain(way) for way in ends[:limit]]
    return Found(chains, total, total - len(ends), None) if complete else Found(chains, total, 0, None, followed)


def _branches(way: _Way) -> list[_Way]:
    """The ways on from a node, without those that no selected entry leads along."""
    node = way.node
    if node.op is None:
        return []
    flight = _Branches(node, way.reach)
    step(node.op, node, way.cotangent, flight, False)
    scattered = [(operand, c, flight.reach.get(operand)) for operand, c in flight.cotangents.items()]
    trail = (node, way.trail)
    return [
        _Way(operand, spread_to(c, operand.shape), reach, trail)
        for operand, c, reach in flight.apart + scattered
        if reach is None or np.any(reach)
    ]


def _chain(way: _Way) -> Chain:
    """A path with the nodes at its ends."""
    nodes, trail = [way.node], way.trail
    while trail is not None:
        node, trail = trail
        nodes.append(node)
    nodes.reverse()

    def edge(at: int) -> Edge:
        return Edge(nodes[at], nodes[at + 1], None)

    head, tail = _ends(len(nodes) - 1)
    return Chain(way.cotangent, len(nodes) - 1, list(map(edge, head)), list(map(edge, tail)))
