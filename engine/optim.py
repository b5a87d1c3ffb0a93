"""Optimiser steps: one update of the leaves named, by the gradients they have, outside the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agrad.engine.errors import AgradError
from agrad.engine.tensor import Tensor, no_grad


def sgd(leaves: Sequence[Tensor], lr: float = 0.01) -> None:
    """x -= lr * gradient, for each leaf. Raises AgradError before anything changes if a gradient is missing."""
    for leaf in leaves:
        _check(leaf)
    with no_grad():
        for leaf in leaves:
            value: Any = leaf.value - lr * leaf.grad.value  # type: ignore[union-attr]
            leaf.copy_(value)


STEPS: dict[str, Callable[..., None]] = {"sgd": sgd}


def _check(leaf: Tensor) -> None:
    """A step needs a leaf with a gradient."""
    name = leaf.node.spell()
    if not (leaf.is_leaf and leaf.requires_grad):
        raise AgradError("leaf", f"a step updates leaves that require grad, and {name} is none")
    if leaf.grad is None:
        raise AgradError("grad", f"{name} has no gradient to step along", fixes=["run backward first"])
