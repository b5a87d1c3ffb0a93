"""`Symbol`: a value in machine code under construction. Computing with symbols writes LLVM's code.

    code = Code(1)
    x = code.argument("%x")
    (x * x + 1.0).text, code.lines

A symbol takes Python's operators and numpy's functions, so that the array function of a row, called with symbols,
writes the code of its operation, and no operation is defined twice. The code is for numbers, or for vectors whose
lanes hold neighbouring rows.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agrad.engine.compile.llvm.target import target
from agrad.engine.compile.llvm.ufuncs import UFUNCS

MOST_FACTORS = 4  # a power by a larger whole exponent loses more digits as a product than as a call


class UnwrittenError(Exception):
    """There is no machine code for an operation, which the message names."""


class Code:
    """Straight-line code. The same instruction on the same operands is written once."""

    __slots__ = ("called", "intrinsics", "known", "lanes", "lines", "number", "prefix", "truth")

    def __init__(self, lanes: int, prefix: str = "v") -> None:
        self.lanes = lanes
        self.prefix = prefix  # of the names of results
        self.number = "double" if lanes == 1 else f"<{lanes} x double>"
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.lines: list[str] = []
        self.known: dict[str, str] = {}
        self.called: dict[str, int] = {}  # functions of the C library, with the number of their arguments
        self.intrinsics: dict[str, int] = {}  # the same for LLVM's intrinsics

    def write(self, instruction: str) -> str:
        """The name of the result of an instruction."""
        name = self.known.get(instruction)
        if name is None:
            self.known[instruction] = name = f"%{self.prefix}{len(self.lines)}"
            self.lines.append(f"  {name} = {instruction}")
        return name

    def constant(self, value: float) -> Symbol:
        """A number, the same in all lanes."""
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        text = f"0x{bits:016X}"
        return Symbol(self, text if self.lanes == 1 else f"splat (double {text})", value)

    def argument(self, name: str) -> Symbol:
        """The symbol with that name in the surrounding code."""
        return Symbol(self, name)

    def call(self, function: str, *operands: Symbol) -> Symbol:
        """A function of the C library."""
        self.called[function] = len(operands)
        return self._apply(target(function, len(operands), self.lanes), operands)

    def intrinsic(self, name: str, *operands: Symbol) -> Symbol:
        """An intrinsic function of LLVM."""
        full = f"llvm.{name}.{'f64' if self.lanes == 1 else f'v{self.lanes}f64'}"
        self.intrinsics[full] = len(operands)
        return self._apply(full, operands)

    def declared(self) -> Iterator[str]:
        """The declarations of LLVM's intrinsics."""
        for name, count in sorted(self.intrinsics.items()):
            yield f"declare {self.number} @{name}({', '.join([self.number] * count)})"

    def _apply(self, name: str, operands: tuple[Symbol, ...]) -> Symbol:
        given = ", ".join(f"{self.number} {one.text}" for one in operands)
        return Symbol(self, self.write(f"call {self.number} @{name}({given})"))


def _binary(instruction: str) -> Callable[[Symbol, Any], Symbol]:
    def apply(self: Symbol, other: Any) -> Symbol:
        other = self.like(other)
        return Symbol(self.code, self.code.write(f"{instruction} {self.code.number} {self.text}, {other.text}"))

    return apply


def _reflected(instruction: str) -> Callable[[Symbol, Any], Symbol]:
    apply = _binary(instruction)
    return lambda self, other: apply(self.like(other), self)


def _comparison(condition: str) -> Callable[[Symbol, Any], Truth]:
    def compare(self: Symbol, other: Any) -> Truth:
        line = f"fcmp {condition} {self.code.number} {self.text}, {self.like(other).text}"
        return Truth(self.code, self.code.write(line))

    return compare


@dataclass(slots=True, eq=False)
class Symbol:
    """A number, or one in each lane; with its value, where that is known."""

    code: Code
    text: str
    value: float | None = None

    __add__, __radd__ = _binary("fadd"), _reflected("fadd")
    __sub__, __rsub__ = _binary("fsub"), _reflected("fsub")
    __mul__, __rmul__ = _binary("fmul"), _reflected("fmul")
    __truediv__, __rtruediv__ = _binary("fdiv"), _reflected("fdiv")
    __lt__, __le__ = _comparison("olt"), _comparison("ole")
    __gt__, __ge__ = _comparison("ogt"), _comparison("oge")
    __eq__, __ne__ = _comparison("oeq"), _comparison("une")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    fmod = _binary("frem")

    def __neg__(self) -> Symbol:
        return Symbol(self.code, self.code.write(f"fneg {self.code.number} {self.text}"))

    def __abs__(self) -> Symbol:
        return self.intrinsic("fabs")

    def __pow__(self, other: Any) -> Symbol:
        return power(self, self.like(other))

    def __bool__(self) -> bool:
        raise UnwrittenError("a branch on its value")

    def copy(self) -> Symbol:
        """Itself: no instruction changes it."""
        return self

    def like(self, other: Any) -> Symbol:
        """A number as a symbol of the same code."""
        if isinstance(other, Symbol):
            return other
        if isinstance(other, bool | int | float):
            return self.code.constant(float(other))
        raise UnwrittenError(f"a {type(other).__name__}")

    def call(self, function: str, *others: Any) -> Symbol:
        """A function of the C library."""
        return self.code.call(function, self, *map(self.like, others))

    def intrinsic(self, name: str, *others: Any) -> Symbol:
        """An intrinsic function of LLVM."""
        return self.code.intrinsic(name, self, *map(self.like, others))

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        """numpy's function, on symbols."""
        meaning = UFUNCS.get(ufunc.__name__)
        if meaning is None or method != "__call__" or options:
            raise UnwrittenError(f"numpy's {ufunc.__name__}")
        kin = next(one for one in operands if isinstance(one, Symbol | Truth))
        return meaning(*(one if isinstance(one, Truth) else kin.like(one) for one in operands))

    def __array_function__(self, function: Any, types: Any, operands: Any, options: Any) -> Any:
        """numpy's `where`, the only function besides ufuncs that a row on entries needs."""
        if function.__name__ != "where" or options or not isinstance(operands[0], Truth):
            raise UnwrittenError(f"numpy's {function.__name__}")
        return operands[0].choose(*operands[1:])


def _logical(instruction: str) -> Callable[[Truth, Truth], Truth]:
    def apply(self: Truth, other: Truth) -> Truth:
        return Truth(self.code, self.code.write(f"{instruction} {self.code.truth} {self.text}, {other.text}"))

    return apply


@dataclass(slots=True, eq=False)
class Truth:
    """The outcome of a comparison, or one in each lane."""

    code: Code
    text: str

    __and__, __or__ = _logical("and"), _logical("or")
    __xor__ = _logical("xor")
    __array_ufunc__ = Symbol.__array_ufunc__
    __array_function__ = Symbol.__array_function__

    def __invert__(self) -> Truth:
        everywhere = "true" if self.code.lanes == 1 else "splat (i1 true)"
        return self ^ Truth(self.code, everywhere)

    def __bool__(self) -> bool:
        raise UnwrittenError("a branch on its value")

    def like(self, other: Any) -> Symbol:
        """A number as a symbol of the same code."""
        return Symbol(self.code, "").like(other)

    def choose(self, here: Any, there: Any) -> Symbol:
        """One number if this is true, else the other."""
        code, here, there = self.code, self.like(here), self.like(there)
        line = f"select {code.truth} {self.text}, {code.number} {here.text}, {code.number} {there.text}"
        return Symbol(code, code.write(line))

    def number(self) -> Symbol:
        """1 where this is true, else 0."""
        return self.choose(1.0, 0.0)


def power(x: Symbol, y: Symbol) -> Symbol:
    """x**y: by a small whole exponent or a half as products and roots, within 2 ulp and with the same edges."""
    if x.value is not None and y.value is not None:
        return x.call("pow", y)
    exponent = y.value
    if exponent == 0.0 or x.value == 1.0:
        return x.code.constant(1.0)  # of nan too, as in the C library
    if exponent is None or math.isnan(exponent):
        return x.call("pow", y)
    if abs(exponent) == 0.5:
        # pow has 0 for -0 and inf for -inf
        root = (x == -math.inf).choose(math.inf, x.intrinsic("sqrt") + 0.0)
        return root if exponent > 0.0 else 1.0 / root
    if exponent.is_integer() and abs(exponent) <= MOST_FACTORS:
        # the quotient first: 1/(x*x) would be 0 where x**-2 is not
        return _product(x if exponent > 0.0 else 1.0 / x, int(abs(exponent)))
    return x.call("pow", y)


def _product(x: Symbol, factors: int) -> Symbol:
    if factors == 1:
        return x
    half = _product(x, factors // 2)
    return half * half if factors % 2 == 0 else half * half * x
