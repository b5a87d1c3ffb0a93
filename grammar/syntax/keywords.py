"""The words and signs of the language, for the lexer, error messages, completion and help; and the table of its parser.

Both were worked out of the grammar by `make table`, and saved in `agrad.pickle`. To work them out takes lark a quarter
of a second; to read them takes a millisecond, since of the table only the rows of those states are unpacked that the
parser enters, and of the rules only those that it reduces by.
"""

from __future__ import annotations

import os.path
import zlib
from _pickle import loads  # from `pickle`, which is a thousand lines of Python
from collections.abc import Callable, Collection
from functools import cache
from struct import unpack
from typing import TYPE_CHECKING, Any, cast

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import suggest
from agrad.grammar.elsewhere import TABLES
from agrad.lazy import Rows

if TYPE_CHECKING:
    from lark.grammar import Rule
    from lark.parsers.lalr_parser import _Parser
    from lark.parsers.lalr_parser_state import ParserState

# What is saved.

# os.path, because importing pathlib would take longer than loading the parser.
_FOLDER = os.path.dirname(os.path.dirname(__file__))
GRAMMAR = os.path.join(_FOLDER, "agrad.lark")
SAVED = os.path.join(_FOLDER, "agrad.pickle")


@cache
def saved() -> dict[str, Any]:
    """What `make table` has made of the grammar. Raises AgradError of kind `file` where that is missing, or damaged."""
    try:
        with open(GRAMMAR, encoding="utf-8") as text, open(SAVED, "rb") as file:
            grammar, first, content = text.read(), file.readline(), file.read()
    except OSError as problem:
        message = f"agrad cannot read its own {problem.filename}: {problem.strerror}"
        raise AgradError("file", message, notes=["it comes with agrad: install agrad again"]) from None
    if (
        first != f"agrad {zlib.crc32(content, zlib.crc32(grammar.encode())):08x}\n".encode()
    ):  # whole, and of this grammar
        notes = ["it comes with agrad: install agrad again; after a change of agrad.lark: make table"]
        raise AgradError("file", f"{SAVED} is damaged, or that of another grammar", notes=notes)
    found: dict[str, Any] = loads(content)
    return found


# The words.


def words(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())


def near(word: str, options: Collection[str]) -> list[str]:
    """The options that a word may be a misspelling of; two letters in the wrong order count as one, too."""
    swapped = [option for option in sorted(options) if len(word) == 2 and option == word[::-1]]
    return swapped or suggest(word, options)


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
NAMES_TOO = frozenset({"history", "again", "redo", "calculator"})
# Commands with a range of numbers.
RANGING = frozenset(_WORDS["RANGING"])
# The commands of a session, for completion, help and suggestions.
COMMAND_WORDS = COMMANDS | SOFT - {"fails", "no_grad"}

# The options of a command, and their terminals: words only after an operand of it.
OPTIONS: dict[str, dict[str, str]] = _WORDS["OPTIONS"]
# The words after the operands of a command, also those that are words of Python: these are options everywhere.
OPTION_WORDS = {**OPTIONS, "graph": {*OPTIONS["graph"], "as", "from"}, "forward": {"with"}}
# Those that no value follows.
FLAGS = frozenset(_WORDS["FLAGS"])

CLOSERS = {"(": ")", "[": "]", "{": "}"}

# Mathematical characters, as in papers and on telephones: each is read as an operator of agrad.
MATHEMATICS = dict.fromkeys("×⋅·∗", "*") | {"−": "-"} | dict.fromkeys("÷∕", "/")
MATHEMATICS |= {"≤": "<=", "≥": ">=", "≠": "!=", "π": "pi"}
# Of them, those that mean another product where both operands are vectors: the dot product, and the cross product.
PAPER_PRODUCTS = frozenset("·⋅×")
SUPERSCRIPTS = {character: str(digit) for digit, character in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}

# Characters that come with pasted text, and what to type instead; white space has other names than itself.
LOOK_ALIKES = {
    **TABLES["look-alikes"],
    **dict.fromkeys("\xa0\u2002\u2003\u2007\u2009\u202f\u3000", "an ordinary space"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", "no invisible character"),
}

# Keywords of Python that agrad does not use, and what to write instead.
ABSENT = TABLES["python"]
# Words and signs that are read from an import on.
PYTHONS = words("class import from with finally global nonlocal yield @ {")

# Words that begin a definition in other languages; here a value is assigned to the name alone.
DECLARATIONS = words("let const final auto int float double real local my dim")

# Commands of other programs, and agrad's; and those that agrad does not have, with what to write instead.
COMMANDS_ELSEWHERE, NO_COMMANDS = TABLES["commands"], TABLES["no commands"]

# What `set` turns on, off or to something else, and the words for that: the settings of config.toml but for limits.
SETTABLE = {
    "precision": {**{str(n): "significant digits" for n in range(1, 18)}, "full": "as many as read back the number"},
    "decimal": {'","': "a comma, as in 0,5; in brackets `;` separates", '"."': "a point, as in 0.5"},
    "echo": {"on": "says what a statement has changed", "off": "no longer"},
    "plots": {
        "auto": "as pictures where the terminal can show them, else in braille",
        "braille": "always in braille",
        "kitty": "as pictures, by kitty's protocol",
    },
    "live": {"on": "shows the value of what is typed below the prompt", "off": "no longer"},
    "color": {"auto": "where the output is a terminal", "always": "in any output", "never": "in none"},
    "ascii": {"on": "writes ASCII characters only", "off": "all characters that the terminal has"},
    "edit": {"emacs": "keys of the prompt as in Emacs", "vi": "as in vi"},
    "pager": {"on": "output longer than the screen is shown in a pager", "off": "all at once"},
    "rounding": {
        "two": "two digits of an uncertainty",
        "one": "one digit",
        "pdg": "one or two, by the rule of the Particle Data Group: 1.00 to 3.54 have two, 3.55 to 9.49 one",
    },
}

# The forms of a number: `255 as hex`.
FORMS = words("hex bin oct fraction percent deg")

# How each statement with a fixed form is written; the table of commands adds theirs when it is loaded.
_OWN_SHAPES = {
    "var": "var x = 2",
    "del": "del x, y",
    "for": "for i in range(3): x = x + i",
    "fails": "fails freed: backward d",
}
SHAPES: Rows[str] = Rows(told_by="agrad.grammar.commands")
for _word, _shape in _OWN_SHAPES.items():
    SHAPES[_word] = _shape


# The parser.


def parser(builder: object, of: dict[str, Any]) -> _Parser:
    """lark's parser, which calls the methods of a builder while it parses; `of`: what is saved."""
    from lark.parsers.lalr_analysis import ParseTable
    from lark.parsers.lalr_parser import _Parser

    table = ParseTable(_States(of), {"program": of["first"]}, {"program": of["last"]})  # type: ignore[no-untyped-call]
    return _Parser(table, _Callbacks(builder))


def reduce(parser: ParserState[int], kind: str) -> None:
    """Apply the rules that end before a token of some kind, as lark's parser would before it takes the token.

    It takes half the time, since rules of one part, most of those of an expression, are passed over in one step.
    """
    table, made = cast("_States", parser.parse_conf.states), parser.parse_conf.callbacks
    states, values = parser.state_stack, parser.value_stack
    while type(does := table[states[-1]].get(kind, (None, 0))[1]) is not int:
        first = len(values) - len(does.expansion)
        part = made[does](values[first:])
        del states[first + 1 :], values[first:]
        key = states[-1], does.origin.name, kind
        states.append(table.passed.get(key) or table.after(*key))
        values.append(part)


def accepted(parser: ParserState[int]) -> set[str]:
    """The kinds of tokens that may follow, after the rules that end before each."""
    row = cast("_States", parser.parse_conf.states)[parser.state_stack[-1]]
    return {kind for kind in row if kind.isupper() and takes(parser, kind)}


def takes(parser: ParserState[int], kind: str) -> bool:
    """Whether a token of some kind may follow, after the rules that end before it."""
    table, states = cast("_States", parser.parse_conf.states), [*parser.state_stack]
    while type(does := table[states[-1]].get(kind, (None, None))[1]) is not int:
        if does is None:
            return False
        del states[len(states) - len(does.expansion) :]
        states.append(table[states[-1]][does.origin.name][1])
    return True


class _States(dict[int, dict[str, tuple[Any, Any]]]):
    """By the number of a state, what the parser does with each symbol: unpacked when it is first entered."""

    def __init__(self, of: dict[str, Any]) -> None:
        self.of = of
        self.rules: dict[int, Rule] = {}  # those that were met
        self.passed: dict[tuple[int, str, str], int] = {}  # what `after` has found

    def __missing__(self, state: int) -> dict[str, tuple[Any, Any]]:
        """The row of a state. A symbol's number is followed by a state to go to, or by a rule, counted down from -1."""
        from lark.parsers.lalr_analysis import Reduce, Shift

        packed, symbols = self.of["states"][state], self.of["symbols"]
        numbers = unpack(f"<{len(packed) // 2}h", packed)
        row = {
            symbols[symbol]: (Shift, does) if does >= 0 else (Reduce, self.rule(-1 - does))
            for symbol, does in zip(numbers[::2], numbers[1::2], strict=True)
        }
        self[state] = row
        return row

    def after(self, before: int, part: str, kind: str) -> int:
        """The state after a part, and after all rules that only pass it on, in front of a token of some kind."""
        state: int = self[before][part][1]
        rule = self[state].get(kind, (None, 0))[1]
        if type(rule) is not int and rule.options.expand1 and len(rule.expansion) == 1 and not rule.alias:
            state = self.after(before, rule.origin.name, kind)
        self.passed[before, part, kind] = state
        return state

    def rule(self, number: int) -> Rule:
        """A rule as lark has it."""
        if number not in self.rules:
            self.rules[number] = _rule(*self.of["rules"][number])
        return self.rules[number]


def _rule(
    origin: str, parts: tuple[tuple[str, bool | None], ...], alias: str | None, keeps_all: bool, expands_one: bool
) -> Rule:
    """A rule; whether a part is left out of what the builder gets, is told of terminals."""
    from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal

    expansion = [NonTerminal(name) if left_out is None else Terminal(name, left_out) for name, left_out in parts]
    return Rule(NonTerminal(origin), expansion, 0, alias, RuleOptions(keeps_all, expands_one))


class _Callbacks(dict[Any, Callable[..., Any]]):
    """By rule, what makes a node of its parts: lark makes it of a method of the builder, when it is needed."""

    def __init__(self, builder: object) -> None:
        self.builder = builder

    def __bool__(self) -> bool:
        return True  # without any, lark would make no tree

    def __missing__(self, rule: Rule) -> Callable[..., Any]:
        from lark.parse_tree_builder import ParseTreeBuilder
        from lark.tree import Tree

        made: Any = ParseTreeBuilder([rule], Tree)  # type: ignore[no-untyped-call]
        self[rule] = made.create_callback(self.builder)[rule]
        return self[rule]
