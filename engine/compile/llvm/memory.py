"""Where the arrays and numbers of a schedule are in a call.

Arrays that are not needed at once share their places in one piece of memory: each has its place from the stage that
writes it to the last one that reads it, or a view of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import Factorise, Factors, Kernel, Library, Numbers, View, factorised
from agrad.engine.values import Array, Value, np, size_of

_BYTE = ctypes.c_char
_APART = 8  # numbers in 64 bytes: each array begins at a multiple of these


class Memory:
    """Where the arrays and numbers of a schedule are: by slot, in a table of addresses and an array of numbers."""

    def __init__(self, schedule: Schedule) -> None:
        self.program, self.schedule = schedule.program, schedule
        self.count = self.program.first + len(self.program.steps)
        constants = enumerate(self.program.constants, len(self.program.inputs))
        self.constants: dict[int, Value] = {
            slot: value if isinstance(value, float) else np.ascontiguousarray(value) for slot, value in constants
        }
        self.kept: list[Any] = []  # as long as code reads or calls it
        self.addressed = {view.slot for view in schedule.views.values()}  # what machine code reads
        self.addressed.update(*[schedule.accesses(stage)[1] for stage in schedule.stages])
        others = ("number", "view", "library")
        arrays = [slot for slot, kind in schedule.kinds.items() if kind not in others and self.program.shape(slot)]
        stored = {slot for stage in schedule.stages if isinstance(stage, Kernel) for slot in stage.stores}
        made = [slot for slot in arrays if slot in stored or schedule.kinds[slot] != "kernel"]
        self.frames = self._frames({*made})
        self.places, self.length = places(schedule, [slot for slot in made if slot not in self.frames])
        self._factor()
        # the outputs of each path, as `Buffers.outputs` takes them
        paths = schedule.paths.branches
        self.ends = {one.number: [*self._taken(one.outputs)] for one in paths if one.guard is None}

    def _frames(self, made: set[int]) -> dict[int, int]:
        """The outputs that a call has new arrays for: those that are made at the end of a path.

        Each with the slot whose array it has; ends of several paths share arrays.
        """
        found, shared = dict[int, int](), dict[object, int]()
        for one in self.schedule.paths.branches:
            for place, slot in enumerate(one.outputs):
                if slot in made and one.first <= slot < one.end and slot not in found:
                    found[slot] = shared.setdefault((place, self.program.shape(slot)), slot)
        return found

    def _taken(self, outputs: Sequence[int]) -> Iterator[tuple[str, int]]:
        for place, slot in enumerate(outputs):
            if slot in outputs[:place]:
                yield "again", slot
            elif slot in self.frames:
                yield "frame", self.frames[slot]
            else:
                is_number = not self.program.shape(slot) and self.schedule.kind(slot) not in ("given", "library")
                yield "number" if is_number else "other", slot

    def _factor(self) -> None:
        """Slots behind the others: of what is factorised in a call, of constant factors, and of the failure."""
        self.sizes = {stage.matrix: stage.size for stage in self.schedule.stages if isinstance(stage, Factorise)}
        self.factored: dict[int, tuple[int, int]] = {}  # for each matrix, those of the factors and exchanged rows
        self.known: dict[int, Factors] = {}
        self.held: list[int] = []  # matrices
        self.is_singular = False  # a constant matrix
        for one in self.schedule.systems.values():
            if one.matrix in self.factored or one.is_lower:
                continue
            lu, pivots = self.factored[one.matrix] = self.count, self.count + 1
            self.count += 2
            matrix = self.constants.get(one.matrix)
            if matrix is None:
                self.held += [one.matrix] if one.matrix in self.schedule.held else []
            elif (found := factorised(matrix)) is None:
                self.is_singular = True
            else:
                self.known[one.matrix] = found
                self.constants |= {lu: found.lu, pivots: found.pivots}
        self.failed = self.count  # the slot of the number that is 1 where a call has failed
        self.count += 1

    def array(self, slot: int, name: str) -> str:
        """The lines that give the address of an array a name."""
        if slot in self.constants:
            return _pointer(name, self.constants[slot])
        frame = self.frames.get(slot, slot)
        return f"  {name}.at = getelementptr ptr, ptr %tab, i64 {frame}\n  {name} = load ptr, ptr {name}.at"

    def table(self, view: View, name: str) -> str:
        """The same of the table of a view."""
        self.kept.append(np.ascontiguousarray(view.table))
        return _pointer(name, self.kept[-1])

    def number(self, slot: int, name: str) -> str:
        """The same of a number."""
        return f"  {name} = getelementptr double, ptr %num, i64 {slot}"

    def load(self, slot: int, name: str) -> str:
        """The lines that read a number."""
        return f"{self.number(slot, f'{name}.at')}\n  {name} = load double, ptr {name}.at, align 1"

    def value(self, slot: int) -> float | None:
        """The number, if it is known."""
        value = self.constants.get(slot)
        return value if isinstance(value, float) else None


def _pointer(name: str, array: Any) -> str:
    return f"  {name} = getelementptr i8, ptr inttoptr (i64 {address(array)} to ptr), i64 0"


def entry(name: str, unit: str, base: str, first: int, steps: Iterable[tuple[str, int]] = ()) -> Iterator[str]:
    """The lines that name the address of an entry: that of the first, and counters times strides from there on."""
    at = str(first)
    for number, (counter, stride) in enumerate(steps):
        if stride:
            step = f"{name}.{number}"
            yield f"  {step}.by = mul i64 {counter}, {stride}\n  {step} = add i64 {at}, {step}.by"
            at = step
    yield f"  {name} = getelementptr {unit}, ptr {base}, i64 {at}"


def zeros(at: str, count: int) -> str:
    """The line that sets so many numbers to 0."""
    return f"  call void @llvm.memset.p0.i64(ptr {at}, i8 0, i64 {8 * count}, i1 false)"


def address(array: Any) -> int:
    """Where a contiguous array begins."""
    try:
        return ctypes.addressof(_BYTE.from_buffer(array))  # a third of the time of the other way
    except (TypeError, ValueError):  # it is not to be written to, or empty
        found: int = array.__array_interface__["data"][0]
        return found


class Buffers:
    """What one call at a time writes to."""

    def __init__(self, memory: Memory) -> None:
        self.memory, program = memory, memory.program
        self.table = (ctypes.c_void_p * memory.count)()
        self.numbers = (ctypes.c_double * memory.count)()
        self.addresses = ctypes.addressof(self.table), ctypes.addressof(self.numbers)
        self.arrays: dict[int, Array] = {}
        self.factors: dict[int, Factors] = {}  # of this call
        self.held: Mapping[int, Factors] = {}
        self.laid: dict[int, Array] = {}
        self.fresh = [(slot, program.shape(slot)) for slot in {*memory.frames.values()}]
        arena = np.empty((memory.length,))
        self._factors = {matrix: self._room(matrix, size) for matrix, size in memory.sizes.items()}
        shapes, places = program.shapes, memory.places
        kept = {slot: arena[x : x + size_of(shapes[slot])].reshape(shapes[slot]) for slot, x in places.items()}
        for slot, array in kept.items():
            self.table[slot] = address(array)
        self.known = {**kept, **memory.constants}  # in each call

    def _room(self, matrix: int, size: int) -> tuple[Array, Any]:
        """Places for the factors of a matrix: numbers, and whole numbers of 32 bits."""
        lu, pivots = np.empty((size, size)), np.empty((size + 1) // 2).view(np.int32)[:size]
        self._place(matrix, lu, pivots)
        return lu.T, pivots

    def _place(self, matrix: int, *parts: Any) -> None:
        for slot, array in zip(self.memory.factored[matrix], parts, strict=True):
            self.table[slot] = address(array)

    def hold(self, known: Mapping[int, Factors | None]) -> None:
        """Have the factors of some matrices in the calls that follow."""
        self.held = {matrix: one for matrix, one in known.items() if one is not None}
        for matrix, one in self.held.items():
            self._place(matrix, one.lu, one.pivots)

    def factorised(self, matrix: int) -> Factors:
        """The factors of a matrix in this call."""
        known = self.memory.known.get(matrix) or self.held.get(matrix) or self.factors.get(matrix)
        if known is None:
            known = self.factors[matrix] = Factors(*self._factors[matrix])
        return known

    def enter(self, values: Sequence[Value]) -> None:
        """The inputs of a call, contiguous arrays, and new arrays for its outputs."""
        numbers, arrays, table = self.numbers, self.arrays, self.table
        for slot, value in enumerate(values):
            if isinstance(value, float):
                numbers[slot] = value
            else:
                arrays[slot], table[slot] = value, address(value)
        for slot, shape in self.fresh:
            arrays[slot] = value = np.empty(shape)
            table[slot] = address(value)

    def put(self, slot: int, value: Value) -> None:
        """What is in a slot."""
        if isinstance(value, float):
            self.numbers[slot] = value
        else:
            self.arrays[slot] = value
            if slot in self.memory.addressed:
                self.laid[slot] = laid = np.ascontiguousarray(value)
                self.table[slot] = address(laid)

    def get(self, slot: int) -> Value:
        """The value in a slot."""
        known = self.known.get(slot)
        if known is not None:
            return known
        slot = self.memory.frames.get(slot, slot)
        return self.arrays[slot] if slot in self.arrays else self.numbers[slot]

    def outputs(self, number: int) -> tuple[Value, ...]:
        """The outputs of a path, each an array of its own."""
        numbers, arrays = self.numbers, self.arrays
        return tuple(
            [
                arrays[slot] if kind == "frame" else numbers[slot] if kind == "number" else self._own(kind, slot)
                for kind, slot in self.memory.ends[number]
            ]
        )

    def _own(self, kind: str, slot: int) -> Value:
        """A copy of an array, unless it is the result of a function of the library in this call, and nothing else's."""
        value, schedule = self.get(slot), self.memory.schedule
        if isinstance(value, float):
            return value
        is_made = kind != "again" and schedule.kind(slot) == "library" and value.base is None
        is_new = is_made and all(value is not self.get(x) for x in schedule.step(slot).operands)
        return value if is_new else value.copy()

    def leave(self) -> None:
        """Let go of what the caller has."""
        self.arrays.clear()
        self.laid.clear()
        self.factors.clear()


def places(schedule: Schedule, slots: Iterable[int]) -> tuple[dict[int, int], int]:
    """Where the arrays of some slots begin in one piece of memory, and how many numbers there are in all."""
    last = _last_reads(schedule)
    wanted = {*slots}
    live: list[tuple[int, int, int]] = []  # begin, end and last stage, in order of the places
    found: dict[int, int] = {}
    total = 0
    for number, stage in enumerate(schedule.stages):
        live = [one for one in live if one[2] >= number]
        for slot in schedule.accesses(stage)[0]:
            if slot not in wanted or slot in found:
                continue
            size = -(-size_of(schedule.program.shape(slot)) // _APART) * _APART
            begin = 0  # of the first gap with room
            for start, end, _ in live:
                if start - begin >= size:
                    break
                begin = max(begin, end)
            live.append((begin, begin + size, max(number, last.get(slot, number))))
            live.sort()
            found[slot] = begin
            total = max(total, begin + size)
    return found, total


def _last_reads(schedule: Schedule) -> dict[int, int]:
    """The number of the last stage that reads an array, or what a function of the library returned as a view of it."""
    end = len(schedule.stages)
    last = dict.fromkeys(schedule.program.outputs, end)
    for number in range(end - 1, -1, -1):
        stage, until, read = schedule.stages[number], number, schedule.accesses(schedule.stages[number])[1]
        if isinstance(stage, Library | Numbers):
            steps = [stage.slot] if isinstance(stage, Library) else stage.steps
            operands = {x for slot in steps for x in schedule.step(slot).operands}
            read = {schedule.base(x).slot for x in operands}
        if isinstance(stage, Library) and schedule.step(stage.slot).op.role == "view":
            until = max(number, last.get(stage.slot, number))
        for slot in read:
            last[slot] = max(until, last.get(slot, until))
    return last
