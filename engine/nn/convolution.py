"""Convolutions and pooling, as in `torch.nn.functional`: functions of the windows of an array.

See `engine/ops/arrays/windows.py`. All are of sequences or images with channels, of one alone or of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agrad.engine.core.arguments import is_sequence, wholes_of
from agrad.engine.core.op import FUNCTIONS, Function, bound
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.indexing import index_put, take_along
from agrad.engine.ops.arrays.joining import concat, stack
from agrad.engine.ops.arrays.windows import counts_of, overlaid, windows
from agrad.engine.ops.nn.layers import linear
from agrad.engine.values import Shape, describe, format_shape, np, size_of, whole

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "avg_pool1d",
    "avg_pool2d", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "max_pool1d", "max_pool2d", "pad",
]  # fmt: skip


def array_of(x: Any) -> Tensor:
    """A value as a Tensor, with the graph that it has."""
    return x if isinstance(x, Tensor) else tensor(x)


def each_of(name: str, what: str, given: Any, axes: int) -> Shape:
    """A whole number for each axis, from as many, or from one for all."""
    found = wholes_of(name, what, given)
    found = found * axes if len(found) == 1 else found
    if len(found) != axes:
        raise AgradError("shape", f"{name}: {what} has {len(found)} numbers, and there are {axes} axes")
    return found


# Convolution

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}  # PyTorch's name, and NumPy's


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """x with more entries at the ends of its axes: so many before and after the last one, then of the one before it."""
    x, given = array_of(input), wholes_of("pad", "a width", pad)
    if len(given) % 2 or len(given) > 2 * x.ndim:
        raise AgradError("shape", f"pad: {len(given)} widths do not fit x of shape {format_shape(x.shape)}")
    if mode != "constant" and mode not in _MODES:
        raise AgradError("type", f"pad: there is no mode {describe(mode)}", fixes=[Hint(f'"{m}"') for m in _MODES])
    widths = [(0, 0)] * (x.ndim - len(given) // 2) + [*zip(given[::2], given[1::2], strict=True)][::-1]
    if mode != "constant":
        for axis, (width, length) in enumerate(zip(widths, x.shape, strict=True)):
            if any(width):
                places: Any = np.pad(np.arange(length), width, _MODES[mode])  # type: ignore[call-overload]
                x = x[(*(slice(None),) * axis, places)]
        return x
    x = x[tuple(slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(x.shape, widths, strict=True))]
    within = [(max(low, 0), max(high, 0)) for low, high in widths]
    if not any(map(any, within)):
        return x
    blank = np.full([n + low + high for n, (low, high) in zip(x.shape, within, strict=True)], float(value or 0.0))
    return index_put(blank, x, tuple(slice(low, n + low) for n, (low, _) in zip(x.shape, within, strict=True)))


def _around(x: Tensor, widths: Sequence[tuple[int, int]], value: float = 0.0, mode: str = "constant") -> Any:
    """x with so many more entries before and after each of the last axes."""
    return pad(x, [width for pair in reversed(widths) for width in pair], mode, value)


def _single(name: str, x: Tensor, axes: int, channels: int | None = None) -> tuple[Tensor, bool]:
    """x as a batch, and whether it was a single one."""
    single = x.ndim == axes + 1
    if x.ndim not in (axes + 1, axes + 2) or (channels is not None and x.shape[-axes - 1] != channels):
        wanted = f"{axes + 1} or {axes + 2} axes" + (f" and {channels} channels" if channels is not None else "")
        raise AgradError("shape", f"{name}: x of shape {format_shape(x.shape)} does not have {wanted}")
    return (x.unsqueeze(0) if single else x), single


def _grouped(run: Callable[..., Any], x: Tensor, weight: Tensor, bias: Any, groups: int) -> Any:
    """A convolution of each group of channels with weights of its own."""
    if groups == 1:
        return run(x, weight, bias)
    split = FUNCTIONS["split"].call
    biases = [None] * groups if bias is None else split(bias, groups)
    parts = zip(split(x, groups, 1), split(weight, groups), biases, strict=True)
    return concat([run(*part) for part in parts], 1)


def _convolved(name: str, axes: int, x: Any, weight: Any, *, bias: Any, **settings: Any) -> Any:
    """The products of the windows of x and the weights, as one product of matrices."""
    weight, groups, padding = array_of(weight), whole(settings["groups"], f"{name}: groups"), settings["padding"]
    sizes = weight.shape[2:]
    x, single = _single(name, array_of(x), axes, weight.shape[1] * groups)
    steps, gaps = (each_of(name, what, settings[what], axes) for what in ("stride", "dilation"))
    if padding == "same":
        if any(step != 1 for step in steps):
            raise AgradError("domain", f"{name}: padding='same' is not supported for strided convolutions")
        spans = [gap * (size - 1) for gap, size in zip(gaps, sizes, strict=True)]
        x = _around(x, [(span // 2, span - span // 2) for span in spans])
    elif padding != "valid":
        x = _around(x, [(width, width) for width in each_of(name, "padding", padding, axes)])
    order = (0, *range(2, 2 + axes), 1, *range(2 + axes, 2 + 2 * axes))  # of each window, all channels

    def run(x: Tensor, weight: Tensor, bias: Any) -> Any:
        seen = windows(x, sizes, steps, gaps).permute(order)
        rows = seen.reshape(*seen.shape[: 1 + axes], size_of(weight.shape[1:]))
        found = linear(rows, weight.reshape(weight.shape[0], -1), bias)
        return found.permute((0, 1 + axes, *range(1, 1 + axes)))

    found = _grouped(run, x, weight, bias, groups)
    return found[0] if single else found


def _transposed(name: str, axes: int, x: Any, weight: Any, *, bias: Any, groups: Any, **settings: Any) -> Any:
    """The transpose of a convolution: the windows that x and the weights make, laid over each other."""
    weight, groups = array_of(weight), whole(groups, f"{name}: groups")
    channels, sizes = weight.shape[1], weight.shape[2:]
    x, single = _single(name, array_of(x), axes, weight.shape[0])
    along = ("stride", "padding", "output_padding", "dilation")
    steps, widths, more, gaps = (each_of(name, what, settings[what], axes) for what in along)
    ends = [(n - 1) * step + gap * (k - 1) + 1 for n, step, gap, k in zip(x.shape[2:], steps, gaps, sizes, strict=True)]
    if any(extra >= max(step, gap) for extra, step, gap in zip(more, steps, gaps, strict=True)):
        raise AgradError("domain", f"{name}: output_padding must be smaller than stride or dilation")
    kept = [slice(width, n + extra - width) for n, extra, width in zip(ends, more, widths, strict=True)]
    order = (0, 1 + axes, *range(1, 1 + axes), *range(2 + axes, 2 + 2 * axes))

    def run(x: Tensor, weight: Tensor, bias: Any) -> Any:
        pieces = x.permute((0, *range(2, 2 + axes), 1)) @ weight.reshape(weight.shape[0], -1)
        pieces = pieces.reshape(*pieces.shape[: 1 + axes], channels, *sizes).permute(order)
        found = overlaid(pieces, (x.shape[0], channels, *ends), sizes, steps, gaps)
        found = _around(found, [(0, extra) for extra in more])[(..., *kept)]
        return found if bias is None else found + array_of(bias).reshape(channels, *(1,) * axes)

    found = _grouped(run, x, weight, bias, groups)
    return found[0] if single else found


# Pooling: one number of each window


def _largest(x: Tensor) -> Any:
    """The largest entry along the last axis, of several the first, as PyTorch chooses it."""
    return take_along(x, x.argmax(-1, keepdims=True), -1)[..., 0]


def _mean(x: Tensor) -> Any:
    return x.mean(-1)


def _past_the_end(lengths: Shape, counts: Shape, widths: Shape, sizes: Shape, steps: Shape, gaps: Shape) -> list[int]:
    """With ceil_mode, how many entries more a last window needs that begins in x, where x goes beyond the others."""
    found = []
    for n, count, width, size, step, gap in zip(lengths, counts, widths, sizes, steps, gaps, strict=True):
        extra = count * step + gap * (size - 1) + 1 - n  # a whole step, where the windows end with x
        found.append(extra if extra < step and count * step < n - width else 0)
    return found


def _pooled(name: str, axes: int, take: Callable[[Tensor], Any], x: Any, *, kernel_size: Any, **settings: Any) -> Any:
    """A number of each window. In a mean, entries around x may count, those for ceil_mode never."""
    stride, fill = settings["stride"], 0.0 if take is _mean else -math.inf
    x, single = _single(name, array_of(x), axes)
    sizes, counted = each_of(name, "kernel_size", kernel_size, axes), settings.get("count_include_pad", True)
    steps = sizes if stride is None else each_of(name, "stride", stride, axes)
    widths, gaps = (each_of(name, what, settings.get(what, 1), axes) for what in ("padding", "dilation"))
    if any(2 * width > size for width, size in zip(widths, sizes, strict=True)):
        raise AgradError("domain", f"{name}: padding is at most half of the kernel size")
    lengths = tuple(n + 2 * width for n, width in zip(x.shape[2:], widths, strict=True))
    counts = counts_of(lengths, sizes, steps, gaps)
    more = _past_the_end(lengths, counts, widths, sizes, steps, gaps) if settings["ceil_mode"] else [0] * axes
    ends = [(width, width + extra) for width, extra in zip(widths, more, strict=True)]

    def seen(x: Any) -> Any:
        found = windows(x, sizes, steps, gaps)
        return found.reshape(*found.shape[:-axes], size_of(sizes))

    found = take(seen(_around(x, ends, fill)))
    if take is _mean and (any(more) or (any(widths) and not counted)):
        ones = tensor(np.ones(lengths if counted else x.shape[2:]))
        found = found / seen(_around(ones, [(0, extra) for extra in more] if counted else ends)).mean(-1)
    return found[0] if single else found


def _adapted(name: str, axes: int, take: Callable[[Tensor], Any], x: Any, output_size: Any) -> Any:
    """A number of each of so many parts of x, which overlap where its length is no multiple of their number."""
    x = array_of(x)
    _single(name, x, axes)
    wanted = tuple(output_size) if is_sequence(output_size) else (output_size,) * axes
    for axis in range(-1, -axes - 1, -1):
        length = x.shape[axis]
        count = length if wanted[axis] is None else whole(wanted[axis], f"{name}: output_size")
        last = x.swapaxes(axis, -1)
        ends = [(place * length // count, -(-(place + 1) * length // count)) for place in range(count)]
        x = stack([take(last[..., start:end]) for start, end in ends], axis)
    return x


# The functions, of sequences and of images


def _function(name: str, form: str, run: Callable[..., Any], *given: Any) -> Function:
    return bound(name, form, partial(run, name, 1 if name[-2] == "1" else 2, *given))


_CONV = "input, weight; bias=None, stride=1, padding=0, dilation=1, groups=1"
_BACK = "input, weight; bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1"
_MAX = "input; kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False"
_MEAN = "input; kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"
conv1d = _function("conv1d", _CONV, _convolved)
conv2d = _function("conv2d", _CONV, _convolved)
conv_transpose1d = _function("conv_transpose1d", _BACK, _transposed)
conv_transpose2d = _function("conv_transpose2d", _BACK, _transposed)
max_pool1d = _function("max_pool1d", _MAX, _pooled, _largest)
max_pool2d = _function("max_pool2d", _MAX, _pooled, _largest)
avg_pool1d = _function("avg_pool1d", _MEAN, _pooled, _mean)
avg_pool2d = _function("avg_pool2d", _MEAN, _pooled, _mean)
adaptive_avg_pool1d = _function("adaptive_avg_pool1d", "input; output_size", _adapted, _mean)
adaptive_avg_pool2d = _function("adaptive_avg_pool2d", "input; output_size", _adapted, _mean)
adaptive_max_pool1d = _function("adaptive_max_pool1d", "input; output_size", _adapted, _largest)
adaptive_max_pool2d = _function("adaptive_max_pool2d", "input; output_size", _adapted, _largest)
