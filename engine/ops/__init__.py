"""The rows, a file per family. Importing this package fills the table and gives Tensors operators and methods."""

from __future__ import annotations

from agrad.engine.ops import (
    arithmetic,
    comparison,
    decomposition,
    determinant,
    einsum,
    elementary,
    files,
    graph,
    indexing,
    joining,
    learning,
    linalg,
    losses,
    makers,
    norms,
    order,
    products,
    reduction,
    shaping,
    special,
    trigonometry,
)
from agrad.engine.ops.operators import install

__all__ = [
    "arithmetic",
    "comparison",
    "decomposition",
    "determinant",
    "einsum",
    "elementary",
    "files",
    "graph",
    "indexing",
    "joining",
    "learning",
    "linalg",
    "losses",
    "makers",
    "norms",
    "order",
    "products",
    "reduction",
    "shaping",
    "special",
    "trigonometry",
]

install()
