"""Functions of learning: activations, entry by entry, and those over all entries along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from agrad.engine.core.arguments import axes_of, axis_of, numbers
from agrad.engine.core.dispatch import by_array, by_rule, in_family, operand
from agrad.engine.core.op import Failure, Function, Kink
from agrad.engine.ops.arrays import expansions
from agrad.engine.ops.arrays.reduction import over_axes, projection, reducing, total, widened
from agrad.engine.ops.arrays.shaping import expand
from agrad.engine.ops.scalar.arithmetic import mul
from agrad.engine.ops.scalar.comparison import equal, greater, isfinite, less, where
from agrad.engine.ops.scalar.elementary import AT_ZERO, LN2, elementary, exp
from agrad.engine.ops.scalar.special import lower_ndtr, ndtr, normal_density
from agrad.engine.ops.scalar.trigonometry import FLAT_ENDS, tanh
from agrad.engine.values import Shape, broadcast, np, shape_of

FAMILY = "learning"
row, composed = in_family(FAMILY)
smooth: Callable[..., Function] = partial(elementary, family=FAMILY)

FAR_OUT = Kink("logsumexp, softmax, sigmoid, softplus, logaddexp far out", "finite", "finite")


# Kinked


@by_array(
    row,
    units="a -> a",
    scalar=lambda x: 0.0 if x <= 0.0 else x,
    rules={"x": ("x", lambda g, out, x: g)},
    selects={"x": lambda out, x: greater(x, 0.0)},
    kinks=(AT_ZERO,),
    python="0.0 if {0} <= 0.0 else {0}",
    lower=lambda x: (x <= 0.0).choose(0.0, x),
)
def relu(x: Any) -> Any:
    """x where it is positive, else 0.

    derivative: 1 for positive x, else exactly 0, also at 0
    example: relu([-1, 2]) == [0, 2]
    """
    return np.maximum(x, 0.0)


@by_array(
    row,
    "x; slope=0.01",
    units="a -> a",
    prepare=numbers("leaky_relu"),
    scalar=lambda x, slope: x if x > 0.0 else slope * x,
    rules={"x": ("x", lambda g, out, x, slope: g * where(greater(x, 0.0), 1.0, slope))},
    kinks=(Kink("leaky_relu at 0", "0", "the slope on the left (0.01)"),),
)
def leaky_relu(x: Any, slope: Any) -> Any:
    """x where it is positive, else slope*x.

    derivative: 1 for positive x, else the slope, also at 0
    example: leaky_relu([-1, 2]) == [-0.01, 2]
    """
    return np.where(x > 0.0, x, slope * x)


_AT_ZERO = Kink("elu, selu at 0", "0", "those on the left, of all orders: alpha")


@by_array(
    row,
    "x; alpha=1.0",
    prepare=numbers("elu"),
    scalar=lambda x, alpha: x if x > 0.0 else alpha * math.expm1(x),
    rules={"x": ("x", lambda g, out, x, alpha: g * where(greater(x, 0.0), 1.0, alpha * exp(x)))},
    kinks=(_AT_ZERO,),
)
def elu(x: Any, alpha: Any) -> Any:
    """x where it is positive, else alpha*(exp(x) - 1).

    derivative: 1 for positive x, else alpha*exp(x)
    example: elu([0, 2]) == [0, 2]
    """
    return np.where(x > 0.0, x, alpha * np.expm1(x))


# Klambauer et al., Self-normalizing neural networks, 2017.
_ALPHA = 1.6732632423543772848170429916717
_SCALE = 1.0507009873554804934193349852946


@by_array(
    row,
    scalar=lambda x: _SCALE * (x if x > 0.0 else _ALPHA * math.expm1(x)),
    rules={"x": ("x", lambda g, out, x: g * where(greater(x, 0.0), _SCALE, _SCALE * _ALPHA * exp(x)))},
    kinks=(_AT_ZERO,),
)
def selu(x: Any) -> Any:
    """The scaled elu of self-normalizing networks: 1.0507*elu(x, 1.6733).

    derivative: 1.0507 for positive x, else 1.7581*exp(x)
    example: selu(1) ~= 1.0507009873554805
    """
    return _SCALE * np.where(x > 0.0, x, _ALPHA * np.expm1(x))


@by_array(
    row,
    "x; lo=-1.0, hi=1.0",
    prepare=numbers("hardtanh"),
    scalar=lambda x, lo, hi: lo if x < lo else hi if x > hi else x,
    rules={"x": ("x", lambda g, out, x, lo, hi: g)},
    selects={"x": lambda out, x, lo, hi: greater(x, lo) * less(x, hi)},
    kinks=(Kink("hardtanh at its ends", "the end", "0"),),
    lower=lambda x, lo, hi: (x < lo).choose(lo, (x > hi).choose(hi, x)),
)
def hardtanh(x: Any, lo: Any, hi: Any) -> Any:
    """x limited to between lo and hi.

    derivative: 1 between lo and hi, exactly 0 outside and at both
    example: hardtanh([-3, 0.5, 3]) == [-1, 0.5, 1]
    """
    return np.minimum(np.maximum(x, lo), hi)


# Smooth


def _sigmoid(x: float) -> float:
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    t = math.exp(x)
    return t / (1.0 + t)


def _sigmoid_array(x: Any) -> Any:
    t = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, t) / (1.0 + t)


@by_rule(
    smooth,
    "x",
    scalar=_sigmoid,
    array=_sigmoid_array,
    kinks=(FAR_OUT, FLAT_ENDS),
    fails=Failure(logarithm="logsigmoid"),
)
def sigmoid(g: Any, out: Any, x: Any) -> Any:
    """1/(1 + exp(-x)).

    derivative: sigmoid(x)*sigmoid(-x), exact far out too
    example: sigmoid(0) == 0.5
    """
    return g * sigmoid_slope(x)


def _sigmoid_slope(t: Any) -> Any:
    """From t = exp(-|x|)."""
    return (1.0 / (1.0 + t)) * (t / (1.0 + t))


# A row of its own: the derivative of the product, a difference of two, would cancel near 0.
@by_rule(
    smooth,
    "x out",
    scalar=lambda x: _sigmoid_slope(math.exp(-abs(x))),
    array=lambda x: _sigmoid_slope(np.exp(-np.abs(x))),
    formula=lambda x: x.call("sigmoid") * (-x).call("sigmoid"),
)
def sigmoid_slope(g: Any, out: Any, x: Any) -> Any:
    """sigmoid(x)*sigmoid(-x)."""
    return -g * (out * tanh(0.5 * x))


@by_rule(
    smooth,
    "x",
    scalar=lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))) if x == x else x,
    array=lambda x: np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))),
    kinks=(FAR_OUT,),
)
def softplus(g: Any, out: Any, x: Any) -> Any:
    """log(1 + exp(x)), without overflow.

    derivative: sigmoid(x)
    example: softplus(1000) == 1000
    """
    return g * sigmoid(x)


@by_rule(
    smooth,
    "x",
    scalar=lambda x: min(x, 0.0) - math.log1p(math.exp(-abs(x))) if x == x else x,
    array=lambda x: np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x))),
)
def logsigmoid(g: Any, out: Any, x: Any) -> Any:
    """The logarithm of sigmoid(x), without underflow.

    derivative: sigmoid(-x)
    example: logsigmoid(-1000) == -1000
    """
    return g * sigmoid(-x)


@by_rule(smooth, "x", scalar=lambda x: x * _sigmoid(x), array=lambda x: x * _sigmoid_array(x))
def silu(g: Any, out: Any, x: Any) -> Any:
    """x*sigmoid(x), also called swish.

    derivative: sigmoid(x) + x*sigmoid(x)*sigmoid(-x)
    example: silu(0) == 0
    """
    return g * (sigmoid(x) + x * sigmoid_slope(x))


@by_rule(smooth, "x", scalar=lambda x: x * ndtr(x), array=lambda x: x * ndtr(x), lower=lambda x: x * lower_ndtr(x))
def gelu(g: Any, out: Any, x: Any) -> Any:
    """x times the probability that a standard normal number is below x.

    derivative: ndtr(x) + x*exp(-x**2/2)/sqrt(2*pi)
    example: gelu(0) == 0
    """
    return g * (ndtr(x) + x * normal_density(x))


def _lower_logaddexp(x: Any, y: Any) -> Any:
    """`logaddexp` in machine code, where x and y are symbols."""
    larger = (y > x).choose(y, x)
    return (x == y).choose(x + LN2, larger + (-abs(x - y)).call("exp").call("log1p"))


@by_array(
    row,
    scalar=lambda x, y: x + LN2 if x == y else max(x, y) + math.log1p(math.exp(-abs(x - y))),
    rules={
        "x": ("x y", lambda g, out, x, y: g * sigmoid(x - y)),
        "y": ("x y", lambda g, out, x, y: g * sigmoid(y - x)),
    },
    kinks=(FAR_OUT,),
    lower=_lower_logaddexp,
)
def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), without overflow.

    derivative: wrt x: sigmoid(x - y); wrt y: sigmoid(y - x)
    example: logaddexp(1000, -1000) == 1000
    """
    return np.logaddexp(x, y)


# Along an axis


def _peak(x: Any, axis: Shape) -> tuple[Any, Any]:
    """The largest entry, and the distance to it: 0 for the largest itself, if it is finite or there is but one."""
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    if np.isfinite(top).all():
        return top, x - top
    at_top = x == top
    certain = at_top & (np.isfinite(top) | (np.sum(at_top, axis=axis, keepdims=True) == 1))
    return top, np.where(certain, 0.0, x - top)


def _log_total(apart: Any, axis: Shape) -> Any:
    """The logarithm of the sum of exponentials of the distances, of which one is 0 at least: exact near 0, too."""
    is_top, others = apart == 0.0, np.asarray(np.exp(apart))
    np.putmask(others, is_top, 0.0)
    more = np.count_nonzero(is_top, axis=axis, keepdims=True) - 1.0
    return np.log1p(np.sum(others, axis=axis, keepdims=True) + more)


def _masked_wholly(x: Any, *others: Any) -> tuple[str, str] | None:
    """Why shares of numbers may be nan: all of a row are masked, as -inf."""
    if not bool((np.asarray(x) == -np.inf).any()):
        return None
    return "of -inf alone is 0/0", "-1e9 in place of -inf keeps a row that is masked wholly finite"


def _along(name: str, x: Any, axis: Any) -> dict[str, Any]:
    shape = shape_of(x)
    if isinstance(axis, tuple):
        return {"axis": axes_of(name, shape, axis)}
    return {"axis": (axis_of(name, shape, axis),) if shape else ()}


_sharing = partial(row, signature="x; axis=-1", reach="mixed")


@by_array(
    _sharing,
    scalar=lambda x, axis: 1.0 if x == x else x,
    rules={"x": ("out", lambda g, out, x, axis: projection(g * out, out, 1.0, axis))},
    prepare=partial(_along, "softmax"),
    unrolled=expansions.along(expansions.shares),
    kinks=(FAR_OUT,),
    fails=Failure(logarithm="log_softmax", undefined=_masked_wholly),
)
def softmax(x: Any, axis: Shape) -> Any:
    """exp(x) divided by its sum along an axis: positive, with sum 1.

    derivative: s*(g - sum(g*s)) with s = softmax(x)
    example: softmax([0, 0]) == [0.5, 0.5]
    """
    t = np.exp(_peak(x, axis)[1])
    t /= np.sum(t, axis=axis, keepdims=True)
    return t


@by_array(
    _sharing,
    scalar=lambda x, axis: 0.0 if x == x else x,
    rules={"x": ("x", lambda g, out, x, axis: projection(g, softmax(x, axis), 1.0, axis))},
    prepare=partial(_along, "log_softmax"),
    unrolled=expansions.along(expansions.log_shares),
    fails=Failure(undefined=_masked_wholly),
)
def log_softmax(x: Any, axis: Shape) -> Any:
    """The logarithm of softmax, without underflow.

    derivative: g - softmax(x)*sum(g)
    example: log_softmax([1000, 0]) == [0, -1000]
    """
    apart = _peak(x, axis)[1]
    return apart - _log_total(apart, axis)


@by_array(
    over_axes,
    name="logsumexp",
    rules={"x": ("x", lambda g, out, x, axis, keepdims, wide: widened(g, wide) * softmax(x, axis))},
    reach="mixed",
    unrolled=expansions.reduced(expansions.log_total),
    kinks=(FAR_OUT,),
)
def logsumexp_alone(x: Any, axis: Shape, keepdims: bool, wide: Shape) -> Any:
    """log(sum(exp(x))), of all entries or along an axis, without overflow."""
    top, apart = _peak(x, axis)
    value = np.where(np.isfinite(top), top + _log_total(apart, axis), top)
    return value if keepdims else np.squeeze(value, axis)


def _weighted(x: Any, b: Any, axis: Shape) -> tuple[Any, Any, Any]:
    """The largest x, the exponentials of the distances to it, and the weighted sum; where b is 0, x does not count."""
    top = np.max(np.where(b == 0.0, -np.inf, x), axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    t = np.exp(x - top)
    return top, t, np.sum(np.where(b == 0.0, 0.0, b * t), axis=axis, keepdims=True)


def _by_exponent(g: Any, out: Any, x: Any, b: Any, axis: Shape, keepdims: bool, wide: Shape) -> Any:
    share = weighted_share(x, b, axis)
    # masked only where it is not finite: elsewhere the mixed derivative at b = 0 is that of the share
    ignored = mul(equal(b, 0.0), equal(isfinite(share), 0.0))
    return widened(g, wide) * where(ignored, 0.0, b * share)


@by_array(
    row,
    "x, b; axis",
    units="1, a -> 1/a",
    rules={
        "x": ("out b", lambda g, out, x, b, axis: projection(g * out, b * out, 1.0, axis)),
        "b": ("out", lambda g, out, x, b, axis: -out * total(g * out, axis, True)),
    },
    reach="mixed",
)
def weighted_share(x: Any, b: Any, axis: Shape) -> Any:
    """exp(x)/sum(b*exp(x)) along axes."""
    _, t, whole = _weighted(x, b, axis)
    return t / np.where(whole < 0.0, np.nan, whole)


@by_array(
    row,
    "x, b; axis=None, keepdims=False",
    rules={
        "x": ("x b", _by_exponent),
        "b": ("x b", lambda g, out, x, b, axis, keepdims, wide: widened(g, wide) * weighted_share(x, b, axis)),
    },
    prepare=lambda x, b, axis, keepdims: reducing("logsumexp")(x, axis, keepdims),
)
def weighted_logsumexp(x: Any, b: Any, axis: Shape, keepdims: bool, wide: Shape) -> Any:
    """log(sum(b*exp(x))) of x and b of the same shape."""
    top, _, whole = _weighted(x, b, axis)
    value = np.log(whole) + top
    return value if keepdims else np.squeeze(value, axis)


@composed(family="reductions", alone=logsumexp_alone, data=("b",), pure=True)
def logsumexp(x: Any, /, axis: Any = None, keepdims: Any = False, b: Any = None) -> Any:
    """log(sum(exp(x))), or log(sum(b*exp(x))), of all entries or along an axis, without overflow; nan where that sum is
    negative.

    derivative: softmax(x); with b, and s the result, b*exp(x - s), and wrt b exp(x - s)
    example: logsumexp([1000, 0]) == 1000 and logsumexp([0, 0], b=[3, -2]) == 0
    """
    if b is None:
        return logsumexp_alone(x, axis=axis, keepdims=keepdims)
    x, b = operand(x), operand(b)
    shape = broadcast(shape_of(x), shape_of(b))
    x, b = (one if shape_of(one) == shape else expand(one, shape) for one in (x, b))
    return weighted_logsumexp(x, b, axis=axis, keepdims=keepdims)
