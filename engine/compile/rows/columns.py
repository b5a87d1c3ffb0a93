"""Columns for `map`: those that are given, and those that results are written into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agrad.engine.compile.arguments import Arguments
from agrad.engine.compile.backend import row_of
from agrad.engine.compile.rows.vmap import Vmap
from agrad.engine.compile.specializations import Specializations
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.trace import data_of
from agrad.engine.values import Array, Shape, Value, coerce, describe, format_shape, np, shape_of, whole


class Layout(NamedTuple):
    """What there is for each row: the structure of the value, the shapes of its parts, and of the gradients."""

    template: Any
    shapes: list[Shape]
    names: list[str]  # what the gradients are by
    by: list[Shape]

    def require_number(self) -> None:
        """Refuse gradients of a value that is not one number. Raises AgradError of kind `shape`."""
        if self.by and self.shapes != [()]:
            have = f"shape {format_shape(self.shapes[0])}" if len(self.shapes) == 1 else f"{len(self.shapes)} parts"
            message = f"the result has {have}: a gradient needs one number"
            raise AgradError("shape", message, fixes=[Hint("wrt=()   for the values alone")])


class Columns:
    """A compiled function over the rows of columns."""

    def __init__(
        self, arguments: Arguments, family: Specializations, template: Any, planned: float | None = None
    ) -> None:
        """`planned`: the number of rows that there will be, if it is known."""
        self.arguments = arguments
        self.vmap = Vmap(family, not any(arguments.shapes), template)
        if planned is not None:
            self.vmap.done, self.vmap.is_planned = planned, True

    def given(self, parts: Sequence[Any]) -> list[Array]:
        """An array for each part of the arguments, with a row along its first axis for each call."""
        arguments = self.arguments
        found = [coerce(data_of(x), copy=False) for x in parts]
        rows = []
        for name, x, shape in zip(arguments.leaf_names, found, arguments.shapes, strict=True):
            have = shape_of(x)
            if have[1:] == shape and len(have) == len(shape) + 1:
                rows.append(have[0])
            elif have != shape:
                raise no_column(name, have, shape)
        require_one_length(rows)
        count = rows[0] if rows else 1
        return [
            np.asarray(x) if shape_of(x) != shape else np.broadcast_to(np.asarray(x), (count, *shape))
            for x, shape in zip(found, arguments.shapes, strict=True)
        ]

    def row(self, columns: Sequence[Array], place: int) -> tuple[Value, ...]:
        """The values of one row."""
        return row_of(columns, place)

    def mapped(self, given: list[Array], layout: Layout, out: Any, threads: object) -> tuple[list[Array], list[Array]]:
        """The results of each row, and their gradients."""
        threads = several(threads)
        rows = len(given[0])
        if out is not None and (len(layout.shapes) != 1 or not self.arguments.is_flat):
            raise AgradError("type", "map: there is no out for results or arguments of several parts")
        layout.require_number()
        values, gradients = _results(out, rows, layout.shapes, layout.by)
        outs = [*values, *gradients]
        if out is not None:
            given = [x.copy() if any(np.may_share_memory(x, one) for one in outs) else x for x in given]
        self.vmap.fill(given, outs, threads)
        return values, gradients


def require_one_length(rows: Sequence[int]) -> None:
    """Refuse columns of different lengths. Raises AgradError of kind `shape`."""
    if len({*rows}) > 1:
        listed = ", ".join(map(str, sorted({*rows})))
        raise AgradError("shape", f"the columns must have one length, not {listed}")


def no_column(name: str, have: Shape, shape: Shape) -> AgradError:
    """The error for what is neither a column for an argument of a shape, nor such an argument."""
    if not shape:
        return AgradError("shape", f"{name} has shape {format_shape(have)}: a column has one axis")
    have, shape = format_shape(have), format_shape(shape)  # type: ignore[assignment]
    message = f"{name} has shape {have}: a column of arrays of shape {shape} has one more axis"
    return AgradError("shape", message)


def several(threads: object) -> int | None:
    """The requested number of threads; None for all cores."""
    if threads is None:
        return None
    count = whole(threads, "map: the number of threads")
    if count < 1:
        raise AgradError("domain", f"map needs at least 1 thread, not {count}", fixes=[Hint("threads=1")])
    return count


def _results(out: Any, rows: int, shapes: Sequence[Shape], by: Sequence[Shape]) -> tuple[list[Array], list[Array]]:
    """The arrays that results are written into."""
    if out is None:
        return [np.empty((rows, *shape)) for shape in shapes], [np.empty((rows, *shape)) for shape in by]
    count = len(by)
    fixes = [Hint("out=(values, [gradient, …]), each a contiguous array of float64 with an entry for each row")]
    try:
        values, gradients = out
        arrays = [values, *gradients]
    except (TypeError, ValueError):
        raise AgradError("type", f"results cannot be written into {describe(out)}", fixes=fixes) from None
    if len(arrays) != count + 1:
        raise AgradError("arity", f"there are {count} gradients, and {len(arrays) - 1} arrays for them", fixes=fixes)
    for one, shape in zip(arrays, [*shapes, *by], strict=True):
        fits = isinstance(one, np.ndarray) and one.dtype == np.float64 and one.shape == (rows, *shape)
        if not fits or not (one.flags.writeable and one.flags.c_contiguous):
            raise AgradError("shape", f"results of {rows} rows cannot be written into {describe(one)}", fixes=fixes)
    if any(np.may_share_memory(one, other) for place, one in enumerate(arrays) for other in arrays[:place]):
        raise AgradError("type", "two arrays for results share their memory", fixes=fixes)
    return [values], list(gradients)
