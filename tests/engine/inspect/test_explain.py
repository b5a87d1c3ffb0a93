"""The chain rule in numbers, path by path, and the table of a backward walk."""

import math
import random
import re

import numpy as np
import pytest
from refused import leaf
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.graph import collect
from agrad.engine.inspect.backward_trace import LIMIT, BackwardTrace
from agrad.engine.inspect.dump import dump
from agrad.engine.inspect.explain import explain


def only(y, *wrt, **options):
    (derivative,) = explain(y, wrt, **options).derivatives
    return derivative


def contributions(derivative):
    return [path.contribution for path in derivative.paths]


def tangle(seed, size=12):
    """A value computed from one leaf, every step from any of those before."""
    draw = random.Random(seed)
    values = [leaf(draw.uniform(0.5, 1.5), "x")]
    steps = [
        lambda u, v: u * v,
        lambda u, v: u + v,
        lambda u, v: u - v * 0.5,
        lambda u, v: ag.sin(u),
        lambda u, v: u / (v * v + 1),
        lambda u, v: ag.where(u.data > 1, u, v),
    ]
    for _ in range(size):
        values.append(draw.choice(steps)(values[-1], draw.choice(values)))
    return values[0], values[-1] * 1.0


@each("seed", range(40))
def test_the_paths_add_up_to_the_gradient(seed):
    x, y = tangle(seed)
    found = only(y, x, limit=100_000)
    assert found.others == 0
    assert math.fsum(contributions(found)) == pytest.approx(ag.grad(y, x).item(), rel=1e-12, abs=1e-12)
    assert math.fsum(map(abs, contributions(found))) == pytest.approx(found.size, rel=1e-12)


@each("seed", range(40))
def test_a_few_paths_are_the_largest_of_all_and_the_rest_is_what_is_left(seed):
    x, y = tangle(seed)
    every, few = only(y, x, limit=100_000), only(y, x, limit=5)
    sizes = [abs(number) for number in contributions(every)]
    assert sizes == sorted(sizes, reverse=True)
    assert [abs(number) for number in contributions(few)] == pytest.approx(sizes[:5], rel=1e-12)
    assert few.count == every.count
    assert few.remainder == pytest.approx(math.fsum(contributions(every)[5:]), rel=1e-9, abs=1e-12)


@each("seed", range(10))
def test_arrays_give_the_paths_that_numbers_give(seed):
    x, y = tangle(seed)
    found = only(y, x, limit=100_000)
    x2 = leaf([x.item()])
    values = {x.node: x2}
    for node in sorted((n for n in collect([y.node]) if n.op), key=lambda n: n.seq):
        operands = [values.get(u, getattr(u, "value", u)) for u in node.inputs]
        values[node] = node.op.call(*operands, **(node.attrs or {}))
    other = only(values[y.node], x2, limit=100_000)
    got = sorted(float(number[0]) for number in contributions(other))
    assert got == pytest.approx(sorted(number for number in contributions(found) if number), rel=1e-12)


def test_of_many_paths_all_are_counted_and_few_shown():
    y = leaf(1, "x")
    for _ in range(20):
        y = y + y
    found = only(y, limit=3)
    assert found.count == 2**20
    assert "3 of 1,048,576 paths shown; the others add up to 1048573" in explain(y, limit=3).text()


def test_a_number_of_paths_too_long_to_write_is_rounded():
    y = leaf(1, "x")
    for _ in range(2000):
        y = (y + y) * 0.5
    assert only(y).count == 2**2000
    assert "20 of about 1e602 paths shown" in explain(y).text()


def test_paths_among_arrays_add_up_and_those_behind_a_condition_give_0():
    x, w = leaf([-1.0, 0.0, 2.0], "x"), leaf([[1.0, 2.0, 3.0]] * 2, "w")
    y = (w @ ag.where(x.data > 0, ag.log(x) * x, ag.relu(-x))).sum() + ag.where(x.data > 9, x, 0.0).sum()
    for by in (x, w):
        found = only(y, by)
        assert np.allclose(sum(contributions(found)), ag.grad(y, by).value, rtol=1e-12, atol=0)
    assert (only(y, x).count, only(y, x).unselected) == (4, 1)
    assert "1 path not shown contributes exactly 0" in explain(y).text()


def test_among_arrays_the_search_ends_and_says_so():
    y = leaf([1.0, 2.0], "x")
    for _ in range(40):
        y = (y + y) * 0.5
    found = only(y.sum())
    assert found.count == 2**40
    assert 0 < found.followed < 20_000
    assert re.search(
        r"20 of 1,099,511,627,776 paths shown, the largest of [\d,]+ paths that were followed",
        explain(y.sum()).text(width=200),
    )


@pytest.mark.long
def test_a_long_chain_is_shown_by_its_ends():
    for x in (leaf(3, "x"), leaf([3.0, 4.0], "x")):
        y = x
        for _ in range(100_000):
            y = -y
        text = explain(y.sum()).text(width=500)
        assert "more steps … <- %3 Neg (by %2: -1" in text
        assert len(text) < 500


def test_of_many_leaves_the_first_are_explained():
    leaves = [leaf(i, f"x{i}") for i in range(30)]
    assert explain(sum(leaves)).text().endswith("… and by 10 more")


def test_an_array_behind_another_leaf_takes_no_factors_from_a_path():
    x, y, w = (ag.tensor(start, requires_grad=True) for start in (2.0, 3.0, [1.0, 2.0]))
    z = x**3 * y + (w * ag.tensor([3.0, 4.0])).sum() + (w * y).mean()
    found = explain(z).derivatives
    for one, derivative in zip((x, y, w), found, strict=True):
        alone = explain(z, [one]).derivatives[0]
        assert derivative.columns(10) == alone.columns(10)
    ((by_x,), by_y, _) = (derivative.paths for derivative in found)
    assert by_x.contribution == 36 and math.prod(step.local for step in by_x.head) == 36
    assert [[np.ravel(step.local).tolist() for step in path.head] for path in by_y] == [
        [[1.0], [1.0], [8.0]],
        [[1.0], [0.5, 0.5], [1.0, 2.0]],  # among arrays
    ]


@each("width", [40, 80])
def test_a_chain_that_is_too_wide_names_its_steps_and_lists_them(width):
    x = leaf(2.0, "x")
    y = ag.exp(ag.sin(ag.exp(ag.cos(x * 0.1)))) * 1.1
    lines = explain(y).text(width=width).split("\n")
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("d(Mul)/d(x) = ")
    assert "%7 <- %6 <- %5 <- %4 <- %3 <- %2 <- x" in " ".join(" ".join(lines).split())
    assert lines[-6:] == ["  %7  Mul", "  %6  Exp", "  %5  Sin", "  %4  Exp", "  %3  Cos", "  %2  Mul"]
    numbers = [f"{step.local:.10g}" for step in only(y).paths[0].head]
    assert all(number in " ".join(lines) for number in numbers)  # each whole, on one line


def test_the_numbers_of_nodes_are_those_of_the_dump():
    x, w = leaf(2.0, "x"), leaf([1.0, 2.0], "w")
    y = ag.exp((w * x).sum()) * ag.sin(x)
    listed = dump(y).text()
    named = re.findall(r"^  (%\d+) +(\w+)$", explain(y).text(width=40), re.M)
    assert len(named) == 5
    for number, title in named:
        assert re.search(rf"^ +{number} .*\b{title}\b", listed, re.M)


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


def test_a_prompt_of_python_shows_the_lines():
    x = leaf([1.0, 2.0])
    found = explain((x**2).sum())
    assert repr(found) == str(found) == found.text()
    assert repr(found).startswith("d(Sum)/d(leaf) = [2, 4] at leaf = [1, 2]\n")
