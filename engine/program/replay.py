"""Replay: a graph computed again on the current data of its leaves, in place and in order; a freed graph is rebuilt.

The nodes stay, their values are new, and every handle on one of them sees the new value. Only what is out of date is
computed, by the same functions, so that the result is bit for bit that of a new graph.
Values are written when all have been computed and every guard has held: until then nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import TypeAlias

from agrad.engine.autodiff.backward import grad
from agrad.engine.core.context import UndoLog, current, next_stamp, scope
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Guard, Input, Node, alive, collect, reachable, remembered, sharers, touch
from agrad.engine.core.graph_errors import cut_off_error, diverged_error, freed_error, gone_error
from agrad.engine.core.guards import look_behind
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.core.versions import out_of_date, rewritten
from agrad.engine.errors import AgradError, Label
from agrad.engine.values import Value, shape_of


def forward(*roots: Tensor) -> None:
    """See `agrad.engine.forward`."""
    if not roots:
        return
    nodes = [root.node for root in roots]
    for node in nodes:
        if node.op is None:
            name = node.spell()
            what = f"{name} is a leaf" if node.recorded else f"{name} has no graph"
            raise AgradError("grad", f"{what}: there is nothing to replay")
    cached = cached_replay_of(nodes[0])
    if cached is not None and len(nodes) == 1 and cached.run(nodes[0]):
        return
    rebuilt = Rebuilt()
    try:
        replay = _Replay(nodes, rebuilt)
        with quiet() if any(node.shape for node in (*replay.late, *rebuilt.kept)) else nullcontext():
            replay.run()
        stamp = replay.write()
    except BaseException:  # also Ctrl-C: what was rebuilt for this replay is put back, whatever ended it
        rebuilt.put_back()
        raise
    if rebuilt.before:
        return
    is_straight = not (replay.guards or replay.sources or any(x.storage is not None for x in replay.constants))
    if len(nodes) == 1 and nodes[0] in replay.late and is_straight:
        seen(nodes[0], replay.order, replay.late, stamp)


class _Replay:
    """The state of a replay before it writes: the nodes of the graph, those out of date, the values so far."""

    def __init__(self, roots: list[Node], rebuilt: Rebuilt) -> None:
        self.root = roots[0]
        self.rebuilt = rebuilt
        self.graph = collect(roots)
        self.sources: dict[Node, Node] = {}  # of constants: the computed value that they are an alias of
        self.constants = self._scanned()
        while found := {x: one for x in self.constants if x not in self.sources and (one := _source(x)) is not None}:
            self.sources.update(found)
            self.graph = collect([*self.graph, *found.values()])
            self.constants = self._scanned()
        self.guards = _guards([*self.graph, *self.constants])
        self.read = {guard.node for guard in self.guards if guard.node is not None}
        self.order = collect([*self.graph, *self.read]) if self.read else self.graph
        self.late = out_of_date(self.order, self.sources)
        self.found: dict[Node, Value] = {}

    def _scanned(self) -> list[Node]:
        """The constants of the graph; what was freed is rebuilt. AgradError if a part of it is gone."""
        for node in self.graph:
            if node.freed is not None:
                self.rebuilt.add(node, self.root)
        return [x for node in self.graph for x in node.inputs if type(x) is Node and not x.recorded]

    def run(self) -> None:
        """Compute the nodes out of date, the oldest first, and each guard as soon as its value is known."""
        for one in self.constants:  # what was cut off from a leaf that has changed since cannot be computed here
            for leaf in alive(one.storage.roots) if one.storage is not None and one not in self.sources else ():
                if leaf.stamp > one.stamp:
                    raise cut_off_error(one, leaf, self.root)
        needed = self._needed()
        last = {x: node for node in needed for x in node.inputs if type(x) is Node and x.value is None}
        guards = self.guards[::-1]
        context = current()
        before = context.place
        try:
            for node in needed:
                while guards and guards[-1].stamp < node.seq:
                    self._check(guards.pop())
                context.place = node.origin  # which is told where the operation is not defined
                self.found[node] = out = self._computed(node)
                if node.storage is not None:
                    self.found.update(dict.fromkeys(sharers(node), out))
                for x in node.inputs if last else ():  # what nobody had before, or needs after this node
                    if type(x) is not Node or last.get(x) is not node or x in self.read or _held(x) is not None:
                        continue
                    if x not in self.rebuilt.kept and len(sharers(x)) < 2:
                        self.found.pop(x, None)
            while guards:
                self._check(guards.pop())
        finally:
            context.place = before

    def _needed(self) -> list[Node]:
        """The nodes to compute, oldest first: those out of date, and those behind them whose values are gone."""
        needed = self.late.union(filter(_is_lost, self.rebuilt.kept))
        if any(node.shape for node in self.order):  # a number is never lost
            read = (guard.node for guard in self.guards if guard.node is not None and _is_renewed(guard.node, guard))
            needed = needed.union(filter(_is_lost, read))
            for node in self.order:
                if node in needed:
                    needed.update(x for x in node.inputs if type(x) is Node and _is_lost(x))
        return [node for node in reversed(self.order) if node in needed]

    def _computed(self, node: Node) -> Value:
        if node.freed is not None:  # only a guard can ask for it
            guard = next(guard for guard in self.guards if guard.node is not None and node in collect([guard.node]))
            raise diverged_error(guard, None, self.root) or freed_error(collect([node]), self.root, "replayed")
        assert node.op is not None
        found = self.found
        values = [x if type(x) is not Node else found[x] if x in found else _held(x) for x in node.inputs]
        try:
            out = compute(node.op, tuple(values), node.attrs or {})  # type: ignore[arg-type]
        except AgradError as error:
            if not error.labels and node.origin is not None:
                error.labels.append(Label(node.origin))
            raise
        if type(out) is float:
            return out
        assert shape_of(out) == node.shape
        return out if out.base is None else out.copy()  # type: ignore[union-attr]

    def _check(self, guard: Guard) -> None:
        """Stop if a guard has another outcome."""
        node = guard.node
        if node is None:
            error = diverged_error(guard, None, self.root) if guard.changed else None
        elif node in self.late or _is_renewed(node, guard):
            error = diverged_error(guard, self.found[node] if node in self.found else _held(node), self.root)
        else:
            error = None
        if error is not None:
            raise error

    def write(self) -> int:
        """Give the nodes of the graph, their handles and their aliases the values found: all of them, or none.

        Returns their new stamp.
        """
        stamp = next_stamp()
        nodes: list[_Written] = []
        handles: list[tuple[Tensor, Value | None]] = []
        kept = self.rebuilt.kept
        for node in self.graph:
            if node in kept and node not in self.late:
                nodes.append((node, self.found[node] if node in self.found else _held(node), node.stamp))
            elif node in self.late:
                value = self.found.get(node)
                nodes.append((node, None if node.value is None and node not in kept else value, stamp))
                if node.storage is not None:
                    nodes += [(alias, value, stamp) for alias in sharers(node) if alias is not node]
                handle = node.known_handle()
                if handle is not None:
                    handles.append((handle, value))
        log = current().undo_log
        if log is not None:
            for node, _, _ in nodes:
                touch(node)
            for handle, _ in handles:
                log.remember(handle, partial(setattr, handle, "array", handle.array), handle.array)
            _put(nodes, handles)  # if interrupted, it is restored with its statement
            return stamp
        before = [(node, node.value, node.stamp) for node, _, _ in nodes], [(one, one.array) for one, _ in handles]
        _surely(partial(_put, nodes, handles), partial(_put, *before))
        return stamp


_Written: TypeAlias = "tuple[Node, Value | None, int]"


def _surely(write: Callable[[], None], undo: Callable[[], None]) -> None:
    """Write everything or, if interrupted, nothing: no assignment fails, but half of them would be a wrong graph."""
    log = UndoLog()
    log.remember(undo, undo)
    try:
        write()
    except BaseException:  # that is, Ctrl-C
        log.roll_back_surely()
        raise


def _put(nodes: Iterable[_Written], handles: Iterable[tuple[Tensor, Value | None]]) -> None:
    for node, value, stamp in nodes:
        node.value, node.stamp = value, stamp
    for handle, array in handles:
        handle.array = array


def _source(alias: Node) -> Node | None:
    """The computed value that a constant shares its data with, if that can be computed again."""
    if alias.storage is None:
        return None
    computed = [node for node in sharers(alias) if node.op is not None]
    return computed[0] if computed and all(node.freed is None for node in collect(computed)) else None


def _guards(nodes: list[Node]) -> list[Guard]:
    """The guards under which nodes were made, the oldest first."""
    seen: set[Guard] = set()
    for guard in {node.guard for node in nodes}:
        while guard is not None and guard not in seen:
            seen.add(guard)
            guard = guard.parent
    look_behind(seen)
    return sorted((guard for guard in seen if guard.is_open), key=lambda guard: guard.stamp)


def _is_renewed(node: Node, guard: Guard) -> bool:
    """Whether a value was set, or computed again, after a guard on it was made."""
    superseded = rewritten(node) and node.storage is not None and node.storage.successor
    return node.stamp > guard.stamp and not superseded


def _held(node: Node) -> Value | None:
    """The value of a computed node, if the node or a handle still has it."""
    if node.value is not None:
        return node.value
    return getattr(node.known_handle(), "array", None)


def _is_lost(node: Node) -> bool:
    """Whether a value has to be computed to be known."""
    return node.op is not None and _held(node) is None


# A repeated replay, and the backward after it, as compiled programs.
#
# A replay of a graph of scalars spends most of its time on finding out what to compute. Where the same leaves change
# each time, and no choice and no alias is involved, the answer is the same: once so many replays came that compiling
# pays, the late values are computed by a program, to the bit what the operations give one by one, and put into the
# nodes as by any other replay. So are the gradients after it, but that one that is 0 may have the other sign. Whatever
# is otherwise than it was makes the next one an ordinary replay.

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
            found = self.program(*[x.value for x in self.changed], *[x.value for x in self.rest])
        except AgradError:
            return False  # an ordinary replay has the better message
        nodes = [*self.late, root]
        log = current().undo_log
        before = partial(_put, [(node, node.value, node.stamp) for node in nodes], ())
        stamp = next_stamp()
        write = partial(_put, [(node, value, stamp) for node, value in zip(nodes, found, strict=True)], ())
        if log is None:
            _surely(write, before)
        else:
            log.remember((id(self), self), before, nodes)
            write()
        self.stamp = stamp
        return True

    def gradients(self, root: Node) -> dict[Node, Value] | None:
        """The gradients of a backward from the root, by a program; None if it needs an ordinary backward."""
        if self.slope is None or any(leaf.stamp > self.stamp for leaf in self.changed) or not self.holds(root):
            return None
        if any(node.keeps_grad for node in (*self.late, *self.rest) if node.op is not None) or root.keeps_grad:
            return None
        try:
            found = self.slope(*[x.value for x in self.changed], *[x.value for x in self.rest])
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
        if self.slope is not None or self.walks <= 3 * COST:
            return
        self.walks = float("-inf")
        reached = reachable(root)
        leaves = [node for node in (*self.changed, *self.rest) if node.keeps_grad and node in reached]
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
    if known is not None and (known.changed, known.late, known.rest) == (replay.changed, replay.late, replay.rest):
        replay = known
    root.cache_slot = replay
    replay.stamp = stamp
    replay.learn(root)


def _is_plain(node: Node) -> bool:
    """Whether a computed value exists, is not shared, and was never written to."""
    storage = node.storage
    return node.freed is None and (storage is None or not (storage.nodes or storage.version or storage.successor))


def _compiled(outputs: list[Node], inputs: list[Node]) -> Run | None:
    """A program for the values of some nodes; None if it would have guards."""
    from agrad.engine.compile.python_backend import Compiled  # here, since few graphs are replayed
    from agrad.engine.program.ir import optimised
    from agrad.engine.program.trace import extract

    try:
        with scope(guard=None):
            program = extract([bare(node) for node in outputs], [bare(node) for node in inputs])
    except AgradError:
        return None
    return None if program.checks else Compiled(optimised(program)).call


# Freed graphs built again: a replay gives a freed node back what it was computed from, and what its rules read.
#
# A freed node still has its operation, its operands and their numbers. What it may have lost are constants with more
# than one number, and an index made of arrays. A constant that something else refers to is still there.


class Rebuilt:
    """The freed nodes of a graph while it is replayed: they are as before, until the replay fails."""

    def __init__(self) -> None:
        self.before: dict[Node, tuple[tuple[Input, ...], object, Value | None]] = {}
        self.kept: set[Node] = set()  # the arrays that rules read, which have to be computed again

    def add(self, node: Node, root: Node) -> None:
        """Take a freed node into the graph again. Raises AgradError of kind `freed` if a constant is gone."""
        assert node.op is not None
        if node.attrs is None and node.op.signature.attributes:
            raise gone_error(node, root, None)
        inputs = []
        for operand in node.inputs:
            found = remembered(operand)
            if found is None:
                raise gone_error(node, root, operand if isinstance(operand, Node) else None)
            inputs.append(found)
        touch(node)
        self.before[node] = node.inputs, node.freed, node.value
        node.inputs, node.freed = tuple(inputs), None
        reads, reads_result = node.reads()
        read = [x for x, on in zip(inputs, reads, strict=True) if on and type(x) is Node and x.op is not None]
        self.kept.update(x for x in [*read, *([node] if reads_result else [])] if x.value is None)

    def put_back(self) -> None:
        """Leave the nodes freed, as they were."""
        for node, (inputs, freed, value) in self.before.items():
            node.inputs, node.freed, node.value = inputs, freed, value
