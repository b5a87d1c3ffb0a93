"""`Parameter`: a leaf that a module lists among its parameters."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import describe

__all__ = ["Parameter"]


def parameter(data: Any, requires_grad: bool = True) -> Tensor:
    """A new leaf, which modules list. As in PyTorch, it shares the data of an array that it is made from."""
    if data is None or isinstance(data, str):
        raise AgradError("type", f"Parameter needs a number or an array, not {describe(data)}")
    made = data.detach() if isinstance(data, Tensor) else tensor(data)
    made.requires_grad_(requires_grad)
    made.node.is_parameter = True
    return made


def is_parameter(value: object) -> bool:
    """Whether a value is a Parameter."""
    return isinstance(value, Tensor) and value.node.is_parameter


class _Kind(type):
    """`Parameter(…)` makes a Tensor, which has no subclasses; `isinstance(x, Parameter)` tells one from others."""

    def __call__(cls, data: Any, requires_grad: Any = True) -> Tensor:
        return parameter(data, bool(requires_grad))

    def __instancecheck__(cls, value: object) -> bool:
        return is_parameter(value)


class Parameter(metaclass=_Kind):
    """`Parameter(data)` is a leaf with the data, which belongs to the module that it is assigned to."""
