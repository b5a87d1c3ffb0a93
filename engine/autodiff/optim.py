"""Optimiser steps: one update of the leaves named, by the gradients they have, outside the graph.

A rule is written with operations, so that it works on plain values and with recording alike: from the gradient and the
state of a leaf it computes what to subtract from the leaf, and the new state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from agrad.engine.core.context import current
from agrad.engine.core.graph import Node
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint

Kept: TypeAlias = "tuple[Any, ...]"
Rule: TypeAlias = Callable[..., tuple[Any, Kept]]


def sgd(gradient: Any, kept: Kept, *, lr: float = 0.01, momentum: float = 0.0) -> tuple[Any, Kept]:
    """lr * gradient; with momentum, lr * v where v = momentum * v + gradient."""
    if not momentum:
        return lr * gradient, ()
    velocity = momentum * kept[0] + gradient if len(kept) == 1 else gradient
    return lr * velocity, (velocity,)


def adam(
    gradient: Any, kept: Kept, *, lr: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> tuple[Any, Kept]:
    """lr * m / (sqrt(v) + eps), of the running means m of the gradient and v of its square.

    The means decay by beta1 and beta2 and are corrected for starting at 0 (Kingma and Ba 2015, algorithm 1, with
    eps as in PyTorch).
    """
    mean, square, count = kept if len(kept) == 3 else (0.0, 0.0, 0.0)
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient * gradient
    count = count + 1.0
    sqrt = OPS["sqrt"].call
    change = lr / (1 - beta1**count) * mean / (sqrt(square) / sqrt(1 - beta2**count) + eps)
    return change, (mean, square, count)


STEPS: dict[str, Rule] = {"sgd": sgd, "adam": adam}


def options_of(method: str) -> tuple[str, ...]:
    """The options that a method has, by name."""
    return tuple(STEPS[method].__kwdefaults__ or ())


def step(method: str, leaves: Sequence[Tensor], **rates: float) -> None:
    """Update leaves by the gradients they have: x -= the update that the rule of a method computes from its gradient.

    Raises AgradError before anything changes if a gradient is missing or a rate is invalid.
    """
    rule = STEPS[method]
    for name, rate in rates.items():
        _check_rate(method, name, rate)
    for leaf in leaves:
        _check(leaf)
    with no_grad(), quiet():
        for leaf in leaves:
            assert leaf.grad is not None
            change, kept = rule(leaf.grad.value, kept_of(leaf.node), **rates)
            remember(leaf.node, kept)
            leaf.copy_(leaf.value - change)


def kept_of(node: Node) -> Kept:
    """The state of a leaf after the last step."""
    return node.cache_slot or ()


def remember(node: Node, kept: Kept) -> None:
    """Keep the state of a leaf for the next step; a statement that fails restores the old one."""
    before = kept_of(node)
    if before or kept:
        log = current().undo_log
        if log is not None:
            log.remember(("cache_slot", node), partial(setattr, node, "cache_slot", before), before)
        node.cache_slot = kept


def _check_rate(method: str, name: str, rate: float) -> None:
    if name.startswith("beta") and not 0 <= rate < 1:
        raise AgradError("domain", f"step {method}: {name} must be at least 0 and below 1")
    if name == "eps" and not rate > 0:
        raise AgradError("domain", f"step {method}: eps must be above 0")


def _check(leaf: Tensor) -> None:
    """Refuse anything but a leaf with a gradient."""
    name = leaf.node.spell()
    if not (leaf.is_leaf and leaf.requires_grad):
        raise AgradError("leaf", f"step updates leaves that require grad, and {name} is not one")
    if leaf.grad is None:
        raise AgradError("grad", f"{name} has no gradient", fixes=[Hint("run backward first")])
