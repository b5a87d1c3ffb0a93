"""Which nodes of a graph are one box: those of a function, or of a statement.

A box holds nodes that were made one after the other. So no line leads from a box back into itself by another one, and
a graph of boxes has layers, as one of nodes has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from agrad.engine.core.graph import Node
from agrad.engine.errors import Origin
from agrad.engine.inspect.dump.forms.layers import Joint
from agrad.engine.inspect.dump.labels import one_line
from agrad.engine.inspect.dump.pictures.drawing import layered
from agrad.engine.inspect.dump.slice import operands

MOST = 100  # boxes side by side in another
_LABEL = 40  # characters


@dataclass(slots=True, eq=False)
class Box:
    """A box of nodes and other boxes, each with its number; those of boxes come after those of nodes."""

    number: int
    label: str
    kind: str  # "function", "statement", or "part" of what has too many nodes for one drawing
    children: list[Box | Node] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        """All nodes in it."""
        found: list[Node] = []
        stack: list[Box | Node] = [self]
        while stack:
            one = stack.pop()
            if isinstance(one, Box):
                stack += one.children
            else:
                found.append(one)
        return found


class Folding:
    """The boxes of some nodes, oldest first. `function_of` names the function around a place, if there is one."""

    def __init__(
        self, ordered: Sequence[Node], numbers: dict[int, int], function_of: Callable[[Origin], str | None]
    ) -> None:
        self.numbers, self.function_of = numbers, function_of
        self.next = max(numbers.values(), default=0) + 1
        self.boxes: list[Box] = []
        self.all = ordered
        self.top = self._box("", "whole", self._in_parts(self._runs(ordered)))

    def _box(self, label: str, kind: str, children: list[Box | Node]) -> Box:
        made = Box(self.next, one_line(label, _LABEL), kind, children)
        self.next += 1
        self.boxes.append(made)
        return made

    def _runs(self, ordered: Sequence[Node]) -> list[Box | Node]:
        """Consecutive nodes of one function or statement together; leaves, which anything may use, by themselves."""
        found: list[Box | Node] = [node for node in ordered if node.op is None]
        run: list[Node] = []
        before: tuple[str, str] | None = None
        for node in ordered:
            if node.op is None:
                continue
            key = self._key(node)
            starts_again = run and key[0] == "function" and node.origin == run[0].origin and len(run) > 1
            if run and (key != before or starts_again):
                found.append(self._of_run(run, before))
                run = []
            run.append(node)
            before = key
        return [*found, self._of_run(run, before)] if run else found

    def _key(self, node: Node) -> tuple[str, str]:
        if node.origin is None:
            return "statement", ""
        name = self.function_of(node.origin)
        return ("function", name) if name else ("statement", node.origin.where)

    def _of_run(self, run: list[Node], key: tuple[str, str] | None) -> Box | Node:
        if len(run) == 1 or key is None:
            return run[0]
        kind, label = key
        if kind == "statement":
            named = [node for node in run if node.name]
            label = f"{label}: {named[-1].name} = …" if named else label or "without a source"
        return self._box(label, kind, self._in_parts(list(run)))

    def _in_parts(self, children: list[Box | Node]) -> list[Box | Node]:
        """The same children, or boxes of consecutive ones where they are too many."""
        if len(children) <= MOST:
            return children
        kept = [one for one in children if isinstance(one, Node) and one.op is None and one.requires_grad]
        some = kept if len(kept) <= MOST // 2 else []
        alone = set(some)
        rest = [one for one in children if one not in alone]
        size = max(ceil(len(rest) / (MOST // 2)), 2)
        parts = [rest[start : start + size] for start in range(0, len(rest), size)]
        return [*some, *[self._box(self._span(part), "part", self._in_parts(part)) for part in parts]]

    def _span(self, part: Sequence[Box | Node]) -> str:
        """What a part of too many nodes has: lines of the source, and nodes."""
        nodes = [node for one in part for node in (one.nodes if isinstance(one, Box) else [one])]
        numbers = [self.numbers[node.seq] for node in nodes]
        places = list(dict.fromkeys(node.origin.where for node in nodes if node.origin is not None))
        where = f"{places[0]}{' …' if len(places) > 1 else ''}: " if places else ""
        return f"{where}%{min(numbers)} to %{max(numbers)}"

    def as_data(self) -> list[dict[str, Any]]:
        """Each box with its layers, the last that of the whole."""
        return [
            {
                "id": box.number,
                "label": box.label,
                "kind": box.kind,
                "nodes": len(box.nodes),
                **drawing([self._number(one) for one in box.children], self._edges(box)),
            }
            for box in self.boxes
        ]

    def _number(self, one: Box | Node) -> int:
        return one.number if isinstance(one, Box) else self.numbers[one.seq]

    def _edges(self, box: Box) -> list[tuple[int, int]]:
        """From child to child of a box."""
        around = {
            node.seq: self._number(one)
            for one in box.children
            for node in (one.nodes if isinstance(one, Box) else [one])
        }
        found: Counter[tuple[int, int]] = Counter()
        for one in box.children:
            here = self._number(one)
            for node in one.nodes if isinstance(one, Box) else [one]:
                for x in operands(node):
                    there = around.get(x.seq, here)
                    if there != here:
                        found[there, here] += 1
        return sorted(found)


def drawing(numbers: Sequence[int], edges: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """The layers of boxes and of lines that pass, and the lines: from where to where, the first pass, and how many.

    The passes of a line have numbers below 0, each one less than that before it.
    """
    layers, lines = layered(numbers, edges)
    below: dict[Joint, list[Joint]] = {}
    for upper, lower in lines:
        below.setdefault(upper, []).append(lower)
    names: dict[Joint, int] = {}
    chains = []
    for upper, lower in lines:
        if len(upper) > 1:
            continue
        first, end = -1 - len(names), lower
        while len(end) > 1:
            names[end] = -1 - len(names)
            (end,) = below[end]
        count = first + 1 + len(names)
        chains.append([upper[0], end[0], first, count] if count else [upper[0], end[0]])
    return {
        "layers": [[names.get(joint, joint[0]) for joint in layer] for layer in layers if layer],
        "lines": chains,
    }
