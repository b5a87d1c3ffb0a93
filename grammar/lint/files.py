"""The scripts that are read before anything runs: their statements, and the names that those bind."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import TypeAlias

from agrad.engine.errors import AgradError
from agrad.grammar.commands.registry import COMMANDS, of
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.run.code import of_statement
from agrad.grammar.session.inputs import script
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.parser import parse, starts

# A line with which a statement begins, unless it goes on inside a bracket.
MARGIN = re.compile(r"^(?![ \t]|(?:elif|else)\b|[ \t\r\f]*(?:#|$))", re.MULTILINE)
PATIENCE = 50  # unindented lines within which an open bracket may be closed; errors reported for one statement
# The replacement for a line that cannot be parsed, so that the lines that belong to it can be.
_STAND_INS = {"def": "def _():"} | dict.fromkeys(("for", "while"), "while 1:")
_STAND_INS |= dict.fromkeys(("if", "elif", "else"), "if 1:")

# What a name is bound to: the `def`, if it is one, or the constant that is assigned, if it is one.
Giver: TypeAlias = ast.Define | ast.Number | ast.String | None
Givers = dict[str, list[Giver]]


ANY = "*"  # among names: any other


class Facts:
    """What a statement says by itself, kept for as long as the statement is in a script."""

    def __init__(self, statement: ast.Statement) -> None:
        self.statement = statement
        self.given = tuple(pair for inner in _statements((statement,)) for pair in given(inner))
        self.loads = tuple(_loads((statement,)))

    @cached_property
    def attributes(self) -> set[str]:
        """The names that objects may have as attributes from it: what a class defines, or is assigned to.

        ANY, where it reads a table, whose columns may have any name.
        """
        found: set[str] = set()
        for node in ast.nodes(self.statement):
            match node:
                case ast.Class():
                    found.update(name for inner in node.body for name, _ in given(inner))
                case ast.Assign(targets):
                    found.update(target.name for target in targets if isinstance(target, ast.Attribute))
                case ast.Name("load_csv"):
                    found.add(ANY)
        return found

    @cached_property
    def refused(self) -> AgradError | None:
        """Why it cannot run with any values outside of functions, if so."""
        try:
            of_statement(self.statement)
        except AgradError as problem:
            return problem
        return None


class Files:
    """The scripts that are read: the one to check, and those that it loads.

    `facts` has what is known of statements, some of it from an earlier check, by their id.
    """

    def __init__(self, facts: Iterable[Facts] = ()) -> None:
        self.facts = {id(one.statement): one for one in facts}
        self.problems: list[AgradError] = []
        self.bodies: dict[str, ast.Body] = {}  # by the names of the scripts, in the order in which they are first read
        self.late: Givers = {}  # what functions load
        self._loaded: dict[int, str] = {}  # the script of each `load`
        self.walked: set[str] = set()  # the loaded scripts that have been checked
        self.unread: set[str] = set()  # the scripts that cannot be parsed
        self.hiding: set[str] = set()  # these, and those that load what cannot be read: any name may have a value there
        self.dark = False  # whether a function does
        self.of_objects: set[str] | None = None  # the names of attributes that objects may have, once they are wanted
        self._given: dict[str, Givers] = {}
        self._under_way: list[str] = []

    def known(self, statement: ast.Statement) -> Facts:
        """What a statement says by itself."""
        found = self.facts.get(id(statement))
        if found is None:
            found = self.facts[id(statement)] = Facts(statement)
        return found

    def read(self, source: Source) -> ast.Body:
        """The statements of a script; the scripts that it loads are read too."""
        self.bodies[source.name] = ()
        try:
            body = parse(source)
        except AgradError as problem:
            self.problems += unreadable(source) or [problem]
            self.unread.add(source.name)
            self.hiding.add(source.name)
            return ()
        return self.follow(source.name, body)

    def follow(self, name: str, body: ast.Body) -> ast.Body:
        """The statements of a script, which have been read; the scripts that it loads are read."""
        self.bodies[name] = body
        self._under_way.append(name)
        for statement in body:
            for command, inside in self.known(statement).loads:
                self._load(command)
                if inside:
                    self.late = merged(self.late, self._brought(command))
                if self.hides(command):
                    self.hiding.add(name)
                    self.dark |= inside
        self._under_way.pop()
        return body

    def _load(self, command: ast.Command) -> None:
        (path,) = command.operands
        assert isinstance(path, ast.String)
        try:
            source = script(path.value, path.span, self._under_way)
        except AgradError as problem:
            self.problems.append(problem)
            return
        self._loaded[id(command)] = source.name
        if source.name not in self.bodies:
            self.read(source)

    def attributes(self) -> set[str]:
        """The names that objects may have as attributes: those that classes define, or that are assigned to."""
        return {
            name for statement in chain.from_iterable(self.bodies.values()) for name in self.known(statement).attributes
        }

    def loaded(self, statement: ast.Statement) -> str | None:
        """The name of the script that a statement loads, if it does."""
        return self._loaded.get(id(statement))

    def hides(self, statement: ast.Statement) -> bool:
        """Whether a statement loads what cannot be read, directly or through another script."""
        made = of(statement)
        if made is None or not made.loads:
            return False
        name = self.loaded(statement)
        return name is None or name in self.hiding

    def givers(self, body: ast.Body) -> Givers:
        """The names that statements bind in their own scope, including those of loaded scripts."""
        found: Givers = {}
        for statement in body:
            known = self.known(statement)
            for name, giver in known.given:
                found.setdefault(name, []).append(giver)
            for command, inside in known.loads:
                if not inside:
                    found = merged(found, self._brought(command))
        return found

    def _brought(self, statement: ast.Statement) -> Givers:
        """The same for the script that a statement loads."""
        name = self.loaded(statement)
        if name is None:
            return {}
        if name not in self._given:
            self._given[name] = self.givers(self.bodies[name])
        return self._given[name]


def merged(one: Givers, other: Givers) -> Givers:
    """The bindings of two sets of statements together."""
    return {name: [*one.get(name, []), *other.get(name, [])] for name in {**one, **other}}


def unreadable(source: Source) -> list[AgradError]:
    """The syntax errors of a text, line by line, so that one does not hide the next."""
    found: list[AgradError] = []
    start = 0
    for text in pieces(source.text):
        found += mistakes(source.name, text, source.position(start)[0], source.is_file)
        start += len(text)
    return found


def pieces(text: str, start: int = 0) -> Iterator[str]:
    """The statements of a text that may have syntax errors, from a place on where one begins."""
    margins = (found.start() for found in MARGIN.finditer(text, start) if found.start() > start)
    near: deque[int] = deque()  # the next unindented lines
    while start < len(text):
        near.extend(islice(margins, PATIENCE - len(near)))
        limit = near[-1] if len(near) == PATIENCE else len(text)
        bounds = pairwise(chain([start], (start + bound for bound in starts(text[start:limit]))))
        ends = (end for begin, end in bounds if text[begin] != "@" and (end in near or end == len(text)))
        # A bracket that is never closed extends to the next unindented line at most.
        end = next(ends, near[0] if near else len(text))
        while near and near[0] <= end:
            near.popleft()
        yield text[start:end]
        start = end


def mistakes(name: str, text: str, line: int, is_file: bool) -> Iterator[AgradError]:
    """The syntax errors of one statement of a script, which is at a line of it.

    There is at most one for each of its lines: a line is replaced before the text is parsed for the next error.
    """
    least = 0
    for _ in range(PATIENCE):
        try:
            parse(Source(name, text, line, is_file))
            return
        except AgradError as problem:
            place = problem.labels[0].origin
            assert isinstance(place, Span)
            if place.start < least:
                return
            yield problem
        bounds = [start for start in starts(text) if start >= least]
        number = bisect_right(bounds, place.end) - 1
        if not 0 <= number < len(bounds) - 1:
            return
        stand_in = _stand_in(text, *bounds[number : number + 2])
        least = bounds[number] + len(stand_in)
        text = text[: bounds[number]] + stand_in + text[bounds[number + 1] :]


def _stand_in(text: str, begin: int, end: int) -> str:
    """A replacement that can be parsed, with as many lines, which begins a block if the line does."""
    written = text[begin:end].rstrip()
    margin, below = (place - text.rfind("\n", 0, place) for place in (begin, end))
    block = below > margin and end < len(text)
    word = re.split(r"\W", written, maxsplit=1)[0]
    header = _STAND_INS.get(word, "if 1:" if block else "")
    readable = header if block else f"{header} pass".lstrip()
    return readable + "\n" * written.count("\n") + text[begin + len(written) : end]


def _statements(body: ast.Body) -> Iterator[ast.Statement]:
    """The statements of a scope, inner blocks included; without the bodies of functions and of `fails`."""
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in reversed(ast.blocks(statement)):
            waiting += reversed(block)


def _loads(body: ast.Body) -> Iterator[tuple[ast.Command, bool]]:
    """The `load` commands among statements, and whether they are in a function."""
    waiting = [(body, False)]
    while waiting:
        block, inside = waiting.pop()
        for statement in _statements(block):
            if isinstance(statement, ast.Define | ast.Class):
                waiting.append((statement.body, True))
            elif isinstance(statement, ast.Command) and COMMANDS[statement.word].loads:
                yield statement, inside


def given(statement: ast.Statement) -> Iterator[tuple[str, Giver]]:
    """The names that a statement itself binds."""
    match statement:
        case ast.Assign((ast.Name(name),), ast.Number() | ast.String() as value):
            yield name, value
        case ast.Assign(targets):
            yield from ((name, None) for name in names_in(targets))
        case ast.Augment(target) | ast.For(target) | ast.Variable(target):
            yield from ((name, None) for name in names_in((target,)))
        case ast.Define(name):
            yield name, statement
        case ast.Class(name):
            yield name, None
        case ast.Command("fit" | "solve", (ast.Unknowns(names), *_)):
            yield from ((unknown.id, None) for unknown in names)
        case ast.Import(_, names, _):
            yield from ((here, None) for _, _, here in names)


def names_in(targets: Iterable[ast.Expr]) -> Iterator[str]:
    """The names that some targets bind."""
    waiting = list(targets)
    while waiting:
        target = waiting.pop()
        if isinstance(target, ast.Tuple):
            waiting += target.items
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)
        elif isinstance(target, ast.Name):
            yield target.id
