"""`agrad repl`: piped, driven through prompt_toolkit's pipe input, and in a pseudo-terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from agrad.cli import __version__
from agrad.cli.repl import loop
from agrad.cli.repl.completer import Names
from agrad.cli.repl.highlighter import highlighted
from agrad.cli.repl.plain import statements
from agrad.cli.repl.prompt import prompted
from agrad.grammar.session import Session

BANNER = f"agrad {__version__}: help says what there is, Ctrl-D leaves\n"
EXAMPLES = Path(__file__).parents[2] / "examples"
NAME_ERROR = "error[name]: q has no value"

# Piped: plain lines, no prompt


def test_a_pipe_gets_results_and_nothing_else(agrad):
    assert agrad("repl", given="var a = 3\na**2\n") == ("9\n", "", 0)


def test_without_a_command_agrad_is_the_repl(agrad):
    assert agrad(given="6*7\n") == ("42\n", "", 0)


def test_a_pipe_goes_on_after_an_error(agrad):
    out, err, code = agrad("repl", given="1\nsin(q)\n2\n")
    assert (out, code) == ("1\n2\n", 1)
    assert err.splitlines()[:3] == [NAME_ERROR, "  session line 2 | sin(q)", "                 |     ^"]


@pytest.mark.parametrize(
    ("lines", "code"), [("1", 0), ("2*\nq", 2), ("q\n2*", 1), ("1\nquit\nq", 0), ("q\nquit", 1), ("", 0)]
)
def test_the_exit_code_is_that_of_the_first_failure(agrad, lines, code):
    assert agrad("repl", given=lines)[2] == code


def test_a_block_in_a_pipe_ends_where_a_line_is_not_indented(agrad):
    text = "def f(x):\n    y = x*2\n\n    return y\nf(4)\nif 0:\n  1\nelse:\n  2\nf(\n5)\n"
    assert agrad("repl", given=text) == ("8\n2\n10\n", "", 0)


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.ag")), ids=lambda script: script.stem)
def test_a_script_in_a_pipe_says_what_it_says_as_a_file(agrad, script):
    assert agrad("repl", given=script.read_bytes()) == agrad("run", str(script))


def test_each_statement_is_handed_on_as_soon_as_it_is_complete():
    lines = iter([b"1\n", b"x = [1,\n", b"2]\n", b"for i in range(2):\n", b"  i\n", b"3"])
    parts = statements(lines)
    assert next(parts) == "1\n"
    assert next(lines) == b"x = [1,\n"


def test_a_pipe_that_is_not_utf8_is_an_error(agrad):
    message = "error[file]: cannot read <stdin>: line 2 is not UTF-8 text\n"
    assert agrad("repl", given=b"1\n\xff\n") == ("1\n", message, 1)


def test_the_shared_graph_session_as_a_pipe(agrad):
    graph = "var a = [1, 2, 3, 4]\nb = a**2\nc = b*2\nd = mean(c)\ne = sum(c)\n"
    out, err, code = agrad("repl", given=graph + "backward d\ngrad a\nbackward e\na\n")
    assert (out, code) == ("a.grad = [1, 2, 3, 4]\n[1, 2, 3, 4]\n", 1)
    assert err.startswith("error[freed]: ")


# Prompted, through a pipe input


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Type keys at the prompt, in this process: (stdout, stderr) without the banner."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")

    def type_keys(keys):
        session = Session()
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
            keyboard.send_text(keys)
            assert loop(session, prompted(session), interactive=True) == 0
        out, err = capsys.readouterr()
        assert out.startswith(BANNER)
        return out.removeprefix(BANNER), err

    return type_keys


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


def test_a_pasted_block_runs_as_a_whole(typed):
    assert typed("\x1b[200~x = 2\ny = x*3\ny\n\x1b[201~\r\x04") == ("6\n", "")


def test_history_is_kept_between_sessions(typed, tmp_path):
    typed("1 + 1\r\x04")
    assert typed("\x1b[A\r\x04") == ("2\n", "")
    assert "+1 + 1\n" in (tmp_path / "agrad" / "history").read_text()


def test_a_history_that_cannot_be_kept_is_one_note(typed, tmp_path):
    (tmp_path / "agrad").write_text("a file where the folder should be")
    out, err = typed("1\r2\r\x04")
    assert out == "1\n2\n"
    path = tmp_path / "agrad" / "history"
    assert err == f"note: what you type is not remembered beyond this session: {path}: File exists\n"


def test_a_computation_stopped_by_ctrl_c_changes_nothing(capsys):
    session = Session()

    def statements():
        yield "x = 1"
        yield "x = 2; stop_here()"
        yield "x"

    run = session.run

    def interrupted(text, emit, **keywords):
        if "stop_here" in text:
            raise KeyboardInterrupt
        run(text, emit, **keywords)

    session.run = interrupted
    assert loop(session, statements(), interactive=True) == 0
    assert capsys.readouterr() == ("1\n", "interrupted: everything is as before this statement\n")


# Completion and colour


def completions(text, session=None):
    found = Names(session or Session()).get_completions(Document(text), None)
    return [completion.text for completion in found]


def test_completion_knows_functions_commands_and_names():
    session = Session()
    session.run("sincere = 1", print)
    assert completions("since", session) == ["sincere"]
    assert "sin" in completions("2*si")
    assert completions("backw") == ["backward"]
    assert completions("x = 1; backw") == ["backward"]
    assert completions("2*backw") == []
    assert "reshape" in completions("x.resh")
    assert completions("x.requires_gr") == ["requires_grad", "requires_grad_"]
    assert completions("help backw") == ["backward"]
    assert completions("zzz") == []


def test_the_coloured_pieces_join_to_the_text():
    text = "var x = [1,\n  2]  # two\n\nprint 'é', x²\n"
    joined = "\n".join("".join(piece for _, piece in line) for line in highlighted(text))
    assert joined == text


def test_tokens_are_coloured_by_their_kind():
    assert ("class:number", "12") in highlighted("12 + x")[0]
    assert ("class:comment", "# hi") in highlighted("1\n2 # hi")[1]


# In a pseudo-terminal


class Terminal:
    """A process that believes in its terminal."""

    START = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from agrad.cli.__main__ import process
process()
"""

    def __init__(self, environment):
        self.screen, end = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.START, "repl"],
            stdin=end,
            stdout=end,
            stderr=end,
            env=environment,
            start_new_session=True,
        )
        os.close(end)
        self.shown = ""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        os.close(self.screen)

    def type(self, keys):
        os.write(self.screen, keys.encode())

    def until(self, text, pressing=""):
        """What is shown up to `text`, which must come; twice a second the keys are pressed until it does."""
        started = time.monotonic()
        presses = 0
        while text not in self.shown:
            passed = time.monotonic() - started
            assert passed < 30, f"no {text!r} in {self.shown!r}"
            if passed * 2 > presses:
                presses += 1
                self.type(pressing)
            if select.select([self.screen], [], [], 0.1)[0]:
                self.shown += os.read(self.screen, 65536).decode()
        before, _, self.shown = self.shown.partition(text)
        return before + text


def conversation(environment):
    """A session with every way to go wrong; what was shown."""
    with Terminal(environment) as terminal:
        seen = terminal.until("agrad>")
        terminal.type("x = 6\r")
        seen += terminal.until("agrad>")
        terminal.type("x*7\r")
        seen += terminal.until("42\r\n") + terminal.until("agrad>")
        terminal.type("while 1: x = x + 1\r")
        time.sleep(0.3)  # once it runs, a Ctrl-C is for it; at the prompt it only clears the line
        seen += terminal.until("interrupted", pressing=CTRL_C) + terminal.until("agrad>")
        terminal.type("-x\r")
        seen += terminal.until("-6\r\n") + terminal.until("agrad>")
        terminal.type("sin(q)\r")
        seen += terminal.until(NAME_ERROR) + terminal.until("agrad>")
        terminal.type(CTRL_D)
        assert terminal.process.wait(timeout=30) == 0
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
