"""A repeated replay, and the backward after it, as compiled programs.

A replay of a graph of scalars spends most of its time on finding out what to compute. Where the same leaves change each
time, and no choice and no alias is involved, the answer is the same: once so many replays came that compiling pays, the
late values are computed by a program, to the bit what the operations give one by one, and put into the nodes as by any
other replay. So are the gradients after it, but that one that is 0 may have the other sign. Whatever is otherwise than
it was makes the next one an ordinary replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from agrad.engine.autodiff.backward import grad
from agrad.engine.core.context import UndoLog, current, next_stamp, scope
from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import bare
from agrad.engine.errors import AgradError
from agrad.engine.values import Value

COST = 60  # replays of a graph that take about as long as compiling it
_LARGEST = 50_000  # operations

Run: TypeAlias = Callable[..., "tuple[Value, ...]"]


class CachedReplay:
    """The repeated replay of a root. It keeps all nodes alive except the root, which refers to it."""

    __slots__ = ("after", "changed", "late", "program", "replays", "rest", "slope", "stamp", "walks")

    def __init__(self, changed: list[Node], late: list[Node], rest: list[Node]) -> None:
        self.changed = changed  # the leaves that are new each time
        self.late = late  # the nodes that are computed, the oldest first, without the root
        self.rest = rest  # the other nodes and constants behind the root
        self.stamp = 0  # of the last replay
        self.replays: float = 0  # so many were like this
        self.walks: float = 0  # and so many backwards came after them
        self.program: Run | None = None
        self.slope: Run | None = None
        self.after: list[Node] = []  # the leaves of the gradient program

    def is_like(self, other: CachedReplay) -> bool:
        """Whether another replay did the same."""
        return (self.changed, self.late, self.rest) == (other.changed, other.late, other.rest)

    def holds(self, root: Node) -> bool:
        """Whether nothing but the leaves has changed since the last replay."""
        stamp = self.stamp
        if root.stamp != stamp or not _is_plain(root):
            return False
        for node in self.late:
            if node.stamp != stamp or not _is_plain(node):
                return False
        return all(node.stamp <= stamp and (node.op is None or _is_plain(node)) for node in self.rest)

    def run(self, root: Node) -> bool:
        """Compute the nodes by the program; False, without any change, if they need an ordinary replay."""
        if self.program is None or any(leaf.stamp <= self.stamp for leaf in self.changed) or not self.holds(root):
            return False
        try:
            found = self.program(*self._values())
        except AgradError:
            return False  # an ordinary replay has the better message
        self._write(root, found)
        return True

    def _values(self) -> list[Any]:
        return [x.value for x in self.changed] + [x.value for x in self.rest]

    def _write(self, root: Node, found: Iterable[Value]) -> None:
        nodes = [*self.late, root]
        log = current().undo_log
        before = partial(_put, nodes, [node.value for node in nodes], [node.stamp for node in nodes])
        stamp = next_stamp()
        if log is None:
            log = UndoLog()
            log.remember(self, before)
            try:
                _put(nodes, found, [stamp] * len(nodes))
                self.stamp = stamp
            except BaseException:  # Ctrl-C, or whatever computing `found` raises: all values are written or none
                log.roll_back_surely()
                raise
            return
        log.remember((id(self), self), before, nodes)
        _put(nodes, found, [stamp] * len(nodes))
        self.stamp = stamp

    def gradients(self, root: Node) -> dict[Node, Value] | None:
        """The gradients of a backward from the root, by a program; None if it needs an ordinary backward."""
        if self.slope is None or any(leaf.stamp > self.stamp for leaf in self.changed) or not self.holds(root):
            return None
        if any(node.keeps_grad for node in (*self.late, *self.rest) if node.op is not None) or root.keeps_grad:
            return None
        try:
            found = self.slope(*self._values())
        except AgradError:
            return None
        if not all(value - value == 0.0 for value in found):
            return None  # an ordinary backward finds where an inf or nan began
        return dict(zip(self.after, found, strict=True))

    # Learning

    def learn(self, root: Node) -> None:
        """Count another replay like the last: compile if all of them took as long as that."""
        self.replays += 1
        if self.program is None and self.replays > COST:
            self.replays = float("-inf")  # once
            self.program = _compiled([*self.late, root], [*self.changed, *self.rest])

    def walked(self, root: Node) -> None:
        """There was a backward from the root, after a replay."""
        if self.program is None or not self.holds(root):
            return
        self.walks += 1
        if self.slope is None and self.walks > 3 * COST:
            self.walks = float("-inf")
            self._compile_slope(root)

    def _compile_slope(self, root: Node) -> None:
        leaves = [node for node in (*self.changed, *self.rest) if node.keeps_grad]
        if not root.requires_grad or any(node.op is not None for node in leaves):
            return
        try:
            with scope(recording=True, guard=None, listener=None, undefined=None):
                found = grad(bare(root), [bare(leaf) for leaf in leaves], create_graph=True)
                slope = _compiled([one.node for one in found], [*self.changed, *self.rest])
        except AgradError:
            return
        self.slope, self.after = slope, leaves


def cached_replay_of(root: Node) -> CachedReplay | None:
    """The record of the replays of a root."""
    return root.cache_slot if root.op is not None else None


def seen(root: Node, order: list[Node], late: set[Node], stamp: int) -> None:
    """Record a finished replay of a graph without guards and aliases: a first one, or a repetition."""
    computed = [node for node in reversed(order) if node in late]
    constants = dict.fromkeys(x for node in order for x in node.inputs if type(x) is Node and not x.recorded)
    rest = [*(node for node in reversed(order) if node not in late), *constants]
    straight = computed[-1] is root and all(_is_plain(node) for node in order if node.op is not None)
    if len(order) > _LARGEST or not straight or any(node.shape for node in (*computed, *rest)):
        root.cache_slot = None
        return
    known = cached_replay_of(root)
    before = known.stamp if known is not None else min(node.seq for node in computed)
    changed = [x for x in rest if x.stamp > before]
    replay = CachedReplay(changed, computed[:-1], [x for x in rest if x.stamp <= before])
    if known is not None and known.is_like(replay):
        replay = known
    root.cache_slot = replay
    replay.stamp = stamp
    replay.learn(root)


def _is_plain(node: Node) -> bool:
    """Whether a computed value exists, is not shared, and was never written to."""
    storage = node.storage
    return node.freed is None and (storage is None or not (storage.nodes or storage.count or storage.successor))


def _compiled(outputs: list[Node], inputs: list[Node]) -> Run | None:
    """A program for the values of some nodes; None if it would have guards."""
    from agrad.engine.compile.python_backend import Compiled  # here, since few graphs are replayed
    from agrad.engine.program.extract import extract
    from agrad.engine.program.passes import optimised

    try:
        with scope(guard=None):
            program = extract([bare(node) for node in outputs], [bare(node) for node in inputs])
    except AgradError:
        return None
    return None if program.checks else Compiled(optimised(program)).call


def _put(nodes: list[Node], values: Iterable[Any], stamps: list[int]) -> None:
    for node, value, stamp in zip(nodes, values, stamps, strict=True):
        node.value, node.stamp = value, stamp
