"""Whether numbers are rounding noise: no larger than the rounding errors of the computation that they came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

from agrad.engine.core.graph import Node, behind
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import np
from agrad.grammar import prompt
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.prompt.live import Computed, Unknown, apart
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.parser import parse_expression

NOISE = "(rounding noise)"
_MOST = 100  # nodes of a graph that is looked at
_ENTRIES = 1000  # that all of them may have, and half of the cost that an expression may have to be computed again
_SHOWN = 64  # entries of a result
_FEW = 3  # entries that are named


def is_noise(value: object) -> bool:
    """Whether a value is a number that its computation cannot tell from 0. False where that is not known.

    It is known of a number other than 0 with a small graph of numbers, which is neither freed nor stale.
    """
    number = value.value if isinstance(value, Tensor) else None
    if not isinstance(number, float) or number == 0 or not math.isfinite(number):
        return False
    bound = _errors(value)  # type: ignore[arg-type]
    return bound is not None and bool(abs(number) <= bound)


def mark(value: object, expression: ast.Expr | None = None, names: Mapping[str, Any] | None = None) -> str:
    """What is said behind a value of the rounding noise in it; nothing where there is none, or that is not known.

    A value without a graph is computed again, if its `expression` of the `names` is short and pure, with the numbers in
    it as leaves: what they were computed from themselves is not known.
    """
    if expression is not None and not (isinstance(value, Tensor) and value.requires_grad):
        value = _again(value, expression, names or {})
    if not isinstance(value, Tensor) or value.shape == ():
        return NOISE if is_noise(value) else ""
    places = _noisy(value)
    if not places:
        return ""
    if len(places) == np.count_nonzero(value.value):
        return NOISE
    told = ", ".join(str([*place]) for place in places[:_FEW])
    return f"(rounding noise: {told})" if len(places) <= _FEW else f"(rounding noise in {len(places)} entries)"


def _noisy(value: Tensor) -> list[tuple[int, ...]]:
    """The places of the entries of an array that its computation cannot tell from 0."""
    bounds = _errors(value)
    if bounds is None:
        return []
    found = (value.value != 0) & (np.abs(value.value) <= bounds)
    return [tuple(map(int, place)) for place in np.argwhere(found)]


def _errors(value: Tensor) -> Any:
    """The bounds on the rounding errors of a value with a small graph; None where they are not known."""
    if value.node.op is None or not value.requires_grad or value.size > _SHOWN or not _is_small(value.node):
        return None
    try:
        return prompt.rounding.rounding_errors(value.node)
    except (AgradError, ArithmeticError, ValueError, TypeError):  # an operand is not finite, or not known
        return None


def _is_small(root: Node) -> bool:
    """Whether a graph has few nodes with few entries."""
    found, entries = list(islice(behind([root]), _MOST + 1)), 0
    for node in found:
        entries += math.prod(node.shape)
        if len(found) > _MOST or node.freed is not None or entries > _ENTRIES or not _is_known(node):
            return False
    return True


def _is_known(node: Node) -> bool:
    """Whether a value is finite, as far as it is kept, and no code of the user computes it."""
    if node.op is not None and node.op.role == "opaque":
        return False
    if isinstance(node.value, float):
        return math.isfinite(node.value)
    return node.value is None or bool(np.isfinite(node.value).all())


def _again(value: object, expression: ast.Expr, names: Mapping[str, Any]) -> Tensor | None:
    """A value with the graph of its expression; None unless that gives the same, bit for bit."""
    if isinstance(expression, ast.Number | ast.Name | ast.List) or not isinstance(value, float | Tensor):
        return None
    found = apart(_ENTRIES * 10, _Recorded(names).of, expression)
    if not isinstance(found, Tensor):
        return None
    shown = value.value if isinstance(value, Tensor) else value
    numbers = isinstance(shown, float) and isinstance(found.value, float)  # NumPy is not loaded for these
    return found if (shown == found.value if numbers else np.array_equal(found.value, shown)) else None


class _Recorded(Computed):
    """One expression, computed with a graph behind the numbers in it."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        super().__init__(names)
        self.left = 2 * _ENTRIES

    def of(self, tree: ast.Expr) -> Any:
        """The value of an expression in which each number that is written is a leaf under a name of its own."""

        def leaf_of(node: Any) -> Any:
            if not isinstance(node, ast.Number) or type(node.value) is not float:
                return None
            name = f"{node.span.text} {node.span.start}"  # as no text spells one
            self.names[name] = tensor(node.value, requires_grad=True)
            return ast.Name(name, span=node.span)

        return super().of(ast.replaced(parse_expression(Source("noise", tree.span.text)), leaf_of))

    def known(self, name: str) -> Any:
        """A name, as a leaf."""
        value = super().known(name)
        return value if isinstance(value, Tensor) and value.requires_grad else tensor(value, requires_grad=True)

    def on_list(self, site: tuple[str, Span], *items: Any) -> Any:  # type: ignore[override]
        """`[1, 2]`, as a leaf."""
        values = [getattr(value, "value", value) for value in items]
        if not values:
            raise Unknown
        return tensor(np.array(values), requires_grad=True)
