"""The scripts that are read before anything runs: their statements, and the names that those give a value to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agrad.engine.errors import AgradError
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Source
from agrad.grammar.loading import script
from agrad.grammar.parser import needs_more, parse

_CONTINUES = re.compile(r"[ \t]|(elif|else)\b|\s*(#|$)")
_PATIENCE = 50  # lines at the margin that an open bracket is given to be closed

# What gives a name its value: the `def`, where it is one.
Givers = dict[str, list[syntax.Define | None]]


class Files:
    """The scripts that are read: the one in question, and those that it loads."""

    def __init__(self) -> None:
        self.problems: list[AgradError] = []
        self.bodies: dict[str, syntax.Body] = {}  # by the names of the scripts, in the order of their first reading
        self.late: Givers = {}  # what functions load
        self._loaded: dict[int, str] = {}  # the script that each `load` brings in
        self._kept: list[syntax.Command] = []  # so that no other node takes the identity of one of these
        self.walked: set[str] = set()  # the loaded scripts that have been checked
        self._given: dict[str, Givers] = {}
        self._under_way: list[str] = []

    def read(self, source: Source) -> syntax.Body:
        """The statements of a script; all that it loads is read too."""
        self.bodies[source.name] = ()
        self._under_way.append(source.name)
        try:
            self.bodies[source.name] = parse(source)
        except AgradError as problem:
            self.problems += _unreadable(source) or [problem]
        for command, inside in _loads(self.bodies[source.name]):
            self._load(command)
            if inside:
                self.late = merged(self.late, self._brought(command))
        self._under_way.pop()
        return self.bodies[source.name]

    def _load(self, command: syntax.Command) -> None:
        (path,) = command.operands
        assert isinstance(path, syntax.String)
        try:
            source = script(path.value, path.span, self._under_way)
        except AgradError as problem:
            self.problems.append(problem)
            return
        self._kept.append(command)
        self._loaded[id(command)] = source.name
        if source.name not in self.bodies:
            self.read(source)

    def loaded(self, statement: syntax.Statement) -> str | None:
        """The name of the script that a statement loads, if it does."""
        return self._loaded.get(id(statement)) if isinstance(statement, syntax.Command) else None

    def givers(self, body: syntax.Body) -> Givers:
        """The names that statements give a value to in their own scope, those of scripts that they load included."""
        found: Givers = {}
        for statement in _statements(body):
            for name, giver in given(statement):
                found.setdefault(name, []).append(giver)
            for name, others in self._brought(statement).items():
                found.setdefault(name, []).extend(others)
        return found

    def _brought(self, statement: syntax.Statement) -> Givers:
        """The same for the script that a statement loads."""
        name = self.loaded(statement)
        if name is None:
            return {}
        if name not in self._given:
            self._given[name] = self.givers(self.bodies[name])
        return self._given[name]


def merged(one: Givers, other: Givers) -> Givers:
    """What gives each name its value, of two sets of statements together."""
    return {name: [*one.get(name, []), *other.get(name, [])] for name in {**one, **other}}


def _unreadable(source: Source) -> list[AgradError]:
    """What cannot be read in a text, statement by statement, so that one mistake does not hide the next."""
    found = []
    for line, text in _pieces(source.text):
        try:
            parse(Source(source.name, text, line, True))
        except AgradError as problem:
            found.append(problem)
    return found


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a text that need not be readable, each with its first line."""
    pending, start, asked = "", 1, 0
    for number, line in enumerate(text.split("\n"), 1):
        if pending and not _CONTINUES.match(line) and asked < _PATIENCE:
            asked += 1
            if not needs_more(pending):
                yield start, pending
                pending, asked = "", 0
        start = start if pending else number
        pending += f"{line}\n"
    yield start, pending


def _statements(body: syntax.Body) -> Iterator[syntax.Statement]:
    """The statements of a scope, inner blocks included; not what functions do, nor what is expected to fail."""
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in reversed(blocks(statement)):
            waiting += reversed(block)


def blocks(statement: syntax.Statement) -> list[syntax.Body]:
    """The blocks inside a statement that run as a part of it."""
    match statement:
        case syntax.If(branches, otherwise):
            return [*(block for _, block in branches), otherwise]
        case syntax.For() | syntax.While() | syntax.NoGrad() | syntax.Time():
            return [statement.body]
    return []


def _loads(body: syntax.Body) -> Iterator[tuple[syntax.Command, bool]]:
    """The `load` commands among statements, and whether a function says them."""
    waiting = [(body, False)]
    while waiting:
        block, inside = waiting.pop()
        for statement in _statements(block):
            if isinstance(statement, syntax.Define):
                waiting.append((statement.body, True))
            elif isinstance(statement, syntax.Command) and statement.word == "load":
                yield statement, inside


def given(statement: syntax.Statement) -> Iterator[tuple[str, syntax.Define | None]]:
    """The names that a statement by itself gives a value to."""
    targets: list[syntax.Expr] = []
    match statement:
        case syntax.Assign():
            targets += statement.targets
        case syntax.Augment() | syntax.For():
            targets.append(statement.target)
        case syntax.Variable(name):
            targets.append(name)
        case syntax.Define(name):
            yield name, statement
    while targets:
        target = targets.pop()
        if isinstance(target, syntax.Tuple):
            targets += target.items
        elif isinstance(target, syntax.Name):
            yield target.id, None
