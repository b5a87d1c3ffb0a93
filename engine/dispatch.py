"""What happens when an operation is called: plain values give plain values, Tensors give Tensors, and record.

Most calls in a graph of scalars are of one or two floats or handles on floats: each row gets a short closure for
these with everything inline. The rest (arrays, attributes, sequences, lists) takes one general path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from agrad.engine.errors import AgradError
from agrad.engine.graph import Input, Node, leaf
from agrad.engine.state import STATE
from agrad.engine.tensor import Tensor
from agrad.engine.values import IEEE, QUIET, Value, broadcast, coerce, format_shape, np, settle, shape_of

if TYPE_CHECKING:
    from agrad.engine.op import Op

Function: TypeAlias = Callable[..., Any]

MISSING = object()  # stands for an argument that was not given


def caller(op: Op) -> Function:
    """What is called for a row."""
    simple = op.scalar is not None and not op.signature.attributes and not op.variadic
    makers = {1: _unary, 2: _binary} if simple else {}
    maker = makers.get(len(op.signature.operands))
    if maker is None:
        return _general(op)
    call = maker(op)
    call.signature = op.signature  # type: ignore[attr-defined]  # it takes its operands and nothing else
    return call


def ieee(op: Op, values: tuple[Value, ...], attrs: Mapping[str, Any] = {}) -> float:
    """Floats again, on numpy's arithmetic: inf and nan where Python's raises."""
    with np.errstate(all="ignore"):
        return float(op.array(*(np.float64(value) for value in values), **attrs))


def compute(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> Value:
    """The result on plain values; AgradError where they do not fit the operation."""
    if op.scalar is not None and all(type(value) is float for value in values):
        try:
            return op.scalar(*values, **attrs)  # type: ignore[no-any-return]
        except IEEE:
            return ieee(op, values, attrs)
    try:
        if QUIET.on:
            return settle(op.array(*values, **attrs))
        with np.errstate(all="ignore"):
            return settle(op.array(*values, **attrs))
    except (ValueError, IndexError) as error:
        raise misfit(op, values, attrs, error) from None
    except MemoryError:
        raise AgradError("limit", f"{op.name}: not enough memory for the result") from None


def misfit(op: Op, values: tuple[Value, ...], attrs: dict[str, Any], error: Exception) -> AgradError:
    """Why numpy refused, in terms of the shapes."""
    shapes = [shape_of(value) for value in values]
    listed = " and ".join(format_shape(shape) for shape in shapes)
    if type(error).__name__ == "LinAlgError":
        return AgradError("domain", f"{op.name} of shape {listed}: {str(error).lower()}")
    if op.reach == "pointwise" and len(shapes) > 1:
        try:
            broadcast(*shapes)
        except AgradError:
            return AgradError("shape", f"{op.name}: shapes {listed} do not fit together")
    return AgradError("shape", f"{op.name} of shape {listed}: {error}")


def plain(value: Value) -> Tensor:
    """A handle on a result that has no graph."""
    return Tensor(leaf(value), None if type(value) is float else value)


def _unary(op: Op) -> Function:
    scalar, differentiable = op.scalar, op.differentiable
    assert scalar is not None
    reads_x, reads_out = op.keeps[0]
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
        if a is None:
            a = x.array
        out: Any
        if type(a) is float:
            try:
                out = scalar(a)
            except IEEE:
                out = ieee(op, (a,))
            if not (source.recorded and STATE.recording):
                return Tensor(Node(None, (), None, out, (), False))
            return Tensor(Node(op, (source,), None, out, (), differentiable and source.requires_grad))
        out = compute(op, (a,), {})
        if not (source.recorded and STATE.recording):
            return plain(out)
        requires = differentiable and source.requires_grad
        if requires and reads_x:
            source.value = a
        return Tensor(Node(op, (source,), None, out if requires and reads_out else None, out.shape, requires), out)

    return call


def _binary(op: Op) -> Function:
    scalar = op.scalar
    assert scalar is not None
    first, second = (rule is not None for rule in op.rules)
    general = _general(op)

    def call(x: Any = MISSING, y: Any = MISSING, *rest: Any) -> Any:
        if rest or y is MISSING:
            return general(*(given for given in (x, y) if given is not MISSING), *rest)
        nx: Any
        ny: Any
        if type(x) is Tensor:
            nx = x.node
            a = nx.value
            recorded, gx = nx.recorded, first and nx.requires_grad
        elif type(x) is float:
            nx = a = x
            recorded = gx = False
        else:
            return general(x, y)
        if type(y) is Tensor:
            ny = y.node
            b = ny.value
            recorded, gy = recorded or ny.recorded, second and ny.requires_grad
        elif type(y) is float:
            ny = b = y
            gy = False
        else:
            return general(x, y)
        if type(a) is not float or type(b) is not float:
            return record(op, (x, y), {})
        try:
            out = scalar(a, b)
        except IEEE:
            out = ieee(op, (a, b))
        if nx is a and ny is b:
            return out
        if not (recorded and STATE.recording):
            return Tensor(Node(None, (), None, out, (), False))
        return Tensor(Node(op, (nx, ny), None, out, (), gx or gy))

    return call


def _general(op: Op) -> Function:
    def call(*args: Any, **attrs: Any) -> Any:
        operands, attrs = op.signature.bind(args, attrs)
        if any(type(x) is list or type(x) is tuple for x in operands):
            operands = tuple(operand(x) for x in operands)
        if any(isinstance(x, Tensor) for x in operands):
            return record(op, operands, attrs)
        if any(type(x).__name__ == "float64" for x in operands):  # a second run must not lose these: see `ieee`
            operands = tuple(x if type(x) is np.float64 else coerce(x, copy=False) for x in operands)
            with np.errstate(all="ignore"):
                out = np.asarray(op.array(*operands, **prepared(op, operands, attrs)), dtype=np.float64)
            return out if out.shape else out[()]
        values = tuple(x if type(x) is float else coerce(x, copy=False) for x in operands)
        return compute(op, values, prepared(op, values, attrs))

    return call


def operand(x: Any) -> Any:
    """Something given as an operand: a Tensor as it is, else a plain value. A list with Tensors in it is stacked."""
    if isinstance(x, Tensor) or type(x) is float:
        return x
    if (type(x) is list or type(x) is tuple) and _holds_tensor(x):
        from agrad.engine.op import OPS  # the table is made of what this file defines

        return OPS["stack"].call([operand(entry) for entry in x])
    return coerce(x, copy=False)


def _holds_tensor(x: Any) -> bool:
    return any(isinstance(e, Tensor) or ((type(e) is list or type(e) is tuple) and _holds_tensor(e)) for e in x)


def prepared(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes as the forward and the rules want them."""
    return op.prepare(*values, **attrs) if op.prepare is not None else attrs


def record(op: Op, operands: tuple[Any, ...], attrs: dict[str, Any]) -> Tensor:
    """Compute on handles and constants, and append the node: the path for whatever is not one or two scalars."""
    values = tuple(x.value if isinstance(x, Tensor) else coerce(x, copy=False) for x in operands)
    attrs = prepared(op, values, attrs)
    out: Any = compute(op, values, attrs)
    if type(out) is not float and out.base is not None:
        out = out.copy()  # there are no views: a write to one value never shows in another
    nodes = [x.node if isinstance(x, Tensor) else None for x in operands]
    if not (STATE.recording and any(node is not None and node.recorded for node in nodes)):
        return plain(out)
    live = [
        node is not None and node.requires_grad and op.rule(position) is not None for position, node in enumerate(nodes)
    ]
    reads, reads_out = op.read_by(live)
    inputs: list[Input] = []
    for node, value, read in zip(nodes, values, reads, strict=True):
        if node is None:
            inputs.append(value if type(value) is float else coerce(value))
        else:
            inputs.append(node)
            if read:
                node.value = value
    kept = out if reads_out or type(out) is float else None
    return Tensor(Node(op, tuple(inputs), attrs or None, kept, shape_of(out), any(live)), out)
