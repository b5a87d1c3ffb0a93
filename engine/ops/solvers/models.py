"""Fits of a model of some parameters to points: its values and derivatives at all of them, for `fitting`.

Where each point is computed by itself, as in a*exp(-b*x), the model is compiled as a function of numbers, mapped over
columns. Where it is not, as in the solution of a differential equation, it is differentiated in forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agrad.engine.compile.derive import row
from agrad.engine.compile.function import Compiled, again
from agrad.engine.compile.python_backend import Compiled as Replayed
from agrad.engine.compile.registry import AUTO
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.ops.solvers.fitting import Fit, fit, in_one
from agrad.engine.ops.solvers.sums import Pieces
from agrad.engine.program.closed import settled
from agrad.engine.program.ir import Program
from agrad.engine.program.passes import key, optimised
from agrad.engine.program.trace import as_graph, extract, inlined, trace
from agrad.engine.values import Array, format_number, format_shape, np, shape_of

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
