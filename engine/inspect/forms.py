"""The graph as text: a line per node, from the oldest to the youngest."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import bare
from agrad.engine.inspect.json_values import plain
from agrad.engine.inspect.rows import (
    FILLS,
    HEAD,
    SIGNS,
    TAIL,
    GraphRows,
    NodeRow,
    ValueSummary,
    box_lines,
    cells,
    edges,
    elided,
    guard_lines,
    numbered,
    one_line,
)
from agrad.engine.program.printer import parts
from agrad.engine.program.trace import extract
from agrad.engine.text import align


def as_text(graph: GraphRows, precision: int | None) -> str:
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


# The graph as a tree: each value at the top, and below each node, indented, what it was computed from.

LEVELS = 12  # the depth of a tree; deeper nodes are drawn as separate trees below
BRANCHES = 20  # of more operands, only the first and the last are drawn

Branch: TypeAlias = "int | str"  # the number of a node that is shown, or words


def as_tree(graph: GraphRows, precision: int | None) -> str:
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


# The graph as one JSON object, for programs.


def as_json(graph: GraphRows) -> str:
    """`{"schema": 1, "name": …, "roots": […], "state": …, "nodes": […]}`, a node on each line.

    An operand is `{"node": 3}` or `{"value": 2.0}`. A value of more than a few entries is `{"shape": [100]}`, one that
    is not held is null. So is a number that is not finite; `nonfinite` gives its value by its path.
    """
    from json import JSONEncoder  # here, since no other form needs it

    encode = JSONEncoder(allow_nan=False).encode
    nonfinite: dict[str, str] = {}
    head = encode(
        {
            "schema": 1,
            "name": graph.name,
            "roots": graph.roots,
            "state": graph.state,
            "stale": graph.stale,
            "count": graph.nodes,
            "leaves": graph.leaves,
            "guards": [{"text": guard.text, "parent": guard.parent} for guard in graph.guards],
        }
    )
    rows = ",\n  ".join(
        encode(_node(node, f"nodes[{position}]", nonfinite)) for position, node in enumerate(graph.rows)
    )
    tail = f', "nonfinite": {encode(nonfinite)}' if nonfinite else ""
    return f'{head[:-1]}, "nodes": [\n  {rows}\n]{tail}}}'


def _node(node: NodeRow, path: str, nonfinite: dict[str, str]) -> dict[str, Any]:
    """Everything about one node."""

    def shown(value: ValueSummary | None, at: str) -> Any:
        if value is None:
            return None
        return {"shape": value.shape} if value.value is None else plain(value.value, f"{path}.{at}", nonfinite)

    return {
        "number": node.number,
        "name": node.name,
        "text": node.text,
        "where": node.where,
        "operation": node.title,
        "shape": node.shape,
        "operands": _operands(node, shown),
        "value": shown(node.value, "value"),
        "grad": shown(node.gradient, "grad"),
        "leaf": node.leaf,
        "requires_grad": node.requires_grad,
        "keeps_grad": node.keeps_grad,
        "saves": node.saves,
        "version": node.version,
        "written_by": node.written_by,
        "freed": node.freed,
        "freed_by": node.freed_by,
        "stale": node.stale,
        "guard": node.guard,
        **_compared(node, shown),
    }


def _operands(node: NodeRow, shown: Callable[[ValueSummary | None, str], Any], at: str = "") -> list[dict[str, Any]]:
    """The operands, nodes by number and constants by value. `at` is the path to the node within its line."""
    return [
        {"node": x} if isinstance(x, int) else {"value": shown(x, f"{at}operands[{place}].value")}
        for place, x in enumerate(node.operands)
    ]


def _compared(node: NodeRow, shown: Callable[[ValueSummary | None, str], Any]) -> dict[str, Any]:
    """In a comparison of two graphs: whether a node is in both, and what it was in the first."""
    if not node.change:
        return {}
    before = node.before
    return {
        "change": node.change,
        "before": None
        if before is None
        else {
            "name": before.name,
            "text": before.text,
            "where": before.where,
            "operands": _operands(before, shown, "before."),
            "value": shown(before.value, "before.value"),
        },
    }


# A graph as a program: instructions in a straight line, as a compiler reads it.


def as_program(graph: GraphRows, precision: int | None) -> str:
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


# The graph in Graphviz's language.


def as_dot(graph: GraphRows, precision: int | None) -> str:
    """A digraph: leaves are boxes, nodes that require grad are filled, freed ones dashed, stale ones dotted."""
    shown = graph.shown
    counted, behind, before = edges(shown, graph.roots)
    missing = graph.left_out(len(shown))
    caption = [one_line(graph.heading, 200), *guard_lines(graph.guards)]
    body = [
        f"label={_quoted(caption)};",
        "labelloc=t;",
        'node [fontname="monospace", fillcolor="#dbe9f6"];',
        *(_dot_node(node, precision) for node in shown),
        *(f"n{x} -> n{y}{_times(count)};" for (x, y), count in counted.items()),
    ]
    if missing:
        body.append(f"rest [label={_quoted(missing)}, shape=plaintext];")
        body += [f"rest -> n{number} [style=dashed];" for number in behind]
        body += [f"n{number} -> rest [style=dashed];" for number in before]
    return "\n".join(["digraph agrad {", *(f"  {row}" for row in body), "}"])


def _dot_node(node: NodeRow, precision: int | None) -> str:
    marks = ["filled"] * (node.requires_grad or node.change in FILLS)
    marks += ["dashed"] if node.freed else ["dotted"] if node.stale else []
    attributes = [f"label={_quoted(box_lines(node, precision))}", f"shape={'box' if node.leaf else 'ellipse'}"]
    if marks:
        attributes.append(f'style="{",".join(marks)}"')
    if node.change in FILLS:
        attributes.append(f'fillcolor="{FILLS[node.change]}"')
    if node.where:
        attributes.append(f"tooltip={_quoted([one_line(node.where)])}")
    return f"n{node.number} [{', '.join(attributes)}];"


def _times(count: int) -> str:
    return f' [label="{count}×"]' if count > 1 else ""


def _quoted(rows: list[str]) -> str:
    r"""A text of several rows in quotes. A backslash and an ampersand have a meaning there: \N, &lt;."""
    text = "\\n".join(row.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for row in rows)
    return f'"{text}"'


# The graph in Mermaid's language.

CLASSES = {
    "grad": "fill:#dbe9f6,color:#000",
    "freed": "stroke-dasharray:6 4",
    "stale": "stroke-dasharray:2 3",
    **{change: f"fill:{fill},color:#000" for change, fill in FILLS.items()},
}


def as_mermaid(graph: GraphRows, precision: int | None) -> str:
    """A flowchart: leaves are boxes, nodes that require grad are filled, freed ones dashed, stale ones dotted."""
    shown = graph.shown
    counted, behind, before = edges(shown, graph.roots)
    missing = graph.left_out(len(shown))
    caption = [one_line(graph.heading, 200), *guard_lines(graph.guards)]
    body = [
        f"heading[{_mermaid_quoted(caption)}]:::heading",
        *(_mermaid_node(node, precision) for node in shown),
        *(f"n{x} -->{f'|{count}×|' if count > 1 else ''} n{y}" for (x, y), count in counted.items()),
    ]
    if missing:
        body.append(f"rest[{_mermaid_quoted(missing)}]")
        body += [f"rest -.-> n{number}" for number in behind]
        body += [f"n{number} -.-> rest" for number in before]
    body.append("classDef heading fill:none,stroke:none")
    members = {
        "grad": [node for node in shown if node.requires_grad and node.change not in FILLS],
        "freed": [node for node in shown if node.freed],
        "stale": [node for node in shown if node.stale and not node.freed],
        **{change: [node for node in shown if node.change == change] for change in FILLS},
    }
    for name, lines in members.items():
        if lines:
            body += [
                f"classDef {name} {CLASSES[name]}",
                f"class {','.join(f'n{node.number}' for node in lines)} {name}",
            ]
    return "\n".join(["flowchart TD", *(f"  {row}" for row in body)])


def _mermaid_node(node: NodeRow, precision: int | None) -> str:
    text = _mermaid_quoted(box_lines(node, precision))
    return f"n{node.number}[{text}]" if node.leaf else f"n{node.number}([{text}])"


def _mermaid_quoted(rows: list[str]) -> str:
    """A text of several rows in quotes, with special characters of Mermaid, Markdown and HTML as numeric entities."""
    text = "<br/>".join("".join(f"#{ord(x)};" if x in _SPECIAL else x for x in row) for row in rows)
    return f'"{text.replace("#34;", "#quot;")}"'


_SPECIAL = frozenset('"#&<>`*_%\\|~:;')
