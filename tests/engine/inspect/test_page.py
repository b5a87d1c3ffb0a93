"""The page of a graph: its data, its code, and what cannot break out of it. `test_page_browser` runs it."""

import json
import re
import subprocess

import pytest
from browser import NODE
from refused import leaf, refuses
from rows import each

import agrad.engine as ag
from agrad.engine.inspect.dump import dump
from agrad.grammar.session.session import Session


def page_of(text, *names):
    """The page of some values of a script."""
    session = Session()
    session.run(text, lambda result: None)
    from agrad.grammar.commands.graphs import drawn

    return drawn([session.names[name] for name in names], list(names), "page", session.settings, session=session)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def code_of(page):
    return page.split("<script>\n")[1].split("\n</script>")[0]


TOY = "var a = [0.1, 0.2, 0.3, 0.4]\nb = a**2\nc = b*2\nd = mean(c)\ne = sum(c)"


def value(data, place):
    numbers = [float(x) for x in data["numbers"]]
    size = 1
    for length in place[1:]:
        size *= length
    return numbers[place[0] : place[0] + size]


def test_it_has_the_walks_of_all_roots_and_the_second_is_refused_after_the_first():
    data = data_of(page_of(TOY, "d", "e"))
    assert [walk["root"] for walk in data["walks"]] == data["roots"]
    first, second = data["walks"]
    assert "freed" not in {key for key, found in first.items() if found}
    assert second["freed"] == {
        "message": "e cannot be differentiated: part of its graph was freed",
        "places": [["line 2", "a**2", "PowBackward lost its saved values"], ["", "", "freed by backward d"]],
        "notes": [],
        "fixes": ["evaluate e again"],
    }


def test_a_visit_has_what_comes_in_the_local_derivative_and_what_goes_out():
    data = data_of(page_of(TOY, "d", "e"))
    ids = {node.get("name"): node["id"] for node in data["nodes"]}
    visits = {visit["node"]: visit for visit in data["walks"][0]["visits"]}
    visit = visits[ids["b"]]
    ((operand, local, out),) = visit["parts"]
    assert operand == ids["a"]
    assert value(data, visit["in"]) == pytest.approx([0.5] * 4)
    assert value(data, local) == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert value(data, out) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert [[number, value(data, place)] for number, place in data["walks"][0]["kept"]] == [
        [ids["a"], pytest.approx([0.1, 0.2, 0.3, 0.4])]
    ]


def test_one_root_is_walked_twice_and_the_second_is_refused():
    data = data_of(page_of("var x = 2; y = x*x", "y"))
    assert [walk.get("same") for walk in data["walks"]] == [None, 0]
    assert data["walks"][1]["freed"]["message"] == "y cannot be differentiated: part of its graph was freed"


def test_a_graph_that_was_freed_says_so_at_once():
    data = data_of(page_of("var x = 2; y = x*x\nbackward y", "y"))
    assert data["walks"][0]["refused"]["message"] == "y cannot be differentiated: part of its graph was freed"
    assert data["sliders"] == []
    assert data["reason"] == "x cannot be compiled: part of its graph was freed"


def test_drawing_a_page_changes_nothing():
    session = Session()
    session.run(TOY, lambda result: None)
    d = session.names["d"]
    before = dump(d, "d").json()
    dump(d, "d").page()
    assert dump(d, "d").json() == before
    d.backward()


@each("text", ["</script><b>", "<!--<script>", "]]>", "\u2028", "{{script}}", "&lt;", "\\u003c"])
def test_texts_of_a_user_stay_texts(text):
    x = leaf(2.0, text)
    page = dump(x * x, text).page()
    assert page.count("<script") == 3
    assert page.count("</script>") == 3
    assert data_of(page)["nodes"][0]["name"] == text
    assert data_of(page)["name"] == text


def test_a_page_asks_for_nothing():
    page = page_of(TOY, "d")
    assert "http" not in re.sub(r'http-equiv|"http://www.w3.org/2000/svg"', "", page)
    assert "default-src 'none'" in page


def test_the_page_of_200_nodes_has_less_than_250_kb():
    lines = ["var x = 0.5; var y = 2; s = x"]
    lines += [f"s = s*y + sin({'xy'[i % 2]})/{i + 1}" for i in range(49)]
    page = page_of("\n".join(lines), "s")
    data = data_of(page)
    assert len(data["nodes"]) >= 198
    assert len(data["sliders"]) == 2
    assert len(page.encode()) < 250_000


@each(
    "text, reason",
    [
        ("var x = arange(13.); y = sum(x)", "no leaf that requires grad has up to 12 entries"),
        (
            "var x = 2; y = gammainc(x, 2)",
            "the derivative of an incomplete gamma function by its shape cannot be written in JavaScript: "
            "no short algorithm for it is accurate",
        ),
    ],
)
def test_without_sliders_it_says_why(text, reason):
    data = data_of(page_of(text, "y"))
    assert (data["sliders"], data["reason"]) == ([], reason)


def test_a_guard_is_checked_as_it_is_read():
    data = data_of(page_of("var x = 2; var n = 3\ny = x\nif x > 1:\n    y = y*x", "y"))
    assert data["guards"] == [{"text": "x > 1 is true, line 3", "read": "truth", "size": 1}]
    assert data["numbers"][-1] == 1


def folded(data, box=None):
    """The labels of the boxes, with what is in them."""
    box = box or data["boxes"][-1]
    boxes = {one["id"]: one for one in data["boxes"]}
    inside = [joint for layer in box["layers"] for joint in layer if joint > 0]
    return {box["label"]: [folded(data, boxes[x]) if x in boxes else x for x in sorted(inside)]}


def test_a_call_of_a_function_is_one_box_and_so_is_a_statement():
    text = "var x = 2\ndef f(u):\n    p = u*u\n    return sin(p)\ny = f(x)\nz = f(y)\nw = z*2 + z/3 + 1"
    assert folded(data_of(page_of(text, "w"))) == {
        "": [1, {"f": [2, 3]}, {"f": [4, 5]}, {"line 7: w = …": [6, 7, 8, 9]}]
    }


def test_a_method_of_a_module_is_one_box():
    text = (
        "import torch.nn as nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = nn.Parameter(2)\n    def forward(self, x):\n        return self.w*x + self.w**2\n"
        "net = Net()\ny = net(3)\nz = y*y"
    )
    assert folded(data_of(page_of(text, "z"))) == {"": [1, 5, {"Net": [2, 3, 4]}]}


def test_a_large_graph_is_in_parts_of_at_most_100_boxes_and_every_node_is_in_one():
    data = data_of(page_of("var q = 1.5\ns = q\nfor i in range(400):\n    s = s*0.999\n    s = s + sin(q)*q", "s"))
    assert len(data["nodes"]) > 1600
    inside = [[x for layer in box["layers"] for x in layer if x > 0] for box in data["boxes"]]
    assert max(map(len, inside)) <= 101
    numbers = {node["id"] for node in data["nodes"]}
    assert sorted(x for box in inside for x in box if x in numbers) == sorted(numbers)
    assert data["flat"] is None


def test_too_many_nodes_are_refused():
    y = leaf(1.0, "x")
    for _ in range(20_001):
        y = y + 1
    refuses(dump(y, "y").page, "a page shows up to 20000 nodes, and this graph has 20002")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_its_code_computes_the_same_numbers():
    page = page_of("var x = 2; var y = 3\nz = sin(x*y)*exp(-x) + atan2(y, x)**2", "z")
    data = data_of(page)
    script = f"{code_of(page)}\nconsole.log(JSON.stringify([run(2, 3), run(0.5, -1)]))"
    here, there = json.loads(subprocess.run([NODE, "-e", script], capture_output=True, check=True, text=True).stdout)
    assert here == pytest.approx(data["numbers"], rel=1e-13, abs=1e-15)
    other = data_of(page_of("var x = 0.5; var y = -1\nz = sin(x*y)*exp(-x) + atan2(y, x)**2", "z"))
    assert there == pytest.approx(other["numbers"], rel=1e-13, abs=1e-15)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@each(
    "formula",
    [
        "sum(sort(v)*[1, 2, 3])",
        "max(v)",
        "cumsum(v)[1]*norm(v)",
        "sum(where(v > 2, v, v**2))",
        "median(v)",
        "erf(v[0])*gelu(v[1])",
    ],
)
def test_its_code_takes_the_entries_of_arrays(formula):
    page, other = (
        page_of(f"var x = {x}; var v = {v}; y = x*{formula}", "y") for x, v in ((2, [3, 1, 2]), (5, [0.5, 2, 0.7]))
    )
    script = f"{code_of(page)}\nconsole.log(JSON.stringify(run(5, 0.5, 2, 0.7)))"
    there = json.loads(subprocess.run([NODE, "-e", script], capture_output=True, check=True, text=True).stdout)
    assert there == pytest.approx(data_of(other)["numbers"], rel=1e-14)


def test_where_only_numbers_have_code_arrays_have_no_sliders():
    data = data_of(
        page_of("var x = 2; var v = [0.5, 1]; y = x*sum(gammainc(v, [2, 1])); z = x*sum(gammainc([2, 1], v))", "y", "z")
    )
    by_id = {node["id"]: node.get("name") for node in data["nodes"]}
    assert ([by_id[leaf] for leaf in data["sliders"]], data["reason"]) == (["x"], "")


def test_a_comparison_says_of_each_node_whether_the_other_graph_has_it():
    session = Session()
    session.run("var x = 2; var w = 3; f = sin(w*x) + w*x; g = cos(w*x) + w*x", lambda result: None)
    from agrad.engine.inspect.compare import Comparison
    from agrad.grammar.commands.graphs import shown

    made = Comparison([session.names["f"]], [session.names["g"]], (["f"], ["g"]))
    data = data_of(shown(made, "page", session.settings, session))
    changes = {node.get("text"): node["change"] for node in data["nodes"]}
    assert data["heading"].startswith("graph of f vs g: ")
    assert {changes["sin(w*x)"], changes["cos(w*x)"]} <= {"changed", "gone", "new"}
    assert changes["w*x"] == "same"
    assert len(data["roots"]) == 2


def test_a_stale_graph_shows_what_it_holds():
    data = data_of(page_of("var x = 2; y = x**2\nset x = 5", "y"))
    by_name = {node["name"]: value(data, node["value"]) for node in data["nodes"]}
    assert by_name == {"x": [5], "y": [4]}
    assert (data["sliders"], data["reason"]) == ([], "the graph is stale: forward computes it again")
    assert data["walks"][0]["refused"]["message"].startswith("y is stale: ")


def test_where_no_program_is_only_values_that_are_held_are_shown():
    x, w = leaf(2.0, "x"), leaf([1.0, 2.0], "w")
    with ag.no_grad():
        k = x * 2
    y = ((w + k) * 3).sum() * x
    data = data_of(dump(y, "y").page())
    assert data["sliders"] == []
    assert data["reason"].startswith("this cannot be compiled: ")
    shown = {node["op"]: value(data, node["value"]) if "value" in node else None for node in data["nodes"]}
    assert shown["Add"] is None  # nobody reads it
    assert shown["Sum"] == [33]
    assert [value(data, place) for _, place in data["walks"][0]["kept"]] == [[6, 6], [33]]
