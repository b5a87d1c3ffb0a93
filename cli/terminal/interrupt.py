"""Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

INTERRUPTED = 130  # the exit code


def stop_once(number: int, frame: object) -> NoReturn:
    """Handle SIGINT: the first Ctrl-C stops the statement; those directly after it do not stop its rollback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def told() -> int:
    """Print that a command was interrupted; its exit code."""
    import click  # here, since this file is needed before anything that prints

    click.echo("interrupted before the end", err=True)
    return INTERRUPTED


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore Ctrl-C inside, except where `stop_once` handles it again."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
