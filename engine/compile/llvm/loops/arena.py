"""Where the arrays of a call lie in one piece of memory: those that are not needed at once share their places."""

from __future__ import annotations

from collections.abc import Iterable

from agrad.engine.compile.llvm.loops.schedule import Schedule
from agrad.engine.compile.llvm.loops.stages import (
    Factorise,
    Kernel,
    Library,
    Product,
    Repeat,
    Running,
    Scatter,
    Solve,
    Stage,
)
from agrad.engine.values import size_of

_APART = 8  # numbers in 64 bytes: each array begins at a multiple of these


def places(schedule: Schedule, slots: Iterable[int]) -> tuple[dict[int, int], int]:
    """Where the arrays of some slots begin, and how many numbers there are in all.

    An array has its place from the stage that writes it to the last one that reads it, or a view of it.
    """
    last = _last_reads(schedule)
    wanted = {*slots}
    live: list[tuple[int, int, int]] = []  # begin, end and last stage, in order of the places
    found: dict[int, int] = {}
    total = 0
    for number, stage in enumerate(schedule.stages):
        live = [one for one in live if one[2] >= number]
        for slot in _written(stage):
            if slot not in wanted or slot in found:
                continue
            size = -(-size_of(schedule.program.shape(slot)) // _APART) * _APART
            begin = _gap(live, size)
            live.append((begin, begin + size, max(number, last.get(slot, number))))
            live.sort()
            found[slot] = begin
            total = max(total, begin + size)
    return found, total


def _gap(live: list[tuple[int, int, int]], size: int) -> int:
    """The first place with room for so many numbers."""
    place = 0
    for begin, end, _ in live:
        if begin - place >= size:
            break
        place = max(place, end)
    return place


def _written(stage: Stage) -> list[int]:
    if isinstance(stage, Kernel):
        return [*stage.stores, *[one.slot for one in stage.sums], *[part.slot for part in stage.joins]]
    return [stage.slot] if isinstance(stage, Product | Scatter | Running | Repeat | Solve) else []


def _read(schedule: Schedule, stage: Stage) -> set[int]:
    if isinstance(stage, Kernel):
        return {view.slot for view in stage.reads.values()}
    if isinstance(stage, Product):
        return {stage.left.slot, stage.right.slot}
    if isinstance(stage, Running):
        return {view.slot for view in stage.reads}
    if isinstance(stage, Factorise):
        return {stage.matrix}
    if isinstance(stage, Solve):
        return {stage.system.matrix, stage.right}
    if isinstance(stage, Scatter | Repeat):
        return {stage.operand}
    steps = [stage.slot] if isinstance(stage, Library) else stage.steps
    operands = {x for slot in steps for x in schedule.step(slot).operands}
    return {schedule.views[x].slot if x in schedule.views else x for x in operands}


def _last_reads(schedule: Schedule) -> dict[int, int]:
    """The number of the last stage that reads an array, or what a function of the library returned as a view of it."""
    end = len(schedule.stages)
    last = dict.fromkeys(schedule.program.outputs, end)
    for number in range(end - 1, -1, -1):
        stage = schedule.stages[number]
        until = number
        if isinstance(stage, Library) and schedule.step(stage.slot).op.is_view:
            until = max(number, last.get(stage.slot, number))
        for slot in _read(schedule, stage):
            last[slot] = max(until, last.get(slot, until))
    return last
