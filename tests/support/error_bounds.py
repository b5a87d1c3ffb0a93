"""How far a program's results may be from their exact values, where each of its instructions is rounded.

The instructions are those of the exported code, since an operation is written by the same symbols. Arithmetic and
roots are rounded to half a unit in the last place, as IEEE 754 says, and a call of a mathematical function is within a
few units; what its operands may be wrong by already goes through it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from agrad.engine.compile.symbols import Symbol, Writer, lower
from agrad.engine.program.ir import Program

ULPS = 4.0  # of a call
HALF = 0.5  # of arithmetic
EXACT = ("fabs", "floor", "ceil", "trunc", "rint", "copysign", "fmod")
_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
_COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}
_LOGIC = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
_CALLS: dict[str, Callable[..., float]] = {"fabs": abs, "rint": lambda x: float(round(x))}


class Number(NamedTuple):
    """A value, and how far it may be from the exact one."""

    value: float
    error: float = 0.0


class Outcome(NamedTuple):
    """Whether a comparison holds, and whether that is certain."""

    holds: bool
    is_certain: bool = True


class Bounds(Writer):
    """Computes instead of writing: a text is the place of a number or an outcome."""

    def __init__(self, ulps: float) -> None:
        self.ulps = ulps
        self.found: list[Number | Outcome] = []

    def new(self, one: Number | Outcome) -> str:
        """The place of a result."""
        self.found.append(one)
        return str(len(self.found) - 1)

    def at(self, text: str) -> Number | Outcome:
        """A result."""
        return self.found[int(text)]

    def literal(self, value: float) -> str:
        """An exact number."""
        return self.new(Number(value))

    def binary(self, name: str, x: str, y: str) -> str:
        """Arithmetic."""
        if name == "rem":
            return self.library("fmod", (x, y))
        (a, da), (b, db) = self.at(x), self.at(y)
        value = _result(_ARITHMETIC[name], a, b)
        if name in ("add", "sub"):
            error = da + db
        elif name == "mul":
            error = abs(a) * db + abs(b) * da + da * db
        else:
            error = (da + abs(value) * db) / (abs(b) - db) if abs(b) > db else math.inf
        return self.new(Number(value, error + HALF * _ulp(value)))

    def negate(self, x: str) -> str:
        """The other sign."""
        value, error = self.at(x)
        return self.new(Number(-value, error))

    def compare(self, name: str, x: str, y: str) -> str:
        """Uncertain where the exact operands may be on the other side."""
        (a, da), (b, db) = self.at(x), self.at(y)
        return self.new(Outcome(_COMPARISONS[name](a, b), da + db == 0.0 or not abs(a - b) <= da + db))

    def logic(self, name: str, a: str, b: str) -> str:
        """Uncertain where one is."""
        (p, is_certain), (q, too) = self.at(a), self.at(b)
        return self.new(Outcome(_LOGIC[name](p, q), is_certain and too))

    def invert(self, a: str) -> str:
        """The opposite."""
        holds, is_certain = self.at(a)
        return self.new(Outcome(not holds, is_certain))

    def select(self, condition: str, x: str, y: str) -> str:
        """Either of both, where the condition is uncertain."""
        (holds, is_certain), here, there = self.at(condition), self.at(x), self.at(y)
        value, error = here if holds else there
        if not is_certain:
            error = max(here.error, there.error) + abs(here.value - there.value)
        return self.new(Number(value, error))

    def library(self, function: str, operands: tuple[str, ...]) -> str:
        """A call: the most that it changes where an operand is wrong, and its own error."""
        given = [self.at(x) for x in operands]
        call = _CALLS.get(function) or getattr(math, function)
        values = [one.value for one in given]
        value = _result(call, *values)
        error = 0.0
        for place, one in enumerate(given):
            for moved in (one.value - one.error, one.value + one.error) if one.error else ():
                other = _result(call, *[moved if k == place else x for k, x in enumerate(values)])
                error = max(error, abs(other - value)) if other == other else math.inf
        own = 0.0 if function in EXACT else HALF if function == "sqrt" else self.ulps
        return self.new(Number(value, error * len(given) * 1.01 + own * _ulp(value)))

    def builtin(self, name: str, operands: tuple[str, ...]) -> str:
        """An exact function."""
        return self.library(name, operands)


def _result(call: Callable[..., float], *values: float) -> float:
    try:
        return float(call(*values))
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def _ulp(value: float) -> float:
    return math.ulp(value) if math.isfinite(value) else math.nan


def bounded(program: Program, point: Sequence[float], ulps: float = ULPS, further: float = 0.0) -> list[Number]:
    """The results at a point; `further` is an error of each operation as a whole, in units in the last place."""
    code = Bounds(ulps)
    slots = [code.argument(code.new(Number(x))) for x in point]
    slots += [code.constant(x) for x in program.constants]
    for step in program.steps:
        made = lower(step.op, [slots[x] for x in step.operands], step.attrs)
        if further and step.op.name != "where":
            value, error = code.at(made.text)
            made = Symbol(code, code.new(Number(value, error + further * _ulp(value))), made.value)
        slots.append(made)
    return [code.at(slots[x].text) for x in program.outputs]
