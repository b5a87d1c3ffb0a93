"""Python's reading: CPython's own tree of a script, with guards where a statement could reach or change too much.

CPython parses the text and compiles the tree. In between, attributes, writes, calls of methods, imports, handlers of
exceptions and what one step can make large become calls of helpers (`guards`), whose names begin with a dot, so that
no text can spell them. All that is not named here as safe is refused. Commands of agrad are words only where Python
has no use for them, as in `graph y`: their places in the text are blanked before Python reads it.

A text of a session, or of a script of agrad, is read as Python from its first import on, up to a line `calculator`.

The columns of the nodes become spans in the text, as in the code of the calculator's reading.
"""

from __future__ import annotations

import _ast as py
import re
import sys
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from types import CodeType
from typing import Any, NoReturn

from agrad.engine.errors import AgradError, Hint, Label
from agrad.grammar import reach
from agrad.grammar.diagnostics import Span
from agrad.grammar.reach import is_special
from agrad.grammar.run.code import LOAD, Nodes, arguments, deeply
from agrad.grammar.run.places import File
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import HEADERS
from agrad.grammar.syntax.readings import compiled, is_script, nodes

SPECIAL, TOLD, _NATIVE, _KNOWN = map(reach.reachable, ("special", "told", "unchanging", "nodes"))
_NAMED = frozenset({"__name__", "__doc__", "__qualname__"})  # of functions, which may be assigned to
_READ = frozenset({"name"})  # `__name__`, which has a value of its own
_IN_CLASS = SPECIAL | {"match_args", "doc"}
_IDENTIFIERS = frozenset({"id", "arg", "attr", "name", "asname", "module", "rest", "names", "kwd_attrs"})
_LARGE = (py.Mult, py.Pow, py.LShift, py.Mod)  # operators whose result may be much larger than the operands
# From 3.12 on CPython imports a module for this of long whole numbers, as no frame of a script can.
_LONG: Any = py.FloorDiv if sys.version_info >= (3, 12) else ()
_SMALL = 2**62
_SHORT = 30  # nodes: a part that has fewer may stand in the code twice
_WIDE = re.compile(r"\d{7}")
_WORDS = {"AsyncFunctionDef": "async def", "AsyncFor": "async for", "AsyncWith": "async with", "TryStar": "except*"}


def code_of(statement: ast.Python) -> CodeType:
    """The code of a statement, whose tree is used up."""
    return _Guards(statement).code()


class _Guards(Nodes):
    """Puts the guards into the tree of one statement."""

    def __init__(self, statement: ast.Python) -> None:
        super().__init__()
        self.statement, self.places = statement, statement.places
        self.source = statement.span.source
        self.parts: list[ast.Node] = []  # the statements in it, and the loops
        self.deletes = False  # whether a name may be deleted, as is that of an exception behind its handler
        self.functions = self.loops_left = self.calls_left = 0
        self.outer: set[str] = set()  # the names of functions around that this one binds
        self.owner: str | None = None  # the class whose body this is
        self.private = ""  # the class that names with two underscores belong to

    def code(self) -> CodeType:
        """The code object."""
        statement = self.statement
        with deeply():
            body = self.many([statement.tree])
        if statement.shown:
            body[0].value = self.helped("shown", body[0].value, body[0].value)
        for name, value in (("tree", None), ("parts", tuple(self.parts)), ("deletes", self.deletes)):
            setattr(statement, name, value)
        file = File(statement, self.source)
        file.binds = sorted(statement.binds)
        try:
            code: CodeType = compiled(py.Module(body, []), file)
        except (RecursionError, MemoryError):
            raise AgradError("limit", "this nests too deeply", labels=[Label(statement.span)]) from None
        return code.replace(co_name=".top")

    # Nodes

    def visit(self, node: Any) -> Any:
        """What a node becomes; a list for some statements."""
        kind = type(node).__name__
        if hasattr(node, "checked"):
            return node
        if kind not in _KNOWN:
            self.refuse(f"{_WORDS.get(kind, kind)} is not read", node)
        if isinstance(node, py.stmt):
            self.parts.append(ast.Pass(span=self.span(node)))
        handler = getattr(self, f"_{kind.lower()}", None)
        return self.whole(node) if handler is None else handler(node)

    def many(self, found: list[Any]) -> list[Any]:
        """What several nodes become."""
        made: list[Any] = []
        for one in found:
            new = self.visit(one) if isinstance(one, py.AST) else one
            made += new if type(new) is list else [new]
        return made

    def whole(self, node: Any, *apart: str) -> Any:
        """A node at its place, with what its parts become but for some."""
        self.place(node)
        for name in node._fields:
            value = None if name in apart else getattr(node, name, None)
            if isinstance(value, py.AST):
                setattr(node, name, self.visit(value))
            elif type(value) is list:
                setattr(node, name, self.many(value))
            for one in value if type(value) is list else [value]:
                if type(one) is str and name in _IDENTIFIERS:
                    self.word(one, node)
        return node

    def place(self, node: Any) -> None:
        """Let the columns of a node be its span."""
        if getattr(node, "end_lineno", None) is not None:
            start = self.places.offset(node.lineno, node.col_offset)
            end = self.places.offset(node.end_lineno, node.end_col_offset)
            node.lineno = node.end_lineno = 1
            node.col_offset, node.end_col_offset = start, end

    def span(self, node: Any) -> Span:
        """The place of a node that is not at its place yet."""
        if getattr(node, "end_lineno", None) is None:
            return self.statement.span
        return Span(self.source, *self.places.of(node))

    def helped(self, helper: str, like: Any, *values: Any) -> Any:
        """The call of a helper."""
        return self.call(f".{helper}", values, like)

    def refuse(self, message: str, node: Any, *fixes: str) -> NoReturn:
        """Raise the error for what is not read."""
        is_placed = getattr(node, "lineno", 0) == 1 and node.col_offset > self.places.start(2)
        span = Span(self.source, node.col_offset, node.end_col_offset) if is_placed else self.span(node)
        raise AgradError("syntax", message, labels=[Label(span)], fixes=[Hint(one) for one in fixes])

    def word(self, name: str, node: Any, allowed: frozenset[str] = frozenset()) -> str:
        """A name, unless it is one of Python's own machinery."""
        if is_special(name) and name[2:-2] not in (allowed if self.owner is None else allowed | _IN_CLASS):
            self.refuse(f"{name} is a name of Python's own, and cannot be used", node)
        return name

    # Names and attributes

    def _name(self, node: Any) -> Any:
        self.word(node.id, node, _READ if isinstance(node.ctx, py.Load) else frozenset())
        self.place(node)
        self.deletes |= isinstance(node.ctx, py.Del)
        if not isinstance(node.ctx, py.Load):
            self.binds(node.id)
        else:
            self.statement.reads.add(node.id)
        return node

    def binds(self, *names: str | None) -> None:
        """A statement binds names, of the session unless it is inside of a function or a class."""
        if not self.functions and self.owner is None:
            self.statement.binds.update(name for name in names if name)

    def _global(self, node: Any) -> Any:
        self.statement.globals.update(node.names)
        return self.whole(node)

    def _nonlocal(self, node: Any) -> Any:
        self.outer.update(node.names)
        return self.whole(node)

    def _attribute(self, node: Any, helper: str = "attr") -> Any:
        """`x.name`: read as it is where x is of a type of which the guards know that it may be."""
        name, is_read = self.attribute_name(node), isinstance(node.ctx, py.Load)
        if not is_read and is_special(name) and name not in _NAMED:
            self.refuse(f".{name} cannot be assigned to", node)
        base = self.visit(node.value)
        self.place(node)
        text = self.constant(name, node)
        if not is_read:
            self.wrote(base)
            return self.at(py.Attribute(self.helped("mine", node, base, text), name, node.ctx), node)
        found = self.helped(helper, node, base, text)
        if not isinstance(base, py.Name) or is_special(name):
            return found
        self.statement.attributes.add(name)
        test = self.kind(base, py.In(), f".{name}.", node)
        return self.at(py.IfExp(test, self.at(py.Attribute(base, name, LOAD), node), found), node)

    def attribute_name(self, node: Any) -> str:
        """The name of an attribute, as the class around it has it if it is private."""
        name: str = node.attr
        if is_special(name) and name[2:-2] not in SPECIAL | TOLD:
            self.refuse(f".{name} cannot be reached", node)
        owner = self.private.lstrip("_")
        return f"_{owner}{name}" if owner and name[:2] == "__" and name[-2:] != "__" else name

    def _subscript(self, node: Any) -> Any:
        self.whole(node)
        if not isinstance(node.ctx, py.Load):
            self.wrote(node.value)
            node.value = self.helped("logged", node.value, node.value)
        return node

    def wrote(self, base: Any) -> None:
        """Remember whose parts a statement writes."""
        if isinstance(base, py.Name):
            self.statement.written.add(base.id)

    # Operators and calls

    def _binop(self, node: Any) -> Any:
        """An operator: what may be large is a helper's, where no test of types shows that it is not."""
        node, (left, right) = self.whole(node), (node.left, node.right)
        if isinstance(node.op, py.BitXor) and not is_script(self.source):
            return self.helped("xor", node, left, right)
        is_long = isinstance(node.op, _LONG) and not _is_number(right)
        if not (is_long or isinstance(node.op, _LARGE)):
            return node
        is_product, is_mod = isinstance(node.op, py.Mult), isinstance(node.op, py.Mod)
        if any(_is_number(one, float) for one in ((left, right) if is_product else (left,))):
            return node
        helped = self.helped(type(node.op).__name__.lower(), node, left, right)
        names = [one for one in ((left, right) if is_product else (left,)) if not _is_number(one)]
        is_known = (is_product or is_mod or is_long) and names != [] and all(isinstance(one, py.Name) for one in names)
        first, ways = names[0] if is_known else left, []
        if isinstance(first, py.Name) and len([*islice(nodes(right), _SHORT)]) < _SHORT:
            ways.append(self.kind(first, py.In(), ".quick", node))
        if is_known:
            each, kinds = {one.id: one for one in names}.values(), ((py.Is(), ".int"), (py.In(), ".reals"))
            ints, reals = [[self.kind(one, sign, word, one) for one in each] for sign, word in kinds]
            if is_long or len(names) == 2:  # a small number makes the product little longer than the other is
                ends = [self.constant(end, node) for end in (-_SMALL, _SMALL)]
                small = self.at(py.Compare(ends[0], [py.Lt(), py.Lt()], [left, ends[1]]), node)
                ints, reals = [*ints, small], [*reals, small]
            known = [*ways, self.every(reals, node)]
            ways = known[::-1] if is_mod else [self.every(ints, node), *known]  # what takes little time first
        if not ways:
            return helped
        test = self.at(py.BoolOp(py.Or(), ways), node) if len(ways) > 1 else ways[0]
        return self.at(py.IfExp(test, node, helped), node)

    def _augassign(self, node: Any) -> Any:
        target, op = node.target, type(node.op).__name__.lower()
        quick = _is_number(node.value) and not isinstance(node.op, _LARGE)
        if quick:
            return self.whole(node)
        self.place(node)
        if isinstance(target, py.Name):
            store = self._name(target)
            self.statement.reads.add(target.id)
            value = self.visit(node.value)
            now = self.name(target.id, target)
            helped = self.at(py.Assign([store], self.helped(f"i{op}", node, now, value)), node)
            if not isinstance(node.op, py.Add | py.Sub):
                return helped
            test, quickly = self.kind(now, py.In(), ".reals", now), self.at(py.AugAssign(store, node.op, value), node)
            return self.at(py.If(test, [quickly], [helped]), node)
        if isinstance(target, py.Attribute):
            name = self.attribute_name(target)
            if is_special(name):
                self.refuse(f".{name} cannot be assigned to", target)
            base = self.visit(target.value)
            self.place(target)
            place = self.helped("loaded", target, base, self.constant(name, target))
        else:
            base, index = self.visit(target.value), self.index(target.slice)
            self.place(target)
            place = self.helped("entry", target, base, index)
        self.wrote(base)
        return self.run(self.helped("augmented", node, place, self.visit(node.value), self.name(f".i{op}", node)), node)

    def index(self, node: Any) -> Any:
        """What stands in the brackets of an index, as a value."""
        if isinstance(node, py.Slice):
            self.place(node)
            ends = (node.lower, node.upper, node.step)
            found = [self.constant(None, node) if one is None else self.visit(one) for one in ends]
            return self.helped("slice", node, *found)
        if isinstance(node, py.Tuple):
            self.place(node)
            return self.at(py.Tuple([self.index(one) for one in node.elts], LOAD), node)
        return self.visit(node)

    def _call(self, node: Any) -> Any:
        function = node.func
        if not isinstance(function, py.Attribute):
            return self.whole(node)
        if function.attr[-1:] == "_" and isinstance(function.value, py.Name):
            self.statement.written.add(function.value.id)
        node.func = py.Name(".", LOAD)
        if function.attr in _NATIVE:
            function.value = self.visit(function.value)
            self.place(function)
            called = function
        else:
            called = self._attribute(function, "method")
        self.whole(node, "func")
        node.func = called
        return node

    def _formattedvalue(self, node: Any) -> Any:
        """`{value:spec}`: a width that is computed is checked, and one that is written must not be large."""
        node, spec = self.whole(node), node.format_spec
        if spec is None:
            return node
        texts: list[Any] = [one.value for one in spec.values if isinstance(one, py.Constant)]
        if len(texts) < len(spec.values) or any(map(_WIDE.search, texts)):
            checked = self.helped("spec", node, spec)
            node.format_spec = self.at(py.JoinedStr([self.at(py.FormattedValue(checked, -1, None), node)]), node)
        return node

    # What runs next

    def iterated(self, node: Any) -> Any:
        """What a loop goes over: a range may be long, since each turn runs code."""
        if isinstance(node, py.Call) and isinstance(node.func, py.Name) and node.func.id == "range":
            made = self.whole(node)
            made.func = self.helped("native", made.func, made.func)
            return made
        return self.visit(node)

    def _for(self, node: Any) -> Any:
        """A loop, of which each turn can be stopped."""
        span = self.span(node)
        if isinstance(node, py.For):
            node.iter = self.iterated(node.iter)
            names = [one.id for one in nodes(node.target) if isinstance(one, py.Name)]
            inside = Span(self.source, self.places.of(node.body[0])[0], span.end)
            target = ast.Tuple(tuple([ast.Name(one, span=span) for one in names]), span=span)
            body = (ast.Pass(span=inside),)
            self.parts.append(ast.For(target, ast.NoneLiteral(span=span), body, span=span))
            node.target = self.visit(node.target)
        with self.having(loops_left=0):
            self.whole(node, "iter", "target", "orelse")
        node.orelse = self.many(node.orelse)
        node.body.insert(0, self.tick(node))
        return node

    _while = _for

    def _comprehension(self, node: Any) -> Any:
        node.iter = self.iterated(node.iter)
        node.target = self.visit(node.target)
        self.whole(node, "iter", "target")
        node.ifs.insert(0, self.at(py.UnaryOp(py.Not(), self.polled(node.iter)), node.iter))
        return node

    def polled(self, like: Any) -> Any:
        """Nothing that is true, but the end where time is up."""
        return self.at(py.BoolOp(py.And(), [self.name(".stop", like), self.call(".poll", [], like)]), like)

    def _leave(self, node: Any) -> Any:
        if self.calls_left if isinstance(node, py.Return) else self.loops_left:
            word = type(node).__name__.lower()
            self.refuse(f"`{word}` cannot leave a `finally`: it would hide what stopped the block", node)
        return self.whole(node)

    _return = _break = _continue = _leave

    def _try(self, node: Any) -> Any:
        self.place(node)
        node.body, node.handlers, node.orelse = map(self.many, (node.body, node.handlers, node.orelse))
        with self.having(loops_left=self.loops_left + 1, calls_left=self.calls_left + 1):
            node.finalbody = self.many(node.finalbody)
        return node

    def _excepthandler(self, node: Any) -> Any:
        node = self.whole(node)
        self.binds(node.name)
        self.deletes |= node.name is not None
        kinds = node.type
        node.type = self.name(".Exception", node) if kinds is None else self.helped("caught", kinds, kinds)
        return node

    def _withitem(self, node: Any) -> Any:
        node = self.whole(node)
        node.context_expr = self.helped("manager", node.context_expr, node.context_expr)
        return node

    def _assert(self, node: Any) -> Any:
        """A test, and an exception that has its place on each Python."""
        node = self.whole(node)
        made = self.helped("AssertionError", node.test, *([] if node.msg is None else [node.msg]))
        fails = self.at(py.UnaryOp(py.Not(), node.test), node.test)
        return self.at(py.If(fails, [self.at(py.Raise(made, None), node.test)], []), node)

    def _expr(self, node: Any) -> Any:
        start = self.places.offset(node.lineno, node.col_offset)
        if start not in self.statement.commands:
            return self.whole(node)
        self.place(node)
        made: list[Any] = []
        for number, one in enumerate(self.statement.commands[start]):
            self.binds(*ast.binds(one))
            done = self.helped("command", node, self.constant(start, node), self.constant(number, node))
            if isinstance(one, ast.Variable):
                made.append(self.assign(one.name.id, done, node))
            else:
                made.append(self.run(done, node))
        return made

    # Functions and classes

    def inside(self, owner: str | None) -> AbstractContextManager[None]:
        """The body of a class, or of a function."""
        private, functions = owner if owner is not None else self.private, self.functions + (owner is None)
        return self.having(owner=owner, private=private, functions=functions, loops_left=0, calls_left=0)

    def bound(self, node: Any) -> None:
        """A definition binds a name."""
        self.word(node.name, node)
        self.binds(node.name)

    def _functiondef(self, node: Any) -> Any:
        self.bound(node)
        node.decorator_list = self.many(node.decorator_list)
        node.args, node.returns, node.type_params = self.visit(node.args), None, []
        first = [self.tick(node)]
        with self.inside(None), self.having(outer=set()):
            self.whole(node, "name", "args", "decorator_list", "type_params")
            if self.outer:
                cells = self.at(py.Tuple([self.name(name, node) for name in sorted(self.outer)], LOAD), node)
                probe = self.at(py.Lambda(arguments(), cells), node)
                first.append(self.run(self.helped("cells", node, probe), node))
        behind = isinstance(node.body[0], py.Expr) and isinstance(getattr(node.body[0].value, "value", None), str)
        node.body[behind:0] = first  # behind the docstring
        return node

    def _lambda(self, node: Any) -> Any:
        node.args = self.visit(node.args)
        with self.inside(None):
            self.whole(node, "args")
        node.body = self.at(py.BoolOp(py.Or(), [self.polled(node), node.body]), node)
        return node

    def _arg(self, node: Any) -> Any:
        node.annotation = None
        return self.whole(node)

    def _classdef(self, node: Any) -> Any:
        self.bound(node)
        if node.keywords:
            self.refuse("a class has no keywords: metaclasses are not read", node)
        if any(isinstance(one, py.Starred) for one in node.bases):
            self.refuse("the bases of a class are written one by one", node)
        node.decorator_list, node.bases = self.many(node.decorator_list), self.many(node.bases)
        node.bases, node.type_params = [self.helped("base", one, one) for one in node.bases], []
        with self.inside(node.name):
            self.whole(node, "name", "bases", "keywords", "decorator_list", "type_params")
        return node

    def _annassign(self, node: Any) -> Any:
        """The annotation is a text in a class, and nothing elsewhere."""
        span, name = self.span(node.annotation), getattr(node.target, "id", "")
        if name in HEADERS and not (is_script(self.source) or self.functions or self.owner):
            told = f"`{name}:` is the calculator's language, and to Python a name with an annotation"
            timed = f"calculator   goes back to where {name}: measures a statement"
            self.refuse(told, node, timed if name == "time" else "with torch.no_grad(): …")
        if isinstance(node.target, py.Name) and (self.functions or self.owner is not None):
            node.annotation = py.Constant(span.text)
            self.whole(node, "annotation")
            self.at(node.annotation, node)
            return node
        target, value = self.visit(node.target), node.value and self.visit(node.value)
        self.place(node)
        return self.at(py.Pass() if value is None else py.Assign([target], value), node)

    # Modules

    def _import(self, node: Any) -> Any:
        node = self.whole(node)
        self.binds(*((one.asname or one.name).split(".")[0] for one in node.names))
        return node

    def _importfrom(self, node: Any) -> Any:
        if node.module == "__future__":
            self.place(node)
            return self.at(py.Pass(), node)
        if node.level or node.module is None:
            self.refuse("a script has no package around it", node)
        if [one.name for one in node.names] == ["*"]:
            node.names = [self.at(py.alias(one, None), node.names[0]) for one in reach.names_in(node.module)]
            if not node.names:
                self.refuse(f"No module named {node.module!r}", node)
        return self._import(node)

    # Patterns

    def _match(self, node: Any) -> Any:
        """The classes and values of patterns are looked up, and checked, before."""
        self.place(node)
        kept, given = f".match{next(self.fresh)}", list[Any]()
        held = partial(self.held, kept, given, node)
        for one in nodes([case.pattern for case in node.cases]):
            if isinstance(one, py.MatchClass):
                attributes = self.constant(tuple([self.word(name, one) for name in one.kwd_attrs]), node)
                places = self.constant(len(one.patterns), node)
                one.cls = held(self.helped("pattern", node, self.visit(one.cls), attributes, places))
            elif isinstance(one, py.MatchValue) and isinstance(one.value, py.Attribute):
                one.value = held(self.visit(one.value))
            elif isinstance(one, py.MatchMapping):
                one.keys = [held(self.visit(key)) if isinstance(key, py.Attribute) else key for key in one.keys]
        node.subject, node.cases = self.visit(node.subject), [self.visit(one) for one in node.cases]
        for one in nodes(node.cases):
            if isinstance(one, py.MatchAs | py.MatchStar | py.MatchMapping):
                self.binds(getattr(one, "name", None), getattr(one, "rest", None))
        if not given:
            return node
        self.binds(kept)
        return [self.assign(kept, self.helped("values", node, *given), node), node]

    def held(self, name: str, given: list[Any], like: Any, value: Any) -> Any:
        """An attribute of what is looked up before."""
        given.append(value)
        made = self.at(py.Attribute(self.name(name, like), f"v{len(given)}", LOAD), like)
        made.checked = True
        return made


def _is_number(node: Any, *kinds: type) -> bool:
    """Whether a node is a number that is written, and not a long one."""
    value: Any = getattr(node, "value", None)
    return isinstance(node, py.Constant) and type(value) in (kinds or (int, float)) and abs(value) < _SMALL
