"""The paths of a graph, from a result back to one of the values behind it, and the contribution of each.

There may be too many paths to list: a hundred doublings have 2**100. They are counted, and their sizes added up, from
node to node; only the largest are listed. If every node between is a number, these are found exactly: the most that a
path from a node to the target can contribute is computed first, as a logarithm, and the search always continues the
partial path that can contribute most (E. L. Lawler, 1972). If there are arrays, cotangents are sent along one path
after another, up to a limit of steps.
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

STEPS = 10_000  # steps of the search among arrays; the first path is always followed to its end
_ENTRIES = 1000  # entries of an array that cost as much as a step

_HEAD, _TAIL = 4, 2  # edges of a long path that are kept

# Logarithms for derivatives of 0, inf and nan. They can be added up over a path of a million steps.
_VANISHES = -1e200
_NOT_FINITE = 1e250


class Edge(NamedTuple):
    """One step of a path: a node, an operand, and the derivative of the one by the other where both are numbers."""

    node: Node
    operand: Node
    local: float | None


@dataclass(frozen=True, slots=True)
class Path:
    """A path from the result, and its contribution; of a long one the first and last of its `length` edges."""

    contribution: Value
    length: int
    head: list[Edge]
    tail: list[Edge]


@dataclass(frozen=True, slots=True)
class LargestPaths:
    """The largest paths to a target. `followed` is how many were followed, None for all of them."""

    paths: list[Path]
    count: int
    unselected: int  # of the count: these contribute exactly 0
    size: float | None  # the sum of all absolute contributions, if all nodes are numbers
    followed: int | None = None


def search(order: list[Node], root: Node, targets: Sequence[Node], limit: int) -> dict[Node, LargestPaths]:
    """The `limit` largest paths from the root to each target. `order`: the nodes between them, youngest first."""
    among, of_numbers = _among_numbers(order, targets)
    found: dict[Node, LargestPaths] = {}
    if of_numbers:
        numbers = _Numbers(among, of_numbers)
        found = {target: numbers.search(target, limit) for target in of_numbers}
    if rest := [target for target in targets if target not in found]:
        counts = _counts(order, root, rest)
        found |= {target: _follow(order, root, target, counts[target], limit) for target in rest}
    return found


def _among_numbers(order: list[Node], targets: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The targets that all paths to lead through numbers alone, and the nodes of those paths, youngest first.

    An array that is behind another target changes nothing for them.
    """
    if all(not node.shape for node in order):
        return order, list(targets)
    kept: set[Node] = set()
    found = []
    for target in targets:
        behind = {target}
        for node in reversed(order):
            if any(type(operand) is Node and operand in behind for operand in node.inputs):
                behind.add(node)
        behind.intersection_update(order)
        if target in behind and not any(node.shape for node in behind):
            found.append(target)
            kept |= behind
    return [node for node in order if node in kept], found


def _size(contribution: Value) -> float:
    """The largest entry; nan counts as infinite."""
    if isinstance(contribution, float):
        number = abs(contribution)
    else:
        number = float(np.max(np.abs(contribution), initial=0.0))
    return math.inf if math.isnan(number) else number


def _ends(length: int) -> tuple[range, range]:
    """The indices of the edges that are kept."""
    if length <= _HEAD + _TAIL + 1:
        return range(length), range(0)
    return range(_HEAD), range(length - _TAIL, length)


# Numbers


class _Link(NamedTuple):
    """An edge that contributes, by the place of its operand in the order; `size` is the logarithm of `local`."""

    operand: int
    local: float
    size: float


class _Candidate(NamedTuple):
    """A path not yet followed: the first `length` links of another one, then `link`, then the best continuation."""

    bound: float
    number: int  # so that later fields are never compared
    before: list[_Link]
    length: int
    link: _Link | None
    size: float  # of the part up to and with `link`, as a logarithm


class _Numbers:
    """The search in a graph in which every node is one number."""

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

    def search(self, target: Node, limit: int) -> LargestPaths:
        """The largest paths to one target."""
        total, live, size = self.totals.get(target, (0, 0, 0.0))
        paths = [self._path(links) for links in self._largest(self.places[target], limit)] if live else []
        paths.sort(key=lambda path: _size(path.contribution), reverse=True)
        return LargestPaths(paths, total, total - live, size)

    def _bounds(self, target: int) -> list[float]:
        """For each node the logarithm of the largest factor of a path from there to the target."""
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
        waiting = [_Candidate(bounds[0], 0, [], 0, None, 0.0)]
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
        self, path: list[_Link], size: float, target: int, bounds: list[float], waiting: list[_Candidate], room: int
    ) -> None:
        """Complete a path by its best continuation; the `room` best others are kept for later, the best at the end."""
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
                    # Of equal ones the first seen is at the end.
                    insort(waiting, _Candidate(bound, next(self.numbers), path, len(path), link, size + link.size))
                    if len(waiting) > room:
                        del waiting[0]
            path.append(best)
            place, size = best.operand, size + best.size

    def _path(self, links: list[_Link]) -> Path:
        """A path with the edges at both ends."""
        contribution = 1.0
        for link in links:
            contribution *= link.local

        def edge(at: int) -> Edge:
            node = self.order[links[at - 1].operand if at else 0]
            return Edge(node, self.order[links[at].operand], links[at].local)

        head, tail = _ends(len(links))
        return Path(contribution, len(links), list(map(edge, head)), list(map(edge, tail)))


def _least(waiting: list[_Candidate]) -> float:
    """The bound that a new candidate has to exceed when there is no more room."""
    return waiting[0].bound if waiting else math.inf


def _locals(node: Node, places: dict[Node, int]) -> list[tuple[int, float | None]]:
    """The operands of a number and its derivatives by them; None for an operand that was not selected."""
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
    """Keeps the contributions separate that a backward pass would add up."""

    __slots__ = ("apart",)

    def __init__(self, node: Node, mask: Any) -> None:
        super().__init__({})
        self.apart: list[tuple[Node, Any, Any]] = []
        if mask is not None:
            self.masks[node] = mask

    def add(self, node: Node, c: Any, mask: Any) -> None:
        """One more contribution."""
        self.apart.append((node, c, mask))


class _PartialPath(NamedTuple):
    """A path followed so far: the node it has come to, the cotangent there, and a mask of the entries reached.

    `trail` holds the nodes before, the last first: a pair of the node and its own trail.
    """

    node: Node
    cotangent: Any
    mask: Any
    trail: Any


def _counts(order: list[Node], root: Node, targets: Sequence[Node]) -> dict[Node, int]:
    """How many paths lead from the root to each target, with any contribution."""
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


def _follow(order: list[Node], root: Node, target: Node, total: int, limit: int) -> LargestPaths:
    """The largest of the paths to one target, of those that `STEPS` steps lead to."""
    leading = set(leading_to(order, [target]))
    waiting = [_PartialPath(root, spread(1.0, root.shape), None, None)] if root in leading else []
    ends: list[_PartialPath] = []
    steps, followed, complete = 0, 0, True
    while waiting:
        path = waiting.pop()
        if path.node is target:
            followed += 1
            if np.any(path.cotangent):
                ends.append(path)
            continue
        if steps >= STEPS and followed:
            complete = False
            break
        steps += 1 + size_of(path.node.shape) // _ENTRIES
        onward = [branch for branch in _branches(path) if branch.node in leading]
        if steps >= STEPS and len(onward) > 1:
            complete = False
            del onward[1:]
        waiting += reversed(onward)
    ends.sort(key=lambda path: _size(path.cotangent), reverse=True)
    paths = [_path(end) for end in ends[:limit]]
    return (
        LargestPaths(paths, total, total - len(ends), None)
        if complete
        else LargestPaths(paths, total, 0, None, followed)
    )


def _branches(path: _PartialPath) -> list[_PartialPath]:
    """A path continued along every edge from its node, except those that no selected entry leads along."""
    node = path.node
    if node.op is None:
        return []
    flight = _Branches(node, path.mask)
    step(node.op, node, path.cotangent, flight, False)
    scattered = [(operand, c, flight.masks.get(operand)) for operand, c in flight.cotangents.items()]
    trail = (node, path.trail)
    return [
        _PartialPath(operand, spread_to(c, operand.shape), mask, trail)
        for operand, c, mask in flight.apart + scattered
        if mask is None or np.any(mask)
    ]


def _path(end: _PartialPath) -> Path:
    """A path that has reached its target, with the edges at both ends."""
    nodes, trail = [end.node], end.trail
    while trail is not None:
        node, trail = trail
        nodes.append(node)
    nodes.reverse()

    def edge(at: int) -> Edge:
        return Edge(nodes[at], nodes[at + 1], None)

    head, tail = _ends(len(nodes) - 1)
    return Path(end.cotangent, len(nodes) - 1, list(map(edge, head)), list(map(edge, tail)))
