"""Decompositions of matrices, and operations based on them. Leading axes are a batch, as in numpy.

Each result is a separate operation, whose rule computes the other results that it needs as operations again: so
all orders follow. Of a symmetric matrix only its symmetric part (A + A.T)/2 counts. Formulas: M. Giles, Collected
matrix derivative results for forward and reverse mode algorithmic differentiation, 2008; Golub and Pereyra, 1973.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.dispatch import by_array, by_rule, in_family, shape_of_any
from agrad.engine.core.op import Failure, Kink
from agrad.engine.errors import AgradError, Note
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.shaping import swap, unsqueeze
from agrad.engine.ops.linalg.expansions import lower_triangle
from agrad.engine.ops.linalg.matrices import in_room, matmul, matrices, of_matrix, solve
from agrad.engine.ops.scalar.comparison import where
from agrad.engine.values import Shape, format_shape, np, shape_of

row, composed = in_family("linear algebra", pure=True)

REPEATED = Kink("eigh, svd with repeated values", "", "of the values exact; of the vectors nan")


def _symmetric(x: Any) -> Any:
    """The symmetric part."""
    return 0.5 * (x + swap(x))


def _symmetric_part(x: Any) -> Any:
    """The symmetric part of an array; in a session it is told where that is not all of it, by more than rounding."""
    made, listener = _symmetric(x), current().listener
    if listener is not None and np.abs(x - made).max(initial=0.0) > 1e-4 * np.abs(x).max(initial=0.0):
        listener(Note("the matrix is not symmetric, and only its symmetric part (A + A.T)/2 counts"))
    return made


def _scaled(x: Any, values: Any) -> Any:
    """The columns of x times the values."""
    return x * unsqueeze(values, -2)


# Cholesky


@by_rule(
    of_matrix,
    "out",
    units="a -> a^1/2",
    array=lambda x: np.linalg.cholesky(_symmetric_part(x)),
    entries=lower_triangle,
    domain="symmetric positive definite matrices",
    fails=Failure(
        refused=lambda shape: f"cholesky(A + 1e-6*eye({shape[-1]}))   where A is a covariance, singular by rounding"
    ),
)
def cholesky(g: Any, out: Any, x: Any) -> Any:
    """The lower triangular L with L @ L.T = x, for a symmetric positive definite x.

    derivative: wrt x: the symmetric part of inv(L).T @ P @ inv(L), P the lower half of L.T @ g
    example: cholesky([[4, 0], [0, 9]]) == [[2, 0], [0, 3]]
    """
    size = shape_of(out)[-1]
    inner = matmul(swap(out), g) * (np.tri(size) - 0.5 * np.eye(size))
    left = solve(swap(out), inner)
    return _symmetric(swap(solve(swap(out), swap(left))))


# Eigenvalues of symmetric matrices


def _triangle(upper: bool) -> Any:
    """The triangle that LAPACK reads: of a symmetric matrix both are alike, but the signs of the vectors differ."""
    return "U" if upper else "L"


def _vectors_rule(g: Any, out: Any, x: Any, upper: bool) -> Any:
    """V @ (F * (V.T @ g)) @ V.T, F one over the differences of the eigenvalues; nan where two are equal."""
    values = eigh_values(x)
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    eye = np.eye(shape_of(values)[-1])
    inner = where(eye, 0.0, matmul(swap(out), g) / (gaps + eye))
    return _symmetric(matmul(matmul(out, inner), swap(out)))


def _values_rule(g: Any, out: Any, x: Any, upper: bool) -> Any:
    vectors = eigh_vectors(x)
    return matmul(_scaled(vectors, g), swap(vectors))


_eigh = partial(row, signature="x; upper=False", prepare=matrices("eigh"))


@by_array(_eigh, units="a -> a", rules={"x": ("x", _values_rule)})
@in_room
def eigh_values(x: Any, upper: Any) -> Any:
    """The eigenvalues of a symmetric matrix, in ascending order."""
    return np.linalg.eigvalsh(_symmetric_part(x), _triangle(upper))


@by_array(
    _eigh,
    units="a -> 1",
    rules={"x": ("out x", _vectors_rule)},
    fails=Failure(no_derivative="the vectors of equal eigenvalues have none"),
)
@in_room
def eigh_vectors(x: Any, upper: Any) -> Any:
    """The eigenvectors of a symmetric matrix, in columns."""
    return np.linalg.eigh(_symmetric(x), _triangle(upper))[1]


@composed(kinks=(REPEATED,), domain="symmetric matrices")
def eigh(x: Any, /) -> tuple[Any, Any]:
    """Eigenvalues, ascending, and eigenvectors, in columns, of a symmetric matrix: values, vectors = eigh(x).

    derivative: of the values V @ diag(g) @ V.T; of the vectors nan where two values are equal
    example: eigh([[2, 0], [0, 1]])[0] == [1, 2]
    """
    return eigh_values(x), eigh_vectors(x)


# Singular values


def _for_svd(x: Any) -> Any:
    """A matrix that has one: LAPACK prints its own words where an entry is not finite."""
    if not np.isfinite(x).all():
        raise np.linalg.LinAlgError("not all of its entries are finite")
    return x


def _svd(x: Any, which: int) -> Any:
    return np.linalg.svd(_for_svd(x), full_matrices=False)[which]


def _turns(values: Any, product: Any) -> Any:
    """The antisymmetric part of a product, each entry divided by the gap of the squared singular values."""
    squares = values * values
    gaps = unsqueeze(squares, -2) - unsqueeze(squares, -1)
    eye = np.eye(shape_of(values)[-1])
    return where(eye, 0.0, (product - swap(product)) / (gaps + eye))


def _outside(x: Any, basis: Any) -> Any:
    """The part of the columns of x that is orthogonal to the columns of a basis."""
    return x - matmul(basis, matmul(swap(basis), x))


_svd_row = partial(of_matrix, what="svd", square=False)
_VECTORS = Failure(no_derivative="the vectors of equal singular values have none")


@by_rule(_svd_row, "x", units="a -> a", array=lambda x: np.linalg.svd(_for_svd(x), compute_uv=False))
def svd_values(g: Any, out: Any, x: Any) -> Any:
    """The singular values of a matrix, in descending order."""
    return matmul(_scaled(svd_left(x), g), svd_right(x))


@by_rule(_svd_row, "out x", units="a -> 1", array=lambda x: _svd(x, 0), fails=_VECTORS)
def svd_left(g: Any, out: Any, x: Any) -> Any:
    """The left singular vectors of a matrix, in columns."""
    values, right = svd_values(x), svd_right(x)
    inner = _scaled(_turns(values, matmul(swap(out), g)), values)
    turned = matmul(out, inner)
    if shape_of(out)[-2] > shape_of(out)[-1]:
        turned = turned + _outside(g, out) / unsqueeze(values, -2)
    return matmul(turned, right)


@by_rule(_svd_row, "out x", units="a -> 1", array=lambda x: _svd(x, 2), fails=_VECTORS)
def svd_right(g: Any, out: Any, x: Any) -> Any:
    """The right singular vectors of a matrix, in rows."""
    values, left = svd_values(x), svd_left(x)
    basis, gt = swap(out), swap(g)
    inner = unsqueeze(values, -1) * _turns(values, matmul(out, gt))
    turned = matmul(inner, out)
    if shape_of(out)[-1] > shape_of(out)[-2]:
        turned = turned + swap(_outside(gt, basis) / unsqueeze(values, -2))
    return matmul(left, turned)


@composed(kinks=(REPEATED,))
def svd(x: Any, /) -> tuple[Any, Any, Any]:
    """U, s, Vt with x = U @ diag(s) @ Vt, in the reduced form; s in descending order.

    derivative: of the values U @ diag(g) @ Vt; of the vectors nan where two values are equal
    example: svd([[2, 0], [0, 1]])[1] == [2, 1]
    """
    return svd_left(x), svd_values(x), svd_right(x)


# QR


def _tall(x: Any) -> dict[str, Any]:
    shape = shape_of(x)
    if len(shape) < 2 or shape[-2] < shape[-1]:
        raise AgradError("shape", f"qr needs a matrix, not a value of shape {format_shape(shape)}")
    return {}


def _mirrored(m: Any) -> Any:
    """The lower half of a matrix, put in place of the upper half as well."""
    size = shape_of(m)[-1]
    lower = m * np.tril(np.ones((size, size)))
    return lower + swap(m * np.tril(np.ones((size, size)), -1))


def _divided(x: Any, r: Any) -> Any:
    """x @ inv(r).T"""
    return swap(solve(r, swap(x)))


def _q_rule(g: Any, out: Any, x: Any) -> Any:
    """(g - Q @ M) @ inv(R).T, M the mirrored lower half of g.T @ Q."""
    r = matmul(swap(out), x)
    return _divided(g - matmul(out, _mirrored(matmul(swap(g), out))), r)


def _r_rule(g: Any, out: Any, x: Any) -> Any:
    """Q @ M @ inv(R).T, M the mirrored lower half of R @ g.T."""
    q = swap(solve(swap(out), swap(x)))
    return _divided(matmul(q, _mirrored(matmul(out, swap(g)))), out)


_qr = partial(row, prepare=_tall)


@by_array(_qr, units="a -> 1", rules={"x": ("out x", _q_rule)})
@in_room
def qr_q(x: Any) -> Any:
    """The orthonormal columns of a QR decomposition."""
    return np.linalg.qr(x)[0]


@by_array(_qr, units="a -> a", rules={"x": ("out x", _r_rule)})
@in_room
def qr_r(x: Any) -> Any:
    """The upper triangle of a QR decomposition."""
    return np.linalg.qr(x)[1]


@composed()
def qr(x: Any, /) -> tuple[Any, Any]:
    """q, r with x = q @ r: orthonormal columns and an upper triangle, in the reduced form.

    derivative: as of the solution of d(q @ r) = dx; x must have full rank
    example: qr([[2, 0], [0, 1]])[0] @ qr([[2, 0], [0, 1]])[1] == [[2, 0], [0, 1]]
    """
    shape = shape_of_any(x)
    if len(shape) < 2 or shape[-2] >= shape[-1]:
        return qr_q(x), qr_r(x)
    q = qr_q(getitem(x, (Ellipsis, slice(0, shape[-2]))))  # for a wide matrix, the square block on the left decides
    return q, matmul(swap(q), x)


# Least squares


def _beside(g: Any, left: Any, right: Any) -> Any:
    """(I - left @ right) @ g: what the projection leaves."""
    return g - matmul(left, matmul(right, g))


@by_rule(
    of_matrix,
    "out x",
    units="a -> 1/a",
    array=lambda x: np.linalg.pinv(_for_svd(x), rcond=max(x.shape[-2:]) * np.finfo(float).eps),
    square=False,
)
def pinv(g: Any, out: Any, x: Any) -> Any:
    """The pseudo-inverse: the inverse of a regular matrix, and the best substitute for any other.

    derivative: that of constant rank
    example: pinv([[2, 0], [0, 0]]) == [[0.5, 0], [0, 0]]
    """
    p, pt, gt = out, swap(out), swap(g)
    first = matmul(matmul(pt, g), pt)
    second = matmul(_beside(gt, x, p), matmul(p, pt))
    third = matmul(matmul(pt, p), swap(_beside(g, p, x)))
    return second + third - first


def _overdetermined(x: Any, y: Any) -> dict[str, Any]:
    a, b = shape_of(x), shape_of(y)
    if len(a) != 2 or len(b) not in (1, 2) or a[0] != b[0]:
        raise AgradError("shape", f"lstsq: a matrix of shape {format_shape(a)} and a right side of {format_shape(b)}")
    return {"right": b}


def _lstsq_by_matrix(g: Any, out: Any, x: Any, y: Any, right: Shape) -> Any:
    g, s, y = (unsqueeze(each, -1) if len(right) == 1 else each for each in (g, out, y))
    p = pinv(x)
    pt = swap(p)
    rest = y - matmul(x, s)
    first = matmul(matmul(pt, g), swap(s))
    second = matmul(rest, swap(matmul(p, matmul(pt, g))))
    third = matmul(matmul(pt, s), swap(_beside(g, p, x)))
    return second + third - first


@by_array(
    row,
    units="a, b -> b/a",
    rules={"x": ("out x y", _lstsq_by_matrix), "y": ("x", lambda g, out, x, y, right: matmul(swap(pinv(x)), g))},
    prepare=_overdetermined,
)
@in_room
def lstsq(x: Any, y: Any, right: Any) -> Any:
    """The s with the smallest norm(x @ s - y); of several, the shortest.

    derivative: wrt y: pinv(x).T @ g; wrt x: that of constant rank
    example: lstsq([[1, 0], [0, 1], [0, 0]], [1, 2, 5]) ~= [1, 2]
    """
    return np.linalg.lstsq(_for_svd(x), y, rcond=None)[0]
