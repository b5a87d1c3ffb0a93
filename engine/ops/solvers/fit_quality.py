"""How good a fit is: quantities of each point, and intervals by the profile likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, log10, nan, sqrt
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.core.graph import Units
from agrad.engine.errors import AgradError
from agrad.engine.extras import extra
from agrad.engine.ops.solvers.least_squares import LEAST, Fit, Some, Within, searched, with_unit
from agrad.engine.ops.solvers.sums import Covariance
from agrad.engine.text import Grid, in_lines
from agrad.engine.values import Array, format_number, np

COVERAGE = 0.95
_ENDS = 40  # steps to an end of an interval, before it is infinite


def quantile(found: Fit, coverage: float = COVERAGE) -> float:
    """Of Student's t distribution, or of the normal one where the uncertainties are known, for an interval."""
    special = extra("scipy.special", "fit", "SciPy", "science")
    tail = (1.0 + coverage) / 2.0
    return float(special.ndtri(tail) if found.is_weighted else special.stdtrit(found.dof, tail))


def derivatives(found: Fit) -> Array | None:
    """The inverse of the second derivatives of half the sum of squares, or cost: 0 for parameters at a bound.

    By the implicit function theorem these tell how parameters change with the data: where the slope F(p, y) is 0, dp/dy
    is -(dF/dp)^-1 dF/dy. None where columns of the model are uncertain.
    """
    if found.pieces is None or found.bends is None:
        return None
    size = len(found.values)
    bend, inverse, pick = np.zeros((size, size)), np.zeros((size, size)), np.ix_(found.free, found.free)
    for (table, y, sigma), seconds in zip(found.pieces(found.values), found.bends(found.values), strict=True):
        slopes, residual = whitened(table[:-1], sigma), whitened(y - table[-1], sigma)
        _, weight, bent = (0.0, 1.0, 1.0) if found.loss is None else found.loss.of(residual)
        bend += (slopes * bent) @ slopes.T - whitened(seconds, sigma) @ (weight * residual)
    inverse[pick] = np.linalg.inv(bend[pick])
    return inverse


def of_points(
    found: Fit, table: Array, y: Array, sigma: Any, coverage: float = COVERAGE, inverse: Array | None = None
) -> dict[str, Array]:
    """Columns about some points, of which `table` has the derivatives of the model, row by row, and its values.

    The residuals are what was measured less what is predicted; standardized, they are divided by their own standard
    deviations (Cook and Weisberg, Residuals and Influence in Regression, 1982, 2.1). `leverage` is how what is
    predicted changes with what was measured there. The bands are those of the coverage: of the model, and of another
    measurement. With a loss, `weight` is how much a point counts, and there are neither leverage nor standardized
    residuals. With `inverse`, which `derivatives` gives, da_dy and so on are how parameters change with what was
    measured there.
    """
    slopes, value = table[:-1], table[-1]
    variance = np.broadcast_to(_variance(found, sigma), y.shape)
    of_model = np.einsum("in,ij,jn->n", slopes, found.covariance, slopes)
    residual, factor = y - value, quantile(found, coverage)
    columns = {"predicted": value.copy(), "residual": residual}
    bend: Any = 1.0
    if found.loss is None:
        left = variance - of_model
        with np.errstate(all="ignore"):
            columns["standardized"] = np.where(left > 1e-9 * variance, residual / np.sqrt(np.maximum(left, 0.0)), nan)
            gain = np.einsum("in,in->n", slopes, weighed(found.covariance @ slopes, sigma))
            columns["leverage"] = gain / variance if sigma is None else gain
    else:
        _, columns["weight"], bend = found.loss.of(whitened(residual, sigma))
    halves = {"confidence": np.sqrt(np.maximum(of_model, 0.0)), "prediction": np.sqrt(of_model + variance)}
    for name, half in halves.items():
        columns[f"{name}_low"], columns[f"{name}_high"] = value - factor * half, value + factor * half
    if inverse is not None:
        for name, gain in zip(found.names, weighed(inverse @ slopes, sigma, bend), strict=True):
            columns[f"d{name}_dy"] = gain
    return columns


class Told(NamedTuple):
    """What more there is to say of a fit: statistics, intervals by the profile likelihood, and the points.

    `is_alone`: else it is said together with the fit itself. `has_points`: whether JSON has them.
    """

    found: Fit
    coverage: float = COVERAGE
    intervals: Sequence[tuple[float, float]] = ()
    is_alone: bool = True
    has_points: bool = True

    def parts(self) -> list[str | Grid]:
        """Tables of the statistics and of the intervals."""
        found, parts = self.found, list[str | Grid]()
        if self.is_alone:
            of, said = units_of(found), found.statistics().items()
            rows = [[name, with_unit(format_number(x, 6), of.get(name))] for name, x in said if isfinite(x)]
            parts.append(Grid(rows, [1]))
        else:
            parts += found.parts()
        if self.intervals:
            known = zip(self.intervals, found.u, found.units, strict=True)
            ends = [[with_unit(format_number(end, _digits(end, u)), unit) for end in pair] for pair, u, unit in known]
            rows = [[name, *pair] for name, pair in zip(found.names, ends, strict=True)]
            parts += ["", Grid([[f"profile, {100 * self.coverage:g} %", "low", "high"], *rows], [1, 2])]
        return parts

    def text(self) -> str:
        """The same in lines."""
        return in_lines(self.parts())

    def points(self) -> dict[str, Array]:
        """The columns of `of_points` of all points, with the derivatives of the parameters."""
        inverse, pieces = derivatives(self.found), self.found.pieces
        assert pieces is not None
        every = [of_points(self.found, *one, self.coverage, inverse) for one in pieces(self.found.values)]
        return {name: np.concatenate([one[name] for one in every]) for name in every[0]}

    def fields(self) -> dict[str, Any]:
        """The same for JSON, with the points."""
        has_points = self.has_points and not self.found.within.is_mixed
        names = zip(self.found.names, self.found.units, strict=True)
        of = {name: unit.text for name, unit in (*units_of(self.found).items(), *names) if unit is not None}
        return {
            **({"statistics": self.found.statistics()} if self.is_alone else self.found.fields()),
            **({"units": of} if of and (self.is_alone or has_points) else {}),
            **({"coverage": self.coverage} if self.intervals or has_points else {}),
            **({"profile": dict(zip(self.found.names, self.intervals, strict=True))} if self.intervals else {}),
            **({"points": self.points()} if has_points else {}),
        }


def units_of(found: Fit) -> dict[str, Any]:
    """The units of the statistics and of the columns of `of_points` that have any."""
    if not Units.exist or found.within.is_mixed:
        return {}
    one = units.unit.ONE
    y = found.within.measured or one
    of = {f"d{name}_dy": units.quantity.over(x or one, [y]) for name, x in zip(found.names, found.units, strict=True)}
    of |= dict.fromkeys(["s", "predicted", "residual"], y)
    of |= {f"{band}_{end}": y for band in ("confidence", "prediction") for end in ("low", "high")}
    of |= dict.fromkeys(["rss", *([] if found.is_weighted else ["chi2"])], units.unit.quotient(one, y, -2))
    return {name: x for name, x in of.items() if x.symbols}


def _digits(end: float, u: float) -> int:
    """Six, or those that two digits of the uncertainty need."""
    return 3 + int(max(log10(abs(end) / u), 3.0)) if u > 0.0 and end != 0.0 and isfinite(end) else 6


def _variance(found: Fit, sigma: Any) -> Any:
    if isinstance(sigma, Covariance):
        return sigma.variances
    return found.rss / found.dof if sigma is None else np.square(sigma)


def whitened(x: Array, sigma: Any) -> Array:
    """What belongs to the points, along the last axis, so that the variance of each is 1."""
    found: Array = x @ sigma.whitening.T if isinstance(sigma, Covariance) else x if sigma is None else x / sigma
    return found


def weighed(slopes: Array, sigma: Any, bend: Any = 1.0) -> Array:
    """The slopes by what was measured of those by the parameters; `bend` is that of a loss."""
    found = whitened(slopes, sigma) * bend
    return np.array(found @ sigma.whitening if isinstance(sigma, Covariance) else whitened(found, sigma))


def profile(found: Fit, coverage: float = COVERAGE) -> list[tuple[float, float]]:
    """For each parameter, the interval in which the least sum of squares, with it held there, stays near the least.

    That is by less than the quantile of its coverage (Bates and Watts, Nonlinear Regression Analysis, 1988, 6.1): where
    the model is curved, it is not symmetric. An end is a bound, or infinite, where the sum does not rise so far; of a
    parameter at its bound, the interval begins there.
    Raises AgradError of kind `domain` for a fit with a loss.
    """
    if found.loss is not None:
        raise AgradError("domain", "profile: intervals of this kind are those of least squares, without a loss")
    limit, scale = quantile(found, coverage), 1.0 if found.is_weighted else sqrt(found.chi2 / found.dof)
    return [
        (_end(found, place, -1.0, limit, scale), _end(found, place, 1.0, limit, scale))
        for place in range(len(found.names))
    ]


def _end(found: Fit, place: int, side: float, limit: float, scale: float) -> float:
    """One end of an interval of a profile: where the root of the rise of the sum of squares is the limit."""
    optimize = extra("scipy.optimize", "fit", "SciPy", "science")
    bound = float((found.within.low if side < 0 else found.within.high)[place])
    middle, unit = float(found.values[place]), float(found.u[place])
    if bound == middle:
        return bound
    if not found.free[place]:  # a parabola with its slope: as far as that is at the limit, while no other changes
        slope, bend = abs(float(found.passes.slope(found.values)[place])), found.passes.at(found.values)[:, place]
        rise = (limit * scale) ** 2
        unit = rise / (slope + sqrt(slope**2 + float(bend @ bend) * rise)) / limit
    last = found.values

    def above(way: float) -> float:
        nonlocal last
        value, at = _least(found, place, middle + side * way, last)
        last = at if isfinite(value) else last
        rise = max(value - found.chi2, 0.0)
        return sqrt(rise) / scale - limit

    low, high, most = 0.0, limit * unit, abs(bound - middle)
    for _ in range(_ENDS):
        high = min(high, most)
        value = above(high)
        if abs(value) <= 1e-9 * limit:
            return middle + side * high
        if value > 0.0:
            way = optimize.brentq(above, low, high, xtol=1e-9 * unit, rtol=1e-10)
            return middle + side * float(way)
        if high == most:
            return bound
        low, high = high, 1.5 * high
    return side * inf


def _least(found: Fit, place: int, value: float, near: Array) -> tuple[float, Array]:
    """The least sum of squares with one parameter held, and where it is."""
    start = near.copy()
    start[place] = value
    free = np.ones(len(start), dtype=bool)
    free[place] = False
    some = Some(found.passes, start, free)
    if free.any():
        within = Within(found.within.low[free], found.within.high[free])
        start = some.whole(searched(some, start[free], within, LEAST)[0])
    chi2 = float(np.sum(found.passes.at(start)[:, -1] ** 2))
    return (chi2 if isfinite(chi2) else inf), start
