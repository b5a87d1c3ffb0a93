"""What is to be done for each part, which is sent to other processes as it is; and where it is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agrad.cli import __version__
from agrad.cli.arguments import Line
from agrad.cli.arguments.expression import noted
from agrad.cli.arguments.options import opened
from agrad.cli.data.job import LARGE, Job, Reading, Tally
from agrad.cli.data.parts import Part
from agrad.cli.data.request import Asked, RowFormula, Sessions, kept_rows
from agrad.cli.data.writers import form_for
from agrad.cli.main import typed
from agrad.engine.compile.registry import AUTO, NATIVE, REFERENCE
from agrad.engine.data.tables import Wanted
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.solvers.fit_quality import of_points
from agrad.engine.ops.solvers.least_squares import Fit, Within, fit
from agrad.engine.ops.solvers.losses import Loss
from agrad.engine.ops.solvers.sums import Ask, Sums, joined, summed
from agrad.engine.values import np
from agrad.grammar.files import replacing
from agrad.grammar.session.rowwise import Rowwise, backend_missing

_T = TypeVar("_T")


@dataclass(slots=True)
class Work:
    """Formulas, how the input is read, and what is found out once for all parts.

    The backend is a certain one, not `auto`, which changes to machine code on the way: then results would depend on how
    the rows are divided. `example`: a row, for which the expressions are compiled; `seed`: with which random numbers
    begin.
    """

    ask: Asked
    reading: Mapping[str, Any]
    path: str
    files: Sequence[str]
    backend: str = field(default=AUTO, kw_only=True)
    example: dict[str, float] = field(default_factory=dict, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.backend == AUTO:  # machine code, if there is much to compute
            is_large = sum(os.path.getsize(file) for file in self.files if os.path.exists(file)) >= LARGE
            self.backend = NATIVE if is_large and backend_missing(NATIVE) is None else REFERENCE

    def open(self) -> Any:
        """The whole input. Raises AgradError."""
        return opened(self.path, self.reading, None, self.files)


@dataclass(slots=True)
class MapWork(Work):
    """How the output of `agrad map` is written, too.

    `whole`: the values of functions of whole columns.
    """

    kept: Sequence[str]
    form: str
    precision: int | None
    tells: bool  # whether to tell where there is no machine code
    tolerant: bool
    whole: dict[str, float] = field(default_factory=dict, kw_only=True)
    version: str = field(default=__version__, kw_only=True)


class Bench:
    """A place where parts are computed, one after the other: the expressions are read and compiled once.

    `ends`: sets the limits of a session.
    """

    table: Any
    formulas: Sequence[Any]
    wanted: Wanted

    def __init__(self, work: Any, threads: int, ends: Callable[[Any], None] = lambda session: None) -> None:
        self.work, self.threads = work, threads
        self.sessions = Sessions(work.ask, ends, work.seed)

    def run(self, action: Callable[[], _T]) -> _T:
        """Run an action within the limits of the first session, as one statement."""
        first = self.sessions.first
        found: _T = first.all_at_once(action, first.span)
        return found

    def compile(self) -> None:
        """Compile the expressions, if there is an example."""
        if self.work.example:
            for formula in self.formulas:
                formula.prepare(self.work.example)

    def find_example(self) -> None:
        """Take the first row of all as the example, if it can be read, and compile the expressions for it."""
        pieces = (piece for file in self.work.files for piece in self.pieces(Part(file)) if piece.rows)
        first = next(pieces, None)
        if first is not None and first.bad is None:
            self.work.example = {name: float(first.columns[name][0]) for name in self.wanted.numbers}
        self.compile()

    def pieces(self, part: Part) -> Generator[Any, None, None]:
        """The rows of a part."""
        table = self.table.part(part.file, part.groups)
        with closing(table.parts(self.wanted)) as parts:  # else an error would keep them open
            for some in parts:
                yield table.piece(some, self.wanted)

    def restart(self) -> None:
        """Let the results of a part not depend on the parts before."""
        for formula in self.formulas:
            formula.restart()


class MapBench(Bench):
    """That of `agrad map`."""

    work: MapWork
    job: Job

    def prepare(self) -> None:
        """Open the input, and compile the expressions if there is an example. Raises AgradError."""
        work, threads = self.work, self.threads
        self.table = work.open()
        formulas, where = self.sessions.formulas(
            self.table, work.open, threads, work.tolerant, work.backend, work.whole
        )
        self.job = Job(self.table, formulas, where, work.kept, work.tolerant, threads)
        self.job.begin(work.form, work.precision, work.backend)
        self.job.is_fast, self.job.is_of_parts = work.tells, True
        self.formulas, self.wanted = self.job.everything, self.job.wanted
        self.compile()

    def compute(self, part: Part, path: str, line: Reading | None = None) -> Tally:
        """Write the results of a part to a file, completely or not at all; what there is to tell. Raises AgradError."""
        self.restart()
        table = self.table.part(part.file, part.groups)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with replacing(path, durable=True) as stream:
            return self.job.write(stream, table, line)


class FitBench(Bench):
    """A place where the sums of parts are computed.

    The formulas are the model, what was measured, and its uncertainty if that is known; `ask.wrt` the parameters,
    `start` the texts of their first values, `bounds` those of their ends, `loss` the name of one and the text of the
    residual from which on it counts less.
    """

    def __init__(
        self,
        work: Work,
        start: Mapping[str, str],
        bounds: Mapping[str, tuple[str, str]],
        loss: tuple[str, str] | None,
        threads: int,
        ends: Callable[[Any], None],
    ) -> None:
        super().__init__(work, threads, ends)
        model = self.sessions.first
        for name, value in start.items():
            with noted(f"{name}={value}"):
                model.give(name, value)
        self.names = work.ask.wrt
        self.start = [model.number(name, "fit", f"--over {name}") for name in self.names]
        pairs = [bounds.get(name, ("-inf", "inf")) for name in self.names]
        ranges = [tuple(_number(f"--bounds {'..'.join(pair)}", end) for end in pair) for pair in pairs]
        beyond = Loss(loss[0], _number("--beyond", loss[1])) if loss is not None else None
        self.within = Within.of(ranges, beyond)  # type: ignore[arg-type]

    def prepare(self) -> None:
        """Open the input. Raises AgradError."""
        self.table = self.work.open()
        sessions, where = self.sessions.values.values(), self.sessions.where
        for session in [*sessions, *([where] if where is not None else [])]:
            session.name_columns(self.table.quoted())
        by = {self.sessions.first: self.work.ask}
        self.formulas = [RowFormula(self.table, session, "", by.get(session)) for session in sessions]
        self.where = [RowFormula(self.table, where, "where")] if where is not None else []
        needed = [column for formula in (*self.formulas, *self.where) for column in formula.columns]
        self.wanted = Wanted(list(dict.fromkeys(needed)))
        for formula in (*self.formulas, *self.where):
            formula.begin(lambda: self.work.backend, self.threads, False)

    def pieces(self, part: Part) -> Generator[Any, None, None]:
        """The rows of a part in which the condition is true."""
        for piece in super().pieces(part):
            yield kept_rows(piece, self.where[0]) if self.where and piece.rows else piece

    def fit(self) -> Any:
        """The fit. Raises AgradError."""
        total = lambda ask: joined(self._sums(ask, Part(file)) for file in self.work.files)  # noqa: E731
        return fit(total, self.names, self.start, None, self.within)

    def write(self, found: Fit, path: str) -> None:
        """Write all columns of the rows that were fitted, and what is said of each point. Raises AgradError."""
        self._at(found.values)
        columns = Fitted(self, found)
        with closing(self.work.open()) as table:
            where = self.where[0] if self.where else None
            job = Job(table, [columns], where, ["all"], False, self.threads)
            job.begin(form_for(path, False), None, AUTO)
            with replacing(path) as stream:
                job.write(stream, table, None)

    def _at(self, p: Any) -> None:
        self.restart()
        self.formulas[0].evaluation.constants = dict(zip(self.names, p.tolist(), strict=True))

    def _sums(self, ask: Ask, part: Part) -> Sums:
        self._at(ask.p)
        with closing(self.pieces(part)) as pieces:
            return summed(ask, (self.rows(piece) for piece in pieces if piece.rows))

    def rows(self, piece: Any) -> tuple[Any, Any, Any]:
        """Some rows: see `Sums.take`. Raises AgradError of kind `domain` where an entry is missing."""
        (value, *slopes), *others = [list(formula.of(piece)[0].values()) for formula in self.formulas]
        table = np.stack([np.broadcast_to(x, piece.rows) for x in (*slopes, value)])
        y = np.broadcast_to(others[0][0], piece.rows)
        if not (np.isfinite(table[-1]) & np.isfinite(y)).all():
            for formula in self.formulas:
                for name, column in formula.used.items():
                    if np.isnan(piece.columns[column]).any():
                        raise self._missing(name, column, piece)
        return table, y, others[1][0] if len(others) > 1 else None

    def _missing(self, name: str, column: str, piece: Any) -> AgradError:
        row = int(np.argmax(np.isnan(piece.columns[column])))
        words, condition = [*Line.typed().words], f"isfinite({name})"
        if "--where" in words[:-1]:
            place = words.index("--where") + 1
            words[place] = f"({words[place]}) and {condition}"
        else:
            words += ["--where", condition]
        fixes = [Hint(f"{typed('fit', *words)}   leaves such rows out")]
        return AgradError("domain", f"fit: column {column} is nan", **piece.place(row), fixes=fixes)


def _number(what: str, text: str) -> float:
    """The number that a text is. Raises AgradError."""
    session = Rowwise()
    session.read("value")
    with noted(what):
        session.give("value", text)
    return session.number("value", "fit", what)


class Fitted:
    """The columns about each point of a fit, as a `Job` writes them."""

    named, jacobian, title = True, False, "predicted"

    def __init__(self, bench: FitBench, found: Fit) -> None:
        self.bench, self.found = bench, found
        nothing = np.zeros((len(found.names) + 1, 0))
        self.results = list(of_points(found, nothing, np.zeros(0), 1.0))
        self.paths = {name: (name,) for name in self.results}
        self.columns, self.evaluation = bench.wanted.numbers, bench.formulas[0].evaluation
        self.evaluations = [formula.evaluation for formula in bench.formulas]

    def begin(self, *how: object) -> None:
        """See RowFormula: the bench has begun."""

    def of(self, piece: Any) -> tuple[dict[str, Any], None]:
        """The columns about some rows."""
        return of_points(self.found, *self.bench.rows(piece)), None
