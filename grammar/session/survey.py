"""Counts of what the graphs behind the names of a session hold, for the toolbar below the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date
from agrad.engine.inspect import memory
from agrad.grammar.runtime.builtins import parts_of

if TYPE_CHECKING:
    from agrad.grammar.session.session import Session


class Graphs(NamedTuple):
    """The graphs of a session in numbers. If there are too many nodes to visit all of them, `more` is true."""

    leaves: int  # that require grad
    nodes: int  # of operations
    freed: int  # of these
    stale: int  # of these: held, and computed from something that has other data now; 0 with `more`
    bytes: int  # saved for derivatives
    more: bool


def survey(session: Session, most: int) -> Graphs:
    """The graphs behind the names of a session; about `most` nodes are visited."""
    values = [value for value in parts_of(session.names.values()) if isinstance(value, Tensor)]
    found = memory.survey(values, most)
    stale = 0
    if not found.more:
        nodes = collect(value.node for value in values if isinstance(value, Tensor))
        stale = sum(node.freed is None for node in out_of_date(nodes))
    return Graphs(found.leaves, found.nodes, found.freed, stale, found.bytes, found.more)
