"""How the commands on the graph are read, and what becomes of their operands and options."""

from __future__ import annotations

from pathlib import Path

import pytest
from answers import answers
from rows import each
from sessions import error, said, session_of

from agrad.engine.errors import AgradError
from agrad.grammar.commands.graphs import ENDINGS, FORMS, PICTURES
from agrad.grammar.commands.registry import COMMANDS as REGISTERED
from agrad.grammar.diagnostics import Source
from agrad.grammar.run.code import of_statement
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.keywords import words
from agrad.grammar.syntax.parser import parse


def read(text: str) -> s.Statement:
    (statement,) = parse(Source("session", text))
    return statement


def told(text: str) -> str:
    """A command: its word, its operands, and each option with what stands behind it."""
    command = read(text)
    assert isinstance(command, s.Command)
    parts = [command.word, *(operand.span.text for operand in command.operands)]
    for name, value in command.options:
        shown = repr(value.value) if isinstance(value, s.String) else value and value.span.text
        parts.append(f"{name}: {shown}" if shown else name)
    return " | ".join(parts)


COMMANDS = answers(Path(__file__).with_name("graph_commands.txt"))


@each("text", COMMANDS)
def test_command(text: str) -> None:
    assert told(text) == COMMANDS[text]


def test_what_is_behind_from_is_one_tuple() -> None:
    command = read("graph d from a b")
    assert isinstance(command, s.Command)
    ((_, value),) = command.options
    assert isinstance(value, s.Tuple) and [item.span.text for item in value.items] == ["a", "b"]


# Words that are commands in one place and names in all others

NAMES = Path(__file__).with_name("graphs.ag").read_text()


@each("word", ["forward", "info", "time", "depth", "trace", "wrt", "to"])
@each("form", NAMES.split("\n"))
def test_a_soft_word_is_a_name_elsewhere(form: str, word: str) -> None:
    statement = read(form.format(word))
    if isinstance(statement, s.Command):
        assert statement.word in ("grad", "backward")
    assert not isinstance(statement, s.Time)


@each("text", ["x = explain", "explain(x) + 1", "def explain(x) = x", "var explain = 1"])
def test_explain_is_no_name(text: str) -> None:
    if text.startswith("explain"):
        assert told(text) == "explain | (x) + 1"  # as after `backward`, an expression begins
        return
    with pytest.raises(AgradError) as caught:
        read(text)
    assert caught.value.facts.name == ("command value" if text == "x = explain" else "reserved")


# time

TIMED = {
    "time: y = 3": ["y = 3"],
    "time : y = 3": ["y = 3"],
    "time: y; z": ["y", "z"],
    "time:\n  y = 3\n  for i in y: z": ["y = 3", "for i in y: z"],
    "time: backward d retain": ["backward d retain"],
    "time: time = 3": ["time = 3"],
}


@each("text", TIMED)
def test_time(text: str) -> None:
    statement = read(text)
    assert isinstance(statement, s.Time)
    assert [part.span.text for part in statement.body] == TIMED[text]
    assert statement.span.text.startswith("time")


def test_time_inside_other_blocks() -> None:
    outer = read("for i in range(3):\n  time: x = i\n  no_grad:\n    time:\n      y")
    assert isinstance(outer, s.For)
    first, second = outer.body
    assert isinstance(first, s.Time) and isinstance(second, s.NoGrad)
    assert isinstance(second.body[0], s.Time)


@each("text", ["time: x = 1 + 2", "time:\n  for i in x: break", "time:\n  def f(x): return x"])
def test_what_is_timed_is_a_function_of_its_own_in_which_loops_and_functions_end_as_ever(text: str) -> None:
    code = of_statement(read(text))
    assert any(getattr(one, "co_name", "")[:4] == ".top" for one in code.co_consts)


@each("word", sorted(words("forward info time")))
def test_a_soft_word_alone_reads_as_a_name(word: str) -> None:
    statement = read(word)
    assert isinstance(statement, s.Evaluate) and isinstance(statement.value, s.Name)


# What the commands do with what was read


@pytest.fixture
def drawn() -> Session:
    return session_of("var a = 3; var c = 2", "b = a**2", "d = b*c", "f = 2")


def labelled(problem: AgradError) -> list[str]:
    return [label.origin.text for label in problem.labels if label.origin is not None]


def test_the_forms_are_those_that_messages_and_help_name() -> None:
    assert f"[as {' | '.join(FORMS)}]" in REGISTERED["graph"].usage
    assert {*ENDINGS.values()} <= {*FORMS, *PICTURES}


@pytest.mark.parametrize("form", PICTURES)
def test_a_form_that_only_a_file_can_hold(drawn: Session, tmp_path: Path, form: str) -> None:
    problem = error(f"graph d as {form}", drawn)
    assert (problem.kind, problem.message) == ("name", f"a graph as {form} is written to a file")
    assert (problem.fixes, labelled(problem)) == ([f'graph d to "d.{form}"'], [form])
    pytest.importorskip("matplotlib")
    start = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-"}[form]
    for name, option in ((f"d.{form}", ""), ("d", f" as {form}")):
        path = tmp_path / name
        assert said(f'graph d{option} to "{path}"', drawn) == [f"wrote {path}"]
        assert path.read_bytes().startswith(start)


def test_a_file_that_cannot_be_written(drawn: Session, tmp_path: Path) -> None:
    problem = error(f'graph d to "{tmp_path}/no/d.dot"', drawn)
    assert (problem.kind, problem.message.split(": ")[1]) == ("file", f"there is no folder {tmp_path}/no")
    said(f'fails file: graph d to "{tmp_path}"', drawn)
