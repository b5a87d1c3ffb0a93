"""One node as plain data, without references into the graph: everything that a form may show of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import Origin
from agrad.engine.inspect.nodes import through
from agrad.engine.text import truncate
from agrad.engine.values import Shape, Value, format_shape, format_value, shape_of, size_of

if TYPE_CHECKING:
    from agrad.engine.core.guards import Guard

FEW = 8  # an array of so many entries is shown
LONG = 400  # characters of a source text


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """The description of a value in a dump: its shape, and its entries if they are few."""

    shape: Shape
    value: Value | None  # None where there are more than a few entries, or where it is gone

    def text(self, precision: int | None = 10) -> str:
        """The entries on one line, or the shape."""
        if self.value is None:
            return format_shape(self.shape)
        return " ".join(format_value(self.value, precision).split())


@dataclass(frozen=True, slots=True)
class GuardRow:
    """A guard that the graph depends on, with its outcome, and the guard before it."""

    text: str  # x > 0 is true, line 3
    stamp: int  # when it was made: a loop repeats the same guard
    parent: int | None  # its place among the guards


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node: its name, its operation and operands, and the state it is in."""

    number: int
    name: str | None
    origin: Origin | None
    title: str
    shape: Shape
    operands: tuple[int | ValueSummary, ...]  # numbers of nodes, and plain constants
    saves: tuple[int, ...]  # the nodes whose values its rules read; of a freed node: read
    value: ValueSummary | None  # None where the node holds none
    leaf: bool
    requires_grad: bool
    keeps_grad: bool
    gradient: ValueSummary | None
    version: int  # how often it was written to in place
    written_by: str | None
    freed_by: str | None  # None where it is held
    stale: bool
    guard: int | None  # the last guard before it, by its place among the guards
    change: str = ""  # in a comparison of two graphs: same, changed, gone or new
    before: NodeRow | None = None  # the same node in the first of them

    @property
    def behind(self) -> tuple[int, ...]:
        """The nodes that it is computed from, and in a comparison those that only `before` is computed from."""
        here = tuple(x for x in self.operands if isinstance(x, int))
        if self.before is None:
            return here
        return here + tuple(x for x in self.before.operands if isinstance(x, int) and x not in here)

    def change_of(self, operand: int) -> str:
        """In a comparison: whether it is computed from a node in both graphs, or in one of them."""
        if self.change in ("new", "gone", "") or self.before is None:
            return self.change
        here, there = operand in self.operands, operand in self.before.operands
        return "same" if here and there else "new" if here else "gone"

    @property
    def freed(self) -> bool:
        """Whether the values that its rules need have been freed."""
        return self.freed_by is not None

    @property
    def text(self) -> str:
        """Its source text, or `Mul(%1, 2)` if none is known; nothing for a leaf.

        A long one is cut: a sum of many terms has a node for each, and all texts together would be enormous.
        """
        if self.leaf:
            return ""
        return (
            truncate(self.origin.text, LONG, "middle")
            if self.origin
            else f"{self.title}({', '.join(elided(self.operands))})"
        )

    @property
    def where(self) -> str | None:
        """The place where it was made, such as `line 3`."""
        return self.origin.where if self.origin else None


def elided(operands: tuple[int | ValueSummary, ...]) -> list[str]:
    """Numbers and constants in words; if many, the first three and the last."""
    some = operands if len(operands) <= FEW else (*operands[:3], *operands[-1:])
    words = [f"%{x}" if isinstance(x, int) else format_shape(x.shape) if x.shape else x.text() for x in some]
    return words if len(words) == len(operands) else [*words[:3], "…", *words[3:]]


class RowBuilder:
    """Makes the rows, all with the same numbers of nodes; these go by `seq`, which a freed constant keeps."""

    def __init__(
        self, values: Sequence[Tensor], ordered: list[Node], wanted: list[Node], stale: Collection[Node]
    ) -> None:
        self.values = {value.node: value for value in values}  # of the roots, which need not be in their nodes
        self.numbers = {node.seq: number for number, node in enumerate(ordered, 1)}
        self.stale = stale
        self.guards: dict[GuardRow, int] = {}  # of the wanted nodes, each with its place, oldest first
        self.places: dict[int, int] = {}  # the same by the identity of the guard: several may be equal
        for node in wanted:
            self._list(node.guard)

    def row(self, node: Node) -> NodeRow:
        """Everything about one node."""
        value = self.values[node].value if node in self.values else node.value
        gradient = None if node.grad is None or node.grad.value is None else node.grad.value.value
        computed, written = node.op is not None, node.storage if node.storage and node.storage.count else None
        return NodeRow(
            number=self.numbers[node.seq],
            name=node.name,
            origin=node.origin,
            title=node.title if computed else "leaf" if node.requires_grad else "constant",
            shape=node.shape,
            operands=tuple([self._operand(through(x), node) for x in node.inputs]),
            saves=self._saves(node) if computed and node.requires_grad else (),
            value=None if value is None else summary(value),
            leaf=not computed,
            requires_grad=node.requires_grad,
            keeps_grad=node.keeps_grad,
            gradient=None if gradient is None else summary(gradient),
            version=written.count if written else 0,
            written_by=_in_words(written.by) if written else None,
            freed_by=None if node.freed is None else _in_words(node.freed),
            stale=node in self.stale,
            guard=self.places.get(id(node.guard)),
        )

    def _operand(self, operand: Any, node: Node) -> int | ValueSummary:
        """The number of a node; a constant by itself."""
        if type(operand) is not Node:
            return summary(operand)
        number = self.numbers.get(operand.seq)
        if number is None or operand.seq > node.seq:  # the remains of a plain array are younger than its user
            return ValueSummary(operand.shape, operand.value if type(operand.value) is float else None)
        return number

    def _saves(self, node: Node) -> tuple[int, ...]:
        """Which nodes the rules read, in the order of the operands; the node itself where they read the result."""
        assert node.op is not None
        reads, reads_result = node.reads()
        read = [x.seq for x, on in zip(map(through, node.inputs), reads, strict=True) if on and type(x) is Node]
        if reads_result:
            read.append(node.seq)
        return tuple([self.numbers[seq] for seq in read if seq in self.numbers])

    def _list(self, guard: Guard | None) -> None:
        """Add a guard and those before it, except those whose outcome cannot change any more."""
        chain, parent = [], None
        while guard is not None:
            if id(guard) in self.places:
                parent = self.places[id(guard)]
                break
            chain.append(guard)
            guard = guard.parent
        for guard in reversed(chain):
            if guard.is_open:
                parent = self.guards.setdefault(GuardRow(guard.text, guard.stamp, parent), len(self.guards))
            if parent is not None:
                self.places[id(guard)] = parent


def summary(value: Value) -> ValueSummary:
    """A value with a copy of its entries, if they are few."""
    shape = shape_of(value)
    few = size_of(shape) <= FEW and all(length <= FEW for length in shape)
    return ValueSummary(shape, (value if isinstance(value, float) else value.copy()) if few else None)


def _in_words(by: Any) -> str:
    """What caused a change: a statement by its place, or a phrase."""
    return by if isinstance(by, str) else str(by.where)
