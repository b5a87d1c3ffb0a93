"""Tools of torch.nn.utils and torch.optim: sequences of different lengths, computed parameters, means of weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from agrad.engine.core.context import scope
from agrad.engine.nn.containers import ModuleDict, ModuleList
from agrad.engine.nn.module import Module
from agrad.engine.nn.optim.lr_scheduler import LRScheduler
from agrad.engine.nn.parameter import parameter
from agrad.torch.registry import T, tensor_of
from agrad.torch.tensor import typed
from agrad.torch.types import float64

# Sequences of different lengths


class PackedSequence(NamedTuple):
    """Sequences, the longest first, as the entries of all at each time, one time after the other."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0) -> Any:
    """Sequences in one tensor, as long as the longest."""
    given, longest = list(sequences), max(len(x) for x in sequences)
    rows = []
    for x in given:
        rest = T.full((longest - len(x), *x.shape[1:]), padding_value).to(x.kind)
        rows.append(T.cat([x, rest]) if len(rest) else x)
    return T.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences themselves."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Sequences one time after the other."""
    lengths = [len(x) for x in sequences]
    order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
    if enforce_sorted and order != sorted(order):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True.")
    alive = [[at for at in order if lengths[at] > time] for time in range(max(lengths))]
    data = T.stack([sequences[at][time] for time, ones in enumerate(alive) for at in ones])
    sizes = tensor_of([len(ones) for ones in alive])
    back = sorted(range(len(order)), key=lambda at: order[at])
    return PackedSequence(data, sizes, *((None, None) if enforce_sorted else (tensor_of(order), tensor_of(back))))


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The sequences of a tensor, one time after the other."""
    return pack_sequence(unpad_sequence(input, lengths, batch_first), enforce_sorted)


def _unpacked(packed: PackedSequence) -> list[Any]:
    """The sequences, the longest first."""
    sizes, start = packed.batch_sizes.tolist(), 0
    found: list[list[Any]] = [[] for _ in range(sizes[0])]
    for size in sizes:
        for at in range(size):
            found[at].append(packed.data[start + at])
        start += size
    return [T.stack(row) for row in found]


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: Any = None
) -> tuple[Any, Any]:
    """The sequences in one tensor, and their lengths, in their order."""
    rows = _unpacked(sequence)
    if total_length is not None and total_length < len(rows[0]):
        raise ValueError(f"total_length is at least the length of the longest sequence, {len(rows[0])}")
    if sequence.unsorted_indices is not None:
        rows = [rows[at] for at in sequence.unsorted_indices.tolist()]
    if total_length is not None:  # as one more sequence has it
        row = rows[0]
        longest = T.full((total_length, *row.shape[1:]), padding_value)
        padded = pad_sequence([*rows, longest], batch_first, padding_value)
        return (padded[:-1] if batch_first else padded[:, :-1]), tensor_of([len(row) for row in rows])
    return pad_sequence(rows, batch_first, padding_value), tensor_of([len(row) for row in rows])


def run_packed(run: Callable[..., Any], layer: Any, packed: PackedSequence, hx: Any = None) -> Any:
    """What a recurrent layer gives for each sequence by itself."""
    order = None if packed.sorted_indices is None else packed.sorted_indices.tolist()
    outputs, states = [], []
    for at, row in enumerate(_unpacked(packed)):
        place = at if order is None else order[at]
        given = [x[:, place : place + 1] for x in (hx if isinstance(hx, tuple) else (hx,))] if hx is not None else []
        state = None if not given else tuple(given) if isinstance(hx, tuple) else given[0]
        found, end = run(layer, row.unsqueeze(0 if layer.batch_first else 1), state)
        outputs.append(found.squeeze(0 if layer.batch_first else 1))
        states.append(end if isinstance(end, tuple) else (end,))
    back = range(len(outputs)) if packed.unsorted_indices is None else packed.unsorted_indices.tolist()
    ends = tuple(T.cat([states[at][part] for at in back], 1) for part in range(len(states[0])))
    made = PackedSequence(pack_sequence(outputs).data, *packed[1:])
    return made, ends if len(ends) > 1 else ends[0]


# Parameters that are computed from others


class ParametrizationList(ModuleList):
    """What computes a parameter: functions, one after the other, of what was there."""

    def forward(self) -> Any:
        """The parameter."""
        names = [name for name in self._parameters if name.startswith("original")]
        value: Any = None
        for place, function in enumerate(self):
            value = function(*(getattr(self, name) for name in names)) if place == 0 else function(value)
        return value

    def right_inverse(self, value: Any) -> None:
        """Let the parameter have a value, by what its functions say that it is computed from."""
        with scope(recording=False):
            for function in reversed(list(self)):
                if getattr(function, "right_inverse", None) is None:
                    raise RuntimeError(f"parametrization {type(function).__name__} does not implement right_inverse.")
                value = function.right_inverse(value)
            for name, part in zip(self._parameters, value if isinstance(value, tuple) else (value,), strict=True):
                getattr(self, name).data = part


def _check_kept(made: Any, value: Any) -> None:
    """Refuse a parametrization that gives another shape or type, unless it is said to be `unsafe`."""
    for what in ("dtype", "shape"):
        if getattr(made, what, None) != getattr(value, what):
            raise ValueError(f"A parametrization may not change the {what} of the tensor, unless unsafe=True")


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Compute a parameter of a module by a function of what it is now; returns the module."""
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_kept(parametrization(getattr(module, tensor_name)), getattr(module, tensor_name))
        module.parametrizations[tensor_name].append(parametrization)
        return module
    if tensor_name not in module._parameters:
        raise ValueError(f"Module '{module}' does not have a parameter with name '{tensor_name}'")
    found = ParametrizationList([parametrization])
    original, inverse = module._parameters[tensor_name], getattr(parametrization, "right_inverse", None)
    with scope(recording=False):
        parts = inverse(original) if inverse is not None else original
    if isinstance(parts, tuple):
        for at, part in enumerate(parts):
            setattr(found, f"original{at}", _parameter(part))
    else:
        found.original = original if parts is original else _parameter(parts)
    if not unsafe:
        _check_kept(found(), original)
    delattr(module, tensor_name)
    if "parametrizations" not in module._modules:
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = found
    return module


def _parameter(x: Any) -> Any:
    return typed(parameter(x.detach().clone()), float64)


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a parameter of a module is computed."""
    there = module._modules.get("parametrizations", ())
    return bool(len(there)) if tensor_name is None else tensor_name in there


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Let a parameter be one of its own again, with the value that was computed, or what it was computed from."""
    found = module.parametrizations[tensor_name]
    value = found() if leave_parametrized else found.original
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
    setattr(module, tensor_name, _parameter(value))
    return module


class _WeightNorm(Module):
    """Length times direction."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def _lengths(self, v: Any) -> Any:
        return v.norm(dim=[at for at in range(v.ndim) if at != self.dim % v.ndim], keepdim=True)

    def forward(self, g: Any, v: Any) -> Any:
        """The weight."""
        return v * (g / self._lengths(v))

    def right_inverse(self, weight: Any) -> Any:
        """Both."""
        return self._lengths(weight), weight


def weight_norm(module: Any, name: str = "weight", dim: int = 0) -> Any:
    """Let a weight be its length times its direction."""
    return register_parametrization(module, name, _WeightNorm(dim))


# Means of weights


class AveragedModel(Module):
    """A copy of a model with the means of its parameters."""

    def __init__(self, model: Any, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None,
                 use_buffers: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.module = deepcopy(model)
        self.register_buffer("n_averaged", T.tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **keywords: Any) -> Any:
        """The value of the copy."""
        return self.module(*args, **keywords)

    def update_parameters(self, model: Any) -> None:
        """Take in the parameters as they are; buffers have means, too, with `use_buffers`, else they are copied."""
        ours, theirs = list(self.module.parameters()), [p.detach() for p in model.parameters()]
        buffers = list(zip(self.module.buffers(), model.buffers(), strict=True))
        if self.use_buffers:
            ours, theirs = ours + [mine for mine, _ in buffers], theirs + [new for _, new in buffers]
            buffers = []
        with scope(recording=False):
            count, pairs = self.n_averaged, zip(ours, theirs, strict=True)
            mean = self.avg_fn or (lambda mine, new, count: mine + (new - mine) / (count + 1))
            if count and self.multi_avg_fn is not None:
                self.multi_avg_fn(ours, theirs, count)
            else:
                buffers += [(mine, mean(mine, new, count) if count else new) for mine, new in pairs]
            for mine, new in buffers:
                mine.copy_(new)
            self.n_averaged += 1


def get_ema_avg_fn(decay: float = 0.999) -> Any:
    """The rule of a mean that forgets."""
    return lambda mine, new, count: decay * mine + (1 - decay) * new


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    """The same for all parameters at once."""
    return lambda ours, theirs, _: [mine.lerp_(new, 1 - decay) for mine, new in zip(ours, theirs, strict=True)]


def update_bn(loader: Any, model: Any, device: Any = None) -> None:
    """Compute the running means of all layers of batch normalisation anew, as those of all batches."""
    layers = [(one, one.momentum) for one in model.modules() if getattr(one, "running_mean", None) is not None]
    was_training = model.training
    model.train()
    with scope(recording=False):
        for one, _ in layers:
            one.momentum = None
            one.num_batches_tracked.zero_()
        for batch in loader if layers else ():
            model(batch[0] if isinstance(batch, tuple | list) else batch)
    for one, share in layers:
        one.momentum = share
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to swa_lr in anneal_epochs, along half a wave of a cosine or a line."""

    form = "swa_lr, anneal_epochs=10, anneal_strategy='cos', last_epoch=-1"
    reals = ("swa_lr",)

    def _share(self, epoch: int) -> float:
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self.anneal_strategy == "cos" else t

    def _next(self, rate: float, base: float, place: int) -> Any:
        before, share = self._share(self.last_epoch - 1), self._share(self.last_epoch)
        first = (rate - before * self.swa_lr) / (1 - before) if before < 1.0 else 0.0
        return self.swa_lr * share + first * (1 - share)
