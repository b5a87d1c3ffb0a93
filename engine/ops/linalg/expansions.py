"""Linear algebra of small matrices entry by entry: the expansions of operations into operations on numbers.

Each takes matrices of symbols, a batch of them in leading axes, and gives None for matrices that are too large. Where
there is no result the entries are not finite. A symbol has the operators of arithmetic, `exceeds` and `choose`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.values import Shape, np

_LARGEST = 4  # rows


def _each(expand: Callable[..., Any], *matrices: Any) -> Any:
    """The expansion of each matrix of a batch."""
    if max(x.shape[-2] for x in matrices) > _LARGEST:
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
        for i in range(k + 1, size):
            larger = abs(rows[i][k]).exceeds(abs(rows[k][k]))
            for j in range(k, len(rows[k])):
                upper, lower = rows[k][j], rows[i][j]
                rows[k][j], rows[i][j] = larger.choose(lower, upper), larger.choose(upper, lower)
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i][k + 1 :] = [x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
    for k in reversed(range(size)):
        right = [x / rows[k][k] for x in rows[k][size:]]
        for i in range(k):
            rows[i][size:] = [x - rows[i][k] * y for x, y in zip(rows[i][size:], right, strict=True)]
        rows[k][size:] = right
    return _matrix([row[size:] for row in rows], b.shape)


def _matrix(rows: list[list[Any]], shape: Shape) -> Any:
    found = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        found[place] = rows[place[0]][place[1]]
    return found


def solution(x: Any, y: Any, shapes: tuple[Shape, Shape]) -> Any:
    """The solution of x @ s = y; a right side of one axis is a vector."""
    columns = y[:, None] if y.ndim == 1 else y
    found = _each(_eliminated, x, columns)
    return found if found is None or y.ndim > 1 else found[..., 0]


def inverse(x: Any) -> Any:
    """The inverse."""
    return _each(_eliminated, x, np.eye(x.shape[-1]))


def determinant(x: Any) -> Any:
    """The determinant by minors: a polynomial, whose derivatives are exact where the matrix is singular, too."""
    return _each(_by_minors, x)


def _by_minors(x: Any) -> Any:
    if not len(x):
        return 1.0
    terms = [x[0, j] * _by_minors(np.delete(x[1:], j, 1)) if len(x) > 1 else x[0, 0] for j in range(len(x))]
    total = terms[0]
    for j, term in enumerate(terms[1:], 1):
        total = total - term if j % 2 else total + term
    return total


def lower_triangle(x: Any) -> Any:
    """The Cholesky factor of the symmetric part."""
    return _each(_cholesky, (x + np.swapaxes(x, -1, -2)) * 0.5)


def _cholesky(x: Any) -> Any:
    lower = np.full(x.shape, 0.0, dtype=object)
    for j in range(len(x)):
        for i in range(j, len(x)):
            rest = x[i, j]
            for k in range(j):
                rest = rest - lower[i, k] * lower[j, k]
            lower[i, j] = rest / lower[j, j] if i > j else rest.sqrt()
    return lower
