"""Derivatives of a value that is already computed: which of them are requested, and their computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agrad.engine import autodiff
from agrad.engine.autodiff.backward import backward
from agrad.engine.core.graph import reachable
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, NotOneNumber
from agrad.engine.struct import Struct
from agrad.engine.values import Value, format_shape, size_of, spread
from agrad.grammar import session
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Answer, Result
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.session.session import Session
from agrad.grammar.values.lists import List


class Request(Struct, eq=False):
    """The derivatives to compute: their `kind`, as in an Answer, and by which names.

    `order`: of `order`, the highest. `directions`: of `jvp`, a value for each name. `seed`: of `vjp`, what the
    derivatives of every entry are multiplied by.
    """

    kind: str
    names: Sequence[str] = ()
    order: int = 1
    directions: Mapping[str, Any] = {}
    seed: Any = None


class Calculation(Session):
    """A session that also gives the derivatives of a value."""

    def latex(self, text: str, symbols: Sequence[str], by: Sequence[str]) -> str:
        """See `in_latex`."""
        written: str = session.formulas.in_latex(self.machine, self.names, text, symbols, by)
        return written

    def derive(
        self, value: Any, leaves: Mapping[str, Tensor], request: Request, emit: Callable[[Result], None]
    ) -> Answer:
        """The value with its derivatives by the leaves. Raises AgradError.

        They are computed as one statement: all of them or none, within the time limit of a statement. Only the first
        note is passed to `emit`: the effect of an infinite first derivative on the second needs no second note.
        """
        if not request.kind:
            return Answer(value)
        if request.kind in ("grad", "order", "hessian"):
            _require_number(value)
        array = as_array(value)
        root = array if isinstance(array, Tensor) else tensor(array)
        origin = root.node.origin
        span = origin if isinstance(origin, Span) else None
        waiting = iter([emit])
        found = self.all_at_once(
            lambda: _derivatives(root, leaves, request), span, lambda result: next(waiting, lambda _: None)(result)
        )
        used = _used(root, leaves)
        return Answer(value, request.kind, found, [name for name in leaves if name not in used])


def _derivatives(root: Tensor, leaves: Mapping[str, Tensor], request: Request) -> dict[tuple[str, ...], Value]:
    """The derivatives, by the names to differentiate by."""
    if request.kind == "grad":
        return _gradient(root, leaves)
    if request.kind not in ("jvp", "vjp"):
        return _orders(root, leaves, request.order)
    used = _used(root, leaves)
    xs = list(used.values())
    if request.kind == "jvp":
        directions = [request.directions[name] for name in used]
        return {(): autodiff.transforms.jvp(root, xs, directions).value if used else spread(0.0, root.shape)}
    found = dict(zip(used, autodiff.transforms.vjp(root, xs, request.seed) if used else (), strict=True))
    return {(name,): found[name].value if name in found else spread(0.0, leaf.shape) for name, leaf in leaves.items()}


def _require_number(value: Any) -> None:
    value = as_array(value) if isinstance(value, List) else value
    shape = (len(value),) if isinstance(value, tuple) else value.shape if isinstance(value, Tensor) else ()
    if size_of(shape) != 1:
        message = f"only one number has a gradient; this is an array of shape {format_shape(shape)}"
        raise AgradError("grad", message, facts=NotOneNumber())


def _gradient(root: Tensor, leaves: Mapping[str, Tensor]) -> dict[tuple[str, ...], Value]:
    """By a backward pass that keeps the graph, since a later answer may use a part of it."""
    for leaf in leaves.values():
        leaf.clear_grad()
    if root.requires_grad:
        backward(root, retain_graph=True)
    return {(name,): spread(0.0, leaf.shape) if leaf.grad is None else leaf.grad.value for name, leaf in leaves.items()}


def _used(root: Tensor, leaves: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The leaves that a value depends on."""
    behind = reachable(root.node) if root.requires_grad else set()
    return {name: leaf for name, leaf in leaves.items() if leaf.node in behind}


def _orders(root: Tensor, leaves: Mapping[str, Tensor], order: int) -> dict[tuple[str, ...], Value]:
    """All derivatives up to an order; of those that differ only in the order of their names, one."""
    names = list(leaves)
    level: dict[tuple[str, ...], Tensor] = {(): root.sum() if order > 1 and root.shape else root}
    found: dict[tuple[str, ...], Value] = {}
    for depth in range(1, order + 1):
        deeper: dict[tuple[str, ...], Tensor] = {}
        for by, part in level.items():
            later = {name: leaves[name] for name in names[names.index(by[-1]) if by else 0 :]}
            used = _used(part, later)
            parts = autodiff.transforms.jacobian(part, list(used.values()), create_graph=depth < order) if used else ()
            rows = dict(zip(used, parts, strict=True))
            for name, leaf in later.items():
                deeper[*by, name] = rows[name] if name in rows else tensor(spread(0.0, part.shape + leaf.shape))
        found |= {by: part.value for by, part in deeper.items()}
        level = deeper
    return found
