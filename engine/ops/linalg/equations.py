"""Solutions of equations between matrices, and of systems with a banded matrix. SciPy computes them with LAPACK."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import truth_of, wholes_of
from agrad.engine.core.dispatch import by_array, by_rule, in_family, operand, shape_of_any
from agrad.engine.errors import AgradError
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.joining import concat, tril, triu
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.shaping import check_matrix, swap, unsqueeze
from agrad.engine.ops.linalg.matrices import in_room, matmul, of_matrix, solve
from agrad.engine.ops.scalar.arithmetic import add, mul
from agrad.engine.ops.scalar.comparison import where
from agrad.engine.values import format_shape, np, shape_of

row, composed = in_family("linear algebra")

# Sylvester's equation


def _check_sylvester(a: Any, b: Any, q: Any) -> dict[str, Any]:
    shapes = shape_of(a), shape_of(b), shape_of(q)
    if any(len(shape) != 2 for shape in shapes) or shapes[0] + shapes[1] != shapes[2][:1] * 2 + shapes[2][1:] * 2:
        wanted = "square matrices a and b, and q with the rows of a and the columns of b"
        listed = ", ".join(format_shape(shape) for shape in shapes)
        raise AgradError("shape", f"solve_sylvester needs {wanted}, not shapes {listed}")
    return {}


def _adjoint(g: Any, a: Any, b: Any) -> Any:
    return solve_sylvester(swap(a), swap(b), g)


@by_array(
    row,
    units="a, a, b -> b/a",
    rules={
        "a": ("out a b", lambda g, out, a, b, q: -matmul(_adjoint(g, a, b), swap(out))),
        "b": ("out a b", lambda g, out, a, b, q: -matmul(swap(out), _adjoint(g, a, b))),
        "q": ("a b", lambda g, out, a, b, q: _adjoint(g, a, b)),
    },
    prepare=_check_sylvester,
    domain="a and -b without a common eigenvalue",
)
@in_room
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The solution of a @ x + x @ b = q. An error where there is no single one.

    derivative: wrt q: u = solve_sylvester(a.T, b.T, g); wrt a: -u @ x.T; wrt b: -x.T @ u
    example: solve_sylvester([[1, 0], [0, 2]], [[1]], [[2], [6]]) == [[1], [2]]
    """
    # By real Schur forms, as Bartels and Stewart, Communications of the ACM 15 (1972).
    # scipy.linalg.solve_sylvester does the same, but returns any numbers where there is no single solution.
    linalg = extra("scipy.linalg", "solve_sylvester", "SciPy", "science")
    if not q.size:
        return np.zeros(q.shape)
    if not all(np.isfinite(each).all() for each in (a, b, q)):
        return np.full(q.shape, np.nan)
    r, u = linalg.schur(a)
    s, v = linalg.schur(b.T)
    y, scale, info = linalg.lapack.dtrsyl(r, s, u.T @ q @ v, tranb="T")
    if info:
        message = "solve_sylvester: a and -b have an eigenvalue in common, so that there is no single solution"
        raise AgradError("domain", message)
    return u @ (y / scale) @ v.T  # LAPACK solves it for scale*q, with a scale below 1 against overflow


# Banded matrices, by their diagonals: entry [i, j] is in row upper + i - j and column j


def _rows_of_entries(size: int, lower: int, upper: int) -> tuple[Any, Any]:
    """The row of the matrix of each entry of its diagonals, and whether there is one."""
    rows = np.arange(size) + np.arange(-upper, lower + 1)[:, None]
    inside = (rows >= 0) & (rows < size)
    return np.where(inside, rows, 0), inside


def _transposed(x: Any, lower: int, upper: int) -> Any:
    """The diagonals of the transposed matrix, which has as many below as this has above."""
    columns, inside = _rows_of_entries(shape_of(x)[1], upper, lower)
    diagonals = np.arange(lower + upper, -1, -1)[:, None] + np.zeros_like(columns)
    return where(inside * 1.0, getitem(x, (diagonals, columns)), 0.0)


def _by_diagonals(g: Any, out: Any, x: Any, y: Any, lower: int, upper: int) -> Any:
    rows, inside = _rows_of_entries(shape_of(x)[1], lower, upper)
    u = _by_right_side(g, out, x, y, lower, upper)
    products = mul(getitem(u, (rows,)), unsqueeze(out, 0))
    return where(inside * 1.0, -products if len(shape_of(out)) == 1 else -total(products, -1), 0.0)


def _by_right_side(g: Any, out: Any, x: Any, y: Any, lower: int, upper: int) -> Any:
    return banded_solution(_transposed(x, lower, upper), g, lower=upper, upper=lower)


@by_array(
    row, "x, y; lower, upper", units="a, b -> b/a", rules={"x": ("out x", _by_diagonals), "y": ("x", _by_right_side)}
)
@in_room
def banded_solution(x: Any, y: Any, lower: int, upper: int) -> Any:
    """The solution with a matrix that is given by its diagonals."""
    linalg = extra("scipy.linalg", "solve_banded", "SciPy", "science")
    if not y.size:
        return np.zeros(y.shape)
    singular = AgradError("domain", "solve_banded: the matrix is singular")
    if x.shape[1] == 1:  # SciPy 1.11 divides by the second diagonal, and newer releases by 0 as well
        if x[upper, 0] == 0.0:
            raise singular
        return y / x[upper, 0]
    inside = _rows_of_entries(x.shape[1], lower, upper)[1]
    try:
        return linalg.solve_banded((lower, upper), np.where(inside, x, 0.0), y, check_finite=False)
    except np.linalg.LinAlgError:
        raise singular from None


@composed(pure=True)
def solve_banded(l_and_u: Any, x: Any, y: Any, /) -> Any:
    """The solution s of A @ s = y for a banded A with l diagonals below the main one and u above, l_and_u = [l, u]. The
    rows of x are its diagonals, from the top: A[i, j] is x[u + i - j, j]; entries outside A are not read.

    derivative: wrt y: v = the solution with A.T; wrt x: -v[i]*s[j], exactly 0 outside A
    example: solve_banded([1, 1], [[0, 1, 1], [2, 2, 2], [1, 1, 0]], [3, 4, 3]) ~= [1, 1, 1]
    """
    counts = wholes_of("solve_banded", "a number of diagonals", l_and_u)
    if len(counts) != 2 or min(counts) < 0:
        raise AgradError("type", "solve_banded: l_and_u must be two numbers, of the diagonals below and above")
    x, y = operand(x), operand(y)
    a, b = shape_of(x), shape_of(y)
    if len(a) != 2 or len(b) not in (1, 2) or a != (sum(counts) + 1, b[0]):
        message = f"solve_banded needs a row for each of {sum(counts) + 1} diagonals, and a column for each row of y"
        raise AgradError("shape", f"{message}; the shapes are {format_shape(a)} and {format_shape(b)}")
    return banded_solution(x, y, lower=counts[0], upper=counts[1])


# The matrix exponential, by scaling and squaring with Padé approximants (Al-Mohy and Higham, 2009), and solutions with
# matrices that are already factorised.


@by_rule(of_matrix, "x", array=lambda x: extra("scipy.linalg", "expm", "SciPy", "science").expm(x))
def expm(g: Any, out: Any, x: Any) -> Any:
    """The exponential of a square matrix: the sum of x**k/k! in matrix products.

    derivative: a block of the exponential of [[x.T, g], [0, x.T]]
    example: expm([[0, 1], [0, 0]]) == [[1, 1], [0, 1]]
    """
    # A block of the exponential of [[x.T, g], [0, x.T]]: the adjoint of the Fréchet derivative.
    # R. Mathias, A chain rule for matrix functions and applications, SIAM J. Matrix Anal. Appl. 17 (1996).
    n, back = shape_of_any(x)[-1], swap(x)
    upper = concat([back, g], -1)
    lower = concat([mul(back, 0.0), back], -1)
    return getitem(expm(concat([upper, lower], -2)), (..., slice(None, n), slice(n, None)))


@composed()
def solve_triangular(x: Any, y: Any, /, lower: Any = False, unit_diagonal: Any = False) -> Any:
    """The solution of x @ s = y by the upper (or lower) triangle of x alone; the other triangle is not read.

    derivative: that of solve, in the triangle
    example: solve_triangular([[2, 1], [9, 4]], [4, 4]) == [1.5, 1]
    """
    check_matrix("solve_triangular", shape_of_any(x))
    below = truth_of("solve_triangular", "lower", lower)
    if truth_of("solve_triangular", "unit_diagonal", unit_diagonal):
        strict = tril(x, k=-1) if below else triu(x, k=1)
        return solve(add(strict, np.eye(shape_of_any(x)[-1])), y)
    return solve(tril(x) if below else triu(x), y)


@composed()
def cho_solve(x: Any, y: Any, /, lower: Any = True) -> Any:
    """The solution of A @ s = y, given the Cholesky factor x of A: A = x @ x.T, or x.T @ x for an upper factor.

    derivative: that of the two triangular solutions
    example: cho_solve(cholesky([[4, 2], [2, 3]]), [8, 7]) ~= [1.25, 1.5]
    """
    check_matrix("cho_solve", shape_of_any(x))
    factor = tril(x) if truth_of("cho_solve", "lower", lower) else swap(triu(x))
    return solve(swap(factor), solve(factor, y))
