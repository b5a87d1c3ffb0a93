"""The graph in its five forms: text, tree, DOT, Mermaid and JSON."""

import json
import re

import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.engine.inspect.dump import dump
from agrad.engine.inspect.rows import HEAD, TAIL
from agrad.grammar.commands.graphs import FORMS


def leaf(value, name=None, requires_grad=True):
    made = ag.tensor(value, requires_grad=requires_grad)
    made.name = name
    return made


def lines(text):
    return text.split("\n")


def shared():
    """A part used twice, a constant with a name, and one without."""
    a, k = leaf([1, 2], "a"), leaf([3, 4], "k", False)
    b = a**2
    return a, b, (b * k).sum() + (b * 2).sum()


def chain(length):
    x = y = leaf(1, "x")
    for _ in range(length):
        y = y + 1
    return x, y


def nodes_of(dumped):
    return json.loads(dumped.json())["nodes"]


def test_a_graph_from_python_names_operands_by_number():
    a = leaf(3)
    y = a * a + ag.exp(a)
    assert lines(dump(y, "y").text()) == [
        "graph of y: 4 nodes, 1 leaf, held",
        "  %1               leaf  ()  = 3   requires grad   grad none",
        "  %2  Mul(%1, %1)  Mul   ()  = 9   saves %1 %1",
        "  %3  Exp(%1)      Exp   ()  = 20.08553692   saves %3",
        "  %4  Add(%2, %3)  Add   ()  = 29.08553692",
    ]


def test_freeing_changes_no_number_and_adds_no_line():
    a, k = leaf([1, 2], "a"), leaf([3, 4], "k", False)
    d = (a * k + k * a * [5, 6]).sum()
    before = nodes_of(dump(d))
    d.backward()
    after = nodes_of(dump(d))
    assert [(x["number"], x["name"], x["saves"]) for x in before] == [
        (x["number"], x["name"], x["saves"]) for x in after
    ]
    assert {"value": {"shape": [2]}} in after[4]["operands"]  # the entries are gone


def test_empty_arrays_and_a_value_alone():
    e = leaf([], "e")
    assert "%2  Mul(%1, 2)  Mul   (0)\n  %3  Sum(%2)     Sum   ()   = 0" in dump((e * 2).sum(), "s").text()
    assert nodes_of(dump(e))[0]["value"] == []
    assert dump(leaf(5, "k", False), "k").text() == "graph of k: 1 node, 0 leaves, held\n  %1  k  constant  ()  = 5"
    assert nodes_of(dump(ag.zeros((1000000, 0))))[0]["value"] == {"shape": [1000000, 0]}


def test_long_texts_and_many_operands_are_cut_in_the_middle(says):
    x = leaf(1, "x")
    y = says("line 1", "+".join(["x"] * 5000), lambda: x + x)
    assert max(map(len, lines(dump(y, "y").text()))) < 120
    assert len(dump(y, "y").json()) < 1500
    parts = [leaf(n) for n in range(30)]
    assert "Stack(%1, %2, %3, …, %30)" in dump(ag.stack(parts), "s").text()


def test_every_node_is_drawn_once_in_a_tree_however_deep_and_shared():
    parts = [leaf(1.5, "a"), leaf(2.5, "b")]
    for step in range(60):
        parts.append(parts[-1] * parts[-2] if step % 3 else parts[step // 2] + parts[-1])
    text = dump(parts[-1], "y").tree()
    drawn = [int(x) for x in re.findall(r"^[ │├└─]*%(\d+)(?:  |$)", text, re.M)]
    assert sorted(drawn) == list(range(1, len(nodes_of(dump(parts[-1]))) + 1))
    assert max(map(len, lines(text))) < 120


def test_every_name_is_quoted():
    name = 'é "q" \\N [b] {c} <d> &lt; #x; `*_|\n%%\x1b'
    d = leaf([[1, 2]], name) * 2
    shown = 'é "q" \\N [b] {c} <d> &lt; #x; `*_| %%\ufffd'
    assert f"%1  {shown}  leaf" in dump(d, "d").text()
    assert f"%1  {shown}  leaf" in dump(d, "d").tree()
    assert r'label="▲ %1 é \"q\" \\N [b] {c} <d> &amp;lt; #x; `*_| %%' in dump(d, "d").dot()
    quoted = "é #quot;q#quot; #92;N [b] {c} #60;d#62; #38;lt#59; #35;x#59; #96;#42;#95;#124; #37;#37;"
    assert f'"▲ #37;1 {quoted}' in dump(d, "d").mermaid()
    assert nodes_of(dump(d, "d"))[0]["name"] == name


def test_parts_that_are_none_are_refused():
    a, _, d = shared()
    d.name = "d"
    with pytest.raises(AgradError, match="d was not computed from z: no path of the graph connects them") as refused:
        dump(d, since=[a, leaf(1, "z")])
    assert refused.value.kind == "grad"
    refuses(lambda: dump(d, depth=-1), "it cannot be -1")
    refuses(lambda: dump(d, depth=1.5), "must be a whole number")


@pytest.mark.long
@each("form", [form for form in FORMS if form != "page"])  # which refuses it
def test_of_a_long_chain_the_ends_are_shown_but_in_json_everything(form):
    _, y = chain(100_000)
    text = getattr(dump(y, "y"), form)(10)
    if form == "json":
        assert len(json.loads(text)["nodes"]) == 100_001
        return
    shown = TAIL if form == "tree" else HEAD + TAIL
    said = f"… {100_001 - shown} nodes left out; graph y depth 5, graph y from x, or graph y as json"
    assert said in text.replace("#59;", ";") or (form == "svg" and "100000 nodes are in" in text)
    assert len(text) < (80_000 if form == "svg" else 40_000)


def test_the_ends_of_a_drawing_hang_together():
    _, y = chain(1000)
    text = dump(y, "y").dot()
    assert f"n{HEAD} -> rest [style=dashed];" in text
    assert f"rest -> n{1001 - TAIL + 1} [style=dashed];" in text
    assert dump(y, "y", depth=500).text().endswith("… 801 nodes left out; graph y as json")


def two():
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    a.name = "a"
    c = a**2 * 2
    return a, c, c.mean(), c.sum()


def test_one_is_computed_from_another():
    _, c, d, _ = two()
    found = dump([d, c], ["d", "c"])
    assert found.tree().count("%3 (below)") == 1
    assert json.loads(found.json())["roots"] == [4, 3]


@each("form", FORMS)
def test_every_form_has_all_of_them(form):
    _, _, d, e = two()
    drawn = getattr(dump([d, e], ["d", "e"]), form)(10).lower()
    assert "mean" in drawn and "sum" in drawn
    assert drawn.count("pow") == getattr(dump(d, "d"), form)(10).lower().count("pow")


def test_parts():
    a, c, d, e = two()
    assert [row.number for row in dump([d, e], depth=1).rows] == [3, 4, 5]
    assert [row.number for row in dump([d, e], since=[c]).rows] == [3, 4, 5]
    other = ag.tensor(3.0, requires_grad=True)
    other.name = "z"
    refuses(lambda: dump([d, e], since=[other]), "were not computed from z: no path of the graph connects them")
    assert [row.number for row in dump([d, other * 2], since=[other]).rows] == [5, 6]
    assert a.grad is None


@each("form", [form for form in FORMS if form != "svg"])
def test_large_graphs_with_a_root_that_is_not_shown(form):
    x = y = ag.tensor(1.0, requires_grad=True)
    middle = None
    for number in range(400):
        y = y + 1
        middle = y if number == 100 else middle
    drawn = getattr(dump([middle, y], ["m", "y"]), form)(10)
    assert "m, y" in drawn or form == "program"
    assert x.grad is None
