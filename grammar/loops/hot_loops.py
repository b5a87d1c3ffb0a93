"""The turns of a `for` that all do the same are run as one program: their values, gradients and updates, nothing else.

The first turns run as they stand, and so does the last of each stretch, so that whatever can be seen afterwards (the
graph, who freed it, names, versions) is what it would have been. A turn that does something else, such as the one in
a hundred that prints, runs as it stands too. What a program computes is bit for bit the same. While a stretch is under
way nothing has changed yet: it can be interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agrad.engine.errors import AgradError
from agrad.grammar.runtime.compiler import compile_block

if TYPE_CHECKING:
    from agrad.grammar.loops.compiled_run import Turn
    from agrad.grammar.runtime.bytecode import Loop
    from agrad.grammar.runtime.vm import Machine

WARM = 3  # turns that run as they stand: by then every name has the kind of value that it goes on with
WORTH = 100  # turns that must be left for a program to pay
_STRIKES = 8  # short stretches, after which it is left alone
_SHORT = 4


class Turns:
    """The counter of a loop, which may leap."""

    __slots__ = ("due", "iterator", "loop", "numbers", "position", "strikes")

    def __init__(self, iterator: Iterator[Any], numbers: range, loop: Loop) -> None:
        self.iterator = iterator
        self.numbers = numbers
        self.loop = loop
        self.position = 0
        self.due: float = WARM
        self.strikes = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        value = next(self.iterator)
        self.position += 1
        return value

    def leap(self, machine: Machine) -> None:
        """Run as many of the turns to come as do the same, but for the last of them."""
        from agrad.grammar.loops.placeholders import NotStaticError  # here, since most loops are short

        if len(self.numbers) - self.position < WORTH:
            self.due = len(self.numbers)
            return
        try:
            turn = self._turn(machine)
        except (NotStaticError, AgradError):
            self.due, self.loop.refused = len(self.numbers), True
            return
        done = turn.run(self, machine)
        self.due = self.position + 1
        self.strikes = self.strikes + 1 if done < _SHORT else 0
        if self.strikes == _STRIKES // 2:
            self.loop.turn = None  # what turns do now may be another thing
        elif self.strikes > _STRIKES:
            self.due = len(self.numbers)

    def _turn(self, machine: Machine) -> Turn:
        """What a turn does; known from before, or found out now."""
        from agrad.grammar.loops.compiled_run import Turn  # as before
        from agrad.grammar.loops.staging import Tracer

        names = machine.session.names
        turn: Turn | None = self.loop.turn
        if turn is None or not turn.fits(names):
            tracer = Tracer(machine.session, self.loop.counter)
            tracer.turn(compile_block(self.loop.body), float(self.numbers[self.position]))
            self.loop.turn = turn = Turn(tracer)
        return turn
