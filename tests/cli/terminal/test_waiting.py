"""Ctrl-C while a library computes: what is said, and what a second one does."""

import sys
import threading

import pytest
from screens import Terminal

from agrad.cli.commands.repl import loop
from agrad.grammar.session.session import Session

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")

# In place of the inverse: a call into C that no signal ends, as that of a large matrix. The signal goes to another
# thread. It returns when something is written to "go".
BLOCKING = """
import ctypes, os, signal, subprocess
import numpy as np

def inv(a):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    libc = ctypes.CDLL(None)
    os.mkfifo("go")
    waits = os.open("go", os.O_RDWR)
    subprocess.Popen(["sh", "-c", "trap '' INT; sleep 1; echo in the library"])  # when this is in the call below
    libc.read(waits, ctypes.create_string_buffer(1), 1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    return a

np.linalg.inv = inv
"""
SAID = "waiting for inv, which cannot be interrupted\r\nCtrl-C again ends agrad"
KEPT = "; agrad repl --resume restores the session"


@pytest.fixture
def blocked(environment, tmp_path):
    """An environment in which the inverse does not return to Python."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKING)
    return environment | {"PYTHONPATH": str(tmp_path)}


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
        assert one.process.wait(60) == 130
    with Terminal(environment, "repl", "--resume", folder=tmp_path) as one:
        one.until("restored 1 statement")


def test_nothing_listens_when_the_session_has_ended():
    assert loop(Session(), iter(["x = 1"]), interactive=True) == 0
    for thread in threading.enumerate():
        if thread.name == "agrad-ctrl-c":
            thread.join(60)
            assert not thread.is_alive()
