"""Nonlinear least squares, by sums over parts of the data (`sums.py`).

SciPy's `least_squares` (method `lm`, Moré's MINPACK) asks for residuals and their Jacobian. It uses only their
lengths and angles, and these are the same after an orthogonal transformation: so it gets the R of a QR decomposition
of [J | r], with p + 1 residuals for any number of points (Golub and Van Loan, Matrix Computations, 5.3). While J is
well-conditioned, R is computed from the sums J'J, J'r and r'r (Cholesky); otherwise piece by piece (12.5), so that
no digits are lost as in the normal equations. The data need not be in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, log, nan, pi, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from agrad.engine.autodiff.uncertainty import correlations
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import compiled, extra
from agrad.engine.ops.solvers.implicit import newton
from agrad.engine.ops.solvers.losses import Loss
from agrad.engine.ops.solvers.sums import Ask, Bends, Pieces, Total, summed
from agrad.engine.text import Grid, counted, in_lines
from agrad.engine.values import Array, Value, format_number, format_uncertain, format_value, np

if TYPE_CHECKING:
    from agrad.engine.units.unit import Unit

_MOST = 2000  # evaluations
CLOSE = 3e-13  # relative step at which the last search ends
_NEAR = 0.1  # relative distance that it may go
LEAST, _ENOUGH = 1e-15, 1e-9  # relative changes, with which a search in all data, and in a sample, ends
_MINPACK_OF = "1.17."  # the releases of SciPy whose way of calling MINPACK is known, which spares 0.4 s of imports
_LARGE = 1e150  # residuals where the model is not finite, which no step of the search takes
_ELSEWHERE = "start from other values, or leave out points where no values help"
_TOLD = ("p_value", "aic", "bic")  # of the statistics, in JSON
_AT_BOUND = 1e-3  # of a step to a parameter beyond its bound: nearer to that, it is held there
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
    free: Any = None  # which parameters are not at a bound
    within: Any = None  # what else was asked of it
    loss: Loss | None = None
    beyond: int = 0  # points whose residuals are over the scale of the loss
    logs: float = 0.0  # sum of the logarithms of the variances of what was measured
    passes: Any = None
    pieces: Pieces | None = None  # of the whole data, where they are at hand
    bends: Bends | None = None  # for each piece, second derivatives of the model, unless columns are uncertain
    # What parameters give, with its uncertainty, the text that says how, and the unit.
    tied: Mapping[str, tuple[Value, Value | None, str, Unit | None]] = MappingProxyType({})

    def conditions(self) -> list[str]:
        """The bounds and ties, as they are typed."""
        ends = zip(self.names, self.within.low, self.within.high, self.units, strict=True)
        bounds = [
            f"{name} in {with_unit(format_number(low), unit)}..{with_unit(format_number(high), unit)}"
            for name, low, high, unit in ends
            if low > -inf or high < inf
        ]
        return [*bounds, *[f"{name} = {text}" for name, (_, _, text, _) in self.tied.items()]]

    @property
    def units(self) -> Sequence[Unit | None]:
        """Those of the parameters; None of plain numbers."""
        return self.within.units or [None] * len(self.names)

    def points(self) -> list[tuple[Array, Array, Any]]:
        """The pieces of the data at these parameters."""
        return [] if self.pieces is None else list(self.pieces(self.values))

    @property
    def u(self) -> Array:
        """The standard uncertainties of the parameters."""
        found: Array = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return found

    @property
    def correlation(self) -> Array:
        """The correlations of the parameters."""
        return correlations(self.covariance)

    def statistics(self) -> dict[str, float]:
        """Numbers about a fit by name: chi2, its p-value, AIC, BIC and others; nan where the data have none.

        AIC and BIC are those of normal errors with all constants, as in R; where sigma is not known, it counts as one
        parameter more.
        """
        free = int(self.free.sum())
        count, likely, p_value = self.dof + free, nan, nan
        if self.loss is None and self.is_weighted:
            p_value = float(extra("scipy.special", "fit", "SciPy", "science").chdtrc(self.dof, self.chi2))
            likely = -(self.chi2 + self.logs + count * log(2 * pi)) / 2
        elif self.loss is None and self.rss > 0.0:
            likely, free = -count * (log(2 * pi * self.rss / count) + 1) / 2, free + 1
        return {
            "points": float(count),
            "dof": float(self.dof),
            "rss": self.rss,
            "s": sqrt(self.rss / self.dof),
            "chi2": self.chi2,
            "p_value": p_value,
            "r2": self.r2,
            "log_likelihood": likely,
            "aic": 2 * free - 2 * likely,
            "bic": free * log(count) - 2 * likely,
        }

    def parts(self) -> list[str | Grid]:
        """The parameters with their uncertainties, their correlations, and how well they fit."""
        named = zip(self.names, self.values.tolist(), self.u.tolist(), self.free, self.units, strict=True)
        told = [
            f"{name} = {with_unit(format_uncertain(value, u) if is_free else format_number(value), unit)}"
            + ", at its bound" * (not is_free)
            for name, value, u, is_free, unit in named
        ]
        told += [
            f"{name} = {with_unit(format_value(value, 10, u), unit)}" for name, (value, u, _, unit) in self.tied.items()
        ]
        parts: list[str | Grid] = ["\n".join(told), ""]
        if len(self.names) > 1:
            table = [[name, *[f"{r:.3f}" for r in row]] for name, row in zip(self.names, self.correlation, strict=True)]
            parts += [Grid([["correlation", *self.names], *table], range(1, len(self.names) + 1)), ""]
        measured = self.within.measured
        quality = f"s = {with_unit(format_number((self.rss / self.dof) ** 0.5, 4), measured)}"
        if self.is_weighted:
            quality = f"chi2/dof = {format_number(self.chi2 / self.dof, 4)}"
        r2 = f", R2 = {format_number(self.r2, 6)}" if isfinite(self.r2) else ""
        robust = []
        if self.loss is not None:
            points = f"{counted(self.beyond, 'point')} of {self.dof + int(self.free.sum())}"
            scale = with_unit(format_number(self.loss.scale, 4), None if self.is_weighted else measured)
            beyond = f"loss {self.loss.name} beyond {scale}, {points}"
            robust = [f"{beyond}; the uncertainties are those of any distribution of residuals\n"]
        return [*parts, *robust, f"{quality}{r2}, {counted(self.dof, 'degree')} of freedom"]

    def text(self) -> str:
        """The same in lines."""
        return in_lines(self.parts())

    def failure(self, fix: str) -> AgradError:
        """The error of a search that has not converged."""
        ended = _listed(self.names, self.values.tolist(), self.units, 4)
        return AgradError("domain", f"fit: {self.problem}", notes=[f"the search ended at {ended}"], fixes=[Hint(fix)])

    def fields(self) -> dict[str, Any]:
        """The result for JSON."""
        named = zip(self.names, self.values.tolist(), self.u.tolist(), self.units, strict=True)
        tied = {name: {"value": x, "u": u, **_field(unit)} for name, (x, u, _, unit) in self.tied.items()}
        return {
            "parameters": {name: {"value": value, "u": u, **_field(unit)} for name, value, u, unit in named},
            **({"tied": tied} if tied else {}),
            **_field(self.within.measured),
            **{name: getattr(self, name) for name in ("rss", "chi2", "dof", "r2")},
            **{name: value for name, value in self.statistics().items() if name in _TOLD and isfinite(value)},
            "correlation": self.correlation.tolist(),
            "converged": not self.problem,
            "iterations": self.iterations,
            **(
                {}
                if self.free.all()
                else {"at_bound": [name for name, x in zip(self.names, self.free, strict=True) if not x]}
            ),
            **({} if self.loss is None else {"loss": self.loss._asdict() | {"beyond": self.beyond}}),
            **({"problem": self.problem} if self.problem else {}),
        }


def with_unit(text: str, unit: Unit | None) -> str:
    """A number with its unit, if it has one."""
    return text if unit is None else f"{text} {unit.text}"


def _field(unit: Unit | None) -> dict[str, str]:
    return {} if unit is None else {"unit": unit.text}


def _listed(names: Sequence[str], values: Sequence[float], units: Sequence[Unit | None], digits: int) -> str:
    """What parameters are, one after the other."""
    of = zip(names, values, units, strict=True)
    return ", ".join(f"{name} = {with_unit(format_number(value, digits), unit)}" for name, value, unit in of)


class _Passes:
    """The sums for one set of parameters after another; the last are kept, with their R of [J | r]."""

    def __init__(self, total: Total, loss: Loss | None) -> None:
        self.total, self.loss = total, loss
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
            ask = Ask(self.p, self.by_pieces, not self.count, self.loss)
            self.sums, self.count = self.total(ask), self.count + 1
            self.measured = self.measured or self.sums
            self.factor = self.sums.factor()
            self.by_pieces = self.by_pieces or self.factor is None
        found: Array = self.factor
        return found

    def slope(self, p: Array) -> Array:
        """That of half the sum of squares, or of half the cost."""
        factor = np.nan_to_num(self.at(p))
        found: Array = factor[:, :-1].T @ factor[:, -1]
        return found


class Some:
    """The same for some of the parameters, `free`, while the others stay as they are in p."""

    def __init__(self, passes: _Passes, p: Array, free: Any) -> None:
        self.passes, self.p, self.free = passes, p.copy(), free

    def whole(self, q: Array) -> Array:
        """All parameters."""
        found = self.p.copy()
        found[self.free] = q
        return found

    def at(self, q: Array) -> Array:
        """The R for these."""
        factor = self.passes.at(self.whole(q))
        if self.free.all() or not np.isfinite(factor).all():
            return factor[:, np.append(self.free, True)]
        return np.array(np.linalg.qr(factor[:, np.append(self.free, True)], mode="r"))


def in_one(pieces: Pieces) -> Total:
    """The sums over all pieces, one after the other."""
    return lambda ask: summed(ask, pieces(ask.p))


class Within(NamedTuple):
    """What else is asked of a fit: the bounds of each parameter, and a robust loss.

    `units`: those in which the numbers of parameters are; `measured`: that of what was measured; None of plain numbers.
    `is_mixed`: whether sets of data have different dimensions.
    """

    low: Array
    high: Array
    loss: Loss | None = None
    units: Sequence[Unit | None] = ()
    measured: Unit | None = None
    is_mixed: bool = False

    @classmethod
    def of(cls, bounds: Sequence[tuple[float, float]], loss: Loss | None = None) -> Within:
        """That of pairs of bounds."""
        low, high = np.array(bounds, dtype=float).reshape(-1, 2).T
        return cls(low, high, loss)

    @property
    def is_bounded(self) -> bool:
        """Whether a parameter has a bound."""
        return bool(np.isfinite([self.low, self.high]).any())

    def holds(self, p: Array) -> bool:
        """Whether parameters are inside of their bounds, or at them."""
        return bool(np.all((self.low <= p) & (p <= self.high)))


def unbounded(size: int, loss: Loss | None = None) -> Within:
    """What is asked of a fit without bounds."""
    return Within.of([(-inf, inf)] * size, loss)


def fit(
    total: Total,
    names: Sequence[str],
    start: Sequence[float],
    sample: Total | None = None,
    within: Within | None = None,
) -> Fit:
    """The parameters with the least sum of squares: near those of a `sample` of the data, if it is given and they are.

    Raises AgradError of kind `domain` where there is no such sum.
    """
    within = unbounded(len(start)) if within is None else within
    passes, first, size = _Passes(total, within.loss), np.array(start, dtype=float), len(start)
    of = within.units or [None] * size
    for name, value, low, high, unit in zip(names, start, within.low, within.high, of, strict=True):
        if not low <= value <= high:
            begin, *ends = (with_unit(format_number(x), unit) for x in (value, low, high))
            raise AgradError("domain", f"fit: {name} starts at {begin}, outside of {'..'.join(ends)}")
    for search in (passes,) if sample is None else (_Passes(sample, within.loss), passes):
        factor = search.at(first)
        if search.measured.count <= size:
            given = f"{counted(search.measured.count, 'point')} for {counted(size, 'parameter')}"
            raise AgradError("domain", f"fit: {given}: uncertainties need more points than parameters")
        if not np.isfinite(factor).all():
            where = _listed(names, start, of, 10)
            raise AgradError("domain", f"fit: the model is not finite at {where}", fixes=[Hint(_ELSEWHERE)])
        *lengths, residual = np.linalg.norm(factor, axis=0)
        is_zero = (first == 0) & (np.array(lengths) > 0)  # of which the size is what would explain the residuals
        sizes = np.divide(residual, lengths, out=np.abs(first), where=is_zero)
        result = _ended(search, passes, first, within, list(names), sizes)
        if not result.problem:
            return result
    if within.loss is not None:  # from far away a loss may have no slope
        near, _ = searched(_Passes(total, None), first, within, _ENOUGH)
        return _ended(passes, passes, near, within, list(names), sizes)
    return result


def _ended(search: _Passes, passes: _Passes, start: Array, within: Within, names: list[str], sizes: Array) -> Fit:
    """The fit at which a search ends, settled in all data."""
    p, is_found = searched(search, start, within, LEAST if search is passes else _ENOUGH)
    p, free, is_settled = _settled_within(passes, p, within)
    found = _result(passes, p, free, is_settled or (is_found and search is passes), names, sizes)
    return found._replace(within=within)


def searched(passes: _Passes | Some, start: Array, within: Within, least: float) -> tuple[Array, bool]:
    """The parameters at which SciPy's search ends, with changes below `least`, and whether it has converged.

    Its method `lm` knows no bounds: it takes no step beyond them. Where that stops it before a minimum, `trf` goes on.
    """
    outside, limits = np.full(len(start) + 1, _LARGE), dict.fromkeys(["xtol", "ftol", "gtol"], least)

    def residuals(p: Array) -> Array:
        return np.nan_to_num(passes.at(p)[:, -1], nan=_LARGE) if within.holds(p) else outside

    def slopes(p: Array) -> Array:
        return np.nan_to_num(passes.at(p)[:, :-1])

    def by(method: str, start: Array, *ends: Any) -> tuple[Array, bool]:
        optimize = extra("scipy.optimize", "fit", "SciPy", "science")
        how = {**limits, "x_scale": "jac", "max_nfev": _MOST}
        found = optimize.least_squares(residuals, start, slopes, *ends, method=method, **how)
        return found.x, found.status > 0

    with np.errstate(all="ignore"):
        if extra("scipy", "fit", "SciPy", "science").__version__.startswith(_MINPACK_OF):
            # As `lm` has it: all is told; rows of slopes; tolerances, the first step, columns of length 1.
            how = True, False, least, least, least, _MOST, 100.0, None
            p, _, ended = compiled("scipy.optimize._minpack", "fit")._lmder(residuals, slopes, start.copy(), (), *how)
            is_found = 1 <= ended <= 4  # by one of the tolerances
        else:
            p, is_found = by("lm", start)
        if within.is_bounded and not (is_found and _is_level(passes.at(p)).all()):
            p, is_found = by("trf", p, (within.low, within.high))
    return p, is_found


def _is_level(factor: Array) -> Array:
    """Whether the residuals have no part along each column of the Jacobian."""
    slopes, residuals = np.nan_to_num(factor[:, :-1]), np.nan_to_num(factor[:, -1])
    lengths = np.linalg.norm(slopes, axis=0) * np.linalg.norm(residuals)
    found: Array = np.abs(slopes.T @ residuals) <= _ANGLE * lengths
    return found


def _settled_within(passes: _Passes, p: Array, within: Within) -> tuple[Array, Any, bool]:
    """The parameters to all digits, which of them are not at a bound, and whether they are settled.

    By an active set (Nocedal and Wright, Numerical Optimization, 16.5): a parameter that a step of its own
    would take far beyond its bound is held there, and set free where the sum of squares falls to the inside.
    """
    low, high = within.low, within.high
    if not within.is_bounded:
        free = np.ones(len(p), dtype=bool)
        found, is_settled = _settled(Some(passes, p, free), p)
        return found, free, is_settled
    factor = np.nan_to_num(passes.at(p))
    curvature = np.sum(factor[:, :-1] ** 2, axis=0)
    step = np.divide(passes.slope(p), curvature, out=np.zeros(len(p)), where=curvature > 0)  # of each alone
    near = _AT_BOUND * np.abs(step)
    p = np.where((step > 0) & (p - low < near), low, np.where((step < 0) & (high - p < near), high, p))
    free = (low < p) & (p < high)
    for _ in range(2 * len(p) + 1):
        some = Some(passes, p, free)
        found, is_settled = _settled(some, p[free]) if free.any() else (p[free], True)
        found = some.whole(found)
        beyond = (found < low) | (found > high)
        if beyond.any():
            p, free = np.clip(found, low, high), free & ~beyond
            continue
        p, slope = found, passes.slope(found)
        inward = ~free & (((p == low) & (slope < 0)) | ((p == high) & (slope > 0)))
        if not inward.any():
            return p, free, is_settled
        free = free | inward
    return p, free, False


def _settled(passes: Some, p: Array) -> tuple[Array, bool]:
    """The parameters to all digits, and whether they are: near a minimum, the sum of squares hardly changes.

    By steps of Gauss and Newton, which are those of Newton's method for R'r = 0 while the model is a plane; with a
    loss, its own bend is taken for R'R.
    """
    sizes = np.where(p != 0.0, np.abs(p), 1.0)
    is_robust = passes.passes.loss is not None

    def slope(q: Array) -> Array:
        factor = passes.at(q * sizes)
        return factor[:, :-1].T @ factor[:, -1] * sizes if is_robust else factor[:-1, -1]

    def matrix(q: Array) -> Array:
        factor = passes.at(q * sizes)
        if not is_robust:
            return factor[:-1, :-1] * sizes
        found: Array = passes.passes.sums.bend[np.ix_(passes.free, passes.free)]
        return np.array(found * np.outer(sizes, sizes))

    found, step = newton(slope, matrix, p / sizes, CLOSE)
    if not np.max(np.abs(found - p / sizes)) <= _NEAR:
        passes.at(p)
        return p, False
    return found * sizes, bool(np.max(np.abs(step)) <= CLOSE)


def _result(passes: _Passes, p: Array, free: Any, is_found: bool, names: list[str], sizes: Array) -> Fit:
    """The fit at p, where the last pass was, or so near that nothing else changes; at a bound, p is known exactly."""
    sums, measured = passes.sums, passes.measured
    factor = passes.factor[:, np.append(free, True)]
    slopes, residuals = np.nan_to_num(factor[:, :-1]), factor[:, -1]
    chi2 = float(np.sum(residuals**2)) if sums.loss is None else sums.chi2
    dof = measured.count - int(free.sum())
    lengths = np.linalg.norm(slopes, axis=0)
    lengths[lengths == 0.0] = 1.0
    _, singular, directions = np.linalg.svd(slopes / lengths, full_matrices=False)
    with np.errstate(all="ignore"):
        inverse = directions.T / singular / lengths[:, None]
        known = inverse @ inverse.T * (1.0 if sums.is_weighted else chi2 / dof)
        if sums.loss is not None:
            known = _sandwich(sums.bend, sums.meat, free) * (measured.count / dof)
    covariance = np.zeros((len(p), len(p)))
    covariance[np.ix_(free, free)] = known
    problem = "" if is_found else f"no minimum after {passes.count} passes over the data"
    is_free = free.copy()
    if free.any():
        last = np.abs(directions[-1])  # parameters that may change together while the model hardly does
        some = ~(np.sqrt(np.diag(known)) <= 1e3 * (np.abs(p) + sizes)[free])
        is_free[free] = last >= 0.1 * np.max(last) if singular[-1] < _SINGULAR else some
    if not problem and is_free.any():
        which = " and ".join(name for name, one in zip(names, is_free, strict=True) if one)
        problem = f"the data do not determine {which}: very different values fit as well"
    is_exact = chi2 <= 1e-24 * (measured.spread + measured.mean**2 * measured.count)
    if not problem and not is_exact and not _is_level(factor).all():
        problem = "the search ended where the sum of squares still falls"
    r2 = 1.0 - sums.rss / measured.spread if measured.spread > 0 and isfinite(sums.rss) else float("nan")
    found = Fit(names, p, covariance, sums.rss, chi2, dof, r2, sums.is_weighted, passes.count, problem)
    return found._replace(free=free, loss=sums.loss, beyond=sums.beyond, logs=sums.logs, passes=passes)


def _sandwich(bend: Array, meat: Array, free: Any) -> Array:
    """The covariance of parameters that a robust loss gives (Huber, Robust Statistics, 1981, 7.6).

    It follows from the residuals alone, whatever their distribution is.
    """
    pick = np.ix_(free, free)
    try:
        inverse = np.linalg.inv(bend[pick])
    except np.linalg.LinAlgError:
        return np.full_like(bend[pick], np.inf)
    found: Array = inverse @ meat[pick] @ inverse
    return found
