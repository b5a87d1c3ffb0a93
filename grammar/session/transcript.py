"""The transcript of a session: what was typed, and what was shown for it, as text, at the time when it was shown.

Results are not kept themselves: a value may change, and would keep its graph. What is kept is bounded; where the
oldest texts, or most of the answers to one, are no longer kept, the transcript says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span, render
from agrad.grammar.results import Graph, Noted, Plot, Result, Settings

_MOST = 20_000_000  # bytes that are kept, about
_MOST_OF_ONE = 1_000_000  # of the answers to one text
_ANSWER = 100  # bytes of an answer beside its characters
_POINT = 16  # characters that a point of a curve counts as
_NODES = 60  # of a graph, at most, whose picture is kept: drawing takes milliseconds a node


class Picture(NamedTuple):
    """A picture that was shown: its text on the terminal, and the plot, or the graph in two forms."""

    text: str
    plot: Plot | None = None
    svg: str = ""
    mermaid: str = ""


class Exchange:
    """A text that ran, with what was shown for it: each answer with the place in the text that it belongs below."""

    __slots__ = ("answers", "left_out", "restored", "size", "source", "statements")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.statements: list[Span] = []  # those that have begun
        self.answers: list[tuple[int, str | Picture]] = []
        self.left_out = 0  # answers that are not kept
        self.size = len(source.text)
        self.restored = False  # whether it ran before the session was restored

    @property
    def place(self) -> int:
        """The end of the statement that runs; of the text, where none has begun."""
        return self.statements[-1].end if self.statements else len(self.source.text)


class Transcript:
    """What was typed in a session and what was shown, oldest first. Kept while `on` says so."""

    def __init__(self, on: Callable[[], bool]) -> None:
        self.on = on
        self.exchanges: deque[Exchange] = deque()
        self.left_out = 0  # texts that are no longer kept
        # The text of a result as the client shows it.
        self.text: Callable[[Result, Settings], str] = _text
        self._size = 0

    def clear(self) -> None:
        """Forget everything."""
        self.exchanges.clear()
        self.left_out = self._size = 0

    def open(self, exchange: Exchange) -> None:
        """Keep a text that runs, once, and forget the oldest ones where there are too many."""
        if not self.on() or not exchange.source.text.strip():
            return
        if not self.exchanges or self.exchanges[-1] is not exchange:
            self.exchanges.append(exchange)
            self._grow(exchange.size)

    def restored(self, statement: Span) -> None:
        """A statement has run again because its session is restored: what it showed then is not known."""
        last = self.exchanges[-1] if self.exchanges else None
        if last is None or last.source is not statement.source:
            last = Exchange(statement.source)
            last.restored = True
            self.open(last)
        last.statements.append(statement)

    def add(self, exchange: Exchange, answer: str | Picture) -> None:
        """Keep what was shown for a text."""
        plot = None if isinstance(answer, str) else answer.plot
        texts = [answer] if isinstance(answer, str) else [answer.text, answer.svg, answer.mermaid]
        size = _ANSWER + sum(map(len, texts))
        size += _POINT * sum(len(curve.x) for curve in plot.curves) if plot is not None else 0
        if exchange.size + size > _MOST_OF_ONE + len(exchange.source.text):
            exchange.left_out += 1
            return
        exchange.answers.append((exchange.place, answer))
        exchange.size += size
        self._grow(size)

    def say(self, line: str) -> None:
        """Keep a line that was shown after the last text had run."""
        if self.on() and self.exchanges:
            self.add(self.exchanges[-1], line)

    def _grow(self, size: int) -> None:
        self._size += size
        while self._size > _MOST and len(self.exchanges) > 1:
            self._size -= self.exchanges.popleft().size
            self.left_out += 1


class Listener:
    """Passes on the results of a text, and keeps their texts in the transcript of the session."""

    def __init__(
        self, transcript: Transcript, source: Source, emit: Callable[[Result], None], settings: Settings
    ) -> None:
        self.transcript = transcript
        self.exchange = Exchange(source)
        self.emit = emit
        self.settings = settings
        transcript.open(self.exchange)

    def begin(self, statement: Span) -> None:
        """A statement of the text is about to run."""
        self.transcript.open(self.exchange)  # a script keeps nothing before it runs
        if self.transcript.on():
            self.exchange.statements.append(statement)

    def __call__(self, result: Result) -> None:
        """Keep a result that is shown, and pass it on."""
        self.emit(result)
        if self.transcript.on():
            text = self.transcript.text(result, self.settings)
            self.transcript.add(self.exchange, self._picture(result, text) or text)

    def failed(self, problem: AgradError) -> None:
        """Keep the text of an error that the text has ended with."""
        if self.transcript.on():
            self.transcript.add(self.exchange, render(problem, width=self.settings.columns))

    def _picture(self, result: Result, text: str) -> Picture | None:
        """A result that a page can show as a picture. Of several graphs for one text, only the first is drawn."""
        if isinstance(result, Plot):
            return Picture(text, result)
        if not isinstance(result, Graph) or result.picture is None or text.count("\n") > _NODES:
            return None
        if any(isinstance(answer, Picture) and answer.mermaid for _, answer in self.exchange.answers):
            return None
        try:
            mermaid = result.picture("mermaid")
        except AgradError:  # a comparison, say, of which there is no such form
            return None
        try:
            svg = str(result.picture("svg"))
        except AgradError:  # the library that places its nodes is missing
            svg = ""
        return Picture(text, None, svg, str(mermaid))


def _text(result: Result, settings: Settings) -> str:
    """The text of a result where the client does not say how it shows it."""
    return render(result.note, width=settings.columns) if isinstance(result, Noted) else result.text(settings)


# Reading a transcript


class Typed(NamedTuple):
    """A line that was typed, behind its prompt."""

    prompt: str
    text: str


def parts(transcript: Transcript) -> Iterator[Typed | str | Picture]:
    """What a session shows, line by line typed, and answer by answer, without the statement that is running."""
    if transcript.left_out:
        texts = "text is" if transcript.left_out == 1 else f"{transcript.left_out:,} texts are"
        yield f"(the first {texts} no longer kept)"
    for exchange in transcript.exchanges:
        end = len(exchange.source.text)
        if exchange is transcript.exchanges[-1] and exchange.statements:
            end = exchange.statements[-1].start
        yield from _of_one(exchange, end)


def _of_one(exchange: Exchange, end: int) -> Iterator[Typed | str | Picture]:
    """A text up to a place, each of its answers below the line where its statement ends."""
    waiting = deque(answer for answer in exchange.answers if answer[0] <= end)
    number, start = exchange.source.first_line, 0
    for line in exchange.source.text[:end].rstrip().split("\n"):
        if line.strip():
            yield Typed(_prompt(exchange, number, start), line)
        start += len(line) + 1
        number += 1
        while waiting and waiting[0][0] < start:
            yield waiting.popleft()[1]
    yield from (answer for _, answer in waiting)
    if exchange.left_out:
        yield f"({exchange.left_out:,} more answers are not kept)"
    if exchange.restored:
        yield "(restored: what it showed is not kept)"


def _prompt(exchange: Exchange, number: int, start: int) -> str:
    """The prompt of the line that begins at a place of a text."""
    source = exchange.source
    first = f"agrad {source.first_line if source.is_entry else number}> "
    inside = any(statement.start < start < statement.end for statement in exchange.statements)
    return f"{'...> ':>{len(first)}}" if inside or (source.is_entry and start) else first
