"""The chain rule in numbers, path by path."""

import math
import random
import re

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.inspect.dump import dump
from agrad.engine.inspect.explain import explain


def leaf(value, name=None):
    x = ag.tensor(value, requires_grad=True)
    x.name = name
    return x


def named(name, value):
    value.name = name
    return value


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


def test_a_derivative_is_a_heading_and_a_line_per_path():
    a = leaf(2, "a")
    b = named("b", a * 2)
    assert explain(named("y", b * (a * a))).text().split("\n") == [
        "d(y)/d(a) = 24 at a = 2",
        "  8  = 4 * 2  %4 y (by b: 4) <- %2 b (by a: 2)",
        "  8  = 4 * 2  %4 y (by %3: 4) <- %3 Mul (by a: 2)",
        "  8  = 4 * 2  %4 y (by %3: 4) <- %3 Mul (by a: 2)",
        "  3 paths: 8 + 8 + 8",
    ]


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
    for node in sorted((n for n in _behind(y) if n.op), key=lambda n: n.seq):
        operands = [values.get(u, getattr(u, "value", u)) for u in node.inputs]
        values[node] = node.op.call(*operands, **(node.attrs or {}))
    other = only(values[y.node], x2, limit=100_000)
    got = sorted(float(number[0]) for number in contributions(other))
    assert got == pytest.approx(sorted(number for number in contributions(found) if number), rel=1e-12)


def _behind(y):
    from agrad.engine.core.graph import collect

    return collect([y.node])


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


def test_cancellation_is_pointed_out():
    a = leaf(3, "a")
    text = explain(named("y", a * 1e6 - a * 999997)).text()
    assert "the paths add up to 2000000 in size and cancel to 3: about 6 digits are lost" in text
    assert "cancel to 0: rounding alone may leave 4.4e-16" in explain(a - a).text(width=100)
    assert "cancel" not in explain(a * 3 - a * 2).text()


def test_a_path_that_is_not_selected_is_counted_only():
    x, y = leaf(0, "x"), leaf(4, "y")
    text = explain(named("z", ag.where(x.data > 0, ag.log(x), y))).text()
    assert text.split("\n") == [
        "d(z)/d(x) = 0 at x = 0",
        "  1 path not shown contributes exactly 0: not selected",
        "d(z)/d(y) = 1 at y = 4",
        "  1  %4 z (by y: 1)",
    ]


def test_infinite_and_undefined_paths_come_first():
    x = leaf(0, "x")
    found = only(ag.sqrt(x) + 2 * x + ag.sqrt(x) * x)
    assert contributions(found)[0] == math.inf
    assert math.isnan(only(ag.sqrt(x) ** 2).paths[0].contribution)


def test_a_path_among_arrays_contributes_the_cotangent_sent_down_it():
    x = leaf([1, 2, 3], "x")
    y = named("y", (x * x).sum() + x[1] * 10 + x.mean() * 3)
    assert explain(y).text().split("\n") == [
        "d(y)/d(x) = [3, 15, 7] at x = [1, 2, 3]",
        "  [0, 10, 0]  sum 10",
        "    y (1) <- %6 (1) <- %5 (10) <- %4 ([0, 1, 0]) <- x",
        "  [1, 2, 3]  sum 6",
        "    y (1) <- %6 (1) <- %3 (1 each) <- %2 ([1, 2, 3]) <- x",
        "  [1, 2, 3]  sum 6",
        "    y (1) <- %6 (1) <- %3 (1 each) <- %2 ([1, 2, 3]) <- x",
        "  [1, 1, 1]  sum 3",
        "    y (1) <- %8 (3) <- %7 (0.3333333333 each) <- x",
        "  4 paths",
        "  %9  y",
        "  %8  Mul",
        "  %7  Mean",
        "  %6  Add",
        "  %5  Mul",
        "  %4  Index",
        "  %3  Sum",
        "  %2  Mul",
    ]


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


def test_what_is_asked_for_may_be_computed_too():
    a = leaf(2, "a")
    b = named("b", a * a)
    y = b * a
    assert [derivative.gradient for derivative in explain(y, [b, a, b]).derivatives] == [2, 12]
    assert only(y, b).count == 1


def test_the_value_itself_and_a_vanishing_derivative():
    a = leaf(2, "a")
    assert explain(a).text() == "d(a)/d(a) = 1 at a = 2\n  1  the value itself"
    slope = ag.grad(3 * a, a, create_graph=True)
    assert "no path connects them" in explain(slope, [a]).text()


def test_of_many_leaves_the_first_are_explained():
    leaves = [leaf(i, f"x{i}") for i in range(30)]
    assert explain(sum(leaves)).text().endswith("… and by 10 more")


def test_it_changes_nothing():
    a = leaf([1.0, 2.0])
    y = (a * a).sum()
    explain(y)
    assert a.grad is None
    y.backward()
    assert a.grad.tolist() == [2, 4]


def test_it_refuses_what_grad_refuses():
    a, other = leaf([1.0, 2.0], "a"), leaf(3, "other")
    y = (a * a).sum()
    cases = [(a * a, None, "shape"), (ag.tensor(3), None, "grad"), (y, [other], "grad")]
    for root, wrt, kind in cases:
        with pytest.raises(ag.AgradError) as caught:
            explain(root, wrt)
        assert caught.value.kind == kind
    stale = (other * other) * 2
    other.set_(4)
    y.backward()
    for root, kind in ((y, "freed"), (stale, "stale")):
        with pytest.raises(ag.AgradError) as caught:
            explain(root)
        assert caught.value.kind == kind


def test_an_array_behind_another_leaf_takes_no_factors_from_a_path():
    x, y, w = (ag.tensor(start, requires_grad=True) for start in (2.0, 3.0, [1.0, 2.0]))
    z = x**3 * y + (w * ag.tensor([3.0, 4.0])).sum() + (w * y).mean()
    found = explain(z).derivatives
    for leaf, derivative in zip((x, y, w), found, strict=True):
        alone = explain(z, [leaf]).derivatives[0]
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
