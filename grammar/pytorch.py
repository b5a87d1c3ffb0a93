"""PyTorch's and NumPy's spelling: what a pasted `torch.name` is here, where it is called otherwise or differs.

A prefix on a function of the table is simply left out: `torch.sin` is `sin`. Here is the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.derivatives import grad, hessian, jacobian
from agrad.engine.op import FUNCTIONS
from agrad.engine.ops.axes import truth_of
from agrad.engine.signature import Signature

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

_STEP = "step sgd w b lr=0.1"
_NO_GRAD = "no_grad: …, or with torch.no_grad(): …"

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
    "true": "True",
    "false": "False",
    "null": "None",
    "input": "-D x=3 on the command line, or args",
    "open": 'load_csv("data.csv")',
    "π": "pi",
    "zip": "for i in range(n): …",
    "enumerate": "for i in range(n): …",
    "append": "losses = concat([losses, [x]])",
    "allclose": "assert a ~= b +- 1e-8",
    "backwards": "backward y",
    "nn": "layers are written out: y = relu(x @ W + b)",
    "Linear": "write it out: y = x @ W + b",
    "Sequential": "write it out: y = relu(x @ W + b)",
    "ReLU": "relu(…)",
    "MSELoss": "mse_loss(x, y)",
    "CrossEntropyLoss": "cross_entropy(x, target)",
    "Parameter": "var w = …",
    "optim": _STEP,
    "optimizer": _STEP,
    "opt": _STEP,
    "SGD": _STEP,
    "Adam": "step adam w b lr=0.01",
    "no_grad": _NO_GRAD,
    "inference_mode": _NO_GRAD,
    "set_grad_enabled": _NO_GRAD,
    "enable_grad": "leave it out, or write it before no_grad: …",
    "device": "leave it out: there is one device",
    "is_available": "leave it out: there is one device",
    "set_default_dtype": "leave it out: every number is a float64",
    "Tensor": "tensor([1, 2])",
    "FloatTensor": "tensor([1, 2])",
    "DoubleTensor": "tensor([1, 2])",
    "str": 'f"{x}"',
    "repr": 'f"{x}"',
    "format": 'f"{x:.3f}"',
    "isclose": "a ~= b, or a ~= b +- 1e-8",
    "backward": "backward y",
    "__name__": "leave it out: a script runs from its first line to its last",
}


def _torch_grad(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: Any, create_graph: Any, allow_unused: Any
) -> tuple[Any, ...]:
    """torch.autograd.grad: always a tuple."""
    several = isinstance(inputs, tuple | list)
    found = grad(outputs, inputs, bool(create_graph), grad_outputs)
    return found if several else (found,)


def _unbiased(name: str) -> Callable[..., Any]:
    def call(x: Any, axis: Any, unbiased: Any, keepdims: Any, ddof: Any) -> Any:
        if ddof is None:
            ddof = 1.0 if truth_of(name, "unbiased", unbiased) else 0.0
        return FUNCTIONS[name].call(x, axis=axis, keepdims=keepdims, ddof=ddof)

    return call


def _extreme(name: str) -> Callable[..., Any]:
    """torch.max: of all entries; with an axis the values and their places; of two values the larger."""

    def call(x: Any, axis: Any, keepdims: Any, other: Any) -> Any:
        other = axis if getattr(axis, "shape", ()) else other
        if other is not None:
            return FUNCTIONS[f"{name}imum"].call(x, other)
        if axis is None:
            return FUNCTIONS[name].call(x)
        places = {"axis": axis, "keepdims": keepdims}
        return FUNCTIONS[name].call(x, **places), FUNCTIONS[f"arg{name}"].call(x, **places)

    return call


def _bound(name: str, form: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function called with its operands, and every attribute by name."""
    signature = Signature(name, form)

    def call(*args: Any, **keywords: Any) -> Any:
        operands, attributes = signature.bind(args, keywords)
        return function(*operands, **attributes)

    return call


_BY_PLACE = "func, inputs; create_graph=False, strict=False, vectorize=False, strategy=None"
_MOMENT = "input; axis=None, unbiased=True, keepdims=False, ddof=None"
OWN_FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "torch.autograd.grad": (
        "outputs, inputs; grad_outputs=None, retain_graph=None, create_graph=True, allow_unused=None",
        _torch_grad,
    ),
    "torch.autograd.functional.jacobian": (_BY_PLACE, lambda f, inputs, **_: jacobian(f)(inputs)),
    "torch.autograd.functional.hessian": (_BY_PLACE, lambda f, inputs, **_: hessian(f)(inputs)),
    "torch.max": ("input; axis=None, keepdims=False, other=None", _extreme("max")),
    "torch.min": ("input; axis=None, keepdims=False, other=None", _extreme("min")),
    "torch.std": (_MOMENT, _unbiased("std")),
    "torch.var": (_MOMENT, _unbiased("var")),
}
# What means something else, or takes other arguments, under PyTorch's full name.
OWN = {name: _bound(name, form, function) for name, (form, function) in OWN_FORMS.items()}


def function(prefix: str, name: str) -> Callable[..., Any] | None:
    """What `prefix.name` calls; None if agrad has nothing of the kind."""
    own = OWN.get(f"{prefix}.{name}")
    if own is not None:
        return own
    entry = FUNCTIONS.get(name) or FUNCTIONS.get(RENAMED.get(name, ""))
    return entry.call if entry is not None else None
