"""A process beside the server, which works while the server answers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Hashable
from multiprocessing.connection import Connection
from threading import Condition, Thread
from typing import Any

_ENDED = (EOFError, OSError)  # the other end of a pipe is closed
_END = object()  # among the questions: that there will be no others


class Worker:
    """A process that answers questions, of several about the same only the latest.

    `work` is a function of a module, which the process calls with all that `ask` is given; `answer` gets what it
    returns, in a thread of its own. The process starts with the first question.
    """

    def __init__(self, work: Callable[..., Any], answer: Callable[[Any], None]) -> None:
        self.work = work
        self.answer = answer
        self._process: Any = None
        self._talk: Thread | None = None
        self._waiting: dict[Hashable, tuple[Any, ...]] = {}
        self._asked = Condition()

    def ask(self, about: Hashable, *question: Any) -> None:
        """Have the process work on a question, when it has answered those before. This does not wait for it."""
        with self._asked:
            if self._talk is None or not self._talk.is_alive():
                self._start()
            self._waiting.pop(about, None)
            self._waiting[about] = question
            self._asked.notify_all()

    def stop(self) -> None:
        """End the process, whatever it does."""
        with self._asked:
            self._waiting[_END] = ()
            self._talk = None
            self._asked.notify_all()
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
        pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self.work), daemon=True)
        self._process.start()
        other.close()
        self._waiting = {}
        self._talk = Thread(target=self._ask_and_listen, args=(pipe, self._waiting), daemon=True)
        self._talk.start()

    def _ask_and_listen(self, pipe: Connection, waiting: dict[Hashable, tuple[Any, ...]]) -> None:
        """Send one question after the other: a text that is longer than a pipe takes would hold up who sends it."""
        while True:
            with self._asked:
                self._asked.wait_for(lambda: waiting)
                if _END in waiting:
                    return
                about = next(iter(waiting))
                question = about, *waiting.pop(about)
            try:
                pipe.send(question)
                found = pipe.recv()
            except _ENDED:
                return
            self.answer(found)


def _serve(pipe: Connection, work: Callable[..., Any]) -> None:
    """Answer questions until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    sys.stdout = sys.stderr  # on stdout the server speaks with the editor
    Thread(target=_end_with_server, daemon=True).start()
    while True:
        try:
            pipe.send(work(*pipe.recv()))
        except _ENDED:
            return


def _end_with_server() -> None:
    """End this process, whatever it does, when the server is gone: also where that was killed."""
    server = multiprocessing.parent_process()
    assert server is not None
    server.join()
    os._exit(0)
