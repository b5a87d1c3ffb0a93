"""A loop over a body of arrays: what is the same in each iteration is computed, and factorised, once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agrad.engine.compile.llvm.loops.code import Loops, reason_against
from agrad.engine.compile.llvm.loops.factors import transposes
from agrad.engine.compile.llvm.loops.schedule import Schedule
from agrad.engine.compile.llvm.target import binding
from agrad.engine.compile.lower.cost import interpreted, of_loops
from agrad.engine.compile.lower.plan import without_outer
from agrad.engine.program.ir import Input, Program, Step
from agrad.engine.program.passes import optimised, prune
from agrad.engine.values import Array


class Stepped:
    """The loop. The program takes a state, a row, and what is the same, and gives one vector."""

    def __init__(self, before: Program, body: Program) -> None:
        self.before = before
        self.loops = Loops(body, held=range(2, len(body.inputs)))

    def run(self, start: Array, rows: Array, same: Array, table: Array, sums: Array) -> bool:
        """All iterations: each result begins with the new state, and fills a row of the table; the rest is added up.

        False, and nothing done, where a matrix that is the same in all iterations is singular.
        """
        fixed, width, size = self.before.run(same), table.shape[1], len(start)
        with self.loops.holding(fixed) as call:
            if call is None:
                return False
            state = start
            for row, made in zip(rows, table, strict=True):
                result: Any = call(state, row, *fixed)[0]
                made[:] = result[:width]
                sums += result[width:]
                state = made[:size]
        return True


def stepped(program: Program) -> Stepped | None:
    """Machine code for a body; None where there is none, or where Python takes less."""
    if binding() is None or program.is_scalar or program.checks or len(program.outputs) != 1:
        return None
    parts = divided(without_outer(optimised(program)), [2])
    if parts is None or reason_against(Schedule(parts[1])) is not None:
        return None
    found = Stepped(*parts)
    return found if of_loops(found.loops.schedule) < interpreted(program) else None


def divided(program: Program, same: Iterable[int]) -> tuple[Program, Program] | None:
    """What depends on some inputs alone, and the rest, which takes that instead of them; None if that is all.

    What is transposed stays so where it is used: that takes no time, and shares the factors of a matrix.
    """
    inputs, first = len(program.inputs), program.first
    fixed, needed = set(same), dict[int, None]()
    for slot, step in enumerate(program.steps, first):
        is_turned = step.op.is_view or transposes(program, step)
        varying = [x for x in step.operands if x not in fixed and not inputs <= x < first]
        if not varying and any(x in fixed for x in step.operands) and not is_turned:
            fixed.add(slot)
        else:
            needed.update(dict.fromkeys([x for x in step.operands if x in fixed]))
    if not fixed.isdisjoint(program.outputs):
        return None
    given = [program.inputs[x] for x in same]
    before = prune(_taking(program, list(same), given, list(range(first, first + len(program.steps))), list(needed)))
    kept = [x for x in range(inputs) if x not in fixed]
    taken = [program.inputs[x] for x in kept] + [Input(f"fixed{x}", program.shape(x)) for x in needed]
    rest = [slot for slot in range(first, first + len(program.steps)) if slot not in fixed]
    return before, prune(_taking(program, [*kept, *needed], taken, rest, list(program.outputs)))


def _taking(program: Program, slots: list[int], inputs: list[Input], steps: list[int], outputs: list[int]) -> Program:
    """The program of some steps, whose inputs are some slots; steps that need others are left out."""
    place = {slot: number for number, slot in enumerate(slots)}
    for number in range(len(program.constants)):
        place[len(program.inputs) + number] = len(place)
    made: list[Step] = []
    for slot in steps:
        step = program.steps[slot - program.first]
        if all(x in place for x in step.operands):
            place[slot] = len(inputs) + len(program.constants) + len(made)
            made.append(Step(step.op, tuple([place[x] for x in step.operands]), step.attrs, step.shape))
    found = tuple([place[x] for x in outputs])
    return Program(tuple(inputs), program.constants, tuple(made), found, ())
