"""What is printed reads back: properties of any value."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from agrad.engine.core.tensor import Tensor
from agrad.grammar.results import Settings, text_of
from agrad.grammar.session.session import Session

NUMBERS = st.floats() | st.integers(-(10**6), 10**6).map(float)
VECTORS = st.lists(NUMBERS, min_size=1, max_size=4)
MATRICES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1, max_size=3)
)
TUPLES = st.recursive(NUMBERS | VECTORS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


def plain(value):
    """A value of the language in Python's numbers, lists and tuples."""
    if isinstance(value, Tensor):
        return value.tolist()
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def same(left, right):
    """Equal to the last bit and in shape; nan is itself, and 0 is not -0."""
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    return (math.isnan(left) and math.isnan(right)) or (
        left == right and math.copysign(1, left) == math.copysign(1, right)
    )


@settings(max_examples=400)
@given(st.one_of(NUMBERS, VECTORS, MATRICES, TUPLES))
def test_a_value_that_is_printed_in_full_reads_back_as_itself(value):
    session = Session()
    made = session.evaluate(repr(value))
    printed = text_of(made, Settings(precision=None))
    again = session.evaluate(printed)
    assert same(plain(again), plain(made)), printed
    assert same(plain(made), value)


@settings(max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_ten_digits_are_right_to_ten_digits(number):
    again = Session().evaluate(text_of(number, Settings()))
    assert math.isclose(again, number, rel_tol=5e-10) or math.isinf(again)
