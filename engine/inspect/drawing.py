"""The picture of a graph as boxes, lines and texts at their places: see `pictures` for those who write it.

It is made for a projector: from left to right or from top to bottom, whichever fits 16:9 better, with letters of at
least 2.2 % of its height. Where they would be smaller, nodes are grouped: see `folding`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from agrad.engine.core.graph import Node
from agrad.engine.errors import AgradError, Hint
from agrad.engine.inspect.backward_trace import plain, walks_from
from agrad.engine.inspect.colours import LOOKS
from agrad.engine.inspect.folding import Fold, Folding, nodes_of
from agrad.engine.inspect.layout import Joint, arrange, chains
from agrad.engine.inspect.nodes import through
from agrad.engine.inspect.rows import FILLS, GraphRows, NodeRow, box_lines, elided, summary
from agrad.engine.text import counted, display_width, one_line
from agrad.engine.units.unit import Unit
from agrad.engine.values import format_shape

SIZE = 12  # of the letters, in pixels like everything below
INSIDE = 8  # between a text and the sides of its box
TIP = 7  # the length of the tip of a line; it is 8 wide
CHARACTER = 7.4  # the width of one: the writers see to it
LEAST = 0.022  # of the height of a picture in 16:9, the letters
_ROW = 15
_BETWEEN = 28  # one layer and the next
_BESIDE = 16  # a box and the next
_AROUND = 14
_WIDTHS = (44, 30, 20, 14)  # characters in a row of a box: the first with which the letters are large enough
_SIDES = (24, 12, 6)  # boxes side by side, likewise
_MOST = 300  # boxes
_LEGIBLE = 50  # more boxes cannot be
_SHOWN = 4  # boxes that can be opened are named, of more the first
_OPERATION = "operation"

Point = tuple[int, int]
_Out = TypeVar("_Out")
_Part = Fold | Node


class Style(NamedTuple):
    """How what has a mark looks, on light paper and on dark; empty where it looks as without."""

    fill: str = ""
    stroke: str = ""
    dark_fill: str = ""
    dark_stroke: str = ""
    dashes: tuple[int, ...] = ()


# By the marks of boxes and lines; lines are not filled. What differs between two graphs has no other colour.
STYLES = {
    **{name: Style(look.fill, look.line, look.dark_fill, look.dark_line) for name, look in LOOKS.items()},
    "changed": Style(FILLS["changed"], "#9a6700", "#3d3000", "#e3b341"),
    "gone": Style(FILLS["gone"], "#cf222e", "#4b1a1a", "#ff7b72"),
    "new": Style(FILLS["new"], "#116329", "#12371f", "#56d364"),
    "dashed": Style(dashes=(6, 4)),
    "stale": Style(dashes=(2, 3)),
}
PAPER = Style("#ffffff", "#000000", "#12161c", "#e6eaf0")  # and the colours of texts on it


class Text(NamedTuple):
    """A line of text; x and y are where it begins, on its base line. With a mark it has the colour of such a box."""

    x: int
    y: int
    text: str
    bold: bool = False
    mark: str = ""


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
    """A line: from the start by curves, each with two control points, and straight pieces; most end in a tip."""

    start: Point
    pieces: tuple[tuple[Point, ...], ...]  # one point: straight to it; three: a curve of Bézier
    tip: tuple[Point, ...]  # a triangle
    marks: tuple[str, ...]


class Drawing(NamedTuple):
    """A picture, from the back to the front; y grows downwards."""

    width: int
    height: int
    title: str
    items: tuple[Text | Box | Line, ...]

    @property
    def share(self) -> float:
        """The part of the height that letters have where the picture fills a screen of 16:9."""
        return SIZE / max(self.height, self.width * 9 / 16)

    @property
    def marks(self) -> dict[str, Style]:
        """The marks that are in it, in the order of the table, with their styles."""
        used = {item.mark for item in self.items if isinstance(item, Text)} | {_OPERATION}
        used |= {text.mark for item in self.items if isinstance(item, Box) for text in item.texts}
        used |= {mark for item in self.items if not isinstance(item, Text) for mark in item.marks}
        return {mark: style for mark, style in STYLES.items() if mark in used}

    def written(
        self, text: Callable[[Text], _Out], box: Callable[[Box], _Out], line: Callable[[Line], _Out]
    ) -> list[_Out]:
        """What a writer makes of each item: it has a function for each kind."""
        writers: dict[type, Callable[[Any], _Out]] = {Text: text, Box: box, Line: line}
        return [writers[type(item)](item) for item in self.items]


def drawing(graph: GraphRows, precision: int | None) -> Drawing:
    """The picture of a graph, opened as far as its letters stay legible, and where `graph.opened` wants it.

    Raises AgradError of kind `name` for a box that is none, and of kind `limit` for too many boxes.
    """
    view, wanted = _View(graph, precision), graph.opened
    if "all" in wanted or (not wanted and len(graph.wanted) <= _LEGIBLE):
        made = view.drawn(graph.wanted)
        if made.share >= LEAST or wanted:
            return made
    best: tuple[int, Drawing] | None = None
    for most in _SIDES:
        folding = Folding(graph.wanted, graph.numbers, graph.function_of, most)
        opened = _named(folding, wanted)
        shown = _visible(folding.whole, opened)
        made = view.drawn(shown)
        if not wanted and made.share >= LEAST:
            made, shown = _opened(view, folding, made)
        if best is None or (made.share >= LEAST, len(shown)) > (best[1].share >= LEAST, best[0]):
            best = len(shown), made
        if wanted:
            break
    assert best is not None
    return best[1]


def _opened(view: _View, folding: Folding, made: Drawing) -> tuple[Drawing, list[_Part]]:
    """The picture with as many boxes open, large ones first, as it stays legible with; and what it shows."""
    opened: set[Fold] = set()
    shown = _visible(folding.whole, opened)
    for box in sorted(folding.boxes[:-1], key=lambda one: -sum(1 for _ in nodes_of(one))):
        if any(part is box for part in shown) and len(shown) + len(box.children) <= _LEGIBLE:
            more = view.drawn(_visible(folding.whole, opened | {box}))
            if more.share >= LEAST:
                made, opened = more, opened | {box}
                shown = _visible(folding.whole, opened)
    return made, shown


def _visible(whole: Fold, opened: set[Fold]) -> list[_Part]:
    """What is in a box, and in the boxes in it that are open."""
    return [
        part
        for one in whole.children
        for part in (_visible(one, opened) if isinstance(one, Fold) and one in opened else [one])
    ]


def _named(folding: Folding, names: Sequence[str]) -> set[Fold]:
    """The boxes of these names, and those around them. Raises AgradError of kind `name` where there is none."""
    for name in names:
        if all(box.name != name for box in folding.boxes):
            known = dict.fromkeys(box.name for box in folding.boxes if box.name)
            fixes = [Hint(f'open "{label}"') for label in [*known][:_SHOWN]]
            raise AgradError("name", f'the graph has no box named "{name}"', fixes=fixes)
    found = {box for box in folding.boxes if box.name in names}
    for box in folding.boxes:  # those inside are before those around
        found |= {box} if found.intersection(one for one in box.children if isinstance(one, Fold)) else set()
    return found


class _Item(NamedTuple):
    """What is in a box."""

    rows: list[str]
    marks: tuple[str, ...]
    note: str = ""
    is_round: bool = True


class _Contents(NamedTuple):
    """Boxes and the edges between them; the texts of edges, each between two edges; how edges differ in two graphs."""

    items: dict[int, _Item]
    edges: list[tuple[int, int]]
    labels: dict[int, str]
    changes: dict[tuple[int, int], str]


class _View:
    """A graph and what is known of its nodes, drawn with more or fewer boxes."""

    def __init__(self, graph: GraphRows, precision: int | None) -> None:
        self.graph, self.precision = graph, precision
        self.rows = {row.number: row for row in graph.rows}
        self.gradients = gradients(graph) if graph.gradients else {}

    def drawn(self, parts: Sequence[_Part]) -> Drawing:
        """The picture with some boxes, in the direction and with the width of texts that suit it."""
        if len(parts) > _MOST:
            message = f"a picture has up to {_MOST} boxes, and this one would have {len(parts)}"
            raise AgradError("limit", message, fixes=[Hint('open fewer boxes than "all"')])
        caption = self._caption(parts)
        for width in _WIDTHS if len(parts) <= _LEGIBLE else ():
            inside = self._contents(parts, width)
            made = max(_sheets(inside, caption), key=lambda one: one.share)
            if made.share >= LEAST:
                return made
        inside = self._contents(parts, _WIDTHS[1])
        made = max(_sheets(inside, caption), key=lambda one: one.share)
        small = f"the letters have {made.share:.1%} of the height: too small for a projector"
        return max(_sheets(inside, [*caption, small]), key=lambda one: one.share)

    def _caption(self, parts: Sequence[_Part]) -> list[str]:
        """The heading; what is not shown; and which boxes can be opened."""
        folds = [one for one in parts if isinstance(one, Fold)]
        rows = [one_line(self.graph.heading, 200), *self.graph.guard_lines()]
        rows += self.graph.left_out(len(self.graph.wanted))
        if folds:
            inside = sum(1 for fold in folds for _ in nodes_of(fold))
            rows.append(f"{inside} nodes are in {len(folds)} box{'es' * (len(folds) > 1)} (+), to be legible")
            rows[-1] += f'; what is in one: graph {self.graph.typed} open "{folds[-1].name}" to "graph.svg"'
        return rows

    def _contents(self, parts: Sequence[_Part], width: int) -> _Contents:
        found = _Contents({}, [], {}, {})
        around: dict[int, int] = {}
        for part in parts:
            rows = [self.rows[self.graph.numbers[node.seq]] for node in nodes_of(part)]
            here = part.number if isinstance(part, Fold) else rows[0].number
            around |= {row.number: here for row in rows}
            found.items[here] = (
                self._folded(part, rows, width) if isinstance(part, Fold) else self._single(rows[0], width)
            )
        uses: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for number, here in around.items():
            row = self.rows[number]
            missing = dict.fromkeys(x for x in row.behind if x not in around)
            found.items[here].rows.extend([f"… {' '.join(elided(tuple(missing)))}"] if missing else [])
            used = [x for x in row.operands if isinstance(x, int)]
            for x in [*used, *(x for x in row.behind if x not in used)]:
                if x in around and around[x] != here:
                    uses.setdefault((around[x], here), []).append((x, number))
                    found.changes[around[x], here] = row.change_of(x)
        for (source, target), pairs in uses.items():
            between, text = -1 - len(found.labels), self._label(pairs, width)
            found.labels.update({between: text} if text else {})
            found.edges.extend([(source, between), (between, target)] if text else [(source, target)])
        return found

    def _label(self, pairs: Sequence[tuple[int, int]], width: int) -> str:
        """How often an operation uses a value, and the gradient that comes back to it from there, where it is one."""
        times = f"{len(pairs)}×" if len(pairs) > 1 and len(set(pairs)) == 1 else ""
        parts = [self.gradients[pair] for pair in dict.fromkeys(pairs) if pair in self.gradients]
        if not parts or len({operand for operand, _ in pairs}) > 1:
            return times
        found = summary(sum(one for one, _ in parts), parts[0][1])
        return f"{times} ∂ {found.text(self.precision, width)}".strip()

    def _single(self, row: NodeRow, width: int) -> _Item:
        marks = row.change if row.change in STYLES else row.kind, *["dashed"] * row.freed, *["stale"] * row.stale
        texts = [one_line(text, width) for text in box_lines(row, self.precision, width)]
        return _Item(texts, marks, one_line(row.where or ""), not row.leaf)

    def _folded(self, fold: Fold, rows: Sequence[NodeRow], width: int) -> _Item:
        """A box of several nodes: what it is of, how many, its parameters, and what some of them hold."""
        last, kinds = rows[-1], sorted({row.kind for row in rows} & {"freed", "saved"})
        kind = "result" if last.kind == "result" else kinds[0] if kinds else _OPERATION
        head = f"{LOOKS[kind].sign} + "
        texts = [head + (fold.label if len(head + fold.label) <= width else fold.name)]
        texts += [f"… {last.text}"] if fold.kind == "part" and last.text else []
        texts.append(f"{counted(len(rows), 'node')} {format_shape(last.shape) if last.shape else ''}".rstrip())
        names = [row.name.rpartition(".")[2] for row in rows if row.leaf and row.requires_grad and row.name]
        texts += [f"{LOOKS['leaf'].sign} {', '.join(names)}"] if names else []
        marks = next((row.change for row in rows if row.change in STYLES), kind), *["dashed"] * (kinds[:1] == ["freed"])
        return _Item([one_line(text, width) for text in texts], marks)


def gradients(graph: GraphRows) -> dict[tuple[int, int], tuple[Any, Unit | None]]:
    """What a backward pass from the value brings to each operand from each operation that uses it, by their numbers.

    They are in SI units, beside the unit that they are shown in. Raises AgradError of kind `name` for several values,
    and as `backward` does.
    """
    if len(graph.ends) != 1 or graph.sides:
        raise AgradError("name", "gradients are drawn on the graph of one value")
    walk = walks_from(graph.ends)[0]
    if walk.refused is not None:
        raise walk.refused
    found: dict[tuple[int, int], tuple[Any, Unit | None]] = {}
    for visit in walk.visits.values():
        for part in visit.parts:
            pair = graph.numbers.get(through(part.operand).seq, 0), graph.numbers.get(visit.node.seq, 0)
            before, _ = found.get(pair, (0.0, None))
            found[pair] = before + plain(part.contribution), graph.unit(part.operand, walk.root)
    return found


class _Sheet:
    """The boxes and lines of a layout in pixels: `sideways` from left to right, else from top to bottom."""

    def __init__(self, inside: _Contents, caption: Sequence[str], sideways: bool) -> None:
        self.items, edges, self.labels, self.changes = inside
        self.caption, self.sideways = caption, sideways
        self.size = {
            number: (wide(item.rows) + 2 * INSIDE, _ROW * len(item.rows) + INSIDE)
            for number, item in self.items.items()
        }
        self.size |= {number: (wide([text]), _ROW) for number, text in self.labels.items()}
        layout = arrange({number: size[sideways] for number, size in self.size.items()}, edges, _BESIDE)
        self.middle, self.lines = layout.middle, layout.lines
        self.begin: dict[Joint, int] = {}  # of what is in a layer, across it
        self.band: dict[Joint, tuple[int, int]] = {}  # its layer
        place, is_close = 0, True
        for layer in layout.layers:
            deepest = max(map(self._depth, layer))
            of_labels = not any(joint[0] in self.items for joint in layer if len(joint) == 1)
            place += _BETWEEN // (2 if is_close or of_labels else 1) if self.begin else 0
            for joint in layer:
                self.begin[joint] = place + (deepest - self._depth(joint)) // 2
                self.band[joint] = place, place + deepest
            place, is_close = place + deepest, of_labels
        self.depth = place
        self.breadth = max(self.middle[joint] + (self._breadth(joint) + 1) // 2 for joint in self.middle)

    def _depth(self, joint: Joint) -> int:
        return self.size[joint[0]][not self.sideways] if len(joint) == 1 else 0

    def _breadth(self, joint: Joint) -> int:
        return self.size[joint[0]][self.sideways] if len(joint) == 1 else 1

    def drawing(self) -> Drawing:
        """The picture: the caption, the signs that are used, and the graph in the middle below."""
        legend = self._legend()
        graph = (self.depth, self.breadth) if self.sideways else (self.breadth, self.depth)
        inside = max(graph[0], wide(self.caption), legend[-1].x + wide([legend[-1].text]) - _AROUND if legend else 0)
        top = _AROUND + _ROW * (len(self.caption) + bool(legend)) + _ROW // 2
        self.corner = _AROUND + (inside - graph[0]) // 2, top
        items: list[Text | Box | Line] = [*_texts(self.caption, _AROUND, _AROUND + SIZE - 2, bold=True), *legend]
        items += [*self._arrows(), *self._labels(), *map(self._box, self.items)]
        return Drawing(inside + 2 * _AROUND, top + graph[1] + _AROUND, self.caption[0], tuple(items))

    def _legend(self) -> list[Text]:
        """Each sign in a box, and what it means."""
        signs = {row[:1] for item in self.items.values() for row in item.rows}
        x, y = _AROUND, _AROUND + SIZE - 2 + _ROW * len(self.caption)
        found = []
        for name, look in LOOKS.items():
            if look.sign in signs:
                found += [Text(x, y, look.sign, True, name), Text(x + wide(["  "]), y, look.said)]
                x += wide([f"{look.sign} {look.said}   "])
        return found

    def _at(self, along: int, across: int) -> Point:
        """The point of the picture at a place along its layer and one across the layers."""
        x, y = (across, along) if self.sideways else (along, across)
        return self.corner[0] + x, self.corner[1] + y

    def _place(self, number: int) -> Point:
        joint = (number,)
        return self._at(self.middle[joint] - self._breadth(joint) // 2, self.begin[joint])

    def _box(self, number: int) -> Box:
        item, (x, y), (width, height) = self.items[number], self._place(number), self.size[number]
        texts: list[Text] = []
        for text in _texts(item.rows, x + INSIDE, y + _ROW):
            mark = _MARKS.get(text.text[:1])
            if mark is None:
                texts.append(text)
            else:
                texts.append(text._replace(text=text.text[:1], bold=True, mark=mark))
                texts.append(text._replace(text=text.text[2:], x=text.x + wide(["  "])))
        return Box(x, y, width, height, item.is_round, item.marks, tuple(texts), item.note)

    def _labels(self) -> Iterator[Text]:
        for number, text in self.labels.items():
            x, y = self._place(number)
            yield Text(x, y + SIZE, text)

    def _arrows(self) -> Iterator[Line]:
        """The lines, from operand to result, which they enter in the order of the operands."""
        entering: dict[Joint, list[list[Joint]]] = {}
        for chain in chains(self.lines):
            entering.setdefault(chain[-1], []).append(chain)
        for target, arriving in entering.items():
            for place, chain in enumerate(arriving, 1):
                share = place / (len(arriving) + 1) - 0.5
                yield self._line(chain, self.middle[target] + round(share * self._breadth(target)))

    def _line(self, chain: Sequence[Joint], end: int) -> Line:
        """One line through all its joints; in its own layer straight, so that it touches no box there."""
        first, last = chain[0], chain[-1]
        tip = 0 if last[0] in self.labels else TIP
        start = self._at(self.middle[first], self.begin[first] + self._depth(first))
        pieces: list[tuple[Point, ...]] = [(self._at(self.middle[first], self.band[first][1]),)]
        for upper, lower in pairwise(chain):
            x, y = self.middle[upper], self.band[upper][1]
            to, across = (end, self.band[last][0] - tip) if lower == last else (self.middle[lower], self.band[lower][0])
            half = (y + across) // 2
            pieces.append((self._at(x, half), self._at(to, half), self._at(to, across)))
            if lower != last:
                pieces.append((self._at(to, self.band[lower][1]),))
        reached = self.begin[last]
        pieces.append((self._at(end, reached - tip),))
        corners = (self._at(end, reached), self._at(end - 4, reached - tip), self._at(end + 4, reached - tip))
        change = self.changes.get((first[0], last[0]), "")
        return Line(start, tuple(pieces), corners if tip else (), (change,) if change in FILLS else ())


def _sheets(inside: _Contents, caption: Sequence[str]) -> list[Drawing]:
    """From top to bottom, and from left to right."""
    return [_Sheet(inside, caption, sideways).drawing() for sideways in (False, True)]


_MARKS = {look.sign: name for name, look in LOOKS.items()}


def wide(rows: Sequence[str]) -> int:
    """The width of the longest of some texts."""
    return round(max(map(display_width, rows), default=0) * CHARACTER)


def _texts(rows: Sequence[str], x: int, y: int, bold: bool = False) -> Iterator[Text]:
    """Lines of text."""
    for place, row in enumerate(rows):
        yield Text(x, y + place * _ROW, row, bold and not place)
