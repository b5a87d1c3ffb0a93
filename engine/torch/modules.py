"""The modules of torch: `torch.nn`, `torch.optim`, …, made of what the engine has; and names that are not there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dis import opmap
from functools import partial
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

from agrad.engine import nn as layers
from agrad.engine.core import tensor as core
from agrad.engine.core.context import require_files
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.engine.nn.applied import over
from agrad.engine.values import np
from agrad.torch import autograd, creation, distributions, func, tools
from agrad.torch import layers as composed
from agrad.torch.registry import TORCH, checked, engine, named, plain
from agrad.torch.tensor import Tensor, entitle, no_attribute, typed
from agrad.torch.types import ValueMistake, as_pytorch, dtype_of, float64, int64, of_class


def missing(module: str, name: str, names: Any, frame: Any) -> Exception:
    """The error for a name that a module does not have: an ImportError where it is imported."""
    error = no_attribute(f"module '{module}'", name, names)
    code = frame.f_code.co_code
    if frame.f_lasti >= 0 and code[frame.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name '{name}': {error}", name=name)
    return error


class Module(ModuleType):
    """A module whose names are given to it, or looked for in others, as `adapt` makes them PyTorch's."""

    def __init__(self, name: str, doc: str, names: dict[str, Any], *others: Any, adapt: Any = None) -> None:
        super().__init__(f"agrad.torch.{name}", doc)
        self.__dict__.update(names)
        self.__path__: list[str] = []
        self._others, self._adapt = others, adapt

    def __dir__(self) -> list[str]:
        found = {*self.__dict__}
        for other in self._others:
            found.update(other if isinstance(other, dict) else getattr(other, "__all__", dir(other)))
        return sorted(found)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            for other in self._others:
                found = other.get(name) if isinstance(other, dict) else getattr(other, name, None)
                if found is not None:
                    found = self._adapt(name, found) if self._adapt is not None else found
                    self.__dict__[name] = found
                    return found
        known = [
            one
            for other in (self.__dict__, *self._others)
            for one in (other if isinstance(other, dict) else dir(other))
        ]
        raise missing(self.__name__.removeprefix("agrad."), name, known, sys._getframe(1))


# torch.nn: the engine's layers, whose parameters are tensors of this package.


def as_torch(module: Any) -> Any:
    """Make the parameters and buffers of a module tensors as PyTorch has them; returns the module."""
    for one in module.modules():
        for store in (one._parameters, one._buffers):
            for name, value in store.items():
                if isinstance(value, core.Tensor) and type(value) is not Tensor:
                    typed(value, int64 if name == "num_batches_tracked" else float64)
    return module


def _layer(name: str, found: Any) -> Any:
    """A layer of the engine as a class of torch.nn."""
    if not (isinstance(found, type) and issubclass(found, layers.Module)) or found in _PLAIN:
        return found

    begin = _valued(found.__init__, ("type", "arity"))

    def make(self: Any, *args: Any, **keywords: Any) -> None:
        begin(self, *args, **keywords)
        as_torch(self)

    def forward(self: Any, *args: Any, **keywords: Any) -> Any:
        if args and isinstance(args[0], tools.PackedSequence):
            return tools.run_packed(found.forward, self, *args, **keywords)
        try:
            made = found.forward(self, *args, **keywords)
        except AgradError as error:
            raise as_pytorch(error) from None
        return _titled_layer(self, name, made, args) if name in _TITLES else made

    body: dict[str, Any] = {"__init__": make, "__module__": "agrad.torch.nn", "__doc__": found.__doc__}
    body["forward"] = forward
    if name == "Linear":
        body["forward"] = lambda self, input: linear(input, self.weight, self.bias)
    elif name == "BCELoss":
        body["forward"] = lambda self, input, target: _functional()["binary_cross_entropy"](
            input, target, self.weight, reduction=self.reduction
        )
    elif name == "Transformer":
        body["generate_square_subsequent_mask"] = staticmethod(_subsequent)
    return type(name, (found,), body)


def _subsequent(sz: int, device: Any = None, dtype: Any = None) -> Any:
    """-inf where a place would look at a later one."""
    return TORCH["full"]((sz, sz), float("-inf")).triu(1)


def _titled_layer(layer: Any, name: str, made: Any, args: tuple[Any, ...]) -> Any:
    """What a layer gives, with PyTorch's name of its last operation."""
    reduction = getattr(layer, "reduction", "")
    title = f"{_TITLES[name]}Backward0"
    if _TITLES[name] == "Mean":
        return made if reduction == "none" else entitle(made, title if reduction == "mean" else "SumBackward0")
    if name == "CrossEntropyLoss" and getattr(args[1], "dtype", None) is float64:
        title = "DivBackward1" if reduction == "mean" else "NegBackward0"
    elif name == "CrossEntropyLoss" and layer.label_smoothing:
        title = "AddBackward0"
    return entitle(made, "NormBackward1" if name == "PairwiseDistance" else title)


def _optimizer(name: str, found: Any) -> Any:
    """An optimiser whose errors are of PyTorch's classes."""
    if not isinstance(found, type) or name in ("Optimizer", "LRScheduler"):
        return found

    names = _KEPT.get(name, "").split()

    def read(self: Any, state: Any) -> Any:
        if not isinstance(state, dict):
            return state
        there = [name for name in names if name in state or name == "momentum_buffer"]
        return tuple(state[name].value if name in state else 0.0 for name in there)

    def written(self: Any, kept: Any, before: Any) -> Any:
        made = {
            key: x for key, x in zip(names, kept, strict=False) if key != "momentum_buffer" or hasattr(x, "shape") or x
        }
        if name != "SGD":
            made.setdefault("step", before["step"].value + 1.0 if before else 1.0)
        order = ("step", "mu_product", "eta", "mu")
        return {key: Tensor.of(made[key]) for key in sorted(made, key=lambda one: one not in order)}

    body = {method: _valued(getattr(found, method)) for method in ("__init__", "load_state_dict")}
    body["step"] = _valued(found.step, ("type", "arity"))  # type: ignore[attr-defined]
    body |= {"_read": read, "_written": written} if names else {}
    return type(name, (found,), body | {"__module__": "agrad.torch.optim", "__doc__": found.__doc__})


# What optimisers keep of a parameter, by PyTorch's names.
_ADAM = "exp_avg exp_avg_sq step"
_KEPT = {
    "SGD": "momentum_buffer", "Adam": f"{_ADAM} max_exp_avg_sq", "AdamW": f"{_ADAM} max_exp_avg_sq", "RAdam": _ADAM,
    "NAdam": f"{_ADAM} mu_product", "Adamax": "exp_avg exp_inf step", "Adadelta": "square_avg acc_delta",
    "RMSprop": "square_avg momentum_buffer grad_avg", "Adagrad": "sum step", "Rprop": "prev step_size",
    "ASGD": "step eta mu ax",
}  # fmt: skip


def _valued(function: Callable[..., Any], types: tuple[str, ...] = ("type",)) -> Callable[..., Any]:
    """A function whose errors are ValueErrors, but for those of types."""

    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except AgradError as error:
            raise (as_pytorch(error) if error.kind in types else of_class(ValueMistake, error)) from None

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _typing(name: str, found: Any) -> Any:
    """A function of the engine whose results are tensors of this package."""
    if not callable(found) or isinstance(found, type):
        return found

    def call(*args: Any, **keywords: Any) -> Any:
        made = found(*args, **keywords)
        return typed(made, float64) if type(made) is core.Tensor else made

    call.__name__, call.__doc__ = name, found.__doc__
    return call


# What PyTorch calls the last operation of a layer, where that is not what it is called here.
_TITLES = {
    "L1Loss": "Mean", "HingeEmbeddingLoss": "Mean", "SoftMarginLoss": "SoftMarginLoss", "MarginRankingLoss": "Mean",
    "CosineEmbeddingLoss": "Mean", "TripletMarginLoss": "Mean", "PairwiseDistance": "Norm", "PReLU": "PreluKernel",
    "CrossEntropyLoss": "NllLoss", "NLLLoss": "NllLoss", "BCELoss": "BinaryCrossEntropy", "HuberLoss": "HuberLoss",
    "BCEWithLogitsLoss": "BinaryCrossEntropyWithLogits", "SmoothL1Loss": "SmoothL1Loss", "Embedding": "Embedding",
    "BatchNorm1d": "NativeBatchNorm", "BatchNorm2d": "NativeBatchNorm", "LayerNorm": "NativeLayerNorm",
    "GroupNorm": "NativeGroupNorm", "Conv1d": "Convolution", "Conv2d": "Convolution", "AvgPool2d": "AvgPool2D",
    "MaxPool2d": "MaxPool2DWithIndices",
}  # fmt: skip


def _data(name: str, found: Any) -> Any:
    """A loader that gives tensors of the types that the entries of the data have."""
    if name != "DataLoader":
        return _valued(found) if name == "random_split" else found

    def batch(self: Any, places: Any) -> Any:
        made = found._batch(self, places)
        return _batch(made, self.dataset[0]) if type(self.dataset) is _tensors() and self.collate_fn is None else made

    def collated(self: Any, entries: Any) -> Any:
        return _batch(found._collated(self, entries), entries[0])

    body = {
        "__init__": _valued(found.__init__),
        "_batch": batch,
        "_collated": collated,
        "__module__": "agrad.torch.utils.data",
        "__doc__": found.__doc__,
    }
    return type(name, (found,), body)


def _tensors() -> Any:
    return import_module("agrad.engine.nn.utils.data").TensorDataset


def _batch(found: Any, sample: Any) -> Any:
    """A batch with the types of a sample of it."""
    if isinstance(found, dict) and isinstance(sample, dict):
        return {key: _batch(value, sample.get(key)) for key, value in found.items()}
    if isinstance(found, list | tuple) and isinstance(sample, list | tuple) and len(found) == len(sample):
        return type(found)([_batch(*pair) for pair in zip(found, sample, strict=True)])
    if type(found) is not Tensor and (isinstance(found, core.Tensor) or hasattr(found, "dtype")):
        return creation.tensor(found, dtype=dtype_of(sample))
    return found


_PLAIN = (layers.Module, layers.Sequential, layers.ModuleList, layers.ModuleDict)


# torch.nn.functional


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias."""
    try:
        made = engine("linear", input, weight, bias=bias)
    except RuntimeError as error:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied: {error}") from None
    if input.ndim == 2:
        return entitle(made, "MmBackward0" if bias is None else "AddmmBackward0")
    return entitle(made, "ViewBackward0")


def _loss(ours: str, title: str) -> Callable[..., Any]:
    def call(input: Any, target: Any, *args: Any, **keywords: Any) -> Any:
        values = np.asarray(input.value) if ours == "binary_cross_entropy" else np.zeros(0)
        if not np.all((values >= 0) & (values <= 1)):
            raise RuntimeError("all elements of input should be between 0 and 1")
        keywords.pop("size_average", None)
        keywords.pop("reduce", None)
        return entitle(engine(ours, input, target, *args, **keywords), title)

    call.__doc__ = FUNCTIONS[ours].doc
    return checked(ours, call)


def _titled(ours: str, title: str) -> Callable[..., Any]:
    call = plain(ours, ours, False)

    def named_(input: Any, *args: Any, inplace: bool = False, **keywords: Any) -> Any:
        return over(input, entitle(call(input, *args, **keywords), title), inplace)

    named_.__doc__ = call.__doc__
    return checked(ours, named_)


def _entitled(call: Callable[..., Any], title: str) -> Callable[..., Any]:
    return checked(call.__name__, lambda *args, **keywords: entitle(call(*args, **keywords), title))


def _functional() -> dict[str, Any]:
    names = {name: TORCH[name] for name in "relu sigmoid tanh softmax log_softmax softmin selu softplus silu".split()}
    for ours, title in {
        "relu": "ReluBackward0", "selu": "EluBackward0", "elu": "EluBackward0", "leaky_relu": "LeakyReluBackward0",
        "gelu": "GeluBackward0", "silu": "SiluBackward0", "hardtanh": "HardtanhBackward0",
        "softplus": "SoftplusBackward0", "logsigmoid": "LogSigmoidBackward0",
    }.items():  # fmt: skip
        names[ours] = _titled(ours, title)
    for ours, title in {
        "mse_loss": "MseLossBackward0", "cross_entropy": "NllLossBackward0", "nll_loss": "NllLossBackward0",
        "binary_cross_entropy": "BinaryCrossEntropyBackward0", "huber_loss": "HuberLossBackward0",
        "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward0", "l1_loss": "MeanBackward0",
    }.items():  # fmt: skip
        names[ours] = _loss(ours, title)
    for ours, title in {"smooth_l1_loss": "SmoothL1LossBackward0", "prelu": "PreluKernelBackward0"}.items():
        names[ours] = _entitled(getattr(layers.functional, ours), title)
    names["linear"], names["one_hot"], names["normalize"] = checked("linear", linear), creation.ONE_HOT, normalize
    composed.PAD = layers.functional.pad
    for ours in "relu elu selu leaky_relu hardtanh".split():
        names[f"{ours}_"] = partial(names[ours], inplace=True)
    return names | composed.OWN


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """input over its norm along an axis."""
    return input / TORCH["norm"](input, p, dim, True).clamp_min(eps).expand_as(input)


# torch.testing


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: Any = None,
    atol: Any = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: Any = None,
    **_: Any,
) -> None:
    """Nothing, where all entries are near to each other; else an AssertionError."""
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for pair in zip(actual, expected, strict=True):
            assert_close(*pair, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return
    if isinstance(actual, dict):
        if actual.keys() != expected.keys():
            raise AssertionError(f"The keys of the mappings do not match: {[*actual]} != {[*expected]}")
        for key, value in actual.items():
            assert_close(
                value, expected[key], rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg
            )
        return
    a, b = (x if isinstance(x, core.Tensor) else creation.tensor(x) for x in (actual, expected))
    if a.shape != b.shape:
        raise AssertionError(f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}.")
    if check_dtype and a.dtype is not b.dtype:
        raise AssertionError(f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}.")
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or unspecified")
    is_float = a.dtype is float64 or b.dtype is float64
    rtol, atol = (
        (1e-7 if is_float else 0.0 if rtol is None else rtol) if rtol is None else rtol,
        (1e-7 if is_float else 0.0) if atol is None else atol,
    )
    near = np.asarray(TORCH["isclose"](a, b, rtol, atol, equal_nan).value) != 0
    if near.all():
        return
    apart = np.abs(np.asarray(a.value) - np.asarray(b.value))
    count, told = int((~near).sum()), "Scalars are" if not a.ndim else "Tensor-likes are"
    lines = [f"{told} not {'close' if rtol or atol else 'equal'}!", ""]
    if not a.ndim:
        lines = [f"Scalars are not close!\n\nExpected {b.item()} but got {a.item()}."]
    else:
        lines.append(f"Mismatched elements: {count} / {a.numel()} ({100 * count / a.numel():.1f}%)")
    lines.append(f"Greatest absolute difference: {float(apart.max())} (up to {atol} allowed)")
    raise AssertionError(msg(lines) if callable(msg) else msg or "\n".join(lines))


# torch.linalg, torch.special, torch.utils.checkpoint


def _linalg() -> dict[str, Any]:
    def ours(name: str, *fields: str, call: Any = None) -> Any:
        made = named(f"linalg_{name}", *fields) if fields else None
        run = call or (lambda *args, **keywords: engine(name, *args, **keywords))
        return checked(name, (lambda *args, **keywords: made(*run(*args, **keywords))) if made is not None else run)

    def qr(x: Any, mode: str = "reduced") -> Any:
        return engine("qr", x)

    def svd(x: Any, full_matrices: bool = True) -> Any:
        return engine("svd", x)

    def matrix_norm(x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Any:
        return engine("norm", x, ord=None if ord == "fro" else ord, axis=dim, keepdims=keepdim)

    def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
        return TORCH["norm"](x, ord, dim, keepdim)

    def norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
        if ord is None or x.ndim == 1 or isinstance(dim, int):
            return vector_norm(x, 2 if ord is None else ord, dim, keepdim)
        return matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim)

    def cond(A: Any, p: Any = None) -> Any:  # noqa: N803 - PyTorch's name
        if p in (None, 2, -2):
            values = engine("svd", A)[1]
            return values.amax(-1) / values.amin(-1) if p != -2 else values.amin(-1) / values.amax(-1)
        return matrix_norm(A, p) * matrix_norm(engine("inv", A), p)

    def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:  # noqa: N803 - PyTorch's names
        return engine("solve", A.reshape(B.numel(), -1), B.reshape(-1)).reshape(A.shape[B.ndim :])

    def multi_dot(tensors: Any) -> Any:
        found = tensors[0]
        for one in tensors[1:]:
            found = found @ one
        return found

    table = {
        "qr": ours("qr", "Q", "R", call=qr), "svd": ours("svd", "U", "S", "Vh", call=svd),
        "eigh": ours("eigh", "eigenvalues", "eigenvectors"), "slogdet": ours("slogdet", "sign", "logabsdet"),
        "eigvalsh": checked("eigvalsh", lambda x: engine("eigh", x)[0]),
        "svdvals": checked("svdvals", lambda x: engine("svd", x)[1]),
        "matrix_norm": checked("matrix_norm", matrix_norm), "vector_norm": checked("vector_norm", vector_norm),
        "norm": checked("norm", norm), "cond": checked("cond", cond),
        "tensorsolve": checked("tensorsolve", tensorsolve),
        "vecdot": checked("vecdot", lambda x, y, *, dim=-1: (x * y).sum(dim)),
        "vander": TORCH["vander"],
        "multi_dot": checked("multi_dot", multi_dot),
        "matrix_rank": lambda x: creation.tensor(int(np.linalg.matrix_rank(np.asarray(x.value)))),
        "solve_triangular": checked(
            "solve_triangular", lambda x, b, *, upper: engine("solve_triangular", x, b, lower=not upper)
        ),
        "lstsq": checked("lstsq", lambda x, b: named("linalg_lstsq", "solution")(engine("lstsq", x, b))),
    }  # fmt: skip
    for name, title in {"inv": "inv", "det": "det", "solve": "solve", "cholesky": "cholesky", "pinv": "pinv",
                        "matrix_power": "matrix_power", "matrix_exp": "expm", "matmul": "matmul"}.items():  # fmt: skip
        table[name] = checked(name, lambda *args, _title=title, **keywords: engine(_title, *args, **keywords))
    table["cross"], table["diagonal"] = TORCH["cross"], TORCH["diagonal"]
    return table


_SPECIAL = (
    "digamma entr erf erfc erfinv exp2 expm1 gammainc gammaincc i0 i1 log1p log_ndtr log_softmax logit logsumexp "
    "multigammaln ndtr ndtri polygamma round sinc softmax xlog1py xlogy psi=digamma gammaln=lgamma expit=sigmoid "
    "bessel_j0=j0 bessel_j1=j1"
)


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: Any = None, **keywords: Any) -> Any:
    """What a function gives, computed again for the derivative, so that its graph takes no memory meanwhile."""
    return function(*args, **keywords)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **_: Any) -> Any:
    """The same of functions that are called one after the other."""
    for one in functions:
        input = one(input)
    return input


def _gradcheck(fn: Any, inputs: Any, *args: Any, raise_exception: bool = True, **keywords: Any) -> bool:
    """Whether the derivatives of a function are those of differences."""
    given = inputs if isinstance(inputs, tuple | list) else (inputs,)
    return _compared(
        fn,
        tuple(given),
        raise_exception,
        keywords.get("eps", 1e-6),
        keywords.get("atol", 1e-5),
        keywords.get("rtol", 1e-3),
    )


def _compared(fn: Any, given: tuple[Any, ...], raises: bool, eps: float, atol: float, rtol: float) -> bool:
    wanted = [x for x in given if isinstance(x, core.Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient")

    def values(of: tuple[Any, ...]) -> list[Any]:
        found = fn(*of)
        return [y for y in (found if isinstance(found, tuple | list) else (found,)) if isinstance(y, core.Tensor)]

    outputs = values(given)
    for number, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        rows = func._rows(y, wanted)
        for which, x in enumerate(wanted):
            analytic = np.asarray(rows[which].value).reshape(y.numel(), x.numel())
            numeric = np.zeros_like(analytic)
            flat = np.asarray(x.value, dtype=float).reshape(-1)
            for place in range(flat.size):
                ends = []
                for sign in (1.0, -1.0):
                    moved = flat.copy()
                    moved[place] += sign * eps
                    new = creation.tensor(moved.reshape(x.shape) if x.ndim else float(moved[0]), requires_grad=True)
                    ends.append(
                        np.asarray(values(tuple(new if one is x else one for one in given))[number].value).reshape(-1)
                    )
                numeric[:, place] = (ends[0] - ends[1]) / (2 * eps)
            if not np.allclose(analytic, numeric, rtol=rtol, atol=atol):
                if raises:
                    raise GradcheckError(
                        f"Jacobian mismatch for output {number} with respect to input {which},\n"
                        f"numerical:{creation.tensor(numeric.T)}\nanalytical:{creation.tensor(analytic.T)}\n"
                    )
                return False
    return True


class GradcheckError(RuntimeError):
    """The derivatives of a function are not those of differences."""


def _gradgradcheck(fn: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **keywords: Any) -> bool:
    """The same of the derivatives."""
    given = tuple(inputs if isinstance(inputs, tuple | list) else (inputs,))
    count = len(given)

    def first(*all_: Any) -> Any:
        outputs = fn(*all_[:count])
        outs = [y for y in (outputs if isinstance(outputs, tuple | list) else (outputs,)) if y.requires_grad]
        wanted = [x for x in all_[:count] if isinstance(x, core.Tensor) and x.requires_grad]
        return tuple(func._gradients(outs, wanted, list(all_[count:])))

    found = fn(*given)
    outs = [y for y in (found if isinstance(found, tuple | list) else (found,)) if y.requires_grad]
    seeds = [TORCH["rand"](*y.shape).requires_grad_() for y in outs]
    return _gradcheck(first, (*given, *seeds), **keywords)


class Dot:
    """What torchviz makes of a value: its graph, in the language of Graphviz, which `render` writes into a file."""

    def __init__(self, var: Any, params: Any = None, **_: Any) -> None:
        for name, x in dict(params or {}).items():
            x.node.name = x.node.name or name
        self.source = (var if isinstance(var, core.Tensor) else var[0]).graph().dot()

    def render(self, filename: str = "Digraph.gv", format: str | None = None, **_: Any) -> str:
        """Write the text into a file: a picture of it is made by Graphviz."""
        with open(filename, "w", encoding="utf-8") as file:
            file.write(self.source)
        return filename

    view = render


# torch.save and torch.load


def save(obj: Any, f: Any, **_: Any) -> None:
    """Write tensors, and lists and dictionaries of them, into a file."""
    import pickle  # here: few programs save

    require_files("torch.save")

    if hasattr(f, "write"):
        pickle.dump(obj, f)
        return
    with open(f, "wb") as file:
        pickle.dump(obj, file)


def load(f: Any, map_location: Any = None, weights_only: bool = True, **_: Any) -> Any:
    """Read what `save` has written; of weights alone nothing else is made."""
    import pickle  # here: few programs load

    require_files("torch.load")

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if weights_only and name not in _SAVED.get(module, ()):
                raise pickle.UnpicklingError(
                    f"Weights only load failed: {module}.{name} is no tensor\n  fix: weights_only=False"
                )
            return super().find_class(module, name)

    if hasattr(f, "read"):
        return Reader(f).load()
    with open(f, "rb") as file:
        return Reader(file).load()


# What weights are made of, by the modules that have it: nothing else is looked up for a file.
_SAVED = {
    "agrad.torch.tensor": ("_restored",),
    "agrad.torch.types": ("Size", "dtype", "float64", "int64", "bool_"),
    "collections": ("OrderedDict",),
    "agrad.engine.nn.module": ("StateDict",),
    "agrad.engine.nn.objects": ("Entries",),
    "agrad.engine.nn.optim.optimizer": ("ParamGroup",),
}


# The modules

# Functions of torch.nn.functional that are in torch, too.
_ALSO = (
    "conv1d conv2d conv_transpose1d conv_transpose2d dropout layer_norm group_norm rms_norm kl_div cosine_similarity "
    "pairwise_distance prelu celu hardshrink threshold bilinear max_pool1d max_pool2d avg_pool1d alpha_dropout "
    "binary_cross_entropy_with_logits hinge_embedding_loss margin_ranking_loss cosine_embedding_loss pixel_shuffle "
    "triplet_margin_loss poisson_nll_loss pixel_unshuffle channel_shuffle"
)


_OF_SEEDS = "manual_seed seed initial_seed get_rng_state set_rng_state fork_rng"


def _same(f: Any = None, **_: Any) -> Any:
    """The function itself: there is nothing to compile."""
    return f if f is not None else lambda g: g


def _nothing(*_: Any) -> None:
    """What is done on a device that is not there."""


def _grad_module() -> dict[str, Any]:
    names = {
        name: getattr(autograd, name)
        for name in "backward grad Function Variable no_grad enable_grad inference_mode set_grad_enabled "
        "detect_anomaly set_detect_anomaly".split()
    }
    return {**names, "gradcheck": _gradcheck, "gradgradcheck": _gradgradcheck}


def install(torch: Any) -> None:
    """Put the modules where imports find them, and as names into `torch`."""
    engine_utils = import_module("agrad.engine.nn.utils")
    engine_data = import_module("agrad.engine.nn.utils.data")
    engine_optim = import_module("agrad.engine.nn.optim")
    schedulers = import_module("agrad.engine.nn.optim.lr_scheduler")
    functional = _functional()
    module = {"Module": layers.Module, "Parameter": layers.Parameter}
    once = {
        "Function": autograd.Function,
        "once_differentiable": autograd.once_differentiable,
        "FunctionCtx": autograd.FunctionCtx,
    }
    special = {
        pair.partition("=")[0]: plain(pair.partition("=")[0], pair.partition("=")[2] or pair, True)
        for pair in _SPECIAL.split()
    }
    special |= {name: TORCH[name] for name in ("softmax", "log_softmax", "logsumexp")}
    duals = {"enter_dual_level": func.enter_dual_level, "exit_dual_level": func.exit_dual_level,
             "dual_level": func.dual_level, "make_dual": func.make_dual, "unpack_dual": func.unpack_dual,
             "UnpackedDualTensor": func.UnpackedDualTensor}  # fmt: skip
    transforms = (
        "grad grad_and_value vjp jvp jacrev jacfwd hessian vmap functional_call stack_module_state linearize".split()
    )
    calls = {name: getattr(func, name) for name in transforms}
    nowhere: dict[str, Any] = dict.fromkeys(("manual_seed", "manual_seed_all", "empty_cache", "synchronize"), _nothing)
    nowhere |= {"is_available": lambda: False, "device_count": lambda: 0}
    table: dict[str, Module] = {}
    for name, doc, names, others, adapt in (
        ("autograd", "Backward passes.", _grad_module(), (), None),
        ("autograd.function", "Functions of the user.", once, (), None),
        ("autograd.functional", "Derivatives of functions.", {}, (func.functional,), None),
        ("autograd.forward_ad", "Dual numbers.", duals, (), None),
        (
            "autograd.graph",
            "Nodes of the graph.",
            {"saved_tensors_hooks": autograd.saved_tensors_hooks, "save_on_cpu": TORCH["autocast"]},
            (),
            None,
        ),
        (
            "autograd.gradcheck",
            "Derivatives beside differences.",
            {"gradcheck": _gradcheck, "gradgradcheck": _gradgradcheck, "GradcheckError": GradcheckError},
            (),
            None,
        ),
        ("func", "Derivatives of functions, and functions of many values.", calls, (), None),
        ("nn", "Layers, losses and modules.", module, (layers, composed.MODULES), _layer),
        ("nn.functional", "Layers and losses as functions.", functional, (layers.functional,), None),
        ("nn.init", "First values of parameters.", {}, (layers.init,), None),
        ("nn.parameter", "Parameters.", {}, (import_module("agrad.engine.nn.parameter"),), None),
        ("nn.modules", "The classes of layers.", module, (layers, composed.MODULES), _layer),
        ("nn.modules.module", "The base of modules.", module, (), None),
        ("nn.utils", "Gradients and parameters of modules.", {}, (engine_utils,), _typing),
        ("nn.utils.rnn", "Sequences of different lengths.", tools.RNN, (), None),
        ("nn.utils.parametrize", "Parameters that are computed.", tools.PARAMETRIZE, (), None),
        ("nn.utils.parametrizations", "Such parameters.", {"weight_norm": tools.weight_norm}, (), None),
        (
            "distributions",
            "Random numbers with densities.",
            {},
            (distributions,),
            None,
        ),
        ("optim", "Optimisers.", {}, (engine_optim,), _optimizer),
        ("optim.swa_utils", "Means of weights.", tools.SWA, (), None),
        ("optim.lr_scheduler", "Rates that change.", {}, (schedulers,), _optimizer),
        ("utils", "Tools.", {}, (), None),
        ("utils.data", "Batches of data.", {}, (engine_data,), _data),
        (
            "utils.checkpoint",
            "Graphs that are computed again.",
            {"checkpoint": checkpoint, "checkpoint_sequential": checkpoint_sequential},
            (),
            None,
        ),
        ("linalg", "Matrices.", _linalg(), (), None),
        ("special", "Special functions.", special, (), None),
        ("testing", "Comparisons.", {"assert_close": assert_close}, (), None),
        ("random", "Random numbers.", {name: TORCH[name] for name in _OF_SEEDS.split()}, (), None),
        ("cuda", "There is none.", nowhere, (), None),
        ("mps", "There is none.", nowhere, (), None),
        ("accelerator", "There is none.", nowhere | {"current_accelerator": _nothing}, (), None),
        ("backends", "There is none.", {}, (), None),
        ("backends.cudnn", "There is none.", {**nowhere, "deterministic": False, "benchmark": False}, (), None),
        ("backends.mps", "There is none.", {**nowhere, "is_built": lambda: False}, (), None),
        ("amp", "One type of numbers.", {"autocast": TORCH["autocast"]}, (), None),
        (
            "jit",
            "There is nothing to compile.",
            {"script": _same, "trace": lambda f, *_, **__: f, "ignore": _same},
            (),
            None,
        ),
    ):
        table[name] = made = Module(name, doc, names, *others, adapt=adapt)
        sys.modules[made.__name__] = made
        owner, _, last = name.rpartition(".")
        (table[owner] if owner else torch).__dict__[last] = made
    table["autograd"].__dict__["gradcheck"] = _gradcheck
    table["nn"].__dict__.update(composed.lazily(table["nn"]))
    torch.__dict__.update({name: getattr(table["nn.functional"], name) for name in _ALSO.split()})
    torch.__dict__.update(
        compile=_same, save=save, load=load, vmap=func.vmap, Tensor=Tensor, cdist=TORCH["cdist"],
        return_types=SimpleNamespace(), use_deterministic_algorithms=lambda *_: None, set_num_threads=lambda n: None,
    )  # fmt: skip
