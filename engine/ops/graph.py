"""The operations that do not change a value, but its graph."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.dispatch import composed, row
from agrad.engine.core.op import Function, onward
from agrad.engine.core.tensor import Tensor
from agrad.engine.values import coerce

FAMILY = "graph"

clone: Function = row(
    "clone",
    "x",
    family=FAMILY,
    scalar=float,
    array=lambda x: x.copy(),
    rules={"x": ("", onward)},
    samples=((1.5,), ([1.0, -2.0],)),
    role="copy",
    doc="A copy; the gradient passes through it.",
    derivative="1",
    example="clone(3) == 3",
)

own: Function = row(
    "own",
    "x",
    family="internal",
    title="Gradient",
    scalar=float,
    array=lambda x: x.copy(),
    rules={"x": ("", onward)},
    role="copy",
    samples=((0.5,), ([-1.3, 2.1],)),
    doc="A copy that a derivative makes, of its argument or of its result: see `inspect.nodes`.",
    derivative="1",
)

stop: Function = row(
    "stop",
    "x",
    family="internal",
    scalar=float,
    array=lambda x: x.copy(),
    role="copy",
    doc="x itself, recorded, with no derivative by what it was computed from.",
    derivative="none",
)

depends: Function = row(
    "depends",
    "x; on",
    family="internal",
    title="Gradient",
    scalar=lambda x, on: x,
    array=lambda x, on: x.copy(),
    rules={"x": ("", lambda g, out, x, on: g)},
    role="tied",
    doc="x itself, known to have been computed from a graph even where its derivative by that vanishes.",
    derivative="1",
)


custom: Function = row(
    "custom",
    "*xs; applied",
    family="internal",
    array=lambda *xs, applied: applied.run(xs),
    rules={"xs": ("xs out", lambda g, out, *xs, applied, which: applied.gradient(g, out, xs, which))},
    reach="mixed",
    role="opaque",
    doc="What a Function of the user computes: see `autodiff.function`.",
    derivative="what its backward returns",
)


@composed(
    "detach",
    "x",
    family=FAMILY,
    samples=((1.5,), ([1.0, -2.0],)),
    doc="The value without its graph: a constant, which shares its data and version.",
    derivative="none: the result does not require grad",
    example="detach(3) == 3",
)
def detach(x: Any) -> Any:
    """See the entry."""
    return x.detach() if isinstance(x, Tensor) else coerce(x)
