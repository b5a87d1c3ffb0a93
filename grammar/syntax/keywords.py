"""The words and signs of the language: for the lexer, error messages, completion and help."""

from __future__ import annotations

import os
import re


def words(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())


def _words_of_grammar() -> frozenset[str]:
    """The words that are terminals of agrad.lark, as in `VARS: "vars"`."""
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "agrad.lark")
    with open(path, encoding="utf-8") as file:
        return frozenset(re.findall(r'^_?[A-Z_]+: "([a-z_]+)"$', file.read(), re.MULTILINE))


# Python's keywords, whether agrad uses them or not.
PYTHON = words(
    """if elif else for in while def return break continue pass and or not is None True False del assert
    import from with as lambda class try except finally raise global nonlocal yield async await"""
)
# Commands that no value may be called after, because a statement beginning with them would be ambiguous: all words that
# agrad.lark has and Python has not.
COMMANDS = _words_of_grammar() - PYTHON
RESERVED = PYTHON | COMMANDS
# Commands where a statement begins and a `:` follows; names everywhere else.
HEADERS = words("no_grad time")
# Commands where a statement begins and a name follows (after `check` any expression, after `limit` also nothing); names
# everywhere else.
SOFT = words("var set grad retain graph step check forward info limit fails") | HEADERS
# The commands of a session, for completion, help and suggestions.
COMMAND_WORDS = COMMANDS | SOFT - {"fails", "no_grad"}

# The options of a command, and their terminals: words only after an operand of it.
OPTIONS = {
    "backward": {"retain": "FLAG", "create_graph": "FLAG", "fresh": "FLAG", "trace": "FLAG", "seed": "SEED"},
    "graph": {"depth": "DEPTH", "to": "TO"},
    "check": {"wrt": "WRT"},
    "explain": {"wrt": "WRT"},
    "plot": {"to": "TO"},
}

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
    **dict(zip("，；：（）", ",;:()", strict=True)),
    **dict.fromkeys("\xa0\u2002\u2003\u2007\u2009\u202f\u3000", "an ordinary space"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", "no invisible character"),
    "&": "and",
    "|": "or, or abs(x) for |x|",
    "!": "!= to compare, or not",
}

# Keywords of Python that agrad does not use, and what to write instead.
ABSENT = {
    "lambda": "name the function: def f(x) = x**2",
    "class": "",
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
    "man": "help",
}

# Commands of other programs that agrad does not have, and what to write instead.
NO_COMMANDS = {
    **dict.fromkeys(
        ("precision", "digits", "format"),
        'print f"{x:.5g}"   for one value; agrad repl --precision 5, or precision = 5 in config.toml, for all',
    ),
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
