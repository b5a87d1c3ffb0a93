"""The function that runs the stages of a schedule in order, and branches at its guards.

Where the library has to compute a step, or read what a guard asks for, the function returns, and is called again with
the state in which it goes on. A guard on the truth of a number is a branch of machine code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.loops.schedule import Schedule
from agrad.engine.compile.llvm.loops.stages import Factorise, Library, Stage
from agrad.engine.core.guards import truth
from agrad.engine.program.ir import GuardCheck
from agrad.engine.program.passes import frozen
from agrad.engine.values import Value

UNKNOWN, FAILED, PAUSED = -1, -2, -3  # there is no such path; a matrix is singular; the first pause: others follow


class Memory(Protocol):
    """Where the numbers of a program are."""

    def number(self, slot: int, name: str) -> str:
        """The lines that give the address of a number a name."""

    def value(self, slot: int) -> float | None:
        """The number, if it is known."""

    @property
    def failed(self) -> int:
        """The slot of the number that is 1 where a call has failed."""


@dataclass(slots=True)
class Pause:
    """What happens outside of the function: a step of the library, and the state after it, or a guard is read."""

    slot: int
    state: int = 0
    guard: GuardCheck | None = None
    states: dict[object, int] = field(default_factory=dict)  # after each outcome

    def following(self, value: Value) -> int | None:
        """The state after a guard; None where no path has its outcome."""
        assert self.guard is not None
        try:
            return self.states.get(frozen(self.guard.read(value)))
        except (ValueError, OverflowError):
            return None


class Driver:
    """The text of the function, and its pauses. `parts` are the stages that follow each other without one."""

    def __init__(self, schedule: Schedule, memory: Memory) -> None:
        self.schedule, self.memory = schedule, memory
        self.parts: list[list[Stage]] = []
        self.pauses: list[Pause] = []
        self.states: list[str] = []  # the label of each state
        self._names = 0
        staged: dict[int, list[Stage]] = {}
        for segment, stage in zip(schedule.belongs, schedule.stages, strict=True):
            staged.setdefault(segment, []).append(stage)
        self._entered: dict[int, int] = {}  # the state at the start of a segment
        self._enter(0)
        body = [line for number in range(len(schedule.branching.segments)) for line in self._segment(number, staged)]
        cases = " ".join([f"i32 {state}, label %{label}" for state, label in enumerate(self.states)])
        self.text = "\n".join(
            (
                "define i32 @run(ptr %tab, ptr %num, i32 %state) {",
                f"  switch i32 %state, label %unknown [{cases}]",
                *body,
                f"unknown:\n  ret i32 {UNKNOWN}",
                f"failed:\n  ret i32 {FAILED}\n}}",
            )
        )

    def _enter(self, segment: int) -> int:
        """The state at the start of a segment."""
        if segment not in self._entered:
            self._entered[segment] = self._state(f"s{segment}")
        return self._entered[segment]

    def _state(self, label: str) -> int:
        self.states.append(label)
        return len(self.states) - 1

    def _pause(self, pause: Pause) -> str:
        self.pauses.append(pause)
        return f"  ret i32 {PAUSED - len(self.pauses) + 1}"

    def _segment(self, number: int, staged: Mapping[int, list[Stage]]) -> Iterator[str]:
        yield f"s{number}:"
        together: list[Stage] = []
        for stage in staged.get(number, ()):
            if not isinstance(stage, Library):
                together.append(stage)
                continue
            yield from self._part(together)
            together = []
            label = f"p{len(self.pauses)}"
            yield self._pause(Pause(stage.slot, self._state(label))) + f"\n{label}:"
        yield from self._part(together)
        one = self.schedule.branching.segments[number]
        if one.guard is None:
            yield f"  ret i32 {one.number}"
        elif one.guard.read is truth and not self.schedule.program.shape(one.guard.slot):
            yield from self._decide(one.guard.slot, one.after)
        else:
            states = {outcome: self._enter(segment) for outcome, segment in one.after.items()}
            yield self._pause(Pause(one.guard.slot, guard=one.guard, states=states))

    def _part(self, stages: list[Stage]) -> Iterator[str]:
        """A call of the function of some stages, and what follows where one has failed."""
        if not stages:
            return
        yield f"  call void @part{len(self.parts)}(ptr %tab, ptr %num)"
        self.parts.append(stages)
        if any(isinstance(stage, Factorise) for stage in stages):
            name = self._name()
            yield from self._loaded(self.memory.failed, name)
            yield f"  {name}.set = fcmp une double {name}, 0.0\n  br i1 {name}.set, label %failed, label %{name[1:]}.on"
            yield f"{name[1:]}.on:"

    def _decide(self, slot: int, after: Mapping[object, int]) -> Iterator[str]:
        """A branch by the truth of a number."""
        name, known = self._name(), self.memory.value(slot)
        if known is None:
            yield from self._loaded(slot, name)
        read = name if known is None else Code(1).literal(known)
        yield f"  {name}.holds = fcmp une double {read}, 0.0"
        labels = [f"s{after[key]}" if key in after else "unknown" for key in (frozen(True), frozen(False))]
        yield f"  br i1 {name}.holds, label %{labels[0]}, label %{labels[1]}"

    def _loaded(self, slot: int, name: str) -> Iterator[str]:
        yield self.memory.number(slot, f"{name}.at")
        yield f"  {name} = load double, ptr {name}.at, align 1"

    def _name(self) -> str:
        self._names += 1
        return f"%n{self._names}"
