"""The graph as a picture. A library (the extra `plot`) finds the layers of the boxes and their order in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from agrad.engine.inspect.dump.forms.layers import Joint, Layout, middles
from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import box_lines, edges, guard_lines, one_line
from agrad.engine.inspect.dump.node_rows import NodeRow
from agrad.engine.text import display_width

_SIZE = 12  # of the letters, in pixels like everything below
_CHARACTER = 7.4  # the width of one, at most, in the fonts that are called monospace
_ROW = 16
_INSIDE = 10  # between a text and its box
_BETWEEN = 46  # one layer and the next
_BESIDE = 24  # a box and the next
_AROUND = 20
_LONGEST = 44  # characters in a row of a box
_REST = 0  # the number of the box for omitted nodes
_STYLE = """\
text { font: 12px monospace; fill: #000; white-space: pre }
.heading { font-weight: bold }
rect { fill: #fff; stroke: #444 }
.grad { fill: #dbe9f6 }
.freed { stroke-dasharray: 6 4 }
.stale { stroke-dasharray: 2 3 }
.page { stroke: none }
path { fill: none; stroke: #444 }
.tip { fill: #444; stroke: none }"""


def render(graph: GraphRows, precision: int | None) -> str:
    """An SVG image: leaves have corners, nodes that require grad are filled, freed ones dashed, stale ones dotted.

    Raises AgradError of kind `limit` if the library is not installed.
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
    widths = {number: round(max(map(display_width, rows)) * _CHARACTER) + 2 * _INSIDE for number, rows in texts.items()}
    layout = _layout(widths, list(counted))
    caption = [one_line(graph.heading, 200), *guard_lines(graph.guards)]
    page = _Page(layout, texts, widths, _AROUND + _ROW * len(caption) + _ROW)
    width = max(page.width, round(max(map(display_width, caption)) * _CHARACTER) + 2 * _AROUND)
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{page.height}" '
        f'viewBox="0 0 {width} {page.height}">',
        f"<title>{escape(one_line(graph.heading, 200))}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width}" height="{page.height}"/>',
        *_text(caption, _AROUND, _AROUND, "heading"),
        *page.lines(counted),
        *page.rest(),
        *(row for node in shown for row in page.box(node)),
        "</svg>",
    ]
    return "\n".join(rows)


def _layout(widths: Mapping[int, int], wanted: Sequence[tuple[int, int]]) -> Layout:
    """Layers from the library, oldest at the top; parts with no line between them side by side."""
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
    layers[0] += [(number,) for number in widths if (number,) not in placed]
    return Layout(layers, middles(layers, lines, widths, _BESIDE), lines)


def _library() -> Any:
    """fast_sugiyama. Raises AgradError of kind `limit`, which says what to install, without it."""
    from agrad.engine.extras import extra  # here, since few graphs are pictures

    return extra("fast_sugiyama", "a graph as svg", "fast-sugiyama", "plot")


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
        return _ROW * len(self.texts[joint[0]]) + _INSIDE if len(joint) == 1 else 0

    def _wide(self, joint: Joint) -> int:
        return self.widths[joint[0]] if len(joint) == 1 else 0

    def box(self, node: NodeRow) -> Iterator[str]:
        """A box with its text; a tooltip gives the place where its value was made."""
        joint, state = (node.number,), "freed" if node.freed else "stale" if node.stale else ""
        x, y, width = self.middle[joint] - self._wide(joint) // 2, self.top[joint], self._wide(joint)
        classes = " ".join(filter(None, ("grad" if node.requires_grad else "", state)))
        mark = f' class="{classes}"' if classes else ""
        yield f"<g><title>{escape(one_line(node.where))}</title>" if node.where else "<g>"
        corner = "" if node.leaf else f' rx="{_INSIDE}"'
        yield f'<rect{mark} x="{x}" y="{y}" width="{width}" height="{self._height(joint)}"{corner}/>'
        yield from _text(self.texts[node.number], x + _INSIDE, y + _ROW)
        yield "</g>"

    def rest(self) -> Iterator[str]:
        """The omitted nodes, in words."""
        if _REST in self.texts:
            joint = (_REST,)
            yield from _text(
                self.texts[_REST], self.middle[joint] - self._wide(joint) // 2 + _INSIDE, self.top[joint] + _ROW
            )

    def lines(self, counted: Mapping[tuple[int, int], int]) -> Iterator[str]:
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
                yield from self._line(chain, self.middle[target] + round(share * self._wide(target)))
                count = counted[chain[0][0], target[0]]
                if count > 1:
                    x = self.middle[target] + round(share * self._wide(target)) + 6
                    yield from _text([f"{count}×"], x, self.top[target] - 8)

    def _line(self, chain: Sequence[Joint], end: int) -> Iterator[str]:
        """One line through all its joints, with a tip."""
        tip, last = 7, self.top[chain[-1]]
        path = [f"M{self.middle[chain[0]]} {self.bottom[chain[0]]}"]
        for upper, lower in pairwise(chain):
            x, y = self.middle[upper], self.bottom[upper]
            to, top = (end, last - tip) if lower == chain[-1] else (self.middle[lower], self.top[lower])
            half = (y + top) // 2
            path.append(f"C{x} {half} {to} {half} {to} {top}")
            if lower != chain[-1]:
                path.append(f"V{self.bottom[lower]}")
        dashed = ' class="freed"' if _REST in (chain[0][0], chain[-1][0]) else ""
        yield f'<path{dashed} d="{" ".join(path)}"/>'
        yield f'<path class="tip" d="M{end} {last} l-4 -{tip} h8 z"/>'


def _chain(joints: list[Joint], below: Mapping[Joint, Sequence[Joint]]) -> list[Joint]:
    """A line followed through the layers that it passes, to the box where it ends."""
    while len(joints[-1]) > 1:
        (following,) = below[joints[-1]]
        joints.append(following)
    return joints


def _text(rows: Sequence[str], x: int, y: int, kind: str = "") -> Iterator[str]:
    """Lines of text."""
    mark = f' class="{kind}"' if kind else ""
    for place, row in enumerate(rows):
        yield f'<text{mark} x="{x}" y="{y + place * _ROW}">{escape(row)}</text>'
