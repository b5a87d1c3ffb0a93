"""Matrices that several steps need in triangles: they are factorised once a call, and used transposed, too.

A system of equations is solved by the functions of LAPACK and BLAS that SciPy exports, called from machine code. What
else is computed from the factors, such as a determinant, says its row: see `Op.by_factors`.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Collection
from functools import cache, cached_property
from typing import Any, NamedTuple

from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.extras import linear_algebra
from agrad.engine.program.ir import Program, Step
from agrad.engine.values import Array, Shape, np

_FEWEST = 8  # rows of a matrix, of fewer of which the factors are not worth keeping
_LAPACK, _BLAS = ("dgetrf", "dgetrs"), ("dtrsm", "dtrsv")


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
    found: dict[int, System] = {}
    for slot, step in enumerate(program.steps, program.first):
        shapes = [program.shape(x) for x in step.operands]
        if step.op is OPS["solve"] and _is_of_one(shapes):
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
    while (step := _made_by(program, slot)) is not None and transposes(program, step):
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


def _made_by(program: Program, slot: int) -> Step | None:
    return program.steps[slot - program.first] if slot >= program.first else None


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


class Factors:
    """L and U of the transpose of a matrix, with the rows that were exchanged, as LAPACK gives them."""

    def __init__(self, lu: Array, pivots: Any) -> None:
        self.lu, self.pivots = lu, pivots

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
