"""`agrad repl`: piped, driven through prompt_toolkit's pipe input, and in a pseudo-terminal."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rows import each
from screens import PATIENCE, Terminal
from thinned import thinned

from agrad.cli.commands.repl import loop
from agrad.cli.repl import editor
from agrad.cli.repl.editor import KeptHistory
from agrad.cli.repl.plain import statements
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

EXAMPLES = Path(__file__).parents[3] / "examples"
NAME_ERROR = "error[name]: q has no value"

# Piped: plain lines, no prompt


def test_what_escapes_is_told_and_the_statement_is_taken_back(capsys, monkeypatch):
    def broken(plot, spare, pictures):
        raise ZeroDivisionError("no such luck\nsecond line")

    monkeypatch.setattr("agrad.cli.output.show", broken)
    session = Session()
    assert loop(session, iter(["x = 1\n", "if 1:\n    x = 2\n    plot [1, 2]\n", "x\n"])) == 1
    out, err = capsys.readouterr()
    assert out == "1\n"
    assert err.startswith(
        "error[internal]: an error in agrad itself: ZeroDivisionError: no such luck\n  note: raised in "
    )
    assert f"{Path(__file__).name}, line " in err and err.endswith("taken back, and the session goes on\n")
    assert loop(session, iter(["plot [1]\n"]), interactive=True) == 0


# Each with what its first line is refused for. What is below it would give a name a value.
UNREAD = {
    "for k in range(3)\n    x = k\n    y = 2\n": "a `:` is missing here, before the block",
    "for k in rnge(3:\n    x = k\n\n    y = 2\n": "this `(` is never closed",
    "while (1:\n    if 1:\n        x = 2\n    y = 3\n# a comment\n\n    z = 3\n": "this `(` is never closed",
    "for k in range(2):\n    if k = 3:\n        x = 2\n    y = 3\n": "`=` gives a value to a name; to compare write `==`",
    "try:\n    x = 1\n": "agrad has no `try`",
    "@foo bar\ndef f(x):\n    y = 2\n    return x\n": "an operator is missing between `foo` and `bar`",
    "class A(B:\n    x = 1\n\n    def f(self):\n        y = 2\n": "SyntaxError: invalid syntax",
    "def f(x,\n      y z):\n    w = 1\n": "a function is written `def f(x, y=2) = x**y`, or `def f(x):` with a block",
    ">>> for k in range(3)\n...     x = k\n...     y = 2\n": "a `:` is missing here, before the block",
}


@each("block", UNREAD)
def test_the_rest_of_a_block_whose_header_cannot_be_read_is_left_out(block):
    session, found = Session(), []
    prompt = ">>> " if block.startswith(">") else ""
    lines = [line.encode() for line in f"{block}{prompt}print(5)\n".splitlines(keepends=True)]
    for text in statements(lines):
        try:
            session.run(text, found.append)
        except AgradError as error:
            found.append(error.message)
    assert [one if isinstance(one, str) else one.text(session.settings) for one in found] == [UNREAD[block], "5"]
    assert session.names == {}


# But for those that read files beside themselves: a pipe is beside nothing.
SCRIPTS = [script for script in sorted(EXAMPLES.glob("*.ag")) if ".csv" not in script.read_text()]


@pytest.mark.parametrize("script", thinned(SCRIPTS, 3), ids=lambda script: script.stem)
def test_a_script_in_a_pipe_says_what_it_says_as_a_file(agrad, script):
    out, told, code = agrad("repl", given=script.read_bytes())
    note = "note: from here on this session reads Python; `calculator` goes back\n"
    assert (out, told.replace(note, ""), code) == agrad("run", str(script))


def test_each_statement_is_handed_on_as_soon_as_it_is_complete():
    lines = iter([b"1\n", b"x = [1,\n", b"2]\n", b"for i in range(2):\n", b"  i\n", b"3"])
    parts = statements(lines)
    assert next(parts) == "1\n"
    assert next(lines) == b"x = [1,\n"


def test_a_pipe_that_is_not_utf8_is_an_error(agrad):
    message = "error[file]: cannot read <stdin>: line 2 is not UTF-8 text\n"
    assert agrad("repl", given=b"1\n\xff\n") == ("1\n", message, 1)


# Prompted, through a pipe input

CTRL_C, CTRL_D = "\x03", "\x04"


def test_a_session_at_the_prompt(typed):
    assert typed("x = 3\rx**2\r\x04") == ("9\n", "")


def test_enter_makes_a_new_line_while_the_statement_is_not_complete(typed):
    assert typed("x = [1,\r2]\rx\r\x04") == ("[1, 2]\n", "")
    assert typed("def f(x):\rreturn x*2\r\rf(4)\r\x04") == ("8\n", "")


def test_ctrl_c_clears_the_line(typed):
    assert typed("1 + \x03x = 2\rx\r\x04") == ("2\n", "")


def test_an_error_does_not_end_the_session(typed):
    out, err = typed("sin(q)\r2\r\x04")
    assert (out, err.splitlines()[0]) == ("2\n", NAME_ERROR)


def test_quit_leaves(typed):
    assert typed("1\rquit\r") == ("1\n", "")


def test_history_is_kept_between_sessions(typed, tmp_path):
    typed("1 + 1\r\x04")
    assert typed("\x1b[A\r\x04") == ("2\n", "")
    assert "+1 + 1\n" in (tmp_path / "agrad" / "history").read_text()


@pytest.mark.skipif(os.name != "posix", reason="has other permissions")
def test_history_is_for_nobody_elses_eyes(typed, tmp_path):
    typed("1 + 1\r\x04")
    assert (tmp_path / "agrad" / "history").stat().st_mode & 0o077 == 0


@pytest.mark.long
def test_sessions_side_by_side_lose_nothing_of_the_history(tmp_path):
    path = tmp_path / "history"
    entry = "x = [\n" + "1,\n" * 5000 + "2]"
    writer = "from pathlib import Path; from agrad.cli.repl.editor import KeptHistory; import sys\n"
    writer += f"for i in range(20): KeptHistory(Path({str(path)!r})).store_string({entry!r} + sys.argv[1] + str(i))"
    children = [subprocess.Popen([sys.executable, "-c", writer, name]) for name in "abc"]
    assert [child.wait() for child in children] == [0, 0, 0]
    found = list(KeptHistory(path).load_history_strings())
    assert sorted(found) == sorted(f"{entry}{name}{i}" for name in "abc" for i in range(20))


def test_a_history_that_cannot_be_written_is_read(typed, tmp_path, monkeypatch):
    typed("1 + 1\r\x04")
    path = tmp_path / "agrad" / "history"
    before = path.read_bytes()

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(editor, "_opened", refuse)
    assert typed("\x1b[A\r3\r\x04") == (
        "2\n3\n",
        f"note: what you type is not kept after this session: {path}: Permission denied\n",
    )
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_disk_that_is_full_later_is_one_note(tmp_path, capsys):
    kept = KeptHistory(tmp_path / "gone" / "history")
    kept.store_string("1")
    kept.store_string("2")
    assert capsys.readouterr().err.splitlines() == [
        f"note: what you type is not kept after this session: {tmp_path}/gone/history: No such file or directory"
    ]


def test_a_history_that_cannot_be_kept_is_one_note(typed, tmp_path):
    (tmp_path / "agrad").write_text("a file where the folder should be")
    out, err = typed("1\r2\r\x04")
    assert out == "1\n2\n"
    path = tmp_path / "agrad" / "history"
    assert err == f"note: what you type is not kept after this session: {path}: File exists\n"


@each(
    "stop, said",
    [
        (KeyboardInterrupt(), "everything is as before this statement"),
        (KeyboardInterrupt("undo took back 1 of 2 statements"), "undo took back 1 of 2 statements"),
    ],
)
def test_a_statement_stopped_by_ctrl_c_changes_nothing_or_the_prompt_says_what(capsys, stop, said):
    session = Session()

    def statements():
        yield "x = 1"
        yield "x = 2; stop_here()"
        yield "x"

    run = session.run

    def interrupted(text, emit, **keywords):
        if "stop_here" in text:
            raise stop
        run(text, emit, **keywords)

    session.run = interrupted
    assert loop(session, statements(), interactive=True) == 0
    assert capsys.readouterr() == ("1\n", f"interrupted: {said}\n")


# In a pseudo-terminal


def conversation(environment):
    """A session with every way to go wrong; what was shown."""
    with Terminal(environment) as terminal:
        seen = terminal.until("agrad>")
        terminal.type("x = 6\r")
        seen += terminal.until("agrad>")
        terminal.type("x*7\r")
        seen += terminal.until("42\r\n") + terminal.until("agrad>")
        seen += terminal.interrupt() + terminal.until("agrad>")
        terminal.type("-x\r")
        seen += terminal.until("-6\r\n") + terminal.until("agrad>")
        terminal.type("sin(q)\r")
        seen += terminal.until("q has no value") + terminal.until("agrad>")
        terminal.type(CTRL_D)
        assert terminal.process.wait(PATIENCE) == 0
    return seen


def test_a_session_in_a_terminal(environment):
    seen = conversation(environment)
    assert "Traceback" not in seen
    assert re.search(r"\x1b\[[0-9;]*3\dm", seen), "nothing is coloured"


def test_no_color_is_heard(environment):
    seen = conversation(environment | {"NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*[39]\d[;m]", seen)


def test_a_dumb_terminal_gets_no_escape_codes(environment):
    assert "\x1b" not in conversation(environment | {"TERM": "dumb"})
