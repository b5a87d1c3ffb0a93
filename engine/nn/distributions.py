"""Distributions as in `torch.distributions`: random numbers, with a derivative or without one, and their densities."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import wholes_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, no_grad, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn.convolution import array_of
from agrad.engine.nn.objects import Object
from agrad.engine.ops.arrays.cumulative import cumsum
from agrad.engine.ops.arrays.indexing import take_along
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.creation import generator
from agrad.engine.ops.nn.activations import log_softmax, sigmoid, softplus
from agrad.engine.ops.nn.losses import binary_cross_entropy_with_logits
from agrad.engine.ops.scalar.comparison import clip, where
from agrad.engine.ops.scalar.elementary import exp, log, square
from agrad.engine.ops.scalar.special import ndtr
from agrad.engine.values import Shape, broadcast, describe, np

__all__ = [
    "Bernoulli", "Categorical", "Distribution", "Exponential", "MultivariateNormal", "Normal", "Uniform",
    "kl_divergence",
]  # fmt: skip

_LOG_2PI = math.log(2.0 * math.pi)
_EPS = float(np.finfo(np.float64).eps)


class Distribution(Object):
    """The base. The parameters, which are spread to one shape, are attributes; one that is not valid is refused."""

    positive: tuple[str, ...] = ()  # the parameters that are above 0
    shares: tuple[str, ...] = ()  # those that are from 0 to 1
    event_shape: Shape = ()

    def __init__(self, **parameters: Any) -> None:
        found = {name: array_of(value) for name, value in parameters.items()}
        self.batch_shape = broadcast(*(value.shape for value in found.values()))
        self._names = tuple(found)
        for name, value in found.items():
            if name in self.positive and not bool(np.all(value.value > 0.0)):
                raise AgradError("domain", f"{type(self).__name__}: {name} must be above 0")
            if name in self.shares and not bool(np.all((value.value >= 0.0) & (value.value <= 1.0))):
                raise AgradError("domain", f"{type(self).__name__}: {name} must be from 0 to 1")
            setattr(self, name, value if value.shape == self.batch_shape else value.expand(self.batch_shape))

    def _shape(self, sample_shape: Any) -> Shape:
        """The shape of samples."""
        return (*wholes_of("sample", "a size", sample_shape), *self.batch_shape, *self.event_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random numbers without a graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Random numbers, which are differentiable by the parameters."""
        raise AgradError("type", f"{type(self).__name__} has no rsample: what it draws has no derivative")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at a value."""
        raise AgradError("type", f"{type(self).__name__} has no log_prob")

    stddev = property(lambda self: self.variance**0.5, doc="The standard deviation.")

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        told = []
        for name in self._names:
            value = getattr(self, name)
            shown = value.item() if value.shape in ((), (1,)) else f"torch.Size({[*value.shape]})"
            told.append(f"{name}: {shown}")
        return f"{type(self).__name__}({', '.join(told)})"


class Normal(Distribution):
    """The normal distribution."""

    positive = ("scale",)

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        super().__init__(loc=loc, scale=scale)

    mean = property(lambda self: self.loc, doc="The mean.")
    variance = property(lambda self: square(self.scale), doc="The variance.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Random numbers, which are differentiable by the parameters."""
        return self.loc + self.scale * tensor(generator().standard_normal(self._shape(sample_shape) or None))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -square((array_of(value) - self.loc) / self.scale) / 2.0 - log(self.scale) - _LOG_2PI / 2.0

    def cdf(self, value: Any) -> Any:
        """The probability of numbers below a value."""
        return ndtr((array_of(value) - self.loc) / self.scale)

    def entropy(self) -> Any:
        """The entropy."""
        return 0.5 + _LOG_2PI / 2.0 + log(self.scale)


class Uniform(Distribution):
    """The uniform distribution from low to high."""

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        super().__init__(low=low, high=high)
        if not bool(np.all(self.low.value < self.high.value)):
            raise AgradError("domain", "Uniform: low must be below high")

    mean = property(lambda self: (self.low + self.high) / 2.0, doc="The mean.")
    variance = property(lambda self: square(self.high - self.low) / 12.0, doc="The variance.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Random numbers, which are differentiable by the parameters."""
        return self.low + (self.high - self.low) * tensor(generator().random(self._shape(sample_shape) or None))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density: -inf outside."""
        inside = (array_of(value) >= self.low) * (array_of(value) < self.high)
        return where(inside, -log(self.high - self.low), -math.inf)

    def entropy(self) -> Any:
        """The entropy."""
        return log(self.high - self.low)


class Exponential(Distribution):
    """The exponential distribution."""

    positive = ("rate",)

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        super().__init__(rate=rate)

    mean = property(lambda self: 1.0 / self.rate, doc="The mean.")
    variance = property(lambda self: self.rate**-2.0, doc="The variance.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Random numbers, which are differentiable by the rate."""
        return tensor(generator().standard_exponential(self._shape(sample_shape) or None)) / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return log(self.rate) - self.rate * value

    def entropy(self) -> Any:
        """The entropy."""
        return 1.0 - log(self.rate)


class _Discrete(Distribution):
    """A distribution with probabilities, or logits, of which one is given and the other follows."""

    shares = ("probs",)
    probs: Any
    logits: Any

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise AgradError("arity", f"{type(self).__name__} needs either probs or logits")
        super().__init__(**{"logits": logits} if probs is None else {"probs": probs})


class Bernoulli(_Discrete):
    """1 with a probability, else 0."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(probs, logits)
        if probs is None:
            self.probs = sigmoid(self.logits)
        else:
            inside = clip(self.probs, _EPS, 1.0 - _EPS)
            self.logits = log(inside) - log(1.0 - inside)

    mean = property(lambda self: self.probs, doc="The mean.")
    variance = property(lambda self: self.probs * (1.0 - self.probs), doc="The variance.")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random zeros and ones."""
        return tensor((generator().random(self._shape(sample_shape)) < self.probs.value) * 1.0)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = array_of(value)
        shape = broadcast(value.shape, self.batch_shape)
        logits, value = (x if x.shape == shape else x.expand(shape) for x in (self.logits, value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        """The entropy."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(_Discrete):
    """The number of a class, each with a probability; those along the last axis are divided by their sum."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if probs is not None:
            probs = array_of(probs)
            probs = probs / total(probs, -1, True)
        super().__init__(probs, logits)
        if probs is None:
            self.logits = log_softmax(self.logits)
            self.probs = exp(self.logits)
        else:
            self.logits = log(clip(self.probs, _EPS, 1.0 - _EPS))
        self.batch_shape = self.probs.shape[:-1]

    mean = variance = property(lambda self: self.probs.sum(-1) * math.nan, doc="There is none: classes are no numbers.")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random numbers of classes."""
        ends = cumsum(self.probs.detach(), -1).value
        drawn = generator().random((*self._shape(sample_shape), 1))
        return tensor(np.minimum((ends <= drawn).sum(-1), ends.shape[-1] - 1.0))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = array_of(value)
        shape = broadcast(value.shape, self.batch_shape)
        logits = self.logits.expand((*shape, self.logits.shape[-1]))
        return take_along(logits, value.expand(shape).unsqueeze(-1), -1)[..., 0]

    def entropy(self) -> Any:
        """The entropy."""
        return -(self.logits * self.probs).sum(-1)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, with a covariance matrix or its Cholesky factor, the lower one."""

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: Any = None,
    ) -> None:
        given = [one for one in (covariance_matrix, precision_matrix, scale_tril) if one is not None]
        if len(given) != 1:
            raise AgradError("arity", "MultivariateNormal needs one of covariance_matrix, precision_matrix, scale_tril")
        covariance = FUNCTIONS["inv"].call(precision_matrix) if precision_matrix is not None else covariance_matrix
        self.scale_tril = array_of(given[0] if scale_tril is not None else FUNCTIONS["cholesky"].call(covariance))
        super().__init__(loc=loc)
        names = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        self._names = ("loc", *(name for name, value in names.items() if value is not None))
        self.event_shape = self.scale_tril.shape[-1:]
        self.batch_shape = broadcast(self.batch_shape[:-1], self.scale_tril.shape[:-2])
        self._size = float(self.event_shape[0])

    mean = property(lambda self: self.loc, doc="The mean.")
    covariance_matrix = property(lambda self: self.scale_tril @ self.scale_tril.mT, doc="The covariance matrix.")
    variance = property(lambda self: square(self.scale_tril).sum(-1), doc="The variance of each entry.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Random vectors, which are differentiable by the parameters."""
        drawn = tensor(generator().standard_normal(self._shape(sample_shape)))
        return self.loc + (self.scale_tril @ drawn.unsqueeze(-1))[..., 0]

    def _spread(self, x: Tensor) -> Any:
        """The sum of the squares of a matrix, or a column, in the scale of this distribution."""
        return square(FUNCTIONS["solve_triangular"].call(self.scale_tril, x, lower=True)).sum((-1, -2))

    def _half_log_det(self) -> Any:
        return log(FUNCTIONS["diagonal"].call(self.scale_tril, 0, -2, -1)).sum(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        spread = self._spread((array_of(value) - self.loc).unsqueeze(-1))
        return -0.5 * (self._size * _LOG_2PI + spread) - self._half_log_det()

    def entropy(self) -> Any:
        """The entropy."""
        return 0.5 * self._size * (1.0 + _LOG_2PI) + self._half_log_det()


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """How much is told by p that q does not tell: the mean of log(p/q). Of two distributions of one kind."""
    kind: Any = next((one for one in type(p).__mro__ if one in _DIVERGENCES), None)
    if kind is None or not isinstance(q, kind):
        raise AgradError("type", f"kl_divergence does not know that of {describe(p)} and {describe(q)}")
    found: Tensor = _DIVERGENCES[kind](p, q)
    return found


def _of_normals(p: Any, q: Any) -> Any:
    ratio = square(p.scale / q.scale)
    return 0.5 * (ratio + square((p.loc - q.loc) / q.scale) - 1.0 - log(ratio))


def _of_uniforms(p: Any, q: Any) -> Any:
    outside = (q.low > p.low) + (q.high < p.high)
    return where(outside > 0.0, math.inf, log((q.high - q.low) / (p.high - p.low)))


def _of_bernoullis(p: Any, q: Any) -> Any:
    ones, zeros = (softplus(sign * q.logits) - softplus(sign * p.logits) for sign in (-1.0, 1.0))
    return p.probs * ones + (1.0 - p.probs) * zeros


def _of_multivariates(p: Any, q: Any) -> Any:
    told = q._spread(p.scale_tril) + q._spread((q.loc - p.loc).unsqueeze(-1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (told - p._size)


_DIVERGENCES = {
    Normal: _of_normals,
    Uniform: _of_uniforms,
    Exponential: lambda p, q: log(p.rate / q.rate) + q.rate / p.rate - 1.0,
    Bernoulli: _of_bernoullis,
    Categorical: lambda p, q: (p.probs * (p.logits - q.logits)).sum(-1),
    MultivariateNormal: _of_multivariates,
}
