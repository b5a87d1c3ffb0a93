"""Derivatives as values, `hessian(y, x)`, and as functions, `hessian(f)`, all by the backward pass.

grad(f)        the function that gives the gradient of f by its first argument; grad(f, 1) by its second,
grad(f, (0, 1)) by both
jacobian(y, x) all derivatives of the entries of y, in the shape of y followed by that of x
hessian(y, x)  the second derivatives of a number; hessian(y, [a, b]) those by several values
jvp(f, x, v)   the derivative of f(x) in the direction v        vjp(f, x, u)   u times the Jacobian
hvp(f, x, v)   the Hessian times v, without the Hessian

Of plain numbers and arrays, the derivative of a function is plain, as its value is: what an optimiser asks for. It is a
Tensor where an argument is one, where the graph behind it has other leaves, and with `create_graph`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agrad.engine import units
from agrad.engine.autodiff.anomalies import say_not_finite
from agrad.engine.autodiff.backward import grad as gradients
from agrad.engine.autodiff.backward import or_zeros, paths, result_of, zeros
from agrad.engine.autodiff.forward_mode import push, push_along
from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import afford, current, scope
from agrad.engine.core.dispatch import composed, operand
from agrad.engine.core.graph import Node, Units, alive, collect, new_node, oldest, reachable, roots_of
from agrad.engine.core.graph_errors import MissingLeaf, no_grad_error
from agrad.engine.core.guards import note_read
from agrad.engine.core.op import OPS, Function
from agrad.engine.core.tensor import Tensor, bare, handle, inherit, tensor, tensors_in
from agrad.engine.errors import AgradError, Facts, Hint, Origin
from agrad.engine.values import coerce, describe, format_shape, np, shape_of, spread, whole

# As values


def grad(y: Any, x: Any = None, create_graph: bool = False, gradient: object = None) -> Any:
    """dy/dx of a value; of a function, the function that gives its gradient by its first, or its x-th, argument.

    A tuple for several x. Raises AgradError of kind `grad` where y does not depend on x, and of kind `shape` where y
    is not one number and has no seed `gradient`.
    """
    if not isinstance(y, Tensor):
        return _transform("grad", y, x, create_graph, gradients)
    return _by_each("grad", y, x, lambda xs: gradients(y, xs, create_graph, gradient))


def jacobian(y: Any, x: Any = None, create_graph: bool = False) -> Any:
    """The derivatives of every entry of y by every entry of x, in the shape of y followed by that of x.

    Of a function, the function that gives its Jacobian by its first, or its x-th, argument. A tuple for several x.
    """
    if not isinstance(y, Tensor):
        return _transform("jacobian", y, x, create_graph, _jacobians_in_units)
    return _by_each("jacobian", y, x, lambda xs: _jacobians_in_units(y, xs, create_graph))


def hessian(y: Any, x: Any = None, create_graph: bool = False) -> Any:
    """The second derivatives of one number y by the entries of x, in the shape of x twice.

    For several x the blocks, a tuple of tuples; for several numbers one matrix. Of a function, the function that
    gives its Hessian by its first, or its x-th, argument.
    """
    if not isinstance(y, Tensor):
        return _transform("hessian", y, x, create_graph, _hessians, _matrix)
    xs, single = _inputs("hessian", y, x)
    return _matrix(_hessians(y, xs, create_graph), single)


def vjp(y: Any, x: Any, u: Any, create_graph: bool = False) -> Any:
    """u times the Jacobian of y by x: the gradient of sum(u*y). Of a function, at the point x."""
    if isinstance(y, Tensor):
        return _by_each("vjp", y, x, lambda xs: gradients(y, xs, create_graph, _seed(u)))
    return _at("vjp", y, x, create_graph, lambda y, xs: _or_zero(y, xs, _seed(u)))


def jvp(y: Any, x: Any, v: Any, create_graph: bool = False) -> Any:
    """The derivative of y in the direction v of x: the Jacobian times v, in one forward pass.

    Of a function, at the point x. Raises AgradError of kind `shape` where v has another shape than x.
    """
    if isinstance(y, Tensor):
        xs, single = _inputs("jvp", y, x)
        result = _pushed(y, _directions(v, xs, single), [], create_graph)
        if not create_graph:
            note_read(y.node)
        return result
    is_single = not isinstance(x, tuple)
    return _at("jvp", y, x, create_graph, lambda y, xs: (_pushed(y, _directions(v, xs, is_single), xs, True),))


def hvp(y: Any, x: Any, v: Any, create_graph: bool = False) -> Any:
    """The Hessian of one number y by x, times v, without the Hessian itself. Of a function, at the point x."""
    if isinstance(y, Tensor):
        xs, single = _inputs("hvp", y, x)
        results = _hessian_products(y, _directions(v, xs, single), create_graph)
        return results[0] if single else results
    is_single = not isinstance(x, tuple)
    return _at("hvp", y, x, create_graph, lambda y, xs: _hessian_products(y, _directions(v, xs, is_single), True))


# The computation

_FORWARD = 2  # a forward pass takes up to about twice the time of a backward pass


def _inputs(name: str, y: Tensor, x: Any) -> tuple[list[Tensor], bool]:
    """The values to differentiate by, and whether it is a single one.

    A vector that is made from them in the call, as the language makes one from `[a, b]`, means its parts.
    """
    if x is None:
        what = y.node.spell()
        behind = [node.name for node in collect([y.node])[1:] if node.op is None and node.name]
        by = behind[-1] if behind else "x"
        message = f"{name} of {what} needs a value to differentiate with respect to"
        raise AgradError("arity", message, fixes=[f"{name}({what}, {by})"])
    if not isinstance(x, Tensor):
        if not isinstance(x, Sequence) or isinstance(x, str) or not all(isinstance(one, Tensor) for one in x):
            raise AgradError("type", f"a derivative is taken with respect to a value with a graph, not {describe(x)}")
        if not x:
            raise AgradError("arity", f"{name} needs a value to differentiate with respect to: () is empty")
        return list(x), False
    op = x.node.op
    if op is not OPS["stack"] or x.node in reachable(y.node):
        return [x], True
    for part in x.node.inputs:
        if not isinstance(part, Node):
            raise AgradError("grad", f"{describe(part)} is a constant: no derivative is taken with respect to it")
    return [bare(part, part.value) for part in x.node.inputs if isinstance(part, Node)], False


def _by_each(name: str, y: Tensor, x: Any, derive: Callable[[list[Tensor]], Sequence[Any]]) -> Any:
    xs, single = _inputs(name, y, x)
    results = derive(xs)
    return results[0] if single else tuple(results)


def _jacobians_in_units(y: Tensor, xs: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    found = _jacobians(y, xs, create_graph)
    return [units.quantity.with_unit(one, y, [x]) for one, x in zip(found, xs, strict=True)] if Units.exist else found


def _jacobians(y: Tensor, xs: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    """One backward pass for each entry of y, or one forward pass for each entry of xs where that is less work."""
    if not y.node.requires_grad:
        raise no_grad_error(y.node)
    if not y.shape:
        return list(gradients(y, xs, create_graph))
    afford("the Jacobian", *(y.shape + x.shape for x in xs))
    order = paths(y, xs)
    if _FORWARD * sum(x.size for x in xs) <= y.size and _is_plain(order):
        return _by_columns(y, xs, order, create_graph)
    return _by_rows(y, xs, order, create_graph)


def _is_plain(order: Sequence[Node]) -> bool:
    """Whether a forward pass will do: hooks, functions of the user and notes on single passes need backward ones."""
    return current().listener is None and not any(
        node.hooks or (node.op is not None and node.op.role == "opaque") for node in order
    )


def _by_columns(y: Tensor, xs: Sequence[Tensor], order: list[Node], create_graph: bool) -> list[Tensor]:
    """The Jacobians of y, one forward pass for each entry of the values."""
    results = []
    for x in xs:
        columns: list[Any] = []
        for place in range(x.size):
            direction = np.zeros(x.shape)
            direction.flat[place] = 1.0
            given = {x.node: direction if x.shape else 1.0}
            for masks in (given,) if create_graph else ({}, given):  # without first, since that takes less time
                pushed = push_along(reversed(order), [y], given, create_graph, masks)[0]
                if pushed is None or (not create_graph and np.isfinite(pushed).all()):
                    break
            columns.append(np.zeros(y.shape) if pushed is None else pushed)
        shape = y.shape + x.shape
        if not columns:
            table: Any = np.zeros(shape)
        elif create_graph:
            table = OPS["reshape"].call(OPS["stack"].call(columns, axis=-1), shape)
        else:
            table = np.stack(columns, axis=-1).reshape(shape)
        results.append(result_of(table, shape, y, create_graph))
    return results


def _by_rows(y: Tensor, xs: Sequence[Tensor], order: list[Node], create_graph: bool) -> list[Tensor]:
    """The Jacobians of y, one backward pass for each entry of it."""
    targets = [x.node for x in xs]
    rows: list[list[Any]] = []
    plain = [np.zeros((y.size, *x.shape)) for x in xs if not create_graph]
    for place, index in enumerate(np.ndindex(*y.shape)):
        seed = np.zeros(y.shape)
        seed[index] = 1.0
        only = {y.node: seed}
        found = walk(order, only, create_graph, targets, only) if y.node in order else {}
        if current().listener is not None:
            say_not_finite(order, only, found)
        if create_graph:
            rows.append([result_of(found.get(node), node.shape, y, True) for node in targets])
            continue
        for table, node in zip(plain, targets, strict=True):
            if node in found:
                table[place] = found[node]
    if not create_graph:
        tables = [table.reshape(y.shape + x.shape) for table, x in zip(plain, xs, strict=True)]
        return [result_of(table, table.shape, y, False) for table in tables]
    if not rows:
        return [zeros(y.shape + x.shape) for x in xs]
    columns = zip(xs, zip(*rows, strict=True), strict=True)
    return [OPS["reshape"].call(OPS["stack"].call(column), y.shape + x.shape) for x, column in columns]


def _hessians(y: Tensor, xs: Sequence[Tensor], create_graph: bool) -> list[list[Tensor]]:
    def of_gradient(g: Tensor) -> list[Tensor]:
        return or_zeros(g, xs, lambda used: _jacobians(g, used, create_graph), g.shape)

    return [of_gradient(g) for g in gradients(y, xs, True)]


def _matrix(blocks: Sequence[Sequence[Tensor]], single: bool) -> Any:
    if single:
        return blocks[0][0]
    if all(not block.shape for row in blocks for block in row):
        return OPS["stack"].call([OPS["stack"].call(row) for row in blocks])
    return tuple(tuple(row) for row in blocks)


def _seed(u: Any) -> Any:
    return u if isinstance(u, Tensor) else operand(u)


def _or_zero(y: Tensor, xs: Sequence[Tensor], seed: Any, create_graph: bool = True) -> list[Tensor]:
    """The gradients of y for a seed, 0 for values that it does not depend on."""
    return or_zeros(y, xs, lambda used: gradients(y, used, create_graph, seed))


def _directions(v: Any, xs: Sequence[Tensor], single: bool) -> list[tuple[Tensor, Any]]:
    """Each value with its direction."""
    if not single and (not isinstance(v, Sequence) or isinstance(v, str)):
        raise AgradError("arity", f"each value needs a direction; this is {describe(v)}")
    directions = [v] if single else list(v)
    if len(directions) != len(xs):
        raise AgradError("arity", f"{len(directions)} directions for {len(xs)} values")
    return [(x, _seed(direction)) for x, direction in zip(xs, directions, strict=True)]


def _pushed(y: Tensor, directions: list[tuple[Tensor, Any]], own: Sequence[Tensor], create_graph: bool) -> Tensor:
    """The Jacobian times a direction for each x, in one forward pass.

    With `create_graph` the result has a graph if it depends on a leaf that is none of `own`, or on what a function
    being traced has computed. Where it has none, the pass computes plain values and records nothing.
    """
    for x, v in directions:
        if shape_of(v) != x.shape:
            shapes = f"{format_shape(shape_of(v))}, not {format_shape(x.shape)}"
            raise AgradError("shape", f"the direction has shape {shapes}")
    given = {x.node: v for x, v in directions}
    sources = [y.node, *(v.node for v in given.values() if isinstance(v, Tensor))]
    create_graph = create_graph and (_has_leaves(sources, own) or any(_is_traced(node, own) for node in sources))
    if not create_graph:
        given = {node: v.value if isinstance(v, Tensor) else v for node, v in given.items()}
    pushed = push(y, given, create_graph)
    if current().listener is not None and pushed is not None:
        say_not_finite(collect([y.node]), {y.node: spread(1.0, y.shape)}, {y.node: pushed})
    if create_graph:
        return result_of(pushed, y.shape, y, True)
    result = tensor(pushed) if pushed is not None else zeros(y.shape)
    inherit(result.node, sources)
    if Units.exist:
        for x, v in directions:
            before = result.node.unit
            result.node.unit = None
            units.quantity.with_unit(result, y, [x], v)
            if before is not None and before.dim != result.node.unit.dim:
                raise AgradError("unit", "jvp: what the directions give cannot be added, for their units differ")
    return result


def _hessian_products(y: Tensor, directions: list[tuple[Tensor, Any]], create_graph: bool) -> list[Tensor]:
    xs = [x for x, _ in directions]
    totals: list[Any] = [zeros(x.shape) for x in xs]
    for pulled, (_, direction) in zip(_or_zero(y, xs, None), directions, strict=True):
        parts = _or_zero(pulled, xs, direction, create_graph)
        totals = [a + b for a, b in zip(totals, parts, strict=True)]
    return totals


# As functions


class SeveralResults(Facts):
    """A gradient, or a Hessian, of a function that has several results."""


class WrongPlace(Facts):
    """A value, or a number that is too large, where the number of an argument is read."""


_OF_A_NUMBER = {"grad": 1, "hessian": 2}  # how many derivatives of one number these take


def _transform(
    name: str,
    function: Any,
    places: Any,
    as_tensors: bool,
    derive: Callable[[Tensor, list[Tensor], bool], Sequence[Any]],
    shape_result: Callable[[Any, bool], Any] | None = None,
) -> Function:
    """The function that gives a derivative of another, by the arguments at `places`."""
    if not callable(function):
        message = f"{name} needs a function, or a value with a graph: {describe(function)} has no graph"
        raise AgradError("type", message, facts=MissingLeaf())
    places = 0 if places is None else places
    single = not isinstance(places, tuple | list)
    if not single and not places:
        raise AgradError("arity", f"{name} needs an argument to differentiate with respect to: () is empty")
    listed = [places] if single else list(places)
    if any(isinstance(place, Tensor) and (place.requires_grad or place.shape) for place in listed):
        raise _misplaced(name, function, "a function is followed by the number of an argument, not by a value")
    chosen = [whole(place, f"{name}: the number of an argument") for place in listed]
    # A function of the language has a known number of arguments.
    if max(chosen) >= getattr(function, "places", math.inf):
        raise _misplaced(name, function, _beyond(function, max(chosen)))

    def of_result(y: Tensor, xs: list[Tensor]) -> Any:
        if name in _OF_A_NUMBER and y.size != 1:  # several numbers have a Jacobian
            f = getattr(function, "__name__", "f")
            fixes = [Hint(f"{'jacobian(' * _OF_A_NUMBER[name]}{f}{')' * _OF_A_NUMBER[name]}(x)")]
            message = f"{name} of {f}, whose result has shape {format_shape(y.shape)}, not one number"
            raise AgradError("shape", message, fixes=fixes, facts=SeveralResults())
        results = _derived(y, xs, derive)
        return shape_result(results, single) if shape_result else (results[0] if single else tuple(results))

    return _of_function(name, function, chosen, as_tensors, of_result)


def derivatives(name: str, function: Any, x: Any, order: int) -> tuple[Tensor, ...]:
    """A function of one number at a point, and its derivatives up to an order; it is called once."""

    def chain(y: Tensor, xs: list[Tensor]) -> tuple[Tensor, ...]:
        if y.shape:
            raise AgradError("shape", f"{name}: the function gives an array, not one number")
        found = [y]
        for _ in range(order):
            found += _or_zero(found[-1], xs, None)
        return tuple(found)

    return _of_function(name, function, [0], True, chain)(x)  # type: ignore[no-any-return]


def _at(
    name: str, function: Any, x: Any, as_tensors: bool, derive: Callable[[Tensor, list[Tensor]], Sequence[Any]]
) -> Any:
    """A product with the derivative of a function, at a point."""
    if not callable(function):
        raise AgradError("type", f"{name} needs a function, or a value with a graph, not {describe(function)}")
    given = x if isinstance(x, tuple) else (x,)
    results = _of_function(name, function, range(len(given)), as_tensors, lambda y, xs: tuple(derive(y, xs)))(*given)
    return results if isinstance(x, tuple) and name != "jvp" else results[0]


def _of_function(
    name: str, function: Any, chosen: Sequence[int], as_tensors: bool, derive: Callable[[Tensor, list[Tensor]], Any]
) -> Function:
    """The function that gives a derivative of another by the arguments at some places; none by these can follow.

    It needs the graph, also inside no_grad; the result has none there. Unless `as_tensors`, it is plain of plain
    arguments.
    """

    def derived(*args: Any, **keywords: Any) -> Any:
        if not all(-len(args) <= place < len(args) for place in chosen):
            raise _misplaced(name, function, _beyond(function, max(chosen)))
        moved = list(args)
        with scope(recording=True):
            xs = [_entered(args[place]) for place in chosen]
            for place, x in zip(chosen, xs, strict=True):
                moved[place] = OPS["own"].call(x)  # which it may write to: x stays the value to differentiate by
            result = _each(derive(_called(name, function, moved, xs, keywords), xs), lambda x: _released(x, xs))
            for x in xs:
                if x.node.op is None:
                    x.node.requires_grad = False
        result = result if current().recording else _each(result, Tensor.detach)
        if as_tensors or next(tensors_in([*args, *keywords.values()]), None) is not None:
            return result
        return _each(result, lambda x: x if x.node.recorded or x.requires_grad else coerce(x.value))

    derived.__name__ = f"{name}({getattr(function, '__name__', 'f')})"
    return derived


def _beyond(function: Any, place: int) -> str:
    return f"{getattr(function, '__name__', 'the function')} has no argument {place}, counted from 0"


def _misplaced(name: str, function: Any, why: str) -> AgradError:
    """The operand after a function is the number of an argument, not the point, nor the value to differentiate by."""
    f = getattr(function, "__name__", "f")
    message = f"{name}: {why}"
    fixes = [Hint(f"{name}({f})(x)   at the point x"), Hint(f"{name}({f}(x), x)   of a value, by the leaf x")]
    return AgradError("arity", message, fixes=fixes, facts=WrongPlace())


def _each(result: Any, change: Callable[[Tensor], Any]) -> Any:
    """A result, or a tuple of results in tuples, with each value changed."""
    if isinstance(result, tuple):
        return tuple([_each(one, change) for one in result])
    return change(result) if isinstance(result, Tensor) else result


def _entered(value: Any) -> Tensor:
    """An argument to differentiate by; a value with a graph stays connected to it."""
    value = operand(value)
    if isinstance(value, Tensor) and value.node.recorded and value.node.requires_grad:
        copy: Tensor = OPS["own"].call(value)
        return copy
    if isinstance(value, Tensor) and value.node.recorded and current().tracing is not None:
        return _linked("own", value, True)  # an argument of the function being traced, which requires no gradient
    made = tensor(value, requires_grad=True)
    if isinstance(value, Tensor):
        units.keep(value.node, made.node)
        inherit(made.node, (value.node,))  # so that the result knows what it was computed from
    return made


def _called(name: str, function: Any, given: list[Any], xs: list[Tensor], keywords: Mapping[str, Any]) -> Tensor:
    """The result of a function.

    AgradError of kind `grad` where it has lost its graph: it does not depend on an argument, which the function has
    read as a plain number. Its derivative would be 0, even if the number was used.
    """
    reads: list[tuple[Node, Origin | None]] = []
    with scope(reads=reads):
        y = returned(name, function(*given, **keywords))
    outer = current().reads
    if outer is not None:
        outer += reads  # of arguments of a function around this one
    refuse_lost(name, function, [y], dict(enumerate(xs)), reads)
    return y


def returned(name: str, y: Any) -> Tensor:
    """The result of a function as a value. Raises AgradError of kind `type` for what is none."""
    if isinstance(y, tuple | list | str) or callable(y) or y is None:
        raise AgradError("type", f"{name} of a function whose result is {describe(y)}, not a number or an array")
    return y if isinstance(y, Tensor) else tensor(y)


def _derived(y: Tensor, xs: list[Tensor], derive: Callable[[Tensor, list[Tensor], bool], Sequence[Any]]) -> Any:
    """The derivatives of the result of a function; 0 by an argument that it does not use.

    Nothing is recorded where there is nothing else to differentiate by: see `_released`.
    """
    if not (y.requires_grad and {x.node for x in xs} <= reachable(y.node, oldest([x.node for x in xs]))):
        for x in xs:  # connects the result to every argument, with derivative 0
            y = y + OPS["where"].call(0.0, OPS["sum"].call(x), 0.0)
    if current().tracing is not None or _has_leaves([y.node], xs):
        return derive(y, xs, True)
    with scope(reads=None):  # what a derivative is computed from is not read by the function
        return derive(y, xs, False)


def _released(result: Tensor, xs: list[Tensor]) -> Tensor:
    """A result without its graph, unless that contains other leaves than the arguments."""
    if _has_leaves([result.node], xs):
        return result
    return _linked("stop", result, False) if _is_traced(result.node, xs) else result.detach()


def _linked(name: str, x: Tensor, requires_grad: bool) -> Tensor:
    """The same value, which the program of the function being traced computes from this one."""
    return handle(new_node(OPS[name], (x.node,), None, x.value, x.shape, requires_grad), x.value)


def _is_traced(root: Node, own: Sequence[Tensor]) -> bool:
    """Whether a node was computed from something older than `own` that the function being traced has computed."""
    if current().tracing is None or not own:
        return False
    since = oldest([x.node for x in own])
    return any(type(x) is Node and x.recorded and x.seq < since for node in reachable(root, since) for x in node.inputs)


def _has_leaves(roots: Sequence[Node], own: Sequence[Tensor]) -> bool:
    """Whether the graph behind some nodes contains a leaf to differentiate by that is none of `own`.

    While a function is traced, what is older than `own` and requires a gradient has its arguments behind it.
    """
    known = {x.node for x in own}
    since = oldest(known) if current().tracing is not None else -1
    for node in {node for root in roots for node in reachable(root, since)}:
        if node.op is None and node.requires_grad and node not in known:
            return True
        if since >= 0 and any(type(x) is Node and x.requires_grad and x.seq < since for x in node.inputs):
            return True
    return False


# In the language, where every result can be differentiated again

_ROWS = (
    (
        *("grad", "y; x=None", grad),
        "dy/dx as a value; of a function, its gradient function with respect to its first argument, or to number x.",
        "grad(sin)(0) == 1",
    ),
    (
        *("jacobian", "y; x=None", jacobian),
        "The derivatives of all entries of y, or of a function with respect to its first argument, or to number x.",
        "jacobian(exp)([0, 0]) == [[1, 0], [0, 1]]",
    ),
    (
        *("hessian", "y; x=None", hessian),
        "The second derivatives of a number, or of a function with respect to its first argument, or to number x.",
        "hessian(prod)([2, 3]) == [[0, 1], [1, 0]]",
    ),
    (
        *("jvp", "y; x, v", jvp),
        "The derivative of a value, or of a function at x, in the direction v of x.",
        "jvp(square, [1, 2], [1, 1]) == [2, 4]",
    ),
    (
        *("vjp", "y; x, u", vjp),
        "u times the derivatives of a value, or of a function at x.",
        "vjp(square, [1, 2], [1, 1]) == [2, 4]",
    ),
    (
        *("hvp", "y; x, v", hvp),
        "The second derivatives of a number, or of a function at x, times v.",
        "hvp(prod, [2, 3], [1, 0]) == [0, 1]",
    ),
)
for _name, _signature, _function, _doc, _example in _ROWS:
    composed(
        *(_name, _signature),
        pure=True,
        family="derivatives",
        doc=_doc,
        derivative="results can be differentiated again",
        example=_example,
        data=tuple(_signature.partition("; ")[2].removesuffix("=None").split(", ")),
    )(partial(_function, create_graph=True))


# Functions whose result has lost its graph: a derivative of such a function would be 0, whatever it computes.


def refuse_lost(
    name: str, function: Any, results: Sequence[Tensor], xs: Mapping[int, Tensor], reads: list[tuple[Node, Any]]
) -> None:
    """AgradError of kind `grad` where no result depends on an argument that was read as a plain number.

    `xs` are the arguments to differentiate by, by their places; `reads` are the values that the function has taken
    without their graph, each with the line of the program.
    """
    if not reads:
        return
    behind: set[Node] = set().union(*[reachable(y.node) for y in results if y.requires_grad])
    for place, x in xs.items():
        leaves = set(alive(roots_of(x.node)))
        read = [at for node, at in reads if not leaves.isdisjoint(alive(roots_of(node)))]
        if x.node not in behind and read:
            where = f" at {read[0].where}" if read[0] is not None else ""
            f = getattr(function, "__name__", "f")
            message = (
                f"{name} of {f}: its result has no graph, since argument {place} was read as a plain number{where}"
            )
            fixes = ["ag.sin(x) instead of math.sin(x)", "if x > 0 instead of if x.item() > 0"]
            fixes.append("ag.grad(y, x, create_graph=True) instead of ag.grad(y, x)")
            raise AgradError("grad", message, notes=["its derivative would be 0, as of a constant"], fixes=fixes)
