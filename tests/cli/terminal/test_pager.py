"""What is longer than the screen goes through the user's pager, on a terminal alone, and never ends a session."""

import sys

import pytest
from screens import Terminal
from thinned import thinned

from agrad.cli.terminal.pager import PAGER

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it needs a pseudo-terminal")


@pytest.fixture
def pager(tmp_path):
    """A pager that keeps what it is given in a file, and says how it was called."""
    path = tmp_path / "pager"
    path.write_text(f'#!/bin/sh\n$REST\ncat > "{tmp_path}/given"\necho "paged with $LESS"\n', "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def given(tmp_path):
    """What the pager was given."""
    return lambda: (tmp_path / "given").read_text("utf-8") if (tmp_path / "given").exists() else None


@pytest.fixture
def screen(environment, tmp_path, pager):
    """`agrad ARGUMENTS` on a terminal of 80 by 24 that tells where its cursor is."""
    told = {name: text for name, text in environment.items() if name not in ("PROMPT_TOOLKIT_NO_CPR", "LESS")}

    def open_one(*arguments, **variables):
        return Terminal(told | {"PAGER": pager} | variables, *arguments, folder=tmp_path)

    return open_one


@pytest.mark.parametrize("words", [["help", "everything"], ["functions"], ["help", "kinks"]])
def test_on_a_terminal_long_texts_are_paged(screen, agrad, given, words):
    with screen(*words) as terminal:
        terminal.until("paged with -FRX")
    assert given().split() == agrad(*words)[0].split()
    assert max(map(len, given().splitlines())) <= 80


def test_what_the_user_says_of_less_stands(screen):
    with screen("help", "everything", LESS="-S") as terminal:
        terminal.until("paged with -S")


def test_what_fits_the_screen_is_not(screen, given):
    with screen("help", "sin") as terminal:
        terminal.until("sin(pi/6)")
    assert given() is None


def test_in_a_pipe_nothing_is(agrad, environment, pager, given):
    environment["PAGER"] = pager
    assert len(agrad("help", "everything")[0].splitlines()) > 24
    assert len(agrad("repl", given="help everything\n")[0].splitlines()) > 24
    assert given() is None


@pytest.mark.parametrize(
    ("said", "variables"),
    thinned(
        [
            ("pager = false", {}),
            ("", {"PAGER": ""}),
            ("pager = true", {"PAGER": "cat"}),
            ("", {"TERM": "dumb"}),
            ("", {"PAGER": "no-such-pager"}),
            ("", {"PAGER": "'unfinished"}),
            ("", {"PAGER": "/dev/null"}),
        ],
        4,
    ),
)
def test_without_a_pager_all_of_it_is_printed(screen, tmp_path, given, said, variables):
    (tmp_path / "agrad").mkdir()
    (tmp_path / "agrad" / "config.toml").write_text(said, "utf-8")
    with screen("help", "everything", **variables) as terminal:
        assert "and help on commands" in terminal.until("topics and everything")
    assert given() is None


@pytest.mark.parametrize("told", ["no-such-pager", "no-such-pager --quiet", "'unfinished", "/dev/null"])
def test_a_pager_that_cannot_be_run_is_not_tried(monkeypatch, capsys, told):
    """Whatever click would do about it: its versions differ."""
    monkeypatch.setenv("PAGER", told)
    monkeypatch.setattr("agrad.cli.terminal.pager._readable", lambda: True)
    monkeypatch.setattr("click.echo_via_pager", lambda text: pytest.fail("it was tried"))
    text = "a line\n" * 200
    PAGER.show(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_a_pager_gets_no_more_than_the_terminal_can_show(screen, given):
    with screen("--ascii", "help", "everything") as terminal:
        terminal.until("paged")
    assert given().isascii()


def test_a_session_pages_what_is_long(screen, given):
    with screen() as terminal:
        terminal.see("agrad>", "no graph yet")
        assert "paged with -FRX" not in terminal.enter("help sin", "sin(pi/6)")
        assert given() is None
        terminal.enter("help everything", "paged with -FRX")
        assert "retain b …" in given()
        terminal.enter("var x = 2; y = x")
        terminal.enter("for i in range(30): y = y*x", "30 nodes")
        terminal.enter("graph y", "paged with -FRX")
        assert given().startswith("graph of y: 31 nodes")


@pytest.fixture
def listed(tmp_path):
    """At a prompt: names whose list is more than a pipe takes at once; the screen at the prompt behind it."""

    def show(terminal, *texts):
        (tmp_path / "names.ag").write_text("".join(f"a_name_of_some_length_{n} = {n}\n" for n in range(3000)), "utf-8")
        terminal.see("agrad>", "no graph yet")
        terminal.enter('load "names.ag"')
        return terminal.enter("vars", *texts)

    return show


@pytest.mark.long
def test_to_leave_a_pager_early_does_not_end_the_session(screen, listed):
    with screen(PAGER="head -1") as terminal:
        listed(terminal, "a_name_of_some_length_0")
        terminal.enter("6*7", "42")


@pytest.mark.long
def test_the_time_of_reading_is_not_that_of_the_statement(screen, listed, tmp_path):
    (tmp_path / "agrad").mkdir()
    (tmp_path / "agrad" / "config.toml").write_text("limits.time = 6", "utf-8")
    with screen(REST="sleep 7") as terminal:
        lines = listed(terminal, "paged with -FRX")
        assert "error[limit]" not in "\n".join(lines)
        assert lines[-1].endswith(" ms")
        assert "42" in terminal.enter("6*7", "42")
