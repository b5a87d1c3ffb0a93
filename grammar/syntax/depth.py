"""How deeply calls may be nested: Python's limit, which all threads share, as high as one of them needs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident

_lock = Lock()
_usual = sys.getrecursionlimit()  # while no thread needs more
_needed: dict[int, int] = {}  # by thread


def needed() -> int:
    """What this thread needs at present, for `need`; 0 is nothing."""
    return _needed.get(get_ident(), 0)


def need(calls: int) -> None:
    """Set what this thread needs from now on."""
    global _usual
    with _lock:
        if not _needed:
            _usual = sys.getrecursionlimit()
        if calls:
            _needed[get_ident()] = calls
        else:
            _needed.pop(get_ident(), None)
        sys.setrecursionlimit(max(_usual, *_needed.values(), 0))


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
