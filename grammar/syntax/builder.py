"""The syntax tree, made while lark parses: a method for each rule or alias of `agrad.lark`, first of expressions.

lark calls a method with the values of the parts of its rule, from the leaves up; nothing recurses, however deep a
text is nested. What a grammar cannot say (what can be assigned to, where a `return` may stand) is checked here as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, TypeAlias, get_args

import agrad
from agrad.engine import units
from agrad.engine.core.graph import Units
from agrad.engine.errors import AgradError, Kind
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Source, Span, suggest
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax import errors
from agrad.grammar.syntax.errors.messages import clock, corrected, several_values, syntax_error
from agrad.grammar.syntax.keywords import (
    COMMAND_WORDS,
    DECLARATIONS,
    FORMS,
    HEADERS,
    PAPER_PRODUCTS,
    SETTABLE,
    SHAPES,
    SUPERSCRIPTS,
    words,
)
from agrad.grammar.syntax.lexer import LEIBNIZ, MINUTES, PARTIAL, Token

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


KINDS = tuple(kind for kind in get_args(Kind) if kind != "internal")  # of errors, which `fails` names


# The words before a colon; what looks like one of them is no annotation.
_HEADERS = HEADERS | {"else", "elif", "try", "finally", "except", "while", "with"}
_TYPES = words("float int str bool list tuple dict set object bytes complex callable any")


def _is_type(node: s.Expr) -> bool:
    """Whether an expression is a type, as far as its form shows that."""
    match node:
        case s.Index(value, _):
            return _is_type(value)
        case s.Name(name):
            return name in _TYPES or name[0].isupper()
        case s.Attribute(value, _):
            return isinstance(value, s.Name | s.Attribute)
    return isinstance(node, s.String | s.NoneLiteral)


_ALL = slice(None)


def _node(kind: type[s.Node], *fields: Any) -> Callable[[Builder, Parts], Any]:
    """A method that makes a node: each field is the number of a part, as many as there are, `_ALL` but for signs, or a
    value.
    """

    def make(self: Builder, parts: Parts) -> s.Node:
        span = self.span(parts[0], parts[-1])
        return kind(*[_field(one, parts) if type(one) in (int, slice) else one for one in fields], span)

    return make


def _field(place: Any, parts: Parts) -> Any:
    """A part, None where there are fewer, a sign as text; or all parts that are no signs."""
    if type(place) is slice:
        return tuple([part for part in parts if not isinstance(part, Token)])
    found = parts[place] if place < len(parts) else None
    return str(found) if isinstance(found, Token) else found


class Builder:
    """The transformer that is embedded in lark's parser. `begin` is called before each parse."""

    def begin(self, source: Source) -> None:
        """Prepare for a text, into which the span of every node points."""
        self.source = source

    # Expressions and their parts

    def span(self, first: Any, last: Any) -> Span:
        """From the beginning of one part to the end of another."""
        start: Any = first.start_pos if isinstance(first, Token) else first.span.start
        last = last[-1] if isinstance(last, tuple) else last  # of a block, its last statement
        end: Any = last.end_pos if isinstance(last, Token) else last.span.end
        return Span(self.source, start, end)

    def nodes(self, parts: Parts) -> tuple[s.Expr, ...]:
        """The parts without the punctuation between them."""
        return tuple(part for part in parts if not isinstance(part, Token))

    # Atoms

    def name(self, parts: Parts) -> s.Name:
        return s.Name(str(parts[0]), span=self.span(parts[0], parts[0]))

    def number(self, parts: Parts) -> s.Number:
        text = parts[0]
        based = len(text) > 1 and text[1].isalpha() and text[1] not in "eE"  # 0x1F
        try:
            value = float(int(text, 0)) if based else float(text)
        except OverflowError:
            value = inf
        return s.Number(value, span=self.span(text, text))

    true, false = _node(s.Number, True), _node(s.Number, False)
    none, ellipsis = _node(s.NoneLiteral), _node(s.EllipsisLiteral)

    def string(self, parts: Parts) -> s.String:
        text, quote = parts[0], 3 if is_long(parts[0]) else 1
        return s.String(_unescape(text[quote:-quote]), span=self.span(text, text))

    def fstring(self, parts: Parts) -> s.FString:
        single = (
            part.replace("{{", "{").replace("}}", "}") if isinstance(part, Token) else part for part in parts[1:-1]
        )
        pieces = tuple([_unescape(part) if isinstance(part, str) else part for part in single])
        return s.FString(pieces, span=self.span(parts[0], parts[-1]))

    def texts(self, parts: Parts) -> s.Expr:
        """A text, or several in a row, which are one text."""
        only: s.Expr = parts[0]
        if len(parts) == 1:
            return only
        span = self.span(parts[0], parts[-1])
        if all(isinstance(part, s.String) for part in parts):
            return s.String("".join(part.value for part in parts), span=span)
        pieces = [part.parts if isinstance(part, s.FString) else (part.value,) for part in parts]
        return s.FString(tuple(piece for several in pieces for piece in several), span=span)

    def field(self, parts: Parts) -> s.Formatted:
        opener, value, *rest, closer = parts
        options = {token.type: token for token in rest}
        debug, conversion, spec = options.get("DEBUG"), options.get("CONVERSION"), options.get("SPEC")
        end = debug.end_pos if debug else value.span.end
        text = self.source.text[opener.end_pos : end]
        how = conversion[1:] if conversion else ""
        return s.Formatted(
            value, how, spec[1:] if spec else "", text, debug is not None, span=self.span(opener, closer)
        )

    vector = _node(s.List, _ALL, False)

    def starred(self, parts: Parts) -> s.Starred:
        """`*xs`; the terminal of the star has other signs, too."""
        if parts[0] != "*":
            place, word = self.span(parts[0], parts[0]), str(parts[0])
            if word == "@":
                raise syntax_error("python", place, fixes=["import torch   on the line before"], word=word)
            raise syntax_error("missing operand", place, place=f"before `{word}`")
        return s.Starred(parts[1], span=self.span(parts[0], parts[-1]))

    def generator(self, parts: Parts) -> s.Each:
        each: s.Each = parts[1]
        return each.changed(apart="tuple", span=self.span(parts[0], parts[2]))

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
        return s.Each(values, target, values, last, self.nodes(rest), "", False, span=self.span(keyword, parts[-1]))

    def each_target(self, parts: Parts) -> Any:
        return self.bare_tuple(parts) if len(self.nodes(parts)) > 1 else parts[0]

    anonymous = _node(s.Lambda, 1, 2)

    empty_tuple = interval = _node(s.Tuple, _ALL)

    def bare_tuple(self, parts: Parts) -> s.Tuple:
        """`1, 2`. Raises AgradError for `max 1, 2`, which may be meant as a call."""
        first, whole = parts[0], s.Tuple(self.nodes(parts), span=self.span(parts[0], parts[-1]))
        if len(parts) > 1 and isinstance(first, s.Call) and _is_applied(first):
            self.refuse_arguments(first, whole.span)
        return whole

    def refuse_arguments(self, call: s.Call, whole: Span) -> None:
        """Raise AgradError for the first of several values where its function may take them all."""
        from agrad.engine.core.op import FUNCTIONS  # here, since few texts leave out the brackets

        name, inner = call.function.span.text, call.arguments[0].span
        form = FUNCTIONS[name].signature if name in FUNCTIONS else None
        if form is None or len([*form.operands, *form.attributes]) == 1:
            return
        given = self.source.text[inner.start : whole.end]
        given = f"[{given}]" if [*form.attributes][:1] == ["axis"] else given
        others = [f"{name}({inner.text}){self.source.text[inner.end : whole.end]}"] * (len(form.operands) == 1)
        raise self.ambiguous(whole, f"{name}({given})", *others)

    def group(self, parts: Parts) -> s.Expr:
        """An expression in parentheses is the expression; its span takes them in."""
        inner: s.Expr = parts[1]
        return inner.changed(span=self.span(parts[0], parts[2]))

    places = comprehension = group  # `for (i, x), y in pairs`, `[x for x in xs]`

    # Operators

    logic = _node(s.Logic, 1, 0, 2)

    def prefix(self, parts: Parts) -> s.Expr:
        """`-x`; the minus of `-20 °C` belongs to the number, since the scale has a zero of its own."""
        sign, operand = parts
        if sign == "-" and isinstance(operand, s.Quantity) and operand.unit[:1] == "°" and len(operand.unit) > 1:
            value = s.Unary("-", operand.value, span=self.span(sign, operand.value))
            return s.Quantity(value, operand.unit, True, span=self.span(sign, operand))
        return s.Unary(str(sign), operand, span=self.span(sign, operand))

    def bound(self, tree: Any, names: Iterable[str]) -> Any:
        """A tree in which some names have values, so that these are no units."""
        return syntax.units.bound(tree, [*names]) if Units.exist else tree

    def quantity(self, parts: Parts) -> s.Quantity:
        """`3 km`."""
        Units.exist = True
        unit = str(parts[1]).strip()
        return s.Quantity(parts[0], unit, unit[0] == "°", span=self.span(parts[0], parts[1]))

    def quantities(self, parts: Parts) -> s.Expr:
        """`5 ft 3 in`, `2 h 20 min`: their sum, of units that differ."""
        made: s.Expr = parts[0]
        before: s.Quantity = parts[0]
        for at in range(2, len(parts), 3):
            further = self.quantity(parts[at : at + 2])
            if further.unit == before.unit:
                place, texts = self.span(before, further), (before.span.text, further.span.text)
                raise syntax_error("two of one unit", place, " + ".join(texts), ", ".join(texts), unit=before.unit)
            made, before = s.Binary("+", made, further, None, span=self.span(made, further)), further
        return made

    def conversion(self, parts: Parts) -> s.Expr:
        """`x to km`, `x as hex`."""
        word, place = str(parts[2]).strip(), self.span(parts[2], parts[2])
        if word in FORMS:
            return self.of_helper(".written", parts, parts[0], s.String(word, span=place))
        if parts[2].type == "FORM":
            place = Span(self.source, place.end - len(word), place.end)
            kind, close = ("form", suggest(word, FORMS)) if parts[1] == "as" else ("unit", units.unit.near(word))
            raise syntax_error(kind, place, *close, word=word)
        Units.exist = True
        return s.Conversion(parts[0], word, span=self.span(parts[0], parts[2]))

    def binary(self, parts: Parts) -> s.Binary:
        left, op, right = parts
        if op.type == "PRODUCT":
            self.refuse_two_readings(left, op, right)
        elif op.type == "SUM" and right.span.text[-1] == "%" and isinstance(right, s.Binary):  # `50 + 20%`
            part = f"{right.left.span.text}/100"
            before = self.source.text[left.span.start : left.span.end]
            whole = before if isinstance(left, s.Name | s.Number) else f"({before})"
            raise self.ambiguous(self.span(left, right), f"{whole}*(1 {op} {part})", f"{before} {op} {part}")
        place = Span(self.source, op.start_pos, op.end_pos)
        sign = place if op == "*" and place.text in PAPER_PRODUCTS else None
        return s.Binary("**" if op == "^" else str(op), left, right, sign, span=self.span(left, right))

    def juxtaposed(self, parts: Parts) -> s.Expr:
        """`2x`; `sin²x`, whose left side is a power of a function."""
        left, right = parts[0], parts[-1]
        last, span = _last_factor(left), self.span(left, right)
        text, before = right.span.text, self.source.text[left.span.start : last.span.start]
        match last:
            case s.Number() if (
                re.fullmatch(r"\d+\([\d.]+\)", f"{last.span.text}{text}") and last.span.end == right.span.start
            ):
                raise self.ambiguous(
                    span, f"{before}{last.span.text}*{text}", f"{before}{last.span.text} ± {text[1:-1]}"
                )
            case s.Binary("**", s.Name(name), exponent) if syntax.implied.is_function(name) and not _is_group(last):
                if isinstance(right, s.Binary) and not _is_group(right):  # `sin²x²`
                    bare = f"{before}{name}({text})^{spelled(exponent)}"
                    raise self.ambiguous(span, bare, f"{before}{last.span.text}({right.left.span.text})*…")
                made = self.power_of(last, right)
                return made if last is left else self.times(left.left, made)
            case s.Call() | s.Binary("**", s.Call()) if _is_applied(last):
                if not _is_applied(right) and not (
                    isinstance(right, s.Call) and syntax.implied.is_function(right.function.span.text)
                ):
                    inner = _argument(last).span
                    first = self.source.text[last.span.start : inner.start].strip()
                    raise self.ambiguous(
                        span, f"{before}{first}({inner.text}*{text})", f"{before}{first}({inner.text})*{text}"
                    )
            case s.Binary("**", base, exponent) if not _is_group(last):
                is_open = exponent.span.text[0] not in SUPERSCRIPTS and exponent.span.text[-1] != ")"
                plain = isinstance(exponent, s.Number) and not isinstance(base, s.Number) and base.span.text != "e"
                is_open = is_open and not (plain and text[0] == "(")  # `(x - 1)^2(x + 1)`
                if is_open and last.span.end == right.span.start and not isinstance(right, s.Call):
                    power = f"{base.span.text}^"
                    whole = f"{before}{power}({exponent.span.text}*{text})"
                    raise self.ambiguous(span, whole, f"{before}{power}{exponent.span.text}*{text}")
            case s.Call(s.Name("sqrt"), (under,)) if last.span.text[0] == "√" and last.span.end == right.span.start:
                if under.span.text[-1] != ")":
                    inside = under.span.text
                    raise self.ambiguous(span, f"{before}√({inside}*{text})", f"{before}√({inside})*{text}")
        return self.times(left, right)

    def times(self, left: s.Expr, right: s.Expr) -> s.Binary:
        """A product without its sign, whose place is empty."""
        place = Span(self.source, right.span.start, right.span.start)
        return s.Binary("*", left, right, place, span=self.span(left, right))

    def power_of(self, power: s.Binary, given: s.Expr) -> s.Expr:
        """`sin²x`, and `sin⁻¹x`, the inverse."""
        name, exponent, span = power.left, power.right, self.span(power, given)
        inverse = f"a{name.span.text}"
        if spelled(exponent).strip("()") == "-1" and syntax.implied.is_function(inverse):
            return s.Call(name.changed(id=inverse), (given,), (), span=span)
        return s.Binary("**", s.Call(name, (given,), (), span=span), exponent, None, span=span)

    def applied(self, parts: Parts) -> s.Call:
        """`sin x`."""
        return s.Call(parts[0], (parts[-1],), (), span=self.span(parts[0], parts[-1]))

    def raised(self, parts: Parts) -> s.Expr:
        """`sin x^2`, which is the sine of the square or the square of the sine."""
        call, _, exponent = parts
        name, inner, power = call.function.span.text, call.arguments[0].span.text, spelled(exponent)
        raise self.ambiguous(self.span(call, exponent), f"{name}({inner}^{power})", f"{name}({inner})^{power}")

    # Signs of paper

    def of_helper(self, name: str, parts: Parts, *values: Any) -> s.Call:
        """The call of a function; one whose name begins with a dot cannot be bound in a text."""
        span = self.span(parts[0], parts[-1])
        return s.Call(s.Name(name, span=span), values, (), span=span)

    def factorial(self, parts: Parts) -> s.Call:
        return self.of_helper(".factorial", parts, parts[0])

    def degrees(self, parts: Parts) -> s.Call:
        """`7°`, `7°30'15"`."""
        value, found = parts[0], re.fullmatch(MINUTES, parts[1])
        if found is not None:
            place = self.span(parts[1], parts[1])
            seconds = s.Number(float(found[1]) * 60 + float(found[2] or 0), span=place)
            part = s.Binary("/", seconds, s.Number(3600.0, span=place), None, span=place)
            value = s.Binary("+", value, part, None, span=self.span(parts[0], parts[1]))
        return self.of_helper("deg2rad", parts, value)

    def absolute(self, parts: Parts) -> s.Call:
        return self.of_helper("abs", parts, parts[1])

    def percentage(self, parts: Parts) -> s.Binary:
        """`20%` is 20/100."""
        span = self.span(parts[0], parts[-1])
        return s.Binary("/", parts[0], s.Number(100.0, span=self.span(parts[1], parts[1])), None, span=span)

    def percent_of(self, parts: Parts) -> s.Binary:
        """`20% of 50` is 20/100*50."""
        span = self.span(parts[0], parts[-1])
        return s.Binary("*", self.percentage(parts[:2]), parts[-1], None, span=span)

    def prime(self, parts: Parts) -> s.Call:
        """`f'`, the derivative of a function; `y'` of a value by the leaf that it was computed from."""
        order = s.Number(float(len(parts[1])), span=self.span(parts[1], parts[1]))
        return self.of_helper(".prime", parts, parts[0], order)

    def leibniz(self, parts: Parts) -> s.Call:
        """`d/dx x^2`, at the value of x; in front of brackets, all that is differentiated must be in them."""
        sign, value = parts
        found = re.match(LEIBNIZ, str(sign) + " x")
        assert found is not None
        by, order = found["by"] or found["by_again"], _ORDERS[(found["order"] or "1")[-1]]
        value = self.bound(value, [by])
        first: Any = value
        while isinstance(first, s.Binary) and not _is_group(first):
            first = first.left
        text, inner = self.source.text, first.span
        if first is not value and text[inner.start] == "(" and text[inner.end - 1] == ")":
            inside, behind = inner.text[1:-1], text[inner.end : value.span.end]
            whole = f"{sign} ({inner.text}{behind})"
            raise self.ambiguous(self.span(sign, value), whole, f"({sign} ({inside})){behind}")
        place = self.span(sign, sign)
        end = place.end - len(found["order"] or "")
        name = Span(self.source, end - len(by), end)
        made = s.Lambda((s.Parameter(by, None, span=name),), value, span=value.span)
        names = {one.id for one in s.loads(value)} - {"e", "pi"}
        is_of = s.Number(float(by in names or not names), span=place)  # else it must depend on x by its graph
        word = s.String(f"d{by}" if value.span.text[0] == "(" else "", span=place)  # what was a call of dx
        given = made, s.Name(by, span=name), s.Number(float(order), span=place), is_of, word
        return self.of_helper(".leibniz", [sign, value], *given)

    def partial(self, parts: Parts) -> s.Expr:
        """`∂f/∂x`, which is `d/dx f`."""
        (token,) = parts
        found, start = re.fullmatch(PARTIAL, str(token)), token.start_pos
        assert found is not None
        name, order = Span(self.source, start + found.start("of"), start + found.end("of")), found["order"]
        sign = Token("LEIBNIZ", f"d{order}/d{found['by']}{order}", start, token.end_pos)
        return self.leibniz([sign, s.Name(found["of"], span=name)]).changed(span=self.span(token, token))

    def refuse_two_readings(self, left: s.Expr, op: Token, right: s.Expr) -> None:
        """`1/2x`, which divides by 2 or by 2*x, and `sin x/2`."""
        span, last = self.span(left, right), _last_factor(left)
        if op != "*" and _is_implied(right):
            first: Any = right
            while _is_implied(first.left):
                first = first.left
            text = self.source.text
            behind = text[first.right.span.start : right.span.end]
            before = text[left.span.start : op.end_pos]
            one = f"{before}({spelled(right)})"
            raise self.ambiguous(span, one, f"{before}{first.left.span.text}*{behind}")
        if _is_applied(last) and op.start_pos == left.span.end and op.end_pos == right.span.start:
            inner = _argument(last).span
            before = self.source.text[left.span.start : inner.start].rstrip()
            behind = f"{op}{right.span.text}"
            raise self.ambiguous(span, f"{before}({inner.text}{behind})", f"{before}({inner.text}){behind}")

    def ambiguous(self, span: Span, *readings: str) -> AgradError:
        """The error for what can be read in two ways, with both."""
        if span.text.startswith("integral ") and (whole := errors.notation.rewritten(span)):
            return syntax_error("two readings", span, fixes=whole, text=span.text)
        return syntax_error("two readings", span, *readings, text=span.text)

    def comparator(self, parts: Parts) -> str:
        """`<`, `in`, `not in`, `is not`."""
        return " ".join(parts)

    def compare(self, parts: Parts) -> s.Compare | s.IsNone:
        rest = tuple((str(op), value) for op, value in zip(parts[1::2], parts[2::2], strict=True))
        span = self.span(parts[0], parts[-1])
        if len(rest) == 1:
            op, value = rest[0]
            if op in ("is", "is not") and isinstance(value, s.NoneLiteral):
                return s.IsNone(parts[0], op == "is not", span=span)
        elif any(op.isalpha() or " " in op for op, _ in rest):
            raise syntax_error("chain", span)
        return s.Compare(parts[0], rest, span=span)

    near = _node(s.Near, 0, 1, 2)

    def plus_minus(self, parts: Parts) -> s.Expr:
        value, sign, u, *percent = parts
        first = u
        while isinstance(first, s.Binary) and first.op in ("+", "-") and first.left.span.start == first.span.start:
            first = first.left
        if first is not u:
            raise self.open_sum(value, sign, first, u)
        span = self.span(value, parts[-1])
        if isinstance(u, s.Quantity) and _is_plain(value):  # `1.2 ± 0.3 mm`: the unit is that of both
            return s.Quantity(s.Binary("±", value, u.value, None, span=span), u.unit, u.sure, span=span)
        return s.Binary("±%" if percent else "±", value, u, None, span=span)

    def distributed(self, parts: Parts) -> s.Expr:
        """`5 ± 0.1 uniform`, `5 ± 0.1 t(8)`: the operands of `± t` are both behind its sign."""
        value, sign, u, kind, *parameter = parts
        self.plus_minus([value, sign, u])  # raises the error for a sum
        unit = u.unit if isinstance(u, s.Quantity) and _is_plain(value) else ""
        right = s.Tuple((u.value if unit else u, *parameter[1:2]), span=self.span(u, parts[-1]))
        span = self.span(value, parts[-1])
        made = s.Binary(f"± {kind}", value, right, None, span=span)
        return s.Quantity(made, unit, False, span=span) if unit else made

    def scaled(self, parts: Parts) -> s.Binary:
        """`(3.14 ± 0.01)e2`."""
        opener, values, closer, scale = parts
        power = s.Number(float(f"1{scale}"), span=self.span(scale, scale))
        group = self.group([opener, values, closer])
        return s.Binary("*", group, power, None, span=self.span(opener, scale))

    def open_sum(self, value: s.Expr, sign: Token, first: s.Expr, u: s.Expr) -> AgradError:
        """`2 ± 0.1 + 1`, where some programs add 1 to the value, and others to the uncertainty."""
        text = self.source.text[: u.span.end]
        before = text[value.span.start : sign.end_pos]
        outside = f"({text[value.span.start : first.span.end]}) {text[first.span.end :].lstrip()}"
        inside = f"{before} ({text[sign.end_pos :].strip()})"
        return syntax_error("uncertain sum", self.span(value, u), outside, inside, sign=sign)

    def measured(self, parts: Parts) -> s.Binary:
        """`6.67430(15)e-11`: the digits in brackets are the uncertainty of the last ones."""
        text, span = str(parts[0]), self.span(parts[0], parts[0])
        number, digits, exponent = re.fullmatch(r"(.*)\((.*)\)(.*)", text).groups()  # type: ignore[union-attr]
        if "." in digits:
            u = float(digits + exponent)
        else:
            u = float(f"{digits}e{int(exponent[1:] or 0) - len(number.partition('.')[2])}")
        return s.Binary("±", s.Number(float(number + exponent), span=span), s.Number(u, span=span), None, span=span)

    conditional = _node(s.Conditional, 2, 0, 4)

    # Calls, indices, attributes

    def call(self, parts: Parts) -> s.Call:
        function, _, (arguments, keywords), closer = parts
        return s.Call(function, arguments, keywords, span=self.span(function, closer))

    def root(self, parts: Parts) -> s.Call:
        """`√x` is `sqrt(x)`."""
        sign, under = parts
        return s.Call(s.Name("sqrt", span=self.span(sign, sign)), (under,), (), span=self.span(sign, under))

    def arguments(self, parts: Parts) -> tuple[tuple[s.Expr, ...], tuple[tuple[str, s.Expr], ...]]:
        keywords = self.keywords(parts)
        return tuple(part for part in parts if not isinstance(part, s.Parameter)), keywords

    keyword = _node(s.Parameter, 0, 1)  # until the node of its call is made

    def keywords(self, parts: Parts) -> tuple[tuple[str, s.Expr], ...]:
        """The keyword arguments among the parts: each once, and after the others."""
        found: list[tuple[str, Any]] = []
        for part in parts:
            if not isinstance(part, s.Parameter):
                if found and not isinstance(part, s.Starred):
                    raise syntax_error("positional after keyword", part.span)
            elif any(part.name == name for name, _ in found):
                raise syntax_error("repeated keyword", part.span, name=part.name)
            else:
                found.append((part.name, part.default))
        return tuple(found)

    subscript, attribute = _node(s.Index, 0, 1), _node(s.Attribute, 0, 1)

    def index(self, parts: Parts) -> Any:
        return parts[0] if len(parts) == 1 else self.bare_tuple(parts)

    def slice(self, parts: Parts) -> s.Slice:
        bounds: list[s.Expr | None] = [None]
        for part in parts:
            if isinstance(part, Token):
                bounds.append(None)
            else:
                bounds[-1] = part
        start, stop, step = [*bounds, None][:3]
        return s.Slice(start, stop, step, span=self.span(parts[0], parts[-1]))

    # Simple statements

    def evaluate(self, parts: Parts) -> s.Evaluate | s.Print | s.Pass:
        (value,) = parts
        match value:
            case s.Call(s.Name("print"), arguments, keywords) if all(name in s.PRINTED for name, _ in keywords):
                return s.Print(
                    arguments, tuple(pair for pair in keywords if pair[0] in ("sep", "end")), span=value.span
                )
            case s.String() if is_long(value.span.text):  # a docstring
                return s.Pass(span=value.span)
        return s.Evaluate(value, False, span=value.span)

    def assign(self, parts: Parts) -> s.Assign | s.Define:
        """`x = 3`, and `f(x) = x^2`, which defines a function."""
        match parts[0]:
            case s.Call(s.Name(name), (_, *_) as given, ()) as call if (
                len(parts) == 2 and name not in COMMAND_WORDS and not self.is_applied(call)
            ):
                named = [s.Parameter(one.id, None, span=one.span) for one in given if isinstance(one, s.Name)]
                if len(named) == len(given):
                    parameters = self.parameters(named)
                    value = self.bound(parts[1], [one.name for one in parameters])
                    body = (s.Return(value, span=parts[1].span),)
                    return s.Define(name, parameters, body, span=self.span(*parts))
        targets = tuple(self.target(part) for part in parts[:-1])
        return s.Assign(targets, parts[-1], span=self.span(parts[0], parts[-1]))

    def annotate(self, parts: Parts) -> s.Assign | s.Pass:
        """`x: float = 3`; the annotation is not kept."""
        target, annotation, *value = parts
        span = self.span(parts[0], parts[-1])
        word, end = target.span.text, target.span.end
        colon = Span(self.source, self.source.text.index(":", end), self.source.text.index(":", end) + 1)
        if not isinstance(target, s.Name | s.Attribute):
            raise clock(colon) or syntax_error("unexpected token", colon, "/", text=":")  # `6:2`
        if word in SHAPES:
            raise syntax_error("shape", colon, word=word, usage=SHAPES[word])
        if likely := suggest(word, _HEADERS) if isinstance(target, s.Name) else []:
            raise syntax_error("no command", target.span, *likely, word=word)
        if not _is_type(annotation) or not value:
            given = "…" if _is_type(annotation) else annotation.span.text
            raise syntax_error("annotation", colon, instead=f"{word} = {given}")
        return s.Assign((self.target(target),), value[0], span=span)

    def augment(self, parts: Parts) -> s.Augment:
        op = parts[1][:-1]
        target = self.target(parts[0])
        if isinstance(target, s.Tuple):
            raise syntax_error("bad target", target.span, text=target.span.text)
        return s.Augment(target, "**" if op == "^" else op, parts[2], span=self.span(parts[0], parts[2]))

    def target(self, node: s.Expr) -> s.Target:
        """The node, if it is one that a value can be given to. `[a, b] = x` is `a, b = x`, as in Python."""
        if isinstance(node, s.List):
            node = s.Tuple(node.items, span=node.span)
        pending: list[s.Expr] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, s.Tuple):
                pending += part.items
                if sum(isinstance(item, s.Starred) for item in part.items) > 1:
                    raise syntax_error("bad target", part.span, text=part.span.text)
            elif isinstance(part, s.Starred) and part is not node:
                pending.append(part.value)
            elif isinstance(part, s.Call) and isinstance(part.function, s.Name):
                if part.function.id == "var":
                    raise self.several_leaves(part)
                raise self.function_given(part)
            elif isinstance(part, s.Compare | s.Binary | s.Logic | s.Unary | s.Number | s.Conditional):
                fixes = several_values(part.span) or errors.notation.solved(part.span)
                raise syntax_error("value as target", part.span, fixes=fixes, text=part.span.text)
            elif not isinstance(part, s.Name | s.Index | s.Attribute):
                raise syntax_error("bad target", part.span, text=part.span.text)
        assert isinstance(node, s.Name | s.Index | s.Attribute | s.Tuple)
        return node

    def is_applied(self, call: s.Call) -> bool:
        """Whether a call has no bracket: `sin x`."""
        start, stop = call.function.span.end, call.arguments[0].span.start if call.arguments else call.span.end
        return "(" not in self.source.text[start:stop]

    def function_given(self, call: s.Call) -> AgradError:
        """`f(x) = x^2`: the definition of a function; `int n = 2` is meant as that of a number."""
        if self.is_applied(call):
            word, given = call.function.span, call.arguments[0].span
            if word.text in DECLARATIONS:
                bare = corrected(Span(self.source, word.start, given.start), "")
                return syntax_error("declaration", word, fixes=[bare], word=word.text)
            bracket = corrected(Span(self.source, word.end, given.end), f"({given.text})")
            return syntax_error("call as target", call.span, fixes=[bracket], text=call.span.text, name=word.text)
        text, before = call.span.text, Span(self.source, call.span.start, call.span.start)
        plain = not call.keywords and all(isinstance(argument, s.Name) for argument in call.arguments)
        fixes = [corrected(before, "def ")] if plain else []
        return syntax_error("call as target", call.span, fixes=fixes, text=text, name=call.function.span.text)

    def several_leaves(self, call: s.Call) -> AgradError:
        """`var (a, b) = (1, 2)`: a leaf for each name."""
        names = [part.span.text for part in call.arguments]
        behind = Span(self.source, call.span.start, len(self.source.text)).text.partition("#")[0]
        values = behind.partition("=")[2].strip()
        each = [values] if len(names) == 1 or re.search(r"[(\[]", values[1:]) else values.strip("([])").split(",")
        pairs = zip(names, each, strict=False)
        leaves = "; ".join(f"var {name} = {value.strip()}" for name, value in pairs)
        fixes = [leaves] if names and len(each) == len(names) else []
        return syntax_error("several leaves", call.span, fixes=fixes, word="var")

    variable = _node(s.Variable, 1, 2)
    print, delete, assertion = _node(s.Print, _ALL, ()), _node(s.Delete, _ALL), _node(s.Assert, 1, 2)

    def word(self, parts: Parts) -> s.Statement:
        return _WORDS[parts[0]](span=self.span(parts[0], parts[0]))

    give_back = _node(s.Return, 1)

    # Commands

    def command(self, parts: Parts, operands: Parts, options: Parts) -> s.Command:
        return s.Command(str(parts[0]), tuple(operands), tuple(options), span=self.span(parts[0], parts[-1]))

    def command_with_options(self, parts: Parts) -> s.Command:
        """An operand, and words after it in any order, some of them with a value."""
        options: list[s.Parameter] = []
        for part in parts[2:]:
            if isinstance(part, Token):
                options.append(s.Parameter(str(part), None, span=self.span(part, part)))
            elif isinstance(part, s.Parameter):
                options.append(part)
            else:
                options[-1] = s.Parameter(options[-1].name, part, span=options[-1].span)
        return self.command(parts, parts[1:2], list(self.keywords(options)))

    def worded(self, parts: Parts) -> s.Parameter:
        """A word and its value, until the node of a command is made from them."""
        word, value = parts[-2:]
        value = self.plain_word(value) if isinstance(value, Token) else value
        return s.Parameter(str(word), value, span=self.span(parts[0], value))

    def several(self, parts: Parts) -> s.Parameter:
        """A word and its values."""
        values = s.Tuple(tuple(parts[1:]), span=self.span(parts[1], parts[-1]))
        return s.Parameter(str(parts[0]), values, span=self.span(parts[0], parts[-1]))

    def within(self, parts: Parts) -> s.Parameter:
        """The ends of `in a..b`."""
        span = self.span(*parts)
        return s.Parameter("in", s.Tuple(tuple(parts), span=span), span=span)

    def plain_command(self, parts: Parts) -> s.Command:
        """Operands, and options that are a word and a value, in any order."""
        operands, options = self.divided(parts)
        return self.command(parts, operands, options)

    check = explain = limit = load = save = report = names_command = bare_command = command_with_parameters = (
        plain_command
    )

    def own_unit(self, parts: Parts) -> s.Command:
        """`unit smoot = 1.7018 m`, `unit EUR`; names of units are units here, whatever they have as values."""

        def sure(one: Any) -> Any:
            if isinstance(one, s.Name) and syntax.units.unit.find(one.id) is not None:  # `unit pace = km/h`
                Units.exist = True
                return s.Quantity(s.Number(1.0, span=one.span), one.id, True, span=one.span)
            return one.changed(sure=True, span=one.span) if isinstance(one, s.Quantity) else None

        return self.command(parts, [self.plain_word(parts[1]), *(s.replaced(one, sure) for one in parts[2:])], [])

    def use(self, parts: Parts) -> s.Command:
        """`use constants c, h`; all but e, which is Euler's number, if none is named."""
        words = [self.plain_word(part) for part in parts[1:]]
        if len(words) == 1:
            words += [s.String(name, span=words[0].span) for name in agrad.grammar.constants.MEANINGS if name != "e"]
        return self.command(parts, words, [])

    def divided(self, parts: Parts) -> tuple[Parts, Parts]:
        """What is neither a word nor an option, and the options."""
        options = [part for part in parts if isinstance(part, s.Parameter)]
        return [part for part in parts if not isinstance(part, Token | s.Parameter)], list(self.keywords(options))

    def plain_word(self, token: Token) -> s.String:
        return s.String(str(token), span=self.span(token, token))

    flag = _node(s.Parameter, 0, None)  # a word without a value

    def depth(self, parts: Parts) -> s.Parameter:
        """`depth 3`."""
        value = self.number(parts[1:])
        if not value.value.is_integer():
            raise syntax_error("depth", value.span, text=str(parts[1]))
        return self.worded([parts[0], value])

    def fit(self, parts: Parts) -> s.Command:
        """What was measured, and the model of the parameters: of each set of data; and those that others give."""
        operands, _ = self.divided(parts)
        given, changed = self.over(parts, operands[1])
        if (problem := errors.notation.misread_option([one.span for one in changed])) is not None:
            raise problem
        bounds = {one.name: one.default for one in changed if isinstance(one, s.Parameter)}
        each = [s.Name(one.name, span=one.span) if isinstance(one, s.Parameter) else one for one in changed]
        names = tuple({name.id: name for name in each}.values())
        tied = self.ties(given.pop("tied").items) if "tied" in given else {}
        if twice := [name for name in names if name.id in tied]:
            raise syntax_error("repeated keyword", twice[0].span, name=twice[0].id)
        start = dict(self.keywords(given.pop("from").items)) if "from" in given else {}
        every = (*names, *[s.Name(name, span=value.span) for name, value in tied.items()])
        pairs = [
            part
            for y, model in zip(operands[::2], operands[1::2], strict=True)
            for part in (s.Unknowns(every, model, span=model.span), y)
        ]
        ties = [s.Unknowns(names, value, span=value.span) for value in tied.values()]
        options = [
            (f"{word} {name}", one) for word, of in (("in", bounds), ("from", start)) for name, one in of.items()
        ]
        if tied:
            options.append(("tied", s.String(" ".join(tied), span=ties[0].span)))
        return self.command(parts, [*pairs, *ties], [*given.items(), *options])

    def ties(self, items: Parts) -> dict[str, s.Expr]:
        """Names, each of which may use those before it, and what they stand for."""
        given, tied = dict(self.keywords(items)), dict[str, s.Expr]()
        for name, value in given.items():
            tied[name] = s.replaced(value, s.standing_for(tied))
            for one in s.loads(tied[name]):
                if one.id in given:
                    raise syntax_error("tied before", one.span, name=one.id)
        return tied

    def bounded(self, parts: Parts) -> s.Parameter:
        """`a in 0..1`."""
        name, *ends = parts
        ends_of = s.Tuple(tuple(ends), span=self.span(*ends))
        return s.Parameter(name.id, ends_of, span=self.span(name, ends[-1]))

    def solve(self, parts: Parts) -> s.Command:
        """Equations, unknowns, and where to start, or an interval; the unknown of one may be its only name."""
        middle = parts.index("for") if "for" in parts else len(parts)
        sides = parts[1:middle]
        value = sides[0] if len(sides) == 1 else s.List(tuple(sides), False, span=self.span(sides[0], sides[-1]))
        names = _once([part for part in parts[middle + 1 :] if isinstance(part, s.Name)])
        if not names and len(sides) == 1:
            called = {node.function for node in s.nodes(value) if isinstance(node, s.Call)}
            free = [name for name in s.loads(value) if name not in called and name.id not in _CONSTANTS]
            names = (free[0],) if len({name.id for name in free}) == 1 else ()
        unknowns = s.Unknowns(names, value, span=value.span)
        return self.command(parts, [unknowns], [(x.name, x.default) for x in parts[-1:] if isinstance(x, s.Parameter)])

    def equation(self, parts: Parts) -> s.Expr:
        """The two sides of an equation, subtracted: `=` and `==` are the same here."""
        equation, *right = parts
        if right and not any(isinstance(side, s.Compare) for side in parts):  # `z**2 == 4 z=1` has two signs
            return s.Binary("-", equation, right[0], None, span=self.span(*parts))
        if not right and isinstance(equation, s.Compare) and len(equation.rest) == 1 and equation.rest[0][0] == "==":
            return s.Binary("-", equation.first, equation.rest[0][1], None, span=equation.span)
        fixes = errors.notation.spelled_out("solve", self.source.line_at(equation.span.start).partition("solve")[2])
        raise syntax_error("no equation", equation.span, fixes=fixes)

    def minimize(self, parts: Parts) -> s.Command:
        """What is minimised, and the leaves that change."""
        given, names = self.over(parts, parts[1])
        return self.command(parts, [parts[1], *names], list(given.items()))

    def over(self, parts: Parts, value: s.Expr) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """The options of a command by name, and the names after `over`, each once."""
        given: dict[str, Any] = dict(self.divided(parts)[1])
        if "over" not in given:
            starts = [name for name, _ in self.keywords(given["from"].items)] if "from" in given else []
            raise errors.notation.without_parameters(value.span, starts, str(parts[0]))
        return given, _once(given.pop("over").items)

    def formula(self, parts: Parts) -> s.Command:
        """An expression, whose names need no value, and what it is differentiated by; `grad(x**2, x)` is one, too."""
        value: s.Expr = parts[1]
        options: dict[str, Any] = dict(self.keywords(parts[2:]))
        inner: list[str] = []
        while found := _gradient(value):
            value, name = found
            inner.append(name)
        unknowns = s.Unknowns((), value, span=value.span)
        grad = {"grad": s.String(" ".join(reversed(inner)), span=value.span)} if inner else {}
        if (by := options.get("wrt")) is not None:  # names that need no value
            options["wrt"] = s.String(" ".join(name.id for name in by.items), span=by.span)
        return self.command(parts, [unknowns], [*grad.items(), *options.items()])

    def plot(self, parts: Parts) -> s.Command:
        """What is drawn; the variable, inside each of these, and its ends. A lone `fit` is an option."""
        given, options = self.divided(parts[1:])
        middle = parts.index("for") - 1 if "for" in parts else len(given)
        operands = self.operands_drawn(given[:middle])
        if middle < len(given):
            name, *ends = given[middle:]
            if len(ends) == 1:
                raise syntax_error("range", ends[0].span, _range(ends[0]), text=ends[0].span.text)
            operands = [s.Unknowns((name,), operand, span=operand.span) for operand in operands]
            options = [("low", ends[0]), ("high", ends[1]), *options]
        elif len(operands) == 1 and isinstance(operands[0], s.Name) and operands[0].id == "fit":
            operands, options = [], [("fit", None), *options]
        return self.command(parts, operands, options)

    def tangent(self, parts: Parts) -> s.Command:
        """A function, or an expression with the name of its variable, if that is given, and the place."""
        _, value, _, *names, place = parts
        return self.command(parts, [s.Unknowns(tuple(names), value, span=value.span)], [("at", place)])

    def contour(self, parts: Parts) -> s.Command:
        """A function of two variables, and the ends of their ranges."""
        (value, x, low, high, y, bottom, top), options = self.divided(parts)
        if x.id == y.id:
            raise syntax_error("repeated keyword", y.span, name=y.id)
        ranges = [("low", low), ("high", high), ("bottom", bottom), ("top", top)]
        return self.command(parts, [s.Unknowns((x, y), value, span=value.span)], [*ranges, *options])

    def histogram(self, parts: Parts) -> s.Command:
        """What is counted."""
        operands, options = self.divided(parts)
        return self.command(parts, self.operands_drawn(operands), options)

    def operands_drawn(self, operands: Parts) -> Parts:
        """The operands of `plot x, y`, or of `plot(x, y)`, as Python would have it."""
        if len(operands) == 1 and isinstance(operands[0], s.Tuple) and operands[0].items:
            return list(operands[0].items)
        return list(operands)

    def set_leaf(self, parts: Parts) -> s.Command:
        """`set x = 5`, and `set precision 4`, `set echo off`, `set plots braille`; `set` alone."""
        if len(parts) == 1:
            return self.command(parts, [], [])
        _, option, value = parts
        if isinstance(option, s.Name) and isinstance(value, s.String) and option.id in SETTABLE:
            option, value = (Token("NAME", part.span.text, part.span.start, part.span.end) for part in (option, value))
        if not isinstance(option, Token):
            return self.command(parts, parts[1:], [])
        known = [*SETTABLE.get(option, ())]
        if (word := value.replace("'", '"')) not in known:
            if not known and (likely := suggest(option, SETTABLE)):
                raise syntax_error("set option", self.span(option, option), *likely)
            usual = f"{option} = {value if value.type == 'NUMBER' else 5}"
            edits = [f"{option} {one}" for one in known[-4 if len(known) < 9 else -2 :]] or [usual]
            raise syntax_error("set option", self.span(option, value), *edits)
        return self.command(parts, [], [(str(option), s.String(word, span=self.span(value, value)))])

    def step(self, parts: Parts) -> s.Command:
        method, *items = parts[1:]
        keywords, (names, _) = self.keywords(items), self.divided(items)
        if not names:
            raise syntax_error("step without names", Span(self.source, parts[-1].span.start, parts[-1].span.start))
        return self.command(parts, names, [("method", self.plain_word(method)), *keywords])

    def forward(self, parts: Parts) -> s.Command:
        """The names, and after `with` the new values; the span of each takes in the name it is for."""
        names, options = self.divided(parts)
        places = [part.span for part in parts if isinstance(part, s.Parameter)]
        given = [(name, value.changed(span=place)) for (name, value), place in zip(options, places, strict=True)]
        return self.command(parts, names, given)

    def history(self, parts: Parts) -> s.Command:
        """`history`, `history 9`, `redo`, `again 5`, `again 2..4`, `undo 3`; `undo()` is `undo`."""
        numbers = [self.number([part]) for part in parts if part.type == "NUMBER"]
        for number in numbers:
            if number.value < 1 or not number.value.is_integer():
                raise syntax_error(str(parts[0]), number.span, text=number.span.text)
        return self.command(parts, numbers, [])

    undo = redo = again = history

    def help(self, parts: Parts) -> s.Command:
        """`help`, `help sin`; the call that Python would have there, `help(sin)`, is the same."""
        topic = parts[1].strip("()") if len(parts) > 1 else ""
        options = [("word", s.String(topic, span=self.span(parts[1], parts[1])))] if topic else []
        return self.command(parts, [], options)

    # Blocks

    def simple_line(self, parts: Parts) -> s.Body:
        """The statements of a line. A `;` after an expression suppresses its output."""
        statements: list[s.Statement] = []
        for part in parts:
            if not isinstance(part, Token):
                statements.append(part)
            elif isinstance(last := statements[-1], s.Evaluate):
                statements[-1] = s.Evaluate(last.value, True, span=last.span)
        return tuple(statements)

    def lines(self, parts: Parts) -> s.Body:
        bodies = [part if isinstance(part, tuple) else (part,) for part in parts]
        return tuple([statement for body in bodies for statement in body])

    block = lines

    def program(self, parts: Parts) -> s.Body:
        body = self.lines(parts)
        _refuse_loose(body, in_function=False)
        return body

    def branch(self, parts: Parts) -> s.If:
        branches = tuple(zip(parts[1::3], parts[2::3], strict=False))
        otherwise = parts[-1] if len(parts) % 3 else ()  # behind `else`
        return s.If(branches, otherwise, span=self.span(parts[0], parts[-1]))

    while_loop = _node(s.While, 1, 2)

    def for_loop(self, parts: Parts) -> s.For:
        keyword, target, iterable, body = parts
        return s.For(self.target(target), iterable, body, span=self.span(keyword, body))

    no_grad, timed = _node(s.NoGrad, 1), _node(s.Time, 1)

    def fails(self, parts: Parts) -> s.Fails:
        keyword, kind, body = parts
        if kind not in KINDS:
            likely = suggest(kind, KINDS)
            usage = "" if likely else f"one of {' '.join(KINDS)}"
            raise syntax_error("kind", self.span(kind, kind), *likely, name=kind, usage=usage)
        return s.Fails(str(kind), body, span=self.span(keyword, body))

    # Functions

    def parameter(self, parts: Parts) -> s.Parameter:
        """`x`, `x: float = 2`, `*rest`, or `*` alone, behind which arguments are given by name."""
        name, *rest = parts
        span = self.span(parts[0], parts[-1])
        if name.type != "NAME":
            if name != "*":
                raise syntax_error("unexpected token", self.span(name, name), text=str(name))
            return s.Parameter(str(name) + (str(rest[0]) if rest else ""), None, span=span)
        gives = rest and self.source.text[: rest[-1].span.start].rstrip().endswith("=")
        return s.Parameter(str(name), rest[-1] if gives else None, span=span)

    plain_parameter = parameter

    def parameters(self, parts: Parts) -> tuple[s.Parameter, ...]:
        seen: set[str] = set()
        default = starred = False
        for parameter in parts:
            name = parameter.name.lstrip("*")
            if name in seen:
                raise syntax_error("repeated parameter", parameter.span, name=name)
            if starred and parameter.name[0] == "*":
                raise syntax_error("def", parameter.span)
            starred |= parameter.name[0] == "*"
            if default and parameter.default is None and not starred:
                raise syntax_error("parameter order", parameter.span, name=name)
            seen.add(name)
            default |= parameter.default is not None
        if parts and parts[-1].name == "*":
            raise syntax_error("def", parts[-1].span)
        return tuple(parts)

    plain_parameters = parameters

    def def_line(self, parts: Parts) -> s.Define:
        keyword, name, _, parameters, _, value = parts
        body = (s.Return(self.bound(value, [one.name for one in parameters]), span=value.span),)
        return s.Define(str(name), parameters, body, span=self.span(keyword, value))

    def def_block(self, parts: Parts) -> s.Define:
        keyword, name, _, parameters, *_, body = parts
        _refuse_loose(body, in_function=True)
        body = self.bound(body, [one.name for one in parameters])
        return s.Define(str(name), parameters, body, span=self.span(keyword, body))


_ORDERS = {"1": 1, "2": 2, "²": 2, "3": 3, "³": 3}


# Products and calls whose signs are left out.


def _is_plain(node: s.Expr) -> bool:
    """Whether an expression is a number, or a list of numbers, that could have a unit."""
    if isinstance(node, s.Unary):
        return node.op == "-" and _is_plain(node.operand)
    return isinstance(node, s.Number) or (isinstance(node, s.List) and all(map(_is_plain, node.items)))


def _is_group(node: s.Expr) -> bool:
    """Whether an operator with two operands is in brackets."""
    return isinstance(node, s.Binary) and node.span.start != node.left.span.start


def _is_implied(node: s.Expr) -> bool:
    """Whether a node is `2x`, without brackets around it."""
    return isinstance(node, s.Binary) and not _is_group(node) and node.sign is not None and not node.sign.text


def _last_factor(node: Any) -> Any:
    return node.right if _is_implied(node) else node


def _is_applied(node: Any) -> bool:
    """Whether a node is `sin x` or `sin²x`, whose argument has no brackets."""
    if isinstance(node, s.Binary) and node.op == "**" and node.left.span.end == node.span.end:
        node = node.left
    if not isinstance(node, s.Call) or not isinstance(node.function, s.Name) or len(node.arguments) != 1:
        return False
    behind = node.span.text[len(node.function.span.text) :].lstrip()
    is_function_first = node.function.span.start == node.span.start and node.function.span.end < node.span.end
    return is_function_first and node.span.text[0] != "√" and behind[:1] != "(" and node.span.text[-1] != ")"


def _argument(node: Any) -> Any:
    """The x of `sin x` and of `sin²x`."""
    call: Any = node.left if isinstance(node, s.Binary) else node
    return call.arguments[0]


def spelled(node: s.Expr) -> str:
    """The text of an expression with the signs that it leaves out, and digits for those of an exponent."""
    text, start = node.span.text, node.span.start
    places = [one.sign.start - start for one in s.nodes(node) if _is_implied(one)]  # type: ignore[attr-defined, arg-type]
    for place in sorted(places, reverse=True):
        text = f"{text[:place].rstrip()}*{text[place:]}"
    return "".join("-" if c == "⁻" else SUPERSCRIPTS.get(c, c) for c in text) if text[:1] in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" else text


_WORDS = {"pass": s.Pass, "break": s.Break, "continue": s.Continue}


def _refuse_loose(body: s.Body, in_function: bool) -> None:
    """Raises AgradError for a `return` outside of a function, or a `break` or `continue` outside of a loop."""
    waiting = [(body, False)]  # with whether it is in a loop
    found: list[s.Statement] = []
    while waiting:
        block, in_loop = waiting.pop()
        for statement in block:
            if isinstance(statement, s.Return | s.Break | s.Continue):
                if not (in_function if isinstance(statement, s.Return) else in_loop):
                    found.append(statement)
            else:  # a function has been searched when it was made
                inner = [statement.body] if isinstance(statement, s.Fails) else s.blocks(statement)
                inside = in_loop or isinstance(statement, s.For | s.While)
                waiting += [(one, inside) for one in inner]
    if (first := min(found, key=lambda statement: statement.span.start, default=None)) is not None:
        mistake = "return outside" if isinstance(first, s.Return) else "break outside"
        raise syntax_error(mistake, first.span, word=first.span.text.split()[0])


_CONSTANTS = frozenset("pi e tau inf nan _ ans".split())  # no unknowns of an equation


def _once(operands: Iterable[Any]) -> tuple[Any, ...]:
    """Names, or what a leaf is called, such as `net.weight`, without those that were there before."""
    return tuple({one.span.text: one for one in operands}.values())


def _gradient(node: s.Expr) -> tuple[s.Expr, str] | None:
    """The expression and the name of `grad(…, x)`."""
    match node:
        case s.Call(s.Name("grad"), (value, s.Name(name)), ()):
            return value, name
    return None


def _range(node: s.Expr) -> str:
    """The range that was probably meant by something else: range(0, 3), [0, 3], (0, 3)."""
    match node:
        case s.Call(s.Name("range" | "linspace" | "arange"), ends, ()) | s.List(ends) | s.Tuple(ends) if ends:
            texts = [one.span.text for one in ends]
            return "..".join(["0", *texts] if len(texts) == 1 else texts[:2])
    return "-2..2"
