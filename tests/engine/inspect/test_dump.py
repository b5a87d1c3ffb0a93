"""The graph in its five forms: text, tree, DOT, Mermaid and JSON."""

import json
import re

import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.core.context import current
from agrad.engine.errors import AgradError
from agrad.engine.inspect.dump import FORMATS, dump
from agrad.engine.inspect.rows import HEAD, TAIL


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


def choice():
    """A comparison inside where."""
    x = leaf(3, "x")
    return x, ag.where(x > 2, x * x, 0)


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


def test_a_shared_part_is_listed_once_and_numbers_start_at_one():
    _, _, d = shared()
    assert lines(dump(d, "d").text()) == [
        "graph of d: 8 nodes, 1 leaf, held",
        "  %1  a            leaf      (2)  requires grad   grad none",
        "  %2  k            constant  (2)",
        "  %3  Pow(%1, 2)   Pow       (2)  saves %1",
        "  %4  Mul(%3, %2)  Mul       (2)  saves %2",
        "  %5  Sum(%4)      Sum       ()   = 19",
        "  %6  Mul(%3, 2)   Mul       (2)",
        "  %7  Sum(%6)      Sum       ()   = 10",
        "  %8  Add(%5, %7)  Add       ()   = 29",
    ]


def test_who_freed_a_node_and_what_that_took_is_said():
    _, b, d = shared()
    e = (b * b).sum()
    d.backward()
    assert dump(d).state == "freed"
    assert dump(e).state == "partly freed"
    assert lines(dump(e, "e").text()) == [
        "graph of e: 4 nodes, 1 leaf, partly freed",
        "  %1  a            leaf  (2)  requires grad   grad [10, 24]",
        "  %2  Pow(%1, 2)   Pow   (2)  freed by an earlier backward of a result of Add, took %1",
        "  %3  Mul(%2, %2)  Mul   (2)  saves %2 %2",
        "  %4  Sum(%3)      Sum   ()   = 17",
    ]


def test_a_statement_that_freed_is_named_by_its_line(says):
    a = leaf(3, "a")
    d = says("line 2", "a*a", lambda: a * a)
    says("line 5", "backward d", d.backward)
    assert lines(dump(d, "d").text())[-1] == "  %2  a*a  Mul   ()  = 9   freed by line 5, took %1 %1"


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


def test_retained_gradients_are_shown_and_of_large_arrays_the_shape():
    a = leaf(list(range(9)), "a")
    b = a * 2
    b.retain_grad()
    b.sum().backward(retain_graph=True)
    text = dump(b, "b").text()
    assert text.count("grad (9)") == 2
    assert "held" in text


def test_what_is_stale_and_how_often_a_leaf_was_written_is_said(says):
    a, c = leaf(2, "a"), leaf(1, "c")
    d = a * a + c * c
    says("line 7", "set a = 5", lambda: a.set_(5))
    assert lines(dump(d, "d").text()) == [
        "graph of d: 5 nodes, 2 leaves, held, stale",
        "  %1  a            leaf  ()  = 5   requires grad   version 1   grad none",
        "  %2  c            leaf  ()  = 1   requires grad   grad none",
        "  %3  Mul(%1, %1)  Mul   ()  = 4   saves %1 %1   stale",
        "  %4  Mul(%2, %2)  Mul   ()  = 1   saves %2 %2",
        "  %5  Add(%3, %4)  Add   ()  = 5   stale",
    ]
    assert nodes_of(dump(d))[0]["written_by"] == "line 7"


def test_a_comparison_is_recorded_and_has_no_gradient():
    _, y = choice()
    assert lines(dump(y, "y").text()) == [
        "graph of y: 4 nodes, 1 leaf, held",
        "  %1  x                 leaf     ()  = 3   requires grad   grad none",
        "  %2  Greater(%1, 2)    Greater  ()  = 1   no grad",
        "  %3  Mul(%1, %1)       Mul      ()  = 9   saves %1 %1",
        "  %4  Where(%2, %3, 0)  Where    ()  = 9   saves %2",
    ]


def test_guards_are_said_once_under_the_table(says):
    x = leaf(2, "x")
    try:
        for _ in range(3):
            says("line 3", "x > 0", lambda: bool(x > 0))
        says("line 4", "x < 1", lambda: bool(x < 1))
        y = x * x
    finally:
        current().guard = None
    assert lines(dump(y, "y").text())[-2:] == ["  guards: x > 0 is true, line 3", "          x < 1 is false, line 4"]
    record = json.loads(dump(y, "y").json())
    assert record["nodes"][-1]["guard"] == len(record["guards"]) - 1
    assert record["guards"][-1]["parent"] == len(record["guards"]) - 2


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


# Tree


def test_a_tree_draws_a_shared_part_once():
    _, _, d = shared()
    assert lines(dump(d, "d").tree()) == [
        "graph of d: 8 nodes, 1 leaf, held",
        "  %8  Add(%5, %7)          Add       ()   = 29",
        "  ├─ %5  Sum(%4)           Sum       ()   = 19",
        "  │  └─ %4  Mul(%3, %2)    Mul       (2)  saves %2",
        "  │     ├─ %3  Pow(%1, 2)  Pow       (2)  saves %1",
        "  │     │  └─ %1  a        leaf      (2)  requires grad   grad none",
        "  │     └─ %2  k           constant  (2)",
        "  └─ %7  Sum(%6)           Sum       ()   = 10",
        "     └─ %6  Mul(%3, 2)     Mul       (2)",
        "        └─ %3 (above)",
    ]


def test_what_is_deep_is_a_tree_of_its_own_below():
    _, y = chain(14)
    text = lines(dump(y, "y").tree())
    assert text[13:] == [
        f"  {' ' * 33}└─ %3 (below)",
        "",
        "  %3  Add(%2, 1)     Add   ()  = 3",
        "  └─ %2  Add(%1, 1)  Add   ()  = 2",
        "     └─ %1  x        leaf  ()  = 1   requires grad   grad none",
    ]


def test_every_node_is_drawn_once_in_a_tree_however_deep_and_shared():
    parts = [leaf(1.5, "a"), leaf(2.5, "b")]
    for step in range(60):
        parts.append(parts[-1] * parts[-2] if step % 3 else parts[step // 2] + parts[-1])
    text = dump(parts[-1], "y").tree()
    drawn = [int(x) for x in re.findall(r"^[ │├└─]*%(\d+)(?:  |$)", text, re.M)]
    assert sorted(drawn) == list(range(1, len(nodes_of(dump(parts[-1]))) + 1))
    assert max(map(len, lines(text))) < 120


# DOT and Mermaid


def test_dot():
    _, y = choice()
    assert lines(dump(y, "y").dot()) == [
        "digraph agrad {",
        '  label="graph of y: 4 nodes, 1 leaf, held";',
        "  labelloc=t;",
        '  node [fontname="monospace", fillcolor="#dbe9f6"];',
        r'  n1 [label="%1 x\nleaf ()\n= 3\nrequires grad\ngrad none", shape=box, style="filled"];',
        r'  n2 [label="%2 Greater(%1, 2)\nGreater ()\n= 1\nno grad", shape=ellipse];',
        r'  n3 [label="%3 Mul(%1, %1)\nMul ()\n= 9\nsaves %1 %1", shape=ellipse, style="filled"];',
        r'  n4 [label="%4 Where(%2, %3, 0)\nWhere ()\n= 9\nsaves %2", shape=ellipse, style="filled"];',
        "  n1 -> n2;",
        '  n1 -> n3 [label="2×"];',
        "  n2 -> n4;",
        "  n3 -> n4;",
        "}",
    ]


def test_mermaid():
    _, y = choice()
    assert lines(dump(y, "y").mermaid()) == [
        "flowchart TD",
        '  heading["graph of y#58; 4 nodes, 1 leaf, held"]:::heading',
        '  n1["#37;1 x<br/>leaf ()<br/>= 3<br/>requires grad<br/>grad none"]',
        '  n2(["#37;2 Greater(#37;1, 2)<br/>Greater ()<br/>= 1<br/>no grad"])',
        '  n3(["#37;3 Mul(#37;1, #37;1)<br/>Mul ()<br/>= 9<br/>saves #37;1 #37;1"])',
        '  n4(["#37;4 Where(#37;2, #37;3, 0)<br/>Where ()<br/>= 9<br/>saves #37;2"])',
        "  n1 --> n2",
        "  n1 -->|2×| n3",
        "  n2 --> n4",
        "  n3 --> n4",
        "  classDef heading fill:none,stroke:none",
        "  classDef grad fill:#dbe9f6,color:#000",
        "  class n1,n3,n4 grad",
    ]


def test_freed_nodes_are_dashed_and_stale_ones_dotted(says):
    a = leaf(2, "a")
    d = says("line 2", "a*a", lambda: a * a)
    a.set_(3)
    assert 'style="filled,dotted", tooltip="line 2"' in dump(d).dot()
    assert "class n2 stale" in dump(d).mermaid()
    d = a * a
    d.backward()
    assert 'style="filled,dashed"' in dump(d).dot()
    assert "class n2 freed" in dump(d).mermaid()


def test_every_name_is_quoted():
    name = 'é "q" \\N [b] {c} <d> &lt; #x; `*_|\n%%\x1b'
    d = leaf([[1, 2]], name) * 2
    shown = 'é "q" \\N [b] {c} <d> &lt; #x; `*_| %%\ufffd'
    assert f"%1  {shown}  leaf" in dump(d, "d").text()
    assert f"%1  {shown}  leaf" in dump(d, "d").tree()
    assert r'label="%1 é \"q\" \\N [b] {c} <d> &amp;lt; #x; `*_| %%' in dump(d, "d").dot()
    quoted = "é #quot;q#quot; #92;N [b] {c} #60;d#62; #38;lt#59; #35;x#59; #96;#42;#95;#124; #37;#37;"
    assert f'"#37;1 {quoted}' in dump(d, "d").mermaid()
    assert nodes_of(dump(d, "d"))[0]["name"] == name


# JSON


def test_json_says_all_about_a_node(says):
    a = leaf([1, float("nan")], "a")
    d = says("line 2", "a*inf", lambda: a * float("inf"))
    text = dump(d, "d").json()
    record = json.loads(text, parse_constant=pytest.fail)
    assert len(lines(text)) == 1 + 2 + 1
    first, second = record.pop("nodes")
    assert record.pop("nonfinite") == {
        "nodes[0].value[1]": "nan",
        "nodes[1].operands[1].value": "inf",
        "nodes[1].value[0]": "inf",
        "nodes[1].value[1]": "nan",
    }
    whole = {
        "schema": 1,
        "name": "d",
        "roots": [2],
        "state": "held",
        "stale": False,
        "count": 2,
        "leaves": 1,
        "guards": [],
    }
    assert record == whole
    both = {"shape": [2], "grad": None, "requires_grad": True, "saves": [], "version": 0, "written_by": None}
    both |= {"freed": False, "freed_by": None, "stale": False, "guard": None}
    made = {"number": 1, "name": "a", "text": "", "where": None, "operation": "leaf", "leaf": True}
    assert first == {**both, **made, "operands": [], "value": [1, None], "keeps_grad": True}
    made = {"number": 2, "name": None, "text": "a*inf", "where": "line 2", "operation": "Mul", "leaf": False}
    operands = [{"node": 1}, {"value": None}]
    assert second == {**both, **made, "operands": operands, "value": [None, None], "keeps_grad": False}


# Parts of a graph


def test_depth_counts_operations_behind_the_value_and_keeps_the_numbers():
    _, _, d = shared()
    assert lines(dump(d, "d", depth=1).text()) == [
        "graph of d: 8 nodes, 1 leaf, held",
        "  …",
        "  %5  Sum(%4)      Sum  ()  = 19",
        "  …",
        "  %7  Sum(%6)      Sum  ()  = 10",
        "  %8  Add(%5, %7)  Add  ()  = 29",
        "  … 5 nodes left out",
    ]
    assert dump(d, "d", depth=0).tree().endswith("= 29\n  └─ … %5 %7\n  … 7 nodes left out")
    assert dump(d, "d", depth=1000000000).text() == dump(d, "d").text()
    assert [x["number"] for x in nodes_of(dump(d, depth=1))] == [5, 7, 8]


def test_since_keeps_the_paths_and_what_stands_beside_them():
    a, c = leaf(2, "a"), leaf(3, "c")
    b = a * a
    d = b * ag.exp(c) + ag.sin(c)
    assert lines(dump(d, "d", since=[a]).text())[1:] == [
        "  %1  a            leaf  ()  = 2   requires grad   grad none",
        "  …",
        "  %3  Mul(%1, %1)  Mul   ()  = 4   saves %1 %1",
        "  %4  Exp(%2)      Exp   ()  = 20.08553692   saves %4",
        "  %5  Mul(%3, %4)  Mul   ()  = 80.34214769   saves %3 %4",
        "  %6  Sin(%2)      Sin   ()  = 0.1411200081   saves %2",
        "  %7  Add(%5, %6)  Add   ()  = 80.4832677",
        "  … 1 node left out",
    ]
    assert [x["number"] for x in nodes_of(dump(d, since=[b], depth=1))] == [5, 6, 7]
    assert "rest -> n4 [style=dashed];" in dump(d, since=[a]).dot()
    assert "rest -.-> n4" in dump(d, since=[a]).mermaid()


def test_parts_that_are_none_are_refused():
    a, _, d = shared()
    d.name = "d"
    with pytest.raises(AgradError, match="d was not computed from z: no path of the graph connects them") as refused:
        dump(d, since=[a, leaf(1, "z")])
    assert refused.value.kind == "grad"
    with pytest.raises(AgradError, match="it cannot be -1"):
        dump(d, depth=-1)
    with pytest.raises(AgradError, match="must be a whole number"):
        dump(d, depth=1.5)


@pytest.mark.long
@each("form", [form for form in FORMATS if form != "page"])  # which refuses it
def test_of_a_long_chain_the_ends_are_shown_but_in_json_everything(form):
    _, y = chain(100_000)
    text = FORMATS[form](dump(y, "y"), 10)
    if form == "json":
        assert len(json.loads(text)["nodes"]) == 100_001
        return
    shown = TAIL if form == "tree" else HEAD + TAIL
    said = f"… {100_001 - shown} nodes left out; graph y depth 5, graph y from x, or graph y as json"
    assert said in text.replace("#59;", ";")
    assert len(text) < (80_000 if form in ("svg", "tikz") else 40_000)


def test_the_ends_of_a_drawing_hang_together():
    _, y = chain(1000)
    text = dump(y, "y").dot()
    assert f"n{HEAD} -> rest [style=dashed];" in text
    assert f"rest -> n{1001 - TAIL + 1} [style=dashed];" in text
    assert dump(y, "y", depth=500).text().endswith("… 801 nodes left out; graph y as json")
