"""Losses: how far a prediction is from its target, as one number."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.core.dispatch import by_array, in_family, operand
from agrad.engine.core.guards import choose, entries
from agrad.engine.core.op import Function, Kink, onward
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.indexing import check_places, getitem
from agrad.engine.ops.arrays.reduction import mean, total
from agrad.engine.ops.arrays.shaping import permute, reshape, summed_to
from agrad.engine.ops.nn.activations import log_softmax, softplus
from agrad.engine.ops.scalar.arithmetic import add, mul, neg, sub
from agrad.engine.ops.scalar.comparison import greater, less_equal, where
from agrad.engine.ops.scalar.elementary import absolute, square
from agrad.engine.ops.scalar.special import xlog1py, xlogy
from agrad.engine.values import Shape, broadcast, describe, format_number, format_shape, np, shape_of, size_of, whole

row, composed = in_family("learning", pure=True)


def _pair(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Prediction and target, of the same shape: spreading (n) against (n, 1) would compare each with each."""
    x, y = operand(x), operand(y)
    a, b = shape_of(x), shape_of(y)
    if a != b and a and b:
        raise AgradError("shape", f"{name} of shapes {format_shape(a)} and {format_shape(b)}: they must be the same")
    return x, y


def reduced(name: str, losses: Any, reduction: Any) -> Any:
    """One number from the losses of all entries, or these unchanged."""
    ways: dict[Any, Function] = {"mean": mean, "sum": total, "none": lambda x: x}
    if not isinstance(reduction, str) or reduction not in ways:
        raise AgradError("type", f'{name}: reduction is "mean", "sum" or "none", not {describe(reduction)}')
    return ways[reduction](losses)


def _weighed(x: Any, y: Any, mean: bool) -> dict[str, Any]:
    shapes = shape_of(x), shape_of(y)
    entries = size_of(broadcast(*shapes))
    return {"factor": (1.0 / entries if entries else math.nan) if mean else 1.0, "shapes": shapes}


def _squares_rule(which: int) -> Function:
    def rule(g: Any, out: Any, x: Any, y: Any, factor: float, shapes: tuple[Shape, Shape]) -> Any:
        return summed_to((g * (2.0 * factor)) * (sub(x, y) if which == 0 else sub(y, x)), shapes[which])

    return rule


# A separate row, since most training steps use it: it needs half the arrays of mean(square(x - y)).
@by_array(
    row,
    "x, y; mean",
    units="a, a -> a^2",
    title="MseLoss",
    scalar=lambda x, y, factor, shapes: (x - y) * (x - y) * factor,
    rules={"x": ("x y", _squares_rule(0)), "y": ("x y", _squares_rule(1))},
    prepare=_weighed,
    reach="mixed",
    moves_entries=True,
)
def squared_error(x: Any, y: Any, factor: float, shapes: tuple[Shape, Shape]) -> Any:
    """The sum, or the mean, of (x - y)**2."""
    apart = np.asarray(x - y)
    return np.add.reduce(np.multiply(apart, apart, out=apart), axis=None) * factor


@composed(total=True)
def mse_loss(x: Any, y: Any, /, reduction: Any = "mean") -> Any:
    """The mean squared error, mean((x - y)**2).

    derivative: wrt x: 2*(x - y)/n; wrt y: -2*(x - y)/n
    example: mse_loss([1, 2], [1, 4]) == 2
    """
    x, y = _pair("mse_loss", x, y)
    if isinstance(reduction, str) and reduction in ("mean", "sum"):
        return squared_error(x, y, reduction == "mean")
    return reduced("mse_loss", square(sub(x, y)), reduction)


@composed(total=True, kinks=(Kink("l1_loss where x == y", "0", "0"),))
def l1_loss(x: Any, y: Any, /, reduction: Any = "mean") -> Any:
    """The mean absolute error, mean(abs(x - y)).

    derivative: wrt x: sign(x - y)/n, 0 where they are equal; wrt y: the negative of it
    example: l1_loss([1, 2], [1, 4]) == 1
    """
    x, y = _pair("l1_loss", x, y)
    return reduced("l1_loss", absolute(sub(x, y)), reduction)


@composed(
    total=True,
    kinks=(Kink("huber_loss at delta", "", "delta"),),
)
def huber_loss(x: Any, y: Any, /, delta: Any = 1.0, reduction: Any = "mean") -> Any:
    """Half the squared error up to delta, from there on delta times (the absolute error - delta/2); the mean of it.

    derivative: wrt x: (x - y)/n, at most delta/n in size; wrt y: the negative of it
    example: huber_loss([0, 3], [0, 0]) == 1.25
    """
    x, y = _pair("huber_loss", x, y)
    apart, delta = sub(x, y), number_of("huber_loss", "delta", delta)
    size = absolute(apart)
    linear = mul(delta, sub(size, 0.5 * delta))
    losses = where(less_equal(size, delta), mul(0.5, square(apart)), linear)
    return reduced("huber_loss", losses, reduction)


@by_array(row, scalar=lambda x: x if 0.0 <= x <= 1.0 else math.nan, rules={"x": ("", onward)}, formula=lambda x: x)
def probability(x: Any) -> Any:
    """x, and nan outside 0 to 1."""
    return np.where((x < 0.0) | (x > 1.0), math.nan, x)


@composed(
    data=("weight",),
    kinks=(Kink("binary_cross_entropy(0, 1)", "inf", "-inf"),),
    domain="x from 0 to 1",
)
def binary_cross_entropy(x: Any, y: Any, /, reduction: Any = "mean", weight: Any = None) -> Any:
    """The mean of -(y*log(x) + (1 - y)*log(1 - x)), for probabilities x of the targets y, times a weight.

    It is nan for x outside 0 to 1.

    derivative: wrt x: (x - y)/(x*(1 - x))/n
    example: binary_cross_entropy(0.5, 1) ~= log(2)
    """
    x, y = _pair("binary_cross_entropy", x, y)
    x = probability(x)
    losses = neg(add(xlogy(y, x), xlog1py(sub(1.0, y), neg(x))))
    return reduced("binary_cross_entropy", losses if weight is None else mul(weight, losses), reduction)


@composed(data=("weight", "pos_weight"), total=True)
def binary_cross_entropy_with_logits(
    x: Any, y: Any, /, reduction: Any = "mean", weight: Any = None, pos_weight: Any = None
) -> Any:
    """binary_cross_entropy of logits x, without overflow. pos_weight: a weight of what y has a share in.

    derivative: wrt x: (sigmoid(x) - y)/n
    example: binary_cross_entropy_with_logits(0, 1) ~= log(2)
    """
    x, y = _pair("binary_cross_entropy_with_logits", x, y)
    is_above = greater(x, 0.0)  # softplus(x) - x*y would cancel there
    losses = add(softplus(where(is_above, neg(x), x)), mul(sub(is_above, y), x))
    if pos_weight is not None:
        losses = add(losses, mul(mul(sub(pos_weight, 1.0), y), softplus(neg(x))))
    losses = losses if weight is None else mul(weight, losses)
    return reduced("binary_cross_entropy_with_logits", losses, reduction)


@composed()
def cross_entropy(
    x: Any,
    target: Any,
    /,
    reduction: Any = "mean",
    label_smoothing: Any = 0.0,
    weight: Any = None,
    ignore_index: Any = -100,
) -> Any:
    """The mean of -log_softmax(x) at the target: the number of a class for each row of x, or probabilities. weight: one
    number a class; the mean is weighted. label_smoothing: how much of a target all classes share. Rows whose target
    is ignore_index are left out.

    derivative: wrt x: (softmax(x) - the target as probabilities)/n
    example: cross_entropy([[0, 0]], [1]) ~= log(2)
    """
    smoothing = number_of("cross_entropy", "label_smoothing", label_smoothing)
    x, target, beside = _rows("cross_entropy", x, target)
    options = smoothing, weight, ignore_index
    return _beside(_by_class("cross_entropy", log_softmax(x), target, options, reduction), beside)


def _rows(name: str, x: Any, target: Any) -> tuple[Any, Any, Shape]:
    """Scores of which the last axis has the classes, and the targets; the shape of these where x has more axes."""
    x, target = operand(x), operand(target)
    shape, given = shape_of(x), shape_of(target)
    if not shape:
        raise AgradError("shape", f"{name} needs a row of scores or a matrix, not shape {format_shape(shape)}")
    if len(shape) <= 2:
        return x, target, ()
    order, beside = (0, *range(2, len(shape)), 1), (shape[0], *shape[2:])
    if given not in (shape, beside):
        raise _unlike(name, given, beside)
    x = reshape(permute(x, order), (-1, shape[1]))
    return x, reshape(permute(target, order), (-1, shape[1])) if given == shape else reshape(target, (-1,)), beside


def _beside(losses: Any, beside: Shape) -> Any:
    """The losses of all rows where they are, if these were taken from more axes."""
    return reshape(losses, beside) if beside and shape_of(losses) else losses


def _by_class(name: str, logs: Any, target: Any, options: tuple[float, Any, Any], reduction: Any) -> Any:
    """-logs at the targets, with the smoothing, the weights and the class to ignore."""
    shape, given = shape_of(logs), shape_of(target)
    smoothing, weight, ignore_index = options
    classes = np.asarray(getattr(target, "value", target))
    ignored = given != shape and bool((classes == number_of(name, "ignore_index", ignore_index)).any())
    if smoothing or weight is not None or ignored:
        for what, one in (("the target", target), ("weight", weight)):
            if isinstance(one, Tensor):
                if one.requires_grad:
                    raise AgradError("grad", f"{name} has no derivative wrt {what} here", fixes=["x.detach()"])
                choose(one.node, one.value, entries)
        return _weighted(name, logs, classes, options, reduction)
    if given == shape:
        return reduced(name, neg(total(mul(target, logs), -1)), reduction)
    if given != shape[:-1]:
        raise _unlike(name, given, shape[:-1])
    place = _classes(name, target, shape[-1])
    at = neg(getitem(logs, (place,) if len(shape) == 1 else (np.arange(shape[0]), place)))
    return reduced(name, at, reduction)


def _unlike(name: str, given: Shape, wanted: Shape) -> AgradError:
    """The error for a target of another shape than scores have."""
    have, want = format_shape(given), format_shape(wanted)
    return AgradError("shape", f"{name}: the target has shape {have}, neither {want} nor that of the scores")


def _weighted(name: str, logs: Any, target: Any, options: tuple[float, Any, Any], reduction: Any) -> Any:
    """The same with weights of the classes, smoothing, or rows that are left out."""
    smoothing, weight, ignored = options
    shape = shape_of(logs)
    count = shape[-1]
    if not 0.0 <= smoothing <= 1.0:
        raise AgradError("domain", f"{name}: label_smoothing is from 0 to 1, not {format_number(smoothing)}")
    weights = np.ones(count) if weight is None else np.asarray(getattr(operand(weight), "value", weight), dtype=float)
    if weights.shape != (count,):
        have = format_shape(weights.shape)
        raise AgradError("shape", f"{name}: weight has shape {have}, and there are {count} classes")
    if target.shape == shape:
        shares, number = (target * (1.0 - smoothing) + smoothing / count) * weights, float(size_of(shape[:-1]))
    elif target.shape == shape[:-1]:
        kept = target != ignored
        _classes(name, np.where(kept, target, 0.0), count)
        chosen = np.where(kept[..., None], target[..., None] == np.arange(count), 0.0) * weights
        number = float(chosen.sum())
        shares = chosen * (1.0 - smoothing) + np.where(kept[..., None], smoothing / count, 0.0) * weights
    else:
        raise _unlike(name, target.shape, shape[:-1])
    losses = neg(total(where(shares == 0.0, 0.0, mul(shares, logs)), -1))
    if reduction != "mean":
        return reduced(name, losses, reduction)
    return mul(total(losses), 1.0 / number if number else math.nan)


@composed()
def nll_loss(x: Any, target: Any, /, reduction: Any = "mean", weight: Any = None, ignore_index: Any = -100) -> Any:
    """The mean of -x at the target, the number of a class for each row of x: of log_softmax, it is cross_entropy, with
    the same weight and ignore_index.

    derivative: wrt x: -1/n at the target, else 0
    example: nll_loss([[-1, -2]], [1]) == 2
    """
    x, target, beside = _rows("nll_loss", x, target)
    shape, given = shape_of(x), shape_of(target)
    if given != shape[:-1]:
        have, want = format_shape(given), format_shape(shape)
        raise AgradError("shape", f"nll_loss: a target of shape {have} does not fit scores of shape {want}")
    return _beside(_by_class("nll_loss", x, target, (0.0, weight, ignore_index), reduction), beside)


def _classes(name: str, target: Any, count: int) -> Any:
    """The number of a class, or of one for each row; a negative one, which would count from the end, is an error."""
    if not check_places(name, "class", target, count).shape:
        whole(target, "a class")
    return target
