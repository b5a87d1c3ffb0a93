"""`agrad examples`: lists the programs that come with agrad, and copies them."""

import re
from pathlib import Path

import click
import pytest

from agrad.cli.main import COMMANDS, root

EXAMPLES = Path(__file__).parents[3] / "examples"


def mentioned():
    """The files in `examples/` that the help of a command mentions."""
    context = click.Context(root, info_name="agrad")
    texts = [root.help, *(root.get_command(context, name).help for name in COMMANDS)]
    return sorted({path for text in texts for path in re.findall(r"examples/\w+\.\w+", text)})


def test_each_file_is_listed_with_what_it_is(inside):
    out, err, code = inside("examples")
    assert (err, code) == ("", 0)
    listed = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in out.split("\n\n")[0].splitlines())
    assert set(listed) == {path.stem if path.suffix == ".ag" else path.name for path in EXAMPLES.iterdir()}
    assert listed["toy"].startswith("Two outputs share a graph")
    assert listed["points.csv"] == "data: name,x,y"
    assert all(listed.values())


@pytest.mark.parametrize("path", mentioned())
def test_what_a_help_text_mentions_is_copied_to_where_it_is_mentioned(inside, tmp_path, path):
    _, err, code = inside("run" if path.endswith(".ag") else "map", *["x"] * path.endswith(".csv"), path)
    assert code == 1
    fix = re.search(r"fix: agrad (examples .*)", err)[1]
    out, err, code = inside(*fix.split())
    assert (out, err, code) == (f"{path}\n", "", 0)
    assert (tmp_path / path).read_bytes() == (EXAMPLES.parent / path).read_bytes()


def test_a_program_comes_with_its_data_and_runs(inside):
    assert inside("examples", "chunks")[0] == "examples/chunks.ag\nexamples/chunks.csv\n"
    assert inside("run", "examples/chunks.ag")[1:] == ("", 0)


def test_every_command_has_a_short_option_for_help(inside):
    for words in ([], *([name] for name in COMMANDS)):
        assert inside(*words, "-h") == inside(*words, "--help")
        assert "-h, --help" in inside(*words, "-h")[0]
