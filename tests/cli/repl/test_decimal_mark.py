"""The setting `decimal`: what is typed and shown has commas, of files and of Python points."""

import json

import pytest


@pytest.fixture
def comma(agrad, tmp_path):
    (tmp_path / "agrad").mkdir()
    (tmp_path / "agrad" / "config.toml").write_text('decimal = ","\n')
    return agrad


SESSION = """\
f(a; b) = a*b + 0,5
f(1,5; 2)
[1,5; 2]
solve x^2 - 2,25 = 0
set decimal "."
f(1.5, 2)
set decimal = ","
undo
1.5
set decimal ','
import math
math.floor(1.5) + 0.25
"""


def test_a_session_with_commas(comma):
    out, err, code = comma("repl", given=SESSION)
    assert (code, err) == (0, "note: from here on this session reads Python; `calculator` goes back\n")
    assert out.splitlines()[:5] == [
        "3,5", "[1,5; 2]", "x = [-1,5; 1,5]", "every real root of a polynomial of degree 2", "3.5",
    ]  # fmt: skip
    assert out.splitlines()[-1] == "1.5"


def test_two_arguments_are_divided_by_a_semicolon(comma):
    out, err, _ = comma("repl", given="f(a; b) = a*b\nf(1,2)\nf(1;2)\n")
    assert "`;` separates in brackets\n  fix: f(1;2)\n" in err
    assert out == "2\n"


def test_eval_has_commas_but_not_in_json(comma):
    assert comma("eval", "a*0,5", "a=0,5", "--wrt", "a")[0] == "0,25\nd/da = 0,5\n"
    assert json.loads(comma("eval", "a*0,5", "a=0,5", "--wrt", "a", "--json")[0])["value"] == 0.25


def test_scripts_and_what_is_saved_have_points(comma, tmp_path):
    (tmp_path / "a.ag").write_text("x = [1.5, 2]\nprint(x[0])\n")
    assert comma("run", "a.ag")[0] == "1.5\n"
    out, err, _ = comma("repl", given='load "a.ag"\nvar y = 0,5\nsave "b.ag"\n')
    assert out.startswith("1,5\n") and err == ""
    assert (tmp_path / "b.ag").read_text().endswith("var y = 0.5\n")
