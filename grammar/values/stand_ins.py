"""Modules that a pasted script imports and a calculation does not need: what stands in for each."""

from __future__ import annotations

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
    words = text.replace("(", " ").replace(")", " ").split()
    start = words.index("import") if "import" in words else 0
    module = words[1] if words[:1] == ["from"] else ""
    found = {}
    for part in " ".join(words[start + 1 :]).split(","):
        named = part.split()
        if named:
            name = named[-1] if module or len(named) > 1 else named[0].partition(".")[0]
            found[name] = (module or named[0]).partition(".")[0]
    return found


def told(module: str) -> str:
    """What computes the same as a module does that agrad does not have; an empty text if nothing does."""
    return ABSENT.get(module) or STAND_INS.get(module, "")


def note_on(module: str) -> str:
    """What an import that agrad reads, and that does nothing, is told with."""
    first = module.partition(".")[0]
    known = STAND_INS.get(first)
    if known:
        return f"{first} is not needed: {known}"
    return f"agrad has nothing of {first}: {ABSENT.get(first, 'its names have no value')}"
