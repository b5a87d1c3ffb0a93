"""Windows of an array along its last axes, which convolution and pooling are made of, and their transpose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from agrad.engine.core.context import afford
from agrad.engine.core.dispatch import by_array, in_family
from agrad.engine.errors import AgradError
from agrad.engine.values import Shape, format_shape, np, shape_of

row, _ = in_family("shapes")


def counts_of(lengths: Shape, sizes: Shape, steps: Shape, gaps: Shape) -> Shape:
    """How many windows fit along each axis."""
    along = zip(lengths, sizes, steps, gaps, strict=True)
    return tuple((n - gap * (size - 1) - 1) // step + 1 for n, size, step, gap in along)


def _entries(counts: Shape, sizes: Shape, steps: Shape, gaps: Shape) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
    """For each place in a window, where the entries at that place of all windows are."""
    for place in product(*map(range, sizes)):
        starts = [gap * at for gap, at in zip(gaps, place, strict=True)]
        along = [
            slice(start, start + step * count, step) for start, step, count in zip(starts, steps, counts, strict=True)
        ]
        yield place, tuple(along)


def _prepared(x: Any, sizes: Shape, steps: Shape, gaps: Shape) -> dict[str, Any]:
    shape = shape_of(x)
    lengths = shape[len(shape) - len(sizes) :]
    counts = counts_of(lengths, sizes, steps, gaps)
    if min((*counts, *sizes, *steps, *gaps)) < 1:
        have, want = format_shape(lengths), format_shape(sizes)
        raise AgradError("shape", f"windows of size {want} do not fit into {have} entries")
    afford("windows", (*shape[: -len(sizes)], *counts, *sizes))
    return {"sizes": sizes, "steps": steps, "gaps": gaps, "shape": shape}


@by_array(
    row,
    "x; sizes, steps, gaps",
    units="a -> a",
    rules={"x": ("", lambda g, out, x, sizes, steps, gaps, shape: overlaid(g, shape, sizes, steps, gaps))},
    prepare=_prepared,
)
def windows(x: Any, sizes: Shape, steps: Shape, gaps: Shape, shape: Shape) -> Any:
    """Windows along the last axes, every so many entries, of entries so far apart; their places come first."""
    axes = tuple(range(-len(sizes), 0))
    spans = tuple(gap * (size - 1) + 1 for size, gap in zip(sizes, gaps, strict=True))
    every: Any = np.lib.stride_tricks.sliding_window_view(np.asarray(x), spans, axes)
    return every[(..., *(slice(None, None, step) for step in (*steps, *gaps)))].copy()


@by_array(
    row,
    "y; shape, sizes, steps, gaps",
    units="a -> a",
    rules={"y": ("", lambda g, out, y, shape, sizes, steps, gaps: windows(g, sizes, steps, gaps))},
)
def overlaid(y: Any, shape: Shape, sizes: Shape, steps: Shape, gaps: Shape) -> Any:
    """Zeros of a shape, to which windows are added at their places: what transposes the taking of windows."""
    made: Any = np.zeros(shape)
    counts = counts_of(shape[len(shape) - len(sizes) :], sizes, steps, gaps)
    for place, along in _entries(counts, sizes, steps, gaps):
        made[(..., *along)] += y[(..., *place)]
    return made
