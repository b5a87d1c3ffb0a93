"""What units an operation takes and gives: the text of its row, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from agrad.engine.core.op import Op
from agrad.lazy import pattern

_FACTOR = pattern(r"(/?)([A-Za-z])(?:\^(-?\d+(?:/\d+)?))?")


@lru_cache
def _read(text: str) -> tuple[tuple[str, ...], dict[str, Fraction]]:
    operands, _, result = text.partition(" -> ")
    powers: dict[str, Fraction] = {}
    for divides, letter, exponent in _FACTOR.findall(result):
        powers[letter] = powers.get(letter, Fraction(0)) + (-1 if divides else 1) * Fraction(exponent or 1)
    return tuple(operands.split(", ")), powers


def rule_of(op: Op, operands: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[list[str], dict[str, Fraction]]:
    """A letter (or `1`, or `-`) for each operand, and the powers of the letters in the result."""
    letters, powers = _read(op.units(operands, attrs) if callable(op.units) else op.units)
    last = letters[-1].rstrip("*")
    each = [*letters[:-1], *[last] * (len(operands) - len(letters) + 1)]
    return each, powers
