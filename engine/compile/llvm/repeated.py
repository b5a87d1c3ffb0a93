"""Machine code for a loop that computes a program of numbers again and again, each time from its last state."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import Any

from agrad.engine.compile.llvm.backend import LONG, compiled, written
from agrad.engine.compile.llvm.grouping import Grouped
from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.kernels import repeat_kernel
from agrad.engine.compile.llvm.target import definitions
from agrad.engine.program.ir import Program
from agrad.engine.values import Array

PIECE = 1 << 16  # iterations between two moments at which Python can be interrupted


class Repeated:
    """The loop. The program takes the state, a row and what is the same, and gives the state, results and sums."""

    def __init__(self, program: Program, sizes: tuple[int, int, int], width: int) -> None:
        """`width`: how many outputs an iteration keeps; the others are summed up."""
        self.program = program
        self.sizes = sizes
        self.width = width

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
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)(self.address)

    @cached_property
    def address(self) -> int:
        """Where the machine code begins: a function of the five arrays of `run`, and of how often it runs."""
        found: int = self._engine.get_function_address("repeat")
        return found

    @cached_property
    def _engine(self) -> Any:
        return compiled(self.source(), len(self.program.steps) < LONG)

    def source(self) -> str:
        """LLVM's code, as it is before optimization."""
        code = Code(1)
        outputs = [symbol.text for symbol in written(self.program, code)]
        grouped = Grouped(code)
        frame = repeat_kernel(grouped.lines, self.sizes, outputs, self.width, grouped.attributes)
        return "\n\n".join((*definitions(code.called, 1), *grouped.declared, *code.declared(), frame))
