"""How deeply calls may be nested: Python's limit, which all threads share, as high as one of them needs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

_usual = sys.getrecursionlimit()  # while no thread needs more
_needed: dict[int, int] = {}  # by thread


def needed() -> int:
    """What this thread needs at present, for `need`; 0 is nothing."""
    return _needed.get(get_ident(), 0)


def need(calls: int) -> None:
    """Set what this thread needs from now on.

    Without a lock, for which a finalizer that runs here would wait: who sets the limit last makes it right.
    """
    global _usual
    now, thread = sys.getrecursionlimit(), get_ident()
    if not _needed:  # nobody has changed it
        _usual = now
    _needed[thread] = calls
    while (wanted := max(_usual, *_needed.copy().values())) != sys.getrecursionlimit():
        sys.setrecursionlimit(wanted)
    if not calls:
        _needed.pop(thread, None)


@contextmanager
def deep(calls: int, at_most: bool = False) -> Iterator[None]:
    """So many calls may be nested in what is done inside; `at_most`: no more, also where others need them."""
    before = needed()
    need(max(before, calls))
    try:
        if at_most:
            sys.setrecursionlimit(calls)
        yield
    finally:
        need(before)
