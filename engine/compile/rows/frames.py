"""A compiled function over the rows of a data frame, of pandas' or of Dask's, of which neither is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from agrad.engine.compile.arguments import parts_of
from agrad.engine.compile.rows.dask_arrays import Recipe, is_later
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import coerce, describe, format_shape, np

if TYPE_CHECKING:
    from agrad.engine.compile.function import Compiled

_LISTED = 20  # columns in a message


class Partitions(Recipe):
    """A recipe for data frames. `names`: of their columns, in order; `titles`: of those of the results."""

    def __init__(self, compiled: Compiled, fixed: Sequence[Any], names: Sequence[str], titles: Sequence[str]) -> None:
        super().__init__(compiled, inf, fixed, 1)
        self.names = names
        self.titles = titles

    def __call__(self, frame: Any) -> Any:
        """The results for the rows of a frame."""
        return _framed(frame, self.titles, super().__call__(*[frame[name] for name in self.names]))


def of_frame(compiled: Compiled, frame: Any, given: Mapping[str, object]) -> Any:
    """See Compiled.map_partitions; `given`: the keywords."""
    later = is_later(frame)
    needed = ("columns", "index", *(("map_partitions",) if later else ()))
    if not all(hasattr(type(frame), name) for name in needed):
        raise AgradError("type", f"map_partitions takes a data frame of pandas' or Dask's, not {describe(frame)}")
    titles = _titles(compiled)
    names = [name for name in compiled.names if name not in given]
    _require_columns(names, [*frame.columns])
    fixed = [None if name in names else _number(name, given[name]) for name in compiled.names]
    compiled.arguments.listed((), {**dict.fromkeys(names), **given})  # which refuses other keywords
    if later:
        meta = _framed(frame._meta, titles, [np.empty(0)] * len(titles))
        return frame[names].map_partitions(Partitions(compiled, fixed, names, titles), meta=meta)
    columns = iter([frame[name] for name in names])
    values, gradients = compiled.mapped([next(columns) if x is None else x for x in fixed], None, None)
    return _framed(frame, titles, [*values, *gradients])


def _framed(frame: Any, titles: Sequence[str], columns: Sequence[Any]) -> Any:
    """A data frame of some columns with the index of another."""
    return type(frame)(dict(zip(titles, columns, strict=True)), index=frame.index)


def _titles(compiled: Compiled) -> list[str]:
    """The columns of the results. Raises AgradError of kind `type` or `shape` where one is no column of numbers."""
    arguments = compiled.arguments
    if any(arguments.shapes) or not arguments.is_flat:
        message = f"a data frame has a column of numbers for each argument, and this is {compiled!r}"
        raise AgradError("type", message, fixes=[Hint("map takes arrays")])
    layout = compiled.layout
    layout.require_number()
    parts = [name for name, _ in parts_of(layout.template, "value")]
    for name, shape in zip(parts, layout.shapes, strict=True):
        if shape:
            message = f"{name} has shape {format_shape(shape)}, and a column of a data frame has one number in each row"
            raise AgradError("shape", message, fixes=[Hint("map gives arrays")])
    return [*parts, *(f"d/d{name}" for name in layout.names)]


def _require_columns(names: Sequence[str], have: Sequence[Any]) -> None:
    """Refuse an argument without a column. Raises AgradError of kind `name`."""
    for name in names:
        if have.count(name) != 1:
            count = "two columns" if have.count(name) else "no column"
            listed = ", ".join(map(str, have[:_LISTED])) + ", …" * (len(have) > _LISTED)
            fixes = [Hint(f"{name}=…   for a number that is the same in every row")]
            raise AgradError(
                "name", f"the data frame has {count} {name}", notes=[f"its columns are {listed}"], fixes=fixes
            )


def _number(name: str, x: object) -> float:
    value = coerce(x)
    if not isinstance(value, float):
        raise AgradError("shape", f"{name} must be one number, which is the same in each row, not {describe(x)}")
    return value
