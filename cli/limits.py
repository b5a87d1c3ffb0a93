"""The end of a process whose computation exceeds its time in a library, where no signal is heard.

A thread looks at the clock, and ends the process. Some functions of libraries, such as `solve_triangular` of SciPy,
do not let other threads run: so at each look the thread tells a second process how many seconds are left, and that
one kills the first if it hears nothing for longer. Then the exit code is that of a process that was killed.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from select import select
from threading import Thread
from time import sleep
from typing import Any

import click

import agrad
from agrad.cli.output.structured import error_line
from agrad.cli.terminal import TIMED_OUT
from agrad.engine.errors import AgradError

_LATE = "the time limit was exceeded in the middle of a computation"
_MESSAGE = f"error[limit]: {_LATE}"
PATIENCE = 0.7  # seconds that a computation in a library may exceed its time
_LOOK = 0.1  # seconds between two readings of the clock
_MORE = 0.1  # seconds that the thread has to end the process, before the other process does
_AGAIN = 0.15  # seconds to hear something in after the time, in case that both processes had been stopped
_LONGEST = 1e9  # seconds; a process cannot be told to wait longer
_LEFT = struct.Struct("d")


def end_if_late(session: Any, as_json: bool = False) -> None:
    """End the process if a statement exceeds its time, which happens inside libraries."""
    # As JSON it is made in advance, since later there may be no memory.
    record = error_line(AgradError("limit", _LATE)) if as_json else ""
    last_words = f"{record or _MESSAGE}\n".encode()
    enforce(lambda: session.watch.left, lambda: _leave(record), 1 if record else 2, last_words)


def _leave(record: str = "") -> None:
    """End the process in the middle of a computation, after printing the record, or else an error."""
    agrad.grammar.files.discard()
    with suppress(OSError):
        click.echo(record or _MESSAGE, err=not record)
        sys.stdout.flush()
    os._exit(TIMED_OUT)


def enforce(left: Callable[[], float], leave: Callable[[], None], out: int, last_words: bytes) -> None:
    """Call `leave` when the seconds that are `left` are exceeded; kill the process where that is not possible.

    `last_words` are then written to the file descriptor `out`.
    """
    pipe = _killer(left(), out, last_words) if hasattr(os, "fork") else None

    def look() -> None:
        if pipe is not None:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})  # if the other process was killed
        while (seconds := left()) > -PATIENCE:
            if pipe is not None:
                with suppress(OSError):
                    os.write(pipe, _LEFT.pack(seconds))
            sleep(_LOOK)
        leave()

    Thread(target=look, daemon=True).start()


def _killer(seconds: float, out: int, last_words: bytes) -> int:
    """Start the process that kills this one; returns the descriptor where it reads the seconds that are left."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which do not matter to what the child does
        parent, child = os.getpid(), os.fork()
    if child:
        os.close(read)
        return write
    try:
        os.close(write)
        with suppress(OSError):
            os.close(0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if _is_silent(read, seconds):
            os.write(out, last_words)
            os.kill(parent, signal.SIGKILL)
    finally:
        os._exit(0)


def _is_silent(pipe: int, left: float) -> bool:
    """Whether nothing was heard for longer than the seconds that were left; False when the other process has ended."""
    while True:
        wait = min(max(left, 0.0) + PATIENCE + _MORE, _LONGEST)
        if not select([pipe], [], [], wait)[0] and not select([pipe], [], [], _AGAIN)[0]:
            return True
        heard = os.read(pipe, 4096)
        if not heard:
            return False
        (left,) = _LEFT.unpack(heard[-_LEFT.size :])
