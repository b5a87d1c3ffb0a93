"""Operators of objects: the methods `__add__`, `__radd__`, `__eq__` of the user's classes; also `in` and `is`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.guards import choose, number
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime.builtins import Closure, Kind, is_object
from agrad.grammar.runtime.bytecode import Frame
from agrad.grammar.runtime.compiler import BINARY, COMPARE_CALLS
from agrad.grammar.runtime.errors.cut_paths import READERS
from agrad.grammar.runtime.operations import (
    SEQUENCES,
    adapted,
    as_array,
    describe_value,
    is_ragged,
    is_table,
    iterate,
    truth,
)
from agrad.grammar.runtime.vm.calls import ENTERED, Calls, invoke
from agrad.grammar.runtime.vm.core import MISSING
from agrad.grammar.runtime.vm.expressions import Expressions, no_arithmetic, with_sequences
from agrad.grammar.runtime.vm.writes import Writes
from agrad.grammar.syntax.errors.fixes import corrected
from agrad.grammar.values.lists import List, mask_of

_SIGNS = {OPS[name].call: sign for sign, name in BINARY.items()} | {call: sign for sign, call in COMPARE_CALLS.items()}
# The methods of an operator: of the operand on the left, and of that on the right.
_ARITHMETIC = {
    sign: (f"__{OPS[name].operator.method}__", f"__r{OPS[name].operator.method}__")  # type: ignore[union-attr]
    for sign, name in BINARY.items()
}
_COMPARISONS = {
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"),
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
}
_MODULO = OPS[BINARY["%"]].call
OPERATORS = _ARITHMETIC | _COMPARISONS
IN_PLACE = {sign: f"__i{names[0][2:]}" for sign, names in _ARITHMETIC.items()}


def found_method(value: Any, name: str) -> Closure | None:
    """The method of an object of the user's that an operator calls."""
    if not is_object(value) or isinstance(value, type):
        return None
    from agrad.grammar.runtime import objects  # here, since few calculations have objects

    return objects.operator_of(type(value), name)


class Operators(Calls, Expressions, Writes):
    """What the operators do on values that are neither numbers nor arrays."""

    def operate(self, frame: Frame, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> bool:
        """Apply an operator; True if that pushed a frame, which leaves the result on the stack."""
        if type(left) is str and function is _MODULO:
            frame.stack.append(with_sequences(function, left, right, span))
            return False
        called = self._method_of(function, left, right)
        if called is not None:
            self.frames.append(self._enter(*called, {}))
            return True
        frame.stack.append(self._applied(function, left, right, span))
        return False

    def _method_of(
        self, function: Callable[[Any, Any], Any], left: Any, right: Any
    ) -> tuple[Closure, tuple[Any, Any]] | None:
        """The method that an operator calls, and its arguments."""
        if not (is_object(left) or is_object(right)):
            return None
        for name, pair in zip(OPERATORS[_SIGNS[function]], ((left, right), (right, left)), strict=True):
            method = found_method(pair[0], name)
            if method is not None:
                return method, pair
        return None

    def _applied(self, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> Any:
        if is_table(left) or is_table(right):
            return self._of_tables(function, left, right, span)
        if is_object(left) or is_object(right):
            sign = _SIGNS[function]
            if sign in ("==", "!="):
                return self.are_equal(left, right) is (sign == "==")
            name = OPERATORS[sign][0]
            known = type(left).__name__ if is_object(left) else type(right).__name__
            message = f"`{sign}` of {describe_value(left)} and {describe_value(right)} is not defined"
            fixes: list[str] = [Hint(f"def {name}(self, other): return …   in the class {known}")]
            if "Set" in (type(left).__name__, type(right).__name__) and "{" in span.text:  # x^{2}, as in TeX
                fixes = [corrected(span, re.sub(r"\{([^{}]*)\}", r"(\1)", span.text))]
            raise AgradError("type", message, labels=[Label(span)], fixes=fixes)
        sign = _SIGNS.get(function)
        if sign in ("==", "!=") and is_ragged(left, right):
            return self.are_equal(left, right) is (sign == "==")
        if type(left) in SEQUENCES or type(right) in SEQUENCES:
            return with_sequences(function, left, right, span)
        value = function(left, right)
        return value if isinstance(value, float | bool | Tensor) else no_arithmetic(span)

    def _of_tables(self, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> Any:
        """An operator on tables, as matrices, or a comparison of a column of texts."""
        from agrad.engine.ops.tables import Texts, compared  # here, since few scripts have one

        texts, other = (left, right) if isinstance(left, Texts) else (right, left)
        if isinstance(texts, Texts) and _SIGNS.get(function) in ("==", "!="):
            return compared(texts, other, _SIGNS[function] == "==")
        return self._applied(function, as_array(left), as_array(right), span)

    def applied(self, sign: str, left: Any, right: Any, span: Span) -> Any:
        """The value of an operator, for functions that use it, such as `sum` and `sorted`."""
        function = COMPARE_CALLS[sign] if sign in COMPARE_CALLS else OPS[BINARY[sign]].call
        called = self._method_of(function, left, right)
        return self.call(*called, {}) if called is not None else self._applied(function, left, right, span)

    def are_equal(self, left: Any, right: Any) -> bool:
        """Whether two values are the same, or equal, as `in` and `==` of lists ask."""
        if left is right:
            return True
        if type(left) is Kind or type(right) is Kind:
            fixes = [Hint("isinstance(x, list), isinstance(x, torch.Tensor), …")]
            raise AgradError("type", "types are not compared: isinstance tells of what kind a value is", fixes=fixes)
        for pair in ((left, right), (right, left)):
            method = found_method(pair[0], "__eq__")
            if method is not None:
                return truth(self.call(method, pair, {}))
        if is_object(left) or is_object(right):
            return (type(left) is type(right) and isinstance(left, dict) and _same_entries(self, left, right)) or (
                type(left) is type(right) and type(left).__name__ == "Set" and left == right
            )
        numbers = (float, bool, Tensor)
        if isinstance(left, numbers) and isinstance(right, numbers):
            shapes = [x.shape if isinstance(x, Tensor) else () for x in (left, right)]
            if any(shapes):
                message = "arrays are compared entry by entry: one truth is asked for"
                fixes = [Hint("any(x is y for y in ys)   finds the very same one"), Hint("torch.equal(x, y)")]
                raise AgradError("type", message, fixes=fixes)
            return bool(_number(left) == _number(right))
        if isinstance(left, List | tuple) and type(left) is type(right):
            return len(left) == len(right) and all(map(self.are_equal, left, right))
        return type(left) is type(right) and bool(left == right)

    def folded(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
        """`sum`, `max`, `min` and `abs` of objects; also `sum(xs, start)` of a list, and `max(xs, key=f)`."""
        first = args[0]
        if name in ("hasattr", "getattr"):
            (x, wanted), options = FUNCTIONS[name].signature.bind(args, keywords)
            has_default = len(args) > 2 or "default" in keywords
            return _attribute(name, x, wanted, options["default"] if has_default else MISSING)
        if name in READERS:
            self.note_number(name, first, span)
        if name == "stack" and len(args) == 1 and not keywords:
            made = mask_of(first)
            return MISSING if made is None else made
        if any(map(is_table, args)):
            return invoke(FUNCTIONS[name].call, tuple(map(as_array, args)), keywords)
        method = found_method(first, f"__{name}__")
        if method is not None and len(args) == 1 and not keywords:
            return self.call(method, (first,), {})
        if name in ("max", "min"):
            parts = list(iterate(first)) if len(args) == 1 and _is_several(first) else list(args)
            if "key" in keywords or any(map(is_object, parts)):
                return self._extreme(name, parts, span, **keywords)
        if (name == "sum" and not keywords and type(first) in (tuple, List)) or isinstance(first, dict):
            start = args[1] if len(args) == 2 else 0.0
            given = type(first) is tuple or (type(first) is List and first.joins)
            if any(map(is_object, (*first, start))) or (len(args) == 2 and given):
                for part in first:
                    start = self.applied("+", start, part, span)
                return start
        return MISSING

    def _extreme(
        self, name: str, parts: list[Any], span: Span, key: Any = None, default: Any = MISSING, **others: Any
    ) -> Any:
        if others:
            raise AgradError("arity", f"{name} of several values has no argument {next(iter(others))}")
        if not parts:
            if default is not MISSING:
                return default
            raise AgradError("shape", f"{name} of no values")
        if key is not None and not callable(key):
            raise AgradError("type", f"the key of {name} is a function, not {describe_value(key)}")
        best = parts[0]
        keyed = [part if key is None else key(part) for part in parts]
        top = keyed[0]
        for part, value in zip(parts[1:], keyed[1:], strict=True):
            if truth(self.applied(">" if name == "max" else "<", value, top, span)):
                best, top = part, value
        return best

    # Instructions

    def _test(self, frame: Frame, symbol: str, span: Span) -> None:
        right, left = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        found = is_same(left, right) if symbol.startswith("is") else self.contains(right, left)
        frame.stack.append(found is not ("not" in symbol.split()))

    def contains(self, container: Any, value: Any) -> bool:
        """Whether a value is in something."""
        if isinstance(container, str):
            if not isinstance(value, str):
                raise AgradError("type", f"`in` of a text needs a text, not {describe_value(value)}")
            return value in container
        method = found_method(container, "__contains__")
        if method is not None:
            return truth(self.call(method, (container, value), {}))
        if is_object(container) and hasattr(type(container), "__contains__"):
            return value in container
        if isinstance(container, Tensor) and container.shape:
            return truth(FUNCTIONS["any"].call(OPS["equal"].call(container, value)))
        return any(self.are_equal(value, entry) for entry in iterate(container))

    def _augment(self, frame: Frame, symbol: str, span: Span) -> int | None:
        """`x += y`: `__iadd__` of an object, or else `__add__`."""
        value, target = frame.stack[-1], frame.stack[-2]
        if not (is_object(target) or is_object(value)) or type(target) is str:
            return super()._augment(frame, symbol, span)
        del frame.stack[-2:]
        method = found_method(target, IN_PLACE[symbol])
        if method is not None:
            self.frames.append(self._enter(method, (target, value), {}))
            return ENTERED
        return ENTERED if self.operate(frame, OPS[BINARY[symbol]].call, target, value, span) else None

    def _augment_entry(self, frame: Frame, detail: tuple[str, Any, str], span: Span) -> int | None:
        """`xs[0] += y`, the same."""
        value, old = frame.stack[-1], frame.stack[-2]
        if is_object(old) or is_object(value):
            return self._augment(frame, detail[0], span)
        return super()._augment_entry(frame, detail, span)

    def _unary(self, frame: Frame, function: Callable[[Any], Any], span: Span) -> int | None:
        method = found_method(frame.stack[-1], "__neg__" if function is OPS["neg"].call else "__pos__")
        if method is None:
            return super()._unary(frame, function, span)
        self.frames.append(self._enter(method, (frame.stack.pop(),), {}))
        return ENTERED


def _attribute(function: str, x: Any, name: Any, default: Any = MISSING) -> Any:
    """`hasattr(x, name)` and `getattr(x, name, default)`."""
    from agrad.grammar.runtime import objects  # here: see above

    if not isinstance(name, str):
        raise AgradError("type", f"the name of an attribute is a text, not {describe_value(name)}")
    try:
        found = adapted(objects.member(x, [name]))
    except AgradError:
        if function == "getattr" and default is MISSING:
            raise
        return default if function == "getattr" else False
    return found if function == "getattr" else True


def _is_several(value: Any) -> bool:
    return (
        type(value) in (tuple, List, range)
        or isinstance(value, dict)
        or (isinstance(value, Tensor) and value.shape != ())
    )


def _same_entries(machine: Operators, left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    return left.keys() == right.keys() and all(machine.are_equal(value, right[key]) for key, value in left.items())


def _number(value: Any) -> float:
    if isinstance(value, Tensor):
        choose(value.node, value.item(), number)
        return value.item()
    return float(value)


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are the very same one: of numbers and texts there is no such question."""
    if left is right or left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return type(left) is type(right) and left == right
    if isinstance(left, float | str) or isinstance(right, float | str):
        if type(left) is not type(right):
            return False
        raise AgradError("type", "`is` tells objects apart; numbers and texts are compared with ==", fixes=["=="])
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.node is right.node
    return False
