"""`agrad graph`: what the language's command draws, of an expression on the command line."""

import json

import pytest

from agrad.engine.inspect.dump import FORMATS
from agrad.grammar.commands.graphs import PICTURES
from agrad.grammar.results import Table
from agrad.grammar.session.session import Session

GRAPH = """\
graph of a**2*2: 3 nodes, 1 leaf, held
  %1  a       leaf  ()  = 3   requires grad   grad none
  %2  a**2    Pow   ()  = 9   saves %1
  %3  a**2*2  Mul   ()  = 18
"""


def test_a_graph_is_a_line_for_each_node(inside):
    assert inside("graph", "a**2*2", "a=3") == (GRAPH, "", 0)
    assert inside("graph", "-", "a=3", given="a**2*2\n") == (GRAPH, "", 0)


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_of_the_language_is_there(inside, form):
    out, err, code = inside("graph", "sin(x)*y", "x=2", "y=[1, 2]", "--as", form)
    results = []
    Session().run(f"var x = 2\nvar y = [1, 2]\nz = sin(x)*y\ngraph z as {form}", results.append)
    (said,) = (result.lines for result in results if isinstance(result, Table))
    assert (len(out.splitlines()), err, code) == (len(said.splitlines()), "", 0)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("g.txt", "text"),
        ("g.dot", "dot"),
        ("G.GV", "dot"),
        ("g.mmd", "mermaid"),
        ("g.json", "json"),
        ("g.svg", "svg"),
        ("g.html", "page"),
    ],
)
def test_a_file_takes_the_form_of_its_ending(inside, tmp_path, name, form):
    assert inside("graph", "a**2*2", "a=3", "-o", name) == ("", "", 0)
    assert (tmp_path / name).read_text("utf-8") == inside("graph", "a**2*2", "a=3", "--as", form)[0]


def test_the_form_may_be_said(inside, tmp_path):
    assert inside("graph", "a**2*2", "a=3", "-o", "graph", "--as", "json") == ("", "", 0)
    assert json.loads((tmp_path / "graph").read_text("utf-8"))["count"] == 3
    assert inside("graph", "a**2*2", "a=3", "-o", "-") == inside("graph", "a**2*2", "a=3")


@pytest.mark.parametrize("form", PICTURES)
def test_a_file_that_is_not_text(inside, tmp_path, form):
    pytest.importorskip("matplotlib")
    assert inside("graph", "a**2*2", "a=3", "-o", f"g.{form}") == ("", "", 0)
    assert inside("eval", "a**2*2", "a=3", "--graph", f"h.{form}") == ("18\n", "", 0)
    drawn = [(tmp_path / f"{name}.{form}").read_bytes() for name in "gh"]
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith({"png": b"\x89PNG\r\n", "pdf": b"%PDF-"}[form])


def test_a_depth_leaves_out_what_lies_deeper(inside):
    out, _, _ = inside("graph", "a**2*2", "a=3", "--depth", "1")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["…", "%2", "%3", "…"]


def test_a_number_has_no_graph(inside):
    expected = "error[grad]: 2*3 is the number 6, with no graph\n  fix: give a name in it a value: x=2\n"
    assert inside("graph", "2*3") == ("", expected, 1)
    assert inside("graph", "sin")[1] == "error[grad]: sin is the function sin, with no graph\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as", "png"], "a graph as png is written to a file: -o graph.png"),
        (["--as", "pdf", "-o", "g.png"], "g.png means png by its extension, and pdf by --as"),
        (
            ["-o", "g"],
            "the extension of g does not give the form of a graph; these do: .txt .dot .gv .mmd .mermaid .json",
        ),
        (["--as", "dot", "-o", "g.json"], "g.json means json by its extension, and dot by --as"),
        (["--depth", "-1"], "Invalid value for '--depth': -1 is not in the range x>=0."),
        (["--of", "x"], "no such option --of: did you mean --as?"),
    ],
)
def test_wrong_usage(inside, arguments, message):
    out, err, code = inside("graph", "a", "a=1", *arguments)
    assert (out, code) == ("", 2)
    assert message.split(":")[0] in err.splitlines()[-1]


def test_a_file_that_cannot_be_written(inside):
    out, err, code = inside("graph", "a", "a=1", "-o", "nowhere/g.dot")
    assert (out, code) == ("", 1)
    assert err.startswith("error[file]: cannot write nowhere/g.dot: there is no folder ")


def test_a_name_without_a_value(inside):
    assert inside("graph", "a*b", "a=1")[1].splitlines()[-1] == "  fix: give it one: agrad graph a*b a=1 b=1".replace(
        "a*b", '"a*b"'
    )
