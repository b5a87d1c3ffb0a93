"""Nonlinear least squares, by sums over pieces of the data.

SciPy's `least_squares` (method `lm`, Moré's MINPACK) asks for residuals and their Jacobian. It uses only their lengths
and angles, and these are the same after an orthogonal transformation: so each piece is added to the R of a QR
decomposition of [J | r] (Golub and Van Loan, Matrix Computations, 5.3 and 12.5), and SciPy gets p + 1 residuals for
any number of points. The data need not be in memory, and no digits are lost as in the normal equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite, sqrt
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.values import Array, format_number, np

# For some parameters: of each piece of the data the values of the model, its derivatives as rows, what was measured,
# and the standard uncertainties of that, if they are known.
Pieces = Callable[[Array], Iterable[tuple[Array, Sequence[Array], Array, "Array | float | None"]]]

_CONDITION = 1e5  # below which Cholesky's method is exact enough
_MOST = 2000  # evaluations
_STEPS = 40  # of the last search
_CLOSE = 1e-12  # relative step at which it ends
_LEAST = 1e-15  # relative changes
_ANGLE = 1e-6  # cosine between the residuals and a column of the Jacobian, at a minimum


class Fit(NamedTuple):
    """The parameters, their covariances, and how well they fit."""

    names: list[str]
    values: Array
    covariance: Array
    rss: float  # sum of the squares of the residuals
    chi2: float  # of the residuals divided by their uncertainties; rss if these are not known
    dof: int
    r2: float
    is_weighted: bool
    iterations: int
    problem: str  # why it has not converged; empty if it has

    @property
    def u(self) -> Array:
        """The standard uncertainties of the parameters."""
        found: Array = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return found

    @property
    def correlation(self) -> Array:
        """The correlations of the parameters."""
        scale = np.where(self.u > 0, self.u, 1.0)
        found: Array = self.covariance / np.outer(scale, scale)
        return found


class _Sums:
    """What one pass over the data gives, for some parameters."""

    def __init__(self, pieces: Pieces, p: Array) -> None:
        size = len(p)
        self.factor = np.zeros((size + 1, size + 1))  # R of [J | r]
        self.count = 0
        self.rss = 0.0
        self.mean = self.spread = 0.0  # of what was measured: its mean, and the squares of the differences from it
        self.is_weighted = False
        for model, slopes, y, sigma in pieces(p):
            if not len(y):
                continue
            residual = model - y
            self.rss += float(
                np.einsum("i,i", residual, residual)
            )  # without the threads of BLAS, which take longer here
            self._take(y)
            table = np.empty((size + 1, size + 1 + len(y)))
            table[:, : size + 1] = self.factor.T
            table[:size, size + 1 :] = slopes
            table[size, size + 1 :] = residual
            if sigma is not None:
                self.is_weighted = True
                table[:, size + 1 :] /= sigma
            self.factor = _factor(table)

    def _take(self, y: Array) -> None:
        """Update the mean and spread (Chan, Golub and LeVeque, The American Statistician 37, 1983)."""
        count, mean = len(y), float(np.mean(y))
        total, distance = self.count + count, mean - self.mean
        self.spread += float(np.sum((y - mean) ** 2)) + distance**2 * self.count * count / total
        self.mean += distance * count / total
        self.count = total


def _factor(table: Array) -> Array:
    """R of the QR decomposition of a transposed table; nan where an entry is not finite.

    Twice by Cholesky's method, which is as accurate as Householder's where the table is not ill-conditioned (Yamamoto
    and others, Electronic Transactions on Numerical Analysis 44, 2015), and otherwise by that.
    """
    gram = np.einsum("ik,jk", table, table)
    if not np.isfinite(gram).all() and not np.isfinite(table).all():
        return np.full_like(gram, np.nan)
    scale = np.sqrt(np.diag(gram))
    try:
        first = np.linalg.cholesky(gram / np.outer(scale, scale)).T
        if np.linalg.cond(first) < _CONDITION:
            first = first * scale
            rest = np.einsum("ij,jk", np.linalg.inv(first.T), table)
            found: Array = np.linalg.cholesky(np.einsum("ik,jk", rest, rest)).T @ first
            return found
    except np.linalg.LinAlgError:
        pass
    return np.array(np.linalg.qr(table.T, mode="r"))


def fit(pieces: Pieces, names: Sequence[str], start: Sequence[float]) -> Fit:
    """The parameters with the least sum of squares. Raises AgradError of kind `domain` where there is no such sum."""
    optimize = extra("scipy.optimize", "fit", "SciPy", "science")
    known: list[Any] = [None, None]
    count = [0]

    def sums(p: Array) -> _Sums:
        if known[0] is None or not np.array_equal(known[0], p):
            known[:] = p.copy(), _Sums(pieces, p)
            count[0] += 1
        found: _Sums = known[1]
        return found

    first = np.array(start, dtype=float)
    size = len(first)
    at_start = sums(first)
    if at_start.count <= size:
        points = f"{at_start.count} points for {size} parameters"
        raise AgradError("domain", f"fit: {points}: more points than parameters have uncertainties")
    if not np.isfinite(at_start.factor).all():
        where = ", ".join(f"{name} = {format_number(x)}" for name, x in zip(names, first.tolist(), strict=True))
        raise AgradError("domain", f"fit: the model is not finite at {where}", fixes=[Hint("start from other values")])
    with np.errstate(all="ignore"):
        found = optimize.least_squares(
            lambda p: _or_large(sums(p).factor[:, size], at_start.factor[:, size]),
            first,
            jac=lambda p: np.nan_to_num(sums(p).factor[:, :size]),
            method="lm",
            x_scale="jac",
            xtol=_LEAST,
            ftol=_LEAST,
            gtol=_LEAST,
            max_nfev=_MOST,
        )
    found.x = _settled(sums, found.x)
    return _result(sums(found.x), found, list(names), first, count[0])


def _settled(sums: Callable[[Array], _Sums], p: Array) -> Array:
    """The parameters to all digits: near a minimum the sum of squares hardly changes, and the search stops early.

    Steps of Gauss and Newton, as long as each is shorter than the one before.
    """
    last = np.inf
    for _ in range(_STEPS):
        factor = sums(p).factor
        try:
            step = np.linalg.solve(factor[:-1, :-1], factor[:-1, -1])
        except np.linalg.LinAlgError:
            return p
        length = float(np.max(np.abs(step) / np.maximum(np.abs(p), 1e-300)))
        if not length < 0.9 * last or not length < 1e-3 or length <= _CLOSE:
            return p
        p, last = p - step, length
    return p


def _or_large(residuals: Array, at_start: Array) -> Array:
    """Residuals where the model is not finite, which no step of the search takes."""
    found: Array = residuals if np.isfinite(residuals).all() else 1e10 * (1.0 + np.abs(at_start))
    return found


def _result(at: _Sums, found: Any, names: list[str], start: Array, iterations: int) -> Fit:
    size = len(names)
    factor, residuals = at.factor[:size, :size], at.factor[:, size]
    chi2 = float(residuals @ residuals)
    dof = at.count - size
    problem = "" if found.status > 0 else f"no minimum after {iterations} passes over the data"
    try:
        inverse = np.linalg.inv(factor)
    except np.linalg.LinAlgError:
        inverse = np.full((size, size), np.inf)
    scale = 1.0 if at.is_weighted else chi2 / dof
    covariance = inverse @ inverse.T * scale if np.isfinite(inverse).all() else np.full((size, size), np.inf)
    u = np.sqrt(np.diag(covariance))
    for name, x, before, doubt in zip(names, found.x.tolist(), start.tolist(), u.tolist(), strict=True):
        if not problem and not doubt <= 1e3 * (abs(x) + abs(before)):
            problem = f"the data do not determine {name}: at {format_number(x, 4)} it has no effect"
    lengths = np.linalg.norm(at.factor[:, :size], axis=0) * sqrt(chi2)
    angles = np.abs(at.factor[:, :size].T @ residuals) / np.where(lengths > 0, lengths, 1.0)
    is_exact = chi2 <= 1e-24 * (at.spread + at.mean**2 * at.count)
    if not problem and not is_exact and not np.all(angles <= _ANGLE):
        problem = "the search ended where the sum of squares still falls"
    r2 = 1.0 - at.rss / at.spread if at.spread > 0 and isfinite(at.rss) else float("nan")
    return Fit(names, found.x, covariance, at.rss, chi2, dof, r2, at.is_weighted, iterations, problem)
