"""The words and signs of the language: for the lexer, error messages, completion and help."""

from __future__ import annotations

from agrad.grammar.syntax.loader import saved
from agrad.lazy import Rows


def words(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())


# The words of commands, and of their options, are those of agrad.lark, as `make table` has saved them.
_WORDS = saved()["words"]
# Python's keywords, whether agrad uses them or not.
PYTHON = frozenset(_WORDS["PYTHON"])
# Commands that no value may be called after, because a statement beginning with them would be ambiguous: all words that
# agrad.lark has a pattern for and Python has not.
COMMANDS = frozenset(_WORDS["COMMANDS"])
RESERVED = PYTHON | COMMANDS
# Commands where a statement begins and a name follows (after `check` any expression, after `limit` also nothing, after
# `graphs` nothing); names everywhere else.
SOFT = frozenset(_WORDS["SOFT"])
# Those of them that a `:` follows; that nothing needs to follow; that take any expression.
HEADERS = frozenset(_WORDS["HEADERS"])
ALONE = frozenset(_WORDS["ALONE"])
BEFORE_VALUES = frozenset(_WORDS["BEFORE_VALUES"])
# Commands that are names wherever more follows than a number, as in `history = []`.
NAMES_TOO = frozenset({"history", "again", "redo"})
# Commands with a range of numbers.
RANGING = frozenset(_WORDS["RANGING"])
# The commands of a session, for completion, help and suggestions.
COMMAND_WORDS = COMMANDS | SOFT - {"fails", "no_grad"}

# The options of a command, and their terminals: words only after an operand of it.
OPTIONS: dict[str, dict[str, str]] = _WORDS["OPTIONS"]
# Those that no value follows.
FLAGS = frozenset(_WORDS["FLAGS"])

CLOSERS = {"(": ")", "[": "]", "{": "}"}

# Mathematical characters, as in papers and on telephones: each is read as an operator of agrad.
MATHEMATICS = dict.fromkeys("×⋅·∗", "*") | {"−": "-"} | dict.fromkeys("÷∕", "/")
MATHEMATICS |= {"≤": "<=", "≥": ">=", "≠": "!=", "π": "pi"}
# Of them, those that mean another product where both operands are vectors: the dot product, and the cross product.
PAPER_PRODUCTS = frozenset("·⋅×")
SUPERSCRIPTS = {character: str(digit) for digit, character in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}

# Characters that come with pasted text, and what to type instead.
_ALIKE = {"✕": "*", "⁄": "/", "≈": "~=", "…": "...", "∞": "inf", "∈": "in", "°": "*pi/180"}
LOOK_ALIKES = {
    **_ALIKE,
    **dict.fromkeys("–—‒", "-"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‘’‚‛′`´", "'"),
    "∛": "cbrt(x) for the cube root",
    "‖": "norm(v) for the length of a vector",
    "∑": "sum(k**2 for k in 1..3)",
    "∏": "prod(k for k in 1..3)",
    **dict(zip("，；：（）", ",;:()", strict=True)),
    **dict.fromkeys("\xa0\u2002\u2003\u2007\u2009\u202f\u3000", "an ordinary space"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", "no invisible character"),
    "∂": "grad(y, x) for the derivative of y by x",
    "∇": "grad(y, x), or grad(f)(2) of a function f,",
    "∘": "f(g(x)) of two functions f and g",
    "∫": "integral(f, 0, 1) of a function f",
    "&": "and, or * of arrays,",
    "|": "or, maximum(x, y) of arrays, abs(x) for |x|,",
    "!": "!= to compare, or not",
}

# Keywords of Python that agrad does not use, and what to write instead.
ABSENT = {
    **dict.fromkeys(("try", "except"), "to expect an error: fails domain: log(x)"),
    "raise": 'to stop with a message: assert x > 0, "x must be positive"',
    **dict.fromkeys(words("finally global nonlocal yield async await"), ""),
}

# Words that begin a definition in other languages; here a value is assigned to the name alone.
DECLARATIONS = words("let const final auto int float double real local my dim")

# Commands of other programs, and agrad's.
COMMANDS_ELSEWHERE = {
    **dict.fromkeys(("dump", "draw", "tree"), "graph"),
    **dict.fromkeys(("show", "display", "echo", "disp", "say", "println", "printf"), "print"),
    **dict.fromkeys(("delete", "remove", "unset"), "del"),
    **dict.fromkeys(("source", "include", "read"), "load"),
    "clear": "del",
    "syms": "var",
    "man": "help",
}

# Commands of other programs that agrad does not have, and what to write instead.
NO_COMMANDS = {
    **dict.fromkeys(
        ("precision", "digits", "format"),
        'print f"{x:.5g}"   for one value; agrad repl --precision 5, or precision = 5 in config.toml, for all',
    ),
    "function": "def f(x) = x**2, or def f(x): and an indented block",
    "using": "leave it out: there is nothing to import",
    **dict.fromkeys(("why", "debug", "diagnose"), "explain y, or backward y trace   shows where a gradient comes from"),
}

# What `set` turns on, off or to something else, and the words for that.
SETTABLE = {
    "echo": {"on": "says what a statement has changed", "off": "no longer"},
    "noise": {"on": "marks numbers that are rounding noise of their computation", "off": "no longer"},
    "plots": {
        "auto": "as pictures where the terminal can show them, else in braille",
        "braille": "always in braille",
        "kitty": "as pictures, by kitty's protocol",
    },
}

# How each statement with a fixed form is written; the table of commands adds theirs when it is loaded.
_OWN_SHAPES = {
    "var": "var x = 2",
    "del": "del x, y",
    "for": "for i in range(3): x = x + i",
    "import": "import torch",
    "from": "from torch import sin",
    "fails": "fails freed: backward d",
}
SHAPES: Rows[str] = Rows()
for _word, _shape in _OWN_SHAPES.items():
    SHAPES[_word] = _shape
