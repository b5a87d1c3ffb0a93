"""PyTorch's functions of tensors, by its names and with its arguments: made of the engine's operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

from agrad.engine.core import tensor as core
from agrad.engine.core.context import current, scope
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.ops.linalg.norms import of_vector
from agrad.engine.ops.tensor_methods import overwrite
from agrad.engine.values import np
from agrad.torch.registry import (
    NUMBERS,
    TORCH,
    checked,
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
)
from agrad.torch.tensor import PACKING, Tensor, check_writable, entitle, give, part_of, typed, write_over
from agrad.torch.types import as_dtype, as_pytorch, bool_, dtype_of, float64, int64

# What is the same in the engine but for its name: `theirs=ours`.
_UNARY = (
    "abs absolute=abs acos arccos=acos acosh arccosh=acosh asin arcsin=asin asinh arcsinh=asinh atan arctan=atan atanh "
    "arctanh=atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor lgamma log log10 log1p log2 neg "
    "negative=neg rad2deg reciprocal relu round rsqrt sigmoid sin sinc sinh sqrt square tan tanh trunc fix=trunc "
    "logit i0"
)
_BINARY = (
    "add sub subtract=sub mul multiply=mul div divide=div true_divide=div pow atan2 arctan2=atan2 fmod remainder "
    "floor_divide hypot logaddexp xlogy copysign heaviside gcd lcm"
)
_COMPARING = (
    "eq=equal ne=not_equal not_equal lt=less less le=less_equal less_equal gt=greater greater ge=greater_equal "
    "greater_equal"
)
_OTHERS = (
    "clone maximum minimum fmax=maximum fmin=minimum isnan isfinite any all amax amin "
    "argmax argmin argsort cumsum cumprod matmul mm=matmul bmm=matmul mv=matmul outer ger=outer kron inverse=inv det "
    "slogdet matrix_power pinverse=pinv selu softplus silu trace cholesky nansum nanmean matrix_exp=expm"
)


def _install() -> None:
    for text, binary, place in (
        (_UNARY, False, True),
        (_BINARY, True, True),
        (_COMPARING, True, True),
        (_OTHERS, True, False),
    ):
        for pair in text.split():
            name, _, ours = pair.partition("=")
            public(name, place=place)(plain(name, ours or name, binary))


_install()


@public(method=False)
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, else other; of a condition alone, the places where it holds."""
    if input is None:
        return nonzero(condition, as_tuple=True)
    need_tensor("where", condition, "condition")
    if condition.dtype is not bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got {condition.dtype}")
    return engine("where", condition, input, other)


give("where", lambda self, condition, other: where(condition, self, other))


def _scaled(name: str) -> Any:
    def call(input: Any, other: Any, *, alpha: Any = 1) -> Any:
        need_tensor(name, input)
        if name == "sub" and dtype_of(input) is bool_ and dtype_of(other) is bool_:
            raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported.")
        return engine(name, input, other if alpha == 1 else engine("mul", other, alpha))

    call.__doc__ = f"{name} alpha*other."
    return call


for _names in (("add",), ("sub", "subtract")):
    public(*_names, place=True)(_scaled(_names[0]))


@public("neg", "negative", place=True)
def neg(input: Any) -> Any:
    """-input."""
    need_tensor("neg", input)
    if input.dtype is bool_:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported.\n  fix: ~x")
    return engine("neg", input)


def _of_wholes(name: str, x: Any, y: Any) -> None:
    """What PyTorch refuses of whole numbers."""
    if dtype_of(x) is float64 or dtype_of(y) is float64:
        return
    other = np.asarray(getattr(y, "value", y))
    if name == "pow" and (other < 0).any():
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if name != "pow" and (other == 0).any():
        raise RuntimeError("ZeroDivisionError")


def _whole_checked(name: str) -> Any:
    def call(input: Any, other: Any) -> Any:
        _of_wholes(name, input, other)
        if name == "pow" and isinstance(input, Tensor) and type(other) in (int, float) and other == 0:
            return engine("mul", input, 0) + 1 if input.requires_grad else engine("pow", input, other)
        return engine(name, input, other)

    call.__doc__ = f"{name}, entry by entry."
    return call


for _name in ("floor_divide", "remainder", "fmod"):
    public(_name, place=True)(_whole_checked(_name))


@public(place=True)
def pow(input: Any, exponent: Any) -> Any:
    """input to the power of exponent."""
    _of_wholes("pow", input, exponent)
    return engine("pow", input, exponent)


@public("div", "divide", "true_divide", place=True)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """input/other, cut to whole numbers in one of two ways."""
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode == "trunc":
        _of_wholes("div", input, other)
        found = engine("trunc", engine("div", input, other))
        return found.to(max(dtype_of(input), dtype_of(other), key=lambda one: one.rank))
    return engine("div", input, other)


floor_divide = TORCH["floor_divide"]


@public("clamp", "clip", place=True)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """input limited to between min and max."""
    need_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    whole = input.dtype is not float64 and dtype_of(min or 0) is not float64 and dtype_of(max or 0) is not float64
    low = -math.inf if min is None else min
    high = math.inf if max is None else max
    found = (
        engine("clip", input, lo=low, hi=high) if not whole else engine("clip", input.double(), lo=low, hi=high).long()
    )
    one_sided = None if min is not None and max is not None else ("ClampMin" if max is None else "ClampMax")
    both = isinstance(min, Tensor) or isinstance(max, Tensor)
    return entitle(found, "ClampBackward0" if both else "ClampBackward1") if one_sided is None or not both else found


@public("addmm", "addmv", "baddbmm", place=True)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta*input + alpha*(mat1 @ mat2)."""
    product = engine("matmul", mat1, mat2)
    made = (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)
    return entitle(made, {1: "AddmvBackward0", 2: "AddmmBackward0"}.get(made.ndim, "BaddbmmBackward0"))


@public("dot", "vdot", "inner")
def dot(input: Any, tensor: Any) -> Any:
    """The sum of the products of two vectors."""
    if input.ndim != 1 or tensor.ndim != 1 or len(input) != len(tensor):
        raise RuntimeError(f"1D tensors of one length expected, but got {[*input.shape]} and {[*tensor.shape]}")
    return engine("matmul", input, tensor)


def _fitting(name: str, axes: tuple[int, int]) -> Any:
    def call(input: Any, mat2: Any) -> Any:
        if (input.ndim, mat2.ndim) != axes:
            raise RuntimeError(f"{name}: expected {axes[0]} and {axes[1]} axes, got {input.ndim} and {mat2.ndim}")
        return engine("matmul", input, mat2)

    call.__doc__ = "The product of two matrices, or of a matrix and a vector."
    return call


for _name, _axes in (("mm", (2, 2)), ("mv", (2, 1)), ("bmm", (3, 3))):
    public(_name)(_fitting(_name, _axes))


@public(method=False)
def einsum(equation: str, *operands: Any) -> Any:
    """The sum of products by a formula of indices."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    return engine("einsum", list(given), subscripts=equation)


@public(method=False)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum over some axes of both."""
    left, right = (list(range(-dims, 0)), list(range(dims))) if isinstance(dims, int) else dims
    left, right = [x % a.ndim for x in left], [x % b.ndim for x in right]
    rest_a, rest_b = ([x for x in range(one.ndim) if x not in used] for one, used in ((a, left), (b, right)))
    shape = [a.shape[x] for x in rest_a] + [b.shape[x] for x in rest_b]
    flat_a = a.permute(rest_a + left).reshape(math.prod(a.shape[x] for x in rest_a), -1)
    return (flat_a @ b.permute(right + rest_b).reshape(flat_a.shape[1], -1)).reshape(shape)


# Reductions


def _axis(x: Any, dim: int) -> int:
    count = max(x.ndim, 1)
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return int(dim % count)


_HALVES = {
    name: named(name, "values", "indices") for name in ("max", "min", "sort", "topk", "median", "mode", "cummax")
}


def _along(input: Any, places: Any, dim: int) -> Any:
    """The entries at places along an axis, one for each of the others."""
    return entitle(engine("take_along", input, places, axis=dim), "GatherBackward0")


def _extreme(name: str) -> Any:
    """max and min: of all entries, along an axis with places, or of two tensors."""

    def call(input: Any, *args: Any, **keywords: Any) -> Any:
        need_tensor(name, input)
        args, keywords = second((input, *args), keywords)
        dim = keywords.pop("dim", args[1] if len(args) > 1 else None)
        if isinstance(dim, core.Tensor):
            return engine(f"{name}imum", input, dim)
        if dim is None:
            if not input.numel():
                raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
            return entitle(engine(f"a{name}", input), f"{name.capitalize()}Backward1")
        keep = keywords.pop("keepdim", args[2] if len(args) > 2 else False)
        if keywords:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(keywords))}'")
        return _HALVES[name](*_chosen(input, engine(f"arg{name}", input, axis=_axis(input, dim)), dim, keep, name))

    call.__doc__ = f"The {name}imum of all entries; along an axis, with its places; of two tensors, entry by entry."
    return call


def _chosen(input: Any, places: Any, dim: int, keep: bool, name: str) -> tuple[Any, Any]:
    """The entries at one place along an axis for each of the others, and these places."""
    title = f"{name.capitalize()}Backward0"
    if not input.ndim:
        return entitle(engine("clone", input), title), places
    dim = _axis(input, dim)
    wide = engine("unsqueeze", places, dim)
    values = engine("take_along", input, wide, axis=dim)
    if keep:
        return entitle(values, title), wide
    return entitle(engine("reshape", values, tuple(places.shape)), title), places


for _name in ("max", "min"):
    public(_name)(_extreme(_name))


def _total(name: str) -> Any:
    """sum, mean and prod, which PyTorch calls otherwise along an axis."""

    def call(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Any:
        need_tensor(name, input)
        dim = axis if dim is None else dim
        dim = None if isinstance(dim, tuple | list) and not dim else dim
        input = input if dtype is None else to(input, dtype)
        if dim is not None and not isinstance(dim, tuple | list):
            _axis(input, dim)
        if not input.ndim:
            dim = None if dim is None else ()
        number = 0 if dim is None and not keepdim else 1
        return entitle(engine(name, input, axis=dim, keepdims=keepdim), f"{name.capitalize()}Backward{number}")

    call.__doc__ = f"The {name} of all entries, or along axes."
    return call


for _name in ("sum", "mean", "prod"):
    public(_name)(_total(_name))


def _moment(name: str) -> Any:
    def call(
        input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        ddof = correction if correction is not None else 0 if unbiased is False else 1
        return engine(name, input, axis=dim if dim != () else None, keepdims=keepdim, ddof=ddof)

    call.__doc__ = f"The {name} of the entries, divided by n - 1 unless told otherwise."
    return call


for _name in ("std", "var"):
    public(_name)(_moment(_name))


@public()
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of all entries, or along axes."""
    if input.dtype is not float64:
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got Long instead.")
    if p in ("fro", None) or p == 2:
        axes = tuple(range(input.ndim)) if dim is None else dim
        return entitle(engine("euclidean", input, axis=axes, keepdims=keepdim), "LinalgVectorNormBackward0")
    if p == "nuc":
        return engine("norm", input, ord="nuc", axis=dim, keepdims=keepdim)
    axes = (
        tuple(range(input.ndim))
        if dim is None
        else tuple(dim)
        if isinstance(dim, tuple | list)
        else (_axis(input, dim),)
    )
    return entitle(
        of_vector(input, float(p), tuple(sorted(x % input.ndim for x in axes)), keepdim), "LinalgVectorNormBackward0"
    )


@public()
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The entries in order along an axis, and the places where they were."""
    places = engine("argsort", input, axis=dim, descending=descending)
    return _HALVES["sort"](entitle(_taken(input, places, dim), "SortBackward0"), places)


def _taken(input: Any, places: Any, dim: int) -> Any:
    return engine("take_along", input, places, axis=dim) if input.ndim else engine("clone", input)


@public()
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest entries along an axis, and their places."""
    places = engine("topk_places", input, k=k, axis=_axis(input, dim), largest=largest)
    return _HALVES["topk"](entitle(_taken(input, places, dim), "TopkBackward0"), places)


@public()
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle entries; along an axis, with its places."""
    if dim is None:
        flat = input.reshape(-1)
        with scope(recording=False):
            middle = median(flat, 0)[0]
        found = engine("equal", flat, middle)
        if not bool(engine("any", found)):  # nan
            return entitle(median(flat, 0)[0], "MedianBackward0")
        made = engine("amax", engine("where", found, flat, -math.inf))  # equal ones share the gradient
        return entitle(made.to(input.dtype), "MedianBackward0")
    dim = _axis(input, dim)
    order = engine("argsort", input, axis=dim)
    places = engine("getitem", order, (slice(None),) * dim + ((input.shape[dim] - 1) // 2,))
    return _HALVES["median"](*_chosen(input, places, dim, keepdim, "median"))


def _over_axis(name: str) -> Any:
    def call(input: Any, dim: int | None = None, dtype: Any = None, **_: Any) -> Any:
        if dim is None:
            dim = 0 if input.ndim in (0, 1, 3) else 1
        return engine(name, input.double() if dtype is not None else input, axis=dim)

    call.__doc__ = f"{name} along an axis."
    return call


for _name in ("softmax", "log_softmax"):
    public(_name)(_over_axis(_name))


@public()
def diff(input: Any, n: int = 1, dim: int = -1) -> Any:
    """The differences between neighbours along an axis."""
    dim = _axis(input, dim)
    before = (slice(None),) * dim
    for _ in range(n):
        input = getitem(input, (*before, slice(1, None))) - getitem(input, (*before, slice(None, -1)))
    return input


# Truths


def _truths(x: Any) -> Any:
    return x if dtype_of(x) is bool_ else engine("not_equal", x, 0.0)


def _logical(name: str, bitwise: str) -> None:
    def of_truths(input: Any, other: Any) -> Any:
        a, b = _truths(input), _truths(other)
        if name == "xor":
            return engine("not_equal", a, b)
        return engine("mul" if name == "and" else "maximum", a, b)

    def of_bits(input: Any, other: Any) -> Any:
        kinds = dtype_of(input), dtype_of(other)
        if float64 in kinds:
            raise RuntimeError(f"\"bitwise_{name}_cpu\" not implemented for 'Double'")
        if int64 in kinds:
            a, b = (np.asarray(getattr(x, "value", x)).astype(np.int64) for x in (input, other))
            return tensor_of(getattr(np, f"bitwise_{name}")(a, b))
        return of_truths(input, other)

    of_truths.__doc__, of_bits.__doc__ = f"Logical {name}, entry by entry.", f"{name} of truths, or of bits."
    public(f"logical_{name}", place=True)(of_truths)
    call = public(f"bitwise_{name}", f"__{bitwise}__", f"__r{bitwise}__", place=True)(of_bits)
    give(f"__i{bitwise}__", in_place(f"bitwise_{name}", call))


for _name, _bitwise in (("and", "and"), ("or", "or"), ("xor", "xor")):
    _logical(_name, _bitwise)


@public("bitwise_not", "__invert__", place=True)
def bitwise_not(input: Any) -> Any:
    """Whether an entry does not hold; of whole numbers -x - 1."""
    if input.dtype is float64:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return engine("equal", input, 0.0) if input.dtype is bool_ else engine("sub", engine("neg", input), 1)


@public()
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether entries are near to each other."""
    a, b = np.broadcast_arrays(np.asarray(input.value), np.asarray(other.value))
    with np.errstate(all="ignore"):
        found = (a == b) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= atol + np.abs(rtol * b)))
    return tensor_of(found | (np.isnan(a) & np.isnan(b)) if equal_nan else found)


@public(place=True)
def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers in the place of nan and of infinities."""
    most = float(np.finfo(np.float64).max)
    found = where(engine("isnan", input), 0.0 if nan is None else nan, input)
    found = where(engine("equal", input, math.inf), most if posinf is None else posinf, found)
    made = where(engine("equal", input, -math.inf), -most if neginf is None else neginf, found)
    return entitle(made, "NanToNumBackward0")


# Shapes


def _reshaped(input: Any, *shape: Any) -> Any:
    """Other axes for the same entries."""
    return engine("reshape", input, sizes(shape))


@public("view", view=True)
def view(input: Any, *shape: Any, **_: Any) -> Any:
    """Other axes for the same data."""
    if len(shape) == 1 and not isinstance(shape[0], tuple | list | int):
        return input.to(shape[0])
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
    return (
        shared.places.reshape(input.shape) if deeper is None else deeper.reshape(-1)[shared.places].reshape(input.shape)
    )


@public("stride")
def stride(input: Any, dim: int | None = None) -> Any:
    """How far apart in memory neighbours along an axis are."""
    offsets, shape = _offsets(input), input.shape
    found, step = [], 1
    for axis in reversed(range(len(shape))):
        if offsets is not None and shape[axis] > 1 and offsets.size:
            ends = np.take(offsets, [0, 1], axis).reshape(-1) if offsets.ndim == 1 else None
            at = [0] * len(shape)
            start = int(offsets[tuple(at)])
            at[axis] = 1
            found.append(int(offsets[tuple(at)]) - start if ends is None else int(ends[1] - ends[0]))
        else:
            found.append(step)
        step = found[-1] * max(shape[axis], 1)
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
        known.shape = shape
    except (AttributeError, ValueError):
        return False
    return True


@public()
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Some neighbouring axes as one."""
    if not input.ndim:
        return reshape(input, 1)
    start, end = _axis(input, start_dim), _axis(input, end_dim)
    if start == end:
        return input
    return reshape(input, *input.shape[:start], math.prod(input.shape[start : end + 1]), *input.shape[end + 1 :])


@public()
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One axis as several."""
    dim = _axis(input, dim)
    return reshape(input, *input.shape[:dim], *sizes, *input.shape[dim + 1 :])


@public(view=True)
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without axes of length 1."""
    axes = (
        range(input.ndim)
        if dim is None
        else [_axis(input, x) for x in (dim if isinstance(dim, tuple | list) else (dim,))]
    )
    shape = [n for at, n in enumerate(input.shape) if n != 1 or at not in axes]
    number = 0 if dim is None else 2 if isinstance(dim, tuple | list) else 1
    return entitle(engine("reshape", input, tuple(shape)), f"SqueezeBackward{number}")


@public(view=True)
def unsqueeze(input: Any, dim: int) -> Any:
    """With one more axis, of length 1."""
    count = input.ndim + 1
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    dim %= count
    return entitle(engine("reshape", input, (*input.shape[:dim], 1, *input.shape[dim:])), "UnsqueezeBackward0")


@public(view=True)
def permute(input: Any, *dims: Any) -> Any:
    """The axes in another order."""
    axes = [_axis(input, x) for x in sizes(dims)]
    if sorted_(axes) != [*range(input.ndim)]:
        raise RuntimeError("permute(dims): the dims must name each axis once")
    return entitle(engine("permute", input, *axes) if axes else engine("clone", input), "PermuteBackward0")


sorted_ = sorted


@public("transpose", "swapaxes", "swapdims", view=True)
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    axes = [*range(input.ndim)]
    one, other = _axis(input, dim0), _axis(input, dim1)
    if axes:
        axes[one], axes[other] = axes[other], axes[one]
    return entitle(engine("permute", input, *axes) if axes else engine("clone", input), "TransposeBackward0")


@public("t", view=True)
def t(input: Any) -> Any:
    """The transpose of a matrix."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    made = engine("transpose", input) if input.ndim == 2 else engine("clone", input)
    return entitle(made, "TBackward0" if input.ndim == 2 else "AliasBackward0")


give("T", property(lambda self: permute(self, *reversed(range(self.ndim)))))
give("mT", property(lambda self: transpose(self, -2, -1)))
give("H", property(lambda self: transpose(self, -2, -1)))


@public("movedim", "moveaxis")
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Some axes at other places."""
    given = [(x,) if isinstance(x, int) else tuple(x) for x in (source, destination)]
    return _moved(input, *given)


def _moved(input: Any, source: tuple[int, ...], destination: tuple[int, ...]) -> Any:
    source, destination = (tuple(_axis(input, x) for x in axes) for axes in (source, destination))
    order = [x for x in range(input.ndim) if x not in source]
    for to, one in sorted_(zip(destination, source, strict=True)):
        order.insert(to, one)
    return permute(input, *order)


@public(view=True)
def expand(input: Any, *shape: Any) -> Any:
    """Spread over more entries, without a copy."""
    return engine("expand", input, sizes(shape))


@public(method=False)
def broadcast_tensors(*tensors: Any) -> Any:
    """All in the shape that they have together."""
    shape = np.broadcast_shapes(*[x.shape for x in tensors])
    return tuple(x if x.shape == shape else expand(x, *shape) for x in tensors)


@public("repeat", "tile")
def repeat(input: Any, *counts: Any) -> Any:
    """The whole, so many times along each axis."""
    given = sizes(counts)
    if len(given) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return entitle(engine("tile", input, *given), "RepeatBackward0")


@public("tile")
def tile(input: Any, *dims: Any) -> Any:
    """The whole, so many times along each axis."""
    given = sizes(dims)
    return repeat(input, *(1,) * (input.ndim - len(given)), *given)


@public()
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None) -> Any:
    """Each entry, so many times."""
    if dim is None:
        input, dim = reshape(input, -1), 0
    counts = repeats.tolist() if isinstance(repeats, core.Tensor) else repeats
    return index_select(input, dim, tensor_of(np.repeat(np.arange(input.shape[dim]), counts)))


@public()
def flip(input: Any, *dims: Any) -> Any:
    """In the opposite order along axes."""
    return engine("flip", input, axis=sizes(dims))


@public()
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """Entries moved along axes; what falls out comes in at the other end."""
    if dims is None:
        return entitle(_reshaped(engine("roll", _reshaped(input, -1), shifts, axis=0), *input.shape), "RollBackward0")
    several_ = isinstance(shifts, tuple | list)
    for shift, dim in zip(
        shifts if several_ else (shifts,), dims if isinstance(dims, tuple | list) else (dims,), strict=True
    ):
        input = engine("roll", input, shift, axis=dim)
    return input


@public("cat", "concat", "concatenate", method=False)
def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors one after the other along an axis."""
    if not isinstance(tensors, tuple | list):
        raise TypeError(f"cat(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
    if any(isinstance(x, core.Tensor) and not x.ndim for x in tensors):
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    return engine("concat", [x for x in tensors if x.shape != (0,)] or list(tensors), axis=dim)


@public(method=False)
def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors along a new axis."""
    return engine("stack", list(tensors), axis=dim)


def _piece(dim: int, start: int, end: int) -> Callable[[Any], Any]:
    name = "SplitBackward0"
    return lambda whole: entitle(engine("getitem", whole, (slice(None),) * dim + (slice(start, end),)), name)


@public()
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Views of pieces along an axis."""
    dim, size = _axis(tensor, dim), split_size_or_sections
    length = tensor.shape[dim]
    if isinstance(size, int):
        ends = [*range(size, length, size), length]
    else:
        ends = [*accumulate(size)]
        if ends[-1] != length:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length}, but got {[*size]}")
    return several(tensor, [_piece(dim, *pair) for pair in zip([0, *ends[:-1]], ends, strict=True)])


@public()
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:
    """Pieces whose lengths differ by one at most."""
    pieces = np.array_split(np.arange(input.shape[_axis(input, dim)]), indices_or_sections)
    return split(input, [len(piece) for piece in pieces], dim)


@public()
def unbind(input: Any, dim: int = 0) -> Any:
    """Views of the entries along an axis."""
    if not input.ndim:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    dim = _axis(input, dim)

    def take(place: int) -> Callable[[Any], Any]:
        return lambda whole: entitle(engine("getitem", whole, (slice(None),) * dim + (place,)), "UnbindBackward0")

    return several(input, [take(place) for place in range(input.shape[dim])])


@public(view=True)
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """A piece along an axis."""
    where_ = (slice(None),) * _axis(input, dim) + (slice(int(start), int(start) + length),)
    return entitle(engine("getitem", input, where_), "SliceBackward0")


@public(view=True)
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The entries of a diagonal."""
    return entitle(engine("diagonal", input, k=offset, axis1=dim1, axis2=dim2), "DiagonalBackward0")


@public("diag_embed", "diagflat")
def diag_embed(input: Any, offset: int = 0) -> Any:
    """Matrices of diagonals."""
    if input.ndim == 1:
        return engine("diag", input, k=offset)
    return input.unsqueeze(-1) * TORCH["eye"](input.shape[-1])


@public(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """Coordinates of all points of a grid."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    count = len(given)
    swapped = indexing == "xy" and count > 1
    order = [1, 0, *range(2, count)] if swapped else [*range(count)]
    shape = [given[x].numel() for x in order]
    return tuple(
        expand(reshape(x, *[-1 if order[at] == place else 1 for at in range(count)]), *shape)
        for place, x in enumerate(given)
    )


@public()
def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """Windows along an axis, their entries along a new last one."""
    dim = _axis(input, dimension)
    starts = np.arange(0, input.shape[dim] - size + 1, step)
    taken = index_select(input, dim, tensor_of((starts[:, None] + np.arange(size)).reshape(-1)))
    return movedim(unflatten(taken, dim, (len(starts), size)), dim + 1, -1)


# Indices


def index_of(index: Any) -> Any:
    """An index as the engine has it."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(_part(part) for part in parts)


def _checked(x: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index without the slices that take everything, at its end; IndexError where it has too many parts."""
    taken = sum(_width(part) for part in parts)
    if taken > len(x.node.shape):
        if not x.node.shape:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
        raise IndexError(f"too many indices for tensor of dimension {len(x.node.shape)}")
    return parts


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
        raise TypeError(
            f"only integers, slices, ellipsis, None and tensors are valid indices, not {type(part).__name__}"
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
    parts = _checked(input, index_of(index))
    if len(parts) == 1 and getattr(parts[0], "shape", None) == () and parts[0].dtype == bool:
        return engine("getitem", engine("reshape", input, (1, *input.shape)), np.zeros(int(parts[0]), dtype=np.intp))
    if any(hasattr(part, "dtype") for part in parts):
        first, then = _steps(input, parts)
        if any(part != slice(None) for part in first):
            input = engine("getitem", input, first)
        return engine("getitem", input, then)
    taken = _steps_taken(input, parts)
    made = entitle(_at(input, parts), f"{taken[-1]}Backward0" if taken else "AliasBackward0")
    return part_of(input, made, lambda whole: _at(whole, parts))


def _at(x: Any, parts: tuple[Any, ...]) -> Any:
    return engine("getitem", x, parts)


def _setitem(self: Any, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    parts = _checked(self, index_of(index))
    if len(parts) == 1 and getattr(parts[0], "shape", None) == () and parts[0].dtype == bool:
        if not parts[0]:
            return
        parts = (Ellipsis,)
    value = _cast(value, self)
    check_writable(self, self.requires_grad or getattr(value, "requires_grad", False))
    arrays = [part for part in parts if hasattr(part, "dtype")]
    if self.view_of is not None and self.view_of.overlaps:
        view = part_of(self, _at(self, parts), lambda whole: _at(whole, parts))
        if arrays:  # by which PyTorch writes the same entry twice
            overwrite(view, expand(tensor_of(value).to(self.dtype), *view.shape).clone(), "x[…] =")
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
        write_over(self, entitle(engine("reshape", flat, self.shape), "IndexPutBackward0"), "x[…] =")
        return
    title = "IndexPutBackward0" if arrays else "CopySlices" if _steps_taken(self, parts) else "CopyBackwards"
    write_over(self, entitle(_put(self, value, parts), title), "x[…] =")


def _flat(value: Any) -> Any:
    return engine("reshape", value, (-1,)) if isinstance(value, core.Tensor) and value.ndim else value


def _put(self: Any, value: Any, parts: tuple[Any, ...]) -> Any:
    if isinstance(value, core.Tensor) and len(value.node.shape) > len(self.node.shape):
        value = engine("reshape", value, value.node.shape[len(value.node.shape) - len(self.node.shape) :])
    return engine("index_put", self, value, parts)


def _cast(value: Any, like: Any) -> Any:
    """A value in the type of what it is written into."""
    if dtype_of(value).rank > like.dtype.rank:
        value = tensor_of(value).to(like.dtype)
    return tensor_of(value) if isinstance(value, list | tuple | np.ndarray) else value


give("__setitem__", checked("__setitem__", _setitem))


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


@public()
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """The entries at places along an axis."""
    _need_places("gather", index)
    if not input.ndim:
        return engine("clone", input)
    return entitle(engine("getitem", input, _beside(input, _axis(input, dim), index)), "GatherBackward0")


@public()
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The entries at some places along an axis."""
    where_ = _slices("index_select", input, dim, index)
    return entitle(engine("getitem", input, where_), "IndexSelectBackward0")


@public()
def take(input: Any, index: Any) -> Any:
    """Entries by their places in the whole."""
    return entitle(getitem(reshape(input, -1), index), "TakeBackward0")


@public()
def masked_select(input: Any, mask: Any) -> Any:
    """The entries where a mask holds."""
    shape = np.broadcast_shapes(input.shape, mask.shape)
    return entitle(getitem(expand(input, *shape), expand(mask, *shape)), "MaskedSelectBackward0")


@public(place=True)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """A number where a mask holds."""
    if dtype_of(mask) is not bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    return entitle(engine("where", mask, _cast(value, input), input), "MaskedFillBackward0")


@public(place=True)
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """Entries of a source, in order, where a mask holds."""
    places = np.nonzero(np.broadcast_to(np.asarray(mask.value) != 0, input.shape))
    made = engine("index_put", input, getitem(reshape(source, -1), slice(0, len(places[0]))), places)
    return entitle(made, "MaskedScatterBackward0")


def _source(src: Any, index: Any, where_: tuple[Any, ...]) -> Any:
    """What is scattered: a number, or the entries of a source that have a place."""
    if not isinstance(src, core.Tensor):
        return src
    return engine("getitem", src, tuple(slice(0, n) for n in index.shape)) if src.shape != index.shape else src


@public(place=True)
def scatter(input: Any, dim: int, index: Any, src: Any = None, value: Any = None, *, reduce: str | None = None) -> Any:
    """Entries put at places along an axis."""
    _need_places("scatter", index)
    src = value if src is None else src
    places = _beside(input, _axis(input, dim), index)
    if reduce == "add":
        return scatter_add(
            input, dim, index, src if isinstance(src, core.Tensor) else TORCH["full"](index.shape, float(src))
        )
    if reduce == "multiply":
        return scatter_reduce(input, dim, index, src, "prod")
    return entitle(engine("index_put", input, _source(src, index, places), places), "ScatterBackward0")


@public(place=True)
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Entries added at places along an axis."""
    _need_places("scatter_add", index)
    places = _beside(input, _axis(input, dim), index)
    added = engine("scatter", _source(src, index, places), places, tuple(input.shape))
    return entitle(engine("add", input, added), "ScatterAddBackward0")


@public(place=True)
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Entries joined at places along an axis: by sum, mean, prod, amax or amin."""
    if reduce == "sum" and include_self:
        return entitle(scatter_add(input, dim, index, src), "ScatterReduceBackward0")
    dim = _axis(input, dim)
    found: dict[tuple[int, ...], list[Any]] = {}
    for at in np.ndindex(*index.shape):
        place = (*at[:dim], int(index.value[at]), *at[dim + 1 :])
        found.setdefault(place, [input[place]] if include_self else []).append(src[at])
    join = {
        "sum": TORCH["sum"],
        "mean": TORCH["mean"],
        "prod": TORCH["prod"],
        "amax": TORCH["amax"],
        "amin": TORCH["amin"],
    }
    places = tuple(np.array(column) for column in zip(*found, strict=True))
    joined = stack([join[reduce](stack(several_)) for several_ in found.values()])
    return entitle(engine("index_put", input, joined, places), "ScatterReduceBackward0")


@public(place=True)
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Slices added at places along an axis."""
    if source.ndim != input.ndim:
        raise RuntimeError("index_add_(): Source and destination should have the same number of dimensions")
    where_ = _slices("index_add", input, dim, index)
    added = engine("scatter", source if alpha == 1 else source * alpha, where_, tuple(input.shape))
    return entitle(engine("add", input, added), "IndexAddBackward0")


def _slices(name: str, input: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """The index of whole slices at places along an axis."""
    _need_places(name, index)
    dim, places = _axis(input, dim), np.atleast_1d(np.asarray(index.value)).astype(np.intp)
    length = input.shape[dim] if input.ndim else 1
    if places.size and not (-length <= places.min() and places.max() < length):
        raise IndexError(f"index out of range in self: {places.max()} of {length}")
    return (slice(None),) * dim + (places,)


@public(place=True)
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """Slices put at places along an axis."""
    where_ = _slices("index_copy", input, dim, index)
    return entitle(engine("index_put", input, source, where_), "IndexCopyBackward0")


@public(place=True)
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Values put, or added, at an index."""
    parts = index_of(tuple(indices))
    if not accumulate:
        return entitle(engine("index_put", input, values, parts), "IndexPutBackward0")
    shape = engine("getitem", input, parts).shape
    added = engine("scatter", expand(values, *shape), parts, tuple(input.shape))
    return entitle(engine("add", input, added), "IndexPutBackward0")


@public()
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The places of the entries that are not 0."""
    places = np.argwhere(np.atleast_1d(np.asarray(input.value)))
    return tuple(tensor_of(column) for column in places.T) if as_tuple else tensor_of(places)


Results = named("unique", "output", "inverse_indices", "counts")


@public()
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Each entry once, in order."""
    from agrad.torch.tensor import as_array

    found, inverse, counts = np.unique(as_array(input), return_inverse=True, return_counts=True, axis=dim)
    made = [tensor_of(found)]
    made += [tensor_of(inverse.reshape(input.shape if dim is None else -1))] * return_inverse
    made += [tensor_of(counts)] * return_counts
    return tuple(made) if len(made) > 1 else made[0]


@public()
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number occurs."""
    given = None if weights is None else np.asarray(weights.value)
    return tensor_of(np.bincount(np.asarray(input.value).astype(np.intp), given, minlength))


@public()
def searchsorted(sorted_sequence: Any, values: Any, *, right: bool = False) -> Any:
    """Where values would be put into an ordered sequence."""
    side: Any = "right" if right else "left"
    return tensor_of(np.searchsorted(sorted_sequence.value, np.asarray(getattr(values, "value", values)), side))


@public("cummax")
def cummax(input: Any, dim: int) -> Any:
    """The largest entry so far along an axis, and its place."""
    array, dim = np.asarray(input.value), _axis(input, dim)
    best = np.maximum.accumulate(array, dim)
    steps = np.arange(array.shape[dim]).reshape([-1 if at == dim else 1 for at in range(array.ndim)])
    places = tensor_of(np.maximum.accumulate(np.where((array == best) | np.isnan(array), steps, 0), dim))
    return _HALVES["cummax"](entitle(gather(input, dim, places), "CummaxBackward0"), places)


@public("sign", "sgn", place=True)
def sign(input: Any) -> Any:
    """-1, 0 or 1; 0 of nan."""
    need_tensor("sign", input)
    return entitle(engine("where", engine("isnan", input), 0, engine("sign", input)), "SignBackward0")


@public(place=True)
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight*(end - input), computed from the nearer end."""
    if isinstance(weight, core.Tensor):
        return entitle(input + weight * (end - input), "LerpBackward1")
    found = input + weight * (end - input) if abs(weight) < 0.5 else end - (end - input) * (1 - weight)
    return entitle(found, "LerpBackward0")


def _scaled_first(value: Any, tensor1: Any, tensor2: Any, name: Any = "mul") -> Any:
    """The product, or the quotient, of two tensors, times a number."""
    return engine(name, tensor1 if value == 1 else engine("mul", value, tensor1), tensor2)


# What is one expression, by PyTorch's names; PLACE: it also writes in place, VIEW: it is a view, FUNCTION: no method.
_ROWS: dict[str, Callable[..., Any]] = {
    "rsub PLACE": lambda input, other: engine("sub", other, input),
    "clamp_min PLACE": lambda input, min: entitle(clamp(input, min=min), "ClampMinBackward0"),
    "clamp_max PLACE": lambda input, max: entitle(clamp(input, max=max), "ClampMaxBackward0"),
    "addcmul PLACE": lambda input, a, b, *, value=1: entitle(input + _scaled_first(value, a, b), "AddcmulBackward0"),
    "addcdiv PLACE": lambda input, a, b, *, value=1: entitle(
        input + _scaled_first(value, a, b, "div"), "AddcdivBackward0"
    ),
    "argmax": lambda input, dim=None, keepdim=False: engine("argmax", input, axis=dim, keepdims=keepdim),
    "argmin": lambda input, dim=None, keepdim=False: engine("argmin", input, axis=dim, keepdims=keepdim),
    "var_mean std_mean FUNCTION": lambda input, dim=None, unbiased=True, keepdim=False: (
        TORCH["var"](input, dim, unbiased, keepdim),
        engine("mean", input, axis=dim, keepdims=keepdim),
    ),
    "std_mean FUNCTION": lambda input, dim=None, unbiased=True, keepdim=False: (
        TORCH["std"](input, dim, unbiased, keepdim),
        engine("mean", input, axis=dim, keepdims=keepdim),
    ),
    "logsumexp": lambda input, dim, keepdim=False: engine("logsumexp", input, axis=dim, keepdims=keepdim),
    "softmin": lambda input, dim: engine("softmax", engine("neg", input), axis=dim),
    "count_nonzero": lambda input, dim=None: engine("sum", engine("not_equal", input, 0.0), axis=dim),
    "quantile": lambda input, q, dim=None, keepdim=False: entitle(
        engine("quantile", input, q, axis=dim, keepdims=keepdim), "SqueezeBackward4"
    ),
    "dist": lambda input, other, p=2: norm(input - other, p),
    "cdist FUNCTION": lambda x1, x2, p=2.0: norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, dim=-1),
    "logical_not PLACE": lambda input: engine("equal", input, 0.0),
    "isinf": lambda input: engine("equal", engine("abs", input), math.inf),
    "allclose": lambda input, other, rtol=1e-05, atol=1e-08, equal_nan=False: bool(
        isclose(input, other, rtol, atol, equal_nan).all()
    ),
    "equal": lambda input, other: (
        input.shape == other.shape and bool(np.all(np.asarray(input.value) == np.asarray(other.value)))
    ),
    "contiguous": lambda input, memory_format=None: input if is_contiguous(input) else engine("clone", input),
    "ravel": lambda input: reshape(input, -1),
    "view_as reshape_as": lambda input, other: reshape(input, *other.shape),
    "broadcast_to": lambda input, size: expand(input, *size),
    "expand_as": lambda input, other: expand(input, *other.shape),
    "fliplr": lambda input: flip(input, 1),
    "flipud": lambda input: flip(input, 0),
    "hstack FUNCTION": lambda tensors: cat(tensors, 0 if tensors[0].ndim <= 1 else 1),
    "column_stack FUNCTION": lambda tensors: cat([x if x.ndim > 1 else reshape(x, -1, 1) for x in tensors], 1),
    "vstack row_stack FUNCTION": lambda tensors: cat([x if x.ndim > 1 else reshape(x, 1, -1) for x in tensors], 0),
    "chunk": lambda input, chunks, dim=0: split(input, -(-input.shape[_axis(input, dim)] // chunks) or 1, dim),
    "select VIEW": lambda input, dim, index: entitle(
        engine("getitem", input, (slice(None),) * _axis(input, dim) + (int(index),)), "SelectBackward0"
    ),
    "diag": lambda input, diagonal=0: entitle(
        engine("diag", input, k=diagonal), "DiagBackward0" if input.ndim == 1 else "DiagonalBackwardCopy0"
    ),
    "tril PLACE": lambda input, diagonal=0: entitle(engine("tril", input, k=diagonal), "TrilBackward0"),
    "triu PLACE": lambda input, diagonal=0: entitle(engine("triu", input, k=diagonal), "TriuBackward0"),
    "cartesian_prod FUNCTION": lambda *tensors: stack([reshape(x, -1) for x in meshgrid(*tensors)], 1),
    "cross": lambda input, other, dim=-1: engine("cross", input, other, axis=dim),
    "take_along_dim": lambda input, indices, dim: gather(input, dim, indices),
    "index_fill PLACE": lambda input, dim, index, value: entitle(
        index_copy(input, dim, index, value), "IndexFillBackward0"
    ),
    "numel nelement": lambda input: int(math.prod(input.node.shape)),
}


def install_rows(rows: dict[str, Callable[..., Any]]) -> None:
    """Make functions, and methods, of rows."""
    for key, function in rows.items():
        words = [word for word in key.split() if not word.isupper() or len(word) == 1]
        way = key.split()[-1]
        public(*words, method=way != "FUNCTION", place=way == "PLACE", view=way == "VIEW")(function)


install_rows(_ROWS)


# In place, without another function


def _copied(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write another tensor over this one."""
    src = src if isinstance(src, core.Tensor) else tensor_of(src)
    check_writable(self, self.requires_grad or getattr(src, "requires_grad", False))
    src = _cast(src, self)
    made = engine("clone", src) if isinstance(src, core.Tensor) else tensor_of(src)
    made = made if made.dtype is self.dtype else made.to(self.dtype)
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
    like = engine(
        "where",
        Tensor.of(np.ones(self.node.shape) if self.node.shape else 1.0, bool_),
        0.0 if value is None else value,
        self,
    )
    return entitle(
        typed(like, self.dtype),
        "ZeroBackward0" if value is None else "FillBackward3" if isinstance(value, core.Tensor) else "FillBackward2",
    )


_WRITING: dict[str, Any] = {"copy_": _copied, "fill_": _filled, "zero_": lambda self: _filled(self, None)}
for _name, _method in _WRITING.items():
    give(_name, checked(_name, _method))
TORCH["fill_"], TORCH["zero_"] = (getattr(Tensor, name) for name in ("fill_", "zero_"))


# Types


@public("to")
def to(input: Any, *args: Any, **keywords: Any) -> Any:
    """In another type; devices are left out, since there is one."""
    kind = keywords.get("dtype")
    for one in args:
        if isinstance(one, core.Tensor):
            kind = one.dtype
        elif one is not None and not isinstance(one, str | bool) and not hasattr(one, "index"):
            kind = one
    kind = input.dtype if kind is None else as_dtype(kind)
    if kind is input.dtype:
        return engine("clone", input) if keywords.get("copy") else input
    if kind is float64:
        return typed(engine("clone", input), float64)
    if kind is bool_:
        return engine("not_equal", input, 0.0)
    with scope(recording=False):
        return typed(engine("trunc", input), int64)


for _name, _kind in {
    "double": float64,
    "float": float64,
    "half": float64,
    "long": int64,
    "int": int64,
    "bool": bool_,
}.items():
    give(_name, lambda self, _kind=_kind, **_: to(self, _kind))
for _name in ("cpu", "cuda", "pin_memory"):
    give(_name, lambda self, *_, **__: self)


def _type(self: Any, dtype: Any = None) -> Any:
    """The name of its type; in another type."""
    return to(self, dtype) if dtype is not None else f"torch.{('Bool', 'Long', 'Double')[self.dtype.rank]}Tensor"


give("type", _type)
give("type_as", lambda self, other: to(self, other.dtype))


@public("dim", "ndimension")
def dim(input: Any) -> int:
    """How many axes it has."""
    return len(input.node.shape)


TORCH["detach"] = lambda input: input.detach()
_ANSWERS: dict[str, Any] = {
    "is_floating_point": lambda x: x.dtype is float64,
    "is_complex": lambda x: False,
    "is_nonzero": bool,
    "element_size": lambda x: x.dtype.itemsize,
    "data_ptr": lambda x: id(x.value),
    "is_same_size": lambda x, other: x.shape == other.shape,
    "detach_": lambda x: _detached(x),
    "is_inference": lambda x: False,
}
for _name, _answer in _ANSWERS.items():
    public(_name)(_answer)


def _detached(x: Any) -> Any:
    """Cut off its graph; returns itself."""
    made = Tensor.of(x.value, x.dtype)
    x._become(made.node, made.array)
    return x


TORCH["is_tensor"] = lambda obj: isinstance(obj, core.Tensor)
TORCH["result_type"] = lambda a, b: max(dtype_of(a), dtype_of(b), key=lambda one: one.rank)
TORCH["is_grad_enabled"] = lambda: current().recording


# Operators


def _operator(name: str, is_reflected: bool, call: Callable[..., Any]) -> Callable[..., Any]:
    plain_call, kind = _PLAIN.get(name, (None, float64))

    def method(self: Any, other: Any) -> Any:
        try:
            if plain_call is not None and self.dtype is float64 and self.node.extra is None and not PACKING:
                y = core.bare(other.node, other.array) if type(other) is Tensor and other.dtype is float64 else other
                if (y is not other and other.node.extra is None) or type(other) in (float, int):
                    made = plain_call(core.bare(self.node, self.array), y)  # most calls: in half of the time
                    made.__class__, made.dtype = type(self) if y is other else Tensor, kind
                    return made
            if not isinstance(other, (core.Tensor, *NUMBERS, np.ndarray, np.generic)):
                return NotImplemented
            return call(other, self) if is_reflected else call(self, other)
        except AgradError as error:
            raise as_pytorch(error, (self, other)) from None

    method.__name__ = name
    return method


def _forward(ours: str, other: Any, self: Any) -> Any:
    if ours in ("floor_divide", "remainder", "pow"):
        _of_wholes(ours, other, self)
    if ours == "sub" and dtype_of(other) is bool_ and dtype_of(self) is bool_:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported.")
    return engine(ours, other, self)


_PLAIN = {f"__{sign}__": (OPS[sign].call, float64) for sign in ("add", "sub", "mul")} | {
    "__truediv__": (OPS["div"].call, float64),
    "__lt__": (OPS["less"].call, bool_),
    "__gt__": (OPS["greater"].call, bool_),
}  # operators of float64 alone
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne",
}  # fmt: skip
_REFLECTED = {"truediv": lambda other, self: engine("mul", engine("reciprocal", self), other)}
for _sign, _ours in _OPERATORS.items():
    _call = TORCH[_ours]
    give(f"__{_sign}__", _operator(f"__{_sign}__", False, _call))
    if _sign not in ("lt", "le", "gt", "ge", "eq", "ne"):
        _swapped = _REFLECTED.get(_sign) or partial(_forward, _ours)
        give(f"__r{_sign}__", _operator(f"__r{_sign}__", True, _swapped))
        give(f"__i{_sign}__", in_place(_ours, _call))


give("__neg__", TORCH["neg"])
give("__abs__", TORCH["abs"])
give("__pos__", lambda self: self)
give("__hash__", object.__hash__)
