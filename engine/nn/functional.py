"""PyTorch's `torch.nn.functional`: functions of the table, by the names that they have there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.ops.nn.activations import FAMILY


def is_known(name: str) -> bool:
    """Whether PyTorch has a function of the table here: those of learning, but for one, and tanh."""
    return name == "tanh" or (name in FUNCTIONS and FUNCTIONS[name].family == FAMILY and name != "logaddexp")


def __getattr__(name: str) -> Callable[..., Any]:
    if not is_known(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return FUNCTIONS[name].call


def __dir__() -> list[str]:
    return sorted(filter(is_known, FUNCTIONS))
