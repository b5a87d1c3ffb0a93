"""numpy's ufuncs in code: functions of symbols, by the name that a ufunc gives itself.

The array function of a row, called with symbols, writes its code by these. They use what a
symbol supports (see `symbol`): its operators, exact functions, and calls of the C library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def _whole(name: str) -> Function:
    """Rounding as for numbers, without -0."""
    return lambda x: x.intrinsic(name) + 0.0


def _sign(x: Any) -> Any:
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
    "copysign": lambda x, y: x.intrinsic("copysign", y),
    "heaviside": lambda x, y: (x != x).choose(x, (x > 0.0).choose(1.0, (x == 0.0).choose(y, 0.0))),
    "fmod": lambda x, y: x.fmod(y),
    "maximum": lambda x, y: ((x >= y) | (x != x)).choose(x, y),
    "minimum": lambda x, y: ((x <= y) | (x != x)).choose(x, y),
    "isnan": lambda x: x != x,
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
}
