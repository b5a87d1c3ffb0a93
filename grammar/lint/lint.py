"""The errors of a script, found without running it: syntax errors, names without a value, calls whose arguments
cannot fit, calls of numbers, unknown options of a command.

Only errors that are certain are reported, not those that depend on the run.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.op import FUNCTIONS, Entry
from agrad.engine.errors import AgradError, Label
from agrad.grammar.commands import COMMANDS
from agrad.grammar.commands.registry import Call, of
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.lint.files import (
    ANY,
    MARGIN,
    Facts,
    Files,
    Giver,
    Givers,
    given,
    merged,
    mistakes,
    pieces,
)
from agrad.grammar.pytorch import names as pytorch_names
from agrad.grammar.run import python
from agrad.grammar.run.code import module_name
from agrad.grammar.runtime.attributes import METHODS, NODE_ATTRIBUTES, attribute, method
from agrad.grammar.runtime.builtins import CONSTANTS, OTHERS, Closure, defined, entry_of
from agrad.grammar.runtime.fixes import explain, unknown, unknown_in
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.builder import KINDS
from agrad.grammar.syntax.keywords import SHAPES
from agrad.grammar.syntax.lexer import typed_in
from agrad.grammar.syntax.parser import can_be_read, parse

_SOMETHING = 1.0  # an unknown value
_REFUSED = frozenset({"name", "arity"})  # kinds of errors of a command that are reported; not those about files


def problems(source: Source, names: Iterable[str] = (), reads_files: bool = True) -> list[AgradError]:
    """All certain errors of a script and of those it loads; some names may have values before it starts.

    Without `reads_files`, no other script is read: to load one is an error.
    """
    files, allowed = Files(), current().files
    if python.reads(source):
        return ordered(files, python.problems(source, {*names, *Session().python.builtins}))
    before, allowed.on = allowed.on, reads_files
    try:
        body = files.read(source)
        return problems_of(files, body, names) if body is not None else ordered(files, files.problems)
    finally:
        allowed.on = before


def problems_of(files: Files, body: ast.Body, names: Iterable[str]) -> list[AgradError]:
    """The errors of a script whose statements, and the scripts that it loads, have been read."""
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
        if len(self.scope.maps) == 1 and self.straight and (problem := self.files.known(statement).refused):
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
        elif isinstance(statement, ast.Class):
            self._class(statement)
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

    def _class(self, node: ast.Class) -> None:
        """The body of a class: its methods do not see the names of the class."""
        methods = [statement for statement in node.body if isinstance(statement, ast.Define)]
        for one in methods:
            self._expressions(one)
            scope = self.scope.new_child({"super": [None]})
            _Check(self.files, scope, straight=False, problems=self.problems)._function(one)
        scope = self.scope.new_child(self.files.givers(node.body))
        inner = _Check(self.files, scope, {*self.known}, self.dark, self.straight, self.problems)
        inner.body(tuple(one for one in node.body if one not in methods))

    def _expressions(self, statement: ast.Statement) -> None:
        """The expressions of a statement, without its blocks."""
        match statement:
            case ast.Evaluate(ast.Name(name)) if (
                name in OTHERS & SHAPES.keys() and name not in self.scope
            ):  # the command without its operand
                self.problems.append(unknown(name, statement.span, set(self.scope)))
                return
            case ast.Command(word, _, options) if (check := COMMANDS[word].check) is not None:
                # errors that do not depend on values
                values = {name: value.value if isinstance(value, ast.String) else None for name, value in options}
                call = Call(statement, [], values, {}, statement.span)
                self._refused(statement.span, check, call, kinds=_REFUSED)
        for node, sure, bound in self.files.known(statement).uses:
            if isinstance(node, ast.Call):
                self._call(node, bound)
            elif isinstance(node, ast.Attribute):
                self._attribute(node, bound)
            elif node.id not in bound:
                self._name(node.id, node.span, sure=sure)

    def _name(self, name: str, span: Span, *, sure: bool) -> None:
        """A name that is read. If it is not certain when, any statement may have bound it."""
        if name in CONSTANTS or name in FUNCTIONS or name in OTHERS or name in ("_", "ans"):
            return
        ordered = sure and self.straight
        if name in (self.known if ordered else self.scope) or self._unseen(ordered):
            return
        self.problems.append(unknown(name, span, set(self.scope)))

    def _unseen(self, ordered: bool) -> bool:
        """Whether lines that cannot be parsed may have bound any name. `ordered`: before now, not at any time."""
        return self.files.dark or (self.dark if ordered else bool(self.files.hiding))

    def _attribute(self, node: ast.Attribute, bound: Container[str]) -> None:
        """An attribute of a value, or a name of a module, as torch.pi."""
        module = module_name(node)
        if module is not None:
            self._function_of(module, node, bound)
        elif not (node.name in NODE_ATTRIBUTES or node.name.startswith("_saved_") or self._of_objects(node.name)):
            self._refused(node.span, attribute, _SOMETHING, node.name)

    def _function_of(self, module: str, node: ast.Attribute, bound: Container[str]) -> Any:
        """The function that is spelled torch.sin; reported if agrad has no such name."""
        head = module.partition(".")[0]
        if head in self.scope or head in bound:
            return None
        found = pytorch_names.function(module, node.name)
        if found is None and pytorch_names.constant(module, node.name) is None:
            self.problems.append(unknown_in(module, node.name, node.span))
        return found

    def _of_objects(self, name: str) -> bool:
        """Whether an object may have an attribute of this name: one of the script or the engine, or a column."""
        if self.files.of_objects is None:
            from agrad.grammar.runtime.objects import all_names  # here, since a script without attributes needs none

            self.files.of_objects = self.files.attributes() | all_names()
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
            module = module_name(function)
            if module is not None:
                found = self._function_of(module, function, bound)
                bind = _binder(entry_of(found) if found is not None else None)
            elif self._of_objects(function.name):
                pass
            elif function.name in METHODS:
                bind = METHODS[function.name].form.bind
            else:
                self._refused(function.span, method, _SOMETHING, function.name)
                bind = _binder(FUNCTIONS.get(pytorch_names.RENAMED.get(function.name, function.name)))
                args = _SOMETHING, *args
        starred = "**" in keywords or any(isinstance(argument, ast.Starred) for argument in node.arguments)
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

    def __init__(self, name: str, text: str, line: int) -> None:
        self.source = Source(name, text, line, True)
        self.body: ast.Body = ()
        self.errors: list[AgradError] = []
        self.lines = self.source.position(len(text))[0] - line
        self.is_transcript = typed_in(text) != text
        try:
            self.body = parse(self.source)
        except AgradError:
            self.errors = list(mistakes(name, text, line, True))

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
        self.facts: dict[int, Facts] = {}

    def problems(self, text: str) -> list[AgradError]:
        """What `problems` finds in a text, which becomes that of the script. Sources are parts of it."""
        parts = self._read(text)
        if _is_the_sum_of_its_parts(text, parts):
            broken = next((place for place, part in enumerate(parts) if part.errors), None)
            if broken is None:
                return self._semantic(tuple(chain.from_iterable(part.body for part in parts)))
            # A part that is wrong by itself may be the beginning of something longer.
            if not can_be_read("".join(part.source.text for part in parts[broken:])):
                return ordered(Files(), [problem for part in parts for problem in part.errors])
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

    def _semantic(self, body: ast.Body) -> list[AgradError]:
        """The errors of a script that can be parsed."""
        files = Files(self.facts)
        try:
            return problems_of(files, files.follow(self.name, body), self.names)
        finally:
            self.facts = files.facts


def _is_the_sum_of_its_parts(text: str, parts: list[_Part]) -> bool:
    """Whether the parts, read one by one, are what the text says as a whole."""
    first = MARGIN.search(text)
    indented = parts and (first is None or first.start()) and (parts[0].body or parts[0].errors)
    # Where a line may begin in another way than after "\n".
    others = "\f" in text or text.count("\r") != text.count("\r\n") or "\ufeff" in text[1:]
    return not (indented or others or any(part.is_transcript for part in parts))
