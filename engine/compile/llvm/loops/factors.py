"""Systems of equations with the same matrix: it is factorised once a call, and its factors are used transposed, too."""

from __future__ import annotations

from collections import Counter
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.extras import extra
from agrad.engine.program.ir import Program, Step
from agrad.engine.values import Array

_FEWEST = 8  # rows of a matrix, of fewer of which the factors are not worth keeping


class System(NamedTuple):
    """A step that solves a system: the slot of its matrix, and what is known of that."""

    matrix: int
    is_transposed: bool
    is_lower: bool  # a triangle, from a Cholesky factorisation


def systems(program: Program) -> dict[int, System]:
    """The steps, by their slots, that solve a system with the matrix of another one, or with a triangle."""
    found: dict[int, System] = {}
    for slot, step in enumerate(program.steps, program.first):
        if step.op is OPS["solve"] and _is_of_one(program, step):
            found[slot] = _system(program, step.operands[0])
    counts = Counter([one.matrix for one in found.values()])
    inputs = len(program.inputs)
    return {
        slot: one
        for slot, one in found.items()
        if one.is_lower or counts[one.matrix] > 1 or inputs <= one.matrix < program.first
    }


def _is_of_one(program: Program, step: Step) -> bool:
    """Whether there is one matrix, and not a batch of them."""
    matrix, right = map(program.shape, step.operands)
    return len(matrix) == 2 and len(right) <= 2 and matrix[0] >= _FEWEST


def _system(program: Program, slot: int) -> System:
    is_transposed = False
    while slot >= program.first and program.steps[slot - program.first].op is OPS["swap"]:
        slot, is_transposed = program.steps[slot - program.first].operands[0], not is_transposed
    is_lower = slot >= program.first and program.steps[slot - program.first].op is OPS["cholesky"]
    return System(slot, is_transposed, is_lower)


@cache
def _lapack() -> Any:
    """SciPy's LAPACK, with a function of BLAS; None without SciPy."""
    try:
        lapack = extra("scipy.linalg.lapack", "machine code", "SciPy", "science")
        blas = extra("scipy.linalg.blas", "machine code", "SciPy", "science")
    except AgradError:
        return None
    functions = {name: getattr(lapack, name) for name in ("dgetrf", "dgetrs", "dtrtrs")}
    return SimpleNamespace(**functions, dtrsm=blas.dtrsm)


def solution(one: System, matrix: Array, right: Array, factors: dict[int, Any]) -> Array | None:
    """The solution of a system. `factors` has those of the matrices so far, by their slots.

    None where the matrix is singular, or there is no SciPy: then the operation itself says what the result is.
    """
    lapack = _lapack()
    if lapack is None or not right.size:
        return None
    turned = 0 if one.is_transposed else 1  # LAPACK reads the rows of the matrix as columns
    found: Array
    if one.is_lower and right.ndim == 2:  # whose rows are columns to BLAS, too: X @ L.T is found from the transposed
        failed = not matrix.diagonal().all()
        found = lapack.dtrsm(1.0, matrix.T, right.T, side=1, lower=0, trans_a=1 - turned).T if not failed else right
    elif one.is_lower:
        found, failed = lapack.dtrtrs(matrix.T, right, lower=0, trans=turned)
    else:
        if one.matrix not in factors:
            factors[one.matrix] = lapack.dgetrf(matrix.T)
        lu, pivots, failed = factors[one.matrix]
        if not failed:
            found, failed = lapack.dgetrs(lu, pivots, right, trans=turned)
    return found.reshape(right.shape) if not failed else None
