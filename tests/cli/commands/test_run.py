"""`agrad run`: a script's results on stdout, its first error on stderr with its place."""

import os
import signal
import subprocess
import sys

import pytest
from rows import each


@pytest.fixture
def script(tmp_path):
    def write(text):
        (tmp_path / "script.ag").write_bytes(text.encode() if isinstance(text, str) else text)
        return "script.ag"

    return write


def test_a_file_that_is_not_utf8(agrad, script):
    assert agrad("run", script(b"1\nx = \xff\n")) == (
        "",
        "error[file]: cannot read script.ag: line 2 is not UTF-8 text\n",
        1,
    )


def test_results_appear_as_they_happen(environment):
    process = running(environment, "print 1\nwhile 1: x = 2\n")
    assert process.stdout.readline() == b"1\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out, err.strip(), process.returncode) == (b"", b"interrupted before the end", 130)


def test_a_reader_that_leaves_ends_the_script_silently(environment):
    process = running(environment, "while 1: print 1\n")
    assert process.stdout.readline() == b"1\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=100) == -signal.SIGPIPE


def running(environment, text):
    """The script as a process that has read all of its text and goes on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "agrad.cli", "run", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    process.stdin.write(text.encode())
    process.stdin.close()
    process.stdin = None
    return process


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full disk to write to")
def test_a_full_disk_is_an_error_of_one_line(environment):
    command = [sys.executable, "-m", "agrad.cli", "eval", "1"]
    with open("/dev/full", "wb") as disk:
        done = subprocess.run(command, stdout=disk, stderr=subprocess.PIPE, env=environment)
    message = b"error[file]: cannot write the results: No space left on device\n"
    assert (done.stderr, done.returncode) == (message, 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full disk to write to")
@each("text, code, shown", [("1/0", 0, b"inf\n"), ("1 +", 2, b""), ("log(-1)*0 + sqrt(-1)", 0, b"nan\n")])
def test_a_note_that_cannot_be_written_leaves_the_result(text, code, shown, environment):
    command = [sys.executable, "-m", "agrad.cli", "eval", text]
    with open("/dev/full", "wb") as disk:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=disk, env=environment)
    assert (done.stdout, done.returncode) == (shown, code)


@each(
    "words",
    [["map", "x", "-"], ["run", "-"], ["eval", "-"], ["repl"]],
)
def test_a_closed_input_is_not_told_as_an_output(words, environment):
    command = [sys.executable, "-m", "agrad.cli", *words]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, env=environment)
    assert (done.stdout, done.returncode) == (b"", 1)
    assert b"cannot write" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no file without an end")
def test_a_script_without_an_end_is_told_with_the_option_that_allows_more(environment, tmp_path):
    (tmp_path / "agrad").mkdir()
    (tmp_path / "agrad" / "config.toml").write_text('[limits]\nmemory = "300MB"\n')
    command = [sys.executable, "-m", "agrad.cli", "run", "/dev/zero"]
    done = subprocess.run(command, capture_output=True, env=environment | {"XDG_CONFIG_HOME": str(tmp_path)}, text=True)
    assert done.stderr.splitlines() == [
        "error[limit]: there is not enough memory for this; the limit is 300 MB",
        "  fix: --max-memory 1GB",
    ]


def test_when_the_time_is_up_nothing_goes_on(agrad, script):
    out, err, code = agrad("run", "-k", "--timeout", "0.5", script("while 1: pass\nprint 1\n"))
    assert (out, code) == ("", 124)
    assert len([line for line in err.splitlines() if not line.startswith(" ")]) == 1
