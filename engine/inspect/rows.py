"""The model of a graph that every form shows: the nodes behind some values as plain data, a row for each.

A row has no references into the graph, and the numbers of its nodes start at 1, the same from run to run, in every
form and for every part of a graph. Below the model is what the forms share: the label of a node, remarks on its state,
the lines for guards, and the edges of a picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from agrad.engine import units
from agrad.engine.core.graph import Node, collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date
from agrad.engine.errors import AgradError, Origin
from agrad.engine.inspect.colours import LOOKS
from agrad.engine.inspect.nodes import through
from agrad.engine.text import counted, one_line, truncate
from agrad.engine.values import Shape, Value, format_shape, format_short, format_value, shape_of, size_of

if TYPE_CHECKING:
    from agrad.engine.core.graph import Guard
    from agrad.engine.units.unit import Unit

FEW = 8  # an array of so many entries is shown
HEAD, TAIL = 50, 150  # of a graph with more nodes, a form other than JSON shows so many of the oldest and the youngest
_LONG = 400  # characters of a source text
_GUARDS = 20  # so many are listed

# What a comparison of two graphs writes before a node; only the first of them has what is gone.
SIGNS = {"changed": "~", "gone": "-", "new": "+"}
# And in what colours pictures fill its box.
FILLS = {"changed": "#fff3c4", "gone": "#ffdcd7", "new": "#d5f5dc"}


class ValueSummary(NamedTuple):
    """The description of a value in a dump: its shape, and its entries if they are few."""

    shape: Shape
    value: Value | None  # None where there are more than a few entries, or where it is gone
    unit: str = ""

    def text(self, precision: int | None = 10, width: int | None = None) -> str:
        """The entries on one line, or the shape; where they take more than `width` columns, those at the ends."""
        if self.value is None:
            return format_shape(self.shape)
        if width is None:
            text = " ".join(format_value(self.value, precision).split())
        else:
            text = format_short(self.value, precision, width - len(self.unit) - bool(self.unit))
        return f"{text} {self.unit}".rstrip()


class GuardRow(NamedTuple):
    """A guard that the graph depends on, with its outcome, and the guard before it."""

    text: str  # x > 0 is true, line 3
    stamp: int  # when it was made: a loop repeats the same guard
    parent: int | None  # its place among the guards


class NodeRow(NamedTuple):
    """One node: its name, its operation and operands, and the state it is in."""

    number: int
    name: str | None
    origin: Origin | None
    title: str
    shape: Shape
    operands: tuple[int | ValueSummary, ...]  # numbers of nodes, and plain constants
    saves: tuple[int, ...]  # the nodes whose values its rules read; of a freed node: read
    value: ValueSummary | None  # None where the node holds none
    leaf: bool
    requires_grad: bool
    keeps_grad: bool
    gradient: ValueSummary | None
    version: int  # how often it was written to in place
    written_by: str | None
    freed_by: str | None  # None where it is held
    stale: bool
    guard: int | None  # the last guard before it, by its place among the guards
    result: bool = False  # one of the values whose graph it is
    change: str = ""  # in a comparison of two graphs: same, changed, gone or new
    before: NodeRow | None = None  # the same node in the first of them

    @property
    def behind(self) -> tuple[int, ...]:
        """The nodes that it is computed from, and in a comparison those that only `before` is computed from."""
        here = tuple(x for x in self.operands if isinstance(x, int))
        if self.before is None:
            return here
        return here + tuple(x for x in self.before.operands if isinstance(x, int) and x not in here)

    def change_of(self, operand: int) -> str:
        """In a comparison: whether it is computed from a node in both graphs, or in one of them."""
        if self.change in ("new", "gone", "") or self.before is None:
            return self.change
        here, there = operand in self.operands, operand in self.before.operands
        return "same" if here and there else "new" if here else "gone"

    @property
    def freed(self) -> bool:
        """Whether the values that its rules need have been freed."""
        return self.freed_by is not None

    @property
    def kind(self) -> str:
        """What it is in pictures: see LOOKS."""
        if self.result and not self.leaf:
            return "result"
        if not self.requires_grad:
            return "constant"
        return "leaf" if self.leaf else "freed" if self.freed else "saved" if self.saves else "operation"

    @property
    def text(self) -> str:
        """Its source text, or `Mul(%1, 2)` if none is known; nothing for a leaf.

        A long one is cut: a sum of many terms has a node for each, and all texts together would be enormous.
        """
        if self.leaf:
            return ""
        if self.origin:
            return truncate(self.origin.text, _LONG, "middle")
        return f"{self.title}({', '.join(elided(self.operands))})"

    @property
    def where(self) -> str | None:
        """The place where it was made, such as `line 3`."""
        return self.origin.where if self.origin else None


# What JSON has of a node as a row has it.
STATE = "leaf requires_grad keeps_grad saves version written_by freed freed_by stale guard".split()


def elided(operands: tuple[int | ValueSummary, ...]) -> list[str]:
    """Numbers and constants in words; if many, the first three and the last."""
    some = operands if len(operands) <= FEW else (*operands[:3], *operands[-1:])
    words = [f"%{x}" if isinstance(x, int) else format_shape(x.shape) if x.shape else x.text() for x in some]
    return words if len(words) == len(operands) else [*words[:3], "…", *words[3:]]


def summary(value: Value, unit: Unit | None = None) -> ValueSummary:
    """A value in its unit, with a copy of its entries, if they are few."""
    shape = shape_of(value)
    few = size_of(shape) <= FEW and all(length <= FEW for length in shape)
    if not few or unit is None:
        return ValueSummary(shape, (value if isinstance(value, float) else value.copy()) if few else None)
    return ValueSummary(shape, units.quantity.in_unit(value, unit), unit.text)


def _in_words(by: Any) -> str:
    """What caused a change: a statement by its place, or a phrase."""
    return by if isinstance(by, str) else str(by.where)


class Outline(NamedTuple):
    """What a picture shows: `edges` from operand to result, each with its number, and the words above and below.

    `behind` and `before`: the nodes with operands, or users, that are not shown. Every node leads to a root, so another
    node without shown users has one that is left out.
    """

    nodes: tuple[NodeRow, ...]
    edges: dict[tuple[int, int], int]
    behind: list[int]
    before: list[int]
    caption: list[str]
    left_out: list[str]


class GraphRows:
    """The graph behind some values, or the part of it that was asked for, as rows.

    Rows are made when a form needs them, since most forms show few of a large graph: use them before it changes.
    """

    width = 80  # columns that a drawing may take
    opened: Sequence[str] = ()  # the names of boxes of a picture that are open; `all` are all
    gradients = False  # whether a picture has gradients on its edges
    sides: tuple[str, ...] = ()  # the names of two graphs that are compared

    def __init__(
        self, names: Sequence[str], values: Sequence[Tensor], ordered: Sequence[Node], wanted: Sequence[Node]
    ) -> None:
        computed = [node for node in ordered if node.op is not None]
        freed = sum(node.freed is not None for node in computed)
        self.values = {value.node: value for value in values}  # of the roots, which need not be in their nodes
        self.numbers = {node.seq: number for number, node in enumerate(ordered, 1)}  # a freed constant keeps its `seq`
        self.unit = units.asker()  # of a node, or of the derivative of another by it
        self.stale = out_of_date(collect(self.values))
        self.name = ", ".join(names)
        self.typed = " ".join(map(one_line, names))  # as operands of a command
        self.wanted = list(wanted)  # oldest first
        self.ends = list(filter(set(wanted).__contains__, self.values))  # the values, as far as they were asked for
        self.roots = [self.numbers[node.seq] for node in self.ends]
        self.guards: dict[GuardRow, int] = {}  # on which the wanted nodes depend, each with its place, oldest first
        self.places: dict[int, int] = {}  # the same by the identity of the guard: several may be equal
        for node in wanted:
            self._list(node.guard)
        self.nodes = len(ordered)  # in the whole graph, like all below
        self.leaves = sum(node.op is None and node.requires_grad for node in ordered)  # that require grad
        self.state = "held" if not freed else "freed" if freed == len(computed) else "partly freed"
        self.change_of: dict[Node, str] = {}  # of a comparison, for a page
        # What a language above knows: all about a node, the function around a place, and the fixes of an error.
        self.facts_of: Callable[[Node], Sequence[tuple[str, str]]] = lambda node: ()
        self.function_of: Callable[[Origin], str | None] = lambda origin: None
        self.explain: Callable[[AgradError], None] = lambda error: None

    def row(self, node: Node) -> NodeRow:
        """Everything about one node."""
        value = self.values[node].value if node in self.values else node.value
        gradient = None if node.grad is None or node.grad.value is None else node.grad.value.value
        computed, written = node.op is not None, node.storage if node.storage and node.storage.version else None
        return NodeRow(
            number=self.numbers[node.seq],
            name=node.name,
            origin=node.origin,
            title=node.title if computed else "leaf" if node.requires_grad else "constant",
            shape=node.shape,
            operands=tuple([self._operand(through(x), node) for x in node.inputs]),
            saves=self._saves(node) if computed and node.requires_grad else (),
            value=None if value is None else summary(value, self.unit(node)),
            leaf=not computed,
            requires_grad=node.requires_grad,
            keeps_grad=node.keeps_grad,
            gradient=None if gradient is None else summary(gradient, node.grad_unit),
            version=written.version if written else 0,
            written_by=_in_words(written.by) if written else None,
            freed_by=None if node.freed is None else _in_words(node.freed),
            stale=node in self.stale,
            guard=self.places.get(id(node.guard)),
            result=node in self.values,
        )

    def _operand(self, operand: Any, node: Node) -> int | ValueSummary:
        """The number of a node; a constant by itself."""
        if type(operand) is not Node:
            return summary(operand)
        number = self.numbers.get(operand.seq)
        if number is None or operand.seq > node.seq:  # the remains of a plain array are younger than its user
            return ValueSummary(operand.shape, operand.value if type(operand.value) is float else None)
        return number

    def _saves(self, node: Node) -> tuple[int, ...]:
        """Which nodes the rules read, in the order of the operands; the node itself where they read the result."""
        reads, reads_result = node.reads()
        read = compress((*map(through, node.inputs), node), (*reads, reads_result))
        return tuple([self.numbers[x.seq] for x in read if type(x) is Node and x.seq in self.numbers])

    def _list(self, guard: Guard | None) -> None:
        """Add a guard and those before it, except those whose outcome cannot change any more."""
        chain, parent = [], None
        while guard is not None:
            if id(guard) in self.places:
                parent = self.places[id(guard)]
                break
            chain.append(guard)
            guard = guard.parent
        for guard in reversed(chain):
            if guard.is_open:
                parent = self.guards.setdefault(GuardRow(guard.text, guard.stamp, parent), len(self.guards))
            if parent is not None:
                self.places[id(guard)] = parent

    @property
    def rows(self) -> Iterator[NodeRow]:
        """A row for each node that was asked for, oldest first."""
        return map(self.row, self.wanted)

    @property
    def shown(self) -> tuple[NodeRow, ...]:
        """Those that a form shows: all, or, of too many, the oldest (the leaves, mostly) and the youngest."""
        return tuple(map(self.row, ends_of(self.wanted)))

    @property
    def heading(self) -> str:
        """`graph of d: 4 nodes, 1 leaf, held`."""
        leaves = f"{self.leaves} {'leaf' if self.leaves == 1 else 'leaves'}"
        found = f"{counted(self.nodes, 'node')}, {leaves}, {self.state}{', stale' if self.stale else ''}"
        return f"graph of {one_line(self.name)}: {found}"

    def guard_lines(self) -> list[str]:
        """`guards: x > 0 is true, line 3`, and the others below it; the same again in a loop is listed once."""
        said = list(dict.fromkeys(guard.text for guard in self.guards))
        texts = [one_line(text) for text in said[:_GUARDS]]
        if len(said) > _GUARDS:
            texts.append(f"… {len(said) - _GUARDS} more")
        return [f"{'        ' if position else 'guards: '}{text}" for position, text in enumerate(texts)]

    def outline(self) -> Outline:
        """The nodes and the edges of a picture, with its caption."""
        shown = self.shown
        there = {node.number for node in shown}
        found = dict(Counter((x, node.number) for node in shown for x in node.behind if x in there))
        behind = [node.number for node in shown if not there.issuperset(node.behind)]
        before = sorted(there.difference((operand for operand, _ in found), self.roots))
        kinds = {node.kind for node in shown}
        signs = "   ".join(f"{look.sign} {look.said}" for name, look in LOOKS.items() if name in kinds)
        caption = [one_line(self.heading, 200), *self.guard_lines(), signs]
        return Outline(shown, found, behind, before, caption, self.left_out(len(shown)))

    def left_out(self, shown: int) -> list[str]:
        """The line with the number of nodes that are not shown, and how to show them; none if all are."""
        if shown == self.nodes:
            return []
        name, remedies = self.typed, []
        if len(self.wanted) == self.nodes and not self.sides:
            named = (one_line(x.name) for x in self.wanted if x.op is None and x.requires_grad and x.name)
            remedies = [f"graph {name} depth 5", *(f"graph {name} from {leaf}" for leaf in islice(named, 1))]
        if shown < len(self.wanted):
            remedies.append(f"graph {name} as json")
        said = f"… {counted(self.nodes - shown, 'node')} left out"
        if not remedies:
            return [said]
        *some, last = remedies
        return [f"{said}; {', '.join(some)}{',' * (len(some) > 1)}{' or ' * bool(some)}{last}"]


def ends_of(nodes: list[Node]) -> list[Node]:
    """All of some nodes, or, of too many, the first and the last."""
    return nodes if len(nodes) <= HEAD + TAIL else nodes[:HEAD] + nodes[-TAIL:]


def name_and_text(node: NodeRow) -> str:
    """`b = a**2`, or the half of it that is known; on one line, cut in the middle if it is long."""
    text = node.text
    return one_line(f"{node.name} = {text}" if node.name and text else node.name or text)


def numbered(node: NodeRow) -> str:
    """`%3`, with a sign in a comparison: `+ %3`."""
    sign = SIGNS.get(node.change)
    return f"{sign} %{node.number}" if sign else f"%{node.number}"


def valued(node: NodeRow, precision: int | None, width: int | None = None) -> str:
    """`= 3`, or in a comparison with another value `= 3, was 2`; nothing where there are more than a few entries."""
    if node.value is None or node.value.value is None:
        return ""
    here = f"= {node.value.text(precision, width and width - 2)}"
    if node.before is None or node.before.value is None or node.before.value.value is None:
        return here
    if node.before.value.text(precision) == node.value.text(precision):
        return here
    half = width and (width - len("= , was ")) // 2
    return f"= {node.value.text(precision, half)}, was {node.before.value.text(precision, half)}"


def remarks(node: NodeRow, precision: int | None, width: int | None = None) -> list[str]:
    """The value of a scalar (with a width, also of a small array), and the state of a node."""
    was = name_and_text(node.before) if node.change == "changed" and node.before is not None else ""
    saves = " ".join(elided(node.saves))
    if node.freed_by is not None:
        kept = f"freed by {node.freed_by}" + f", took {saves}" * bool(saves)
    else:
        kept = f"saves {saves}" if saves else ""
    found = (
        valued(node, precision, width) if width or not node.shape else "",
        f"was {was}" if was else "",
        "requires grad" if node.leaf and node.requires_grad else "",
        "no grad" if not node.leaf and not node.requires_grad else "",
        kept,
        f"version {node.version}" if node.version else "",
        "stale" if node.stale else "",
        "retained" if node.keeps_grad and not node.leaf else "",
        gradient_text(node, precision, width) if node.keeps_grad else "",
    )
    return [text for text in found if text]


def gradient_text(node: NodeRow, precision: int | None, width: int | None = None) -> str:
    """`grad 12`, or `grad none`."""
    return f"grad {node.gradient.text(precision, width and width - 5) if node.gradient else 'none'}"


def cells(node: NodeRow, precision: int | None) -> tuple[str, str, str, str]:
    """The columns of a row: its name and source text, the operation, the shape, and the remarks."""
    return name_and_text(node), node.title, format_shape(node.shape), "   ".join(remarks(node, precision))


_WIDEST = 60  # columns of a value in a box


def box_lines(node: NodeRow, precision: int | None, width: int = _WIDEST) -> list[str]:
    """The lines of text in a box of a drawing, with the signs of LOOKS; values take at most `width` columns."""
    head = f"{LOOKS[node.kind].sign} {numbered(node)} {name_and_text(node)}".rstrip()
    what = f"{node.title} {format_shape(node.shape) if node.shape else ''}".rstrip()
    told = [text for text in remarks(node, precision, width) if text not in ("requires grad", "no grad", "grad none")]
    if told and told[0].startswith("= ") and len(what) + 1 + len(told[0]) <= width:
        what = f"{what} {told.pop(0)}"
    signed = {"saves ": LOOKS["saved"].sign, "freed ": LOOKS["freed"].sign}
    return [head, what, *(f"{signed[text[:6]]} {text}" if text[:6] in signed else text for text in told)]
