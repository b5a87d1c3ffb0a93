"""What happens when an operation is called: plain values give plain values, Tensors give Tensors, and record.

Most calls in a graph of scalars are of one or two floats or handles on floats: each row gets a short closure for
these with everything inline. The rest (arrays, attributes, sequences, lists) takes one general path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

from agrad.engine.core.context import MOST_UNDEFINED, current, next_stamp
from agrad.engine.core.graph import Input, Node, new_node
from agrad.engine.core.guards import choose, entries, number
from agrad.engine.core.limits import afford_spread, exhausted
from agrad.engine.core.numpy_warnings import computed, prepare
from agrad.engine.core.signature import REQUIRED
from agrad.engine.core.tensor import Tensor, bare, handle, inherit
from agrad.engine.errors import AgradError
from agrad.engine.values import (
    IEEE,
    Shape,
    Value,
    broadcast,
    coerce,
    format_shape,
    np,
    settle,
    shape_of,
    whole_as_float,
)

if TYPE_CHECKING:
    from agrad.engine.core.op import Op

Function: TypeAlias = Callable[..., Any]

OPS: dict[str, Op] = {}  # every operation, as the rows of `op` are made

MISSING = object()  # the value of an argument that was not given


def caller(op: Op) -> Function:
    """The function that is called for a row."""
    simple = op.scalar is not None and not op.signature.attributes and not op.variadic
    makers = {1: _unary, 2: _binary} if simple else {}
    maker = makers.get(len(op.signature.operands))
    if maker is None:
        return _general(op)
    call = maker(op)
    call.signature = op.signature  # type: ignore[attr-defined]  # it takes its operands and nothing else
    return call


def operator_of(op: Op, method: str) -> Function:
    """The method of Tensors for an operator. Of an operand that is no number, Python asks the reflected method."""
    if len(op.signature.operands) != 2:
        return op.call
    general = _giving_way(_general(op), f"__{_MIRRORED.get(method, 'r' + method)}__")
    return _binary(op, general) if op.scalar is not None and not op.signature.attributes else general


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NUMBERS = ("builtins", "numpy", "decimal", "fractions")  # modules of types that are understood, or refused


def _giving_way(call: Function, reflected: str) -> Function:
    def method(x: Any, y: Any, *rest: Any) -> Any:
        try:
            return call(x, y, *rest)
        except AgradError as error:
            kind = type(y)
            if error.kind == "type" and kind.__module__.split(".")[0] not in _NUMBERS and hasattr(kind, reflected):
                return NotImplemented
            raise

    return method


def ieee(op: Op, values: tuple[Value, ...], attrs: Mapping[str, Any] = {}) -> float:
    """Floats again, on numpy's arithmetic: inf and nan where Python's raises."""
    with np.errstate(all="ignore"):
        out = float(op.array(*(np.float64(value) for value in values), **attrs))
    if out != out:
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
    if len(values) > 1:
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
        return AgradError("domain", f"{op.name} of shape {listed}: {str(error).lower()}")
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


def choose_all(given: Iterable[Any]) -> None:
    """A guard for each value with a graph among arguments that are not operands: sizes, axes, indices."""
    stack = list(given)
    while stack:
        one = stack.pop()
        if isinstance(one, Tensor):
            choose(one.node, one.value, entries if one.shape else number)
        elif isinstance(one, tuple | list):
            stack.extend(one)
        elif isinstance(one, slice):
            stack.extend((one.start, one.stop, one.step))
        elif _is_of_objects(one):
            stack.extend(one.tolist())


def _unary(op: Op) -> Function:
    scalar, differentiable = op.scalar, op.differentiable
    assert scalar is not None
    general = _general(op)

    def call(x: Any = MISSING, *rest: Any) -> Any:
        if rest:
            return general(x, *rest)
        kind = type(x)
        if kind is float:
            try:
                return scalar(x)
            except IEEE:
                return ieee(op, (x,))
        if kind is not Tensor:
            return general() if x is MISSING else general(x)
        source = x.node
        a = source.value
        out: Any
        if type(a) is float:
            try:
                out = scalar(a)
            except IEEE:
                out = ieee(op, (a,))
            context = current()
            if not (context.recording and (source.requires_grad or source.recorded)):
                return plain(out, (source,))
            node = Node()
            node.op, node.inputs, node.attrs = op, (source,), None
            node.value, node.shape, node.requires_grad = out, (), differentiable and source.requires_grad
            node.seq = node.stamp = next_stamp()
            node.collected = node.freed = node.extra = node.handle = None
            node.origin, node.guard, node.name = context.origin, context.guard, None
            made = Tensor()
            made.node, made.array = node, None
            return made
        return of_one(op, x, {})

    return call


def _binary(op: Op, general: Function | None = None) -> Function:
    scalar = op.scalar
    assert scalar is not None
    first, second = (rule is not None for rule in op.rules)
    general = general or _general(op)

    def call(x: Any = MISSING, y: Any = MISSING, *rest: Any) -> Any:
        nx: Any  # a node, or the number itself
        ny: Any
        if type(x) is Tensor:
            nx = x.node
            a = nx.value
        elif type(x) is float:
            nx = a = x
        elif type(x) is int:
            nx = a = whole_as_float(x)
        else:
            return general(*(given for given in (x, y) if given is not MISSING), *rest)
        if type(y) is Tensor:
            ny = y.node
            b = ny.value
        elif type(y) is float:
            ny = b = y
        elif type(y) is int:
            ny = b = whole_as_float(y)
        else:
            return general(*(given for given in (x, y) if given is not MISSING), *rest)
        if rest:
            return general(x, y, *rest)
        if type(a) is not float or type(b) is not float:
            return of_two(op, nx, ny, x.array if a is None else a, y.array if b is None else b)
        try:
            out = scalar(a, b)
        except IEEE:
            out = ieee(op, (a, b))
        live = (first and nx is not a and nx.requires_grad) or (second and ny is not b and ny.requires_grad)
        context = current()
        if not (context.recording and (live or (nx is not a and nx.recorded) or (ny is not b and ny.recorded))):
            return out if nx is a and ny is b else plain(out, (nx, ny))
        node = Node()
        node.op, node.inputs, node.attrs = op, (nx, ny), None
        node.value, node.shape, node.requires_grad = out, (), live
        node.seq = node.stamp = next_stamp()
        node.collected = node.freed = node.extra = node.handle = None
        node.origin, node.guard, node.name = context.origin, context.guard, None
        made = Tensor()
        made.node, made.array = node, None
        return made

    return call


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


def _value_of(x: Tensor) -> Any:
    """`x.value`, which checks who reads it, in less time."""
    value = x.node.value
    return x.array if value is None else value


def of_one(op: Op, x: Tensor, attrs: dict[str, Any]) -> Tensor:
    """The result for one handle."""
    source, a = x.node, _value_of(x)
    if op.prepare is not None:
        attrs = op.prepare(a, **attrs)
    out: Any
    context = current()
    if type(a) is float or (context.silence is not None and context.silence.before is not None):
        out = compute(op, (a,), attrs)
    else:
        try:
            out = settle((context.quietly or prepare())().run(op.array, a, **attrs))
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
    return handle(new_node(op, (source,), attrs or None, out if reads_out else None, out.shape, live[0]), out)


def _general(op: Op) -> Function:
    signature = op.signature
    alone = len(signature.operands) == 1 and not signature.variadic and signature.gathers is None
    defaults = signature.attributes if alone and REQUIRED not in signature.attributes.values() else None

    def call(*args: Any, **attrs: Any) -> Any:
        if defaults is not None and not attrs and len(args) == 1 and type(args[0]) is Tensor:
            return of_one(op, args[0], defaults)
        operands, attrs = op.signature.bind(args, attrs)
        if attrs:
            choose_all(attrs.values())
        if any(type(x) is list or type(x) is tuple or _is_of_objects(x) for x in operands):
            operands = tuple(operand(x) for x in operands)
        if any(isinstance(x, Tensor) for x in operands):
            return record(op, operands, attrs)
        if any(type(x).__name__ == "float64" for x in operands):  # a second run needs these, too: see `ieee`
            operands = tuple(x if type(x) is np.float64 else coerce(x, copy=False) for x in operands)
            with np.errstate(all="ignore"):
                out = np.asarray(op.array(*operands, **prepared(op, operands, attrs)), dtype=np.float64)
            return out if out.shape else out[()]
        values = tuple(x if type(x) is float else coerce(x, copy=False) for x in operands)
        return compute(op, values, prepared(op, values, attrs))

    return call


def operand(x: Any) -> Any:
    """An argument as an operand: a Tensor unchanged, else a plain value. Tensors in a list or array are stacked."""
    if isinstance(x, Tensor) or type(x) is float:
        return x
    if _is_of_objects(x):
        x = x.tolist()
    if (type(x) is list or type(x) is tuple) and _holds_tensor(x):
        return OPS["stack"].call([operand(entry) for entry in x])
    return coerce(x, copy=False)


def _is_of_objects(x: Any) -> bool:
    """Whether this is an array of Python objects, which may be Tensors."""
    if type(x) is float or isinstance(x, Tensor):  # asking a Tensor for its dtype would load numpy
        return False
    return getattr(getattr(x, "dtype", None), "hasobject", False) and bool(x.shape)


def _holds_tensor(x: Any) -> bool:
    return any(isinstance(e, Tensor) or ((type(e) is list or type(e) is tuple) and _holds_tensor(e)) for e in x)


def prepared(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes in the form for the forward and the rules."""
    return op.prepare(*values, **attrs) if op.prepare is not None else attrs


def _lent(x: Any) -> Value:
    """A constant, for a computation that does not keep it."""
    return coerce(x, copy=False)


def _kept(x: Any) -> Value:
    """A constant that a node keeps: its own copy, row by row. A replay must see the same values."""
    value = coerce(x, copy=False)
    return value if isinstance(value, float) else value.copy()


def record(op: Op, operands: tuple[Any, ...], attrs: dict[str, Any]) -> Tensor:
    """Compute on handles and constants, and append the node: the path for everything but one or two scalars."""
    nodes = [x.node if isinstance(x, Tensor) else None for x in operands]
    recorded = current().recording and any(node is not None and node.recorded for node in nodes)
    constant = _kept if recorded else _lent
    values: Any = tuple([_value_of(x) if isinstance(x, Tensor) else constant(x) for x in operands])
    if op.prepare is not None:
        attrs = op.prepare(*values, **attrs)
    out: Any = compute(op, values, attrs)
    shape: Shape = ()
    if type(out) is not float:
        shape = out.shape
        if out.base is not None:
            out = out.copy()  # there are no views: a write to one value never shows in another
    if not recorded:
        return plain(out, nodes)
    live = op.live(nodes)
    reads, reads_out = op.read_by(live)
    inputs: list[Input] = []
    for node, value, read in zip(nodes, values, reads, strict=True):
        if node is None:
            inputs.append(value)
        else:
            inputs.append(node)
            if read:
                node.value = value
    if not shape:
        return bare(new_node(op, tuple(inputs), attrs or None, out, shape, True in live))
    return handle(new_node(op, tuple(inputs), attrs or None, out if reads_out else None, shape, True in live), out)
