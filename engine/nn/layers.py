"""Layers: modules with an operation of `nn.functional`, and the parameters that it takes; activations and losses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from agrad.engine.core.arguments import axis_of, is_sequence, number_of
from agrad.engine.core.dispatch import shape_of_any
from agrad.engine.core.op import FUNCTIONS, Signature
from agrad.engine.core.tensor import Tensor, no_grad, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn import init
from agrad.engine.nn.module import Module
from agrad.engine.nn.parameter import parameter
from agrad.engine.ops.nn.layers import rate_of
from agrad.engine.ops.tensor_methods import overwrite
from agrad.engine.values import format_shape, np, size_of, whole


def _count(what: str, value: Any) -> int:
    number = whole(value, what)
    if number < 0:
        raise AgradError("shape", f"{what} must not be negative")
    return number


def _empty(*shape: int) -> Tensor:
    return parameter(np.zeros(shape))


class Linear(Module):
    """x @ weight.T + bias; both are uniform from -1/sqrt(in_features) to 1/sqrt(in_features) at first."""

    def __init__(self, in_features: Any, out_features: Any, bias: Any = True) -> None:
        super().__init__()
        self.in_features = _count("Linear: in_features", in_features)
        self.out_features = _count("Linear: out_features", out_features)
        self.weight = _empty(self.out_features, self.in_features)
        self.register_parameter("bias", _empty(self.out_features) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """New random values."""
        bound = 1.0 / math.sqrt(self.in_features) if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["linear"].call(input, self.weight, bias=self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Flatten(Module):
    """One axis instead of those from start_dim to end_dim."""

    _shown_settings = ("start_dim", "end_dim")

    def __init__(self, start_dim: Any = 1, end_dim: Any = -1) -> None:
        super().__init__()
        self.start_dim = whole(start_dim, "Flatten: start_dim")
        self.end_dim = whole(end_dim, "Flatten: end_dim")

    def forward(self, input: Any) -> Any:
        """The value."""
        shape = shape_of_any(input)
        start, end = (axis_of("Flatten", shape, one) for one in (self.start_dim, self.end_dim))
        merged = (*shape[:start], size_of(shape[start : end + 1]), *shape[end + 1 :])
        return FUNCTIONS["reshape"].call(input, merged)


class Dropout(Module):
    """In training, 0 with probability p, and otherwise x/(1 - p)."""

    _shown_settings = ("p", "inplace")

    def __init__(self, p: Any = 0.5, inplace: Any = False) -> None:
        super().__init__()
        self.inplace = bool(inplace)
        self.p = rate_of("Dropout", p)

    def forward(self, input: Any) -> Any:
        """The value."""
        return over(input, FUNCTIONS["dropout"].call(input, p=self.p, training=self.training), self.inplace)


class LayerNorm(Module):
    """(x - mean)/sqrt(variance + eps) over the last axes, times weight plus bias, which are 1 and 0 at first."""

    def __init__(
        self, normalized_shape: Any, eps: Any = 1e-5, elementwise_affine: Any = True, bias: Any = True
    ) -> None:
        super().__init__()
        lengths: Iterable[Any] = normalized_shape if is_sequence(normalized_shape) else (normalized_shape,)
        self.normalized_shape = tuple(_count("LayerNorm: a length", length) for length in lengths)
        self.eps = number_of("LayerNorm", "eps", eps)
        self.elementwise_affine = bool(elementwise_affine)
        self.register_parameter("weight", parameter(np.ones(self.normalized_shape)) if elementwise_affine else None)
        self.register_parameter("bias", _empty(*self.normalized_shape) if elementwise_affine and bias else None)

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["layer_norm"].call(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The lengths of the axes, and eps."""
        bias = f"bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, {bias}"


class Embedding(Module):
    """The row of weight at each index; normally distributed at first. That of padding_idx is 0, and has no gradient."""

    def __init__(self, num_embeddings: Any, embedding_dim: Any, padding_idx: Any = None) -> None:
        super().__init__()
        self.num_embeddings = _count("Embedding: num_embeddings", num_embeddings)
        self.embedding_dim = _count("Embedding: embedding_dim", embedding_dim)
        self.padding_idx = None if padding_idx is None else self._row(padding_idx)
        self.weight = init.normal_(_empty(self.num_embeddings, self.embedding_dim))
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def _row(self, padding_idx: Any) -> int:
        row, count = whole(padding_idx, "Embedding: padding_idx"), self.num_embeddings
        if not -count <= row < count:
            raise AgradError("shape", f"Embedding: there is no row {row} for padding_idx: there are {count}")
        return row % count

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: Any = True, padding_idx: Any = None) -> Embedding:
        """An embedding with the rows of a matrix, which is trained only without `freeze`."""
        rows, width = shape_of_any(embeddings)
        made = cls(rows, width, padding_idx)
        made.weight = parameter(embeddings, not freeze)
        return made

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["embedding"].call(input, self.weight, padding_idx=self.padding_idx)

    def extra_repr(self) -> str:
        """The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Identity(Module):
    """The input itself."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


def over(x: Any, value: Any, inplace: bool) -> Any:
    """The value; with `inplace`, it is written over x, which then has its graph."""
    both = isinstance(x, Tensor) and isinstance(value, Tensor)
    return overwrite(x, value, "inplace=True") if inplace and both and value is not x else value


# Activations and losses: modules without parameters, each of which calls one function of the table


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
            if name == "weight":  # of classes: a part of the state, as in PyTorch
                self.register_buffer(name, value if value is None or isinstance(value, Tensor) else tensor(value))
            else:
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

    _shown_settings = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate != "none":
            raise AgradError("type", "GELU is computed exactly: approximate can only be 'none'", fixes=["nn.GELU()"])
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["gelu"].call(input)


class Softplus(Module):
    """`softplus` as a module."""

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["softplus"].call(input)


class Softmax(Module):
    """`softmax` along an axis; without one, PyTorch chooses the first of 0, 1 or 3 axes, and else the second."""

    function = "softmax"
    _shown_settings = ("dim",)

    def __init__(self, dim: Any = None) -> None:
        super().__init__()
        self.dim = dim if dim is None else int(dim)

    def forward(self, input: Any) -> Any:
        """The value."""
        axis = (0 if len(shape_of_any(input)) in (0, 1, 3) else 1) if self.dim is None else self.dim
        return FUNCTIONS[self.function].call(input, axis=axis)


class LogSoftmax(Softmax):
    """`log_softmax` along an axis."""

    function = "log_softmax"


# Batch normalisation


class _BatchNorm(Module):
    """(x - mean)/sqrt(variance + eps)*weight + bias over the rows, a feature (the second axis) at a time.

    In training, of the mean and the variance of the batch, of which running means are kept; after `eval()`, of those
    (Ioffe and Szegedy 2015; PyTorch's rule: the running variance is that with n - 1). `momentum` is the share of the
    new batch; None for the mean of all batches.
    """

    axes: tuple[int, ...] = ()  # how many axes x may have

    def __init__(
        self,
        num_features: Any,
        eps: Any = 1e-5,
        momentum: Any = 0.1,
        affine: Any = True,
        track_running_stats: Any = True,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.num_features = count = _count(f"{name}: num_features", num_features)
        self.eps = number_of(name, "eps", eps)
        self.momentum = None if momentum is None else number_of(name, "momentum", momentum)
        self.affine, self.track_running_stats = bool(affine), bool(track_running_stats)
        self.register_parameter("weight", parameter(np.ones(count)) if affine else None)
        self.register_parameter("bias", _empty(count) if affine else None)
        stored = {"running_mean": np.zeros(count), "running_var": np.ones(count), "num_batches_tracked": 0.0}
        for buffer, value in stored.items():
            self.register_buffer(buffer, tensor(value) if track_running_stats else None)

    def forward(self, input: Any) -> Any:
        """The value."""
        shape = shape_of_any(input)
        if len(shape) not in self.axes or shape[1] != self.num_features:
            wanted = " or ".join(f"{number} axes" for number in self.axes)
            message = f"{type(self).__name__}: x of shape {format_shape(shape)} does not have {wanted}"
            raise AgradError("shape", f"{message}, the second of {self.num_features} features")
        beside = (1, self.num_features, *(1 for _ in shape[2:]))
        if self.training or not self.track_running_stats:
            mean, variance = self._of_batch(input, shape)
        else:
            mean, variance = (self.running_mean.reshape(beside), self.running_var.reshape(beside))
        found = (input - mean) / FUNCTIONS["sqrt"].call(variance + self.eps)
        return found * self.weight.reshape(beside) + self.bias.reshape(beside) if self.affine else found

    def _of_batch(self, x: Any, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """The mean and the variance of a batch, which in training change the running ones."""
        axes = (0, *range(2, len(shape)))
        count = size_of(shape) // max(self.num_features, 1)
        if self.training and count < 2:
            message = f"{type(self).__name__}: x of shape {format_shape(shape)} has one value a feature: no variance"
            raise AgradError("shape", message, fixes=["model.eval()   uses the running mean and variance"])
        mean = FUNCTIONS["mean"].call(x, axis=axes, keepdims=True)
        variance = FUNCTIONS["mean"].call(FUNCTIONS["square"].call(x - mean), axis=axes, keepdims=True)
        if self.training and self.track_running_stats:
            with no_grad():
                self.num_batches_tracked.copy_(self.num_batches_tracked + 1.0)
                share = 1.0 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
                unbiased = variance * (count / (count - 1))
                for running, new in ((self.running_mean, mean), (self.running_var, unbiased)):
                    running.copy_((1.0 - share) * running + share * new.detach().reshape(running.shape))
        return mean, variance

    def extra_repr(self) -> str:
        """The settings."""
        numbers = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"
        numbers = f"{numbers}, affine={self.affine}, bias={self.bias is not None}"
        return f"{numbers}, track_running_stats={self.track_running_stats}"


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of rows of features, or of sequences of them."""

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images with several channels."""

    axes = (4,)
