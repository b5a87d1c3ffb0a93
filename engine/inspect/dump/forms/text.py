"""The graph as text: a line per node, from the oldest to the youngest."""

from __future__ import annotations

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import SIGNS, cells, guard_lines, numbered
from agrad.engine.inspect.dump.node_rows import NodeRow
from agrad.engine.text import align


def render(graph: GraphRows, precision: int | None) -> str:
    """A heading, a line per node in columns, the guards; `…` marks omitted nodes."""
    shown = graph.shown
    body, before = [], 0
    marked = any(node.change in SIGNS for node in shown)
    rows = align([(_number(node, marked), *cells(node, precision)) for node in shown])
    for node, row in zip(shown, rows, strict=True):
        if node.number != before + 1:
            body.append("…")
        body.append(row)
        before = node.number
    below = [*guard_lines(graph.guards), *graph.left_out(len(shown))]
    return "\n".join([graph.heading, *(f"  {row}" for row in [*body, *below])])


def _number(node: NodeRow, marked: bool) -> str:
    """The first cell of a row; where some rows have a sign, the others leave room for one."""
    return numbered(node) if node.change in SIGNS or not marked else f"  {numbered(node)}"
