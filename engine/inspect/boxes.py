"""The graph as boxes and lines, for a terminal: each value below what it was computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from agrad.engine.inspect.forms import as_text
from agrad.engine.inspect.layout import Joint, arrange
from agrad.engine.inspect.rows import SIGNS, GraphRows, NodeRow, gradient_text, name_and_text, valued
from agrad.engine.text import one_line
from agrad.engine.values import format_shape

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
