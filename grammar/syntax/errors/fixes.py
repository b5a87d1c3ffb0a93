"""The texts of fixes: the line of a mistake with something else in the place of it, as it can be typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agrad.grammar.diagnostics import Span

_LONGEST = 200  # characters of a line that is proposed
# The rest of a line up to its comment, and the comment; a # in quotes does not begin one.
_COMMENT = r"""^((?:[^#"']|"[^"]*"|'[^']*')*)#.*$"""
_PRODUCT = re.compile(r"(?<![\w.])(\d+(?:\.\d*)?|\.\d+)([^\W\d]\w*)")
_EXPONENT = re.compile(r"\d+(?:\.\d*)?[eE]\d*")
_DEFINITION = re.compile(r"[^\W\d]\w*\([^\W\d]\w*(?:, ?[^\W\d]\w*)*\)[ \t]*=[^=]")
_SEVERAL = re.compile(r"[^\W\d]\w*[ \t]*=[^=,;()\[\]{}\"']+(?:,[ \t]*[^\W\d]\w*[ \t]*=[^=,;()\[\]{}\"']+)+")


def short(fixes: Iterable[str]) -> list[str]:
    """Those fixes that are short enough to be shown as they are typed."""
    return [fix for fix in fixes if fix.isprintable() and len(fix) <= _LONGEST]


def corrected(span: Span, text: str) -> str:
    """The line of a place, with another text there; without its indentation and its comment."""
    source = span.source
    whole, start = source.line_at(span.start), source.position(span.start)[1] - 1
    behind = whole[start + span.end - span.start :]
    return (whole[:start] + text + re.sub(_COMMENT, r"\1", behind)).strip()


def derivative_of(text: str, by: str, point: str = "1") -> str:
    """The statement for the derivative of an expression."""
    return f"def f({by}) = {text}; grad(f)({point})"


def multiplied(text: str) -> str:
    """A text with the operators that are left out in `3x^2 + 2x`; an exponent such as that of 1e5 stays."""
    return _PRODUCT.sub(lambda found: found[0] if _EXPONENT.fullmatch(found[0]) else f"{found[1]}*{found[2]}", text)


def as_definition(line: str) -> str:
    """`f(x) = 3*x + 1` as the definition that it is; another line as it is."""
    return f"def {line}" if _DEFINITION.match(line) else line


def several_values(place: Span) -> list[str]:
    """`x = 2, y = 3`, and `var x = 2, y = 3`: the line of a place as two statements; nothing if it is neither."""
    line = corrected(Span(place.source, place.start, place.start), "")
    word = found[0] if (found := re.match(r"var[ \t]+", line)) else ""
    return [re.sub(r",[ \t]*", f"; {word}", line)] if _SEVERAL.fullmatch(line.removeprefix(word)) else []
