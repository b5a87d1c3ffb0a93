"""What other languages and libraries call it: other names of functions, and advice on words that agrad has not."""

from __future__ import annotations


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


# Other names for functions of the table; also for methods.
RENAMED = _pairs(
    "cat=concat concatenate=concat mm=matmul mv=matmul bmm=matmul clamp=clip inverse=inv eq=equal ne=not_equal lt=less "
    "le=less_equal gt=greater ge=greater_equal absolute=abs fabs=abs multiply=mul divide=div subtract=sub negative=neg "
    "power=pow arcsin=asin arccos=acos arctan=atan arctan2=atan2 arcsinh=asinh arccosh=acosh arctanh=atanh "
    "array=tensor asarray=tensor as_tensor=tensor from_numpy=tensor copy=clone"
)

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
    "integrate=integral quad=integral average=mean avg=mean gradient=grad length=len ifelse=where"
)
# Classes of PyTorch, which Python's reading has, by their modules.
_CLASSES = {
    "nn": "Linear Sequential ReLU MSELoss CrossEntropyLoss Parameter Conv1d Conv2d MaxPool2d AvgPool2d RNN LSTM GRU",
    "optim": "SGD Adam AdamW RMSprop",
}

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
    ("gradcheck", "check f(x)"),
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
    ("no_grad inference_mode set_grad_enabled", "no_grad: …"),
    ("set_default_dtype", "leave it out: every number is a float64"),
    ("FloatTensor DoubleTensor", "tensor([1, 2])"),
    (
        "dict set hasattr getattr setattr super object isinstance type iter callable",
        "import torch   on the line before: they are Python's",
    ),
    ("make_dot", "from torchviz import make_dot   on the line before; or graph y"),
    ("repr", 'f"{x}"'),
    ("format", 'f"{x:.3f}"'),
    ("allclose", "assert a ~= b +- 1e-8"),
    ("isclose", "a ~= b, or a ~= b +- 1e-8"),
)

# What other languages and libraries call it; for the advice on an unknown name.
KNOWN_ELSEWHERE = {
    **WORDS,
    **{name: f"{ours}(…)" for name, ours in (RENAMED | _FUNCTIONS | dict.fromkeys(READERS, "load_csv")).items()},
    **{name: f"1/{ours}(x)" for name, ours in RECIPROCALS.items()},
    **{name: f"{ours}(x*pi/180)" for name, ours in OF_DEGREES.items()},
    **{name: ours for words, ours in _ELSEWHERE for name in words.split()},
    **{
        name: f"from torch.{module} import {name}   on the line before"
        for module, words in _CLASSES.items()
        for name in words.split()
    },
}

_NO_TYPES = "every number is a float64"
# Attributes of PyTorch that agrad does not have: why, and what to write.
NO_METHODS = {
    **dict.fromkeys(("long", "short"), (_NO_TYPES, ".trunc()   cuts fractions off; .floor() and .round() round")),
    "value": ("a name alone is its value", ".data   is the value without its graph, .u its uncertainty"),
}


# Modules of Python by the names that they usually get, and the import that begins to read Python.
MODULES = {
    **{name: f"import {name}" for name in ("torch", "numpy", "math", "random", "copy", "time", "matplotlib")},
    **{name: f"from torch import {name}" for name in ("nn", "optim")},
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    "plt": "import matplotlib.pyplot as plt",
}

# Modules whose names agrad does not have, with what computes the same.
ABSENT = {
    "pandas": 'load_csv("data.csv") reads the numbers of a file, load_csv("data.csv", columns="x") a column',
    "sklearn": 'load_csv("data.csv") reads data from a file',
    "torchvision": 'load_csv("data.csv") and load_npy("x.npy") read data from a file',
    "seaborn": "plot and histogram draw",
    "scipy": "agrad has its own: help lists erf, gamma, root, minimize, ode, integral and others",
    "lmfit": "fit y ~ a*x + b over a, b from a=1, b=1 fits a model",
    "CSV": 'load_csv("data.csv") reads a file',
    "jax": "grad(f), jacobian(f), hessian(f) and map do the same",
    **dict.fromkeys(("tensorflow", "keras"), "write the same with torch's names: import torch"),
}

# The names that modules usually get, and those that are spelled out in other languages.
USUAL = {
    "pd": "pandas",
    "sns": "seaborn",
    "sp": "scipy",
    "optimize": "scipy",
    "stats": "scipy",
    "jnp": "jax",
    "tf": "tensorflow",
    **{name: name for name in ABSENT},
}
