"""Which nodes of two graphs are the same: what a comparison shows as same, changed, gone and new.

Nodes are paired in this order, each at most once: a node with itself; nodes that are computed by the same operations
from the same leaves (leaves are the same by name and shape, without a name by value); then, of what is left, the
values at the ends, the operands of pairs, nodes of the same name, and nodes that share an operand, if the operation is
the same. A pair is unchanged if its own operation has the same attributes, and its operands are pairs or equal
constants: what is far behind it may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from agrad.engine.core.graph import Node, by_seq
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.inspect.dump import Dump
from agrad.engine.inspect.nodes import listed, operands, selected, through
from agrad.engine.inspect.rows import HEAD, SIGNS, TAIL, NodeRow, ends_of
from agrad.engine.text import counted, one_line
from agrad.engine.values import np


class Matching:
    """The pairs of two graphs: `pairs[first] is second`, and `found[second] is first`."""

    def __init__(self, first: Sequence[Node], second: Sequence[Node]) -> None:
        self.first, self.second = first, second  # oldest first
        self.inside = ({node.seq for node in first}, {node.seq for node in second})
        self.pairs: dict[Node, Node] = {}
        self.found: dict[Node, Node] = {}

    def pair(self, one: Node, other: Node) -> bool:
        """Pair two nodes, if neither has a partner; whether it did."""
        if one in self.pairs or other in self.found:
            return False
        self.pairs[one], self.found[other] = other, one
        return True

    def left(self) -> tuple[list[Node], list[Node]]:
        """The nodes without a partner."""
        ones = [node for node in self.first if node not in self.pairs]
        return ones, [node for node in self.second if node not in self.found]

    def known(self, node: Node, side: int) -> list[Node]:
        """The operands of a node that are nodes of its graph."""
        return [x for x in operands(node) if x.seq in self.inside[side]]

    def is_unchanged(self, one: Node) -> bool:
        """Whether a node differs from its partner in nothing of its own but its value."""
        other = self.pairs[one]
        if one is other:
            return True
        if _own(one) != _own(other) or len(one.inputs) != len(other.inputs):
            return False
        if one.op is None:
            return bool(one.name) or _constant(one.value) == _constant(other.value)
        mine = [self._place(x, 0) for x in one.inputs]
        others = [self._place(x, 1) for x in other.inputs]
        return mine == others or (one.op.commutes and sorted(map(repr, mine)) == sorted(map(repr, others)))

    def _place(self, operand: Any, side: int) -> Hashable:
        """An operand in a form in which those of a pair are equal."""
        operand = through(operand)
        if type(operand) is not Node or operand.seq not in self.inside[side]:
            return _constant(operand.value if type(operand) is Node else operand)
        partner = self.pairs.get(operand) if side == 0 else operand if operand in self.found else None
        return ("node", partner.seq) if partner is not None else ("alone", side, operand.seq)


def matched(first: Sequence[Node], second: Sequence[Node], roots: Iterable[tuple[Node, Node]]) -> Matching:
    """The pairs of two graphs, given oldest first; `roots`: the values at their ends that stand for each other."""
    found = Matching(first, second)
    there = set(second)
    for node in first:
        if node in there:
            found.pair(node, node)
    _pair_equal(found)
    _pair_alike(found, [(one, other) for one, other in roots if _are_alike(one, other)])
    return found


def _pair_equal(found: Matching) -> None:
    """Pair the nodes that are computed by the same operations from the same leaves."""
    keys = _keys(found)
    partners: dict[int, list[Node]] = {}
    for node in found.second:
        if node not in found.found:
            partners.setdefault(keys[1][node.seq], []).append(node)
    for node in reversed(found.first):  # the youngest first, whose operands then follow
        some = () if node in found.pairs else partners.get(keys[0][node.seq], ())
        free = [other for other in some if other not in found.found]
        if not free:
            continue
        text = node.origin.text if node.origin is not None else ""
        likely = [(x.name == node.name, (x.origin.text if x.origin is not None else "") == text, x.seq) for x in free]
        stack = [(node, free[likely.index(max(likely))])]
        while stack:
            one, other = stack.pop()
            if not found.pair(one, other):
                continue
            behind = (found.known(one, 0), found.known(other, 1))
            ordered = (sorted(some, key=lambda x: keys[side][x.seq]) for side, some in enumerate(behind))
            mine, others = ordered if one.op is not None and one.op.commutes else behind
            stack += [(x, y) for x, y in zip(mine, others, strict=False) if keys[0].get(x.seq) == keys[1].get(y.seq)]


def _keys(found: Matching) -> tuple[dict[int, int], dict[int, int]]:
    """For the nodes of both graphs, by `seq`, a number that those have in common which are computed alike."""
    numbers: dict[Hashable, int] = {}
    shared = set(found.pairs)
    keys: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for side, nodes in enumerate((found.first, found.second)):
        counts: dict[Hashable, int] = {}
        for node in nodes:
            if node.op is None:
                key = _leaf(node, counts) if node not in shared else ("shared", node.seq)
            else:
                operands = [_operand(x, keys[side], numbers) for x in node.inputs]
                key = (_own(node), tuple(sorted(operands) if node.op.commutes else operands))
            keys[side][node.seq] = numbers.setdefault(key, len(numbers))
    return keys


def _leaf(node: Node, counts: dict[Hashable, int]) -> Hashable:
    """A leaf by its name, the how manyth of this name and shape it is; without a name, by its value."""
    if not node.name:
        return ("value", node.requires_grad, _constant(node.value))
    key = _own(node)
    counts[key] = counts.get(key, 0) + 1
    return (key, counts[key])


def _operand(operand: Any, keys: Mapping[int, int], numbers: dict[Hashable, int]) -> int:
    operand = through(operand)
    if type(operand) is Node and operand.seq in keys:
        return keys[operand.seq]
    constant = _constant(operand.value if type(operand) is Node else operand)
    return numbers.setdefault(("constant", constant), len(numbers))


def _own(node: Node) -> Hashable:
    """What a node is without its operands."""
    if node.op is None:
        return ("leaf", node.name, node.shape, node.requires_grad)
    return (node.op.name, node.shape, _constant(node.attrs or {}))


def _constant(value: Any) -> Hashable:
    """A constant, or an attribute, in a form that can be compared: arrays by their entries."""
    if isinstance(value, Mapping):
        return tuple((str(word), _constant(item)) for word, item in sorted(value.items(), key=lambda x: str(x[0])))
    if isinstance(value, list | tuple):
        return (len(value), *map(_constant, value))
    if isinstance(value, slice):
        return ("slice", _constant((value.start, value.stop, value.step)))
    if isinstance(value, float | int):
        return ("number", repr(float(value)))  # a nan is equal to itself, and -0 is not 0
    if value is None or isinstance(value, str):
        return ("word", value)
    if isinstance(value, np.ndarray):
        return ("array", value.shape, str(value.dtype), value.tobytes())
    return ("object", id(value))


def _pair_alike(found: Matching, waiting: list[tuple[Node, Node]]) -> None:
    """Pair nodes of the same operation that stand at the same place, have the same name, or share an operand."""
    _pair_down(found, waiting + list(found.pairs.items()))
    ones, others = found.left()
    named = {(other.name, _kind(other)): other for other in others if other.name}
    for one in reversed(ones):
        other = named.get((one.name or "", _kind(one)))
        if other is not None:
            _pair_down(found, [(one, other)])
    ones, others = found.left()
    users: dict[tuple[int, Hashable], list[Node]] = {}
    for other in others:
        for x in found.known(other, 1):
            users.setdefault((x.seq, _kind(other)), []).append(other)
    for one in ones:
        near = (users.get((found.pairs[x].seq, _kind(one)), ()) for x in found.known(one, 0) if x in found.pairs)
        free = (other for some in near for other in some if other not in found.found)
        other = next(free, None)
        if other is not None and one not in found.pairs:
            found.pair(one, other)


def _pair_down(found: Matching, waiting: list[tuple[Node, Node]]) -> None:
    """Pair some nodes, and behind them the operands that are alike."""
    while waiting:
        one, other = waiting.pop()
        if found.pairs.get(one) is not other and not found.pair(one, other):
            continue
        mine = [x for x in found.known(one, 0) if x not in found.pairs]
        others = [x for x in found.known(other, 1) if x not in found.found]
        if len(mine) == len(others) and not (one.op is not None and one.op.commutes):
            waiting += [(x, y) for x, y in zip(mine, others, strict=True) if _are_alike(x, y)]
            continue
        for x in mine:
            y = next((y for y in others if _are_alike(x, y)), None)
            if y is not None:
                others.remove(y)
                waiting.append((x, y))


def _kind(node: Node) -> Hashable:
    return node.op.name if node.op is not None else None


def _are_alike(one: Node, other: Node) -> bool:
    """Whether two nodes may be a pair that has changed: the same operation, or leaves that do not differ in name."""
    return _kind(one) == _kind(other) and (one.op is not None or one.name == other.name)


# The graph of both


class Comparison(Dump):
    """The graphs behind some values and behind some others as one, with its forms; `matched` says what is the same.

    A row for a pair is that of the second graph, with the row of the first as `before`. `depth` and `since` select a
    part, as in `dump`, and raise AgradError as there.
    """

    def __init__(
        self,
        first: Sequence[Tensor],
        second: Sequence[Tensor],
        names: tuple[Sequence[str], Sequence[str]],
        depth: int | None = None,
        since: Sequence[Tensor] = (),
    ) -> None:
        ends = ([value.node for value in first], [value.node for value in second])
        roots = list(dict.fromkeys([*ends[0], *ends[1]]))
        ordered = listed(*roots)
        kept = selected(roots, ordered, depth, since)
        super().__init__([*names[0], *names[1]], [*first, *second], ordered, ordered)
        self.found = found = matched(listed(*ends[0]), listed(*ends[1]), zip(*ends, strict=False))
        self.sides = tuple(", ".join(side) for side in names)
        self.name = " vs ".join(self.sides)
        self.typed = " vs ".join(" ".join(map(one_line, side)) for side in names)
        self.merged = _merged(found)
        self.numbers = {node.seq: number for number, some in enumerate(self.merged, 1) for node in some}
        self.roots = list(dict.fromkeys(self.numbers[node.seq] for node in roots))
        self.changes = [self._change(some) for some in self.merged]
        self.nodes = len(self.merged)
        self.kept = [some for some in self.merged if kept is None or any(node.seq in kept for node in some)]
        self.wanted = [some[-1] for some in self.kept]

    def _change(self, some: Sequence[Node]) -> str:
        if len(some) == 2:
            return "same" if self.found.is_unchanged(some[0]) else "changed"
        if some[0] in self.found.pairs:  # a node of both
            return "same"
        return "gone" if some[0].seq in self.found.inside[0] else "new"

    @property
    def shown(self) -> tuple[NodeRow, ...]:
        """All of them, or, of too many, those that differ, and their operands."""
        wanted = self.wanted
        if len(wanted) > HEAD + TAIL:
            rows = [row for row in self.rows if row.change != "same"]
            near = {number for row in rows for number in (row.number, *row.behind)}
            wanted = [node for node in wanted if self.numbers[node.seq] in near] or wanted
        return tuple(map(self.row, ends_of(wanted)))

    def row(self, node: Node) -> NodeRow:
        """A row for a node of either graph, without what a comparison does not show."""
        place = self.numbers[node.seq] - 1
        some, change = self.merged[place], self.changes[place]
        before = super().row(some[0]) if len(some) == 2 else None
        return super().row(some[-1])._replace(change=change, before=before, saves=(), keeps_grad=False)

    @property
    def heading(self) -> str:
        """`graph of quad vs lin: 4 nodes the same, 1 changed (~), 4 only in quad (-), 1 only in lin (+)`."""
        counts = Counter(self.changes)
        if counts["same"] == self.nodes:
            return f"graph of {one_line(self.name)}: all {self.nodes} nodes are the same"
        said = [f"{counted(counts['same'], 'node')} the same"]
        said += [f"{counts['changed']} changed ({SIGNS['changed']})"] if counts["changed"] else []
        said += [
            f"{counts[change]} only in {one_line(side)} ({SIGNS[change]})"
            for change, side in zip(("gone", "new"), self.sides, strict=True)
            if counts[change]
        ]
        return f"graph of {one_line(self.name)}: {', '.join(said)}"

    def page(self, precision: int | None = 10, heading: str = "") -> str:
        """A page of both graphs side by side, in which each node says whether the other has it, too."""
        some = {node for both in self.kept for node in both}
        ordered = sorted({node for both in self.merged for node in both}, key=by_seq)
        whole = Dump([self.name], [*self.values.values()], ordered, [node for node in ordered if node in some])
        whole.change_of = {
            node: change for both, change in zip(self.merged, self.changes, strict=True) for node in both
        }
        whole.facts_of, whole.function_of, whole.explain = self.facts_of, self.function_of, self.explain
        return whole.page(precision, self.heading)

    def program(self, precision: int | None = 10) -> str:
        """Two computations are not one: raises AgradError of kind `name`."""
        fixes = [f"graph {self.typed}", f"graph {self.typed.partition(' vs ')[0]} as program"]
        raise AgradError("name", "a comparison of two graphs is not shown as program", fixes=fixes)


def _merged(found: Matching) -> list[tuple[Node, ...]]:
    """Each pair, and each node without a partner, after its operands in both graphs; a node of both stands alone.

    Pairs that would make a circle, such as sin(cos(x)) and cos(sin(x)) crosswise, are taken apart.
    """
    while True:
        pairs = [(found.found.get(other, other), other) for other in found.second]
        groups: list[tuple[Node, ...]] = [(one, other) if one is not other else (other,) for one, other in pairs]
        groups += [(node,) for node in found.first if node not in found.pairs]
        ordered = _in_order(groups, found)
        if len(ordered) == len(groups):
            return ordered
        done = {node for group in ordered for node in group}
        stuck = [group[0] for group in groups if len(group) == 2 and group[0] not in done]
        apart = next((node for node in stuck if not found.is_unchanged(node)), stuck[0])
        del found.found[found.pairs.pop(apart)]


def _in_order(groups: Sequence[tuple[Node, ...]], found: Matching) -> list[tuple[Node, ...]]:
    """The groups, each after those that it is computed from: as far as no circle keeps them from it."""
    place = {node.seq: number for number, group in enumerate(groups) for node in group}
    behind = {
        number: {place[x.seq] for node in group for x in operands(node) if x.seq in place} - {number}
        for number, group in enumerate(groups)
    }
    ranks, sorter = _ranks(groups, place, found), TopologicalSorter(behind)
    with suppress(CycleError):
        sorter.prepare()
    ready: list[tuple[tuple[int, int, int], int]] = []
    ordered: list[tuple[Node, ...]] = []
    while True:
        for number in sorter.get_ready():
            heappush(ready, (ranks[number], number))
        if not ready:
            return ordered
        _, number = heappop(ready)
        ordered.append(groups[number])
        sorter.done(number)


def _ranks(groups: Sequence[tuple[Node, ...]], place: Mapping[int, int], found: Matching) -> list[tuple[int, int, int]]:
    """By what groups are ordered: as the second graph was made, and what is gone just before what used it."""
    last = max((node.seq for node in found.second), default=0) + 1
    ranks = [(group[-1].seq, 1, 0) if group[-1].seq in found.inside[1] else (last, 0, 0) for group in groups]
    for node in reversed(found.first):
        user = ranks[place[node.seq]]
        for x in operands(node):
            number = place.get(x.seq)
            if number is not None and groups[number][-1].seq not in found.inside[1]:
                ranks[number] = min(ranks[number], (user[0], 0, x.seq))
    return ranks
