"""The limits of a statement: its time, and the nodes that it keeps. The engine limits the memory of a result."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from agrad.engine.core.context import PYTHON_ADVICE, Limits, current, exhausted, next_stamp
from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, TimeLimit
from agrad.engine.values import LOADING, format_number
from agrad.grammar.values.lists import parts_of

if TYPE_CHECKING:
    from agrad.grammar.diagnostics import Span

NODES = 10_000_000  # some 4 GB
_AGAIN = 0.05  # seconds until a signal that came too early comes again
_PATIENCE = 1.0  # seconds until it is taken to be lost, as in a callback, where Python does not pass exceptions on
_LONGEST = 1e9  # seconds that a timer can be set to
_STAMPS = 1000  # that are handed out between two readings of the clock
_SIZE = r"(?i)(\d+\.?\d*(?:e\d+)?)\s*([kmgt]?)(i?)(?:b|bytes?)?"

_ADVICE = 'limit memory="{} GB"'


def memory_limit() -> float:
    """The bytes that one result may take: half of the machine's memory, unless something else is set."""
    return current().limits.memory


def limit_memory(memory: float, advice: str = "", ceiling: Callable[[float], None] | None = None) -> None:
    """Let one result take so many bytes.

    `advice`: how to allow more, with {} for a number of GB. `ceiling` is told of this limit and of every later one.
    """
    limits = current().limits
    limits.advice = advice or limits.advice
    limits.ceiling = ceiling or limits.ceiling
    limits.allow(memory)


def out_of_memory(error: MemoryError, advice: str) -> AgradError:
    """The error for a text, or an answer, that there was no memory for; `advice`: how to allow more, with {} for GB."""
    current().limits.advice = advice
    return exhausted("this", error)


class TimeUp(KeyboardInterrupt):
    """The time limit of a statement was exceeded. A KeyboardInterrupt, so that the statement stops as at Ctrl-C."""


class Watch:
    """Stops a statement that exceeds its time limit, or keeps too many nodes.

    A timer of the system interrupts the statement. Where there is none, and in a thread, loops read the clock in
    each iteration.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits  # of memory, of the session
        if limits.advice == PYTHON_ADVICE:
            limits.advice = _ADVICE
        self.time = math.inf  # seconds for a statement
        self.advice = "limit time={}"  # how to allow more
        self.nodes: float = NODES  # that a statement may record and keep
        self.running = False  # whether a signal stops anything
        self.due: float = 0  # the stamp from which on a loop should call `look`
        self._whole = self._deadline = math.inf  # seconds for everything, and when they are over
        self._until = math.inf
        self._loaded = 0.0  # seconds that numpy had taken to load when the statement began
        self._next: float = 0  # when a signal may stop the statement again
        self._before: Any = None  # the handler that the signal had
        self._timer = 0.0, 0.0  # the timer of a statement around this one: seconds left, and between two signals
        self._begun = 0.0  # when this one replaced it
        self._outer: Limits | None = None  # while a statement runs: the limit of memory outside of this session
        self._since = 0
        self._count_at: float = 0

    def end_in(self, seconds: float) -> None:
        """Set the deadline of everything, in seconds from now."""
        self._whole, self._deadline = seconds, monotonic() + seconds

    def allow(self, memory: float) -> None:
        """Set the limit of bytes for one result, from now on."""
        self.limits.set(memory)
        if self._outer is not None:
            self.limits.enforce()

    @property
    def polled(self) -> bool:
        """Whether no signal says that time is up, so that loops have to ask."""
        return self._until != math.inf and self._before is None

    @property
    def memory(self) -> float:
        """Bytes for one result."""
        return self.limits.memory

    @property
    def left(self) -> float:
        """The seconds that the running statement may still take, or that the next one may."""
        return self._end - monotonic() if self.running else min(self.time, self._deadline - monotonic())

    @property
    def _end(self) -> float:
        """When the running statement has to end: a limit of its own is not for loading numpy, one of everything is."""
        return min(self._until + LOADING.seconds - self._loaded, self._deadline)

    def start(self, span: Span | None = None, outer: Limits | None = None) -> None:
        """A statement is about to run: `running` may be set. Raises AgradError if the deadline has passed already.

        `outer` are the limits around it: those of the current context, unless the session has entered its own.
        """
        if self._deadline != math.inf and monotonic() >= self._deadline:
            raise self.too_long([Label(span)] if span is not None else [])
        self._outer = outer or current().limits
        if self.memory != self._outer.memory:
            self.limits.enforce()
        self._since = next_stamp()
        self.due = self._count_at = self._since + self.nodes
        if self.time == math.inf and self._deadline == math.inf:
            return
        now, self._loaded = monotonic(), LOADING.seconds
        self._until, self._next = min(now + self.time, self._deadline), -math.inf
        self.due = self._next = 0
        try:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            seconds = min(max(self._until - now, 1e-6), _LONGEST)
            self._begun, self._timer = now, signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        except (AttributeError, ValueError):  # no such signal, or not in the main thread
            self._before = None

    def stop(self) -> None:
        """The statement has ended, and `running` is off."""
        self._until = math.inf
        if self._outer is not None and self.memory != self._outer.memory:
            self._outer.enforce()
        self._outer = None
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            left, again = self._timer
            if left:
                signal.setitimer(signal.ITIMER_REAL, max(left - (monotonic() - self._begun), 1e-6), again)
            self._before = None  # last: if this is interrupted, it is called again

    def _ring(self, number: int, frame: object) -> None:
        now = monotonic()
        if self.running and now >= max(self._next, self._end):
            self._next = now + _PATIENCE
            raise TimeUp

    def look(self, held: Callable[[], Sequence[Any]], newest: Node | None = None) -> None:
        """Stop if the time limit is exceeded, or if values keep too many of the nodes made since, with the newest."""
        if self._until != math.inf and monotonic() > self._end:
            raise TimeUp
        stamp = next_stamp()
        if stamp > self._count_at:
            kept = _kept(held(), newest, self._since, self.nodes)
            if kept > self.nodes:
                count, more = format_number(self.nodes), format_number(2 * self.nodes)
                fixes = [Hint("no_grad: …   where no derivative is needed"), f"limit nodes={more}"]
                raise AgradError("limit", f"this keeps more than {count} nodes, the limit", fixes=fixes)
            self._count_at = stamp + max(self.nodes - kept, self.nodes / 64)  # so many more can be too many
        self.due = self._count_at if self._until == math.inf else min(self._count_at, stamp + _STAMPS)

    def too_long(self, labels: list[Label]) -> AgradError:
        """The error for a statement that took too long."""
        whole = monotonic() >= self._deadline
        message = f"this took longer than {format_number(self._whole if whole else self.time)} s, the limit"
        fixes = [] if whole else [self.advice.format(format_number(10 * self.time))]
        return AgradError("limit", message, labels=labels, fixes=fixes, facts=TimeLimit())


def _kept(held: Sequence[Any], newest: Node | None, since: int, most: float) -> int:
    """How many nodes younger than a stamp some values keep, also in tuples and objects; stops beyond `most`."""
    values = [value for value in parts_of(held) if isinstance(value, Tensor)]
    nodes = [value.node for one in values for value in (one, one.grad) if value is not None]
    found = {node for node in nodes if node.seq > since} | ({newest} if newest is not None else set())
    stack = list(found)
    while stack and len(found) <= most:
        for operand in stack.pop().inputs:
            if type(operand) is Node and operand.seq > since and operand not in found:
                found.add(operand)
                stack.append(operand)
    return len(found)


def bytes_of(text: str) -> float:
    """The bytes that a text such as `4 GB`, `512MiB` or `2e9` means; 0 if it means none."""
    found = re.fullmatch(_SIZE, text.strip())
    if found is None:
        return 0.0
    number, unit, binary = found.groups()
    return float(number) * float(1024 if binary else 1000) ** " kmgt".index(unit.lower() or " ")
