"""Functions of PyTorch and Python that agrad's language does not have by itself, made of those that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.arguments import axis_of, is_sequence, number_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.shaping import shape_of_any
from agrad.engine.values import describe, format_number, format_shape, np, whole


def _call(name: str, *args: Any, **options: Any) -> Any:
    return FUNCTIONS[name].call(*args, **options)


def _whole_below(low: float, high: float, shape: tuple[Any, ...]) -> Any:
    """Random whole numbers from low to high - 1."""
    if not high > low:
        message = f"randint: there is no whole number from {format_number(low)} to below {format_number(high)}"
        raise AgradError("domain", message)
    return _call("add", low, _call("floor", _call("mul", high - low, _call("rand", *shape))))


def _randint(low: Any, high: Any, size: Any) -> Any:
    """torch.randint(low, high, size) and torch.randint(high, size)."""
    if size is None:
        low, high, size = 0.0, low, high
    if size is None:
        raise AgradError("arity", "torch.randint needs a shape: torch.randint(0, 10, (3,))")
    first, last = (float(whole(end, "torch.randint: an end")) for end in (low, high))
    return _whole_below(first, last, (size,))


def _choice(xs: Any) -> Any:
    """random.choice: one of the entries."""
    entries = list(xs) if is_sequence(xs) or hasattr(type(xs), "__iter__") else []
    if not entries:
        raise AgradError("type", f"random.choice needs several values, not {describe(xs)}")
    return entries[int(float(_whole_below(0.0, float(len(entries)), ())))]


def _one_hot(x: Any, num_classes: Any) -> Any:
    """1 at the place that each entry of x gives, 0 elsewhere, along a new last axis."""
    values = np.asarray(getattr(x, "value", x), dtype=np.float64)
    count = int(whole(num_classes, "one_hot: num_classes"))
    count = int(values.max()) + 1 if count < 0 and values.size else count
    wrong = values[~((values >= 0) & (values < count) & (values == np.floor(values)))]
    if wrong.size:
        raise AgradError("domain", f"one_hot: {format_number(float(wrong.flat[0]))} is none of {count} classes")
    places = _call("reshape", x, (*values.shape, 1))
    return _call("equal", places, _call("arange", float(count)))


def _gather(x: Any, axis: Any, index: Any) -> Any:
    """The entries of x at places along an axis: the result has the shape of the places."""
    shape, wanted = shape_of_any(x), shape_of_any(index)
    place = axis_of("gather", shape, axis)
    fits = all(a <= b for at, (a, b) in enumerate(zip(wanted, shape, strict=False)) if at != place)
    if len(wanted) != len(shape) or not fits:
        have, given = format_shape(shape), format_shape(wanted)
        raise AgradError("shape", f"gather: places of shape {given} do not fit x of shape {have}")
    grid = [
        np.arange(length).reshape([-1 if at == k else 1 for k in range(len(wanted))])
        for at, length in enumerate(wanted)
    ]
    spread = [_call("tensor", np.broadcast_to(one, wanted).astype(np.float64)) for one in grid]
    return getitem(x, tuple(index if at == place else one for at, one in enumerate(spread)))


def _normalize(x: Any, p: Any, axis: Any, eps: Any) -> Any:
    """x over its norm along an axis, or over eps if that is larger."""
    if number_of("normalize", "p", p) != 2.0:
        raise AgradError("domain", "normalize: only p=2, the Euclidean norm, is known")
    size = _call("sqrt", _call("sum", _call("square", x), axis=axis, keepdims=True))
    return _call("div", x, _call("maximum", size, eps))


def _smooth_l1(input: Any, target: Any, reduction: Any, beta: Any) -> Any:
    """The Huber loss with delta=beta, over beta."""
    width = number_of("smooth_l1_loss", "beta", beta)
    if width == 0.0:
        return _call("l1_loss", input, target, reduction=reduction)
    return _call("div", _call("huber_loss", input, target, reduction=reduction, delta=width), width)


def _diff(x: Any, axis: Any) -> Any:
    """The differences between neighbours along an axis."""
    place = axis_of("torch.diff", shape_of_any(x), axis)
    before = (slice(None),) * place
    return _call("sub", getitem(x, (*before, slice(1, None))), getitem(x, (*before, slice(None, -1))))


# The form of each function, and what computes it.
FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "torch.randint": ("low; high=None, size=None", _randint),
    "torch.randperm": ("n", lambda n: _call("argsort", _call("rand", n))),
    "torch.rand_like": ("input", lambda x: _call("rand", *shape_of_any(x))),
    "torch.randn_like": ("input", lambda x: _call("randn", *shape_of_any(x))),
    "torch.full_like": ("input, fill_value", lambda x, value: _call("full", shape_of_any(x), value)),
    "torch.numel": ("input", lambda x: float(np.prod(shape_of_any(x), dtype=int))),
    "torch.is_tensor": ("obj", lambda x: isinstance(x, Tensor)),
    "torch.gather": ("input; axis, index", _gather),
    "torch.diff": ("input; axis=-1", _diff),
    "torch.nn.functional.one_hot": ("input; num_classes=-1", _one_hot),
    "torch.nn.functional.normalize": ("input; p=2, axis=1, eps=1e-12", _normalize),
    "torch.nn.functional.smooth_l1_loss": ("input, target; reduction='mean', beta=1", _smooth_l1),
    "random.randint": ("a, b", lambda a, b: float(_whole_below(float(a), float(b) + 1.0, ()))),
    "random.choice": ("seq", _choice),
}
