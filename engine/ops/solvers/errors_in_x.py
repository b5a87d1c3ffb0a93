"""Least squares where what a model is computed at is uncertain, too, with uncertainties u, a row for each column x.

Tables have the derivatives of the model, first by the parameters and then by these columns, and its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agrad.engine.ops.solvers.least_squares import CLOSE
from agrad.engine.values import Array, np

_STEPS = 200  # to the true values of x

METHODS = {
    "orthogonal": "the true values are found together with the parameters",
    "effective": "they add to the variance of what was measured",
}


def at_true_values(
    at: Callable[[Sequence[Array]], Array], xs: Sequence[Array], u: Array, y: Array, sigma: Array
) -> tuple[Array, Array]:
    """The table by the parameters, and the uncertainties, of residuals at the true values of x that are best for these.

    `at` gives the table for some x. The residual and its slope are those of the tangent at the true values, so that
    half of the least sum of squares has exactly their slope (Boggs, Byrd and Schnabel, SIAM J. Sci. Stat. Comput. 8,
    1987).
    """
    away = before = np.zeros(u.shape)
    last = np.full(len(y), np.inf)
    for _ in range(_STEPS):
        table = at([x + d for x, d in zip(xs, away, strict=True)])
        slopes, left = table[-1 - len(u) : -1], table[-1] - y
        square = (left / sigma) ** 2 + np.sum(np.divide(away, u, out=np.zeros(u.shape), where=u > 0) ** 2, axis=0)
        table[-1] -= np.sum(slopes * away, axis=0)
        variance = sigma**2 + np.sum((slopes * u) ** 2, axis=0)
        aim = -(u**2) * slopes * (table[-1] - y) / variance
        worse = ~(square <= last * (1.0 + 1e-14))
        aim = np.where(worse, (away + before) / 2.0, aim)
        before, last = np.where(worse, before, away), np.where(worse, last, square)
        if not np.any(np.abs(aim - away) > CLOSE * u):
            break
        away = aim
    return _by_parameters(table, len(u)), np.sqrt(variance)


def of_variance(table: Array, bends: Sequence[Array], u: Array, y: Array, sigma: Array) -> tuple[Array, Array]:
    """The same at the x that were measured, where the variance of a residual is sigma**2 + sum((df/dx u)**2).

    It is a function of the parameters (Orear, Am. J. Phys. 50, 1982). `bends`: for each x the derivatives of df/dx, of
    which those by the parameters come first.
    """
    slopes, size = table[-1 - len(u) : -1], len(table) - 1 - len(u)
    variance = sigma**2 + np.sum((slopes * u) ** 2, axis=0)
    bent = sum(one * of * bend[:size] for one, of, bend in zip(slopes, u**2, bends, strict=True))
    table[:size] -= (table[-1] - y) / variance * bent
    return _by_parameters(table, len(u)), np.sqrt(variance)


def _by_parameters(table: Array, count: int) -> Array:
    return np.concatenate([table[: -1 - count], table[-1:]])
