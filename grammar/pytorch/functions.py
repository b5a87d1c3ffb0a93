"""Functions of PyTorch, NumPy and Python that agrad's language does not have by itself, made of those that it has."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from itertools import accumulate
from time import perf_counter
from typing import Any

from agrad.engine.autodiff.autograd import set_grad_enabled
from agrad.engine.autodiff.transforms import grad, hessian, jacobian
from agrad.engine.core.arguments import axes_of, axis_of, is_sequence, number_of, small, truth_of, wholes_of
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import shape_of_any
from agrad.engine.core.op import FUNCTIONS, OPS, Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.joining import at
from agrad.engine.ops.data_files import load_text
from agrad.engine.ops.linalg.norms import of_vector
from agrad.engine.values import broadcast, describe, format_number, format_shape, np, whole
from agrad.grammar import values
from agrad.grammar.values.lists import List, parts_of


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
    spread = [_call("tensor", one.astype(np.float64)) for one in np.indices(wanted)]
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


def _torch_grad(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: Any, create_graph: Any, allow_unused: Any
) -> tuple[Any, ...]:
    """torch.autograd.grad: always a tuple."""
    several = isinstance(inputs, tuple | list)
    found = grad(outputs, inputs, bool(create_graph), grad_outputs)
    return found if several else (found,)


def _unbiased(name: str) -> Callable[..., Any]:
    def call(x: Any, axis: Any, unbiased: Any, keepdims: Any, ddof: Any) -> Any:
        if isinstance(axis, bool):  # torch.std(x, False)
            axis, unbiased = None, axis
        if ddof is None:
            ddof = 1.0 if truth_of(name, "unbiased", unbiased) else 0.0
        return _call(name, x, axis=axis, keepdims=keepdims, ddof=ddof)

    return call


def _extreme(name: str) -> Callable[..., Any]:
    """torch.max: of all entries; with an axis the values and their places; of two values the larger."""

    def call(x: Any, axis: Any, keepdims: Any, other: Any) -> Any:
        other = axis if getattr(axis, "shape", ()) else other
        if other is not None:
            return _call(f"{name}imum", x, other)
        if axis is None:
            return _call(name, x)
        places = {"axis": axis, "keepdims": keepdims}
        return _call(name, x, **places), _call(f"arg{name}", x, **places)

    return call


def _norm(x: Any, ord: Any, axis: Any, keepdims: Any, dtype: Any) -> Any:
    """torch.norm: of order p it is that of all entries, also of a matrix."""
    order = getattr(ord, "value", ord)
    if order is None or isinstance(order, str):
        return _call("norm", x, ord=None if order == "fro" else order, axis=axis, keepdims=keepdims)
    axes = axes_of("torch.norm", shape_of_any(x), axis)
    return of_vector(x, number_of("torch.norm", "p", ord), axes, keepdims)


def _sort(x: Any, axis: Any, descending: Any, stable: Any) -> tuple[Any, Any]:
    """torch.sort: the values and their places."""
    places = {"axis": axis, "descending": descending}
    return _call("sort", x, **places), _call("argsort", x, **places)


def _median(x: Any, axis: Any, keepdims: Any) -> Any:
    """torch.median: of two entries in the middle the lower, nan where one is nan; with an axis the places too."""
    if axis is None:
        return _median(_call("flatten", x), 0, False)[0]
    shape = shape_of_any(x)
    place = axis_of("torch.median", shape, axis)
    if not shape[place]:
        raise AgradError("shape", f"torch.median of shape {format_shape(shape)}: there is no entry")
    where, hidden = (shape[place] - 1) // 2, _call("any", _call("isnan", x), axis=place)
    values, places = (getitem(each, at(place, where)) for each in _sort(x, place, False, True))
    found = _call("where", hidden, math.nan, values), places
    return tuple(_call("unsqueeze", each, place) for each in found) if keepdims else found


def _split(x: Any, split_size_or_sections: Any, axis: Any) -> Any:
    """torch.split: into pieces of so many entries, of which the last may have fewer, or of the lengths in a list."""
    shape = shape_of_any(x)
    length = shape[axis_of("torch.split", shape, axis)]
    if is_sequence(split_size_or_sections):
        lengths = wholes_of("torch.split", "a length", split_size_or_sections)
        if min(lengths, default=-1) < 0 or sum(lengths) != length:
            raise AgradError("shape", f"torch.split: {length} entries cannot be cut into {format_shape(lengths)}")
        return _call("split", x, list(accumulate(lengths))[:-1], axis)
    size = small("torch.split", "the length of a piece", split_size_or_sections)
    if size < 1:
        raise AgradError("shape", f"torch.split: a piece has at least one entry, not {size}")
    return _call("split", x, list(range(size, length, size)), axis)


def _chunk(x: Any, chunks: Any, axis: Any) -> Any:
    """torch.chunk: at most so many pieces of the same length, of which the last may have fewer entries."""
    count, shape = small("torch.chunk", "the number of pieces", chunks), shape_of_any(x)
    if count < 1:
        raise AgradError("shape", f"torch.chunk: there is at least one piece, not {count}")
    return _split(x, float(-(-shape[axis_of("torch.chunk", shape, axis)] // count) or 1), axis)


def _svd(x: Any, **_: Any) -> tuple[Any, Any, Any]:
    """torch.svd: the last is V itself, not its transpose."""
    u, s, vh = _call("svd", x)
    return u, s, OPS["swap"].call(vh)


def _nearest_remainder(x: Any, y: Any) -> Any:
    """math.remainder: what the quotient leaves that is rounded to the nearest whole number, halves to the even one."""
    rest = _call("fmod", x, _call("mul", 2.0, y))
    nearest = _call("sub", rest, _call("mul", y, _call("round", _call("div", rest, y))))
    return _call("where", _call("isfinite", y), nearest, x)


def _of_numpy(name: str) -> Callable[..., Any]:
    """A function with NumPy's results where agrad's own has fewer, as it is for arrays with a graph in Python."""

    def call(*args: Any, **options: Any) -> Any:
        made = import_module("agrad.engine.interop.numpy_functions").MADE  # which names all of NumPy's
        return made[name](*args, **options)

    return call


def _cross(x: Any, y: Any, axis: Any) -> Any:
    """torch.cross: without an axis along the first that has three entries."""
    if axis is None:
        shape = broadcast(shape_of_any(x), shape_of_any(y))
        axis = next((float(place) for place, length in enumerate(shape) if length == 3), -1.0)
    return _call("cross", x, y, axis)


def _bound(name: str, form: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function called with its operands, and every attribute by name."""
    signature = Signature(name, form)

    def call(*args: Any, **keywords: Any) -> Any:
        operands, attributes = signature.bind(args, keywords)
        return function(*operands, **attributes)

    call.__name__ = name
    call.form = signature  # type: ignore[attr-defined]  # as a method has it
    return call


def _allclose(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: Any) -> bool:
    """Whether all entries are near to each other, as PyTorch and NumPy define it."""
    near = _call("abs", _call("sub", x, y))
    bound = _call("add", atol, _call("mul", rtol, _call("abs", y)))
    found = _call("less_equal", near, bound)
    same = _call("equal", x, y)  # of infinite entries the difference is nan
    return bool(_call("all", _call("maximum", found, same)))


def _drawn(name: str, loc: Any, scale: Any, size: Any) -> Any:
    """Random numbers of a kind, scaled and shifted."""
    return _call("add", loc, _call("mul", scale, _call(name, *(() if size is None else (size,)))))


def _normal(loc: Any, scale: Any, size: Any = None) -> Any:
    return _drawn("randn", loc, scale, size)


def _uniform(low: Any, high: Any, size: Any = None) -> Any:
    return _drawn("rand", low, _call("sub", high, low), size)


def _new_tensor(data: Any) -> Any:
    """torch.Tensor of entries; of a length it would have entries that are not set."""
    if isinstance(data, float | int):
        raise AgradError("type", "torch.Tensor(3) has entries that are not set", fixes=["torch.zeros(3)"])
    return _call("tensor", data)


def _as_it_is(f: Any, **options: Any) -> Any:
    """torch.jit.script and the like: the very function or module."""
    if not callable(f):
        raise AgradError("type", f"a function or a module can be compiled, not {describe(f)}")
    listener = current().listener
    if listener is not None:
        listener(Note("it is given back as it is: `forward y` runs a graph again, and long loops run compiled"))
    return f


class FloatInfo:
    """np.finfo and torch.finfo: the limits of a type of floats."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "tiny")
    is_object = True

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        kinds: dict[str, Any] = {"float16": np.float16, "half": np.float16, "float32": np.float32}
        found = np.finfo(kinds.get(str(dtype).rpartition(".")[2], np.float64))
        self.bits, self.eps = float(found.bits), float(found.eps)
        self.min, self.max, self.tiny = float(found.min), float(found.max), float(found.tiny)

    def _shown(self, text: Callable[[Any], str]) -> str:
        return f"finfo(eps={text(self.eps)}, min={text(self.min)}, max={text(self.max)}, tiny={text(self.tiny)})"


# `copy.deepcopy` and `copy.copy`, as of PyTorch's tensors and modules and of Python's lists and objects.


_DATA = (bool, dict, float, int, list, List, str, tuple, type, type(None))


def deep(x: Any) -> Any:
    """A copy of a value with copies of all its parts; what is in it twice is in the copy twice, too.

    Of leaves, which require grad if the leaf does. Raises AgradError of kind `type` for a value with a graph, as
    PyTorch does, and for what is no data.
    """
    known: dict[int, Any] = {}  # the copies that Python does not make, by the identity of what they are of
    for part in reversed([*parts_of([x])]):  # from the first on
        if isinstance(part, Tensor):
            known[id(part)] = _leaf(part)
        elif isinstance(part, _DATA) or (hasattr(part, "__dict__") and getattr(type(part), "is_object", False)):
            continue
        elif callable(part):
            known[id(part)] = part
        else:
            raise AgradError("type", f"copy.deepcopy does not copy {describe(part)}")
    made = deepcopy(x, known)
    for part in parts_of([made]):
        if type(part) is List:
            part.joins, part.name = True, None
    return made


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


def _leaf(x: Tensor) -> Tensor:
    if not x.is_leaf:
        message = f"copy.deepcopy: {x.node.spell()} was computed, and only leaves are copied"
        raise AgradError("type", message, fixes=[Hint("x.detach().clone()   copies the data alone")])
    made: Tensor = FUNCTIONS["tensor"].call(x.clone() if x.requires_grad else x, requires_grad=x.requires_grad)
    made.node.is_parameter = x.node.is_parameter
    if x.grad is not None:
        made.grad = x.grad.detach().clone()
    return made


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

_NEAR = "x, y; rtol=1e-05, atol=1e-08, equal_nan=False"
_BY_PLACE = "func, inputs; create_graph=False, strict=False, vectorize=False, strategy=None"
_MOMENT = "input; axis=None, unbiased=True, keepdims=False, ddof=None"
OWN_FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    **dict.fromkeys(("np.loadtxt", "numpy.loadtxt"), ("fname; delimiter=None, skiprows=0", load_text)),
    "torch.autograd.grad": (
        "outputs, inputs; grad_outputs=None, retain_graph=None, create_graph=True, allow_unused=None",
        _torch_grad,
    ),
    "torch.autograd.functional.jacobian": (_BY_PLACE, lambda f, inputs, **_: jacobian(f, create_graph=True)(inputs)),
    "torch.autograd.functional.hessian": (_BY_PLACE, lambda f, inputs, **_: hessian(f, create_graph=True)(inputs)),
    "torch.max": ("input; axis=None, keepdims=False, other=None", _extreme("max")),
    "torch.min": ("input; axis=None, keepdims=False, other=None", _extreme("min")),
    "torch.norm": ("input; ord='fro', axis=None, keepdims=False, dtype=None", _norm),
    "torch.sort": ("input; axis=-1, descending=False, stable=False", _sort),
    "torch.median": ("input; axis=None, keepdims=False", _median),
    "torch.split": ("tensor; split_size_or_sections, axis=0", _split),
    "torch.chunk": ("input, chunks; axis=0", _chunk),
    "torch.masked_fill": ("input, mask, value", lambda x, mask, value: _call("where", mask, value, x)),
    "torch.equal": (
        "input, other",
        lambda x, y: shape_of_any(x) == shape_of_any(y) and bool(_call("all", _call("equal", x, y))),
    ),
    "torch.svd": ("input; some=True, compute_uv=True", _svd),
    "math.remainder": ("x, y", _nearest_remainder),
    "np.linalg.svd": ("a; full_matrices=True, compute_uv=True", _of_numpy("linalg.svd")),
    "np.linalg.lstsq": ("a, b; rcond=None", _of_numpy("linalg.lstsq")),
    "torch.cross": ("input, other; axis=None", _cross),
    "torch.linalg.lstsq": (
        "a, b; rcond=None, driver=None",
        lambda *args, driver, **rcond: _of_numpy("linalg.lstsq")(*args, **rcond),
    ),
    **dict.fromkeys(("torch.allclose", "np.allclose"), (_NEAR, _allclose)),
    "torch.is_grad_enabled": ("", lambda: current().recording),
    "torch.device": ("name; index=None", lambda name, index: str(name)),
    **dict.fromkeys(("torch.cuda.is_available", "torch.backends.mps.is_available"), ("", lambda: False)),
    "torch.cuda.device_count": ("", lambda: 0.0),
    "torch.Tensor": ("data", _new_tensor),
    "torch.jit.script": ("obj", _as_it_is),
    "torch.jit.trace": ("func; example_inputs=None, check_trace=True, strict=True", _as_it_is),
    "torch.compile": ("model; mode=None, backend=None, fullgraph=False, dynamic=None, options=None", _as_it_is),
    "np.random.seed": ("seed", lambda seed: _call("manual_seed", seed)),
    "np.random.uniform": ("; low=0.0, high=1.0, size=None", _uniform),
    "np.random.random": ("; size=None", lambda size: _uniform(0.0, 1.0, size)),
    "np.random.normal": ("; loc=0.0, scale=1.0, size=None", _normal),
    **dict.fromkeys(("np.finfo", "torch.finfo"), ("dtype", FloatInfo)),
    **dict.fromkeys(("time.time", "time.perf_counter"), ("", lambda: perf_counter())),
    "random.random": ("", lambda: _call("rand")),
    "random.seed": ("seed", lambda seed: _call("manual_seed", seed)),
    "random.uniform": ("low, high", _uniform),
    "random.gauss": ("mu, sigma", _normal),
    "copy.copy": ("x", shallow),
    "copy.deepcopy": ("x", deep),
    **dict.fromkeys(("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"), ("mode", set_grad_enabled)),
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
    "torch.save": ("obj, f", lambda obj, f: values.checkpoints.save(obj, f)),
    "torch.load": (
        "f; map_location=None, weights_only=True, mmap=None",
        lambda f, **given: values.checkpoints.load(f, **given),
    ),
    "torch.std": (_MOMENT, _unbiased("std")),
    "torch.var": (_MOMENT, _unbiased("var")),
}
# Functions with another meaning, or other arguments, under PyTorch's full name.
OWN: dict[str, Callable[..., Any]] = {
    name: _bound(name, form, function) for name, (form, function) in OWN_FORMS.items()
}
