"""What can be asked of a value with a point: attributes, and methods that are no function of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.backward import backward
from agrad.engine.errors import AgradError
from agrad.engine.graph import Node
from agrad.engine.op import FUNCTIONS
from agrad.engine.tensor import Tensor
from agrad.engine.values import describe
from agrad.grammar.functions import as_tensor
from agrad.grammar.pytorch import RENAMED

ATTRIBUTES: dict[str, Callable[[Tensor], Any]] = {
    "grad": lambda x: x.grad,
    "data": Tensor.detach,
    "shape": lambda x: tuple(float(length) for length in x.shape),
    "ndim": lambda x: float(x.ndim),
    "T": lambda x: FUNCTIONS["transpose"].call(x),
    "requires_grad": lambda x: float(x.requires_grad),
    "is_leaf": lambda x: float(x.is_leaf),
    "grad_fn": lambda x: x.grad_fn,
}

NODE_ATTRIBUTES: dict[str, Callable[[Node], Any]] = {
    "next_functions": lambda node: node.next_functions,
    "variable": lambda node: node.variable,
}


def _effect(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is called for what it does: it hands back nothing to print."""

    def call(x: Tensor, *args: Any, **keywords: Any) -> None:
        method(x, *args, **keywords)

    return call


def _write(name: str) -> Callable[..., Any]:
    """add_ and its like: the operator that writes in place."""

    def call(x: Tensor, other: Any) -> None:
        getattr(x, f"__i{name}__")(other)

    return call


def _same(x: Tensor, *_: Any, **__: Any) -> Tensor:
    """A method that changes the type or the device, of which there is one each."""
    return x


def _extreme(name: str) -> Callable[..., Any]:
    """x.max(0): along an axis, as in NumPy; max(a, b) of two values is the larger."""

    def call(x: Tensor, axis: Any = None, keepdims: Any = False, **keywords: Any) -> Any:
        if isinstance(axis, Tensor) and axis.shape:
            return FUNCTIONS[f"{name}imum"].call(x, axis)
        return FUNCTIONS[name].call(x, axis=axis, keepdims=keepdims, **keywords)

    return call


METHODS: dict[str, Callable[..., Any]] = {
    "max": _extreme("max"),
    "min": _extreme("min"),
    **dict.fromkeys(("float", "double", "to", "cpu", "cuda", "contiguous"), _same),
    "item": Tensor.item,
    "tolist": lambda x: x.detach(),
    "numpy": lambda x: x.detach(),
    "detach": Tensor.detach,
    "size": lambda x, axis=None: x.shape if axis is None else float(x.shape[int(axis)]),
    "dim": lambda x: float(x.ndim),
    "numel": lambda x: float(x.size),
    "view": lambda x, *shape: FUNCTIONS["reshape"].call(x, *shape),
    "t": lambda x: FUNCTIONS["transpose"].call(x),
    "backward": _effect(backward),
    "retain_grad": _effect(Tensor.retain_grad),
    "requires_grad_": Tensor.requires_grad_,
    "zero_": _effect(Tensor.zero_),
    "copy_": _effect(Tensor.copy_),
    "add_": _write("add"),
    "sub_": _write("sub"),
    "mul_": _write("mul"),
    "div_": _write("truediv"),
}


def attribute(value: Any, name: str) -> Any:
    """`value.name`."""
    if isinstance(value, Node):
        if name in NODE_ATTRIBUTES:
            return NODE_ATTRIBUTES[name](value)
        raise _unknown(value, name, NODE_ATTRIBUTES)
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](as_tensor(value, f".{name}"))
    if name in METHODS or name in FUNCTIONS:
        raise AgradError("type", f"{name} is a function: call it, with brackets", fixes=[f".{name}()"])
    raise _unknown(value, name, {**ATTRIBUTES, **METHODS})


def method(value: Any, name: str) -> Callable[..., Any]:
    """What `value.name(…)` calls, with the value as its first argument."""
    if value is None and name not in ("clone", "detach"):
        raise AgradError(
            "grad",
            f"there is no gradient to call .{name}() on: it is none",
            fixes=["run backward first", "zero_grad  (clears all gradients)"],
        )
    if isinstance(value, str | tuple | Node):
        raise _unknown(value, name, {})
    if name in METHODS:
        own = METHODS[name]
        return lambda x, *args, **keywords: own(as_tensor(x, f".{name}()"), *args, **keywords)
    if name in FUNCTIONS or name in RENAMED:
        return FUNCTIONS[RENAMED.get(name, name)].call
    if name in ATTRIBUTES:
        raise AgradError("type", f"{name} is no function: leave out the brackets", fixes=[f".{name}"])
    raise _unknown(value, name, {**ATTRIBUTES, **METHODS, **FUNCTIONS})


def set_attribute(target: Any, name: str, value: Any) -> None:
    """`target.name = value`."""
    if not isinstance(target, Tensor) or name not in ("grad", "data", "requires_grad"):
        what = f".{name} of {describe(target) if not isinstance(target, Tensor) else 'a value'}"
        raise AgradError("type", f"{what} cannot be assigned to", notes=["grad, data and requires_grad can"])
    if name == "requires_grad":
        target.requires_grad_(bool(value))
    elif name == "grad":
        target.grad = value
    else:
        target.set_(value)


def _unknown(value: Any, name: str, known: dict[str, Any]) -> AgradError:
    from agrad.grammar.diagnostics import suggest  # an error is rare: difflib is loaded when there is one

    close = suggest(name, sorted(known))
    fixes = [f".{word}" for word in close]
    return AgradError("name", f"nothing is called .{name} here", fixes=fixes)
