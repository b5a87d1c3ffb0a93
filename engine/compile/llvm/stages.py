"""The stages of a schedule: what is computed at a time, by machine code or by the library; and what these consist of.

A `View` says where in an array each entry of a result lies, of an operation that only moves entries. A `System` is a
step that needs a matrix in triangles: it is factorised once a call, and used transposed, too. Systems of equations are
solved by the functions of LAPACK and BLAS that SciPy exports, called from machine code; what else is computed from the
factors, such as a determinant, says its row: see `Op.by_factors`.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeAlias

from agrad.engine.core.op import OPS, Op
from agrad.engine.errors import AgradError
from agrad.engine.extras import linear_algebra
from agrad.engine.program.ir import Program, Step, spans
from agrad.engine.struct import Struct
from agrad.engine.values import Array, Shape, np, size_of

_MOST = 1 << 24  # entries whose places are found out


Places: TypeAlias = Any  # an array of whole numbers


class View(Struct, eq=False):
    """The entries of an array: those at `offset` plus the index times `strides`, or those that `table` lists."""

    slot: int
    offset: int
    strides: Shape
    table: Array | None = None


def dense(slot: int, shape: Shape) -> View:
    """All entries of an array in their order."""
    return View(slot, 0, strides_of(shape))


def strides_of(shape: Shape) -> Shape:
    """Of an array whose entries lie next to each other."""
    return tuple([size_of(shape[axis + 1 :]) for axis in range(len(shape))])


def moved(op: Op, base: View, shape: Shape, result: Shape, attrs: dict[str, Any]) -> View | None:
    """The result of an operation on a view of a shape as a view of the same; None if it does more than move entries.

    The operation is applied to the places of the entries, and to these in another order: what moves entries moves both
    alike, and what adds them does not.
    """
    count = size_of(shape)
    if not op.moves_entries or max(count, size_of(result)) > _MOST or 0 in (count, size_of(result)):
        return None
    order = _order(op, [shape], attrs)
    if order is None or order.shape != result:
        return None
    table = places(base, shape).ravel()[order]
    return affine(base.slot, table) or View(base.slot, 0, strides_of(result), table)


def _order(op: Op, shapes: Sequence[Shape], attrs: dict[str, Any]) -> Places | None:
    """Where each entry of a result was among those of all operands; None if the operation does more than move them."""
    parts = list(zip(spans(map(size_of, shapes)), shapes, strict=True))

    def applied(entries: Array) -> Array:
        given = [entries[one.start : one.stop].reshape(x) if x else float(entries[one.start]) for one, x in parts]
        return np.asarray(op.array(*given, **attrs), dtype=np.float64)

    numbered = np.arange(float(sum(map(size_of, shapes))))
    mixed = numbered[::-1] * 3.0 + 0.25
    found = applied(numbered)
    if not (np.floor(found) == found).all() or found.min() < 0 or found.max() >= len(numbered):
        return None
    order = found.astype(np.int64)
    return order if np.array_equal(applied(mixed), mixed[order]) else None


def places(view: View, shape: Shape) -> Places:
    """Where the entries of a view lie."""
    if view.table is not None:
        return view.table
    found = np.full(shape, view.offset)
    for axis, stride in enumerate(view.strides):
        found += (np.arange(shape[axis]) * stride).reshape([-1 if axis == a else 1 for a in range(len(shape))])
    return found


def placed(op: Op, shapes: Sequence[Shape], result: Shape, attrs: dict[str, Any]) -> list[Places] | None:
    """For each operand, where its entries are in a result that consists of the operands; None if it does not."""
    count = sum(map(size_of, shapes))
    if not op.moves_entries or op.reach == "mixed" or not 0 < count <= _MOST or count != size_of(result):
        return None
    order = _order(op, shapes, attrs)
    if order is None or not np.array_equal(np.sort(order, axis=None), np.arange(count)):
        return None
    where = np.empty(count, dtype=np.int64)
    where[order.ravel()] = np.arange(count)
    return [where[one.start : one.stop].reshape(x) for one, x in zip(spans(map(size_of, shapes)), shapes, strict=True)]


def affine(slot: int, table: Places) -> View | None:
    """The table as an offset and strides, if it is that."""
    offset, seconds = int(table.flat[0]), [table.take(min(1, n - 1), axis) for axis, n in enumerate(table.shape)]
    view = View(slot, offset, tuple([int(one.flat[0]) - offset for one in seconds]))
    return view if np.array_equal(places(view, table.shape), table) else None


def broadcast(view: View, shape: Shape, space: Shape) -> View | None:
    """A view of an array of a shape as one of a larger shape to which numpy would broadcast it."""
    if view.table is not None:
        return view if shape == space else None
    extra = len(space) - len(shape)
    strides = [0 if length == 1 else stride for length, stride in zip(shape, view.strides, strict=True)]
    return View(view.slot, view.offset, (0,) * extra + tuple(strides))


_FEWEST = 8  # rows of a matrix, of fewer of which the factors are not worth keeping
_LAPACK, _BLAS = ("dgetrf", "dgetrs"), ("dtrsm", "dtrsv", "dswap")


class System(NamedTuple):
    """A step that needs the factors of a matrix: the slot of that, and what is known of it."""

    matrix: int
    is_transposed: bool
    is_lower: bool  # a triangle, from a Cholesky factorisation
    size: int


def systems(program: Program, held: Collection[int] = ()) -> dict[int, System]:
    """The steps, by their slots, that need the factors of a matrix which another one needs, or a triangle.

    `held` are inputs that are the same in several calls. None without SciPy.
    """
    found, solve = dict[int, System](), OPS["solve"]
    for slot, step in enumerate(program.steps, program.first):
        shapes = [program.shape(x) for x in step.operands] if step.op is solve or step.op.by_factors else []
        if step.op is solve and _is_of_one(shapes):
            found[slot] = _system(program, step.operands[0])
        elif step.op.by_factors is not None and len(shapes) == 1 and _is_of_one([shapes[0], shapes[0]]):
            one = _system(program, step.operands[0])
            if not one.is_lower:
                found[slot] = one
    counts = Counter([one.matrix for one in found.values()])
    inputs = len(program.inputs)
    found = {
        slot: one
        for slot, one in found.items()
        if one.is_lower or counts[one.matrix] > 1 or inputs <= one.matrix < program.first or one.matrix in held
    }
    return found if found and pointers() is not None else {}  # in this order: SciPy takes long to import


def _is_of_one(shapes: list[Shape]) -> bool:
    """Whether there is one matrix, and not a batch of them, and a right side."""
    matrix, right = shapes
    return len(matrix) == 2 and len(right) <= 2 and matrix[0] >= _FEWEST and 0 not in right


def _system(program: Program, slot: int) -> System:
    is_transposed = False
    steps, first = program.steps, program.first
    while (step := steps[slot - first] if slot >= first else None) is not None and transposes(program, step):
        slot, is_transposed = step.operands[0], not is_transposed
    is_lower = step is not None and step.op is OPS["cholesky"]
    return System(slot, is_transposed, is_lower, program.shape(slot)[0])


def transposes(program: Program, step: Step) -> bool:
    """Whether a step gives the transpose of a square matrix."""
    shape = step.shape
    if len(step.operands) != 1 or not step.op.moves_entries or program.shape(step.operands[0]) != shape:
        return False
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        return False
    size = shape[0]
    numbered = np.arange(float(size * size)).reshape(step.shape)
    return np.array_equal(step.op.array(numbered, **step.attrs), numbered.T)


@cache
def pointers() -> dict[str, int] | None:
    """The addresses of functions of LAPACK and BLAS that take 32-bit integers; None where there are none."""
    try:
        lapack, blas = linear_algebra("cython_lapack"), linear_algebra("cython_blas")
    except AgradError:
        return None
    both = [(lapack, name) for name in _LAPACK] + [(blas, name) for name in _BLAS]
    capsules = {name: module.__pyx_capi__.get(name) for module, name in both}
    if not all(capsule is not None and "int *" in repr(capsule) for capsule in capsules.values()):
        return None
    return {name: _address(capsule) for name, capsule in capsules.items()}


def _address(capsule: Any) -> int:
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    found: int = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return found


@dataclass(eq=False)
class Factors:
    """L and U of the transpose of a matrix, with the rows that were exchanged, as LAPACK gives them."""

    lu: Array
    pivots: Any

    @cached_property
    def _parity(self) -> float:
        """-1 where an odd number of rows was exchanged."""
        return -1.0 if (self.pivots != np.arange(1, len(self.pivots) + 1)).sum() % 2 else 1.0

    @property
    def sign(self) -> float:
        """The sign of the determinant."""
        return self._parity * float(np.multiply.reduce(np.sign(self.lu.diagonal())))

    @cached_property
    def log(self) -> float:
        """The logarithm of its absolute value."""
        return float(np.add.reduce(np.log(np.abs(self.lu.diagonal()))))

    @property
    def determinant(self) -> float:
        """The determinant."""
        return self._parity * float(np.multiply.reduce(self.lu.diagonal()))

    @cached_property
    def _inverse(self) -> Array | None:
        found, failed = linear_algebra("_flapack").dgetri(self.lu, self.pivots - 1)
        return None if failed else np.ascontiguousarray(found.T)

    def inverse(self, is_transposed: bool) -> Array | None:
        """The inverse, or its transpose."""
        found = self._inverse
        return found if found is None or not is_transposed else np.ascontiguousarray(found.T)


def factorised(matrix: Any) -> Factors | None:
    """The factors of a matrix that is known beforehand; None where it is singular."""
    lu, pivots, failed = linear_algebra("_flapack").dgetrf(matrix.T)
    return Factors(np.asfortranarray(lu), (pivots + 1).astype(np.int32)) if not failed else None


class Sum(Struct):
    """A sum: its slot, what is summed up, and by what the result is divided; or with `extreme` a maximum or minimum.

    With `are_truths`, an entry that is not 0 counts as 1.

    Each entry of the operand is added at an offset plus its index times strides, which are 0 along axes of the sum.
    """

    slot: int
    operand: int
    strides: Shape
    offset: int = 0
    divisor: float = 1.0
    extreme: str = ""
    are_truths: bool = False


class Join(Struct):
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


class Numbers(Struct):
    """Steps on numbers."""

    steps: tuple[int, ...]


class Library(Struct):
    """A step that is computed by its own array function."""

    slot: int


class Alone(Struct):
    """Another step that has machine code of its own: of which kind, says `schedule`."""

    slot: int
    kind: str


class Factorise(Struct):
    """A square matrix that is factorised, with so many rows."""

    matrix: int
    size: int


Stage = Kernel | Numbers | Library | Alone | Factorise
