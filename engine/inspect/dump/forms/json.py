"""The graph as one JSON object, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agrad.engine.inspect.dump.node_rows import Line, Short
from agrad.engine.json_values import plain

if TYPE_CHECKING:
    from agrad.engine.inspect.dump.dump import Dump


def record(dump: Dump) -> str:
    """`{"schema": 1, "name": …, "state": …, "nodes": […]}`, a node on each line.

    An operand is `{"node": 3}` or `{"value": 2.0}`. A value of more than a few entries is `{"shape": [100]}`, one that
    is not held is null. So is a number that is not finite; `nonfinite` says which it was, by its path.
    """
    import json  # here, since no other form needs it

    encode = json.JSONEncoder(allow_nan=False).encode
    nonfinite: dict[str, str] = {}
    head = encode(
        {
            "schema": 1,
            "name": dump.name,
            "state": dump.state,
            "stale": dump.stale,
            "count": dump.nodes,
            "leaves": dump.leaves,
            "guards": [{"text": choice.text, "parent": choice.parent} for choice in dump.choices],
        }
    )
    rows = ",\n  ".join(
        encode(_node(line, f"nodes[{position}]", nonfinite)) for position, line in enumerate(dump.lines)
    )
    tail = f', "nonfinite": {encode(nonfinite)}' if nonfinite else ""
    return f'{head[:-1]}, "nodes": [\n  {rows}\n]{tail}}}'


def _node(line: Line, path: str, nonfinite: dict[str, str]) -> dict[str, Any]:
    """All about one node."""

    def shown(value: Short | None, at: str) -> Any:
        if value is None:
            return None
        return {"shape": value.shape} if value.value is None else plain(value.value, f"{path}.{at}", nonfinite)

    return {
        "number": line.number,
        "name": line.name,
        "text": line.text,
        "where": line.where,
        "operation": line.title,
        "shape": line.shape,
        "operands": [
            {"node": x} if isinstance(x, int) else {"value": shown(x, f"operands[{place}].value")}
            for place, x in enumerate(line.operands)
        ],
        "value": shown(line.value, "value"),
        "grad": shown(line.gradient, "grad"),
        "leaf": line.leaf,
        "requires_grad": line.requires_grad,
        "keeps_grad": line.keeps_grad,
        "saves": line.saves,
        "version": line.version,
        "written_by": line.written_by,
        "freed": line.freed,
        "freed_by": line.freed_by,
        "stale": line.stale,
        "guard": line.choice,
    }
