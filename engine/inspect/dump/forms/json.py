"""The graph as one JSON object, for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.node_rows import NodeRow, ValueSummary
from agrad.engine.inspect.json_values import plain


def render(graph: GraphRows) -> str:
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
