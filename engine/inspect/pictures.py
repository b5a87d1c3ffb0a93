"""What a picture of a graph consists of: boxes, lines and texts at their places, whatever writes them.

A library (the extra `plot`) finds the layers of the boxes and their order in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple

from agrad.engine.extras import extra
from agrad.engine.inspect.boxes import Joint, Layout, middles
from agrad.engine.inspect.rows import FILLS, GraphRows, NodeRow, box_lines, edges, guard_lines, one_line
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


# The picture of a graph as SVG, which web browsers draw.


def as_svg(graph: GraphRows, precision: int | None) -> str:
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
    for item in picture.items:
        rows += [_text(item)] if isinstance(item, Text) else _line(item) if isinstance(item, Line) else _box(item)
    return "\n".join([*rows, "</svg>"])


def _style(picture: Drawing) -> str:
    rows = [
        f"text {{ font: {SIZE}px monospace; fill: #000; white-space: pre }}",
        ".heading { font-weight: bold }",
        f"rect {{ fill: {PAPER}; stroke: {STROKE} }}",
        f"path {{ fill: none; stroke: {STROKE} }}",
    ]
    for mark, style in picture.styles.items():
        rows += _looks(mark, style)
    return "\n".join([*rows, ".page { stroke: none }", ".tip { stroke: none }"])


def _looks(mark: str, style: Style) -> Iterator[str]:
    """What a mark says of a box, of a line, and of the tip of a line."""
    if style.fill:
        yield f"rect.{mark} {{ fill: {style.fill} }}"
    lines = [f"stroke: {style.stroke}"] if style.stroke else []
    lines += [f"stroke-dasharray: {' '.join(map(str, style.dashes))}"] if style.dashes else []
    if lines:
        yield f".{mark} {{ {'; '.join(lines)} }}"


def _class(*marks: str) -> str:
    return f' class="{" ".join(marks)}"' if marks else ""


def _text(text: Text) -> str:
    mark = _class("heading") if text.bold else ""
    return f'<text{mark} x="{text.x}" y="{text.y}">{escape(text.text)}</text>'


def _box(box: Box) -> Iterator[str]:
    yield f"<g><title>{escape(box.note)}</title>" if box.note else "<g>"
    corner = f' rx="{INSIDE}"' if box.is_round else ""
    place = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'
    yield f"<rect{_class(*box.marks)} {place}{corner}/>"
    yield from map(_text, box.texts)
    yield "</g>"


def _line(line: Line) -> Iterator[str]:
    path = [f"M{line.start[0]} {line.start[1]}"]
    path += ["LC"[len(piece) == 3] + " ".join(f"{x} {y}" for x, y in piece) for piece in line.pieces]
    yield f'<path{_class(*line.marks)} d="{" ".join(path)}"/>'
    x, y = line.tip
    yield f'<path class="tip" style="fill: {line.stroke}" d="M{x} {y} l-4 -{TIP} h8 z"/>'


# The picture of a graph for LaTeX: a document of its own with a tikzpicture, which may be taken out of it.
#
# A pixel of the drawing is 0.75 of TeX's big points, as in a browser. The texts use what every TeX has; characters
# outside of ASCII become commands where LaTeX has one, so that pdflatex reads the file.

_SCALE = 0.75
_FONT = rf"\fontsize{{{SIZE * _SCALE:g}bp}}{{{SIZE * _SCALE:g}bp}}\selectfont\ttfamily"
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",  # two of them would be a dash
    "…": "…",  # LaTeX reads it
    "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "±": r"\ensuremath{\pm}",
    "\ufffd": "?",
}
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ",
        (
            "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon "
            "varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
        ).split(),
        strict=True,
    )
)


def as_tikz(graph: GraphRows, precision: int | None) -> str:
    """A LaTeX document. Raises AgradError of kind `extra` if the library is not installed that places the boxes."""
    picture = drawing(graph, precision)
    colours = _colours(picture)
    return "\n".join(
        [
            r"\documentclass[border=0pt]{standalone}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage[utf8]{inputenc}",
            r"\usepackage{textcomp}",
            r"\usepackage{tikz}",
            *(rf"\definecolor{{{name}}}{{HTML}}{{{_html(colour)}}}" for colour, name in colours.items()),
            r"\begin{document}",
            rf"\begin{{tikzpicture}}[x={_SCALE}bp, y=-{_SCALE}bp, line width={_SCALE}bp,",
            *(f"  {look}," for look in _tikz_looks(picture, colours)),
            "]",
            rf"  \useasboundingbox (0, 0) rectangle ({picture.width}, {picture.height});",
            *(f"  {row}" for row in _rows(picture, colours)),
            r"\end{tikzpicture}",
            r"\end{document}",
        ]
    )


def _colours(picture: Drawing) -> dict[str, str]:
    """The colours of the styles, each with its name in the document."""
    used = [STROKE, PAPER, *(colour for style in picture.styles.values() for colour in (style.fill, style.stroke))]
    return {colour: f"agrad{place}" for place, colour in enumerate(filter(None, dict.fromkeys(used)))}


def _html(colour: str) -> str:
    digits = colour.removeprefix("#")
    return (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)).upper()


def _tikz_looks(picture: Drawing, colours: dict[str, str]) -> Iterator[str]:
    """The styles of the parts of a picture."""
    stroke, paper = colours[STROKE], colours[PAPER]
    yield f"agrad text/.style={{anchor=base west, inner sep=0pt, font={{{_FONT}}}}}"
    yield rf"heading/.style={{agrad text, font={{{_FONT}\bfseries}}}}"
    yield f"box/.style={{draw={stroke}, fill={paper}}}"
    yield f"round box/.style={{box, rounded corners={INSIDE * _SCALE:g}bp}}"
    yield f"line/.style={{draw={stroke}}}"
    yield f"tip/.style={{fill={stroke}}}"
    for mark, style in picture.styles.items():
        yield f"{mark}/.style={{{_look(style, colours)}}}"
        if style.fill:
            yield f"{mark} box/.style={{{mark}, fill={colours[style.fill]}}}"


def _look(style: Style, colours: dict[str, str]) -> str:
    looks = [f"draw={colours[style.stroke]}"] if style.stroke else []
    if style.dashes:
        on, off = (length * _SCALE for length in style.dashes)
        looks.append(f"dash pattern=on {on:g}bp off {off:g}bp")
    return ", ".join(looks)


def _rows(picture: Drawing, colours: dict[str, str]) -> Iterator[str]:
    for item in picture.items:
        if isinstance(item, Text):
            yield _tikz_text(item)
        elif isinstance(item, Line):
            yield from _tikz_line(item, colours)
        else:
            yield from _tikz_box(item)


def _tikz_text(text: Text) -> str:
    return rf"\node[{'heading' if text.bold else 'agrad text'}] at ({text.x}, {text.y}) {{{in_latex(text.text)}}};"


def _tikz_box(box: Box) -> Iterator[str]:
    marks = [f"{mark} box" if STYLES[mark].fill else mark for mark in box.marks]
    look = ", ".join(["round box" if box.is_round else "box", *marks])
    yield rf"\path[{look}] ({box.x}, {box.y}) rectangle ++({box.width}, {box.height});"
    yield from map(_tikz_text, box.texts)


def _tikz_line(line: Line, colours: dict[str, str]) -> Iterator[str]:
    path = [_point(line.start)]
    for piece in line.pieces:
        if len(piece) == 3:
            path.append(f".. controls {_point(piece[0])} and {_point(piece[1])} .. {_point(piece[2])}")
        else:
            path.append(f"-- {_point(piece[0])}")
    yield rf"\path[{', '.join(['line', *line.marks])}] {' '.join(path)};"
    tip = "tip" if line.stroke == STROKE else f"tip, fill={colours[line.stroke]}"
    yield rf"\path[{tip}] {_point(line.tip)} -- ++(-4, -{TIP}) -- ++(8, 0) -- cycle;"


def _point(point: tuple[int, int]) -> str:
    return f"({point[0]}, {point[1]})"


def in_latex(text: str) -> str:
    """A text for LaTeX, which shows it as it is; a character that pdflatex does not know becomes a question mark."""
    return "".join(map(_sign, text)).replace("  ", "~~")


def _sign(sign: str) -> str:
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    if sign in _GREEK:
        return rf"\ensuremath{{\{_GREEK[sign]}}}"
    return sign if ord(sign) < 0x180 and sign.isprintable() else "?"


# The picture of a graph as PNG or PDF, written by matplotlib: the extra `plot`.

_INCH = 96  # pixels of the drawing
_SHARPER = 2  # pixels of a PNG for one of the drawing
_POINTS = 72 / _INCH
_LARGEST = 30_000  # pixels of a PNG in a direction; matplotlib draws no more than 65,535
# Without the date, so that the same graph is the same file; `parse_math`: a dollar is a dollar.
_METADATA: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}}
_SETTINGS = {"text.parse_math": False, "text.usetex": False, "pdf.fonttype": 42}


def as_file(graph: GraphRows, precision: int | None, form: str) -> bytes:
    """A PNG or PDF file. Raises AgradError of kind `extra` if a library is not installed."""
    picture = drawing(graph, precision)
    with _matplotlib("").rc_context(_SETTINGS):
        figure = _matplotlib("figure").Figure((picture.width / _INCH, picture.height / _INCH), facecolor=PAPER)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, picture.width)
        axes.set_ylim(picture.height, 0)
        for order, item in enumerate(picture.items):
            _draw(axes, item, order + 1)
        file = BytesIO()
        figure.savefig(file, format=form, dpi=_dots(picture), metadata=_METADATA[form])
    return file.getvalue()


def _dots(picture: Drawing) -> float:
    """Dots an inch: a very large graph is drawn with fewer."""
    return min(_INCH * _SHARPER, _LARGEST * _INCH / max(picture.width, picture.height))


def _draw(axes: Any, item: Text | Box | Line, order: int) -> None:
    if isinstance(item, Text):
        _matplotlib_text(axes, item, order)
    elif isinstance(item, Line):
        _matplotlib_line(axes, item, order)
    else:
        _matplotlib_box(axes, item, order)


def _matplotlib_text(axes: Any, text: Text, order: int) -> None:
    weight = "bold" if text.bold else "normal"
    axes.text(text.x, text.y, text.text, family="monospace", size=SIZE * _POINTS, weight=weight, zorder=order)


def _matplotlib_look(marks: tuple[str, ...]) -> dict[str, Any]:
    """What the marks of a box or a line say, in matplotlib's words."""
    look: dict[str, Any] = {"edgecolor": STROKE, "linewidth": _POINTS}
    for style in map(STYLES.__getitem__, marks):
        if style.stroke:
            look["edgecolor"] = style.stroke
        if style.fill:
            look["facecolor"] = style.fill
        if style.dashes:
            look["linestyle"] = (0, style.dashes)
    return look


def _matplotlib_box(axes: Any, box: Box, order: int) -> None:
    patches = _matplotlib("patches")
    corner = (
        patches.BoxStyle("Round", pad=0, rounding_size=INSIDE) if box.is_round else patches.BoxStyle("Square", pad=0)
    )
    look = {"facecolor": PAPER, **_matplotlib_look(box.marks)}
    axes.add_patch(patches.FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=corner, zorder=order, **look))
    for text in box.texts:
        _matplotlib_text(axes, text, order)


def _matplotlib_line(axes: Any, line: Line, order: int) -> None:
    path, patches = _matplotlib("path").Path, _matplotlib("patches")
    points, codes = [line.start], [path.MOVETO]
    for piece in line.pieces:
        points += piece
        codes += [path.CURVE4 if len(piece) == 3 else path.LINETO] * len(piece)
    look = {**_matplotlib_look(line.marks), "facecolor": "none"}
    axes.add_patch(patches.PathPatch(path(points, codes), zorder=order, **look))
    x, y = line.tip
    tip = [(x, y), (x - TIP // 2 - 1, y - TIP), (x + TIP // 2 + 1, y - TIP)]
    axes.add_patch(patches.Polygon(tip, closed=True, facecolor=line.stroke, linewidth=0, zorder=order))


def _matplotlib(part: str) -> Any:
    """A part of matplotlib. Raises AgradError of kind `extra`, which says what to install, without it."""
    return extra(f"matplotlib.{part}" if part else "matplotlib", "a graph as png or pdf", "matplotlib", "plot")
