"""A graph as a page for web browsers: one file, which shows it, steps through it, and computes it anew.

`as_page` writes it: what it shows is one JSON text, with the backward passes from the values; the numbers are also a
function of the leaves in JavaScript; `Folding` decides which nodes are one box. `page.html`, `page.css` and `page.js`
are the page itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from html import escape
from json import JSONEncoder
from math import isfinite
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.compile.export.languages import JavaScript
from agrad.engine.compile.export.source import statements
from agrad.engine.compile.scalarise import Unexpanded, unrolled
from agrad.engine.core.graph import Node
from agrad.engine.core.guards import integer, number, truth
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.inspect.backward_trace import Walk, walks_from
from agrad.engine.inspect.colours import LOOKS
from agrad.engine.inspect.folding import Folding, nodes_of
from agrad.engine.inspect.layout import Joint, chains, layered
from agrad.engine.inspect.nodes import operands
from agrad.engine.inspect.rows import SIGNS, GraphRows, NodeRow, ValueSummary
from agrad.engine.program.ir import GuardCheck, Program, arranged, optimised, unchecked
from agrad.engine.program.trace import extract
from agrad.engine.text import beside, one_line
from agrad.engine.units.unit import Unit
from agrad.engine.values import Value, np, size_of

_INSTRUCTIONS = 6_000  # instructions of what a page computes
_LONGEST = 100_000  # characters of its code
_MOVED = 12  # entries that are shown, and that sliders move


class Code(NamedTuple):
    """`numbers` are the outputs now, entry by entry, those of the guards at the end, which `guards` describe.

    `text` defines `run`, which returns the same for other leaves; empty where there is none, and then `reason` says
    why.
    """

    numbers: list[float]
    guards: list[dict[str, Any]]
    text: str = ""
    reason: str = ""


def code(outputs: Sequence[Tensor], leaves: Sequence[Node]) -> Code:
    """The code that computes some values from the entries of some leaves, row by row.

    Raises AgradError as `extract`: then only the values that are held can be shown.
    """
    if not outputs:
        return Code([], [], reason="the graph has no numbers that are shown")
    program = extract(outputs, [bare(leaf) for leaf in leaves], [f"x{place}" for place in range(len(leaves))])
    whole = unchecked(program)
    values = whole.run(*[leaf.value for leaf in leaves if leaf.value is not None])
    numbers, guards = _entries(values), _guards(program.checks, values[len(outputs) :])
    if not leaves:
        return Code(numbers, guards, reason=f"no leaf that requires grad has up to {_MOVED} entries")
    try:
        found, guard = _numbers(whole)
        return Code([*numbers, *[0.0] * len(guard)], [*guards, *guard], _function(found))
    except AgradError as problem:
        return Code(numbers, guards, reason=problem.message)


def _entries(values: Sequence[Value | None]) -> list[float]:
    """All numbers in some values, row by row."""
    return [x for value in values if value is not None for x in np.ravel(value).tolist()]


def _guards(checks: Sequence[GuardCheck], values: Sequence[Value]) -> list[dict[str, Any]]:
    """How a page checks each guard: by the truth of a number, by its whole part, or by every entry."""
    kinds: dict[object, str] = {truth: "truth", number: "number", integer: "integer"}
    return [
        {"text": check.text, "read": kinds.get(check.read, "entries"), "size": len(_entries([value]))}
        for check, value in zip(checks, values, strict=True)
    ]


def _numbers(program: Program) -> tuple[Program, list[dict[str, Any]]]:
    """The program of numbers, and one guard more where it e.g. solves with a matrix, which may be singular.

    Raises AgradError where there is none, or one that would be too long.
    """
    try:
        found = unrolled(optimised(program, again=True), _INSTRUCTIONS)
    except Unexpanded as problem:
        raise AgradError("type", f"the page has no code for {problem}") from None
    most = f"a page computes up to {_INSTRUCTIONS} instructions"
    if found is None:
        raise AgradError("limit", f"{most}, and this graph needs more")
    numbers = arranged(optimised(unchecked(found)))
    if len(numbers.steps) > _INSTRUCTIONS:
        raise AgradError("limit", f"{most}; these are {len(numbers.steps)}")
    finite = {"text": "the results of its matrix operations are finite", "read": "number", "size": 1}
    return numbers, [finite] if found.checks else []


def _function(numbers: Program) -> str:
    """The function `run`. Raises AgradError where it cannot be written, or would be too long."""
    language = JavaScript()
    names, body, found = statements(numbers, numbers.inputs, language, "run")
    run = [f"function run({', '.join(names)}) {{", *body, f"return [{','.join(found)}];", "}"]
    text = "\n".join([*language.definitions, *run])
    if len(text) > _LONGEST:
        raise AgradError("limit", f"its code would have {len(text)} characters; a page has up to {_LONGEST}")
    return text


# Layers


def _boxes(folding: Folding) -> list[dict[str, Any]]:
    """Each box with its layers, the last that of the whole."""
    return [
        {
            "id": box.number,
            "label": box.label,
            "kind": box.kind,
            "nodes": sum(1 for _ in nodes_of(box)),
            **drawing([(folding.number(one), node) for one in box.children for node in nodes_of(one)]),
        }
        for box in folding.boxes
    ]


def drawing(inside: Sequence[tuple[int, Node]]) -> dict[str, Any]:
    """The layers of boxes and of lines that pass, and the lines: from where to where, the first pass, and how many.

    `inside`: the nodes, each with the number of its box. The passes of a line have numbers below 0, each one less than
    that before it.
    """
    around = {node.seq: number for number, node in inside}
    edges = dict.fromkeys((around.get(x.seq, here), here) for here, node in inside for x in operands(node))
    layers, lines = layered(list(dict.fromkeys(around.values())), [edge for edge in edges if edge[0] != edge[1]])
    names: dict[Joint, int] = {}
    found = []
    for (start,), *passes, (end,) in chains(lines):
        first = -1 - len(names)
        names |= {joint: first - place for place, joint in enumerate(passes)}
        found.append([start, end, first, len(passes)] if passes else [start, end])
    return {"layers": [[names.get(joint, joint[0]) for joint in layer] for layer in layers if layer], "lines": found}


def _scales(units: Sequence[Unit]) -> list[list[float]]:
    """The factors to SI units and the zeros, of each entry along the last axis."""
    return [[float(x.factor) for x in units], [float(x.zero or 0) for x in units]]


# The page

_MOST = 20_000  # nodes
_FLAT = 300  # nodes that are also laid out without folding


def as_page(graph: GraphRows, precision: int | None, heading: str = "") -> str:
    """A page in HTML that needs nothing else. Raises AgradError of kind `limit` for a graph of too many nodes, of kind
    `unit` for one with derivatives of values in different units.
    """
    if len(graph.wanted) > _MOST:
        message = f"a page shows up to {_MOST} nodes, and this graph has {len(graph.wanted)}"
        raise AgradError("limit", message, fixes=[Hint("show a part of it, with depth or from")])
    data, made = _Page(graph, precision).parts()
    data["heading"] = heading or graph.heading
    text = JSONEncoder(allow_nan=False, separators=(",", ":")).encode(data)
    parts = {
        "title": escape(one_line(data["heading"], 200)),
        "style": _colours() + beside(__file__, "page.css"),
        # No text of a user ends the script that holds the data.
        "data": text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        "code": made.text.replace("</", "< /"),
        "script": beside(__file__, "page.js"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], beside(__file__, "page.html")).rstrip("\n")


def _colours() -> str:
    """The colours of the nodes as variables, and a class of each kind for its sign and its box."""
    light = "".join(f"--{name}: {x.fill}; --{name}-line: {x.line}; " for name, x in LOOKS.items())
    dark = "".join(f"--{name}: {x.dark_fill}; --{name}-line: {x.dark_line}; " for name, x in LOOKS.items())
    signs = [f".sign.{x} {{ fill: var(--{x}-line); color: var(--{x}-line) }}\n" for x in LOOKS]
    dark_rule = f"@media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n"
    return f":root {{ {light}}}\n{dark_rule}{''.join(signs)}"


class _Page:
    """The data of a page under construction."""

    def __init__(self, graph: GraphRows, precision: int | None) -> None:
        self.graph, self.precision = graph, precision
        self.known = graph.numbers  # by `seq`
        self.shown = {node.seq for node in graph.wanted}
        self.walks = walks_from(graph.ends)
        self._begin(not graph.stale and not any(node.freed is not None for node in graph.wanted))

    def _begin(self, has_program: bool) -> None:
        """Begin the data; with a program, values that no node holds are shown, too."""
        self.has_program = has_program
        self.outputs: list[Tensor] = []  # the values that are shown, whose entries are in one list of numbers
        self.count = 0  # of these numbers
        self.units: list[tuple[int, int, Unit]] = []  # where numbers with a unit begin, and how many they are
        self.places: dict[object, list[int]] = {}  # of each value: where its entries begin, and its shape
        self.facts: dict[tuple[str, str], int] = {}  # the texts of `info`, each once

    def at(self, value: Tensor | None, unit: Unit | None) -> list[int] | None:
        """Where the entries of a value begin, and its shape; -1 for more than a few entries."""
        if value is None:
            return None
        shape, size = value.node.shape, size_of(value.node.shape)
        if size > _MOVED or any(length > _MOVED for length in shape):
            return [-1, *shape]
        is_number = not value.node.recorded and isinstance(value.node.value, float)
        # What is passed on unchanged is there once.
        key = repr(value.node.value) if is_number else value.node, unit.text if unit is not None else ""
        if key not in self.places:
            self.places[key] = [self.count, *shape]
            self.units += [(self.count, size, unit)] if unit is not None and key[1] else []
            self.count += size
            self.outputs.append(value)
        return self.places[key]

    def parts(self) -> tuple[dict[str, Any], Code]:
        """The data, and the code that computes its numbers."""
        graph = self.graph
        moved = [node for node in graph.wanted if node.op is None and node.requires_grad]
        leaves = [node for node in moved if 0 < size_of(node.shape) <= _MOVED]
        single = [node for node in leaves if not node.shape]
        nodes, walks = self._shown()
        try:
            if graph.stale:
                raise AgradError("stale", "the graph is stale: forward computes it again")
            made = code(self.outputs, leaves)
            if not made.text and 0 < len(single) < len(leaves):  # with its arrays constant, there may be code
                leaves, made = single, code(self.outputs, single)
        except AgradError as problem:
            self._begin(False)
            nodes, walks = self._shown()
            made = Code(_entries([x.value for x in self.outputs]), [], reason=problem.message)
        for first, size, unit in self.units:
            own = np.reshape(made.numbers[first : first + size], (-1, len(unit.entries or (unit,))))
            made.numbers[first : first + size] = np.ravel(units.quantity.in_unit(own, unit)).tolist()
        data = {
            "name": graph.name,
            "signs": {name: [x.sign, x.said] for name, x in LOOKS.items()},
            "changes": SIGNS,
            "roots": graph.roots,
            "nodes": nodes,
            "facts": list(self.facts),
            "walks": walks,
            "boxes": _boxes(Folding(graph.wanted, self.known, graph.function_of)),
            "flat": drawing([(row["id"], node) for row, node in zip(nodes, graph.wanted, strict=True)])
            if len(nodes) <= _FLAT
            else None,
            "sliders": [self.known[leaf.seq] for leaf in leaves] if made.text else [],
            "reason": made.reason,
            "guards": made.guards,
            "units": [[*at, unit.text, *_scales(unit.entries or (unit,))] for *at, unit in self.units],
            "numbers": [x if isfinite(x) else str(x) for x in made.numbers],
            "guarded": [{"text": guard.text, "parent": guard.parent} for guard in graph.guards],
        }
        return data, made

    def _shown(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The nodes and the walks."""
        pairs = zip(self.graph.wanted, self.graph.rows, strict=True)
        return [self._node(node, row) for node, row in pairs], [self._walk(walk) for walk in self.walks]

    def _node(self, node: Node, row: NodeRow) -> dict[str, Any]:
        """A node; what is usual is left out. Of what `info` says, the page computes the value and the gradient."""
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
            "grad": None if gradient is None else self.at(tensor(gradient), node.grad_unit),
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
            "info": [
                self.facts.setdefault(fact, len(self.facts))
                for fact in self.graph.facts_of(node)
                if fact[0] not in ("value", "grad")
            ],
        }
        return {key: x for key, x in found.items() if x is not None and x is not False and x not in ("", [])}

    def _value(self, node: Node) -> list[int] | None:
        """The place of a value. One that the node does not hold is computed again, unless the graph was freed."""
        root = self.graph.values.get(node)
        value = node.value if node.value is not None or root is None else root.value
        if value is not None or self.has_program:
            return self.at(bare(node) if value is None else bare(node, value), self.graph.unit(node))
        return None

    def _walk(self, walk: Walk) -> dict[str, Any]:
        at, known, unit = self.at, self.known, self.graph.unit
        again = next((place for place, one in enumerate(self.walks) if one.visits is walk.visits), 0)
        found = {
            "root": known[walk.root.seq],
            "refused": self._error(walk.refused),
            "freed": self._error(walk.freed),
            "order": [known[node.seq] for node in walk.order if node.op is not None and node.seq in self.shown],
        }
        if self.walks[again] is not walk and walk.refused is None:
            return {**found, "same": again}
        visits = [
            {
                "node": known[visit.node.seq],
                "in": at(visit.cotangent, unit(visit.node, walk.root)),
                "parts": [
                    [known[x.seq], at(d, unit(x, visit.node)), at(c, unit(x, walk.root))] for x, d, c in visit.parts
                ],
            }
            for visit in walk.visits.values()
            if visit.node.seq in self.shown
        ]
        kept: Any = (node for node in walk.order if node in walk.kept and node.seq in self.shown)  # youngest first
        kept = [[known[node.seq], at(walk.kept[node], unit(node, walk.root))] for node in kept]
        return {**found, "visits": visits, "kept": kept}

    def _error(self, problem: AgradError | None) -> dict[str, Any] | None:
        """An error as the session would show it."""
        if problem is None:
            return None
        self.graph.explain(problem)
        origins = [(label.origin, label.text) for label in problem.labels]
        return {
            "message": problem.message,
            "places": [[*((x.where, x.text) if x else ("", "")), said] for x, said in origins],
            "notes": list(problem.notes),
            "fixes": [str(fix) for fix in problem.fixes],
        }
