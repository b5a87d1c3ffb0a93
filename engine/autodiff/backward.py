"""`backward` and `grad`: the seed of a backward pass, and what is done with the gradients.

Leaves are written only after the whole pass has succeeded; then the graph is freed, unless it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from time import perf_counter
from typing import Any
from weakref import ref

from agrad.engine import autodiff, core, units
from agrad.engine.autodiff.reverse import HOOKED, Watch, by_leaves, walk, walk_values
from agrad.engine.core.context import Context, current, next_stamp
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import (
    FirstNumber,
    Gradient,
    Node,
    Roots,
    Storage,
    alive,
    collect,
    free,
    leading_to,
    new_node,
    oldest,
    reachable,
    roots_of,
    together,
    touch,
)
from agrad.engine.core.guards import chain, look_behind, note_read, take_behind
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import CLEARED, Tensor, bare, handle, tensor
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
    node, context, has_hooks = root.node, current(), bool(HOOKED)
    began = perf_counter() if context.clock is not None else 0.0
    if not node.requires_grad:
        raise core.graph_errors.no_grad_error(root.node)
    keeps = create_graph if retain_graph is None else retain_graph
    plain = gradient is None and not (create_graph or watch)
    if not create_graph:
        note_read(node)
        if context.tracing is not None:
            take_behind(node)
    of_numbers = by_leaves(node) if plain and not has_hooks else None
    is_told = context.listener is not None or context.anomalies  # somebody, of gradients that are not finite
    if of_numbers is not None and is_told and not all(map(isfinite, of_numbers[0].values())):
        of_numbers = None
    order: list[Node] = []
    cut: list[Node] = []
    found: Any
    if of_numbers is not None:
        found, order = of_numbers
    else:
        seed = 1.0 if plain and not node.shape else seed_of(root, gradient, create_graph)
        order, cut = walkable(node)
        is_watched = create_graph or watch or has_hooks
        found = walk(order, {node: seed}, create_graph, watch=watch) if is_watched else walk_values(order, {node: seed})
        # For finite numbers, of which there is nothing to say, no file is imported.
        if is_told and not all(type(value) is float and isfinite(value) for value in found.values()):
            autodiff.anomalies.say_not_finite(order, {node: seed}, found)
    units.note_gradients(node, found, fresh)
    # With create_graph, a gradient without a graph depends on nothing.
    behind = order if of_numbers is None and order else found
    _collect(found, None if create_graph else _storage_of(node, behind, cut), fresh, context)
    if context.clock is not None:
        context.clock.roots.append(node)
        context.clock.walking += perf_counter() - began
    elif not keeps:
        by = context.statement or f"an earlier backward of {node.spell()}"
        if of_numbers is not None and context.undo_log is None:
            for step in order:  # operations on numbers, which saved nothing else
                step.left = by
        else:
            free(order, by)


def _collect(found: dict[Node, Any], storage: Storage | None, fresh: bool, context: Context) -> None:
    """Add what a pass has found to the gradients, all at once."""
    stamp = next_stamp()
    if _are_first_numbers(found):
        found = {target: (number, storage, stamp) for target, number in found.items()}
    else:
        if context.listener is not None and not fresh:
            autodiff.anomalies.say_still_not_finite(found)
        collect_more = _Collecting(storage, stamp, fresh)
        found = {target: collect_more(target, value) for target, value in found.items()}
    if context.undo_log is not None:
        for target in found:
            touch(target)
    for target, collected in found.items():
        target.collected = collected


def grad(y: Tensor, inputs: Tensor | Sequence[Tensor], create_graph: bool = False, gradient: object = None) -> Any:
    """dy/dx for each of `inputs`, without changing any `.grad` or freeing anything.

    A Tensor for a Tensor, a tuple for a sequence. Raises AgradError of kind `grad` where no path leads from y to an
    input; a path with a vanishing derivative gives 0.
    """
    single = isinstance(inputs, Tensor)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not y.node.requires_grad:
        raise core.graph_errors.no_grad_error(y.node)
    seed = seed_of(y, gradient, create_graph)
    order = paths(y, wanted)
    targets = [x.node for x in wanted]
    found = walk(order, {y.node: seed}, create_graph, targets) if y.node in order else {}
    if current().listener is not None or current().anomalies:
        autodiff.anomalies.say_not_finite(order, {y.node: seed}, found)
    results = tuple(result_of(found.get(node), node.shape, y, create_graph) for node in targets)
    for result, x in zip(results, wanted, strict=True):
        units.with_unit(result, y, [x], gradient)
    return results[0] if single else results


def or_zeros(
    y: Tensor, xs: Sequence[Tensor], derive: Callable[[list[Tensor]], Sequence[Tensor]], shape: Shape = ()
) -> list[Tensor]:
    """What `derive` gives for the values that y depends on, and zeros for the others: in a shape followed by theirs."""
    behind = reachable(y.node, oldest([x.node for x in xs])) if y.requires_grad else set()
    used = [x for x in xs if x.node in behind]
    found = dict(zip([x.node for x in used], derive(used), strict=True)) if used else {}
    return [found[x.node] if x.node in found else zeros(shape + x.shape) for x in xs]


def zeros(shape: Shape) -> Tensor:
    """Zeros without a graph."""
    return tensor(np.zeros(shape) if shape else 0.0)


def paths(y: Tensor, inputs: Iterable[Tensor]) -> list[Node]:
    """The nodes from y to the inputs, youngest first; none where all derivatives vanish.

    Raises AgradError of kind `grad` where y does not depend on an input, and of kind `freed` or `stale`.
    """
    inputs = list(inputs)
    since = oldest([x.node for x in inputs])
    behind = reachable(y.node, since)
    for x in inputs:
        if x.node not in behind or not x.node.requires_grad:
            raise core.graph_errors.unused_error(y.node, x.node)
    order = leading_to(collect([y.node], since), [x.node for x in inputs])
    check_walkable(order, y.node)
    return order


def seed_of(root: Tensor, gradient: object, create_graph: bool) -> Any:
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
                facts=core.graph_errors.MissingSeed(root.node),
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
        before = node.left if node.op is None else node.retained
        if type(value) is not float or (before is not CLEARED and before is not None):
            return False
    return True


class _Collecting:
    """Makes the gradient of a leaf after one more backward: a new value each time.

    The first may be a number: see `Node`. What it was computed from is known of each, so that to choose by it is a
    choice by that.
    """

    def __init__(self, storage: Storage | None, stamp: int, fresh: bool) -> None:
        self.storage, self.stamp, self.fresh = storage, stamp, fresh
        self.joined: dict[int, Storage | None] = {}  # by the identity of what is known of the gradient before

    def __call__(self, node: Node, value: Any) -> Gradient | FirstNumber:
        before = None if self.fresh or node.collected is None else node.grad
        is_plain = type(value) is not Tensor
        if before is None or before.value is None:
            if type(value) is float:
                return value, self.storage, self.stamp
            first = _handle(value, self.storage) if is_plain else value
            return Gradient(first) if node.shape else Gradient(first, (first.item(),))
        old, parts = before.value.node, before.parts
        if not node.shape and len(parts) == before.calls < 8:
            parts += (value if is_plain else value.item(),)
        if old.recorded or (not is_plain and value.node.recorded):
            total = before.value + (_handle(value) if is_plain else value)
        else:
            new = value if is_plain else value.value
            total = _handle(compute(OPS["add"], (old.value, new), {}), self._with(old.storage))
        return Gradient(total, parts, before.calls + 1)

    def _with(self, before: Storage | None) -> Storage | None:
        """What is known of the sum of this gradient and one from before."""
        if before is not None and self.storage is not None and before.roots == self.storage.roots:
            return self.storage
        if id(before) not in self.joined:
            roots = together(*[one.roots for one in (before, self.storage) if one is not None])
            self.joined[id(before)] = Storage(roots=roots) if roots else None
        return self.joined[id(before)]


def _storage_of(root: Node, order: Iterable[Node], cut: Iterable[Node]) -> Storage | None:
    """What is known of the data of all gradients of a backward pass: the leaves that they depend on."""
    roots: Roots = tuple([ref(node) for node in order if node.op is None])
    behind = [roots_of(node) for node in cut] if cut else []
    if root.guard is not None and current().statement is not None:  # in Python, all guards so far count anyhow
        guards = chain(root.guard)
        look_behind(guards)
        behind += [guard.roots for guard in guards]
    roots = together(roots, *behind) if behind else roots
    return Storage(roots=roots) if roots else None


def is_gradient(value: Tensor) -> bool:
    """Whether a value is what a leaf has as its gradient: that of the passes that have run, whatever changed since."""
    leaves = alive(value.node.storage.roots) if value.node.storage is not None else ()
    return any((found := leaf.grad) is not None and found.value is value for leaf in leaves)


def _handle(value: Value, storage: Storage | None = None) -> Tensor:
    """A plain value that the pass made, as a Tensor, without a copy: plain data, without guards."""
    node = new_node(None, (), None, value, () if type(value) is float else shape_of(value), False)
    node.guard = None
    if storage is not None:
        node.storage = storage
    return bare(node)


def result_of(value: Any, shape: Shape, y: Tensor, create_graph: bool) -> Tensor:
    """One result of `grad`: zeros where no cotangent arrived; connected to y so that it can be differentiated again."""
    if value is None:
        value = np.zeros(shape) if shape else 0.0
    if not create_graph:
        note_read(y.node)
        if current().tracing is not None:
            take_behind(y.node)
        return value.detach() if isinstance(value, Tensor) else _handle(value, _storage_of(y.node, (), (y.node,)))
    result = value if isinstance(value, Tensor) else _handle(value)
    node = new_node(OPS["depends"], (result.node,), {"on": y.node}, result.value, shape, True)
    return handle(node, None if not shape else result.value)
