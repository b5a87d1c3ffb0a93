"""The graph as data: the nodes behind a value, numbered in the order they were made, and drawn in several forms.

The numbers start at 1 and are the same from run to run, in every form and however little of a graph is shown; a part
that is used twice is listed once. There is one walk, and no form does more than write down what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from agrad.engine.core.graph import Node, collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date
from agrad.engine.inspect.dump.labels import one_line
from agrad.engine.inspect.dump.node_rows import Choice, Line, Writer
from agrad.engine.inspect.dump.slice import among

HEAD, TAIL = 50, 150  # of a graph with more nodes, a form other than JSON shows so many of the oldest and the youngest


class Dump:
    """The graph behind one value, or the part of it that was asked for.

    Lines are written when a form asks for them, since most forms show few of a large graph: ask before it changes.
    """

    width = 80  # columns that a drawing may take

    def __init__(self, name: str, ordered: list[Node], wanted: list[Node], writer: Writer) -> None:
        computed = [node for node in ordered if node.op is not None]
        freed = sum(node.freed is not None for node in computed)
        self.name = name
        self.wanted = wanted  # oldest first; the value itself is the last
        self.writer = writer
        self.nodes = len(ordered)  # in the whole graph, like all below
        self.leaves = sum(node.op is None and node.requires_grad for node in ordered)  # that require grad
        self.state = "held" if not freed else "freed" if freed == len(computed) else "partly freed"
        self.stale = bool(writer.stale)

    @property
    def lines(self) -> Iterator[Line]:
        """A line for each node that was asked for, oldest first."""
        return map(self.writer.line, self.wanted)

    @property
    def shown(self) -> tuple[Line, ...]:
        """Those that a form shows: all, or, of too many, the oldest (the leaves, mostly) and the youngest."""
        few = len(self.wanted) <= HEAD + TAIL
        return tuple(map(self.writer.line, self.wanted if few else self.wanted[:HEAD] + self.wanted[-TAIL:]))

    @property
    def choices(self) -> list[Choice]:
        """What decided which operations there are."""
        return list(self.writer.choices)

    @property
    def heading(self) -> str:
        """`graph of d: 4 nodes, 1 leaf, held`."""
        count = f"{_plural(self.nodes, 'node')}, {_plural(self.leaves, 'leaf', 'leaves')}"
        return f"graph of {one_line(self.name)}: {count}, {self.state}{', stale' if self.stale else ''}"

    def left_out(self, shown: int) -> list[str]:
        """The line that says how many nodes are not among the shown, and how to see them; none where all are."""
        if shown == self.nodes:
            return []
        name, remedies = one_line(self.name), []
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

    # A form is loaded when someone asks for it: a calculation should not wait for drawings.

    def text(self, precision: int | None = 10) -> str:
        """A heading and a line per node, in columns."""
        from agrad.engine.inspect.dump.forms.text import table

        return table(self, precision)

    def tree(self, precision: int | None = 10) -> str:
        """The value at the top, and below each node, indented, what it was computed from."""
        from agrad.engine.inspect.dump.forms.tree import tree

        return tree(self, precision)

    def dot(self, precision: int | None = 10) -> str:
        """A digraph in Graphviz's language, with edges from operand to result."""
        from agrad.engine.inspect.dump.forms.dot import dot

        return dot(self, precision)

    def mermaid(self, precision: int | None = 10) -> str:
        """A flowchart in Mermaid's language, as Markdown pages on the web draw it."""
        from agrad.engine.inspect.dump.forms.mermaid import mermaid

        return mermaid(self, precision)

    def boxes(self, precision: int | None = 10) -> str:
        """Boxes and lines, each value below what it was computed from; text where that does not fit the width."""
        from agrad.engine.inspect.dump.forms.boxes import boxes

        return boxes(self, precision)

    def program(self, precision: int | None = 10) -> str:
        """What computes the value, in a straight line of instructions. AgradError where a part of the graph is gone."""
        from agrad.engine.inspect.dump.forms.program import program

        return program(self, HEAD, TAIL, precision)

    def svg(self, precision: int | None = 10) -> str:
        """A picture, as programs that show pages of the web draw it. Needs the extra `plot`."""
        from agrad.engine.inspect.dump.forms.svg import svg

        return svg(self, precision)

    def json(self) -> str:
        """One object, in full precision, with every node that was asked for: see `record`."""
        from agrad.engine.inspect.dump.forms.json import record

        return record(self)


FORMATS: dict[str, Callable[[Dump, int | None], str]] = {
    "text": Dump.text,
    "tree": Dump.tree,
    "boxes": Dump.boxes,
    "dot": Dump.dot,
    "mermaid": Dump.mermaid,
    "program": Dump.program,
    "svg": Dump.svg,
    "json": lambda dump, precision: dump.json(),
}


def dump(root: Tensor, name: str | None = None, depth: int | None = None, since: Sequence[Tensor] = ()) -> Dump:
    """The graph behind a value, constants with a name or more than one entry included.

    With `depth`, only the nodes at most so many operations behind the value; with `since`, only those on a path from
    these to the value, and what they were computed from. Raises AgradError of kind `type` or `domain` for a depth
    that is none, and of kind `grad` where no path leads from one of `since` to the value.
    """
    recorded = collect([root.node])
    ordered = sorted([*recorded, *_constants(recorded)], key=lambda node: node.seq)
    kept = among(root.node, ordered, depth, since)
    wanted = ordered if kept is None else [node for node in ordered if node.seq in kept]
    return Dump(name or root.node.spell(), ordered, wanted, Writer(root, ordered, wanted, out_of_date(recorded)))


def _constants(nodes: list[Node]) -> list[Node]:
    """The constants among the operands that get a line of their own.

    A freed node knows its constants no longer, only that there were some; one that others still hold is listed once.
    """
    found: dict[int, Node] = {}
    for node in nodes:
        for operand in node.inputs:
            if type(operand) is not Node or operand.recorded or not (operand.shape or operand.name):
                continue
            if operand.seq < node.seq and (operand.seq not in found or found[operand.seq].value is None):
                found[operand.seq] = operand
    return list(found.values())


def _plural(count: int, word: str, many: str | None = None) -> str:
    return f"{count} {word if count == 1 else many or word + 's'}"
