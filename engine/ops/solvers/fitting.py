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
from agrad.engine.core.context import current
from agrad.engine.core.graph import collect
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.solvers.errors_in_x import at_true_values, of_variance
from agrad.engine.ops.solvers.least_squares import Fit, Within, fit, in_one
from agrad.engine.ops.solvers.refinement import of_linear
from agrad.engine.ops.solvers.sums import Bends, Covariance, Pieces, Total
from agrad.engine.program.closed import settled
from agrad.engine.program.ir import Program, key, optimised
from agrad.engine.program.trace import as_graph, extract, gradients, inlined, traced
from agrad.engine.values import Array, format_number, format_shape, np, shape_of

_PIECE = 131_072  # points at once: their table is some megabytes
_MANY = 20_000  # points, from which on the search begins with a sample of them
_SAMPLE = 2_000  # points


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


def together(
    several: Sequence[Data], names: Sequence[str], start: Sequence[float], within: Within | None = None
) -> Fit:
    """The parameters with which models fit sets of data. Raises AgradError of kind `shape`, `guard` or `domain`."""
    if len({one.sigma is None for one in several}) > 1:
        why = "some data have uncertainties, and others have none"
        raise AgradError("domain", f"fit: {why}", fixes=[Hint("sigma s   at the end gives all of them one")])
    every = [_pieces(one, names, start) for one in several]

    def pieces(p: Array) -> Iterator[tuple[Array, Array, Any]]:
        return chain.from_iterable(of(p) for of, _, _ in every)

    def bends(p: Array) -> Iterator[Array]:
        return chain.from_iterable(of(p) for _, of, _ in every)

    sample = every[0][2] if len(every) == 1 else None
    found = fit(in_one(pieces), names, start, sample, within)
    found = found._replace(pieces=pieces, bends=None if any(one.errors for one in several) else bends)
    is_even = not any(np.ndim(one.sigma) or one.errors or one.sigma != several[0].sigma for one in several)
    return of_linear(found) if is_even else found


def is_linear(model: Callable[..., Any], values: Sequence[float], size: int | None = None) -> bool:
    """Whether the derivatives of a model by its first arguments, as many as `size` says, depend on none of these.

    That is seen in their graph, at some values: it is so for all values.
    """
    names = [f"x{place}" for place in range(len(values))]
    with traced(model, values, names=names) as (results, xs):
        program = optimised(extract(results, xs, names, current().guard))
    with as_graph(program, list(values), range(len(values))) as (results, xs):
        total = OPS["sum"].call(results[0]) if results[0].shape else results[0]
        slopes = collect([slope.node for slope in gradients(total, xs[:size])])
    return not program.checks and not {x.node for x in xs[:size]} & {*slopes}


def _pieces(data: Data, names: Sequence[str], start: Sequence[float]) -> tuple[Pieces, Bends, Total | None]:
    """The tables and bends of all points of a set of data, and the sums over a sample of them where they are many."""
    _, y, sigma, errors = data
    others = [] if errors is None else list(errors.values)
    every = [*names, *[f"x{place}" for place in range(len(others))]]
    with traced(data.model, [*start, *others], names=every) as (results, xs):
        program = settled("fit", extract(results, xs, every, current().guard))
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
        return _as_a_whole(program, start, y, known), _bends_of_whole(program, start, y), None
    count = len(y) if known is not sigma else _PIECE
    of_points = _by_points if errors is None else partial(_with_errors, errors=errors)
    model = of_points(program, columns, start, y, known)
    slices = [slice(begin, begin + count) for begin in range(0, len(y), count)]
    whole: Pieces = partial(model, slices)

    def bends(p: Array) -> Iterator[Array]:
        every = [Points(program, columns, start, place) for place in range(len(start))]
        for here in slices:
            yield np.stack([one.at([*p], here, len(y[here]))[:-1] for one in every])

    if len(y) < _MANY or len(names) >= _SAMPLE or known is not sigma:
        return whole, bends, None
    places = np.sort(np.random.default_rng(0).integers(0, len(y), _SAMPLE))
    return whole, bends, in_one(partial(model, [places]))


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

    `by`: the place of an input, for the derivative by it instead of the value.
    """

    def __init__(
        self,
        program: Program,
        columns: Sequence[int],
        examples: Sequence[Any],
        by: int | None = None,
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
            return found if by is None else row(found, [xs[by]])[0]

        numbers = [0.0 if shape_of(x) else x for x in program.constants]
        same = key(replace(program, constants=tuple(numbers))), tuple(columns)  # a model is often fitted to other data
        given = [float(np.ravel(x)[0]) for x in (*examples, *self.data)]
        self.code = again(
            Compiled, f"fit {len(examples)} {by} {same}", None, point, given, tuple(range(inputs)), AUTO, {}
        )

    def at(self, inputs: Sequence[Any], here: Any, count: int) -> Array:
        """The derivatives by the inputs, row by row, and the values."""
        table = np.empty((self.rows, count))
        given = [*inputs, *[column[here] for column in self.data]]
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
    """The same where columns have uncertainties of their own: see `errors_in_x.py`."""
    size, examples = len(start), [*start, *errors.values]
    model = Points(program, columns, examples)
    effective = errors.method == "effective"
    bends = [Points(program, columns, examples, place) for place in range(size, len(examples)) if effective]

    def pieces(places: Sequence[Any], p: Array) -> Iterator[tuple[Array, Array, Any]]:
        for here in places:
            s = np.broadcast_to(sigma, y.shape)[here]
            xs, u = [x[here] for x in errors.values], np.stack([x[here] for x in errors.u])

            def at(points: Points, xs: Sequence[Array]) -> Array:
                return points.at([*p, *xs], here, len(s))  # noqa: B023  # called before the next piece

            if effective:
                table, spread = of_variance(at(model, xs), [at(bend, xs) for bend in bends], u, y[here], s)
            else:
                table, spread = at_true_values(partial(at, model), xs, u, y[here], s)
            yield table, y[here], spread

    return pieces


def _as_a_whole(program: Program, start: Sequence[float], y: Array, sigma: Any) -> Pieces:
    with as_graph(program, list(start), range(len(start))) as (results, xs):
        (value,) = results
        code = Replayed(optimised(extract([*row(value, xs), value], xs)))

    def pieces(p: Array) -> Iterator[tuple[Array, Array, Any]]:
        yield np.stack([np.broadcast_to(x, y.shape) for x in code.call(*p.tolist())]), y, sigma

    return pieces


def _bends_of_whole(program: Program, start: Sequence[float], y: Array) -> Bends:
    def bends(p: Array) -> Iterator[Array]:
        with as_graph(program, list(start), range(len(start))) as (results, xs):
            code = Replayed(optimised(extract([bend for one in row(results[0], xs) for bend in row(one, xs)], xs)))
        table = [np.broadcast_to(x, y.shape) for x in code.call(*p.tolist())]
        yield np.stack(table).reshape(len(p), len(p), -1)

    return bends
