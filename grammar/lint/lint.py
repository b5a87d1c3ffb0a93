"""The errors of a script, found without running it: syntax errors, names without a value, calls whose arguments
cannot fit, calls of numbers, unknown options of a command.

Only errors that are certain are reported, not those that depend on the run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

from agrad.engine.core.context import current, scope
from agrad.engine.core.op import FUNCTIONS, Entry
from agrad.engine.errors import AgradError, Label
from agrad.engine.units import unit
from agrad.grammar.commands.registry import COMMANDS, Call, of
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.elsewhere import RENAMED, SCHOOL
from agrad.grammar.run import python
from agrad.grammar.run.code import OF_FUNCTIONS, of_statement
from agrad.grammar.runtime.attributes import METHODS, NODE_ATTRIBUTES, attribute, method
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, defined
from agrad.grammar.runtime.fixes import explain, unknown
from agrad.grammar.session.inputs import script
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast, readings
from agrad.grammar.syntax.builder import KINDS
from agrad.grammar.syntax.lexer import typed_in
from agrad.grammar.syntax.parser import can_be_read, parse, starts

_UNIT = re.compile(r"(?m)(?:^|[;:])[ \t]*unit[ \t]+([A-Za-z_]+)")  # of one's own
_SOMETHING = 1.0  # an unknown value
_REFUSED = frozenset({"name", "arity"})  # kinds of errors of a command that are reported; not those about files


def problems(source: Source, names: Iterable[str] = (), reads_files: bool = True) -> list[AgradError]:
    """All certain errors of a script and of those it loads; some names may have values before it starts.

    Without `reads_files`, no other script is read: to load one is an error.
    """
    known, found, allowed = {*names}, list[AgradError](), current().files
    own = dict.fromkeys(_UNIT.findall(source.text), unit.find("m"))  # where a line is wrong, each is read by itself
    with scope(files=type(allowed)(reads_files, allowed.seen), units=current().units | own):
        for is_python, start, end in readings.parts(source):
            part, files = readings.blank(source.text, start, end), Files()
            if is_python:
                there = {*known, *Session().python.builtins, "_"}
                found += _of_python(source, part, there)
                known |= there
                continue
            body = files.read(Source(source.name, part, source.first_line, source.is_file))
            found += problems_of(files, body, known)
            known.update(files.givers(body), files.guessed)
        return ordered(files, found)


def _of_python(source: Source, text: str, known: set[str]) -> list[AgradError]:
    """What is certainly wrong with a text, or a part of it, that does not run.

    `known`: the names that it has from the start, and then also those that it binds.
    """
    read, (statements, found) = list[tuple[str, Span]](), readings.readable(source, text, known)
    for statement in statements:
        inner = statement.commands.values() if isinstance(statement, ast.Python) else ((statement,),)
        known.update(name for body in inner for one in body for name in ast.binds(one))
        if not isinstance(statement, ast.Python):
            continue
        for node in readings.nodes(statement.tree):
            if readings.is_load(node):
                read.append((node.id, Span(source, *statement.places.of(node))))
            else:
                known.update(readings.bound(node))
        try:
            python.code_of(statement)
        except AgradError as problem:
            found.append(problem)
    absent = [(f"NameError: name {name!r} is not defined", span) for name, span in read if name not in known]
    return [*found, *(AgradError("name", message, labels=[Label(span)]) for message, span in absent)]


def problems_of(files: Files, body: ast.Body, names: Iterable[str]) -> list[AgradError]:
    """The errors of a script whose statements, and the scripts that it loads, have been read."""
    names = {*names, *files.guessed}
    givers = merged({name: [None] for name in names}, files.givers(body))
    check = _Check(files, ChainMap(merged(givers, files.late)), {*names, *files.late})
    check.body(body)
    return ordered(files, [*files.problems, *check.problems])


def ordered(files: Files, found: Iterable[AgradError]) -> list[AgradError]:
    """Errors in the order of their places, of those at one place the one that covers least."""
    order = {name: place for place, name in enumerate(files.bodies)}
    unique: dict[tuple[int, tuple[int, int]], AgradError] = {}
    places = [(problem.labels[0].origin, problem) for problem in found]
    placed = [(place, problem) for place, problem in places if isinstance(place, Span)]
    # If x has no value, x.bar is not reported.
    for place, problem in sorted(placed, key=lambda pair: pair[0].end - pair[0].start, reverse=True):
        unique[order.get(place.source.name, 0), place.source.position(place.start)] = problem
    return [unique[key] for key in sorted(unique)]


@dataclass(slots=True, eq=False)
class _Check:
    """A walk through the statements of one scope, in the order in which they run."""

    files: Files
    scope: ChainMap[str, list[Giver]]  # the bindings of each name, those of the innermost scope first
    known: set[str] = field(default_factory=set)  # the names that certainly, or possibly, have a value by now
    dark: bool = False  # whether lines that cannot be parsed may have bound any name by now
    straight: bool = True  # whether the current statement runs once, after those above it
    problems: list[AgradError] = field(default_factory=list)

    def body(self, body: ast.Body) -> None:
        """Check statements, up to a `quit` that ends the script."""
        for statement in body:
            made = of(statement)
            if made is not None and made.ends and self.straight:
                return
            self._statement(statement)

    def _statement(self, statement: ast.Statement) -> None:
        if isinstance(statement, ast.Fails):
            return
        if len(self.scope.maps) == 1 and self.straight and (problem := facts_of(statement).refused):
            self.problems.append(problem)
            self.known |= self.files.givers((statement,)).keys()
            return
        loop = isinstance(statement, ast.For | ast.While)
        if loop:  # a later iteration sees what an earlier one did
            self.known |= self.files.givers((statement,)).keys()
        self._expressions(statement)
        before, self.straight = self.straight, self.straight and not isinstance(statement, ast.If | ast.For | ast.While)
        for block in ast.blocks(statement):
            self.body(block)
        if isinstance(statement, ast.Define):
            self._function(statement)
        elif (name := self.files.loaded(statement)) is not None:
            if name not in self.files.walked:
                self.files.walked.add(name)
                self.body(self.files.bodies[name])
            self.known |= self.files.givers((statement,)).keys()
        self.straight = before
        self.dark |= self.files.hides(statement)
        self.known |= {name for name, _ in given(statement)}
        if isinstance(statement, ast.Delete) and self.straight:
            self.known -= {target.id for target in statement.targets if isinstance(target, ast.Name)}

    def _function(self, node: ast.Define) -> None:
        """The body of a function, which runs at a time when any name may have a value."""
        own: Givers = {parameter.name.lstrip("*"): [None] for parameter in node.parameters}
        scope = self.scope.new_child(merged(own, self.files.givers(node.body)))
        _Check(self.files, scope, straight=False, problems=self.problems).body(node.body)

    def _expressions(self, statement: ast.Statement) -> None:
        """The expressions of a statement, without its blocks."""
        match statement:
            case ast.Command(word, _, options) if (check := COMMANDS[word].check) is not None:
                # errors that do not depend on values
                values = {name: value.value if isinstance(value, ast.String) else None for name, value in options}
                call = Call(statement, [], values, {}, statement.span)
                self._refused(statement.span, check, call, kinds=_REFUSED)
        for node, sure, bound in facts_of(statement).uses:
            if isinstance(node, ast.Call):
                self._call(node, bound)
            elif isinstance(node, ast.Attribute):
                self._attribute(node)
            elif node.id not in bound:
                self._name(node.id, node.span, sure=sure)

    def _name(self, name: str, span: Span, *, sure: bool) -> None:
        """A name that is read. If it is not certain when, any statement may have bound it."""
        if name in CONSTANTS or name in FUNCTIONS or name in SCHOOL or name[0] == "." or name in ("_", "ans"):
            return
        ordered = sure and self.straight
        if name in (self.known if ordered else self.scope) or self._unseen(ordered):
            return
        guessed = self.files.guessed
        self.problems.append(
            unknown(name, span, {one for one, by in self.scope.items() if one not in guessed or by[1:]})
        )

    def _unseen(self, ordered: bool) -> bool:
        """Whether lines that cannot be parsed may have bound any name. `ordered`: before now, not at any time."""
        return self.files.dark or (self.dark if ordered else bool(self.files.hiding))

    def _attribute(self, node: ast.Attribute) -> None:
        """An attribute of a value."""
        if not (node.name in NODE_ATTRIBUTES or node.name.startswith("_saved_") or self._of_objects(node.name)):
            self._refused(node.span, attribute, _SOMETHING, node.name)

    def _of_objects(self, name: str) -> bool:
        """Whether an object may have an attribute of this name: a hook, one of Python's, or a table as a column."""
        if self.files.of_objects is None:
            bodies = chain.from_iterable(self.files.bodies.values())
            self.files.of_objects = {"remove"}.union(self.files.guessed, *(facts_of(one).attributes for one in bodies))
        return ANY in self.files.of_objects or name in self.files.of_objects

    def _call(self, node: ast.Call, bound: Container[str]) -> None:
        """The arguments of a call, if it is certain what is called."""
        args: tuple[float, ...] = (_SOMETHING,) * len(node.arguments)
        keywords, function = dict.fromkeys((name for name, _ in node.keywords), _SOMETHING), node.function
        bind: Any = None
        value: Any = function
        if isinstance(function, ast.Name):
            value = None if function.id in bound else self._called(function.id)
        if isinstance(value, ast.Number | ast.String):
            self._uncalled(node, value)
        elif isinstance(function, ast.Name):
            bind = _binder(value)
        elif isinstance(function, ast.Attribute):
            if self._of_objects(function.name):
                pass
            elif function.name in METHODS:
                bind = METHODS[function.name].form.bind
            else:
                self._refused(function.span, method, _SOMETHING, function.name)
                bind = _binder(FUNCTIONS.get(RENAMED.get(function.name, function.name)))
                args = _SOMETHING, *args
        starred = any(isinstance(argument, ast.Starred) for argument in node.arguments)
        if bind is not None and not starred:
            self._refused(node.span, bind, args, keywords)

    def _called(self, name: str) -> Any:
        """The function, number or text that a name has where it is called; None if that is not certain."""
        givers = self.scope.get(name)
        if self._unseen(ordered=False):
            return None
        if givers is None:
            return FUNCTIONS.get(name)
        value = _certain(givers)
        early = name in CONSTANTS or name in FUNCTIONS  # these have a value before the script binds them
        late = name not in self.known and (self.straight or early)
        return None if late and not isinstance(value, ast.Define) else value

    def _uncalled(self, node: ast.Call, value: ast.Number | ast.String) -> None:
        """A call of something that is not a function. With any numbers, running it only raises the error."""
        session = Session()
        if isinstance(node.function, ast.Name):
            session.names[node.function.id] = value.value
        something = ast.Number(_SOMETHING, span=node.span)
        arguments = tuple(part if isinstance(part, ast.String) else something for part in node.arguments)
        keywords = tuple((name, something) for name, _ in node.keywords)
        code = session.machine.expression(node.changed(arguments=arguments, keywords=keywords))
        self._refused(node.span, session.machine.run, code)

    def _refused(self, span: Span, call: Any, *args: Any, kinds: Container[str] = KINDS) -> None:
        """Keep the error of a call, if it has one of the kinds, with its place."""
        try:
            call(*args)
        except AgradError as problem:
            if problem.kind not in kinds:
                return
            if not problem.labels:
                problem.labels.append(Label(span))
            problem.at = problem.at or span
            explain(problem)
            self.problems.append(problem)


def _certain(givers: list[Giver]) -> Giver:
    """What a name is certainly bound to: the only `def`, or of numbers and texts the last; else None."""
    first = givers[0]
    if isinstance(first, ast.Define):
        return first if all(giver is first for giver in givers) else None
    plain = all(isinstance(giver, ast.Number | ast.String) for giver in givers)
    return givers[-1] if plain else None


def _binder(function: ast.Define | Entry | None) -> Any:
    """The binder of arguments; None for a function of a list, whose entries are not counted here."""
    if isinstance(function, ast.Define):
        definition, defaults = defined(function.name, function.parameters, (), function.span)
        machine: Any = None  # it is never called
        return Closure(definition, tuple(None for _ in defaults), machine, ()).bind
    return None if function is None or function.signature.variadic else function.signature.bind


# A script that changes while it is checked: after each change, only the statements that it concerns are read again.


class _Part:
    """A statement without indentation, with its block: what it says, or its syntax errors."""

    def __init__(self, name: str, text: str, line: int, is_file: bool = True) -> None:
        self.source = Source(name, text, line, is_file)
        self.body: ast.Body = ()
        self.errors: list[AgradError] = []
        self.lines = self.source.position(len(text))[0] - line
        self.is_transcript = typed_in(text) != text
        try:
            self.body = parse(self.source)
        except AgradError:
            self.errors = list(mistakes(name, text, line, is_file))

    def move(self, line: int) -> None:
        """Give it another place in the script."""
        if line != self.source.first_line:
            places = [place for one in self.errors for place in (one.at, *(label.origin for label in one.labels))]
            for source in [self.source, *(place.source for place in places if isinstance(place, Span))]:
                source.first_line = line  # type: ignore[misc]  # the one place where a source changes


class EditedScript:
    """A script of which one version after the other is checked. Some names may have values before it starts."""

    def __init__(self, name: str, names: Iterable[str] = ()) -> None:
        self.name = name
        self.names = tuple(names)
        self.parts: dict[str, list[_Part]] = {}  # by their texts

    def problems(self, text: str) -> list[AgradError]:
        """What `problems` finds in a text, which becomes that of the script. Sources are parts of it."""
        if _UNIT.search(text) or any(part.is_python for part in readings.parts(Source(self.name, text, 1, True))):
            return problems(Source(self.name, text, 1, True), self.names)
        parts = self._read(text)
        if _is_the_sum_of_its_parts(text, parts):
            broken = next((place for place, part in enumerate(parts) if part.errors), None)
            # A part that is wrong by itself may be the beginning of something longer.
            if broken is None or not can_be_read("".join(part.source.text for part in parts[broken:])):
                files = Files()
                return problems_of(files, files.join(self.name, parts), self.names)
        return problems(Source(self.name, text, 1, True), self.names)

    def _read(self, text: str) -> list[_Part]:
        """The parts of a text; those that the text before had, too, are not read again."""
        before, self.parts, line = self.parts, {}, 1
        found = []
        for piece in pieces(text):
            same = before.get(piece)
            part = same.pop() if same else _Part(self.name, piece, line)
            part.move(line)
            self.parts.setdefault(piece, []).append(part)
            found.append(part)
            line += part.lines
        return found


def _is_the_sum_of_its_parts(text: str, parts: list[_Part]) -> bool:
    """Whether the parts, read one by one, are what the text says as a whole."""
    first = MARGIN.search(text)
    indented = parts and (first is None or first.start()) and (parts[0].body or parts[0].errors)
    # Where a line may begin in another way than after "\n".
    others = "\f" in text or text.count("\r") != text.count("\r\n") or "\ufeff" in text[1:]
    return not (indented or others or any(part.is_transcript for part in parts))


# The scripts that are read before anything runs: their statements, and the names that those bind.

# A line with which a statement begins, unless it goes on inside a bracket.
MARGIN = re.compile(r"^(?![ \t]|(?:elif|else)\b|[ \t\r\f]*(?:#|$))", re.MULTILINE)
PATIENCE = 50  # unindented lines within which an open bracket may be closed; errors reported for one statement
_WORD = re.compile(r"[^\W\d]\w*")
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
    """What a statement says by itself."""

    def __init__(self, statement: ast.Statement) -> None:
        self.statement = statement
        self.given = tuple(pair for inner in _statements((statement,)) for pair in given(inner))
        self.loads = tuple(_loads((statement,)))

    @cached_property
    def attributes(self) -> set[str]:
        """The names that objects may have as attributes from it: ANY, where it reads a table, or is Python's."""
        found: set[str] = set()
        for node in ast.nodes(self.statement):
            match node:
                case ast.Assign(targets):
                    found.update(target.name for target in targets if isinstance(target, ast.Attribute))
                case ast.Name("load_csv") | ast.Python():
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
                parts = list[_Item]()
            case ast.If(branches):
                parts = [_Item(test, place == 0) for place, (test, _) in enumerate(branches)]
            case ast.Define(_, parameters):
                parts = [_Item(parameter.default) for parameter in parameters]
            case ast.Command(word, operands, options):
                named = COMMANDS[word].sets_leaves
                leaves = [ast.Name(name, span=value.span) for name, value in options if named and value is not None]
                parts = [_Item((operands, options, tuple(leaves)))]
            case statement:
                fields = [name for name in type(statement).fields if name not in ("name", "body", "span")]
                binds = isinstance(statement, ast.For | ast.Assign)
                parts = [_Item(getattr(statement, name), stored=binds and name.startswith("target")) for name in fields]
        return tuple(_uses(parts))


facts_of = lru_cache(50_000)(Facts)  # for the next version of a script, in which most statements are the same


class _Item(NamedTuple):
    """A part of an expression. `sure`: it is always computed; `stored`: it is a target; `bound`: as in a Use."""

    node: Any
    sure: bool = True
    stored: bool = False
    bound: frozenset[str] = frozenset()


def _uses(waiting: list[_Item]) -> Iterator[Use]:
    """What parts of expressions read and call."""
    while waiting:
        node, sure, stored, bound = waiting.pop()
        if isinstance(node, tuple):
            waiting += [_Item(inner, sure, stored, bound) for inner in node]
        elif isinstance(node, ast.Tuple | ast.Starred) and stored:
            waiting.append(_Item(node.items if isinstance(node, ast.Tuple) else node.value, sure, True, bound))
        elif isinstance(node, ast.Node) and not (isinstance(node, ast.Name) and stored):
            if isinstance(node, ast.Name | ast.Attribute | ast.Call):
                yield Use(node, sure, bound)
            for part, certain, names in _inside(node):
                waiting.append(_Item(part, sure and certain, False, bound.union(names) if names else bound))


def _inside(node: ast.Node) -> list[tuple[Any, bool, Sequence[str]]]:
    """The parts of an expression, whether each is always computed, and the variables that it has there."""
    match node:
        case ast.Each(value, target, values, last, conditions):
            return [((values, last), True, ()), ((value, conditions), True, [*ast.names_of(target)])]
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
        case ast.Call(ast.Name(name), (first, *rest), keywords) if name in OF_FUNCTIONS and not isinstance(
            first, ast.Name
        ):
            return [((tuple(rest), keywords), True, ())]  # it may have an unknown
        case ast.Call(ast.Attribute(value), arguments, keywords):
            return [((value, arguments, keywords), True, ())]
    return [(tuple([getattr(node, name) for name in type(node).fields if name != "span"]), True, ())]


class Files:
    """The scripts that are read: the one to check, and those that it loads."""

    def __init__(self) -> None:
        self.problems: list[AgradError] = []
        self.bodies: dict[str, ast.Body] = {}  # by the names of the scripts, in the order in which they are first read
        self.late: Givers = {}  # what functions load
        self._loaded: dict[int, str] = {}  # the script of each `load`
        self.walked: set[str] = set()  # the loaded scripts that have been checked
        # The scripts that cannot be parsed, or load what cannot be read: any name may have a value there.
        self.hiding: set[str] = set()
        self.guessed: set[str] = set()  # names in lines that cannot be parsed, which may have any value
        self.dark = False  # whether a function does, or a line that cannot be parsed
        self.of_objects: set[str] | None = None  # the names of attributes that objects may have, once they are wanted
        self._given: dict[str, Givers] = {}
        self._under_way: list[str] = []

    def read(self, source: Source) -> ast.Body:
        """The statements of a script, those that can be parsed; the scripts that it loads are read too."""
        self.bodies[source.name] = ()
        try:
            body = readings.parse(source)
            for statement in body:
                if isinstance(statement, ast.Python):
                    python.code_of(statement)  # which finds what it binds
        except AgradError as problem:
            if any(part.is_python for part in readings.parts(source)):  # of which CPython tells one mistake
                self.problems.append(problem)
                self.hiding.add(source.name)
                return ()
            parts = parts_of(source)
            self.problems += [] if any(part.errors for part in parts) else [problem]
            return self.join(source.name, parts)
        return self.follow(source.name, body)

    def join(self, name: str, parts: Iterable[_Part]) -> ast.Body:
        """The statements of the parts that can be parsed, and the errors of the others."""
        body, in_text = list[ast.Statement](), False
        for part in parts:
            self.problems += part.errors
            if part.errors:
                text = part.source.text
                in_text |= '"""' in text or "'''" in text  # which may go on below
                words = {*_WORD.findall(text)}
                self.guessed |= words
                self.dark |= "load" in words
            body += () if in_text else part.body
        return self.follow(name, tuple(body))

    def follow(self, name: str, body: ast.Body) -> ast.Body:
        """The statements of a script, which have been read; the scripts that it loads are read."""
        self.bodies[name] = body
        self._under_way.append(name)
        for statement in body:
            for command, inside in facts_of(statement).loads:
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
            known = facts_of(statement)
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


def readable(source: Source) -> tuple[ast.Body, bool]:
    """The statements of a text, in each reading, that can be parsed, and whether these are all."""
    found, is_whole = list[ast.Statement](), True
    for is_python, start, end in readings.parts(source):
        part, problems = readings.blank(source.text, start, end), list[AgradError]()
        try:
            if is_python:
                statements, problems = readings.readable(source, part, set())
            else:
                statements = parse(source, part)
        except AgradError:
            pieces = parts_of(Source(source.name, part, 1, True))
            is_whole, statements = False, parse(source, "".join([_readable(piece) for piece in pieces]))
        found += statements
        is_whole = is_whole and not problems
    return tuple(found), is_whole


def _readable(part: _Part) -> str:
    return part.source.text if not part.errors else re.sub(r"[^\n]", " ", part.source.text)


def unreadable(source: Source) -> list[AgradError]:
    """The syntax errors of a text, line by line, so that none hides the next; of Python CPython tells one."""
    if any(part.is_python for part in readings.parts(source)):
        return []
    return [problem for part in parts_of(source) for problem in part.errors]


def parts_of(source: Source) -> list[_Part]:
    """The statements of a text that may have syntax errors, each read by itself."""
    found, start = list[_Part](), 0
    for text in pieces(source.text):
        found.append(_Part(source.name, text, source.position(start)[0], source.is_file))
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
            if isinstance(statement, ast.Define):
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
        case _ if not isinstance(statement, ast.Delete):
            yield from ((name, None) for name in ast.binds(statement))
