"""The rules of optimisers, and `step`: one update of the leaves named, by the gradients they have, outside the graph.

A rule is written with operations, so that it works on plain values and with recording alike: from a leaf, its gradient
and what was kept of the last step it computes what to subtract from the leaf, and what to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from types import SimpleNamespace
from typing import Any, TypeAlias

from agrad.engine.core.context import current
from agrad.engine.core.graph import Node
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint

Kept: TypeAlias = "tuple[Any, ...]"
Rule: TypeAlias = Callable[..., tuple[Any, Kept]]


def rule(formula: Callable[[Any, Any, Kept, Any], tuple[Any, Kept]]) -> Rule:
    """Decorator: a rule whose rates, of which its users know the defaults, are the attributes of r.

    A decay of the weights is added to the gradient, or subtracted beside what the formula gives.
    """

    @wraps(formula)
    def update(
        x: Any,
        gradient: Any,
        kept: Kept,
        *,
        weight_decay: float = 0.0,
        decoupled_weight_decay: float = 0.0,
        **rates: Any,
    ) -> tuple[Any, Kept]:
        r = SimpleNamespace(**rates)
        if not weight_decay:
            return formula(x, gradient, kept, r)
        if not decoupled_weight_decay:
            return formula(x, gradient + weight_decay * x, kept, r)
        change, kept = formula(x, gradient, kept, r)
        return r.lr * weight_decay * x + change, kept

    return update


@rule
def sgd(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """lr * gradient; with momentum, lr * v where v = momentum * v + (1 - dampening) * gradient.

    The first v is the gradient. With nesterov, lr * (gradient + momentum * v).
    """
    if not r.momentum:
        return r.lr * gradient, ()
    velocity = gradient
    if len(kept) == 1:
        velocity = r.momentum * kept[0] + (gradient if not r.dampening else (1 - r.dampening) * gradient)
    return r.lr * (gradient + r.momentum * velocity if r.nesterov else velocity), (velocity,)


@rule
def adam(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """lr * m / (sqrt(v) + eps), of the running means m of the gradient and v of its square.

    The means decay by beta1 and beta2 and are corrected for starting at 0 (Kingma and Ba 2015, algorithm 1, with
    eps as in PyTorch). With amsgrad, v is the largest so far. AdamW has a decoupled decay of the weights (Loshchilov
    and Hutter 2019).
    """
    mean, square, count, *rest = kept if len(kept) >= 3 else (0.0, 0.0, 0.0)
    mean = r.beta1 * mean + (1 - r.beta1) * gradient
    square = r.beta2 * square + (1 - r.beta2) * gradient * gradient
    count = count + 1.0
    sqrt = OPS["sqrt"].call
    largest = OPS["maximum"].call(rest[0] if rest else 0.0 * square, square) if r.amsgrad else square
    change = r.lr / (1 - r.beta1**count) * mean / (sqrt(largest) / sqrt(1 - r.beta2**count) + r.eps)
    return change, (mean, square, count, largest) if r.amsgrad else (mean, square, count)


@rule
def rmsprop(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """lr * u, where u = gradient / (sqrt(v) + eps), of the running mean v of its square, which decays by alpha.

    With momentum, lr * w where w = momentum * w + u. With centered, the square of the running mean of the gradient is
    subtracted from v.
    """
    square, velocity, *rest = kept if len(kept) >= 2 else (0.0, 0.0)
    square = r.alpha * square + (1 - r.alpha) * gradient * gradient
    mean = r.alpha * (rest[0] if rest else 0.0) + (1 - r.alpha) * gradient if r.centered else 0.0
    scaled = gradient / (OPS["sqrt"].call(square - mean * mean if r.centered else square) + r.eps)
    velocity = r.momentum * velocity + scaled if r.momentum else velocity
    return r.lr * (velocity if r.momentum else scaled), (square, velocity, mean) if r.centered else (square, velocity)


_SGD = {"lr": 0.01, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": 0.0}
_ADAM = {"lr": 0.001, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0, "amsgrad": 0.0}
_RMSPROP = {"lr": 0.01, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.0, "centered": 0.0}
# The options of the command, with their defaults.
OPTIONS = {"sgd": _SGD, "adam": _ADAM, "adamw": {**_ADAM, "weight_decay": 0.01}, "rmsprop": _RMSPROP}
_RULES: dict[str, Rule] = {
    "sgd": sgd,
    "adam": adam,
    "adamw": partial(adam, decoupled_weight_decay=1.0),
    "rmsprop": rmsprop,
}
STEPS: dict[str, Rule] = {name: partial(_RULES[name], **options) for name, options in OPTIONS.items()}


def step(method: str, leaves: Sequence[Tensor], **rates: float) -> None:
    """Update leaves by the gradients they have: x -= the update that the rule of a method computes from its gradient.

    Raises AgradError before anything changes if a gradient is missing or a rate is invalid.
    """
    for name, rate in rates.items():
        check_rate(f"step {method}", name, rate)
    for leaf in leaves:
        _check(leaf)
    with no_grad(), quiet():
        for leaf in leaves:
            change, kept = STEPS[method](leaf.value, leaf.grad.value, kept_of(leaf.node), **rates)  # type: ignore[union-attr]
            leaf._overwrite(leaf.value - change, "step")
            remember(leaf.node, kept)


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
