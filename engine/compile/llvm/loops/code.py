"""Programs of arrays as loops in machine code: compiled, and called with arrays.

    loops = Loops(program)
    loops.call(x, y)     # the outputs, arrays of their own

A call has buffers of its own for what is stored on the way; they are used again by later calls. What is no loop is
computed by the array functions of its operations, in between.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from agrad.engine.compile.backend import row_of
from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.loops.arena import places
from agrad.engine.compile.llvm.loops.driver import FAILED, PAUSED, UNKNOWN, Driver
from agrad.engine.compile.llvm.loops.factors import Factors, factorised
from agrad.engine.compile.llvm.loops.kernel import KernelCode, helpers
from agrad.engine.compile.llvm.loops.lapack import HELPERS, factorise_code, solve_code
from agrad.engine.compile.llvm.loops.routines import Routine, kind_of, needed, product_code, scatter_code
from agrad.engine.compile.llvm.loops.running import RunningCode, repeat_code
from agrad.engine.compile.llvm.loops.schedule import Schedule
from agrad.engine.compile.llvm.loops.stages import (
    Factorise,
    Kernel,
    Library,
    Numbers,
    Product,
    Repeat,
    Running,
    Scatter,
    Solve,
    Stage,
)
from agrad.engine.compile.llvm.loops.views import View
from agrad.engine.compile.llvm.target import definitions, llvmlite, machine, processor
from agrad.engine.compile.symbols.lowering import lower
from agrad.engine.compile.symbols.symbol import Symbol
from agrad.engine.core.dispatch import all_floats
from agrad.engine.core.numpy_warnings import computed as silently
from agrad.engine.core.op import Op
from agrad.engine.program.ir import Program, computed, own
from agrad.engine.values import Array, Value, np, settle, size_of

_MOST = 20_000  # instructions, in all kernels
_FEWEST = 64  # entries: of fewer, a call of numpy takes as long


def reason_against(schedule: Schedule) -> str | None:
    """Why a program is not computed in loops, in words; None if it is."""
    program = schedule.program
    kernels = [stage for stage in schedule.stages if isinstance(stage, Kernel)]
    repeats = any(step.op.native is not None for step in program.steps)
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
        if op.native is not None:
            buffers.put(slot, op.native(*values, **attrs))
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
        buffers.put(slot, value if op.is_view else own(value))

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
