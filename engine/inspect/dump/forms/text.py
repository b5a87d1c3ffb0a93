"""The graph as text: a line per node, from the oldest to the youngest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agrad.engine.inspect.dump.labels import cells, columns, guards

if TYPE_CHECKING:
    from agrad.engine.inspect.dump.dump import Dump


def table(dump: Dump, precision: int | None) -> str:
    """A heading, a line per node in columns, the guards; `…` stands where nodes are left out."""
    shown = dump.shown
    body, before = [], 0
    rows = columns([(f"%{line.number}", *cells(line, precision)) for line in shown])
    for line, row in zip(shown, rows, strict=True):
        if line.number != before + 1:
            body.append("…")
        body.append(row)
        before = line.number
    below = [*guards(dump.choices), *dump.left_out(len(shown))]
    return "\n".join([dump.heading, *(f"  {row}" for row in [*body, *below])])
