"""Order: the indices of the largest and smallest entries, sorting, the median."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import axis_of, kept, truth_of
from agrad.engine.core.dispatch import by_array, in_family, shape_of_any
from agrad.engine.core.op import Function, Kink
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays import expansions
from agrad.engine.ops.arrays.indexing import take_along
from agrad.engine.ops.arrays.reduction import TIES, count_of, over_axes, total, widened
from agrad.engine.ops.scalar.comparison import equal, maximum, where
from agrad.engine.values import Shape, format_shape, np, shape_of, whole

row, composed = in_family("selection", total=True)

SORTED_TIES = Kink("sort, topk with ties", "in the order they had", "1, in the new place")


def _place_of(name: str, size: str) -> Function:
    def prepare(x: Any, axis: Any, keepdims: Any) -> dict[str, Any]:
        shape = shape_of(x)
        place = None if axis is None else axis_of(name, shape, axis)
        if 0 in shape and (place is None or shape[place] == 0):
            raise AgradError("shape", f"{name} of shape {format_shape(shape)}: there is no entry")
        return {"axis": place, "keepdims": truth_of(name, "keepdims", keepdims)}

    return row(
        name,
        "x; axis=None, keepdims=False",
        units="a -> 1",
        scalar=lambda x, axis, keepdims: 0.0,
        array=lambda x, axis, keepdims: getattr(np, name)(np.asarray(x), axis=axis, keepdims=keepdims),
        prepare=prepare,
        doc=f"The index of the {size} entry, the first of several; of all entries, flattened, or along an axis.",
        example=f"{name}([1, 5, 3]) == {int(name == 'argmax')}",
    )


argmax: Function = _place_of("argmax", "largest")
argmin: Function = _place_of("argmin", "smallest")


def _sorting(x: Any, axis: Any, descending: Any) -> dict[str, Any]:
    return {"axis": axis_of("argsort", shape_of(x), axis), "descending": truth_of("argsort", "descending", descending)}


def _order(x: Any, axis: int, descending: bool) -> Any:
    """Indices, which are not a mask, even if x is one."""
    return np.argsort(-np.asarray(x) if descending else np.asarray(x), axis=axis, kind="stable")


@by_array(
    row,
    "x; axis=-1, descending=False",
    units="a -> 1",
    prepare=_sorting,
    reach="pointwise",
    unrolled=expansions.ordered_places,
)
def argsort(x: Any, axis: Any, descending: Any) -> Any:
    """The indices that sort the entries in ascending order; equal entries keep their order.

    example: argsort([3, 1, 2]) == [1, 2, 0]
    """
    return _order(x, axis, descending)


@composed(kinks=(SORTED_TIES,))
def sort(x: Any, /, axis: Any = -1, descending: Any = False) -> Any:
    """The entries in ascending order; equal entries keep their order.

    derivative: 1 for each entry, in its new place
    example: sort([3, 1, 2]) == [1, 2, 3]
    """
    axis = axis_of("sort", shape_of_any(x), axis)
    return take_along(x, argsort(x, axis, truth_of("sort", "descending", descending)), axis)


def _topmost(x: Any, k: Any, axis: Any, largest: Any) -> dict[str, Any]:
    shape = shape_of(x)
    place, count = axis_of("topk", shape, axis), whole(k, "topk: k")
    if not 0 <= count <= shape[place]:
        raise AgradError("shape", f"topk: k = {count} of {shape[place]} entries along axis {place}")
    return {"k": count, "axis": place, "largest": truth_of("topk", "largest", largest)}


@by_array(
    row,
    "x; k, axis, largest",
    units="a -> 1",
    total=False,
    prepare=_topmost,
    reach="pointwise",
    unrolled=expansions.topmost_places,
)
def topk_places(x: Any, k: Any, axis: Any, largest: Any) -> Any:
    """The indices of the k largest (or smallest) entries."""
    return np.take(_order(x, axis, largest), range(k), axis=axis)


@composed(kinks=(SORTED_TIES,))
def topk(x: Any, /, k: Any, axis: Any = -1, largest: Any = True) -> tuple[Any, Any]:
    """The k largest (or smallest) entries, and their indices: values, indices = topk(x, 2).

    derivative: 1 for each entry taken, exactly 0 for the others
    example: topk([1, 5, 3], 2)[0] == [5, 3]
    """
    places = topk_places(x, k, axis, largest)
    return take_along(x, places, axis), places


# The median


def _middle(which: int) -> Function:
    def array(x: Any, axis: Shape) -> Any:
        shape, count = np.shape(x), count_of(np.shape(x), axis)
        rows = np.moveaxis(x, axis, range(-len(axis), 0)).reshape(-1, count)
        return np.sort(rows)[:, (count - 1 + which) // 2].reshape(kept(shape, axis))

    return row(
        ("lower_middle", "upper_middle")[which],
        "x; axis",
        units="a -> a",
        scalar=lambda x, axis: x,
        array=array,
        unrolled=expansions.middle(which),
        doc="One of the two entries in the middle, with the axes kept.",
    )


lower_middle: Function = _middle(0)
upper_middle: Function = _middle(1)


def _median_rule(g: Any, out: Any, x: Any, axis: Shape, keepdims: bool, wide: Shape) -> Any:
    """Half for each of the two in the middle; ties share."""
    halves = []
    for middle in (lower_middle, upper_middle):
        chosen = equal(x, middle(x, axis))
        ties = maximum(total(chosen, axis, True), 1.0)  # nan is equal to nothing
        halves.append(where(chosen, 0.5 * widened(g, wide) / ties, 0.0))
    return halves[0] + halves[1]


@by_array(
    over_axes,
    units="a -> a",
    needs_entries=True,
    rules={"x": ("x", _median_rule)},
    reach="part",
    unrolled=expansions.median,
    kinks=(TIES,),
)
def median(x: Any, axis: Any, keepdims: Any, wide: Any) -> Any:
    """The middle entry in sorted order, or the mean of the middle two; of all entries or along an axis.

    derivative: 1 for the entry in the middle, 1/2 each for two, exactly 0 for the others; ties share equally
    example: median([1, 9, 2, 3]) == 2.5
    """
    return np.median(x, axis=axis, keepdims=keepdims)
