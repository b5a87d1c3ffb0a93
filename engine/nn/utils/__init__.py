"""What PyTorch has in `torch.utils` and in `torch.nn.utils`: data sets, their loader, and limits of gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, no_grad, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn.utils import data
from agrad.engine.values import np, size_of

__all__ = ["clip_grad_norm_", "clip_grad_value_", "data", "parameters_to_vector", "vector_to_parameters"]


def clip_grad_norm_(
    parameters: Any, max_norm: Any, norm_type: Any = 2.0, error_if_nonfinite: Any = False, foreach: Any = None
) -> Tensor:
    """Multiply all gradients by max_norm/(norm + 1e-6) where that is below 1; returns the norm of all together.

    `norm_type` is its order, also inf. Raises AgradError of kind `domain` for a norm that is not finite, if asked to.
    """
    order = number_of("clip_grad_norm_", "norm_type", norm_type)
    most = number_of("clip_grad_norm_", "max_norm", max_norm)
    with no_grad():
        gradients = _gradients(parameters)
        sizes = [np.abs(np.asarray(gradient.value)).ravel() for gradient in gradients]
        entries = np.concatenate(sizes) if sizes else np.zeros(1)
        total = tensor(float(np.linalg.norm(entries, order)))
        if error_if_nonfinite and not np.isfinite(total.value):
            raise AgradError("domain", "clip_grad_norm_: the norm of the gradients is not finite")
        share = most / (total.value + 1e-6)
        for gradient in gradients if not share >= 1.0 else ():
            gradient.copy_(gradient * share)
    return total


def clip_grad_value_(parameters: Any, clip_value: Any, foreach: Any = None) -> None:
    """Limit each entry of the gradients to the range from -clip_value to clip_value."""
    most = number_of("clip_grad_value_", "clip_value", clip_value)
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.copy_(FUNCTIONS["clip"].call(gradient, -most, most))


def _gradients(parameters: Any) -> list[Tensor]:
    """The gradients that there are."""
    values: Iterable[Any] = [parameters] if isinstance(parameters, Tensor) else parameters
    return [value.grad for value in values if value.grad is not None]


def parameters_to_vector(parameters: Any) -> Tensor:
    """All parameters as one vector, with their graph."""
    joined: Tensor = FUNCTIONS["concat"].call([value.reshape(-1) for value in parameters])
    return joined


def vector_to_parameters(vec: Tensor, parameters: Any) -> None:
    """Write the entries of a vector into the parameters."""
    start = 0
    with no_grad():
        for value in parameters:
            size = size_of(value.shape)
            value.copy_(vec[start : start + size].reshape(value.shape))
            start += size
