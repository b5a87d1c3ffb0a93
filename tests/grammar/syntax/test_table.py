"""The shipped table is that of the grammar, is read as lark reads it, and its words are those of words.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark.exceptions import UnexpectedToken

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import build_table, parser, table
from agrad.grammar.syntax.ast import Node
from agrad.grammar.syntax.ast_builder import Builder
from agrad.grammar.syntax.driver import Misfit
from agrad.grammar.syntax.errors.messages import CARET, MISTAKES
from agrad.grammar.syntax.keywords import COMMANDS, OPTIONS, PYTHON, SHAPES, SOFT
from agrad.grammar.syntax.lexer import OPERAND_ENDS
from agrad.grammar.syntax.token import Token

ROOT = Path(__file__).parents[3]


def test_the_table_is_fresh() -> None:
    """If this fails: make table."""
    assert Path(table.PATH).read_bytes() == build_table.table().encode()


def test_only_the_making_of_the_table_needs_lark() -> None:
    """It takes longer to load than all the rest of the language."""
    needs = re.compile(r"^\s*(?:from|import) lark\b", re.MULTILINE)
    assert [path.name for path in ROOT.glob("grammar/**/*.py") if needs.search(path.read_text("utf-8"))] == [
        "build_table.py"
    ]


def test_a_rule_that_makes_something_of_several_parts_needs_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = "program: pair\n?pair: A B\nA: /a/\nB: /b/\n"
    monkeypatch.setattr(build_table, "from_grammar", lambda: Lark(grammar, parser="lalr", start="program"))
    with pytest.raises(AssertionError, match=r"pair : A B.*needs a name"):
        build_table.table()


@pytest.mark.parametrize("content", [None, "", "agrad table 0\n\nif IF\n", "agrad table 1\n\nif IF\n", "\xff"])
def test_a_broken_installation_says_so(content: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "agrad.table"
    if content is not None:
        path.write_text(content, "latin-1")
    monkeypatch.setattr(table, "PATH", str(path))
    with pytest.raises(AgradError) as caught:
        table.load()
    assert caught.value.kind == "file"
    assert str(path) in caught.value.message
    assert "make table" in caught.value.notes[0]


def test_the_words_of_the_grammar_are_known() -> None:
    shipped = table.load()
    assert shipped.words.keys() - PYTHON == COMMANDS
    terminals = {name for line in shipped.states for name in line.split() if name.isupper()}
    declared = {word.upper() for word in SOFT} | {kind for words in OPTIONS.values() for kind in words.values()}
    assert declared <= terminals
    assert terminals - {"$END"} >= OPERAND_ENDS - {"RESERVED"}
    assert set(SHAPES) >= COMMANDS - {"print"} | SOFT - {"no_grad"}


# lark reads the same


class Lined(Token):
    """A token as lark wants them at the end of a text."""

    line = column = end_line = end_column = None


@cache
def larks() -> tuple[Lark, Builder]:
    builder = Builder()
    return build_table.from_grammar(transformer=builder), builder


def read_by_lark(source: Source, tokens: list[Token]) -> object:
    lark, builder = larks()
    builder.begin(source)
    lined = [Lined(token.type, token, token.start_pos, token.end_pos) for token in tokens]
    try:
        return lark.parse(lined)  # type: ignore[arg-type]  # what Ready hands through
    except UnexpectedToken as error:
        raise Misfit(
            Token(error.token.type, error.token, error.token.start_pos or 0), error.accepts - {"$END"}
        ) from None


def read_by_driver(source: Source, tokens: list[Token]) -> object:
    builder, _, driver = parser._machine()
    builder.begin(source)
    return driver.parse(tokens)


def outcome(read: Callable[[Source, list[Token]], object], source: Source, tokens: list[Token]) -> object:
    """The tree, on a line for each node; or what does not fit, and what would; or the mistake."""
    try:
        return list(told(read(source, tokens)))
    except Misfit as misfit:
        place = misfit.token.start_pos if misfit.token.type != "$END" else None  # where a text ends, lark may say 0
        return misfit.token.type, misfit.token, place, misfit.accepts
    except AgradError as error:
        return str(error)


def told(tree: object) -> Iterator[tuple[Any, ...]]:
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Node):
            fields = [getattr(part, name) for name in part.fields]
            yield type(part), *((span.start, span.end) for span in fields if isinstance(span, Span))
            pending += [field for field in fields if not isinstance(field, Span)]
        elif isinstance(part, tuple | list):
            yield type(part), len(part)
            pending += part
        else:
            yield type(part), part


def texts() -> Iterator[str]:
    for path in sorted([*ROOT.glob("examples/*.ag"), *ROOT.glob("tests/fuzz/corpus/*.ag")]):
        yield path.read_text("utf-8")
    for path in sorted(ROOT.glob("tests/transcripts/*.txt")):
        lines = re.findall(r"^agrad> (.*(?:\n\.\.\.+>? .*)*)", path.read_text("utf-8"), re.MULTILINE)
        yield from (f"{line}\n" for line in lines)
    yield from (entry.example for entry in FUNCTIONS.values() if entry.example)
    yield from (example.replace(CARET, "") for mistake in MISTAKES.values() for example in mistake.examples)


def test_lark_reads_the_same() -> None:
    layout = parser._machine().layout
    read = 0
    for text in texts():
        source = Source("script.ag", text)
        tokens = [item for item in layout.read(source) if isinstance(item, Token)]
        assert outcome(read_by_driver, source, tokens) == outcome(read_by_lark, source, tokens), text
        read += 1
    assert read > 700
