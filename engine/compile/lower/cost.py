"""What it takes to compute a program, in ns on an ordinary machine: estimated by counting, never by a clock.

All that chooses between ways of computing compares these numbers, so that a program takes the same way on every
machine and in every run.
"""

from __future__ import annotations

from agrad.engine.program.ir import Program
from agrad.engine.values import size_of

_STEP = 60.0  # of Python, on floats
_CALL = 1000.0  # of numpy, of an operation entry by entry
_WHOLE = 3000.0  # the same of other operations, most of which are functions of Python
_ENTRY = 0.8  # that numpy reads and writes
_PRODUCT = 0.15  # of two entries in a product of matrices
_INSTRUCTION = 0.5  # of machine code in a straight line
_PACKED = 0.4  # an entry that goes in or out of such code
_ENTERED = 1200.0  # a call of machine code with arrays
_COMPILED = 60_000.0  # an instruction, from its operation to machine code
_CALLS = 1_000  # that Python computes before machine code, at least
_PAID = 5e6 * _STEP  # or when so much was computed


def interpreted(program: Program) -> float:
    """A call of Python code for the program."""
    total = 0.0
    for step in program.steps:
        shapes = [program.shape(x) for x in step.operands]
        if step.shape or any(shapes):
            total += (_CALL if step.op.reach == "pointwise" else _WHOLE) + _ENTRY * size_of(step.shape)
            total += _PRODUCT * products(step.shape, shapes) if step.op.reach == "mixed" else 0.0
        else:
            total += _STEP
    return total


def products(shape: tuple[int, ...], operands: list[tuple[int, ...]]) -> int:
    """About how many products there are in a result each of whose entries depends on a row of each operand."""
    return size_of(shape) * max([x[-1] for x in operands if x], default=1)


def of_numbers(program: Program) -> float:
    """A call of machine code for a program of numbers."""
    return _ENTERED + _INSTRUCTION * len(program.steps) + _PACKED * (len(program.inputs) + len(program.outputs))


def calls_before_machine_code(called: float) -> float:
    """How many calls of what takes so long Python computes before compiling pays."""
    called = max(called, _STEP)
    return min(_CALLS, _PAID / called) + 1e5 * _STEP / called
