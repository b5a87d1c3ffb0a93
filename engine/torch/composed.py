"""PyTorch's functions of tensors that are a formula of others: each is a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import reduce
from itertools import combinations as choices
from itertools import combinations_with_replacement as choices_again
from typing import Any

from agrad.engine.core import tensor as core
from agrad.engine.core.arguments import axis_of
from agrad.engine.core.context import current
from agrad.engine.core.devices import need_processor
from agrad.engine.core.graph import Storage
from agrad.engine.core.versions import mark_written
from agrad.engine.values import np
from agrad.torch.autograd import enable_grad
from agrad.torch.functions import _HALVES, _chosen, _offsets, install_rows, is_contiguous
from agrad.torch.registry import TORCH, T, axis_in, engine, named, plain, public, sizes, tensor_of
from agrad.torch.tensor import Tensor, above, as_array, as_numbers, check_writable, entitle, give, part_of
from agrad.torch.types import as_dtype, bool_, device, dtype_of, float64

_MINMAX, _SVD, _QR = named("aminmax", "min", "max"), named("svd", "U", "S", "V"), named("qr", "Q", "R")
_SLOGDET = named("slogdet", "sign", "logabsdet")

for _pair in "gammainc=igamma gammaincc=igammac lgamma=gammaln".split():
    _ours, _, _name = _pair.partition("=")
    public(_name)(plain(_name, _ours, True))


def _cut(name: str, axis: int) -> Callable[..., Any]:
    def call(input: Any, parts: Any) -> Any:
        dim = axis if input.ndim > 1 else 0
        if input.ndim < (axis or 2) + (axis == 2) or (isinstance(parts, int) and input.shape[dim] % parts):
            raise RuntimeError(f"{name} cannot cut a tensor of shape {[*input.shape]} into {parts} equal pieces")
        return T.tensor_split(input, parts, dim)

    return call


def _at_least(count: int) -> Callable[..., Any]:
    def call(*tensors: Any) -> Any:
        if len(tensors) > 1:
            return tuple(call(x) for x in tensors)
        x = tensors[0]
        while x.ndim < count:
            x = x.unsqueeze(-1 if x.ndim == 2 else 0)
        return x

    return call


def _placed(name: str) -> Callable[..., Any]:
    """`x.unsqueeze_(0)`: a shape that takes the place of another. A leaf stays one; a history goes on."""

    def call(self: Any, *args: Any, **given: Any) -> Any:
        check_writable(self, self.requires_grad)
        shared: Any = self.view_of
        if shared is not None:  # a view of constants stays one, in its new shape
            is_view = shared.whole is not None
            if any(part() is not None for part, *_ in shared.parts) or (is_view and self.requires_grad):
                raise RuntimeError(f"{name}_() cannot turn what shares its data with a view\n  fix: x = x.{name}(…)")
        before, turn = self._version, TORCH[name]
        if self.requires_grad and self.is_leaf:
            self.data = turn(self.data, *args, **given)
        else:
            with enable_grad():
                made = turn(self.clone(), *args, **given)
            self._become(made.node, made.array)
            self.node.storage = Storage(version=before)
            if shared is not None and shared.whole is not None:
                again = shared.again or (lambda whole: whole)
                part_of(shared.whole, self, lambda whole: turn(again(whole), *args, **given), shared.kind, shared.made)
                return self
        mark_written([self.node], f"{name}_()")
        return self

    return call


def _without_graph(find: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's of the entries, whose result has no derivative."""
    return lambda input, *args, **given: tensor_of(find(np.asarray(input.value), *args, **given))


def _unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Each entry once, in order."""
    if not isinstance(sorted, bool):
        raise TypeError("unique(): argument 'sorted' must be bool")
    if dim is not None and axis_in(input, dim) >= input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    _, first, inverse, counts = np.unique(as_array(input), True, True, True, axis=dim)
    places = tensor_of(first)
    found = input.reshape(-1)[places] if dim is None else input.index_select(dim, places)
    made = [entitle(found, "Unique2Backward0" if dim is None else "UniqueDimBackward0")]
    made += [tensor_of(inverse.reshape(input.shape if dim is None else -1))] * return_inverse
    made += [tensor_of(counts)] * return_counts
    return tuple(made) if len(made) > 1 else made[0]


def _strided(input: Any, size: Any, stride_: Any, storage_offset: int | None = None) -> Any:
    if not is_contiguous(input):
        raise RuntimeError("as_strided of data that are not one after the other\n  fix: x.contiguous().as_strided(…)")
    places = np.array(storage_offset or 0)
    for n, step in zip(size, stride_, strict=True):
        places = places[..., None] + step * np.arange(n)
    return entitle(engine("getitem", engine("reshape", input, (-1,)), places.astype(np.intp)), "AsStridedBackward0")


def _offset(input: Any) -> int:
    found = _offsets(input)
    return int(found.reshape(-1)[0]) if found is not None and found.size else 0


def _address(input: Any) -> int:
    """A number for the whole whose data it shares, and for the place of its first entry in there."""
    return (id(above(input)[-1]) << 32) + 8 * _offset(input)


def _unique_neighbours(input: Any, return_inverse: bool = False, return_counts: bool = False) -> Any:
    x = np.asarray(input.value).reshape(-1)
    new = np.concatenate([[True], x[1:] != x[:-1]])[: x.size]
    places = np.flatnonzero(new)
    made = [entitle(input.reshape(-1)[tensor_of(places)], "UniqueConsecutiveBackward0")]
    made += [tensor_of((np.cumsum(new) - 1).reshape(input.shape))] * return_inverse
    made += [tensor_of(np.diff([*places, x.size]))] * return_counts
    return tuple(made) if len(made) > 1 else made[0]


def _mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    order = T.sort(input, dim)[0]
    array = np.moveaxis(np.asarray(order.value), dim, -1)
    rows = array.reshape(-1, array.shape[-1])
    best = np.array([found[np.argmax(count)] for found, count in (np.unique(r, return_counts=True) for r in rows)])
    same = np.moveaxis(np.asarray(input.value), dim, -1).reshape(rows.shape) == best[:, None]
    places = tensor_of((same.shape[1] - 1 - np.argmax(same[:, ::-1], 1)).reshape(array.shape[:-1]))
    return _HALVES["mode"](*_chosen(input, places, dim, keepdim, "mode"))


def _kth(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    values, places = T.sort(input, dim)
    if not 1 <= k <= max(1, *values.shape[dim : dim + 1 or None]):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    found = entitle(values.select(dim, k - 1), "KthvalueBackward0"), places.select(dim, k - 1)
    made = named("kthvalue", "values", "indices")
    return made(*(x.unsqueeze(dim) for x in found)) if keepdim else made(*found)


def _isin(elements: Any, test_elements: Any) -> Any:
    if bool_ in (dtype_of(elements), dtype_of(test_elements)):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    return tensor_of(np.isin(*(as_array(x) if isinstance(x, core.Tensor) else x for x in (elements, test_elements))))


def _positive(input: Any) -> Any:
    if input.kind is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


give("__pos__", _positive)


def _cov(input: Any, *, correction: int = 1) -> Any:
    x = (input.reshape(1, -1) if input.ndim < 2 else input).to(float64)
    x = x - x.mean(1, keepdim=True)
    return (x @ x.T / (x.shape[1] - correction)).squeeze()


def _corrcoef(input: Any) -> Any:
    c = _cov(input)
    if not c.ndim:
        return c / c
    spread = c.diagonal().sqrt()
    return (c / spread.unsqueeze(-1) / spread).clamp(-1, 1)


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 - PyTorch's name
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    return x.unsqueeze(-1) ** tensor_of(np.arange(N or len(x))[:: 1 if increasing else -1].copy())


def _trapezoids(y: Any, x: Any, dx: Any, dim: int) -> Any:
    """The areas between neighbours, along the last axis."""
    y = y.movedim(dim, -1)
    return (y[..., 1:] + y[..., :-1]) / 2 * (dx if x is None else x.diff())


def _block_diag(*tensors: Any) -> Any:
    given = [x.reshape(1, -1) if x.ndim < 2 else x for x in tensors]
    width, start, rows = sum(x.shape[1] for x in given), 0, []
    for x in given:
        ends = start, width - start - x.shape[1]
        parts = [T.zeros(x.shape[0], ends[0], dtype=x.kind), x, T.zeros(x.shape[0], ends[1], dtype=x.kind)]
        rows.append(T.cat(parts, 1))
        start += x.shape[1]
    return T.cat(rows, 0)


def triangle(x: Any, side: str) -> Any:
    """A matrix that is read from one triangle, as LAPACK does; its derivative is that of a symmetric matrix."""
    if side not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {side}")
    half, without = (T.triu, 1) if side == "U" else (T.tril, -1)
    entries = x.detach()
    symmetric = half(entries) + half(entries, without).mT
    return x if bool((symmetric == entries).all()) else x + (symmetric - entries)


def cholesky(x: Any, *, upper: bool = False) -> Any:
    """The triangular factor of a matrix, whose other triangle is not read."""
    found = engine("cholesky", triangle(x, "U" if upper else "L"))
    return found.mT if upper else found


def _no_derivative(x: Any, what: str, fix: str) -> None:
    if x.requires_grad and current().recording:
        raise RuntimeError(f"{what} has no derivative\n  fix: {fix}")


def svd(x: Any, full_matrices: bool = True) -> Any:
    """Singular vectors and values; of a matrix that is not square, all vectors, as PyTorch's default is."""
    if not full_matrices or x.shape[-1] == x.shape[-2]:
        return engine("svd", x)
    _no_derivative(x, "svd with all vectors of a matrix that is not square", "torch.linalg.svd(A, full_matrices=False)")
    return tuple(map(tensor_of, np.linalg.svd(as_array(x))))


def qr(x: Any, mode: str = "reduced") -> Any:
    """Q and R; a complete Q is square."""
    if mode == "reduced" or (mode == "complete" and x.shape[-1] >= x.shape[-2]):
        return engine("qr", x)
    if mode == "r":
        return T.empty(0), engine("qr", x)[1]
    if mode != "complete":
        raise RuntimeError(f"qr received unrecognized mode '{mode}': 'reduced', 'complete' or 'r'")
    _no_derivative(x, "qr with a complete Q", "torch.linalg.qr(A)")
    return tuple(map(tensor_of, np.linalg.qr(as_array(x), "complete")))


def _cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:  # noqa: N803 - PyTorch's name
    factor = L.mT if upper else L
    half = engine("solve_triangular", factor, input, lower=True)
    return engine("solve_triangular", factor.mT, half, lower=False)


def _logcumsumexp(input: Any, dim: int) -> Any:
    top = input.detach().amax(dim, True)
    return entitle((input - top).exp().cumsum(dim).log() + top, "LogcumsumexpBackward0")


def _logdet(input: Any) -> Any:
    sign, log = engine("slogdet", input)
    return entitle(log + sign.detach().log(), "AddBackward0")


def _rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    a, b = (axis_in(input, dim) for dim in dims)
    if a == b:
        raise RuntimeError(f"rot90: expected rotation dims to be different, but got {a} twice")
    for _ in range(k % 4):
        input = input.flip(b).transpose(a, b)
    return entitle(input.clone(), "Rot90Backward0")


def _scattered(take: str) -> Callable[..., Any]:
    """A copy, a view of which is written over."""

    def call(input: Any, src: Any, *args: Any, **given: Any) -> Any:
        made = input.clone()
        part = TORCH[take](made, *args, **given)
        if part.shape != src.shape:
            raise RuntimeError(f"{take}_scatter: src is of {[*src.shape]}, and the part of {[*part.shape]}")
        part.copy_(src)
        return made

    return call


def _sliced(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    before = axis_of("slice", input.shape, dim)
    return input[(slice(None),) * before + (slice(start, end, step),)]


def _cummin(input: Any, dim: int) -> Any:
    values, places = T.cummax(-input, dim)
    return named("cummin", "values", "indices")(entitle(-values, "CumminBackward0"), places)


def _histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    return np.histogram(x, bins, (min, max) if min != max else (x.min(), x.max()))[0] * 1.0


def _filled_diagonal(self: Any, value: Any) -> Any:
    if self.ndim < 2 or (self.ndim > 2 and len({*self.shape}) > 1):
        raise RuntimeError(f"fill_diagonal_: {[*self.shape]} must be of two axes, or of more of one length")
    self[(tensor_of(np.arange(float(min(self.shape)))).long(),) * self.ndim] = value
    return self


TORCH["slice"] = _sliced
install_rows(
    {
        "argwhere": lambda input: T.nonzero(input),
        "adjoint VIEW": lambda input: T.transpose(input, -2, -1),
        "aminmax": lambda input, *, dim=None, keepdim=False: _MINMAX(
            *(entitle(engine(f, input, axis=dim, keepdims=keepdim), "AminmaxBackward0") for f in ("amin", "amax"))
        ),
        "as_strided VIEW": lambda input, size, stride, storage_offset=None: _strided(
            input, size, stride, storage_offset
        ),
        "storage_offset": _offset,
        "data_ptr": _address,
        "atleast_1d FUNCTION": _at_least(1),
        "atleast_2d FUNCTION": _at_least(2),
        "atleast_3d FUNCTION": _at_least(3),
        "addr PLACE AddrBackward0": lambda input, a, b, *, beta=1, alpha=1: beta * input + alpha * T.outer(a, b),
        "block_diag FUNCTION": _block_diag,
        "broadcast_shapes FUNCTION": lambda *shapes: T.zeros(np.broadcast_shapes(*shapes)).shape,
        "bucketize FUNCTION": lambda input, boundaries, *, right=False: T.searchsorted(boundaries, input, right=right),
        "cholesky": lambda input, upper=False: cholesky(input, upper=upper),
        "cholesky_solve": _cholesky_solve,
        "cholesky_inverse CholeskyInverseBackward0": lambda L, upper=False: _cholesky_solve(T.eye(len(L)), L, upper),  # noqa: N803
        "combinations FUNCTION": lambda input, r=2, with_replacement=False: input[
            tensor_of(np.array([*(choices_again if with_replacement else choices)(range(len(input)), r)]))
        ],
        "cov": _cov,
        "corrcoef": _corrcoef,
        "cummin": _cummin,
        "dstack FUNCTION": lambda tensors: T.cat([T.atleast_3d(x) for x in tensors], 2),
        "hsplit": _cut("hsplit", 1),
        "vsplit": _cut("vsplit", 0),
        "dsplit": _cut("dsplit", 2),
        "frac PLACE FracBackward0": lambda input: input - engine("trunc", input),
        "float_power PLACE": lambda input, exponent: T.pow(T.to(input, float64), exponent),
        "histc": lambda input, *args, **given: tensor_of(_histc(as_numbers(input), *args, **given)),
        "isin FUNCTION": _isin,
        "isneginf": lambda input: T.eq(input, -math.inf),
        "isposinf": lambda input: T.eq(input, math.inf),
        "isreal": lambda input: T.ones_like(input, dtype=bool_),
        "signbit": _without_graph(np.signbit),
        "kthvalue": _kth,
        "mode": _mode,
        "msort": lambda input: T.sort(input, 0)[0],
        "ldexp PLACE LdexpBackward0": lambda input, other: input * 2.0**other,
        "logaddexp2 Logaddexp2Backward0": lambda input, other: (
            T.logaddexp(input * math.log(2), other * math.log(2)) / math.log(2)
        ),
        "logcumsumexp": _logcumsumexp,
        "logdet": _logdet,
        "mvlgamma multigammaln MvlgammaBackward0": lambda input, p: engine("multigammaln", input, p),
        "nanmedian NanmedianBackward0": lambda input: T.median(input[~T.isnan(input)]),
        "polygamma FUNCTION": lambda n, input: engine("polygamma", n, input),
        "positive": _positive,
        "promote_types FUNCTION": lambda a, b: max(a, b, key=lambda one: one.rank),
        "can_cast FUNCTION": lambda a, b: as_dtype(a).rank <= as_dtype(b).rank,
        "put PLACE": lambda input, index, source, accumulate=False: T.index_put(
            input.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate
        ).reshape(input.shape),
        "rot90": _rot90,
        "scalar_tensor FUNCTION": lambda s, **given: T.tensor(s, **{"dtype": float64, **given}),
        "svd": lambda input, some=True: _SVD(*(x if at < 2 else x.mT for at, x in enumerate(svd(input, not some)))),
        "qr": lambda input, some=True: _QR(*qr(input, "reduced" if some else "complete")),
        "slogdet": lambda input: _SLOGDET(*engine("slogdet", input)),
        "split_with_sizes": lambda input, sizes, dim=0: T.split(input, sizes, dim),
        "trapezoid trapz FUNCTION": lambda y, x=None, *, dx=1, dim=-1: _trapezoids(y, x, dx, dim).sum(-1),
        "cumulative_trapezoid FUNCTION": lambda y, x=None, *, dx=1, dim=-1: (
            _trapezoids(y, x, dx, dim).cumsum(-1).movedim(-1, dim)
        ),
        "unique": _unique,
        "heaviside PLACE": lambda input, values: entitle(
            engine("heaviside", T.where(input == input, input, -1), values).to(input.kind),
            "NotImplemented",  # of nan it is 0
        ),
        "unique_consecutive": _unique_neighbours,
        "unravel_index FUNCTION": lambda indices, shape: tuple(
            tensor_of(x) for x in np.unravel_index(np.asarray(indices.value).astype(np.intp), shape)
        ),
        "vander FUNCTION": _vander,
        "select_scatter SelectScatterBackward0": _scattered("select"),
        "slice_scatter SliceScatterBackward0": _scattered("slice"),
        "diagonal_scatter DiagonalScatterBackward0": _scattered("diagonal"),
        "chain_matmul FUNCTION": lambda *matrices: reduce(T.matmul, matrices),
        "sum_to_size": lambda input, *size: input.sum(
            [at for at in range(input.ndim) if at < input.ndim - len(sizes(size)) or sizes(size)[at - input.ndim] == 1],
            True,
        ).reshape(sizes(size)),
    }
)
for _name in ("t", "transpose", "squeeze", "unsqueeze", "swapaxes"):
    give(f"{_name}_", _placed(_name))
for _name in ("cumsum", "cumprod"):
    public(_name, place=True)(TORCH[_name])
for _name in ("byte", "short", "char", "bfloat16"):
    give(_name, getattr(Tensor, "double" if _name == "bfloat16" else "long"))
give("mH", Tensor.mT)
give("is_cpu", True)
give("itemsize", property(lambda self: self.kind.itemsize))
give("nbytes", property(lambda self: self.kind.itemsize * self.numel()))
give("fill_diagonal_", _filled_diagonal)
give("new", lambda self, *args: Tensor(*args))


# What is set for a whole program, and changes nothing here


def _nothing(*_: Any, **__: Any) -> None:
    """Nothing: there is one device, and one way to compute."""


class autocast(nullcontext[None]):  # noqa: N801 - PyTorch's name
    """Nothing: there is one type of numbers."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def __call__(self, function: Any) -> Any:
        """The function itself."""
        return function


def set_default_device(d: Any) -> None:
    """Nothing, of the processor; others are refused."""
    need_processor(device(d or "cpu"))


TORCH.update(
    dict.fromkeys(
        "set_default_tensor_type set_float32_matmul_precision set_deterministic_debug_mode set_flush_denormal "
        "set_num_interop_threads set_warn_always".split(),
        _nothing,
    )
)


TORCH |= {
    "autocast": autocast,
    "set_default_device": set_default_device,
    "get_default_device": lambda: device("cpu"),
    "get_num_threads": lambda: 1,
    "is_inference_mode_enabled": lambda: current().inference,
    "is_anomaly_enabled": lambda: current().anomalies,
    "are_deterministic_algorithms_enabled": lambda: True,
    "typename": lambda obj: str(obj.type()) if isinstance(obj, Tensor) else type(obj).__name__,
    "get_float32_matmul_precision": lambda: "highest",
}  # fmt: skip
