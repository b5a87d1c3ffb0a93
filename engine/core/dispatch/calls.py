"""The function that is called for each row.

Most calls in a graph of scalars are of one or two floats or handles on floats: each row gets a short closure for
these with everything inline. Other rows get one that takes handles, floats and plain arrays with simple attributes
(numbers and slices) as they are. The rest (attributes with values in them, lists, numbers of other types) takes one
general path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from agrad.engine.core.context import current, next_stamp
from agrad.engine.core.dispatch.arrays import compute, ieee, of_one, of_pair, of_two, plain, prepared, record
from agrad.engine.core.graph import Node
from agrad.engine.core.guards import choose, entries, number
from agrad.engine.core.signature import REQUIRED, Signature, as_one
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import IEEE, coerce, mask_type, np, whole_as_float

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
        return _of_several(op) if op.variadic or len(op.signature.operands) > 1 else _of_one(op)
    call = maker(op)
    call.signature = op.signature  # type: ignore[attr-defined]  # it takes its operands and nothing else
    return call


def operator_of(op: Op, method: str) -> Function:
    """The method of Tensors for an operator. Of an operand that is no number, Python asks the reflected method."""
    if len(op.signature.operands) != 2:
        return op.call
    reflected = f"__{_MIRRORED.get(method, 'r' + method)}__"
    if op.scalar is None or op.signature.attributes:
        return _giving_way(op.call, reflected)
    return _binary(op, _giving_way(_general(op), reflected))


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
            node.op = op
            node.inputs = (source,)
            node.value = out
            node.shape = ()
            node.requires_grad = differentiable and source.requires_grad
            node.seq = node.stamp = next_stamp()
            node.origin = context.origin
            node.guard = context.guard
            made = Tensor()
            made.node = node
            made.array = node.attrs = node.name = node.collected = node.freed = node.extra = node.handle = None
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
            return general(x, y) if y is not MISSING and not rest else _with_missing(general, x, y, rest)
        if type(y) is Tensor:
            ny = y.node
            b = ny.value
        elif type(y) is float:
            ny = b = y
        elif type(y) is int:
            ny = b = whole_as_float(y)
        else:
            return general(x, y) if y is not MISSING and not rest else _with_missing(general, x, y, rest)
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
        node.op = op
        node.inputs = (nx, ny)
        node.value = out
        node.shape = ()
        node.requires_grad = live
        node.seq = node.stamp = next_stamp()
        node.origin = context.origin
        node.guard = context.guard
        made = Tensor()
        made.node = node
        made.array = node.attrs = node.name = node.collected = node.freed = node.extra = node.handle = None
        return made

    return call


def _with_missing(general: Function, x: Any, y: Any, rest: tuple[Any, ...]) -> Any:
    """The general call where an argument may be missing, which is its error to raise."""
    return general(*(given for given in (x, y) if given is not MISSING), *rest)


def _of_one(op: Op) -> Function:
    """The call of a row with one operand, and attributes: of a handle or an array, with simple ones."""
    general, signature = _general(op), op.signature
    defaults = None if REQUIRED in signature.attributes.values() else signature.attributes
    only = next(iter(signature.attributes)) if len(signature.attributes) == 1 and signature.gathers is None else None

    def call(*args: Any, **attrs: Any) -> Any:
        if args:
            x = args[0]
            kind = type(x)
            if kind is Tensor or (kind.__name__ in _ARRAYS and _is_value(x)):
                bound: dict[str, Any] | None
                if only is not None and len(args) == 2 and not attrs:  # such as x[i]
                    given = args[1]
                    bound = {only: given} if type(given) is int or _is_simple(given) else None
                elif len(args) == 1 and not attrs:
                    bound = defaults
                else:
                    bound = _bound(signature, args[1:], attrs)
                if bound is not None and kind is Tensor:
                    return of_one(op, x, bound)
                if bound is not None:
                    return compute(op, args[:1], prepared(op, args[:1], bound))
        return general(*args, **attrs)

    return call


def _of_several(op: Op) -> Function:
    """The call of a row with several operands, or a sequence of them: handles, floats and arrays."""
    general, signature, variadic = _general(op), op.signature, op.variadic
    count = 1 if variadic else len(signature.operands)
    defaults = None if REQUIRED in signature.attributes.values() else signature.attributes
    pairs = count == 2 and op.scalar is None and defaults is not None

    def call(*args: Any, **attrs: Any) -> Any:
        if len(args) == 2 and pairs and type(args[0]) is Tensor and type(args[1]) is Tensor and not attrs:
            return of_pair(op, *args, signature.attributes)
        if len(args) < count or (variadic and type(args[0]) is not list and type(args[0]) is not tuple):
            return general(*args, **attrs)
        operands = tuple(args[0]) if variadic else args[:count]
        has_tensor = has_array = False
        for x in operands:
            kind = type(x)
            if kind is Tensor:
                has_tensor = True
            elif kind is not float:
                if kind.__name__ not in _ARRAYS or not _is_value(x):
                    return general(*args, **attrs)
                has_array = True
        bound = defaults if len(args) == count and not attrs else _bound(signature, args[count:], attrs)
        if bound is None or not (has_tensor or has_array):
            return general(*args, **attrs)
        if has_tensor:
            return record(op, operands, bound)
        return compute(op, operands, prepared(op, operands, bound))

    return call


_ARRAYS = ("ndarray", "Mask")  # the names of types, so that numpy is not loaded to ask for its own


def _is_value(x: Any) -> bool:
    """Whether an array is a value as it is."""
    kind = type(x)
    return (kind is np.ndarray or kind is mask_type()) and x.dtype.char == "d" and x.dtype.isnative and x.ndim != 0


def _bound(signature: Signature, rest: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any] | None:
    """The attributes by name, if all are simple, and named as in the row: as `Signature.bind` gives them."""
    bound = dict(signature.attributes)
    if rest:
        if not _is_simple(rest) or (signature.gathers is None and len(rest) > len(bound)):
            return None
        if signature.gathers is not None:
            bound[signature.gathers] = as_one(rest[0]) if len(rest) == 1 else rest
        else:
            bound.update(zip(bound, rest, strict=False))
    for name, value in keywords.items():
        if name not in bound or name == signature.gathers or not _is_simple(value):
            return None
        bound[name] = value
    return None if REQUIRED in bound.values() else bound


def _is_simple(value: Any) -> bool:
    """Whether an attribute has no value with a graph in it: no guard is needed."""
    kind = type(value)
    if kind is int or value is None or kind is bool or kind is float or value is Ellipsis:
        return True
    if kind is slice:
        for end in (value.start, value.stop, value.step):
            if end is not None and type(end) is not int and not _is_simple(end):
                return False
        return True
    if kind is tuple:
        for part in value:  # noqa: SIM110 - all(...) makes a generator, which takes longer than the loop
            if type(part) is not int and not _is_simple(part):
                return False
        return True
    return False


def _general(op: Op) -> Function:
    count = 0 if op.variadic or op.signature.attributes else len(op.signature.operands)

    def call(*args: Any, **attrs: Any) -> Any:
        if count and len(args) == count and not attrs:  # in a backward pass most calls are on plain arrays
            for x in args:
                kind = type(x)
                if kind is not float and (kind.__name__ not in _ARRAYS or not _is_value(x)):
                    break
            else:
                return compute(op, args, prepared(op, args, attrs))
        operands, attrs = op.signature.bind(args, attrs)
        if attrs:
            choose_all(attrs.values())
        if op.adapt is not None:
            operands = op.adapt(operands)
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
