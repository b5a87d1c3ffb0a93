"""The page of a graph: what it shows as one JSON text, the code that computes it, and the page around both."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib.resources import files
from json import JSONEncoder
from math import isfinite
from typing import Any

from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.labels import one_line
from agrad.engine.inspect.dump.node_rows import FEW, NodeRow, ValueSummary
from agrad.engine.inspect.dump.slice import operands
from agrad.engine.inspect.page.code import Code, code, held
from agrad.engine.inspect.page.folding import Folding, drawing
from agrad.engine.inspect.page.walks import Walk, walks_from
from agrad.engine.values import Shape, size_of

_MOST = 20_000  # nodes
_FLAT = 300  # nodes that are also laid out without folding


def render(graph: GraphRows, precision: int | None, heading: str = "") -> str:
    """A page in HTML that needs nothing else. Raises AgradError of kind `limit` for a graph of too many nodes, and of
    kind `extra` if the library that finds the layers is not installed.
    """
    if len(graph.wanted) > _MOST:
        raise AgradError(
            "limit",
            f"a page shows up to {_MOST} nodes, and this graph has {len(graph.wanted)}",
            fixes=[Hint("show a part of it, with depth or from")],
        )
    data, made = _Page(graph, precision).parts()
    data["heading"] = heading or graph.heading
    parts = {
        "title": escape(one_line(data["heading"], 200)),
        "style": _file("page.css"),
        "data": _encoded(data),
        "code": made.text.replace("</", "< /"),
        "script": _file("page.js"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("page.html")).rstrip("\n")


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _encoded(data: Any) -> str:
    """JSON that can stand in a script of a page: no text of a user ends that."""
    text = JSONEncoder(allow_nan=False, separators=(",", ":")).encode(data)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@dataclass(slots=True)
class _Numbers:
    """The values of a page, entry by entry in one list; `at` gives the place and the shape of one."""

    outputs: list[Tensor] = field(default_factory=list)
    count: int = 0
    known: dict[object, list[int]] = field(default_factory=dict)

    def at(self, value: Tensor | None) -> list[int] | None:
        """Where the entries of a value begin, and its shape; -1 for more than a few entries."""
        return None if value is None else self.at_shape(value.shape, value)

    def at_shape(self, shape: Shape, value: Tensor) -> list[int]:
        """The same for a node of this shape."""
        size = size_of(shape)
        if size > FEW or any(length > FEW for length in shape):
            return [-1, *shape]
        is_number = not value.node.recorded and isinstance(value.node.value, float)
        key = repr(value.node.value) if is_number else value.node  # what is passed on unchanged is there once
        if key not in self.known:
            self.known[key] = [self.count, *shape]
            self.count += size
            self.outputs.append(value)
        return self.known[key]


class _Page:
    """The data of a page under construction."""

    def __init__(self, graph: GraphRows, precision: int | None) -> None:
        self.graph, self.precision = graph, precision
        self.known = graph.builder.numbers  # by `seq`
        self.shown = {node.seq for node in graph.wanted}
        self.walks = walks_from(graph.ends)
        self._begin(not graph.stale and not any(node.freed is not None for node in graph.wanted))

    def _begin(self, has_program: bool) -> None:
        """Begin the data; with a program, values that no node holds are shown, too."""
        self.has_program = has_program
        self.numbers = _Numbers()
        self.facts: dict[tuple[str, str], int] = {}  # the texts of `info`, each once

    def parts(self) -> tuple[dict[str, Any], Code]:
        """The data, and the code that computes its numbers."""
        graph = self.graph
        leaves = [node for node in graph.wanted if node.op is None and node.requires_grad and not node.shape]
        nodes, walks = self._shown()
        try:
            if graph.stale:
                raise AgradError("stale", "the graph is stale: forward computes it again")
            made = code(self.numbers.outputs, leaves)
        except AgradError as problem:
            self._begin(False)
            nodes, walks = self._shown()
            made = held(self.numbers.outputs, problem.message)
        folding = Folding(graph.wanted, self.known, graph.function_of)
        data = {
            "name": graph.name,
            "roots": graph.roots,
            "nodes": nodes,
            "facts": list(self.facts),
            "walks": walks,
            "boxes": folding.as_data(),
            "flat": self._flat() if len(nodes) <= _FLAT else None,
            "sliders": [self.known[leaf.seq] for leaf in leaves] if made.text else [],
            "reason": made.reason,
            "guards": made.guards,
            "numbers": [x if isfinite(x) else str(x) for x in made.numbers],
            "guarded": [{"text": guard.text, "parent": guard.parent} for guard in graph.guards],
        }
        return data, made

    def _shown(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The nodes and the walks."""
        pairs = zip(self.graph.wanted, self.graph.rows, strict=True)
        return [self._node(node, row) for node, row in pairs], [self._walk(walk) for walk in self.walks]

    def _flat(self) -> dict[str, Any]:
        edges = {
            (self.known[x.seq], self.known[node.seq])
            for node in self.graph.wanted
            for x in operands(node)
            if x.seq in self.shown
        }
        return drawing([self.known[node.seq] for node in self.graph.wanted], sorted(edges))

    def _node(self, node: Node, row: NodeRow) -> dict[str, Any]:
        """A node; what is usual is left out."""
        shown = partial(ValueSummary.text, precision=self.precision)
        gradient = None if node.grad is None or node.grad.value is None else node.grad.value.value
        found = {
            "id": row.number,
            "name": row.name,
            "text": one_line(row.text, 400),
            "where": row.where,
            "op": row.title,
            "shape": list(row.shape),
            "operands": [x if isinstance(x, int) else shown(x) for x in row.operands],
            "value": self._value(node),
            "grad": None if gradient is None else self.numbers.at(tensor(gradient)),
            "leaf": row.leaf,
            "requires": row.requires_grad,
            "keeps": row.keeps_grad,
            "saves": list(row.saves),
            "version": row.version,
            "written": row.written_by,
            "freed": row.freed_by,
            "stale": row.stale,
            "guard": row.guard,
            "change": self.graph.change_of.get(node),
            "info": self._info(node),
        }
        return {key: x for key, x in found.items() if x is not None and x is not False and x not in ("", [])}

    def _value(self, node: Node) -> list[int] | None:
        """The place of a value. One that the node does not hold is computed again, unless the graph was freed."""
        root = self.graph.builder.values.get(node)
        value = node.value if node.value is not None or root is None else root.value
        if value is not None:
            return self.numbers.at(bare(node, value))
        return self.numbers.at_shape(node.shape, bare(node)) if self.has_program else None

    def _info(self, node: Node) -> list[int]:
        """What `info` says, but for the value and the gradient, which the page computes: places among the facts."""
        found = [fact for fact in self.graph.facts_of(node) if fact[0] not in ("value", "grad")]
        return [self.facts.setdefault(fact, len(self.facts)) for fact in found]

    def _walk(self, walk: Walk) -> dict[str, Any]:
        at, known = self.numbers.at, self.known
        again = next((place for place, one in enumerate(self.walks) if one.visits is walk.visits), 0)
        found: dict[str, Any] = {
            "root": known[walk.root.seq],
            "refused": self._error(walk.refused),
            "freed": self._error(walk.freed),
            "order": [known[node.seq] for node in walk.order if node.op is not None and node.seq in self.shown],
        }
        if self.walks[again] is not walk and walk.refused is None:
            return {**found, "same": again}
        found["visits"] = [
            {
                "node": known[visit.node.seq],
                "in": at(visit.cotangent),
                "parts": [[known[part.operand.seq], at(part.local), at(part.contribution)] for part in visit.parts],
            }
            for visit in walk.visits
            if visit.node.seq in self.shown
        ]
        found["kept"] = [[known[node.seq], at(value)] for node, value in _by_age(walk, self.shown)]
        return found

    def _error(self, problem: AgradError | None) -> dict[str, Any] | None:
        """An error as the session would show it."""
        if problem is None:
            return None
        self.graph.explain(problem)
        origins = [(label.origin, label.text) for label in problem.labels]
        return {
            "message": problem.message,
            "places": [[x.where if x else "", x.text if x else "", said] for x, said in origins],
            "notes": list(problem.notes),
            "fixes": [str(fix) for fix in problem.fixes],
        }


def _by_age(walk: Walk, shown: Container[int]) -> list[tuple[Node, Tensor]]:
    """What arrives at the nodes that keep a gradient, youngest first."""
    return [(node, walk.kept[node]) for node in walk.order if node in walk.kept and node.seq in shown]
