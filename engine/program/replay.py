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

from agrad.engine.core.context import UndoLog, current, next_stamp
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Guard, Input, Node, alive, collect, remembered, sharers, touch
from agrad.engine.core.graph_errors import cut_off_error, diverged_error, freed_error, gone_error
from agrad.engine.core.guards import look_behind
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date, rewritten
from agrad.engine.errors import AgradError, Label
from agrad.engine.program.ir import own
from agrad.engine.values import Value


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
    rebuilt = Rebuilt()
    try:
        replay = _Replay(nodes, rebuilt)
        with quiet() if any(node.shape for node in (*replay.late, *rebuilt.kept)) else nullcontext():
            replay.run()
        replay.write()
    except BaseException:  # also Ctrl-C: what was rebuilt for this replay is put back, whatever ended it
        rebuilt.put_back()
        raise


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
        return own(out)

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

    def write(self) -> None:
        """Give the nodes of the graph, their handles and their aliases the values found: all of them, or none."""
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
            return _put(nodes, handles)  # if interrupted, it is restored with its statement
        before = [(node, node.value, node.stamp) for node, _, _ in nodes], [(one, one.array) for one, _ in handles]
        return _surely(partial(_put, nodes, handles), partial(_put, *before))


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
    return node.value if node.value is not None else getattr(node.known_handle(), "array", None)


def _is_lost(node: Node) -> bool:
    """Whether a value has to be computed to be known."""
    return node.op is not None and _held(node) is None


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
        node.inputs, node.left = tuple(inputs), None
        reads, reads_result = node.reads()
        read = [x for x, on in zip(inputs, reads, strict=True) if on and type(x) is Node and x.op is not None]
        self.kept.update(x for x in [*read, *([node] if reads_result else [])] if x.value is None)

    def put_back(self) -> None:
        """Leave the nodes freed, as they were."""
        for node, (inputs, freed, value) in self.before.items():
            node.inputs, node.left, node.value = inputs, freed, value
