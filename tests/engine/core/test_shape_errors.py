"""Where shapes do not go together, the error says what would fit; and that does."""

import pytest

import agrad.engine as ag
from agrad.engine.core.op import FUNCTIONS

SPREAD = "axis -1 has lengths {} and {}: they fit where they are equal, or one is 1"


def ones(*shape):
    return FUNCTIONS["ones"].call(shape)


NOTES = [
    ("add", ((2,), (3,)), {}, SPREAD.format(2, 3)),
    ("mul", ((2, 3), (2,)), {}, SPREAD.format(3, 2) + "; (2, 1) instead of (2) would"),
    ("mul", ((2,), (2, 3)), {}, SPREAD.format(2, 3) + "; (2, 1) instead of (2) would"),
    ("add", ((2, 3), (4, 3)), {}, SPREAD.format(2, 4).replace("-1", "-2")),
    ("where", ((2,), (3,), ()), {}, SPREAD.format(2, 3)),
    ("expand", ((2,),), {"shape": (3, 3)}, "a shape that ends in (2) would fit"),
    ("expand", ((2, 1),), {"shape": (3, 3)}, "a shape that ends in (2, n) would fit"),
    ("solve", ((2, 2), (3,)), {}, "a right side of shape (2) would fit, or (2, k) with a vector in each column"),
    ("reshape", ((6,),), {"shape": (4, -1)}, "6 is not a multiple of 4; (3, -1) would fit"),
    ("reshape", ((12,),), {"shape": (2, 5, -1)}, "12 is not a multiple of 10; (2, 6, -1) would fit"),
    ("reshape", ((6,),), {"shape": (4, 2)}, "(4, 2) holds 8; (3, 2) would fit"),
    ("reshape", ((6,),), {"shape": (2, 4)}, "(2, 4) holds 8; (2, 3) would fit"),
    ("reshape", ((7,),), {"shape": (2, 3)}, "(2, 3) holds 6"),
    ("reshape", ((0,),), {"shape": (2, 3)}, "(2, 3) holds 6"),
    ("reshape", ((6,),), {"shape": (-1, -1)}, "a length cannot be below 0, except for one -1, which is computed"),
    ("reshape", ((6,),), {"shape": (-2, 3)}, "a length cannot be below 0, except for one -1, which is computed"),
]


@pytest.mark.parametrize(("name", "shapes", "attrs", "note"), NOTES)
def test_the_note_says_what_would_fit(name, shapes, attrs, note):
    with pytest.raises(ag.AgradError) as caught:
        FUNCTIONS[name].call(*(ones(*shape) for shape in shapes), **attrs)
    assert (caught.value.kind, caught.value.notes) == ("shape", [note])


@pytest.mark.parametrize(
    ("name", "shapes", "note"),
    [
        ("concat", [(1, 2), (1,)], "with (1, 2) fit shapes (n, 2), for any n"),
        ("stack", [(2,), (1,)], "concat joins them along axis 0"),
        ("stack", [(2,), ()], "all need the shape of the first, (2)"),
    ],
)
def test_the_same_for_what_joins(name, shapes, note):
    with pytest.raises(ag.AgradError) as caught:
        FUNCTIONS[name].call([ones(*shape) for shape in shapes])
    assert caught.value.notes == [note]


@pytest.mark.parametrize(
    ("shapes", "why"),
    [
        (((2,), (3,)), "two vectors need the same length"),
        (((1, 2), (3,)), "2 columns on the left, 3 rows on the right"),
    ],
)
def test_dot_speaks_of_itself(shapes, why):
    with pytest.raises(ag.AgradError, match=f"^dot of shapes .* and .*: {why}"):
        FUNCTIONS["dot"].call(*(ones(*shape) for shape in shapes))


def test_a_reshape_that_nothing_near_divides_says_no_more():
    with pytest.raises(ag.AgradError) as caught:
        FUNCTIONS["reshape"].call(ones(1_000_003), (500_000, -1))
    assert caught.value.notes == ["1000003 is not a multiple of 500000"]
