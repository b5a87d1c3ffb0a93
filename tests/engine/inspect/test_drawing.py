"""The picture of a graph at a projector: what it shows is legible, hangs together, and is the graph."""

import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import leaf, refuses
from rows import each

import agrad.engine as ag
from agrad.engine.core.graph import Units
from agrad.engine.inspect.drawing import CHARACTER, LEAST, Box, Line, Text, _View, drawing
from agrad.engine.inspect.dump import dump
from agrad.engine.inspect.folding import Fold
from agrad.engine.text import display_width
from agrad.engine.units.quantity import quantity
from agrad.grammar.commands.graphs import drawn
from agrad.grammar.session.session import Session

STEPS = st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 9))


def built(steps, leaves):
    """A value that all of some steps lead to, each an operation on values before it."""
    values = [leaf(1.5 + number, f"x{number}") for number in range(leaves)]
    for kind, one, other in steps:
        x, y = values[-1 - one % len(values)], values[-1 - other % len(values)]
        values.append((x * y, x + y, x - y, x.sin(), x * 1234567.125, x * x)[kind])
    return sum(values[leaves:], values[0])


def parts(made):
    return [[item for item in made.items if isinstance(item, kind)] for kind in (Box, Line, Text)]


def inside(point, box, margin=0):
    x, y = point
    return box.x - margin <= x <= box.x + box.width + margin and box.y - margin <= y <= box.y + box.height + margin


def points(line):
    """Points along a line."""
    at = line.start
    for piece in line.pieces:
        corners = [at, *piece]
        if len(corners) == 2:
            corners = [at, at, piece[0], piece[0]]
        for share in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
            weights = [(1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3]
            yield tuple(sum(w * corner[axis] for w, corner in zip(weights, corners, strict=True)) for axis in (0, 1))
        at = corners[-1]


def check(made):
    """What holds of every picture."""
    boxes, lines, texts = parts(made)
    for one, other in combinations(boxes, 2):
        apart = one.x + one.width < other.x or other.x + other.width < one.x
        assert apart or one.y + one.height < other.y or other.y + other.height < one.y
    page = Box(0, 0, made.width, made.height, False, (), (), "")
    for around, some in [(page, texts), *((box, box.texts) for box in boxes)]:
        assert around is page or (
            inside((around.x, around.y), page) and inside((around.x + around.width, around.y + around.height), page)
        )
        for text in some:
            assert inside((text.x, text.y - 10), around), text
            assert inside((text.x + display_width(text.text) * CHARACTER, text.y + 3), around), (text, around)
    for line in lines:
        touched = [box for box in boxes if any(inside(point, box) for point in points(line))]
        assert len(touched) <= 2, line
        if line.tip:
            assert any(inside(line.tip[0], box) for box in boxes)
            along = [tip - start for tip, start in zip(line.tip[0], line.start, strict=True)]
            assert max(along) > 0  # to the right or downwards, in the next layer or below
    return boxes, lines


def arriving(boxes, lines):
    """For each box the boxes that its lines come from, in the order in which they enter."""
    found = {}
    for line in lines:
        if not line.tip:  # it ends at a text
            continue
        (end,) = [box for box in boxes if inside(line.tip[0], box)]
        starts = [box for box in boxes if inside(line.start, box)]
        found.setdefault(end, []).append((line.tip[0], starts[0] if starts else None))
    return {end: [start for _, start in sorted(some, key=lambda one: one[0])] for end, some in found.items()}


def number(box):
    return int(re.search(r"%(\d+)", " ".join(text.text for text in box.texts))[1])


@settings(deadline=None, max_examples=12)
@given(steps=st.lists(STEPS, min_size=1, max_size=20), leaves=st.integers(1, 4))
def test_nothing_overlaps_and_every_text_is_in_its_box(steps, leaves):
    graph = dump(built(steps, leaves), "y")
    made = drawing(graph, 10)
    assert made.share >= LEAST
    boxes, _ = check(made)
    said = " ".join(text.text for box in boxes for text in box.texts)
    singles = sum(bool(re.match(r"%\d+", box.texts[1].text)) for box in boxes)
    assert sum(map(int, re.findall(r"(?<!\S)(\d+) nodes", said))) + singles == graph.nodes
    graph.opened = ("all",)
    boxes, lines = check(drawing(graph, 10))
    assert len(boxes) == graph.nodes
    for row, box in [(row, box) for row in graph.rows for box in boxes if number(box) == row.number]:
        there = arriving(boxes, lines).get(box, [])
        wanted = list(dict.fromkeys(row.behind))
        assert len(there) == len(wanted)
        assert all(start is None or number(start) == operand for start, operand in zip(there, wanted, strict=True))


def test_lines_of_a_tree_do_not_cross_and_its_operands_are_in_the_order_of_writing():
    a, b, c, d = (leaf(number, name) for number, name in enumerate("abcd"))
    graph = dump((d * c) - (b * a), "y")
    boxes, _ = check(drawing(graph, 10))
    names = {box.texts[1].text[3:]: box for box in boxes}
    places = [(names[name].x, names[name].y) for name in "dcba"]
    assert places == sorted(places)


@each("count", [1, 5, 60, 1_000])
def test_letters_are_at_least_so_large_and_it_says_what_is_grouped(count):
    y = leaf(1.0, "x")
    for _ in range(count):
        y = y * 1.5
    made = drawing(dump(y, "y"), 10)
    assert made.share >= LEAST
    assert any("in a " in text.text or " (+), to be legible" in text.text for text in parts(made)[2]) == (count > 5)


NET = """import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 3)
        self.last = nn.Linear(3, 1)
    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = torch.relu(self.second(x))
        return self.last(x)
import torch
net = Net()
data = torch.ones(4, 2)
loss = (net(data)**2).mean()
"""


def of_network(*opened):
    session = Session()
    session.run(NET, lambda result: None)
    graph = dump(session.names["loss"], "loss")
    graph.opened = opened
    from agrad.grammar.commands import info

    info.tell_of_nodes(graph, session)
    return drawing(graph, 10)


def rows(made):
    return [" ".join(text.text for text in box.texts) for box in parts(made)[0]]


def test_three_layers_are_boxes_with_their_parameters_and_legible():
    made = of_network()
    check(made)
    assert made.share >= LEAST
    assert sum("weight, bias" in row for row in rows(made)) == 3
    assert any("self.last(x)" in row for row in rows(made))


@each("width", [19, 12, 8])
def test_a_squeezed_box_has_its_name_rather_than_half_of_its_place(width):
    x = leaf(1.0, "x")
    graph = dump(x * 2.0, "y")
    fold = Fold(9, "line 9: loss = …", "statement", [])
    wide, narrow = (_View(graph, 10)._folded(fold, [*graph.rows], size).rows[0] for size in (40, width))
    assert wide.endswith("+ line 9: loss = …")
    assert narrow.endswith("+ loss") and narrow.count("…") == 0


def test_a_box_opens_with_those_around_it():
    closed, opened = of_network("loss"), of_network("self.first(x)")
    assert any(re.search(r"\+ Net", row) for row in rows(closed))
    assert not any(re.search(r"\+ Net|\+ self.first", row) for row in rows(opened))
    assert any("Permute" in row for row in rows(opened))
    assert any("too small for a projector" in text.text for text in parts(opened)[2]) == (opened.share < LEAST)
    assert len(rows(of_network("all"))) == 20
    refuses(lambda: of_network("second"), 'the graph has no box named "second"')


def test_gradients_on_the_edges_are_what_each_operation_passes_back():
    x, w = leaf(3.0, "x"), leaf(2.0, "w")
    y = x * w + x * x
    graph = dump(y, "y")
    graph.gradients = True
    said = sorted(text.text for text in parts(drawing(graph, 10))[2] if "∂" in text.text)
    assert said == ["2× ∂ 6", "∂ 1", "∂ 1", "∂ 2", "∂ 3"]
    y.backward()
    refuses(lambda: drawing(graph, 10), "part of its graph was freed")
    two = dump([x * 2, x * 3], ["p", "q"])
    two.gradients = True
    refuses(lambda: drawing(two, 10), "gradients are drawn on the graph of one value")


def test_gradients_on_the_edges_have_units(monkeypatch):
    monkeypatch.setattr(Units, "exist", True)
    x, v = (one.requires_grad_() for one in (quantity(3, "km"), quantity(2, "km/h")))
    graph = dump(x * v + x * x / quantity(2, "h"), "y")
    graph.gradients = True
    said = sorted(text.text for text in parts(drawing(graph, 10))[2] if "∂" in text.text)
    assert said == ["2× ∂ 3 km/h", "∂ 0.5 1/h", "∂ 1", "∂ 1", "∂ 2 km/h", "∂ 3 km"]


def test_gradients_of_vectors_are_shortened_between_entries():
    x = ag.tensor([1234567.125, -3456789.375, 22222222.5, -456789.375] * 2, requires_grad=True)
    graph = dump((x * x).sum(), "y")
    graph.gradients = True
    (said,) = [text.text for text in parts(drawing(graph, 10))[2] if "2× ∂" in text.text]
    assert set(re.findall(r"-?\d+\.?\d*", said[4:])) <= {"2469134.25", "-6913578.75", "44444445", "-913578.75"}


@each("form, options", [("text", "gradients"), ("dot", 'open "f"'), ("page", "gradients")])
def test_only_pictures_have_them(form, options):
    session = Session()
    with pytest.raises(ag.AgradError, match="is for pictures: svg, png and pdf") as refused:
        session.run(f"var d = 2; e = d*d; graph e {options} as {form}", lambda result: None)
    assert refused.value.fixes == [f'graph e {options} to "graph.svg"']


def test_the_command_draws_them():
    session = Session()
    found = []
    session.run("var a = 3; d = a**2*2; graph d gradients as svg", found.append)
    assert found[-1].picture("svg").count("∂ ") == 2
    assert drawn(session.names["d"], "d", "svg", session.settings).count("<rect") == 4
