"""Loops whose iterations depend on each other, in machine code.

`Repeated` computes a program of numbers again and again, each time from its last state. `Iterated` changes numbers in
place, as long as every iteration takes the same path. `Stepped` is for a body of arrays: what is the same in each
iteration is computed, and factorised, once.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from agrad.engine.compile.cost import interpreted, of_loops
from agrad.engine.compile.llvm.backend import written
from agrad.engine.compile.llvm.ir_builder import Code, Grouped, counted, loads, module, stores
from agrad.engine.compile.llvm.loops import Loops, reason_against
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import transposes
from agrad.engine.compile.llvm.target import LONG, binding, compiled, function, llvmlite, machine
from agrad.engine.compile.plan import without_outer
from agrad.engine.program.ir import Input, Program, Step, assembled
from agrad.engine.program.passes import optimised, prune
from agrad.engine.values import Array

PIECE = 1 << 16  # iterations between two moments at which Python can be interrupted


@dataclass(eq=False)
class Repeated:
    """The loop. The program takes the state, a row and what is the same, and gives the state, results and sums."""

    program: Program
    sizes: tuple[int, int, int]
    width: int  # how many outputs an iteration keeps; the others are summed up

    def run(self, state: Array, rows: Array, same: Array, table: Array, sums: Array) -> None:
        """Compute all rows of the table, and add to the sums; all arrays are contiguous, and of float64."""
        count, start = len(table), state.ctypes.data
        given, made = 8 * self.sizes[1], 8 * self.width
        row, out = rows.ctypes.data, table.ctypes.data
        for first in range(0, count, PIECE):
            some = min(PIECE, count - first)
            self._function(start, row + first * given, same.ctypes.data, out + first * made, sums.ctypes.data, some)
            start = out + (first + some - 1) * made

    @cached_property
    def _function(self) -> Any:
        engine = compiled(self.source(), len(self.program.steps) < LONG)
        return function(engine, "repeat", None, *[ctypes.c_void_p] * 5, ctypes.c_int64)

    @property
    def address(self) -> int:
        """Where the machine code begins: a function of the five arrays of `run`, and of how often it runs."""
        found: int = self._function.engine.get_function_address("repeat")
        return found

    def source(self) -> str:
        """LLVM's code, as it is before optimization."""
        code = Code(1)
        outputs = written(self.program, code)
        grouped = Grouped(code)
        return module([code], *grouped.declared, self._kernel(grouped.lines, outputs, grouped.attributes))

    def _kernel(self, lines: Sequence[str], outputs: Sequence[str], attributes: str) -> str:
        """The function `repeat`, whose inputs %x0, %x1, … are the state, a row and what is the same."""
        (state, row, same), width = self.sizes, self.width
        body = list[str]()
        for name, array, step in (("row", "rows", row), ("made", "table", width)):
            body.append(f"  %at.{name} = mul i64 %turn, {step}")
            body.append(f"  %{name} = getelementptr double, ptr %{array}, i64 %at.{name}")
        body += [*loads("%from", range(state)), *loads("%row", range(state, state + row), state), *lines]
        body += stores("%made", outputs[:width])
        for i, text in enumerate(outputs[width:]):
            body.append(f"  %s{i} = getelementptr double, ptr %sums, i64 {i}\n  %before{i} = load double, ptr %s{i}")
            body.append(f"  %sum{i} = fadd double %before{i}, {text}\n  store double %sum{i}, ptr %s{i}")
        arrays = "ptr %state, ptr noalias %rows, ptr noalias %same, ptr %table, ptr noalias %sums"
        head = f"define void @repeat({arrays}, i64 %count) {attributes} {{\nentry:"
        before = loads("%same", range(state + row, state + row + same), state + row)
        phis = ["  %from = phi ptr [%state, %entry], [%made, %turn.end]"]
        return "\n".join((head, *before, *counted("turn", "entry", "%count", body, phis=phis), "  ret void\n}"))


_FEWEST, _SOME = 64, 1_000  # steps of a loop, between which the vectorizer for straight-line code pays
_INVALID = 1  # the flag of an invalid operation on x86 and ARM, in C libraries but Microsoft's
_FLAGS = ("feclearexcept", "fetestexcept")


def notices_invalid() -> bool:
    """Whether machine code can say that one of its operations was not defined."""
    features = machine().features
    known = "sse2" in features or "fp-armv8" in features
    return known and sys.platform != "win32" and all(llvmlite().address_of_symbol(name) for name in _FLAGS)


class Conditions(NamedTuple):
    """What an iteration decides, as a program of numbers with the same inputs, and how each decision came out."""

    program: Program
    answers: tuple[bool, ...]


@dataclass(eq=False)
class Iterated:
    """The loop. The program takes the counter and numbers, and gives new values for some of them, and what is watched.

    `changed` are the places of those numbers among the inputs; the outputs after these are watched.
    """

    program: Program
    changed: Sequence[int]
    conditions: Conditions | None

    def run(self, values: Array, count: int, step: float) -> tuple[int, bool]:
        """Change the values, of which the first is the counter, by at most so many iterations.

        The loop ends before an iteration with a watched number that is not finite, and before one after which the
        conditions come out otherwise. Returns how many iterations ran, and whether an operation was not defined.
        """
        invalid = ctypes.c_int32(0)
        done = self._function(values.ctypes.data, count, step, ctypes.addressof(invalid))
        return done, bool(invalid.value)

    @cached_property
    def _function(self) -> Any:
        steps, count = len(self.program.steps), ctypes.c_int64
        repeats = _FEWEST <= steps <= _SOME  # then what entries of arrays do alike is vectorized
        engine = compiled(self.source(), steps < LONG, int(repeats), repeats)
        return function(engine, "iterate", count, ctypes.c_void_p, count, ctypes.c_double, ctypes.c_void_p)

    def source(self) -> str:
        """LLVM's code, as it is before optimization."""
        code, asked, inputs = Code(1), Code(1, "c"), range(1, len(self.program.inputs))  # but the counter
        outputs = written(self.program, code)
        texts = [_iterate(code.lines, inputs, outputs, self.changed, self.conditions is not None)]
        if self.conditions is not None:
            found = written(self.conditions.program, asked)
            texts.append(_holds(asked.lines, inputs, found, self.conditions.answers))
        return module([code, asked], *_DECLARED, *texts)


_DECLARED = (
    "declare i32 @feclearexcept(i32)",
    "declare i32 @fetestexcept(i32)",
    "declare double @llvm.fabs.f64(double)",
)


def _holds(lines: Sequence[str], inputs: range, found: Sequence[str], answers: Sequence[bool]) -> str:
    """The function `holds`: whether all conditions come out as they should, at a counter."""
    tests, all_so_far = [], "true"
    for i, (text, answer) in enumerate(zip(found, answers, strict=True)):
        tests.append(f"  %t{i} = fcmp {'une' if answer else 'oeq'} double {text}, 0x0000000000000000")
        tests.append(f"  %a{i} = and i1 {all_so_far}, %t{i}")
        all_so_far = f"%a{i}"
    head = "define internal i1 @holds(double %x0, ptr %values) {"
    return "\n".join((head, *loads("%values", inputs), *lines, *tests, f"  ret i1 {all_so_far}", "}"))


def _iterate(lines: Sequence[str], inputs: range, outputs: Sequence[str], changed: Sequence[int], asks: bool) -> str:
    """The function `iterate`: see `Iterated.run`. Nothing is stored before all that may end the loop is known."""
    asked = "  %same = call i1 @holds(double %ahead, ptr %values)" if asks else "  %same = icmp eq i64 0, 0"
    watched, is_good = [], "true"
    for i, text in enumerate(outputs[len(changed) :]):
        watched += [
            f"  %size{i} = call double @llvm.fabs.f64(double {text})",
            f"  %finite{i} = fcmp one double %size{i}, 0x7FF0000000000000",
            f"  %good{i} = and i1 {is_good}, %finite{i}",
        ]
        is_good = f"%good{i}"
    stores = [f"  store double {text}, ptr %p{place}" for place, text in zip(changed, outputs, strict=False)]
    return "\n".join(
        (
            "define i64 @iterate(ptr noalias %values, i64 %count, double %step, ptr noalias %invalid) {",
            "entry:",
            f"  %cleared = call i32 @feclearexcept(i32 {_INVALID})",
            "  %start = load double, ptr %values",
            "  br label %next",
            "next:",
            "  %turn = phi i64 [0, %entry], [%following, %keep]",
            "  %x0 = phi double [%start, %entry], [%ahead, %keep]",
            "  %more = icmp slt i64 %turn, %count",
            "  br i1 %more, label %ask, label %done",
            "ask:",
            "  %ahead = fadd double %x0, %step",
            asked,
            "  br i1 %same, label %body, label %done",
            "body:",
            *loads("%values", inputs),
            *lines,
            *watched,
            f"  br i1 {is_good}, label %keep, label %done",
            "keep:",
            *stores,
            "  %following = add i64 %turn, 1",
            "  br label %next",
            "done:",
            "  store double %x0, ptr %values",
            f"  %raised = call i32 @fetestexcept(i32 {_INVALID})",
            "  store i32 %raised, ptr %invalid",
            "  ret i64 %turn",
            "}",
        )
    )


class Stepped:
    """The loop. The program takes a state, a row, and what is the same, and gives one vector."""

    def __init__(self, before: Program, body: Program) -> None:
        self.before = before
        self.loops = Loops(body, held=range(2, len(body.inputs)))

    def run(self, start: Array, rows: Array, same: Array, table: Array, sums: Array) -> bool:
        """All iterations: each result begins with the new state, and fills a row of the table; the rest is added up.

        False, and nothing done, where a matrix that is the same in all iterations is singular.
        """
        fixed, width, size = self.before.run(same), table.shape[1], len(start)
        with self.loops.holding(fixed) as call:
            if call is None:
                return False
            state = start
            for row, made in zip(rows, table, strict=True):
                result: Any = call(state, row, *fixed)[0]
                made[:] = result[:width]
                sums += result[width:]
                state = made[:size]
        return True


def stepped(program: Program) -> Stepped | None:
    """Machine code for a body; None where there is none, or where Python takes less."""
    if binding() is None or program.is_scalar or program.checks or len(program.outputs) != 1:
        return None
    parts = divided(without_outer(optimised(program)), [2])
    if parts is None or reason_against(Schedule(parts[1])) is not None:
        return None
    found = Stepped(*parts)
    return found if of_loops(found.loops.schedule) < interpreted(program) else None


def divided(program: Program, same: Sequence[int]) -> tuple[Program, Program] | None:
    """What depends on some inputs alone, and the rest, which takes that instead of them; None if that is all.

    What is transposed stays so where it is used: that takes no time, and shares the factors of a matrix.
    """
    inputs, first = len(program.inputs), program.first
    fixed, needed = set(same), dict[int, None]()
    for slot, step in enumerate(program.steps, first):
        is_turned = step.op.role == "view" or transposes(program, step)
        varying = [x for x in step.operands if x not in fixed and not inputs <= x < first]
        if not varying and any(x in fixed for x in step.operands) and not is_turned:
            fixed.add(slot)
        else:
            needed.update(dict.fromkeys([x for x in step.operands if x in fixed]))
    if not fixed.isdisjoint(program.outputs):
        return None
    kept = [x for x in range(inputs) if x not in fixed]
    return _taking(program, same, needed), _taking(program, [*kept, *needed], program.outputs)


def _taking(program: Program, slots: Iterable[int], outputs: Iterable[int]) -> Program:
    """The program of some outputs that takes what is in some slots."""
    count, slots = len(program.inputs), list(slots)
    inputs = [program.inputs[x] if x < count else Input(f"fixed{x}", program.shape(x)) for x in slots]
    place = {slot: number for number, slot in enumerate([*slots, *range(count, program.first)])}
    made: list[tuple[Step, tuple[int, ...]]] = []
    for slot, step in enumerate(program.steps, program.first):
        if slot not in place and all(x in place for x in step.operands):
            place[slot] = len(place)
            made.append((step, step.operands))
    return prune(assembled(inputs, program.constants, made, outputs, (), place.__getitem__))
