"""Functions that loops compute without calls: entries side by side, from what several of them have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.symbols import Symbol
from agrad.engine.core.op import Op

_WHOLE = 1.5 * 2.0**52  # added to a number, it leaves a whole one in the last bits
_LOG_2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first part times a whole number has no rounding
# r*coth(r/2) by powers of r**2, within 2**-53 for r up to log 2.
_COTH = (
    *(2.0, 0.1666666666666665, -0.0027777777777533677, 6.613756555017998e-05),
    *(-1.6534339793565492e-06, 4.17328785623362e-08, -1.0187557156927486e-09),
)
_ONE, _FAR = 20.0, 400.0  # from which on tanh is 1, and its derivative 0


def _tanh(x: Symbol) -> tuple[Symbol, Symbol]:
    """tanh(x), and its derivative, which most loops with a tanh need as well.

    exp(-2|x|) is s*(R + r)/(R - r), where s = h*h is a power of 2, |r| is at most log 2, R = r*coth(r/2). The first is
    ((R - r) - s*(R + r))/((R - r) + s*(R + r)), which loses no digits near 0; far out it is 1. The second is
    4*s*(R - r)*(R + r) over the square of the denominator, which loses none far out.
    """
    code = x.code
    assert isinstance(code, Code)
    y = (abs(x) > _FAR).choose(_FAR, abs(x))
    near = y.intrinsic("fmuladd", -1.0 / math.log(2.0), _WHOLE)
    count = near - _WHOLE
    r = -2.0 * count.intrinsic("fmuladd", _LOG_2[1], count.intrinsic("fmuladd", _LOG_2[0], y))
    bits = code.write(f"shl i64 {code.write(f'bitcast double {near.text} to i64')}, 52")
    h = code.argument(code.write(f"bitcast i64 {code.write(f'add i64 {bits}, {1023 << 52}')} to double"))
    s, z, total = h * h, r * r, x.like(_COTH[-1])
    for one in reversed(_COTH[:-1]):
        total = total.intrinsic("fmuladd", z, one)
    above = total.intrinsic("fmuladd", 1.0 - s, -((1.0 + s) * r))
    inverse = 1.0 / total.intrinsic("fmuladd", 1.0 + s, -((1.0 - s) * r))
    part = 2.0 * h * inverse
    value = (abs(x) > _ONE).choose(1.0, above * inverse).intrinsic("copysign", x)
    return value, total.intrinsic("fmuladd", total, -z) * part * part


def written(op: Op) -> Callable[[Sequence[Symbol]], Symbol] | None:
    """How a loop computes what would take most of its time as calls of the C library, if it is written here.

    What is not needed of two functions, LLVM leaves out.
    """
    return _WRITTEN.get(op.name)


_WRITTEN: dict[str, Callable[[Sequence[Symbol]], Symbol]] = {
    "tanh": lambda given: _tanh(*given)[0],
    "sech_squared": lambda given: _tanh(*given)[1],
}
