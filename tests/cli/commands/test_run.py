"""`agrad run`: a script's results on stdout, its first error on stderr with its place."""

import os
import signal
import subprocess
import sys

import pytest


@pytest.fixture
def script(tmp_path):
    def write(text):
        (tmp_path / "script.ag").write_bytes(text.encode() if isinstance(text, str) else text)
        return "script.ag"

    return write


def test_results_come_in_order(agrad, script):
    text = "var a = 3\nb = a**2*2\nb\nbackward b\ngrad a\nprint 1, 2\n"
    assert agrad("run", script(text)) == ("18\na.grad = 12\n1 2\n", "", 0)


def test_a_lone_minus_is_standard_input(agrad):
    assert agrad("run", "-", given="6*7\n") == ("42\n", "", 0)


def test_an_empty_script_does_nothing(agrad, script):
    assert agrad("run", script("")) == ("", "", 0)
    assert agrad("run", script("# nothing\n\n")) == ("", "", 0)


def test_windows_line_ends_and_a_byte_order_mark_are_read(agrad, script):
    assert agrad("run", script(b"\xef\xbb\xbfx = 2\r\nx*3\r\n")) == ("6\n", "", 0)


def test_quit_ends_the_script(agrad, script):
    assert agrad("run", script("1\nquit\n2\n")) == ("1\n", "", 0)


def test_the_precision_of_a_script(agrad, script):
    assert agrad("run", "--precision", "3", script("1/3\n")) == ("0.333\n", "", 0)


def test_the_first_error_stops_the_script(agrad, script):
    out, err, code = agrad("run", script("1\n  # a comment\nx = sin(q)\n2\n"))
    assert (out, code) == ("1\n", 1)
    assert err.splitlines()[0] == "script.ag:3:9: error[name]: q has no value"


def test_a_failed_assertion_exits_with_1(agrad, script):
    out, err, code = agrad("run", script("assert 1 == 2\n"))
    assert (out, code) == ("", 1)
    assert err.startswith("script.ag:1:")
    assert "error[assert]" in err.splitlines()[0]


def test_a_syntax_error_exits_with_2(agrad, script):
    out, err, code = agrad("run", script("x = 2*\n"))
    assert (out, code) == ("", 2)
    assert err.startswith("script.ag:1:7: error[syntax]: ")


def test_standard_input_has_a_name_in_messages(agrad):
    assert agrad("run", "-", given="q\n")[1].startswith("<stdin>:1:1: error[name]: ")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nope.ag", "error[file]: there is no file nope.ag\n"),
        (".", "error[file]: cannot read .: it is a folder\n"),
    ],
)
def test_a_file_that_cannot_be_read(agrad, path, message):
    assert agrad("run", path) == ("", message, 1)


def test_a_file_that_is_not_utf8(agrad, script):
    assert agrad("run", script(b"1\nx = \xff\n")) == (
        "",
        "error[file]: cannot read script.ag: line 2 is not UTF-8 text\n",
        1,
    )


def test_a_missing_file_that_is_beside_the_script(agrad, script, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "s.ag").write_text('load_csv("d.csv")\n')
    assert "note" not in agrad("run", "folder/s.ag")[1]
    (tmp_path / "folder" / "d.csv").write_text("x\n1\n")
    note = 'note: there is one in the folder of the script: run the script in folder, or write beside("d.csv")'
    assert note in agrad("run", "folder/s.ag")[1]


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


def test_a_file_of_data_is_not_run(agrad, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("Temp [°C],y\n1,2\n", "utf-8")
    out, err, code = agrad("run", str(path))
    assert (out, code) == ("", 1)
    assert err.startswith(f"error[file]: agrad run runs a script, and {path} is a file of data\n")
