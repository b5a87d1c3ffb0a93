"""The graph as boxes and lines, for a terminal: each value below what it was computed from.

The boxes are in layers, each below its operands, with few crossings. The method is that of Sugiyama, Tagawa and Toda,
"Methods for visual understanding of hierarchical system structures" (1981), with places by least squares. `arrange` is
meant for the few boxes that fit a terminal; for larger pictures a library finds the layers, and only `middles` is used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from agrad.engine.inspect.forms import as_text
from agrad.engine.inspect.rows import SIGNS, GraphRows, NodeRow, gradient_text, name_and_text, valued
from agrad.engine.text import one_line
from agrad.engine.values import format_shape

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
    for box in set(boxes).difference(target for _, target in edges):
        levels[box] = min((levels[target] for source, target in edges if source == box), default=1) - 1
    return levels


def _untangle(layers: list[list[Joint]], lines: Sequence[tuple[Joint, Joint]]) -> None:
    """Order every layer by the neighbours above it, then by those below, repeatedly; the best order is kept."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, lines)
    above, below = _neighbours(lines)
    for sweep in range(_SWEEPS):
        near, some = (above, layers[1:]) if sweep % 2 == 0 else (below, layers[-2::-1])
        for layer in some:
            places = {joint: place for other in layers for place, joint in enumerate(other)}
            layer.sort(key=lambda joint: _mean([places[x] for x in near.get(joint, (joint,))]))
        crossings = _crossings(layers, lines)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _neighbours(lines: Sequence[tuple[Joint, Joint]]) -> tuple[dict[Joint, list[Joint]], dict[Joint, list[Joint]]]:
    """What each joint has above it, and what below."""
    above: dict[Joint, list[Joint]] = {}
    below: dict[Joint, list[Joint]] = {}
    for upper, lower in lines:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    return above, below


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers)


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


# The graph as boxes and lines, for a terminal: each value below what it was computed from.

MOST = 30  # boxes: more are not legible
_TEXT = 26  # characters in a box
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_SIGNS = "┼┼┼│┼┘┐┤┼└┌├─┴┬┼"  # by the sum of the directions in which a line leaves the cell


# Drawn in characters


def as_boxes(graph: GraphRows, precision: int | None = 10) -> str:
    """A heading, the drawing, the guards; a graph that is too large or too wide for that is shown as text instead."""
    drawing = _Drawing(graph.shown, precision) if len(graph.wanted) <= MOST else None
    if drawing is None or drawing.width + 2 > graph.width:
        why = f"{len(graph.wanted)} boxes are too many to draw"
        if drawing is not None:
            why = f"as boxes it would be {drawing.width + 2} columns wide; the limit is {graph.width}"
        return f"{as_text(graph, precision)}\n  {why}: this is the graph as text"
    below = [*graph.guard_lines(), *graph.left_out(len(graph.wanted))]
    return "\n".join([graph.heading, *(f"  {row}".rstrip() for row in [*drawing.rows(), *below])])


def _lines_of(node: NodeRow, precision: int | None) -> list[str]:
    """The lines of text in a box: name and source text, operation, value, gradient, state."""
    shape = f" {format_shape(node.shape)}" if node.shape else ""
    states = ["freed"] * node.freed + ["stale"] * node.stale
    states += [f"version {node.version}"] * bool(node.version)
    states += ["no grad"] * (not node.leaf and not node.requires_grad)
    cut = [
        name_and_text(node) if node.origin else node.name or "",  # else it would show numbers of nodes
        valued(node, precision, _TEXT),
        f"was {name_and_text(node.before)}" if node.change == "changed" and node.before is not None else "",
        gradient_text(node, precision, _TEXT) if node.gradient is not None else "",
    ]
    # Omissions are marked with characters that have the same width in ASCII. Two points would be a range.
    name, *others = (one_line(text, _TEXT).replace("…", "...") for text in cut)
    change = f"{SIGNS[node.change]} {node.change}" if node.change in SIGNS else ""
    return [row for row in (change, name, f"{node.title}{shape}", *others, ", ".join(states)) if row]


class _Drawing:
    """The boxes with their text, laid out; `cells` is filled from the top to the bottom."""

    def __init__(self, shown: Sequence[NodeRow], precision: int | None) -> None:
        self.text = {node.number: _lines_of(node, precision) for node in shown}
        self.widths = {number: max(map(len, rows)) + 4 for number, rows in self.text.items()}
        operands = ((x, node.number) for node in shown for x in node.behind)
        self.layout = arrange(self.widths, [edge for edge in operands if edge[0] in self.text])
        self.used = {upper for upper, _ in self.layout.lines}
        self.width = max(self._left(joint) + self._size(joint) for joint in self.layout.middle)
        self.cells: dict[tuple[int, int], str] = {}

    def _size(self, joint: Joint) -> int:
        return self.widths[joint[0]] if len(joint) == 1 else 1

    def _left(self, joint: Joint) -> int:
        return self.layout.middle[joint] - self._size(joint) // 2

    def rows(self) -> list[str]:
        """The lines of the drawing."""
        top, bottom = 0, 0
        arrows: list[int] = []
        for level, layer in enumerate(self.layout.layers):
            bottom = top + max(len(self.text[joint[0]]) + 2 if len(joint) == 1 else 1 for joint in layer)
            for joint in layer:
                start = self._box(joint, top) if len(joint) == 1 else top
                if joint in self.used:
                    self.cells |= {(row, self.layout.middle[joint]): "│" for row in range(start, bottom)}
            for column in arrows:
                if self.cells[top, column] == "─":
                    self.cells[top, column] = "▼"
            nets = self._nets(level)
            top = self._channel(nets, bottom)
            arrows = [target for targets in nets.values() for target in targets]
        return ["".join(self.cells.get((row, column), " ") for column in range(self.width)) for row in range(bottom)]

    def _box(self, joint: Joint, top: int) -> int:
        """One box; returns the row after it."""
        inside, text = self._size(joint) - 2, self.text[joint[0]]
        rows = [f"┌{'─' * inside}┐", *(f"│ {row:<{inside - 1}}│" for row in text), f"└{'─' * inside}┘"]
        for row, signs in enumerate(rows, top):
            for column, sign in enumerate(signs, self._left(joint)):
                self.cells[row, column] = sign
        if joint in self.used:
            self.cells[top + len(rows) - 1, self.layout.middle[joint]] = "┬"
        return top + len(rows)

    def _nets(self, level: int) -> dict[int, list[int]]:
        """The lines below a layer: for each column where one begins, the columns that it goes to."""
        middle, layers = self.layout.middle, self.layout.layers
        nets: dict[int, list[int]] = {}
        for lower in layers[level + 1] if level + 1 < len(layers) else ():
            sources = sorted(middle[upper] for upper, other in self.layout.lines if other == lower)
            if len(lower) == 1:
                first = self._left(lower) + 1
                trunks = {middle[joint] for joint in layers[level]}
                columns = _ports(sources, first, first + self._size(lower) - 3, trunks)
            else:
                columns = [middle[lower]]
            for source, column in zip(sources, columns, strict=True):
                nets.setdefault(source, []).append(column)
        return nets

    def _channel(self, nets: dict[int, list[int]], top: int) -> int:
        """Draw the lines between two layers; returns the row after them."""
        if not nets:
            return top
        tracks = _tracks(nets)
        bottom = top + max(tracks.values(), default=0) + 1
        marks: dict[tuple[int, int], dict[int, int]] = {}
        for source, targets in nets.items():
            track = top + tracks.get(source, 0)
            for cell, bits in _path(source, targets, track, top, bottom):
                held = marks.setdefault(cell, {})
                held[source] = held.get(source, 0) | bits
        for cell, lines in marks.items():  # where two lines cross, the one that goes down is on top
            self.cells[cell] = "│" if len(lines) > 1 else _SIGNS[next(iter(lines.values()))]
        return bottom


def _ports(sources: Sequence[int], first: int, last: int, trunks: Collection[int]) -> list[int]:
    """The columns, from first to last, where lines from others enter a box: straight below them if possible.

    None is below the beginning of a line to another box, which it would cross.
    """
    columns: list[int] = []
    for place, source in enumerate(sources):
        least = columns[-1] + 2 if columns else first
        column = max(min(source, last - 2 * (len(sources) - 1 - place)), least)
        while column != source and column in trunks and column < last:
            column += 1
        columns.append(column)
    for place in range(len(columns) - 1, -1, -1):
        most = columns[place + 1] - 1 if place + 1 < len(columns) else last
        columns[place] = min(columns[place], most)
    return columns


def _tracks(nets: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """The row of the horizontal part of each line, so that no two overlap.

    If a line ends in the column where another begins, its horizontal part must be lower than that of the other.
    """
    waiting = {source: targets for source, targets in sorted(nets.items()) if set(targets) != {source}}
    tracks: dict[int, int] = {}
    taken: list[list[tuple[int, int]]] = []
    while waiting:
        free = (one for one in waiting if not any(other in waiting[one] for other in waiting if other != one))
        source = next(free, next(iter(waiting)))
        targets = waiting.pop(source)
        low, high = min(source, *targets), max(source, *targets)
        row = max((tracks[other] + 1 for other in tracks if other in targets), default=0)
        while row < len(taken) and any(low <= end + 1 and start - 1 <= high for start, end in taken[row]):
            row += 1
        taken += [[] for _ in range(row + 1 - len(taken))]
        taken[row].append((low, high))
        tracks[source] = row
    return tracks


def _path(
    source: int, targets: Sequence[int], track: int, top: int, bottom: int
) -> Iterator[tuple[tuple[int, int], int]]:
    """The cells of a line, each with the directions in which it leaves the cell."""
    low, high = min(source, *targets), max(source, *targets)
    for row in range(top, track):
        yield (row, source), _UP | _DOWN
    yield (track, source), _UP
    for column in range(low, high + 1):
        if low < high:
            yield (track, column), (_LEFT if column > low else 0) | (_RIGHT if column < high else 0)
    for target in targets:
        yield (track, target), _DOWN
        for row in range(track + 1, bottom):
            yield (row, target), _UP | _DOWN
