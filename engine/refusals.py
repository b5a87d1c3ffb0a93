"""What the engine says no to, and how it says it: the errors of the graph, each with its places and its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agrad.engine.errors import AgradError, Label

if TYPE_CHECKING:
    from agrad.engine.graph import Node
    from agrad.engine.tensor import Tensor


def freed_error(node: Node, root: Node) -> AgradError:
    """The second walk over a graph that a first one used up."""
    by = node.freed
    how = "by" if isinstance(by, str) else "here"
    what = f"{node.title}Backward ({node.spell()}) lost its saved values"
    labels = [Label(node.origin, what if node.origin is None else f"{node.title}Backward lost its saved values")]
    if isinstance(by, str):
        labels.append(Label(None, f"freed {how} {by}"))
    else:
        labels.append(Label(by, f"… {how}"))  # type: ignore[arg-type]
    fix = "keep the graph with retain_graph=True at that backward, or compute the value again"
    message = f"{root.spell()} cannot be walked backward: part of its graph is gone"
    return AgradError("freed", message, labels=labels, fixes=[fix], node=node, root=root, by=by)


def stale_error(node: Node, operand: Node, root: Node) -> AgradError:
    """A walk over values that were computed before their operand was written."""
    changed = f"{operand.spell()} was changed after {node.spell()} was computed from it"
    again = f"compute {root.spell()} again"
    labels = [Label(node.origin)] if node.origin is not None else []
    return AgradError("stale", f"{root.spell()} is stale: {changed}", labels=labels, fixes=[again], root=root)


def written_error(node: Node, root: Node) -> AgradError:
    """A walk over a result that its own rule reads, and that was written to."""
    message = f"{root.spell()} is stale: {node.spell()} was written to, and the derivative of {node.title} reads it"
    labels = [Label(node.origin)] if node.origin is not None else []
    return AgradError("stale", message, labels=labels, fixes=[f"compute {node.spell()} again"])


def no_grad_error(root: Tensor) -> AgradError:
    """A walk from a value that nothing leads to: with the operation that has no derivative, if one cut the path."""
    name = root.node.spell()
    cut = cut_behind(root.node)
    if cut is not None:
        return _cut_error(f"{name} has no derivative", cut, root)
    labels = [Label(root.node.origin, "computed here")] if root.node.op and root.node.origin else []
    return AgradError(
        "grad",
        f"{name} does not require grad: no leaf that does leads to it",
        labels=labels,
        fixes=["make a leaf with requires_grad=True and compute the value from it, outside no_grad"],
        needs="leaf",
        node=root.node,
    )


def unused_error(y: Tensor, x: Tensor) -> AgradError:
    """A derivative by something that the value does not depend on."""
    a, b = y.node.spell(), x.node.spell()
    if not x.requires_grad:
        return AgradError("grad", f"{b} does not require grad, so that there is no derivative by it", node=x.node)
    cut = cut_behind(y.node, x.node)
    if cut is not None:
        return _cut_error(f"{a} has no derivative by {b}", cut, y)
    fix = f"compute {a} from {b}, without detach and outside no_grad"
    return AgradError("grad", f"{a} does not depend on {b}: no path of the graph leads there", fixes=[fix], node=x.node)


def cut_behind(node: Node, leaf: Node | None = None) -> Node | None:
    """The operation without a derivative that stands between a value and what requires grad (the leaf, if given)."""
    found, stack = {node}, [node]
    while stack:
        current = stack.pop()
        for operand in current.inputs:
            if not hasattr(operand, "inputs") or operand in found:  # a constant, or seen
                continue
            cuts = current.op is not None and not current.op.differentiable
            if cuts and operand.requires_grad and leaf in (None, operand):  # type: ignore[union-attr]
                return current
            found.add(operand)  # type: ignore[arg-type]
            stack.append(operand)  # type: ignore[arg-type]
    return None


def _cut_error(what: str, cut: Node, root: Tensor) -> AgradError:
    """A path that ends at an operation without a derivative."""
    assert cut.op is not None
    labels = [Label(cut.origin)] if cut.origin is not None else []
    return AgradError("grad", f"{what}: {cut.op.name} has none", labels=labels, node=root.node)


def leaf_error(target: Tensor) -> AgradError:
    """Writing to a leaf while recording would leave its graph with the wrong data."""
    name = target.node.name or "x"
    return AgradError(
        "leaf",
        f"a leaf that requires grad is being used in an in-place operation: {name}",
        fixes=["inside no_grad, to update the leaf", f"{name}2 = …, to make a new value"],
        needs="no_grad",
        name=name,
    )
