"""What a session keeps of its texts: how much, under which number, below which line, and what a page makes of it."""

from contextlib import suppress
from pathlib import Path

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.session import log, saving
from agrad.grammar.session.log import DEPTH, Exchange
from agrad.grammar.session.session import Session


def opened(*texts):
    made = Session()
    made.record.on, made.by_entry, made.steps.depth = True, True, DEPTH
    for text in texts:
        with suppress(AgradError):
            made.run(text)
    return made


@each("most, kept, left_out", [(1, 1, 4), (1000, 5, 0)])
def test_the_oldest_texts_are_left_out_and_the_last_is_kept_however_long(monkeypatch, most, kept, left_out):
    monkeypatch.setattr(log, "_MOST_TEXT", most)
    found = opened(*[f"{number}+1" for number in range(5)]).record.transcript
    assert (len(found.exchanges), found.left_out) == (kept, left_out)
    assert found.exchanges[-1].source.text == "4+1"


@each("longer, is_kept", [(0, True), (1, False)])
def test_the_answers_to_one_text_may_be_so_long_however_long_that_is(monkeypatch, longer, is_kept):
    monkeypatch.setattr(log, "_MOST_OF_ONE", 300 + log._ANSWER)
    found = opened("x = 1").record.transcript
    exchange = Exchange(Source("session", "#" * 1000))
    found.add(exchange, "a" * (300 + longer))
    assert (len(exchange.answers), exchange.left_out) == (is_kept, not is_kept)


@each("first, last, is_said", [(1, 1, True), (1, 4, False), (3, 8, False)])
def test_again_says_how_many_lines_are_kept_where_older_ones_are_asked_for(first, last, is_said):
    made = opened("a = 1", "b = 2", "c = 3")
    del made.record.typed[1], made.record.typed[2]
    here = Span(Source("session", "again", 4, False, True), 0, 5)
    with pytest.raises(AgradError) as caught:
        made.record.texts(first, last, here)
    assert caught.value.notes == (["the last 10,000 lines are"] if is_said else [])


def shown(text, statements, answers, *, is_entry):
    """What a page has of a text with statements, and answers at places."""
    exchange = Exchange(Source("session", text, 7, False, is_entry))
    exchange.statements += [Span(exchange.source, *one) for one in statements]
    exchange.answers += answers
    parts = saving._of_one(exchange, len(text))
    return [f"{part.prompt}{part.text}" if isinstance(part, saving.Typed) else part for part in parts]


def test_each_answer_is_below_the_line_where_its_statement_ends():
    text = "a\nb\n\nccc(\n  d)\ne"
    statements = [(0, 1), (2, 3), (5, 14), (15, 16)]
    answers = [(1, "A"), (3, "B"), (14, "C"), (16, "E")]
    lines = ["a", "A", "b", "B", "ccc(", "  d)", "C", "e", "E"]
    first = dict(
        zip(lines, ["agrad 7> ", "", "agrad 8> ", "", "agrad 10> ", "     ...> ", "", "agrad 12> ", ""], strict=True)
    )
    assert shown(text, statements, answers, is_entry=False) == [first[line] + line for line in lines]
    first = {line: "" if line.isupper() else "    ...> " for line in lines} | {"a": "agrad 7> "}
    assert shown(text, statements, answers, is_entry=True) == [first[line] + line for line in lines]


@each("text, place", [("save 's.ag'", "save 's.ag'"), ("save 's.txt'", "'s.txt'")])
def test_what_cannot_be_saved_is_marked(tmp_path, monkeypatch, text, place):
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("of another hand")
    with pytest.raises(AgradError) as caught:
        opened().run(text)
    assert [label.origin.text for label in caught.value.labels] == [place]


def test_the_statements_of_a_line_are_shown_together_with_its_number():
    made = opened("x = 1; y = 2", "z = 3", "if x > 0:\n    w = 4\nv = 5")
    assert list(log.lines_of(made.record.entries)) == [
        ("1", "x = 1; y = 2"),
        ("2", "z = 3"),
        ("3", "if x > 0:\n    w = 4\nv = 5"),
    ]
