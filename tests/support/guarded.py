"""Columns that begin or end at a page which nobody may touch: whoever reads or writes one number too far, dies.

Run as a program: it computes rows of such columns, of every length up to that given, and checks the results.
"""

import ctypes
import itertools
import mmap
import sys
from dataclasses import replace

import numpy as np

from agrad.engine.compile.llvm import backend, target
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Input, Program, Step

PAGE = mmap.PAGESIZE
STRIDES = (8, 16, 24, 3, 13, -8, -40, 0)  # bytes from row to row, so unaligned columns too
_PAGES = []  # kept for as long as the process


def fenced(count=2):
    """The memory of some pages between two that cannot be read or written, as an array of bytes."""
    pages = mmap.mmap(-1, (count + 2) * PAGE)
    _PAGES.append(pages)
    all_bytes = np.frombuffer(pages, dtype=np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for at in (0, (count + 1) * PAGE):
        assert protect(ctypes.c_void_p(all_bytes.ctypes.data + at), ctypes.c_size_t(PAGE), 0) == 0
    return all_bytes[PAGE : (count + 1) * PAGE]


def column(memory, rows, stride, at_end):
    """A view of the memory as a column of so many rows, up against one of its ends."""
    span = 8 + abs(stride) * (rows - 1) if rows else 0
    first = (len(memory) - span if at_end else 0) + (span - 8 if stride < 0 and rows else 0)
    return np.ndarray((rows,), np.float64, memory, first if rows else 0, (stride,))


def check(native, memories, rows, stride, at_end, many):
    """One computation; an error if a result is wrong, or a byte around the results has changed."""
    rng = np.random.default_rng(rows)
    for memory in memories:
        memory[:] = 0xA5
    columns = [column(memory, rows, stride, at_end) for memory in memories[:2]]
    for one in columns:
        for i in range(rows):  # where rows overlap, what the last of them left
            one[i : i + 1] = rng.normal()
    x, y = (np.array([one[i] for i in range(rows)]) for one in columns)
    outs = [column(memory, rows, 8, at_end) for memory in memories[2:]]
    native.map(columns, outs, threads=many)
    expected = [x * y, np.sqrt(np.abs(x)) + y]
    for out, wanted, memory in zip(outs, expected, memories[2:], strict=True):
        # where rows overlap, the numbers are any bits there are: nan too
        assert np.array_equal(out, wanted, equal_nan=True), (rows, stride, at_end, many)
        around = memory[: len(memory) - 8 * rows] if at_end else memory[8 * rows :]
        assert (around == 0xA5).all(), (rows, stride, at_end, many)


def main(longest, piece, lanes):
    target.PIECE = piece  # so that there is something to do for each thread
    backend.machine = lambda: replace(target.machine(), lanes=lanes)
    steps = [("mul", (0, 1)), ("abs", (0,)), ("sqrt", (3,)), ("add", (4, 1))]
    made = tuple(Step(OPS[name], slots, {}, ()) for name, slots in steps)
    native = backend.Native(Program((Input("x", ()), Input("y", ())), (), made, (2, 5), ()))
    memories = [fenced() for _ in range(4)]
    with np.errstate(all="ignore"):
        for rows, stride, at_end in itertools.product(range(longest + 1), STRIDES, (False, True)):
            check(native, memories, rows, stride, at_end, 1 + rows % 4)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
