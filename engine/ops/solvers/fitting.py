"""Nonlinear least squares: a model fitted to points, by sums over parts of the data.

The sums of parts are joined two by two in a binary tree, whose leaves are the parts in their order: so errors of
rounding stay small, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

from agrad.engine.autodiff.uncertainty import correlations
from agrad.engine.compile.derive import row
from agrad.engine.compile.function import Compiled, again
from agrad.engine.compile.python_backend import Compiled as Replayed
from agrad.engine.compile.registry import AUTO
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.ops.solvers.implicit import newton
from agrad.engine.ops.solvers.losses import Loss
from agrad.engine.program.closed import settled
from agrad.engine.program.ir import Program
from agrad.engine.program.passes import key, optimised
from agrad.engine.program.trace import as_graph, extract, inlined, trace
from agrad.engine.text import Grid, counted, in_lines
from agrad.engine.values import Array, format_number, format_shape, format_uncertain, np, shape_of

# For some parameters: of each piece of the data a new table, what was measured, and the standard uncertainties of
# that, if they are known. The rows of the table are the derivatives of the model, and its values.
Pieces = Callable[[Array], Iterable[tuple[Array, Array, "Array | float | None"]]]

_CONDITION = 1e3  # of J, its columns scaled to length 1, up to which R follows from sums of products
_TINY = 1e-140  # length of a column, from which on its products are above the smallest numbers
_PRODUCTS = 200_000  # of entries of two matrices, for the same
_LEAST_BEND = 0.1  # of a loss, as a part of its weight: a search needs a bend that is positive
_ENTRIES = 8192  # of a vector or matrix, up to which BLAS starts no threads: their number would show in the last digits


class Ask(NamedTuple):
    """What is to be summed: at the parameters p, R piece by piece, or the products; and what was measured."""

    p: Array
    by_pieces: bool
    moments: bool = True
    loss: Loss | None = None


class Covariance(NamedTuple):
    """That of measurements that are correlated: the variances, what makes them independent, and the log determinant."""

    variances: Array
    whitening: Array
    log: float

    @classmethod
    def of(cls, matrix: Array) -> Covariance:
        """That of a matrix. Raises AgradError of kind `domain` where it is none."""
        is_symmetric = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-9, atol=0)
        try:
            left = np.linalg.cholesky(matrix if is_symmetric else -np.eye(1))
        except np.linalg.LinAlgError:
            why = "not positive definite" if is_symmetric else "not symmetric"
            raise AgradError("domain", f"fit: the matrix in sigma is no covariance of measurements: {why}") from None
        log = 2.0 * float(np.sum(np.log(np.diag(left))))
        return cls(np.diag(matrix).copy(), np.linalg.inv(left), log)


class Sums:
    """The sums over some points: products of the columns of [J | r], or R of a QR decomposition of that.

    `count`, `mean`, `spread`: of what was measured, its number, its mean and the squares of the differences from that;
    `rss`: the sum of the squares of r, unweighted; `chi2`: of r divided by its uncertainties, and `logs` the sum of the
    logarithms of the squares of these.

    With a loss, the rows of the table are such that its products are the slope of half the cost, and a bend that is
    positive; `bend` is the true one, `meat` the products of the slopes of the points, `beyond` the number of residuals
    over the scale.
    """

    def __init__(self, ask: Ask) -> None:
        size = len(ask.p) + 1
        self.by_pieces, self.moments = ask.by_pieces, ask.moments
        self.table = np.zeros((size, size))  # R, or the products, without those of r with J
        self.rss = self.chi2 = self.logs = self.cost = 0.0
        self.is_weighted = False
        self.loss, self.beyond = ask.loss, 0
        self.bend, self.meat = np.zeros((2, size - 1, size - 1))
        self.count, self.mean, self.spread = 0, 0.0, 0.0

    def take(self, table: Array, y: Array, sigma: Any) -> None:
        """Add a piece of the data, whose table is written over. Raises AgradError of kind `domain`."""
        if not len(y):
            return
        if self.moments:
            mean = float(np.mean(y))
            self._take_moments(len(y), mean, _square(y - mean))
        table[-1] -= y
        self.rss += _square(table[-1])
        if sigma is not None:
            self.is_weighted = True
            table = self._divided(table, sigma)
        self.chi2 += _square(table[-1])
        if self.loss is not None:
            self._take_slopes(table, self.loss)
        if self.by_pieces:
            self._take_rows(table)
        else:
            self._take_products(table)

    def _divided(self, table: Array, sigma: Any) -> Array:
        """A table whose columns have the variance 1."""
        if isinstance(sigma, Covariance):
            self.logs += sigma.log
            return np.array(table @ sigma.whitening.T)
        if not np.all((np.asarray(sigma) > 0) & np.isfinite(sigma)):
            raise AgradError("domain", "fit: sigma must be positive and finite: a number, or one for each point")
        self.logs += 2.0 * float(np.sum(np.log(np.broadcast_to(sigma, table.shape[1]))))
        table /= sigma
        return table

    def _take_slopes(self, table: Array, loss: Loss) -> None:
        """Add the cost of the residuals, and make rows of the table of which the products are its slope and bend."""
        slopes, residuals = table[:-1], table[-1]
        cost, weight, bend = loss.of(residuals)
        self.cost += float(np.einsum("i->", cost))
        self.beyond += int(np.count_nonzero(np.abs(residuals) > loss.scale))
        half = weight * residuals
        for begin in range(0, len(half), self._length):
            here = slice(begin, begin + self._length)
            self.bend += (slopes[:, here] * bend[here]) @ slopes[:, here].T
            self.meat += (slopes[:, here] * half[here] ** 2) @ slopes[:, here].T
        root = np.sqrt(np.maximum(bend, _LEAST_BEND * weight))
        slopes *= root
        residuals *= np.divide(weight, root, out=np.zeros_like(root), where=root > 0.0)

    def joined(self, other: Sums) -> Sums:
        """New sums, over these points and others, which come after them."""
        found = copy(self)
        found._take_moments(other.count, other.mean, other.spread)
        for name in ("rss", "chi2", "logs", "cost", "beyond", "bend", "meat"):
            setattr(found, name, getattr(self, name) + getattr(other, name))
        found.is_weighted = self.is_weighted or other.is_weighted
        if self.by_pieces:
            found._take_rows(other.table.T)
        else:
            found.table = self.table + other.table
        return found

    def _take_moments(self, count: int, mean: float, spread: float) -> None:
        """Add those of other points (Chan, Golub and LeVeque, The American Statistician 37, 1983)."""
        total, distance = max(self.count + count, 1), mean - self.mean
        self.spread += spread + distance**2 * self.count * count / total
        self.mean += distance * count / total
        self.count += count

    def _take_rows(self, table: Array) -> None:
        """Add the columns of a table, as rows of [J | r], to its QR decomposition."""
        size = len(table)
        length = max(_ENTRIES // size - size, size)
        for begin in range(0, table.shape[1], length):
            whole = np.concatenate([self.table.T, table[:, begin : begin + length]], axis=1)
            self.table = np.array(np.linalg.qr(whole.T, mode="r"))

    def _take_products(self, table: Array) -> None:
        """Add the products of the rows of a table, in matrices for which BLAS starts no threads.

        Those of J with [J | r], and of r with itself: of a matrix with itself, BLAS computes one half, which takes
        twice as long where there are few rows.
        """
        for begin in range(0, table.shape[1], self._length):
            part = table[:, begin : begin + self._length]
            self.table[:-1] += part[:-1] @ part.T
            self.table[-1, -1] += part[-1] @ part[-1]

    @property
    def _length(self) -> int:
        """The number of rows of which products are added at once."""
        return max(min(_PRODUCTS // len(self.table) ** 2, _ENTRIES // 2), 1)

    def factor(self) -> Array | None:
        """R of [J | r]: None where the products do not give it to ten digits, not finite where J or r is not.

        With a loss, the square of the length of its last column is the cost.
        """
        found = self.table if self.by_pieces else _from_products(self.table)
        return found if found is None or self.loss is None else _of_cost(found, self.cost)


def _square(x: Array) -> float:
    """The sum of the squares of a vector; BLAS would start threads."""
    return float(np.einsum("i,i", x, x))


def _from_products(gram: Array) -> Array | None:
    """R of [J | r] from the products of the columns of J with it, and of r with r; None where that loses digits."""
    scale = np.sqrt(np.diag(gram)[:-1])
    if not np.isfinite(gram).all() or not np.all(scale > _TINY):
        return None
    normed = gram[:-1, :-1] / np.outer(scale, scale)
    if np.linalg.cond(normed) > _CONDITION**2:
        return None
    left = np.linalg.cholesky(normed)
    factor = np.zeros_like(gram)
    factor[:-1, :-1] = left.T * scale
    factor[:-1, -1] = np.linalg.solve(left, gram[:-1, -1] / scale)
    factor[-1, -1] = sqrt(max(gram[-1, -1] - float(np.sum(factor[:-1, -1] ** 2)), 0.0))
    return factor


def _of_cost(factor: Array, cost: float) -> Array:
    """R of a slope and a bend that have this cost; where they promise to lower it below 0, the bend is made larger."""
    found = factor.copy()
    promised = _square(found[:-1, -1])
    if promised > cost > 0.0:
        ratio = sqrt(promised / cost)
        found[:-1, :-1] *= ratio
        found[:-1, -1] /= ratio
    found[-1, -1] = sqrt(max(cost - _square(found[:-1, -1]), 0.0)) if isfinite(cost) else cost
    return found


def joined(several: Iterable[Sums]) -> Sums:
    """The sums of all parts, in their order. There must be one.

    They are joined as they come: few are kept, one for each level of the tree.
    """
    nodes: list[tuple[int, Sums]] = []  # with the number of parts in each, from left to right
    for sums in several:
        found, count = sums, 1
        while nodes and nodes[-1][0] == count:
            found = nodes.pop()[1].joined(found)
            count *= 2
        nodes.append((count, found))
    _, found = nodes.pop()
    while nodes:
        found = nodes.pop()[1].joined(found)
    return found


def summed(ask: Ask, pieces: Iterable[tuple[Array, Array, Any]]) -> Sums:
    """The sums over the pieces of one part."""
    sums = Sums(ask)
    for table, y, sigma in pieces:
        sums.take(table, y, sigma)
    return sums


# Fits of a model of some parameters to points: its values and derivatives at all of them, for `fitting`.
#
# Where each point is computed by itself, as in a*exp(-b*x), the model is compiled as a function of numbers, mapped
# over columns. Where it is not, as in the solution of a differential equation, it is differentiated in forward mode.

_PIECE = 131_072  # points at once: their table is some megabytes
_MANY = 20_000  # points, from which on the search begins with a sample of them
_SAMPLE = 2_000  # points
_TRUE = 200  # steps to the true values of x


class Errors(NamedTuple):
    """Columns with uncertainties of their own, which are further arguments of a model, and how these are used.

    `method`: `orthogonal`, by which the true values are found together with the parameters, or `effective`, by which
    they add to the variance of what was measured.
    """

    method: str
    values: Sequence[Array]
    u: Sequence[Array]


def fitted(
    f: Callable[..., Any],
    names: Sequence[str],
    start: Sequence[float],
    y: Array,
    sigma: Any,
    within: Within | None = None,
    errors: Errors | None = None,
) -> Fit:
    """The parameters with which a model fits measurements. Raises AgradError of kind `shape`, `guard` or `domain`.

    `sigma`: their standard uncertainties, or their covariance matrix.
    """
    others = [] if errors is None else list(errors.values)
    program = settled("fit", trace(f, [*start, *others], [*names, *[f"x{place}" for place in range(len(others))]]))
    shapes = ((), y.shape)
    for what, shape in (("the model", program.shape(program.outputs[0])), ("sigma", np.shape(sigma))):
        if shape not in shapes and not (what == "sigma" and shape == 2 * y.shape):
            told = f"{format_shape(shape)}, and what was measured {format_shape(y.shape)}"
            raise AgradError("shape", f"fit: {what} has shape {told}")
    if not np.isfinite(y).all():
        raise AgradError("domain", f"fit: what was measured is {format_number(y[~np.isfinite(y)][0])} in some places")
    known = Covariance.of(sigma) if np.ndim(sigma) == 2 else sigma
    columns = _columns(program, len(y), len(start))
    if errors is not None and (columns is None or known is None or known is not sigma):
        why = "one computed point by point" if columns is None else "uncertainties of what was measured, one by one"
        raise AgradError("domain", f"fit: errors {errors.method} needs {why}")
    if columns is None:
        pieces, sample = _as_a_whole(program, start, y, known), None
    else:
        count = len(y) if known is not sigma else _PIECE
        of_points = _by_points if errors is None else partial(_with_errors, errors=errors)
        model = of_points(program, columns, start, y, known)
        pieces = partial(model, [slice(begin, begin + count) for begin in range(0, len(y), count)])
        places = np.sort(np.random.default_rng(0).integers(0, len(y), _SAMPLE))
        is_large = len(y) >= _MANY and len(names) < _SAMPLE and known is sigma
        sample = in_one(partial(model, [places])) if is_large else None
    return fit(in_one(pieces), names, start, sample, within)._replace(pieces=pieces)


def _columns(program: Program, count: int, size: int) -> list[int] | None:
    """The inputs and constants, after the parameters, that have a number for each point.

    None where the points are not computed one by one.
    """
    shapes = [program.shape(slot) for slot in range(program.first + len(program.steps))]
    if not count or any(shape not in ((), (count,)) for shape in shapes):
        return None
    if any(step.op.reach != "pointwise" or "axis" in step.attrs for step in program.steps):
        return None
    return [slot for slot in range(size, program.first) if shapes[slot]]


class Points:
    """A model of numbers, mapped over columns: the values of some points, with derivatives by all inputs.

    `residual` makes another function of the value, the inputs, and `more` numbers of each point.
    """

    def __init__(
        self,
        program: Program,
        columns: Sequence[int],
        examples: Sequence[Any],
        residual: Callable[[Tensor, list[Tensor], list[Tensor]], Tensor] | None = None,
        more: int = 0,
    ) -> None:
        inputs = len(program.inputs)
        self.rows = inputs + 1
        places = [slot - inputs for slot in columns if slot >= inputs]
        self.data: list[Any] = [program.constants[place] for place in places]

        def point(*entries: Any) -> Any:
            xs, constants = [x if isinstance(x, Tensor) else tensor(x) for x in entries], list(program.constants)
            for place, x in zip(places, xs[inputs:], strict=False):
                constants[place] = x.node  # type: ignore[call-overload]  # `inlined` takes nodes as values
            found = inlined(replace(program, constants=tuple(constants)), xs[:inputs])[0]
            return found if residual is None else residual(found, xs[:inputs], xs[inputs + len(places) :])

        numbers = [0.0 if shape_of(x) else x for x in program.constants]
        same = key(replace(program, constants=tuple(numbers))), tuple(columns)  # a model is often fitted to other data
        given = [*[float(np.ravel(x)[0]) for x in (*examples, *self.data)], *[1.0] * more]
        self.code = again(Compiled, f"fit {len(examples)} {more} {same}", None, point, given, tuple(range(inputs)), AUTO, {})

    def at(self, inputs: Sequence[Any], here: Any, count: int, more: Sequence[Any] = ()) -> Array:
        """The derivatives by the inputs, row by row, and the values."""
        table = np.empty((self.rows, count))
        given = [*inputs, *[column[here] for column in self.data], *more]
        self.code.map(*[np.broadcast_to(x, count) for x in given], out=(table[-1], list(table[:-1])))
        return table


ByPoints = Callable[[Sequence[Any], Array], Iterator[tuple[Array, Array, Any]]]


def _by_points(program: Program, columns: Sequence[int], start: Sequence[float], y: Array, sigma: Any) -> ByPoints:
    """The tables of some pieces, each of which is the places of its points."""
    model, has_each = Points(program, columns, start), isinstance(sigma, np.ndarray) and sigma.ndim == 1

    def pieces(places: Sequence[Any], p: Array) -> Iterator[tuple[Array, Array, Any]]:
        for here in places:
            yield model.at(p, here, len(y[here])), y[here], sigma[here] if has_each else sigma

    return pieces


def _with_errors(
    program: Program, columns: Sequence[int], start: Sequence[float], y: Array, sigma: Any, errors: Errors
) -> ByPoints:
    """The same where columns have uncertainties u: the residuals have the variance sigma**2 + sum((df/dx u)**2).

    Orthogonal (Boggs, Byrd and Schnabel, SIAM J. Sci. Stat. Comput. 8, 1987): at the true values of x that are best for
    the parameters, the residual and its slope are those of the tangent there, so that half of the least sum of squares
    has exactly their slope. Effective (Orear, Am. J. Phys. 50, 1982): at the x that were measured, the variance being a
    function of the parameters.
    """
    size = len(start)
    examples = [*start, *errors.values]
    model = Points(program, columns, examples)

    def residual(value: Tensor, inputs: list[Tensor], more: list[Tensor]) -> Tensor:
        measured, variance, *u = more
        for slope, one in zip(row(value, inputs[size:]), u, strict=True):
            variance = variance + (slope * one) ** 2
        found: Tensor = (value - measured) / variance**0.5
        return found

    def orthogonal(p: Array, here: Any, xs: list[Array], u: Array, s: Array) -> tuple[Array, Array]:
        away = before = np.zeros(u.shape)
        count, last = len(s), np.full(len(s), np.inf)
        for _ in range(_TRUE):
            table = model.at([*p, *(x + d for x, d in zip(xs, away, strict=True))], here, count)
            slopes, left = table[size:-1], table[-1] - y[here]
            square = (left / s) ** 2 + np.sum(np.divide(away, u, out=np.zeros(u.shape), where=u > 0) ** 2, axis=0)
            table[-1] -= np.sum(slopes * away, axis=0)
            variance = s**2 + np.sum((slopes * u) ** 2, axis=0)
            aim = -(u**2) * slopes * (table[-1] - y[here]) / variance
            worse = ~(square <= last * (1.0 + 1e-14))
            aim = np.where(worse, (away + before) / 2.0, aim)
            before, last = np.where(worse, before, away), np.where(worse, last, square)
            if not np.any(np.abs(aim - away) > _CLOSE * u):
                break
            away = aim
        return table, np.sqrt(variance)

    def pieces(places: Sequence[Any], p: Array) -> Iterator[tuple[Array, Array, Any]]:
        for here in places:
            s = np.broadcast_to(sigma, y.shape)[here]
            xs, u = [x[here] for x in errors.values], np.stack([x[here] for x in errors.u])
            if errors.method == "orthogonal":
                table, spread = orthogonal(p, here, xs, u, s)
            else:
                table = model.at([*p, *xs], here, len(s))
                spread = np.sqrt(s**2 + np.sum((table[size:-1] * u) ** 2, axis=0))
                table[:size] = bent.at([*p, *xs], here, len(s), [y[here], s**2, *u])[:size] * spread
            yield np.concatenate([table[:size], table[-1:]]), y[here], spread

    if errors.method == "effective":
        bent = Points(program, columns, examples, residual, 2 + len(errors.u))
    return pieces


def _as_a_whole(program: Program, start: Sequence[float], y: Array, sigma: Any) -> Pieces:
    with as_graph(program, list(start), range(len(start))) as (results, xs):
        (value,) = results
        code = Replayed(optimised(extract([*row(value, xs), value], xs)))

    def pieces(p: Array) -> Iterator[tuple[Array, Array, Any]]:
        yield np.stack([np.broadcast_to(x, y.shape) for x in code.call(*p.tolist())]), y, sigma

    return pieces


# Nonlinear least squares, by sums over parts of the data (`sums`).
#
# SciPy's `least_squares` (method `lm`, Moré's MINPACK) asks for residuals and their Jacobian. It uses only their
# lengths and angles, and these are the same after an orthogonal transformation: so it gets the R of a QR decomposition
# of [J | r], with p + 1 residuals for any number of points (Golub and Van Loan, Matrix Computations, 5.3). While J is
# well-conditioned, R is computed from the sums J'J, J'r and r'r (Cholesky); otherwise piece by piece (12.5), so that
# no digits are lost as in the normal equations. The data need not be in memory.

Total = Callable[[Ask], Sums]  # over all points

_MOST = 2000  # evaluations
_CLOSE = 3e-13  # relative step at which the last search ends
_NEAR = 0.1  # relative distance that it may go
_LEAST, _ENOUGH = 1e-15, 1e-9  # relative changes, with which a search in all data, and in a sample, ends
_LARGE = 1e150  # residuals where the model is not finite, which no step of the search takes
_ELSEWHERE = "start from other values, or leave out points where no values help"
_AT_BOUND = 1e-3  # of a step to a parameter beyond its bound: nearer to that, it is held there
_BESIDE = 6e-6  # relative distance for second derivatives, by differences of exact first ones
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
    loss: Loss | None = None
    beyond: int = 0  # points whose residuals are over the scale of the loss
    logs: float = 0.0  # sum of the logarithms of the variances of what was measured
    passes: Any = None
    pieces: Pieces | None = None  # of the whole data, where they are at hand

    @property
    def u(self) -> Array:
        """The standard uncertainties of the parameters."""
        found: Array = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return found

    @property
    def correlation(self) -> Array:
        """The correlations of the parameters."""
        return correlations(self.covariance)

    def parts(self) -> list[str | Grid]:
        """The parameters with their uncertainties, their correlations, and how well they fit."""
        named = zip(self.names, self.values.tolist(), self.u.tolist(), strict=True)
        parts: list[str | Grid] = [
            "\n".join([f"{name} = {format_uncertain(value, u)}" for name, value, u in named]),
            "",
        ]
        if len(self.names) > 1:
            table = [[name, *[f"{r:.3f}" for r in row]] for name, row in zip(self.names, self.correlation, strict=True)]
            parts += [Grid([["correlation", *self.names], *table], range(1, len(self.names) + 1)), ""]
        quality = f"s = {format_number((self.rss / self.dof) ** 0.5, 4)}"
        if self.is_weighted:
            quality = f"chi2/dof = {format_number(self.chi2 / self.dof, 4)}"
        r2 = f", R2 = {format_number(self.r2, 6)}" if isfinite(self.r2) else ""
        return [*parts, f"{quality}{r2}, {counted(self.dof, 'degree')} of freedom"]

    def text(self) -> str:
        """The same in lines."""
        return in_lines(self.parts())

    def failure(self, fix: str) -> AgradError:
        """The error of a search that has not converged."""
        values = zip(self.names, self.values.tolist(), strict=True)
        ended = ", ".join(f"{name} = {format_number(value, 4)}" for name, value in values)
        return AgradError("domain", f"fit: {self.problem}", notes=[f"the search ended at {ended}"], fixes=[Hint(fix)])

    def fields(self) -> dict[str, Any]:
        """The result for JSON."""
        named = zip(self.names, self.values.tolist(), self.u.tolist(), strict=True)
        return {
            "parameters": {name: {"value": value, "u": u} for name, value, u in named},
            **{name: getattr(self, name) for name in ("rss", "chi2", "dof", "r2")},
            "correlation": self.correlation.tolist(),
            "converged": not self.problem,
            "iterations": self.iterations,
            **({"problem": self.problem} if self.problem else {}),
        }


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

    def bend(self, p: Array, sizes: Array) -> Array:
        """The derivatives of `slope`, by differences beside p."""
        columns = []
        for place, size in enumerate(sizes):
            beside = np.zeros(len(p))
            beside[place] = _BESIDE * size
            columns.append((self.slope(p + beside) - self.slope(p - beside)) / (2 * beside[place]))
        found = np.stack(columns, axis=1)
        return (found + found.T) / 2.0


class Some:
    """The same for some of the parameters, `free`, while the others stay as they are in p."""

    def __init__(self, passes: _Passes, p: Array, free: Array) -> None:
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
    """What else is asked of a fit: the bounds of each parameter, and a robust loss."""

    low: Array
    high: Array
    loss: Loss | None = None

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
    for name, value, low, high in zip(names, start, within.low, within.high, strict=True):
        if not low <= value <= high:
            ends = f"{format_number(low)}..{format_number(high)}"
            raise AgradError("domain", f"fit: {name} starts at {format_number(value)}, outside of {ends}")
    for search in (passes,) if sample is None else (_Passes(sample, within.loss), passes):
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
        p, is_found = _searched(search, first, within, _LEAST if search is passes else _ENOUGH)
        p, free, is_settled = _settled_within(passes, p, within)
        result = _result(passes, p, free, is_settled or (is_found and search is passes), list(names), sizes)
        if not result.problem:
            break
    return result


def minimum(passes: Some, start: Array, within: Within) -> Array:
    """The parameters at the minimum near a start."""
    found, _ = _searched(passes, start, within, _LEAST)
    return found


def _searched(passes: _Passes | Some, start: Array, within: Within, least: float) -> tuple[Array, bool]:
    """The parameters at which SciPy's search ends, with changes below `least`, and whether it has converged.

    Its method `lm` knows no bounds: it takes no step beyond them. Where that stops it before a minimum, `trf` goes on.
    """
    optimize = extra("scipy.optimize", "fit", "SciPy", "science")
    outside = np.full(len(start) + 1, _LARGE)
    how = {"x_scale": "jac", "xtol": least, "ftol": least, "gtol": least, "max_nfev": _MOST}

    def residuals(p: Array) -> Array:
        return np.nan_to_num(passes.at(p)[:, -1], nan=_LARGE) if within.holds(p) else outside

    def slopes(p: Array) -> Array:
        return np.nan_to_num(passes.at(p)[:, :-1])

    with np.errstate(all="ignore"):
        found = optimize.least_squares(residuals, start, jac=slopes, method="lm", **how)
        if within.is_bounded and not (found.status > 0 and _is_level(passes.at(found.x)).all()):
            ends = (within.low, within.high)
            found = optimize.least_squares(residuals, found.x, jac=slopes, method="trf", bounds=ends, **how)
    return found.x, found.status > 0


def _is_level(factor: Array) -> Array:
    """Whether the residuals have no part along each column of the Jacobian."""
    slopes, residuals = np.nan_to_num(factor[:, :-1]), np.nan_to_num(factor[:, -1])
    lengths = np.linalg.norm(slopes, axis=0) * np.linalg.norm(residuals)
    found: Array = np.abs(slopes.T @ residuals) <= _ANGLE * lengths
    return found


def _settled_within(passes: _Passes, p: Array, within: Within) -> tuple[Array, Array, bool]:
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
        return found * np.outer(sizes, sizes)

    found, step = newton(slope, matrix, p / sizes, _CLOSE)
    if not np.max(np.abs(found - p / sizes)) <= _NEAR:
        passes.at(p)
        return p, False
    return found * sizes, bool(np.max(np.abs(step)) <= _CLOSE)


def _result(passes: _Passes, p: Array, free: Array, is_found: bool, names: list[str], sizes: Array) -> Fit:
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


def _sandwich(bend: Array, meat: Array, free: Array) -> Array:
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
