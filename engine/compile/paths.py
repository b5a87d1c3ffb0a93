"""The paths of a function through its guards, as a tree: what paths have in common is in it once.

Each path is a program, traced at values where its guards had these outcomes. A branch is what is computed for the next
guard, or for the outputs at the end of a path, and was not computed on the way to it. Of arrays, the tree becomes one
list of steps in segments, a segment before those that follow it: `branching`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from agrad.engine.program.ir import GuardCheck, Program, Step
from agrad.engine.program.passes import frozen
from agrad.engine.values import Shape, Value, shape_of

_MOST_GUARDS = 2_000  # of one path
_UNKNOWN = -1


@dataclass(slots=True)
class Branch:
    """The values that are computed, then the guard that reads one of them, and the branch after each outcome of it.

    At the end of a path the guard is None, and there are outputs instead, and the number of the program.
    """

    own: list[int] = field(default_factory=list)
    read: int = _UNKNOWN
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
        self.root: Branch | None = None
        self.values: list[Step | Value | int] = []  # a step on such values, a constant, or the place of an input
        self.shapes: list[Shape] = []
        self._numbers: dict[object, int] = {}
        self.length = 0  # in steps
        self.members = {number for number, one in enumerate(programs) if one is not None and self._add(number, one)}
        self._numbers.clear()

    def _add(self, number: int, program: Program) -> bool:
        """Add a program; False where it does not fit to the others, or is too long."""
        if not 0 < len(program.checks) <= _MOST_GUARDS:
            return False
        slots = self._numbered(program)
        node, known, taken = self.root, set[int](), 0
        before: tuple[Branch, object] | None = None
        while node is not None:
            if taken == len(program.checks) or node.guard is None:
                return False
            taking = program.checks[taken]
            if (node.read, node.guard.read) != (slots[taking.slot], taking.read):
                return False
            known.update(node.own)
            before = node, frozen(taking.outcome)
            node, taken = node.after.get(before[1]), taken + 1
        made: list[Branch] = []
        more: list[GuardCheck | None] = [*program.checks[taken:], None]
        for check in more:  # the branches that are new
            wanted = [slots[x] for x in program.outputs] if check is None else [slots[check.slot]]
            one = Branch(self._missing(wanted, known), guard=check)
            known.update(one.own)
            if check is None:
                one.outputs, one.number = wanted, number
            else:
                one.read = wanted[0]
            if made:
                made[-1].after[frozen(program.checks[taken + len(made) - 1].outcome)] = one
            made.append(one)
        count = sum([isinstance(self.values[x], Step) for one in made for x in one.own])
        if self.length + count > self.most:
            return False
        self.length += count
        if before is None:
            self.root = made[0]
        else:
            before[0].after[before[1]] = made[0]
        return True

    def _missing(self, wanted: Iterable[int], known: Collection[int]) -> list[int]:
        """What has to be computed for some values, in order: operands have smaller numbers than what they lead to."""
        found, stack = set[int](), [x for x in wanted if x not in known]
        while stack:
            one = stack.pop()
            if one in found:
                continue
            found.add(one)
            value = self.values[one]
            if isinstance(value, Step):
                stack += [x for x in value.operands if x not in known]
        return sorted(found)

    def _numbered(self, program: Program) -> list[int]:
        """The number of the value in each slot of a program."""
        slots = [self._number(("input", place), place, x.shape) for place, x in enumerate(program.inputs)]
        slots += [self._number(frozen(value), value, shape_of(value)) for value in program.constants]
        for step in program.steps:
            operands = tuple([slots[x] for x in step.operands])
            key = step.op.name, operands, frozen(step.attrs) if step.attrs else None
            slots.append(self._number(key, Step(step.op, operands, step.attrs, step.shape), step.shape))
        return slots

    def _number(self, key: object, value: Step | Value | int, shape: Shape) -> int:
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.shapes.append(shape)
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
