"""The forms of a graph that are text for people and programs: lines, a tree, a program, JSON, Graphviz, Mermaid.

Each writes the rows of the model, and never reads the graph itself, but for the program. `boxes`, `pictures` and
`page` have the other forms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from json import JSONEncoder
from typing import Any, TypeAlias

from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import bare
from agrad.engine.inspect.colours import LOOKS
from agrad.engine.inspect.json_values import plain
from agrad.engine.inspect.rows import (
    FILLS,
    HEAD,
    SIGNS,
    STATE,
    TAIL,
    GraphRows,
    NodeRow,
    ValueSummary,
    box_lines,
    cells,
    elided,
    numbered,
)
from agrad.engine.text import align, one_line

_LEVELS = 12  # the depth of a tree; deeper nodes are drawn as separate trees below
_BRANCHES = 20  # of more operands, only the first and the last are drawn


def as_text(graph: GraphRows, precision: int | None = 10) -> str:
    """A heading, a line per node in columns, from the oldest to the youngest, the guards; `…` marks omitted nodes."""
    shown = graph.shown
    marked = any(node.change in SIGNS for node in shown)  # the others then leave room for a sign
    numbers = [numbered(node) if node.change in SIGNS or not marked else f"  {numbered(node)}" for node in shown]
    rows = align([(number, *cells(node, precision)) for number, node in zip(numbers, shown, strict=True)])
    body, before = [], 0
    for node, row in zip(shown, rows, strict=True):
        if node.number != before + 1:
            body.append("…")
        body.append(row)
        before = node.number
    below = [*graph.guard_lines(), *graph.left_out(len(shown))]
    return "\n".join([graph.heading, *(f"  {row}" for row in [*body, *below])])


# A tree

_Branch: TypeAlias = "int | str"  # the number of a node that is shown, or words


def as_tree(graph: GraphRows, precision: int | None = 10) -> str:
    """Each value at the top, and below each node, indented, what it was computed from.

    A part used twice is drawn once; then as `%3 (above)`.
    """
    shown = {node.number: node for node in graph.shown}
    drawn: set[int] = set()
    below = deque([number for number in graph.roots if number in shown] or [max(shown)])
    waiting = set(below)
    blocks = []
    while below:
        rows = _block(below.popleft(), shown, drawn, below, waiting, precision)
        blocks.append("\n".join(f"  {row}" for row in align(rows)))
    notes = [f"  {row}" for row in [*graph.guard_lines(), *graph.left_out(len(drawn))]]
    return "\n".join([graph.heading, "\n\n".join(blocks), *notes])


def _block(
    top: int, shown: dict[int, NodeRow], drawn: set[int], below: deque[int], waiting: set[int], precision: int | None
) -> Iterator[tuple[str, ...]]:
    """The rows of one tree; nodes that are too deep for it are added to `below`."""
    # An item, its indentation, that of the rows below it, its level.
    stack: list[tuple[_Branch, str, str, int]] = [(top, "", "", 0)]
    while stack:
        branch, own, under, level = stack.pop()
        if isinstance(branch, str):
            yield own + branch, "", "", ""
        elif branch in drawn:
            yield f"{own}{numbered(shown[branch])} (above)", "", "", ""
        elif (level >= _LEVELS and shown[branch].behind) or (branch in waiting and level):
            yield f"{own}{numbered(shown[branch])} (below)", "", "", ""
            if branch not in waiting:
                waiting.add(branch)
                below.append(branch)
        else:
            drawn.add(branch)
            name, *rest = cells(shown[branch], precision)
            yield f"{own}{numbered(shown[branch])}  {name}".rstrip(), *rest
            signs = ("└─ ", "   ")  # of the last branch, which is the first on the stack
            for operand in reversed(_branches(shown[branch], shown)):
                stack.append((operand, under + signs[0], under + signs[1], level + 1))
                signs = ("├─ ", "│  ")


def _branches(node: NodeRow, shown: dict[int, NodeRow]) -> list[_Branch]:
    """The operands of a node: those that are shown, and words for those that are not."""
    used = node.behind
    there: list[_Branch] = [x for x in used if x in shown]
    missing = tuple(dict.fromkeys(x for x in used if x not in shown))
    if len(there) > _BRANCHES:
        half = _BRANCHES // 2
        there = [*there[:half], f"… {len(there) - 2 * half} operands", *there[-half:]]
    return [*there, f"… {' '.join(elided(missing))}"] if missing else there


def as_program(graph: GraphRows, precision: int | None = 10) -> str:
    """The computation of the values as a compiler reads it: instructions in a straight line.

    Of a long one the first lines, inputs included, and the last. Raises AgradError of kind `freed` where a part of the
    graph is gone.
    """
    from agrad.engine.program import printer, trace  # here, since few graphs are shown as programs

    leaves = [bare(node) for node in reversed(collect(graph.ends)) if node.op is None and node.requires_grad]
    before, steps, after = printer.parts(trace.extract([bare(root) for root in graph.ends], leaves), precision)
    count = len(leaves) + len(steps)
    if count > HEAD + TAIL:
        left = graph.left_out(graph.nodes - count + HEAD + TAIL)
        steps = [*steps[: max(HEAD - len(leaves), 0)], *left, *steps[-TAIL:]]
    return "\n".join([*before, *steps, *after])


# JSON


def as_json(graph: GraphRows, precision: int | None = None) -> str:
    """`{"schema": 1, "name": …, "roots": […], "state": …, "nodes": […]}`, a node on each line, in full precision.

    An operand is `{"node": 3}` or `{"value": 2.0}`. A value of more than a few entries is `{"shape": [100]}`, one that
    is not held is null. So is a number that is not finite; `nonfinite` gives its value by its path.
    """
    encode = JSONEncoder(allow_nan=False).encode
    nonfinite: dict[str, str] = {}
    head = {
        "schema": 1,
        "name": graph.name,
        "roots": graph.roots,
        "state": graph.state,
        "stale": bool(graph.stale),
        "count": graph.nodes,
        "leaves": graph.leaves,
        "guards": [{"text": guard.text, "parent": guard.parent} for guard in graph.guards],
    }
    nodes = (_node_in_json(node, f"nodes[{place}]", nonfinite) for place, node in enumerate(graph.rows))
    rows = ",\n  ".join(map(encode, nodes))
    tail = f', "nonfinite": {encode(nonfinite)}' if nonfinite else ""
    return f'{encode(head)[:-1]}, "nodes": [\n  {rows}\n]{tail}}}'


def _node_in_json(node: NodeRow, path: str, nonfinite: dict[str, str]) -> dict[str, Any]:
    """Everything about one node; in a comparison also whether it is in both graphs, and what it was in the first."""

    def shown(value: ValueSummary | None, at: str) -> Any:
        if value is None:
            return None
        return {"shape": value.shape} if value.value is None else plain(value.value, f"{path}.{at}", nonfinite)

    found = {
        "number": node.number,
        **_identity(node),
        "operation": node.title,
        "shape": node.shape,
        "operands": _operands(node, shown),
        "value": shown(node.value, "value"),
        "grad": shown(node.gradient, "grad"),
        **({"unit": node.value.unit} if node.value and node.value.unit else {}),
        **({"grad_unit": node.gradient.unit} if node.gradient and node.gradient.unit else {}),
        **{name: getattr(node, name) for name in STATE},
    }
    if node.change:
        found |= {"change": node.change, "before": None}
    if node.before is not None:
        operands = _operands(node.before, shown, "before.")
        value = shown(node.before.value, "before.value")
        found["before"] = {**_identity(node.before), "operands": operands, "value": value}
    return found


def _identity(node: NodeRow) -> dict[str, str | None]:
    return {"name": node.name, "text": node.text, "where": node.where}


def _operands(node: NodeRow, shown: Callable[[ValueSummary | None, str], Any], at: str = "") -> list[dict[str, Any]]:
    """The operands, nodes by number and constants by value. `at` is the path to the node within its line."""
    return [
        {"node": x} if isinstance(x, int) else {"value": shown(x, f"{at}operands[{place}].value")}
        for place, x in enumerate(node.operands)
    ]


# Languages for graphs


def as_dot(graph: GraphRows, precision: int | None = 10) -> str:
    """A digraph in Graphviz's language, with edges from operand to result.

    Leaves are boxes; the colours and signs are those of LOOKS; freed nodes are dashed, stale ones dotted.
    """
    found = graph.outline()
    body = [
        f"label={_in_dot(found.caption)};",
        "labelloc=t;",
        'node [fontname="monospace"];',
        *(_node_in_dot(node, precision) for node in found.nodes),
    ]
    for (x, y), count in found.edges.items():
        body.append(f"n{x} -> n{y}" + (f' [label="{count}×"];' if count > 1 else ";"))
    if found.left_out:
        body.append(f"rest [label={_in_dot(found.left_out)}, shape=plaintext];")
        body += [f"rest -> n{number} [style=dashed];" for number in found.behind]
        body += [f"n{number} -> rest [style=dashed];" for number in found.before]
    return "\n".join(["digraph agrad {", *(f"  {row}" for row in body), "}"])


def _node_in_dot(node: NodeRow, precision: int | None) -> str:
    marks = ["filled", *["dashed" if node.freed else "dotted"] * (node.freed or node.stale)]
    look = LOOKS[node.kind]
    attributes = [f"label={_in_dot(box_lines(node, precision))}", f"shape={'box' if node.leaf else 'ellipse'}"]
    fill = FILLS.get(node.change, look.fill)
    attributes.append(f'style="{",".join(marks)}", fillcolor="{fill}", color="{look.line}"')
    if node.where:
        attributes.append(f"tooltip={_in_dot([one_line(node.where)])}")
    return f"n{node.number} [{', '.join(attributes)}];"


def _in_dot(rows: list[str]) -> str:
    r"""A text of several rows in quotes. A backslash and an ampersand have a meaning there: \N, &lt;."""
    text = "\\n".join(row.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for row in rows)
    return f'"{text}"'


_CLASSES = {
    **{name: f"fill:{look.fill},stroke:{look.line},color:#000" for name, look in LOOKS.items()},
    "dashed": "stroke-dasharray:6 4",
    "stale": "stroke-dasharray:2 3",
    **{change: f"fill:{fill},color:#000" for change, fill in FILLS.items()},
}


def as_mermaid(graph: GraphRows, precision: int | None = 10) -> str:
    """A flowchart in Mermaid's language, which Markdown pages on the web can draw, with the looks of `as_dot`."""
    found = graph.outline()
    body = [f"heading[{_in_mermaid(found.caption)}]:::heading"]
    for node in found.nodes:
        text = _in_mermaid(box_lines(node, precision))
        body.append(f"n{node.number}[{text}]" if node.leaf else f"n{node.number}([{text}])")
    body += [f"n{x} -->{f'|{count}×|' if count > 1 else ''} n{y}" for (x, y), count in found.edges.items()]
    if found.left_out:
        body.append(f"rest[{_in_mermaid(found.left_out)}]")
        body += [f"rest -.-> n{number}" for number in found.behind]
        body += [f"n{number} -.-> rest" for number in found.before]
    body.append("classDef heading fill:none,stroke:none")
    for name, look in _CLASSES.items():
        members = [f"n{node.number}" for node in found.nodes if name in _classes(node)]
        if members:
            body += [f"classDef {name} {look}", f"class {','.join(members)} {name}"]
    return "\n".join(["flowchart TD", *(f"  {row}" for row in body)])


def _classes(node: NodeRow) -> tuple[str, ...]:
    state = "dashed" if node.freed else "stale" if node.stale else ""
    return state, node.change if node.change in FILLS else node.kind


def _in_mermaid(rows: list[str]) -> str:
    """A text of several rows in quotes, with special characters of Mermaid, Markdown and HTML as numeric entities."""
    text = "<br/>".join("".join(f"#{ord(x)};" if x in _SPECIAL else x for x in row) for row in rows)
    return f'"{text.replace("#34;", "#quot;")}"'


_SPECIAL = frozenset('"#&<>`*_%\\|~:;')
