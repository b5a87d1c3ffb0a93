"""Running sums and products, and the product of all entries: exact with zeros among them, in all orders.

No rule divides by an entry. Instead there is the recurrence y[k] = a[k] y[k-1] + b[k], whose derivative is the
same recurrence run backwards.
"""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import axis_of
from agrad.engine.core.dispatch import by_array, in_family, shape_of_any
from agrad.engine.core.op import Failure, Function, Kink
from agrad.engine.ops.arrays import expansions, opposed
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.joining import at, concat
from agrad.engine.ops.arrays.reduction import count_of, over_axes, widened
from agrad.engine.ops.arrays.shaping import flip, permute, reshape
from agrad.engine.values import Shape, np, shape_of

row, composed = in_family("reductions")

WITH_ZEROS = Kink("prod, cumprod with zeros", "0", "exact: nothing is divided by the product")


_RECURRING = (lambda a, b: b, lambda last, a, b: a * last + b)
_PRODUCTS = (lambda x: x, lambda last, x: last * x)


def _along(name: str) -> Function:
    def prepare(x: Any, *others: Any, axis: Any) -> dict[str, Any]:
        return {"axis": axis_of(name, shape_of(x), axis)}

    return prepare


@by_array(
    row,
    "x; axis",
    name="cumsum",
    fails=Failure(undefined=opposed.added),
    rules={"x": ("", lambda g, out, x, axis: flip(_cumsum(flip(g, axis), axis), axis))},
    prepare=_along("cumsum"),
    moves_entries=True,
    runs=(lambda x: x, lambda last, x: last + x),
)
def _cumsum(x: Any, axis: Any) -> Any:
    """The running sum along an axis."""
    return np.cumsum(x, axis=axis)


def _shifted(x: Any, axis: int, first: float) -> Any:
    """Every entry shifted by one place; the last is dropped, `first` is inserted."""
    shape = list(shape_of(x))
    kept = getitem(x, at(axis, slice(0, shape[axis] - 1)))
    shape[axis] = 1
    return concat([np.full(tuple(shape), first), kept], axis)


def _run_back(g: Any, a: Any, axis: int) -> Any:
    """What reaches each entry: s[k] = g[k] + a[k+1] s[k+1], the recurrence from the end."""
    return flip(recurrence(_shifted(flip(a, axis), axis, 0.0), flip(g, axis), axis), axis)


@by_array(
    row,
    "a, b; axis",
    units="1, a -> a",
    rules={
        "a": ("a out", lambda g, out, a, b, axis: _run_back(g, a, axis) * _shifted(out, axis, 0.0)),
        "b": ("a", lambda g, out, a, b, axis: _run_back(g, a, axis)),
    },
    prepare=_along("recurrence"),
    runs=_RECURRING,
    unrolled=expansions.running(*_RECURRING),
)
def recurrence(a: Any, b: Any, axis: int) -> Any:
    """y with y[k] = a[k]*y[k-1] + b[k], from 0."""
    # y[k] = a[k] y[k-1] + b[k], from y[-1] = 0.
    if b.ndim == 1 and len(b):
        y, *terms = b.tolist()
        return np.array([y, *[y := factor * y + term for factor, term in zip(a.tolist()[1:], terms, strict=True)]])
    result = np.empty(b.shape)
    first, second, out = (np.moveaxis(each, axis, 0) for each in (a, b, result))
    for k in range(len(second)):
        out[k] = first[k] * out[k - 1] + second[k] if k else second[k]
    return result


def _cumprod_rule(g: Any, out: Any, x: Any, axis: int) -> Any:
    if not shape_of(x)[axis]:
        return g
    return _run_back(g, x, axis) * _shifted(out, axis, 1.0)


@by_array(
    row,
    "x; axis",
    name="cumprod",
    total=True,
    fails=Failure(undefined=opposed.multiplied),
    rules={"x": ("x out", _cumprod_rule)},
    prepare=_along("cumprod"),
    runs=_PRODUCTS,
    unrolled=expansions.running(*_PRODUCTS),
)
def _cumprod(x: Any, axis: Any) -> Any:
    """The running product along an axis."""
    return np.cumprod(x, axis=axis)


def _running(call: Function, what: str, **words: Any) -> Function:
    """The function of a row along one axis, which without an axis takes all entries, flattened."""

    @composed(
        call.__name__,
        total=True,
        doc=f"The running {what}, of all entries, flattened, or along an axis.",
        **words,
    )
    def running(x: Any, /, axis: Any = None) -> Any:
        if axis is not None:
            return call(x, axis)
        return call(x if len(shape_of_any(x)) == 1 else reshape(x, (-1,)), 0)

    return running


cumsum: Function = _running(
    _cumsum, "sum", derivative="the running sum of g from the end", example="cumsum([1, 2, 3]) == [1, 3, 6]"
)
cumprod: Function = _running(
    _cumprod,
    "product",
    kinks=(WITH_ZEROS,),
    derivative="for each entry, the sum of g times the products without it; exact with zeros",
    example="cumprod([1, 2, 3]) == [1, 2, 6]",
)


def _others(x: Any) -> Any:
    """For each entry of the last axis, the product of all others: of those before it and those after it."""
    axis = len(shape_of(x)) - 1
    before = _shifted(_cumprod(x, axis), axis, 1.0)
    behind = flip(_shifted(_cumprod(flip(x, axis), axis), axis, 1.0), axis)
    return before * behind


def _prod_rule(g: Any, out: Any, x: Any, axis: Shape, keepdims: bool, wide: Shape) -> Any:
    shape = shape_of(x)
    if not shape:
        return g
    if 0 in shape:
        return 0.0
    left = tuple(one for one in range(len(shape)) if one not in axis)
    order = (*left, *axis)
    moved = permute(x, order) if order != tuple(range(len(shape))) else x
    flat = reshape(moved, (*(shape[one] for one in left), math.prod(shape[one] for one in axis)))
    others = reshape(_others(flat), tuple(shape[one] for one in order))
    back = tuple(order.index(one) for one in range(len(shape)))
    return widened(g, wide) * (permute(others, back) if moved is not x else others)


@by_array(
    over_axes,
    units=lambda operands, attrs: f"a -> a^{count_of(shape_of(operands[0]), attrs['axis'])}",
    fails=Failure(undefined=opposed.multiplied),
    rules={"x": ("x", _prod_rule)},
    reach="mixed",
    kinks=(WITH_ZEROS,),
    moves_entries=True,
)
def prod(x: Any, axis: Any, keepdims: Any, wide: Any) -> Any:
    """The product of all entries, or along an axis.

    derivative: for each entry, the product of the others; exact with zeros
    example: prod([2, 3, 4]) == 24
    """
    return np.prod(x, axis=axis, keepdims=keepdims)
