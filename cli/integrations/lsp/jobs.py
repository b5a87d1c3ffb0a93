"""What the processes beside the server do: check a script, and run one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Hashable
from functools import lru_cache
from multiprocessing.connection import Connection
from threading import Condition, Thread
from typing import Any

from agrad.cli.integrations.lookup import info
from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct
from agrad.grammar.diagnostics import Source, Span, main_place, render
from agrad.grammar.help.completion import described
from agrad.grammar.lint.lint import EditedScript
from agrad.grammar.results import Quit
from agrad.grammar.session.session import Session

_LONGEST = 2000  # characters of a value that are shown
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


class Ran(Struct):
    """The names after a run, each in a few words and in full, and what was printed, with the error at its end."""

    uri: str
    short: dict[str, str]
    full: dict[str, str]
    output: str
    error: Found | None


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


def run(uri: str, path: str, text: str) -> Ran:
    """Run a script, as `agrad run` does, and describe the names that it leaves."""
    session = Session()
    session.names["args"] = ()
    printed: list[str] = []
    error = None
    try:
        session.run(text, lambda result: printed.append(result.text(session.settings)), path, is_file=True)
    except Quit:
        pass
    except AgradError as problem:
        error = _found(problem, Source(path, text, 1, True))
        printed.append(render(problem))
    names = {name: value for name, value in session.names.items() if name != "args"}
    short = {name: described(value, session) for name, value in names.items()}
    return Ran(uri, short, {name: _about(name, session) for name in names}, "\n".join(printed), error)


def _about(name: str, session: Session) -> str:
    """What `info` tells of a name, if that is not too long."""
    text = info(name, session)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


# A process beside the server, which works while the server answers.

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
