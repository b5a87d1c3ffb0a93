"""The graph as data: the nodes behind a value, numbered in the order they were made, and as text.

The numbers start at 1 and are the same from run to run; a part that is used twice is listed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agrad.engine.graph import Node, collect
from agrad.engine.tensor import Tensor
from agrad.engine.values import Value, format_number, format_shape, format_value


@dataclass(frozen=True, slots=True)
class Line:
    """One node: what it is called, what was computed from what, and the state it is in."""

    number: int
    name: str | None
    text: str
    title: str
    shape: tuple[int, ...]
    operands: tuple[int | Value, ...]  # numbers of nodes, and plain constants
    saves: tuple[int, ...]  # the nodes whose values its rules read
    value: float | None  # of a scalar
    leaf: bool
    requires_grad: bool
    freed: bool
    gradient: Value | None
    keeps_grad: bool


@dataclass(frozen=True, slots=True)
class Dump:
    """The graph behind one value."""

    name: str
    lines: tuple[Line, ...]

    @property
    def state(self) -> str:
        """Whether what the rules need is still there."""
        computed = [line for line in self.lines if not line.leaf]
        freed = sum(line.freed for line in computed)
        return "held" if not freed else "freed" if freed == len(computed) else "partly freed"

    def text(self, precision: int | None = 10) -> str:
        """A heading and a line per node, in columns."""
        leaves = sum(line.leaf and line.requires_grad for line in self.lines)
        count = f"{_plural(len(self.lines), 'node')}, {_plural(leaves, 'leaf', 'leaves')}"
        rows = [_cells(line, precision) for line in self.lines]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        body = [
            ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True))).rstrip()
            for row in rows
        ]
        return "\n".join([f"graph of {self.name}: {count}, {self.state}", *body])


def dump(root: Tensor, name: str | None = None) -> Dump:
    """The graph behind a value, constants with more than one entry included."""
    nodes = collect([root.node])
    constants = {
        operand
        for node in nodes
        for operand in node.inputs
        if isinstance(operand, Node) and not operand.recorded and (operand.shape or operand.name)
    }
    ordered = sorted({*nodes, *constants}, key=lambda node: node.seq)
    numbers = {node: number for number, node in enumerate(ordered, 1)}
    lines = tuple(_line(node, numbers) for node in ordered)
    return Dump(name or root.node.spell(), lines)


def _line(node: Node, numbers: dict[Node, int]) -> Line:
    operands = tuple(_operand(x, numbers) for x in node.inputs)
    gradient = None if node.grad is None or node.grad.value is None else node.grad.value.value
    scalar = node.value if not node.shape and isinstance(node.value, float) else None
    return Line(
        number=numbers[node],
        name=node.name,
        text=node.origin.text if node.origin and node.op else _call(node, operands) if node.op else "",
        title=node.title if node.op else "leaf" if node.requires_grad else "constant",
        shape=node.shape,
        operands=operands,
        saves=_saves(node, numbers) if node.freed is None else (),
        value=scalar,
        leaf=node.op is None,
        requires_grad=node.requires_grad,
        freed=node.freed is not None,
        gradient=gradient,
        keeps_grad=node.keeps_grad,
    )


def _operand(operand: Any, numbers: dict[Node, int]) -> int | Value:
    """The number of a node; the value of a constant."""
    if not isinstance(operand, Node):
        return operand  # type: ignore[no-any-return]
    number = numbers.get(operand)
    return operand.value if number is None else number  # type: ignore[return-value]  # an unnamed scalar


def _call(node: Node, operands: tuple[int | Value, ...]) -> str:
    """What was computed, where no source text is known: Mul(%1, 2)."""
    words = [
        f"%{x}" if isinstance(x, int) else format_number(x) if isinstance(x, float) else format_shape(x.shape)
        for x in operands
    ]
    return f"{node.title}({', '.join(words)})"


def _saves(node: Node, numbers: dict[Node, int]) -> tuple[int, ...]:
    """Which nodes the rules read, in the order of the operands; the node itself where they read the result."""
    op = node.op
    if op is None or not node.requires_grad:
        return ()
    reads, reads_result = op.read_in(node)
    read = [x for x, on in zip(node.inputs, reads, strict=True) if on and isinstance(x, Node) and x in numbers]
    if reads_result:
        read.append(node)
    return tuple(numbers[x] for x in read)


def _cells(line: Line, precision: int | None) -> tuple[str, str, str, str, str]:
    """The columns of a line of text."""
    name = f"{line.name} = {line.text}" if line.name and line.text else line.name or line.text
    remarks = []
    if line.value is not None:
        remarks.append(f"= {format_number(line.value, precision)}")
    if line.leaf and line.requires_grad:
        remarks.append("requires grad")
    if line.saves:
        remarks.append("saves " + " ".join(f"%{number}" for number in line.saves))
    if line.freed:
        remarks.append("freed")
    if line.keeps_grad:
        remarks.append(f"grad {_gradient(line.gradient, precision)}")
    rest = "   ".join(remarks)
    return f"%{line.number}", name, line.title, format_shape(line.shape), rest


def _gradient(gradient: Value | None, precision: int | None) -> str:
    if gradient is None:
        return "none"
    if isinstance(gradient, float) or gradient.size <= 8:
        return format_value(gradient, precision).replace("\n", "")
    return format_shape(gradient.shape)


def _plural(count: int, word: str, many: str | None = None) -> str:
    return f"{count} {word if count == 1 else many or word + 's'}"
