"""JSON: what docs/json.md shows is what comes out, an object a line, and every line is JSON to other programs too."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from thinned import thinned
from workshops import put_command

DOCUMENT = (Path(__file__).parents[3] / "docs" / "json.md").read_text("utf-8")
SHOWN = [
    tuple(part.split("\n", 1))
    for block in re.findall(r"^```console\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
]
SCRIPT = """\
var a = 3
b = log(a - 3)
a**2
print "text", "with \\"quotes\\""
backward b
grad a
grad b
graph b
sin
[1, nan]
check a**2
q
"""


@pytest.fixture
def shell(environment, tmp_path):
    """Run a line as a shell does, where `agrad` is this one: (stdout, stderr, exit code)."""
    put_command(tmp_path)
    shutil.copytree(Path(__file__).parents[3] / "examples", tmp_path / "examples")
    path = {"PATH": f"{tmp_path}:{environment['PATH']}"}

    def run(line):
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, env=environment | path, cwd=tmp_path, timeout=60
        )
        return done.stdout, done.stderr, done.returncode

    return run


@pytest.mark.parametrize(("command", "output"), thinned(SHOWN, 3), ids=[command for command, _ in SHOWN])
def test_what_the_document_shows(shell, command, output):
    code = 2 if '"kind": "usage"' in output else 1 if '"error"' in output else 0
    assert shell(command) == (output, "", code)


def test_the_document_names_every_kind_of_error():
    from typing import get_args

    from agrad.engine.errors import Kind

    told = DOCUMENT.split("`kind` is one of", 1)[1].split(". ", 1)[0]
    assert re.findall(r"`(\w+)`", told) == list(get_args(Kind))


@pytest.mark.parametrize(
    "reader", [[sys.executable, "-m", "json.tool", "--json-lines"], ["jq", "."]], ids=["python", "jq"]
)
def test_other_programs_read_it(agrad, tmp_path, reader):
    if shutil.which(reader[0]) is None:
        pytest.skip("it is not installed")
    (tmp_path / "s.ag").write_text(SCRIPT, "utf-8")
    out = agrad("run", "s.ag", "--json")[0]
    done = subprocess.run(reader, input=out, capture_output=True, text=True, check=True)
    assert (done.stderr, done.stdout.count('"schema"')) == ("", out.count("\n"))
