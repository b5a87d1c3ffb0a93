"""What an operation computes: on plain values, and on handles, where it appends the node.

The calls with one or two scalars have this inline: see `calls`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import ref

from agrad.engine.core.context import MOST_UNDEFINED, current
from agrad.engine.core.dispatch.constants import kept
from agrad.engine.core.graph import Node, new_node
from agrad.engine.core.limits import afford_spread, exhausted
from agrad.engine.core.numpy_warnings import computed, prepare
from agrad.engine.core.tensor import Tensor, bare, handle, inherit
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import IEEE, Value, broadcast, coerce, format_shape, np, settle, shape_of

if TYPE_CHECKING:
    from agrad.engine.core.op import Op


def ieee(op: Op, values: tuple[Value, ...], attrs: Mapping[str, Any] = {}) -> float:
    """Floats again, on numpy's arithmetic: inf and nan where Python's raises."""
    with np.errstate(all="ignore"):
        out = float(op.array(*(np.float64(value) for value in values), **attrs))
    if out != out and all(value == value for value in values):
        context = current()
        if context.undefined is not None and len(context.undefined) < MOST_UNDEFINED:
            context.undefined.append((op, values, out, context.origin))
    return out


def compute(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> Value:
    """The result on plain values; AgradError where they do not fit the operation."""
    if op.scalar is not None and all_floats(values):
        try:
            return op.scalar(*values, **attrs)  # type: ignore[no-any-return]
        except IEEE:
            return ieee(op, values, attrs)
    return on_arrays(op, values, attrs)


def all_floats(values: Iterable[object]) -> bool:
    """Whether these are scalars, all of them."""
    for value in values:  # noqa: SIM110 - all(...) makes a generator, which takes longer than the loop
        if type(value) is not float:
            return False
    return True


def on_arrays(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> Value:
    """The result if at least one operand is an array, or the operation has no form on floats."""
    if op.reach == "pointwise" and len(values) > 1:
        afford_spread(op, values)
    try:
        return settle(computed(op.array, *values, **attrs))
    except (ValueError, IndexError) as error:
        raise misfit(op, values, attrs, error) from None
    except MemoryError as error:
        raise exhausted(op.name, error) from None


def misfit(op: Op, values: tuple[Value, ...], attrs: dict[str, Any], error: Exception) -> AgradError:
    """The error for a refusal by numpy, in terms of the shapes."""
    shapes = [shape_of(value) for value in values]
    listed = " and ".join(format_shape(shape) for shape in shapes)
    if type(error).__name__ == "LinAlgError":
        fixes = [Hint(op.refused(shapes[0]))] if op.refused is not None else []
        return AgradError("domain", f"{op.name} of shape {listed}: {str(error).lower()}", fixes=fixes)
    if op.reach == "pointwise" and len(shapes) > 1:
        try:
            broadcast(*shapes)
        except AgradError:
            from agrad.engine.core.shape_errors import to_spread  # the operations use this module

            return AgradError("shape", f"{op.name}: shapes {listed} do not fit together", notes=to_spread(*shapes))
    return AgradError("shape", f"{op.name} of shape {listed}: {error}")


def plain(value: Value, operands: Iterable[object]) -> Tensor:
    """A handle on a result that has no graph, and remembers which leaves led to it."""
    node = new_node(None, (), None, value, () if type(value) is float else shape_of(value), False)
    inherit(node, operands)
    return bare(node)


def of_two(op: Op, nx: Node | float, ny: Node | float, a: Any, b: Any) -> Tensor:
    """The same where one of two operands is an array: `a` and `b` are their values."""
    out: Any
    one = b if type(a) is float else a
    shape = one.shape
    context = current()
    if (one is b or type(b) is float or shape == b.shape) and one.size <= context.limits.entries:
        try:  # without broadcasting there is little to check
            if context.silence is not None and context.silence.before is not None:
                out = op.array(a, b)
            else:
                out = (context.quietly or prepare())().run(op.array, a, b)
        except (ValueError, IndexError, MemoryError):
            out = on_arrays(op, (a, b), {})  # raises the error
        if type(out) is not np.ndarray or out.dtype.char != "d":
            out = settle(out)
    else:
        out = on_arrays(op, (a, b), {})
        shape = out.shape
    of_x: Any = nx if nx is not a else None
    of_y: Any = ny if ny is not b else None
    by_x, by_y = op.rules
    live = (
        of_x is not None and by_x is not None and of_x.requires_grad,
        of_y is not None and by_y is not None and of_y.requires_grad,
    )
    if not (context.recording and (True in live or (of_x and of_x.recorded) or (of_y and of_y.recorded))):
        return plain(out, (nx, ny))
    (reads_x, reads_y), reads_out = op.known.get(live) or op.read_by(live)
    if reads_x and of_x:
        of_x.value = a
    if reads_y and of_y:
        of_y.value = b
    node = new_node(op, (nx, ny), None, out if reads_out else None, shape, True in live)
    made = Tensor()
    made.node, made.array, node.handle = node, out, ref(made)
    return made


def of_pair(op: Op, x: Tensor, y: Tensor, attrs: dict[str, Any]) -> Tensor:
    """The result for two handles, of an operation that has no form on floats."""
    nx, ny = x.node, y.node
    a: Any = x.array if nx.value is None else nx.value
    b: Any = y.array if ny.value is None else ny.value
    if op.prepare is not None:
        attrs = op.prepare(a, b, **attrs)
    out: Any
    context = current()
    try:
        if context.silence is not None and context.silence.before is not None:
            out = op.array(a, b, **attrs)
        else:
            out = (context.quietly or prepare())().run(op.array, a, b, **attrs)
        out = settle(out)
    except (ValueError, IndexError, MemoryError):
        out = on_arrays(op, (a, b), attrs)  # raises the error
    if type(out) is not float and out.base is not None:
        out = out.copy()  # there are no views: a write to one value never shows in another
    by_x, by_y = op.rules
    live = by_x is not None and nx.requires_grad, by_y is not None and ny.requires_grad
    if not (context.recording and (True in live or nx.recorded or ny.recorded)):
        return plain(out, (nx, ny))
    (reads_x, reads_y), reads_out = op.known.get(live) or op.read_by(live)
    if reads_x:
        nx.value = a
    if reads_y:
        ny.value = b
    if type(out) is float:
        return bare(new_node(op, (nx, ny), attrs or None, out, (), True in live))
    return handle(new_node(op, (nx, ny), attrs or None, out if reads_out else None, out.shape, True in live), out)


def of_one(op: Op, x: Tensor, attrs: dict[str, Any]) -> Tensor:
    """The result for one handle."""
    source = x.node
    a: Any = source.value
    if a is None:
        a = x.array
    if op.prepare is not None:
        attrs = op.prepare(a, **attrs)
    out: Any
    context = current()
    if type(a) is float:
        out = compute(op, (a,), attrs)
    else:
        try:
            if op.scatter is not None or (context.silence is not None and context.silence.before is not None):
                out = op.array(a, **attrs)  # an index computes nothing that numpy would warn of
            else:
                out = (context.quietly or prepare())().run(op.array, a, **attrs)
            out = settle(out)
        except (ValueError, IndexError, MemoryError):
            out = on_arrays(op, (a,), attrs)  # raises the error
    if type(out) is not float and out.base is not None:
        out = out.copy()  # there are no views: a write to one value never shows in another
    if not (context.recording and source.recorded):
        return plain(out, (source,))
    live = (source.requires_grad and op.rules[0] is not None,)
    (reads_x,), reads_out = op.known.get(live) or op.read_by(live)
    if reads_x:
        source.value = a
    if type(out) is float:
        return bare(new_node(op, (source,), attrs or None, out, (), live[0]))
    node = new_node(op, (source,), attrs or None, out if reads_out else None, out.shape, live[0])
    made = Tensor()  # as `handle` does it, with fewer calls
    made.node, made.array, node.handle = node, out, ref(made)
    return made


def prepared(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes in the form for the forward and the rules."""
    return op.prepare(*values, **attrs) if op.prepare is not None else attrs


def record(op: Op, operands: tuple[Any, ...], attrs: dict[str, Any]) -> Tensor:
    """Compute on handles and constants, and append the node: the path for everything but one or two scalars."""
    context = current()
    inputs: list[Any] = []  # a node for each handle
    values: list[Any] = []
    live: list[bool] = []  # whether each needs a gradient
    recorded = has_arrays = False
    rules = op.rules * len(operands) if op.variadic else op.rules
    for x, rule in zip(operands, rules, strict=True):
        if type(x) is Tensor:
            node = x.node
            value = node.value
            inputs.append(node)
            values.append(x.array if value is None else value)
            if node.requires_grad:
                live.append(rule is not None)
                recorded = True
            else:
                live.append(False)
                recorded = recorded or node.recorded
        else:
            inputs.append(x)
            values.append(x)
            live.append(False)
            has_arrays = has_arrays or type(x) is not float
    recorded = recorded and context.recording
    if has_arrays:
        for place, x in enumerate(operands):
            if type(x) is not Tensor:
                inputs[place] = values[place] = kept(x) if recorded else coerce(x, copy=False)
    if op.prepare is not None:
        attrs = op.prepare(*values, **attrs)
    out: Any = (on_arrays if op.scalar is None else compute)(op, tuple(values), attrs)
    if type(out) is not float and out.base is not None:
        out = out.copy()  # there are no views: a write to one value never shows in another
    if not recorded:
        return plain(out, inputs)
    known = tuple(live)
    reads, reads_out = op.known.get(known) or op.read_by(known)
    if True in reads:
        for x, value, read in zip(inputs, values, reads, strict=True):
            if read and type(x) is Node:
                x.value = value
    if type(out) is float:
        return bare(new_node(op, tuple(inputs), attrs or None, out, (), True in live))
    kept_out = out if reads_out else None
    return handle(new_node(op, tuple(inputs), attrs or None, kept_out, out.shape, True in live), out)
