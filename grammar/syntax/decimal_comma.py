"""The decimal comma: a text as a person types and sees it where the comma is the decimal mark, and as it is read.

A comma right between two digits is the decimal mark. In brackets `;` separates; so does any other comma. The two texts
have the same length, so that a place in one is a place in the other. Texts in quotes, and comments, stay as they are.
"""

from __future__ import annotations

import re

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Label
from agrad.grammar.diagnostics import Source, Span
from agrad.lazy import pattern

# A `'` behind a name or a bracket is that of a derivative.
_QUOTED = r'"(?:\\.|[^"\\\n])*"|(?<![\w)\'])\'(?:\\.|[^\'\\\n])*\''
_TYPED = pattern(rf"(?P<other>{_QUOTED}|#[^\n]*)|(?P<number>(?<!\w)\d+(?:[.,]\d+)*)|(?P<sign>[][(){{}};])")
_SHOWN = pattern(rf"(?P<other>{_QUOTED})|(?P<number>(?<!\w)(?<!\d\.)\d+(?:\.\d+)+)|(?P<sign>[][(){{}},])")
_UNCLEAR = pattern(
    rf"(?P<other>{_QUOTED}|#[^\n]*)|(?P<alone>\[\d+,\d+\])|(?P<called>\b[^\W\d]\w*)\((?P<given>\d+,\d+)\)|"
    r"(?P<number>(?<!\w)\d+(?:[.,]\d+)*)"
)
_THOUSANDS = r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?"


def pointed(text: str, is_final: bool = False) -> str:
    """A text that was typed, as it is read: `f(0,5; 2)` is `f(0.5, 2)`.

    Raises AgradError of kind `syntax` for `1.000` and `1,2,3` in a text that `is_final`.
    """
    if is_final:
        _refuse_others(text)
    depth, made = 0, [*text]
    for found in _TYPED.finditer(text):
        sign, number = found["sign"] or "", found["number"] or ""
        depth = max(depth + (sign in "([{") - (sign in ")]}"), 0) if sign else depth
        if sign == ";" and depth:
            made[found.start()] = ","
        elif number.count(",") == 1 and "." not in number:
            made[found.start() + number.index(",")] = "."
    return "".join(made)


def with_comma(text: str) -> str:
    """A text of agrad, as it is shown: `[0.5, 2]` is `[0,5; 2]`."""
    depth, made = 0, [*text]
    for found in _SHOWN.finditer(text):
        start, sign, number = found.start(), found["sign"] or "", found["number"] or ""
        depth = max(depth + (sign in "([{") - (sign in ")]}"), 0) if sign else depth
        near = re.search(r"[\d)\]]$", text[:start][-1:]) or re.match(r"\s*[-+±]?\.?\d", text[start + 1 : start + 40])
        if sign == "," and depth and near:
            made[start] = ";"
        elif number.count(".") == 1:
            made[start + number.index(".")] = ","
    return "".join(made)


def separated(text: str) -> str:
    """A text that was typed with `;` in place of each decimal comma in brackets."""
    return with_comma(re.sub(r"(?<=\d)\.(?=\d)", ",", pointed(text)))


def _refuse_others(text: str) -> None:
    """Raise AgradError for what may be one number or several, or one with marks of thousands."""
    for found in _UNCLEAR.finditer(text):
        known = FUNCTIONS.get(found["called"] or "")  # that may take one number, or two, as max and log
        is_either = known is not None and (known.signature.variadic or bool(known.signature.attributes))
        number = found["number"] or found["alone"] or (found[0] if is_either else "")
        commas = number.count(",")
        if re.fullmatch(_THOUSANDS, number):
            readings = [number.replace(".", "")] + [number.replace(".", ",")] * (commas + number.count(".") == 1)
        elif is_either:
            readings = [number.replace(",", "; "), f"{found['called']}(({found['given']}))"]
        elif commas > 1 or (commas and "." in number):
            readings = [number.replace(",", "; "), number.replace(",", "").replace(".", ",")]
        elif found["alone"]:
            is_index = re.search(r"[\w)\]]$", text[: found.start()])
            readings = [number.replace(",", "; "), *[f"{number[:-1]};]"] * (not is_index)]
        else:
            continue
        fixes = [(text[: found.start()] + one + text[found.end() :]).strip() for one in readings]
        labels = [Label(Span(Source("typed", text), *found.span()))]
        what = "one entry or two" if found["alone"] else "of one number or two" if is_either else "not one number"
        message = f"{number} is {what}: the decimal mark is a comma, and `;` separates in brackets"
        raise AgradError("syntax", message, labels=labels, fixes=fixes)
