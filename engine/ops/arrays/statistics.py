"""Statistics of data: quantiles, covariances, and reductions that leave nan out."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from agrad.engine.core.arguments import axes_of, kept, number_of, plain_of, truth_of
from agrad.engine.core.dispatch import in_family, operand
from agrad.engine.core.graph import Uncertainty, reachable
from agrad.engine.core.op import Function
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.indexing import getitem, take_along
from agrad.engine.ops.arrays.joining import concat, diagonal, outer, stack
from agrad.engine.ops.arrays.order import SORTED_TIES, sort
from agrad.engine.ops.arrays.reduction import largest, mean, smallest, total
from agrad.engine.ops.arrays.shaping import permute, reshape
from agrad.engine.ops.linalg.matrices import matmul
from agrad.engine.ops.scalar.arithmetic import add, div, mul, sub
from agrad.engine.ops.scalar.comparison import equal, isfinite, isnan, maximum, minimum, where
from agrad.engine.ops.scalar.elementary import floor, sqrt, square
from agrad.engine.values import Shape, format_shape, np, shape_of

_, composed = in_family("reductions", pure=True)

# Quantiles


def in_rows(name: str, x: Any, axis: Any) -> tuple[Any, Shape]:
    """The entries that are reduced along a last axis, and the shape of the result with its axes kept."""
    x = operand(x)
    shape = shape_of(x)
    axes = axes_of(name, shape, axis)
    left = tuple(one for one in range(len(shape)) if one not in axes)
    if (*left, *axes) != tuple(range(len(shape))):
        x = permute(x, (*left, *axes))
    count = math.prod(shape[one] for one in axes)
    if not count:
        raise AgradError("shape", f"{name} of shape {format_shape(shape)}: there is no entry")
    return reshape(x, (*(shape[one] for one in left), count)), kept(shape, axes)


def _shares(name: str, q: Any, whole: float) -> Any:
    shares = np.asarray(plain_of(name, "q", q))
    if not np.all((shares >= 0.0) & (shares <= whole)):
        raise AgradError("domain", f"{name}: q must be between 0 and {whole:g}")
    return shares / whole


def quantiles(name: str, whole: float, skips: bool, x: Any, q: Any, axis: Any, keepdims: Any) -> Any:
    """Between the two entries around a place, in sorted order: straight lines, as NumPy's default is."""
    rows, wide = in_rows(name, x, axis)
    shares, ordered = _shares(name, q, whole), sort(rows)
    last = float(shape_of(rows)[-1] - 1)
    if skips:  # nan stands behind all others
        last = maximum(_count(rows, -1, True) - 1.0, 0.0)
    found = []
    for share in shares.ravel().tolist():
        place = mul(share, last)
        below = floor(place)
        value = _between(ordered, below, minimum(below + 1.0, last), sub(place, below))
        if not skips:
            end = getitem(ordered, (..., slice(-1, None)))
            value = where(isnan(end), end, value)
        found.append(value)
    shape = wide if truth_of(name, "keepdims", keepdims) else shape_of(rows)[:-1]
    result = stack(found) if shares.shape else found[0]
    return reshape(result, (*shares.shape, *shape)) if shares.shape or shape else _number(result)


def _number(x: Any) -> Any:
    return reshape(x, ()) if shape_of(x) else x


def _between(ordered: Any, below: Any, above: Any, share: Any) -> Any:
    """The value at a share of the way between two places; the upper one counts for nothing where the share is 0."""
    if not shape_of(below):
        low, high = (getitem(ordered, (..., slice(int(at), int(at) + 1))) for at in (below, above))
    else:
        low, high = take_along(ordered, below, -1), take_along(ordered, above, -1)
    apart = where(isfinite(low), sub(high, low), high)  # inf - inf would be nan between equal entries
    return add(low, where(equal(share, 0.0), 0.0, mul(share, apart)))


def _quantile(name: str, whole: float, **words: Any) -> Function:
    @composed(
        name,
        kinks=(SORTED_TIES,),
        derivative="the shares of the two entries around the place, exactly 0 for the others",
        **words,
    )
    def call(x: Any, /, q: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return quantiles(name, whole, False, x, q, axis, keepdims)

    return call


quantile: Function = _quantile(
    "quantile",
    1.0,
    doc="The number that a share q of the entries is below, from 0 to 1; between two entries on the straight line.",
    example="quantile([1, 2, 3, 4], 0.25) == 1.75",
)
percentile: Function = _quantile(
    "percentile",
    100.0,
    doc="The number that q percent of the entries are below; between two entries on the straight line.",
    example="percentile([1, 2, 3, 4], 25) == 1.75",
)

# Covariances


def _variables(name: str, x: Any, y: Any, rowvar: Any) -> Any:
    """The variables as rows, each less its mean."""
    rows = []
    for one in (x,) if y is None else (x, y):
        one = operand(one)
        if Uncertainty.exists and isinstance(one, Tensor) and any(x.uncertainty for x in reachable(one.node)):
            fixes = [Hint("covariance(x, y)   of uncertain values"), Hint(f"{name}(x.data)   of readings")]
            raise AgradError("type", f"{name} is of plain readings, and these are uncertain", fixes=fixes)
        shape = shape_of(one)
        if not shape or len(shape) > 2:
            raise AgradError("shape", f"{name} needs a vector or a matrix of data, not shape {format_shape(shape)}")
        if len(shape) == 1:
            one = reshape(one, (1, -1))
        elif not truth_of(name, "rowvar", rowvar) and shape[0] != 1:
            one = permute(one, (1, 0))
        rows.append(one)
    data = rows[0] if y is None else concat(rows, 0)
    return sub(data, mean(data, 1, True))


def _covariance(data: Any, ddof: float) -> Any:
    count = shape_of(data)[1] - ddof
    matrix = matmul(data, permute(data, (1, 0)))
    return div(matrix, float(count)) if count > 0 else mul(matrix, math.nan)


@composed(data=("y",))
def cov(x: Any, /, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    """The covariances of variables: the rows of x (and of y), or the columns with rowvar=False; divided by n - 1, or n
    - ddof.

    derivative: of the mean products of the distances from the means
    example: cov([1, 2, 3], [2, 4, 6]) == [[1, 2], [2, 4]]
    """
    less = number_of("cov", "ddof", ddof) if ddof is not None else 0.0 if truth_of("cov", "bias", bias) else 1.0
    matrix = _covariance(_variables("cov", x, y, rowvar), less)
    return _number(matrix) if shape_of(matrix) == (1, 1) else matrix


@composed(data=("y",))
def corrcoef(x: Any, /, y: Any = None, rowvar: Any = True) -> Any:
    """The correlation coefficients of variables: the covariances divided by both standard deviations.

    derivative: of cov, divided by the standard deviations
    example: corrcoef([1, 2, 3], [1, 2, 1])[0, 1] == 0
    """
    matrix = _covariance(_variables("corrcoef", x, y, rowvar), 0.0)
    if shape_of(matrix) == (1, 1):
        matrix = _number(matrix)
        return div(matrix, matrix)
    deviation = sqrt(diagonal(matrix))
    return div(matrix, outer(deviation, deviation))


# Without nan


def _count(x: Any, axis: Any, keepdims: Any) -> Any:
    """How many entries are numbers."""
    return total(equal(isnan(x), 0.0), axis, keepdims)


def _sum(x: Any, axis: Any, keepdims: Any) -> Any:
    return total(where(isnan(x), 0.0, x), axis, keepdims)


def _mean(x: Any, axis: Any, keepdims: Any) -> Any:
    return div(_sum(x, axis, keepdims), _count(x, axis, keepdims))


def _var(x: Any, axis: Any, keepdims: Any, ddof: Any) -> Any:
    apart = where(isnan(x), 0.0, sub(x, _mean(x, axis, True)))
    left = sub(_count(x, axis, keepdims), number_of("nanvar", "ddof", ddof))
    return div(total(square(apart), axis, keepdims), where(left > 0.0, left, math.nan))


def _std(x: Any, axis: Any, keepdims: Any, ddof: Any) -> Any:
    """The derivative for equal entries is 0, as that of std."""
    variance = _var(x, axis, keepdims, ddof)
    none = equal(variance, 0.0)
    return where(none, 0.0, sqrt(where(none, 1.0, variance)))


def _extreme(reduce: Function, beyond: float, x: Any, axis: Any, keepdims: Any) -> Any:
    found = reduce(where(isnan(x), beyond, x), axis=axis, keepdims=keepdims)
    return where(equal(_count(x, axis, keepdims), 0.0), math.nan, found)


def _without_nan(name: str, of: str, function: Function, doc: str, value: str, *, ddof: bool = False) -> Function:
    form = "x; axis=None, keepdims=False" + (", ddof=0" if ddof else "")

    @composed(
        name,
        form,
        doc=f"{doc} of the entries that are not nan.",
        derivative=f"that of {of}; exactly 0 where there is nan",
        example=f"{name}([1, nan, 4]) == {value}",
    )
    def call(x: Any, **attrs: Any) -> Any:
        return function(operand(x), **attrs)

    return call


nansum: Function = _without_nan("nansum", "sum", _sum, "The sum", "5")
nanmean: Function = _without_nan("nanmean", "mean", _mean, "The mean", "2.5")
nanmax: Function = _without_nan("nanmax", "max", partial(_extreme, largest, -math.inf), "The largest", "4")
nanmin: Function = _without_nan("nanmin", "min", partial(_extreme, smallest, math.inf), "The smallest", "1")
nanvar: Function = _without_nan("nanvar", "var", _var, "The variance", "2.25", ddof=True)
nanstd: Function = _without_nan("nanstd", "std", _std, "The standard deviation", "1.5", ddof=True)
