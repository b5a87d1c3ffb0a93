"""The modules of torch: `torch.nn`, `torch.optim`, …, made of what the engine has; and names that are not there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dis import opmap
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

from agrad.engine import nn as layers
from agrad.engine.core import tensor as core
from agrad.engine.core.context import require_files
from agrad.engine.core.graph import touch
from agrad.engine.errors import AgradError
from agrad.engine.values import np
from agrad.torch import autograd, creation, func
from agrad.torch.grad_fn import numbered
from agrad.torch.registry import TORCH, checked, engine, named, plain
from agrad.torch.tensor import Tensor, entitle, no_attribute, typed, write_over
from agrad.torch.types import Size, as_pytorch, dtype_of, float64, int64


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

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            for other in self._others:
                found = other.get(name) if isinstance(other, dict) else getattr(other, name, None)
                found = self._adapt(name, found) if found is not None and self._adapt is not None else found
                if found is not None:
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
    function = getattr(found, "function", _FUNCTIONS.get(name, ""))

    def make(self: Any, *args: Any, **keywords: Any) -> None:
        found.__init__(self, *args, **keywords)
        as_torch(self)

    def forward(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return _entitled(function, found.forward(self, *args, **keywords), args, vars(self))
        except AgradError as error:
            raise as_pytorch(error, name.startswith(_STRICT)) from None

    body: dict[str, Any] = {"__init__": make, "__module__": "agrad.torch.nn", "__doc__": found.__doc__}
    body["forward"] = forward if name != "Linear" else lambda self, input: linear(input, self.weight, self.bias)
    return type(name, (found,), body)


_STRICT = ("BatchNorm", "RNN", "LSTM", "GRU")  # layers for which another number of axes is a ValueError


# The functions that layers call, where they do not tell.
_FUNCTIONS = {
    "Embedding": "embedding", "BatchNorm1d": "batch_norm", "BatchNorm2d": "batch_norm", "LayerNorm": "layer_norm",
    "GroupNorm": "group_norm", "Conv1d": "conv1d", "Conv2d": "conv2d", "ConvTranspose1d": "conv1d",
    "ConvTranspose2d": "conv2d", "PReLU": "prelu",
}  # fmt: skip
# What PyTorch calls the last node of a function, where that is not what it is called here.
_TITLES = dict(
    pair.split("=")
    for pair in (
        "relu=Relu elu=Elu selu=Elu celu=Celu gelu=Gelu silu=Silu mish=Mish leaky_relu=LeakyRelu softplus=Softplus "
        "softshrink=Softshrink hardshrink=Hardshrink hardtanh=Hardtanh hardsigmoid=Hardsigmoid hardswish=Hardswish "
        "logsigmoid=LogSigmoid threshold=Threshold glu=Glu prelu=PreluKernel mse_loss=MseLoss nll_loss=NllLoss "
        "cross_entropy=NllLoss smooth_l1_loss=SmoothL1Loss huber_loss=HuberLoss soft_margin_loss=SoftMarginLoss "
        "binary_cross_entropy=BinaryCrossEntropy binary_cross_entropy_with_logits=BinaryCrossEntropyWithLogits "
        "layer_norm=NativeLayerNorm group_norm=NativeGroupNorm batch_norm=NativeBatchNorm embedding=Embedding "
        "pad=ConstantPadNd conv1d=Convolution conv2d=Convolution conv_transpose1d=Convolution max_pool1d=Squeeze1 "
        "conv_transpose2d=Convolution avg_pool1d=Squeeze1 adaptive_avg_pool1d=Squeeze1 adaptive_max_pool1d=Squeeze1 "
        "max_pool2d=MaxPool2DWithIndices adaptive_max_pool2d=AdaptiveMaxPool2D avg_pool2d=AvgPool2D "
        "adaptive_avg_pool2d=AdaptiveAvgPool2D pairwise_distance=Norm1"
    ).split()
)


def _entitled(function: str, found: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a function of torch.nn.functional has made, with PyTorch's name of it."""
    title = _TITLES.get(function)
    if title is None or not isinstance(found, core.Tensor) or any(found is x for x in args):
        return found
    if function == "cross_entropy" and dtype_of(args[1]) is float64:
        title = "Div1"
    elif function == "cross_entropy" and keywords.get("label_smoothing"):
        title = "Add"
    elif function == "pad" and keywords.get("mode", "constant") != "constant":
        kind = "Reflection" if keywords["mode"] == "reflect" else "Replication"
        title = f"{kind}Pad{len(args[1]) // 2}D"
    return entitle(found, numbered(title))


def _distribution(name: str, base: Any) -> Any:
    """A distribution whose parameters and samples are tensors of this package."""
    if not (isinstance(base, type) and hasattr(base, "_shape")) or name == "Distribution":
        return base
    found: Any = base

    def make(self: Any, *args: Any, **given: Any) -> None:
        self.is_checked = is_checked = given.pop("validate_args", None) is not False
        try:
            found.__init__(self, *map(_parameter, args), **{one: _parameter(x) for one, x in given.items()})
        except AgradError as error:
            if is_checked:
                raise as_pytorch(error, True) from None
            raise
        self.batch_shape, self.event_shape = Size(self.batch_shape), Size(self.event_shape)

    def sample(self: Any, sample_shape: Any = ()) -> Any:
        drawn = found.sample(self, sample_shape)
        return typed(drawn, int64 if name == "Categorical" else float64)

    def log_prob(self: Any, value: Any) -> Any:
        x, holds = np.asarray(value.value), _SUPPORTS.get(name)
        try:
            is_within = holds is None or bool(np.all(holds(self, x)))
            if not is_within and self.is_checked:
                raise ValueError(f"{name}: the value is not within the support of the distribution")
            return found.log_prob(self, value)
        except AgradError as error:
            raise as_pytorch(error, self.is_checked) from None

    body = {
        "__init__": make,
        "sample": sample,
        "log_prob": log_prob,
        "__module__": "agrad.torch.distributions",
        "__doc__": found.__doc__,
    }
    return type(name, (found,), body)


_SUPPORTS: dict[str, Callable[[Any, Any], Any]] = {
    "Bernoulli": lambda self, x: (x == 0) | (x == 1),
    "Categorical": lambda self, x: (x >= 0) & (x < self.probs.shape[-1]) & (x == np.floor(x)),
    "Exponential": lambda self, x: x >= 0,
    "Uniform": lambda self, x: (x >= self.low.value) & (x <= self.high.value),
}


def _parameter(x: Any) -> Any:
    return x if x is None or isinstance(x, core.Tensor) else creation.tensor(x, dtype=float64)


def _data(name: str, found: Any) -> Any:
    """A loader that gives tensors of the types that the entries of the data have."""
    if name != "DataLoader":
        return found

    def batches(self: Any) -> Any:
        sample = self.dataset[0] if len(self.dataset) else None
        return (_batch(one, sample) for one in found.__iter__(self))

    return type(name, (found,), {"__iter__": batches, "__module__": "agrad.torch.utils.data", "__doc__": found.__doc__})


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
    title = "View" if bias is not None else "Squeeze4" if input.ndim == 1 else "UnsafeView"
    if input.ndim == 2:
        title = "Mm" if bias is None else "Addmm"
    return entitle(made, numbered(title))


def _function(name: str, found: Any) -> Any:
    """A function of the engine as one of torch.nn.functional; nothing, of what it imports."""
    if name not in dir(layers.functional):
        return None

    def call(*args: Any, **keywords: Any) -> Any:
        for left_out in ("size_average", "reduce"):
            keywords.pop(left_out, None)
        x = args[0] if args else keywords.get("input")
        is_written = keywords.pop("inplace", False) and isinstance(x, core.Tensor)
        made = _entitled(name, found(*args, **keywords), args, keywords)
        return write_over(x, made, f"{name}_") if is_written else made

    call.__doc__ = found.__doc__
    return checked(name, call)


def _functional() -> dict[str, Any]:
    names = {name: TORCH[name] for name in "sigmoid tanh softmax log_softmax softmin".split()}
    return names | {"linear": checked("linear", linear), "one_hot": creation.ONE_HOT, "normalize": normalize}


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
        "norm": checked("norm", norm), "multi_dot": checked("multi_dot", multi_dot),
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
            touch(x.node)
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
    duals = {"dual_level": func.dual_level, "make_dual": func.make_dual, "unpack_dual": func.unpack_dual,
             "UnpackedDualTensor": func.UnpackedDualTensor}  # fmt: skip
    transforms = "grad grad_and_value vjp jvp jacrev jacfwd hessian vmap functional_call stack_module_state".split()
    calls = {name: getattr(func, name) for name in transforms}
    nowhere: dict[str, Any] = dict.fromkeys(("manual_seed", "manual_seed_all", "empty_cache", "synchronize"), _nothing)
    nowhere |= {"is_available": lambda: False, "device_count": lambda: 0}
    table: dict[str, Module] = {}
    for name, doc, names, others, adapt in (
        ("autograd", "Backward passes.", _grad_module(), (), None),
        ("autograd.function", "Functions of the user.", once, (), None),
        ("autograd.functional", "Derivatives of functions.", {}, (func.functional,), None),
        ("autograd.forward_ad", "Dual numbers.", duals, (), None),
        ("autograd.graph", "Nodes of the graph.", {"saved_tensors_hooks": autograd.saved_tensors_hooks}, (), None),
        (
            "autograd.gradcheck",
            "Derivatives beside differences.",
            {"gradcheck": _gradcheck, "gradgradcheck": _gradgradcheck, "GradcheckError": GradcheckError},
            (),
            None,
        ),
        ("func", "Derivatives of functions, and functions of many values.", calls, (), None),
        ("nn", "Layers, losses and modules.", module, (layers,), _layer),
        ("nn.functional", "Layers and losses as functions.", functional, (layers.functional,), _function),
        ("nn.init", "First values of parameters.", {}, (layers.init,), None),
        ("nn.parameter", "Parameters.", {}, (import_module("agrad.engine.nn.parameter"),), None),
        ("nn.modules", "The classes of layers.", module, (layers,), _layer),
        ("nn.utils", "Gradients and parameters of modules.", {}, (engine_utils,), None),
        (
            "distributions",
            "Random numbers with densities.",
            {},
            (import_module("agrad.engine.nn.distributions"),),
            _distribution,
        ),
        ("optim", "Optimisers.", {}, (engine_optim,), None),
        ("optim.lr_scheduler", "Rates that change.", {}, (schedulers,), None),
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
        ("random", "Random numbers.", {"manual_seed": TORCH["manual_seed"]}, (), None),
        ("cuda", "There is none.", nowhere, (), None),
        ("mps", "There is none.", nowhere, (), None),
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
    torch.__dict__.update(
        compile=_same, save=save, load=load, vmap=func.vmap, Tensor=Tensor, cdist=TORCH["cdist"],
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: False), cudnn=SimpleNamespace()),
        finfo=lambda kind=None: np.finfo(np.float64), iinfo=lambda kind=None: np.iinfo(np.int64),
        return_types=SimpleNamespace(), use_deterministic_algorithms=lambda *_: None, set_num_threads=lambda n: None,
    )  # fmt: skip
