"""The rules of optimisers, and `step`: one update of the leaves named, by the gradients they have, outside the graph.

A rule is written with operations, so that it works on plain values and with recording alike: from a leaf, its gradient
and what was kept of the last step it computes what to subtract from the leaf, and what to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


def sgd(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float = 0.01,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: float = 0.0,
) -> tuple[Any, Kept]:
    """lr * gradient; with momentum, lr * v where v = momentum * v + (1 - dampening) * gradient.

    The first v is the gradient. With nesterov, lr * (gradient + momentum * v). weight_decay * x is added to the
    gradient.
    """
    gradient = decayed(x, gradient, weight_decay)
    if not momentum:
        return lr * gradient, ()
    velocity = gradient
    if len(kept) == 1:
        velocity = momentum * kept[0] + (gradient if not dampening else (1 - dampening) * gradient)
    return lr * (gradient + momentum * velocity if nesterov else velocity), (velocity,)


def adam(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: float = 0.0,
) -> tuple[Any, Kept]:
    """lr * m / (sqrt(v) + eps), of the running means m of the gradient and v of its square.

    The means decay by beta1 and beta2 and are corrected for starting at 0 (Kingma and Ba 2015, algorithm 1, with
    eps as in PyTorch). weight_decay * x is added to the gradient. With amsgrad, v is the largest so far.
    """
    gradient = decayed(x, gradient, weight_decay)
    mean, square, count, *rest = kept if len(kept) >= 3 else (0.0, 0.0, 0.0)
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient * gradient
    count = count + 1.0
    sqrt = OPS["sqrt"].call
    largest = OPS["maximum"].call(rest[0] if rest else 0.0 * square, square) if amsgrad else square
    change = lr / (1 - beta1**count) * mean / (sqrt(largest) / sqrt(1 - beta2**count) + eps)
    return change, (mean, square, count, largest) if amsgrad else (mean, square, count)


def adamw(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
    amsgrad: float = 0.0,
) -> tuple[Any, Kept]:
    """adam, and lr * weight_decay * x (Loshchilov and Hutter 2019)."""
    change, kept = adam(x, gradient, kept, lr=lr, beta1=beta1, beta2=beta2, eps=eps, amsgrad=amsgrad)
    return (lr * weight_decay * x + change if weight_decay else change), kept


def rmsprop(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float = 0.01,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: float = 0.0,
) -> tuple[Any, Kept]:
    """lr * u, where u = gradient / (sqrt(v) + eps), of the running mean v of its square, which decays by alpha.

    With momentum, lr * w where w = momentum * w + u. weight_decay * x is added to the gradient. With centered, the
    square of the running mean of the gradient is subtracted from v.
    """
    gradient = decayed(x, gradient, weight_decay)
    square, velocity, *rest = kept if len(kept) >= 2 else (0.0, 0.0)
    square = alpha * square + (1 - alpha) * gradient * gradient
    mean = alpha * (rest[0] if rest else 0.0) + (1 - alpha) * gradient if centered else 0.0
    scaled = gradient / (OPS["sqrt"].call(square - mean * mean if centered else square) + eps)
    velocity = momentum * velocity + scaled if momentum else velocity
    return lr * (velocity if momentum else scaled), (square, velocity, mean) if centered else (square, velocity)


def decayed(x: Any, gradient: Any, weight_decay: float) -> Any:
    """A gradient, and the decay of what it belongs to."""
    return gradient + weight_decay * x if weight_decay else gradient


STEPS: dict[str, Rule] = {"sgd": sgd, "adam": adam, "adamw": adamw, "rmsprop": rmsprop}


def options_of(method: str) -> dict[str, float]:
    """The options that a method has, by name, with their defaults."""
    return dict(STEPS[method].__kwdefaults__ or {})


def step(method: str, leaves: Sequence[Tensor], **rates: float) -> None:
    """Update leaves by the gradients they have: x -= the update that the rule of a method computes from its gradient.

    Raises AgradError before anything changes if a gradient is missing or a rate is invalid.
    """
    rule = STEPS[method]
    for name, rate in rates.items():
        check_rate(f"step {method}", name, rate)
    for leaf in leaves:
        _check(leaf)
    with no_grad(), quiet():
        for leaf in leaves:
            remember(leaf.node, update(rule, leaf, kept_of(leaf.node), rates))


def update(rule: Rule, leaf: Tensor, kept: Kept, rates: Mapping[str, float]) -> Kept:
    """Write the update of one leaf that has a gradient; returns what to keep for the next. Called without recording."""
    assert leaf.grad is not None
    change, kept = rule(leaf.value, leaf.grad.value, kept, **rates)
    leaf._overwrite(leaf.value - change, "step")
    return kept


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


def check_rate(who: str, name: str, rate: float) -> None:
    """Refuse a rate for which a rule has no meaning. Raises AgradError of kind `domain`."""
    if name.startswith("beta") and not 0 <= rate < 1:
        raise AgradError("domain", f"{who}: {name} must be at least 0 and below 1")
    if name == "eps" and not rate > 0:
        raise AgradError("domain", f"{who}: eps must be above 0")


def _check(leaf: Tensor) -> None:
    """Refuse anything but a leaf with a gradient."""
    name = leaf.node.spell()
    if not (leaf.is_leaf and leaf.requires_grad):
        raise AgradError("leaf", f"step updates leaves that require grad, and {name} is not one")
    if leaf.grad is None:
        raise AgradError("grad", f"{name} has no gradient", fixes=[Hint("run backward first")])
