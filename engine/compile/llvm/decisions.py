"""Machine code for several specialisations of a function of numbers: one function, in which they share what is common.

The guards are a tree: what is computed before a guard is there once, and behind it the function branches. The end of a
branch gives the outputs of a specialisation; where none is known, the function says so.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from agrad.engine.compile.llvm.backend import LONG, compiled
from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.target import definitions, missing
from agrad.engine.compile.symbols.lowering import lower
from agrad.engine.compile.symbols.symbol import Symbol, UnwrittenError
from agrad.engine.core.guards import truth
from agrad.engine.program.ir import Program, Step
from agrad.engine.program.passes import frozen

_MOST_GUARDS = 200  # of one specialisation
_UNKNOWN = -1


class _Branch:
    """A guard, by the number of what it reads, and what follows each outcome: a guard, or outputs."""

    def __init__(self) -> None:
        self.read = _UNKNOWN
        self.after: dict[bool, _Branch] = {}
        self.outputs: list[int] | None = None
        self.number = _UNKNOWN  # of the specialisation whose outputs these are


class Decisions:
    """The function of some specialisations, all with the same inputs, numbers; those that do not fit are left out."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self.inputs = len(programs[0].inputs)
        self.root = _Branch()
        self.numbers: dict[object, int] = {}  # of each value that some program computes, one
        self.values: list[Step | float | int] = []  # how: a step on such numbers, a constant, or the place of an input
        self.members = {number for number, one in enumerate(programs) if self._add(number, one)}
        self._outputs = {number: struct.Struct(f"{len(programs[number].outputs)}d") for number in self.members}
        widest = max([len(programs[number].outputs) for number in self.members], default=0)
        self._size = 8 * widest
        self._pack = struct.Struct(f"{self.inputs}d").pack
        self._pool: list[tuple[Any, int]] = []
        self.length = 0  # in instructions
        self.text = self._written()
        self._engine = compiled(self.text, self.length < LONG)
        kind = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
        self._function = kind(self._engine.get_function_address("decide"))

    def call(self, values: tuple[Any, ...]) -> tuple[int, tuple[float, ...]] | None:
        """The number of the specialisation that holds, and its outputs; None where none of these does."""
        given = self._pack(*values)
        try:
            buffer, address = self._pool.pop()
        except IndexError:
            buffer = (ctypes.c_char * max(self._size, 8))()
            address = ctypes.addressof(buffer)
        number = self._function(given, address)
        found = self._outputs[number].unpack_from(buffer) if number != _UNKNOWN else None
        self._pool.append((buffer, address))
        return None if found is None else (number, found)

    # The tree

    def _add(self, number: int, program: Program) -> bool:
        """Add a program; False where it does not fit to the others, or is none of numbers and truths."""
        if not is_decidable(program):
            return False
        slots = self._numbered(program)
        node = self.root
        for check in program.checks:
            if node.outputs is not None or node.read not in (_UNKNOWN, slots[check.slot]):
                return False
            node.read = slots[check.slot]
            node = node.after.setdefault(bool(check.outcome), _Branch())
        if node.outputs is not None or node.read != _UNKNOWN:
            return False
        node.outputs, node.number = [slots[slot] for slot in program.outputs], number
        return True

    def _numbered(self, program: Program) -> list[int]:
        """The number of each slot of a program."""
        slots = [self._number(("input", place), place) for place in range(len(program.inputs))]
        slots += [self._number(frozen(value), float(value)) for value in program.constants]
        for step in program.steps:
            operands = tuple([slots[x] for x in step.operands])
            key = step.op.name, operands, frozen(step.attrs) if step.attrs else None
            slots.append(self._number(key, Step(step.op, operands, step.attrs, ())))
        return slots

    def _number(self, key: object, value: Step | float | int) -> int:
        number = self.numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    # The code

    def _written(self) -> str:
        code = Code(1)
        head = ["define i32 @decide(ptr noalias %in, ptr noalias %out) {"]
        for i in range(self.inputs):
            head += [f"  %p{i} = getelementptr double, ptr %in, i64 {i}", f"  %x{i} = load double, ptr %p{i}"]
        known: dict[int, Symbol] = {}
        pending: list[tuple[_Branch, dict[int, Symbol], dict[str, str], str]] = [(self.root, known, {}, "")]
        labels = 0
        while pending:
            node, known, instructions, label = pending.pop()
            code.known = instructions
            if label:
                code.lines.append(f"{label}:")
            if node.outputs is not None:
                self._end(code, node, known)
                continue
            if node.read == _UNKNOWN:
                code.lines.append(f"  ret i32 {_UNKNOWN}")
                continue
            read = self._computed(code, node.read, known)
            labels += 1
            name = f"%holds{labels}"
            code.lines.append(f"  {name} = fcmp une double {read.text}, 0x0000000000000000")
            code.lines.append(f"  br i1 {name}, label %yes{labels}, label %no{labels}")
            for outcome, where in ((True, f"yes{labels}"), (False, f"no{labels}")):
                after = node.after.get(outcome) or _Branch()
                pending.append((after, dict(known), dict(code.known), where))
        self.length = len(code.lines)
        body = "\n".join((*head, *code.lines, "}"))
        return "\n\n".join((*definitions(code.called, 1), *code.declared(), body))

    def _computed(self, code: Code, number: int, known: dict[int, Symbol]) -> Symbol:
        """A value, after those that it is computed from."""
        stack = [number]
        while stack:
            one = stack[-1]
            value = self.values[one]
            if one in known:
                stack.pop()
            elif isinstance(value, int):
                known[stack.pop()] = code.argument(f"%x{value}")
            elif isinstance(value, float):
                known[stack.pop()] = code.constant(value)
            else:
                lacking = [x for x in value.operands if x not in known]
                if not lacking:
                    known[stack.pop()] = lower(value.op, [known[x] for x in value.operands], value.attrs)
                stack += lacking
        return known[number]

    def _end(self, code: Code, node: _Branch, known: dict[int, Symbol]) -> None:
        assert node.outputs is not None
        for place, number in enumerate(node.outputs):
            text = self._computed(code, number, known).text
            at = f"%q{len(code.lines)}"
            code.lines.append(f"  {at} = getelementptr double, ptr %out, i64 {place}")
            code.lines.append(f"  store double {text}, ptr {at}")
        code.lines.append(f"  ret i32 {node.number}")


def is_decidable(program: Program) -> bool:
    """Whether a program can be a branch: it computes with numbers, and its guards read truths."""
    if not program.is_scalar or not 0 < len(program.checks) <= _MOST_GUARDS:
        return False
    return all(check.read is truth and isinstance(check.outcome, bool) for check in program.checks)


def decided(programs: Sequence[Program]) -> Decisions | None:
    """The function of some programs; None where an operation of them has no machine code."""
    code = Code(1)
    try:
        for step in {(step.op.name, repr(step.attrs)): step for one in programs for step in one.steps}.values():
            lower(step.op, [code.argument(f"%x{i}") for i in range(len(step.operands))], step.attrs)
    except UnwrittenError:
        return None
    return Decisions(programs) if missing(code.called) is None else None
