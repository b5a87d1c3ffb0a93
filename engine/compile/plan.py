"""How what a compiled function needs is lowered: which program machine code is made of, and how it is called.

A program of small arrays is scalarised before it is differentiated, and its machine code is called entry by entry
(`Packed`); one of large arrays is differentiated as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agrad.engine.compile.arguments import flat
from agrad.engine.compile.cost import interpreted, least_of_numbers, of_loops, of_numbers, of_stage
from agrad.engine.compile.derive import VALUE, Derivation, TooLong
from agrad.engine.compile.llvm.backend import supports
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import Kernel, Library
from agrad.engine.compile.llvm.target import NEEDED, binding
from agrad.engine.compile.registry import NativeCode
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Program, Step, spans, unchecked
from agrad.engine.program.passes import Rewriting, optimised, rewritten
from agrad.engine.struct import Struct
from agrad.engine.text import counted
from agrad.engine.values import Array, Shape, Value, format_shape, mask_type, np, size_of

_MOST = 10_000  # instructions of a value
_MOST_DERIVED = 45_000  # and of what is derived of it


class Lowered(Struct):
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
    lines, found = [], ways(program, expanded(program))
    best = min([way for way in found if way.cost is not None], key=lambda way: way.cost or 0.0)
    for name, cost, text in found:
        lines.append(f"  {name:8} {f'{_about(cost)} a call: ' if cost is not None else 'no: '}{text}")
        if name == best.name == "loops":
            schedule = Schedule(program)
            parts = [of_stage(schedule, stage) for stage in schedule.stages]
            lines += [f"    {_about(each)}: {what}" for each, what in parts if what]
    return "\n".join(lines)


def _about(cost: float) -> str:
    return f"about {cost / 1000:.3g} µs"


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
    return Lowered(without_outer(optimised(derive.program(program, values, groups))), name="loops")


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
    entries = spans([size_of(x.shape) for x in program.inputs])
    try:
        made = optimised(derive.program(numbers, flat(values), [entries[place] for place in places]))
    except TooLong:
        return None
    if len(made.steps) > _MOST_DERIVED:
        return None
    inputs = tuple([x.shape for x in program.inputs])
    results = [program.shape(slot) for slot in program.outputs]
    outputs = tuple(derive.outputs(results, [inputs[place] for place in places]))
    return Lowered(made, (inputs, outputs) if any((*inputs, *outputs)) else None)


_ROWS = 8192  # of columns that are computed at once


class Unpacking:
    """From entries, as machine code writes them, to numbers and arrays of some shapes."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        places = spans([8 * size_of(shape) for shape in shapes])
        self._parts = [(one.start, shape) for one, shape in zip(places, shapes, strict=True)]
        self._numbers = None if any(shapes) else struct.Struct(f"{len(shapes)}d").unpack_from
        self.size = sum(map(len, places))  # in bytes

    def parts(self, found: bytearray) -> list[Value]:
        """The parts, of which the arrays share their memory with what they are read from."""
        return [
            np.ndarray(shape, "d", found, start) if shape else struct.unpack_from("d", found, start)[0]
            for start, shape in self._parts
        ]

    def read(self, buffer: Any) -> tuple[Value, ...]:
        """The same from a buffer that is used again."""
        if self._numbers is not None:
            return self._numbers(buffer)
        return tuple(self.parts(bytearray(memoryview(buffer)[: self.size])))


def packing(shapes: Sequence[Shape]) -> Callable[..., bytes]:
    """The function from floats and contiguous arrays of some shapes to the bytes that machine code reads."""
    return _joined if any(shapes) else struct.Struct(f"{len(shapes)}d").pack


def _joined(*values: Value) -> bytes:
    return b"".join([struct.pack("d", value) if isinstance(value, float) else value.tobytes() for value in values])


class Packed:
    """The code of a program of numbers as that of one of arrays: inputs and outputs of these shapes."""

    def __init__(self, native: Any, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> None:
        self.native = native
        self._kinds: list[tuple[Any, Shape]] = [(np.ndarray, shape) if shape else (float, ()) for shape in inputs]
        self._double = np.dtype(np.float64)
        self._outputs = Unpacking(outputs).parts
        self._array, self._only = np.ndarray, inputs[0] if len(inputs) == 1 and inputs[0] else None

    def call(self, *values: Value) -> tuple[Value, ...]:
        """The outputs, arrays of their own, for floats and contiguous arrays."""
        return tuple(self._outputs(self.native.raw(_joined(*values))))

    def quickly(self, args: tuple[Any, ...]) -> list[Value] | None:
        """The outputs for floats and arrays of the shapes of the inputs, in any layout; None for anything else."""
        if self._only is not None and len(args) == 1:
            (one,) = args
            if type(one) is not self._array or one.shape != self._only or one.dtype is not self._double:
                return None
            return self._outputs(self.native.raw(one.tobytes()))
        if len(args) != len(self._kinds):
            return None
        parts = []
        for x, (kind, shape) in zip(args, self._kinds, strict=True):
            if type(x) is not kind or (shape and (x.shape != shape or x.dtype is not self._double)):
                return None
            parts.append(x.tobytes() if shape else struct.pack("d", x))
        return self._outputs(self.native.raw(parts[0] if len(parts) == 1 else b"".join(parts)))

    def shortcut(self, ask: Callable[..., Any], known: Sequence[Value] | None, is_single: bool) -> Callable[..., Any]:
        """A function from values to the first output and a tuple of the rest, or with `is_single` the one other.

        Where its arguments are not floats and arrays of its shapes, or not those `known` (any if None), it calls `ask`
        with them.
        """
        if known is not None:
            return ask
        quickly = self.quickly

        def call(*args: Any) -> Any:
            found = quickly(args)
            if found is None:
                return ask(*args)
            return found[0], found[1] if is_single else tuple(found[1:])

        return call

    def source(self) -> str:
        """The code of the numbers."""
        found: str = self.native.source()
        return found

    def map(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None = None) -> None:
        """Write the outputs of each row of the columns, whose rows are of the shapes of the inputs, into `outs`."""
        rows = len(outs[0])
        for start in range(0, rows, _ROWS):
            here = slice(start, start + _ROWS)
            given = [column for table in columns for column in table[here].reshape(-1, _width(table)).T]
            made = [np.empty((_width(out), len(out[here]))) for out in outs]
            self.native.map(given, [column for table in made for column in table], threads)
            for out, table in zip(outs, made, strict=True):
                out[here] = table.T.reshape(out[here].shape)


def _width(table: Array) -> int:
    """The entries of a row."""
    return size_of(table.shape[1:])
