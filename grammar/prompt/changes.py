"""What a statement has changed, in a few lines; and the graphs of a session at its prompt.

Of these: the newest, and what a key moves in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from math import isfinite
from typing import Any

from agrad.engine.autodiff.optim import OPTIONS
from agrad.engine.autodiff.uncertainty import lost
from agrad.engine.core.graph import behind, collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import was_cut
from agrad.engine.inspect import memory
from agrad.engine.inspect.memory import Survey as Survey
from agrad.engine.text import truncate
from agrad.engine.values import format_number, format_shape
from agrad.grammar.results import Settings, text_of
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import lexed
from agrad.grammar.values.lists import List, parts_of
from agrad.lazy import pattern

_DIGITS = 6  # of numbers that change
_FEW = 6  # parts; the number of those left out follows
_MOST = 1000  # nodes to visit
_ENTRIES = 100  # of a list, which are looked at
_LINES = 3  # at most, where the terminal is narrow
_STEP = pattern(r"\s*step\s+(\w+)\b(?!.*\blr\b)")


class Changes:
    """Compares the names of a session before and after each text that is typed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.before: dict[str, _State] = {}
        self.within: dict[str, _State] = {}

    def begin(self) -> None:
        """A text is about to run."""
        self.before, self.within = (self._states(), self._entries()) if self.session.settings.echo else ({}, {})

    def line(self, text: str) -> str:
        """What has changed since `begin`, folded between names; nothing for what was typed as it would be shown."""
        parts = list(self._changes())
        step = _STEP.match(text) if parts else None
        if step is not None and step[1] in OPTIONS:
            parts += [f"lr {format_number(OPTIONS[step[1]]['lr'], self.session.settings.precision)}"]
        if parts == [re.sub(r"^\s*var\s+|\s+$", "", part).strip() for part in text.split(";")]:
            return ""  # `x = 3`
        return "\n".join(_folded(parts, self.session.settings.columns - 1))

    def _states(self) -> dict[str, _State]:
        return {name: _State(value) for name, value in self.session.names.items()}

    def _entries(self) -> dict[str, _State]:
        """The values in lists, by how they are written, as far as a statement may write to them."""
        lists = [(name, value) for name, value in self.session.names.items() if isinstance(value, List)]
        return {
            f"{name}[{place}]": _State(value)
            for name, values in lists
            for place, value in enumerate(islice(values, _ENTRIES))
            if isinstance(value, Tensor)
        }

    def _changes(self) -> Iterator[str]:
        """What has changed, name by name: values first, then gradients, then what has none any more."""
        found = self._states()
        cleared = []
        for name, now in found.items():
            before = self.before.get(name)
            if before is None or before.value is not now.value:
                yield from self._bound(name, now)
            elif before.version != now.version:
                yield self._written(name, before, now)
        for name, now in (self._entries() if self.within else {}).items():
            before = self.within.get(name)
            if before is not None and before.value is now.value and before.version != now.version:
                yield self._written(name, before, now)
        for name, now in found.items():
            before = self.before.get(name)
            if before is None or before.value is not now.value or before.has_gradient_of(now):
                continue
            if now.gradient[0] is None:
                cleared.append(f"{name}.grad")
            else:
                yield self._as_value(f"{name}.grad", now.value.grad)
        if cleared:
            yield f"cleared {', '.join(cleared)}"
        yield from self._left_behind(found)
        gone = [name for name in self.before if name not in found]
        if gone:
            yield f"forgot {', '.join(gone)}"

    def _left_behind(self, found: dict[str, _State]) -> Iterator[str]:
        """`y keeps the old x`: a value that was computed from a leaf whose name now has another one."""
        for name, before in self.before.items():
            now = found.get(name)
            if not before.is_leaf or now is None or now.value is before.value:
                continue
            if _depends(now.value, before.value.node):
                continue  # `x = x*2`
            old = before.value.node
            kept = [other for other, one in found.items() if _depends(one.value, old)]
            if kept:
                yield f"{' and '.join(kept[:2])} keep{'s' if len(kept) == 1 else ''} the old {name}"

    def _bound(self, name: str, now: _State) -> Iterator[str]:
        if isinstance(now.value, Tensor | float):
            before = self.before.get(name)
            ended = before is not None and before.is_leaf and not getattr(now.value, "requires_grad", False)
            yield f"{self._as_value(name, now.value)}{', no longer a leaf' if ended else ''}"

    def _written(self, name: str, before: _State, now: _State) -> str:
        """`w 2 → 1.97`, or the shape of an array."""
        if before.number is None or now.number is None:
            return f"{name} {format_shape(now.value.shape)}"
        old, new = (text_of(one, Settings(_DIGITS)) for one in (before.number, now.value))
        if old == new:
            old, new = (format_number(number, None) for number in (before.number, now.number))
        return f"{name} {old} → {new}"

    def _as_value(self, name: str, value: Any) -> str:
        """`x.grad = 12`, or `w.grad (3)` for an array."""
        if isinstance(value, Tensor) and value.shape != ():
            return f"{name} {format_shape(value.shape)}"
        shown = truncate(text_of(value, self.session.settings), 30)
        if isinstance(value, Tensor) and was_cut(value.node) and lost(value):
            shown = f"{shown} without uncertainty"
        return f"{name} = {shown}"


class _State:
    """A value as it is now, as far as a change shows."""

    __slots__ = ("gradient", "is_leaf", "number", "value", "version")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.version: Any = None
        self.number: float | None = None
        self.is_leaf = isinstance(value, Tensor) and value.requires_grad and value.node.op is None
        self.gradient: tuple[Any, int] = None, 0  # kept, so that another does not take its place in memory
        if isinstance(value, Tensor):
            number = value.value
            self.number = number if isinstance(number, float) else None
            kept = value.node.grad
            self.version = value.version, None if self.number is None else self.number.hex()
            self.gradient = (None, 0) if kept is None else (kept.value, kept.calls)

    def has_gradient_of(self, other: _State) -> bool:
        """Whether the gradient is that of another state."""
        return self.gradient[0] is other.gradient[0] and self.gradient[1] == other.gradient[1]


def _depends(value: Any, leaf: Any) -> bool:
    """Whether a value can be differentiated by a leaf; of a graph that is freed, or very large, nothing is said."""
    if not isinstance(value, Tensor) or not value.requires_grad or value.is_leaf or value.node.freed is not None:
        return False
    return leaf in islice(behind([value.node], lambda node: node.requires_grad or node is leaf), _MOST)


def _folded(parts: list[str], width: int) -> list[str]:
    """Lines of whole parts, of which there are few; the number of those left out follows."""
    count = min(len(parts), _FEW if len(parts) <= _FEW else _FEW - 1)
    while True:
        more = len(parts) - count
        lines = [""]
        for place, part in enumerate(parts[:count]):
            part = truncate(part, width)
            behind = f" … and {more} more" if more and place == count - 1 else "," if place < count - 1 else ""
            joined = f"{lines[-1]} {part}{behind}".lstrip()
            lines = [*lines[:-1], joined] if len(joined) <= width or not lines[-1] else [*lines, f"{part}{behind}"]
        if len(lines) <= _LINES or count == 1:
            return lines
        count -= 1


# The graphs of the session

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
    return memory.survey(parts_of(session.names.values()), most)
