"""A graph as a program: instructions in a straight line, as a compiler reads it."""

from __future__ import annotations

from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import bare
from agrad.engine.inspect.dump.graph_rows import HEAD, TAIL, GraphRows
from agrad.engine.program.printer import parts
from agrad.engine.program.trace import extract


def render(graph: GraphRows, precision: int | None) -> str:
    """The program of the values; for a long one the first lines, inputs included, and the last.

    Raises AgradError of kind `freed` where a part of the graph is gone.
    """
    leaves = [bare(node) for node in reversed(collect(graph.ends)) if node.op is None and node.requires_grad]
    read = extract([bare(root) for root in graph.ends], leaves)
    before, steps, after = parts(read, precision)
    count = len(leaves) + len(steps)
    if count > HEAD + TAIL:
        left = graph.left_out(graph.nodes - count + HEAD + TAIL)
        steps = [*steps[: max(HEAD - len(leaves), 0)], *left, *steps[-TAIL:]]
    return "\n".join([*before, *steps, *after])
