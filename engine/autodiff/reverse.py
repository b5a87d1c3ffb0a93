"""The backward pass: from a result back to its leaves, youngest node first; each rule is called once per operand.

`reverse` is the pass as the textbooks have it, for everything: plain values, and `create_graph`, since the rules are
written with operations, which compute plain values and record Tensors. Cotangents in flight live in a dict from node
to cotangent, popped as each node is visited; nothing is written.

A cotangent is accompanied by its *selection mask*: 0 where an operation (`where`, an index, `maximum`, …) did not
select the entry, not 0 where it did, None for selected everywhere. Where it is 0 a rule contributes exactly 0, even if
it computes something else there, so that `where(x > 0, log(x), 0)` has derivative 0 at 0. Zeros that were computed are
not masked: 0 * inf stays nan.

A rule is linear in the cotangent, so that a mask only matters where it computes something that is not finite, or the
sign of a zero. A pass on plain values therefore does without masks at first, which takes half of the time, and is
repeated with them if something was selected, and a gradient has an entry that is not finite, or -0. For numbers alone
there is a fast pass, `by_leaves`, which finds the nodes on the way, and takes half of that time again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeAlias
from weakref import WeakSet

from agrad.engine import units
from agrad.engine.core.context import current, scope
from agrad.engine.core.graph import Node, Units, new_node, reachable
from agrad.engine.core.numpy_warnings import walked
from agrad.engine.core.op import OPS, Op, flat, onward
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.core.versions import rewritten
from agrad.engine.errors import AgradError
from agrad.engine.values import IEEE, Shape, coerce, describe, format_shape, np, settle, shape_of, spread, sum_to

Watch: TypeAlias = Callable[[Node, int, Any, Any], None]
Contributions: TypeAlias = "Iterator[tuple[Node, Any, Any]]"  # the operand, what it gets, and the mask of that

HOOKED: WeakSet[Node] = WeakSet()  # while there is one, no backward is computed by a program, which has no hooks

_next_hook = count(1).__next__
_LEAST = -(2**63)  # the bits of -0 as a whole number
_WIDE = 100  # nodes that wait: of more, looking for the youngest takes longer than sorting all


def reverse(
    order: Iterable[Node], flight: Flight, wanted: Collection[Node], create_graph: bool = False
) -> dict[Node, Any]:
    """The pass itself: when a node is visited, its cotangent is complete, and its rules pass it on to its operands.

    Returns the cotangent of each node that keeps one, or is wanted: 0 where a selection took another operand, and none
    for what only comparisons and the like lead to, which have no derivative.
    """
    found: dict[Node, Any] = {}
    cotangents, step = flight.cotangents, None if flight.masked or create_graph else flight.step
    for node in order:
        op, is_usual = node.op, node.extra is None
        g = cotangents.pop(node, None) if is_usual else flight.pop(node, create_graph)
        if (wanted and node in wanted) or (
            (op is None or not is_usual) and node.keeps_grad and (g is not None or flight.reaches(node))
        ):
            found[node] = flight.whole(node, g)
            if node in flight.ends:
                continue
        if g is None or op is None or (step is not None and step(op, node, g)):
            continue
        for operand, c, mask in contributions(op, node, g, flight, create_graph):
            if mask is None and operand not in cotangents:
                cotangents[operand] = c
            else:
                flight.add(operand, c, mask)
    return found


def walk(
    order: Iterable[Node],
    seeds: dict[Node, Any],
    create_graph: bool,
    targets: Iterable[Node] = (),
    masks: dict[Node, Any] | None = None,
    watch: Watch | None = None,
    hooks: bool = True,
) -> dict[Node, Any]:
    """Run the rules of `order` (youngest first); returns the cotangent of each node that keeps one, or is a target.

    `masks` selects the entries of a seed that count, if not all do: a row of a Jacobian needs one entry. `watch` is
    called for each contribution: the node, the position of the operand, the cotangent of the node, the contribution:
    0.0 for an operand that was not selected at all, and for an index what is added to the selected entries. `hooks`:
    whether those of the nodes are called.
    """
    wanted = set(targets)
    if create_graph or watch or (hooks and HOOKED):
        return walked(create_graph, reverse, order, Flight(seeds, masks, watch, hooks), wanted, create_graph)
    numbers = None if masks else _of_numbers(seeds, wanted)
    return walk_values(order, seeds, wanted, masks) if numbers is None else numbers


def walk_values(
    order: Iterable[Node],
    seeds: dict[Node, Any],
    wanted: Collection[Node] = (),
    masks: dict[Node, Any] | None = None,
) -> dict[Node, Any]:
    """`walk` on plain values that nobody watches: without masks at first, since that takes half of the time."""
    try:
        flight = Flight(seeds, masked=False)
        found: dict[Node, Any] = walked(False, reverse, order, flight, wanted)
        if not (flight.selects or masks) or all(map(_is_sure, found.values())):
            return found
    except (AgradError, ValueError):  # a rule may refuse what is not finite, and a mask may hide that
        pass
    return walked(False, reverse, order, Flight(seeds, masks), wanted)


def _of_numbers(seeds: dict[Node, Any], wanted: set[Node]) -> dict[Node, Any] | None:
    """What `by_leaves` finds of one number, if leaves are asked for."""
    (root, seed), *others = seeds.items()
    known = None if others or type(seed) is not float or seed != 1.0 else by_leaves(root)
    if known is None or any(node.op is not None for node in wanted):
        return None
    return {node: known[0].get(node, 0.0) for node in wanted} if wanted else known[0]


class Flight:
    """The cotangents that are not yet used, their selection masks, and which buffers the pass itself made."""

    behind: set[Node] | None = None  # what derivatives lead to from the seeds, once somebody asks
    selects = False  # whether anything was selected
    ends: Collection[Node] = ()  # those that are wanted, and pass nothing on

    def __init__(
        self,
        seeds: dict[Node, Any],
        masks: dict[Node, Any] | None = None,
        watch: Watch | None = None,
        hooks: bool = False,
        zeros: bool = False,
        masked: bool = True,
    ) -> None:
        self.seeds = seeds
        self.cotangents = seeds.copy()
        self.masks = masks.copy() if masks else {}
        self.watch = watch
        self.hooks = hooks  # whether they are called
        self.zeros = zeros  # whether what was not selected gets a cotangent of zeros
        self.masked = masked and not zeros  # whether masks are kept
        self.ended: dict[Node, set[int]] = {}  # the operands to which a function of the user gave no gradient
        self.owned: set[Node] = set()
        self.owned_masks: set[Node] = set()

    def reaches(self, node: Node) -> bool:
        """Whether a derivative leads to a node of which nothing arrived: also where it was not selected."""
        if self.behind is None:
            self.behind = set().union(*[reachable(root, ended=self.ended) for root in self.seeds])
        return node in self.behind

    def pop(self, node: Node, create_graph: bool) -> Any:
        """The cotangent of a node, which is complete, after its hooks; None if none arrived."""
        g = self.cotangents.pop(node, None)
        if g is not None and node.extra is not None and node.extra.hooks and self.hooks:
            changed = _hooked(node, self.whole(node, g), create_graph, [*self.seeds])
            if changed is not g:
                self.owned.discard(node)
                self.masks.pop(node, None)  # the hook gives every entry
            return changed
        return g

    def add(self, node: Node, c: Any, mask: Any) -> None:
        """One more contribution to a node."""
        before = self.cotangents.get(node)
        if before is None:
            self.cotangents[node] = c
            if mask is not None:
                self.masks[node] = mask
            return
        if node in self.masks:
            if mask is None:
                del self.masks[node]
            else:
                self.masks[node] = OPS["maximum"].call(self.masks[node], mask)
                self.owned_masks.discard(node)
        if node in self.owned and type(c) is not Tensor and shape_of(c) in ((), before.shape):
            np.add(before, c, out=before)
            return
        total = OPS["add"].call(before, c) if type(c) is Tensor else before + c
        self.cotangents[node] = total
        if type(total) is Tensor:
            self.owned.discard(node)
        elif type(total) is not float:
            self.owned.add(node)

    def step(self, op: Op, node: Node, g: Any) -> bool:
        """Add without masks what `contributions` would give, in half of the time, and return whether that is done.

        It is for operations entry by entry on one or two values, except where Python's arithmetic raises, and for what
        joins many values.
        """
        x: Any
        y: Any
        cotangents, shape = self.cotangents, node.shape
        if op.parts is not None:
            parts = op.parts(spread(g, shape), **(node.attrs or {}))
            for x, part in zip(node.inputs, parts, strict=True):
                if type(x) is Node and x.requires_grad:
                    if x in cotangents:
                        self.add(x, part, None)
                    else:
                        cotangents[x] = part
            return True
        if op.rules_of_scalars is None:
            return False
        by_x, by_y = op.rules_of_scalars
        first = second = y = None
        try:
            if by_y is None:
                (x,) = node.inputs
                first = by_x(g, node.value, x.value)
            else:
                x, y = node.inputs
                a, b = x.value if type(x) is Node else x, y.value if type(y) is Node else y
                if a is not x and x.requires_grad:
                    first = g if by_x is onward else by_x(g, node.value, a, b)
                if b is not y and y.requires_grad:
                    second = g if by_y is onward else by_y(g, node.value, a, b)
        except IEEE:
            return False
        for operand, c in ((x, first), (y, second)):
            if c is None:
                continue
            if operand.shape != shape:  # broadcasting is undone
                c = sum_to(c if type(c) is not float and c.shape == shape else spread(c, shape), operand.shape)
            if operand in cotangents:
                self.add(operand, c, None)
            else:
                cotangents[operand] = c
        return True

    def scatter(self, op: Op, node: Node, operand: Node, g: Any, mask: Any) -> None:
        """The gradient of an index, added into one buffer, even if many entries are taken one by one."""
        assert op.scatter is not None
        attrs = node.attrs or {}
        written = self._writable_mask(operand) if self.masked and operand.op is not None else None
        fresh = operand not in self.cotangents
        op.scatter(self.buffer(operand), g, fresh, **attrs)
        if written is not None:
            op.scatter(written, 1.0 if mask is None else mask, fresh, **attrs)

    def buffer(self, node: Node) -> Any:
        """An array of the node's shape that may be added to in place."""
        before: Any = self.cotangents.get(node)
        if node not in self.owned or shape_of(before) != node.shape:
            self.cotangents[node] = np.zeros(node.shape) if before is None else np.array(spread(before, node.shape))
            self.owned.add(node)
        return self.cotangents[node]

    def _writable_mask(self, node: Node) -> Any:
        """The selection mask of a node as an array that may be written to; None if every entry is selected."""
        if node not in self.cotangents:
            self.masks[node] = np.zeros(node.shape)
        elif node not in self.masks:
            return None
        elif node not in self.owned_masks:
            self.masks[node] = np.array(spread(self.masks[node], node.shape), dtype=float)
        self.owned_masks.add(node)
        return self.masks[node]

    def whole(self, node: Node, g: Any) -> Any:
        """A cotangent as the gradient of a value: with its shape, in a new array."""
        if type(g) is float and not node.shape:
            return g
        full = spread_to(0.0 if g is None else g, node.shape)
        if type(full) is Tensor:
            return OPS["own"].call(full)
        if type(full) is float or (full is g and node in self.owned and node.op is None):
            return full
        return np.array(full)


def contributions(op: Op, node: Node, g: Any, flight: Flight, create_graph: bool) -> Contributions:
    """What a node passes on to each operand that requires a gradient; the flight itself adds that of an index."""
    watch, given, shape = flight.watch, flight.masks.pop(node, None), node.shape
    pointwise, attrs = op.reach == "pointwise", node.attrs or {}
    if op.selects is not None or op.reach == "part" or flat in op.rules:
        flight.selects = True
    if shape and not pointwise:
        g = spread_to(g, shape)
    if op.scatter is not None and not create_graph and node.inputs[0].shape:  # type: ignore[union-attr]
        flight.scatter(op, node, node.inputs[0], g, given)  # type: ignore[arg-type]
        if watch is not None:
            watch(node, 0, g, g)
        return
    if create_graph:
        values, out = [operand_value(x, True) for x in node.inputs], operand_value(node, True)
    else:
        values, out = [x.value if type(x) is Node else x for x in node.inputs], node.value
    rules = op.rules * len(values) if op.variadic else op.rules
    for position, operand in enumerate(node.inputs):
        rule = rules[position]
        if rule is None or type(operand) is not Node or not operand.requires_grad:
            continue
        if op.variadic:
            attrs = op.attributes_at(position, node.attrs)
        mask = given
        selected = op.selects[position] if op.selects else None
        if selected is not None or rule is flat:
            chosen = 0.0 if selected is None else selected(out, *values, **attrs)
            mask = chosen if given is None else chosen * given
            if type(mask) is float and mask == 0.0:
                if watch is not None:
                    watch(node, position, g, 0.0)
                if flight.zeros:
                    yield operand, 0.0, None
                continue  # nothing is selected: the nodes beyond are not visited
            mask = _unless_all(mask) if flight.masked else None if type(mask) is float else mask
        try:
            c = rule(g, out, *values, **attrs) if attrs else rule(g, out, *values)
        except IEEE:
            c = applied(rule, g, out, values, attrs)
        if c is None:
            flight.ended.setdefault(node, set()).add(position)
            flight.behind = None
            continue
        if mask is not None and pointwise:
            c = OPS["where"].call(mask, c, 0.0) if flight.masked or create_graph else np.where(mask, c, 0.0)
        elif type(mask) is Tensor and op.reach == "mixed":  # at other values nothing of it may be selected
            c = OPS["where"].call(OPS["any"].call(mask), c, 0.0)
        if watch is not None:
            watch(node, position, g, c)
        behind, is_first = None, watch is None and operand.op is None and operand not in flight.cotangents
        if flight.masked and operand.op is not None and (mask is not None or not pointwise):
            behind = _moved(op, rule, mask, node, operand.shape, values, attrs, out)
        if pointwise and operand.shape != shape:
            c = _sum_to(spread_to(c, shape), operand.shape)
            behind = None if behind is None else arrived(_sum_to(spread_to(behind, shape), operand.shape))
        elif is_first and not pointwise and _is_new(c, (g, out, *values, *attrs.values())):
            flight.owned.add(operand)  # the gradient of a leaf, which need not be copied
        yield operand, c, None if behind is None else _unless_all(behind)


def _is_new(c: Any, known: tuple[Any, ...]) -> bool:
    """Whether what a rule returns is an array, and none of those that it was given."""
    if type(c) is float or type(c) is Tensor:  # numpy is not loaded to ask
        return False
    return c.base is None and not any(c is one for one in known)


def operand_value(x: Any, create_graph: bool) -> Any:
    """An operand in the form for the rules: a plain value, or with `create_graph` a handle."""
    if type(x) is not Node:
        return x
    return bare(x, x.value) if create_graph else x.value


def applied(rule: Any, g: Any, out: Any, values: list[Any], attrs: dict[str, Any]) -> Any:
    """A rule, on floats first and, where Python's arithmetic raises, again on IEEE's."""
    try:
        return rule(g, out, *values, **attrs)
    except IEEE:
        lifted = [np.float64(x) if type(x) is float else x for x in (g, out, *values)]
        with np.errstate(all="ignore"):
            result = rule(*lifted, **attrs)
        return result if type(result) is Tensor else settle(result)


def _moved(
    op: Op, rule: Any, mask: Any, node: Node, shape: Shape, values: list[Any], attrs: dict[str, Any], out: Any
) -> Any:
    """The selection mask of an operand of this shape, given that of the result."""
    if op.reach == "pointwise":
        return mask
    if op.reach == "mixed" and type(mask) is Tensor:
        return OPS["expand"].call(OPS["any"].call(mask), shape)
    if op.reach == "mixed" or (mask is None and op.reach == "whole"):
        return None
    ones = np.ones(node.shape) if node.shape else 1.0
    return arrived(rule(ones if mask is None else spread_to(mask, node.shape), out, *values, **attrs))


def arrived(moved: Any) -> Any:
    """1 where something arrived."""
    arrived = moved != 0.0
    return float(arrived) if type(arrived) is bool else arrived


def _unless_all(mask: Any) -> Any:
    """None for a mask of plain values that selects every entry."""
    if mask is None or type(mask) is Tensor:
        return mask
    if type(mask) is float or type(mask) is bool:
        return None if mask else mask
    return None if mask.all() else mask


def spread_to(g: Any, shape: Shape) -> Any:
    """A cotangent in its full shape: the pass uses a number for an array of equal entries."""
    if type(g) is Tensor:
        return g if g.shape == shape else OPS["expand"].call(g, shape)
    return spread(g, shape)


def _sum_to(c: Any, shape: Shape) -> Any:
    """Undo broadcasting."""
    if type(c) is Tensor:
        return c if c.shape == shape else OPS["sum_to"].call(c, shape)
    return sum_to(c, shape)


# The fast pass


def _is_sure(gradient: Any) -> bool:
    """Whether masks would not change a gradient: it is finite, and none of its zeros has a sign."""
    if type(gradient) is float:
        return math.isfinite(gradient) and (gradient != 0.0 or math.copysign(1.0, gradient) > 0.0)
    if not math.isfinite(np.vdot(gradient, gradient)):  # one that is so large, too
        return False
    return not gradient.size or bool(np.minimum.reduce(gradient.view(np.int64), None) != _LEAST)


def by_leaves(root: Node) -> tuple[dict[Node, float], list[Node]] | None:
    """The derivatives of a number by the leaves behind it, and the nodes between, youngest first, in one pass.

    The pass finds the nodes, their order and their cotangents at once, which takes half of `walkable` and `walk`. Those
    do the rest, where this gives None: operations on arrays, with attributes or selections, and what was freed or
    written, retains its gradient or has hooks. All is written inline: calling a function would take a fifth longer.
    """
    x: Any
    y: Any
    node: Any = root
    if node.op is None:
        return None
    order: list[Node] = []
    cotangents: dict[Node, Any] = {}
    ahead: dict[int, Node] = {}  # the nodes to come, by number, but for the next one, if it was found just now
    g: Any = 1.0
    while True:
        rules, out = node.op.rules_of_scalars, node.value
        if rules is None or type(out) is not float or node.left is not None:
            return None
        if node.extra is not None and (node.extra.hooks or node.extra.keeps or rewritten(node)):
            return None
        order.append(node)
        first = second = None
        try:
            by_x, by_y = rules
            if by_y is not None:
                x, y = node.inputs
                a = x.value if type(x) is Node else x
                b = y.value if type(y) is Node else y
                if a is not x and x.requires_grad:
                    first = g if by_x is onward else by_x(g, out, a, b)
                elif a is not x and (x.op is not None or x.stamp is not x.seq or x.extra is not None):
                    return None
                if b is not y and y.requires_grad:
                    second = g if by_y is onward else by_y(g, out, a, b)
                elif b is not y and (y.op is not None or y.stamp is not y.seq or y.extra is not None):
                    return None
            else:
                (y,) = node.inputs
                second = by_x(g, out, y.value)
        except IEEE:
            return None
        seq, node = node.seq - 1, None
        if first is not None:
            if x in cotangents:
                cotangents[x] += first
            elif x.op is None:
                cotangents[x] = first
                if x.stamp is not x.seq:
                    return None  # it was set, and what comes from it may have been computed again
            elif x.seq == seq:  # nothing else that uses it is to come
                node, g = x, first
            else:
                cotangents[x], ahead[x.seq] = first, x
        if second is not None:
            if y is node:
                g += second
            elif y in cotangents:
                cotangents[y] += second
            elif y.op is None:
                cotangents[y] = second
                if y.stamp is not y.seq:
                    return None
            elif y.seq == seq:
                node, g = y, second
            else:
                cotangents[y], ahead[y.seq] = second, y
        if node is None:
            if not ahead:
                return cotangents, order
            node = ahead.pop(seq, None)
            if node is None:
                if len(ahead) > _WIDE:
                    return None
                node = ahead.pop(max(ahead))
            g = cotangents.pop(node)


# Hooks: functions that see, and may change, the gradient of a value while a backward passes it.
#
# A hook belongs to the node of its value. The pass calls it once, with the whole gradient of that pass: before it is
# added to a leaf, and before it goes on to the operands of a computed value.


class Handle:
    """What `register_hook` returns: `remove()` takes the hook away."""

    __slots__ = ("_hook", "_number")

    is_object = True

    def __init__(self, hook: Tensor, number: int) -> None:
        self._hook = hook
        self._number = number

    def remove(self) -> None:
        """Remove the hook. Does nothing if that was done before."""
        node = self._hook.node
        _set_hooks(node, tuple(hook for hook in node.hooks if hook[0] != self._number))

    def _shown(self, text: Callable[[Any], str]) -> str:
        return f"hook of {self._hook.node.spell()}"


def register_hook(value: Tensor, hook: Callable[[Tensor], Any]) -> Handle:
    """Call a function with the gradient of a value in each backward that reaches it.

    What the function returns takes the place of the gradient; None leaves it as it is.
    """
    name = value.node.spell()
    if not value.requires_grad:
        raise AgradError("grad", f"{name} has no gradient to hook: it does not require grad")
    if not callable(hook):
        raise AgradError("type", f"a hook is a function of the gradient, not {describe(hook)}")
    if current().tracing is not None:
        raise AgradError("type", "a function with a hook cannot be compiled")
    number = _next_hook()
    _set_hooks(value.node, (*value.node.hooks, (number, hook)))
    return Handle(value, number)


def clear_hooks(value: Tensor) -> None:
    """Remove all hooks of a value."""
    _set_hooks(value.node, ())


def _set_hooks(node: Node, hooks: tuple[tuple[int, Callable[[Tensor], Any]], ...]) -> None:
    """Replace the hooks of a node; a statement that fails restores them."""
    log = current().undo_log
    if log is not None:
        log.remember((node, "hooks"), partial(_put_hooks, node, node.hooks))
    _put_hooks(node, hooks)


def _put_hooks(node: Node, hooks: tuple[tuple[int, Callable[[Tensor], Any]], ...]) -> None:
    node.hooks = hooks
    if hooks:
        HOOKED.add(node)
    else:
        HOOKED.discard(node)


def _hooked(node: Node, g: Any, create_graph: bool, roots: Sequence[Node]) -> Any:
    """The gradient of a node after its hooks; the same object if they did not change it.

    Raises AgradError of kind `shape`, `type` or `unit` for what does not fit the value.
    """
    for _, hook in node.hooks:
        given = g if isinstance(g, Tensor) else bare(new_node(None, (), None, g, node.shape, False))
        if Units.exist:
            given = OPS["clone"].call(given) if given is g else given
            units.quantity.with_unit(given, bare(roots[0]), [bare(node)]).node.name = f"{node.spell()}.grad"
        with scope(recording=create_graph or Units.exist):
            found = hook(given)
        if found is not None:
            units.fitting(given.node, found)
            g = found if isinstance(found, Tensor) else coerce(found)
            if shape_of(g) != node.shape:
                shapes = f"{format_shape(shape_of(g))}: its gradient has {format_shape(node.shape)}"
                raise AgradError("shape", f"the hook of {node.spell()} returned shape {shapes}")
            g = g.value if isinstance(g, Tensor) and not create_graph else g
    return g
