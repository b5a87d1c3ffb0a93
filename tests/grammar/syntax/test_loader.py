"""lark's parser reads the language; what is saved is that of the grammar, and an error where it is another's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grammar_table
import lark
import mistakes
import pytest
from lark.parsers.lalr_parser import ParserState
from thinned import thinned

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar import commands as commands  # which fill the table of shapes
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import keywords, lexer, parser
from agrad.grammar.syntax.ast import Node
from agrad.grammar.syntax.builder import Builder
from agrad.grammar.syntax.keywords import COMMANDS, OPTIONS, PYTHON, SHAPES, SOFT, accepted
from agrad.grammar.syntax.lexer import OPERAND_ENDS

ROOT = Path(__file__).parents[3]
GRAMMAR = Path(keywords.GRAMMAR).read_text("utf-8")


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the grammar and of the saved parser, which may be changed."""
    for name in ("GRAMMAR", "SAVED"):
        copy = tmp_path / Path(getattr(keywords, name)).name
        copy.write_bytes(Path(getattr(keywords, name)).read_bytes())
        monkeypatch.setattr(keywords, name, str(copy))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """Have the parser loaded anew."""
    keywords.saved.cache_clear()
    lexer.terminals.cache_clear()
    parser._parser.cache_clear()


def test_what_is_saved_is_that_of_the_grammar() -> None:
    """If this fails: make table."""
    assert keywords.saved() == grammar_table.worked_out(GRAMMAR)


def test_the_same_grammar_is_saved_as_the_same_bytes(installation: Path) -> None:
    first = []
    for _ in range(3):
        grammar_table.save(installation)
        first.append((installation / "agrad.pickle").read_bytes())
    assert first[0] == first[1] == first[2] == Path(ROOT, "grammar", "agrad.pickle").read_bytes()


def test_parsing_goes_through_the_parser_of_lark(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = []
    feed = ParserState.feed_token

    def watched(self: Any, token: lark.Token, is_end: bool = False) -> Any:
        assert isinstance(token, lark.Token)
        fed.append(token.type)
        return feed(self, token, is_end)

    monkeypatch.setattr(ParserState, "feed_token", watched)
    parser.parse(Source("session", "x = a**2\n"))
    assert fed == "NAME _EQUAL NAME POWER NUMBER _NEWLINE $END".split()
    fed.clear()
    parser.followers("x = a ")
    assert fed[:3] == "NAME _EQUAL NAME".split()


def test_lark_is_imported_with_the_first_text() -> None:
    """`agrad --help` has none, and would take half as long again."""
    code = "import sys, agrad.cli.main, agrad.grammar.session.session; print('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_first_statement_of_a_session_is_told_how_a_command_is_written() -> None:
    """No command has been imported then."""
    told = {"undo all": "undo 100", "plot x^2 from 0 to 1": "plot x^2 for x in 0..1", "set x 4": "set x = 4"}
    for text, fix in told.items():
        done = subprocess.run([sys.executable, "-m", "agrad.cli", "repl"], input=text, capture_output=True, text=True)
        assert f"\n  fix: {fix}\n" in done.stderr, text


@pytest.mark.long
def test_threads_may_parse_at_the_same_time() -> None:
    def read(number: int) -> set[str]:
        text = f"y{number} = x + {number}*(z - {number})\n" * 50
        return {statement.span.text for _ in range(5) for statement in parser.parse(Source(str(number), text))}

    with ThreadPoolExecutor(8) as pool:
        for number, found in enumerate(pool.map(read, range(40))):
            assert found == {f"y{number} = x + {number}*(z - {number})"}


@pytest.mark.long
def test_a_changed_rule_needs_only_its_table(installation: Path) -> None:
    text = Source("session", "x = 3 minus 2")
    with pytest.raises(AgradError):
        parser.parse(text)
    changed = GRAMMAR.replace("| sum SUM product -> binary", '| sum (SUM | MINUS) product -> binary\nMINUS: "minus"')
    assert changed != GRAMMAR
    (installation / "agrad.lark").write_text(changed, "utf-8")
    forget()
    with pytest.raises(AgradError, match="that of another grammar"):
        keywords.saved()
    grammar_table.save(installation)  # what `make table` does
    [statement] = parser.parse(text)
    assert statement.span.text == "x = 3 minus 2"


@pytest.mark.parametrize("name", ["agrad.lark", "agrad.pickle"])
def test_without_a_file_that_comes_with_it_agrad_says_so(name: str, installation: Path) -> None:
    (installation / name).unlink()
    with pytest.raises(AgradError) as caught:
        keywords.saved()
    assert (caught.value.kind, name in caught.value.message) == ("file", True)


@pytest.mark.parametrize("content", thinned([b"", b"\n", b"\xff" * 99, Path(keywords.SAVED).read_bytes()[:-100]], 4))
def test_a_table_that_is_damaged_is_not_used(content: bytes, installation: Path) -> None:
    (installation / "agrad.pickle").write_bytes(content)
    with pytest.raises(AgradError, match="damaged"):
        keywords.saved()


def test_every_rule_makes_a_node() -> None:
    """What has no method of the builder would stay a tree of lark's: only a list inside a rule may."""
    for rule in grammar_table.build(GRAMMAR).rules:
        name = rule.alias or rule.origin.name
        hands_on = rule.options.expand1 and not rule.alias and len(rule.expansion) == 1
        assert hands_on or name.startswith("_") or hasattr(Builder, name), f"{rule}: it needs a name, or a method"


def test_the_words_of_the_grammar_are_known() -> None:
    assert set(keywords.saved()["keywords"]) - PYTHON == COMMANDS
    rules = grammar_table.build(GRAMMAR).rules
    terminals = {symbol.name for rule in rules for symbol in rule.expansion if symbol.is_term}
    declared = {word.upper() for word in SOFT} | {kind for words in OPTIONS.values() for kind in words.values()}
    assert declared <= terminals
    assert terminals >= OPERAND_ENDS - {"RESERVED"}
    assert set(SHAPES) >= COMMANDS - {"print"} | SOFT - {"no_grad"}


# What is saved reads all texts as what is built


class Reading(grammar_table._Unused):
    """agrad's lexer, for a parser that lark makes."""

    __future_interface__ = 2  # which gives the state of the parser

    def lex(self, state: Any, parser: Any) -> Iterator[lark.Token]:
        tokens: Iterator[lark.Token] = state.text.lex(parser, lambda parser, kind: None)
        return tokens


def outcome(parse: Callable[[Any], Any], builder: Builder, text: str) -> object:
    """The tree, a line for each node; or the token that was not expected, and those that were; or the error."""
    source = Source("script.ag", text)
    builder.begin(source)
    try:
        return list(flat(parse(lexer.Input(source))))
    except lark.UnexpectedToken as error:
        return error.token.type, error.token, error.token.start_pos, accepted(error.state)
    except AgradError as error:
        return str(error)


def flat(tree: object) -> Iterator[tuple[Any, ...]]:
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
            assert not isinstance(part, lark.Tree)
            yield type(part), part


def texts() -> Iterator[str]:
    for path in sorted([*ROOT.glob("examples/*.ag"), *ROOT.glob("tests/fuzz/corpus/*.ag")]):
        yield path.read_text("utf-8")
    for path in sorted(ROOT.glob("tests/transcripts/*.txt")):
        lines = re.findall(r"^agrad> (.*(?:\n\.\.\.+>? .*)*)", path.read_text("utf-8"), re.MULTILINE)
        yield from (f"{line}\n" for line in lines)
    yield from (entry.example for entry in FUNCTIONS.values() if entry.example)
    yield from mistakes.TEXTS


@pytest.mark.long
def test_the_saved_parser_reads_as_one_that_is_built() -> None:
    (saved, own), builder = parser._parser(), Builder()
    fresh = grammar_table.build(GRAMMAR, Reading, builder)

    def parse(text: Any) -> Any:
        return saved.parse(text, "program")

    read = 0
    for text in texts():
        assert outcome(parse, own, text) == outcome(fresh.parse, builder, text), text
        read += 1
    assert read > 700


RELEASES = ["1.1.5", "1.1.9", "1.2.2", "1.3.0", "1.3.1"]  # of lark, from the lowest that pyproject.toml allows on
READING = """
from agrad.grammar.help.completion import completions
from agrad.grammar.session.session import Session
session = Session()
for text in ("x = 2; y = f'{x:.2f}'; x**2", "def f(x) =", "1 if 2", "graph x as", "x = = 2"):
    try:
        session.run(text, lambda result: print(result.text(session.settings)))
    except Exception as error:
        print(error)
print([one.text for text in ("y = si", "graph x as ") for one in completions(text, session)[1]])
"""


@pytest.mark.long
def test_the_saved_table_is_that_of_every_lark_that_is_allowed(tmp_path: Path) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    (bounds,) = (line for line in project["dependencies"] if line.startswith("lark"))
    assert (f"lark>={RELEASES[0]},<1.4", RELEASES[-1][:3]) == (bounds, "1.3")
    told = set()
    for release in RELEASES:
        words = ["install", "--quiet", "--no-deps", "--target", str(tmp_path / release), f"lark=={release}"]
        done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no lark {release}: {done.stderr.splitlines()[-1]}")
        path = {"PYTHONPATH": str(tmp_path / release), "PYTHONWARNINGS": "ignore"}
        code = f"import lark; assert lark.__version__ == {release!r}\n{READING}"
        told.add(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | path).stdout)  # fmt: skip
    assert len(told) == 1
