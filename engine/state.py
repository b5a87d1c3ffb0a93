"""All that is global: the recording switch, what the language says of the statement under way, and its journal."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from agrad.engine.errors import Note, Origin

next_stamp = count(1).__next__


class State:
    """The switches; there is one, `STATE`."""

    __slots__ = ("journal", "listener", "origin", "recording", "statement")

    def __init__(self) -> None:
        self.recording = True
        self.origin: Origin | None = None  # of the expression that is being evaluated
        self.statement: Origin | None = None  # of the statement it belongs to
        self.journal: Journal | None = None
        self.listener: Callable[[Note], None] | None = None  # who hears what is worth saying about a result


class Journal:
    """What to put back if the statement under way fails. One is open while a statement runs.

    Every write to something older than the statement first says here how to undo itself. Only the first write to a
    thing counts, so that a long loop costs no more than one turn of it.
    """

    __slots__ = ("since", "undos")

    def __init__(self) -> None:
        self.since = next_stamp()
        self.undos: dict[object, Callable[[], None]] = {}

    def remember(self, key: object, undo: Callable[[], None]) -> None:
        """Keep `undo` unless the thing `key` has been written since the statement began."""
        self.undos.setdefault(key, undo)

    def roll_back(self) -> None:
        """Put everything back."""
        while self.undos:
            self.undos.popitem()[1]()  # the last first: what was snapped later may hold less of what was

    def join(self, outer: Journal) -> None:
        """Hand what this part of a statement wrote to the journal of the whole."""
        for key, undo in self.undos.items():
            outer.undos.setdefault(key, undo)


STATE = State()
