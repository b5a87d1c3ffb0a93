"""The rules of the optimisers that the command `step` does not have.

As those in `engine/autodiff/optim`: from a leaf, its gradient and what was kept of the last step, what to subtract
from the leaf, and what to keep.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.autodiff.optim import Kept, rule
from agrad.engine.ops.scalar.comparison import clip, maximum, where
from agrad.engine.ops.scalar.elementary import absolute, sign, sqrt


@rule
def adagrad(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """Divided by the root of the sum of all squared gradients (Duchi et al. 2011)."""
    total, count = kept or (r.initial_accumulator_value, 0.0)
    total = total + gradient * gradient
    return r.lr / (1.0 + count * r.lr_decay) * gradient / (sqrt(total) + r.eps), (total, count + 1.0)


@rule
def adadelta(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """Scaled by the ratio of the running means of squared changes and gradients (Zeiler 2012)."""
    square, moved = kept or (0.0, 0.0)
    square = r.rho * square + (1.0 - r.rho) * gradient * gradient
    change = sqrt(moved + r.eps) / sqrt(square + r.eps) * gradient
    return r.lr * change, (square, r.rho * moved + (1.0 - r.rho) * change * change)


@rule
def adamax(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """Adam with the largest of the decaying sizes of the gradient (Kingma and Ba 2015, section 7.1)."""
    mean, largest, count = kept or (0.0, 0.0, 0.0)
    mean, count = r.beta1 * mean + (1.0 - r.beta1) * gradient, count + 1.0
    largest = maximum(r.beta2 * largest, absolute(gradient) + r.eps)
    return r.lr / (1.0 - r.beta1**count) * mean / largest, (mean, largest, count)


def _moments(gradient: Any, kept: Kept, r: Any) -> tuple[Any, Any, float]:
    """The decaying means of the gradients and of their squares, and how many there were."""
    mean, square, count = kept[:3] or (0.0, 0.0, 0.0)
    return r.beta1 * mean + (1 - r.beta1) * gradient, r.beta2 * square + (1 - r.beta2) * gradient**2, count + 1


@rule
def nadam(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """Adam with Nesterov's momentum, which grows towards beta1 (Dozat 2016)."""
    mean, square, count = _moments(gradient, kept, r)
    now, after = (r.beta1 * (1.0 - 0.5 * 0.96 ** (at * r.momentum_decay)) for at in (count, count + 1.0))
    product = (kept[3] if kept else 1.0) * now
    share, next_share = (1.0 - now) / (1.0 - product), after / (1.0 - product * after)
    change = r.lr * (share * gradient + next_share * mean) / (sqrt(square / (1.0 - r.beta2**count)) + r.eps)
    return change, (mean, square, count, product)


@rule
def radam(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """Adam, where the division begins, rectified, when the variance of its divisor is known (Liu et al. 2020)."""
    mean, square, count = _moments(gradient, kept, r)
    change, left = r.lr * mean / (1.0 - r.beta1**count), 1.0 - r.beta2**count
    most = 2.0 / (1.0 - r.beta2) - 1.0
    length = most - 2.0 * count * r.beta2**count / left
    if length > 5.0:
        shares = (length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length)
        change = change * (shares * left) ** 0.5 / (sqrt(square) + r.eps)
    return change, (mean, square, count)


@rule
def rprop(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """Steps by the sign of the gradient, which grow while it stays, and shrink when it turns (Riedmiller 1993)."""
    before, size = kept or (0.0, r.lr)
    same = sign(gradient * before)
    factor = where(same > 0.0, r.etaplus, where(same < 0.0, r.etaminus, 1.0))
    size = clip(size * factor, r.smallest, r.largest)
    gradient = where(same < 0.0, 0.0, gradient)
    return sign(gradient) * size, (gradient, size)


@rule
def asgd(x: Any, gradient: Any, kept: Kept, r: Any) -> tuple[Any, Kept]:
    """Gradient descent by a rate that falls, with the mean of what it passes (Polyak and Juditsky 1992)."""
    count, eta, share, mean = kept or (0.0, r.lr, 1.0, 0.0)
    change = x * r.lambd * eta + eta * gradient
    mean, count = mean + share * (x - change - mean), count + 1.0
    return change, (count, r.lr / (1.0 + r.lambd * r.lr * count) ** r.alpha, 1.0 / max(1.0, count - r.t0), mean)
