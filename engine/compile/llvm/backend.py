"""Machine code for programs of numbers, by LLVM: one call for numbers, and a loop over the rows of columns.

    native = Native(program)
    native.call(2.0, 3.0)          # -> the outputs, a tuple of floats
    native.map([xs, ys], [out])    # the outputs of each row, into arrays

Arithmetic is exactly that of the program; a function of the C library is within 4 ulp of Python's. Checks of the
program are left to the caller, which adds the slots that they read to the outputs.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from agrad.engine.compile.arguments import packing, reading, strictly_packing
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.ir_builder import Code, counted, loads, module, of_step, of_vectors, stores
from agrad.engine.compile.llvm.loops import Loops, reason_against
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.target import LONG, NEEDED, compiled, function, in_pieces, machine
from agrad.engine.compile.registry import NativeBackend, Shapes
from agrad.engine.compile.symbols import UnwrittenError, lower
from agrad.engine.program.ir import Program
from agrad.engine.program.passes import arranged
from agrad.engine.text import beside
from agrad.engine.values import Array, Value, np, size_of

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
    length, lengths = 0, dict[tuple[str, str], int]()
    for step in program.steps:
        kind = step.op.name, repr(step.attrs)
        if kind not in lengths:
            try:
                lengths[kind] = len(of_step(step).lines)
            except UnwrittenError as error:
                return str(error)
        length += lengths[kind]
    if length > _MOST:
        return f"it has {length} instructions, and machine code is for at most {_MOST}"
    numbers = len(program.inputs) + len(program.outputs)
    if numbers > _PASSED:
        return f"it has {numbers} inputs and outputs, and machine code is for at most {_PASSED}"
    return None


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
        self._pack, self._read = packing(self.inputs), reading(self.outputs)

    @cached_property
    def call(self) -> Callable[..., tuple[Value, ...]]:
        """The Python function that computes the program: from its inputs to a tuple; arrays are contiguous."""
        pack, compute, read = self._pack, self._compute, self._read
        return lambda *values: compute(pack(*values), read)

    def shortcut(self, ask: Callable[..., Any], known: Sequence[Any] | None, is_single: bool) -> Callable[..., Any]:
        """The same, to the first output and a tuple of the rest, or with `is_single` to a tuple of all.

        Where its arguments are not numbers and arrays of its shapes, or not those `known` (any if None), it calls `ask`
        with them.
        """
        pack, compute, read = strictly_packing(self.inputs), self._compute, self._read
        expected = None if known is None else self._pack(*known)

        def call(*values: Any) -> Any:
            try:
                given = pack(*values)
            except Exception:  # the `__float__` of an argument raises anything; `ask` raises the error that says more
                return ask(*values)
            if expected is not None and given != expected:
                return ask(*values)
            found = compute(given, read)
            return found if is_single else (found[0], found[1:])

        return call

    @cached_property
    def _compute(self) -> Callable[[bytes, Callable[[Any], Any]], Any]:
        return buffered(self._engine, "compute", 8 * len(self.program.outputs))

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


def buffered(engine: Any, name: str, size: int) -> Callable[[bytes, Callable[[Any], Any]], Any]:
    """A function of an engine, called with packed inputs, and a function that reads the buffer of so many bytes.

    Each call has its own buffer while it runs, so that threads may call at the same time.
    """
    run = ctypes.PYFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)(engine.get_function_address(name))
    pool: list[tuple[Any, int]] = []

    def compute(given: bytes, read: Callable[[Any], Any], engine: object = engine) -> Any:
        try:
            buffer, address = pool.pop()
        except IndexError:
            buffer = (ctypes.c_char * size)()
            address = ctypes.addressof(buffer)
        run(given, address)
        found = read(buffer)
        pool.append((buffer, address))
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


def written(program: Program, code: Code) -> list[str]:
    """The program of numbers as code, whose inputs are %x0, %x1, …; the names of its outputs."""
    program = arranged(program)
    slots = [code.argument(f"%x{i}") for i in range(len(program.inputs))]
    slots += [code.constant(float(value)) for value in program.constants]
    for step in program.steps:
        slots.append(lower(step.op, [slots[i] for i in step.operands], step.attrs))
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
    filled = {
        "OPENING": "\n".join(opening),
        "BLOCKS": "\n".join(counted("row", "entry", "%end", (*before, *lines, *after), "%first", lanes)),
        "ATTRIBUTES": of_vectors(lanes),
        "NUMBER": number,
        "LANES": str(lanes),
    }
    text = beside(__file__, "columns.ll").partition("\n\n")[2]
    return re.sub("[A-Z]{5,}", lambda word: filled[word[0]], text)


def _pointer(name: str, array: str, i: int) -> list[str]:
    return [
        f"  %at.{name}{i} = getelementptr ptr, ptr %{array}, i64 {i}",
        f"  %{name}{i} = load ptr, ptr %at.{name}{i}",
    ]
