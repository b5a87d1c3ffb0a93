"""A replay: who sees the new values, what is out of date, what is computed, what is refused, and how one that fails leaves everything."""

import numpy as np
import pytest
from refused import leaf, named, refusal, refuses
from replays import same_bits, state, value

import agrad.engine as ag
from agrad.engine.program import replay


@pytest.fixture
def computed(monkeypatch):
    """The names of the operations that replays compute."""
    names, compute = [], replay.compute

    def noting(op, values, attrs):
        names.append(op.name)
        return compute(op, values, attrs)

    monkeypatch.setattr(replay, "compute", noting)
    return names


# What is computed


def test_several_outputs_are_replayed_together_each_node_once(computed):
    x, z = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    shared = ag.exp(x)
    first, second, third = ag.sum(shared * x), ag.sum(shared / z), ag.sum(z * z)
    x.set_([0.5, 1.5])
    ag.forward(first, second, third)
    assert sorted(computed) == ["div", "exp", "mul", "sum", "sum"]
    computed.clear()
    ag.forward(first, second, third)
    assert computed == []
    z.set_([5.0, 5.0])
    ag.forward(first, second)
    assert computed == ["div", "sum"]
    ag.forward(third, first)
    assert computed == ["div", "sum", "mul", "sum"]
    assert same_bits(second, ag.sum(ag.exp(x) / z))


def test_after_no_change_nothing_is_written_and_a_leaf_is_not_replayed():
    x, k = leaf([1.0, 2.0], "x"), named("k", ag.tensor(2.0))
    y = ag.sum(ag.exp(x) * x)
    before = state(x, y)
    y.forward()
    ag.forward()
    assert state(x, y) == before
    assert refusal(x.forward) == "grad: x is a leaf: there is nothing to replay"
    assert refusal(k.forward) == "grad: k has no graph: there is nothing to replay"


def test_an_output_that_shares_nodes_stays_stale_until_it_is_replayed_itself():
    x = leaf(2.0)
    shared = x * x
    first, second = shared * 3, shared * 5
    x.set_(10.0)
    first.forward()
    assert (first.item(), shared.item(), second.item()) == (300, 100, 20)
    refuses(second.backward, kind="stale")
    second.forward()
    second.backward()
    assert (second.item(), x.grad.item()) == (500, 100)


# Who sees it


def test_every_name_sees_the_new_value_also_of_an_array_that_no_node_keeps():
    x = leaf([1.0, 2.0])
    doubled = x * 2
    moved = doubled + 1
    again, total = moved, ag.sum(moved)
    assert moved.node.value is None
    x.set_([5.0, 6.0])
    total.forward()
    for found, expected in ((doubled, [10, 12]), (moved, [11, 13]), (again, [11, 13]), (total, 24)):
        np.testing.assert_array_equal(value(found), expected)


def test_an_alias_of_a_leaf_or_of_a_result_follows_and_a_copy_does_not():
    x = leaf([1.0, 2.0])
    y = x * 2
    of_leaf, of_result, copied = x.detach(), y.detach(), y.detach().clone()
    total = ag.sum(y)
    x.set_([5.0, 6.0])
    np.testing.assert_array_equal(value(of_leaf), [5, 6])
    np.testing.assert_array_equal(value(of_result), [2, 4])
    total.forward()
    np.testing.assert_array_equal(value(of_result), [10, 12])
    np.testing.assert_array_equal(value(copied), [2, 4])


def test_an_alias_of_an_array_that_is_no_longer_referenced_serves_as_its_value():
    x = leaf([1.0, 2.0])
    y = x * 2
    alias, total, temporary = y.detach(), ag.sum(y), (x * 2).detach()
    del y
    z, without = ag.sum(alias * x), ag.sum(temporary * x)
    x.set_([5.0, 6.0])
    total.forward()
    np.testing.assert_array_equal(value(alias), [10, 12])
    z.forward()
    assert z.item() == 122
    before = state(x, without, temporary)  # which has no graph to run again
    refuses(without.forward, "without recording", kind="guard")
    assert state(x, without, temporary) == before


def test_the_leaf_that_a_graph_leads_to_is_the_one_that_it_was_built_on():
    x = leaf([1.0, 2.0])
    y = ag.sum(x * 2)
    found = y.grad_fn.next_functions[0][0].next_functions[0][0].variable
    assert found is x
    del x, found
    y.grad_fn.next_functions[0][0].next_functions[0][0].variable.set_([3.0, 4.0])
    y.forward()
    assert y.item() == 14


def test_an_operation_that_fails_on_the_new_data_changes_nothing():
    a = leaf([[2.0, 0.0], [0.0, 1.0]])
    scaled = a * 2
    y = ag.sum(ag.inv(scaled))
    y.backward(retain_graph=True)
    a.set_([[1.0, 1.0], [1.0, 1.0]])
    before = state(a, scaled, y)
    refuses(y.forward, kind="domain")
    assert state(a, scaled, y) == before
    a.set_([[4.0, 0.0], [0.0, 4.0]])
    y.forward()
    assert y.item() == 0.25


def graph(data):
    x, w = leaf(data), leaf(2.0)
    y = ag.exp(x) * w
    alias = y.detach()
    z = ag.sum(y + alias * x) * w
    g = ag.grad(z, w, create_graph=True)
    z.backward(retain_graph=True)
    return x, w, y, alias, z, g


def test_an_interruption_at_any_operation_leaves_everything_as_it_was(monkeypatch):
    compute, calls = replay.compute, 0
    x, w, *values = graph([1.0, 2.0, 3.0])
    x.set_([3.0, 2.0, 1.0])
    before = state(x, w, *values)

    def interrupted(limit):
        count = 0

        def counting(op, operands, attrs):
            nonlocal count
            count += 1
            if count > limit:
                raise KeyboardInterrupt
            return compute(op, operands, attrs)

        monkeypatch.setattr(replay, "compute", counting)
        try:
            ag.forward(values[2], values[3])
        except KeyboardInterrupt:
            return True
        return False

    while interrupted(calls):
        assert state(x, w, *values) == before
        calls += 1
    assert calls > 6
    assert state(x, w, *values) != before
    fresh = graph([3.0, 2.0, 1.0])
    assert all(same_bits(a, b) for a, b in zip(values, fresh[2:], strict=True))


def test_an_interruption_of_the_writing_is_taken_back(monkeypatch):
    x, w, *values = graph([1.0, 2.0, 3.0])
    x.set_([3.0, 2.0, 1.0])
    before, put = state(x, w, *values), replay._put
    calls = []

    def half(nodes, handles):
        calls.append(len(nodes))
        if len(calls) == 1:
            put(nodes[: len(nodes) // 2], handles[:1])
            raise KeyboardInterrupt
        put(nodes, handles)

    monkeypatch.setattr(replay, "_put", half)
    with pytest.raises(KeyboardInterrupt):
        ag.forward(values[2], values[3])
    assert calls[0] > 4
    assert state(x, w, *values) == before


def test_a_number_read_in_python_is_a_guard():
    a, w = leaf(2.0), leaf(5.0)
    before = a * 3
    y = a * w * a.item()
    w.set_(1)
    y.forward()
    assert y.read_only() == 4
    a.set_(3)
    ag.forward(before)
    assert before.read_only() == 9
    said = refusal(y.forward)
    assert said.startswith("guard: a result of Mul cannot be replayed: before it was built, a value was read as a ")
    assert f"{__file__}:{test_a_number_read_in_python_is_a_guard.__code__.co_firstlineno + 3}" in said
