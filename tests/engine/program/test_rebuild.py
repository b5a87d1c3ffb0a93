"""A replay of a freed graph: it is as if it had been kept, unless a constant is gone."""

import numpy as np
import pytest
from refused import leaf, lines, named, refusal, refuses
from replays import Built, same_bits
from rows import each
from samples import function_of, samples

import agrad.engine as ag


@each("entry, sample", samples(), short=5)
def test_every_operation(entry, sample):
    function, xs = function_of(entry, sample)
    try:
        built = Built(function, xs)
    except ag.AgradError as problem:
        if problem.fixes != ['pip install "agrad[science]"']:
            raise
        pytest.skip("SciPy is not installed")
    if built.number is None or not built.number.requires_grad:
        return
    for scale in (1.0, 1.01):
        data = [np.array(x) * scale for x in xs]
        built.number.backward(fresh=True)
        try:
            built.run_again(data)
        except ag.AgradError as problem:
            gone = problem.kind == "freed" and "was freed with its graph" in problem.message
            assert gone or problem.kind == "guard", problem
            return
        expected = Built(function, data).everything()
        for found, one in zip(built.everything(), expected, strict=True):
            assert same_bits(found, one)


def placeholder():
    a = leaf([[1.0, 2.0], [3.0, 4.0]], "a")
    return a, named("y", (a**2 * ag.exp(-a)).sum())


def test_a_placeholder_loop_without_retain():
    a, y = placeholder()
    for number in range(10):
        a.set_(np.array([[1.0, -2.0], [0.5, 3.0]]) * number / 4)
        a.clear_grad()
        y.forward()
        y.backward()
        x = np.array(a.data)
        np.testing.assert_allclose(a.grad.data, (2 * x - x**2) * np.exp(-x), rtol=1e-12, atol=1e-12)


def test_without_new_data_it_is_walked_again():
    a, y = placeholder()
    y.backward()
    first = np.array(a.grad.data)
    y.forward()
    y.backward()
    np.testing.assert_array_equal(a.grad.data, 2 * first)


def test_what_shares_a_part_is_not_stale():
    a = leaf([1.0, 2.0], "a")
    b = a * a
    d, e = b.sum(), (b * 2).sum()
    d.backward()
    d.forward()
    e.backward()
    assert a.grad.tolist() == [6, 12]
    e.forward()
    d.backward()
    assert a.grad.tolist() == [8, 16]


def test_a_constant_that_is_still_there():
    a, k = leaf([1.0, 2.0], "a"), named("k", ag.tensor([3.0, 4.0]))
    y = (k * a).sum()
    y.backward()
    k.set_([5.0, 6.0])
    y.forward()
    assert y.item() == 17
    y.backward()
    assert a.grad.tolist() == [8, 10]


GONE = {
    "k": lambda a: named("k", ag.tensor([3.0, 4.0])) * a,
    "a constant of shape (2)": lambda a: np.array([3.0, 4.0]) * a,
    "an index with arrays in it": lambda a: a[np.array([1, 0, 1])],
}


@each("what", GONE)
def test_a_constant_that_is_gone_is_named_and_nothing_changes(what):
    a = leaf([1.0, 2.0], "a")
    b = named("b", a * a)
    c = named("c", GONE[what](b))
    y = named("y", c.sum())
    y.backward()
    a.set_([3.0, 4.0])
    for verb in (y.forward, y.forward):
        assert refusal(verb) == lines(
            f"freed: y cannot be replayed: {what} was freed with its graph",
            f"{c.node.title}Backward (c): {what} is gone",
            "freed by an earlier backward of y",
            "note: a freed graph keeps its leaves and numbers, but an array only while something else refers to it",
            "fix: keep the graph with retain_graph=True at that backward, or compute the value again",
        )
    assert b.tolist() == [1, 4]
    refuses(lambda: b.backward(ag.ones(2)), "part of its graph was freed")


def test_a_guard_that_changes_leaves_the_graph_freed():
    x = leaf(2.0, "x")
    s = x * x
    y = named("y", s * 3 if s > 1 else s)
    y.backward()
    x.set_(0.5)
    assert "cannot be replayed" in refusal(y.forward)
    assert (y.item(), x.grad.item()) == (12, 12)
    assert "part of its graph was freed" in refusal(y.backward)
    x.set_(3)
    y.forward()
    assert y.item() == 27


def test_numbers():
    x = leaf(2.0, "x")
    y = ag.sin(x) * x * 2
    for value in (1.0, 2.0, 3.0) * 40:  # also where a program computes the replays
        y.backward(fresh=True)
        x.set_(value)
        y.forward()
        assert y.item() == (ag.sin(ag.tensor(value)) * value * 2).item()
