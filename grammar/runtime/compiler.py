"""Compiles a syntax tree to bytecode, without recursion on the depth of an expression.

Every kind of node has a function that lists, in order, what it is compiled to: instructions, and parts that are still
to be compiled. A stack of such lists replaces the recursion.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from math import inf
from typing import Any, TypeAlias

from agrad.engine import autodiff
from agrad.engine.core.op import FUNCTIONS, OPERATORS, OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.errors import Label as Remark
from agrad.engine.values import shape_of
from agrad.grammar import pytorch
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime.bytecode import Code, Definition, Do, Instruction, Label, Loop, Spread
from agrad.grammar.syntax import ast

MAX_BLOCKS = 50
SKIPPED = object()  # the value for each where a condition does not hold
DERIVATIVES = ("grad", "jacobian", "hessian")
_LONGEST_PREFIX = 4  # names, as in torch.nn.functional.relu

# The operations of two operands by their signs.
BINARY = {made.sign: name for name, made in OPERATORS.items() if made.precedence and name != "neg"}
COMPARE = {made.sign: name for name, made in OPERATORS.items() if not made.precedence}
_UNCERTAIN = {"±": "uncertain", "±%": "percent"}
# Functions of a function, which may be given as an expression.
OF_FUNCTIONS = frozenset({"root", "argmin", "integral", "taylor"})
# Commands whose first operand is not computed before they run: the name of a `set` need not have a value, and the
# expression of a `check` is computed many times.
UNEVALUATED = frozenset({"set", "check"})
Part: TypeAlias = Any  # a syntax node, an instruction, or a label to place here


def compile_statement(statement: ast.Statement) -> Code:
    """The code of one statement of a session or script."""
    return _Compiler().body((statement,))


def compile_block(body: ast.Body, in_function: bool = False) -> Code:
    """The code of one iteration of a loop body."""
    return _Compiler(in_function=in_function).body(body)


def compile_expression(expression: ast.Expr) -> Code:
    """The code that leaves the value of an expression."""
    return _Compiler().parts([expression, (Do.RETURN, None, expression.span)])


class _Compiler:
    """The instructions of one code object that is being compiled."""

    def __init__(self, depth: int = 0, in_function: bool = False) -> None:
        self.instructions: list[Instruction] = []
        self.depth = depth
        self.in_function = in_function
        self.loops: list[tuple[Label, Label, int]] = []  # targets of continue and break; no_grad blocks outside
        self.no_grad = 0
        self.timed = False  # whether this is the body of a `time:`

    def body(self, statements: ast.Body) -> Code:
        self.block(statements)
        return self.finish()

    def parts(self, parts: list[Part]) -> Code:
        self.emit(parts)
        return self.finish()

    def for_each(self, node: ast.Each) -> Code:
        """The code that gives the value for each, or SKIPPED where a condition does not hold."""
        if isinstance(node.target, ast.Tuple):
            self.instructions.append((Do.LOAD, _parameter(node.target), node.target.span))
            self.store(node.target)
        skip = Label()
        for test in node.conditions:
            self.emit([test, (Do.JUMP_IF_FALSE, skip, test.span)])
        self.emit([node.value, (Do.RETURN, None, node.value.span)])
        if node.conditions:
            self.emit([skip, (Do.CONSTANT, SKIPPED, node.span), (Do.RETURN, None, node.span)])
        return self.finish()

    def finish(self) -> Code:
        """Resolve labels to positions."""
        resolved: list[Instruction] = []
        for do, detail, span in self.instructions:
            if isinstance(detail, Label):
                detail = detail.position
            elif isinstance(detail, tuple) and any(isinstance(part, Label) for part in detail):
                detail = tuple(part.position if isinstance(part, Label) else part for part in detail)
            resolved.append((do, detail, span))
        return Code(resolved)

    def emit(self, parts: Iterable[Part]) -> None:
        """Append instructions, compiling the expressions among them: depth first, without recursion."""
        stack = list(parts)[::-1]
        while stack:
            part = stack.pop()
            if type(part) is tuple:
                self.instructions.append(part)
            elif type(part) is Label:
                part.position = len(self.instructions)
            else:
                stack.extend(EXPRESSIONS[type(part)](part)[::-1])

    # Statements

    def block(self, statements: ast.Body) -> None:
        if self.depth > MAX_BLOCKS:
            span = statements[0].span
            raise AgradError("limit", f"blocks are nested more than {MAX_BLOCKS} deep", labels=[Remark(span)])
        self.depth += 1
        for statement in statements:
            self.instructions.append((Do.STATEMENT, None, statement.span))
            handler: Callable[[Any], None] = getattr(self, f"_{type(statement).__name__.lower()}")
            handler(statement)
        self.depth -= 1

    def _evaluate(self, node: ast.Evaluate) -> None:
        last = (Do.POP, None, node.span) if self.in_function else (Do.SHOW, node, node.span)
        unused: list[Part] = []
        if isinstance(node.value, ast.Call) and isinstance(node.value.function, ast.Attribute):
            function = node.value.function
            if function.name == "sort" and isinstance(function.value, ast.Name) and module_name(function) is None:
                unused = [(Do.UNUSED, function.value.id, node.span)]
        self.emit([node.value, *unused, last])

    def _assign(self, node: ast.Assign) -> None:
        start = len(self.instructions)
        self.emit([node.value, *((Do.COPY, 0, node.span) for _ in node.targets[1:])])
        read = {detail for do, detail, _ in self.instructions[start:] if do is Do.LOAD}
        for target in node.targets:
            self.store(target, read)

    def store(self, target: ast.Target, read: Collection[str] = ()) -> None:
        """Bind the top of the stack to a target, or its entries to several; `read`: the names it was computed from."""
        pending: list[Any] = [target]
        while pending:
            target = pending.pop()
            if isinstance(target, ast.Name):
                self.instructions.append((Do.STORE, (target.id, target.id in read), target.span))
            elif isinstance(target, ast.Tuple):
                self.instructions.append(_unpack(target))
                pending += [item.value if isinstance(item, ast.Starred) else item for item in target.items[::-1]]
            elif isinstance(target, ast.Index):
                self.emit([*_entry(target, target.span.text + " = …"), (Do.SET_INDEX, None, target.span)])
            else:
                writable = _writable(target.value, f"{target.value.span.text} = …") if target.name == "data" else []
                self.emit([target.value, *writable, (Do.SET_ATTRIBUTE, target.name, target.span)])

    def _augment(self, node: ast.Augment) -> None:
        target = node.target
        one = node.op == "+" and isinstance(node.value, ast.List) and len(node.value.items) == 1
        if one:  # of an entry that is to be added to a list
            node = node.changed(value=_as_list(node.value))
        change: Instruction = (Do.AUGMENT, node.op, node.span)
        if isinstance(target, ast.Index):
            twice = ((Do.COPY, 1, target.span), (Do.COPY, 1, target.span))
            self.emit([*_entry(target, node.span.text), *twice, (Do.INDEX, None, target.span), node.value])
            change = (Do.AUGMENT_ENTRY, (node.op, target, node.span.text), node.span)
            self.emit([change, (Do.SET_INDEX, True, node.span)])
            return
        self.emit([target, *_writable(target, node.span.text), node.value, change])
        if isinstance(target, ast.Attribute):
            self.emit([target.value, (Do.SET_ATTRIBUTE, target.name, target.span)])
        else:
            self.store(target, (target.id,) if isinstance(target, ast.Name) else ())

    def _variable(self, node: ast.Variable) -> None:
        self.emit([node.value, (Do.VARIABLE, node.name.id, node.span)])

    def _for(self, node: ast.For) -> None:
        again, end = Label(), Label()
        loop = Loop(node.target.id, node.body, self.in_function) if isinstance(node.target, ast.Name) else None
        self.emit([node.iterable, (Do.ITERATE, loop, node.iterable.span), again, (Do.NEXT, end, node.span)])
        self.store(node.target)
        self._loop(node.body, again, end)
        self.emit([(Do.JUMP, again, node.span), end, (Do.POP, None, node.span)])

    def _while(self, node: ast.While) -> None:
        again, end = Label(), Label()
        self.emit([again, node.test, (Do.JUMP_IF_FALSE, end, node.test.span)])
        self._loop(node.body, again, end)
        self.emit([(Do.JUMP, again, node.span), end])

    def _loop(self, body: ast.Body, again: Label, end: Label) -> None:
        self.loops.append((again, end, self.no_grad))
        self.block(body)
        self.loops.pop()

    def _break(self, node: ast.Break | ast.Continue) -> None:
        word, span = type(node).__name__.lower(), node.span
        if not self.loops:
            self._refuse_to_leave(span, word)
            raise AgradError("syntax", f"`{word}` is outside a loop", labels=[Remark(span)])
        *targets, outside = self.loops[-1]
        self.emit((Do.END_NO_GRAD, None, span) for _ in range(self.no_grad - outside))
        self.instructions.append((Do.JUMP, targets[word == "break"], span))

    _continue = _break

    def _if(self, node: ast.If) -> None:
        end = Label()
        for test, body in node.branches:
            otherwise = Label()
            self.emit([test, (Do.JUMP_IF_FALSE, otherwise, test.span)])
            self.block(body)
            self.emit([(Do.JUMP, end, node.span), otherwise])
        if node.otherwise:
            self.block(node.otherwise)
        self.emit([end])

    def _nograd(self, node: ast.NoGrad | ast.DetectAnomaly) -> None:
        switch = ("recording", node.on) if isinstance(node, ast.NoGrad) else ("anomalies", True)
        self.instructions.append((Do.NO_GRAD, switch, node.span))
        self.no_grad += 1
        self.block(node.body)
        self.no_grad -= 1
        self.instructions.append((Do.END_NO_GRAD, None, node.span))

    _detectanomaly = _nograd

    def _define(self, node: ast.Define | ast.Member) -> None:
        code = _Compiler(self.depth, in_function=True).body(node.body)
        kind = node.kind if isinstance(node, ast.Member) else ""
        definition, defaults = defined(node.name, node.parameters, code, node.span, kind)
        self.emit([*defaults, (Do.DEFINE, definition, node.span)])

    _member = _define

    def _class(self, node: ast.Class) -> None:
        code = _Compiler(self.depth, in_function=True).body(node.body)
        base = [] if node.base is None else [node.base]
        self.emit([*base, (Do.CLASS, (node.name, bool(base), code), node.span)])

    def _return(self, node: ast.Return) -> None:
        self._refuse_to_leave(node.span, "return")
        if not self.in_function:
            raise AgradError("syntax", "`return` is outside a function", labels=[Remark(node.span)])
        value = node.value or (Do.CONSTANT, None, node.span)
        leave = [(Do.END_NO_GRAD, None, node.span)] * self.no_grad
        self.emit([value, *leave, (Do.RETURN, None, node.span)])

    def _print(self, node: ast.Print) -> None:
        self.emit(_printing(node.arguments, node.options, node.span))

    def _assert(self, node: ast.Assert) -> None:
        test = node.test
        parts: list[Part] = [test]
        kind = ""
        if isinstance(test, ast.Compare) and len(test.rest) == 1 and test.rest[0][0] in COMPARE:
            kind, right = test.rest[0]
            parts = [test.first, right]
        elif isinstance(test, ast.Near):
            kind = "~=" if test.tolerance is None else "+-"
            parts = [test.left, test.right, *((test.tolerance,) if test.tolerance is not None else ())]
        message = node.message or (Do.CONSTANT, None, node.span)
        self.emit([*parts, message, (Do.ASSERT, kind, test.span)])

    def _fails(self, node: ast.Fails) -> None:
        inner = _Compiler(self.depth, self.in_function)
        self.instructions.append((Do.FAILS, (node.kind, inner.body(node.body)), node.span))

    def _time(self, node: ast.Time) -> None:
        inner = _Compiler(self.depth, self.in_function)
        inner.timed = True
        self.instructions.append((Do.TIME, inner.body(node.body), node.span))

    def _refuse_to_leave(self, span: Span, word: str) -> None:
        """Refuse to leave the body of `time:` early."""
        if self.timed:
            message = f"{word} cannot leave the body of `time:`"
            raise AgradError("syntax", message, labels=[Remark(span)], fixes=["time: y = f(x)   to time a call"])

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.emit([(Do.DELETE, target.id, target.span)])
            elif isinstance(target, ast.Index):
                self.emit([target.value, target.index, (Do.DELETE_INDEX, None, target.span)])
            elif target.name == "grad":
                nothing = (Do.CONSTANT, None, target.span)
                self.emit([nothing, target.value, (Do.SET_ATTRIBUTE, "grad", target.span)])
            else:
                message = f"{target.span.text} cannot be deleted: a name can, an entry of a list, or x.grad"
                raise AgradError("type", message, labels=[Remark(target.span)])

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _import(self, node: ast.Import) -> None:
        for module, name, here in node.names:
            if pytorch.names.is_imported(module, name):  # functions are known without their modules
                self.emit([(Do.MODULE, (name, module), node.span), (Do.STORE, (here, False), node.span)])
        libraries = tuple([name for name in pytorch.names.LIBRARIES if name in re.split(r"\W+", node.text)])
        bound = pytorch.libraries.names_bound(node.text)
        absent = {name: module for name, module in bound.items() if module in node.others}
        if libraries or absent:
            self.emit([(Do.IMPORT, (libraries, absent), node.span)])
        if node.others:
            self.emit([(Do.NOTE, tuple(map(pytorch.libraries.note_on_import, node.others)), node.span)])

    def _command(self, node: ast.Command) -> None:
        operands = node.operands[1:] if node.word in UNEVALUATED else node.operands
        values = [*operands, *(value for _, value in node.options if value is not None)]
        self.emit([*values, (Do.COMMAND, node, node.span)])


# Expressions


def _list(node: ast.List) -> list[Part]:
    kind = "parts" if node.apart else "rows" if all(isinstance(item, ast.List) for item in node.items) else ""
    return [*node.items, (Do.LIST, (len(node.items), kind), node.span)]


def _binary(node: ast.Binary) -> list[Part]:
    """One of two operands that is written in brackets stays a list, in case that the other is one to be added to."""
    sides: list[Part] = [node.left, node.right]
    if node.op in _UNCERTAIN:
        made = getattr(autodiff.uncertainty, _UNCERTAIN[node.op])
        return [(Do.CONSTANT, made, node.span), *sides, (Do.CALL, (2, ()), node.span)]
    lists = [side for side in sides if isinstance(side, ast.List)]
    one = node.op == "+" and any(len(side.items) == 1 for side in lists)
    if node.op in ("+", "*") and (len(lists) == 1 or one):
        sides = [_as_list(side) for side in sides]
    if node.op == "+":
        sides = [side.changed(apart="list") if isinstance(side, ast.Each) else side for side in sides]
    if node.sign is not None and not any(isinstance(side, ast.Number) for side in sides):
        sides.append((Do.SIGN, (node.left.span, node.right.span), node.sign))
    if node.op == "%":
        sides.append((Do.WHOLE, None, node.span))
    return [*sides, (Do.BINARY, OPS[BINARY[node.op]].call, node.span)]


def _as_list(node: ast.Expr) -> Part:
    return node.changed(apart=True) if isinstance(node, ast.List) else node


def _compare(node: ast.Compare) -> list[Part]:
    end = Label()
    parts: list[Part] = [node.first]
    for symbol, operand in node.rest[:-1]:
        parts += [operand, (Do.CHAIN, (COMPARE_CALLS[symbol], end), node.span)]
    symbol, operand = node.rest[-1]
    if symbol not in COMPARE:
        return [*parts, operand, (Do.TEST, symbol, node.span)]
    return [*parts, operand, (Do.BINARY, COMPARE_CALLS[symbol], node.span), end]


def _logic(node: ast.Logic) -> list[Part]:
    end = Label()
    return [node.left, (Do.AND if node.op == "and" else Do.OR, end, node.left.span), node.right, end]


def _conditional(node: ast.Conditional) -> list[Part]:
    other, end = Label(), Label()
    choose = (Do.JUMP_IF_FALSE, other, node.test.span)
    return [node.test, choose, node.then, (Do.JUMP, end, node.span), other, node.other, end]


def _near(node: ast.Near) -> list[Part]:
    tolerance = () if node.tolerance is None else (node.tolerance,)
    return [node.left, node.right, *tolerance, (Do.NEAR, bool(tolerance), node.span)]


def _printing(arguments: Sequence[ast.Expr], options: Iterable[tuple[str, ast.Expr]], span: Span) -> list[Part]:
    given: dict[str, Part] = dict(options)
    ends = [given.get(name, (Do.CONSTANT, usual, span)) for name, usual in (("sep", " "), ("end", "\n"))]
    return [*arguments, *ends, (Do.PRINT, len(arguments), span)]


def _number(node: ast.Number) -> list[Part]:
    """A number; where a float64 cannot hold it, with a note on what it became."""
    constant: list[Part] = [(Do.CONSTANT, node.value, node.span)]
    if type(node.value) is not float or 0.0 < abs(node.value) < EXACT:
        return constant
    told = became(node.span.text, node.value)
    return [(Do.NOTE, (f"{node.span.text} is read as {told}",), node.span), *constant] if told else constant


def _name(node: ast.Name) -> list[Part]:
    """What a name stands for; `print`, where it is not called, is a function that prints and returns None."""
    if node.id != "print":
        return [(Do.LOAD, node.id, node.span)]
    values = ast.Starred("*", ast.Name("values", span=node.span), span=node.span)
    code = compile_expression(ast.Call(node, (values,), (), span=node.span))
    return [(Do.LAMBDA, Definition("print", ("*values",), (), code, node.span), node.span)]


def _call(node: ast.Call) -> list[Part]:
    keywords = tuple(name for name, _ in node.keywords)
    if isinstance(node.function, ast.Name) and node.function.id == "print" and set(keywords) <= ast.PRINTED:
        return [*_printing(node.arguments, node.keywords, node.span), (Do.CONSTANT, None, node.span)]
    if "**" in keywords or any(isinstance(argument, ast.Starred) for argument in node.arguments):
        keywords = Spread(keywords)
    function = node.function
    called = function.id if isinstance(function, ast.Name) else getattr(function, "name", "")
    arguments: list[Part] = [*node.arguments, *(value for _, value in node.keywords)]
    module = module_name(function) if isinstance(function, ast.Attribute) else None
    if takes_several(called) or (module is not None and pytorch.names.has_classes(module)):
        arguments = [_as_tuple(argument) for argument in arguments]
    elif isinstance(function, ast.Name) and called in OF_FUNCTIONS and len(node.arguments) > 1:
        arguments = [_of_unknown(arguments[0]), *arguments[1:]]
    if isinstance(function, ast.Attribute) and module is None:
        writable: list[Part] = []
        if function.name.endswith("_") and function.name[:2] != "__":
            base = function.value
            writable = [] if function.name in _NO_WRITES else _writable(base, f"{base.span.text} = …")
            writable = [*writable, (Do.NO_NUMBER, (base, function.name), base.span)]
        detail = (function.name, len(node.arguments), keywords)
        return [function.value, *writable, *arguments, (Do.METHOD, detail, node.span)]
    return [function, *arguments, (Do.CALL, (len(node.arguments), keywords), node.span)]


def _of_unknown(argument: ast.Expr) -> Part:
    """What follows `root(`: a function, or an expression with one name that has no value, as in root(x**2 - 2, 1)."""
    if isinstance(argument, ast.Name):
        return argument
    code = compile_expression(argument)
    names = tuple(dict.fromkeys(detail for do, detail, _ in code.instructions if do is Do.LOAD))
    return Do.OF_UNKNOWN, (code, names, argument.span.text), argument.span


def _writable(base: ast.Expr, text: str) -> list[Part]:
    """The check that a write into a value is not lost. That into a new value, such as `a + b`, is lost in any case."""
    if isinstance(base, ast.Binary | ast.Unary):
        raise lost_write(base, text)
    return [(Do.WRITABLE, (base, text), base.span)]


def _entry(target: ast.Index, text: str) -> list[Part]:
    """An entry that is written; that of a dictionary is none of an array."""
    writable = [] if isinstance(target.index, ast.String) else _writable(target.value, text)
    return [target.value, *writable, target.index]


def _unknowns(node: ast.Unknowns) -> list[Part]:
    """A function of the names, which the command calls."""
    names = tuple(name.id for name in node.names)
    definition = Definition(node.value.span.text, names, (), compile_expression(node.value), node.span)
    return [(Do.LAMBDA, definition, node.span)]


def _each(node: ast.Each) -> list[Part]:
    """An anonymous function, which is called for each value."""
    code = _Compiler().for_each(node)
    definition = Definition(node.value.span.text, (_parameter(node.target),), (), code, node.value.span)
    last = () if node.last is None else (node.last,)
    return [node.values, *last, (Do.EACH, (definition, bool(last), node.apart, node.flat), node.span)]


def _parameter(target: ast.Target) -> str:
    return target.id if isinstance(target, ast.Name) else "(…)"


def _lambda(node: ast.Lambda) -> list[Part]:
    definition, defaults = defined("lambda", node.parameters, compile_expression(node.value), node.span)
    return [*defaults, (Do.LAMBDA, definition, node.span)]


def defined(
    name: str, parameters: Iterable[ast.Parameter], code: Code, span: Span, kind: str = ""
) -> tuple[Definition, list[ast.Expr]]:
    """A function, and the expressions of its defaults."""
    given = [(one.name, one.default) for one in parameters if one.default is not None]
    names, defaulted = tuple([one.name for one in parameters]), tuple([name for name, _ in given])
    return Definition(name, names, defaulted, code, span, kind), [default for _, default in given]


def _unpack(target: ast.Tuple) -> Instruction:
    stars = [place for place, item in enumerate(target.items) if isinstance(item, ast.Starred)]
    if stars:
        return Do.UNPACK_REST, (len(target.items), stars[0]), target.span
    return Do.UNPACK, len(target.items), target.span


def takes_several(name: str) -> bool:
    """Whether a list in a call means several values, of any shapes: concat([a, b]), grad(y, [w, b])."""
    entry = FUNCTIONS.get(name)
    return name in DERIVATIVES or (entry is not None and entry.signature.variadic)


def _as_tuple(argument: ast.Expr) -> ast.Expr:
    if isinstance(argument, ast.Each):
        return argument.changed(apart="tuple")
    return ast.Tuple(argument.items, span=argument.span) if isinstance(argument, ast.List) else argument


def _attribute(node: ast.Attribute) -> list[Part]:
    module = module_name(node)
    if module is not None:
        return [(Do.MODULE, (node.name, module), node.span)]
    return [node.value, (Do.ATTRIBUTE, node.name, node.span)]


def module_name(node: ast.Attribute) -> str | None:
    """The prefix of a name spelled torch.sin, torch.linalg.inv, np.pi; None if this is an attribute of a value."""
    parts: list[str] = []
    inner: ast.Expr = node.value
    while isinstance(inner, ast.Attribute) and len(parts) < _LONGEST_PREFIX:
        parts.append(inner.name)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id not in pytorch.names.PREFIXES:
        return None
    return ".".join([inner.id, *reversed(parts)])


def _slice(node: ast.Slice) -> list[Part]:
    ends = [part if part is not None else (Do.CONSTANT, None, node.span) for part in (node.start, node.stop, node.step)]
    return [*ends, (Do.SLICE, None, node.span)]


def _unary(node: ast.Unary) -> list[Part]:
    if node.op == "not":
        return [node.operand, (Do.NOT, None, node.span)]
    return [node.operand, (Do.UNARY, OPS["neg"].call if node.op == "-" else partial(OPS["mul"].call, 1.0), node.span)]


def _comparison(symbol: str) -> Callable[[Any, Any], Any]:
    """A comparison; == and != also compare tuples, texts and None, each as a whole.

    Comparisons of numbers give True or False. Those of arrays give an array of 1 and 0; what is recorded stays a value
    of the graph, and is printed as True or False.
    """
    name, is_equality = COMPARE[symbol], symbol in ("==", "!=")
    compare, plain = OPS[name].call, getattr(operator, OPERATORS[name].method)

    def call(x: Any, y: Any) -> Any:
        if type(x) is float and type(y) is float:
            return plain(x, y)
        if is_equality and type(x) in WHOLES and type(y) in WHOLES:
            return _same(x, y) is (symbol == "==")
        found = compare(x, y)
        alone = type(found) is float or (type(found) is Tensor and not found.shape and not found.node.recorded)
        return bool(found) if alone else found

    call.alone = compare  # type: ignore[attr-defined]  # what it is on arrays
    return call


def _same(x: Any, y: Any) -> bool:
    """Whether two tuples are equal, entry by entry: numbers and arrays, texts, functions."""
    if type(x) is tuple and type(y) is tuple:
        return len(x) == len(y) and all(_same(a, b) for a, b in zip(x, y, strict=True))
    if not (isinstance(x, Tensor | float) and isinstance(y, Tensor | float)):
        return type(x) is type(y) and bool(x == y)
    shapes = [shape_of(side.value if isinstance(side, Tensor) else side) for side in (x, y)]
    return shapes[0] == shapes[1] and bool(OPS["all"].call(OPS["equal"].call(x, y)))


_NO_WRITES = frozenset({"requires_grad_"})  # methods with `_` at the end that do not write into the data
WHOLES = (tuple, str, type(None))
COMPARE_CALLS = {symbol: _comparison(symbol) for symbol in COMPARE}

EXPRESSIONS: dict[type, Callable[[Any], list[Part]]] = {
    ast.Number: _number,
    ast.String: lambda node: [(Do.CONSTANT, node.value, node.span)],
    ast.FString: lambda node: [
        *(part.value for part in node.parts if not isinstance(part, str)),
        (Do.FORMAT, node.parts, node.span),
    ],
    ast.Name: _name,
    ast.NoneLiteral: lambda node: [(Do.CONSTANT, None, node.span)],
    ast.EllipsisLiteral: lambda node: [(Do.CONSTANT, Ellipsis, node.span)],
    ast.List: _list,
    ast.Tuple: lambda node: [*node.items, (Do.TUPLE, len(node.items), node.span)],
    ast.Starred: lambda node: [node.value, (Do.STAR, node.sign, node.span)],
    ast.Braces: lambda node: [*node.items, (Do.BRACES, (node.kind, len(node.items)), node.span)],
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Compare: _compare,
    ast.Near: _near,
    ast.IsNone: lambda node: [node.operand, (Do.IS_NONE, node.negated, node.span)],
    ast.Logic: _logic,
    ast.Conditional: _conditional,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Slice: _slice,
    ast.Unknowns: _unknowns,
    ast.Each: _each,
    ast.Lambda: _lambda,
    ast.Index: lambda node: [node.value, node.index, (Do.INDEX, None, node.span)],
}


def lost_write(written: ast.Expr, text: str, known: str | None = None) -> AgradError:
    """The error for a write that would be lost; `known`: the name of what it would change in PyTorch."""
    name = written.span.text
    if isinstance(written, ast.Index):
        fixes = [Hint(f"{text.replace('][', ', ')}   in one step, as in A[0, 1] = 5")]
    elif isinstance(written, ast.Name):
        whole = known or "A"
        fixes = [
            Hint(
                f"{whole}[0] = …   writes into {whole} itself; in a loop: for i in range(len({whole})): {whole}[i] = …"
            ),
            Hint(f"{name} = {name}.clone()   before it, to change the copy alone"),
        ]
    else:
        # Write instead into what a method is called on, which stays, or into a result that gets a name.
        called = written.function if isinstance(written, ast.Call) else written
        fixes = [Hint(f"b = {name}   names it, so that a write into it is kept")]
        if isinstance(called, ast.Attribute):
            fixes = [Hint(f"write into {called.value.span.text} itself, by the indices of the entries in it")]
    message = f"{name} is a copy, not a view: a write into it would be lost"
    return AgradError("type", message, labels=[Remark(written.span)], fixes=fixes)


# Numbers that were typed and that a float64 cannot hold: what they become.

EXACT = 2.0**53  # up to here, every whole number is a float64


def became(text: str, value: float) -> str:
    """What a number that was typed became, in words; nothing where it is the same, or not a whole number in full."""
    if value == inf:
        return "inf: a float64 holds numbers up to 1.8e308"
    digits = text.replace("_", "")
    if digits.isdecimal() or digits[:2].lower() in ("0x", "0b", "0o"):
        whole = int(digits) if digits.isdecimal() else int(digits, 0)
        return "" if int(value) == whole else f"{int(value)}: whole numbers are exact up to 2**53"
    if value == 0.0 and re.search("[1-9]", re.split("[eE]", digits)[0]):
        return "0: a float64 holds numbers down to 5e-324"
    return ""
