"""Values made of numbers and arrays, in tuples and dicts of each other, as one vector and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import Shape, np, shape_of


def joined(parts: Sequence[Any]) -> Any:
    """Vectors one after the other."""
    return FUNCTIONS["concat"].call(tuple(parts))


def split(vector: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The values with these shapes whose entries a vector has, one after the other."""
    found, end = [], 0
    for shape in shapes:
        begin, end = end, end + prod(shape)
        found.append(FUNCTIONS["reshape"].call(vector[begin:end], shape) if shape else vector[begin])
    return found


class Parts:
    """The numbers and arrays in a value, in tuples and dicts of each other; as one vector and back."""

    def __init__(self, what: str, value: Any, is_rows: bool = False) -> None:
        self.what = what
        self.value = value
        self.leaves = [operand(x) for x in _leaves(value)]
        self.whole = [shape_of(x) if not isinstance(x, Tensor) else x.shape for x in self.leaves]
        if is_rows and () in self.whole:
            raise AgradError("shape", "scan: rows are along the first axis of an array, and this is a number")
        self.shapes = [shape[1:] if is_rows else shape for shape in self.whole]
        self.size = sum(map(prod, self.shapes))
        self.is_rows = is_rows

    def packed(self) -> Any:
        """The vector."""
        if not self.is_rows:
            return joined([flat(x) for x in self.leaves]) if self.leaves else np.zeros(0)
        if not self.leaves:
            return np.zeros(0)
        count = self.whole[0][0]
        tables = [FUNCTIONS["reshape"].call(x, (count, prod(s))) for x, s in zip(self.leaves, self.shapes, strict=True)]
        return flat(FUNCTIONS["concat"].call(tuple(tables), axis=1))

    def unpacked(self, vector: Any, count: int | None = None) -> Any:
        """The value of which this is the vector; with a count, of which these are the rows."""
        parts = []
        ends = np.cumsum([0, *map(prod, self.shapes)]).tolist()
        for begin, end, shape in zip(ends, ends[1:], self.shapes, strict=False):
            if count is not None:
                parts.append(FUNCTIONS["reshape"].call(vector[:, begin:end], (count, *shape)))
            elif shape:
                parts.append(FUNCTIONS["reshape"].call(vector[begin:end], shape))
            else:
                parts.append(vector[begin] if isinstance(vector, Tensor) else float(vector[begin]))
        return _filled(self.value, iter(parts))


def flat(x: Any) -> Any:
    """The entries of an array as a vector, row by row; a number as a vector of one."""
    return FUNCTIONS["reshape"].call(x, (-1,))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    elif isinstance(value, tuple):
        for one in value:
            yield from _leaves(one)
    elif value is not None:
        yield value


def _filled(value: Any, parts: Iterator[Any]) -> Any:
    """A value of the same structure with other parts."""
    if isinstance(value, dict):
        found = {key: _filled(value[key], parts) for key in sorted(value, key=str)}
        return {key: found[key] for key in value}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_filled(one, parts) for one in value])
    if isinstance(value, tuple):
        return tuple(_filled(one, parts) for one in value)
    return None if value is None else next(parts)


def structure(value: Any) -> Any:
    """Equal for values of the same structure."""
    if isinstance(value, dict):
        return {key: structure(one) for key, one in value.items()}
    return tuple(map(structure, value)) if isinstance(value, tuple) else value is None
