"""Calls of the user's functions in the live line: their code, run apart from the session where it is pure and short.

Only instructions that compute from numbers and arrays are known here; a function with any other has no live value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.bytecode import Code, Do
from agrad.grammar.runtime.compiler import COMPARE_CALLS
from agrad.grammar.runtime.errors.paper_products import has_axes

_DEPTH = 12  # of calls in calls
_STEPS = 4000  # instructions that all calls of a text may run

_OPERATORS = {id(op.call): op for op in OPS.values()}
_COMPARISONS = frozenset(map(id, COMPARE_CALLS.values()))


class Unknown(Exception):
    """A text is not among what may be computed apart from the session."""


class Apart(Protocol):
    """What computes apart from the session: `live.Computed`."""

    names: Mapping[str, Any]

    def known(self, name: str) -> Any:
        """The data of a name of the session, or a constant. Raises Unknown."""

    def apply(self, entry: Any, operands: list[Any], keywords: dict[str, Any]) -> Any:
        """Call a function that is pure and quick. Raises Unknown."""


class Calls:
    """Runs functions of the user for one text."""

    def __init__(self, apart: Apart) -> None:
        self.apart = apart
        self.left = _STEPS
        self.depth = 0

    def call(self, function: Any, operands: list[Any], keywords: dict[str, Any]) -> Any:
        """The value of a call. Raises Unknown for what may not be called."""
        if not isinstance(function, Closure):
            return self.apart.apply(function, operands, keywords)
        if self.depth == _DEPTH or len(function.scopes) > 1 or not all(map(_is_data, function.defaults)):
            raise Unknown
        self.depth += 1
        try:
            return self._run(function.definition.code, function.bind(tuple(operands), keywords))
        finally:
            self.depth -= 1

    def function(self, name: str) -> Any:
        """The function that a name of the session, or of the language, stands for. Raises Unknown."""
        found = self.apart.names.get(name) if name in self.apart.names else FUNCTIONS.get(name)
        if found is None or isinstance(found, float | Tensor):
            raise Unknown
        return found

    def _run(self, code: Code, own: dict[str, Any]) -> Any:
        stack: list[Any] = []
        place, instructions = 0, code.instructions
        while place < len(instructions):
            do, detail, _ = instructions[place]
            place += 1
            self.left -= 1
            if self.left < 0:
                raise Unknown
            if do is Do.RETURN:
                return _number(stack.pop())
            if do is Do.JUMP:
                place = detail
            elif do is Do.JUMP_IF_FALSE:
                place = place if _truth(stack.pop()) else detail
            elif do is Do.LOAD:
                stack.append(self._load(detail, own))
            elif do is Do.STORE:
                own[detail[0]] = _number(stack.pop())
            elif do is not Do.STATEMENT:
                rule = _RULES.get(do)
                if rule is None:
                    raise Unknown
                rule(self, stack, detail)
        raise Unknown

    def _load(self, name: str, own: dict[str, Any]) -> Any:
        if name in own:
            return own[name]
        value = self.apart.names.get(name)
        is_function = isinstance(value, Closure) or (name not in self.apart.names and name in FUNCTIONS)
        return self.function(name) if is_function else self.apart.known(name)

    def _constant(self, stack: list[Any], detail: Any) -> None:
        stack.append(_number(detail))

    def _unary(self, stack: list[Any], detail: Any) -> None:
        if _OPERATORS.get(id(detail)) is not OPS["neg"]:
            raise Unknown
        stack.append(self.apart.apply(OPS["neg"], [_number(stack.pop())], {}))

    def _sign(self, stack: list[Any], detail: Any) -> None:
        if all(map(has_axes, stack[-2:])):
            raise Unknown

    def _binary(self, stack: list[Any], detail: Any) -> None:
        right, left = _number(stack.pop()), _number(stack.pop())
        if id(detail) in _COMPARISONS:
            stack.append(detail(_alone(left), _alone(right)))
            return
        entry = _OPERATORS.get(id(detail))
        if entry is None:
            raise Unknown
        stack.append(self.apart.apply(entry, [left, right], {}))

    def _call(self, stack: list[Any], detail: Any) -> None:
        count, names = detail
        operands, keywords = _given(stack, count, names)
        function = stack.pop()
        stack.append(self.call(function, operands, keywords))

    def _method(self, stack: list[Any], detail: Any) -> None:
        name, count, names = detail
        operands, keywords = _given(stack, count, names)
        entry = FUNCTIONS.get(name)
        if entry is None:
            raise Unknown
        stack.append(self.apart.apply(entry, [_number(stack.pop()), *operands], keywords))


_RULES: dict[Do, Callable[[Calls, list[Any], Any], None]] = {
    Do.CONSTANT: Calls._constant,
    Do.UNARY: Calls._unary,
    Do.SIGN: Calls._sign,
    Do.WHOLE: lambda calls, stack, detail: None,
    Do.BINARY: Calls._binary,
    Do.CALL: Calls._call,
    Do.METHOD: Calls._method,
}


def _given(stack: list[Any], count: int, names: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, taken from the stack."""
    if type(names) is not tuple:  # `*xs` among them
        raise Unknown
    total = count + len(names)
    values = stack[len(stack) - total :]
    del stack[len(stack) - total :]
    return values[:count], dict(zip(names, values[count:], strict=True))


def _number(value: Any) -> Any:
    """A number or an array. Raises Unknown for anything else."""
    if type(value) is not float and not isinstance(value, Tensor):
        raise Unknown
    return value


def _is_data(value: Any) -> bool:
    """Whether a value is of none of the session's graphs, whose gradients a backward here would change."""
    return not value.requires_grad if isinstance(value, Tensor) else value is None or isinstance(value, float | str)


def _alone(value: Any) -> Any:
    """One number."""
    if isinstance(value, Tensor) and value.shape:
        raise Unknown
    return value


def _truth(value: Any) -> bool:
    """Whether a condition holds."""
    if isinstance(value, bool):
        return value
    return bool(_alone(_number(value)))
