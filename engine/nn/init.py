"""Initial values, written into a parameter in place: PyTorch's distributions, not its random numbers."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.creation import generator
from agrad.engine.values import describe, format_shape, np


def _written(tensor: Any, value: Any) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise AgradError("type", f"nn.init writes into a parameter, and this is {describe(tensor)}")
    with no_grad():
        return tensor.copy_(value)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Random numbers, uniformly distributed from a to b."""
    return _written(tensor, generator().uniform(float(a), float(b), tensor.shape or None))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Random numbers of a normal distribution."""
    return _written(tensor, generator().standard_normal(tensor.shape or None) * float(std) + float(mean))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return _written(tensor, float(val))


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """The unit matrix."""
    return _written(tensor, np.eye(*_matrix("eye_", tensor)))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform, with the variance 2*gain**2 / (inputs + outputs)."""
    inputs, outputs = _fans(tensor)
    bound = float(gain) * math.sqrt(6.0 / (inputs + outputs))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal, with the variance 2*gain**2 / (inputs + outputs)."""
    inputs, outputs = _fans(tensor)
    return normal_(tensor, 0.0, float(gain) * math.sqrt(2.0 / (inputs + outputs)))


def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform, with the variance gain**2 / inputs, where the gain is that of a nonlinearity."""
    bound = math.sqrt(3.0) * _spread(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal, with the variance gain**2 / inputs, where the gain is that of a nonlinearity."""
    return normal_(tensor, 0.0, _spread(tensor, a, mode, nonlinearity))


def _spread(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise AgradError("type", f'mode is "fan_in" or "fan_out", not {describe(mode)}')
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a nonlinearity reduces the spread of its operand."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1.0 + slope**2))
    if nonlinearity not in _GAINS:
        known = [Hint(f'"{name}"') for name in (*_GAINS, "leaky_relu")]
        raise AgradError("name", f"calculate_gain does not know {describe(nonlinearity)}", fixes=known)
    return _GAINS[nonlinearity]


def _fans(tensor: Tensor) -> tuple[int, int]:
    """The numbers of inputs and outputs that the weights of a layer belong to."""
    outputs, inputs = _matrix("the number of inputs", tensor)
    return inputs, outputs


def _matrix(what: str, tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim != 2:
        raise AgradError("shape", f"{what} needs a matrix, not shape {format_shape(tensor.shape)}")
    return tensor.shape[0], tensor.shape[1]
