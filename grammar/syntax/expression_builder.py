"""The syntax tree of expressions: a method for each rule or alias of `agrad.lark`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import Any, TypeAlias

from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.errors.fixes import corrected
from agrad.grammar.syntax.errors.messages import syntax_error
from agrad.grammar.syntax.keywords import PAPER_PRODUCTS
from agrad.grammar.syntax.lexer import Token

Parts: TypeAlias = list[Any]

# Compiled with the first text that has one, and not at each start.
_ESCAPE = r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\\'\"abfnrtv]))"
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unescape(text: str) -> str:
    r"""The value of a string literal. As in Python, an unknown escape stands for itself."""
    return re.sub(_ESCAPE, _character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _ESCAPES.get(escape[4], escape[4])
    number = int(code, 16)
    # Half a surrogate pair could not be printed.
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else escape[0]


def is_long(text: str) -> bool:
    """Whether a string literal may go over several lines."""
    return len(text) > 5 and text[:3] in ('"""', "'''")


class Expressions:
    """The methods for expressions and their parts."""

    source: Source  # the text that is parsed; every node's span points into it

    def span(self, first: Any, last: Any) -> Span:
        """From the beginning of one part to the end of another."""
        start: Any = first.start_pos if isinstance(first, Token) else first.span.start
        end: Any = last.end_pos if isinstance(last, Token) else last.span.end
        return Span(self.source, start, end)

    def nodes(self, parts: Parts) -> tuple[s.Expr, ...]:
        """The parts without the punctuation between them."""
        return tuple(part for part in parts if not isinstance(part, Token))

    # Atoms

    def name(self, parts: Parts) -> s.Name:
        return s.Name(str(parts[0]), self.span(parts[0], parts[0]))

    def number(self, parts: Parts) -> s.Number:
        text = parts[0]
        based = len(text) > 1 and text[1].isalpha() and text[1] not in "eE"  # 0x1F
        try:
            value = float(int(text, 0)) if based else float(text)
        except OverflowError:
            value = inf
        return s.Number(value, self.span(text, text))

    def true(self, parts: Parts) -> s.Number:
        return s.Number(True, self.span(parts[0], parts[0]))

    def false(self, parts: Parts) -> s.Number:
        return s.Number(False, self.span(parts[0], parts[0]))

    def none(self, parts: Parts) -> s.NoneLiteral:
        return s.NoneLiteral(self.span(parts[0], parts[0]))

    def ellipsis(self, parts: Parts) -> s.EllipsisLiteral:
        return s.EllipsisLiteral(self.span(parts[0], parts[0]))

    def string(self, parts: Parts) -> s.String:
        text, quote = parts[0], 3 if is_long(parts[0]) else 1
        return s.String(_unescape(text[quote:-quote]), self.span(text, text))

    def fstring(self, parts: Parts) -> s.FString:
        pieces = [
            _unescape(part.replace("{{", "{").replace("}}", "}")) if isinstance(part, Token) else part
            for part in parts[1:-1]
        ]
        return s.FString(tuple(pieces), self.span(parts[0], parts[-1]))

    def texts(self, parts: Parts) -> s.Expr:
        """A text, or several in a row, which are one text."""
        only: s.Expr = parts[0]
        if len(parts) == 1:
            return only
        span = self.span(parts[0], parts[-1])
        if all(isinstance(part, s.String) for part in parts):
            return s.String("".join(part.value for part in parts), span)
        pieces = [part.parts if isinstance(part, s.FString) else (part.value,) for part in parts]
        return s.FString(tuple(piece for several in pieces for piece in several), span)

    def field(self, parts: Parts) -> s.Formatted:
        opener, value, *rest, closer = parts
        options = {token.type: token for token in rest}
        debug, conversion, spec = options.get("DEBUG"), options.get("CONVERSION"), options.get("SPEC")
        end = debug.end_pos if debug else value.span.end
        text = self.source.text[opener.end_pos : end]
        how = conversion[1:] if conversion else ""
        return s.Formatted(value, how, spec[1:] if spec else "", text, debug is not None, self.span(opener, closer))

    def vector(self, parts: Parts) -> s.List:
        return s.List(self.nodes(parts), False, self.span(parts[0], parts[-1]))

    def starred(self, parts: Parts) -> s.Starred:
        return s.Starred(str(parts[0]), parts[1], self.stars(parts, "*"))

    def unpacked(self, parts: Parts) -> s.Parameter:
        """`**options` in a call, until the node of the call is made."""
        span = self.stars(parts, "**")
        return s.Parameter("**", s.Starred("**", parts[1], span), span)

    def stars(self, parts: Parts, sign: str) -> Span:
        """The place of `*xs` or `**options`; the terminals of these have other signs, too."""
        if parts[0] != sign:
            raise syntax_error("missing operand", self.span(parts[0], parts[0]), place=f"before `{parts[0]}`")
        return self.span(parts[0], parts[-1])

    def generator(self, parts: Parts) -> s.Each:
        each: s.Each = parts[1]
        return each.changed(apart="tuple", span=self.span(parts[0], parts[2]))

    # Dictionaries and sets

    def pair(self, parts: Parts) -> tuple[s.Expr, ...]:
        """A key with its value, or `**d`."""
        if isinstance(parts[0], Token):
            return (s.Starred("**", parts[1], self.stars(parts, "**")),)
        return parts[0], parts[1]

    def dictionary(self, parts: Parts) -> s.Braces:
        pairs: Iterable[Any] = self.nodes(parts)
        items = tuple(item for pair in pairs for item in pair)
        return s.Braces("dict", items, self.span(parts[0], parts[-1]))

    def set(self, parts: Parts) -> s.Braces:
        return s.Braces("set", self.nodes(parts), self.span(parts[0], parts[-1]))

    def dictionary_of_each(self, parts: Parts) -> s.Braces:
        opener, pair, *clauses, closer = parts
        if len(pair) == 1:
            raise syntax_error("comprehension", pair[0].span)
        value = s.Tuple(pair, Span(self.source, pair[0].span.start, pair[1].span.end))
        each: Any = self.each([value, *clauses]).changed(apart="list")
        return s.Braces("dict", (s.Starred("*", each, each.span),), self.span(opener, closer))

    def set_of_each(self, parts: Parts) -> s.Braces:
        each = parts[1].changed(apart="list")
        return s.Braces("set", (s.Starred("*", each, each.span),), self.span(parts[0], parts[2]))

    def each(self, parts: Parts) -> s.Each:
        value, *clauses = parts
        for place, clause in enumerate(reversed(clauses)):
            span = self.span(parts[0], parts[-1])
            inner = place > 0
            value = clause.changed(value=value.changed(apart="tuple") if inner else value, flat=inner, span=span)
        made: s.Each = value
        return made

    def clause(self, parts: Parts) -> s.Each:
        """`for k in values if condition`, until the node is complete."""
        keyword, target, values, *rest = parts
        last = None if not rest or isinstance(rest[0], Token) else rest.pop(0)
        return s.Each(values, target, values, last, self.nodes(rest), "", False, self.span(keyword, parts[-1]))

    def each_target(self, parts: Parts) -> s.Name | s.Tuple:
        names = self.nodes(parts)
        return s.Tuple(names, self.span(parts[0], parts[-1])) if len(names) > 1 else parts[0]

    def places(self, parts: Parts) -> s.Name | s.Tuple:
        """Names in brackets: `for (i, x), y in pairs`."""
        inner: s.Name | s.Tuple = parts[1]
        return inner.changed(span=self.span(parts[0], parts[2]))

    def anonymous(self, parts: Parts) -> s.Lambda:
        keyword, parameters, value = parts
        return s.Lambda(parameters, value, self.span(keyword, value))

    def comprehension(self, parts: Parts) -> s.Each:
        each: s.Each = parts[1]
        return each.changed(span=self.span(parts[0], parts[2]))

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
        place = Span(self.source, op.start_pos, op.end_pos)
        sign = place if op == "*" and place.text in PAPER_PRODUCTS else None
        return s.Binary("**" if op == "^" else str(op), left, right, sign, self.span(left, right))

    def logic(self, parts: Parts) -> s.Logic:
        left, op, right = parts
        return s.Logic(str(op), left, right, self.span(left, right))

    def comparator(self, parts: Parts) -> str:
        """`<`, `in`, `not in`, `is not`."""
        return " ".join(parts)

    def compare(self, parts: Parts) -> s.Compare | s.IsNone:
        rest = tuple((str(op), value) for op, value in zip(parts[1::2], parts[2::2], strict=True))
        span = self.span(parts[0], parts[-1])
        if len(rest) == 1:
            op, value = rest[0]
            if op in ("is", "is not") and isinstance(value, s.NoneLiteral):
                return s.IsNone(parts[0], op == "is not", span)
        elif any(op.isalpha() or " " in op for op, _ in rest):
            raise syntax_error("chain", span)
        return s.Compare(parts[0], rest, span)

    def near(self, parts: Parts) -> s.Near:
        left, right, *tolerance = parts
        return s.Near(left, right, tolerance[0] if tolerance else None, self.span(left, parts[-1]))

    def plus_minus(self, parts: Parts) -> s.Binary:
        value, sign, u, *percent = parts
        if isinstance(u, s.Binary) and u.op in ("+", "-"):
            self.refuse_open_sum(value, sign, u)
        return s.Binary("±%" if percent else "±", value, u, None, self.span(value, parts[-1]))

    def refuse_open_sum(self, value: s.Expr, sign: Token, u: s.Expr) -> None:
        """Refuse `2 ± 0.1 + 1`, where some programs add 1 to the value, and others to the uncertainty."""
        text = self.source.text[: u.span.end]
        place = _first_sign(text, sign.end_pos)
        if place is None:
            return
        whole = Span(self.source, value.span.start, u.span.end)
        before = text[value.span.start : sign.end_pos]
        fixes = [
            f"({text[value.span.start : place].rstrip()}) {text[place:]}",
            f"{before} ({text[sign.end_pos :].strip()})",
        ]
        raise syntax_error("uncertain sum", whole, fixes=[corrected(whole, fix) for fix in fixes], sign=str(sign))

    def measured(self, parts: Parts) -> s.Binary:
        """`6.67430(15)e-11`: the digits in brackets are the uncertainty of the last ones."""
        text, span = str(parts[0]), self.span(parts[0], parts[0])
        number, digits, exponent = re.fullmatch(r"(.*)\((.*)\)(.*)", text).groups()  # type: ignore[union-attr]
        if "." in digits:
            u = float(digits + exponent)
        else:
            u = float(f"{digits}e{int(exponent[1:] or 0) - len(number.partition('.')[2])}")
        return s.Binary("±", s.Number(float(number + exponent), span), s.Number(u, span), None, span)

    def conditional(self, parts: Parts) -> s.Conditional:
        then, _, test, _, other = parts
        return s.Conditional(test, then, other, self.span(then, other))

    # Calls, indices, attributes

    def call(self, parts: Parts) -> s.Call:
        function, _, (arguments, keywords), closer = parts
        return s.Call(function, arguments, keywords, self.span(function, closer))

    def root(self, parts: Parts) -> s.Call:
        """`√x` is `sqrt(x)`."""
        sign, under = parts
        return s.Call(s.Name("sqrt", self.span(sign, sign)), (under,), (), self.span(sign, under))

    def interval(self, parts: Parts) -> s.Tuple:
        """`root(f, 0..2)`: the two ends."""
        return s.Tuple(tuple(parts), self.span(parts[0], parts[-1]))

    def arguments(self, parts: Parts) -> tuple[tuple[s.Expr, ...], tuple[tuple[str, s.Expr], ...]]:
        keywords = self.keywords(parts)
        return tuple(part for part in parts if not isinstance(part, s.Parameter)), keywords

    def keyword(self, parts: Parts) -> s.Parameter:
        """A keyword argument, until the node of its call is made."""
        return s.Parameter(str(parts[0]), parts[1], self.span(parts[0], parts[1]))

    def keywords(self, parts: Parts) -> tuple[tuple[str, s.Expr], ...]:
        """The keyword arguments among the parts: each once, and after the others."""
        seen: dict[str, s.Expr] = {}
        for part in parts:
            if not isinstance(part, s.Parameter):
                if seen and not isinstance(part, s.Starred):
                    raise syntax_error("positional after keyword", part.span)
            elif part.name in seen and part.name != "**":
                raise syntax_error("repeated keyword", part.span, name=part.name)
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


def _first_sign(text: str, start: int) -> int | None:
    """The place of the first plus or minus between two operands, from a place on, outside of brackets."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth or text[place] not in "+-":
            continue
        before = text[start:place].rstrip()
        if before != "" and before[-1] not in "*/%@+-(" and not re.search(r"(?<![\w.])[\d.]+[eE]$", before):
            return place
    return None
