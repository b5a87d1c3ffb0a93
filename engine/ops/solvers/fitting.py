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

from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.ops.solvers.implicit import newton
from agrad.engine.ops.solvers.sums import CONDITION, Ask, Factor, Pieces, Sums, summed
from agrad.engine.text import align
from agrad.engine.values import Array, format_number, format_uncertain, np

Total = Callable[[Ask], Sums]  # over all points

_FINE = 1e3  # condition of J, up to which the uncertainties are computed from sums of products
_MOST = 2000  # evaluations
_CLOSE = 3e-13  # relative step at which the last search ends
_NEAR = 0.1  # relative distance that it may go
_LEAST = 1e-15  # relative changes
_LARGE = 1e150  # residuals where the model is not finite, which no step of the search takes
_ELSEWHERE = "start from other values, or leave out points where no values help"
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
        with np.errstate(invalid="ignore"):  # infinite covariances have none
            found: Array = np.clip(self.covariance / np.outer(scale, scale), -1.0, 1.0)
        return found

    def text(self) -> str:
        """The parameters with their uncertainties, their correlations, and how well they fit."""
        values = zip(self.names, self.values.tolist(), self.u.tolist(), strict=True)
        lines = [f"{name} = {format_uncertain(value, u)}" for name, value, u in values]
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
        """The result for JSON; what is not finite is null."""
        values = zip(self.names, self.values.tolist(), self.u.tolist(), strict=True)
        return {
            "parameters": {name: {"value": _or_none(value), "u": _or_none(u)} for name, value, u in values},
            **{name: _or_none(getattr(self, name)) for name in ("rss", "chi2", "dof", "r2")},
            "correlation": [[_or_none(r) for r in row] for row in self.correlation.tolist()],
            "converged": not self.problem,
            "iterations": self.iterations,
            **({"problem": self.problem} if self.problem else {}),
        }

    def rows(self) -> list[Sequence[Any]]:
        """The parameters as a table, below its head."""
        return [("", "value", "u"), *zip(self.names, self.values.tolist(), self.u.tolist(), strict=True)]


def _or_none(number: float) -> float | None:
    return number if isfinite(number) else None


class _Passes:
    """The sums for one set of parameters after another; the last are kept."""

    def __init__(self, total: Total) -> None:
        self.total = total
        self.moments: Any = None  # the sums of the first pass, which have those of what was measured
        self.by_pieces = False  # since the sums of products were not accurate enough
        self.count = 0
        self.p: Any = None
        self.last: Any = None

    def at(self, p: Array, condition: float = CONDITION) -> Factor:
        """The sums for some parameters, as accurate as a J with a larger condition needs them."""
        if self.p is None or not np.array_equal(self.p, p):
            self.last = self._next(p)
        poor = self.last.condition >= condition or (self.count == 1 and np.isnan(self.last.condition))
        if poor and not self.by_pieces:
            self.by_pieces = True
            self.last = self._next(p)
        found: Factor = self.last
        return found

    def _next(self, p: Array) -> Factor:
        is_first, self.p = self.p is None, p.copy()
        self.count += 1
        sums = self.total(Ask(self.p, self.by_pieces, is_first))
        self.moments = sums if is_first else self.moments
        return sums.solved()


def in_one(pieces: Pieces) -> Total:
    """The sums over all pieces, one after the other."""
    return lambda ask: summed(ask, pieces(ask.p))


def fit(total: Total, names: Sequence[str], start: Sequence[float], sample: Total | None = None) -> Fit:
    """The parameters with the least sum of squares, which are first searched by a `sample` of the data, if it is given.

    Raises AgradError of kind `domain` where there is no such sum.
    """
    passes, first, size = _Passes(total), np.array(start, dtype=float), len(start)
    p = first if sample is None else _by_sample(sample, names, first)
    if p is not first and not np.isfinite(passes.at(p).factor).all():
        p = first
    at_start = passes.at(p)
    if passes.moments.count <= size:
        points = f"{passes.moments.count} points for {size} parameters"
        raise AgradError("domain", f"fit: {points}: more points than parameters have uncertainties")
    if not np.isfinite(at_start.factor).all():
        where = ", ".join(f"{name} = {format_number(x)}" for name, x in zip(names, first.tolist(), strict=True))
        raise AgradError("domain", f"fit: the model is not finite at {where}", fixes=[Hint(_ELSEWHERE)])
    sizes = _sizes(at_start, first)
    is_found = False
    if p is not first:
        p, is_found = _settled(passes, p)
    if not is_found:
        p, is_found = _searched(passes, p)
        p, _ = _settled(passes, p)
    return _result(passes, p, is_found, list(names), sizes)


def _sizes(at_start: Factor, start: Array) -> Array:
    """The sizes of the parameters that were begun with; for 0, the size that would explain the residuals there."""
    lengths = np.linalg.norm(at_start.factor, axis=0)
    with np.errstate(all="ignore"):
        found: Array = np.where((start == 0) & (lengths[:-1] > 0), lengths[-1] / lengths[:-1], np.abs(start))
    return found


def _by_sample(sample: Total, names: Sequence[str], start: Array) -> Array:
    """Where the search in a sample ends; the start where that does not determine the parameters."""
    passes = _Passes(sample)
    sizes = _sizes(passes.at(start), start)
    p, is_found = _searched(passes, start, 1e-9)
    passes.at(p)
    return start if _result(passes, p, is_found, list(names), sizes).problem else p


def _searched(passes: _Passes, start: Array, least: float = _LEAST) -> tuple[Array, bool]:
    """The parameters at which SciPy's search ends, with changes below `least`, and whether it has converged."""
    optimize = extra("scipy.optimize", "fit", "SciPy", "science")
    size = len(start)
    if not np.isfinite(passes.at(start).factor).all():
        return start, False
    with np.errstate(all="ignore"):
        found = optimize.least_squares(
            lambda p: np.nan_to_num(passes.at(p).factor[:, size], nan=_LARGE),
            start,
            jac=lambda p: np.nan_to_num(passes.at(p).factor[:, :size]),
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
    sizes, size = np.where(p != 0.0, np.abs(p), 1.0), len(p)
    found, step = newton(
        lambda q: passes.at(q * sizes).factor[:size, size],
        lambda q: passes.at(q * sizes).factor[:size, :size] * sizes,
        p / sizes,
        _CLOSE,
    )
    if not np.max(np.abs(found - p / sizes)) <= _NEAR:
        return p, False
    return found * sizes, bool(np.max(np.abs(step)) <= _CLOSE)


def _is_level(at: Factor) -> bool:
    """Whether the residuals are at right angles to the Jacobian, as at a minimum of the sum of their squares."""
    slopes, residuals = at.factor[:, :-1], at.factor[:, -1]
    lengths = np.linalg.norm(slopes, axis=0) * np.linalg.norm(residuals)
    return bool(np.all(np.abs(slopes.T @ residuals) <= _ANGLE * np.where(lengths > 0, lengths, 1.0)))


def _undetermined(factor: Array, names: Sequence[str]) -> str:
    """The parameters that may change together while the model hardly does: of the least singular value."""
    lengths = np.linalg.norm(factor, axis=0)
    direction = np.abs(np.linalg.svd(factor / np.where(lengths > 0, lengths, 1.0))[2][-1])
    return " and ".join(name for name, part in zip(names, direction, strict=True) if part >= 0.1)


def _result(passes: _Passes, p: Array, is_found: bool, names: list[str], sizes: Array) -> Fit:
    at = passes.at(passes.p, _FINE)  # the last pass was at p, or so near that nothing else changes
    size, moments = len(names), passes.moments
    factor, residuals = at.factor[:size, :size], at.factor[:, size]
    chi2 = float(residuals @ residuals)
    dof = moments.count - size
    problem = "" if is_found else f"no minimum after {passes.count} passes over the data"
    try:
        inverse = np.linalg.inv(factor)
    except np.linalg.LinAlgError:
        inverse = np.full((size, size), np.inf)
    scale = 1.0 if at.is_weighted else chi2 / dof
    covariance = inverse @ inverse.T * scale if np.isfinite(inverse).all() else np.full((size, size), np.inf)
    is_doubtful = ~(np.sqrt(np.diag(covariance)) <= 1e3 * (np.abs(p) + sizes))
    if not problem and is_doubtful.any():
        which = " and ".join(name for name, one in zip(names, is_doubtful, strict=True) if one)
        which = which if np.isfinite(inverse).all() or not np.isfinite(factor).all() else _undetermined(factor, names)
        problem = f"the data do not determine {which}: very different values fit as well"
    is_exact = chi2 <= 1e-24 * (moments.spread + moments.mean**2 * moments.count)
    if not problem and not is_exact and not _is_level(at):
        problem = "the search ended where the sum of squares still falls"
    r2 = 1.0 - at.rss / moments.spread if moments.spread > 0 and isfinite(at.rss) else float("nan")
    return Fit(names, p, covariance, at.rss, chi2, dof, r2, at.is_weighted, passes.count, problem)
