"""The operations that do not change a value, but its graph."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.dispatch import by_array, in_family
from agrad.engine.core.op import Function, onward
from agrad.engine.core.tensor import Tensor
from agrad.engine.values import coerce

row, composed = in_family("graph")


def _copy(name: str, doc: str, **facts: Any) -> Function:
    copied = {"scalar": float, "array": lambda x: x.copy(), "role": "copy", **facts}
    return row(name, "x", units="a -> a", doc=doc, **copied)


_ONWARD = {"x": ("", onward)}
clone: Function = _copy(
    "clone",
    "A copy; the gradient passes through it.",
    rules=_ONWARD,
    derivative="1",
    example="clone(3) == 3",
)
own: Function = _copy(
    "own",
    "A copy that a derivative makes, of its argument or of its result: see `inspect.nodes`.",
    rules=_ONWARD,
    title="Gradient",
)
stop: Function = _copy("stop", "x itself, recorded, with no derivative by what it was computed from.")


@by_array(
    row,
    "x; on",
    units="a -> a",
    title="Gradient",
    scalar=lambda x, on: x,
    rules={"x": ("", lambda g, out, x, on: g)},
    role="tied",
)
def depends(x: Any, on: Any) -> Any:
    """x itself, known to have been computed from a graph even where its derivative by that vanishes."""
    return x.copy()


custom: Function = row(
    "custom",
    "*xs; applied",
    array=lambda *xs, applied: applied.run(xs),
    rules={"xs": ("xs out", lambda g, out, *xs, applied, which: applied.gradient(g, out, xs, which))},
    role="opaque",
    doc="What a Function of the user computes: see `autodiff.function`.",
)


@composed()
def detach(x: Any, /) -> Any:
    """The value without its graph: a constant, which shares its data and version.

    derivative: none: the result does not require grad
    example: detach(3) == 3
    """
    return x.detach() if isinstance(x, Tensor) else coerce(x)
