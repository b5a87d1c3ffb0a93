"""Guards: the conditions under which a graph was built, and whose outcomes a replay must find unchanged.

An `if`, a `while`, the number of iterations of a loop, an index: where a value decides what is computed next, the graph
does not show it. Where a Tensor becomes a truth value or a whole number, a guard is made, and every node made from
then on refers to the last one. The condition with which a `while` ended makes one, too. When a leaf is written, the
guards on what was computed from it no longer apply: later nodes are built on the new data.

The use of a value that is read as plain data, with `x.item()`, `float(x)` or `x.numpy()`, is not known. While a
function is traced, the guard is on every bit of the value. Otherwise the guard has another outcome as soon as a leaf
behind the value has changed: such a guard holds no graph in memory. Code of agrad that reads a value, to print it or
to compute with it, makes its own guards.

Without a language above, it is not known where the effect of a guard ends: a replay may refuse more than necessary.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from agrad.engine.core.context import current, next_stamp
from agrad.engine.core.graph import PLAIN, Guard, Node, Roots, alive, collect, roots_of, together, touch
from agrad.engine.values import Value, np

if TYPE_CHECKING:
    from types import FrameType

MANY = 64  # from this length on, a chain of guards is checked each time that it has doubled


truth, number, integer = bool, float, int  # the readings of an `if`, of a size or an index, and of `int(x)`


def entries(value: Value) -> object:
    """The reading of an array of indices, or of a mask."""
    return np.asarray(value).tobytes()


def bits(value: Value) -> object:
    """The reading of plain data: every bit, except that all nan are equal."""
    return value.hex() if isinstance(value, float) else value.tobytes()


class Place:
    """A line of a Python program, as an origin."""

    __slots__ = ("file", "line")

    def __init__(self, frame: FrameType) -> None:
        self.file, self.line = frame.f_code.co_filename, frame.f_lineno

    @property
    def text(self) -> str:
        """The line, as far as its file can be read."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def where(self) -> str:
        """As Python says it in a traceback."""
        return f"{self.file}:{self.line}"


def take(node: Node, value: Value) -> None:
    """Make a guard on every bit of a value for the function being traced; nothing for a constant.

    Of a value that is not recorded, on every bit of the arguments behind it.
    """
    if node.recorded:
        choose(node, value, bits)
    else:
        take_behind(node)


def take_out(node: Node, value: Value) -> None:
    """A guard, if the caller that reads plain data is not code of agrad, which makes its own guards."""
    if node.extra is None and node.op is None and not node.requires_grad:
        return  # a constant
    caller = _caller(_DOORS)
    context = current()
    traced = context.tracing is not None
    # Where agrad calls a function of the user, that may be `float` or `math.sin` itself.
    calls = caller is not None and caller.f_code.co_name == "_called" and caller.f_globals["__name__"] in _CALLERS
    if caller is not None and is_ours(caller) and not calls:
        return
    place = _place() if caller is not None and not is_ours(caller) else None
    if context.reads is not None:
        context.reads.append((node, place))
    if traced:
        take(node, value)
    else:
        _take_at(node, place)


def note_read(node: Node) -> None:
    """Note, while a derivative of a function is computed, that it has taken a value without its graph."""
    reads = current().reads
    if reads is not None:
        reads.append((node, _place()))


def _place() -> Place | None:
    """The line of the program that runs: not of agrad, nor of NumPy."""
    caller = _caller(("agrad.", "numpy."))
    return Place(caller) if caller is not None else None


def _caller(skipped: tuple[str, ...]) -> FrameType | None:
    """The innermost frame of a module whose name does not begin with one of these."""
    caller: FrameType | None = sys._getframe(2)
    while caller is not None and (caller.f_globals.get("__name__") or "").startswith(skipped):
        caller = caller.f_back
    return caller


def _take_at(node: Node, place: Place | None) -> None:
    """Make a guard: what is built from now on depends on the leaves behind a value."""
    roots = roots_of(node)
    if not roots:
        return
    context = current()
    last = context.guard
    if node.guard is not None and node.guard is not last:
        last = context.guard = joined(last, node.guard)
    stamp = max([leaf.stamp for leaf in alive(roots)], default=0)
    if last is not None and last.node is None and last.stamp >= stamp and last.roots == roots:
        return  # it was read before
    _push(Guard(last, None, bits, PLAIN, roots, place, next_stamp()))


_DOORS = (  # modules through which other code reads values
    "agrad.engine.core.tensor",
    "agrad.engine.interop.protocols",
)
_CALLERS = ("agrad.engine.program.trace", "agrad.engine.autodiff.transforms", "agrad.engine.compile.arguments")


def is_ours(frame: FrameType) -> bool:
    """Whether the code there is agrad's."""
    name: str = frame.f_globals.get("__name__") or ""
    return name.startswith("agrad.")


def take_behind(node: Node) -> None:
    """The same on every bit of the arguments behind a value: for what is computed from them without recording."""
    tracing = current().tracing
    leaves = set(alive(roots_of(node)))
    for x in tracing.inputs if tracing is not None else ():
        if not leaves.isdisjoint(alive(roots_of(x.node))):
            choose(x.node, x.value, bits)


def choose(node: Node, value: Value, read: Callable[[Value], object], place: object = None) -> None:
    """Make a guard: what comes next depends on what is read of a value; nothing for a constant.

    `place` is the same in each iteration of a loop.
    """
    context = current()
    origin = context.origin or node.origin
    if node.recorded:
        guard = Guard(context.guard, node, read, read(value), (), origin, next_stamp(), place)
        if place is not None:
            _end_loop(guard, node)
        _push(guard)
        return
    roots = roots_of(node)
    if node.guard is not None:
        context.guard = joined(context.guard, node.guard)
    if roots:
        _push(Guard(context.guard, None, read, read(value), roots, origin, node.stamp))


def _end_loop(guard: Guard, node: Node) -> None:
    """If the same guard was made before, and its value depends on that, it ends an iteration of a loop."""
    for operand in node.inputs:
        if type(operand) is not Node:
            continue
        before = operand.guard
        if before is not None and before.place == guard.place and _leads_to(before, operand):
            touch(operand)
            operand.guard = guard.after(before)


def _leads_to(before: Guard, value: Node) -> bool:
    """Whether a value was computed, after a guard was made, from the value of that guard."""
    about = before.node.inputs if before.node is not None else ()
    found, stack = {value}, [value]
    while stack:
        node = stack.pop()
        for one in about:  # by identity, since arrays are among them; any(...) takes longer
            if node is one:
                return True
        for x in node.inputs if node.seq > before.stamp else ():
            if type(x) is Node and x not in found:
                found.add(x)
                stack.append(x)
    return False


def _push(guard: Guard) -> None:
    long = guard.length >= MANY and guard.length.bit_count() == 1
    current().guard = _thinned(chain(guard)) if long else guard


def chain(guard: Guard | None) -> list[Guard]:
    """A guard and those before it, the oldest first."""
    found = []
    while guard is not None:
        found.append(guard)
        guard = guard.parent
    return found[::-1]


def linked(guards: Iterable[Guard]) -> Guard | None:
    """Guards, the oldest first, as one chain."""
    last: Guard | None = None
    for guard in guards:
        last = guard.after(last)
    return last


def joined(one: Guard | None, other: Guard | None) -> Guard | None:
    """All guards of two chains, as one."""
    if one is None or other is None or one is other:
        return one or other
    if one.line is other.line:
        return one if one.seq > other.seq else other
    both = {guard.seq: guard for guard in (*chain(other), *chain(one))}
    guards = [both[seq] for seq in sorted(both)]
    return linked(guards) if len(guards) < 2 * MANY else _thinned(guards)


def forget(leaf: Node) -> None:
    """Drop the guards on what was computed from the old data of a leaf that is written."""
    context = current()
    guards = chain(context.guard)
    if guards:
        look_behind(guards)
        context.guard = linked(guard for guard in guards if all(root() is not leaf for root in guard.roots))


def _thinned(guards: list[Guard]) -> Guard | None:
    """The same as one chain, without the guards whose outcomes cannot change; of a freed graph only the leaves.

    The nodes of these guards get the new chain too: otherwise they would keep all of the old one alive.
    """
    gone = look_behind(guards)
    last: Guard | None = None
    renewed: dict[Guard | None, Guard | None] = {}
    for guard in guards:
        one = guard
        if guard.node in gone:
            left = guard.read, guard.outcome, guard.roots, guard.origin, guard.stamp, guard.place, guard.seq
            one = Guard(None, None, *left)
        said = last is not None and last.node is None is one.node and last.roots == one.roots
        if guard.is_open and not said:
            last = one.after(last)
        renewed[guard] = last
    for node in collect([guard.node for guard in chain(last) if guard.node is not None]):
        for maker in (node, *node.inputs):
            if type(maker) is Node and maker.guard in renewed:
                touch(maker)
                maker.guard = renewed[maker.guard]
    return last


def look_behind(guards: Collection[Guard]) -> set[Node]:
    """Find the leaves behind several guards, in one walk; returns the nodes behind which a graph was freed."""
    gone: set[Node] = set()
    behind: dict[Node, Roots] = {}
    for node in reversed(collect([guard.node for guard in guards if guard.node is not None])):
        roots = roots_of(node) if node.op is None else ()
        for x in node.inputs:
            if type(x) is Node:
                more = behind[x] if x.recorded else roots_of(x)
                roots = more if not roots or roots == more else together(roots, more)
        behind[node] = roots
        if node.freed is not None or any(type(x) is Node and x in gone for x in node.inputs):
            gone.add(node)
    for guard in guards:
        if guard.node is not None and not guard.roots:
            guard.roots = behind[guard.node]
    return gone
