"""Recognisers of the words and signs of Python and of other calculators, and of a misspelt option of a command.

They are called before all others, which cannot tell these from any other superfluous word.
"""

from __future__ import annotations

import re
from itertools import pairwise

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Hint
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.syntax.errors.context import ErrorContext, Recognisers
from agrad.grammar.syntax.errors.messages import clock, corrected, derivative_of, multiplied
from agrad.grammar.syntax.errors.notation import spelled_out
from agrad.grammar.syntax.keywords import DECLARATIONS, HEADERS, OPTION_WORDS, SHAPES, near, words
from agrad.grammar.syntax.lexer import OPERAND_ENDS, Token

_NOTHING_MORE = frozenset({"_NEWLINE", "$END", "SEMICOLON"})
_INFIX = {"mod": "%", "div": "//", "rem": "%"}
_DERIVATIVES = words("derivative gradient derive diff differentiate differential")


def _option(context: ErrorContext) -> AgradError | None:
    """A word that is almost an option of the command: the one that does not fit, or one taken for an operand."""
    head = str(context.head)
    # such as `backward(y, retain_graph=True)`
    if context.head.type == "BACKWARD" and context.bad.type == "_EQUAL" and context.open:
        fixes = spelled_out(head, context.rest_of_line(context.head.end_pos))
        return context.wrong("shape", context.place, fixes=fixes, word=head, usage=SHAPES[head])
    if head not in OPTION_WORDS or context.head.type in ("NAME", "RESERVED"):
        return None
    _, *written = [*context.statement[1:], context.bad]  # the first one is the operand
    for token in reversed(written):
        known = near(token, OPTION_WORDS[head]) if token.type == "NAME" else []
        if known:
            return context.wrong("option", token, *known, word=token, command=head)
    return None


def _root(context: ErrorContext) -> AgradError | None:
    """`√x²`, which is the root of the square in books, and the square of the root on calculators."""
    bad = context.bad
    root = next((token for token in reversed(context.statement) if token.type == "ROOT"), None)
    if root is None or bad.type != "POWER" or not isinstance(context.following, Token):
        return None
    place = context.across(root, context.following)
    under, power = context.text_of(root, context.previous)[1:].strip(), str(context.following)
    fixes = [] if power == "-" else [f"sqrt({under}**{power})", f"sqrt({under})**{power}"]
    return context.wrong("root of a power", bad, fixes=[corrected(place, fix) for fix in fixes])


def _declared(context: ErrorContext) -> AgradError | None:
    """`let z = 4`."""
    head, bad = context.head, context.bad
    if len(context.statement) != 1 or head not in DECLARATIONS or bad.type != "NAME" or context.next_type != "_EQUAL":
        return None
    return context.wrong("declaration", head, fixes=[corrected(context.until(head, bad.start_pos), "")], word=head)


def _infix(context: ErrorContext) -> AgradError | None:
    """`5 mod 3`, `20% of 50`, `x**2 at x=3`."""
    bad, previous = context.bad, context.previous
    if bad.type != "NAME" or previous.type not in OPERAND_ENDS:
        return None
    if sign := _INFIX.get(bad):
        return context.wrong("modulo", bad, sign, word=bad, sign=sign)
    if bad in ("at", "where", "when") and context.next_type == "NAME" and not context.open:
        given = re.match(r"\w+[ \t]+(\w+[ \t]*=[^=].*)", context.rest_of_line(bad.start_pos).partition("#")[0])
        if given is not None:
            left = context.text_of(context.head, previous)
            fix = f"{given[1].strip()}; {left}"
            known = Hint(f"forward {left} with {given[1].strip()}   if {left} has been computed already")
            fixes = [known, fix] if left.isidentifier() else [fix]
            return context.wrong("at", bad, fixes=fixes, word=bad)
    return None


def _derivative(context: ErrorContext) -> AgradError | None:
    """`derivative of x**2`."""
    head, bad = context.head, context.bad
    if head not in _DERIVATIVES or head is bad or len(context.statement) > 2 or context.open:
        return None
    words = context.statement[1:]
    if (words and words != ["of"]) or (not words and bad.type not in ("NAME", "NUMBER")):
        return None
    text = re.sub(r"^of\b[ \t]*", "", context.rest_of_line(head.end_pos).partition("#")[0].strip())
    names = [name for name in re.findall(r"[^\W\d]\w*", text) if name not in FUNCTIONS and name not in ("pi", "e")]
    fixes = [derivative_of(text, names[0] if names else "x")]
    if text.isidentifier():
        fixes = [Hint(f"grad({text})(1)   of a function"), Hint(f"grad({text}, x)   of a value {text} by a leaf x")]
    return context.wrong("derivative of", head, fixes=fixes, word=head)


_OVER = re.compile(
    r"for[ \t]+(?P<name>\w+)[ \t]+in[ \t]+"
    r"((?P<low>[^.,()\[\]]+)\.\.(?P<high>[^.,()\[\]]+)|range\((?P<bounds>[^()]+)\)|(?P<values>[\w.]+))"
    r"[ \t]*(?P<rest>[)\]].*)"
)


def comprehended(context: ErrorContext) -> list[str]:
    """`sum(1/k**2 for k in 1..9)` by a vector: `k = arange(1, 9 + 1); sum(1/k**2)`."""
    found = _OVER.fullmatch(context.rest_of_line(context.bad.start_pos).partition("#")[0].rstrip())
    opener = context.open[-1]
    if found is None or context.breaks_between(context.head, context.bad):
        return []
    values = (
        found["values"] or f"arange({found['bounds'] or found['low'].strip() + ', ' + found['high'].strip() + ' + 1'})"
    )
    before = context.source.text[context.head.start_pos : opener.start_pos]
    inside = context.source.text[opener.end_pos : context.bad.start_pos].strip()
    given = "" if found["name"] == values else f"{found['name']} = {values}; "
    return [f"{given}{before}({inside}){found['rest'][1:]}"]


def _misspelt_header(context: ErrorContext) -> AgradError | None:
    """`no_gard: w -= 1`, which begins as `x: float = 3` does; `if x { y }`, whose block is in braces."""
    if context.bad.type == "LBRACE" and not context.open and context.previous.type in OPERAND_ENDS:
        return context.wrong("braces", context.bad)
    head = context.line_head
    pairs = pairwise([*context.before, context.bad])
    colon = next((second for first, second in pairs if first is head), context.bad)
    likely = suggest(str(head), HEADERS) if head.type == "NAME" and colon.type == "_COLON" else []
    if not likely or context.open:
        return None
    return context.wrong("no command", head, *likely, word=head)


RECOGNISERS: Recognisers = (_option, _misspelt_header, _derivative, _root, _declared, _infix)


# Recognisers of signs of other languages: `===`, `%*%`, `.*`, `1:3`, `@(x) x^2`, `[1 2; 3 4]`.

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
            sign, instead, fixes = place.text, _SIGNS[place.text], []
            if sign == "=>" and "=" in context.statement[1:-2]:  # f = x => x**2
                name = context.statement[-2]
                fixes = [corrected(context.until(name, ends[0]), f"lambda {name}:")]
            return context.wrong("misspelt sign", place, *([instead] if instead else []), fixes=fixes, sign=sign)
    return context.wrong("arrow sign", bad) if bad.type == "ARROW" else None


def _by_entry(context: ErrorContext) -> AgradError | None:
    """`v .* w` and `sin.(v)`, whose dot says that each entry is meant."""
    dot, bad = context.previous, context.bad
    if dot.type != "_DOT" or bad.type not in _APPLIED or dot.end_pos != bad.start_pos:
        return None
    line = corrected(Span(context.source, dot.start_pos, dot.start_pos), "")
    fixes = [] if re.search("[\"']", line) else [_DOT.sub("", line)]
    return context.wrong("by entry", dot, fixes=fixes)


def _anonymous(context: ErrorContext) -> AgradError | None:
    """`@(x) x^2` and `function(x) x^2`, functions without a name."""
    bad = context.bad
    at, line = context.source.position(bad.start_pos)[1] - 1, context.source.line_at(bad.start_pos)
    line_start = bad.start_pos - at
    if bad != "@" and context.previous != ")":
        return None
    found = next((one for one in _ANONYMOUS.finditer(line) if one.start() <= at <= one.end()), None)
    if found is None:
        return None
    place = Span(context.source, line_start + found.start(), line_start + found.end())
    fix = multiplied(_DOT.sub("", corrected(place, f"lambda {found[1].strip()}: ")))
    fix = re.sub(r"^(\w+)[ \t]*(?:<-|=)[ \t]*lambda ([\w, \t]*):", r"def \1(\2) =", fix)
    return context.wrong("anonymous", place, fixes=[fix], sign=found[0].partition("(")[0].strip())


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
        return context.wrong("rows", context.bad, fixes=matrix(context))
    return None


def _clock(context: ErrorContext) -> AgradError | None:
    """`x = 1:30 h`, an hour and a half."""
    return clock(context.span(context.bad)) if context.bad == ":" else None


def _range(context: ErrorContext) -> AgradError | None:
    """`x = 1:5` and `0:0.1:1`, the numbers from one to another."""
    if context.bad.type != "_COLON":
        return None
    read = [*context.before[-3:], context.bad]
    first = read[0] if len(read) == 4 and read[1].type == "_COLON" else context.previous
    found = _RANGE.match(context.source.text, first.start_pos)
    if found is None:
        return None
    numbers, head = _numbers(*found.groups()), context.head
    if found[3] is None and found[2].isdecimal() and float(found[1]) > float(found[2]):
        return context.wrong("range of numbers", context.place, "/")
    fixes = [corrected(Span(context.source, *found.span()), numbers)] if numbers else []
    fixes = spelled_out(head, context.rest_of_line(head.end_pos)) if head in ("plot", "solve") else fixes
    return context.wrong("range of numbers", context.place, fixes=fixes)


def _numbers(low: str, second: str, last: str | None) -> str:
    """The numbers of `low:high`, or `low:step:high`, as a call; empty where the step does not lead to the last."""
    if last is None:
        return f"arange({low}, {int(second) + 1 if second.isdecimal() else f'{second} + 1'})"
    try:
        steps = (float(last) - float(low)) / float(second)
    except (ValueError, ZeroDivisionError):
        return ""
    return f"linspace({low}, {last}, {round(steps) + 1})" if abs(steps - round(steps)) < 1e-9 and steps > 0 else ""


SIGNS: Recognisers = (_anonymous, _by_entry, _sign, _rows, _clock, _range)
