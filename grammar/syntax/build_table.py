"""Makes the table of the parser: `python -m agrad.grammar.syntax.build_table`, after each change of agrad.lark.

lark reads the grammar and works the table out; table.py says how it is written down. Only this file needs lark.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from typing import Any

from lark import Lark
from lark.grammar import Rule, Symbol, Terminal
from lark.lexer import Lexer, TerminalDef

from agrad.grammar.syntax.table import FORMAT, HANDED_ON, LISTED, PATH

GRAMMAR = os.path.join(os.path.dirname(os.path.dirname(__file__)), "agrad.lark")
START = "program"
# lark hands these over as they are; in a pattern their escapes are the same.
ESCAPES = {ord(sign): escape for sign, escape in (("\n", r"\n"), ("\r", r"\r"), ("\t", r"\t"), ("\f", r"\f"))}


class Ready(Lexer):
    """What lark sees of the lexer: tokens that layout.py has made already."""

    def __init__(self, conf: object) -> None:
        """lark hands over its terminals, which Layout has from the table."""

    def lex(self, data: Any) -> Iterator[Any]:  # type: ignore[override]  # lark's simple lexer interface
        """The tokens, as they are."""
        return iter(data)


def from_grammar(**more: Any) -> Lark:
    """lark's parser of agrad.lark."""
    with open(GRAMMAR, encoding="utf-8") as file:
        return Lark(file, parser="lalr", lexer=Ready, start=START, maybe_placeholders=False, **more)


def table() -> str:
    """What agrad.table should hold. The same grammar always gives the same text."""
    parser = from_grammar()
    words, signs = [], []
    for terminal in sorted(parser.terminals, key=lambda terminal: -terminal.priority):
        if is_word(terminal):
            words.append(f"{terminal.pattern.value} {terminal.name}")
        else:
            signs.append(f"{terminal.name} {terminal.pattern.to_regexp().translate(ESCAPES)}")
    parts = [[FORMAT], words, signs, [_rule(rule) for rule in parser.rules], _states(parser)]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def is_word(terminal: TerminalDef) -> bool:
    """Whether a terminal is a word of the language."""
    return terminal.pattern.type == "str" and terminal.pattern.value.isidentifier()


def _rule(rule: Rule) -> str:
    """A rule on a line."""
    how = rule.alias or rule.origin.name
    parts = [_part(symbol, rule.options.keep_all_tokens) for symbol in rule.expansion]
    if how.startswith("_"):
        how = LISTED
    elif rule.options.expand1 and not rule.alias:
        assert len(parts) == 1, f"{rule}: what makes something of several parts needs a name"
        how = HANDED_ON
    return " ".join([rule.origin.name, how, *parts])


def _part(symbol: Symbol, keeps_all: bool) -> str:
    """A part of a rule, with the sign of what becomes of it. What begins with _ is not in the tree."""
    if isinstance(symbol, Terminal):
        return f"-{symbol.name}" if symbol.filter_out and not keeps_all else symbol.name
    return f"*{symbol.name}" if symbol.name.startswith("_") else symbol.name


def _states(parser: Lark) -> list[str]:
    """The states, a line each, in the order in which they are met from the first; lark's own numbers vary."""
    lalr: Any = parser.parser.parser
    table = lalr._parse_table
    rules = {rule: -1 - number for number, rule in enumerate(parser.rules)}
    met = [table.start_states[START]]
    numbers = {met[0]: 0}
    lines = []
    for state in met:  # which grows meanwhile
        words = [str(numbers[state])]
        for name, (_, target) in sorted(table.states[state].items()):
            if target not in rules and target not in numbers:
                numbers[target] = len(met)
                met.append(target)
            words += [name, str(rules[target] if target in rules else numbers[target])]
        lines.append(" ".join(words))
    return lines


if __name__ == "__main__":
    with open(PATH, "w", encoding="utf-8", newline="\n") as file:
        file.write(table())
