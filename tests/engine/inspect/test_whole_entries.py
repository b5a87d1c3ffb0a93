"""A number that a form of a graph shows is one that is there: arrays are shortened between their entries."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import leaf

from agrad.engine.inspect.drawing import Box, drawing
from agrad.engine.inspect.dump import dump
from agrad.engine.values import format_number, format_short, np

NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e-?\d+)?")
LONG = 1e5  # numbers of nodes, shapes and lines are below


def numbers(text):
    """The large numbers in a text, as they stand there."""
    return {found for found in NUMBER.findall(text) if abs(float(found)) >= LONG or "e" in found}


def boxes(made):
    return made.boxes()


def picture(made):
    texts = [text.text for item in drawing(made, 10).items if isinstance(item, Box) for text in item.texts]
    return "\n".join(texts)


FORMS = {
    "text": str,
    "boxes": boxes,
    "tree": lambda made: made.tree(),
    "dot": lambda made: made.dot(),
    "mermaid": lambda made: made.mermaid(),
    "picture": picture,
}
ENTRIES = st.floats(1e5, 1e300) | st.floats(-1e300, -1e5)


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None, max_examples=40)
@given(entries=st.lists(ENTRIES, min_size=1, max_size=8), rows=st.sampled_from([1, 2]))
def test_each_number_in_a_form_is_an_entry(form, entries, rows):
    value = np.array(entries * rows).reshape(rows, -1) if rows > 1 else np.array(entries)
    x = leaf(value, "x")
    y = x * 1.0
    y.sum().backward(retain_graph=True)
    made = dump(y, "y")
    made.width = 10_000
    there = {format_number(entry) for entry in entries} | {format_number(1.0)}
    assert numbers(FORMS[form](made)) <= there


@given(entries=st.lists(ENTRIES, min_size=1, max_size=8), width=st.integers(3, 200))
def test_a_short_text_fits_and_has_whole_entries(entries, width):
    text = format_short(np.array(entries), 10, width)
    assert len(text) <= width
    assert numbers(text) <= {format_number(entry) for entry in entries}


def test_as_many_entries_are_shown_as_there_is_room_for():
    x = np.array([1234567.125, -3456789.345, 22222222.5, -456789.345])
    rows = {
        60: "[1234567.125, -3456789.345, 22222222.5, -456789.345]",
        48: "[1234567.125, -3456789.345, …, -456789.345]",
        32: "[1234567.125, …, -456789.345]",
        20: "[1234567.125, …]",
        10: "[…]",
    }
    assert {width: format_short(x, 10, width) for width in rows} == rows
