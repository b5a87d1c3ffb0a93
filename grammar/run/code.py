"""Makes Python code objects of syntax trees: one for a statement, an expression, or a function.

The columns of each node are its span in the source. Helpers, and names of its own, begin with a dot, so that no text
can spell them. What a helper has to know of its place in the tree is a constant of the code, mostly a detail and the
span. A statement of the top level is the body of a function whose names are global, so that its own are not among those
of the session.

Arithmetic and comparisons are tried as Python's own, where all operands turn out to be plain numbers or, of `+ - *`,
numbers and arrays. Everything else is the call of a helper. An expression that is nested too deeply for Python is cut:
its deep parts become functions, which are called where they stand.
"""

from __future__ import annotations

import _ast as py
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from types import CodeType
from typing import Any

from agrad.engine import autodiff, units
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Label
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Span
from agrad.grammar.run.places import CUT, THUNK, File
from agrad.grammar.runtime import attributes, notes
from agrad.grammar.runtime.builtins import Definition, Loop, bindable, defined, is_result
from agrad.grammar.runtime.operations import COMPARE, called_directly, gives_number, lost_write, takes_several
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.depth import deep

EXACT = 2.0**53  # up to here, every whole number is a float64
DEEP = 40  # levels of one Python expression
_MANY = 1000  # entries of a list of numbers, from which on they are one constant
_GUARDED = 6  # different names in an expression that is tried as Python's own
_LONGEST = 30  # parts of it
# What a loop consists of whose values are numbers if those are with which it begins.
_CLOSED = frozenset({"+", "-", "*", "/", "**", "%", "//"})
_VALUES = (ast.Number, ast.Name, ast.Binary, ast.Unary, ast.Call)
_FLOW = (ast.While, ast.If, ast.Assign, ast.Augment, ast.Break, ast.Continue, ast.Pass, ast.Compare, ast.Logic)
_OTHERS = 2  # operands of it that are neither names nor numbers
DETAIL = "\0"  # begins what stands for a constant until the code is compiled
LOAD, STORE = py.Load(), py.Store()
NATIVE: dict[str, type[Any]] = {"+": py.Add, "-": py.Sub, "*": py.Mult}
_DIVISIONS: dict[str, type[Any]] = {"/": py.Div, "//": py.FloorDiv, "%": py.Mod}
_TESTS: dict[str, type[Any]] = {"<": py.Lt, "<=": py.LtE, ">": py.Gt, ">=": py.GtE, "==": py.Eq, "!=": py.NotEq}
_SIMPLE = (ast.Number, ast.Name, ast.String, ast.NoneLiteral, ast.EllipsisLiteral, ast.Starred, ast.Slice, ast.Each)
_NOT_PLAIN = (ast.List, ast.Tuple, ast.Each, ast.String, ast.FString, ast.Compare, ast.Logic, ast.NoneLiteral)
_UNCERTAIN = {"±": "uncertain", "±%": "percent"}
# Functions of a function, which may be given as an expression.
OF_FUNCTIONS = frozenset({"root", "argmin", "integral", "taylor"})
# Methods of numbers and arrays that are functions, and nothing else.
OF_ARRAYS = FUNCTIONS.keys() - attributes.METHODS.keys() - attributes.LENGTHENING - notes.READERS - {"backward"}
_NO_WRITES = frozenset({"requires_grad_"})  # methods with `_` at the end that do not write into the data
HELPERS = {"+": ".add", "-": ".sub", "*": ".mul", "/": ".div", "//": ".floordiv", "**": ".pow", "@": ".matmul"}


def arguments(names: Sequence[Any] = ()) -> Any:
    """The parameters of a function that takes all by place."""
    return py.arguments([], [*names], None, [], [], None, [])


class Nodes:
    """Makes nodes of Python, each at its place: a span, or that of another node."""

    def __init__(self) -> None:
        self.fresh = count()

    @contextmanager
    def having(self, **values: Any) -> Iterator[None]:
        """A part of the tree, for which some things are known that do not hold outside."""
        kept = {name: getattr(self, name) for name in values}
        vars(self).update(values)
        yield
        vars(self).update(kept)

    def at(self, node: Any, place: Any) -> Any:
        """A node with its place."""
        node.lineno = node.end_lineno = 1
        is_span = type(place) is Span
        node.col_offset = place.start if is_span else place.col_offset
        node.end_col_offset = place.end if is_span else place.end_col_offset
        return node

    def name(self, name: str, place: Any, form: Any = LOAD) -> Any:
        """A name of Python."""
        return self.at(py.Name(name, form), place)

    def constant(self, value: Any, place: Any) -> Any:
        """A constant of Python."""
        return self.at(py.Constant(value), place)

    def call(self, function: Any, values: Sequence[Any], place: Any) -> Any:
        """A call, of a helper by its name."""
        called = self.name(function, place) if isinstance(function, str) else function
        return self.at(py.Call(called, [*values], []), place)

    def kind(self, value: Any, sign: Any, known: str, place: Any) -> Any:
        """Whether the type of a value is one, or among those, that a helper is."""
        return self.at(py.Compare(self.call(".type", [value], place), [sign], [self.name(known, place)]), place)

    def every(self, tests: list[Any], place: Any) -> Any:
        """Whether all tests hold."""
        return tests[0] if len(tests) == 1 else self.at(py.BoolOp(py.And(), tests), place)

    def run(self, value: Any, place: Any) -> Any:
        """An expression as a statement."""
        return self.at(py.Expr(value), place)

    def assign(self, name: str, value: Any, place: Any) -> Any:
        """A value for a name."""
        return self.at(py.Assign([self.name(name, place, STORE)], value), place)

    def tick(self, place: Any) -> Any:
        """What stops a loop or a function where time is up, and no signal says so."""
        return self.at(py.If(self.name(".stop", place), [self.run(self.call(".poll", [], place), place)], []), place)


_NUMBERS = ".numbers"  # whether the steady parameters of a function are numbers


class _Generator(Nodes):
    """Makes the code of one tree."""

    def __init__(self, tree: Any, span: Span, in_function: bool = False) -> None:
        super().__init__()
        self.tree, self.span, self.file = tree, span, File(tree, span.source)
        self.top = True  # whether names are those of the session
        self.once = False  # whether it runs once: then the least code is best
        self.plainly = False  # whether all names are known to be numbers or arrays
        self.numbers = False  # whether they are known to be numbers
        self.bound: set[str] = set()  # the names of the function
        self.steady: set[str] = set()  # parameters that it never binds again
        self.asked: set[str] = set()  # those of which the code asks whether they are numbers
        self.around: list[set[str]] = []  # those of the functions around it
        self.temporaries = True  # whether an expression may have names of its own
        self.details: list[Any] = []
        self.computed: dict[Any, str] = {}  # parts of an expression that have a name already
        self.before: list[Any] = []  # functions that are parts of the statement
        self.in_function = in_function
        self.loops = self.nested = self.depth = 0
        self.timed = False  # whether this is the body of a `time:`

    # Nodes

    def name(self, name: str, place: Any, form: Any = LOAD) -> Any:
        """A name of Python, which the code needs where it reads it."""
        if form is LOAD:
            self.file.needs.add(name)
        return self.at(py.Name(name, form) if form is LOAD else py.Name(bindable(name, Label(place)), form), place)

    def detail(self, value: Any, span: Span) -> Any:
        """A constant that a helper has to know."""
        self.details.append(value)
        return self.constant(f"{DETAIL}{len(self.details) - 1}", span)

    def do(self, word: str, detail: Any, values: Sequence[Any], span: Span) -> Any:
        """The call of a helper that gets a detail, and the span."""
        return self.call(f".{word}", [self.detail((detail, span), span), *values], span)

    def temporary(self, word: str = "t") -> str:
        """A name that no text can spell."""
        return f".{word}{next(self.fresh)}"

    def cut(self, value: Any, span: Span) -> Any:
        """A part of an expression as a function of its own, and its call."""
        name = f"{CUT}{next(self.fresh)}"
        self.before.append(self.at(py.FunctionDef(name, arguments(), [self.at(py.Return(value), span)], []), span))
        return self.call(name, [], span)

    def thunk(self, node: Any) -> Any:
        """A function without arguments that gives the value."""
        with self.inner(()):
            value = self.expr(node)
        mark = self.at(py.arg(THUNK), node.span)
        return self.at(py.Lambda(py.arguments([], [], mark, [], [], None, []), value), node.span)

    def inner(self, names: Iterable[str], temporaries: bool = True) -> AbstractContextManager[None]:
        """A function inside of what is running; `names`: its own."""
        around = self.around if self.top else [*self.around, self.bound]
        own = {"bound": {*names}, "steady": set(), "asked": set()}
        return self.having(top=False, once=False, temporaries=temporaries, around=around, **own)

    # Expressions

    def expr(self, node: Any, level: int = 0) -> Any:
        """The expression of Python for a node."""
        if node in self.computed:
            return self.name(self.computed[node], node.span)
        if level > DEEP and not isinstance(node, _SIMPLE):
            return self.cut(self.expr(node), node.span)
        return getattr(self, f"_{type(node).__name__.lower()}")(node, level + 1)

    def each_of(self, nodes: Iterable[Any], level: int = 0) -> list[Any]:
        """Those of several nodes."""
        return [self.expr(node, level) for node in nodes]

    def _number(self, node: ast.Number, level: int) -> Any:
        """A number; where a float64 cannot hold it, with a note on what it became."""
        value = self.literal(node.value, node.span)
        if type(node.value) is not float or 0.0 < abs(node.value) < EXACT:
            return value
        told = notes.became(node.span.text, node.value)
        if not told:
            return value
        noted = self.do("note", (f"{node.span.text} is read as {told}",), [], node.span)
        return self.call(".second", [noted, value], node.span)

    def literal(self, value: Any, span: Span) -> Any:
        """A value that is written."""
        is_like_detail = type(value) is str and value[:1] == DETAIL
        return self.detail(value, span) if is_like_detail else self.constant(value, span)

    def _string(self, node: Any, level: int) -> Any:
        value = ... if isinstance(node, ast.EllipsisLiteral) else getattr(node, "value", None)
        return self.literal(value, node.span)

    _noneliteral = _ellipsisliteral = _string

    def _name(self, node: ast.Name, level: int) -> Any:
        name, span = node.id, node.span
        if name == "print":
            return self.name(".printer", span)
        if self.is_own(name):
            return self.name(name, span)
        return self.do("look", name, [], span) if _is_special(name) else self.name(name, span)

    def is_own(self, name: str) -> bool:
        """Whether a name is one of the functions around."""
        return any(name in one for one in (self.bound, *self.around))

    def _unary(self, node: ast.Unary, level: int) -> Any:
        operand, span = node.operand, node.span
        if node.op == "not":
            return self.at(py.UnaryOp(py.Not(), self.call(".truth", [self.expr(operand, level)], span)), span)
        if node.op == "-" and _is_number(operand):
            return self.constant(-operand.value, span)  # type: ignore[attr-defined]
        value = self.expr(operand, level)
        if self.plainly:
            return self.at(py.UnaryOp(py.USub(), value), span)
        return self.call(".neg" if node.op == "-" else ".pos", [value], span)

    def _binary(self, node: ast.Binary, level: int) -> Any:
        """The operands on the left are a chain, as in a sum of many terms."""
        chain = [node]
        while isinstance(chain[-1].left, ast.Binary) and chain[-1].left not in self.computed:
            chain.append(chain[-1].left)
        tried = self.tried(node, level) if len(chain) < _LONGEST else None
        if tried is not None:
            return tried
        found: Any = None
        for place, one in enumerate(reversed(chain), 1):
            if place % DEEP == 0:
                found = self.cut(found, one.left.span)
            found = self.operation(one, found, level + (min(len(chain), 5) if found is None else 0))
        return found

    def _quantity(self, node: ast.Quantity, level: int) -> Any:
        """A value with a unit, unless the names of the unit have values: then it is a product."""
        span, names = node.span, syntax.units.names_in(node.unit)
        if not node.sure and self.is_own(names[0]):
            return self.expr(syntax.units.product(node), level)
        given = self._conversion(node, level, "quantity")
        if node.sure:
            return given
        test = self.do("valued", tuple(names), [], span)
        return self.at(py.IfExp(test, self.expr(syntax.units.product(node), level), given), span)

    def _conversion(self, node: Any, level: int, function: str = "converted") -> Any:
        """`x to km/h`, or what another function makes of a value and a unit."""
        made, span = self.detail(getattr(units.quantity, function), node.span), node.span
        return self.do("call", (2, ()), [made, self.expr(node.value, level), self.constant(node.unit, span)], span)

    def operation(self, node: ast.Binary, left: Any, level: int) -> Any:
        """An operator, applied by a helper; `left`: the expression on the left, if there is one already.

        One of two operands that is written in brackets stays a list, in case that the other is one to be added to.
        """
        span, sides = node.span, [node.left, node.right]
        if node.op[0] == "±":
            known, behind = autodiff.uncertainty, [node.right]
            if node.op in _UNCERTAIN:
                made = getattr(known, _UNCERTAIN[node.op])
            else:
                assert isinstance(node.right, ast.Tuple)
                made, behind = partial(known.distributed, node.op[2:]), [*node.right.items]
            values = [left or self.expr(node.left, level), *[self.expr(one, level) for one in behind]]
            return self.do("call", (len(values), ()), [self.detail(made, span), *values], span)
        if node.op in ("+", "*"):
            lists = [side for side in sides if isinstance(side, ast.List)]
            if len(lists) == 1 or (node.op == "+" and any(len(side.items) == 1 for side in lists)):
                sides = [as_list(side) for side in sides]
        if node.op == "+":
            sides = [side.changed(apart="list") if isinstance(side, ast.Each) else side for side in sides]
        values = [left or self.expr(sides[0], level), self.expr(sides[1], level)]
        if self.plainly and node.op in NATIVE:
            return self.at(py.BinOp(values[0], NATIVE[node.op](), values[1]), span)
        if self.plainly and _divides(node):
            quotient, by = self.at(py.BinOp(values[0], _DIVISIONS[node.op](), values[1]), span), node.right
            if isinstance(by, ast.Name):  # 0 is the helper's
                test = self.name(by.id, span)
                if not self.numbers:
                    test = self.at(py.BoolOp(py.Or(), [self.is_no_number(by.id, span), test]), span)
            elif node.op == "%":  # it notes something of large numbers
                ends = [self.constant(end, span) for end in (-EXACT, EXACT)]
                test = self.at(py.Compare(ends[0], [py.LtE(), py.LtE()], [values[0], ends[1]]), span)
            else:
                return quotient
            with self.having(plainly=False):
                return self.at(py.IfExp(test, quotient, self.operation(node, values[0], level)), span)
        signed = node.sign is not None and not any(isinstance(side, ast.Number) for side in sides)
        if node.op in HELPERS and not signed:
            return self.call(HELPERS[node.op], values, span)
        between = (node.left.span, node.right.span, node.sign) if signed else None
        return self.do("checked", (node.op, between), values, span)

    def tried(self, node: Any, level: int, leads: bool = False) -> Any:
        """Arithmetic as Python's own where its operands are numbers or arrays; None where there is nothing to try.

        `leads`: nothing of the statement is computed before it.
        """
        plan = None if self.once or self.plainly else _Plan(node)
        if plan is None or not plan.fits or (plan.others and not self.temporaries):
            return None
        span, kept = node.span, {other: self.temporary() for other in plan.others}
        pairs = [*zip(kept.values(), self.each_of(kept, level), strict=True)]
        if leads:
            self.before += [self.assign(name, value, span) for name, value in pairs]
            values = [self.name(name, span) for name in kept.values()]
        else:
            values = [self.at(py.NamedExpr(self.name(name, span, STORE), value), span) for name, value in pairs]
        test = self.all_plain(plan.names, plan.numbers, span, values)
        if leads and values and not plan.names:  # of numbers this takes less time
            floats = self.every([self.alike([value], True, span) for value in values], span)
            test = self.at(py.BoolOp(py.Or(), [floats, test]), span)
        self.computed |= kept
        with self.having(plainly=True, numbers=plan.numbers):
            quick = self.expr(node, level)
        with self.having(once=True):
            return self.at(py.IfExp(test, quick, self.expr(node, level)), span)

    def all_plain(self, names: Mapping[str, Span], numbers: bool, span: Span, values: Sequence[Any] = ()) -> Any:
        """Whether all names are numbers, or numbers or arrays; of values, which are all computed, all are the same."""
        tests = [self.alike(values, numbers, span)] if values else []
        named = [self.alike([self.name(name, at)], numbers, span) for name, at in names.items()]
        if named and self.steady.issuperset(names):
            self.asked.update(names)
            named = [self.at(py.BoolOp(py.Or(), [self.name(_NUMBERS, span), self.every(named, span)]), span)]
        return self.every([*tests, *named], span)

    def alike(self, values: Iterable[Any], numbers: bool, span: Span) -> Any:
        """Whether some values are all numbers, or all numbers or all arrays."""
        first, *others = [self.call(".type", [value], span) for value in values]
        signs: list[Any] = [*[py.Is() for _ in others], py.Is() if numbers else py.In()]
        return self.at(py.Compare(first, signs, [*others, self.name(".float" if numbers else ".plain", span)]), span)

    def _compare(self, node: ast.Compare, level: int) -> Any:
        span, (*links, (sign, right)) = node.span, node.rest
        if links:  # each operand is computed if all before it hold
            parts = [self.expr(node.first, level)]
            for symbol, operand in links:
                parts += [self.constant(symbol, span), self.thunk(operand)]
            return self.do("chain", sign, [*parts, self.thunk(right)], span)
        tried = self.tried(node, level) if sign in COMPARE else None
        if tried is not None:
            return tried
        sides = self.each_of((node.first, right), level)
        if self.plainly:
            return self.at(py.Compare(sides[0], [_TESTS[sign]()], sides[1:]), span)
        if sign in COMPARE:
            return self.do("binary", sign, sides, span)
        if isinstance(right, ast.Number) and type(right.value) is float:
            sides[1] = self.call(".fresh", sides[1:], span)
        return self.do("test", sign, sides, span)

    def test(self, node: Any, level: int = 0) -> Any:
        """Something of which the truth is asked."""
        if isinstance(node, ast.Logic) and level < DEEP:
            word = py.And() if node.op == "and" else py.Or()
            return self.at(py.BoolOp(word, [self.test(side, level + 1) for side in (node.left, node.right)]), node.span)
        found = self.expr(node, level)
        if isinstance(found, py.Compare | py.UnaryOp):
            return found
        if isinstance(node, ast.Compare) and isinstance(found, py.IfExp):  # of Python's own comparison it is known
            found.orelse = self.call(".truth", [found.orelse], node.span)
            return found
        return self.call(".truth", [found], node.span)

    def _near(self, node: ast.Near, level: int) -> Any:
        tolerance = [] if node.tolerance is None else [node.tolerance]
        return self.do("near", None, self.each_of([node.left, node.right, *tolerance], level), node.span)

    def _isnone(self, node: ast.IsNone, level: int) -> Any:
        value = self.expr(node.operand, level)
        if isinstance(value, py.Constant):  # of which Python warns
            value = self.call(".second", [value, value], node.span)
        sign = py.IsNot() if node.negated else py.Is()
        return self.at(py.Compare(value, [sign], [self.constant(None, node.span)]), node.span)

    def _logic(self, node: ast.Logic, level: int) -> Any:
        """`a and b` is a where that is false: the value, and not its truth."""
        return self.do("logic", node.op, [self.expr(node.left, level), self.thunk(node.right)], node.left.span)

    def _conditional(self, node: ast.Conditional, level: int) -> Any:
        test = self.test(node.test, level)
        return self.at(py.IfExp(test, self.expr(node.then, level), self.expr(node.other, level)), node.span)

    def _starred(self, node: ast.Starred, level: int) -> Any:
        return self.call(".star", [self.expr(node.value, level)], node.span)

    def _list(self, node: ast.List, level: int) -> Any:
        kind = "parts" if node.apart else "rows" if all(isinstance(item, ast.List) for item in node.items) else ""
        if len(node.items) > _MANY and all(isinstance(item, ast.Number) for item in node.items):
            whole = self.constant(tuple([item.value for item in node.items]), node.span)  # type: ignore[attr-defined]
            return self.do("list", kind, [self.at(py.Starred(whole, LOAD), node.span)], node.span)
        return self.do("list", kind, self.each_of(node.items, level), node.span)

    def _tuple(self, node: ast.Tuple, level: int) -> Any:
        return self.do("tuple", None, self.each_of(node.items, level), node.span)

    def _fstring(self, node: ast.FString, level: int) -> Any:
        values = [part.value for part in node.parts if not isinstance(part, str)]
        return self.do("format", node.parts, self.each_of(values, level), node.span)

    def _slice(self, node: ast.Slice, level: int) -> Any:
        ends = [part or ast.NoneLiteral(span=node.span) for part in (node.start, node.stop, node.step)]
        found = self.each_of(ends, level)
        for one in found:
            if type(getattr(one, "value", None)) is float and one.value.is_integer():
                one.value = int(one.value)  # as it is needed
        return self.call(".slice", found, node.span)

    def _index(self, node: ast.Index, level: int) -> Any:
        return self.do("index", None, self.each_of((node.value, node.index), level), node.span)

    def _attribute(self, node: ast.Attribute, level: int) -> Any:
        return self.do("attribute", node.name, [self.expr(node.value, level)], node.span)

    # Functions and calls

    def _unknowns(self, node: ast.Unknowns, level: int) -> Any:
        """A function of the names, which the command calls."""
        names = tuple([name.id for name in node.names])
        return self.function(Definition(node.value.span.text, names, (), node.value, node.span), ())

    def _lambda(self, node: ast.Lambda, level: int) -> Any:
        definition, defaults = defined("lambda", node.parameters, node.value, node.span)
        return self.function(definition, self.each_of(defaults, level))

    def function(self, definition: Definition, defaults: Sequence[Any]) -> Any:
        """A function of an expression."""
        span = definition.tree.span
        with self.having(before=[]), self.inner([*definition.parameters, *filter(None, [definition.rest])]):
            body = self.expr(definition.tree)
            if self.before:
                raise AgradError("limit", "this nests too deeply", labels=[Label(span)])
        made = self.at(py.Lambda(self.parameters(definition, span), body), span)
        return self.do("define", definition, [made, *defaults], definition.span)

    def parameter(self, name: str, span: Span) -> Any:
        """A parameter of a function."""
        return self.at(py.arg(bindable(name, Label(span))), span)

    def parameters(self, definition: Definition, span: Span) -> Any:
        """The parameters of a function; what makes it gives it the defaults."""
        placed, behind = (
            [self.parameter(name, span) for name in names]
            for names in (definition.parameters[: definition.placed], definition.parameters[definition.placed :])
        )
        rest = self.parameter(definition.rest, span) if definition.rest else None
        return py.arguments([], placed, rest, behind, [None] * len(behind), None, [])

    def _each(self, node: ast.Each, level: int) -> Any:
        """A function, which is called for each value."""
        span, simple = node.value.span, isinstance(node.target, ast.Name)
        name = node.target.id if isinstance(node.target, ast.Name) else self.temporary("each")
        values = self.each_of((node.values, *([] if node.last is None else [node.last])), level)
        with self.inner([name, *ast.names_of(node.target)], temporaries=simple):
            found = self.expr(node.value)
            for test in reversed(node.conditions):
                found = self.at(py.IfExp(self.test(test), found, self.name(".skipped", test.span)), test.span)
            if not simple:
                found = self.unpacked(node.target, name, found, span)
        function = self.at(py.Lambda(arguments([self.parameter(name, span)]), found), span)
        definition = Definition(span.text, (name,), (), node, span)
        detail = definition, node.last is not None, node.apart, node.flat
        return self.do("each", detail, [function, *values], node.span)

    def unpacked(self, target: Any, name: str, value: Any, span: Span) -> Any:
        """A value in which the names of a target are the entries of another."""
        entries = self.call(".nested", [self.detail(target, span), self.name(name, span)], target.span)
        flat = self.at(py.Tuple([self.name(one, span, STORE) for one in ast.names_of(target)], STORE), span)
        one = py.comprehension(flat, self.at(py.Tuple([entries], LOAD), span), [], 0)
        return self.at(py.Subscript(self.at(py.ListComp(value, [one]), span), self.constant(0, span), LOAD), span)

    def _call(self, node: ast.Call, level: int) -> Any:
        span, function = node.span, node.function
        if self.plainly:  # of what else is called, the value is there already
            return self.call(f".op {function.id}", self.each_of(node.arguments, level), span)  # type: ignore[attr-defined]
        keywords: tuple[str, ...] = tuple([name for name, _ in node.keywords])
        called = function.id if isinstance(function, ast.Name) else getattr(function, "name", "")
        if called == "print" and isinstance(function, ast.Name) and {*keywords} <= ast.PRINTED:
            return self.printed(node.arguments, node.keywords, span, level)
        given: list[Any] = [*node.arguments, *(value for _, value in node.keywords)]
        if takes_several(called):
            given = [ast.Tuple(one.items, span=one.span) if isinstance(one, ast.List) else one for one in given]
            given = [one.changed(apart="tuple") if isinstance(one, ast.Each) else one for one in given]
        of_unknown = isinstance(function, ast.Name) and called in OF_FUNCTIONS and len(node.arguments) > 1
        if of_unknown and not isinstance(given[0], ast.Name | ast.Lambda):
            values = [self.of_unknown(given[0]), *self.each_of(given[1:], level)]
        else:
            values = self.each_of(given, level)
        form = len(node.arguments), keywords
        if isinstance(function, ast.Attribute):
            base = self.method_base(function, level)
            found = self.do("method", (function.name, *form), [base, *values], span)
            given, is_known = [function.value, *given], called in OF_ARRAYS
        else:
            base, is_known = self.expr(function, level), isinstance(function, ast.Name) and called in FUNCTIONS
            if keywords or any(isinstance(argument, ast.Starred) for argument in node.arguments):
                return self.do("call", form, [base, *values], span)
            found = self.call(self.callee(function, base, span), values, span)
        names = [one for one in given if isinstance(one, ast.Name)]
        kinds = called_directly(called) if is_known and names and not (self.once or keywords) else ""
        if not kinds or not all(map(_is_plain, given)):
            return found
        tests = [self.kind(self.name(one.id, one.span), py.In(), ".plain", span) for one in names[1:]]
        tests.insert(0, self.kind(self.name(names[0].id, names[0].span), py.In(), f".{kinds}", span))
        direct = self.name(f".op {called}", span)
        if isinstance(function, ast.Attribute):
            values = [base, *values]
        else:
            tests.append(self.is_built_in(called, span))
        return self.at(py.IfExp(self.every(tests, span), self.call(direct, values, span), found), span)

    def method_base(self, function: ast.Attribute, level: int) -> Any:
        """What a method is called on: where that writes, the write must not be lost."""
        base, name = function.value, function.name
        value = self.expr(base, level)
        if not name.endswith("_") or name[:2] == "__":
            return value
        if name not in _NO_WRITES:
            value = self.writable(base, value, f"{base.span.text} = …")
        return self.do("no_number", (base, name), [value], base.span)

    def writable(self, base: ast.Expr, value: Any, text: str) -> Any:
        """A value with a check that a write into it is not lost. That into a new one, such as `a + b`, always is."""
        if isinstance(base, ast.Binary | ast.Unary):
            raise lost_write(base, text)
        return self.do("writable", (base, text), [value], base.span)

    def printed(self, values: Sequence[Any], options: Iterable[tuple[str, Any]], span: Span, level: int = 0) -> Any:
        """`print`: the values, what is between them and what is behind."""
        given = dict(options)
        ends = [given.get(name) or ast.String(usual, span=span) for name, usual in (("sep", " "), ("end", "\n"))]
        return self.do("print", None, self.each_of((*values, *ends), level), span)

    def callee(self, node: Any, value: Any, span: Span) -> Any:
        """What is called: the code of a function of the user, or what calls anything else as the language does."""
        called = self.call(".callee", [self.detail(span, span), value], span)
        if not isinstance(value, py.Name):
            return called
        known = self.call(".known", [self.name(value.id, node.span)], span)  # a function of the engine
        called = self.at(py.BoolOp(py.Or(), [known, called]), span)
        test = self.kind(self.name(value.id, node.span), py.Is(), ".closure", span)
        run = self.at(py.Attribute(self.name(value.id, node.span), "run", LOAD), span)
        return self.at(py.IfExp(test, run, called), span)

    def of_unknown(self, node: Any) -> Any:
        """What follows `root(`: an expression with one name that has no value, as in root(x**2 - 2, 1)."""
        names = tuple(dict.fromkeys(name.id for name in ast.loads(node)))
        read = dict.fromkeys(name.id for name in ast.loads(node, inside=True))  # also in functions in it
        own = tuple([name for name in read if self.is_own(name)])
        values = [self.thunk(ast.Name(name, span=node.span)) for name in own]
        return self.do("of_unknown", (node, names, own), values, node.span)

    # The code object

    def program(self) -> CodeType:
        """The body of a function that runs statements."""
        self.file.binds, self.once = sorted(ast.bound(self.tree)), True
        names = self.file.binds
        with deeply():
            body = self.body(self.tree)
        if names:
            body = [self.at(py.Global(names), self.span), *body]
        return self.compiled(body, ())

    def value(self, parameters: Sequence[str]) -> CodeType:
        """The body of a function that returns a value."""
        if parameters:
            self.top, self.bound = False, set(parameters)
        with deeply():
            found = self.at(py.Return(self.expr(self.tree)), self.span)
        return self.compiled([*self.before, found], parameters)

    def compiled(self, body: list[Any], parameters: Sequence[str]) -> CodeType:
        """The code of a function with this body."""
        given = arguments([self.parameter(name, self.span) for name in parameters])
        name, body = ".top" if self.top else ".def", body or [self.at(py.Pass(), self.span)]
        module = py.Module([self.at(py.FunctionDef(name, given, body, []), self.span)], [])
        code = compile(module, self.file, "exec", dont_inherit=True)
        return self.completed(next(one for one in code.co_consts if isinstance(one, CodeType)))

    def completed(self, code: CodeType) -> CodeType:
        """The code with the details as its constants."""
        return code.replace(co_consts=self.constants(code.co_consts))

    def constants(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Constants of code, with the details in their places."""
        found: list[Any] = []
        for one in given:
            if isinstance(one, CodeType):
                one = self.completed(one)
            elif type(one) is str and one[:1] == DETAIL and one[1:].isdecimal():
                one = self.details[int(one[1:])]
            elif type(one) is tuple:  # of arguments
                one = self.constants(one)
            found.append(one)
        return tuple(found)

    # Nodes of statements

    def defined(self, name: str, given: Any, body: list[Any], span: Span) -> Any:
        """A function of Python."""
        return self.at(py.FunctionDef(name, given, body or [self.at(py.Pass(), span)], []), span)

    def body(self, statements: ast.Body) -> list[Any]:
        """The statements of Python for a block."""
        if self.depth > MAX_BLOCKS:
            message = f"blocks are nested more than {MAX_BLOCKS} deep"
            raise AgradError("limit", message, labels=[Label(statements[0].span)])
        self.depth += 1
        found = [one for statement in statements for one in self.statement(statement)]
        self.depth -= 1
        return found

    def block(self, statements: ast.Body) -> list[Any]:
        """A block that is not empty."""
        return self.body(statements) or [self.at(py.Pass(), self.span)]

    def statement(self, node: Any) -> list[Any]:
        """The statements for one; before them the functions that are parts of it."""
        before, self.before, once = self.before, [], self.once
        self.once = once and not isinstance(node, _REPEATING)
        made = getattr(self, f"_on_{type(node).__name__.lower()}")(node)
        self.once = once
        made, self.before = [*self.before, *made], before
        return made

    # Values and names

    def _on_evaluate(self, node: ast.Evaluate) -> list[Any]:
        value = self.expr(node.value)
        function = node.value.function if isinstance(node.value, ast.Call) else None
        sorts = isinstance(function, ast.Attribute) and function.name == "sort"
        if sorts and isinstance(function.value, ast.Name):  # type: ignore[union-attr]
            value = self.do("unused", function.value.id, [value], node.span)  # type: ignore[union-attr]
        if self.top and not self.in_function:
            value = self.do("show", node, [value], node.span)
        return [self.run(value, node.span)]

    def _on_assign(self, node: ast.Assign) -> list[Any]:
        value = self.expr(node.value)
        read = {one.id for one in ast.loads(node.value)}
        if len(node.targets) == 1:
            return self.store(node.targets[0], value, read, node.value)
        kept = self.temporary()
        stores = [one for target in node.targets for one in self.store(target, self.name(kept, node.span), read)]
        return [self.assign(kept, value, node.span), *stores]

    def store(self, target: Any, value: Any, read: Collection[str] = (), tree: Any = None) -> list[Any]:
        """Bind a value to a target, or its entries to several; `read`: the names it was computed from, by a tree."""
        span = target.span
        if isinstance(target, ast.Name):
            return self.bind(target.id, value, span, target.id in read, tree)
        if isinstance(target, ast.Tuple):
            kept = [self.temporary() for _ in target.items]
            names = self.at(py.Tuple([self.name(one, span, STORE) for one in kept], STORE), span)
            made = [self.at(py.Assign([names], self.call(".unpack", [self.detail(target, span), value], span)), span)]
            for one, item in zip(kept, target.items, strict=True):
                inner = item.value if isinstance(item, ast.Starred) else item
                made += self.store(inner, self.name(one, span), read)
            return made
        if isinstance(target, ast.Index):
            parts = [value, self.entry_base(target, target.span.text + " = …"), self.expr(target.index)]
            return [self.run(self.do("set_index", None, parts, span), span)]
        base = self.expr(target.value)
        if target.name == "data":
            base = self.writable(target.value, base, f"{target.value.span.text} = …")
        return [self.run(self.do("set_attribute", target.name, [value, base], span), span)]

    def bind(self, name: str, value: Any, span: Span, again: bool = False, tree: Any = None) -> list[Any]:
        """Give a name a value; what is no plain number gets the name."""
        if self.plainly:
            return [self.assign(name, value, span)]
        if self.top and again:
            kept = self.temporary()
            note = self.run(self.do("again", name, [self.name(kept, span)], span), span)
            if tree is not None and not any(isinstance(one, _UNSURE) for one in ast.nodes(tree)):
                tests = [self.is_no_number(kept, span), self.is_no_number(name, span)]
                note = self.at(py.If(self.at(py.BoolOp(py.Or(), tests), span), [note], []), span)
            return [self.assign(kept, value, span), note, self.assign(name, self.name(kept, span), span)]
        made = [self.assign(name, value, span)]
        if isinstance(value, py.Constant) and type(value.value) is float:
            return made
        named = self.call(".named" if self.top else ".local", [self.constant(name, span), self.name(name, span)], span)
        told = self.run(named, span)
        return [*made, told if self.once else self.at(py.If(self.is_no_number(name, span), [told], []), span)]

    def is_no_number(self, name: str, span: Span) -> Any:
        """Whether a name has another value than a plain number."""
        return self.kind(self.name(name, span), py.IsNot(), ".float", span)

    def entry_base(self, target: ast.Index, text: str) -> Any:
        """What an entry is written into; that of a dictionary is none of an array."""
        value = self.expr(target.value)
        return value if isinstance(target.index, ast.String) else self.writable(target.value, value, text)

    def _on_augment(self, node: ast.Augment) -> list[Any]:
        target, value, span = node.target, node.value, node.span
        if node.op == "+" and isinstance(value, ast.List) and len(value.items) == 1:
            value = as_list(value)  # an entry that is to be added to a list
        if isinstance(target, ast.Index):
            base, place, now = [self.temporary() for _ in range(3)]
            there = [self.name(one, target.span) for one in (base, place)]
            changed = [*there, self.name(now, target.span), self.expr(value)]
            return [
                self.assign(base, self.entry_base(target, span.text), target.span),
                self.assign(place, self.expr(target.index), target.span),
                self.assign(now, self.do("index", None, there, target.span), target.span),
                self.run(self.do("augment_entry", (node.op, target, span.text), changed, span), span),
            ]
        if isinstance(target, ast.Name) and node.op in NATIVE and not (isinstance(value, ast.List) or self.once):
            return self.augmented(node, target, value)
        now = self.writable(target, self.expr(target), span.text)
        found = self.do("augment", node.op, [now, self.expr(value)], span)
        return self.store(target, found, {getattr(target, "id", "")}, target)

    def augmented(self, node: ast.Augment, target: ast.Name, value: Any) -> list[Any]:
        """`x += y` of a name: Python's own operator where both are numbers."""
        if self.plainly:
            tree = ast.Binary(node.op, target, node.value, None, span=node.span)
            return [self.assign(target.id, self.expr(tree), target.span)]
        span, now, kept = node.span, self.temporary(), self.temporary()
        names = [self.name(one, span) for one in (now, kept)]
        quick = self.assign(target.id, self.at(py.BinOp(names[0], NATIVE[node.op](), names[1]), span), target.span)
        found = self.do("augment", node.op, [self.writable(target, names[0], span.text), names[1]], span)
        slow = self.store(target, found, {target.id}, target)
        return [
            self.assign(now, self.expr(target), target.span),
            self.assign(kept, self.expr(value), value.span),
            self.at(py.If(self.all_plain({now: span, kept: span}, True, span), [quick], slow), span),
        ]

    def _on_variable(self, node: ast.Variable) -> list[Any]:
        name, span = node.name.id, node.span
        made = self.do("variable", (name, self.top), [self.expr(node.value)], span)
        return [self.assign(name, made, span)]

    def _on_delete(self, node: ast.Delete) -> list[Any]:
        made: list[Any] = []
        for target in node.targets:
            span = target.span
            if isinstance(target, ast.Name):
                made.append(self.run(self.do("delete", target.id, [], span), span))
                made += [] if self.top else [self.at(py.Delete([self.name(target.id, span, py.Del())]), span)]
            elif isinstance(target, ast.Index):
                parts = self.each_of((target.value, target.index))
                made.append(self.run(self.do("delete_index", None, parts, span), span))
            elif target.name == "grad":
                parts = [self.constant(None, span), self.expr(target.value)]
                made.append(self.run(self.do("set_attribute", "grad", parts, span), span))
            else:
                message = f"{span.text} cannot be deleted: a name can, an entry of a list, or x.grad"
                raise AgradError("type", message, labels=[Label(span)])
        return made

    # What runs next

    def _on_for(self, node: ast.For) -> list[Any]:
        function = getattr(node.iterable, "function", None)
        loop = Loop(node.target.id, node.body, not self.top) if isinstance(node.target, ast.Name) else None
        given, span, made = self.expr(node.iterable), node.span, list[Any]()
        is_counted = loop is not None and isinstance(function, ast.Name) and function.id == "range"
        if is_counted:  # of anything else, a name would keep the memory
            made, given = [self.assign(kept := self.temporary(), given, node.iterable.span)], self.name(kept, span)
        values = self.do("iterate", loop, [given], node.iterable.span)
        target = loop.counter if loop is not None and is_counted else self.temporary()

        def looped() -> Any:
            first = [] if is_counted else self.store(node.target, self.name(target, node.target.span))
            body = [self.tick(span), *first, *self.looped(node.body)]
            name = self.name(target, node.target.span, STORE)
            return self.at(py.For(name, values, body, []), node.iterable.span)  # where it goes on, on each Python

        of_numbers = [self.kind(given, py.Is(), ".range", span)]
        return [*made, *(self.twice(node, node.body, looped, of_numbers) if is_counted else [looped()])]

    def _on_while(self, node: ast.While) -> list[Any]:
        def looped() -> Any:
            body = [self.tick(node.span), *self.looped(node.body)]
            return self.at(py.While(self.test(node.test), body, []), node.span)

        return self.twice(node, (node.test, *node.body), looped, [])

    def twice(self, node: Any, parts: tuple[Any, ...], make: Callable[[], Any], tests: list[Any]) -> list[Any]:
        """A loop; one of arithmetic, whose values stay numbers if its names have such, is there once more for these.

        `parts`: what is computed again and again; `tests`: what must hold besides.
        """
        span, kept, own = node.span, self.temporary(), ast.bound(node.body)
        called = [one.function for one in ast.nodes(parts) if isinstance(one, ast.Call)]
        unsure = self.plainly or self.nested > _MOST_NESTED - 3 or not all(map(_keeps_numbers, ast.nodes(parts)))
        counter = {getattr(getattr(node, "target", None), "id", "")}
        if unsure or any(one.id in own | counter for one in called):  # type: ignore[attr-defined]
            return [make()]
        free = own.difference(ast.loose(parts, own)) | counter
        read = {one.id: one.span for one in ast.loads(parts) if one not in called and one.id not in free}
        tests = [*tests, *[self.is_built_in(one, span) for one in {one.id for one in called}]]  # type: ignore[attr-defined]
        tests += [self.all_plain(read, True, span)] if read else []
        if not tests:
            return [make()]
        never = [self.assign(kept, self.constant(None, span), span)]
        skip = self.at(py.ExceptHandler(self.name(".NameError", span), None, never), span)
        known = self.at(py.Try([self.assign(kept, self.every(tests, span), span)], [skip], [], []), span)
        with self.having(plainly=True, numbers=True):
            quick = make()
        return [known, self.at(py.If(self.name(kept, span), [quick], [make()]), span)]

    def is_built_in(self, name: str, span: Span) -> Any:
        """Whether a name is that of the function of the engine."""
        return self.at(py.Compare(self.name(name, span), [py.Is()], [self.name(f".op {name}", span)]), span)

    def looped(self, body: ast.Body) -> list[Any]:
        """The body of a loop."""
        with self.having(loops=self.loops + 1):
            return self.within(body)

    def within(self, body: ast.Body) -> list[Any]:
        """The body of what CPython lets be nested so deeply only."""
        if self.nested == _MOST_NESTED:
            message = f"loops and with blocks are nested more than {_MOST_NESTED} deep"
            raise AgradError("limit", message, labels=[Label(body[0].span)])
        with self.having(nested=self.nested + 1):
            return self.block(body)

    def _on_if(self, node: ast.If) -> list[Any]:
        other = self.block(node.otherwise) if node.otherwise else []
        if len(node.branches) > DEEP:
            return self.many_branches(node, other)
        for test, body in reversed(node.branches):
            other = [self.at(py.If(self.test(test), self.block(body), other), node.span)]
        return other

    def many_branches(self, node: ast.If, other: list[Any]) -> list[Any]:
        """Branches one behind the other, since Python's would be one inside the other."""
        kept, span = self.temporary(), node.span
        made = [self.assign(kept, self.constant(True, span), span)]
        for test, body in node.branches:
            waits = self.at(py.BoolOp(py.And(), [self.name(kept, span), self.test(test)]), span)
            taken = self.assign(kept, self.constant(False, span), span)
            made.append(self.at(py.If(waits, [taken, *self.block(body)], []), span))
        return [*made, self.at(py.If(self.name(kept, span), other, []), span)] if other else made

    def _on_break(self, node: ast.Break | ast.Continue) -> list[Any]:
        word = type(node).__name__.lower()
        if not self.loops:
            self.refuse_to_leave(node.span, word)
            raise AgradError("syntax", f"`{word}` is outside a loop", labels=[Label(node.span)])
        return [self.at(py.Break() if word == "break" else py.Continue(), node.span)]

    _on_continue = _on_break

    def refuse_to_leave(self, span: Span, word: str) -> None:
        """Refuse to leave the body of `time:` early."""
        if self.timed:
            message = f"{word} cannot leave the body of `time:`"
            raise AgradError("syntax", message, labels=[Label(span)], fixes=["time: y = f(x)   to time a call"])

    def _on_pass(self, node: ast.Pass) -> list[Any]:
        return []

    def _on_return(self, node: ast.Return) -> list[Any]:
        self.refuse_to_leave(node.span, "return")
        if self.top and not self.in_function:
            raise AgradError("syntax", "`return` is outside a function", labels=[Label(node.span)])
        found = self.tried(node.value, 1, leads=True) if isinstance(node.value, ast.Binary) else None
        value = found or (None if node.value is None else self.expr(node.value))
        return [self.at(py.Return(value), node.span)]

    def switched(self, manager: Any, node: Any) -> list[Any]:
        """A `with` block."""
        return [self.at(py.With([py.withitem(manager)], self.within(node.body)), node.span)]

    def _on_nograd(self, node: ast.NoGrad) -> list[Any]:
        return self.switched(self.call(".unrecorded", [], node.span), node)

    def _on_fails(self, node: ast.Fails) -> list[Any]:
        with self.having(loops=0):
            return self.switched(self.do("fails", node.kind, [], node.span), node)

    def _on_time(self, node: ast.Time) -> list[Any]:
        """The body is a function, which is called several times."""
        name, span, names = self.temporary("top" if self.top else "time"), node.span, sorted(ast.bound(node.body))
        with self.having(loops=0, timed=True):
            body = self.block(node.body)
        form = py.Global if self.top else py.Nonlocal
        body = [self.at(form(names), span), *body] if names else body
        timed = self.do("time", None, [self.name(name, span)], span)
        return [self.defined(name, arguments(), body, span), self.run(timed, span)]

    # Functions and classes

    def _on_define(self, node: ast.Define) -> list[Any]:
        span = node.span
        definition, defaults = defined(node.name, node.parameters, node.body, span)
        values = self.each_of(defaults)
        names = [one.name.lstrip("*") for one in node.parameters if one.name != "*"]
        outer = [one for one in ast.loose(node.body, ast.bound(node.body).difference(names)) if self.is_own(one)]
        reads = [self.assign(f".outer {one}", self.thunk(ast.Name(one, span=span)), span) for one in outer]
        with self.having(loops=0, nested=0, timed=False, before=[]), self.inner({*names, *ast.bound(node.body)}):
            self.steady = {one.name for one in node.parameters} - ast.bound(node.body)
            body = [*self.prologue(node, names), *self.body(node.body)]
            if self.asked:
                asked = self.alike([self.name(one, span) for one in sorted(self.asked)], True, span)
                body.insert(0, self.assign(_NUMBERS, asked, span))
            body.insert(0, self.tick(span))
        name = f".def {node.name}"
        made = self.defined(name, self.parameters(definition, span), body, span)
        value = self.do("define", definition, [self.name(name, span), *values], span)
        return [*reads, made, *self.bind(node.name, value, span)]

    def prologue(self, node: ast.Define, parameters: Sequence[str]) -> list[Any]:
        """What gives names their values before the body of a function runs."""
        span, made = node.span, list[Any]()
        own = self.bound.difference(parameters)
        for name in ast.loose(node.body, own):
            inner = any(name in one for one in self.around)
            value = self.call(f".outer {name}", [], span) if inner else self.do("outer", name, [], span)
            skip = self.at(py.ExceptHandler(self.name(".NameError", span), None, [self.at(py.Pass(), span)]), span)
            made.append(self.at(py.Try([self.assign(name, value, span)], [skip], [], []), span))
        if own and any(isinstance(one, ast.Time) for one in ast.nodes(node.body)):
            never = [self.assign(name, self.constant(None, span), span) for name in sorted(own)]
            made.append(self.at(py.If(self.constant(0, span), never, []), span))  # so that they are names of it
        return made

    # Statements that show or check something, and commands

    def _on_print(self, node: ast.Print) -> list[Any]:
        return [self.run(self.printed(node.arguments, node.options, node.span), node.span)]

    def _on_assert(self, node: ast.Assert) -> list[Any]:
        test, span = node.test, node.test.span
        parts, kind = [test], ""
        if isinstance(test, ast.Compare) and len(test.rest) == 1 and test.rest[0][0] in COMPARE:
            kind, right = test.rest[0]
            parts = [test.first, right]
        elif isinstance(test, ast.Near):
            kind = "~=" if test.tolerance is None else "+-"
            parts = [test.left, test.right, *((test.tolerance,) if test.tolerance is not None else ())]
        elif isinstance(test, ast.Tuple) and test.items:
            told = "what is in brackets with a comma is a tuple, which is always true"
            raise AgradError("type", told, labels=[Label(span)], fixes=[f"assert {span.text[1:-1]}"])
        message = node.message or ast.NoneLiteral(span=span)
        return [self.run(self.do("assert", kind, self.each_of((*parts, message)), span), span)]

    def _on_command(self, node: ast.Command) -> list[Any]:
        values = ast.operands_of(node)
        last = next((one.span for one in values[::-1] if not isinstance(one, _LOADED)), None)
        return [self.run(self.do("command", (node, last), self.each_of(values), node.span), node.span)]


def _is_special(name: str) -> bool:
    """Whether a name has a value of its own where the script gives it none."""
    return name in ("_", "ans") or name[:2] == "__" or is_result(name)


def _is_number(node: Any) -> bool:
    """Whether this is a number that is read as it is written."""
    return (
        isinstance(node, ast.Number)
        and type(node.value) is float
        and abs(node.value) < EXACT
        and (node.value != 0.0 or not notes.became(node.span.text, 0.0))
    )


def _is_plain(node: Any) -> bool:
    """Whether this is such a number, or a name that may have one."""
    return _is_number(node) or (isinstance(node, ast.Name) and node.id != "print" and not _is_special(node.id))


def _is_native(node: Any) -> bool:
    """Whether this may be Python's own operator on numbers and arrays."""
    return isinstance(node, ast.Binary) and node.sign is None and (node.op in NATIVE or _divides(node))


def _divides(node: ast.Binary) -> bool:
    """Whether this is a quotient by a name, or by a number other than 0, or one rounded down or a rest by such."""
    if node.op not in _DIVISIONS or node.sign is not None or not _is_plain(node.right):
        return False
    if isinstance(node.right, ast.Name):
        return node.op == "/" and _is_plain(node.left)
    return node.right.value != 0.0 and (node.op != "%" or _is_plain(node.left))  # type: ignore[attr-defined]


def _keeps_numbers(node: Any) -> bool:
    """Whether a node of a tree makes a number of numbers, or a truth where one is asked for."""
    if isinstance(node, ast.Number | ast.Name):
        return _is_plain(node)
    if isinstance(node, ast.Compare):
        return len(node.rest) == 1 and node.rest[0][0] in _TESTS
    if isinstance(node, ast.Call):
        is_known = not node.keywords and gives_number(getattr(node.function, "id", ""), len(node.arguments))
        return is_known and all(isinstance(one, _VALUES) for one in node.arguments)
    if isinstance(node, ast.Binary):
        are_values = isinstance(node.left, _VALUES) and isinstance(node.right, _VALUES)
        return node.op in _CLOSED and node.sign is None and are_values
    if isinstance(node, ast.Unary):
        return node.op == "-" and isinstance(node.operand, _VALUES)
    if isinstance(node, ast.Assign | ast.Augment):
        targets = node.targets if isinstance(node, ast.Assign) else (node.target,)
        is_simple = len(targets) == 1 and isinstance(targets[0], ast.Name) and getattr(node, "op", "+") in _CLOSED
        return is_simple and isinstance(node.value, _VALUES)
    return isinstance(node, _FLOW)


def as_list(node: Any) -> Any:
    """A list in brackets as one to be added to."""
    return node.changed(apart=True) if isinstance(node, ast.List) else node


class _Plan:
    """What an arithmetic expression is made of: names, and at most two other operands, which are computed first."""

    def __init__(self, node: Any) -> None:
        self.names: dict[str, Span] = {}
        self.others: list[Any] = []
        self.numbers = isinstance(node, ast.Compare)  # whether the operands must be numbers
        self.size = 0
        if isinstance(node, ast.Compare):
            fits = self.part(node.first) and self.part(node.rest[0][1])
        else:
            fits = _is_native(node) and self.part(node)
        self.fits = fits and bool(self.names or self.others) and len(self.names) <= _GUARDED

    def part(self, node: Any) -> bool:
        """Whether a part may be tried as Python's own."""
        self.size += 1
        if _is_native(node):
            self.numbers = self.numbers or node.op in ("%", "//")
            return self.size < _LONGEST and self.part(node.left) and self.part(node.right)
        if isinstance(node, ast.Unary) and node.op == "-":
            return self.part(node.operand)
        if isinstance(node, ast.Name):
            self.names.setdefault(node.id, node.span)
        if isinstance(node, ast.Number | ast.Name):
            return _is_plain(node)
        if len(self.others) == _OTHERS or self.names or isinstance(node, _NOT_PLAIN):
            return False
        self.others.append(node)
        return True


MAX_BLOCKS = 50
_MOST_NESTED = 20  # loops and `with` blocks in each other, which is CPython's limit
_MOST_CALLS = 200_000  # of functions here, which call each other for each level of a tree
_REPEATING = (ast.For, ast.While, ast.Time)
_UNSURE = (ast.Conditional, ast.Logic, ast.Lambda, ast.Each, ast.Compare)  # what need not compute all its parts
_LOADED = (ast.Name, ast.Number, ast.String, ast.NoneLiteral, ast.Unknowns)


def of_statement(statement: ast.Statement) -> CodeType:
    """The code of a statement of a session or script."""
    return _Generator((statement,), statement.span).program()


def of_expression(expression: ast.Expr) -> CodeType:
    """The code that returns the value of an expression."""
    return of_function((), expression)


def of_function(parameters: Sequence[str], expression: ast.Expr) -> CodeType:
    """The code of a function with these parameters."""
    return _Generator(expression, expression.span).value(parameters)


def of_body(body: ast.Body, in_function: bool) -> CodeType:
    """The code of the body of a loop, whose names are global."""
    return _Generator(body, body[0].span, in_function).program()


def deeply() -> AbstractContextManager[None]:
    """Python's functions may call each other more deeply: it takes no stack of C."""
    return deep(_MOST_CALLS)
