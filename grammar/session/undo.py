"""The undo logs of the last statements, which `undo` takes back, the last first.

An undo log keeps what its statement replaced: the old value of a name with the graph behind it, the arrays that a
backward released, the data that were overwritten. So the bytes that all of them keep are limited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from agrad.engine.core.context import UndoLog, current
from agrad.engine.core.graph import Gradient, Node
from agrad.engine.core.guards import Guard
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct
from agrad.engine.text import truncate
from agrad.engine.values import format_bytes
from agrad.grammar.diagnostics import Span
from agrad.grammar.values.lists import List

DEPTH = 100  # statements, where they are kept
MOST = 256e6  # bytes, of all but the last statement
SHARE = 4  # what is kept may take a quarter of the available memory
_MUCH = 1e6  # bytes that are worth telling
_FORGOTTEN = "earlier statements are forgotten: undo keeps at most {} of old values, or a quarter of the memory"
_NODE = 400  # bytes of a node by itself
_LONGEST = 60  # characters of a statement


class Step(Struct, eq=False, frozen=False):
    """A statement that changed something, and how to undo it."""

    text: str
    span: Span | None
    log: UndoLog
    answer: Any
    chosen: dict[str, Guard]
    place: int = 0  # how many statements of the log come before it
    bytes: int = 0
    nodes: tuple[Node, ...] = ()


class Steps:
    """The last statements, as many as `depth` says and memory allows."""

    def __init__(self) -> None:
        self.depth = 0
        self._kept: deque[Step] = deque()
        self._seen: set[Node] = set()  # nodes that are counted already
        self._forgotten = False  # whether statements were forgotten to save memory

    @property
    def bytes(self) -> int:
        """What is kept, at most: a part of it may be in use anyhow."""
        return sum(step.bytes for step in self._kept)

    @property
    def told(self) -> str:
        """The same in words, where it is much: `up to 720 MB for 30 statements`."""
        if self.bytes < _MUCH:
            return ""
        return f"up to {format_bytes(self.bytes)} for {len(self)} statement{'' if len(self) == 1 else 's'}"

    def holds(self, node: Node) -> bool:
        """Whether an old value leads to a node."""
        return node in self._seen

    @property
    def nodes(self) -> Iterable[Node]:
        """All nodes that old values lead to."""
        return self._seen

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, span: Span | None, log: UndoLog, answer: Any, chosen: dict[str, Guard], place: int = 0) -> None:
        """Remember a statement that has succeeded; do nothing if it changed only the last answer."""
        if not self.depth or not log.changed:
            return
        text = span.text if span is not None else "the last step"
        step = Step(truncate(text, _LONGEST), span, log, answer, chosen, place)
        self._weigh(step)
        self._kept.append(step)
        share = current().limits.memory / SHARE
        while len(self._kept) > self.depth or self.bytes > (min(MOST, share) if len(self._kept) > 1 else share):
            self._forgotten = self._forgotten or len(self._kept) <= self.depth
            self._forget(self._kept.popleft())

    def drop(self, log: UndoLog) -> None:
        """Forget a statement that failed later."""
        if self._kept and self._kept[-1].log is log:
            self._forget(self._kept[-1])
            self._kept.pop()

    @property
    def last(self) -> Step:
        """The next statement to take back."""
        return self._kept[-1]

    def since(self, place: Span) -> int:
        """How many statements to take back so that the one at or around a place is among them; 0 if none is."""
        for count, step in enumerate(reversed(self._kept), 1):
            span = step.span
            if span is not None and span.source == place.source and span.start <= place.start < span.end:
                return count
        return 0

    def too_few(self, count: int) -> AgradError:
        """The error if fewer statements can be taken back than were requested."""
        there = len(self)
        notes = [_FORGOTTEN.format(format_bytes(int(MOST)))] if self._forgotten else []
        if there:
            message = f"undo {count}: only {there} statement{'s' if there > 1 else ''} can be taken back"
            return AgradError("limit", message, notes=notes, fixes=[f"undo {there}" if there > 1 else "undo"])
        notes = notes or [f"undo takes back what changed something, the last {DEPTH} statements at most; see help undo"]
        return AgradError("limit", "there is nothing to take back", notes=notes)

    def turn_off(self) -> None:
        """Discard everything, and keep nothing from now on."""
        self.depth = 0
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self._seen.clear()
        self._forgotten = False

    def _forget(self, step: Step) -> None:
        """Stop counting the nodes of a step. May be called again if it was interrupted."""
        self._seen.difference_update(step.nodes)

    def _weigh(self, step: Step) -> None:
        """How many bytes an undo log keeps: at most, since a part may still be in use; each node once."""
        found: list[Node] = []
        stack = list(step.log.held)
        while stack:
            part = stack.pop()
            if isinstance(part, Tensor):
                stack += [part.node] if part.array is None else [part.node, part.array]
            elif isinstance(part, Gradient):
                stack.append(part.value)
            elif isinstance(part, tuple):
                stack += part
            elif isinstance(part, List):
                step.bytes += _NODE
            elif isinstance(part, Mapping):
                stack += part.values()
            elif type(part) is not Node:
                step.bytes += getattr(part, "nbytes", 0)
            elif part not in self._seen:
                self._seen.add(part)
                found.append(part)
                step.bytes += _NODE
                stack += (part.value, part.inputs, part.attrs)
        step.nodes = tuple(found)
