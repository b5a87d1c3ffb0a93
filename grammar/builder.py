"""The syntax tree, made while lark parses: a method for each rule or alias of `agrad.lark`.

lark calls a method with what the parts of the rule have become, from the leaves up; nothing recurses, however
deep a text is nested. What a grammar cannot say (what can be assigned to, where a `return` may stand) is
checked here as well.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from lark.lexer import Token

from agrad.engine.errors import AgradError
from agrad.grammar import syntax as s
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.mistakes import wrong

Parts: TypeAlias = list[Any]

# Modules whose import is read and passed over, so that a snippet of PyTorch can be pasted.
_MODULES = frozenset({"torch", "numpy", "math"})

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\\'\"abfnrtv]))")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unescape(text: str) -> str:
    r"""The text that a string literal stands for. As in Python, an unknown escape stands for itself."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _ESCAPES.get(escape[4], escape[4])
    number = int(code, 16)
    # Half a surrogate pair could not be printed.
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else escape[0]


class Builder:
    """The callbacks of the parser. `source` is set before each parse; every node's span points into it."""

    def __init__(self) -> None:
        self.begin(Source("session", ""))

    def begin(self, source: Source) -> None:
        """Makes ready for one text."""
        self.source = source
        # `return`, `break` and `continue` that no `def` or loop has claimed yet.
        self.loose: list[s.Return | s.Break | s.Continue] = []

    def span(self, first: Any, last: Any) -> Span:
        """From the beginning of one part to the end of another."""
        start: Any = first.start_pos if isinstance(first, Token) else first.span.start
        end: Any = last.end_pos if isinstance(last, Token) else last.span.end
        return Span(self.source, start, end)

    # Atoms

    def name(self, parts: Parts) -> s.Name:
        return s.Name(str(parts[0]), self.span(parts[0], parts[0]))

    def number(self, parts: Parts) -> s.Number:
        return s.Number(float(parts[0]), self.span(parts[0], parts[0]))

    def true(self, parts: Parts) -> s.Number:
        return s.Number(1.0, self.span(parts[0], parts[0]))

    def false(self, parts: Parts) -> s.Number:
        return s.Number(0.0, self.span(parts[0], parts[0]))

    def none(self, parts: Parts) -> s.NoneLiteral:
        return s.NoneLiteral(self.span(parts[0], parts[0]))

    def ellipsis(self, parts: Parts) -> s.EllipsisLiteral:
        return s.EllipsisLiteral(self.span(parts[0], parts[0]))

    def string(self, parts: Parts) -> s.String:
        return s.String(_unescape(parts[0][1:-1]), self.span(parts[0], parts[0]))

    def fstring(self, parts: Parts) -> s.FString:
        pieces = [
            _unescape(part.replace("{{", "{").replace("}}", "}")) if isinstance(part, Token) else part
            for part in parts[1:-1]
        ]
        return s.FString(tuple(pieces), self.span(parts[0], parts[-1]))

    def field(self, parts: Parts) -> s.Formatted:
        opener, value, *rest, closer = parts
        options = {token.type: token for token in rest}
        debug, spec = options.get("DEBUG"), options.get("SPEC")
        end = debug.end_pos if debug else value.span.end
        text = self.source.text[opener.end_pos : end]
        return s.Formatted(value, spec[1:] if spec else "", text, debug is not None, self.span(opener, closer))

    def vector(self, parts: Parts) -> s.List:
        return s.List(self.nodes(parts), self.span(parts[0], parts[-1]))

    def bare_tuple(self, parts: Parts) -> s.Tuple:
        return s.Tuple(tuple(parts), self.span(parts[0], parts[-1]))

    def empty_tuple(self, parts: Parts) -> s.Tuple:
        return s.Tuple((), self.span(parts[0], parts[-1]))

    def group(self, parts: Parts) -> s.Expr:
        """An expression in parentheses is the expression; its span takes them in."""
        inner: s.Expr = parts[1]
        return inner.changed(span=self.span(parts[0], parts[2]))

    # Operators

    def prefix(self, parts: Parts) -> s.Unary:
        return s.Unary(str(parts[0]), parts[1], self.span(parts[0], parts[1]))

    def binary(self, parts: Parts) -> s.Binary:
        left, op, right = parts
        return s.Binary("**" if op == "^" else str(op), left, right, self.span(left, right))

    def logic(self, parts: Parts) -> s.Logic:
        left, op, right = parts
        return s.Logic(str(op), left, right, self.span(left, right))

    def compare(self, parts: Parts) -> s.Compare:
        rest = tuple((str(op), value) for op, value in zip(parts[1::2], parts[2::2], strict=True))
        return s.Compare(parts[0], rest, self.span(parts[0], parts[-1]))

    def near(self, parts: Parts) -> s.Near:
        left, right, *tolerance = parts
        return s.Near(left, right, tolerance[0] if tolerance else None, self.span(left, parts[-1]))

    def is_none(self, parts: Parts) -> s.IsNone:
        return s.IsNone(parts[0], len(parts) == 4, self.span(parts[0], parts[-1]))

    def conditional(self, parts: Parts) -> s.Conditional:
        then, _, test, _, other = parts
        return s.Conditional(test, then, other, self.span(then, other))

    # Calls, indices, attributes

    def call(self, parts: Parts) -> s.Call:
        function, _, (arguments, keywords), closer = parts
        return s.Call(function, arguments, keywords, self.span(function, closer))

    def arguments(self, parts: Parts) -> tuple[tuple[s.Expr, ...], tuple[tuple[str, s.Expr], ...]]:
        keywords = self.keywords(parts)
        return tuple(part for part in parts if not isinstance(part, s.Parameter)), keywords

    def keyword(self, parts: Parts) -> s.Parameter:
        """A keyword argument, until the call that it belongs to takes it apart."""
        return s.Parameter(str(parts[0]), parts[1], self.span(parts[0], parts[1]))

    def keywords(self, parts: Parts) -> tuple[tuple[str, s.Expr], ...]:
        """The keyword arguments among the parts: each once, and behind the others."""
        seen: dict[str, s.Expr] = {}
        for part in parts:
            if not isinstance(part, s.Parameter):
                if seen:
                    raise wrong("positional after keyword", part.span)
            elif part.name in seen:
                raise wrong("repeated keyword", part.span, name=part.name)
            elif part.default is not None:
                seen[part.name] = part.default
        return tuple(seen.items())

    def subscript(self, parts: Parts) -> s.Index:
        value, index, closer = parts
        return s.Index(value, index, self.span(value, closer))

    def index(self, parts: Parts) -> s.Expr:
        if len(parts) == 1:
            only: s.Expr = parts[0]
            return only
        return s.Tuple(self.nodes(parts), self.span(parts[0], parts[-1]))

    def slice(self, parts: Parts) -> s.Slice:
        bounds: list[s.Expr | None] = [None]
        for part in parts:
            if isinstance(part, Token):
                bounds.append(None)
            else:
                bounds[-1] = part
        start, stop, step = [*bounds, None][:3]
        return s.Slice(start, stop, step, self.span(parts[0], parts[-1]))

    def attribute(self, parts: Parts) -> s.Attribute:
        return s.Attribute(parts[0], str(parts[1]), self.span(parts[0], parts[1]))

    # Simple statements

    def evaluate(self, parts: Parts) -> s.Evaluate | s.Print:
        value: s.Expr = parts[0]
        match value:
            case s.Call(s.Name("print"), arguments, ()):
                return s.Print(arguments, value.span)
        return s.Evaluate(value, False, value.span)

    def assign(self, parts: Parts) -> s.Assign:
        targets = tuple(self.target(part) for part in parts[:-1])
        return s.Assign(targets, parts[-1], self.span(parts[0], parts[-1]))

    def augment(self, parts: Parts) -> s.Augment:
        op = parts[1][:-1]
        target = self.target(parts[0])
        if isinstance(target, s.Tuple):
            raise wrong("bad target", target.span, text=target.span.text)
        return s.Augment(target, "**" if op == "^" else op, parts[2], self.span(parts[0], parts[2]))

    def target(self, node: s.Expr) -> s.Target:
        """The node, if it is one that a value can be given to."""
        pending = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, s.Tuple):
                pending += part.items
            elif isinstance(part, s.Call) and isinstance(part.function, s.Name):
                raise wrong("call as target", part.span, text=part.span.text)
            elif isinstance(part, s.Compare | s.Binary | s.Logic | s.Unary | s.Number | s.Conditional):
                raise wrong("value as target", part.span, text=part.span.text)
            elif not isinstance(part, s.Name | s.Index | s.Attribute):
                raise wrong("bad target", part.span, text=part.span.text)
        assert isinstance(node, s.Name | s.Index | s.Attribute | s.Tuple)
        return node

    def variable(self, parts: Parts) -> s.Variable:
        return s.Variable(parts[1], parts[2], self.span(parts[0], parts[2]))

    def word(self, parts: Parts) -> s.Pass | s.Break | s.Continue:
        span = self.span(parts[0], parts[0])
        if parts[0] == "pass":
            return s.Pass(span)
        statement = s.Break(span) if parts[0] == "break" else s.Continue(span)
        self.loose.append(statement)
        return statement

    def print(self, parts: Parts) -> s.Print:
        return s.Print(tuple(parts[1:]), self.span(parts[0], parts[-1]))

    def assertion(self, parts: Parts) -> s.Assert:
        message = parts[2] if len(parts) > 2 else None
        return s.Assert(parts[1], message, self.span(parts[0], parts[-1]))

    def delete(self, parts: Parts) -> s.Delete:
        return s.Delete(tuple(parts[1:]), self.span(parts[0], parts[-1]))

    def dotted(self, parts: Parts) -> s.Name:
        """The name of a module; only its first part decides whether agrad knows it."""
        return s.Name(str(parts[0]), self.span(parts[0], parts[-1]))

    def module(self, parts: Parts) -> s.Name:
        """`torch` or `torch.nn as nn`."""
        return s.Name(parts[0].id, self.span(parts[0], parts[-1]))

    def module_import(self, parts: Parts) -> s.Import:
        for part in parts:
            if isinstance(part, s.Name) and part.id not in _MODULES:
                raise wrong("import", part.span, module=part.span.text.split()[0])
            if isinstance(part, Token) and part.type == "PRODUCT" and part != "*":
                raise wrong("misfit", self.span(part, part), text=str(part))
        span = self.span(parts[0], parts[-1])
        return s.Import(span.text, span)

    # Commands

    def command(self, parts: Parts, operands: Parts, options: Parts) -> s.Command:
        return s.Command(str(parts[0]), tuple(operands), tuple(options), self.span(parts[0], parts[-1]))

    def backward(self, parts: Parts) -> s.Command:
        options: list[tuple[str, s.Expr | None]] = []
        for part in parts[2:]:
            if isinstance(part, Token):
                options.append((str(part), None))
            else:
                options[-1] = (options[-1][0], part)
        return self.command(parts, parts[1:2], options)

    def names_command(self, parts: Parts) -> s.Command:
        return self.command(parts, parts[1:], [])

    def graph(self, parts: Parts) -> s.Command:
        options = []
        for word, value in zip(parts[2::2], parts[3::2], strict=True):
            node = self.plain_word(value) if isinstance(value, Token) else value
            options.append((str(word), node))
        return self.command(parts, parts[1:2], options)

    def plain_word(self, token: Token) -> s.String:
        return s.String(str(token), self.span(token, token))

    def set_leaf(self, parts: Parts) -> s.Command:
        return self.command(parts, parts[1:], [])

    def step(self, parts: Parts) -> s.Command:
        method, *items = parts[1:]
        keywords = self.keywords(items)
        names = [item for item in items if not isinstance(item, s.Parameter)]
        if not names:
            raise wrong("step without names", Span(self.source, parts[-1].span.start, parts[-1].span.start))
        return self.command(parts, names, [("method", self.plain_word(method)), *keywords])

    def check(self, parts: Parts) -> s.Command:
        """The expression, and behind it the names to differentiate by."""
        operands = [part for part in parts if not isinstance(part, Token)]
        return self.command(parts, operands, [])

    def bare_command(self, parts: Parts) -> s.Command:
        return self.command(parts, [], [])

    def help(self, parts: Parts) -> s.Command:
        """`help`, `help sin`; the call that Python would have there, `help(sin)`, is the same."""
        topic = parts[1].strip("()") if len(parts) > 1 else ""
        if topic:
            return self.command(parts, [], [("word", s.String(topic, self.span(parts[1], parts[1])))])
        return self.command(parts, [], [])

    # Blocks

    def simple_line(self, parts: Parts) -> s.Body:
        """The statements of a line. A `;` behind an expression silences it."""
        statements: list[s.Statement] = []
        for part in parts:
            if not isinstance(part, Token):
                statements.append(part)
            elif isinstance(last := statements[-1], s.Evaluate):
                statements[-1] = last.changed(silent=True)
        return tuple(statements)

    def lines(self, parts: Parts) -> s.Body:
        statements: list[s.Statement] = []
        for part in parts:
            if isinstance(part, tuple):
                statements += part
            else:
                statements.append(part)
        return tuple(statements)

    block = lines

    def program(self, parts: Parts) -> s.Body:
        if self.loose:
            raise self.outside(self.loose[0])
        return self.lines(parts)

    def branch(self, parts: Parts) -> s.If:
        branches: list[tuple[s.Expr, s.Body]] = []
        otherwise: s.Body = ()
        position = 0
        while position < len(parts):
            if parts[position].type == "ELSE":
                otherwise = parts[position + 1]
                break
            branches.append((parts[position + 1], parts[position + 2]))
            position += 3
        return s.If(tuple(branches), otherwise, self.span(parts[0], parts[-1][-1]))

    def while_loop(self, parts: Parts) -> s.While:
        keyword, test, body = parts
        self.claim(keyword, loop=True)
        return s.While(test, body, self.span(keyword, body[-1]))

    def for_loop(self, parts: Parts) -> s.For:
        keyword, target, iterable, body = parts
        self.claim(keyword, loop=True)
        return s.For(self.target(target), iterable, body, self.span(keyword, body[-1]))

    def with_block(self, parts: Parts) -> s.NoGrad:
        keyword, context, body = parts
        match context:
            case s.Call(s.Name("no_grad") | s.Attribute(s.Name("torch"), "no_grad"), (), ()):
                return s.NoGrad(body, self.span(keyword, body[-1]))
        raise wrong("with", context.span)

    def no_grad(self, parts: Parts) -> s.NoGrad:
        return s.NoGrad(parts[1], self.span(parts[0], parts[1][-1]))

    def fails(self, parts: Parts) -> s.Fails:
        keyword, kind, body = parts
        return s.Fails(str(kind), body, self.span(keyword, body[-1]))

    # Functions

    def parameter(self, parts: Parts) -> s.Parameter:
        default = parts[1] if len(parts) > 1 else None
        return s.Parameter(str(parts[0]), default, self.span(parts[0], parts[-1]))

    def parameters(self, parts: Parts) -> tuple[s.Parameter, ...]:
        seen: set[str] = set()
        default = False
        for parameter in parts:
            if parameter.name in seen:
                raise wrong("repeated parameter", parameter.span, name=parameter.name)
            if default and parameter.default is None:
                raise wrong("parameter order", parameter.span, name=parameter.name)
            seen.add(parameter.name)
            default = parameter.default is not None
        return tuple(parts)

    def def_line(self, parts: Parts) -> s.Define:
        keyword, name, _, parameters, _, value = parts
        body = (s.Return(value, value.span),)
        return s.Define(str(name), parameters, body, self.span(keyword, value))

    def def_block(self, parts: Parts) -> s.Define:
        keyword, name, _, parameters, _, body = parts
        self.claim(keyword, loop=False)
        return s.Define(str(name), parameters, body, self.span(keyword, body[-1]))

    def give_back(self, parts: Parts) -> s.Return:
        value = parts[1] if len(parts) > 1 else None
        statement = s.Return(value, self.span(parts[0], parts[-1]))
        self.loose.append(statement)
        return statement

    def claim(self, keyword: Token, *, loop: bool) -> None:
        """Settles the loose statements inside the loop or function that begins at `keyword`."""
        start = keyword.start_pos or 0
        inside = [statement for statement in self.loose if statement.span.start >= start]
        del self.loose[len(self.loose) - len(inside) :]
        for statement in inside:
            if isinstance(statement, s.Return):
                if loop:
                    self.loose.append(statement)
            elif not loop:
                raise self.outside(statement)

    def outside(self, statement: s.Return | s.Break | s.Continue) -> AgradError:
        mistake = "return outside" if isinstance(statement, s.Return) else "break outside"
        return wrong(mistake, statement.span, word=statement.span.text.split()[0])

    def nodes(self, parts: Parts) -> tuple[s.Expr, ...]:
        """The parts without the punctuation between them."""
        return tuple(part for part in parts if not isinstance(part, Token))
