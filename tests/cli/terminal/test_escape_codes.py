"""What others have written, in files, names and arguments, does not command the terminal that it is shown on."""

import os
import pty
import subprocess
import termios

import launch
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import thinned

from agrad.engine.text import printable

ESCAPES = "\x1b[31m", "\x1b]0;title\x07", "\x9b31m", "\u202e", "\x08\x08"
NAME = "v" + "".join(ESCAPES) + "w"
COMMANDS = {
    "an unknown command": [f"no{NAME}"],
    "an unknown option": [f"--no{NAME}"],
    "the value of an option": ["eval", "1", "--color", NAME],
    "an expression": ["eval", f"1 + '{NAME}'"],
    "a name without a value": ["eval", "x", f"{NAME}=2"],
    "a word too many": ["repl", "a", NAME],
    "a script that is not there": ["run", f"{NAME}.ag"],
    "the header and a text of a table": ["map", "x", "data.csv", "--keep", "all"],
    "the same as JSON": ["map", "x", "data.csv", "--keep", "all", "--json"],
    "the title of a column": ["map", "x", "data.csv", "--value", NAME],
    "a column that is not there": ["map", "y", "data.csv"],
    "what commands of a session say": ["run", "script.ag"],
    "the graph of an expression": ["graph", f"sum([a])  # {NAME}", "a=1"],
    "what is typed": ["repl"],
    "the settings": ["config"],
}
SCRIPT = f"""\
t = "{NAME}"
var x = 2; y = x**2   # {NAME}
vars
info y
info t
history
graph y
dump y
explain y
trace backward y
help "{NAME}"
plot [1, 2], [2, 1]   # {NAME}
save "{NAME}.ag"
graph y to "{NAME}.dot"
fails name: nosuch   # {NAME}
t = "{NAME}"
undo
"""


@pytest.mark.parametrize("name", thinned(COMMANDS, 4))
def test_no_escape_code_reaches_the_terminal(name, environment, tmp_path):
    (tmp_path / "data.csv").write_bytes(f"x,{NAME}\n1,{NAME}\n2,b\n".encode())
    kept = [line for line in SCRIPT.splitlines(keepends=True) if understood(line)]
    (tmp_path / "script.ag").write_text("".join(kept))
    shown = on_terminal(
        environment, tmp_path, COMMANDS[name], "".join(kept) + "quit\n" if name == "what is typed" else ""
    )
    assert "v" in shown
    assert not [code for code in "\x1b\x9b\x07\x08\u202e" if code in shown]


def understood(line):
    """Whether a line of the script is one: which commands there are is said elsewhere."""
    from agrad.engine.errors import AgradError
    from agrad.grammar.diagnostics import Source
    from agrad.grammar.syntax.parser import parse

    try:
        parse(Source("line", line))
    except AgradError:
        return False
    return True


def on_terminal(environment, folder, arguments, typed):
    """What a command writes to a terminal that is dumb, and colourless: no escape codes of its own."""
    end, inside = pty.openpty()
    silent = termios.tcgetattr(inside)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(inside, termios.TCSANOW, silent)
    environment = environment | {"TERM": "dumb", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    environment["XDG_CONFIG_HOME"] = str(folder / NAME)
    command = [*launch.agrad(), *arguments]
    process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env=environment, cwd=folder)
    os.close(inside)
    os.write(end, typed.encode())
    shown = b""
    while True:
        try:
            part = os.read(end, 4096)
        except OSError:  # nobody writes any more
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(end)
    return shown.decode()


def test_what_a_program_prints_is_its_own(environment, tmp_path):
    shown = on_terminal(environment, tmp_path, ["eval", r'"\x1b[1mbold"'], "")
    assert "\x1b[1mbold" in shown


@pytest.mark.parametrize("arguments", [["--json", "--nosuch"], ["--nosuch"], ["--version"], ["eval", "1"]])
def test_a_disk_that_is_full_is_no_traceback(arguments, environment, tmp_path):
    command = [*launch.agrad(), *arguments]
    with open("/dev/full", "w") as full:
        for streams in ({"stdout": full}, {"stdout": full, "stderr": full}):
            done = subprocess.run(command, **{"stderr": subprocess.PIPE} | streams, env=environment, cwd=tmp_path)
            assert done.returncode in (1, 2) and b"Traceback" not in (done.stderr or b"")


@given(st.text())
def test_a_printable_text_has_nothing_to_obey_and_is_left_alone_again(text):
    assert printable(printable(text)) == printable(text)
    assert all(sign.isprintable() or sign in "\n\t\xa0\u202f" for sign in printable(text))
    assert len(printable(text)) == len(text)
