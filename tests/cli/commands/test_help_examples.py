"""What every --help ends with and what it loads; that its examples run is held where the documents are."""

import subprocess
import sys

import click
import pytest
from rows import each
from thinned import thinned

from agrad.cli.main import COMMANDS, root

PROBE = """
import sys
from agrad.cli.main import main
try:
    main()
finally:
    heavy = ("numpy", "prompt_toolkit", "lark", "pyarrow", "llvmlite", "matplotlib", "scipy", "tomllib")
    print(*(name for name in heavy if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("words", thinned([["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)], 5))
def test_no_help_loads_anything_heavy(environment, words):
    command = [sys.executable, "-c", PROBE, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stderr.split() == []


@each("name", COMMANDS)
def test_the_examples_are_of_the_command_that_they_explain(name):
    command = root.get_command(click.Context(root, info_name="agrad"), name)
    mark, *lines = [line.strip() for line in command.help.strip().rsplit("\n\n", 1)[1].splitlines()]
    assert mark == "\b"
    assert len(lines) > 0
    assert [line for line in lines if f"agrad {name}" not in line] == []


@each("words", [[], *([name] for name in COMMANDS)])
def test_every_help_ends_with_an_example(inside, words):
    *_, examples = inside(*words, "--help")[0].rstrip().split("\n\n")
    title, *lines = examples.splitlines()
    assert title == "Examples:"
    assert all(line.startswith("  ") and "agrad" in line for line in lines)


def test_nothing_that_a_help_says_is_wider_than_its_page(inside):
    for name in COMMANDS:
        lines = inside(name, "--help")[0].splitlines()
        assert max(map(len, lines)) <= 80, name
