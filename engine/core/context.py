"""All that is global: the recording switch, what the language says of the statement under way, and its journal."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from agrad.engine.errors import Note, Origin

if TYPE_CHECKING:
    from agrad.engine.core.graph import Node
    from agrad.engine.core.guards import Guard

next_stamp = count(1).__next__


class State:
    """The switches; there is one, `STATE`."""

    __slots__ = ("clock", "guard", "journal", "listener", "origin", "recording", "statement")

    def __init__(self) -> None:
        self.recording = True
        self.origin: Origin | None = None  # of the expression that is being evaluated
        self.statement: Origin | None = None  # of the statement it belongs to
        self.journal: Journal | None = None
        self.guard: Guard | None = None  # the last of the choices that what is computed now depends on
        self.clock: Clock | None = None  # who measures
        self.listener: Callable[[Note], None] | None = None  # who hears what is worth saying about a result


class Clock:
    """What the backwards of a statement that is being timed cost, and what they started from.

    While it is there they free nothing, so that the graph can be measured afterwards.
    """

    __slots__ = ("roots", "walking")

    def __init__(self) -> None:
        self.roots: list[Node] = []
        self.walking = 0.0  # seconds

    def walked(self, root: Node, seconds: float) -> None:
        """A backward from a node took so long."""
        self.roots.append(root)
        self.walking += seconds


class Journal:
    """What to put back if the statement under way fails. One is open while a statement runs.

    Every write to something older than the statement first says here how to undo itself. Only the first write to a
    thing counts, so that a long loop costs no more than one turn of it.
    """

    __slots__ = ("held", "since", "undos")

    def __init__(self) -> None:
        self.since = next_stamp()
        self.undos: dict[object, Callable[[], None]] = {}
        self.held: list[object] = []  # what the undos would bring back, and so keep in memory
        if STATE.journal is not None:
            STATE.journal.remember(self, self.roll_back)  # of a part: should nobody come to roll it back

    @property
    def changed(self) -> bool:
        """Whether there is anything to put back."""
        return any(not isinstance(key, Journal) or key.changed for key in self.undos)

    def remember(self, key: object, undo: Callable[[], None], held: object = None) -> None:
        """Keep `undo`, which holds on to `held`, unless the thing `key` has been written since the statement began."""
        if self.undos.setdefault(key, undo) is undo and held is not None:
            self.held.append(held)

    def remember_first(self, key: object, undo: Callable[[], None]) -> None:
        """Keep an `undo` that is to run when all others have, whatever else is written."""
        if key not in self.undos:
            self.undos = {key: undo, **self.undos}

    def roll_back(self) -> None:
        """Put everything back. A Ctrl-C that comes meanwhile is heard when that is done."""
        try:
            while self.undos:
                next(reversed(self.undos.values()))()  # the last first: what was snapped later may hold less
                self.undos.popitem()  # only now: an undo that was interrupted is run again
            self.held.clear()
        except KeyboardInterrupt:
            self.roll_back()
            raise


STATE = State()
