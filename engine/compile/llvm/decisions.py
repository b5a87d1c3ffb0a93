"""Machine code for several specialisations of a function: one function, in which they share what is common.

The guards are a tree: what is computed before a guard is there once, and behind it the function branches. The end of a
branch gives the outputs of a specialisation; where none is known, the function says so. `Decisions` is for numbers;
arrays that have become numbers are passed entry by entry. `Branches` is for loops over arrays. `joined` chooses.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from agrad.engine.compile.arguments import packing, reading, row_of
from agrad.engine.compile.llvm.backend import buffered
from agrad.engine.compile.llvm.ir_builder import Code, counted, loads, module, of_step, stores
from agrad.engine.compile.llvm.loops import UNKNOWN, Loops, reason_against
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.target import LONG, binding, compiled, function, in_pieces
from agrad.engine.compile.paths import Branching, Paths, branching
from agrad.engine.compile.plan import Lowered
from agrad.engine.compile.scalarise import regular
from agrad.engine.compile.symbols import UnwrittenError, lower
from agrad.engine.core.guards import bits, truth
from agrad.engine.program.ir import Program
from agrad.engine.program.passes import frozen
from agrad.engine.values import Array, Shape, Value, np, size_of

# The outcomes where a number is not 0, and where it is.
_HOLDS: dict[Callable[[Value], object], tuple[object, object]] = {
    truth: (frozen(True), frozen(False)),
    regular: (frozen(False), frozen(True)),
}


class Decisions:
    """The function of some paths through the guards of a function, whose values are numbers.

    `inputs` and `outputs` are the shapes of the arguments, and for each program those of its outputs, of which its
    numbers are the entries.
    """

    unit = "instructions"

    def __init__(
        self, paths: Paths, inputs: Sequence[Shape], outputs: Sequence[Sequence[Shape]], has_doubts: bool
    ) -> None:
        self.paths, self.members = paths, paths.members
        self.has_doubts = has_doubts  # a path that is not known may be one whose numbers are not as expected
        self._pack = packing(inputs)
        # Of results, before their number.
        self._size = max([sum(map(size_of, outputs[number])) for number in self.members])
        self.text, self.length = self._written(branching(paths))
        self._engine = compiled(self.text, self.length < LONG)
        self._compute = buffered(self._engine, "decide", 8 * (self._size + 1))
        self._read = _reading({number: reading(outputs[number]) for number in self.members}, 8 * self._size)

    def call(self, values: tuple[Any, ...]) -> tuple[int, tuple[Value, ...]] | None:
        """The number of the specialisation that holds, and its outputs; None where none of these does."""
        return self._compute(self._pack(*values), self._read)  # type: ignore[no-any-return]

    def which(self, columns: Sequence[Array], threads: int | None) -> Any:
        """The number of the specialisation that holds for each row of some columns, or UNKNOWN."""
        count = len(columns[0])
        given = np.concatenate([np.asarray(x, np.float64).reshape(count, -1) for x in columns], axis=1)
        found = np.empty((count, self._size + 1))
        addresses = [one.ctypes.data for one in (given, found)]

        def work(first: int, end: int, kept: object = (given, found)) -> None:
            """Some rows; the arrays stay alive while a thread has their addresses."""
            self._function_of_rows(*addresses, first, end)

        in_pieces(count, work, threads)
        return found[:, -1].copy().view(np.int64)

    @cached_property
    def _function_of_rows(self) -> Any:
        return function(self._engine, "decide_rows", None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)

    def _written(self, tree: Branching) -> tuple[str, int]:
        """The text of the function, and how many instructions it has."""
        code, program, inputs = Code(1), tree.program, len(tree.program.inputs)
        head = ["define void @decide(ptr noalias %in, ptr noalias %out) noinline {"]
        head += [*loads("%in", range(inputs)), f"  %number = getelementptr double, ptr %out, i64 {self._size}"]
        slots = [code.argument(f"%x{place}") for place in range(inputs)]
        slots += [code.constant(float(value)) for value in program.constants]
        known: dict[int, dict[str, str]] = {}  # the instructions on the way to the end of a segment
        for number, one in enumerate(tree.segments):
            if one.before is not None:
                is_last = number == max(tree.segments[one.before].after.values())
                code.known = known.pop(one.before) if is_last else dict(known[one.before])
                code.lines.append(f"s{number}:")
            for step in program.steps[one.first - program.first : one.end - program.first]:
                slots.append(lower(step.op, [slots[x] for x in step.operands], step.attrs))
            if one.guard is None:
                code.lines += stores("%out", [slots[slot].text for slot in one.outputs], f"%q{number}.")
                code.lines.append(_returned(one.number))
                continue
            known[number] = code.known
            after = [one.after.get(outcome) for outcome in _HOLDS[one.guard.read]]
            labels = [f"label %u{number}" if segment is None else f"label %s{segment}" for segment in after]
            code.lines.append(f"  %holds{number} = fcmp une double {slots[one.guard.slot].text}, 0x0000000000000000")
            code.lines.append(f"  br i1 %holds{number}, {', '.join(labels)}")
            code.lines += [f"u{number}:", _returned(UNKNOWN)] if None in after else []
        body = "\n".join((*head, *code.lines, "}"))
        each = (
            f"  %from = mul i64 %row, {inputs}\n  %given = getelementptr double, ptr %in, i64 %from",
            f"  %to = mul i64 %row, {self._size + 1}\n  %found = getelementptr double, ptr %out, i64 %to",
            "  call void @decide(ptr %given, ptr %found)",
        )
        rows = "define void @decide_rows(ptr %in, ptr %out, i64 %first, i64 %end) {\nentry:"
        text = "\n".join((rows, *counted("row", "entry", "%end", each, "%first"), "  ret void\n}"))
        return module([code], body, text), len(code.lines)


def _returned(number: int) -> str:
    """The end of a path: its number, behind its results."""
    return f"  store i64 {number}, ptr %number\n  ret void"


def _reading(parts: Mapping[int, Callable[[Any], tuple[Value, ...]]], end: int) -> Callable[[Any], Any]:
    """The function from a buffer to the number at its end, and the results of that path; None where it is not known."""
    number_at = struct.Struct("q").unpack_from

    def read(buffer: Any) -> Any:
        (number,) = number_at(buffer, end)
        return None if number == UNKNOWN else (number, parts[number](buffer))

    return read


def decided(
    programs: Sequence[Program], most: int, shapes: tuple[Sequence[Shape], Sequence[Sequence[Shape]]] | None = None
) -> Decisions | None:
    """The function of some programs, of at most so many steps; None where an operation of them has no machine code.

    `shapes`: of the arguments, and for each program those of its outputs, where they are not all numbers.
    """
    fitting = [one if one.is_scalar and all(check.read in _HOLDS for check in one.checks) else None for one in programs]
    steps = {(s.op.name, repr(s.attrs)): s for one in fitting if one is not None for s in one.steps}
    try:
        for step in steps.values():
            of_step(step)
    except UnwrittenError:
        return None
    numbers = [()] * len(programs[0].inputs), [[()] * len(one.outputs) for one in programs]
    paths = Paths(fitting, most)
    if not paths.members:
        return None
    has_doubts = any(check.read is regular for number in paths.members for check in programs[number].checks)
    return Decisions(paths, *(shapes or numbers), has_doubts)


class Branches:
    """The function of some paths through the guards of a function."""

    unit = "operations on arrays and numbers"

    def __init__(self, paths: Paths, schedule: Schedule) -> None:
        self.paths, self.members = paths, paths.members
        self.loops = Loops(schedule)
        self.has_doubts = bool(schedule.systems)  # a path that is not known may be one with a singular matrix
        self.length = len(schedule.program.steps)

    def call(self, values: tuple[Value, ...]) -> tuple[int, tuple[Value, ...]] | None:
        """The number of the specialisation that holds, and its outputs; None where none of these does."""
        return self.loops.along(values)

    def which(self, columns: Sequence[Array], threads: int | None) -> Any:
        """The number of the specialisation that holds for each row of some columns, or UNKNOWN."""
        hits = [self.call(row_of(columns, row)) for row in range(len(columns[0]))]
        return np.array([UNKNOWN if hit is None else hit[0] for hit in hits])


def branched(programs: Sequence[Program], most: int) -> Branches | None:
    """The function of some programs, of at most so many steps; None where there is no machine code for it."""
    fitting = [None if any(check.read is bits for check in one.checks) else one for one in programs]
    paths = Paths(fitting, most)
    if not paths.members:
        return None
    schedule = Schedule(branching(paths))
    if reason_against(schedule) is not None:
        return None
    found = Branches(paths, schedule)
    return None if found.loops.memory.is_singular else found


MOST = 60_000  # steps of the function
_MOST_LOOPS = 4_000  # the same of loops over arrays


def joined(paths: Sequence[Lowered]) -> tuple[Decisions | Branches, list[int]] | None:
    """One function for at least two of these programs, and the place of the program of each of its numbers.

    None where there is none. It is one of numbers or of loops, as most of the programs are; the first ones have
    precedence.
    """
    if binding() is None:
        return None
    usable = [place for place, one in enumerate(paths) if not one.reason]
    of_kind = [[place for place in usable if paths[place].name == name] for name in ("numbers", "loops")]
    members = max(of_kind, key=len)
    if len(members) < 2:
        return None
    chosen = [paths[place] for place in members]
    programs = [one.program for one in chosen]
    code: Decisions | Branches | None
    if chosen[0].name == "loops":
        code = branched(programs, _MOST_LOOPS)
    else:
        inputs = chosen[0].shapes[0] if chosen[0].shapes is not None else [()] * len(programs[0].inputs)
        outputs = [one.shapes[1] if one.shapes is not None else [()] * len(one.program.outputs) for one in chosen]
        code = decided(programs, MOST, (inputs, outputs))
    return None if code is None or len(code.members) < 2 else (code, members)
