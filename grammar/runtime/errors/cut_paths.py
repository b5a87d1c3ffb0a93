"""Notes where a gradient ends without a word: at a new leaf, and at a plain number in a function to differentiate."""

from __future__ import annotations

import re
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import roots_of
from agrad.engine.errors import Hint, Label, Note
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.errors.fixes import corrected

READERS = frozenset({"float", "item", "tolist"})  # what gives plain numbers
# Statements in which a plain number is not computed with.
_ASKING = r"\s*(print|if|elif|while|assert)\b"


class CutPaths:
    """What has been noted: each place once."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: set[tuple[str, int]] = set()

    def at_leaf(self, name: str, value: Any, span: Span) -> Note | None:
        """The note on `var u = x**2` of a leaf x; none on `var x = x/2`, a leaf that takes the place of another."""
        if not isinstance(value, Tensor) or not value.requires_grad or (value.is_leaf and value.name is None):
            return None
        behind = list(dict.fromkeys(leaf.name for leaf in _leaves(value.node) if leaf.name is not None))
        in_function = current().reads is not None
        if name in behind or not (behind or in_function) or not self._is_first(span):
            return None
        fixes: list[str] = [Hint(f"var {name} = detach(…)   for a leaf that begins at this value")]
        typed = re.match(r"var[ \t]+", span.text)
        if typed is not None:
            fixes.insert(0, corrected(Span(span.source, span.start, span.start + typed.end()), ""))
        told = (
            f"no gradient goes through it to {', '.join(behind)}"
            if behind
            else "the derivative takes it for a constant"
        )
        message = f"{name} is a new leaf: {told}"
        return Note(message, labels=[Label(span)], fixes=fixes)

    def at_number(self, name: str, value: Any, span: Span) -> Note | None:
        """The note on `float(x)` and `x.item()`, while a derivative of the function in which it stands is computed."""
        if current().reads is None or not isinstance(value, Tensor) or not value.requires_grad:
            return None
        if re.match(_ASKING, span.source.line_at(span.start)) or not self._is_first(span):
            return None
        message = f"{span.text} is a plain number: the derivative takes it for a constant"
        fixes = [Hint("x   itself, for its part of the derivative"), Hint("detach(x)   where a constant is meant")]
        return Note(message, labels=[Label(span)], fixes=fixes)

    def _is_first(self, span: Span) -> bool:
        place = span.text, span.start
        found = place not in self._told
        self._told.add(place)
        return found


def _leaves(node: Node) -> list[Node]:
    """The leaves behind a value, but for uncertain numbers: with these a new leaf stays correlated."""
    found = [root() for root in roots_of(node)]
    return [leaf for leaf in found if leaf is not None and leaf.requires_grad and leaf.uncertainty is None]
