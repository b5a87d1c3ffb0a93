"""Which places of a script mean the same name, in both readings: what an editor highlights, lists and renames."""

from __future__ import annotations

import _ast as py
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.diagnostics import Source
from agrad.grammar.lint.lint import readable
from agrad.grammar.syntax import ast, readings
from agrad.grammar.syntax.typed import can_be_read

_EACH = (py.ListComp, py.SetComp, py.DictComp, py.GeneratorExp)
_INNER = (py.FunctionDef, py.AsyncFunctionDef, py.Lambda, py.ClassDef, *_EACH)


class Scope:
    """The script, a function, a comprehension or a class: the names that it binds; `owner`: what is called."""

    def __init__(
        self, around: Scope | None, names: Iterable[str] = (), owner: str = "", is_class: bool = False
    ) -> None:
        self.around, self.names, self.owner, self.is_class = around, {*names}, owner, is_class
        self.top: Scope = self if around is None else around.top
        self.parameters = set[str]()
        self.globals = set[str]()

    def of(self, name: str) -> Scope:
        """The scope whose name it is where it stands in this one: the script's, if no other has it."""
        here: Scope | None = self
        while here is not None and name not in here.globals:
            if name in here.names and (here is self or not here.is_class):
                return here
            here = here.around
        return self.top


class Use(NamedTuple):
    """A place of a name. `called`: of an argument that is given by name, what is called."""

    name: str
    start: int
    scope: Scope
    called: str = ""


class Names:
    """The uses of the names in a text."""

    def __init__(self, source: Source) -> None:
        self.text, self.top = source.text, Scope(None)
        self.uses = dict[int, Use]()
        self.imported, self.defined = set[str](), set[str]()
        self.hidden = set[str]()  # names with other uses, whose places are not known
        statements, self.is_whole = readable(source)
        trees = [one.tree for one in statements if isinstance(one, ast.Python)]
        self.top.names = ast.bound(statements) | _bound(trees)
        self.waiting: list[tuple[Any, Scope]] = [(statements, self.top)]
        while self.waiting:
            node, scope = self.waiting.pop()
            if isinstance(node, tuple | list):
                self.waiting += [(one, scope) for one in node]
            elif isinstance(node, ast.Python):
                self.places, self.commands = node.places, node.commands
                self._of_python(node.tree, scope)
            elif isinstance(node, ast.Node):
                self._of_calculator(node, scope)
            elif isinstance(node, py.AST):
                self._of_python(node, scope)

    def at(self, offset: int) -> Use | None:
        """The use that a place is in, or at the end of."""
        found = (self.uses.get(start) for start in range(offset, max(offset - 200, -1), -1))
        use = next(filter(None, found), None)
        return use if use is not None and offset <= use.start + len(use.name) else None

    def same(self, use: Use) -> list[Use]:
        """All uses of the same name; of a parameter, also where it is given by name."""
        name, owner = use.name, use.called or (use.scope.owner if use.name in use.scope.parameters else "")
        scopes = {use.scope} if not use.called else set()
        if owner:
            scopes |= {
                one.scope for one in self.uses.values() if one.scope.owner == owner and name in one.scope.parameters
            }
        found = [one for one in self.uses.values() if one.name == name]
        return sorted(one for one in found if (one.called == owner if one.called else one.scope in scopes) and scopes)

    def refusal(self, found: list[Use], new: str) -> str | None:
        """Why a name with these uses cannot be renamed, if so."""
        name = found[0].name
        by_name = {one.called for one in self.uses.values() if one.name == name and one.called and one not in found}
        scope = next((one.scope for one in found if not one.called), self.top)
        if not self.is_whole:
            return "the script has a syntax error"
        if name not in scope.names:
            return f"{name} gets no value in this script"
        if name in self.hidden:
            return f"not all places of {name} are known"
        if name in self.imported:
            return f"{name} is the name of what is imported: write `as` behind it"
        classes = {one.scope.owner for one in self.uses.values() if one.name == name and one.scope.is_class}
        if classes:  # where a name that the class binds may be that around it, too
            return f"{name} is an attribute of {min(classes)}"
        if (
            not new.isidentifier()
            or not can_be_read(f"{new} = 1")
            or any(one.name == new for one in self.uses.values())
        ):
            return f"{new} is used already" if new.isidentifier() else f"{new} is no name"
        unsure = {one.name for one in self.uses.values() if one.name in one.scope.names} & by_name - self.defined
        if name in scope.parameters and unsure:
            return f"{name} is given by name to {min(unsure)}, which may be this function"
        return None

    def _add(self, name: str | None, start: int, scope: Scope, called: str = "") -> None:
        """A use of a name, if it stands where it should."""
        if name and self.text.startswith(name, start) and start >= 0:
            self.uses[start] = Use(name, start, scope if called else scope.of(name), called)
        elif name:
            self.hidden.add(name)

    def _find(self, name: str, pattern: str, start: int, end: int, scope: Scope) -> None:
        """A use of a name behind a pattern in a part of the text."""
        found = re.compile(rf"{pattern}\b({re.escape(name)})\b").search(self.text, start, end)
        self._add(name, found.start(1) if found else -1, scope)

    def _define(self, name: str, start: int, end: int, scope: Scope) -> None:
        """The name of a function or a class where it is defined."""
        self.defined.add(name)
        self._find(name, r"\b(?:def|class)\s+", start, end, scope)

    # The calculator's reading

    def _of_calculator(self, node: ast.Node, scope: Scope) -> None:
        start, end = node.span.start, node.span.end
        match node:
            case ast.Name(name):
                self._add(name, start, scope)
            case ast.Define(name, parameters, body):
                self._define(name, start, end, scope)
                self.waiting.append((body, self._function(name, parameters, ast.bound(body), scope)))
            case ast.Lambda(parameters, value):
                self.waiting.append((value, self._function("", parameters, (), scope)))
            case ast.Each(value, target, values, last, conditions):
                inner = Scope(scope, ast.names_of(target))
                self.waiting += [((values, last), scope), ((target, value, conditions), inner)]
            case ast.Command(word, operands, options):
                unknowns = () if word in ast.BINDING else [one for one in operands if isinstance(one, ast.Unknowns)]
                inner = Scope(scope, [name.id for one in unknowns for name in one.names])
                self.waiting += [(operands, inner), ([value for _, value in options], scope)]
                for option, given in options:
                    if given is not None and (COMMANDS[word].sets_leaves or option.startswith("from ")):
                        name = option.removeprefix("from ")
                        self._add(name, self.text.rfind(name, start, given.span.start), scope)
            case _:
                if isinstance(node, ast.Call):
                    called = node.function.span.text.rpartition(".")[2]
                    for name, value in node.keywords:
                        self._add(name, self.text.rfind(name, start, value.span.start), scope, called)
                        self.waiting.append((value, scope))
                self.waiting += [(getattr(node, field), scope) for field in type(node).fields if field != "span"]

    def _function(self, name: str, parameters: Iterable[ast.Parameter], own: Iterable[str], scope: Scope) -> Scope:
        """The scope of a function, whose defaults belong to the one around."""
        plain = {one.name.lstrip("*"): one for one in parameters if one.name.lstrip("*")}
        inner = Scope(scope, {*plain, *own}, name)
        inner.parameters = {*plain}
        for word, one in plain.items():
            self._find(word, "", one.span.start, one.span.end, inner)
            self.waiting.append((one.default, scope))
        return inner

    # Python's reading

    def _of_python(self, node: Any, scope: Scope) -> None:
        start, end = self.places.of(node) if hasattr(node, "lineno") else (0, 0)
        parts: list[Any] = [getattr(node, name, None) for name in node._fields]
        match node:
            case py.Name():
                self._add(node.id, start, scope)
            case py.alias(asname=None):
                self.imported.add(node.name.partition(".")[0])
                self._add(node.name.partition(".")[0], start, scope)
            case py.alias() | py.MatchAs() | py.MatchStar():  # whose name stands last
                name = node.asname if isinstance(node, py.alias) else node.name
                self._add(name, end - len(name or ""), scope)
            case py.Global() | py.Nonlocal():
                for name in node.names:
                    self._find(name, "", start, end, scope)
            case py.MatchMapping(rest=str(rest)):
                self._find(rest, r"\*\*\s*", start, end, scope)
            case py.ExceptHandler(name=str(name)):
                self._find(name, r"\bas\s+", self.places.of(node.type)[1], end, scope)
            case py.Call():
                called = self.text[slice(*self.places.of(node.func))].rpartition(".")[2]
                for one in node.keywords:
                    self._add(one.arg, self.places.of(one)[0], scope, called)
            case py.Expr() if start in self.commands:
                parts = [self.commands[start]]
            case py.FunctionDef() | py.AsyncFunctionDef() | py.Lambda():
                parts = self._python_function(node, start, end, scope)
            case py.ClassDef():
                self._define(node.name, start, end, scope)
                self.waiting.append((node.body, Scope(scope, _bound(node.body), node.name, True)))
                parts.remove(node.body)
            case py.ListComp() | py.SetComp() | py.DictComp() | py.GeneratorExp():
                first, *others = node.generators
                inner = Scope(scope, _bound([one.target for one in node.generators]))
                self.waiting += [([first.target, first.ifs, others, *parts[:-1]], inner)]
                parts = [first.iter]
        self.waiting += [(part, scope) for part in parts if isinstance(part, list | tuple | py.AST)]

    def _python_function(self, node: Any, start: int, end: int, scope: Scope) -> list[Any]:
        """A function; what of it stands in the scope around."""
        name, given = getattr(node, "name", ""), node.args
        body = node.body if name else [node.body]
        if name:
            self._define(name, start, end, scope)
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        inner = Scope(scope, _bound(body), scope.owner if name == "__init__" else name)
        inner.parameters = {one.arg for one in parameters}
        for one in _own(body):
            if isinstance(one, py.Global | py.Nonlocal):
                inner.names -= {*one.names}
                inner.globals |= {*one.names} if isinstance(one, py.Global) else set()
        inner.names |= inner.parameters
        for one in parameters:
            self._add(one.arg, self.places.of(one)[0], inner)
        self.waiting.append((body, inner))
        around = [getattr(node, "decorator_list", []), given.defaults, given.kw_defaults]
        return [*around, getattr(node, "returns", None), [one.annotation for one in parameters]]


def _own(body: Any) -> Iterator[Any]:
    """The nodes of Python that are in no inner function, class or comprehension; those themselves, too."""
    waiting = [*body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, py.AST):
            yield node
            if isinstance(node, _EACH):  # `:=` in it binds a name of the function
                yield from (one.target for one in readings.nodes(node) if isinstance(one, py.NamedExpr))
            elif not isinstance(node, _INNER):
                waiting += [getattr(node, name, None) for name in node._fields]


def _bound(body: Any) -> set[str]:
    """The names that statements of Python bind in their own scope."""
    return {name for node in _own(body) if not readings.is_load(node) for name in readings.bound(node)}
