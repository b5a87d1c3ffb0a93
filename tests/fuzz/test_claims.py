"""The claims of claims.py, for each text of the corpus and for some random ones."""

from pathlib import Path

import pytest
from claims import check
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import each
from sentences import SENTENCES

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.ag"))


@each("path", CORPUS)
def test_a_text_of_the_corpus_keeps_the_claims(path):
    check(path.read_text(encoding="utf-8"))


@settings(max_examples=100)
@given(st.text(alphabet="xskWyzfg 0123.+-*/%^@=<>~()[]{},:;'\"\n\tifornt_#é²\\\x00\ud800"))
def test_any_characters_keep_the_claims(text):
    check(text)


@pytest.mark.long
@settings(max_examples=100)
@given(st.randoms(use_true_random=False))
def test_any_sentence_of_the_grammar_keeps_the_claims(dice):
    check(SENTENCES.text(dice, "line"))


@each("text", ["x + " * 2500, "(" * 10_000, "f(" * 3333, "-" * 10_000, "x = 1\n" * 1666, "é" * 10_000], short=5)
def test_ten_thousand_characters_are_read_in_under_a_second(text):
    check(text)
