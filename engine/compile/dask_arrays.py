"""A compiled function over the rows of Dask's arrays and data frames: Dask's own graphs, which are computed later.

Each block of rows is one task. The function is one more: a `Recipe`, which each worker gets once, and compiles once.
Whether machine code pays is decided by the number of all rows, not of those that a worker has computed so far; so the
results have the bits of one call with all rows, whoever computes which block. Data frames may be pandas' as well;
neither library is imported before it is given what is of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, islice
from math import inf, isnan
from operator import call, itemgetter
from typing import Any

from agrad.engine.compile.arguments import parts_of
from agrad.engine.compile.llvm.target import binding, llvmlite
from agrad.engine.compile.registry import AUTO, REFERENCE
from agrad.engine.compile.rows import is_column, require_one_length, several
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.program.trace import data_of
from agrad.engine.values import Array, Shape, coerce, describe, format_shape, np

_DASK = ("dask", "dask_expr")  # the packages of its collections; the second is that of data frames in some versions


def is_later(x: object) -> bool:
    """Whether a value is one of Dask's, which is computed later. Nothing is imported to find out."""
    return type(x).__module__.partition(".")[0] in _DASK


class Recipe:
    """What a compiled function is made of again in another process: once there, when the first block is computed.

    `rows`: of all blocks together. `fixed`: for each part of the arguments its value, if that is the same in each row,
    and None if a block has it. `threads`: for each block.
    """

    def __init__(self, compiled: Any, rows: float, fixed: Sequence[Any], threads: int) -> None:
        self.is_auto = compiled.backend == AUTO and binding() is not None
        backend = REFERENCE if compiled.backend == AUTO and not self.is_auto else compiled.backend
        self.remade = compiled.remade(rows, backend)
        self.rows, self.fixed, self.threads = rows, fixed, threads

    def __call__(self, *block: Any) -> tuple[Array, ...]:
        """For each row of a block: the parts of the value, and then the gradients."""
        if self.is_auto:
            llvmlite()  # where it is missing, the results would have other bits
        make, given = self.remade
        columns = iter(block)
        parts = [next(columns) if one is None else one for one in self.fixed]
        values, gradients = make(*given).mapped(parts, None, self.threads)
        return (*values, *gradients)


def mapped(compiled: Any, parts: Sequence[Any], out: object, threads: object) -> tuple[list[Any], list[Any]]:
    """The parts of the value of each row, and the gradients, as arrays of Dask's.

    `parts`: those of the arguments, of which at least one is Dask's. Raises AgradError as `Compiled.map` does, and of
    kind `shape` where blocks of unknown lengths do not fit together.
    """
    if out is not None:
        raise AgradError("type", "map: there is no out for arrays of Dask's, which are computed later")
    layout = compiled.layout
    layout.require_number()
    threads = several(threads) or 1
    da = extra("dask.array", "map of Dask's arrays", "Dask", "dask")
    blocks = _blocks(da, compiled, parts, threads)
    found = [_part(da, blocks, place, shape) for place, shape in enumerate([*layout.shapes, *layout.by])]
    return found[: len(layout.shapes)], found[len(layout.shapes) :]


def _blocks(da: Any, compiled: Any, parts: Sequence[Any], threads: int) -> Any:
    """An array of objects, of which each has all results for a block of rows."""
    arguments = compiled.arguments
    given = [_array(name, x) for name, x in zip(arguments.leaf_names, parts, strict=True)]
    named = zip(arguments.leaf_names, given, arguments.shapes, strict=True)
    are_columns = [is_column(name, x.shape, shape) for name, x, shape in named]
    columns = [x for x, one in zip(given, are_columns, strict=True) if one]
    is_known = _require_rows(columns)
    chunks = next((x.chunks[0] for x in columns if is_later(x)), (1,))
    fixed, indexed = [], []
    numbers = count(1)  # of axes; 0 is that of the rows
    for x, one, shape in zip(given, are_columns, arguments.shapes, strict=True):
        if not (one or is_later(x)):  # the same in each row
            fixed.append(x)
            continue
        fixed.append(None)
        axes = list(islice(numbers, len(shape)))
        whole = dict.fromkeys(range(one, one + len(shape)), -1)  # a row is in one block
        array = x.rechunk(whole) if is_later(x) else da.from_array(x, (chunks, *shape))
        indexed += [array, [0, *axes] if one else axes]
    recipe = Recipe(compiled, sum(chunks) if is_known else inf, fixed, threads)
    tokenize = extra("dask.base", "map of Dask's arrays", "Dask", "dask").tokenize
    delayed = extra("dask.delayed", "map of Dask's arrays", "Dask", "dask").delayed
    name = tokenize(compiled, recipe.rows, recipe.fixed, recipe.threads)  # the same for the same request
    return da.blockwise(
        call,
        [0] if columns else [],
        delayed(recipe, name=f"agrad-function-{name}", traverse=False),
        None,
        *indexed,
        token="agrad-map",
        dtype=object,
        meta=np.empty((0,) * bool(columns), object),
        concatenate=True,
        align_arrays=is_known,
    )


def _array(name: str, x: Any) -> Any:
    """A part of the arguments as an array of numpy's or Dask's. Raises AgradError of kind `type`."""
    if not is_later(x):
        return np.asarray(coerce(data_of(x), copy=False))
    x = x.to_dask_array() if hasattr(type(x), "to_dask_array") else x
    if not hasattr(type(x), "chunks"):  # a Delayed has any attribute
        kind = type(x).__name__
        fixes = [Hint("dask.array.from_delayed makes an array of it")] if kind == "Delayed" else []
        raise AgradError("type", f"{name} must be an array or a column of Dask's, not its {kind}", fixes=fixes)
    coerce(np.empty(0, x.dtype))
    return x


def _require_rows(columns: Sequence[Any]) -> bool:
    """Whether it is known how many rows the columns have. Raises AgradError of kind `shape` if they do not fit."""
    lengths = [x.shape[0] for x in columns]
    if not any(map(isnan, lengths)):
        require_one_length(lengths)
        return True
    blocks = {x.numblocks[0] if is_later(x) else 0 for x in columns}
    if len(blocks) > 1:
        told = ", ".join(str(count) if count else "none" for count in sorted(blocks))
        message = f"the columns must have the same blocks where their lengths are not known; their numbers are {told}"
        raise AgradError("shape", message, fixes=[Hint("compute_chunk_sizes() of an array finds its lengths")])
    return False


def _part(da: Any, blocks: Any, place: int, shape: Shape) -> Any:
    """One of the results of the blocks as an array."""
    axes = list(range(1, 1 + len(shape)))
    sizes = dict(zip(axes, shape, strict=True)) | ({} if blocks.ndim else {0: 1})
    of_row = [0] if blocks.ndim else []
    meta = np.empty((0,) * (1 + len(shape)))
    return da.blockwise(
        itemgetter(place), [0, *axes], blocks, of_row, new_axes=sizes, token="agrad-part", dtype=meta.dtype, meta=meta
    )  # fmt: skip


_LISTED = 20  # columns in a message


class Partitions(Recipe):
    """A recipe for data frames. `names`: of their columns, in order; `titles`: of those of the results."""

    def __init__(self, compiled: Any, fixed: Sequence[Any], names: Sequence[str], titles: Sequence[str]) -> None:
        super().__init__(compiled, inf, fixed, 1)
        self.names = names
        self.titles = titles

    def __call__(self, frame: Any) -> Any:
        """The results for the rows of a frame."""
        return _framed(frame, self.titles, super().__call__(*[frame[name] for name in self.names]))


def of_frame(compiled: Any, frame: Any, given: Mapping[str, object]) -> Any:
    """See Compiled.map_partitions; `given`: the keywords."""
    later = is_later(frame)
    needed = ("columns", "index", *(("map_partitions",) if later else ()))
    if not all(hasattr(type(frame), name) for name in needed):
        message = f"map_partitions takes a data frame of pandas' or Dask's, not {describe(frame)}"
        given_by = ", ".join(f'frame["{name}"]' for name in compiled.names)
        raise AgradError("type", message, fixes=[Hint(f"f.map({given_by})   takes columns of any library")])
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


def _titles(compiled: Any) -> list[str]:
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
            notes = [f"its columns are {listed}"]
            fixes = [Hint(f"{name}=…   for a number that is the same in every row")]
            raise AgradError("name", f"the data frame has {count} {name}", notes=notes, fixes=fixes)


def _number(name: str, x: object) -> float:
    value = coerce(x)
    if not isinstance(value, float):
        raise AgradError("shape", f"{name} must be one number, which is the same in each row, not {describe(x)}")
    return value
