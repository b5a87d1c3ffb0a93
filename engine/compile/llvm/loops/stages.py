"""The stages of a schedule: what is computed at a time, by machine code or by the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agrad.engine.compile.llvm.loops.factors import System
from agrad.engine.compile.llvm.loops.views import View
from agrad.engine.values import Shape


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum: its slot, what is summed up, and by what the result is divided.

    Each entry of the operand is added at an offset plus its index times strides, which are 0 along axes of the sum.
    """

    slot: int
    operand: int
    strides: Shape
    offset: int = 0
    divisor: float = 1.0


@dataclass(frozen=True, slots=True)
class Join:
    """A part of an array that consists of several: where the entries of an operand are stored in it."""

    slot: int
    operand: int
    strides: Shape
    offset: int


@dataclass(slots=True, eq=False)
class Kernel:
    """One loop: what it reads, the steps in it, the sums, the slots that it stores, and the parts of others."""

    space: Shape
    level: int
    reads: dict[int, View] = field(default_factory=dict)  # by the slot of the operand
    steps: dict[int, None] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Steps on numbers."""

    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """A step that is computed by its own array function."""

    slot: int


@dataclass(frozen=True, slots=True)
class Product:
    """The product of two small matrices, which are read where they lie."""

    slot: int
    left: View
    right: View
    rows: int
    inner: int
    columns: int


@dataclass(frozen=True, slots=True)
class Scatter:
    """A sum by places: so many entries of the operand, each added to the result at the place that a table lists."""

    slot: int
    operand: int
    places: View
    count: int
    length: int  # of the result


@dataclass(frozen=True, slots=True)
class Running:
    """Entries along an axis, each computed from the one before and from those of the operands at its place."""

    slot: int
    reads: tuple[View, ...]
    shape: Shape
    axis: int
    first: Callable[..., Any]  # on symbols of the operands: see `Op.runs`
    following: Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """A loop whose iterations have machine code of their own: see `Op.loop`."""

    slot: int
    operand: int
    code: Any
    count: int


@dataclass(frozen=True, slots=True)
class Factorise:
    """A square matrix that is factorised, with so many rows."""

    matrix: int
    size: int


@dataclass(frozen=True, slots=True)
class Solve:
    """A system of equations with a matrix that is factorised or triangular, for a vector or so many columns."""

    slot: int
    system: System
    right: int
    columns: int | None


Stage = Kernel | Numbers | Library | Product | Scatter | Running | Repeat | Factorise | Solve
