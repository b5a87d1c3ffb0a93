"""Programs of arrays as loops in machine code: compiled, and called with arrays.

    loops = Loops(program)
    loops.call(x, y)     # the outputs, arrays of their own

A call has buffers of its own for what is stored on the way; they are used again by later calls. Arrays that are not
needed at once share their places. One function runs the stages in order, and branches at the guards on the truth of a
number; where the library has to compute a step, or read what another guard asks for, it returns, and is called again
with the state in which it goes on.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

from agrad.engine.compile.arguments import row_of
from agrad.engine.compile.llvm import kernel, stages
from agrad.engine.compile.llvm.ir_builder import Code, module, template
from agrad.engine.compile.llvm.memory import Buffers, Memory
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.target import compiled, function, machine
from agrad.engine.core.dispatch import all_floats
from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import computed as silently
from agrad.engine.core.op import Op
from agrad.engine.program.ir import GuardCheck, Program, called, computed, frozen
from agrad.engine.values import Array, Value, np, size_of

_MOST = 20_000  # instructions, in all kernels
_FEWEST = 64  # entries: of fewer, a call of numpy takes as long


def reason_against(schedule: Schedule) -> str | None:
    """Why a program is not computed in loops, in words; None if it is."""
    program = schedule.program
    kernels = [stage for stage in schedule.stages if isinstance(stage, stages.Kernel)]
    repeats = any(step.op.role == "loop" for step in program.steps)
    if not repeats and not any(size_of(kernel.space) >= _FEWEST for kernel in kernels):
        return "there is no loop over many entries in it"
    steps = sum(len(kernel.steps) for kernel in kernels)
    if steps > _MOST:
        return f"its loops have {steps} instructions, and machine code is for at most {_MOST}"
    return None


class Loops:
    """The code of a program of arrays. It is compiled when it is first called."""

    def __init__(self, program: Program | Schedule, held: Collection[int] = ()) -> None:
        """`held` are inputs that are the same in several calls: see `holding`."""
        self.schedule = program if isinstance(program, Schedule) else Schedule(program, held)
        self.program = self.schedule.program
        self.memory = Memory(self.schedule)
        self.driver = Driver(self.schedule, self.memory)
        self._pool: list[Buffers] = []

    @cached_property
    def _function(self) -> Any:
        engine = compiled(self.source(), True, 1, has_loops=True)
        return function(engine, "run", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)

    def call(self, *values: Value) -> tuple[Value, ...]:
        """The outputs, for floats and contiguous arrays."""
        found = None if self.memory.is_singular else self.along(values)
        return self.program.run(*values) if found is None else found[1]  # which says what is wrong, or the result

    def along(self, values: Sequence[Value]) -> tuple[int, tuple[Value, ...]] | None:
        """The number of the path that is taken, and its outputs; None where it is not known, or a matrix singular."""
        buffers = self._buffers()
        found = self._along(buffers, values)
        self._pool.append(buffers)
        return found

    @contextmanager
    def holding(self, held: Sequence[Value]) -> Iterator[Callable[..., tuple[Value, ...]] | None]:
        """A function that does as `call`, whose last inputs, the held ones, are these; None if one is singular."""
        buffers, first = self._buffers(), len(self.program.inputs) - len(held)
        known = {matrix: stages.factorised(held[matrix - first]) for matrix in self.memory.held}
        if self.memory.is_singular or None in known.values():
            yield None
            return
        buffers.hold(known)

        def call(*values: Value) -> tuple[Value, ...]:
            found = self._along(buffers, values)
            return self.program.run(*values) if found is None else found[1]

        yield call
        self._pool.append(buffers)

    def _buffers(self) -> Buffers:
        try:
            return self._pool.pop()
        except IndexError:
            return Buffers(self.memory)

    def _along(self, buffers: Buffers, values: Sequence[Value]) -> tuple[int, tuple[Value, ...]] | None:
        buffers.enter(values)
        number = silently(self._run, buffers) if self._library else self._run(buffers)
        if number == FAILED:
            buffers.numbers[self.memory.failed] = 0.0
        found = (number, buffers.outputs(number)) if number >= 0 else None
        buffers.leave()
        return found

    def _run(self, buffers: Buffers) -> int:
        run, (table, numbers) = self._function, buffers.addresses
        state = 0
        while True:
            number: int = run(table, numbers, state)
            if number >= FAILED:
                return number
            pause = self.driver.pauses[PAUSED - number]
            if pause.guard is None:
                self._by_library(pause.slot, buffers)
                state = pause.state
                continue
            try:
                state = pause.states[frozen(pause.guard.read(buffers.get(pause.slot)))]
            except (KeyError, ValueError, OverflowError):  # no path has this outcome
                return UNKNOWN

    def _by_library(self, slot: int, buffers: Buffers) -> None:
        op, operands, attrs = self._library[slot]
        values = tuple([buffers.get(x) for x in operands])
        if op.role == "loop":
            buffers.put(slot, attrs["body"].run(*values, attrs["count"], is_native=True))
            return
        one = self.schedule.systems.get(slot)
        if one is not None and op.by_factors is not None:
            found = op.by_factors(buffers.factorised(one.matrix), one.is_transposed)
            if found is not None:
                buffers.put(slot, found)
                return
        buffers.put(slot, computed(op, values, attrs) if all_floats(values) else called(op, *values, **attrs))

    @cached_property
    def _library(self) -> dict[int, tuple[Op, tuple[int, ...], dict[str, Any]]]:
        """The steps of the library, by their slots."""
        slots = [stage.slot for stage in self.schedule.stages if isinstance(stage, stages.Library)]
        steps = [(slot, self.schedule.step(slot)) for slot in slots]
        return {slot: (step.op, step.operands, step.attrs) for slot, step in steps}

    def source(self) -> str:
        """LLVM's code of all loops."""
        lanes, texts, codes = machine().lanes, list[str](), list[Code]()
        routines: dict[kernel.Product, str] = {}
        for number, part in enumerate(self.driver.parts):
            calls = []
            for place, stage in enumerate(part):
                name = f"part{number}.{place}"
                texts.append(self._text(name, stage, codes, routines))
                calls.append(f"  call void @{name}(ptr %tab, ptr %num)")
            texts.append("\n".join([f"define void @part{number}(ptr %tab, ptr %num) {{", *calls, "  ret void", "}"]))
        texts.append(self.driver.text)
        texts += [kernel.Routine(name, one, lanes).text for one, name in routines.items()]
        return module(codes, template("kernels.ll", lanes), *texts, has_variants=True)

    def _text(self, name: str, stage: stages.Stage, codes: list[Code], routines: dict[kernel.Product, str]) -> str:
        """The function of a stage; adds to the codes in it, and to the routines of products."""
        memory, code = self.memory, Code(1)
        codes.append(code)
        match stage:
            case stages.Kernel():
                return kernel.KernelCode(name, stage, memory, code).text
            case stages.Numbers():
                return kernel.numbers_code(name, stage, memory, code)
            case stages.Factorise():
                return kernel.factorise_code(name, stage, memory)
        assert isinstance(stage, stages.Alone)
        if stage.kind == "running":
            return kernel.RunningCode(name, stage.slot, memory, code).text
        if stage.kind == "product":
            return kernel.product_code(name, stage.slot, memory, routines)
        write = {"scatter": kernel.scatter_code, "solve": kernel.solve_code, "repeat": kernel.repeat_code}[stage.kind]
        return write(name, stage.slot, memory)

    # What code for numbers can do, too

    def shortcut(
        self, ask: Callable[..., Any], known: Sequence[Any] | None, is_single: bool, checks: Sequence[GuardCheck] = ()
    ) -> Callable[..., Any]:
        """See `Native.shortcut`; there is none for `known` arguments."""
        if known is not None or self.memory.is_singular:
            return ask
        shapes, count = [one.shape for one in self.program.inputs], len(self.program.outputs) - len(checks)
        array, double = np.ndarray, np.dtype(np.float64)

        def call(*values: Any) -> Any:
            if len(values) != len(shapes):
                return ask(*values)
            for x, shape in zip(values, shapes, strict=True):
                if not shape:
                    fits = isinstance(x, float)
                else:
                    fits = type(x) is array and x.shape == shape and x.dtype is double and x.flags.c_contiguous
                if not fits:
                    return ask(*values)
            hit = self.along(values)
            if hit is None:
                return ask(*values)
            found = hit[1]
            for number, check in enumerate(checks, count):
                if not check.holds(found[number]):
                    return ask(*values)
            return found[:count] if is_single else (found[0], found[1:count])

        return call

    def map(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None = None) -> None:
        """Write the outputs of each row of the columns into `outs`."""
        for row in range(len(outs[0])):
            for out, result in zip(outs, self.call(*row_of(columns, row)), strict=True):
                out[row] = result


UNKNOWN, FAILED, PAUSED = -1, -2, -3  # there is no such path; a matrix is singular; the first pause: others follow


@dataclass(slots=True)
class Pause:
    """What happens outside of the function: a step of the library, and the state after it, or a guard is read."""

    slot: int
    state: int = 0
    guard: GuardCheck | None = None
    states: dict[object, int] = field(default_factory=dict)  # after each outcome


class Driver:
    """The text of the function, and its pauses. `parts` are the stages that follow each other without one."""

    def __init__(self, schedule: Schedule, memory: Memory) -> None:
        self.schedule, self.memory = schedule, memory
        self.parts: list[list[stages.Stage]] = []
        self.pauses: list[Pause] = []
        self.states: dict[str, int] = {}  # by their labels
        staged: dict[int, list[stages.Stage]] = {}
        for branch, stage in zip(schedule.belongs, schedule.stages, strict=True):
            staged.setdefault(branch, []).append(stage)
        self._state("s0")
        body = [line for number in range(len(schedule.paths.branches)) for line in self._branch(number, staged)]
        cases = " ".join([f"i32 {state}, label %{label}" for label, state in self.states.items()])
        head = f"define i32 @run(ptr %tab, ptr %num, i32 %state) {{\n  switch i32 %state, label %unknown [{cases}]"
        end = f"unknown:\n  ret i32 {UNKNOWN}\nfailed:\n  ret i32 {FAILED}\n}}"
        self.text = "\n".join((head, *body, end))

    def _state(self, label: str) -> int:
        return self.states.setdefault(label, len(self.states))

    def _pause(self, pause: Pause) -> str:
        self.pauses.append(pause)
        return f"  ret i32 {PAUSED - len(self.pauses) + 1}"

    def _branch(self, number: int, staged: Mapping[int, list[stages.Stage]]) -> Iterator[str]:
        yield f"s{number}:"
        for _, group in groupby(staged.get(number, ()), lambda stage: isinstance(stage, stages.Library)):
            some = list(group)
            of_library = [stage for stage in some if isinstance(stage, stages.Library)]
            if not of_library:
                yield from self._part(some)
            for stage in of_library:
                label = f"p{len(self.pauses)}"
                yield self._pause(Pause(stage.slot, self._state(label))) + f"\n{label}:"
        one = self.schedule.paths.branches[number]
        if one.guard is None:
            yield f"  ret i32 {one.number}"
        elif one.guard.read is truth and not self.schedule.program.shape(one.guard.slot):
            yield from self._decide(number, one.guard.slot, one.after)
        else:
            states = {outcome: self._state(f"s{branch}") for outcome, branch in one.after.items()}
            yield self._pause(Pause(one.guard.slot, guard=one.guard, states=states))

    def _part(self, some: list[stages.Stage]) -> Iterator[str]:
        """A call of the function of some stages, and what follows where one has failed."""
        name = f"%n{len(self.parts)}"
        yield f"  call void @part{len(self.parts)}(ptr %tab, ptr %num)"
        self.parts.append(some)
        if any(isinstance(stage, stages.Factorise) for stage in some):
            yield self.memory.load(self.memory.failed, name)
            yield f"  {name}.set = fcmp une double {name}, 0.0\n  br i1 {name}.set, label %failed, label %{name[1:]}.on"
            yield f"{name[1:]}.on:"

    def _decide(self, number: int, slot: int, after: Mapping[object, int]) -> Iterator[str]:
        """Where a branch ends: which one follows by the truth of a number."""
        name, known = f"%d{number}", self.memory.value(slot)
        if known is None:
            yield self.memory.load(slot, name)
        read = name if known is None else Code(1).literal(known)
        yield f"  {name}.holds = fcmp une double {read}, 0.0"
        labels = [f"s{after[key]}" if key in after else "unknown" for key in (frozen(True), frozen(False))]
        yield f"  br i1 {name}.holds, label %{labels[0]}, label %{labels[1]}"
