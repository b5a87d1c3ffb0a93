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


def named(name, value):
    value.name = name
    return value


def traced(y, **options):
    trace = BackwardTrace()
    walk(collect([y.node]), {y.node: 1.0}, watch=trace, **{"create_graph": False, **options})
    return trace


def rows(y):
    return [line.split() for line in traced(y).text().split("\n")[1:]]


def test_a_walk_is_a_table_and_what_was_added_to_each_leaf():
    a = leaf([0.1, 0.2, 0.3, 0.4], "a")
    c = named("c", named("b", a**2) * 2)
    trace = traced(named("d", c.mean()))
    assert trace.text(width=100).split("\n") == [
        "node  operation  gradient                  operand  derivative            contribution",
        "%4 d  Mean       1                         c        0.25 each             [0.25, 0.25, 0.25, 0.25]",
        "%3 c  Mul        [0.25, 0.25, 0.25, 0.25]  b        2 each                [0.5, 0.5, 0.5, 0.5]",
        "%2 b  Pow        [0.5, 0.5, 0.5, 0.5]      a        [0.2, 0.4, 0.6, 0.8]  [0.1, 0.2, 0.3, 0.4]",
        "a.grad += [0.1, 0.2, 0.3, 0.4]",
    ]
    assert trace.text().split("\n") == [
        "%4 d",
        "  Mean, gradient 1",
        "  c += [0.25, 0.25, 0.25, 0.25], derivative 0.25 each",
        "%3 c",
        "  Mul, gradient [0.25, 0.25, 0.25, 0.25]",
        "  b += [0.5, 0.5, 0.5, 0.5], derivative 2 each",
        "%2 b",
        "  Pow, gradient [0.5, 0.5, 0.5, 0.5]",
        "  a += [0.1, 0.2, 0.3, 0.4], derivative [0.2, 0.4, 0.6, 0.8]",
        "a.grad += [0.1, 0.2, 0.3, 0.4]",
    ]


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


def test_each_operand_has_a_line_and_the_node_is_said_once():
    x, y = leaf(3, "x"), leaf(4, "y")
    assert rows(named("z", x * y)) == [
        ["%3", "z", "Mul", "1", "x", "4", "4"],
        ["y", "3", "3"],
        ["x.grad", "+=", "4"],
        ["y.grad", "+=", "3"],
    ]


def test_a_branch_that_is_not_selected_says_so_and_its_leaf_gets_0():
    x, y = leaf(0, "x"), leaf(4, "y")
    lines = traced(ag.where(x.data > 0, named("u", ag.log(x)), y)).text().split("\n")
    assert lines[1].endswith("u                    not selected: exactly 0")
    assert lines[-2:] == ["x.grad += 0", "y.grad += 1"]


def test_broadcasting_is_summed_out_in_the_contribution():
    x = leaf(2, "x")
    y = named("y", x * [1, 2, 3])
    assert traced(y.sum()).text().split("\n")[2:] == [
        "%2 y    Mul        [1, 1, 1]  x        [1, 2, 3]   6",
        "x.grad += 6",
    ]


def test_entries_taken_one_by_one_add_up():
    x = leaf([1, 2, 3], "x")
    text = traced(x[0] * x[2] + x[0]).text()
    assert text.count("[1, 0, 0]") == 3
    assert text.endswith("x.grad += [4, 0, 1]")


def test_a_long_array_is_shown_by_its_ends_and_its_shape():
    x = leaf(range(100), "x")
    text = traced((x * x).sum()).text()
    assert text.endswith("x.grad += [0, …, 198], shape (100)")
    assert "1 each, shape (100)" in text


def test_a_retained_gradient_is_shown_too():
    a = leaf(3, "a")
    b = named("b", a * a)
    b.retain_grad()
    assert traced(b * 5).text().split("\n")[-2:] == ["a.grad += 30", "b.grad += 5   retained"]


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


def test_fresh_gradients_replace():
    trace = BackwardTrace(fresh=True)
    x = leaf(3, "x")
    y = x * x
    walk(collect([y.node]), {y.node: 1.0}, False, watch=trace)
    assert trace.text().endswith("x.grad = 6")


def test_a_leaf_has_nothing_to_walk():
    assert traced(leaf(3)).text() == "there is no operation: the value is a leaf, and the seed is its gradient"
