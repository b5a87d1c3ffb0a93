"""The graph in Graphviz's language."""

from __future__ import annotations

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import FILLS, box_lines, edges, guard_lines, one_line
from agrad.engine.inspect.dump.node_rows import NodeRow


def render(graph: GraphRows, precision: int | None) -> str:
    """A digraph: leaves are boxes, nodes that require grad are filled, freed ones dashed, stale ones dotted."""
    shown = graph.shown
    counted, behind, before = edges(shown, graph.roots)
    missing = graph.left_out(len(shown))
    caption = [one_line(graph.heading, 200), *guard_lines(graph.guards)]
    body = [
        f"label={_quoted(caption)};",
        "labelloc=t;",
        'node [fontname="monospace", fillcolor="#dbe9f6"];',
        *(_node(node, precision) for node in shown),
        *(f"n{x} -> n{y}{_times(count)};" for (x, y), count in counted.items()),
    ]
    if missing:
        body.append(f"rest [label={_quoted(missing)}, shape=plaintext];")
        body += [f"rest -> n{number} [style=dashed];" for number in behind]
        body += [f"n{number} -> rest [style=dashed];" for number in before]
    return "\n".join(["digraph agrad {", *(f"  {row}" for row in body), "}"])


def _node(node: NodeRow, precision: int | None) -> str:
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
