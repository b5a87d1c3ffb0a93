"""Uncertainty budgets: what each source contributes to the uncertainty of a number (GUM, JCGM 100, 5 and annex G)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from csv import writer
from io import StringIO
from json import dumps
from math import floor, hypot, inf, isfinite, log10, sqrt
from typing import Any, NamedTuple

from agrad.engine.autodiff.uncertainty import Second, covariance, gradient, handles, known_of, second_order, sources
from agrad.engine.compile import compile as compiled
from agrad.engine.core.graph import Node
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.inspect.json_values import finite
from agrad.engine.program.closed import settled
from agrad.engine.program.extract import extract
from agrad.engine.program.structure import split
from agrad.engine.program.trace import inlined
from agrad.engine.text import align
from agrad.engine.values import Array, format_number, format_uncertain, np

_MOST = 100_000_000  # samples
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


def _cells(row: Source, percent: str = " %") -> list[str]:
    numbers = [format_number(x, 4) for x in (row.u, row.sensitivity, row.contribution)]
    dof = format_number(row.dof, 4) if isfinite(row.dof) else ""
    return [row.name, row.where, format_number(row.value), *numbers, f"{100 * row.share:.1f}{percent}", dof]


def _escaped(name: str) -> str:
    return name.replace("_", r"\_").replace("^", r"\^{}").replace("%", r"\%")


class Sampled(NamedTuple):
    """A Monte Carlo run: the propagation of distributions (JCGM 101)."""

    number: int
    mean: float
    u: float
    low: float
    high: float
    tolerance: float
    holds: bool  # whether the ends of the linear interval agree within the tolerance (clause 8.1.3)


class Budget(NamedTuple):
    """A number, its sources, and what follows from them."""

    name: str
    value: float
    u: float
    sources: list[Source]
    dof: float
    coverage: float
    k: float
    expanded: float  # half of the width of the interval with the stated coverage
    second: Second | None = None
    samples: Sampled | None = None
    histogram: tuple[Array, Array] | None = None  # of the samples: the edges of intervals, and the densities

    def text(self, sign: str) -> str:
        """The table, a line for each source, and what follows from it."""
        rows = [_cells(row) for row in self.sources]
        if len({row[1] for row in rows}) == 1:
            rows = [[name, "", *rest] for name, _, *rest in rows]
        head = [word if any(row[place] for row in rows) else "" for place, word in enumerate(_HEAD)]
        u, wide, k = (format_number(x, 3) for x in (self.u, self.expanded, self.k))
        dof = f", {format_number(self.dof, 3)} effective degrees of freedom" if isfinite(self.dof) else ""
        lines = [
            *align([head, *rows], right=range(2, len(_HEAD))),
            "",
            f"{self.name} = {format_uncertain(self.value, self.u, sign=sign)}   u = {u}{dof}",
            f"expanded uncertainty U = {wide}   k = {k}, coverage {self.coverage:g}",
        ]
        if self.second is not None:
            more = self.second.u
            bias, one, both = (format_number(x, 3) for x in (self.second.bias, more, hypot(self.u, more)))
            lines.append(f"second order: bias {bias}, u = {one} more, {both} in all")
        return "\n".join([*lines, *(self._sampled(self.samples) if self.samples is not None else ())])

    def _sampled(self, found: Sampled) -> list[str]:
        ends = f"{format_number(found.low, 5)} to {format_number(found.high, 5)}"
        linear = [format_number(self.value + side * self.expanded, 5) for side in (-1, 1)]
        verdict = "holds" if found.holds else "does not hold"
        mean = f"mean {format_number(found.mean, 6)}, u = {format_number(found.u, 3)}"
        return [
            f"{found.number} samples: {mean}, {100 * self.coverage:g} % in {ends}",
            f"the linear result, {linear[0]} to {linear[1]}, {verdict} to two digits of u, "
            f"which is within {format_number(found.tolerance, 3)}",
        ]

    def fields(self) -> dict[str, Any]:
        """The budget for JSON; degrees of freedom are null where they are infinite."""
        found = self._asdict() | {"dof": finite(self.dof)}
        del found["name"], found["histogram"]
        found["sources"] = [row._asdict() | {"dof": finite(row.dof)} for row in self.sources]
        parts = {name: found.pop(name) for name in ("second", "samples")}
        found |= {name: part._asdict() for name, part in parts.items() if part is not None}
        return {"budget": found}

    def json(self) -> str:
        """One object."""
        return dumps({"schema": 1, **self.fields()})

    def csv(self) -> str:
        """A line for each source, and one for the result."""
        result = (self.value, self.u, 1.0, self.u, 1.0, self.dof)
        named = [*((row.name, row[2:]) for row in self.sources), (self.name, result)]
        rows = [[name, *[format_number(x, None) for x in numbers]] for name, numbers in named]
        file = StringIO()
        writer(file, lineterminator="\n").writerows([["source", *Source._fields[2:]], *rows])
        return file.getvalue().removesuffix("\n")

    def latex(self) -> str:
        """A table for a paper."""
        head = ["source", "value", "$u$", r"$\partial y/\partial x$", "contribution", r"share / \%"]
        rows = [[_escaped(name), *rest[1:6]] for name, *rest in (_cells(row, "") for row in self.sources)]
        number = format_uncertain(self.value, self.u, sign=r"\pm")
        result = [_escaped(self.name), rf"\multicolumn{{5}}{{l}}{{${number}$}}"]
        lines = [" & ".join(row) + r" \\" for row in (head, *rows, result)]
        lines[0] += r" \hline"
        lines[-2] += r" \hline"
        return "\n".join([r"\begin{tabular}{lrrrrr}", *lines, r"\end{tabular}"])

    def curves(self) -> list[tuple[str, list[float], list[float]]]:
        """The density of the samples, and that of the normal distribution of the linear result."""
        assert self.histogram is not None
        edges, heights = self.histogram
        middles = (edges[1:] + edges[:-1]) / 2
        found = [("samples", middles.tolist(), heights.tolist())]
        if self.u > 0:
            z = (middles - self.value) / self.u
            density = np.exp(-z * z / 2) / (self.u * np.sqrt(2 * np.pi))
            found.append(("normal", middles.tolist(), density.tolist()))
        return found

    def rows(self) -> list[Sequence[Any]]:
        """The sources as a table, below its head."""
        return [Source._fields, *([*row.values()] for row in self.fields()["budget"]["sources"])]


def budget(
    y: Any, coverage: float = 0.95, order: int = 1, samples: int = 0, generator: Callable[[], Any] | None = None
) -> Budget:
    """The budget of one number. Raises AgradError of kind `grad` where it depends on no uncertain leaf."""
    y = y if isinstance(y, Tensor) else tensor(y)
    nodes = sources(y)
    if y.size != 1:
        fixes = [Hint(f"budget {y.node.spell()}[0]   of an entry")]
        raise AgradError("shape", "a budget is of one number, and this is an array", fixes=fixes)
    if not nodes:
        fixes = [Hint("x = 2.0 ± 0.1   makes an uncertain value")]
        raise AgradError("grad", f"{y.node.spell()} does not depend on an uncertain value", fixes=fixes)
    if not 0.0 < coverage < 1.0:
        fixes = [Hint(f"coverage {coverage / 100:g}")] if 1.0 < coverage < 100.0 else []
        raise AgradError("domain", f"budget: the coverage is between 0 and 1, not {coverage:g}", fixes=fixes)
    if order not in (1, 2):
        raise AgradError("domain", f"budget: the order is 1 or 2, not {order}")
    slopes = np.concatenate([np.reshape(np.asarray(g), -1) for g in gradient(y, nodes)])
    known = covariance(nodes)
    variance = max(float(slopes @ known @ slopes), 0.0)
    u, rows = sqrt(variance), _rows(nodes, slopes, slopes * (known @ slopes) / (variance or 1.0))
    dof = _effective(rows, known, u)
    k = coverage_factor(coverage, dof)
    number = float(np.reshape(y.value, -1)[0])
    second = second_order(y, nodes) if order > 1 else None
    made = Budget(y.node.spell(), number, u, rows, dof, coverage, k, k * u, second)
    return _sampled(made, y, nodes, known, samples, generator) if samples else made


def _rows(nodes: Sequence[Node], slopes: Array, shares: Array) -> list[Source]:
    found: list[Source] = []
    for node in nodes:
        its, place = known_of(node), node.origin.where if node.origin is not None else ""
        values, us = [np.reshape(np.asarray(x), -1).tolist() for x in (node.value, its.u)]
        for index, value, u in zip(np.ndindex(node.shape), values, us, strict=True):
            name = node.spell() + (f"[{', '.join(map(str, index))}]" if index else "")
            slope, share = float(slopes[len(found)]), float(shares[len(found)])
            found.append(Source(name, place, value, u, slope, slope * u, share, its.dof))
    return found


def _effective(rows: Sequence[Source], known: Array, u: float) -> float:
    """The effective degrees of freedom (Welch 1947, Satterthwaite 1946; GUM G.4.1).

    The formula is one of independent sources. Those that are correlated, such as the parameters of a fit, are one
    source together, with the fewest degrees of freedom among them (as Willink, Metrologia 44 (2007), where all are of
    the same measurements).
    """
    slopes = np.array([row.sensitivity for row in rows])
    total = 0.0
    for places in _groups(known) if u > 0 else ():
        share = float(slopes[places] @ known[np.ix_(places, places)] @ slopes[places]) / u**2
        total += share**2 / min(rows[place].dof for place in places)
    return 1.0 / total if total > 0 else inf


def _groups(known: Array) -> list[list[int]]:
    """The places of the entries that are correlated, with each other or by others; each of the rest alone."""
    _, labels = extra("scipy.sparse.csgraph", "budget", "SciPy", "science").connected_components(known != 0)
    return [np.flatnonzero(labels == one).tolist() for one in np.unique(labels)]


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


def _sampled(
    linear: Budget, y: Tensor, nodes: Sequence[Node], known: Array, count: int, generator: Callable[[], Any] | None
) -> Budget:
    """The budget with what a Monte Carlo run finds."""
    if not 100 <= count <= _MOST:
        raise AgradError("limit", f"budget: from 100 to {_MOST} samples, not {count}")
    rng = generator() if generator is not None else np.random.default_rng()
    values = _values(y, nodes, _draws(nodes, known, count, rng))
    tails = (1 - linear.coverage) / 2, (1 + linear.coverage) / 2
    low, high = np.quantile(values, tails).tolist()
    tolerance = 0.5 * 10.0 ** (floor(log10(linear.u)) - 1) if linear.u > 0 else 0.0
    off = max(abs(linear.value - linear.expanded - low), abs(linear.value + linear.expanded - high))
    shown = np.quantile(values, [0.001, 0.999])
    heights, edges = np.histogram(values, bins=60, range=tuple(shown) if shown[1] > shown[0] else None)
    mean, u = float(np.mean(values)), float(np.std(values, ddof=1))
    found = Sampled(count, mean, u, low, high, tolerance, off <= tolerance)
    return linear._replace(samples=found, histogram=(edges, heights / (count * np.diff(edges))))


def _draws(nodes: Sequence[Node], known: Array, count: int, rng: Any) -> list[Array]:
    """A column of samples for each entry: of correlated ones, of a multivariate normal or t distribution (JCGM 101)."""
    means = np.concatenate([np.reshape(np.asarray(node.value), -1) for node in nodes])
    kinds = [(known_of(node).shape, known_of(node).dof) for node in nodes for _ in np.ndindex(node.shape)]
    each = zip(means, np.sqrt(np.diag(known)), kinds, strict=True)
    columns = [mean + u * _standard(shape, dof, count, rng) for mean, u, (shape, dof) in each]
    for places in _groups(known):
        if len(places) > 1:
            block, dof = known[np.ix_(places, places)], min(kinds[place][1] for place in places)
            drawn = rng.multivariate_normal(np.zeros(len(places)), block, count, method="eigh").T
            drawn *= np.sqrt(dof / rng.chisquare(dof, count)) if isfinite(dof) else 1.0
            for place, column in zip(places, drawn, strict=True):
                columns[place] = means[place] + column
    return columns


def _standard(shape: str, dof: float, count: int, rng: Any) -> Array:
    """Samples with the standard uncertainty 1: with degrees of freedom, of Student's t (JCGM 101, 6.4.9)."""
    draws: dict[str, Callable[[], Array]] = {
        "uniform": lambda: rng.uniform(-sqrt(3.0), sqrt(3.0), count),
        "triangular": lambda: rng.triangular(-sqrt(6.0), 0.0, sqrt(6.0), count),
        "normal": lambda: rng.standard_t(dof, count) if isfinite(dof) else rng.standard_normal(count),
    }
    return draws[shape]()


def _values(y: Tensor, nodes: Sequence[Node], columns: list[Array]) -> Array:
    """The value for each sample, by the program of its graph."""
    program = settled("budget", extract([y], handles(nodes)))

    def function(*entries: Any) -> Any:
        xs = split(FUNCTIONS["stack"].call(entries), [node.shape for node in nodes])
        return FUNCTIONS["sum"].call(inlined(program, xs)[0])

    found: Array
    found, _ = compiled(function, *[float(column[0]) for column in columns], wrt=0).map(*columns)
    return found
