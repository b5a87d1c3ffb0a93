"""The graph behind some values as rows, a row for each node: the source of every form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from agrad.engine.core.graph import Node
from agrad.engine.errors import AgradError, Origin
from agrad.engine.inspect.dump.labels import one_line
from agrad.engine.inspect.dump.node_rows import GuardRow, NodeRow, RowBuilder

HEAD, TAIL = 50, 150  # of a graph with more nodes, a form other than JSON shows so many of the oldest and the youngest


class GraphRows:
    """The graph behind some values, or the part of it that was asked for, as rows.

    Rows are made when a form needs them, since most forms show few of a large graph: use them before it changes.
    """

    width = 80  # columns that a drawing may take

    def __init__(
        self, names: Sequence[str], roots: list[Node], ordered: list[Node], wanted: list[Node], builder: RowBuilder
    ) -> None:
        computed = [node for node in ordered if node.op is not None]
        freed = sum(node.freed is not None for node in computed)
        self.name = ", ".join(names)
        self.typed = " ".join(map(one_line, names))  # as operands of a command
        self.wanted = wanted  # oldest first
        self.ends = list(filter(set(wanted).__contains__, roots))  # the values, as far as they were asked for
        self.roots = [builder.numbers[node.seq] for node in self.ends]
        self.builder = builder
        self.nodes = len(ordered)  # in the whole graph, like all below
        self.leaves = sum(node.op is None and node.requires_grad for node in ordered)  # that require grad
        self.state = "held" if not freed else "freed" if freed == len(computed) else "partly freed"
        self.stale = bool(builder.stale)
        self.change_of: dict[Node, str] = {}  # of a comparison, for a page
        # What a language above knows: all about a node, the function around a place, and the fixes of an error.
        self.facts_of: Callable[[Node], Sequence[tuple[str, str]]] = lambda node: ()
        self.function_of: Callable[[Origin], str | None] = lambda origin: None
        self.explain: Callable[[AgradError], None] = lambda error: None

    @property
    def rows(self) -> Iterator[NodeRow]:
        """A row for each node that was asked for, oldest first."""
        return map(self.builder.row, self.wanted)

    @property
    def shown(self) -> tuple[NodeRow, ...]:
        """Those that a form shows: all, or, of too many, the oldest (the leaves, mostly) and the youngest."""
        few = len(self.wanted) <= HEAD + TAIL
        return tuple(map(self.builder.row, self.wanted if few else self.wanted[:HEAD] + self.wanted[-TAIL:]))

    @property
    def guards(self) -> list[GuardRow]:
        """The guards on which the operations of the graph depend."""
        return list(self.builder.guards)

    @property
    def heading(self) -> str:
        """`graph of d: 4 nodes, 1 leaf, held`."""
        count = f"{_plural(self.nodes, 'node')}, {_plural(self.leaves, 'leaf', 'leaves')}"
        return f"graph of {one_line(self.name)}: {count}, {self.state}{', stale' if self.stale else ''}"

    def left_out(self, shown: int) -> list[str]:
        """The line with the number of nodes that are not shown, and how to show them; none if all are."""
        if shown == self.nodes:
            return []
        name, remedies = self.typed, []
        if len(self.wanted) == self.nodes:
            named = (one_line(x.name) for x in self.wanted if x.op is None and x.requires_grad and x.name)
            remedies = [f"graph {name} depth 5", *(f"graph {name} from {leaf}" for leaf in islice(named, 1))]
        if shown < len(self.wanted):
            remedies.append(f"graph {name} as json")
        said = f"… {_plural(self.nodes - shown, 'node')} left out"
        if not remedies:
            return [said]
        *some, last = remedies
        return [f"{said}; {', '.join(some)}{',' * (len(some) > 1)}{' or ' * bool(some)}{last}"]


def _plural(count: int, word: str, many: str | None = None) -> str:
    return f"{count} {word if count == 1 else many or word + 's'}"
