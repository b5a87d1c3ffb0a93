"""Fits of models of some parameters to points: their values and derivatives at all of these, for `least_squares.py`.

Where each point is computed by itself, as in a*exp(-b*x), the model is compiled as a function of numbers, mapped over
columns. Where it is not, as in the solution of a differential equation, it is differentiated in forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from agrad.engine.compile.derive import row
from agrad.engine.compile.function import Compiled, again
from agrad.engine.compile.python_backend import Compiled as Replayed
from agrad.engine.compile.registry import AUTO
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.solvers.least_squares import CLOSE, Fit, Within, fit, in_one
from agrad.engine.ops.solvers.sums import Covariance, Pieces, Total
from agrad.engine.program.closed import settled
from agrad.engine.program.ir import Program
from agrad.engine.program.passes import key, optimised
from agrad.engine.program.trace import as_graph, extract, inlined, trace
from agrad.engine.values import Array, format_number, format_shape, np, shape_of

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


class Data(NamedTuple):
    """A model, and what was measured, with its uncertainties or their covariance matrix, if these are known."""

    model: Callable[..., Any]
    y: Array
    sigma: Any = None
    errors: Errors | None = None


def fitted(
    f: Callable[..., Any], names: Sequence[str], start: Sequence[float], y: Array, sigma: Any, **more: Any
) -> Fit:
    """The parameters with which a model fits measurements: see `together`."""
    errors = more.pop("errors", None)
    return together([Data(f, y, sigma, errors)], names, start, **more)


def together(
    several: Sequence[Data], names: Sequence[str], start: Sequence[float], within: Within | None = None
) -> Fit:
    """The parameters with which models fit sets of data. Raises AgradError of kind `shape`, `guard` or `domain`."""
    if len({one.sigma is None for one in several}) > 1:
        why = "some data have uncertainties, and others have none"
        raise AgradError("domain", f"fit: {why}", fixes=[Hint("sigma s   at the end gives all of them one")])
    every = [_pieces(one, names, start) for one in several]

    def pieces(p: Array) -> Iterator[tuple[Array, Array, Any]]:
        return chain.from_iterable(of(p) for of, _ in every)

    sample = every[0][1] if len(every) == 1 else None
    return fit(in_one(pieces), names, start, sample, within)._replace(pieces=pieces)


def _pieces(data: Data, names: Sequence[str], start: Sequence[float]) -> tuple[Pieces, Total | None]:
    """The tables of all points of a set of data, and the sums over a sample of them where they are many."""
    _, y, sigma, errors = data
    others = [] if errors is None else list(errors.values)
    every = [*names, *[f"x{place}" for place in range(len(others))]]
    program = settled("fit", trace(data.model, [*start, *others], every))
    for what, shape in (("the model", program.shape(program.outputs[0])), ("sigma", np.shape(sigma))):
        if shape not in ((), y.shape) and not (what == "sigma" and shape == 2 * y.shape):
            shapes = f"{format_shape(shape)}, and what was measured {format_shape(y.shape)}"
            raise AgradError("shape", f"fit: {what} has shape {shapes}")
    if not np.isfinite(y).all():
        raise AgradError("domain", f"fit: what was measured is {format_number(y[~np.isfinite(y)][0])} in some places")
    known = Covariance.of(sigma) if np.ndim(sigma) == 2 else sigma
    columns = _columns(program, len(y), len(start))
    if errors is not None and (columns is None or known is None or known is not sigma):
        why = "a model computed point by point" if columns is None else "the uncertainties of what was measured"
        raise AgradError("domain", f"fit: errors {errors.method} needs {why}{', one by one' * (known is not None)}")
    if columns is None:
        return _as_a_whole(program, start, y, known), None
    count = len(y) if known is not sigma else _PIECE
    of_points = _by_points if errors is None else partial(_with_errors, errors=errors)
    model = of_points(program, columns, start, y, known)
    whole: Pieces = partial(model, [slice(begin, begin + count) for begin in range(0, len(y), count)])
    if len(y) < _MANY or len(names) >= _SAMPLE or known is not sigma:
        return whole, None
    places = np.sort(np.random.default_rng(0).integers(0, len(y), _SAMPLE))
    return whole, in_one(partial(model, [places]))


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
        self.code = again(
            Compiled, f"fit {len(examples)} {more} {same}", None, point, given, tuple(range(inputs)), AUTO, {}
        )

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
            yield model.at([*p], here, len(y[here])), y[here], sigma[here] if has_each else sigma

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
            if not np.any(np.abs(aim - away) > CLOSE * u):
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
