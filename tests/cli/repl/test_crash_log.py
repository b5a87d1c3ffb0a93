"""A session survives: killed at any moment, it comes back with all that it had accepted."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from screens import PATIENCE, Terminal

from agrad.cli.repl import crash_log
from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

pytestmark = pytest.mark.long

REPL = [sys.executable, "-m", "agrad.cli", "repl", "--resume", "--precision", "full"]
PROBE = "print x, x.grad, k, r, y"

START = ["manual_seed(1)", "var x = [1, 2]", "k = 0", "r = 0", "y = sum(x)"]
ROUND = "{n} | r = rand(2)*_ | no_grad: x += 0.25 | nowhere + {n} | y = sum(x**2)*k | backward y | k = {n} | undo | "
ROUND += "for i in range(3): k = k + i | set x = 0.5*x.data | zero_grad | print {n}, sum(r)"
STATEMENTS = [*START, *(line.format(n=n) for n in range(1, 60) for line in ROUND.split(" | "))]


@pytest.fixture(scope="module")
def states():
    """What the session says of itself after each number of statements, and how many lines it has written by then."""
    session, lines, found = Session(), [], []
    session.settings.precision, session.steps.depth = None, DEPTH

    def hear(result):
        if not isinstance(result, Noted):
            lines.append(result.text(session.settings))

    for text in STATEMENTS:
        with suppress(AgradError):
            session.run(text, hear)
        written = len(lines)
        with suppress(AgradError):
            session.run(PROBE, hear)
        found.append((lines[-1] if lines[written:] else "", written))
        del lines[written:]
    return found


class Child:
    """A session that is written down, fed through a pipe."""

    def __init__(self, environment, folder):
        self.process = subprocess.Popen(
            REPL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=folder
        )

    def send(self, *lines):
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def accept(self, *lines):
        """Send lines, and wait until they have run."""
        self.send(*lines, 'print "done"')
        while self.line() != "done":
            pass

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.poll() is None:
            self.kill()

    def line(self):
        """The next line that it writes."""
        return self.process.stdout.readline().decode().rstrip("\n")

    def kill(self):
        """End it with no warning; the lines that it had written and nobody had read yet."""
        self.process.kill()
        return self.process.communicate()[0].decode().splitlines()

    def leave(self):
        """End it as a pipe ends."""
        return self.process.communicate()[0].decode()


@pytest.mark.parametrize("chain", range(17))
def test_what_was_killed_comes_back_with_every_statement_whose_output_was_seen(chain, environment, tmp_path, states):
    draw = random.Random(chain)
    done, seen = 0, 0
    for kill in range(4):  # the last only looks
        with Child(environment, tmp_path) as child:
            child.send(*(START if not kill else ()), PROBE)
            state = child.line()
            lines = seen + (states[done - 1][1] if done else 0)
            possible = [
                number
                for number, (text, written) in enumerate(states, 1)
                if text == state and number >= done and written >= lines
            ]
            assert possible, f"{seen} lines seen behind statement {done}, and then {state}"
            done = possible[0]
            child.send(*STATEMENTS[done:])
            time.sleep(draw.choice((draw.uniform(0, 0.01), draw.uniform(0, 0.2))))
            seen = len(child.kill())


def crash_logs(tmp_path):
    return sorted((tmp_path / "agrad" / "sessions").glob("*"))


def killed(environment, tmp_path, *lines):
    """A session that accepted some lines and was killed."""
    with Child(environment, tmp_path) as child:
        child.accept(*lines)
        child.kill()


def resumed(agrad, given, *options):
    """What the session that is brought back says to further lines, on stdout and stderr, without the time of day."""
    out, err, code = agrad("repl", "--resume", *options, given=given)
    return out, re.sub(r"\d\d:\d\d", "14:03", err), code


def test_random_numbers_that_nobody_seeded_come_again_and_go_on_the_same(environment, tmp_path, agrad):
    killed(environment, tmp_path, "r = rand(3)", "s = randn(2)", "undo")
    (kept,) = crash_logs(tmp_path)
    content = kept.read_bytes()
    first = resumed(agrad, "r\nrand(2)\n")
    assert crash_logs(tmp_path) == []
    kept.write_bytes(content)
    assert resumed(agrad, "r\nrand(2)\n") == first


def test_a_session_that_is_not_over_is_not_taken(environment, tmp_path, agrad):
    with Child(environment, tmp_path) as child:
        child.send("x = 2", "x")
        assert child.line() == "2"
        assert len(crash_logs(tmp_path)) == 1
        assert resumed(agrad, "y = 3\n")[1] == "there is no session to restore\n"
        assert len(crash_logs(tmp_path)) == 1
        child.send("x + 1")
        assert child.leave() == "3\n"
    assert crash_logs(tmp_path) == []


def test_the_last_of_several_comes_back_first(environment, tmp_path, agrad):
    with Child(environment, tmp_path) as first, Child(environment, tmp_path) as second:
        for child, name in ((first, "x"), (second, "y")):
            child.send(f"{name} = 2", name)
            child.line()
        second.kill()
        time.sleep(0.02)
        first.send("z = 3", "z")
        first.line()
    told = "a session of 14:03 ended without quit: agrad sessions lists it\n"
    assert resumed(agrad, "")[1] == "restored 4 statements from 14:03: x, z\n" + told
    assert resumed(agrad, "")[1] == "restored 4 statements from 14:03: x, z\n"  # it was told
    assert agrad("repl", "--resume", "2", given="")[1].endswith(": y\n")
    assert resumed(agrad, "")[1] == "restored 2 statements from 14:03: y\n"


def test_a_statement_that_fails_now_is_told_and_nothing_is_lost(environment, tmp_path, agrad):
    (tmp_path / "d.csv").write_text("1,2\n")
    killed(environment, tmp_path, "x = 2", 'd = load_csv("d.csv")', "y = 3")
    (kept,) = crash_logs(tmp_path)
    content = kept.read_bytes()
    (tmp_path / "d.csv").rename(tmp_path / "e.csv")
    out, err, code = resumed(agrad, "x\ny = 4\n")
    assert (out, code) == ("2\n", 1)
    assert err.splitlines() == [
        "error[file]: load_csv: there is no file d.csv",
        '  session line 2 | d = load_csv("d.csv")',
        "                 |     ^^^^^^^^^^^^^^^^^",
        "restored 1 of 4 statements from 14:03: x",
        f"3 statements not restored: agrad sessions lists the session, kept in {kept}",
    ]
    assert kept.read_bytes() == content
    (tmp_path / "e.csv").rename(tmp_path / "d.csv")
    out, err, _ = agrad("repl", "--resume", "2", given="tensor(d)\n")  # the other is the last now
    assert out == "[[1, 2]]\n" and re.fullmatch(r"restored 4 statements from \d\d:\d\d: x, d, y\n", err)


def test_the_arguments_that_a_script_did_not_get_come_back(environment, tmp_path):
    del environment["PROMPT_TOOLKIT_NO_CPR"]
    (tmp_path / "s.ag").write_text("def f() = args\n")
    with Terminal(environment, "repl", "s.ag", folder=tmp_path) as one:
        one.see("agrad>")
        one.enter("f()", "()")
    with Terminal(environment, "repl", "--resume", folder=tmp_path) as two:
        assert two.see("agrad>")[1].endswith(": args, f")
        two.enter("f()", "()")


def test_the_folder_that_a_session_was_in_is_where_it_goes_on(environment, tmp_path, agrad):
    place = tmp_path / "data"
    place.mkdir()
    (place / "d.csv").write_text("1,2\n")
    killed(environment, place, 'd = load_csv("d.csv")')
    assert resumed(agrad, 'tensor(load_csv("d.csv"))\n')[:2] == (
        "[[1, 2]]\n",
        f"restored 2 statements from 14:03 in {place}: d\n",
    )


def test_a_folder_that_is_gone_is_told(environment, tmp_path, agrad):
    place = tmp_path / "data"
    place.mkdir()
    killed(environment, place, "x = 2")
    place.rmdir()
    assert resumed(agrad, "x\n")[:2] == (
        "2\n",
        f"note: file names are now relative to the current folder, not to {place}: No such file or directory\n"
        "restored 2 statements from 14:03: x\n",
    )


def test_a_record_that_was_not_finished_is_passed_over_and_written_after(environment, tmp_path, agrad):
    killed(environment, tmp_path, "x = 2")
    (kept,) = crash_logs(tmp_path)
    with kept.open("ab") as file:
        file.write(b'{"ran": [0, 1]}\nnot JSON\n{"text": "y = 3", "na')
    with kept.open("rb") as file:
        lines = file.read().splitlines()
    assert len(lines) == 8
    kept.write_bytes(kept.read_bytes().replace(b'{"ran": [0, 1]}\n', b""))
    killed(environment, tmp_path, "z = 4")
    assert resumed(agrad, "x + z\n")[:2] == ("6\n", "restored 4 statements from 14:03: x, z\n")


def test_old_crash_logs_are_removed(environment, tmp_path, monkeypatch):
    folder = tmp_path / "agrad" / "sessions"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"{number:02}.jsonl").write_text("{}\n")
        os.utime(folder / f"{number:02}.jsonl", (number, number))
    killed(environment, tmp_path, "x = 2")
    names = [path.name for path in crash_logs(tmp_path) if len(path.name) == 8]
    assert names == [f"{number:02}.jsonl" for number in range(10, 30)]


def test_a_crash_log_is_private_and_readable(environment, tmp_path):
    killed(environment, tmp_path, "x = 2; y = 3")
    (path,) = crash_logs(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    head, *parts = map(json.loads, path.read_text().splitlines())
    assert head["folder"] == str(tmp_path)
    assert parts[:3] == [
        {"text": "x = 2; y = 3\n", "name": "session", "line": 1, "file": False},
        {"ran": [0, 5]},
        {"ran": [7, 12]},
    ]


def test_a_disk_that_is_full_later_is_one_note(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = Session()
    session.record.on = True
    session.record.keeper = kept = crash_log.open_log(session, False)[0]
    session.run("x = 2")
    monkeypatch.setattr(os, "write", lambda file, data: 1)
    session.run("y = 3")
    session.run("z = 4")
    assert capsys.readouterr().err.count("note: this session cannot be restored after a crash: ") == 1
    assert list(session.names) == ["x", "y", "z"]
    kept.end()


def test_that_a_session_has_crashed_is_told_once_each_time(environment, tmp_path, monkeypatch):
    killed(environment, tmp_path, "x = 1")
    (kept,) = crash_logs(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for left in ("", '{"text": "y'):  # the session was killed while it wrote a line
        kept.write_text(kept.read_text() + '{"ran": [0, 5]}\n' + left)
        told = [crash_log.open_log(Session(), False)[1] for _ in range(3)]
        assert ["ended without quit" in one for one in told] == [True, False, False]
    (found,) = crash_log.past()
    assert len(found.entries) == 4  # with one of `killed`


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer that signals")
def test_ctrl_c_leaves_what_came_back_so_far(environment, tmp_path, monkeypatch, capsys):
    killed(environment, tmp_path, "x = 1")
    (kept,) = crash_logs(tmp_path)
    text = "x = 1\nwhile 1: x = 2\n"
    source = {"text": text, "name": "session", "line": 1, "file": False}
    lines = [source, {"ran": [0, 5]}, {"ran": [6, 20]}, {"ran": [0, 5]}]
    kept.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = Session()
    session.record.on = True
    before = (
        signal.signal(signal.SIGINT, crash_log.stop_once),
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT)),
    )

    run = session.machine.run

    def rings(code):
        """A moment after x has come back, however slow the machine is."""
        found = run(code)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        return found

    monkeypatch.setattr(session.machine, "run", rings)
    try:
        _, told, _ = crash_log.open_log(session, True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGALRM, before[1])
    assert re.sub(r"\d\d:\d\d", "14:03", told) == (
        f"interrupted: restored 1 of 3 statements from 14:03: x\n2 statements not restored: agrad sessions lists the session, kept in {kept}"
    )
    assert session.names["x"] == 1


# On a terminal


def test_what_init_did_comes_back_once_and_with_the_session_only(environment, tmp_path):
    del environment["PROMPT_TOOLKIT_NO_CPR"]
    (tmp_path / "agrad").mkdir()
    (tmp_path / "agrad" / "init.ag").write_text("n = 1\nr = rand(2)\n")
    with Terminal(environment, folder=tmp_path) as one:
        one.see("agrad>")
    assert crash_logs(tmp_path) == []
    with Terminal(environment, folder=tmp_path) as two:
        two.see("agrad>")
        two.enter("n = n + 1")
        shown = two.enter("r", "[")[-3]
    with Terminal(environment, "repl", "--resume", folder=tmp_path) as three:
        lines = three.see("agrad>")
        assert re.fullmatch(r"restored 4 statements from \d\d:\d\d: n, r", lines[1])
        three.enter("n", "\n2\n")
        three.enter("r", shown)


def test_a_terminal_that_was_killed(environment, tmp_path):
    del environment["PROMPT_TOOLKIT_NO_CPR"]  # a terminal that tells where its cursor is has the toolbar
    with Terminal(environment, folder=tmp_path) as one:
        one.see("agrad>")
        one.enter("var x = 2")
        one.enter("y = x**3")
        one.enter("backward y")
    with Terminal(environment, folder=tmp_path) as two:
        lines = two.see("agrad>")
        assert re.fullmatch(r"a session of \d\d:\d\d ended without quit: agrad repl --resume restores it", lines[1])
        two.type("\x04")
        assert two.process.wait(PATIENCE) == 0
    with Terminal(environment, "repl", "--resume", folder=tmp_path) as three:
        lines = three.see("agrad>")
        assert lines[-1].startswith(" 1 leaf   1 node, freed")
        assert re.fullmatch(r"restored 3 statements from \d\d:\d\d: x, y", lines[1])
        three.enter("grad x", "x.grad = 12")
        three.type("\x04")
        assert three.process.wait(PATIENCE) == 0
    assert crash_logs(tmp_path) == []
    assert Path(tmp_path, "agrad", "history").exists()


# Sessions that have ended


def ended(environment, tmp_path, *lines):
    """A session of its own that has ended: what is kept of others lies elsewhere meanwhile."""
    kept, aside = tmp_path / "agrad", tmp_path / "aside"
    if kept.exists():
        kept.rename(aside)
    with Child(environment, tmp_path) as child:
        child.accept(*lines)
        child.leave()
    if aside.exists():
        (made,) = (kept / "ended").iterdir()
        (aside / "ended").mkdir(exist_ok=True)
        made.rename(aside / "ended" / made.name)
        shutil.rmtree(kept)
        aside.rename(kept)


def test_a_session_that_has_ended_is_kept_and_restored_by_its_number(environment, tmp_path, agrad):
    ended(environment, tmp_path, "x = 2")
    time.sleep(0.02)
    ended(environment, tmp_path, "y = 3", "z = y*2")
    assert crash_logs(tmp_path) == []
    out, err, code = agrad("sessions")
    rows = [re.sub(r"\d\d:\d\d", "14:03", line) for line in out.splitlines()]
    assert (rows, err, code) == (
        ['1  14:03  3 statements  ended  print "done"', '2  14:03  2 statements  ended  print "done"'],
        "",
        0,
    )
    out, err, code = agrad("repl", "--resume", "2", given="x\n")
    assert (out, code) == ("2\n", 0)
    assert re.fullmatch(r"restored 2 statements from \d\d:\d\d: x\n", err)
    out, err, code = agrad("repl", "--resume", "2", given="z\n")  # the other is the last now
    assert (out, code) == ("6\n", 0)
    assert agrad("repl", "--resume", given="z\n")[0] == "6\n"  # the last session, which has ended


def test_a_session_is_dismissed(environment, tmp_path, agrad):
    killed(environment, tmp_path, "x = 2")
    ended(environment, tmp_path, "y = 3")
    os.utime(crash_logs(tmp_path)[0])  # the last of both
    out = agrad("sessions")[0]
    assert "crashed" in out.splitlines()[0] and "ended" in out.splitlines()[1]
    out, err, code = agrad("sessions", "--dismiss", "1")
    assert out.startswith("removed: ") and "crashed" in out and (err, code) == ("", 0)
    assert len(agrad("sessions")[0].splitlines()) == 1
    assert agrad("sessions", "--dismiss", "2") == ("", "there is no session 2: agrad sessions lists them\n", 1)
    assert agrad("sessions", "--dismiss", "1")[2] == 0
    assert agrad("repl", "--resume", given="")[1] == "there is no session to restore\n"
    assert agrad("sessions") == ("no session is kept yet\n", "", 0)


def test_only_the_last_sessions_are_kept(environment, tmp_path, agrad, monkeypatch):
    folder = tmp_path / "agrad" / "ended"
    folder.mkdir(parents=True)
    for number in range(25):
        (folder / f"{number}.jsonl").write_text("")
        os.utime(folder / f"{number}.jsonl", (number, number))
    with Child(environment, tmp_path) as child:
        child.accept("x = 2")
        child.leave()
    assert len(list(folder.iterdir())) == 20
    assert not (folder / "5.jsonl").exists() and (folder / "6.jsonl").exists()


def test_sessions_at_the_prompt(environment, tmp_path):
    ended(environment, tmp_path, "x = 2")
    del environment["PROMPT_TOOLKIT_NO_CPR"]
    with Terminal(environment, folder=tmp_path) as one:
        one.see("agrad>")
        one.type("sessions\r")
        one.see("2 statements  ended")
        one.type("clear = 1\r")
        one.see("agrad>")
