"""The kinds of operands that commands have: the names of a session that completion offers for each."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.grammar.commands.registry import Operands
from agrad.grammar.runtime.builtins import Closure


def is_function(value: Any) -> bool:
    """Whether a value is a function of the language."""
    return isinstance(value, Closure)


def is_leaf(value: Any) -> bool:
    """Whether a value is a leaf that requires grad."""
    return isinstance(value, Tensor) and value.node.op is None and value.requires_grad


def requires_grad(value: Any) -> bool:
    """Whether a value requires grad."""
    return isinstance(value, Tensor) and value.requires_grad


def has_graph(value: Any) -> bool:
    """Whether a value was computed, with a graph."""
    return isinstance(value, Tensor) and value.node.op is not None and value.requires_grad


def has_gradient(value: Any) -> bool:
    """Whether a value has a gradient, or may get one."""
    return is_leaf(value) or (has_graph(value) and (value.node.keeps_grad or value.grad is not None))


LEAVES = Operands(is_leaf)
COMPUTED = Operands(has_graph)
EXPRESSION = Operands(has_graph, expression=True)
CALLED = Operands(is_function, expression=True)
GRADIENTS = Operands(has_gradient)
REQUIRING = Operands(requires_grad)
ANY = Operands(lambda value: True)
VALUE = Operands(expression=True)
FILE = Operands(file=True)
