"""Two graphs as one: what a comparison says of them."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from refused import leaf
from rows import each

import agrad.engine as ag
from agrad.engine.inspect.compare import Comparison
from agrad.engine.inspect.dump import dump
from agrad.grammar.commands.graphs import FORMS


def compared(first, second, **options):
    return Comparison([first], [second], (["f"], ["g"]), **options)


def changes(first, second):
    """What each node of a comparison is, by the text that it has in the second graph, or in the only one."""
    return {row.name or row.text: row.change for row in compared(first, second).rows}


def models():
    a, b, c, x = (leaf(value, name) for value, name in ((1, "a"), (2, "b"), (3, "c"), (0.5, "x")))
    return a * x**2 + b * x + c, b * x + c


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


def test_crosswise_there_is_no_circle():
    x = leaf(0.5, "x")
    inner, outer = x.sin(), x.sin().cos()
    inner.name, outer.name = "p", "q"
    other_inner = x.cos()
    other_outer = other_inner.sin()
    other_inner.name, other_outer.name = "q", "p"
    rows = list(compared(outer, other_outer).rows)
    assert all(number < row.number for row in rows for number in row.behind)


@each("form", [form for form in FORMS if form not in ("program", "page")])
def test_every_form_shows_what_differs(form):
    drawn = getattr(compared(*models()), form)(10).replace("#126;", "~").replace("#37;", "%")
    if form == "json":
        return
    for sign, number in (("-", 5), ("-", 8), ("~", 9)):
        assert f"{sign} %{number}" in drawn or (form == "boxes" and drawn.count(f"{sign} ") >= 1)
    assert "+ %" not in drawn


def test_lines_of_a_picture_are_in_the_colour_of_what_differs():
    svg = compared(*models()).svg()
    assert (svg.count('path class="gone"'), svg.count('path class="new"')) == (6, 1)
    assert (svg.count('rect class="gone"'), svg.count('rect class="changed"')) == (4, 1)
    assert "rect.gone { fill: #ffdcd7;" in svg


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
