"""A program with branches: segments of steps, each with a guard at its end that says which one follows.

The steps of all segments are in one list, a segment before those that follow it. A program without branches has one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agrad.engine.compile.lower.paths import Branch, Paths
from agrad.engine.program.ir import GuardCheck, Program, Step
from agrad.engine.values import Value


@dataclass(slots=True)
class Segment:
    """The slots of some steps, from `first` up to `end`, and what follows each outcome of the guard, by its number.

    Where no guard follows, there are outputs, and the number of the program that they are of.
    """

    first: int
    before: int | None  # the number of the segment before it
    end: int = 0
    guard: GuardCheck | None = None
    after: dict[object, int] = field(default_factory=dict)
    outputs: tuple[int, ...] = ()
    number: int = 0


class Branching:
    """A program, whose outputs are those of all paths and what guards read, and its segments."""

    def __init__(self, program: Program, segments: Sequence[Segment]) -> None:
        self.program, self.segments = program, segments
        self._firsts = [one.first for one in segments]

    def at(self, slot: int) -> int:
        """The number of the segment that has the step of a slot."""
        return max(bisect_right(self._firsts, slot) - 1, 0)

    def leads_to(self, one: int, other: int) -> bool:
        """Whether a segment is another one, or on the way to it."""
        number: int | None = other
        while number is not None and number > one:
            number = self.segments[number].before
        return number == one


def straight(program: Program) -> Branching:
    """A program as one segment."""
    end = program.first + len(program.steps)
    return Branching(program, [Segment(program.first, None, end, outputs=program.outputs)])


def branching(paths: Paths) -> Branching:
    """The program of a tree of paths."""
    values = paths.values
    constants = [number for number, value in enumerate(values) if not isinstance(value, Step | int)]
    first = len(paths.inputs) + len(constants)
    given = {number: value for number, value in enumerate(values) if isinstance(value, int)}
    given |= {number: slot for slot, number in enumerate(constants, len(paths.inputs))}
    steps: list[Step] = []
    segments: list[Segment] = []
    pending: list[tuple[Branch, int | None, object, dict[int, int]]] = []
    if paths.root is not None:
        pending.append((paths.root, None, None, given))
    while pending:
        branch, before, outcome, slots = pending.pop()
        if before is not None:
            segments[before].after[outcome] = len(segments)
        one = Segment(first + len(steps), before, number=branch.number)
        for number in branch.own:
            value = values[number]
            if isinstance(value, Step):
                slots[number] = first + len(steps)
                steps.append(replace(value, operands=tuple([slots[x] for x in value.operands])))
        one.end = first + len(steps)
        one.outputs = tuple([slots[x] for x in branch.outputs])
        one.guard = None if branch.guard is None else replace(branch.guard, slot=slots[branch.read])
        following = list(branch.after.items())
        for place, (key, child) in enumerate(following):
            pending.append((child, len(segments), key, slots if place == len(following) - 1 else dict(slots)))
        segments.append(one)
    read = [one.guard.slot for one in segments if one.guard is not None]
    outputs = dict.fromkeys([*[slot for one in segments for slot in one.outputs], *read])
    kept: tuple[Value, ...] = tuple([values[number] for number in constants])  # type: ignore[misc]
    return Branching(Program(paths.inputs, kept, tuple(steps), tuple(outputs), ()), segments)
