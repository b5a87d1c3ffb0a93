"""What the README shows on the command line is what agrad prints."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import launch
from installed import TOOLS
from rows import each

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands():
    """Each `$ agrad …` of the console blocks, with the lines below it."""
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@each("command, output", commands())
def test_a_command_of_the_readme(command, output):
    words = shlex.split(command)
    assert words[0] == "agrad"
    ran = subprocess.run([*launch.agrad(), *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == (output, "", 0)


def test_it_can_be_read_in_a_few_minutes():
    assert len(README.split()) <= 900


def test_a_link_says_its_path_and_leads_to_a_file():
    """Also where relative links lead nowhere, as on a package index, the text tells where to look."""
    links = re.findall(r"\[([^\]]*)\]\(([^)]*)\)", README)
    assert len(links) >= 6
    for text, target in links:
        assert text == target
        assert (ROOT / target).is_file()


def test_every_page_is_linked():
    linked = set(re.findall(r"\(docs/(\w+\.md)\)", README))
    assert linked == {path.name for path in (ROOT / "docs").glob("*.md")}


def test_the_extras_are_those_there_are():
    told = set(re.findall(r"^\* `(\w+)`:", README, re.MULTILINE))
    there = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
    assert told == there - TOOLS
