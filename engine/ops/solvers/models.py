"""A model of some parameters, as what `fitting` needs of it: its values and derivatives at all points.

Where each point is computed by itself, as in a*exp(-b*x), the model is compiled as a function of numbers, mapped over
columns. Where it is not, as in the solution of a differential equation, it is differentiated in forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agrad.engine.autodiff.transforms import jvp
from agrad.engine.compile import compile as compiled
from agrad.engine.compile.python_backend import Compiled
from agrad.engine.core.graph import reachable
from agrad.engine.core.tensor import tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.solvers.fitting import Pieces
from agrad.engine.program.extract import extract
from agrad.engine.program.ir import Input, Program
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import as_graph, inlined, trace
from agrad.engine.values import Array, format_shape, np, spread

_PIECE = 16_384  # points at once: their table stays in the cache


def pieces_of(f: Callable[..., Any], names: Sequence[str], start: Sequence[float], y: Array, sigma: Any) -> Pieces:
    """The values and derivatives of a model, beside measurements. Raises AgradError of kind `shape` or `guard`."""
    program = trace(f, list(start), names)
    if program.checks:
        message = f"fit: {program.checks[0].text} decides how the model is computed, and may differ on the way"
        raise AgradError("guard", message, fixes=[Hint("where(c, x, y)   chooses between two values")])
    shape = program.shape(program.outputs[0])
    if shape not in ((), y.shape):
        shapes = f"{format_shape(shape)}, and what was measured {format_shape(y.shape)}"
        raise AgradError("shape", f"fit: the model has shape {shapes}")
    program = optimised(program)
    columns = _columns(program, len(y))
    if columns is None:
        return _as_a_whole(program, start, y, sigma)
    return _by_points(program, columns, start, y, sigma)


def _columns(program: Program, count: int) -> list[int] | None:
    """The constants that have a number for each point; None where the points are not computed one by one."""
    shapes = [program.shape(slot) for slot in range(program.first + len(program.steps))]
    if any(shape not in ((), (count,)) for shape in shapes):
        return None
    if any(step.op.reach != "pointwise" or "axis" in step.attrs for step in program.steps):
        return None
    return [slot for slot in range(len(program.inputs), program.first) if shapes[slot]]


def _by_points(program: Program, columns: Sequence[int], start: Sequence[float], y: Array, sigma: Any) -> Pieces:
    size, first = len(program.inputs), program.first
    order = [*range(size), *columns, *[slot for slot in range(size, first) if slot not in columns]]
    places = {slot: place for place, slot in enumerate(order)}
    steps = [replace(s, operands=tuple([places.get(x, x) for x in s.operands]), shape=()) for s in program.steps]
    data = [program.constants[slot - size] for slot in columns]
    numbers = [program.constants[slot - size] for slot in order[size + len(columns) :]]
    inputs = (*program.inputs, *[Input(f"column{place}", ()) for place in range(len(columns))])
    outputs = tuple([places.get(slot, slot) for slot in program.outputs])
    of_point = Program(inputs, tuple(numbers), tuple(steps), outputs, ())

    def point(*entries: Any) -> Any:
        return inlined(of_point, [x if hasattr(x, "node") else tensor(x) for x in entries])[0]

    examples = [*start, *[float(column[0]) for column in data]]  # type: ignore[index]
    code = compiled(point, *examples, wrt=tuple(range(size)), backend="python")
    count = len(y)

    def pieces(p: Array) -> Iterator[tuple[Array, Sequence[Array], Array, Any]]:
        for begin in range(0, count, _PIECE):
            here = slice(begin, begin + _PIECE)
            given = [column[here] for column in data] or [np.zeros(len(y[here]))]  # type: ignore[index]
            if not data:
                values, slopes = code.map(*[np.full(len(y[here]), x) for x in p.tolist()])
            else:
                values, slopes = code.map(*p.tolist(), *given)
            yield values, slopes, y[here], sigma[here] if np.shape(sigma) else sigma

    return pieces


def _as_a_whole(program: Program, start: Sequence[float], y: Array, sigma: Any) -> Pieces:
    with as_graph(program, list(start), range(len(start))) as (results, xs):
        (value,) = results
        behind = reachable(value.node) if value.requires_grad else set()
        zero = tensor(spread(0.0, value.shape))
        slopes = [jvp(value, x, 1.0, create_graph=True) if x.node in behind else zero for x in xs]
        code = Compiled(optimised(extract([value, *slopes], xs)))

    def pieces(p: Array) -> Iterator[tuple[Array, Sequence[Array], Array, Any]]:
        found = [np.array(np.broadcast_to(x, y.shape)) for x in code.call(*p.tolist())]
        yield found[0], found[1:], y, sigma

    return pieces
