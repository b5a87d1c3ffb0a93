"""Tab in real shells: what a line becomes when it is pressed."""

import os
import pty
import shutil
import subprocess
from contextlib import contextmanager

import pytest
from workshops import put_command

# The line before and after Tab. A name of a value is not finished: what is typed next is the value.
LINES = {
    "agrad ev": "agrad eval ",
    "agrad eval 1 --fo": "agrad eval 1 --format ",
    "agrad help sigm": "agrad help sigmoid ",
    "agrad eval 'sin(x)*speed' --wrt s": "agrad eval 'sin(x)*speed' --wrt speed ",
    "agrad eval 'sin(x)*y' --wrt x,": "agrad eval 'sin(x)*y' --wrt x,y ",
    "agrad eval 'sin(x)*y' x=2 ": "agrad eval 'sin(x)*y' x=2 y=",
    "agrad eval 'sin(x)*speed' sp": "agrad eval 'sin(x)*speed' speed=",
    "agrad eval 'sum(x)' x=@poi": "agrad eval 'sum(x)' x=@points.csv ",
    "agrad map 'x*2' poi": "agrad map 'x*2' points.csv ",
}
# Ctrl-X shows the line; it is read only after Tab has done its work.
BASH = """
PS1=ready:
bind 'set bell-style none'
bind 'TAB: complete'
bind -x '"\\C-x": printf "\\n[[%s]]" "$READLINE_LINE"'
"""
ZSH = """
PS1=ready:
setopt nobeep
show() { printf '\\n[[%s]]' "$BUFFER"; }
zle -N show
bindkey '^X' show
bindkey '^I' complete-word
autoload -U compinit
compinit -u -D
"""


@contextmanager
def typing(command, environment, folder):
    """A function that types into a shell, and gives the line that it then has."""
    outside, inside = pty.openpty()
    shell = subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, cwd=folder, env=environment, start_new_session=True
    )
    os.close(inside)

    def until(sign, shown=""):
        while sign not in shown:
            shown += os.read(outside, 4096).decode()
        return shown

    def type_(keys):
        os.write(outside, keys.encode() + b"\x18")
        return until("]]").rpartition("[[")[2].partition("]]")[0]

    try:
        until("ready:")
        yield type_
    finally:
        shell.kill()
        shell.wait()
        os.close(outside)


@pytest.fixture
def folder(tmp_path):
    put_command(tmp_path)
    (tmp_path / "points.csv").write_text("x\n1\n")
    return tmp_path


@pytest.fixture
def alone(environment, folder):
    """The environment of a shell without settings of a user."""
    return environment | {
        "PATH": f"{folder}:{environment['PATH']}",
        "TERM": "xterm",
        "HOME": str(folder),
        "ZDOTDIR": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
    }


def installed(shell):
    return pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed")


@pytest.mark.parametrize(
    ("shell", "settings", "command"),
    [
        pytest.param("bash", BASH, ["bash", "--noprofile", "--rcfile", ".zshrc", "-i"], marks=installed("bash")),
        pytest.param("zsh", ZSH, ["zsh", "-d", "-i"], marks=installed("zsh")),
    ],
)
@pytest.mark.long
def test_tab_completes_a_line(agrad, alone, folder, shell, settings, command):
    (folder / ".zshrc").write_text(settings + agrad("completion", shell)[0])
    found = {}
    with typing(command, alone, folder) as typed:
        for line in LINES:
            found[line] = typed(f"{line}\t")
            typed("\x15")  # Ctrl-U empties the line
    assert found == LINES


@pytest.mark.long
@installed("fish")
def test_tab_completes_a_word_in_fish(agrad, alone, folder):
    (folder / "agrad.fish").write_text(agrad("completion", "fish")[0])
    (folder / "lines").write_text("".join(f"{line}\n" for line in LINES))
    asking = "source agrad.fish; while read line; complete --do-complete $line; echo ---; end < lines"
    done = subprocess.run(["fish", "--no-config", "-c", asking], capture_output=True, text=True, env=alone, cwd=folder)
    assert done.stderr == ""
    offered = [answer.strip().partition("\t")[0] for answer in done.stdout.split("---\n")[:-1]]
    words = [line.split(" ")[-1].strip() or line.split(" ")[-2] for line in LINES.values()]
    assert offered == words


@pytest.mark.long
@installed("fish")
def test_fish_shows_all_of_a_meaning(agrad, alone, folder):
    (folder / "agrad.fish").write_text(agrad("completion", "fish")[0])
    asking = "source agrad.fish; complete --do-complete 'agrad help sinc'"
    done = subprocess.run(["fish", "--no-config", "-c", asking], capture_output=True, text=True, env=alone, cwd=folder)
    assert done.stdout == "sinc\tsin(pi*x)/(pi*x), and 1 at 0.\n"
