"""Detects a graph that grows behind a name from statement to statement: `total = total + loss`.

Each such line is correct and costs the same; together they keep every graph alive. A sum that is built in one loop and
then differentiated is not a leak: rounds are counted by what comes in between, a backward or another statement.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.values import format_bytes
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import ast

ROUNDS = 10
_NEAR = 32  # how many nodes behind a new value are searched for the old one


class Growth:
    """For how many rounds the graph behind each name has been growing. It keeps no graph alive."""

    __slots__ = ("_grown", "_round", "_told")

    def __init__(self) -> None:
        self._round = 0
        self._grown: dict[str, tuple[int, int, int]] = {}  # by name: its node's seq, rounds, the last round counted
        self._told: set[str] = set()

    def next_round(self) -> None:
        """Begin a new round: a statement of the top level begins, or a backward runs."""
        self._round += 1

    def stored(self, name: str, old: Any, new: Any, span: Span) -> Note | None:
        """Count a name that is rebound to a value computed from its old one; returns a note once."""
        if type(new) is not Tensor or not new.node.requires_grad or new.node.op is None:
            if self._grown:
                self._grown.pop(name, None)
            return None
        node = new.node
        seq, rounds, last = self._grown.get(name, (0, 0, 0))
        if node.seq == seq:
            return None  # nothing new: x = x
        before = node.inputs[0] if old is new else old.node if type(old) is Tensor else None
        if type(before) is Node and before.requires_grad:
            if not _built_on(before, node):
                self._grown.pop(name, None)
                return None
            if before.seq != seq:
                rounds = 0
        else:
            rounds = 0  # the first round, onto a plain number
        if rounds == 0 or last != self._round:
            rounds += 1
        self._grown[name] = node.seq, rounds, self._round
        if rounds != ROUNDS or last == self._round or name in self._told:
            return None
        self._told.add(name)
        return _note(name, node, span)


def _built_on(before: Node, node: Node) -> bool:
    """Whether a value was computed from an older one, in a few steps."""
    queue, seen = [node], {node}
    for one in queue:
        for operand in one.inputs:
            if operand is before:
                return True
            if type(operand) is Node and operand.seq > before.seq and len(seen) < _NEAR and operand not in seen:
                seen.add(operand)
                queue.append(operand)
    return False


def _note(name: str, node: Node, span: Span) -> Note:
    from agrad.engine.inspect.memory import held  # here, since few histories grow

    statement = current().statement
    if not isinstance(statement, Span):
        statement = span
    memory = held(node)
    size = f"{memory.nodes} nodes, {format_bytes(memory.bytes)}"
    number = _without_history(name, node, statement)
    fixes = [f"{number}   to add the value alone"] if number else []
    return Note(
        f"the graph of {name} has grown for {ROUNDS} iterations: {size}, and nothing frees it",
        labels=[Label(statement)],
        fixes=[*fixes, f"{name} = {name}.detach()   to drop its graph so far"],
    )


def _without_history(name: str, node: Node, statement: Span) -> str | None:
    """`total = total + loss` or `total += loss` as typed, with the plain value of loss."""
    from agrad.grammar.syntax.parser import parse  # the parser comes with the first text, not before

    added = node.inputs[-1]
    if type(added) is not Node or not added.requires_grad:
        return None
    try:
        (typed,) = parse(Source("fix", statement.text))
    except (AgradError, ValueError):  # a statement of several lines
        return None
    match typed:
        case ast.Assign((ast.Name(id=target),), ast.Binary("+" | "-", ast.Name(id=first), other)):
            if target != first:
                return None
        case ast.Augment(ast.Name(id=target), "+" | "-", other):
            pass
        case _:
            return None
    span, text = other.span, other.span.text
    simple = isinstance(other, ast.Name | ast.Call | ast.Index | ast.Attribute)
    simple = simple or getattr(other, "left", other).span.start > span.start  # in brackets already
    plain = f"{text if simple else f'({text})'}.{'detach' if node.shape else 'item'}()"
    return typed.span.text[: span.start] + plain + typed.span.text[span.end :]
