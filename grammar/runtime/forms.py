"""How a number is written on demand: `255 as hex`, `0.75 as fraction`, `pi/4 as deg`.

Each text is read as that number again where it is typed: 0xff, 3/4, 45°.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from agrad.engine import units
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import operand
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import MANY, format_number, format_value
from agrad.grammar.results import Settings, Written, uncertainty_of
from agrad.grammar.runtime.operations import as_array, describe_value

# A denominator up to which a fraction that fits to rounding is hardly chance: any number has one of 2**52 at most.
_SIMPLE = 100_000


def _based(sign: str, x: float) -> str:
    if not x.is_integer():
        raise AgradError("domain", f"{format_number(x)} is not a whole number, which hex, bin and oct write")
    return format(int(x), f"#{sign}")


def _fraction(x: float) -> str:
    """The simplest fraction that is x but for rounding. Raises AgradError of kind `domain`."""
    found = Fraction(x).limit_denominator(_SIMPLE) if math.isfinite(x) else None
    if found is None or abs(float(found) - x) > 4 * math.ulp(x) or (x and not found):
        reason = f"{format_number(x)} is no fraction with a denominator up to {_SIMPLE}"
        raise AgradError("domain", reason)
    return str(found)


# What a number is multiplied by and has behind it, or how it is written.
_SCALED = {"percent": (100.0, "%"), "deg": (180.0 / math.pi, "°")}
_WHOLE: dict[str, Callable[[float], str]] = {
    "hex": partial(_based, "x"),
    "bin": partial(_based, "b"),
    "oct": partial(_based, "o"),
    "fraction": _fraction,
}


def written(value: Any, form: str) -> Any:
    """A number or an array as a text in a form; a value with a unit that is an angle or a ratio, in that unit.

    Raises AgradError of kind `type` for what is no number, `unit` for other units, `domain` for numbers that the form
    cannot write.
    """
    value = operand(value) if isinstance(value, tuple | list) else value
    if not isinstance(value, Tensor | float | int):
        raise AgradError("type", f"`as {form}` writes numbers, and this is {describe_value(value)}")
    if isinstance(value, Tensor) and (unit := units.quantity.unit_of(value)) is not None:
        if form in _WHOLE:
            message = f"`as {form}` writes numbers without a unit, and this is in {unit.text}"
            raise AgradError("unit", message, fixes=[Hint(f"x/(1 {unit.text}) as {form}   of a value x")])
        return units.quantity.converted(value, form)
    u = uncertainty_of(value) if isinstance(value, Tensor) else None
    number, digits = as_array(value), (current().settings or Settings()).precision
    number = number.value if isinstance(number, Tensor) else float(number)
    if not isinstance(number, float) and number.size > MANY:
        raise AgradError("type", f"`as {form}` writes up to {MANY} entries, and this has {number.size}")
    if form in _WHOLE:
        if u is not None:
            raise AgradError("type", f"`as {form}` writes numbers without an uncertainty")
        text = format_value(number, _WHOLE[form])
    else:
        factor, sign = _SCALED[form]
        scaled = number * factor
        if u is not None:
            text = f"({format_value(scaled, digits, u * factor)}){sign}"
        else:
            text = format_value(scaled, lambda x: f"{format_number(x, digits)}{sign}")
    return Written(text, value)
