"""Initial values, written into a parameter in place: PyTorch's distributions, not its random numbers."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.creation import generator
from agrad.engine.values import describe, format_shape, np, size_of


def _numbers(given: Any) -> Any:
    """What draws random numbers: a generator of torch's, if one is given, or that of the session."""
    return generator() if given is None else given._numbers


def _written(tensor: Any, value: Any) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise AgradError("type", f"nn.init writes into a parameter, and this is {describe(tensor)}")
    with no_grad():
        return tensor.copy_(value)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Random numbers, uniformly distributed from a to b."""
    if not a <= b:
        raise AgradError("domain", f"nn.init: {b} is below {a}, from which the numbers are to be")
    return _written(tensor, _numbers(generator).uniform(float(a), float(b), tensor.shape or None))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Random numbers of a normal distribution."""
    if not std >= 0:
        raise AgradError("domain", f"nn.init: a standard deviation is 0 or positive, not {std}")
    return _written(tensor, _numbers(generator).standard_normal(tensor.shape or None) * float(std) + float(mean))


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


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform, with the variance 2*gain**2 / (inputs + outputs)."""
    inputs, outputs = _fans(tensor)
    bound = float(gain) * math.sqrt(6.0 / (inputs + outputs))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal, with the variance 2*gain**2 / (inputs + outputs)."""
    inputs, outputs = _fans(tensor)
    return normal_(tensor, 0.0, float(gain) * math.sqrt(2.0 / (inputs + outputs)), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform, with the variance gain**2 / inputs, where the gain is that of a nonlinearity."""
    bound = math.sqrt(3.0) * _spread(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal, with the variance gain**2 / inputs, where the gain is that of a nonlinearity."""
    return normal_(tensor, 0.0, _spread(tensor, a, mode, nonlinearity), generator)


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


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Normal numbers, none of which is beyond a and b."""
    below = [math.erfc((mean - end) / std / math.sqrt(2.0)) for end in (a, b)]  # twice the probability
    if below[1] - below[0] > 0.6:
        found = np.full(tensor.shape, math.inf)
        while (outside := (found < a) | (found > b)).any():
            found = np.where(outside, _numbers(generator).standard_normal(tensor.shape or None) * std + mean, found)
        return _written(tensor, found)
    drawn = _numbers(generator).uniform(below[0] - 1.0, below[1] - 1.0, tensor.shape or None)
    found = FUNCTIONS["erfinv"].call(drawn) * (std * math.sqrt(2.0)) + mean
    return _written(tensor, FUNCTIONS["clip"].call(found, a, b))


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Rows, or columns, that stand upright on each other."""
    rows, columns = tensor.shape[0], size_of(tensor.shape[1:])
    drawn = _numbers(generator).standard_normal((rows, columns))
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q = q * np.sign(np.diag(r))
    return _written(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal numbers, a share of which is 0 in each column."""
    rows, columns = _matrix("sparse_", tensor)
    drawn = _numbers(generator).standard_normal((rows, columns)) * std
    for column in range(columns):
        drawn[_numbers(None).permutation(rows)[: math.ceil(sparsity * rows)], column] = 0.0
    return _written(tensor, drawn)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The weights of a convolution that gives its channels as they are."""
    blank = np.zeros(tensor.shape)
    outputs = tensor.shape[0] // groups
    for group in range(groups):
        for channel in range(min(outputs, tensor.shape[1])):
            blank[(group * outputs + channel, channel, *(n // 2 for n in tensor.shape[2:]))] = 1.0
    return _written(tensor, blank)


def _fans(tensor: Tensor) -> tuple[int, int]:
    """The numbers of inputs and outputs that the weights of a layer belong to."""
    if tensor.ndim < 2:
        raise AgradError("shape", f"the number of inputs needs a matrix, not shape {format_shape(tensor.shape)}")
    window = size_of(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _matrix(what: str, tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim != 2:
        raise AgradError("shape", f"{what} needs a matrix, not shape {format_shape(tensor.shape)}")
    return tensor.shape[0], tensor.shape[1]
