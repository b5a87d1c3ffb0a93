"""How what a compiled function needs is lowered: which program machine code is made of, and how it is called.

A program of small arrays is scalarised before it is differentiated, or afterwards where an operation has no expansion
that can be differentiated, and its machine code is called entry by entry; one of large arrays is differentiated as it
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agrad.engine.compile.arguments import flat
from agrad.engine.compile.cost import about, interpreted, least_of_numbers, of_loops, of_numbers, of_stage
from agrad.engine.compile.derive import VALUE, Derivation, TooLong
from agrad.engine.compile.llvm.backend import Lowered, supports
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import Kernel, Library
from agrad.engine.compile.llvm.target import NEEDED, binding
from agrad.engine.compile.scalarise import Unexpanded, scalarised, unrolled
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Program, Step, spans, unchecked
from agrad.engine.program.passes import Rewriting, optimised, rewritten
from agrad.engine.text import counted
from agrad.engine.values import Value, format_shape, mask_type, shape_of, size_of

_MOST = 10_000  # instructions of a value
_MOST_DERIVED = 45_000  # and of what is derived of it


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
    return [*native, Way("python", interpreted(program), counted(len(program.steps), "operation"))]


def _as_numbers(numbers: Program | None, has_arrays: bool) -> Way:
    if numbers is None:
        text = f"an operation has no expansion into numbers, or there are more than {_MOST} instructions"
        return Way("numbers", None, text)
    reason = supports(unchecked(numbers))
    if reason:
        return Way("numbers", None, reason)
    return Way("numbers", of_numbers(numbers, has_arrays), counted(len(numbers.steps), "instruction"))


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
    """All ways to compute a program, a line for each, and the parts of the loops, if these are the cheapest."""
    lines, found = [], ways(program, expanded(program) or _unrolled(program, _MOST))
    best = min([way for way in found if way.cost is not None], key=lambda way: way.cost or 0.0)
    for name, cost, text in found:
        lines.append(f"  {name:8} {f'{about(cost)} a call: ' if cost is not None else 'no: '}{text}")
        if name == best.name == "loops":
            schedule = Schedule(program)
            parts = [of_stage(schedule, stage) for stage in schedule.stages]
            lines += [f"    {about(each)}: {what}" for each, what in parts if what]
    return "\n".join(lines)


def lowered(
    program: Program, values: Sequence[Value], places: Sequence[int], derive: Derivation, as_loops: bool = False
) -> Lowered:
    """What machine code is made of for what is derived of a program by the arguments at some places.

    With `as_loops`, loops over arrays, even where numbers are cheaper.
    """
    groups = [(place,) for place in places]
    if program.is_scalar and not as_loops:
        return Lowered(optimised(derive.program(program, values, groups)))
    has_arrays = any(program.shape(slot) for slot in program.outputs)  # numbers are no mask, and need no call
    if derive is VALUE and has_arrays and any(type(x) is mask_type() for x in program.run(*values)):
        return Lowered(program, reason="its result is a mask, which selects where it is 1")
    by_loops = _as_loops(program).cost if binding() is not None else None
    may_be_numbers = not as_loops and (by_loops is None or least_of_numbers(program) <= by_loops)
    numbers = expanded(program) if may_be_numbers else None
    costs = {name: cost for name, cost, _ in ways(program, numbers) if cost is not None and name != "python"}
    if numbers is not None and min(costs, key=lambda name: costs[name], default="") == "numbers":
        found = _of_entries(program, numbers, values, places, derive)
        if found is not None:
            return found
    made = without_outer(optimised(derive.program(program, values, groups)))
    is_small = may_be_numbers and by_loops is None and _unrolled(program, _MOST) is not None
    numbers = _unrolled(made, _MOST_DERIVED) if is_small else None
    if numbers is None:
        return Lowered(made, name="loops")
    return Lowered(numbers, (tuple([x.shape for x in made.inputs]), tuple(map(made.shape, made.outputs))))


def _unrolled(program: Program, most: int) -> Program | None:
    """The program of numbers of one that is not differentiated further: of more operations than `expanded`."""
    try:
        return None if any(program.shape(check.slot) for check in program.checks) else unrolled(program, most)
    except Unexpanded:
        return None


def without_outer(program: Program) -> Program:
    """A product of a column and a row as one entry by entry, which can be a part of a loop."""

    def visit(new: Rewriting, step: Step, operands: tuple[int, ...]) -> int | None:
        shapes = [new.shape(x) for x in operands]
        if step.op is not OPS["matmul"] or [len(shape) for shape in shapes] != [2, 2] or shapes[0][1] != 1:
            return None
        return new.step(Step(OPS["mul"], (), {}, step.shape), operands)

    return rewritten(program, visit)


def _of_entries(
    program: Program, numbers: Program, values: Sequence[Value], places: Sequence[int], derive: Derivation
) -> Lowered | None:
    inputs = tuple(map(shape_of, values))
    entries = spans(map(size_of, inputs))
    try:
        made = optimised(derive.program(numbers, flat(values), [entries[place] for place in places]))
    except TooLong:
        return None
    if len(made.steps) > _MOST_DERIVED:
        return None
    results = [program.shape(slot) for slot in program.outputs]
    outputs = tuple(derive.outputs(results, [inputs[place] for place in places]))
    return Lowered(made, (inputs, outputs) if any((*inputs, *outputs)) else None)
