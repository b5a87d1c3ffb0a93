"""What is to be done for each part, which is sent to other processes as it is; and where it is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agrad.cli import __version__
from agrad.cli.arguments.options import opened
from agrad.cli.data.job import LARGE, Job, Reading, Tally
from agrad.cli.data.parts import Part
from agrad.cli.data.request import Asked, Sessions
from agrad.engine.compile.registry import AUTO, NATIVE, REFERENCE
from agrad.engine.data.tables import Wanted
from agrad.grammar.files import replacing
from agrad.grammar.session.rowwise import backend_missing

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
