"""`backward` and `grad`: the seed of a backward pass, and what is done with the gradients.

Leaves are written only after the whole pass has succeeded; then the graph is freed, unless it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

from agrad.engine.autodiff.nonfinite import say_not_finite
from agrad.engine.autodiff.reverse import Watch, walk
from agrad.engine.core.context import current
from agrad.engine.core.graph import Gradient, Node, collect, free, leading_to, new_node, reachable, touch
from agrad.engine.core.graph_errors import MissingSeed, no_grad_error, unused_error
from agrad.engine.core.guards import take_behind
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import CLEARED, Tensor, bare, handle
from agrad.engine.core.versions import check_walkable, walkable
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import Shape, Value, coerce, format_shape, np, shape_of, spread


def backward(
    root: Tensor,
    gradient: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    fresh: bool = False,
    watch: Watch | None = None,
) -> None:
    """Add the derivative of `root` to the gradient of every leaf (and retained value) behind it.

    `gradient` is the seed, of exactly the shape of `root`; one entry needs none. The graph is freed unless
    `retain_graph` (by default: `create_graph`). With `create_graph` the gradients have a graph themselves. `fresh`
    overwrites gradients instead of adding to them. `watch` is called for each contribution (see `walk`). Raises
    AgradError of kind `grad`, `shape`, `freed` or `stale`, and then nothing has changed.
    """
    node, context, began = root.node, current(), perf_counter()
    if not node.requires_grad:
        raise no_grad_error(root)
    keeps = create_graph if retain_graph is None else retain_graph
    plain = gradient is None and not (create_graph or watch)
    if context.tracing is not None and not create_graph:
        take_behind(node)
    replay = node.cache_slot if plain and node.op is not None else None  # see `program.cached_replay`
    found: Any = replay.gradients(node) if replay is not None and keeps else None
    order: list[Node] = []
    if found is None:
        seed = 1.0 if plain and not node.shape else _seed(root, gradient, create_graph)
        order = walkable(node)
        found = walk(order, {node: seed}, create_graph, watch=watch)
        if context.listener is not None:
            say_not_finite(order, {node: seed}, found)
        if replay is not None:
            replay.walked_in(node, perf_counter() - began)
    if not _are_first_numbers(found):
        found = {target: _collected(target, value, fresh) for target, value in found.items()}
    if context.undo_log is not None:
        for target in found:
            touch(target)
    for target, collected in found.items():
        target.collected = collected
    if context.clock is not None:
        context.clock.walked(node, perf_counter() - began)
    elif not keeps:
        free(order, context.statement or f"an earlier backward of {node.spell()}")


def grad(y: Tensor, inputs: Tensor | Sequence[Tensor], create_graph: bool = False, gradient: object = None) -> Any:
    """dy/dx for each of `inputs`, without changing any `.grad` or freeing anything.

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
    if current().listener is not None:
        say_not_finite(order, {y.node: seed}, found)
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
    """The cotangent that a backward pass starts with."""
    if gradient is None and not root.node.shape:
        return 1.0
    name = root.node.spell()
    if gradient is None:
        if root.size != 1:
            raise AgradError(
                "shape",
                f"{name} has shape {format_shape(root.shape)}: backward starts from one number, or needs a seed",
                fixes=[Hint(f"{root.name or 'y'}{form}") for form in (".sum().backward()", ".backward(seed)")],
                facts=MissingSeed(root.node),
            )
        return spread(1.0, root.shape)
    seed: Value | Tensor = gradient if isinstance(gradient, Tensor) else coerce(gradient)
    given = seed.shape if isinstance(seed, Tensor) else shape_of(seed)
    if given != root.shape:
        shapes = f"{format_shape(given)}, and {name} has {format_shape(root.shape)}"
        raise AgradError("shape", f"the seed has shape {shapes}: they must be the same")
    return seed.value if isinstance(seed, Tensor) and not create_graph else seed


def _are_first_numbers(found: dict[Node, Any]) -> bool:
    """Whether each is a number, and the first for its node: then it is itself the accumulated gradient."""
    for node, value in found.items():
        if type(value) is not float or (node.collected is not CLEARED and node.collected is not None):
            return False
    return True


def _collected(node: Node, value: Any, fresh: bool) -> Gradient | float:
    """The gradient of a leaf after one more backward: a new value each time. The first may be a number: see `Node`."""
    before = None if fresh or node.collected is None else node.grad
    if type(value) is float and (before is None or before.value is None):
        return value
    result = value if isinstance(value, Tensor) else _handle(value)
    part = (result.item(),) if not result.shape else ()
    if before is None or before.value is None:
        return Gradient(result, part, 1, None)
    parts = before.parts + part if len(before.parts) == before.calls < 8 else before.parts
    if before.value.node.recorded or result.node.recorded:
        total = before.value + result
    else:
        total = _handle(OPS["add"].call(before.value.value, result.value))
    return Gradient(total, parts, before.calls + 1, None)


def _handle(value: Value) -> Tensor:
    """A plain value that the pass made, as a Tensor, without a copy: plain data, without guards."""
    node = new_node(None, (), None, value, () if type(value) is float else shape_of(value), False)
    node.guard = None
    return bare(node)


def result_of(value: Any, shape: Shape, y: Tensor, create_graph: bool) -> Tensor:
    """One result of `grad`: zeros where no cotangent arrived; connected to y so that it can be differentiated again."""
    if value is None:
        value = np.zeros(shape) if shape else 0.0
    if not create_graph:
        if current().tracing is not None:
            take_behind(y.node)
        return value.detach() if isinstance(value, Tensor) else _handle(value)
    result = value if isinstance(value, Tensor) else _handle(value)
    node = new_node(OPS["depends"], (result.node,), {"on": y.node}, result.value, shape, True)
    return handle(node, None if not shape else result.value)
