"""Specialisations of a function of arrays as one function of machine code, which branches at their guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agrad.engine.compile.backend import row_of
from agrad.engine.compile.llvm.loops.code import Loops, reason_against
from agrad.engine.compile.llvm.loops.driver import UNKNOWN
from agrad.engine.compile.llvm.loops.schedule import Schedule
from agrad.engine.compile.llvm.loops.segments import branching
from agrad.engine.compile.lower.paths import Paths
from agrad.engine.core.guards import bits
from agrad.engine.program.ir import Program
from agrad.engine.values import Array, Value, np


class Branches:
    """The function of some paths through the guards of a function."""

    def __init__(self, paths: Paths, schedule: Schedule) -> None:
        self.paths = paths
        self.members = paths.members
        self.loops = Loops(schedule)
        self.has_doubts = bool(schedule.systems)  # a path that is not known may be one with a singular matrix
        self.length = len(schedule.program.steps)
        self.unit = "operations on arrays and numbers"

    def call(self, values: tuple[Value, ...]) -> tuple[int, tuple[Value, ...]] | None:
        """The number of the specialisation that holds, and its outputs; None where none of these does."""
        return self.loops.along(values)

    def which(self, columns: Sequence[Array], threads: int | None) -> Any:
        """The number of the specialisation that holds for each row of some columns, or UNKNOWN."""
        hits = [self.call(row_of(columns, row)) for row in range(len(columns[0]))]
        return np.array([UNKNOWN if hit is None else hit[0] for hit in hits])

    @property
    def text(self) -> str:
        """LLVM's code of the function."""
        return self.loops.source()


def branched(programs: Sequence[Program], most: int) -> Branches | None:
    """The function of some programs, of at most so many steps; None where there is no machine code for it."""
    fitting = [None if any(check.read is bits for check in one.checks) else one for one in programs]
    paths = Paths(fitting, most)
    if not paths.members:
        return None
    schedule = Schedule(branching(paths))
    if reason_against(schedule) is not None:
        return None
    found = Branches(paths, schedule)
    return None if found.loops.memory.is_singular else found
