"""What a node saved for its derivative, by PyTorch's names: `y.grad_fn._saved_self`."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.graph import Node
from agrad.engine.core.graph_errors import freed_error
from agrad.engine.core.op import FIRST, SECOND
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, Hint

_PREFIX = "_saved_"


class NotSaved(AgradError, AttributeError):
    """A node did not save that: an AttributeError, so that `hasattr` is false."""


def saved(node: Node, name: str) -> Tensor:
    """A value that a node saved. Raises AgradError of kind `name` where there is none, `freed` where it is gone."""
    if not name.startswith(_PREFIX) or node.op is None:
        raise NotSaved("name", f"{node!r} has no attribute .{name}")
    known = _names(node)
    if name not in known:
        there = [f".{one}" for one in known if one in _listed(node)]
        message = f"{node!r} saved nothing of that name" if there else f"{node!r} saved nothing"
        raise NotSaved("name", message, fixes=[Hint(one) for one in there])
    if node.freed is not None:
        raise freed_error([node], node)
    found: Any = known[name]
    if isinstance(found, Node):
        return bare(found, found.value)
    return tensor(found)


def _listed(node: Node) -> set[str]:
    """PyTorch's usual names of what a node saved."""
    return {f"{_PREFIX}{name}" for name in (FIRST[0], SECOND[0], "result")}


def _names(node: Node) -> dict[str, Any]:
    """What a node saved, by every name that it has."""
    assert node.op is not None
    reads, out = node.reads()
    found: dict[str, Any] = {f"{_PREFIX}result": node} if out else {}
    operands = node.op.signature.operands if not node.op.variadic else ()
    for place, (value, read) in enumerate(zip(node.inputs, reads, strict=True)):
        names = (*operands[place : place + 1], *((FIRST, SECOND)[place] if place < 2 else ()))
        found |= {f"{_PREFIX}{name}": value for name in names} if read else {}
    return found
