"""PyTorch's functions of tensors, by its names and with its arguments: made of the engine's operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

from agrad.engine import units
from agrad.engine.core import tensor as core
from agrad.engine.core.context import current, scope
from agrad.engine.core.devices import need_processor, stay
from agrad.engine.core.dispatch import of_one, of_pair
from agrad.engine.core.op import OPS
from agrad.engine.core.versions import mark_written, share_storage
from agrad.engine.errors import AgradError
from agrad.engine.interop import numpy_arrays as arrays
from agrad.engine.ops.linalg.norms import of_vector
from agrad.engine.ops.tensor_methods import overwrite
from agrad.engine.values import broadcast, np
from agrad.torch import grad_fn
from agrad.torch.registry import (
    NUMBERS,
    TORCH,
    axis_in,
    checked,
    directly,
    each,
    engine,
    in_place,
    named,
    need_tensor,
    plain,
    public,
    second,
    several,
    sizes,
    tensor_of,
    viewing,
    whole,
)
from agrad.torch.tensor import CAREFUL, Tensor, above, check_writable, entitle, give, kinded, part_of, typed, write_over
from agrad.torch.types import TABLES, as_dtype, as_pytorch, bool_, device, dtype_of, float64, int64

for _pair, _way in TABLES["same"].items():
    _name, _, _ours = _pair.partition("=")
    _ours = _ours or _name
    _quick = _ours if _way == "of one" and _ours in OPS else ""
    public(_name, place=_way != "by itself", quick=_quick)(plain(_name, _ours, _way != "of one"))


@public(method=False)
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, else other; of a condition alone, the places where it holds."""
    if input is None:
        return nonzero(condition, as_tuple=True)
    if other is None:
        raise TypeError("where() takes a condition alone, or two values, too")
    need_tensor("where", condition, "condition")
    if condition.kind is not bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got {condition.kind}")
    return engine("where", condition, input, other)


give("where", lambda self, condition, other: where(condition, self, other))


def _check_subtraction(input: Any, other: Any) -> None:
    if bool_ in (dtype_of(input), dtype_of(other)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported.\n  fix: ^, or logical_not()"
        )


@each("add", "sub=subtract", place=True)
def _scaled(name: str, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """{} alpha*other."""
    need_tensor(name, input)
    second((input, other), {})
    if name == "sub":
        _check_subtraction(input, other)
    if alpha != 1:
        other = other * alpha if isinstance(other, NUMBERS) else entitle(engine("mul", other, alpha), "Scaled")
    return engine(name, input, other)


@public("neg", "negative", place=True, quick="neg")
def neg(input: Any) -> Any:
    """-input."""
    need_tensor("neg", input)
    if input.kind is bool_:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported.\n  fix: ~x")
    return engine("neg", input)


def _of_wholes(name: str, x: Any, y: Any) -> None:
    """What PyTorch refuses of whole numbers."""
    kinds = dtype_of(x), dtype_of(y)
    if float64 in kinds:
        return
    if int64 not in kinds:
        raise NotImplementedError(f"{name} is not implemented for truths")
    other = np.asarray(getattr(y, "value", y))
    if not np.size(getattr(x, "value", x)):
        return
    if name == "pow" and not isinstance(y, core.Tensor) and (other < 0).any():
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if name != "pow" and (other == 0).any():
        raise RuntimeError("ZeroDivisionError")


@each("pow", "floor_divide", "remainder", "fmod", place=True)
def _of_any_type(name: str, input: Any, other: Any = None, **given: Any) -> Any:
    """{}, entry by entry."""
    (input, other), more = second((input, *(() if other is None else (other,))), given)
    if more:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(more))}'")
    _of_wholes(name, input, other)
    if name == "pow" and float64 not in (dtype_of(input), dtype_of(other)):
        base, exponent = (np.asarray(getattr(x, "value", x), dtype=float) for x in (input, other))
        if np.any(exponent < 0):  # of whole numbers 2**-1 is 0
            among = (exponent >= 0) | (np.abs(base) == 1.0)
            return tensor_of(np.where(among, base ** np.abs(exponent), 0.0)).long()
    return engine(name, input, other)


@public("div", "divide", "true_divide", place=True)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """input/other, cut to whole numbers in one of two ways."""
    second((input, other), {})
    if rounding_mode in ("floor", "trunc"):
        _of_wholes("div", input, other)
        found = entitle(engine(rounding_mode, engine("div", input, other)), "DivBackward2")
        return found.to(max(dtype_of(input), dtype_of(other), key=lambda one: one.rank))
    return engine("div", input, other)


@public("clamp", "clip", place=True)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """input limited to between min and max."""
    need_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    bounds = [x for x in (min, max) if x is not None]
    if len({isinstance(x, core.Tensor) for x in bounds}) > 1:
        raise TypeError("clamp() takes two numbers, or two tensors, not one of each")
    is_whole = float64 not in (input.kind, *map(dtype_of, bounds))
    low = -math.inf if min is None else min
    high = math.inf if max is None else max
    found = engine("clip", input.double() if is_whole else input, lo=low, hi=high)
    found = found.long() if is_whole else found
    one_sided = None if min is not None and max is not None else ("ClampMin" if max is None else "ClampMax")
    both = isinstance(min, Tensor) or isinstance(max, Tensor)
    return entitle(found, "ClampBackward0" if both else "ClampBackward1") if one_sided is None or not both else found


@each("addmm", "addmv", "baddbmm", place=True, title="{}Backward0")
def _added(name: str, input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta*input + alpha*(mat1 @ mat2)."""
    product = _fitting(name.removeprefix("badd").removeprefix("add"), mat1, mat2)
    made = (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)
    if made.shape != product.shape:
        raise RuntimeError(f"{name}: input of shape {[*input.shape]} does not fit a product of {[*product.shape]}")
    return made


@public()
def inner(input: Any, other: Any) -> Any:
    """The sums of the products along the last axes of two tensors."""
    return TORCH["tensordot"](input, other, ([-1], [-1])) if input.ndim and other.ndim else input * other


@public("dot", "vdot")
def dot(input: Any, tensor: Any) -> Any:
    """The sum of the products of two vectors."""
    need_tensor("dot", tensor, "tensor")
    if input.ndim != 1 or tensor.ndim != 1 or len(input) != len(tensor):
        raise RuntimeError(f"1D tensors of one length expected, but got {[*input.shape]} and {[*tensor.shape]}")
    return engine("matmul", input, tensor)


@each("mm", "mv", "bmm", title="{}Backward0")
def _fitting(name: str, input: Any, mat2: Any) -> Any:
    """The product of two matrices, or of a matrix and a vector."""
    need_tensor(name, mat2, "mat2")
    axes = {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3)}[name]
    if name == "mv" and not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if (input.ndim, mat2.ndim) != axes:
        raise RuntimeError(f"{name}: expected {axes[0]} and {axes[1]} axes, got {input.ndim} and {mat2.ndim}")
    if name == "bmm" and len(input) != len(mat2):
        raise RuntimeError(f"bmm: {len(input)} matrices do not fit {len(mat2)}\n  fix: torch.matmul")
    return engine("matmul", input, mat2)


@public(method=False)
def einsum(equation: str, *operands: Any) -> Any:
    """The sum of products by a formula of indices."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    inputs, _, kept = equation.replace(" ", "").partition("->")
    summed = bool({*inputs} - {*kept, ","})
    if summed and len({x.kind for x in given}) > 1:
        raise RuntimeError(f"einsum(): expected operands of one type, but got {given[0].kind} and {given[-1].kind}")
    given = [x.long() if summed and x.kind is bool_ else x for x in given]
    made = engine("einsum", given, subscripts=equation)
    names = ("PermuteBackward0", "SumBackward1") if len(given) == 1 else ("MulBackward0", "ViewBackward0")
    return entitle(made, names[summed])


@public(method=False)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum over some axes of both."""
    if isinstance(dims, int):
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return arrays.tensordot(a, b, dims)
    for one, other in zip(*dims, strict=True):
        lengths = a.shape[axis_in(a, one)], b.shape[axis_in(b, other)]
        if lengths[0] != lengths[1] and 1 in lengths:  # which is summed, and spread
            a, b = (a, b.sum(other, True)) if lengths[0] == 1 else (a.sum(one, True), b)
    return arrays.tensordot(a, b, dims)


# Reductions


def _lined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function along an axis, which of a single number there is none: that is a vector meanwhile."""

    def call(input: Any, *args: Any, **keywords: Any) -> Any:
        if not isinstance(input, core.Tensor) or input.ndim:
            return function(input, *args, **keywords)
        found = function(engine("reshape", input, (1,)), *args, **keywords)
        if isinstance(found, tuple):
            return type(found)(*map(_alone, found))
        return _alone(found)

    call.__name__, call.__doc__ = getattr(function, "__name__", ""), function.__doc__
    return call


def _alone(x: Any) -> Any:
    """The one entry of a vector, with the name of what made that."""
    made = engine("reshape", x, ())
    return entitle(made, grad_fn.name_of(x.node)) if x.requires_grad else made


_HALVES = {
    name: named(name, "values", "indices") for name in ("max", "min", "sort", "topk", "median", "mode", "cummax")
}


def _reduce(name: str, input: Any, dim: Any, keepdim: bool = False, dtype: Any = None, **more: Any) -> Any:
    """A reduction by the engine: of all entries, or along axes, of another type; a single number has one, too."""
    need_tensor(name, input)
    if isinstance(dim, tuple | list) and name in ("argmax", "argmin", "prod"):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    dim = dim if dim is None or isinstance(dim, int) or len(dim) or name in ("all", "any") else None  # () is all axes
    if dim is None and name in ("argmax", "argmin") and not input.numel():
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    for one in dim if isinstance(dim, tuple | list) else () if dim is None else (dim,):
        axis_in(input, one)
        if name in ("amax", "amin", "argmax", "argmin") and input.ndim and not input.shape[one]:
            raise IndexError(f"{name}(): Expected reduction dim {one} to have non-zero size.")
    if dtype is not None and input.requires_grad and as_dtype(dtype) is not float64:
        raise RuntimeError(f"{name}(): a tensor that requires grad has no {name} of type {dtype}")
    input = input if dtype is None else to(input, dtype)
    if dim is not None and not input.ndim:
        input, keepdim = engine("reshape", input, (1,)), False
    return engine(name, input, axis=dim, keepdims=keepdim, **more)


@each("max", "min")
def _extreme(name: str, input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The {}imum of all entries; along an axis, with its places; of two tensors, entry by entry."""
    need_tensor(name, input)
    dim = dim if other is None else other
    if isinstance(dim, core.Tensor):
        return engine(f"{name}imum", input, dim)
    if dim is None:
        if not input.numel():
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        return entitle(engine(f"a{name}", input), f"{name.capitalize()}Backward1")
    if input.ndim and not input.shape[axis_in(input, dim)]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")

    def along(x: Any, dim: int) -> Any:
        return _HALVES[name](*_chosen(x, engine(f"arg{name}", x, axis=dim), dim, keepdim, name))

    return _lined(along)(input, axis_in(input, dim))


def _chosen(input: Any, places: Any, dim: int, keep: bool, name: str) -> tuple[Any, Any]:
    """The entries at one place along an axis for each of the others, and these places."""
    title = f"{name.capitalize()}Backward{int(name == 'median')}"
    dim = axis_in(input, dim)
    wide = engine("unsqueeze", places, dim)
    values = engine("take_along", input, wide, axis=dim)
    if keep:
        return entitle(values, title), wide
    return entitle(engine("reshape", values, tuple(places.shape)), title), places


@each("sum", "mean", "prod", quick="{}")
def _total(name: str, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The {} of all entries, or along axes."""
    need_tensor(name, input)
    if name == "mean":
        _floats(name, input if dtype is None else to(input.detach(), dtype))
    number = 0 if dim is None and not keepdim else 1
    found = _reduce(name, input, dim, keepdim, dtype)
    return entitle(found if dtype is None else to(found, dtype), f"{name.capitalize()}Backward{number}")


def _floats(name: str, x: Any) -> Any:
    """A tensor of floats; RuntimeError for others."""
    if x.kind is not float64:
        raise RuntimeError(f"{name}(): input dtype should be either floating point or complex dtypes. Got {x.kind}")
    return x


@each("std", "var")
def _moment(name: str, input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **given: Any) -> Any:
    """The {} of the entries, divided by n - 1 unless told otherwise."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = given.get("correction")
    ddof = correction if correction is not None else 0 if unbiased is False else 1
    return _reduce(name, _floats(name, input), dim, keepdim, ddof=ddof)


@each("std_mean", "var_mean", method=False)
def _with_mean(
    name: str, input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **given: Any
) -> Any:
    """The spread, and the mean."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    both = _moment(name[:3], input, dim, unbiased, keepdim, **given), TORCH["mean"](input, dim, keepdim)
    return tuple([entitle(x, f"{name[:3].capitalize()}MeanBackward0") for x in both])


@public()
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of all entries, or along axes."""
    if isinstance(dim, bool):
        raise TypeError("norm(): argument 'dim' must be int")
    _floats("norm", input)
    input = input if dtype is None else to(input, dtype)
    if p in ("fro", None) or p == 2:
        return entitle(_reduce("p_norm", input, dim, keepdim), "LinalgVectorNormBackward0")
    if p == "nuc":
        return engine("norm", input, ord="nuc", axis=dim, keepdims=keepdim)
    if not input.numel() and (float(p) < 0 or p == math.inf):
        raise RuntimeError(f"linalg.vector_norm cannot compute the {p} norm on an empty tensor")
    axes = range(input.ndim) if dim is None else dim if isinstance(dim, tuple | list) else (dim,)
    found = of_vector(input, float(p), tuple(sorted([axis_in(input, x) for x in axes])), keepdim)
    return entitle(found.to(float64), "LinalgVectorNormBackward0")


def _running(name: str, input: Any, dim: int, kind: Any) -> Any:
    """Sums, or products, of the entries up to each, which are of a type before, if one is given."""
    return engine(name, input if kind is None else to(input, kind), axis=axis_in(input, dim))


def _order(input: Any, dim: int, descending: bool) -> Any:
    """The places of the entries in order along an axis: nan is the largest."""
    array, dim = np.asarray(input.value), axis_in(input, dim)
    if descending and np.isnan(array).any():
        return tensor_of(np.lexsort((-array, ~np.isnan(array)), axis=dim))
    return engine("argsort", input, axis=dim, descending=descending)


@public()
@_lined
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The entries in order along an axis, and the places where they were."""
    places = _order(input, dim, descending)
    return _HALVES["sort"](entitle(engine("take_along", input, places, axis=dim), "SortBackward0"), places)


@public()
@_lined
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest entries along an axis, and their places."""
    places = engine("topk_places", input, k=k, axis=axis_in(input, dim), largest=largest)
    if np.isnan(np.asarray(input.value)).any():
        places = narrow(_order(input, dim, largest), dim, 0, k)
    return _HALVES["topk"](entitle(engine("take_along", input, places, axis=dim), "TopkBackward0"), places)


@public()
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle entries; along an axis, with its places."""
    if dim is None:
        flat = input.reshape(-1)
        if not input.numel():
            return tensor_of(math.nan)
        with scope(recording=False):
            middle = median(flat, 0)[0]
        found = engine("equal", flat, middle)
        if not bool(engine("any", found)):  # nan
            return entitle(median(flat, 0)[0], "MedianBackward0")
        made = engine("amax", engine("where", found, flat, -math.inf))  # equal ones share the gradient
        return entitle(made.to(input.kind), "MedianBackward0")
    return _middle(input, axis_in(input, dim), keepdim)


@_lined
def _middle(input: Any, dim: int, keepdim: bool) -> Any:
    order = np.asarray(engine("argsort", input, axis=dim).value).astype(np.intp)
    count = np.isnan(np.asarray(input.value)).sum(dim, keepdims=True)  # nan is the largest, and of several the middle
    middle = np.where(count > 0, input.shape[dim] - count, (input.shape[dim] - 1) // 2)
    places = tensor_of(np.take_along_axis(order, middle, dim).squeeze(dim))
    return _HALVES["median"](*_chosen(input, places, dim, keepdim, "median"))


@each("softmax", "log_softmax")
def _over_axis(name: str, input: Any, dim: int | None, dtype: Any = None) -> Any:
    """{} along an axis."""
    axis = (0 if input.ndim in (0, 1, 3) else 1) if dim is None else axis_in(input, dim)
    return _lined(partial(engine, name))(input.double() if dtype is not None else input, axis=axis)


@public()
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences between neighbours along an axis, with what is put before and after it."""
    if prepend is not None or append is not None:
        input = TORCH["cat"]([x for x in (prepend, input, append) if x is not None], dim)
    if n < 0 or (whole(dim) is not None and not input.ndim):
        raise RuntimeError(f"diff needs an axis and an order that is not negative, not {n}")
    dim = axis_in(input, dim)
    minus, before = "not_equal" if input.kind is bool_ else "sub", (slice(None),) * dim
    if not n:
        return entitle(engine("clone", input), "CopyBackwards")
    for _ in range(n):
        ends = [getitem(input, (*before, part)) for part in (slice(1, None), slice(None, -1))]
        input = engine(minus, *ends)
    return input


# Truths


def _truths(x: Any) -> Any:
    return x if dtype_of(x) is bool_ else engine("not_equal", x, 0.0)


def _in_place(write: Callable[..., Any]) -> Callable[..., Any]:
    """`x += y`, which nothing but numbers and tensors can follow."""
    return lambda self, other: write(self, other) if isinstance(other, (core.Tensor, *NUMBERS)) else NotImplemented


@each("logical_and", "logical_or", "logical_xor", place=True)
def _of_truths(name: str, input: Any, other: Any) -> Any:
    """{}, entry by entry."""
    row = {"logical_and": "mul", "logical_or": "maximum", "logical_xor": "not_equal"}[name]
    return engine(row, _truths(input), _truths(other))


@each(*(f"bitwise_{name}=__{name}__=__r{name}__" for name in ("and", "or", "xor")), place=True)
def _bitwise(name: str, input: Any, other: Any) -> Any:
    """{} of truths, or of bits."""
    if int64 in _bits_of(name, input, other):
        return _of_bits(getattr(np, name), input, other)
    return _of_truths(name.replace("bitwise", "logical"), input, other)


for _name in ("and", "or", "xor"):
    give(f"__i{_name}__", _in_place(in_place(f"bitwise_{_name}", TORCH[f"bitwise_{_name}"])))


def _bits_of(name: str, *given: Any) -> tuple[Any, ...]:
    """The types of operands that have bits."""
    if not all(isinstance(x, (core.Tensor, *NUMBERS)) for x in given):
        raise TypeError(f"{name}(): the operands must be tensors or numbers")
    kinds = tuple(map(dtype_of, given))
    if float64 in kinds:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Double'")
    return kinds


def _of_bits(function: Any, *given: Any) -> Any:
    arrays = [np.asarray(getattr(x, "value", x)).astype(np.int64) for x in given]
    broadcast(*[array.shape for array in arrays])
    return tensor_of(function(*arrays))


@each("bitwise_left_shift=__lshift__", "bitwise_right_shift=__rshift__", place=True)
def _shifted(name: str, input: Any, other: Any) -> Any:
    """The bits of whole numbers moved."""
    if int64 not in _bits_of(name, input, other):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    return _of_bits(np.left_shift if "left" in name else np.right_shift, input, other)


for _name in ("left", "right"):
    _shift: Any = partial(_shifted, f"bitwise_{_name}_shift")
    give(f"__r{_name[0]}shift__", checked(f"{_name}_shift", lambda self, other, _shift=_shift: _shift(other, self)))


@public("bitwise_not", place=True)
def bitwise_not(input: Any) -> Any:
    """Whether an entry does not hold; of whole numbers -x - 1."""
    _bits_of("bitwise_not", input)
    return engine("equal", input, 0.0) if input.kind is bool_ else engine("sub", engine("neg", input), 1)


@public("__invert__")
def _invert(input: Any) -> Any:
    """`~x`."""
    if input.kind is float64:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(input)


@public()
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether entries are near to each other."""
    need_tensor("isclose", other, "other")
    if input.kind is not other.kind:
        raise RuntimeError(f"{input.kind} did not match {other.kind}")
    a, b = np.asarray(input.value), np.asarray(other.value)
    broadcast(a.shape, b.shape)
    return tensor_of(np.isclose(a, b, rtol, atol, equal_nan))


@public(place=True, title="NanToNumBackward0")
def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers in the place of nan and of infinities."""
    if input.kind is not float64:
        return engine("clone", input)
    most = float(np.finfo(np.float64).max)
    found = where(engine("isnan", input), 0.0 if nan is None else nan, input)
    found = where(engine("equal", input, math.inf), most if posinf is None else posinf, found)
    return where(engine("equal", input, -math.inf), -most if neginf is None else neginf, found)


# Shapes


def _reshaped(input: Any, *shape: Any) -> Any:
    """Other axes for the same entries."""
    return engine("reshape", input, sizes(shape))


@public("view", view=True)
def view(input: Any, *shape: Any, dtype: Any = None) -> Any:
    """Other axes for the same data."""
    if dtype is not None or (len(shape) == 1 and not isinstance(shape[0], tuple | list | int)):
        if as_dtype(dtype or shape[0]) is not input.kind:
            raise NotImplementedError("view: the bits of entries are not read as another type\n  fix: x.to(dtype)")
        return input
    if not is_contiguous(input) and not _viewable(input, sizes(shape)):
        raise RuntimeError("view size is not compatible with input tensor's size and stride\n  fix: use .reshape(...)")
    return _reshaped(input, *shape)


@public()
def reshape(input: Any, *shape: Any) -> Any:
    """Other axes, for the same data where that is possible."""
    if not is_contiguous(input) and not _viewable(input, sizes(shape)):
        return entitle(_reshaped(input, *shape), "UnsafeViewBackward0")
    return viewing(_reshaped)(input, *shape)


def _offsets(input: Any) -> Any:
    """Where each entry of a view is in the data of the whole; None for one that is no view."""
    shared = getattr(input, "view_of", None)
    if shared is None or shared.whole is None:
        return None
    deeper = _offsets(shared.whole)
    if shared.again is None:
        return deeper
    return (shared.places if deeper is None else deeper.reshape(-1)[shared.places]).reshape(input.shape)


@public("stride")
def stride(input: Any, dim: int | None = None) -> Any:
    """How far apart in memory neighbours along an axis are."""
    offsets, shape = _offsets(input), input.shape
    found, step = [], 1
    for axis in reversed(range(len(shape))):
        if offsets is not None and shape[axis] > 1 and offsets.size:
            step = int(np.diff(offsets, axis=axis).flat[0])
        found.append(step)
        step *= max(shape[axis], 1)
    strides = tuple(reversed(found))
    return strides if dim is None else strides[dim]


@public("is_contiguous")
def is_contiguous(input: Any, memory_format: Any = None) -> bool:
    """Whether its entries are in memory one after the other."""
    offsets = _offsets(input)
    if offsets is None or offsets.size < 2:
        return True
    flat = offsets.reshape(-1)
    return bool((np.diff(flat) == 1).all())


def _viewable(input: Any, shape: tuple[int, ...]) -> bool:
    """Whether a view of data that are not one after the other has another shape without a copy."""
    strides = tuple(8 * step for step in stride(input))
    known = np.lib.stride_tricks.as_strided(np.zeros(1), tuple(input.shape), strides, writeable=False)
    try:
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
            known.reshape(shape, copy=False)
        else:
            known.shape = shape  # which NumPy 2.5 warns of
    except (AttributeError, ValueError):
        return False
    return True


@public()
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Some neighbouring axes as one."""
    start, end = axis_in(input, start_dim), axis_in(input, end_dim)
    if not input.ndim:
        return reshape(input, 1)
    if start == end:
        return input
    return reshape(input, *input.shape[:start], math.prod(input.shape[start : end + 1]), *input.shape[end + 1 :])


@public()
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One axis as several."""
    if not input.ndim:
        raise RuntimeError("unflatten needs a tensor with an axis")
    dim = axis_in(input, dim)
    return reshape(input, *input.shape[:dim], *sizes, *input.shape[dim + 1 :])


@public(view=True)
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without axes of length 1."""
    given = dim if isinstance(dim, tuple | list) else (dim,)
    axes = range(input.ndim) if dim is None else [axis_in(input, x) for x in given]
    shape = [n for at, n in enumerate(input.shape) if n != 1 or at not in axes]
    number = 0 if dim is None else 2 if isinstance(dim, tuple | list) else 1
    return entitle(engine("reshape", input, tuple(shape)), f"SqueezeBackward{number}")


@public(view=True, title="UnsqueezeBackward0")
def unsqueeze(input: Any, dim: int) -> Any:
    """With one more axis, of length 1."""
    dim = axis_in(input, dim, 1)
    return engine("reshape", input, (*input.shape[:dim], 1, *input.shape[dim:]))


@public(view=True, title="PermuteBackward0")
def permute(input: Any, *dims: Any) -> Any:
    """The axes in another order."""
    if not dims:
        raise TypeError('permute() missing 1 required positional argument: "dims"')
    if len(sizes(dims)) != input.ndim:
        raise RuntimeError(f"permute(dims): {len(sizes(dims))} dims for a tensor with {input.ndim} axes")
    axes = [axis_in(input, x) for x in sizes(dims)]
    if sorted(axes) != [*range(input.ndim)]:
        raise RuntimeError("permute(dims): the dims must name each axis once")
    return engine("permute", input, *axes) if axes else engine("clone", input)


@public("transpose", "swapaxes", "swapdims", view=True, title="TransposeBackward0")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    axes = [*range(input.ndim)]
    one, other = axis_in(input, dim0), axis_in(input, dim1)
    if axes:
        axes[one], axes[other] = axes[other], axes[one]
    return engine("permute", input, *axes) if axes else engine("clone", input)


@public("t", view=True, title="TBackward0")
def t(input: Any) -> Any:
    """The transpose of a matrix."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return engine("transpose", input) if input.ndim == 2 else engine("clone", input)


give("T", property(lambda self: permute(self, [*reversed(range(self.ndim))])))


def _matrices_turned(self: Any) -> Any:
    if not self.ndim:
        return transpose(self, 0, 0)
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}D tensor.")
    return transpose(self, -2, -1)


give("mT", property(_matrices_turned))
give("H", property(_matrices_turned))


@public("movedim", "moveaxis", view=True, title="PermuteBackward0")
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Some axes at other places."""
    for given in (source, destination):
        if len({axis_in(input, axis) for axis in np.atleast_1d(given)}) < np.size(given):
            raise RuntimeError(f"movedim: repeated dim in {given}")
    return arrays.moveaxis(input, source, destination) if input.ndim else engine("clone", input)


@public(view=True)
def expand(input: Any, *shape: Any) -> Any:
    """Spread over more entries, without a copy."""
    return engine("expand", input, sizes(shape))


@public(method=False)
def broadcast_tensors(*tensors: Any) -> Any:
    """All in the shape that they have together."""
    shape = broadcast(*[x.shape for x in tensors])
    return tuple(x if x.shape == shape else expand(x, *shape) for x in tensors)


@public(title="RepeatBackward0")
def repeat(input: Any, *counts: Any) -> Any:
    """The whole, so many times along each axis."""
    given = sizes(counts)
    if len(given) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return engine("tile", input, *given)


@public()
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None) -> Any:
    """Each entry, so many times."""
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = axis_in(input, dim)
    if isinstance(repeats, int):
        shape = input.shape
        wide = engine("expand", unsqueeze(input, dim + 1), (*shape[: dim + 1], repeats, *shape[dim + 1 :]))
        return _reshaped(wide, *shape[:dim], shape[dim] * repeats, *shape[dim + 1 :])
    if dtype_of(repeats) is not int64:
        raise NotImplementedError(f'"repeat_interleave_cpu" not implemented for {dtype_of(repeats)!r}')
    counts = np.asarray(repeats.value if isinstance(repeats, core.Tensor) else repeats).astype(np.intp)
    if counts.size not in (1, input.shape[dim]) or (counts < 0).any():
        raise RuntimeError(f"repeats must have the same size as input along dim, and not be negative, but got {counts}")
    return index_select(input, dim, tensor_of(np.repeat(np.arange(input.shape[dim]), counts)))


@public()
def flip(input: Any, *dims: Any) -> Any:
    """In the opposite order along axes."""
    if not dims:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    for dim in sizes(dims):
        axis_in(input, dim)
    if not input.ndim:
        return engine("clone", input)
    return engine("flip", input, axis=sizes(dims))


@public()
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """Entries moved along axes; what falls out comes in at the other end."""
    if dims is None:
        return entitle(_reshaped(engine("roll", _reshaped(input, -1), shifts, axis=0), *input.shape), "RollBackward0")
    given = (one if isinstance(one, tuple | list) else (one,) for one in (shifts, dims))
    for shift, dim in zip(*given, strict=True):
        input = engine("roll", input, shift, axis=dim)
    return input


@public("cat", "concat", "concatenate", method=False)
def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors one after the other along an axis."""
    if not isinstance(tensors, tuple | list):
        raise TypeError(f"cat(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
    if any(isinstance(x, core.Tensor) and not x.ndim for x in tensors):
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    made = engine("concat", [x for x in tensors if x.shape != (0,)] or list(tensors), axis=dim)
    return made.to(max(map(dtype_of, tensors), key=lambda one: one.rank))


@public(method=False)
def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors along a new axis."""
    if len(tensors) and isinstance(tensors[0], core.Tensor):
        axis_in(tensors[0], dim, 1)
    return engine("stack", list(tensors), axis=dim)


def _piece(dim: int, start: int, end: int, title: str) -> Callable[[Any], Any]:
    return lambda whole: entitle(engine("getitem", whole, (slice(None),) * dim + (slice(start, end),)), title)


@public()
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Views of pieces along an axis."""
    if not tensor.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim, size = axis_in(tensor, dim), split_size_or_sections
    length = tensor.shape[dim]
    if isinstance(size, int):
        if size < 0 or (length and not size):
            raise RuntimeError(f"split expects pieces of one entry or more along an axis of {length}, not of {size}")
        ends = [*range(size, length, size), length]
    else:
        ends = [*accumulate(size)]
        if ends[-1] != length:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length}, but got {[*size]}")
    title = "SplitBackward0" if isinstance(size, int) else "SplitWithSizesBackward0"
    return several(tensor, [_piece(dim, *pair, title) for pair in zip([0, *ends[:-1]], ends, strict=True)])


@public()
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:
    """Pieces whose lengths differ by one at most."""
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    pieces = np.array_split(np.arange(input.shape[axis_in(input, dim)]), indices_or_sections)
    starts = accumulate(map(len, pieces), initial=0)
    return tuple([narrow(input, dim, *pair) for pair in zip(starts, map(len, pieces), strict=False)])


@public()
def unbind(input: Any, dim: int = 0) -> Any:
    """Views of the entries along an axis."""
    dim = axis_in(input, dim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")

    def take(place: int) -> Callable[[Any], Any]:
        return lambda whole: entitle(engine("getitem", whole, (slice(None),) * dim + (place,)), "UnbindBackward0")

    return several(input, [take(place) for place in range(input.shape[dim])])


@public(view=True, title="SliceBackward0")
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """A piece along an axis."""
    if not input.ndim or length < 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor, or to a length below 0")
    dim, start = axis_in(input, dim), int(start)
    count = input.shape[dim]
    if not -count <= start <= count:
        raise IndexError(f"start out of range (expected to be in range of [{-count}, {count}], but got {start})")
    start += count if start < 0 else 0
    if start + length > count:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({count}).")
    return engine("getitem", input, (slice(None),) * dim + (slice(start, start + length),))


@public(view=True, title="DiagonalBackward0")
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The entries of a diagonal."""
    if input.ndim < 2:
        raise IndexError(f"diagonal needs two axes, and this has {input.ndim}")
    return engine("diagonal", input, k=offset, axis1=dim1, axis2=dim2)


@public(title="DiagEmbedBackward0")
def diag_embed(input: Any, offset: int = 0) -> Any:
    """Matrices of diagonals."""
    places = np.arange(input.shape[-1])
    size = len(places) + abs(offset)
    where_ = (*(slice(None),) * (input.ndim - 1), places + max(-offset, 0), places + max(offset, 0))
    return entitle(engine("scatter", input, where_, (*input.shape[:-1], size, size)), "DiagEmbedBackward0")


@public(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """Coordinates of all points of a grid."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    if any(x.ndim > 1 for x in given) or len({dtype_of(x) for x in given}) > 1:
        raise RuntimeError("torch.meshgrid: Expected scalars or 1D tensors of one type")
    count = len(given)
    swapped = indexing == "xy" and count > 1
    order = [1, 0, *range(2, count)] if swapped else [*range(count)]
    shape = [given[x].numel() for x in order]
    return tuple(
        expand(reshape(x, *[-1 if order[at] == place else 1 for at in range(count)]), *shape)
        for place, x in enumerate(given)
    )


@public(view=True, title="UnfoldBackward0")
def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """Windows along an axis, their entries along a new last one."""
    dim = axis_in(input, dimension)
    is_line = input.ndim > 0
    input = input if is_line else engine("reshape", input, (1,))
    if step <= 0 or size > input.shape[dim]:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {input.shape[dim]} but size is {size}")
    starts = np.arange(0, input.shape[dim] - size + 1, step)
    where_ = (slice(None),) * dim + (starts[:, None] + np.arange(size),)
    taken = entitle(engine("getitem", input, where_), "UnfoldBackward0")
    order = [x for x in range(input.ndim + 1) if x != dim + 1]
    return engine("permute", taken, *order, dim + 1) if is_line else engine("reshape", taken, (size,))


# Indices


def index_of(index: Any) -> Any:
    """An index as the engine has it."""
    is_tuple = isinstance(index, tuple) or (isinstance(index, list) and any(map(_is_part, index)))
    return tuple(_part(part) for part in (index if is_tuple else (index,)))


def _parts_in(x: Any, index: Any) -> tuple[Any, ...]:
    """The parts of an index into a tensor. Raises IndexError where a number is none of an axis."""
    if isinstance(index, str) and not x.node.shape:
        raise IndexError("too many indices for tensor of dimension 0")
    parts: tuple[Any, ...] = index_of(index)
    axis = 0
    taken = sum(map(_width, parts))
    if taken > len(x.node.shape):
        if not x.node.shape:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
        raise IndexError(f"too many indices for tensor of dimension {len(x.node.shape)}")
    for part in parts:
        if part is Ellipsis:
            axis += len(x.node.shape) - taken
        elif type(part) is int and not -x.node.shape[axis] <= part < x.node.shape[axis]:
            raise IndexError(f"index {part} is out of bounds for dimension {axis} with size {x.node.shape[axis]}")
        axis += _width(part)
    return parts


def _fits(x: Any, parts: tuple[Any, ...], value: Any) -> None:
    """Refuse what PyTorch does not put at places: another type, or another shape than that of the entries there."""
    if not isinstance(value, core.Tensor):
        return
    is_mask = len(parts) == 1 and getattr(parts[0], "dtype", None) == np.bool_
    free = tuple(np.zeros_like(one) if hasattr(one, "dtype") and one.dtype != bool else one for one in parts)
    shape = np.broadcast_to(0.0, x.node.shape)[free].shape
    if dtype_of(value) is not x.kind and not (is_mask and not value.ndim):
        raise RuntimeError(f"Index put requires one dtype of both, got {x.kind} and {dtype_of(value)}")
    if math.prod(broadcast(tuple(value.shape), shape)) != math.prod(shape):
        raise RuntimeError(f"shape mismatch: value tensor of shape {[*value.shape]} cannot be put into {[*shape]}")


def _overlap(x: Any, y: Any) -> bool:
    """Whether two tensors have an entry of the same data."""
    places = _offsets(x), _offsets(y)
    is_same = above(x)[-1] is above(y)[-1] and y.numel() > 0
    return is_same and (any(one is None for one in places) or np.intersect1d(*places).size > 0)


def _is_part(x: Any) -> bool:
    """Whether a list with this in it is an index of several parts."""
    return x is None or x is Ellipsis or isinstance(x, list | tuple | slice | core.Tensor | np.ndarray)


def _width(part: Any) -> int:
    return part.ndim if getattr(part, "dtype", None) == np.bool_ else int(part is not None and part is not Ellipsis)


def _steps_taken(x: Any, parts: tuple[Any, ...]) -> list[str]:
    """The views that PyTorch takes one after the other, by their names: slices that take everything are none."""
    found, axis, taken = [], 0, sum(_width(part) for part in parts)
    for part in parts:
        if part is Ellipsis:
            axis += len(x.node.shape) - taken
        elif part is None:
            found.append("Unsqueeze")
        elif isinstance(part, slice):
            length = x.node.shape[axis]
            if (part.start or 0, part.step or 1) != (0, 1) or (part.stop is not None and part.stop < length):
                found.append("Slice")
            axis += 1
        else:
            found.append("Select")
            axis += 1
    return found


def _part(part: Any) -> Any:
    if isinstance(part, slice):
        start, stop, step = (None if end is None else int(end) for end in (part.start, part.stop, part.step))
        if step is not None and step <= 0:
            raise ValueError("step must be greater than zero")
        return slice(start, stop, step)
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, core.Tensor):
        kind, value = dtype_of(part), part.value
        if kind is float64:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors\n  fix: index.long()")
        if isinstance(value, float):
            return np.array(bool(value)) if kind is bool_ else int(value)
        return np.asarray(value != 0.0) if kind is bool_ else value.astype(np.intp)
    if isinstance(part, list | range | np.ndarray | tuple):
        found = np.asarray([int(x) if isinstance(x, core.Tensor) else x for x in part])
        return found.astype(np.intp) if found.dtype.kind in "iuf" and found.size == 0 else found
    if isinstance(part, bool):
        return np.array(part)
    if isinstance(part, float | str):
        raise (IndexError if isinstance(part, float) else TypeError)(
            f"only integers, slices, …, None and tensors are valid indices, not {type(part).__name__}"
        )
    return int(part)


def _steps(x: Any, parts: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """An index with arrays as two: first numbers and slices, as in PyTorch, then the arrays."""
    taken = sum(_width(part) for part in parts)
    first: list[Any] = []
    then: list[Any] = []
    for part in parts:
        if hasattr(part, "dtype"):
            first += [slice(None)] * (part.ndim if part.dtype == bool else 1)
            then.append(part)
        elif part is Ellipsis:
            rest = [slice(None)] * (x.ndim - taken)
            first, then = first + rest, then + rest
        else:
            first.append(part)
            then += [] if isinstance(part, int) else [slice(None)]
    return tuple(first), tuple(then)


@public("__getitem__")
def getitem(input: Any, index: Any) -> Any:
    """The entries at an index: views, where no tensor is in it."""
    parts = _parts_in(input, index)
    if len(parts) == 1 and getattr(parts[0], "shape", None) == () and parts[0].dtype == bool:
        return engine("getitem", engine("reshape", input, (1, *input.shape)), np.zeros(int(parts[0]), dtype=np.intp))
    if any(hasattr(part, "dtype") for part in parts):
        first, then = _steps(input, parts)
        if any(part != slice(None) for part in first):
            input = engine("getitem", input, first)
        return engine("getitem", input, then)
    taken = ["Slice"] if type(index) is slice else _steps_taken(input, parts)
    made = entitle(_at(input, parts), f"{taken[-1]}Backward0" if taken else "AliasBackward0")
    return part_of(input, made, lambda whole: _at(whole, parts))


def _at(x: Any, parts: tuple[Any, ...]) -> Any:
    attrs = {"index": parts}
    return type(x).made(OPS["getitem"], (x,), attrs, of_one(OPS["getitem"], x, attrs, 3))


def _setitem(self: Any, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    if isinstance(value, list | tuple):
        raise TypeError(f"can't assign a {type(value).__name__} to a tensor\n  fix: x[…] = torch.tensor(…)")
    parts = _parts_in(self, index)
    chosen = None  # whether a single truth chooses all, or nothing
    if len(parts) == 1 and getattr(parts[0], "shape", None) == () and parts[0].dtype == bool:
        chosen, parts = bool(parts[0]), (Ellipsis,)
    if any(hasattr(part, "dtype") for part in parts):
        given = (*(index if isinstance(index, tuple | list) else (index,)), value)
        if any(isinstance(one, Tensor) and _overlap(self, one) for one in given):
            raise RuntimeError("some elements of the written-to tensor are read, too\n  fix: x.clone()")
        _fits(self, parts, value)
    value = _cast(value, self)
    check_writable(self, self.requires_grad or getattr(value, "requires_grad", False))
    if chosen is False:
        if isinstance(value, core.Tensor):
            expand(value, 0, *self.shape)  # which refuses what does not fit
        return
    arrays = [part for part in parts if hasattr(part, "dtype")]
    if self.view_of is not None and self.view_of.overlaps:
        view = part_of(self, _at(self, parts), lambda whole: _at(whole, parts))
        if arrays:  # by which PyTorch writes the same entry twice
            overwrite(view, expand(tensor_of(value).to(self.kind), *view.shape).clone(), "x[…] =")
        else:
            _copied(view, value)
        return
    if arrays and len(arrays) < len(parts):
        with scope(recording=False):
            count = self.numel()
            places = getitem(Tensor.of(np.arange(float(count)).reshape(self.shape)), index).value
        shape = np.shape(places)
        value = value if not isinstance(value, core.Tensor) or not value.ndim else expand(value, *shape)
        flat = engine("index_put", reshape(self, -1), _flat(value), np.asarray(places).astype(np.intp).reshape(-1))
        is_cut = any(part is not Ellipsis and part != slice(None) for part in parts if not hasattr(part, "dtype"))
        title = "CopySlices" if is_cut else "IndexPutBackward0"
        write_over(self, entitle(engine("reshape", flat, self.shape), title), "x[…] =")
        return
    if arrays or chosen or _steps_taken(self, parts):
        title = "IndexPutBackward0" if arrays else "CopySlices"
    else:
        title = "CopyBackwards" if getattr(value, "ndim", 0) else "FillBackward3"
    write_over(self, entitle(_put(self, value, parts), title), "x[…] =")


def _flat(value: Any) -> Any:
    return engine("reshape", value, (-1,)) if isinstance(value, core.Tensor) and value.ndim else value


def _put(self: Any, value: Any, parts: tuple[Any, ...]) -> Any:
    if isinstance(value, core.Tensor) and value.ndim:
        more = value.ndim - np.broadcast_to(0.0, self.node.shape)[parts].ndim
        value = engine("reshape", value, value.node.shape[more:]) if more > 0 else value
    return engine("index_put", self, value, parts)


def _cast(value: Any, like: Any) -> Any:
    """A value in the type of what it is written into."""
    if dtype_of(value).rank > like.kind.rank:
        value = tensor_of(value).to(like.kind)
    return tensor_of(value) if isinstance(value, list | tuple | np.ndarray) else value


give("__setitem__", checked("__setitem__", _setitem))


def _fitted(name: str, src: Any, like: Any) -> Any:
    """What is put into a tensor, of its type: a number is cast, a tensor of another one refused."""
    if not isinstance(src, core.Tensor):
        return like.kind.python(src)
    if src.kind is not like.kind:
        raise RuntimeError(f"{name}(): expected self and src to have the same dtype: {like.kind} and {src.kind}")
    return src


def _beside(input: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """An index that takes, for each place of `index`, the entry there along one axis, and the same along the others."""
    places = np.asarray(index.value).astype(np.intp).reshape(index.shape if index.ndim else (1,) * min(input.ndim, 1))
    grid = [*np.indices(places.shape)] if places.ndim else []
    if input.ndim != places.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    length = input.shape[dim]
    if places.size and not (places.min() >= 0 and places.max() < length):
        raise RuntimeError(f"index {places.max()} is out of bounds for dimension {dim} with size {length}")
    return tuple(places if at == dim else one for at, one in enumerate(grid))


def _need_places(name: str, index: Any) -> None:
    if dtype_of(index) is not int64:
        raise RuntimeError(f"{name}(): Expected dtype int64 for index")


@public(title="GatherBackward0")
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """The entries at places along an axis."""
    _need_places("gather", index)
    axis_in(input, dim)
    if max(input.ndim, index.ndim) < 2 and input.ndim != index.ndim:
        flat = reshape(index, -1)
        return _reshaped(engine("getitem", reshape(input, -1), _beside(reshape(input, -1), 0, flat)), *index.shape)
    if not input.ndim and not index.ndim:
        return engine("clone", input)
    return engine("getitem", input, _beside(input, axis_in(input, dim), index))


@public(title="IndexSelectBackward0")
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The entries at some places along an axis."""
    where_ = _slices("index_select", input, dim, index)
    return engine("getitem", input, where_)


@public(title="TakeBackward0")
def take(input: Any, index: Any) -> Any:
    """Entries by their places in the whole."""
    need_tensor("take", index, "index")
    return getitem(reshape(input, -1), index)


def _need_truths(name: str, mask: Any) -> None:
    if dtype_of(mask) is not bool_:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {dtype_of(mask)}")


@public(title="MaskedSelectBackward0")
def masked_select(input: Any, mask: Any) -> Any:
    """The entries where a mask holds."""
    _need_truths("masked_select", mask)
    shape = broadcast(input.shape, mask.shape)
    return getitem(expand(input, *shape), expand(mask, *shape))


@public(place=True)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """A number where a mask holds."""
    _need_truths("masked_fill", mask)
    number = int(isinstance(value, core.Tensor))
    return entitle(engine("where", mask, _cast(value, input), input), f"MaskedFillBackward{number}")


@public(place=True, title="MaskedScatterBackward0")
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """Entries of a source, in order, where a mask holds."""
    _need_truths("masked_scatter", mask)
    _fitted("masked_scatter", source, input)
    shape = broadcast(tuple(input.shape), tuple(mask.shape))
    input = input if input.shape == shape else expand(input, *shape)
    places = np.nonzero(np.broadcast_to(np.asarray(mask.value) != 0, shape))
    if source.numel() < len(places[0]):
        raise RuntimeError("masked_scatter: expected the source to have as many entries as the mask has ones")
    return engine("index_put", input, getitem(reshape(source, -1), slice(0, len(places[0]))), places)


def _source(src: Any, index: Any, where_: tuple[Any, ...]) -> Any:
    """What is scattered: a number, or the entries of a source that have a place."""
    if not isinstance(src, core.Tensor):
        return src
    return engine("getitem", src, tuple(slice(0, n) for n in index.shape)) if src.shape != index.shape else src


@public(place=True)
def scatter(input: Any, dim: int, index: Any, src: Any = None, value: Any = None, *, reduce: str | None = None) -> Any:
    """Entries put at places along an axis."""
    _need_places("scatter", index)
    src = _fitted("scatter", value if src is None else src, input)
    places = _beside(input, axis_in(input, dim), index)
    if reduce == "add":
        added = src if isinstance(src, core.Tensor) else TORCH["full"](index.shape, float(src))
        return scatter_add(input, dim, index, added)
    if reduce == "multiply":
        return scatter_reduce(input, dim, index, src, "prod")
    title = f"ScatterBackward{int(not isinstance(src, core.Tensor))}"
    return entitle(engine("index_put", input, _source(src, index, places), places), title)


@public(place=True, title="ScatterAddBackward0")
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Entries added at places along an axis."""
    _need_places("scatter_add", index)
    places = _beside(input, axis_in(input, dim), index)
    added = engine("scatter", _source(src, index, places), places, tuple(input.shape))
    return engine("add", input, added)


@public(place=True, title="ScatterReduceBackward0")
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Entries joined at places along an axis: by sum, mean, prod, amax or amin."""
    if reduce == "sum" and include_self:
        return scatter_add(input, dim, index, src)
    dim = axis_in(input, dim)
    found: dict[tuple[int, ...], list[Any]] = {}
    for at in np.ndindex(*index.shape):
        place = (*at[:dim], int(index.value[at]), *at[dim + 1 :])
        found.setdefault(place, [input[place]] if include_self else []).append(src[at])
    places = tuple(np.array(column) for column in zip(*found, strict=True))
    joined = stack([TORCH[reduce](stack(several_)) for several_ in found.values()])
    return engine("index_put", input, joined, places)


@public(place=True, title="IndexAddBackward0")
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Slices added at places along an axis."""
    if source.kind is not input.kind:
        raise RuntimeError(f"index_add_(): self ({input.kind!r}) and source ({source.kind!r}) must have the same type")
    if source.ndim != input.ndim:
        raise RuntimeError("index_add_(): Source and destination should have the same number of dimensions")
    if source.ndim and index.numel() != source.shape[axis_in(input, dim)]:
        raise RuntimeError("index_add_(): Number of indices should be equal to source.size(dim)")
    where_ = _slices("index_add", input, dim, index)
    added = engine("scatter", source if alpha == 1 else source * alpha, where_, tuple(input.shape))
    return engine("add", input, added)


def _slices(name: str, input: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """The index of whole slices at places along an axis."""
    _need_places(name, index)
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    dim, places = axis_in(input, dim), np.atleast_1d(np.asarray(index.value)).astype(np.intp)
    length = input.shape[dim] if input.ndim else 1
    first = -length if name == "index_fill" else 0
    if places.size and not (first <= places.min() and places.max() < length):
        is_fast = {"index_select": dim == 1, "index_add": input.ndim > 1, "index_fill": not length}.get(name, False)
        raise (RuntimeError if is_fast else IndexError)(f"index out of range in self: {places.max()} of {length}")
    return (slice(None),) * dim + (places,)


@public(place=True, title="IndexCopyBackward0")
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """Slices put at places along an axis."""
    where_ = _slices("index_copy" if isinstance(source, core.Tensor) else "index_fill", input, dim, index)
    return engine("index_put", input, _cast(source, input), where_)


@public(place=True, title="IndexPutBackward0")
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Values put, or added, at an index."""
    parts = index_of(tuple(indices))
    _fits(input, parts, values)
    if not accumulate:
        return engine("index_put", input, values, parts)
    shape = engine("getitem", input, parts).shape
    added = engine("scatter", expand(values, *shape), parts, tuple(input.shape))
    return engine("add", input, added)


@public()
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The places of the entries that are not 0."""
    array = np.asarray(input.value)
    places = np.argwhere(np.atleast_1d(array) if as_tuple else array)
    return tuple(tensor_of(column) for column in places.T) if as_tuple else tensor_of(places)


@public()
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number occurs."""
    if input.kind is not int64:
        raise NotImplementedError(f'"bincount_cpu" not implemented for {input.kind!r}')
    if input.ndim != 1 or np.any(np.asarray(input.value) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    given = None if weights is None else np.asarray(weights.value)
    return tensor_of(np.bincount(np.asarray(input.value).astype(np.intp), given, minlength))


@public()
def searchsorted(sorted_sequence: Any, values: Any, *, right: bool = False) -> Any:
    """Where values would be put into an ordered sequence."""
    side: Any = "right" if right else "left"
    return tensor_of(np.searchsorted(sorted_sequence.value, np.asarray(getattr(values, "value", values)), side))


@public("cummax")
@_lined
def cummax(input: Any, dim: int) -> Any:
    """The largest entry so far along an axis, and its place."""
    if not input.numel():
        return _HALVES["cummax"](engine("clone", input), input.long())
    array, dim = np.asarray(input.value), axis_in(input, dim)
    best = np.maximum.accumulate(array, dim)
    steps = np.arange(array.shape[dim]).reshape([-1 if at == dim else 1 for at in range(array.ndim)])
    places = tensor_of(np.maximum.accumulate(np.where((array == best) | np.isnan(array), steps, 0), dim))
    return _HALVES["cummax"](entitle(gather(input, dim, places), "CummaxBackward0"), places)


@public("sign", place=True, title="SignBackward0")
def sign(input: Any) -> Any:
    """-1, 0 or 1; 0 of nan."""
    need_tensor("sign", input)
    if input.kind is bool_:
        return engine("clone", input)
    return engine("where", engine("isnan", input), 0, engine("sign", input))


@public(place=True)
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight*(end - input), computed from the nearer end."""
    need_tensor("lerp", end, "end")
    if isinstance(weight, core.Tensor):
        return entitle(input + weight * (end - input), "LerpBackward1")
    is_low = abs(weight) < 0.5
    step = entitle(engine("mul", end - input, weight if is_low else 1 - weight), "Scaled")
    return entitle(input + step if is_low else end - step, "LerpBackward0")


def _scaled_first(value: Any, tensor1: Any, tensor2: Any, name: Any = "mul") -> Any:
    """The product, or the quotient, of two tensors, times a number."""
    return engine(name, tensor1 if value == 1 else engine("mul", value, tensor1), tensor2)


# What is one expression, by PyTorch's names, and that of its node. PLACE: it also writes in place, VIEW: it is a view,
# FUNCTION: it is no method.
_ROWS: dict[str, Callable[..., Any]] = {
    "rsub PLACE": lambda input, other: engine("sub", other, input),
    "clamp_min PLACE ClampMinBackward0": lambda input, min: clamp(input, min=min),
    "clamp_max PLACE ClampMaxBackward0": lambda input, max: clamp(input, max=max),
    "addcmul PLACE AddcmulBackward0": lambda input, a, b, *, value=1: input + _scaled_first(value, a, b),
    "addcdiv PLACE AddcdivBackward0": lambda input, a, b, *, value=1: (
        input + _scaled_first(value, a if float64 in map(dtype_of, (a, b)) else _floats("addcdiv", a), b, "div")
    ),
    "xlogy PLACE": lambda input, other: entitle(
        engine("xlogy", input, other),
        f"XlogyBackward{1 - isinstance(input, core.Tensor) or 2 * (not isinstance(other, core.Tensor))}",
    ),
    "fmax FmaxBackward0": lambda input, other: _without_nan("greater_equal", input, other),
    "fmin FminBackward0": lambda input, other: _without_nan("less_equal", input, other),
    "logit PLACE": lambda input, eps=None: engine("logit", input if eps is None else clamp(input, eps, 1 - eps)),
    "round PLACE": lambda input, *, decimals=None: (
        engine("round", input)
        if decimals is None
        else entitle(engine("round", input, digits=decimals), "RoundBackward1")
    ),
    "cumsum PLACE": _lined(lambda input, dim, dtype=None: _running("cumsum", input, dim, dtype)),
    "cumprod PLACE": _lined(lambda input, dim, dtype=None: _running("cumprod", input, dim, dtype)),
    "argsort": _lined(lambda input, dim=-1, descending=False, stable=False: _order(input, dim, descending)),
    "nansum NansumBackward0": lambda input, dim=None, keepdim=False, *, dtype=None: _reduce(
        "nansum" if input.kind is float64 else "sum", input, dim, keepdim, dtype
    ),
    "nanmean": lambda input, dim=None, keepdim=False, *, dtype=None: _reduce("nanmean", input, dim, keepdim, dtype),
    "softmin": lambda input, dim, dtype=None: TORCH["softmax"](engine("neg", input), dim, dtype),
    "count_nonzero": lambda input, dim=None: _reduce("sum", engine("not_equal", input, 0.0), dim),
    "quantile SqueezeBackward4": lambda input, q, dim=None, keepdim=False: _quantile(input, q, dim, keepdim),
    "trace TraceBackward0": lambda input: engine("sum", diagonal(_of_axes("trace", input, 2))),
    "copysign PLACE": lambda input, other: entitle(
        engine("copysign", input, other), f"CopysignBackward{int(not isinstance(other, core.Tensor))}"
    ),
    "sgn PLACE SgnBackward0": lambda input: sign(input),
    "outer ger": lambda input, vec2: engine("outer", _of_axes("outer", input), _of_axes("outer", vec2)),
    "kron UnsafeViewBackward0": lambda input, other: engine("kron", input, other),
    "dist DistBackward0": lambda input, other, p=2: norm(input - other, p),
    "cdist FUNCTION CdistBackward0": lambda x1, x2, p=2.0: norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, dim=-1),
    "logical_not PLACE": lambda input: engine("equal", input, 0.0),
    "isinf": lambda input: engine("equal", engine("abs", input), math.inf),
    "allclose": lambda input, other, rtol=1e-05, atol=1e-08, equal_nan=False: bool(
        isclose(input, other, rtol, atol, equal_nan).all()
    ),
    "equal": lambda input, other: (
        input.shape == other.shape and bool(np.all(np.asarray(input.value) == np.asarray(other.value)))
    ),
    "clone": lambda input, *, memory_format=None: engine("clone", input),
    "contiguous": lambda input, memory_format=None: input if is_contiguous(input) else engine("clone", input),
    "ravel": lambda input: reshape(input, -1),
    "view_as reshape_as": lambda input, other: reshape(input, *other.shape),
    "broadcast_to": lambda input, *size: expand(input, *size),
    "expand_as": lambda input, other: expand(input, *other.shape),
    "tile": lambda input, *dims: repeat(input, *(1,) * (input.ndim - len(sizes(dims))), *sizes(dims)),
    "fliplr": lambda input: flip(input, 1),
    "flipud": lambda input: flip(input, 0),
    "hstack FUNCTION": lambda tensors: cat(
        [x if x.ndim else reshape(x, 1) for x in tensors], 0 if tensors[0].ndim <= 1 else 1
    ),
    "column_stack FUNCTION": lambda tensors: cat([x if x.ndim > 1 else reshape(x, -1, 1) for x in tensors], 1),
    "vstack row_stack FUNCTION": lambda tensors: cat([x if x.ndim > 1 else reshape(x, 1, -1) for x in tensors], 0),
    "chunk": lambda input, chunks, dim=0: (
        split(input, -(-input.shape[dim] // chunks) if chunks > 0 else -1, dim)
        if input.ndim and input.shape[axis_in(input, dim)]
        else split(input, [0] * chunks, dim)
    ),
    "select VIEW SelectBackward0": lambda input, dim, index: engine(
        "getitem", input, (slice(None),) * axis_in(input, dim) + (int(index),)
    ),
    "diagflat": lambda input, offset=0: diag_embed(reshape(input, -1), offset),
    "diag": lambda input, diagonal=0: (
        diag_embed(input, diagonal)
        if input.ndim == 1
        else entitle(engine("diagonal", _of_axes("diag", input, 2), k=diagonal), "DiagonalBackward0_copy")
    ),
    "tril PLACE TrilBackward0": lambda input, diagonal=0: engine("tril", input, k=diagonal).to(input.kind),
    "triu PLACE TriuBackward0": lambda input, diagonal=0: engine("triu", input, k=diagonal).to(input.kind),
    "cartesian_prod FUNCTION": lambda *tensors: stack(
        [reshape(x, -1) for x in meshgrid(*[_of_axes("cartesian_prod", x) for x in tensors])], 1
    ),
    "cross LinalgCrossBackward0": lambda input, other, dim=None: engine(
        "cross", *_paired(input, other), axis=[*input.shape, 3].index(3) if dim is None else dim
    ),
    "index_fill PLACE IndexFillBackward0": lambda input, dim, index, value: index_copy(
        input, dim, index, _of_axes("index_fill", value, 0) if isinstance(value, core.Tensor) else value
    ),
    "is_floating_point": lambda input: input.kind is float64,
    "is_complex": lambda input: False,
    "is_inference": lambda input: getattr(input.node.extra, "inference", False),
    "is_nonzero": bool,
    "is_same_size": lambda input, other: input.shape == other.shape,
    "element_size": lambda input: input.kind.itemsize,
    "dim ndimension": lambda input: len(input.node.shape),
    "numel nelement": lambda input: int(math.prod(input.node.shape)),
}


def install_rows(rows: dict[str, Callable[..., Any]]) -> None:
    """Make functions, and methods, of rows."""
    for key, function in rows.items():
        words = key.split()
        public(
            *[word for word in words if word not in ("PLACE", "VIEW", "FUNCTION") and "Backward" not in word],
            title=next((word for word in words if "Backward" in word), ""),
            method="FUNCTION" not in words,
            place="PLACE" in words,
            view="VIEW" in words,
        )(function)


_ROWS["logsumexp"] = lambda input, dim, keepdim=False: _reduce("logsumexp", input, dim, keepdim)
for _name in ("amax", "amin", "argmax", "argmin", "all", "any"):
    _ROWS[_name] = lambda input, dim=None, keepdim=False, _name=_name: _reduce(_name, input, dim, keepdim)
install_rows(_ROWS)


def _of_axes(name: str, x: Any, axes: int = 1) -> Any:
    """A vector, or what has so many axes; RuntimeError for others."""
    need_tensor(name, x)
    if x.ndim != axes:
        raise RuntimeError(f"{name}: expected a {axes}D tensor, but got {x.ndim}D")
    return x


def _quantile(x: Any, q: Any, dim: Any, keepdim: bool) -> Any:
    if isinstance(q, core.Tensor) and (q.ndim > 1 or q.kind is not x.kind):
        raise RuntimeError(f"quantile() q must be a scalar or 1D tensor of {x.kind}, and not {q.ndim}D of {q.kind}")
    if not x.numel():
        raise RuntimeError("the input tensor must be non-empty")
    return engine("quantile", _floats("quantile", x), q, axis=dim, keepdims=keepdim)


def _paired(x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors with as many axes as each other; RuntimeError for others."""
    if x.ndim != y.ndim or not x.ndim:
        raise RuntimeError(f"inputs must have the same number of dimensions, not {x.ndim} and {y.ndim}")
    return x, y


def _without_nan(wins: str, x: Any, y: Any) -> Any:
    """The larger, or the smaller, of two entries, of equal ones the first; the other one, where one is nan."""
    return engine("where", engine("isnan", y), x, engine("where", engine(wins, x, y), x, y))


@public()
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """The entries at places along an axis; the other axes are spread to each other."""
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    if input.ndim != indices.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions")
    dim = axis_in(input, dim)
    wide = broadcast(*[(*x.shape[:dim], 1, *x.shape[dim + 1 :]) for x in (input, indices)])
    return gather(
        expand(input, *wide[:dim], input.shape[dim], *wide[dim + 1 :]),
        dim,
        expand(indices, *wide[:dim], indices.shape[dim], *wide[dim + 1 :]),
    )


# In place, without another function


def _copied(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write another tensor over this one."""
    src = src if isinstance(src, core.Tensor) else tensor_of(src)
    check_writable(self, self.requires_grad or getattr(src, "requires_grad", False))
    src = _cast(src, self)
    made = engine("clone", src) if isinstance(src, core.Tensor) else tensor_of(src)
    made = made if made.kind is self.kind else made.to(self.kind)
    made = engine("expand", made, tuple(self.node.shape)) if made.node.shape != self.node.shape else made
    if self.requires_grad:
        made = _constant(self, made)
    return write_over(self, entitle(made, "CopyBackwards"), "copy_")


def _filled(self: Any, value: Any) -> Any:
    """Write one number everywhere."""
    value = None if value is None else _cast(value, self)
    check_writable(self, self.requires_grad or getattr(value, "requires_grad", False))
    return write_over(self, _constant(self, value), "fill_")


def _constant(self: Any, value: Any) -> Any:
    """One number everywhere, with the graph of the tensor, which has no part in it."""
    everywhere = Tensor.of(np.ones(self.node.shape) if self.node.shape else 1.0, bool_)
    like = engine("where", everywhere, 0.0 if value is None else value, self)
    filled = f"FillBackward{3 if isinstance(value, core.Tensor) else 2}"
    return entitle(typed(like, self.kind), "ZeroBackward0" if value is None else filled)


_WRITING: dict[str, Any] = {"copy_": _copied, "fill_": _filled, "zero_": lambda self: _filled(self, None)}
for _name, _method in _WRITING.items():
    give(_name, checked(_name, _method))
TORCH["fill_"], TORCH["zero_"] = (getattr(Tensor, name) for name in ("fill_", "zero_"))


# Types


@public("to")
def to(input: Any, *args: Any, **keywords: Any) -> Any:
    """In another type; of devices there is one."""
    kind = keywords.get("dtype")
    for one in (*args, keywords.get("device")):
        if isinstance(one, core.Tensor):
            kind = one.kind
        elif isinstance(one, str | int) or hasattr(one, "index"):
            if not isinstance(one, bool):
                need_processor(device(one))
        elif one is not None:
            kind = one
    kind = input.kind if kind is None else as_dtype(kind)
    if kind is input.kind:
        return engine("clone", input) if keywords.get("copy") else input
    if kind is float64:
        return typed(engine("clone", input), float64)
    if kind is bool_:
        return engine("not_equal", input, 0.0)
    units.plain_number(input)
    with scope(recording=False):
        return typed(engine("trunc", input), int64)


for _names, _kind in (("double float half", float64), ("long int", int64), ("bool", bool_)):
    for _name in _names.split():
        give(_name, lambda self, *, memory_format=None, _kind=_kind: to(self, _kind))
for _name in ("cpu", "pin_memory"):
    give(_name, lambda self, *_, **__: self)
give("cuda", stay)


def _type(self: Any, dtype: Any = None) -> Any:
    """The name of its type; in another type."""
    return to(self, dtype) if dtype is not None else f"torch.{('Bool', 'Long', 'Double')[self.kind.rank]}Tensor"


give("type", _type)
give("type_as", lambda self, other: to(self, other.kind))


TORCH["detach"] = lambda input: input.detach()


@public("detach_")
def _detached(x: Any) -> Any:
    """Cut off its graph; returns itself."""
    if x._base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead")
    if x.node.shape:
        core.remember_data(x.value, x.node.seq)  # which the new node, that is younger, shares
    made = Tensor.of(x.value, x.kind)
    share_storage(x.node, made.node)
    if x.node.op is not None and x.node.requires_grad:  # those who have saved it take its graph from it
        version = x._version
        mark_written([x.node, made.node], current().statement or "detach_()", way="detach_")
        x.node.storage = made.node.storage = made.node.storage._replace(version=version)
    x._become(made.node, made.array)
    return x


TORCH["is_tensor"] = lambda obj: isinstance(obj, core.Tensor)
TORCH["result_type"] = lambda a, b: max(dtype_of(a), dtype_of(b), key=lambda one: one.rank)
TORCH["is_grad_enabled"] = lambda: current().recording


# Operators


def _operator(sign: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """An operator; most are of floats, which go the way of the engine's own."""
    op, kind = _PLAIN.get(sign, (None, float64))

    def slow(x: Any, y: Any) -> Any:
        are_operands = isinstance(x, _OPERANDS) and isinstance(y, _OPERANDS)
        return call(x, y) if are_operands else NotImplemented

    return kinded(slow) if op is None else directly(op, kinded(slow), kind)


def _reflected(operator: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: operator(other, self)


def _product(self: Any, other: Any) -> Any:
    """`x @ y`."""
    if type(other) is Tensor and other.kind is float64 and self.kind is float64 and not CAREFUL:
        try:
            made: Any = of_pair(OPS["matmul"], self, other, {}, 3)
        except AgradError as error:
            raise as_pytorch(error) from None
        made.__class__, made.kind = Tensor, float64
        return made
    return TORCH["matmul"](self, other) if isinstance(other, core.Tensor) else NotImplemented


def _forward(ours: str, other: Any, self: Any) -> Any:
    if ours in ("floor_divide", "remainder", "pow"):
        return _of_any_type(ours, other, self)
    if ours == "sub":
        _check_subtraction(self, other)
    return engine(ours, other, self)


_OPERANDS = (core.Tensor, *NUMBERS, np.ndarray, np.generic)
# Operations of which floats are all that operators need to know.
_PLAIN: dict[str, tuple[Any, Any]] = {sign: (OPS[sign], float64) for sign in ("add", "sub", "mul", "pow")}
_PLAIN |= {"truediv": (OPS["div"], float64), "lt": (OPS["less"], bool_), "gt": (OPS["greater"], bool_)}
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne",
}  # fmt: skip
_REFLECTED = {"truediv": lambda other, self: engine("mul", engine("reciprocal", self), other)}
for _sign, _ours in _OPERATORS.items():
    _call = TORCH[_ours]
    give(f"__{_sign}__", _operator(_sign, _call))
    if _sign not in ("lt", "le", "gt", "ge", "eq", "ne"):
        _swapped = _REFLECTED.get(_sign) or partial(_forward, _ours)
        give(f"__r{_sign}__", _reflected(_operator("" if _sign in _REFLECTED else _sign, _swapped)))
        give(f"__i{_sign}__", _in_place(in_place(_ours, _call)))


give("__matmul__", _product)
for _sign in ("imatmul", "rmatmul"):
    give(f"__{_sign}__", lambda self, other: NotImplemented)
give("__neg__", TORCH["neg"])
give("__abs__", TORCH["abs"])
give("__hash__", object.__hash__)


METHODS_ALONE = frozenset(TABLES["methods alone"])
