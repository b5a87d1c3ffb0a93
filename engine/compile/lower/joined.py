"""Several specialisations as one function of machine code, in which their paths share what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agrad.engine.compile.llvm.decisions import Decisions, decided
from agrad.engine.compile.llvm.target import binding
from agrad.engine.compile.lower.plan import Lowered
from agrad.engine.values import Shape

MOST = 60_000  # steps of the function


class Joined(NamedTuple):
    """The function, the place of the program of each of its numbers, and the places of those that are in it."""

    code: Decisions
    members: list[int]
    places: set[int]


def joined(paths: Sequence[Lowered]) -> Joined | None:
    """One function for at least two of these programs; None where there is none. The first ones have precedence."""
    if binding() is None:
        return None
    members = [place for place, one in enumerate(paths) if one.name == "numbers" and not one.reason]
    code = _of_numbers([paths[place] for place in members])
    if code is None or len(code.members) < 2:
        return None
    return Joined(code, members, {members[one] for one in code.members})


def _of_numbers(paths: Sequence[Lowered]) -> Decisions | None:
    if not paths:
        return None
    shapes: list[tuple[Sequence[Shape], Sequence[Shape]]] = []
    for one in paths:
        program = one.program
        shapes.append(one.shapes or ([()] * len(program.inputs), [()] * len(program.outputs)))
    return decided([one.program for one in paths], MOST, (shapes[0][0], [outputs for _, outputs in shapes]))
