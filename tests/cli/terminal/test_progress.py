"""The line that tells how far a loop is: only for long loops, only on a terminal, and gone before anything else."""

import os
import subprocess
import sys
from contextlib import suppress
from threading import Timer

import launch
import pytest
from rows import each

from agrad.cli.terminal.progress import AFTER, Progress, duration, watching
from agrad.grammar.session.session import Session


class Terminal:
    """What is written, and a clock that a turn moves on."""

    def __init__(self, width=79):
        self.now = 0.0
        self.written = []
        self.progress = Progress(self.written.append, width, lambda: self.now)

    def turns(self, count, seconds, total=-1):
        for turn in self.progress(iter(range(count)), count if total == -1 else total):
            yield turn
            self.now += seconds

    @property
    def screen(self):
        """What stands on the line now."""
        line = ""
        for text in "".join(self.written).split("\r"):
            line = text + line[len(text) :]
        return line.rstrip()


@each("total", [-1, None])
@each("count", [0, 1, 2, 63, 1000])
def test_a_loop_sees_the_same_values(count, total):
    assert list(Terminal().turns(count, 0.0, total)) == list(range(count))


def test_a_short_loop_is_not_told_of():
    terminal = Terminal()
    list(terminal.turns(100, 0.9 * AFTER / 100))
    assert terminal.written == []


def test_a_long_loop_is_told_of_and_wiped_at_its_end():
    terminal = Terminal()
    seen = [terminal.screen for _ in terminal.turns(10, 1.0)]
    assert seen[:4] == ["", "", "iteration 3 of 10: 2 s, about 8 s left", "iteration 4 of 10: 3 s, about 7 s left"]
    assert terminal.screen == ""
    assert terminal.written[-1].endswith("\r")


def test_the_mark_of_what_stopped_it_is_wiped_too():
    terminal = Terminal()
    turns = terminal.turns(10, 1.0)
    for _ in range(4):
        next(turns)
    terminal.written.append("^C")
    turns.close()
    assert terminal.screen == ""


def test_a_loop_of_unknown_length_tells_its_turns():
    terminal = Terminal()
    assert [terminal.screen for _ in terminal.turns(5, 1.0, None)][-1] == "iteration 5: 4 s"
    assert terminal.screen == ""


def test_loops_inside_loops_are_one_line():
    terminal = Terminal()
    seen = [terminal.screen for _ in terminal.turns(3, 0.0) for _ in terminal.turns(4, 1.0)]
    assert seen[-1] == "iteration 3 of 3, iteration 4 of 4: 11 s, about 1 s left"
    assert terminal.screen == ""


def test_a_loop_that_is_left_takes_its_line_along():
    terminal = Terminal()
    for turn in terminal.turns(10, 1.0):
        if turn == 5:
            break
    assert terminal.screen == ""
    assert terminal.progress.loops == []


def test_what_is_printed_finds_the_line_empty(monkeypatch):
    terminal, seen = Terminal(), []
    monkeypatch.setattr("agrad.cli.terminal.progress.on_terminal", lambda kind: terminal.progress)
    with watching(Session(), lambda result: seen.append(terminal.screen)) as emit:
        for _ in terminal.turns(5, 1.0):
            emit(None)
    assert seen == [""] * 5


def test_the_line_is_no_wider_than_the_terminal():
    for width, line in ((17, "iteration 5 of …"), (18, "iteration 5 of 5:…")):
        terminal = Terminal(width=width)
        assert [terminal.screen for _ in terminal.turns(5, 1.0)][-1] == line


def test_short_turns_do_not_look_at_the_clock():
    looked = []
    watched = Progress(print, clock=lambda: looked.append(1) or 0.0)
    assert len(list(watched(iter(range(100_000)), 100_000))) == 100_000
    assert len(looked) < 100_000 / 60


def test_the_line_is_not_written_at_every_turn():
    terminal = Terminal()
    list(terminal.turns(2000, 0.01))
    assert len(terminal.written) < 20 / 0.1 + 2


@each("seconds, text", [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (185, "3 min 5 s"), (7830, "2 h 10 min")])
def test_a_duration_in_words(seconds, text):
    assert duration(seconds) == text


def test_every_for_of_a_session_is_watched():
    terminal, session, lines = Terminal(), Session(), []
    session.progress = terminal.progress
    text = "def f(n):\n    for i in range(n):\n        if i == 2: return i\nfor v in [1, 2]: f(3)\nfor t in (1, 2): t\nf(5)"
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    assert lines == ["2", "2", "1", "2", "2"]
    assert terminal.progress.loops == []


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals there")
@pytest.mark.parametrize(
    ("options", "settings", "told"),
    [((), {}, True), (("-q",), {}, False), ((), {"TERM": "dumb"}, False)],
)
def test_on_a_terminal(environment, tmp_path, options, settings, told):
    (tmp_path / "slow.ag").write_text("x = rand(300000); s = 0\nfor i in range(1000000): s = sum(sin(x + s))\n")
    seen = on_terminal(
        ["run", *options, "--timeout", "6", "slow.ag"], environment | {"NO_COLOR": "1"} | settings, tmp_path
    )
    line, _, error = seen.partition("error[limit]")
    assert ("\riteration " in line) is told
    assert "\x1b" not in seen
    assert error
    if told:
        assert line.rpartition("\r")[2].startswith("slow.ag:")  # the line was wiped before the error was told
        assert line.split("\r")[-2].strip() == ""


@pytest.mark.long
def test_nothing_is_told_where_there_is_no_terminal(agrad, tmp_path):
    (tmp_path / "slow.ag").write_text("x = rand(300000); s = 0\nfor i in range(1000000): s = sum(sin(x + s))\n")
    out, err, code = agrad("run", "--timeout", "6", "slow.ag")
    assert (out, code) == ("", 124)
    assert "iteration" not in err


def on_terminal(arguments, environment, folder):
    """All that `agrad ARGUMENTS` writes on a terminal of its own."""
    import pty  # here, since not every system has it

    terminal, inside = pty.openpty()
    command = [*launch.agrad(), *arguments]
    process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env=environment, cwd=folder)
    os.close(inside)
    last = Timer(60, process.kill)
    last.start()
    seen = b""
    with suppress(OSError):  # how Linux tells that nobody writes there any more
        while part := os.read(terminal, 65536):
            seen += part
    os.close(terminal)
    assert process.wait(timeout=100) == 124
    last.cancel()
    return seen.decode()


def test_a_search_for_a_minimum_is_told_of():
    pytest.importorskip("scipy")
    terminal, session, lines = Terminal(), Session(), []

    class Slow(Progress):
        def __call__(self, turns, total, remark=None):
            for turn in super().__call__(turns, total, remark):
                yield turn
                terminal.now += 1.0
                lines.append(terminal.screen)

    session.progress = Slow(terminal.written.append, 79, lambda: terminal.now)
    session.run("var w = [9, 4]; loss = sum((w - 3)**4); minimize loss over w")
    told = [line for line in lines if line]
    assert told[0].startswith("iteration 3, least loss = ")
    assert told[0].endswith(": 2 s")
    assert terminal.screen == ""
    assert session.progress.loops == []
