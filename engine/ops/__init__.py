"""The operations, a row for each, in a file for each family.

A row has all facts about its operation: what it computes, its derivative, how it is written, what backends
and passes may do with it, and its help. Importing this package fills the tables `OPS` and `FUNCTIONS` of
`engine.core.op`, by which everything else finds operations, and gives Tensors their operators and methods.
"""

from __future__ import annotations

from agrad.engine.ops import creation, data_files, graph, tables
from agrad.engine.ops.arrays import (
    convolution,
    cumulative,
    fourier,
    indexing,
    joining,
    order,
    reduction,
    sampled,
    scan,
    shaping,
    statistics,
)
from agrad.engine.ops.linalg import cross, decomposition, determinant, einsum, equations, functions, matrices, norms
from agrad.engine.ops.nn import activations, layers, losses
from agrad.engine.ops.scalar import (
    arithmetic,
    bessel,
    combinatorics,
    comparison,
    elementary,
    gamma_functions,
    probability,
    special,
    steps,
    trigonometry,
)
from agrad.engine.ops.solvers import functions as solvers
from agrad.engine.ops.tensor_methods import install

__all__ = [
    "activations",
    "arithmetic",
    "bessel",
    "combinatorics",
    "comparison",
    "convolution",
    "creation",
    "cross",
    "cumulative",
    "data_files",
    "decomposition",
    "determinant",
    "einsum",
    "elementary",
    "equations",
    "fourier",
    "functions",
    "gamma_functions",
    "graph",
    "indexing",
    "joining",
    "layers",
    "losses",
    "matrices",
    "norms",
    "order",
    "probability",
    "reduction",
    "sampled",
    "scan",
    "shaping",
    "solvers",
    "special",
    "statistics",
    "steps",
    "trigonometry",
]

install()
tables.install()
