"""The modules of torch: `torch.nn`, `torch.optim`, …, made of what the engine has; and names that are not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dis import opmap
from functools import partial, reduce
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

from agrad.engine import nn as layers
from agrad.engine.autodiff.gradcheck import gradcheck
from agrad.engine.core import tensor as core
from agrad.engine.core.context import current, require_files
from agrad.engine.core.graph import touch
from agrad.engine.errors import AgradError
from agrad.engine.nn import optim
from agrad.engine.nn.applied import spelled_out
from agrad.engine.values import np
from agrad.torch import autograd, creation, distributions, func, tools
from agrad.torch import composed as extra
from agrad.torch import layers as composed
from agrad.torch.grad_fn import numbered
from agrad.torch.registry import TORCH, T, checked, engine, named, plain, refuse_whole, requirement
from agrad.torch.tensor import Tensor, entitle, keep, no_attribute, typed, write_over
from agrad.torch.types import TABLES, LinAlgError, ValueMistake, as_pytorch, dtype_of, float64, int64, of_class


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
        if name == "__all__":
            return [one for one in dir(self) if one[0] != "_" and hasattr(self, one)]
        if not name.startswith("_"):
            for other in self._others:
                found = other.get(name) if isinstance(other, dict) else getattr(other, name, None)
                found = self._adapt(name, found) if found is not None and self._adapt is not None else found
                if found is not None:
                    self.__dict__[name] = found
                    return found
        known = [
            *self.__dict__,
            *(one for other in self._others for one in (other if isinstance(other, dict) else dir(other))),
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


def _in_front(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments with those in front that PyTorch calls input and target."""
    for place, name in enumerate(("input", "target")):
        if len(args) == place and name in keywords:
            args = (*args, keywords.pop(name))
    return args


def _layer(name: str, found: Any) -> Any:
    """A layer of the engine as a class of torch.nn."""
    if not (isinstance(found, type) and issubclass(found, layers.Module)) or found in _PLAIN:
        return found
    function = getattr(found, "function", TABLES["functions of layers"].get(name, ""))

    begin, check = _valued(found.__init__, ("type", "arity")), requirement(function) or _nothing

    def make(self: Any, *args: Any, **keywords: Any) -> None:
        begin(self, *args, **keywords)
        as_torch(self)

    def forward(self: Any, *args: Any, **keywords: Any) -> Any:
        args = _in_front(args, keywords)
        if args and isinstance(args[0], tools.PackedSequence):
            return tools.run_packed(found.forward, self, *args, **keywords)
        check((*args, self.weight) if name in ("PReLU", "Embedding") else args, keywords)
        given = (*args, *keywords.values())
        try:
            made = found.forward(self, *args, **keywords)
            if name.startswith(_STRICT[1:]) and given[0].ndim == (1 if "Cell" in name else 2):  # one without a batch
                return func.mapped(lambda x: entitle(x, "SqueezeBackward1"), made)
            return keep(function, _entitled(function, made, given, vars(self)), given, self._parameters)
        except AgradError as error:
            axes = getattr(found, "axes", ()) or ((1, 2) if "Cell" in name else (2, 3))
            is_strict = name.startswith(_STRICT) and given[0].ndim not in axes
            raise as_pytorch(error, is_strict=is_strict) from None

    body: dict[str, Any] = {"__init__": make, "__module__": "agrad.torch.nn", "__doc__": found.__doc__}
    body["forward"] = forward
    if name == "Linear":
        body["forward"] = lambda self, input: linear(input, self.weight, self.bias)
    elif name == "BCELoss":
        body["forward"] = lambda self, input, target: _functional()["binary_cross_entropy"](
            input, target, self.weight, reduction=self.reduction
        )
    elif name == "Transformer":
        hidden = float("-inf")  # where a place would look at a later one
        body["generate_square_subsequent_mask"] = staticmethod(lambda sz, **_: TORCH["full"]((sz, sz), hidden).triu(1))
    return type(name, (found,), body)


_STRICT = ("BatchNorm", "RNN", "LSTM", "GRU")  # layers for which another number of axes is a ValueError


def _entitled(function: str, found: Any, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """What a function of torch.nn.functional has made, with PyTorch's name of it."""
    if function.startswith("dropout") and found.kind is not args[0].kind:
        refuse_whole(args[0])
    title = TABLES["titles"].get(function)
    if title is None or not isinstance(found, core.Tensor) or any(found is x for x in args):
        return found
    if function.startswith("conv") and args[0].ndim == int(function[-2]) + 1:  # PyTorch computes that of a batch
        title = "Squeeze1"
    elif function == "cross_entropy" and dtype_of(args[1]) is float64:
        title = "Div1" if keywords.get("reduction", "mean") == "mean" else "Neg"
    elif function == "cross_entropy" and keywords.get("label_smoothing"):
        title = "Add"
    elif function == "pad" and keywords.get("mode", "constant") != "constant":
        kind = "Reflection" if keywords["mode"] == "reflect" else "Replication"
        title = f"{kind}Pad{len(args[1]) // 2}D"
    return entitle(found, numbered(title))


def _optimizer(name: str, found: Any) -> Any:
    """An optimiser whose errors are of PyTorch's classes."""
    if not isinstance(found, type) or name in ("Optimizer", "LRScheduler"):
        return found

    names = TABLES["kept"].get(name, "").split()

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

    methods = ("__init__", "load_state_dict", "add_param_group")
    body = {method: _valued(getattr(found, method)) for method in methods if hasattr(found, method)}
    body["step"] = _valued(found.step, ("type", "arity", "leaf"))  # type: ignore[attr-defined]
    body |= {"_read": read, "_written": written} if names else {}
    return type(name, (found,), body | {"__module__": "agrad.torch.optim", "__doc__": found.__doc__})


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


def _data(name: str, found: Any) -> Any:
    """A loader that gives tensors of the types that the entries of the data have."""
    if name == "default_collate":
        return lambda batch: _batch(found(batch), batch[0])
    if name != "DataLoader":
        return _valued(found) if name == "random_split" else found

    def batch(self: Any, places: Any) -> Any:
        made = found._batch(self, places)
        is_table = type(self.dataset) is layers.utils.data.TensorDataset and self.collate_fn is None
        return _batch(made, self.dataset[0]) if is_table else made

    def collated(self: Any, entries: Any) -> Any:
        made = found._collated(self, entries)
        return made if self.collate_fn else _batch(made, entries[0])

    body = {
        "__init__": _valued(found.__init__),
        "_batch": batch,
        "_collated": collated,
        "__module__": "agrad.torch.utils.data",
        "__doc__": found.__doc__,
    }
    return type(name, (found,), body)


def _batch(found: Any, sample: Any) -> Any:
    """A batch with the types of a sample of it."""
    if isinstance(found, dict) and isinstance(sample, dict):
        return {key: _batch(value, sample.get(key)) for key, value in found.items()}
    if isinstance(found, list | tuple) and isinstance(sample, list | tuple) and len(found) == len(sample):
        parts = [_batch(*pair) for pair in zip(found, sample, strict=True)]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
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
        keywords |= spelled_out(keywords)
        args = _in_front(args, keywords)
        if name == "binary_cross_entropy" and not np.all((args[0].value >= 0) & (args[0].value <= 1)):
            raise RuntimeError("all elements of input should be between 0 and 1")
        if name.startswith("binary_cross_entropy") and len(args) > 1 and args[0].shape != args[1].shape:
            raise ValueError(f"{name}: the target has shape {args[1].shape}, and the input {args[0].shape}")
        x = args[0] if args else None
        compute = found
        if name == "binary_cross_entropy" and np.any(args[0].value * (1 - args[0].value) < 1e-12):
            compute = composed.binary_cross_entropy_at_ends
        is_written = keywords.pop("inplace", False) and isinstance(x, core.Tensor)
        if name == "threshold" and isinstance(x, Tensor):
            args, keywords = (x, *map(x.kind.python, args[1:])), {key: x.kind.python(n) for key, n in keywords.items()}
        made = _entitled(name, compute(*args, **keywords), (*args, keywords.get("pad")), keywords)
        made = made.to(x.kind) if name in ("pad", "max_pool2d") and isinstance(x, Tensor) else made
        return write_over(x, made, f"{name}_") if is_written else made

    call.__doc__ = found.__doc__
    return checked(name, call)


def _functional() -> dict[str, Any]:
    names = {name: TORCH[name] for name in ("sigmoid", "tanh")}
    for name in ("softmax", "log_softmax", "softmin"):  # which may leave out the axis, unlike those of torch
        names[name] = lambda input, dim=None, _stacklevel=3, dtype=None, _over=TORCH[name]: _over(input, dim, dtype)
    names |= {"linear": checked("linear", linear), "one_hot": creation.ONE_HOT, "normalize": normalize}
    for ours in ("relu", "elu", "selu", "leaky_relu", "hardtanh", "binary_cross_entropy"):
        names[ours] = _function(ours, getattr(layers.functional, ours))
        names[f"{ours}_"] = partial(names[ours], inplace=True)
    composed.PAD = layers.functional.pad
    return names | composed.OWN


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """input over its norm along an axis."""
    return input / TORCH["norm"](input, p, dim, True).clamp_min(eps).expand_as(input)


# torch.testing


def assert_close(actual: Any, expected: Any, *, msg: Any = None, **options: Any) -> None:
    """Nothing, where all entries are near to each other; else an AssertionError."""
    if isinstance(actual, list | tuple | dict) and isinstance(expected, list | tuple | dict):
        if isinstance(actual, dict) and actual.keys() != expected.keys():  # type: ignore[union-attr]
            raise AssertionError(f"The keys of the mappings do not match: {[*actual]} != {[*expected]}")
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for key in actual if isinstance(actual, dict) else range(len(actual)):
            assert_close(actual[key], expected[key], msg=msg, **options)
        return
    both: list[Any] = [x if isinstance(x, core.Tensor) else creation.tensor(x) for x in (actual, expected)]
    a, b = both
    for name in ("shape", "dtype") if options.get("check_dtype", True) else ("shape",):
        if getattr(a, name) != getattr(b, name):
            there, meant = getattr(a, name), getattr(b, name)
            raise AssertionError(f"The values for attribute '{name}' do not match: {there} != {meant}.")
    rtol, atol = options.get("rtol"), options.get("atol")
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or unspecified")
    if rtol is None:
        rtol = atol = 1e-7 if float64 in (a.kind, b.kind) else 0.0
    near = np.asarray(TORCH["isclose"](a.double(), b.double(), rtol, atol, options.get("equal_nan", False)).value) != 0
    if near.all():
        return
    apart, count = np.abs(np.asarray(a.value) - np.asarray(b.value)), int((~near).sum())
    lines = (
        [f"Scalars are not close!\n\nExpected {b.item()} but got {a.item()}."]
        if not a.ndim
        else [
            f"Tensor-likes are not {'close' if rtol or atol else 'equal'}!",
            "",
            f"Mismatched elements: {count} / {a.numel()} ({100 * count / a.numel():.1f}%)",
        ]
    )
    told = "\n".join([*lines, f"Greatest absolute difference: {float(apart.max())} (up to {atol} allowed)"])
    raise AssertionError(msg(told) if callable(msg) else msg or told)


# torch.linalg, torch.special, torch.utils.checkpoint


def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    return TORCH["norm"](x, ord, dim, keepdim)


def _matrix_norm(x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    if x.kind is not float64:
        raise RuntimeError(f"linalg.matrix_norm: Expected a floating point tensor as input. Got {x.kind}")
    return engine("norm", x, ord=None if ord == "fro" else ord, axis=dim, keepdims=keepdim)


def _norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    if ord is not None and dim is None and x.ndim > 2:
        raise RuntimeError(f"linalg.norm: with ord and without dim the input must be 1D or 2D. Got {x.ndim}D.")
    if ord is None or x.ndim == 1 or isinstance(dim, int):
        return _vector_norm(x, 2 if ord is None else ord, dim, keepdim)
    return _matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim)


def _cond(A: Any, p: Any = None) -> Any:  # noqa: N803 - PyTorch's name
    if p in (None, 2, -2):
        values = engine("svd", A)[1]
        return values.amax(-1) / values.amin(-1) if p != -2 else values.amin(-1) / values.amax(-1)
    return _matrix_norm(A, p) * _matrix_norm(engine("inv", A), p)


def _matrix_power(A: Any, n: int) -> Any:  # noqa: N803 - PyTorch's name
    if n < 0 and A.kind is not float64:
        raise RuntimeError("linalg.inv: Expected a floating point or complex tensor as input. Got Long")
    return engine("matrix_power", A, n)


# The functions of torch.linalg, each with the names of its results, and of its node.
_LINALG: dict[str, Callable[..., Any]] = {
    "qr Q R": extra.qr,
    "svd U S Vh": extra.svd,
    "eigh eigenvalues eigenvectors": lambda x, UPLO="L": engine("eigh", extra.triangle(x, UPLO)),  # noqa: N803
    "slogdet sign logabsdet": lambda x: engine("slogdet", x),
    "lstsq solution": lambda x, b: (engine("lstsq", x, b),),
    "eigvalsh": lambda x, UPLO="L": engine("eigh", extra.triangle(x, UPLO))[0],  # noqa: N803
    "cholesky": extra.cholesky,
    "vander": lambda x, N=None: TORCH["vander"](x, N, True),  # noqa: N803
    "svdvals": lambda x: engine("svd", x)[1],
    "multi_dot": lambda tensors: reduce(TORCH["matmul"], tensors),
    "cond": _cond,
    "tensorsolve": lambda A, B: engine("solve", A.reshape(B.numel(), -1), B.reshape(-1)).reshape(  # noqa: N803
        A.shape[B.ndim :]
    ),
    "vecdot": lambda x, y, *, dim=-1: (x * y).sum(dim),
    "matrix_rank": lambda x: creation.tensor(np.linalg.matrix_rank(np.asarray(x.value))),
    "solve LinalgSolveExBackward0": lambda A, B, *, left=True: (  # noqa: N803
        engine("solve", A, B) if left else engine("solve", A.mT, B.mT).mT
    ),
    "solve_triangular LinalgSolveTriangularBackward0": lambda x, b, *, upper, left=True, unitriangular=False: (
        engine("solve_triangular", x, b, lower=not upper, unit_diagonal=unitriangular)
        if left
        else engine("solve_triangular", x.mT, b.mT, lower=upper, unit_diagonal=unitriangular).mT
    ),
    "matrix_power": _matrix_power,
    "matrix_norm": _matrix_norm,
    "vector_norm": _vector_norm,
    "norm": _norm,
}
_LINALG |= {name: partial(engine, name) for name in "inv det pinv matmul".split()}
_LINALG["matrix_exp"] = partial(engine, "expm")


def _linalg() -> dict[str, Any]:
    table: dict[str, Any] = {"LinAlgError": LinAlgError, "diagonal": TORCH["diagonal"]}
    table["cross"] = lambda input, other, *, dim=-1: TORCH["cross"](input, other, dim)
    for key, function in _LINALG.items():
        name, *fields = key.split()
        title = fields.pop() if fields and "Backward" in fields[-1] else ""
        call = checked(name, function, title)
        table[name] = _with_names(named(f"linalg_{name}", *fields), call) if fields else call
    return table


def _with_names(made: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **keywords: made(*function(*args, **keywords))


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: Any = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **keywords: Any,
) -> Any:
    """What a function gives, computed again for the derivative, so that its graph takes no memory meanwhile."""
    if keywords and use_reentrant:
        raise ValueError(f"Unexpected keyword arguments: {','.join(keywords)}")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    return function(*args, **keywords)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: Any = None, preserve_rng_state: bool = True, **more: Any
) -> Any:
    """The same of functions that are called one after the other, of which each segment has as many."""
    if more:
        raise ValueError(f"Unexpected keyword arguments: {','.join(more)}")
    range(0, segments, len(functions) // segments)  # refuses more segments than functions, 0 and what is no number
    for one in functions:
        input = one(input)
    return input


class GradcheckError(RuntimeError):
    """The derivatives of a function are not those of differences."""


def _listed(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _gradcheck(
    fn: Any,
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    **_: Any,
) -> bool:
    """Whether the derivatives of a function are those of differences."""
    given = _listed(inputs)
    wanted = [x for x in given if isinstance(x, core.Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient")
    for number, y in enumerate(_listed(fn(*given))):
        if not (isinstance(y, core.Tensor) and y.requires_grad):
            continue
        for which, x in enumerate(wanted):

            def one(moved: Any, x: Any = x, number: int = number) -> Any:
                return _listed(fn(*[typed(moved, float64) if other is x else other for other in given]))[number]

            try:
                gradcheck(one, x, eps, atol, rtol)
            except AgradError as error:
                if error.kind != "grad" or raise_exception:
                    told = f"Jacobian mismatch for output {number} with respect to input {which},\n{error.message}"
                    raise GradcheckError(told) if error.kind == "grad" else error from None
                return False
    return True


def _gradgradcheck(fn: Any, inputs: Any, grad_outputs: Any = None, **keywords: Any) -> bool:
    """The same of the derivatives."""
    given = _listed(inputs)

    def outputs(args: tuple[Any, ...]) -> list[Any]:
        return [y for y in _listed(fn(*args)) if y.requires_grad]

    def first(*args: Any) -> Any:
        inner = args[: len(given)]
        wanted = [x for x in inner if isinstance(x, core.Tensor) and x.requires_grad]
        return tuple(func._gradients(outputs(inner), wanted, list(args[len(given) :])))

    seeds = [TORCH["rand"](*y.shape).requires_grad_() for y in outputs(given)]
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

    data = pickle.dumps(obj)  # before a file is opened, which stays as it was if that fails
    if hasattr(f, "write"):
        f.write(data)
        return
    with open(f, "wb") as file:
        file.write(data)


def load(f: Any, map_location: Any = None, weights_only: bool = True, **_: Any) -> Any:
    """Read what `save` has written; of weights alone nothing else is made, and nothing that is there is changed."""
    import pickle  # here: few programs load

    require_files("torch.load")

    def refuse(what: str) -> NoReturn:
        fix = "" if current().statement else "\n  fix: weights_only=False"  # which a session does not allow
        raise pickle.UnpicklingError(f"Weights only load failed: {what} is no tensor{fix}")

    class Reader(pickle._Unpickler):  # written in Python, so that it can do without an instruction
        dispatch = pickle._Unpickler.dispatch | {pickle.BUILD[0]: lambda _: refuse("what gets attributes")}

        def find_class(self, module: str, name: str) -> Any:
            return super().find_class(module, name) if name in _SAVED.get(module, ()) else refuse(f"{module}.{name}")

    def read(file: Any) -> Any:
        try:
            return (Reader if weights_only else pickle.Unpickler)(file).load()
        except (pickle.PickleError, MemoryError):
            raise
        except Exception:
            raise pickle.UnpicklingError("torch.save has not written this, or it is incomplete") from None

    if hasattr(f, "read"):
        return read(f)
    with open(f, "rb") as file:
        return read(file)


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


def _same(f: Any = None, *_: Any, **__: Any) -> Any:
    """The function itself: there is nothing to compile."""
    return f if f is not None else lambda g: g


def _nothing(*_: Any) -> None:
    """What is done on a device that is not there."""


_ADAPTED = {"nn": _layer, "nn.modules": _layer, "nn.functional": _function, "utils.data": _data}
_ADAPTED |= {"nn.utils": _typing, "optim": _optimizer, "optim.lr_scheduler": _optimizer}


def _names(row: str) -> dict[str, Any]:
    """The names that a row of the table of modules gives to one: `func: grad vjp; modules: gradcheck=_gradcheck`."""
    found = {}
    for part in filter(None, row.split("; ")):
        source, _, names = part.partition(": ")
        for theirs, _, ours in (pair.partition("=") for pair in names.split()):
            found[theirs] = getattr(_SOURCES[source], ours or theirs)
    return found


_SOURCES: dict[str, Any] = {
    "autograd": autograd, "func": func, "functional": func.functional, "nn": layers, "optim": optim, "tools": tools,
    "torch": T,
    "modules": sys.modules[__name__],
}  # fmt: skip


def _more_names() -> dict[str, dict[str, Any]]:
    """The names that modules have beside those of the table."""
    absent: dict[str, Any] = {"is_available": lambda: False}
    nowhere = absent | {"device_count": lambda: 0, "empty_cache": _nothing, "synchronize": _nothing}
    seeded = nowhere | {"manual_seed": _nothing}
    pairs = [pair.partition("=") for pair in TABLES["special"]]
    return {
        "nn.functional": _functional(),
        "linalg": _linalg(),
        "special": {name: checked(name, plain(name, ours or name, True)) for name, _, ours in pairs},
        "cuda": seeded | {"manual_seed_all": _nothing},
        "mps": seeded,
        "accelerator": nowhere | {"current_accelerator": _nothing},
        "backends.cudnn": {**absent, "deterministic": False, "benchmark": False},
        "backends.mps": {**absent, "is_built": lambda: False},
    }


def install(torch: Any) -> None:
    """Put the modules where imports find them, and as names into `torch`."""
    more, table = _more_names(), dict[str, Module]()
    for name, row in TABLES["modules"].items():
        doc, ours, names, *_ = (part.strip() for part in f"{row} | | ".split("|"))
        others: list[Any] = [import_module(f"agrad.engine.{ours}")] if ours else []
        others += [composed.MODULES] if ours == "nn" else [distributions.NAMES] if name == "distributions" else []
        table[name] = made = Module(name, doc, more.get(name, {}) | _names(names), *others, adapt=_ADAPTED.get(name))
        sys.modules[made.__name__] = made
        owner, _, last = name.rpartition(".")
        (table[owner] if owner else torch).__dict__[last] = made
    table["autograd"].__dict__["gradcheck"] = _gradcheck
    table["nn"].__dict__.update(composed.lazily(table["nn"]))
    torch.__dict__.update({name: getattr(table["nn.functional"], name) for name in TABLES["also in torch"]})
    torch.__dict__.update(
        compile=_same, save=save, load=load, vmap=func.vmap, Tensor=Tensor, cdist=TORCH["cdist"],
        return_types=SimpleNamespace(), use_deterministic_algorithms=lambda *_: None, set_num_threads=lambda n: None,
    )  # fmt: skip
