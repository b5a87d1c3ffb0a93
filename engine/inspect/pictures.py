"""A picture of a graph, written as SVG, or as PNG and PDF by matplotlib (the extra `plot`).

A writer has a function for each kind of thing in a picture: see `Drawing.written`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape
from io import BytesIO
from typing import Any

from agrad.engine.extras import look_of, matplotlib
from agrad.engine.inspect.drawing import INSIDE, PAPER, SIZE, STYLES, Box, Drawing, Line, Text, drawing, wide
from agrad.engine.inspect.rows import GraphRows

# The picture of a graph as SVG, which web browsers draw.


def as_svg(graph: GraphRows, precision: int | None = 10) -> str:
    """An SVG image, as large as the window, light or dark; a tooltip gives the place where a value was made.

    Raises AgradError as `drawing` does.
    """
    picture = drawing(graph, precision)
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {picture.width} {picture.height}">',
        f"<title>{escape(picture.title)}</title>",
        f"<style>{_style(picture)}</style>",
        f'<rect class="page" width="{picture.width}" height="{picture.height}"/>',
    ]
    return "\n".join([*rows, *picture.written(_text, _box, _line), "</svg>"])


def _style(picture: Drawing) -> str:
    """The looks of all, and what a mark says of a box, of a line, of its tip and of a text."""
    rows = [
        f"text {{ font: {SIZE}px monospace; white-space: pre }}",
        ".bold { font-weight: bold }",
        "path { fill: none }",
        *(f".{mark} {{ stroke-dasharray: {' '.join(map(str, x.dashes))} }}" for mark, x in _dashed(picture)),
        *_colours(picture, dark=False),
    ]
    return "\n".join([*rows, "@media (prefers-color-scheme: dark) {", *_colours(picture, dark=True), "}"])


def _dashed(picture: Drawing) -> Iterator[tuple[str, Any]]:
    return ((mark, style) for mark, style in picture.marks.items() if style.dashes)


def _colours(picture: Drawing, dark: bool) -> Iterator[str]:
    """The colours on light or on dark paper."""
    where = 2 if dark else 0
    fill, ink = PAPER[where : where + 2]
    yield f"svg:root {{ background: {fill} }}\n.page {{ fill: {fill} }}\ntext {{ fill: {ink} }}"
    line = STYLES["operation"][where + 1]
    yield f"path {{ stroke: {line} }}\n.tip {{ fill: {line}; stroke: none }}"
    for mark, style in picture.marks.items():
        fill, line = style[where : where + 2]
        if fill:
            yield f"rect.{mark} {{ fill: {fill}; stroke: {line} }}\npath.{mark} {{ stroke: {line} }}"
            yield f".tip.{mark}, text.{mark} {{ fill: {line}; stroke: none }}"


def _class(*marks: str) -> str:
    there = " ".join(filter(None, marks))
    return f' class="{there}"' if there else ""


def _text(text: Text) -> str:
    look = _class("bold" * text.bold, text.mark)
    length = f'textLength="{wide([text.text])}" lengthAdjust="spacingAndGlyphs"'  # as wide as measured in any font
    return f'<text{look} x="{text.x}" y="{text.y}" {length}>{escape(text.text)}</text>'


def _box(box: Box) -> str:
    note = f"<title>{escape(box.note)}</title>" if box.note else ""
    corner = f' rx="{INSIDE}"' if box.is_round else ""
    place = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'
    return "\n".join([f"<g>{note}", f"<rect{_class(*box.marks)} {place}{corner}/>", *map(_text, box.texts), "</g>"])


def _line(line: Line) -> str:
    path = [f"M{line.start[0]} {line.start[1]}"]
    path += ["LC"[len(piece) == 3] + _points(piece) for piece in line.pieces]
    tip = f'\n<path{_class("tip", *line.marks)} d="M{_points(line.tip)} z"/>' if line.tip else ""
    return f'<path{_class(*line.marks)} d="{" ".join(path)}"/>{tip}'


def _points(points: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{x} {y}" for x, y in points)


# The picture of a graph as PNG or PDF, written by matplotlib: the extra `plot`.

_INCH = 96  # pixels of the drawing
_SHARPER = 2  # pixels of a PNG for one of the drawing, or as many as a screen has room for
_SCREEN = 1920, 1080
_POINTS = 72 / _INCH
_LARGEST = 30_000  # pixels of a PNG in a direction; matplotlib draws no more than 65,535
# Without the date, so that the same graph is the same file; `parse_math`: a dollar is a dollar.
_METADATA: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}}
_SETTINGS = {"text.parse_math": False, "pdf.fonttype": 42}
_WHAT = "a graph as png or pdf"


def as_file(graph: GraphRows, form: str, precision: int | None = 10) -> bytes:
    """The same picture as a file of `png` or `pdf`. Raises AgradError of kind `extra` if a library is not installed."""
    picture = drawing(graph, precision)
    sharper = max(_SHARPER, min(_SCREEN[0] // picture.width, _SCREEN[1] // picture.height))
    dots = min(_INCH * sharper, _LARGEST * _INCH / max(picture.width, picture.height))  # an inch
    with look_of(_WHAT, _SETTINGS):
        figure = matplotlib("figure", _WHAT).Figure(
            (picture.width / _INCH, picture.height / _INCH), facecolor=PAPER.fill
        )
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
    look = {"weight": "bold" if text.bold else "normal", "color": STYLES.get(text.mark, PAPER).stroke}
    axes.text(text.x, text.y, text.text, family="monospace", size=SIZE * _POINTS, zorder=1, **look)


def _look(marks: tuple[str, ...], face: str) -> dict[str, Any]:
    """What the marks of a box or a line say, in matplotlib's words."""
    look: dict[str, Any] = {
        "edgecolor": STYLES["operation"].stroke,
        "facecolor": face,
        "linewidth": _POINTS,
        "zorder": 1,
    }
    for style in map(STYLES.__getitem__, marks):
        look |= {"edgecolor": style.stroke} if style.stroke else {}
        look |= {"facecolor": style.fill} if style.fill else {}
        look |= {"linestyle": (0, style.dashes)} if style.dashes else {}
    return look


def _draw_box(axes: Any, box: Box) -> None:
    patches = matplotlib("patches", _WHAT)
    rounding = {"rounding_size": INSIDE} if box.is_round else {}
    corner = patches.BoxStyle("Round" if box.is_round else "Square", pad=0, **rounding)
    look = _look(box.marks, PAPER.fill)
    axes.add_patch(patches.FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=corner, **look))
    for text in box.texts:
        _draw_text(axes, text)


def _draw_line(axes: Any, line: Line) -> None:
    path, patches = matplotlib("path", _WHAT).Path, matplotlib("patches", _WHAT)
    points, codes = [line.start], [path.MOVETO]
    for piece in line.pieces:
        points += piece
        codes += [path.CURVE4 if len(piece) == 3 else path.LINETO] * len(piece)
    look = _look(line.marks, "none")
    axes.add_patch(patches.PathPatch(path(points, codes), **{**look, "facecolor": "none"}))
    if line.tip:
        axes.add_patch(patches.Polygon(line.tip, closed=True, facecolor=look["edgecolor"], linewidth=0, zorder=1))
