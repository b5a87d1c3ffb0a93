"""The messages of all syntax errors, which are in messages.txt: the text, and how to correct the error.

A new syntax error takes two changes. In messages.txt its name, the message, and texts that have it: a ‸ shows where the
caret is.

    triple equals: agrad has one sign for equality
      'a ==‸= b'

And, in recognisers.py, a function that is added to the list at the end of that file; its place there is its priority:

    def _triple_equals(context: ErrorContext) -> AgradError | None:
        if context.joined() != "===":
            return None
        return context.wrong("triple equals", context.place, fixes=[f"{context.head} == {context.following}"])

The lexer and the builder of the syntax tree raise the errors that they find themselves. The tests parse every example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from agrad.engine.errors import AgradError, Hint, Label, SyntaxMistake
from agrad.engine.text import beside, truncate
from agrad.grammar.diagnostics import Span
from agrad.lazy import pattern


# A message, with placeholders in braces, and after it how to correct the error in words; where they are filled with
# nothing these are left out. A fix, which is text to type, depends on the statement: it is passed to `syntax_error`;
# what stands behind `else:` is said where there is none.
@cache
def messages() -> dict[str, tuple[str, dict[str, str]]]:
    """By the name of each mistake: its message, and what is behind `fix` and `else`."""
    parts = re.findall(r"^([^ #].*?): (.*)\n((?:  .*\n)*)", beside(__file__, "messages.txt"), re.MULTILINE)
    hints = r"^  (fix|else): (.*)$"
    return {name: (text, dict(re.findall(hints, behind, re.MULTILINE))) for name, text, behind in parts}


# What is written after the caret; a terminal may have no such character as a `code` names.
_LABELS = {"look-alike": "{code}", "first indent": "this indentation"}


def syntax_error(message: str, span: Span, *edits: str, fixes: Sequence[str] = (), **words: str) -> AgradError:
    """The error with one message of the table, at a place; `words` fill the braces.

    `edits` are what may be typed there instead, `fixes` whole lines.
    """
    # A usage is agrad's own text, which is never too long.
    shown = {key: word if key == "usage" else _shown(word) for key, word in words.items()}
    text, hints = messages()[message]
    hint = (hints.get("fix") or ("" if edits or fixes else hints.get("else", ""))).format(**shown)
    return AgradError(
        "syntax",
        text.format(**shown),
        labels=[Label(span, _LABELS.get(message, "").format(**shown))],
        fixes=[*short([*(corrected(span, edit) for edit in edits), *fixes]), *([Hint(hint)] if hint else [])],
        facts=SyntaxMistake(message),
    )


def _shown(word: str) -> str:
    """A piece of the text for a message: short, and without control characters."""
    word = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in word)
    return truncate(word, 60)


# The texts of fixes: the line of a mistake with something else in the place of it, as it can be typed.

_LONGEST = 200  # characters of a line that is proposed
# The rest of a line up to its comment, and the comment; a # in quotes does not begin one.
_COMMENT = r"""^((?:[^#"']|"[^"]*"|'[^']*')*)#.*$"""
# A product without its sign; `sign` before it may divide by all of it, or by the number alone.
_PRODUCT = pattern(
    r"(?P<sign>(?:\^|\*\*|/|%|÷|√)[ \t]*-?[ \t]*)?(?<![\w.])(?P<number>\d+(?:\.\d*)?|\.\d+)(?P<name>[^\W\d]\w*)"
)
_EXPONENT = pattern(r"\d+(?:\.\d*)?[eE]\d*")
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


_CLOCK = pattern(r"(\d+):(\d\d)[ \t]*(h|hours?|min|minutes?)\b")


def clock(colon: Span) -> AgradError | None:
    """The error for a time of two units, `1:30 h`; None where a colon is in none."""
    source = colon.source
    found = next((one for one in _CLOCK.finditer(source.text) if one.end(1) == colon.start), None)
    if found is None:
        return None
    both = f"{found[1]} {found[3]} {found[2]} {'min' if found[3][0] == 'h' else 's'}"
    return syntax_error("clock", colon, fixes=[corrected(Span(source, *found.span()), both)])


def derivative_of(text: str, by: str, point: str = "1", order: int = 1) -> str:
    """The derivative of an expression at a point, or one of higher order."""
    function = text[: -len(f"({by})")] if re.fullmatch(rf"[^\W\d]\w*\({by}\)", text) else f"lambda {by}: {text}"
    return f"{'grad(' * order}{function}{')' * order}({point})"


def multiplied(text: str) -> str:
    """A text with the operators that are left out in `3x^2 + 2x`.

    An exponent such as that of 1e5 stays, and so does a product that may be read in two ways: `1/2x`.
    """

    def written(found: re.Match[str]) -> str:
        is_kept = found["sign"] is not None or _EXPONENT.fullmatch(found[0]) is not None
        return found[0] if is_kept else f"{found['number']}*{found['name']}"

    return _PRODUCT.sub(written, text)


def several_values(place: Span) -> list[str]:
    """`x = 2, y = 3`, and `var x = 2, y = 3`: the line of a place as two statements; nothing if it is neither."""
    line = corrected(Span(place.source, place.start, place.start), "")
    word = found[0] if (found := re.match(r"var[ \t]+", line)) else ""
    return [re.sub(r",[ \t]*", f"; {word}", line)] if _SEVERAL.fullmatch(line.removeprefix(word)) else []
