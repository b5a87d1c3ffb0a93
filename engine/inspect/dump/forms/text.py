"""The graph as text: a line per node, from the oldest to the youngest."""

from __future__ import annotations

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import cells, guard_lines
from agrad.engine.text import align


def render(graph: GraphRows, precision: int | None) -> str:
    """A heading, a line per node in columns, the guards; `…` marks omitted nodes."""
    shown = graph.shown
    body, before = [], 0
    rows = align([(f"%{node.number}", *cells(node, precision)) for node in shown])
    for node, row in zip(shown, rows, strict=True):
        if node.number != before + 1:
            body.append("…")
        body.append(row)
        before = node.number
    below = [*guard_lines(graph.guards), *graph.left_out(len(shown))]
    return "\n".join([graph.heading, *(f"  {row}" for row in [*body, *below])])
