"""What the process beside the server does: it checks scripts."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from multiprocessing.connection import Connection
from threading import Lock, Thread
from typing import Any

from agrad.engine.errors import AgradError, Hint
from agrad.engine.struct import Struct
from agrad.grammar.diagnostics import Source, Span, main_place
from agrad.grammar.lint.lint import EditedScript
from agrad.grammar.syntax.lexer import STARTS
from agrad.grammar.syntax.parser import lexed

_MOST_SCRIPTS = 20  # of which what was read is kept for the next version


class Found(Struct):
    """An error, with its place in the script that is edited; one of a script that it loads has that one's path.

    `edits`: what is to be typed where, each with what is told of it.
    """

    kind: str
    message: str
    start: int
    end: int
    path: str
    related: tuple[tuple[int, int, str], ...]
    edits: tuple[tuple[str, int, int, str], ...] = ()


class Checked(Struct):
    """The errors of a version of a script."""

    uri: str
    version: int | None
    found: tuple[Found, ...]


def check(uri: str, version: int | None, path: str, text: str) -> Checked:
    """The errors that `agrad run --check` reports. What did not change since the last version is not read again."""
    source = Source(path, text, 1, True)
    return Checked(uri, version, tuple(_found(problem, source) for problem in _edited(path).problems(text)))


_edited = lru_cache(_MOST_SCRIPTS)(lambda path: EditedScript(path, ["args"]))


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
    inside = _in_script(place, source)
    edits = tuple(_edits(problem, source, *inside)) if place.source.name == source.name else ()
    return Found(problem.kind, "\n".join(lines), *inside, place.source.name, related, edits)


def _edits(problem: AgradError, source: Source, start: int, end: int) -> Iterator[tuple[str, int, int, str]]:
    """The edits that make the fixes of an error: of its line, or of the place itself, where a fix says so in words."""
    line, column = source.line_at(start), source.position(start)[1] - 1
    tokens = [token for token in lexed(line) if token and token.type not in STARTS]
    code, behind = (
        start - column + place for place in ((tokens[0].start_pos, tokens[-1].end_pos) if tokens else (0, 0))
    )
    for fix in problem.fixes:
        if fix.startswith("did you mean "):
            for word in fix.removeprefix("did you mean ").rstrip("?").split(" or "):
                yield word, start, end, word
        elif fix.startswith("delete it"):
            yield "delete it", start, end, ""
        elif found := re.fullmatch(r"add a ([)\]}])", fix):
            yield fix, behind, behind, found[1]
        elif not isinstance(fix, Hint) and "   " not in fix:
            yield fix, code, behind, fix


def _in_script(span: Span, source: Source) -> tuple[int, int]:
    """A place in a script, where it may have been read line by line."""
    start, end = (source.offset(*span.source.position(place)) for place in (span.start, span.end))
    return start, end


# A process beside the server, which works while the server answers.


_ENDED = (EOFError, OSError)  # the other end of a pipe is closed


class Worker:
    """A process that answers questions, of several about the same only the latest.

    `work` is a function of a module, which the process calls with all that `ask` is given; `answer` gets what it
    returns, if anything, in a thread of its own. It starts with the first question, and again where it has ended.
    """

    def __init__(self, work: Callable[..., Any], answer: Callable[[Any], None]) -> None:
        self.work = work
        self.answer = answer
        self._process: Any = None
        self._pipe: Any = None
        self._talk = ThreadPoolExecutor(1)
        self._waiting: dict[Hashable, tuple[Any, ...]] = {}
        self._lock = Lock()

    def ask(self, about: Hashable, *question: Any) -> None:
        """Have the process work on a question, when it has answered those before. This does not wait for it."""
        with self._lock:
            self._waiting.pop(about, None)
            self._waiting[about] = about, *question
        self._talk.submit(self._ask)

    def stop(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            process, self._process, self._waiting = self._process, None, {}
        if process is not None:
            process.kill()
            process.join()

    def _ask(self) -> None:
        """Ask what was asked first, and pass the answer on."""
        with self._lock:
            if not self._waiting:
                return
            if self._process is None or not self._process.is_alive():
                context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
                self._pipe, other = context.Pipe()
                self._process = context.Process(target=_serve, args=(other, self.work), daemon=True)
                self._process.start()
                other.close()
            question, pipe = self._waiting.pop(next(iter(self._waiting))), self._pipe
        with suppress(*_ENDED):
            pipe.send(question)
            answer = pipe.recv()
            if answer is not None:
                self.answer(answer)


def _serve(pipe: Connection, work: Callable[..., Any]) -> None:
    """Answer questions until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    sys.stdout = sys.stderr  # on stdout the server speaks with the editor
    Thread(target=_end_with_server, daemon=True).start()
    with suppress(*_ENDED):
        while True:
            question, answer = pipe.recv(), None
            try:
                answer = work(*question)
            except Exception:  # a fault of agrad: what is read from then on is still checked
                traceback.print_exc()
            pipe.send(answer)


def _end_with_server() -> None:
    """End this process, whatever it does, when the server is gone: also where that was killed."""
    server = multiprocessing.parent_process()
    assert server is not None
    server.join()
    os._exit(0)
