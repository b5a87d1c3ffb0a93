"""`torch.distributions`: random numbers, with a derivative or without one, and their densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agrad.engine.core import tensor as core
from agrad.engine.core.context import scope
from agrad.engine.values import np
from agrad.torch.creation import default_generator
from agrad.torch.registry import TORCH, T, engine, tensor_of
from agrad.torch.tensor import entitle
from agrad.torch.types import Size, float64

_HALF_LOG_2PI = math.log(math.sqrt(2 * math.pi))
_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


def _spread(*given: Any) -> list[Any]:
    """Parameters in the shape that they have together."""
    return [*T.broadcast_tensors(*[tensor_of(x if isinstance(x, core.Tensor) else float(x)) for x in given])]


class Distribution:
    """The base: `batch_shape` is that of the parameters, `event_shape` of one sample."""

    is_object = True
    positive: tuple[str, ...] = ()  # the parameters that are above 0
    names: tuple[str, ...] = ()
    batch_shape, event_shape, has_rsample = Size(), Size(), False
    _is_checked = True  # whether values outside of the support are refused
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # parameters, and formulas

    def __init__(self, *args: Any, validate_args: Any = None, **given: Any) -> None:
        if any(name.startswith("_") for name in self.names):
            raise TypeError("the names of parameters do not begin with _")
        self._is_checked = validate_args is not False
        given |= dict(zip(self.names, args, strict=False))
        missing = [name for name in self.names if name not in given]
        if missing or len(given) > len(self.names):
            raise TypeError(f"{type(self).__name__} needs {', '.join(self.names)}")
        for name, x in zip(self.names, _spread(*[given[name] for name in self.names]), strict=True):
            self._check(name, x, validate_args)
            setattr(self, name, x)
            self.batch_shape = x.shape

    def _check(self, name: str, x: Any, asked: Any) -> None:
        values = np.asarray(x.value)
        fine = (values > 0).all() if name in self.positive else not np.isnan(values).any()
        fine = fine and (name != "probs" or ((values >= 0) & (values <= 1)).all())
        if asked is not False and not fine:
            wanted = "from 0 to 1" if name == "probs" else "above 0" if name in self.positive else "real"
            of = f"Expected parameter {name} of distribution {type(self).__name__}"
            raise ValueError(f"{of} to be {wanted}, but found:\n{x}")

    def _shape(self, sample_shape: Any) -> Size:
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random numbers without a graph."""
        with scope(recording=False):
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Random numbers, which are differentiable by the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample: what it draws has no derivative")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability. Raises ValueError where the value cannot be drawn."""
        return self._log_prob(self._valid(value))

    def _valid(self, value: Any) -> Any:
        """A value, if it can be drawn, and fits the shape."""
        if self._is_checked:
            if not isinstance(value, core.Tensor):
                raise ValueError("The value argument to log_prob must be a Tensor")
            given, shape = np.asarray(value.value, dtype=float), (*self.batch_shape, *self.event_shape)
            pairs = zip(reversed(given.shape), reversed(shape), strict=False)
            is_event = given.shape[given.ndim - len(self.event_shape) :] == self.event_shape
            if not is_event or any(n != m and 1 not in (n, m) for n, m in pairs):
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {given.shape} vs {shape}.")
            if not np.all(self._within(given)):
                raise ValueError(
                    f"Expected value argument to be within the support of {type(self).__name__}, not:\n{value}"
                )
        return value

    def _log_prob(self, value: Any) -> Any:
        raise NotImplementedError

    def _within(self, value: Any) -> Any:
        """Which entries of an array can be drawn."""
        return ~np.isnan(value)

    def sample_n(self, n: int) -> Any:
        """So many samples."""
        return self.sample((n,))

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape: Any) -> Any:
        """The same in a larger shape."""
        given, count = {name: self.__dict__[name] for name in self.names}, len(self.batch_shape)
        return type(self)(**{name: x.expand(*batch_shape, *x.shape[count:]) for name, x in given.items()})

    def __repr__(self) -> str:
        untold = (LogNormal, HalfNormal, Beta, OneHotCategorical)  # made of another one, which has the parameters
        told = {} if type(self) in untold else {name: self.__dict__[name] for name in self.names}
        shown = [f"{name}: {x.item() if x.numel() == 1 else x.shape}" for name, x in told.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


def _whole(value: Any) -> Any:
    return (value >= 0) & (value == np.floor(value))


def _drawn(method: str, shape: Any) -> Any:
    return tensor_of(np.asarray(getattr(default_generator._numbers, method)(tuple(shape))))


def _kind(name: str, doc: str, names: str = "", positive: str = "", base: type[Distribution] = Distribution) -> Any:
    """A class of distributions that is its formulas, which are below; `positive`: the parameters that are above 0."""
    given = {"names": tuple(names.split()), "positive": tuple(positive.split())} if names else {}
    return type(name, (base,), {"__doc__": doc, **given})


Normal = _kind("Normal", "The normal distribution.", "loc scale", "scale")
LogNormal = _kind("LogNormal", "That of the exponential of normal numbers.", base=Normal)
HalfNormal = _kind("HalfNormal", "That of the size of normal numbers around 0.", "scale", "scale")
Uniform = _kind("Uniform", "The uniform distribution from low to high.", "low high")
Exponential = _kind("Exponential", "The exponential distribution.", "rate", "rate")
Laplace = _kind("Laplace", "The double exponential distribution.", "loc scale", "scale")
Cauchy = _kind("Cauchy", "Cauchy's distribution, which has neither a mean nor a variance.", base=Laplace)
Gumbel = _kind("Gumbel", "The distribution of the largest of many numbers.", "loc scale", "scale")
Poisson = _kind("Poisson", "The distribution of counts.", "rate")


class Gamma(Distribution):
    """The gamma distribution; what it draws has no derivative here."""

    names = positive = ("concentration", "rate")

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random numbers without a graph."""
        rates = np.asarray(self.concentration.value)
        drawn = default_generator._numbers.standard_gamma(rates, self._shape(sample_shape))
        return tensor_of(np.asarray(drawn)) / self.rate.detach()

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        a, b, value = self.concentration, self.rate, tensor_of(value)
        return T.xlogy(a, b) + T.xlogy(a - 1, value) - b * value - T.lgamma(a)

    def entropy(self) -> Any:
        """The entropy."""
        a = self.concentration
        return a - T.log(self.rate) + T.lgamma(a) + (1.0 - a) * T.digamma(a)


class Dirichlet(Distribution):
    """The distribution of shares; what it draws has no derivative here."""

    names = positive = ("concentration",)

    def __init__(self, concentration: Any, validate_args: Any = None) -> None:
        super().__init__(concentration, validate_args=validate_args)
        self.batch_shape, self.event_shape = Size(self.batch_shape[:-1]), Size(self.batch_shape[-1:])

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random numbers without a graph."""
        drawn = Gamma(self.concentration, 1.0).sample(sample_shape)
        return drawn / drawn.sum(-1, True)

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        a = self.concentration
        return T.xlogy(a - 1.0, value).sum(-1) + T.lgamma(a.sum(-1)) - T.lgamma(a).sum(-1)


_BOTH = "concentration1 concentration0"
Beta = _kind("Beta", "The beta distribution; what it draws has no derivative here.", _BOTH, _BOTH)


def _shares(self: Any) -> Any:
    return Dirichlet(T.stack([self.concentration1, self.concentration0], -1))


class StudentT(Distribution):
    """Student's distribution; what it draws has no derivative here."""

    names, positive = ("df", "loc", "scale"), ("df", "scale")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None) -> None:
        super().__init__(df, loc, scale, validate_args=validate_args)

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        y, df = (value - self.loc) / self.scale, self.df
        z = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        z = z + T.lgamma(0.5 * df) - T.lgamma(0.5 * (df + 1.0))
        return -0.5 * (df + 1.0) * T.log1p(y**2.0 / df) - z


# With probabilities, or logits


def _inside(probs: Any) -> Any:
    return probs.clamp(_EPS, 1 - _EPS)


class _Discrete(Distribution):
    """The base of those with probabilities, or logits, of which one is given and the other follows."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.names = ("logits",) if probs is None else ("probs",)
        self._of_given(logits if probs is None else probs, validate_args)

    def _of_given(self, given: Any, validate_args: Any) -> None:
        Distribution.__init__(self, given, validate_args=validate_args)

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            found = self._probs()
        elif name == "logits" and "probs" in self.__dict__:
            found = self._logits()
        else:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        self.__dict__[name] = found
        return found

    def _probs(self) -> Any:
        return T.sigmoid(self.logits)

    def _logits(self) -> Any:
        return T.log(_inside(self.probs)) - T.log1p(-_inside(self.probs))


class Bernoulli(_Discrete):
    """1 with a probability, else 0."""

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        logits, value = T.broadcast_tensors(self.logits, tensor_of(value))
        if value.kind is not float64:
            raise RuntimeError(f"result type {float64} can't be cast to the desired output type {value.kind}")
        return -_crossed(logits, value)


def _crossed(logits: Any, target: Any) -> Any:
    found = engine("binary_cross_entropy_with_logits", logits, target, reduction="none")
    return entitle(found, "BinaryCrossEntropyWithLogitsBackward0")


Geometric = _kind("Geometric", "How often an event fails before it comes.", base=_Discrete)


class Binomial(_Discrete):
    """How often an event comes in so many trials."""

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(probs, logits, validate_args)
        (given,) = self.names
        self.total_count, self.__dict__[given] = _spread(total_count, self.__dict__[given])
        self.names, self.batch_shape = ("total_count", given), self.total_count.shape

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random counts."""
        count, p = (np.asarray(x.value) for x in (self.total_count, self.probs))
        return tensor_of(default_generator._numbers.binomial(count.astype(int), p, self._shape(sample_shape)) * 1.0)

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        n, value = self.total_count, tensor_of(value)
        ways = T.lgamma(n + 1) - T.lgamma(value + 1) - T.lgamma(n - value + 1)
        return value * self.logits - n * engine("softplus", self.logits) + ways


class Categorical(_Discrete):
    """The number of a class, each with a probability along the last axis."""

    def _of_given(self, given: Any, validate_args: Any) -> None:
        x: Any = tensor_of(given)
        if x.ndim < 1:
            raise ValueError("`probs` parameter must be at least one-dimensional.")
        x = x / x.sum(-1, True) if self.names == ("probs",) else x - T.logsumexp(x, -1, True)
        super()._of_given(x, validate_args)
        self.batch_shape, self._count = Size(self.batch_shape[:-1]), x.shape[-1]

    def _probs(self) -> Any:
        return T.softmax(self.logits, -1)

    def _logits(self) -> Any:
        return T.log(_inside(self.probs))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random numbers of classes."""
        count = math.prod(sample_shape)
        drawn = T.multinomial(self.probs.detach().reshape(-1, self._count), count, True).T
        return drawn.reshape(Size((*sample_shape, *self.batch_shape)))

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = tensor_of(value)
        shape = np.broadcast_shapes(value.shape, self.batch_shape)
        logits = self.logits.expand(*shape, self._count)
        return logits.gather(-1, value.long().expand(*shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Any:
        """The entropy."""
        low = float(np.finfo(np.float64).min)
        return -(self.logits.clamp(min=low) * self.probs).sum(-1)


class OneHotCategorical(Categorical):
    """1 at the place of a class."""

    def _of_given(self, given: Any, validate_args: Any) -> None:
        super()._of_given(given, validate_args)
        self.event_shape = Size((self._count,))


# Of vectors, and made of others


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, with a covariance, a precision, or a lower Cholesky factor."""

    has_rsample = True

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: Any = None) -> None:  # fmt: skip
        given = [x for x in (covariance_matrix, precision_matrix, scale_tril) if x is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        covariance = engine("inv", precision_matrix) if precision_matrix is not None else covariance_matrix
        self.scale_tril = tensor_of(scale_tril if scale_tril is not None else engine("cholesky", covariance))
        loc = tensor_of(loc)
        self.event_shape = Size(self.scale_tril.shape[-1:])
        self.batch_shape = Size(np.broadcast_shapes(loc.shape[:-1], self.scale_tril.shape[:-2]))
        self.loc = self.mean = loc.expand(*self.batch_shape, *self.event_shape)
        self._given = "precision_matrix" if precision_matrix is not None else "covariance_matrix"

    covariance_matrix = property(lambda self: self.scale_tril @ self.scale_tril.mT)
    variance = property(lambda self: self.scale_tril.pow(2).sum(-1).expand(*self.batch_shape, *self.event_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Random vectors, which are differentiable by the parameters."""
        eps = _drawn("standard_normal", self._shape(sample_shape))
        return self.loc + T.matmul(self.scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def _apart(self, x: Any) -> Any:
        """The squares of a vector in the scale of this distribution, summed."""
        return engine("solve_triangular", self.scale_tril, x.unsqueeze(-1), lower=True).pow(2).sum((-2, -1))

    def _half_log_det(self) -> Any:
        scale: Any = self.scale_tril
        return scale.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        apart = self._apart(value - self.loc)
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + apart) - self._half_log_det()

    def __repr__(self) -> str:
        return f"MultivariateNormal(loc: {self.loc.shape}, {self._given}: {self.scale_tril.shape})"


class Independent(Distribution):
    """A distribution whose last axes belong to one sample."""

    _is_checked = False  # which the distribution inside is

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: Any = None) -> None:
        self.base_dist, self.count = base_distribution, reinterpreted_batch_ndims
        shape, self.has_rsample = base_distribution.batch_shape, base_distribution.has_rsample
        split = len(shape) - self.count
        self.batch_shape = Size(shape[:split])
        self.event_shape = Size((*shape[split:], *base_distribution.event_shape))

    def _summed(self, x: Any) -> Any:
        return x.sum([*range(-self.count, 0)]) if self.count else x

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.count})"


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind, by a Categorical."""

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: Any = None) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        self.batch_shape = Size(component_distribution.batch_shape[:-1])
        self.event_shape = component_distribution.event_shape

    @property
    def mean(self) -> Any:
        """The mean."""
        probs = self.mixture_distribution.probs
        probs = probs.reshape(*probs.shape, *(1,) * len(self.event_shape))
        return (probs * self.component_distribution.mean).sum(-1 - len(self.event_shape))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random numbers without a graph."""
        which, events = self.mixture_distribution.sample(sample_shape), len(self.event_shape)
        drawn = self.component_distribution.sample(sample_shape)
        wide = which.reshape(*which.shape, *(1,) * (events + 1)).expand(*which.shape, 1, *self.event_shape)
        return drawn.gather(which.ndim, wide).squeeze(which.ndim)

    def _log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        found = self.component_distribution.log_prob(tensor_of(value).unsqueeze(-1 - len(self.event_shape)))
        return T.logsumexp(found + T.log_softmax(self.mixture_distribution.logits, -1), -1)


def kl_divergence(p: Any, q: Any) -> Any:
    """How much is told by p that q does not tell: the mean of log(p/q). Of two distributions of one kind."""
    for kind, find in _DIVERGENCES.items():
        if type(p) is kind and type(q) is kind:
            return find(p, q)
    pair = f"p type {type(p).__name__} and q type {type(q).__name__}"
    raise NotImplementedError(f"No KL(p || q) is implemented for {pair}")


def _of_normals(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def _of_bernoullis(p: Any, q: Any) -> Any:
    softplus: Callable[..., Any] = TORCH["softplus"]
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    return ones + (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))


def _of_vectors(p: Any, q: Any) -> Any:
    term = engine("solve_triangular", q.scale_tril, p.scale_tril, lower=True).pow(2).sum((-2, -1))
    apart = term + q._apart(q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (apart - p.event_shape[0])


_DIVERGENCES: dict[type, Callable[[Any, Any], Any]] = {
    Normal: _of_normals,
    LogNormal: _of_normals,
    Uniform: lambda p, q: T.where(
        (q.low > p.low) | (q.high < p.high), math.inf, ((q.high - q.low) / (p.high - p.low)).log()
    ),
    Exponential: lambda p, q: q.rate / p.rate + (p.rate / q.rate).log() - 1,
    Bernoulli: _of_bernoullis,
    Categorical: lambda p, q: (p.probs * (p.logits - q.logits)).sum(-1),
    MultivariateNormal: _of_vectors,
    Independent: lambda p, q: p._summed(kl_divergence(p.base_dist, q.base_dist)),
    Poisson: lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    Gamma: lambda p, q: (
        q.concentration * (p.rate / q.rate).log()
        + T.lgamma(q.concentration)
        - T.lgamma(p.concentration)
        + (p.concentration - q.concentration) * T.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    ),
}


# Formulas, each of a method of a class, or of several; behind some, the numbers to draw that are their argument.
_FORMULAS: dict[str, Callable[..., Any]] = {
    "Normal.sample standard_normal": lambda self, z: z * self.scale.detach() + self.loc.detach(),
    "Normal.rsample standard_normal": lambda self, z: self.loc + z * self.scale,
    "Uniform.rsample random": lambda self, u: self.low + u * (self.high - self.low),
    "Exponential.rsample standard_exponential": lambda self, x: x / self.rate,
    "Laplace.rsample random": lambda self, u: (
        self.loc - self.scale * (u := u * (2 - _EPS) + (_EPS - 1)).sign() * T.log1p(-u.abs())
    ),
    "Gumbel.rsample random": lambda self, u: self.loc - self.scale * T.log(-T.log(u * (1 - _EPS) + _EPS)),
    "Cauchy.rsample random": lambda self, u: self.loc + T.tan(math.pi * (u - 0.5)) * self.scale,
    "LogNormal.rsample": lambda self, sample_shape=(): Normal.rsample(self, sample_shape).exp(),
    "LogNormal.sample": Distribution.sample,
    "HalfNormal.rsample": lambda self, sample_shape=(): Normal(0.0, self.scale).rsample(sample_shape).abs(),
    "Beta.sample": lambda self, sample_shape=(): _shares(self).sample(sample_shape).select(-1, 0),
    "Poisson.sample": lambda self, sample_shape=(): T.poisson(self.rate.detach().expand(self._shape(sample_shape))),
    "Bernoulli.sample": lambda self, sample_shape=(): T.bernoulli(
        self.probs.detach().expand(self._shape(sample_shape))
    ),
    "Geometric.sample random": lambda self, u: (u.clamp(min=_TINY).log() / (-self.probs.detach()).log1p()).floor(),
    "OneHotCategorical.sample": lambda self, sample_shape=(): T.eye(self._count)[
        Categorical.sample(self, sample_shape)
    ],
    "Independent.sample": lambda self, sample_shape=(): self.base_dist.sample(sample_shape),
    "Independent.rsample": lambda self, sample_shape=(): self.base_dist.rsample(sample_shape),
    "Normal.mean Normal.mode Laplace.mean Laplace.mode": lambda self: self.loc,
    "Normal.stddev": lambda self: self.scale,
    "Normal.variance": lambda self: self.stddev.pow(2),
    "Uniform.mean": lambda self: (self.high + self.low) / 2,
    "Uniform.variance": lambda self: (self.high - self.low).pow(2) / 12,
    "Exponential.mean Exponential.stddev": lambda self: self.rate.reciprocal(),
    "Exponential.variance": lambda self: self.rate.pow(-2),
    "Laplace.variance": lambda self: 2 * self.scale.pow(2),
    "Cauchy.mean": lambda self: T.full_like(self.loc, math.nan),
    "Cauchy.variance Cauchy.stddev": lambda self: T.full_like(self.loc, math.inf),
    "LogNormal.mean": lambda self: (self.loc + self.scale.pow(2) / 2).exp(),
    "LogNormal.mode": lambda self: (self.loc - self.scale.pow(2)).exp(),
    "LogNormal.stddev": lambda self: self.variance.sqrt(),
    "LogNormal.variance": lambda self: self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp(),
    "HalfNormal.mean": lambda self: self.scale * math.sqrt(2 / math.pi),
    "Gamma.mean": lambda self: self.concentration / self.rate,
    "Gamma.variance": lambda self: self.concentration / self.rate.pow(2),
    "Dirichlet.mean": lambda self: self.concentration / self.concentration.sum(-1, True),
    "Beta.mean": lambda self: self.concentration1 / (self.concentration1 + self.concentration0),
    "Poisson.mean Poisson.variance": lambda self: self.rate,
    "Bernoulli.mean": lambda self: self.probs,
    "Bernoulli.variance": lambda self: self.probs * (1 - self.probs),
    "Geometric.mean": lambda self: 1.0 / self.probs - 1.0,
    "Binomial.mean": lambda self: self.total_count * self.probs,
    "Categorical.mean Categorical.variance": lambda self: T.full(self.batch_shape, math.nan),
    "Categorical.mode": lambda self: self.probs.argmax(-1),
    "Independent.mean": lambda self: self.base_dist.mean,
    "Independent.variance": lambda self: self.base_dist.variance,
    "Uniform._within": lambda self, value: (value >= self.low.value) & (value <= self.high.value),
    "Exponential._within HalfNormal._within Gamma._within": lambda self, value: value >= 0,
    "LogNormal._within": lambda self, value: value > 0,
    "Dirichlet._within": lambda self, value: (value >= 0).all(-1) & (abs(value.sum(-1) - 1) < 1e-6),
    "Beta._within": lambda self, value: (value >= 0) & (value <= 1),
    "Poisson._within Geometric._within": lambda self, value: _whole(value),
    "Bernoulli._within": lambda self, value: (value == 0) | (value == 1),
    "Binomial._within": lambda self, value: _whole(value) & (value <= self.total_count.value),
    "Categorical._within": lambda self, value: _whole(value) & (value < self._count),
    "OneHotCategorical._within": lambda self, value: ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1),
    "Uniform._log_prob": lambda self, value: (
        T.log(self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low))
        - T.log(self.high - self.low)
    ),
    "Gumbel._log_prob": lambda self, value: ((y := (self.loc - value) / self.scale) - y.exp()) - self.scale.log(),
    "HalfNormal._log_prob": lambda self, value: T.where(
        tensor_of(value) >= 0, Normal(0.0, self.scale).log_prob(value) + math.log(2), -math.inf
    ),
    "Beta._log_prob": lambda self, value: _shares(self)._log_prob(
        T.stack([tensor_of(value), 1.0 - tensor_of(value)], -1)
    ),
    "Normal._log_prob": lambda self, value: (
        -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - _HALF_LOG_2PI
    ),
    "Normal.cdf": lambda self, value: 0.5 * (1 + T.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2))),
    "Normal.icdf": lambda self, value: self.loc + self.scale * T.erfinv(2 * value - 1) * math.sqrt(2),
    "Normal.entropy": lambda self: 0.5 + 0.5 * math.log(2 * math.pi) + T.log(self.scale),
    "Uniform.entropy": lambda self: T.log(self.high - self.low),
    "Uniform.cdf": lambda self, value: ((value - self.low) / (self.high - self.low)).clamp(0, 1),
    "Uniform.icdf": lambda self, value: value * (self.high - self.low) + self.low,
    "Exponential.cdf": lambda self, value: 1 - T.exp(-self.rate * value),
    "Exponential.icdf": lambda self, value: -T.log1p(-value) / self.rate,
    "Exponential.mode": lambda self: T.zeros_like(self.rate),
    "Laplace.cdf": lambda self, value: (
        0.5 - 0.5 * (value - self.loc).sign() * T.expm1(-(value - self.loc).abs() / self.scale)
    ),
    "Laplace.icdf": lambda self, value: (
        self.loc - self.scale * (value - 0.5).sign() * T.log1p(-2 * (value - 0.5).abs())
    ),
    "Gumbel.mean": lambda self: self.loc + self.scale * float(np.euler_gamma),
    "Gumbel.mode": lambda self: self.loc,
    "Gumbel.variance": lambda self: (math.pi / math.sqrt(6) * self.scale).pow(2),
    "Gumbel.entropy": lambda self: self.scale.log() + (1 + float(np.euler_gamma)),
    "Gumbel.cdf": lambda self, value: (-((self.loc - value) / self.scale).exp()).exp(),
    "HalfNormal.mode": lambda self: T.zeros_like(self.scale),
    "HalfNormal.variance": lambda self: self.scale.pow(2) * (1 - 2 / math.pi),
    "HalfNormal.cdf": lambda self, value: 2 * Normal(0.0, self.scale).cdf(value) - 1,
    "HalfNormal.icdf": lambda self, value: Normal(0.0, self.scale).icdf((value + 1) / 2),
    "HalfNormal.entropy": lambda self: Normal(0.0, self.scale).entropy() - math.log(2),
    "Gamma.mode": lambda self: ((self.concentration - 1) / self.rate).clamp(min=0),
    "Gamma.cdf": lambda self, value: T.igamma(self.concentration, self.rate * value),
    "Poisson.mode": lambda self: self.rate.floor(),
    "Bernoulli.mode": lambda self: T.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).double()),
    "Geometric.mode": lambda self: T.zeros_like(self.probs),
    "Geometric.variance": lambda self: (1.0 / self.probs - 1.0) / self.probs,
    "Geometric.entropy": lambda self: _crossed(self.logits, self.probs) / self.probs,
    "Binomial.mode": lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count),
    "Binomial.variance": lambda self: self.total_count * self.probs * (1 - self.probs),
    "MultivariateNormal.mode": lambda self: self.loc,
    "Independent.mode": lambda self: self.base_dist.mode,
    "Exponential._log_prob": lambda self, value: self.rate.log() - self.rate * value,
    "Exponential.entropy": lambda self: 1.0 - T.log(self.rate),
    "Laplace._log_prob": lambda self, value: -T.log(2 * self.scale) - T.abs(value - self.loc) / self.scale,
    "Laplace.entropy": lambda self: 1 + T.log(2 * self.scale),
    "Cauchy.cdf": lambda self, value: T.atan((value - self.loc) / self.scale) / math.pi + 0.5,
    "Cauchy.icdf": lambda self, value: T.tan(math.pi * (value - 0.5)) * self.scale + self.loc,
    "Cauchy._log_prob": lambda self, value: (
        -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()
    ),
    "Cauchy.entropy": lambda self: math.log(4 * math.pi) + self.scale.log(),
    "LogNormal._log_prob": lambda self, value: Normal._log_prob(self, value.log()) - value.log(),
    "LogNormal.cdf": lambda self, value: _FORMULAS["Normal.cdf"](self, value.log()),
    "LogNormal.icdf": lambda self, value: Normal.icdf(self, value).exp(),
    "LogNormal.entropy": lambda self: Normal.entropy(self) + self.loc,
    "Poisson._log_prob": lambda self, value: (
        T.xlogy(tensor_of(value), self.rate) - self.rate - T.lgamma(tensor_of(value) + 1)
    ),
    "Bernoulli.entropy": lambda self: _crossed(self.logits, self.probs),
    "Geometric._log_prob": lambda self, value: value * (-self.probs).log1p() + self.probs.log(),
    "OneHotCategorical.mean": lambda self: self.probs,
    "OneHotCategorical.mode": lambda self: T.eye(self._count)[self.probs.argmax(-1)],
    "OneHotCategorical.variance": lambda self: self.probs * (1 - self.probs),
    "OneHotCategorical._log_prob": lambda self, value: Categorical._log_prob(self, value.argmax(-1)),
    "MultivariateNormal.entropy": lambda self: (
        0.5 * self.event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
    ),
    "Independent._log_prob": lambda self, value: self._summed(self.base_dist.log_prob(value)),
    "Independent.entropy": lambda self: self._summed(self.base_dist.entropy()),
}
_TOLD = {
    "_log_prob": "The logarithm of the density, or of the probability.",
    "cdf": "The probability of what is at most a value.",
    "icdf": "The value whose cdf is a probability.",
    "entropy": "The entropy.",
    "mean": "The mean.",
    "mode": "The likeliest value.",
    "variance": "The variance.",
    "stddev": "The standard deviation.",
    "sample": "Random numbers without a graph.",
    "rsample": "Random numbers, which are differentiable by the parameters.",
    "_within": "Which entries of an array can be drawn.",
}


def _of_valid(find: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, value: find(self, self._valid(value))


def _of_drawn(method: str, find: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, sample_shape=(): find(self, _drawn(method, self._shape(sample_shape)))


for _keys, _formula in _FORMULAS.items():
    for _owner, _, _name in (_key.partition(".") for _key in _keys.split() if "." in _key):
        _drawing = _keys.split()[-1]  # how what a sample is made of is drawn
        _formula = _formula if "." in _drawing else _of_drawn(_drawing, _formula)
        _formula = _of_valid(_formula) if _name == "cdf" else _formula
        _formula.__name__, _formula.__doc__ = _name, _TOLD[_name]
        is_value = _name in ("mean", "mode", "variance", "stddev")
        setattr(globals()[_owner], _name, property(_formula) if is_value else _formula)
        if _name == "rsample":
            globals()[_owner].has_rsample = True


NAMES = {
    name: one
    for name, one in globals().items()
    if one is kl_divergence or (isinstance(one, type) and issubclass(one, Distribution) and name[0] != "_")
}
