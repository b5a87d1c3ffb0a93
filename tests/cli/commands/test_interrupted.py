"""Ctrl-C where nobody types: one line, and the exit code that a shell expects."""

import os
import signal
import subprocess
import sys

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
