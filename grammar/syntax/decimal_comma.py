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
_NUMBER = r"(?P<number>(?<!\w)\d[\d_]*(?:[.,]\d+)*)"
_TYPED = pattern(rf"(?P<other>{_QUOTED}|#[^\n]*)|{_NUMBER}|(?P<sign>[][(){{}};])")
_SHOWN = pattern(rf"(?P<other>{_QUOTED})|(?P<number>(?<!\w)(?<!\d\.)\d+(?:\.\d+)+)|(?P<sign>[][(){{}},])")
_PAIR = r"[-+]?\d+,\d+"
_UNCLEAR = pattern(
    rf"(?P<other>{_QUOTED}|#[^\n]*)|(?P<alone>\[{_PAIR}\])|(?P<called>\b[^\W\d]\w*)\((?P<given>{_PAIR})\)|{_NUMBER}"
)
_VALUE = pattern(r"(?<!\{)\{[^{}\n]*\}(?!\})")  # in an f-string
_THOUSANDS = r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?"
_THOUSANDS_ELSEWHERE = r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?"


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
        elif found["other"] and text[: found.start()].endswith("f"):
            made[found.start() : found.end()] = _VALUE.sub(lambda value: pointed(value[0]), found[0])
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
        if what := _unclear(found)[0]:
            texts = [_UNCLEAR.sub(lambda one: _unclear(one)[1][0], text)]
            texts += [_UNCLEAR.sub(lambda one: _unclear(one)[1][-1], text)]
            labels = [Label(Span(Source("typed", text), *found.span()))]
            message = f"{found[0]} is {what}: the decimal mark is a comma, and `;` separates in brackets"
            raise AgradError("syntax", message, labels=labels, fixes=[*dict.fromkeys(map(str.strip, texts))])


def _unclear(found: re.Match[str]) -> tuple[str, list[str]]:
    """What a part of a text may be, and how it can be written instead; nothing, and itself, where it is clear."""
    text, before, number = found[0], found.string[: found.start()], found["number"] or ""
    known = FUNCTIONS.get(found["called"] or "")  # that may take one number, or two, as max and log
    if known is not None and (known.signature.variadic or known.signature.attributes):
        return "of one number or two", [text.replace(",", "; "), f"{found['called']}(({found['given']}))"]
    if found["alone"]:
        is_index = re.search(r"[\w)\]]$", before)
        return "one entry or two", [text.replace(",", "; "), *[f"{text[:-1]};]"] * (not is_index)]
    commas = number.count(",")
    if re.fullmatch(_THOUSANDS, number):
        is_one = commas + number.count(".") == 1
        return "not one number", [number.replace(".", ""), *[number.replace(".", ",")] * is_one]
    if commas > 1 or (commas and "." in number):
        is_inside = sum(map(before.count, "([{")) > sum(map(before.count, ")]}"))
        is_one = re.fullmatch(_THOUSANDS_ELSEWHERE, number) is not None
        several = number.replace(",", "; " if is_inside else ", ")
        return "not one number", [several, *[number.replace(",", "").replace(".", ",")] * is_one]
    return "", [text]
