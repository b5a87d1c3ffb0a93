"""How the commands on the graph are read, and what becomes of their operands and options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agrad.engine.errors import AgradError
from agrad.engine.inspect.dump import FORMATS
from agrad.grammar.commands.graphs import ENDINGS, PICTURES
from agrad.grammar.commands.registry import COMMANDS as REGISTERED
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Noted
from agrad.grammar.runtime.bytecode import Do
from agrad.grammar.runtime.compiler import compile_statement
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.keywords import words
from agrad.grammar.syntax.parser import parse


def read(text: str) -> s.Statement:
    (statement,) = parse(Source("session", text))
    return statement


def told(text: str) -> str:
    """A command: its word, its operands, and each option with what stands behind it."""
    command = read(text)
    assert isinstance(command, s.Command)
    parts = [command.word, *(operand.span.text for operand in command.operands)]
    for name, value in command.options:
        shown = repr(value.value) if isinstance(value, s.String) else value and value.span.text
        parts.append(f"{name}: {shown}" if shown else name)
    return " | ".join(parts)


COMMANDS = {
    # forward
    "forward d": "forward | d",
    "forward d e": "forward | d | e",
    "forward d, e.grad, w[0]": "forward | d | e.grad | w[0]",
    "forward d with x=3": "forward | d | x: x=3",
    "forward d e with x=3, y=[1, 2]": "forward | d | e | x: x=3 | y: y=[1, 2]",
    "forward d with x = a*2 y = -1": "forward | d | x: x = a*2 | y: y = -1",
    "forward with_ with with_=1": "forward | with_ | with_: with_=1",
    "forward forward": "forward | forward",
    # info
    "info x": "info | x",
    "info x y.grad, w[0, 1]": "info | x | y.grad | w[0, 1]",
    "info info": "info | info",
    # explain
    "explain d": "explain | d",
    "explain (a + b)*c": "explain | (a + b)*c",
    "explain sum(a*b) wrt a b": "explain | sum(a*b) | a | b",
    "explain d wrt a, b": "explain | d | a | b",
    "explain wrt wrt wrt": "explain | wrt | wrt",
    "explain -d": "explain | -d",
    # backward
    "backward d trace": "backward | d | trace",
    "backward d retain trace seed [1, 2]": "backward | d | retain | trace | seed: [1, 2]",
    "backward trace trace": "backward | trace | trace",
    # graph
    "graph d": "graph | d",
    "graph d as json": "graph | d | as: 'json'",
    "graph d as svg": "graph | d | as: 'svg'",
    "graph d depth 3": "graph | d | depth: 3",
    "graph d depth 0": "graph | d | depth: 0",
    "graph d from a": "graph | d | from: a",
    "graph d from a, b c": "graph | d | from: a, b c",
    "graph d from w[0] depth 2": "graph | d | from: w[0] | depth: 2",
    'graph d to "d.gv"': "graph | d | to: 'd.gv'",
    'graph d to "d.gv" from a b depth 4 as dot': "graph | d | to: 'd.gv' | from: a b | depth: 4 | as: 'dot'",
    "graph depth depth 1": "graph | depth | depth: 1",
    "graph d from depth depth 1": "graph | d | from: depth | depth: 1",
    "graph d as depth from a, to": "graph | d | as: 'depth' | from: a, to",
}


@pytest.mark.parametrize("text", COMMANDS)
def test_command(text: str) -> None:
    assert told(text) == COMMANDS[text]


def test_what_is_behind_from_is_one_tuple() -> None:
    command = read("graph d from a b")
    assert isinstance(command, s.Command)
    ((_, value),) = command.options
    assert isinstance(value, s.Tuple) and [item.span.text for item in value.items] == ["a", "b"]


# Words that are commands in one place and names in all others

NAMES = """\
{0}
{0} = 3
{0} += 1
x = {0}
{0} + 1
{0}(x)
{0}.grad
{0}[0]
-{0}
f({0}=1)
x = 2*{0}
var {0} = 2
def f({0}) = {0}
{0} if {0} else x
x[{0}:{0}]
{0}, x = 1, 2
grad {0}
backward {0}"""


@pytest.mark.parametrize("word", ["forward", "info", "time", "depth", "trace", "wrt", "to"])
@pytest.mark.parametrize("form", NAMES.split("\n"))
def test_a_soft_word_is_a_name_elsewhere(form: str, word: str) -> None:
    statement = read(form.format(word))
    if isinstance(statement, s.Command):
        assert statement.word in ("grad", "backward")
    assert not isinstance(statement, s.Time)


@pytest.mark.parametrize("text", ["x = explain", "explain(x) + 1", "def explain(x) = x", "var explain = 1"])
def test_explain_is_no_name(text: str) -> None:
    if text.startswith("explain"):
        assert told(text) == "explain | (x) + 1"  # as after `backward`, an expression begins
        return
    with pytest.raises(AgradError) as caught:
        read(text)
    assert caught.value.facts.name == ("command value" if text == "x = explain" else "reserved")


# time

TIMED = {
    "time: y = 3": ["y = 3"],
    "time : y = 3": ["y = 3"],
    "time: y; z": ["y", "z"],
    "time:\n  y = 3\n  for i in y: z": ["y = 3", "for i in y: z"],
    "time: backward d retain": ["backward d retain"],
    "time: time = 3": ["time = 3"],
}


@pytest.mark.parametrize("text", TIMED)
def test_time(text: str) -> None:
    statement = read(text)
    assert isinstance(statement, s.Time)
    assert [part.span.text for part in statement.body] == TIMED[text]
    assert statement.span.text.startswith("time")


def test_time_inside_other_blocks() -> None:
    outer = read("for i in range(3):\n  time: x = i\n  no_grad:\n    time:\n      y")
    assert isinstance(outer, s.For)
    first, second = outer.body
    assert isinstance(first, s.Time) and isinstance(second, s.NoGrad)
    assert isinstance(second.body[0], s.Time)


def test_what_is_timed_is_code_of_its_own() -> None:
    code = compile_statement(read("time: x = 1 + 2"))
    kinds = [do for do, _, _ in code.instructions]
    assert kinds == [Do.STATEMENT, Do.TIME]
    inner = code.instructions[1][1]
    assert [do for do, _, _ in inner.instructions][-1] is Do.STORE


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("for i in x:\n  time: break", "break"),
        ("while x:\n  time:\n    continue", "continue"),
        ("def f(x):\n  time: return x", "return"),
        ("def f(x):\n  time:\n    if x: return x", "return"),
    ],
)
def test_nothing_leaves_what_is_timed(text: str, word: str) -> None:
    with pytest.raises(AgradError, match=f"{word} cannot leave the body of `time:`") as caught:
        compile_statement(read(text))
    assert caught.value.kind == "syntax"


@pytest.mark.parametrize("text", ["time:\n  for i in x: break", "time:\n  def f(x): return x"])
def test_loops_and_functions_inside_what_is_timed_end_as_ever(text: str) -> None:
    assert compile_statement(read(text)).instructions[-1][0] is Do.TIME


@pytest.mark.parametrize("word", sorted(words("forward info time")))
def test_a_soft_word_alone_reads_as_a_name(word: str) -> None:
    statement = read(word)
    assert isinstance(statement, s.Evaluate) and isinstance(statement.value, s.Name)


# What the commands do with what was read


def session(*lines: str) -> Session:
    started = Session()
    for line in lines:
        started.run(line)
    return started


def said(text: str, within: Session) -> list[str]:
    lines: list[str] = []
    within.run(text, lambda r: None if isinstance(r, Noted) else lines.append(r.text(within.settings)))
    return lines


def error(text: str, within: Session) -> AgradError:
    with pytest.raises(AgradError) as caught:
        said(text, within)
    return caught.value


@pytest.fixture
def drawn() -> Session:
    return session("var a = 3; var c = 2", "b = a**2", "d = b*c", "f = 2")


def labelled(problem: AgradError) -> list[str]:
    return [label.origin.text for label in problem.labels if label.origin is not None]


def test_each_form_of_a_graph(drawn: Session) -> None:
    shown = {form: said(f"graph d as {form}", drawn) for form in words("text tree dot mermaid json")}
    assert all(len(lines) == 1 for lines in shown.values())
    assert said("graph d", drawn) == shown["text"]
    assert shown["text"][0].startswith("graph of d: 4 nodes, 2 leaves, held")
    assert shown["dot"][0].startswith("digraph")
    assert shown["mermaid"][0].startswith("flowchart TD")
    assert json.loads(shown["json"][0])["name"] == "d"
    assert len({*map(tuple, shown.values())}) == 5


@pytest.mark.parametrize(
    "leaf", ["var x = 3", "var x = [3, 4]", "var x = k", "var x = 3 ± 0.1", "x = tensor(3, requires_grad=True)"]
)
@pytest.mark.parametrize("before", ["k = 2", "k = 2; p = k*k; q = [1, 2]*k"])
def test_a_leaf_says_where_it_comes_from(leaf, before):
    session, shown = Session(), []
    session.run(
        f"{before}\nif k:\n    {leaf}\ny = 2*x\ngraph y as json\ngraph y as dot", lambda result: shown.append(result)
    )
    graph, dot = (result.text(session.settings) for result in shown)
    assert [node["where"] for node in json.loads(graph)["nodes"]] == ["line 3", "line 4"]
    assert [line.partition("tooltip=")[2] for line in dot.splitlines() if "tooltip" in line] == [
        '"line 3"];',
        '"line 4"];',
    ]


def test_the_forms_are_those_that_messages_and_help_name() -> None:
    assert f"[as {' | '.join(FORMATS)}]" in REGISTERED["graph"].usage
    assert {*ENDINGS.values()} <= {*FORMATS, *PICTURES}


def test_a_part_of_a_graph(drawn: Session) -> None:
    def nodes(options: str) -> list[str]:
        return [node["name"] for node in json.loads(said(f"graph d as json {options}", drawn)[0])["nodes"]]

    assert sorted(nodes("")) == ["a", "b", "c", "d"]
    assert "a" not in nodes("depth 1")
    assert "b" not in nodes("from c depth 1") or nodes("from c") != nodes("")


@pytest.mark.parametrize(
    ("name", "form"),
    [("d.txt", "text"), ("d.dot", "dot"), ("d.gv", "dot"), ("D.GV", "dot"), ("d.mmd", "mermaid"), ("d.json", "json")],
)
def test_a_file_gets_the_form_that_its_ending_names(drawn: Session, tmp_path: Path, name: str, form: str) -> None:
    path = tmp_path / name
    assert said(f'graph d to "{path}"', drawn) == [f"wrote {path}"]
    assert [path.read_text("utf-8")] == [f"{text}\n" for text in said(f"graph d as {form}", drawn)]


def test_a_file_of_text_takes_any_form(drawn: Session, tmp_path: Path) -> None:
    said(f'graph d to "{tmp_path}/d.txt" as dot', drawn)
    assert (tmp_path / "d.txt").read_text("utf-8").startswith("digraph")


@pytest.mark.parametrize(
    ("form", "path", "message", "fixes"),
    [
        ("dot", "d.json", "d.json means json by its extension, and dot by `as`", ['to "d.json"', 'to "d.dot"']),
        ("json", "d.MMD", "d.MMD means mermaid by its extension, and json by `as`", ['to "d.MMD"', 'to "d.json"']),
        ("tree", "d.svg", "d.svg means svg by its extension, and tree by `as`", ['to "d.svg"']),
    ],
)
def test_a_file_does_not_hold_another_form_than_its_ending_says(
    drawn: Session, form: str, path: str, message: str, fixes: list[str]
) -> None:
    with pytest.raises(AgradError) as caught:
        said(f'graph d as {form} to "{path}"', drawn)
    assert (caught.value.kind, caught.value.message) == ("file", message)
    assert caught.value.fixes == [f"graph d {fix}" for fix in fixes]
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("form", "fixes"),
    [
        ("jsn", ["graph d as json"]),
        ("picture", []),
    ],
)
def test_an_unknown_form(drawn: Session, form: str, fixes: list[str]) -> None:
    problem = error(f"graph d as {form}", drawn)
    assert (
        problem.message
        == f"a graph is not shown as {form}; the forms are as text, tree, boxes, dot, mermaid, program, svg, tikz, page or json"
    )
    assert (problem.kind, problem.fixes, labelled(problem)) == ("name", fixes, [form])


@pytest.mark.parametrize("form", PICTURES)
def test_a_form_that_only_a_file_can_hold(drawn: Session, tmp_path: Path, form: str) -> None:
    problem = error(f"graph d as {form}", drawn)
    assert (problem.kind, problem.message) == ("name", f"a graph as {form} is written to a file")
    assert (problem.fixes, labelled(problem)) == ([f'graph d to "d.{form}"'], [form])
    pytest.importorskip("matplotlib")
    start = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-"}[form]
    for name, option in ((f"d.{form}", ""), ("d", f" as {form}")):
        path = tmp_path / name
        assert said(f'graph d{option} to "{path}"', drawn) == [f"wrote {path}"]
        assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["d.gif", "d", "d.py", ""])
def test_an_unknown_ending(drawn: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    problem = error(f'graph d to "{name}"', drawn)
    assert (problem.kind, labelled(problem)) == ("file", [f'"{name}"'])
    assert problem.message.endswith(
        "does not give the form of a graph; these do: .txt .dot .gv .mmd .mermaid .json .svg .tikz .png .pdf .html"
    )
    assert problem.notes == [
        "without one of these, say as text, tree, boxes, dot, mermaid, program, svg, tikz, page or json"
    ]
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written(drawn: Session, tmp_path: Path) -> None:
    problem = error(f'graph d to "{tmp_path}/no/d.dot"', drawn)
    assert (problem.kind, problem.message.split(": ")[1]) == ("file", f"there is no folder {tmp_path}/no")
    said(f'fails file: graph d to "{tmp_path}"', drawn)


@pytest.mark.parametrize(
    ("text", "word"), [("graph f", "f"), ("graph d from f", "f"), ("forward f", "f"), ("explain d wrt f", "f")]
)
def test_a_plain_number_has_no_graph(drawn: Session, text: str, word: str) -> None:
    problem = error(text, drawn)
    assert (problem.kind, labelled(problem)) == ("grad", [word])
    assert "f is the number 2, with no graph and no gradient" in problem.message


@pytest.mark.parametrize("text", ["forward d with b=3", "set b = 3"])
def test_only_leaves_are_given_new_data(drawn: Session, text: str) -> None:
    problem = error(text, drawn)
    assert problem.message == f"{text.split()[0]} writes into a leaf, and b was computed"
    assert (problem.kind, problem.fixes) == ("leaf", ["b = …   binds a new value"])
    assert labelled(problem) == ["b=3" if "with" in text else "b"]


def test_forward_with_an_unknown_name_or_another_shape_changes_nothing(drawn: Session) -> None:
    assert error("forward d with a=5, q=1", drawn).kind == "name"
    assert error("forward d with a=5, c=[1, 2]", drawn).kind == "shape"
    assert said("a", drawn) == ["3"]


def test_forward_computes_again_what_backward_then_reads(drawn: Session) -> None:
    assert said("forward d with a=5; print d; backward d; grad a c", drawn) == ["50", "a.grad = 20", "c.grad = 25"]


def test_forward_after_set(drawn: Session) -> None:
    assert said("set a = 4; set c = 1; forward d b; print d, b", drawn) == ["16 16"]


def test_info_tells_of_each_name(drawn: Session) -> None:
    assert len(said("info a b f", drawn)) == 3


def test_explain_tells_of_the_leaves_asked_for(drawn: Session) -> None:
    (both,), (one,) = said("explain d", drawn), said("explain d wrt c", drawn)
    assert "d(d)/d(a)" in both and "d(d)/d(c)" in both
    assert "d(d)/d(a)" not in one and "d(d)/d(c)" in one
    assert said("explain a*b", drawn)


def test_a_traced_backward_shows_the_walk_and_does_what_another_does(drawn: Session) -> None:
    (shown,) = said("backward d trace", drawn)
    assert "Mul" in shown and "a.grad" in shown
    assert said("grad a c", drawn) == ["a.grad = 12", "c.grad = 9"]
    assert error("backward d trace", drawn).kind == "freed"


def test_time_runs_its_body(drawn: Session) -> None:
    assert said("time: k = 7", drawn)
    assert said("k", drawn) == ["7"]
    assert error("time: k = sin(q)", drawn).kind == "name"
