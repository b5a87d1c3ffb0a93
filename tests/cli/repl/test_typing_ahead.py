"""What is typed faster than it is taken: while a statement runs, and together with Enter."""

import os
import signal
import termios

import pytest
from screens import Terminal, above_toolbar, telling_its_cursor

CTRL_D = "\x04"


@pytest.mark.parametrize(
    ("keys", "out"),
    [
        ("1 + 1\r2 + 2", "2\n4\n"),
        ("x = 3\rx*", "6\n"),
        ("def f(x) = x*2\rf(1)", "2\n"),
    ],
)
def test_enter_and_what_follows_in_one_packet(typed, keys, out):
    keys += "2\r" if keys.endswith("*") else "\r"
    assert typed(keys + CTRL_D) == typed(keys + CTRL_D, at_once=True) == (out, "")


def stop_while_it_runs(one):
    """Start a statement, and stop the process before it ends: it does not read its keys one by one meanwhile."""
    for size in (1000, 3000, 9000):
        one.type(f'print "be" "gun"; k = [[sin(i*j) for i in range({size})] for j in range(1000)]\r')
        one.until("begun\r\n")
        os.kill(one.process.pid, signal.SIGSTOP)
        if termios.tcgetattr(one.end)[3] & termios.ICANON:
            return
        os.kill(one.process.pid, signal.SIGCONT)
        one.see("agrad>")
    raise AssertionError("it ends too soon")


@pytest.mark.long
def test_lines_typed_while_a_statement_runs_are_taken_one_by_one(environment, tmp_path):
    with Terminal(telling_its_cursor(environment), folder=tmp_path) as one:
        one.see("agrad>")
        stop_while_it_runs(one)
        one.type("1 + 1\r5\r7*3\r6*")
        os.kill(one.process.pid, signal.SIGCONT)
        one.wait_for(lambda: one.line() == "agrad> 6*", "the rest")
        taken = "agrad> 1 + 1\n2\nagrad> 5\n5\nagrad> 7*3\n21\nagrad> 6*"
        assert above_toolbar(one.see(taken.splitlines()[-1])).endswith(taken)


@pytest.mark.long
def test_a_line_and_the_next_in_one_packet_at_a_terminal(environment, tmp_path):
    with Terminal(telling_its_cursor(environment), folder=tmp_path) as one:
        one.see("agrad>")
        one.type("1 + 1\r2 + 2")
        one.wait_for(lambda: one.line() == "agrad> 2 + 2", "the second line")
        assert "2" in one.lines()
