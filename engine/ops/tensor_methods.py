"""The operators and methods of Tensors that come from the table, `[]`, and writing in place."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.dispatch import choose_all, operand, operator_of
from agrad.engine.core.graph_errors import leaf_error
from agrad.engine.core.op import FUNCTIONS, OPS, Function, Op, Operator, Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import Value, coerce, format_shape, np, shape_of

_NO_METHODS = {"creation", "comparison"}  # the families of functions that are not methods of a value


def install() -> None:
    """Give Tensors their operators and methods. A method of Tensor itself (detach, …) is kept."""
    for name, entry in FUNCTIONS.items():
        operands = entry.signature.operands
        if operands[:1] == ("x",) and entry.family not in _NO_METHODS and not hasattr(Tensor, name):
            setattr(Tensor, name, entry.call)
    for op in OPS.values():
        if op.operator is not None:
            _install_operator(op, op.operator)
    for name, form in METHOD_FORMS.items():
        setattr(Tensor, name, _method(name, form))
    named: dict[str, Any] = {
        "__pos__": lambda x: x,
        "__abs__": OPS["abs"].call,
        "__getitem__": OPS["getitem"].call,
        "__setitem__": set_entries,
        "T": property(OPS["transpose"].call),
        "mT": property(OPS["swap"].call),
    }
    for attribute, what in named.items():
        setattr(Tensor, attribute, what)


def _install_operator(op: Op, operator: Operator) -> None:
    """Python's methods for an operator; the operators that compute have a reflected one and one in place."""
    setattr(Tensor, f"__{operator.method}__", operator_of(op, operator.method))
    if operator.precedence and len(op.signature.operands) == 2:
        setattr(Tensor, f"__r{operator.method}__", _reflected(op.call))
        setattr(Tensor, f"__i{operator.method}__", _in_place(op.call, f"{operator.sign}="))


# Methods that read their arguments in another way than the function of the same name

METHOD_FORMS = {  # the arguments after the value itself
    "max": "axis=None, keepdims=False",
    "min": "axis=None, keepdims=False",
}


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


def _reflected(call: Function) -> Function:
    def operator(self: Tensor, other: Any) -> Any:
        return call(other, self)

    return operator


# Writing in place


def _writes_data(target: Tensor, operand: Any) -> bool:
    """Whether a write goes to the data alone, without recording."""
    node = target.node
    if not current().recording:
        return True
    if node.op is None and node.requires_grad:
        raise leaf_error(target)
    return not node.recorded and not (isinstance(operand, Tensor) and operand.node.recorded)


def _plain(operand: Any) -> Value:
    return operand.value if isinstance(operand, Tensor) else coerce(operand)


def _in_place(call: Function, sign: str) -> Function:
    """`x += y`: on the data if nothing is recorded, otherwise as a new history of the same value."""

    def operator(self: Tensor, other: Any) -> Tensor:
        other = operand(other)
        in_data = _writes_data(self, other)
        result: Any = call(self.value, _plain(other)) if in_data else call(self, other)
        if shape_of(result) != self.shape:
            name, have, new = self.node.spell(), format_shape(self.shape), format_shape(shape_of(result))
            raise AgradError("shape", f"{name} {sign} would change its shape from {have} to {new}")
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
    self.write(lambda array: np.copyto(array, value.value), value.value, what, value.node)
    return self


def set_entries(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: on the data if nothing is recorded, otherwise as a new history of the same value."""
    put, value = OPS["index_put"], operand(value)
    if not _writes_data(self, value):
        self.adopt(put.call(self, value, index), "x[…] =")
        return
    plain = _plain(value)
    assert put.prepare is not None
    choose_all([index])
    tidy = put.prepare(self.value, plain, index)["index"]
    if self.shape:
        self.write_entries(tidy, plain, value.node if isinstance(value, Tensor) else None)
    else:
        self._overwrite(
            put.call(self.value, plain, index), "x[…] =", True, value.node if isinstance(value, Tensor) else None
        )
