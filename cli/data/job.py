"""The rows of a table, computed piece by piece and written as they are computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field, fields
from itertools import chain, islice
from typing import Any, BinaryIO, TypeVar

from agrad.cli.data.request import kept_rows
from agrad.cli.data.writers import WRITERS, Rows
from agrad.cli.output import note, tell
from agrad.cli.terminal.progress import AFTER, Loop, Progress, duration
from agrad.engine.compile.registry import AUTO, NATIVE
from agrad.engine.data.tables import Wanted
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.values import np
from agrad.grammar.session.rowwise import backend_missing, hopeless

_S = TypeVar("_S")
_T = TypeVar("_T")
LARGE = 2**24  # bytes of a file: computing a larger one takes longer than making machine code
_AHEAD = 8  # pieces, of some MB each, that wait for a slower step, such as making machine code, on few cores


class Job:
    """Formulas over a table, what is kept of it, and how it is computed and written: `begin`, then `write`."""

    is_of_parts = False  # whether there are further rows, so that an expression may have values in those

    def __init__(
        self, table: Any, formulas: Sequence[Any], where: Any, kept: Sequence[str], tolerant: bool, threads: int
    ) -> None:
        self.table, self.formulas, self.where = table, formulas, where
        self.tolerant, self.threads = tolerant, threads
        self.kept = self.table.names if kept == ["all"] else [self.table.spelled(name) for name in kept]
        self.table.require_each(self.kept)
        self._require_unlike()
        results = [name for formula in formulas for name in formula.results]
        values = {formula.title for formula in formulas if formula.jacobian}
        self.results = sorted(results, key=lambda name: name not in values)
        columns = [column for formula in self.everything for column in formula.columns]
        if not columns and kept in ([], ["all"]):  # there is no name that only a first row with names has
            self.table.require_sure()
        self.wanted = Wanted(list(dict.fromkeys(columns)), self.kept, tolerant=tolerant)

    @property
    def everything(self) -> list[Any]:
        """The formulas, and the condition if there is one."""
        return [*self.formulas, *([self.where] if self.where is not None else [])]

    def _require_unlike(self) -> None:
        """Refuse two columns of one name in the output. Raises AgradError of kind `name`."""
        seen: set[str] = set()
        for formula in self.formulas:
            title, named = formula.title, formula.named
            fixes = [Hint("--value result")] if not named else [Hint("another name in -e NAME=EXPR")]
            for name in formula.results:
                if name in self.kept:
                    message = f"{self.table.path} already has a column {name}"
                    raise AgradError("name", message, fixes=fixes if name == title else [])
                if name in seen or formula.results.count(name) > 1:
                    option = "-e" if named else "--value"
                    raise AgradError("name", f"{option} {title}: a derivative already has that name", fixes=fixes)
            seen.update(formula.results)

    def begin(self, form: str, precision: int | None, backend: str) -> None:
        """Prepare to compute rows, and to write them in a form. Raises AgradError."""
        self.form, self.precision = form, precision
        self.wanted.texts = form in ("csv", "json") or (form in ("parquet", "arrow") and self.table.typed)
        self.is_fast = backend == NATIVE  # whether to tell where there is no machine code
        if backend != AUTO and (problem := backend_missing(backend)) is not None:
            fixes = [fix for fix in problem.fixes if not fix.startswith("backend=")]
            problem.fixes = [*fixes, Hint("--backend python")]
            raise problem
        for formula in self.formulas:
            formula.begin(lambda: self._backend(backend), self.threads, self.tolerant)

    def write(self, stream: BinaryIO, table: Any, line: Reading | None) -> Tally:
        """Read, compute and write all rows of the table, or of a part of it. Raises AgradError."""
        tally = Tally()
        output: Any = None
        parts = table.parts(self.wanted)
        pieces = ahead(lambda part: table.piece(part, self.wanted), parts, self.threads)
        try:
            computed = self._computed(pieces, table, tally, line)
            computed = chain([*islice(computed, 1)], computed)  # after which the units of results are known
            heads, paths = self._heads(), {name: x for formula in self.formulas for name, x in formula.paths.items()}
            output = WRITERS[self.form](stream, [*self.kept, *[heads[name] for name in self.results]], self.precision)
            units = {name: head.removeprefix(name) for name, head in heads.items()}
            output.paths = {heads[name]: (*path[:-1], path[-1] + units[name]) for name, path in paths.items()}
            encoded = map(output.encode, computed) if output.quick else ahead(output.encode, computed, self.threads)
            first = next(encoded, None)  # before anything is written, so that an error in it is the only output
            output.begin()
            for data in chain([] if first is None else [first], encoded):
                output.write(data)
            output.end()
            if output.rows != tally.written:
                message = f"{output.rows} of the {tally.written} rows in {table.path} were written: this is an error"
                raise AgradError("file", f"{message} in agrad, and the output cannot be trusted")
        finally:
            if output is not None:
                output.close()
            if line is not None:
                line.clear()
        return tally

    def _heads(self) -> dict[str, str]:
        """The names of the results with their units."""
        return {name: head for formula in self.formulas for name, head in formula.heads().items()}

    def _backend(self, asked: str) -> str:
        """The backend: for a large file machine code for all rows, where `auto` would change to that on the way."""
        if asked != AUTO or self.table.size < LARGE:
            return asked
        return NATIVE if backend_missing(NATIVE) is None else asked

    def _computed(self, pieces: Iterable[Any], table: Any, tally: Tally, line: Reading | None) -> Iterator[Any]:
        """The rows to write, one piece after the other; one without rows if there are none, which has the types."""
        nothing: Rows | None = None
        for piece in pieces:
            tally.rows += piece.rows
            tally.missing += piece.missing
            if piece.rows and self.where is not None:
                piece = kept_rows(piece, self.where)
            copied = {name: piece.columns[name] for name in self.kept}
            if piece.rows:
                results, bad = self._results(piece)
                yield Rows(copied, results, bad)
                if bad is not None:
                    tally.failed += int(bad.sum())
                    formulas = [*([self.where] if self.where is not None else []), *self.formulas]
                    errors = (evaluation.first for formula in formulas for evaluation in formula.evaluations)
                    tally.first = tally.first or piece.problem or next(filter(None, errors), None)
                if self.is_fast and not tally.slow:
                    ways = (formula.evaluation.without_machine_code() for formula in self.formulas)
                    tally.slow = next(filter(None, ways), "")
                tally.written += piece.rows
            elif copied and not tally.written and nothing is None:
                nothing = Rows(copied, dict.fromkeys(self._heads().values(), np.empty(0)), None)
            if line is not None:
                line.at(table.path, piece.done, table.total, tally.rows)
        if nothing is not None and not tally.written:
            yield nothing
        for formula in self.formulas:
            evaluation = formula.evaluation
            tally.undefined += evaluation.undefined
            tally.first_undefined = tally.first_undefined or evaluation.first_undefined
            tally.formulas.append((evaluation.done, evaluation.failed, evaluation.first))
        if not self.is_of_parts:
            tally.require_some()

    def _results(self, piece: Any) -> tuple[dict[str, Any], Any]:
        """The columns of results of all formulas, and a mask of the rows for which one of them has none."""
        found: dict[str, Any] = {}
        for formula in self.formulas:
            results, bad = formula.of(piece)
            found |= results
            piece.bad = bad
        heads = self._heads()
        return {heads[name]: found[name] for name in self.results}, piece.bad


class Reading(Progress):
    """The part of a file that has been read: `34 % of points.csv, 340000 rows: 12 s, about 23 s left`."""

    text = ""

    def at(self, name: str, done: int, total: int | None, rows: int) -> None:
        """Show it, if it is time."""
        now = self.clock()
        if not self.loops:
            self.loops.append(Loop(total, now))
        elapsed = now - self.loops[0].start
        if now < self.next or elapsed < AFTER:
            return
        part = min(done / total, 1.0) if total else 0.0
        left = f", about {duration(elapsed * (1 - part) / part)} left" if part else ""
        share = f"{part:.0%} of " if total else ""
        self.text = f"{share}{name}, {rows} rows: {duration(elapsed)}{left}"
        self._show(now)

    def line(self, now: float) -> str:
        """See Progress."""
        return self.text


def ahead(function: Callable[[_S], _T], items: Iterable[_S], threads: int) -> Iterator[_T]:
    """The function of each item, in order, computed in threads while the caller is busy with those before."""
    if threads < 2:
        yield from map(function, items)
        return

    pool = futures.ThreadPoolExecutor(threads)
    waiting: deque[futures.Future[_T]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > max(threads, _AHEAD):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# What is told of rows once they are computed: how many have no results, or the value nan, and the first of each.


@dataclass(slots=True)
class Tally:
    """The numbers of a run, or of a part of it."""

    rows: int = 0
    written: int = 0
    failed: int = 0  # rows without results
    first: AgradError | None = None  # why the first of those has none
    undefined: int = 0  # rows whose value is nan, though none of their numbers is
    first_undefined: Note | None = None
    slow: str = ""  # why there is no machine code, if it was requested
    formulas: list[tuple[int, int, AgradError | None]] = field(default_factory=list)
    # of each formula the rows with a value, those without, and why the first of these has none
    missing: int = 0  # entries that were read as nan, since --na says that they stand for missing numbers

    def add(self, other: Tally) -> None:
        """Add what is told of the rows that follow."""
        for name in ("rows", "written", "failed", "undefined", "missing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("first", "first_undefined", "slow"):
            setattr(self, name, getattr(self, name) or getattr(other, name))
        none = [(0, 0, None)] * len(other.formulas)
        pairs = zip(self.formulas or none, other.formulas, strict=True)
        self.formulas = [(a + c, b + d, first or other) for (a, b, first), (c, d, other) in pairs]

    def require_some(self) -> None:
        """Raise the error of a formula that has no value in any of many rows."""
        for done, failed, first in self.formulas:
            if first is not None and hopeless(done, failed):
                raise first

    def tell(self) -> None:
        """Report how many rows have no results, and whether machine code was requested but not available."""
        if self.slow:
            note(f"computed without machine code: {self.slow}")
        if self.missing:
            are = "entry is" if self.missing == 1 else "entries are"
            note(f"{self.missing} {are} missing, and nan in the formulas")
        if self.first_undefined is not None:
            rows = f"{self.undefined} of {self.rows} rows {'has' if self.undefined == 1 else 'have'} the value nan"
            message = f"{rows}, although none of their numbers is nan; the first:"
            tell(Note(message, self.first_undefined.labels, notes=self.first_undefined.notes))
        if self.failed and self.first is not None:
            rows = f"{self.failed} of {self.rows} rows {'has' if self.failed == 1 else 'have'} no results"
            tell(Note(f"{rows}; the first: {self.first.message}", self.first.labels, notes=self.first.notes))

    def as_json(self) -> dict[str, Any]:
        """What is written down, as JSON values; of an error its message and its notes."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        told |= {name: _written(told[name]) for name in ("first", "first_undefined")}
        return told | {"formulas": [(done, failed, _written(first)) for done, failed, first in self.formulas]}


def read(told: Mapping[str, Any]) -> Tally:
    """A tally that was written down."""
    undefined = told["first_undefined"]
    changed = {
        "first": _error(told["first"]),
        "first_undefined": Note(undefined[0], notes=undefined[1]) if undefined is not None else None,
        "formulas": [(done, failed, _error(one)) for done, failed, one in told["formulas"]],
    }
    return Tally(**{**told, **changed})


def _written(problem: AgradError | Note | None) -> tuple[str, Sequence[str]] | None:
    return (problem.message, list(problem.notes)) if problem is not None else None


def _error(written: Sequence[Any] | None) -> AgradError | None:
    return AgradError("domain", written[0], notes=written[1], row=True) if written is not None else None
