"""Which of agrad's names PyTorch, NumPy and Python's math have, and in which of their modules.

A pasted `torch.sin` is `sin`; `torch.foo.sin` is nothing, and neither is `torch.interp`, which is NumPy's. A name that
means something else there, such as `torch.range` and `np.random.gamma`, is left out. The table was read off torch 2.13
and NumPy 2; a test compares it with what is installed.
"""

from __future__ import annotations

from agrad.lazy import rare

# fmt: off
_BOTH = (  # in torch, and in np
    "abs absolute acos acosh add all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin "
    "argsort asarray asin asinh atan atan2 atanh bool ceil clip concat concatenate copysign corrcoef cos cosh cov "
    "cross cumprod cumsum deg2rad diag diagonal divide dot double e einsum equal exp exp2 expm1 eye flip float16 "
    "float32 float64 floor floor_divide fmod full gcd greater greater_equal half heaviside hypot i0 inf int32 int64 "
    "isfinite isnan kron lcm less less_equal linspace log log10 log1p log2 logaddexp long matmul max maximum mean "
    "median min minimum multiply nan nanmean nansum negative not_equal ones ones_like outer pi pow prod quantile "
    "rad2deg reciprocal remainder reshape roll round sign sin sinc sinh sort split sqrt square squeeze stack std "
    "subtract sum tan tanh tile trace transpose tril triu trunc var where zeros zeros_like "
)
_NAMES = {
    "torch": _BOTH + (
        "as_tensor binary_cross_entropy_with_logits bmm cat cholesky clamp clone det detach digamma div dropout "
        "embedding eq erf erfc erfinv flatten float from_numpy ge gt int inverse layer_norm le lgamma log_softmax "
        "logit logsumexp lstsq lt manual_seed matrix_power mm mul mv ne neg norm permute polygamma qr rand randn relu "
        "rsqrt selu sigmoid slogdet softmax solve sub svd tensor topk unsqueeze xlogy"
    ),
    "torch.nn.functional": (
        "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy dropout elu embedding gelu grad hardtanh "
        "huber_loss l1_loss layer_norm leaky_relu linear log_softmax logsigmoid mse_loss nll_loss relu selu sigmoid "
        "silu softmax softplus tanh"
    ),
    "torch.linalg": (
        "cholesky cross det diagonal eigh inv lstsq matmul matrix_power norm pinv qr slogdet solve solve_triangular "
        "svd"
    ),
    "torch.special": (
        "digamma entr erf erfc erfinv exp2 expm1 gammainc gammaincc i0 i1 log1p log_ndtr log_softmax logit logsumexp "
        "multigammaln ndtr ndtri polygamma round sinc softmax xlog1py xlogy"
    ),
    "torch.autograd": "Variable grad",
    "torch.autograd.functional": "hessian hvp jacobian jvp vjp",
    "torch.func": "grad hessian jvp vjp",
    "torch.random": "manual_seed",
    "np": _BOTH + (
        "array cbrt convolve copy correlate fabs interp mod nanmax nanmin nanstd nanvar percentile power repeat"
    ),
    "np.linalg": (
        "cholesky cross det diagonal eigh inv lstsq matmul matrix_power norm outer pinv qr slogdet solve svd trace"
    ),
    "np.random": "rand randn",
    "math": (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh e erf erfc exp exp2 expm1 fabs floor "
        "fmod gamma gcd hypot inf isfinite isnan lcm lgamma log log10 log1p log2 nan perm pi pow prod sin sinh "
        "sqrt tan tanh tau trunc"
    ),
}
# fmt: on
NAMES = {module: frozenset(text.split()) for module, text in _NAMES.items()}


# Modules that a pasted script imports and a calculation does not need: what stands in for each.

HERE = frozenset({"torch", "numpy", "math", "agrad"})  # those whose names agrad has

STAND_INS = {
    "matplotlib": "plt.plot, plt.scatter, plt.show and plt.savefig draw with agrad's plots",
    "torchviz": 'make_dot(y).render("g") writes the graph; graph y shows it',
    "time": "time.time() is the clock; time: STATEMENT measures a statement",
    "sys": "quit ends a script, and args has its arguments",
    "os": "files are read by load_csv and written by save, graph and plot",
    "random": "random numbers are torch.rand, torch.randn and np.random.uniform; manual_seed seeds them",
    "copy": "x.clone() copies an array, xs.copy() a list",
    "warnings": "agrad's notes stand in for warnings",
    "typing": "annotations are left out",
    "tqdm": "agrad shows the progress of long loops itself",
    "graphviz": "graph y as svg draws a graph",
    "IPython": "agrad's prompt stands in for it",
    "__future__": "there is nothing to turn on",
}

# Modules whose names agrad does not have, with what computes the same.
ABSENT = {
    "pandas": 'load_csv("data.csv") reads the numbers of a file, load_csv("data.csv", columns="x") a column',
    "sklearn": 'load_csv("data.csv") reads data from a file',
    "torchvision": 'load_csv("data.csv") and load_npy("x.npy") read data from a file',
    "seaborn": "plt.plot and plt.scatter draw with agrad's plots",
    "scipy": "agrad has its own: help lists erf, gamma, root, minimize, ode, integral and others",
    "lmfit": "fit y ~ a*x + b over a, b from a=1, b=1 fits a model",
    "CSV": 'load_csv("data.csv") reads a file',
    "jax": "grad(f), jacobian(f), hessian(f) and map do the same",
    "tensorflow": "write the same with torch's names: torch.nn, torch.optim",
    "keras": "write the same with torch's names: torch.nn, torch.optim",
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


def names_bound(text: str) -> dict[str, str]:
    """The names that an import binds, each with its module: `import pandas as pd` binds pd."""
    (node,) = rare.ast.parse(text).body
    module = getattr(node, "module", "")
    return {
        one.asname or (one.name if module else one.name.partition(".")[0]): (module or one.name).partition(".")[0]
        for one in node.names
    }


def told(module: str) -> str:
    """What computes the same as a module does that agrad does not have; an empty text if nothing does."""
    return ABSENT.get(module) or STAND_INS.get(module, "")


def note_on_import(module: str) -> str:
    """What an import that agrad reads, and that does nothing, is told with."""
    first = module.partition(".")[0]
    known = STAND_INS.get(first)
    if known:
        return f"{first} is not needed: {known}"
    return f"agrad has nothing of {first}: {ABSENT.get(first, 'its names have no value')}"
