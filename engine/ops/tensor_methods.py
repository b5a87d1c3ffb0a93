"""The operators and methods of Tensors that come from the table, `[]`, and writing in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from agrad.engine import core, units
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import choose_all, operand, operator_of
from agrad.engine.core.op import FUNCTIONS, OPERATORS, OPS, Function, Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import Value, coerce, format_shape, np, shape_of
from agrad.lazy import Rows


class _Later:
    """A method of Tensors that is made when it is first asked for, since the operation is imported then."""

    def __init__(self, name: str, make: Callable[[], Function]) -> None:
        self.name, self.make = name, make

    def __get__(self, x: Tensor | None, kind: type[Tensor]) -> Any:
        method: Any = self.make()
        setattr(Tensor, self.name, method)
        return method.__get__(x, kind)


def install(names: Iterable[str]) -> None:
    """Give Tensors their operators, and methods of these names. A method of Tensor itself (detach, …) is kept."""
    made: dict[str, Callable[[], Function]] = {
        name: partial(_call, FUNCTIONS, name) for name in names if not hasattr(Tensor, name)
    }
    for name, operator in OPERATORS.items():
        made[f"__{operator.method}__"] = partial(_operator, name)
        if operator.precedence and name != "neg":
            made[f"__r{operator.method}__"] = partial(_reflected, name)
            made[f"__i{operator.method}__"] = partial(_in_place, name)
    made |= {"__abs__": partial(_call, OPS, "abs"), "__getitem__": partial(_call, OPS, "getitem")}
    for name, make in made.items():
        setattr(Tensor, name, _Later(name, make))
    for name, form in METHOD_FORMS.items():
        setattr(Tensor, name, _method(name, form))
    named: dict[str, Any] = {
        "__pos__": lambda x: x,
        "__setitem__": set_entries,
        "T": property(lambda x: OPS["transpose"].call(x), doc="x with its axes reversed."),
        "mT": property(lambda x: OPS["swap"].call(x), doc="The last two axes exchanged."),
    }
    for attribute, what in named.items():
        setattr(Tensor, attribute, what)


def _call(table: Rows[Any], name: str) -> Function:
    call: Any = table[name].call
    call.__signature__ = table[name].signature.of_python()
    return call  # type: ignore[no-any-return]


def _operator(name: str) -> Function:
    return operator_of(OPS[name], OPERATORS[name].method)


def _reflected(name: str) -> Function:
    call = OPS[name].call
    return lambda x, other: call(other, x)


# Methods that read their arguments in another way than the function of the same name

METHOD_FORMS = dict.fromkeys(("max", "min"), "axis=None, keepdims=False")  # the arguments after the value itself


def extreme(name: str) -> Function:
    """`x.max(0)` is along an axis, as in NumPy, where `max(x, 0)` compares; `x.max(y)` of an array compares too."""

    def call(x: Tensor, axis: Any, keepdims: Any) -> Any:
        if isinstance(axis, Tensor) and axis.shape:
            return FUNCTIONS[f"{name}imum"].call(x, axis)
        return FUNCTIONS[name].call(x, axis=axis, keepdims=keepdims)

    return call


def _method(name: str, text: str) -> Function:
    form, run = Signature(f"x.{name}", f"; {text}"), extreme(name)

    def method(self: Tensor, *args: Any, **keywords: Any) -> Any:
        return run(self, **form.bind(args, keywords)[1])

    method.__name__ = name
    return method


# Writing in place


def _writes_data(target: Tensor, operand: Any) -> bool:
    """Whether a write goes to the data alone, without recording."""
    node = target.node
    if not current().recording:
        return True
    if node.op is None and node.requires_grad:
        raise core.graph_errors.leaf_error(target.node)
    return not node.recorded and not (isinstance(operand, Tensor) and operand.node.recorded)


def _plain(operand: Any) -> Value:
    return operand.value if isinstance(operand, Tensor) else coerce(operand)


def _in_place(name: str) -> Function:
    """`x += y`: on the data if nothing is recorded, otherwise as a new history of the same value."""
    call, sign = OPS[name].call, f"{OPERATORS[name].sign}="

    def operator(self: Tensor, other: Any) -> Tensor:
        other = operand(other)
        in_data = _writes_data(self, other)
        if in_data:
            units.fitting(self.node, other, name in ("add", "sub"))
        result: Any = call(self.value, _plain(other)) if in_data else call(self, other)
        if shape_of(result) != self.shape:
            have, new = format_shape(self.shape), format_shape(shape_of(result))
            raise AgradError("shape", f"{self.node.spell()} {sign} would change its shape from {have} to {new}")
        if not in_data:
            return self.adopt(result, sign)
        source = other.node if isinstance(other, Tensor) else None
        self.write(lambda array: np.copyto(array, result), result, sign, source)
        return self

    return operator


def overwrite(self: Tensor, value: Tensor, what: str) -> Tensor:
    """Write a value of the same shape over this one: its data if nothing is recorded, otherwise with its graph."""
    if not _writes_data(self, value):
        return self.adopt(value, what)
    units.fitting(self.node, value)
    self.write(lambda array: np.copyto(array, value.value), value.value, what, value.node)
    return self


def set_entries(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: on the data if nothing is recorded, otherwise as a new history of the same value."""
    put, value = OPS["index_put"], operand(value)
    if not _writes_data(self, value):
        self.adopt(put.call(self, value, index), "x[…] =")
        return
    plain = _plain(value)
    units.fitting(self.node, value)
    assert put.prepare is not None
    choose_all([index])
    tidy = put.prepare(self.value, plain, index)["index"]
    if self.shape:
        self.write_entries(tidy, plain, value.node if isinstance(value, Tensor) else None)
    else:
        self._overwrite(
            put.call(self.value, plain, index), "x[…] =", True, value.node if isinstance(value, Tensor) else None
        )
