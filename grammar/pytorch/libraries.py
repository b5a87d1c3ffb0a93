"""Which of agrad's names PyTorch, NumPy and Python's math have, and in which of their modules.

A pasted `torch.sin` is `sin`; `torch.foo.sin` is nothing, and neither is `torch.interp`, which is NumPy's. A name that
means something else there, such as `torch.range` and `np.random.gamma`, is left out. The table was read off torch 2.13
and NumPy 2; a test compares it with what is installed.
"""

from __future__ import annotations

import re

from agrad.engine.text import beside
from agrad.lazy import rare

# libraries.txt has the names of each module, and above them those that torch and np have both.
_LINES = re.split(r"\n(?! )", beside(__file__, "libraries.txt").strip())
_MODULES = dict(lines.split(": ") for lines in _LINES)
_BOTH = f" {_MODULES.pop('both')}"
NAMES = {module: frozenset((text + _BOTH * (module in ("torch", "np"))).split()) for module, text in _MODULES.items()}


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
