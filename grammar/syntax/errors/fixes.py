"""The texts of fixes: the line of a mistake with something else in the place of it, as it can be typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agrad.engine.errors import Hint
from agrad.engine.lazy import pattern
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.keywords import SUPERSCRIPTS

_LONGEST = 200  # characters of a line that is proposed
# The rest of a line up to its comment, and the comment; a # in quotes does not begin one.
_COMMENT = r"""^((?:[^#"']|"[^"]*"|'[^']*')*)#.*$"""
# A product without its sign; `sign` before it may divide by all of it, or by the number alone.
_PRODUCT = pattern(
    r"(?P<sign>(?:\^|\*\*|/|%|÷|√)[ \t]*-?[ \t]*)?(?<![\w.])(?P<number>\d+(?:\.\d*)?|\.\d+)(?P<name>[^\W\d]\w*)"
)
# What belongs to the second factor: a call, and a power.
_FACTOR = pattern(rf"(?:\([^()\n]*\))?(?:[ \t]*(?:\^|\*\*)[ \t]*[\w.]+|[{''.join(SUPERSCRIPTS)}]+)?(?![\w.(\[])")
_IN_BRACES = pattern(r"(\^|\*\*)\{([^{}]*)\}")
_EXPONENT = pattern(r"\d+(?:\.\d*)?[eE]\d*")
_DEFINITION = pattern(r"[^\W\d]\w*\([^\W\d]\w*(?:, ?[^\W\d]\w*)*\)[ \t]*=[^=]")
_SEVERAL = pattern(r"[^\W\d]\w*[ \t]*=[^=,;()\[\]{}\"']+(?:,[ \t]*[^\W\d]\w*[ \t]*=[^=,;()\[\]{}\"']+)+")


def short(fixes: Iterable[str]) -> list[str]:
    """Those fixes that are short enough to be shown as they are typed."""
    return [fix for fix in fixes if fix.isprintable() and len(fix) <= _LONGEST]


def corrected(span: Span, text: str) -> str:
    """The line of a place, with another text there; without its indentation and its comment."""
    source = span.source
    whole, start = source.line_at(span.start), source.position(span.start)[1] - 1
    behind = whole[start + span.end - span.start :]
    return (whole[:start] + text + re.sub(_COMMENT, r"\1", behind)).strip()


def derivative_of(text: str, by: str, point: str = "1", order: int = 1) -> str:
    """The derivative of an expression at a point, or one of higher order."""
    function = text[: -len(f"({by})")] if re.fullmatch(rf"[^\W\d]\w*\({by}\)", text) else f"lambda {by}: {text}"
    return f"{'grad(' * order}{function}{')' * order}({point})"


def multiplied(text: str) -> str:
    """A text with the operators that are left out in `3x^2 + 2x`.

    An exponent such as that of 1e5 stays, and so does a product that may be read in two ways: `1/2x`.
    """
    return _PRODUCT.sub(lambda found: found[0] if _is_kept(found) else f"{found['number']}*{found['name']}", text)


def _is_kept(found: re.Match[str]) -> bool:
    return found["sign"] is not None or _EXPONENT.fullmatch(found[0]) is not None


def readings(number: Span, name: str) -> list[str]:
    """The line of `2x` with its sign; two lines where `1/2x` may be `1/(2*x)` or `1/2*x`. The name follows at once."""
    source, end = number.source, number.end + len(name)
    line_start = number.start - source.position(number.start)[1] + 1
    before = re.search(r"(?:\^|\*\*|/|%|÷|√)[ \t]*(-?)[ \t]*$", source.text[line_start : number.start])
    product = f"{number.text}*{name}"
    lines = [corrected(Span(source, number.start, end), product)]
    behind = _FACTOR.match(source.text, end)
    if before is not None and behind is not None:
        start = number.start - len(before[0]) + before.start(1) - before.start()
        lines.insert(0, corrected(Span(source, start, behind.end()), f"({before[1]}{product}{behind[0]})"))
    lines = [multiplied(_IN_BRACES.sub(r"\1(\2)", line)) for line in lines]
    if any(found["sign"] for found in _PRODUCT.finditer(lines[0])):
        return [Hint(f"{product}, and brackets around what divides or is a power: 1/(2*x), e^(2*x)")]
    return [line if re.search("[\"']", line) else as_definition(line) for line in lines]


def as_definition(line: str) -> str:
    """`f(x) = 3*x + 1` as the definition that it is; another line as it is."""
    return f"def {line}" if _DEFINITION.match(line) else line


def several_values(place: Span) -> list[str]:
    """`x = 2, y = 3`, and `var x = 2, y = 3`: the line of a place as two statements; nothing if it is neither."""
    line = corrected(Span(place.source, place.start, place.start), "")
    word = found[0] if (found := re.match(r"var[ \t]+", line)) else ""
    return [re.sub(r",[ \t]*", f"; {word}", line)] if _SEVERAL.fullmatch(line.removeprefix(word)) else []
