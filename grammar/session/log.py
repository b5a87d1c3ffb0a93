"""The log of a session: the statements that were accepted and not undone; the transcript; and what undo takes back.

`history` shows the log, `save` makes a script of it, and a session that is restored runs it again.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import agrad
from agrad.engine import ops
from agrad.engine.core.context import Context, UndoLog, current, enter
from agrad.engine.core.graph import Gradient, Guard, Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.ops.tables import Table
from agrad.engine.struct import Struct, computed
from agrad.engine.text import printable, truncate
from agrad.engine.values import format_bytes
from agrad.grammar.diagnostics import Source, Span, render
from agrad.grammar.results import Graph, Noted, Plot, Printed, Represented, Result, Settings, Shown
from agrad.grammar.syntax import ast
from agrad.grammar.values.lists import List

if TYPE_CHECKING:
    from agrad.grammar.commands.registry import Emit, Session
    from agrad.grammar.run.machine import Machine


# Statements that contain others, and so may have results before they end.
BLOCKS = ast.For | ast.While | ast.If | ast.NoGrad | ast.Time
_TEXTS = 10_000  # that were typed, kept for `again`
_RESULTS = 100  # kept for `_5`
_MOST = 64e6  # bytes of them
_SEED_BYTES = 6  # so many bits are exact in the language


class Entry(Struct, eq=False, frozen=False):
    """A statement that was accepted, and the seed that the random numbers got because it may be the first to draw some.

    Only the span of the statement is kept: the tree would take ten times as much. `files` are those that it read, as
    in `Context.files`.
    """

    span: Span
    seed: int | None = None
    files: dict[str, list[int]] | None = None


class SessionLog:
    """The statements of a session that were accepted and not undone. Kept while it is `on`."""

    def __init__(self, context: Context) -> None:
        self.context = context  # of the session
        self.on = False
        self.entries: list[Entry] = []
        self.typed: dict[int, str] = {}  # the last texts that were typed, by the number of their first line
        # After how many entries, and at which line, with what value.
        self.results: deque[tuple[int, int, Any]] = deque()
        self._dropped = 0  # the line of the last of them that is kept no more
        self.keeper: Any = None  # the crash log, which writes down what is accepted, and what is cut
        self._seed: int | None = None  # with which the running statement seeded the random numbers
        self._wanted: int | None = None  # with which it has to seed them
        self.transcript = Transcript(self)
        context.random.seeds = self._first_seed

    def begin(self, seed: int | None = None) -> None:
        """A statement is about to run; `seed`: with which it seeded the random numbers when it ran before."""
        self._seed, self._wanted = None, seed
        self.context.files.seen = {} if self.on else None

    def seed(self) -> None:
        """Seed the random numbers as the statement that is run again did."""
        if self.on and self._wanted is not None:
            self._seed, self._wanted = self._wanted, None
            ops.creation.manual_seed(float(self._seed))

    def _first_seed(self) -> int | None:
        """The seed of the first random numbers, so that they can be repeated; None where nothing is kept."""
        if self.on:
            self._seed = int.from_bytes(os.urandom(_SEED_BYTES))
        return self._seed if self.on else None

    def enter(self, source: Source) -> None:
        """Keep a text that was typed, for `again`, whether it succeeds or not."""
        if self.on and not source.is_file and source.text.strip():
            self._type(source.first_line, source.text)

    def _type(self, number: int, text: str) -> None:
        self.typed.pop(number, None)
        self.typed[number] = text
        if len(self.typed) > _TEXTS:
            del self.typed[next(iter(self.typed))]

    def entered(self, source: Source, text: str | None = None) -> None:
        """A text has run. Tell the keeper of one without a statement in effect; `text`: what `again` has run for it."""
        if not self.on or source.is_file or not source.text.strip():
            return
        if text is not None:
            self._type(source.first_line, text)
        is_new = text is not None or not self.entries or self.entries[-1].span.source is not source
        if self.keeper is not None and is_new:
            self.keeper.typed(source.first_line, self.typed[source.first_line])

    def tell_typed(self, entries: Iterable[Entry]) -> None:
        """Tell the keeper what was typed at the lines of entries that are in effect again."""
        for number in dict.fromkeys(map(number_of, entries)):
            if self.keeper is not None and number in self.typed:
                self.keeper.typed(number, self.typed[number])

    def texts(self, first: int, last: int, span: Span) -> list[str]:
        """The texts that were typed at lines, in their order. Raises AgradError of kind `name` if there are none."""
        here = span.source.position(span.start)[0]
        starts = [number for number in sorted(self.typed) if number < here]
        found = [
            number
            for number, following in zip(starts, [*starts[1:], here], strict=False)
            if number <= last and (number >= first or following > first)
        ]
        if found and last < here:
            return [self.typed[number] for number in found]
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        message = f"again: {lines} {'is' if first == last else 'are'} not known here"
        notes = [f"the last {_TEXTS:,} lines are"] if starts and first < starts[0] and last < here else []
        fixes = [f"again {starts[-1]}   runs the last line"] if starts else []
        raise AgradError("name", message, labels=[Label(span)], notes=notes, fixes=fixes)

    def result(self, number: int, name: str, span: Span) -> Any:
        """The value of `_5`, the result of line 5. Raises AgradError of kind `name` where there is none."""
        for _, line, value in reversed(self.results):
            if line == number:
                return value
        found = any(number_of(entry) == number for entry in self.entries)
        why = "whose value is not kept" if found and number <= self._dropped else "which has no value"
        if number not in self.typed:
            why = "and there is no such line"
        elif not found:
            why = "which is not in effect"
        fixes = [f"again {number}   runs it again"] if number in self.typed else []
        raise AgradError("name", f"{name} is the result of line {number}, {why}", labels=[Label(span)], fixes=fixes)

    def add(self, statement: ast.Statement, last: tuple[Any, ...] = ()) -> None:
        """Keep a statement that has succeeded, and its value if it has one."""
        made = agrad.grammar.commands.registry.of(statement)
        if not self.on or (made is not None and not made.logged):
            return
        entry = Entry(statement.span, self._seed, self.context.files.seen or None)
        self.entries.append(entry)
        if self.keeper is not None:
            self.keeper.add(entry)
        if not last or statement.span.source.is_file:
            return
        self.results.append((len(self.entries), number_of(entry), last[0]))
        sizes = [size if isinstance(size := getattr(one, "nbytes", 0), int) else 0 for _, _, one in self.results]
        while len(sizes) > _RESULTS or (sum(sizes) > _MOST and len(sizes) > 1):
            _, self._dropped, _ = self.results.popleft()
            del sizes[0]

    def cut(self, count: int) -> None:
        """Forget all but the first so many."""
        while self.results and self.results[-1][0] > count:
            self.results.pop()
        if len(self.entries) > count:
            if self.keeper is not None:
                self.keeper.cut(count)  # first: if it is interrupted, this is called again
            del self.entries[count:]

    def turn_off(self) -> None:
        """Discard everything, and keep nothing from now on."""
        self.on = False
        self.context.files.seen = None
        self.entries.clear()
        self.typed.clear()
        self.results.clear()
        self.transcript.clear()


# The transcript: what was typed, and what was shown for it, as text, at the time when it was shown.
#
# Results are not kept themselves: a value may change, and would keep its graph. What is kept is bounded; where the
# oldest texts, or most of the answers to one, are no longer kept, the transcript says so.

_MOST_TEXT = 20_000_000  # bytes that are kept, about
_MOST_OF_ONE = 1_000_000  # of the answers to one text
_ANSWER = 100  # bytes of an answer beside its characters
_POINT = 16  # characters that a point of a curve counts as
_DRAWN = 60  # of a graph, at most, whose picture is kept: drawing takes milliseconds a node


class Picture(NamedTuple):
    """A picture that was shown: its text on the terminal, and the plot, or the graph in two forms."""

    text: str
    plot: Plot | None = None
    svg: str = ""
    mermaid: str = ""


class Exchange(Struct, eq=False, frozen=False):
    """A text that ran, with what was shown for it: each answer with the place in the text that it belongs below."""

    source: Source
    restored: bool = False  # whether it ran before the session was restored
    left_out: int = 0  # answers that are not kept
    statements: list[Span] = computed()  # those that have begun
    answers: list[tuple[int, str | Picture]] = computed()
    size: int = computed()

    def __post_init__(self) -> None:
        self.statements, self.answers, self.size = [], [], len(self.source.text)


class Transcript:
    """What was typed in a session and what was shown, oldest first. Kept while the log is `on`."""

    def __init__(self, record: SessionLog) -> None:
        self.record = record
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
        if not self.record.on or not exchange.source.text.strip():
            return
        if not self.exchanges or self.exchanges[-1] is not exchange:
            self.exchanges.append(exchange)
            self._grow(exchange.size)

    def restored(self, statement: Span) -> None:
        """A statement has run again because its session is restored: what it showed then is not known."""
        last = self.exchanges[-1] if self.exchanges else None
        if last is None or last.source is not statement.source:
            last = Exchange(statement.source, True)
            self.open(last)
        last.statements.append(statement)

    def add(self, exchange: Exchange, answer: str | Picture) -> None:
        """Keep what was shown for a text."""
        picture = Picture(answer) if isinstance(answer, str) else answer
        curves = () if picture.plot is None else picture.plot.curves
        size = _ANSWER + len(picture.text) + len(picture.svg) + len(picture.mermaid)
        size += _POINT * sum(len(curve.x) for curve in curves)
        if exchange.size + size > _MOST_OF_ONE + len(exchange.source.text):
            exchange.left_out += 1
            return
        # The end of the statement that runs; of the text, where none has begun.
        place = exchange.statements[-1].end if exchange.statements else len(exchange.source.text)
        exchange.answers.append((place, answer))
        exchange.size += size
        self._grow(size)

    def say(self, line: str) -> None:
        """Keep a line that was shown after the last text had run."""
        if self.record.on and self.exchanges:
            self.add(self.exchanges[-1], line)

    def _grow(self, size: int) -> None:
        self._size += size
        while self._size > _MOST_TEXT and len(self.exchanges) > 1:
            self._size -= self.exchanges.popleft().size
            self.left_out += 1


class Listener:
    """Passes on the results of a text, and keeps their texts in the transcript of the session."""

    def __init__(self, transcript: Transcript, source: Source, emit: Emit, settings: Settings) -> None:
        self.transcript = transcript
        self.exchange = Exchange(source)
        self.emit = emit
        self.settings = settings
        transcript.open(self.exchange)

    def begin(self, statement: Span) -> None:
        """A statement of the text is about to run."""
        self.transcript.open(self.exchange)  # a script keeps nothing before it runs
        if self.transcript.record.on:
            self.exchange.statements.append(statement)

    def __call__(self, result: Result) -> None:
        """Keep a result that is shown, and pass it on."""
        self.emit(result)
        if self.transcript.record.on:
            text = self.transcript.text(result, self.settings)
            self.transcript.add(self.exchange, self._picture(result, text) or text)

    def failed(self, problem: AgradError) -> None:
        """Keep the text of an error that the text has ended with."""
        if self.transcript.record.on:
            self.transcript.add(self.exchange, render(problem, width=self.settings.columns))

    def _picture(self, result: Result, text: str) -> Picture | None:
        """A result that a page can show as a picture. Of several graphs for one text, only the first is drawn."""
        if isinstance(result, Plot):
            return Picture(text, result)
        if not isinstance(result, Graph) or result.picture is None or text.count("\n") > _DRAWN:
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


# What runs again, and what is shown meanwhile.


class OutputBuffer:
    """Holds the results of a statement until it is in the crash log, so that a result that was seen is never lost.

    Results of a function, or of a script that is loaded, are passed on at once; without a `machine`, all of them are.
    """

    def __init__(self, emit: Emit, machine: Machine | None) -> None:
        self.emit = emit
        self.machine = machine
        self.waiting: list[Result] = []
        self.printed_nan = self.printed_inf = False  # whether a line that was printed has one
        self.shown: Any = None  # the value that was shown last
        self.noted = False  # whether there was a note, such as on a gradient that is nan

    def __call__(self, result: Result) -> None:
        """Hold a result back, or pass it on."""
        if isinstance(result, Shown | Represented):
            self.shown = result.value
        elif type(result) is Noted:
            self.noted = True
        elif type(result) is Printed:
            self.printed_nan |= "nan" in result.line
            self.printed_inf |= re.search(r"\binf\b", result.line) is not None
        if self.waiting or (self.machine is not None and self.machine.depth <= 1):
            self.waiting.append(result)
        else:
            self.emit(result)

    def release(self) -> None:
        """Pass on what was held back."""
        while self.waiting:
            self.emit(self.waiting.pop(0))


def number_of(entry: Entry) -> int:
    """The number of the line that an entry begins at, or that it was entered at."""
    return entry.span.source.position(entry.span.start)[0]


def lines_of(entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    """Entries that were typed at one line, together: the number of the line, and their text.

    Those of a script are apart, with the name of the file.
    """
    for place, group in groupby(
        entries, lambda entry: (entry.span.source.is_file, entry.span.source.name, number_of(entry))
    ):
        text = ""
        before: Span | None = None
        for entry in group:
            source = entry.span.source
            breaks = before and (source is not before.source or "\n" in source.text[before.end : entry.span.start])
            text += ("\n" if breaks else "; ") * (before is not None) + source.text[entry.span.start : entry.span.end]
            before = entry.span
        yield (f"{place[1]}:{place[2]}" if place[0] else str(place[2])), text


def asks(text: str) -> bool:
    """Whether a text may have a command that needs the log of its session."""
    commands = agrad.grammar.commands.COMMANDS
    return any(word in text and commands[word].needs == "log" for word in commands)


def statements(entries: Sequence[Entry], context: Context | None = None) -> Iterator[tuple[Entry, ast.Statement]]:
    """The statements of entries, read in a context. Raises AgradError for a text that is now parsed differently."""
    source: Source | None = None
    found: dict[int, ast.Statement] = {}
    for entry in entries:
        if entry.span.source is not source:
            source = entry.span.source
            parse = agrad.grammar.syntax.readings.parse
            found = {one.span.start: one for one in (enter(context, parse, source) if context else parse(source))}
        statement = found.get(entry.span.start)
        if statement is None or statement.span.end != entry.span.end:
            raise AgradError("syntax", "this is no longer parsed as it was", labels=[Label(entry.span)])
        yield entry, statement


def restore(session: Session, entries: Sequence[Entry], changed: Callable[[str], object] = lambda path: None) -> None:
    """Run statements again, without output or writing a file; call `changed` for each file that has changed since.

    Raises AgradError or KeyboardInterrupt at the first that fails: those before it stay in the log.
    """
    told: list[str] = []
    session.restoring = True
    try:
        for entry, statement in statements(entries, session.context):
            try:
                session.run_again(statement, entry.seed)
            finally:
                seen = session.context.files.seen or {}
                for path, found in (entry.files or {}).items():
                    if seen.get(path, found) != found and path not in told:
                        told.append(path)
                        changed(path)
    finally:
        session.restoring = False


def again(session: Session, first: int, last: int, span: Span) -> None:
    """Run the lines with these numbers again, as a part of the line that asks. Raises AgradError."""
    texts, source, ran = session.record.texts(first, last, span), span.source, list[str]()
    number = source.position(span.start)[0]
    asked = session.record.typed.get(number)
    try:
        for text in texts:
            ran.append(text)
            try:
                session.run_inside(Source(source.name, text, number, is_entry=True, is_python=source.is_python))
            finally:
                known = session.record.typed.get(number)
                if known is not None and known != asked:  # the text is an `again` that failed when it was typed
                    ran[-1] = asked = known
    finally:
        session.record.entered(source, "\n".join([*ran, *texts[len(ran) :]]))


def redo(session: Session, count: int, span: Span) -> None:
    """Bring back what `undo` took back last: its statements run again, without output. Raises AgradError."""
    steps, changed = session.steps, dict[str, None]()
    if count > len(steps.undone):
        there = len(steps.undone)
        message = f"redo {count}: only {there} can be brought back" if there else "there is nothing to bring back"
        notes = [] if there else ["redo brings back what undo took back, until something else changes"]
        fixes = [f"redo {there}" if there > 1 else "redo"] if there else []
        raise AgradError("limit", message, labels=[Label(span)], notes=notes, fixes=fixes)
    for _ in range(count):
        gone: list[Entry] = steps.undone[-1]
        before, place = len(steps), len(session.record.entries)
        steps.redoing = True
        try:
            restore(session, gone, lambda path: changed.setdefault(path))
        except BaseException:  # also Ctrl-C: what ran again is taken back, and can still be brought back
            session.take_back(before)
            session.record.cut(place)
            raise
        finally:
            steps.redoing = False
        steps.undone.pop()
        session.record.tell_typed(gone)
        session.emit(Printed(f"brought back: {together(entry.span for entry in gone)}"))
    for path in changed:
        session.emit(Noted(Note(f"{path} has changed since: its new content was read")))


# The undo logs of the last statements, which `undo` takes back, the last first.
#
# An undo log keeps what its statement replaced: the old value of a name with the graph behind it, the arrays that a
# backward released, the data that were overwritten. So the bytes that all of them keep are limited.

DEPTH = 100  # statements, where they are kept
MOST = 256e6  # bytes, of all but the last statement
SHARE = 4  # what is kept may take a quarter of the available memory
_MUCH = 1e6  # bytes that are worth telling
_FORGOTTEN = "earlier statements are forgotten: undo keeps at most {} of old values, or a quarter of the memory"
_NODE = 400  # bytes of a node by itself
_LONGEST = 60  # characters of a statement


class Step(Struct, eq=False, frozen=False):
    """A statement that changed something, and how to undo it."""

    span: Span | None
    log: UndoLog
    last: tuple[Any, ...]  # the last answer before it
    chosen: dict[str, Guard]
    place: int  # how many statements of the log come before it
    bytes: int = 0
    nodes: tuple[Node, ...] = ()

    @property
    def line(self) -> int:
        """The number of the line that it was entered at, with whose other statements it is taken back; or its own."""
        source = self.span.source if self.span is not None else None
        return source.first_line if source is not None and source.is_entry else id(self)


class Steps:
    """The last statements, as many as `depth` says and memory allows."""

    def __init__(self) -> None:
        self.depth = 0
        self.undone: list[list[Entry]] = []  # what was taken back, for `redo`: the last is the last taken back
        self.redoing = False  # whether it runs again, so that the rest can be brought back too
        self.running = 0  # the number of the line that runs, of which the statements are taken back one by one
        self.nodes: set[Node] = set()  # all nodes that old values lead to
        self._partly = 0  # the number of the line whose first statements are forgotten
        self._kept: deque[Step] = deque()
        self._forgotten = False  # whether statements were forgotten to save memory

    @property
    def bytes(self) -> int:
        """What is kept, at most: a part of it may be in use anyhow."""
        return sum(step.bytes for step in self._kept)

    @property
    def told(self) -> str:
        """The same in words, where it is much: `up to 720 MB for 30 statements`."""
        if self.bytes < _MUCH:
            return ""
        return f"up to {format_bytes(self.bytes)} for {len(self)} statement{'' if len(self) == 1 else 's'}"

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def units(self) -> int:
        """How often `undo` can take something back: the lines that were entered, or statements."""
        return len({id(step) if step.line == self.running else step.line for step in self._kept})

    @property
    def last_together(self) -> list[Step]:
        """The statements to take back next, in the order in which they ran; one by one in the line that asks."""
        line = self.last.line
        return [step for step in self._kept if step.line == line] if line != self.running else [self.last]

    def keep(self, step: Step) -> None:
        """Remember a statement that has succeeded; do nothing if it changed only the last answer."""
        if not self.depth or not step.log.changed:
            return
        if not self.redoing:
            self.undone.clear()
        if step.line == self._partly == self.running:
            return
        self._weigh(step)
        self._kept.append(step)
        share = current().limits.memory / SHARE
        while (len(self._kept) > self.depth and self.units > self.depth) or self.bytes > (
            min(MOST, share) if len(self._kept) > 1 else share
        ):
            self._forgotten = self._forgotten or len(self._kept) <= self.depth
            self._partly = self._kept[0].line
            while self._kept and self._kept[0].line == self._partly:
                self.nodes.difference_update(self._kept.popleft().nodes)  # a line is kept whole, or not at all

    def drop(self, log: UndoLog) -> None:
        """Forget a statement that failed later. May be called again if it was interrupted."""
        if self._kept and self._kept[-1].log is log:
            self.nodes.difference_update(self._kept[-1].nodes)
            self._kept.pop()

    @property
    def last(self) -> Step:
        """The next statement to take back."""
        return self._kept[-1]

    def since(self, place: Span) -> int:
        """How many statements to take back so that the one at or around a place is among them; 0 if none is."""
        for count, step in enumerate(reversed(self._kept), 1):
            span = step.span
            if span is not None and span.source == place.source and span.start <= place.start < span.end:
                return len({step.line for step in list(self._kept)[-count:]})
        return 0

    def too_few(self, count: int) -> AgradError:
        """The error if fewer statements can be taken back than were requested."""
        there = self.units
        notes = [_FORGOTTEN.format(format_bytes(int(MOST)))] if self._forgotten else []
        if there:
            message = f"undo {count}: only {there} statement{'s' if there > 1 else ''} can be taken back"
            return AgradError("limit", message, notes=notes, fixes=[f"undo {there}" if there > 1 else "undo"])
        notes = notes or [f"undo takes back what changed something, the last {DEPTH} statements at most; see help undo"]
        return AgradError("limit", "there is nothing to take back", notes=notes)

    def turn_off(self) -> None:
        """Discard everything, and keep nothing from now on."""
        self.depth = 0
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self.undone.clear()
        self.nodes.clear()
        self._forgotten = False

    def _weigh(self, step: Step) -> None:
        """How many bytes an undo log keeps: at most, since a part may still be in use; each node once."""
        found: list[Node] = []
        stack = list(step.log.held)
        while stack:
            part = stack.pop()
            if isinstance(part, Tensor):
                stack += [part.node] if part.array is None else [part.node, part.array]
            elif isinstance(part, Gradient):
                stack.append(part.value)
            elif isinstance(part, tuple):
                stack += part
            elif isinstance(part, List):
                step.bytes += _NODE
            elif isinstance(part, Table):
                stack += (part[:, place] for place in range(len(part.columns)))
            elif isinstance(part, Mapping):
                stack += part.values()
            elif type(part).__module__ == "__main__":
                continue  # of a script, which says what it likes
            elif type(part) is not Node:
                step.bytes += getattr(part, "nbytes", 0)
            elif part not in self.nodes:
                self.nodes.add(part)
                found.append(part)
                step.bytes += _NODE
                stack += (part.value, part.inputs, part.attrs)
        step.nodes = tuple(found)


def together(spans: Iterable[Span | None]) -> str:
    """Statements that were typed together, in one short line."""
    return printable(truncate("; ".join(map(_short, spans)), _LONGEST))


def _short(span: Span | None) -> str:
    """A statement in one short line: of a block the first."""
    if span is None:
        return "the last step"
    first, _, rest = span.source.text[span.start : span.end].partition("\n")
    return truncate(f"{first} …" if rest.strip() else first, _LONGEST)
