"""Pictures of a graph: boxes, lines and texts at their places, and who writes them as SVG, or as PNG and PDF.

A library (the extra `plot`) finds the layers of the boxes and their order in them. A writer has a function for each
kind of thing in a picture: see `Drawing.written`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from agrad.engine.extras import extra, look_of, matplotlib
from agrad.engine.inspect.boxes import Joint, Layout, middles
from agrad.engine.inspect.rows import FILLS, GraphRows, NodeRow, box_lines
from agrad.engine.text import display_width, one_line

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
_Out = TypeVar("_Out")


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


class Text(NamedTuple):
    """A line of text; x and y are where it begins, on its base line."""

    x: int
    y: int
    text: str
    bold: bool = False


class Box(NamedTuple):
    """A box with its lines of text; `note` is where its value was made."""

    x: int
    y: int
    width: int
    height: int
    is_round: bool
    marks: tuple[str, ...]
    texts: tuple[Text, ...]
    note: str


class Line(NamedTuple):
    """A line that ends in a tip: from the start by curves, each with two control points, and straight pieces."""

    start: Point
    pieces: tuple[tuple[Point, ...], ...]  # one point: straight to it; three: a curve of Bézier
    tip: Point
    marks: tuple[str, ...]

    @property
    def stroke(self) -> str:
        """Its colour, which that of the tip is."""
        return next((STYLES[mark].stroke for mark in self.marks if STYLES[mark].stroke), STROKE)


class Drawing(NamedTuple):
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

    def written(
        self, text: Callable[[Text], _Out], box: Callable[[Box], _Out], line: Callable[[Line], _Out]
    ) -> list[_Out]:
        """What a writer makes of each item: it has a function for each kind."""
        writers: dict[type, Callable[[Any], _Out]] = {Text: text, Box: box, Line: line}
        return [writers[type(item)](item) for item in self.items]


def drawing(graph: GraphRows, precision: int | None) -> Drawing:
    """The picture of a graph: leaves have corners, nodes that require grad are filled, freed and stale ones dashed.

    Raises AgradError of kind `extra` if the library is not installed.
    """
    shown, counted, behind, before, caption, missing = graph.outline()
    texts = {node.number: [one_line(row, _LONGEST) for row in box_lines(node, precision, _LONGEST)] for node in shown}
    if missing:
        texts[_REST] = missing
        first = min(behind, default=0)  # so that no line leads up: omitted nodes are at one place
        counted |= {(_REST, number): 1 for number in behind}
        counted |= {(number, _REST): 1 for number in before if number < first}
    widths = {number: round(_wide(rows)) + 2 * INSIDE for number, rows in texts.items()}
    layers, lines = layered(list(widths), list(counted))
    layout = Layout(layers, middles(layers, lines, widths, _BESIDE), lines)
    page = _Page(layout, texts, widths, _AROUND + _ROW * len(caption) + _ROW)
    changes = {(x, node.number): node.change_of(x) for node in shown for x in node.behind}
    items: list[Text | Box | Line] = [*_texts(caption, _AROUND, _AROUND, bold=True)]
    items += [*page.lines(counted, changes), *page.rest(), *map(page.box, shown)]
    return Drawing(max(page.width, round(_wide(caption)) + 2 * _AROUND), page.height, caption[0], tuple(items))


def _wide(rows: Sequence[str]) -> float:
    return max(map(display_width, rows)) * _CHARACTER


def layered(
    numbers: Sequence[int], wanted: Sequence[tuple[int, int]]
) -> tuple[list[list[Joint]], list[tuple[Joint, Joint]]]:
    """Layers from the library, oldest at the top, and the lines between them; unconnected parts are side by side.

    Raises AgradError of kind `extra`, which says what to install, without the library.
    """
    layers: list[list[Joint]] = [[]]
    lines: list[tuple[Joint, Joint]] = []
    boxes = sorted({number for edge in wanted for number in edge})
    order = {number: place for place, number in enumerate(boxes)}
    edges = [(order[source], order[target]) for source, target in wanted]
    found: Any = ()
    if edges:
        library = extra("fast_sugiyama", "a picture of a graph", "fast-sugiyama", "plot")
        found = library.from_edges(edges, vertex_spacing=1, dummy_vertices=True, dummy_size=1)
    for part, (places, _, height, drawn) in enumerate(found):
        # The joints on long lines have the numbers after those of the boxes.
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

    def _corner(self, joint: Joint) -> Point:
        return self.middle[joint] - self._wide(joint) // 2, self.top[joint]

    def box(self, node: NodeRow) -> Box:
        """A box with its text; its marks are what its look says of its node."""
        joint = (node.number,)
        x, y = self._corner(joint)
        change = node.change if node.change in STYLES else ""
        marks = tuple(filter(None, ("grad" if node.requires_grad and not node.change else "", node.state, change)))
        texts = tuple(_texts(self.texts[node.number], x + INSIDE, y + _ROW))
        where = one_line(node.where or "")
        return Box(x, y, self._wide(joint), self._height(joint), not node.leaf, marks, texts, where)

    def rest(self) -> Iterator[Text]:
        """The omitted nodes, in words."""
        if _REST in self.texts:
            x, y = self._corner((_REST,))
            yield from _texts(self.texts[_REST], x + INSIDE, y + _ROW)

    def lines(
        self, counted: Mapping[tuple[int, int], int], changes: Mapping[tuple[int, int], str]
    ) -> Iterator[Line | Text]:
        """The lines, from operand to result, with the number of uses of an operand if there is more than one."""
        entering: dict[Joint, list[list[Joint]]] = {}
        for chain in chains(self.layout.lines):
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


def chains(lines: Sequence[tuple[Joint, Joint]]) -> Iterator[list[Joint]]:
    """Each line, from the box where it begins through the layers that it passes to the one where it ends."""
    below = {upper: lower for upper, lower in lines if len(upper) > 1}  # where one passes, nothing else goes on
    for upper, lower in lines:
        if len(upper) == 1:
            chain = [upper, lower]
            while len(chain[-1]) > 1:
                chain.append(below[chain[-1]])
            yield chain


def _texts(rows: Sequence[str], x: int, y: int, bold: bool = False) -> Iterator[Text]:
    """Lines of text."""
    for place, row in enumerate(rows):
        yield Text(x, y + place * _ROW, row, bold)


# The picture of a graph as SVG, which web browsers draw.


def as_svg(graph: GraphRows, precision: int | None = 10) -> str:
    """An SVG image; a tooltip gives the place where a value was made.

    Raises AgradError of kind `extra` if the library is not installed that places the boxes.
    """
    picture = drawing(graph, precision)
    width, height = picture.width, picture.height
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escape(picture.title)}</title>",
        f"<style>{_style(picture)}</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
    ]
    return "\n".join([*rows, *picture.written(_text, _box, _line), "</svg>"])


def _style(picture: Drawing) -> str:
    """The looks of all, and what a mark says of a box, of a line, and of the tip of a line."""
    rows = [
        f"text {{ font: {SIZE}px monospace; fill: #000; white-space: pre }}",
        ".heading { font-weight: bold }",
        f"rect {{ fill: {PAPER}; stroke: {STROKE} }}",
        f"path {{ fill: none; stroke: {STROKE} }}",
    ]
    for mark, style in picture.styles.items():
        rows += [f"rect.{mark} {{ fill: {style.fill} }}"] if style.fill else []
        lines = [f"stroke: {style.stroke}"] if style.stroke else []
        lines += [f"stroke-dasharray: {' '.join(map(str, style.dashes))}"] if style.dashes else []
        rows += [f".{mark} {{ {'; '.join(lines)} }}"] if lines else []
    return "\n".join([*rows, ".page { stroke: none }", ".tip { stroke: none }"])


def _class(*marks: str) -> str:
    return f' class="{" ".join(marks)}"' if marks else ""


def _text(text: Text) -> str:
    mark = _class("heading") if text.bold else ""
    return f'<text{mark} x="{text.x}" y="{text.y}">{escape(text.text)}</text>'


def _box(box: Box) -> str:
    note = f"<title>{escape(box.note)}</title>" if box.note else ""
    corner = f' rx="{INSIDE}"' if box.is_round else ""
    place = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'
    return "\n".join([f"<g>{note}", f"<rect{_class(*box.marks)} {place}{corner}/>", *map(_text, box.texts), "</g>"])


def _line(line: Line) -> str:
    path = [f"M{line.start[0]} {line.start[1]}"]
    path += ["LC"[len(piece) == 3] + " ".join(f"{x} {y}" for x, y in piece) for piece in line.pieces]
    x, y = line.tip
    tip = f'<path class="tip" style="fill: {line.stroke}" d="M{x} {y} l-4 -{TIP} h8 z"/>'
    return f'<path{_class(*line.marks)} d="{" ".join(path)}"/>\n{tip}'


# The picture of a graph as PNG or PDF, written by matplotlib: the extra `plot`.

_INCH = 96  # pixels of the drawing
_SHARPER = 2  # pixels of a PNG for one of the drawing
_POINTS = 72 / _INCH
_LARGEST = 30_000  # pixels of a PNG in a direction; matplotlib draws no more than 65,535
# Without the date, so that the same graph is the same file; `parse_math`: a dollar is a dollar.
_METADATA: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}}
_SETTINGS = {"text.parse_math": False, "pdf.fonttype": 42}
_WHAT = "a graph as png or pdf"


def as_file(graph: GraphRows, form: str, precision: int | None = 10) -> bytes:
    """The same picture as a file of `png` or `pdf`. Raises AgradError of kind `extra` if a library is not installed."""
    picture = drawing(graph, precision)
    dots = min(_INCH * _SHARPER, _LARGEST * _INCH / max(picture.width, picture.height))  # an inch
    with look_of(_WHAT, _SETTINGS):
        figure = matplotlib("figure", _WHAT).Figure((picture.width / _INCH, picture.height / _INCH), facecolor=PAPER)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, picture.width)
        axes.set_ylim(picture.height, 0)
        picture.written(*(partial(draw, axes) for draw in (_draw_text, _draw_box, _draw_line)))
        file = BytesIO()
        figure.savefig(file, format=form, dpi=dots, metadata=_METADATA[form])
    return file.getvalue()


# All have one `zorder`: what is drawn later is in front.


def _draw_text(axes: Any, text: Text) -> None:
    weight = "bold" if text.bold else "normal"
    axes.text(text.x, text.y, text.text, family="monospace", size=SIZE * _POINTS, weight=weight, zorder=1)


def _look(marks: tuple[str, ...], face: str) -> dict[str, Any]:
    """What the marks of a box or a line say, in matplotlib's words."""
    look: dict[str, Any] = {"edgecolor": STROKE, "facecolor": face, "linewidth": _POINTS, "zorder": 1}
    for style in map(STYLES.__getitem__, marks):
        look |= {"edgecolor": style.stroke} if style.stroke else {}
        look |= {"facecolor": style.fill} if style.fill else {}
        look |= {"linestyle": (0, style.dashes)} if style.dashes else {}
    return look


def _draw_box(axes: Any, box: Box) -> None:
    patches = matplotlib("patches", _WHAT)
    rounding = {"rounding_size": INSIDE} if box.is_round else {}
    corner = patches.BoxStyle("Round" if box.is_round else "Square", pad=0, **rounding)
    look = _look(box.marks, PAPER)
    axes.add_patch(patches.FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=corner, **look))
    for text in box.texts:
        _draw_text(axes, text)


def _draw_line(axes: Any, line: Line) -> None:
    path, patches = matplotlib("path", _WHAT).Path, matplotlib("patches", _WHAT)
    points, codes = [line.start], [path.MOVETO]
    for piece in line.pieces:
        points += piece
        codes += [path.CURVE4 if len(piece) == 3 else path.LINETO] * len(piece)
    axes.add_patch(patches.PathPatch(path(points, codes), **{**_look(line.marks, "none"), "facecolor": "none"}))
    x, y = line.tip
    tip = [(x, y), (x - TIP // 2 - 1, y - TIP), (x + TIP // 2 + 1, y - TIP)]
    axes.add_patch(patches.Polygon(tip, closed=True, facecolor=line.stroke, linewidth=0, zorder=1))
