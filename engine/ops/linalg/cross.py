"""The cross product."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import axis_of
from agrad.engine.core.dispatch import composed, operand
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.shaping import permute
from agrad.engine.ops.linalg.matrices import FAMILY
from agrad.engine.ops.scalar.arithmetic import mul, sub
from agrad.engine.values import format_shape, shape_of


def _last(x: Any, axis: Any) -> Any:
    """With the axis of the vectors behind the others."""
    shape = shape_of(x)
    place = axis_of("cross", shape, axis)
    if shape[place] != 3:
        raise AgradError("shape", f"cross needs vectors of 3 entries, not a value of shape {format_shape(shape)}")
    return x if place == len(shape) - 1 else permute(x, (*(n for n in range(len(shape)) if n != place), place))


@composed(
    "cross",
    "x, y; axis=-1",
    family=FAMILY,
    pure=True,
    samples=(([1.0, 2.0, 3.0], [0.5, -1.0, 2.0]), ([[1.0], [2.0], [3.0]], [[0.5], [-1.0], [2.0]], {"axis": 0})),
    doc="The cross product of vectors with three entries, along the last axis or another.",
    derivative="wrt x: cross(y, g); wrt y: cross(g, x)",
    example="cross([1, 0, 0], [0, 1, 0]) == [0, 0, 1]",
)
def cross(x: Any, y: Any, axis: Any) -> Any:
    """See the entry."""
    x, y = (_last(operand(one), axis) for one in (x, y))
    (x1, x2), (y1, y2) = ([getitem(one, (..., order)) for order in ([1, 2, 0], [2, 0, 1])] for one in (x, y))
    result = sub(mul(x1, y2), mul(x2, y1))
    place, count = axis_of("cross", shape_of(result), axis), len(shape_of(result))
    return result if place == count - 1 else permute(result, (*range(place), count - 1, *range(place, count - 1)))
