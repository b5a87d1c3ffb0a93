"""A backward with what PyTorch would have saved, beside the exact one.

PyTorch saves values as they were computed, and shares the data of a leaf, and of views of it, with the leaf. Where the
data of a leaf have changed in a way that PyTorch does not count (`a.data.copy_(…)`), its backward multiplies new leaves
and views by old products, without a word: agrad's backward refuses that, and `forward` computes the products again.
PyTorch also goes on with the zeros of what was not selected, where agrad's rules stop: in `where(x > 0, log(x), 0)` at
0, its 0/0 is nan. And its derivative of log(-1) is -1, where agrad's is nan.

        PyTorch          exact
    a   [600, 300, 2]    [600, 300, 200]
    a[0]*a[1] is from line 9: PyTorch reads 2, and it is 200 now
"""

from __future__ import annotations

from copy import copy
from itertools import compress
from typing import Any

from agrad.engine.autodiff.backward import seed_of
from agrad.engine.autodiff.reverse import operand_value, passing_zeros, walk
from agrad.engine.core.context import UndoLog, current, scope
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, collect, new_node, reachable
from agrad.engine.core.graph_errors import changed_error, freed_error, no_grad_error
from agrad.engine.core.op import OPS, Op
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import changed_since, out_of_date, reads
from agrad.engine.errors import AgradError
from agrad.engine.inspect.backward_trace import named, short
from agrad.engine.program.replay import forward
from agrad.engine.struct import Struct
from agrad.engine.text import align
from agrad.engine.values import Value, np, settle

_MOST = 10  # stale values that are listed


class Stale(Struct):
    """A value that a rule reads, as PyTorch saved it and as it is now."""

    node: Node
    saved: Value
    now: Value


class Comparison(Struct):
    """The gradients of the leaves, by PyTorch's rules of saving and exactly; either may be refused."""

    leaves: list[Node]
    pytorch: list[Value]
    exact: list[Value]
    stale: list[Stale]
    refused: Node | None  # a leaf that was written to in a way that PyTorch counts, and that a rule reads
    problem: AgradError | None  # why there are no exact ones

    def text(self, precision: int | None = 10) -> str:
        """A table of the gradients, and the values that PyTorch would read though they are stale."""
        pytorch = ["refused"] * len(self.leaves) if self.refused else [short(x, precision) for x in self.pytorch]
        exact = ["unknown"] * len(self.leaves) if self.problem else [short(x, precision) for x in self.exact]
        names = [named(leaf) for leaf in self.leaves]
        lines = align([("", "PyTorch", "exact"), *zip(names, pytorch, exact, strict=True)])
        if self.refused is not None:
            by: Any = self.refused.storage.by if self.refused.storage is not None else None
            where = f"by {by}" if isinstance(by, str) else f"at {by.where}: {by.text}"
            return "\n".join([*lines, f"PyTorch refuses: {named(self.refused)} was modified in place {where}"])
        lines += [_told(one, precision) for one in self.stale[:_MOST]]
        if len(self.stale) > _MOST:
            lines.append(f"… {len(self.stale) - _MOST} more stale values")
        if self.problem is not None:
            return "\n".join([*lines, self.problem.message])
        if all(np.array_equal(a, b, equal_nan=True) for a, b in zip(self.pytorch, self.exact, strict=True)):
            lines.append("PyTorch gives the same")
        elif any(np.any(np.isnan(a) & ~np.isnan(b)) for a, b in zip(self.pytorch, self.exact, strict=True)):
            lines.append(
                "PyTorch goes on with the zeros of what `where`, an index or `maximum` did not select: 0*inf is nan"
            )
        return "\n".join(lines)


def _told(one: Stale, precision: int | None) -> str:
    origin = one.node.origin
    text = origin.text if origin is not None else named(one.node)
    place = f" from {origin.where}" if origin is not None else " stale"
    return f"{text} is{place}: PyTorch reads {short(one.saved, precision)}, and it is {short(one.now, precision)} now"


def as_pytorch(root: Tensor, gradient: object = None) -> Comparison:
    """Both gradients of a value; nothing changes. `gradient` is the seed, as for `backward`.

    Raises AgradError of kind `grad`, `shape` or `freed`, and of kind `stale` where a rule reads a computed value that
    was written to, which PyTorch refuses, too.
    """
    node = root.node
    if not node.requires_grad:
        raise no_grad_error(root.node)
    seed, order = seed_of(root, gradient, False), collect([node])
    _check(order, node)
    reached = reachable(node)
    leaves = [one for one in reversed(order) if one.op is None and one in reached]
    late = out_of_date(order)
    copies = _Copies(order)
    found = passing_zeros([copies.made[one] for one in order], {copies.made[node]: seed})
    pytorch = [found[copies.made[leaf]] for leaf in leaves]
    read = copies.read()
    exact, now, problem = _exact(root, seed, leaves, [one for one in read if one in late])
    saved = {one: copies.made[one].value for one in now}
    stale = [
        Stale(one, value, now[one])
        for one, value in saved.items()
        if value is not None and not np.array_equal(value, now[one], equal_nan=True)
    ]
    return Comparison(leaves, pytorch, exact, stale, copies.refused(read), problem)


def _going_on(op: Op | None) -> Op | None:
    """An operation with the rule that PyTorch has for it, also outside of its domain."""
    if op is None or op.fails.beyond is None:
        return op
    (rule,), divisor = op.rules, op.fails.beyond

    def followed(g: Any, out: Any, x: Any) -> Any:
        inside = rule(g, out, x)  # type: ignore[misc]
        with np.errstate(all="ignore"):
            return settle(np.where(np.isnan(inside), g / np.asarray(divisor(x)), inside))

    made = copy(op)
    made.rules, made.rules_of_scalars = (followed,), None
    return made


def _check(order: list[Node], root: Node) -> None:
    """Refuse what PyTorch refuses, too: a freed graph, and a computed value that was written to and is read."""
    for node in order:
        if node.freed is not None:
            raise freed_error(order, root)
        for operand in node.inputs:
            newer = type(operand) is Node and operand.stamp > node.stamp
            if newer and not changed_since(operand, node) and reads(node, operand):  # type: ignore[arg-type]
                raise changed_error(node, operand, root)  # type: ignore[arg-type]


class _Copies:
    """Copies of the nodes of a graph with the values that PyTorch would find in them."""

    def __init__(self, order: list[Node]) -> None:
        self.made: dict[Node, Node] = {}
        self.base: dict[Node, Node] = {}  # of leaves and their views: the leaf whose data they share
        with scope(guard=None):
            for node in reversed(order):
                self.made[node] = self._copied(node)

    def _copied(self, node: Node) -> Node:
        inputs = tuple([self.made.get(x, x) if type(x) is Node else x for x in node.inputs])
        value: Any = operand_value(node, False)
        source = node.inputs[0] if node.inputs and _is_view(node) else None
        if node.op is None:
            self.base[node] = node
        elif type(source) is Node and source in self.base and not _was_replaced(self.base[source], node):
            self.base[node] = self.base[source]
            value = compute(node.op, (self.made[source].value,), node.attrs or {})  # type: ignore[arg-type]
        made = new_node(_going_on(node.op), inputs, node.attrs, value, node.shape, node.requires_grad)
        made.name, made.origin = node.name, node.origin
        return made

    def read(self) -> list[Node]:
        """The nodes whose values the rules read, the oldest first."""
        found: dict[Node, None] = {}
        for node in self.made:
            if node.op is not None and node.requires_grad:
                reads, result = node.reads()
                read = compress((*node.inputs, node), (*reads, result))
                found |= dict.fromkeys(x for x in read if type(x) is Node and x in self.made)
        return list(found)

    def refused(self, read: list[Node]) -> Node | None:
        """A leaf whose data a rule reads, and whose last write PyTorch counts."""
        oldest = {self.base[x]: x for x in reversed(read) if x in self.base}
        for leaf in oldest:
            storage = leaf.storage
            if storage is None or storage.way in ("", "set", "data"):
                continue
            for node in self.made:
                if node.op is not None and node.stamp < storage.stamp:
                    operands = compress(node.inputs, node.reads()[0])
                    if any(type(x) is Node and self.base.get(x) is leaf for x in operands):
                        return leaf
        return None


def _is_view(node: Node) -> bool:
    """Whether the result shares the data of the operand in PyTorch."""
    op = node.op
    if op is None:
        return False
    if op is OPS["getitem"]:
        index = (node.attrs or {})["index"]
        return not any(hasattr(part, "nbytes") for part in (index if isinstance(index, tuple) else (index,)))
    return op.shares or op.role == "view"


def _was_replaced(leaf: Node, view: Node) -> bool:
    """Whether `a.data = …` has given the leaf other data since, so that the view has the old ones."""
    storage = leaf.storage
    return storage is not None and storage.way == "data" and storage.stamp > view.stamp


def _exact(
    root: Tensor, seed: Any, leaves: list[Node], late: list[Node]
) -> tuple[list[Value], dict[Node, Value], AgradError | None]:
    """The gradients after a replay, which is taken back; with the values of some nodes then."""
    log = UndoLog()
    try:
        with scope(undo_log=log, guard=current().guard):
            if root.node.op is not None:
                forward(root)
            found = walk(collect([root.node]), {root.node: seed}, False, hooks=False)
            return [found[leaf] for leaf in leaves], {one: operand_value(one, False) for one in late}, None
    except AgradError as error:
        return [], {}, error
    finally:
        log.roll_back_surely()
