"""The picture of a graph as SVG, which web browsers draw."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.pictures.drawing import (
    INSIDE,
    PAPER,
    SIZE,
    STROKE,
    TIP,
    Box,
    Drawing,
    Line,
    Style,
    Text,
    drawing,
)


def render(graph: GraphRows, precision: int | None) -> str:
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
