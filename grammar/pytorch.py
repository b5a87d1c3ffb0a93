"""PyTorch's and NumPy's spelling: what a pasted `torch.name` is here, where it is called otherwise or differs.

A prefix on a function of the table is simply left out: `torch.sin` is `sin`. Here is the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.derivatives import grad, hessian, jacobian
from agrad.engine.op import FUNCTIONS

PREFIXES = frozenset({"torch", "np", "numpy", "math", "F"})

# Another name for a function of the table; also for methods.
RENAMED = {
    "cat": "concat",
    "concatenate": "concat",
    "mm": "matmul",
    "mv": "matmul",
    "bmm": "matmul",
    "clamp": "clip",
    "inverse": "inv",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "absolute": "abs",
    "fabs": "abs",
    "multiply": "mul",
    "divide": "div",
    "subtract": "sub",
    "negative": "neg",
    "power": "pow",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "array": "tensor",
    "asarray": "tensor",
    "as_tensor": "tensor",
    "from_numpy": "tensor",
}

# Types and devices: everything is float64 on the one machine there is.
IGNORED = frozenset(
    {"float", "float16", "float32", "float64", "double", "half", "int", "int32", "int64", "long", "bool"}
)

# What other languages and libraries call it; for the advice on an unknown name.
KNOWN_ELSEWHERE = {
    **{name: f"{ours}(…)" for name, ours in RENAMED.items()},
    "ln": "log(…)",
    "lg": "log10(…)",
    "factorial": "gamma(n + 1)",
    "diff": "grad(y, x)",
    "derivative": "grad(y, x)",
    "derive": "grad(y, x)",
    "d": "grad(y, x)",
    "integrate": "agrad differentiates only",
    "exit": "quit",
    "π": "pi",
    "zip": "for i in range(n): …",
    "enumerate": "for i in range(n): …",
    "append": "losses = concat([losses, [x]])",
    "allclose": "assert a ~= b +- 1e-8",
    "backwards": "backward y",
}


def _torch_grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = True,
    **_: Any,
) -> tuple[Any, ...]:
    """torch.autograd.grad: always a tuple."""
    several = isinstance(inputs, tuple | list)
    found = grad(outputs, inputs, bool(create_graph), grad_outputs)
    return found if several else (found,)


def _unbiased(name: str) -> Callable[..., Any]:
    def call(x: Any, *args: Any, **keywords: Any) -> Any:
        if not {"ddof", "correction", "unbiased"} & keywords.keys():
            keywords["ddof"] = 1.0
        if keywords.pop("unbiased", True) in (False, 0.0):
            keywords["ddof"] = 0.0
        return FUNCTIONS[name].call(x, *args, **keywords)

    return call


def _extreme(name: str) -> Callable[..., Any]:
    """torch.max: of all entries; with an axis the values and their places; of two values the larger."""

    def call(x: Any, other: Any = None, dim: Any = None, keepdim: Any = False) -> Any:
        axis = other if dim is None else dim
        if axis is None:
            return FUNCTIONS[name].call(x)
        if getattr(axis, "shape", ()):
            return FUNCTIONS[f"{name}imum"].call(x, axis)
        places = {"axis": axis, "keepdims": keepdim}
        return FUNCTIONS[name].call(x, **places), FUNCTIONS[f"arg{name}"].call(x, **places)

    return call


# What means something else, or takes other arguments, under PyTorch's full name.
OWN: dict[str, Callable[..., Any]] = {
    "torch.autograd.grad": _torch_grad,
    "torch.autograd.functional.jacobian": lambda f, inputs, **_: jacobian(f)(inputs),
    "torch.autograd.functional.hessian": lambda f, inputs, **_: hessian(f)(inputs),
    "torch.max": _extreme("max"),
    "torch.min": _extreme("min"),
    "torch.std": _unbiased("std"),
    "torch.var": _unbiased("var"),
}


def function(prefix: str, name: str) -> Callable[..., Any] | None:
    """What `prefix.name` calls; None if agrad has nothing of the kind."""
    own = OWN.get(f"{prefix}.{name}")
    if own is not None:
        return own
    entry = FUNCTIONS.get(name) or FUNCTIONS.get(RENAMED.get(name, ""))
    return entry.call if entry is not None else None
