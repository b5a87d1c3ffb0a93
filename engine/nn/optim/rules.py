"""The rules of the optimisers that the command `step` does not have.

As those in `engine/autodiff/optim`: from a leaf, its gradient and what was kept of the last step, what to subtract
from the leaf, and what to keep.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.autodiff import optim
from agrad.engine.autodiff.optim import Kept, decayed
from agrad.engine.ops.scalar.comparison import clip, maximum, where
from agrad.engine.ops.scalar.elementary import absolute, sign, sqrt


def adagrad(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float,
    lr_decay: float,
    eps: float,
    weight_decay: float,
    initial_accumulator_value: float,
) -> tuple[Any, Kept]:
    """Divided by the root of the sum of all squared gradients (Duchi et al. 2011)."""
    gradient = decayed(x, gradient, weight_decay)
    total, count = kept or (initial_accumulator_value, 0.0)
    total = total + gradient * gradient
    return lr / (1.0 + count * lr_decay) * gradient / (sqrt(total) + eps), (total, count + 1.0)


def adadelta(
    x: Any, gradient: Any, kept: Kept, *, lr: float, rho: float, eps: float, weight_decay: float
) -> tuple[Any, Kept]:
    """Scaled by the ratio of the running means of squared changes and gradients (Zeiler 2012)."""
    gradient = decayed(x, gradient, weight_decay)
    square, moved = kept or (0.0, 0.0)
    square = rho * square + (1.0 - rho) * gradient * gradient
    change = sqrt(moved + eps) / sqrt(square + eps) * gradient
    return lr * change, (square, rho * moved + (1.0 - rho) * change * change)


def adam(
    x: Any, gradient: Any, kept: Kept, *, weight_decay: float, decoupled_weight_decay: float, **rates: float
) -> tuple[Any, Kept]:
    """Adam, where the decay of the weights may be apart from the gradient."""
    rule = optim.adamw if decoupled_weight_decay else optim.adam
    return rule(x, gradient, kept, weight_decay=weight_decay, **rates)


def adamax(
    x: Any, gradient: Any, kept: Kept, *, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float
) -> tuple[Any, Kept]:
    """Adam with the largest of the decaying sizes of the gradient (Kingma and Ba 2015, section 7.1)."""
    gradient = decayed(x, gradient, weight_decay)
    mean, largest, count = kept or (0.0, 0.0, 0.0)
    mean, count = beta1 * mean + (1.0 - beta1) * gradient, count + 1.0
    largest = maximum(beta2 * largest, absolute(gradient) + eps)
    return lr / (1.0 - beta1**count) * mean / largest, (mean, largest, count)


def nadam(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    momentum_decay: float,
    decoupled_weight_decay: float,
) -> tuple[Any, Kept]:
    """Adam with Nesterov's momentum, which grows towards beta1 (Dozat 2016)."""
    gradient, apart = _decay(x, gradient, lr, weight_decay, decoupled_weight_decay)
    mean, square, count, product = kept or (0.0, 0.0, 0.0, 1.0)
    mean, square, count = beta1 * mean + (1 - beta1) * gradient, beta2 * square + (1 - beta2) * gradient**2, count + 1
    now, after = (beta1 * (1.0 - 0.5 * 0.96 ** (at * momentum_decay)) for at in (count, count + 1.0))
    product = product * now
    share, next_share = (1.0 - now) / (1.0 - product), after / (1.0 - product * after)
    change = lr * (share * gradient + next_share * mean) / (sqrt(square / (1.0 - beta2**count)) + eps)
    return apart + change, (mean, square, count, product)


def radam(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled_weight_decay: float,
) -> tuple[Any, Kept]:
    """Adam, where the division begins, rectified, when the variance of its divisor is known (Liu et al. 2020)."""
    gradient, apart = _decay(x, gradient, lr, weight_decay, decoupled_weight_decay)
    mean, square, count = kept or (0.0, 0.0, 0.0)
    mean, square, count = beta1 * mean + (1 - beta1) * gradient, beta2 * square + (1 - beta2) * gradient**2, count + 1
    change, left = lr * mean / (1.0 - beta1**count), 1.0 - beta2**count
    most = 2.0 / (1.0 - beta2) - 1.0
    length = most - 2.0 * count * beta2**count / left
    if length > 5.0:
        shares = (length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length)
        change = change * (shares * left) ** 0.5 / (sqrt(square) + eps)
    return apart + change, (mean, square, count)


def rprop(
    x: Any,
    gradient: Any,
    kept: Kept,
    *,
    lr: float,
    etaminus: float,
    etaplus: float,
    smallest: float,
    largest: float,
) -> tuple[Any, Kept]:
    """Steps by the sign of the gradient, which grow while it stays, and shrink when it turns (Riedmiller 1993)."""
    before, size = kept or (0.0, lr)
    same = sign(gradient * before)
    factor = where(same > 0.0, etaplus, where(same < 0.0, etaminus, 1.0))
    size = clip(size * factor, smallest, largest)
    gradient = where(same < 0.0, 0.0, gradient)
    return sign(gradient) * size, (gradient, size)


def asgd(
    x: Any, gradient: Any, kept: Kept, *, lr: float, lambd: float, alpha: float, t0: float, weight_decay: float
) -> tuple[Any, Kept]:
    """Gradient descent by a rate that falls, with the mean of what it passes (Polyak and Juditsky 1992)."""
    gradient = decayed(x, gradient, weight_decay)
    count, eta, share, mean = kept or (0.0, lr, 1.0, 0.0)
    change = x * lambd * eta + eta * gradient
    mean, count = mean + share * (x - change - mean), count + 1.0
    return change, (count, lr / (1.0 + lambd * lr * count) ** alpha, 1.0 / max(1.0, count - t0), mean)


def _decay(x: Any, gradient: Any, lr: float, weight_decay: float, apart: float) -> tuple[Any, Any]:
    """The gradient, and what is subtracted beside it: a decay is part of one of them."""
    if weight_decay and apart:
        return gradient, lr * weight_decay * x
    return decayed(x, gradient, weight_decay), 0.0
