"""Arithmetic: + - * / // % **, and the operations that stand for doing nothing."""

from __future__ import annotations

import math
import operator
from typing import Any

from agrad.engine.core.op import OPS, Function, onward, row
from agrad.engine.ops.scalar.comparison import equal, greater_equal, isfinite, where

FAMILY = "arithmetic"

add: Function = row(
    "add",
    "x, y",
    family=FAMILY,
    scalar=operator.add,
    array=operator.add,
    rules={"x": ("", onward), "y": ("", onward)},
    samples=((1.5, -2.0), ([1.0, 2.0], 3.0), ([[1.0], [2.0]], [3.0, 4.0])),
    doc="The sum x + y.",
    derivative="by x: 1; by y: 1",
    example="add(2, 3) == 5",
)

sub: Function = row(
    "sub",
    "x, y",
    family=FAMILY,
    scalar=operator.sub,
    array=operator.sub,
    rules={"x": ("", onward), "y": ("", lambda g, out, x, y: -g)},
    samples=((1.5, -2.0), ([1.0, 2.0], 3.0), (2.0, [3.0, 4.0])),
    doc="The difference x - y.",
    derivative="by x: 1; by y: -1",
    example="sub(2, 3) == -1",
)

mul: Function = row(
    "mul",
    "x, y",
    family=FAMILY,
    scalar=operator.mul,
    array=operator.mul,
    rules={"x": ("y", lambda g, out, x, y: g * y), "y": ("x", lambda g, out, x, y: g * x)},
    samples=((1.5, -2.0), ([1.0, 2.0], 3.0), ([[1.0], [2.0]], [3.0, 4.0])),
    doc="The product x * y, entry by entry.",
    derivative="by x: y; by y: x",
    example="mul(2, 3) == 6",
)

div: Function = row(
    "div",
    "x, y",
    family=FAMILY,
    scalar=operator.truediv,
    array=operator.truediv,
    rules={"x": ("y", lambda g, out, x, y: g / y), "y": ("out y", lambda g, out, x, y: -g * (out / y))},
    samples=((1.5, -2.0), ([1.0, 2.0], 3.0), (3.0, [0.5, 2.0])),
    doc="The quotient x / y.",
    derivative="by x: 1/y; by y: -x/y**2",
    example="div(3, 2) == 1.5",
)

neg: Function = row(
    "neg",
    "x",
    family=FAMILY,
    scalar=operator.neg,
    array=operator.neg,
    rules={"x": ("", lambda g, out, x: -g)},
    samples=((1.5,), ([1.0, -2.0],)),
    doc="The negative -x.",
    derivative="-1",
    example="neg(2) == -2",
)


def flat(*_: Any, **__: Any) -> float:
    """The rule of a step function: a number stands for an array of equal entries."""
    return 0.0


floor_divide: Function = row(
    "floor_divide",
    "x, y",
    family=FAMILY,
    scalar=operator.floordiv,
    array=operator.floordiv,
    rules={"x": ("", flat), "y": ("", flat)},
    samples=((7.3, 2.0), ([7.3, -5.2], 2.0)),
    doc="The quotient rounded down, x // y.",
    derivative="0, also where it jumps",
    example="7 // 2 == 3",
)

remainder: Function = row(
    "remainder",
    "x, y",
    family=FAMILY,
    scalar=operator.mod,
    array=operator.mod,
    rules={"x": ("", onward), "y": ("x y", lambda g, out, x, y: -g * floor_divide(x, y))},
    samples=((7.3, 2.0), ([7.3, -5.2], 2.0)),
    doc="The remainder x % y, with the sign of y.",
    derivative="by x: 1; by y: -floor(x/y)",
    example="7 % 3 == 1",
)


def _pow_by_base(g: Any, out: Any, x: Any, y: Any) -> Any:
    """y x**(y-1). Where y is 0 it vanishes, at x = 0 and nan by choice: d/dy of it stays exact at (2, 0)."""
    if type(y) is float:
        if y == 0.0:
            return 0.0
        return (2.0 * g) * x if y == 2.0 else (g * y) * power(x, y - 1.0)
    slope = (g * y) * power(x, y - 1.0)
    return where(equal(y, 0.0), where(isfinite(slope), slope + 0.0, 0.0), slope)


def _pow_by_exponent(g: Any, out: Any, x: Any, y: Any) -> Any:
    """x**y log x; exactly 0 where x is 0 and y is not negative (0**y is constant there)."""
    if type(x) is float and type(y) is float:
        return 0.0 if x == 0.0 and y >= 0.0 else g * (out * OPS["log"].call(x))
    return where(equal(x, 0.0) * greater_equal(y, 0.0), 0.0, g * (out * OPS["log"].call(x)))


def _power(x: Any, y: Any) -> Any:
    """x**y on arrays. numpy's squares are these products, bit for bit, in twice the time."""
    return x * x if type(y) is float and y == 2.0 else x**y


power: Function = row(
    "pow",
    "x, y",
    family=FAMILY,
    scalar=math.pow,
    array=_power,
    rules={"x": ("x y", _pow_by_base), "y": ("out x y", _pow_by_exponent)},
    samples=((1.5, -2.0), (2.0, 0.0), ([1.0, 2.0], 3.0), (2.0, [3.0, -1.0]), ([1.5, 2.5], [2.0, 0.5])),
    doc="The power x**y; nan for a negative x and a y that is not whole.",
    derivative="by x: y*x**(y-1), 0 where y is 0; by y: x**y*log(x), 0 where x is 0 and y >= 0",
    example="2**10 == 1024",
)
