"""Ctrl-C where nobody types: one line, and the exit code that a shell expects."""

import os
import signal
import subprocess
import sys
import time

import pytest

if os.name == "nt":
    pytest.skip("needs POSIX signals", allow_module_level=True)

LOOP = b"print 1\nwhile 1: pass\n"


@pytest.mark.parametrize("words", [["run", "-"], ["run", "loop.ag"], ["repl"], ["eval", "-f", "loop.ag"]])
def test_ctrl_c_is_told_in_one_line(environment, tmp_path, words):
    (tmp_path / "loop.ag").write_bytes(LOOP)
    command = [sys.executable, "-m", "agrad.cli", *words]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(command, cwd=tmp_path, env={**environment, "PYTHONUNBUFFERED": "1"}, **pipes)
    with process:
        process.stdin.write(LOOP)
        process.stdin.close()
        assert process.stdout.readline() == b"1\n"  # so that the loop is what is interrupted
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=100) == 130
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"interrupted before the end\n")


FIT = ["fit", "n ~ a*exp(-b*t)", "d.csv", "--over", "a=9,b=1", "-o", "out.csv", "--report", "r.md"]
IN_AN_IMPORT = """\
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell in the background takes away
sys.meta_path.insert(0, Finder)
sys.argv = ["agrad", *{words!r}]
import agrad.cli.__main__
agrad.cli.__main__.process()
"""


def interrupted(environment, folder, program, seconds=None):
    """The exit code of a fit that Ctrl-C interrupts, what it says, and the files that it has left."""
    (folder / "d.csv").write_text("t,n\n" + "".join(f"{t},{9 * 0.7**t + t % 3 / 10}\n" for t in range(20_000)))
    process = subprocess.Popen(program, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=100)
    return process.returncode, told, sorted(os.listdir(folder))


@pytest.mark.parametrize("name", ["click", "scipy.special", "pyarrow", "pyarrow.csv"])
def test_ctrl_c_in_an_import_ends_a_fit_that_writes_nothing(environment, tmp_path, name):
    pytest.importorskip(name)
    program = [sys.executable, "-c", IN_AN_IMPORT.format(name=name, words=FIT)]
    code, told, files = interrupted(environment, tmp_path, program)
    assert (code, files) == (130, ["d.csv"])
    assert told in (b"", b"interrupted before the end\n")


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.15, 0.25, 0.35, 0.5, 0.7, 0.9, 1.2])
def test_ctrl_c_is_heard_at_any_moment_of_a_fit(environment, tmp_path, seconds):
    program = [sys.executable, "-m", "agrad.cli", *FIT]
    code, told, files = interrupted(environment, tmp_path, program, seconds)
    done = ["d.csv", "out.csv", "r.md"]  # each is there as a whole, or not at all
    files = [one for one in files if one not in (".cache", "matplotlib")]  # of fonts, for the picture of a report
    starting = [(1, done[:1]), (-2, done[:1])]  # on a busy machine Python itself may still start
    assert (code, files) in (*((130, done[:count]) for count in (1, 2, 3)), (0, done), *starting)
    assert code != 130 or told in (b"", b"interrupted before the end\n")
