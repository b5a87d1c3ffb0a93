"""Functions of PyTorch and Python that agrad's language does not have by itself, made of those that it has; copies."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from agrad.engine.core.arguments import axis_of, is_sequence, number_of, truth_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.shaping import shape_of_any
from agrad.engine.values import describe, format_number, format_shape, np, whole
from agrad.grammar.values.lists import List


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


def _is_true(x: Any) -> Any:
    return _call("not_equal", x, 0.0)


def _nonzero(x: Any, as_tuple: Any) -> Any:
    """The places of the entries that are not 0: a row of indices for each, or a vector of indices for each axis."""
    value = x._taken() if isinstance(x, Tensor) else x
    places = np.argwhere(np.atleast_1d(np.asarray(value, dtype=np.float64))).astype(np.float64)
    if truth_of("torch.nonzero", "as_tuple", as_tuple):
        return tuple([_call("tensor", column) for column in places.T])
    return _call("tensor", places)


def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """Other numbers where x is nan or infinite, which have no derivative by x."""
    x = _call("where", _call("isnan", x), 0.0 if nan is None else nan, x)
    for end, given in ((math.inf, posinf), (-math.inf, neginf)):
        most = math.copysign(sys.float_info.max, end) if given is None else given
        x = _call("where", _call("equal", x, end), most, x)
    return x


def _logdet(x: Any) -> Any:
    """The logarithm of a determinant: nan where that is negative, -inf where it is 0."""
    sign, size = _call("slogdet", x)
    return _call("where", _call("less", sign, 0.0), math.nan, size)


# What is made of comparisons, so that it is a mask.
_MASKS: dict[str, tuple[str, Callable[..., Any]]] = {
    "isinf": ("input", lambda x: _call("equal", _call("abs", x), math.inf)),
    "logical_not": ("input", lambda x: _call("equal", x, 0.0)),
    "logical_and": ("input, other", lambda x, y: _call("mul", _is_true(x), _is_true(y))),
    "logical_or": ("input, other", lambda x, y: _is_true(_call("add", _is_true(x), _is_true(y)))),
    "logical_xor": ("input, other", lambda x, y: _call("not_equal", _is_true(x), _is_true(y))),
    "count_nonzero": ("input; axis=None", lambda x, axis: _call("sum", _is_true(x), axis=axis)),
    "nan_to_num": ("input; nan=0, posinf=None, neginf=None", _nan_to_num),
}

# The form of each function, and what computes it.
FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    **{f"{module}.{name}": form for module in ("torch", "np") for name, form in _MASKS.items()},
    "torch.masked_select": ("input, mask", lambda x, mask: getitem(x, _is_true(mask))),
    "torch.nonzero": ("input; as_tuple=False", _nonzero),
    "np.argwhere": ("a", lambda x: _nonzero(x, False)),
    "torch.logdet": ("input", _logdet),
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


# `copy.deepcopy` and `copy.copy`, as of PyTorch's tensors and modules and of Python's lists and objects.


def deep(x: Any) -> Any:
    """A copy of a value with copies of all its parts; what is in it twice is in the copy twice, too.

    Of leaves, which require grad if the leaf does. Raises AgradError of kind `type` for a value with a graph, as
    PyTorch does, and for what is no data.
    """
    return _copied(x, {})


def shallow(x: Any) -> Any:
    """Another list or dictionary of the same parts. Raises AgradError of kind `type` for anything that shares data."""
    if x is None or isinstance(x, float | str | bool | tuple):
        return x
    if type(x) is List:
        return List(x.parts, joins=True)
    if isinstance(x, dict):
        return x.copy() if hasattr(type(x), "get") and hasattr(x, "copy") else type(x)(x)
    message = f"copy.copy of {'an array' if isinstance(x, Tensor) else describe(x)} would share its data"
    fixes = [Hint("copy.deepcopy(x)   shares nothing"), Hint("y = x   is the same one")]
    raise AgradError("type", message, fixes=fixes)


def _copied(x: Any, memo: dict[int, Any]) -> Any:
    if id(x) in memo:
        return memo[id(x)]
    if x is None or isinstance(x, float | int | str | type) or hasattr(x, "definition"):
        return x
    made: Any
    if isinstance(x, Tensor):
        memo[id(x)] = made = _leaf(x)
    elif isinstance(x, tuple):
        memo[id(x)] = made = tuple([_copied(part, memo) for part in x])
    elif type(x) is List:
        memo[id(x)] = made = List((), joins=True)
        made.parts.extend([_copied(part, memo) for part in x.parts])
    elif isinstance(x, list):
        memo[id(x)] = made = []
        made.extend([_copied(part, memo) for part in x])
    elif isinstance(x, dict):
        memo[id(x)] = made = type(x)()
        dict.update(made, {_copied(key, memo): _copied(part, memo) for key, part in x.items()})
    elif hasattr(x, "__dict__") and getattr(type(x), "is_object", False):
        memo[id(x)] = made = object.__new__(type(x))
        made.__dict__.update({name: _copied(part, memo) for name, part in x.__dict__.items()})
    elif callable(x):
        made = x
    else:
        raise AgradError("type", f"copy.deepcopy does not copy {describe(x)}")
    return made


def _leaf(x: Tensor) -> Tensor:
    if not x.is_leaf:
        message = f"copy.deepcopy: {x.node.spell()} was computed, and only leaves are copied"
        raise AgradError("type", message, fixes=[Hint("x.detach().clone()   copies the data alone")])
    made: Tensor = FUNCTIONS["tensor"].call(x.clone() if x.requires_grad else x, requires_grad=x.requires_grad)
    made.node.is_parameter = x.node.is_parameter
    if x.grad is not None:
        made.grad = x.grad.detach().clone()
    return made
