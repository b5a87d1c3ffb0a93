"""The graph as a tree: each value at the top, and below each node, indented, what it was computed from."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import cells, guard_lines, numbered
from agrad.engine.inspect.dump.node_rows import NodeRow, elided
from agrad.engine.text import align

LEVELS = 12  # the depth of a tree; deeper nodes are drawn as separate trees below
BRANCHES = 20  # of more operands, only the first and the last are drawn

Branch: TypeAlias = "int | str"  # the number of a node that is shown, or words


def render(graph: GraphRows, precision: int | None) -> str:
    """Trees with box drawing. A part used twice is drawn once; then as `%3 (above)`."""
    shown = {node.number: node for node in graph.shown}
    drawn: set[int] = set()
    below = deque([number for number in graph.roots if number in shown] or [max(shown)])
    waiting = set(below)
    blocks = []
    while below:
        rows = _block(below.popleft(), shown, drawn, below, waiting, precision)
        blocks.append("\n".join(f"  {row}" for row in align(rows)))
    notes = [f"  {row}" for row in [*guard_lines(graph.guards), *graph.left_out(len(drawn))]]
    return "\n".join([graph.heading, "\n\n".join(blocks), *notes])


def _block(
    top: int,
    shown: dict[int, NodeRow],
    drawn: set[int],
    below: deque[int],
    waiting: set[int],
    precision: int | None,
) -> list[tuple[str, ...]]:
    """The rows of one tree; nodes that are too deep for it are added to `below`."""
    rows: list[tuple[str, ...]] = []
    stack: list[tuple[Branch, str, str, int]] = [
        (top, "", "", 0)
    ]  # the item, its indentation, that of the rows below it, its level
    while stack:
        branch, own, under, level = stack.pop()
        deep = level >= LEVELS and isinstance(branch, int) and bool(shown[branch].behind)
        if isinstance(branch, str):
            rows.append((own + branch, "", "", ""))
        elif branch in drawn:
            rows.append((f"{own}{numbered(shown[branch])} (above)", "", "", ""))
        elif deep or (branch in waiting and level):
            rows.append((f"{own}{numbered(shown[branch])} (below)", "", "", ""))
            if branch not in waiting:
                waiting.add(branch)
                below.append(branch)
        else:
            drawn.add(branch)
            name, *rest = cells(shown[branch], precision)
            rows.append((f"{own}{numbered(shown[branch])}  {name}".rstrip(), *rest))
            branches = _branches(shown[branch], shown)
            for position, operand in reversed(list(enumerate(branches, 1))):
                last = position == len(branches)
                stack.append(
                    (operand, under + ("└─ " if last else "├─ "), under + ("   " if last else "│  "), level + 1)
                )
    return rows


def _branches(node: NodeRow, shown: dict[int, NodeRow]) -> list[Branch]:
    """The operands of a node: those that are shown, and words for those that are not."""
    used = node.behind
    there: list[Branch] = [x for x in used if x in shown]
    missing = tuple(dict.fromkeys(x for x in used if x not in shown))
    if len(there) > BRANCHES:
        half = BRANCHES // 2
        there = [*there[:half], f"… {len(there) - 2 * half} operands", *there[-half:]]
    return [*there, f"… {' '.join(elided(missing))}"] if missing else there
