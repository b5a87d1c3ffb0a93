"""The errors of a script, found without running it: syntax errors, names without a value, calls whose arguments
cannot fit, calls of numbers, unknown options of a command.

Only errors that are certain are reported, not those that depend on the run.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.op import FUNCTIONS, Entry
from agrad.engine.errors import AgradError, Label
from agrad.engine.text import same_beginning
from agrad.grammar.commands import COMMANDS
from agrad.grammar.commands.registry import Call, Command, of
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.lint.files import (
    ANY,
    MARGIN,
    PATIENCE,
    Facts,
    Files,
    Giver,
    Givers,
    given,
    merged,
    mistakes,
    names_in,
    pieces,
)
from agrad.grammar.pytorch import names as pytorch_names
from agrad.grammar.run.code import OF_FUNCTIONS, module_name
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
    before, allowed.on = allowed.on, reads_files
    try:
        body = files.read(source)
        return problems_of(files, body, names) if source.name not in files.unread else ordered(files, files.problems)
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
    for problem in sorted(found, key=_length, reverse=True):  # if x has no value, x.bar is not reported
        place = problem.labels[0].origin
        assert isinstance(place, Span)
        unique[order.get(place.source.name, 0), place.source.position(place.start)] = problem
    return [unique[key] for key in sorted(unique)]


def _length(problem: AgradError) -> int:
    place = problem.labels[0].origin
    return place.end - place.start if isinstance(place, Span) else 0


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
        for statement in node.body:
            if isinstance(statement, ast.Define):
                self._expressions(statement)
                scope = self.scope.new_child({"super": [None]})
                _Check(self.files, scope, straight=False, problems=self.problems)._function(statement)
        inner = self._deeper(self.files.givers(node.body))
        inner.body(tuple(one for one in node.body if not isinstance(one, ast.Define)))

    def _expressions(self, statement: ast.Statement) -> None:
        """The expressions of a statement, without its blocks."""
        match statement:
            case ast.If(branches):
                for place, (test, _) in enumerate(branches):
                    self._expression(test, sure=place == 0)
            case ast.Define():
                self._expression(tuple([parameter.default for parameter in statement.parameters]))
            case ast.Command(word):
                self._command(statement, COMMANDS[word])
            case ast.Evaluate(ast.Name(name)) if (
                name in OTHERS & SHAPES.keys() and name not in self.scope
            ):  # the command without its operand
                self.problems.append(unknown(name, statement.span, set(self.scope)))
            case _:
                binds = isinstance(statement, ast.For | ast.Assign)
                for name in type(statement).fields:
                    if name not in ("name", "body", "span"):
                        self._expression(getattr(statement, name), stored=binds and name.startswith("target"))

    def _command(self, node: ast.Command, made: Command) -> None:
        for operand in node.operands:
            self._expression(operand)
        for name, value in node.options:
            if value is not None:
                self._expression(value)
                if made.sets_leaves:
                    self._name(name, value.span, sure=True)
        if made.check is not None:  # errors that do not depend on values
            values = {name: value.value if isinstance(value, ast.String) else None for name, value in node.options}
            self._refused(node.span, made.check, Call(node, [], values, {}, node.span), kinds=_REFUSED)

    def _expression(self, node: Any, *, stored: bool = False, sure: bool = True) -> None:
        """All names and calls in an expression. `stored`: it is a target; `sure`: it is always computed."""
        waiting: list[tuple[Any, bool]] = [(node, sure)]
        while waiting:
            part, sure = waiting.pop()
            if isinstance(part, tuple):
                waiting += [(inner, sure) for inner in part]
            elif isinstance(part, ast.Name):
                if not stored:
                    self._name(part.id, part.span, sure=sure)
            elif isinstance(part, ast.Tuple | ast.Starred) and stored:
                waiting += self._parts(part, sure)
            elif isinstance(part, ast.Node):
                stored = False
                if isinstance(part, ast.Each):
                    waiting += [(part.values, sure), (part.last or (), sure)]
                    self._inside((part.value, part.conditions), [*names_in((part.target,))], sure)
                    continue
                if isinstance(part, ast.Lambda):
                    waiting += [(one.default or (), sure) for one in part.parameters]
                    self._inside(part.value, [one.name.lstrip("*") for one in part.parameters], False)
                    continue
                if isinstance(part, ast.Unknowns):
                    if part.names:  # else the names in it need no value
                        self._inside(part.value, [name.id for name in part.names], sure)
                    continue
                if isinstance(part, ast.Call):
                    self._call(part)
                waiting += self._parts(part, sure)

    def _deeper(self, givers: Givers) -> _Check:
        """The check of what has names of its own, and runs here."""
        return _Check(self.files, self.scope.new_child(givers), {*self.known}, self.dark, self.straight, self.problems)

    def _inside(self, node: Any, names: Sequence[str], sure: bool) -> None:
        """An expression with variables of its own."""
        inner = self._deeper({name: [None] for name in names})
        inner.known |= {*names}
        inner._expression(node, sure=sure)

    def _parts(self, node: ast.Node, sure: bool) -> list[tuple[Any, bool]]:
        """The parts of an expression, and whether each is always computed."""
        match node:
            case ast.Logic(_, left, right):
                return [(left, sure), (right, False)]
            case ast.Conditional(test, then, other):
                return [(test, sure), (then, False), (other, False)]
            case ast.Compare(first, rest):
                return [(first, sure), (rest[0], sure), (rest[1:], False)]
            case ast.Attribute():
                return [] if self._module(node) else [(self._attribute(node), sure)]
            case ast.Call(ast.Name(name), (first, *rest), keywords) if name in OF_FUNCTIONS and not isinstance(
                first, ast.Name
            ):
                return [(tuple(rest), sure), (keywords, sure)]  # it may have an unknown
            case ast.Call(function, arguments, keywords) if isinstance(function, ast.Attribute):
                base = [] if self._module(function) else [(function.value, sure)]
                return [*base, (arguments, sure), (keywords, sure)]
        return [(getattr(node, name), sure) for name in type(node).fields if name != "span"]

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

    def _module(self, node: ast.Attribute) -> bool:
        """Whether this is a function spelled torch.sin; reported if agrad has no such function."""
        module = module_name(node)
        if module is None:
            return False
        own = module.partition(".")[0] in self.scope
        known = pytorch_names.constant(module, node.name) is not None
        if not own and not known and pytorch_names.function(module, node.name) is None:
            self.problems.append(unknown_in(module, node.name, node.span))
        return True

    def _attribute(self, node: ast.Attribute) -> ast.Expr:
        known = node.name in NODE_ATTRIBUTES or node.name.startswith("_saved_")  # of a grad_fn
        if not known and not self._of_objects(node.name):
            self._refused(node.span, attribute, _SOMETHING, node.name)
        return node.value

    def _of_objects(self, name: str) -> bool:
        """Whether an object may have an attribute of this name: one of the script or the engine, or a column."""
        if self.files.of_objects is None:
            from agrad.grammar.runtime.objects import all_names  # here, since a script without attributes needs none

            self.files.of_objects = self.files.attributes() | all_names()
        return ANY in self.files.of_objects or name in self.files.of_objects

    def _call(self, node: ast.Call) -> None:
        """The arguments of a call, if it is certain what is called."""
        args: tuple[float, ...] = (_SOMETHING,) * len(node.arguments)
        keywords, function = dict.fromkeys((name for name, _ in node.keywords), _SOMETHING), node.function
        bind: Any = None
        value = self._plain(function.id) if isinstance(function, ast.Name) else function
        if isinstance(value, ast.Number | ast.String):
            self._uncalled(node, value)
        elif isinstance(function, ast.Name):
            bind = self._binder(function.id)
        elif isinstance(function, ast.Attribute):
            module = module_name(function)
            if module is not None:
                is_own = module.partition(".")[0] in self.scope
                found = None if is_own else pytorch_names.function(module, function.name)
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

    def _binder(self, name: str) -> Any:
        """The binder of the arguments of a function, by its name; None if it is not certain which function that is."""
        givers = self.scope.get(name)
        if self._unseen(ordered=False):
            return None
        if givers is None:
            return _binder(FUNCTIONS.get(name))
        function = _certain(givers)
        return _closure(function).bind if isinstance(function, ast.Define) else None

    def _plain(self, name: str) -> ast.Number | ast.String | None:
        """The number or text that a name is bound to; None if that is not certain."""
        givers = self.scope.get(name, [None])
        early = name in CONSTANTS or name in FUNCTIONS  # these have a value before the script binds them
        if self._unseen(ordered=False) or (name not in self.known if self.straight or early else False):
            return None
        value = _certain(givers)
        return value if isinstance(value, ast.Number | ast.String) else None

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


def _binder(entry: Entry | None) -> Any:
    """The binder of arguments; None for a function of a list, whose entries are not counted here."""
    return None if entry is None or entry.signature.variadic else entry.signature.bind


def _closure(node: ast.Define) -> Closure:
    """A function that is never called: to bind arguments."""
    definition, defaults = defined(node.name, node.parameters, (), node.span)
    machine: Any = None
    return Closure(definition, tuple(None for _ in defaults), machine, ())


# A script that changes while it is checked: after each change, only the statements that it concerns are read again.


class _Part:
    """A statement without indentation, with its block: its place, and what it says, or its syntax errors."""

    def __init__(self, name: str, text: str, start: int, line: int) -> None:
        self.start = start
        self.source = Source(name, text, line, True)
        self.facts: tuple[Facts, ...] = ()
        self.errors: list[AgradError] = []
        self.is_transcript = typed_in(text) != text
        try:
            self.facts = tuple(map(Facts, parse(self.source)))
        except AgradError:
            self.errors = list(mistakes(name, text, line, True))

    def move(self, start: int, line: int) -> None:
        """Give it another place in the script."""
        self.start = start
        if line != self.source.first_line:
            for source in (self.source, *_sources(self.errors)):
                source.first_line = line  # type: ignore[misc]  # the one place where a source changes


def _sources(errors: list[AgradError]) -> Iterator[Source]:
    for problem in errors:
        for place in (problem.at, *(label.origin for label in problem.labels)):
            if isinstance(place, Span):
                yield place.source


class EditedScript:
    """A script of which one version after the other is checked. Some names may have values before it starts."""

    def __init__(self, name: str, names: Iterable[str] = ()) -> None:
        self.name = name
        self.names = tuple(names)
        self.text = ""
        self.parts: list[_Part] = []

    def problems(self, text: str) -> list[AgradError]:
        """What `problems` finds in a text, which becomes that of the script. Sources are parts of it."""
        self._change(text)
        if self._is_the_sum_of_its_parts():
            broken = next((part for part in self.parts if part.errors), None)
            if broken is None:
                return self._semantic()
            # A part that is wrong by itself may be the beginning of something longer.
            if not can_be_read(text[broken.start :]):
                return ordered(Files(), [problem for part in self.parts for problem in part.errors])
        return problems(Source(self.name, text, 1, True), self.names)

    def _is_the_sum_of_its_parts(self) -> bool:
        """Whether the parts, read one by one, are what the text says as a whole."""
        first = MARGIN.search(self.text)
        indented = self.parts and (first is None or first.start()) and (self.parts[0].facts or self.parts[0].errors)
        text = self.text
        # Where a line may begin in another way than after "\n".
        others = "\f" in text or text.count("\r") != text.count("\r\n") or "\ufeff" in text[1:]
        return not (indented or others or any(part.is_transcript for part in self.parts))

    def _semantic(self) -> list[AgradError]:
        """The errors of a script that can be parsed."""
        facts = [one for part in self.parts for one in part.facts]
        files = Files(facts)
        return problems_of(files, files.follow(self.name, tuple(one.statement for one in facts)), self.names)

    def _change(self, text: str) -> None:
        """Read the parts that another text has in the place of others."""
        same = same_beginning(self.text, text)
        # where the same end begins
        least = max(same, len(text) - same_beginning(self.text[same:][::-1], text[same:][::-1]))
        starts = [part.start for part in self.parts]
        # Where a part ends may depend on as many lines as are searched for a bracket that closes.
        kept = max(bisect_right(starts, same) - PATIENCE - 2, 0)
        old, parts = self.parts, self.parts[:kept]
        start = starts[kept] if kept < len(starts) else 0
        line = old[kept].source.first_line if kept < len(old) else 1
        moved = len(self.text) - len(text)
        most = bisect_right(starts, same)
        for piece in pieces(text, start):
            if start > least:
                after = bisect_left(starts, start + moved)
                if after < len(starts) and starts[after] == start + moved:
                    lines = line - old[after].source.first_line
                    for part in old[after:]:
                        part.move(part.start - moved, part.source.first_line + lines)
                    parts += old[after:]
                    break
            place = bisect_left(starts, start, kept, most)
            again = place < most and starts[place] == start and old[place].source.text == piece
            parts.append(old[place] if again else _Part(self.name, piece, start, line))
            start += len(piece)
            line += parts[-1].source.position(len(piece))[0] - line
        self.text, self.parts = text, parts
