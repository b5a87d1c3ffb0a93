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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from agrad.engine.compile.arguments import row_of
from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.kernel import KernelCode, helpers
from agrad.engine.compile.llvm.routines import (
    HELPERS,
    Routine,
    RunningCode,
    factorise_code,
    kind_of,
    needed,
    product_code,
    repeat_code,
    scatter_code,
    solve_code,
)
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import (
    Factorise,
    Factors,
    Kernel,
    Library,
    Numbers,
    Product,
    Repeat,
    Running,
    Scatter,
    Solve,
    Stage,
    View,
    factorised,
)
from agrad.engine.compile.llvm.target import definitions, llvmlite, machine, processor
from agrad.engine.compile.symbols import Symbol, lower
from agrad.engine.core.dispatch import all_floats
from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import computed as silently
from agrad.engine.core.op import Op
from agrad.engine.program.ir import GuardCheck, Program, computed, own
from agrad.engine.program.passes import frozen
from agrad.engine.values import Array, Value, np, settle, size_of

_MOST = 20_000  # instructions, in all kernels
_FEWEST = 64  # entries: of fewer, a call of numpy takes as long


def reason_against(schedule: Schedule) -> str | None:
    """Why a program is not computed in loops, in words; None if it is."""
    program = schedule.program
    kernels = [stage for stage in schedule.stages if isinstance(stage, Kernel)]
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
        self.memory = _Memory(self.schedule)
        self.driver = Driver(self.schedule, self.memory)
        paths = self.schedule.branching.segments
        self.ends = {one.number: one.outputs for one in paths if one.guard is None}  # the outputs of each path
        self._pool: list[_Buffers] = []

    @cached_property
    def _engine(self) -> Any:
        llvm = llvmlite()
        module = llvm.parse_assembly(self.source())
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        builder = llvm.create_pass_builder(processor(True), options)
        builder.getModulePassManager().run(module, builder)
        engine = llvm.create_mcjit_compiler(module, processor(True))
        engine.finalize_object()
        return engine

    @cached_property
    def _function(self) -> Any:
        kind, engine = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32), self._engine
        found = kind(engine.get_function_address("run"))
        found.engine = engine  # type: ignore[attr-defined]  # as long as a thread has the function
        return found

    def call(self, *values: Value) -> tuple[Value, ...]:
        """The outputs, for floats and contiguous arrays."""
        if self.memory.is_singular:
            return self.program.run(*values)
        buffers = self._buffers()
        found = self._called(buffers, values)
        self._pool.append(buffers)
        return found

    @contextmanager
    def holding(self, held: Sequence[Value]) -> Iterator[Callable[..., tuple[Value, ...]] | None]:
        """A function that does as `call`, whose last inputs, the held ones, are these; None if one is singular."""
        buffers, first = self._buffers(), len(self.program.inputs) - len(held)
        known = {matrix: factorised(held[matrix - first]) for matrix in self.memory.held}
        if self.memory.is_singular or None in known.values():
            yield None
            return
        buffers.hold(known)
        yield lambda *values: self._called(buffers, values)
        self._pool.append(buffers)

    def _buffers(self) -> _Buffers:
        try:
            return self._pool.pop()
        except IndexError:
            return _Buffers(self.memory)

    def _called(self, buffers: _Buffers, values: Sequence[Value]) -> tuple[Value, ...]:
        buffers.enter(values)
        number = self._path(buffers)
        if number == FAILED:
            buffers.leave()
            return self.program.run(*values)  # which says what is wrong, or what the result is
        found = tuple(buffers.outputs(self.ends[number]))
        buffers.leave()
        return found

    def along(self, values: Sequence[Value]) -> tuple[int, tuple[Value, ...]] | None:
        """The number of the path that is taken, and its outputs; None where it is not known, or a matrix singular."""
        buffers = self._buffers()
        buffers.enter(values)
        number = self._path(buffers)
        found = tuple(buffers.outputs(self.ends[number])) if number >= 0 else None
        buffers.leave()
        self._pool.append(buffers)
        return None if found is None else (number, found)

    def _path(self, buffers: _Buffers) -> int:
        """Compute all stages on the way; returns the number of the program at its end, or UNKNOWN or FAILED."""
        number = silently(self._run, buffers) if self._library else self._run(buffers)
        if number == FAILED:
            buffers.numbers[self.memory.failed] = 0.0
        return number

    def _run(self, buffers: _Buffers) -> int:
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
            else:
                following = pause.following(buffers.get(pause.slot))
                if following is None:
                    return UNKNOWN
                state = following

    def _by_library(self, slot: int, buffers: _Buffers) -> None:
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
        try:
            value = settle(op.array(*values, **attrs)) if not all_floats(values) else computed(op, values, attrs)
        except (ValueError, IndexError, MemoryError):
            value = computed(op, values, attrs)  # which says what is wrong
        buffers.put(slot, value if op.role == "view" else own(value))

    @cached_property
    def _library(self) -> dict[int, tuple[Op, tuple[int, ...], dict[str, Any]]]:
        """The steps of the library, by their slots."""
        slots = [stage.slot for stage in self.schedule.stages if isinstance(stage, Library)]
        steps = [(slot, self.schedule.step(slot)) for slot in slots]
        return {slot: (step.op, step.operands, step.attrs) for slot, step in steps}

    def source(self) -> str:
        """LLVM's code of all loops."""
        lanes, texts = machine().lanes, list[str]()
        codes: list[Code] = []
        products: dict[object, Product] = {}  # of each kind, the first
        for number, part in enumerate(self.driver.parts):
            calls = []
            for place, stage in enumerate(part):
                name = f"part{number}.{place}"
                texts.append(self._text(name, stage, codes, products))
                calls.append(f"  call void @{name}(ptr %tab, ptr %num)")
            texts.append("\n".join([f"define void @part{number}(ptr %tab, ptr %num) {{", *calls, "  ret void", "}"]))
        texts.append(self.driver.text)
        texts += [Routine(f"product{number}", one, lanes).text for number, one in enumerate(products.values())]
        declared: dict[str, None] = {}
        for width in (1, lanes):
            here = [code for code in codes if code.lanes == width]
            called = {name: count for code in here for name, count in code.called.items()}
            lines = [*definitions(called, width), *[line for code in here for line in code.declared()]]
            declared.update(dict.fromkeys(lines))
        return "\n\n".join((*declared, *helpers(lanes), needed(lanes), *HELPERS, *texts))

    def _text(self, name: str, stage: Stage, codes: list[Code], products: dict[object, Product]) -> str:
        """The function of a stage; adds to the codes in it, and to the kinds of products."""
        if isinstance(stage, Kernel):
            kernel = KernelCode(name, self.schedule, stage, self.memory, machine().lanes)
            codes += kernel.codes
            return kernel.text
        if isinstance(stage, Product):
            kind = kind_of(stage)
            products.setdefault(kind, stage)
            return product_code(name, f"product{list(products).index(kind)}", stage, self.memory)
        if isinstance(stage, Scatter):
            return scatter_code(name, stage, self.memory)
        if isinstance(stage, Factorise):
            return factorise_code(name, stage, self.memory)
        if isinstance(stage, Solve):
            return solve_code(name, stage, self.memory)
        if isinstance(stage, Repeat):
            self.memory.kept.append(stage.code)
            return repeat_code(name, stage, self.memory)
        if isinstance(stage, Running):
            running = RunningCode(name, self.program, stage, self.memory)
            codes.append(running.code)
            return running.text
        assert isinstance(stage, Numbers)
        text, code = _numbers(name, self.schedule, stage, self.memory)
        codes.append(code)
        return text

    # What code for numbers can do, too

    def shortcut(self, ask: Callable[..., Any], known: Sequence[Value] | None, is_single: bool) -> Callable[..., Any]:
        """There is none."""
        return ask

    def map(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None = None) -> None:
        """Write the outputs of each row of the columns into `outs`."""
        for row in range(len(outs[0])):
            for out, result in zip(outs, self.call(*row_of(columns, row)), strict=True):
                out[row] = result

    def packed(self, *values: float) -> bytes:
        """The outputs as bytes."""
        return bytes(self._bytes(self.call(*values)))

    def raw(self, given: bytes) -> bytearray:
        """The outputs as bytes, for all inputs as bytes."""
        flat, values, start = np.frombuffer(given), [], 0
        for one in self.program.inputs:
            part = flat[start : start + size_of(one.shape)]
            values.append(part.reshape(one.shape) if one.shape else float(part[0]))
            start += len(part)
        return self._bytes(self.call(*values))

    def _bytes(self, outputs: Sequence[Value]) -> bytearray:
        return bytearray(b"".join([np.asarray(x, dtype=np.float64).tobytes() for x in outputs]))


class _Memory:
    """Where the arrays and numbers of a schedule are: by slot, in a table of addresses and an array of numbers."""

    def __init__(self, schedule: Schedule) -> None:
        self.program, self.schedule = schedule.program, schedule
        self.count = self.program.first + len(self.program.steps)
        first = len(self.program.inputs)
        self.constants: dict[int, Value] = dict(enumerate(map(_laid_out, self.program.constants), first))
        self.kept: list[Any] = []  # as long as code reads or calls it
        self.addressed = {view.slot for view in schedule.views.values()}  # what machine code reads
        for stage in schedule.stages:
            if isinstance(stage, Kernel):
                self.addressed |= {view.slot for view in stage.reads.values()}
            elif isinstance(stage, Product):
                self.addressed |= {stage.left.slot, stage.right.slot}
            elif isinstance(stage, Running):
                self.addressed |= {view.slot for view in stage.reads}
            elif isinstance(stage, Scatter | Repeat):
                self.addressed.add(stage.operand)
            elif isinstance(stage, Factorise):
                self.addressed.add(stage.matrix)
            elif isinstance(stage, Solve):
                self.addressed |= {stage.right, stage.system.matrix}
        self.frames = self._frames()
        self.places, self.length = places(schedule, [slot for slot in self._made() if slot not in self.frames])
        self._factor()

    def _frames(self) -> dict[int, int]:
        """The outputs that a call has new arrays for: those that are made at the end of a path.

        Each with the slot whose array it has; ends of several paths share arrays.
        """
        made, found, shared = {*self._made()}, dict[int, int](), dict[object, int]()
        for one in self.schedule.branching.segments:
            for place, slot in enumerate(one.outputs):
                if slot in made and one.first <= slot < one.end and slot not in found:
                    found[slot] = shared.setdefault((place, self.program.shape(slot)), slot)
        return found

    def _factor(self) -> None:
        """Slots behind the others: of what is factorised in a call, of constant factors, and of the failure."""
        self.sizes = {stage.matrix: stage.size for stage in self.schedule.stages if isinstance(stage, Factorise)}
        self.factored: dict[int, tuple[int, int]] = {}
        self.known: dict[int, Factors] = {}
        self.held: list[int] = []  # matrices
        self.is_singular = False  # a constant matrix
        for one in self.schedule.systems.values():
            if one.matrix not in self.factored and not one.is_lower:
                self.factored[one.matrix] = self.count, self.count + 1
                self.count += 2
                matrix = self.constants.get(one.matrix)
                if matrix is not None:
                    self._keep(one.matrix, matrix)
                elif one.matrix in self.schedule.held:
                    self.held.append(one.matrix)
        self.failed = self.count
        self.count += 1

    def _keep(self, slot: int, matrix: Any) -> None:
        found = factorised(matrix)
        if found is None:
            self.is_singular = True
            return
        self.known[slot] = found
        lu, pivots = self.factored[slot]
        self.constants |= {lu: found.lu, pivots: found.pivots}

    def factors(self, matrix: int) -> tuple[int, int]:
        """The slots of the factors of a matrix, and of the rows that were exchanged."""
        return self.factored[matrix]

    def _made(self) -> list[int]:
        """The arrays that machine code writes."""
        schedule, others = self.schedule, ("number", "view", "library")
        made = [slot for slot, kind in schedule.kinds.items() if kind not in others and self.program.shape(slot)]
        stored = {slot for stage in schedule.stages if isinstance(stage, Kernel) for slot in stage.stores}
        return [slot for slot in made if slot in stored or schedule.kinds[slot] != "kernel"]

    def array(self, slot: int, name: str) -> str:
        """The lines that give the address of an array a name."""
        if slot in self.constants:
            return f"  {name} = getelementptr i8, ptr inttoptr (i64 {_address(self.constants[slot])} to ptr), i64 0"
        frame = self.frames.get(slot, slot)
        return f"  {name}.at = getelementptr ptr, ptr %tab, i64 {frame}\n  {name} = load ptr, ptr {name}.at"

    def table(self, view: View, name: str) -> str:
        """The same of the table of a view."""
        table = np.ascontiguousarray(view.table)
        self.kept.append(table)
        return f"  {name} = getelementptr i8, ptr inttoptr (i64 {_address(table)} to ptr), i64 0"

    def number(self, slot: int, name: str) -> str:
        """The same of a number."""
        return f"  {name} = getelementptr double, ptr %num, i64 {slot}"

    def value(self, slot: int) -> float | None:
        """The number, if it is known."""
        value = self.constants.get(slot)
        return value if isinstance(value, float) else None


def _laid_out(value: Value) -> Value:
    return value if isinstance(value, float) else np.ascontiguousarray(value)


def _address(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


class _Buffers:
    """What one call at a time writes to."""

    def __init__(self, memory: _Memory) -> None:
        self.memory, program = memory, memory.program
        self.table = (ctypes.c_void_p * memory.count)()
        self.numbers = (ctypes.c_double * memory.count)()
        self.addresses = ctypes.addressof(self.table), ctypes.addressof(self.numbers)
        self.arrays: dict[int, Array] = {}
        self.factors: dict[int, Factors] = {}  # of this call
        self.held: Mapping[int, Factors] = {}
        self.laid: dict[int, Array] = {}
        self.written = {*memory.frames.values()}
        self.fresh = [(slot, program.shape(slot)) for slot in self.written]
        arena = np.empty((memory.length,))
        self._factors = {matrix: self._room(matrix, size) for matrix, size in memory.sizes.items()}
        kept = {
            slot: arena[begin : begin + size_of(shape)].reshape(shape)
            for slot, begin in memory.places.items()
            for shape in [program.shape(slot)]
        }
        for slot, array in kept.items():
            self.table[slot] = _address(array)
        self.known = {**kept, **memory.constants}  # in each call

    def _room(self, matrix: int, size: int) -> tuple[Array, Any]:
        """Places for the factors of a matrix: numbers, and whole numbers of 32 bits."""
        lu, pivots = np.empty((size, size)), np.empty((size + 1) // 2).view(np.int32)[:size]
        for slot, array in zip(self.memory.factors(matrix), (lu, pivots), strict=True):
            self.table[slot] = _address(array)
        return lu.T, pivots

    def hold(self, known: Mapping[int, Factors | None]) -> None:
        """Have the factors of some matrices in the calls that follow."""
        self.held = {matrix: one for matrix, one in known.items() if one is not None}
        for matrix, one in self.held.items():
            for slot, array in zip(self.memory.factors(matrix), (one.lu, one.pivots), strict=True):
                self.table[slot] = _address(array)

    def factorised(self, matrix: int) -> Factors:
        """The factors of a matrix in this call."""
        known = self.memory.known.get(matrix) or self.held.get(matrix) or self.factors.get(matrix)
        if known is None:
            known = self.factors[matrix] = Factors(*self._factors[matrix])
        return known

    def enter(self, values: Sequence[Value]) -> None:
        """The inputs of a call, and new arrays for its outputs."""
        for slot, value in enumerate(values):
            self.put(slot, value)
        for slot, shape in self.fresh:
            self.put(slot, np.empty(shape))

    def put(self, slot: int, value: Value) -> None:
        """What is in a slot."""
        if isinstance(value, float):
            self.numbers[slot] = value
        else:
            self.arrays[slot] = value
            if slot in self.memory.addressed or slot in self.written:
                self.laid[slot] = laid = value if value.flags.c_contiguous else np.ascontiguousarray(value)
                self.table[slot] = _address(laid)

    def get(self, slot: int) -> Value:
        """The value in a slot."""
        known = self.known.get(slot)
        if known is not None:
            return known
        slot = self.memory.frames.get(slot, slot)
        return self.arrays[slot] if slot in self.arrays else self.numbers[slot]

    def outputs(self, slots: Sequence[int]) -> list[Value]:
        """The outputs, each an array of its own."""
        found: list[Value] = []
        for place, slot in enumerate(slots):
            value = self.get(slot)
            if not isinstance(value, float) and (slot in slots[:place] or not self._is_new(slot, value)):
                value = value.copy()
            found.append(value)
        return found

    def _is_new(self, slot: int, value: Array) -> bool:
        """Whether an array is the result of this call, and nothing else's."""
        if slot in self.memory.frames:
            return True
        schedule = self.memory.schedule
        if schedule.kind(slot) != "library" or value.base is not None:
            return False
        return all(value is not self.get(x) for x in schedule.step(slot).operands)

    def leave(self) -> None:
        """Let go of what the caller has."""
        self.arrays.clear()
        self.laid.clear()
        self.factors.clear()


def _numbers(name: str, schedule: Schedule, stage: Numbers, memory: _Memory) -> tuple[str, Code]:
    """The code of steps on numbers."""
    code, found = Code(1), dict[int, Symbol]()

    def operand(slot: int) -> Symbol:
        view = schedule.views.get(slot)
        base = slot if view is None else view.slot
        value = memory.value(base)
        if value is not None:
            return code.constant(value)
        if view is not None and memory.program.shape(base):
            code.lines.append(memory.array(base, f"%a{slot}"))
            code.lines.append(f"  %x{slot}.at = getelementptr double, ptr %a{slot}, i64 {view.offset}")
        else:
            code.lines.append(memory.number(base, f"%x{slot}.at"))
        code.lines.append(f"  %x{slot} = load double, ptr %x{slot}.at, align 1")
        return code.argument(f"%x{slot}")

    for slot in stage.steps:
        step = schedule.step(slot)
        for x in step.operands:
            if x not in found:
                found[x] = operand(x)
        found[slot] = lower(step.op, [found[x] for x in step.operands], step.attrs)
        code.lines.append(memory.number(slot, f"%y{slot}"))
        code.lines.append(f"  store double {found[slot].text}, ptr %y{slot}, align 1")
    return "\n".join([f"define internal void @{name}(ptr %tab, ptr %num) {{", *code.lines, "  ret void", "}"]), code


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


_APART = 8  # numbers in 64 bytes: each array begins at a multiple of these


def places(schedule: Schedule, slots: Iterable[int]) -> tuple[dict[int, int], int]:
    """Where the arrays of some slots begin, and how many numbers there are in all.

    An array has its place from the stage that writes it to the last one that reads it, or a view of it.
    """
    last = _last_reads(schedule)
    wanted = {*slots}
    live: list[tuple[int, int, int]] = []  # begin, end and last stage, in order of the places
    found: dict[int, int] = {}
    total = 0
    for number, stage in enumerate(schedule.stages):
        live = [one for one in live if one[2] >= number]
        for slot in _written(stage):
            if slot not in wanted or slot in found:
                continue
            size = -(-size_of(schedule.program.shape(slot)) // _APART) * _APART
            begin = _gap(live, size)
            live.append((begin, begin + size, max(number, last.get(slot, number))))
            live.sort()
            found[slot] = begin
            total = max(total, begin + size)
    return found, total


def _gap(live: list[tuple[int, int, int]], size: int) -> int:
    """The first place with room for so many numbers."""
    place = 0
    for begin, end, _ in live:
        if begin - place >= size:
            break
        place = max(place, end)
    return place


def _written(stage: Stage) -> list[int]:
    if isinstance(stage, Kernel):
        return [*stage.stores, *[one.slot for one in stage.sums], *[part.slot for part in stage.joins]]
    return [stage.slot] if isinstance(stage, Product | Scatter | Running | Repeat | Solve) else []


def _read(schedule: Schedule, stage: Stage) -> set[int]:
    if isinstance(stage, Kernel):
        return {view.slot for view in stage.reads.values()}
    if isinstance(stage, Product):
        return {stage.left.slot, stage.right.slot}
    if isinstance(stage, Running):
        return {view.slot for view in stage.reads}
    if isinstance(stage, Factorise):
        return {stage.matrix}
    if isinstance(stage, Solve):
        return {stage.system.matrix, stage.right}
    if isinstance(stage, Scatter | Repeat):
        return {stage.operand}
    steps = [stage.slot] if isinstance(stage, Library) else stage.steps
    operands = {x for slot in steps for x in schedule.step(slot).operands}
    return {schedule.views[x].slot if x in schedule.views else x for x in operands}


def _last_reads(schedule: Schedule) -> dict[int, int]:
    """The number of the last stage that reads an array, or what a function of the library returned as a view of it."""
    end = len(schedule.stages)
    last = dict.fromkeys(schedule.program.outputs, end)
    for number in range(end - 1, -1, -1):
        stage = schedule.stages[number]
        until = number
        if isinstance(stage, Library) and schedule.step(stage.slot).op.role == "view":
            until = max(number, last.get(stage.slot, number))
        for slot in _read(schedule, stage):
            last[slot] = max(until, last.get(slot, until))
    return last
