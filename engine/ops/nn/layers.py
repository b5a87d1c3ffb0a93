"""What layers compute: functions of an input and of parameters."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import number_of, truth_of, wholes_of
from agrad.engine.core.dispatch import in_family, operand
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.indexing import check_places, getitem
from agrad.engine.ops.arrays.reduction import mean
from agrad.engine.ops.creation import generator
from agrad.engine.ops.scalar.arithmetic import add, div, mul, sub
from agrad.engine.ops.scalar.elementary import sqrt, square
from agrad.engine.values import format_number, format_shape, shape_of, whole

_, composed = in_family("learning")


@composed(data=("bias",), total=True)
def linear(x: Any, weight: Any, /, bias: Any = None) -> Any:
    """x @ weight.T + bias: weight has a row for each output.

    derivative: wrt x: g @ weight; wrt weight: g.T @ x; wrt bias: the sum of g over the rows
    example: linear([1, 2], [[3, 4]], [5]) == [16]
    """
    x, weight = operand(x), operand(weight)
    inputs, shape = shape_of(x), shape_of(weight)
    if len(shape) != 2 or inputs[-1:] != shape[1:]:
        have, want = format_shape(inputs), format_shape(shape)
        raise AgradError("shape", f"linear: x of shape {have} does not fit the weight of shape {want}")
    product = OPS["matmul"].call(x, weight.T)
    if isinstance(x, Tensor) and x.requires_grad and isinstance(weight, Tensor) and product.node.op is not None:
        product.node._more().saves = (weight.node,)  # whose transpose the derivative reads
    return product if bias is None else add(product, bias)


def rate_of(name: str, p: Any) -> float:
    """A probability. Raises AgradError."""
    rate = number_of(name, "p", p)
    if not 0.0 <= rate <= 1.0:
        raise AgradError("domain", f"{name}: p is a probability from 0 to 1, not {format_number(rate)}")
    return rate


@composed()
def dropout(x: Any, /, p: Any = 0.5, training: Any = True) -> Any:
    """In training, each entry is 0 with probability p, and x/(1 - p) otherwise; else x itself.

    derivative: 0 where the entry is dropped, 1/(1 - p) elsewhere
    example: dropout([1, 2], training=False) == [1, 2]
    """
    x, rate = operand(x), rate_of("dropout", p)
    if not truth_of("dropout", "training", training) or rate == 0.0:
        return x
    numbers = generator()
    drawn = numbers.random(shape_of(x) or None)
    kept = drawn < 1.0 - rate if hasattr(numbers, "fork") else drawn >= rate  # PyTorch's, of its numbers
    return mul(x, kept / (1.0 - rate) if rate < 1.0 else 0.0 * kept)


@composed(signature="x; normalized_shape, weight=None, bias=None, eps=1e-5", data=("weight", "bias"), pure=True)
def layer_norm(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """(x - mean)/sqrt(variance + eps) over the last axes, those of normalized_shape, times weight plus bias.

    derivative: wrt x: that of the formula
    example: layer_norm([1, 3], 2, eps=0) == [-1, 1]
    """
    x, lengths = operand(x), wholes_of("layer_norm", "a length", normalized_shape)
    shape = shape_of(x)
    if not lengths or shape[-len(lengths) :] != lengths:
        have, want = format_shape(shape), format_shape(lengths)
        raise AgradError("shape", f"layer_norm: the last axes of shape {have} are not {want}")
    axes = tuple(range(-len(lengths), 0))
    apart = sub(x, mean(x, axis=axes, keepdims=True))
    spread = sqrt(add(mean(square(apart), axis=axes, keepdims=True), number_of("layer_norm", "eps", eps)))
    scaled = div(apart, spread)
    scaled = scaled if weight is None else mul(scaled, weight)
    return scaled if bias is None else add(scaled, bias)


@composed(pure=True)
def embedding(x: Any, weight: Any, /, padding_idx: Any = None) -> Any:
    """The row of weight at each of the whole numbers x. padding_idx: a row that has no gradient.

    derivative: wrt weight: the sum of g for each row; wrt x: none
    example: embedding([1, 0], [[2, 3], [4, 5]]) == [[4, 5], [2, 3]]
    """
    x, weight = operand(x), operand(weight)
    count = shape_of(weight)[0] if shape_of(weight) else 0
    check_places("embedding", "row", x, count)
    rows = getitem(weight, (x,))
    if padding_idx is None:
        return rows
    padding = whole(padding_idx, "embedding: padding_idx") % max(count, 1)
    is_padding = OPS["equal"].call(OPS["reshape"].call(x, (*shape_of(x), 1)), float(padding))
    return OPS["where"].call(is_padding, OPS["stop"].call(rows), rows)
