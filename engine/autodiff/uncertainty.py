"""Standard uncertainties of values, from those of the leaves that they were computed from.

The law of propagation: u(y)^2 is the sum of dy/dx_i cov(x_i, x_j) dy/dx_j over all leaves (JCGM 100, the GUM, 5.1.2
and 5.2.2). Since the derivatives are those of the graph, what has a source in common is correlated. The second order
of the Taylor series adds a bias, and a term to the variance, by the Hessian.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import pairwise
from math import copysign, hypot, inf, sqrt
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from agrad.engine import autodiff, units
from agrad.engine.autodiff.distributions import (
    ARCSINE,
    NORMAL,
    TRIANGULAR,
    UNIFORM,
    Distribution,
    of_sample,
    trapezoidal,
)
from agrad.engine.autodiff.reverse import by_leaves
from agrad.engine.core.arguments import number_of, plain_of
from agrad.engine.core.context import afford, current
from agrad.engine.core.dispatch import composed, operand
from agrad.engine.core.graph import (
    Extra,
    Node,
    Uncertainty,
    Units,
    alive,
    by_seq,
    collect,
    leading_to,
    new_node,
    reachable,
    roots_of,
)
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import Array, Value, coerce, describe, fits, format_shape, np, shape_of, spread

FAMILY = "uncertainty"
MOST = 40  # entries of sources: of more, the second order is computed only when it is asked for
_LONG = 4000  # nodes, for the same

_UNLINKED: Mapping[Node, Any] = {}


# Leaves


def uncertain(value: Any, u: Any, dof: Any = None, distribution: Distribution = NORMAL) -> Tensor:
    """A leaf with a standard uncertainty; of a computed value, its sum with such a leaf that is 0.

    `dof`: its degrees of freedom, infinitely many where that is None.
    """
    if Units.exist and (isinstance(value, Tensor) or isinstance(u, Tensor)):
        value, u, unit = units.quantity.measured(operand(value), u)
        if unit is not None:
            made = uncertain(value, u, dof, distribution)
            return units.put(made, unit)
    dof = inf if dof is None else number_of(distribution.name, "dof", dof)
    if not dof > 0.0:
        raise AgradError("domain", f"{distribution.name}: dof is positive, not {describe(dof)}")
    if type(value) is float and type(u) is float and u >= 0.0:
        made = bare(new_node(None, (), None, value, (), True))
    else:
        value, u = operand(value), plain_of("uncertain", "u", u)
        if isinstance(value, Tensor) and value.node.recorded:
            apart = uncertain(spread(0.0, value.shape), u, dof, distribution)
            units.keep(value.node, apart.node, is_difference=True)
            return value + apart
        made = tensor(value, requires_grad=True)
        if not fits(shape_of(u), made.shape):
            shapes = f"{format_shape(shape_of(u))} to a value of shape {format_shape(made.shape)}"
            raise AgradError("shape", f"an uncertainty of shape {shapes}")
        if not np.all(np.asarray(u) >= 0.0):
            raise AgradError("domain", f"an uncertainty is 0 or positive, not {describe(float(np.min(u)))}")
        u = np.broadcast_to(u, made.shape).copy() if made.shape else float(u)
    made.node.extra = known = Uncertainty()
    known.u, known.dof, known.distribution, known.linked = u, dof, distribution, _UNLINKED
    if not Uncertainty.exists:  # a class that is written to loses what the interpreter knows of its fields
        Uncertainty.exists = True
    return made


def percent(value: Any, u: Any) -> Tensor:
    """`value ± u %`; of a computed value, what it is at any time, such as in another step of a solver."""
    value = operand(value)
    if isinstance(value, Tensor) and value.node.unit is not None and value.node.op is None:
        return uncertain(value, abs(value - 0.0) * (u * 0.01))
    if isinstance(value, Tensor) and value.node.recorded:
        found: Tensor = value + abs(value) * uncertain(spread(0.0, value.shape), u * 0.01)
        return found
    return uncertain(value, abs(value.value if isinstance(value, Tensor) else value) * (u * 0.01))


_NEEDED = {"t": "t(8)   with its degrees of freedom", "trapezoid": "trapezoid(0.5)   whose top is half as wide"}
_LITERALS = {"uniform": UNIFORM, "triangular": TRIANGULAR, "arcsine": ARCSINE}


def distributed(name: str, value: Any, half: Any, parameter: Any = None) -> Tensor:
    """`value ± half uniform`, with half the width of its interval; `value ± u t(8)`, with its degrees of freedom."""
    if (name in _NEEDED) is (parameter is None):
        needed = "takes no parameter" if parameter is not None else "needs a parameter"
        fixes = [Hint(_NEEDED[name])] if name in _NEEDED else []
        raise AgradError("arity", f"± {name} {needed}", fixes=fixes)
    if name in ("t", "normal"):
        return uncertain(value, half, parameter)
    found = _LITERALS[name] if parameter is None else _trapezoid(parameter)
    return uncertain(value, plain_of(name, "half a width", half) / found.width, None, found)


def _trapezoid(beta: Any) -> Distribution:
    top = number_of("trapezoid", "the width of the top, beside the base,", beta)
    if not 0.0 <= top <= 1.0:
        raise AgradError("domain", f"trapezoid: the top is from 0 to 1 times as wide as the base, not {describe(top)}")
    return trapezoidal(top)


def as_leaf(value: Any) -> Tensor:
    """A new leaf with the data of a value, and with its uncertainty: correlated with what that came from.

    A leaf without a name, such as `2 ± 0.1`, is itself the leaf.
    """
    with as_recorded(value) as found:
        if found is None:
            return tensor(value, requires_grad=True)
        if value.node.op is None and value.node.name is None:
            return value  # type: ignore[no-any-return]
        slopes, known = found.slopes(value), value.node.uncertainty
        u, dof = found.combined(slopes), min(map(found.effective, slopes))
    made = uncertain(value.detach(), np.reshape(u, value.shape), dof, known.distribution if known else NORMAL)
    _descend([made.node], found, slopes)
    return made


def derived(made: Sequence[Tensor], y: Tensor, gain: Array) -> None:
    """Correlate uncertain numbers with the value that they were found from; `gain`: how each changes with its entries.

    Without this, the residuals of a fit to uncertain values would be those of values independent of the fit.
    """
    with as_recorded(y) as found:
        if found is not None:
            _descend([x.node for x in made], found, gain @ found.slopes(y))


def follow(leaves: Sequence[Tensor], y: Any, gain: Any) -> None:
    """Make leaves as uncertain as the vector that they were found from; `gain`: how each entry changes with its."""
    log = current().undo_log
    for node in [leaf.node for leaf in leaves]:
        if log is not None:
            log.remember(("uncertain", node), partial(setattr, node, "extra", node.extra))
        if node.uncertainty is not None:
            for other in [*node.uncertainty.linked]:
                link([node, other], None)
            node.extra = _copied(node.extra, Extra())
    with as_recorded(y) as found:
        if found is None:
            return
        slopes = gain @ found.slopes(y)
        for leaf, rows in zip(leaves, np.split(slopes, np.cumsum([x.size for x in leaves[:-1]])), strict=True):
            u, dof = np.reshape(found.combined(rows), leaf.shape), min(map(found.effective, rows))
            leaf.node.extra = _copied(leaf.node.extra, uncertain(leaf.value, coerce(u), dof).node.extra)
        _descend([x.node for x in leaves], found, slopes)


def _copied(extra: Extra | None, into: Any) -> Any:
    """The hooks and other rare fields of a node, in others."""
    vars(into).update({} if extra is None else vars(extra))
    return into


def _descend(made: Sequence[Node], found: Sources, slopes: Array) -> None:
    """Correlate new leaves with what they came from, entry by entry: slopes are their derivatives by that."""
    whole = Sources(list(dict.fromkeys([*found.nodes, *[y for x in found.nodes for y in x.extra.linked]])))
    u = found.combined(slopes)
    shares = slopes * found.u / np.where(u > 0.0, u, 1.0)[:, None]
    rows = np.concatenate([np.pad(shares, ((0, 0), (0, len(whole.u) - len(found.u)))), np.eye(len(whole.u))])
    link([*made, *whole.nodes], rows @ whole.correlations @ rows.T)


def correlate(a: Tensor, b: Tensor, r: float) -> None:
    """Set the correlation of two uncertain numbers."""
    for x in (a, b):
        if x.node.uncertainty is None or x.shape:
            name = x.node.spell()
            fixes = [Hint("x = 2 ± 0.1   makes one")]
            raise AgradError("type", f"correlate needs two uncertain numbers, and {name} is none", fixes=fixes)
    if a.node is b.node or not -1.0 <= r <= 1.0:
        what = "of a value with itself is 1" if a.node is b.node else f"is from -1 to 1, not {describe(r)}"
        raise AgradError("domain", f"correlate: a correlation {what}")
    linked: list[Any] = [x.node.uncertainty.linked for x in (a, b)]  # type: ignore[union-attr]
    for c in {*linked[0]} & {*linked[1]} - {a.node, b.node}:  # with which both are correlated
        for x, y in zip(*[np.ravel(one[c]) for one in linked], strict=True):
            if not _is_possible(np.array([[1.0, r, x], [r, 1.0, y], [x, y, 1.0]])):
                told = f"the correlation of {a.node.spell()} and {b.node.spell()} cannot be {r:g}"
                raise AgradError("domain", f"correlate: {told}: those that both have with {c.spell()} contradict that")
    link([a.node, b.node], np.array([[1.0, r], [r, 1.0]]))


def link(nodes: Sequence[Node], matrix: Any) -> None:
    """Set the correlations of the entries of some leaves; with None as the matrix, they have none."""
    log, places = current().undo_log, Sources(nodes).places
    for x in nodes:
        known: Any = x.uncertainty
        if log is not None and x.seq <= log.since:
            log.remember(("correlations", x), partial(setattr, known, "linked", known.linked))
        if matrix is None:
            known.linked = WeakKeyDictionary({y: block for y, block in known.linked.items() if y not in places})
        else:
            blocks = {y: matrix[places[x], places[y]] for y in nodes}
            known.linked = WeakKeyDictionary({**known.linked, **blocks})


class Sources:
    """Uncertain leaves, and what is known of their entries, one after the other."""

    def __init__(self, nodes: Sequence[Any]) -> None:
        self.nodes = nodes
        self.leaves = [bare(node, node.value if node.shape else None) for node in nodes]
        columns = zip(*[(x.value, x.extra.u, x.extra.dof, x.extra.distribution) for x in nodes], strict=True)
        self.values, self.u, self.dof, self.distributions = (
            np.concatenate([np.ravel(np.broadcast_to(part, x.shape)) for part, x in zip(column, nodes, strict=True)])
            for column in columns
        )
        ends = np.cumsum([0, *[leaf.size for leaf in self.leaves]]).tolist()
        self.places = {node: slice(*pair) for node, pair in zip(nodes, pairwise(ends), strict=True)}
        linked = [(x, y, block) for x in nodes for y, block in x.extra.linked.items() if y in self.places]
        self.blocks = [(self.places[x], self.places[y], block) for x, y, block in linked]

    @cached_property
    def correlations(self) -> Array:
        """The matrix of correlations. Raises AgradError of kind `domain` where they contradict each other."""
        afford("a matrix of correlations", (len(self.u), len(self.u)))
        matrix = np.eye(len(self.u))
        for rows, columns, block in self.blocks:
            matrix[rows, columns] = block
        if self.blocks and not _is_possible(matrix):
            names = ", ".join(node.spell() for node in self.nodes)
            raise AgradError("domain", f"the correlations of {names} contradict each other: no variances have them")
        return matrix

    @cached_property
    def groups(self) -> list[list[int]]:
        """The places of the entries that are correlated, with each other or by others; each of the rest alone."""
        first, before = np.arange(len(self.u)), np.zeros(0)  # of the group of each entry, the first that is known
        while not np.array_equal(first, before):
            first, before = np.where(self.correlations != 0.0, first, len(first)).min(axis=1), first
        return [np.flatnonzero(first == one).tolist() for one in np.unique(first)]

    def slopes(self, y: Tensor) -> Array:
        """The derivatives of each entry of a value by these entries, row by row."""
        return np.concatenate(
            [np.reshape(j.value, (y.size, -1)) for j in autodiff.transforms.jacobian(y, self.leaves)], axis=1
        )

    def combined(self, slopes: Any) -> Any:
        """The uncertainty for each row of derivatives, without squares that are too large or too small."""
        terms = slopes * self.u
        if not self.blocks:
            return np.hypot.reduce(terms, axis=-1)
        most = np.max(np.abs(terms), axis=-1, keepdims=True)
        scaled = terms / np.where(most > 0.0, most, 1.0)
        return most[..., 0] * np.sqrt(np.maximum(np.sum(scaled @ self.correlations * scaled, axis=-1), 0.0))

    def effective(self, slopes: Array) -> float:
        """The effective degrees of freedom for a row of derivatives (Welch 1947, Satterthwaite 1946; GUM G.4.1).

        The formula is one of independent sources. Those that are correlated, such as the parameters of a fit, are one
        source together, with the fewest degrees of freedom among them (as Willink, Metrologia 44 (2007), where all are
        of the same measurements).
        """
        terms = slopes * self.u / (np.max(np.abs(slopes * self.u)) or 1.0)
        if np.isinf(self.dof).all():
            return inf
        shares = terms * (self.correlations @ terms)
        parts = [(float(shares[places].sum()), min(self.dof[places])) for places in self.groups]
        total = sum(part**2 / freedom for part, freedom in parts)
        return float(sum(part for part, _ in parts) ** 2 / total) if total > 0 else inf


def _is_possible(correlations: Any) -> bool:
    """Whether no direction has a negative variance, but for rounding."""
    return bool(np.linalg.eigvalsh(correlations).min() >= -1e-9)


# Propagation


def lost(y: Tensor) -> str:
    """What is to be said of a value that was computed from uncertain ones without recording; empty for any other."""
    roots = alive(roots_of(y.node)) if Uncertainty.exists and not y.requires_grad else ()
    names = [node.spell() for node in roots if node.uncertainty is not None]
    return f"{y.node.spell()} has no uncertainty: it was computed from {names[0]} without its graph" if names else ""


def sources(y: Tensor, others: Sequence[Tensor] = ()) -> list[Tensor]:
    """The uncertain leaves that a value was computed from, but for some."""
    known = {x.node for x in others}
    nodes = [x for x in reachable(y.node) if x.uncertainty is not None and x not in known] if y.requires_grad else []
    return [bare(node, node.value if node.shape else None) for node in sorted(nodes, key=by_seq)]


_MARKS: dict[str, Any] = {"freed": None, "hooks": ()}


@contextmanager
def as_recorded(y: Any) -> Iterator[Sources | None]:
    """The sources of a value, if any; inside, its graph is as it was recorded: no hooks, no marks of a backward.

    Such a graph is marked as freed, and keeps what it saved: see `free`.
    """
    behind = reachable(y.node) if Uncertainty.exists and isinstance(y, Tensor) and y.requires_grad else ()
    nodes = sorted([node for node in behind if node.uncertainty is not None], key=by_seq)
    order = leading_to(collect([y.node]), nodes) if nodes else []
    before = [(node, slot, getattr(node, slot)) for node in order for slot in _MARKS if getattr(node, slot)]
    try:
        for node, slot, _ in before:
            setattr(node, slot, _MARKS[slot])
        with quiet():
            yield Sources(nodes) if nodes else None
    finally:
        for node, slot, mark in before:
            setattr(node, slot, mark)


def uncertainty(y: Any) -> Value | None:
    """The standard uncertainty of a value, in its shape; None of one that does not depend on an uncertain leaf.

    Raises AgradError of kind `stale` where a source was set since, and of kind `freed` where a part of the graph that
    has no source is gone.
    """
    if not isinstance(y, Tensor) or not Uncertainty.exists or not y.node.requires_grad:
        return None
    if y.node.uncertainty is not None:
        return y.node.uncertainty.u
    known = by_leaves(y.node)
    if known is not None:
        return of_slopes(known[0])
    with as_recorded(y) as found:
        return coerce(np.reshape(_of_entries(y, found), y.shape)) if found is not None else None


def of_slopes(slopes: Mapping[Node, float]) -> float | None:
    """The uncertainty of a number with these derivatives by leaves that are numbers; None where none is uncertain."""
    known: list[Any] = [node for node in slopes if type(node.extra) is Uncertainty]
    if not any(node.extra.linked for node in known):
        return hypot(*[slopes[node] * node.extra.u for node in known]) if known else None
    with quiet():
        return float(Sources(known).combined(np.array([slopes[node] for node in known])))


def _of_entries(y: Tensor, found: Sources) -> Any:
    """The uncertainties of the entries of an array, one after the other or in its shape."""
    behind = reachable(y.node)
    alone = all(node.shape in ((), y.shape) and (not node.op or node.op.reach == "pointwise") for node in behind)
    if y.size == 1 or found.blocks or not all(not x.shape or (alone and x.shape == y.shape) for x in found.leaves):
        return found.combined(found.slopes(y))
    # Each entry depends on one entry of a leaf, on the number or on that in its own place: one forward pass a leaf.
    terms = [
        autodiff.forward_mode.push(y, {x.node: np.reshape(found.u[found.places[x.node]], x.shape)}, False)
        for x in found.leaves
    ]
    return np.hypot.reduce([np.zeros(y.shape) if term is None else term for term in terms])


class Second(NamedTuple):
    """What the second order of the Taylor series adds: a bias, and the standard deviation of its term.

    That is negative where the variance becomes less, which only a distribution that is not symmetric can bring about.
    """

    bias: float
    u: float

    def with_first(self, u: float) -> float:
        """The uncertainty in all, for that of the first order."""
        return hypot(u, self.u) if self.u >= 0.0 else sqrt(max(u - self.u, 0.0) * max(u + self.u, 0.0))


def second_order(y: Tensor, found: Sources) -> Second:
    """The terms of the second order of one number: E[y] - y and the variance of the quadratic term.

    That is 1/2 tr(H C) and 1/2 tr(H C H C) for normal distributions with covariances C, and for others with the third
    and fourth moments of theirs (Wang and Iyer, Metrologia 42 (2005); Mekid and Vaja, Measurement 41 (2008)).
    """
    rows = zip(autodiff.transforms.hessian(y, found.leaves), found.leaves, strict=True)
    blocks = [[np.reshape(block.value, (x.size, -1)) for block in row] for row, x in rows]
    matrix: Array = np.block(blocks) * np.outer(found.u, found.u)
    product = matrix @ found.correlations
    kurtosis, skewness = np.array([(one.kurtosis, one.skewness) for one in found.distributions]).T
    variance = 0.5 * float(np.trace(product @ product))
    variance += 0.25 * float(np.sum(np.diag(matrix) ** 2 * (kurtosis - 3.0)))
    if skewness.any():
        variance += float(np.sum(found.slopes(y)[0] * found.u * np.diag(matrix) * skewness))
    else:
        variance = max(variance, 0.0)
    return Second(0.5 * float(np.trace(product)), copysign(sqrt(abs(variance)), variance))


def doubtful(y: Any) -> Second | None:
    """The terms of the second order, where one of them is over a tenth of the uncertainty; else None.

    Both are 0 where the uncertainty is 0 only because a function has no slope here, as `abs` at 0 and `round` have
    none. Also None where finding out would take long.
    """
    if not Uncertainty.exists or not isinstance(y, Tensor) or y.size != 1 or y.node.op is None:
        return None
    with as_recorded(y) as found, suppress(AgradError):
        if found is not None and len(reachable(y.node)) <= _LONG and len(found.u) <= MOST:
            second, (u,) = second_order(y, found), found.combined(found.slopes(y))
            flat = u == 0.0 and any(_is_flat(node) for node in reachable(y.node))
            return second if flat or max(map(abs, second)) > 0.1 * u else None
    return None


def _is_flat(node: Node) -> bool:
    """Whether a node has uncertain operands and no uncertainty, since its derivative is 0 at a kink or on a step."""
    if node.op is None or not (node.op.kinks or node.op.selects):
        return False
    own, *given = [uncertainty(bare(x, x.value)) for x in (node, *node.inputs) if isinstance(x, Node)]
    uncertain = [u for u in given if u is not None and np.any(u)]
    may_cancel = len(uncertain) > 1 and not node.op.selects  # x/x
    return own is not None and not np.any(own) and bool(uncertain) and not may_cancel


# In the language


_making = partial(composed, family=FAMILY, derivative="the result is a leaf")

_making(
    "normal",
    "mean, u; dof=None",
    doc="An uncertain value with a normal distribution: the same as mean ± u. dof: its degrees of freedom.",
    example="normal(2, 0.1).u == 0.1",
)(uncertain)


def _between(what: str, kind: Distribution, a: Any, b: Any, dof: Any = None) -> Tensor:
    low, high = number_of(what, "an end", a), number_of(what, "an end", b)
    if not low <= high:
        raise AgradError("domain", f"{what}: the ends are {describe(low)} and {describe(high)}, and not in order")
    return uncertain((low + high) / 2, (high - low) / 2 / kind.width, dof, kind)


_UNIFORM = UNIFORM, 12, "that is anywhere from a to b"
_TRIANGULAR = TRIANGULAR, 24, "from a to b that is likely in the middle"
_ARCSINE = ARCSINE, 8, "that swings from a to b, as a sine does"
for _kind, _divisor, _where in (_UNIFORM, _TRIANGULAR, _ARCSINE):
    _making(
        _kind.name,
        "a, b; dof=None",
        doc=f"An uncertain number {_where}: u is (b - a)/sqrt({_divisor}).",
        example=f"{_kind.name}(0, {_divisor // 2}).u ~= sqrt({_divisor // 4})",
    )(partial(_between, _kind.name, _kind))


@_making("trapezoidal", "a, b, beta; dof=None")
def _trapezoidal(a: Any, b: Any, beta: Any, dof: Any) -> Tensor:
    """An uncertain number from a to b, likely in the middle beta*(b - a): u is (b - a)*sqrt((1 + beta**2)/24).

    example: trapezoidal(0, 12, 0.5).u ~= sqrt(7.5)
    """
    return _between("trapezoidal", _trapezoid(beta), a, b, dof)


@_making("from_sample", "sample")
def _from_sample(sample: Any) -> Tensor:
    """An uncertain number that is distributed as the entries of a sample, such as the values of a simulation.

    example: from_sample([1, 2, 3]).u == 1
    """
    x = _readings("from_sample", sample)
    if len(x) < 2 or not np.ptp(x) > 0.0:
        raise AgradError("domain", "from_sample needs two different values or more")
    return uncertain(float(np.mean(x)), float(np.std(x, ddof=1)), None, of_sample(x))


def _readings(what: str, x: Any, axes: int = 1) -> Any:
    x = plain_of(what, "a value", x)
    if not 1 <= len(shape_of(x)) <= axes:
        raise AgradError("shape", f"{what} takes a vector, not an array of shape {format_shape(shape_of(x))}")
    return x


@_making("measured", "readings")
def _measured(readings: Any) -> Tensor:
    """The mean of repeated readings, with u = s/sqrt(n) and n - 1 degrees of freedom (GUM 4.2); of a matrix with a row
    for each time that several quantities were read together, the correlated means (5.2.3).

    example: measured([1, 2, 3]).u ~= 1/sqrt(3)
    """
    x = _readings("measured", readings, 2)
    if len(x) < 2:
        raise AgradError("arity", f"measured needs two readings or more, not {len(x)}")
    if np.ndim(x) == 2:
        return _vector(np.mean(x, axis=0), np.atleast_2d(np.cov(x.T)) / len(x), len(x) - 1.0)
    return uncertain(float(np.mean(x)), float(np.std(x, ddof=1)) / sqrt(len(x)), len(x) - 1.0)


def _vector(values: Any, matrix: Array, dof: float | None) -> Tensor:
    leaf = uncertain(values, np.sqrt(np.diag(matrix)), dof)
    link([leaf.node], correlations(matrix))
    return leaf


@_making("correlated", "values, covariance; dof=None")
def _correlated(values: Any, covariance: Any, dof: Any) -> Tensor:
    """A vector of uncertain numbers with a covariance matrix. dof: its degrees of freedom.

    example: sum(correlated([1, 2], [[4, 2], [2, 9]])).u ~= sqrt(17)
    """
    x, matrix = _readings("correlated", values), np.asarray(plain_of("correlated", "a covariance", covariance))
    if matrix.shape != (len(x), len(x)):
        raise AgradError("shape", f"correlated: a covariance of shape {format_shape(matrix.shape)} for {len(x)} values")
    among = correlations(matrix)
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0) or not _is_possible(among) or np.diag(matrix).min() < 0.0:
        raise AgradError("domain", "correlated: the matrix is no covariance: not symmetric, or not positive")
    return _vector(x, matrix, dof)


def together(values: Sequence[Any]) -> tuple[Tensor, Array, Array]:
    """The entries of some values in one vector, their uncertainties, and the matrix of their correlations.

    Raises AgradError of kind `grad` where a value has lost its uncertainty.
    """
    y = FUNCTIONS["concat"].call([FUNCTIONS["flatten"].call(operand(x)) for x in values])
    y = y if isinstance(y, Tensor) else tensor(y)
    if problem := next(filter(None, [lost(x) for x in values if isinstance(x, Tensor)]), ""):
        raise AgradError("grad", problem, notes=["no_grad, detach(), .data and .grad give plain numbers"])
    with as_recorded(y) as found:
        if found is None:
            return y, np.zeros(y.size), np.eye(y.size)
        slopes = found.slopes(y)
        u = np.reshape(found.combined(slopes), y.size)
        rows = slopes * found.u / np.where(u > 0.0, u, 1.0)[:, None]
        matrix: Array = np.clip(rows @ found.correlations @ rows.T, -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return y, u, matrix


def _matrix_of(name: str, of_readings: str, x: Any, others: Any) -> Tensor:
    values = [x, *(others if isinstance(others, tuple) else [others])]
    unit = units.common(values, f"{name} takes values of one unit, not {{}} and {{}}") if name == "covariance" else None
    _, u, matrix = together([units.infer.bare(x) if units.unit_of(x) is not None else x for x in values])
    if not np.any(u):
        fixes = [Hint("x = 2.0 ± 0.1   makes an uncertain value"), Hint(f"{of_readings}(x, y)   is of readings")]
        raise AgradError("type", f"{name} is of uncertain values, and none of these is", fixes=fixes)
    found = tensor(matrix * np.outer(u, u) if name == "covariance" else matrix)
    units.put(found, unit and units.unit.quotient(units.unit.ONE, units.unit.without_zero(unit), -2))
    return found


for _name, _readings_of, _example in (
    ("covariance", "cov", "(lambda x: covariance(x, 3*x))(normal(2, 0.1)) ~= [[0.01, 0.03], [0.03, 0.09]]"),
    ("correlation", "corrcoef", "(lambda x: correlation(x, -3*x))(normal(2, 0.1)) ~= [[1, -1], [-1, 1]]"),
):
    _making(
        _name,
        "x; *others=()",
        data=("others",),
        doc=f"The {_name} matrix of uncertain values: of numbers, or of the entries of arrays, one after the other.",
        example=_example,
    )(partial(_matrix_of, _name, _readings_of))


def correlations(covariance: Any) -> Array:
    """The correlations of a covariance matrix; nan where that is infinite."""
    scale = np.sqrt(np.abs(np.diag(covariance)))
    with quiet():
        found: Array = covariance / np.outer(*[np.where(scale > 0.0, scale, 1.0)] * 2)
    np.fill_diagonal(found, 1.0)
    return found


def parameters(values: Any, matrix: Any, dof: float = inf) -> list[Tensor]:
    """Correlated uncertain numbers, each a leaf."""
    found = [uncertain(float(x), sqrt(max(float(v), 0.0)), dof) for x, v in zip(values, np.diag(matrix), strict=True)]
    link([x.node for x in found], correlations(matrix))
    return found
