"""Building a graph: what is a leaf, what is recorded, what requires grad, and what is cut off."""

import re
import sys

import numpy as np
import pytest
from refused import leaf, lines, named, refusal

import agrad.engine as ag
from agrad.engine.core.graph import collect

CUTS = ["isnan", "isfinite", "any", "all", "argmax", "argmin", "argsort"]
FLAT = ["floor", "ceil", "round", "trunc", "sign"]


def test_dynamic_every_evaluation_makes_new_nodes():
    a = leaf(2)
    b, c = a * 3, a * 3
    assert b.node is not c.node
    with ag.no_grad():
        a += 1
    assert (b.item(), c.item(), (a * 3).item()) == (6, 6, 9)


def test_leaf_is_what_the_user_made():
    a = leaf(2)
    assert a.is_leaf and a.requires_grad
    assert a.grad_fn is None
    b = a * 3
    assert not b.is_leaf
    assert b.grad_fn is b.node


def test_leaf_is_also_what_needs_no_grad():
    a, k = leaf(2), ag.tensor(3)
    with ag.no_grad():
        m = a * 3
    for x in (k, k * 2, m, a.detach(), a > 1):
        assert x.is_leaf and not x.requires_grad
        assert x.grad_fn is None


def test_recorded_is_more_than_requires_grad():
    x = leaf([1, 2], "x")
    y = ag.where(x > 1, 3, 4)
    assert not y.requires_grad
    assert y.node.recorded
    assert x.node in collect([y.node])
    x.set_([3, 4])
    y.forward()
    assert y.tolist() == [3, 3]


def test_recorded_only_if_an_operand_is():
    k = ag.tensor([1, 2])
    assert not (k * 2).node.recorded
    assert not (k > 1).node.recorded


@pytest.mark.parametrize("name", CUTS)
def test_requires_grad_not_without_a_derivative(name):
    x = leaf([1, 2], "x")
    y = getattr(ag, name)(x)
    assert y.node.recorded and not y.requires_grad
    y = named("y", ag.sum(y))
    assert refusal(y.backward) == f"grad: y has no derivative: {name} has none"


@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
def test_requires_grad_not_of_a_comparison(compare):
    x = leaf([1, 2])
    y = getattr(x, compare)(1)
    assert y.node.recorded and not y.requires_grad


@pytest.mark.parametrize("name", [*FLAT, "//"])
def test_requires_grad_with_derivative_zero(name):
    x = leaf([1.2, -2.5])
    y = x // 2 if name == "//" else getattr(ag, name)(x)
    assert y.requires_grad
    assert ag.grad(y.sum(), x).tolist() == [0, 0]


def test_a_cut_is_shown_with_the_chain():
    x, w = leaf([1, 2], "x"), leaf(3)
    y = named("y", w * named("c", x > 1))
    loss = named("L", y.sum())
    assert refusal(lambda: ag.grad(loss, x)) == lines(
        "grad: L has no derivative with respect to x: greater has none", "note: L <- y <- c"
    )


def test_grad_fn_prints_as_its_operation():
    x = leaf(2)
    assert [repr(y.grad_fn) for y in (x + 1, x * 3, x**2, ag.sin(x), -x)] == [
        "<AddBackward>", "<MulBackward>", "<PowBackward>", "<SinBackward>", "<NegBackward>"
    ]  # fmt: skip
    assert repr(x + 1) == "tensor(3, grad_fn=<AddBackward>)"


def test_next_functions_are_pairs():
    x = leaf(2)
    y = x * 3
    z = y + x
    assert z.grad_fn.next_functions == ((y.grad_fn, 0), (x.node, 0))
    assert y.grad_fn.next_functions == ((x.node, 0), (None, 0))


def test_a_leaf_has_one_accumulate_grad():
    x = leaf(2)
    (first, _), (second, _) = (x * x).grad_fn.next_functions
    assert first is second
    assert repr(first) == "<AccumulateGrad>"
    assert first.next_functions == ()
    assert first.variable.node is x.node


def test_next_functions_can_still_be_read_of_a_freed_graph():
    x = leaf(2)
    y = ag.sin(x) * 3
    y.backward()
    assert [repr(node) for node, _ in y.grad_fn.next_functions] == ["<SinBackward>", "None"]


def test_constants_are_kept_as_they_were():
    x, k = leaf(2), np.array([1.0, 2.0])
    y = (x * k).sum()
    k[0] = 100
    x.set_(3)
    y.forward()
    assert y.item() == 9
    y.backward()
    assert x.grad.item() == 3


def test_constants_have_their_names_in_dumps():
    from agrad.engine.inspect.dump import FORMATS, dump

    x, k = leaf(2, "x"), ag.tensor([1, 2])
    k.name = "k"
    text = FORMATS["text"](dump((x * k).sum(), "y"), 10)
    assert re.search(r"%2  k +constant +\(2\)", text)


def test_no_grad_records_nothing():
    w = leaf([1, 2], "w")
    with ag.no_grad():
        y = named("y", w * 3)
        with ag.no_grad():
            pass
        z = w * 3
    assert not y.requires_grad and not z.requires_grad
    assert y.grad_fn is None
    assert (w * 3).requires_grad
    assert refusal(lambda: y.backward([1, 1])) == lines(
        "grad: y does not require grad: it was computed from w without recording",
        "fix: compute y from w, without detach and outside no_grad",
    )


def test_no_grad_lets_leaves_be_written():
    w = leaf([1, 2])
    with ag.no_grad():
        w -= 1
        w[0] = 7
    assert w.tolist() == [7, 1]
    assert w.requires_grad and w.is_leaf
    with ag.no_grad():
        w = w - 1
    assert not w.requires_grad


@pytest.mark.parametrize("data", [2.0, [2.0, 3.0]], ids=["scalar", "array"])
def test_detach_shares_data_and_version(data):
    a = leaf(data)
    d = a.detach()
    e = d.detach()
    assert not d.requires_grad and d.grad_fn is None
    d += 1
    assert a.tolist() == d.tolist() == e.tolist() == (a.detach()).tolist()
    assert (a.version, d.version, e.version) == (1, 1, 1)
    e.zero_()
    assert ag.sum(a).item() == 0
    assert (a.version, d.version, e.version) == (2, 2, 2)


def test_detach_cuts_off():
    x, w = leaf(2, "x"), leaf(3)
    k = named("k", x.detach())
    loss = named("L", named("y", w * k) + 1)
    assert refusal(lambda: ag.grad(loss, x)) == lines(
        "grad: L does not depend on x: it uses k, which is x detached from its graph",
        "note: L <- y <- k",
        "fix: use x itself, without detach",
    )
    assert refusal(lambda: x.detach().backward()) == lines(
        "grad: x.detach() does not require grad: it is x detached from its graph",
        "fix: use x itself, without detach",
    )


def test_clone_is_part_of_the_graph_with_a_version_of_its_own():
    x = leaf([1, 2])
    c = x.clone()
    assert c.requires_grad
    c[0] = 5
    assert (x.version, c.version) == (0, 1)
    assert x.tolist() == [1, 2]


def test_views_there_are_none():
    y = leaf([[1, 2], [3, 4]]) * 1
    parts = [y[0], y.T, y.reshape(4), y[:, 1:], y.flatten()]
    before = [part.tolist() for part in parts]
    y[0] = 9
    assert [part.tolist() for part in parts] == before
    parts[3][0] = 7
    assert y.tolist() == [[9, 9], [3, 4]]


@pytest.mark.long
def test_deep_a_chain_longer_than_any_stack():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    assert sys.getrecursionlimit() < 100_000
    y.backward(retain_graph=True)
    assert x.grad.item() == 1
    y.forward()
    del y
