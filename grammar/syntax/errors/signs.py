"""Recognisers of signs of other languages: `===`, `%*%`, `.*`, `1:3`, `@(x) x^2`, `[1 2; 3 4]`."""

from __future__ import annotations

import re
from collections.abc import Callable

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.errors.context import ErrorContext
from agrad.grammar.syntax.errors.fixes import corrected, multiplied
from agrad.grammar.syntax.errors.messages import syntax_error

# Signs that are read as several operators, and what to type in their place, if there is anything.
_SIGNS = {"=<": "<=", "=>": ">=", "<>": "!=", "=!": "!=", "===": "==", "!==": "!=", "++": " += 1", "--": " -= 1"}
_SIGNS |= {"%%": "%", "%/%": "//", "%*%": "@", "%in%": "in", "<<": "", ">>": ""}
_LONGEST = max(map(len, _SIGNS))
_APPLIED = frozenset({"PRODUCT", "POWER", "SUM", "LPAR"})
_DOT = re.compile(r"(?<=[\w)\] ])\.(?=[*/^(]|[-+] )")
_ANONYMOUS = re.compile(r"(?:@|\bfunction\b)[ \t]*\(([\w, \t]*)\)[ \t]*")
_CELL = re.compile(r"[-+]?[\w.]+")
_RANGE = re.compile(r"([\d.]+)[ \t]*:[ \t]*([\w.]+)(?:[ \t]*:[ \t]*([\w.]+))?")


def _sign(context: ErrorContext) -> AgradError | None:
    """`x === 2` and `A %*% v`: a sign that is read as several operators."""
    text, bad, previous = context.source.text, context.bad, context.previous
    for token in (*context.before[-2:], bad):
        start = token.start_pos
        ends = [end for end in range(start + _LONGEST, start, -1) if text[start:end] in _SIGNS]
        if ends and (ends[0] > bad.start_pos or ends[0] == previous.end_pos):
            place = Span(context.source, start, ends[0])
            sign, instead = place.text, _SIGNS[place.text]
            fixes = [corrected(place, instead)] if instead else []
            if sign == "=>" and "=" in context.statement[1:-2]:  # f = x => x**2
                name = context.statement[-2]
                fixes.append(corrected(Span(context.source, name.start_pos, ends[0]), f"lambda {name}:"))
            return syntax_error("misspelt sign", place, fixes=fixes, sign=sign, instead="")
    if bad.type == "ARROW":
        return syntax_error("misspelt sign", context.span(bad), sign="->", instead="def f(x) = x**2   for a function")
    return None


def _by_entry(context: ErrorContext) -> AgradError | None:
    """`v .* w` and `sin.(v)`, whose dot says that each entry is meant."""
    dot, bad = context.previous, context.bad
    if dot.type != "_DOT" or bad.type not in _APPLIED or dot.end_pos != bad.start_pos:
        return None
    line = corrected(Span(context.source, dot.start_pos, dot.start_pos), "")
    fixes = [] if re.search("[\"']", line) else [_DOT.sub("", line)]
    return syntax_error("by entry", context.span(dot), fixes=fixes)


def _anonymous(context: ErrorContext) -> AgradError | None:
    """`@(x) x^2` and `function(x) x^2`, functions without a name."""
    bad = context.bad
    line_start = bad.start_pos - context.source.position(bad.start_pos)[1] + 1
    line = context.source.line_at(bad.start_pos)
    if bad != "@" and context.previous != ")":
        return None
    at = bad.start_pos - line_start
    found = next((one for one in _ANONYMOUS.finditer(line) if one.start() <= at <= one.end()), None)
    if found is None:
        return None
    place = Span(context.source, line_start + found.start(), line_start + found.end())
    fix = multiplied(_DOT.sub("", corrected(place, f"lambda {found[1].strip()}: ")))
    fix = re.sub(r"^(\w+)[ \t]*(?:<-|=)[ \t]*lambda ([\w, \t]*):", r"def \1(\2) =", fix)
    return syntax_error("anonymous", place, fixes=[fix], sign=found[0].partition("(")[0].strip())


def matrix(context: ErrorContext) -> list[str]:
    """`[1 2; 3 4]`: the line with a list of rows; nothing where the entries are not all numbers and names."""
    opener = context.open[-1]
    inside = re.compile(r"[^\[\]()\"'#]*(?=\])").match(context.source.text, opener.end_pos)
    if inside is None:
        return []
    rows = [re.split(r"[ \t]*,[ \t]*|\s+", row.strip()) for row in inside[0].strip().strip(";").split(";")]
    if not all(_CELL.fullmatch(cell) for row in rows for cell in row):
        return []
    texts = [f"[{', '.join(row)}]" for row in rows]
    place = Span(context.source, opener.start_pos, inside.end() + 1)
    return [corrected(place, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")]


def _rows(context: ErrorContext) -> AgradError | None:
    """`[1, 2; 3, 4]`, as in MATLAB."""
    if context.bad.type == "SEMICOLON" and context.open and context.open[-1].type == "_LSQB":
        fixes = matrix(context)
        instead = "" if fixes else "put each row in its own brackets: [[1, 2], [3, 4]]"
        return syntax_error("rows", context.span(context.bad), fixes=fixes, instead=instead)
    return None


def _range(context: ErrorContext) -> AgradError | None:
    """`x = 1:5` and `0:0.1:1`, the numbers from one to another."""
    if context.bad.type != "_COLON":
        return None
    read = [*context.before[-3:], context.bad]
    first = read[0] if len(read) == 4 and read[1].type == "_COLON" else context.previous
    found = _RANGE.match(context.source.text, first.start_pos)
    if found is None:
        return None
    numbers = _numbers(*found.groups())
    fixes = [corrected(Span(context.source, *found.span()), numbers)] if numbers else []
    instead = "" if fixes else "arange(1, 4) is 1, 2, 3; linspace(0, 1, 11) are 11 numbers from 0 to 1"
    return syntax_error("range of numbers", context.place, fixes=fixes, instead=instead)


def _numbers(low: str, second: str, last: str | None) -> str:
    """The numbers of `low:high`, or `low:step:high`, as a call; empty where the step does not lead to the last."""
    if last is None:
        return f"arange({low}, {int(second) + 1 if second.isdecimal() else f'{second} + 1'})"
    try:
        steps = (float(last) - float(low)) / float(second)
    except (ValueError, ZeroDivisionError):
        return ""
    return f"linspace({low}, {last}, {round(steps) + 1})" if abs(steps - round(steps)) < 1e-9 and steps > 0 else ""


RECOGNISERS: tuple[Callable[[ErrorContext], AgradError | None], ...] = (_anonymous, _by_entry, _sign, _rows, _range)
