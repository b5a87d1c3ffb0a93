"""Every mistake of the table is recognised, said in plain words, and its caret stands where it was made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from answers import answers
from hypothesis import given
from hypothesis import strategies as st
from mistakes import CARET, EXAMPLES
from rows import each
from thinned import thinned

import agrad.grammar.commands  # noqa: F401  # which says how each command is written
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span, render
from agrad.grammar.syntax.errors.messages import messages
from agrad.grammar.syntax.keywords import saved, words
from agrad.grammar.syntax.parser import parse

# Those that no statement can make, only parse_expression.
WITHOUT_EXAMPLES = {"empty", "not an expression"}


def failure(text: str) -> AgradError:
    with pytest.raises(AgradError) as caught:
        parse(Source("script.ag", text))
    assert caught.value.kind == "syntax"
    assert any(isinstance(label.origin, Span) for label in caught.value.labels)
    return caught.value


@each("mistake, example", EXAMPLES)
def test_example(mistake: str, example: str) -> None:
    problem = failure(example.replace(CARET, ""))
    place = problem.labels[0].origin
    assert isinstance(place, Span)
    assert problem.facts.name == mistake
    if CARET in example:
        assert place.start == example.index(CARET)


@each("text, told", answers(Path(__file__).with_name("refused.txt")).items())
def test_all_that_is_said_of_a_text(text: str, told: str) -> None:
    with pytest.raises(AgradError) as caught:
        parse(Source("session", text))
    assert render(caught.value).rstrip() == told


def test_every_mistake_has_examples() -> None:
    assert messages().keys() - {mistake for mistake, _ in EXAMPLES} == WITHOUT_EXAMPLES


def test_no_message_shows_a_terminal() -> None:
    names = {name for _, parts, *_ in saved()["rules"] for name, left_out in parts if left_out is not None} | {"$END"}
    pattern = re.compile(rf"\b({'|'.join(sorted(name.strip('_$') for name in names))})\b")
    for _, example in EXAMPLES:
        problem = failure(example.replace(CARET, ""))
        said = " ".join([problem.message, *problem.fixes, *problem.notes, *(label.text for label in problem.labels)])
        assert not pattern.search(said) and "__" not in said.replace("1__0", ""), said


def test_a_list_of_targets_is_unpacked_into() -> None:
    for text in ("[a, b] = 3, 4", "for [a, b] in x: a", "[a] = b = x", "[a[0], b.data] = x"):
        parse(Source("script.ag", text))


HOSTILE = {
    "a mistake in a bracket, then much": "x = (1\n2" + "\n(3)" * 30_000,
    "brackets that close, after a mistake": "[\n" * 30_000 + "1 2" + "]" * 30_000,
    "open brackets": "(" * 100_000,
    "open brackets, then a mistake": "[" * 100_000 + "* 3",
    "open calls": "f(" * 50_000,
    "garbage": "%$#@!^&*()_+{}|:\"<>?'" * 500,
    "nothing but NUL": "\0" * 10_000,
    "half a surrogate pair": "x = '\ud800' \udfff",
    "quotes": '"' * 10_001,
    "f-strings in f-strings": "f'{" * 10_000,
    "margins": "".join(" " * (width % 7) + "x\n" for width in range(10_000)),
    "bare keywords": "if " * 10_000,
    "commas": "," * 10_000,
}


@pytest.mark.parametrize("name", thinned(HOSTILE, 3))
def test_hostile_text_is_refused_quickly(name: str) -> None:
    problem = failure(HOSTILE[name])
    assert len(render(problem)) < 2_000


_WORDS = words(
    """if else elif for in while def return break pass and or not is None True backward grad
    retain graph set step var x y f 1 2.5 1e 0x ( ) [ ] { } , : ; = == += + - * ** ^ ~= +- . ... "a"
    f"{x}" f"{ ' \\ # ² \N{MULTIPLICATION SIGN} lambda import torch class help print fails freed
    as to seed no_grad with forward info time explain wrt depth trace"""
)

_lines = st.lists(st.sampled_from([*sorted(_WORDS), "\n", "\n  ", "\n\t", "\n    "]), max_size=20).map(" ".join)


@given(st.one_of(st.text(max_size=60), _lines))
def test_any_text_parses_or_is_a_syntax_error(text: str) -> None:
    try:
        parse(Source("session", text))
    except AgradError as problem:
        assert problem.kind == "syntax"
        assert render(problem)
        for label in problem.labels:
            assert isinstance(label.origin, Span)
            assert 0 <= label.origin.start <= label.origin.end <= len(text)


@each("text, fix", [
    ("for i in 1..3:\n  print i", "for i in range(1, 4):"),
    ("for i in 1..3:", "for i in range(1, 4):"),
    ("while x = 1:\n  x = 2", "while x == 1:"),
])  # fmt: skip
def test_the_first_line_of_a_block_has_its_fix(text, fix):
    with pytest.raises(AgradError) as caught:
        parse(Source("session", text))
    assert fix in caught.value.fixes
