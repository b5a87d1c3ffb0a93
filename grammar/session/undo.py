"""The undo logs of the last statements, which `undo` takes back, the last first.

An undo log keeps what its statement replaced: the old value of a name with the graph behind it, the arrays that a
backward released, the data that were overwritten. So the bytes that all of them keep are limited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agrad.engine.core.context import UndoLog, current
from agrad.engine.core.graph import Gradient, Node
from agrad.engine.core.guards import Guard
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.ops.tables import Table
from agrad.engine.struct import Struct
from agrad.engine.text import printable, truncate
from agrad.engine.values import format_bytes
from agrad.grammar.diagnostics import Span
from agrad.grammar.values.lists import List

if TYPE_CHECKING:
    from agrad.grammar.session.log import Entry

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
    last: tuple[Any, ...]  # the last answer before it
    chosen: dict[str, Guard]
    place: int = 0  # how many statements of the log come before it
    turn: int = 0  # which text it is of, where the statements of a text are taken back together
    bytes: int = 0
    nodes: tuple[Node, ...] = ()


class Steps:
    """The last statements, as many as `depth` says and memory allows."""

    def __init__(self) -> None:
        self.depth = 0
        self.undone: list[list[Entry]] = []  # what was taken back, for `redo`: the last is the last taken back
        self.redoing = False  # whether it runs again, so that the rest can be brought back too
        self._turn = 0  # of the text that runs
        self._partly = 0  # of the text whose first statements are forgotten
        self._number = 0  # of the line that runs again
        self._together = False  # whether they are taken back together later
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

    def begin(self, together: bool, number: int = 0) -> None:
        """A text is about to run. `together`: whether `undo` takes its statements back together.

        `number`: of a line of which the statements are run one by one, as when a session is restored.
        """
        if not number or number != self._number or not together:
            self._turn += 1
        self._together, self._number = together, number

    @property
    def units(self) -> int:
        """How often `undo` can take something back: the lines that were entered, or statements."""
        turns = {step.turn for step in self._kept if self._is_whole(step)}
        return len(turns) + sum(not self._is_whole(step) for step in self._kept)

    def _is_whole(self, step: Step) -> bool:
        """Whether a statement is taken back with the others of its line: not in the line that asks."""
        return step.turn > 0 and step.turn != self._turn

    @property
    def last_together(self) -> list[Step]:
        """The statements to take back next, in the order in which they ran."""
        last = self._kept[-1]
        if not self._is_whole(last):
            return [last]
        return [step for step in self._kept if step.turn == last.turn]

    def keep(
        self, span: Span | None, log: UndoLog, last: tuple[Any, ...], chosen: dict[str, Guard], place: int = 0
    ) -> None:
        """Remember a statement that has succeeded; do nothing if it changed only the last answer."""
        if not self.depth or not log.changed:
            return
        if not self.redoing:
            self.undone.clear()
        if self._together and self._partly == self._turn:
            return  # what began this line is forgotten already
        text = short(span) if span is not None else "the last step"
        step = Step(text, span, log, last, chosen, place, self._turn if self._together else 0)
        self._weigh(step)
        self._kept.append(step)
        share = current().limits.memory / SHARE
        while (len(self._kept) > self.depth and self.units > self.depth) or self.bytes > (
            min(MOST, share) if len(self._kept) > 1 else share
        ):
            self._forgotten = self._forgotten or len(self._kept) <= self.depth
            first = self._kept[0]
            self._partly = first.turn
            while self._kept and (self._kept[0] is first or (first.turn and self._kept[0].turn == first.turn)):
                self._forget(self._kept.popleft())  # a line is kept whole, or not at all

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
                return len({step.turn or id(step) for step in list(self._kept)[-count:]})
        return 0

    def too_few(self, count: int) -> AgradError:
        """The error if fewer statements can be taken back than were requested."""
        there = self.units
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
        self.undone.clear()
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
            elif isinstance(part, Table):
                stack += (part[:, place] for place in range(len(part.columns)))
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


def together(texts: Iterable[str]) -> str:
    """Statements that were typed together, in one short line."""
    return printable(truncate("; ".join(texts), _LONGEST))


def short(span: Span) -> str:
    """A statement in one short line: of a block the first."""
    first, _, rest = span.source.text[span.start : span.end].partition("\n")
    return truncate(f"{first} …" if rest.strip() else first, _LONGEST)
