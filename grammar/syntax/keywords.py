"""The words and signs of the language: for the lexer, error messages, completion and help."""

from __future__ import annotations

import os
import re


def words(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())


def _grammar() -> str:
    """The text of agrad.lark."""
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "agrad.lark")
    with open(path, encoding="utf-8") as file:
        return file.read()


# Python's keywords, whether agrad uses them or not.
PYTHON = words(
    """if elif else for in while def return break continue pass and or not is None True False del assert
    import from with as lambda class try except finally raise global nonlocal yield async await"""
)
# The words of commands, and of their options, are those of agrad.lark.
_GRAMMAR = _grammar()
_RULES = dict(re.findall(r"^[?!]?([a-z_]+): (.*(?:\n +\|.*)*)", _GRAMMAR, re.MULTILINE))
# Words that are names in other places, so that the grammar only declares them; what is no word it declares in the line
# that begins with `_NEWLINE`.
_DECLARED = words(" ".join(re.findall(r"^%declare ([A-Z].*)$", _GRAMMAR, re.MULTILINE)))


def _first() -> dict[str, re.Match[str]]:
    """The terminals that statements begin with, each with its place in the rule of the statement."""
    names = re.findall(r"[a-z_]+", f"{_RULES['line']} {_RULES['simple']}")
    starts = {name: re.match(r"\(?([A-Z_]+(?: \| [A-Z_]+)*)\)?", _RULES[name]) for name in names if name in _RULES}
    return {name: start for name, start in starts.items() if start is not None}


def _options(rule: str, start: re.Match[str]) -> dict[str, str]:
    """The words of options in the rule of a command, each with its terminal."""
    rest = start.string[start.end() :] + _RULES.get(f"{rule}_option", "")
    return {terminal.lower(): terminal for terminal in re.findall(r"[A-Z_]{2,}", rest) if terminal in _DECLARED}


_FIRST = _first()
# Commands that no value may be called after, because a statement beginning with them would be ambiguous: all words that
# agrad.lark has a pattern for and Python has not.
COMMANDS = frozenset(re.findall(r'^_?[A-Z_]+: "([a-z_]+)"$', _GRAMMAR, re.MULTILINE)) - PYTHON
RESERVED = PYTHON | COMMANDS
# Commands where a statement begins and a name follows (after `check` any expression, after `limit` also nothing, after
# `graphs` nothing); names everywhere else.
SOFT = frozenset(
    terminal.lower() for start in _FIRST.values() for terminal in start[1].split(" | ") if terminal in _DECLARED
)
# Those of them that a `:` follows.
HEADERS = frozenset(word for word in SOFT if re.search(rf"\b{word.upper()} _COLON\b", _GRAMMAR))
# Those of them that nothing needs to follow.
ALONE = frozenset(
    word for word in SOFT if re.search(rf"^\w+: {word.upper()}(?: \(.*\)\?)?(?: ->|$)", _GRAMMAR, re.MULTILINE)
)
# Those of them that take any expression.
BEFORE_VALUES = frozenset(
    word for word in SOFT if re.search(rf"\b{word.upper()}(( \| [A-Z_]+)*\))? (expression|values)\b", _GRAMMAR)
)
# Commands with a range of numbers.
RANGING = frozenset(
    word.lower()
    for rule in ("plot", "contour", "solve", "minimize", "again")
    for word in _FIRST[rule][1].split(" | ")
    if "_RANGE" in _RULES[rule] + _RULES.get(f"{rule}_option", "")
)
# The commands of a session, for completion, help and suggestions.
COMMAND_WORDS = COMMANDS | SOFT - {"fails", "no_grad"}

# The options of a command, and their terminals: words only after an operand of it.
OPTIONS = {
    command.lower(): options
    for rule, start in _FIRST.items()
    if (options := _options(rule, start))
    for command in start[1].split(" | ")
}
# Those that no value follows.
FLAGS = frozenset(
    terminal
    for options in OPTIONS.values()
    for terminal in options.values()
    if re.search(rf"\b{terminal} *[|)*]", _GRAMMAR)
)

CLOSERS = {"(": ")", "[": "]", "{": "}"}

# Mathematical characters, as in papers and on telephones: each is read as an operator of agrad.
MATHEMATICS = {
    **dict.fromkeys("×⋅·∗", "*"),
    "−": "-",
    **dict.fromkeys("÷∕", "/"),
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "π": "pi",
}
# Of them, those that mean another product where both operands are vectors: the dot product, and the cross product.
PAPER_PRODUCTS = frozenset("·⋅×")
SUPERSCRIPTS = {character: str(digit) for digit, character in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}

# Characters that come with pasted text, and what to type instead.
LOOK_ALIKES = {
    "✕": "*",
    **dict.fromkeys("–—‒", "-"),
    "⁄": "/",
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‘’‚‛′`´", "'"),
    "≈": "~=",
    "…": "...",
    "∞": "inf",
    "∛": "cbrt(x) for the cube root",
    "‖": "norm(v) for the length of a vector",
    "∑": "sum(k**2 for k in 1..3)",
    "∏": "prod(k for k in 1..3)",
    "∈": "in",
    **dict(zip("，；：（）", ",;:()", strict=True)),
    **dict.fromkeys("\xa0\u2002\u2003\u2007\u2009\u202f\u3000", "an ordinary space"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", "no invisible character"),
    "°": "*pi/180",
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
    "try": "to expect an error: fails domain: log(x)",
    "except": "to expect an error: fails domain: log(x)",
    "finally": "",
    "raise": 'to stop with a message: assert x > 0, "x must be positive"',
    "global": "",
    "nonlocal": "",
    "yield": "",
    "async": "",
    "await": "",
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
        "iterm2": "as pictures, by that of iTerm2",
        "sixel": "as pictures, in sixel",
    },
}

# How each statement with a fixed form is written; the table of commands adds theirs when it is loaded.
SHAPES = {
    "var": "var x = 2",
    "del": "del x, y",
    "for": "for i in range(3): x = x + i",
    "import": "import torch",
    "from": "from torch import sin",
    "fails": "fails freed: backward d",
}
