"""PyTorch's `torch.nn.functional`: functions of the table, by the names that they have there, and those made of them.

Convolutions and pooling are in `convolution`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, no_grad, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn import convolution
from agrad.engine.nn.convolution import *  # noqa: F403 - which are functions of this module, too
from agrad.engine.nn.convolution import array_of
from agrad.engine.ops.nn.activations import FAMILY, elu, hardtanh, sigmoid, softmax
from agrad.engine.ops.nn.activations import gelu as exact_gelu
from agrad.engine.ops.nn.activations import softplus as exact_softplus
from agrad.engine.ops.nn.layers import dropout, layer_norm
from agrad.engine.ops.nn.losses import huber_loss, l1_loss, reduced
from agrad.engine.ops.scalar.comparison import clip, equal, maximum, minimum, where
from agrad.engine.ops.scalar.elementary import exp, sqrt, square
from agrad.engine.ops.scalar.special import xlogy
from agrad.engine.ops.scalar.trigonometry import tanh
from agrad.engine.values import broadcast, describe, format_number, format_shape, mask_type, np, size_of, whole


def is_known(name: str) -> bool:
    """Whether PyTorch has a function of the table here: those of learning, but for one, and tanh."""
    return name == "tanh" or (name in FUNCTIONS and FUNCTIONS[name].family == FAMILY and name != "logaddexp")


def __getattr__(name: str) -> Callable[..., Any]:
    if not is_known(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = FUNCTIONS[name].call  # the next time it is found at once
    return found


def __dir__() -> list[str]:
    return sorted({*filter(is_known, FUNCTIONS), *__all__})


__all__ = [
    "batch_norm", "celu", "cosine_embedding_loss", "cosine_similarity", "dropout1d", "dropout2d", "gelu", "glu",
    "group_norm", "hardshrink", "hardsigmoid", "hardswish", "hinge_embedding_loss", "kl_div", "margin_ranking_loss",
    "mish", "normalize", "one_hot", "pairwise_distance", "prelu", "relu6", "scaled_dot_product_attention",
    "smooth_l1_loss", "soft_margin_loss", "softmin", "softplus", "softshrink", "softsign", "tanhshrink",
    "threshold", "triplet_margin_loss",
]  # fmt: skip
__all__ += convolution.__all__


def is_mask(x: Tensor) -> bool:
    """Whether an array has truths, not numbers."""
    return type(x.value) is mask_type()


# Activations


def relu6(input: Any) -> Any:
    """x limited to between 0 and 6."""
    return hardtanh(input, 0.0, 6.0)


def celu(input: Any, alpha: Any = 1.0) -> Any:
    """x where it is positive, else alpha*(exp(x/alpha) - 1)."""
    return elu(array_of(input) / alpha) * alpha


def prelu(input: Any, weight: Any) -> Any:
    """x where it is positive, else x times a weight, which may be one for each channel."""
    x, weight = array_of(input), array_of(weight)
    slope = weight.reshape(-1, *(1,) * (x.ndim - 2)) if size_of(weight.shape) > 1 else weight
    return where(x > 0.0, x, slope * x)


def gelu(input: Any, approximate: Any = "none") -> Any:
    """x times the probability that a standard normal number is below x; with "tanh", of an approximation of that."""
    if approximate not in ("none", "tanh"):
        raise AgradError("type", f'gelu: approximate is "none" or "tanh", not {describe(approximate)}')
    x = array_of(input)
    if approximate == "none":
        return exact_gelu(x)
    return 0.5 * x * (1.0 + tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def softplus(input: Any, beta: Any = 1.0, threshold: Any = 20.0) -> Any:
    """log(1 + exp(beta*x))/beta, and x itself where beta*x is above a threshold."""
    x = array_of(input)
    return where(x * beta > threshold, x, exact_softplus(x * beta) / beta)


def mish(input: Any) -> Any:
    """x*tanh(softplus(x))."""
    return input * tanh(exact_softplus(input))


def hardsigmoid(input: Any) -> Any:
    """x/6 + 1/2, limited to between 0 and 1."""
    return relu6(array_of(input) + 3.0) / 6.0


def hardswish(input: Any) -> Any:
    """x*hardsigmoid(x)."""
    return input * hardsigmoid(input)


def softsign(input: Any) -> Any:
    """x/(1 + abs(x))."""
    return input / (1.0 + abs(array_of(input)))


def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    return input - tanh(input)


def softshrink(input: Any, lambd: Any = 0.5) -> Any:
    """x nearer to 0 by lambd, and 0 between -lambd and lambd."""
    return input - clip(input, -lambd, lambd)


def hardshrink(input: Any, lambd: Any = 0.5) -> Any:
    """x, and 0 between -lambd and lambd."""
    return where(abs(array_of(input)) <= lambd, 0.0, input)


def threshold(input: Any, threshold: Any, value: Any) -> Any:
    """x where it is above a threshold, else a value."""
    return where(array_of(input) <= threshold, value, input)


def glu(input: Any, dim: Any = -1) -> Any:
    """The first half of x along an axis, times the sigmoid of the second half."""
    first, second = FUNCTIONS["split"].call(input, 2, dim)
    return first * sigmoid(second)


def softmin(input: Any, dim: Any = -1) -> Any:
    """softmax(-x)."""
    return softmax(-array_of(input), dim)


def dropout_channels(input: Any, p: Any = 0.5, training: Any = True) -> Any:
    """In training, each channel as a whole is 0 with probability p, and x/(1 - p) otherwise."""
    x = array_of(input)
    if not training or not p:
        return x
    return x * dropout(np.ones((*x.shape[:2], *(1,) * (x.ndim - 2))), p=p, training=training)


dropout1d = dropout2d = dropout_channels


# Normalisation


def _beside(x: Any, value: Any) -> Any:
    """A number for each channel, beside the channels of x."""
    return array_of(value).reshape(-1, *(1,) * (x.ndim - 2))


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: Any = False,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> Any:
    """(x - mean)/sqrt(variance + eps) of each channel, times weight plus bias.

    In training, of the mean and variance of the batch, a share `momentum` of which goes into the running ones.
    """
    x = array_of(input)
    axes = (0, *range(2, x.ndim))
    count = size_of(x.shape) // max(x.shape[1], 1)
    if training or running_mean is None:
        mean = x.mean(axes, keepdims=True)
        variance = square(x - mean).mean(axes, keepdims=True)
        if training and running_mean is not None:
            with no_grad():
                unbiased = variance * (count / (count - 1))
                for running, new in ((running_mean, mean), (running_var, unbiased)):
                    running.copy_((1.0 - momentum) * running + momentum * new.detach().reshape(running.shape))
    else:
        mean, variance = _beside(x, running_mean), _beside(x, running_var)
    found = (x - mean) / sqrt(variance + eps)
    found = found if weight is None else found * _beside(x, weight)
    return found if bias is None else found + _beside(x, bias)


def group_norm(input: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Any:
    """(x - mean)/sqrt(variance + eps) of each group of channels, times weight plus bias."""
    x, groups = array_of(input), whole(num_groups, "group_norm: num_groups")
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise AgradError("shape", f"group_norm: {groups} groups cannot be made of x of shape {format_shape(x.shape)}")
    rows = x.reshape(x.shape[0], groups, -1)
    found = layer_norm(rows, rows.shape[-1:], eps=eps).reshape(x.shape)
    found = found if weight is None else found * _beside(x, weight)
    return found if bias is None else found + _beside(x, bias)


def normalize(input: Any, p: Any = 2.0, dim: Any = 1, eps: Any = 1e-12) -> Any:
    """x over its norm along an axis, or over eps if that is larger."""
    return input / maximum(_norm(input, ord=p, axis=dim, keepdims=True), eps)


# Similarities, and one-hot


def _norm(x: Any, **attrs: Any) -> Any:
    return FUNCTIONS["norm"].call(x, **attrs)  # which is loaded when it is needed


def cosine_similarity(x1: Any, x2: Any, dim: Any = 1, eps: Any = 1e-8) -> Any:
    """The cosine of the angle between vectors along an axis."""
    first, second = array_of(x1), array_of(x2)
    if first.shape != second.shape:
        wide = np.zeros(broadcast(first.shape, second.shape))
        first, second = first + wide, second + wide
    return (normalize(first, 2.0, dim, eps) * normalize(second, 2.0, dim, eps)).sum(dim)


def pairwise_distance(x1: Any, x2: Any, p: Any = 2.0, eps: Any = 1e-6, keepdim: Any = False) -> Any:
    """The norm of x1 - x2 + eps along the last axis."""
    return _norm(array_of(x1) - x2 + eps, ord=p, axis=-1, keepdims=keepdim)


def one_hot(tensor: Any, num_classes: Any = -1) -> Any:
    """1 at the place that each entry of x gives, 0 elsewhere, along a new last axis."""
    x = array_of(tensor)
    values, count = np.asarray(x.value), whole(num_classes, "one_hot: num_classes")
    count = int(values.max()) + 1 if count < 0 and values.size else count
    wrong = values[~((values >= 0) & (values < count) & (values == np.floor(values)))]
    if wrong.size:
        raise AgradError("domain", f"one_hot: {format_number(float(wrong.flat[0]))} is none of {count} classes")
    return x.reshape(*x.shape, 1) == np.arange(float(count))


# Losses


def _positive(x: Any) -> Any:
    return clip(x, 0.0, None)


def smooth_l1_loss(input: Any, target: Any, reduction: Any = "mean", beta: Any = 1.0) -> Any:
    """The Huber loss with delta=beta, over beta."""
    width = number_of("smooth_l1_loss", "beta", beta)
    if width == 0.0:
        return l1_loss(input, target, reduction=reduction)
    return huber_loss(input, target, reduction=reduction, delta=width) / width


def kl_div(input: Any, target: Any, reduction: Any = "mean", log_target: Any = False) -> Any:
    """The divergence of probabilities from others, whose logarithms are x: target*(log(target) - x)."""
    x, y = array_of(input), array_of(target)
    losses = exp(y) * (y - x) if log_target else xlogy(y, y) - y * x
    return losses.sum() / len(x) if reduction == "batchmean" else reduced("kl_div", losses, reduction)


def soft_margin_loss(input: Any, target: Any, reduction: Any = "mean") -> Any:
    """log(1 + exp(-y*x)) for y of 1 and -1."""
    return reduced("soft_margin_loss", exact_softplus(-array_of(target) * input), reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: Any = 1.0, reduction: Any = "mean") -> Any:
    """x where the target is 1, and how far x is below the margin where it is -1."""
    x, y = array_of(input), target
    losses = where(equal(y, -1.0), 0.0, x) + where(equal(y, 1.0), 0.0, _positive(margin - x))
    return reduced("hinge_embedding_loss", losses, reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: Any = "mean") -> Any:
    """How far x1 is from above x2 by a margin, where the target is 1; where it is -1, x2 from above x1."""
    losses = _positive(margin - array_of(target) * (array_of(input1) - input2))
    return reduced("margin_ranking_loss", losses, reduction)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: Any = "mean") -> Any:
    """1 - the cosine where the target is 1, and how far the cosine is above the margin where it is -1."""
    x, y, target = array_of(input1), array_of(input2), array_of(target)
    sizes = (square(x).sum(-1) + 1e-12) * (square(y).sum(-1) + 1e-12)
    cosine = (x * y).sum(-1) / sqrt(sizes)
    losses = where(target == 1.0, 1.0 - cosine, where(target == -1.0, _positive(cosine - margin), 0.0))
    return reduced("cosine_embedding_loss", losses, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: Any = 1.0,
    p: Any = 2.0,
    eps: Any = 1e-6,
    swap: Any = False,
    reduction: Any = "mean",
) -> Any:
    """How far the anchor is from being nearer to the positive than to the negative by a margin."""
    near, far = (pairwise_distance(anchor, other, p, eps) for other in (positive, negative))
    far = minimum(far, pairwise_distance(positive, negative, p, eps)) if swap else far
    return reduced("triplet_margin_loss", _positive(margin + near - far), reduction)


# Attention


def added_mask(mask: Any, *, hides: bool) -> Any:
    """A mask as numbers to be added: -inf where an array of truths hides an entry, or does not let it take part."""
    mask = array_of(mask)
    if not is_mask(mask):
        return mask
    return where(mask, -math.inf, 0.0) if hides else where(mask, 0.0, -math.inf)


def causal_mask(rows: int, columns: int | None = None) -> Tensor:
    """Which entries come later, as an array of truths."""
    return tensor(np.triu(np.ones((rows, rows if columns is None else columns), dtype=bool), 1))


def attention(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, scale: Any = None) -> tuple[Any, Any]:
    """The means of values, and the weights of them, which are softmax(query @ key.mT*scale + mask)."""
    query, key, value = array_of(query), array_of(key), array_of(value)
    scores = query @ key.mT * (1.0 / math.sqrt(query.shape[-1]) if scale is None else scale)
    weights = softmax(scores if mask is None else scores + mask)
    weights = dropout(weights, p=dropout_p) if dropout_p else weights
    return weights @ value, weights


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: Any = 0.0,
    is_causal: Any = False,
    scale: Any = None,
    enable_gqa: Any = False,
) -> Any:
    """softmax(query @ key.mT/sqrt(length) + mask) @ value; an entry takes part where a mask of truths is true.

    With `enable_gqa` several heads of query, the third axis from the end, share one of key and value.
    """
    if enable_gqa:
        heads = query.shape[-3]
        key, value = (x[..., np.arange(heads) // (heads // x.shape[-3]), :, :] for x in (key, value))
    mask = None if attn_mask is None else added_mask(attn_mask, hides=False)
    if is_causal:
        mask = added_mask(causal_mask(array_of(query).shape[-2], array_of(key).shape[-2]), hides=True)
    return attention(query, key, value, mask, float(dropout_p), scale)[0]
