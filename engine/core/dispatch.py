"""What happens when an operation is called: plain values give plain values, Tensors give Tensors, and record.

First what an operation computes, and the node that is appended; then the function that is called for a row; then the
copies that nodes keep of the arrays of the caller; and how rows are added to the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from sys import _getframe
from typing import Any
from weakref import ref

from agrad.engine.core.arguments import to_spread
from agrad.engine.core.context import MOST_UNDEFINED, STAMPS, afford_spread, current, exhausted
from agrad.engine.core.graph import LENGTH, PLACES, Node, new_node
from agrad.engine.core.guards import choose, entries, number
from agrad.engine.core.numpy_warnings import computed, prepare
from agrad.engine.core.op import (
    FUNCTIONS,
    OPS,
    REQUIRED,
    VIEWERS,
    Entry,
    Function,
    Op,
    Signature,
)
from agrad.engine.core.tensor import BLANK, Tensor, bare, inherit, tensors_in
from agrad.engine.errors import AgradError, Hint
from agrad.engine.text import docstring
from agrad.engine.values import (
    IEEE,
    MISSING,
    Shape,
    Value,
    broadcast,
    coerce,
    format_shape,
    is_mask,
    mask_type,
    np,
    settle,
    shape_of,
    whole_as_float,
)

# What an operation computes: on plain values, and on handles, where it appends the node.
#
# The calls with one or two scalars have this inline: see `caller`. `depth`: how many calls the script is away.


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
    if len(values) > 1 and op.reach == "pointwise":
        afford_spread(op.name, values)
    context, out = current(), None
    try:
        if op.scatter is not None or (context.silence is not None and context.silence.before is not None):
            out = op.array(*values, **attrs)  # an index computes nothing that numpy would warn of
        elif context.quietly is not None:
            out = context.quietly().run(op.array, *values, **attrs)
        else:
            out = computed(op.array, *values, **attrs)
        return out if type(out) is np.ndarray and out.dtype.char == "d" and out.shape else settle(out)
    except (ValueError, IndexError) as error:
        raise misfit(op, values, attrs, error) from None
    except MemoryError as error:
        raise exhausted(op.name, error) from None


def misfit(op: Op, values: tuple[Value, ...], attrs: dict[str, Any], error: Exception) -> AgradError:
    """The error for a refusal by numpy, in terms of the shapes."""
    shapes = [shape_of(value) for value in values]
    listed = " and ".join(format_shape(shape) for shape in shapes)
    if type(error).__name__ == "LinAlgError":
        fixes = [Hint(op.fails.refused(shapes[0]))] if op.fails.refused is not None else []
        return AgradError("domain", f"{op.name} of shape {listed}: {str(error).lower()}", fixes=fixes)
    if op.reach == "pointwise" and len(shapes) > 1:
        try:
            broadcast(*shapes)
        except AgradError:
            return AgradError("shape", f"{op.name}: shapes {listed} do not fit together", notes=to_spread(*shapes))
    return AgradError("shape", f"{op.name} of shape {listed}: {error}")


def plain(value: Value, operands: Iterable[object]) -> Tensor:
    """A handle on a result that has no graph, and remembers which leaves led to it."""
    node = new_node(None, (), None, value, () if type(value) is float else shape_of(value), False)
    inherit(node, operands)
    return bare(node)


def plain_truth(value: Value, operands: Iterable[object]) -> Tensor:
    """The same for one truth value, which is no place in an array: see `is_truth`."""
    made = plain(value, operands)
    made.is_truth = True
    return made


def appended(
    op: Op,
    inputs: tuple[Any, ...],
    values: Sequence[Any],
    attrs: dict[str, Any],
    out: Any,
    live: tuple[bool, ...],
    depth: int = 1,
) -> Tensor:
    """A handle on a result, whose node keeps what the rules of the `live` operands read."""
    reads, reads_out = op.known.get(live) or op.read_by(live)
    for place in reads:
        if type(inputs[place]) is Node:
            inputs[place].value = values[place]
    made = next(BLANK)
    if type(out) is float:
        made.node, made.array = new_node(op, inputs, attrs or None, out, (), True in live, depth + 1), None
    else:
        kept = out if reads_out else None
        made.node = node = new_node(op, inputs, attrs or None, kept, out.shape, True in live, depth + 1)
        made.array, node.handle = out, ref(made)
    return made


class Handles:
    """How operators give handles of a subclass, where all operands have entries of one type."""

    __slots__ = ("blank", "careful", "kind", "made", "of_two", "typed")

    kind: type[Tensor]
    blank: Iterator[Any]  # of handles to be filled
    typed: Any  # the type of the entries of operands
    made: Any  # that of results
    careful: Sequence[Any]  # while this is not empty, all takes the general path
    of_two: Function  # as here, but for `own`

    def of(self, made: Tensor) -> Tensor:
        """A handle of the engine's as one of these."""
        made.__class__, made.kind = self.kind, self.made
        return made


def of_two(op: Op, nx: Any, ny: Any, a: Any, b: Any, depth: int, own: Handles | None = None) -> Tensor:
    """The result where one of two operands is an array. They are nodes or numbers; `a` and `b` are their values."""
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
    by_x, by_y = op.rules
    live = (
        by_x is not None and nx is not a and nx.requires_grad,
        by_y is not None and ny is not b and ny.requires_grad,
    )
    if not (context.recording and (True in live or (nx is not a and nx.recorded) or (ny is not b and ny.recorded))):
        found = plain(out, (nx, ny))
        return found if own is None else own.of(found)
    reads, reads_out = op.known.get(live) or op.read_by(live)  # the rest as `appended` does it, with fewer calls
    if nx is not a and 0 in reads:
        nx.value = a
    if ny is not b and 1 in reads:
        ny.value = b
    node = new_node(op, (nx, ny), None, out if reads_out else None, shape, True in live, depth)
    made: Tensor = next(BLANK) if own is None else next(own.blank)
    if own is not None:
        made.kind = own.made
    made.node, made.array, node.handle = node, out, ref(made)
    return made


def of_pair(op: Op, x: Tensor, y: Tensor, attrs: dict[str, Any], depth: int) -> Tensor:
    """The result for two handles, of an operation that has no form on floats."""
    nx, ny = x.node, y.node
    a: Any = x.array if nx.value is None else nx.value
    b: Any = y.array if ny.value is None else ny.value
    if op.prepare is not None:
        attrs = op.prepare(a, b, **attrs)
    out: Any
    context = current()
    if context.quietly is None or context.silence is not None:
        out = on_arrays(op, (a, b), attrs)
    else:
        try:  # as there, with fewer calls
            out = settle(context.quietly().run(op.array, a, b, **attrs))
        except (ValueError, IndexError, MemoryError):
            out = on_arrays(op, (a, b), attrs)  # raises the error
    if type(out) is not float and out.base is not None:
        out = out.copy()  # there are no views: a write to one value never shows in another
    by_x, by_y = op.rules
    live = by_x is not None and nx.requires_grad, by_y is not None and ny.requires_grad
    is_recorded = context.recording and (True in live or nx.recorded or ny.recorded)
    return appended(op, (nx, ny), (a, b), attrs, out, live, depth) if is_recorded else plain(out, (nx, ny))


def of_one(op: Op, x: Tensor, attrs: dict[str, Any], depth: int) -> Tensor:
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
    elif op.scatter is None and (context.quietly is None or context.silence is not None):
        out = on_arrays(op, (a,), attrs)
    else:
        try:  # as there, with fewer calls
            if op.scatter is not None:
                out = op.array(a, **attrs)
            else:
                out = context.quietly().run(op.array, a, **attrs)  # type: ignore[misc]
            out = settle(out)
        except (ValueError, IndexError, MemoryError):
            out = on_arrays(op, (a,), attrs)  # raises the error
    if type(out) is not float and out.base is not None:
        out = out.copy()  # there are no views: a write to one value never shows in another
    if not (context.recording and (source.requires_grad or source.recorded)):
        is_entry = op.scatter is not None and type(out) is float and is_mask(a)
        return (plain_truth if is_entry else plain)(out, (source,))
    live = (source.requires_grad and op.rules[0] is not None,)
    return appended(op, (source,), (a,), attrs, out, live, depth)


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
    given = attrs
    kind: type[Tensor] = Tensor  # of the result
    rules = op.rules * len(operands) if op.variadic else op.rules
    for x, rule in zip(operands, rules, strict=True):
        if isinstance(x, Tensor):
            if type(x) is not Tensor:
                kind = type(x)
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
            if not isinstance(x, Tensor):
                inputs[place] = values[place] = kept(x) if recorded else coerce(x, copy=False, truths=True)
    if op.prepare is not None:
        attrs = op.prepare(*values, **attrs)
    out: Any = (on_arrays if op.scalar is None else compute)(op, tuple(values), attrs)
    if type(out) is not float and out.base is not None:
        out = out.copy()  # there are no views: a write to one value never shows in another
    made = appended(op, tuple(inputs), values, attrs, out, tuple(live)) if recorded else plain(out, inputs)
    return made if kind is Tensor else kind.made(op, operands, given, made)


# The function that is called for each row.
#
# Most calls in a graph of scalars are of one or two floats or handles on floats: each row gets a short closure for
# these with everything inline. Other rows get one that takes handles, floats and plain arrays with simple attributes
# (numbers and slices) as they are. The rest (attributes with values in them, lists, numbers of other types) takes one
# general path.


def caller(op: Op) -> Function:
    """The function that is called for a row."""
    count = len(op.signature.operands)
    if op.scalar is None or op.signature.attributes or op.variadic or count > 2:
        return _of_several(op) if op.variadic or count > 1 else _of_one(op)
    call = _unary(op) if count == 1 else direct(op, _general(op))
    call.signature = op.signature  # type: ignore[attr-defined]  # it takes its operands and nothing else
    return call


def operator_of(op: Op, method: str) -> Function:
    """The method of Tensors for an operator. Of an operand that is no number, Python asks the reflected method."""
    if len(op.signature.operands) != 2:
        return op.call
    reflected = f"__{_MIRRORED.get(method, 'r' + method)}__"
    if op.scalar is None or op.signature.attributes:
        return _giving_way(op.call, reflected)
    return direct(op, _giving_way(_general(op), reflected))


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


_WITHOUT_GRAPH = frozenset({float, int, bool, str, type(None)})


def choose_all(given: Iterable[Any]) -> None:
    """A guard for each value with a graph among arguments that are not operands: sizes, axes, indices."""
    stack = list(given)
    while stack:
        one = stack.pop()
        if type(one) in _WITHOUT_GRAPH:
            continue
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
    unrecorded = plain_truth if op.role == "truths" else plain

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
                return unrecorded(out, (source,))
            node = Node()
            node.op = op
            node.inputs = (source,)
            node.value = out
            node.shape = ()
            node.requires_grad = differentiable and source.requires_grad
            node.seq = node.stamp = next(STAMPS)
            script = context.script
            if script is None or context.place is not None:
                node.code, node.place = None, context.place
            else:
                frame = _getframe(1)
                at = frame.f_lasti
                node.code, node.place = frame.f_code, PLACES[at] if at < LENGTH else at
                if node.code is not script.code or node.seq > script.due:
                    script.locate(node, frame)
            node.guard = context.guard
            made = next(BLANK)
            made.node = node
            made.array = node.attrs = node.name = node.left = node.extra = node.handle = None
            return made
        return of_one(op, x, {}, 3)

    return call


def direct(op: Op, general: Function, own: Handles | None = None) -> Function:
    """The call of a row with two numbers, in as few steps as there can be; `general` takes what else it is given.

    Each name that `call` has from around it takes time in each call.
    """
    scalar = op.scalar
    assert scalar is not None
    first, second = (rule is not None for rule in op.rules)
    handle, whole = (Tensor, whole_as_float) if own is None else (own.kind, float)

    def call(x: Any = MISSING, y: Any = MISSING, *rest: Any) -> Any:
        nx: Any  # a node, or the number itself
        ny: Any
        if type(x) is handle:
            nx = x.node
            a = nx.value
        elif type(x) is float:
            nx = a = x
        elif type(x) is int:
            nx = a = whole(x)
        else:
            return general(x, y, *rest) if y is not MISSING else general(x) if x is not MISSING else general()
        if type(y) is handle:
            ny = y.node
            b = ny.value
        elif type(y) is float:
            ny = b = y
        elif type(y) is int:
            ny = b = whole(y)
        else:
            return general(x, y, *rest) if y is not MISSING else general(x)
        if rest:
            return general(x, y, *rest)
        if own is not None and (
            own.careful or (nx is not a and x.kind is not own.typed) or (ny is not b and y.kind is not own.typed)
        ):
            return general(x, y)
        if type(a) is not float or type(b) is not float:
            two = of_two if own is None else own.of_two
            return two(op, nx, ny, x.array if a is None else a, y.array if b is None else b, 3)
        try:
            out = scalar(a, b)
        except IEEE:
            out = ieee(op, (a, b))
        live = (first and nx is not a and nx.requires_grad) or (second and ny is not b and ny.requires_grad)
        context = current()
        if not (context.recording and (live or (nx is not a and nx.recorded) or (ny is not b and ny.recorded))):
            if nx is a and ny is b:
                return out
            if own is not None:
                return own.of(plain(out, (nx, ny)))
            return plain_truth(out, (nx, ny)) if op.role == "truths" else plain(out, (nx, ny))
        node = Node()
        node.op = op
        node.inputs = (nx, ny)
        node.value = out
        node.shape = ()
        node.requires_grad = live
        node.seq = node.stamp = next(STAMPS)
        script = context.script
        if script is None or context.place is not None:
            node.code, node.place = None, context.place
        else:
            frame = _getframe(1)
            at = frame.f_lasti
            node.code, node.place = frame.f_code, PLACES[at] if at < LENGTH else at
            if node.code is not script.code or node.seq > script.due:
                script.locate(node, frame)
        node.guard = context.guard
        if own is not None:
            made = next(own.blank)
            made.kind = own.made
        else:
            made = next(BLANK)
        made.node = node
        made.array = node.attrs = node.name = node.left = node.extra = node.handle = None
        return made

    return call


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
                    return of_one(op, x, bound, 3)
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
            return of_pair(op, *args, signature.attributes, 3)
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
    """The attributes by name, if all are simple; AgradError of kind `arity` if they do not fit."""
    if rest and not _is_simple(rest):
        return None
    for value in keywords.values():
        if type(value) is not int and not _is_simple(value):
            return None
    return signature.attributes_of(rest, keywords)


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
    if (type(x) is list or type(x) is tuple) and next(tensors_in(x), None) is not None:
        return OPS["stack"].call([operand(entry) for entry in x])
    return coerce(x, copy=False)


def shape_of_any(x: Any) -> Shape:
    """The shape of a value, a Tensor, or nested lists of numbers."""
    return shape_of(x if isinstance(x, float) or hasattr(x, "shape") else operand(x))


def _is_of_objects(x: Any) -> bool:
    """Whether this is an array of Python objects, which may be Tensors."""
    if type(x) is float or isinstance(x, Tensor):  # asking a Tensor for its dtype would load numpy
        return False
    return getattr(getattr(x, "dtype", None), "hasobject", False) and bool(x.shape)


# The arrays of the caller that a graph needs again: its constants.
#
# A node keeps a copy of each, stored row by row: a backward and a replay must see the values that the operation saw,
# also if the caller has written into the array since. NumPy tells of no write, and no flag of an array excludes one
# through another view of the same memory. So an array that is used again, while its copy exists, is compared with
# that, bit by bit, and the copy is shared if nothing has changed. Comparing takes about as long as copying into memory
# that was used just before, but a tenth of copying into new memory, which the operating system has to map and clear
# first. And graphs that use an array many times hold it once.
#
# A copy exists as long as a node has it. So a loop that uses an array once, and frees its graph, copies it each time,
# into the memory that was just freed. Only for an array so large that the memory is returned to the operating system,
# the copy is kept between two iterations: while the caller's array exists, and as far as there is room.

_SHARED = 2**14  # entries from which on copies are shared: malloc asks the operating system for 128 kB and more
_LASTING = 2**20  # entries from which on copies are kept that no node has
_MOST = 2**26  # bytes of these, altogether
_SHARE = 1 / 8  # of the memory that one result may take, at most
_BLOCK = 2**16  # entries that are compared at once: of arrays that differ, often one block is read


_COPIES: dict[int, tuple[ref[Any], ref[Any]]] = {}  # by the identity of the caller's array: that, and its copy
_LATEST: dict[int, Any] = {}  # those copies that are kept, the oldest first


def kept(x: object) -> Value:
    """A constant in the form that a node keeps: a float, or an array that nobody else writes to, stored row by row."""
    value = coerce(x, copy=False, truths=True)
    if isinstance(value, float):
        return value
    if not value.flags.c_contiguous:
        return value.copy()
    if value is not x and (type(x) in (list, tuple) or (type(x) is np.ndarray and x.dtype != value.dtype)):
        return value  # it was made just now
    return _shared(value) if value.size >= _SHARED and type(value) is np.ndarray else value.copy()


def _shared(value: Any) -> Any:
    """The copy of an array that was made before, if it is still the same, else a new one."""
    key = id(value)
    known = _COPIES.get(key)
    before = known[1]() if known is not None and known[0]() is value else None
    if before is not None and _same_bits(before, value):
        return before
    made = value.copy()
    made.flags.writeable = False  # several graphs may have it
    _COPIES[key] = ref(value, partial(_forget, key)), ref(made)
    room = min(_MOST, current().limits.memory * _SHARE)
    _LATEST.pop(key, None)
    if _LASTING * 8 <= made.nbytes <= room:
        _LATEST[key] = made
        while sum(one.nbytes for one in [*_LATEST.values()]) > room:
            _LATEST.pop(next(iter(_LATEST), key), None)
    return made


def _same_bits(before: Any, value: Any) -> bool:
    """Whether a copy has the shape and the bits of an array: nan equals itself, -0.0 is not 0.0."""
    if before.shape != value.shape:
        return False
    first, second = before.reshape(-1).view(np.uint64), value.reshape(-1).view(np.uint64)
    for start in range(0, first.size, _BLOCK):
        if not (first[start : start + _BLOCK] == second[start : start + _BLOCK]).all():
            return False
    return True


def _forget(key: int, source: object) -> None:
    """Called when an array of the caller no longer exists."""
    if key in _COPIES and _COPIES[key][0] is source:
        del _COPIES[key]
        _LATEST.pop(key, None)


# The table


def row(
    name: str,
    signature: str = "",
    *,
    rules: Mapping[str, tuple[str, Function]] = {},
    selects: Mapping[str, Function] = {},
    **facts: Any,
) -> Function:
    """Add an operation to the table and return what is called. `rules` and `selects` go by operand name.

    Without a signature, its operands are those that have rules. Without an example it is for rules only: of the family
    `internal`. An operation is pure. `total` says whether it never raises for values of given shapes; by default, that
    is true if it only moves and adds entries, as a whole, or is computed on floats as in IEEE 754, and it is computed
    entry by entry then, by the same function on arrays. Without a rule it has no derivative.
    """
    called = Signature(name, signature or ", ".join(rules))
    scalar, moves = facts.get("scalar"), "moves_entries" in facts
    is_known = row.__doc__ is None and name in FUNCTIONS  # under python -OO, which leaves out the words
    stated = {
        "pure": True,
        "title": "".join(part.capitalize() for part in name.split("_")),
        "total": scalar is not None or moves,
        "array": scalar,
        "reach": "whole" if moves else "mixed" if scalar is None else "pointwise",
        "keeps_numbers": moves and len(called.operands) == 1 and not called.variadic,
        **({"units": "a -> a"} if moves and len(called.operands) == 1 and not called.variadic else {}),
        **dict.fromkeys(("scalar", "prepare", "scatter")),
        **({} if rules else {"derivative": "none: the result does not require grad"}),
        **facts,
        **({} if "example" in facts or is_known else {"family": "internal"}),
    }
    op = Op(
        name=name,
        signature=called,
        rules=tuple(rules[operand][1] if operand in rules else None for operand in called.operands),
        reads=tuple(rules[operand][0] if operand in rules else "" for operand in called.operands),
        selects=tuple(map(selects.get, called.operands)) if selects else None,
        call=row,  # replaced by the closure made for the row, before any thread can ask for it
        **stated,
    )
    op.call = caller(op)
    op.call.__name__, op.call.__doc__ = name, op.doc
    OPS[name] = op
    if op.family != "internal":
        FUNCTIONS[name] = op
    if op.shares:
        VIEWERS.add(op.call)
    return op.call


def _signature_of(function: Function) -> str:
    """How a function is called, as a row says it: its operands are in front of the `/`, its attributes behind."""
    code = function.__code__
    names, count = code.co_varnames[: code.co_argcount], code.co_posonlyargcount
    defaults = zip(reversed(names), reversed(function.__defaults__ or ()), strict=False)
    told = {name: f'="{one}"' if isinstance(one, str) else f"={one!r}" for name, one in defaults}
    return f"{', '.join(names[:count])}; {', '.join(name + told.get(name, '') for name in names[count:])}"


def words(function: Function) -> dict[str, str]:
    """What a docstring says for help: the `doc`, and behind it, each from a line on, `derivative: …`, `example: …`."""
    found, word = {"doc": ""}, "doc"
    for line in docstring(function).split("\n"):
        begins, colon, rest = line.strip().partition(": ")
        word, text = (begins, rest) if colon and begins in ("derivative", "example") else (word, line)
        found[word] = f"{found.get(word, '')} {text.strip()}".strip()
    return found


def by_array(
    make: Callable[..., Function], *given: Any, name: str = "", **facts: Any
) -> Callable[[Function], Function]:
    """Decorator: a function on arrays as the row that `make`, as `row`, makes of it, by its name, with its `words`."""
    return lambda array: make(name or array.__name__, *given, array=array, **words(array), **facts)


def by_rule(
    make: Callable[..., Function], reads: str = "", *, name: str = "", **facts: Any
) -> Callable[[Function], Function]:
    """Decorator: the rule of a function of one number, and what it reads, as the row that `make` makes of it."""
    return lambda rule: make(name or rule.__name__, (reads, rule), **words(rule), **facts)


def composed(
    name: str = "", signature: str = "", *, data: tuple[str, ...] = (), alone: Function | None = None, **facts: Any
) -> Callable[[Function], Function]:
    """Decorator: a function made of operations (or one that makes values) as an entry of the table, with its docstring.

    Its name, and how it is called, are those of the Python function, unless they are given. That is called with its
    operands, and with every attribute by name. An attribute is a choice that a replay must find unchanged, unless it is
    among the `data`: these are computed with like operands. `alone`: an operation that the function is where there are
    operands alone, and whose facts it has as far as they are not stated. Only a `pure` function may be staged, one that
    makes the same of the same and has no side effect; `total` says that no value makes it raise, and that it is pure.
    """
    shared: dict[str, Any] = {"pure": facts.get("total", False)}
    if alone is not None:
        shared |= {fact: getattr(OPS[alone.__name__], fact) for fact in _OF_BOTH}

    def register(function: Function) -> Function:
        called = Signature(name or function.__name__, signature or _signature_of(function))
        said = shared | words(function) | facts

        def call(*args: Any, **keywords: Any) -> Any:
            if alone is not None and len(args) == len(called.operands) and not keywords:
                return alone(*args)
            operands, attrs = called.bind(args, keywords)
            if attrs:
                choose_all(value for key, value in attrs.items() if key not in data)
            try:
                return function(*operands, **attrs) if not called.variadic else function(operands, **attrs)
            except MemoryError as error:
                raise exhausted(called.name, error) from None

        FUNCTIONS[called.name] = Entry(name=called.name, signature=called, call=call, **said)
        call.__name__, call.__doc__ = called.name, said["doc"]
        if alone is not None:
            call.alone = alone  # type: ignore[attr-defined]
        if facts.get("shares"):
            VIEWERS.add(call)
        return call

    return register


_OF_BOTH = ("kinks", "domain", "derivative", "example")


def in_family(
    family: str, **facts: Any
) -> tuple[Callable[..., Function], Callable[..., Callable[[Function], Function]]]:
    """`row` and `composed` for rows of one family, which need not state what all of them have in common."""
    return partial(row, family=family, **facts), partial(composed, family=family, **facts)
