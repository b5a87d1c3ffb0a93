"""The walk: from a result back to its leaves, youngest node first, each rule called once an operand.

Gradients in flight live in a dict from node to cotangent, popped as each node is visited; nothing
is written. The walk is the same for plain values and for `create_graph`: the rules are
written in operations, which compute on the one and record on the other.

Beside a cotangent travels its *reach*: not 0 where it was reached, 0 where a choice (`where`, an index, `maximum`, …)
did not select, None for everywhere. Where it is 0 a rule contributes exactly 0, whatever it computes there, so that
`where(x > 0, log(x), 0)` has derivative 0 at 0. Zeros that were computed are not masked: 0 * inf stays nan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from agrad.engine.graph import Node
from agrad.engine.op import OPS, Op
from agrad.engine.state import STATE
from agrad.engine.tensor import Tensor
from agrad.engine.values import IEEE, Shape, np, quiet, settle, shape_of, spread, sum_to

Watch: TypeAlias = Callable[[Node, int, Any, Any], None]


def walk(
    order: Iterable[Node],
    seeds: dict[Node, Any],
    create_graph: bool,
    targets: Iterable[Node] = (),
    reached: dict[Node, Any] | None = None,
    watch: Watch | None = None,
) -> dict[Node, Any]:
    """Run the rules of `order` (youngest first); returns the cotangent of each node that keeps one, or is a target.

    `reached` says which entries of a seed count, where not all do: a row of a Jacobian is about one entry. `watch` is
    told of each contribution: the node, the position of the operand, the cotangent that came in, what goes out.
    """
    flight = _Flight(seeds, watch)
    flight.reach.update(reached or {})
    cotangents, reach = flight.cotangents, flight.reach
    found: dict[Node, Any] = {}
    wanted = set(targets)
    recording, STATE.recording = STATE.recording, create_graph
    try:
        with quiet():
            for node in order:
                g = cotangents.pop(node, None)
                if node.keeps_grad or node in wanted:
                    # No cotangent arrives where a choice led elsewhere.
                    found[node] = _whole(0.0 if g is None else g, node, flight)
                op = node.op
                if g is None or op is None:
                    continue
                quick = type(g) is float and not (reach or create_graph or watch)
                if quick and _step_scalar(op, node, g, cotangents):
                    continue
                _step(op, node, g, flight, create_graph)
    finally:
        STATE.recording = recording
    return found


class _Flight:
    """What is under way: cotangents, where they were reached, and which buffers the walk itself made."""

    __slots__ = ("cotangents", "owned", "owned_reach", "reach", "watch")

    def __init__(self, seeds: dict[Node, Any], watch: Watch | None = None) -> None:
        self.watch = watch
        self.cotangents = dict(seeds)
        self.reach: dict[Node, Any] = {}
        self.owned: set[Node] = set()
        self.owned_reach: set[Node] = set()

    def add(self, node: Node, c: Any, reach: Any) -> None:
        """One more contribution to a node."""
        before = self.cotangents.get(node)
        if before is None:
            self.cotangents[node] = c
            if reach is not None:
                self.reach[node] = reach
            return
        if node in self.reach:
            if reach is None:
                del self.reach[node]
            else:
                self.reach[node] = OPS["maximum"].call(self.reach[node], reach)
                self.owned_reach.discard(node)
        if node in self.owned and type(c) is not Tensor and shape_of(c) in ((), before.shape):
            np.add(before, c, out=before)
            return
        total = before + c
        self.cotangents[node] = total
        if type(total) is Tensor:
            self.owned.discard(node)
        elif type(total) is not float:
            self.owned.add(node)

    def buffer(self, node: Node) -> Any:
        """An array of the node's shape that may be added to in place."""
        before: Any = self.cotangents.get(node)
        if node not in self.owned or shape_of(before) != node.shape:
            self.cotangents[node] = np.zeros(node.shape) if before is None else np.array(spread(before, node.shape))
            self.owned.add(node)
        return self.cotangents[node]

    def marks(self, node: Node) -> Any:
        """The reach of a node as an array that may be written to; None if all of it has been reached."""
        if node not in self.cotangents:
            self.reach[node] = np.zeros(node.shape)
        elif node not in self.reach:
            return None
        elif node not in self.owned_reach:
            self.reach[node] = np.array(spread(self.reach[node], node.shape), dtype=float)
        self.owned_reach.add(node)
        return self.reach[node]


def _step_scalar(op: Op, node: Node, g: float, cotangents: dict[Node, Any]) -> bool:
    """The step for one or two floats, which graphs of scalars consist of. False if this is not such a node."""
    inputs, rules = node.inputs, op.rules
    if op.selects is not None or node.attrs is not None or len(inputs) > 2:
        return False
    try:
        if len(inputs) == 1:
            (x,) = inputs
            a = x.value  # type: ignore[union-attr]
            if type(a) is not float:
                return False
            first, second, y = rules[0](g, node.value, a), None, None  # type: ignore[misc]
        else:
            x, y = inputs
            gx, gy = type(x) is Node and x.requires_grad, type(y) is Node and y.requires_grad
            a = x.value if type(x) is Node else x
            b = y.value if type(y) is Node else y
            if type(a) is not float or type(b) is not float:
                return False
            first = rules[0](g, node.value, a, b) if gx and rules[0] is not None else None
            second = rules[1](g, node.value, a, b) if gy and rules[1] is not None else None
    except IEEE:
        return False
    if first is not None:
        cotangents[x] = cotangents[x] + first if x in cotangents else first  # type: ignore[index]
    if second is not None:
        cotangents[y] = cotangents[y] + second if y in cotangents else second  # type: ignore[index]
    return True


def _step(op: Op, node: Node, g: Any, flight: _Flight, create_graph: bool) -> None:
    """The step for everything else: one contribution for each operand that requires a gradient."""
    values = [operand_value(x, create_graph) for x in node.inputs]
    out: Any = operand_value(node, create_graph)
    attrs = node.attrs or {}
    reach = flight.reach.pop(node, None)
    if op.reach != "pointwise":
        g = spread_to(g, node.shape)
    for position, operand in enumerate(node.inputs):
        rule = op.rule(position)
        if type(operand) is not Node or not operand.requires_grad or rule is None:
            continue
        if op.variadic:
            attrs = {**(node.attrs or {}), "which": position}
        if op.scatter is not None and not create_graph and operand.shape:
            _scatter(op, node, operand, g, reach, flight)
            continue
        selected = op.selects[position] if op.selects else None
        mask = reach
        if selected is not None:
            chosen = selected(out, *values, **attrs)
            mask = chosen if reach is None else chosen * reach
            if type(mask) is float and mask == 0.0:
                continue  # not reached at all: what lies behind is not walked
            mask = _unless_all(mask)
        c = applied(rule, g, out, values, attrs)
        if mask is not None and op.reach == "pointwise":
            c = OPS["where"].call(mask, c, 0.0)
        if flight.watch is not None:
            flight.watch(node, position, g, c)
        behind = _moved(op, rule, mask, node, values, attrs, out) if operand.op is not None else None
        if op.reach == "pointwise" and operand.shape != node.shape:
            c = _sum_to(spread_to(c, node.shape), operand.shape)
            behind = behind if behind is None else _is_reached(_sum_to(spread_to(behind, node.shape), operand.shape))
        flight.add(operand, c, _unless_all(behind))


def operand_value(x: Any, create_graph: bool) -> Any:
    """An operand as the rules want it: a plain value, or with `create_graph` a handle."""
    if type(x) is not Node:
        return x
    return Tensor(x, x.value) if create_graph else x.value


def applied(rule: Any, g: Any, out: Any, values: list[Any], attrs: dict[str, Any]) -> Any:
    """A rule, on floats first and, where Python's arithmetic raises, again on IEEE's."""
    try:
        return rule(g, out, *values, **attrs)
    except IEEE:
        lifted = [np.float64(x) if type(x) is float else x for x in (g, out, *values)]
        with np.errstate(all="ignore"):
            result = rule(*lifted, **attrs)
        return result if type(result) is Tensor else settle(result)


def _moved(op: Op, rule: Any, mask: Any, node: Node, values: list[Any], attrs: dict[str, Any], out: Any) -> Any:
    """Which entries of the operand are reached, given those of the result that are."""
    if op.reach == "pointwise":
        return mask
    if op.reach == "mixed" or (mask is None and op.reach == "whole"):
        return None
    ones = np.ones(node.shape) if node.shape else 1.0
    return _is_reached(rule(ones if mask is None else spread_to(mask, node.shape), out, *values, **attrs))


def _is_reached(moved: Any) -> Any:
    """1 where something arrived."""
    reached = moved != 0.0
    return float(reached) if type(reached) is bool else reached


def _scatter(op: Op, node: Node, operand: Node, g: Any, reach: Any, flight: _Flight) -> None:
    """The gradient of an index, added into one buffer however many entries are taken one by one."""
    assert op.scatter is not None
    attrs = node.attrs or {}
    marks = flight.marks(operand) if operand.op is not None else None
    op.scatter(flight.buffer(operand), g, **attrs)
    if marks is not None:
        op.scatter(marks, 1.0 if reach is None else reach, **attrs)


def _unless_all(mask: Any) -> Any:
    """None for a mask of plain values that holds everywhere: nothing to do for it."""
    if mask is None or type(mask) is Tensor:
        return mask
    if type(mask) is float or type(mask) is bool:
        return None if mask else mask
    return None if mask.all() else mask


def spread_to(g: Any, shape: Shape) -> Any:
    """A cotangent in full: the walk passes on a number for an array of equal entries."""
    if type(g) is Tensor:
        return g if g.shape == shape else OPS["expand"].call(g, shape)
    return spread(g, shape)


def _sum_to(c: Any, shape: Shape) -> Any:
    """Undo broadcasting."""
    if type(c) is Tensor:
        return c if c.shape == shape else OPS["sum_to"].call(c, shape)
    return sum_to(c, shape)


def _whole(g: Any, node: Node, flight: _Flight) -> Any:
    """A cotangent as the gradient of a value: of its shape, and nobody else's array."""
    full = spread_to(g, node.shape)
    if type(full) is Tensor:
        return OPS["clone"].call(full)
    if type(full) is float or (full is g and node in flight.owned and node.op is None):
        return full
    return np.array(full)
