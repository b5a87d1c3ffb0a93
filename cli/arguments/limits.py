"""The options --timeout and --max-memory, and how the system enforces them."""

from __future__ import annotations

import math
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
from typing import Any, TypeVar

import click

import agrad
from agrad.cli.arguments import option
from agrad.cli.settings import find

S = TypeVar("S")
TIMED_OUT = 124  # the exit code
_SPARE = 2**28  # bytes of addresses, for libraries that are loaded later
_FOREVER = 1e9  # seconds; the clocks of some systems do not count further
_AMPLE = 2**31  # bytes of addresses that numpy can be loaded into, on any machine
_LATE = "the time limit was exceeded in the middle of a computation"
_MESSAGE = f"error[limit]: {_LATE}"


def _seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise click.BadParameter(f"{value} is not a time", context, parameter)
    return value if value is None else min(value, _FOREVER)


def size_of(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """The bytes of a size such as 2GB: the callback of an option. Raises click.BadParameter."""
    if value is None:
        return None
    size = agrad.grammar.runtime.budget.bytes_of(value)
    if not 0 < size < math.inf:
        raise click.BadParameter(f"{value} is not a size such as 2GB or 500MB", context, parameter)
    return size


def timeout_option(what: str) -> Any:
    """The option --timeout, which stops `what`."""
    text = f"Stop {what} that takes longer; the exit code is {TIMED_OUT}."
    return option("--timeout", "SECONDS", text, type=float, callback=_seconds)


def part_size_option(what: str) -> Any:
    """The option --part-size, the size from which on Parquet files are divided."""
    return option("--part-size", "SIZE", what, default="128MB", callback=size_of)


memory_option = option(
    "--max-memory",
    "SIZE",
    "The memory for results, each and together, in addition to the program itself, such as 2GB; the default is half of "
    "the machine's memory.",
    callback=size_of,
)


def limit_memory(memory: float | None, statements: bool = True) -> None:
    """Limit the memory, also by the system: to a given size, that in config.toml, or half of the machine's.

    `limit memory=…` cannot lift a size that is given. Without `statements`, errors advise --max-memory instead.
    """
    usual = find("limits.memory")[0] or agrad.grammar.runtime.budget.memory_limit()
    advice = "--max-memory {}GB" if memory is not None or not statements else ""
    try:
        import resource
    except ImportError:  # a system without such limits
        agrad.grammar.runtime.budget.limit_memory(memory or usual, advice)
        return
    if memory is not None or usual < _AMPLE:
        _ = agrad.engine.values.np.float64  # loads numpy, which would fail with its own message where it has no room

    used = _addresses() + _SPARE
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]

    def ceiling(memory: float) -> None:
        soft = hard if memory == math.inf else int(min(used + memory, 2**62))
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        with suppress(OSError, ValueError):  # not every system keeps this one
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    if memory is not None:
        hard = int(used + memory) if hard == resource.RLIM_INFINITY else min(hard, int(used + memory))
    agrad.grammar.runtime.budget.limit_memory(memory or usual, advice, ceiling)


def _addresses() -> int:
    """The size of the address space that the process uses now, in bytes; 0 if the system does not tell."""
    with suppress(OSError, ValueError, AttributeError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def limit_statements(session: Any) -> None:
    """Set the limits for each statement that config.toml gives; `limit` can change them."""
    seconds = find("limits.time")[0]
    session.watch.time = min(seconds, _FOREVER) if seconds else session.watch.time
    session.watch.nodes = find("limits.nodes")[0] or session.watch.nodes


def limited(kind: Callable[[], S], options: Any, as_json: bool = False) -> S:
    """A session of one calculation, within the `timeout` and `memory` of some options."""
    limit_memory(options.memory, statements=False)
    session = kind()
    end_in(session, options.timeout, as_json)
    return session


def end_in(session: Any, seconds: float | None, as_json: bool = False) -> None:
    """Stop a session after so many seconds, even in the middle of a computation in a library.

    Without seconds, each statement has the limit in config.toml. `as_json`: whether to print the error as JSON.
    """
    limit_statements(session)
    session.watch.advice = "--timeout {}"
    if seconds is None:
        if session.watch.time < math.inf:
            end_if_late(session, as_json)
        return

    session.watch.time = math.inf  # a typed limit replaces that of config.toml
    session.watch.end_in(seconds)
    end_if_late(session, as_json)


def end_if_late(session: Any, as_json: bool = False) -> None:
    """End the process if a statement exceeds its time, which happens inside libraries."""
    record = _record() if as_json else ""
    last_words = f"{record or _MESSAGE}\n".encode()
    enforce(lambda: session.watch.left, lambda: _leave(record), 1 if record else 2, last_words)


def _record() -> str:
    """The error of `_leave` as JSON: made in advance, since later there may be no memory to load anything."""
    return agrad.cli.output.structured.error_line(agrad.engine.errors.AgradError("limit", _LATE))


def _leave(record: str = "") -> None:
    """End the process in the middle of a computation, after printing the record, or else an error."""
    agrad.grammar.files.discard()
    with suppress(OSError):
        click.echo(record or _MESSAGE, err=not record)
        sys.stdout.flush()
    os._exit(TIMED_OUT)


# Ends the process where a computation in a library exceeds its time, since no signal is heard there.
#
# A thread looks at the clock, and ends the process. Some functions of libraries, such as `solve_triangular` of SciPy,
# do not let other threads run: so at each look the thread tells a second process how many seconds are left, and that
# one kills the first if it hears nothing for longer. Then the exit code is that of a process that was killed.

PATIENCE = 0.7  # seconds that a computation in a library may exceed its time
_LOOK = 0.1  # seconds between two readings of the clock
_MORE = 0.1  # seconds that the thread has to end the process, before the other process does
_AGAIN = 0.15  # seconds to hear something in after the time, in case that both processes had been stopped
_LONGEST = 1e9  # seconds; a process cannot be told to wait longer
_LEFT = struct.Struct("d")


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
    read, write = map(_above_streams, os.pipe())
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


def _above_streams(descriptor: int) -> int:
    """The same pipe under a descriptor that is none of a stream: those may be free, where a stream was closed."""
    if descriptor > 2:
        return descriptor
    import fcntl  # here: not on all systems

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


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
