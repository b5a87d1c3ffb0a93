"""`Program`: straight-line code, their inputs and constants, and the guards that must hold."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from agrad.engine.core.dispatch import compute
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import Op
from agrad.engine.values import Shape, Value, settle, shape_of

# Dataclasses, since programs are long: a Struct takes twice as long to make.


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a program."""

    name: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction: an operation on slots, and the shape of its result."""

    op: Op
    operands: tuple[int, ...]
    attrs: dict[str, Any]
    shape: Shape


@dataclass(frozen=True, slots=True)
class GuardCheck:
    """A guard in a program: the slot that it reads, how it reads the value, the expected outcome, and a text."""

    slot: int
    read: Callable[[Value], object]
    outcome: object
    text: str

    def holds(self, value: Value) -> bool:
        """Whether the guard has its expected outcome; False if the value cannot be read (`int(nan)`)."""
        try:
            found = self.read(value)
        except (ValueError, OverflowError):
            return False
        return found == self.outcome or (found != found and self.outcome != self.outcome)


class Diverged(Exception):
    """A guard has another outcome than where the program was traced; its argument is the number of the check."""


@dataclass(slots=True, eq=False)
class Program:
    """Slots are numbered: the inputs, then the constants, then a slot for each step."""

    inputs: tuple[Input, ...]
    constants: tuple[Value, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    checks: tuple[GuardCheck, ...]

    @property
    def first(self) -> int:
        """The slot of the first step."""
        return len(self.inputs) + len(self.constants)

    @property
    def is_scalar(self) -> bool:
        """Whether all of its values are numbers, and none an array."""
        shapes = [*[x.shape for x in self.inputs], *map(shape_of, self.constants), *[x.shape for x in self.steps]]
        return not any(shapes)

    def shape(self, slot: int) -> Shape:
        """The shape of the value in a slot."""
        if slot >= self.first:
            return self.steps[slot - self.first].shape
        inputs = len(self.inputs)
        return self.inputs[slot].shape if slot < inputs else shape_of(self.constants[slot - inputs])

    def operands(self, slot: int) -> tuple[int, ...]:
        """What the step of a slot is computed from; nothing for an input or a constant."""
        return self.steps[slot - self.first].operands if slot >= self.first else ()

    def run(self, *values: Value) -> tuple[Value, ...]:
        """The outputs, step by step, as a replay computes them. Raises Diverged where a check does not hold."""
        slots = self.computed(values)
        return tuple([own(slots[slot]) for slot in self.outputs])

    def computed(self, values: Sequence[Value]) -> list[Value]:
        """What is in all slots, computed in the same way."""
        slots = [*values, *self.constants]
        checks = checks_of(self)
        with quiet():
            for slot in range(len(slots) + len(self.steps)):
                if slot >= self.first:
                    step = self.steps[slot - self.first]
                    slots.append(computed(step.op, tuple([slots[x] for x in step.operands]), step.attrs))
                for number in checks.get(slot, ()):
                    if not self.checks[number].holds(slots[slot]):
                        raise Diverged(number)
        return slots


def computed(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> Value:
    """The result of an operation: there are no views.

    Only the rules of linear algebra turn a matrix in place, also here: the rounding of BLAS depends on the memory
    layout.
    """
    value = compute(op, values, attrs)
    return value if op.role == "view" else own(value)


def called(op: Op, *values: Value, **attrs: Any) -> Value:
    """The same where a value is an array: its array function, unless that raises an error that says less."""
    try:
        value = settle(op.array(*values, **attrs))
        return value if op.role == "view" else own(value)
    except (ValueError, IndexError, MemoryError):
        return computed(op, values, attrs)


def own(value: Value) -> Value:
    """The value, copied if it is a view of another array."""
    if type(value) is float or value.base is None:  # type: ignore[union-attr]
        return value
    return value.copy()  # type: ignore[union-attr]


def checks_of(program: Program) -> dict[int, list[int]]:
    """The numbers of the checks that read a slot, for each slot."""
    found: dict[int, list[int]] = {}
    for number, check in enumerate(program.checks):
        found.setdefault(check.slot, []).append(number)
    return found


def spans(lengths: Iterable[int]) -> list[range]:
    """Where parts of these lengths are that lie one after the other."""
    return [range(begin, end) for begin, end in pairwise(accumulate(lengths, initial=0))]


def assembled(
    inputs: Iterable[Input],
    constants: Iterable[Value],
    steps: Iterable[tuple[Step, Iterable[Any]]],
    outputs: Iterable[Any],
    checks: Iterable[tuple[GuardCheck, Any]],
    place: Callable[[Any], int],
) -> Program:
    """A program of steps, with their operands, and of checks, with what they read, of which `place` gives the slots."""
    return Program(
        tuple(inputs),
        tuple(constants),
        tuple([Step(s.op, tuple(map(place, operands)), s.attrs, s.shape) for s, operands in steps]),
        tuple(map(place, outputs)),
        tuple([GuardCheck(place(slot), c.read, c.outcome, c.text) for c, slot in checks]),
    )


def needed(wanted: Iterable[int], known: Container[int], operands: Callable[[int], Iterable[int]]) -> list[int]:
    """What has to be computed for some slots, but for what is known, in order: operands have smaller numbers."""
    found, stack = set[int](), [*wanted]
    while stack:
        slot = stack.pop()
        if slot not in found and slot not in known:
            found.add(slot)
            stack += operands(slot)
    return sorted(found)


def unchecked(program: Program) -> Program:
    """The program with the slots that its checks read as further outputs: the caller evaluates the checks."""
    return replace(program, outputs=(*program.outputs, *[check.slot for check in program.checks]), checks=())
