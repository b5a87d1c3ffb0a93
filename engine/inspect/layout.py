"""Where the boxes of a graph stand: in layers, each below its operands, in the order in which these are written.

The method is that of Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): layers by longest paths, joints where a long line passes a layer, an order with few crossings by the means of
neighbours, and places by least squares. Columns may be those of a terminal, or pixels, or, in a drawing from left to
right, rows of pixels.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

GAP = 3  # columns between two boxes
_SWEEPS = 8

Joint = tuple[int, ...]  # (box,), or (from, to, layer): where a line passes a layer
Edge = tuple[int, int]
Lines = Sequence[tuple[Joint, Joint]]
_Near = dict[Joint, list[tuple[Joint, float]]]


class Layout(NamedTuple):
    """The layers from top to bottom, the column in the middle of each box or line, and the lines between neighbours."""

    layers: list[list[Joint]]
    middle: dict[Joint, int]
    lines: list[tuple[Joint, Joint]]  # one for each use, so some more than once


def arrange(widths: Mapping[int, int], edges: Sequence[Edge], gap: int = GAP) -> Layout:
    """The places of boxes of so many columns; the edges to a box are in the order of its operands."""
    layers, lines = layered(list(widths), edges)
    return Layout(layers, middles(layers, lines, widths, gap), lines)


def layered(boxes: Sequence[int], edges: Sequence[Edge]) -> tuple[list[list[Joint]], list[tuple[Joint, Joint]]]:
    """The layers, in an order with few crossings, and the lines between them."""
    levels = _levels(boxes, edges)
    layers: list[list[Joint]] = [[] for _ in range(max(levels.values(), default=0) + 1)]
    lines: list[tuple[Joint, Joint]] = []
    for source, target in edges:
        between = [(source, target, level) for level in range(levels[source] + 1, levels[target])]
        lines += pairwise([(source,), *between, (target,)])
    above, below = _neighbours(lines)
    waiting: list[Joint] = [(box,) for box in reversed(boxes) if (box,) not in below]
    placed: set[Joint] = set()
    while waiting:  # each after the operands before it: without a shared operand, no lines cross
        joint = waiting.pop()
        if joint not in placed:
            placed.add(joint)
            layers[joint[2] if len(joint) > 1 else levels[joint[0]]].append(joint)
            waiting += [upper for upper, _ in reversed(above.get(joint, []))]
    _untangle(layers, above, below)
    return layers, lines


def chains(lines: Lines) -> Iterator[list[Joint]]:
    """Each line, from the box where it begins through the layers that it passes to the one where it ends."""
    below = {upper: lower for upper, lower in lines if len(upper) > 1}  # where one passes, nothing else goes on
    for upper, lower in lines:
        if len(upper) == 1:
            chain = [upper, lower]
            while len(chain[-1]) > 1:
                chain.append(below[chain[-1]])
            yield chain


def _levels(boxes: Sequence[int], edges: Sequence[Edge]) -> dict[int, int]:
    """The layer of each box: as many as the longest path has; a box is near its users if these are more than its
    operands, else near its operands, so that lines are short.
    """
    behind: dict[int, list[int]] = {box: [] for box in boxes}
    before: dict[int, list[int]] = {box: [] for box in boxes}
    for source, target in edges:
        behind[target].append(source)
        before[source].append(target)
    ordered = [*TopologicalSorter(behind).static_order()]
    levels: dict[int, int] = {}
    for box in ordered:
        levels[box] = max((levels[x] + 1 for x in behind[box]), default=0)
    for sweep in range(_SWEEPS):
        for box in ordered if sweep % 2 else ordered[::-1]:
            if len(before[box]) > len(behind[box]):
                levels[box] = min(levels[x] for x in before[box]) - 1
            elif len(before[box]) < len(behind[box]):
                levels[box] = max(levels[x] for x in behind[box]) + 1
    return levels


def _untangle(layers: list[list[Joint]], above: _Near, below: _Near) -> None:
    """Order every layer by the neighbours above it, then by those below, repeatedly; the best order is kept."""
    at = {joint: float(place) for layer in layers for place, joint in enumerate(layer)}
    best, fewest = [list(layer) for layer in layers], _crossings(layers, below, at)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        near, some = (above, layers[1:]) if sweep % 2 == 0 else (below, layers[-2::-1])
        for layer in some:
            means = {joint: _mean(near.get(joint, [(joint, 0.0)]), at) for joint in layer}
            layer.sort(key=means.__getitem__)
            at.update((joint, place) for place, joint in enumerate(layer))
        crossings = _crossings(layers, below, at)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _neighbours(lines: Lines) -> tuple[_Near, _Near]:
    """What each joint has above it, in the order of its operands, and what below, each with a share of a place.

    The share is where on the box below a line enters, between its sides, which are at -0.5 and 0.5.
    """
    above: _Near = {}
    below: _Near = {}
    count = Counter(lower for _, lower in lines)
    for upper, lower in lines:
        entered = above.setdefault(lower, [])
        entered.append((upper, 0.0))
        below.setdefault(upper, []).append((lower, len(entered) / (count[lower] + 1) - 0.5))
    return above, below


def _mean(near: Sequence[tuple[Joint, float]], at: Mapping[Joint, float]) -> float:
    return sum(at[joint] + share for joint, share in near) / len(near)


def _crossings(layers: Sequence[Sequence[Joint]], below: _Near, at: Mapping[Joint, float]) -> int:
    """How many pairs of lines between the same layers cross, with operands that enter in the order of writing."""
    found = 0
    for layer in layers:
        ends: list[float] = []
        for joint in layer:
            places = sorted(at[lower] + share for lower, share in below.get(joint, ()))
            found += sum(len(ends) - bisect_right(ends, place) for place in places)
            for place in places:
                insort(ends, place)
    return found


def middles(
    layers: Sequence[Sequence[Joint]], lines: Lines, widths: Mapping[int, int], gap: int = GAP
) -> dict[Joint, int]:
    """The middle column of every joint, in the order given: as near to its neighbours as the boxes next to it allow."""
    size = {joint: widths[joint[0]] if len(joint) == 1 else 1 for layer in layers for joint in layer}
    above, below = _neighbours(lines)
    near = {joint: [other for other, _ in (*above.get(joint, ()), *below.get(joint, ()))] for joint in size}
    middle: dict[Joint, float] = {}
    for layer in layers:
        middle.update(zip(layer, _apart([(0.0, 1)] * len(layer), [size[joint] for joint in layer], gap), strict=True))
    for sweep in range(4 * _SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted = [_wanted(joint, near[joint], middle) for joint in layer]
            middle.update(zip(layer, _apart(wanted, [size[joint] for joint in layer], gap), strict=True))
    columns: dict[Joint, int] = {}
    for layer in layers:
        free = -(10**6)
        for joint in layer:
            left = max(round(middle[joint]) - size[joint] // 2, free)
            columns[joint] = left + size[joint] // 2
            free = left + size[joint] + gap
    start = min(columns[joint] - size[joint] // 2 for joint in columns)
    return {joint: column - start for joint, column in columns.items()}


def _wanted(joint: Joint, near: Sequence[Joint], middle: Mapping[Joint, float]) -> tuple[float, int]:
    """The place of a joint between its neighbours, and its weight: a long line that bends is worst."""
    weights = [(1, 3, 9)[(len(joint) > 1) + (len(other) > 1)] for other in near]
    if not weights:
        return middle[joint], 1
    return sum(middle[x] * weight for x, weight in zip(near, weights, strict=True)) / sum(weights), sum(weights)


def _apart(wanted: Sequence[tuple[float, int]], sizes: Sequence[int], gap: int) -> list[float]:
    """Middles in the same order, as near as possible to the given ones by their weight, with room for each box.

    Least squares under an order is solved by pooling neighbours that overlap.
    """
    offsets, reach = [], 0.0
    for position, size in enumerate(sizes):
        reach += (sizes[position - 1] + size) / 2 + gap if position else 0.0
        offsets.append(reach)
    pools: list[tuple[float, int, int]] = []  # the mean of some neighbours, their weight, and how many they are
    for (place, weight), offset in zip(wanted, offsets, strict=True):
        mean, count = place - offset, 1
        while pools and pools[-1][0] > mean:
            before, heavy, more = pools.pop()
            mean = (mean * weight + before * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + more
        pools.append((mean, weight, count))
    settled = [mean for mean, _, count in pools for _ in range(count)]
    return [place + offset for place, offset in zip(settled, offsets, strict=True)]
