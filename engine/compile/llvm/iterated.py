"""Machine code for a loop that changes numbers in place, as long as every iteration takes the same path."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from agrad.engine.compile.llvm.backend import looped, written
from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.target import definitions, llvmlite, machine
from agrad.engine.program.ir import Program
from agrad.engine.values import Array

_INVALID = 1  # the flag of an invalid operation on x86 and ARM, in C libraries but Microsoft's
_FLAGS = ("feclearexcept", "fetestexcept")


def notices_invalid() -> bool:
    """Whether machine code can say that one of its operations was not defined."""
    features = machine().features
    known = "sse2" in features or "fp-armv8" in features
    return known and sys.platform != "win32" and all(llvmlite().address_of_symbol(name) for name in _FLAGS)


class Conditions(NamedTuple):
    """What an iteration decides, as a program of numbers with the same inputs, and how each decision came out."""

    program: Program
    answers: tuple[bool, ...]


class Iterated:
    """The loop. The program takes the counter and numbers, and gives new values for some of them, and what is watched.

    `changed` are the places of those numbers among the inputs; the outputs after these are watched.
    """

    def __init__(self, program: Program, changed: Sequence[int], conditions: Conditions | None) -> None:
        self.program = program
        self.changed = list(changed)
        self.conditions = conditions

    def run(self, values: Array, count: int, step: float) -> tuple[int, bool]:
        """Change the values, of which the first is the counter, by at most so many iterations.

        The loop ends before an iteration with a watched number that is not finite, and before one after which the
        conditions come out otherwise. Returns how many iterations ran, and whether an operation was not defined.
        """
        invalid = ctypes.c_int32(0)
        done = self._function(values.ctypes.data, count, step, ctypes.addressof(invalid))
        return done, bool(invalid.value)

    @cached_property
    def _function(self) -> Any:
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p)
        return kind(self._engine.get_function_address("iterate"))

    @cached_property
    def _engine(self) -> Any:
        return looped(self.source(), len(self.program.steps))

    def source(self) -> str:
        """LLVM's code, as it is before optimization."""
        code, asked = Code(1), Code(1, "c")
        outputs = [symbol.text for symbol in written(self.program, code)]
        texts = [_iterate(code.lines, len(self.program.inputs), outputs, self.changed, self.conditions is not None)]
        if self.conditions is not None:
            found = [symbol.text for symbol in written(self.conditions.program, asked)]
            texts.append(_holds(asked.lines, len(self.program.inputs), found, self.conditions.answers))
        called = {**code.called, **asked.called}
        declared = dict.fromkeys((*definitions(called, 1), *code.declared(), *asked.declared(), *_DECLARED))
        return "\n\n".join((*declared, *texts))


_DECLARED = (
    "declare i32 @feclearexcept(i32)",
    "declare i32 @fetestexcept(i32)",
    "declare double @llvm.fabs.f64(double)",
)


def _loads(inputs: int) -> list[str]:
    """All values but the counter, by their names."""
    lines = []
    for i in range(1, inputs):
        lines += [f"  %p{i} = getelementptr double, ptr %values, i64 {i}", f"  %x{i} = load double, ptr %p{i}"]
    return lines


def _holds(lines: Sequence[str], inputs: int, found: Sequence[str], answers: Sequence[bool]) -> str:
    """The function `holds`: whether all conditions come out as they should, at a counter."""
    tests, all_so_far = [], "true"
    for i, (text, answer) in enumerate(zip(found, answers, strict=True)):
        tests.append(f"  %t{i} = fcmp {'une' if answer else 'oeq'} double {text}, 0x0000000000000000")
        tests.append(f"  %a{i} = and i1 {all_so_far}, %t{i}")
        all_so_far = f"%a{i}"
    head = "define internal i1 @holds(double %x0, ptr %values) {"
    return "\n".join((head, *_loads(inputs), *lines, *tests, f"  ret i1 {all_so_far}", "}"))


def _iterate(lines: Sequence[str], inputs: int, outputs: Sequence[str], changed: Sequence[int], asks: bool) -> str:
    """The function `iterate`: see `Iterated.run`. Nothing is stored before all that may end the loop is known."""
    asked = "  %same = call i1 @holds(double %ahead, ptr %values)" if asks else "  %same = icmp eq i64 0, 0"
    watched, is_good = [], "true"
    for i, text in enumerate(outputs[len(changed) :]):
        watched += [
            f"  %size{i} = call double @llvm.fabs.f64(double {text})",
            f"  %finite{i} = fcmp one double %size{i}, 0x7FF0000000000000",
            f"  %good{i} = and i1 {is_good}, %finite{i}",
        ]
        is_good = f"%good{i}"
    stores = [f"  store double {text}, ptr %p{place}" for place, text in zip(changed, outputs, strict=False)]
    return "\n".join(
        (
            "define i64 @iterate(ptr noalias %values, i64 %count, double %step, ptr noalias %invalid) {",
            "entry:",
            f"  %cleared = call i32 @feclearexcept(i32 {_INVALID})",
            "  %start = load double, ptr %values",
            "  br label %next",
            "next:",
            "  %turn = phi i64 [0, %entry], [%following, %keep]",
            "  %x0 = phi double [%start, %entry], [%ahead, %keep]",
            "  %more = icmp slt i64 %turn, %count",
            "  br i1 %more, label %ask, label %done",
            "ask:",
            "  %ahead = fadd double %x0, %step",
            asked,
            "  br i1 %same, label %body, label %done",
            "body:",
            *_loads(inputs),
            *lines,
            *watched,
            f"  br i1 {is_good}, label %keep, label %done",
            "keep:",
            *stores,
            "  %following = add i64 %turn, 1",
            "  br label %next",
            "done:",
            "  store double %x0, ptr %values",
            f"  %raised = call i32 @fetestexcept(i32 {_INVALID})",
            "  store i32 %raised, ptr %invalid",
            "  ret i64 %turn",
            "}",
        )
    )
