"""Batch normalisation: each feature is shifted and scaled by the mean and the variance over the rows."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, no_grad, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn.module import Module
from agrad.engine.nn.parameter import parameter
from agrad.engine.ops.arrays.shaping import shape_of_any
from agrad.engine.values import format_shape, np, size_of, whole


class _BatchNorm(Module):
    """(x - mean)/sqrt(variance + eps)*weight + bias, a feature (the second axis) at a time.

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
        self.num_features = count = whole(num_features, f"{name}: num_features")
        if count < 0:
            raise AgradError("shape", f"{name}: num_features must not be negative")
        self.eps = number_of(name, "eps", eps)
        self.momentum = None if momentum is None else number_of(name, "momentum", momentum)
        self.affine, self.track_running_stats = bool(affine), bool(track_running_stats)
        self.register_parameter("weight", parameter(np.ones(count)) if affine else None)
        self.register_parameter("bias", parameter(np.zeros(count)) if affine else None)
        for buffer, value in (
            ("running_mean", np.zeros(count)),
            ("running_var", np.ones(count)),
            ("num_batches_tracked", 0.0),
        ):
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
