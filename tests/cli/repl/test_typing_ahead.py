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
    assert typed(keys + CTRL_D) == (out, "")


@pytest.mark.parametrize(
    ("keys", "out"),
    [
        ("value = 3\r|valu\t\r", "3\n"),
        ("value = 3\r|valu\t\t\r|2\r", "3\n2\n"),
        ("value = 3\r|valu\t*2\r", "6\n"),
        ("xykka = 3; xyrum = 4\r|xy\trum\r|xykka\r", "4\n3\n"),
        ("xykka = 3; xyrum = 4\r|xy\t\t\r|\r", "4\n"),  # the menu; then Enter takes its entry, and Enter the line
        ("value = 3\r|valu\t + valu\t\r|1\r", "6\n1\n"),
        ("value = 3\r|nothing_like_it = 4\t\r|nothing_like\t\r", "4\n"),
    ],
)
@pytest.mark.parametrize("vi", [False, True])
def test_tab_and_what_follows_in_one_packet(typed, keys, out, vi):
    packets = [*keys.split("|"), CTRL_D]
    assert typed(packets, vi=vi) == typed([*"".join(packets)], vi=vi) == (out, "")


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


@pytest.mark.long
@pytest.mark.parametrize("packet", ["long_na\t\r", "long_na\t*2 + long_n\t - long_na\t*2\r"])
def test_tab_and_enter_in_one_packet_at_a_terminal(environment, tmp_path, packet):
    screens = []
    for name, keys in (("at once", [packet]), ("one by one", [*packet])):
        own = telling_its_cursor(environment) | {"XDG_STATE_HOME": str(tmp_path / name)}
        with Terminal(own, folder=tmp_path) as one:
            one.see("agrad>")
            one.enter("long_name = 21")
            for key in keys:
                one.type(key)
                one.see("long_na")
            one.wait("\n21")
            screens.append(above_toolbar(one.see("\n21\nagrad>")))
    assert screens[0] == screens[1]
