"""Functions that jump: the sign of one number on the size of another, the step."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.dispatch import by_array, in_family
from agrad.engine.core.op import Kink, flat
from agrad.engine.ops.scalar.arithmetic import mul
from agrad.engine.ops.scalar.comparison import equal, where
from agrad.engine.ops.scalar.elementary import absolute
from agrad.engine.values import np

row, composed = in_family("elementary", total=True)


@by_array(row, units="a -> 1", scalar=lambda x: math.copysign(1.0, x), rules={"x": ("", flat)})
def sign_bit(x: Any) -> Any:
    """-1 for negative numbers and -0, else 1."""
    return np.copysign(1.0, x)


@by_array(
    row,
    units="a -> 1",
    scalar=lambda x: math.nan if x != x else float(x > 0.0),
    rules={"x": ("", flat)},
    formula=lambda x: x > 0.0,
)
def step(x: Any) -> Any:
    """1 for positive numbers, else 0; nan for nan."""
    return np.heaviside(x, 0.0)


@composed()
def copysign(x: Any, y: Any, /) -> Any:
    """The size of x with the sign of y, where 0 and -0 differ.

    derivative: wrt x: 1 where the signs agree, else -1; wrt y: 0
    example: copysign(3, -2) == -3
    """
    return mul(absolute(x), sign_bit(y))


@composed(kinks=(Kink("heaviside at 0", "y", "0; wrt y 1"),))
def heaviside(x: Any, y: Any, /) -> Any:
    """0 for a negative x, y at 0, 1 for a positive x.

    derivative: wrt x: 0; wrt y: 1 where x is 0, else exactly 0
    example: heaviside([-2, 0, 3], 0.5) == [0, 0.5, 1]
    """
    return where(equal(x, 0.0), y, step(x))
