"""Recognisers of the syntax of Python and of other calculators, and of a misspelt option of a command.

They are called before all others, which cannot tell these from any other superfluous word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.syntax.errors.context import ErrorContext
from agrad.grammar.syntax.errors.messages import corrected, derivative_of, syntax_error
from agrad.grammar.syntax.keywords import DECLARATIONS, HEADERS, OPTIONS, SHAPES, words
from agrad.grammar.syntax.lexer import OPERAND_ENDS, Token

_NOTHING_MORE = frozenset({"_NEWLINE", "$END", "SEMICOLON"})
_INFIX = {"mod": "%", "div": "//", "rem": "%"}
_DERIVATIVES = words("derivative gradient derive diff differentiate differential")

# The words after the operands of a command, also those that are words of Python: these are options everywhere.
_OPTIONS = {**OPTIONS, "graph": {*OPTIONS["graph"], "as", "from"}, "forward": {"with"}}


def _option(context: ErrorContext) -> AgradError | None:
    """A word that is almost an option of the command: the one that does not fit, or one taken for an operand."""
    head = str(context.head)
    if (
        context.head.type == "BACKWARD" and context.bad.type == "_EQUAL" and context.open
    ):  # backward(y, retain_graph=True)
        return syntax_error("shape", context.place, word=head, usage=SHAPES[head])
    if head not in _OPTIONS or context.head.type in ("NAME", "RESERVED"):
        return None
    _, *written = [*context.statement[1:], context.bad]  # the first one is the operand
    for token in reversed(written):
        known = near(token, _OPTIONS[head]) if token.type == "NAME" else []
        if known:
            place = context.span(token)
            fixes = [corrected(place, word) for word in known]
            return syntax_error("option", place, fixes=fixes, word=str(token), command=head)
    return None


def near(word: str, options: Collection[str]) -> list[str]:
    """The options that a word may be a misspelling of; two letters in the wrong order count as one, too."""
    swapped = [option for option in sorted(options) if len(word) == 2 and option == word[::-1]]
    return swapped or suggest(word, options)


def _assigned(context: ErrorContext) -> AgradError | None:
    """`x := 3`, `f(x) := x**2`: the `:=` of mathematics, where an assignment may stand."""
    place, head = context.bad.start_pos, context.head
    if context.bad.type != "_COLON" or context.open or not context.source.text.startswith(":=", place):
        return None
    if head.type not in ("NAME", "SET", "VAR"):
        return None
    target = context.text_of(head, context.previous)
    word = "def " if context.previous.type == "RPAR" else ""
    instead = f"{word}{target} = {context.rest_of_line(place + 2).strip()}"
    return syntax_error("becomes", Span(context.source, place, place + 2), fixes=[instead])


def _rows(context: ErrorContext) -> AgradError | None:
    """`[1, 2; 3, 4]`, as in MATLAB."""
    if context.bad.type == "SEMICOLON" and context.open and context.open[-1].type == "_LSQB":
        return syntax_error("rows", context.span(context.bad))
    return None


def _uncalled(context: ErrorContext) -> AgradError | None:
    """`sin x`, and `y = 2*sin x + 1`."""
    function, bad = context.previous, context.bad
    if function.type != "NAME" or function not in FUNCTIONS or (function in SHAPES and function is context.head):
        return None
    if bad.type not in ("NAME", "NUMBER") or context.breaks_between(function, bad):
        return None
    fixes = []
    if context.next_type not in ("LPAR", "_LSQB", "_DOT"):
        place = Span(context.source, function.start_pos, bad.end_pos)
        fixes = [corrected(place, f"{function}({bad})")]
    whole = context.rest_of_line(bad.start_pos)
    if not context.open and whole.partition("#")[0].strip() != bad:
        right = whole.partition("#")[0].rstrip()
        place = Span(context.source, function.start_pos, bad.start_pos + len(right))
        fixes.append(corrected(place, f"{function}({right})"))
    return syntax_error("brackets", context.span(bad), fixes=fixes, name=str(function))


def _root(context: ErrorContext) -> AgradError | None:
    """`√x²`, which is the root of the square in books, and the square of the root on calculators."""
    bad = context.bad
    root = next((token for token in reversed(context.statement) if token.type == "ROOT"), None)
    if root is None or bad.type != "POWER" or not isinstance(context.following, Token):
        return None
    place = Span(context.source, root.start_pos, context.following.end_pos)
    under, power = context.text_of(root, context.previous)[1:].strip(), str(context.following)
    fixes = [] if power == "-" else [f"sqrt({under}**{power})", f"sqrt({under})**{power}"]
    return syntax_error("root of a power", context.span(bad), fixes=[corrected(place, fix) for fix in fixes])


def _declared(context: ErrorContext) -> AgradError | None:
    """`let z = 4`."""
    head, bad = context.head, context.bad
    if len(context.statement) != 1 or head not in DECLARATIONS or bad.type != "NAME" or context.next_type != "_EQUAL":
        return None
    place = Span(context.source, head.start_pos, bad.start_pos)
    return syntax_error("declaration", context.span(head), fixes=[corrected(place, "")], word=str(head))


def _infix(context: ErrorContext) -> AgradError | None:
    """`5 mod 3`, `20% of 50`, `3 km to m`, `x**2 at x=3`."""
    bad, previous = context.bad, context.previous
    if previous == "%" and context.head is not bad and bad.type in _NOTHING_MORE | {"RPAR"}:
        return _percent(context, previous, "")
    if previous == "of" and len(context.before) > 1 and context.before[-2] == "%":
        return _percent(context, context.before[-2], context.rest_of_line(bad.start_pos))
    if bad.type != "NAME" or previous.type not in OPERAND_ENDS:
        return None
    if sign := _INFIX.get(bad):
        return syntax_error(
            "modulo", context.span(bad), fixes=[corrected(context.span(bad), sign)], word=bad, sign=sign
        )
    if bad in ("at", "where", "when") and context.next_type == "NAME" and not context.open:
        given = re.match(r"\w+[ \t]+(\w+[ \t]*=[^=].*)", context.rest_of_line(bad.start_pos).partition("#")[0])
        if given is not None:
            fix = f"{given[1].strip()}; {context.text_of(context.head, previous)}"
            return syntax_error("at", context.span(bad), fixes=[fix], word=str(bad))
    if previous.type == "NUMBER" and context.next_type in ("NAME", "_IN"):
        return syntax_error("units", context.span(bad))
    return None


def _percent(context: ErrorContext, sign: Token, behind: str) -> AgradError:
    """`20% of 50`, and a `%` that nothing follows."""
    number = context.before[context.before.index(sign) - 1]
    behind = behind.partition("#")[0].rstrip()
    start = context.bad.start_pos
    fixes: list[str] = []
    if behind and number.type == "NUMBER":
        place = Span(context.source, number.start_pos, start + len(behind))
        fixes = [corrected(place, f"{number}/100*{behind}")]
    instead = "" if fixes else f"{number}/100 for {number} percent"
    return syntax_error("percent", context.span(sign), fixes=fixes, instead=instead)


def _derivative(context: ErrorContext) -> AgradError | None:
    """`derivative of x**2`."""
    head, bad = context.head, context.bad
    if head not in _DERIVATIVES or head is bad or len(context.statement) > 2 or context.open:
        return None
    words = context.statement[1:]
    if (words and words != ["of"]) or (not words and bad.type not in ("NAME", "NUMBER")):
        return None
    text = context.rest_of_line(head.end_pos).partition("#")[0].strip()
    text = re.sub(r"^of\b[ \t]*", "", text)
    names = [name for name in re.findall(r"[^\W\d]\w*", text) if name not in FUNCTIONS and name not in ("pi", "e")]
    by = names[0] if names else "x"
    return syntax_error("derivative of", context.span(head), fixes=[derivative_of(text, by)], word=str(head))


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


def _star(context: ErrorContext) -> AgradError | None:
    """`f(*x)` and `[*x]`: an argument, or an entry, that begins with a star."""
    bad, end = context.bad, context.bad.end_pos
    if bad not in ("*", "**") or not context.open or context.previous.type not in ("LPAR", "_LSQB", "_COMMA"):
        return None
    if not re.match(r"[\w(\[]", context.source.text[end : end + 1]):
        return None
    if context.head.type == "DEF" and all(token.type != "_EQUAL" for token in context.statement):
        return syntax_error("def", context.span(bad))
    return syntax_error("star", context.span(bad), sign=str(bad))


def _annotation(context: ErrorContext) -> AgradError | None:
    """`x: float = 3`, `def f(x: float)`, `def f(x) -> float:`."""
    bad, head = context.bad, context.head
    if head.type == "DEF":
        inside = bad.type == "_COLON" and len(context.open) == 1 and context.previous.type == "NAME"
        if inside:
            return syntax_error("annotation", context.span(bad), instead=f"{context.previous} alone")
        arrow = bad == "-" and context.previous.type == "RPAR" and not context.open
        if arrow and context.source.text.startswith("->", bad.start_pos):
            place = Span(context.source, bad.start_pos, bad.start_pos + 2)
            return syntax_error("annotation", place, instead=f"{context.text_of(head, context.previous)}:")
        return None
    if bad.type != "_COLON" or context.open or {token.type for token in context.statement} - {"NAME", "_DOT"}:
        return None
    rest = context.rest_of_line(bad.start_pos)
    annotated = re.match(r":[^=]*", rest)
    header = len(context.statement) == 1 and (suggest(str(head), HEADERS) or head in SHAPES)  # a misspelt `time:`
    if not context.statement or header or not re.match(r":[ \t]*[^\W\d]", rest) or annotated is None:
        return None
    target = context.text_of(head, context.previous)
    value = rest[annotated.end() :].partition("#")[0].rstrip()
    if value:
        return syntax_error("annotation", context.span(bad), fixes=[f"{target} {value}"], instead="")
    return syntax_error("annotation", context.span(bad), instead=f"{target} = …")


RECOGNISERS: tuple[Callable[[ErrorContext], AgradError | None], ...] = (
    _option,
    _assigned,
    _annotation,
    _star,
    _rows,
    _derivative,
    _root,
    _declared,
    _infix,
    _uncalled,
)
