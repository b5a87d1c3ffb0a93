"""The progress of a long loop: a line on stderr, on a terminal, that is removed before anything else is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from time import monotonic
from typing import Any, TypeVar

import click

from agrad.engine.text import truncate
from agrad.grammar.results import Result
from agrad.grammar.session.session import Session

AFTER = 2.0  # seconds until a loop counts as long
_EVERY = 0.1  # seconds between two lines
_SHORT = 0.02  # seconds: while a group of iterations takes less, the next group has twice as many
_MOST = 64  # iterations between two readings of the clock


class Loop:
    """A running loop: how many iterations it has, if that is known, how many are done, and what else is told."""

    __slots__ = ("done", "remark", "start", "total")

    def __init__(self, total: int | None, start: float, remark: Callable[[], str] | None = None) -> None:
        self.total = total
        self.start = start
        self.remark = remark
        self.done = 0


_P = TypeVar("_P", bound="Progress")


class Progress:
    """Watches the loops of a session and shows their progress; the `progress` of a session."""

    def __init__(self, write: Callable[[str], object], width: int = 79, clock: Callable[[], float] = monotonic) -> None:
        self.write = write
        self.width = width
        self.clock = clock
        self.loops: list[Loop] = []
        self.next = 0.0  # when the line may be written again
        self.shown = 0  # the length of the line that is shown

    def __call__(
        self, turns: Iterator[Any], total: int | None, remark: Callable[[], str] | None = None
    ) -> Iterator[Any]:
        """An iterator over the same values, which shows the progress, with a remark after it."""
        return chain.from_iterable(self._handfuls(turns, Loop(total, self.clock(), remark)))

    def _handfuls(self, turns: Iterator[Any], loop: Loop) -> Iterator[Any]:
        """Yield the values in groups, so that reading the clock between two groups costs little."""
        total, size = loop.total, 1
        before = loop.start
        self.loops.append(loop)
        try:
            while total is None or loop.done < total:
                yield islice(turns, size) if total is not None else (next(turns),)
                loop.done += size
                now = self.clock()
                if total is not None:
                    size = min(2 * size, _MOST) if now - before < _SHORT else max(size // 2, 1)
                before = now
                if now >= max(self.next, self.loops[0].start + AFTER):
                    self._show(now)
        except StopIteration:  # a loop of unknown length is over
            return
        finally:
            self.loops.remove(loop)
            self.clear()

    def _show(self, now: float) -> None:
        """Write the line over the previous one."""
        self.next = now + _EVERY
        text = truncate(self.line(now), self.width)
        self.write(f"\r{text.ljust(self.shown)}")
        self.shown = max(self.shown, len(text))

    def line(self, now: float) -> str:
        """`iteration 2 of 3, iteration 500 of 1000: 12 s, about 40 s left`: the outer loops first."""
        turns, part = [], 0.0
        for loop in reversed(self.loops):
            at = loop.done + 1 if loop.total is None else min(loop.done + 1, loop.total)
            remark = f", {loop.remark()}" if loop.remark is not None else ""
            turns.append(f"iteration {at}" + (f" of {loop.total}" if loop.total is not None else "") + remark)
            part = (loop.done + part) / loop.total if loop.total else 0.0
        elapsed = now - self.loops[0].start
        left = f", about {duration(elapsed * (1 - part) / part)} left" if part else ""
        return f"{', '.join(reversed(turns))}: {duration(elapsed)}{left}"

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            shown, self.shown = self.shown, 0
            self.write(f"\r{' ' * min(shown + len('^C'), self.width)}\r")  # a Ctrl-C has added ^C to it


def duration(seconds: float) -> str:
    """`12 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def watching(session: Session, emit: Callable[[Result], None]) -> Iterator[Callable[[Result], None]]:
    """Show the progress of a session's loops, if the terminal can remove a line; yields the function to print with."""

    def printed(result: Result) -> None:
        clear(session)
        emit(result)

    session.progress = on_terminal(Progress)
    try:
        yield printed
    finally:
        clear(session)
        session.progress = None


def clear(session: Session) -> None:
    """Remove the line, if there is one."""
    if isinstance(session.progress, Progress):
        session.progress.clear()


def on_terminal(kind: Callable[[Callable[[str], object], int], _P]) -> _P | None:
    """A progress line on stderr, if that is a terminal that can remove it."""
    if not sys.stderr or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        width = 80
    return kind(lambda text: click.echo(text, err=True, nl=False), width - 1)
