"""The walk, from Python: what backward adds, keeps, frees and refuses."""

import sys

import numpy as np
import pytest

import agrad.engine as ag
from agrad.engine.core.graph import collect
from agrad.engine.core.op import OPS


def leaf(value):
    return ag.tensor(value, requires_grad=True)


def test_a_gradient_has_the_value_and_shape_of_the_derivative():
    x = leaf([1, 2, 3])
    (x**2).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]


def test_without_retain_an_intermediate_has_no_gradient():
    a = leaf(2)
    b = a * a
    (b * 3).backward()
    assert b.grad is None


def test_broadcasting_is_summed_out():
    x, y = leaf([[1], [2], [3]]), leaf([1, 2, 3, 4])
    (x * y).sum().backward()
    assert x.grad.tolist() == [[10], [10], [10]]
    assert y.grad.tolist() == [6, 6, 6, 6]


def test_a_scalar_spread_over_an_array_collects_every_entry():
    x = leaf(2)
    (x + ag.ones(3)).sum().backward()
    assert x.grad.item() == 3


def test_one_entry_of_any_shape_needs_no_seed():
    x = leaf([[3]])
    (x * 2).backward()
    assert x.grad.tolist() == [[2]]


def test_more_than_one_entry_needs_a_seed_of_exactly_its_shape():
    x = leaf([1, 2, 3])
    with pytest.raises(ag.AgradError, match=r"shape \(3\): backward starts from one number") as caught:
        (x * 2).backward()
    assert caught.value.kind == "shape"
    with pytest.raises(ag.AgradError, match=r"the seed has shape \(2\)"):
        (x * 2).backward([1, 2])
    with pytest.raises(ag.AgradError, match=r"the seed has shape \(\)"):
        (x * 2).backward(1.0)
    (x * 2).backward([1, 0, 2])
    assert x.grad.tolist() == [2, 0, 4]


def test_a_second_backward_is_refused_and_changes_nothing():
    a = leaf([0.1, 0.2, 0.3, 0.4])
    c = a**2 * 2
    d, e = c.mean(), c.sum()
    d.backward()
    before = a.grad.tolist()
    with pytest.raises(ag.AgradError) as caught:
        e.backward()
    assert caught.value.kind == "freed"
    assert a.grad.tolist() == before


def test_retain_keeps_the_shared_part():
    a = leaf([0.1, 0.2, 0.3, 0.4])
    c = a**2 * 2
    d, e = c.mean(), c.sum()
    d.backward(retain_graph=True)
    e.backward(retain_graph=True)
    assert a.grad.tolist() == pytest.approx([0.5, 1.0, 1.5, 2.0])
    d.backward()
    with pytest.raises(ag.AgradError, match="part of its graph was freed"):
        e.backward()


def test_every_operation_frees_also_those_that_saved_nothing():
    a, b = leaf(1), leaf(2)
    y = a + b
    y.backward()
    with pytest.raises(ag.AgradError, match="part of its graph was freed"):
        y.backward()


def test_a_failing_walk_frees_nothing_and_writes_nothing():
    a, q = leaf(2), leaf(3)
    m = a * a
    m.backward()
    a.clear_grad()
    y = q * 7 + m
    with pytest.raises(ag.AgradError):
        y.backward()
    assert q.grad is None
    (q * 1).backward()
    with pytest.raises(ag.AgradError) as caught:
        y.backward()
    assert caught.value.facts.node is m.node


def test_grad_frees_nothing_and_leaves_gradients_alone():
    x = leaf(2)
    y = x**3
    assert ag.grad(y, x).item() == 12
    assert ag.grad(y, [x])[0].item() == 12
    assert x.grad is None
    y.backward()


def test_derivatives_of_derivatives():
    x = leaf(2)
    first = ag.grad(x**3, x, create_graph=True)
    second = ag.grad(first, x, create_graph=True)
    third = ag.grad(second, x, create_graph=True)
    assert [g.item() for g in (first, second, third)] == [12, 12, 6]


def test_a_vanishing_derivative_is_zero_and_not_an_error():
    x, y = leaf(2), leaf(5)
    first = ag.grad(3 * x + y**2, x, create_graph=True)
    assert ag.grad(first, x).item() == 0
    assert ag.grad(first, y).item() == 0


def test_a_missing_path_is_an_error():
    x, y = leaf(2), leaf(3)
    with pytest.raises(ag.AgradError, match="does not depend on") as caught:
        ag.grad(x**2, y)
    assert caught.value.kind == "grad"
    with pytest.raises(ag.AgradError, match="does not require grad"):
        ag.grad(x**2, ag.tensor(3))


def test_backward_on_what_requires_no_grad_is_an_error():
    with pytest.raises(ag.AgradError, match="does not require grad"):
        ag.tensor(3).backward()
    x = leaf(2)
    with pytest.raises(ag.AgradError, match="does not require grad"):
        (x.detach() * 2).backward()
    with pytest.raises(ag.AgradError, match="has no derivative: greater has none"):
        (x > 1).backward()
    with pytest.raises(ag.AgradError, match=r"has no derivative with respect to .*: argmax has none"):
        ag.grad(ag.tensor(2.0, requires_grad=True) * ag.argmax(x), x)


def test_a_gradient_of_a_gradient_goes_to_the_leaf():
    x = leaf(2)
    (x**3).backward(create_graph=True)
    g = x.grad
    x.clear_grad()
    g.backward()
    assert x.grad.item() == 12


def test_backward_of_a_leaf_is_one():
    x = leaf(2)
    x.backward()
    assert x.grad.item() == 1


def test_a_seed_that_requires_grad_has_a_derivative_too():
    x, u = leaf([1, 2]), leaf([3, 4])
    g = ag.grad(x**2, x, create_graph=True, gradient=u)
    assert g.tolist() == [6, 16]
    assert ag.grad(g.sum(), u).tolist() == [2, 4]


@pytest.mark.long
@pytest.mark.parametrize("length", [1_000_000])
def test_a_chain_of_a_million_operations(length):
    x = leaf(1.0)
    y = x
    for _ in range(length):
        y = y + 1.0
    assert length > sys.getrecursionlimit()
    y.backward()
    assert x.grad.item() == 1
    assert len(collect([y.node])) == length + 1
    del y


def test_graph_memory_goes_with_its_last_name():
    import tracemalloc

    x = leaf([1.0] * 10_000)
    tracemalloc.start()
    y = (x * x * x).sum()
    held = tracemalloc.get_traced_memory()[0]
    del y
    gone = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held > 80_000
    assert gone < 8_000


class TestNotSelected:
    """What a condition did not select contributes exactly 0, in all orders, whatever lies behind it."""

    def test_where_before_a_pole(self):
        for value in (0.0, [0.0, 2.0]):
            x = leaf(value)
            y = ag.where(x > 0, ag.log(x), 0.0)
            seed = None if x.shape == () else [1, 1]
            first = ag.grad(y, x, create_graph=True, gradient=seed)
            second = ag.grad(first, x, gradient=seed)
            assert first.tolist() == (0 if seed is None else [0, 0.5])
            assert second.tolist() == (0 if seed is None else [0, -0.25])

    def test_an_index_beside_a_pole(self):
        x = leaf([0.0, 2.0])
        assert ag.grad(ag.log(x)[1], x).tolist() == [0, 0.5]

    def test_maximum_relu_and_max_behind_a_root(self):
        for function in (lambda r: ag.maximum(r, 1.0), lambda r: ag.relu(r - 1)):
            x = leaf(0.0)
            assert ag.grad(function(ag.sqrt(x)), x).item() == 0
        x = leaf([0.0, 4.0])
        assert ag.grad(ag.max(ag.sqrt(x)), x).tolist() == [0, 0.25]

    def test_a_shared_value_that_is_reached_elsewhere_keeps_its_pole(self):
        x = leaf(0.0)
        s = 1 / x
        assert ag.grad(ag.where(x > 1, s, x) + s, x).item() == float("-inf")

    def test_reached_through_broadcasting(self):
        x, mask = leaf(2.0), [1.0, 0.0, 0.0]
        y = ag.where(mask, ag.log(x) * [1.0, 2.0, 3.0], 0.0).sum()
        assert ag.grad(y, x).item() == 0.5

    def test_computed_zeros_stay_nan(self):
        x = leaf(0.0)
        assert ag.grad(ag.sqrt(x) ** 2, x).item() != ag.grad(ag.sqrt(x) ** 2, x).item()


def test_stale_values_are_refused():
    a = leaf(2)
    y = ag.exp(a)
    z = y + 1
    a.set_(5)
    with pytest.raises(ag.AgradError) as caught:
        z.backward()
    assert caught.value.kind == "stale"
    assert a.grad is None


def test_stale_through_a_comparison():
    x, y = leaf(2.0), leaf(3.0)
    z = ag.where(x > 1, y, 0.0)
    x.set_(0.0)
    with pytest.raises(ag.AgradError) as caught:
        z.backward()
    assert caught.value.kind == "stale"


def test_a_detached_value_carried_over_is_not_stale():
    w = leaf(2.0)
    h = (w * 3).detach()
    with ag.no_grad():
        w -= 1.0
    (w * h).backward()
    assert w.grad.item() == 6


def test_what_is_not_selected_contributes_exactly_0_whatever_is_computed_there():
    x = leaf([0.0, 4.0])
    ag.where(x > 0, ag.sqrt(x), 0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]
    x = leaf([0.0, 4.0])
    ag.sqrt(x)[1].backward()
    assert x.grad.tolist() == [0.0, 0.25]
    x = leaf([[0.0, 1.0], [4.0, 9.0]])
    ag.log(x)[1, 0].backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.25, 0.0]]


def test_what_is_not_selected_has_a_gradient_without_a_sign():
    x = leaf([1.0, 2.0, 3.0])
    (-x)[1].backward()
    assert str(x.grad.tolist()) == "[0.0, -1.0, 0.0]"
    x = leaf([-1.0, 2.0])
    ag.relu(-x * ag.tensor([-1.0, -1.0])).sum().backward()
    assert str(x.grad.tolist()) == "[0.0, 1.0]"


def test_the_gradients_of_two_leaves_are_separate_arrays():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).sum().backward()
    x.grad.copy_(0.0)
    assert y.grad.tolist() == [1.0, 1.0]
    c = ag.tensor([[2.0, 0.0], [0.0, 3.0]])
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    for _ in range(2):
        ((c @ x) + (c @ y)).sum().backward()
    y.grad.copy_(0.0)
    assert x.grad.tolist() == [4.0, 6.0]


@pytest.mark.parametrize(("name", "shape", "attrs"), [("stack", (2, 3), {"axis": 1}), ("concat", (3, 2), {"axis": 0})])
def test_the_parts_of_a_gradient_are_what_the_rule_gives_for_each_operand(name, shape, attrs):
    op = OPS[name]
    given = [np.arange(6.0).reshape(shape) + k for k in range(3)]
    prepared = op.prepare(*given, **attrs)
    out = op.array(*given, **prepared)
    g = np.random.default_rng(0).normal(size=out.shape)
    for which, part in enumerate(op.parts(g, **prepared)):
        np.testing.assert_array_equal(part, op.rule(which)(g, out, *given, **prepared, which=which))


def test_the_parts_of_the_gradient_of_numbers_are_numbers():
    a, b = leaf(2.0), leaf(3.0)
    ag.stack([a, b, a])[ag.tensor([0, 1, 2, 2])].sum().backward()
    assert (a.grad.item(), b.grad.item()) == (3.0, 1.0)
