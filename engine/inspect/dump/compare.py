"""Two graphs as one: what is the same in both, what has changed, and what only one of them has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from agrad.engine.core.graph import Node, by_seq, collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date
from agrad.engine.errors import AgradError
from agrad.engine.inspect.dump.dump import Dump
from agrad.engine.inspect.dump.graph_rows import HEAD, TAIL, GraphRows
from agrad.engine.inspect.dump.labels import SIGNS, one_line
from agrad.engine.inspect.dump.matching import Matching, matched
from agrad.engine.inspect.dump.node_rows import NodeRow, RowBuilder
from agrad.engine.inspect.dump.slice import operands, selected
from agrad.engine.inspect.nodes import listed

CHANGES = ("same", "changed", "gone", "new")


def compare(
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    names: tuple[Sequence[str], Sequence[str]],
    depth: int | None = None,
    since: Sequence[Tensor] = (),
) -> Comparison:
    """The graphs behind some values and behind some others as one, with its forms; `matching` says what is the same.

    `depth` and `since` select a part, as in `dump`, and raise AgradError as there.
    """
    ends = ([value.node for value in first], [value.node for value in second])
    sides = (listed(*ends[0]), listed(*ends[1]))
    roots = list(dict.fromkeys([*ends[0], *ends[1]]))
    ordered = listed(*roots)
    kept = selected(roots, ordered, depth, since)
    builder = RowBuilder([*first, *second], ordered, ordered, out_of_date(collect(roots)))
    found = matched(*sides, zip(*ends, strict=False))
    return Comparison(names, roots, ordered, kept, builder, found)


class Comparison(Dump):
    """Two graphs as one. A row for a pair is that of the second graph, with the row of the first as `before`."""

    def __init__(
        self,
        names: tuple[Sequence[str], Sequence[str]],
        roots: list[Node],
        ordered: list[Node],
        kept: set[int] | None,
        builder: RowBuilder,
        found: Matching,
    ) -> None:
        super().__init__([*names[0], *names[1]], roots, ordered, ordered, builder)
        self.sides = tuple(", ".join(side) for side in names)
        self.name = " vs ".join(self.sides)
        self.typed = " vs ".join(" ".join(map(one_line, side)) for side in names)
        self.found = found
        self.merged = _merged(found)
        self.numbers: dict[int, int] = {}  # by those of the builder
        for number, some in enumerate(self.merged, 1):
            self.numbers |= {builder.numbers[node.seq]: number for node in some}
        self.roots = list(dict.fromkeys(self.numbers[number] for number in self.roots))
        self.changes = [self._change(some) for some in self.merged]
        self.nodes = len(self.merged)
        self.places = [
            place for place, some in enumerate(self.merged) if kept is None or any(node.seq in kept for node in some)
        ]
        self.wanted = [self.merged[place][-1] for place in self.places]

    def _change(self, some: Sequence[Node]) -> str:
        if len(some) == 2:
            return "same" if self.found.is_unchanged(some[0]) else "changed"
        if some[0] in self.found.pairs:  # a node of both
            return "same"
        return "gone" if some[0].seq in self.found.inside[0] else "new"

    @property
    def rows(self) -> Iterator[NodeRow]:
        """A row for each node of either graph, operands first."""
        return map(self._row, self.places)

    @property
    def shown(self) -> tuple[NodeRow, ...]:
        """All of them, or, of too many, those that differ, and their operands."""
        places = self.places
        if len(places) > HEAD + TAIL:
            near = {place for place in places if self.changes[place] != "same"}
            behind = {number - 1 for place in near for number in self._row(place).behind}
            places = [place for place in places if place in near or place in behind] or places
            places = places if len(places) <= HEAD + TAIL else places[:HEAD] + places[-TAIL:]
        return tuple(map(self._row, places))

    def _row(self, place: int) -> NodeRow:
        some = self.merged[place]
        before = self._renumbered(self.builder.row(some[0])) if len(some) == 2 else None
        return replace(self._renumbered(self.builder.row(some[-1])), change=self.changes[place], before=before)

    def _renumbered(self, row: NodeRow) -> NodeRow:
        """A row with the numbers of the comparison, without what a comparison does not show."""
        return replace(
            row,
            number=self.numbers[row.number],
            operands=tuple(self.numbers[x] if isinstance(x, int) else x for x in row.operands),
            saves=(),
            keeps_grad=False,
        )

    @property
    def heading(self) -> str:
        """`graph of quad vs lin: 4 nodes the same, 1 changed (~), 4 only in quad (-), 1 only in lin (+)`."""
        counts = {change: self.changes.count(change) for change in CHANGES}
        if counts["same"] == self.nodes:
            return f"graph of {one_line(self.name)}: all {self.nodes} nodes are the same"
        said = [f"{counts['same']} {'node' if counts['same'] == 1 else 'nodes'} the same"]
        said += [f"{counts['changed']} changed ({SIGNS['changed']})"] if counts["changed"] else []
        said += [
            f"{counts[change]} only in {one_line(side)} ({SIGNS[change]})"
            for change, side in zip(("gone", "new"), self.sides, strict=True)
            if counts[change]
        ]
        return f"graph of {one_line(self.name)}: {', '.join(said)}"

    def page(self, precision: int | None = 10) -> str:
        """A page of both graphs side by side, in which each node says whether the other has it, too."""
        some = {node for place in self.places for node in self.merged[place]}
        ordered = sorted({node for both in self.merged for node in both}, key=by_seq)
        whole = GraphRows([self.name], self.ends, ordered, [node for node in ordered if node in some], self.builder)
        whole.change_of = {
            node: change for both, change in zip(self.merged, self.changes, strict=True) for node in both
        }
        whole.facts_of, whole.function_of, whole.explain = self.facts_of, self.function_of, self.explain
        from agrad.engine.inspect.page import page  # here: few graphs are pages

        return page.render(whole, precision, self.heading)

    def program(self, precision: int | None = 10) -> str:
        """Two computations are not one: raises AgradError of kind `name`."""
        fixes = [f"graph {self.typed}", f"graph {self.typed.partition(' vs ')[0]} as program"]
        raise AgradError("name", "a comparison of two graphs is not shown as program", fixes=fixes)

    def left_out(self, shown: int) -> list[str]:
        """The line with the number of nodes that are not shown."""
        missing = self.nodes - shown
        if not missing:
            return []
        more = f"; graph {self.typed} as json" if shown < len(self.places) else ""
        return [f"… {missing} {'node' if missing == 1 else 'nodes'} left out{more}"]


def _merged(found: Matching) -> list[tuple[Node, ...]]:
    """Each pair, and each node without a partner, after its operands in both graphs; a node of both stands alone.

    Pairs that would make a circle, such as sin(cos(x)) and cos(sin(x)) crosswise, are taken apart.
    """
    while True:
        groups = [_group(found, other) for other in found.second]
        groups += [(node,) for node in found.first if node not in found.pairs]
        ordered = _in_order(groups, found)
        if len(ordered) == len(groups):
            return ordered
        done = {node for group in ordered for node in group}
        stuck = [group[0] for group in groups if len(group) == 2 and group[0] not in done]
        found.split(next((node for node in stuck if not found.is_unchanged(node)), stuck[0]))


def _group(found: Matching, other: Node) -> tuple[Node, ...]:
    one = found.found.get(other, other)
    return (other,) if one is other else (one, other)


def _in_order(groups: Sequence[tuple[Node, ...]], found: Matching) -> list[tuple[Node, ...]]:
    """The groups, each after those that it is computed from: as far as no circle keeps them from it."""
    place = {node.seq: number for number, group in enumerate(groups) for node in group}
    behind = [
        {place[x.seq] for node in group for x in operands(node) if x.seq in place} - {number}
        for number, group in enumerate(groups)
    ]
    users: dict[int, list[int]] = {}
    for number, some in enumerate(behind):
        for x in some:
            users.setdefault(x, []).append(number)
    ranks = _ranks(groups, place, found)
    waiting = [len(some) for some in behind]
    ready = [(ranks[number], number) for number, count in enumerate(waiting) if not count]
    heapify(ready)
    ordered = []
    while ready:
        _, number = heappop(ready)
        ordered.append(groups[number])
        for user in users.get(number, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, (ranks[user], user))
    return ordered


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
