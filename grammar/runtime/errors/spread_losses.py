"""The note on a loss in which a prediction of shape (n, 1) meets a target of shape (n): each entry with each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agrad.engine.core.graph import Node
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import Hint, Label, Note
from agrad.engine.values import format_shape
from agrad.grammar.diagnostics import Span

_MOST = 2000  # nodes of a graph that are looked at
_DEEP = 8  # operations entry by entry behind a matrix product


class SpreadLosses:
    """Looks at the graph of each `backward` of a program once."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], Any] = {}  # by the place; its text, so that no other gets its identity

    def of(self, loss: Any, span: Span) -> Note | None:
        """The note, for the first backward at a place."""
        place = id(span.source), span.start
        if place in self._seen or not isinstance(loss, Tensor):
            return None
        self._seen[place] = span.source
        for node in _behind(loss.node):
            shapes = _spread(node)
            if shapes is not None:
                return _note(node, *shapes)
        return None


def _behind(root: Node) -> Iterator[Node]:
    stack, seen = [root], {root}
    while stack and len(seen) < _MOST:
        node = stack.pop()
        yield node
        for x in node.inputs:
            if type(x) is Node and x not in seen:
                seen.add(x)
                stack.append(x)


def _spread(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shapes of a difference of (n, 1), which a matrix product made, and (n); None of any other node."""
    if node.op is not OPS["sub"] or len(node.shape) != 2:
        return None
    shapes = [getattr(x, "shape", ()) for x in node.inputs]
    n = node.shape[0]
    if n == 1 or sorted(shapes, key=len) != [(n,), (n, 1)]:
        return None
    column = node.inputs[shapes.index((n, 1))]
    return (shapes[0], shapes[1]) if type(column) is Node and _is_product(column, _DEEP) else None


def _is_product(node: Node, deep: int) -> bool:
    """Whether a column comes from a matrix product, and was not made one to be spread."""
    if node.op is OPS["matmul"]:
        return True
    if node.op is None or node.op.reach != "pointwise" or not deep:
        return False
    return any(_is_product(x, deep - 1) for x in node.inputs if type(x) is Node and x.shape == node.shape)


def _note(node: Node, left: tuple[int, ...], right: tuple[int, ...]) -> Note:
    shapes = f"of shapes {format_shape(left)} and {format_shape(right)}"
    message = f"{node.spell()} {shapes} is the difference of every pair of entries, of shape {format_shape(node.shape)}"
    column = "the left" if len(left) == 2 else "the right"
    fixes = [Hint(f"squeeze(x, 1) of {column} side, for the differences entry by entry")]
    return Note(message, labels=[Label(node.origin)] if node.origin is not None else [], fixes=fixes)
