"""The graph behind several values, drawn as one."""

import json

import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.engine.inspect.dump import FORMATS, dump


def two():
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    a.name = "a"
    c = a**2 * 2
    return a, c, c.mean(), c.sum()


def test_a_shared_part_is_listed_once():
    _, _, d, e = two()
    assert dump([d, e], ["d", "e"]).text().split("\n") == [
        "graph of d, e: 5 nodes, 1 leaf, held",
        "  %1  a           leaf  (2)  requires grad   grad none",
        "  %2  Pow(%1, 2)  Pow   (2)  saves %1",
        "  %3  Mul(%2, 2)  Mul   (2)",
        "  %4  Mean(%3)    Mean  ()   = 5",
        "  %5  Sum(%3)     Sum   ()   = 10",
    ]


def test_a_tree_for_each():
    _, _, d, e = two()
    assert dump([e, d], ["e", "d"]).tree().split("\n") == [
        "graph of e, d: 5 nodes, 1 leaf, held",
        "  %5  Sum(%3)           Sum   ()   = 10",
        "  └─ %3  Mul(%2, 2)     Mul   (2)",
        "     └─ %2  Pow(%1, 2)  Pow   (2)  saves %1",
        "        └─ %1  a        leaf  (2)  requires grad   grad none",
        "",
        "  %4  Mean(%3)   Mean  ()  = 5",
        "  └─ %3 (above)",
    ]


def test_one_is_computed_from_another():
    _, c, d, _ = two()
    found = dump([d, c], ["d", "c"])
    assert found.tree().count("%3 (below)") == 1
    assert json.loads(found.json())["roots"] == [4, 3]


@each("form", FORMATS)
def test_every_form_has_all_of_them(form):
    if form in ("svg", "tikz"):
        pytest.importorskip("fast_sugiyama")
    _, _, d, e = two()
    drawn = FORMATS[form](dump([d, e], ["d", "e"]), 10).lower()
    assert "mean" in drawn and "sum" in drawn
    assert drawn.count("pow") == FORMATS[form](dump(d, "d"), 10).lower().count("pow")


def test_parts():
    a, c, d, e = two()
    assert [row.number for row in dump([d, e], depth=1).rows] == [3, 4, 5]
    assert [row.number for row in dump([d, e], since=[c]).rows] == [3, 4, 5]
    other = ag.tensor(3.0, requires_grad=True)
    other.name = "z"
    with pytest.raises(AgradError, match="were not computed from z: no path of the graph connects them"):
        dump([d, e], since=[other])
    assert [row.number for row in dump([d, other * 2], since=[other]).rows] == [5, 6]
    assert a.grad is None


@each("form", [form for form in FORMATS if form not in ("svg", "tikz")])
def test_large_graphs_with_a_root_that_is_not_shown(form):
    x = y = ag.tensor(1.0, requires_grad=True)
    middle = None
    for number in range(400):
        y = y + 1
        middle = y if number == 100 else middle
    drawn = FORMATS[form](dump([middle, y], ["m", "y"]), 10)
    assert "m, y" in drawn or form == "program"
    assert x.grad is None
