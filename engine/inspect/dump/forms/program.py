"""A graph as a program: instructions in a straight line, as a compiler reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import bare
from agrad.engine.program.printer import parts
from agrad.engine.program.trace import extract

if TYPE_CHECKING:
    from agrad.engine.inspect.dump.dump import Dump


def program(dump: Dump, head: int, tail: int, precision: int | None) -> str:
    """The program of the value; of a long one `head` lines, the inputs among them, and `tail`.

    Raises AgradError of kind `freed` where a part of the graph is gone.
    """
    root = dump.wanted[-1]
    leaves = [bare(node) for node in reversed(collect([root])) if node.op is None and node.requires_grad]
    read = extract([bare(root)], leaves)
    before, steps, after = parts(read, precision)
    count = len(leaves) + len(steps)
    if count > head + tail:
        left = dump.left_out(dump.nodes - count + head + tail)
        steps = [*steps[: max(head - len(leaves), 0)], *left, *steps[-tail:]]
    return "\n".join([*before, *steps, *after])
