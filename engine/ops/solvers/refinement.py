"""The last digits of the solution of linear least squares, by iterative refinement of the augmented system.

The residuals r of J p = y are improved together with p, from what is left of r + J p = y and J'r = 0 (Björck, Iterative
refinement of linear least squares solutions I, BIT 7, 1967). That is summed from exact products (Dekker, Numerische
Mathematik 18, 1971), so that p is as accurate as if it were computed in twice the precision.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum
from typing import Any

from agrad.engine.ops.solvers.least_squares import Fit
from agrad.engine.values import Array, np

_FEW = 100_000  # entries of a Jacobian, up to which a fit is refined
_STEPS = 10
_SPLIT = 2.0**27 + 1.0  # times a number, less that less the number: its upper half
_LARGE = 1e150  # numbers of which the parts are exact


def of_linear(found: Fit) -> Fit:
    """A fit of points that all count the same, with all digits if its model is linear; else as it is."""
    points, size = found.dof + int(found.free.sum()), len(found.values)
    if found.problem or found.loss is not None or not found.free.all() or found.pieces is None or points * size > _FEW:
        return found
    with np.errstate(all="ignore"):
        y, table = _whole(found.pieces(found.values))
        slopes = table[:-1]
        if not np.array_equal(slopes, _whole(found.pieces(found.values / 2.0))[1][:-1]):
            return found
        _, at_zero = _whole(found.pieces(np.zeros(size)))
    if not np.array_equal(slopes, at_zero[:-1]) or not np.allclose(found.values @ slopes + at_zero[-1], table[-1]):
        return found
    return found._replace(values=refined(slopes, y - at_zero[-1], found.values))


def _whole(pieces: Iterable[tuple[Array, Array, Any]]) -> tuple[Array, Array]:
    """What was measured, and the table, of all points."""
    tables, ys = zip(*[(table, y) for table, y, _ in pieces], strict=True)
    return np.concatenate(ys), np.concatenate(tables, axis=1)


def refined(slopes: Array, y: Array, p: Array) -> Array:
    """The parameters, from those near them: of a linear model with these derivatives, a row for each parameter."""
    if not max(np.max(np.abs(x), initial=0.0) for x in (slopes, y, p)) < _LARGE:
        return p
    q, r = np.linalg.qr(slopes.T)
    residuals, last = y - p @ slopes, np.inf
    for _ in range(_STEPS):
        left = _sums([y, -residuals], -p[:, None], slopes)
        along = _sums([], -residuals[:, None], slopes.T)
        aim = left @ q - np.linalg.solve(r.T, along)
        step = np.linalg.solve(r, aim)
        size = np.max(np.abs(step * np.diag(r)))
        if not size < last / 2:
            return p
        p, residuals, last = p + step, residuals + left - q @ aim, size
    return p


def _sums(terms: list[Array], x: Array, y: Array) -> Array:
    """The terms, and the rows of the products of x and y, added up, each column to one number."""
    products = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    errors = x_low * y_low - (((products - x_high * y_high) - x_low * y_high) - x_high * y_low)
    columns = np.concatenate([*[term[None] for term in terms], products, errors]).T
    return np.array([fsum(column) for column in columns.tolist()])


def _halves(x: Array) -> tuple[Array, Array]:
    high = x * _SPLIT - (x * _SPLIT - x)
    return high, x - high
