"""Replay: a graph computed again on the current data of its leaves, in place and in order; a freed graph is rebuilt.

The nodes stay, their values are new, and every handle on one of them sees the new value. Only what is out of date is
computed, by the same functions, so that the result is bit for bit that of a new graph.
Values are written when all have been computed and every guard has held: until then nothing has changed.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TypeAlias

from agrad.engine.core.context import Context, UndoLog, current, next_stamp
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, collect, touch
from agrad.engine.core.graph_errors import cut_off_error, diverged_error, freed_error
from agrad.engine.core.guards import Guard, look_behind
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date, rewritten, sharers
from agrad.engine.errors import AgradError, Label
from agrad.engine.program.cached_replay import cached_replay_of, seen
from agrad.engine.program.rebuild import Rebuilt
from agrad.engine.values import Value, shape_of


def forward(*roots: Tensor) -> None:
    """Compute again the roots, and all nodes behind them that are out of date: each node once.

    A graph that a backward freed is ready for another backward then. Raises AgradError of kind `grad` for a value
    without a graph, `freed` if a constant was freed with the graph and is gone, `guard` if a guard of the graph has
    another outcome; then nothing has changed.
    """
    if not roots:
        return
    nodes = [root.node for root in roots]
    for node in nodes:
        if node.op is None:
            raise _no_graph(node)
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
    if len(nodes) == 1 and nodes[0] in replay.late and replay.is_straight:
        seen(nodes[0], replay.order, replay.late, stamp)


def _no_graph(node: Node) -> AgradError:
    name = node.spell()
    what = f"{name} is a leaf" if node.recorded else f"{name} has no graph"
    return AgradError("grad", f"{what}: there is nothing to replay")


class _Replay:
    """The state of a replay before it writes: the nodes of the graph, those out of date, the values so far."""

    def __init__(self, roots: list[Node], rebuilt: Rebuilt) -> None:
        self.root = roots[0]
        self.rebuilt = rebuilt
        self.graph = collect(roots)
        self.sources: dict[Node, Node] = {}  # of constants: the computed value that they are an alias of
        self.constants = self._scanned()
        while found := self._new_sources():
            self.sources.update(found)
            self.graph = collect([*self.graph, *found.values()])
            self.constants = self._scanned()
        self.guards = _guards([*self.graph, *self.constants])
        self.read = {guard.node for guard in self.guards if guard.node is not None}
        self.order = collect([*self.graph, *self.read]) if self.read else self.graph
        self.late = out_of_date(self.order, self.sources)
        self.found: dict[Node, Value] = {}

    @property
    def is_straight(self) -> bool:
        """Whether it involved no guard and no alias."""
        return not (self.guards or self.sources or any(x.storage is not None for x in self.constants))

    def _scanned(self) -> list[Node]:
        """The constants of the graph; what was freed is rebuilt. AgradError if a part of it is gone."""
        for node in self.graph:
            if node.freed is not None:
                self.rebuilt.add(node, self.root)
        return [x for node in self.graph for x in node.inputs if type(x) is Node and not x.recorded]

    def _new_sources(self) -> dict[Node, Node]:
        """Those constants that are aliases of computed values, with these values."""
        aliases = [x for x in self.constants if x.storage is not None and x not in self.sources]
        return {x: source for x in aliases if (source := _source(x)) is not None}

    def run(self) -> None:
        """Compute the nodes out of date, the oldest first, and each guard as soon as its value is known."""
        self._check_constants()
        context = current()
        before = context.origin
        try:
            self._run(context)
        finally:
            context.origin = before

    def _run(self, context: Context) -> None:
        needed = self._needed()
        last = {x: node for node in needed for x in node.inputs if type(x) is Node and x.value is None}
        guards = self.guards[::-1]
        for node in needed:
            while guards and guards[-1].stamp < node.seq:
                self._check(guards.pop())
            context.origin = node.origin  # which is told where the operation is not defined
            self.found[node] = out = self._computed(node)
            if node.storage is not None:
                self.found.update(dict.fromkeys(sharers(node), out))
            if last:
                self._let_go(node, last)
        while guards:
            self._check(guards.pop())

    def _let_go(self, node: Node, last: dict[Node, Node]) -> None:
        """Drop the operands that are not needed after this node, and that were not referenced before."""
        for x in node.inputs:
            if type(x) is Node and last.get(x) is node and not (x in self.read or self._is_kept(x)):
                self.found.pop(x, None)

    def _is_kept(self, node: Node) -> bool:
        return _held(node) is not None or node in self.rebuilt.kept or len(sharers(node)) > 1

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
            changed = any(leaf is not None and leaf.stamp > guard.stamp for leaf in (root() for root in guard.roots))
            error = diverged_error(guard, None, self.root) if changed else None
        elif node in self.late or _is_renewed(node, guard):
            error = diverged_error(guard, self.found[node] if node in self.found else _held(node), self.root)
        else:
            error = None
        if error is not None:
            raise error

    def _check_constants(self) -> None:
        """Refuse a value that was cut off from a leaf that has changed since, which cannot be computed here."""
        for x in self.constants:
            if x.storage is not None and x not in self.sources:
                for leaf in (root() for root in x.storage.roots):
                    if leaf is not None and leaf.stamp > x.stamp:
                        raise cut_off_error(x, leaf, self.root)

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
                handle = node.handle() if node.handle is not None else None
                if handle is not None and handle.node is node:
                    handles.append((handle, value))
        log = current().undo_log
        if log is not None:
            for node, _, _ in nodes:
                touch(node)
            for handle, _ in handles:
                log.remember(handle, partial(setattr, handle, "array", handle.array), handle.array)
            _put(nodes, handles)  # if interrupted, it is restored with its statement
            return stamp
        log = UndoLog()
        before = [(node, node.value, node.stamp) for node, _, _ in nodes], [(one, one.array) for one, _ in handles]
        log.remember(self, partial(_put, *before))
        try:
            _put(nodes, handles)
        except BaseException:  # that is, Ctrl-C: no assignment fails, but half of them would be a wrong graph
            log.roll_back_surely()
            raise
        return stamp


_Written: TypeAlias = "tuple[Node, Value | None, int]"


def _put(nodes: list[_Written], handles: list[tuple[Tensor, Value | None]]) -> None:
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
    handle = node.handle() if node.handle is not None else None
    return handle.array if handle is not None and handle.node is node else None


def _is_lost(node: Node) -> bool:
    """Whether a value has to be computed to be known."""
    return node.op is not None and _held(node) is None
