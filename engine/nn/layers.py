"""Layers: modules with an operation of `nn.functional`, and the parameters that it takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from agrad.engine.core.arguments import axis_of, is_sequence, number_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError
from agrad.engine.nn import init
from agrad.engine.nn.module import Module
from agrad.engine.nn.parameter import parameter
from agrad.engine.ops.arrays.shaping import shape_of_any
from agrad.engine.ops.tensor_methods import overwrite
from agrad.engine.values import format_number, np, size_of, whole


def _count(what: str, value: Any) -> int:
    number = whole(value, what)
    if number < 0:
        raise AgradError("shape", f"{what} must not be negative")
    return number


def _empty(*shape: int) -> Tensor:
    return parameter(np.zeros(shape))


class Linear(Module):
    """x @ weight.T + bias; both are uniform from -1/sqrt(in_features) to 1/sqrt(in_features) at first."""

    def __init__(self, in_features: Any, out_features: Any, bias: Any = True) -> None:
        super().__init__()
        self.in_features = _count("Linear: in_features", in_features)
        self.out_features = _count("Linear: out_features", out_features)
        self.weight = _empty(self.out_features, self.in_features)
        if bias:
            self.bias = _empty(self.out_features)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """New random values."""
        bound = 1.0 / math.sqrt(self.in_features) if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["linear"].call(input, self.weight, bias=self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Flatten(Module):
    """One axis instead of those from start_dim to end_dim."""

    def __init__(self, start_dim: Any = 1, end_dim: Any = -1) -> None:
        super().__init__()
        self.start_dim = whole(start_dim, "Flatten: start_dim")
        self.end_dim = whole(end_dim, "Flatten: end_dim")

    def forward(self, input: Any) -> Any:
        """The value."""
        shape = shape_of_any(input)
        start, end = (axis_of("Flatten", shape, one) for one in (self.start_dim, self.end_dim))
        merged = (*shape[:start], size_of(shape[start : end + 1]), *shape[end + 1 :])
        return FUNCTIONS["reshape"].call(input, merged)

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Dropout(Module):
    """In training, 0 with probability p, and otherwise x/(1 - p)."""

    def __init__(self, p: Any = 0.5, inplace: Any = False) -> None:
        super().__init__()
        self.inplace = bool(inplace)
        self.p = number_of("Dropout", "p", p)
        if not 0.0 <= self.p <= 1.0:
            raise AgradError("domain", f"Dropout: p is a probability from 0 to 1, not {format_number(self.p)}")

    def forward(self, input: Any) -> Any:
        """The value."""
        return over(input, FUNCTIONS["dropout"].call(input, p=self.p, training=self.training), self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class LayerNorm(Module):
    """(x - mean)/sqrt(variance + eps) over the last axes, times weight plus bias, which are 1 and 0 at first."""

    def __init__(
        self, normalized_shape: Any, eps: Any = 1e-5, elementwise_affine: Any = True, bias: Any = True
    ) -> None:
        super().__init__()
        lengths: Iterable[Any] = normalized_shape if is_sequence(normalized_shape) else (normalized_shape,)
        self.normalized_shape = tuple(_count("LayerNorm: a length", length) for length in lengths)
        self.eps = number_of("LayerNorm", "eps", eps)
        self.elementwise_affine = bool(elementwise_affine)
        self.register_parameter("weight", parameter(np.ones(self.normalized_shape)) if elementwise_affine else None)
        self.register_parameter("bias", _empty(*self.normalized_shape) if elementwise_affine and bias else None)

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["layer_norm"].call(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The lengths of the axes, and eps."""
        bias = f"bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, {bias}"


class Embedding(Module):
    """The row of weight at each index; normally distributed at first. That of padding_idx is 0, and has no gradient."""

    def __init__(self, num_embeddings: Any, embedding_dim: Any, padding_idx: Any = None) -> None:
        super().__init__()
        self.num_embeddings = _count("Embedding: num_embeddings", num_embeddings)
        self.embedding_dim = _count("Embedding: embedding_dim", embedding_dim)
        self.padding_idx = None if padding_idx is None else self._row(padding_idx)
        self.weight = init.normal_(_empty(self.num_embeddings, self.embedding_dim))
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def _row(self, padding_idx: Any) -> int:
        row, count = whole(padding_idx, "Embedding: padding_idx"), self.num_embeddings
        if not -count <= row < count:
            raise AgradError("shape", f"Embedding: there is no row {row} for padding_idx: there are {count}")
        return row % count

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: Any = True, padding_idx: Any = None) -> Embedding:
        """An embedding with the rows of a matrix, which is trained only without `freeze`."""
        rows, width = shape_of_any(embeddings)
        made = cls(rows, width, padding_idx)
        made.weight = parameter(embeddings, not freeze)
        return made

    def forward(self, input: Any) -> Any:
        """The value."""
        return FUNCTIONS["embedding"].call(input, self.weight, padding_idx=self.padding_idx)

    def extra_repr(self) -> str:
        """The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Identity(Module):
    """The input itself."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


def over(x: Any, value: Any, inplace: bool) -> Any:
    """The value; with `inplace`, it is written over x, which then has its graph."""
    both = isinstance(x, Tensor) and isinstance(value, Tensor)
    return overwrite(x, value, "inplace=True") if inplace and both and value is not x else value
