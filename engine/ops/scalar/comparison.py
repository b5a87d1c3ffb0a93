"""Comparison and choice. What is not selected contributes exactly 0 to a gradient, in all orders."""

from __future__ import annotations

import math
import operator
from typing import Any

from agrad.engine.core.dispatch import by_array, in_family
from agrad.engine.core.op import Function, Kink, Operator
from agrad.engine.values import as_mask, np, put_together, shape_of

row, composed = in_family("selection")

EQUAL_VALUES = Kink("maximum, minimum, max, min of two equal values", "", "half to each")


def _comparison(name: str, symbol: str, compare: Function) -> Function:
    return row(
        name,
        "x, y",
        family="comparison",
        units="a, a -> 1",
        scalar=lambda x, y: 1.0 if compare(x, y) else 0.0,
        array=lambda x, y: as_mask(np.asarray(compare(x, y))),
        role="truths",
        operator=Operator(symbol, 0, compare.__name__),
        commutes=compare in (operator.eq, operator.ne),
        python=f"1.0 if {{0}} {symbol} {{1}} else 0.0",
        lower=lambda x, y: compare(x, y).number(),
        doc=f"1 where x {symbol} y, else 0.",
        example=f"(1 {symbol} 2) == {int(compare(1, 2))}",
    )


equal: Function = _comparison("equal", "==", operator.eq)
not_equal: Function = _comparison("not_equal", "!=", operator.ne)
less: Function = _comparison("less", "<", operator.lt)
less_equal: Function = _comparison("less_equal", "<=", operator.le)
greater: Function = _comparison("greater", ">", operator.gt)
greater_equal: Function = _comparison("greater_equal", ">=", operator.ge)


def _with_masks(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """`where(c, True, False)`, and a mask beside a truth: with a mask instead of each truth."""
    c, *choices = operands
    shape = shape_of(getattr(c, "value", c)) if hasattr(c, "shape") else ()
    kinds = [type(getattr(x, "value", x)) for x in choices]
    if not shape or bool not in kinds or any(kind is not bool and kind.__name__ != "Mask" for kind in kinds):
        return operands
    return (c, *(as_mask(np.full(shape, x)) if type(x) is bool else x for x in choices))


@by_array(
    row,
    "c, x, y",
    units="-, a, a -> a",
    adapt=_with_masks,
    scalar=lambda c, x, y: x if c else y,
    rules={"x": ("c", lambda g, out, c, x, y: g), "y": ("c", lambda g, out, c, x, y: g)},
    selects={
        "x": lambda out, c, x, y: c != 0.0 if type(c).__name__ == "ndarray" else not_equal(c, 0.0),
        "y": lambda out, c, x, y: c == 0.0 if type(c).__name__ == "ndarray" else equal(c, 0.0),
    },
    kinks=(Kink("where(x > 0, log(x), 0) at 0", "0", "exactly 0, in all orders"),),
    python="{1} if {0} else {2}",
    lower=lambda c, x, y: (c != 0.0).choose(x, y),
    formula=lambda c, x, y: c.choose(x, y),
)
def where(c: Any, x: Any, y: Any) -> Any:
    """x where c is true (not 0), else y.

    derivative: wrt x: 1 where c is true, else exactly 0; wrt y: the other way round
    example: where(2 > 1, 10, 20) == 10
    """
    return put_together(np.where(c, x, y), x, y)


def _share(g: Any, out: Any, x: Any, y: Any) -> Any:
    """Half each at a tie."""
    return g * where(equal(x, y), 0.5, 1.0)


_not_less: Function = lambda out, x, y: equal(less(x, y), 0.0)  # noqa: E731 - nan is not less: it goes to both
_not_greater: Function = lambda out, x, y: equal(greater(x, y), 0.0)  # noqa: E731


def _larger(x: float, y: float) -> float:
    """Of two equal numbers the second one, as NumPy of 0 and -0."""
    return x if x > y or x != x else y


def _smaller(x: float, y: float) -> float:
    return x if x < y or x != x else y


def _extreme(
    name: str, size: str, scalar: Function, sign: str, selects: tuple[Function, Function], value: str
) -> Function:
    return row(
        name,
        units="a, a -> a",
        scalar=scalar,
        array=lambda x, y: getattr(np, name)(x, y),
        rules={"x": ("x y", _share), "y": ("x y", _share)},
        selects=dict(zip("xy", selects, strict=True)),
        kinks=(EQUAL_VALUES,),
        python=f"{{0}} if {{0}} {sign} {{1}} or {{0}} != {{0}} else {{1}}",
        doc=f"The {size} of x and y, entry by entry.",
        derivative=f"1 for the {size}, exactly 0 for the other; half each at a tie",
        example=f"{name}([1, 5], 3) == {value}",
    )


maximum: Function = _extreme(
    "maximum",
    "larger",
    _larger,
    ">",
    (_not_less, _not_greater),
    "[3, 5]",
)
minimum: Function = _extreme(
    "minimum",
    "smaller",
    _smaller,
    "<",
    (_not_greater, _not_less),
    "[1, 3]",
)


@by_array(
    row,
    name="clip",
    units="a, a, a -> a",
    scalar=lambda x, lo, hi: _smaller(_larger(x, lo), hi),
    rules={name: ("x lo hi", lambda g, out, x, lo, hi: g) for name in ("x", "lo", "hi")},
    selects={
        "x": lambda out, x, lo, hi: greater_equal(x, lo) * less_equal(x, hi),
        "lo": lambda out, x, lo, hi: less(x, lo) * less_equal(lo, hi),
        "hi": lambda out, x, lo, hi: maximum(greater(x, hi) * less_equal(lo, hi), greater(lo, hi)),
    },
)
def limit(x: Any, lo: Any, hi: Any) -> Any:
    """x limited to between lo and hi."""
    return np.minimum(np.maximum(x, lo), hi)


@composed(
    total=True,
    kinks=(Kink("clip at a bound", "the bound", "1"),),
    data=("lo", "hi"),
)
def clip(x: Any, /, lo: Any = None, hi: Any = None) -> Any:
    """x limited to between lo and hi; hi wins where lo is above it. Either may be left out.

    derivative: wrt x: 1 from lo to hi, both included, else exactly 0; wrt a bound: 1 where it limits x
    example: clip([-1, 0.5, 2], 0, 1) == [0, 0.5, 1]
    """
    return limit(x, -math.inf if lo is None else lo, math.inf if hi is None else hi)


def _test(name: str, scalar: Function, lower: Function, doc: str, example: str) -> Function:
    return row(
        name,
        "x",
        units="a -> 1",
        scalar=lambda x: float(scalar(x)),
        array=lambda x: as_mask(getattr(np, name)(x)),
        role="truths",
        lower=lower,
        doc=doc,
        example=example,
    )


isnan: Function = _test(
    "isnan",
    math.isnan,
    lambda x: (x != x).number(),
    "1 where x is not a number (nan), else 0.",
    "isnan([1, nan]) == [0, 1]",
)
isfinite: Function = _test(
    "isfinite",
    math.isfinite,
    lambda x: (abs(x) < math.inf).number(),
    "1 where x is neither infinite nor nan, else 0.",
    "isfinite([1, inf]) == [1, 0]",
)
