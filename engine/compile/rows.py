"""A function over the rows of columns: its operations on whole pieces of columns, or row by row.

A column has a row along its first axis: a number, or an array. A row gets the result of the operations on arrays. Rows
at which a guard has another outcome are computed by the specialisation for that outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from agrad.engine.compile.arguments import Arguments, row_of
from agrad.engine.compile.registry import Code, load
from agrad.engine.compile.scalarise import regular
from agrad.engine.compile.specializations import MOST, Specialization, Specializations, supporting
from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.ir import Diverged, GuardCheck, Input, Program, unchecked
from agrad.engine.program.trace import data_of
from agrad.engine.values import Array, Shape, coerce, describe, format_shape, np, whole

ALL = slice(None)
PIECE = 8192  # rows: what a program needs for so many stays in a core's cache
_SHORT = 64  # rows: a shorter piece is filled up
_WORK = 10_000_000  # numbers that numpy computes in about the time that it takes to compile machine code
_SPLIT = 4_000_000  # numbers that machine code computes in half a ms, about the time that another thread takes to start


class Columns:
    """A compiled function over the rows of columns."""

    def __init__(
        self, arguments: Arguments, specializations: Specializations, layout: Layout, planned: float | None = None
    ) -> None:
        """`planned`: the number of rows that there will be, if it is known."""
        self.arguments, self.specializations, self.layout = arguments, specializations, layout
        self.of_numbers = not any(arguments.shapes)  # whether all columns are of numbers
        self.done = planned or 0.0  # rows
        self.is_planned = planned is not None  # whether `done` is the number of all rows that there will be
        self.by_length: dict[tuple[Specialization, int], Code] = {}

    def restart(self) -> None:
        """Forget which rows there were, and what was traced for all but the first of them."""
        self.specializations.restart()
        if not self.is_planned:
            self.done = 0.0

    def given(self, parts: Sequence[Any]) -> list[Array]:
        """An array for each part of the arguments, with a row along its first axis for each call."""
        shapes, found = self.arguments.shapes, [np.asarray(coerce(data_of(x), copy=False)) for x in parts]
        named = zip(self.arguments.leaf_names, found, shapes, strict=True)
        rows = [len(x) for name, x, shape in named if is_column(name, x.shape, shape)]
        require_one_length(rows)
        count = rows[0] if rows else 1
        return [
            x if x.shape != shape else np.broadcast_to(x, (count, *shape))
            for x, shape in zip(found, shapes, strict=True)
        ]

    def mapped(self, given: list[Array], out: Any, threads: object) -> tuple[list[Array], list[Array]]:
        """The results of each row, and their gradients."""
        threads = several(threads)
        rows, layout = len(given[0]), self.layout
        if out is not None and (len(layout.shapes) != 1 or not self.arguments.is_flat):
            raise AgradError("type", "map: there is no out for results or arguments of several parts")
        layout.require_number()
        values, gradients = _results(out, rows, layout.shapes, layout.by)
        outs = [*values, *gradients]
        if out is not None:
            given = [x.copy() if any(np.may_share_memory(x, one) for one in outs) else x for x in given]
        self.fill(given, outs, threads)
        return values, gradients

    def fill(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None) -> None:
        """Write the outputs of each row into `outs`."""
        rows = len(outs[0])
        if not rows:
            return
        if not self.is_planned:
            self.done += rows
        known = self.specializations.known
        first = known[0] if known else self.specializations.at(row_of(columns, 0))
        threads = threads if rows * first.size > _SPLIT else 1
        native = first.promote() if self._pays(first) else None
        if native is not None and not first.checks:
            native.map(columns, outs, threads)
            return
        with quiet():
            entries = sum(x[0].size for x in (*columns, *outs))
            piece = PIECE if self.of_numbers else max(1, PIECE * _SHORT // entries)
            for start in range(0, rows, piece):
                here = slice(start, start + piece)
                self._fill([x[here] for x in columns], [out[here] for out in outs], threads)

    def _pays(self, used: Specialization) -> bool:
        """Whether machine code is requested, or saves more than it takes to compile."""
        if used.native is not None or used.is_native_first or (self.of_numbers and self.done * used.size > _WORK):
            return True
        return not (self.of_numbers and is_batchable(used.exact)) and self.done > used.most_calls

    def _fill(self, columns: list[Array], outs: list[Array], threads: int | None) -> None:
        """One piece: by the specialisations known, then by those that its rows need."""
        shapes, places = [out.shape[1:] for out in outs], self._together(columns, outs, threads)
        known = [one for one in self.specializations.known if not one.is_of_data]
        while len(places):  # of the rows that are still to be done
            here = columns if len(places) == len(columns[0]) else [x[places] for x in columns]
            is_new = not known
            used = self.specializations.at(row_of(here, 0)) if is_new else known.pop(0)
            if not self._fits(used, shapes):
                if not is_new:
                    continue
                raise AgradError("shape", "map: the results of the rows have different shapes")
            good, found = self._by(used, here, shapes, threads)
            if good is ALL or good.all():
                _put(outs, found, places if here is not columns else slice(None))
                return
            _put(outs, [x[good] if np.shape(x) else x for x in found], places[good])
            if is_new and not good[0]:  # other code may round otherwise than what was traced; or it is for this row
                _put(outs, used.code.call(*row_of(here, 0)), places[0])
                good[0] = True
            places = places[~good]
            if len(places) and not self.of_numbers:
                called = used.called_natively if used.native is not None else used.called
                self.specializations.note(len(places) * called)

    def _fits(self, used: Specialization, shapes: list[Shape]) -> bool:
        """Whether the results of a specialisation are as those of the others."""
        return used.shapes == shapes[: len(used.shapes)] and used.template == self.layout.template

    def _together(self, columns: list[Array], outs: list[Array], threads: int | None) -> Any:
        """Compute rows whose specialisations are one function; the places of the others.

        That says which one holds, and the code of this one computes the row: so a row has the same bits whenever the
        function is made, which may sum up in another order. Functions of numbers need none: eight rows are computed at
        once.
        """
        together = self.specializations.together
        if together is None or self.of_numbers:
            return _every(len(columns[0]))
        shapes, numbers = [out.shape[1:] for out in outs], together.code.which(columns, threads)
        left = np.ones(len(numbers), dtype=bool)
        for number in np.unique(numbers[numbers >= 0]).tolist():
            used, places = together.members[number], np.flatnonzero(numbers == number)
            if not (self._fits(used, shapes) and self._pays(used)):
                continue
            good, found = self._by(used, [x[places] for x in columns], shapes, threads)
            _put(outs, [x[good] for x in found], places[good])
            left[places[good]] = False
        return np.flatnonzero(left)

    def _by(
        self, used: Specialization, columns: list[Array], shapes: list[Shape], threads: int | None
    ) -> tuple[Any, list[Any]]:
        """For which of some rows a specialisation holds, and their outputs by it."""
        rows, count = len(columns[0]), len(shapes)
        good, doubtful = np.ones(rows, dtype=bool), np.zeros(rows, dtype=bool)
        found: list[Any] = [np.empty((rows, *shape)) for shape in shapes]
        if used.is_of_data:  # no other row is needed: the first is computed by itself
            return ~good, found
        checks: Sequence[GuardCheck] = ()
        native = used.promote() if self._pays(used) else None
        if native is not None:
            checks = used.checks
            found += [np.empty(rows) for _ in checks]
            native.map(columns, found, threads)
        elif is_batchable(used.exact):
            checks, found = used.exact.checks, self._over_arrays(used, columns, rows)
        else:
            doubtful = ~doubtful
        if not (checks or doubtful.any()):
            return ALL, found
        for check, column in zip(checks, found[count:], strict=True):
            if check.read is regular:
                doubtful |= column != 0.0
            elif check.read is truth:
                good &= (np.asarray(column) != 0.0) == check.outcome
            else:
                good &= np.array([check.holds(x) for x in np.broadcast_to(column, (rows,)).tolist()])
        which = np.flatnonzero(doubtful & good).tolist()  # these say what is wrong
        _compute(used, columns, which, found[:count], good)
        return good, found[:count]

    def _over_arrays(self, used: Specialization, columns: list[Array], rows: int) -> list[Any]:
        length = PIECE if rows > PIECE // 2 else max(_SHORT, 1 << (rows - 1).bit_length())
        code = self.by_length.get((used, length))
        if code is None:
            if len(self.by_length) > MOST:
                self.by_length.clear()
            program = batched(unchecked(used.exact), length)
            name, _ = supporting(used.exact_backend, program)
            self.by_length[used, length] = code = load(name).compile(program)
        rest = length - rows  # for which the last row is repeated: there is code for this length
        found = code.call(*[np.append(x, np.full(rest, x[-1])) if rest else x for x in columns])
        return [x if isinstance(x, float) else x[:rows] for x in found]


@lru_cache(maxsize=4)  # numpy takes as long to count rows as to multiply them
def _every(rows: int) -> Any:
    """The places of all rows."""
    return np.arange(rows)


def _put(outs: Sequence[Array], found: Sequence[Any], places: Any) -> None:
    """Write results into some rows of `outs`."""
    for out, result in zip(outs, found, strict=True):
        out[places] = result


def _compute(used: Specialization, columns: list[Array], rows: Iterable[int], outs: list[Array], good: Any) -> None:
    """Compute some rows one by one, of which those are not `good` for which the specialisation does not hold."""
    for row in rows:
        try:
            _put(outs, used.code.call(*row_of(columns, row)), row)
        except Diverged:
            good[row] = False


def is_batchable(program: Program) -> bool:
    """Whether its operations on columns have the same result for each row as on a number."""
    return program.is_scalar and all(
        step.op.reach == "pointwise" and "axis" not in step.attrs for step in program.steps
    )


def batched(program: Program, rows: int) -> Program:
    """The program with columns of so many rows for numbers."""
    shapes = [(rows,)] * len(program.inputs) + [()] * len(program.constants)
    for step in program.steps:
        shapes.append((rows,) if any(shapes[x] for x in step.operands) else ())
    steps = [replace(step, shape=shape) for step, shape in zip(program.steps, shapes[program.first :], strict=True)]
    return replace(program, inputs=tuple([Input(x.name, (rows,)) for x in program.inputs]), steps=tuple(steps))


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


def require_one_length(rows: Sequence[int]) -> None:
    """Refuse columns of different lengths. Raises AgradError of kind `shape`."""
    if len({*rows}) > 1:
        listed = ", ".join(map(str, sorted({*rows})))
        raise AgradError("shape", f"the columns must have one length, not {listed}")


def is_column(name: str, have: Shape, shape: Shape) -> bool:
    """Whether an array for an argument of a shape has a row for each call; else it is the same in each.

    Raises AgradError of kind `shape` where it is neither.
    """
    if have[1:] == shape and len(have) == len(shape) + 1:
        return True
    if have == shape:
        return False
    told = f"{name} has shape {format_shape(have)}: a column"
    if not shape:
        raise AgradError("shape", f"{told} has one axis")
    raise AgradError("shape", f"{told} of arrays of shape {format_shape(shape)} has one more axis")


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
    fixes = [Hint("out=(values, [gradient, …]), each a contiguous array of float64 with an entry for each row")]
    try:
        values, gradients = out
        arrays = [values, *gradients]
    except (TypeError, ValueError):
        raise AgradError("type", f"results cannot be written into {describe(out)}", fixes=fixes) from None
    if len(arrays) != len(by) + 1:
        raise AgradError("arity", f"there are {len(by)} gradients, and {len(arrays) - 1} arrays for them", fixes=fixes)
    for one, shape in zip(arrays, [*shapes, *by], strict=True):
        fits = isinstance(one, np.ndarray) and one.dtype == np.float64 and one.shape == (rows, *shape)
        if not (fits and one.flags.carray):
            raise AgradError("shape", f"results of {rows} rows cannot be written into {describe(one)}", fixes=fixes)
    if any(np.may_share_memory(one, other) for place, one in enumerate(arrays) for other in arrays[:place]):
        raise AgradError("type", "two arrays for results share their memory", fixes=fixes)
    return [values], list(gradients)
