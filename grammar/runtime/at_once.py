"""Whether an expression can be computed for all values of its variable at once: on a vector of them.

`sum(1/k**2 for k in 1..1000)` is then a few operations on vectors and not a thousand times as many on numbers. That is
so where all that it does to numbers is done entry by entry: by operators and functions that are declared to be
pointwise, also in functions of the user that only compute, and by taking entries of a vector. The code of the
expression is followed instruction by instruction, with kinds in the place of values. Everything else, such as a
condition, is computed for one value after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from agrad.engine.core.context import afford
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.values import np
from agrad.grammar.runtime.builtins import Caller, Closure, meaning
from agrad.grammar.runtime.bytecode import Code, Do

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
