"""The graph: nodes, what they keep, what freed them, and in what order they were made.

A `Node` is one step of a computation, or a leaf. Nodes do not need names or handles: those that a later backward
needs keep each other alive through `inputs`. A node is older than whatever was computed from it, so that sorting
by `seq` gives a topological order, and no walk recurses.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import compress
from operator import attrgetter
from sys import _getframe
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from agrad.engine.core.context import STAMPS, current, next_stamp
from agrad.engine.core.op import Op
from agrad.engine.errors import Origin
from agrad.engine.values import Shape, Value, format_number, shape_of

PLAIN = object()  # the outcome of a guard where a value was read as plain data
LENGTH = 4096
PLACES = [*range(LENGTH)]  # of instructions: nodes share these numbers, a tenth of the memory of each


class Gradient:
    """The accumulated gradient of a leaf, or a retained value: the sum, and its terms."""

    __slots__ = ("calls", "cleared", "parts", "value")

    def __init__(self, value: Any, parts: tuple[float, ...] = (), calls: int = 1, cleared: object = None) -> None:
        self.value = value  # a Tensor, or None
        self.parts = parts  # the contributions of the first few calls, of a scalar
        self.calls = calls
        self.cleared = cleared  # what cleared it last


class Storage(NamedTuple):
    """The versions of the data of a value, once they are shared or written.

    A write outside `no_grad` gives a computed value a new history: then `successor` is the node that has the name from
    there on, and the node itself keeps what others were computed from.
    """

    nodes: Sequence[weakref.ref[Node]] = ()  # all with the same data, through detach
    version: int = 0  # how often it was written
    by: object = None  # the statement that wrote last, or a phrase
    stamp: int = 0  # of that write
    successor: int = 0  # the `seq` of the successor
    roots: Roots = ()  # the leaves that it was computed from without recording
    cut: Origin | None = None  # where the record ended
    way: str = ""  # how it was written last: "set", "data", or a method such as "copy_"


class Extra:
    """Fields that few nodes have: made when they are needed, so that the others take less memory."""

    cache_slot: Any = None  # see the property of a node
    hooks: tuple[tuple[int, Any], ...] = ()  # see `autodiff.reverse`
    is_parameter = False  # a leaf that modules list
    keeps = False  # a computed value whose gradient is retained
    recorded = False  # a leaf that represents a computed value, though it requires no gradient
    retained: Gradient | FirstNumber | None = None  # that gradient
    saves: tuple[Node, ...] = ()  # what must not be written to before a backward, though no rule here reads it
    saves_result = False  # whether its own value must not be, either
    storage: Storage | None = None
    unit: Any = None  # a Unit: of a leaf, and of a value that was inferred; see `agrad.engine.units`
    grad_unit: Any = None  # that of its gradient


class Units:
    """Whether there is any unit: if not, no graph is searched for them."""

    exist = False


class Uncertainty(Extra):
    """What is known of a leaf that was measured: its standard uncertainty, and how it is distributed."""

    __slots__ = ("distribution", "dof", "linked", "u")  # which take less time to set
    exists = False  # whether there is any uncertain leaf: if not, no graph is searched for them

    u: Value  # in the shape of the value
    dof: float  # degrees of freedom
    distribution: Any  # of `autodiff.distributions`
    linked: Mapping[Node, Any]  # the correlations with the entries of correlated leaves, and its own, row by row


class Guard:
    """One guard: its node, what was read there, the outcome, and the guard before it.

    Of a value that is not recorded, or whose graph was freed, only the leaves behind it are known: `stamp` is that of
    the value, and a leaf with a later one has changed. `seq` is when the guard was made.
    """

    __slots__ = ("length", "line", "node", "origin", "outcome", "parent", "place", "read", "roots", "seq", "stamp")

    def __init__(
        self,
        parent: Guard | None,
        node: Node | None,
        read: Callable[[Value], object],
        outcome: object,
        roots: Roots,
        origin: Origin | None,
        stamp: int,
        place: object = None,
        seq: int = 0,
    ) -> None:
        self.parent = parent
        self.node = node
        self.read = read
        self.outcome = outcome
        self.roots = roots
        self.origin = origin
        self.stamp = stamp
        self.place = place
        self.length: int = parent.length + 1 if parent else 1
        self.seq = seq or next_stamp()
        # Consecutive guards share a list, which knows the last: so it is known whether one follows another.
        self.line: list[int] = parent.line if parent and parent.line[0] == parent.seq else [0]
        self.line[0] = self.seq

    @property
    def name(self) -> str:
        """What was read: `x > 0`."""
        return self.origin.text if self.origin else self.node.spell() if self.node else "a value"

    @property
    def text(self) -> str:
        """The guard in words: `x > 0 is true, line 3`."""
        if self.is_plain:
            return f"plain data read at {self.origin.where if self.origin else '?'}"
        place = f", {self.origin.where}" if self.origin else ""
        return f"{self.name} is {self.said(self.outcome)}{place}"

    @property
    def is_plain(self) -> bool:
        """Whether a value was read as plain data, for an unknown use."""
        return self.outcome is PLAIN

    @staticmethod
    def said(outcome: object) -> str:
        """The outcome, then or now, in words."""
        if isinstance(outcome, bool):
            return "true" if outcome else "false"
        if isinstance(outcome, str):
            outcome = float.fromhex(outcome)
        return format_number(float(outcome)) if isinstance(outcome, int | float) else "another array"

    def behind(self) -> Roots:
        """The leaves that the guard depends on."""
        if self.node is not None and not self.roots:
            self.roots = roots_of(self.node)
        return self.roots

    @property
    def is_open(self) -> bool:
        """Whether its outcome can still change: whether a leaf behind it can be set, or written as an alias."""
        return any(
            len(sharers(leaf)) > 1 or (leaf.handle is not None and leaf.handle() is not None)
            for leaf in alive(self.behind())
        )

    @property
    def changed(self) -> list[Node]:
        """Those leaves, as far as they are known, that have changed since."""
        return [leaf for leaf in alive(self.roots) if leaf.stamp > self.stamp]

    def after(self, parent: Guard | None) -> Guard:
        """The same guard after another one."""
        if parent is self.parent:
            return self
        about = self.node, self.read, self.outcome, self.roots, self.origin, self.stamp, self.place, self.seq
        return Guard(parent, *about)


# The first number that a walk left in a leaf, what is known of its data (the leaves behind it), and when that was.
FirstNumber: TypeAlias = "tuple[float, Storage | None, int]"
Input: TypeAlias = "Node | Value"
Roots: TypeAlias = "tuple[weakref.ref[Node], ...]"


def _of_few(name: str) -> Any:
    """A property of nodes that few have: see `Extra`."""
    default = getattr(Extra, name)

    def put(node: Node, value: Any) -> None:
        if node.extra is not None or value is not default:
            setattr(node._more(), name, value)

    return property(lambda node: default if node.extra is None else getattr(node.extra, name), put)


class Node:
    """A leaf (`op` is None) or one operation: what it was computed from, and what its rules read.

    `value` of a scalar is always kept. That of an array is kept if a rule that may be needed reads it; leaves
    always have theirs. `inputs` holds nodes, and constants as plain values.

    It is made by `new_node`, or slot by slot where an operation on scalars is recorded. There is no `__init__`, because
    Python takes a quarter longer to make an object of a class that has one.
    """

    op: Op | None
    inputs: tuple[Input, ...]
    attrs: dict[str, Any] | None
    value: Value | None
    shape: Shape
    requires_grad: bool
    seq: int
    stamp: int
    code: Any  # of the script that made it; None if it was another
    place: Any  # the instruction of that code, or its origin
    name: str | None
    left: Any  # by backward passes: of a leaf its gradient, see `collected`; of an operation what freed it, see `freed`
    guard: Guard | None  # the guards that it depends on
    extra: Extra | None
    handle: weakref.ref[Any] | None  # to the Tensor of an array, which a replay renews

    __slots__ = (*__annotations__, "__weakref__")

    if TYPE_CHECKING:  # installed where Tensor is defined

        @property
        def grad(self) -> Gradient | None:
            """Its accumulated gradient. If a backward pass left one number here, a Gradient is made when it is read."""

        @grad.setter
        def grad(self, gradient: Gradient | None) -> None: ...

        @property
        def variable(self) -> Any:
            """The leaf that an AccumulateGrad node belongs to, as a handle."""

    # What is kept from one use to the next: an optimiser's state, what a freed constant was.
    cache_slot = _of_few("cache_slot")
    hooks = _of_few("hooks")  # the functions that a backward calls with the gradient, each with its number
    is_parameter = _of_few("is_parameter")  # whether it is a leaf that a module lists among its parameters
    unit = _of_few("unit")
    grad_unit = _of_few("grad_unit")
    storage = _of_few("storage")  # the versions of its data, if they are shared or were written
    retained = _of_few("retained")  # the gradient of a computed value that keeps one

    def _more(self) -> Extra:
        if self.extra is None:
            self.extra = Extra()
        return self.extra

    @property
    def origin(self) -> Origin | None:
        """The expression that it is the value of: found in the code when it is asked for."""
        found: Origin | None = self.place if self.code is None else self.code.co_filename.span(self.code, self.place)
        return found

    @origin.setter
    def origin(self, origin: Origin | None) -> None:
        self.code, self.place = None, origin

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Of a leaf that was measured."""
        return self.extra if type(self.extra) is Uncertainty else None

    @property
    def recorded(self) -> bool:
        """More than requires grad: a comparison has no derivative, but a replay must compute it again."""
        return self.requires_grad or self.op is not None or (self.extra is not None and self.extra.recorded)

    @recorded.setter
    def recorded(self, on: bool) -> None:
        if on is not self.recorded:
            self._more().recorded = on

    @property
    def freed(self) -> object:
        """The statement that freed it, or a phrase; None if nothing did."""
        return None if self.op is None else self.left

    @freed.setter
    def freed(self, by: object) -> None:
        self.left = by  # only of an operation

    @property
    def collected(self) -> Gradient | FirstNumber | None:
        """Its accumulated gradient, as a pass has left it: see `grad`."""
        return self.left if self.op is None else self.retained  # type: ignore[no-any-return]

    @collected.setter
    def collected(self, found: Gradient | FirstNumber | None) -> None:
        setattr(self, "left" if self.op is None else "retained", found)

    @property
    def keeps_grad(self) -> bool:
        """Whether a backward leaves a gradient here: in a leaf that requires one, and where it is retained."""
        return (self.op is None and self.requires_grad) or (self.extra is not None and self.extra.keeps)

    @keeps_grad.setter
    def keeps_grad(self, on: bool) -> None:
        if on is not self.keeps_grad:
            self._more().keeps = on

    @property
    def title(self) -> str:
        """Mul, or Leaf: its name in a dump."""
        if self.op is not None and self.op.role == "opaque" and self.attrs is not None:
            name: str = self.attrs["applied"].name
            return name
        return self.op.title if self.op else "Leaf"

    def reads(self) -> tuple[tuple[bool, ...], bool]:
        """Which operands, and whether the result, are read by the rules of an operation."""
        assert self.op is not None
        read, reads_out = self.op.read_by(live(self.op, self.inputs))
        return tuple([position in read for position in range(len(self.inputs))]), reads_out

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """A pair (node, 0) for each operand, None for the node of a constant: PyTorch's form."""
        operands = (operand if isinstance(operand, Node) else None for operand in self.inputs)
        return tuple((node if node and node.requires_grad else None, 0) for node in operands)

    def known_handle(self) -> Any:
        """The Tensor through which a replay renews an array, if it exists and still has this node; else None."""
        made = self.handle() if self.handle is not None else None
        return made if made is not None and made.node is self else None

    def __repr__(self) -> str:
        return f"<{self.title}Backward>" if self.op else "<AccumulateGrad>"

    def spell(self) -> str:
        """Its name in messages: its name, else its source text, else its operation."""
        if self.name:
            return self.name
        if self.origin:
            return self.origin.text
        if self.op:
            return f"a result of {self.title}"
        return "a leaf" if self.requires_grad else "a value"


def new_node(
    op: Op | None,
    inputs: tuple[Input, ...],
    attrs: dict[str, Any] | None,
    value: Value | None,
    shape: Shape,
    requires_grad: bool,
    depth: int = 1,
) -> Node:
    """The next node, made for code that is `depth` calls away, or further."""
    node = Node()
    node.op = op
    node.inputs = inputs
    node.attrs = attrs
    node.value = value
    node.shape = shape
    node.requires_grad = requires_grad
    node.seq = node.stamp = next(STAMPS)
    context = current()
    script = context.script
    if script is None or context.place is not None:
        node.code, node.place = None, context.place
    else:
        frame = _getframe(depth)
        at = frame.f_lasti
        node.code, node.place = frame.f_code, PLACES[at] if at < LENGTH else at
        if node.code is not script.code or node.seq > script.due:
            script.locate(node, frame)
    node.guard = context.guard
    node.name = node.left = node.extra = node.handle = None
    return node


def live(op: Op, operands: Sequence[object]) -> tuple[bool, ...]:
    """The operands that need a gradient: nodes that require one and have a rule."""
    rules = op.rules * len(operands) if op.variadic else op.rules
    pairs = zip(operands, rules, strict=True)
    return tuple([type(x) is Node and x.requires_grad and rule is not None for x, rule in pairs])


def leaf(value: Value, requires_grad: bool = False) -> Node:
    """A node that was not computed."""
    return new_node(None, (), None, value, () if type(value) is float else shape_of(value), requires_grad)


def sharers(node: Node) -> list[Node]:
    """The node and those it shares its data with through `detach`."""
    storage = node.storage
    if storage is None or not storage.nodes:
        return [node]
    return alive(storage.nodes)


def together(*groups: Roots) -> Roots:
    """The leaves of several groups, each existing one once."""
    return tuple({leaf: root for group in groups for root in group if (leaf := root()) is not None}.values())


def alive(references: Iterable[weakref.ref[Node]]) -> list[Node]:
    """Those of some nodes that still exist."""
    return [node for reference in references if (node := reference()) is not None]


def roots_of(node: Node) -> Roots:
    """The leaves that a value was computed from, recorded or not."""
    storage: Storage | None = node.storage
    if storage is not None and storage.roots:
        return storage.roots
    if node.op is None:
        return (weakref.ref(node),) if node.requires_grad or node.recorded else ()
    roots = _roots_behind(node)
    node.storage = (storage or Storage())._replace(roots=roots)
    return roots


def _roots_behind(node: Node) -> Roots:
    """The leaves that a node was computed from; where they are known for a node, the walk stops."""
    found: list[Roots] = []
    seen, stack = {node}, [node]
    while stack:
        for x in stack.pop().inputs:
            if type(x) is not Node or x in seen:
                continue
            seen.add(x)
            known = x.storage.roots if x.storage is not None else ()
            if known:
                found.append(known)
            if x.op is None and x.recorded:
                found.append((weakref.ref(x),))
            elif x.op is not None and not known:
                stack.append(x)
    return together(*found)


def touch(node: Node) -> None:
    """Log how to restore everything that can change about a node. Called before it changes."""
    log = current().undo_log
    if log is None or node.seq > log.since or node in log.undos:
        return
    state = _state_of(node)
    log.remember(node, partial(_put_back, node, state), state)


def _put_back(node: Node, state: tuple[Any, ...]) -> None:
    for slot, value in zip(_CHANGING, state, strict=True):
        setattr(node, slot, value)


_CHANGING = "inputs attrs value shape stamp left retained keeps_grad name storage guard".split()
_state_of = attrgetter(*_CHANGING)


@contextmanager
def collecting_later() -> Iterator[None]:
    """Let Python look for garbage afterwards: of a long graph that would take half of the time, and find none."""
    is_on = gc.isenabled()
    try:  # Ctrl-C may come at any call
        if is_on:  # else another thread has it off, which may let it on before this one would let it off
            gc.disable()
        yield
    finally:
        if is_on:
            gc.enable()


def collect(roots: Iterable[Node], since: int = -1) -> list[Node]:
    """All recorded nodes that the roots were computed from, youngest first; those that are not older than `since`."""
    found = set(roots)
    stack = list(found)
    while stack:
        for operand in stack.pop().inputs:
            if type(operand) is Node and operand.recorded and operand.seq >= since and operand not in found:
                found.add(operand)
                stack.append(operand)
    return sorted(found, key=by_seq, reverse=True)


by_seq = attrgetter("seq")


def reachable(root: Node, since: int = -1, ended: Mapping[Node, set[int]] | None = None) -> set[Node]:
    """All nodes behind the root that a derivative may be taken by, and that are not older than `since`.

    Also those that a gradient with a vanishing derivative came from: a `depends` node knows them. Nothing is passed on
    to the operands, given by their places, at which some nodes have `ended` a pass.
    """
    found, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if node.op is None:
            continue
        operands: Iterable[Any] = node.inputs
        if node.op.lacks_rules:  # the others are quicker without asking
            operands = compress(node.inputs, live(node.op, node.inputs))
        elif node.op.role == "tied" and node.attrs:
            operands = *node.inputs, node.attrs["on"]
        elif ended and node in ended:
            operands = [x for place, x in enumerate(node.inputs) if place not in ended[node]]
        for x in operands:
            if type(x) is Node and x not in found and x.requires_grad and x.seq >= since:
                found.add(x)
                stack.append(x)
    return found


def behind(
    roots: Iterable[Node],
    into: Callable[[Node], bool] = lambda node: True,
    links: Callable[[Node], Iterable[object]] = attrgetter("inputs"),
) -> Iterator[Node]:
    """Some nodes, and those that they were computed from, each once: through the `links` of each, `into` those chosen.

    This is for walks whose speed does not matter.
    """
    stack = list(dict.fromkeys(roots))
    found = set(stack)
    while stack:
        node = stack.pop()
        yield node
        for x in links(node):
            if type(x) is Node and x not in found and into(x):
                found.add(x)
                stack.append(x)


def oldest(nodes: Iterable[Node]) -> int:
    """How old the oldest of some nodes is: no path leads to it through an older one."""
    return min([node.seq for node in nodes], default=-1)


def leading_to(order: list[Node], targets: Iterable[Node]) -> list[Node]:
    """Those nodes of a graph, youngest first, from which a path leads to a target."""
    leading = set(targets)
    for node in reversed(order):
        if node.requires_grad and any(type(x) is Node and x in leading for x in node.inputs):
            leading.add(node)
    return [node for node in order if node in leading]


def free(nodes: Sequence[Node], by: object) -> None:
    """Release what the nodes saved. Leaves and links stay, so that a freed graph can still be shown.

    Where uncertain leaves are behind them, the nodes are only marked: the uncertainty of what they computed follows
    from what they saved.
    """
    is_kept = Uncertainty.exists and any(type(node.extra) is Uncertainty for node in nodes)
    log = current().undo_log
    since = -1 if log is None else log.since
    for node in nodes:
        op = node.op
        if op is None:
            continue
        if node.seq <= since:
            touch(node)
        node.left = by
        if node.extra is not None and node.extra.saves:
            node.extra.saves = ()
        if is_kept:
            continue
        if type(node.value) is float:
            if op.rules_of_scalars is not None:
                continue  # an operation on scalars, which saved nothing else
        else:
            node.value = None
        for attr in node.attrs.values() if node.attrs is not None else ():
            if type(attr) is tuple and _has_places(attr):
                node.attrs = None
                break
        for operand in node.inputs if node.shape or op.reach != "pointwise" else ():
            if (operand.op is None and _holds_array(operand)) if type(operand) is Node else type(operand) is not float:
                node.inputs = tuple([_ghost(x) if _holds_array(x) else x for x in node.inputs])
                break


def remembered(operand: Input) -> Input | None:
    """What an operand of a freed node was; None for a constant that is gone."""
    if type(operand) is not Node or operand.op is not None or operand.value is not None:
        return operand
    known = operand.cache_slot
    found: Node | None = known() if known is not None else None
    return found


def _has_places(index: tuple[Any, ...]) -> bool:
    """Whether an attribute is an index with arrays in it, which take memory."""
    for part in index:  # noqa: SIM110 - any(...) makes a generator, which takes longer than the loop
        if type(part) is not int and hasattr(part, "nbytes"):
            return True
    return False


def _holds_array(operand: Input) -> bool:
    """Whether this is a constant with more than one number in it."""
    if type(operand) is Node:
        return bool(operand.shape) and operand.op is None and operand.value is not None and not operand.recorded
    return type(operand) is not float


def _ghost(operand: Input) -> Node:
    """What remains of a constant in a freed graph: its name and shape, and itself while something else refers to it."""
    shape = operand.shape if isinstance(operand, Node) else shape_of(operand)
    ghost = new_node(None, (), None, None, shape, False)
    if isinstance(operand, Node):
        ghost.name, ghost.origin, ghost.seq, ghost.stamp = operand.name, operand.origin, operand.seq, operand.seq
        ghost.cache_slot = weakref.ref(operand)
    else:
        ghost.stamp = 0  # plain data, which were there before
    return ghost
