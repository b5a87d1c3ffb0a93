"""The matrix exponential, and solutions with matrices that are already factorised."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import truth_of
from agrad.engine.core.dispatch import composed, row
from agrad.engine.core.op import Function
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.joining import concat, tril, triu
from agrad.engine.ops.arrays.shaping import shape_of_any, swap
from agrad.engine.ops.linalg.matrices import FAMILY, check_matrix, matrices, solve
from agrad.engine.ops.scalar.arithmetic import add, mul
from agrad.engine.values import np


def _exponential(x: Any) -> Any:
    """SciPy's, by scaling and squaring with Padé approximants (Al-Mohy and Higham, 2009)."""
    return extra("scipy.linalg", "expm", "SciPy", "science").expm(x)


def _exponential_rule(g: Any, out: Any, x: Any) -> Any:
    """A block of the exponential of [[x.T, g], [0, x.T]]: the adjoint of the Fréchet derivative.

    R. Mathias, A chain rule for matrix functions and applications, SIAM J. Matrix Anal. Appl. 17 (1996).
    """
    n, back = shape_of_any(x)[-1], swap(x)
    upper = concat([back, g], -1)
    lower = concat([mul(back, 0.0), back], -1)
    return getitem(expm(concat([upper, lower], -2)), (..., slice(None, n), slice(n, None)))


expm: Function = row(
    "expm",
    "x",
    family=FAMILY,
    array=_exponential,
    rules={"x": ("x", _exponential_rule)},
    prepare=matrices("expm"),
    reach="mixed",
    samples=(([[0.2, 1.0], [0.5, -0.3]],), ([[[0.2, 1.0], [0.5, 0.3]], [[0.0, 1.0], [0.0, 0.0]]],)),
    doc="The exponential of a square matrix: the sum of x**k/k! in matrix products.",
    derivative="a block of the exponential of [[x.T, g], [0, x.T]]",
    example="expm([[0, 1], [0, 0]]) == [[1, 1], [0, 1]]",
)


def _with_unit_diagonal(x: Any, lower: bool) -> Any:
    strict = tril(x, k=-1) if lower else triu(x, k=1)
    return add(strict, np.eye(shape_of_any(x)[-1]))


@composed(
    "solve_triangular",
    "x, y; lower=False, unit_diagonal=False",
    family=FAMILY,
    samples=(
        ([[2.0, 1.0], [0.5, 3.0]], [1.0, 2.0]),
        ([[2.0, 1.0], [0.5, 3.0]], [[1.0, 2.0], [0.5, -1.0]], {"lower": True}),
    ),
    doc="The solution of x @ s = y by the upper (or lower) triangle of x alone; the other triangle is not read.",
    derivative="that of solve, in the triangle",
    example="solve_triangular([[2, 1], [9, 4]], [4, 4]) == [1.5, 1]",
)
def solve_triangular(x: Any, y: Any, lower: Any, unit_diagonal: Any) -> Any:
    """See the entry."""
    check_matrix("solve_triangular", shape_of_any(x))
    below = truth_of("solve_triangular", "lower", lower)
    if truth_of("solve_triangular", "unit_diagonal", unit_diagonal):
        return solve(_with_unit_diagonal(x, below), y)
    return solve(tril(x) if below else triu(x), y)


@composed(
    "cho_solve",
    "x, y; lower=True",
    family=FAMILY,
    samples=(([[2.0, 0.0], [0.5, 3.0]], [1.0, 2.0]), ([[2.0, 0.5], [0.0, 3.0]], [1.0, 2.0], {"lower": False})),
    doc="The solution of A @ s = y, given the Cholesky factor x of A: A = x @ x.T, or x.T @ x for an upper factor.",
    derivative="that of the two triangular solutions",
    example="cho_solve(cholesky([[4, 2], [2, 3]]), [8, 7]) ~= [1.25, 1.5]",
)
def cho_solve(x: Any, y: Any, lower: Any) -> Any:
    """See the entry."""
    check_matrix("cho_solve", shape_of_any(x))
    factor = tril(x) if truth_of("cho_solve", "lower", lower) else swap(triu(x))
    return solve(swap(factor), solve(factor, y))
