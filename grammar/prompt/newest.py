"""The newest graph, which a command without operands is about."""

from __future__ import annotations

import re

from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import Tensor
from agrad.grammar.session.session import Session

_BARE = re.compile(
    r"\s*(backward|explain|forward|grad|graph|info)\b\s*(?:(as|depth|retain|create_graph|fresh|trace)\b.*)?$"
)


def newest(session: Session) -> tuple[str, Tensor] | None:
    """The name of the value that was computed last, of those that have a graph, and the value."""
    graphs = [
        (value.node.seq, name)
        for name, value in session.names.items()
        if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf
    ]
    if not graphs:
        return None
    name = max(graphs)[1]
    return name, session.names[name]


def with_newest(text: str, session: Session) -> tuple[str, str]:
    """A bare command with the newest graph as its operand, and that as a line; any other text, and nothing."""
    found = _BARE.match(text)
    if found is None or found[1] in session.names:
        return text, ""
    graph = newest(session)
    if graph is None:
        return text, ""
    name, value = graph
    if found[1] == "grad":
        name = " ".join(_leaves(session, value)) or name
    text = f"{found[1]} {name}{text[found.end(1) :].rstrip()}"
    return text, text.strip()


def _leaves(session: Session, value: Tensor) -> list[str]:
    """The names of the leaves behind a value that require grad."""
    behind = set(collect([value.node]))
    return [
        name
        for name, other in session.names.items()
        if isinstance(other, Tensor) and other.is_leaf and other.requires_grad and other.node in behind
    ]
