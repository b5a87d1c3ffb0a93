"""Versions: the effect of a write in place on other values, and on which graphs become stale.

Each write counts a new version of the data, for all nodes that share them, and gives them a new stamp. A node whose
stamp is older than that of an operand is out of date: a backward refuses it, and a replay computes it again.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping

from agrad.engine import core
from agrad.engine.core.context import current, next_stamp
from agrad.engine.core.graph import Node, Roots, Storage, alive, by_seq, collect, roots_of, sharers, together, touch


def share_storage(node: Node, alias: Node) -> None:
    """Let a write to one of two nodes count for both, and for all that they share data with already."""
    storage, alive = node.storage or Storage(), [*sharers(node), alias]
    references = [weakref.ref(sharer) for sharer in alive]
    roots = storage.roots or roots_of(node)
    _replaced(alive, storage._replace(nodes=references, successor=0, roots=roots))


def mark_written(nodes: list[Node], by: object, roots: Roots = (), way: str = "") -> None:
    """Count a write to nodes that share their data: a new version of each. What was computed from them is older."""
    old = nodes[0].storage or Storage()
    stamp = next_stamp()
    roots = together(old.roots, roots) if old.roots or roots else ()
    storage = Storage(old.nodes, old.version + 1, by, stamp, 0, roots, old.cut, way)
    guard = current().guard
    for node in nodes:
        touch(node)
        node.stamp, node.storage = stamp, storage
        if guard is not None and not node.recorded:
            node.guard = guard


def supersede(node: Node, successor: Node, by: object) -> list[Node]:
    """Let a new node have the name, the version and the aliases of another; returns the aliases."""
    old = node.storage or Storage()
    aliases = [other for other in sharers(node) if other is not node]
    touch(node)
    node.stamp = next_stamp()
    node.storage = Storage((), old.version, by, node.stamp, successor.seq, old.roots)
    together = [successor, *aliases]
    # The data of the aliases are written now; the successor is newer than that.
    storage = Storage([weakref.ref(one) for one in together] if aliases else (), old.version + 1, by, node.stamp)
    _replaced(together, storage)
    for alias in aliases:
        alias.stamp = node.stamp
    return aliases


def _replaced(nodes: list[Node], storage: Storage) -> None:
    for node in nodes:
        touch(node)
        node.storage = storage


def was_cut(node: Node) -> bool:
    """Whether a value was computed from others where nothing is recorded, and not by `detach` or a backward."""
    return node.storage is not None and node.storage.cut is not None and not node.storage.nodes


def walkable(root: Node) -> tuple[list[Node], list[Node]]:
    """`collect` of one root, and `check_walkable`, in one pass if nothing was freed or changed.

    Returns the nodes, youngest first, and those constants that may have been computed from leaves.
    """
    order, found = [root], {root}
    cut: list[Node] = []
    newest, suspect = 0, False
    for node in order:  # which grows during the loop
        stamp = node.stamp
        if stamp is not node.seq and stamp > newest:  # it was written, or computed again
            newest = stamp
        extra = node.extra
        if node.op is not None and (node.left is not None or (extra is not None and (extra.saves or rewritten(node)))):
            suspect = True
        for operand in node.inputs:
            if type(operand) is Node and operand not in found:
                if operand.requires_grad or operand.recorded:
                    found.add(operand)
                    order.append(operand)
                else:
                    if operand.extra is not None:
                        cut.append(operand)
                    if operand.stamp > stamp:
                        suspect = True
    order.sort(key=by_seq, reverse=True)
    if newest and not suspect:  # only a node that was made before the last write can be older than what was written
        for node in reversed(order):
            if node.op is not None:
                suspect = node.seq < newest
                break
    if suspect:
        check_walkable(order, root)
    return order, cut


def check_walkable(order: list[Node], root: Node) -> None:
    """Refuse a graph of which a part was freed, or was computed from data that have changed since."""
    for node in order:
        if node.freed is not None:
            raise core.graph_errors.freed_error(order, root)
        stamp = node.seq if rewritten(node) else node.stamp  # a write to its own data makes it no younger
        if node.extra is not None and node.op is not None:
            own = node.extra.saves_result or node.reads()[1]
            if own and rewritten(node) and node.storage.way != "detach_":
                raise core.graph_errors.changed_error(node, node, root)
            for saved in node.extra.saves:
                if (
                    saved.stamp > stamp
                    and rewritten(saved)
                    and not (saved.storage is not None and saved.storage.successor == node.seq)
                ):
                    raise core.graph_errors.changed_error(node, saved, root)
        for operand in node.inputs:
            if type(operand) is not Node:
                continue
            if operand.stamp > stamp:
                if changed_since(operand, node) and (not _is_written(operand) or reads(node, operand)):
                    raise core.graph_errors.stale_error(node, operand, root)
                if reads(node, operand):
                    raise core.graph_errors.changed_error(node, operand, root)
            if operand.freed is not None and operand.value is None and reads(node, operand):
                # It is not in the order itself, which leads to some leaves only.
                raise core.graph_errors.freed_error([operand], root)


def rewritten(node: Node) -> bool:
    """Whether the value of a node was written to, or given a new history, since it was computed."""
    return node.storage is not None and node.storage.stamp == node.stamp


def _is_written(node: Node) -> bool:
    """Whether the data changed by a write in place, which matters where they were saved, and not by `set` or `step`."""
    return rewritten(node) and node.storage is not None and node.storage.way not in ("", "set", "data", "step")


def changed_since(operand: Node, node: Node) -> bool:
    """Whether the data of an operand that may be set or computed again have changed since the node was computed.

    A computed value with a new history is another matter: its node still has the data of before.
    """
    if operand.stamp <= node.stamp or not operand.recorded:
        return False
    return not (rewritten(operand) and operand.storage is not None and operand.storage.successor)


def reads(node: Node, operand: Node) -> bool:
    """Whether a rule reads an operand, which has changed or is gone. `b *= a` has the one before the write itself."""
    if node.op is None:
        return False
    own = operand.storage is not None and operand.storage.successor == node.seq
    pairs = list(zip(node.inputs, node.reads()[0], strict=True))[1 if own else 0 :]
    return any(x is operand and is_read for x, is_read in pairs)


def out_of_date(order: list[Node], sources: Mapping[Node, Node] = {}) -> set[Node]:
    """Those nodes of a graph (youngest first) whose data a computation from the current leaves would change.

    `sources` tells of constants what they share their data with.
    """
    late: set[Node] = set()
    for node in reversed(order):
        if node.op is None:
            continue
        if rewritten(node) and node.storage is not None and not node.storage.successor:
            late.add(node)
            continue
        for x in node.inputs:
            if type(x) is Node and (x in late or sources.get(x) in late or _newer(x, node)):
                late.add(node)
                break
    return late


def _newer(operand: Node, node: Node) -> bool:
    if operand.recorded:
        return changed_since(operand, node)
    superseded = operand.storage is not None and operand.storage.successor
    return operand.stamp > node.stamp and not superseded


def changed_behind(node: Node) -> Node | None:
    """The leaf, or rewritten value, that makes a value out of date; None where it is not."""
    if node.op is None:
        leaves = alive(node.storage.roots) if node.storage is not None and not node.recorded else ()
        return next((leaf for leaf in leaves if leaf.stamp > node.stamp), None)
    order = collect([node])
    if max(one.stamp for one in order) == node.seq:
        return None  # nothing behind it was written since it was made
    late = out_of_date(order)
    if node not in late:
        return None
    for one in reversed(order):
        if one in late:
            changed = [x for x in one.inputs if isinstance(x, Node) and _newer(x, one)]
            return changed[0] if changed else one
    return None
