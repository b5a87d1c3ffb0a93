"""Nonlinear least squares: a model fitted to points, by sums over parts of the data.

The sums of parts are joined two by two in a binary tree, whose leaves are the parts in their order: so errors of
rounding stay small, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from math import isfinite, sqrt
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
_ENTRIES = 8192  # of a vector or matrix, up to which BLAS starts no threads: their number would show in the last digits


class Ask(NamedTuple):
    """What is to be summed: at the parameters p, R piece by piece, or the products; and what was measured."""

    p: Array
    by_pieces: bool
    moments: bool = True


class Sums:
    """The sums over some points: products of the columns of [J | r], or R of a QR decomposition of that.

    `count`, `mean`, `spread`: of what was measured, its number, its mean and the squares of the differences from that;
    `rss`: the sum of the squares of r, unweighted.
    """

    def __init__(self, ask: Ask) -> None:
        size = len(ask.p) + 1
        self.by_pieces, self.moments = ask.by_pieces, ask.moments
        self.table = np.zeros((size, size))  # R, or the products, without those of r with J
        self.rss = 0.0
        self.is_weighted = False
        self.count, self.mean, self.spread = 0, 0.0, 0.0

    def take(self, table: Array, y: Array, sigma: Array | float | None) -> None:
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
            if not np.all((np.asarray(sigma) > 0) & np.isfinite(sigma)):
                raise AgradError("domain", "fit: sigma must be positive and finite: a number, or one for each point")
            table /= sigma
        if self.by_pieces:
            self._take_rows(table)
        else:
            self._take_products(table)

    def joined(self, other: Sums) -> Sums:
        """New sums, over these points and others, which come after them."""
        found = copy(self)
        found._take_moments(other.count, other.mean, other.spread)
        found.rss += other.rss
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
        length = max(min(_PRODUCTS // len(table) ** 2, _ENTRIES // 2), 1)
        for begin in range(0, table.shape[1], length):
            part = table[:, begin : begin + length]
            self.table[:-1] += part[:-1] @ part.T
            self.table[-1, -1] += part[-1] @ part[-1]

    def factor(self) -> Array | None:
        """R of [J | r]: None where the products do not give it to ten digits, not finite where J or r is not."""
        return self.table if self.by_pieces else _from_products(self.table)


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


def fitted(f: Callable[..., Any], names: Sequence[str], start: Sequence[float], y: Array, sigma: Any) -> Fit:
    """The parameters with which a model fits measurements. Raises AgradError of kind `shape`, `guard` or `domain`."""
    program = settled("fit", trace(f, list(start), names))
    for what, shape in (("the model", program.shape(program.outputs[0])), ("sigma", np.shape(sigma))):
        if shape not in ((), y.shape):
            shapes = f"{format_shape(shape)}, and what was measured {format_shape(y.shape)}"
            raise AgradError("shape", f"fit: {what} has shape {shapes}")
    if not np.isfinite(y).all():
        raise AgradError("domain", f"fit: what was measured is {format_number(y[~np.isfinite(y)][0])} in some places")
    columns = _columns(program, len(y))
    if columns is None:
        return fit(in_one(_as_a_whole(program, start, y, sigma)), names, start)
    model = _by_points(program, columns, start, y, sigma)
    whole = in_one(partial(model, [slice(begin, begin + _PIECE) for begin in range(0, len(y), _PIECE)]))
    if len(y) < _MANY or len(names) >= _SAMPLE:
        return fit(whole, names, start)
    sample = np.sort(np.random.default_rng(0).integers(0, len(y), _SAMPLE))
    return fit(whole, names, start, in_one(partial(model, [sample])))


def _columns(program: Program, count: int) -> list[int] | None:
    """The constants that have a number for each point; None where the points are not computed one by one."""
    shapes = [program.shape(slot) for slot in range(program.first + len(program.steps))]
    if not count or any(shape not in ((), (count,)) for shape in shapes):
        return None
    if any(step.op.reach != "pointwise" or "axis" in step.attrs for step in program.steps):
        return None
    return [slot for slot in range(len(program.inputs), program.first) if shapes[slot]]


def _by_points(
    program: Program, columns: Sequence[int], start: Sequence[float], y: Array, sigma: Any
) -> Callable[[Sequence[Any], Array], Iterator[tuple[Array, Array, Any]]]:
    """A model of numbers, mapped over columns: the tables of some pieces, each of which is the places of its points."""
    size = len(program.inputs)
    data: list[Any] = [program.constants[slot - size] for slot in columns]

    def point(*entries: Any) -> Any:
        xs, constants = [x if isinstance(x, Tensor) else tensor(x) for x in entries], list(program.constants)
        for slot, x in zip(columns, xs[size:], strict=True):
            constants[slot - size] = x.node  # type: ignore[call-overload]  # `inlined` takes nodes as values
        return inlined(replace(program, constants=tuple(constants)), xs[:size])[0]

    numbers = [0.0 if shape_of(x) else x for x in program.constants]
    same = key(replace(program, constants=tuple(numbers))), tuple(columns)  # a model is often fitted to other data
    examples = [*start, *[float(column[0]) for column in data]]
    code = again(Compiled, f"fit {same}", None, point, examples, tuple(range(size)), AUTO, {})

    def pieces(places: Sequence[Any], p: Array) -> Iterator[tuple[Array, Array, Any]]:
        for here in places:
            measured = y[here]
            table = np.empty((size + 1, len(measured)))
            given = [*[np.broadcast_to(x, len(measured)) for x in p], *[column[here] for column in data]]
            code.map(*given, out=(table[-1], list(table[:-1])))
            yield table, measured, sigma[here] if np.shape(sigma) else sigma

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
