"""Programs of functions: a graph as straight-line code, to be computed on other data, in other ways.

    print(listing(trace(lambda x, y: x*ag.sin(y) + 1, (2.0, 3.0), ("x", "y"))))

    inputs     x, y
    t3 = sin(y)
    t4 = mul(x, t3)  # x*sin(y)
    t5 = add(t4, 1)  # x*sin(y) + 1
    outputs    t5

The nodes of a graph are the symbols: a program is read from the graph of a function's result, and that of a gradient
from the graph that the rules record when they run on such nodes, so that no rule is written twice. A guard of the graph
becomes a `GuardCheck`: where it has another outcome, the program is not that of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agrad.engine.autodiff.backward import grad
from agrad.engine.autodiff.lost import refuse_lost
from agrad.engine.core.context import Tracing, current, scope
from agrad.engine.core.graph import Node, leaf, new_node, reachable
from agrad.engine.core.guards import bits, note_read, take
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, bare, handle, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.extract import check_unwritten, extract
from agrad.engine.program.ir import Diverged, GuardCheck, Input, Program, Step, checks_of, computed, own
from agrad.engine.values import Value, coerce, describe, format_shape, np, shape_of

__all__ = [
    "Diverged",
    "GuardCheck",
    "Input",
    "Program",
    "Step",
    "check_kept",
    "checks_of",
    "extract",
    "gradient_of",
    "gradient_program",
    "own",
    "trace",
]


def trace(
    f: Callable[..., Any], examples: Sequence[object], names: Sequence[str] = (), wrt: Sequence[int] | None = None
) -> Program:
    """The program of a function, traced at some values: numbers, arrays, or functions that make them.

    An argument that is not among `wrt` (all) requires no gradient, and may be an index. A list as the result is one of
    several. Raises what the function raises, and AgradError of kind `type` if a result is neither a number nor an
    array.
    """
    with traced(f, examples, wrt, names) as (ys, xs):
        return extract(ys, xs, names, current().guard)


def gradient_program(
    f: Callable[..., Any], examples: Sequence[object], wrt: Sequence[int] | None = None, names: Sequence[str] = ()
) -> Program:
    """The same for its value and its gradients by the arguments at `wrt` (all): outputs (value, gradient, …).

    Raises AgradError of kind `shape` where the result is not one number.
    """
    wrt = range(len(examples)) if wrt is None else wrt
    values = [plain(x) for x in examples]
    return gradient_of(trace(f, values, names, wrt), values, wrt)


def gradient_of(program: Program, values: Sequence[Value], wrt: Sequence[int]) -> Program:
    """The program of one number and its gradients, from the program of the number, by running it at some values.

    If the program was shortened by passes before, its gradient is much shorter, and its sums are in another order.
    """
    sole(program)
    with as_graph(program, values, wrt) as (results, xs):
        y, *read = results
        names = [given.name for given in program.inputs]
        found = extract([y, *gradients(y, [xs[place] for place in wrt]), *read], xs, names, current().guard)
    return checked(found, program.checks)


def sole(program: Program) -> None:
    """AgradError of kind `shape` where the result is not one number."""
    if len(program.outputs) != 1:
        raise AgradError("shape", f"the function has {len(program.outputs)} results: a gradient needs one number")
    _require_number(program.shape(program.outputs[0]))


def _require_number(shape: tuple[int, ...]) -> None:
    if shape:
        raise AgradError(
            "shape",
            f"the result has shape {format_shape(shape)}: a gradient needs one number",
            fixes=[Hint("sum the entries up")],
        )


def gradients(y: Tensor, xs: Sequence[Tensor], create_graph: bool = True) -> list[Tensor]:
    """The gradients of one number, with their graph; 0 by what it does not depend on."""
    _require_number(y.shape)
    behind = reachable(y.node) if y.requires_grad else set()
    used = [x for x in xs if x.node in behind]
    found = dict(zip([x.node for x in used], grad(y, used, create_graph), strict=True)) if used else {}
    return [found[x.node] if x.node in found else tensor(np.zeros(x.shape) if x.shape else 0.0) for x in xs]


def check_kept(
    program: Program, f: Callable[..., Any], values: Sequence[Value], wrt: Sequence[int], names: Sequence[str]
) -> None:
    """AgradError of kind `grad` where the function has lost its graph: see `refuse_lost`.

    `program` is that of the function at these values. Where plain data were read in it, and its result does not depend
    on an argument, the function is traced again to find out where they were read.
    """
    if any(check.read is bits for check in program.checks) and not set(wrt) <= _behind(program):
        reads: list[tuple[Node, Any]] = []
        with traced(f, values, wrt, names, reads) as (ys, xs):
            refuse_lost("compile", f, ys, {place: xs[place] for place in wrt}, reads)


def _behind(program: Program) -> set[int]:
    """The slots that the outputs are computed from."""
    found = {*program.outputs}
    for place in reversed(range(len(program.steps))):
        if program.first + place in found:
            found.update(program.steps[place].operands)
    return found


@contextmanager
def traced(
    f: Callable[..., Any],
    examples: Sequence[object],
    wrt: Sequence[int] | None = None,
    names: Sequence[str] = (),
    reads: list[tuple[Node, Any]] | None = None,
) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """The results of a function on placeholders for some values, and these placeholders, within the recording.

    `reads` is told what values were taken as plain data, and where.
    """
    tracing = current().tracing
    # The program of this function may hold any argument of a function that is being traced around it.
    for x in tracing.inputs if tracing is not None else ():
        take(x.node, x.value)
    with recording():
        given = [entered(x, wrt is None or place in wrt).clone() for place, x in enumerate(examples)]  # to be written
        xs = [bare(x.node, x.value) for x in given]
        y = _called(f, given, xs, names, reads)
        results = y if isinstance(y, list) else [y]
        for one in results:
            if isinstance(one, tuple | list | str) or callable(one) or one is None:
                raise AgradError("type", f"a function whose result is {describe(one)}, not a number or an array")
        for x in xs:
            check_unwritten(x.node)
        yield [one if isinstance(one, Tensor) else tensor(one) for one in results], xs


def _called(
    f: Callable[..., Any],
    given: Sequence[Tensor],
    xs: Sequence[Tensor],
    names: Sequence[str],
    reads: list[tuple[Node, Any]] | None,
) -> Any:
    """The result of a function; plain data that it reads from its arguments makes guards."""
    with scope(tracing=Tracing(xs, names), reads=reads):
        try:
            return f(*given)
        except ValueError as error:  # of NumPy, where an entry of an array was to hold a graph
            if isinstance(error.__cause__, AgradError):
                raise error.__cause__ from None
            raise


def recording() -> scope:
    """Record, also inside no_grad, without guards."""
    return scope(recording=True, guard=None)


def entered(example: object, requires_grad: bool = True) -> Tensor:
    """A leaf that is recorded."""
    node = leaf(plain(example), requires_grad)
    node.recorded = True
    return bare(node)


def data_of(x: object) -> object:
    """The value of a Tensor without its graph; in a function being traced, reading it makes a guard."""
    if not isinstance(x, Tensor):
        return x
    note_read(x.node)
    if current().tracing is not None:
        take(x.node, x.value)
    return x.value


def plain(x: object) -> Value:
    """A number, or a contiguous array: the rounding of a sum depends on the memory layout."""
    value = coerce(data_of(x), copy=False)
    return value if isinstance(value, float) else np.ascontiguousarray(value)


@contextmanager
def as_graph(
    program: Program, values: Sequence[Value], wrt: Sequence[int]
) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """A program as a graph: the values of its outputs and of the slots that its checks read, and its inputs."""
    with recording(), scope(listener=None, undefined=None), quiet():
        xs = [entered(value, place in wrt) for place, value in enumerate(values)]
        yield inlined(program, xs), xs


def inlined(program: Program, xs: Sequence[Tensor]) -> list[Tensor]:
    """A program computed on values with a graph: its outputs, and the slots that its checks read."""
    for x in xs:
        x.node.value = x.value  # which a node of an array does not keep unless it is saved
    slots: list[Any] = [x.node for x in xs] + list(program.constants)
    for step in program.steps:
        slots.append(recorded(step.op, tuple([slots[x] for x in step.operands]), step.attrs))
    return [handle_of(slots[slot]) for slot in (*program.outputs, *[check.slot for check in program.checks])]


def recorded(op: Any, operands: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """The node of an operation with what it computes; a constant where all operands are."""
    values: Any = tuple([x.value if type(x) is Node else x for x in operands])
    out = computed(op, values, attrs)
    if not any(type(x) is Node for x in operands):
        return out
    return new_node(op, operands, attrs or None, out, shape_of(out), True in op.live(operands))


def handle_of(x: Any) -> Tensor:
    """The Tensor of a node or a constant."""
    if type(x) is Node:
        return handle(x, x.value if x.shape else None)
    return handle(new_node(None, (), None, x, shape_of(x), False))


def checked(program: Program, checks: Sequence[GuardCheck]) -> Program:
    """The program with its last outputs turned into the slots that the checks read."""
    count = len(program.outputs) - len(checks)
    outputs, slots = program.outputs[:count], program.outputs[count:]
    moved = tuple([replace(check, slot=slot) for check, slot in zip(checks, slots, strict=True)])
    return replace(program, outputs=outputs, checks=(*program.checks, *moved))
