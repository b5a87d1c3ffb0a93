"""`copy.deepcopy` and `copy.copy`, as of PyTorch's tensors and modules and of Python's lists and objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import describe
from agrad.grammar.values.lists import List


def deep(x: Any) -> Any:
    """A copy of a value with copies of all its parts; what is in it twice is in the copy twice, too.

    Of leaves, which require grad if the leaf does. Raises AgradError of kind `type` for a value with a graph, as
    PyTorch does, and for what is no data.
    """
    return _copied(x, {})


def shallow(x: Any) -> Any:
    """Another list or dictionary of the same parts. Raises AgradError of kind `type` for anything that shares data."""
    if x is None or isinstance(x, float | str | bool | tuple):
        return x
    if type(x) is List:
        return List(x.parts, joins=True)
    if isinstance(x, dict):
        return x.copy() if hasattr(type(x), "get") and hasattr(x, "copy") else type(x)(x)
    message = f"copy.copy of {_described(x)} would share its data"
    raise AgradError(
        "type", message, fixes=[Hint("copy.deepcopy(x)   shares nothing"), Hint("y = x   is the same one")]
    )


def _described(x: Any) -> str:
    return "an array" if isinstance(x, Tensor) else describe(x)


def _copied(x: Any, memo: dict[int, Any]) -> Any:
    if id(x) in memo:
        return memo[id(x)]
    if x is None or isinstance(x, float | int | str | type) or hasattr(x, "definition"):
        return x
    made: Any
    if isinstance(x, Tensor):
        memo[id(x)] = made = _leaf(x)
    elif isinstance(x, tuple):
        memo[id(x)] = made = tuple([_copied(part, memo) for part in x])
    elif type(x) is List:
        memo[id(x)] = made = List((), joins=True)
        made.parts.extend(_all(x.parts, memo))
    elif isinstance(x, list):
        memo[id(x)] = made = []
        made.extend(_all(x, memo))
    elif isinstance(x, dict):
        memo[id(x)] = made = type(x)()
        dict.update(made, {_copied(key, memo): _copied(part, memo) for key, part in x.items()})
    elif hasattr(x, "__dict__") and getattr(type(x), "is_object", False):
        memo[id(x)] = made = object.__new__(type(x))
        made.__dict__.update({name: _copied(part, memo) for name, part in x.__dict__.items()})
    elif callable(x):
        made = x
    else:
        raise AgradError("type", f"copy.deepcopy does not copy {describe(x)}")
    return made


def _all(parts: Iterable[Any], memo: dict[int, Any]) -> list[Any]:
    return [_copied(part, memo) for part in parts]


def _leaf(x: Tensor) -> Tensor:
    if not x.is_leaf:
        message = f"copy.deepcopy: {x.node.spell()} was computed, and only leaves are copied"
        raise AgradError("type", message, fixes=[Hint("x.detach().clone()   copies the data alone")])
    made: Tensor = FUNCTIONS["tensor"].call(x.clone() if x.requires_grad else x, requires_grad=x.requires_grad)
    made.node.is_parameter = x.node.is_parameter
    if x.grad is not None:
        made.grad = x.grad.detach().clone()
    return made
