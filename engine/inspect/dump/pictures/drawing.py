"""What a picture of a graph consists of: boxes, lines and texts at their places, whatever writes them.

A library (the extra `plot`) finds the layers of the boxes and their order in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from agrad.engine.inspect.dump.forms.layers import Joint, Layout, middles
from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import FILLS, box_lines, edges, guard_lines, one_line
from agrad.engine.inspect.dump.node_rows import NodeRow
from agrad.engine.text import display_width

SIZE = 12  # of the letters, in pixels like everything below
INSIDE = 10  # between a text and its box
TIP = 7  # the length of the tip of a line; it is 8 wide
_CHARACTER = 7.4  # the width of one, at most, in the fonts that are called monospace
_ROW = 16
_BETWEEN = 46  # one layer and the next
_BESIDE = 24  # a box and the next
_AROUND = 20
_LONGEST = 44  # characters in a row of a box
_REST = 0  # the number of the box for omitted nodes

Point = tuple[int, int]


class Style(NamedTuple):
    """How what has a mark looks; empty where it looks as without."""

    fill: str = ""
    stroke: str = ""
    dashes: tuple[int, ...] = ()


# In a comparison of two graphs.
_STROKES = {"changed": "#9a6700", "gone": "#cf222e", "new": "#116329"}
# By the marks of boxes and lines; lines are not filled.
STYLES = {
    "grad": Style(fill="#dbe9f6"),
    "freed": Style(dashes=(6, 4)),
    "stale": Style(dashes=(2, 3)),
    **{change: Style(fill=fill, stroke=_STROKES[change]) for change, fill in FILLS.items()},
}
STROKE = "#444"
PAPER = "#fff"


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; x and y are where it begins, on its base line."""

    x: int
    y: int
    text: str
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A box with its lines of text; `note` is where its value was made."""

    x: int
    y: int
    width: int
    height: int
    is_round: bool
    marks: tuple[str, ...]
    texts: tuple[Text, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line that ends in a tip: from the start by curves, each with two control points, and straight pieces."""

    start: Point
    pieces: tuple[tuple[Point, ...], ...]  # one point: straight to it; three: a curve of Bézier
    tip: Point
    marks: tuple[str, ...]

    @property
    def stroke(self) -> str:
        """Its colour, which that of the tip is."""
        return next((STYLES[mark].stroke for mark in self.marks if STYLES[mark].stroke), STROKE)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, from the back to the front; y grows downwards."""

    width: int
    height: int
    title: str
    items: tuple[Text | Box | Line, ...]

    @property
    def styles(self) -> dict[str, Style]:
        """The styles of the marks that are in it."""
        used = {mark for item in self.items if not isinstance(item, Text) for mark in item.marks}
        return {mark: style for mark, style in STYLES.items() if mark in used}


def drawing(graph: GraphRows, precision: int | None) -> Drawing:
    """The picture of a graph: leaves have corners, nodes that require grad are filled, freed and stale ones dashed.

    Raises AgradError of kind `extra` if the library is not installed.
    """
    shown = graph.shown
    missing = graph.left_out(len(shown))
    counted, behind, before = edges(shown, graph.roots)
    texts = {node.number: [one_line(row, _LONGEST) for row in box_lines(node, precision)] for node in shown}
    if missing:
        texts[_REST] = missing
        first = min(behind, default=0)  # so that no line leads up: omitted nodes are at one place
        counted |= {(_REST, number): 1 for number in behind}
        counted |= {(number, _REST): 1 for number in before if number < first}
    widths = {number: round(_wide(rows)) + 2 * INSIDE for number, rows in texts.items()}
    caption = [one_line(graph.heading, 200), *guard_lines(graph.guards)]
    page = _Page(_layout(widths, list(counted)), texts, widths, _AROUND + _ROW * len(caption) + _ROW)
    changes = {(x, node.number): node.change_of(x) for node in shown for x in node.behind}
    items: list[Text | Box | Line] = [*_texts(caption, _AROUND, _AROUND, bold=True)]
    items += [*page.lines(counted, changes), *page.rest()]
    items += map(page.box, shown)
    return Drawing(max(page.width, round(_wide(caption)) + 2 * _AROUND), page.height, caption[0], tuple(items))


def _wide(rows: Sequence[str]) -> float:
    return max(map(display_width, rows)) * _CHARACTER


def _layout(widths: Mapping[int, int], wanted: Sequence[tuple[int, int]]) -> Layout:
    """Layers from the library, and the places of the boxes in them."""
    layers, lines = layered(list(widths), wanted)
    return Layout(layers, middles(layers, lines, widths, _BESIDE), lines)


def layered(
    numbers: Sequence[int], wanted: Sequence[tuple[int, int]]
) -> tuple[list[list[Joint]], list[tuple[Joint, Joint]]]:
    """Layers from the library, oldest at the top, and the lines between them; unconnected parts are side by side.

    Raises AgradError of kind `limit` if the library is not installed.
    """
    layers: list[list[Joint]] = [[]]
    lines: list[tuple[Joint, Joint]] = []
    boxes = sorted({number for edge in wanted for number in edge})
    order = {
        number: place for place, number in enumerate(boxes)
    }  # the joints on long lines have the numbers after theirs
    edges = [(order[source], order[target]) for source, target in wanted]
    found: Any = _library().from_edges(edges, vertex_spacing=1, dummy_vertices=True, dummy_size=1) if edges else []
    for part, (places, _, height, drawn) in enumerate(found):
        joints: dict[int, Joint] = {
            name: (boxes[name],) if name < len(boxes) else (name, part, 0) for name, _ in places
        }
        for name, (_, y) in sorted(places, key=lambda place: (place[1][1], place[1][0])):
            level = round(height - y)
            layers += [[] for _ in range(level + 1 - len(layers))]
            layers[level].append(joints[name])
        lines += sorted((joints[upper], joints[lower]) for upper, lower in drawn)
    placed = {joint for layer in layers for joint in layer}
    layers[0] += [(number,) for number in numbers if (number,) not in placed]
    return layers, lines


def _library() -> Any:
    """fast_sugiyama. Raises AgradError of kind `extra`, which says what to install, without it."""
    from agrad.engine.extras import extra  # here, since few graphs are pictures

    return extra("fast_sugiyama", "a picture of a graph", "fast-sugiyama", "plot")


class _Page:
    """The boxes and lines of a layout in pixels."""

    def __init__(self, layout: Layout, texts: Mapping[int, list[str]], widths: Mapping[int, int], top: int) -> None:
        self.layout, self.texts, self.widths = layout, texts, widths
        self.middle = {joint: middle + _AROUND for joint, middle in layout.middle.items()}
        self.top: dict[Joint, int] = {}
        self.bottom: dict[Joint, int] = {}
        for layer in layout.layers:
            deepest = top + max(map(self._height, layer), default=0)
            for joint in layer:
                self.top[joint] = top
                self.bottom[joint] = top + self._height(joint) if len(joint) == 1 else deepest
            top = deepest + _BETWEEN
        self.height = top - _BETWEEN + _AROUND
        self.width = max(self.middle[joint] + self._wide(joint) // 2 for joint in self.middle) + _AROUND

    def _height(self, joint: Joint) -> int:
        return _ROW * len(self.texts[joint[0]]) + INSIDE if len(joint) == 1 else 0

    def _wide(self, joint: Joint) -> int:
        return self.widths[joint[0]] if len(joint) == 1 else 0

    def box(self, node: NodeRow) -> Box:
        """A box with its text."""
        joint = (node.number,)
        x, y = self.middle[joint] - self._wide(joint) // 2, self.top[joint]
        return Box(
            x,
            y,
            self._wide(joint),
            self._height(joint),
            not node.leaf,
            marks(node),
            tuple(_texts(self.texts[node.number], x + INSIDE, y + _ROW)),
            one_line(node.where or ""),
        )

    def rest(self) -> Iterator[Text]:
        """The omitted nodes, in words."""
        if _REST in self.texts:
            joint = (_REST,)
            x = self.middle[joint] - self._wide(joint) // 2 + INSIDE
            yield from _texts(self.texts[_REST], x, self.top[joint] + _ROW)

    def lines(
        self, counted: Mapping[tuple[int, int], int], changes: Mapping[tuple[int, int], str]
    ) -> Iterator[Line | Text]:
        """The lines, from operand to result, with the number of uses of an operand if there is more than one."""
        below: dict[Joint, list[Joint]] = {}
        for upper, lower in self.layout.lines:
            below.setdefault(upper, []).append(lower)
        chains = [_chain([upper, lower], below) for upper, lower in self.layout.lines if len(upper) == 1]
        entering: dict[Joint, list[list[Joint]]] = {}
        for chain in chains:
            entering.setdefault(chain[-1], []).append(chain)
        for target, arriving in entering.items():
            arriving.sort(key=lambda chain: self.middle[chain[-2]])
            for place, chain in enumerate(arriving, 1):
                share = place / (len(arriving) + 1) - 0.5
                end = self.middle[target] + round(share * self._wide(target))
                edge = chain[0][0], target[0]
                yield self._line(chain, end, changes.get(edge, ""))
                count = counted[edge]
                if count > 1:
                    yield Text(end + 6, self.top[target] - 8, f"{count}×")

    def _line(self, chain: Sequence[Joint], end: int, change: str) -> Line:
        """One line through all its joints, with a tip."""
        last = self.top[chain[-1]]
        pieces: list[tuple[Point, ...]] = []
        for upper, lower in pairwise(chain):
            x, y = self.middle[upper], self.bottom[upper]
            to, top = (end, last - TIP) if lower == chain[-1] else (self.middle[lower], self.top[lower])
            half = (y + top) // 2
            pieces.append(((x, half), (to, half), (to, top)))
            if lower != chain[-1]:
                pieces.append(((to, self.bottom[lower]),))
        dashed = ("freed",) if _REST in (chain[0][0], chain[-1][0]) else (change,) if change in STYLES else ()
        return Line((self.middle[chain[0]], self.bottom[chain[0]]), tuple(pieces), (end, last), dashed)


def marks(node: NodeRow) -> tuple[str, ...]:
    """What the look of a box says of its node."""
    state = "freed" if node.freed else "stale" if node.stale else ""
    change = node.change if node.change in STYLES else ""
    return tuple(filter(None, ("grad" if node.requires_grad and not node.change else "", state, change)))


def _chain(joints: list[Joint], below: Mapping[Joint, Sequence[Joint]]) -> list[Joint]:
    """A line followed through the layers that it passes, to the box where it ends."""
    while len(joints[-1]) > 1:
        (following,) = below[joints[-1]]
        joints.append(following)
    return joints


def _texts(rows: Sequence[str], x: int, y: int, bold: bool = False) -> Iterator[Text]:
    """Lines of text."""
    for place, row in enumerate(rows):
        yield Text(x, y + place * _ROW, row, bold)
