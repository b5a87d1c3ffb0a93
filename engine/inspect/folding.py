"""Which nodes of a graph are one box: those of a call of a function or a class, of a statement, of an expression.

What opens: a box of a function has one for each expression of it that made several nodes, such as a layer of a network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from re import findall

from agrad.engine.core.graph import Node
from agrad.engine.errors import Origin
from agrad.engine.inspect.nodes import operands
from agrad.engine.text import one_line

MOST = 100  # boxes side by side in another
_LABEL = 40  # characters


@dataclass(slots=True, eq=False)
class Fold:
    """A box of nodes and other boxes, each with its number; those of boxes come after those of nodes."""

    number: int
    label: str
    kind: str  # "function", "statement", "expression", or "part" of what has too many nodes for one drawing
    children: list[Fold | Node]

    @property
    def name(self) -> str:
        """By what it is opened: what a statement computes, else its label."""
        return self.label.rpartition(": ")[2].removesuffix(" = …")


def nodes_of(one: Fold | Node) -> Iterator[Node]:
    """A node, or all nodes in a box."""
    if isinstance(one, Node):
        yield one
    else:
        for child in one.children:
            yield from nodes_of(child)


class Folding:
    """The boxes of some nodes, oldest first: those of a function, or of a statement, are one box.

    A box holds nodes that were made one after the other. So no line leads from a box back into itself by another one,
    and a graph of boxes has layers, as one of nodes has. `function_of` names the function around a place, if any;
    `most` boxes are side by side in another.
    """

    def __init__(
        self,
        ordered: Sequence[Node],
        numbers: dict[int, int],
        function_of: Callable[[Origin], str | None],
        most: int = MOST,
    ) -> None:
        self.numbers, self.function_of, self.most = numbers, function_of, most
        self.next = max(numbers.values(), default=0) + 1
        self.boxes: list[Fold] = []
        self.whole = self._box("", "whole", self._in_parts(self._runs(ordered)))

    def number(self, one: Fold | Node) -> int:
        """The number of a box, or of a node."""
        return one.number if isinstance(one, Fold) else self.numbers[one.seq]

    def _box(self, label: str, kind: str, children: list[Fold | Node]) -> Fold:
        made = Fold(self.next, one_line(label, _LABEL), kind, children)
        self.next += 1
        self.boxes.append(made)
        return made

    def _runs(self, ordered: Sequence[Node]) -> list[Fold | Node]:
        """Consecutive nodes of one function or statement together; leaves, which anything may use, by themselves."""
        runs: list[list[Node]] = []
        before = None
        for node in ordered:
            if node.op is None:
                continue
            key = self._key(node)
            starts_again = (
                key[0] == "function" and key == before and runs[-1][-1].origin != node.origin == runs[-1][0].origin
            )
            if key != before or starts_again:
                runs.append([])
            runs[-1].append(node)
            before = key
        return self._with_parameters([node for node in ordered if node.op is None], [*map(self._of_run, runs)])

    def _key(self, node: Node) -> tuple[str, str]:
        if node.origin is None:
            return "statement", ""
        name = self.function_of(node.origin)
        return ("function", name) if name else ("statement", node.origin.where)

    def _of_run(self, run: list[Node]) -> Fold | Node:
        if len(run) == 1:
            return run[0]
        kind, label = self._key(run[0])
        return self._of_statement(run) if kind == "statement" else self._box(label, kind, self._groups(run, _where))

    def _of_statement(self, run: list[Node]) -> Fold:
        """Nodes of one statement or expression."""
        names, where, text = [node.name for node in run if node.name], _where(run[0]), _text(run[-1])
        label = f"{where}: {names[-1]} = …" if names else text or where or "without a source"
        if all(node.origin == run[0].origin for node in run):
            return self._box(label, "expression", self._in_parts([*run]))
        return self._box(label, "statement", self._groups(run, lambda node: node.origin))

    def _groups(self, run: list[Node], key: Callable[[Node], object]) -> list[Fold | Node]:
        """Consecutive nodes of one statement or expression together, such as those of a call of a module."""
        groups = [[*group] for _, group in groupby(run, key)]
        if len(groups) == 1:
            return self._in_parts([*run])
        return self._in_parts([group[0] if len(group) == 1 else self._of_statement(group) for group in groups])

    def _with_parameters(self, leaves: Sequence[Node], made: list[Fold | Node]) -> list[Fold | Node]:
        """Leaves are alone; what only one expression uses, and its text does not name, is in its box.

        So the parameters of a module are in the box of its call.
        """
        users: dict[int, set[Fold | None]] = {}
        for box, node in [*_innermost(made, None)]:
            for operand in operands(node):
                users.setdefault(operand.seq, set()).add(box)
        alone: list[Fold | Node] = []
        for leaf in leaves:
            only = next(iter(users[leaf.seq])) if len(users.get(leaf.seq, ())) == 1 and leaf.requires_grad else None
            text = _text([*nodes_of(only)][-1]) if only is not None and only.kind == "expression" else ""
            if only is None or not text or not leaf.name or leaf.name in findall(r"[\w.]+", text):
                alone.append(leaf)
            else:
                only.children.insert(sum(x in leaves for x in only.children), leaf)
        return [*alone, *made]

    def _in_parts(self, children: list[Fold | Node]) -> list[Fold | Node]:
        """The same children, or boxes of consecutive ones where they are too many."""
        if len(children) <= self.most:
            return children
        kept = [one for one in children if isinstance(one, Node) and one.op is None and one.requires_grad]
        some = kept if len(kept) <= self.most // 2 else []
        alone = set(some)
        rest = [one for one in children if one not in alone]
        size = max(ceil(len(rest) / (self.most // 2)), 2)
        parts = [rest[start : start + size] for start in range(0, len(rest), size)]
        return [*some, *[self._box(self._span(part), "part", self._in_parts(part)) for part in parts]]

    def _span(self, part: Sequence[Fold | Node]) -> str:
        """What a part of too many nodes has: lines of the source, and nodes."""
        nodes = [node for one in part for node in nodes_of(one)]
        numbers = [self.numbers[node.seq] for node in nodes]
        places = list(dict.fromkeys(node.origin.where for node in nodes if node.origin is not None))
        where = f"{places[0]}{' …' if len(places) > 1 else ''}: " if places else ""
        return f"{where}%{min(numbers)} to %{max(numbers)}"


def _where(node: Node) -> str:
    return node.origin.where if node.origin else ""


def _text(node: Node) -> str:
    return node.origin.text if node.origin else ""


def _innermost(some: Sequence[Fold | Node], around: Fold | None) -> Iterator[tuple[Fold | None, Node]]:
    """The nodes in some boxes, each with the smallest box around it."""
    for one in some:
        if isinstance(one, Fold):
            yield from _innermost(one.children, one)
        else:
            yield around, one
