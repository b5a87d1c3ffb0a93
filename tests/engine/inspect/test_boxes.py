"""A graph drawn with boxes and lines: what the drawing says is what the graph is."""

import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from refused import leaf

from agrad.engine.inspect.boxes import MOST
from agrad.engine.inspect.dump import dump

# Where a line that comes down, up, from the left or from the right goes on.
UP, DOWN, LEFT, RIGHT = (-1, 0), (1, 0), (0, -1), (0, 1)


WAYS = dict(
    zip("│─└┘┌┐", [(UP, DOWN), (LEFT, RIGHT), (UP, RIGHT), (UP, LEFT), (DOWN, RIGHT), (DOWN, LEFT)], strict=True)
)
WAYS |= {"┴": (UP, LEFT, RIGHT), "┬": (DOWN, LEFT, RIGHT), "├": (UP, DOWN, RIGHT), "┤": (UP, DOWN, LEFT)}
WAYS["┼"] = (UP, DOWN, LEFT, RIGHT)


def wide(value, name="y"):
    """A drawing that has all the room it needs."""
    made = dump(value, name)
    made.width = 10_000
    return made.boxes()


def sample():
    a = leaf(3, "a")
    d = a**2 * 2
    d.name = "d"
    return a, d


def test_what_is_too_large_or_too_wide_is_shown_as_text_that_says_so():
    y = leaf(1, "x")
    for _ in range(MOST):
        y = y * 2
    text = dump(y, "y").boxes()
    assert text == f"{dump(y, 'y').text()}\n  {MOST + 1} boxes are too many to draw: this is the graph as text"
    _, d = sample()
    made = dump(d, "d")
    made.width = 9
    assert (
        made.boxes()
        == f"{made.text()}\n  as boxes it would be 10 columns wide; the limit is 9: this is the graph as text"
    )
    made.width = 10
    assert "┌" in made.boxes()


def read(drawing):
    """What leads where in a drawing: pairs of the names in the boxes, as often as there is a line between them."""
    rows = drawing.split("\n")
    cells = {(row, column): sign for row, text in enumerate(rows) for column, sign in enumerate(text)}
    boxes = {}  # the cells of the borders, with the name inside
    for (row, column), sign in cells.items():
        name = re.match(r"┌([─▼]+)┐", rows[row][column:]) if sign == "┌" else None
        inside = rows[row + 1][column:].startswith("│ ") if name else False
        if inside:
            width = len(name[0])
            boxes |= {(row, place): rows[row + 1][column + 2 :].split()[0] for place in range(column, column + width)}
            bottom = next(r for r in range(row + 1, len(rows)) if cells[r, column] == "└")
            boxes |= {(bottom, place): boxes[row, column] for place in range(column, column + width)}
    found = Counter()
    for cell, name in boxes.items():
        if cells[cell] == "┬":
            found.update((name, end) for end in ends(cells, boxes, cell))
    return found


def ends(cells, boxes, start):
    """The boxes that a line from a lower border comes to. One that goes sideways passes below those that go down."""
    waiting, reached = [((start[0] + 1, start[1]), DOWN)], []
    while waiting:
        cell, way = waiting.pop()
        sign = cells[cell]
        if sign == "▼":
            reached.append(boxes[cell])
            continue
        back = (-way[0], -way[1])
        onward = [way] if sign == "│" else [one for one in WAYS[sign] if one != back]
        assert sign == "│" or back in WAYS[sign], "a line ends before a box"
        waiting += [((cell[0] + down, cell[1] + right), (down, right)) for down, right in onward]
    return reached


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=MOST - 4), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_the_lines_of_a_drawing_are_the_edges_of_the_graph(chosen, leaves):
    values = [leaf(1, f"x{place}" * (place + 1)) for place in range(leaves)]
    for number, (one, other) in enumerate(chosen):
        values.append(values[one % len(values)] * values[other % len(values)])
        values[-1].name = f"v{number}"
    root = values[-1]
    shown = dump(root, "y")
    names = {row.number: row.name for row in shown.rows}
    wanted = Counter((names[x], row.name) for row in shown.rows for x in row.operands)
    assert read(wide(root)) == wanted
