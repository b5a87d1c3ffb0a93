"""The pictures of a graph: every writer shows the same drawing."""

import re
import struct
import xml.etree.ElementTree as Xml
import zlib

import pytest
from refused import leaf
from rows import each

from agrad.engine.inspect.drawing import STYLES, Box, Line, Text, drawing
from agrad.engine.inspect.dump import dump


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


def test_marks_look_alike_everywhere():
    graph = freed()
    assert ".dashed { stroke-dasharray: 6 4 }" in graph.svg()
    assert re.findall(r'class="(\w+ dashed)"', graph.svg()) == ["freed dashed", "result dashed"]


def test_light_and_dark_have_the_same_marks():
    light, dark = sample().svg().split("</style>")[0].split("@media (prefers-color-scheme: dark) {")
    rules = [sorted(re.findall(r"rect\.(\w+)", part)) for part in (light, dark)]
    assert rules[0] == rules[1] == ["leaf", "operation", "result", "saved"]


def test_what_xml_would_read_as_its_own_is_escaped():
    a = leaf([1, 2], "a<b>&\x07")
    made = dump(a * 2, '"&<')
    assert "a<b>&\ufffd" in [part.text[3:] for part in Xml.fromstring(made.svg()).iter() if part.text]


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
    times = min(1920 // made.width, 1080 // made.height)
    assert (width, height) == (times * made.width, times * made.height)

    def colour(x, y):
        return "#" + rows[times * y][4 * times * x : 4 * times * x + 3].hex()

    assert colour(2, 2) == "#ffffff"
    for box in (item for item in made.items if isinstance(item, Box)):
        assert colour(box.x + box.width - 4, box.y + box.height // 2) == STYLES[box.marks[0]].fill
        assert colour(box.x - 4, box.y + 2) == "#ffffff"
    for line in (item for item in made.items if isinstance(item, Line)):
        inside = [sum(part) // 3 for part in zip(*line.tip, strict=True)]
        assert colour(*inside) == STYLES["operation"].stroke


@each("form", ["png", "pdf"])
def test_the_same_graph_is_the_same_file(form):
    pytest.importorskip("matplotlib")
    assert sample().picture(form) == sample().picture(form)
