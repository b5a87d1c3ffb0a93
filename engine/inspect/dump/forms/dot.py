"""The graph in Graphviz's language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agrad.engine.inspect.dump.labels import edges, guards, label, one_line
from agrad.engine.inspect.dump.node_rows import Line

if TYPE_CHECKING:
    from agrad.engine.inspect.dump.dump import Dump


def dot(dump: Dump, precision: int | None) -> str:
    """A digraph: leaves are boxes, what requires grad is filled, what was freed dashed, what is stale dotted."""
    shown = dump.shown
    counted, behind, before = edges(shown)
    missing = dump.left_out(len(shown))
    caption = [one_line(dump.heading, 200), *guards(dump.choices)]
    body = [
        f"label={_quoted(caption)};",
        "labelloc=t;",
        'node [fontname="monospace", fillcolor="#dbe9f6"];',
        *(_node(line, precision) for line in shown),
        *(f"n{x} -> n{y}{_times(count)};" for (x, y), count in counted.items()),
    ]
    if missing:
        body.append(f"rest [label={_quoted(missing)}, shape=plaintext];")
        body += [f"rest -> n{number} [style=dashed];" for number in behind]
        body += [f"n{number} -> rest [style=dashed];" for number in before]
    return "\n".join(["digraph agrad {", *(f"  {row}" for row in body), "}"])


def _node(line: Line, precision: int | None) -> str:
    marks = ["filled"] * line.requires_grad
    marks += ["dashed"] if line.freed else ["dotted"] if line.stale else []
    attributes = [f"label={_quoted(label(line, precision))}", f"shape={'box' if line.leaf else 'ellipse'}"]
    if marks:
        attributes.append(f'style="{",".join(marks)}"')
    if line.where:
        attributes.append(f"tooltip={_quoted([one_line(line.where)])}")
    return f"n{line.number} [{', '.join(attributes)}];"


def _times(count: int) -> str:
    return f' [label="{count}×"]' if count > 1 else ""


def _quoted(rows: list[str]) -> str:
    r"""A text of several rows in quotes. A backslash and an ampersand have a meaning there: \N, &lt;."""
    text = "\\n".join(row.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for row in rows)
    return f'"{text}"'
