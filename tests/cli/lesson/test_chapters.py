"""The format of the chapters, and conditions: looking at a session changes nothing."""

from pathlib import Path

import pytest
from answers import answers
from rows import each
from session_state import picture

from agrad.cli.lesson.chapters import Heard, Prose, Reply, Typed, holds, read
from agrad.engine.errors import AgradError
from agrad.grammar.results import Printed
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session


def chapter(tmp_path, text):
    path = tmp_path / "1_one.md"
    path.write_text(text, encoding="utf-8")
    return read(path, 1)


def test_a_chapter_is_read(tmp_path):
    found = chapter(tmp_path, Path(__file__).with_name("chapter.txt").read_text("utf-8"))
    assert (found.key, found.number, found.title) == ("1_one", 1, "A title")
    assert found.end == [Prose("The end.")]
    (step,) = found.steps
    assert step.told == [
        Prose("Told, in two lines.", ("1 == 1",)),
        (Typed("for k in range(2):\n    k", "\n0\n1"),),
    ]
    assert step.task == "Do it, please."
    assert step.checks == ["x == 1", "y == 2"]
    assert step.right == Prose("Good, and more.", ("2 == 2",))
    assert step.replies == [Reply("x == 2 ;; error name", ("x = 2", "if 1:\n    q"), "Not so, but so.")]
    assert step.also == [("y = 2", "x = 1")]
    assert step.hints == ["First.", "Second."]
    assert step.answer == (Typed("x = 1", ""), Typed("x", "1"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# A\n\ncheck: x == 1\n", 3),
        ("# A\n\n> Do.\n\nwhen: x\n    Said.\n", 5),
        ("# A\n\n```python\nx\n```\n", 3),
        ("# A\n\n```agrad\nx\n```\n", 3),
        ("# A\n\n> Do.\n\nanswer:\n    x\n", 5),
    ],
)
def test_what_is_written_wrongly_is_named_by_its_line(tmp_path, text, line):
    with pytest.raises(ValueError, match=f"^1_one.md, line {line}: "):
        chapter(tmp_path, text)


def session(*statements):
    made = Session()
    made.record.on, made.steps.depth = True, DEPTH
    for statement in statements:
        made.run(statement)
    return made


CONDITIONS = answers(Path(__file__).with_name("conditions.txt"))


@each("condition, expected", CONDITIONS.items())
def test_a_condition_is_looked_at_and_nothing_changes(condition, expected):
    made = session("var x = 3", "y = x**2", "y")
    heard = Heard([Printed("x = 4")], AgradError("name", "no"))
    before, line, steps, entries = picture(made), made.line, len(made.steps), list(made.record.entries)
    assert str(holds(condition, made, heard)) == expected
    assert picture(made) == before
    assert (made.line, len(made.steps), made.record.entries) == (line, steps, entries)
