"""The graph: nodes, what they keep, who freed them, and in what order they were made.

A `Node` is one step of a computation, or a leaf. Names and handles come and go; the nodes that a later backward
needs hold on to each other through `inputs`. A node is older than whatever was computed from it, so that sorting
by `seq` puts a graph in order: no walk ever recurses.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from agrad.engine.refusals import freed_error, stale_error, written_error
from agrad.engine.state import STATE, next_stamp
from agrad.engine.values import Shape, Value, shape_of

if TYPE_CHECKING:
    from agrad.engine.op import Op
    from agrad.engine.tensor import Tensor


class Gradient:
    """What a leaf, or a retained value, has collected: the sum, and where it came from."""

    __slots__ = ("calls", "cleared", "parts", "value")

    def __init__(self, value: Tensor | None, parts: tuple[float, ...], calls: int, cleared: object) -> None:
        self.value = value
        self.parts = parts  # the contributions of the first few calls, of a scalar
        self.calls = calls
        self.cleared = cleared  # what cleared it last


Input: TypeAlias = "Node | Value"


class Node:
    """A leaf (`op` is None) or one operation: what it was computed from, and what its rules will read.

    `value` of a scalar is always there. That of an array is there if a rule that may be asked for reads it; leaves
    always have theirs. `inputs` holds nodes, and constants as plain values.
    """

    __slots__ = (
        "attrs",
        "freed",
        "grad",
        "inputs",
        "keeps_grad",
        "name",
        "op",
        "origin",
        "recorded",
        "requires_grad",
        "seq",
        "shape",
        "sharers",
        "stamp",
        "value",
        "__weakref__",
    )

    def __init__(
        self,
        op: Op | None,
        inputs: tuple[Input, ...],
        attrs: dict[str, Any] | None,
        value: Value | None,
        shape: Shape,
        requires_grad: bool,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.value = value
        self.shape = shape
        self.requires_grad = requires_grad
        # Recorded is more than requires grad: a comparison has no derivative, but a replay must compute it again.
        self.recorded = op is not None or requires_grad
        self.keeps_grad = op is None and requires_grad
        self.seq = self.stamp = next_stamp()
        self.origin = STATE.origin
        self.name: str | None = None
        self.grad: Gradient | None = None
        self.freed: object = None  # the statement that freed it, or a phrase
        self.sharers: list[weakref.ref[Node]] | None = None  # all nodes with the same storage, through detach

    @property
    def title(self) -> str:
        """Mul, or Leaf: what a dump calls it."""
        return self.op.title if self.op else "Leaf"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """A pair (node, 0) for each operand, None for the node of a constant: PyTorch's form."""
        operands = (operand if isinstance(operand, Node) else None for operand in self.inputs)
        return tuple((node if node and node.requires_grad else None, 0) for node in operands)

    @property
    def variable(self) -> Tensor | None:
        """The leaf that an AccumulateGrad node belongs to, as a handle."""
        from agrad.engine.tensor import Tensor  # a node knows its handle's type only when someone asks

        return None if self.op else Tensor(self, self.value)

    def __repr__(self) -> str:
        return f"<{self.op.title}Backward>" if self.op else "<AccumulateGrad>"

    def spell(self) -> str:
        """How a message speaks of it: by name, else by its source text, else by its operation."""
        if self.name:
            return self.name
        return self.origin.text if self.origin else f"a result of {self.title}" if self.op else "a leaf"


def share_storage(node: Node, alias: Node) -> None:
    """Let a write to one of two nodes count for both, and for all that they share storage with already."""
    alive = [other for other in node.sharers or [weakref.ref(node)] if other() is not None]
    alive.append(weakref.ref(alias))
    for other in alive:
        sharer = other()
        if sharer is not None:
            touch(sharer)
            sharer.sharers = alive


def leaf(value: Value, requires_grad: bool = False) -> Node:
    """A node that was not computed."""
    return Node(None, (), None, value, shape_of(value), requires_grad)


def touch(node: Node) -> None:
    """Say in the journal how to put back all that can change about a node. Called before it changes."""
    journal = STATE.journal
    if journal is None or node.seq > journal.since or node in journal.undos:
        return
    before = [(slot, getattr(node, slot)) for slot in _CHANGING]

    def undo() -> None:
        for slot, value in before:
            setattr(node, slot, value)

    journal.remember(node, undo)


_CHANGING = ("inputs", "value", "stamp", "freed", "grad", "keeps_grad", "name", "sharers")


def collect(roots: Iterable[Node]) -> list[Node]:
    """All recorded nodes that the roots were computed from, youngest first."""
    found = set(roots)
    stack = list(found)
    while stack:
        for operand in stack.pop().inputs:
            if type(operand) is Node and operand.recorded and operand not in found:
                found.add(operand)
                stack.append(operand)
    return sorted(found, key=_by_seq, reverse=True)


def _by_seq(node: Node) -> int:
    return node.seq


def reachable(root: Node) -> set[Node]:
    """All nodes behind the root that a derivative may be taken by.

    Also those that a gradient with a vanishing derivative came from: a `depends` node knows them.
    """
    found, stack = {root}, [root]
    while stack:
        node = stack.pop()
        tied = (node.attrs["on"],) if node.op and node.op.name == "depends" and node.attrs else ()
        for operand in (*node.inputs, *tied):
            if type(operand) is Node and operand.requires_grad and operand not in found:
                found.add(operand)
                stack.append(operand)
    return found


def leading_to(order: list[Node], targets: Iterable[Node]) -> list[Node]:
    """Those nodes of a graph, youngest first, from which a path leads to a target."""
    leading = set(targets)
    for node in reversed(order):
        if node.requires_grad and any(type(x) is Node and x in leading for x in node.inputs):
            leading.add(node)
    return [node for node in order if node in leading]


def free(nodes: Iterable[Node], by: object) -> None:
    """Let go of what the nodes saved. Leaves stay; links stay, so that a freed graph can still be looked at."""
    journal = STATE.journal
    for node in nodes:
        if node.op is None:
            continue
        if journal is not None:
            touch(node)
        node.freed = by
        if type(node.value) is not float:
            node.value = None
        for operand in node.inputs:
            if type(operand) is not float and _holds_array(operand):
                node.inputs = tuple(_ghost(x) if _holds_array(x) else x for x in node.inputs)
                break


def _holds_array(operand: Input) -> bool:
    """Whether this is a constant with more than one number in it."""
    if type(operand) is Node:
        return bool(operand.shape) and not operand.recorded and operand.value is not None
    return type(operand) is not float


def _ghost(operand: Input) -> Node:
    """What is left of a constant in a freed graph: its name and shape."""
    shape = operand.shape if isinstance(operand, Node) else shape_of(operand)
    ghost = Node(None, (), None, None, shape, False)
    if isinstance(operand, Node):
        ghost.name, ghost.origin, ghost.seq, ghost.stamp = operand.name, operand.origin, operand.seq, operand.seq
    return ghost


def check_walkable(order: list[Node], root: Node) -> None:
    """Refuse a graph of which a part was freed, or was computed from data that have changed since."""
    for node in order:
        if node.freed is not None:
            raise freed_error(node, root)
        if node.stamp != node.seq and node.op is not None and node.op.read_in(node)[1]:
            raise written_error(node, root)
        stamp = node.stamp
        for operand in node.inputs:
            if type(operand) is Node and operand.stamp > stamp and _matters(operand, node):
                raise stale_error(node, operand, root)


def _matters(operand: Node, node: Node) -> bool:
    """Whether a change of an operand spoils the node: always, but for a constant that no rule will read."""
    if operand.recorded or node.op is None:
        return True
    reads, _ = node.op.read_in(node)
    return any(x is operand and read for x, read in zip(node.inputs, reads, strict=True))
