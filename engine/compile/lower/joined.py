"""Several specialisations as one function of machine code, in which their paths share what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agrad.engine.compile.llvm.decisions import Decisions, decided
from agrad.engine.compile.llvm.loops.branches import Branches, branched
from agrad.engine.compile.llvm.target import binding
from agrad.engine.compile.lower.plan import Lowered

MOST = 60_000  # steps of the function
_MOST_LOOPS = 4_000  # the same of loops over arrays


class Joined(NamedTuple):
    """The function, the place of the program of each of its numbers, and the places of those that are in it."""

    code: Decisions | Branches
    members: list[int]
    places: set[int]


def joined(paths: Sequence[Lowered]) -> Joined | None:
    """One function for at least two of these programs; None where there is none. The first ones have precedence.

    It is one of numbers or of loops, as most of the programs are.
    """
    if binding() is None:
        return None
    by_name = {
        name: [place for place, one in enumerate(paths) if one.name == name and not one.reason]
        for name in ("numbers", "loops")
    }
    name = max(by_name, key=lambda name: len(by_name[name]))
    members = by_name[name]
    if len(members) < 2:
        return None
    chosen = [paths[place] for place in members]
    code = branched([one.program for one in chosen], _MOST_LOOPS) if name == "loops" else _of_numbers(chosen)
    if code is None or len(code.members) < 2:
        return None
    return Joined(code, members, {members[one] for one in code.members})


def _of_numbers(paths: Sequence[Lowered]) -> Decisions | None:
    programs = [one.program for one in paths]
    inputs = paths[0].shapes[0] if paths[0].shapes is not None else [()] * len(programs[0].inputs)
    outputs = [one.shapes[1] if one.shapes is not None else [()] * len(one.program.outputs) for one in paths]
    return decided(programs, MOST, (inputs, outputs))
