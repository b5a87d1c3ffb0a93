"""The log of a session: the statements that were accepted and not undone.

`history` shows it, `save` makes a script of it, and a session that is restored runs it again.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.ops import creation
from agrad.grammar.commands.registry import COMMANDS, of, words
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.results import Noted, Printed, Result, Shown
from agrad.grammar.runtime.bytecode import Do
from agrad.grammar.session.saving.transcript import Transcript
from agrad.grammar.session.undo import short, together
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agrad.engine.core.context import Context
    from agrad.grammar.commands.host import Session
    from agrad.grammar.runtime.bytecode import Frame
    from agrad.grammar.runtime.vm import Machine

    class Keeper(Protocol):
        """A record of the accepted statements, written as they are accepted: the crash log."""

        def add(self, entry: Entry) -> None:
            """A statement was accepted."""

        def typed(self, number: int, text: str) -> None:
            """A text was typed that has no statement in effect."""

        def cut(self, count: int) -> None:
            """Only the first so many are still in effect."""


_BLOCKS = ast.For | ast.While | ast.If | ast.NoGrad | ast.DetectAnomaly | ast.Time
_TEXTS = 10_000  # that were typed, kept for `again`
_RESULTS = 100  # kept for `_5`
_MOST = 64e6  # bytes of them
_SEED_BYTES = 6  # so many bits are exact in the language


class Entry:
    """A statement that was accepted, and the seed that the random numbers got because it may be the first to draw some.

    Only the span of the statement is kept: the tree would take ten times as much. `files` are those that it read, as
    in `Context.files`.
    """

    # Not a dataclass: creating one takes longer, at each start, than everything else here.
    __slots__ = ("files", "seed", "span")

    def __init__(self, span: Span, seed: int | None = None, files: dict[str, list[int]] | None = None) -> None:
        self.span = span
        self.seed = seed
        self.files = files


class SessionLog:
    """The statements of a session that were accepted and not undone. Kept while it is `on`."""

    def __init__(self, context: Context) -> None:
        self.context = context  # of the session
        self.on = False
        self.entries: list[Entry] = []
        self.typed: dict[int, str] = {}  # the last texts that were typed, by the number of their first line
        self.results: deque[tuple[int, int, Any]] = (
            deque()
        )  # after how many entries, and at which line, with what value
        self._dropped = 0  # the line of the last of them that is kept no more
        self.keeper: Keeper | None = None
        self.transcript = Transcript(lambda: self.on)
        self._seed: int | None = None  # with which the running statement seeded the random numbers
        self._wanted: int | None = None  # with which it has to seed them
        context.random.seeds = self._first_seed

    def __len__(self) -> int:
        return len(self.entries)

    def begin(self, seed: int | None = None) -> None:
        """A statement is about to run; `seed`: with which it seeded the random numbers when it ran before."""
        self._seed, self._wanted = None, seed
        self.context.files.seen = {} if self.on else None

    def seed(self) -> None:
        """Seed the random numbers as the statement that is run again did."""
        if self.on and self._wanted is not None:
            self._seed, self._wanted = self._wanted, None
            creation.manual_seed(float(self._seed))

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
        if self.keeper is not None and (
            text is not None or not self.entries or self.entries[-1].span.source is not source
        ):
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
        made = of(statement)
        if not self.on or (made is not None and not made.logged):
            return
        entry = Entry(statement.span, self._seed, self.context.files.seen or None)
        self.entries.append(entry)
        if last and not statement.span.source.is_file:
            self._keep_result(number_of(entry), last[0])
        if self.keeper is not None:
            self.keeper.add(entry)

    def _keep_result(self, number: int, value: Any) -> None:
        self.results.append((len(self.entries), number, value))
        held = sum(getattr(value, "nbytes", 0) for _, _, value in self.results)
        while len(self.results) > _RESULTS or (held > _MOST and len(self.results) > 1):
            _, self._dropped, old = self.results.popleft()
            held -= getattr(old, "nbytes", 0)

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


class OutputBuffer:
    """Holds the results of a statement until it is in the crash log, so that a result that was seen is never lost.

    Results of a function, or of a script that is loaded, are passed on at once; without a `machine`, all of them are.
    """

    def __init__(self, emit: Callable[[Result], None], machine: Machine | None) -> None:
        self.emit = emit
        self.frames = machine.frames if machine is not None else None
        self.waiting: list[Result] = []
        self.printed_nan = False  # whether a line that was printed has one
        self.shown: Any = None  # the value that was shown last
        self.noted = False  # whether there was a note, such as on a gradient that is nan

    def __call__(self, result: Result) -> None:
        """Hold a result back, or pass it on."""
        if type(result) is Shown:
            self.shown = result.value
        elif type(result) is Noted:
            self.noted = True
        elif type(result) is Printed and "nan" in result.line:
            self.printed_nan = True
        if self.waiting or (self.frames is not None and len(self.frames) <= 1):
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
    from itertools import groupby  # here, since few sessions are shown

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


def is_block(statement: ast.Statement) -> bool:
    """Whether a statement contains others, and so may have results before it ends."""
    return isinstance(statement, _BLOCKS)


def asks(text: str) -> bool:
    """Whether a text may have a command that needs the log of its session."""
    return any(word in text for word in words(lambda made: made.needs == "log"))


def statements(entries: Sequence[Entry]) -> Iterator[tuple[Entry, ast.Statement]]:
    """The statements of entries. Raises AgradError for a text that is now parsed differently."""
    source: Source | None = None
    found: dict[int, ast.Statement] = {}
    for entry in entries:
        if entry.span.source is not source:
            source = entry.span.source
            found = {statement.span.start: statement for statement in parse(source)}
        statement = found.get(entry.span.start)
        if statement is None or statement.span.end != entry.span.end:
            raise AgradError("syntax", "this is no longer parsed as it was", labels=[Label(entry.span)])
        yield entry, statement


def _unheard(path: str) -> None:
    """The sink for names of files that are not reported."""


def restore(session: Session, entries: Sequence[Entry], changed: Callable[[str], None] = _unheard) -> None:
    """Run statements again, without output or writing a file; call `changed` for each file that has changed since.

    Raises AgradError or KeyboardInterrupt at the first that fails: those before it stay in the log.
    """
    told: list[str] = []
    commands = session.machine.handlers[Do.COMMAND]
    session.machine.handlers[Do.COMMAND] = _without_files(commands)
    session.restoring = True
    try:
        for entry, statement in statements(entries):
            try:
                session.run_again(statement, entry.seed)
            finally:
                for path in _changed(session, entry):
                    if path not in told:
                        told.append(path)
                        changed(path)
    finally:
        session.machine.handlers[Do.COMMAND] = commands
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
                session.run_inside(Source(source.name, text, number, is_entry=True))
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
        before, place = len(steps), len(session.record)
        steps.redoing = True
        try:
            restore(session, gone, lambda path: changed.setdefault(path))
        except BaseException:  # also Ctrl-C: what ran again is taken back, and can still be brought back
            while len(steps) > before:
                session.undo_last()
            session.record.cut(place)
            raise
        finally:
            steps.redoing = False
        steps.undone.pop()
        session.record.tell_typed(gone)
        session.emit(Printed(f"brought back: {together(short(entry.span) for entry in gone)}"))
    for path in changed:
        session.emit(Noted(Note(f"{path} has changed since: its new content was read")))


def _changed(session: Session, entry: Entry) -> list[str]:
    """The files that a statement has read again, and that have changed since."""
    seen = session.context.files.seen or {}
    return [path for path, found in (entry.files or {}).items() if seen.get(path, found) != found]


def _without_files(commands: Callable[[Frame, Any, Span], int | None]) -> Callable[[Frame, Any, Span], int | None]:
    """The runner of commands, without those that write files: these were written before."""

    def run(frame: Frame, node: ast.Command, span: Span) -> int | None:
        made = COMMANDS[node.word]
        if made.writes:
            del frame.stack[len(frame.stack) - len(node.operands) :]
            return None
        for name in [name for name, _ in node.options if name in made.options and made.options[name].writes]:
            values = [option for option, value in node.options if value is not None]
            del frame.stack[len(frame.stack) - len(values) + values.index(name)]
            node = node.changed(options=tuple(option for option in node.options if option[0] != name))
        return commands(frame, node, span)

    return run
