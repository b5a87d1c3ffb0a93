"""The line that says what a statement has changed, and commands without an operand."""

from pathlib import Path

import pytest
from answers import answers
from rows import each
from screens import Terminal

from agrad.cli.repl.printer import Echo
from agrad.grammar.prompt.changes import Changes, with_newest
from agrad.grammar.results import text_of
from agrad.grammar.session.session import Session

HERE = Path(__file__).parent


def lines_of(*texts):
    """What is said of the last of some texts."""
    session = Session()
    session.settings.echo, session.settings.width = True, 80
    changes = Changes(session)
    for text in texts:
        text = with_newest(text, session)[0]
        changes.begin()
        session.run(text)
    return changes.line(text)


LONG = "var x = 3; u = x^2; y = sin(u); retain u"
FOLDED = [
    ("backward y", 40, "x.grad = -5.466781571,\nu.grad = -0.9111302619"),
    ("backward y", 80, "x.grad = -5.466781571, u.grad = -0.9111302619"),
    (
        "a = 1/3; b = 1/7; c = 1/9; d = 2/3; e = 1/6",
        20,
        "a = 0.3333333333,\nb = 0.1428571429,\nc = 0.1111111111 … and 2 more",
    ),
    ("a = 1/3; b = 1/7", 38, "a = 0.3333333333, b = 0.1428571429"),
]


@each("text, width, said", FOLDED)
def test_what_has_changed_is_folded_between_names(text, width, said):
    session = Session()
    session.settings.echo, session.settings.width = True, width
    session.run(LONG)
    changes = Changes(session)
    changes.begin()
    session.run(text)
    assert changes.line(text) == said


# What shows itself what it has changed.
QUIET = ["fit b ~ p*a over p from p=1", "minimize (x - 3)**2 over x", "backward y trace", "undo"]


@each("texts, said", answers(HERE / "changes.txt").items())
def test_a_line_says_what_has_changed(texts, said):
    assert lines_of(*texts.split("\n")) == said


@each("text", QUIET)
def test_nothing_is_said_twice(text, capsys):
    session = Session()
    session.steps.depth, session.settings.echo = 10, True
    session.run("var x = 2; y = x**2; a = [1, 2, 3]; b = [2, 4, 6.1]")
    echo = Echo(session)
    session.run(echo.begin(text))
    echo.end(text)
    assert capsys.readouterr().out == ""


@each("typed, run", answers(HERE / "bare_commands.txt").items())
def test_a_bare_command_is_about_the_newest_graph(typed, run):
    session = Session()
    session.run("var x = 2; var w = 3; y = w*2; z = x**2; k = 4")
    assert with_newest(typed, session) == (run, run if run != typed else "")
    assert with_newest(typed, Session()) == (typed, "")


def test_a_name_of_the_user_is_no_command():
    session = Session()
    session.run("var x = 2; y = x**2; info = 3")
    assert with_newest("info", session) == ("info", "")


def test_set_echo_can_be_undone():
    session = Session()
    session.steps.depth = 10
    session.settings.echo = True
    session.run("set echo off")
    assert not session.settings.echo
    session.run("undo")
    assert session.settings.echo


def test_set_precision_can_be_undone():
    session, texts = Session(), []
    session.steps.depth = 10
    for text in ("set precision 4", "undo", "set precision full"):
        session.run(text)
        texts.append(text_of(1 / 3, session.settings))
    assert texts == ["0.3333", "0.3333333333", "0.3333333333333333"]


@pytest.mark.long
def test_the_configuration_turns_it_off(environment, tmp_path):
    folder = tmp_path / "config" / "agrad"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("echo = false\n")
    environment = environment | {"XDG_CONFIG_HOME": str(tmp_path / "config"), "AGRAD_ECHO": ""}
    with Terminal(environment, folder=tmp_path) as one:
        one.see("agrad>")
        one.type("y = 3*4\r")
        one.wait_for(lambda: "agrad 2>" in one.numbered(), "the next prompt")
        assert "y = 12" not in one.numbered()
