"""The log of a session: the statements that were accepted and not undone.

`history` shows it, `save` makes a script of it, and a session that is restored runs it again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agrad.engine.errors import AgradError, Label
from agrad.engine.ops import creation
from agrad.grammar.commands.registry import COMMANDS, of, words
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.results import Noted, Printed, Result, Shown
from agrad.grammar.runtime.bytecode import Do
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from agrad.engine.core.context import Context
    from agrad.grammar.commands.host import Session
    from agrad.grammar.runtime.bytecode import Frame
    from agrad.grammar.runtime.vm import Machine

    class Keeper(Protocol):
        """A record of the accepted statements, written as they are accepted: the crash log."""

        def add(self, entry: Entry) -> None:
            """A statement was accepted."""

        def cut(self, count: int) -> None:
            """Only the first so many are still in effect."""


_BLOCKS = ast.For | ast.While | ast.If | ast.NoGrad | ast.DetectAnomaly | ast.Time
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
        self.keeper: Keeper | None = None
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

    def add(self, statement: ast.Statement) -> None:
        """Keep a statement that has succeeded."""
        made = of(statement)
        if not self.on or (made is not None and not made.logged):
            return
        entry = Entry(statement.span, self._seed, self.context.files.seen or None)
        self.entries.append(entry)
        if self.keeper is not None:
            self.keeper.add(entry)

    def cut(self, count: int) -> None:
        """Forget all but the first so many."""
        if len(self.entries) > count:
            if self.keeper is not None:
                self.keeper.cut(count)  # first: if it is interrupted, this is called again
            del self.entries[count:]

    def turn_off(self) -> None:
        """Discard everything, and keep nothing from now on."""
        self.on = False
        self.context.files.seen = None
        self.entries.clear()


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
