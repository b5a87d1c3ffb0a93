"""What is made in docs/ is fresh, and what it shows holds; so do the examples of every --help."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agrad.cli.main import COMMANDS, root
from agrad.grammar.help import functions_doc, pytorch_doc
from agrad.grammar.session.session import Session

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(("name", "made"), [("functions", functions_doc.markdown), ("pytorch", pytorch_doc.markdown)])
def test_a_document_is_fresh(name, made):
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == made(), "make docs writes it anew"


@pytest.mark.parametrize("lines", [lines for _, _, lines in pytorch_doc.DIFFERENT])
def test_what_differs_from_pytorch_is_so(lines):
    *before, last = lines.split("; ")
    session = Session()
    for line in before:
        session.run(line)
    session.run(last if last.startswith("fails") else f"assert {last}")


@pytest.mark.parametrize(("name", "option"), [("cli.md", ["--markdown"]), ("agrad.1", [])])
def test_a_document_of_the_command_line_is_fresh(name, option):
    made = subprocess.run(
        [sys.executable, "-m", "agrad.cli", "--no-init", "man", *option], capture_output=True, check=True
    ).stdout
    assert (DOCS / name).read_bytes() == made, "make docs writes it anew"


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_the_manual_page_has_no_mistakes():
    done = subprocess.run(["groff", "-man", "-ww", "-z", DOCS / "agrad.1"], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def commands():
    """The root and its commands, by the words that call them."""
    context = click.Context(root, info_name="agrad")
    return {"agrad": root} | {f"agrad {name}": root.get_command(context, name) for name in COMMANDS}


def examples():
    """The lines at the end of each help, each without the remark behind it."""
    for command in commands().values():
        *_, last = command.help.split("\n\n")
        mark, *lines = last.splitlines()
        assert mark.strip() == "\b", f"the help of {command.name} ends without an example"
        yield from (re.split(r"\s{2,}", line.strip())[0] for line in lines)


@pytest.mark.skipif(os.name == "nt", reason="they are for a Unix shell")
@pytest.mark.parametrize("line", dict.fromkeys(examples()))
def test_an_example_of_a_help(workshop, line):
    done = subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, **workshop)
    assert (done.stderr, done.returncode) == ("", 0)
