"""What a loop finds under names when a turn begins, and what stands for it while a turn is traced."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agrad.engine.core.graph import Node
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import sharers

NUMBER, PLAIN, LEAF, GRADIENT, MOMENT = "number", "plain", "leaf", "gradient", "moment"


class NotStaticError(Exception):
    """What a turn does cannot be told beforehand; with the reason."""


@dataclass(slots=True, eq=False)
class Found:
    """Something that the loop found under a name, and what stands for it in the trace.

    `kind`: a number, a plain value, a leaf; the gradient of a leaf, or one of the moments that an optimiser keeps of
    it, which are found with the leaf.
    """

    kind: str
    name: str
    real: Any  # what was found; for what is found with a leaf, the leaf
    traced: Tensor
    given: Node  # that of `traced` when the turn began
    gradient: Found | None = None  # of a leaf
    moments: list[Found] = field(default_factory=list)  # of a leaf
    place: int = 0  # among the moments
    writes: int = 0
    calls: int = 0  # of backward, that reached a leaf
    cleared: bool = False  # whether its gradient was, on the way
    zeroed: bool = False  # whether its gradient was written, on the way
    aliases: list[weakref.ref[Tensor]] = field(default_factory=list)  # detached from it, on the way


def recorded_behind(root: Node) -> set[Node]:
    """The nodes that a walk of the turn as it stands comes by: none behind what stands for a cut."""
    found, stack = {root}, [root]
    while stack:
        node = stack.pop()
        for operand in node.inputs if node.op is not OPS["stop"] else ():
            if type(operand) is Node and operand.recorded and operand not in found:
                found.add(operand)
                stack.append(operand)
    return found


def is_held(gradient: Tensor, names: Mapping[str, Any]) -> bool:
    """Whether a name stands for a gradient, or for what shares its data, also as a part of a tuple."""
    kin, values = sharers(gradient.node), list(names.values())
    while values:
        value = values.pop()
        if isinstance(value, tuple):
            values += value
        elif isinstance(value, Tensor):
            node = value.node
            if node in kin or (node.op is OPS["stop"] and node.inputs[0] in kin):
                return True
    return False


def as_value(value: Any) -> Any:
    """A number or array, of a handle or itself."""
    return value.value if isinstance(value, Tensor) else value
