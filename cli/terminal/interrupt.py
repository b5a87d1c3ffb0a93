"""Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

INTERRUPTED = 130  # the exit code


def stop_once(number: int, frame: object) -> NoReturn:
    """The first Ctrl-C stops what runs; those that follow it at once do not stop the tidying up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def told() -> int:
    """Say that a command was interrupted; its exit code. What it printed before stands."""
    import click  # here, since this file is needed before anything that prints

    click.echo("interrupted before the end", err=True)
    return INTERRUPTED


@contextmanager
def ignored() -> Iterator[None]:
    """Ctrl-C does nothing inside, but where `stop_once` is put in its place again."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
