"""What `agrad fit` is asked to fit to what: a plain object, and a place where it is computed, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agrad.cli.arguments.expression import noted
from agrad.cli.data.parts import Bench, Part, Work
from agrad.cli.data.request import RowFormula
from agrad.engine.data.tables import Wanted
from agrad.engine.ops.solvers.fitting import Ask, Sums, summed
from agrad.engine.values import np


@dataclass(slots=True)
class FitWork(Work):
    """The formulas are the model, what was measured, and its uncertainty if that is known; `ask.wrt` the parameters.

    `start`: the texts of their first values.
    """

    start: Mapping[str, str]


class FitBench(Bench):
    """A place where the sums of parts are computed."""

    work: FitWork

    def __init__(self, work: FitWork, threads: int, ends: Callable[[Any], None] = lambda session: None) -> None:
        super().__init__(work, threads, ends)
        model = self.sessions.first
        for name, value in work.start.items():
            with noted(f"{name}={value}"):
                model.give(name, value)
        self.names = work.ask.wrt
        self.start = [model.number(name, "fit", f"--over {name}") for name in self.names]

    def prepare(self) -> None:
        """Open the input, and compile the expressions if there is an example. Raises AgradError."""
        self.table = self.work.open()
        sessions = self.sessions.values.values()
        for session in sessions:
            session.name_columns(self.table.quoted())
        of_parameters = {self.sessions.first: self.names}
        self.formulas = [RowFormula(self.table, session, "", of_parameters.get(session, ())) for session in sessions]
        self.wanted = Wanted(list(dict.fromkeys(column for formula in self.formulas for column in formula.columns)))
        for formula in self.formulas:
            formula.begin(lambda: self.work.backend, self.threads, False)
        self.compile()

    def sums(self, part: Part, ask: Ask) -> Sums:
        """The sums over the rows of a part. Raises AgradError."""
        table = self.part(part)
        self.formulas[0].evaluation.constants = dict(zip(self.names, ask.p.tolist(), strict=True))
        return summed(ask, self._pieces(table))

    def _pieces(self, table: Any) -> Iterator[tuple[Any, Any, Any]]:
        """The rows of a part: see `sums`."""
        for some in table.parts(self.wanted):
            piece = table.piece(some, self.wanted)
            if piece.rows:
                (value, *slopes), *others = [list(formula.of(piece)[0].values()) for formula in self.formulas]
                rows = np.stack([np.broadcast_to(x, piece.rows) for x in (*slopes, value)])
                yield rows, others[0][0], others[1][0] if len(others) > 1 else None
