"""What can be said of code without running it: what can be computed at once, and which guards it runs under.

`sum(1/k**2 for k in 1..1000)` is a few operations on vectors and not a thousand times as many on numbers. That is
so where all that it does to numbers is done entry by entry: by operators and functions that are declared to be
pointwise, also in functions of the user that only compute, and by taking entries of a vector. The code of the
expression is followed instruction by instruction, with kinds in the place of values. Everything else, such as a
condition, is computed for one value after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from agrad.engine.core.context import afford
from agrad.engine.core.graph import Guard, touch
from agrad.engine.core.guards import joined
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.values import np
from agrad.grammar import runtime
from agrad.grammar.runtime.builtins import Caller, Closure, is_object, meaning
from agrad.grammar.runtime.bytecode import Code, Definition, Do

_FEW = 16  # values that are computed one by one
_DEEPEST = 20  # functions of the user that call each other
_ONE, _EACH = "one number", "a number for each value"


class _Unlike(Exception):
    """Something that may do to a vector what it does not do to each entry."""


@cache
def _pointwise() -> frozenset[Any]:
    """What is called for the operations on numbers that treat arrays entry by entry."""
    simple = [op for op in OPS.values() if op.scalar is not None and not op.signature.attributes and not op.variadic]
    return frozenset(op.call for op in simple if op.reach == "pointwise" and op.pure)


def at_once(machine: Caller, function: Closure, values: Any) -> Tensor | None:
    """The values of a function of one number as a vector; None where it must be called for each."""
    is_vector = isinstance(values, Tensor) and len(values.shape) == 1
    if not (type(values) is range or is_vector) or len(values) < _FEW:
        return None
    try:
        (name,) = function.definition.parameters
        kind = _followed(function.definition.code, {name: _EACH}, function.scopes, 0)
    except _Unlike:
        return None
    if kind not in (_ONE, _EACH):
        return None
    afford("the values", (len(values),))
    if type(values) is range:
        values = tensor(np.arange(values.start, values.stop, values.step, dtype=np.float64))
    found = machine.call(function, (values,), {})
    return found if kind is _EACH else OPS["expand"].call(found, (len(values),))  # type: ignore[no-any-return]


def _followed(code: Code, own: dict[str, Any], scopes: Sequence[dict[str, Any]], depth: int) -> Any:
    """The kind of what some code returns. Raises _Unlike."""
    stack: list[Any] = []
    for do, detail, _ in code.instructions:
        if do is Do.RETURN:
            return stack.pop()
        if do is Do.CONSTANT and type(detail) is float:
            stack.append(_ONE)
        elif do is Do.LOAD:
            stack.append(own[detail] if detail in own else _kind_of(meaning(detail, scopes, None)))
        elif do is Do.STORE:
            own[detail[0]] = stack.pop()
        elif do in (Do.UNARY, Do.BINARY):
            count = 1 if do is Do.UNARY else 2
            stack[-count:] = [_applied(detail, stack[-count:], depth)]
        elif do is Do.WHOLE:
            continue
        elif do is Do.SIGN:
            if stack[-2:] == [_EACH, _EACH]:
                raise _Unlike  # of numbers it is a product, and of vectors not
        elif do is Do.CALL and not detail[1]:
            function, *given = stack[len(stack) - detail[0] - 1 :]
            stack[len(stack) - detail[0] - 1 :] = [_applied(function, given, depth)]
        elif do is Do.INDEX and isinstance(stack[-2], Tensor) and stack[-1] in (_ONE, _EACH):
            stack[-2:] = [stack[-1]]
        elif do is not Do.STATEMENT:
            raise _Unlike
    raise _Unlike


def _applied(function: Any, given: list[Any], depth: int) -> Any:
    """The kind of what a function makes of some kinds."""
    if any(kind not in (_ONE, _EACH) for kind in given):
        raise _Unlike
    if isinstance(function, Closure):
        parameters = function.definition.parameters
        if len(given) != len(parameters) or depth == _DEEPEST:
            raise _Unlike
        kinds = dict(zip(parameters, given, strict=True))
        return _followed(function.definition.code, kinds, function.scopes, depth + 1)
    if getattr(function, "alone", function) not in _pointwise():
        raise _Unlike
    return _EACH if _EACH in given else _ONE


def _kind_of(value: Any) -> Any:
    """One number, a vector, or a function; each of the last two stands for itself."""
    if type(value) is float or (isinstance(value, Tensor) and not value.shape):
        return _ONE
    if isinstance(value, Closure) or callable(value) or (isinstance(value, Tensor) and len(value.shape) == 1):
        return value
    raise _Unlike


# Control dependence of names: `if x > 0: k = 2` makes k depend on a guard that no graph shows.
#
# A guard is active until the end of its statement. The names that the statement binds, in whatever branch, keep it: a
# later statement that uses such a name runs under the same guard.

_WRITES = (Do.SET_INDEX, Do.SET_ATTRIBUTE, Do.METHOD)


def context(code: Code, chosen: Mapping[str, Guard], names: Mapping[str, Any]) -> Guard | None:
    """The guards of the names that a statement uses, those in the functions it calls included."""
    guard: Guard | None = None
    seen: set[str] = set()
    waiting = [code]
    while waiting:
        for name in _loaded(waiting.pop()) - seen:
            seen.add(name)
            guard = joined(guard, chosen.get(name))
            value = names.get(name)
            if isinstance(value, Closure):
                waiting.append(value.definition.code)
            elif is_object(value):
                waiting += [closure.definition.code for closure in runtime.objects.methods_of(value)]
    return guard


def after(code: Code, chosen: dict[str, Guard], guard: Guard | None, names: Mapping[str, Any]) -> dict[str, Guard]:
    """The guards of names after a statement that ran under a guard, or without one.

    The graphs that the statement bound depend on guards that came after them too, as in the last iteration of a loop.
    """
    bound, written = _given(code)
    if guard is None:
        return {name: one for name, one in chosen.items() if name not in bound}
    values = {name: names.get(name) for name in written}
    # Not the leaves, which are what the user sets: no guard decides them.
    written -= {one for one, x in values.items() if isinstance(x, Tensor) and x.node.op is None and x.node.recorded}
    written |= {name for name in _loaded(code) if is_object(names.get(name))}  # whose attributes may be written
    for name in bound | written:
        value = names.get(name)
        if isinstance(value, Tensor) and value.node.op is not None:
            touch(value.node)
            value.node.guard = joined(value.node.guard, guard)
    return {**chosen, **dict.fromkeys(bound | written, guard)}


def _instructions(code: Code) -> Iterator[tuple[Do, Any]]:
    """All instructions, those of functions and of `fails` and `time` included."""
    stack = [code]
    while stack:
        for do, detail, _ in stack.pop().instructions:
            yield do, detail
            for inner in detail if isinstance(detail, tuple) else (detail,):
                if isinstance(inner, Code):
                    stack.append(inner)
                elif isinstance(inner, Definition):
                    stack.append(inner.code)


def _loaded(code: Code) -> set[str]:
    return {detail for do, detail in _instructions(code) if do is Do.LOAD}


def _given(code: Code) -> tuple[set[str], set[str]]:
    """The names that a statement binds, and those that it may write into."""
    bound: set[str] = set()
    written: set[str] = set()
    used: set[str] = set()
    for do, detail in _instructions(code):
        if do is Do.STATEMENT:
            used = set()
        elif do is Do.LOAD:
            used.add(detail)
        elif do in (Do.STORE, Do.CLASS):
            bound.add(detail[0])
        elif do in (Do.VARIABLE, Do.DEFINE):
            bound.add(getattr(detail, "name", detail))
        elif do in _WRITES and (do is not Do.METHOD or detail[0].endswith("_")):
            written |= used
    return bound, written
