"""The scripts that are read before anything runs: their statements, and the names that those bind."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from agrad.engine.errors import AgradError
from agrad.grammar.commands.registry import COMMANDS, of
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.run import python
from agrad.grammar.run.code import OF_FUNCTIONS, binds, module_name, names_of, of_statement
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


class Use(NamedTuple):
    """Where an expression reads a name or an attribute, or calls: whether it is certain to do so, and when.

    `bound`: the variables of expressions around it, such as those of a lambda.
    """

    node: ast.Name | ast.Attribute | ast.Call
    sure: bool
    bound: frozenset[str]


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
        """Why it cannot run with any values outside of functions, if so; of Python, that is known already."""
        if isinstance(self.statement, ast.Python):
            return None
        try:
            of_statement(self.statement)
        except AgradError as problem:
            return problem
        return None

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """What its expressions read and call, without its blocks."""
        match self.statement:
            case ast.Python():
                parts = list[_Part]()
            case ast.If(branches):
                parts = [_Part(test, place == 0) for place, (test, _) in enumerate(branches)]
            case ast.Define(_, parameters):
                parts = [_Part(parameter.default) for parameter in parameters]
            case ast.Command(word, operands, options):
                named = COMMANDS[word].sets_leaves
                leaves = [ast.Name(name, span=value.span) for name, value in options if named and value is not None]
                parts = [_Part((operands, options, tuple(leaves)))]
            case statement:
                fields = [name for name in type(statement).fields if name not in ("name", "body", "span")]
                binds = isinstance(statement, ast.For | ast.Assign)
                parts = [_Part(getattr(statement, name), stored=binds and name.startswith("target")) for name in fields]
        return tuple(_uses(parts))


class _Part(NamedTuple):
    """A part of an expression. `sure`: it is always computed; `stored`: it is a target; `bound`: as in a Use."""

    node: Any
    sure: bool = True
    stored: bool = False
    bound: frozenset[str] = frozenset()


def _uses(waiting: list[_Part]) -> Iterator[Use]:
    """What parts of expressions read and call."""
    while waiting:
        node, sure, stored, bound = waiting.pop()
        if isinstance(node, tuple):
            waiting += [_Part(inner, sure, stored, bound) for inner in node]
        elif isinstance(node, ast.Tuple | ast.Starred) and stored:
            waiting.append(_Part(node.items if isinstance(node, ast.Tuple) else node.value, sure, True, bound))
        elif isinstance(node, ast.Node) and not (isinstance(node, ast.Name) and stored):
            if isinstance(node, ast.Name | ast.Attribute | ast.Call):
                yield Use(node, sure, bound)
            for part, certain, names in _inside(node):
                waiting.append(_Part(part, sure and certain, False, bound.union(names) if names else bound))


def _inside(node: ast.Node) -> list[tuple[Any, bool, Sequence[str]]]:
    """The parts of an expression, whether each is always computed, and the variables that it has there."""
    match node:
        case ast.Each(value, target, values, last, conditions):
            return [((values, last), True, ()), ((value, conditions), True, [*names_of(target)])]
        case ast.Lambda(parameters, value):
            names = [one.name.lstrip("*") for one in parameters]
            return [(tuple([one.default for one in parameters]), True, ()), (value, False, names)]
        case ast.Unknowns(names, value):  # without any, the names in it need no value
            return [(value, True, [name.id for name in names])] if names else []
        case ast.Logic(_, left, right):
            return [(left, True, ()), (right, False, ())]
        case ast.Conditional(test, then, other):
            return [(test, True, ()), ((then, other), False, ())]
        case ast.Compare(first, rest):
            return [((first, rest[0]), True, ()), (rest[1:], False, ())]
        case ast.Attribute(value):
            return [] if module_name(node) else [(value, True, ())]
        case ast.Call(ast.Name(name), (first, *rest), keywords) if name in OF_FUNCTIONS and not isinstance(
            first, ast.Name
        ):
            return [((tuple(rest), keywords), True, ())]  # it may have an unknown
        case ast.Call(ast.Attribute(value) as function, arguments, keywords):
            return [((() if module_name(function) else value, arguments, keywords), True, ())]
    return [(tuple([getattr(node, name) for name in type(node).fields if name != "span"]), True, ())]


class Files:
    """The scripts that are read: the one to check, and those that it loads.

    `before`: what an earlier check has found out about statements, by their id.
    """

    def __init__(self, before: Mapping[int, Facts] = MappingProxyType({})) -> None:
        self.before = before
        self.facts: dict[int, Facts] = {}
        self.problems: list[AgradError] = []
        self.bodies: dict[str, ast.Body] = {}  # by the names of the scripts, in the order in which they are first read
        self.late: Givers = {}  # what functions load
        self._loaded: dict[int, str] = {}  # the script of each `load`
        self.walked: set[str] = set()  # the loaded scripts that have been checked
        # The scripts that cannot be parsed, or load what cannot be read: any name may have a value there.
        self.hiding: set[str] = set()
        self.dark = False  # whether a function does
        self.of_objects: set[str] | None = None  # the names of attributes that objects may have, once they are wanted
        self._given: dict[str, Givers] = {}
        self._under_way: list[str] = []

    def known(self, statement: ast.Statement) -> Facts:
        """What a statement says by itself."""
        found = self.facts.get(id(statement))
        if found is None:
            found = self.facts[id(statement)] = self.before.get(id(statement)) or Facts(statement)
        return found

    def read(self, source: Source) -> ast.Body | None:
        """The statements of a script, None if it cannot be parsed; the scripts that it loads are read too."""
        self.bodies[source.name] = ()
        try:
            body = python.parse(source)
            for statement in body:
                if isinstance(statement, ast.Python):
                    python.code_of(statement)  # which finds what it binds
        except AgradError as problem:
            self.problems += unreadable(source) or [problem]
            self.hiding.add(source.name)
            return None
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
    """The syntax errors of a text, line by line, so that none hides the next; of Python CPython tells one."""
    found: list[AgradError] = []
    start = 0
    for text in () if python.reads(source) else pieces(source.text):
        found += mistakes(source.name, text, source.position(start)[0], source.is_file)
        start += len(text)
    return found


def pieces(text: str) -> Iterator[str]:
    """The statements of a text that may have syntax errors, each with its block."""
    bounds = [found.start() for found in MARGIN.finditer(text) if found.start()] + [len(text)]
    start = at = 0
    while start < len(text):
        near = bounds[at : at + PATIENCE]
        size = near[0] - start
        if not _is_whole(text[start : near[0]]):
            # A bracket that is never closed extends to the next unindented line at most.
            ends = {bound - start for bound in near}
            size = next((end for end in _ends(text[start : near[-1]]) if end in ends), size)
        yield text[start : start + size]
        start += size
        at = bisect_right(bounds, start, at)


@lru_cache(10_000)
def _is_whole(text: str) -> bool:
    """Whether a text that ends before an unindented line is a statement, with its block."""
    several_lines = '"""' in text or "'''" in text  # which may go on
    return not several_lines and len(text) in _ends(text)


def _ends(text: str) -> Iterator[int]:
    """Where the statements of a text end; a decorator is not one."""
    for begin, end in pairwise(chain([0], starts(text))):
        if text[begin] != "@":
            yield end


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
        case ast.Define(name):
            yield name, statement
        case ast.Import(_, names, _):
            yield from ((here, None) for _, _, here in names)
        case _ if not isinstance(statement, ast.Delete):
            yield from ((name, None) for name in binds(statement))
