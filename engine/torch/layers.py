"""Layers and losses that are made of PyTorch's functions, as functions and as modules of `torch.nn`."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.context import current, remember_entry
from agrad.engine.core.tensor import no_grad
from agrad.engine.nn import functional, init
from agrad.engine.nn import layers as ours
from agrad.engine.nn.applied import _Applied, _applied, _Loss, spelled_out
from agrad.engine.nn.formed import Formed
from agrad.engine.nn.module import Module
from agrad.engine.nn.parameter import parameter
from agrad.engine.values import np
from agrad.torch.creation import default_generator
from agrad.torch.registry import T, checked, engine, refuse_whole, tensor_of
from agrad.torch.tensor import entitle
from agrad.torch.types import float64


def _pair(x: Any) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else tuple(x)


def _reduced(x: Any, reduction: str) -> Any:
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


# Functions


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of shares by the trick of Gumbel; with `hard` one-hot, whose derivative is that of the shares."""
    drawn = tensor_of(np.asarray(default_generator._numbers.standard_exponential(tuple(logits.shape))))
    soft = T.softmax((logits - drawn.log()) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return T.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The windows of images as columns."""
    if input.kind is not float64:
        raise NotImplementedError(f"unfold is not implemented for {input.kind!r}\n  fix: x.double()")
    x, (kh, kw), (dh, dw), (sh, sw) = input, _pair(kernel_size), _pair(dilation), _pair(stride)
    ph, pw = _pair(padding)
    x = PAD(x, (pw, pw, ph, ph)) if ph or pw else x
    rows = [(x.shape[-2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[-1] - dw * (kw - 1) - 1) // sw + 1]
    down = np.arange(kh)[:, None] * dh + np.arange(rows[0]) * sh
    across = np.arange(kw)[:, None] * dw + np.arange(rows[1]) * sw
    found = x[..., tensor_of(down)[:, None, :, None], tensor_of(across)[None, :, None, :]]
    return entitle(found.reshape(*x.shape[:-3], x.shape[-3] * kh * kw, rows[0] * rows[1]), "Im2ColBackward0")


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Images of the windows that are columns, summed where they overlap."""
    (h, w), (kh, kw), (ph, pw) = _pair(output_size), _pair(kernel_size), _pair(padding)
    channels, full = input.shape[-2] // (kh * kw), (h + 2 * ph, w + 2 * pw)
    places = T.arange(float(math.prod(full))).reshape(1, 1, *full)
    columns = unfold(places, (kh, kw), dilation, 0, stride).long().reshape(-1)
    entries = input.reshape(*input.shape[:-2], channels, -1)
    flat = T.zeros(*entries.shape[:-1], math.prod(full)).index_add(-1 % entries.ndim, columns, entries)
    found = flat.reshape(*entries.shape[:-1], *full)
    return entitle(found[..., ph : ph + h, pw : pw + w], "Col2ImBackward0")


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Images in another size, by the nearest entry or by lines between entries.

    Between sizes that a factor does not give exactly, places are spaced by the factor itself, unless it is recomputed.
    """
    if (size is None) == (scale_factor is None):
        raise ValueError("one of size and scale_factor is needed, and not both")
    if mode not in ("nearest", "linear", "bilinear") or antialias:
        what = "antialias" if antialias else f"mode {mode!r}"
        raise NotImplementedError(f"interpolate has no {what}\n  fix: 'nearest' or 'bilinear'")
    if mode == "nearest" and align_corners is not None:
        raise ValueError("align_corners is for modes that draw lines: linear, bilinear")
    axes = input.ndim - 2
    if axes not in {"linear": (1,), "bilinear": (2,)}.get(mode, (1, 2, 3)):
        raise NotImplementedError(f"{mode} of {input.ndim} axes: the first two are images and channels")
    if input.kind is not float64:
        raise NotImplementedError(f"interpolate is not implemented for {input.kind!r}\n  fix: x.double()")
    given = size if size is not None else scale_factor
    each = [given] * axes if isinstance(given, int | float) else list(given)
    sizes = each if size is not None else [math.floor(n * s) for n, s in zip(input.shape[2:], each, strict=True)]
    if min(*sizes, *input.shape[2:]) < 1:
        raise RuntimeError(f"input and output sizes should be greater than 0, not {[*input.shape[2:]]} and {sizes}")
    is_exact = size is not None or recompute_scale_factor
    for axis, (new, old, factor) in enumerate(zip(sizes, input.shape[2:], each, strict=True), 2):
        steps, width = np.arange(new), old / new if is_exact else 1 / factor
        if mode == "nearest":
            input = T.index_select(input, axis, tensor_of(np.minimum(np.floor(steps * width), old - 1).astype(int)))
            continue
        at = steps * (old - 1) / max(new - 1, 1) if align_corners else np.maximum((steps + 0.5) * width - 0.5, 0)
        low = np.minimum(np.floor(at).astype(int), old - 1)
        share = tensor_of(at - low).reshape(-1, *(1,) * (input.ndim - 1 - axis))
        left, right = (T.index_select(input, axis, tensor_of(np.minimum(low + one, old - 1))) for one in (0, 1))
        input = left * (1 - share) + right * share
    kind = {"nearest": "UpsampleNearest", "linear": "UpsampleLinear", "bilinear": "UpsampleBilinear"}[mode]
    return entitle(input, f"{kind}{axes}DBackward0")


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels as finer pixels."""
    r, (*first, c, h, w) = upscale_factor, input.shape
    x = input.reshape(*first, c // r**2, r, r, h, w)
    n = len(first)
    return x.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2).reshape(*first, c // r**2, h * r, w * r)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Fine pixels as channels."""
    r, (*first, c, h, w) = downscale_factor, input.shape
    x, n = input.reshape(*first, c, h // r, r, w // r, r), len(first)
    return x.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*first, c * r * r, h // r, w // r)


def channel_shuffle(input: Any, groups: int) -> Any:
    """The channels of groups, one of each in turn."""
    b, c, *rest = input.shape
    return input.reshape(b, groups, c // groups, *rest).transpose(1, 2).reshape(b, c, *rest)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """x over the root of the mean of its squares along the last axes, times weight."""
    axes = tuple(range(-len(normalized_shape), 0))
    if tuple(input.shape[axes[0] :]) != tuple(normalized_shape):
        raise RuntimeError(f"rms_norm: the last axes of shape {[*input.shape]} are not {[*normalized_shape]}")
    eps = float(np.finfo(np.float64).eps) if eps is None else eps
    found = input * T.rsqrt(input.pow(2).mean(axes, keepdim=True) + eps)
    return found if weight is None else entitle(found * weight, "FusedRmsNormBackward0")


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Any:
    """x - mean over the root of the variance, of each channel of each image; the running ones, or kept in them."""
    images, channels, *rest = input.shape
    if use_input_stats and math.prod(rest) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    given = running_mean, running_var, weight, bias
    repeated: list[Any] = [None if x is None else x.repeat(images) for x in given]
    mean, variance, scale, shift = repeated
    rows = input.reshape(1, images * channels, *rest)
    found = functional.batch_norm(rows, mean, variance, scale, shift, use_input_stats, momentum, eps)
    found = found.reshape(input.shape)
    if use_input_stats and running_mean is not None:
        with no_grad():
            running_mean.copy_(mean.reshape(images, channels).mean(0))
            running_var.copy_(variance.reshape(images, channels).mean(0))
    return found


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """x over a power of the mean of the squares in the channels around."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    wide = PAD(input.pow(2), (0, 0) * (input.ndim - 2) + (size // 2, (size - 1) // 2))
    return input / (sum(wide.narrow(1, at, input.shape[1]) for at in range(size)) / size * alpha + k) ** beta


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1 @ weight @ input2 for each output, plus bias."""
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): {list(input1.shape)} and {list(input2.shape)} differ before their last axes")
    found = T.einsum("...i,kij,...j->...k", input1, weight, input2)
    return found if bias is None else found + bias


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout that keeps the mean and the variance of what SELU gives."""
    if not training or not p:
        return input
    kept = T.bernoulli(T.full(input.shape, 1 - p))
    refuse_whole(input)
    if inplace:
        raise NotImplementedError("alpha_dropout has no inplace=True\n  fix: x.copy_(alpha_dropout(x, …))")
    low = -1.7580993408473766
    a = (1 - p + p * (1 - p) * low**2) ** -0.5
    return a * (input * kept + low * (1 - kept)) - a * p * low


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """The negative logarithm of the probability of counts."""
    loss = T.exp(input) - target * input if log_input else input - target * T.log(input + eps)
    if full:
        many = target * T.log(target) - target + 0.5 * T.log(2 * math.pi * target)
        loss = loss + T.where(target > 1, many, 0.0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """The negative logarithm of the density of normal numbers."""
    var = T.full(input.shape, float(var)) if isinstance(var, int | float) else var
    if var.ndim and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    if var.ndim != input.ndim or any(one not in (1, n) for one, n in zip(var.shape, input.shape, strict=True)):
        raise ValueError("var is of incorrect size")
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = var + (var.detach().clamp(min=eps) - var.detach())  # whose derivative is that of var, below eps too
    loss = 0.5 * (T.log(var) + (input - target) ** 2 / var)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: str = "mean",
) -> Any:
    """How far other classes come near to the right one."""
    x, y = (input, target) if input.ndim > 1 else (input.unsqueeze(0), target.reshape(1))
    apart = (margin - x.gather(1, y.unsqueeze(1)) + x).clamp(min=0) ** p
    apart = apart if weight is None else apart * weight[y].unsqueeze(1)
    loss = apart.scatter(1, y.unsqueeze(1), 0.0).sum(1) / x.shape[1]
    return entitle(_reduced(loss, reduction), "MultiMarginLossBackward0")


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """The logistic loss of several labels."""
    loss = -(target * engine("logsigmoid", input) + (1 - target) * engine("logsigmoid", -input))
    return _reduced((loss if weight is None else loss * weight).sum(-1) / input.shape[-1], reduction)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """The triplet loss by a distance of one's own."""
    far = distance_function or (lambda a, b: (a - b + 1e-6).norm(2, -1))
    apart = far(anchor, negative)
    apart = T.minimum(apart, far(positive, negative)) if swap else apart
    return _reduced(T.clamp(far(anchor, positive) - apart + margin, min=0), reduction)


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """Where the pixels of pictures of a size are, after linear maps of the square from -1 to 1."""
    height, width = size[-2:]
    x, y = (np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in (width, height))
    points = np.stack([np.tile(x, height), np.repeat(y, width), np.ones(height * width)], axis=1)
    found = tensor_of(points) @ theta.transpose(1, 2)
    return entitle(found.reshape(len(theta), height, width, 2), "AffineGridGeneratorBackward0")


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """Pictures at places between their pixels, from -1 to 1; zeros, or the nearest pixel, outside."""
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border"):
        raise NotImplementedError(
            "grid_sample has the modes 'bilinear' and 'nearest', and pads by 'zeros' and 'border'"
        )
    n, c, height, width = input.shape
    at = []
    for axis, size in ((0, width), (1, height)):
        x = grid[..., axis]
        x = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
        at.append(x.clamp(0, size - 1) if padding_mode == "border" else x)
    corners = [(0, 0), (1, 0), (0, 1), (1, 1)] if mode == "bilinear" else [(0, 0)]
    low = [T.floor(x).detach() if mode == "bilinear" else T.round(x).detach() for x in at]
    found: Any = 0.0
    for corner in corners:
        places = [one + step for one, step in zip(low, corner, strict=True)]
        weight: Any = 1.0
        for x, one, step in zip(at, low, corner, strict=True):
            share = x - one if mode == "bilinear" else x.detach() * 0
            weight = weight * (share if step else 1 - share)
        px, py = places
        inside = (px >= 0) & (px < width) & (py >= 0) & (py < height)
        index = (py.clamp(0, height - 1) * width + px.clamp(0, width - 1)).long().reshape(n, 1, -1).expand(n, c, -1)
        values = input.reshape(n, c, -1).gather(2, index).reshape(n, c, *grid.shape[1:3])
        found = found + values * (weight * inside).unsqueeze(1)
    return entitle(found, "GridSampler2DBackward0")


def binary_cross_entropy_at_ends(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """-(target*log(input) + (1 - target)*log(1 - input)) with logarithms of at least -100; its derivative is finite."""
    x, rest = input.detach(), 1 - input.detach()
    value = -(target * x.log().clamp(min=-100.0) + (1 - target) * rest.log().clamp(min=-100.0))
    losses = value + (input - x) * ((x - target.detach()) / (x * rest).clamp(min=1e-12))
    return _reduced(losses if weight is None else losses * weight, reduction)


PAD: Any = None  # `functional.pad`, when it is there
OWN: dict[str, Any] = {
    f.__name__: checked(f.__name__, lambda *args, _loss=f, **given: _loss(*args, **(given | spelled_out(given))))
    for f in (
        gumbel_softmax, unfold, fold, interpolate, pixel_shuffle, pixel_unshuffle, channel_shuffle, rms_norm,
        instance_norm, local_response_norm, bilinear, alpha_dropout, poisson_nll_loss, gaussian_nll_loss,
        multi_margin_loss, multilabel_soft_margin_loss, triplet_margin_with_distance_loss, affine_grid, grid_sample,
    )
}  # fmt: skip
OWN["upsample"] = OWN["interpolate"]


# Modules


class _Made(_Applied):
    """A module that calls one of these functions, or `pad`."""

    def forward(self, *inputs: Any) -> Any:
        """The value."""
        given = {name: getattr(self, name) for name in self._settings}
        if self.function == "alpha_dropout":
            given["training"] = self.training
        return OWN[self.function](*inputs, **given)


class _MadeLoss(_Loss, _Made):
    """A loss among them."""

    forward = _Made.forward


class _Padded(_Applied):
    """Entries added around."""

    mode, axes = "constant", 1

    def build(self, settings: dict[str, Any]) -> None:
        """The widths at both ends of each axis."""
        given = settings["padding"]
        self.padding = (given,) * (2 * self.axes) if isinstance(given, int) else tuple(given)

    def forward(self, input: Any) -> Any:
        """The value."""
        return PAD(input, self.padding, self.mode, self.__dict__.get("value", 0.0)).to(input.kind)


def _module(name: str, function: str, form: str, base: type[_Applied] = _Made, **facts: Any) -> type:
    return _applied(name, function, form, base, __module__="agrad.torch.nn", **facts)


class Upsample(_Made):
    """`interpolate` as a module."""

    function, __module__ = "interpolate", "agrad.torch.nn"
    form = "size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None"

    def build(self, settings: dict[str, Any]) -> None:
        """Take factors as floats; what it is given is printed."""
        given: Any = settings["scale_factor"]
        super().build(settings)
        self.scale_factor: Any = (
            tuple(map(float, given)) if isinstance(given, tuple) else float(given) if given else None
        )
        self.shown = f"{'size' if given is None else 'scale_factor'}= mode="


class RMSNorm(Formed):
    """`rms_norm` as a layer."""

    form, shown = "normalized_shape, eps=None, elementwise_affine=True", "normalized_shape eps= elementwise_affine="

    def build(self, settings: dict[str, Any]) -> None:
        """Make the weight."""
        shape = settings["normalized_shape"]
        self.normalized_shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.register_parameter(
            "weight", parameter(np.ones(self.normalized_shape)) if self.elementwise_affine else None
        )

    def forward(self, input: Any) -> Any:
        """The value."""
        return rms_norm(input, self.normalized_shape, self.weight, self.eps)


class _InstanceNorm(ours._BatchNorm):
    form = "num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, bias=True"
    images: int  # the axes of an image of channels

    def forward(self, input: Any) -> Any:
        """The value."""
        if input.ndim not in (self.images, self.images + 1):
            raise ValueError(f"expected {self.images}D or {self.images + 1}D input (got {input.ndim}D input)")
        if self.affine and input.shape[-self.images] != self.num_features:
            raise ValueError(
                f"expected input's size at dim={input.ndim - self.images} to match num_features ({self.num_features})"
            )
        running = self.running_mean, self.running_var
        own = self.training or not self.track_running_stats
        whole = input.unsqueeze(0) if input.ndim == self.images else input
        found = instance_norm(whole, *running, self.weight, self.bias, own, self.momentum or 0.0, self.eps)
        return found.squeeze(0) if input.ndim == self.images else found


class Bilinear(ours.Uniform):
    """`bilinear` as a layer."""

    form = "in1_features, in2_features, out_features, bias=True"
    shown = "in1_features= in2_features= out_features= bias="

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parameters."""
        self.fan, outputs = self.in1_features, self.out_features
        self.weigh((outputs, self.in1_features, self.in2_features), outputs if settings["bias"] else None)

    def forward(self, input1: Any, input2: Any) -> Any:
        """The value."""
        return bilinear(input1, input2, self.weight, self.bias)


class EmbeddingBag(Formed):
    """The sums, or means, of rows of weight: of each row of indices, or of what lies between two offsets."""

    form = "num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', "
    form += "sparse=False, _weight=None, include_last_offset=False, padding_idx=None"
    shown = "num_embeddings embedding_dim mode= padding_idx?"

    def build(self, settings: dict[str, Any]) -> None:
        """Make the rows."""
        if self.max_norm is not None or self.scale_grad_by_freq or self._weight is not None:
            raise NotImplementedError("EmbeddingBag has no max_norm, scale_grad_by_freq and _weight")
        self.weight = init.normal_(parameter(np.zeros((self.num_embeddings, self.embedding_dim))))
        if self.padding_idx is not None:
            self.padding_idx %= self.num_embeddings
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """The value."""
        if input.ndim == 2:
            offsets = T.arange(len(input)) * input.shape[1]
        elif self.include_last_offset:
            offsets = offsets[:-1]
        flat = input.reshape(-1)
        rows, bags = self.weight[flat], T.searchsorted(offsets, T.arange(len(flat)), right=True) - 1
        rows = rows if per_sample_weights is None else rows * per_sample_weights.reshape(-1, 1)
        if self.padding_idx is not None:
            rows, bags = rows[flat != self.padding_idx], bags[flat != self.padding_idx]
        counts = T.bincount(bags, minlength=len(offsets))
        if self.mode == "max":
            none = T.zeros(1, rows.shape[1])
            return T.stack([T.amax(rows[bags == bag] if n else none, 0) for bag, n in enumerate(counts.tolist())])
        found = T.zeros(len(offsets), rows.shape[1]).index_add(0, bags, rows)
        found = found / counts.clamp(min=1).unsqueeze(1) if self.mode == "mean" else found
        return entitle(found, "EmbeddingBagBackward0")


class _Lazy(Module):
    """A layer that learns how many inputs it has from the first of them, and is an ordinary one from then on."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()
        self.__dict__["_given"] = args, keywords

    def forward(self, input: Any) -> Any:
        """The value of the layer that it becomes."""
        remember_entry(self.__dict__, "_given")
        args, keywords = self.__dict__.pop("_given")
        log, before = current().undo_log, type(self)
        if log is not None:
            log.remember((self, "class"), lambda: object.__setattr__(self, "__class__", before))
        training = self.training
        kind: Any = next(_TARGETS[kind] for kind in type(self).__mro__ if kind in _TARGETS)
        object.__setattr__(self, "__class__", kind)
        kind.__init__(self, input.shape[-1 if isinstance(self, ours.Linear) else 1], *args, **keywords)
        self.train(training)
        return self.forward(input)


_TARGETS: dict[type, type] = {}  # what each lazy layer becomes
_SIZES = "kernel_size, dilation=1, padding=0, stride=1"
_SPELLED = "size_average=None, reduce=None, reduction='mean'"
MODULES: dict[str, type] = {
    one.__name__: one
    for one in (
        RMSNorm,
        Bilinear,
        EmbeddingBag,
        _module("Unfold", "unfold", _SIZES),
        _module("Fold", "fold", f"output_size, {_SIZES}"),
        _module("PixelShuffle", "pixel_shuffle", "upscale_factor"),
        _module("PixelUnshuffle", "pixel_unshuffle", "downscale_factor"),
        _module("ChannelShuffle", "channel_shuffle", "groups"),
        _module("AlphaDropout", "alpha_dropout", "p=0.5, inplace=False", shown="p= inplace="),
        Upsample,
        _module("LocalResponseNorm", "local_response_norm", "size, alpha=0.0001, beta=0.75, k=1.0",
                shown="size alpha= beta= k="),
        _module("PoissonNLLLoss", "poisson_nll_loss", "log_input=True, full=False, size_average=None, eps=1e-08, "
                "reduce=None, reduction='mean'", _MadeLoss),
        _module("GaussianNLLLoss", "gaussian_nll_loss", "full=False, eps=1e-06, reduction='mean'", _MadeLoss),
        _module("MultiMarginLoss", "multi_margin_loss", f"p=1, margin=1.0, weight=None, {_SPELLED}", _MadeLoss),
        _module("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", f"weight=None, {_SPELLED}", _MadeLoss),
        _module("TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss",
                "distance_function=None, margin=1.0, swap=False, reduction='mean'", _MadeLoss),
        *(
            _module(f"{kind}Pad{axes}d", "pad", "padding" + ", value" * (kind == "Constant"), _Padded, axes=axes,
                    shown="padding= value=" if kind == "Constant" else "padding", mode=mode, reals=("value",))
            for kind, mode in (("Constant", "constant"), ("Zero", "constant"), ("Reflection", "reflect"),
                               ("Replication", "replicate"), ("Circular", "circular"))
            for axes in (1, 2)
        ),
        *(
            type(f"InstanceNorm{n}d", (_InstanceNorm,), {"__module__": "agrad.torch.nn", "images": n + 1})
            for n in (1, 2)
        ),
    )
}  # fmt: skip


def lazily(nn: Any) -> dict[str, Any]:
    """The lazy forms of the layers of a module."""
    made = {}
    for name in "Linear Conv1d Conv2d ConvTranspose2d BatchNorm1d BatchNorm2d".split():
        made[f"Lazy{name}"] = one = type(
            f"Lazy{name}", (_Lazy,), {"__module__": "agrad.torch.nn", "__doc__": _Lazy.__doc__}
        )
        _TARGETS[one] = getattr(nn, name)
    return made  # fmt: skip
