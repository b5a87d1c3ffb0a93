"""The facts that a row states about an operation for others to use: passes, listings, backends, help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from agrad.engine.struct import Struct
from agrad.engine.values import Shape


class Operator(Struct):
    """How an operation is written as an operator. A higher precedence binds more tightly; comparisons have 0."""

    sign: str
    precedence: int
    method: str  # Python's method for it, without the underscores: "add"
    is_right: bool = False  # whether x ** y ** z is x ** (y ** z)


class Identity(Struct):
    """The simpler form of an operation of two operands, bit for bit, if one of them is a known number."""

    operand: str
    number: float
    becomes: str = ""  # the equivalent operation of the other operand; the other operand itself if empty


class Kink(Struct):
    """A place where a function is not smooth, not finite or not defined: its value and derivative there.

    The claims are statements of the language that test this; `needs` has the definitions that they use.
    """

    at: str
    value: str
    derivative: str
    claims: tuple[str, ...]
    needs: str = ""


class Domain(Struct):
    """Where a function is defined, in words; an expression inside, and one outside."""

    told: str
    inside: str
    outside: str


class Remedy(Struct):
    """Where a function of one number, or its derivative, is inf or nan, and what to write instead.

    `operand`: what is written for its operand, `{0}`; `does`: what that does, in words.
    """

    holds: Callable[[float], bool]
    operand: str
    does: str


class EntryFacts(TypedDict, total=False):
    """The facts about a function in `help`, besides its description."""

    kinks: tuple[Kink, ...]
    domain: Domain | None
    shares: bool


class OpFacts(EntryFacts, total=False):
    """What passes, listings and backends know about an operation. See `Op`, which has the same fields."""

    operator: Operator | None
    adapt: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None
    gives_truths: bool
    commutes: bool
    identities: tuple[Identity, ...]
    is_involution: bool
    keeps_numbers: bool
    is_copy: bool
    is_view: bool
    tied_by: str
    is_opaque: bool
    moves_entries: bool
    transpose_of: Callable[..., tuple[str, dict[str, Any]]] | None
    sums: Callable[..., tuple[Shape, float]] | None
    entries: Callable[..., Any] | None
    unrolled: Callable[..., Any] | None
    python: str
    python_raises: bool
    python_arrays: Callable[..., str | None] | None
    lower: Callable[..., Any] | None
    native: Callable[..., Any] | None
    repeats: Callable[..., tuple[Any, int]] | None
    loop: Callable[..., tuple[Any, int] | None] | None
    by_factors: Callable[..., Any] | None
    runs: tuple[Callable[..., Any], Callable[..., Any]] | None
    formula: Callable[..., Any] | None
    remedy: Remedy | None
    logarithm: str
    undefined: Callable[..., tuple[str, str] | None] | None
    no_derivative: str
    beyond: Callable[..., Any] | None
    refused: Callable[[Shape], str] | None
    batched: Callable[..., Any] | None
    parts: Callable[..., Any] | None
