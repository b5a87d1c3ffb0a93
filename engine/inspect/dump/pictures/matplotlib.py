"""The picture of a graph as PNG or PDF, written by matplotlib: the extra `plot`."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from agrad.engine.extras import extra
from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.pictures.drawing import (
    INSIDE,
    PAPER,
    SIZE,
    STROKE,
    STYLES,
    TIP,
    Box,
    Drawing,
    Line,
    Text,
    drawing,
)

_INCH = 96  # pixels of the drawing
_SHARPER = 2  # pixels of a PNG for one of the drawing
_POINTS = 72 / _INCH
_LARGEST = 30_000  # pixels of a PNG in a direction; matplotlib draws no more than 65,535
# Without the date, so that the same graph is the same file; `parse_math`: a dollar is a dollar.
_METADATA: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}}
_SETTINGS = {"text.parse_math": False, "text.usetex": False, "pdf.fonttype": 42}


def render(graph: GraphRows, precision: int | None, form: str) -> bytes:
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
        _text(axes, item, order)
    elif isinstance(item, Line):
        _line(axes, item, order)
    else:
        _box(axes, item, order)


def _text(axes: Any, text: Text, order: int) -> None:
    weight = "bold" if text.bold else "normal"
    axes.text(text.x, text.y, text.text, family="monospace", size=SIZE * _POINTS, weight=weight, zorder=order)


def _look(marks: tuple[str, ...]) -> dict[str, Any]:
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


def _box(axes: Any, box: Box, order: int) -> None:
    patches = _matplotlib("patches")
    corner = (
        patches.BoxStyle("Round", pad=0, rounding_size=INSIDE) if box.is_round else patches.BoxStyle("Square", pad=0)
    )
    look = {"facecolor": PAPER, **_look(box.marks)}
    axes.add_patch(patches.FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=corner, zorder=order, **look))
    for text in box.texts:
        _text(axes, text, order)


def _line(axes: Any, line: Line, order: int) -> None:
    path, patches = _matplotlib("path").Path, _matplotlib("patches")
    points, codes = [line.start], [path.MOVETO]
    for piece in line.pieces:
        points += piece
        codes += [path.CURVE4 if len(piece) == 3 else path.LINETO] * len(piece)
    look = {**_look(line.marks), "facecolor": "none"}
    axes.add_patch(patches.PathPatch(path(points, codes), zorder=order, **look))
    x, y = line.tip
    tip = [(x, y), (x - TIP // 2 - 1, y - TIP), (x + TIP // 2 + 1, y - TIP)]
    axes.add_patch(patches.Polygon(tip, closed=True, facecolor=line.stroke, linewidth=0, zorder=order))


def _matplotlib(part: str) -> Any:
    """A part of matplotlib. Raises AgradError of kind `extra`, which says what to install, without it."""
    return extra(f"matplotlib.{part}" if part else "matplotlib", "a graph as png or pdf", "matplotlib", "plot")
