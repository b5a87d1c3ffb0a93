"""What it takes to compute a program, in ns on an ordinary machine: estimated by counting, never by a clock.

All that chooses between ways of computing compares these numbers, so that a program takes the same way on every
machine and in every run. `lowered` chooses what machine code is made of: a program of small arrays is scalarised before
it is differentiated, or afterwards where an operation has no expansion that can be differentiated, and its machine code
is called entry by entry; one of large arrays is differentiated as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from agrad.engine.compile.arguments import flat
from agrad.engine.compile.derive import VALUE, Derivation, TooLong
from agrad.engine.compile.llvm import stages
from agrad.engine.compile.llvm.backend import Lowered, supports
from agrad.engine.compile.llvm.loops import reason_against
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.target import NEEDED, binding
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.core.graph import collecting_later
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Program, Rewriting, Step, optimised, rewritten, spans, unchecked
from agrad.engine.text import counted
from agrad.engine.values import Value, format_shape, mask_type, shape_of, size_of

_STEP = 60.0  # of Python, on floats
_TURN = 900.0  # an iteration of a loop in Python, beside its steps
_CALL = 1000.0  # of numpy, of an operation entry by entry
_WHOLE = 3000.0  # the same of other operations, most of which are functions of Python
_ENTRY = 0.8  # that numpy reads and writes
_PRODUCT = 0.15  # of two entries in a product of matrices
_INSTRUCTION = 0.5  # of machine code in a straight line
_PACKED = 0.4  # an entry that goes in or out of such code
_ENTERED = 1200.0  # a call of machine code with arrays
_CALLED = 300.0  # and with numbers
_LOOPED = 3000.0  # a call of loops
_MORE = 7000.0  # the same with gradients, and the arrays for these
_KERNEL = 100.0  # a loop
_FACTORED = 1000.0  # a call of LAPACK or BLAS
_BY_VECTOR = 2**17  # entries of a matrix: with more, BLAS takes less time for a product with a vector
_VECTOR = 0.08  # an instruction of a loop, for an entry
_FUNCTION = 1.0  # a function of the C library in a loop, for an entry
_COMPILED = 60_000.0  # an instruction, from its operation to machine code
_DERIVED = 180_000.0  # the same of a second derivative, which is derived entry by entry
_REPAID = 10_000  # calls among which that is divided
_MOST_DERIVED = 45_000  # instructions of what is derived of a value, such as second derivatives
_PRODUCED = 10_000.0  # a product of a Hessian with a direction, in Python
_TWICE = 6.0  # how many times as long as the value such a product takes
_STARTED = 1e8  # to load LLVM, once
_EXPECTED = 100.0  # how many more calls of a function are expected, for each so far
_LONGEST = 10_000  # instructions of a value, or of an iteration of a loop
_ALIKE = 3.0  # how many entries that are computed may be the same, which are then computed once
_MOST_NUMBERS = 5_000  # instructions: of more, a program of arrays becomes loops
_OF_LOOP = 8  # instructions that take as long to compile as a step of a loop
_OWN = 0.5  # the part of the steps of a specialisation that it does not share with others
_UNINTERRUPTED = 5e6  # that machine code of a loop runs at a time


def interpreted(program: Program) -> float:
    """A call of Python code for the program."""
    return sum([_of_step(program, step) for step in program.steps])


def _of_step(program: Program, step: Step, is_native: bool = False) -> float:
    if step.op.role == "loop":
        body: Program = step.attrs["body"].repeated(is_native)
        count: int = step.attrs["count"]
        sums: int = step.attrs["body"].sizes.sums
        of_body = _INSTRUCTION * len(body.steps) if is_native and body.is_scalar else _TURN + interpreted(body)
        return _WHOLE + count * (of_body + _ENTRY * sums)
    shapes = [program.shape(x) for x in step.operands]
    if not step.shape and not any(shapes):
        return _STEP
    total = (_CALL if step.op.reach == "pointwise" else _WHOLE) + _ENTRY * size_of(step.shape)
    return total + (_PRODUCT * products(step.shape, shapes) if step.op.reach == "mixed" else 0.0)


def products(shape: tuple[int, ...], operands: list[tuple[int, ...]]) -> int:
    """About how many products there are in a result each of whose entries depends on a row of each operand."""
    return size_of(shape) * max([x[-1] for x in operands if x], default=1)


def of_numbers(program: Program, has_arrays: bool) -> float:
    """A call of machine code for a program of numbers, made of one of arrays or not, with its part of compiling it."""
    entered = _ENTERED if has_arrays else _CALLED
    packed = _PACKED * (len(program.inputs) + len(program.outputs))
    return entered + packed + (_INSTRUCTION + _COMPILED / _REPAID) * len(program.steps)


def least_of_numbers(program: Program) -> float:
    """What a call of machine code for a program of numbers takes at least, unless entries of it are often the same."""
    count = sum([size_of(step.shape) for step in program.steps if step.op.reach == "pointwise"])
    mixed = [step for step in program.steps if step.op.reach == "mixed"]
    count += sum([products(step.shape, [program.shape(x) for x in step.operands]) for step in mixed])
    return _ENTERED + (_INSTRUCTION + _COMPILED / _REPAID) * count / _ALIKE


def of_second(program: Program, work: int) -> float:
    """A call of machine code for the second derivatives of a program of numbers: see `hessian.Pattern`.

    Infinite where that has more instructions than machine code is made of.
    """
    count = second_steps(program, work)
    if count > _MOST_DERIVED:
        return math.inf
    return _ENTERED + (_INSTRUCTION + _DERIVED / _REPAID) * count


def second_steps(program: Program, work: int) -> int:
    """About how many instructions that has."""
    return 2 * len(program.steps) + 6 * work


def of_products(count: int, value: float) -> float:
    """So many products of a Hessian with a direction, where the value of the function takes this."""
    return count * (_PRODUCED + _TWICE * value)


def of_loops(schedule: Schedule) -> float:
    """A call of loops in machine code, and of the library in between."""
    return _LOOPED + sum([of_stage(schedule, stage)[0] for stage in schedule.stages])


def of_stage(schedule: Schedule, stage: stages.Stage) -> tuple[float, str]:
    """What one loop, or one function of the library, takes in a call, and what it is; nothing for steps on numbers."""
    match stage:
        case stages.Library():
            step = schedule.step(stage.slot)
            return _of_step(schedule.program, step, is_native=True), f"{step.op.name}, {_by_itself(step)}"
        case stages.Alone():
            return _alone(schedule.program, schedule.step(stage.slot), stage.kind)
        case stages.Factorise():
            return _FACTORED + _PRODUCT * stage.size**3 / 3.0, f"a matrix is factorised, {stage.size}x{stage.size}"
        case stages.Kernel():
            calls = sum([bool(schedule.calls(schedule.step(slot))) for slot in stage.steps])
            simple = len(stage.steps) + len(stage.reads) + len(stage.stores) + len(stage.sums) + len(stage.joins)
            cost = (
                _KERNEL + simple * _COMPILED / _REPAID + size_of(stage.space) * (_VECTOR * simple + _FUNCTION * calls)
            )
            sums = f" and {counted(len(stage.sums), 'sum')}" if stage.sums else ""
            what = f"{counted(len(stage.steps), 'operation')}{sums}"
            return cost, f"a loop over {format_shape(stage.space)}, with {what}"
    return 0.0, ""


def _alone(program: Program, step: Step, kind: str) -> tuple[float, str]:
    """The same of a step that has machine code of its own."""
    name, shapes = step.op.name, [program.shape(x) for x in step.operands]
    if kind == "product":
        (rows, inner), columns = shapes[0], step.shape[1]
        text = f"a product of matrices, {rows}x{inner} by {inner}x{columns}"
        return _KERNEL + _PRODUCT * rows * inner * columns, text
    if kind == "scatter":
        count = size_of(shapes[0])
        return _KERNEL + _FUNCTION * count, f"sums of {count} entries by their places"
    if kind == "running":
        text = f"{name}, an entry from the one before, over {format_shape(step.shape)}"
        return _KERNEL + 2.0 * _FUNCTION * size_of(step.shape), text
    if kind == "repeat":
        count, length = step.attrs["count"], len(step.attrs["body"].native.program.steps)
        what = f"{counted(count, 'iteration')} of {counted(length, 'instruction')}"
        return _KERNEL + count * _INSTRUCTION * length, f"{name}, {what}"
    size, right = step.shape[0], counted(step.shape[1], "column") if len(step.shape) > 1 else "a vector"
    text = f"a system of equations is solved, {size}x{size}, for {right}"
    return _FACTORED + _PRODUCT * size * size_of(step.shape), text


def _by_itself(step: Step) -> str:
    """Why an operation is no part of a loop over entries, or what a loop that it stands for consists of."""
    if step.op.role == "loop":
        body, turns = step.attrs["body"].repeated(True), counted(step.attrs["count"], "iteration")
        if body.is_scalar:
            return f"{turns} of {counted(len(body.steps), 'instruction')}"
        reason = f"which has no expansion into at most {_LONGEST} instructions"
        return f"{turns} of {counted(len(body.steps), 'operation')} on arrays, {reason}"
    if step.op.reach == "pointwise":
        return "which has no machine code"
    return "which moves entries" if step.op.moves_entries and step.op.reach != "mixed" else "by the library"


def instructions(program: Program) -> int:
    """About how many instructions there are in the program with a number for each entry."""
    shapes = program.shapes
    steps = [(step.op.reach, step.shape, [shapes[x] for x in step.operands]) for step in program.steps]
    return sum([products(x, of) if reach == "mixed" else max(map(size_of, (x, *of))) for reach, x, of in steps])


def compiling(length: float) -> float:
    """To make machine code of so many instructions, before anything is computed."""
    return _STARTED + _COMPILED * length


def iterations_to_repay(program: Program) -> float:
    """How many iterations of a program, which Python would compute otherwise, machine code pays for."""
    length = instructions(program)
    gain = interpreted(program) - _INSTRUCTION * length
    return compiling(length) / gain if length <= _LONGEST and gain > 0.0 else math.inf


def repaid_by_one_function(length: int) -> float:
    """What calls of several specialisations have taken when one function for them has paid: see `length_of_code`."""
    return compiling(_OWN * length)


def length_of_code(program: Program) -> int:
    """About how many instructions of machine code take as long to compile as the code of a program."""
    count = instructions(program)
    return count if program.is_scalar or count <= _MOST_NUMBERS else _OF_LOOP * len(program.steps)


def native(program: Program) -> float:
    """A call of machine code for a program with arrays, as numbers or as loops, before either is made."""
    count = instructions(program)
    if count <= _MOST_NUMBERS:
        return _ENTERED + _INSTRUCTION * count
    return _LOOPED + _ENTRY * sum([size_of(step.shape) for step in program.steps])


def iterations_at_once(length: int) -> int:
    """How many iterations of so many instructions run between two moments at which Python can be interrupted."""
    return math.ceil(_UNINTERRUPTED / (_INSTRUCTION * max(length, 1)))


def calls_before_machine_code(called: float, length: int) -> tuple[float, str]:
    """How many calls Python computes, at this each, before so many instructions are compiled; and why, in words."""
    cost = compiling(length)
    terms = f"Python takes {about(called)} a call, {counted(length, 'instruction')} take {about(cost)} to compile"
    return cost / (_EXPECTED * max(called, _STEP)), f"{terms}, and {_EXPECTED:.0f} calls are expected for each"


def about(cost: float) -> str:
    """An estimate in words."""
    return f"about {cost / 1000:.3g} µs" if cost < 1e6 else f"about {cost / 1e6:.3g} ms"


# Which way is taken


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
        text = f"an operation has no expansion into numbers, or there are more than {_LONGEST} instructions"
        return Way("numbers", None, text)
    reason = supports(unchecked(numbers))
    if reason:
        return Way("numbers", None, reason)
    return Way("numbers", of_numbers(numbers, has_arrays), counted(len(numbers.steps), "instruction"))


def _as_loops(program: Program) -> Way:
    if program.is_scalar:
        return Way("loops", None, "it computes with numbers alone")
    schedule = Schedule(with_loops(unchecked(program)))
    reason = reason_against(schedule)
    if reason is not None:
        return Way("loops", None, reason)
    loops = [stage for stage in schedule.stages if isinstance(stage, stages.Kernel)]
    calls = [schedule.step(stage.slot).op.name for stage in schedule.stages if isinstance(stage, stages.Library)]
    spaces = ", ".join(dict.fromkeys([format_shape(x.space) for x in loops]))
    text = f"{len(loops)} over {spaces}" if loops else "none over entries"
    called = ", ".join(dict.fromkeys(calls))
    return Way("loops", of_loops(schedule), text + (f"; by the library {called}" if called else ""))


def expanded(program: Program) -> Program | None:
    """A program of small arrays as one of numbers."""
    return program if program.is_scalar else scalarised(program, _LONGEST)


def explained(program: Program) -> str:
    """All ways to compute a program, a line for each, and the parts of the loops, if these are the cheapest."""
    lines, found = [], ways(program, expanded(program) or scalarised(program, _LONGEST, True))
    best = min([way for way in found if way.cost is not None], key=lambda way: way.cost or 0.0)
    for name, cost, text in found:
        lines.append(f"  {name:8} {f'{about(cost)} a call: ' if cost is not None else 'no: '}{text}")
        if name == best.name == "loops":
            schedule = Schedule(with_loops(program))
            parts = [of_stage(schedule, stage) for stage in schedule.stages]
            lines += [f"    {about(each)}: {what}" for each, what in parts if what]
    return "\n".join(lines)


@collecting_later()
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
    of_value = _as_loops(program).cost if binding() is not None else None
    by_loops = None if of_value is None else of_value + _MORE
    may_be_numbers = not as_loops and (by_loops is None or least_of_numbers(program) <= by_loops)
    numbers = expanded(program) if may_be_numbers else None
    by_numbers = _as_numbers(numbers, not program.is_scalar).cost if numbers is not None else None
    if numbers is not None and by_numbers is not None and (by_loops is None or by_numbers <= by_loops):
        found = _of_entries(program, numbers, values, places, derive)
        if found is not None:
            return found
    made = with_loops(optimised(derive.program(program, values, groups)))
    is_small = may_be_numbers and by_loops is None and scalarised(program, _LONGEST, True) is not None
    numbers = scalarised(made, _MOST_DERIVED, True) if is_small else None
    if numbers is None:
        return Lowered(made, name="loops")
    return Lowered(numbers, (tuple([x.shape for x in made.inputs]), tuple(map(made.shape, made.outputs))))


def with_loops(program: Program) -> Program:
    """Products of a column and a row, and of small matrices and vectors, entry by entry: loops can have these."""

    def visit(new: Rewriting, step: Step, operands: tuple[int, ...]) -> int | None:
        if step.op is not OPS["matmul"]:
            return None
        shapes = [new.shape(x) for x in operands]
        axes, shape = [len(x) for x in shapes], max(shapes, key=len)
        if axes == [2, 2] and shapes[0][1] == 1:
            return new.step(Step(OPS["mul"], (), {}, step.shape), operands)
        if axes == [2, 2] or len(shape) > 2 or not 0 < size_of(shape) <= _BY_VECTOR:
            return None
        axis, (matrix, vector) = axes[0] - 1, operands if axes[0] == 2 else operands[::-1]
        made = new.made_by(matrix)
        if made is not None and made[0].op is OPS["permute"] and len(shape) == 2:  # entries that are read in a row
            (matrix,), axis, shape = made[1], 1 - axis, shape[::-1]
        if len(shape) == 2 and not axis:
            column = shape[0], 1
            vector = new.step(Step(OPS["reshape"], (), {"shape": column, "old": shape[:1]}, column), (vector,))
        attrs = {"axis": (axis,), "keepdims": False, "wide": (*shape[:axis], 1, *shape[axis + 1 :])}
        found = new.step(Step(OPS["mul"], (), {}, shape), (matrix, vector))
        return new.step(Step(OPS["sum"], (), attrs, step.shape), (found,))

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
