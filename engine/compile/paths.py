"""The paths of a function through its guards, as a tree: what paths have in common is in it once.

Each path is a program, traced at values where its guards had these outcomes. A branch is what is computed for the next
guard, or for the outputs at the end of a path, and was not computed on the way to it. Of arrays, the tree becomes one
list of steps in segments, a segment before those that follow it: `branching`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agrad.engine.program.ir import GuardCheck, Program, Step, needed
from agrad.engine.program.passes import frozen
from agrad.engine.values import Value

_MOST_GUARDS = 2_000  # of one path
_UNKNOWN = -1


@dataclass(slots=True)
class Branch:
    """The values that are computed, then the guard that reads one of them, and the branch after each outcome of it.

    At the end of a path the guard is None, and there are outputs instead, and the number of the program.
    """

    own: list[int] = field(default_factory=list)
    guard: GuardCheck | None = None
    after: dict[object, Branch] = field(default_factory=dict)
    outputs: list[int] = field(default_factory=list)
    number: int = _UNKNOWN


class Paths:
    """The tree of some programs with the same inputs; those that do not fit into it are left out.

    The same operation on the same values is one value, whichever program it is of.
    """

    def __init__(self, programs: Sequence[Program | None], most: int) -> None:
        """None stands for a program that is left out.

        `most`: steps of the tree, each counted in every branch that has it; a program with more is left out.
        """
        self.most = most
        self.inputs = next((one.inputs for one in programs if one is not None), ())
        self.first: dict[object, Branch] = {}  # the first branch, after None
        self.values: list[Step | Value | int] = []  # a step on such values, a constant, or the place of an input
        self._numbers: dict[object, int] = {}
        self.length = 0  # in steps
        self.members = {number for number, one in enumerate(programs) if one is not None and self._add(number, one)}
        self._numbers.clear()

    def _add(self, number: int, program: Program) -> bool:
        """Add a program; False where it does not fit to the others, or is too long."""
        if not 0 < len(program.checks) <= _MOST_GUARDS:
            return False
        slots = self._numbered(program)
        after, outcome, known, checks = self.first, None, set[int](), [*program.checks, None]
        while (node := after.get(outcome)) is not None:
            check = checks.pop(0)
            if check is None or node.guard is None:
                return False
            if (node.guard.slot, node.guard.read) != (slots[check.slot], check.read):
                return False
            known.update(node.own)
            after, outcome = node.after, frozen(check.outcome)
        made: list[Branch] = []  # the branches that are new
        for check in checks:
            if check is None:
                one = Branch(outputs=[slots[x] for x in program.outputs], number=number)
            else:
                one = Branch(guard=replace(check, slot=slots[check.slot]))
            one.own = needed(one.outputs if one.guard is None else [one.guard.slot], known, self._operands)
            known.update(one.own)
            made.append(one)
        count = sum([isinstance(self.values[x], Step) for one in made for x in one.own])
        if self.length + count > self.most:
            return False
        self.length += count
        for check, one in zip(checks, made, strict=True):
            after[outcome] = one
            after, outcome = one.after, None if check is None else frozen(check.outcome)
        return True

    def _operands(self, number: int) -> tuple[int, ...]:
        value = self.values[number]
        return value.operands if isinstance(value, Step) else ()

    def _numbered(self, program: Program) -> list[int]:
        """The number of the value in each slot of a program."""
        slots = [self._number(("input", place), place) for place in range(len(program.inputs))]
        slots += [self._number(frozen(value), value) for value in program.constants]
        for step in program.steps:
            operands = tuple([slots[x] for x in step.operands])
            key = step.op.name, operands, frozen(step.attrs) if step.attrs else None
            slots.append(self._number(key, Step(step.op, operands, step.attrs, step.shape)))
        return slots

    def _number(self, key: object, value: Step | Value | int) -> int:
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


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
    pending += [(one, None, None, given) for one in paths.first.values()]
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
        one.guard = None if branch.guard is None else replace(branch.guard, slot=slots[branch.guard.slot])
        following = list(branch.after.items())
        for place, (key, child) in enumerate(following):
            pending.append((child, len(segments), key, slots if place == len(following) - 1 else dict(slots)))
        segments.append(one)
    read = [one.guard.slot for one in segments if one.guard is not None]
    outputs = dict.fromkeys([*[slot for one in segments for slot in one.outputs], *read])
    kept: tuple[Value, ...] = tuple([values[number] for number in constants])  # type: ignore[misc]
    return Branching(Program(paths.inputs, kept, tuple(steps), tuple(outputs), ()), segments)
