"""Tab in a shell: the scripts, and what agrad answers them by click's protocol of environment variables."""

import shlex
import subprocess
from pathlib import Path
from shutil import which

import launch
import pytest
from answers import answers
from thinned import thinned
from workshops import put_command

from agrad.cli.main import COMMANDS


@pytest.fixture
def tab(environment, tmp_path):
    """What bash is offered for the last of the words."""

    def complete(*words):
        asked = {
            "_AGRAD_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["agrad", *words]),
            "COMP_CWORD": str(len(words)),
        }
        done = subprocess.run(launch.agrad(), capture_output=True, text=True, env=environment | asked, cwd=tmp_path)
        assert (done.stderr, done.returncode) == ("", 0)
        return [line.removeprefix("plain,") for line in done.stdout.splitlines()]

    return complete


def test_commands(tab):
    assert tab("") == list(COMMANDS)
    assert tab("he") == ["help"]
    assert tab("nonsense", "") == list(COMMANDS)


WORDS = answers(Path(__file__).with_name("words.txt"))


@pytest.mark.parametrize("text", thinned(WORDS, 3))
def test_words(tab, text):
    words = [*shlex.split(text.replace("FILE", __file__), posix=False), *[""] * text.endswith(" ")]
    assert tab(*words) == WORDS[text].split("\n")


def test_the_chapters_of_the_lesson(tab):
    assert tab("learn", "") == [str(number) for number in range(1, 10)]
    assert tab("learn", "4") == ["4"]


def test_fish_is_told_what_a_function_is(environment):
    asked = {"_AGRAD_COMPLETE": "fish_complete", "COMP_WORDS": "agrad help sinc", "COMP_CWORD": "sinc"}
    out = subprocess.run(launch.agrad(), capture_output=True, text=True, env=environment | asked).stdout
    assert out == "plain,sinc\tsin(pi*x)/(pi*x), and 1 at 0.\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_agrad_in_its_way(agrad, shell):
    out, err, code = agrad("completion", shell)
    assert (f"_AGRAD_COMPLETE={shell}_complete" in out, err, code) == (True, "", 0)
    if which(shell):
        assert subprocess.run([shell, "-n"], input=out, text=True, check=False).returncode == 0


@pytest.mark.skipif(not which("bash"), reason="bash is not installed")
def test_bash_completes_with_the_script(environment, tmp_path, agrad):
    put_command(tmp_path)
    script = agrad("completion", "bash")[0] + (
        "COMP_WORDS=(agrad eval '\"sin(x)*speed\"' --wrt s); COMP_CWORD=4\n"
        '_agrad_completion agrad; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = {"PATH": f"{tmp_path}:{environment['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment | path)
    assert (done.stdout, done.stderr) == ("speed\n", "")
