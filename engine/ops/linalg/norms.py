"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import axes_of, number_of, truth_of
from agrad.engine.core.dispatch import by_array, in_family, shape_of_any
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays import expansions
from agrad.engine.ops.arrays.reduction import amax, amin, direction, norm_slope, over_axes, scaled_root, total, widened
from agrad.engine.ops.arrays.shaping import permute, reshape
from agrad.engine.ops.linalg.decomposition import svd_values
from agrad.engine.ops.scalar.comparison import not_equal
from agrad.engine.ops.scalar.elementary import NORM_AT_ZERO, absolute
from agrad.engine.values import Shape, describe, format_number, format_shape

_, composed = in_family("reductions", pure=True)


@by_array(
    over_axes,
    what="norm",
    title="Norm",
    units="a -> a",
    more=", p=2.0",
    scalar=lambda x, **_: abs(x),
    rules={"x": ("x", lambda g, out, x, axis, p, wide, **_: widened(g, wide) * norm_slope(direction(x, axis, p), p))},
    reach="mixed",
    unrolled=expansions.reduced(expansions.power_sum),
)
def p_norm(x: Any, axis: Any, keepdims: Any, wide: Any, p: Any) -> Any:
    """The p-th root of the sum of the p-th powers of the absolute values, without overflow on the way."""
    return scaled_root(x, axis, keepdims, p)


def of_vector(x: Any, p: float, axes: Any, keepdims: Any) -> Any:
    """The norm of order p of all entries along some axes, of a matrix too."""
    if p == 1.0:
        return total(absolute(x), axes, keepdims)
    if math.isinf(p):
        return (amax if p > 0.0 else amin)(absolute(x), axes, keepdims)
    if p == 0.0:
        return total(not_equal(x, 0.0), axes, keepdims)
    return p_norm(x, axes, keepdims, p)


def _extreme(order: float, values: Any) -> Any:
    """The largest value along the last axis for a positive order, the smallest for a negative one."""
    if not shape_of_any(values)[-1]:
        raise AgradError("shape", f"norm of order {format_number(order)}: the matrix has no entries")
    return (amax if order > 0.0 else amin)(values, -1)


def _of_matrix(x: Any, order: Any, axes: Shape, keepdims: bool) -> Any:
    shape = shape_of_any(x)
    others = tuple(one for one in range(len(shape)) if one not in axes)
    moved = permute(x, (*others, *axes)) if (*others, *axes) != tuple(range(len(shape))) else x
    if order in (1.0, -1.0, math.inf, -math.inf):
        sums = total(absolute(moved), -2 if abs(order) == 1.0 else -1)
        value = _extreme(order, sums)
    elif order == "nuc":
        value = total(svd_values(moved), -1)
    elif order in (2.0, -2.0):
        value = _extreme(order, svd_values(moved))
    else:
        raise AgradError("domain", f"norm: matrices have no norm of order {describe(order)}")
    return reshape(value, tuple(1 if one in axes else n for one, n in enumerate(shape))) if keepdims else value


@composed(kinks=(NORM_AT_ZERO,))
def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """The length of a vector, or of all entries; ord=1, inf, p; of a matrix 1, 2, inf, "fro", "nuc".

    derivative: x/norm(x); 0 at 0
    example: norm([3, 4]) == 5
    """
    order = getattr(ord, "value", ord)
    shape = shape_of_any(x)
    axes = axes_of("norm", shape, axis, in_order=False)  # the norms of rows and of columns differ
    if order is None or (isinstance(order, str) and order == "fro" and len(axes) == 2):
        return p_norm(x, axes, keepdims)
    if isinstance(order, str) and order != "nuc":
        raise AgradError("domain", f'norm: the order is a number, "fro" or "nuc", not {describe(order)}')
    order = order if isinstance(order, str) else number_of("norm", "ord", ord)
    if len(axes) == 2:
        return _of_matrix(x, order, axes, truth_of("norm", "keepdims", keepdims))
    if isinstance(order, str) or len(axes) > 2:
        raise AgradError("shape", f"norm of order {order}: of a vector or a matrix, not of shape {format_shape(shape)}")
    return of_vector(x, order, axes, keepdims)
