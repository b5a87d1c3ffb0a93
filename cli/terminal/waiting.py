"""Ctrl-C while a library computes, which does not return to Python before it has ended.

Python calls the handler of a signal only between two of its own instructions. But the signal writes a byte at once
(`signal.set_wakeup_fd`), and a thread that reads it says what the program waits for; a second Ctrl-C ends the process.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import click

from agrad.cli.terminal import INTERRUPTED
from agrad.engine.core.op import FUNCTIONS
from agrad.grammar.commands.registry import Command

PATIENCE = 0.5  # seconds after a Ctrl-C until something is said


class Waiting:
    """Listens for Ctrl-C while statements run.

    `kept` tells whether the session can be restored if the process ends.
    """

    def __init__(self, kept: Callable[[], bool]) -> None:
        self.kept = kept
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._ended = threading.Event()  # no statement runs
        self._ended.set()
        self._pressed = 0  # while a statement runs
        threading.Thread(target=self._listen, name="agrad-ctrl-c", daemon=True).start()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Listen while a statement runs."""
        self._pressed = 0
        self._ended.clear()
        before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            self._ended.set()
            with suppress(ValueError):  # the file of another may be closed
                signal.set_wakeup_fd(before)

    def close(self) -> None:
        """Listen no more."""
        self._writer.close()

    def _listen(self) -> None:
        with self._reader:
            while (received := self._reader.recv(1)) != b"":
                if received[0] == signal.SIGINT and not self._ended.is_set():
                    self._press()

    def _press(self) -> None:
        """Ctrl-C was pressed while a statement ran."""
        if _is_handled():
            return
        if self._pressed:
            self._leave()
        if self._ended.wait(PATIENCE) or _is_handled():
            return
        self._pressed += 1
        self._reader.setblocking(False)
        with suppress(BlockingIOError):
            while self._reader.recv(100):
                pass  # a Ctrl-C from before anything was said is forgotten
        self._reader.setblocking(True)
        waiting = f"\nwaiting for {_running()}, which cannot be interrupted"
        click.echo(f"{waiting}\nCtrl-C again ends agrad{self._then()}", err=True)

    def _then(self) -> str:
        return "; agrad repl --resume restores the session" if self.kept() else ""

    def _leave(self) -> None:
        """End the process. What was accepted is in the crash log, which stays as that of a crash does."""
        click.echo(f"\nended{self._then()}", err=True)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(INTERRUPTED)


def _is_handled() -> bool:
    """Whether Python has called the handler of the signal, which then ignores others: see `stop_once`."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@contextmanager
def listening() -> Iterator[None]:
    """Listen while a script runs, of which nothing is kept."""
    with closing(Waiting(lambda: False)) as waiting, waiting.running():
        yield


def _running() -> str:
    """What the main thread is in: an operation, a function, the compiler, a command; else "the statement".

    It is read off the frames, the innermost first: those of the dispatch of operations have a local name `op`, those of
    composed functions `called`, those of commands `self`.
    """
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "llvmlite":
            return "the compiler"
        known = frame.f_locals
        for name in (getattr(known.get(local), "name", None) for local in ("op", "called")):
            if name in FUNCTIONS:  # others, such as `integrated`, are parts of one that is
                return str(name)
        if isinstance(known.get("self"), Command):
            return str(known["self"].word)
        frame = frame.f_back
    return "the statement"
