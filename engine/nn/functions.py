"""Modules without parameters: activations and losses, each of which calls one function of the table."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.op import FUNCTIONS, Signature
from agrad.engine.errors import AgradError
from agrad.engine.nn.layers import over
from agrad.engine.nn.module import Module
from agrad.engine.ops.arrays.shaping import shape_of_any


class _Applied(Module):
    """The base of these modules: the settings, which are the attributes of the function, are those of the module."""

    function = ""
    form = Signature("", "")
    inputs = 1

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()
        settings = self.form.bind(args, keywords)[1]
        self.inplace = bool(settings.pop("inplace", False))
        self._settings = tuple(settings)
        for name, value in settings.items():
            setattr(self, name, value)

    def forward(self, *inputs: Any) -> Any:
        """The value of the function."""
        if len(inputs) != self.inputs:
            count = "1 value" if self.inputs == 1 else f"{self.inputs} values"
            raise AgradError("arity", f"{type(self).__name__} takes {count}, and got {len(inputs)}")
        found = FUNCTIONS[self.function].call(*inputs, **{name: getattr(self, name) for name in self._settings})
        return over(inputs[0], found, self.inplace)

    def extra_repr(self) -> str:
        """The settings; PyTorch shows none of a loss."""
        if self.inputs > 1:
            return ""
        shown = [f"{name}={getattr(self, name)!r}" for name in self._settings]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


def _applied(name: str, function: str, form: str = "", inputs: int = 1) -> type[Module]:
    """The class of modules that call a function."""
    doc = f"`{function}` as a module."
    body = {"function": function, "form": Signature(f"nn.{name}", f"; {form}"), "inputs": inputs, "__doc__": doc}
    return type(name, (_Applied,), body | {"__module__": __name__})


ReLU = _applied("ReLU", "relu", "inplace=False")
Sigmoid = _applied("Sigmoid", "sigmoid")
Tanh = _applied("Tanh", "tanh")
SiLU = _applied("SiLU", "silu", "inplace=False")
LogSigmoid = _applied("LogSigmoid", "logsigmoid")
LeakyReLU = _applied("LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False")
ELU = _applied("ELU", "elu", "alpha=1.0, inplace=False")
SELU = _applied("SELU", "selu", "inplace=False")
Hardtanh = _applied("Hardtanh", "hardtanh", "min_val=-1.0, max_val=1.0, inplace=False")

_LOSS = "reduction='mean'"
MSELoss = _applied("MSELoss", "mse_loss", _LOSS, 2)
L1Loss = _applied("L1Loss", "l1_loss", _LOSS, 2)
BCELoss = _applied("BCELoss", "binary_cross_entropy", _LOSS, 2)
BCEWithLogitsLoss = _applied("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", _LOSS, 2)
_CLASSES = f"weight=None, {_LOSS}, ignore_index=-100, label_smoothing=0.0"
CrossEntropyLoss = _applied("CrossEntropyLoss", "cross_entropy", _CLASSES, 2)
NLLLoss = _applied("NLLLoss", "nll_loss", _LOSS, 2)
HuberLoss = _applied("HuberLoss", "huber_loss", f"{_LOSS}, delta=1.0", 2)


class GELU(Module):
    """`gelu` as a module."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate != "none":
            raise AgradError("type", "GELU is computed exactly: approximate can only be 'none'", fixes=["nn.GELU()"])
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["gelu"].call(input)

    def extra_repr(self) -> str:
        """The setting."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """`softplus` as a module."""

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["softplus"].call(input)


class Softmax(Module):
    """`softmax` along an axis; without one, PyTorch chooses the first of 0, 1 or 3 axes, and else the second."""

    function = "softmax"

    def __init__(self, dim: Any = None) -> None:
        super().__init__()
        self.dim = dim if dim is None else int(dim)

    def forward(self, input: Any) -> Any:
        """The value."""
        axis = (0 if len(shape_of_any(input)) in (0, 1, 3) else 1) if self.dim is None else self.dim
        return FUNCTIONS[self.function].call(input, axis=axis)

    def extra_repr(self) -> str:
        """The axis."""
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """`log_softmax` along an axis."""

    function = "log_softmax"
