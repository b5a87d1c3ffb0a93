"""How an operation is written in machine code: by its own array function, called with symbols.

What stands here is the rest: what numpy's functions are in LLVM's instructions and in the C library, and the
operations whose function on arrays does not trace, or differs at -0, inf or nan from that on numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agrad.engine.compile.llvm.ir_builder import Symbol, Truth, UnwrittenError
from agrad.engine.core.op import Op
from agrad.engine.errors import AgradError
from agrad.engine.ops.scalar.elementary import LN2

Function = Callable[..., Any]
ROOT_HALF = math.sqrt(0.5)


def lower(op: Op, operands: Sequence[Symbol], attrs: Mapping[str, Any]) -> Symbol:
    """Write an operation on numbers; UnwrittenError where there is no code for it."""
    own = OPERATIONS.get(op.name)
    by_entries = op.array if op.reach == "pointwise" else op.scalar
    try:
        result = (own or by_entries)(*operands, **attrs)  # type: ignore[misc]
    except (UnwrittenError, AgradError, TypeError, ValueError, AttributeError) as error:
        raise UnwrittenError(f"{op.name} has no machine code") from error
    if isinstance(result, float):
        return operands[0].like(result)
    if not isinstance(result, Symbol):
        raise UnwrittenError(f"{op.name} has no machine code")
    return result


# Operations


def _truth_of(compare: Function) -> Function:
    return lambda x, y: compare(x, y).number()


def _zero_like(x: Symbol) -> Symbol:
    """A zero with the sign of x."""
    return x.like(0.0).intrinsic("copysign", x)


def _other_side(rest: Symbol, y: Symbol) -> Truth:
    """Where the remainder of a truncated division lies on the other side of 0 than y."""
    return (rest != 0.0) & ((y < 0.0) ^ (rest < 0.0))


def _floor_divide(x: Symbol, y: Symbol) -> Symbol:
    """As Python divides floats; x / y where y is 0."""
    rest = x.fmod(y)
    whole = (x - rest) / y
    whole = _other_side(rest, y).choose(whole - 1.0, whole)
    below = whole.intrinsic("floor")
    nearest = (whole - below > 0.5).choose(below + 1.0, below)
    return (y == 0.0).choose(x / y, (whole != 0.0).choose(nearest, _zero_like(x / y)))


def _remainder(x: Symbol, y: Symbol) -> Symbol:
    rest = x.fmod(y)
    return (rest != 0.0).choose(_other_side(rest, y).choose(rest + y, rest), _zero_like(y))


def _round(x: Symbol, digits: int) -> Symbol:
    if digits:
        raise UnwrittenError("rounding to digits")  # Python's is that of the decimal text
    return x.intrinsic("rint")


def _ndtr(x: Symbol) -> Symbol:
    return 0.5 * (-x * ROOT_HALF).call("erfc")


def _logaddexp(x: Symbol, y: Symbol) -> Symbol:
    larger = (y > x).choose(y, x)
    return (x == y).choose(x + LN2, larger + (-abs(x - y)).call("exp").call("log1p"))


OPERATIONS: dict[str, Function] = {
    "equal": _truth_of(operator.eq),
    "not_equal": _truth_of(operator.ne),
    "less": _truth_of(operator.lt),
    "less_equal": _truth_of(operator.le),
    "greater": _truth_of(operator.gt),
    "greater_equal": _truth_of(operator.ge),
    "isnan": lambda x: (x != x).number(),
    "isfinite": lambda x: (abs(x) < math.inf).number(),
    "where": lambda c, x, y: (c != 0.0).choose(x, y),
    "maximum": lambda x, y: ((x >= y) | (x != x)).choose(x, y),
    "minimum": lambda x, y: ((x <= y) | (x != x)).choose(x, y),
    "clip": lambda x, lo, hi: ((x > hi) | (lo > hi)).choose(hi, (x < lo).choose(lo, x)),
    "hardtanh": lambda x, lo, hi: (x < lo).choose(lo, (x > hi).choose(hi, x)),
    "relu": lambda x: (x <= 0.0).choose(0.0, x),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "round": _round,
    "erf": lambda x: x.call("erf"),
    "erfc": lambda x: x.call("erfc"),
    "ndtr": _ndtr,
    "gelu": lambda x: x * _ndtr(x),
    "logaddexp": _logaddexp,
}

# numpy's functions


def _whole(name: str) -> Function:
    """Rounding of numbers has no -0."""
    return lambda x: x.intrinsic(name) + 0.0


def _sign(x: Symbol) -> Symbol:
    return (x > 0.0).choose(1.0, (x < 0.0).choose(-1.0, (x == 0.0).choose(0.0, x)))


def _library(name: str) -> Function:
    return lambda *operands: operands[0].call(name, *operands[1:])


_SAME: tuple[str, ...] = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1")
_SAME += ("log", "log2", "log10", "log1p", "cbrt", "hypot")
_INVERSE = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")

UFUNCS: dict[str, Function] = {
    **{name: _library(name) for name in _SAME},
    **{f"arc{name}": _library(f"a{name}") for name in _INVERSE},
    "absolute": abs,
    "square": lambda x: x * x,
    "sqrt": lambda x: x.intrinsic("sqrt"),
    "floor": _whole("floor"),
    "ceil": _whole("ceil"),
    "trunc": _whole("trunc"),
    "sign": _sign,
    "fmod": lambda x, y: x.fmod(y),
    "maximum": OPERATIONS["maximum"],
    "minimum": OPERATIONS["minimum"],
    "isnan": lambda x: x != x,
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
}
