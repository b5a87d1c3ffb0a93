"""Reductions: many entries to one, along some axes or all."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from agrad.engine.core.arguments import axes_of, kept, number_of, truth_of
from agrad.engine.core.dispatch import by_array, in_family
from agrad.engine.core.op import OPS, Failure, Function, Kink
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays import expansions, opposed
from agrad.engine.ops.arrays.shaping import reshape
from agrad.engine.ops.scalar.arithmetic import power
from agrad.engine.ops.scalar.comparison import EQUAL_VALUES, equal, greater, maximum, minimum, not_equal, where
from agrad.engine.ops.scalar.elementary import absolute, sign
from agrad.engine.values import Shape, as_mask, format_shape, np, put_together, shape_of

row, composed = in_family("reductions")

TIES = Kink("max, min, median with ties", "", "shared equally, along an axis too")

EQUAL_ENTRIES = Kink("std, var of equal entries", "exactly 0", "0")


def reducing(name: str, needs_entries: bool = False) -> Function:
    """The attributes of a reduction: its axes as a tuple, and the shape of the result with them kept."""

    def prepare(x: Any, axis: Any, keepdims: Any, **others: Any) -> dict[str, Any]:
        shape = () if type(x) is float else x.shape
        if axis is None and keepdims is False and not (needs_entries and 0 in shape):
            return {**_over_all(shape), **others} if others else _over_all(shape)
        if type(axis) is int and type(keepdims) is bool:
            found = cached(shape, axis, keepdims)
        else:
            found = over_axes(shape, axis, truth_of(name, "keepdims", keepdims))
        return {**found, **others} if others else found

    def over_axes(shape: Shape, axis: Any, keepdims: bool) -> dict[str, Any]:
        axes = axes_of(name, shape, axis)
        if needs_entries and any(shape[one] == 0 for one in axes):
            raise AgradError("shape", f"{name} of shape {format_shape(shape)}: there is no entry")
        return {"axis": axes, "keepdims": keepdims, "wide": kept(shape, axes)}

    cached = lru_cache(over_axes)
    return prepare


@lru_cache
def _over_all(shape: Shape) -> dict[str, Any]:
    """What nearly every reduction is prepared for."""
    return {"axis": tuple(range(len(shape))), "keepdims": False, "wide": (1,) * len(shape)}


def widened(value: Any, wide: Shape) -> Any:
    """A result, or its gradient, with the axes that were reduced, so that it goes with the operand."""
    return value if shape_of(value) in ((), wide) else reshape(value, wide)


def count_of(shape: Shape, axes: Shape) -> int:
    """The number of entries that are reduced to one."""
    return math.prod([shape[axis] for axis in axes])


def summed(x: Any, axis: Shape, keepdims: bool) -> Any:
    """numpy's sum, without the detour that np.sum takes."""
    reduce: Any = np.add.reduce
    return reduce(x, axis=axis, keepdims=keepdims)


def itself(x: float, **_: Any) -> float:
    """The result of sum, mean, prod, max and min of one number."""
    return x


def over_axes(name: str, *, what: str = "", more: str = "", needs_entries: bool = False, **facts: Any) -> Function:
    """A row for a function of the entries along some axes; one number is its own result, unless `scalar` is stated.

    `what`: the name in messages, if it is that of a function. `more`: attributes behind `axis` and `keepdims`.
    """
    alone = {"scalar": itself, "keeps_numbers": True} if "scalar" not in facts else {}
    facts = {"prepare": reducing(what or name, needs_entries), **alone, **facts}
    return row(name, f"x; axis=None, keepdims=False{more}", **facts)


def _python_sum(have: Shape, shape: Shape, attrs: Mapping[str, Any]) -> str | None:
    """The source of the sum or mean of all entries; None along some axes."""
    if not have or shape or attrs.get("n") == 0:
        return None
    return "float(np_sum({0}, None))" + (f" / {attrs['n']}" if "n" in attrs else "")


def _sum_each(operands: Any, attrs: Mapping[str, Any], count: int) -> Any:
    (x, _, shape), axis = operands[0], attrs["axis"]
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    moved = tuple([1 + place % len(shape) for place in axes])
    return total(x, axis=moved, keepdims=attrs["keepdims"]) if moved else x


_adding = partial(
    over_axes,
    fails=Failure(undefined=opposed.added),
    moves_entries=True,
    sums=lambda shape, attrs: (attrs["axis"], float(attrs.get("n", 1.0))),
    python_arrays=_python_sum,
)


@by_array(
    _adding, name="sum", rules={"x": ("", lambda g, out, x, axis, keepdims, wide: widened(g, wide))}, batched=_sum_each
)
def total(x: Any, axis: Any, keepdims: Any, wide: Any) -> Any:
    """The sum of all entries, or along an axis (or a tuple of axes).

    derivative: 1 for each entry
    example: sum([[1, 2], [3, 4]], axis=0) == [4, 6]
    """
    return summed(x, axis, keepdims)


_along = reducing("mean")


def _averaging(x: Any, axis: Any, keepdims: Any) -> dict[str, Any]:
    if axis is None and keepdims is False:
        return _average_of_all(shape_of(x))
    attrs = _along(x, axis, keepdims)
    return {**attrs, "n": count_of(shape_of(x), attrs["axis"])}


@lru_cache
def _average_of_all(shape: Shape) -> dict[str, Any]:
    return {**_over_all(shape), "n": math.prod(shape)}


@by_array(
    _adding,
    rules={"x": ("", lambda g, out, x, axis, keepdims, wide, n: widened(g, wide) / float(n))},
    prepare=_averaging,
)
def mean(x: Any, axis: Shape, keepdims: bool, wide: Shape, n: int) -> Any:
    """The mean of all entries, or along an axis; nan where there are none.

    derivative: 1/n for each of n entries
    example: mean([1, 2, 6]) == 3
    """
    whole = summed(x, axis, keepdims)
    return whole / n if n else whole * math.nan


def _share(g: Any, out: Any, x: Any, axis: Shape, keepdims: bool, wide: Shape) -> Any:
    """Ties share equally, exactly 0 for the others; if the result is nan, the entries that are nan get the gradient."""
    top = widened(out, wide)
    chosen = maximum(equal(x, top), not_equal(x, x))
    return where(chosen, widened(g, wide) / total(chosen, axis, True), 0.0)


def _extreme(name: str, title: str, size: str) -> Function:
    return over_axes(
        name,
        units="a -> a",
        title=title,
        what=title.lower(),
        needs_entries=True,
        array=lambda x, axis, keepdims, wide: put_together(getattr(np, name)(x, axis=axis, keepdims=keepdims), x),
        rules={"x": ("out x", _share)},
        reach="part",
        unrolled=expansions.reduced(expansions.largest if name == "amax" else expansions.smallest),
        doc=f"The {size} entry, or along an axis.",
    )


amax: Function = _extreme("amax", "Max", "largest")
amin: Function = _extreme("amin", "Min", "smallest")


def _of_several(name: str, both: Function, reduce: Function, size: str, larger: str, example: str) -> Function:
    """`max(a, b)` of several values is maximum, `max(x)` of one the reduction; an axis must be given by name."""

    @composed(
        name,
        "x; *others=(), axis=None, keepdims=False",
        total=True,
        data=("others",),
        kinks=(EQUAL_VALUES, TIES),
        doc=f"The {size} entry, or along an axis; of two values or more, the {larger}, entry by entry.",
        derivative=f"1 for the {size} entry, exactly 0 for the others; ties share equally",
        example=example,
    )
    def extreme(x: Any, others: Any, axis: Any, keepdims: Any) -> Any:
        rest = others if isinstance(others, tuple) else (others,)
        if not rest:
            return reduce(x, axis, keepdims)
        if axis is not None or keepdims is not False:
            fixes = [Hint(f"{name}(x, axis=0) along an axis of one value"), Hint(f"{name}(a, b) of two values")]
            raise AgradError("arity", f"{name} of several values takes no axis", fixes=fixes)
        return functools.reduce(both, rest, x)

    return extreme


largest: Function = _of_several("max", maximum, amax, "largest", "larger", "max([1, 5, 3]) == 5 and max(2, 3) == 3")
smallest: Function = _of_several("min", minimum, amin, "smallest", "smaller", "min([1, 5, 3]) == 1 and min(2, 3) == 2")


# Truths


def _of_entries(method: str, empty: float) -> Function:
    """Any or all of the entries, as the larger or smaller of their truth values."""

    def expand(x: Any, axis: Shape, keepdims: bool, wide: Shape) -> Any:
        truths = np.frompyfunc(lambda entry: entry.differs(0.0), 1, 1)(x)
        either = np.frompyfunc(lambda a, b: getattr(a, method)(b), 2, 1)
        for one in sorted(axis, reverse=True):
            truths = either.reduce(truths, axis=one) if x.shape[one] else np.full(np.delete(truths.shape, one), empty)
        return np.reshape(np.asarray(truths, dtype=object), wide) if keepdims else truths

    return expand


def _truth(name: str, entries: Function, which: str, example: str) -> Function:
    return over_axes(
        name,
        family="selection",
        units="a -> 1",
        scalar=lambda x, **_: float(x != 0.0),
        array=lambda x, axis, keepdims, wide: as_mask(getattr(np, name)(x, axis=axis, keepdims=keepdims)),
        entries=entries,
        doc=f"1 if {which} entry is not 0, else 0; or along an axis.",
        example=example,
    )


any_of: Function = _truth("any", _of_entries("either", 0.0), "any", "any([0, 2]) == 1")
all_of: Function = _truth("all", _of_entries("both", 1.0), "every", "all([0, 2]) == 0")


# Lengths


def scaled_root(x: Any, axis: Shape, keepdims: bool, p: float = 2.0) -> Any:
    """The p-th root of the sum of the p-th powers of the sizes, without overflow or underflow on the way."""
    if p == 2.0:
        plain = np.sqrt(summed(x * x, axis, keepdims))
        if np.all((plain > 1e-150) & (plain < 1e150)) or not x.size:
            return plain
    size = np.abs(x)
    scale = np.max(size, axis=axis, keepdims=True, initial=0.0)
    scale = np.where((scale > 0.0) & np.isfinite(scale), scale, 1.0)
    value = summed((size / scale) ** p, axis, True) ** (1.0 / p) * scale
    return value if keepdims else np.squeeze(value, axis)


def _projected(x: Any, a: Any, b: Any, axis: Shape) -> Any:
    """The second difference removes what rounding left of `a`: all, where one entry of b is by far the largest."""
    is_one = type(b) is float and b == 1.0
    whole = summed(a if is_one else a * b, axis, True)
    for _ in range(2):
        part = a * (summed(x if is_one else b * x, axis, True) / whole)
        is_array = type(part) is np.ndarray and part.shape == np.shape(x)
        x = np.subtract(x, part, out=part) if is_array else x - part  # memory that is new takes longer
    return x


def _part(x: Any, a: Any, b: Any, axis: Shape) -> Any:
    return total(b * x, axis, True) / total(a * b, axis, True)


# A row of its own, from which the derivatives of lengths and shares are made: written out, 1 - share would cancel.
projection: Function = row(
    "projection",
    "x, a, b; axis",
    units="a, b, c -> a",
    scalar=lambda x, a, b, axis: x - a * (b * x / (a * b)),
    array=_projected,
    rules={
        "x": ("a b", lambda g, out, x, a, b, axis: projection(g, b, a, axis)),
        "a": ("x a b", lambda g, out, x, a, b, axis: -_part(x, a, b, axis) * projection(g, b, a, axis)),
        "b": ("out a b", lambda g, out, x, a, b, axis: -_part(g, b, a, axis) * out),
    },
    reach="mixed",
    unrolled=lambda x, a, b, axis: _projected(x, a, b, axis) if x.size else None,
    doc="x - a*sum(b*x)/sum(a*b): x without its part along a, so that it is orthogonal to b.",
)


def norm_slope(u: Any, p: float) -> Any:
    """sign(u)*|u|**(p - 1), and 0 where u is 0: for a p above 1 so that further derivatives are right."""
    if p == 2.0:
        return u
    at_zero = power(u, p - 1.0) if p > 1.0 else 0.0
    return where(equal(u, 0.0), at_zero, sign(u) * power(absolute(u), p - 1.0))


def _direction_rule(g: Any, out: Any, x: Any, axis: Shape, p: float) -> Any:
    length = OPS["p_norm"].call(x, axis, True, p)
    # where g may be infinite
    is_zero = equal(out, 0.0) * greater(length, 0.0) if p < 2.0 else 0.0
    return where(is_zero, g, projection(where(is_zero, 0.0, g), norm_slope(out, p), out, axis)) / length


@by_array(
    row,
    "x; axis, p=2.0",
    units="a -> 1",
    scalar=lambda x, axis, p: sign(x),
    rules={"x": ("out x", _direction_rule)},
    reach="mixed",
    unrolled=expansions.along(expansions.direction),
)
def direction(x: Any, axis: Any, p: Any) -> Any:
    """x over its norm of order p along axes, and 0 where that is 0."""
    return OPS["ratio"].array(x, scaled_root(x, axis, True, p))


# Spread


def _centred(x: Any, axis: Shape) -> Any:
    """Minus the first entry at first: the mean of equal entries may round, their differences do not."""
    if not shape_of(x):
        return x - x
    first = x[tuple(slice(0, 1) if one in axis else slice(None) for one in range(x.ndim))]
    apart = x - first
    return apart - summed(apart, axis, True) / max(count_of(x.shape, axis), 1)


centre: Function = row(
    "centre",
    "x; axis",
    units="a -> a",
    scalar=lambda x, axis: x - x,
    array=_centred,
    rules={"x": ("", lambda g, out, x, axis: centre(g, axis))},
    reach="mixed",
    unrolled=expansions.along(expansions.centred),
    doc="x minus its mean along axes, exactly 0 for equal entries.",
)


def _varying(name: str, prepare: Function, x: Any, axis: Any, keepdims: Any, ddof: Any) -> dict[str, Any]:
    attrs, less = prepare(x, axis, keepdims), number_of(name, "ddof", ddof)
    n = count_of(shape_of(x), attrs["axis"]) - less
    return {**attrs, "ddof": less, "n": n if n > 0.0 else math.nan}


def _std_rule(g: Any, out: Any, x: Any, axis: Shape, keepdims: bool, wide: Shape, ddof: float, n: float) -> Any:
    """0 for equal entries, in all orders."""
    root = widened(out, wide)
    return where(equal(root, 0.0), 0.0, widened(g, wide) * (direction(centre(x, axis), axis) / math.sqrt(n)))


def _moment(name: str, reads: str, rule: Function, **words: Any) -> Function:
    return over_axes(
        name,
        more=", ddof=0",
        scalar=lambda x, n, **_: (x - x) / n,
        rules={"x": (reads, rule)},
        prepare=partial(_varying, name, reducing(name)),
        reach="mixed",
        kinks=(EQUAL_ENTRIES,),
        **words,
    )


def _var_rule(g: Any, out: Any, x: Any, axis: Shape, keepdims: bool, wide: Shape, ddof: float, n: float) -> Any:
    return widened(g, wide) * (2.0 / n) * centre(x, axis)


@by_array(_moment, "x", _var_rule, units="a -> a^2", unrolled=expansions.reduced(expansions.variance))
def var(x: Any, axis: Shape, keepdims: bool, wide: Shape, ddof: float, n: float) -> Any:
    """The variance: the mean of the squared distances from the mean (divided by n - ddof).

    derivative: 2*(x - mean(x))/(n - ddof)
    example: var([1, 2, 3, 4]) == 1.25
    """
    apart = _centred(x, axis)
    return summed(apart * apart, axis, keepdims) / n


@by_array(_moment, "out x", _std_rule, units="a -> a", unrolled=expansions.reduced(expansions.deviation))
def std(x: Any, axis: Shape, keepdims: bool, wide: Shape, ddof: float, n: float) -> Any:
    """The standard deviation, the root of the variance.

    derivative: (x - mean(x))/((n - ddof)*std(x)); 0 for equal entries
    example: std([1, 3]) == 1
    """
    apart = _centred(x, axis)
    return scaled_root(apart, axis, keepdims) / math.sqrt(n)
