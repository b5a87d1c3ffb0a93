"""Loops whose iterations depend on each other, in machine code.

`Repeated` computes a program of numbers again and again, each time from its last state; with tests (`iterated`) it does
so in place, as long as every iteration takes the same path. `Stepped` is for a body of arrays: what is the same in each
iteration is computed, and factorised, once.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from agrad.engine.compile.cost import interpreted, of_loops, with_loops
from agrad.engine.compile.llvm.backend import written
from agrad.engine.compile.llvm.ir_builder import Code, counted, loads, module, of_vectors, stores
from agrad.engine.compile.llvm.loops import Loops, reason_against
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import transposes
from agrad.engine.compile.llvm.target import LONG, binding, compiled, function, llvmlite, machine
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Input, Program, Rewriting, Step, inserted, optimised
from agrad.engine.values import Array

PIECE = 1 << 16  # iterations between two moments at which Python can be interrupted
_MOST = 2_500  # steps of a loop, up to which the vectorizer for straight-line code pays
_FEWEST, _SOME = 64, 1_000  # the same with tests, between which it does
_INVALID = 1  # the flag of an invalid operation on x86 and ARM, in C libraries but Microsoft's
_FLAGS = ("feclearexcept", "fetestexcept")


@dataclass(eq=False)
class Repeated:
    """The loop. The program takes the state, a row and what is the same, and gives the state, results and sums.

    With tests, the state changes in place, and there are no sums: the last outputs are tested, each whether it is not 0
    (True), whether it is 0 (False), or whether it is finite (None). The loop ends before an iteration that fails.
    """

    program: Program
    sizes: tuple[int, int, int]
    width: int  # how many outputs an iteration keeps; the others are summed up, or tested
    tests: Sequence[bool | None] | None = None

    def run(self, state: Array, rows: Array, same: Array, table: Array, sums: Array) -> None:
        """Compute all rows of the table, and add to the sums; all arrays are contiguous, and of float64."""
        count, start = len(table), state.ctypes.data
        given, made = 8 * self.sizes[1], 8 * self.width
        row, out = rows.ctypes.data, table.ctypes.data
        for first in range(0, count, PIECE):
            some = min(PIECE, count - first)
            self._function(start, row + first * given, same.ctypes.data, out + first * made, sums.ctypes.data, some)
            start = out + (first + some - 1) * made

    def tested(self, state: Array, same: Array, count: int) -> tuple[int, bool]:
        """Change the state by at most so many iterations: how many ran, and whether an operation was not defined."""
        clear, raised = _flags()
        place = state.ctypes.data
        clear(_INVALID)
        done = self._function(place, None, same.ctypes.data, place, None, count) if count else 0
        return done, bool(raised(_INVALID))

    @cached_property
    def _function(self) -> Any:
        steps = len(self.program.steps)
        # what entries of arrays do alike is vectorized
        is_vectorized = steps <= _MOST if self.tests is None else _FEWEST <= steps <= _SOME
        engine = compiled(self.source(), steps < LONG, int(is_vectorized), is_vectorized)
        return function(engine, "repeat", ctypes.c_int64, *[ctypes.c_void_p] * 5, ctypes.c_int64)

    @property
    def address(self) -> int:
        """Where the machine code begins: a function of the five arrays of `run`, and of how often it runs."""
        found: int = self._function.engine.get_function_address("repeat")
        return found

    def source(self) -> str:
        """LLVM's code, as it is before optimization."""
        code = Code(1)
        outputs = written(self.program, code)
        parts = "declare double @llvm.fabs.f64(double)", self._kernel(code.lines, outputs)
        return module([code], *parts, has_variants=self.tests is None)

    def _kernel(self, lines: Sequence[str], outputs: Sequence[str]) -> str:
        """The function `repeat`, whose inputs %x0, %x1, … are the state, a row and what is the same."""
        (state, row, same), width = self.sizes, self.width
        body = list[str]()
        for name, array, step in (("row", "rows", row), ("made", "table", width if self.tests is None else 0)):
            body.append(f"  %at.{name} = mul i64 %turn, {step}")
            body.append(f"  %{name} = getelementptr double, ptr %{array}, i64 %at.{name}")
        body += [*loads("%from", range(state)), *loads("%row", range(state, state + row), state), *lines]
        more = outputs[width:]
        body += [*self._tested(more), *stores("%made", outputs[:width])]
        for i, text in enumerate(more if self.tests is None else ()):
            body.append(f"  %s{i} = getelementptr double, ptr %sums, i64 {i}\n  %before{i} = load double, ptr %s{i}")
            body.append(f"  %sum{i} = fadd double %before{i}, {text}\n  store double %sum{i}, ptr %s{i}")
        arrays = "ptr %state, ptr noalias %rows, ptr noalias %same, ptr %table, ptr noalias %sums"
        head = f"define i64 @repeat({arrays}, i64 %count) {of_vectors(machine().lanes)} {{\nentry:"
        before = loads("%same", range(state + row, state + row + same), state + row)
        phis = ["  %from = phi ptr [%state, %entry], [%made, %turn.end]"]
        loop = counted("turn", "entry", "%count", body, phis=phis)
        return "\n".join((head, *before, *loop, "  ret i64 %count\nfailed:\n  ret i64 %turn\n}"))

    def _tested(self, outputs: Sequence[str]) -> Iterator[str]:
        """The lines that end the loop where a test fails: nothing is stored before all of them are known."""
        good = "true"
        for i, (text, test) in enumerate(zip(outputs, self.tests or (), strict=False)):
            if test is None:
                yield f"  %size{i} = call double @llvm.fabs.f64(double {text})"
                yield f"  %test{i} = fcmp one double %size{i}, 0x7FF0000000000000"
            else:
                yield f"  %test{i} = fcmp {'une' if test else 'oeq'} double {text}, 0x0000000000000000"
            yield f"  %good{i} = and i1 {good}, %test{i}"
            good = f"%good{i}"
        yield f"  br i1 {good}, label %keep, label %failed\nkeep:"


def notices_invalid() -> bool:
    """Whether machine code can say that one of its operations was not defined."""
    features = machine().features
    known = "sse2" in features or "fp-armv8" in features
    return known and sys.platform != "win32" and all(llvmlite().address_of_symbol(name) for name in _FLAGS)


@cache
def _flags() -> list[Any]:
    """The functions of the C library that clear a flag of the processor, and that read it."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    return [kind(llvmlite().address_of_symbol(name)) for name in _FLAGS]


def iterated(program: Program, changed: Sequence[int], asked: Program | None, answers: Sequence[bool]) -> Repeated:
    """The loop of a program of numbers: of a counter, and of others, of which it gives those at the places `changed`.

    What it gives besides must be finite, and what `asked` computes of the next counter must come out as `answers`. The
    state is the counter and what changes; what is the same are the others, and by what the counter increases.
    """
    count, new = len(program.inputs), Rewriting(program)
    order = [0, *changed, *[place for place in range(1, count) if place not in changed]]
    new.inputs = (*[program.inputs[place] for place in order], Input("step", ()))
    slots = [order.index(place) for place in range(count)]
    found = inserted(new, program, slots)
    ahead = new.step(Step(OPS["add"], (), {}, ()), (0, count))
    outputs = [found[slot] for slot in program.outputs]
    if asked is not None:
        found = inserted(new, asked, [ahead, *slots[1:]])
        outputs += [found[slot] for slot in asked.outputs]
    state = 1 + len(changed)
    tests = (*[None] * (len(program.outputs) - len(changed)), *(answers if asked is not None else ()))
    return Repeated(new.program([ahead, *outputs], {}), (state, 0, count + 1 - state), state, tests)


class Stepped:
    """The loop. The program takes a state, a row, and what is the same, and gives one vector."""

    def __init__(self, before: Program, body: Program) -> None:
        self.before = before
        self.loops = Loops(body, held=range(2, len(body.inputs)))

    def run(self, start: Array, rows: Array, same: Array, table: Array, sums: Array) -> bool:
        """All iterations: each result begins with the new state, and fills a row of the table; the rest is added up.

        False, and nothing done, where a matrix that is the same in all iterations is singular.
        """
        fixed = self.before.run(same)
        with self.loops.holding(fixed) as call:
            if call is not None:
                iterate(call, start, rows, fixed, table, sums)
        return call is not None


def iterate(
    step: Callable[..., Any], start: Array, rows: Array, same: Sequence[Any], table: Array, sums: Array
) -> None:
    """All iterations by a function of a state, a row, and what is the same."""
    state, width = start, table.shape[1]
    for row, made in zip(rows, table, strict=True):
        (result,) = step(state, row, *same)
        made[:] = result[:width]
        sums += result[width:]
        state = made[: len(start)]


def stepped(program: Program) -> Stepped | None:
    """Machine code for a body; None where there is none, or where Python takes less."""
    if binding() is None or program.is_scalar or program.checks or len(program.outputs) != 1:
        return None
    parts = divided(with_loops(optimised(program)), [2])
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
    count, slots, new = len(program.inputs), list(slots), Rewriting(program)
    new.inputs = tuple([program.inputs[x] if x < count else Input(f"fixed{x}", program.shape(x)) for x in slots])
    known = dict(zip(slots, range(len(slots)), strict=True))
    known |= {slot: new.constant(value) for slot, value in enumerate(program.constants, count) if slot not in known}
    for slot, step in enumerate(program.steps, program.first):
        if slot not in known and all(x in known for x in step.operands):
            known[slot] = new.step(step, tuple([known[x] for x in step.operands]))
    return new.program([known[x] for x in outputs], {})
