"""What `agrad fit` is asked to fit to what: a plain object, and a place where it is computed, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agrad.cli import __version__
from agrad.cli.arguments.expression import noted
from agrad.cli.arguments.tables import opened
from agrad.cli.data.parts.plan import Part
from agrad.cli.data.parts.work import certain_backend, first_row
from agrad.cli.data.row_formulas import RowFormula
from agrad.engine.compile.registry import AUTO
from agrad.engine.data.tables import Wanted
from agrad.engine.ops.solvers.sums import Ask, Sums, summed
from agrad.engine.values import np
from agrad.grammar.session.rowwise import Rowwise

_T = TypeVar("_T")


@dataclass(slots=True)
class FitWork:
    """The texts of the model and of what was measured, and how the input is read; it is sent to other processes.

    `start`: the parameters with the texts of their first values. `backend` is a certain one, not `auto`, which would
    change on the way; `example`: a row, for which the expressions are compiled.
    """

    model: str
    measured: str
    sigma: str | None
    constants: Mapping[str, str]
    start: Mapping[str, str]
    reading: Mapping[str, Any]
    path: str
    files: Sequence[str]
    backend: str = ""
    example: dict[str, float] = field(default_factory=dict)
    version: str = __version__

    def __post_init__(self) -> None:
        self.backend = self.backend or certain_backend(AUTO, self.files)


class FitBench:
    """A place where the sums of parts are computed, one after the other: the expressions are read and compiled once.

    `ends`: sets the limits of a session.
    """

    def __init__(self, work: FitWork, threads: int, ends: Callable[[Any], None] = lambda session: None) -> None:
        self.work, self.threads, self.ends = work, threads, ends
        others = [work.measured, *([work.sigma] if work.sigma is not None else [])]
        self.sessions = [
            self._session(work.model, {**work.constants, **work.start}),
            *(self._session(text, work.constants) for text in others),
        ]
        self.session = self.sessions[0]
        self.names = list(work.start)
        self.start = [self.session.number(name, "fit", f"--over {name}") for name in self.names]

    def _session(self, text: str, names: Mapping[str, str]) -> Rowwise:
        session = Rowwise()
        self.ends(session)
        session.read(text)
        for name, value in names.items():
            with noted(f"{name}={value}"):
                session.give(name, value)
        return session

    def run(self, action: Callable[[], _T]) -> _T:
        """Run an action within the limits of the first session, as one statement."""
        found: _T = self.session.all_at_once(action, self.session.span)
        return found

    def prepare(self) -> None:
        """Open the input, and compile the expressions if there is an example. Raises AgradError."""
        self.table = table = opened(self.work.path, self.work.reading, None, self.work.files)
        for session in self.sessions:
            session.name_columns(table.quoted())
        model, *others = self.sessions
        self.model = RowFormula(table, model, "model", self.names)
        self.formulas = [self.model, *(RowFormula(table, session, "", ()) for session in others)]
        self.wanted = Wanted(list(dict.fromkeys(column for formula in self.formulas for column in formula.columns)))
        for formula in self.formulas:
            formula.begin(lambda: self.work.backend, self.threads, False)
        self.compile()

    def compile(self) -> None:
        """Compile the expressions for the example."""
        if self.work.example:
            for formula in self.formulas:
                formula.prepare(self.work.example)

    def find_example(self, parts: Sequence[Part]) -> None:
        """Take the first row of all as the example, and compile the expressions for it."""
        self.work.example = first_row(self.table, parts, self.wanted)
        self.compile()

    def sums(self, part: Part, ask: Ask) -> Sums:
        """The sums over the rows of a part. Raises AgradError."""
        for formula in self.formulas:
            formula.restart()
        self.model.evaluation.constants = dict(zip(self.names, ask.p.tolist(), strict=True))
        return summed(ask, self._pieces(part))

    def _pieces(self, part: Part) -> Iterator[tuple[Any, Any, Any]]:
        """The rows of a part: see `sums`."""
        table = self.table.part(part.file, part.groups)
        for some in table.parts(self.wanted):
            piece = table.piece(some, self.wanted)
            if piece.rows:
                (value, *slopes), *others = [list(formula.of(piece)[0].values()) for formula in self.formulas]
                rows = np.stack([np.broadcast_to(x, piece.rows) for x in (*slopes, value)])
                yield rows, others[0][0], others[1][0] if len(others) > 1 else None
