"""Backward passes that are watched: as a table, and for a page; and the derivative of one node by one operand.

The table has the gradient that each node received, and what it contributed to each operand:

    node            operation  gradient                  operand  derivative            contribution
    %4 d = mean(c)  Mean       1                         c        0.25 each             [0.25, 0.25, 0.25, 0.25]
    %3 c = b*2      Mul        [0.25, 0.25, 0.25, 0.25]  b        2 each                [0.5, 0.5, 0.5, 0.5]
    %2 b = a**2     Pow        [0.5, 0.5, 0.5, 0.5]      a        [0.2, 0.4, 0.6, 0.8]  [0.1, 0.2, 0.3, 0.4]
    a.grad += [0.1, 0.2, 0.3, 0.4]

The derivative is that of the node by this operand; it is left out if it would be a matrix. The numbers are those of the
dump of the value. Where the table is too wide, each contribution is a line below its node:

    %3 c = b*2
      Mul, gradient [0.25, 0.25, 0.25, 0.25]
      b += [0.5, 0.5, 0.5, 0.5], derivative 2 each
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.autodiff.backward import seed_of
from agrad.engine.autodiff.reverse import Flight, applied, operand_value, spread_to, walk
from agrad.engine.core.context import scope
from agrad.engine.core.graph import Node, by_seq, reachable
from agrad.engine.core.graph_errors import freed_error, no_grad_error
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.core.versions import walkable
from agrad.engine.errors import AgradError
from agrad.engine.inspect.nodes import numbered
from agrad.engine.inspect.rows import FEW
from agrad.engine.program.trace import recording
from agrad.engine.text import align, display_width, fit, truncate
from agrad.engine.values import Value, format_number, format_shape, format_value, np, size_of, spread, sum_to

LIMIT = 200  # lines
_SMALL = 8  # entries of an array that is shown in full
_FEW = 3  # entries that are shown in full however long they are
_WIDTH = 44  # columns for an array
_NAME = 40  # columns for a source text
_HEAD = ("node", "operation", "gradient", "operand", "derivative", "contribution")


class Rule:
    """The rule of a node for one of its operands, with what it reads; with `graph`, its results have graphs."""

    def __init__(self, node: Node, position: int, graph: bool = False) -> None:
        assert node.op is not None
        self.op, self.node = node.op, node
        self.operand: Any = node.inputs[position]
        self.rule = self.op.rule(position)
        self.values = [operand_value(x, graph) for x in node.inputs]
        self.out: Any = operand_value(node, graph)
        self.attrs = self.op.attributes_at(position, node.attrs)
        self.selects = self.op.selects[position] if self.op.selects else None

    def __call__(self, g: Any) -> Any:
        """What the rule makes of a cotangent."""
        return applied(self.rule, g, self.out, self.values, self.attrs)

    def selection(self) -> Any:
        """The selection mask: 1 where the operand was selected, else 0; 1.0 where all of it is."""
        return 1.0 if self.selects is None else self.selects(self.out, *self.values, **self.attrs)

    def local(self) -> Any:
        """The derivative, if it has no more entries than the node or the operand: the rule applied to 1."""
        shape, pointwise = self.node.shape, self.op.reach == "pointwise"
        if self.rule is None or (shape and (not pointwise or size_of(shape) > FEW)):
            return None
        local = spread_to(self(np.ones(shape) if shape else 1.0), shape or self.operand.shape)
        if self.selects is None:
            return local
        chosen = self.selection()
        if not pointwise and self.operand.shape:
            chosen = OPS["any"].call(chosen)
        return OPS["where"].call(chosen, local, 0.0)


# A pass as a table


class _Row(NamedTuple):
    """One contribution. No `local` derivative is shown if it would be a matrix."""

    node: Node
    operand: Node
    gradient: Value
    local: Value | None
    contribution: Value
    selected: bool

    def cells(self, numbers: dict[int, int], told: Callable[..., str]) -> tuple[str, ...]:
        """The columns; `told` writes a derivative by a node."""
        local = "" if self.local is None else told(self.local, self.operand, self.node, each=True)
        contribution = told(self.contribution, self.operand) if self.selected else "not selected: exactly 0"
        head = stated(self.node, numbers), self.node.title, told(self.gradient, self.node)
        return *head, labelled(self.operand, numbers), local, contribution


class BackwardTrace:
    """Records one backward pass; `text` shows it. With `fresh` the gradients replace those that were there."""

    def __init__(self, fresh: bool = False) -> None:
        self.sign = "=" if fresh else "+="
        self.root: Node | None = None
        self.rows: list[_Row] = []
        self.count = 0
        self.kept = Flight({})  # the sums for the nodes that keep a gradient

    def __call__(self, node: Node, position: int, g: Any, c: Any) -> None:
        """Record one contribution: the cotangent of a node, and what it adds to that of an operand."""
        operand, op = node.inputs[position], node.op
        assert isinstance(operand, Node)
        assert op is not None
        g, c = plain(g), plain(c)  # of a pass that builds a graph
        if self.root is None:
            self.root = node
            if node.keeps_grad:
                self.kept.add(node, spread(g, node.shape), None)
        self.count += 1
        shown = len(self.rows) < LIMIT
        if not shown and not operand.keeps_grad:
            return
        scatters = c is g and op.scatter is not None and bool(operand.shape)
        if scatters and operand.keeps_grad:
            fresh = operand not in self.kept.cotangents
            op.scatter(self.kept.buffer(operand), g, fresh, **(node.attrs or {}))  # type: ignore[misc]
        if scatters and shown:
            c = Rule(node, position)(g)
        if op.reach == "pointwise":
            c = sum_to(spread(c, node.shape), operand.shape)
        if not scatters and operand.keeps_grad:
            self.kept.add(operand, c, None)
        if shown:
            step = Rule(node, position)
            selected = bool(np.any(step.selection()))
            local = plain(step.local()) if selected else None
            self.rows.append(_Row(node, operand, spread(g, node.shape), local, spread(c, operand.shape), selected))

    def text(self, precision: int | None = 10, width: int = 80) -> str:
        """The table, youngest node first, and what was added to which gradient: 200 lines at most.

        Where it is wider than `width`, it is lines below each node.
        """
        if self.root is None:
            return "there is no operation: the value is a leaf, and the seed is its gradient"
        kept = sorted([node for node in reachable(self.root) if node.keeps_grad], key=by_seq)
        leaves = kept[: max(LIMIT // 2, LIMIT - len(self.rows))]
        rows = self.rows[: LIMIT - len(leaves)]
        lines = self._table(rows, precision, width)
        if len(rows) < self.count:
            lines.append(f"… {self.count - len(rows):,} more contributions")
        for node in leaves:
            arrived = spread(self.kept.cotangents.get(node, 0.0), node.shape)
            retained = "   retained" if node.op is not None else ""
            lines.append(f"{named(node)}.grad {self.sign} {self._told(precision)(arrived, node)}{retained}")
        if len(leaves) < len(kept):
            lines.append(f"… {len(kept) - len(leaves):,} more gradients")
        return fit("\n".join(lines), width)

    def _told(self, precision: int | None) -> Callable[..., str]:
        """What writes the derivative of a node by another, or of the root, in its unit."""
        unit_of = units.asker()

        def told(value: Value, by: Node, of: Node | None = None, each: bool = False) -> str:
            unit = unit_of(by, of or self.root)
            text = short(units.quantity.scaled(value, unit), precision, each)
            return f"{text} {unit.text}".rstrip() if unit is not None else text

        return told

    def _table(self, rows: list[_Row], precision: int | None, width: int) -> list[str]:
        """The rows in columns, or below each other; what belongs to a node only in the first of its rows."""
        assert self.root is not None
        numbers = numbered(self.root)
        cells = [row.cells(numbers, self._told(precision)) for row in rows]
        firsts = [row.node is not last for row, last in zip(rows, [None, *(row.node for row in rows)], strict=False)]
        told = zip(cells, firsts, strict=True)
        table = align([_HEAD, *(row if first else ("", "", "", *row[3:]) for row, first in told)])
        if max(map(display_width, table)) <= width:
            return table
        lines = []
        for (node, title, gradient, operand, local, contribution), first in zip(cells, firsts, strict=True):
            if first:
                node = truncate(node, width) if node.startswith("%") else node
                lines += [node, f"  {title}, gradient {gradient}"]
            lines.append(f"  {operand} += {contribution}" + (f", derivative {local}" if local else ""))
        return lines


# Text


def named(node: Node) -> str:
    """A node in a word or two: its name, its source text, its operation."""
    text = node.name or (node.origin.text if node.origin and node.op else "") or (node.title if node.op else "leaf")
    return truncate(text, _NAME)


def labelled(node: Node, numbers: dict[int, int]) -> str:
    """The name of a node, or its number in the dump where it has none."""
    number = numbers.get(node.seq)
    return named(node) if node.name or number is None else f"%{number}"


def stated(node: Node, numbers: dict[int, int]) -> str:
    """The number of a node in the dump, its name, and how it was computed: `%3 b = a**2`."""
    number = numbers.get(node.seq)
    return statement(node) if number is None else f"%{number} {statement(node)}"


def statement(node: Node) -> str:
    """The name of a node and how it was computed: `b = a**2`."""
    text = node.origin.text if node.origin and node.op else ""
    return truncate(f"{node.name} = {text}", _NAME) if node.name and text else named(node)


def short(value: Value, precision: int | None, each: bool = False) -> str:
    """A value in a few words: for a long array the ends and its shape. With `each`, equal entries are shown once."""
    if isinstance(value, float):
        return format_number(value, precision)
    equal = value.size > 1 and bool((value == value.flat[0]).all())
    if value.size <= _SMALL and not (each and equal):
        text = format_value(value, precision).replace("\n", "")
        if len(text) <= _WIDTH or value.size <= _FEW:
            return text
    first, last = (format_number(float(value.flat[place]), precision) for place in (0, -1))
    if equal:
        return f"{first} each" if each else f"{first} each, shape {format_shape(value.shape)}"
    return f"[{first}, …, {last}], shape {format_shape(value.shape)}"


# Passes for a page: what arrives at each node, its local derivatives, and what it passes to each operand. Nothing is
# written or freed: they are recorded as graphs, so that a program of all their numbers can be read.


class Part(NamedTuple):
    """What a node passes to one operand; `local` is None where the local derivative would be a large array."""

    operand: Node
    local: Tensor | None
    contribution: Tensor


class Visit(NamedTuple):
    """A node in a backward pass, with the cotangent that arrived at it."""

    node: Node
    cotangent: Tensor
    parts: list[Part]


@dataclass(slots=True)
class Walk:
    """One backward pass: its visits, and what arrives at the nodes that keep a gradient.

    `refused`: why it cannot be walked as the graph is; `freed`: why not after the passes before it, which free it.
    """

    root: Node
    visits: dict[Node, Visit] = field(default_factory=dict)
    kept: dict[Node, Tensor] = field(default_factory=dict)
    order: list[Node] = field(default_factory=list)
    refused: AgradError | None = None
    freed: AgradError | None = None


def walks_from(roots: Sequence[Node]) -> list[Walk]:
    """The backward passes from some values, in turn; a single one twice, since its second is refused."""
    found = [_walked(root) for root in roots]
    if len(found) == 1 and found[0].refused is None:
        first = found[0]
        found.append(Walk(first.root, first.visits, first.kept, first.order))
    gone: dict[Node, str] = {}
    for one in found:
        if one.refused is not None:
            continue
        lost = [node for node in one.order if node in gone]
        if lost:
            one.freed = freed_error(lost, one.root, by=gone[lost[0]])
        else:
            gone |= {node: f"backward {one.root.spell()}" for node in one.order if node.op is not None}
    return found


def _walked(root: Node) -> Walk:
    """The pass from one value."""
    made = Walk(root)

    def watch(node: Node, position: int, g: Any, c: Any) -> None:
        op, operand = node.op, node.inputs[position]
        assert op is not None
        assert isinstance(operand, Node)
        if node not in made.visits:
            made.visits[node] = Visit(node, _tensor(spread_to(g, node.shape)), [])
        if op.reach == "pointwise" and operand.shape != node.shape:
            c = OPS["sum_to"].call(_tensor(spread_to(c, node.shape)), operand.shape)
        is_small = size_of(node.shape or operand.shape) <= FEW
        local = Rule(node, position, graph=True).local() if is_small else None
        part = Part(operand, None if local is None else _tensor(local), _tensor(spread_to(c, operand.shape)))
        made.visits[node].parts.append(part)

    try:
        if not root.requires_grad:
            raise no_grad_error(root)
        seed = seed_of(bare(root), None, False)
        made.order, _ = walkable(root)
        with recording(), scope(listener=None, undefined=None, undo_log=None), quiet():
            found = walk(made.order, {root: seed}, True, watch=watch, hooks=False)
        made.kept = {node: _tensor(value) for node, value in found.items()}
    except AgradError as refused:
        made.refused = refused
    return made


def plain(x: Any) -> Any:
    """The value of what may be a Tensor."""
    return x.value if isinstance(x, Tensor) else x


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else tensor(x)
