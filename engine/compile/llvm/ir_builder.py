"""Straight-line code for LLVM, for numbers, or for vectors whose lanes hold neighbouring rows."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Sequence

from agrad.engine.compile.llvm.target import definitions, missing, target
from agrad.engine.compile.symbols import UnwrittenError, Writer, lower
from agrad.engine.program.ir import Step
from agrad.engine.text import beside

_FEW = 64  # numbers, among which LLVM looks for stores that could be one: that takes it n**2 time


class Code(Writer):
    """Straight-line code. The same instruction on the same operands is written once."""

    __slots__ = ("called", "intrinsics", "known", "lanes", "lines", "number", "prefix", "truth")

    def __init__(self, lanes: int, prefix: str = "v") -> None:
        self.lanes = lanes
        self.prefix = prefix  # of the names of results
        self.number = "double" if lanes == 1 else f"<{lanes} x double>"
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.lines: list[str] = []
        self.known: dict[str, str] = {}
        self.called: dict[str, int] = {}  # functions of the C library, with the number of their arguments
        self.intrinsics: dict[str, int] = {}  # the same for LLVM's intrinsics

    def write(self, instruction: str) -> str:
        """The name of the result of an instruction."""
        name = self.known.get(instruction)
        if name is None:
            self.known[instruction] = name = f"%{self.prefix}{len(self.lines)}"
            self.lines.append(f"  {name} = {instruction}")
        return name

    def literal(self, value: float) -> str:
        """A number, the same in all lanes."""
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        text = f"0x{bits:016X}"
        return text if self.lanes == 1 else f"splat (double {text})"

    def binary(self, name: str, x: str, y: str) -> str:
        """An instruction of arithmetic."""
        return self.write(f"f{name} {self.number} {x}, {y}")

    def negate(self, x: str) -> str:
        """The other sign."""
        return self.write(f"fneg {self.number} {x}")

    def compare(self, name: str, x: str, y: str) -> str:
        """A comparison, ordered but for `ne`."""
        return self.write(f"fcmp {'u' if name == 'ne' else 'o'}{name} {self.number} {x}, {y}")

    def logic(self, name: str, a: str, b: str) -> str:
        """An instruction on outcomes."""
        return self.write(f"{name} {self.truth} {a}, {b}")

    def invert(self, a: str) -> str:
        """The opposite outcome."""
        return self.logic("xor", a, "true" if self.lanes == 1 else "splat (i1 true)")

    def select(self, condition: str, x: str, y: str) -> str:
        """A choice in each lane."""
        return self.write(f"select {self.truth} {condition}, {self.number} {x}, {self.number} {y}")

    def library(self, function: str, operands: tuple[str, ...]) -> str:
        """A function of the C library, or that of libmvec for vectors."""
        self.called[function] = len(operands)
        return self._apply(target(function, len(operands), self.lanes), operands)

    def builtin(self, name: str, operands: tuple[str, ...]) -> str:
        """An intrinsic function of LLVM."""
        full = f"llvm.{name}.{'f64' if self.lanes == 1 else f'v{self.lanes}f64'}"
        self.intrinsics[full] = len(operands)
        return self._apply(full, operands)

    def declared(self) -> Iterator[str]:
        """The declarations of LLVM's intrinsics."""
        for name, count in sorted(self.intrinsics.items()):
            yield f"declare {self.number} @{name}({', '.join([self.number] * count)})"

    def _apply(self, name: str, operands: tuple[str, ...]) -> str:
        given = ", ".join(f"{self.number} {one}" for one in operands)
        return self.write(f"call {self.number} @{name}({given})")


def module(codes: Iterable[Code], *parts: str, has_variants: bool = False) -> str:
    """The text of a module of functions, with what the codes in them call: see `definitions`."""
    codes, called = list(codes), dict[int, dict[str, int]]()
    for code in codes:
        called.setdefault(code.lanes, {}).update(code.called)
    functions = [line for lanes, names in called.items() for line in definitions(names, lanes, has_variants)]
    intrinsics = [line for code in codes for line in code.declared()]
    return "\n\n".join(dict.fromkeys((*functions, *intrinsics, *parts)))


def template(name: str, lanes: int, **words: str) -> str:
    """The text of a file of LLVM's code for so many lanes, without what it says first, with its words filled in."""
    words |= {"NUMBER": f"<{lanes} x double>", "LANES": str(lanes)}
    return re.sub("[A-Z]{5,}", lambda word: words[word[0]], beside(__file__, name).partition("\n\n")[2])


def of_step(step: Step) -> Code:
    """The code of a step on numbers. Raises UnwrittenError where there is none, or the C library lacks a function."""
    code = Code(1)
    lower(step.op, [code.argument(f"%x{i}") for i in range(len(step.operands))], step.attrs)
    lacking = missing(code.called)
    if lacking is not None:
        raise UnwrittenError(f"the C library has no {lacking}")
    return code


def of_vectors(lanes: int) -> str:
    """The attributes of a function with vectors: without these, LLVM may pass them otherwise than libmvec expects."""
    return f'"prefer-vector-width"="{64 * lanes}" "min-legal-vector-width"="{64 * lanes}"'


def loads(array: str, inputs: range, first: int = 0) -> Iterator[str]:
    """The inputs of these numbers, as %x0, %x1, …, from an array that begins with the first."""
    for i in inputs:
        yield f"  %p{i} = getelementptr double, ptr {array}, i64 {i - first}"
        yield f"  %x{i} = load double, ptr %p{i}"


def stores(array: str, texts: Iterable[str], name: str = "%q") -> Iterator[str]:
    """Numbers written to an array, one after the other; of many, LLVM does not look for those that could be one."""
    listed = [*texts]
    kind = "store volatile" if len(listed) > _FEW else "store"
    for i, text in enumerate(listed):
        yield f"  {name}{i} = getelementptr double, ptr {array}, i64 {i}"
        yield f"  {kind} double {text}, ptr {name}{i}"


def counted(
    name: str,
    before: str,
    count: object,
    body: Iterable[str],
    first: object = 0,
    step: int = 1,
    phis: Iterable[str] = (),
    told: str = "",
) -> Iterator[str]:
    """A loop of which `%name` counts from the first number up to a count; it runs at least once.

    It follows the block `before`, and what follows it is in the block `name.done`. The blocks `name.loop` and
    `name.end` begin and end it; `phis` are its other variables; `told` is for LLVM.
    """
    yield f"  br label %{name}.loop\n{name}.loop:"
    yield f"  %{name} = phi i64 [{first}, %{before}], [%{name}.next, %{name}.end]"
    yield from phis
    yield from body
    yield f"  br label %{name}.end\n{name}.end:\n  %{name}.next = add i64 %{name}, {step}"
    yield f"  %{name}.more = icmp ult i64 %{name}.next, {count}"
    yield f"  br i1 %{name}.more, label %{name}.loop, label %{name}.done{told}\n{name}.done:"


def nested(loops: Sequence[tuple[str, int]], inside: Iterable[str]) -> Iterator[str]:
    """Loops in each other, each with the name of its counter, the outermost first, in the block `entry`."""
    blocks = ["entry", *[f"{name}.loop" for name, _ in loops]]
    for (name, count), before in reversed([*zip(loops, blocks, strict=False)]):
        inside = counted(name, before, count, inside)
    return iter(inside)


def splat(name: str, lanes: int) -> Iterator[str]:
    """A vector `name.all` with the same number in all lanes."""
    vector = f"<{lanes} x double>"
    yield f"  {name}.1 = insertelement {vector} poison, double {name}, i64 0"
    yield f"  {name}.all = shufflevector {vector} {name}.1, {vector} poison, <{lanes} x i32> zeroinitializer"


def load(name: str, at: str, lanes: int, mask: str) -> str:
    """A vector that is read from memory, but for the lanes that a mask leaves out."""
    vector = f"<{lanes} x double>"
    given = f"ptr {at}, i32 1, <{lanes} x i1> {mask}, {vector} poison"
    return f"  {name} = call {vector} @llvm.masked.load.v{lanes}f64.p0({given})"


def store(value: str, at: str, lanes: int, mask: str) -> str:
    """A vector that is written to memory, but for the lanes that a mask leaves out."""
    given = f"<{lanes} x double> {value}, ptr {at}, i32 1, <{lanes} x i1> {mask}"
    return f"  call void @llvm.masked.store.v{lanes}f64.p0({given})"
