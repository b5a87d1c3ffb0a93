"""The counter of a `for` over a range, which runs many iterations at once where the body can be compiled.

The first iterations run uncompiled, and so does the last before each return to the machine, so that everything that
can be seen afterwards (the graph, what freed it, names, versions) is what it would have been. An iteration that takes
another path, such as the one in a hundred that prints, runs uncompiled too. The compiled values are bit for bit the
same, but for the last digits of what machine code computes: see `compiled_run.Native`. During a compiled run nothing
has changed yet, so it can be interrupted.

The decision depends on counts: iterations done, iterations left, and how many ran compiled in a row. A clock is read
only for `time:`, which shows the seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agrad.engine.autodiff.reverse import HOOKED
from agrad.engine.core.context import current
from agrad.engine.errors import AgradError
from agrad.grammar import loops
from agrad.grammar.run.code import of_body
from agrad.grammar.runtime.operations import iterate

if TYPE_CHECKING:
    from agrad.grammar.loops.compiled_run import CompiledIteration
    from agrad.grammar.run.machine import Machine
    from agrad.grammar.runtime.builtins import Loop

WARM = 3  # iterations that run uncompiled first: by then every name has the kind of value that it keeps
WORTH = 100  # iterations that must be left for compiling to pay
_STRIKES = 8  # short compiled runs after which the loop is no longer compiled
_SHORT = 4  # a run with fewer iterations is short
_REFUSED = 3  # iterations of a loop that are tried, of which one may print, say
_STAGED = 4  # times that a loop is staged, before it is known whether that pays


def counter(machine: Machine, iterator: Iterator[Any], numbers: range, loop: Loop) -> Iterator[Any]:
    """The iterator of a loop over a range: the one given if the loop is too short or its body cannot be staged."""
    if len(numbers) < WORTH or loop.refused or HOOKED:  # a hook sees each backward
        return iterator
    return HotLoop(machine, iterator, numbers, loop)


class HotLoop:
    """The counter of a loop, which skips the iterations that it runs compiled."""

    def __init__(self, machine: Machine, iterator: Iterator[Any], numbers: range, loop: Loop) -> None:
        self._machine = machine
        self._iterator = iterator
        self._loop = loop
        self._due: float = WARM  # the position at which compiling is tried next
        self._strikes = 0
        self._refused = 0  # iterations that could not be staged
        self._has_conditions = False  # whether the last one that was staged decided something
        self._own: CompiledIteration | None = None  # one for this call of a function
        self.numbers = numbers
        self.position = 0  # of the iteration to come

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.position >= self._due:
            self._run_compiled()
        value = next(self._iterator)
        self.position += 1
        return value

    def skip(self, count: int) -> None:
        """Go past iterations that ran compiled."""
        self.position += count
        if type(self._iterator) is map:  # the numbers themselves, and nothing that shows how far they are
            self._iterator = iterate(self.numbers[self.position :])
            return
        for _ in range(count):
            next(self._iterator)

    def _run_compiled(self) -> None:
        """Run as many of the next iterations as take the same path, except the last."""
        if len(self.numbers) - self.position < WORTH:
            self._due = len(self.numbers)
            return
        clock = current().clock
        began = perf_counter() if clock is not None else 0.0
        try:
            iteration = self._compiled()
        except (loops.compiled_run.NotTraceable, AgradError):
            # The next one or two are tried, too, which may take another path.
            self._refused += 1
            self._due = self.position + 1
            if self._refused == _REFUSED or not self._has_conditions:
                self._due, self._loop.refused = len(self.numbers), True
            return
        if iteration is None:
            self._due = len(self.numbers)
            return
        done = iteration.run(self.numbers[self.position :], self.skip, self._machine)
        self._loop.ran += done
        if clock is not None:
            clock.iterations += done
            clock.compiled += perf_counter() - began
        self._due = self.position + 1
        self._strikes = self._strikes + 1 if done < _SHORT else 0
        if self._strikes == _STRIKES // 2:
            self._own = self._loop.compiled = None  # iterations may take another path now
        elif self._strikes > _STRIKES:
            self._due = len(self.numbers)

    def _compiled(self) -> CompiledIteration | None:
        """The compiled iteration: the one known from before if it fits, or a new one; None if that does not pay."""
        machine, loop = self._machine, self._loop
        scopes = machine.running_scopes()
        known: CompiledIteration | None = self._own or loop.compiled
        if known is None or not known.fits(scopes, machine.in_use):
            if loop.staged >= _STAGED and loop.ran < WORTH * loop.staged:
                return None
            loop.staged += 1
            stager = loops.compiled_run.Stager(machine.session, loop.counter, scopes, machine.in_use)
            try:
                if loop.code is None:
                    loop.code = of_body(loop.body, loop.in_function)
                stager.stage(loop.code, float(self.numbers[self.position]))
                known = loops.compiled_run.CompiledIteration(stager)
            finally:
                self._has_conditions = bool(stager.conditions)
            self._own = known if known.keeps_names else None
            loop.compiled = None if known.keeps_names else known
        return known
