"""A process beside the server, which works while the server answers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Hashable
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

_ENDED = (EOFError, OSError)  # the other end of a pipe is closed


class Worker:
    """A process that answers questions, of several about the same only the latest.

    `work` is a function of a module, which the process calls with what `ask` is given; `answer` gets what it returns,
    in a thread of its own. The process starts with the first question.
    """

    def __init__(self, work: Callable[..., Any], answer: Callable[[Any], None]) -> None:
        self.work = work
        self.answer = answer
        self._process: Any = None
        self._pipe: Connection | None = None

    def ask(self, about: Hashable, *question: Any) -> None:
        """Have the process work on a question."""
        if self._pipe is None or not self._process.is_alive():
            self._start()
        assert self._pipe is not None
        self._pipe.send((about, question))

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self.work), daemon=True)
        self._process.start()
        other.close()
        Thread(target=self._listen, args=(self._pipe,), daemon=True).start()

    def _listen(self, pipe: Connection) -> None:
        while True:
            try:
                found = pipe.recv()
            except _ENDED:
                return
            self.answer(found)


def _serve(pipe: Connection, work: Callable[..., Any]) -> None:
    """Answer questions until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    sys.stdout = sys.stderr  # on stdout the server speaks with the editor
    Thread(target=_end_with_server, daemon=True).start()
    waiting: dict[Hashable, tuple[Any, ...]] = {}
    while True:
        try:
            while not waiting or pipe.poll():
                about, question = pipe.recv()
                waiting.pop(about, None)
                waiting[about] = question
            about = next(iter(waiting))
            pipe.send(work(about, *waiting.pop(about)))
        except _ENDED:
            return


def _end_with_server() -> None:
    """End this process, whatever it does, when the server is gone: also where that was killed."""
    server = multiprocessing.parent_process()
    assert server is not None
    server.join()
    os._exit(0)
