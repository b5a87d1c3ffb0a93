"""The shipped table is that of the grammar, and the words of the grammar are those of words.py."""

from __future__ import annotations

import pickle

import lark
import pytest

from agrad.grammar import parser
from agrad.grammar.build import table
from agrad.grammar.diagnostics import Source
from agrad.grammar.layout import OPERAND_ENDS
from agrad.grammar.words import COMMANDS, OPTIONS, PYTHON, SHAPES, SOFT


def test_the_table_is_fresh() -> None:
    """If this fails: python -m agrad.grammar.build."""
    with open(parser.TABLE, "rb") as file:
        stored = pickle.load(file)
    if stored["lark"] != lark.__version__:
        pytest.skip(f"the table was built by lark {stored['lark']}")
    fresh = pickle.loads(table())
    assert meaning(stored) == meaning(fresh)


def meaning(content: dict[str, object]) -> object:
    """The table without the numbers that lark gives to states and rules as it happens to meet them."""
    built = lark.Lark.__new__(lark.Lark)._load(content)
    states = built.parser.parser._parse_table.states
    terminals = sorted(repr(terminal) for terminal in built.terminals)
    rules = sorted(f"{rule} {rule.alias} {rule.options}" for rule in built.rules)
    return terminals, rules, sorted(sorted(state) for state in states.values())


def test_another_lark_builds_the_table_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lark, "__version__", "0.0")
    parser._machine.cache_clear()
    try:
        (statement,) = parser.parse(Source("session", "x = 3"))
        assert statement.span.text == "x = 3"
    finally:
        parser._machine.cache_clear()


def test_the_words_of_the_grammar_are_known() -> None:
    built = parser.from_grammar()
    spelled = {t.pattern.value for t in built.terminals if t.pattern.type == "str" and t.pattern.value.isidentifier()}
    assert spelled - PYTHON == COMMANDS
    terminals = {name for state in built.parser.parser._parse_table.states.values() for name in state if name.isupper()}
    declared = {word.upper() for word in SOFT} | {kind for words in OPTIONS.values() for kind in words.values()}
    assert declared <= terminals
    assert terminals - {"$END"} >= OPERAND_ENDS - {"RESERVED"}
    assert set(SHAPES) >= COMMANDS - {"print"} | SOFT - {"no_grad"}
