"""Two graphs as one: what a comparison says of them."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.engine.inspect.compare import compare
from agrad.engine.inspect.dump import FORMATS, dump


def leaf(value, name):
    made = ag.tensor(value, requires_grad=True)
    made.name = name
    return made


def compared(first, second, **options):
    return compare([first], [second], (["f"], ["g"]), **options)


def changes(first, second):
    """What each node of a comparison is, by the text that it has in the second graph, or in the only one."""
    return {row.name or row.text: row.change for row in compared(first, second).rows}


def models():
    a, b, c, x = (leaf(value, name) for value, name in ((1, "a"), (2, "b"), (3, "c"), (0.5, "x")))
    return a * x**2 + b * x + c, b * x + c


def test_two_models():
    assert compared(*models()).text().split("\n") == [
        "graph of f vs g: 4 nodes the same, 1 changed (~), 4 only in f (-)",
        "    %1  b            leaf  ()  = 2   requires grad",
        "    %2  c            leaf  ()  = 3   requires grad",
        "    %3  x            leaf  ()  = 0.5   requires grad",
        "    %4  Mul(%1, %3)  Mul   ()  = 1",
        "  - %5  a            leaf  ()  = 1   requires grad",
        "  - %6  Pow(%3, 2)   Pow   ()  = 0.25",
        "  - %7  Mul(%5, %6)  Mul   ()  = 0.25",
        "  - %8  Add(%7, %4)  Add   ()  = 1.25",
        "  ~ %9  Add(%4, %2)  Add   ()  = 4, was 4.25   was Add(%8, %2)",
    ]


def test_a_change_inside_a_formula_is_the_only_one():
    before = (leaf(0.5, "x").sin() ** 2).exp() * 2
    after = (leaf(0.7, "x").cos() ** 2).exp() * 2
    found = [(row.title, row.change) for row in compared(before, after).rows]
    assert found == [
        ("leaf", "same"),
        ("Cos", "new"),
        ("Sin", "gone"),
        ("Pow", "changed"),
        ("Exp", "same"),
        ("Mul", "same"),
    ]
    assert "= 0.7, was 0.5" in compared(before, after).text()


def test_another_constant_is_a_change():
    x = leaf(2, "x")
    assert [row.change for row in compared(x**2, x**3).rows] == ["same", "changed"]
    assert [row.change for row in compared(x**2, x**2).rows] == ["same", "same"]


def test_another_attribute_is_a_change():
    x = leaf([[1, 2], [3, 4]], "x")
    assert [row.change for row in compared(ag.sum(x, axis=0), ag.sum(x, axis=1)).rows] == ["same", "changed"]


def test_operands_that_may_be_exchanged_are_the_same():
    x, y = leaf(2, "x"), leaf(3, "y")
    assert set(changes(x * y, y * x).values()) == {"same"}
    assert "changed" in changes(x - y, y - x).values()


def test_leaves_are_the_same_by_name_and_others_by_value():
    assert changes(leaf(2, "x") * 2, leaf(3, "x") * 2)["x"] == "same"
    assert [row.change for row in compared(leaf(2, "x") * 2, leaf(2, "y") * 2).rows] == ["new", "gone", "changed"]
    assert [row.change for row in compared(leaf([1, 2], "w") * 2, leaf([1, 2, 3], "w") * 2).rows] == ["changed"] * 2
    x = leaf([1.0, 2.0], "x")
    same, other = ag.tensor([5.0, 6.0]), ag.tensor([5.0, 7.0])
    assert [row.change for row in compared(x * ag.tensor([5.0, 6.0]), x * same).rows] == ["same"] * 3
    assert sorted(row.change for row in compared(x * same, x * other).rows) == ["changed", "same", "same"]


def test_two_leaves_of_one_name():
    old, new = leaf(2, "x"), leaf(3, "x")
    assert Counter(changes(old * new, old * new).values()) == {"same": 2}  # both leaves are called x
    assert [row.change for row in compared(new * 2, old * new * 2).rows].count("same") >= 1
    assert len(list(compared(new * 2, old * new * 2).rows)) == 4


def test_a_longer_loop():
    def steps(count):
        h = w = leaf(0.5, "w")
        for _ in range(count):
            h = (w * h).tanh()
        return h

    assert Counter(row.change for row in compared(steps(3), steps(5)).rows) == {"same": 7, "new": 4}


def test_crosswise_there_is_no_circle():
    x = leaf(0.5, "x")
    inner, outer = x.sin(), x.sin().cos()
    inner.name, outer.name = "p", "q"
    other_inner = x.cos()
    other_outer = other_inner.sin()
    other_inner.name, other_outer.name = "q", "p"
    rows = list(compared(outer, other_outer).rows)
    assert all(number < row.number for row in rows for number in row.behind)


def test_json_has_both():
    made = json.loads(compared(*models()).json())
    assert [node["change"] for node in made["nodes"]] == ["same"] * 4 + ["gone"] * 4 + ["changed"]
    assert made["nodes"][-1]["before"] == {
        "name": None,
        "text": "Add(%8, %2)",
        "where": None,
        "operands": [{"node": 8}, {"node": 2}],
        "value": 4.25,
    }
    assert made["nodes"][4]["before"] is None
    assert "change" not in json.loads(dump(models()[0], "f").json())["nodes"][0]


@each("form", [form for form in FORMATS if form not in ("program", "page")])
def test_every_form_shows_what_differs(form):
    if form in ("svg", "tikz"):
        pytest.importorskip("fast_sugiyama")
    drawn = FORMATS[form](compared(*models()), 10).replace("{-}", "-").replace(r"\textasciitilde{}", "~")
    drawn = drawn.replace("#126;", "~").replace("#37;", "%").replace("\\%", "%")
    if form == "json":
        return
    for sign, number in (("-", 5), ("-", 8), ("~", 9)):
        assert f"{sign} %{number}" in drawn or (form == "boxes" and drawn.count(f"{sign} ") >= 1)
    assert "+ %" not in drawn


def test_lines_of_a_picture_are_in_the_colour_of_what_differs():
    pytest.importorskip("fast_sugiyama")
    svg = compared(*models()).svg()
    assert (svg.count('path class="gone"'), svg.count('path class="new"')) == (6, 1)
    assert (svg.count('rect class="gone"'), svg.count('rect class="changed"')) == (4, 1)
    assert "rect.gone { fill: #ffdcd7 }" in svg


def test_a_comparison_is_no_program():
    with pytest.raises(AgradError) as caught:
        FORMATS["program"](compared(*models()), 10)
    assert caught.value.message == "a comparison of two graphs is not shown as program"
    assert caught.value.fixes == ["graph f vs g", "graph f as program"]


def test_a_part():
    first, second = models()
    assert [row.number for row in compared(first, second, depth=1).rows] == [2, 4, 8, 9]
    assert "… 5 nodes left out" in compared(first, second, depth=1).text()


def test_of_large_graphs_what_differs_is_shown():
    def chain(power):
        y = x = leaf(1.0, "x")
        for number in range(3000):
            y = y * 1.0001 + (x**power if number == 1500 else x)
        return y

    text = compared(chain(2), chain(3)).text()
    assert text.startswith("graph of f vs g: 6001 nodes the same, 1 changed (~)\n")
    assert "was Pow(%1, 2)" in text
    assert text.count("\n") < 10


def test_freed_graphs_are_compared():
    first, second = models()
    first.backward()
    assert compared(first, second).text().startswith("graph of f vs g: 4 nodes the same, 1 changed (~), 4 only in f")


steps = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


def built(chosen, leaves):
    values = list(leaves)
    for kind, one, other in chosen:
        x, y = values[-1 - one % len(values)], values[-1 - other % len(values)]
        values.append((x * y, x + y, x - y, x.sin(), x * 2)[kind])
    return values[-1]


def count(value):
    return len(list(dump(value).rows))


@given(steps, steps, st.booleans())
def test_each_node_of_both_is_counted_once(one, other, shared):
    leaves = [leaf(1.0, "x"), leaf(2.0, "y")]
    first = built(one, leaves)
    second = built(other, leaves if shared else [leaf(1.0, "x"), leaf(2.0, "y")])
    found = Counter(row.change for row in compared(first, second).rows)
    assert found["same"] + found["changed"] + found["gone"] == count(first)
    assert found["same"] + found["changed"] + found["new"] == count(second)
    rows = list(compared(first, second).rows)
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert all(number < row.number for row in rows for number in row.behind)


@given(steps)
def test_a_graph_built_twice_is_the_same(chosen):
    first, second = (built(chosen, [leaf(1.0, "x"), leaf(2.0, "y")]) for _ in range(2))
    assert {row.change for row in compared(first, second).rows} == {"same"}
    assert compared(first, second).text().startswith(f"graph of f vs g: all {count(first)} node")
