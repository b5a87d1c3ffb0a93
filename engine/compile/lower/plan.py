"""How what a compiled function needs is lowered: which program machine code is made of, and how it is called.

A program of small arrays is scalarised before it is differentiated; one of large arrays is differentiated as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from agrad.engine.autodiff.transforms import jacobian
from agrad.engine.compile.backend import NativeCode
from agrad.engine.compile.llvm.backend import supports
from agrad.engine.compile.llvm.loops.schedule import Kernel, Library, Schedule
from agrad.engine.compile.llvm.target import NEEDED, binding
from agrad.engine.compile.lower.cost import interpreted, of_loops, of_numbers
from agrad.engine.compile.lower.packed import Packed
from agrad.engine.compile.lower.scalarise import scalarised
from agrad.engine.core.context import current
from agrad.engine.core.graph import reachable
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.program.ir import Program, unchecked
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import as_graph, checked, extract, gradient_of, gradients
from agrad.engine.values import Shape, Value, format_shape, mask_type, np, size_of

_MOST = 10_000  # instructions of a value
_MOST_DERIVED = 45_000  # and of what is derived of it
_MOST_ROWS = 20_000  # steps of a Jacobian row by row

Derive: TypeAlias = Callable[[Program, Sequence[Value], Sequence[Sequence[int]]], Program]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program for machine code; of one that was scalarised, the shapes of its inputs and outputs."""

    program: Program
    shapes: tuple[tuple[Shape, ...], tuple[Shape, ...]] | None = None
    name: str = "numbers"
    reason: str = ""  # why there is no machine code for it, if that is known

    def called(self, native: NativeCode, checks: int) -> NativeCode:
        """The code of the program, with so many numbers for checks, as the function is called."""
        if self.shapes is None:
            return native
        inputs, outputs = self.shapes
        return Packed(native, inputs, (*outputs, *[()] * checks))


class TooLong(Exception):
    """The derived program would have too many steps."""


class Way(NamedTuple):
    """One way to compute a program: its name, what a call takes in ns (None: there is no such way), and about it."""

    name: str
    cost: float | None
    text: str


def ways(program: Program, numbers: Program | None) -> list[Way]:
    """All ways to compute a program, of which `numbers` is the one of numbers if there is one."""
    if binding() is None:
        native = [Way(name, None, f"{NEEDED} is not installed") for name in ("numbers", "loops")]
    else:
        native = [_as_numbers(numbers, not program.is_scalar), _as_loops(program)]
    return [*native, Way("python", interpreted(program), _counted(len(program.steps), "operation"))]


def _as_numbers(numbers: Program | None, has_arrays: bool) -> Way:
    if numbers is None:
        text = f"an operation has no expansion into numbers, or there are more than {_MOST} instructions"
        return Way("numbers", None, text)
    reason = supports(unchecked(numbers))
    if reason:
        return Way("numbers", None, reason)
    return Way("numbers", of_numbers(numbers, has_arrays), _counted(len(numbers.steps), "instruction"))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _as_loops(program: Program) -> Way:
    reason = "it computes with numbers alone" if program.is_scalar else supports(unchecked(program))
    if reason:
        return Way("loops", None, reason)
    schedule = Schedule(program)
    loops = [stage for stage in schedule.stages if isinstance(stage, Kernel)]
    calls = [schedule.step(stage.slot).op.name for stage in schedule.stages if isinstance(stage, Library)]
    spaces = ", ".join(dict.fromkeys([format_shape(x.space) for x in loops]))
    text = f"{len(loops)} over {spaces}" if loops else "none over entries"
    called = ", ".join(dict.fromkeys(calls))
    return Way("loops", of_loops(schedule), text + (f"; by the library {called}" if called else ""))


def expanded(program: Program) -> Program | None:
    """A program of small arrays as one of numbers."""
    return program if program.is_scalar else scalarised(program, _MOST)


def explained(program: Program) -> str:
    """All ways to compute a program, a line for each."""
    lines = []
    for name, cost, text in ways(program, expanded(program)):
        lines.append(f"  {name:8} {f'about {cost / 1000:.3g} µs a call: ' if cost is not None else 'no: '}{text}")
    return "\n".join(lines)


def lowered(program: Program, values: Sequence[Value], places: Sequence[int], derive: Derive) -> Lowered:
    """What machine code is made of for what is derived of a program by the arguments at some places."""
    groups = [(place,) for place in places]
    if program.is_scalar:
        return Lowered(optimised(derive(program, values, groups)))
    if derive is value and type(program.run(*values)[0]) is mask_type():
        return Lowered(program, reason="its result is a mask, which selects where it is 1")
    numbers = expanded(program)
    costs = {name: cost for name, cost, _ in ways(program, numbers) if cost is not None and name != "python"}
    if numbers is not None and min(costs, key=lambda name: costs[name], default="") == "numbers":
        found = _of_entries(program, numbers, values, places, derive)
        if found is not None:
            return found
    return Lowered(optimised(derive(program, values, groups)), name="loops")


def _of_entries(
    program: Program, numbers: Program, values: Sequence[Value], places: Sequence[int], derive: Derive
) -> Lowered | None:
    flat = [x for value in values for x in ([value] if isinstance(value, float) else value.ravel().tolist())]
    starts = np.cumsum([0, *[size_of(x.shape) for x in program.inputs]]).tolist()
    try:
        made = optimised(derive(numbers, flat, [range(starts[place], starts[place + 1]) for place in places]))
    except TooLong:
        return None
    if len(made.steps) > _MOST_DERIVED:
        return None
    inputs = tuple([x.shape for x in program.inputs])
    result = program.shape(program.outputs[0])
    given = [inputs[place] for place in places]
    outputs = (result,) if derive is value else (result, *given)
    if derive is rows:
        outputs = tuple([result + x for x in given])
    return Lowered(made, (inputs, outputs) if any((*inputs, *outputs)) else None)


# What is derived, by groups of inputs: one for each argument


def value(program: Program, values: Sequence[Value], groups: Sequence[Sequence[int]]) -> Program:
    """The program itself."""
    return program


def gradient(program: Program, values: Sequence[Value], groups: Sequence[Sequence[int]]) -> Program:
    """One number and its gradients."""
    return gradient_of(program, values, [place for group in groups for place in group])


def rows(program: Program, values: Sequence[Value], groups: Sequence[Sequence[int]]) -> Program:
    """The Jacobian by each group: of all outputs, in order, by all inputs of the group.

    Raises TooLong where a backward pass from each entry of the outputs makes too many steps.
    """
    count = len(program.outputs)
    entries = sum(size_of(program.shape(slot)) for slot in program.outputs)
    if entries * len(program.steps) > _MOST_ROWS * (10 if program.is_scalar else 1):
        raise TooLong
    wrt = [place for group in groups for place in group]
    with as_graph(program, values, wrt) as (results, xs):
        if program.is_scalar:
            by_output = [dict(zip(wrt, gradients(y, [xs[x] for x in wrt]), strict=True)) for y in results[:count]]
            found = [row[place] for group in groups for row in by_output for place in group]
        else:
            (y,) = results[:count]
            found = _by_arrays(y, [xs[place] for place in wrt])
        names = [given.name for given in program.inputs]
        made = extract([*found, *results[count:]], xs, names, current().guard)
    return checked(made, program.checks)


def _by_arrays(y: Tensor, xs: list[Tensor]) -> list[Tensor]:
    """The Jacobian of an array; 0 by what it does not depend on."""
    behind = reachable(y.node) if y.requires_grad else set()
    used = [x for x in xs if x.node in behind]
    found = dict(zip([x.node for x in used], jacobian(y, used, True), strict=True)) if used else {}
    zeros = [tensor(np.zeros(y.shape + x.shape) if y.shape + x.shape else 0.0) for x in xs]
    return [found.get(x.node, zero) for x, zero in zip(xs, zeros, strict=True)]
