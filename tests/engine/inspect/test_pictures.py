"""The pictures of a graph: every writer shows the same drawing."""

import struct
import xml.etree.ElementTree as Xml
import zlib

import pytest
from refused import leaf
from rows import each

from agrad.engine.inspect.dump import dump
from agrad.engine.inspect.pictures import Box, Line, Text, drawing

pytest.importorskip("fast_sugiyama")


def sample():
    a = leaf([1.0, 2.0], "a")
    d = (a**2 * a.sum()).mean() * a[0]
    d.name = "d"
    return dump(d, "d")


def freed():
    x = leaf(2.0, "x")
    y = x.sin() * x
    y.backward()
    return dump(y, "y")


def page(svg):
    return list(Xml.fromstring(svg).iter())


def places(parts, tag, mark):
    """The numbers in the attributes of the parts of an SVG."""
    return [
        tuple(int(part.get(word)) for word in ("x", "y"))
        for part in parts
        if part.tag.endswith(tag) and (part.get("class") == "page") is mark
    ]


@each("graph", [sample, freed])
def test_svg_shows_what_the_drawing_has(graph):
    made = drawing(graph(), 10)
    boxes = [item for item in made.items if isinstance(item, Box)]
    lines = [item for item in made.items if isinstance(item, Line)]
    texts = [item for item in made.items if isinstance(item, Text)] + [text for box in boxes for text in box.texts]
    parts = page(graph().svg())
    assert sorted(places(parts, "}rect", False) or []) == sorted([(box.x, box.y) for box in boxes])
    assert sorted(places(parts, "}text", False)) == sorted((text.x, text.y) for text in texts)
    assert sum(part.get("class", "").startswith("tip") for part in parts) == len(lines)
    assert sorted(part.text for part in parts if part.tag.endswith("}text")) == sorted(text.text for text in texts)


def test_the_tip_of_a_line_is_filled_by_what_a_style_sheet_cannot_override():
    tips = [part for part in page(sample().svg()) if part.get("class") == "tip"]
    assert tips
    assert {part.get("style") for part in tips} == {"fill: #444"}
    assert not any(part.get("fill") for part in tips)  # `path { fill: none }` would win


def test_marks_look_alike_everywhere():
    graph = freed()
    assert ".freed { stroke-dasharray: 6 4 }" in graph.svg()
    assert graph.svg().count('class="grad freed"') == 2


def pixels(png):
    """The width, the height, and the rows of a PNG with eight bits a channel, unfiltered."""
    place, data = 8, b""
    while place < len(png):
        (length,), kind = struct.unpack(">I", png[place : place + 4]), png[place + 4 : place + 8]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", png[place + 8 : place + 18])
        data += png[place + 8 : place + 8 + length] if kind == b"IDAT" else b""
        place += 12 + length
    assert (depth, colour) == (8, 6)
    raw, step, rows, before = zlib.decompress(data), 4 * width + 1, [], bytes(4 * width)
    for row in range(height):
        kind, line = raw[row * step], bytearray(raw[row * step + 1 : (row + 1) * step])
        for place in range(len(line)):
            left, up, corner = (line[place - 4], before[place - 4]) if place >= 4 else (0, 0), before[place], 0
            left, corner = left
            line[place] = (line[place] + _predicted(kind, left, up, corner)) % 256
        rows.append(bytes(line))
        before = bytes(line)
    return width, height, rows


def _predicted(kind, left, up, corner):
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda one: abs(guess - one))
    return (0, left, up, (left + up) // 2)[kind]


def test_a_png_has_the_boxes_where_the_drawing_has_them():
    pytest.importorskip("matplotlib")
    graph = sample()
    made = drawing(graph, 10)
    width, height, rows = pixels(graph.picture("png"))
    assert (width, height) == (2 * made.width, 2 * made.height)

    def colour(x, y):
        return tuple(rows[2 * y][8 * x : 8 * x + 3])

    assert colour(2, 2) == (255, 255, 255)
    for box in (item for item in made.items if isinstance(item, Box)):
        assert colour(box.x + box.width - 4, box.y + box.height // 2) == (0xDB, 0xE9, 0xF6)
        assert colour(box.x - 4, box.y + 2) == (255, 255, 255)
    for line in (item for item in made.items if isinstance(item, Line)):
        assert colour(line.tip[0], line.tip[1] - 4) == (0x44, 0x44, 0x44)


@each("form", ["png", "pdf"])
def test_the_same_graph_is_the_same_file(form):
    pytest.importorskip("matplotlib")
    assert sample().picture(form) == sample().picture(form)
