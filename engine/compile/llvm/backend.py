"""Machine code for programs of numbers, by LLVM: one call for numbers, and a loop over the rows of columns.

    native = Native(program)
    native.call(2.0, 3.0)          # -> the outputs, a tuple of floats
    native.map([xs, ys], [out])    # the outputs of each row, into arrays

Arithmetic is exactly that of the program; a function of the C library is within 4 ulp of Python's. Checks of the
program are left to the caller, which adds the slots that they read to the outputs.

Several specialisations of a function become one function, in which they share what is common. The guards are a tree:
what is computed before a guard is there once, and behind it the function branches. The end of a branch gives the
outputs of a specialisation; where none is known, the function says so. `Decisions` is for numbers; arrays that have
become numbers are passed entry by entry. `Branches` is for loops over arrays. `joined` chooses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from agrad.engine.compile.arguments import packing, reading, row_of
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.ir_builder import Code, counted, loads, module, of_step, of_vectors, stores, template
from agrad.engine.compile.llvm.loops import UNKNOWN, Loops, reason_against
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.target import LONG, NEEDED, compiled, function, in_pieces, machine
from agrad.engine.compile.paths import Paths, paths_of
from agrad.engine.compile.registry import NativeBackend, Shapes
from agrad.engine.compile.scalarise import regular
from agrad.engine.compile.symbols import UnwrittenError, lower
from agrad.engine.core.graph import collecting_later
from agrad.engine.core.guards import bits, truth
from agrad.engine.program.ir import GuardCheck, Program, frozen, latest
from agrad.engine.struct import Struct
from agrad.engine.values import Array, Shape, Value, np, size_of

_MOST = 50_000  # instructions: each may take a place on the stack, of 64 bytes for 8 lanes, and a stack has 8 MB
_PASSED = 100_000  # inputs and outputs: they lie on the stack as well
_ROWS = 8192  # of columns of arrays that are computed at once
_MANY = 1 << 22  # rows from which on that pays for a loop: it takes some ms, and saves half a ns per row


def supports(program: Program) -> str | None:
    """Why there is no machine code for a program, in words; None if there is."""
    if target.binding() is None:
        return f"{NEEDED} is not installed"
    return _of_numbers(program) if program.is_scalar else reason_against(Schedule(program))


def _of_numbers(program: Program) -> str | None:
    kinds = [(step.op.name, repr(step.attrs)) for step in program.steps]
    steps = dict(zip(kinds, program.steps, strict=True))
    try:
        lengths = {kind: len(of_step(step).lines) for kind, step in steps.items()}
    except UnwrittenError as error:
        return str(error)
    length = sum([lengths[kind] for kind in kinds])
    if length > _MOST:
        return f"it has {length} instructions, and machine code is for at most {_MOST}"
    numbers = len(program.inputs) + len(program.outputs)
    if numbers > _PASSED:
        return f"it has {numbers} inputs and outputs, and machine code is for at most {_PASSED}"
    return None


class Lowered(Struct):
    """A program for machine code; of one that was scalarised, the shapes of its inputs and outputs."""

    program: Program
    shapes: tuple[tuple[Shape, ...], tuple[Shape, ...]] | None = None
    name: str = "numbers"
    reason: str = ""  # why there is no machine code for it, if that is known

    @property
    def outputs(self) -> Sequence[Shape]:
        """The shapes of what its outputs are the entries of."""
        return [()] * len(self.program.outputs) if self.shapes is None else self.shapes[1]


class Native:
    """The code of a supported program of numbers, called with numbers, or with arrays whose entries these are.

    It is compiled when it is first called, and freed with this object.
    """

    def __init__(self, program: Program, shapes: Shapes | None = None) -> None:
        """`shapes`: of the inputs and of the outputs, where these are not all numbers."""
        self.program = program
        # With it or without, the results have the same bits. Without, a long program is compiled ten times as fast, and
        # runs at two thirds of the speed.
        self.fast = len(program.steps) < LONG
        self._mapped = 0  # rows so far
        self._loops: dict[bool, Any] = {}
        self.inputs, self.outputs = shapes or ([()] * len(program.inputs), [()] * len(program.outputs))
        self._pack = packing(self.inputs)

    @cached_property
    def call(self) -> Callable[..., tuple[Value, ...]]:
        """The Python function that computes the program: from its inputs to a tuple; arrays are contiguous."""
        pack, compute = self._pack, self._compute
        return lambda *values: compute(pack(*values))

    def shortcut(
        self, ask: Callable[..., Any], known: Sequence[Any] | None, is_single: bool, checks: Sequence[GuardCheck] = ()
    ) -> Callable[..., Any]:
        """The same, to the first output and a tuple of the rest, or with `is_single` to a tuple of all.

        Where its arguments are not numbers and arrays of its shapes, or not those `known` (any if None), or one of the
        checks does not hold, which read its last outputs, it calls `ask` with them.
        """
        pack, compute, count = self._pack, self._compute, len(self.outputs) - len(checks)
        expected = None if known is None else self._pack(*known)

        def call(*values: Any) -> Any:
            try:
                given = pack(*values)
            except Exception:  # the `__float__` of an argument raises anything; `ask` raises the error that says more
                return ask(*values)
            if expected is not None and given != expected:
                return ask(*values)
            found = compute(given)
            for number, check in enumerate(checks, count):
                if not check.holds(found[number]):
                    return ask(*values)
            return found[:count] if is_single else (found[0], found[1:count])

        return call

    @cached_property
    def _compute(self) -> Callable[[bytes], Any]:
        return buffered(self._engine, "compute", 8 * len(self.program.outputs), partial(reading, self.outputs))

    @cached_property
    def _engine(self) -> Any:
        """The LLVM engine with the code for numbers."""
        return compiled(self._module(1), self.fast)

    def map(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None = None) -> None:
        """Compute the outputs of each row of the columns into the arrays `outs`, on so many threads, or all cores.

        All are of float64, with rows of the shapes of the inputs and outputs; those of `outs` are contiguous, and share
        no memory.
        """
        if not any((*self.inputs, *self.outputs)):
            self._map(columns, outs, threads)
            return
        for start in range(0, len(outs[0]), _ROWS):
            here = slice(start, start + _ROWS)
            count = len(outs[0][here])
            given = [column for table in columns for column in table[here].reshape(count, size_of(table.shape[1:])).T]
            made = [np.empty((size_of(out.shape[1:]), count)) for out in outs]
            self._map(given, [column for table in made for column in table], threads)
            for out, table in zip(outs, made, strict=True):
                out[here] = table.T.reshape(out[here].shape)

    def _map(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None) -> None:
        """The same for numbers."""
        rows = len([*columns, *outs][0])
        self._mapped += rows
        run = self._loop(self.fast and self._mapped >= _MANY)
        strides, places, results = (
            np.array(numbers, np.int64).tobytes()
            for numbers in ([x.strides[0] for x in columns], *([x.ctypes.data for x in one] for one in (columns, outs)))
        )

        def work(first: int, end: int, kept: object = (columns, outs)) -> None:
            """Some rows; the arrays stay alive while a thread has their addresses."""
            run(places, strides, results, first, end)

        in_pieces(rows, work, threads)

    def source(self) -> str:
        """LLVM's code of the loop over rows, as it is before optimization."""
        return self._module(machine().lanes)

    def _loop(self, fast: bool) -> Any:
        """The function of the loop over rows."""
        if fast not in self._loops:
            kinds = (*[ctypes.c_char_p] * 3, *[ctypes.c_int64] * 2)
            self._loops[fast] = function(compiled(self._module(machine().lanes), fast), "rows", None, *kinds)
        return self._loops[fast]

    def _module(self, lanes: int) -> str:
        """The text of a module: for numbers (one lane) with the function `compute`, for vectors with `rows`."""
        code = Code(lanes)
        outputs, inputs = written(self.program, code), len(self.program.inputs)
        if lanes > 1:
            return module([code], rows_kernel(code.lines, inputs, outputs, lanes))
        # With a frame pointer, an instruction on the stack is one byte shorter than with the stack pointer; the time of
        # a long program is about that of fetching its bytes.
        head = 'define void @compute(ptr noalias %in, ptr noalias %out) "frame-pointer"="all" {'
        lines = (head, *loads("%in", range(inputs)), *code.lines, *stores("%out", outputs), "  ret void\n}")
        return module([code], "\n".join(lines))


def buffered(engine: Any, name: str, size: int, reading: Callable[[Any], Callable[[], Any]]) -> Callable[[bytes], Any]:
    """A function of an engine, called with packed inputs; `reading` makes what reads a buffer of so many bytes.

    Each call has its own buffer while it runs, so that threads may call at the same time.
    """
    run = ctypes.PYFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)(engine.get_function_address(name))
    pool: list[tuple[int, Callable[[], Any]]] = []

    def compute(given: bytes, engine: object = engine) -> Any:
        try:
            address, read = pool.pop()
        except IndexError:
            buffer = (ctypes.c_char * size)()
            address, read = ctypes.addressof(buffer), reading(buffer)  # which keeps the buffer
        run(given, address)
        found = read()
        pool.append((address, read))
        return found

    return compute


class LLVMBackend(NativeBackend):
    """Machine code by LLVM."""

    def require(self) -> None:
        """Raise AgradError of kind `extra` without llvmlite."""
        target.llvmlite()

    def supports(self, program: Program) -> str | None:
        """Why there is no machine code for a program, in words; None if there is."""
        return supports(program)

    def compile(self, program: Program, shapes: Shapes | None = None) -> Native | Loops:
        """The code; it is compiled when it is first called."""
        return Native(program, shapes) if program.is_scalar else Loops(program)


BACKEND = LLVMBackend()


@collecting_later()
def written(program: Program, code: Code) -> list[str]:
    """The program of numbers as code, whose inputs are %x0, %x1, …; the names of its outputs."""
    given = [code.argument(f"%x{i}") for i in range(len(program.inputs))]
    slots = dict(enumerate([*given, *[code.constant(float(value)) for value in program.constants]]))
    for slot, step in [(x, program.steps[x - program.first]) for x in latest(program)[program.first :]]:
        slots[slot] = lower(step.op, [slots[i] for i in step.operands], step.attrs)
    return [slots[i].text for i in program.outputs]


def rows_kernel(lines: Sequence[str], inputs: int, outputs: Sequence[str], lanes: int) -> str:
    """The function `rows`, which computes rows of columns; the inputs are called %x0, %x1, …"""
    number = f"<{lanes} x double>"
    opening, before, after = [], ["  %left = sub i64 %end, %row"], []
    for i in range(inputs):
        opening += _pointer("column", "columns", i)
        opening += [f"  %r{i} = getelementptr i64, ptr %strides, i64 {i}", f"  %stride{i} = load i64, ptr %r{i}"]
        given = f"ptr %column{i}, i64 %stride{i}, i64 %row, i64 %left, ptr %room"
        before.append(f"  %x{i} = call {number} @take({given})")
    for i, text in enumerate(outputs):
        opening += _pointer("out", "outs", i)
        after.append(f"  call void @put(ptr %out{i}, i64 %row, i64 %left, {number} {text}, ptr %room)")
    blocks = "\n".join(counted("row", "entry", "%end", (*before, *lines, *after), "%first", lanes))
    return template("columns.ll", lanes, OPENING="\n".join(opening), BLOCKS=blocks, ATTRIBUTES=of_vectors(lanes))


def _pointer(name: str, array: str, i: int) -> list[str]:
    return [
        f"  %at.{name}{i} = getelementptr ptr, ptr %{array}, i64 {i}",
        f"  %{name}{i} = load ptr, ptr %at.{name}{i}",
    ]


# Several specialisations as one function

# The outcomes where a number is not 0, and where it is.
_HOLDS: dict[Callable[[Value], object], tuple[object, object]] = {
    truth: (frozen(True), frozen(False)),
    regular: (frozen(False), frozen(True)),
}


class Decisions:
    """The function of some paths through the guards of a function, whose values are numbers: entries of its results."""

    unit = "instructions"

    def __init__(self, paths: Paths, programs: Sequence[Lowered]) -> None:
        self.paths, self.members = paths, paths.members
        checks = [check for number in paths.members for check in programs[number].program.checks]
        self.has_doubts = any(one.read is regular for one in checks)  # a path not known may be one of other numbers
        first, self._outputs = programs[0], {number: programs[number].outputs for number in self.members}
        self._pack = packing([()] * len(first.program.inputs) if first.shapes is None else first.shapes[0])
        counts = [sum(map(size_of, shapes)) for shapes in self._outputs.values()]
        self._size = max(counts)  # of results, before their number
        self.text, self.length = self._written(paths)
        self._engine = compiled(self.text, self.length < LONG)
        self._compute = buffered(self._engine, "decide", 8 * (self._size + 1), self._reading)

    def along(self, values: tuple[Any, ...]) -> tuple[int, tuple[Value, ...]] | None:
        """The number of the specialisation that holds, and its outputs; None where none of these does."""
        return self._compute(self._pack(*values))  # type: ignore[no-any-return]

    def _reading(self, buffer: Any) -> Callable[[], Any]:
        """The function that gives the number at the end, and the results of that path; None where it is not known."""
        parts = {number: reading(shapes, buffer) for number, shapes in self._outputs.items()}
        last = np.ndarray((), np.int64, buffer, 8 * self._size).item

        def read() -> Any:
            number = last()
            return None if number == UNKNOWN else (number, parts[number]())

        return read

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

    def _written(self, tree: Paths) -> tuple[str, int]:
        """The text of the function, and how many instructions it has."""
        code, program, inputs = Code(1), tree.program, len(tree.program.inputs)
        head = ["define void @decide(ptr noalias %in, ptr noalias %out) noinline {"]
        head += [*loads("%in", range(inputs)), f"  %number = getelementptr double, ptr %out, i64 {self._size}"]
        slots = [code.argument(f"%x{place}") for place in range(inputs)]
        slots += [code.constant(float(value)) for value in program.constants]
        known: dict[int, dict[str, str]] = {}  # the instructions on the way to the end of a branch
        for number, one in enumerate(tree.branches):
            if one.before is not None:
                is_last = number == max(tree.branches[one.before].after.values())
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
            labels = [f"label %u{number}" if branch is None else f"label %s{branch}" for branch in after]
            code.lines.append(f"  %holds{number} = fcmp une double {slots[one.guard.slot].text}, 0x0000000000000000")
            code.lines.append(f"  br i1 %holds{number}, {', '.join(labels)}")
            code.lines += [f"u{number}:", _returned(UNKNOWN)] if None in after else []
        body = "\n".join((*head, *code.lines, "}"))
        rows = template("decisions.ll", 1, INPUTS=str(inputs), OUTPUTS=str(self._size + 1))
        return module([code], body, rows), len(code.lines)


def _returned(number: int) -> str:
    """The end of a path: its number, behind its results."""
    return f"  store i64 {number}, ptr %number\n  ret void"


class Branches(Loops):
    """The function of some paths through the guards of a function, which is called by `along`."""

    unit = "operations on arrays and numbers"

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule)
        self.paths, self.members = schedule.paths, schedule.paths.members
        self.has_doubts = bool(schedule.systems)  # a path that is not known may be one with a singular matrix
        self.length = len(schedule.program.steps)

    def which(self, columns: Sequence[Array], threads: int | None) -> Any:
        """The number of the specialisation that holds for each row of some columns, or UNKNOWN."""
        hits = [self.along(row_of(columns, row)) for row in range(len(columns[0]))]
        return np.array([UNKNOWN if hit is None else hit[0] for hit in hits])


MOST_JOINED = 60_000  # steps of one function of several specialisations
_MOST_LOOPS = 4_000  # the same of loops over arrays


def joined(lowered: Sequence[Lowered]) -> tuple[Decisions | Branches, list[int]] | None:
    """One function for at least two of these programs, and the place of the program of each of its numbers.

    None where there is none. It is one of numbers or of loops, as most of the programs are; the first ones have
    precedence.
    """
    if target.binding() is None:
        return None
    usable = [place for place, one in enumerate(lowered) if not one.reason]
    of_kind = [[place for place in usable if lowered[place].name == name] for name in ("numbers", "loops")]
    members = max(of_kind, key=len)
    chosen = [lowered[place] for place in members]
    code = together(chosen) if len(chosen) > 1 else None
    return None if code is None or len(code.members) < 2 else (code, members)


def together(chosen: Sequence[Lowered]) -> Decisions | Branches | None:
    """The function of some programs, all of numbers or all of loops; None where there is no machine code for it."""
    programs = [one.program for one in chosen]
    if chosen[0].name == "loops":
        paths = paths_of([None if any(c.read is bits for c in one.checks) else one for one in programs], _MOST_LOOPS)
        schedule = Schedule(paths)
        if not paths.members or reason_against(schedule) is not None:
            return None
        found = Branches(schedule)
        return None if found.memory.is_singular else found
    fitting = [one if one.is_scalar and all(c.read in _HOLDS for c in one.checks) else None for one in programs]
    try:
        for step in {(s.op.name, repr(s.attrs)): s for one in fitting if one is not None for s in one.steps}.values():
            of_step(step)
    except UnwrittenError:
        return None
    paths = paths_of(fitting, MOST_JOINED)
    return Decisions(paths, chosen) if paths.members else None
