"""The terminal itself: Ctrl-C; in modules of their own colour and width, the pager, and the progress line of a loop.

All of cli may import from here; these modules do not depend on commands. Ctrl-C is here since it is handled before
anything else is loaded.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from agrad.lazy import lazy

__getattr__ = lazy(__name__)

INTERRUPTED = 130  # the exit code


def stop_once(number: int, frame: object) -> NoReturn:
    """Handle SIGINT: the first Ctrl-C stops the statement; those directly after it do not stop its rollback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore Ctrl-C inside, except where `stop_once` handles it again."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
