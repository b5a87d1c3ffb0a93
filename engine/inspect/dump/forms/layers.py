"""The layout of the boxes of a graph: in layers, each below its operands, with few crossings.

The method is that of Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981), with places by least squares. `arrange` is meant for the few boxes that fit a terminal; for larger pictures a
library finds the layers, and only `middles` is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

GAP = 3  # columns between two boxes
_SWEEPS = 8

Joint = tuple[int, ...]  # (box,), or (from, to, layer): where a line passes a layer
Edge = tuple[int, int]


class Layout(NamedTuple):
    """The layers from top to bottom, the column in the middle of each box or line, and the lines between neighbours."""

    layers: list[list[Joint]]
    middle: dict[Joint, int]
    lines: list[tuple[Joint, Joint]]  # one for each use, so some more than once


def arrange(widths: Mapping[int, int], edges: Sequence[Edge]) -> Layout:
    """The places of boxes of so many columns, given oldest first, each edge from an older to a younger one."""
    levels = _levels(list(widths), edges)
    layers: list[list[Joint]] = [[] for _ in range(max(levels.values()) + 1)]
    for box, level in levels.items():
        layers[level].append((box,))
    lines: list[tuple[Joint, Joint]] = []
    for source, target in edges:
        between: list[Joint] = [(source, target, level) for level in range(levels[source] + 1, levels[target])]
        for joint in between:
            if joint not in layers[joint[2]]:
                layers[joint[2]].append(joint)
        lines += pairwise([(source,), *between, (target,)])
    _untangle(layers, lines)
    return Layout(layers, middles(layers, lines, widths), lines)


def _levels(boxes: Sequence[int], edges: Sequence[Edge]) -> dict[int, int]:
    """The layer of each box: below all its operands; of one without operands, just above the first to use it."""
    levels = dict.fromkeys(boxes, 0)
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        levels[target] = max(levels[target], levels[source] + 1)
    targets = {target for _, target in edges}
    for box in boxes:
        users = [levels[target] for source, target in edges if source == box]
        if box not in targets and users:
            levels[box] = min(users) - 1
    return levels


def _untangle(layers: list[list[Joint]], lines: Sequence[tuple[Joint, Joint]]) -> None:
    """Order every layer by the neighbours above it, then by those below, repeatedly; the best order is kept."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, lines)
    above, below = _neighbours(lines)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers[1:] if down else layers[-2::-1]:
            places = {joint: place for other in layers for place, joint in enumerate(other)}
            near = above if down else below
            layer.sort(key=lambda joint: _mean([places[x] for x in near.get(joint, [])], places[joint]))
        crossings = _crossings(layers, lines)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _neighbours(lines: Sequence[tuple[Joint, Joint]]) -> tuple[dict[Joint, list[Joint]], dict[Joint, list[Joint]]]:
    above: dict[Joint, list[Joint]] = {}
    below: dict[Joint, list[Joint]] = {}
    for upper, lower in lines:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    return above, below


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _crossings(layers: Sequence[Sequence[Joint]], lines: Sequence[tuple[Joint, Joint]]) -> int:
    """How many pairs of lines between the same layers cross."""
    at = {joint: (level, place) for level, layer in enumerate(layers) for place, joint in enumerate(layer)}
    drawn = [(at[upper][0], at[upper][1], at[lower][1]) for upper, lower in lines]
    return sum(
        level == other and (a - c) * (b - d) < 0
        for position, (level, a, b) in enumerate(drawn)
        for other, c, d in drawn[:position]
    )


def middles(
    layers: Sequence[Sequence[Joint]],
    lines: Sequence[tuple[Joint, Joint]],
    widths: Mapping[int, int],
    gap: int = GAP,
) -> dict[Joint, int]:
    """The middle column of every joint, in the order given: as near to its neighbours as the boxes next to it allow."""
    size = {joint: widths[joint[0]] if len(joint) == 1 else 1 for layer in layers for joint in layer}
    above, below = _neighbours(lines)
    middle: dict[Joint, float] = {}
    for layer in layers:
        middle.update(zip(layer, _apart([(0.0, 1)] * len(layer), [size[joint] for joint in layer], gap), strict=True))
    for sweep in range(4 * _SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            near = [[*above.get(joint, []), *below.get(joint, [])] for joint in layer]
            wanted = [_wanted(joint, some, middle) for joint, some in zip(layer, near, strict=True)]
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
