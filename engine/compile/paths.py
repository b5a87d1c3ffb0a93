"""The paths of a function through its guards, as a tree: what paths have in common is in it once.

Each path is a program, traced at values where its guards had these outcomes. A branch is what is computed for the next
guard, or for the outputs at the end of a path, and was not computed on the way to it. The tree is one list of steps, in
which a branch comes before those that follow it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agrad.engine.program.ir import GuardCheck, Program, Rewriting, Step, frozen, inserted, needed, share

_MOST_GUARDS = 2_000  # of one path


@dataclass(slots=True)
class Branch:
    """The slots of some steps, from `first` up to `end`, then the guard, and the number of the branch by its outcome.

    At the end of a path the guard is None, and there are outputs instead, and the number of the program.
    """

    first: int
    end: int
    guard: GuardCheck | None = None
    outputs: tuple[int, ...] = ()
    number: int = 0
    before: int | None = None  # the number of the branch before it
    after: dict[object, int] = field(default_factory=dict)
    own: dict[int, int] = field(default_factory=dict)  # the slots of values that it computes


class Paths:
    """A program, whose outputs are those of all paths and what guards read, and its branches."""

    def __init__(self, program: Program, branches: Sequence[Branch]) -> None:
        self.program, self.branches = program, branches
        self.members = {one.number for one in branches if one.guard is None}
        self._firsts = [one.first for one in branches]

    def at(self, slot: int) -> int:
        """The number of the branch that has the step of a slot."""
        return max(bisect_right(self._firsts, slot) - 1, 0)

    def leads_to(self, one: int, other: int) -> bool:
        """Whether a branch is another one, or on the way to it."""
        number: int | None = other
        while number is not None and number > one:
            number = self.branches[number].before
        return number == one


def straight(program: Program) -> Paths:
    """A program as one branch."""
    return Paths(program, [Branch(program.first, program.first + len(program.steps), outputs=program.outputs)])


def paths_of(programs: Sequence[Program | None], most: int) -> Paths:
    """The tree of some programs with the same inputs; those that do not fit into it, and None, are left out.

    `most`: steps of the tree, each counted in every branch that has it; a program with more is left out.
    """
    tree = _Tree([(number, one) for number, one in enumerate(programs) if one is not None], most)
    read = [one.guard.slot for one in tree.branches if one.guard is not None]
    outputs = dict.fromkeys([*[slot for one in tree.branches for slot in one.outputs], *read])
    return Paths(Program(tree.inputs, tuple(tree.constants), tuple(tree.made), tuple(outputs), ()), tree.branches)


class _Tree(Rewriting):
    """A tree under construction. The same operation on the same values is one value, whichever program it is of."""

    identity = staticmethod(frozen)  # each program has copies of its own of large arrays, too

    def __init__(self, programs: Sequence[tuple[int, Program]], most: int) -> None:
        super().__init__(programs[0][1] if programs else Program((), (), (), (), ()))
        self.most = most
        self.made: list[Step] = []  # of all branches; `steps` has each value once
        self.branches: list[Branch] = []
        guarded = [(number, one) for number, one in programs if 0 < len(one.checks) <= _MOST_GUARDS]
        given = range(len(self.inputs))
        numbered = [(number, one, inserted(self, one, given, share)) for number, one in guarded]
        # the slots of inputs and constants
        self.given = {place: place for place in given} | {~x: len(given) + x for x in range(len(self.constants))}
        for each in numbered:
            self._add(*each)

    def _operands(self, reference: int) -> tuple[int, ...]:
        made = self.made_by(reference)
        return () if made is None else made[1]

    def _add(self, number: int, program: Program, values: Sequence[int]) -> None:
        """Add a program, unless it does not fit to the others, or is too long."""
        known, checks, count = dict(self.given), [*program.checks, None], len(self.made)
        before, outcome = None, None
        at: int | None = 0 if self.branches else None
        while at is not None:
            one, check = self.branches[at], checks.pop(0)
            known.update(one.own)
            if check is None or one.guard is None:
                return
            if (one.guard.slot, one.guard.read) != (known.get(values[check.slot]), check.read):
                return
            before, outcome = at, frozen(check.outcome)
            at = one.after.get(outcome)
        made = [self._branch(program, check, values, known) for check in checks]
        if len(self.made) > self.most:
            del self.made[count:]
            return
        made[-1].number = number
        for check, one in zip(checks, made, strict=True):
            if before is not None:
                self.branches[before].after[outcome] = len(self.branches)
            one.before = before
            before, outcome = len(self.branches), None if check is None else frozen(check.outcome)
            self.branches.append(one)

    def _branch(
        self, program: Program, check: GuardCheck | None, values: Sequence[int], known: dict[int, int]
    ) -> Branch:
        """What is computed for a check, or for the outputs, beside what is known."""
        wanted = [values[x] for x in (program.outputs if check is None else [check.slot])]
        first = len(self.given)
        one = Branch(first + len(self.made), 0)
        for x in needed(wanted, known, self._operands):
            step, operands = self.steps[x - len(self.inputs)]
            known[x] = one.own[x] = first + len(self.made)
            self.made.append(replace(step, operands=tuple([known[y] for y in operands])))
        one.end = first + len(self.made)
        if check is None:
            one.outputs = tuple([known[x] for x in wanted])
        else:
            one.guard = replace(check, slot=known[wanted[0]])
        return one
