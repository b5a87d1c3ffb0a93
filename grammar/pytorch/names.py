"""PyTorch's and NumPy's spelling: the meaning of a pasted `torch.name`, where agrad's name or meaning differs.

A prefix on a function of the table is simply left out: `torch.sin` is `sin`. Here is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from itertools import accumulate
from math import nan
from time import perf_counter
from typing import Any

from agrad.engine.autodiff.autograd import set_grad_enabled
from agrad.engine.autodiff.transforms import grad, hessian, jacobian
from agrad.engine.core.arguments import axes_of, axis_of, is_sequence, number_of, small, truth_of, wholes_of
from agrad.engine.core.context import current
from agrad.engine.core.op import FUNCTIONS, OPS, Signature
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.joining import at
from agrad.engine.ops.arrays.shaping import shape_of_any
from agrad.engine.ops.data_files import load_text
from agrad.engine.ops.linalg.norms import of_vector
from agrad.engine.values import describe, format_shape
from agrad.grammar import values
from agrad.grammar.pytorch import functions, libraries
from agrad.grammar.pytorch.functions import FORMS
from agrad.grammar.pytorch.libraries import CONSTANTS, NAMESPACES

DRAWERS = frozenset({"plt", "pyplot", "matplotlib.pyplot"})  # whose functions draw
_STAND_INS = frozenset({"time", "random", "copy"})  # modules of Python of which agrad has a few functions
PREFIXES = frozenset(
    {"torch", "np", "numpy", "math", "F", "nn", "optim", "lr_scheduler", "plt", "pyplot", "matplotlib"} | _STAND_INS
)

# Other names for functions of the table; also for methods.
RENAMED = dict(
    pair.split("=")
    for pair in (
        "cat=concat concatenate=concat mm=matmul mv=matmul bmm=matmul clamp=clip inverse=inv eq=equal ne=not_equal "
        "lt=less le=less_equal gt=greater ge=greater_equal absolute=abs fabs=abs multiply=mul divide=div subtract=sub "
        "negative=neg power=pow arcsin=asin arccos=acos arctan=atan arctan2=atan2 arcsinh=asinh arccosh=acosh "
        "arctanh=atanh array=tensor asarray=tensor as_tensor=tensor from_numpy=tensor"
    ).split()
)

# Types and devices: every number is a float64, and there is one device.
IGNORED = frozenset(
    {"float", "float16", "float32", "float64", "double", "half", "int", "int32", "int64", "long", "bool"}
)

DTYPE = "torch.float64"  # that of every array

_STEP = "step sgd w b lr=0.1"
_NO_GRAD = "no_grad: …, or with torch.no_grad(): …"

# Layers that agrad does not have, and what computes them: of an image x of 28x28 with a kernel k of 3x3, say.
_LAYERS = {
    "Conv1d": 'np.correlate(x, k, "valid")   of a vector x and a kernel k',
    "Conv2d": "sum(k[i, j]*x[i:i + 26, j:j + 26] for i in range(3) for j in range(3))   of x of 28x28 and k of 3x3",
    "MaxPool2d": "x.reshape(14, 2, 14, 2).max(3).max(1)   of x of 28x28",
    "AvgPool2d": "x.reshape(14, 2, 14, 2).mean((1, 3))   of x of 28x28",
    "LSTM": "a cell in a loop: sigmoid(x @ w + h @ u + b) for each gate",
    "RNN": "a loop: h = tanh(x[t] @ w + h @ u + b)",
}
_LAYERS["GRU"] = _LAYERS["LSTM"]

# Functions that read a table from a file, in Python, Julia, R and MATLAB.
READERS = frozenset(
    "read read_csv read_table read_excel readdlm readtable readmatrix importdata csvread dlmread fread".split()
)

# Functions of school mathematics that are the reciprocal of another.
RECIPROCALS = {"sec": "cos", "csc": "sin", "cosec": "sin", "cot": "tan", "ctg": "tan", "cotg": "tan"}
# Those of an angle in degrees.
OF_DEGREES = {"sind": "sin", "cosd": "cos", "tand": "tan"}

# What other languages and libraries call it; for the advice on an unknown name.
KNOWN_ELSEWHERE = {
    **{name: f"{ours}(…)" for name, ours in RENAMED.items()},
    "ln": "log(…)",
    "lg": "log10(…)",
    **{name: f"1/{ours}(x)" for name, ours in RECIPROCALS.items()},
    **{name: f"{ours}(x*pi/180)" for name, ours in OF_DEGREES.items()},
    "tg": "tan(…)",
    "arctg": "atan(…)",
    "sh": "sinh(…)",
    "ch": "cosh(…)",
    "th": "tanh(…)",
    "radians": "deg2rad(…)",
    "degrees": "rad2deg(…)",
    "tr": "trace(…)",
    "ufloat": "x ± u",
    "factorial": "gamma(n + 1)",
    **dict.fromkeys(("C", "nCr", "ncr", "binom", "binomial", "choose"), "comb(…)"),
    **dict.fromkeys(("P", "nPr", "npr"), "perm(…)"),
    "diff": "grad(y, x), or x[1:] - x[:-1] for differences",
    "derivative": "grad(y, x)",
    "derive": "grad(y, x)",
    "d": "grad(y, x)",
    "D": "grad(f)",
    **dict.fromkeys(("nDeriv", "nderiv"), "grad(f)(3)   of a function f, at a point"),
    "simplify": "formula y wrt x   writes a value and its derivative as formulas",
    "gradcheck": "check f(x), or torch.autograd.gradcheck(f, (x,))",
    **dict.fromkeys(("integrate", "quad"), "integral(…)"),
    **dict.fromkeys(("odeint", "solve_ivp"), "ode(f, y0, ts)   with f(t, y)"),
    **dict.fromkeys(
        ("polyfit", "curve_fit", "least_squares", "leastsq", "linregress", "lsqcurvefit", "nls", "lm"),
        "fit y ~ a*x + b over a, b from a=1, b=1",
    ),
    "fsolve": "solve f(x) == 0 for x from 1",
    **dict.fromkeys(("average", "avg"), "mean(…)"),
    "gradient": "grad(…)",
    "deg": "rad2deg(…)",
    "rad": "deg2rad(…)",
    **dict.fromkeys(("mse", "MSE"), "mean((x - y)**2)"),
    "exit": "quit",
    **dict.fromkeys(("true", "TRUE"), "True"),
    **dict.fromkeys(("false", "FALSE"), "False"),
    **dict.fromkeys(("null", "NULL"), "None"),
    "M_PI": "pi",
    "length": "len(…)",
    "ifelse": "where(…)",
    "numel": "x.numel()",
    "size": "x.shape",
    "end": "x[-1]   is the last entry; a block ends where its lines are no longer indented",
    "rem": "fmod(…)",
    "input": "-D x=3 on the command line, or args",
    "open": 'load_csv("data.csv")',
    **dict.fromkeys(
        ("residuals", "residual", "resid"), "r = y - (a*x + b).data   of the model y ~ a*x + b, after its fit"
    ),
    **dict.fromkeys(
        ("chi2", "chisq", "chisquare", "redchi"), "sum(((y - (a*x + b).data)/s)**2)   after a fit with sigma s"
    ),
    **dict.fromkeys(("aic", "AIC"), "len(y)*log(mean(r**2)) + 2*2   for 2 parameters and the residuals r"),
    **dict.fromkeys(("pcov", "covar"), "fit y ~ a*x + b over a, b   shows the correlations; a.u is an uncertainty"),
    **dict.fromkeys(READERS, "load_csv(…)"),
    **dict.fromkeys(
        ("savetxt", "to_csv", "write_csv", "writedlm", "csvwrite", "writematrix"),
        'for i in range(len(x)): print f"{x[i]},{y[i]}"   in a script: agrad run a.ag > out.csv',
    ),
    **dict.fromkeys(("scatter", "scatterplot", "lineplot"), "plot x, y"),
    "errorbar": "plot x, y +- u",
    **dict.fromkeys(("hist", "histplot"), "histogram x"),
    **dict.fromkeys(("ls", "pwd"), 'load_csv("   and Tab lists the files'),
    "dir": 'vars   lists the names; load_csv("   and Tab the files',
    **dict.fromkeys(("who", "whos"), "vars"),
    "π": "pi",
    "backwards": "backward y",
    **{name: f"nn.{name}(…)" for name in ("Linear", "Sequential", "ReLU", "MSELoss", "CrossEntropyLoss", "Parameter")},
    **{name: f"optim.{name}(…)" for name in ("SGD", "Adam", "AdamW", "RMSprop")},
    **_LAYERS,
    "optimizer": _STEP,
    "opt": _STEP,
    "no_grad": _NO_GRAD,
    "inference_mode": _NO_GRAD,
    "set_grad_enabled": _NO_GRAD,
    "set_default_dtype": "leave it out: every number is a float64",
    "FloatTensor": "tensor([1, 2])",
    "DoubleTensor": "tensor([1, 2])",
    "repr": 'f"{x}"',
    "format": 'f"{x:.3f}"',
    "allclose": "assert a ~= b +- 1e-8",
    "enable_grad": "with torch.enable_grad(): …",
    "isclose": "a ~= b, or a ~= b +- 1e-8",
    "backward": "backward y",
}

_NO_TYPES = "every number is a float64"
# Attributes of PyTorch that agrad does not have: why, and what to write.
NO_METHODS = {
    **dict.fromkeys(("long", "short"), (_NO_TYPES, ".trunc()   cuts fractions off; .floor() and .round() round")),
    "value": ("a name alone is its value", ".data   is the value without its graph, .u its uncertainty"),
    "values": ("a function with several results returns a tuple", "values, places = torch.max(x, dim=1)"),
    "indices": ("a function with several results returns a tuple", "values, places = torch.max(x, dim=1)"),
}


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
        return FUNCTIONS[name].call(x, axis=axis, keepdims=keepdims, ddof=ddof)

    return call


def _extreme(name: str) -> Callable[..., Any]:
    """torch.max: of all entries; with an axis the values and their places; of two values the larger."""

    def call(x: Any, axis: Any, keepdims: Any, other: Any) -> Any:
        other = axis if getattr(axis, "shape", ()) else other
        if other is not None:
            return FUNCTIONS[f"{name}imum"].call(x, other)
        if axis is None:
            return FUNCTIONS[name].call(x)
        places = {"axis": axis, "keepdims": keepdims}
        return FUNCTIONS[name].call(x, **places), FUNCTIONS[f"arg{name}"].call(x, **places)

    return call


def _norm(x: Any, ord: Any, axis: Any, keepdims: Any, dtype: Any) -> Any:
    """torch.norm: of order p it is that of all entries, also of a matrix."""
    order = getattr(ord, "value", ord)
    if order is None or isinstance(order, str):
        return FUNCTIONS["norm"].call(x, ord=None if order == "fro" else order, axis=axis, keepdims=keepdims)
    axes = axes_of("torch.norm", shape_of_any(x), axis)
    return of_vector(x, number_of("torch.norm", "p", ord), axes, keepdims)


def _sort(x: Any, axis: Any, descending: Any, stable: Any) -> tuple[Any, Any]:
    """torch.sort: the values and their places."""
    places = {"axis": axis, "descending": descending}
    return FUNCTIONS["sort"].call(x, **places), FUNCTIONS["argsort"].call(x, **places)


def _median(x: Any, axis: Any, keepdims: Any) -> Any:
    """torch.median: of two entries in the middle the lower, nan where one is nan; with an axis the places too."""
    if axis is None:
        return _median(FUNCTIONS["flatten"].call(x), 0, False)[0]
    shape = shape_of_any(x)
    place = axis_of("torch.median", shape, axis)
    if not shape[place]:
        raise AgradError("shape", f"torch.median of shape {format_shape(shape)}: there is no entry")
    where, hidden = (shape[place] - 1) // 2, FUNCTIONS["any"].call(FUNCTIONS["isnan"].call(x), axis=place)
    values, places = (getitem(each, at(place, where)) for each in _sort(x, place, False, True))
    found = FUNCTIONS["where"].call(hidden, nan, values), places
    return tuple(FUNCTIONS["unsqueeze"].call(each, place) for each in found) if keepdims else found


def _split(x: Any, split_size_or_sections: Any, axis: Any) -> Any:
    """torch.split: into pieces of so many entries, of which the last may have fewer, or of the lengths in a list."""
    shape = shape_of_any(x)
    length = shape[axis_of("torch.split", shape, axis)]
    if is_sequence(split_size_or_sections):
        lengths = wholes_of("torch.split", "a length", split_size_or_sections)
        if min(lengths, default=-1) < 0 or sum(lengths) != length:
            raise AgradError("shape", f"torch.split: {length} entries cannot be cut into {format_shape(lengths)}")
        return FUNCTIONS["split"].call(x, list(accumulate(lengths))[:-1], axis)
    size = small("torch.split", "the length of a piece", split_size_or_sections)
    if size < 1:
        raise AgradError("shape", f"torch.split: a piece has at least one entry, not {size}")
    return FUNCTIONS["split"].call(x, list(range(size, length, size)), axis)


def _chunk(x: Any, chunks: Any, axis: Any) -> Any:
    """torch.chunk: at most so many pieces of the same length, of which the last may have fewer entries."""
    count, shape = small("torch.chunk", "the number of pieces", chunks), shape_of_any(x)
    if count < 1:
        raise AgradError("shape", f"torch.chunk: there is at least one piece, not {count}")
    return _split(x, float(-(-shape[axis_of("torch.chunk", shape, axis)] // count) or 1), axis)


def _equal(x: Any, y: Any) -> bool:
    """torch.equal: whether the shapes and all entries are equal, one truth value."""
    same = shape_of_any(x) == shape_of_any(y)
    return same and bool(FUNCTIONS["all"].call(FUNCTIONS["equal"].call(x, y)))


def _svd(x: Any, some: Any, compute_uv: Any) -> tuple[Any, Any, Any]:
    """torch.svd: the last is V itself, not its transpose."""
    u, s, vh = FUNCTIONS["svd"].call(x)
    return u, s, OPS["swap"].call(vh)


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
    near = FUNCTIONS["abs"].call(FUNCTIONS["sub"].call(x, y))
    bound = FUNCTIONS["add"].call(atol, FUNCTIONS["mul"].call(rtol, FUNCTIONS["abs"].call(y)))
    found = FUNCTIONS["less_equal"].call(near, bound)
    same = FUNCTIONS["equal"].call(x, y)  # of infinite entries the difference is nan
    return bool(FUNCTIONS["all"].call(FUNCTIONS["maximum"].call(found, same)))


def _uniform(low: Any, high: Any, size: Any) -> Any:
    """np.random.uniform."""
    drawn = FUNCTIONS["rand"].call(*(() if size is None else (size,)))
    return FUNCTIONS["add"].call(low, FUNCTIONS["mul"].call(FUNCTIONS["sub"].call(high, low), drawn))


def _normal(loc: Any, scale: Any, size: Any) -> Any:
    """np.random.normal."""
    drawn = FUNCTIONS["randn"].call(*(() if size is None else (size,)))
    return FUNCTIONS["add"].call(loc, FUNCTIONS["mul"].call(scale, drawn))


def _new_tensor(data: Any) -> Any:
    """torch.Tensor of entries; of a length it would have entries that are not set."""
    if isinstance(data, float | int):
        raise AgradError("type", "torch.Tensor(3) has entries that are not set", fixes=["torch.zeros(3)"])
    return FUNCTIONS["tensor"].call(data)


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
        self.bits = {"float16": 16.0, "half": 16.0, "float32": 32.0}.get(str(dtype).rpartition(".")[2], 64.0)
        digits, most = {16.0: (10, 15), 32.0: (23, 127)}.get(self.bits, (52, 1023))
        self.dtype = dtype
        self.eps = 2.0**-digits
        self.max = (2.0 - 2.0**-digits) * 2.0**most
        self.min, self.tiny = -self.max, 2.0 ** (1 - most)

    def _shown(self, text: Callable[[Any], str]) -> str:
        return f"finfo(eps={text(self.eps)}, min={text(self.min)}, max={text(self.max)}, tiny={text(self.tiny)})"


_NEAR = "x, y; rtol=1e-05, atol=1e-08, equal_nan=False"
_BY_PLACE = "func, inputs; create_graph=False, strict=False, vectorize=False, strategy=None"
_MOMENT = "input; axis=None, unbiased=True, keepdims=False, ddof=None"
_TEXT = "fname; delimiter=None, skiprows=0"
OWN_FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "np.loadtxt": (_TEXT, load_text),
    "numpy.loadtxt": (_TEXT, load_text),
    "torch.autograd.grad": (
        "outputs, inputs; grad_outputs=None, retain_graph=None, create_graph=True, allow_unused=None",
        _torch_grad,
    ),
    "torch.autograd.functional.jacobian": (_BY_PLACE, lambda f, inputs, **_: jacobian(f)(inputs)),
    "torch.autograd.functional.hessian": (_BY_PLACE, lambda f, inputs, **_: hessian(f)(inputs)),
    "torch.max": ("input; axis=None, keepdims=False, other=None", _extreme("max")),
    "torch.min": ("input; axis=None, keepdims=False, other=None", _extreme("min")),
    "torch.norm": ("input; ord='fro', axis=None, keepdims=False, dtype=None", _norm),
    "torch.sort": ("input; axis=-1, descending=False, stable=False", _sort),
    "torch.median": ("input; axis=None, keepdims=False", _median),
    "torch.split": ("tensor; split_size_or_sections, axis=0", _split),
    "torch.chunk": ("input, chunks; axis=0", _chunk),
    "torch.masked_fill": ("input, mask, value", lambda x, mask, value: FUNCTIONS["where"].call(mask, value, x)),
    "torch.equal": ("input, other", _equal),
    "torch.svd": ("input; some=True, compute_uv=True", _svd),
    **dict.fromkeys(("torch.allclose", "np.allclose"), (_NEAR, _allclose)),
    "torch.is_grad_enabled": ("", lambda: current().recording),
    "torch.device": ("name; index=None", lambda name, index: str(name)),
    "torch.cuda.is_available": ("", lambda: False),
    "torch.backends.mps.is_available": ("", lambda: False),
    "torch.cuda.device_count": ("", lambda: 0.0),
    "torch.Tensor": ("data", _new_tensor),
    "torch.jit.script": ("obj", _as_it_is),
    "torch.jit.trace": ("func; example_inputs=None, check_trace=True, strict=True", _as_it_is),
    "torch.compile": ("model; mode=None, backend=None, fullgraph=False, dynamic=None, options=None", _as_it_is),
    "np.random.seed": ("seed", lambda seed: FUNCTIONS["manual_seed"].call(seed)),
    "np.random.uniform": ("; low=0.0, high=1.0, size=None", _uniform),
    "np.random.random": ("; size=None", lambda size: _uniform(0.0, 1.0, size)),
    "np.random.normal": ("; loc=0.0, scale=1.0, size=None", _normal),
    **dict.fromkeys(("np.finfo", "torch.finfo"), ("dtype", FloatInfo)),
    **dict.fromkeys(("time.time", "time.perf_counter"), ("", lambda: perf_counter())),
    "random.random": ("", lambda: FUNCTIONS["rand"].call()),
    "random.seed": ("seed", lambda seed: FUNCTIONS["manual_seed"].call(seed)),
    "random.uniform": ("low, high", lambda low, high: _uniform(low, high, None)),
    "random.gauss": ("mu, sigma", lambda mu, sigma: _normal(mu, sigma, None)),
    "copy.copy": ("x", functions.shallow),
    "copy.deepcopy": ("x", functions.deep),
    **dict.fromkeys(("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"), ("mode", set_grad_enabled)),
    **FORMS,
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


# Methods that mean something else in PyTorch: after `import torch` they are PyTorch's. Of arrays of NumPy some are
# NumPy's, which are agrad's: where both are imported, these need a name that says which.
LIBRARIES = ("torch", "numpy")
_AMBIGUOUS = frozenset({"std", "var", "max", "min", "repeat"})
DIFFERING = frozenset({"sort", "norm", "split", "equal", "svd", "median"}) | _AMBIGUOUS
_OF_TORCH = frozenset({"dim", "keepdim", "unbiased", "correction"})
_OF_NUMPY = frozenset({"axis", "keepdims", "ddof"})


def method_there(
    name: str, args: tuple[Any, ...], keywords: Mapping[str, Any], imported: Collection[str]
) -> Callable[..., Any] | None:
    """The method as PyTorch has it, where it is meant; None for agrad's. Raises AgradError where both may be meant."""
    if "torch" not in imported or _OF_NUMPY & keywords.keys() or (name in ("max", "min") and not (args or keywords)):
        return None
    if name in _AMBIGUOUS and "numpy" in imported and not _OF_TORCH & keywords.keys():
        theirs, ours = _MEANINGS[name]
        message = f".{name}() of a tensor {theirs}, and of an array of NumPy {ours}: both are imported"
        raise AgradError("type", message, fixes=[Hint(fix) for fix in _SPELLED.get(name, _SPELLED["std"])(name, args)])
    return _repeated if name == "repeat" else OWN[f"torch.{name}"]


_MEANINGS = {
    **dict.fromkeys(("std", "var"), ("divides by n - 1", "by n")),
    **dict.fromkeys(("max", "min"), ("along an axis gives values and places", "the values alone")),
    "repeat": ("repeats the whole", "each entry"),
}
_SPELLED: dict[str, Callable[[str, tuple[Any, ...]], tuple[str, ...]]] = {
    "std": lambda name, args: (f"torch.{name}(x{', …' * bool(args)})", f"np.{name}(x{', …' * bool(args)})"),
    "max": lambda name, _: (f"x.{name}(dim=…)   or torch.{name}(x, …)", f"x.{name}(axis=…)"),
    "repeat": lambda name, _: ("x.tile(…)   repeats the whole", "np.repeat(x, …)   repeats each entry"),
}
_SPELLED["min"] = _SPELLED["max"]


def _repeated(x: Any, *sizes: Any) -> Any:
    """x.repeat(2, 1) of PyTorch: the whole, so many times along each axis."""
    counts = sizes[0] if len(sizes) == 1 and is_sequence(sizes[0]) else sizes
    if len(counts) < len(shape_of_any(x)):
        have = f"{len(counts)} number{'' if len(counts) == 1 else 's'}"
        raise AgradError("shape", f"repeat of shape {format_shape(shape_of_any(x))} needs a number an axis, not {have}")
    return FUNCTIONS["tile"].call(x, *counts)


def names_in(prefix: str) -> list[str]:
    """The names that agrad has of one of these modules; none for another prefix."""
    place = NAMESPACES.get(prefix.removeprefix("torch."))
    module = import_module(place) if place else None  # some of what is in __all__ may not be loaded yet
    listed = {*vars(module), *getattr(module, "__all__", ())} if module else ()
    return sorted(name for name in listed if place and _in_namespace(place, name))


def _in_namespace(place: str, name: str) -> Callable[..., Any] | None:
    """A class, or a function, of one of the engine's modules; None for what is not of its interface."""
    module = import_module(place)
    found = getattr(module, name, None)
    listed = getattr(module, "__all__", None)
    own = name in listed if listed else getattr(found, "__module__", "").startswith("agrad.engine.nn")
    return found if own and callable(found) and not name.startswith("_") else None


def has_classes(prefix: str) -> bool:
    """Whether a prefix is that of a module whose classes the engine has."""
    return prefix.removeprefix("torch.") in NAMESPACES


def is_imported(prefix: str, name: str) -> bool:
    """Whether a name of a module is a class or a function of the engine's that no table has: an import binds it."""
    place = NAMESPACES.get(prefix.removeprefix("torch."))
    return place is not None and name not in FUNCTIONS and _in_namespace(place, name) is not None


def canonical(prefix: str) -> str:
    """The usual spelling of a prefix: np for numpy, torch.nn.functional for F."""
    head, dot, rest = prefix.partition(".")
    return _USUAL.get(head, head) + dot + rest


_USUAL = {"numpy": "np", "F": "torch.nn.functional", "nn": "torch.nn", "optim": "torch.optim"}


def is_real(prefix: str, name: str) -> bool:
    """Whether PyTorch, NumPy or Python has a name in a module."""
    return name in libraries.names_in(canonical(prefix))


def constant(prefix: str, name: str) -> Any:
    """A value that is spelled `prefix.name`: a number, a type, a version; None if there is none."""
    if name in CONSTANTS and is_real(prefix, name):
        return CONSTANTS[name]
    if name in IGNORED and is_real(prefix, name):
        return f"torch.{name}"
    if f"{canonical(prefix)}.{name}" == "torch.__version__":
        from importlib.metadata import PackageNotFoundError, version  # here, since few scripts ask

        try:
            return f"agrad {version('agrad')}"
        except PackageNotFoundError:
            return "agrad"
    return None


def function(prefix: str, name: str) -> Callable[..., Any] | None:
    """What `prefix.name` calls; None if agrad has nothing of the kind."""
    own = OWN.get(f"{canonical(prefix)}.{name}")
    if own is not None:
        return own
    if prefix.partition(".")[0] in _STAND_INS:
        return None
    place = NAMESPACES.get(prefix.removeprefix("torch."))
    if place is not None:
        found = _in_namespace(place, name)
        if found is not None:
            return found
    entry = FUNCTIONS.get(name) or FUNCTIONS.get(RENAMED.get(name, ""))
    return entry.call if entry is not None and is_real(prefix, name) else None


def table() -> dict[str, dict[str, str]]:
    """Every name that is read behind a module of PyTorch, NumPy or Python, and what it is here, by modules.

    A function of agrad is named by its name, what has other arguments there by its form.
    """
    here = RENAMED | dict.fromkeys(IGNORED, "float64")
    found = {prefix: {one: here.get(one, one) for one in libraries.names_in(prefix)} for prefix in libraries.modules()}
    for full, (form, _) in OWN_FORMS.items():
        prefix, _, name = full.rpartition(".")
        found.setdefault(canonical(prefix), {})[name] = Signature(name, form).usage
    for module in NAMESPACES:
        if module != "lr_scheduler":  # of torch.optim
            there = found.setdefault(f"torch.{module}", {})
            for name in names_in(module):
                there[name] = "class" if isinstance(_in_namespace(NAMESPACES[module], name), type) else "function"
    return found
