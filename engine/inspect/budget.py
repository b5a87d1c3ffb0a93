"""Uncertainty budgets: what each source contributes to the uncertainty of a number (GUM, JCGM 100, 5 and annex G); and
of several numbers, how they are correlated, and the regions in which they are together (JCGM 102, 7.7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from json import dumps
from math import floor, inf, isfinite, log10, nan, sqrt
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.autodiff.distributions import NORMAL
from agrad.engine.autodiff.uncertainty import Second, Sources, as_recorded, correlations, second_order, together
from agrad.engine.compile import compile as compiled
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.inspect.json_values import plain_fields
from agrad.engine.program.closed import settled, split
from agrad.engine.program.trace import extract, inlined
from agrad.engine.text import Grid, csv_lines, in_latex, in_lines
from agrad.engine.values import Array, format_number, format_uncertain, format_uncertain_as, np, shape_of

_MOST = 100_000_000  # samples
_MORE = 10  # times as many as were asked for, until it is decided whether the linear result holds
_SIGMAS = 3.0
_HEAD = ("source", "where", "value", "u", "dy/dx", "u dy/dx", "share", "dof")


class Source(NamedTuple):
    """A line of a budget: a number, or an entry of an array."""

    name: str
    where: str  # it was made
    value: float
    u: float
    sensitivity: float
    contribution: float  # to the result for one standard uncertainty
    share: float  # of the variance
    dof: float
    unit: str = ""
    sensitivity_unit: str = ""


class Sampled(NamedTuple):
    """A Monte Carlo run: the propagation of distributions (JCGM 101)."""

    number: int
    mean: float
    u: float
    low: float
    high: float
    tolerance: float
    holds: bool | None  # whether the ends of the linear interval agree within the tolerance (8.1.3); None: undecided
    is_shortest: bool = False  # whether the interval is the shortest (5.3.4), else as much is below it as above


class Budget(NamedTuple):
    """A number, its sources, and what follows from them."""

    name: str
    value: float
    u: float
    sources: list[Source]
    dof: float
    correlated: bool  # whether some sources are: for the degrees of freedom, those are one source
    coverage: float
    k: float
    expanded: float  # half of the width of the interval with the stated coverage
    second: Second | None
    samples: Sampled | None = None
    unit: str = ""

    def rows(self) -> list[tuple[str, ...]]:
        """The sources in words, below their heads: a column for each head that says something about them."""
        cells: list[list[str]] = []
        for row in self.sources:
            numbers = [
                format_number(row.value),
                *[format_number(x, 4) for x in (row.u, row.sensitivity, row.contribution)],
            ]
            ends = (row.unit, row.unit, row.sensitivity_unit, self.unit)
            numbers = [f"{number} {unit}".strip() for number, unit in zip(numbers, ends, strict=True)]
            dof = format_number(row.dof, 4) if isfinite(row.dof) else ""
            cells.append([row.name, row.where, *numbers, f"{100 * row.share:.1f} %", dof])
        columns = [*zip(_HEAD, *cells, strict=True)]
        if len(set(columns[1])) == 2:  # all in one place
            del columns[1]
        return [*zip(*[column for column in columns if any(column[1:])], strict=True)]

    def table(self) -> Grid:
        """The rows, with numbers at the right."""
        rows = self.rows()
        return Grid(rows, range(1 + ("where" in rows[0]), len(_HEAD)))

    def parts(self) -> list[str | Grid]:
        """The table, a line for each source, and what follows from it."""
        unit = f" {self.unit}".rstrip()
        u, wide, k = (format_number(x, 3) for x in (self.u, self.expanded, self.k))
        how = ", with correlated sources as one" if self.correlated else ""
        dof = f", {format_number(self.dof, 3)} effective degrees of freedom{how}" if isfinite(self.dof) else ""
        lines = [
            f"\n{self.name} = {format_uncertain(self.value, self.u)}{unit}   u = {u}{unit}{dof}",
            f"expanded uncertainty U = {wide}{unit}   k = {k}, coverage {format_number(self.coverage, 4)}",
        ]
        if self.second is not None:
            more = self.second.u
            bias, one, both = (
                format_number(x, 3) for x in (self.second.bias, abs(more), self.second.with_first(self.u))
            )
            than = "less" if more < 0.0 else "more"
            lines.append(f"second order: bias {bias}{unit}, u = {one}{unit} {than}, {both}{unit} in all")
        if self.samples is not None:
            lines += self._sampled(self.samples)
        return [self.table(), "\n".join(lines)]

    def text(self) -> str:
        """The same in lines."""
        return in_lines(self.parts())

    @property
    def has_units(self) -> bool:
        """Whether a number has one."""
        return any([self.unit, *[one.unit or one.sensitivity_unit for one in self.sources]])

    def _sampled(self, found: Sampled) -> list[str]:
        low, high, *linear = (
            format_uncertain(x, self.u).split(" ± ")[0]  # to two digits of u
            for x in (found.low, found.high, self.value - self.expanded, self.value + self.expanded)
        )
        verdict = "holds" if found.holds else "does not hold"
        verdict = f"is undecided at {found.number} samples" if found.holds is None else verdict
        unit, of = f" {self.unit}".rstrip(), "linear result" if self.second is None else "result of order 2"
        return [
            f"{found.number} samples: mean ± u = {format_uncertain(found.mean, found.u)}{unit}, "
            f"{format_number(100 * self.coverage, 4)} % in {low} to {high}{unit}{', the shortest' * found.is_shortest}",
            f"the {of}, {linear[0]} to {linear[1]}{unit}, {verdict} to two digits of u, "
            f"which is within {format_number(found.tolerance, 3)}{unit}",
        ]

    def fields(self) -> dict[str, Any]:
        """The budget for JSON; what is not finite, or was not asked for, is null."""
        found = plain_fields(self, "", {})
        for one in () if self.has_units else (found, *found["sources"]):
            del one["unit"]
            one.pop("sensitivity_unit", None)
        return {"budget": found}

    def json(self) -> str:
        """One object."""
        return dumps({"schema": 1, **self.fields()})

    def csv(self) -> str:
        """A line for each source, and one for the result."""
        result = Source(self.name, "", self.value, self.u, 1.0, self.u, 1.0, self.dof, self.unit)
        rows = [[row.name, *[format_number(x, None) for x in row[2:8]], *row[8:]] for row in (*self.sources, result)]
        end = len(rows[0]) if self.has_units else -2
        return csv_lines([row[:end] for row in (["source", *Source._fields[2:]], *rows)]).removesuffix("\n")

    def latex(self) -> str:
        """The table for a paper, and the result below it."""
        table = self.table()
        result = rf"\multicolumn{{{len(table.rows[0]) - 1}}}{{l}}{{${format_uncertain_as('L', self.value, self.u)}$}}"
        return table.latex([in_latex(self.name), result])


def budget(y: Any, coverage: float = 0.95, order: int = 1, k: float | None = None) -> Budget:
    """The budget of one number, with the coverage stated or, for a coverage factor k, that of it.

    Raises AgradError of kind `grad` where it depends on no uncertain leaf.
    """
    y = y if isinstance(y, Tensor) else tensor(y)
    if y.size != 1:
        fixes = [Hint(f"budget {y.node.spell()}[0]   of an entry")]
        raise AgradError("shape", "a budget is of one number, and this is an array", fixes=fixes)
    _check(coverage, k)
    if order not in (1, 2):
        raise AgradError("domain", f"budget: the order is 1 or 2, not {order}")
    name, unit = y.node.spell(), units.unit_of(y)
    y = units.quantity.over_unit(y, unit)
    with as_recorded(y) as found:
        if found is None:
            raise _unmeasured(name)
        (slopes,) = found.slopes(y)
        u, dof, terms = float(found.combined(slopes)), found.effective(slopes), slopes * found.u
        shares = terms / (u or 1.0) * (found.correlations @ terms / (u or 1.0))
        known, of = zip(units.quantity.infer(found.nodes), found.nodes, strict=True), unit or units.unit.ONE
        each = [one for one, node in known for _ in np.ndindex(node.shape)]
        numbers = zip(found.values, found.u, slopes, terms, shares, found.dof, strict=True)
        rows = [_source(of, *row) for row in zip(each, _named(found), numbers, strict=True)]
        coverage = coverage if k is None else _covered(k, dof)
        k = coverage_factor(coverage, dof) if k is None else k
        second = second_order(y, found) if order > 1 else None
        expanded = k * (u if second is None else second.with_first(u))
        correlated = len(found.groups) < len(rows)
        return Budget(name, y._number(), u, rows, dof, correlated, coverage, k, expanded, second, unit=of.text)


def _source(result: Any, own: Any, name: tuple[str, str], numbers: Sequence[float]) -> Source:
    """A line with numbers in the unit of a source, and in that of the result over it."""
    value, u, slope, term, share, dof = map(float, numbers)
    factor, of_slope = float(own.factor), units.quantity.over(result, [own]).text
    return Source(*name, own.of_si(value), u / factor, slope * factor, term, share, dof, own.text, of_slope)


def _check(coverage: float, k: float | None) -> None:
    if not 0.0 < coverage < 1.0:
        fixes = [Hint(f"coverage {coverage / 100:g}")] if 1.0 < coverage < 100.0 else []
        raise AgradError("domain", f"budget: the coverage is between 0 and 1, not {coverage:g}", fixes=fixes)
    if k is not None and not 0.0 < k < inf:
        raise AgradError("domain", f"budget: k, the coverage factor, is above 0 and finite, not {k:g}")


class SampledJoint(NamedTuple):
    """A Monte Carlo run of several numbers (JCGM 102, 7)."""

    number: int
    mean: list[float]
    u: list[float]
    correlation: Array
    inside: float  # the part of the samples in the ellipsoid


class Joint(NamedTuple):
    """Several numbers, what is uncertain of each, and how they are correlated.

    `k`: in the ellipsoid x' C^-1 x <= k^2 around them, whose matrix is their covariance, they are all with the stated
    coverage; `k_box`: so are they, at least, each within k_box u. Of normal distributions (JCGM 102, 7.7.2 and 7.7.3),
    or, with degrees of freedom, of multivariate t distributions (Hotelling 1931); nan where these are too few.
    """

    names: list[str]
    values: list[float]
    u: list[float]
    correlation: Array
    dof: float
    coverage: float
    k: float
    k_box: float
    samples: SampledJoint | None = None

    def rows(self, of: Joint | SampledJoint | None = None) -> list[tuple[str, ...]]:
        """The numbers, and the columns of their correlations, below the heads; or those `of` samples."""
        found = of or self
        values, head = (found.mean, "mean") if isinstance(found, SampledJoint) else (found.values, "value")
        numbers = zip(self.names, values, found.u, found.correlation.tolist(), strict=True)
        rows = [(name, *_apart(value, u), *[f"{r:.3f}" for r in row]) for name, value, u, row in numbers]
        return [("result", head, "u", *self.names), *rows]

    def table(self, of: Joint | SampledJoint | None = None) -> Grid:
        """The rows, with numbers at the right."""
        rows = self.rows(of)
        return Grid(rows, range(1, len(rows[0])))

    def parts(self) -> list[str | Grid]:
        """The table, and the two regions."""
        percent = format_number(100.0 * self.coverage, 4)
        dof = f", {format_number(self.dof, 3)} degrees of freedom" if isfinite(self.dof) else ""
        ellipsoid = f"k = {self.k:.2f} in an ellipsoid, " if isfinite(self.k) else "k = "
        where = f"\n{percent} % of all together: {ellipsoid}{self.k_box:.2f} in a box{dof}"
        parts: list[str | Grid] = [self.table(), where]
        if self.samples is not None:
            part = format_number(100.0 * self.samples.inside, 4)
            parts += [f"{self.samples.number} samples, {part} % of them in the ellipsoid:\n"]
            parts += [self.table(self.samples)]
        return parts

    def text(self) -> str:
        """The same in lines."""
        return in_lines(self.parts())

    def fields(self) -> dict[str, Any]:
        """The results for JSON."""
        return {"results": plain_fields(self, "", {})}

    def json(self) -> str:
        """One object."""
        return dumps({"schema": 1, **self.fields()})

    def csv(self) -> str:
        """A line for each number, with its correlations."""
        numbers = zip(self.names, self.values, self.u, self.correlation.tolist(), strict=True)
        rows = [[name, *[format_number(x, None) for x in (value, u, *row)]] for name, value, u, row in numbers]
        return csv_lines([self.rows()[0], *rows]).removesuffix("\n")

    def latex(self) -> str:
        """The table for a paper."""
        return self.table().latex()

    def ellipse(self, count: int = 200) -> tuple[Array, Array]:
        """Points of the ellipse around two numbers."""
        angles, tilt = np.linspace(0.0, 2.0 * np.pi, count), np.arcsin(self.correlation[0, 1])
        (x, y), (of_x, of_y), k = self.values, self.u, self.k
        return x + k * of_x * np.sin(angles), y + k * of_y * np.sin(angles + np.pi / 2 - tilt)


def _apart(value: float, u: float) -> list[str]:
    return format_uncertain(value, u).split(" ± ")


def joint(values: Sequence[Any], names: Sequence[str], coverage: float = 0.95) -> Joint:
    """Several numbers together: a name for each, or of an array for all its entries."""
    _check(coverage, None)
    values = [operand(value) for value in values]
    values, texts = _numbers(values)
    y, u, matrix = together(values)
    if not np.any(u):
        raise _unmeasured(" and ".join(names))
    each = zip(names, values, texts, strict=True)
    spelled = [
        name + index + text
        for name, value, one in each
        for index, text in zip(_indices(shape_of(value)), cycle(one), strict=False)
    ]
    with as_recorded(y) as found:
        assert found is not None
        dof = min(map(found.effective, found.slopes(y)))
    special, size = extra("scipy.special", "budget", "SciPy", "science"), y.size
    if isfinite(dof):
        left = floor(dof + 1e-9) - size + 1
        k = sqrt(size * (left + size - 1) / left * special.fdtri(size, left, coverage)) if left > 0 else nan
    else:
        k = sqrt(special.chdtri(size, 1.0 - coverage))
    box = coverage_factor(1.0 - (1.0 - coverage) / size, dof)
    return Joint(spelled, np.ravel(y.value).tolist(), u.tolist(), matrix, dof, coverage, float(k), box)


def _numbers(values: Sequence[Any]) -> tuple[list[Any], list[list[str]]]:
    """Values as numbers of their units, and these in brackets, one or one for each entry of a row; empty for none."""
    found = [units.unit_of(value) for value in values]
    numbers = [units.quantity.over_unit(value, unit) for value, unit in zip(values, found, strict=True)]
    rows = [(unit.entries or (unit,)) if unit is not None else () for unit in found]
    return numbers, [[f" ({one.text})" if one.text else "" for one in row] or [""] for row in rows]


def _unmeasured(name: str) -> AgradError:
    fixes = [Hint("x = 2.0 ± 0.1   makes an uncertain value")]
    return AgradError("grad", f"{name} does not depend on an uncertain value", fixes=fixes)


def _indices(shape: Any) -> list[str]:
    return [f"[{', '.join(map(str, index))}]" if index else "" for index in np.ndindex(shape)]


def _named(found: Sources) -> Iterator[tuple[str, str]]:
    """The name of each entry, and where its leaf was made."""
    for node in found.nodes:
        for index in _indices(node.shape):
            yield node.spell() + index, node.origin.where if node.origin is not None else ""


def _covered(k: float, dof: float) -> float:
    """The coverage of an interval with a coverage factor; as `coverage_factor` computes that."""
    special = extra("scipy.special", "budget", "SciPy", "science")
    below = special.ndtr(k) if not isfinite(dof) else special.stdtr(max(floor(dof + 1e-9), 1), k)
    return float(2.0 * below - 1.0)


def coverage_factor(coverage: float, dof: float) -> float:
    """The quantile of Student's t distribution, or of the normal one, for an interval with this coverage.

    Degrees of freedom are rounded down to a whole number (GUM G.4.1).
    """
    special = extra("scipy.special", "budget", "SciPy", "science")
    tail = (1.0 + coverage) / 2.0
    if not isfinite(dof):
        return float(special.ndtri(tail))
    return float(special.stdtrit(max(floor(dof + 1e-9), 1), tail))


# Monte Carlo


def sampled_joint(linear: Joint, values: Sequence[Any], count: int, rng: Any) -> Joint:
    """Several results with what a Monte Carlo run finds."""
    _check_count(count)
    values, _ = _numbers(values)
    y, u, matrix = together(values)
    with as_recorded(y) as found:
        assert found is not None
        draws = _draws(found, count, rng)
        rows = np.stack([_function(y[place], found)(draws) for place in range(y.size)])
    apart = (rows - np.reshape(y.value, (-1, 1))) / np.where(u > 0.0, u, 1.0)[:, None]
    inside = np.mean(np.sum(apart * (np.linalg.pinv(matrix, hermitian=True) @ apart), axis=0) <= linear.k**2)
    spread = np.std(rows, axis=1, ddof=1)
    among = correlations(np.atleast_2d(np.cov(rows)))
    return linear._replace(
        samples=SampledJoint(count, np.mean(rows, axis=1).tolist(), spread.tolist(), among, float(inside))
    )


def _check_count(count: int) -> None:
    if not 100 <= count <= _MOST:
        raise AgradError("limit", f"budget: from 100 to {_MOST} samples, not {count}")


def sampled(
    linear: Budget, y: Any, count: int, rng: Any, shortest: bool = False
) -> tuple[Budget, list[tuple[str, Any, Any]]]:
    """The budget with what a Monte Carlo run finds, and its curves: the density of the samples, and the normal one."""
    _check_count(count)
    y = units.quantity.over_unit(y, units.unit_of(y))
    tolerance = 0.5 * 10.0 ** (floor(log10(linear.u)) - 1) if linear.u > 0 else 0.0
    tails = (1 - linear.coverage) / 2, (1 + linear.coverage) / 2
    expected = linear.value - linear.expanded, linear.value + linear.expanded
    values, holds, most = np.zeros(0), None, min(_MORE * count, _MOST)
    with as_recorded(y) as found:
        assert found is not None
        function = _function(y, found)
        while holds is None and len(values) < most:  # until the ends are known well enough (clause 7.9)
            values = np.append(values, function(_draws(found, count, rng)))
            off, doubt = np.array([_compared(values, *pair) for pair in zip(tails, expected, strict=True)]).T
            holds = True if np.all(off + doubt <= tolerance) else False if np.any(off - doubt > tolerance) else None
    low, high = _shortest(values, linear.coverage) if shortest else np.quantile(values, tails).tolist()
    shown = np.quantile(values, [0.001, 0.999])
    heights, edges = np.histogram(values, bins=60, range=tuple(shown) if shown[1] > shown[0] else None)
    middles, densities = (edges[1:] + edges[:-1]) / 2, heights / (len(values) * np.diff(edges))
    curves = [("samples", middles.tolist(), densities.tolist())]
    if linear.u > 0:
        normal = np.exp(-(((middles - linear.value) / linear.u) ** 2) / 2) / (linear.u * np.sqrt(2 * np.pi))
        curves.append(("normal", middles.tolist(), normal.tolist()))
    mean, u = float(np.mean(values)), float(np.std(values, ddof=1))
    return linear._replace(samples=Sampled(len(values), mean, u, low, high, tolerance, holds, shortest)), curves


def _shortest(values: Array, coverage: float) -> tuple[float, float]:
    """The ends of the shortest interval with a coverage (JCGM 101, 7.7.4)."""
    ordered = np.sort(values)
    inside = min(floor(coverage * len(values) + 0.5), len(values) - 1)
    first = int(np.argmin(ordered[inside:] - ordered[:-inside]))
    return float(ordered[first]), float(ordered[first + inside])


def _draws(found: Sources, count: int, rng: Any) -> Array:
    """A row of samples for each entry: of correlated ones, of a multivariate normal or t distribution (JCGM 101).

    With degrees of freedom, a single normal one has Student's t distribution (6.4.9), too.
    """
    draws = np.empty((len(found.u), count))
    for places in found.groups:
        kind, dof = found.distributions[places[0]] if len(places) == 1 else NORMAL, min(found.dof[places])
        if kind is not NORMAL:
            drawn = kind.draw(rng, count)[None]
        else:
            block = found.correlations[np.ix_(places, places)]
            drawn = rng.multivariate_normal(np.zeros(len(places)), block, count, method="eigh").T
            drawn *= np.sqrt(dof / rng.chisquare(dof, count)) if isfinite(dof) else 1.0
        draws[places] = drawn
    return found.values[:, None] + found.u[:, None] * draws


def _compared(values: Array, part: float, end: float) -> tuple[float, float]:
    """How far an end is from that of samples, below which there is such a part of them, and by how much at most that is
    wrong: by the numbers beside it, which are as many as would be below it in other samples.
    """
    aside = _SIGMAS * sqrt(part * (1.0 - part) / len(values))
    low, middle, high = np.quantile(values, np.clip([part - aside, part, part + aside], 0.0, 1.0)).tolist()
    return abs(end - middle), max(high - middle, middle - low)


def _function(y: Tensor, found: Sources) -> Callable[[Array], Array]:
    """The value as a function of samples, a row for each entry, by the program of its graph."""
    program = settled("budget", extract([y], found.leaves))

    def function(*entries: Any) -> Any:
        xs = split(FUNCTIONS["stack"].call(entries), [x.shape for x in found.leaves])
        return FUNCTIONS["sum"].call(inlined(program, xs)[0])

    code = compiled(function, *found.values.tolist(), wrt=0)
    return lambda draws: code.map(*draws)[0]
