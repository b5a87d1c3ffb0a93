"""The errors of the graph, each with its places and its fix."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar

from agrad.engine.core.graph import Guard, Node, alive, behind, collect, leading_to, live
from agrad.engine.errors import AgradError, Facts, Hint, Label
from agrad.engine.values import Value, format_shape


class GraphFacts(Facts):
    """Facts about nodes, which stay in the process that has the graph."""

    portable: ClassVar[bool] = False


class MissingSeed(GraphFacts):
    """A backward of an array without a seed."""

    node: Node


class MissingLeaf(GraphFacts):
    """No leaf that requires grad behind a value."""


class WrittenLeaf(GraphFacts):
    """A leaf that requires grad, written to in place while recording."""

    name: str


class Freed(GraphFacts):
    """A graph in which an earlier backward freed a node; `by`: the statement that did."""

    node: Node
    root: Node
    by: object


class Stale(GraphFacts):
    """A value that is older than what it was computed from."""

    root: Node


class Overwritten(GraphFacts):
    """A value that the rule of a node reads, and that was written to; `by`: the statement that did."""

    root: Node
    node: Node
    changed: Node
    by: object


class Diverged(GraphFacts):
    """A graph that cannot be replayed: a guard has another outcome, or a constant was computed without recording."""

    root: Node
    guard: Guard | None = None
    constant: Node | None = None


def freed_error(nodes: Iterable[Node], root: Node, verb: str = "differentiated", by: str | None = None) -> AgradError:
    """A backward, or another use, of a graph that an earlier backward freed; `nodes`: those on the way, youngest first.

    With `by`, a backward in words, the error as it would be after this has freed all of these nodes.
    It names an operation that had saved something, since PyTorch, which frees only these, would refuse it there.
    """
    gone = [node for node in nodes if by is not None or node.freed is not None]
    node = max(gone, key=_saved)  # the first of those that saved most
    saved, title = _saved(node), f"{node.title}Backward"
    lost = ("was freed; it had saved nothing", "lost its saved constant", "lost its saved values")[saved]
    label = Label(node.origin, f"{title} ({node.spell()}) {lost}" if node.origin is None else f"{title} {lost}")
    allowed = saved == _NOTHING and verb == "differentiated"
    notes = ["no operation on the way had saved a value: PyTorch would allow this backward"] if allowed else []
    message = f"{root.spell()} cannot be {verb}: part of its graph was freed"
    return _of_freed(message, Freed(node, root, by or node.freed), label, "… here", notes)


def gone_error(node: Node, root: Node, constant: Node | None) -> AgradError:
    """A replay of a freed graph that needs a constant which nothing else refers to, or an index with arrays in it."""
    what = "an index with arrays in it"
    if constant is not None:
        what = constant.name or f"a constant of shape {format_shape(constant.shape)}"
    text = f"{what} is gone" if node.origin is not None else f"{node.title}Backward ({node.spell()}): {what} is gone"
    message = f"{root.spell()} cannot be replayed: {what} was freed with its graph"
    notes = ["a freed graph keeps its leaves and numbers, but an array only while something else refers to it"]
    return _of_freed(message, Freed(node, root, node.freed), Label(node.origin, text), "… freed here", notes)


def _of_freed(message: str, facts: Freed, label: Label, here: str, notes: list[str]) -> AgradError:
    """An error of kind `freed`; `label`: what it was that is gone, `here`: where it was freed."""
    labels = [label, *_done(facts.by, "freed by ", here)]
    fix = "keep the graph with retain_graph=True at that backward, or compute the value again"
    return AgradError("freed", message, labels=labels, notes=notes, fixes=[Hint(fix)], facts=facts)


_NOTHING, _CONSTANT, _VALUES = range(3)  # what the rules of an operation read; values are the better example


def _saved(node: Node) -> int:
    """What a node had saved for its derivative."""
    assert node.op is not None
    reads, reads_result = node.reads()
    if reads_result or (node.attrs is None and node.op.signature.attributes):  # they held an index with arrays in it
        return _VALUES
    read = [x for x, on in zip(node.inputs, reads, strict=True) if on]
    if any(hasattr(x, "shape") and (x.shape or getattr(x, "recorded", False)) for x in read):
        return _VALUES
    return _CONSTANT if read else _NOTHING


def stale_error(node: Node, operand: Node, root: Node) -> AgradError:
    """A backward over values that were computed before their operand was written, or computed again."""
    changed = f"{operand.spell()} was changed after {node.spell()} was computed from it"
    labels = [Label(node.origin, f"computed from the old {operand.spell()}")] if node.origin is not None else []
    storage = operand.storage
    if storage is not None and storage.stamp == operand.stamp:
        labels += _done(storage.by, "changed by ", "… changed here")
    fixes = [Hint(f"{f'{root.name}.forward()' if root.name else 'its forward()'}, to replay its graph on the new data")]
    return AgradError("stale", f"{root.spell()} is stale: {changed}", labels=labels, fixes=fixes, facts=Stale(root))


def changed_error(node: Node, changed: Node, root: Node) -> AgradError:
    """A backward with a rule that reads a value which was written to since the node saved it."""
    name = changed.spell()
    reader = "its own derivative" if node is changed else f"the derivative of {node.spell()}"
    message = f"{root.spell()} cannot be differentiated: {name} was written to, and {reader} reads it"
    labels = [Label(node.origin, f"{node.title}Backward saved {name}")] if node.origin is not None else []
    by = changed.storage.by if changed.storage is not None else None
    labels += _done(by, "written by ", "… written here")
    fixes = [Hint("write to a new value" + (f": {changed.name}2 = …" if changed.name else ""))]
    return AgradError("stale", message, labels=labels, fixes=fixes, facts=Overwritten(root, node, changed, by))


def _done(by: object, words: str, here: str) -> list[Label]:
    """The place of a statement that caused a change, or a phrase for it."""
    if by is None:
        return []
    return [Label(None, f"{words}{by}")] if isinstance(by, str) else [Label(by, here)]  # type: ignore[arg-type]


def diverged_error(guard: Guard, value: Value | None, root: Node) -> AgradError | None:
    """A replay in which a guard has another outcome; None if it has the same."""
    if guard.is_plain:
        return _plain_error(guard, root)
    now, outcome = "", None
    if value is not None:
        with suppress(AgradError, ValueError, OverflowError):
            outcome = guard.read(value)
        if outcome == guard.outcome:
            return None
        now = f"; now it is {guard.said(outcome)}" if outcome is not None else ""
    name, was = guard.name, guard.said(guard.outcome)
    if not isinstance(guard.outcome, bool):  # the place is that of a call or an index, and what it read has another
        taken = f"the number in {name}" if guard.origin is not None else "a number that was read"
        name = guard.node.spell() if guard.node is not None else taken
    built = f"it was built where {name} was {was}{now}"
    if isinstance(guard.outcome, bytes):
        entries = f"the entries of {guard.name}" if guard.origin is not None else "entries"
        built, was = f"{entries} were selected by {name}, which has changed", "other entries"
    message = f"{root.spell()} cannot be replayed: {built}"
    labels = [Label(guard.origin, f"… {was} then")] if guard.origin is not None else []
    gone = guard.changed if value is None else []
    notes = [f"the value of the guard is gone, and {gone[0].spell()} has changed"] if gone else []
    facts = Diverged(root, guard=guard)
    return AgradError("guard", message, labels=labels, notes=notes, fixes=[Hint("compute it again")], facts=facts)


def _plain_error(guard: Guard, root: Node) -> AgradError:
    """A replay of what was built after a value had been read as a plain number, from data that have changed since."""
    names = (leaf.spell() for leaf in guard.changed)
    source = next((name for name in names if not name.startswith("a ")), "a leaf behind it")
    where = f" at {guard.origin.where}" if guard.origin is not None else ""
    message = f"{root.spell()} cannot be replayed: before it was built, a value was read as a plain number{where}"
    changed = f"{source} has changed since, and what was built may depend on the number"
    notes = [changed, "reading a value after the graph is built is allowed, and so is printing the Tensor itself"]
    facts = Diverged(root, guard=guard)
    return AgradError("guard", message, notes=notes, fixes=[Hint("compute it again")], facts=facts)


def cut_off_error(constant: Node, leaf: Node, root: Node) -> AgradError:
    """A replay over a value that was computed from a leaf without recording, and that is out of date."""
    name, source = constant.spell(), leaf.spell()
    message = f"{root.spell()} cannot be replayed: it uses {name}, computed from {source} without recording"
    labels = [Label(constant.origin, f"{source} has changed since")] if constant.origin is not None else []
    facts = Diverged(root, constant=constant)
    return AgradError("guard", message, labels=labels, fixes=[Hint("compute it again")], facts=facts)


def no_grad_error(node: Node) -> AgradError:
    """A backward from a value that does not depend on a leaf: with what cut the path, if something did."""
    name = node.spell()
    if (cut := cut_behind(node)) is not None:
        return _cut_error(f"{name} has no derivative", cut)
    if (apart := unrecorded_behind(node)) is not None:
        return _apart_error(f"{_called(node, apart[1])} does not require grad", *apart, node)
    return AgradError(
        "grad",
        f"{name} does not require grad: it depends on no leaf that does",
        labels=[Label(node.origin, "computed here")] if node.op and node.origin else [],
        fixes=[Hint("make a leaf with requires_grad=True and compute the value from it, outside no_grad")],
        facts=MissingLeaf(),
    )


def unused_error(y: Node, x: Node) -> AgradError:
    """A derivative with respect to something that the value does not depend on."""
    a, b = y.spell(), x.spell()
    if not x.requires_grad:
        return AgradError("grad", f"{b} does not require grad, so no derivative is taken with respect to it")
    if (cut := cut_behind(y, x)) is not None:
        return _cut_error(f"{a} has no derivative with respect to {b}", cut)
    if (apart := unrecorded_behind(y, x)) is not None:
        return _apart_error(f"{a} does not depend on {b}", *apart, y)
    fix = f"compute {a} from {b}, without detach and outside no_grad"
    message = f"{a} does not depend on {b}: no path of the graph connects them"
    return AgradError("grad", message, fixes=[Hint(fix)])


def _apart_error(what: str, path: list[Node], leaf: Node | None, root: Node) -> AgradError:
    """A path that ends at a value which was computed from a leaf, but without recording."""
    end, source = path[-1], "a leaf that no longer exists" if leaf is None else leaf.spell()
    name = _called(end, leaf)
    fix = f"compute {root.spell()} from {'a leaf' if leaf is None else source}, without detach and outside no_grad"
    if leaf is not None and leaf.storage is end.storage:
        why = f"it {'is' if end is root else f'uses {name}, which is'} {source} detached from its graph"
        fix = f"use {source} itself, without detach"
    else:
        why = f"{'it' if end is root else name} was computed from {source} without recording"
    place = end.storage.cut if end.storage is not None and end.storage.cut is not None else end.origin
    labels = [Label(place, "cut off here")] if place is not None else []
    notes = _chain([node.spell() for node in path[:-1]] + [name])
    return AgradError("grad", f"{what}: {why}", labels=labels, notes=notes, fixes=[Hint(fix)])


def _called(node: Node, leaf: Node | None) -> str:
    """The name of a value that was cut off from a leaf: an alias has the name of the leaf, until it gets another."""
    if leaf is None or leaf.storage is not node.storage or leaf.name != node.name:
        return node.spell()
    return node.origin.text if node.origin is not None else f"{leaf.spell()}.detach()"


def _cut_error(what: str, path: list[Node]) -> AgradError:
    """A path that ends at an operation without a derivative."""
    cut = path[-1]
    assert cut.op is not None
    labels = [Label(cut.origin)] if cut.origin is not None else []
    notes = _chain([node.spell() for node in path])
    has_rules = zip(cut.inputs, live(cut.op, cut.inputs), strict=True)
    missing = [x.spell() for x, has_rule in has_rules if isinstance(x, Node) and x.requires_grad and not has_rule]
    by = f" with respect to {missing[0]}" if cut.op.differentiable else ""
    return AgradError("grad", f"{what}: {cut.op.name} has none{by}", labels=labels, notes=notes)


def _chain(names: list[str]) -> list[str]:
    """`L <- y <- detach(x)`, where there is something in between; of a long path the ends."""
    if len(names) > 6:
        names[3:-2] = ["…"]
    return [" <- ".join(names)] if len(names) > 2 else []


def unrecorded_behind(node: Node, leaf: Node | None = None) -> tuple[list[Node], Node | None] | None:
    """The path to the end of the graph, where a value was computed from a leaf without recording, and that leaf.

    None for the leaf if none was given and it no longer exists.
    """
    for end in behind([node]):
        if not end.recorded and end.storage is not None and end.storage.roots:
            sources = alive(end.storage.roots)
            if leaf is None or leaf in sources:
                return _path(node, end), leaf or next(iter(sources), None)
    return None


def cut_behind(node: Node, leaf: Node | None = None) -> list[Node] | None:
    """The path to an operation without a derivative, between the value and what requires grad (the leaf, if given)."""
    leading = None if leaf is None else set(leading_to(collect([node]), [leaf]))
    for cut in behind([node]):
        rules = [] if cut.op is None else live(cut.op, cut.inputs)
        for x, has_rule in zip(cut.inputs, rules, strict=False):
            if isinstance(x, Node) and x.requires_grad and not has_rule and (leading is None or x in leading):
                return _path(node, cut)
    return None


def _path(node: Node, end: Node) -> list[Node]:
    """A path to a node that is behind another."""
    reached: dict[Node, Node | None] = {node: None}
    for current in behind([node]):
        for x in current.inputs:
            if isinstance(x, Node):
                reached.setdefault(x, current)
    path: list[Node] = []
    step: Node | None = end
    while step is not None:
        path.append(step)
        step = reached[step]
    return path[::-1]


def leaf_error(target: Node) -> AgradError:
    """Writing to a leaf while recording would leave its graph with the wrong data."""
    name = target.name or "x"
    return AgradError(
        "leaf",
        f"a leaf that requires grad is being used in an in-place operation: {name}",
        fixes=[Hint("inside no_grad, to update the leaf"), Hint(f"{name}2 = …, to make a new value")],
        facts=WrittenLeaf(name),
    )
