"""The rows, a file per family. Importing this package fills the table and gives Tensors operators and methods."""

from __future__ import annotations

from agrad.engine.ops import creation, data_files, graph
from agrad.engine.ops.arrays import cumulative, indexing, joining, order, reduction, shaping
from agrad.engine.ops.linalg import decomposition, determinant, einsum, matrices, norms
from agrad.engine.ops.nn import activations, losses
from agrad.engine.ops.scalar import arithmetic, comparison, elementary, special, trigonometry
from agrad.engine.ops.tensor_methods import install

__all__ = [
    "activations",
    "arithmetic",
    "comparison",
    "creation",
    "cumulative",
    "data_files",
    "decomposition",
    "determinant",
    "einsum",
    "elementary",
    "graph",
    "indexing",
    "joining",
    "losses",
    "matrices",
    "norms",
    "order",
    "reduction",
    "shaping",
    "special",
    "trigonometry",
]

install()
