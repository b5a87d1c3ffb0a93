"""Rows in pieces on all cores: code that releases Python's lock runs in parallel in threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread

PIECE = 1 << 15  # rows: few enough that a thread can be stopped soon


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def in_pieces(rows: int, work: Callable[[int, int], object], threads: int | None = None) -> None:
    """Call `work(first, end)` for pieces that make up all rows, on so many threads; on all cores if None.

    If it is interrupted, or a piece fails, no further piece begins; it waits for those that have begun, and raises.
    """
    pieces = iter(range(0, rows, PIECE))
    failures: list[BaseException] = []

    def take() -> None:
        try:
            for first in pieces:  # each piece once, in any thread
                if failures:
                    return
                work(first, min(first + PIECE, rows))
        except BaseException as error:  # a thread has nobody to tell: the caller raises it
            failures.append(error)

    helpers: list[Thread] = []
    try:
        _start(helpers, take, min(threads or cores(), -(-rows // PIECE)) - 1)
        take()
        for helper in helpers:
            helper.join()
    except BaseException as error:  # an interruption during the wait
        failures.append(error)
        for helper in helpers:
            helper.join()
    if failures:
        raise failures[0]


def _start(helpers: list[Thread], take: Callable[[], None], count: int) -> None:
    """So many threads, or as many as the system allows."""
    for _ in range(count):
        helper = Thread(target=take, daemon=True)
        try:
            helper.start()
        except RuntimeError:
            return
        helpers.append(helper)
