"""The methods of NumPy's ufuncs on Tensors: `np.add.reduce(x)`, `np.maximum.accumulate(x)`, `np.add.at(x, i, y)`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import accumulate
from typing import Any

from agrad.engine.core.arguments import axis_of
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import Function
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.interop.numpy_reductions import REDUCTIONS
from agrad.engine.interop.numpy_shapes import ag, at, moveaxis
from agrad.engine.ops.arrays.indexing import positions, scatter
from agrad.engine.values import shape_of

_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_RUNNING = {"add": "cumsum", "multiply": "cumprod"}


def _slices(name: str, array: Any, axis: Any) -> tuple[list[Any], int]:
    array = operand(array)
    shape = shape_of(array)
    place = axis_of(name, shape, 0 if axis is None and len(shape) == 1 else axis)
    if not shape[place]:
        raise AgradError("shape", f"{name} of no entries has no counterpart in agrad")
    return [array[at(place, one)] for one in range(shape[place])], place


def _reduce(name: str, function: Function, array: Any, axis: Any = 0, keepdims: Any = False, **others: Any) -> Any:
    known = _REDUCTIONS.get(name)
    if known is not None:
        return REDUCTIONS[known](array, axis=axis, keepdims=keepdims, **others)
    if others:
        raise AgradError("type", f"np.{name}.reduce has no counterpart in agrad with {next(iter(others))}=")
    parts, place = _slices(f"np.{name}.reduce", array, axis)
    found = reduce(function, parts)
    return moveaxis(ag.unsqueeze(found, 0), 0, place) if keepdims else found


def _accumulate(name: str, function: Function, array: Any, axis: Any = 0) -> Any:
    if name in _RUNNING:
        return getattr(ag, _RUNNING[name])(array, axis)
    parts, place = _slices(f"np.{name}.accumulate", array, axis)
    return ag.stack(list(accumulate(parts, function)), place)


def _outer(name: str, function: Function, x: Any, y: Any) -> Any:
    x, y = operand(x), operand(y)
    return function(ag.reshape(x, (*shape_of(x), *(1,) * len(shape_of(y)))), y)


def _at(name: str, function: Function, a: Any, indices: Any, b: Any = None) -> None:
    """What comes to one place twice is added twice; each other ufunc is one of entries."""
    if name not in ("add", "subtract"):
        fixes = [Hint("x[places] = …, where no place is named twice")]
        raise AgradError("type", f"np.{name}.at has no counterpart in agrad", fixes=fixes)
    if not isinstance(a, Tensor):
        fixes = [Hint("array = ag.tensor(array), which can hold its graph")]
        message = f"np.{name}.at cannot write a Tensor into an array: it would lose its graph"
        raise AgradError("type", message, fixes=fixes)
    index = positions(a.shape, indices)
    change = ag.expand(b, a.detach()[index].shape)
    a[...] = function(a, scatter(change, index, a.shape))


_METHODS: Mapping[str, Function] = {"reduce": _reduce, "accumulate": _accumulate, "outer": _outer, "at": _at}
ARGUMENTS = {"reduce": ("axis", "keepdims", "initial", "where"), "accumulate": ("axis",), "outer": (), "at": ()}


def method_of(name: str, ufunc: str, function: Function) -> Function | None:
    """A method of a ufunc, as agrad computes it; None for one that it has not."""
    found = _METHODS.get(name)
    return None if found is None else lambda *inputs, **keywords: found(ufunc, function, *inputs, **keywords)
