"""Arithmetic: + - * / // % **, and the operations that stand for doing nothing."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

from agrad.engine.core.dispatch import by_array, in_family
from agrad.engine.core.op import OPS, Function, Identity, Kink, Operator, flat, onward
from agrad.lazy import rare

row, composed = in_family("arithmetic")

JUMPS = Kink("floor, ceil, round, trunc, x // y where they jump", "", "0, as everywhere")

QUOTIENT_BY_ZERO = Kink("1/x at 0", "inf", "-inf")


add: Function = row(
    "add",
    units="a, a -> a",
    scalar=operator.add,
    rules={"x": ("", onward), "y": ("", onward)},
    operator=Operator("+", 1, "add"),
    commutes=True,
    identities=(Identity("x", -0.0), Identity("y", -0.0)),  # 0 + -0 is 0, and -0 + 0 is not -0
    python="{0} + {1}",
    doc="The sum x + y.",
    derivative="wrt x: 1; wrt y: 1",
    example="add(2, 3) == 5",
)

sub: Function = row(
    "sub",
    units="a, a -> a",
    scalar=operator.sub,
    rules={"x": ("", onward), "y": ("", lambda g, out, x, y: -g)},
    operator=Operator("-", 1, "sub"),
    identities=(Identity("y", 0.0),),
    python="{0} - {1}",
    doc="The difference x - y.",
    derivative="wrt x: 1; wrt y: -1",
    example="sub(2, 3) == -1",
)

mul: Function = row(
    "mul",
    units="a, b -> ab",
    scalar=operator.mul,
    rules={"x": ("y", lambda g, out, x, y: g * y), "y": ("x", lambda g, out, x, y: g * x)},
    operator=Operator("*", 2, "mul"),
    commutes=True,
    identities=(Identity("x", 1.0), Identity("y", 1.0), Identity("x", -1.0, "neg"), Identity("y", -1.0, "neg")),
    python="{0}*{1}",
    doc="The product x * y, entry by entry.",
    derivative="wrt x: y; wrt y: x",
    example="mul(2, 3) == 6",
)

div: Function = row(
    "div",
    units="a, b -> a/b",
    scalar=operator.truediv,
    # By y it reads x, not the quotient, which may be written to.
    rules={"x": ("y", lambda g, out, x, y: g / y), "y": ("x y", lambda g, out, x, y: -g * (x / y / y))},
    kinks=(QUOTIENT_BY_ZERO,),
    domain="y not 0",
    operator=Operator("/", 2, "truediv"),
    identities=(Identity("y", 1.0),),
    python="{0}/{1}",
    doc="The quotient x / y.",
    derivative="wrt x: 1/y; wrt y: -x/y**2",
    example="div(3, 2) == 1.5",
)

neg: Function = row(
    "neg",
    units="a -> a",
    scalar=operator.neg,
    rules={"x": ("", lambda g, out, x: -g)},
    operator=Operator("-", 3, "neg"),
    role="involution",
    python="-{0}",
    doc="The negative -x.",
    derivative="-1",
    example="neg(2) == -2",
)


# The division of these two in machine code, where the operands are symbols: as Python divides floats.


def _is_on_other_side(rest: Any, y: Any) -> Any:
    """Whether the remainder of a truncated division has the other sign than y."""
    return (rest != 0.0) & ((y < 0.0) ^ (rest < 0.0))


def _signed_zero(x: Any) -> Any:
    return x.like(0.0).intrinsic("copysign", x)


def _lower_floor_divide(x: Any, y: Any) -> Any:
    """x // y; x / y where y is 0."""
    rest = x.fmod(y)
    whole = (x - rest) / y
    whole = _is_on_other_side(rest, y).choose(whole - 1.0, whole)
    below = whole.intrinsic("floor")
    nearest = (whole - below > 0.5).choose(below + 1.0, below)
    return (y == 0.0).choose(x / y, (whole != 0.0).choose(nearest, _signed_zero(x / y)))


def _lower_remainder(x: Any, y: Any) -> Any:
    rest = x.fmod(y)
    return (rest != 0.0).choose(_is_on_other_side(rest, y).choose(rest + y, rest), _signed_zero(y))


division = partial(row, domain="y not 0")

floor_divide: Function = division(
    "floor_divide",
    units="a, a -> 1",
    scalar=operator.floordiv,
    rules={"x": ("", flat), "y": ("", flat)},
    kinks=(JUMPS,),
    operator=Operator("//", 2, "floordiv"),
    python="{0}//{1}",
    lower=_lower_floor_divide,
    doc="The quotient rounded down, x // y.",
    derivative="0, also where it jumps",
    example="7 // 2 == 3",
)

remainder: Function = division(
    "remainder",
    units="a, a -> a",
    scalar=operator.mod,
    rules={"x": ("", onward), "y": ("x y", lambda g, out, x, y: -g * OPS["stop"].call(floor_divide(x, y)))},
    kinks=(Kink("x % y, also where it jumps", "", "wrt x 1; wrt y -floor(x/y)"),),
    operator=Operator("%", 2, "mod"),
    python="{0} % {1}",
    lower=_lower_remainder,
    doc="The remainder x % y, with the sign of y.",
    derivative="wrt x: 1; wrt y: -floor(x/y)",
    example="7 % 3 == 1",
)


@composed(alone=remainder, total=True, kinks=())
def mod(x: Any, y: Any, /) -> Any:
    """The remainder x % y, with the sign of y: another name of remainder.

    example: mod(-5, 3) == 1
    """
    return remainder(x, y)


def _pow_by_base(g: Any, out: Any, x: Any, y: Any) -> Any:
    """y x**(y-1). Where y is 0 it vanishes, at x = 0 and nan by definition: d/dy of it stays exact at (2, 0)."""
    if type(y) is float:
        if y == 0.0:
            return 0.0
        return (2.0 * g) * x if y == 2.0 else (g * y) * power(x, y - 1.0)
    slope, where = (g * y) * power(x, y - 1.0), OPS["where"].call
    return where(OPS["equal"].call(y, 0.0), where(OPS["isfinite"].call(slope), slope + 0.0, 0.0), slope)


def _pow_by_exponent(g: Any, out: Any, x: Any, y: Any) -> Any:
    """x**y log x; exactly 0 where x is 0 and y is not negative (0**y is constant there)."""
    if type(x) is float and type(y) is float:
        return 0.0 if x == 0.0 and y >= 0.0 else g * (out * OPS["log"].call(x))
    at_zero = OPS["equal"].call(x, 0.0) * OPS["greater_equal"].call(y, 0.0)
    return OPS["where"].call(at_zero, 0.0, g * (out * OPS["log"].call(x)))


def _units(operands: Sequence[Any], attrs: Any) -> str:
    """By a constant exponent; a base with an exponent that is computed, or of several entries, has no unit."""
    exponent = operands[1]
    if type(exponent) is not float or not math.isfinite(exponent):
        return "1, 1 -> 1"
    return f"a, 1 -> a^{rare.fractions.Fraction(exponent).limit_denominator(1000)}"


@by_array(
    row,
    name="pow",
    units=_units,
    scalar=math.pow,
    rules={"x": ("x y", _pow_by_base), "y": ("out x y", _pow_by_exponent)},
    kinks=(
        Kink("x**0 for any x", "1", "wrt x 0; wrt y log(x), 0 at 0**0"),
        Kink("0**y for y > 0", "0", "wrt y 0; mixed, at y <= 1, not the limit"),
        Kink("0**y for y < 0", "inf", "wrt x and y -inf"),
        Kink("x**y for x < 0 and a whole y", "", "wrt x exact; wrt y nan"),
    ),
    domain="x > 0; x = 0 with y >= 0; x < 0 with a whole y",
    operator=Operator("**", 4, "pow", is_right=True),
    identities=(Identity("y", 1.0),),
)
def power(x: Any, y: Any) -> Any:
    """The power x**y; nan for a negative x and a y that is not whole.

    derivative: wrt x: y*x**(y-1), 0 where y is 0; wrt y: x**y*log(x), 0 where x is 0 and y >= 0
    example: 2**10 == 1024
    """
    # x**y on arrays. numpy's squares are these products, bit for bit, in twice the time.
    return x * x if type(y) is float and y == 2.0 else x**y
