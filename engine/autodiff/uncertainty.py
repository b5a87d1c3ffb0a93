"""Standard uncertainties of values, from those of the leaves that they were computed from.

The law of propagation: u(y)^2 is the sum of dy/dx_i cov(x_i, x_j) dy/dx_j over all leaves (JCGM 100, the GUM, 5.1.2
and 5.2.2). Since the derivatives are those of the graph, what has a source in common is correlated. The second order
of the Taylor series adds a bias, and a term to the variance, by the Hessian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import hypot, inf, sqrt
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from agrad.engine.autodiff.reverse import by_leaves, walk
from agrad.engine.autodiff.transforms import hessian, jacobian, jvp
from agrad.engine.core.arguments import number_of
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import operand
from agrad.engine.core.graph import Node, Uncertainty, by_seq, collect, leading_to, new_node, reachable
from agrad.engine.core.op import composed
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.core.versions import check_walkable
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import Value, coerce, describe, fits, format_shape, np, shape_of, spread

FAMILY = "uncertainty"
KURTOSIS = {"normal": 3.0, "uniform": 1.8, "triangular": 2.4}
MOST = 40  # entries of sources: of more, the second order is computed only when it is asked for
_LONG = 4000  # nodes, for the same

_used = [False]  # whether there is any uncertain leaf: if not, no graph is searched for them


def is_used() -> bool:
    """Whether any value is uncertain."""
    return _used[0]


# Leaves


def uncertain(value: Any, u: Any, dof: float = inf, shape: str = "normal") -> Tensor:
    """A leaf with a standard uncertainty; of a computed value, its sum with such a leaf that is 0."""
    if type(value) is float and type(u) is float and u >= 0.0:
        made = bare(new_node(None, (), None, value, (), True))
    else:
        value, u = operand(value), _plain("an uncertainty", u)
        if isinstance(value, Tensor) and value.node.recorded:
            return value + uncertain(spread(0.0, value.shape), u, dof, shape)
        made = tensor(value, requires_grad=True)
        if not fits(shape_of(u), made.shape):
            shapes = f"{format_shape(shape_of(u))} to a value of shape {format_shape(made.shape)}"
            raise AgradError("shape", f"an uncertainty of shape {shapes}")
        if not np.all(np.asarray(u) >= 0.0):
            raise AgradError("domain", f"an uncertainty is 0 or positive, not {describe(float(np.min(u)))}")
        u = np.broadcast_to(u, made.shape).copy() if made.shape else float(u)
    made.node.extra = Uncertainty(u, dof, shape)
    _used[0] = True
    return made


def _plain(what: str, x: Any) -> Any:
    """An argument without a graph. Raises AgradError of kind `type` where that would lose derivatives."""
    x = operand(x)
    if not isinstance(x, Tensor):
        return x
    if x.requires_grad:
        raise AgradError("type", f"{what}: plain numbers are needed, not what has derivatives; use .detach()")
    return x.value


def percent(value: Any, u: Any) -> Tensor:
    """`value ± u %`."""
    return uncertain(value, abs(value.value if isinstance(value, Tensor) else operand(value)) * (u * 0.01))


def as_leaf(value: Any) -> Tensor:
    """A new leaf with the data of a value, and with its uncertainty."""
    u = uncertainty(value)
    return tensor(value, requires_grad=True) if u is None else uncertain(value.detach(), u)


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
    u = np.concatenate([_u(a.node), _u(b.node)])
    link([a.node, b.node], np.outer(u, u) * [[1.0, r], [r, 1.0]])


def link(nodes: Sequence[Node], matrix: Any) -> None:
    """Set the covariances of the entries of some leaves."""
    log, where = current().undo_log, _places(nodes)
    for x in nodes:
        known = known_of(x)
        if log is not None:
            log.remember(("covariances", x), partial(setattr, known, "linked", known.linked))
        blocks = {y: matrix[where[x], where[y]] for y in nodes}
        known.linked = WeakKeyDictionary({**known.linked, **blocks})


def known_of(node: Node) -> Uncertainty:
    """What is known of a source."""
    assert node.uncertainty is not None
    return node.uncertainty


def _u(node: Node) -> Any:
    return np.reshape(np.asarray(known_of(node).u, dtype=float), -1)


def _places(nodes: Sequence[Node]) -> dict[Node, slice]:
    """Where the entries of each leaf are among those of all."""
    ends = np.cumsum([0, *[len(_u(node)) for node in nodes]]).tolist()
    return {node: slice(*pair) for node, pair in zip(nodes, pairwise(ends), strict=True)}


def covariance(nodes: Sequence[Node]) -> Any:
    """The covariance matrix of the entries of some leaves.

    Raises AgradError of kind `domain` where the correlations contradict each other.
    """
    where, matrix = _places(nodes), np.diag(np.concatenate([_u(node) ** 2 for node in nodes]))
    for x in nodes:
        for y, block in known_of(x).linked.items():
            if y in where:
                matrix[where[x], where[y]] = block
    if _are_linked(nodes) and not _is_possible(matrix):
        names = ", ".join(node.spell() for node in nodes)
        raise AgradError("domain", f"the correlations of {names} contradict each other: no variances have them")
    return matrix


def _is_possible(matrix: Any) -> bool:
    """Whether a matrix has no negative variance in any direction, but for rounding."""
    scale = np.sqrt(np.diag(matrix))
    scale = np.where(scale > 0, scale, 1.0)
    return bool(np.linalg.eigvalsh(matrix / np.outer(scale, scale)).min() >= -1e-9)


# Propagation


def sources(y: Tensor) -> list[Node]:
    """The uncertain leaves behind a value, the oldest first."""
    if not _used[0] or not y.requires_grad:
        return []
    found = [node for node in reachable(y.node) if node.uncertainty is not None]
    return sorted(found, key=by_seq)


def uncertainty(y: Any) -> Value | None:
    """The standard uncertainty of a value, in its shape; None of one that does not depend on an uncertain leaf.

    Raises AgradError of kind `freed` where the graph is gone.
    """
    if not isinstance(y, Tensor) or not _used[0] or not y.node.requires_grad:
        return None
    root = y.node
    if root.uncertainty is not None:
        return root.uncertainty.u
    known = by_leaves(root)
    if known is not None:
        return _combined(known[0])
    nodes = sources(y)
    if nodes and y.size > 1:
        return _of_entries(y, nodes)
    found = _combined(dict(zip(nodes, gradient(y, nodes), strict=True)))
    return found if found is None else spread(found, y.shape)


def _combined(slopes: Mapping[Node, Value]) -> float | None:
    """The uncertainty of one number with these derivatives by leaves; None where none of them is uncertain."""
    terms: list[Any] = []
    for node, slope in slopes.items():
        known = node.extra
        if type(known) is Uncertainty:
            if known.linked or node.shape:
                break
            terms.append(slope * known.u)
    else:
        return hypot(*terms) if terms else None
    nodes = sorted([node for node in slopes if node.uncertainty is not None], key=by_seq)
    flat = np.concatenate([np.reshape(slopes[node], -1) for node in nodes])
    return sqrt(max(float(flat @ covariance(nodes) @ flat), 0.0))


def _are_linked(nodes: Sequence[Node]) -> bool:
    return any(x in nodes for node in nodes for x in known_of(node).linked)


def handles(nodes: Sequence[Node]) -> list[Tensor]:
    """The leaves as values."""
    return [bare(node, node.value if node.shape else None) for node in nodes]


def gradient(y: Tensor, nodes: Sequence[Node]) -> list[Value]:
    """The derivatives of one number by the sources behind it. Raises AgradError of kind `freed` or `stale`."""
    order = leading_to(collect([y.node]), nodes)
    check_walkable(order, y.node)
    found = walk(order, {y.node: spread(1.0, y.shape)}, False, nodes, hooks=False) if y.node in order else {}
    return [found.get(node, 0.0) for node in nodes]


def _of_entries(y: Tensor, nodes: Sequence[Node]) -> Value:
    """The uncertainties of the entries of an array."""
    if not _are_linked(nodes) and all(_moves_alone(y, node) for node in nodes):
        terms = [jvp(y, x, known_of(x.node).u).value for x in handles(nodes)]
        return coerce(np.sqrt(sum(np.square(term) for term in terms)))
    rows = [np.reshape(j.value, (y.size, -1)) for j in jacobian(y, handles(nodes))]
    slopes = np.concatenate(rows, axis=1)
    variances = np.einsum("ij,jk,ik->i", slopes, covariance(nodes), slopes)
    return coerce(np.sqrt(np.maximum(variances, 0.0)).reshape(y.shape))


def _moves_alone(y: Tensor, source: Node) -> bool:
    """Whether each entry of a value depends on one entry of a leaf: on the number, or on that in its own place."""
    return not source.shape or (
        source.shape == y.shape
        and all(
            node.shape in ((), y.shape) and (not node.op or node.op.reach == "pointwise") for node in reachable(y.node)
        )
    )


class Second(NamedTuple):
    """What the second order of the Taylor series adds: a bias, and the standard deviation of its term."""

    bias: float
    u: float


def second_order(y: Tensor, nodes: Sequence[Node]) -> Second:
    """The terms of the second order of one number: E[y] - y and the variance of the quadratic term.

    That is 1/2 tr(H C) and 1/2 tr(H C H C) for normal distributions with covariances C, and for others with the fourth
    moments of theirs (Wang and Iyer, Metrologia 42 (2005); Mekid and Vaja, Measurement 41 (2008)).
    """
    xs = handles(nodes)
    found, known = hessian(y, xs), covariance(nodes)
    if not isinstance(found, Tensor):  # blocks
        rows = zip(found, xs, strict=True)
        found = np.block([[np.reshape(b.value, (x.size, -1)) for b in row] for row, x in rows])
    matrix = np.reshape(np.asarray(found), known.shape)
    product = matrix @ known
    kurtosis = np.concatenate([np.full(len(_u(n)), KURTOSIS[known_of(n).shape]) for n in nodes])
    variance = 0.5 * float(np.trace(product @ product))
    variance += 0.25 * float(np.sum((np.diag(matrix) * np.diag(known)) ** 2 * (kurtosis - 3.0)))
    return Second(0.5 * float(np.trace(product)), sqrt(max(variance, 0.0)))


def doubtful(y: Any) -> Second | None:
    """The terms of the second order, where one of them is over a tenth of the uncertainty; else None.

    Also None where finding out would take long, or the graph has been freed.
    """
    if not _used[0] or not isinstance(y, Tensor) or y.size != 1 or y.node.op is None:
        return None
    nodes = sources(y)
    if not nodes or len(reachable(y.node)) > _LONG or sum(len(_u(node)) for node in nodes) > MOST:
        return None
    try:
        u = float(np.reshape(np.asarray(uncertainty(y)), -1)[0])
        found = second_order(y, nodes)
    except AgradError:
        return None
    return found if max(abs(found.bias), found.u) > 0.1 * u else None


# In the language


@composed(
    "normal",
    "mean, u; dof=None",
    family=FAMILY,
    doc="An uncertain value with a normal distribution: the same as mean ± u. dof: its degrees of freedom.",
    derivative="the result is a leaf",
    example="normal(2, 0.1).u == 0.1",
)
def _normal(mean: Any, u: Any, dof: Any) -> Tensor:
    return uncertain(mean, u, _freedom("normal", dof))


def _freedom(what: str, dof: Any) -> float:
    """Degrees of freedom; infinitely many where none are given."""
    number = inf if dof is None else number_of(what, "dof", dof)
    if not number > 0:
        raise AgradError("domain", f"{what}: dof is positive, not {describe(number)}")
    return number


def _between(what: str, divisor: float, a: Any, b: Any, dof: Any) -> Tensor:
    low, high = number_of(what, "an end", a), number_of(what, "an end", b)
    if not low <= high:
        raise AgradError("domain", f"{what}: the ends are {describe(low)} and {describe(high)}, and not in order")
    return uncertain((low + high) / 2, (high - low) / sqrt(divisor), _freedom(what, dof), what)


_UNIFORM = "uniform", 12, "that is anywhere from a to b"
_TRIANGULAR = "triangular", 24, "from a to b that is likely in the middle"
for _name, _divisor, _where in (_UNIFORM, _TRIANGULAR):
    composed(
        _name,
        "a, b; dof=None",
        family=FAMILY,
        doc=f"An uncertain number {_where}: u is (b - a)/sqrt({_divisor}).",
        derivative="the result is a leaf",
        example=f"{_name}(0, {_divisor // 2}).u ~= sqrt({_divisor // 4})",
    )(partial(_between, _name, _divisor))


def _readings(what: str, x: Any) -> Any:
    x = _plain(what, x)
    if len(shape_of(x)) != 1:
        raise AgradError("shape", f"{what} takes a vector, not an array of shape {format_shape(shape_of(x))}")
    return x


@composed(
    "measured",
    "readings",
    family=FAMILY,
    doc="The mean of repeated readings, with u = s/sqrt(n) and n - 1 degrees of freedom (GUM 4.2).",
    derivative="the result is a leaf",
    example="measured([1, 2, 3]).u ~= 1/sqrt(3)",
)
def _measured(readings: Any) -> Tensor:
    x = _readings("measured", readings)
    if len(x) < 2:
        raise AgradError("arity", f"measured needs two readings or more, not {len(x)}")
    return uncertain(float(np.mean(x)), float(np.std(x, ddof=1)) / sqrt(len(x)), len(x) - 1.0)


@composed(
    "correlated",
    "values, covariance",
    family=FAMILY,
    doc="A vector of uncertain numbers with a covariance matrix.",
    derivative="the result is a leaf",
    example="sum(correlated([1, 2], [[4, 2], [2, 9]])).u ~= sqrt(17)",
)
def _correlated(values: Any, covariance: Any) -> Tensor:
    x, matrix = _readings("correlated", values), np.asarray(_plain("correlated", covariance))
    if matrix.shape != (len(x), len(x)):
        raise AgradError("shape", f"correlated: a covariance of shape {format_shape(matrix.shape)} for {len(x)} values")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0) or not _is_possible(matrix):
        raise AgradError("domain", "correlated: the matrix is no covariance: not symmetric, or not positive")
    leaf = uncertain(x, np.sqrt(np.diag(matrix)))
    link([leaf.node], np.array(matrix))
    return leaf


def parameters(values: Any, matrix: Any, dof: float = inf) -> list[Tensor]:
    """Correlated uncertain numbers, each a leaf."""
    found = [uncertain(float(x), sqrt(max(float(v), 0.0)), dof) for x, v in zip(values, np.diag(matrix), strict=True)]
    link([x.node for x in found], matrix)
    return found
