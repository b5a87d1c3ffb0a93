"""Ctrl-C while a library computes: what is said, and what a second one does."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from screens import PATIENCE, Terminal

from agrad.cli.commands.repl import loop
from agrad.grammar.session.session import Session

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")

# In place of a function of a library: a call into C that no signal ends, as that of the inverse of a large matrix. The
# signal goes to another thread. It returns when something is written to "go".
BLOCKING = Path(__file__).with_name("blocking.txt").read_text()
SAID = "waiting for inv, which cannot be interrupted\r\nCtrl-C again ends agrad"
KEPT = "; agrad repl --resume restores the session"


@pytest.fixture
def blocking(environment, tmp_path):
    """An environment in which a function of a library does not return to Python."""

    def made(module="numpy.linalg", name="inv"):
        text = BLOCKING.replace("{module}", module).replace("{name}", name)
        (tmp_path / "sitecustomize.py").write_text(text)
        paths = [str(tmp_path), *filter(None, [environment.get("PYTHONPATH")])]
        return environment | {"PYTHONPATH": os.pathsep.join(paths)}

    return made


@pytest.fixture
def blocked(blocking):
    """One in which that is the inverse."""
    return blocking()


def in_the_library(environment, folder):
    """A session that has a statement to restore, and waits for the inverse of another."""
    one = Terminal(environment, folder=folder)
    one.until("agrad>")
    one.type("x = 4\r")
    one.until("agrad>")
    one.type("y = inv([[2, 0], [0, 2]])\r")
    one.until("in the library")
    return one


def test_a_ctrl_c_says_what_is_waited_for(blocked, tmp_path):
    with in_the_library(blocked, tmp_path) as one:
        one.type("\x03")
        one.until(SAID + KEPT)
        (tmp_path / "go").write_text("x")
        one.until("interrupted: everything is as before this statement")
        one.until("agrad>")
        one.type("x + 1\r")
        one.until("5\r\n")


def test_a_second_ctrl_c_ends_agrad_and_the_session_can_be_resumed(blocked, tmp_path, environment):
    with in_the_library(blocked, tmp_path) as one:
        one.type("\x03")
        one.until(SAID + KEPT)
        one.type("\x03")
        one.until("ended; agrad repl --resume restores the session")
        assert one.process.wait(PATIENCE) == 130
    with Terminal(environment, "repl", "--resume", folder=tmp_path) as one:
        one.until("restored 1 statement")


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "name", "statement", "said"),
    [
        ("scipy.integrate", "quad", "integral(cos, 0, 1)", "integral"),
        ("scipy.integrate", "DOP853", "ode(f, 1, [0, 1])", "ode"),
        ("scipy.optimize", "root", "solve a**3 == a + 1 for a from 1", "solve"),
        ("numpy.linalg", "svd", "svd(rand(3, 3))[1]", "svd"),
    ],
)
def test_it_is_said_for_other_functions_and_commands(blocking, tmp_path, module, name, statement, said):
    with Terminal(blocking(module, name), folder=tmp_path) as one:
        one.until("agrad>")
        one.type("def f(y, t) = -y\r")
        one.until("agrad>")
        one.type("var a = 1\r")
        one.until("agrad>")
        one.type(f"{statement}\r")
        one.until("in the library")
        one.type("\x03")
        one.until(f"waiting for {said}, which cannot be interrupted")
        (tmp_path / "go").write_text("x")
        one.until("interrupted: everything is as before this statement")


def running(environment, folder):
    """A script that waits for the inverse."""
    (folder / "script.ag").write_text("x = 4\nprint x + 1\ny = inv([[2, 0], [0, 2]])\nprint y\n")
    one = Terminal(environment, "run", "script.ag", folder=folder)
    one.until("5\r\n")
    one.until("in the library")
    return one


def ended(one):
    """All that is shown until the process has left its terminal, and its exit code."""
    with suppress(AssertionError):
        while True:
            one.read()
    return one.shown, one.process.wait(PATIENCE)


def test_a_script_says_it_too(blocked, tmp_path):
    with running(blocked, tmp_path) as one:
        one.type("\x03")
        one.until(f"{SAID}\r\n")
        (tmp_path / "go").write_text("x")
        assert ended(one) == ("interrupted before the end\r\n", 130)


def test_a_second_ctrl_c_ends_a_script(blocked, tmp_path):
    with running(blocked, tmp_path) as one:
        one.type("\x03")
        one.until(f"{SAID}\r\n")
        one.type("\x03")
        one.until("ended\r\n")
        assert one.process.wait(PATIENCE) == 130


def test_nothing_listens_when_the_session_has_ended():
    assert loop(Session(), iter(["x = 1"]), interactive=True) == 0
    for thread in threading.enumerate():
        if thread.name == "agrad-ctrl-c":
            thread.join(60)
            assert not thread.is_alive()


def test_a_ctrl_c_in_a_finalizer_stops_the_statement_a_moment_later():
    lost = "class Lost:\n    def __del__(self):\n        signal.raise_signal(signal.SIGINT)\n\n\n"
    code = (
        f"import signal, sys, time\nfrom agrad.cli.terminal import stop_once, unraisable\n{lost}"
        "signal.signal(signal.SIGINT, stop_once)\nsys.unraisablehook = unraisable\n"
        "try:\n    Lost()\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('stopped')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("stopped\n", "")
