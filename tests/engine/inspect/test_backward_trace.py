"""The table of a backward walk."""

import re

from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.graph import collect
from agrad.engine.inspect.backward_trace import LIMIT, BackwardTrace


def leaf(value, name=None):
    x = ag.tensor(value, requires_grad=True)
    x.name = name
    return x


def traced(y, **options):
    trace = BackwardTrace()
    walk(collect([y.node]), {y.node: 1.0}, watch=trace, **{"create_graph": False, **options})
    return trace


@each("width", [40, 80, 200])
def test_a_walk_fits_the_width_and_breaks_no_number(width):
    x, w = leaf(2.0, "a_rather_long_name_of_a_leaf"), leaf([1.0, 2.0, 3.0], "w")
    y = (x * w).sum() * ag.sin(x) ** 2 + x * 3
    trace = traced(y)
    lines = trace.text(width=width).split("\n")
    assert max(map(len, lines)) <= width
    wide = trace.text(width=1000)
    for number in re.findall(r"-?\d+\.\d+", wide):
        assert any(number in line for line in lines)
    assert [*dict.fromkeys(re.findall(r"^%\d+", "\n".join(lines), re.M))] == [
        *dict.fromkeys(re.findall(r"^%\d+", wide, re.M))
    ]


def test_what_it_says_is_what_backward_adds():
    for value in ([1.5, -2.0, 0.5], 1.5):
        x = leaf(value, "x")
        y = (ag.exp(x) * x + ag.maximum(x, 1.0) / 3).sum()
        trace = traced(y)
        y.backward()
        assert trace.text(None).split("\n")[-1] == f"x.grad += {x.grad.tolist()}"


def test_a_walk_that_builds_a_graph_is_traced_alike():
    x = leaf([1, 2, 3], "x")
    y = (x[0] * x).sum() + ag.where(x.data > 1, x, 0.0).sum()
    assert traced(y, create_graph=True).text() == traced(y).text()


def test_a_long_walk_stops_at_the_limit_and_counts_the_rest():
    y = leaf(3, "x")
    for _ in range(1000):
        y = -y
    lines = traced(y).text().split("\n")
    assert len(lines) == 1 + LIMIT + 1
    assert lines[-2:] == ["… 801 more contributions", "x.grad += 1"]


def test_many_leaves_stop_at_the_limit_too():
    lines = traced(ag.stack([leaf(1) for _ in range(500)]).sum()).text(width=100).split("\n")
    assert lines[-1] == "… 400 more gradients"
    assert len(lines) == 1 + LIMIT + 2
