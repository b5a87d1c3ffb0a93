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


def note_on(module: str) -> str:
    """What an import that agrad reads, and that does nothing, is told with."""
    first = module.partition(".")[0]
    known = STAND_INS.get(first)
    return f"{first} is not needed: {known}" if known else f"agrad has nothing of {first}: its names have no value"
