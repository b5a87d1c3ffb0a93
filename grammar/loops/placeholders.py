"""Placeholders: the values that a loop body reads from outside, and their proxies while it is staged."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agrad.engine.core.graph import Node
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import sharers
from agrad.grammar.runtime.builtins import parts_of

NUMBER, PLAIN, LEAF, GRADIENT, MOMENT = "number", "plain", "leaf", "gradient", "moment"


class NotTraceable(Exception):
    """A loop body does something that cannot be staged; with the reason."""


@dataclass(slots=True, eq=False)
class Placeholder:
    """A value that the loop body reads from outside, and the proxy that represents it while it is staged.

    `kind`: a number, a plain value, a leaf; the gradient of a leaf, or one of the moments that an optimiser keeps of
    it, which are found through the leaf.
    """

    kind: str
    name: str
    value: Any  # the value of the name; for a gradient or moment, the leaf that it belongs to
    proxy: Tensor
    leaf: Node  # the proxy's node when the iteration began
    gradient: Placeholder | None = None  # of a leaf
    moments: list[Placeholder] = field(default_factory=list)  # of a leaf
    place: int = 0  # among the moments
    writes: int = 0
    calls: int = 0  # of backward, that reached a leaf
    cleared: bool = False  # whether the iteration clears its gradient
    zeroed: bool = False  # whether the iteration sets its gradient to zero
    aliases: list[weakref.ref[Tensor]] = field(default_factory=list)  # detached from it in the iteration


def recorded_behind(root: Node) -> set[Node]:
    """The nodes that a backward of the uncompiled iteration visits: none beyond a `stop`."""
    found, stack = {root}, [root]
    while stack:
        node = stack.pop()
        for operand in node.inputs if node.op is not OPS["stop"] else ():
            if type(operand) is Node and operand.recorded and operand not in found:
                found.add(operand)
                stack.append(operand)
    return found


def is_held(gradient: Tensor | None, values: Iterable[Any]) -> bool:
    """Whether one of some values is a gradient, or shares its data; those in tuples and objects count."""
    if gradient is None:  # the leaf has none: it was cleared
        return False
    kin = sharers(gradient.node)
    for value in parts_of(values):
        if isinstance(value, Tensor):
            node = value.node
            if node in kin or (node.op is OPS["stop"] and node.inputs[0] in kin):
                return True
    return False


def as_value(value: Any) -> Any:
    """A number or array, of a handle or itself."""
    return value.value if isinstance(value, Tensor) else value
