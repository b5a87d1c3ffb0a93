"""The graphs of a session at its prompt: the newest, what a key moves in it, and what all of them hold."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite

from agrad.engine import inspect
from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.inspect.memory import Survey as Survey
from agrad.engine.values import format_number
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import lexed
from agrad.grammar.values.lists import parts_of
from agrad.lazy import pattern

_BARE = pattern(
    r"\s*(backward|explain|forward|grad|graph|info)\b\s*(?:(as|depth|retain|create_graph|fresh|trace)\b.*)?$"
)


def newest(session: Session) -> tuple[str, Tensor] | None:
    """The name of the value that was computed last, of those that have a graph, and the value."""
    graphs = [
        (value.node.seq, name)
        for name, value in session.names.items()
        if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf
    ]
    if not graphs:
        return None
    name = max(graphs)[1]
    return name, session.names[name]


def with_newest(text: str, session: Session) -> tuple[str, str]:
    """A bare command with the newest graph as its operand, and that as a line; any other text, and nothing."""
    found = _BARE.match(text)
    if found is None or found[1] in session.names:
        return text, ""
    graph = newest(session)
    if graph is None:
        return text, ""
    name, value = graph
    if found[1] == "grad":  # of the leaves behind it
        behind = set(collect([value.node]))
        leaves = [(one, x) for one, x in session.names.items() if isinstance(x, Tensor) and x.is_leaf]
        name = " ".join(one for one, x in leaves if x.requires_grad and x.node in behind) or name
    text = f"{found[1]} {name}{text[found.end(1) :].rstrip()}"
    return text, text.strip()


# Moving a leaf a little, as with a slider: the statement that a key types for the user.

_SHARE = Decimal("0.01")  # of its size, which a leaf moves by at least


class Stepping:
    """The steps of leaves with one entry. A leaf that is moved on keeps the size of its step: 1.9, 2, 2.1."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._name, self._value, self._size = "", "", Decimal(1)  # of the last step

    def leaf(self, text: str, cursor: int) -> str:
        """The name at the cursor, or that ends there, if it is of a leaf with one finite entry; else nothing."""
        before = ""
        for token in lexed(text):
            start = token.start_pos
            if token.type == "NAME" and start is not None and start <= cursor <= start + len(token) and before != ".":
                return str(token) if self._leaf(str(token)) is not None else ""
            before = str(token)
        return ""

    def _leaf(self, name: str) -> Tensor | None:
        value = self.session.names.get(name)
        if not isinstance(value, Tensor) or not value.is_leaf or value.shape != () or not isfinite(value.value):
            return None
        return value

    def statement(self, name: str, direction: int, *shown: str) -> str:
        """What moves a leaf up (1) or down (-1), silently.

        `forward` where a text that is shown has names of values computed from it, which follow; else `set`. The size is
        one in the last digit that is shown of the leaf, or, where that is less than 1 % of it, the power of ten next
        below 1 %.
        """
        leaf = self._leaf(name)
        assert leaf is not None
        there = format_number(float(leaf.value), self.session.settings.precision)
        if (name, there) != (self._name, self._value):
            self._size = _size(Decimal(there))
        value = float(Decimal(there) + direction * self._size)
        self._name, self._value = name, format_number(value, self.session.settings.precision)
        computed = " ".join(self._computed(leaf, shown))
        return f"forward {computed} with {name}={value:.15g};" if computed else f"set {name} = {value:.15g};"

    def _computed(self, leaf: Tensor, shown: tuple[str, ...]) -> list[str]:
        """The names in some texts whose values were computed from a leaf."""
        names = dict.fromkeys(str(token) for text in shown for token in lexed(text) if token.type == "NAME")
        values = [(name, self.session.names.get(name)) for name in names]
        computed = [(name, x) for name, x in values if isinstance(x, Tensor) and x.requires_grad and not x.is_leaf]
        return [name for name, value in computed if leaf.node in collect([value.node])]


def _size(value: Decimal) -> Decimal:
    """One in the last digit of a number, or the power of ten next below 1 % of it if that is more."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # the number is finite
    last = Decimal(1).scaleb(exponent if any(digits) else min(exponent, 0))
    share = abs(value) * _SHARE
    return max(last, Decimal(1).scaleb(share.adjusted())) if share else last


def survey(session: Session, most: int) -> Survey:
    """The graphs behind the names of a session, for the toolbar below the prompt; about `most` nodes are visited."""
    return inspect.memory.survey(parts_of(session.names.values()), most)
