"""A function over the rows of columns: its operations on whole pieces of columns, or row by row.

A column has a row along its first axis: a number, or an array. A row gets the result of the operations on arrays. Rows
at which a guard has another outcome are computed by the specialisation for that outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agrad.engine.compile.backend import Code, row_of
from agrad.engine.compile.lower.scalarise import regular
from agrad.engine.compile.registry import load
from agrad.engine.compile.specializations import MOST, Specialization, Specializations, supporting
from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Diverged, GuardCheck, Input, Program, unchecked
from agrad.engine.values import Array, Shape, np

PIECE = 8192  # rows: what a program needs for so many stays in a core's cache
_SHORT = 64  # rows: a shorter piece is filled up
_WORK = 10_000_000  # numbers that numpy computes in about the time that it takes to compile machine code
_SPLIT = 4_000_000  # numbers that machine code computes in half a ms, about the time that another thread takes to start


class Vmap:
    """The specialisations of a function, over columns."""

    def __init__(self, specializations: Specializations, of_numbers: bool, template: Any) -> None:
        self.specializations = specializations
        self.template = template  # the structure of the results
        self.of_numbers = of_numbers  # whether all columns are of numbers
        self.done = 0.0  # rows
        self.is_planned = False  # whether `done` is the number of all rows that there will be
        self.by_length: dict[tuple[Specialization, int], Code] = {}

    def restart(self) -> None:
        """Forget which rows there were, and what was traced for all but the first of them."""
        self.specializations.restart()
        if not self.is_planned:
            self.done = 0.0

    def fill(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None) -> None:
        """Write the outputs of each row into `outs`."""
        rows = len(outs[0])
        if not rows:
            return
        if not self.is_planned:
            self.done += rows
        first = self._first(columns)
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
        if used.native is not None or used.is_native_first:
            return True
        if self.of_numbers and self.done * used.size > _WORK:
            return True
        return not (self.of_numbers and is_batchable(used.exact)) and self.done > used.most_calls

    def _first(self, columns: Sequence[Array]) -> Specialization:
        known = self.specializations.known
        return known[0] if known else self.specializations.at(row_of(columns, 0))

    def _fill(self, columns: list[Array], outs: list[Array], threads: int | None) -> None:
        """One piece: by the specialisations known, then by those that its rows need."""
        shapes = [out.shape[1:] for out in outs]
        places = self._together(columns, outs, threads)  # of the rows that are still to be done; None for all
        if places is not None:
            columns = [x[places] for x in columns]
            if not len(places):
                return
        known = [one for one in self.specializations.known if not one.is_of_data]
        while True:
            is_new = not known
            used = self.specializations.at(row_of(columns, 0)) if is_new else known.pop(0)
            if not self._fits(used, shapes):
                if not is_new:
                    continue
                raise AgradError("shape", "map: the results of the rows have different shapes")
            good, found = self._by(used, columns, shapes, threads)
            if places is None and good is None:
                for out, result in zip(outs, found, strict=True):
                    out[:] = result
                return
            places = np.arange(len(columns[0])) if places is None else places
            good = np.ones(len(places), dtype=bool) if good is None else good
            for out, result in zip(outs, found, strict=True):
                out[places[good]] = result[good] if np.shape(result) else result
            if is_new and not good[0]:  # other code may round otherwise than what was traced; or it is for this row
                for out, result in zip(outs, used.code.call(*row_of(columns, 0)), strict=True):
                    out[places[0]] = result
                good[0] = True
            places, columns = places[~good], [x[~good] for x in columns]
            if not len(places):
                return
            if not self.of_numbers:
                called = used.called_natively if used.native is not None else used.called
                self.specializations.note(len(places) * called)

    def _fits(self, used: Specialization, shapes: list[Shape]) -> bool:
        """Whether the results of a specialisation are as those of the others."""
        return used.shapes == shapes[: len(used.shapes)] and used.template == self.template

    def _together(self, columns: list[Array], outs: list[Array], threads: int | None) -> Any:
        """Compute rows whose specialisations are one function; the places of the others, None for all.

        That says which one holds, and the code of this one computes the row: so a row has the same bits whenever the
        function is made, which may sum up in another order. Functions of numbers need none: eight rows are computed at
        once.
        """
        together = self.specializations.together
        if together is None or self.of_numbers:
            return None
        shapes, numbers = [out.shape[1:] for out in outs], together.code.which(columns, threads)
        left = np.ones(len(numbers), dtype=bool)
        for number in np.unique(numbers[numbers >= 0]).tolist():
            used, places = together.members[number], np.flatnonzero(numbers == number)
            if not (self._fits(used, shapes) and self._pays(used)):
                continue
            good, found = self._by(used, [x[places] for x in columns], shapes, threads)
            places, found = (places, found) if good is None else (places[good], [x[good] for x in found])
            for out, result in zip(outs, found, strict=True):
                out[places] = result
            left[places] = False
        return np.flatnonzero(left)

    def _by(
        self, used: Specialization, columns: list[Array], shapes: list[Shape], threads: int | None
    ) -> tuple[Any, list[Any]]:
        """The outputs of some rows by one specialisation, and for which of the rows it holds; None for all."""
        rows, count = len(columns[0]), len(shapes)
        if used.is_of_data:  # no other row is needed: the first is computed by itself
            return np.zeros(rows, dtype=bool), [np.empty((rows, *shape)) for shape in shapes]
        checks: Sequence[GuardCheck]
        native = used.promote() if self._pays(used) else None
        if native is not None:
            checks = used.checks
            found: list[Any] = [np.empty((rows, *shape)) for shape in (*shapes, *[()] * len(checks))]
            native.map(columns, found, threads)
        elif is_batchable(used.exact):
            checks = used.exact.checks
            found = self._over_arrays(used, columns, rows)
        else:
            return self._by_rows(used, columns, shapes)
        if not checks:
            return None, found
        good = np.ones(rows, dtype=bool)
        doubtful = np.zeros(rows, dtype=bool)
        for check, column in zip(checks, found[count:], strict=True):
            if check.read is regular:
                doubtful |= column != 0.0
            else:
                good &= _holding(check, np.broadcast_to(column, (rows,)))
        for row in np.flatnonzero(doubtful & good).tolist():  # the operations themselves say what is wrong
            try:
                for out, result in zip(found[:count], used.code.call(*row_of(columns, row)), strict=True):
                    out[row] = result
            except Diverged:
                good[row] = False
        return None if good.all() else good, found[:count]

    def _over_arrays(self, used: Specialization, columns: list[Array], rows: int) -> list[Any]:
        length = PIECE if rows > PIECE // 2 else max(_SHORT, 1 << (rows - 1).bit_length())
        code = self.by_length.get((used, length))
        if code is None:
            if len(self.by_length) > MOST:
                self.by_length.clear()
            program = batched(unchecked(used.exact), length)
            name, _ = supporting(used.exact_backend, program)
            self.by_length[used, length] = code = load(name).compile(program)
        found = code.call(*[_filled_up(x, length) for x in columns])
        return [x if isinstance(x, float) else x[:rows] for x in found]

    def _by_rows(self, used: Specialization, columns: list[Array], shapes: list[Shape]) -> tuple[Any, list[Any]]:
        rows = len(columns[0])
        found: list[Any] = [np.empty((rows, *shape)) for shape in shapes]
        good = np.ones(rows, dtype=bool)
        for row in range(rows):
            try:
                values = row_of(columns, row)
                for out, result in zip(found, used.code.call(*values), strict=True):
                    out[row] = result
            except Diverged:
                good[row] = False
        return None if good.all() else good, found


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


def _filled_up(column: Array, length: int) -> Array:
    """A column extended to a length for which there is code, by repeating its last row."""
    if len(column) == length:
        return column
    full = np.empty(length)
    full[: len(column)] = column
    full[len(column) :] = column[-1]
    return full


def _holding(check: GuardCheck, column: Array) -> Any:
    """The rows at which a guard holds."""
    if check.read is truth:
        return (column != 0.0) if check.outcome else (column == 0.0)
    return np.fromiter((check.holds(x) for x in column.tolist()), dtype=bool, count=len(column))
