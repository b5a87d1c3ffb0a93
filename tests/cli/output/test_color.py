"""Colour, and characters beyond ASCII: where there are any, and every byte of what comes out."""

import io
import os
import pty
import subprocess

import launch
import pytest
from rows import each

from agrad.cli.terminal import coloured, drawable, stand_ins

COLOURED = (
    b"\x1b[31m\x1b[1merror[name]\x1b[0m: q has no value\n"
    b"  1 | sin(q)\n"
    b"    |     \x1b[31m^\x1b[0m\n"
    b'  \x1b[32mfix\x1b[0m: give it one: agrad eval "sin(q)" q=1\n'
)
PLAIN = b'error[name]: q has no value\n  1 | sin(q)\n    |     ^\n  fix: give it one: agrad eval "sin(q)" q=1\n'


@pytest.fixture
def bytes_of(environment, tmp_path):
    """What a run writes to stdout and stderr, byte for byte; either may be a terminal."""

    def run(*arguments, terminal=False, **settings):
        env = {name: text for name, text in (environment | settings).items() if text is not None}
        command = [*launch.agrad(), *arguments]
        if not terminal:
            done = subprocess.run(command, capture_output=True, env=env, cwd=tmp_path, stdin=subprocess.DEVNULL)
            return done.stdout, done.stderr
        master, slave = pty.openpty()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=slave, env=env, cwd=tmp_path, stdin=slave)
        os.close(slave)
        written = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            written += piece
            if not piece:
                break
        os.close(master)
        return done.stdout, written.replace(b"\r\n", b"\n")

    return run


@each(
    "words, terminal, settings, expected",
    [
        ([], True, {}, COLOURED),
        ([], False, {}, PLAIN),
        ([], True, {"NO_COLOR": "1"}, PLAIN),
        ([], True, {"NO_COLOR": ""}, COLOURED),
        ([], True, {"TERM": "dumb"}, PLAIN),
        ([], False, {"FORCE_COLOR": "1"}, COLOURED),
        ([], True, {"FORCE_COLOR": "0"}, PLAIN),
        ([], False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, PLAIN),
        (["--color", "always"], False, {"NO_COLOR": "1", "TERM": "dumb"}, COLOURED),
        (["--color", "never"], True, {"FORCE_COLOR": "1"}, PLAIN),
        (["--color", "auto"], True, {}, COLOURED),
    ],
)
def test_an_error_is_coloured_where_there_is_colour(bytes_of, words, terminal, settings, expected):
    fixed = expected.replace(b"q=1", " ".join(["q=1", *words]).encode())
    assert bytes_of("eval", "sin(q)", *words, terminal=terminal, **settings) == (b"", fixed)


@pytest.mark.long
def test_results_in_a_pipe_are_text_alone(bytes_of):
    for words in (["graph", "a*2", "a=1", "--as", "tree"], ["help"], ["functions"], ["eval", "[1, 2]"]):
        assert b"\x1b" not in bytes_of(*words)[0]


def test_the_decision_is_one_function(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert (coloured(Terminal()), coloured(io.StringIO())) == (True, False)


# ASCII

TREE = """\
graph of sin(a)*b: 4 nodes, 2 leaves, held
  %4  sin(a)*b   Mul   ()  = 0   saves %3 %2
  ├─ %3  sin(a)  Sin   ()  = 0   saves %1
  │  └─ %1  a    leaf  ()  = 0   requires grad   grad none
  └─ %2  b       leaf  ()  = 2   requires grad   grad none
"""
ASCII = TREE.replace("├─", "+-").replace("└─", "+-").replace("│", "|")
GRAPH = ["graph", "sin(a)*b", "a=0", "b=2", "--as", "tree"]


@pytest.mark.long
def test_a_tree_without_unicode(bytes_of):
    assert bytes_of(*GRAPH) == (TREE.encode(), b"")
    assert bytes_of(*GRAPH, "--ascii") == (ASCII.encode(), b"")
    assert bytes_of("--ascii", *GRAPH) == (ASCII.encode(), b"")


def test_a_locale_without_unicode_needs_no_option(bytes_of):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert bytes_of(*GRAPH, **locale) == (ASCII.encode(), b"")
    assert bytes_of(*GRAPH, PYTHONIOENCODING="latin-1") == (ASCII.encode(), b"")


@each("command", [["help"], ["help", "for"], ["functions"], ["eval", "--help"]])
def test_help_without_unicode(bytes_of, command):
    out, err = bytes_of("--ascii", *command)
    assert (out.isascii(), err) == (True, b"")


def test_what_is_left_out_of_an_array(bytes_of):
    assert bytes_of("eval", "arange(2000)")[0].decode() == "[0, 1, 2, …, 1997, 1998, 1999]   shape (2000)\n"
    assert bytes_of("eval", "arange(2000)", "--ascii")[0] == b"[0, 1, 2, ..., 1997, 1998, 1999]   shape (2000)\n"


def test_an_uncertainty_without_unicode_has_a_sign_that_reads_back(bytes_of):
    assert bytes_of("eval", "2.00 +/- 0.10", PYTHONIOENCODING="latin-1")[0] == "2.00 ± 0.10\n".encode("latin-1")


def test_the_caret_stays_under_its_place_in_a_line_that_is_cut(bytes_of):
    line = "x + " * 40 + "q" + " + x" * 40
    frames = [bytes_of("eval", line, "x=1", *words)[1].decode().splitlines()[1:3] for words in ([], ["--ascii"])]
    for code, caret in frames:
        assert code[caret.index("^")] == "q"
    assert (frames[0][0][6], frames[1][0][6]) == ("…", "<")


def test_streams_say_themselves_what_they_can_show():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\n")
    stand_ins([stream])
    assert not drawable(stream)
    stream.write("a… → 2×π\n")
    stream.flush()
    assert stream.buffer.getvalue() == b"a... -> 2x\\u03c0\n"
    assert drawable(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
