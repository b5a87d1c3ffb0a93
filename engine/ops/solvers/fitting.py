"""Nonlinear least squares, by sums over parts of the data (`sums`).

SciPy's `least_squares` (method `lm`, Moré's MINPACK) asks for residuals and their Jacobian. It uses only their lengths
and angles, and these are the same after an orthogonal transformation: so it gets the R of a QR decomposition of
[J | r], with p + 1 residuals for any number of points (Golub and Van Loan, Matrix Computations, 5.3). While J is
well-conditioned, R is computed from the sums J'J, J'r and r'r (Cholesky); otherwise piece by piece (12.5), so that no
digits are lost as in the normal equations. The data need not be in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple

from agrad.engine.autodiff.uncertainty import correlations
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.ops.solvers.implicit import newton
from agrad.engine.ops.solvers.sums import Ask, Pieces, Sums, summed
from agrad.engine.text import align
from agrad.engine.values import Array, format_number, format_uncertain, np

Total = Callable[[Ask], Sums]  # over all points

_MOST = 2000  # evaluations
_CLOSE = 3e-13  # relative step at which the last search ends
_NEAR = 0.1  # relative distance that it may go
_LEAST, _ENOUGH = 1e-15, 1e-9  # relative changes, with which a search in all data, and in a sample, ends
_LARGE = 1e150  # residuals where the model is not finite, which no step of the search takes
_ELSEWHERE = "start from other values, or leave out points where no values help"
_SINGULAR = 1e-14  # singular value of a Jacobian with columns of length 1
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
        return correlations(self.covariance)

    def text(self) -> str:
        """The parameters with their uncertainties, their correlations, and how well they fit."""
        lines = [f"{name} = {format_uncertain(value, u)}" for name, value, u in self.rows()[1:]]
        if len(self.names) > 1:
            table = [[name, *[f"{r:.3f}" for r in row]] for name, row in zip(self.names, self.correlation, strict=True)]
            lines += ["", *align([["correlation", *self.names], *table], right=range(1, len(self.names) + 1))]
        quality = f"s = {format_number((self.rss / self.dof) ** 0.5, 4)}"
        if self.is_weighted:
            quality = f"chi2/dof = {format_number(self.chi2 / self.dof, 4)}"
        r2 = f", R2 = {format_number(self.r2, 6)}" if isfinite(self.r2) else ""
        dof = "1 degree" if self.dof == 1 else f"{self.dof} degrees"
        return "\n".join([*lines, "", f"{quality}{r2}, {dof} of freedom"])

    def failure(self, fix: str) -> AgradError:
        """The error of a search that has not converged."""
        values = zip(self.names, self.values.tolist(), strict=True)
        ended = ", ".join(f"{name} = {format_number(value, 4)}" for name, value in values)
        return AgradError("domain", f"fit: {self.problem}", notes=[f"the search ended at {ended}"], fixes=[Hint(fix)])

    def fields(self) -> dict[str, Any]:
        """The result for JSON."""
        return {
            "parameters": {name: {"value": value, "u": u} for name, value, u in self.rows()[1:]},
            **{name: getattr(self, name) for name in ("rss", "chi2", "dof", "r2")},
            "correlation": self.correlation.tolist(),
            "converged": not self.problem,
            "iterations": self.iterations,
            **({"problem": self.problem} if self.problem else {}),
        }

    def rows(self) -> list[Sequence[Any]]:
        """The parameters as a table, below its head."""
        return [("", "value", "u"), *zip(self.names, self.values.tolist(), self.u.tolist(), strict=True)]


class _Passes:
    """The sums for one set of parameters after another; the last are kept, with their R of [J | r]."""

    def __init__(self, total: Total) -> None:
        self.total = total
        self.by_pieces = False  # since the sums of products were not accurate enough
        self.count = 0
        self.p: Any = None
        self.sums: Any = None
        self.measured: Any = None  # the sums of the first pass, which have those of what was measured
        self.factor: Any = None

    def at(self, p: Array) -> Array:
        """The R for some parameters."""
        if self.p is None or not np.array_equal(self.p, p):
            self.p, self.factor = p.copy(), None
        while self.factor is None:
            self.sums, self.count = self.total(Ask(self.p, self.by_pieces, not self.count)), self.count + 1
            self.measured = self.measured or self.sums
            self.factor = self.sums.factor()
            self.by_pieces = self.by_pieces or self.factor is None
        found: Array = self.factor
        return found


def in_one(pieces: Pieces) -> Total:
    """The sums over all pieces, one after the other."""
    return lambda ask: summed(ask, pieces(ask.p))


def fit(total: Total, names: Sequence[str], start: Sequence[float], sample: Total | None = None) -> Fit:
    """The parameters with the least sum of squares: near those of a `sample` of the data, if it is given and they are.

    Raises AgradError of kind `domain` where there is no such sum.
    """
    passes, first, size = _Passes(total), np.array(start, dtype=float), len(start)
    for search in (passes,) if sample is None else (_Passes(sample), passes):
        factor = search.at(first)
        if search.measured.count <= size:
            points = f"{search.measured.count} points for {size} parameters"
            raise AgradError("domain", f"fit: {points}: more points than parameters have uncertainties")
        if not np.isfinite(factor).all():
            where = ", ".join(f"{name} = {format_number(x)}" for name, x in zip(names, start, strict=True))
            raise AgradError("domain", f"fit: the model is not finite at {where}", fixes=[Hint(_ELSEWHERE)])
        *lengths, residual = np.linalg.norm(factor, axis=0)
        is_zero = (first == 0) & (np.array(lengths) > 0)  # of which the size is what would explain the residuals
        sizes = np.divide(residual, lengths, out=np.abs(first), where=is_zero)
        p, is_found = _searched(search, first, _LEAST if search is passes else _ENOUGH)
        p, is_settled = _settled(passes, p)
        result = _result(passes, p, is_settled or (is_found and search is passes), list(names), sizes)
        if not result.problem:
            break
    return result


def _searched(passes: _Passes, start: Array, least: float) -> tuple[Array, bool]:
    """The parameters at which SciPy's search ends, with changes below `least`, and whether it has converged."""
    optimize = extra("scipy.optimize", "fit", "SciPy", "science")
    with np.errstate(all="ignore"):
        found = optimize.least_squares(
            lambda p: np.nan_to_num(passes.at(p)[:, -1], nan=_LARGE),
            start,
            jac=lambda p: np.nan_to_num(passes.at(p)[:, :-1]),
            method="lm",
            x_scale="jac",
            xtol=least,
            ftol=least,
            gtol=least,
            max_nfev=_MOST,
        )
    return found.x, found.status > 0


def _settled(passes: _Passes, p: Array) -> tuple[Array, bool]:
    """The parameters to all digits, and whether they are: near a minimum, the sum of squares hardly changes.

    By steps of Gauss and Newton, which are those of Newton's method for R'r = 0 while the model is a plane.
    """
    sizes = np.where(p != 0.0, np.abs(p), 1.0)
    found, step = newton(
        lambda q: passes.at(q * sizes)[:-1, -1], lambda q: passes.at(q * sizes)[:-1, :-1] * sizes, p / sizes, _CLOSE
    )
    if not np.max(np.abs(found - p / sizes)) <= _NEAR:
        passes.at(p)
        return p, False
    return found * sizes, bool(np.max(np.abs(step)) <= _CLOSE)


def _result(passes: _Passes, p: Array, is_found: bool, names: list[str], sizes: Array) -> Fit:
    """The fit at p, where the last pass was, or so near that nothing else changes."""
    sums, measured = passes.sums, passes.measured
    slopes, residuals = np.nan_to_num(passes.factor[:, :-1]), passes.factor[:, -1]
    chi2, dof = float(np.sum(residuals**2)), measured.count - len(names)
    lengths = np.linalg.norm(slopes, axis=0)
    lengths[lengths == 0.0] = 1.0
    _, singular, directions = np.linalg.svd(slopes / lengths, full_matrices=False)
    with np.errstate(all="ignore"):
        inverse = directions.T / singular / lengths[:, None]
        covariance = inverse @ inverse.T * (1.0 if sums.is_weighted else chi2 / dof)
    problem = "" if is_found else f"no minimum after {passes.count} passes over the data"
    last = np.abs(directions[-1])  # parameters that may change together while the model hardly does
    is_free = ~(np.sqrt(np.diag(covariance)) <= 1e3 * (np.abs(p) + sizes))
    is_free = last >= 0.1 * np.max(last) if singular[-1] < _SINGULAR else is_free
    if not problem and is_free.any():
        which = " and ".join(name for name, one in zip(names, is_free, strict=True) if one)
        problem = f"the data do not determine {which}: very different values fit as well"
    is_exact = chi2 <= 1e-24 * (measured.spread + measured.mean**2 * measured.count)
    is_level = np.all(np.abs(slopes.T @ residuals) <= _ANGLE * lengths * np.sqrt(chi2))
    if not problem and not is_exact and not is_level:
        problem = "the search ended where the sum of squares still falls"
    r2 = 1.0 - sums.rss / measured.spread if measured.spread > 0 and isfinite(sums.rss) else float("nan")
    return Fit(names, p, covariance, sums.rss, chi2, dof, r2, sums.is_weighted, passes.count, problem)
