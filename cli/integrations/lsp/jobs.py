"""What the process beside the server does: it checks scripts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ProcessPoolExecutor
from functools import lru_cache
from threading import RLock, Thread
from typing import Any

from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct
from agrad.grammar.diagnostics import Source, Span, main_place
from agrad.grammar.lint.lint import EditedScript

_MOST_SCRIPTS = 20  # of which what was read is kept for the next version


class Found(Struct):
    """An error, with its place in the script that is edited; one of a script that it loads has that one's path."""

    kind: str
    message: str
    start: int
    end: int
    path: str
    related: tuple[tuple[int, int, str], ...]


class Checked(Struct):
    """The errors of a version of a script."""

    uri: str
    version: int | None
    found: tuple[Found, ...]


def check(uri: str, version: int | None, path: str, text: str) -> Checked:
    """The errors that `agrad run --check` reports. What did not change since the last version is not read again."""
    source = Source(path, text, 1, True)
    return Checked(uri, version, tuple(_found(problem, source) for problem in _edited(path).problems(text)))


@lru_cache(_MOST_SCRIPTS)
def _edited(path: str) -> EditedScript:
    return EditedScript(path, ["args"])


def _found(problem: AgradError, source: Source) -> Found:
    place = main_place(problem)
    lines = [problem.message, *(f"note: {note}" for note in problem.notes), *(f"fix: {fix}" for fix in problem.fixes)]
    if place is None:
        return Found(problem.kind, "\n".join(lines), 0, 0, source.name, ())
    if place.source.name != source.name:
        line, column = place.source.position(place.start)
        lines[0] = f"{place.source.name}:{line}:{column}: {lines[0]}"
    spans = [(label.origin, label.text) for label in problem.labels if label.text]
    related = tuple(
        (*_in_script(span, source), text)
        for span, text in spans
        if isinstance(span, Span) and span.source.name == source.name and span is not place
    )
    return Found(problem.kind, "\n".join(lines), *_in_script(place, source), place.source.name, related)


def _in_script(span: Span, source: Source) -> tuple[int, int]:
    """A place in a script, where it may have been read line by line."""
    start, end = (source.offset(*span.source.position(place)) for place in (span.start, span.end))
    return start, end


# A process beside the server, which works while the server answers.


class Worker:
    """A process that answers questions, of several about the same only the latest.

    `work` is a function of a module, which the process calls with all that `ask` is given; `answer` gets what it
    returns, in a thread of its own. The process starts with the first question, and again where it has ended.
    """

    def __init__(self, work: Callable[..., Any], answer: Callable[[Any], None]) -> None:
        self.work = work
        self.answer = answer
        self._pool: ProcessPoolExecutor | None = None
        self._asked: Future[Any] | None = None  # what the process works on
        self._waiting: dict[Hashable, tuple[Any, ...]] = {}
        self._lock = RLock()

    def ask(self, about: Hashable, *question: Any) -> None:
        """Have the process work on a question, when it has answered those before. This does not wait for it."""
        with self._lock:
            self._waiting.pop(about, None)
            self._waiting[about] = question
            if self._asked is None:
                self._send()

    def stop(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            pool, self._pool, self._asked, self._waiting = self._pool, None, None, {}
        if pool is not None:
            for process in [*pool._processes.values()]:  # which it would wait for
                process.kill()
            pool.shutdown(cancel_futures=True)

    def _send(self) -> None:
        """Ask what was asked first."""
        about = next(iter(self._waiting))
        context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
        self._pool = self._pool or ProcessPoolExecutor(1, context, _begin)
        self._asked = self._pool.submit(self.work, about, *self._waiting.pop(about))
        self._asked.add_done_callback(self._take)

    def _take(self, done: Future[Any]) -> None:
        """Pass an answer on, and ask what waits."""
        with self._lock:
            if done is not self._asked:  # it was stopped
                return
            self._asked = None
            if done.exception() is None:
                self.answer(done.result())
            else:
                self._pool = None
            if self._waiting:
                self._send()


def _begin() -> None:
    """Make a process one that ends when the server is gone: also where that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    sys.stdout = sys.stderr  # on stdout the server speaks with the editor
    Thread(target=_end_with_server, daemon=True).start()


def _end_with_server() -> None:
    server = multiprocessing.parent_process()
    assert server is not None
    server.join()
    os._exit(0)
