"""Straight-line code for LLVM, for numbers, or for vectors whose lanes hold neighbouring rows."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from agrad.engine.compile.llvm.target import target
from agrad.engine.compile.symbols.symbol import Writer


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
