"""The line below the prompt, and what a result says of itself there."""

import time
from pathlib import Path

import pytest
from answers import table
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rows import each

from agrad.cli.repl.printer import PromptPrinter
from agrad.cli.repl.toolbar import Mistake, Toolbar, behind, cut, duration, first_that_fits, inside_no_grad, live_lines
from agrad.grammar.session.session import Session


@pytest.fixture
def told():
    """What the toolbar tells after some statements."""

    def run(text, seconds=None):
        session = Session()
        session.run(text)
        toolbar = Toolbar(session)
        toolbar.look(seconds)
        return toolbar.told

    return run


def test_before_there_is_anything_it_says_how_to_begin():
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        assert Toolbar(Session())() == " no graph yet: var x = 2 makes a leaf"


@each(
    "text, words",
    table(Path(__file__).with_name("graphs_there.txt")),
)
def test_what_graphs_there_are(told, text, words):
    assert told(text) == words


def test_the_time_of_the_last_statement(told):
    assert told("var a = 2", 0.0012345) == "1 leaf   1.2 ms"
    assert [duration(seconds) for seconds in (0.00042, 0.0567, 0.5, 1.2345, 100.0)] == [
        "0.42 ms",
        "56.7 ms",
        "500 ms",
        "1.23 s",
        "100 s",
    ]


@pytest.mark.long
def test_of_a_large_graph_a_part_is_looked_at():
    session = Session()
    session.run("var y = [1, 2]\nfor i in range(30000): y = y*1.0001")
    toolbar = Toolbar(session)
    start = time.process_time()
    toolbar.look()
    assert time.process_time() - start < 2
    assert toolbar.told == "over 10000 nodes, held"


@each(
    "text, inside",
    [
        ("x = 1", False),
        ("no_grad:\n    w -= 1", True),
        ("no_grad:\n    ", True),
        ("with torch.no_grad():\n    for i in x:\n        w", True),
        ("no_grad:\n    w -= 1\nx", False),
        ("for i in x:\n    no_grad:\n        w -= 1\n    x", False),
    ],
)
def test_no_grad_is_told_while_its_block_is_typed(text, inside):
    assert inside_no_grad(text) == inside


@each(
    "text, shown",
    [
        ("d", "60   <MeanBackward>\n"),
        ("a", "[1, 2]   <leaf>\n"),
        ("a.detach()", "[1, 2]\n"),
        ("2 + 3", "5\n"),
        ("d > 2", "True\n"),
        ("print d", "60\n"),
        ("a.grad", "a.grad = none: no backward has reached a yet\n"),
    ],
)
def test_a_result_says_what_it_is(text, shown, capsys):
    session = Session()
    session.run("var a = [1, 2]; d = mean(a*40)")
    session.run(text, PromptPrinter(session.settings))
    assert capsys.readouterr().out == shown


def test_the_kind_is_dim_where_there_is_colour(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    session = Session()
    session.run("var a = 2; a", PromptPrinter(session.settings))
    assert capsys.readouterr().out == "2   \x1b[2m<leaf>\x1b[0m\n"


@each("width", [20, 40, 80])
@each(
    "text", ["x = arange(60)/7; x", "var x = 0.1 + rand(81); x*2", "var x = 0.1 + rand(50); backward sum(x*x); grad x"]
)
def test_long_values_are_broken_between_their_entries(width, text, capsys):
    session = Session()
    session.run(text, PromptPrinter(session.settings))
    whole = capsys.readouterr().out
    session.settings.width = width
    session.run(text.rpartition("; ")[2], PromptPrinter(session.settings))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width < max(map(len, whole.splitlines()))
    assert [line for line in lines[1:] if not line.startswith(" ")] == []
    assert "".join("".join(lines).split()) == "".join(whole.split())


def test_a_text_is_never_broken(capsys):
    session = Session()
    session.settings.width = 20
    session.run('"a text that is longer than the line"', PromptPrinter(session.settings))
    assert capsys.readouterr().out == "a text that is longer than the line\n"


MEND = "\n     mend it, mend\n     it, mend it,"


@each(
    "message, fix, above, below",
    [
        ("short", "   fix: mend", "short   fix: mend", ""),
        ("a message that is so", "   fix: mend it", "a message that is so", "   fix: mend it"),
        ("a message that is long", "   fix: x", "a message that is", " long   fix: x"),
        ("a message that is long", "   fix: mend it now", "a message that is", " long\n   fix: mend it now"),
        ("too long", "   fix: def f(x) = x**2", "too long", "   fix: def f(x) =\n     x**2"),
        ("a message that is long indeed", "", "a message that is", " long indeed"),
        ("a message that is longer than two lines", "", "a message that is", " longer than two\n lines"),
        ("so", "   fix: " + "mend it, " * 12, "so", f"   fix: mend it,{MEND * 2}"[:-1] + " …"),
    ],
)
def test_what_a_narrow_line_cannot_tell_stands_below_it(message, fix, above, below):
    mistake = Mistake(0, message, fix, 20)
    assert (mistake.message, behind(mistake)) == (above, below)
    assert behind(None) == ""


FREED = "var a = [1, 2, 3, 4]; b = a**2; c = sum(b*b); d = mean(a*a); backward c"


@each(
    "room, line",
    [
        (80, "1 leaf   5 nodes, 8 bytes saved, 3 of them freed   1.2 ms"),
        (50, "1 leaf   5 nodes, 3 of them freed   1.2 ms"),
        (38, "5 nodes, 3 of them freed   1.2 ms"),
        (28, "5 nodes, 3 of them freed"),
        (20, "5 nodes, 3 of them …"),
        (9, "5 nodes …"),
    ],
)
def test_a_narrow_toolbar_tells_what_matters_first(room, line):
    session = Session()
    session.run(FREED)
    toolbar = Toolbar(session)
    toolbar.look(0.0012)
    assert first_that_fits([toolbar.told, *toolbar.shorter], room) == line


SIGNED = "conv(input, kernel, ‹stride=1›, padding=0, bias=None)   = 16.05   d/dx 12.25   d/dy 3"


@each(
    "line, room, shown",
    [
        (SIGNED, 90, SIGNED),
        (SIGNED, 80, "conv(input, kernel, ‹stride=1›, padding=0, bias=None)   = 16.05   d/dx 12.25 …"),
        (SIGNED, 70, "conv(input, kernel, ‹stride=1›, padding=0, bias=None)   = 16.05 …"),
        (SIGNED, 60, "conv(input, kernel, ‹stride=1›, padding=0, …)   = 16.05"),
        (SIGNED, 40, "conv(…, kernel, ‹stride=1›, …)   = 16.05"),
        (SIGNED, 38, "conv(…, ‹stride=1›, …)   = 16.05"),
        (SIGNED, 20, "= 16.05"),
        ("= 16.05   d/dx 12.25   d/dy 3", 24, "= 16.05   d/dx 12.25 …"),
        ("= 16.05   d/dx 12.25   d/dy 3", 12, "= 16.05 …"),
        ("f(‹x›)", 5, "…"),
        ("load(‹path›, columns=None, skip=0)", 38, "load(‹path›, columns=None, skip=0)"),
        ("load(‹path›, columns=None, skip=0)", 30, "load(‹path›, columns=None, …)"),
        ("load(‹path›, columns=None, skip=0)", 20, "load(‹path›, …)"),
    ],
)
def test_a_narrow_live_line_keeps_the_value_and_the_argument_that_is_typed(line, room, shown):
    assert first_that_fits(live_lines(line), room) == shown


@given(st.text("ab ,()=‹›…", max_size=60), st.integers(1, 70))
def test_no_line_is_longer_than_its_room(line, room):
    assert len(first_that_fits(live_lines(line), room)) <= room
    assert len(cut(line, room)) <= room
    assert {word.rstrip(",") for word in cut(line, room).split()} <= {*(word.rstrip(",") for word in line.split()), "…"}


@each("width", [24, 40, 60])
def test_a_name_that_leaves_no_room_beside_it_has_a_line_to_itself(width):
    session = Session()
    session.settings.width = width
    name = "the_velocity_of_all_trains"[: width - 4]
    lines = []
    session.run(f"var {name} = [1, 2]; k = sin\ninfo {name}", lambda result: lines.extend(result.lines.split("\n")))
    assert max(map(len, lines)) <= width
    assert (lines[0] == name) == (width < 60)
    assert "".join("".join(lines).split()).endswith(f"keptby{name}")
    if width == 40:
        assert lines[1:5] == [
            "         leaf that requires grad",
            "shape    (2), 2 entries",
            "value    [1, 2]",
            "version  0, never written in place",
        ]


@each("width", [40, 60, 80, 200])
def test_tables_fit_the_terminal(width):
    session = Session()
    session.settings.width = width
    session.run("var a = arange(50); b = a**2; a_name_rather_long = mean(b)")
    lines = []
    session.run("vars\ninfo a b a_name_rather_long", lambda result: lines.extend(result.lines.split("\n")))
    assert len(lines) > 20
    assert max(map(len, lines)) <= width


def test_what_undo_keeps_is_told_where_it_is_much():
    session = Session()
    session.steps.depth = 100
    line = Toolbar(session)
    for text in ("var a = ones(200_000)", "y = sum(exp(a))"):
        session.run(text)
        line.look()
        assert "undo" not in line.told
    session.run("y = sum(exp(a))")
    line.look()
    assert line.told.endswith("undo 3.2 MB")


@each("width", [30, 40, 80])
def test_a_check_is_as_narrow_as_the_terminal(width, capsys):
    session = Session()
    session.settings.width = width
    session.run("var x = 2; y = sin(x**2)*x; check y", PromptPrinter(session.settings))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= width


def test_tables_are_folded_and_drawings_are_not(capsys):
    session = Session()
    session.run("var w = [1, 2, 3, 4]; y = w[2]*tanh(w[0]*0.5 + w[1]) + w[3]")
    session.settings.width = 40
    printer = PromptPrinter(session.settings)
    session.run("explain y", printer)
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 40 and "\n    y (1) <- " in told
    session.run("time: y*2", printer)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40
    session.settings.width = 20
    session.run("graph y as dot", printer)
    drawn = capsys.readouterr().out
    session.settings.width = None
    session.run("graph y as dot", printer)
    assert capsys.readouterr().out == drawn
