"""JSON: what docs/json.md shows is what comes out, an object a line, and every line is JSON to other programs too."""

import json
import math
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


def test_every_result_of_a_script_is_one_object(agrad, tmp_path):
    (tmp_path / "s.ag").write_text(SCRIPT, "utf-8")
    out, err, code = agrad("run", "s.ag", "--json")
    rows = [json.loads(line, parse_constant=pytest.fail) for line in out.splitlines()]
    assert [sorted(row.keys() - {"schema"}) for row in rows] == [
        ["value"],
        ["text"],
        ["grad", "nonfinite"],
        ["grad", "remark"],
        ["text"],
        ["text"],
        ["nonfinite", "value"],
        ["check", "ok"],
        ["error"],
    ]
    assert {row["schema"] for row in rows} == {1}
    assert (rows[2]["grad"], rows[2]["nonfinite"]) == ({"a": None}, {"grad.a": "inf"})
    place = {key: rows[-1]["error"]["labels"][0][key] for key in ("source", "line", "column")}
    assert (place, code) == ({"source": "s.ag", "line": 12, "column": 1}, 1)
    assert all(line.startswith(("note:", "s.ag:", " ")) for line in err.splitlines())


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


def test_numbers_read_back_to_the_same_float(inside):
    out = inside("eval", "[pi, 1/3, 1e-300, 2**0.5]", "--json")[0]
    assert json.loads(out)["value"] == [math.pi, 1 / 3, 1e-300, 2**0.5]


def test_text_beyond_ascii_is_escaped_and_reads_back(inside):
    out = inside("eval", '"π…"', "--json")[0]
    assert out.isascii() and json.loads(out)["text"] == "π…"


def test_the_blocks_of_a_hessian_have_the_shape_of_their_names(inside):
    out = inside(
        "eval", "sum(A @ v)*k", "A=[[1, 2], [3, 4]]", "v=[5, 6]", "k=7", "--wrt", "A,v,k", "--hessian", "--json"
    )[0]
    hessian = json.loads(out)["hessian"]
    assert hessian["A"]["v"] == [[[7, 0], [0, 7]], [[7, 0], [0, 7]]]
    assert hessian["v"]["A"] == [[[7, 0], [7, 0]], [[0, 7], [0, 7]]]
    assert (hessian["k"]["v"], hessian["v"]["k"]) == ([4, 6], [4, 6])
    assert (hessian["k"]["A"], hessian["k"]["k"]) == ([[5, 6], [5, 6]], 0)


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (["eval", "2*", "--json"], "syntax", 2),
        (["eval", "q", "--format", "json"], "name", 1),
        (["eval", "x*2", "x=[1, 2]", "--wrt", "x", "--json"], "grad", 1),
        (["eval", "-f", "nowhere", "--json"], "file", 1),
        (["run", "nowhere", "--json"], "file", 1),
        (["check", "x**2", "x=1", "--claim", "x=7", "--json"], "assert", 1),
        (["eval", "sin(x)", "x=[[1], [2, 3]]", "--json"], "shape", 1),
    ],
)
def test_an_error_is_an_object_on_stdout_with_the_same_exit_code(inside, arguments, kind, code):
    out, err, returned = inside(*arguments)
    error = json.loads(out.splitlines()[-1])["error"]
    assert (error["kind"], err, returned) == (kind, "", code)
    text = inside(*(word for word in arguments if word not in ("--json", "--format", "json")))
    assert (f"error[{kind}]: {error['message']}" in text[1], text[2]) == (True, code)


def test_a_graph_as_json_has_its_errors_as_json(inside):
    out, err, code = inside("graph", "q*2", "--as", "json")
    assert (json.loads(out)["error"]["kind"], err, code) == ("name", "", 1)


def test_a_label_says_from_where_to_where(inside):
    label = json.loads(inside("eval", "1 + sin(qq)", "--json")[0])["error"]["labels"][0]
    place = {"source": "expression", "line": 1, "column": 9, "end_line": 1, "end_column": 11}
    assert label == {"text": "", "code": "qq"} | place


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        (["eval", "--json"], "the expression is missing", "agrad eval --help"),
        (["eval", "1", "--json", "--jsno"], "no such option --jsno: did you mean --json?", "agrad eval --help"),
        (["eval", "1", "--timeout", "0", "--format", "json"], "0.0 is not a time", "agrad eval --help"),
        (
            ["eval", "1", "-q", "--format=json"],
            "-q applies to text: leave it out, since --format json has no labels and notes",
            "agrad eval --help",
        ),
        (["eval", "1", "--json", "--format", "csv"], "--json and --format csv are two forms", "agrad eval --help"),
        (["graph", "--as", "json"], "the expression is missing", "agrad graph --help"),
        (["run", "--json"], "Missing argument 'FILE'.", "agrad run --help"),
        (["check", "x", "--json"], "a NAME=VALUE to differentiate by is missing", "agrad check --help"),
        (["map", "x", "--json"], "the file with the data is missing", "agrad map --help"),
        (["--json"], "no such option --json", "agrad --help"),
    ],
)
def test_wrong_usage_is_an_object_where_the_words_ask_for_json(inside, arguments, message, fix):
    out, err, code = inside(*arguments)
    error = json.loads(out)["error"]
    assert message in error["message"]
    assert (error["kind"], error["fixes"], err, code) == ("usage", [fix], "", 2)


def test_wrong_usage_is_text_where_json_is_for_the_script(inside):
    out, err, code = inside("run", "--jsno", "--", "--json")
    assert (out, err.splitlines()[-1], code) == ("", "Error: no such option --jsno: did you mean --json?", 2)
