"""The signs that are left out on paper: `2x`, `(a + b)(a - b)`, `2πr`, `sin x`.

A sign is put in where the parser would not take the next token, so that no other text is read differently; before a
bracket, where what stands before it cannot be called. What two readings are left, `Builder` refuses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agrad.grammar.elsewhere import SCHOOL
from agrad.grammar.syntax import keywords
from agrad.grammar.syntax.units import end_of_unit

if TYPE_CHECKING:
    from agrad.grammar.syntax.lexer import Token

_ENDS = keywords.words("NUMBER RPAR BANG DEGREES BAR_END")
# Words between two operands, in other languages or here, which are no factors.
_BETWEEN = keywords.words(
    "at by div given mod near of over per rem respect then to using versus against vs when where wrt"
)
_ARITHMETIC = keywords.words("SUM PRODUCT POWER ROOT NUMBER")
_NOT_ARITHMETIC = keywords.words("_COMMA IF FOR LAMBDA COMPARISON AND OR NOT STRING FSTRING_START MEMBER IS _COLON")
_CALLABLE = keywords.words("NAME RSQB STRING FSTRING_END")


def is_function(word: str) -> bool:
    """Whether a word is the name of a function, and not that of a command as well."""
    from agrad.engine.core.op import FUNCTIONS  # here, since few texts leave out a sign

    is_known = word in FUNCTIONS or word in SCHOOL
    return is_known and word not in keywords.COMMAND_WORDS and word != "trace"  # an option of `backward`


def left_out(source: str, taken: Sequence[Token], item: Token, parser: Any) -> str:
    """The kind of the sign that is left out before the start of an operand: `TIMES`, `APPLY`, `ALONG`, or none.

    That is no more than a bracket, or what the parser would not take.
    """
    if not taken:
        return ""
    before = taken[-1]
    if item.type == "LPAR":
        ends = before.type in _ENDS - {"RPAR"} or (before.type == "RPAR" and _is_arithmetic(taken))
        return "TIMES" if ends and keywords.takes(parser, "TIMES") else ""
    if before.type not in ("NAME", *_ENDS):
        is_along = before.type == "MEASURE" and item.type in ("NUMBER", "MEASURED")  # `5 ft 3 in`
        return "ALONG" if is_along and end_of_unit(source, item.end_pos, keywords.RESERVED) > item.end_pos else ""
    sign = _sign(source, taken, item)
    return sign if sign and keywords.takes(parser, sign) else ""


def _sign(source: str, taken: Sequence[Token], item: Token) -> str:
    before, between = taken[-1], source[taken[-1].end_pos : item.start_pos]
    if "\n" in between or "\r" in between or (item.type == "NAME" and not _is_factor(source, taken, item)):
        return ""
    if before.type == "NAME":
        if is_function(before):
            return "APPLY"
        is_argument = len(taken) > 1 and taken[-2].type == "NAME" and is_function(taken[-2])  # `sin x y`
        is_known = item.type in ("ROOT", "BAR") or before == "pi" or is_function(item)
        is_power = item == "e" and re.compile(r"[ \t]*(?:\^|\*\*)").match(source, item.end_pos) is not None  # `x e^x`
        if item.type == "NUMBER" or not (is_known or is_power or is_argument):
            return ""
    elif before.type == "RPAR":  # no product: `@(x) x^2`
        return "" if item.type == "NUMBER" or _word_before(taken) in ("@", "function") else "TIMES"
    if item.type == "NUMBER" and before.type == "DEGREES":  # no product: `7° 30`
        return ""
    if item.type == "NUMBER" and _is_raised(taken):  # `sin² 2`
        return "TIMES"
    is_open = item.type == "NUMBER" or (len(taken) > 1 and taken[-2].type == "UNCERTAIN")  # `2 ± 0.1 x`
    return "" if before.type == "NUMBER" and is_open else "TIMES"


def _is_factor(source: str, taken: Sequence[Token], item: Token) -> bool:
    """Whether a name may be a factor: it is no misspelt option, and gets no value itself."""
    if item in _BETWEEN:
        return False
    place = len(taken) - 1
    while place and taken[place - 1].type not in ("_NEWLINE", "_INDENT", "_DEDENT", "SEMICOLON", "_COLON"):
        place -= 1
    gets_value = re.compile(r"[ \t]*=(?!=)").match(source, item.end_pos)
    if gets_value and any(token.type in ("_EQUAL", "LPAR") for token in taken[place:]):  # `y = 2 z = 3`
        return False
    if taken[place].type in ("NAME", "NUMBER"):
        return True
    return not keywords.near(item, keywords.OPTION_WORDS.get(str(taken[place]), ()))


def _is_raised(taken: Sequence[Token]) -> bool:
    """Whether the last tokens are the power of a function: `sin²`, `sin⁻¹`."""
    name = taken[-4:-3] if len(taken) > 3 and taken[-2] == "-" else taken[-3:-2]
    power = taken[-3:-2] if len(taken) > 3 and taken[-2] == "-" else taken[-2:-1]
    return bool(name and power and power[0].type == "POWER" and name[0].type == "NAME" and is_function(name[0]))


def _opener(taken: Sequence[Token], place: int) -> int:
    """Where the bracket was opened that is closed at a place."""
    depth = 0
    while place >= 0:
        depth += (taken[place].type in ("RPAR", "RSQB", "RBRACE")) - (taken[place].type in ("LPAR", "_LSQB", "LBRACE"))
        if not depth:
            return place
        place -= 1
    return 0


def _word_before(taken: Sequence[Token]) -> str:
    """What is called by the bracket that was closed last."""
    place = _opener(taken, len(taken) - 1)
    return str(taken[place - 1]) if place else ""


def _is_arithmetic(taken: Sequence[Token]) -> bool:
    """Whether the brackets that were closed last have a sum, a product, a power or a number, which cannot be called."""
    last, place = len(taken) - 1, len(taken) - 2
    kinds: set[str] = set()
    first = _opener(taken, last)
    while place > first:
        if taken[place].type in ("RPAR", "RSQB", "RBRACE"):
            place = _opener(taken, place)
        kinds.add(taken[place].type)
        place -= 1
    if not kinds & _ARITHMETIC or kinds & _NOT_ARITHMETIC:
        return False
    around = taken[first - 1].type if first else ""
    return around not in _CALLABLE and (around != "RPAR" or _is_arithmetic(taken[:first]))
