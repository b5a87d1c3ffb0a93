"""`Symbol`: a value in code under construction. Computing with symbols writes code.

    code = Code(1)
    x = code.argument("%x")
    (x * x + 1.0).text, code.lines

A symbol takes Python's operators and numpy's functions, so that the array function of a row, called with symbols,
writes the code of its operation, and no operation is defined twice: `lower`. A row has its own `lower` if that function
does not take symbols, or differs at -0, inf or nan from its function on numbers. How an instruction is written, in
LLVM's code or in another language, is said by the subclasses of `Writer`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agrad.engine.core.op import Op
from agrad.engine.errors import AgradError

MOST_FACTORS = 4  # a power by a larger whole exponent loses more digits as a product than as a call


class UnwrittenError(Exception):
    """There is no code for an operation, which the message names."""


class Writer(Protocol):
    """Code under construction: each method writes an instruction, and returns the text of its result."""

    __slots__ = ()

    def literal(self, value: float) -> str:
        """A number."""

    def binary(self, name: str, x: str, y: str) -> str:
        """`add`, `sub`, `mul`, `div`, or `rem`, with the sign of x."""

    def negate(self, x: str) -> str:
        """A number with the other sign, 0 and nan included."""

    def compare(self, name: str, x: str, y: str) -> str:
        """`lt`, `le`, `gt`, `ge` or `eq`, which are false for nan; `ne`, which is true for it."""

    def logic(self, name: str, a: str, b: str) -> str:
        """`and`, `or` or `xor` of two outcomes."""

    def invert(self, a: str) -> str:
        """The opposite of an outcome."""

    def select(self, condition: str, x: str, y: str) -> str:
        """x where the condition is true, else y."""

    def library(self, function: str, operands: tuple[str, ...]) -> str:
        """A function of the C library."""

    def builtin(self, name: str, operands: tuple[str, ...]) -> str:
        """One of `fabs`, `sqrt`, `floor`, `ceil`, `trunc`, `rint`, `copysign`, which are exact."""

    def constant(self, value: float) -> Symbol:
        """A number as a symbol."""
        return Symbol(self, self.literal(value), value)

    def argument(self, name: str) -> Symbol:
        """The symbol with that name in the surrounding code."""
        return Symbol(self, name)


def _binary(name: str) -> Callable[[Symbol, Any], Symbol]:
    def apply(self: Symbol, other: Any) -> Symbol:
        return Symbol(self.code, self.code.binary(name, self.text, self.like(other).text))

    return apply


def _reflected(name: str) -> Callable[[Symbol, Any], Symbol]:
    apply = _binary(name)
    return lambda self, other: apply(self.like(other), self)


def _comparison(name: str) -> Callable[[Symbol, Any], Truth]:
    def compare(self: Symbol, other: Any) -> Truth:
        return Truth(self.code, self.code.compare(name, self.text, self.like(other).text))

    return compare


@dataclass(slots=True, eq=False)
class Symbol:
    """A number, or one in each lane; with its value, where that is known."""

    code: Writer
    text: str
    value: float | None = None

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("div"), _reflected("div")
    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")
    __eq__, __ne__ = _comparison("eq"), _comparison("ne")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    fmod = _binary("rem")

    def __neg__(self) -> Symbol:
        return Symbol(self.code, self.code.negate(self.text))

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
        return Symbol(self.code, self.code.library(function, self._texts(others)))

    def intrinsic(self, name: str, *others: Any) -> Symbol:
        """An exact function: see `Writer.builtin`."""
        return Symbol(self.code, self.code.builtin(name, self._texts(others)))

    def _texts(self, others: tuple[Any, ...]) -> tuple[str, ...]:
        return self.text, *[self.like(one).text for one in others]

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


def _logical(name: str) -> Callable[[Truth, Truth], Truth]:
    def apply(self: Truth, other: Truth) -> Truth:
        return Truth(self.code, self.code.logic(name, self.text, other.text))

    return apply


@dataclass(slots=True, eq=False)
class Truth:
    """The outcome of a comparison, or one in each lane."""

    code: Writer
    text: str

    __and__, __or__ = _logical("and"), _logical("or")
    __xor__ = _logical("xor")
    __array_ufunc__ = Symbol.__array_ufunc__
    __array_function__ = Symbol.__array_function__

    def __invert__(self) -> Truth:
        return Truth(self.code, self.code.invert(self.text))

    def __bool__(self) -> bool:
        raise UnwrittenError("a branch on its value")

    def like(self, other: Any) -> Symbol:
        """A number as a symbol of the same code."""
        return Symbol(self.code, "").like(other)

    def choose(self, here: Any, there: Any) -> Symbol:
        """One number if this is true, else the other."""
        return Symbol(self.code, self.code.select(self.text, self.like(here).text, self.like(there).text))

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


Function = Callable[..., Any]


def _library(name: str) -> Function:
    return lambda *operands: operands[0].call(name, *operands[1:])


def _intrinsic(name: str) -> Function:
    return lambda *operands: operands[0].intrinsic(name, *operands[1:])


_SAME = "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p cbrt hypot".split()
_INVERSE = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")

UFUNCS: dict[str, Function] = {
    **{name: _library(name) for name in _SAME},
    **{f"arc{name}": _library(f"a{name}") for name in _INVERSE},
    "absolute": abs,
    "square": lambda x: x * x,
    **{name: _intrinsic(name) for name in ("sqrt", "floor", "ceil", "trunc", "copysign")},
    "sign": lambda x: (x > 0.0).choose(1.0, (x < 0.0).choose(-1.0, (x == 0.0).choose(0.0, x))),
    "heaviside": lambda x, y: (x != x).choose(x, (x > 0.0).choose(1.0, (x == 0.0).choose(y, 0.0))),
    "fmod": lambda x, y: x.fmod(y),
    "maximum": lambda x, y: ((x > y) | (x != x)).choose(x, y),
    "minimum": lambda x, y: ((x < y) | (x != x)).choose(x, y),
    "isnan": lambda x: x != x,
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
}


def lower(op: Op, operands: Sequence[Symbol], attrs: Mapping[str, Any]) -> Symbol:
    """Write an operation on numbers; UnwrittenError where there is no code for it."""
    by_entries = op.array if op.reach == "pointwise" else op.scalar
    try:
        result = (op.lower or by_entries)(*operands, **attrs)  # type: ignore[misc]
    except (UnwrittenError, AgradError, TypeError, ValueError, AttributeError) as error:
        raise UnwrittenError(f"{op.name} has no machine code") from error
    if isinstance(result, float):
        return operands[0].like(result)
    if not isinstance(result, Symbol):
        raise UnwrittenError(f"{op.name} has no machine code")
    return result
