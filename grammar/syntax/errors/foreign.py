"""Recognisers of habits from elsewhere: what Python and other calculators read, and a misspelt option of a command.

They are called before all others, to which a word too many is like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.syntax.errors.context import ErrorContext
from agrad.grammar.syntax.errors.messages import syntax_error
from agrad.grammar.syntax.keywords import HEADERS, OPTIONS, SHAPES

# The words behind the operands of a command, also those that are words of Python: these are options everywhere.
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
    _, *written = [*context.statement[1:], context.bad]  # what stands first is the operand
    for token in reversed(written):
        known = near(token, _OPTIONS[head]) if token.type == "NAME" else []
        if known:
            place = context.span(token)
            before, behind = context.line_before(place.start), context.rest_of_line(place.end)
            instead = " or ".join(f"{before}{word}{behind}" for word in known)
            return syntax_error("option", place, word=str(token), command=head, instead=instead)
    return None


def near(word: str, options: Collection[str]) -> list[str]:
    """The options that a word may be a slip of; here also those of two letters in the wrong order."""
    swapped = [option for option in sorted(options) if len(word) == 2 and option == word[::-1]]
    return swapped or suggest(word, options)


def _assigned(context: ErrorContext) -> AgradError | None:
    """`x := 3`, `f(x) := x**2`: the sign of mathematics, where a statement may give a value."""
    place, head = context.bad.start_pos, context.head
    if context.bad.type != "_COLON" or context.open or not context.source.text.startswith(":=", place):
        return None
    if head.type not in ("NAME", "SET", "VAR"):
        return None
    target = context.text_of(head, context.previous)
    word = "def " if context.previous.type == "RPAR" else ""
    instead = f"{word}{target} = {context.rest_of_line(place + 2).strip()}"
    return syntax_error("becomes", Span(context.source, place, place + 2), instead=instead)


def _uncalled(context: ErrorContext) -> AgradError | None:
    """`sin x`, and `[1, 2; 3, 4]`: what other calculators read."""
    if context.bad.type == "SEMICOLON" and context.open and context.open[-1].type == "_LSQB":
        return syntax_error("rows", context.span(context.bad))
    head = context.head
    if len(context.statement) != 1 or head.type != "NAME" or head not in FUNCTIONS or head in SHAPES:
        return None
    if context.bad.type not in ("NAME", "NUMBER"):
        return None
    right = context.rest_of_line(context.bad.start_pos).partition("#")[0].strip()
    return syntax_error("brackets", context.span(context.bad), name=str(head), instead=f"{head}({right})")


def _star(context: ErrorContext) -> AgradError | None:
    """`f(*x)` and `[*x]`: an argument, or an entry, that begins with the sign."""
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
    return syntax_error("annotation", context.span(bad), instead=f"{target} {value}" if value else f"{target} = …")


RECOGNISERS: tuple[Callable[[ErrorContext], AgradError | None], ...] = (
    _option,
    _assigned,
    _annotation,
    _star,
    _uncalled,
)
