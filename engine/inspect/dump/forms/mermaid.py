"""The graph in Mermaid's language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agrad.engine.inspect.dump.labels import edges, guards, label, one_line
from agrad.engine.inspect.dump.node_rows import Line

if TYPE_CHECKING:
    from agrad.engine.inspect.dump.dump import Dump

CLASSES = {
    "grad": "fill:#dbe9f6,color:#000",
    "freed": "stroke-dasharray:6 4",
    "stale": "stroke-dasharray:2 3",
}


def mermaid(dump: Dump, precision: int | None) -> str:
    """A flowchart: leaves are boxes, what requires grad is filled, what was freed dashed, what is stale dotted."""
    shown = dump.shown
    counted, behind, before = edges(shown)
    missing = dump.left_out(len(shown))
    caption = [one_line(dump.heading, 200), *guards(dump.choices)]
    body = [
        f"heading[{_quoted(caption)}]:::heading",
        *(_node(line, precision) for line in shown),
        *(f"n{x} -->{f'|{count}×|' if count > 1 else ''} n{y}" for (x, y), count in counted.items()),
    ]
    if missing:
        body.append(f"rest[{_quoted(missing)}]")
        body += [f"rest -.-> n{number}" for number in behind]
        body += [f"n{number} -.-> rest" for number in before]
    body.append("classDef heading fill:none,stroke:none")
    members = {
        "grad": [line for line in shown if line.requires_grad],
        "freed": [line for line in shown if line.freed],
        "stale": [line for line in shown if line.stale and not line.freed],
    }
    for name, lines in members.items():
        if lines:
            body += [
                f"classDef {name} {CLASSES[name]}",
                f"class {','.join(f'n{line.number}' for line in lines)} {name}",
            ]
    return "\n".join(["flowchart TD", *(f"  {row}" for row in body)])


def _node(line: Line, precision: int | None) -> str:
    text = _quoted(label(line, precision))
    return f"n{line.number}[{text}]" if line.leaf else f"n{line.number}([{text}])"


def _quoted(rows: list[str]) -> str:
    """A text of several rows in quotes, with all that Mermaid, Markdown or HTML would read as theirs by number."""
    text = "<br/>".join("".join(f"#{ord(x)};" if x in _SPECIAL else x for x in row) for row in rows)
    return f'"{text.replace("#34;", "#quot;")}"'


_SPECIAL = frozenset('"#&<>`*_%\\|~:;')
