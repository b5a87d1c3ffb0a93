"""PyTorch's and NumPy's spelling: the meaning of a pasted `torch.name`, where agrad's name or meaning differs.

A prefix on a function of the table is simply left out: `torch.sin` is `sin`. Here is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

from agrad.engine.core.arguments import is_sequence
from agrad.engine.core.dispatch import shape_of_any
from agrad.engine.core.op import FUNCTIONS, Signature
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import format_shape
from agrad.grammar.pytorch import CONSTANTS, NAMESPACES, libraries
from agrad.grammar.pytorch.functions import OWN as OWN
from agrad.grammar.pytorch.functions import OWN_FORMS as OWN_FORMS

DRAWERS = frozenset({"plt", "pyplot", "matplotlib.pyplot"})  # whose functions draw
_STAND_INS = frozenset({"time", "random", "copy"})  # modules of Python of which agrad has a few functions
PREFIXES = _STAND_INS | set("torch np numpy math F nn optim lr_scheduler plt pyplot matplotlib".split())


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


# Other names for functions of the table; also for methods.
RENAMED = _pairs(
    "cat=concat concatenate=concat mm=matmul mv=matmul bmm=matmul clamp=clip inverse=inv eq=equal ne=not_equal lt=less "
    "le=less_equal gt=greater ge=greater_equal absolute=abs fabs=abs multiply=mul divide=div subtract=sub negative=neg "
    "power=pow arcsin=asin arccos=acos arctan=atan arctan2=atan2 arcsinh=asinh arccosh=acosh arctanh=atanh "
    "array=tensor asarray=tensor as_tensor=tensor from_numpy=tensor copy=clone"
)

# Types and devices: every number is a float64, and there is one device.
IGNORED = frozenset("float float16 float32 float64 double half int int32 int64 long bool".split())

DTYPE = "torch.float64"  # that of every array

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

# Words of other languages that are others here, and functions of other names.
WORDS = _pairs("exit=quit true=True TRUE=True false=False FALSE=False null=None NULL=None M_PI=pi π=pi")
_FUNCTIONS = _pairs(
    "ln=log lg=log10 tg=tan arctg=atan sh=sinh ch=cosh th=tanh radians=deg2rad degrees=rad2deg deg=rad2deg rad=deg2rad "
    "tr=trace C=comb nCr=comb ncr=comb binom=comb binomial=comb choose=comb P=perm nPr=perm npr=perm "
    "integrate=integral quad=integral average=mean avg=mean gradient=grad length=len ifelse=where Linear=nn.Linear "
    "Sequential=nn.Sequential ReLU=nn.ReLU MSELoss=nn.MSELoss CrossEntropyLoss=nn.CrossEntropyLoss "
    "Parameter=nn.Parameter SGD=optim.SGD Adam=optim.Adam AdamW=optim.AdamW RMSprop=optim.RMSprop"
)

_FIT = "fit y ~ a*x + b over a, b from a=1, b=1"
_ROWS = 'for i in range(len(x)): print f"{x[i]},{y[i]}"   in a script: agrad run a.ag > out.csv'
# Words of other languages, and what they are here.
_ELSEWHERE = (
    ("ufloat", "x ± u"),
    ("factorial", "gamma(n + 1)"),
    ("diff", "grad(y, x), or x[1:] - x[:-1] for differences"),
    ("derivative derive d", "grad(y, x)"),
    ("D", "grad(f)"),
    ("nDeriv nderiv", "grad(f)(3)   of a function f, at a point"),
    ("simplify", "formula y wrt x   writes a value and its derivative as formulas"),
    ("gradcheck", "check f(x), or torch.autograd.gradcheck(f, (x,))"),
    ("odeint solve_ivp", "ode(f, y0, ts)   with f(t, y)"),
    ("polyfit curve_fit least_squares leastsq linregress lsqcurvefit nls lm", _FIT),
    ("fsolve", "solve f(x) == 0 for x from 1"),
    ("mse MSE", "mean((x - y)**2)"),
    ("numel", "x.numel()"),
    ("reduce accumulate", "sum(x), prod(x), max(x), cumsum(x)"),
    ("size", "x.shape"),
    ("end", "x[-1]   is the last entry; a block ends where its lines are no longer indented"),
    ("rem", "fmod(…)"),
    ("input", "-D x=3 on the command line, or args"),
    ("open", 'load_csv("data.csv")'),
    ("residuals residual resid", "r = y - (a*x + b).data   of the model y ~ a*x + b, after its fit"),
    ("chi2 chisq chisquare redchi", "sum(((y - (a*x + b).data)/s)**2)   after a fit with sigma s"),
    ("aic AIC", "len(y)*log(mean(r**2)) + 2*2   for 2 parameters and the residuals r"),
    ("pcov covar", "fit y ~ a*x + b over a, b   shows the correlations; a.u is an uncertainty"),
    ("savetxt to_csv write_csv writedlm csvwrite writematrix", _ROWS),
    ("scatter scatterplot lineplot", "plot x, y"),
    ("errorbar", "plot x, y +- u"),
    ("hist histplot", "histogram x"),
    ("ls pwd", 'load_csv("   and Tab lists the files'),
    ("dir", 'vars   lists the names; load_csv("   and Tab the files'),
    ("who whos", "vars"),
    ("clear", "del x   deletes a name; at its prompt in a terminal, clear empties the screen"),
    ("backward backwards", "backward y"),
    ("optimizer opt", "step sgd w b lr=0.1"),
    ("no_grad inference_mode set_grad_enabled", "no_grad: …, or with torch.no_grad(): …"),
    ("set_default_dtype", "leave it out: every number is a float64"),
    ("FloatTensor DoubleTensor", "tensor([1, 2])"),
    ("repr", 'f"{x}"'),
    ("format", 'f"{x:.3f}"'),
    ("allclose", "assert a ~= b +- 1e-8"),
    ("enable_grad", "with torch.enable_grad(): …"),
    ("isclose", "a ~= b, or a ~= b +- 1e-8"),
)

# What other languages and libraries call it; for the advice on an unknown name.
KNOWN_ELSEWHERE = {
    **WORDS,
    **{name: f"{ours}(…)" for name, ours in (RENAMED | _FUNCTIONS | dict.fromkeys(READERS, "load_csv")).items()},
    **{name: f"1/{ours}(x)" for name, ours in RECIPROCALS.items()},
    **{name: f"{ours}(x*pi/180)" for name, ours in OF_DEGREES.items()},
    **{name: ours for words, ours in _ELSEWHERE for name in words.split()},
    **_LAYERS,
}

_NO_TYPES = "every number is a float64"
# Attributes of PyTorch that agrad does not have: why, and what to write.
NO_METHODS = {
    **dict.fromkeys(("long", "short"), (_NO_TYPES, ".trunc()   cuts fractions off; .floor() and .round() round")),
    "value": ("a name alone is its value", ".data   is the value without its graph, .u its uncertainty"),
    "values": ("a function with several results returns a tuple", "values, places = torch.max(x, dim=1)"),
    "solution": ("a function with several results returns a tuple", "x = torch.linalg.lstsq(A, y)[0]"),
    "indices": ("a function with several results returns a tuple", "values, places = torch.max(x, dim=1)"),
}


# Methods that mean something else in PyTorch: after `import torch` they are PyTorch's. Of arrays of NumPy some are
# NumPy's, which are agrad's: where both are imported, these need a name that says which.
LIBRARIES = ("torch", "numpy")
_AMBIGUOUS = frozenset({"std", "var", "max", "min", "repeat"})
DIFFERING = frozenset({"sort", "norm", "split", "equal", "svd", "median", "cross"}) | _AMBIGUOUS
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
    return sorted(name for name in listed if _in_namespace(prefix, name))


def _in_namespace(prefix: str, name: str) -> Callable[..., Any] | None:
    """A class, or a function, of one of the engine's modules; None for what is not of its interface."""
    if not has_classes(prefix):
        return None
    module = import_module(NAMESPACES[prefix.removeprefix("torch.")])
    found = getattr(module, name, None)
    listed = getattr(module, "__all__", None)
    own = name in listed if listed else getattr(found, "__module__", "").startswith("agrad.engine.nn")
    return found if own and callable(found) and not name.startswith("_") else None


def has_classes(prefix: str) -> bool:
    """Whether a prefix is that of a module whose classes the engine has."""
    return prefix.removeprefix("torch.") in NAMESPACES


def is_imported(prefix: str, name: str) -> bool:
    """Whether an import binds a name: of a class, or of a function that means something else without its module."""
    is_own = f"{canonical(prefix)}.{name}" in OWN
    return is_own or (name not in FUNCTIONS and _in_namespace(prefix, name) is not None)


def others_in(prefix: str) -> list[str]:
    """The names of a module that an import of all binds."""
    own = (name.rpartition(".")[::2] for name in OWN)
    found = [*names_in(prefix), *[name for module, name in own if module == canonical(prefix)]]
    return [name for name in found if is_imported(prefix, name)]


def canonical(prefix: str) -> str:
    """The usual spelling of a prefix: np for numpy, torch.nn.functional for F."""
    head, dot, rest = prefix.partition(".")
    return _USUAL.get(head, head) + dot + rest


_USUAL = {"numpy": "np", "F": "torch.nn.functional", "nn": "torch.nn", "optim": "torch.optim"}


def is_real(prefix: str, name: str) -> bool:
    """Whether PyTorch, NumPy or Python has a name in a module."""
    return name in libraries.NAMES.get(canonical(prefix), ())


def is_known(prefix: str, name: str) -> bool:
    """Whether a name that is imported from a module of PyTorch, NumPy or Python means something, if only in a fix."""
    if prefix.partition(".")[0] not in libraries.HERE:
        return True
    meant = FUNCTIONS, RENAMED, CONSTANTS, IGNORED, PREFIXES, KNOWN_ELSEWHERE, NAMESPACES
    return any(name in one for one in meant) or function(prefix, name) is not None or is_real(prefix, name)


def is_module(prefix: str, name: str) -> bool:
    """Whether a name in a module is that of another one which agrad has, and which it reads by its full name."""
    full = f"{canonical(prefix)}.{name}"
    return name not in PREFIXES and (full in libraries.NAMES or full.removeprefix("torch.") in NAMESPACES)


def example_of(prefix: str) -> str:
    """A call of what is read behind a prefix."""
    full = canonical(prefix)
    if "sin" in libraries.NAMES.get(full, ()):
        return "sin(x)"
    own = [name.rpartition(".")[2] for name in OWN if name.startswith(f"{full}.")]
    return f"{[*names_in(prefix), *own, 'plot'][0]}(…)"


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
    found = _in_namespace(prefix, name)
    if found is not None:
        return found
    entry = FUNCTIONS.get(name) or FUNCTIONS.get(RENAMED.get(name, ""))
    return entry.call if entry is not None and is_real(prefix, name) else None


def table() -> dict[str, dict[str, str]]:
    """Every name that is read behind a module of PyTorch, NumPy or Python, and what it is here, by modules.

    A function of agrad is named by its name, what has other arguments there by its form.
    """
    here = RENAMED | dict.fromkeys(IGNORED, "float64")
    found = {prefix: {one: here.get(one, one) for one in known} for prefix, known in libraries.NAMES.items()}
    for full, (form, _) in OWN_FORMS.items():
        prefix, _, name = full.rpartition(".")
        found.setdefault(canonical(prefix), {})[name] = Signature(name, form).usage
    for module in NAMESPACES:
        if module != "lr_scheduler":  # of torch.optim
            there = found.setdefault(f"torch.{module}", {})
            for name in names_in(module):
                there[name] = "class" if isinstance(_in_namespace(module, name), type) else "function"
    return found
