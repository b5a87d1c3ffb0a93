"""The notation of school mathematics: `f'(x)`, `d/dx x^2`, `ln x`, `|x|`, `x -> x^2`, and what is typed for it."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TYPE_CHECKING

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.engine.text import is_balanced
from agrad.grammar.diagnostics import Span
from agrad.grammar.pytorch.names import KNOWN_ELSEWHERE
from agrad.grammar.syntax.errors.fixes import corrected, derivative_of, multiplied
from agrad.grammar.syntax.errors.messages import syntax_error

if TYPE_CHECKING:
    from agrad.grammar.syntax.errors.context import ErrorContext

# `d/dx x^2`, and `d²/dx² x^2`, `d^2/dx^2 x^2`, `d2/dx2 x^2`
LEIBNIZ = re.compile(
    r"d(?:/d(?P<by>[^\W\d]\w*)|(?P<order>(?:\^|\*\*)?[23]|[²³])[ \t]*/[ \t]*d(?P<by_again>[^\W\d]\w*?)(?P=order))"
    r"[ \t]*(?P<text>[^#;\n]+)"
)
_PRIMED = re.compile(r"([^\W\d]\w*)('+)([ \t]*\()?")
_CALLED = re.compile(r"([^\W\d]\w*)('+)(?=[ \t]*\()")


def function_named(word: str) -> str:
    """The function that a word is called in agrad: `log` for `ln`; empty if it is none."""
    if word in FUNCTIONS:
        return word
    ours = KNOWN_ELSEWHERE.get(word, "")
    return ours.removesuffix("(…)") if ours.endswith("(…)") else ""


def primed(source_span: Span) -> AgradError | None:
    """`f'(x)`, whose `'` is at a place: the derivative of f. None if what stands there is another quote."""
    text, start = source_span.source.text, source_span.start
    begin = re.search(r"(?<!\w)[^\W\d]\w*'*$", text[:start])
    found = _PRIMED.match(text, begin.start()) if begin is not None else None
    if found is None or text[start : start + 1] != "'":
        return None
    name = found[1]
    place = Span(source_span.source, found.start(), found.end(2))
    fixes = []
    if found[3]:
        fixes = [_CALLED.sub(_as_grad, corrected(place, place.text))]
    instead = "" if found[3] else f"grad({name}, x), grad(f)(2) of a function f, or {name}.T transposed"
    return syntax_error("prime", place, fixes=fixes, name=found[0].rstrip(" \t("), instead=instead)


def _as_grad(found: re.Match[str]) -> str:
    """`f''` as `grad(grad(f))`."""
    return f"{'grad(' * len(found[2])}{found[1]}{')' * len(found[2])}"


def prime(context: ErrorContext) -> AgradError | None:
    """`f''(x)`, and `f'(x) + g'(x)`, which are read as texts behind a name."""
    bad, previous = context.bad, context.previous
    if previous.type != "NAME" or bad.type != "STRING" or not context.joined() or not bad.startswith("'"):
        return None
    return primed(context.span(bad)) if previous not in ("r", "b", "u", "f", "rb", "br") else None


def leibniz(context: ErrorContext) -> AgradError | None:
    """`d/dx x^2`, and `d/dx sin(x)`."""
    if not re.fullmatch("d[23]?", context.head) or context.open:
        return None
    found = LEIBNIZ.match(context.source.text, context.head.start_pos)
    if found is None or context.bad.start_pos < found.start("text"):
        return None
    place = Span(context.source, context.head.start_pos, found.start("text"))
    by, fix = by_leibniz(found)
    return syntax_error("leibniz", place, fixes=[fix], by=by)


def by_leibniz(found: re.Match[str], known: Container[str] = ()) -> tuple[str, str]:
    """The name by which `d/dx …` differentiates, and the derivative as it is written here: at x if it is known."""
    by, order, text = found["by"] or found["by_again"], found["order"], found["text"].strip()
    if text[0] in "([" and text[-1] in ")]" and is_balanced(text[1:-1]):
        text = text[1:-1].strip()
    return by, derivative_of(multiplied(text), by, by if by in known else "1", _ORDERS[order[-1]] if order else 1)


_ORDERS = {"2": 2, "²": 2, "3": 3, "³": 3}


def power(context: ErrorContext) -> AgradError | None:
    """`sin²x` and `sin^2 x`, the square of a sine, and `sin⁻¹ x`, its inverse."""
    bad, before = context.bad, context.before[-4:]
    if len(before) < 3:
        return None
    is_negative = len(before) == 4 and before[2] == "-"
    *tokens, exponent = before if is_negative else before[-3:]
    expected = ["NAME", "POWER", "SUM"] if is_negative else ["NAME", "POWER"]
    if [token.type for token in (*tokens, exponent)] != [*expected, "NUMBER"] or bad.type not in ("NAME", "NUMBER"):
        return None
    function = tokens[0]
    name = function_named(function)
    if not name or context.next_type in ("LPAR", "_DOT", "_LSQB"):
        return None
    place = Span(context.source, function.start_pos, bad.end_pos)
    fixes = [corrected(place, raised(name, f"({bad})", str(exponent), is_negative))]
    return syntax_error("brackets", context.span(bad), fixes=fixes, name=str(function))


def raised(name: str, given: str, exponent: str, is_negative: bool) -> str:
    """A power of a function at its argument in brackets; with the exponent -1, its inverse."""
    if is_negative and exponent == "1" and f"a{name}" in FUNCTIONS:
        return f"a{name}{given}"
    return f"{name}{given}^{'-' if is_negative else ''}{exponent}"


def arrow(context: ErrorContext) -> AgradError | None:
    """`x -> x^2`, a function without a name."""
    bad, previous = context.bad, context.previous
    if bad.type != "ARROW" or previous.type != "NAME":
        return None
    place = Span(context.source, previous.start_pos, bad.end_pos)
    fix = corrected(place, f"lambda {previous}:")
    if named := re.fullmatch(r"([^\W\d]\w*)[ \t]*:[ \t]*lambda (\w+):(.*)", fix):  # `f: x -> x^2`
        fix = f"def {named[1]}({named[2]}) ={named[3]}"
    return syntax_error("arrow", context.span(bad), fixes=[fix])


def defined(context: ErrorContext) -> AgradError | None:
    """`function f(x) = x^2`, and `let f(x) = x^2`."""
    head, bad = context.head, context.bad
    if len(context.statement) != 1 or head not in _DEFINING or bad.type != "NAME" or context.next_type != "LPAR":
        return None
    line = context.rest_of_line(bad.start_pos)
    if re.match(r"\w+[ \t]*\([\w, \t]*\)[ \t]*:?=", line) is None:
        return None
    whole = Span(context.source, head.start_pos, bad.start_pos)
    fix = re.sub(r"[ \t]*:=[ \t]*", " = ", corrected(whole, "def "), count=1)
    return syntax_error("defining word", context.span(head), fixes=[fix], word=str(head))


_DEFINING = frozenset("let const function func fun fn define".split())
RECOGNISERS = (leibniz, prime, power, arrow, defined)
