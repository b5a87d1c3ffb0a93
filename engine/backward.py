"""`backward` and `grad`: what a walk starts from, and what becomes of what it finds.

Leaves are written only when the whole walk has succeeded; then the graph is freed, unless it is to be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agrad.engine.errors import AgradError
from agrad.engine.graph import Gradient, Node, check_walkable, collect, free, leading_to, reachable, touch
from agrad.engine.notes import say_not_finite
from agrad.engine.op import OPS
from agrad.engine.refusals import no_grad_error, unused_error
from agrad.engine.state import STATE
from agrad.engine.tensor import Tensor
from agrad.engine.values import Shape, Value, coerce, format_shape, np, shape_of, spread
from agrad.engine.walk import walk


def backward(
    root: Tensor,
    gradient: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    fresh: bool = False,
) -> None:
    """Add the derivative of `root` to the gradient of every leaf (and retained value) behind it.

    `gradient` is the seed, of exactly the shape of `root`; one entry needs none. The graph is freed unless
    `retain_graph` (by default: `create_graph`). With `create_graph` the gradients have a graph themselves. `fresh`
    overwrites gradients instead of adding to them. Raises AgradError of kind `grad`, `shape`, `freed` or `stale`,
    and then nothing has changed.
    """
    node = root.node
    if not node.requires_grad:
        raise no_grad_error(root)
    seed = _seed(root, gradient, create_graph)
    order = collect([node])
    check_walkable(order, node)
    found = walk(order, {node: seed}, create_graph)
    if STATE.listener is not None and not create_graph:
        say_not_finite(order, {node: seed}, found)
    written = [(target, _collected(target, value, fresh)) for target, value in found.items() if target.keeps_grad]
    for target, collected in written:
        touch(target)
        target.grad = collected
    if not (create_graph if retain_graph is None else retain_graph):
        free(order, STATE.statement or f"an earlier backward of {node.spell()}")


def grad(y: Tensor, inputs: Tensor | Sequence[Tensor], create_graph: bool = False, gradient: object = None) -> Any:
    """dy/dx for each of `inputs`, without touching any `.grad` and without freeing anything.

    A Tensor for a Tensor, a tuple for a sequence. Raises AgradError of kind `grad` where no path leads from y to an
    input; a path with a vanishing derivative gives 0.
    """
    single = isinstance(inputs, Tensor)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not y.node.requires_grad:
        raise no_grad_error(y)
    seed = _seed(y, gradient, create_graph)
    order = paths(y, wanted)
    targets = [x.node for x in wanted]
    found = walk(order, {y.node: seed}, create_graph, targets) if y.node in order else {}
    results = tuple(result_of(found.get(node), node.shape, y, create_graph) for node in targets)
    return results[0] if single else results


def paths(y: Tensor, inputs: Iterable[Tensor]) -> list[Node]:
    """The nodes from y to the inputs, youngest first; none where all derivatives vanish.

    Raises AgradError of kind `grad` where y does not depend on an input, and of kind `freed` or `stale`.
    """
    behind = reachable(y.node)
    for x in inputs:
        if x.node not in behind or not x.node.requires_grad:
            raise unused_error(y, x)
    order = leading_to(collect([y.node]), [x.node for x in inputs])
    check_walkable(order, y.node)
    return order


def _seed(root: Tensor, gradient: object, create_graph: bool) -> Any:
    """The cotangent that a walk starts with."""
    name = root.node.spell()
    if gradient is None:
        if root.size != 1:
            raise AgradError(
                "shape",
                f"{name} has shape {format_shape(root.shape)}: backward starts from one number, or needs a seed",
                fixes=[f"sum({name}).backward()", f"{name}[0].backward()", f"{name}.backward(seed)"],
                needs="seed",
                node=root.node,
            )
        return spread(1.0, root.shape)
    seed: Value | Tensor = gradient if isinstance(gradient, Tensor) else coerce(gradient)
    given = seed.shape if isinstance(seed, Tensor) else shape_of(seed)
    if given != root.shape:
        shapes = f"{format_shape(given)}, and {name} has {format_shape(root.shape)}"
        raise AgradError("shape", f"the seed has shape {shapes}: they must be the same")
    return seed.value if isinstance(seed, Tensor) and not create_graph else seed


def _collected(node: Node, value: Any, fresh: bool) -> Gradient:
    """The gradient of a leaf after one more backward: a new value each time."""
    result = value if isinstance(value, Tensor) else _handle(value)
    before = None if fresh else node.grad
    part = (result.item(),) if not result.shape else ()
    if before is None or before.value is None:
        return Gradient(result, part, 1, None)
    parts = before.parts + part if len(before.parts) == before.calls < 8 else before.parts
    return Gradient(before.value + result, parts, before.calls + 1, None)


def _handle(value: Value) -> Tensor:
    """A plain value that the walk made, as a Tensor, without a copy."""
    node = Node(None, (), None, value, shape_of(value), False)
    return Tensor(node, None if isinstance(value, float) else value)


def result_of(value: Any, shape: Shape, y: Tensor, create_graph: bool) -> Tensor:
    """One result of `grad`: zeros where no cotangent arrived; tied to y so that it may be differentiated again."""
    if value is None:
        value = np.zeros(shape) if shape else 0.0
    if not create_graph:
        return value.detach() if isinstance(value, Tensor) else _handle(value)
    result = value if isinstance(value, Tensor) else _handle(value)
    node = Node(OPS["depends"], (result.node,), {"on": y.node}, result.value, shape, True)
    return Tensor(node, None if not shape else result.value)
