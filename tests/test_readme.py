"""What the README shows on the command line is what agrad prints."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands():
    """Each `$ agrad …` of the console blocks, with the lines below it."""
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield pytest.param(command, output, id=command)


@pytest.mark.parametrize(("command", "output"), list(commands()))
def test_a_command_of_the_readme(command, output):
    words = shlex.split(command)
    assert words[0] == "agrad"
    ran = subprocess.run(
        [sys.executable, "-m", "agrad.cli", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == (output, "", 0)


def test_the_map_names_the_folders_there_are():
    told = set(re.findall(r"^    (\w+)/ ", README, re.MULTILINE))
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert told <= there
    assert there - told <= {"build", "dist", "agrad.egg-info"}
