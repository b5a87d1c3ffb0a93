"""The graph in Mermaid's language."""

from __future__ import annotations

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import FILLS, box_lines, edges, guard_lines, one_line
from agrad.engine.inspect.dump.node_rows import NodeRow

CLASSES = {
    "grad": "fill:#dbe9f6,color:#000",
    "freed": "stroke-dasharray:6 4",
    "stale": "stroke-dasharray:2 3",
    **{change: f"fill:{fill},color:#000" for change, fill in FILLS.items()},
}


def render(graph: GraphRows, precision: int | None) -> str:
    """A flowchart: leaves are boxes, nodes that require grad are filled, freed ones dashed, stale ones dotted."""
    shown = graph.shown
    counted, behind, before = edges(shown, graph.roots)
    missing = graph.left_out(len(shown))
    caption = [one_line(graph.heading, 200), *guard_lines(graph.guards)]
    body = [
        f"heading[{_quoted(caption)}]:::heading",
        *(_node(node, precision) for node in shown),
        *(f"n{x} -->{f'|{count}×|' if count > 1 else ''} n{y}" for (x, y), count in counted.items()),
    ]
    if missing:
        body.append(f"rest[{_quoted(missing)}]")
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


def _node(node: NodeRow, precision: int | None) -> str:
    text = _quoted(box_lines(node, precision))
    return f"n{node.number}[{text}]" if node.leaf else f"n{node.number}([{text}])"


def _quoted(rows: list[str]) -> str:
    """A text of several rows in quotes, with special characters of Mermaid, Markdown and HTML as numeric entities."""
    text = "<br/>".join("".join(f"#{ord(x)};" if x in _SPECIAL else x for x in row) for row in rows)
    return f'"{text.replace("#34;", "#quot;")}"'


_SPECIAL = frozenset('"#&<>`*_%\\|~:;')
