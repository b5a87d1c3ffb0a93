"""Walking backward: seeds, accumulation, freeing, retaining, gradients of gradients, and clearing."""

import gc
import weakref

import numpy as np
import pytest
from refused import leaf, lines, named, refusal

import agrad.engine as ag

FREED = [
    "PowBackward (d) lost its saved values",
    "freed by an earlier backward of d",
    "fix: keep the graph with retain_graph=True at that backward, or compute the value again",
]


def freed():
    """A leaf, and a square whose graph is used up."""
    w = leaf(3, "w")
    d = named("d", w**2)
    d.backward()
    return w, d


# Seeds


@pytest.mark.parametrize("data", [3.0, [3.0], [[3.0]]])
def test_seed_none_is_needed_for_one_element(data):
    x = leaf(data)
    (x**2).backward()
    assert x.grad.tolist() == np.multiply(data, 2).tolist()


def test_seed_is_needed_for_anything_else():
    x = leaf([1, 2])
    y = named("y", x**2)
    message = "shape: y has shape (2): backward starts from one number, or needs a seed\n"
    assert refusal(y.backward).startswith(message)
    assert refusal(lambda: ag.grad(y, x)).startswith(message)


@pytest.mark.parametrize(("seed", "shape"), [(1, "()"), ([1], "(1)"), ([1, 2, 3], "(3)"), ([[1, 2]], "(1, 2)")])
def test_seed_has_exactly_the_shape(seed, shape):
    x = leaf([1, 2])
    y = named("y", x**2)
    expected = f"shape: the seed has shape {shape}, and y has (2): they must be the same"
    assert refusal(lambda: y.backward(seed)) == expected
    assert x.grad is None
    y.backward([1, 10])
    assert x.grad.tolist() == [2, 40]


def test_seed_of_a_scalar_is_a_scalar():
    y = named("y", leaf(3) ** 2)
    assert refusal(lambda: y.backward([1])) == "shape: the seed has shape (1), and y has (): they must be the same"


# What is collected


def test_accumulate_into_a_new_value_each_time():
    x = leaf([1, 2])
    y = (x**2).sum()
    y.backward(retain_graph=True)
    g = x.grad
    y.backward()
    assert g.tolist() == [2, 4]
    assert x.grad.tolist() == [4, 8]


def test_accumulate_never_in_between():
    a = leaf(3)
    y = (a * a) * a
    y.backward(retain_graph=True)
    assert a.grad.item() == 27
    y.backward()
    assert a.grad.item() == 54


def test_accumulate_in_a_retained_value_as_in_a_leaf():
    a = leaf(3)
    b = a * 2
    b.retain_grad()
    c = b * 3
    c.backward(retain_graph=True)
    c.backward()
    assert b.grad.item() == 6


def test_fresh_overwrites():
    a = leaf(3)
    for _ in range(2):
        (a * 2).backward(fresh=True)
    assert a.grad.item() == 2


def test_all_or_nothing_where_a_part_is_freed():
    q, p = leaf(2), leaf(3)
    m = p**2
    u = m * 1
    m.backward()
    part = q * 7
    z = named("z", part + u)
    assert refusal(z.backward).startswith("freed: z cannot be differentiated: part of its graph was freed")
    assert q.grad is None
    assert p.grad.item() == 6
    part.backward()
    assert q.grad.item() == 7


def test_all_or_nothing_where_a_part_has_changed():
    q = leaf(2)
    b = q * 1
    part, r = q * 7, b * b
    z = part + r
    b += 1
    with pytest.raises(ag.AgradError, match="was written to"):
        z.backward()
    assert q.grad is None
    part.backward()


def test_all_or_nothing_where_it_is_interrupted(monkeypatch):
    q = leaf([2.0, 3.0])
    y = (ag.sin(q) * 7).sum()
    calls = iter(range(9))

    def interrupted(*args):
        if next(calls) == 1:
            raise KeyboardInterrupt
        return arrive(*args)

    from agrad.engine.autodiff.reverse import Flight

    arrive = Flight.arrive
    monkeypatch.setattr(Flight, "arrive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    monkeypatch.undo()
    assert q.grad is None
    y.backward()
    assert q.grad.tolist() == (7 * ag.cos(q)).tolist()


# Freeing and retaining


@pytest.mark.parametrize(
    "operation", ["__neg__", "sum", "mean", "flatten", "cumsum", "trace", "floor", "sign", "clone", "exp"]
)
def test_freed_whatever_the_operation(operation):
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = getattr(x, operation)() if operation != "cumsum" else x.cumsum(0)
    y.backward(np.ones(y.shape) if y.shape else None)
    with pytest.raises(ag.AgradError) as caught:
        y.backward(np.ones(y.shape) if y.shape else None)
    assert caught.value.kind == "freed"


def test_freed_names_the_node_and_who_freed_it():
    _, d = freed()
    assert refusal(d.backward) == lines("freed: d cannot be differentiated: part of its graph was freed", *FREED)


def test_freed_is_told_of_whatever_is_built_on_it():
    w, d = freed()
    z = named("z", d * w)
    expected = lines("freed: z cannot be differentiated: part of its graph was freed", *FREED)
    assert refusal(z.backward) == expected
    assert refusal(lambda: ag.grad(z, w)) == expected
    z.forward()  # which computes the freed part again
    assert ag.grad(z, w).item() == 27


def test_freed_never_a_leaf():
    w, _ = freed()
    w.backward()
    w.backward()
    assert w.grad.item() == 8


def test_freed_nothing_by_grad():
    w = leaf(3)
    d = ag.sin(w) ** 2
    first = ag.grad(d, w).item()
    assert ag.grad(d, w).item() == first
    d.backward()
    assert w.grad.item() == first


def test_retain_keeps_everything_until_the_first_without():
    w = leaf(3)
    d = w**2
    for _ in range(3):
        d.backward(retain_graph=True)
    d.backward()
    assert w.grad.item() == 24
    with pytest.raises(ag.AgradError, match="part of its graph was freed"):
        d.backward()


def test_the_shared_part():
    a = leaf([1, 2, 3, 4])
    c = named("c", named("b", a**2) * 2)
    d, e = named("d", c.mean()), named("e", c.sum())
    d.backward()
    assert refusal(e.backward) == lines(
        "freed: e cannot be differentiated: part of its graph was freed",
        "PowBackward (b) lost its saved values",
        "freed by an earlier backward of d",
        "fix: keep the graph with retain_graph=True at that backward, or compute the value again",
    )
    a.clear_grad()
    c = a**2 * 2
    c.mean().backward(retain_graph=True)
    c.sum().backward()
    assert a.grad.tolist() == [5, 10, 15, 20]


def test_retain_on_a_value_is_not_retroactive():
    a = leaf(2)
    b = a * 3
    c = b * 5
    c.backward(retain_graph=True)
    assert b.grad is None
    b.retain_grad()
    assert b.grad is None
    c.backward()
    assert b.grad.item() == 5


def test_retain_on_a_leaf_does_nothing():
    a = leaf(2)
    a.retain_grad()
    (a * 3).backward()
    assert a.grad.item() == 3


def test_retain_on_a_constant_is_an_error():
    k = named("k", ag.tensor(3))
    assert refusal(k.retain_grad) == "grad: k has no gradient to retain: it does not require grad"


def test_retain_after_a_write_is_about_the_new_value():
    b = leaf(2) * 2
    b.retain_grad()
    b *= 5
    (b * 3).backward()
    assert b.grad.item() == 3


# Gradients of gradients


def test_create_graph_gives_gradients_with_a_graph():
    x, w = leaf(2), leaf(3)
    g = ag.grad(x**3, x, create_graph=True)
    assert ag.grad(g, x).item() == 12
    mixed = ag.grad(ag.grad(x**2 * w**2, x, create_graph=True), w)
    assert mixed.item() == 24
    third = x**4
    for _ in range(3):
        third = ag.grad(third, x, create_graph=True)
    assert third.item() == 48


def test_create_graph_retains():
    x = leaf(2)
    y = x**3
    y.backward(create_graph=True)
    assert x.grad.requires_grad
    y.backward()


def test_create_graph_without_retain_frees():
    x = leaf(2)
    y = x**3
    y.backward(create_graph=True, retain_graph=False)
    with pytest.raises(ag.AgradError, match="part of its graph was freed"):
        y.backward()


def test_create_graph_hessians_are_those_of_the_exact_function():
    x, y = leaf(2.0), leaf(0.0)
    found = np.array(ag.hessian(x**y, [x, y]).tolist())
    np.testing.assert_allclose(found, [[0, 0.5], [0.5, np.log(2) ** 2]], rtol=1e-12)


# Clearing, and tear-down


def test_clear_grad_is_none_and_zero_leaves_zeros():
    a = leaf([1, 2])
    (a * 3).sum().backward()
    g = a.grad
    a.grad.zero_()
    assert a.grad is g
    assert a.grad.tolist() == [0, 0]
    a.clear_grad()
    assert a.grad is None
    a.grad = [1, 1]
    a.grad = None
    assert a.grad is None


@pytest.mark.parametrize("length", [3, 50_000])
def test_tear_down_needs_no_garbage_collection(length):
    gc.disable()
    try:
        x = leaf(1.0)
        y = x
        for _ in range(length):
            y = y + 1.0
        first = weakref.ref(y.grad_fn.next_functions[0][0])
        assert first() is not None
        del y
        assert first() is None
    finally:
        gc.enable()


def test_tear_down_frees_the_memory_of_a_graph_in_a_backward():
    x = leaf(np.ones(10_000))
    y = ag.exp(x * 2).sum()
    inner = y.node.inputs[0]
    y.backward()
    assert inner.value is None
