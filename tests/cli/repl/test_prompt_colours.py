"""What a prompt puts in colour: the states of graphs. Escape codes are pinned, and that there are none without colour."""

import re
from contextlib import suppress

import pytest

from agrad.cli.repl.printer import PromptPrinter
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

RED, GREEN, MAGENTA, CYAN, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[35m", "\x1b[36m", "\x1b[0m"
GIVEN = "var x = 2; y = x**2; z = 3*y"


@pytest.fixture
def printed(capsys, monkeypatch):
    """What a prompt prints for the last of some texts."""

    def run(*texts, **variables):
        for name, text in ({"FORCE_COLOR": "1"} | variables).items():
            monkeypatch.setenv(name, text)
        session = Session()
        printer = PromptPrinter(session.settings)
        for text in texts:
            capsys.readouterr()
            with suppress(AgradError):
                session.run(text, printer)
        return capsys.readouterr().out

    return run


def test_the_states_of_a_graph_have_colours(printed):
    assert printed(GIVEN, "graph z").split("\n")[0] == f"graph of z: 3 nodes, 1 leaf, {GREEN}held{PLAIN}"
    freed = printed(GIVEN, "backward z", "set x = 5", "graph z").split("\n")
    assert freed[0] == f"graph of z: 3 nodes, 1 leaf, {RED}freed{PLAIN}, {MAGENTA}stale{PLAIN}"
    assert freed[2].endswith(f"= 4   {RED}freed{PLAIN} by line 2, took %1   {MAGENTA}stale{PLAIN}")


def test_so_they_have_in_the_lists_of_names_and_graphs_and_in_info(printed):
    assert f"y  Pow, {RED}freed{PLAIN}" in printed(GIVEN, "backward z", "vars")
    assert f"  {RED}freed{PLAIN}  " in printed(GIVEN, "backward z", "graphs")
    assert f"state    {RED}freed{PLAIN} at line 2: backward z" in printed(GIVEN, "backward z", "info z")
    assert f"state    {GREEN}held{PLAIN}\n" in printed(GIVEN, "info z")
    assert f"{MAGENTA}stale{PLAIN} since line 2" in printed(GIVEN, "set x = 5", "info z")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("graph z", "  %2  y = x**2  Pow   ()  = 4   saves %1   <retained>   grad none\n"),
        ("graph z as tree", "= 4   saves %1   <retained>   grad none"),
        ("info y", "         <retained>: a backward leaves its gradient, as that of a leaf\n"),
        ("vars", "y  Pow, [held], <retained>  4"),
        ("backward z trace", "\ny.grad += 3   <retained>\n"),
    ],
)
def test_what_is_retained_has_a_colour_and_a_word(printed, command, told):
    coloured = told.translate({ord("<"): CYAN, ord("["): GREEN, ord(">"): PLAIN, ord("]"): PLAIN})
    assert coloured in printed(GIVEN, "retain y", command)
    assert re.sub(r"[][<>]", "", told) in printed(GIVEN, "retain y", command, NO_COLOR="1", FORCE_COLOR="")
    assert "retained" not in printed(GIVEN, "backward z retain", "retain x", command)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"FORCE_COLOR": "0"}])
@pytest.mark.parametrize("command", ["graph z", "vars", "graphs", "info z", "graph z as json", "graph z as dot"])
def test_without_colour_nothing_is_added(printed, command, variables):
    assert "\x1b" not in printed(GIVEN, "backward z", "set x = 5", command, **variables)


@pytest.mark.parametrize("form", ["json", "dot", "mermaid"])
def test_a_form_for_machines_has_no_colours(printed, form):
    assert "\x1b" not in printed(GIVEN, "backward z", f"graph z as {form}")


def test_a_help_that_speaks_of_states_has_none(printed):
    assert "\x1b" not in printed("help backward")


def test_a_text_that_is_shown_cannot_change_the_terminal(printed, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    text = r'"a\x1b[31mb\x1b]0;c"'
    assert "\x1b" not in printed(text, FORCE_COLOR="1")
    assert printed(text).startswith("a\N{REPLACEMENT CHARACTER}[31mb")
    assert "\x1b[31mb" in printed(f"print {text}")  # a program may want to colour what it prints
