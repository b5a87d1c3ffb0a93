"""Writes grammar/agrad.pickle: what agrad needs of its grammar, worked out by lark. `make table` runs it.

The argument is the folder that has `grammar`; that of the project by default. `grammar/syntax/keywords.py` reads it.
"""

from __future__ import annotations

import pickle
import re
import sys
import zlib
from ast import literal_eval
from keyword import kwlist
from pathlib import Path
from struct import pack
from typing import Any

import lark
from lark.lexer import TerminalDef
from lark.parsers.lalr_analysis import Shift

_PYTHON = frozenset(kwlist)  # whether agrad uses them or not


class _Unused(lark.lexer.Lexer):
    """lark wants a lexer when it makes a parser, also where none is to be used."""

    def __init__(self, conf: object) -> None: ...

    def lex(self, lexer_state: object, parser_state: object) -> Any: ...


def build(grammar: str, lexer: type[lark.lexer.Lexer] = _Unused, builder: Any = None) -> lark.Lark:
    """lark's parser of a grammar, as it makes one."""
    return lark.Lark(
        grammar, parser="lalr", start="program", lexer=lexer, transformer=builder, maybe_placeholders=False
    )


def worked_out(grammar: str) -> dict[str, Any]:
    """All that agrad needs of a grammar, in plain values: its words, its signs, and the table of its parser."""
    built = build(grammar)
    terminals = sorted(built.terminals, key=lambda terminal: -terminal.priority)  # of two that match, the first
    signs = {one.name: one.pattern.to_regexp() for one in terminals if not is_word(one)}
    return {
        "words": words(grammar),
        "keywords": {terminal.pattern.value: terminal.name for terminal in terminals if is_word(terminal)},
        "signs": signs,
        **_table(built),
    }


def is_word(terminal: TerminalDef) -> bool:
    """Whether a terminal is a word of the language."""
    return terminal.pattern.type == "str" and terminal.pattern.value.isidentifier()


def _table(built: lark.Lark) -> dict[str, Any]:
    """The rows of the parser's table, with the states numbered in the order in which they are met."""
    table: Any = built.parser.parser._parse_table
    rules = {rule: number for number, rule in enumerate(built.rules)}
    symbols: dict[str, int] = {}
    order = [table.start_states["program"]]
    states = []
    for state in order:
        numbers: list[int] = []
        for name, (action, target) in sorted(table.states[state].items()):
            if action is Shift and target not in order:
                order.append(target)
            does = order.index(target) if action is Shift else -1 - rules[target]
            numbers += [symbols.setdefault(name, len(symbols)), does]
        states.append(pack(f"<{len(numbers)}h", *numbers))
    return {
        "symbols": tuple(symbols),
        "rules": tuple(map(_plain, rules)),
        "states": tuple(states),
        "first": 0,
        "last": order.index(table.end_states["program"]),
    }


def _plain(rule: Any) -> tuple[Any, ...]:
    """What `keywords` makes a rule of."""
    parts = tuple((str(part.name), bool(part.filter_out) if part.is_term else None) for part in rule.expansion)
    options = rule.options
    return str(rule.origin.name), parts, rule.alias, bool(options.keep_all_tokens), bool(options.expand1)


_PARTS = "option", "parameter"  # of a command, with rules of their own


def words(grammar: str) -> dict[str, Any]:
    """The words of commands and of their options, as the grammar has them; `keywords` says what each set is."""
    rules = dict(re.findall(r"^[?!]?([a-z_]+): (.*(?:\n +\|.*)*)", grammar, re.MULTILINE))
    # Words that are names in other places, so that the grammar only declares them; what is no word it declares in the
    # line that begins with `_NEWLINE`.
    declared = frozenset(" ".join(re.findall(r"^%declare ([A-Z].*)$", grammar, re.MULTILINE)).split())
    # By each word that statements begin with: what follows it in the rule of the statement, and in those of its options
    # and parameters.
    behind = {
        kind.lower(): " ".join(
            [rules[name][start.end() :], *[rules.get(f"{name}_{part}", "") for part in _PARTS]]
        ).rstrip()
        for name in re.findall(r"[a-z_]+", f"{rules['line']} {rules['simple']}")
        if (start := re.match(r"\(?([A-Z_]+(?: \| [A-Z_]+)*)\)?", rules.get(name, "")))
        for kind in start[1].split(" | ")
    }
    options = {
        word: {kind.lower(): kind for kind in re.findall(r"\b[A-Z][A-Z_]*\b", rest) if kind in declared}
        for word, rest in behind.items()
    }
    flags = {
        kind
        for found in options.values()
        for kind in found.values()
        if re.search(rf"\b{kind} *([|)*]|-> flag)", grammar)
    }
    commands = set(re.findall(r'^_?[A-Z_]+: "([a-z_]+)"$', grammar, re.MULTILINE)) - _PYTHON
    soft = sorted(word for word in behind if word.upper() in declared)

    def of(follows: str) -> tuple[str, ...]:
        """The words that may be names, behind which a pattern is found."""
        return tuple(word for word in soft if re.match(follows, behind[word]))

    return {
        "PYTHON": tuple(sorted(_PYTHON)),
        "COMMANDS": tuple(sorted(commands)),
        "SOFT": tuple(soft),
        "HEADERS": of(r" _COLON\b"),
        "ALONE": of(r"( \(.*\)\?)?( ->|$)"),
        "BEFORE_VALUES": of(r" (expression|equation|values|string)\b"),
        "RANGING": tuple(sorted(word for word, rest in behind.items() if "_RANGE" in rest)),
        "OPTIONS": {word: found for word, found in options.items() if found},
        "FLAGS": tuple(sorted(flags)),
    }


def save(folder: Path) -> None:
    """Work out what is saved of the grammar in a folder, and save it."""
    grammar = (folder / "agrad.lark").read_text("utf-8")
    plain = literal_eval(repr(worked_out(grammar)))  # pickle writes which strings are one object: here always the same
    content = pickle.dumps(plain, pickle.HIGHEST_PROTOCOL)
    checksum = zlib.crc32(content, zlib.crc32(grammar.encode()))  # whether it is whole, and belongs to this grammar
    (folder / "agrad.pickle").write_bytes(f"agrad {checksum:08x}\n".encode() + content)


if __name__ == "__main__":
    save(Path(next(iter(sys.argv[1:]), Path(__file__).parents[2])) / "grammar")
