"""Which graphs live: connected operations, their ends, and what holds them."""

import agrad.engine as ag
from agrad.engine.inspect.memory import live_graphs


def nodes(*values):
    return [value.node for value in values]


def test_a_shared_operation_connects_and_a_shared_leaf_does_not():
    a = ag.tensor(2.0, requires_grad=True)
    b = a * a
    c, d, e = b + 1, b * 2, a * 3
    found = live_graphs([("c", nodes(c)), ("d", nodes(d)), ("e", nodes(e)), ("a", nodes(a)), ("b", nodes(b))])
    assert [(graph.ends, graph.operations, graph.holders) for graph in found] == [
        ((c.node, d.node), 3, ("c", "d", "b")),
        ((e.node,), 1, ("e",)),
    ]


def test_what_nothing_refers_to_is_not_listed():
    a = ag.tensor(2.0, requires_grad=True)
    b = a * a
    (b + 1).backward()
    (found,) = live_graphs([("b", nodes(b))])
    assert (found.ends, found.freed) == ((b.node,), 1)
    assert live_graphs([("a", nodes(a)), ("nothing", [])]) == []


def test_a_long_chain():
    x = ag.tensor(1.0, requires_grad=True)
    for _ in range(20_000):
        x = x + 1
    (found,) = live_graphs([("x", nodes(x))])
    assert found.operations == 20_000
