"""Linear algebra of small matrices entry by entry: the expansions of operations into operations on numbers.

Each takes matrices of symbols, a batch of them in leading axes, and gives None for matrices that are too large. Where
there is no result the entries are not finite. A symbol has the operators of arithmetic, `exceeds` and `choose`. Those
of larger matrices are what rows give as `unrolled`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, mul
from typing import Any

from agrad.engine.values import Shape, np

_LARGEST = 4  # rows
UNROLLED = 12  # rows of what is `unrolled`


def each(expand: Callable[..., Any], *matrices: Any, most: int = _LARGEST) -> Any:
    """The expansion of each matrix of a batch."""
    if max(x.shape[-2] for x in matrices) > most:
        return None
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in matrices))
    spread = [np.broadcast_to(x, batch + x.shape[-2:]) for x in matrices]
    if not batch:
        return expand(*matrices)
    found = np.empty(batch, dtype=object)
    for place in np.ndindex(*batch):
        found[place] = expand(*(x[place] for x in spread))
    parts = found.ravel().tolist()
    if not isinstance(parts[0] if parts else None, np.ndarray):
        return found
    return np.array([part.tolist() for part in parts], dtype=object).reshape(batch + parts[0].shape)


def _eliminated(a: Any, b: Any) -> Any:
    """The solution of a @ s = b by elimination, as LAPACK does it: in each column the largest entry is the pivot."""
    rows = [[*left, *right] for left, right in zip(a.tolist(), b.tolist(), strict=True)]
    size = len(rows)
    for k in range(size):
        _exchange(rows, k)
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i][k + 1 :] = [x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
    for k in reversed(range(size)):
        right = [x / rows[k][k] for x in rows[k][size:]]
        for i in range(k):
            rows[i][size:] = [x - rows[i][k] * y for x, y in zip(rows[i][size:], right, strict=True)]
        rows[k][size:] = right
    return _matrix([row[size:] for row in rows], b.shape)


def _exchange(rows: list[list[Any]], k: int) -> list[Any]:
    """Bring the row with the largest entry in column k above those below; for each of these, 1 if it was exchanged."""
    made = []
    for i in range(k + 1, len(rows)):
        larger = abs(rows[i][k]).exceeds(abs(rows[k][k]))
        for j in range(k, len(rows[k])):
            upper, lower = rows[k][j], rows[i][j]
            rows[k][j], rows[i][j] = larger.choose(lower, upper), larger.choose(upper, lower)
        made.append(larger)
    return made


def _matrix(rows: list[list[Any]], shape: Shape) -> Any:
    found = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        found[place] = rows[place[0]][place[1]]
    return found


def solution(x: Any, y: Any, shapes: tuple[Shape, Shape], most: int = _LARGEST) -> Any:
    """The solution of x @ s = y; a right side of one axis is a vector."""
    columns = y[:, None] if y.ndim == 1 else y
    found = each(_eliminated, x, columns, most=most)
    return found if found is None or y.ndim > 1 else found[..., 0]


def inverse(x: Any, most: int = _LARGEST) -> Any:
    """The inverse."""
    return each(_eliminated, x, np.eye(x.shape[-1]), most=most)


def determinant(x: Any, most: int = _LARGEST) -> Any:
    """The determinant by minors: a polynomial, whose derivatives are exact where the matrix is singular, too."""
    return each(_by_minors, x, most=most)


def _by_minors(x: Any) -> Any:
    if not len(x):
        return 1.0
    terms = [x[0, j] * _by_minors(np.delete(x[1:], j, 1)) if len(x) > 1 else x[0, 0] for j in range(len(x))]
    total = terms[0]
    for j, term in enumerate(terms[1:], 1):
        total = total - term if j % 2 else total + term
    return total


# Unrolled


def unrolled_determinant(x: Any) -> Any:
    """The determinant, by elimination."""
    return each(lambda one: reduce(mul, _pivots(one)), x, most=UNROLLED)


def sign_of_determinant(x: Any) -> Any:
    """1, -1 or 0."""
    return each(lambda one: reduce(mul, [pivot.sign() for pivot in _pivots(one)]), x, most=UNROLLED)


def log_of_determinant(x: Any) -> Any:
    """The logarithm of the absolute determinant."""
    return each(lambda one: reduce(add, [abs(pivot).log() for pivot in _pivots(one)]), x, most=UNROLLED)


def _pivots(x: Any) -> list[Any]:
    """Numbers whose product is the determinant: the diagonal after elimination, with a sign for each exchange."""
    rows, found = x.tolist(), []
    for k in range(len(rows)):
        exchanged = _exchange(rows, k)
        pivot = rows[k][k]
        found.append(reduce(mul, [one.choose(-1.0, 1.0) for one in exchanged], pivot))
        for row in rows[k + 1 :]:
            factor = pivot.equals(0.0).choose(0.0, row[k] / pivot)
            row[k + 1 :] = [x - factor * y for x, y in zip(row[k + 1 :], rows[k][k + 1 :], strict=True)]
    return found


def lower_triangle(x: Any) -> Any:
    """The Cholesky factor of the symmetric part."""
    return each(_cholesky, (x + np.swapaxes(x, -1, -2)) * 0.5)


def _cholesky(x: Any) -> Any:
    lower = np.full(x.shape, 0.0, dtype=object)
    for j in range(len(x)):
        for i in range(j, len(x)):
            rest = x[i, j]
            for k in range(j):
                rest = rest - lower[i, k] * lower[j, k]
            lower[i, j] = rest / lower[j, j] if i > j else rest.sqrt()
    return lower
