"""Layers: modules with an operation of `nn.functional`, and the parameters that it takes."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import axis_of
from agrad.engine.core.dispatch import shape_of_any
from agrad.engine.core.tensor import no_grad, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn import functional, init
from agrad.engine.nn.applied import over
from agrad.engine.nn.convolution import each_of
from agrad.engine.nn.formed import Formed
from agrad.engine.nn.module import Module
from agrad.engine.nn.parameter import parameter
from agrad.engine.ops.arrays.shaping import reshape
from agrad.engine.ops.nn.layers import dropout, embedding, layer_norm, linear, rate_of
from agrad.engine.values import format_shape, np, size_of, whole

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d", "Dropout", "Dropout1d",
    "Dropout2d", "Embedding", "Flatten", "GroupNorm", "Identity", "LayerNorm", "Linear", "PReLU", "Unflatten",
]  # fmt: skip


class Uniform(Formed):
    """A layer whose parameters are uniform from -1/sqrt(fan) to 1/sqrt(fan) at first."""

    fan = 1  # how many numbers each output is a sum of

    def weigh(self, shape: tuple[int, ...], outputs: int | None) -> None:
        """Make the parameters weight, of a shape, and bias, of so many numbers; None for no bias."""
        self.weight = parameter(np.zeros(shape))
        self.register_parameter("bias", None if outputs is None else parameter(np.zeros(outputs)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """New random values."""
        bound = 1.0 / math.sqrt(self.fan) if self.fan else 0.0
        for value in self.parameters(recurse=False):
            init.uniform_(value, -bound, bound)


class Linear(Uniform):
    """x @ weight.T + bias; both are uniform from -1/sqrt(in_features) to 1/sqrt(in_features) at first."""

    form = "in_features, out_features, bias=True"
    shown = "in_features= out_features= bias="

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parameters."""
        self.fan = self.in_features
        self.weigh((self.out_features, self.in_features), self.out_features if settings["bias"] else None)

    def forward(self, input: Any) -> Any:
        """The value."""
        return linear(input, self.weight, bias=self.bias)


class _Conv(Uniform):
    """A convolution of sequences or images with channels, in groups.

    Its parameters are uniform at first; fan is the number of channels and entries that each output is a sum of.
    """

    form = "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, "
    form += "padding_mode='zeros'"
    shown = "in_channels out_channels kernel_size= stride= padding? dilation? groups? bias? padding_mode?"
    axes = 1
    modes: tuple[str, ...] = ("zeros", "reflect", "replicate", "circular")

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parameters."""
        inputs, outputs, name = self.in_channels, self.out_channels, type(self).__name__
        if self.groups < 1 or inputs % self.groups or outputs % self.groups:
            raise AgradError("domain", f"{name}: {self.groups} groups of {inputs} and {outputs} channels")
        for what in ("kernel_size", "stride", "padding", "dilation", "output_padding"):
            if what in settings and not isinstance(settings[what], str):
                setattr(self, what, each_of(name, what, settings[what], self.axes))
        if self.padding == "same" and any(step != 1 for step in self.stride):
            raise AgradError("domain", f"{name}: padding='same' is not supported for strided convolutions")
        if self.padding_mode not in self.modes:
            raise AgradError("domain", f"{name}: padding_mode is {' or '.join(self.modes)}, not {self.padding_mode!r}")
        shape = (*self._channels(inputs, outputs), *self.kernel_size)
        self.fan = size_of(shape[1:])
        self.weigh(shape, outputs if settings["bias"] else None)

    def _channels(self, inputs: int, outputs: int) -> tuple[int, int]:
        """The first lengths of the weights."""
        return outputs, inputs // self.groups

    def forward(self, input: Any) -> Any:
        """The value."""
        x, padding = input, self.padding
        if self.padding_mode != "zeros":
            x, padding = functional.pad(x, self._widths(), self.padding_mode), 0
        convolve = functional.conv1d if self.axes == 1 else functional.conv2d
        return convolve(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _widths(self) -> list[int]:
        """How many entries are added before and after, from the last axis on."""
        if self.padding == "valid":
            return [0, 0] * self.axes
        if self.padding != "same":
            return [width for width in reversed(self.padding) for _ in (0, 1)]
        spans = [gap * (size - 1) for gap, size in zip(self.dilation, self.kernel_size, strict=True)]
        return [width for span in reversed(spans) for width in (span // 2, span - span // 2)]


class Conv1d(_Conv):
    """`conv1d` as a layer."""


class Conv2d(_Conv):
    """`conv2d` as a layer."""

    axes = 2


class _ConvTranspose(_Conv):
    """The transpose of a convolution."""

    form = "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, "
    form += "dilation=1, padding_mode='zeros'"
    shown = "in_channels out_channels kernel_size= stride= padding? dilation? output_padding? groups? bias?"
    modes = ("zeros",)

    def _channels(self, inputs: int, outputs: int) -> tuple[int, int]:
        return inputs, outputs // self.groups

    def forward(self, input: Any) -> Any:
        """The value."""
        convolve = functional.conv_transpose1d if self.axes == 1 else functional.conv_transpose2d
        settings = self.stride, self.padding, self.output_padding, self.groups, self.dilation
        return convolve(input, self.weight, self.bias, *settings)


class ConvTranspose1d(_ConvTranspose):
    """`conv_transpose1d` as a layer."""


class ConvTranspose2d(_ConvTranspose):
    """`conv_transpose2d` as a layer."""

    axes = 2


class Flatten(Formed):
    """One axis instead of those from start_dim to end_dim."""

    form, shown = "start_dim=1, end_dim=-1", "start_dim= end_dim="

    def forward(self, input: Any) -> Any:
        """The value."""
        shape = shape_of_any(input)
        start, end = (axis_of("Flatten", shape, one) for one in (self.start_dim, self.end_dim))
        if start == end:
            return input
        return reshape(input, (*shape[:start], size_of(shape[start : end + 1]), *shape[end + 1 :]))


class Unflatten(Formed):
    """Several axes instead of one."""

    form, shown = "dim, unflattened_size", "dim= unflattened_size="

    def forward(self, input: Any) -> Any:
        """The value."""
        shape = shape_of_any(input)
        axis = axis_of("Unflatten", shape, self.dim)
        return reshape(input, (*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))


class Dropout(Formed):
    """In training, 0 with probability p, and otherwise x/(1 - p)."""

    form, shown = "p=0.5, inplace=False", "p= inplace="
    drop = staticmethod(dropout)

    def build(self, settings: dict[str, Any]) -> None:
        """Check the probability."""
        self.p = rate_of(type(self).__name__, settings["p"])

    def forward(self, input: Any) -> Any:
        """The value."""
        return over(input, self.drop(input, p=self.p, training=self.training), self.inplace)


class Dropout1d(Dropout):
    """Dropout of channels of sequences."""

    drop = staticmethod(functional.dropout1d)


class Dropout2d(Dropout):
    """Dropout of channels of images."""

    drop = staticmethod(functional.dropout2d)


class Embedding(Formed):
    """The row of weight at each index; normally distributed at first. That of padding_idx is 0, and has no gradient."""

    form, shown = "num_embeddings, embedding_dim, padding_idx=None", "num_embeddings embedding_dim padding_idx?"

    def build(self, settings: dict[str, Any]) -> None:
        """Make the rows."""
        self.weight = init.normal_(parameter(np.zeros((self.num_embeddings, self.embedding_dim))))
        if settings["padding_idx"] is not None:
            row, count = whole(settings["padding_idx"], "Embedding: padding_idx"), self.num_embeddings
            if not -count <= row < count:
                raise AgradError("shape", f"Embedding: there is no row {row} for padding_idx: there are {count}")
            self.padding_idx = row % count
            with no_grad():
                self.weight[row] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: Any = True, padding_idx: Any = None) -> Embedding:
        """An embedding with the rows of a matrix, which is trained only without `freeze`."""
        rows, width = shape_of_any(embeddings)
        made = cls(rows, width, padding_idx)
        made.weight = parameter(embeddings, not freeze)
        return made

    def forward(self, input: Any) -> Any:
        """The value."""
        return embedding(input, self.weight, padding_idx=self.padding_idx)


class Identity(Module):
    """The input itself."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class PReLU(Formed):
    """`prelu`, whose slope for negative x is a parameter, one for all channels or one for each."""

    form, shown = "num_parameters=1, init=0.25", "num_parameters="

    def build(self, settings: dict[str, Any]) -> None:
        """Make the slopes."""
        self.weight = parameter(np.full(self.num_parameters, float(self.init)))

    def forward(self, input: Any) -> Any:
        """The value."""
        return functional.prelu(input, self.weight)


# Normalisation


class LayerNorm(Formed):
    """(x - mean)/sqrt(variance + eps) over the last axes, times weight plus bias, which are 1 and 0 at first."""

    form = "normalized_shape, eps=1e-05, elementwise_affine=True, bias=True"
    shown = "normalized_shape eps= elementwise_affine= bias="

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parameters."""
        shape = settings["normalized_shape"]
        self.normalized_shape = shape = shape if isinstance(shape, tuple) else (shape,)
        self.scale(shape, self.elementwise_affine, settings["bias"])

    def forward(self, input: Any) -> Any:
        """The value."""
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(Formed):
    """`group_norm` as a layer, whose weight and bias are 1 and 0 at first."""

    form = "num_groups, num_channels, eps=1e-05, affine=True, bias=True"
    shown = "num_groups num_channels eps= affine= bias="

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parameters."""
        if not self.num_groups or self.num_channels % self.num_groups:
            raise AgradError("domain", f"GroupNorm: {self.num_groups} groups of {self.num_channels} channels")
        self.scale((self.num_channels,), self.affine, settings["bias"])

    def forward(self, input: Any) -> Any:
        """The value."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _BatchNorm(Formed):
    """(x - mean)/sqrt(variance + eps)*weight + bias over the rows, a feature (the second axis) at a time.

    In training, of the mean and the variance of the batch, of which running means are kept; after `eval()`, of those
    (Ioffe and Szegedy 2015; PyTorch's rule: the running variance is that with n - 1). `momentum` is the share of the
    new batch; None for the mean of all batches.
    """

    form = "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True"
    shown = "num_features eps= momentum= affine= bias= track_running_stats="
    axes: tuple[int, ...] = ()  # how many axes x may have

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parameters and the running means."""
        count = self.num_features
        self.scale((count,), self.affine, settings["bias"])
        stored = {"running_mean": np.zeros(count), "running_var": np.ones(count), "num_batches_tracked": 0.0}
        for buffer, value in stored.items():
            self.register_buffer(buffer, tensor(value) if self.track_running_stats else None)

    def forward(self, input: Any) -> Any:
        """The value."""
        shape = shape_of_any(input)
        if len(shape) not in self.axes or shape[1] != self.num_features:
            wanted = " or ".join(f"{number} axes" for number in self.axes)
            message = f"{type(self).__name__}: x of shape {format_shape(shape)} does not have {wanted}"
            raise AgradError("shape", f"{message}, the second of {self.num_features} features")
        if self.training and size_of(shape) < 2 * self.num_features:
            message = f"{type(self).__name__}: x of shape {format_shape(shape)} has one value a feature: no variance"
            raise AgradError("shape", message, fixes=["model.eval()   uses the running mean and variance"])
        share = self.momentum
        if self.training and self.track_running_stats:
            with no_grad():
                self.num_batches_tracked.copy_(self.num_batches_tracked + 1.0)
            share = 1.0 / self.num_batches_tracked.item() if share is None else share
        running = self.running_mean, self.running_var
        return functional.batch_norm(input, *running, self.weight, self.bias, self.training, share, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of rows of features, or of sequences of them."""

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images with several channels."""

    axes = (4,)
